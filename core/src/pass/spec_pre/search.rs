//! Search for the nodes around the evaluations of expressions.
//!
//! ```text
//! 2: x + y ─▶ 6 ─▶ 7: x + y     region: 6 and 7, whose entries the value of 2 reaches and from
//! 3 ────────▶┘ └─▶ 8            which 7 is reached, and 2, which gives it
//! ```
//!
//! Only in its region an evaluation may be redundant. One bit of a word tells of each expression.
//!
//! 1. Mark the nodes that evaluate an expression and those that change its value.
//! 2. Go backward from first evaluations through nodes that do not change the value, the last node
//!    first.
//! 3. Among these, go forward from last evaluations, the first node first.
//!    Both walk in sweeps: what goes along a back edge waits for the next sweep, so that
//!    expressions of neighbouring nodes go round a loop together.
//! 4. The nodes found twice, and those before them that evaluate last, are the members.
//!
//! Nothing is hoisted to where it cannot be inserted, or out of a loop that control cannot leave.
//! Branches with a back edge are never passed by speculation.
//!
//! Cost: O(nodes · log nodes) words for each sweep. Limit: [`MOST_NODES`].

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::expressions::{Expression, Expressions};
use super::region::{Lanes, Member, NONE, Region};
use crate::compact_sort::CompactSort;
use crate::pass::support::path_guided::nodes::{Node, Nodes};

/// Expressions are not changed whose search has not ended when more nodes have been found.
const MOST_NODES: usize = 4096;

/// Facts about the nodes that hold for all expressions.
pub(super) struct Shape {
    /// Whether an evaluation may be inserted before each node.
    is_open: Vec<bool>,
    /// Whether a path leads from each node to an end of the function.
    ends: Vec<bool>,
    /// Whether each node is a branch without back edges.
    is_split: Vec<bool>,
}

impl Shape {
    /// The shape of the nodes; `has_room` says at the end of which nodes insertions are possible.
    pub fn of(nodes: &Nodes, has_room: impl Fn(Node) -> bool) -> Shape {
        let mut ends = vec![false; nodes.len()];
        let mut work: Vec<Node> = (0..nodes.len()).filter(|&node| nodes.successors(node).is_empty()).collect();
        while let Some(node) = work.pop() {
            if !core::mem::replace(&mut ends[node], true) {
                work.extend(nodes.predecessors(node));
            }
        }
        let is_open = |node: Node| !nodes.is_entry(node) && nodes.predecessors(node).iter().all(|&it| has_room(it));
        let is_split = |node: Node| {
            let successors = nodes.successors(node);
            successors.len() > 1 && !successors.iter().any(|&next| Nodes::goes_back(node, next))
        };
        Shape {
            is_open: (0..nodes.len()).map(is_open).collect(),
            is_split: (0..nodes.len()).map(is_split).collect(),
            ends,
        }
    }
}

/// Facts about a node in a search.
#[derive(Clone, Copy, Default)]
struct Marks {
    first: Lanes,
    last: Lanes,
    only: Lanes,
    killed: Lanes,
    /// A path leads from the entry to an evaluation.
    wanted: Lanes,
    /// The value comes to the entry on some path, and is wanted.
    reached: Lanes,
    /// Expressions with which the search goes on from here.
    waiting: Lanes,
}

/// Searches for regions.
pub(super) struct Search {
    shape: Shape,
    marks: Vec<Marks>,
    /// Member of each node.
    place_of: Vec<u32>,
}

impl Search {
    pub fn new(nodes: &Nodes, shape: Shape) -> Search {
        Search { shape, marks: vec![Marks::default(); nodes.len()], place_of: vec![NONE; nodes.len()] }
    }

    /// The region of up to [`LANES`](super::region::LANES) expressions, by their numbers, and those
    /// of them whose region is too large.
    pub fn region(&mut self, nodes: &Nodes, expressions: &Expressions, batch: &[usize]) -> (Region, Lanes) {
        let all = |(lane, &number): (usize, &usize)| (1 << lane, &expressions.all[number]);
        let batch: Vec<(Lanes, &Expression)> = batch.iter().enumerate().map(all).collect();
        let sites = || batch.iter().flat_map(|&(lane, expression)| expression.sites.iter().map(move |it| (lane, it)));
        let mut found: Vec<Node> = Vec::new();
        for (lane, site) in sites() {
            let marks = &mut self.marks[site.node];
            marks.first |= if site.first.is_some() { lane } else { 0 };
            marks.last |= if site.last.is_some() { lane } else { 0 };
            marks.only |= if site.first == site.last { lane } else { 0 };
            found.push(site.node);
        }
        expressions.for_each_change(&batch, |node, lanes| {
            self.marks[node].killed |= lanes;
            found.push(node);
        });
        let too_large = self.find_wanted(nodes, sites().map(|(_, site)| site.node), &mut found);
        self.find_reached(nodes, sites().map(|(_, site)| site.node), too_large);
        found.compact_sort();
        found.dedup();
        let region = self.collect(nodes, &found);
        found.into_iter().for_each(|node| self.marks[node] = Marks::default());
        (region, too_large)
    }

    fn transparent(&self, node: Node) -> Lanes {
        if self.shape.ends[node] { !self.marks[node].killed } else { 0 }
    }

    /// Goes backward from evaluations. Gives the expressions whose search is broken off.
    fn find_wanted(
        &mut self,
        nodes: &Nodes,
        sites: impl Iterator<Item = Node> + Clone,
        found: &mut Vec<Node>,
    ) -> Lanes {
        // Nothing is available at nodes to which control does not come from an evaluation.
        let made = sites.clone().filter(|&node| self.marks[node].last != 0);
        let least = made.map(|node| nodes.least_behind(node)).min().unwrap_or(nodes.len());
        let mut work: BinaryHeap<(Reverse<u32>, Node)> = BinaryHeap::new();
        for node in sites.filter(|&node| node >= least && self.shape.is_open[node]) {
            let marks = &mut self.marks[node];
            if core::mem::replace(&mut marks.wanted, marks.first) == 0 && marks.first != 0 {
                marks.waiting = marks.first;
                work.push((Reverse(0), node));
            }
        }
        let mut count = 0;
        while let Some((Reverse(sweep), node)) = work.pop() {
            found.push(node);
            let lanes = core::mem::take(&mut self.marks[node].waiting);
            for &before in nodes.predecessors(node).iter().filter(|&&before| before >= least) {
                let new = lanes & self.transparent(before) & !self.marks[before].wanted;
                if new == 0 || !self.shape.is_open[before] {
                    continue;
                }
                let marks = &mut self.marks[before];
                count += usize::from(marks.wanted == 0);
                marks.wanted |= new;
                if marks.waiting == 0 {
                    work.push((Reverse(sweep + u32::from(Nodes::goes_back(before, node))), before));
                }
                marks.waiting |= new;
            }
            if count > MOST_NODES {
                break;
            }
        }
        work.into_iter().fold(0, |all, (_, node)| {
            found.push(node);
            all | core::mem::take(&mut self.marks[node].waiting)
        })
    }

    /// Goes forward from evaluations, where the value is wanted; not for expressions that are too
    /// large.
    fn find_reached(&mut self, nodes: &Nodes, sites: impl Iterator<Item = Node>, too_large: Lanes) {
        let mut work: BinaryHeap<Reverse<(u32, Node)>> = BinaryHeap::new();
        for node in sites {
            let marks = &mut self.marks[node];
            let last = marks.last & !too_large;
            if core::mem::replace(&mut marks.waiting, last) == 0 && last != 0 {
                work.push(Reverse((0, node)));
            }
        }
        while let Some(Reverse((sweep, node))) = work.pop() {
            let lanes = core::mem::take(&mut self.marks[node].waiting);
            for &next in nodes.successors(node) {
                let transparent = self.transparent(next);
                let marks = &mut self.marks[next];
                let new = lanes & marks.wanted & !marks.reached;
                marks.reached |= new;
                let on = new & transparent & !marks.last;
                if on != 0 && marks.waiting == 0 {
                    work.push(Reverse((sweep + u32::from(Nodes::goes_back(node, next)), next)));
                }
                marks.waiting |= on;
            }
        }
    }

    /// The members: nodes that the value reaches, and those before them that evaluate it.
    fn collect(&mut self, nodes: &Nodes, found: &[Node]) -> Region {
        let redundant = found.iter().fold(0, |all, &node| all | self.marks[node].first & self.marks[node].reached);
        let is_member = |&node: &Node| {
            let Marks { reached, last, .. } = self.marks[node];
            let gives = |&next: &Node| last & redundant & self.marks[next].reached != 0;
            reached & redundant != 0 || last & redundant != 0 && nodes.successors(node).iter().any(gives)
        };
        let member = |node: Node| {
            let Marks { first, last, only, reached, .. } = self.marks[node];
            let [first, last, reached] = [first, last, reached].map(|lanes| lanes & redundant);
            let transparent = self.transparent(node) & redundant;
            let split = if self.shape.is_split[node] { reached & transparent & !last } else { 0 };
            let (before, next) = (0..0, 0..0);
            Member { node, first, last, only, transparent, reached, available: reached, split, before, next }
        };
        let mut members: Vec<Member> = Vec::with_capacity(found.len());
        members.extend(found.iter().copied().filter(is_member).map(member));
        Region::of(nodes, members, &mut self.place_of)
    }

    /// Parts of a region that have nothing to do with one another, for one of its expressions.
    pub fn parts(&mut self, nodes: &Nodes, region: &Region, lane: usize) -> Vec<Region> {
        let mut parts = Parts((0..region.members.len()).collect());
        let has = |lanes: Lanes| lanes >> lane & 1 == 1;
        let mut is_part = vec![false; region.members.len()];
        for place in (0..region.members.len()).filter(|&place| has(region.members[place].reached)) {
            is_part[place] = true;
            for (_, before) in region.before(place) {
                let gives = |member: &Member| has(member.last | member.reached & member.transparent);
                if let Some(before) = before.filter(|&before| gives(&region.members[before])) {
                    is_part[before] = true;
                    parts.unite(place, before);
                }
            }
        }
        let mut members: Vec<Vec<Member>> = Vec::new();
        let mut part_of = vec![NONE; region.members.len()];
        for (place, member) in region.members.iter().enumerate().filter(|&(place, _)| is_part[place]) {
            let part = &mut part_of[parts.first(place)];
            if *part == NONE {
                *part = members.len() as u32;
                members.push(Vec::new());
            }
            let Member { node, first, last, only, transparent, reached, available, split, .. } = *member;
            let [first, last, only, transparent, reached, available, split] =
                [first, last, only, transparent, reached, available, split].map(|lanes| Lanes::from(has(lanes)));
            let (before, next) = (0..0, 0..0);
            let member = Member { node, first, last, only, transparent, reached, available, split, before, next };
            members[*part as usize].push(member);
        }
        members.into_iter().map(|members| Region::of(nodes, members, &mut self.place_of)).collect()
    }
}

/// For each member another one of the same part, or itself.
struct Parts(Vec<usize>);

impl Parts {
    fn first(&mut self, mut place: usize) -> usize {
        while self.0[place] != place {
            self.0[place] = self.0[self.0[place]];
            place = self.0[place];
        }
        place
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.0[one.max(other)] = one.min(other);
    }
}
