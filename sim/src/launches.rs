//! Applies settings to the launches of several kernels at once.
//!
//! ```text
//! a(x, n)  b(x)        settings x.zero=0.5 n=4        a: x.zero=0.5 n=4        b: x.zero=0.5
//! ```
//!
//! A knob turns what has its name, and whoever has nothing of that name goes without. One that
//! turns nothing anywhere is a mistake.
//!
//! A launch that was written for one kernel binds to another one's arrays by value with the same bytes
//! ([`retyped_launch`]).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::bind::{has_knob, settled};
use super::error::SimError;
use super::random::number_bits;
use super::settings::Settings;
use crate::ir::{Fill, Func, Function, Launch, Module, Number, ParamType, Type};

/// The settings of each of some kernels: knobs of parameters that only others have are left out. An
/// error names a knob that nothing has.
pub fn settings_of(all: &Settings, module: &Module, kernels: &[Func]) -> Result<Vec<Settings>, String> {
    let has = |kernel: Func, name: &str| has_knob(module, &module.funcs[kernel], name);
    if let Some((name, _)) = all.knobs.iter().find(|(name, _)| !kernels.iter().any(|&kernel| has(kernel, name))) {
        let names: Vec<String> = kernels.iter().map(|&kernel| format!("`{}`", module.funcs[kernel].name)).collect();
        return Err(format!("there is no parameter or input `{name}` in {}", names.join(", ")));
    }
    let of_kernel = |&kernel: &Func| {
        let knobs = all.knobs.iter().filter(|(name, _)| has(kernel, name)).cloned().collect();
        Settings { knobs, ..all.clone() }
    };
    Ok(kernels.iter().map(of_kernel).collect())
}

/// Lets launches be what settings make of them: each kernel's one by its settings.
pub fn settle_launches(module: &mut Module, kernels: &[Func], settings: &[Settings]) -> Result<(), SimError> {
    for (&kernel, settings) in kernels.iter().zip(settings) {
        let func = &module.funcs[kernel];
        let Some(place) = module.launches.iter().position(|launch| launch.kernel == func.name) else { continue };
        module.launches[place] = settled(module, func, &module.launches[place], settings)?;
    }
    Ok(())
}

/// The launches of another text, for the kernels of `module`: written for kernels of their own text, if this has them.
pub fn launches_for(module: &Module, text: &Module) -> Vec<Launch> {
    let of = |module: &Module, name: &str| module.func_by_name(name);
    let retyped = |launch: &Launch| match (of(text, &launch.kernel), of(module, &launch.kernel)) {
        (Some(from), Some(to)) => retyped_launch(launch, &text.funcs[from], &module.funcs[to]),
        _ => launch.clone(),
    };
    text.launches.iter().map(retyped).collect()
}

/// A launch of the kernel `from` as one of the kernel `to`, whose arrays by value may have other element types: numbers
/// become those with the same bytes.
///
/// ```text
/// from k(arr: u32[2])   arr = { 5, 258 }        to k(arr: b8[8])   arr = { 5, 0, 0, 0, 2, 1, 0, 0 }
/// ```
pub fn retyped_launch(launch: &Launch, from: &Function, to: &Function) -> Launch {
    let mut launch = launch.clone();
    for (index, (from, to)) in from.params.iter().zip(&to.params).enumerate() {
        let (Some((ty, len)), Some((new_ty, new_len))) = (elements_of(from.ty), elements_of(to.ty)) else { continue };
        let size = |ty: Type, len: u32| u64::from(ty.bytes()) * u64::from(len);
        if ty == new_ty || size(ty, len) != size(new_ty, new_len) || new_ty == Type::F16 {
            continue;
        }
        let Some(binding) = launch.binding_mut(index, &from.name) else { continue };
        let numbers = match &binding.fill {
            Fill::Number(number) => alloc::vec![*number; len as usize],
            Fill::Numbers(numbers) if numbers.len() <= len as usize => numbers.clone(),
            _ => continue,
        };
        let bytes = |number: &Number| number_bits(*number, ty).to_le_bytes().into_iter().take(ty.bytes() as usize);
        let mut bytes: Vec<u8> = numbers.iter().flat_map(bytes).collect();
        bytes.resize(size(ty, len) as usize, 0);
        let number = |chunk: &[u8]| {
            let bits = chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            match new_ty {
                Type::F32 => Number::F32Bits(bits as u32),
                Type::F64 => Number::F64Bits(bits),
                _ => Number::Int(bits.into()),
            }
        };
        binding.fill = Fill::Numbers(bytes.chunks(new_ty.bytes() as usize).map(number).collect());
    }
    launch
}

/// The element type and length of what a parameter has by value.
fn elements_of(ty: ParamType) -> Option<(Type, u32)> {
    match ty {
        ParamType::Scalar(ty) if ty != Type::Pred => Some((ty, 1)),
        ParamType::Array(ty, len) => Some((ty, len)),
        _ => None,
    }
}
