//! Instructions, operands and addresses.

use core::fmt::Write;

use crate::ir::{Address, AddressBase, ArgKind, Function, InstData, Op, Operand, Reg, Signature, Symbol, Type};
use crate::text::number::write_constant;
use crate::text::parser::param_value_type;

use super::{Printer, name_or_id};

impl Printer<'_> {
    pub(super) fn inst(&mut self, func: &Function, data: &InstData) {
        if let Some(guard) = data.guard {
            self.out.push_str(if guard.negated { "@!" } else { "@" });
            self.reg(func, guard.reg);
            self.out.push(' ');
        }
        match data.dsts[..] {
            [] => {}
            [dst] => {
                self.reg(func, dst);
                self.out.push_str(" = ");
            }
            _ => {
                self.out.push('{');
                for (index, &dst) in data.dsts.iter().enumerate() {
                    self.out.push_str(if index == 0 { "" } else { ", " });
                    self.reg(func, dst);
                }
                self.out.push_str("} = ");
            }
        }
        let _ = write!(self.out, "{}", data.opcode);
        if data.opcode.op == Op::Ret && data.exit() > 0 {
            let _ = write!(self.out, ".{}", data.exit());
        }
        if let Some(template) = data.template() {
            let _ = write!(self.out, " \"{template}\"");
            for arg in &data.args {
                self.out.push_str(", ");
                self.operand(func, data, arg, data.opcode.ty);
            }
        } else if data.opcode.op.is_call() {
            self.call(func, data);
        } else if !(data.opcode.op == Op::BarSync && data.args[..] == [Operand::Const(0)]) {
            let signature = data.signature();
            for (index, arg) in data.args.iter().enumerate() {
                self.out.push_str(if index == 0 { " " } else { ", " });
                self.operand(func, data, arg, signature_type(&signature, index, data.opcode.ty));
            }
        }
        for (index, &target) in data.targets().iter().enumerate() {
            self.out.push_str(match (index, data.opcode.op) {
                (0, Op::CallTo) => " to ",
                (0, Op::Br) => " ",
                _ => ", ",
            });
            name_or_id(&mut self.out, func.blocks.get(target).map(|block| block.name.as_str()), target);
        }
    }

    fn call(&mut self, func: &Function, data: &InstData) {
        self.out.push(' ');
        let module = self.module;
        let callee = data.callee().and_then(|callee| module.funcs.get(callee.func));
        if let Some(callee) = data.callee() {
            name_or_id(&mut self.out, module.funcs.get(callee.func).map(|func| func.name.as_str()), callee.func);
            if callee.entry > 0 {
                let entry = module.funcs.get(callee.func).and_then(|func| {
                    let block = func.entries.get(callee.entry as usize)?;
                    Some(func.blocks[*block].name.as_str())
                });
                let _ = write!(self.out, "@{}", entry.unwrap_or("?"));
            }
        }
        self.out.push('(');
        for (index, arg) in data.args.iter().enumerate() {
            self.out.push_str(if index == 0 { "" } else { ", " });
            let param = callee.and_then(|callee| callee.params.get(index));
            self.operand(func, data, arg, param.map_or(data.opcode.ty, |param| param_value_type(param.ty)));
        }
        self.out.push(')');
    }

    fn reg(&mut self, func: &Function, reg: Reg) {
        if let Some(name) = self.reg_name.and_then(|name| name(reg)) {
            self.out.push_str(&name);
            return;
        }
        name_or_id(&mut self.out, func.regs.get(reg).map(|reg| reg.name.as_str()), reg);
    }

    /// An operand; a constant is one of type `ty`.
    fn operand(&mut self, func: &Function, data: &InstData, operand: &Operand, ty: Type) {
        match operand {
            Operand::Reg(reg) => self.reg(func, *reg),
            Operand::NotReg(reg) => {
                self.out.push('!');
                self.reg(func, *reg);
            }
            Operand::Const(bits) => {
                // `inf` and `nan` mean the register where there is one of that name.
                let plain = !ty.is_float() || !(func.reg_name_is_taken("inf") || func.reg_name_is_taken("nan"));
                write_constant(&mut self.out, *bits, ty, plain);
            }
            Operand::Special(special) => {
                let _ = write!(self.out, "{special}");
            }
            Operand::Symbol(symbol) => self.symbol(func, *symbol),
            Operand::Address(address) => self.address(func, address, data.opcode.ty.bytes()),
            Operand::List(elements) => {
                self.out.push('{');
                for (index, element) in elements.iter().enumerate() {
                    self.out.push_str(if index == 0 { "" } else { ", " });
                    self.operand(func, data, element, ty);
                }
                self.out.push('}');
            }
            Operand::Input(input) => {
                name_or_id(&mut self.out, func.inputs.get(*input).map(|input| input.name.as_str()), *input);
            }
        }
    }

    fn symbol(&mut self, func: &Function, symbol: Symbol) {
        let module = self.module;
        match symbol {
            Symbol::Global(id) => {
                name_or_id(&mut self.out, module.globals.get(id).map(|global| global.name.as_str()), id);
            }
            Symbol::Array(id) => {
                name_or_id(&mut self.out, func.arrays.get(id).map(|array| array.name.as_str()), id);
            }
            Symbol::Param(index) => {
                let name = func.params.get(index as usize).map_or("?", |param| param.name.as_str());
                self.out.push_str(name);
            }
        }
    }

    /// In elements where everything is a multiple of them, else in bytes.
    fn address(&mut self, func: &Function, address: &Address, element: u32) {
        let element = i64::from(element);
        let divisible = address.offset % element == 0 && address.terms.iter().all(|(_, scale)| scale % element == 0);
        if address.base == AddressBase::Absolute || !divisible {
            self.out.push('[');
            self.address_base(func, address.base);
            let first = address.base == AddressBase::Absolute;
            // A name without a factor would be taken for the base where there is none.
            self.affine(func, address, 1, first, first);
        } else {
            self.address_base(func, address.base);
            self.out.push('[');
            self.affine(func, address, element, true, false);
        }
        self.out.push(']');
    }

    fn address_base(&mut self, func: &Function, base: AddressBase) {
        match base {
            AddressBase::Reg(reg) => self.reg(func, reg),
            AddressBase::Symbol(symbol) => self.symbol(func, symbol),
            AddressBase::Absolute => {}
        }
    }

    fn affine(&mut self, func: &Function, address: &Address, unit: i64, mut first: bool, factors: bool) {
        for &(reg, scale) in &address.terms {
            let scale = scale / unit;
            self.sign(scale < 0, first);
            if scale.unsigned_abs() != 1 || factors {
                let _ = write!(self.out, "{}*", scale.unsigned_abs());
            }
            self.reg(func, reg);
            first = false;
        }
        let offset = address.offset / unit;
        if offset != 0 || first {
            self.sign(offset < 0, first);
            let _ = write!(self.out, "{}", offset.unsigned_abs());
        }
    }

    fn sign(&mut self, negative: bool, first: bool) {
        self.out.push_str(match (negative, first) {
            (true, true) => "-",
            (false, true) => "",
            (true, false) => " - ",
            (false, false) => " + ",
        });
    }
}

/// The type of a constant in an operand's place.
fn signature_type(signature: &Signature, index: usize, otherwise: Type) -> Type {
    match signature.arg(index) {
        Some(ArgKind::Value(ty) | ArgKind::LowBits(ty) | ArgKind::Any(ty) | ArgKind::Elements(ty, _)) => ty,
        Some(ArgKind::Cycles) => Type::U32,
        _ => otherwise,
    }
}
