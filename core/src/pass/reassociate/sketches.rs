//! Sketches of instructions for walks over blocks, in a few words of one shape.
//!
//! ```text
//! t = mad.lo.u32 a, b, 4       registers a, b and none, writes t, opcode 7; besides other 3, which is the constant 4
//! st.u32 [p + 4*i], a          registers p, i and a
//! @p x = add.u32 a, b          partial: the instruction itself has to be asked
//! ```
//!
//! Blocks are looked at several times, and an instruction is large and of many shapes. A sketch has room for three operands
//! and a destination, with a number of its own for what is not there, so that walks read little and hardly branch. Opcodes
//! have numbers, and so have constants, special registers and symbols: equal numbers, equal opcodes or operands.
//!
//! Made in one walk over the function, and renewed for what is rewritten.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use hashbrown::HashMap;

use super::trees::Licence;
use crate::ir::{Function, Inst, InstData, Op, Opcode, Operand, Reg};

/// No register.
pub const NONE: u32 = u32::MAX;

/// See the file's head.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(32))]
pub struct Sketch {
    /// Its first three operands, where they are registers; else [`NONE`]. Of an instruction with an address the registers
    /// that it reads, those of the address with them, wherever they stand.
    pub operands: [u32; 3],
    /// Register that it writes; [`NONE`] for nothing.
    pub dst: u32,
    /// The number of its opcode.
    pub opcode: u32,
    /// The number of its only operand that is no register, if that is a constant, a special register or a symbol: where
    /// there is no register, it is there. Else [`NONE`].
    pub other: u32,
    pub op: Op,
    /// Does it read or write registers besides, or is it guarded?
    pub is_partial: bool,
    /// Are there operands of which neither a register nor `other` tells?
    pub has_more: bool,
    /// Is it an unguarded function of its operands with one result, and no copy?
    pub is_function: bool,
    /// May it be part of a tree, or of a sum?
    pub is_licensed: bool,
}

// It does not lie across two lines of the cache.
const _: () = assert!(size_of::<Sketch>() == 32);

const NOTHING: Sketch = Sketch {
    operands: [NONE; 3],
    dst: NONE,
    opcode: 0,
    other: NONE,
    op: Op::Mov,
    is_partial: true,
    has_more: true,
    is_function: false,
    is_licensed: false,
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
    others: Others,
    licence: Licence,
}

impl Sketches {
    /// None yet.
    pub fn new(func: &Function, licence: Licence) -> Sketches {
        let (opcodes, others) = (Opcodes::new(), Others::new());
        Sketches { of_inst: vec![NOTHING; func.insts.len()], opcodes, others, licence }
    }

    /// That of an instruction.
    #[inline]
    pub fn get(&self, inst: Inst) -> &Sketch {
        &self.of_inst[inst.index()]
    }

    /// The opcode of a number.
    pub fn opcode(&self, number: u32) -> Opcode {
        self.opcodes.all[number as usize]
    }

    /// The operand of a number that is no register.
    pub fn other(&self, number: u32) -> &Operand {
        &self.others.all[number as usize]
    }

    /// Makes that of an instruction.
    #[inline]
    pub fn make(&mut self, func: &Function, inst: Inst) -> &Sketch {
        let now = self.sketch(&func.insts[inst]);
        let place = &mut self.of_inst[inst.index()];
        *place = now;
        place
    }

    /// Makes that of an instruction, as it is now. Gives the one before and the new one.
    pub fn renew(&mut self, func: &Function, inst: Inst) -> [Sketch; 2] {
        let now = self.sketch(&func.insts[inst]);
        [core::mem::replace(&mut self.of_inst[inst.index()], now), now]
    }

    /// Is it what would be made now?
    pub fn is_right(&mut self, func: &Function, inst: Inst) -> bool {
        let now = self.sketch(&func.insts[inst]);
        *self.get(inst) == now
    }

    #[inline]
    fn sketch(&mut self, data: &InstData) -> Sketch {
        let op = data.opcode.op;
        let mut sketch =
            Sketch { op, opcode: self.opcodes.number(&data.opcode), is_partial: false, has_more: false, ..NOTHING };
        let mut has_address = false;
        for (index, arg) in data.args.iter().enumerate() {
            match (arg, sketch.operands.get_mut(index)) {
                (Operand::Reg(reg), Some(operand)) => *operand = reg.as_u32(),
                (Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_), Some(_)) if sketch.other == NONE => {
                    sketch.other = self.others.number(arg);
                }
                (Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) | Operand::Input(_), _) => {
                    sketch.has_more = true;
                }
                (Operand::Address(_), _) => (has_address, sketch.has_more) = (true, true),
                (Operand::Reg(_) | Operand::NotReg(_) | Operand::List(_), _) => {
                    (sketch.is_partial, sketch.has_more) = (true, true);
                }
            }
        }
        if has_address {
            sketch.add_registers(data);
        }
        // It would not tell where it stands.
        sketch.other = if sketch.has_more { NONE } else { sketch.other };
        sketch.dst = data.dst().map_or(NONE, Reg::as_u32);
        let has_one_result = data.dsts.len() == 1;
        sketch.is_partial |= data.guard.is_some() || data.dsts.len() > 1;
        sketch.is_function = op.is_pure() && op != Op::Mov && data.guard.is_none() && has_one_result;
        sketch.is_licensed = has_one_result && self.licence.allows(data);
        sketch
    }
}

/// Numbers for operands that are no registers.
struct Others {
    numbers: HashMap<[u32; 3], u32>,
    /// Operands by number.
    all: Vec<Operand>,
    /// Some constants that were asked about, each with its number: a program has few.
    recent: [(u64, u32); RECENT],
}

impl Others {
    fn new() -> Others {
        Others { numbers: HashMap::new(), all: Vec::new(), recent: [(0, NONE); RECENT] }
    }

    fn number(&mut self, operand: &Operand) -> u32 {
        let Operand::Const(bits) = *operand else { return self.find(operand) };
        let place = (bits ^ bits >> 16 ^ bits >> 52) as usize % RECENT;
        let (recent, number) = self.recent[place];
        if recent == bits && number != NONE {
            return number;
        }
        let number = self.find(operand);
        self.recent[place] = (bits, number);
        number
    }

    fn find(&mut self, operand: &Operand) -> u32 {
        let words = match *operand {
            Operand::Const(bits) => [0, bits as u32, (bits >> 32) as u32],
            Operand::Symbol(symbol) => {
                let (kind, index) = symbol.words();
                [1, kind, index]
            }
            Operand::Special(special) => [2, special.index(), 0],
            // Nobody asks for these.
            _ => [3, 0, 0],
        };
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(words).or_insert(next);
        if number as usize == self.all.len() {
            self.all.push(operand.clone());
        }
        number
    }
}

/// Numbers for opcodes.
struct Opcodes {
    numbers: HashMap<[u32; 3], u32>,
    /// Opcodes by number.
    all: Vec<Opcode>,
    /// The words of some that were asked about, each with its number: a program has few.
    recent: [([u32; 3], u32); RECENT],
}

const RECENT: usize = 256;

impl Opcodes {
    fn new() -> Opcodes {
        let first = Opcode::untyped(Op::Mov);
        let recent = [(first.words(), 0); RECENT];
        let mut opcodes = Opcodes { numbers: HashMap::new(), all: Vec::new(), recent };
        // What stands there in the beginning is right, too.
        opcodes.find(first);
        opcodes
    }

    #[inline]
    fn number(&mut self, opcode: &Opcode) -> u32 {
        let words = opcode.words();
        // The first word begins with the root, then comes the type; the second begins with the comparison.
        let place = (words[0] ^ words[0] >> 5 ^ (11 * words[1])) as usize % RECENT;
        let (recent, number) = self.recent[place];
        if recent == words {
            return number;
        }
        let number = self.find(*opcode);
        self.recent[place] = (words, number);
        number
    }

    fn find(&mut self, opcode: Opcode) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(opcode.words()).or_insert(next);
        if number as usize == self.all.len() {
            self.all.push(opcode);
        }
        number
    }
}
