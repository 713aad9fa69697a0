//! From an opcode to its function.

use super::float::round_code;
use super::plane::LaneOp;
use super::{convert, float, integer, predicate};
use crate::ir::{Op, Opcode, Type};

pub use super::convert::{copy, extend, flush, narrow, pack, saturate, unpack};

/// One function over vectors of lanes.
macro_rules! op1 {
    ($a:ty => $r:ty, $op:expr) => {{
        fn run(file: &mut $crate::lanes::LaneFile, slots: &$crate::lanes::Slots, warps: &[$crate::lanes::Active]) {
            map1::<$a, $r>(file, slots, warps, $op);
        }
        run as $crate::lanes::LaneOp
    }};
}

macro_rules! op2 {
    ($a:ty, $b:ty => $r:ty, $op:expr) => {{
        fn run(file: &mut $crate::lanes::LaneFile, slots: &$crate::lanes::Slots, warps: &[$crate::lanes::Active]) {
            map2::<$a, $b, $r>(file, slots, warps, $op);
        }
        run as $crate::lanes::LaneOp
    }};
}

macro_rules! op3 {
    ($a:ty, $b:ty, $c:ty => $r:ty, $op:expr) => {{
        fn run(file: &mut $crate::lanes::LaneFile, slots: &$crate::lanes::Slots, warps: &[$crate::lanes::Active]) {
            map3::<$a, $b, $c, $r>(file, slots, warps, $op);
        }
        run as $crate::lanes::LaneOp
    }};
}

/// Selects lane by lane.
macro_rules! slow1 {
    ($a:ty => $r:ty, $op:expr) => {{
        fn run(file: &mut $crate::lanes::LaneFile, slots: &$crate::lanes::Slots, warps: &[$crate::lanes::Active]) {
            each1::<$a, $r>(file, slots, warps, $op);
        }
        run as $crate::lanes::LaneOp
    }};
}

macro_rules! slow2 {
    ($a:ty, $b:ty => $r:ty, $op:expr) => {{
        fn run(file: &mut $crate::lanes::LaneFile, slots: &$crate::lanes::Slots, warps: &[$crate::lanes::Active]) {
            each2::<$a, $b, $r>(file, slots, warps, $op);
        }
        run as $crate::lanes::LaneOp
    }};
}

macro_rules! slow3 {
    ($a:ty, $b:ty, $c:ty => $r:ty, $op:expr) => {{
        fn run(file: &mut $crate::lanes::LaneFile, slots: &$crate::lanes::Slots, warps: &[$crate::lanes::Active]) {
            each3::<$a, $b, $c, $r>(file, slots, warps, $op);
        }
        run as $crate::lanes::LaneOp
    }};
}

pub(super) use {op1, op2, op3, slow1, slow2, slow3};

/// The function of an opcode that computes in each lane by itself, and the modifier that it wants in its slots.
/// Operands of another width, `.ftz`, a float's `.sat`, packing, and `setp`'s third operand and second destination
/// are left to further steps. `None` for opcodes that are no such computation.
pub fn select(opcode: Opcode) -> Option<(LaneOp, u32)> {
    if opcode.op == Op::Isspacep {
        return predicate::select_isspacep(opcode).map(|op| (op, 0));
    }
    if opcode.ty == Type::Pred {
        return predicate::select_logic(opcode).map(|op| (op, 0));
    }
    let op = match opcode.op {
        Op::Mov | Op::Cvta => copy(opcode.ty.bits()),
        Op::Cvt => return Some((convert::select_cvt(opcode), convert::cvt_code(opcode))),
        Op::Setp => return predicate::select_setp(opcode),
        Op::Selp => predicate::select_selp(opcode),
        _ if opcode.ty.is_float() => float::select_float(opcode)?,
        _ => integer::select_integer(opcode)?,
    };
    Some((op, round_code(opcode.rounding)))
}
