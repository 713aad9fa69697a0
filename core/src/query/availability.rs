//! Availability: has the expression been computed on every path to here, and where would it have to
//! be inserted?
//!
//! ```text
//! n2: br n4              `a + b?` from n4: n2 forwards it to n1, which changes `a`: (false, false)
//! n3: x = a + b          n3 computes it: (true, true)
//! n4: y = a + b          answers differ: if n4 is down-safe, `a + b` is noted for the end of n2; the answer is true
//! ```
//!
//! 1. Scan the block upward from the instruction; then ask the predecessors.
//! 2. A block answers from below, instruction by instruction: an occurrence of the value says
//!    (true, true), a store to its memory or a definition that cannot be converted says (false,
//!    false).
//! 3. At a definition such as `i = i + 1` the question changes its form, `A[i]` into `A[i + 1]`. So
//!    it may reach a block once more, and finds what the last round of a loop has loaded; at the
//!    last visit definitions end it.
//! 4. Where answers differ, and one is real (an occurrence was reached, not only the question
//!    itself around a loop), ask whether the join is down-safe. If the rules allow an insertion for
//!    each edge without the value, note these insertions and answer true.
//! 5. After a success, follow the records: the sources, conversions and insertions that it relies
//!    on are its [`Support`].
//!
//! Sound by induction over the paths: true says that on every path the value was computed, or is by
//! a noted insertion, with its operands unchanged since, or changed by conversions that its form
//! has followed.
//!
//! Cost: a question reaches a block `visits` times an inquiry at most; scans are counted as steps,
//! which have a budget.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021,
//! sections 4.1, 4.2, 5.1 and algorithm 1. Taken literally the algorithm gives wrong values: here
//! known answers are looked up by question, and before the rules, which are applied in the order of
//! [`Availability::local_effect`].

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

use smallvec::SmallVec;

use super::QueryContext;
use super::edges::InsertionPoint;
use super::forms::{Form, FormSet};
use super::log::QuestionLog;
use super::problem::{Arrival, Join, LocalEffect, Problem, Reply, Time};
use super::propagation::{Outcome, Propagation};
use super::region::BranchSet;
use super::rules::{DownSafety, Faulting, Insertion, Refusal, Rules};
use super::snapshot::{Conversion, Occurrence, ScanEnd, ScanStart, Snapshot, UpwardScan};
use super::support::{BlockFinding, Support, support_of};
use crate::ir::{Block, Function, Inst, Reg};
use crate::trace::{Answer, QuestionEvent, QuestionId};

/// A question asked of a block's end.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AvailabilityQuestion {
    /// The form there.
    pub form: Form,
    /// All forms since the root, any of which makes a join down-safe.
    pub taken: FormSet,
    /// The divergent branches of the root; see [`super::Region::asker`].
    pub asker: BranchSet,
    /// The rules that the answer follows.
    pub rules: Rules,
}

/// An answer.
#[derive(Clone, Copy, Default, Debug)]
pub struct Available {
    /// Is the value available on every path?
    pub is_available: bool,
    /// Does it come from an occurrence?
    pub is_real: bool,
    /// Is the answer bad only because a block is not visited again, or a definition not converted
    /// again?
    is_limited: bool,
    /// Is it bad only because no occurrence had been reached yet, where the value is available on
    /// some path?
    is_unreal: bool,
    /// Does it rely on insertions that are noted, and down-safe as long as no later computation is
    /// replaced?
    is_noted: bool,
    /// The first reason on the way why answers were not made equal.
    refusal: Option<Refusal>,
}

impl Available {
    const NO: Available = Available {
        is_available: false,
        is_real: false,
        is_limited: false,
        is_unreal: false,
        is_noted: false,
        refusal: None,
    };
    const LIMITED: Available = Available { is_limited: true, ..Available::NO };
    const YES: Available = Available { is_available: true, is_real: true, ..Available::NO };
}

/// Availability questions with their answers, and the visits of the current inquiry.
#[derive(Default)]
pub struct Availabilities {
    known: Propagation<AvailabilityQuestion, Available, BlockFinding>,
    inquiry: u32,
    /// The last inquiry that visited a block, and its visits.
    visits: SecondaryMap<Block, (u32, u32)>,
}

/// The root of an inquiry.
pub struct AvailabilityRoot {
    /// The block.
    pub block: Block,
    /// The point in the block before which the value is wanted.
    pub start: ScanStart,
    /// The form there.
    pub form: Form,
    /// The rules that the answer follows.
    pub rules: Rules,
    /// The number of the inquiry in events.
    pub id: QuestionId,
}

impl Availabilities {
    /// Is the value of a form available before a point? Returns the support, or the reason
    /// why not, and the instruction of the block that decides, where one does.
    pub fn inquire(
        &mut self,
        context: QueryContext<'_, '_>,
        log: &mut QuestionLog<'_>,
        root: &AvailabilityRoot,
    ) -> (Result<Support, Refusal>, Option<Inst>) {
        let &AvailabilityRoot { block, start, form, rules, id } = root;
        self.inquiry += 1;
        // This scan counts as no visit of the block.
        let scan = context.snapshot.scan_up(log.func, block, start, form, true);
        record_conversions(log, context.snapshot, id, &scan);
        let mut finding = BlockFinding { conversions: scan.conversions.clone(), ..BlockFinding::default() };
        match scan.end {
            ScanEnd::Same(source) => {
                finding.source = Some(source);
                let because = context.snapshot.occurrence(source).inst;
                return (Ok(support_of(&self.known, form, &finding, &[])), because);
            }
            ScanEnd::Changed(inst) | ScanEnd::ConvertedAgain(inst) => return (Err(Refusal::NotThere), Some(inst)),
            ScanEnd::Exhausted => return (Err(Refusal::Budget), None),
            ScanEnd::Top => {}
        }
        let neighbours: SmallVec<[Block; 4]> = context.snapshot.graph.predecessors(block).into();
        if neighbours.is_empty() {
            return (Err(Refusal::NotThere), None);
        }
        let only = context.snapshot.forms.only(form);
        let taken = taken_forms(context.snapshot, rules, only, &scan);
        let question = AvailabilityQuestion { form: scan.form, taken, asker: context.region.asker(block), rules };
        let Availabilities { known, inquiry, visits } = self;
        let mut problem = Availability { context, inquiry: *inquiry, visits };
        let Outcome { answer, asked, finding: met } =
            known.inquire(&mut problem, log, (block, &neighbours), question, id);
        if !answer.is_available || !answer.is_real {
            return (Err(answer.refusal.unwrap_or(Refusal::NotThere)), None);
        }
        finding.insertions = met.map(|met| met.insertions).unwrap_or_default();
        let support = support_of(&self.known, form, &finding, &asked);
        let before_entry = support.insertions.iter().find_map(|&(point, form)| match point {
            InsertionPoint::BeforeEntry(block) => Some(Refusal::NoPlace(form, block)),
            _ => None,
        });
        (before_entry.map_or(Ok(support), Err), None)
    }
}

/// Adds the forms of a scan to those that a question has taken.
fn taken_forms(snapshot: &mut Snapshot<'_>, rules: Rules, taken: FormSet, scan: &UpwardScan) -> FormSet {
    match rules.down_safety {
        _ if scan.conversions.is_empty() => taken,
        DownSafety::Paper => scan.conversions.iter().fold(taken, |set, step| snapshot.forms.with(set, step.above)),
        DownSafety::Exact => snapshot.forms.only(scan.form),
    }
}

fn record_conversions(log: &mut QuestionLog<'_>, snapshot: &Snapshot<'_>, id: QuestionId, scan: &UpwardScan) {
    for &Conversion { inst, above, .. } in &scan.conversions {
        log.record(|func| {
            let expression = snapshot.forms.text(snapshot.module, func, above);
            QuestionEvent::Converted { id, expression, inst }
        });
    }
}

/// See the file's head.
pub struct Availability<'q, 'm> {
    context: QueryContext<'q, 'm>,
    inquiry: u32,
    visits: &'q mut SecondaryMap<Block, (u32, u32)>,
}

impl Availability<'_, '_> {
    /// The number of visits of a block in this inquiry, this one included.
    fn visit(&mut self, block: Block) -> u32 {
        let (inquiry, count) = &mut self.visits[block];
        *count = if *inquiry == self.inquiry { *count + 1 } else { 1 };
        *inquiry = self.inquiry;
        *count
    }

    /// The insertions that make differing answers equal.
    fn insertions(
        &mut self,
        log: &mut QuestionLog<'_>,
        join: Join<AvailabilityQuestion>,
        replies: &[Reply<Available>],
        is_entry: bool,
    ) -> Result<SmallVec<[InsertionPoint; 1]>, Refusal> {
        let AvailabilityQuestion { form, taken, asker, rules } = join.forwarded;
        if !replies.iter().any(|reply| reply.answer.is_available && reply.answer.is_real) {
            return Err(Refusal::NotThere);
        }
        if is_entry && !log.func.entries.is_empty() {
            return Err(Refusal::NoPlace(form, join.block));
        }
        if !self.context.is_anticipated(log, (join.block, &[join.block]), taken, join.id) {
            return Err(Refusal::NotDownSafe(form, join.block));
        }
        let snapshot = &*self.context.snapshot;
        let without = replies.iter().filter(|reply| !reply.answer.is_available);
        let points = without.map(|reply| snapshot.graph.insertion_point(reply.block, join.block));
        let points: SmallVec<[InsertionPoint; 1]> =
            points.chain(is_entry.then_some(InsertionPoint::BeforeEntry(join.block))).collect();
        // Before the entry only parameters have values.
        let is_param = |&reg: &Reg| log.func.param_of(reg).is_some();
        let reads_unassigned = |point: &&InsertionPoint| match point {
            InsertionPoint::BeforeEntry(_) => !snapshot.forms.regs(form).iter().all(is_param),
            _ => snapshot.reads_unassigned(log.func, point.block(), form),
        };
        if let Some(&point) = points.iter().find(reads_unassigned) {
            return Err(Refusal::Unassigned(form, point));
        }
        if rules.insertion == Insertion::InRegion {
            for &point in &points {
                if let Some(branch) = self.context.region.point_kept_out_by(point, asker) {
                    return Err(Refusal::Divergent(form, point, branch));
                }
            }
        }
        let snapshot = &mut *self.context.snapshot;
        if rules.faulting != Faulting::Spec && snapshot.forms.is_load(form) {
            let may_fault = points.iter().find(|&&point| !snapshot.is_within_array(log.func, point, form));
            let only = snapshot.forms.only(form);
            if let Some(&point) = may_fault
                && !self.context.is_anticipated(log, (join.block, &[join.block]), only, join.id)
            {
                return Err(Refusal::MayFault(form, point));
            }
        }
        Ok(points)
    }
}

impl Problem for Availability<'_, '_> {
    type Question = AvailabilityQuestion;
    type Answer = Available;
    type Finding = BlockFinding;
    const ASSUMPTION: &'static str = "3";

    fn neighbours(&self, block: Block) -> &[Block] {
        self.context.snapshot.graph.predecessors(block)
    }

    fn assumed() -> Available {
        Available { is_available: true, ..Available::NO }
    }

    fn is_good(answer: &Available) -> bool {
        answer.is_available
    }

    fn improve(answer: &mut Available, proved: &Available) {
        // A value that is available because the question returned to where it was under way is real
        // if it is real there.
        answer.is_real |= answer.is_available && proved.is_real;
        answer.is_noted |= answer.is_available && proved.is_noted;
    }

    fn time(&self, question: AvailabilityQuestion) -> Time {
        Time { inquiry: self.inquiry, changes: self.context.snapshot.changes(question.form) }
    }

    fn holds(&self, question: AvailabilityQuestion, answer: &Available, time: Time) -> bool {
        // A replaced computation still provides its value, but no longer makes a join down-safe. An
        // occurrence that had not been reached may have been since, so that an unreal answer is
        // worked out again after any change.
        let now = self.time(question);
        let is_replaced = now.changes.replaced != time.changes.replaced;
        if answer.is_available {
            return !(answer.is_noted && is_replaced);
        }
        let is_unchanged = now.changes.inserted == time.changes.inserted && !(answer.is_unreal && is_replaced);
        is_unchanged && (!answer.is_limited || now.inquiry == time.inquiry)
    }

    /// Applies the rules in this order: known answers and rule 3 (by the engine), rule 2, then 4, 5
    /// and 6 instruction by instruction from below, 1 where control enters the function, and 7.
    fn local_effect(&mut self, log: &mut QuestionLog<'_>, at: Arrival<AvailabilityQuestion>) -> LocalEffect<Self> {
        let Arrival { block, question, id } = at;
        let (visit, most) = (self.visit(block), question.rules.visits);
        if visit > most {
            return LocalEffect::Answered("2", Available::LIMITED, None, None);
        }
        let snapshot = &mut *self.context.snapshot;
        let scan = snapshot.scan_up(log.func, block, ScanStart::End, question.form, visit < most);
        record_conversions(log, snapshot, id, &scan);
        let taken = taken_forms(snapshot, question.rules, question.taken, &scan);
        let finding = |source: Option<Occurrence>| {
            let conversions = scan.conversions.clone();
            let is_nothing = conversions.is_empty() && source.is_none();
            (!is_nothing).then(|| Box::new(BlockFinding { conversions, source, ..BlockFinding::default() }))
        };
        match scan.end {
            ScanEnd::Same(source) => {
                let inst = snapshot.occurrence(source).inst;
                LocalEffect::Answered("5", Available::YES, inst, finding(Some(source)))
            }
            ScanEnd::Changed(inst) => LocalEffect::Answered("4", Available::NO, Some(inst), None),
            ScanEnd::ConvertedAgain(inst) => LocalEffect::Answered("4", Available::LIMITED, Some(inst), None),
            ScanEnd::Exhausted => {
                let answer = Available { refusal: Some(Refusal::Budget), ..Available::LIMITED };
                LocalEffect::Answered("budget", answer, None, None)
            }
            ScanEnd::Top if snapshot.graph.predecessors(block).is_empty() => {
                LocalEffect::Answered("1", Available::NO, None, None)
            }
            ScanEnd::Top => {
                let forwarded = AvailabilityQuestion { form: scan.form, taken, ..question };
                LocalEffect::Forwarded("7", forwarded, finding(None))
            }
        }
    }

    fn meet(
        &mut self,
        log: &mut QuestionLog<'_>,
        join: Join<AvailabilityQuestion>,
        replies: &[Reply<Available>],
        finding: &mut Option<Box<BlockFinding>>,
    ) -> (&'static str, Available) {
        let is_entry = self.context.snapshot.graph.is_entry(join.block);
        if let &[Reply { answer, .. }] = replies
            && !is_entry
        {
            let is_real = answer.is_real && answer.is_available;
            let is_good = answer.is_available;
            let (is_limited, is_unreal) = (answer.is_limited && !is_good, answer.is_unreal && !is_good);
            return ("7", Available { is_real, is_limited, is_unreal, ..answer });
        }
        let refusal = replies.iter().find_map(|reply| reply.answer.refusal);
        let good = replies.iter().filter(|reply| reply.answer.is_available);
        let is_real = good.clone().any(|reply| reply.answer.is_real);
        let is_noted = good.clone().any(|reply| reply.answer.is_noted);
        let available = Available { is_available: true, is_real, is_noted, refusal, ..Available::NO };
        let count = good.count();
        if count == replies.len() && !is_entry {
            return ("7", available);
        }
        let is_limited = replies.iter().any(|reply| reply.answer.is_limited);
        let is_unreal = count > 0 && !is_real || replies.iter().any(|reply| reply.answer.is_unreal);
        let failed = Available { is_limited, is_unreal, refusal, ..Available::NO };
        if count == 0 || join.forwarded.rules.insertion == Insertion::Never {
            return ("7", failed);
        }
        match self.insertions(log, join, replies, is_entry) {
            Ok(points) => {
                for &point in points.iter().filter(|point| !matches!(point, InsertionPoint::BeforeEntry(_))) {
                    log.record(|func| {
                        let snapshot = &*self.context.snapshot;
                        let expression = snapshot.forms.text(snapshot.module, func, join.forwarded.form);
                        QuestionEvent::Noted { id: join.id, expression, block: point.block(), onto: point.target() }
                    });
                }
                finding.get_or_insert_default().insertions = points;
                ("7", Available { is_noted: true, ..available })
            }
            // An occurrence that has not been reached yet explains no more than the answer does.
            Err(Refusal::NotThere) => ("7", failed),
            Err(reason) => ("7", Available { refusal: refusal.or(Some(reason)), ..failed }),
        }
    }

    fn refusal(answer: &Available) -> Option<Refusal> {
        answer.refusal.filter(|_| !answer.is_available)
    }

    fn describe(&self, func: &Function, question: AvailabilityQuestion) -> (String, Option<Block>) {
        (self.context.snapshot.forms.text(self.context.snapshot.module, func, question.form), None)
    }

    fn event_answer(&self, answer: &Available, _: &mut dyn FnMut() -> Vec<Block>) -> Answer {
        Answer::Available { is_available: answer.is_available, is_real: answer.is_real }
    }
}
