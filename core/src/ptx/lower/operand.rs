//! Operands: names, literals, addresses and brace lists, each for the place where it stands.

use super::body::{Entity, Lowered, Lowering};
use super::number_bits;
use crate::ir::{Address, AddressBase, ArgKind, InstData, Op, Opcode, Operand, Reg, Space, Special, Symbol, Type};
use crate::ptx::syntax::{Operand as Source, OperandKind};
use alloc::boxed::Box;
use alloc::format;
use smallvec::SmallVec;

impl<'a> Lowering<'a, '_> {
    /// The operand for a position of that kind. What is wrong with it is reported at the operand.
    pub(super) fn argument(&mut self, source: &Source<'a>, kind: ArgKind) -> Lowered<Operand> {
        let known = self.problems.len();
        let operand = self.argument_of(source, kind);
        for problem in &mut self.problems[known..] {
            problem.span = source.span;
        }
        operand
    }

    fn argument_of(&mut self, source: &Source<'a>, kind: ArgKind) -> Lowered<Operand> {
        match kind {
            ArgKind::Value(ty) | ArgKind::Any(ty) => self.value(source, ty),
            ArgKind::LowBits(ty) => self.low_bits(source, ty),
            ArgKind::Predicate => self.predicate(source),
            ArgKind::Address => match source.kind {
                OperandKind::Address(base, offset) => self.address(base, offset),
                _ => Err(self.error("ptx-operands", "expected an address in brackets")),
            },
            ArgKind::Elements(ty, count) => {
                let OperandKind::Vector(elements) = &source.kind else {
                    return Err(self.error("ptx-operands", &format!("expected {count} elements in braces")));
                };
                if elements.len() != usize::from(count) {
                    return Err(self.error("ptx-operands", &format!("expected {count} elements in braces")));
                }
                let parts = elements.iter().map(|element| self.low_bits(element, ty)).collect::<Lowered<_>>()?;
                Ok(Operand::List(Box::new(parts)))
            }
            ArgKind::Texture | ArgKind::Input | ArgKind::Special | ArgKind::Kept | ArgKind::Cycles => {
                Err(self.error("ptx-operands", "unexpected operand"))
            }
        }
    }

    /// A value of exactly the type's width.
    pub(super) fn value(&mut self, source: &Source<'a>, ty: Type) -> Lowered<Operand> {
        let operand = self.low_bits(source, ty)?;
        match operand {
            Operand::Reg(reg) => self.check_width(reg, ty).map(|()| operand),
            _ => Ok(operand),
        }
    }

    /// A value at least as wide as the type.
    fn low_bits(&mut self, source: &Source<'a>, ty: Type) -> Lowered<Operand> {
        match source.kind {
            OperandKind::Number(number) => Ok(Operand::Const(number_bits(number, ty))),
            OperandKind::Name(name) => {
                let entity = self.resolve(name)?;
                self.entity_value(entity, name, ty)
            }
            // Some compilers write one element in braces too.
            OperandKind::Vector(ref elements) if elements.len() == 1 => self.low_bits(&elements[0], ty),
            OperandKind::Offset(name, 0) => {
                let entity = self.resolve(name)?;
                self.entity_value(entity, name, ty)
            }
            OperandKind::Offset(name, offset) => {
                let entity = self.resolve(name)?;
                let address = Type::U64.with_bits(ty.bits()).filter(|ty| ty.bits() >= 32);
                let Some(address) = address else { return Err(self.width_error(name, 64, ty)) };
                let base = self.entity_value(entity, name, address)?;
                let offset = Operand::Const(offset as u64 & address.mask());
                Ok(self.compute(Opcode::new(Op::Add, address), address, [base, offset]))
            }
            _ => Err(self.error("ptx-operands", "expected a register or a number")),
        }
    }

    fn entity_value(&mut self, entity: Entity, name: &str, ty: Type) -> Lowered<Operand> {
        let symbol = match entity {
            // Addresses of shared memory fit 32 bits, and `mov.u32` reads them so.
            Entity::Pointer(reg) if ty.bits() == 32 => {
                return Ok(self.compute(Opcode::cvt(Type::U32, Type::U64), Type::U32, [Operand::Reg(reg)]));
            }
            Entity::Reg(reg) | Entity::Pointer(reg) => {
                let have = self.func.reg_types[reg];
                if !may_hold(have, ty) {
                    return Err(self.width_error(name, have.bits(), ty));
                }
                return Ok(Operand::Reg(reg));
            }
            Entity::Special(special) => return Ok(self.special(special, ty)),
            Entity::Unknown => return self.opaque_special(name, ty),
            Entity::Array(array) => Symbol::Array(array),
            Entity::Global(global) => Symbol::Global(global),
            Entity::ParamArray(index) => Symbol::Param(index),
            Entity::CallParam(_) | Entity::Result => {
                return Err(self.unsupported(&format!("the address of the parameter `{name}` is not supported")));
            }
            Entity::Func(_) => {
                return match self.context.address_of(name) {
                    Some(number) => Ok(Operand::Const(number & ty.mask())),
                    None => Err(self.unsupported(&format!("the address of `{name}` is not supported"))),
                };
            }
        };
        match ty.bits() {
            32 | 64 => Ok(Operand::Symbol(symbol)),
            _ => Err(self.width_error(name, 64, ty)),
        }
    }

    /// Most special registers are 32 bits wide; old code reads them as 16 and new code as 64.
    fn special(&mut self, special: Special, ty: Type) -> Operand {
        let is_read = special.needs_read();
        if ty.bits() == 32 && !is_read {
            return Operand::Special(special);
        }
        let opcode = Opcode::new(if is_read { Op::Read } else { Op::Mov }, special.ty());
        let whole = self.compute(opcode, special.ty(), [Operand::Special(special)]);
        if special.ty().bits() == ty.bits() {
            return whole;
        }
        let own = Type::U32.with_bits(ty.bits()).unwrap_or(Type::U32);
        self.compute(Opcode::cvt(own, special.ty()), own, [whole])
    }

    /// A predicate register, plain or negated. A literal goes through a temporary.
    pub(super) fn predicate(&mut self, source: &Source<'a>) -> Lowered<Operand> {
        match source.kind {
            OperandKind::Not(name) => Ok(Operand::NotReg(self.predicate_register(name)?)),
            OperandKind::Name(name) => Ok(Operand::Reg(self.predicate_register(name)?)),
            OperandKind::Number(number) => {
                let bit = Operand::Const(number_bits(number, Type::Pred));
                Ok(self.compute(Opcode::mov(Type::Pred), Type::Pred, [bit]))
            }
            _ => Err(self.error("ptx-operands", "expected a predicate register")),
        }
    }

    pub(super) fn predicate_register(&mut self, name: &'a str) -> Lowered<Reg> {
        match self.resolve(name)? {
            Entity::Reg(reg) if self.func.reg_types[reg] == Type::Pred => Ok(reg),
            _ => Err(self.error("ptx-type", &format!("`{name}` is not a predicate register"))),
        }
    }

    pub(super) fn address(&mut self, base: Option<&'a str>, offset: i64) -> Lowered<Operand> {
        let base = match base {
            None => AddressBase::Absolute,
            Some(name) => match self.resolve(name)? {
                Entity::Reg(reg) | Entity::Pointer(reg) => AddressBase::Reg(reg),
                Entity::Array(array) => AddressBase::Symbol(Symbol::Array(array)),
                Entity::Global(global) => AddressBase::Symbol(Symbol::Global(global)),
                Entity::ParamArray(index) => AddressBase::Symbol(Symbol::Param(index)),
                _ => return Err(self.error("ptx-operands", &format!("`{name}` has no address here"))),
            },
        };
        Ok(Operand::Address(Box::new(Address { base, terms: SmallVec::new(), offset })))
    }

    /// An address is a whole number of 64 bits; the windows of some spaces are small, and 32 bits do.
    pub(super) fn check_base(&mut self, operand: &Operand, space: Option<Space>) -> Lowered<()> {
        let Some(AddressBase::Reg(reg)) = operand.as_address().map(|address| address.base) else { return Ok(()) };
        let ty = self.func.reg_types[reg];
        let is_small = matches!(space, Some(Space::Shared | Space::Local | Space::Const | Space::Param));
        if !ty.is_float() && (ty.bits() == 64 || (is_small && ty.bits() == 32)) {
            return Ok(());
        }
        let name = &self.func.regs[reg].name;
        let message = format!("an address is an integer of 64 bits here; `{name}` has type `{ty}`");
        Err(self.error("ptx-type", &message))
    }

    /// The register that a destination names; `_` gets a temporary.
    pub(super) fn destination(&mut self, name: &'a str, ty: Type, may_be_wider: bool) -> Lowered<Reg> {
        if name == "_" {
            return Ok(self.temporary(ty));
        }
        let Entity::Reg(reg) = self.resolve(name)? else {
            return Err(self.error("ptx-operands", &format!("`{name}` cannot be written")));
        };
        let have = self.func.reg_types[reg];
        let fits = if may_be_wider { may_hold(have, ty) } else { have.bits() == ty.bits() };
        if !fits {
            return Err(self.width_error(name, have.bits(), ty));
        }
        Ok(reg)
    }

    pub(super) fn check_width(&mut self, reg: Reg, ty: Type) -> Lowered<()> {
        let width = self.func.reg_types[reg].bits();
        if width == ty.bits() {
            return Ok(());
        }
        let name = self.func.regs[reg].name.clone();
        Err(self.width_error(&name, width, ty))
    }

    fn width_error(&mut self, name: &str, width: u32, ty: Type) -> super::body::Reported {
        let have = if width == 1 { "a predicate".into() } else { format!("{width} bits wide") };
        self.error("ptx-type", &format!("expected a value of type `{ty}`; `{name}` is {have}"))
    }

    /// `dst = mov.ty value` under the statement's guard.
    pub(super) fn copy(&mut self, dst: Reg, ty: Type, value: Operand) {
        self.emit(InstData::new(Opcode::mov(ty), [dst], [value]));
    }
}

/// Can a register of one type have a value of the other in its low bits? Only whole numbers are narrower than their
/// register.
fn may_hold(register: Type, ty: Type) -> bool {
    let whole = |ty: Type| !ty.is_float() && ty != Type::Pred;
    register.bits() == ty.bits() || (register.bits() > ty.bits() && whole(register) && whole(ty))
}
