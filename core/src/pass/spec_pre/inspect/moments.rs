//! The way of an evaluation, moment by moment: where it is needed, how it comes up, and where its
//! value is found.
//!
//! ```text
//! n7: b = add.u32 x, y   needed      ahead of n6   n2: a = add.u32 x, y   hoisted
//!                        hoisted                   n3: evaluated now      inserted
//! ```
//!
//! The survey tells where it is evaluated after the change, and which evaluations are removed. What
//! is in between is found by going back from those over the graph, a step at a time, as far as the
//! value has to be brought.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::HoistReport;
use super::survey::{Branch, BranchVerdict, Detail, Position, Surveyed};
use crate::compact_sort::CompactSort;
use crate::graph::Cfg;
use crate::inspect::{Anchor, Look, Mark, Moment};
use crate::ir::{Block, Function, Inst};
use crate::pass::support::path_guided::inspect::words::{following, listed, places};
use crate::pass::support::path_guided::inspect::{mark, refused, stays};

/// A step of an evaluation's way up.
enum HoistStep {
    /// It is needed by an instruction, from the beginning of its block or after another evaluation.
    Needed { inst: Inst, after: Option<Inst> },
    /// It comes up through a block.
    Through(Block),
    /// An evaluation in the block has the value.
    Available(Inst),
    /// It has to be evaluated at a place that does not have the value.
    Lacking(Position),
}

/// A step, and how it comes about.
struct Hoisting {
    /// Steps before it.
    wave: usize,
    /// The edge that is gone back.
    by: Option<(Block, Block)>,
    /// Whether not all paths on need the value.
    is_speculative: bool,
    step: HoistStep,
}

impl HoistReport<'_> {
    pub(super) fn moments(&self, surveyed: &Surveyed, detail: &Detail) -> Vec<Moment> {
        let way = if surveyed.passes { self.way(detail) } else { Vec::new() };
        let mut moments = self.waves(&way, detail);
        let is_refused = |branch: &&Branch| {
            let comes_up = way.iter().any(|hoisting| hoisting.by.is_some_and(|(from, _)| from == branch.block));
            let decided =
                matches!(branch.verdict, BranchVerdict::Cost | BranchVerdict::Warps | BranchVerdict::NoSpeculation);
            decided && (comes_up || !surveyed.passes)
        };
        moments.extend(detail.branches.iter().filter(is_refused).map(|branch| {
            let sentence = format!("{}{}", self.decision(branch).2, following(self.line(branch, detail)));
            refused(Anchor::End(branch.block.as_u32()), sentence)
        }));
        if surveyed.passes {
            moments.extend(self.inserted(detail));
            moments.push(self.replaced(detail));
        } else {
            moments.push(stays(&surveyed.verdict.message));
        }
        moments
    }

    /// The places where it is needed, and its way up, an edge at a time.
    fn waves(&self, way: &[Hoisting], detail: &Detail) -> Vec<Moment> {
        let waves = way.iter().map(|hoisting| hoisting.wave).max().map_or(0, |last| last + 1);
        let moment = |wave: usize| {
            let here: Vec<&Hoisting> = way.iter().filter(|hoisting| hoisting.wave == wave).collect();
            let mut sentences: Vec<String> = here.iter().map(|hoisting| self.sentence(hoisting, detail)).collect();
            sentences.dedup();
            Moment {
                word: if wave == 0 { "needed" } else { "hoisted" }.into(),
                sentence: sentences.join(" "),
                marks: here.iter().flat_map(|hoisting| marks(hoisting, self.func)).collect(),
                ..Moment::default()
            }
        };
        (0..waves).map(moment).collect()
    }

    /// The places where it is evaluated, as the value is not at hand there.
    fn inserted(&self, detail: &Detail) -> Option<Moment> {
        let label = detail.replaced.first().map(|&inst| self.expression(inst)).unwrap_or_default();
        let mut all: Vec<String> = detail.inserted.iter().map(|&position| self.place(position)).collect();
        all.dedup();
        (!all.is_empty()).then(|| Moment {
            word: "inserted".into(),
            sentence: format!("It is evaluated where its value is missing: {}.", places(&all)),
            marks: detail.inserted.iter().map(|&position| mark(anchor(position), Look::New, &*label)).collect(),
            ..Moment::default()
        })
    }

    /// The evaluations that read the value instead.
    fn replaced(&self, detail: &Detail) -> Moment {
        let result = |inst: Inst| self.func.insts[inst].dst().map_or("", |reg| self.func.regs[reg].name.as_str());
        let removed = |&inst: &Inst| {
            let anchor = || Anchor::Before(inst.as_u32());
            [mark(anchor(), Look::New, result(inst)), mark(anchor(), Look::Removed, "×")]
        };
        let results: BTreeSet<String> = detail.replaced.iter().map(|&inst| format!("`{}`", result(inst))).collect();
        let results: Vec<String> = results.into_iter().collect();
        let (verb, blocks) = (if results.len() == 1 { "takes" } else { "take" }, self.block_names(&detail.replaced));
        Moment {
            word: "replaced".into(),
            sentence: format!(
                "In {blocks}, {} {verb} the value that is there, and evaluates nothing.",
                listed(&results)
            ),
            marks: detail.replaced.iter().flat_map(removed).collect(),
            ..Moment::default()
        }
    }

    /// The way up from the evaluations that are removed to where their value comes from.
    fn way(&self, detail: &Detail) -> Vec<Hoisting> {
        let cfg = Cfg::compute(self.func);
        let block_of = |inst: Inst| self.func.inst_block(inst);
        // By block: what gives the value at its end. An evaluation that is removed does so as well,
        // as it has the value then.
        let mut givers: BTreeMap<Block, Inst> = BTreeMap::new();
        for &inst in detail.replaced.iter().chain(&detail.sources) {
            givers.extend(block_of(inst).map(|block| (block, inst)));
        }
        let is_enabled = |block: Block| {
            let passes = |branch: &Branch| {
                branch.block == block
                    && matches!(branch.verdict, BranchVerdict::Enabled | BranchVerdict::EnabledWith(_))
            };
            detail.branches.iter().any(passes)
        };
        let mut way = Vec::new();
        let mut next: Vec<(Block, bool)> = Vec::new();
        for &inst in &detail.replaced {
            let Some(block) = block_of(inst) else { continue };
            let is_before =
                |other: &Inst| self.func.block_insts(block).take_while(|&at| at != inst).any(|at| at == *other);
            let after = detail.sources.iter().copied().find(is_before);
            way.push(Hoisting { wave: 0, by: None, is_speculative: false, step: HoistStep::Needed { inst, after } });
            if after.is_none() {
                next.push((block, false));
            }
        }
        let mut seen: BTreeSet<Block> = BTreeSet::new();
        let mut wave = 0;
        while !next.is_empty() {
            wave += 1;
            for (block, is_speculative) in core::mem::take(&mut next) {
                let mut from: Vec<Block> = cfg.predecessors(block).to_vec();
                from.compact_sort();
                from.dedup();
                for before in from.into_iter().filter(|&before| cfg.is_reachable(before)) {
                    let is_speculative = is_speculative || is_enabled(before);
                    let edge = Position::Edge(before, block);
                    let step = if detail.inserted.contains(&edge) {
                        HoistStep::Lacking(edge)
                    } else if let Some(&giver) = givers.get(&before) {
                        HoistStep::Available(giver)
                    } else if detail.inserted.contains(&Position::Block(before)) {
                        HoistStep::Lacking(Position::Block(before))
                    } else {
                        if seen.insert(before) {
                            next.push((before, is_speculative));
                        }
                        HoistStep::Through(before)
                    };
                    way.push(Hoisting { wave, by: Some((before, block)), is_speculative, step });
                }
            }
        }
        way
    }

    fn sentence(&self, hoisting: &Hoisting, detail: &Detail) -> String {
        match hoisting.step {
            HoistStep::Needed { inst, after: Some(after) } => format!(
                "`{}` in {} needs what `{}` has evaluated above it.",
                self.text(inst),
                self.block_names(&[inst]),
                self.text(after)
            ),
            HoistStep::Needed { inst, after: None } => {
                format!("`{}` is evaluated in {}.", self.text(inst), self.block_names(&[inst]))
            }
            HoistStep::Through(block) => {
                let name = self.name(block);
                match detail.branches.iter().find(|branch| branch.block == block) {
                    Some(branch) if branch.verdict == BranchVerdict::Plain => {
                        format!("It comes up through {name}, all of whose paths on need it.")
                    }
                    Some(branch) if self.decision(branch).1 => {
                        let line = following(self.line(branch, detail));
                        format!("It comes up ahead of {name}, though not all paths on need it.{line}")
                    }
                    _ => format!("It comes up through {name}."),
                }
            }
            HoistStep::Available(inst) => {
                format!("In {} its value is available: `{}`.", self.block_names(&[inst]), self.text(inst))
            }
            HoistStep::Lacking(Position::Block(block)) => format!("In {} it is missing.", self.name(block)),
            HoistStep::Lacking(Position::Edge(from, to)) => {
                format!("Along the edge from {} to {} it does not come.", self.name(from), self.name(to))
            }
        }
    }

    fn place(&self, position: Position) -> String {
        match position {
            Position::Block(block) => format!("in {}", self.name(block)),
            Position::Edge(from, to) => format!("on the edge from {} to {}", self.name(from), self.name(to)),
        }
    }
}

fn anchor(position: Position) -> Anchor {
    match position {
        Position::Block(block) => Anchor::End(block.as_u32()),
        Position::Edge(from, to) => Anchor::Edge(from.as_u32(), to.as_u32()),
    }
}

/// The edge that a step goes back, and the part of a block through which the value is brought.
fn marks(hoisting: &Hoisting, func: &Function) -> Vec<Mark> {
    let look = if hoisting.is_speculative { Look::Partial } else { Look::Plain };
    let mut marks = Vec::new();
    if let (Some((from, to)), false) = (hoisting.by, matches!(hoisting.step, HoistStep::Lacking(Position::Edge(..)))) {
        marks.push(mark(Anchor::Edge(from.as_u32(), to.as_u32()), look, ""));
    }
    let range = |block: Block, from: Option<Inst>, to: Option<Inst>| {
        let number = |inst: Option<Inst>| inst.map(Inst::as_u32);
        mark(Anchor::Range { block: block.as_u32(), from: number(from), to: number(to) }, look, "")
    };
    let in_block = |inst: Inst, from: Option<Inst>, to: Option<Inst>| Some(range(func.inst_block(inst)?, from, to));
    marks.extend(match hoisting.step {
        HoistStep::Needed { inst, after } => in_block(inst, after, Some(inst)),
        HoistStep::Available(inst) => in_block(inst, Some(inst), None),
        HoistStep::Through(block) => Some(range(block, None, None)),
        HoistStep::Lacking(_) => None,
    });
    marks
}
