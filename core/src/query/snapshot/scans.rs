//! Scans of a block: up from a point, for availability and speculation, and down from the
//! beginning, for anticipatability.
//!
//! ```text
//! n8: x = ld A[i]       up from the end: A[i]? becomes A[i + 1]? above `i = i + 1`, ends at a load of A[i + 1]
//!     i = i + 1         down from the beginning: A[i]? ends at the load
//! ```
//!
//! Upward: 1. Find the last definition of one of the form's registers, by bisection. 2. Read the
//! accesses and occurrences of the form's family after that definition, from below: the first one
//! that computes the form, or may change its value, ends the scan. 3. Convert the form at the
//! definition and continue there.
//!
//! Downward: each form is followed to the first definition of one of its registers, or the first
//! instruction with any effect, whichever is first; writes before that may change it, and a
//! computation before that answers.
//!
//! Cost: O(log definitions) for each register of the form, and one step for each access that is
//! read, up to the budget.

use smallvec::SmallVec;

use super::accesses::Point;
use super::{
    Conversion, DescentEnd, END, INSERTED, Item, ItemKind, Occurrence, STEPS_A_BLOCK, ScanEnd, ScanStart, Snapshot,
    UpwardScan,
};
use crate::ir::{Block, Function, Inst};
use crate::query::anticipation::{AnticipationQuestion, Purpose};
use crate::query::forms::Form;
use crate::symbolic::AffineNames;

impl Snapshot<'_> {
    /// Scans upward from the end of a block for an instruction that may change a form's value: a
    /// definition of one of its registers, or a write to what it loads.
    pub fn last_change(&mut self, func: &Function, block: Block, form: Form) -> ScanEnd {
        self.steps += STEPS_A_BLOCK;
        let definition = self.last_definition(block, form, END);
        let floor = definition.map_or(0, |(place, _)| place + 1);
        let end = self.scan_items(func, block, form, (floor, END), None, false);
        end.unwrap_or_else(|| definition.map_or(ScanEnd::Top, |(_, inst)| ScanEnd::Changed(inst)))
    }

    /// Scans upward from a point of a block. `may_convert` says whether definitions may convert the
    /// form.
    pub fn scan_up(
        &mut self,
        func: &Function,
        block: Block,
        start: ScanStart,
        mut form: Form,
        may_convert: bool,
    ) -> UpwardScan {
        self.steps += STEPS_A_BLOCK;
        let mut place = match start {
            ScanStart::End => END,
            ScanStart::Before(inst) => self.places[inst],
            ScanStart::Inserted => INSERTED,
        };
        // An inserted instruction has the registers of the end of its block.
        let mut below = match start {
            ScanStart::Before(inst) if place != INSERTED => Some(inst),
            _ => None,
        };
        let mut conversions = SmallVec::new();
        loop {
            let definition = self.last_definition(block, form, place);
            let floor = definition.map_or(0, |(place, _)| place + 1);
            if let Some(end) = self.scan_items(func, block, form, (floor, place), below, true) {
                return UpwardScan { conversions, form, end };
            }
            let Some((defined_at, inst)) = definition else {
                return UpwardScan { conversions, form, end: ScanEnd::Top };
            };
            let names = AffineNames::new(func, &self.values, self.overflow);
            let Some(above) = self.forms.before(names, inst, &func.insts[inst].dsts, form) else {
                return UpwardScan { conversions, form, end: ScanEnd::Changed(inst) };
            };
            if !may_convert {
                return UpwardScan { conversions, form, end: ScanEnd::ConvertedAgain(inst) };
            }
            if above != form {
                conversions.push(Conversion { inst, below: form, above });
            }
            (form, place, below) = (above, defined_at, Some(inst));
        }
    }

    /// Scans the accesses of a form's family upward, from before the place `above` down to the
    /// place `floor`. No register of the form is written between. `finds` says whether occurrences
    /// end the scan.
    fn scan_items(
        &mut self,
        func: &Function,
        block: Block,
        form: Form,
        (floor, limit): (u32, u32),
        below: Option<Inst>,
        finds: bool,
    ) -> Option<ScanEnd> {
        let barrier = self.barriers_of(block, form);
        let barrier = barrier[..barrier.partition_point(|&(place, _)| place < limit)].last().copied();
        let barrier = barrier.filter(|&(place, _)| place >= floor);
        let floor = barrier.map_or(floor, |(place, _)| place);
        let at = below.map_or_else(|| self.end_of(block), Point::Before);
        let mut known = None;
        let mut left = self.items_of(block, form).partition_point(|item| item.place < limit);
        loop {
            if self.is_exhausted() {
                return Some(ScanEnd::Exhausted);
            }
            let before = self.items_of(block, form)[..left].last();
            let Some(&Item { kind, .. }) = before.filter(|item| item.place >= floor) else { break };
            left -= 1;
            self.steps += 1;
            match kind {
                ItemKind::Occurrence(occurrence) => {
                    if finds && self.computes(func, occurrence, (form, at), &mut known) {
                        return Some(ScanEnd::Same(occurrence));
                    }
                }
                ItemKind::Write(inst, write) => {
                    if self.may_change(func, write, (form, at), &mut known) {
                        return Some(ScanEnd::Changed(inst));
                    }
                }
            }
        }
        barrier.map(|(_, inst)| ScanEnd::Changed(inst))
    }

    /// Scans downward from the beginning of a block for an occurrence that answers the question.
    pub fn scan_down(&mut self, func: &Function, block: Block, question: AnticipationQuestion) -> DescentEnd {
        let AnticipationQuestion { forms, purpose } = question;
        self.steps += STEPS_A_BLOCK;
        let all: SmallVec<[Form; 4]> = self.forms.members(forms).into();
        let mut left = SmallVec::new();
        for &form in &all {
            match self.scan_down_with(func, block, form, purpose) {
                Some(true) => return DescentEnd::Same,
                Some(false) => {}
                None => left.push(form),
            }
        }
        match left.len() {
            0 => DescentEnd::Changed,
            count if count == all.len() => DescentEnd::Bottom(forms),
            _ => DescentEnd::Bottom(self.forms.set(left)),
        }
    }

    /// Scans downward for one form: is it computed, or changed first? None at the end of the
    /// block. Beyond the budget the form counts as changed.
    fn scan_down_with(&mut self, func: &Function, block: Block, form: Form, purpose: Purpose) -> Option<bool> {
        // An instruction that reads a register and writes it reads it first.
        let defined = self.first_definition(block, form).map(|place| place + 1);
        let barrier = self.first_barrier(func, block, form);
        let barrier = barrier.filter(|&barrier| defined.is_none_or(|defined| barrier < defined));
        let end = barrier.or(defined);
        let at = if self.graph.is_on_edge(block) { self.end_of(block) } else { Point::Start(block) };
        let mut known = None;
        let mut index = 0;
        loop {
            if self.is_exhausted() {
                return Some(false);
            }
            let next = self.items_of(block, form).get(index);
            let Some(&Item { kind, .. }) = next.filter(|item| end.is_none_or(|end| item.place < end)) else { break };
            index += 1;
            self.steps += 1;
            match kind {
                ItemKind::Occurrence(occurrence) => {
                    if self.answers(occurrence, purpose) && self.computes(func, occurrence, (form, at), &mut known) {
                        return Some(true);
                    }
                }
                ItemKind::Write(_, write) => {
                    if self.may_change(func, write, (form, at), &mut known) {
                        return Some(false);
                    }
                }
            }
        }
        end.map(|_| false)
    }

    fn answers(&self, occurrence: Occurrence, purpose: Purpose) -> bool {
        let data = &self.occurrences[occurrence];
        data.is_computed
            && match purpose {
                Purpose::DownSafety => !data.is_element,
                Purpose::NoFault => !data.is_marked,
            }
    }

    /// The accesses and occurrences of a form's family in a block.
    fn items_of(&self, block: Block, form: Form) -> &[Item] {
        self.items.get(&(block, self.forms.family(form))).map_or(&[], |items| items)
    }

    /// The instructions of a block with any effect on what a form loads.
    fn barriers_of(&self, block: Block, form: Form) -> &[(u32, Inst)] {
        let barriers = if self.forms.is_written(form) { self.barriers.get(&block) } else { None };
        barriers.map_or(&[], |barriers| barriers)
    }

    /// The place of the first instruction of a block after which the form need not be computed, or not
    /// as before: lanes may end in a call, also if the call writes nothing that the form loads.
    fn first_barrier(&self, func: &Function, block: Block, form: Form) -> Option<u32> {
        if self.forms.is_written(form) || !self.forms.is_load(form) {
            return self.barriers_of(block, form).first().map(|&(place, _)| place);
        }
        let barriers = self.barriers.get(&block)?;
        barriers.iter().find(|&&(_, inst)| func.insts[inst].opcode.op.is_call()).map(|&(place, _)| place)
    }

    /// The last definition in a block of one of a form's registers before a place.
    fn last_definition(&self, block: Block, form: Form, place: u32) -> Option<(u32, Inst)> {
        if self.graph.is_on_edge(block) {
            return None;
        }
        let before = (self.graph.rank(block), place);
        self.forms.regs(form).iter().filter_map(|&reg| self.definitions.last(reg, before)).max()
    }

    /// The place of the first definition in a block of one of a form's registers.
    fn first_definition(&self, block: Block, form: Form) -> Option<u32> {
        if self.graph.is_on_edge(block) {
            return None;
        }
        let rank = self.graph.rank(block);
        self.forms.regs(form).iter().filter_map(|&reg| self.definitions.first(reg, rank)).min()
    }
}
