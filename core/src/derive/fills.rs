//! Values for parameters: buffers as long as the kernel reaches, of the type it accesses them by, textures and numbers.

use super::insts;
use super::ranges::{PointerPath, Reach, Reaches};
use super::trial::Trial;
use crate::ir::{
    Address, AddressBase, Fill, Function, Number, Op, ParamType, PointerStep, Reg, Symbol, Type, ValueSource, Values,
};
use crate::sim::derive_texture;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of a buffer that the analysis finds no bound for.
const UNBOUNDED: u64 = 1 << 18;
/// Bytes of a buffer of pointers without a bound.
const UNBOUNDED_POINTERS: u64 = 512;
/// Bytes of the buffers that such pointers point to.
const UNBOUNDED_EACH: u64 = 1 << 12;

/// Value for a parameter; a buffer has `least` bytes at least.
pub(super) fn fill(kernel: &Function, index: usize, trial: &Trial, reaches: &Reaches, least: u64) -> Fill {
    let reach = reaches.params.get(&index);
    let path = (index, Vec::new());
    let unbounded = unbounded(reaches, &path);
    match kernel.params[index].ty {
        ParamType::Texture => derive_texture(),
        _ if reach.is_some_and(|reach| reach.is_texture) => derive_texture(),
        ParamType::Array(ty, len) => Fill::Numbers(array_numbers(kernel, index, ty, len, trial)),
        ParamType::Scalar(ty) if ty.is_float() => Fill::Number(Number::Float(trial.float(index))),
        // A 64-bit number that no access goes through is a number.
        ParamType::Scalar(ty) if ty.bits() < 64 || !is_pointer(kernel, index, reach) => {
            let number = trial.numbers[index] as u64;
            Fill::Number(Number::Int(i128::from(number.min(ty.mask() >> u32::from(ty.is_signed())))))
        }
        ParamType::Scalar(_) | ParamType::Pointer { .. } => {
            buffer(kernel, &path, trial, reach, Bytes { least, unbounded })
        }
    }
}

/// Buffer that a pointer in memory points to.
pub(super) fn pointee(
    kernel: &Function,
    path: &PointerPath,
    trial: &Trial,
    reaches: &Reaches,
    reach: &Reach,
    least: u64,
) -> Fill {
    buffer(kernel, path, trial, Some(reach), Bytes { least, unbounded: unbounded(reaches, path) })
}

/// Bytes of memory that the analysis finds no bound for: less where there is much of it.
fn unbounded(reaches: &Reaches, (param, path): &PointerPath) -> u64 {
    let is_holder = |(other, steps): &PointerPath| {
        other == param
            && steps.len() == path.len() + 1
            && steps.starts_with(path)
            && steps.ends_with(&[PointerStep::Each])
    };
    match () {
        () if reaches.pointees.keys().any(is_holder) => UNBOUNDED_POINTERS,
        () if path.contains(&PointerStep::Each) => UNBOUNDED_EACH,
        () => UNBOUNDED,
    }
}

/// Whether an access goes through a 64-bit parameter. Where the analysis did not get that far, its uses tell.
pub(super) fn is_pointer(kernel: &Function, index: usize, reach: Option<&Reach>) -> bool {
    if reach.is_some_and(|reach| !reach.types.is_empty()) {
        return true;
    }
    let mut derived: BTreeSet<Reg> = kernel.params[index].reg.into_iter().collect();
    insts(kernel).any(|inst| {
        let base = inst.address().map(|address| address.base);
        let reads = inst.args.iter().any(|arg| arg.as_reg().is_some_and(|reg| derived.contains(&reg)));
        if reads && matches!(inst.opcode.op, Op::Mov | Op::Cvta | Op::Add | Op::Sub | Op::Mad | Op::MadWide | Op::Selp)
        {
            derived.extend(&inst.dsts);
        }
        matches!(base, Some(AddressBase::Reg(reg)) if derived.contains(&reg)) || reads && inst.opcode.op.is_call()
    })
}

/// Sizes of a buffer in bytes.
struct Bytes {
    /// Bytes that dry runs have asked for.
    least: u64,
    /// Size where the analysis finds no bound.
    unbounded: u64,
}

fn buffer(kernel: &Function, path: &PointerPath, trial: &Trial, reach: Option<&Reach>, sizes: Bytes) -> Fill {
    let types = reach.map_or(&[][..], |reach| &reach.types);
    let ty = element_type(kernel, types, trial.has_small_elements(path));
    let bytes = reach.and_then(|reach| reach.end).unwrap_or(sizes.unbounded).max(sizes.least).max(1);
    let len = bytes.div_ceil(u64::from(ty.bytes())) as u32;
    let zero = if ty.is_float() { Number::Float(0.0) } else { Number::Int(0) };
    let source = match ty {
        _ if trial.elements.contains_key(path) => chosen_elements(ty, trial.element_range(path, ty)),
        _ if reach.is_some_and(|reach| !reach.is_read) => ValueSource::Const(zero),
        _ if ty.is_float() => ValueSource::Random(Number::Float(-1.0), Number::Float(1.0)),
        _ => ValueSource::Random(Number::Int(0), Number::Int(i128::from(trial.element_range(path, ty).1))),
    };
    Fill::Buffer { ty, len, values: Values { source, zero: None, coherence: None } }
}

fn chosen_elements(ty: Type, (low, high): (i64, i64)) -> ValueSource {
    let number = |end: i64| if ty.is_float() { Number::Float(end as f64) } else { Number::Int(i128::from(end)) };
    if low == high { ValueSource::Const(number(low)) } else { ValueSource::Random(number(low), number(high)) }
}

/// The type that says most: a float or an integer rather than bits, the first of them. Bits alone are floats where
/// the kernel has float arithmetic of their width, else unsigned. Where elements have to be small, integers come first:
/// the bits of a float are a large one.
fn element_type(kernel: &Function, types: &[Type], are_small: bool) -> Type {
    if are_small && let Some(&ty) = types.iter().find(|ty| ty.is_integer()) {
        return ty;
    }
    if let Some(&ty) = types.iter().find(|ty| ty.is_float() || ty.is_integer()) {
        return ty;
    }
    let Some(&bits) = types.first() else { return Type::F32 };
    let floats: BTreeSet<Type> = insts(kernel)
        .filter(|inst| inst.opcode.is_pure())
        .map(|inst| inst.opcode.ty)
        .filter(|ty| ty.is_float())
        .collect();
    let float = floats.into_iter().find(|ty| ty.bits() == bits.bits());
    float.or_else(|| Type::U32.with_bits(bits.bits())).unwrap_or(Type::U32)
}

/// The elements of an array by value: a structure, seen through the loads of its fields. Floats are 1.
fn array_numbers(kernel: &Function, index: usize, ty: Type, len: u32, trial: &Trial) -> Vec<Number> {
    let size = (u64::from(len) * u64::from(ty.bytes())) as usize;
    let mut bytes = vec![0u8; size];
    let own = AddressBase::Symbol(Symbol::Param(index as u32));
    for inst in insts(kernel).filter(|inst| inst.opcode.op == Op::Ld) {
        let Some(Address { base, terms, offset }) = inst.address() else { continue };
        if *base != own || !terms.is_empty() {
            continue;
        }
        let field = inst.opcode.ty;
        let width = field.bytes() as usize;
        for part in 0..usize::from(inst.opcode.vector) {
            let at = usize::try_from(*offset).unwrap_or(size).saturating_add(part * width);
            let value = match field {
                Type::F32 => u64::from(1f32.to_bits()),
                Type::F64 => 1f64.to_bits(),
                Type::F16 => 0x3c00,
                _ => trial.field(index, at as u32) as u64,
            };
            if let Some(place) = bytes.get_mut(at..at.saturating_add(width)) {
                place.copy_from_slice(&value.to_le_bytes()[..width]);
            }
        }
    }
    let element = |chunk: &[u8]| {
        let mut bits = [0; 8];
        bits[..chunk.len()].copy_from_slice(chunk);
        let bits = u64::from_le_bytes(bits);
        match ty {
            Type::F32 => Number::F32Bits(bits as u32),
            Type::F64 => Number::F64Bits(bits),
            _ => Number::Int(i128::from(bits)),
        }
    };
    bytes.chunks(ty.bytes() as usize).map(element).collect()
}
