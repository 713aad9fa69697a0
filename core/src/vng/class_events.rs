//! Events of classes inside blocks: the instructions at which gaps begin.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::graph::{GraphInput, VertexKind};
use super::memory::Change;
use super::seeds::Role;
use super::synonyms::Class;
use super::threads::Above;
use crate::compact_sort::CompactSort;
use crate::ir::Block;
use crate::names::Name;

/// The upper end of a gap inside a block.
#[derive(Clone, Copy)]
pub(super) enum ClassEvent {
    /// A use, generation or kill.
    Occurrence(VertexKind),
    /// The definition of the latest atom of this name.
    Definition(Name),
}

/// An instruction that concerns a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Occurrence {
    place: u32,
    kind: VertexKind,
}

/// The events of all classes.
pub(super) struct ClassEvents<'g, 'a> {
    input: GraphInput<'g, 'a>,
    /// Uses, generations and splits of each class in each block, in order.
    occurrences: BTreeMap<(Class, Block), Vec<Occurrence>>,
}

impl<'g, 'a> ClassEvents<'g, 'a> {
    /// The events of a graph's classes.
    pub(super) fn new(input: GraphInput<'g, 'a>) -> ClassEvents<'g, 'a> {
        let mut occurrences: BTreeMap<(Class, Block), Vec<Occurrence>> = BTreeMap::new();
        for seed in input.seeds {
            let kind = match seed.role {
                Role::User => VertexKind::User(seed.inst),
                Role::Generator => VertexKind::Generator(seed.inst),
            };
            let elements = seed.elements.iter().map(|&name| (name, VertexKind::Generator(seed.inst)));
            for (name, kind) in core::iter::once((seed.name, kind)).chain(elements) {
                if let Some(class) = input.classes.of(name) {
                    let found = occurrences.entry((class, seed.block)).or_default();
                    if found.last().is_none_or(|last| last.place != seed.index) {
                        found.push(Occurrence { place: seed.index, kind });
                    }
                }
            }
        }
        // Where another class begins as this one, both continue from one gap.
        for &name in input.threads.names() {
            let Some(thread) = input.threads.of(name) else { continue };
            if let (Above::Load(_, before) | Above::Store(_, before), Some(latest)) = (&thread.above, thread.latest)
                && let Some(class) = input.classes.of(*before)
            {
                let place = latest.place - 1;
                let found = occurrences.entry((class, latest.block)).or_default();
                if !found.iter().any(|occurrence| occurrence.place == place) {
                    found.push(Occurrence { place, kind: VertexKind::Pass });
                }
            }
        }
        for found in occurrences.values_mut() {
            found.compact_sort_by_key(|occurrence| occurrence.place);
        }
        ClassEvents { input, occurrences }
    }

    /// The event just above a gap.
    pub(super) fn just_before(&self, block: Block, start: u32, class: Class) -> Option<ClassEvent> {
        self.before(block, start, class).filter(|&(place, _)| place + 1 == start).map(|(_, event)| event)
    }

    /// The last instruction before a place that concerns a class.
    pub(super) fn before(&self, block: Block, place: u32, class: Class) -> Option<(u32, ClassEvent)> {
        let occurrences = self.occurrences.get(&(class, block)).map_or(&[][..], Vec::as_slice);
        let last = occurrences.partition_point(|occurrence| occurrence.place < place).checked_sub(1);
        let occurrence = last.map(|last| (occurrences[last].place, ClassEvent::Occurrence(occurrences[last].kind)));
        let definition =
            self.input.classes.first_name(self.input.shape, self.input.threads, class, (block, place)).and_then(
                |(name, latest)| {
                    let place = latest.filter(|latest| latest.block == block)?.place.checked_sub(1)?;
                    Some((place, ClassEvent::Definition(name)))
                },
            );
        let ending_calls = self.input.ending_calls.of_block(block);
        let ending = ending_calls[..ending_calls.partition_point(|call| call.place < place)].last();
        let ending = ending.map(|call| (call.place, ClassEvent::Occurrence(VertexKind::Pass)));
        // Of several at one place the last one counts.
        let known = ending.into_iter().chain(occurrence).chain(definition).max_by_key(|&(place, _)| place);
        // A store that another name is above may change the memory of the class as well.
        let after = known.map_or(0, |(place, event)| place + u32::from(!self.is_passed(event)));
        let mut changes = self.input.memory.before(block, place).take_while(|change| change.place >= after);
        let kill = changes.find(|change| self.is_killed(block, place, class, change));
        kill.map(|change| (change.place, ClassEvent::Occurrence(VertexKind::Kill(change.inst)))).or(known)
    }

    /// Does the class continue above an event, perhaps as another one?
    fn is_passed(&self, event: ClassEvent) -> bool {
        match event {
            ClassEvent::Occurrence(kind) => kind == VertexKind::Pass,
            ClassEvent::Definition(name) => {
                matches!(self.input.threads.of(name).map(|thread| &thread.above), Some(Above::Store(..)))
            }
        }
    }

    /// May a change give all names of a class that hold there another value?
    fn is_killed(&self, block: Block, place: u32, class: Class, change: &Change) -> bool {
        let GraphInput { shape, table, threads, classes, memory, .. } = self.input;
        let holding = classes.members(class).iter().filter_map(|&name| {
            let thread = threads.of(name).filter(|thread| thread.holds_at(shape, block, place))?;
            // What the store leaves in an address is known.
            Some(match thread.above {
                Above::Store(inst, before) if inst == change.inst => before,
                _ => name,
            })
        });
        let mut holding = holding.peekable();
        holding.peek().is_some() && holding.all(|name| memory.may_change(table, change, name))
    }
}
