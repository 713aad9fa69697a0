//! Simplification of the control-flow graph.
//!
//! ```text
//! n1: p = mov.pred 1             n1: p = mov.pred 1
//!     br p, n2, n3                   a = …
//! n2: br n4                ──▶       ret a
//! n3: …                          (n3 is unreachable, n2 is empty, n4 has one predecessor)
//! n4: a = …
//!     ret a
//! ```
//!
//! 1. `constant-branch`: make a branch plain if its predicate or index is known, or all its targets
//!    are one; repeat until no branch is left.
//! 2. `unreachable`: remove blocks that no entry reaches.
//! 3. `empty-block`: send the predecessors of a block that only jumps to its target.
//! 4. `merge`: append a block's only successor if the block is its only predecessor.
//! 5. Repeat all while 2 or 3 fire.
//!
//! Sound because no instruction is executed by other lanes, more often, less often or in another
//! order than before; only branches disappear. Lanes may meet earlier in a smaller graph, so the
//! first and the third rule ask whether operations across lanes still run with the same lanes
//! ([`LaneGroups`]). Entries stay, and so does one `ret` of the last exit, because callers name a
//! place to go on for each. Reads of a register that only removed paths assigned still read zero; see
//! [`crate::pass::support::last_assignment`].
//!
//! Cost: O(n) a round; each round but the last removes an edge or a block. After edges were removed,
//! only blocks where more can be known are visited again
//! ([`crate::pass::support::fresh_knowledge`]). Running the pass again finds nothing more, unless
//! lanes could not be compared within the allowance, as a remark says.
//!
//! Source: Muchnick, Advanced Compiler Design and Implementation, section 18.2.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

use super::{Pass, PassError, PassInfo, Settings};
use crate::flow::{Allowance, LaneGroups, convergent_blocks};
use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, InstData, Op, Operand};
use crate::pass::support::available_copies::{AvailableCopies, Source, walk_part_with_copies};
use crate::pass::support::branch_slice::BranchSlice;
use crate::pass::support::fresh_knowledge::Seen;
use crate::pass::support::last_assignment::{Doubt, assign_zeros, take_edges_away};
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;

/// Branches that are asked about one by one when not all may become plain; others stay.
const ONE_BY_ONE: usize = 32;

/// See the file's head.
pub struct SimplifyCfg;

impl Pass for SimplifyCfg {
    const INFO: PassInfo = PassInfo {
        name: "simplify-cfg",
        paper: "Muchnick 18.2",
        summary: "Removes unreachable and empty blocks, merges straight-line blocks, and makes constant branches \
                  unconditional.",
        knobs: &[],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, _: &Settings) -> Result<(), PassError> {
        let allowance = Allowance::of(view.func());
        simplify(view, &allowance);
        Ok(())
    }
}

/// Simplifies a graph, once or again after other passes, with one allowance for all.
pub(super) fn simplify(view: &mut View<'_>, allowance: &Allowance) {
    let mut doubt = Doubt::default();
    let mut refused = BTreeSet::new();
    let slice = BranchSlice::of(view.func());
    loop {
        make_constant_branches_plain(view, &slice, allowance, &mut doubt, &mut refused);
        let cfg = view.cfg();
        let has_unreachable_blocks = remove_unreachable_blocks(view, &cfg);
        let has_empty_blocks = leave_out_empty_blocks(view, &cfg, allowance, &mut refused);
        // The graph is computed again only where the next rule could not tell from this one:
        // unreachable blocks that went away are still in it.
        let cfg = if has_empty_blocks { view.cfg() } else { cfg };
        merge_straight_lines(view, &cfg, |_| true);
        // Merged blocks know what they knew as neighbours, so merging alone shows no branch in another light.
        if !has_unreachable_blocks && !has_empty_blocks {
            return;
        }
    }
}

/// A branch whose outcome is known.
#[derive(PartialEq, Debug)]
struct Constant {
    block: Block,
    inst: Inst,
    target: Block,
    why: &'static str,
}

/// Branches whose outcome is known become plain ones, until there are no more or blocks have become unreachable, which
/// have to go first: they may hold definitions that stand in the way. Those that one walk finds become plain after it:
/// what it knows must not change under it.
fn make_constant_branches_plain(
    view: &mut View<'_>,
    slice: &BranchSlice,
    allowance: &Allowance,
    doubt: &mut Doubt,
    refused: &mut BTreeSet<Inst>,
) {
    // What the last walk saw, where nothing was done since but to take edges away.
    let mut seen: Option<Seen> = None;
    loop {
        let (cfg, dominators) = (view.cfg(), view.dominators());
        let blocks = seen.map(|seen| seen.blocks_to_walk(&cfg, &dominators));
        let block_takes_part = |place| blocks.as_ref().is_none_or(|blocks| blocks[place]);
        let found = constant_branches(view, block_takes_part, |inst| slice.contains(inst));
        debug_assert_eq!(
            found,
            constant_branches(view, |_| true, |_| true),
            "the visited part lacks an instruction that decides about a branch"
        );
        let count = found.len();
        let found = keep_lane_groups(view, &cfg, found, allowance, refused);
        if found.is_empty() {
            return;
        }
        let insts_before = view.func().insts.len();
        take_edges_away(view, &found, |constant| constant.block, doubt, make_branches_plain);
        if view.cfg().reverse_postorder().len() < cfg.reverse_postorder().len() {
            return;
        }
        let has_new_insts = view.func().insts.len() > insts_before;
        // Refused branches are visited again.
        seen = (!has_new_insts && found.len() == count).then(|| Seen::new(cfg, dominators));
    }
}

/// Those of the branches that may become plain without operations across lanes that then run with other lanes.
fn keep_lane_groups(
    view: &mut View<'_>,
    cfg: &Cfg,
    found: Vec<Constant>,
    allowance: &Allowance,
    refused: &mut BTreeSet<Inst>,
) -> Vec<Constant> {
    if found.is_empty() {
        return found;
    }
    let Some(convergent) = convergent_blocks(view.func()) else { return found };
    let divergence = view.divergence();
    let groups = LaneGroups::of(cfg, &convergent, &divergence, allowance);
    let are_kept_by = |branches: &[Constant]| {
        let changed = branches.iter().map(|branch| (branch.block, vec![branch.target])).collect();
        let settled: Vec<Block> = branches.iter().map(|branch| branch.block).collect();
        groups.are_kept_by(&cfg.with_targets(&changed), &settled)
    };
    if are_kept_by(&found) {
        return found;
    }
    let mut kept = Vec::new();
    for (index, branch) in found.into_iter().enumerate() {
        let inst = branch.inst;
        kept.push(branch);
        if index < ONE_BY_ONE && are_kept_by(&kept) {
            continue;
        }
        let Some(Constant { block, target, .. }) = kept.pop() else { continue };
        if refused.insert(inst) {
            let module = view.module();
            view.miss(|func| {
                let (text, name) = (instruction_text(module, func, inst), &func.blocks[target].name);
                let why = match allowance.is_used_up() {
                    true => "too large a tangle of branches to compare the lanes of operations across lanes",
                    false => "lanes would reconverge earlier, and an operation across lanes would run with others",
                };
                let message = format!("kept `{text}`, although it always goes to `{name}`: {why}");
                Remark::missed("constant-branch", block, message).at(inst).with("target", Fact::Block(target))
            });
        }
    }
    kept
}

/// The branches whose outcome is known to a walk over some of the blocks and instructions.
fn constant_branches(
    view: &mut View<'_>,
    block_takes_part: impl Fn(usize) -> bool,
    inst_takes_part: impl Fn(Inst) -> bool,
) -> Vec<Constant> {
    let mut found = Vec::new();
    walk_part_with_copies(view, block_takes_part, inst_takes_part, outcome, |_, _, (block, inst), (target, why)| {
        found.push(Constant { block, inst, target, why });
        true
    });
    found
}

/// Target that a branch always takes, if that is known, and the reason.
fn outcome(copies: &AvailableCopies, data: &InstData) -> Option<(Block, &'static str)> {
    let known = match (data.opcode.op, data.args.first()) {
        (Op::BrIf, Some(Operand::Reg(reg))) => copies.predicate(*reg).map(usize::from).map(|taken| 1 - taken),
        (Op::BrIf, Some(Operand::NotReg(reg))) => copies.predicate(*reg).map(usize::from),
        (Op::Switch, Some(Operand::Const(bits))) => Some(*bits as usize),
        (Op::Switch, Some(Operand::Reg(reg))) => match copies.lookup(*reg, None) {
            Some(Source::Const(bits)) => Some(bits as usize),
            _ => None,
        },
        _ => return None,
    };
    let targets = data.targets();
    match known {
        Some(index) => Some((targets[index.min(targets.len() - 1)], "its condition is known")),
        None if targets.iter().all(|&target| target == targets[0]) => {
            Some((targets[0], "all its targets are the same"))
        }
        None => None,
    }
}

/// Makes branches plain in one rewrite, mostly one.
fn make_branches_plain(view: &mut View<'_>, branches: &[Constant], needs_zeros: bool) {
    let [Constant { block, inst, target, why }, others @ ..] = branches else { return };
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let text = instruction_text(module, func, *inst);
        let mut message = format!("`{text}` always goes to `{}`: {why}", func.blocks[*target].name);
        if !others.is_empty() {
            message += &format!("; so do {} more branches", others.len());
        }
        Remark::applied("constant-branch", *block, message).at(*inst).with("target", Fact::Block(*target))
    });
    branches.iter().for_each(|branch| rewrite.replace(branch.inst, InstData::branch(branch.target)));
    if needs_zeros {
        assign_zeros(&mut rewrite);
    }
}

/// A block that no entry reaches, but with the only `ret` of the last exit, which callers name a place to go on for.
fn last_exit(func: &Function, cfg: &Cfg) -> Option<(Block, Inst)> {
    let count = func.exit_count();
    let returns = |block: Block| {
        let inst = func.terminator(block).filter(|&inst| func.insts[inst].opcode.op == Op::Ret)?;
        (func.insts[inst].exit() + 1 == count).then_some((block, inst))
    };
    let (mut all, mut reachable) = (func.block_order(), cfg.reverse_postorder().iter());
    let is_reached = count == 1 || reachable.any(|&block| returns(block).is_some());
    if is_reached { None } else { all.find_map(returns) }
}

/// Leaves of a block nothing but its `ret`, of zero where it returned something.
fn keep_last_exit(view: &mut View<'_>, block: Block, ret: Inst) {
    let func = view.func();
    let is_bare = func.layout.first_inst(block) == Some(ret);
    if is_bare && func.insts[ret].args.iter().all(|operand| operand.as_const().is_some()) {
        return;
    }
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let (name, text) = (&func.blocks[block].name, instruction_text(module, func, ret));
        let message =
            format!("`{name}` is unreachable; only `{text}` is kept, because it tells callers of the last exit");
        Remark::applied("last-exit", block, message).at(ret)
    });
    let others: Vec<Inst> = rewrite.func().block_insts(block).filter(|&inst| inst != ret).collect();
    others.into_iter().rev().for_each(|inst| rewrite.remove(inst));
    rewrite.update(ret, |data| {
        data.args.iter_mut().for_each(|operand| *operand = Operand::Const(0));
        true
    });
}

/// Removes blocks that no entry reaches. Gives whether there are any.
fn remove_unreachable_blocks(view: &mut View<'_>, cfg: &Cfg) -> bool {
    let kept = last_exit(view.func(), cfg);
    if let Some((block, ret)) = kept {
        keep_last_exit(view, block, ret);
    }
    let is_kept = |block: Block| kept.is_some_and(|(kept, _)| kept == block);
    let others = view.func().block_order().filter(|&block| !cfg.is_reachable(block) && !is_kept(block));
    let unreachable: Vec<Block> = others.collect();
    if unreachable.is_empty() {
        return false;
    }
    // They may branch to one another, so all go in one rewrite: no state in between names a block that is gone.
    let mut rewrite = view.rewrite(|func| {
        let names: Vec<_> = unreachable.iter().map(|&block| format!("`{}`", func.blocks[block].name)).collect();
        Remark::applied("unreachable", unreachable[0], format!("removed {}: unreachable", names.join(", ")))
            .with("blocks", Fact::Blocks(unreachable.clone()))
    });
    for &block in &unreachable {
        rewrite.remove_block(block, None);
    }
    true
}

/// Predecessors of an empty block go where it goes. Postorder settles a row of empty blocks from its end, so each
/// branch is redirected once for every block that it leaves out. Gives whether there are any.
///
/// Without an empty block, all others post-dominate each other as before, and a search visits them in the same order.
/// So lanes that part meet where they met, with two exceptions: two sides of a branch become one, or an endless loop
/// loses its last block, which counts as its end. These blocks stay where operations across lanes may be concerned.
fn leave_out_empty_blocks(view: &mut View<'_>, cfg: &Cfg, allowance: &Allowance, refused: &mut BTreeSet<Inst>) -> bool {
    let before = view.rewrites();
    let convergent = convergent_blocks(view.func());
    let divergence = convergent.is_some().then(|| view.divergence());
    let groups = convergent.as_ref().zip(divergence.as_deref());
    let groups = groups.map(|(convergent, divergence)| LaneGroups::of(cfg, convergent, divergence, allowance));
    // What comes to a block besides the graph's predecessors, because of blocks that were left out.
    let mut redirected: BTreeMap<Block, Vec<Block>> = BTreeMap::new();
    for block in cfg.postorder() {
        let Some(target) = empty_block_target(view, block) else { continue };
        if cfg.is_entry(block) || target == block {
            continue;
        }
        let mut coming: Vec<Block> = reachable_predecessors(cfg, block).collect();
        coming.extend(redirected.remove(&block).unwrap_or_default());
        if let Some(groups) = &groups {
            let joins_sides = |&&from: &&Block| joins_sides(view, from, block, target);
            let is_needed = groups.ends_endless_loop(block)
                || coming.iter().filter(joins_sides).any(|&from| groups.depend_on(from));
            if is_needed {
                tell_regrouping(view, block, target, refused);
                continue;
            }
        }
        let mut rewrite = view.rewrite(|func| {
            let (name, target_name) = (&func.blocks[block].name, &func.blocks[target].name);
            Remark::applied(
                "empty-block",
                block,
                format!("`{name}` only jumps to `{target_name}`, so its predecessors now jump there directly"),
            )
            .with("target", Fact::Block(target))
        });
        for &predecessor in &coming {
            rewrite.retarget(predecessor, block, target);
        }
        rewrite.remove_block(block, Some(target));
        rewrite.finish();
        redirected.entry(target).or_default().extend(coming);
    }
    view.rewrites() > before
}

/// Are two targets of a block's branch one, but for an empty block on the way, and are there others?
fn joins_sides(view: &View<'_>, from: Block, empty: Block, target: Block) -> bool {
    let targets = view.func().successors(from);
    targets.contains(&target) && targets.iter().any(|other| ![empty, target].contains(other))
}

/// Says once why an empty block stays.
fn tell_regrouping(view: &mut View<'_>, empty: Block, target: Block, refused: &mut BTreeSet<Inst>) {
    if view.func().terminator(empty).is_some_and(|inst| refused.insert(inst)) {
        view.miss(|func| {
            let (name, target_name) = (&func.blocks[empty].name, &func.blocks[target].name);
            let message = format!(
                "kept `{name}`: without it its lanes would run an operation across lanes together with \
                 those that jump to `{target_name}` directly"
            );
            Remark::missed("empty-block", empty, message).with("target", Fact::Block(target))
        });
    }
}

/// Predecessors that are reachable, repetitions kept.
fn reachable_predecessors(cfg: &Cfg, block: Block) -> impl Iterator<Item = Block> {
    cfg.predecessors(block).iter().copied().filter(|&predecessor| cfg.is_reachable(predecessor))
}

/// Target of a block that only jumps.
fn empty_block_target(view: &View<'_>, block: Block) -> Option<Block> {
    let layout = &view.func().layout;
    let first = layout.first_inst(block).filter(|&first| layout.last_inst(block) == Some(first))?;
    let data = &view.func().insts[first];
    (data.opcode.op == Op::Br).then(|| data.targets()[0])
}

/// A block takes in its only successor if it is that one's only predecessor. In reverse postorder the head of a line
/// takes in the whole line, so each instruction moves once. Only blocks that `may_be_merged` are taken in.
pub(super) fn merge_straight_lines(view: &mut View<'_>, cfg: &Cfg, may_be_merged: impl Fn(Block) -> bool) {
    let mut merged: SecondaryMap<Block, bool> = SecondaryMap::new();
    for &head in cfg.reverse_postorder() {
        if merged[head] {
            continue;
        }
        // Most blocks go to several others, which is known without a look at their terminators.
        while view.func().successors(head).len() == 1
            && let Some(inst) = view.func().terminator(head)
        {
            let data = &view.func().insts[inst];
            if data.opcode.op != Op::Br {
                break;
            }
            let next = data.targets()[0];
            if next == head
                || !may_be_merged(next)
                || cfg.is_entry(next)
                || reachable_predecessors(cfg, next).count() != 1
            {
                break;
            }
            let mut rewrite = view.rewrite(|func| {
                let (name, next_name) = (&func.blocks[head].name, &func.blocks[next].name);
                Remark::applied(
                    "merge",
                    head,
                    format!("merged `{next_name}` into `{name}`, its only predecessor, which has no other successor"),
                )
                .with("merged", Fact::Block(next))
            });
            rewrite.remove(inst);
            rewrite.move_insts(next, head);
            rewrite.remove_block(next, Some(head));
            rewrite.finish();
            merged[next] = true;
        }
    }
}
