//! A launch for a kernel that has none, made from its parameters and what the kernel does with them, so that whatever
//! is pasted runs at once.
//!
//! ```text
//! kernel k(n: u32, a: f32, x: ptr.global, y: ptr.global)      launch k {
//!     i = mad.u32 %ctaid, %ntid, %tid                             grid 4
//!     p = setp.lt.u32 i, n                                        block 64
//!     br p, body, done                                            n = 256
//! body:                                                    →      a = 2.0
//!     xi = ld.global.f32 x[i]                                     x = buffer f32[256] random(-1.0, 1.0)
//!     st.global.f32 y[i], xi                                      y = buffer f32[256] const 0.0
//! ```
//!
//! - A kernel that never asks which block it is in gets one block. One that asks where it is along y or z gets a grid and blocks with as many axes. Smaller blocks are tried
//!   where the usual one would reach outside a shared array of fixed size.
//! - An integer that the place of a thread is compared with is a bound: the number of threads along that axis. Other
//!   integers are 16.
//! - A buffer is as long as the kernel reaches into it under these sizes ([`ranges`]); where that has no bound, as for
//!   subscripts computed from data, it has [`UNBOUNDED`] bytes. Its elements are of the type it is accessed by.
//!
//! It is a guess that is meant to be shown and edited. What the analysis bounds stays inside; what it does not can
//! still reach outside.

mod interval;
mod ranges;
mod transfer;

use crate::ir::{
    Address, AddressBase, Axis, Binding, Fill, FillKey, FuncKind, Function, InstData, Launch, Module, Number, Op,
    Operand, ParamType, Reg, Space, Span, Special, Symbol, Type, ValueSource, Values,
};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use ranges::{Reach, Reaches, Trial, reaches};

/// Bytes of a buffer or of dynamic shared memory that the analysis finds no bound for.
const UNBOUNDED: u64 = 1 << 18;
/// Bytes that the launch's shared memory has at most.
const SHARED: u64 = 48 << 10;
/// An integer that bounds nothing.
const NUMBER: i64 = 16;
/// Largest element of an integer buffer.
const ELEMENT: i64 = 255;

/// Grids and blocks to try, the usual one first, for kernels of one, two and three axes.
const SHAPES: [&[([u32; 3], [u32; 3])]; 3] = [
    &[([4, 1, 1], [64, 1, 1]), ([4, 1, 1], [32, 1, 1]), ([4, 1, 1], [16, 1, 1]), ([4, 1, 1], [8, 1, 1])],
    &[
        ([2, 2, 1], [16, 16, 1]),
        ([2, 2, 1], [32, 8, 1]),
        ([2, 2, 1], [16, 8, 1]),
        ([2, 2, 1], [8, 8, 1]),
        ([2, 2, 1], [8, 4, 1]),
        ([2, 2, 1], [4, 4, 1]),
    ],
    &[([2, 2, 2], [8, 4, 4]), ([2, 2, 2], [4, 4, 4]), ([2, 2, 2], [4, 2, 2])],
];

/// A launch that binds every parameter and input of a kernel.
pub fn derive_launch(module: &Module, kernel: &Function) -> Launch {
    let shapes = SHAPES[axes(kernel) - 1];
    let roles = roles(kernel);
    // Blocks that do not know which they are would all do the same, in each other's way.
    let is_alone = !knows_block(module, kernel);
    let mut tried = shapes.iter().map(|&(grid, block)| {
        let grid = if is_alone { [1; 3] } else { grid };
        let trial = Trial { grid, block, numbers: numbers(kernel, &roles, grid, block) };
        let reaches = reaches(module, kernel, &trial);
        (trial, reaches)
    });
    let usual = tried.next();
    let chosen = match usual {
        Some((trial, reaches)) if overflows(kernel, &reaches) => {
            tried.find(|(_, reaches)| !overflows(kernel, reaches)).or(Some((trial, reaches)))
        }
        usual => usual,
    };
    let mut launch = Launch::new(kernel.name.clone());
    let Some((trial, reaches)) = chosen else { return launch };
    (launch.grid, launch.block) = (trial.grid, trial.block);
    launch.shared = dynamic_shared(kernel, &reaches);
    for (index, param) in kernel.params.iter().enumerate() {
        // `saxpy_param_2` says nothing that its number does not.
        let is_numbered = param.name.contains("_param_");
        let key = if is_numbered { FillKey::Index(index as u32) } else { FillKey::Name(param.name.clone()) };
        let fill = fill(kernel, index, &trial, reaches.params.get(&index));
        launch.bindings.push(Binding { key, fill, span: Span::default() });
    }
    for input in kernel.inputs.values() {
        let fill = Fill::Draws(derive_draws(input.ty));
        launch.bindings.push(Binding { key: FillKey::Name(input.name.clone()), fill, span: Span::default() });
    }
    launch
}

/// The launch, with what [`derive_launch`] gives to the parameters that it leaves out.
pub fn complete_launch(module: &Module, kernel: &Function, launch: &Launch) -> Launch {
    let mut complete = launch.clone();
    if !launch.is_complete(kernel) {
        let derived = derive_launch(module, kernel).bindings.into_iter().zip(&kernel.params).enumerate();
        let missing = derived.filter(|(index, (_, param))| launch.binding(*index, &param.name).is_none());
        complete.bindings.extend(missing.map(|(_, (binding, _))| binding));
    }
    complete
}

/// What an input draws that nothing is said about: both sides of a predicate equally often, floats from 0 to 1.
pub fn derive_draws(ty: Type) -> Values {
    let source = match ty {
        Type::Pred => ValueSource::True(0.5),
        _ if ty.is_float() => ValueSource::Random(Number::Float(0.0), Number::Float(1.0)),
        _ => ValueSource::Random(Number::Int(0), Number::Int(i128::from(NUMBER - 1))),
    };
    Values { source, zero: None, coherence: None }
}

/// Does the kernel, or any function it might call, ask for the place of its block?
fn knows_block(module: &Module, kernel: &Function) -> bool {
    let callable = module.funcs.values().filter(|func| func.kind == FuncKind::Func);
    callable
        .chain([kernel])
        .flat_map(insts)
        .flat_map(|inst| &inst.args)
        .any(|arg| matches!(arg, Operand::Special(Special::Ctaid(_))))
}

/// How many axes a kernel uses.
fn axes(kernel: &Function) -> usize {
    let specials = insts(kernel).flat_map(|inst| &inst.args).filter_map(|arg| match arg {
        Operand::Special(Special::Tid(axis) | Special::Ctaid(axis)) => Some(axis.index() + 1),
        _ => None,
    });
    specials.max().unwrap_or(1)
}

fn insts(kernel: &Function) -> impl Iterator<Item = &InstData> {
    kernel.block_order().flat_map(|block| kernel.block_insts(block)).map(|inst| &kernel.insts[inst])
}

/// The axes whose threads a parameter bounds, as bits 1, 2 and 4: those that the other side of a comparison with it
/// depends on.
fn roles(kernel: &Function) -> BTreeMap<Reg, u8> {
    // Which parameter each register is a copy of, and which axes it depends on: a few rounds reach through loops.
    let mut copies: BTreeMap<Reg, Reg> = kernel.params.iter().filter_map(|param| param.reg).map(|r| (r, r)).collect();
    let mut depends: BTreeMap<Reg, u8> = BTreeMap::new();
    let mut roles = BTreeMap::new();
    for _ in 0..3 {
        for inst in insts(kernel) {
            let axes = inst.args.iter().fold(0, |axes, arg| axes | axes_of(arg, &depends));
            match (inst.opcode.op, inst.args.first().and_then(Operand::as_reg), inst.dst()) {
                (Op::Mov, Some(source), Some(dst)) if copies.contains_key(&source) => {
                    copies.insert(dst, copies[&source]);
                }
                (Op::Setp, ..) => {
                    for (own, other) in [(0, 1), (1, 0)] {
                        let (Some(own), Some(other)) = (inst.args.get(own), inst.args.get(other)) else { continue };
                        if let Some(param) = own.as_reg().and_then(|reg| copies.get(&reg)) {
                            *roles.entry(*param).or_default() |= axes_of(other, &depends);
                        }
                    }
                }
                // What is loaded depends on the data, not on the place.
                (Op::Ld | Op::Atom | Op::Call | Op::Tex2d, ..) => {}
                (_, _, Some(_)) if axes != 0 => {
                    inst.dsts.iter().for_each(|&dst| *depends.entry(dst).or_default() |= axes);
                }
                _ => {}
            }
        }
    }
    roles
}

fn axes_of(operand: &Operand, depends: &BTreeMap<Reg, u8>) -> u8 {
    match operand {
        Operand::Special(Special::Tid(axis) | Special::Ctaid(axis)) => 1 << axis.index(),
        Operand::Reg(reg) => depends.get(reg).copied().unwrap_or(0),
        _ => 0,
    }
}

/// The number that each parameter gets if it is an integer.
fn numbers(kernel: &Function, roles: &BTreeMap<Reg, u8>, grid: [u32; 3], block: [u32; 3]) -> Vec<i64> {
    let threads = |axis: Axis| i64::from(grid[axis.index()]) * i64::from(block[axis.index()]);
    let number = |role: u8| {
        let axes = [Axis::X, Axis::Y, Axis::Z].into_iter().filter(|axis| role & 1 << axis.index() != 0);
        axes.map(threads).product::<i64>()
    };
    kernel
        .params
        .iter()
        .map(|param| match param.reg.and_then(|reg| roles.get(&reg)) {
            Some(&role) if role != 0 => number(role),
            _ => NUMBER,
        })
        .collect()
}

/// Does the kernel reach outside a shared array of fixed size, as far as is known?
fn overflows(kernel: &Function, reaches: &Reaches) -> bool {
    reaches.arrays.iter().any(|(&array, reach)| {
        let data = &kernel.arrays[array];
        let size = data.len.map(|len| u64::from(len) * u64::from(data.ty.bytes()));
        data.space == Space::Shared && size.zip(reach.end).is_some_and(|(size, end)| end > size)
    })
}

/// Bytes for shared arrays that the launch sizes.
fn dynamic_shared(kernel: &Function, reaches: &Reaches) -> Option<u32> {
    let mut arrays = kernel.arrays.iter().filter(|(_, data)| data.len.is_none()).map(|(array, _)| array).peekable();
    arrays.peek()?;
    let bytes = arrays.map(|array| reaches.arrays.get(&array).and_then(|reach| reach.end).unwrap_or(SHARED)).max();
    Some(bytes.unwrap_or(0).next_multiple_of(16).min(SHARED) as u32)
}

fn fill(kernel: &Function, index: usize, trial: &Trial, reach: Option<&Reach>) -> Fill {
    match kernel.params[index].ty {
        ParamType::Texture => texture(),
        _ if reach.is_some_and(|reach| reach.is_texture) => texture(),
        ParamType::Array(ty, len) => Fill::Numbers(array_numbers(kernel, index, ty, len)),
        ParamType::Scalar(ty) if ty.is_float() => Fill::Number(Number::Float(2.0)),
        // A 64-bit number that no access goes through is a number.
        ParamType::Scalar(ty) if ty.bits() < 64 || !is_pointer(kernel, index, reach) => {
            let number = trial.numbers[index] as u64;
            Fill::Number(Number::Int(i128::from(number.min(ty.mask() >> u32::from(ty.is_signed())))))
        }
        ParamType::Scalar(_) | ParamType::Pointer { .. } => buffer(kernel, reach),
    }
}

/// Does an access go through a 64-bit parameter? Where the analysis did not get that far, its uses tell.
fn is_pointer(kernel: &Function, index: usize, reach: Option<&Reach>) -> bool {
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

/// The largest number in a derived integer buffer of that type; the smallest is 0.
fn largest_element(ty: Type) -> i64 {
    let most = ty.mask() >> u32::from(ty.is_signed());
    ELEMENT.min(i64::try_from(most).unwrap_or(ELEMENT))
}

fn texture() -> Fill {
    let source = ValueSource::Random(Number::Float(0.0), Number::Float(1.0));
    Fill::Texture { width: 64, height: 64, values: Values { source, zero: None, coherence: None } }
}

fn buffer(kernel: &Function, reach: Option<&Reach>) -> Fill {
    let types = reach.map_or(&[][..], |reach| &reach.types);
    let ty = element_type(kernel, types);
    let bytes = reach.and_then(|reach| reach.end).unwrap_or(UNBOUNDED).max(1);
    let len = bytes.div_ceil(u64::from(ty.bytes())) as u32;
    let zero = if ty.is_float() { Number::Float(0.0) } else { Number::Int(0) };
    let source = match ty {
        _ if reach.is_some_and(|reach| !reach.is_read) => ValueSource::Const(zero),
        _ if ty.is_float() => ValueSource::Random(Number::Float(-1.0), Number::Float(1.0)),
        _ => ValueSource::Random(Number::Int(0), Number::Int(i128::from(largest_element(ty)))),
    };
    Fill::Buffer { ty, len, values: Values { source, zero: None, coherence: None } }
}

/// The type that says most: a float or an integer rather than bits, the first of them. Bits alone are floats where
/// the kernel has float arithmetic of their width, else unsigned.
fn element_type(kernel: &Function, types: &[Type]) -> Type {
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

/// The elements of an array by value: a structure, seen through the loads of its fields. Floats are 1, integers
/// [`NUMBER`].
fn array_numbers(kernel: &Function, index: usize, ty: Type, len: u32) -> Vec<Number> {
    let size = (u64::from(len) * u64::from(ty.bytes())) as usize;
    let mut bytes = vec![0u8; size];
    let own = AddressBase::Symbol(Symbol::Param(index as u32));
    for inst in insts(kernel).filter(|inst| inst.opcode.op == Op::Ld) {
        let Some(Address { base, terms, offset }) = inst.address() else { continue };
        if *base != own || !terms.is_empty() {
            continue;
        }
        let field = inst.opcode.ty;
        let value = match field {
            Type::F32 => u64::from(1f32.to_bits()),
            Type::F64 => 1f64.to_bits(),
            Type::F16 => 0x3c00,
            _ => NUMBER as u64,
        };
        let width = field.bytes() as usize;
        for part in 0..usize::from(inst.opcode.vector) {
            let at = usize::try_from(*offset).unwrap_or(size).saturating_add(part * width);
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
