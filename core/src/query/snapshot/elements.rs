//! Elements of a vector load, one by one.
//!
//! ```text
//! {a, b} = ld.v2 A[2*t]      an occurrence of A[2*t] with two elements, and of each element's form:
//!                            A[2*t], which `a` takes, and A[2*t + 1], which `b` takes
//! y = ld A[2*t + 1]          so this one is available, and its value is in `b`
//! ```
//!
//! An element is there, with the address that its part of the vector has, wherever the vector is; it goes and comes with it.
//! It is found by questions about availability, and says that its address is good. Nobody asks about it alone, and it makes
//! nothing down-safe: what is inserted because of it would come on top of the vector, which stays.
//!
//! A vector in turn is available where each of its elements is.

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::{OccurrenceData, Snapshot};
use crate::ir::Function;
use crate::query::forms::{Subject, element_offset};
use crate::query::items::{INSERTED, Occurrence};
use crate::symbolic::SymbolicAddress;

/// Vector that an element belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    /// The vector.
    pub whole: Occurrence,
    /// Which one.
    pub index: u8,
}

/// Vectors and their elements.
#[derive(Default)]
pub(super) struct Elements {
    of: HashMap<Occurrence, SmallVec<[Occurrence; 4]>>,
    elements: HashMap<Occurrence, Element>,
}

impl Snapshot<'_> {
    /// Are there loads of several elements?
    pub fn has_vectors(&self) -> bool {
        !self.elements.of.is_empty()
    }

    /// The elements of a vector, in order. None for what is no vector. Elements whose register another element overwrites are
    /// left out.
    pub fn elements(&self, occurrence: Occurrence) -> &[Occurrence] {
        self.elements.of.get(&occurrence).map_or(&[], |elements| elements)
    }

    /// Returns the vector of an element.
    pub fn as_element(&self, occurrence: Occurrence) -> Option<Element> {
        self.elements.elements.get(&occurrence).copied()
    }

    /// Adds the elements of a vector load at a place from an address. Does nothing for a load that is no vector.
    pub(super) fn add_elements(
        &mut self,
        func: &Function,
        whole: Occurrence,
        place: u32,
        address: Option<&SymbolicAddress>,
    ) {
        let &OccurrenceData { inst, block, form, family, guard, is_computed, is_marked, .. } = &self.occurrences[whole];
        let Subject::Load(kind, _) = &self.forms.expression(form).subject else { return };
        let opcode = kind.opcode;
        if opcode.vector == 1 {
            return;
        }
        for index in 0..opcode.vector {
            if inst.is_some_and(|inst| func.insts[inst].overwrites_dst(usize::from(index))) {
                continue;
            }
            let Some(form) = self.forms.element(form, index) else { continue };
            let address = address.cloned().map(|mut address| {
                address.offset.add_constant(element_offset(opcode, index));
                address
            });
            let address = self.number_of(address.as_ref());
            let data =
                OccurrenceData { inst, block, form, family, address, guard, is_computed, is_marked, is_element: true };
            let item = self.add(data, place);
            if let Some(element) = item.occurrence() {
                self.elements.of.entry(whole).or_default().push(element);
                self.elements.elements.insert(element, Element { whole, index });
            }
            self.add_item(block, family, item);
            if place == INSERTED {
                self.changes[self.forms.kind(form)].inserted += 1;
            }
        }
    }

    /// Applies a change of a vector to its elements.
    pub(super) fn with_elements(&mut self, whole: Occurrence, mut happens: impl FnMut(&mut Self, Occurrence)) {
        happens(self, whole);
        for index in 0..self.elements(whole).len() {
            let element = self.elements(whole)[index];
            happens(self, element);
        }
    }
}
