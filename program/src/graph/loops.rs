//! Loops and how they nest, irreducible ones included.
//!
//! ```text
//! a -> h -> b -> h, b -> d        loop h: blocks h b, back edge b -> h, exit b -> d
//! ```
//!
//! A loop is a maximal strongly connected set of blocks, or a maximal one of what is left of a loop when the edges to
//! its header are taken away; its header is the member that the depth-first search of the [`Cfg`] met first. A loop
//! that control enters elsewhere too is *irreducible*; all blocks where control enters are its entries. So every
//! retreating edge is the back edge of exactly one loop, the one that its target heads.
//!
//! Headers are taken innermost first; each collects, against the edges, the blocks between its back edges and itself,
//! and loops found before are stepped over as a whole, through a union-find forest: nearly linear in blocks and edges
//! (an irreducible loop's entries are looked at once for each loop around it that they enter as well).
//!
//! Source: P. Havlak, Nesting of reducible and irreducible loops, TOPLAS 1997, in the form without quadratic steps of
//! G. Ramalingam, Identifying loops in almost linear time, TOPLAS 1999.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, entity_impl};

use super::cfg::{Cfg, Edge};
use crate::ir::Block;

/// A loop of one [`Loops`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loop(u32);
entity_impl!(Loop, "loop");

/// One loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopData {
    /// The block that the back edges go to.
    pub header: Block,
    /// The loop around this one.
    pub parent: Option<Loop>,
    /// How many loops a block of this one is in at least: 1 for an outermost loop.
    pub depth: u32,
    /// Entries of the loop: the header, then the others of an irreducible loop.
    pub entries: Vec<Block>,
    /// The retreating edges to the header.
    pub back_edges: Vec<Edge>,
    start: u32,
    end: u32,
}

impl LoopData {
    /// Does control enter elsewhere than at the header?
    pub fn is_irreducible(&self) -> bool {
        self.entries.len() > 1
    }
}

/// The loops of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loops {
    loops: PrimaryMap<Loop, LoopData>,
    innermost: Vec<PackedOption<Loop>>,
    /// Reachable blocks so that each loop's stand together.
    blocks: Vec<Block>,
}

impl Loops {
    /// The loops of a graph.
    pub fn compute(cfg: &Cfg) -> Loops {
        let mut finder = Finder {
            cfg,
            loops: PrimaryMap::new(),
            innermost: vec![None.into(); cfg.block_count()],
            outermost: Vec::new(),
            worklist: Vec::new(),
        };
        // A block comes after its ancestors in the reverse postorder, so inner headers come first here.
        for header in cfg.postorder() {
            finder.visit_header(header);
        }
        let mut loops = Loops { loops: finder.loops, innermost: finder.innermost, blocks: Vec::new() };
        loops.set_depths();
        loops.set_blocks(cfg);
        loops
    }

    /// All loops, each after the loops inside it.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Loop, &LoopData)> {
        self.loops.iter()
    }

    /// Number of loops.
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// The smallest loop that a block is in.
    pub fn innermost(&self, block: Block) -> Option<Loop> {
        self.innermost[block.index()].expand()
    }

    /// How many loops a block is in.
    pub fn depth(&self, block: Block) -> u32 {
        self.innermost(block).map_or(0, |inner| self.loops[inner].depth)
    }

    /// The loop with that header.
    pub fn headed_by(&self, block: Block) -> Option<Loop> {
        self.innermost(block).filter(|&inner| self.loops[inner].header == block)
    }

    /// Is the block in the loop, or in one inside it?
    pub fn contains(&self, outer: Loop, block: Block) -> bool {
        self.innermost(block).is_some_and(|inner| self.encloses(outer, inner))
    }

    /// Is `inner` the loop `outer`, or inside it?
    pub fn encloses(&self, outer: Loop, inner: Loop) -> bool {
        let (outer, inner) = (&self.loops[outer], &self.loops[inner]);
        outer.start <= inner.start && inner.end <= outer.end
    }

    /// The blocks of a loop and of the loops inside it. The header is the first.
    pub fn blocks(&self, of: Loop) -> &[Block] {
        let data = &self.loops[of];
        &self.blocks[data.start as usize..data.end as usize]
    }

    /// Reachable blocks, near the reverse postorder, so that each loop's blocks stand together.
    pub fn contiguous_order(&self) -> &[Block] {
        &self.blocks
    }

    /// The edges from inside a loop to outside.
    pub fn exit_edges<'a>(&'a self, cfg: &'a Cfg, of: Loop) -> impl Iterator<Item = Edge> + 'a {
        let edges = self.blocks(of).iter().flat_map(|&block| cfg.out_edges(block));
        edges.filter(move |&edge| !self.contains(of, cfg.target(edge)))
    }

    /// The edges from outside into a loop.
    pub fn entering_edges<'a>(&'a self, cfg: &'a Cfg, of: Loop) -> impl Iterator<Item = Edge> + 'a {
        let edges = self.loops[of].entries.iter().flat_map(|&block| cfg.in_edges(block)).copied();
        edges.filter(move |&edge| cfg.is_reachable(cfg.source(edge)) && !self.contains(of, cfg.source(edge)))
    }

    fn set_depths(&mut self) {
        // Outer loops have higher numbers than the loops inside them.
        for inner in self.loops.keys().rev() {
            let depth = self.loops[inner].parent.map_or(0, |parent| self.loops[parent].depth);
            self.loops[inner].depth = depth + 1;
        }
    }

    fn set_blocks(&mut self, cfg: &Cfg) {
        let mut sizes: Vec<u32> = vec![0; self.loops.len()];
        for &block in cfg.reverse_postorder() {
            if let Some(inner) = self.innermost(block) {
                sizes[inner.index()] += 1;
            }
        }
        for inner in self.loops.keys() {
            if let Some(parent) = self.loops[inner].parent {
                sizes[parent.index()] += sizes[inner.index()];
            }
        }
        // A loop gets its interval when the order first comes to one of its blocks; until then its start is unset.
        const UNSET: u32 = u32::MAX;
        let mut free: Vec<u32> = vec![UNSET; self.loops.len()];
        let mut free_outside = 0;
        let mut path = Vec::new();
        self.blocks = cfg.reverse_postorder().to_vec();
        // A header is an ancestor of its loop's blocks in the search tree, so that it precedes them here.
        for &block in cfg.reverse_postorder() {
            let mut inner = self.innermost(block);
            while let Some(unplaced) = inner.filter(|&inner| free[inner.index()] == UNSET) {
                path.push(unplaced);
                inner = self.loops[unplaced].parent;
            }
            while let Some(unplaced) = path.pop() {
                let outer = self.loops[unplaced].parent.map_or(&mut free_outside, |parent| &mut free[parent.index()]);
                let start = *outer;
                *outer += sizes[unplaced.index()];
                free[unplaced.index()] = start;
                self.loops[unplaced].start = start;
                self.loops[unplaced].end = start + sizes[unplaced.index()];
            }
            let place = self.innermost(block).map_or(&mut free_outside, |inner| &mut free[inner.index()]);
            self.blocks[*place as usize] = block;
            *place += 1;
        }
    }
}

struct Finder<'a> {
    cfg: &'a Cfg,
    loops: PrimaryMap<Loop, LoopData>,
    innermost: Vec<PackedOption<Loop>>,
    /// Union-find: for each loop a loop around it, itself while it is outermost.
    outermost: Vec<Loop>,
    worklist: Vec<Block>,
}

impl Finder<'_> {
    fn visit_header(&mut self, header: Block) {
        let cfg = self.cfg;
        let is_back = |edge: &Edge| cfg.is_search_ancestor(header, cfg.source(*edge));
        let back_edges: Vec<Edge> = cfg.in_edges(header).iter().copied().filter(is_back).collect();
        if back_edges.is_empty() {
            return;
        }
        self.worklist.extend(back_edges.iter().map(|&edge| cfg.source(edge)));
        let new = self.loops.push(LoopData {
            header,
            parent: None,
            depth: 0,
            entries: vec![header],
            back_edges,
            start: 0,
            end: 0,
        });
        self.outermost.push(new);
        self.innermost[header.index()] = new.into();
        while let Some(block) = self.worklist.pop() {
            match self.innermost[block.index()].expand() {
                None => {
                    self.innermost[block.index()] = new.into();
                    self.visit_predecessors(new, block);
                }
                Some(inner) => {
                    let inner = self.find_outermost(inner);
                    if inner != new {
                        self.loops[inner].parent = Some(new);
                        self.outermost[inner.index()] = new;
                        for index in 0..self.loops[inner].entries.len() {
                            self.visit_predecessors(new, self.loops[inner].entries[index]);
                        }
                    }
                }
            }
        }
    }

    /// Queues what leads to a block of the new loop; predecessors outside the header's subtree make it an entry.
    fn visit_predecessors(&mut self, new: Loop, block: Block) {
        let header = self.loops[new].header;
        let mut is_entry = self.cfg.is_entry(block);
        for &predecessor in self.cfg.predecessors(block) {
            if self.cfg.is_search_ancestor(header, predecessor) {
                self.worklist.push(predecessor);
            } else {
                is_entry |= self.cfg.is_reachable(predecessor);
            }
        }
        if is_entry {
            self.loops[new].entries.push(block);
        }
    }

    fn find_outermost(&mut self, of: Loop) -> Loop {
        let mut root = of;
        while self.outermost[root.index()] != root {
            root = self.outermost[root.index()];
        }
        let mut inner = of;
        while inner != root {
            inner = core::mem::replace(&mut self.outermost[inner.index()], root);
        }
        root
    }
}

impl core::ops::Index<Loop> for Loops {
    type Output = LoopData;

    fn index(&self, index: Loop) -> &LoopData {
        &self.loops[index]
    }
}
