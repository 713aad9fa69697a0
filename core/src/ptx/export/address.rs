//! Operands and addresses: PTX takes a register plus a constant, everything else is computed first.

use super::forms::{Form, operand_form, symbol_space};
use super::function::{Writer, Written, special_name};
use super::requirements;
use super::spelling::has_form;
use super::{literal, param_type};
use crate::ir::{Address, AddressBase, ArgKind, FuncKind, Opcode, Operand, Reg, Space, Symbol, Type};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

impl Writer<'_> {
    /// An operand at a position of that kind.
    pub fn argument(&mut self, operand: &Operand, kind: ArgKind) -> Written<String> {
        match kind {
            ArgKind::Value(Type::F16) | ArgKind::LowBits(Type::F16) | ArgKind::Any(Type::F16)
                if matches!(operand, Operand::Const(_)) =>
            {
                // PTX has no literals of that type.
                let temporary = self.temporary(Type::B16);
                let bits = self.value(operand, Type::F16)?;
                self.line(&format!("mov.b16 {temporary}, {bits};"));
                Ok(temporary)
            }
            ArgKind::Value(ty) | ArgKind::LowBits(ty) | ArgKind::Any(ty) => self.value(operand, ty),
            ArgKind::Predicate => self.predicate(operand),
            ArgKind::Elements(ty, _) => {
                let Operand::List(elements) = operand else { return self.value(operand, ty) };
                let elements = elements.iter().map(|element| self.element(element, ty)).collect::<Written<Vec<_>>>()?;
                Ok(format!("{{{}}}", elements.join(", ")))
            }
            ArgKind::Texture => match operand {
                Operand::Symbol(own) => Ok(self.symbol_name(*own)),
                _ => self.value(operand, Type::B64),
            },
            ArgKind::Special | ArgKind::Kept => match operand {
                Operand::Reg(reg) => Ok(self.reg(*reg)),
                Operand::Symbol(own) => Ok(self.symbol_name(*own)),
                Operand::Special(special) => Ok(special_name(*special)),
                _ => Err(self.problem(None, "no such operand in PTX")),
            },
            ArgKind::Address | ArgKind::Input | ArgKind::Cycles => Err(self.problem(None, "no such operand in PTX")),
        }
    }

    /// A value where one of type `ty` stands. Special registers and addresses of memory go through a temporary.
    pub fn value(&mut self, operand: &Operand, ty: Type) -> Written<String> {
        Ok(match operand {
            Operand::Reg(reg) => self.reg(*reg),
            Operand::Const(bits) => literal(*bits, ty),
            Operand::Special(special) => {
                let temporary = self.temporary(Type::B32);
                self.line(&format!("mov.u32 {temporary}, {};", special_name(*special)));
                temporary
            }
            Operand::Symbol(own) => {
                let width = if ty.bits() == 32 { Type::U32 } else { Type::U64 };
                let temporary = self.temporary(width);
                let name = self.symbol_name(*own);
                self.line(&format!("mov.{width} {temporary}, {name};"));
                temporary
            }
            _ => return Err(self.problem(None, "no such operand in PTX")),
        })
    }

    /// An element of a brace list, which PTX wants in its own width.
    fn element(&mut self, operand: &Operand, ty: Type) -> Written<String> {
        let Operand::Reg(reg) = operand else { return self.value(operand, ty) };
        let width = self.func.reg_types[*reg].bits();
        if width <= ty.bits().max(16) {
            return Ok(self.reg(*reg));
        }
        let (narrow, wide) = (unsigned(ty.bits().max(16)), unsigned(width));
        let temporary = self.temporary(narrow);
        let source = self.reg(*reg);
        self.line(&format!("cvt.{narrow}.{wide} {temporary}, {source};"));
        Ok(temporary)
    }

    /// A brace list of bytes to pack, which `mov` takes from registers of 8 bits only.
    pub fn bytes(&mut self, parts: &[Operand]) -> Written<String> {
        let mut bytes = Vec::new();
        for part in parts {
            let byte = self.temporary(Type::B8);
            let (value, width) = match part {
                Operand::Reg(reg) => (self.reg(*reg), unsigned(self.func.reg_types[*reg].bits().max(16))),
                _ => (self.value(part, Type::U16)?, Type::U16),
            };
            self.line(&format!("cvt.u8.{width} {byte}, {value};"));
            bytes.push(byte);
        }
        Ok(format!("{{{}}}", bytes.join(", ")))
    }

    /// A predicate, with `!` where it is negated.
    pub fn predicate(&mut self, operand: &Operand) -> Written<String> {
        Ok(match operand {
            Operand::Reg(reg) => self.reg(*reg),
            Operand::NotReg(reg) => format!("!{}", self.reg(*reg)),
            Operand::Const(bits) => {
                let temporary = self.temporary(Type::Pred);
                self.line(&format!("mov.pred {temporary}, {};", bits & 1));
                temporary
            }
            _ => return Err(self.problem(None, "no such operand in PTX")),
        })
    }

    /// A value passed to or returned from a function, as the number that PTX passes: a predicate as 0 or 1, an
    /// address in generic form.
    pub fn passed(&mut self, operand: &Operand, ty: Type) -> Written<String> {
        if ty == Type::Pred {
            let predicate = self.predicate(operand)?;
            let temporary = self.temporary(Type::B32);
            let (plain, yes, no) = match predicate.strip_prefix('!') {
                Some(plain) => (plain, 0, 1),
                None => (predicate.as_str(), 1, 0),
            };
            self.line(&format!("selp.b32 {temporary}, {yes}, {no}, {plain};"));
            return Ok(temporary);
        }
        self.generic(operand, param_type(ty))
    }

    /// A 64-bit value, turned into a generic address where it is one of a window.
    pub fn generic(&mut self, operand: &Operand, ty: Type) -> Written<String> {
        let value = self.value(operand, ty)?;
        match operand_form(self.module, self.func, &self.forms, operand) {
            Form::Window(space @ (Space::Shared | Space::Local | Space::Const | Space::Param)) if ty.bits() == 64 => {
                let temporary = self.temporary(Type::B64);
                self.line(&format!("cvta.{space}.u64 {temporary}, {value};"));
                self.needs = self.needs.and(requirements::of_conversion(space));
                Ok(temporary)
            }
            _ => Ok(value),
        }
    }

    /// A value turned into an address of the space's window where it is a generic one.
    pub fn windowed(&mut self, operand: &Operand, space: Space) -> Written<String> {
        let value = self.value(operand, Type::B64)?;
        match operand_form(self.module, self.func, &self.forms, operand) {
            Form::Generic | Form::Value if matches!(space, Space::Shared | Space::Local | Space::Const) => {
                let temporary = self.temporary(Type::B64);
                self.line(&format!("cvta.to.{space}.u64 {temporary}, {value};"));
                self.needs = self.needs.and(requirements::of_conversion(space));
                Ok(temporary)
            }
            _ => Ok(value),
        }
    }

    /// The bracketed address of an access, and the space to print for it: a generic access to what is known to be a
    /// window address names the window, and one that the window's memory has not in PTX is generic.
    pub fn address(&mut self, address: &Address, opcode: Opcode) -> Written<(String, Option<Space>)> {
        if let AddressBase::Reg(reg) = address.base
            && let Some(name) = self.named_aggregates.get(&reg)
        {
            return Ok((place(name, address.offset), Some(Space::Param)));
        }
        let space = opcode.space;
        let form = match address.base {
            AddressBase::Reg(reg) => self.forms[reg],
            AddressBase::Symbol(symbol) => operand_form(self.module, self.func, &self.forms, &Operand::Symbol(symbol)),
            AddressBase::Absolute => Form::Number,
        };
        let space = match (space, address.base, form) {
            (None, AddressBase::Symbol(symbol), _) => Some(symbol_space(self.module, self.func, symbol)),
            (None, _, Form::Window(window)) => Some(window),
            (space, ..) => space,
        };
        let window = space.filter(|&space| !has_form(opcode, space, self.version));
        let mut base = match address.base {
            AddressBase::Reg(reg) if window.is_some() => self.reg(reg),
            AddressBase::Reg(reg) => self.base_register(reg, space, form),
            AddressBase::Symbol(symbol) => {
                if address.terms.is_empty() && window.is_none() {
                    self.symbol_name(symbol)
                } else {
                    self.value(&Operand::Symbol(symbol), Type::U64)?
                }
            }
            AddressBase::Absolute => String::new(),
        };
        let needs_wide_base = !address.terms.is_empty() || i32::try_from(address.offset).is_err() || window.is_some();
        if let (AddressBase::Reg(reg), true) = (address.base, needs_wide_base)
            && self.func.reg_types[reg].bits() == 32
        {
            let wide = self.temporary(Type::B64);
            self.line(&format!("cvt.u64.u32 {wide}, {base};"));
            base = wide;
        }
        if let Some(window) = window {
            base = self.generic_base(&base, form, window);
        }
        for &(index, scale) in &address.terms {
            base = self.scaled(&base, index, scale);
        }
        let mut offset = address.offset;
        let space = if window.is_some() { None } else { space };
        if base.is_empty() && space != Some(Space::Local) {
            // The assembler takes a number as an address only there.
            base = self.temporary(Type::B64);
            self.line(&format!("mov.u64 {base}, {};", offset as u64));
            offset = 0;
        } else if i32::try_from(offset).is_err() && !base.is_empty() {
            let sum = self.temporary(Type::B64);
            self.line(&format!("add.s64 {sum}, {base}, {offset};"));
            (base, offset) = (sum, 0);
        }
        let text = if base.is_empty() { format!("[{}]", offset as u64) } else { place(&base, offset) };
        Ok((text, space))
    }

    /// The base of an access to a window, as a generic address.
    fn generic_base(&mut self, base: &str, form: Form, window: Space) -> String {
        let is_passed = form == Form::Value && self.func.kind == FuncKind::Func;
        if form == Form::Generic || is_passed {
            return base.into();
        }
        let generic = self.temporary(Type::B64);
        let base = if base.is_empty() { "0" } else { base };
        self.line(&format!("cvta.{window}.u64 {generic}, {base};"));
        self.needs = self.needs.and(requirements::of_conversion(window));
        if form == Form::Mixed {
            self.warn("the address may be generic or an offset here; run `infer-space` and check the result");
        }
        generic
    }

    fn base_register(&mut self, reg: Reg, space: Option<Space>, form: Form) -> String {
        let name = self.reg(reg);
        let Some(space @ (Space::Shared | Space::Local | Space::Const)) = space else { return name };
        // In a function a plain 64-bit value is an address that somebody passed, hence generic. A kernel's is what
        // the source computed.
        let is_generic =
            form == Form::Generic || form == Form::Value && self.func.kind == FuncKind::Func || form == Form::Mixed;
        if !is_generic || self.func.reg_types[reg].bits() != 64 {
            return name;
        }
        let temporary = self.temporary(Type::B64);
        self.line(&format!("cvta.to.{space}.u64 {temporary}, {name};"));
        self.needs = self.needs.and(requirements::of_conversion(space));
        if form == Form::Mixed {
            self.warn("the address may be generic or an offset here; run `infer-space` and check the result");
        }
        temporary
    }

    /// `base + scale * index`, in 64 bits.
    fn scaled(&mut self, base: &str, index: Reg, scale: i64) -> String {
        let ty = self.func.reg_types[index];
        let register = self.reg(index);
        let sum = self.temporary(Type::B64);
        let signed = ty.is_signed();
        let fits = if signed { i32::try_from(scale).is_ok() } else { u32::try_from(scale).is_ok() };
        let first = base.is_empty();
        if ty.bits() == 32 && fits {
            let class = if signed { "s32" } else { "u32" };
            match first {
                true => self.line(&format!("mul.wide.{class} {sum}, {register}, {scale};")),
                false => self.line(&format!("mad.wide.{class} {sum}, {register}, {scale}, {base};")),
            }
            return sum;
        }
        let wide = if ty.bits() == 64 {
            register
        } else {
            let wide = self.temporary(Type::B64);
            let (to, from) = if signed { ("s64", 's') } else { ("u64", 'u') };
            self.line(&format!("cvt.{to}.{from}{} {wide}, {register};", ty.bits()));
            wide
        };
        match first {
            true => self.line(&format!("mul.lo.s64 {sum}, {wide}, {scale};")),
            false => self.line(&format!("mad.lo.s64 {sum}, {wide}, {scale}, {base};")),
        }
        sum
    }

    /// The name of a piece of memory.
    pub fn symbol_name(&self, own: Symbol) -> String {
        match own {
            Symbol::Global(global) => self.locals.module.globals[global].clone(),
            Symbol::Param(index) => self.locals.params.get(index as usize).cloned().unwrap_or_default(),
            Symbol::Array(array) => self.locals.arrays[array].clone(),
        }
    }
}

/// An address in brackets.
pub(super) fn place(base: &str, offset: i64) -> String {
    if offset == 0 { format!("[{base}]") } else { format!("[{base}+{offset}]") }
}

/// The unsigned type of a width.
pub(super) fn unsigned(bits: u32) -> Type {
    Type::U64.with_bits(bits).unwrap_or(Type::U32)
}
