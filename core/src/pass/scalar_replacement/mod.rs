//! Partial redundancy elimination and scalar replacement by question propagation, for programs whose branches diverge.
//!
//! ```text
//! n1: i = 0                                n1: i = 0; t2 = A[i]
//!     br n2                                    br n2
//! n2: br p, n3, n4                         n2: br p, n3, n4
//! n3: br n8                                n3: t1 = A[i + 1]; br n8
//! n4: br q, n5, n6                         n4: br q, n5, n6
//! n5: y = A[i + 1]; br n7         ──▶      n5: t1 = A[i + 1]; y = t1; br n7
//! n6: br n7                                n6: t1 = A[i + 1]; br n7
//! n7: br n8                                n7: br n8
//! n8: x = A[i]                             n8: x = t2
//!     i = i + 1                                t2 = t1; i = i + 1
//!     br r, n9, e                              br r, n9, e
//! n9: br n2                                n9: br n2
//! ```
//!
//! Each load (for `preqp`, each pure instruction) is asked about in reverse postorder: is its value available before it,
//! perhaps after insertions, perhaps from the last round of a loop? Then a temporary holds it. A vector load is asked about as
//! one, before others; its elements are values of their own, which loads of single elements take, and where all of them are
//! there already it is put together from them. Five passes differ in where they insert:
//!
//! | pass | what | insertions | moves up across |
//! |---|---|---|---|
//! | `preqp` | pure instructions | where down-safe | – |
//! | `srqp` | loads | where down-safe | – |
//! | `esrqp` | loads | where down-safe and no divergent branch decides | – |
//! | `ssrqp-s` | loads | as `esrqp` | all branches |
//! | `ssrqp` | loads | as `esrqp` | divergent branches |
//!
//! Which branches diverge, the static analysis says, which knows only that lanes cannot part elsewhere. `divergence=profile`
//! lets a `profile warp` say where they did: a branch counts as divergent if lanes parted in more than a share of its
//! executions. That changes what pays, never what is right: no insertion and no move is sound because of it.
//!
//! The paper's rules are too strict where a side of a branch is hardly ever entered, and too generous where a warp hardly ever
//! enters the side that a load was moved up from. `ssrqp[cost=machine]` asks a profile instead: a load moves up, across any
//! branch, and is inserted outside the region, exactly where that costs fewer cycles than it saves ([`cost`]).
//!
//! A kernel that begins with a bounds check has hardly a place where no divergent branch decides; `cdrnd=relative` leaves
//! out of account the branches that the load itself depends on. `visits` above 2 finds what was loaded more than one round
//! ago.
//!
//! The example is what `srqp` does. If n2 and n4 diverge, it makes the warp load A[i + 1] three times a round; `esrqp` leaves
//! the program alone, and `ssrqp` loads A[i + 1] once, in n2, in front of both branches.
//!
//! Sound because a question is answered "available" only if on every way the value has been computed into its temporary,
//! or is inserted there, with what it depends on unchanged since ([`crate::query`]). A temporary belongs to one form,
//! `A[i + 1]`: wherever it is written it gets the value of its form at that place, and where an index changes, the temporary
//! of the new form takes over from the old one, all of them at once ([`rewriting`]). A load that comes to a way that did not have it is
//! marked `.spec`, unless a load of the same address that may fault follows on every way anyway, or what is known of its
//! index keeps it within an array of known size ([`crate::symbolic::Bounds`]); the remark says which. With
//! `faulting=guarded` it moves only to where all that it is made on are predicates already, and takes them as its guard.
//!
//! What was inserted is asked about again, at most [`MAX_FOLLOWED`] times, and so is what a move that was paid for counts on
//! going away. What has a guard is asked about again in the end, as often, since what others have inserted for all lanes may
//! be there for it now. Running `ssrqp` or `ssrqp-s` again may still move
//! something further up: moving one load makes blocks above down-safe for others that were asked about before it. As loads
//! only move up, that comes to an end. The remark `budget` says where questions ended early.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021.

mod cost;
mod front;
mod inspect;
mod narration;
mod rewriting;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use super::if_convert::{LANES, resident_warps};
use super::{FAULTING_KNOB, Inspector, Knob, KnobKind, KnobValues, Pass, PassError, PassInfo, Settings};
use crate::ir::{Block, Function, WarpCounts};
use crate::machine::Machine;
use crate::query::{
    Crossing, DownSafety, Faulting, Form, Hoist, Inquiries, Insertion, Interest, Occurrence, OccurrenceData, Reach,
    Refusal, Rules, Shape, Snapshot, Spot, Support,
};
use crate::symbolic::Overflow;
use crate::trace::{Fact, NoTrace, Remark};
use crate::view::View;
use cost::{Bill, Costs, CountedOn};
use rewriting::Rewriting;

const DOWN_SAFETY: Knob = Knob {
    name: "down_safety",
    kind: KnobKind::Choice { default: "paper", words: &["paper", "exact"] },
    help: "paper: a later load of any form that the question has taken justifies an insertion; exact: only one of the inserted form",
};
const FAULTING: Knob = Knob {
    name: FAULTING_KNOB,
    kind: KnobKind::Choice { default: "auto", words: &["auto", "spec", "guarded", "never"] },
    help: "Treatment of a load that might fault where it is put: mark it as one that does not, guard it by its condition, or do not put it there; auto: guard it if the result is to be PTX, otherwise mark it.",
};
const OVERFLOW: Knob = Knob {
    name: "overflow",
    kind: KnobKind::Choice { default: "assume", words: &["assume", "prove"] },
    help: "signed 32-bit index arithmetic: take it not to overflow, or convert subscripts only where that is proved",
};
const CDRND: Knob = Knob {
    name: "cdrnd",
    kind: KnobKind::Choice { default: "transitive", words: &["transitive", "direct", "relative"] },
    help: "insert where no divergent branch decides: through other branches either, directly, or but those that decide about who asks",
};
const DIVERGENCE: Knob = Knob {
    name: "divergence",
    kind: KnobKind::Choice { default: "static", words: &["static", "profile", "all", "none"] },
    help: "which branches diverge: those that the analysis cannot exclude, those that a `profile warp` counted, all, or none",
};
const THRESHOLD: Knob = Knob {
    name: "divergence_threshold",
    kind: KnobKind::Number { default: 0.0, min: 0.0, max: 1.0 },
    help: "with divergence=profile, a branch diverges where lanes parted in more than this share of its executions",
};
const VISITS: Knob = Knob {
    name: "visits",
    kind: KnobKind::Integer { default: 2, min: 2, max: 9 },
    help: "how often a question comes to a block: 2 finds what the last round of a loop loaded, 3 what the one before did",
};
const COST: Knob = Knob {
    name: "cost",
    kind: KnobKind::Choice { default: "paper", words: &["paper", "machine"] },
    help: "paper: what the paper's rules allow; machine: moves, and insertions under divergent branches, where they save more cycles than they cost",
};
const MACHINE: Knob = Knob {
    name: "machine",
    kind: KnobKind::Choice { default: "ampere", words: &["unit", "volta", "turing", "ampere", "hopper"] },
    help: "with cost=machine: whose issue costs and latencies are compared",
};
const WARPS: Knob = Knob {
    name: "warps",
    kind: KnobKind::Integer { default: 0, min: 0, max: 64 },
    help: "with cost=machine: resident warps that fill each other's waiting; 0 is as many as the launch says, or the machine takes",
};
const LINES: Knob = Knob {
    name: "partial_speculation",
    kind: KnobKind::Switch { default: false },
    help: "answers to speculation questions that differ are made the same by insertions (lines 7 to 9 of algorithm 2)",
};

const PAPER: &str = "Fukuhara and Takimoto 2021, scalar replacement considering branch divergence";

/// Differences of the five passes.
struct Variant {
    knobs: &'static [Knob],
    interest: Interest,
    insertion: Insertion,
    crossing: Crossing,
}

macro_rules! variants {
    ($($(#[$doc:meta])* $pass:ident $name:literal $summary:literal $knobs:expr, $interest:ident $insertion:ident $crossing:ident;)*) => {
        $($(#[$doc])*
        pub struct $pass;

        impl Pass for $pass {
            const INFO: PassInfo =
                PassInfo { name: $name, paper: PAPER, summary: $summary, knobs: $knobs, needs_fast_math: false };

            const INSPECTOR: Option<Inspector> = Some(inspect::INSPECTOR);

            fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
                let variant = Variant {
                    knobs: $knobs,
                    interest: Interest::$interest,
                    insertion: Insertion::$insertion,
                    crossing: Crossing::$crossing,
                };
                run(view, &settings.knobs, &variant);
                Ok(())
            }
        })*
    };
}

variants! {
    /// Partial redundancy elimination of scalar expressions.
    Preqp "preqp" "Computes a scalar expression once on every way, by questions that travel up to where it was computed."
        &[], Scalars Anywhere Nothing;
    /// Scalar replacement.
    Srqp "srqp" "Keeps what was loaded, also in the last round of a loop, in a register, wherever branches lead."
        &[DOWN_SAFETY, FAULTING, OVERFLOW, VISITS], Loads Anywhere Nothing;
    /// Scalar replacement that inserts nothing under divergent branches.
    Esrqp "esrqp" "Scalar replacement that inserts loads only where no divergent branch decides."
        &[DOWN_SAFETY, CDRND, DIVERGENCE, THRESHOLD, FAULTING, OVERFLOW, VISITS], Loads InRegion Nothing;
    /// Variant that moves loads above every branch.
    SsrqpS "ssrqp-s" "Scalar replacement that moves loads up in front of branches, whether they diverge or not."
        &[DOWN_SAFETY, CDRND, DIVERGENCE, THRESHOLD, FAULTING, OVERFLOW, VISITS, LINES], Loads InRegion Everything;
    /// Variant that moves loads above divergent branches.
    Ssrqp "ssrqp" "Scalar replacement that moves loads up in front of divergent branches and inserts none under them."
        &[DOWN_SAFETY, CDRND, DIVERGENCE, THRESHOLD, COST, MACHINE, WARPS, FAULTING, OVERFLOW, VISITS, LINES],
        Loads InRegion Divergent;
}

impl Variant {
    /// The word that a knob of the pass is set to; nothing where it has no such knob.
    fn choice<'k>(&self, values: &'k KnobValues, name: &str) -> &'k str {
        if self.has(name) { values.choice(name) } else { "" }
    }

    /// The whole number that a knob of the pass is set to.
    fn integer(&self, values: &KnobValues, name: &str) -> Option<i64> {
        self.has(name).then(|| values.integer(name))
    }

    fn has(&self, name: &str) -> bool {
        self.knobs.iter().any(|knob| knob.name == name)
    }
}

fn run(view: &mut View<'_>, knobs: &KnobValues, variant: &Variant) {
    let is = |name: &str, word: &str| variant.choice(knobs, name) == word;
    let overflow = if is("overflow", "prove") { Overflow::Prove } else { Overflow::Assume };
    let (cfg, dominators, values) = (view.cfg(), view.dominators(), view.values());
    let snapshot = Snapshot::new(view.module(), view.func(), (&cfg, dominators), values, overflow, variant.interest);
    if snapshot.occurrence_count() == 0 {
        return;
    }
    let rules = Rules {
        insertion: variant.insertion,
        crossing: variant.crossing,
        down_safety: if is("down_safety", "exact") { DownSafety::Exact } else { DownSafety::Paper },
        faulting: match variant.choice(knobs, FAULTING_KNOB) {
            "guarded" => Faulting::Guarded,
            "never" => Faulting::Never,
            _ => Faulting::Spec,
        },
        visits: variant.integer(knobs, "visits").unwrap_or(2) as u32,
        meets_partially: variant.crossing != Crossing::Nothing && knobs.switch("partial_speculation"),
    };
    let reach = match variant.choice(knobs, "cdrnd") {
        "direct" => Reach::Direct,
        "relative" => Reach::Relative,
        _ => Reach::Transitive,
    };
    let divergent = divergent_branches(view, knobs, variant);
    let costs = if is("cost", "machine") { prices(view, knobs) } else { None };
    let looks_at_branches = variant.insertion == Insertion::InRegion || variant.crossing != Crossing::Nothing;
    let shape = looks_at_branches.then(|| Shape {
        cfg: cfg.clone(),
        post_dominators: view.post_dominators(),
        control_dependence: view.control_dependence(),
    });
    let loops = view.loops();
    let instructions = view.func().insts.len();
    let inquiries = Inquiries::new(snapshot, rules, reach, divergent, shape, instructions);
    let mut pass = Walk {
        inquiries: match variant.interest {
            Interest::Loads => inquiries.stopping_when_decided(),
            Interest::Scalars => inquiries,
        },
        rewriting: Rewriting::default(),
        rules,
        costs,
        asked: SecondaryMap::new(),
        counted_on: Vec::new(),
        guarded: Vec::new(),
        paid_for: Vec::new(),
        limit_is_told: false,
    };
    // Vectors first, the widest before the others: what has them has their elements.
    let widths: &[u8] = if pass.inquiries.snapshot.has_vectors() { &[4, 2, 1] } else { &[1] };
    for (&width, &block) in
        widths.iter().flat_map(|width| cfg.reverse_postorder().iter().map(move |block| (width, block)))
    {
        for inst in pass.inquiries.snapshot.occurring_in(view.func(), block) {
            if widths.len() > 1 && view.func().insts[inst].opcode.vector != width {
                continue;
            }
            if let Some(occurrence) = pass.inquiries.snapshot.occurrence_of(inst) {
                // Alone and outside loops it has nothing to be available from.
                let is_alone = pass.inquiries.snapshot.relatives(occurrence) == 1 && loops.innermost(block).is_none();
                pass.ask(view, occurrence, is_alone);
                pass.asked[occurrence] = true;
                pass.ask_again(view);
                pass.note_guarded(occurrence);
            }
        }
    }
    pass.ask_guarded_again(view);
}

/// The blocks whose branches diverge, as the knob has it.
fn divergent_branches(view: &mut View<'_>, knobs: &KnobValues, variant: &Variant) -> Vec<Block> {
    if variant.insertion == Insertion::Anywhere {
        return Vec::new();
    }
    let mut blocks: Vec<Block> = match variant.choice(knobs, "divergence") {
        "none" => Vec::new(),
        "all" => view.func().block_order().filter(|&block| view.func().successors(block).len() > 1).collect(),
        "profile" => measured_branches(view, knobs.number("divergence_threshold")),
        _ => view.divergence().divergent_branches().collect(),
    };
    blocks.sort_unstable();
    blocks
}

/// The blocks at whose branches lanes parted in more than that share of the executions that a profile counted. Where it
/// does not tell, the static analysis does. Says where the two differ.
fn measured_branches(view: &mut View<'_>, threshold: f64) -> Vec<Block> {
    let divergence = view.divergence();
    let counts = WarpCounts::of(view.func());
    if counts.is_empty() {
        miss_profile(view, "the static analysis says which branches diverge");
    }
    let branches: Vec<Block> =
        view.func().block_order().filter(|&block| view.func().successors(block).len() > 1).collect();
    let mut divergent = Vec::new();
    for block in branches {
        let guessed = divergence.is_divergent_branch(block);
        let share = counts.divergence(block);
        let is_divergent = share.map_or(guessed, |share| share > threshold);
        if is_divergent {
            divergent.push(block);
        }
        if let Some(share) = share.filter(|_| is_divergent != guessed) {
            let executions = counts.executions(block).unwrap_or(0);
            view.miss(|func| {
                let (is, seemed) = if guessed { ("uniform", "divergent") } else { ("divergent", "uniform") };
                let message = format!(
                    "the branch at the end of `{}` counts as {is}, though statically {seemed}: in {:.1} % of {executions} \
                     executions lanes parted",
                    func.blocks[block].name,
                    share * 100.0
                );
                Remark::missed("measured", block, message)
                    .with("share", Fact::Number(share))
                    .with("executions", Fact::Count(executions))
            });
        }
    }
    divergent
}

/// Prices of loads, if the function has a profile with warp executions.
fn prices(view: &mut View<'_>, knobs: &KnobValues) -> Option<Costs> {
    let machine = Machine::from_name(knobs.choice("machine")).unwrap_or_default();
    let launch = view.module().stated_launch_of(&view.func().name);
    let lanes = launch.and_then(|launch| launch.warp).unwrap_or(LANES);
    let warps = match u32::try_from(knobs.integer("warps")) {
        Ok(0) | Err(_) => resident_warps(launch, machine, lanes),
        Ok(warps) => warps,
    };
    let costs = Costs::new(view.func(), machine, warps);
    if costs.is_none() {
        miss_profile(view, "loads move and are inserted as the paper has it");
    }
    costs
}

/// Says that there is no profile of warps, and what is done without one.
fn miss_profile(view: &mut View<'_>, without: &str) {
    view.miss(|func| {
        let entry = func.entry_block().unwrap_or(Block::from_u32(0));
        Remark::missed("no-profile", entry, format!("there is no `profile warp`: {without}"))
    });
}

/// Maximum rounds of questions about inserted loads, and about what these insert.
const MAX_FOLLOWED: u32 = 8;

struct Walk<'m> {
    inquiries: Inquiries<'m>,
    rewriting: Rewriting,
    rules: Rules,
    /// Costs that decide about moves, and about insertions outside the region.
    costs: Option<Costs>,
    /// Those that have had their turn.
    asked: SecondaryMap<Occurrence, bool>,
    /// Those that a bill which has been paid counts on going away.
    counted_on: Vec<Occurrence>,
    /// Those with a guard that have had their turn.
    guarded: Vec<Occurrence>,
    /// Moved occurrences that are available there by insertions on a bill that has been paid.
    paid_for: Vec<(Occurrence, Bill)>,
    limit_is_told: bool,
}

impl Walk<'_> {
    /// Asks about one occurrence, and does what the answers allow.
    fn ask(&mut self, view: &mut View<'_>, occurrence: Occurrence, is_alone: bool) {
        if !is_alone {
            match self.available(view, occurrence, true) {
                Ok(support) => {
                    let inserted = self.rewriting.replace(view, &mut self.inquiries, occurrence, &support);
                    self.follow(view, inserted);
                    return;
                }
                Err(_) if self.put_together(view, occurrence) => return,
                Err(refusal) => match self.insert_outside(view, occurrence, true) {
                    Some(inserted) => {
                        self.follow(view, inserted);
                        return;
                    }
                    None => self.tell_refusal(view, occurrence, refusal),
                },
            }
        }
        if self.rules.crossing != Crossing::Nothing {
            let moved = self.move_up(view, occurrence);
            self.follow(view, moved);
        }
    }

    /// Those that had their turn before a bill counted on their going away are asked about again: what has been done since may
    /// have made them available, and nobody else would find that.
    fn ask_again(&mut self, view: &mut View<'_>) {
        while let Some(other) = self.counted_on.pop() {
            let is_left = self.asked[other] && self.inquiries.snapshot.is_made(other);
            if is_left && self.inquiries.available(view.func(), &mut NoTrace, other).is_ok() {
                self.ask(view, other, false);
            }
        }
    }

    fn note_guarded(&mut self, occurrence: Occurrence) {
        let snapshot = &self.inquiries.snapshot;
        if snapshot.forms.expression(snapshot.occurrence(occurrence).form).guard.is_some() {
            self.guarded.push(occurrence);
        }
    }

    /// Repeats guarded questions: insertions for all lanes serve those of a guard as well, so that later insertions
    /// may have made available what has a guard.
    fn ask_guarded_again(&mut self, view: &mut View<'_>) {
        for _ in 0..MAX_FOLLOWED {
            let mut is_done = true;
            for occurrence in core::mem::take(&mut self.guarded) {
                if !self.inquiries.snapshot.is_made(occurrence) {
                    continue;
                }
                let is_available = self.inquiries.available(view.func(), &mut NoTrace, occurrence).is_ok();
                if is_available {
                    self.ask(view, occurrence, false);
                } else if !self.put_together(view, occurrence) {
                    self.guarded.push(occurrence);
                    continue;
                }
                is_done = false;
            }
            if is_done {
                break;
            }
        }
    }

    /// Is an occurrence available? Where nothing but a place in front of the only entry is missing, a block is put there.
    fn available(&mut self, view: &mut View<'_>, occurrence: Occurrence, is_told: bool) -> Result<Support, Refusal> {
        loop {
            let (func, trace) = view.func_and_trace();
            let found = match is_told {
                true => self.inquiries.available(func, trace, occurrence),
                false => self.inquiries.available(func, &mut NoTrace, occurrence),
            };
            match found {
                Err(Refusal::NoPlace(_, first)) if view.func().entries.is_empty() => {
                    let front = front::put_in_front(view, first);
                    self.inquiries.put_in_front(front, first);
                    if let Some(costs) = &mut self.costs {
                        costs.count_again(view.func());
                    }
                }
                found => return found,
            }
        }
    }

    /// Takes a vector from its elements, if all of them are available.
    fn put_together(&mut self, view: &mut View<'_>, occurrence: Occurrence) -> bool {
        let (func, trace) = view.func_and_trace();
        let Some(elements) = self.inquiries.available_elements(func, trace, occurrence) else { return false };
        self.rewriting.put_together(view, &mut self.inquiries, occurrence, &elements);
        true
    }

    /// Makes an occurrence available by insertions outside the region as well, if they cost less than they save. Gives what
    /// has been inserted. `is_told` says whether those who listen hear of the question, if anything comes of it.
    fn insert_outside(
        &mut self,
        view: &mut View<'_>,
        occurrence: Occurrence,
        is_told: bool,
    ) -> Option<Vec<Occurrence>> {
        let costs = self.costs.as_ref()?;
        let mut support = self.inquiries.available_anywhere(view.func(), &mut NoTrace, occurrence).ok()?;
        let paid = self.paid_for.iter().find(|(paid, _)| *paid == occurrence).map(|&(_, bill)| bill);
        let (bill, counted_on) = match paid {
            Some(bill) => (bill, CountedOn::default()),
            None => costs.of_insertion(view.func(), &mut self.inquiries, &self.rewriting, occurrence, &support)?,
        };
        if paid.is_none() && !bill.pays() {
            let &(spot, form) = support.insertions.first()?;
            self.tell_bill(
                view,
                occurrence,
                bill,
                |func, what| format!("`{what}` is not inserted {}", place(func, spot)),
                form,
            );
            return None;
        }
        if is_told {
            // What is done has a question that those who listen have heard.
            let (func, trace) = view.func_and_trace();
            support = self.inquiries.available_anywhere(func, trace, occurrence).unwrap_or(support);
        }
        self.rewriting.bill = Some(bill);
        let inserted = self.rewriting.replace(view, &mut self.inquiries, occurrence, &support);
        self.rewriting.bill = None;
        self.counted_on.extend(counted_on.going);
        Some(inserted)
    }

    /// Moves an occurrence up in front of branches, if it can be. Gives what it has become there.
    fn move_up(&mut self, view: &mut View<'_>, occurrence: Occurrence) -> Vec<Occurrence> {
        let (func, trace) = view.func_and_trace();
        let hoist = self.inquiries.hoist(func, trace, occurrence);
        if self.costs.is_none() {
            return hoist.map_or(Vec::new(), |hoist| self.move_to(view, occurrence, &hoist));
        }
        let boldly = self.inquiries.hoist_boldly(view.func(), occurrence);
        let boldly = boldly.filter(|boldly| hoist.as_ref().is_none_or(|hoist| hoist.blocks != boldly.blocks));
        for hoist in hoist.into_iter().chain(boldly) {
            let Some(costs) = &self.costs else { break };
            let is_left = self.inquiries.snapshot.is_made(occurrence);
            if !is_left || hoist.blocks.contains(&self.inquiries.snapshot.occurrence(occurrence).block) {
                continue;
            }
            let offer = costs.of_hoist(view.func(), &mut self.inquiries, &self.rewriting, occurrence, &hoist);
            let (bill, counted_on) = offer.unzip();
            if let Some(bill) = bill.filter(|bill| !bill.pays()) {
                let block = hoist.blocks[0];
                self.tell_bill(
                    view,
                    occurrence,
                    bill,
                    |func, what| format!("`{what}` does not move up to the end of `{}`", func.blocks[block].name),
                    hoist.form,
                );
                continue;
            }
            self.rewriting.bill = bill;
            let moved = self.move_to(view, occurrence, &hoist);
            self.rewriting.bill = None;
            if !moved.is_empty() {
                let CountedOn { going, insertions_above } = counted_on.unwrap_or_default();
                self.counted_on.extend(going);
                for (&moved, bill) in moved.iter().zip(core::iter::repeat(bill)) {
                    let block = self.inquiries.snapshot.occurrence(moved).block;
                    self.paid_for.extend(bill.filter(|_| insertions_above.contains(&block)).map(|bill| (moved, bill)));
                }
                return moved;
            }
        }
        Vec::new()
    }

    /// Says that something would not pay.
    fn tell_bill(
        &self,
        view: &mut View<'_>,
        occurrence: Occurrence,
        bill: Bill,
        refused: impl FnOnce(&Function, &str) -> String,
        form: Form,
    ) {
        let snapshot = &self.inquiries.snapshot;
        let &OccurrenceData { inst, block, .. } = snapshot.occurrence(occurrence);
        view.miss(|func| {
            let what = snapshot.forms.text(snapshot.module, func, form);
            let message = format!("{}: {}", refused(func, &what), bill.text());
            let remark = bill.on(Remark::missed("cost", block, message));
            inst.map_or(remark.clone(), |inst| remark.at(inst))
        });
    }

    /// Moves an occurrence up to the ends of blocks, if it can be. Gives what it has become there.
    fn move_to(&mut self, view: &mut View<'_>, occurrence: Occurrence, hoist: &Hoist) -> Vec<Occurrence> {
        let own = self.inquiries.snapshot.occurrence(occurrence).block;
        let snapshot = &self.inquiries.snapshot;
        let is_useless = |&block: &Block| block == own || snapshot.reads_unassigned(view.func(), block, hoist.form);
        if hoist.blocks.iter().any(is_useless) {
            return Vec::new();
        }
        let mut may_fault: Option<Block> = None;
        // Of several, each is looked at when all of them stand there.
        let is_known_by_then = hoist.blocks.len() > 1 && self.rules.faulting == Faulting::Spec;
        for &block in hoist.blocks.iter().filter(|_| !is_known_by_then) {
            if !self.inquiries.is_good_address(view.func(), Spot::End(block), hoist.form) {
                may_fault = Some(block);
            }
        }
        if let Some(block) = may_fault.filter(|_| self.rules.faulting != Faulting::Spec) {
            let is_guarded = self.rules.faulting == Faulting::Guarded
                && self.rewriting.move_up_guarded(view, &mut self.inquiries, occurrence, hoist);
            if !is_guarded {
                self.tell_refusal(view, occurrence, Refusal::MayFault(hoist.form, Spot::End(block)));
            }
            return Vec::new();
        }
        let inserted: Vec<Occurrence> =
            hoist.blocks.iter().map(|&block| self.inquiries.snapshot.insert(view.func(), block, hoist.form)).collect();
        let Some(support) = self.inquiries.support_of_move(view.func(), occurrence, hoist) else {
            inserted.into_iter().for_each(|inserted| self.inquiries.withdraw(inserted));
            let &OccurrenceData { inst, block, .. } = self.inquiries.snapshot.occurrence(occurrence);
            view.miss(|_| {
                let message = String::from("not every way to it comes from where it would be moved to");
                let remark = Remark::missed("speculate", block, message);
                inst.map_or(remark.clone(), |inst| remark.at(inst))
            });
            return Vec::new();
        };
        // What has just been put at the end of one block answers for no way on from there: a way that comes round to it
        // comes round to the question as well. Several may answer for each other, as long as they may fault themselves.
        if let ([inserted], true) = (inserted.as_slice(), may_fault.is_some()) {
            self.inquiries.snapshot.mark(*inserted);
        }
        let mut is_settled = inserted.len() == 1;
        while !is_settled {
            is_settled = true;
            for &inserted in &inserted {
                let &OccurrenceData { block, form, .. } = self.inquiries.snapshot.occurrence(inserted);
                if !self.inquiries.snapshot.is_marked(inserted)
                    && !self.inquiries.is_good_address(view.func(), Spot::End(block), form)
                {
                    self.inquiries.snapshot.mark(inserted);
                    is_settled = false;
                }
            }
        }
        for &inserted in &inserted {
            self.rewriting.hoist(view, &mut self.inquiries, occurrence, inserted);
        }
        let on_edges = self.rewriting.replace(view, &mut self.inquiries, occurrence, &support);
        inserted.into_iter().chain(on_edges).collect()
    }

    /// Asks about what has just been inserted, and tells of it only if it can do better still: being there may have made it
    /// available from elsewhere, or blocks above down-safe.
    fn follow(&mut self, view: &mut View<'_>, inserted: Vec<Occurrence>) {
        let mut pending: Vec<(Occurrence, u32)> = inserted.into_iter().rev().map(|inserted| (inserted, 1)).collect();
        while let Some((inserted, depth)) = pending.pop() {
            if depth > MAX_FOLLOWED {
                self.tell_refusal(view, inserted, Refusal::Budget);
                return;
            }
            self.note_guarded(inserted);
            let found = self.available(view, inserted, false);
            if found.is_err() && self.put_together(view, inserted) {
                continue;
            }
            let outside = if found.is_err() { self.insert_outside(view, inserted, false) } else { None };
            if let (Err(refusal @ Refusal::Divergent(..)), None) = (&found, &outside) {
                self.tell_refusal(view, inserted, *refusal);
            }
            let next = if let Ok(support) = found {
                self.rewriting.replace(view, &mut self.inquiries, inserted, &support)
            } else if let Some(next) = outside {
                next
            } else if self.rules.crossing == Crossing::Nothing {
                Vec::new()
            } else if self.costs.is_some() {
                self.move_up(view, inserted)
            } else if let Some(hoist) = self.inquiries.hoist(view.func(), &mut NoTrace, inserted) {
                if view.is_traced() {
                    // What is done has a question that those who listen have heard; it looks at nothing more.
                    let steps = self.inquiries.snapshot.steps;
                    let (func, trace) = view.func_and_trace();
                    self.inquiries.hoist(func, trace, inserted);
                    self.inquiries.snapshot.steps = steps;
                }
                self.move_to(view, inserted, &hoist)
            } else {
                Vec::new()
            };
            pending.extend(next.into_iter().rev().map(|inserted| (inserted, depth + 1)));
        }
    }

    fn tell_refusal(&mut self, view: &mut View<'_>, occurrence: Occurrence, refusal: Refusal) {
        if refusal == Refusal::NotThere || (refusal == Refusal::Budget && self.limit_is_told) {
            return;
        }
        self.limit_is_told |= refusal == Refusal::Budget;
        let snapshot = &self.inquiries.snapshot;
        let &OccurrenceData { inst, block, form, .. } = snapshot.occurrence(occurrence);
        view.miss(|func| {
            let about = match refusal {
                Refusal::NotThere | Refusal::Budget => form,
                Refusal::NotDownSafe(form, _)
                | Refusal::Divergent(form, ..)
                | Refusal::Unassigned(form, _)
                | Refusal::NoPlace(form, _)
                | Refusal::MayFault(form, _) => form,
            };
            let what = snapshot.forms.text(snapshot.module, func, about);
            let remark = refused(func, block, &what, refusal);
            inst.map_or(remark.clone(), |inst| remark.at(inst))
        });
    }
}

/// A place, in words.
fn place(func: &Function, spot: Spot) -> String {
    let name = |block: Block| &func.blocks[block].name;
    match spot {
        Spot::End(block) => format!("at `{}`", name(block)),
        Spot::Edge(from, to) => format!("between `{}` and `{}`", name(from), name(to)),
        Spot::Front(block) => format!("in front of `{}`", name(block)),
    }
}

/// Why an expression was not inserted, in words.
fn refused(func: &Function, block: Block, what: &str, refusal: Refusal) -> Remark {
    let name = |block: Block| &func.blocks[block].name;
    let place = |spot: Spot| place(func, spot);
    match refusal {
        Refusal::NotThere => Remark::missed("not-there", block, format!("`{what}` is not available on any way")),
        Refusal::NotDownSafe(_, at) => {
            let message =
                format!("`{what}` is available on some ways to `{}`, which is not down-safe for it", name(at));
            Remark::missed("down-safe", block, message).with("join", Fact::Block(at))
        }
        Refusal::Divergent(_, spot, branch) => {
            let who = match spot {
                Spot::End(block) => format!("`{}` depends", name(block)),
                Spot::Edge(..) | Spot::Front(_) => String::from("that edge depends"),
            };
            let message =
                format!("`{what}` is not inserted {}: {who} on the divergent branch `{}`", place(spot), name(branch));
            Remark::missed("divergent", block, message)
                .with("insertion", Fact::Block(spot.block()))
                .with("branch", Fact::Block(branch))
        }
        Refusal::Unassigned(_, spot) => {
            let message = format!("`{what}` is not inserted {}, where nothing has assigned an operand", place(spot));
            Remark::missed("unassigned", block, message)
        }
        Refusal::NoPlace(_, at) => {
            let message = format!("`{what}` is not inserted before `{}`, where control comes from outside", name(at));
            Remark::missed("no-place", block, message)
        }
        Refusal::MayFault(_, spot) => {
            let message = format!("`{what}` is not put {}, where it may fault", place(spot));
            Remark::missed("faulting", block, message)
        }
        Refusal::Budget => {
            let message = String::from("questions have looked at as much as they may; what follows stays");
            Remark::missed("budget", block, message)
        }
    }
}
