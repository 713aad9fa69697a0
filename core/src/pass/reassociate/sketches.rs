//! What walks over blocks ask of instructions, in a few words of one shape.
//!
//! ```text
//! t = mad.lo.u32 a, b, 4       registers a, b and none, writes t, opcode 7; there is an operand that is no register
//! st.u32 [p + 4*i], a          registers p, i and a
//! @p x = add.u32 a, b          partial: the instruction itself has to be asked
//! ```
//!
//! Blocks are looked at several times, and an instruction is large and of many shapes. A sketch has room for three operands
//! and a destination, with a number of its own for what is not there, so that walks read little and hardly branch. Opcodes
//! have numbers: equal numbers, equal opcodes.
//!
//! Made in one walk over the function, and renewed for what is rewritten.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use crate::ir::{Function, Inst, InstData, Op, Opcode, Operand, Reg};
use crate::pass::gvn_cse::expressions::Expressions;

/// No register.
pub const NONE: u32 = u32::MAX;

/// See the file's head.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sketch {
    /// Its first three operands, where they are registers; else [`NONE`]. Of an instruction with an address the registers
    /// that it reads, those of the address with them, wherever they stand.
    pub operands: [u32; 3],
    /// What it writes; [`NONE`] for nothing.
    pub dst: u32,
    /// The number of its opcode.
    pub opcode: u32,
    pub op: Op,
    /// Does it read or write registers besides, or is it guarded?
    pub is_partial: bool,
    /// Is one of its operands something else than a register?
    pub has_others: bool,
    /// Is it an unguarded function of its operands with one result, and no copy?
    pub is_function: bool,
}

const NOTHING: Sketch = Sketch {
    operands: [NONE; 3],
    dst: NONE,
    opcode: 0,
    op: Op::Mov,
    is_partial: true,
    has_others: true,
    is_function: false,
};

impl Sketch {
    /// The registers of all operands become its operands, if there is room for them; else it is partial.
    fn add_registers(&mut self, data: &InstData) {
        self.operands = [NONE; 3];
        let mut free = self.operands.iter_mut();
        for arg in &data.args {
            arg.for_each_reg(&mut |reg| match free.next() {
                Some(operand) => *operand = reg.as_u32(),
                None => self.is_partial = true,
            });
        }
    }
}

/// The sketches of a function's instructions.
pub struct Sketches {
    of_inst: Vec<Sketch>,
    opcodes: Opcodes,
}

impl Sketches {
    /// None yet.
    pub fn new(func: &Function) -> Sketches {
        Sketches { of_inst: vec![NOTHING; func.insts.len()], opcodes: Opcodes::new() }
    }

    /// That of an instruction.
    #[inline]
    pub fn get(&self, inst: Inst) -> Sketch {
        self.of_inst[inst.index()]
    }

    /// Makes that of an instruction, as it is now. Gives the one before and the new one.
    pub fn renew(&mut self, func: &Function, inst: Inst) -> [Sketch; 2] {
        let now = self.sketch(&func.insts[inst]);
        [core::mem::replace(&mut self.of_inst[inst.index()], now), now]
    }

    /// Is it what would be made now?
    pub fn is_right(&mut self, func: &Function, inst: Inst) -> bool {
        self.get(inst) == self.sketch(&func.insts[inst])
    }

    fn sketch(&mut self, data: &InstData) -> Sketch {
        let Opcode { op, .. } = data.opcode;
        let mut sketch =
            Sketch { op, opcode: self.opcodes.number(data.opcode), is_partial: false, has_others: false, ..NOTHING };
        let mut has_address = false;
        for (index, arg) in data.args.iter().enumerate() {
            match (arg, sketch.operands.get_mut(index)) {
                (Operand::Reg(reg), Some(operand)) => *operand = reg.as_u32(),
                (Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) | Operand::Input(_), _) => {
                    sketch.has_others = true;
                }
                (Operand::Address(_), _) => (has_address, sketch.has_others) = (true, true),
                (Operand::Reg(_) | Operand::NotReg(_) | Operand::List(_), _) => {
                    (sketch.is_partial, sketch.has_others) = (true, true);
                }
            }
        }
        if has_address {
            sketch.add_registers(data);
        }
        sketch.dst = data.dst().map_or(NONE, Reg::as_u32);
        sketch.is_partial |= data.guard.is_some() || data.dsts.len() > 1;
        sketch.is_function = op.is_pure() && op != Op::Mov && data.guard.is_none() && data.dsts.len() == 1;
        sketch
    }
}

/// Numbers for opcodes.
struct Opcodes {
    numbers: Expressions,
    /// Some that were asked about, each with its number: a program has few.
    recent: [(Opcode, u32); RECENT],
}

const RECENT: usize = 256;

impl Opcodes {
    fn new() -> Opcodes {
        let first = Opcode::untyped(Op::Mov);
        let mut opcodes = Opcodes { numbers: Expressions::with_capacity(0), recent: [(first, 0); RECENT] };
        // What stands there in the beginning is right, too.
        opcodes.find(first);
        opcodes
    }

    fn number(&mut self, opcode: Opcode) -> u32 {
        let Opcode { op, ty, src_ty, cmp, .. } = opcode;
        let compared = cmp.map_or(0, |cmp| 1 + cmp as usize);
        let place = (op as usize + 61 * ty as usize + 7 * src_ty as usize + 11 * compared) % RECENT;
        if self.recent[place].0 != opcode {
            self.recent[place] = (opcode, self.find(opcode));
        }
        self.recent[place].1
    }

    fn find(&mut self, opcode: Opcode) -> u32 {
        self.numbers.extend(opcode.words());
        self.numbers.number(1).0
    }
}
