//! Grids and blocks that a kernel may want: as many axes as it asks for, the usual sizes first.

use super::insts;
use super::stated::Stated;
use crate::ir::{FuncKind, Function, InstData, Module, Operand, Special};
use crate::sim::parse_dim;
use alloc::vec::Vec;

/// Grids for kernels that ask for the place of their block along one, two and three axes.
const GRIDS: [[u32; 3]; 3] = [[4, 1, 1], [2, 2, 1], [2, 2, 2]];
/// Blocks for kernels that ask for the place of a thread along one axis, the usual one first.
const LINES: [[u32; 3]; 10] = [
    [64, 1, 1],
    [32, 1, 1],
    [16, 1, 1],
    [8, 1, 1],
    [128, 1, 1],
    [192, 1, 1],
    [256, 1, 1],
    [512, 1, 1],
    [1024, 1, 1],
    [1, 1, 1],
];
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
    let bounds = bounds(kernel);
    if let Some(block) = bounds.required {
        return Vec::from([(grid, block)]);
    }
    let most = bounds.most.unwrap_or(u32::MAX);
    let threads = |block: &[u32; 3]| block.iter().product::<u32>();
    let mut shapes: Vec<_> = blocks.iter().filter(|block| threads(block) <= most).map(|&block| (grid, block)).collect();
    // Kernels with a bound are often written for as many threads.
    if let Some(most) = bounds.most.filter(|&most| most <= MOST_THREADS && blocks[0][1] == 1) {
        shapes.retain(|&(_, block)| block != [most, 1, 1]);
        shapes.insert(shapes.len().min(1), (grid, [most, 1, 1]));
    }
    shapes
}

/// Launch bounds that PTX declares.
#[derive(Default)]
struct Bounds {
    /// The only block that the kernel may have (`.reqntid`).
    required: Option<[u32; 3]>,
    /// Threads of a block, at most (`.maxntid`).
    most: Option<u32>,
}

/// Threads of the largest block of every machine.
const MOST_THREADS: u32 = 1024;

fn bounds(kernel: &Function) -> Bounds {
    let Some(declaration) = &kernel.declaration else { return Bounds::default() };
    let sizes = |directive: &str| {
        let line = declaration.after.lines().find_map(|line| line.trim().strip_prefix(directive))?;
        let size = parse_dim(line.trim().trim_end_matches(';'))?;
        (size.iter().try_fold(1u32, |product, &size| product.checked_mul(size))? <= MOST_THREADS).then_some(size)
    };
    Bounds { required: sizes(".reqntid"), most: sizes(".maxntid").map(|size| size.iter().product()) }
}

/// The last axis along which the kernel, or any function that it might call, asks for a place.
fn furthest_axis(module: &Module, kernel: &Function, axis_of: impl Fn(&Operand) -> Option<usize>) -> Option<usize> {
    let callable = module.funcs.values().filter(|func| func.kind == FuncKind::Func);
    let args = callable.chain([kernel]).flat_map(insts).flat_map(|inst: &InstData| &inst.args);
    args.filter_map(axis_of).max()
}
