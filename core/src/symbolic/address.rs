//! Addresses as a base object and an offset from it.

use super::affine::{Affine, Atom};
use super::names::{AffineNames, Overflow};
use super::range::Extension;
use crate::flow::Definition;
use crate::ir::{AddressBase, Inst, Operand, ParamType, Symbol};

/// Base of an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Base {
    /// A declared piece of memory.
    Symbol(Symbol),
    /// Target of the k-th parameter, a pointer.
    Pointer(u32),
    /// Not known: the offset is the whole address.
    Unknown,
}

/// The address of a memory access, in bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SymbolicAddress {
    /// The object.
    pub base: Base,
    /// The distance from its start.
    pub offset: Affine,
}

/// A copy, for tables that need one only for what is new.
impl From<&SymbolicAddress> for SymbolicAddress {
    fn from(address: &SymbolicAddress) -> SymbolicAddress {
        address.clone()
    }
}

impl AffineNames<'_> {
    /// The address that an instruction's memory operand is. None where it has none or its sum is too long.
    pub fn address(self, inst: Inst) -> Option<SymbolicAddress> {
        Some(self.split(self.address_sum(inst)?))
    }

    /// The address of an instruction's memory operand as one sum, its base included.
    pub fn address_sum(self, inst: Inst) -> Option<Affine> {
        let data = &self.func.insts[inst];
        let place = data.args.iter().position(|arg| matches!(arg, Operand::Address(_)))?;
        let address = data.args[place].as_address()?;
        let mut before = 0;
        data.args[..place].iter().for_each(|arg| arg.for_each_reg(&mut |_| before += 1));
        let mut operands = self.values.operands(inst)[before..].iter().copied();
        let mut sum = match address.base {
            AddressBase::Absolute => Affine::constant(0),
            AddressBase::Symbol(symbol) => Affine::atom(Atom::Symbol(symbol)),
            AddressBase::Reg(reg) => {
                let extension = self.base_extension(self.func.reg_types[reg].bits());
                self.read(operands.next()?, reg, extension)
            }
        };
        sum.add_constant(address.offset);
        for &(reg, scale) in &address.terms {
            let extension = Extension::of(self.func.reg_types[reg]);
            sum.add(&self.read(operands.next()?, reg, extension), scale)?;
        }
        Some(sum)
    }

    /// How a base register of so many bits is extended. The windows that 32-bit addresses reach are
    /// far smaller than 2^31 bytes, so that a good address extends either way, and the sign lets
    /// signed arithmetic through.
    pub(super) fn base_extension(self, bits: u32) -> Extension {
        if bits < 64 && self.overflow == Overflow::Assume { Extension::Sign } else { Extension::Zero }
    }

    /// Takes the one object out of an address. With none, with several, or with a multiple of one, the base is unknown.
    pub fn split(self, sum: Affine) -> SymbolicAddress {
        let mut objects =
            sum.terms().iter().filter_map(|&(atom, coefficient)| Some((atom, coefficient, self.object(atom)?)));
        match (objects.next(), objects.next()) {
            (Some((atom, 1, base)), None) => SymbolicAddress { base, offset: sum.split_off(atom).0 },
            _ => SymbolicAddress { base: Base::Unknown, offset: sum },
        }
    }

    /// The object that an atom is the address of. A 64-bit number that is passed to a function may be one too.
    fn object(self, atom: Atom) -> Option<Base> {
        match atom {
            Atom::Symbol(symbol) => Some(Base::Symbol(symbol)),
            Atom::Value(value, _) if self.values.definition(value) == Definition::Entry => {
                let reg = self.values.reg(value);
                let place = self.func.params.iter().position(|param| param.reg == Some(reg))?;
                matches!(self.func.params[place].ty, ParamType::Pointer { .. }).then_some(Base::Pointer(place as u32))
            }
            Atom::Value(..) | Atom::Special(_) | Atom::Rounds(..) => None,
        }
    }
}
