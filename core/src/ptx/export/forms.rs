//! Which registers hold generic addresses, and which hold addresses of one memory's window.
//!
//! ```text
//! r1 = mov.u64 tile          window of shared
//! r2 = cvta.shared.u64 r1    generic
//! r3 = add.u64 r1, r9        window of shared
//! ```
//!
//! In the text IR the two are the same number, so `infer-space` may turn `ld.f32 [r2]` into `ld.shared.f32 [r2]` and
//! copy propagation may put `r1` where `r2` stood. On hardware they differ for shared, local, const and param
//! memory (for global memory they do not), so the exporter converts where an access wants the other one.
//!
//! The analysis does not look at control flow: a register has one form, that of all its definitions. Every form
//! changes at most twice and passes on to its users, so the time is linear in uses.

use crate::ir::{Flags, Function, Inst, InstData, Module, Op, Operand, ParamType, Reg, Space, Symbol, Type};
use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

/// Meaning of a register's number as an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// Nothing is known: a plain number.
    #[default]
    Number,
    /// 64 bits from memory, a parameter or a call: a generic address, if it is one.
    Value,
    /// A generic address.
    Generic,
    /// An address in the window of a memory other than the global one.
    Window(Space),
    /// One or the other, depending on the path.
    Mixed,
}

impl Form {
    /// The form of a sum or of a choice between equals: a number added to an address is an address.
    fn with(self, other: Form) -> Form {
        use Form::{Mixed, Number, Value};
        match (self, other) {
            (Mixed, _) | (_, Mixed) => Mixed,
            (Number, form) | (form, Number) => form,
            (Value, form) | (form, Value) => form,
            (a, b) if a == b => a,
            _ => Mixed,
        }
    }

    /// The form of a register that two definitions write.
    fn or(self, other: Form) -> Form {
        match (self, other) {
            (Form::Value, Form::Window(_)) | (Form::Window(_), Form::Value) => Form::Mixed,
            _ => self.with(other),
        }
    }
}

/// The form of every register of a function.
pub fn forms(module: &Module, func: &Function) -> SecondaryMap<Reg, Form> {
    let mut forms: SecondaryMap<Reg, Form> = SecondaryMap::new();
    for param in &func.params {
        let Some(reg) = param.reg else { continue };
        forms[reg] = match param.ty {
            ParamType::Pointer { space: Some(space), .. } => of_space(space),
            ParamType::Pointer { .. } => Form::Generic,
            ParamType::Scalar(ty) if ty.bits() == 64 => Form::Value,
            _ => Form::Number,
        };
    }
    let mut users: SecondaryMap<Reg, Vec<Inst>> = SecondaryMap::new();
    let mut work: Vec<Inst> = Vec::new();
    for inst in func.block_order().flat_map(|block| func.block_insts(block)) {
        func.insts[inst].for_each_use(|reg| users[reg].push(inst));
        work.push(inst);
    }
    work.reverse();
    while let Some(inst) = work.pop() {
        let data = &func.insts[inst];
        for &dst in &data.dsts {
            let form = forms[dst].or(result(module, func, data, &forms, dst));
            if form != forms[dst] {
                forms[dst] = form;
                work.extend(&users[dst]);
            }
        }
    }
    forms
}

/// The form of an operand.
pub fn operand_form(module: &Module, func: &Function, forms: &SecondaryMap<Reg, Form>, operand: &Operand) -> Form {
    match operand {
        Operand::Reg(reg) => forms[*reg],
        Operand::Symbol(symbol) => of_space(symbol_space(module, func, *symbol)),
        _ => Form::Number,
    }
}

/// The memory that a symbol lies in.
pub fn symbol_space(module: &Module, func: &Function, symbol: Symbol) -> Space {
    match symbol {
        Symbol::Global(global) => module.globals[global].space,
        Symbol::Array(array) => func.arrays[array].space,
        Symbol::Param(_) => Space::Param,
    }
}

fn result(module: &Module, func: &Function, inst: &InstData, forms: &SecondaryMap<Reg, Form>, dst: Reg) -> Form {
    let of = |index: usize| inst.args.get(index).map_or(Form::Number, |arg| operand_form(module, func, forms, arg));
    match inst.opcode.op {
        Op::Mov | Op::Cvt | Op::Sub => of(0),
        Op::Add | Op::Selp | Op::Min | Op::Max | Op::And | Op::Or => of(0).with(of(1)),
        Op::Mad | Op::MadWide => of(2),
        Op::Cvta => match inst.opcode.space {
            Some(space) if inst.opcode.has(Flags::TO) => of_space(space),
            Some(_) => Form::Generic,
            // Written as a plain copy.
            None => of(0),
        },
        Op::Ld | Op::Atom | Op::Call if func.reg_types[dst].bits() == Type::B64.bits() => Form::Value,
        _ => Form::Number,
    }
}

/// Global addresses are the same number in both forms.
fn of_space(space: Space) -> Form {
    match space {
        Space::Global => Form::Generic,
        other => Form::Window(other),
    }
}
