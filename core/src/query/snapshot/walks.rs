//! The ways through a block: up from a place to its beginning, for availability, and down from its beginning, for
//! anticipatability.
//!
//! ```text
//! n8: x = ld A[i]       up from the end: A[i]? is A[i + 1]? above `i = i + 1`, and ends at the load of A[i + 1], if there is one
//!     i = i + 1         down from the beginning: A[i]? ends at the load
//! ```
//!
//! Both stop at each definition of a register of the question, at accesses to its class of memory, and nowhere else. Most
//! blocks that a question comes to have neither, which one comparison of footprints says, so that a long walk looks at
//! little. Footprints meet by chance as well; then a pure form asks how far around the block there is nothing ([`Quiet`]),
//! and blocks beside it need not ask again.
//!
//! Bounds: every access that is looked at counts as a step ([`Snapshot::steps`]).

use smallvec::SmallVec;

use super::looked::{LookedFor, Point};
use super::{Climb, ClimbEnd, DescentEnd, OccurrenceData, Passage, Quiet, Snapshot, Start, Step};
use crate::ir::{Block, Function, Inst, Reg};
use crate::query::forms::{Footprint, Form, FormSet, Forms};
use crate::query::items::{Coming, END, INSERTED, Occurrence};
use crate::symbolic::AffineNames;

impl Snapshot<'_> {
    /// The last place of a block where a form's value may change: a definition of one of its registers, or an access that
    /// may write what it loads.
    pub fn changed_in(&mut self, func: &Function, block: Block, form: Form) -> Option<u32> {
        let climb = self.climb_past_occurrences(func, block, form);
        (climb.end != ClimbEnd::Top).then_some(climb.place)
    }

    /// The way up from a place of a block, which is not looked at itself. `may_convert` says whether
    /// definitions may be substituted.
    pub fn climb(&mut self, func: &Function, block: Block, from: Start, form: Form, may_convert: bool) -> Climb {
        self.climb_as(func, block, from, form, may_convert, true)
    }

    /// Is nothing in a block that a question about a form would stop at, as far as footprints say? Then it has been looked at.
    pub fn passes(&mut self, block: Block, form: Form) -> bool {
        let passes = !self.marks[block].all.meets(self.forms.footprint(form));
        self.steps += u64::from(passes);
        passes
    }

    fn climb_past_occurrences(&mut self, func: &Function, block: Block, form: Form) -> Climb {
        self.climb_as(func, block, Start::End, form, false, false)
    }

    fn climb_as(
        &mut self,
        func: &Function,
        block: Block,
        from: Start,
        mut form: Form,
        may_convert: bool,
        stops_at_occurrences: bool,
    ) -> Climb {
        self.steps += 1;
        if !self.marks[block].of(stops_at_occurrences).meets(self.forms.footprint(form)) {
            return Climb::past(form);
        }
        let is_pure = self.forms.likeness(form) == Forms::UNLIKE;
        if is_pure && self.is_quiet(self.quiet_up, block, form, |snapshot| &mut snapshot.quiet_up) {
            return Climb::past(form);
        }
        let rank = self.ways.rank(block);
        let is_on_edge = self.ways.is_on_edge(block);
        let mut place = match from {
            Start::End => END,
            Start::Before(inst) => self.places[inst],
            Start::Inserted => INSERTED,
        };
        // What was inserted has registers as the end of its block has them.
        let mut below = match from {
            Start::Before(inst) if place != INSERTED => Some(inst),
            _ => None,
        };
        let mut steps = SmallVec::new();
        let mut is_straight = true;
        loop {
            let may_define = !is_on_edge && self.may_define(block, form);
            let definition = if may_define { self.last_definition(block, form, (rank, place)) } else { None };
            // Places are counted from 1 here, so that 0 is before the first instruction.
            let floor = definition.map_or(0, |(place, _)| place + 1);
            if let Some((end, place)) =
                self.look_between(func, block, form, (floor, place), below, stops_at_occurrences)
            {
                return Climb { steps, form, end, place, is_straight };
            }
            let Some((defined_at, inst)) = definition else {
                return Climb { steps, form, end: ClimbEnd::Top, place: 0, is_straight };
            };
            is_straight = false;
            let names = AffineNames::new(func, &self.values, self.overflow);
            let Some(above) = self.forms.before(names, inst, &func.insts[inst].dsts, form) else {
                return Climb { steps, form, end: ClimbEnd::Changed, place: defined_at, is_straight };
            };
            if !may_convert {
                return Climb { steps, form, end: ClimbEnd::Again, place: defined_at, is_straight };
            }
            if above != form {
                steps.push(Step { inst, below: form, above });
            }
            (form, place, below) = (above, defined_at, Some(inst));
        }
    }

    /// Looks at accesses and occurrences of a form's family from before `place` up to `floor`, and counts them. No register of
    /// the form is written there.
    fn look_between(
        &mut self,
        func: &Function,
        block: Block,
        form: Form,
        (floor, place): (u32, u32),
        below: Option<Inst>,
        stops_at_occurrences: bool,
    ) -> Option<(ClimbEnd, u32)> {
        let barrier = self.barrier_between(block, form, floor, place);
        if !self.marks[block].of(stops_at_occurrences).meets(self.forms.footprint(form).families()) {
            return barrier.map(|barrier| (ClimbEnd::Changed, barrier));
        }
        let (family, likeness) = (self.forms.family(form), self.forms.likeness(form));
        let mut above = self.items.above(block, family, (floor, place));
        let at = match below {
            Some(inst) => Point::Before(inst),
            None => self.end_of(block),
        };
        // What is looked for is found when something may be it.
        let mut looked: Option<LookedFor> = None;
        while let Some(item) = self.items.next_above(&mut above) {
            if let Some(barrier) = barrier.filter(|&barrier| barrier > item.place) {
                return Some((ClimbEnd::Changed, barrier));
            }
            self.steps += 1;
            if let Some(occurrence) = item.occurrence() {
                if !stops_at_occurrences || item.likeness != likeness {
                    continue;
                }
                if likeness == Forms::UNLIKE || self.is_of_form(item, form) {
                    return Some((ClimbEnd::Same(occurrence), item.place));
                }
                let looked = *looked.get_or_insert_with(|| self.looked_for(func, form, at));
                if self.is_same(item, form, looked) && self.is_guarded_alike(func, occurrence, form, at) {
                    return Some((ClimbEnd::Same(occurrence), item.place));
                }
            } else {
                let looked = *looked.get_or_insert_with(|| self.looked_for(func, form, at));
                if self.may_change(func, item.number, form, looked) {
                    return Some((ClimbEnd::Changed, item.place));
                }
            }
        }
        barrier.map(|barrier| (ClimbEnd::Changed, barrier))
    }

    /// Does nothing in a block happen to a pure form? `known` is where that is known, and changed to what has to be looked up.
    fn is_quiet(
        &mut self,
        known: Quiet,
        block: Block,
        form: Form,
        change: impl FnOnce(&mut Self) -> &mut Quiet,
    ) -> bool {
        // What is on an edge has no rank of its own, and what has been inserted may be in the way.
        if self.items.has_inserted(block) || self.ways.is_on_edge(block) {
            return false;
        }
        let rank = self.ways.rank(block);
        if known.form.expand() == Some(form) && (known.begin..known.end).contains(&rank) {
            return true;
        }
        let family = &self.families[self.forms.family(form)];
        let first = &family[..family.partition_point(|&occurrence| occurrence < self.first_inserted)];
        let rank_of = |occurrence: Occurrence| self.ways.rank(self.occurrences[occurrence].block);
        let next = first.partition_point(|&occurrence| rank_of(occurrence) < rank);
        let mut begin = next.checked_sub(1).map_or(0, |before| rank_of(first[before]) + 1);
        let mut end = first.get(next).map_or(u32::MAX, |&next| rank_of(next));
        for &reg in self.forms.regs(form) {
            let places = self.definitions.of(reg);
            let next = places.partition_point(|&(other, ..)| other < rank);
            begin = begin.max(next.checked_sub(1).map_or(0, |before| places[before].0 + 1));
            end = end.min(places.get(next).map_or(u32::MAX, |&(next, ..)| next));
        }
        if end <= rank {
            return false;
        }
        *change(self) = Quiet { form: form.into(), begin, end };
        true
    }

    /// Is there a place in a block where anything may happen to memory that the form loads?
    fn is_stopped_by_barriers(&self, block: Block, form: Form) -> bool {
        let what = self.forms.footprint(form);
        what.meets(Footprint::EVERYTHING) && self.marks[block].changed.meets(Footprint::EVERYTHING)
    }

    /// May a definition in a block be one of a register that the form reads?
    fn may_define(&self, block: Block, form: Form) -> bool {
        self.marks[block].changed.meets(self.forms.footprint(form).regs())
    }

    /// The registers of a form that a block may write.
    fn written<'s>(&'s self, block: Block, form: Form) -> impl Iterator<Item = Reg> + 's {
        let changed = self.marks[block].changed;
        self.forms.regs(form).iter().copied().filter(move |&reg| changed.meets(Footprint::of_reg(reg)))
    }

    /// The last definition of one of a form's registers in a block of that rank before a place.
    fn last_definition(&self, block: Block, form: Form, before: (u32, u32)) -> Option<(u32, Inst)> {
        self.written(block, form).filter_map(|reg| self.definitions.last(reg, before)).max()
    }

    /// The place of the first one from a place on.
    fn first_definition(&self, block: Block, form: Form, from: (u32, u32)) -> Option<u32> {
        self.written(block, form).filter_map(|reg| self.definitions.first(reg, from)).min()
    }

    /// The last place from `floor` to before `place` where anything may happen to memory that the form loads.
    fn barrier_between(&self, block: Block, form: Form, floor: u32, place: u32) -> Option<u32> {
        if !self.is_stopped_by_barriers(block, form) {
            return None;
        }
        let places = self.barriers.get(&block)?;
        let index = places.partition_point(|&barrier| barrier < place).checked_sub(1)?;
        Some(places[index]).filter(|&barrier| barrier >= floor)
    }

    /// The way down from the beginning of a block with a set of forms of one family.
    pub fn descend(&mut self, func: &Function, block: Block, set: FormSet) -> DescentEnd {
        self.descend_to(func, block, set, |data| data.is_computed && !data.is_element)
    }

    /// Descends to an occurrence that counts.
    fn descend_to(
        &mut self,
        func: &Function,
        block: Block,
        set: FormSet,
        counts: impl Fn(&OccurrenceData) -> bool,
    ) -> DescentEnd {
        if let &[form] = self.forms.members(set) {
            return match self.descend_with(func, block, form, counts) {
                Passage::Same => DescentEnd::Same,
                Passage::Changed => DescentEnd::Changed,
                Passage::Bottom => DescentEnd::Bottom(set),
            };
        }
        self.steps += 1;
        let Some(&first) = self.forms.members(set).first() else { return DescentEnd::Changed };
        if self.ways.is_on_edge(block) {
            let is_there = self.is_on_edge(block, first, counts, |found| {
                self.forms.members(set).iter().any(|&form| self.forms.has_lanes_of(found, form))
            });
            return if is_there { DescentEnd::Same } else { DescentEnd::Bottom(set) };
        }
        if !self.marks[block].all.meets(self.forms.set_footprint(set)) {
            return DescentEnd::Bottom(set);
        }
        let rank = self.ways.rank(block);
        let mut live: SmallVec<[Form; 4]> = self.forms.members(set).into();
        let mut looked: SmallVec<[LookedFor; 4]> = SmallVec::new();
        let at = Point::Start(block);
        let (family, is_load) = (self.forms.family(first), self.forms.expression(first).is_load());
        let mut items = self.items.below(block, family);
        let mut from = 0;
        while !live.is_empty() {
            let may_define = |form: &&Form| self.may_define(block, **form);
            let next = |&form: &Form| self.first_definition(block, form, (rank, from));
            let defined = live.iter().filter(may_define).filter_map(next).min();
            // What reads a register and writes it reads it first.
            let limit = defined.map_or(END, |place| place + 1);
            let barrier = self.first_barrier(block, first, from, limit);
            let mut ahead = items;
            while let Some(item) = self.items.next_below(&mut ahead) {
                if item.place >= limit || barrier.is_some_and(|barrier| barrier <= item.place) {
                    break;
                }
                items = ahead;
                self.steps += 1;
                if !is_load {
                    let data = item.occurrence().map(|occurrence| &self.occurrences[occurrence]);
                    if data.is_some_and(|data| counts(data) && live.contains(&data.form)) {
                        return DescentEnd::Same;
                    }
                    continue;
                }
                if looked.is_empty() {
                    looked = live.iter().map(|&form| self.looked_for(func, form, at)).collect();
                }
                if let Some(occurrence) = item.occurrence() {
                    let is_same = |(&form, &looked): (&Form, &LookedFor)| {
                        self.is_same(item, form, looked)
                            && counts(&self.occurrences[occurrence])
                            && self.is_guarded_alike(func, occurrence, form, at)
                    };
                    if live.iter().zip(&looked).any(is_same) {
                        return DescentEnd::Same;
                    }
                } else {
                    for place in (0..live.len()).rev() {
                        if self.may_change(func, item.number, live[place], looked[place]) {
                            live.remove(place);
                            looked.remove(place);
                        }
                    }
                }
            }
            if barrier.is_some() {
                return DescentEnd::Changed;
            }
            let Some(place) = defined else { break };
            for index in (0..live.len()).rev() {
                if self.first_definition(block, live[index], (rank, place)) == Some(place) {
                    live.remove(index);
                    if !looked.is_empty() {
                        looked.remove(index);
                    }
                }
            }
            from = place + 1;
        }
        match live.len() {
            0 => DescentEnd::Changed,
            all if all == self.forms.members(set).len() => DescentEnd::Bottom(set),
            _ => DescentEnd::Bottom(self.forms.set(live)),
        }
    }

    /// Descends with one form, to an occurrence that counts.
    fn descend_with(
        &mut self,
        func: &Function,
        block: Block,
        form: Form,
        counts: impl Fn(&OccurrenceData) -> bool,
    ) -> Passage {
        self.steps += 1;
        if self.ways.is_on_edge(block) {
            let is_there = self.is_on_edge(block, form, counts, |found| self.forms.has_lanes_of(found, form));
            return if is_there { Passage::Same } else { Passage::Bottom };
        }
        let what = self.forms.footprint(form);
        if !self.marks[block].all.meets(what) {
            return Passage::Bottom;
        }
        let likeness = self.forms.likeness(form);
        let is_pure = likeness == Forms::UNLIKE;
        if is_pure && self.is_quiet(self.quiet_down, block, form, |snapshot| &mut snapshot.quiet_down) {
            return Passage::Bottom;
        }
        let rank = self.ways.rank(block);
        let may_define = self.may_define(block, form);
        let defined = if may_define { self.first_definition(block, form, (rank, 0)) } else { None };
        // What reads a register and writes it reads it first.
        let limit = defined.map_or(END, |place| place + 1);
        let barrier = self.first_barrier(block, form, 0, limit);
        let limit = barrier.unwrap_or(limit);
        let at = Point::Start(block);
        let mut looked: Option<LookedFor> = None;
        let has_family = self.marks[block].all.meets(what.families());
        let mut items = if has_family { self.items.below(block, self.forms.family(form)) } else { Coming::none() };
        while let Some(item) = self.items.next_below(&mut items).filter(|item| item.place < limit) {
            self.steps += 1;
            let Some(occurrence) = item.occurrence() else {
                let looked = *looked.get_or_insert_with(|| self.looked_for(func, form, at));
                if self.may_change(func, item.number, form, looked) {
                    return Passage::Changed;
                }
                continue;
            };
            if item.likeness != likeness || !counts(&self.occurrences[occurrence]) {
                continue;
            }
            if is_pure || self.is_of_form(item, form) {
                return Passage::Same;
            }
            let looked = *looked.get_or_insert_with(|| self.looked_for(func, form, at));
            if self.is_same(item, form, looked) && self.is_guarded_alike(func, occurrence, form, at) {
                return Passage::Same;
            }
        }
        if barrier.is_some() || defined.is_some() { Passage::Changed } else { Passage::Bottom }
    }

    /// Has something that counts been inserted in a block on an edge, of that form's family and one of those forms?
    fn is_on_edge(
        &self,
        block: Block,
        form: Form,
        counts: impl Fn(&OccurrenceData) -> bool,
        is_asked: impl Fn(Form) -> bool,
    ) -> bool {
        let mut items = self.items.below(block, self.forms.family(form));
        core::iter::from_fn(|| self.items.next_below(&mut items)).any(|item| {
            item.occurrence().is_some_and(|occurrence| {
                let data = &self.occurrences[occurrence];
                counts(data) && is_asked(data.form)
            })
        })
    }

    /// Is a form computed on every way on from the beginnings of these blocks, so that it faults there if it does? Ends at the first way where it is not; a way
    /// that comes round to where it has been is no such way. Looks at no more than `budget` steps, and then says no.
    pub fn is_computed_behind(&mut self, func: &Function, blocks: &[Block], form: Form, budget: u64) -> bool {
        let now = (form, self.changes(form));
        // Where the last walk for the same has been, it would find the same.
        if self.found.take() != Some(now) {
            self.walk += 1;
        }
        self.walk_pending.clear();
        self.walk_pending.extend(blocks.iter().rev().copied());
        while let Some(block) = self.walk_pending.pop() {
            if core::mem::replace(&mut self.walked[block], self.walk) == self.walk {
                continue;
            }
            match self.descend_with(func, block, form, |data| data.is_computed && !data.is_marked) {
                Passage::Same => {}
                Passage::Changed => return false,
                Passage::Bottom => {
                    let onward = self.ways.down(block);
                    if onward.is_empty() || self.steps > budget {
                        return false;
                    }
                    self.walk_pending.extend(onward.iter().rev().copied());
                }
            }
        }
        self.found = Some(now);
        !blocks.is_empty()
    }

    /// The first place from `from` to before `limit` where anything may happen to memory that the form loads.
    fn first_barrier(&self, block: Block, form: Form, from: u32, limit: u32) -> Option<u32> {
        if !self.is_stopped_by_barriers(block, form) {
            return None;
        }
        let places = self.barriers.get(&block)?;
        let index = places.partition_point(|&barrier| barrier < from);
        places.get(index).copied().filter(|&barrier| barrier < limit)
    }
}
