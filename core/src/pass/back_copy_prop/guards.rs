//! The three guards of backward copy propagation, for `to = mov from`.
//!
//! 1. The copy is the only reader of the value in `from`, and one definition makes that value.
//! 2. The definition can write `to`: its opcode leaves the register free, the types are the same,
//!    it has the copy's guard, and it does not write `to` already.
//! 3. Nothing reads or writes `to` between the definition and the copy. In one block, one row of
//!    [`Touches`] tells. Across blocks, a backward search from the copy's block to the definition's
//!    finds no block that reads or writes `to`; and on the exits from these blocks, a forward
//!    search finds `to` dead. Both give up after [`MAX_EDGES`] edges.
//!
//! Answers are about the program before the walk. A renaming inside one block changes no answer
//! that the walk needs later. A renaming across blocks makes `to` live in between, so copies to
//! such a register wait for the next walk.
//!
//! The next walk uses the same value names: a removed copy was the only reader of one value, and
//! the readers of its result read that value now. The rows
//! of its two registers follow the renaming, which saves a tenth of the pass at 30,000
//! instructions; debug builds compare them with recomputation.
//!
//! Cost: O(log n) for a copy in its definition's block, O([`MAX_EDGES`] log n) for another one.
//!
//! Source: ptxas page, phase 83.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::copied;
use super::touches::Touches;
use crate::flow::{Definition, Value, ValueUses, Values};
use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, Op, Reg};
use crate::view::View;

/// A search that follows more edges gives up, and the copy is kept.
const MAX_EDGES: usize = 64;

/// A destination that may be renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Renamed {
    /// The instruction.
    pub inst: Inst,
    /// Index of its renamed destination.
    pub index: usize,
    /// True if the instruction is in another block than the copy.
    is_elsewhere: bool,
}

/// A guard that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Guard 1: others read the value.
    SeveralReaders,
    /// Guard 1: the value comes from several definitions.
    SeveralDefinitions,
    /// Guard 2: the value is in the register on entry.
    OnEntry,
    /// Guard 2: the definition was a copy to itself and has been removed.
    Removed,
    /// Guard 2: an `in` draws it.
    Drawn,
    /// Guard 2: an opaque instruction writes it.
    Opaque,
    /// Guard 2: the types differ.
    Types,
    /// Guard 2: definition and copy have different guards.
    OtherGuard,
    /// Guard 2: the definition writes the copy's register, too.
    WrittenTwice,
    /// Guard 3: an instruction reads or writes the copy's register in between, this one where it is
    /// known.
    Between(Option<Inst>),
    /// Guard 3: the copy's register still holds something that is read.
    Live,
    /// Guard 3: the definition is too far away.
    TooFar,
    /// Guard 3: the copy's register became live across blocks in this walk; retried in the next.
    LivenessChanged,
}

impl Refusal {
    /// The rule's name.
    pub fn rule(self) -> &'static str {
        match self {
            Refusal::SeveralReaders | Refusal::SeveralDefinitions => "one-use",
            Refusal::OnEntry
            | Refusal::Removed
            | Refusal::Drawn
            | Refusal::Opaque
            | Refusal::Types
            | Refusal::OtherGuard
            | Refusal::WrittenTwice => "can-rename",
            Refusal::Between(_) | Refusal::Live | Refusal::TooFar | Refusal::LivenessChanged => "no-conflict",
        }
    }

    /// The reason in words.
    pub fn why(self, func: &Function, (from, to): (Reg, Reg)) -> String {
        let (from, to) = (&func.regs[from].name, &func.regs[to].name);
        match self {
            Refusal::SeveralReaders => format!("`{from}` has other readers"),
            Refusal::SeveralDefinitions => format!("`{from}` has several definitions"),
            Refusal::OnEntry => format!("`{from}` is defined on entry, by no instruction"),
            Refusal::Removed => format!("the copy of `{from}` to itself has been removed"),
            Refusal::Drawn => format!("`{from}` is drawn from an input, and draws are never changed"),
            Refusal::Opaque => format!("`{from}` is written by an opaque instruction, and these are never changed"),
            Refusal::Types => format!("`{from}` and `{to}` have different types"),
            Refusal::OtherGuard => format!("`{from}` is not defined under the guard of the copy"),
            Refusal::WrittenTwice => format!("the definition of `{from}` already writes `{to}`"),
            Refusal::Between(_) => format!("`{to}` is read or written between the definition of `{from}` and here"),
            Refusal::Live => format!("`{to}` is live where `{from}` is defined"),
            Refusal::TooFar => format!(
                "there are more than {MAX_EDGES} edges on the paths from the definition of `{from}` to here, or on \
                 the exits from them"
            ),
            Refusal::LivenessChanged => format!("`{to}` has just been renamed elsewhere"),
        }
    }
}

/// The guards of all walks.
pub struct Guards {
    values: Rc<Values>,
    uses: Rc<ValueUses>,
    touches: Touches,
    cfg: Rc<Cfg>,
    /// Removed copies, each with the instruction that writes its register now.
    removed: BTreeMap<Inst, Renamed>,
    /// Registers whose liveness changed in this walk.
    changed_liveness: FixedBitSet,
    /// Copies that a refused copy met between its definition and itself.
    blocking_copies: FixedBitSet,
    /// The registers of copies that were refused for a reason that removals may lift.
    refused: Vec<[Reg; 2]>,
    /// Registers that this walk made fewer instructions read, or other ones write.
    moved: FixedBitSet,
    /// Renamings of this walk in order.
    renamings: Vec<Renaming>,
    /// True if this walk removed or renamed what a refused copy met in between.
    may_unblock: bool,
}

/// A removed copy, and the instruction that writes its register instead.
struct Renaming {
    copy: Inst,
    guard: Option<Reg>,
    from: Reg,
    to: Reg,
    definition: Inst,
}

/// The blocks of all paths from a definition to a copy in another block.
struct Path {
    definition: Block,
    copy: Block,
    between: Vec<Block>,
}

impl Path {
    fn contains(&self, block: Block) -> bool {
        block == self.definition || block == self.copy || self.between.contains(&block)
    }
}

impl Guards {
    /// Prepares the guards for the moves of registers in a function.
    pub fn new(view: &mut View<'_>, moves: &[(Block, Inst)]) -> Guards {
        let (cfg, values, uses) = (view.cfg(), view.values(), view.value_uses());
        let func = view.func();
        Guards {
            values,
            uses,
            touches: Touches::compute(func, &cfg, &targets(func, moves)),
            cfg,
            removed: BTreeMap::new(),
            changed_liveness: FixedBitSet::with_capacity(func.regs.len()),
            blocking_copies: FixedBitSet::with_capacity(func.insts.len()),
            refused: Vec::new(),
            moved: FixedBitSet::with_capacity(func.regs.len()),
            renamings: Vec::new(),
            may_unblock: false,
        }
    }

    /// True if another walk may find more. Whether a copy is refused depends only on where its two
    /// registers are read and written, so the answer stays if neither is one of a removed copy.
    pub fn may_find_more(&self) -> bool {
        let may_change = |regs: &[Reg; 2]| regs.iter().any(|reg| self.moved.contains(reg.index()));
        self.may_unblock || self.refused.iter().any(may_change)
    }

    /// Prepares the guards for another walk over the changed function.
    pub fn renew(&mut self, func: &Function, moves: &[(Block, Inst)]) {
        let lengths = self.renamings.iter().map(|gone| self.touches.count(gone.from) + self.touches.count(gone.to));
        if lengths.sum::<usize>() > func.insts.len() {
            self.touches = Touches::compute(func, &self.cfg, &targets(func, moves));
            self.renamings.clear();
        }
        for Renaming { copy, guard, from, to, definition } in core::mem::take(&mut self.renamings) {
            [Some(from), Some(to), guard].into_iter().flatten().for_each(|reg| self.touches.remove(reg, copy));
            self.touches.remove_write(from, definition);
            self.touches.add_write(to, definition);
        }
        debug_assert!(
            self.touches
                .says_the_same(&Touches::compute(func, &self.cfg, &targets(func, moves)), &targets(func, moves)),
            "the rows did not follow the renamings"
        );
        self.changed_liveness.clear();
        self.blocking_copies.clear();
        self.refused.clear();
        self.moved.clear();
        self.may_unblock = false;
    }

    /// The definition that may write `to` itself, if all guards hold.
    pub fn definition_to_rename(
        &mut self,
        func: &Function,
        (block, copy): (Block, Inst),
        (from, to): (Reg, Reg),
    ) -> Result<Renamed, Refusal> {
        let value = self.values.operands(copy)[0];
        let found = self.only_definition(value).and_then(|found| {
            if !self.is_only_reader(value) {
                return Err(Refusal::SeveralReaders);
            }
            can_rename(func, &self.values, found, copy, (from, to))?;
            self.no_conflict(func, found, (block, copy), to)
        });
        match found {
            Err(Refusal::Between(Some(inst))) if self.removed.contains_key(&inst) => self.may_unblock = true,
            Err(Refusal::Between(Some(inst))) if func.insts[inst].copied_register().is_some() => {
                self.blocking_copies.insert(inst.index());
            }
            Err(
                Refusal::Between(_)
                | Refusal::Live
                | Refusal::TooFar
                | Refusal::LivenessChanged
                | Refusal::WrittenTwice,
            ) => self.refused.push([from, to]),
            _ => {}
        }
        found
    }

    /// Records that a copy was removed, and that `renamed` writes its register.
    pub fn note_renamed(&mut self, func: &Function, copy: Inst, (from, to): (Reg, Reg), renamed: Renamed) {
        let guard = func.insts[copy].guard.map(|guard| guard.reg);
        [Some(from), Some(to), guard].into_iter().flatten().for_each(|reg| self.moved.insert(reg.index()));
        self.renamings.push(Renaming { copy, guard, from, to, definition: renamed.inst });
        self.may_unblock |= self.blocking_copies.contains(copy.index());
        self.removed.insert(copy, renamed);
        if renamed.is_elsewhere {
            self.changed_liveness.insert(to.index());
            // The walk has visited that block, where this may have been a copy to itself, or
            // refused for its old type.
            self.may_unblock |= copied(&func.insts[renamed.inst]).is_some();
        }
    }

    /// Guard 1, first half: the one definition of a value.
    fn only_definition(&self, value: Value) -> Result<Renamed, Refusal> {
        let (inst, index) = match self.values.definition(value) {
            Definition::Entry => return Err(Refusal::OnEntry),
            Definition::Join { .. } => return Err(Refusal::SeveralDefinitions),
            Definition::Inst { inst, index } | Definition::Guarded { inst, index, .. } => (inst, index as usize),
        };
        let mut found = Renamed { inst, index, is_elsewhere: false };
        while let Some(&renamed) = self.removed.get(&found.inst) {
            found = renamed;
        }
        Ok(found)
    }

    /// Guard 1, second half: only the copy reads the value.
    fn is_only_reader(&self, value: Value) -> bool {
        self.uses.of(value).len() < 2
    }

    /// Guard 3: between the definition and the copy nothing reads or writes `to`.
    fn no_conflict(
        &self,
        func: &Function,
        found: Renamed,
        (block, copy): (Block, Inst),
        to: Reg,
    ) -> Result<Renamed, Refusal> {
        let definition = func.inst_block(found.inst).ok_or(Refusal::Removed)?;
        if definition == block {
            return match self.touches.last_between(to, found.inst, copy) {
                None => Ok(Renamed { is_elsewhere: false, ..found }),
                Some(inst) => Err(Refusal::Between(Some(inst))),
            };
        }
        // Other lanes keep what they had in `to`, also on paths that do not reach the copy.
        if func.insts[copy].guard.is_some() {
            return Err(Refusal::OtherGuard);
        }
        if self.changed_liveness.contains(to.index()) {
            return Err(Refusal::LivenessChanged);
        }
        if let Some(inst) = self.touches.last_after(to, found.inst, definition) {
            return Err(Refusal::Between(Some(inst)));
        }
        let path = self.path_blocks(definition, (block, copy), to)?;
        self.check_dead_on_exits(func, &path, to)?;
        Ok(Renamed { is_elsewhere: true, ..found })
    }

    /// The blocks from a definition's to a copy's, unless something in between reads or writes
    /// `to`.
    fn path_blocks(&self, definition: Block, (block, copy): (Block, Inst), to: Reg) -> Result<Path, Refusal> {
        // In the copy's block, what is before the copy is in between; what is after it only in a
        // loop.
        let touches = self.touches.of(to, block);
        if let Some(touch) = touches.iter().take_while(|touch| self.touches.is_before(touch.inst, copy)).last() {
            return Err(Refusal::Between(Some(touch.inst)));
        }
        let is_written_after = touches.iter().any(|touch| touch.is_write && touch.inst != copy);
        let mut path = Path { definition, copy: block, between: Vec::new() };
        let (mut at, mut visited, mut edges) = (block, 0, 0);
        loop {
            for &before in self.cfg.predecessors(at) {
                edges += 1;
                if edges > MAX_EDGES {
                    return Err(Refusal::TooFar);
                }
                if before == block && is_written_after {
                    return Err(Refusal::Between(None));
                }
                if path.contains(before) || !self.cfg.is_reachable(before) {
                    continue;
                }
                if let Some(touch) = self.touches.of(to, before).last() {
                    return Err(Refusal::Between(Some(touch.inst)));
                }
                path.between.push(before);
            }
            let Some(&next) = path.between.get(visited) else { return Ok(path) };
            (at, visited) = (next, visited + 1);
        }
    }

    /// Checks that on every exit from a path `to` is written before it is read.
    fn check_dead_on_exits(&self, func: &Function, path: &Path, to: Reg) -> Result<(), Refusal> {
        let mut visited: Vec<Block> = Vec::new();
        // The path ends in the copy's block: the blocks after it read what the copy wrote.
        let mut leaving = vec![path.definition];
        leaving.extend(&path.between);
        let mut edges = 0;
        while let Some(from) = leaving.pop() {
            for &target in self.cfg.successors(from) {
                edges += 1;
                if edges > MAX_EDGES {
                    return Err(Refusal::TooFar);
                }
                if path.contains(target) && target != path.definition || visited.contains(&target) {
                    continue;
                }
                match self.touches.of(to, target).first() {
                    Some(touch) if touch.is_write && func.insts[touch.inst].guard.is_none() => continue,
                    Some(_) => return Err(Refusal::Live),
                    // The definition writes the register again.
                    None if target == path.definition => continue,
                    None => {}
                }
                visited.push(target);
                leaving.push(target);
            }
        }
        Ok(())
    }
}

/// The registers that copies write.
fn targets(func: &Function, moves: &[(Block, Inst)]) -> FixedBitSet {
    let mut targets = FixedBitSet::with_capacity(func.regs.len());
    let copies = moves.iter().filter_map(|&(_, inst)| copied(&func.insts[inst]));
    copies.for_each(|(_, to)| targets.insert(to.index()));
    targets
}

/// Guard 2: can the definition write `to` instead of `from`?
fn can_rename(
    func: &Function,
    values: &Values,
    found: Renamed,
    copy: Inst,
    (from, to): (Reg, Reg),
) -> Result<(), Refusal> {
    let (definition, copy_data) = (&func.insts[found.inst], &func.insts[copy]);
    debug_assert_eq!(definition.dsts.get(found.index), Some(&from));
    let (have, want) = (func.reg_types[from], func.reg_types[to]);
    if definition.opcode.op == Op::In {
        return Err(Refusal::Drawn);
    }
    if definition.opcode.op == Op::Ptx {
        return Err(Refusal::Opaque);
    }
    // A definition of an integer register can write any register of that width that is not a
    // float's.
    if have != want && !(have.is_integer() && !want.is_float() && have.agrees_with(want)) {
        return Err(Refusal::Types);
    }
    if definition.guard != copy_data.guard || values.guard(found.inst) != values.guard(copy) {
        return Err(Refusal::OtherGuard);
    }
    if definition.dsts.contains(&to) {
        return Err(Refusal::WrittenTwice);
    }
    Ok(())
}
