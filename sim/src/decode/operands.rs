//! A function's frame: which register has which place.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Initial, SINK, UNUSED, Value, is_wide};
use crate::ir::{Func, Function, Reg, Special, Type};

/// Places of one function's registers, counted from the frame's start. Places are given out when first asked for, so
/// registers that no instruction names take none; parameters come first, so that callers know their places.
pub(super) struct Frame<'a> {
    pub(super) func: Func,
    body: &'a Function,
    values: BTreeMap<Reg, (Value, u32)>,
    initial: Vec<(Initial, u32)>,
    scratch: [Option<u32>; 4],
    scratch_predicate: Option<u32>,
    planes: u32,
    predicates: u32,
    clocks: u32,
}

impl<'a> Frame<'a> {
    /// An empty frame.
    pub(super) fn new(func: Func, body: &'a Function) -> Frame<'a> {
        Frame {
            func,
            body,
            values: BTreeMap::new(),
            initial: Vec::new(),
            scratch: [None; 4],
            scratch_predicate: None,
            planes: 0,
            predicates: SINK + 1,
            clocks: UNUSED + 1,
        }
    }

    /// Places of the parameters, in order; none for an array by value, which only a kernel may have.
    pub(super) fn params(&mut self, is_kernel: bool) -> Option<Vec<Option<Value>>> {
        let body = self.body;
        body.params
            .iter()
            .map(|param| match param.reg {
                Some(reg) => Some(Some(self.reg(reg))),
                None => is_kernel.then_some(None),
            })
            .collect()
    }

    /// A register's place.
    pub(super) fn reg(&mut self, reg: Reg) -> Value {
        self.entry(reg).0
    }

    /// A register's clock.
    pub(super) fn clock(&mut self, reg: Reg) -> u32 {
        self.entry(reg).1
    }

    fn entry(&mut self, reg: Reg) -> (Value, u32) {
        if let Some(&known) = self.values.get(&reg) {
            return known;
        }
        let ty = self.body.reg_types[reg];
        let value = if ty == Type::Pred {
            self.predicates += 1;
            Value::Predicate(self.predicates - 1, 0)
        } else if is_wide(ty) {
            Value::Wide(self.plane(true))
        } else {
            Value::Word(self.plane(false))
        };
        self.clocks += 1;
        let entry = (value, self.clocks - 1);
        self.values.insert(reg, entry);
        entry
    }

    fn plane(&mut self, wide: bool) -> u32 {
        let slot = self.planes;
        self.planes += if wide { 2 } else { 1 };
        slot
    }

    fn initial_plane(&mut self, initial: Initial, wide: bool) -> u32 {
        if let Some(&(_, slot)) = self.initial.iter().find(|(known, _)| *known == initial) {
            return slot;
        }
        let slot = self.plane(wide);
        self.initial.push((initial, slot));
        slot
    }

    /// A plane that holds a special register.
    pub(super) fn special(&mut self, special: Special) -> u32 {
        self.initial_plane(Initial::Special(special), false)
    }

    /// A plane that holds the address of a local array.
    pub(super) fn local(&mut self, offset: u32, wide: bool) -> u32 {
        self.initial_plane(Initial::Local { offset, wide }, wide)
    }

    /// One of four planes for values on the way, of either width.
    pub(super) fn scratch(&mut self, index: usize) -> u32 {
        match self.scratch[index] {
            Some(slot) => slot,
            None => {
                let slot = self.plane(true);
                self.scratch[index] = Some(slot);
                slot
            }
        }
    }

    /// A predicate on the way.
    pub(super) fn scratch_predicate(&mut self) -> u32 {
        let predicates = &mut self.predicates;
        *self.scratch_predicate.get_or_insert_with(|| {
            *predicates += 1;
            *predicates - 1
        })
    }

    /// Planes of the frame.
    pub(super) fn plane_count(&self) -> u32 {
        self.planes
    }

    /// Predicates of the frame.
    pub(super) fn predicate_count(&self) -> u32 {
        self.predicates
    }

    /// Clocks of the frame.
    pub(super) fn clock_count(&self) -> u32 {
        self.clocks
    }

    /// Planes to fill when a frame is made.
    pub(super) fn initial(&self) -> &[(Initial, u32)] {
        &self.initial
    }
}
