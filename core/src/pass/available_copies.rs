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
use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function, Guard, InstData, Op, Operand, Reg};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Copy {
    /// Nothing.
    #[default]
    Unknown,
    /// It holds the source.
    Always(Held),
    /// It holds the source in lanes where the predicate has that value.
    Where(Predicate, bool, Held),
    /// It holds the first source in lanes where the predicate is true and the second one elsewhere.
    Select(Predicate, Option<Held>, Option<Held>),
}

#[derive(Clone, Copy, Default)]
struct RegState {
    /// A number of the last write in the walk; 0 where no write dominates.
    version: u32,
    copy: Copy,
    /// The extended block in which `copy` was learnt.
    copied_in: u32,
    /// The predicate's value on this path, from the branch that led here.
    known: Option<bool>,
    /// The extended block in which `known` was learnt.
    known_in: u32,
}

/// One open block of the walk.
struct Scope {
    block: Block,
    undo_from: usize,
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

/// The tables of one walk.
pub struct AvailableCopies {
    cfg: Rc<Cfg>,
    dominators: Rc<Dominators>,
    /// Registers with exactly one definition, a parameter's value on entry counted as one.
    single: SecondaryMap<Reg, bool>,
    regs: SecondaryMap<Reg, RegState>,
    scopes: Vec<Scope>,
    undo: Vec<(Reg, RegState)>,
    last_version: u32,
    last_extended_block: u32,
}

impl AvailableCopies {
    /// Prepares the walk. The caller visits the dominator tree's preorder with [`Self::enter`], and in each block
    /// tells every instruction to [`Self::define`] after having looked up what it reads.
    pub fn new(func: &Function, cfg: Rc<Cfg>, dominators: Rc<Dominators>) -> AvailableCopies {
        let mut regs: SecondaryMap<Reg, RegState> = SecondaryMap::with_capacity(func.regs.len());
        for reg in func.params.iter().filter_map(|param| param.reg) {
            regs[reg].version = 1;
        }
        AvailableCopies {
            cfg,
            dominators,
            single: registers_defined_once(func),
            regs,
            scopes: Vec::new(),
            undo: Vec::new(),
            last_version: 1,
            last_extended_block: 0,
        }
    }

    /// Goes to the next block of the dominator tree's preorder.
    pub fn enter(&mut self, func: &Function, block: Block) {
        while let Some(scope) = self.scopes.last()
            && !self.dominators.dominates(scope.block, block)
        {
            for (reg, state) in self.undo.drain(scope.undo_from..).rev() {
                self.regs[reg] = state;
            }
            self.scopes.pop();
        }
        // A block with one predecessor goes on with what that one knew; the predecessor is its immediate dominator.
        let only_predecessor = match *self.cfg.predecessors(block) {
            [only] if !self.cfg.is_entry(block) => Some(only),
            _ => None,
        };
        let extended_block = match self.scopes.last() {
            Some(scope) if only_predecessor == Some(scope.block) => scope.extended_block,
            _ => {
                self.last_extended_block += 1;
                self.last_extended_block
            }
        };
        self.scopes.push(Scope { block, undo_from: self.undo.len(), extended_block });
        if let Some(predecessor) = only_predecessor {
            self.learn_from_branch(func, predecessor, block);
        }
    }

    /// What a register holds, for an instruction under that guard.
    pub fn lookup(&self, reg: Reg, guard: Option<Guard>) -> Lookup {
        let state = &self.regs[reg];
        let held = match state.copy {
            Copy::Unknown => None,
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
        let state = &self.regs[reg];
        if let Some(value) = state.known
            && (self.single[reg] || state.known_in == self.extended_block())
        {
            return Some(value);
        }
        match self.lookup(reg, None) {
            Lookup::Found(Source::Const(bits)) => Some(bits & 1 != 0),
            Lookup::Found(Source::Reg(source)) if source != reg => {
                let state = &self.regs[source];
                state.known.filter(|_| self.single[source] || state.known_in == self.extended_block())
            }
            _ => None,
        }
    }

    /// Has the register exactly one definition, a parameter's value on entry counted as one?
    pub fn is_defined_once(&self, reg: Reg) -> bool {
        self.single[reg]
    }

    /// Tells what an instruction writes, after its reads have been looked up.
    pub fn define(&mut self, data: &InstData) {
        let copy = self.copy_made_by(data);
        for &dst in &data.dsts {
            self.last_version += 1;
            let state = RegState {
                version: self.last_version,
                copy,
                copied_in: self.extended_block(),
                known: None,
                known_in: 0,
            };
            self.undo.push((dst, self.regs[dst]));
            self.regs[dst] = state;
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
        let Copy::Always(held) = made else {
            // Nothing is known where the guard holds, so only the other lanes may keep what they had.
            return match before.copy {
                Copy::Where(known, known_value, held)
                    if known == predicate && known_value != value && before.copied_in == self.extended_block() =>
                {
                    Copy::Where(known, known_value, held)
                }
                _ => Copy::Unknown,
            };
        };
        match before.copy {
            // Complementary guarded copies of one value are one copy.
            Copy::Where(known, known_value, other)
                if known == predicate
                    && known_value != value
                    && other == held
                    && before.copied_in == self.extended_block() =>
            {
                Copy::Always(held)
            }
            Copy::Always(other) if other == held && before.copied_in == self.extended_block() => Copy::Always(held),
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
        let known_in = self.extended_block();
        let state = &mut self.regs[reg];
        (state.known, state.known_in) = (Some(value), known_in);
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
            Source::Const(_) => self.single[owner] || learnt_in == self.extended_block(),
            Source::Reg(reg) => {
                let both_defined_once = self.single[owner] && self.single[reg] && version != 0;
                both_defined_once || (learnt_in == self.extended_block() && self.regs[reg].version == version)
            }
        }
    }

    fn extended_block(&self) -> u32 {
        self.scopes.last().map_or(0, |scope| scope.extended_block)
    }
}

/// Registers with exactly one definition, a parameter's value on entry counted as one.
fn registers_defined_once(func: &Function) -> SecondaryMap<Reg, bool> {
    let mut definitions: SecondaryMap<Reg, u8> = SecondaryMap::with_capacity(func.regs.len());
    for reg in func.params.iter().filter_map(|param| param.reg) {
        definitions[reg] = 1;
    }
    for block in func.block_order() {
        for inst in func.block_insts(block) {
            for &dst in &func.insts[inst].dsts {
                definitions[dst] = definitions[dst].saturating_add(1);
            }
        }
    }
    let mut single = SecondaryMap::with_capacity(func.regs.len());
    for reg in func.regs.keys() {
        single[reg] = definitions[reg] == 1;
    }
    single
}
