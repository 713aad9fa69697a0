//! The graph that questions travel: for each block the blocks before and behind it, in the order of the text, and where
//! something can be inserted for one edge alone.
//!
//! ```text
//! a: br p, b, j        the edge a -> j leads from a block with other ways out to one with other ways in: what is inserted
//! b: br j              for it needs a block of its own, `a_j`, which is made only when something is inserted
//! ```
//!
//! Questions cross such critical edges as if the block were there, empty as it is. One that has been made takes its place
//! in the graph ([`Ways::split`]); it ends with what its source ends with.
//!
//! Unreachable blocks are left out. Linear in blocks and edges.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use crate::graph::Cfg;
use crate::ir::{Block, Function, filled};

/// Insertion point that is passed whenever control goes from one block to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Spot {
    /// At the end of this block, before its terminator.
    End(Block),
    /// On the edge between these two.
    Edge(Block, Block),
    /// In front of this block, the function's only entry, where control comes from outside. There is no place yet.
    Front(Block),
}

impl Spot {
    /// The block at whose end it is, from whose end the edge leads, or that it is in front of.
    pub fn block(self) -> Block {
        match self {
            Spot::End(block) | Spot::Edge(block, _) | Spot::Front(block) => block,
        }
    }

    /// Is it where something is inserted for the edge from this block?
    pub fn is_for_edge_from(self, from: Block) -> bool {
        matches!(self, Spot::End(block) | Spot::Edge(block, _) if block == from)
    }

    /// The block that the edge leads to.
    pub fn target(self) -> Option<Block> {
        match self {
            Spot::End(_) | Spot::Front(_) => None,
            Spot::Edge(_, target) => Some(target),
        }
    }
}

/// A part of the list of all neighbours.
#[derive(Clone, Copy, Default)]
struct Part {
    first: u32,
    count: u32,
}

impl Part {
    /// The index of what it has more from here on.
    fn grow(&mut self) -> usize {
        self.count += 1;
        (self.first + self.count - 1) as usize
    }

    fn range(self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// Facts about a block: those that questions read at every step are stored together.
#[derive(Clone, Copy, Default)]
struct Place {
    up: Part,
    down: Part,
    /// For a block that was put on an edge, the edge's source.
    source: PackedOption<Block>,
    rank: u32,
    is_entry: bool,
    is_front: bool,
    ends_in_call: bool,
}

/// See the file's head.
pub struct Ways {
    places: SecondaryMap<Block, Place>,
    /// The blocks before and behind each block, in the order of the text.
    neighbours: Vec<Block>,
}

impl Ways {
    /// The ways of a function. `calls` are the blocks that end in a call which comes back to other blocks.
    pub fn new(func: &Function, cfg: &Cfg, calls: &[Block]) -> Ways {
        let mut places: SecondaryMap<Block, Place> = filled(func.blocks.len());
        for &block in calls {
            places[block].ends_in_call = true;
        }
        // A branch may name a block more than once.
        let mut last: SecondaryMap<Block, PackedOption<Block>> = filled(func.blocks.len());
        let mut for_each_edge = |see: &mut dyn FnMut(Block, Block)| {
            for block in func.block_order().filter(|&block| cfg.is_reachable(block)) {
                for &target in cfg.successors(block) {
                    if core::mem::replace(&mut last[target], block.into()) != block.into() {
                        see(block, target);
                    }
                }
            }
            last.values_mut().for_each(|last| *last = None.into());
        };
        for_each_edge(&mut |from, to| {
            places[to].up.count += 1;
            places[from].down.count += 1;
        });
        let mut end = 0;
        for (rank, block) in (0..).zip(func.block_order()) {
            let place = &mut places[block];
            (place.rank, place.is_entry) = (rank, cfg.is_entry(block));
            for part in [&mut place.up, &mut place.down] {
                part.first = end;
                end += core::mem::take(&mut part.count);
            }
        }
        let mut neighbours = vec![Block::from_u32(0); end as usize];
        // Sources come in the order of the text, and so do targets if each is looked at in its turn.
        for_each_edge(&mut |from, to| neighbours[places[to].up.grow()] = from);
        for block in func.block_order() {
            for index in places[block].up.range() {
                let before = neighbours[index];
                neighbours[places[before].down.grow()] = block;
            }
        }
        Ways { places, neighbours }
    }

    /// The blocks that control comes from.
    pub fn up(&self, block: Block) -> &[Block] {
        &self.neighbours[self.places[block].up.range()]
    }

    /// The blocks that control goes to.
    pub fn down(&self, block: Block) -> &[Block] {
        &self.neighbours[self.places[block].down.range()]
    }

    /// Does control come from outside?
    pub fn is_entry(&self, block: Block) -> bool {
        self.places[block].is_entry
    }

    /// Does a branch end it? A call that may come back to several blocks is none: there is no place behind the call.
    pub fn is_branch(&self, block: Block) -> bool {
        self.places[block].down.count > 1 && !self.places[block].ends_in_call
    }

    /// The block in which values at the end of this one are named: itself, or the source of the edge that it is on.
    pub fn named_as(&self, block: Block) -> Block {
        self.places[block].source.expand().unwrap_or(block)
    }

    /// Was it put on an edge, or in front of the first block?
    pub fn is_on_edge(&self, block: Block) -> bool {
        self.places[block].source.is_some() || self.places[block].is_front
    }

    /// The block that it was put in front of.
    pub fn front_of(&self, block: Block) -> Option<Block> {
        if self.places[block].is_front { self.down(block).first().copied() } else { None }
    }

    /// Position of the block in the text.
    pub fn rank(&self, block: Block) -> u32 {
        self.places[block].rank
    }

    /// Insertion point for an edge: the end of its source, if nothing else leads on from there and no call
    /// stands there, else on the edge.
    pub fn spot(&self, from: Block, to: Block) -> Spot {
        let is_its_own = self.places[from].down.count == 1 && !self.places[from].ends_in_call;
        if is_its_own { Spot::End(from) } else { Spot::Edge(from, to) }
    }

    /// A block has been put in front of the only entry.
    pub fn put_in_front(&mut self, front: Block, first: Block) {
        let up: Vec<Block> = core::iter::once(front).chain(self.up(first).iter().copied()).collect();
        let start = self.neighbours.len() as u32;
        let part = |first: u32, count: usize| Part { first, count: count as u32 };
        (self.places[first].up, self.places[first].is_entry) = (part(start, up.len()), false);
        self.neighbours.extend(up);
        let down = part(self.neighbours.len() as u32, 1);
        self.neighbours.push(first);
        let rank = self.rank(first);
        self.places[front] = Place { down, rank, is_entry: true, is_front: true, ..Place::default() };
    }

    /// A block has been put on an edge.
    pub fn split(&mut self, middle: Block, from: Block, to: Block) {
        let mut replace = |part: Part, old: Block| {
            let list = &mut self.neighbours[part.range()];
            list.iter_mut().filter(|block| **block == old).for_each(|block| *block = middle);
        };
        replace(self.places[to].up, from);
        replace(self.places[from].down, to);
        let first = self.neighbours.len() as u32;
        self.neighbours.extend([from, to]);
        self.places[middle] = Place {
            up: Part { first, count: 1 },
            down: Part { first: first + 1, count: 1 },
            source: self.named_as(from).into(),
            rank: self.rank(to),
            ..Place::default()
        };
    }
}
