//! Divergence by its definition: the same values, branches and uses as the analysis finds, by sets of blocks and paths
//! computed afresh for every branch until nothing changes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use warpscope_core::flow::{Definition, Divergence, JoinArg, Value, ValueUses, Values};
use warpscope_core::graph::{Cfg, Dominators, PostDominators};
use warpscope_core::ir::{Block, Function, Inst, Op, Operand, Special};

use super::divergence::{Analysed, analyse, kernel};
use super::random_program::{Program, Step, programs};
use crate::graph::random_graph::Graph;

/// Divergent values, except joins that no instruction reads.
#[derive(Default, PartialEq, Debug)]
struct Reference {
    values: BTreeSet<Value>,
    branches: BTreeSet<Block>,
    uses: BTreeSet<(Inst, usize)>,
    apart: BTreeSet<Block>,
    draws_are_apart: bool,
}

struct Input<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    dominators: Dominators,
    post_dominators: &'a PostDominators,
    values: &'a Values,
}

/// Blocks that are reachable from some blocks without entering others.
fn reach(cfg: &Cfg, from: &[Block], avoided: impl Fn(Block) -> bool) -> BTreeSet<Block> {
    let mut reached = BTreeSet::new();
    let mut stack = from.to_vec();
    while let Some(block) = stack.pop() {
        if !avoided(block) && reached.insert(block) {
            stack.extend_from_slice(cfg.successors(block));
        }
    }
    reached
}

impl Input<'_> {
    fn reference(&self) -> Reference {
        let mut known = Reference::default();
        loop {
            let before = (known.values.len(), known.branches.len(), known.uses.len(), known.draws_are_apart);
            self.follow_data(&mut known);
            for branch in known.branches.clone() {
                self.part(branch, &mut known);
            }
            if before == (known.values.len(), known.branches.len(), known.uses.len(), known.draws_are_apart) {
                known.values.retain(|&value| is_read_or_made(self.func, self.values, value));
                return known;
            }
        }
    }

    fn follow_data(&self, known: &mut Reference) {
        let Input { func, cfg, values, .. } = *self;
        for &block in cfg.reverse_postorder() {
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                for (index, &value) in values.used(inst).iter().enumerate() {
                    if known.values.contains(&value) {
                        known.uses.insert((inst, index));
                    }
                }
                let is_guarded_apart = data.guard.is_some() && known.uses.contains(&(inst, 0));
                known.draws_are_apart |= data.opcode.op == Op::In && is_guarded_apart;
                let differs = data.args.iter().any(|arg| matches!(arg, Operand::Special(Special::Tid(_))))
                    || (0..values.used(inst).len()).any(|index| known.uses.contains(&(inst, index)))
                    || data.opcode.op == Op::In && known.draws_are_apart;
                if differs {
                    known.values.extend(values.defined(inst));
                    if data.is_terminator() && data.targets().iter().any(|&to| to != data.targets()[0]) {
                        known.branches.insert(block);
                    }
                }
            }
        }
        for value in values.iter() {
            let mut differs = false;
            if let Definition::Guarded { old, .. } = values.definition(value) {
                differs |= known.values.contains(&old);
            }
            differs |= values.join_args(value).iter().any(|arg| known.values.contains(&arg.value));
            if differs {
                known.values.insert(value);
            }
        }
    }

    fn part(&self, branch: Block, known: &mut Reference) {
        let Input { func, cfg, values, post_dominators, .. } = *self;
        let meeting = post_dominators.immediate_post_dominator(branch);
        let region = reach(cfg, cfg.successors(branch), |block| Some(block) == meeting);
        known.apart.extend(&region);
        let draws = region.iter().flat_map(|&block| func.block_insts(block));
        known.draws_are_apart |= draws.into_iter().any(|inst| func.insts[inst].opcode.op == Op::In);

        // The way on which the branch reaches a block: the farthest block, on its side of the
        // branch, that all paths pass.
        let reached_without =
            |avoided: Block| reach(cfg, cfg.successors(branch), |block| Some(block) == meeting || block == avoided);
        let without: BTreeMap<Block, BTreeSet<Block>> =
            region.iter().map(|&avoided| (avoided, reached_without(avoided))).collect();
        let passed = |block: Block| -> Vec<Block> {
            region.iter().copied().filter(|at| !without[at].contains(&block)).collect()
        };
        let way = |block: Block| passed(block).into_iter().min_by_key(|&at| passed(at).len());
        for &block in region.iter().chain(&meeting) {
            for join in values.joins(block) {
                let mut ways = BTreeSet::new();
                let mut taken = BTreeSet::new();
                for arg in values.join_args(join) {
                    let Some(source) = arg.edge.expand().map(|edge| cfg.source(edge)) else { continue };
                    let is_direct = source == branch;
                    let from = if is_direct { None } else { way(source) };
                    let counts = is_direct || region.contains(&source);
                    if counts && (Some(block) == meeting || from != Some(block)) {
                        ways.insert(from);
                        taken.insert(arg.value);
                    }
                }
                if taken.len() > 1 && (Some(block) == meeting || ways.len() > 1) {
                    known.values.insert(join);
                }
            }
        }

        let Some(meeting) = meeting else { return };
        // A join where the lanes meet takes a value from the region that each lane has from its last time there.
        for join in values.joins(meeting) {
            let is_left = |arg: &JoinArg| {
                let source = arg.edge.expand().map(|edge| cfg.source(edge));
                let writer = values.block(func, arg.value).filter(|writer| region.contains(writer));
                source.is_some_and(|source| source == branch || region.contains(&source))
                    && writer.is_some_and(|writer| self.dominators.dominates(writer, branch))
            };
            if values.join_args(join).iter().any(is_left) {
                known.values.insert(join);
            }
        }
        for &writer in &region {
            if !self.dominators.dominates(writer, meeting) {
                continue;
            }
            let behind = reach(cfg, &[meeting], |block| block == writer);
            let is_behind = |at: Block| !region.contains(&at) || behind.contains(&at);
            let made_here = func.block_insts(writer).flat_map(|inst| values.defined(inst)).copied();
            for value in values.joins(writer).chain(made_here) {
                self.leave(value, &region, &is_behind, &behind, known);
            }
        }
    }

    /// A value is left behind.
    fn leave(
        &self,
        value: Value,
        region: &BTreeSet<Block>,
        is_behind: &impl Fn(Block) -> bool,
        behind: &BTreeSet<Block>,
        known: &mut Reference,
    ) {
        let Input { func, cfg, values, .. } = *self;
        for &block in cfg.reverse_postorder().iter().filter(|&&block| is_behind(block)) {
            for inst in func.block_insts(block) {
                let uses = values.used(inst).iter().enumerate().filter(|&(_, &used)| used == value);
                known.uses.extend(uses.map(|(index, _)| (inst, index)));
            }
        }
        for other in values.iter() {
            if let Definition::Guarded { inst, old, .. } = values.definition(other)
                && old == value
                && func.inst_block(inst).is_some_and(is_behind)
            {
                known.values.insert(other);
            }
            for arg in values.join_args(other).iter().filter(|arg| arg.value == value) {
                if let Some(edge) = arg.edge.expand()
                    && (!region.contains(&cfg.target(edge)) || behind.contains(&cfg.source(edge)))
                {
                    known.values.insert(other);
                }
            }
        }
    }
}

/// Does an instruction make the value, or read it?
fn is_read_or_made(func: &Function, values: &Values, value: Value) -> bool {
    let is_join = matches!(values.definition(value), Definition::Join { .. });
    !is_join || ValueUses::compute(func, values).is_read(value)
}

/// Findings of the analysis, in the same words.
fn found(func: &Function, cfg: &Cfg, values: &Values, divergence: &Divergence) -> Reference {
    let uses_of = |inst: Inst| (0..values.used(inst).len()).map(move |index| (inst, index));
    let insts = cfg.reverse_postorder().iter().flat_map(|&block| func.block_insts(block));
    let is_divergent = |&(inst, index): &(Inst, usize)| divergence.is_divergent_use(values, inst, index);
    Reference {
        values: values
            .iter()
            .filter(|&value| divergence.is_divergent(value) && is_read_or_made(func, values, value))
            .collect(),
        branches: divergence.divergent_branches().collect(),
        uses: insts.flat_map(uses_of).filter(is_divergent).collect(),
        apart: func.blocks.keys().filter(|&block| divergence.runs_apart(block).is_some()).collect(),
        draws_are_apart: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_analysis_finds_what_the_definition_says(
        program in programs(12),
        flavours in prop::collection::vec(0usize..12, 12),
    ) {
        let Analysed { func, cfg, post_dominators, values, divergence } = analyse(kernel(&program, &flavours));
        let dominators = Dominators::compute(&cfg);
        let input = Input { func: &func, cfg: &cfg, dominators, post_dominators: &post_dominators, values: &values };
        let reference = Reference { draws_are_apart: false, ..input.reference() };
        prop_assert_eq!(found(&func, &cfg, &values, &divergence), reference);
    }
}

/// The branch of block 6 leads back to two loops, one in the other, that block 9 enters: block 2
/// heads the outer one and block 7, which also leads to itself, the inner.
#[test]
fn loops_within_what_a_branch_leads_back_to_have_one_way() {
    let graph = Graph::new([&[1], &[2], &[7, 9], &[9, 4], &[], &[9, 3], &[8, 3, 9], &[7, 8, 2], &[6, 0], &[0]]);
    let step = |reg: usize| Step { writes: vec![reg], reads: vec![], guard: None };
    let mut steps = vec![vec![]; graph.len()];
    steps[1] = vec![step(0), step(3)];
    let program = Program { graph, steps, choices: vec![0, 0, 3, 0, 0, 0, 0, 0, 0, 0] };
    // The first step reads the lane's number.
    let Analysed { func, cfg, post_dominators, values, divergence } = analyse(kernel(&program, &[1, 0, 1, 1]));
    let dominators = Dominators::compute(&cfg);
    let input = Input { func: &func, cfg: &cfg, dominators, post_dominators: &post_dominators, values: &values };
    let found = found(&func, &cfg, &values, &divergence);
    assert_eq!(found.branches.len(), 4, "{found:?}");
    assert_eq!(found, Reference { draws_are_apart: false, ..input.reference() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Checks graphs so tangled that walks use up their allowance.
    #[test]
    fn the_analysis_misses_nothing_where_it_gives_up(
        program in programs(60),
        flavours in prop::collection::vec(0usize..12, 12),
    ) {
        let Analysed { func, cfg, post_dominators, values, divergence } = analyse(kernel(&program, &flavours));
        let dominators = Dominators::compute(&cfg);
        let input = Input { func: &func, cfg: &cfg, dominators, post_dominators: &post_dominators, values: &values };
        let (reference, found) = (input.reference(), found(&func, &cfg, &values, &divergence));
        prop_assert!(reference.values.is_subset(&found.values));
        prop_assert!(reference.branches.is_subset(&found.branches));
        prop_assert!(reference.uses.is_subset(&found.uses));
        prop_assert!(reference.apart.is_subset(&found.apart));
    }
}
