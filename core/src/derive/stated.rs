//! Limits of a derived launch: the parts of a launch that somebody wrote, and the sizes and numbers of settings.

use crate::ir::{Fill, Function, Launch, Number, ParamType};
use crate::sim::{Knob, Settings};
use alloc::vec::Vec;

/// Sizes and numbers that are not free.
#[derive(Default)]
pub(super) struct Stated {
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    /// Integer of each parameter. Parameters beyond the end are free.
    numbers: Vec<Option<i64>>,
}

impl Stated {
    /// Parts that settings ask for.
    pub fn by_settings(kernel: &Function, settings: &Settings) -> Stated {
        let number = |name: &str| {
            settings.knobs.iter().rev().find_map(|(knob, value)| match value {
                Knob::Value(number) if knob == name => integer(*number),
                _ => None,
            })
        };
        let of_param = |param: &crate::ir::ParamData| match param.ty {
            ParamType::Scalar(ty) if !ty.is_float() => number(&param.name),
            _ => None,
        };
        let numbers = kernel.params.iter().map(of_param).collect();
        Stated { grid: settings.grid, block: settings.block, numbers }
    }

    /// Parts that settings ask for, and parts of a launch that are not derived.
    pub fn by_launch(kernel: &Function, launch: &Launch, settings: &Settings) -> Stated {
        let mut stated = Stated::by_settings(kernel, settings);
        if !launch.is_derived {
            stated.grid = stated.grid.or(Some(launch.grid));
            stated.block = stated.block.or(Some(launch.block));
        }
        for (index, number) in stated.numbers.iter_mut().enumerate() {
            let binding = launch.binding(index, &kernel.params[index].name).filter(|binding| !binding.is_derived);
            if let (None, Some(Fill::Number(written))) = (*number, binding.map(|binding| &binding.fill)) {
                *number = integer(*written);
            }
        }
        stated
    }

    /// Whether a size or number is another one than in the launch.
    pub fn differs_from(&self, kernel: &Function, launch: &Launch) -> bool {
        let differs = |(index, number): (usize, &Option<i64>)| match (
            number,
            launch.binding(index, &kernel.params[index].name).map(|binding| &binding.fill),
        ) {
            (Some(number), Some(Fill::Number(written))) => integer(*written) != Some(*number),
            _ => false,
        };
        self.grid.is_some_and(|grid| grid != launch.grid)
            || self.block.is_some_and(|block| block != launch.block)
            || self.numbers.iter().enumerate().any(differs)
    }

    /// Whether neither grid nor block is fixed.
    pub fn leaves_shape(&self) -> bool {
        self.grid.is_none() && self.block.is_none()
    }

    /// Whether the integer of a parameter is fixed.
    pub fn has_number(&self, index: usize) -> bool {
        self.numbers.get(index).is_some_and(Option::is_some)
    }

    /// The numbers, those that are stated replaced.
    pub fn numbers(&self, mut numbers: Vec<i64>) -> Vec<i64> {
        for (number, stated) in numbers.iter_mut().zip(&self.numbers) {
            *number = stated.unwrap_or(*number);
        }
        numbers
    }
}

fn integer(number: Number) -> Option<i64> {
    match number {
        Number::Int(number) => i64::try_from(number).ok(),
        _ => None,
    }
}
