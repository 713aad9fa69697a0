//! Numbers for the integer parameters of a kernel: those that bound threads are as many as there are threads.

use super::insts;
use crate::ir::{Axis, Function, Op, Operand, Reg, Special};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// An integer that bounds no threads, usually.
pub(super) const NUMBER: i64 = 16;

/// The axes whose threads a parameter bounds, as bits 1, 2 and 4: those that the other side of a comparison with it
/// depends on. Parameters that are compared with each other bound the same threads.
pub(super) fn roles(kernel: &Function) -> BTreeMap<Reg, u8> {
    // Which parameter each register is a copy of, and which axes it depends on: a few rounds reach through loops.
    let mut copies: BTreeMap<Reg, Reg> = kernel.params.iter().filter_map(|param| param.reg).map(|r| (r, r)).collect();
    let mut depends: BTreeMap<Reg, u8> = BTreeMap::new();
    let mut roles: BTreeMap<Reg, u8> = BTreeMap::new();
    // Parameters that are compared with each other.
    let mut meets: Vec<(Reg, Reg)> = Vec::new();
    for _ in 0..3 {
        for inst in insts(kernel) {
            let axes = inst.args.iter().fold(0, |axes, arg| axes | axes_of(arg, &depends));
            match (inst.opcode.op, inst.args.first().and_then(Operand::as_reg), inst.dst()) {
                (Op::Mov | Op::Cvt, Some(source), Some(dst)) if copies.contains_key(&source) => {
                    copies.insert(dst, copies[&source]);
                }
                (Op::Setp, ..) => {
                    let param =
                        |index: usize| inst.args.get(index).and_then(Operand::as_reg).and_then(|reg| copies.get(&reg));
                    if let (Some(&left), Some(&right)) = (param(0), param(1)) {
                        meets.push((left, right));
                    }
                    for (own, other) in [(0, 1), (1, 0)] {
                        let (Some(own), Some(other)) = (inst.args.get(own), inst.args.get(other)) else { continue };
                        if let Some(param) = own.as_reg().and_then(|reg| copies.get(&reg)) {
                            *roles.entry(*param).or_default() |= axes_of(other, &depends);
                        }
                    }
                }
                // What is loaded depends on the data, not on the place.
                (Op::Ld | Op::Atom | Op::Call | Op::Tex1d | Op::Tex2d, ..) => {}
                (_, _, Some(_)) if axes != 0 => {
                    inst.dsts.iter().for_each(|&dst| *depends.entry(dst).or_default() |= axes);
                }
                _ => {}
            }
        }
    }
    // Chains of comparisons are short.
    for &(left, right) in meets.iter().chain(meets.iter().rev()) {
        let both = [left, right].iter().fold(0, |axes, param| axes | roles.get(param).copied().unwrap_or(0));
        if both != 0 {
            roles.insert(left, both);
            roles.insert(right, both);
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

/// The number that each parameter gets if it is an integer; `free` where it bounds no threads.
pub(super) fn numbers(
    kernel: &Function,
    roles: &BTreeMap<Reg, u8>,
    grid: [u32; 3],
    block: [u32; 3],
    free: i64,
) -> Vec<i64> {
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
            _ => free,
        })
        .collect()
}
