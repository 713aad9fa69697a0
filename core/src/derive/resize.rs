//! A derived launch at other sizes: grid, block and numbers that somebody asks for.
//!
//! ```text
//! launch k derived {                       --block 96      launch k derived {
//!     grid 4                                                   grid 4
//!     block 64                                                 block 96
//!     n = 256                                 →                n = 384
//!     x = buffer u32[259] random(0, 15)                        x = buffer u32[387] random(0, 15)
//! ```
//!
//! 1. Integers that are as many as the threads along some axes, or [`LEFT_OVER`] fewer, follow the sizes.
//! 2. The kernel's reach is analysed at both sizes. A buffer follows the reach: its length is a
//!    multiple of the reach and some elements more or fewer, at the old sizes and at the new ones.
//! 3. The launch is tried in the simulator, and buffers that are too small grow.
//!
//! All else stays: what is resized is the launch that goes with the program. A program that passes
//! have changed gets the buffers of its source where both reach equally far, or the removed
//! accesses reached a constant number of elements or an integral number of times further. Cost: two
//! analyses and the dry runs.

use super::dry_run::{FUEL_OF_ONE, GROWTHS, Outcome, dry_run, enlarge};
use super::insts;
use super::ranges::{Reaches, reaches};
use super::search::dynamic_shared;
use super::sizes::roles;
use super::stated::Stated;
use super::trial::{ELEMENT, LEFT_OVER, Trial};
use crate::ir::{AddressBase, Fill, Function, Launch, Module, Number, Op, ParamType, Symbol, Type, ValueSource};
use alloc::vec::Vec;

/// The launch at the sizes and numbers that are stated; none if it does not run at them.
pub(super) fn resized(module: &Module, kernel: &Function, launch: &Launch, stated: &Stated) -> Option<Launch> {
    let before = trial_of(kernel, launch);
    let after = followed(kernel, &before, stated);
    let mut resized = launch.clone();
    (resized.grid, resized.block) = (after.grid, after.block);
    let reaches = [reaches(module, kernel, &before), reaches(module, kernel, &after)];
    if launch.shared.is_some() && launch.shared == dynamic_shared(kernel, &reaches[0], 0) {
        resized.shared = dynamic_shared(kernel, &reaches[1], 0);
    }
    for binding in resized.bindings.iter_mut().filter(|binding| binding.is_derived) {
        let is_of = |(index, param): &(usize, &crate::ir::ParamData)| binding.key.is_of(*index, &param.name);
        let Some((index, _)) = kernel.params.iter().enumerate().find(is_of) else { continue };
        match &mut binding.fill {
            Fill::Number(number @ Number::Int(_)) if before.numbers[index] != after.numbers[index] => {
                *number = Number::Int(i128::from(after.numbers[index]));
            }
            Fill::Buffer { ty, len, .. } => {
                let [old, new] = reaches.each_ref().map(|reaches| end(reaches, index, &binding.path));
                *len = length(*len, u64::from(ty.bytes()), old, new);
            }
            _ => {}
        }
    }
    let func = module.func_by_name(&kernel.name)?;
    for _ in 0..=GROWTHS {
        match dry_run(module, func, &resized, FUEL_OF_ONE).outcome {
            Outcome::Ran | Outcome::OutOfFuel => return Some(resized),
            outcome if enlarge(kernel, &mut resized, &outcome) => {}
            _ => return None,
        }
    }
    None
}

fn end(reaches: &Reaches, param: usize, path: &[crate::ir::PointerStep]) -> Option<u64> {
    if path.is_empty() {
        return reaches.params.get(&param)?.end;
    }
    reaches.pointees.get(&(param, path.to_vec()))?.end
}

/// Elements of a buffer that follows its reach: a multiple of it, and as many more or fewer as before.
fn length(len: u32, bytes: u64, old: Option<u64>, new: Option<u64>) -> u32 {
    let (Some(old), Some(new)) = (old, new) else { return len };
    let elements = |end: u64| i128::from(end.max(1).div_ceil(bytes));
    let (old, new, len) = (elements(old), elements(new), i128::from(len));
    let times = (2 * len + old) / (2 * old);
    u32::try_from((times * new + len - times * old).max(1)).unwrap_or(u32::MAX)
}

/// The guess whose sizes are the stated ones.
fn followed(kernel: &Function, before: &Trial, stated: &Stated) -> Trial {
    let mut after = before.clone();
    after.grid = stated.grid.unwrap_or(before.grid);
    after.block = stated.block.unwrap_or(before.block);
    let threads = |trial: &Trial, axes: u8| {
        let along = |axis: usize| i64::from(trial.grid[axis]) * i64::from(trial.block[axis]);
        (0..3).filter(|axis| axes & 1 << axis != 0).map(along).product::<i64>()
    };
    let roles = roles(kernel);
    for (index, param) in kernel.params.iter().enumerate() {
        let number = before.numbers[index];
        let is_number = matches!(param.ty, ParamType::Scalar(ty) if !ty.is_float());
        let follows =
            |(axes, fewer): &(u8, i64)| threads(before, *axes) > 1 && threads(before, *axes) - fewer == number;
        // Where grid and block are square, the threads that the number bounds tell along which axis it follows.
        let bounded = param.reg.and_then(|reg| roles.get(&reg)).copied().unwrap_or(0);
        let axes = [bounded, 1, 2, 4, 3, 5, 6, 7];
        let all_axes = [0, LEFT_OVER].into_iter().flat_map(|fewer| axes.map(|axes| (axes, fewer)));
        if is_number && let Some((axes, fewer)) = all_axes.into_iter().find(follows) {
            after.numbers[index] = (threads(&after, axes) - fewer).max(1);
        }
    }
    after.numbers = stated.numbers(after.numbers);
    after
}

/// The guess that a launch says.
fn trial_of(kernel: &Function, launch: &Launch) -> Trial {
    let integer = |number: Number| match number {
        Number::Int(number) => i64::try_from(number).ok(),
        _ => None,
    };
    let mut trial = Trial::new(launch.grid, launch.block, Vec::new(), ELEMENT);
    for (index, param) in kernel.params.iter().enumerate() {
        let fill = launch.binding(index, &param.name).map(|binding| &binding.fill);
        let number = match fill {
            Some(Fill::Number(number)) => integer(*number),
            _ => None,
        };
        trial.numbers.push(number.unwrap_or(0));
        if let (ParamType::Array(ty, _), Some(Fill::Numbers(numbers))) = (param.ty, fill) {
            let bytes: Vec<u8> = numbers.iter().flat_map(|&number| element_bytes(number, ty)).collect();
            for (at, field) in fields(kernel, index) {
                let Some(bytes) = bytes.get(at as usize..at as usize + field.bytes() as usize) else { continue };
                let mut wide = [0; 8];
                wide[..bytes.len()].copy_from_slice(bytes);
                let unused = 64 - field.bits();
                trial.fields.insert((index, at), (i64::from_le_bytes(wide) << unused) >> unused);
            }
        }
    }
    for binding in &launch.bindings {
        let index = kernel.params.iter().enumerate().find(|(index, param)| binding.key.is_of(*index, &param.name));
        let (Some((index, _)), Fill::Buffer { ty, values, .. }) = (index, &binding.fill) else { continue };
        let range = match values.source {
            ValueSource::Const(number) => integer(number).map(|number| (number, number)),
            ValueSource::Random(low, high) => integer(low).zip(integer(high)),
            _ => None,
        };
        if let Some(range) = range.filter(|_| ty.is_integer()) {
            trial.elements.insert((index, binding.path.clone()), range);
        }
    }
    trial
}

/// Integer fields of a structure by value that the kernel loads.
fn fields(kernel: &Function, index: usize) -> Vec<(u32, Type)> {
    let own = AddressBase::Symbol(Symbol::Param(index as u32));
    let mut fields = Vec::new();
    for inst in insts(kernel).filter(|inst| inst.opcode.op == Op::Ld && !inst.opcode.ty.is_float()) {
        let Some(address) = inst.address().filter(|address| address.base == own && address.terms.is_empty()) else {
            continue;
        };
        for part in 0..u32::from(inst.opcode.vector) {
            if let Ok(at) = u32::try_from(address.offset) {
                fields.push((at + part * inst.opcode.ty.bytes(), inst.opcode.ty));
            }
        }
    }
    fields
}

fn element_bytes(number: Number, ty: Type) -> Vec<u8> {
    let bits = match number {
        Number::Int(number) => number as u64,
        Number::F32Bits(bits) => u64::from(bits),
        Number::F64Bits(bits) => bits,
        Number::Float(number) if ty == Type::F32 => u64::from((number as f32).to_bits()),
        Number::Float(number) => number.to_bits(),
    };
    bits.to_le_bytes()[..ty.bytes() as usize].to_vec()
}
