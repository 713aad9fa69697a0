//! Gives the second program the parameters and inputs of the first, so that one launch binds to both.
//!
//! ```text
//! first: k(n, x, y), input u      second: k(y, x), no input      ──▶      second: k(n, x, y), input u
//! ```
//!
//! As many parameters on both sides are the same ones by position, whatever their names; otherwise
//! names pair them. One that only the first has becomes an unused one of the second, and its buffer
//! has to stay as it was. Those that only the second has come last. Arrays by value may have other
//! element types: a launch is rewritten to the same bytes.
//!
//! Cost: a copy of the second module, where anything differs.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use crate::ir::{AddressBase, Func, Function, InputData, Module, Operand, ParamData, ParamType, Symbol, Type};

/// The second module with the kernel's parameters and the inputs of the first.
pub(super) fn aligned<'m>((first, a): (&Module, Func), (second, b): (&'m Module, Func)) -> Cow<'m, Module> {
    let (params, own) = (&first.funcs[a].params, &second.funcs[b].params);
    let has_same_names = params.len() == own.len() && params.iter().zip(own).all(|(a, b)| a.name == b.name);
    let has_input = |name: &str| inputs(second).any(|input| input.name == name);
    let missing: Vec<&InputData> = inputs(first).filter(|input| !has_input(&input.name)).collect();
    if has_same_names && missing.is_empty() {
        return Cow::Borrowed(second);
    }
    let mut module = second.clone();
    let kernel = &mut module.funcs[b];
    if params.len() == own.len() {
        kernel.params.iter_mut().zip(params).for_each(|(own, param)| own.name.clone_from(&param.name));
    } else {
        reorder(kernel, params);
    }
    for input in missing {
        if kernel.inputs.values().all(|own| own.name != input.name) {
            kernel.inputs.push(input.clone());
        }
    }
    Cow::Owned(module)
}

fn inputs(module: &Module) -> impl Iterator<Item = &InputData> {
    module.funcs.values().flat_map(|func| func.inputs.values())
}

/// Gives a kernel the parameters of that list, by name, and behind them its own others.
fn reorder(kernel: &mut Function, params: &[ParamData]) {
    let mut own: Vec<Option<ParamData>> = core::mem::take(&mut kernel.params).into_iter().map(Some).collect();
    let mut moved = alloc::vec![0; own.len()];
    for param in params {
        let at = own.iter().position(|own| own.as_ref().is_some_and(|own| own.name == param.name));
        let param = match at.and_then(|at| own[at].take().map(|own| (at, own))) {
            Some((at, own)) => {
                moved[at] = kernel.params.len() as u32;
                own
            }
            None => {
                let ty = match param.ty {
                    ParamType::Scalar(ty) => Some(ty),
                    ParamType::Pointer { .. } | ParamType::Texture => Some(Type::B64),
                    ParamType::Array(..) => None,
                };
                let name = kernel.fresh_reg_name(&param.name);
                ParamData { reg: ty.map(|ty| kernel.build_reg(name, ty)), ..param.clone() }
            }
        };
        kernel.params.push(param);
    }
    for (at, param) in own.into_iter().enumerate() {
        if let Some(param) = param {
            moved[at] = kernel.params.len() as u32;
            kernel.params.push(param);
        }
    }
    let renumber = |symbol: &mut Symbol| {
        if let Symbol::Param(index) = symbol {
            *index = moved[*index as usize];
        }
    };
    for inst in kernel.insts.values_mut() {
        for arg in &mut inst.args {
            match arg {
                Operand::Symbol(symbol) => renumber(symbol),
                Operand::Address(address) => {
                    if let AddressBase::Symbol(symbol) = &mut address.base {
                        renumber(symbol);
                    }
                }
                Operand::List(list) => {
                    for element in list.iter_mut() {
                        if let Operand::Symbol(symbol) = element {
                            renumber(symbol);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
