//! Liveness of a statement's destination, if few nodes decide it.
//!
//! ```text
//! a: x = s ─▶ b ─▶ c: reads x   at first sight: only a and c touch x, and in front of c it is live at b; nowhere else
//!
//! n: x = s ─▶ a: reads x        from near: nothing leaves this region but through what reads x, or overwrites it, so that
//!          └▶ b ─▶ c: reads x   x is live at a, b and c, however far away others read it
//! ```
//!
//! Both give the answers that [liveness](super::liveness) would find from afar, the second one where the statement can sink.
//! Nothing of them is kept: to look once more takes no longer.
//!
//! An answer holds as long as no statement comes to the nodes that were looked at, or leaves one. At first sight these are all
//! that touch the register, since what reads it elsewhere has read it in one of them before.

use alloc::vec;
use alloc::vec::Vec;
use smallvec::SmallVec;

use super::accesses::Accesses;
use super::liveness::first_asked;
use super::statements::{Occurrence, Statement};
use crate::pass::path_guided::nodes::{Node, Nodes};

/// Nodes that touch a register or at whose entries it is live, up to which these are all looked at. Fewer where debugging, so that
/// tests of small programs see both.
const MOST_AT_SIGHT: usize = if cfg!(debug_assertions) { 6 } else { 16 };

/// Nodes that are looked at from a statement on.
const MOST_NEAR: usize = 8;

/// Knowledge of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Near {
    /// Nothing from near; at first sight that it is dead.
    Far,
    Dead,
    Live,
}

/// See the file's head.
pub(super) struct Nearby {
    /// Knowledge of each node for the last statement.
    near: Vec<Near>,
    /// Those that are not far.
    nodes: Vec<Node>,
    told: Told,
}

/// Result of the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// Nodes where it is live, and whether these are all that the statement could reach.
    AtSight {
        is_live_behind: bool,
    },
    FromNear,
}

impl Nearby {
    /// Nothing is known.
    pub fn new(nodes: &Nodes) -> Nearby {
        Nearby { near: vec![Near::Far; nodes.len()], nodes: Vec::new(), told: Told::Nothing }
    }

    /// Looks behind a statement. Is it told then where its destination is live, in all nodes to which it could sink?
    pub fn look_behind(&mut self, nodes: &Nodes, accesses: &Accesses, statement: &Statement) -> bool {
        self.told = if self.look_at_sight(nodes, accesses, statement) {
            Told::AtSight { is_live_behind: self.is_live_behind(nodes, accesses, statement) }
        } else if self.look_from_near(nodes, accesses, statement) {
            Told::FromNear
        } else {
            Told::Nothing
        };
        self.told != Told::Nothing
    }

    /// Nothing is told any more.
    pub fn forget(&mut self) {
        self.told = Told::Nothing;
    }

    /// Returns where it is live, by node, if that is known.
    pub fn told(&self) -> Option<&[Near]> {
        (self.told != Told::Nothing).then_some(&self.near)
    }

    /// Is it told of all nodes?
    pub fn is_told_of_all(&self) -> bool {
        matches!(self.told, Told::AtSight { .. })
    }

    /// Can there be a node on the way of the statement where its destination is dead?
    pub fn may_be_dead(&self) -> bool {
        match self.told {
            Told::Nothing => true,
            Told::AtSight { is_live_behind } => !is_live_behind,
            Told::FromNear => self.nodes.iter().any(|&node| self.near[node] == Near::Dead),
        }
    }

    /// The nodes that were looked at, if it is told.
    pub fn looked_at(&self) -> &[Node] {
        if self.told == Told::Nothing { &[] } else { &self.nodes }
    }

    /// Looks at all that touches what a statement writes, and at the nodes in front of where it is read. Gives up where these are
    /// too many.
    fn look_at_sight(&mut self, nodes: &Nodes, accesses: &Accesses, statement: &Statement) -> bool {
        self.clear();
        let touching = accesses.touching(statement.dst);
        if touching.len() > MOST_AT_SIGHT / 2 {
            return false;
        }
        let first = first_asked(nodes, accesses, statement.dst);
        let mut live: SmallVec<[Node; 16]> = SmallVec::new();
        // What is in front of the first that is asked for, too, as a statement may come from there.
        for touching in touching.filter(|touching| !touching.is_nothing()) {
            let is_live = touching.is_read_first() && touching.node() >= first;
            self.near[touching.node()] = if is_live { Near::Live } else { Near::Dead };
            self.nodes.push(touching.node());
            if is_live {
                live.push(touching.node());
            }
        }
        let touched = accesses.touched(statement.dst);
        while let Some(node) = live.pop() {
            for &before in nodes.predecessors(node).iter().filter(|&&before| before >= first) {
                match self.near[before] {
                    Near::Live => continue,
                    Near::Dead if touched.at(before).is_overwritten() => continue,
                    Near::Dead => {}
                    Near::Far if self.nodes.len() == MOST_AT_SIGHT => return false,
                    Near::Far => self.nodes.push(before),
                }
                self.near[before] = Near::Live;
                live.push(before);
            }
        }
        true
    }

    /// At first sight: is it live wherever the statement could go before it is read?
    fn is_live_behind(&self, nodes: &Nodes, accesses: &Accesses, statement: &Statement) -> bool {
        let touched = accesses.touched(statement.dst);
        // It goes on only where it is live, which is in few nodes.
        let mut way: SmallVec<[Node; 16]> = statement.occurrences.iter().map(Occurrence::node).collect();
        let mut next = 0;
        while let Some(&node) = way.get(next) {
            next += 1;
            for &behind in nodes.successors(node) {
                if self.near[behind] != Near::Live {
                    return false;
                }
                if !touched.at(behind).is_read_first() && !way.contains(&behind) {
                    way.push(behind);
                }
            }
        }
        true
    }

    /// Looks from a statement on. Was everything near that comes to what touches what it writes?
    fn look_from_near(&mut self, nodes: &Nodes, accesses: &Accesses, statement: &Statement) -> bool {
        self.clear();
        let touched = accesses.touched(statement.dst);
        let mut live: SmallVec<[Node; 8]> = SmallVec::new();
        let mut work: SmallVec<[Node; 16]> = statement.occurrences.iter().map(Occurrence::node).collect();
        while let Some(node) = work.pop() {
            for &next in nodes.successors(node) {
                if self.near[next] != Near::Far {
                    continue;
                }
                if self.nodes.len() == MOST_NEAR {
                    return false;
                }
                self.near[next] = Near::Dead;
                self.nodes.push(next);
                match touched.at(next) {
                    touching if touching.is_read_first() => live.push(next),
                    touching if touching.is_overwritten() => {}
                    _ => work.push(next),
                }
            }
        }
        while let Some(node) = live.pop() {
            self.near[node] = Near::Live;
            for &before in nodes.predecessors(node) {
                if self.near[before] == Near::Dead && !touched.at(before).is_overwritten() {
                    live.push(before);
                }
            }
        }
        true
    }

    fn clear(&mut self) {
        self.nodes.drain(..).for_each(|node| self.near[node] = Near::Far);
    }
}
