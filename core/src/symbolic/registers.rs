//! Sums over the registers of a point: what an address is there, and what it was before an instruction.
//!
//! ```text
//!                               x + 4*i + 4      before it: what the sum behind it was made of
//! i = add.s32 i, 1
//! ld.global.f32 x[i]            x + 4*i          the address, as a sum of what registers hold here
//! ```
//!
//! A [`RegisterSum`] names registers instead of values, so that it can be computed where it stands:
//! a question that goes up through the program carries one. Each definition on the way is
//! substituted by one step of the back-substitution that [`super::names`] makes of values, so both
//! agree on which arithmetic may overflow.

use smallvec::SmallVec;

use super::affine::{Affine, Atom};
use super::names::AffineNames;
use super::range::{Extension, value_range};
use crate::flow::Value;
use crate::ir::{Address, AddressBase, Function, Inst, Reg};

/// A sum of multiples of what registers hold at some point.
pub type RegisterSum = Affine<Reg>;

/// Result of moving a sum up through an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Substituted {
    /// The instruction writes none of its registers.
    Untouched,
    /// The sum is this one before it.
    Converted(RegisterSum),
    /// Sum that is lost: the written value is no sum, or one that may overflow or is too long.
    Lost,
}

impl AffineNames<'_> {
    /// The address of an instruction's memory operand, as a sum of what registers hold before it. None where it has no
    /// memory operand or the sum is too long.
    pub fn register_address(self, inst: Inst) -> Option<RegisterSum> {
        let address = self.func.insts[inst].address()?;
        let mut sum = Affine::constant(address.offset);
        match address.base {
            AddressBase::Absolute => {}
            AddressBase::Symbol(symbol) => sum.add(&Affine::atom(Atom::Symbol(symbol)), 1)?,
            AddressBase::Reg(reg) => {
                sum.add(&Affine::atom(Atom::Value(reg, self.base_extension(self.func.reg_types[reg].bits()))), 1)?;
            }
        }
        for &(reg, scale) in &address.terms {
            let atom = Atom::Value(reg, own_extension(self.func, reg));
            sum.add(&Affine::atom(atom), scale)?;
        }
        Some(sum)
    }

    /// Converts a sum after an instruction to the one before it.
    pub fn before(self, inst: Inst, sum: &RegisterSum) -> Substituted {
        let data = &self.func.insts[inst];
        let is_written = |atom: &Atom<Reg>| matches!(atom, Atom::Value(reg, _) if data.dsts.contains(reg));
        if !sum.terms().iter().any(|(atom, _)| is_written(atom)) {
            return Substituted::Untouched;
        }
        if data.guard.is_some() || data.dsts.len() != 1 {
            return Substituted::Lost;
        }
        self.substitute(inst, sum).map_or(Substituted::Lost, Substituted::Converted)
    }

    fn substitute(self, inst: Inst, sum: &RegisterSum) -> Option<RegisterSum> {
        let data = &self.func.insts[inst];
        let mut result = Affine::constant(sum.offset());
        for &(atom, coefficient) in sum.terms() {
            let part = match atom {
                Atom::Value(reg, extension) if data.dsts.contains(&reg) => {
                    let written = self.one_step(inst, self.func.reg_types[reg].bits(), extension)?;
                    self.of_operands(inst, &written)?
                }
                _ => Affine::atom(atom),
            };
            result.add(&part, coefficient)?;
        }
        Some(result)
    }

    /// A sum over the values of an instruction's operands, by the registers that it reads them from.
    fn of_operands(self, inst: Inst, sum: &Affine) -> Option<RegisterSum> {
        let mut read: SmallVec<[Reg; 4]> = SmallVec::new();
        self.func.insts[inst].args.iter().for_each(|arg| arg.for_each_reg(&mut |reg| read.push(reg)));
        let values = self.values.operands(inst);
        let mut result = Affine::constant(sum.offset());
        for &(atom, coefficient) in sum.terms() {
            let atom = match atom {
                Atom::Symbol(symbol) => Atom::Symbol(symbol),
                Atom::Special(special) => Atom::Special(special),
                Atom::Value(value, extension) => {
                    let reg = read[values.iter().position(|&other| other == value)?];
                    Atom::Value(reg, self.natural(value, reg, extension))
                }
                Atom::Rounds(..) => return None,
            };
            result.add(&Affine::atom(atom), coefficient)?;
        }
        Some(result)
    }

    /// The extension that a register's type has, where it makes no difference; else the given one.
    fn natural(self, value: Value, reg: Reg, extension: Extension) -> Extension {
        let bits = self.func.reg_types[reg].bits();
        let is_indifferent = bits == 64
            || Extension::Sign.range(bits).contains(value_range(self.func, self.values, value, Extension::Zero));
        if is_indifferent { own_extension(self.func, reg) } else { extension }
    }

    /// The sum over values, when each register holds the value that `value` gives; none where one has no name.
    pub fn valued(self, sum: &RegisterSum, mut value: impl FnMut(Reg) -> Option<Value>) -> Option<Affine> {
        let mut result = Affine::constant(sum.offset());
        for &(atom, coefficient) in sum.terms() {
            let part = match atom {
                Atom::Symbol(symbol) => Affine::atom(Atom::Symbol(symbol)),
                Atom::Special(special) => Affine::atom(Atom::Special(special)),
                Atom::Value(reg, extension) => self.read(value(reg)?, reg, extension),
                Atom::Rounds(..) => return None,
            };
            result.add(&part, coefficient)?;
        }
        Some(result)
    }
}

impl RegisterSum {
    /// The sum as an address, if the language can write it: at most one symbol, once; registers
    /// extended by their types; no special register. A symbol is its base, else a register of 64
    /// bits, a pointer that the function was given before others, else a narrow register.
    pub fn to_address(&self, func: &Function) -> Option<Address> {
        let rank = |&(atom, coefficient): &(Atom<Reg>, i64)| match atom {
            _ if coefficient != 1 => None,
            Atom::Symbol(_) => Some(0),
            Atom::Value(reg, _) if func.reg_types[reg].bits() == 64 => {
                Some(if func.param_of(reg).is_some() { 1 } else { 2 })
            }
            // A narrow base is extended with zeros; where it stands alone, either way.
            Atom::Value(_, extension) if extension == Extension::Zero || self.terms().len() == 1 => Some(3),
            Atom::Value(..) | Atom::Special(_) | Atom::Rounds(..) => None,
        };
        let ranked = self.terms().iter().enumerate().filter_map(|(index, term)| Some((rank(term)?, index)));
        let base = ranked.min().map(|(_, index)| index);
        let mut address = Address { base: AddressBase::Absolute, terms: Default::default(), offset: self.offset() };
        for (index, &(atom, coefficient)) in self.terms().iter().enumerate() {
            match atom {
                Atom::Symbol(symbol) if base == Some(index) => address.base = AddressBase::Symbol(symbol),
                Atom::Value(reg, _) if base == Some(index) => address.base = AddressBase::Reg(reg),
                Atom::Value(reg, extension) if own_extension(func, reg) == extension => {
                    address.terms.push((reg, coefficient));
                }
                _ => return None,
            }
        }
        Some(address)
    }

    /// The registers in it; one that is extended in two ways comes twice.
    pub fn regs(&self) -> impl Iterator<Item = Reg> + '_ {
        self.terms().iter().filter_map(|(atom, _)| if let Atom::Value(reg, _) = atom { Some(*reg) } else { None })
    }
}

/// How an address extends a register that it indexes with. One of 64 bits needs no extension, which
/// is written as zeros.
pub fn own_extension(func: &Function, reg: Reg) -> Extension {
    let ty = func.reg_types[reg];
    if ty.bits() == 64 { Extension::Zero } else { Extension::of(ty) }
}
