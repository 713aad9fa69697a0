//! A launch for a kernel that has none, made from its parameters, so that whatever is pasted runs at once.
//!
//! ```text
//! kernel k(n: u32, a: f32, x: ptr.global)      grid 4, block 64
//! … = ld.global.f32 x[i]                 →     n = 256, a = 2, x = buffer f32[4096] random(-1, 1)
//! ```
//!
//! A pointer's element type is that of the first access through it, followed through copies and sums. Integers get a
//! number that suits a count of elements; a kernel that reads `%tid.y` gets square blocks and, for its integers, the
//! side of the grid. It is a guess: the result is shown and editable.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::ir::{
    AddressBase, Axis, Binding, Fill, FillKey, Function, Launch, Number, Op, Operand, ParamType, Reg, Space, Span,
    Special, Type, ValueSource, Values,
};

/// Elements of a derived buffer.
const ELEMENTS: u32 = 4096;

/// A launch that binds every parameter and input.
pub fn derive_launch(kernel: &Function) -> Launch {
    let mut launch = Launch::new(kernel.name.clone());
    if is_planar(kernel) {
        (launch.grid, launch.block) = ([2, 2, 1], [16, 16, 1]);
    } else {
        (launch.grid, launch.block) = ([4, 1, 1], [64, 1, 1]);
    }
    if kernel.arrays.values().any(|array| array.space == Space::Shared && array.len.is_none()) {
        launch.shared = Some(16 << 10);
    }
    let mut bind = |key, fill| launch.bindings.push(Binding { key, fill, span: Span::default() });
    for (index, param) in kernel.params.iter().enumerate() {
        let ugly = param.name.contains("_param_");
        let key = if ugly { FillKey::Index(index as u32) } else { FillKey::Name(param.name.to_string()) };
        bind(key, derive_fill(kernel, index));
    }
    for input in kernel.inputs.values() {
        bind(FillKey::Name(input.name.clone()), Fill::Draws(derive_draws(input.ty)));
    }
    launch
}

/// What a parameter gets that nothing is said about.
pub(super) fn derive_fill(kernel: &Function, index: usize) -> Fill {
    let param = &kernel.params[index];
    let integer = if is_planar(kernel) { 32 } else { 256 };
    let number = |ty: Type| if ty.is_float() { Number::Float(2.0) } else { Number::Int(integer) };
    match param.ty {
        ParamType::Scalar(ty) => {
            let accessed = param.reg.filter(|_| ty.bits() == 64).and_then(|reg| accessed_type(kernel, reg));
            match accessed {
                Some(Accessed::Memory(element)) => buffer(element),
                Some(Accessed::Texture) => texture(),
                None => Fill::Number(number(ty)),
            }
        }
        ParamType::Array(ty, len) => Fill::Numbers((0..len.min(64)).map(|_| number(ty)).collect()),
        ParamType::Pointer { .. } => {
            let accessed = param.reg.and_then(|reg| accessed_type(kernel, reg));
            buffer(if let Some(Accessed::Memory(element)) = accessed { element } else { Type::F32 })
        }
        ParamType::Texture => texture(),
    }
}

/// What an input draws that nothing is said about.
pub(super) fn derive_draws(ty: Type) -> Values {
    let source = match ty {
        Type::Pred => ValueSource::True(0.5),
        _ if ty.is_float() => ValueSource::Random(Number::Float(0.0), Number::Float(1.0)),
        _ => ValueSource::Random(Number::Int(0), Number::Int(15)),
    };
    Values { source, zero: None, coherence: None }
}

fn buffer(ty: Type) -> Fill {
    let source = if ty.is_float() {
        ValueSource::Random(Number::Float(-1.0), Number::Float(1.0))
    } else {
        ValueSource::Random(Number::Int(0), Number::Int(255.min(i128::from(ty.mask() >> 1))))
    };
    Fill::Buffer { ty, len: ELEMENTS, values: Values { source, zero: None, coherence: None } }
}

fn texture() -> Fill {
    let source = ValueSource::Random(Number::Float(0.0), Number::Float(1.0));
    Fill::Texture { width: 64, height: 64, values: Values { source, zero: None, coherence: None } }
}

/// Does the kernel ask where it is along y?
fn is_planar(kernel: &Function) -> bool {
    kernel.block_order().flat_map(|block| kernel.block_insts(block)).any(|inst| {
        kernel.insts[inst]
            .args
            .iter()
            .any(|arg| matches!(arg, Operand::Special(Special::Tid(Axis::Y) | Special::Ctaid(Axis::Y))))
    })
}

enum Accessed {
    Memory(Type),
    Texture,
}

/// The type of the first access through a pointer, in text order, followed through copies, sums and differences.
fn accessed_type(kernel: &Function, pointer: Reg) -> Option<Accessed> {
    let mut derived: BTreeSet<Reg> = BTreeSet::from([pointer]);
    // Twice, so that what a loop carries back is followed once around.
    for _ in 0..2 {
        for inst in kernel.block_order().flat_map(|block| kernel.block_insts(block)) {
            let data = &kernel.insts[inst];
            let reads = |operand: &Operand| operand.as_reg().is_some_and(|reg| derived.contains(&reg));
            match data.opcode.op {
                Op::Ld | Op::St | Op::Atom | Op::Red => {
                    let base = data.address().map(|address| address.base);
                    if let Some(AddressBase::Reg(reg)) = base
                        && derived.contains(&reg)
                    {
                        return Some(Accessed::Memory(element_type(kernel, data)));
                    }
                }
                Op::Tex2d if data.args.first().is_some_and(reads) => return Some(Accessed::Texture),
                Op::Mov | Op::Cvta | Op::Add | Op::Sub | Op::MadWide | Op::Mad | Op::Selp
                    if data.args.iter().any(reads) =>
                {
                    derived.extend(data.dsts.iter().copied());
                }
                _ => {}
            }
        }
    }
    None
}

/// The access's type; where it is mere bits, that of a float if a float operation reads or wrote the value.
fn element_type(kernel: &Function, access: &crate::ir::InstData) -> Type {
    let ty = access.opcode.ty;
    if ty.is_float() || ty.is_integer() {
        return ty;
    }
    let mut values: Vec<Reg> = access.dsts.to_vec();
    access.args.iter().skip(1).for_each(|arg| arg.for_each_reg(&mut |reg| values.push(reg)));
    let typed = kernel.block_order().flat_map(|block| kernel.block_insts(block)).find_map(|inst| {
        let data = &kernel.insts[inst];
        let fits = data.opcode.op.is_pure() && data.opcode.ty.bits() == ty.bits() && data.opcode.op != Op::Mov;
        let touches = data.dsts.iter().any(|reg| values.contains(reg))
            || data.args.iter().any(|arg| arg.as_reg().is_some_and(|reg| values.contains(&reg)));
        (fits && touches && (data.opcode.ty.is_float() || data.opcode.ty.is_integer())).then_some(data.opcode.ty)
    });
    typed.or_else(|| Type::U32.with_bits(ty.bits())).unwrap_or(Type::U32)
}
