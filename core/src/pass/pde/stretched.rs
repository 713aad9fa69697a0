//! Liveness of a register that few places touch, far away from each other.
//!
//! ```text
//! 7: x = s ─▶ 8 … 3689 ─▶ 3690: reads x      looked at are the stretches that 7 and 3690 are in, some ten nodes each; in all
//!                                            between them x is live, as it is at the first node of the last one
//! ```
//!
//! Between [stretches] in which something touches a register it is live at all nodes from which control comes on to the next of
//! these, if it is live at the first node of that. So what is looked at, and kept, is as much as there is in the stretches that
//! are touched, and not as much as the register lives.
//!
//! Sound as stretches are: control comes to what is behind one through the first node of the next only.
//!
//! [stretches]: crate::pass::path_guided::stretches

use alloc::vec::Vec;
use smallvec::SmallVec;

use super::accesses::Accesses;
use crate::ir::Reg;
use crate::pass::path_guided::nodes::{Node, Nodes};
use crate::pass::path_guided::stretches::Stretches;

/// Nodes of stretches that are looked at for one register.
const MOST_NODES: usize = 512;

/// See the file's head.
pub(super) struct Stretched {
    /// The stretches with what touches it, in order.
    touched: Vec<Touched>,
    /// The nodes of these at whose entries it is live, in order.
    live: Vec<u32>,
}

/// A stretch with something that touches a register.
struct Touched {
    stretch: u32,
    /// Is the register live at its first node?
    is_live: bool,
}

impl Stretched {
    /// Liveness of a register from a node on, before whose stretch nobody queries. None where too much would have to be
    /// looked at.
    pub fn of(nodes: &Nodes, accesses: &Accesses, reg: Reg, first: Node) -> Option<Stretched> {
        let stretches = nodes.stretches();
        let mut touched: Vec<Touched> = Vec::new();
        let mut count = 0;
        for touching in accesses.touching(reg).skip_while(|touching| touching.node() < first) {
            let stretch = stretches.stretch(touching.node());
            if touched.last().is_none_or(|last| last.stretch != stretch) {
                count += stretches.nodes(stretch).len();
                if count > MOST_NODES {
                    return None;
                }
                touched.push(Touched { stretch, is_live: false });
            }
        }
        let mut live: Vec<u32> = Vec::new();
        let mut is_live_behind = false;
        for touched in touched.iter_mut().rev() {
            is_live_behind = live_in(nodes, accesses, reg, touched.stretch, is_live_behind, &mut live);
            touched.is_live = is_live_behind;
        }
        // It was found from the end on.
        live.reverse();
        Some(Stretched { touched, live })
    }

    /// Is it live at the entry of a node?
    pub fn contains(&self, stretches: &Stretches, node: Node) -> bool {
        match self.place(stretches.stretch(node)) {
            Ok(_) => self.live.binary_search(&(node as u32)).is_ok(),
            Err(next) => self.is_live_between(next) && stretches.comes_to_end(node),
        }
    }

    /// Something touches it in a node from now on, or no more.
    pub fn touch(&mut self, stretches: &Stretches, node: Node) {
        let stretch = stretches.stretch(node);
        let Err(place) = self.place(stretch) else { return };
        let is_live = self.is_live_between(place);
        let here = stretches.nodes(stretch);
        self.touched.insert(place, Touched { stretch, is_live: is_live && stretches.comes_to_end(here.start) });
        if is_live {
            let at = self.live.partition_point(|&live| (live as Node) < here.start);
            let nodes = here.filter(|&node| stretches.comes_to_end(node)).map(|node| node as u32);
            self.live.splice(at..at, nodes);
        }
    }

    /// It is live at the entry of a node from now on, or dead. What lies in front of a touched stretch follows its first node, so
    /// that of several nodes the last ones come first.
    pub fn set(&mut self, stretches: &Stretches, node: Node, is_live: bool) {
        if self.contains(stretches, node) == is_live {
            return;
        }
        self.touch(stretches, node);
        match self.live.binary_search(&(node as u32)) {
            Ok(at) => drop(self.live.remove(at)),
            Err(at) => self.live.insert(at, node as u32),
        }
        let stretch = stretches.stretch(node);
        if let (Ok(place), true) = (self.place(stretch), stretches.nodes(stretch).start == node) {
            self.touched[place].is_live = is_live;
        }
    }

    /// The nodes at whose entries it is live, and was not by another answer for the same register, or the other way round; in
    /// order.
    pub fn difference(&self, other: &Stretched, stretches: &Stretches) -> Vec<u32> {
        let mut all: Vec<u32> = self.touched.iter().chain(&other.touched).map(|touched| touched.stretch).collect();
        all.sort_unstable();
        all.dedup();
        let differs = |&node: &Node| self.contains(stretches, node) != other.contains(stretches, node);
        let mut different: Vec<u32> = Vec::new();
        let mut last: Option<u32> = None;
        for stretch in all {
            let here = stretches.nodes(stretch);
            let between = last.map_or(here.start, |last| stretches.nodes(last).end)..here.start;
            // What lies between is the same all over.
            if between.clone().next().is_some_and(|node| differs(&node)) {
                different.extend(between.filter(|&node| stretches.comes_to_end(node)).map(|node| node as u32));
            }
            different.extend(here.filter(differs).map(|node| node as u32));
            last = Some(stretch);
        }
        different
    }

    /// The place of a stretch among those that are touched, or that of the next one.
    fn place(&self, stretch: u32) -> Result<usize, usize> {
        self.touched.binary_search_by_key(&stretch, |touched| touched.stretch)
    }

    /// Is it live between the touched stretch of that place and the one before it?
    fn is_live_between(&self, next: usize) -> bool {
        self.touched.get(next).is_some_and(|touched| touched.is_live)
    }
}

/// Finds where a register is live in a stretch, from the last node on, by whether it is at the first node behind. Gives whether
/// it is at its first node.
fn live_in(
    nodes: &Nodes,
    accesses: &Accesses,
    reg: Reg,
    stretch: u32,
    is_live_behind: bool,
    live: &mut Vec<u32>,
) -> bool {
    let range = nodes.stretches().nodes(stretch);
    let (first, end) = (range.start, range.end);
    // By node: is it read first, is it open, is it live?
    let touched = accesses.touched(reg);
    let of = |node: Node| {
        let touching = touched.at(node);
        (!touching.is_overwritten(), touching.is_read_first())
    };
    let mut here: SmallVec<[(bool, bool); 96]> = range.clone().map(of).collect();
    // Ways back may ask for another look.
    let mut changes = true;
    while core::mem::take(&mut changes) {
        for node in range.clone().rev() {
            let (is_open, is_live) = here[node - first];
            let is_live_at = |&next: &Node| if next == end { is_live_behind } else { here[next - first].1 };
            if is_open && !is_live && nodes.successors(node).iter().any(is_live_at) {
                here[node - first].1 = true;
                changes = true;
            }
        }
    }
    let are_live = here.iter().enumerate().rev().filter(|(_, (_, is_live))| *is_live);
    live.extend(are_live.map(|(place, _)| (first + place) as u32));
    here[0].1
}
