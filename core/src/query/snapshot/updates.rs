//! Changes to the snapshot while a pass rewrites the function, and the elements of vector loads.
//!
//! ```text
//! insert    an occurrence at the end of a block          {a, b} = ld.v2 A[2*t]    an occurrence of A[2*t], and one of
//! replace   its value is read from a temporary now                                each element: A[2*t] is in `a`,
//! withdraw  an insertion that is not made after all                               A[2*t + 1] in `b`
//! ```
//!
//! Every change is counted for its kind of forms, so that an answer knows whether it still holds.
//!
//! An element is an occurrence with the vector's place, guard and life, and the address of its
//! part. Questions about availability find it, and it proves that its address is good. No question
//! is raised about an element alone, and none is down-safe because of one: an insertion for it
//! would be made besides the vector, which stays. A vector in turn is available where each of its
//! elements is.
//!
//! Cost: O(elements) for each change.

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::accesses::Address;
use super::{INSERTED, Item, ItemKind, Occurrence, OccurrenceData, Snapshot};
use crate::ir::{Block, Function, Inst};
use crate::query::forms::{Form, Subject, element_offset};
use crate::symbolic::SymbolicAddress;

/// One element of a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    /// The vector.
    pub whole: Occurrence,
    /// The element's index.
    pub index: u8,
}

/// Vectors and their elements.
#[derive(Default)]
pub(super) struct Vectors {
    elements: HashMap<Occurrence, SmallVec<[Occurrence; 4]>>,
    wholes: HashMap<Occurrence, Element>,
}

impl Snapshot<'_> {
    /// Inserts a computation of a form at the end of a block; [`Snapshot::place`] names its
    /// instruction.
    pub fn insert(&mut self, func: &Function, block: Block, form: Form) -> Occurrence {
        let end = self.end_of(block);
        let access = self.form_access(func, form, end);
        let (symbolic, address) =
            (self.form_accesses[access].access.address.clone(), self.form_accesses[access].address);
        let guard = self.forms.expression(form).guard;
        let guard = guard.and_then(|guard| Some((end.value(&self.values, func, guard.reg)?, guard.negated)));
        let family = self.forms.family(form);
        let (inst, is_computed, is_marked, is_element) = (None, true, false, false);
        let data = OccurrenceData { inst, block, form, family, address, guard, is_computed, is_marked, is_element };
        let occurrence = self.add(data, INSERTED);
        self.add_elements(func, occurrence, INSERTED, symbolic.as_ref());
        occurrence
    }

    /// Notes that an inserted occurrence is, or will be, marked as a load that does not fault.
    pub fn mark(&mut self, occurrence: Occurrence) {
        self.for_each_part(occurrence, |snapshot, part| {
            snapshot.occurrences[part].is_marked = true;
            snapshot.changes[snapshot.forms.kind(snapshot.occurrences[part].form)].marked += 1;
        });
    }

    /// Is the occurrence marked as a load that does not fault?
    pub fn is_marked(&self, occurrence: Occurrence) -> bool {
        self.occurrences[occurrence].is_marked
    }

    /// Names the instruction of an inserted occurrence.
    pub fn place(&mut self, occurrence: Occurrence, inst: Inst) {
        self.for_each_part(occurrence, |snapshot, part| snapshot.occurrences[part].inst = Some(inst));
        self.places[inst] = INSERTED;
        self.of_inst[inst] = occurrence.into();
    }

    /// Notes that an occurrence reads its value from a temporary now.
    pub fn replace(&mut self, occurrence: Occurrence) {
        if let Some(inst) = self.occurrences[occurrence].inst {
            self.of_inst[inst] = None.into();
        }
        self.for_each_part(occurrence, |snapshot, part| {
            snapshot.occurrences[part].is_computed = false;
            snapshot.changes[snapshot.forms.kind(snapshot.occurrences[part].form)].replaced += 1;
        });
    }

    /// Takes back an insertion.
    pub fn withdraw(&mut self, occurrence: Occurrence) {
        self.for_each_part(occurrence, |snapshot, part| {
            let &OccurrenceData { block, form, family, .. } = &snapshot.occurrences[part];
            if let Some(items) = snapshot.items.get_mut(&(block, family)) {
                items.retain(|item| !matches!(item.kind, ItemKind::Occurrence(other) if other == part));
            }
            snapshot.counts[family] -= 1;
            let changes = &mut snapshot.changes[snapshot.forms.kind(form)];
            (changes.inserted, changes.replaced) = (changes.inserted + 1, changes.replaced + 1);
        });
    }

    /// Adds an occurrence at a place that no other one of its family in the block follows.
    pub(super) fn add(&mut self, data: OccurrenceData, place: u32) -> Occurrence {
        let OccurrenceData { inst, block, form, family, is_element, .. } = data;
        let occurrence = self.occurrences.push(data);
        self.counts[family] += 1;
        let last = &mut self.last_positions[self.forms.kind(form)];
        *last = (*last).max(self.graph.position(block));
        let item = Item { place, kind: ItemKind::Occurrence(occurrence) };
        self.items.entry((block, family)).or_default().push(item);
        if !is_element {
            self.families[family].push(occurrence);
            if let Some(inst) = inst {
                self.of_inst[inst] = occurrence.into();
            }
        }
        if place == INSERTED {
            self.changes[self.forms.kind(form)].inserted += 1;
        }
        occurrence
    }

    pub(super) fn number_of(&mut self, address: Option<&SymbolicAddress>) -> PackedOption<Address> {
        let next = Address::new(self.addresses.len());
        address.map(|address| *self.addresses.entry_ref(address).or_insert(next)).into()
    }

    /// Does the function have loads of several elements?
    pub fn has_vectors(&self) -> bool {
        !self.vectors.elements.is_empty()
    }

    /// The elements of a vector, in order, without those whose register another element overwrites;
    /// none for other loads.
    pub fn elements(&self, occurrence: Occurrence) -> &[Occurrence] {
        self.vectors.elements.get(&occurrence).map_or(&[], |elements| elements)
    }

    /// The vector that an occurrence is an element of.
    pub fn as_element(&self, occurrence: Occurrence) -> Option<Element> {
        self.vectors.wholes.get(&occurrence).copied()
    }

    /// Adds the elements of a vector load; other loads have none.
    pub(super) fn add_elements(
        &mut self,
        func: &Function,
        whole: Occurrence,
        place: u32,
        address: Option<&SymbolicAddress>,
    ) {
        let data = self.occurrences[whole].clone();
        let Subject::Load(kind, _) = &self.forms.expression(data.form).subject else { return };
        let opcode = kind.opcode;
        if opcode.vector == 1 {
            return;
        }
        for index in 0..opcode.vector {
            if data.inst.is_some_and(|inst| func.insts[inst].overwrites_dst(usize::from(index))) {
                continue;
            }
            let Some(form) = self.forms.element(data.form, index) else { continue };
            let address = address.cloned().map(|mut address| {
                address.offset.add_constant(element_offset(opcode, index));
                address
            });
            let address = self.number_of(address.as_ref());
            let element = self.add(OccurrenceData { form, address, is_element: true, ..data.clone() }, place);
            self.vectors.elements.entry(whole).or_default().push(element);
            self.vectors.wholes.insert(element, Element { whole, index });
        }
    }

    /// Applies a change to an occurrence and its elements.
    fn for_each_part(&mut self, whole: Occurrence, mut change: impl FnMut(&mut Self, Occurrence)) {
        change(self, whole);
        let elements: SmallVec<[Occurrence; 4]> = self.elements(whole).into();
        elements.into_iter().for_each(|element| change(self, element));
    }
}
