//! Origins of addresses, from registers that are written once: quicker than writing addresses as sums, and
//! enough to sort accesses by object.
//!
//! ```text
//! t = mul.wide.s32 i, 4          a plain number
//! a = add.s64 x, t               counted from what x points to
//! ld.global.f32 [a + 8]          so is this access
//! ```
//!
//! Rules are those of [`crate::symbolic::AffineNames`]: one object may be added to plain
//! numbers, and copied. What comes from memory, from several definitions or out of other operations
//! is taken for a plain number, as there. Beyond that, whatever is scaled or widened in an address
//! that has an object counts its elements.
//!
//! Each register is visited once; a chain of definitions ends after [`MAX_DEPTH`].

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use crate::flow::Values;
use crate::ir::{Address, AddressBase, Flags, Function, Inst, InstData, Op, Operand, ParamType, Reg, Symbol};
use crate::symbolic::Base;

/// Definitions that are followed one behind the other.
const MAX_DEPTH: u32 = 24;

/// Origin of a number, as far as objects go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// No object.
    Plain,
    /// One object, and plain numbers.
    Object(Base),
    /// Several, or a multiple of one.
    Mixed,
}

impl Origin {
    fn plus(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::Plain, known) | (known, Origin::Plain) => known,
            _ => Origin::Mixed,
        }
    }

    /// A multiple.
    fn times(self) -> Origin {
        if self == Origin::Plain { Origin::Plain } else { Origin::Mixed }
    }
}

/// Origin of an address as far as its own text tells.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    base: AddressBase,
    /// Does all else in it count elements, if the base is an object?
    is_alone: bool,
}

impl Start {
    /// Reads the origin from the text of an address.
    pub fn of(func: &Function, address: &Address) -> Start {
        let is_alone = address.terms.iter().all(|&term| counts_elements(func, address, term));
        Start { base: address.base, is_alone }
    }
}

/// Facts about the definitions of registers.
pub(crate) trait Definitions {
    /// The instruction that tells what a register holds wherever it is read, if one does.
    fn only(&self, reg: Reg) -> Option<Inst>;

    /// Is it written anywhere?
    fn is_written(&self, reg: Reg) -> bool;
}

impl Definitions for &Values {
    fn only(&self, reg: Reg) -> Option<Inst> {
        self.single_definition(reg)
    }

    fn is_written(&self, reg: Reg) -> bool {
        self.definition_count(reg) > 0
    }
}

/// The bases of a function's addresses.
pub(crate) struct Bases<'a, D> {
    func: &'a Function,
    definitions: D,
    /// Origins of registers; None for those not computed yet.
    known: Vec<Option<Origin>>,
}

impl<'a, D: Definitions> Bases<'a, D> {
    pub fn new(func: &'a Function, definitions: D) -> Self {
        let mut known = vec![None; func.regs.len()];
        for (reg, origin) in pointers(func).filter(|&(reg, _)| !definitions.is_written(reg)) {
            known[reg.index()] = Some(origin);
        }
        Bases { func, definitions, known }
    }

    /// Origin of the address of an instruction that begins like that.
    pub fn of(&mut self, inst: Inst, start: Start) -> Base {
        match (self.base(start.base), start.is_alone) {
            (Origin::Object(base), true) => base,
            (base, _) => {
                let func = self.func;
                let address = func.insts[inst].address();
                match address.map(|address| with_terms(func, base, address, |reg| self.reg(reg, MAX_DEPTH))) {
                    Some(Origin::Object(base)) => base,
                    _ => Base::Unknown,
                }
            }
        }
    }

    fn base(&mut self, base: AddressBase) -> Origin {
        match base {
            AddressBase::Absolute => Origin::Plain,
            AddressBase::Symbol(symbol) => object(symbol),
            AddressBase::Reg(reg) => self.reg(reg, MAX_DEPTH),
        }
    }

    fn reg(&mut self, reg: Reg, depth: u32) -> Origin {
        if let Some(known) = self.known[reg.index()] {
            return known;
        }
        let origin = match depth {
            0 => Origin::Plain,
            _ => self.definition(reg, depth - 1).unwrap_or(Origin::Plain),
        };
        self.known[reg.index()] = Some(origin);
        origin
    }

    /// Origin of a register from its only definition.
    fn definition(&mut self, reg: Reg, depth: u32) -> Option<Origin> {
        let func = self.func;
        let data = &func.insts[self.definitions.only(reg)?];
        made_by(func, reg, data, |reg| self.reg(reg, depth))
    }
}

/// The parameters that are pointers, and what they point to.
fn pointers(func: &Function) -> impl Iterator<Item = (Reg, Origin)> {
    func.params.iter().enumerate().filter_map(|(place, param)| match (param.reg, param.ty) {
        (Some(reg), ParamType::Pointer { .. }) => Some((reg, Origin::Object(Base::Pointer(place as u32)))),
        _ => None,
    })
}

/// Origin of an instruction's result, with the operands' given by `origin`; none where it is a plain number
/// whatever they are.
fn made_by(func: &Function, reg: Reg, data: &InstData, mut origin: impl FnMut(Reg) -> Origin) -> Option<Origin> {
    let (opcode, bits) = (data.opcode, func.reg_types[reg].bits());
    let is_plain =
        opcode.flags.intersects(Flags::SAT | Flags::CC | Flags::HI) || opcode.ty.is_float() || data.dsts.len() != 1;
    if is_plain {
        return None;
    }
    let mut operand = |index: usize| match data.args.get(index)? {
        Operand::Reg(reg) => Some(origin(*reg)),
        Operand::Symbol(symbol) => Some(object(*symbol)),
        Operand::Const(_) | Operand::Special(_) => Some(Origin::Plain),
        _ => None,
    };
    match opcode.op {
        Op::Mov | Op::Cvta if opcode.ty.bits() == bits => operand(0),
        Op::Cvt if opcode.src_ty.bits() <= opcode.ty.bits() && !opcode.src_ty.is_float() => operand(0),
        Op::Add => Some(operand(0)?.plus(operand(1)?)),
        Op::Sub => Some(operand(0)?.plus(operand(1)?.times())),
        Op::Neg | Op::Shl => Some(operand(0)?.times()),
        Op::Mul | Op::MulWide => Some(operand(0)?.times().plus(operand(1)?.times())),
        Op::Mad | Op::MadWide => {
            let product = operand(0)?.times().plus(operand(1)?.times());
            Some(product.plus(operand(2)?))
        }
        _ => None,
    }
}

/// Origin of an address with that base, with its registers' given by `origin`.
fn with_terms(func: &Function, base: Origin, address: &Address, mut origin: impl FnMut(Reg) -> Origin) -> Origin {
    address.terms.iter().fold(base, |sum, &(reg, scale)| match sum {
        Origin::Object(_) if counts_elements(func, address, (reg, scale)) => sum,
        _ if scale == 1 => sum.plus(origin(reg)),
        _ => sum.plus(origin(reg).times()),
    })
}

/// Is a term of an address no object, if its base is one? What is multiplied counts elements, and
/// so does what is narrower than the base.
fn counts_elements(func: &Function, address: &Address, (reg, scale): (Reg, i64)) -> bool {
    let base_bits = match address.base {
        AddressBase::Reg(base) => func.reg_types[base].bits(),
        _ => 64,
    };
    scale != 1 || func.reg_types[reg].bits() < base_bits
}

fn object(symbol: Symbol) -> Origin {
    Origin::Object(Base::Symbol(symbol))
}
