//! A guess at a launch: its sizes, and the numbers that its parameters and memory hold.

use super::ranges::PointerPath;
use crate::ir::Type;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Largest element of a buffer of integers, usually.
pub(super) const ELEMENT: i64 = 255;
/// Threads that are left over where a number is to be smaller than there are threads.
pub(super) const LEFT_OVER: i64 = 6;
/// The float of a parameter, usually.
const FLOAT: f64 = 2.0;

/// The sizes and numbers of a launch that is being tried.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Trial {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Integer of each parameter; of a structure by value, its integer fields.
    pub numbers: Vec<i64>,
    /// Integers at bytes of structures by value, where they are others.
    pub fields: BTreeMap<(usize, u32), i64>,
    /// Floats of parameters, where they are not the usual one.
    pub floats: BTreeMap<usize, f64>,
    /// Largest element of buffers of integers; the smallest is 0.
    pub element: i64,
    /// Smallest and largest element of buffers that have others.
    pub elements: BTreeMap<PointerPath, (i64, i64)>,
}

impl Trial {
    pub fn new(grid: [u32; 3], block: [u32; 3], numbers: Vec<i64>, element: i64) -> Trial {
        let (fields, floats, elements) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Trial { grid, block, numbers, fields, floats, element, elements }
    }

    /// Whether elements of a buffer are integers of a chosen range.
    pub fn has_small_elements(&self, path: &PointerPath) -> bool {
        self.element < ELEMENT || self.elements.contains_key(path)
    }

    /// Smallest and largest number in a buffer of integers of a type.
    pub fn element_range(&self, path: &PointerPath, ty: Type) -> (i64, i64) {
        let most = ty.mask() >> u32::from(ty.is_signed());
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let (low, high) = self.elements.get(path).copied().unwrap_or((0, self.element));
        (low.min(most), high.min(most))
    }

    /// Float of a parameter.
    pub fn float(&self, index: usize) -> f64 {
        self.floats.get(&index).copied().unwrap_or(FLOAT)
    }

    /// Integer at a byte of a structure by value.
    pub fn field(&self, index: usize, at: u32) -> i64 {
        self.fields.get(&(index, at)).copied().unwrap_or(self.numbers[index])
    }
}
