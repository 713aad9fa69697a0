//! If-conversion: branches with short sides become guarded straight code.
//!
//! ```text
//! h: p = setp.lt.u32 i, n             h: p = setp.lt.u32 i, n
//!    br p, a, b                          @p x = add.u32 i, 1
//! a: x = add.u32 i, 1          ──▶       @!p x = mov.u32 0
//!    br j                                st.global.u32 o[0], x
//! b: x = mov.u32 0                       ret
//!    br j
//! j: st.global.u32 o[0], x
//!    ret
//! ```
//!
//! 1. Visit branches in postorder, inner ones first, and find triangles and diamonds ([`region`]).
//! 2. Refuse sides that are longer than `max_instructions`, or hold something that no guard makes
//!    right: calls, draws, clock reads, and barriers or waits if lanes may diverge.
//! 3. Give each instruction the conjunction of the side's guard and its own ([`guards`]).
//! 4. Compare the cycles of branch and straight code ([`cost`]); convert if straight code takes no
//!    more, or always on demand.
//! 5. Make selects of copies of both sides to one register ([`selects`]), and merge straight lines.
//! 6. Repeat until a round converts nothing, which is mostly the second; its refusals become
//!    remarks.
//!
//! Sound because each lane does what it did. A lane whose guard is false takes no part: it keeps
//! its registers, touches no memory and is not counted by votes, as if it were on the other side.
//! The active lanes of an instruction are the same: those that reach the head and go to its side.
//! The true side comes first, as it does where lanes diverge, so the order of one warp's accesses
//! stays. A block-wide barrier whose guard differs by lane means nothing on hardware. A register
//! that only a side assigns is still assigned before its reads, under a guard.
//!
//! Cost: O(n) a round; divergence and value names are computed once in each. Running the pass again
//! finds nothing more.
//!
//! Source: J. R. Allen and others, Conversion of control dependence to data dependence, POPL 1983;
//! ptxas page, OriDoPredication (phase 63); the limit of 7 is that of the CUDA C Programming Guide,
//! branch predication.

mod coherence;
mod cost;
mod divergence_share;
mod guards;
mod region;
mod selects;
mod timeline;

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

use super::simplify_cfg::merge_straight_lines;
use super::{Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::flow::{Divergence, ValueUses, Values};
use crate::ir::{Block, Function, InstData, Launch, Op, Type};
use crate::machine::Machine;
use crate::profile::DeclaredEdges;
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;
use coherence::Coherence;
pub(super) use cost::{LANES, resident_warps};

use cost::{CostModel, Costs, DEFAULT_WARPS, Decision};
use divergence_share::{Arrangement, divergence_share};
use guards::StraightCode;
use region::{IncomingEdges, Region};
use selects::select_copies;

/// The pass.
pub struct IfConvert;

impl Pass for IfConvert {
    const INFO: PassInfo = PassInfo {
        name: "if-convert",
        paper: "Allen et al. 1983; ptxas page, OriDoPredication",
        summary: "Turns branches with short sides into guarded straight-line code where that costs no more.",
        knobs: &[
            Knob {
                name: "max_instructions",
                label: "Instructions per side",
                kind: KnobKind::Integer { default: 7, min: 0, max: 1000 },
                help: "Maximum instructions per side.",
            },
            Knob {
                name: "always",
                label: "Convert at any cost",
                kind: KnobKind::Switch { default: false },
                help: "Convert whatever the cost.",
            },
            Knob {
                name: "machine",
                label: "Machine",
                kind: KnobKind::Choice { default: "ampere", words: &["unit", "volta", "turing", "ampere", "hopper"] },
                help: "Machine model of the issue costs and latencies that are compared.",
            },
            Knob {
                name: "warps",
                label: "Resident warps",
                kind: KnobKind::Integer { default: 0, min: 0, max: 64 },
                help: "Number of resident warps that hide each other's latency; 0 takes it from the launch, or 8 \
                       without one.",
            },
            Knob {
                name: "divergence",
                label: "Assumed divergence",
                kind: KnobKind::Number { default: 0.2, min: 0.0, max: 1.0 },
                help: "Share of a divergent branch's executions in which lanes diverge, if no profile, launch or \
                       comparison of thread indices gives it.",
            },
        ],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        while convert_regions(view, settings) {}
        Ok(())
    }
}

/// Converts regions, inner ones before outer ones. Returns whether there was any; if not, records
/// the refusals.
fn convert_regions(view: &mut View<'_>, settings: &Settings) -> bool {
    let cfg = view.cfg();
    let mut incoming = IncomingEdges::of(view.func());
    let mut policy: Option<ConversionPolicy> = None;
    let mut refusals = Vec::new();
    let mut joins = BTreeSet::new();
    for head in cfg.postorder() {
        let Some(region) = Region::at(view.func(), &incoming, head) else {
            let near = Region::with_shared_side(view.func(), &incoming, head);
            refusals.extend(near.map(|(region, shared)| (region, Refusal::of_shared_side(view.func(), shared))));
            continue;
        };
        let policy = policy.get_or_insert_with(|| ConversionPolicy::new(view, settings));
        match policy.decide(view.func(), &region) {
            Ok((code, costs)) => {
                incoming.merge_two(region.join);
                joins.insert(region.join);
                convert(view, &region, &code, &costs);
                select_copies(view, head);
            }
            Err(refusal) => refusals.push((region, refusal)),
        }
    }
    if joins.is_empty() {
        refusals.into_iter().for_each(|(region, refusal)| record_refusal(view, &region, refusal));
        return false;
    }
    let cfg = view.cfg();
    // Unlike the merging, this counts edges from unreachable blocks.
    merge_straight_lines(view, &cfg, |block| joins.contains(&block) && incoming.is_one(block));
    true
}

/// The choice of regions that are converted.
struct ConversionPolicy<'m> {
    launch: Option<&'m Launch>,
    values: Rc<Values>,
    divergence: Rc<Divergence>,
    uses: Rc<ValueUses>,
    model: CostModel,
    arrangement: Arrangement,
    most_insts: usize,
    always: bool,
}

/// The reason to keep a region, and its costs if these are the reason.
struct Refusal {
    why: String,
    costs: Option<Costs>,
}

impl Refusal {
    fn of_shared_side(func: &Function, side: Block) -> Refusal {
        let why = format!("`{}` has other predecessors and would have to be copied", func.blocks[side].name);
        Refusal { why, costs: None }
    }
}

impl<'m> ConversionPolicy<'m> {
    fn new(view: &mut View<'m>, settings: &Settings) -> ConversionPolicy<'m> {
        let knobs = &settings.knobs;
        let machine = Machine::from_name(knobs.choice("machine")).unwrap_or_default();
        let launch = view.module().stated_launch_of(&view.func().name);
        let lanes = launch.and_then(|launch| launch.warp).unwrap_or(LANES);
        let warps = u32::try_from(knobs.integer("warps")).unwrap_or(0);
        ConversionPolicy {
            launch,
            values: view.values(),
            divergence: view.divergence(),
            uses: view.value_uses(),
            model: CostModel {
                machine,
                divergence: knobs.number("divergence"),
                lanes,
                warps: match (warps, launch) {
                    (0, None) => DEFAULT_WARPS,
                    (0, Some(_)) => resident_warps(launch, machine, lanes),
                    _ => warps,
                },
                edges: DeclaredEdges::of(view.func()),
            },
            arrangement: Arrangement::of(view.func(), launch, lanes),
            most_insts: usize::try_from(knobs.integer("max_instructions")).unwrap_or(0),
            always: knobs.switch("always"),
        }
    }

    /// The straight code of a region and its costs, or the reason to keep the region.
    fn decide(&self, func: &Function, region: &Region) -> Result<(StraightCode, Costs), Refusal> {
        let is_divergent = self.divergence.is_divergent_branch(region.head);
        let head_obstacle = (is_divergent && region.join == region.head).then(|| self.convergent_in_loop(func, region));
        let mut obstacles = [0, 1].into_iter().map(|side| self.obstacle(func, region, side, is_divergent));
        if let Some(why) = head_obstacle.flatten().or_else(|| obstacles.find_map(|obstacle| obstacle)) {
            return Err(Refusal { why, costs: None });
        }
        let code = StraightCode::of(func, &self.values, &self.uses, region);
        let coherence = |launch| Coherence::of_branch(func, launch, &self.values, &self.divergence, region.head);
        let decision = match is_divergent {
            true => {
                let share = divergence_share(func, &self.values, &self.divergence, self.arrangement, region.branch);
                let divergence_share = share.unwrap_or(self.model.divergence);
                Decision { divergence_share, coherence: self.launch.and_then(coherence) }
            }
            false => Decision { divergence_share: 0.0, coherence: None },
        };
        let costs = self.model.of(func, region, &code, decision);
        if self.always || costs.after <= costs.before {
            return Ok((code, costs));
        }
        let why = format!("straight-line code takes {:.1} cycles, the branch {:.1}", costs.after, costs.before);
        Err(Refusal { why, costs: Some(costs) })
    }

    /// A convergent operation in an exitless loop whose latches are the two sides.
    fn convergent_in_loop(&self, func: &Function, region: &Region) -> Option<String> {
        let blocks = region.sides.iter().flatten().chain([&region.head]);
        let mut ops = blocks.flat_map(|&block| func.block_insts(block)).map(|inst| func.insts[inst].opcode.op);
        let op = ops.find(|op| op.is_convergent())?.name();
        Some(format!("it contains `{op}`, and lanes of either side repeat the loop apart from the others"))
    }

    /// Obstacle that keeps a side from being guarded, whatever the cost.
    fn obstacle(&self, func: &Function, region: &Region, side: usize, is_divergent: bool) -> Option<String> {
        let count = region.insts(func, side).count();
        if count > self.most_insts {
            let name = &func.blocks[region.sides[side][0]].name;
            return Some(format!("`{name}` has {count} instructions, and at most {} are guarded", self.most_insts));
        }
        region.insts(func, side).find_map(|inst| {
            let why = match func.insts[inst].opcode.op {
                Op::Call => "the cost of a call is unknown",
                Op::In => "draws are never moved",
                Op::Read => "clock reads are never moved",
                Op::Ptx | Op::BarArrive => "it may depend on which lanes are active",
                op if op.is_barrier() && is_divergent => "lanes may diverge here, and a barrier needs all of them",
                _ if func.insts[inst].may_wait() && is_divergent => "lanes may diverge here, and it waits for others",
                _ => return None,
            };
            let op = func.insts[inst].opcode.op.name();
            Some(format!("it contains `{op}`: {why}"))
        })
    }
}

/// Replaces a region by its straight code, in one rewrite.
fn convert(view: &mut View<'_>, region: &Region, code: &StraightCode, costs: &Costs) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let Costs { before, after, .. } = *costs;
        let text = instruction_text(module, func, region.branch);
        let message = format!("converted `{text}` to straight-line code: {after:.1} cycles instead of {before:.1}");
        with_facts(Remark::applied(region.shape(), region.head, message), region, Some(costs))
    });
    rewrite.remove(region.branch);
    for _ in 0..code.temporaries {
        rewrite.create_temporary(Type::Pred);
    }
    for (place, line) in code.lines.iter().enumerate() {
        match line.inst {
            Some(inst) => rewrite.replace(inst, line.data.clone()),
            None => {
                if let Some(next) = code.lines[place..].iter().find_map(|line| line.inst) {
                    rewrite.insert_before(next, line.data.clone());
                }
            }
        }
    }
    for &block in region.sides.iter().flatten() {
        if let Some(branch) = rewrite.func().terminator(block) {
            rewrite.remove(branch);
        }
        rewrite.move_insts(block, region.head);
        rewrite.remove_block(block, Some(region.head));
    }
    rewrite.append(region.head, InstData::branch(region.join));
}

/// Records the reason to keep a region.
fn record_refusal(view: &mut View<'_>, region: &Region, Refusal { why, costs }: Refusal) {
    let module = view.module();
    view.miss(|func| {
        let text = instruction_text(module, func, region.branch);
        let remark = Remark::missed(region.shape(), region.head, format!("kept `{text}`: {why}"));
        with_facts(remark.at(region.branch), region, costs.as_ref())
    });
}

fn with_facts(remark: Remark, region: &Region, costs: Option<&Costs>) -> Remark {
    let blocks: Vec<Block> = region.sides.iter().flatten().copied().collect();
    let remark = remark.with("sides", Fact::Blocks(blocks)).with("join", Fact::Block(region.join));
    let Some(costs) = costs else { return remark };
    remark
        .with("cycles_before", Fact::Number(costs.before))
        .with("cycles_after", Fact::Number(costs.after))
        .with("true_side_probability", Fact::Number(costs.probabilities[0]))
        .with("false_side_probability", Fact::Number(costs.probabilities[1]))
}
