//! Grids and blocks that a kernel may want: as many axes as it asks for, the usual sizes first.

use super::insts;
use super::stated::Stated;
use crate::ir::{FuncKind, Function, InstData, Module, Operand, Special};
use alloc::vec::Vec;

/// Grids for kernels that ask for the place of their block along one, two and three axes.
const GRIDS: [[u32; 3]; 3] = [[4, 1, 1], [2, 2, 1], [2, 2, 2]];
/// Blocks for kernels that ask for the place of a thread along one axis, the usual one first.
const LINES: [[u32; 3]; 9] =
    [[64, 1, 1], [32, 1, 1], [16, 1, 1], [8, 1, 1], [128, 1, 1], [192, 1, 1], [256, 1, 1], [512, 1, 1], [1, 1, 1]];
/// Blocks of two axes to try.
const PLANES: [[u32; 3]; 13] = [
    [16, 16, 1],
    [32, 8, 1],
    [16, 8, 1],
    [8, 8, 1],
    [8, 4, 1],
    [4, 4, 1],
    [32, 32, 1],
    [64, 4, 1],
    [32, 4, 1],
    [64, 3, 1],
    [32, 2, 1],
    [32, 1, 1],
    [1, 1, 1],
];
/// Blocks of three axes to try.
const BOXES: [[u32; 3]; 6] = [[8, 4, 4], [4, 4, 4], [4, 2, 2], [8, 8, 8], [2, 2, 2], [1, 1, 1]];

/// Grids and blocks to try.
pub(super) fn shapes(module: &Module, kernel: &Function, stated: &Stated) -> Vec<([u32; 3], [u32; 3])> {
    let of_block = |arg: &Operand| match arg {
        Operand::Special(Special::Ctaid(axis)) => Some(axis.index()),
        _ => None,
    };
    let of_thread = |arg: &Operand| match arg {
        Operand::Special(Special::Tid(axis)) => Some(axis.index()),
        _ => None,
    };
    // Blocks that do not know which they are would all do the same, in each other's way.
    let grid = stated.grid.unwrap_or(furthest_axis(module, kernel, of_block).map_or([1; 3], |axis| GRIDS[axis]));
    let blocks: &[[u32; 3]] = match (stated.block, furthest_axis(module, kernel, of_thread)) {
        (Some(ref block), _) => return Vec::from([(grid, *block)]),
        (None, None | Some(0)) => &LINES,
        (None, Some(1)) => &PLANES,
        (None, Some(_)) => &BOXES,
    };
    blocks.iter().map(|&block| (grid, block)).collect()
}

/// The last axis along which the kernel, or any function that it might call, asks for a place.
fn furthest_axis(module: &Module, kernel: &Function, axis_of: impl Fn(&Operand) -> Option<usize>) -> Option<usize> {
    let callable = module.funcs.values().filter(|func| func.kind == FuncKind::Func);
    let args = callable.chain([kernel]).flat_map(insts).flat_map(|inst: &InstData| &inst.args);
    args.filter_map(axis_of).max()
}
