//! Changes to a guess that failed, or left blocks unreached: only to what the failure depends on.
//!
//! ```text
//! x[j + 1] is out of bounds, j = ld idx[i]      →  smaller elements of idx
//! the loop until i = n·m runs out of fuel       →  smaller n, smaller m
//! block L is not reached, br (mode == 3), L, …  →  mode = 3
//! ```

use super::causes::{Cause, Causes};
use super::stated::Stated;
use super::trial::{LEFT_OVER, Trial};
use crate::compact_sort::CompactSort;
use crate::ir::{Function, Reg};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Causes that are changed, nearest first.
const CAUSES: usize = 8;
/// Largest integer that is tried because something is compared with it.
const LARGEST: i64 = 1 << 16;
/// Integers for parameters that lead astray.
const NUMBERS: [i64; 9] = [1, 4, 0, 64, 256, 2, 1024, 8, 32];
/// Integers for parameters that make a kernel run long.
const SHORT: [i64; 6] = [8, 4, 2, 1, 0, 64];
/// Ranges of elements.
const ELEMENTS: [(i64, i64); 7] = [(0, 15), (0, 3), (0, 1), (0, 0), (1, 16), (1, 1), (0, 1023)];
/// Floats for parameters.
const FLOATS: [f64; 5] = [1.0, 0.5, 0.0, 16.0, -1.0];
/// Shapes that make less work.
const SMALL: [([u32; 3], [u32; 3]); 3] = [([1; 3], [32, 1, 1]), ([1; 3], [8, 1, 1]), ([1; 3], [1; 3])];

/// Purpose of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aim {
    /// An access or a trap is to be avoided.
    Run,
    /// A subscript below 0 is to be avoided.
    Raise,
    /// Fewer instructions.
    Shorten,
    /// A branch is to go the other way.
    Reach,
}

/// Guesses that differ from `trial` in one cause, the likeliest first: the first change of each cause, then the second.
pub(super) fn changes(trial: &Trial, causes: &Causes, aim: Aim, stated: &Stated, shapes: &Shapes) -> Vec<Trial> {
    let of_cause = |cause: &Cause| of_cause(trial, cause, causes, aim, stated, shapes);
    let mut lists: Vec<_> = causes.list.iter().take(CAUSES).map(|cause| of_cause(cause).into_iter()).collect();
    let mut all: Vec<Trial> = Vec::new();
    loop {
        let round: Vec<Trial> = lists.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            return all;
        }
        for changed in round {
            if changed != *trial && !all.contains(&changed) {
                all.push(changed);
            }
        }
    }
}

fn of_cause(trial: &Trial, cause: &Cause, causes: &Causes, aim: Aim, stated: &Stated, shapes: &Shapes) -> Vec<Trial> {
    let changed = |change: &dyn Fn(&mut Trial)| {
        let mut changed = trial.clone();
        change(&mut changed);
        changed
    };
    match cause {
        Cause::Number(index) if stated.has_number(*index) => Vec::new(),
        Cause::Number(index) => {
            let list = numbers(trial, trial.numbers[*index], causes, aim).into_iter();
            list.map(|number| changed(&|trial| trial.numbers[*index] = number)).collect()
        }
        Cause::Field(index, at) => {
            let list = numbers(trial, trial.field(*index, *at), causes, aim).into_iter();
            let set = |trial: &mut Trial, number| _ = trial.fields.insert((*index, *at), number);
            list.map(|number| changed(&|trial| set(trial, number))).collect()
        }
        Cause::Float(index) => {
            FLOATS.iter().map(|&float| changed(&|trial| _ = trial.floats.insert(*index, float))).collect()
        }
        Cause::Elements(path) => {
            let set = |trial: &mut Trial, range| _ = trial.elements.insert(path.clone(), range);
            elements(causes, aim).into_iter().map(|range| changed(&|trial| set(trial, range))).collect()
        }
        Cause::Shape => {
            let small = if aim == Aim::Shorten && stated.leaves_shape() { &SMALL[..] } else { &[] };
            small.iter().chain(&shapes.list).map(|&(grid, block)| shapes.reshaped(trial, grid, block)).collect()
        }
    }
}

/// Shapes to try, and how numbers follow them.
pub(super) struct Shapes<'a> {
    pub kernel: &'a Function,
    pub roles: &'a BTreeMap<Reg, u8>,
    pub list: Vec<([u32; 3], [u32; 3])>,
}

impl Shapes<'_> {
    /// The guess with another shape; numbers that bound threads follow.
    fn reshaped(&self, trial: &Trial, grid: [u32; 3], block: [u32; 3]) -> Trial {
        let before = super::sizes::numbers(self.kernel, self.roles, trial.grid, trial.block, i64::MIN);
        let after = super::sizes::numbers(self.kernel, self.roles, grid, block, i64::MIN);
        let mut changed = Trial { grid, block, ..trial.clone() };
        for ((number, before), after) in changed.numbers.iter_mut().zip(before).zip(after) {
            if *number == before {
                *number = after;
            }
        }
        changed
    }
}

fn numbers(trial: &Trial, now: i64, causes: &Causes, aim: Aim) -> Vec<i64> {
    let compared = causes.constants.iter().flat_map(|&constant| [constant, constant + 1, constant - 1]);
    let compared = compared.filter(|number| (-1..=LARGEST).contains(number));
    let mut list: Vec<i64> = Vec::new();
    match aim {
        Aim::Shorten => list.extend(SHORT.iter().filter(|&&number| number < now)),
        Aim::Run | Aim::Raise => {
            let mut others: Vec<i64> = trial.numbers.clone();
            others.compact_sort();
            others.dedup();
            let first: &[i64] = if aim == Aim::Raise { &[256, 1024, 64] } else { &[1, 4] };
            list.extend(first.iter().copied().chain(others).chain(NUMBERS).chain(compared));
        }
        Aim::Reach => {
            // A few threads are left over where there are many.
            list.extend((now >= 64).then_some(now - LEFT_OVER));
            list.extend(compared.chain(NUMBERS));
        }
    }
    list
}

fn elements(causes: &Causes, aim: Aim) -> Vec<(i64, i64)> {
    let mut list: Vec<(i64, i64)> = Vec::new();
    if aim == Aim::Reach {
        let compared = causes.constants.iter().filter(|number| (-1..=LARGEST).contains(*number));
        list.extend(compared.map(|&number| ((number - 1).min(0), number + 1)));
    }
    list.extend((aim == Aim::Raise).then_some((1, 16)));
    list.extend(ELEMENTS);
    list
}
