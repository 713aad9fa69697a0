//! The control dependence region of non-divergence (CDRND): blocks where an insertion makes no warp
//! run more sides of branches.
//!
//! ```text
//! n1: br p, n2, n3       p differs between lanes      n2 and n3 depend on n1: not in the region
//! n2: br q, n4, n5       q does not                   n4 depends on n2, and through it on n1: not in it either,
//! …                                                   unless only direct dependences count
//! ```
//!
//! 1. The blocks that depend on a branch are those on the paths up the post-dominator tree from its
//!    successors to, but without, its immediate post-dominator. Mark them, beginning with the
//!    divergent branches.
//! 2. A marked block that ends in a branch passes the mark on (unless only direct dependences
//!    count).
//! 3. A path up skips blocks that are marked already. Each mark names the divergent branch that it
//!    comes from.
//!
//! A kernel that begins with `if (i >= n) return` has hardly a block in the region. Seen from a
//! block after that check, all others after it are as good: lanes that get there have diverged
//! already. So with [`Reach::Relative`] a block is in the region of another one if the other
//! depends on all divergent branches that the block depends on.
//!
//! Cost: near-linear in blocks and edges. The branches of a block for the relative reach are
//! collected on demand.
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021,
//! section 5.1.

use alloc::collections::BTreeSet;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;

use hashbrown::HashMap;

use super::edges::InsertionPoint;
use super::rules::Crossing;
use crate::graph::{Cfg, ControlDependence, PostDominators};
use crate::ir::Block;

/// The dependences that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Those on the branch itself.
    Direct,
    /// Those through other branches as well.
    Transitive,
    /// Those through other branches as well, without branches that the asking block depends on
    /// itself.
    Relative,
}

/// See the file's head.
pub struct Region {
    kept_out: SecondaryMap<Block, Option<Block>>,
    is_divergent: SecondaryMap<Block, bool>,
    reach: Reach,
    shape: Option<Shape>,
    /// The source of the edge that a block was created on.
    source: SecondaryMap<Block, Option<Block>>,
    /// Divergent branches that blocks depend on, as far as they were asked for.
    sets: HashMap<Block, BranchSet>,
    numbers: HashMap<Rc<[Block]>, BranchSet>,
    members: Vec<Rc<[Block]>>,
}

/// The divergent branches that a block depends on, by number. The first one is empty.
pub type BranchSet = u32;

impl Region {
    /// The region of a graph whose divergent branches are at the ends of these blocks. Without a
    /// shape it is the whole graph.
    pub fn new(shape: Option<Shape>, divergent: impl Iterator<Item = Block>, reach: Reach) -> Region {
        let none: Rc<[Block]> = Rc::from([]);
        let mut region = Region {
            kept_out: SecondaryMap::new(),
            is_divergent: SecondaryMap::new(),
            reach,
            shape,
            source: SecondaryMap::new(),
            sets: HashMap::new(),
            numbers: HashMap::from([(none.clone(), 0)]),
            members: vec![none],
        };
        let Some(Shape { cfg, post_dominators, .. }) = region.shape.clone() else { return region };
        // The next block up the tree that is not marked, or itself.
        let mut next: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
        let mut pending: Vec<(Block, Block)> = divergent.map(|branch| (branch, branch)).collect();
        pending.iter().for_each(|&(branch, _)| region.is_divergent[branch] = true);
        pending.reverse();
        while let Some((branch, cause)) = pending.pop() {
            if cfg.successors(branch).len() < 2 {
                continue;
            }
            let end = post_dominators.immediate_post_dominator(branch);
            let floor = end.map(|end| post_dominators.depth(end));
            for &target in cfg.successors(branch) {
                let mut at = Some(target);
                while let Some(block) = at {
                    if floor.is_some_and(|floor| post_dominators.depth(block) <= floor) {
                        break;
                    }
                    if region.kept_out[block].is_none() {
                        region.kept_out[block] = Some(cause);
                        next[block] = post_dominators.parent(block);
                        if reach != Reach::Direct && !region.is_divergent[block] {
                            pending.push((block, cause));
                        }
                    }
                    at = skip(&mut next, &region.kept_out, block);
                }
            }
        }
        region
    }

    /// Does the branch at the end of a block diverge?
    pub fn is_divergent(&self, block: Block) -> bool {
        self.is_divergent[block]
    }

    /// Do expressions move up across the branch at the end of a block?
    pub fn is_crossed(&self, crossing: Crossing, branch: Block) -> bool {
        match crossing {
            Crossing::Nothing => false,
            Crossing::Divergent => self.is_divergent(branch),
            Crossing::Everything => true,
        }
    }

    /// The divergent branch that keeps a block out of the region.
    pub fn kept_out_by(&self, block: Block) -> Option<Block> {
        self.kept_out[block]
    }

    /// The divergent branch that keeps insertions on the edges from a block out of the region.
    pub fn edge_kept_out_by(&self, from: Block) -> Option<Block> {
        match self.reach {
            _ if self.is_divergent[from] => Some(from),
            Reach::Transitive | Reach::Relative => self.kept_out[from],
            Reach::Direct => None,
        }
    }

    /// The divergent branch that keeps a point out of the region of a block that depends on the
    /// branches `asker`.
    pub fn point_kept_out_by(&mut self, point: InsertionPoint, asker: BranchSet) -> Option<Block> {
        let branch = match point {
            InsertionPoint::End(block) => self.kept_out_by(block),
            InsertionPoint::Edge(from, _) => self.edge_kept_out_by(from),
            // Control always passes this point, and once only.
            InsertionPoint::BeforeEntry(_) => None,
        };
        if branch.is_none() || self.reach != Reach::Relative {
            return branch;
        }
        let own = match point {
            InsertionPoint::End(block) => self.branches(block),
            InsertionPoint::Edge(from, _) => self.branches_of_edge(from),
            InsertionPoint::BeforeEntry(_) => 0,
        };
        let (own, known) = (self.members[own as usize].clone(), &self.members[asker as usize]);
        own.iter().copied().find(|branch| known.binary_search(branch).is_err())
    }

    /// The divergent branches of a block that asks. Empty unless the reach is relative.
    pub fn asker(&mut self, block: Block) -> BranchSet {
        if self.reach == Reach::Relative { self.branches(block) } else { 0 }
    }

    /// The divergent branches that a block depends on, directly or through others.
    fn branches(&mut self, block: Block) -> BranchSet {
        if let Some(from) = self.source[block] {
            return self.branches_of_edge(from);
        }
        if let Some(&known) = self.sets.get(&block) {
            return known;
        }
        let (mut found, mut seen, mut pending) = (BTreeSet::new(), BTreeSet::from([block]), vec![block]);
        while let Some(block) = pending.pop() {
            for branch in self.shape.iter().flat_map(|shape| shape.branches(block)) {
                if self.is_divergent[branch] {
                    found.insert(branch);
                }
                if seen.insert(branch) {
                    pending.push(branch);
                }
            }
        }
        let set = self.number(found);
        self.sets.insert(block, set);
        set
    }

    fn branches_of_edge(&mut self, from: Block) -> BranchSet {
        let set = self.branches(from);
        if !self.is_divergent[from] {
            return set;
        }
        let mut found: BTreeSet<Block> = self.members[set as usize].iter().copied().collect();
        found.insert(from);
        self.number(found)
    }

    fn number(&mut self, branches: BTreeSet<Block>) -> BranchSet {
        let branches: Rc<[Block]> = branches.into_iter().collect();
        let next = self.members.len() as BranchSet;
        let number = *self.numbers.entry(branches.clone()).or_insert(next);
        if number == next {
            self.members.push(branches);
        }
        number
    }

    /// Adds a block that was created on an edge from that block.
    pub fn split(&mut self, middle: Block, from: Block) {
        self.kept_out[middle] = self.edge_kept_out_by(from);
        self.source[middle] = Some(from);
    }
}

/// The graph's shape when the questions began.
#[derive(Clone)]
pub struct Shape {
    /// Blocks and edges.
    pub cfg: Rc<Cfg>,
    /// The blocks that every path from a block reaches.
    pub post_dominators: Rc<PostDominators>,
    /// The edges that decide whether a block runs.
    pub control_dependence: Rc<ControlDependence>,
}

impl Shape {
    /// The blocks whose branches decide whether a block runs.
    pub fn branches(&self, block: Block) -> impl Iterator<Item = Block> + '_ {
        let edges = self.control_dependence.dependences(&self.post_dominators, block);
        edges.into_iter().map(|edge| self.cfg.source(edge))
    }

    /// Does the branch at the end of `branch` decide whether `block` runs? It does if the block is
    /// on the way up the post-dominator tree from a side of the branch to, but without, the
    /// branch's immediate post-dominator: as many steps as the branch has sides.
    pub fn depends(&self, block: Block, branch: Block) -> bool {
        let (tree, sides) = (&self.post_dominators, self.cfg.successors(branch));
        let end = tree.immediate_post_dominator(branch);
        let is_below = end.is_none_or(|end| tree.depth(block) > tree.depth(end));
        let is_decided = sides.len() > 1 && is_below && sides.iter().any(|&side| tree.post_dominates(block, side));
        debug_assert_eq!(is_decided, self.branches(block).any(|source| source == branch));
        is_decided
    }
}

/// The next block above a marked one that is not marked. Shortens the path for the next search.
fn skip(
    next: &mut SecondaryMap<Block, Option<Block>>,
    marked: &SecondaryMap<Block, Option<Block>>,
    from: Block,
) -> Option<Block> {
    let mut at = next[from];
    while let Some(block) = at.filter(|&block| marked[block].is_some()) {
        at = next[block];
    }
    let end = at;
    let mut below = from;
    while let Some(block) = next[below].filter(|&block| Some(block) != end) {
        next[below] = end;
        below = block;
    }
    end
}
