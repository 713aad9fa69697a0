//! The three guards of backward copy propagation, for `to = mov from`.
//!
//! 1. The copy is the only reader of the value in `from`, and one definition makes that value.
//! 2. The definition can write `to`: its opcode leaves the register free, the types are the same, it
//!    has the copy's guard, and it does not write `to` already.
//! 3. Nothing reads or writes `to` between the definition and the copy. In one block, that is a look
//!    at one row of [`Touches`]. Across blocks, a backward search from the copy's block to the
//!    definition's finds no block that touches `to`; and where control leaves these blocks, a forward
//!    search finds `to` dead. Both give up after [`MAX_BLOCKS`] blocks.
//!
//! Answers are about the program before the walk. Renaming inside one block changes no answer that a
//! backward walk asks for later. Renaming across blocks makes `to` live in between, so such a
//! register waits for the next walk.
//!
//! The next walk needs no new value names: a removed copy was the only reader of one value, and the
//! readers of its result read that value now. Only the rows of its registers change. Left over may be
//! a reader of such a register's other values, a join or a guarded write: if a copy is refused for
//! several readers of one of these, values are named anew at the end.
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

/// More blocks between a definition and a copy are not searched, nor more beside them.
const MAX_BLOCKS: usize = 64;

/// A destination that may be renamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Renamed {
    /// The instruction.
    pub inst: Inst,
    /// Which of its destinations.
    pub index: usize,
    /// Does it stand in another block than the copy?
    is_elsewhere: bool,
}

/// Which guard failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Guard 1: others read the value.
    SeveralReaders,
    /// Guard 1: the value comes from several definitions.
    SeveralDefinitions,
    /// Guard 2: the register has held it since control came in.
    OnEntry,
    /// Guard 2: an `in` draws it.
    Drawn,
    /// Guard 2: an opaque instruction writes it.
    Opaque,
    /// Guard 2: the types differ.
    Types,
    /// Guard 2: definition and copy do not stand under one guard.
    OtherGuard,
    /// Guard 2: the definition writes the copy's register, too.
    WrittenTwice,
    /// Guard 3: an instruction touches the copy's register on the way, this one where it is known.
    UnderWay(Option<Inst>),
    /// Guard 3: the copy's register still holds something that is read.
    Live,
    /// Guard 3: the definition is too far away.
    TooFar,
    /// Guard 3: not asked in this walk, because the answer may have changed.
    SetAside,
}

impl Refusal {
    /// The rule's name.
    pub fn rule(self) -> &'static str {
        match self {
            Refusal::SeveralReaders | Refusal::SeveralDefinitions => "one-use",
            Refusal::OnEntry
            | Refusal::Drawn
            | Refusal::Opaque
            | Refusal::Types
            | Refusal::OtherGuard
            | Refusal::WrittenTwice => "can-rename",
            Refusal::UnderWay(_) | Refusal::Live | Refusal::TooFar | Refusal::SetAside => "no-conflict",
        }
    }

    /// The reason in words.
    pub fn why(self, func: &Function, copy: Inst) -> String {
        let Some((from, to)) = copied(&func.insts[copy]) else { return String::new() };
        let (from, to) = (&func.regs[from].name, &func.regs[to].name);
        match self {
            Refusal::SeveralReaders => format!("`{from}` has other readers"),
            Refusal::SeveralDefinitions => format!("`{from}` has several definitions"),
            Refusal::OnEntry => format!("`{from}` is defined on entry, by no instruction"),
            Refusal::Drawn => format!("`{from}` is drawn from an input, and draws are never changed"),
            Refusal::Opaque => format!("`{from}` is written by an opaque instruction, and these are never changed"),
            Refusal::Types => format!("`{from}` and `{to}` have different types"),
            Refusal::OtherGuard => format!("`{from}` is not defined under the guard of the copy"),
            Refusal::WrittenTwice => format!("the definition of `{from}` already writes `{to}`"),
            Refusal::UnderWay(_) => format!("`{to}` is read or written between the definition of `{from}` and here"),
            Refusal::Live => format!("`{to}` is live where `{from}` is defined"),
            Refusal::TooFar => format!(
                "there are more than {MAX_BLOCKS} blocks on the paths from the definition of `{from}` to here, or \
                 beside them"
            ),
            Refusal::SetAside => format!("`{to}` has just been renamed elsewhere"),
        }
    }
}

/// The guards of one walk.
pub struct Guards {
    values: Option<(Rc<Values>, Rc<ValueUses>)>,
    touches: Touches,
    cfg: Rc<Cfg>,
    /// Copies that are gone, and what writes their register now.
    gone: BTreeMap<Inst, Renamed>,
    /// Registers whose liveness changed in this walk.
    set_aside: FixedBitSet,
    /// Copies in whose way a refused one found them.
    in_the_way: FixedBitSet,
    /// The registers of copies that were refused for a reason that may go away with others.
    doubtful: Vec<[Reg; 2]>,
    /// Registers of which a read or a write is gone, or stands elsewhere: by this walk, and by those before it.
    moved: FixedBitSet,
    moved_before: FixedBitSet,
    /// Renamings of this walk, in order.
    renamings: Vec<Renaming>,
    /// Was a copy refused for readers that may have gone with an earlier walk's copies?
    has_doubtful_readers: bool,
    has_found_way: bool,
}

/// A copy that is gone, and what writes its register instead.
struct Renaming {
    copy: Inst,
    guard: Option<Reg>,
    from: Reg,
    to: Reg,
    definition: Inst,
}

impl Guards {
    /// Looks at a function before a walk, whose moves of registers are given.
    pub fn new(view: &mut View<'_>, moves: &[(Block, Inst)]) -> Guards {
        let cfg = view.cfg();
        let func = view.func();
        let targets = targets(func, moves);
        let has_copies = !targets.is_clear();
        let mut guards = Guards {
            values: None,
            touches: Touches::compute(func, &cfg, &targets),
            cfg,
            gone: BTreeMap::new(),
            set_aside: FixedBitSet::with_capacity(func.regs.len()),
            in_the_way: FixedBitSet::with_capacity(func.insts.len()),
            doubtful: Vec::new(),
            moved: FixedBitSet::with_capacity(func.regs.len()),
            moved_before: FixedBitSet::with_capacity(func.regs.len()),
            renamings: Vec::new(),
            has_doubtful_readers: false,
            has_found_way: false,
        };
        if has_copies {
            guards.values = Some((view.values(), view.value_uses()));
        }
        guards
    }

    /// Might another walk find what this one did not? Why a copy was refused is a matter of where
    /// its two registers are read and written, so it stays where neither is one of a copy that is
    /// gone.
    pub fn may_find_more(&self) -> bool {
        let may_change = |regs: &[Reg; 2]| regs.iter().any(|reg| self.moved.contains(reg.index()));
        self.has_found_way || self.doubtful.iter().any(may_change)
    }

    /// Might new names for the values find what no walk did?
    pub fn may_find_more_anew(&self) -> bool {
        self.has_doubtful_readers
    }

    /// Turns to the function as it is now, for another walk.
    pub fn renew(&mut self, func: &Function, moves: &[(Block, Inst)]) {
        let lengths = self.renamings.iter().map(|gone| self.touches.count(gone.from) + self.touches.count(gone.to));
        if lengths.sum::<usize>() > func.insts.len() {
            self.touches = Touches::compute(func, &self.cfg, &targets(func, moves));
            self.renamings.clear();
        }
        for Renaming { copy, guard, from, to, definition } in core::mem::take(&mut self.renamings) {
            self.touches.remove(to, copy);
            self.touches.remove(from, copy);
            if let Some(guard) = guard {
                self.touches.remove(guard, copy);
            }
            self.touches.remove_write(from, definition);
            self.touches.add_write(to, definition);
        }
        debug_assert!(
            self.touches
                .says_the_same(&Touches::compute(func, &self.cfg, &targets(func, moves)), &targets(func, moves)),
            "the rows did not follow the renamings"
        );
        self.moved_before.union_with(&self.moved);
        self.moved.clear();
        self.set_aside.clear();
        self.in_the_way.clear();
        self.doubtful.clear();
        self.has_doubtful_readers = false;
        self.has_found_way = false;
    }

    /// The definition that may write `to` itself, if all guards hold.
    pub fn definition_to_rename(
        &mut self,
        func: &Function,
        (block, copy): (Block, Inst),
        (from, to): (Reg, Reg),
    ) -> Result<Renamed, Refusal> {
        let Some((values, uses)) = self.values.clone() else { return Err(Refusal::OnEntry) };
        let Some(&value) = values.operands(copy).first() else { return Err(Refusal::OnEntry) };
        let found = self
            .only_definition(&values, value)
            .and_then(|found| self.is_only_reader(&uses, value).then_some(found).ok_or(Refusal::SeveralReaders))
            .and_then(|found| can_rename(func, &values, found, copy, (from, to)).map(|()| found))
            .and_then(|found| self.no_conflict(func, found, (block, copy), to));
        match found {
            Err(Refusal::UnderWay(Some(inst))) if self.gone.contains_key(&inst) => self.has_found_way = true,
            Err(Refusal::UnderWay(Some(inst))) if copied(&func.insts[inst]).is_some() => {
                self.in_the_way.insert(inst.index());
            }
            Err(Refusal::UnderWay(_) | Refusal::Live | Refusal::TooFar | Refusal::SetAside | Refusal::WrittenTwice) => {
                self.doubtful.push([from, to])
            }
            _ => {}
        }
        found
    }

    /// The copy of `from` is gone, and `renamed` writes `to`.
    pub fn note_renamed(&mut self, func: &Function, copy: Inst, (from, to): (Reg, Reg), renamed: Renamed) {
        let guard = func.insts[copy].guard.map(|guard| guard.reg);
        [Some(from), Some(to), guard].into_iter().flatten().for_each(|reg| self.moved.insert(reg.index()));
        self.renamings.push(Renaming { copy, guard, from, to, definition: renamed.inst });
        self.has_found_way |= self.in_the_way.contains(copy.index());
        self.gone.insert(copy, renamed);
        if renamed.is_elsewhere {
            self.set_aside.insert(to.index());
            // The walk has been in that block, where this may have been a copy to itself, or refused for its old type.
            self.has_found_way |= copied(&func.insts[renamed.inst]).is_some();
        }
    }

    /// Guard 1, first half: the one definition of a value.
    fn only_definition(&self, values: &Values, value: Value) -> Result<Renamed, Refusal> {
        let (inst, index) = match values.definition(value) {
            Definition::Entry => return Err(Refusal::OnEntry),
            Definition::Join { .. } => return Err(Refusal::SeveralDefinitions),
            Definition::Inst { inst, index } | Definition::Guarded { inst, index, .. } => (inst, index as usize),
        };
        let mut found = Renamed { inst, index, is_elsewhere: false };
        while let Some(&renamed) = self.gone.get(&found.inst) {
            found = renamed;
        }
        Ok(found)
    }

    /// Guard 1, second half: does only the copy read the value?
    fn is_only_reader(&self, uses: &ValueUses, value: Value) -> bool {
        uses.of(value).len() < 2
    }

    /// Guard 3: between the definition and the copy nothing reads or writes `to`.
    fn no_conflict(
        &self,
        func: &Function,
        found: Renamed,
        (block, copy): (Block, Inst),
        to: Reg,
    ) -> Result<Renamed, Refusal> {
        let defined_in = func.inst_block(found.inst).ok_or(Refusal::OnEntry)?;
        if defined_in == block {
            return match self.touches.last_between(to, found.inst, copy) {
                None => Ok(Renamed { is_elsewhere: false, ..found }),
                Some(inst) => Err(Refusal::UnderWay(Some(inst))),
            };
        }
        // Other lanes keep what they had in `to`, also on paths that do not reach the copy.
        if func.insts[copy].guard.is_some() {
            return Err(Refusal::OtherGuard);
        }
        if self.set_aside.contains(to.index()) {
            return Err(Refusal::SetAside);
        }
        if let Some(inst) = self.touches.last_after(to, found.inst, defined_in) {
            return Err(Refusal::UnderWay(Some(inst)));
        }
        let way = self.way((defined_in, block, copy), to)?;
        self.is_dead_beside(func, &way, to)?;
        Ok(Renamed { is_elsewhere: true, ..found })
    }

    /// The blocks from a definition's to a copy's, both included, unless `to` is touched on the way.
    fn way(&self, (defined_in, block, copy): (Block, Block, Inst), to: Reg) -> Result<Vec<Block>, Refusal> {
        // What stands in front of the copy in its own block is on the way; what stands behind only
        // if the way goes round.
        let in_front = self.touches.of(to, block).iter().take_while(|touch| self.touches.is_before(touch.inst, copy));
        if let Some(touch) = in_front.last() {
            return Err(Refusal::UnderWay(Some(touch.inst)));
        }
        let mut way = vec![defined_in, block];
        let mut next = 1;
        while let Some(&reached) = way.get(next) {
            next += 1;
            for &before in self.cfg.predecessors(reached) {
                if before == block && self.writes_after(block, copy, to) {
                    return Err(Refusal::UnderWay(None));
                }
                if way.contains(&before) || !self.cfg.is_reachable(before) {
                    continue;
                }
                if let Some(touch) = self.touches.of(to, before).last() {
                    return Err(Refusal::UnderWay(Some(touch.inst)));
                }
                way.push(before);
                if way.len() > MAX_BLOCKS {
                    return Err(Refusal::TooFar);
                }
            }
        }
        Ok(way)
    }

    /// Does something other than the copy write `to` in the copy's block?
    fn writes_after(&self, block: Block, copy: Inst, to: Reg) -> bool {
        self.touches.of(to, block).iter().any(|touch| touch.is_write && touch.inst != copy)
    }

    /// Is `to` written before it is read wherever control leaves the way?
    fn is_dead_beside(&self, func: &Function, way: &[Block], to: Reg) -> Result<(), Refusal> {
        let mut beside: Vec<Block> = Vec::new();
        // The copy's block, the second one, ends the way: what follows it reads what the copy wrote.
        let mut leaving: Vec<Block> = way.iter().enumerate().filter(|&(at, _)| at != 1).map(|(_, &b)| b).collect();
        while let Some(from) = leaving.pop() {
            for &target in self.cfg.successors(from) {
                if way.contains(&target) && target != way[0] || beside.contains(&target) {
                    continue;
                }
                match self.touches.of(to, target).first() {
                    Some(touch) if touch.is_write && func.insts[touch.inst].guard.is_none() => continue,
                    Some(_) => return Err(Refusal::Live),
                    // From the definition's block on, the way begins again.
                    None if target == way[0] => continue,
                    None => {}
                }
                beside.push(target);
                leaving.push(target);
                if beside.len() > MAX_BLOCKS {
                    return Err(Refusal::TooFar);
                }
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
    // What an integer register can be written by can write any register of that width that is not a float's.
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
