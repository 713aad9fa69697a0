//! Which register holds a copy of what, at each point of a walk over the dominator tree.
//!
//! ```text
//! b = mov.u32 a            b is a copy of a
//! @p c = mov.u32 a         c is a copy of a where p holds
//! d = selp.u32 a, 7, p     d is a copy of a where p holds, of 7 where it does not
//! br p, n2, n3             in n2, and whatever n2 dominates, p holds
//! ```
//!
//! Blocks are visited in dominator-tree preorder. A copy between registers with one definition each stays true in every
//! block that the copy dominates: the source's definition dominates the copy, so no path can run it again and reach a use
//! without passing the copy again. Everything else is true along an extended basic block, until one of its registers is
//! written; each write gives a register a new version, and a copy names the versions it was made of. Leaving a
//! block takes back what was learnt in it.
//!
//! Every instruction costs a constant number of table look-ups; the tables are one entry a register.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::{EntityRef, SecondaryMap};

use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function, Guard, Inst, InstData, Op, Operand, Reg};
use crate::view::{Listener, View};

/// What a register is a copy of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Another register.
    Reg(Reg),
    /// A constant's bits.
    Const(u64),
}

impl Source {
    /// The source that an operand is, if it can be one.
    fn of(operand: &Operand) -> Option<Source> {
        match operand {
            Operand::Reg(reg) => Some(Source::Reg(*reg)),
            Operand::Const(bits) => Some(Source::Const(*bits)),
            _ => None,
        }
    }
}

/// A source, with what has to stay as it was for the knowledge to stay true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    source: Source,
    /// The source register's version when it was copied.
    version: u32,
}

/// A predicate register at one of its versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Predicate {
    reg: Reg,
    version: u32,
}

/// What is known of a register since its last write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Copy {
    /// Nothing.
    Unknown,
    /// It holds the source.
    Always(Held),
    /// It holds the source in lanes where the predicate has that value.
    Where(Predicate, bool, Held),
    /// It holds the first source in lanes where the predicate is true and the second one elsewhere.
    Select(Predicate, Option<Held>, Option<Held>),
}

/// What is known of a register. Small, because every write puts the old state on the undo list: the few registers
/// that are copies have theirs in a table of its own.
#[derive(Clone, Copy, Default)]
struct RegState {
    /// A number of the last write in the walk; 0 where no write dominates.
    version: u32,
    /// An index into [`AvailableCopies::copies`]; the first one is [`Copy::Unknown`].
    copy: u32,
    /// The extended block in which `copy` was learnt.
    copied_in: u32,
    known: KnownValue,
}

/// A predicate's value on this path, from the branch that led here, and the extended block in which it was learnt.
#[derive(Clone, Copy, Default)]
struct KnownValue {
    /// Twice the extended block, which is never 0, and one more for true; 0 where nothing is known.
    code: u32,
}

impl KnownValue {
    fn new(value: bool, learnt_in: u32) -> KnownValue {
        KnownValue { code: learnt_in << 1 | u32::from(value) }
    }

    fn value(self) -> Option<bool> {
        (self.code != 0).then_some(self.code & 1 != 0)
    }

    fn learnt_in(self) -> u32 {
        self.code >> 1
    }
}

/// The index of [`Copy::Unknown`] in the table of copies.
const UNKNOWN: u32 = 0;

/// One open block of the walk. What was learnt since it was opened stands behind these places of the tables.
struct Scope {
    block: Block,
    undo_from: usize,
    copies_from: usize,
    extended_block: u32,
}

/// The outcome of a look-up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    /// The register is no known copy.
    None,
    /// It holds this.
    Found(Source),
    /// It was made a copy of this, but the source may have been overwritten since.
    Overwritten(Source),
}

/// Walks over a function. `visit` may look up what an instruction reads, and change or remove that instruction.
pub fn walk_with_copies<S: Listener>(
    view: &mut View<'_, S>,
    mut visit: impl FnMut(&mut View<'_, S>, &AvailableCopies, Block, Inst),
) {
    let (cfg, dominators) = (view.cfg(), view.dominators());
    let mut copies = AvailableCopies::new(view.func(), cfg, dominators.clone());
    for &block in dominators.preorder() {
        copies.enter(view.func(), block);
        let mut next = view.func().layout.first_inst(block);
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            visit(view, &copies, block, inst);
            let func = view.func();
            // What went away writes nothing.
            if func.inst_block(inst).is_some() {
                copies.define(&func.insts[inst]);
            }
        }
    }
}

/// The tables of one walk.
pub struct AvailableCopies {
    cfg: Rc<Cfg>,
    dominators: Rc<Dominators>,
    /// Registers with exactly one definition, a parameter's value on entry counted as one. As they were before the first
    /// block: who removes definitions on the way does not make others true elsewhere.
    defined_once: Vec<bool>,
    regs: SecondaryMap<Reg, RegState>,
    copies: Vec<Copy>,
    scopes: Vec<Scope>,
    undo: Vec<(Reg, RegState)>,
    last_version: u32,
    /// The open block's.
    extended_block: u32,
    last_extended_block: u32,
}

impl AvailableCopies {
    /// Before the first block.
    fn new(func: &Function, cfg: Rc<Cfg>, dominators: Rc<Dominators>) -> AvailableCopies {
        let mut regs: SecondaryMap<Reg, RegState> = SecondaryMap::new();
        regs.resize(func.regs.len());
        let mut defined_once: Vec<bool> = func.regs.keys().map(|reg| func.definition_count(reg) == 1).collect();
        for reg in func.params.iter().filter_map(|param| param.reg) {
            regs[reg].version = 1;
            defined_once[reg.index()] = func.definition_count(reg) == 0;
        }
        AvailableCopies {
            cfg,
            dominators,
            defined_once,
            regs,
            copies: vec![Copy::Unknown],
            scopes: Vec::new(),
            undo: Vec::with_capacity(func.insts.len()),
            last_version: 1,
            extended_block: 0,
            last_extended_block: 0,
        }
    }

    /// Goes to the next block of the dominator tree's preorder.
    fn enter(&mut self, func: &Function, block: Block) {
        while let Some(scope) = self.scopes.last()
            && !self.dominators.dominates(scope.block, block)
        {
            for (reg, state) in self.undo.drain(scope.undo_from..).rev() {
                self.regs[reg] = state;
            }
            self.copies.truncate(scope.copies_from);
            self.scopes.pop();
        }
        // A block with one predecessor goes on with what that one knew; the predecessor is its immediate dominator.
        let only_predecessor = match *self.cfg.predecessors(block) {
            [only] if !self.cfg.is_entry(block) => Some(only),
            _ => None,
        };
        self.extended_block = match self.scopes.last() {
            Some(scope) if only_predecessor == Some(scope.block) => scope.extended_block,
            _ => {
                self.last_extended_block += 1;
                self.last_extended_block
            }
        };
        let (undo_from, copies_from) = (self.undo.len(), self.copies.len());
        self.scopes.push(Scope { block, undo_from, copies_from, extended_block: self.extended_block });
        if let Some(predecessor) = only_predecessor {
            self.learn_from_branch(func, predecessor, block);
        }
    }

    /// May [`AvailableCopies::lookup`] find something for the register? Mostly not, and this is the quicker question.
    #[inline]
    pub fn may_be_copy(&self, reg: Reg) -> bool {
        self.regs[reg].copy != UNKNOWN
    }

    /// What a register holds, for an instruction under that guard.
    pub fn lookup(&self, reg: Reg, guard: Option<Guard>) -> Lookup {
        let state = &self.regs[reg];
        let held = match self.copies[state.copy as usize] {
            Copy::Unknown => return Lookup::None,
            Copy::Always(held) => Some(held),
            Copy::Where(predicate, value, held) => {
                (self.value_of(reg, predicate, guard) == Some(value)).then_some(held)
            }
            Copy::Select(predicate, on_true, on_false) => match self.value_of(reg, predicate, guard) {
                Some(true) => on_true,
                Some(false) => on_false,
                None => None,
            },
        };
        match held {
            None => Lookup::None,
            Some(held) if self.still_holds(reg, state.copied_in, held.source, held.version) => {
                Lookup::Found(held.source)
            }
            Some(held) => Lookup::Overwritten(held.source),
        }
    }

    /// A predicate's value here, if the path or a constant tells.
    pub fn predicate(&self, reg: Reg) -> Option<bool> {
        self.known_value(reg).or_else(|| match self.lookup(reg, None) {
            Lookup::Found(Source::Const(bits)) => Some(bits & 1 != 0),
            Lookup::Found(Source::Reg(source)) => self.known_value(source),
            _ => None,
        })
    }

    /// What a branch on the register itself tells.
    fn known_value(&self, reg: Reg) -> Option<bool> {
        let known = self.regs[reg].known;
        known.value().filter(|_| self.is_defined_once(reg) || known.learnt_in() == self.extended_block)
    }

    /// Has the register exactly one definition, a parameter's value on entry counted as one?
    pub fn is_defined_once(&self, reg: Reg) -> bool {
        self.defined_once.get(reg.index()).is_some_and(|&once| once)
    }

    /// Tells what an instruction writes, after its reads have been looked up.
    #[inline]
    fn define(&mut self, data: &InstData) {
        let copy = if data.guard.is_some() || matches!(data.opcode.op, Op::Mov | Op::Selp) {
            self.add_copy_made_by(data)
        } else {
            UNKNOWN
        };
        let copied_in = self.extended_block;
        for &dst in &data.dsts {
            self.last_version += 1;
            let state = RegState { version: self.last_version, copy, copied_in, known: KnownValue::default() };
            self.undo.push((dst, core::mem::replace(&mut self.regs[dst], state)));
        }
    }

    /// The index of what the only destination of an instruction is a copy of. Apart from [`AvailableCopies::define`],
    /// which most instructions leave quickly.
    #[inline(never)]
    fn add_copy_made_by(&mut self, data: &InstData) -> u32 {
        match self.copy_made_by(data) {
            Copy::Unknown => UNKNOWN,
            copy => {
                self.copies.push(copy);
                self.copies.len() as u32 - 1
            }
        }
    }

    /// What the only destination of an instruction is a copy of, in terms of the versions before the instruction.
    fn copy_made_by(&self, data: &InstData) -> Copy {
        let &[dst] = data.dsts.as_slice() else { return Copy::Unknown };
        // A register that is copied into itself, or chosen by itself, tells nothing of its new value.
        let hold = |operand: &Operand| {
            let source = Source::of(operand)?;
            match source {
                Source::Reg(reg) if reg == dst => None,
                Source::Reg(reg) => Some(Held { source, version: self.regs[reg].version }),
                Source::Const(_) => Some(Held { source, version: 0 }),
            }
        };
        let made = match (data.opcode.op, data.args.as_slice()) {
            (Op::Mov, [from]) => hold(from).map_or(Copy::Unknown, Copy::Always),
            (Op::Selp, [on_true, on_false, condition]) => {
                let (on_true, on_false) = (hold(on_true), hold(on_false));
                let (Operand::Reg(reg) | Operand::NotReg(reg)) = *condition else { return Copy::Unknown };
                let negated = matches!(condition, Operand::NotReg(_));
                let (on_true, on_false) = if negated { (on_false, on_true) } else { (on_true, on_false) };
                let predicate = Predicate { reg, version: self.regs[reg].version };
                let known =
                    data.guard.filter(|guard| guard.reg == reg).map(|guard| !guard.negated).or(self.predicate(reg));
                match known {
                    _ if reg == dst => Copy::Unknown,
                    _ if on_true.is_some() && on_true == on_false => on_true.map_or(Copy::Unknown, Copy::Always),
                    Some(value) => (if value { on_true } else { on_false }).map_or(Copy::Unknown, Copy::Always),
                    None => Copy::Select(predicate, on_true, on_false),
                }
            }
            _ => Copy::Unknown,
        };
        match (made, data.guard) {
            (_, None) => made,
            (_, Some(guard)) if guard.reg == dst => Copy::Unknown,
            (made, Some(guard)) => self.under_guard(dst, guard, made),
        }
    }

    /// What a guarded write leaves: the new copy where the guard holds, and elsewhere what was there before.
    fn under_guard(&self, dst: Reg, guard: Guard, made: Copy) -> Copy {
        let predicate = Predicate { reg: guard.reg, version: self.regs[guard.reg].version };
        let value = !guard.negated;
        if self.predicate(guard.reg) == Some(value) {
            return made;
        }
        let before = &self.regs[dst];
        let copy_before = self.copies[before.copy as usize];
        let Copy::Always(held) = made else {
            // Nothing is known where the guard holds, so only the other lanes may keep what they had.
            return match copy_before {
                Copy::Where(known, known_value, held)
                    if known == predicate && known_value != value && before.copied_in == self.extended_block =>
                {
                    Copy::Where(known, known_value, held)
                }
                _ => Copy::Unknown,
            };
        };
        match copy_before {
            // Complementary guarded copies of one value are one copy.
            Copy::Where(known, known_value, other)
                if known == predicate
                    && known_value != value
                    && other == held
                    && before.copied_in == self.extended_block =>
            {
                Copy::Always(held)
            }
            Copy::Always(other) if other == held && before.copied_in == self.extended_block => Copy::Always(held),
            _ => Copy::Where(predicate, value, held),
        }
    }

    /// The one edge into a block says what the branch saw.
    fn learn_from_branch(&mut self, func: &Function, predecessor: Block, block: Block) {
        let Some(branch) = func.terminator(predecessor).map(|inst| &func.insts[inst]) else { return };
        if branch.opcode.op != Op::BrIf || branch.targets[0] == branch.targets[1] {
            return;
        }
        let taken = branch.targets[0] == block;
        let (reg, value) = match branch.args[0] {
            Operand::Reg(reg) => (reg, taken),
            Operand::NotReg(reg) => (reg, !taken),
            _ => return,
        };
        self.undo.push((reg, self.regs[reg]));
        self.regs[reg].known = KnownValue::new(value, self.extended_block);
    }

    /// The value of a predicate that `owner`'s knowledge leans on: told by the guard of the reader, or by the path.
    fn value_of(&self, owner: Reg, predicate: Predicate, guard: Option<Guard>) -> Option<bool> {
        let learnt_in = self.regs[owner].copied_in;
        if !self.still_holds(owner, learnt_in, Source::Reg(predicate.reg), predicate.version) {
            return None;
        }
        match guard {
            Some(guard) if guard.reg == predicate.reg => Some(!guard.negated),
            _ => self.predicate(predicate.reg),
        }
    }

    /// Is `source` what it was when `owner` was made a copy of it?
    fn still_holds(&self, owner: Reg, learnt_in: u32, source: Source, version: u32) -> bool {
        match source {
            Source::Const(_) => self.is_defined_once(owner) || learnt_in == self.extended_block,
            Source::Reg(reg) => {
                let both_defined_once = self.is_defined_once(owner) && self.is_defined_once(reg) && version != 0;
                both_defined_once || (learnt_in == self.extended_block && self.regs[reg].version == version)
            }
        }
    }
}
