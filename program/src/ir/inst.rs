//! Instructions: an opcode, an optional guard, destinations, operands and, for a terminator, the blocks it may go to.

use alloc::boxed::Box;
use alloc::vec::Vec;
use smallvec::SmallVec;

use super::entities::{Array, Block, Func, Global, Input, Reg};
use super::few::Few;
use super::opcode::{Op, Opcode};
use super::special::Special;
use super::template::Template;

/// The predicate that an instruction waits for: a lane where it is false does not take part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Guard {
    /// A register of type `pred`.
    pub reg: Reg,
    /// `@!p`: the lane takes part where the predicate is false.
    pub negated: bool,
}

/// The name of a piece of memory, whose address it stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Symbol {
    /// A `global` or `const` array of the module.
    Global(Global),
    /// A `shared` or `local` array of the function.
    Array(Array),
    /// The k-th parameter, an array by value in the `param` space.
    Param(u32),
}

impl Symbol {
    /// All of it in two words, of which the first is less than 3.
    pub fn words(self) -> (u32, u32) {
        match self {
            Symbol::Global(global) => (0, global.as_u32()),
            Symbol::Array(array) => (1, array.as_u32()),
            Symbol::Param(index) => (2, index),
        }
    }
}

/// Base of an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AddressBase {
    /// A register that holds a 64-bit address (a 32-bit one for shared and local windows is zero-extended).
    Reg(Reg),
    /// A declared piece of memory.
    Symbol(Symbol),
    /// No base: the offset is the address.
    Absolute,
}

/// `base + Σ scale·index + offset`, all in bytes and computed in 64 bits.
///
/// Both spellings of the text are this one form: `x[2*i - 1]` counts elements of the access type, `[r + 16]` bytes.
/// An index register extends to 64 bits by its type: `s` with its sign, `u` and `b` with zeros.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    /// Base that the address is counted from.
    pub base: AddressBase,
    /// Index registers and their scales in bytes, in the order of the text.
    pub terms: SmallVec<[(Reg, i64); 1]>,
    /// Constant part in bytes.
    pub offset: i64,
}

/// One operand.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operand {
    /// A register's value.
    Reg(Reg),
    /// The negation of a predicate register (a conditional branch, a combined `setp`, a vote).
    NotReg(Reg),
    /// A constant's bits, reduced to the width that the opcode's signature gives this position.
    Const(u64),
    /// A special register; all of them have type `u32`.
    Special(Special),
    /// The address of a piece of memory.
    Symbol(Symbol),
    /// Address of a memory operation.
    Address(Box<Address>),
    /// A brace list: the elements of a vector store or of a packing `mov`.
    List(Box<SmallVec<[Operand; 4]>>),
    /// The input that `in` draws from.
    Input(Input),
}

// Walks over large programs take as long as it takes to read the instructions from memory.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Operand>() == 16 && size_of::<InstData>() == 104);

impl Operand {
    /// The register, if the operand is one (not negated).
    pub fn as_reg(&self) -> Option<Reg> {
        if let Operand::Reg(reg) = self { Some(*reg) } else { None }
    }

    /// The register, if the operand is one or the negation of one.
    #[inline]
    pub fn as_reg_or_negation(&self) -> Option<Reg> {
        if let Operand::Reg(reg) | Operand::NotReg(reg) = self { Some(*reg) } else { None }
    }

    /// The constant's bits, if the operand is one.
    pub fn as_const(&self) -> Option<u64> {
        if let Operand::Const(bits) = self { Some(*bits) } else { None }
    }

    /// The address, if the operand is one.
    pub fn as_address(&self) -> Option<&Address> {
        if let Operand::Address(address) = self { Some(address) } else { None }
    }

    /// Calls `visit` with every register that the operand reads, in text order.
    #[inline]
    pub fn for_each_reg(&self, visit: &mut impl FnMut(Reg)) {
        match self {
            Operand::Reg(reg) | Operand::NotReg(reg) => visit(*reg),
            Operand::Address(address) => {
                if let AddressBase::Reg(reg) = address.base {
                    visit(reg);
                }
                address.terms.iter().for_each(|(reg, _)| visit(*reg));
            }
            Operand::List(elements) => elements.iter().for_each(|element| {
                // Lists hold no lists, nor addresses.
                if let Operand::Reg(reg) | Operand::NotReg(reg) = element {
                    visit(*reg);
                }
            }),
            Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) | Operand::Input(_) => {}
        }
    }

    /// Calls `visit` with a mutable place for every register that the operand reads, in text order.
    pub fn for_each_reg_mut(&mut self, visit: &mut impl FnMut(&mut Reg)) {
        match self {
            Operand::Reg(reg) | Operand::NotReg(reg) => visit(reg),
            Operand::Address(address) => {
                if let AddressBase::Reg(reg) = &mut address.base {
                    visit(reg);
                }
                address.terms.iter_mut().for_each(|(reg, _)| visit(reg));
            }
            Operand::List(elements) => elements.iter_mut().for_each(|e| e.for_each_reg_mut(visit)),
            Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) | Operand::Input(_) => {}
        }
    }
}

/// Whom a call calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Callee {
    /// The function.
    pub func: Func,
    /// Which of the callee's `entries`; 0 is the one taken when the text names none.
    pub entry: u32,
    /// Which of the callee's `aliases` PTX calls it by; its own name if none.
    pub alias: Option<u32>,
}

/// A call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    /// Whom it calls.
    pub callee: Callee,
    /// `call … to`: where control comes back to, a block for each exit of the callee.
    pub exits: Few<Block>,
}

/// Parts that few instructions have beside opcode and operands: where control goes beyond simply
/// going on, or the text of an opaque one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Control {
    /// To one of these: `br` has one, a conditional `br` the true side then the false side, `switch` any number (the
    /// last one is taken for every value beyond).
    Targets(Few<Block>),
    /// To another function and back.
    Call(Call),
    /// Out of the function, `ret.K` by its exit K.
    Exit(u32),
    /// On, after an opaque instruction ([`Op::Ptx`]) of that spelling.
    Template(Template),
}

/// Operands that an instruction reads besides its guard, in text order.
pub type InstArgs = SmallVec<[Operand; 3]>;

/// One instruction. Terminators are instructions too; they stand last in their block.
///
/// The order of the fields is that in memory: what is looked at together stands together. Where
/// control goes stands elsewhere, since few instructions have anything to say about that.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct InstData {
    /// Operation of the instruction.
    pub opcode: Opcode,
    /// Targets of control, or the text of an opaque instruction; none where control simply goes on, or ends.
    pub control: Option<Box<Control>>,
    /// Lanes where the guard is false do not take part. Terminators have none.
    pub guard: Option<Guard>,
    /// Registers it writes, in text order.
    pub dsts: Few<Reg>,
    /// Operands that it reads, in text order.
    pub args: InstArgs,
}

impl InstData {
    /// An unguarded instruction.
    pub fn new(opcode: Opcode, dsts: impl IntoIterator<Item = Reg>, args: impl IntoIterator<Item = Operand>) -> Self {
        InstData {
            guard: None,
            opcode,
            dsts: dsts.into_iter().collect(),
            args: args.into_iter().collect(),
            control: None,
        }
    }

    /// `br target`.
    pub fn branch(target: Block) -> Self {
        InstData::new(Opcode::untyped(Op::Br), [], []).to([target])
    }

    /// `br condition, on_true, on_false`; the condition is a predicate register, plain or negated.
    pub fn branch_if(condition: Operand, on_true: Block, on_false: Block) -> Self {
        InstData::new(Opcode::untyped(Op::BrIf), [], [condition]).to([on_true, on_false])
    }

    /// Appends these targets to the instruction's. For a call they are where it returns to.
    pub fn to(mut self, targets: impl IntoIterator<Item = Block>) -> Self {
        match self.control.as_deref_mut() {
            Some(Control::Targets(list)) => list.extend(targets),
            Some(Control::Call(call)) => call.exits.extend(targets),
            None | Some(Control::Exit(_) | Control::Template(_)) => {
                let list: Few<Block> = targets.into_iter().collect();
                self.control = (!list.is_empty()).then(|| Box::new(Control::Targets(list)));
            }
        }
        self
    }

    /// Makes the instruction a call of that function.
    pub fn calling(mut self, callee: Callee) -> Self {
        self.control = Some(Box::new(Control::Call(Call { callee, exits: Few::new() })));
        self
    }

    /// Puts the instruction under a guard.
    pub fn guarded(mut self, guard: Option<Guard>) -> Self {
        self.guard = guard;
        self
    }

    /// Calls `visit` with every register that the instruction reads: the guard first, then the operands in text order.
    /// A register read twice is visited twice. (A guarded destination keeps its old value in the other lanes; that
    /// is for liveness to know, not a read.)
    #[inline]
    pub fn for_each_use(&self, mut visit: impl FnMut(Reg)) {
        if let Some(guard) = self.guard {
            visit(guard.reg);
        }
        self.args.iter().for_each(|arg| arg.for_each_reg(&mut visit));
    }

    /// The registers it reads, guard first, repetitions kept.
    pub fn uses(&self) -> SmallVec<[Reg; 4]> {
        let mut regs = SmallVec::new();
        self.for_each_use(|reg| regs.push(reg));
        regs
    }

    /// Targets of a terminator, in text order: the blocks of [`Control::Targets`], or where a call returns to.
    #[inline]
    pub fn targets(&self) -> &[Block] {
        match self.control.as_deref() {
            Some(Control::Targets(targets)) => targets,
            Some(Control::Call(call)) => &call.exits,
            None | Some(Control::Exit(_) | Control::Template(_)) => &[],
        }
    }

    /// Targets of a terminator, to be changed in place.
    pub fn targets_mut(&mut self) -> &mut [Block] {
        match self.control.as_deref_mut() {
            Some(Control::Targets(targets)) => targets,
            Some(Control::Call(call)) => &mut call.exits,
            None | Some(Control::Exit(_) | Control::Template(_)) => &mut [],
        }
    }

    /// Whom a call calls.
    pub fn callee(&self) -> Option<Callee> {
        if let Some(Control::Call(call)) = self.control.as_deref() { Some(call.callee) } else { None }
    }

    /// `ret.K`: the exit of a function with several, 0 elsewhere.
    pub fn exit(&self) -> u32 {
        if let Some(Control::Exit(exit)) = self.control.as_deref() { *exit } else { 0 }
    }

    /// An opaque instruction of that spelling.
    pub fn opaque(
        template: Template,
        dsts: impl IntoIterator<Item = Reg>,
        args: impl IntoIterator<Item = Operand>,
    ) -> Self {
        let mut data = InstData::new(Opcode::untyped(Op::Ptx), dsts, args);
        data.control = Some(Box::new(Control::Template(template)));
        data
    }

    /// The spelling of an opaque instruction.
    pub fn template(&self) -> Option<&Template> {
        if let Some(Control::Template(template)) = self.control.as_deref() { Some(template) } else { None }
    }

    /// Does it write the register of that destination again, as a later one? Then nobody ever reads
    /// what it wrote first.
    pub fn overwrites_dst(&self, place: usize) -> bool {
        let later = self.dsts.get(place + 1..).unwrap_or(&[]);
        self.dsts.get(place).is_some_and(|dst| later.contains(dst))
    }

    /// The first destination, for the many opcodes that have exactly one.
    pub fn dst(&self) -> Option<Reg> {
        self.dsts.first().copied()
    }

    /// The memory operand of a load, store or atomic.
    pub fn address(&self) -> Option<&Address> {
        self.args.iter().find_map(Operand::as_address)
    }

    /// The member mask of an operation that lanes of a warp do together; None if it has none.
    pub fn member_mask(&self) -> Option<&Operand> {
        self.args.get(self.opcode.op.members_at()?)
    }

    /// May lanes that run it wait for others of their warp, so that those at a meeting point go on without them?
    pub fn may_wait(&self) -> bool {
        let op = self.opcode.op;
        op.is_block_barrier() || op.is_call() || op == Op::Ptx || self.member_mask().is_some()
    }

    /// Does it go to memory of which it does not say in which space it is?
    pub fn is_generic_access(&self) -> bool {
        matches!(self.opcode.op, Op::Ld | Op::St | Op::Atom | Op::Red) && self.opcode.space.is_none()
    }

    /// Leaves out what a barrier of the whole block need not say: that it is barrier 0.
    pub fn leave_out_barrier_0(&mut self) {
        // In front of it stands only what `bar.red` asks of the threads.
        let number = self.args.len().saturating_sub(1);
        let is_alone = number == usize::from(self.opcode.op != Op::BarSync);
        if self.opcode.op.is_block_barrier() && is_alone && self.args.last() == Some(&Operand::Const(0)) {
            self.args.pop();
        }
    }

    /// The register that a `mov` copies, and its destination; None for all other instructions.
    pub fn copied_register(&self) -> Option<(Reg, Reg)> {
        match (self.opcode.op, self.dsts.as_slice(), self.args.as_slice()) {
            (Op::Mov, &[to], &[Operand::Reg(from)]) => Some((from, to)),
            _ => None,
        }
    }

    /// Does it end a block?
    pub fn is_terminator(&self) -> bool {
        self.opcode.op.is_terminator()
    }

    /// All targets, each once, in text order.
    pub fn distinct_targets(&self) -> Vec<Block> {
        let mut seen = Vec::with_capacity(self.targets().len());
        for &target in self.targets() {
            if !seen.contains(&target) {
                seen.push(target);
            }
        }
        seen
    }
}
