//! Demand-driven question propagation.
//!
//! ```text
//! n8: x = ld.global.f32 A[i]
//!     available?      A[i]? goes up from n8, is A[i + 1]? above `i = i + 1`, meets a load of A[i + 1] in n5, nothing in n6
//!     anticipated?    where answers differ, A[i] or A[i + 1]? goes down: will one of them be loaded anyway?
//!     speculated?     failing that, can the load move in front of a branch that diverges?
//! ```
//!
//! One engine ([`propagation`]) carries questions over the graph, remembers answers and records its steps in the trace. Three
//! kinds of questions ([`availability`], [`anticipation`], [`speculation`]) say what a block answers by itself. They look at one
//! [`Snapshot`] of the function.
//! [`Inquiries`] puts them together: a pass asks about one instruction after the other, and says what it inserted and took
//! away.
//!
//! Bounds: all inquiries of a pass together look at no more than [`STEPS_EACH`] accesses and blocks for each instruction of
//! the function, and [`STEPS_FREE`] besides; what is asked after that is answered "no", and the pass says so.

mod anticipation;
mod availability;
mod definitions;
mod forms;
mod items;
mod known;
mod propagation;
mod region;
mod snapshot;
mod speculation;
mod ways;

use alloc::vec::Vec;

use smallvec::SmallVec;

use crate::ir::{Block, Function};
use crate::trace::{Answer, NoTrace, Query, QuestionEvent, QuestionId, Trace};
use anticipation::Anticipated;
use availability::{Availability, AvailabilityQuestion, Available, Notes, anticipated};
use propagation::{Problem, Propagation, QuestionLog};
use speculation::{Hoistable, Speculation, SpeculationQuestion};

pub use availability::{Insertion, Refusal, Support};
pub use forms::{Expression, Form, FormSet, Forms, LoadKind, Subject};
pub use items::{END, Occurrence};
pub use region::{BranchSet, Reach, Region, Shape};
pub use snapshot::{Changes, Climb, ClimbEnd, Element, Interest, OccurrenceData, Snapshot, Start, Step};
pub use ways::{Spot, Ways};

/// Steps for each instruction of the function.
pub const STEPS_EACH: u64 = 16;

/// Steps that are free.
pub const STEPS_FREE: u64 = 100_000;

/// When does a later computation justify an insertion?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DownSafety {
    /// If it is of any form that the question has taken, as in the paper.
    Paper,
    /// If it is of the form that would be inserted.
    Exact,
}

/// Handling of a load that might fault on a new path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Faulting {
    /// It is marked as one that does not.
    Spec,
    /// It takes the condition under which it would have been made as its guard.
    Guarded,
    /// It is not put there.
    Never,
}

/// Across which branches expressions move up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crossing {
    /// None.
    Nothing,
    /// Those that diverge.
    Divergent,
    /// All.
    Everything,
}

/// Rules of what is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Places where expressions are inserted.
    pub insertion: Insertion,
    /// Which branches they are moved across.
    pub crossing: Crossing,
    /// See [`DownSafety`].
    pub down_safety: DownSafety,
    /// See [`Faulting`].
    pub faulting: Faulting,
    /// How often a question comes to a block.
    pub visits: u32,
    /// Do answers to speculation questions meet as in lines 7 to 9 of algorithm 2?
    pub meets_partially: bool,
}

/// Knowledge of availability under some rule.
type Asked = (Propagation<AvailabilityQuestion, Available>, Notes);

/// Context of a pass's questions, with the answers of earlier ones.
pub struct Inquiries<'m> {
    /// Snapshot that they read.
    pub snapshot: Snapshot<'m>,
    rules: Rules,
    region: Region,
    /// None where nothing depends on branches.
    shape: Option<Shape>,
    availability: Asked,
    /// Questions with nothing inserted.
    coverage: Asked,
    /// Questions with insertions wherever it is down-safe.
    anywhere: Asked,
    /// With what is tried out: with insertions as ruled, and wherever it is down-safe.
    trial: [Asked; 2],
    anticipation: Anticipated,
    speculation: Propagation<SpeculationQuestion, Hoistable>,
    sent: Vec<&'static str>,
    /// Questions across every branch.
    boldly: (Propagation<SpeculationQuestion, Hoistable>, Vec<&'static str>),
    /// Questions for listeners.
    told: (Propagation<SpeculationQuestion, Hoistable>, Vec<&'static str>),
    /// Has no budget ended what they were told?
    is_told_all: bool,
    last_id: QuestionId,
    /// The last occurrence whose way up its own block was looked at, how often its answers had changed before, and whether
    /// it passes all that stands there.
    above: Option<(Occurrence, Changes, bool)>,
    budget: u64,
}

/// Target of an expression that moves.
#[derive(Clone, Debug)]
pub struct Hoist {
    /// The form.
    pub form: Form,
    /// The ends of these blocks.
    pub blocks: Vec<Block>,
    /// Is it to be inserted on edges besides, where ways from elsewhere meet those from there?
    pub has_gaps: bool,
}

impl<'m> Inquiries<'m> {
    /// Before the first question. `is_divergent` lists the blocks whose branches diverge, rising. Without a graph's
    /// shape nothing depends on branches, and nothing moves up in front of one.
    pub fn new(
        snapshot: Snapshot<'m>,
        rules: Rules,
        reach: Reach,
        is_divergent: Vec<Block>,
        shape: Option<Shape>,
        instructions: usize,
    ) -> Inquiries<'m> {
        debug_assert!(is_divergent.is_sorted());
        let occurrences = snapshot.occurrence_count();
        Inquiries {
            snapshot,
            rules,
            region: Region::new(shape.clone(), is_divergent.iter().copied(), reach),
            shape,
            availability: (Propagation::with_room(occurrences), Notes::default()),
            coverage: Default::default(),
            anywhere: Default::default(),
            trial: Default::default(),
            anticipation: Anticipated::default(),
            speculation: Propagation::with_room(occurrences),
            sent: Vec::new(),
            boldly: Default::default(),
            told: Default::default(),
            is_told_all: true,
            last_id: 0,
            above: None,
            budget: STEPS_FREE + STEPS_EACH * instructions as u64,
        }
    }

    /// Ends a question that all neighbours have to agree about with the first that does not.
    pub fn stopping_when_decided(mut self) -> Inquiries<'m> {
        self.speculation.stops_when_decided = true;
        self.boldly.0.stops_when_decided = true;
        self.anticipation.asked.stops_when_decided = true;
        self
    }

    /// Has so much been looked at that nothing more is?
    pub fn is_exhausted(&self) -> bool {
        self.snapshot.steps > self.budget
    }

    /// Do expressions move up across the branch at the end of a block?
    pub fn is_crossed(&self, branch: Block) -> bool {
        match self.rules.crossing {
            Crossing::Nothing => false,
            Crossing::Divergent => self.region.is_divergent(branch),
            Crossing::Everything => true,
        }
    }

    /// Does whoever leaves a block come by another one, however branches go?
    pub fn always_comes_by(&self, from: Block, by: Block) -> bool {
        let named = |block: Block| (!self.snapshot.ways.is_on_edge(block)).then_some(block);
        let (Some(from), Some(by), Some(shape)) = (named(from), named(by), &self.shape) else { return false };
        from != by && shape.post_dominators.post_dominates(by, from)
    }

    /// The region where insertions make no warp run more sides of branches.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Is what an instruction computes available before it? Gives what that leans on, or why not.
    pub fn available(
        &mut self,
        func: &Function,
        trace: &mut dyn Trace,
        occurrence: Occurrence,
    ) -> Result<Support, Refusal> {
        let data = self.snapshot.occurrence(occurrence);
        let (&OccurrenceData { inst, block, form, .. }, start) = (data, data.start());
        let mut log = QuestionLog::new(func, trace, &mut self.last_id);
        let id = log.number();
        let (known, notes) = &mut self.availability;
        let mut problem = Availability {
            snapshot: &mut self.snapshot,
            notes,
            anticipated: &mut self.anticipation,
            region: &mut self.region,
            insertion: self.rules.insertion,
            down_safety: self.rules.down_safety,
            faulting: self.rules.faulting,
            visits: self.rules.visits,
            budget: self.budget,
        };
        log.record(|func| QuestionEvent::Began {
            id,
            parent: None,
            query: Query::Availability,
            expression: problem.snapshot.forms.text(problem.snapshot.module, func, form),
            root: block,
            inst,
        });
        let found = problem.inquire(known, &mut log, (block, start), form, id);
        self.above = Some((occurrence, problem.snapshot.changes(form), problem.notes.passes));
        let is_available = found.is_ok();
        let answer = Answer::Available { is_available, is_real: is_available };
        log.record(|_| QuestionEvent::Ended { id, answer });
        found
    }

    /// Can an instruction move up in front of branches? Where it would not be available afterwards it cannot.
    pub fn hoist(&mut self, func: &Function, trace: &mut dyn Trace, occurrence: Occurrence) -> Option<Hoist> {
        let Some(shape) = &self.shape else { return None };
        let data = self.snapshot.occurrence(occurrence);
        let (&OccurrenceData { inst, block, form, .. }, start) = (data, data.start());
        let mut log = QuestionLog::new(func, trace, &mut self.last_id);
        let id = log.number();
        let crossing = self.rules.crossing;
        let region = &self.region;
        let is_crossed = |branch: Block| match crossing {
            Crossing::Nothing => false,
            Crossing::Divergent => region.is_divergent(branch),
            Crossing::Everything => true,
        };
        log.record(|func| QuestionEvent::Began {
            id,
            parent: None,
            query: Query::Speculation,
            expression: self.snapshot.forms.text(self.snapshot.module, func, form),
            root: block,
            inst,
        });
        let neighbours: SmallVec<[Block; 4]> = self.snapshot.ways.up(block).into();
        // What stands above it in its own block is looked at first.
        let change = self.snapshot.changes(form);
        let passes = match self.above {
            Some((known, at, passes)) if (known, at) == (occurrence, change) => passes,
            _ => self.snapshot.climb(func, block, start, form, false).passes(),
        };
        self.above = Some((occurrence, change, passes));
        let is_asked = passes && !neighbours.is_empty();
        let question = SpeculationQuestion { form, mover: block };
        let steps = self.snapshot.steps;
        let mut problem = Speculation {
            snapshot: &mut self.snapshot,
            sent: &mut self.told.1,
            anticipated: &mut self.anticipation,
            is_told: true,
            shape,
            is_crossed: &is_crossed,
            region: &self.region,
            meets_partially: self.rules.meets_partially,
            budget: self.budget,
        };
        // Those who listen hear all that may be asked. It counts for nothing else, so that nothing depends on them.
        let told = (is_asked && log.is_traced())
            .then(|| self.told.0.inquire(&mut problem, &mut log, (block, &neighbours), question, id));
        self.is_told_all &= problem.snapshot.steps <= self.budget;
        problem.snapshot.steps = steps;
        let mut problem = Speculation { sent: &mut self.sent, is_told: false, ..problem };
        let (mut answer, mut blocks, mut bad) = (Hoistable::NO, Vec::new(), Vec::new());
        if is_asked {
            let (mut silent, mut last_id) = (NoTrace, 0);
            let mut silently = QuestionLog::new(func, &mut silent, &mut last_id);
            let known = &mut self.speculation;
            let found = known.inquire(&mut problem, &mut silently, (block, &neighbours), question, id);
            answer = found.answer;
            if answer.can_hoist {
                let ends = known.ends(found.asked, Speculation::is_good);
                problem.snapshot.steps += ends.looked_at;
                (blocks, bad) = (ends.blocks, ends.bad);
            }
        }
        if let Some(told) = told.filter(|_| self.is_told_all && problem.snapshot.steps <= self.budget) {
            debug_assert_eq!(told.answer.can_hoist, answer.can_hoist, "whoever else was asked, the answer is the same");
            debug_assert!(
                !answer.can_hoist || self.told.0.ends(told.asked, Speculation::is_good).blocks == blocks,
                "and where it moves"
            );
        }
        log.record(|_| QuestionEvent::Ended { id, answer: answer.told(&mut || blocks.clone()) });
        // Where others lead on from there, it is inserted on the edge.
        let is_gap =
            |block: &Block| bad.contains(block) && self.snapshot.ways.spot(*block, *block) != Spot::End(*block);
        let count = blocks.len();
        blocks.retain(|block| !is_gap(block));
        let has_gaps = blocks.len() < count;
        (!blocks.is_empty()).then_some(Hoist { form, blocks, has_gaps })
    }

    /// Hoists across every branch, whatever the rules are. Nothing is traced.
    pub fn hoist_boldly(&mut self, func: &Function, occurrence: Occurrence) -> Option<Hoist> {
        let crossing = core::mem::replace(&mut self.rules.crossing, Crossing::Everything);
        core::mem::swap(&mut self.boldly.0, &mut self.speculation);
        core::mem::swap(&mut self.boldly.1, &mut self.sent);
        let hoist = self.hoist(func, &mut NoTrace, occurrence);
        core::mem::swap(&mut self.boldly.0, &mut self.speculation);
        core::mem::swap(&mut self.boldly.1, &mut self.sent);
        self.rules.crossing = crossing;
        hoist
    }

    /// Does every way to an instruction come from an occurrence of what it computes, with nothing inserted? Nobody is told.
    pub fn is_covered(&mut self, func: &Function, occurrence: Occurrence) -> Option<Support> {
        let mut asked = core::mem::take(&mut self.coverage);
        let found = self.silently(func, occurrence, self.nothing_inserted(), &mut asked);
        self.coverage = asked;
        found.ok()
    }

    /// Is every element of a vector available before it, with nothing inserted? Gives what each leans on. Those who listen hear of
    /// it if all are.
    pub fn available_elements(
        &mut self,
        func: &Function,
        trace: &mut dyn Trace,
        occurrence: Occurrence,
    ) -> Option<Vec<(Occurrence, Support)>> {
        let elements: SmallVec<[Occurrence; 4]> = self.snapshot.elements(occurrence).into();
        let form = self.snapshot.occurrence(occurrence).form;
        if elements.is_empty() || elements.len() < self.snapshot.forms.expression(form).types.len() {
            return None;
        }
        let found: Option<Vec<_>> =
            elements.iter().map(|&element| Some((element, self.is_covered(func, element)?))).collect();
        if trace.is_on() && found.is_some() {
            // Asked afresh, as if nothing were known; it looks at nothing more.
            let steps = self.snapshot.steps;
            let mut asked = Asked::default();
            for element in elements {
                self.tell_covered(func, trace, element, &mut asked);
            }
            self.snapshot.steps = steps;
        }
        found
    }

    /// If what an occurrence computes were computed at the end of a block, would every way to the occurrence come from there,
    /// with nothing changed since? `others` come from there. Nobody is told.
    pub fn would_come_from(
        &mut self,
        func: &Function,
        occurrence: Occurrence,
        block: Block,
        others: &[Occurrence],
    ) -> bool {
        let form = self.snapshot.occurrence(occurrence).form;
        let tried = self.snapshot.insert(func, block, form);
        let support = self.is_covered(func, occurrence);
        self.withdraw(tried);
        support.is_some_and(|support| {
            support.shifts.is_empty()
                && support.sources.iter().all(|(source, _)| *source == tried || others.contains(source))
        })
    }

    /// Is what an instruction computes available before it, with insertions wherever it is down-safe?
    pub fn available_anywhere(
        &mut self,
        func: &Function,
        trace: &mut dyn Trace,
        occurrence: Occurrence,
    ) -> Result<Support, Refusal> {
        let insertion = core::mem::replace(&mut self.rules.insertion, Insertion::Anywhere);
        core::mem::swap(&mut self.anywhere, &mut self.availability);
        let found = self.available(func, trace, occurrence);
        core::mem::swap(&mut self.anywhere, &mut self.availability);
        self.rules.insertion = insertion;
        found
    }

    /// Begins a trial with an expression moved up, for [`Inquiries::available_on_trial`]. The result has to be
    /// given back to [`Inquiries::end_trial`].
    pub fn begin_trial(&mut self, func: &Function, hoist: &Hoist) -> Vec<Occurrence> {
        hoist.blocks.iter().map(|&block| self.snapshot.insert(func, block, hoist.form)).collect()
    }

    /// Is what an instruction computes available before it, with what is tried out? Insertions are as the rules have them,
    /// or wherever it is down-safe. Nobody is told.
    pub fn available_on_trial(
        &mut self,
        func: &Function,
        occurrence: Occurrence,
        anywhere: bool,
    ) -> Result<Support, Refusal> {
        let mut asked = core::mem::take(&mut self.trial[usize::from(anywhere)]);
        let insertion = if anywhere { Insertion::Anywhere } else { self.rules.insertion };
        let found = self.silently(func, occurrence, Rules { insertion, ..self.rules }, &mut asked);
        self.trial[usize::from(anywhere)] = asked;
        found
    }

    /// Ends a trial, and removes its answers.
    pub fn end_trial(&mut self, inserted: Vec<Occurrence>) {
        inserted.into_iter().for_each(|inserted| self.withdraw(inserted));
        self.trial = Default::default();
    }

    /// Support of an occurrence once an expression has moved up: nothing else, or insertions on edges.
    pub fn support_of_move(&mut self, func: &Function, occurrence: Occurrence, hoist: &Hoist) -> Option<Support> {
        if !hoist.has_gaps {
            return self.is_covered(func, occurrence);
        }
        let found = self.available_on_trial(func, occurrence, false).ok();
        self.trial = Default::default();
        found
    }

    /// The rules, but for insertions.
    fn nothing_inserted(&self) -> Rules {
        let (insertion, down_safety, faulting) = (Insertion::Never, DownSafety::Exact, Faulting::Spec);
        Rules { insertion, down_safety, faulting, ..self.rules }
    }

    fn tell_covered(&mut self, func: &Function, trace: &mut dyn Trace, occurrence: Occurrence, asked: &mut Asked) {
        let &OccurrenceData { inst, block, form, .. } = self.snapshot.occurrence(occurrence);
        let mut last_id = self.last_id;
        let mut log = QuestionLog::new(func, trace, &mut last_id);
        let id = log.number();
        log.record(|func| QuestionEvent::Began {
            id,
            parent: None,
            query: Query::Availability,
            expression: self.snapshot.forms.text(self.snapshot.module, func, form),
            root: block,
            inst,
        });
        let is_available = self.ask(&mut log, id, occurrence, self.nothing_inserted(), asked).is_ok();
        let answer = Answer::Available { is_available, is_real: is_available };
        log.record(|_| QuestionEvent::Ended { id, answer });
        self.last_id = last_id;
    }

    fn silently(
        &mut self,
        func: &Function,
        occurrence: Occurrence,
        rules: Rules,
        asked: &mut Asked,
    ) -> Result<Support, Refusal> {
        let (mut silent, mut last_id) = (NoTrace, self.last_id);
        let mut log = QuestionLog::new(func, &mut silent, &mut last_id);
        let found = self.ask(&mut log, 0, occurrence, rules, asked);
        self.last_id = last_id;
        found
    }

    fn ask(
        &mut self,
        log: &mut QuestionLog<'_>,
        id: QuestionId,
        occurrence: Occurrence,
        rules: Rules,
        (known, notes): &mut Asked,
    ) -> Result<Support, Refusal> {
        let data = self.snapshot.occurrence(occurrence);
        let (&OccurrenceData { block, form, .. }, start) = (data, data.start());
        let mut problem = Availability {
            snapshot: &mut self.snapshot,
            notes,
            anticipated: &mut self.anticipation,
            region: &mut self.region,
            insertion: rules.insertion,
            down_safety: rules.down_safety,
            faulting: rules.faulting,
            visits: rules.visits,
            budget: self.budget,
        };
        problem.inquire(known, log, (block, start), form, id)
    }

    /// Withdraws an insertion, and the answers that depend on it.
    pub fn withdraw(&mut self, occurrence: Occurrence) {
        self.snapshot.withdraw(occurrence);
        self.coverage = Default::default();
    }

    /// Can a form be computed there without a fault that would not have come anyway? So it is if it is computed on every
    /// way on from there, or lies within an array whose size is known. Nobody is told.
    /// Where it may fault all the same, what is inserted next makes any answer stale, so that none is kept; elsewhere a
    /// refusal may follow, and later questions find the answers.
    pub fn is_good_address(&mut self, func: &Function, spot: Spot, form: Form) -> bool {
        if !self.snapshot.forms.expression(form).is_load() || self.snapshot.is_within_array(func, spot, form) {
            return true;
        }
        let behind: SmallVec<[Block; 4]> = match spot {
            Spot::Edge(_, to) => SmallVec::from_elem(to, 1),
            Spot::End(block) => self.snapshot.ways.down(block).into(),
            Spot::Front(block) => SmallVec::from_elem(block, 1),
        };
        if self.rules.faulting == Faulting::Spec || self.snapshot.has_marked {
            return self.snapshot.is_computed_behind(func, &behind, form, self.budget);
        }
        let set = self.snapshot.forms.only(form);
        let mut silent = NoTrace;
        let mut log = QuestionLog::new(func, &mut silent, &mut self.last_id);
        let Some(&root) = behind.first() else { return false };
        anticipated(&mut self.snapshot, &mut self.anticipation, &mut log, (root, &behind), set, None)
    }

    /// A block has been put in front of the only entry. What is known was found without it.
    pub fn put_in_front(&mut self, front: Block, first: Block) {
        self.snapshot.ways.put_in_front(front, first);
        for asked in [&mut self.availability, &mut self.coverage, &mut self.anywhere] {
            *asked = Default::default();
        }
        self.trial = Default::default();
        let decides = self.speculation.stops_when_decided;
        for (known, sent) in [
            (&mut self.speculation, &mut self.sent),
            (&mut self.boldly.0, &mut self.boldly.1),
            (&mut self.told.0, &mut self.told.1),
        ] {
            (*known, *sent) = Default::default();
        }
        (self.speculation.stops_when_decided, self.boldly.0.stops_when_decided) = (decides, decides);
        self.above = None;
    }

    /// A block has been put on an edge.
    pub fn split(&mut self, middle: Block, from: Block, to: Block) {
        self.snapshot.ways.split(middle, from, to);
        self.region.split(middle, from);
    }
}
