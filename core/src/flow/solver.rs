//! One solver for dataflow problems over blocks.
//!
//! A [`Problem`] says what a fact is, how two meet, and what a block or an edge does to one; [`solve`] finds the
//! greatest solution. Whoever listens, through a [`FactSink`], hears every fact that arrives at a block; with
//! [`Silent`], which has no size, listening costs nothing.
//!
//! ```text
//! forward   fact at start of b = meet over edges p -> b of cross(edge, transfer(p, fact at start of p))
//! backward  the same with all edges turned around
//! ```
//!
//! Sound because facts only descend: the worklist holds every block whose incoming fact changed since its transfer was
//! computed. Blocks are taken in reverse postorder (postorder for backward problems), so that an acyclic region takes
//! one visit a block and a nest of loops about its depth and two. It ends if the lattice has no endless descending
//! chains; a visit costs the problem's own meet and transfer.
//!
//! Source: G. Kildall, A unified approach to global program optimization, POPL 1973; the order is J. Kam's and
//! J. Ullman's, Global data flow analysis and iterative algorithms, JACM 1976.

use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use crate::graph::{Cfg, Edge};
use crate::ir::Block;

/// With control or against it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Facts go from a block to its successors.
    Forward,
    /// Facts go from a block to its predecessors.
    Backward,
}

/// A dataflow problem.
pub trait Problem {
    /// Fact known at a point.
    type Fact: Clone;

    /// Which way facts go.
    fn direction(&self) -> Direction;

    /// The fact at a point that nothing reached yet: neutral for the meet.
    fn top(&self) -> Self::Fact;

    /// The fact that comes from outside: at an entry of the function when facts go forward, else at a block that goes
    /// nowhere.
    fn boundary(&self, block: Block) -> Self::Fact;

    /// Meets `other` into `fact`. Did `fact` change?
    fn meet(&self, fact: &mut Self::Fact, other: &Self::Fact) -> bool;

    /// Takes a fact from the side of a block where it arrives to the side where it leaves.
    fn transfer(&self, block: Block, fact: &mut Self::Fact);

    /// Takes a fact along an edge. Most problems do nothing here.
    fn cross(&self, _edge: Edge, _fact: &mut Self::Fact) {}
}

/// Hears the facts that arrive.
pub trait FactSink<F> {
    /// The fact at the side of `block` where facts arrive is now `fact`; it came along `edge`, or from outside.
    fn arrived(&mut self, block: Block, edge: Option<Edge>, fact: &F);
}

/// Hears nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Silent;

impl<F> FactSink<F> for Silent {
    #[inline(always)]
    fn arrived(&mut self, _: Block, _: Option<Edge>, _: &F) {}
}

/// The facts of every reachable block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Solution<F> {
    direction: Direction,
    /// Facts of each block: the one where facts arrive, and the one where they leave.
    facts: Vec<(F, F)>,
    /// Transfers computed.
    visits: usize,
}

impl<F> Solution<F> {
    /// The fact before a block's first instruction. `top` for an unreachable block.
    pub fn at_start(&self, block: Block) -> &F {
        let (arriving, leaving) = &self.facts[block.index()];
        if self.direction == Direction::Forward { arriving } else { leaving }
    }

    /// The fact after a block's last instruction. `top` for an unreachable block.
    pub fn at_end(&self, block: Block) -> &F {
        let (arriving, leaving) = &self.facts[block.index()];
        if self.direction == Direction::Forward { leaving } else { arriving }
    }

    /// How many times a block's transfer was computed, for all blocks together.
    pub fn visits(&self) -> usize {
        self.visits
    }
}

/// Solves a problem over the reachable blocks.
pub fn solve<P: Problem>(cfg: &Cfg, problem: &P, sink: &mut impl FactSink<P::Fact>) -> Solution<P::Fact> {
    let direction = problem.direction();
    let forward = direction == Direction::Forward;
    let mut facts: Vec<(P::Fact, P::Fact)> = (0..cfg.block_count()).map(|_| (problem.top(), problem.top())).collect();
    let order = cfg.reverse_postorder();
    let count = order.len();
    let place = |block: Block| cfg.position(block).map(|at| if forward { at } else { count - 1 - at });
    for &block in order {
        let from_outside = if forward { cfg.is_entry(block) } else { cfg.successors(block).is_empty() };
        if from_outside {
            let fact = problem.boundary(block);
            problem.meet(&mut facts[block.index()].0, &fact);
            sink.arrived(block, None, &facts[block.index()].0);
        }
    }

    // Every block is visited once; after that, those where something new arrived. A sweep goes down the order.
    let mut pending = FixedBitSet::with_capacity(count);
    pending.insert_range(..);
    let mut visits = 0;
    let mut next = 0;
    while let Some(at) = first_from(&pending, next).or_else(|| first_from(&pending, 0)) {
        pending.remove(at);
        next = at + 1;
        visits += 1;
        let block = order[if forward { at } else { count - 1 - at }];
        let mut leaving = facts[block.index()].0.clone();
        problem.transfer(block, &mut leaving);
        let mut send = |edge: Edge, to: Block| {
            let Some(to_place) = place(to) else { return };
            let mut fact = leaving.clone();
            problem.cross(edge, &mut fact);
            let arriving = &mut facts[to.index()].0;
            if problem.meet(arriving, &fact) {
                sink.arrived(to, Some(edge), arriving);
                pending.insert(to_place);
            }
        };
        if forward {
            cfg.out_edges(block).for_each(|edge| send(edge, cfg.target(edge)));
        } else {
            cfg.in_edges(block).iter().for_each(|&edge| send(edge, cfg.source(edge)));
        }
        facts[block.index()].1 = leaving;
    }
    Solution { direction, facts, visits }
}

/// The first member that is at least `from`.
fn first_from(set: &FixedBitSet, from: usize) -> Option<usize> {
    if from >= set.len() {
        return None;
    }
    // Word by word: a sweep over a sparse set takes a step a word.
    let bits = usize::BITS as usize;
    let words = set.as_slice();
    let mut index = from / bits;
    let mut word = words[index] & (usize::MAX << (from % bits));
    while word == 0 {
        index += 1;
        word = *words.get(index)?;
    }
    Some(index * bits + word.trailing_zeros() as usize)
}
