//! Demand-driven question propagation.
//!
//! ```text
//! n8: x = ld.global.f32 A[i]
//!     available?      A[i]? goes up from n8, is A[i + 1]? above `i = i + 1`, finds A[i + 1] in n5, nothing in n6
//!     anticipated?    where answers differ, A[i] or A[i + 1]? goes down: will one of them be loaded anyway?
//!     speculated?     failing that, can the load move up before a divergent branch?
//! ```
//!
//! One engine ([`propagation`]) carries questions of any kind ([`problem`]) over the graph
//! ([`edges`]), keeps answers and records events. Three problems ([`availability`],
//! [`anticipation`], [`speculation`]) give the effect of a block and the meet of answers. They read
//! one [`Snapshot`] of the function. [`QueryEngine`] puts them together: a pass asks about one
//! instruction after the other, and reports the insertions and replacements that it makes.
//!
//! [`Rules`] are part of each question. A trial, moves across all branches and coverage are
//! questions with other rules; they share the engine and its answers.
//!
//! Limits: all inquiries of a pass take at most [`STEPS_EACH`] steps for each instruction of the
//! function, and [`STEPS_FREE`] besides; later questions are answered "no", and the pass reports
//! it.

mod anticipation;
mod availability;
mod definitions;
mod edges;
mod forms;
mod log;
mod problem;
mod propagation;
mod region;
mod rules;
mod snapshot;
mod speculation;
mod support;

use alloc::vec::Vec;

use smallvec::SmallVec;

use crate::ir::{Block, Function};
use crate::trace::{Answer, NoTrace, Query, QuestionId, Trace};
use anticipation::{Anticipation, AnticipationQuestion, Anticipations, Purpose};
use availability::{Availabilities, AvailabilityRoot};
use log::QuestionLog;
use propagation::PathEnds;
use snapshot::STEPS_A_BLOCK;
use speculation::{Hoistable, Speculation, SpeculationQuestion, Speculations};

pub use edges::{InsertionPoint, SplitGraph};
pub use forms::{Expression, Form, FormSet, Forms, LoadKind, Subject};
pub use region::{BranchSet, Reach, Region, Shape};
pub use rules::{Crossing, DownSafety, Faulting, Insertion, Refusal, Rules};
pub use snapshot::{
    Changes, Conversion, Element, Interest, Occurrence, OccurrenceData, ScanEnd, ScanStart, Snapshot, UpwardScan,
};
pub use support::Support;

/// Steps for each instruction of the function. Time for 20 questions at blocks, or 1,000 accesses.
pub const STEPS_EACH: u64 = 1_000;

/// Steps for a function of any size.
pub const STEPS_FREE: u64 = 6_250_000;

/// Steps after which the engine forgets all answers, which bounds the memory of their records. If
/// it kept them, `preqp` would take 1.4 times as long on 10,000 instructions with deep loops.
const STEPS_REMEMBERED: u64 = 800_000;

/// The state that problems share.
struct QueryContext<'q, 'm> {
    snapshot: &'q mut Snapshot<'m>,
    anticipations: &'q mut Anticipations,
    region: &'q mut Region,
}

impl QueryContext<'_, '_> {
    /// Is one of these forms anticipated at the blocks asked?
    fn is_anticipated(
        &mut self,
        log: &mut QuestionLog<'_>,
        (root, asked): (Block, &[Block]),
        forms: FormSet,
        parent: QuestionId,
    ) -> bool {
        let question = AnticipationQuestion { forms, purpose: Purpose::DownSafety };
        Anticipation { snapshot: self.snapshot }.inquire(self.anticipations, log, (root, asked), question, Some(parent))
    }
}

/// The questions of a pass about one function, with their answers.
pub struct QueryEngine<'m> {
    /// The function.
    pub snapshot: Snapshot<'m>,
    rules: Rules,
    region: Region,
    /// None where nothing depends on branches.
    shape: Option<Shape>,
    availabilities: Availabilities,
    anticipations: Anticipations,
    speculations: Speculations,
    last_id: QuestionId,
    /// Trials count up, and those for the trace alone down.
    last_trial: u32,
    last_trace: u32,
    /// Steps when the engine last forgot all answers.
    forgotten_at: u64,
}

/// A move of an expression.
#[derive(Clone, Debug)]
pub struct Hoist {
    /// The form.
    pub form: Form,
    /// The blocks to whose ends it moves.
    pub blocks: Vec<Block>,
    /// Is it to be inserted on edges besides, where paths from elsewhere meet those from these
    /// blocks?
    pub has_gaps: bool,
}

impl<'m> QueryEngine<'m> {
    /// The engine before the first question. Without a shape nothing depends on branches, and
    /// nothing moves up before one.
    pub fn new(
        mut snapshot: Snapshot<'m>,
        rules: Rules,
        region: Region,
        shape: Option<Shape>,
        instructions: usize,
    ) -> QueryEngine<'m> {
        snapshot.budget = STEPS_FREE + STEPS_EACH * instructions as u64;
        QueryEngine {
            snapshot,
            rules,
            region,
            shape,
            availabilities: Availabilities::default(),
            anticipations: Anticipations::default(),
            speculations: Speculations::default(),
            last_id: 0,
            last_trial: 1,
            last_trace: u32::MAX,
            forgotten_at: 0,
        }
    }

    /// Forgets all answers after every [`STEPS_REMEMBERED`] steps; they are worked out again on
    /// demand. Not in a trial, whose steps may not count.
    pub fn forget_old_answers(&mut self) {
        if self.snapshot.steps - self.forgotten_at > STEPS_REMEMBERED {
            self.forgotten_at = self.snapshot.steps;
            self.availabilities = Availabilities::default();
            self.anticipations = Anticipations::default();
            self.speculations = Speculations::default();
        }
    }

    /// Do expressions move up across the branch at the end of a block?
    pub fn is_crossed(&self, branch: Block) -> bool {
        self.region.is_crossed(self.rules.crossing, branch)
    }

    /// Is every path from one block through another one?
    pub fn is_post_dominated(&self, block: Block, by: Block) -> bool {
        let graph = &self.snapshot.graph;
        let Some(shape) = self.shape.as_ref().filter(|_| !graph.is_on_edge(block) && !graph.is_on_edge(by)) else {
            return false;
        };
        block != by && shape.post_dominators.post_dominates(by, block)
    }

    /// Is the value of an occurrence available before it? Returns the support, or the reason why
    /// not.
    pub fn available(
        &mut self,
        func: &Function,
        trace: &mut dyn Trace,
        occurrence: Occurrence,
    ) -> Result<Support, Refusal> {
        self.available_by(self.rules, func, trace, occurrence)
    }

    /// Is the value of an occurrence available before it, with insertions wherever the join is
    /// down-safe?
    pub fn available_anywhere(
        &mut self,
        func: &Function,
        trace: &mut dyn Trace,
        occurrence: Occurrence,
    ) -> Result<Support, Refusal> {
        self.available_by(self.rules.anywhere(), func, trace, occurrence)
    }

    /// Does every path to an occurrence come from a computation of its value, with nothing
    /// inserted?
    pub fn is_covered(&mut self, func: &Function, occurrence: Occurrence) -> Option<Support> {
        self.available_by(self.rules.covering(self.last_trial), func, &mut NoTrace, occurrence).ok()
    }

    fn available_by(
        &mut self,
        rules: Rules,
        func: &Function,
        trace: &mut dyn Trace,
        occurrence: Occurrence,
    ) -> Result<Support, Refusal> {
        let data = self.snapshot.occurrence(occurrence);
        let (inst, block, form, start) = (data.inst, data.block, data.form, data.start());
        let mut log = QuestionLog::new(func, trace, &mut self.last_id);
        let text = |func: &Function| self.snapshot.forms.text(self.snapshot.module, func, form);
        let id = log.begin(Query::Availability, None, (block, inst), text);
        let context = QueryContext {
            snapshot: &mut self.snapshot,
            anticipations: &mut self.anticipations,
            region: &mut self.region,
        };
        let root = AvailabilityRoot { block, start, form, rules, id };
        let (found, because) = self.availabilities.inquire(context, &mut log, &root);
        let is_found = found.is_ok();
        let decided = (because, found.as_ref().err().copied());
        log.end(id, || Answer::Available { is_available: is_found, is_real: is_found }, decided);
        found
    }

    /// Is every element of a vector covered? Returns the support of each. Only a success is traced.
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
            let rules = self.rules.covering(self.last_trial);
            self.ask_again(|engine, trial| {
                let rules = rules.in_trial(trial);
                elements.iter().for_each(|&element| drop(engine.available_by(rules, func, trace, element)));
            });
        }
        found
    }

    /// Asks questions once more for the trace, in a trial of their own. Their steps neither count
    /// nor end at the budget, so that nothing depends on the trace.
    fn ask_again(&mut self, ask: impl FnOnce(&mut Self, u32)) {
        let (steps, budget) = (self.snapshot.steps, self.snapshot.budget);
        self.last_trace -= 1;
        self.snapshot.budget = u64::MAX;
        ask(self, self.last_trace);
        (self.snapshot.steps, self.snapshot.budget) = (steps, budget);
    }

    /// Can an occurrence move up before branches?
    pub fn hoist(&mut self, func: &Function, trace: &mut dyn Trace, occurrence: Occurrence) -> Option<Hoist> {
        self.hoist_by(self.rules, func, trace, occurrence)
    }

    /// Can an occurrence move up before branches, divergent or not?
    pub fn hoist_across_all_branches(&mut self, func: &Function, occurrence: Occurrence) -> Option<Hoist> {
        let rules = Rules { crossing: Crossing::Everything, ..self.rules };
        self.hoist_by(rules, func, &mut NoTrace, occurrence)
    }

    fn hoist_by(
        &mut self,
        rules: Rules,
        func: &Function,
        trace: &mut dyn Trace,
        occurrence: Occurrence,
    ) -> Option<Hoist> {
        let shape = self.shape.as_ref()?;
        let data = self.snapshot.occurrence(occurrence);
        let (inst, block, form, start) = (data.inst, data.block, data.form, data.start());
        let mut log = QuestionLog::new(func, trace, &mut self.last_id);
        let text = |func: &Function| self.snapshot.forms.text(self.snapshot.module, func, form);
        let id = log.begin(Query::Speculation, None, (block, inst), text);
        let neighbours: SmallVec<[Block; 4]> = self.snapshot.graph.predecessors(block).into();
        let (mut answer, mut ends) = (Hoistable::NO, PathEnds::default());
        let scan = self.snapshot.scan_up(func, block, start, form, false);
        if scan.end == ScanEnd::Top && !neighbours.is_empty() {
            let context = QueryContext {
                snapshot: &mut self.snapshot,
                anticipations: &mut self.anticipations,
                region: &mut self.region,
            };
            let mut problem = Speculation { context, shape };
            let question = SpeculationQuestion { form, mover: block, rules };
            let found = self.speculations.inquire(&mut problem, &mut log, (block, &neighbours), question, id);
            answer = found.answer;
            if answer.can_hoist {
                ends = self.speculations.path_ends::<Speculation<'_, '_>>(&found.asked);
                self.snapshot.steps += STEPS_A_BLOCK * ends.visited;
            }
        }
        let because = match scan.end {
            ScanEnd::Changed(inst) | ScanEnd::ConvertedAgain(inst) => Some(inst),
            _ => None,
        };
        let blocks = || ends.blocks.clone();
        log.end(id, || Answer::Hoistable { can_hoist: answer.can_hoist, blocks: blocks() }, (because, None));
        let PathEnds { mut blocks, bad, .. } = ends;
        // Where a block that cannot take the expression has other successors, the expression is
        // inserted on the edge.
        let is_gap = |block: &Block| bad.contains(block) && !self.snapshot.graph.ends_in_jump(*block);
        let count = blocks.len();
        blocks.retain(|block| !is_gap(block));
        let has_gaps = blocks.len() < count;
        (!blocks.is_empty()).then_some(Hoist { form, blocks, has_gaps })
    }

    /// Asks again whether an occurrence can move up, for the trace alone.
    pub fn trace_hoist(&mut self, func: &Function, trace: &mut dyn Trace, occurrence: Occurrence) {
        let rules = self.rules;
        self.ask_again(|engine, trial| drop(engine.hoist_by(rules.in_trial(trial), func, trace, occurrence)));
    }

    /// Tries out a move, for [`QueryEngine::available_in_trial`]. The result has to be given to
    /// [`QueryEngine::end_trial`].
    pub fn begin_trial(&mut self, func: &Function, hoist: &Hoist) -> Vec<Occurrence> {
        hoist.blocks.iter().map(|&block| self.snapshot.insert(func, block, hoist.form)).collect()
    }

    /// Is the value of an occurrence available before it in this trial? Insertions follow the
    /// rules, or are made wherever the join is down-safe.
    pub fn available_in_trial(
        &mut self,
        func: &Function,
        occurrence: Occurrence,
        anywhere: bool,
    ) -> Result<Support, Refusal> {
        let rules = self.rules.in_trial(self.last_trial);
        let rules = if anywhere { rules.anywhere() } else { rules };
        self.available_by(rules, func, &mut NoTrace, occurrence)
    }

    /// Takes back what was tried out.
    pub fn end_trial(&mut self, inserted: Vec<Occurrence>) {
        inserted.into_iter().for_each(|inserted| self.withdraw(inserted));
    }

    /// Takes back an insertion, and answers that may rely on it.
    pub fn withdraw(&mut self, occurrence: Occurrence) {
        self.snapshot.withdraw(occurrence);
        self.last_trial += 1;
    }

    /// The support of an occurrence after a move, whose computations have been inserted: insertions
    /// on edges at most.
    pub fn support_of_move(&mut self, func: &Function, occurrence: Occurrence, hoist: &Hoist) -> Option<Support> {
        if !hoist.has_gaps {
            return self.is_covered(func, occurrence);
        }
        let found = self.available_in_trial(func, occurrence, false).ok();
        self.last_trial += 1;
        found
    }

    /// If an occurrence's form were computed at the end of a block, would every path to the
    /// occurrence come from there, or from `others`, with nothing changed since?
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
            support.conversions.is_empty()
                && support.sources.iter().all(|(source, _)| *source == tried || others.contains(source))
        })
    }

    /// Can a form be computed at that point without a fault that would not happen anyway? It can if
    /// every path from there computes it, or if it stays within an array of known size.
    pub fn is_good_address(&mut self, func: &Function, point: InsertionPoint, form: Form) -> bool {
        if !self.snapshot.forms.is_load(form) || self.snapshot.is_within_array(func, point, form) {
            return true;
        }
        let after: SmallVec<[Block; 4]> = match point {
            InsertionPoint::Edge(_, to) => SmallVec::from_elem(to, 1),
            InsertionPoint::End(block) => self.snapshot.graph.successors(block).into(),
            InsertionPoint::BeforeEntry(block) => SmallVec::from_elem(block, 1),
        };
        let Some(&root) = after.first() else { return false };
        let question = AnticipationQuestion { forms: self.snapshot.forms.only(form), purpose: Purpose::NoFault };
        let mut trace = NoTrace;
        let mut log = QuestionLog::new(func, &mut trace, &mut self.last_id);
        Anticipation { snapshot: &mut self.snapshot }.inquire(
            &mut self.anticipations,
            &mut log,
            (root, &after),
            question,
            None,
        )
    }

    /// Adds a block that was created before the only entry. Answers that were found without it are
    /// dropped.
    pub fn add_before_entry(&mut self, block: Block, entry: Block) {
        self.snapshot.graph.add_before_entry(block, entry);
        self.availabilities = Availabilities::default();
        self.speculations = Speculations::default();
    }

    /// Adds a block that was created on an edge.
    pub fn split(&mut self, middle: Block, from: Block, to: Block) {
        self.snapshot.graph.split(middle, from, to);
        self.region.split(middle, from);
    }
}
