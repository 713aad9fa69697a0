//! Availability: has the expression been computed on every way that leads here, and where would it have to be inserted?
//!
//! ```text
//! n2: br n4              `a + b?` from n4: n2 knows nothing and asks n1, which changes `a`: (false, false)
//! n3: x = a + b          n3 computes it: (true, true)
//! n4: y = a + b          some and not all: if n4 is down-safe, `a + b` is noted for the end of n2, and the answer is true
//! ```
//!
//! An answer is (is it available, is it real): real means that an occurrence was reached, not only the question itself
//! again, around a loop that computes nothing. On its way up a question changes its text where an operand's definition can
//! be converted, `A[i]` into `A[i + 1]` above `i = i + 1`; so it may come to a block twice, and finds what the last round
//! of a loop has loaded. The second time definitions end it.
//!
//! What was noted is inserted only if the inquiry succeeds, and only what its success leans on ([`Support`]).
//!
//! Sound: an answer that is true says that on every way the value was computed, or will be by what is noted, with its
//! operands unchanged since, or changed by conversions that its form has followed. That is so by induction over the ways,
//! since true is kept only as long as nothing that it leans on turns out to be false ([`super::propagation`]).
//!
//! Bounds: a question comes to a block at most twice an inquiry (or as often as is asked for: each time more finds reuse one
//! round further back), and looking ends at a number of steps.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021, sections 4.1, 4.2, 5.1
//! and algorithm 1. The rules are asked in another order and answers are kept by question, as taken literally the algorithm
//! gives wrong values; see [`Availability::arrive`].

use alloc::string::String;
use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

use smallvec::SmallVec;

use super::anticipation::{Anticipated, Anticipation};
use super::forms::{Form, FormSet};
use super::items::Occurrence;
use super::propagation::{Arrival, Finding, Keeps, Local, Meeting, Problem, Propagation, QuestionLog, RecordId, Time};
use super::region::{BranchSet, Region};
use super::snapshot::{Climb, ClimbEnd, Snapshot, Start, Step};
use super::ways::Spot;
use super::{DownSafety, Faulting};
use crate::ir::{Block, Function, Reg};
use crate::trace::{Answer, NoTrace, Query, QuestionEvent, QuestionId};

/// Asked of a block's end.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AvailabilityQuestion {
    /// The form there.
    pub form: Form,
    /// All forms since it was raised, among which an anticipatability question chooses.
    pub taken: FormSet,
    /// The divergent branches of who asked first; see [`Region::asker`].
    pub asker: BranchSet,
}

/// See the file's head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Available {
    /// On every way?
    pub is_available: bool,
    /// From an occurrence?
    pub is_real: bool,
    /// Is it false only because a block is not visited a third time, nor converted twice?
    is_limited: bool,
    /// Is it false only because no occurrence had been reached yet, where it is available on some way?
    is_unreal: bool,
    /// Why answers were not made the same, the first time on the way; who is answered from memory hears it, too.
    why: Why,
}

/// A refusal, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Why(u32);

impl Why {
    const NOTHING: Why = Why(u32::MAX);

    fn or(self, other: Why) -> Why {
        if self == Why::NOTHING { other } else { self }
    }
}

impl Available {
    const NO: Available =
        Available { is_available: false, is_real: false, is_limited: false, is_unreal: false, why: Why::NOTHING };
    const LIMITED: Available = Available { is_limited: true, ..Available::NO };
    const YES: Available = Available { is_available: true, is_real: true, ..Available::NO };
}

/// Details that a question found, beside its answer. Most find nothing.
#[derive(Clone, Default)]
struct Detail {
    steps: SmallVec<[Step; 1]>,
    same: Option<Occurrence>,
    noted: SmallVec<[Spot; 1]>,
}

impl Detail {
    /// Adds what its answer leans on; `form` is what was asked and `asked` are those whom it asked.
    fn add_to(
        &self,
        form: Form,
        asked: impl Iterator<Item = (Block, RecordId)>,
        support: &mut Support,
        pending: &mut Vec<RecordId>,
    ) {
        support.shifts.extend(self.steps.iter().copied());
        let top = self.steps.last().map_or(form, |step| step.above);
        if let Some(occurrence) = self.same {
            support.sources.push((occurrence, top));
            return;
        }
        let in_front = self.noted.iter().filter(|spot| matches!(spot, Spot::Front(_)));
        support.insertions.extend(in_front.map(|&spot| (spot, top)));
        for (from, record) in asked {
            match self.noted.iter().find(|spot| spot.is_for_edge_from(from)) {
                Some(&spot) => support.insertions.push((spot, top)),
                None => pending.push(record),
            }
        }
    }
}

/// Reasons why nothing can be inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// No way leads to an occurrence.
    NotThere,
    /// The block where answers met is not down-safe for the form.
    NotDownSafe(Form, Block),
    /// The place where the form would be inserted depends on that divergent branch.
    Divergent(Form, Spot, Block),
    /// Nothing has assigned an operand of the form on any way there.
    Unassigned(Form, Spot),
    /// Control comes to the block from outside as well, so that there is no place in front of it. If the block is the only entry
    /// of the function, nothing but that place is missing.
    NoPlace(Form, Block),
    /// The form may fault there, and that is not allowed.
    MayFault(Form, Spot),
    /// Too much had been looked at.
    Budget,
}

/// May answers that differ be made the same by insertions?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insertion {
    /// No.
    Never,
    /// Wherever it is down-safe.
    Anywhere,
    /// Insertion within the region, without a deciding divergent branch, too.
    InRegion,
}

/// Notes found beside answers: on which path, and the noted insertions.
#[derive(Default)]
pub struct Notes {
    /// Finding of each record.
    found: Vec<PackedFound>,
    details: Vec<Detail>,
    /// Last inquiry whose success depends on each record.
    supported: Vec<u32>,
    /// Records that are still to be followed; empty between.
    pending: Vec<RecordId>,
    /// Form and findings of the inquiry.
    root: (Option<Form>, Detail),
    /// The inquiry in which a block was visited last, and how often in it.
    visits: SecondaryMap<Block, (u32, u32)>,
    inquiry: u32,
    /// Why answers were not made the same.
    refusals: Vec<Refusal>,
    /// Did this inquiry's form pass what stands above it in its own block?
    pub passes: bool,
}

/// Finding of a record: mostly nothing or an occurrence, which fit here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Same(Occurrence),
    /// An index into the details.
    More(u32),
}

/// Packed finding, in one word: there is one for each record.
#[derive(Clone, Copy, Default)]
struct PackedFound(u32);

impl From<Found> for PackedFound {
    fn from(found: Found) -> PackedFound {
        PackedFound(match found {
            Found::Nothing => 0,
            Found::Same(occurrence) => occurrence.as_u32() << 1 | 1,
            Found::More(detail) => (detail + 1) << 1,
        })
    }
}

impl PackedFound {
    fn unpacked(self) -> Found {
        match (self.0 >> 1, self.0 & 1) {
            (0, 0) => Found::Nothing,
            (occurrence, 1) => Found::Same(Occurrence::from_u32(occurrence)),
            (detail, _) => Found::More(detail - 1),
        }
    }
}

impl Notes {
    /// Returns the finding of a record.
    fn found(&self, record: RecordId) -> Found {
        self.found.get(record as usize).map_or(Found::Nothing, |found| found.unpacked())
    }

    /// Notes what a record has found.
    fn find(&mut self, record: RecordId, found: Found) {
        if self.found.len() <= record as usize {
            self.found.resize(record as usize + 1, PackedFound::default());
        }
        self.found[record as usize] = found.into();
    }

    /// Returns the finding of a record or the inquiry, to be added to.
    fn of(&mut self, record: Option<RecordId>) -> &mut Detail {
        let Some(record) = record else { return &mut self.root.1 };
        let next = self.details.len() as u32;
        if let Found::More(detail) = self.found(record) {
            return &mut self.details[detail as usize];
        }
        self.find(record, Found::More(next));
        self.details.push(Detail::default());
        &mut self.details[next as usize]
    }

    /// Notes why answers were not made the same.
    fn refuse(&mut self, refusal: Refusal) -> Why {
        if self.refusals.last() != Some(&refusal) {
            self.refusals.push(refusal);
        }
        Why(self.refusals.len() as u32 - 1)
    }

    /// How often a block has been visited in this inquiry, with this visit.
    fn visit(&mut self, block: Block) -> u32 {
        let (inquiry, count) = &mut self.visits[block];
        *count = if *inquiry == self.inquiry { *count + 1 } else { 1 };
        *inquiry = self.inquiry;
        *count
    }
}

/// See the file's head.
pub struct Availability<'q, 'm> {
    /// Snapshot of the function.
    pub snapshot: &'q mut Snapshot<'m>,
    /// Notes so far.
    pub notes: &'q mut Notes,
    /// Knowledge of anticipatability.
    pub anticipated: &'q mut Anticipated,
    /// Region in which insertions are allowed.
    pub region: &'q mut Region,
    /// Are they?
    pub insertion: Insertion,
    /// See [`DownSafety`].
    pub down_safety: DownSafety,
    /// See [`Faulting`].
    pub faulting: Faulting,
    /// How often a question comes to a block in one inquiry; the last time, definitions end it.
    pub visits: u32,
    /// No more than so many steps.
    pub budget: u64,
}

impl Problem for Availability<'_, '_> {
    type Question = AvailabilityQuestion;
    type Answer = Available;
    const UNDER_WAY: &'static str = "3";

    fn onward(&self, block: Block) -> &[Block] {
        self.snapshot.ways.up(block)
    }

    fn assumed() -> Available {
        Available { is_available: true, ..Available::NO }
    }

    fn is_good(answer: &Available) -> bool {
        answer.is_available
    }

    fn improve(&mut self, answer: &mut Available, proved: &Available) {
        // What was available because the question came back to where it was under way is real if that is.
        answer.is_real |= answer.is_available && proved.is_real;
    }

    fn holds(&self, question: AvailabilityQuestion, answer: &Available, time: Time) -> bool {
        // What is computed no more is there all the same, and what was not down-safe does not become so by it. Whether an
        // occurrence is reached may have been seen since; that is looked at again once anything has changed.
        let now = self.time(question);
        let is_same = now.changes.inserted == time.changes.inserted
            && (!answer.is_unreal || now.changes.replaced == time.changes.replaced);
        answer.is_available || (is_same && (!answer.is_limited || now.inquiry == time.inquiry))
    }

    fn time(&self, question: AvailabilityQuestion) -> Time {
        Time { inquiry: self.notes.inquiry, changes: self.snapshot.changes(question.form) }
    }

    /// The rules, in this order: what is known (the engine has looked), rule 3 (the engine too), rule 2, then 4, 5 and 6
    /// instruction by instruction from below, 1 where control comes from outside, and 7.
    fn arrive(&mut self, log: &mut QuestionLog<'_>, at: Arrival<AvailabilityQuestion>) -> Local<Self> {
        let Arrival { block, question, record, id } = at;
        if self.snapshot.steps > self.budget {
            let why = self.notes.refuse(Refusal::Budget);
            return Local::Answered("budget", Available { why, ..Available::LIMITED }, None);
        }
        let visit = self.notes.visit(block);
        if visit > self.visits {
            return Local::Answered("2", Available::LIMITED, None);
        }
        if self.snapshot.passes(block, question.form) {
            return match self.snapshot.ways.up(block).is_empty() {
                true => Local::Answered("1", Available::NO, None),
                false => Local::Forwarded("7", question),
            };
        }
        let climb = self.snapshot.climb(log.func, block, Start::End, question.form, visit < self.visits);
        tell_steps(log, self.snapshot, id, &climb);
        let taken = self.taken(question.taken, &climb);
        let is_converted = !climb.steps.is_empty();
        if is_converted {
            self.notes.of(Some(record)).steps = climb.steps;
        }
        match climb.end {
            ClimbEnd::Same(occurrence) => {
                if is_converted {
                    self.notes.of(Some(record)).same = Some(occurrence);
                } else {
                    self.notes.find(record, Found::Same(occurrence));
                }
                Local::Answered("5", Available::YES, self.snapshot.occurrence(occurrence).inst)
            }
            ClimbEnd::Changed => {
                Local::Answered("4", Available::NO, self.snapshot.told_inst_at(log, block, climb.place))
            }
            ClimbEnd::Again => {
                Local::Answered("4", Available::LIMITED, self.snapshot.told_inst_at(log, block, climb.place))
            }
            ClimbEnd::Top if self.snapshot.ways.up(block).is_empty() => Local::Answered("1", Available::NO, None),
            ClimbEnd::Top => {
                Local::Forwarded("7", AvailabilityQuestion { form: climb.form, taken, asker: question.asker })
            }
        }
    }

    fn meet(
        &mut self,
        log: &mut QuestionLog<'_>,
        place: Meeting<AvailabilityQuestion>,
        answers: &[(Block, Available)],
    ) -> (&'static str, Available) {
        let from_outside = self.snapshot.ways.is_entry(place.block);
        if let &[(_, answer)] = answers
            && !from_outside
        {
            let yes = Available { is_limited: false, is_unreal: false, ..answer };
            return ("7", if answer.is_available { yes } else { Available { is_real: false, ..answer } });
        }
        let why = answers.iter().fold(Why::NOTHING, |why, (_, answer)| why.or(answer.why));
        let good = answers.iter().filter(|(_, answer)| answer.is_available);
        let is_real = good.clone().any(|(_, answer)| answer.is_real);
        if good.clone().count() == answers.len() && !from_outside {
            return ("7", Available { is_available: true, is_real, why, ..Available::NO });
        }
        let is_limited = answers.iter().any(|(_, answer)| answer.is_limited);
        let count = good.count();
        let is_unreal = count > 0 && !is_real || answers.iter().any(|(_, answer)| answer.is_unreal);
        let failed = Available { is_limited, is_unreal, why, ..Available::NO };
        if count == 0 || self.insertion == Insertion::Never {
            return ("7", failed);
        }
        match self.spots(log, place, answers, is_real, from_outside) {
            Ok(spots) => {
                for &spot in spots.iter().filter(|spot| !matches!(spot, Spot::Front(_))) {
                    log.record(|func| QuestionEvent::Noted {
                        id: place.id,
                        expression: self.snapshot.forms.text(self.snapshot.module, func, place.forwarded.form),
                        block: spot.block(),
                        onto: spot.target(),
                    });
                }
                self.notes.of(place.record).noted = spots;
                ("7", Available { is_available: true, is_real, why, ..Available::NO })
            }
            // That nothing has been reached yet is no reason that says more than the answer.
            Err(refusal) if why != Why::NOTHING || refusal == Refusal::NotThere => ("7", failed),
            Err(refusal) => ("7", Available { why: self.notes.refuse(refusal), ..failed }),
        }
    }

    fn describe(&self, func: &Function, question: AvailabilityQuestion) -> (String, Option<Block>) {
        (self.snapshot.forms.text(self.snapshot.module, func, question.form), None)
    }

    fn answer(&self, answer: &Available, _: &mut dyn FnMut() -> Vec<Block>) -> Answer {
        Answer::Available { is_available: answer.is_available, is_real: answer.is_real }
    }

    fn keeps(&self, record: RecordId, _: &Available) -> Keeps {
        match self.notes.found(record) {
            Found::Nothing => Keeps::Ends,
            Found::Same(_) | Found::More(_) => Keeps::Asked,
        }
    }
}

/// Support of an inquiry's success.
#[derive(Clone, Default, Debug)]
pub struct Support {
    /// Occurrences, each with the form whose value it computes.
    pub sources: SmallVec<[(Occurrence, Form); 2]>,
    /// Definitions at which the form changes.
    pub shifts: SmallVec<[Step; 1]>,
    /// Insertions and their places.
    pub insertions: SmallVec<[(Spot, Form); 1]>,
}

impl<'m> Availability<'_, 'm> {
    /// Is the value of a form available before an instruction? Gives what that leans on, or why it is not. `root` is the
    /// instruction's block, `id` the inquiry's number.
    pub fn inquire(
        &mut self,
        known: &mut Propagation<AvailabilityQuestion, Available>,
        log: &mut QuestionLog<'_>,
        (root, before): (Block, Start),
        form: Form,
        id: QuestionId,
    ) -> Result<Support, Refusal> {
        self.notes.inquiry += 1;
        self.notes.root = (Some(form), Detail::default());
        // The block counts as not visited, though what stands above the instruction is looked at first.
        let climb = self.snapshot.climb(log.func, root, before, form, true);
        tell_steps(log, self.snapshot, id, &climb);
        let only = self.snapshot.forms.only(form);
        let taken = self.taken(only, &climb);
        self.notes.passes = climb.passes();
        self.notes.root.1.steps = climb.steps;
        match climb.end {
            ClimbEnd::Same(occurrence) => {
                self.notes.root.1.same = Some(occurrence);
                return Ok(self.support(known, &[]));
            }
            ClimbEnd::Changed | ClimbEnd::Again => return Err(Refusal::NotThere),
            ClimbEnd::Top => {}
        }
        let neighbours: SmallVec<[Block; 4]> = self.onward(root).into();
        if neighbours.is_empty() {
            return Err(Refusal::NotThere);
        }
        let asker = self.region.asker(root);
        let question = AvailabilityQuestion { form: climb.form, taken, asker };
        let Finding { answer, asked, .. } = known.inquire(self, log, (root, &neighbours), question, id);
        if answer.is_available && answer.is_real {
            let support = self.support(known, &asked);
            let in_front = support.insertions.iter().find_map(|&(spot, form)| match spot {
                Spot::Front(block) => Some(Refusal::NoPlace(form, block)),
                _ => None,
            });
            return in_front.map_or(Ok(support), Err);
        }
        Err(self.notes.refusals.get(answer.why.0 as usize).copied().unwrap_or(Refusal::NotThere))
    }

    /// The forms that a question has taken, with those of its way through a block.
    fn taken(&mut self, taken: FormSet, climb: &Climb) -> FormSet {
        if climb.steps.is_empty() {
            return taken;
        }
        match self.down_safety {
            DownSafety::Paper => climb.steps.iter().fold(taken, |set, step| self.snapshot.forms.with(set, step.above)),
            DownSafety::Exact => self.snapshot.forms.only(climb.form),
        }
    }

    /// Spots where answers that differ can be made equal.
    fn spots(
        &mut self,
        log: &mut QuestionLog<'_>,
        place: Meeting<AvailabilityQuestion>,
        answers: &[(Block, Available)],
        is_real: bool,
        from_outside: bool,
    ) -> Result<SmallVec<[Spot; 1]>, Refusal> {
        let form = place.forwarded.form;
        if !is_real {
            return Err(Refusal::NotThere);
        }
        if from_outside && !log.func.entries.is_empty() {
            return Err(Refusal::NoPlace(form, place.block));
        }
        if !self.is_anticipated(log, place, place.forwarded.taken) {
            return Err(Refusal::NotDownSafe(form, place.block));
        }
        let without = answers.iter().filter(|(_, answer)| !answer.is_available);
        let inside = without.map(|&(from, _)| self.snapshot.ways.spot(from, place.block));
        let spots: SmallVec<[Spot; 1]> = inside.chain(from_outside.then_some(Spot::Front(place.block))).collect();
        // In front of everything only parameters hold something.
        let is_param = |&reg: &Reg| log.func.param_of(reg).is_some();
        let reads_unassigned = |spot: &&Spot| match spot {
            Spot::Front(_) => !self.snapshot.forms.regs(form).iter().all(is_param),
            _ => self.snapshot.reads_unassigned(log.func, spot.block(), form),
        };
        if let Some(&spot) = spots.iter().find(reads_unassigned) {
            return Err(Refusal::Unassigned(form, spot));
        }
        if self.insertion == Insertion::InRegion {
            for &spot in &spots {
                let branch = self.region.spot_kept_out_by(spot, place.forwarded.asker);
                if let Some(branch) = branch {
                    return Err(Refusal::Divergent(form, spot, branch));
                }
            }
        }
        if self.faulting != Faulting::Spec && self.snapshot.forms.expression(form).is_load() {
            let may_fault = spots.iter().find(|&&spot| !self.snapshot.is_within_array(log.func, spot, form));
            let only = self.snapshot.forms.only(form);
            if let Some(&spot) = may_fault
                && !self.is_anticipated(log, place, only)
            {
                return Err(Refusal::MayFault(form, spot));
            }
        }
        Ok(spots)
    }

    fn is_anticipated(
        &mut self,
        log: &mut QuestionLog<'_>,
        place: Meeting<AvailabilityQuestion>,
        set: FormSet,
    ) -> bool {
        anticipated(self.snapshot, self.anticipated, log, (place.block, &[place.block]), set, Some(place.id))
    }

    /// Support of the inquiry that has just succeeded.
    fn support(
        &mut self,
        known: &mut Propagation<AvailabilityQuestion, Available>,
        asked: &[(Block, RecordId)],
    ) -> Support {
        let mut support = Support::default();
        let mut pending = core::mem::take(&mut self.notes.pending);
        let (Some(form), root) = &self.notes.root else { return support };
        root.add_to(*form, asked.iter().copied(), &mut support, &mut pending);
        let Notes { found, details, supported, inquiry, .. } = &mut *self.notes;
        supported.resize(known.len().max(supported.len()), 0);
        while let Some(record) = pending.pop() {
            let record = known.end(record);
            debug_assert!(known.answer(record).is_some_and(|answer| answer.is_available), "it is leaned on");
            if core::mem::replace(&mut supported[record as usize], *inquiry) == *inquiry {
                continue;
            }
            match found.get(record as usize).map_or(Found::Nothing, |found| found.unpacked()) {
                Found::Nothing => pending.extend(known.asked(record).map(|(_, record)| record)),
                Found::Same(occurrence) => support.sources.push((occurrence, known.question(record).form)),
                Found::More(detail) => {
                    let form = known.question(record).form;
                    details[detail as usize].add_to(form, known.asked(record), &mut support, &mut pending);
                }
            }
        }
        self.notes.pending = pending;
        support
    }
}

/// Is one of these forms anticipated at the blocks asked? Those who listen hear all that may be asked; it counts for nothing
/// else, so that nothing depends on them.
pub fn anticipated(
    snapshot: &mut Snapshot<'_>,
    known: &mut Anticipated,
    log: &mut QuestionLog<'_>,
    (root, asked): (Block, &[Block]),
    set: FormSet,
    parent: Option<QuestionId>,
) -> bool {
    if log.is_traced() {
        let steps = snapshot.steps;
        tell_anticipated(snapshot, known, log, (root, asked), set, parent);
        snapshot.steps = steps;
    }
    let (mut silent, mut last_id) = (NoTrace, 0);
    let mut silently = QuestionLog::new(log.func, &mut silent, &mut last_id);
    known.asked.inquire(&mut Anticipation { snapshot }, &mut silently, (root, asked), set, 0).answer
}

/// Reports anticipatability to listeners only.
pub fn tell_anticipated(
    snapshot: &mut Snapshot<'_>,
    known: &mut Anticipated,
    log: &mut QuestionLog<'_>,
    (root, asked): (Block, &[Block]),
    set: FormSet,
    parent: Option<QuestionId>,
) -> bool {
    let id = log.number();
    let mut problem = Anticipation { snapshot };
    log.record(|func| QuestionEvent::Began {
        id,
        parent,
        query: Query::Anticipatability,
        expression: problem.describe(func, set).0,
        root,
        inst: None,
    });
    let answer = known.told.inquire(&mut problem, log, (root, asked), set, id).answer;
    log.record(|_| QuestionEvent::Ended { id, answer: Answer::Anticipated(answer) });
    answer
}

/// Tells how a question's text changes on its way through a block.
fn tell_steps(log: &mut QuestionLog<'_>, snapshot: &Snapshot<'_>, id: QuestionId, climb: &Climb) {
    for &Step { inst, above, .. } in &climb.steps {
        log.record(|func| QuestionEvent::Converted {
            id,
            expression: snapshot.forms.text(snapshot.module, func, above),
            inst,
        });
    }
}
