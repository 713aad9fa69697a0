//! Registers that hold copies, and their sources, at each point of a walk over the dominator tree.
//!
//! ```text
//! b = mov.u32 a            b is a copy of a
//! @p c = mov.u32 a         c is a copy of a where p holds
//! d = selp.u32 a, 7, p     d is a copy of a where p holds, of 7 where it does not
//! br p, n2, n3             in n2, and whatever n2 dominates, p holds
//! ```
//!
//! Blocks are visited in dominator-tree preorder. A copy between registers with one definition each
//! stays true in every block that the copy dominates, if the source's definition dominates the
//! copy: no path can run that definition again and reach a use without passing the copy again.
//! Everything else is true along an extended basic block (a block, those that only it leads to, and
//! so on), until one of its registers is written; each write gives a register a new version, and a
//! copy names the versions it was made of. Leaving a block takes back what was learnt in it.
//!
//! Cost: O(1) for each instruction, in tables with one entry for each register.
//!
//! Source: Aho, Lam, Sethi, Ullman, section 9.1.5; extended basic blocks as in Muchnick, section
//! 12.5.

mod definitions;
mod facts;

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function, Guard, Inst, InstData, Reg};
use crate::view::View;
pub use facts::Source;
use facts::{Copy, Held, Knowledge, Outcome, Predicate, RegState, Written};

/// One open block of the walk.
struct Scope {
    block: Block,
    /// End of its subtree in the dominator tree's preorder.
    end: u32,
    /// Number of changed states before it was opened.
    undo_from: usize,
    /// Number of pieces of knowledge before it was opened.
    knowledge_from: usize,
    extended_block: u32,
    /// Condition of the block's branch, and its target if that holds.
    condition: Option<(Reg, bool, Block)>,
}

/// A walk over some of the blocks of a function and some of their instructions.
pub struct CopyWalk<B, I> {
    /// True if complementary guarded copies of one value are one copy.
    pub joins_complementary: bool,
    /// Selects blocks by their places in the dominator tree's preorder, with all that dominate
    /// them.
    pub block_takes_part: B,
    /// Selects instructions. The writes of the other ones do not count.
    pub inst_takes_part: I,
}

impl CopyWalk<fn(usize) -> bool, fn(Inst) -> bool> {
    /// A walk over everything.
    pub const ALL: Self = CopyWalk { joins_complementary: true, block_takes_part: |_| true, inst_takes_part: |_| true };
}

/// Walks over some of the blocks and some of their instructions, as [`CopyWalk`] describes them.
pub fn walk_part_with_copies<F>(
    view: &mut View<'_>,
    block_takes_part: impl Fn(usize) -> bool,
    inst_takes_part: impl Fn(Inst) -> bool,
    look: impl Fn(&AvailableCopies, &InstData) -> Option<F>,
    visit: impl FnMut(&mut View<'_>, &AvailableCopies, (Block, Inst), F) -> bool,
) {
    CopyWalk { joins_complementary: true, block_takes_part, inst_takes_part }.run(view, look, visit);
}

impl<B: Fn(usize) -> bool, I: Fn(Inst) -> bool> CopyWalk<B, I> {
    /// Visits the instructions for which `look` finds something in the copies. `visit` may change
    /// or remove the instruction, and returns whether it is still in the function.
    pub fn run<F>(
        self,
        view: &mut View<'_>,
        look: impl Fn(&AvailableCopies, &InstData) -> Option<F>,
        mut visit: impl FnMut(&mut View<'_>, &AvailableCopies, (Block, Inst), F) -> bool,
    ) {
        let (cfg, dominators) = (view.cfg(), view.dominators());
        let mut copies = AvailableCopies::new(view.func(), cfg, dominators.clone());
        copies.joins_complementary = self.joins_complementary;
        let mut place = 0;
        while let Some(&block) = dominators.preorder().get(place) {
            if !(self.block_takes_part)(place) {
                place += dominators.subtree(block).len();
                continue;
            }
            copies.enter(block, place as u32);
            place += 1;
            let mut next = view.func().layout.first_inst(block);
            while let Some(inst) = next {
                next = view.func().layout.next_inst(inst);
                if !(self.inst_takes_part)(inst) {
                    continue;
                }
                let mut data = &view.func().insts[inst];
                if let Some(found) = look(&copies, data) {
                    let stays = visit(view, &copies, (block, inst), found);
                    debug_assert_eq!(stays, view.func().inst_block(inst).is_some());
                    // A removed instruction writes nothing.
                    if !stays {
                        continue;
                    }
                    data = &view.func().insts[inst];
                }
                copies.define(data);
                if next.is_none() {
                    copies.note_branch(data);
                }
            }
        }
    }
}

/// Source of a copy, which may have been overwritten since, or the copy.
pub struct FoundCopy {
    pub source: Source,
    pub was_overwritten: bool,
}

/// The tables of one walk.
pub struct AvailableCopies {
    cfg: Rc<Cfg>,
    dominators: Rc<Dominators>,
    /// States by register. Which registers have exactly one definition, a parameter's value on
    /// entry counted as one, is decided before the first block: definitions removed during the walk
    /// make no others true elsewhere.
    regs: Vec<RegState>,
    /// The first one is [`Knowledge::none()`].
    knowledge: Vec<Knowledge>,
    scopes: Vec<Scope>,
    /// States before changes in open blocks.
    undo: Vec<(Reg, RegState)>,
    last_version: u32,
    /// The open block.
    block: Block,
    extended_block: u32,
    last_extended_block: u32,
    /// True if complementary guarded copies of one value are one copy.
    joins_complementary: bool,
}

impl AvailableCopies {
    /// Creates the tables before the first block.
    fn new(func: &Function, cfg: Rc<Cfg>, dominators: Rc<Dominators>) -> AvailableCopies {
        let written = |count| if count == 1 { Written::NotYet } else { Written::Never };
        let states = func.definition_counts().map(|count| RegState { written: written(count), known: 0 });
        let mut regs: Vec<RegState> = states.collect();
        for reg in func.params.iter().filter_map(|param| param.reg) {
            let is_constant = func.definition_count(reg) == 0;
            regs[reg.index()].written = if is_constant { Written::OnEntry } else { Written::Version(1) };
        }
        AvailableCopies {
            cfg,
            dominators,
            regs,
            knowledge: vec![Knowledge::none()],
            scopes: Vec::new(),
            undo: Vec::new(),
            last_version: 1,
            block: Block::new(0),
            extended_block: 0,
            last_extended_block: 0,
            joins_complementary: true,
        }
    }

    /// Enters the next block of the dominator tree's preorder, the one at that place.
    fn enter(&mut self, block: Block, place: u32) {
        self.close_scopes(place);
        // A block with one predecessor, its immediate dominator, keeps the knowledge of that one.
        let only_predecessor = match *self.cfg.predecessors(block) {
            [only] if !self.cfg.is_entry(block) => Some(only),
            _ => None,
        };
        let condition = match self.scopes.last() {
            Some(scope) if only_predecessor == Some(scope.block) => {
                self.extended_block = scope.extended_block;
                scope.condition
            }
            _ => {
                self.last_extended_block += 1;
                self.extended_block = self.last_extended_block;
                None
            }
        };
        self.block = block;
        self.scopes.push(Scope {
            block,
            end: place + self.dominators.subtree(block).len() as u32,
            undo_from: self.undo.len(),
            knowledge_from: self.knowledge.len(),
            extended_block: self.extended_block,
            condition: None,
        });
        if let Some((reg, value, on_true)) = condition {
            self.learn_outcome(reg, value == (on_true == block));
        }
    }

    /// Undoes the changes of blocks that do not dominate the one at that place.
    fn close_scopes(&mut self, place: u32) {
        let mut closed = None;
        while let Some(scope) = self.scopes.pop_if(|scope| scope.end <= place) {
            closed = Some(scope);
        }
        let Some(Scope { undo_from, knowledge_from, .. }) = closed else { return };
        while self.undo.len() > undo_from
            && let Some((reg, state)) = self.undo.pop()
        {
            self.regs[reg.index()] = state;
        }
        self.knowledge.truncate(knowledge_from);
    }

    fn knowledge_of(&self, reg: Reg) -> &Knowledge {
        &self.knowledge[self.regs[reg.index()].known]
    }

    /// True if [`AvailableCopies::lookup`] may find something for the register; mostly false.
    pub fn may_be_copy(&self, reg: Reg) -> bool {
        self.knowledge_of(reg).copy != Copy::Unknown
    }

    /// True if an instruction reads a register that may be a copy; mostly false.
    pub fn reads_copy(&self, data: &InstData) -> bool {
        let mut any = false;
        data.for_each_use(|reg| any |= self.may_be_copy(reg));
        any
    }

    /// True if the register was made a copy in the open block.
    pub fn was_copied_here(&self, reg: Reg) -> bool {
        self.knowledge_of(reg).copied_at == self.block
    }

    /// Value of a register, for an instruction under that guard.
    pub fn lookup(&self, reg: Reg, guard: Option<Guard>) -> Option<Source> {
        self.find(reg, guard).filter(|found| !found.was_overwritten).map(|found| found.source)
    }

    /// Source that a register was copied from on every path to an instruction under that guard.
    pub fn find(&self, reg: Reg, guard: Option<Guard>) -> Option<FoundCopy> {
        let knowledge = self.knowledge_of(reg);
        let value_of = |predicate| self.value_of(knowledge, predicate, guard);
        let held = match knowledge.copy {
            Copy::Unknown => return None,
            Copy::Always(held) => held,
            Copy::Where(predicate, value, held) => (value_of(predicate) == Some(value)).then_some(held)?,
            Copy::Select(predicate, on_true, on_false) => (if value_of(predicate)? { on_true } else { on_false })?,
        };
        Some(FoundCopy { source: held.source(), was_overwritten: !self.still_holds(knowledge, held) })
    }

    /// A predicate's value here, if the path or a constant tells.
    pub fn predicate(&self, reg: Reg) -> Option<bool> {
        self.known_value(reg).or_else(|| match self.lookup(reg, None) {
            Some(Source::Const(bits)) => Some(bits & 1 != 0),
            Some(Source::Reg(source)) => self.known_value(source),
            None => None,
        })
    }

    /// Value that a branch on the register itself implies.
    fn known_value(&self, reg: Reg) -> Option<bool> {
        let Outcome { value, extended_block, block } = self.knowledge_of(reg).outcome?;
        let written = self.regs[reg.index()].written;
        let holds = extended_block == self.extended_block || self.definition_dominates(written, block);
        holds.then_some(value)
    }

    /// True if the register has one definition, counting a parameter's value on entry.
    pub fn is_defined_once(&self, reg: Reg) -> bool {
        self.regs[reg.index()].written.is_once()
    }

    /// True if every path to here has assigned the register, one with several definitions.
    pub fn is_assigned(&self, reg: Reg) -> bool {
        !matches!(self.regs[reg.index()].written, Written::Never | Written::NotYet)
    }

    /// The value of a predicate on which the knowledge depends, if the guard of the reader or the
    /// path implies it.
    fn value_of(&self, knowledge: &Knowledge, predicate: Predicate, guard: Option<Guard>) -> Option<bool> {
        let Predicate { reg, written } = predicate;
        if !self.still_holds(knowledge, Held::Reg(reg, written)) {
            return None;
        }
        match guard {
            Some(guard) if guard.reg == reg => Some(!guard.negated),
            _ => self.predicate(reg),
        }
    }

    /// True if a source is unchanged since a register was made a copy of it.
    fn still_holds(&self, knowledge: &Knowledge, held: Held) -> bool {
        let is_in_extended_block = knowledge.copied_in == self.extended_block;
        match held {
            Held::Const(_) => is_in_extended_block || knowledge.is_only_definition,
            Held::Reg(reg, written) if is_in_extended_block => self.regs[reg.index()].written == written,
            Held::Reg(_, written) => {
                knowledge.is_only_definition && self.definition_dominates(written, knowledge.copied_at)
            }
        }
    }

    /// True if the register has one definition, which is on every path to a block in which it was
    /// last written so.
    fn definition_dominates(&self, written: Written, block: Block) -> bool {
        match written {
            Written::Once(definition) => definition == block || self.dominators.dominates(definition, block),
            _ => written == Written::OnEntry,
        }
    }
}
