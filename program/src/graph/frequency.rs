//! How often blocks run, guessed from the shape: a block of a loop runs more often than one
//! outside, and a branch goes each way equally often, unless somebody knows better.
//!
//! ```text
//! a -> h, h -> b | c, b -> h        a 1    h 8    b 7    c 1
//! ```
//!
//! Control that comes in is 1, shared out among the entries. A branch that leaves loops is taken
//! less often than one that stays, by [`Frequencies::ITERATIONS`] - 1 for each loop left. A loop is
//! gone through once for control that comes to its header: part of it leaves, and the rest comes
//! back. So a header runs 1 / (the part that leaves) times for each time that the loop is entered,
//! and with one such branch that is [`Frequencies::ITERATIONS`] times. What enters a loop also
//! leaves it, however many ways out it has and whatever is known of them: behind loops, code runs
//! as often as before them.
//!
//! Loops are gone through from the innermost on, and stepped over as a whole in the loop around
//! them. In an irreducible loop, what enters elsewhere is taken to enter at the header; what does
//! so from places behind the header only counts inside the loop. Frequencies are guesses: they
//! compare places, they count nothing. Linear in edges times the depth of loops that an edge
//! leaves.
//!
//! Source: Y. Wu and J. Larus, Static branch frequency and program profile analysis, MICRO 1994; the loop heuristic of
//! T. Ball and J. Larus, Branch prediction for free, PLDI 1993.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

use super::cfg::{Cfg, Edge};
use super::loops::{Loop, Loops};
use crate::ir::Block;

/// Expected executions of each block and edge, for one execution of the function.
#[derive(Clone, PartialEq, Debug)]
pub struct Frequencies {
    blocks: Vec<f64>,
    /// Probability (0–1) of each edge once its source runs.
    probabilities: Vec<f64>,
}

impl Frequencies {
    /// How often a loop with one branch that leaves it is taken to run each time it is entered.
    pub const ITERATIONS: f64 = 8.0;
    /// How often a loop runs at most each time it is entered, however seldom it is known to be left.
    pub const MOST_ITERATIONS: f64 = 1000.0;
    /// Frequencies stop growing here, so that no nest of loops is infinitely frequent: more than 300 loops deep.
    pub const MAX: f64 = 1e300;
    /// Smallest frequency of a reachable block.
    pub const MIN: f64 = 1e-300;

    /// The frequencies of a graph.
    pub fn compute(cfg: &Cfg, loops: &Loops) -> Frequencies {
        Frequencies::compute_with(cfg, loops, |_| None)
    }

    /// Computes frequencies from known branches: the probability (0–1) of each edge of a block, or of none of them.
    pub fn compute_with(cfg: &Cfg, loops: &Loops, known: impl Fn(Edge) -> Option<f64>) -> Frequencies {
        let probabilities = probabilities(cfg, loops, known);
        let mut flow = Flow {
            cfg,
            loops,
            probabilities: &probabilities,
            blocks: vec![0.0; cfg.block_count()],
            entered: vec![0.0; loops.len()],
            exits: Vec::new(),
            exits_of: Vec::with_capacity(loops.len()),
        };
        let nodes = Nodes::of(cfg, loops);
        let mut iterations: Vec<f64> = Vec::with_capacity(loops.len());
        for (inner, data) in loops.iter() {
            flow.blocks[data.header.index()] = 1.0;
            flow.pass(Some(inner), nodes.of_loop(inner));
            let leaving: f64 = flow.exits.iter().map(|exit| exit.1).sum();
            let part = |(target, amount)| (target, if leaving > 0.0 { amount / leaving } else { 0.0 });
            flow.exits_of.push(flow.exits.drain(..).map(part).collect());
            iterations.push(if leaving > 0.0 {
                (1.0 / leaving).min(Frequencies::MOST_ITERATIONS)
            } else {
                Frequencies::ITERATIONS
            });
        }
        let share = 1.0 / cfg.entries().len().max(1) as f64;
        cfg.entries().iter().for_each(|&entry| flow.go_to(None, entry, share));
        flow.pass(None, nodes.outside());

        // So far each loop's are for one run of its header.
        let Flow { mut blocks, entered, .. } = flow;
        let mut of_header: Vec<f64> = vec![0.0; loops.len()];
        for (inner, data) in loops.iter().rev() {
            let around = data.parent.map_or(1.0, |parent| of_header[parent.index()]);
            of_header[inner.index()] =
                (entered[inner.index()] * around * iterations[inner.index()]).clamp(Frequencies::MIN, Frequencies::MAX);
        }
        for &block in cfg.reverse_postorder() {
            let around = loops.innermost(block).map_or(1.0, |inner| of_header[inner.index()]);
            let frequency = &mut blocks[block.index()];
            *frequency = (*frequency * around).clamp(Frequencies::MIN, Frequencies::MAX);
        }
        Frequencies { blocks, probabilities }
    }

    /// How often a block runs for each time that its function is entered. 0 for an unreachable block.
    pub fn block(&self, block: Block) -> f64 {
        self.blocks[block.index()]
    }

    /// The probability (0–1) that control leaves the edge's source along it. 0 for an unreachable source.
    pub fn probability(&self, edge: Edge) -> f64 {
        self.probabilities[edge.index()]
    }

    /// How often an edge is taken for each time that its function is entered.
    pub fn edge(&self, cfg: &Cfg, edge: Edge) -> f64 {
        self.block(cfg.source(edge)) * self.probability(edge)
    }
}

fn probabilities(cfg: &Cfg, loops: &Loops, known: impl Fn(Edge) -> Option<f64>) -> Vec<f64> {
    let mut probabilities = vec![0.0; cfg.edge_count()];
    let mut weights: Vec<f64> = Vec::new();
    for &block in cfg.reverse_postorder() {
        let around = loops.innermost(block);
        let weight = |edge: Edge| {
            let target = cfg.target(edge);
            let mut weight: f64 = 1.0;
            let mut inner = around;
            if loops.innermost(target) != around {
                while let Some(left) = inner.filter(|&left| !loops.contains(left, target)) {
                    weight /= Frequencies::ITERATIONS - 1.0;
                    inner = loops[left].parent;
                }
            }
            weight.max(Frequencies::MIN)
        };
        // Whoever knows of one edge knows of all, and what is alone has all, whatever its weight.
        let is_alone = cfg.out_edges(block).len() == 1;
        weights.clear();
        let mut total = 0.0;
        for (place, edge) in cfg.out_edges(block).enumerate() {
            probabilities[edge.index()] = match known(edge) {
                Some(probability) => probability,
                None if is_alone => 1.0,
                None => {
                    if weights.is_empty() {
                        weights.extend(cfg.out_edges(block).map(weight));
                        total = weights.iter().sum();
                    }
                    weights[place] / total
                }
            };
        }
    }
    probabilities
}

/// Flow through a loop for one run of its header, or through the function for one of its own.
struct Flow<'a> {
    cfg: &'a Cfg,
    loops: &'a Loops,
    probabilities: &'a [f64],
    /// Flow of each block.
    blocks: Vec<f64>,
    /// Flow that enters each loop, in the loop around it.
    entered: Vec<f64>,
    /// Targets outside of the loop, and their flow.
    exits: Vec<(Block, f64)>,
    /// Exits of each loop that has been processed and not yet stepped over: targets, and their part of the flow
    /// (0–1). So an edge that leaves many loops stands in one list at a time.
    exits_of: Vec<SmallVec<[(Block, f64); 2]>>,
}

impl Flow<'_> {
    /// Lets control flow through the blocks of a loop and over the loops in it.
    fn pass(&mut self, of: Option<Loop>, nodes: &[Node]) {
        for &node in nodes {
            match node {
                Node::Block(block) => {
                    let leaving = self.blocks[block.index()];
                    for edge in self.cfg.out_edges(block) {
                        self.go_to(of, self.cfg.target(edge), leaving * self.probabilities[edge.index()]);
                    }
                }
                Node::Loop(inner) => {
                    let entered = self.entered[inner.index()];
                    for (target, part) in core::mem::take(&mut self.exits_of[inner.index()]) {
                        self.go_to(of, target, entered * part);
                    }
                }
            }
        }
    }

    /// Something goes to a block, within a loop or out of it. What comes back to the header is not followed further.
    fn go_to(&mut self, of: Option<Loop>, target: Block, amount: f64) {
        let inner = self.loops.innermost(target);
        if inner == of {
            if of.is_none_or(|of| self.loops[of].header != target) {
                self.blocks[target.index()] += amount;
            }
            return;
        }
        let Some(mut child) = inner.filter(|&inner| of.is_none_or(|of| self.loops.encloses(of, inner))) else {
            self.exits.push((target, amount));
            return;
        };
        while let Some(parent) = self.loops[child].parent.filter(|&parent| Some(parent) != of) {
            child = parent;
        }
        self.entered[child.index()] += amount;
    }
}

/// A part of a loop, or of what is in none.
#[derive(Clone, Copy)]
enum Node {
    /// A block that is in no loop inside.
    Block(Block),
    /// A loop inside, with all that is in it.
    Loop(Loop),
}

/// The parts of every loop, in an order in which control comes to them. A loop stands where its header does.
struct Nodes {
    /// Those of loop `l` are `nodes[first[l]..first[l + 1]]`; behind them stands what is in none.
    first: Vec<usize>,
    nodes: Vec<Node>,
}

impl Nodes {
    fn of(cfg: &Cfg, loops: &Loops) -> Nodes {
        let row = |of: Option<Loop>| of.map_or(loops.len(), Loop::index);
        let mut first = vec![0; loops.len() + 2];
        let blocks = cfg.reverse_postorder();
        blocks.iter().for_each(|&block| first[row(loops.innermost(block))] += 1);
        loops.iter().for_each(|(_, data)| first[row(data.parent)] += 1);
        let mut end = 0;
        for count in &mut first {
            let start = end;
            end += *count;
            *count = start;
        }
        let mut free = first.clone();
        let mut nodes = vec![Node::Block(Block::new(0)); end];
        let mut add = |of: Option<Loop>, node| {
            nodes[free[row(of)]] = node;
            free[row(of)] += 1;
        };
        for &block in blocks {
            if let Some(headed) = loops.headed_by(block) {
                add(loops[headed].parent, Node::Loop(headed));
            }
            add(loops.innermost(block), Node::Block(block));
        }
        Nodes { first, nodes }
    }

    fn of_loop(&self, of: Loop) -> &[Node] {
        &self.nodes[self.first[of.index()]..self.first[of.index() + 1]]
    }

    fn outside(&self) -> &[Node] {
        &self.nodes[self.first[self.first.len() - 2]..]
    }
}
