//! Where the destination of a statement is live.
//!
//! ```text
//! n: x = s ─▶ a: reads x        from near: nothing leaves this region but through what reads x, or overwrites it, so that
//!          └▶ b ─▶ c: reads x   x is live at a, b and c, however far away others read it
//!
//! n: x = s ─▶ a: reads x        from afar: from b much can be reached, so that one begins with what reads x, and finds all
//!          └▶ b ─▶ …            nodes from which control comes there without overwriting it
//! ```
//!
//! Both give the same answers. The first costs as much as lies between a statement and what touches its destination next,
//! the second as much as the register lives; only if the first takes more than [`MOST_NEAR`] nodes the second is made. That is
//! kept: where it is known that a register lives as it did but for some nodes, only those are looked at again. Whatever lives
//! in them does so because of a read in them, or of a node behind them, whose answer stands.
//!
//! Where that is not known, but only in which nodes it is read or written otherwise, what lives more is found backwards from
//! these. Now it lives nowhere but where the answer says so. In what is left each of these nodes is asked for a way to a
//! read: without one the register is dead in all that the search has found, and the nodes in front of that are asked. So
//! nodes of a loop that are live only as each other are do not stay so. After [`MOST_STEPS`] one begins at the reads again.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::accesses::Accesses;
use super::statements::Statement;
use crate::ir::Reg;
use crate::pass::path_guided::nodes::{Node, Nodes};

/// Nodes that are looked at from a statement on before one begins at the reads of its destination.
const MOST_NEAR: usize = 32;

/// Nodes that are looked at in search of reads that are left before one begins at all reads.
const MOST_STEPS: usize = 256;

/// Nodes at whose entries a register is live.
enum Lives {
    /// In order.
    Few(Vec<u32>),
    Many(FixedBitSet),
}

impl Lives {
    fn contains(&self, node: Node) -> bool {
        match self {
            Lives::Few(nodes) => nodes.binary_search(&(node as u32)).is_ok(),
            Lives::Many(nodes) => nodes.contains(node),
        }
    }

    fn as_set(&self, nodes: &Nodes) -> FixedBitSet {
        match self {
            Lives::Few(few) => {
                let mut set = FixedBitSet::with_capacity(nodes.len());
                few.iter().for_each(|&node| set.insert(node as usize));
                set
            }
            Lives::Many(set) => set.clone(),
        }
    }

    fn set(&mut self, node: Node, is_live: bool) {
        match self {
            Lives::Few(nodes) => match (nodes.binary_search(&(node as u32)), is_live) {
                (Ok(place), false) => drop(nodes.remove(place)),
                (Err(place), true) => nodes.insert(place, node as u32),
                _ => {}
            },
            Lives::Many(nodes) => nodes.set(node, is_live),
        }
    }
}

/// What is known of a node that is near.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Near {
    Far,
    Dead,
    Live,
}

/// See the file's head.
pub(super) struct Liveness {
    /// By register, if it has been found from afar.
    known: Vec<Option<Lives>>,
    /// By node, of the last statement, where that was enough.
    near: Vec<Near>,
    near_nodes: Vec<Node>,
    is_from_near: bool,
    /// By node: the number of the walk that has found it, or found that it overwrites the register.
    seen: Vec<u32>,
    walks: u32,
    found: Vec<u32>,
}

impl Liveness {
    /// Nothing is known yet.
    pub fn new(nodes: &Nodes) -> Liveness {
        Liveness {
            known: Vec::new(),
            near: vec![Near::Far; nodes.len()],
            near_nodes: Vec::new(),
            is_from_near: false,
            seen: vec![0; nodes.len()],
            walks: 0,
            found: Vec::new(),
        }
    }

    /// Makes it known where the destination of a statement is live, in all nodes to which the statement could sink.
    pub fn look_behind(&mut self, nodes: &Nodes, accesses: &Accesses, statement: &Statement) {
        let reg = statement.dst;
        let is_known = self.known.get(reg.index()).is_some_and(Option::is_some);
        self.is_from_near = !is_known && self.look_from_near(nodes, accesses, statement);
        if !is_known && !self.is_from_near {
            self.look_from_afar(nodes, accesses, reg);
        }
    }

    /// Finds a register's liveness anew in these nodes, if it was found from afar before. Elsewhere it is what it was.
    pub fn renew_within(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg, within: &[Node]) {
        let Some(lives) = self.known.get_mut(reg.index()).and_then(Option::as_mut) else { return };
        self.walks += 1;
        for &node in within {
            self.seen[node] = self.walks;
            lives.set(node, false);
        }
        let mut work: Vec<Node> = within.to_vec();
        while let Some(node) = work.pop() {
            let touches = accesses.touches(node, reg);
            let is_read = touches.is_some_and(|touches| touches.is_read_first);
            let comes_through = || {
                touches.is_none_or(|touches| !touches.is_overwritten)
                    && nodes.successors(node).iter().any(|&next| lives.contains(next))
            };
            if !lives.contains(node) && (is_read || comes_through()) {
                lives.set(node, true);
                let before = nodes.predecessors(node).iter().copied();
                work.extend(before.filter(|&before| self.seen[before] == self.walks));
            }
        }
    }

    /// Is what is known of a register what would be found now?
    pub fn is_right(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) -> bool {
        let Some(known) = self.known.get_mut(reg.index()).and_then(Option::take) else { return true };
        self.look_from_afar(nodes, accesses, reg);
        let found = self.known[reg.index()].replace(known);
        let (known, found) = (self.known[reg.index()].as_ref(), found.as_ref());
        known.zip(found).is_some_and(|(a, b)| (0..nodes.len()).all(|node| a.contains(node) == b.contains(node)))
    }

    /// Makes what is known of a register right, if it was found from afar before, as it is read or written otherwise in these
    /// nodes. Gives where its liveness has changed, in order.
    pub fn renew(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg, touched: &[Node]) -> Vec<u32> {
        let Some(mut lives) = self.known.get_mut(reg.index()).and_then(Option::take) else { return Vec::new() };
        // With each change; what has changed there and back is in it twice.
        let mut changes: Vec<u32> = Vec::new();
        let mut work: Vec<Node> = touched.to_vec();
        while let Some(node) = work.pop() {
            if lives.contains(node) {
                continue;
            }
            let touches = accesses.touches(node, reg);
            let is_read = touches.is_some_and(|touches| touches.is_read_first);
            let is_open = touches.is_none_or(|touches| !touches.is_overwritten);
            if is_read || is_open && nodes.successors(node).iter().any(|&next| lives.contains(next)) {
                lives.set(node, true);
                changes.push(node as u32);
                work.extend(nodes.predecessors(node));
            }
        }
        work.extend(touched);
        let is_found = self.let_die(nodes, accesses, reg, &mut lives, work, &mut changes);
        if is_found {
            self.known[reg.index()] = Some(lives);
        } else {
            self.look_from_afar(nodes, accesses, reg);
            let mut difference = lives.as_set(nodes);
            if let Some(found) = &self.known[reg.index()] {
                difference.symmetric_difference_with(&found.as_set(nodes));
            }
            changes.extend(difference.ones().map(|node| node as u32));
        }
        changes.sort_unstable();
        let runs = changes.chunk_by(|a, b| a == b).filter(|run| run.len() % 2 == 1);
        runs.map(|run| run[0]).collect()
    }

    /// Takes away where a register is not live, of what lives everywhere where it is live. All such nodes come to one of
    /// these without leaving what lives. Does it take few enough steps?
    fn let_die(
        &mut self,
        nodes: &Nodes,
        accesses: &Accesses,
        reg: Reg,
        lives: &mut Lives,
        mut work: Vec<Node>,
        changes: &mut Vec<u32>,
    ) -> bool {
        let mut steps = 0;
        while let Some(start) = work.pop() {
            if !lives.contains(start) {
                continue;
            }
            self.walks += 1;
            self.seen[start] = self.walks;
            self.found.clear();
            self.found.push(start as u32);
            let (mut next, mut is_read) = (0, false);
            // What is near is found first.
            while let Some(&node) = self.found.get(next).filter(|_| !is_read) {
                next += 1;
                steps += 1;
                if steps > MOST_STEPS {
                    return false;
                }
                let touches = accesses.touches(node as Node, reg);
                is_read = touches.is_some_and(|touches| touches.is_read_first);
                if touches.is_none_or(|touches| !touches.is_overwritten) {
                    for &to in nodes.successors(node as Node) {
                        if lives.contains(to) && core::mem::replace(&mut self.seen[to], self.walks) != self.walks {
                            self.found.push(to as u32);
                        }
                    }
                }
            }
            if !is_read {
                for &node in &self.found {
                    lives.set(node as Node, false);
                    work.extend(nodes.predecessors(node as Node));
                }
                changes.extend(&self.found);
            }
        }
        true
    }

    /// Can there be a node behind the statement that was looked from where its destination is dead?
    pub fn may_be_dead(&self) -> bool {
        !self.is_from_near || self.near_nodes.iter().any(|&node| self.near[node] == Near::Dead)
    }

    /// The nodes that the answers were found in.
    pub fn looked_at<'a>(&'a self, nodes: &'a Nodes, statement: &'a Statement) -> impl Iterator<Item = Node> + 'a {
        let occurrences = statement.occurrences.iter().map(|occurrence| occurrence.node);
        let behind = occurrences.clone().flat_map(|node| nodes.successors(node).iter().copied());
        occurrences.chain(behind).chain(self.near_nodes.iter().copied().filter(|_| self.is_from_near))
    }

    /// May the destination of the statement that was looked from be read from the entry of a node on, before it is written
    /// in all lanes?
    pub fn is_live_in(&self, node: Node, reg: Reg) -> bool {
        if self.is_from_near {
            return self.near[node] == Near::Live;
        }
        match self.known.get(reg.index()) {
            Some(Some(lives)) => lives.contains(node),
            // Nothing may be dropped of which nothing is known.
            _ => true,
        }
    }

    /// The same for the end of a node.
    pub fn is_live_out(&self, nodes: &Nodes, node: Node, reg: Reg) -> bool {
        nodes.successors(node).iter().any(|&next| self.is_live_in(next, reg))
    }

    /// Was everything near that comes to what touches the register?
    fn look_from_near(&mut self, nodes: &Nodes, accesses: &Accesses, statement: &Statement) -> bool {
        self.near_nodes.drain(..).for_each(|node| self.near[node] = Near::Far);
        let mut live: SmallVec<[Node; 8]> = SmallVec::new();
        let mut work: SmallVec<[Node; 16]> = statement.occurrences.iter().map(|occurrence| occurrence.node).collect();
        while let Some(node) = work.pop() {
            for &next in nodes.successors(node).iter() {
                if self.near[next] != Near::Far {
                    continue;
                }
                if self.near_nodes.len() == MOST_NEAR {
                    return false;
                }
                self.near[next] = Near::Dead;
                self.near_nodes.push(next);
                match accesses.touches(next, statement.dst) {
                    Some(touches) if touches.is_read_first => live.push(next),
                    Some(touches) if touches.is_overwritten => {}
                    _ => work.push(next),
                }
            }
        }
        while let Some(node) = live.pop() {
            self.near[node] = Near::Live;
            for &before in nodes.predecessors(node) {
                let is_open = self.near[before] == Near::Dead
                    && accesses.touches(before, statement.dst).is_none_or(|touches| !touches.is_overwritten);
                if is_open {
                    live.push(before);
                }
            }
        }
        true
    }

    fn look_from_afar(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) {
        self.known.resize_with(self.known.len().max(accesses.registers()), || None);
        self.walks += 1;
        self.found.clear();
        for node in accesses.touching(reg) {
            let Some(touches) = accesses.touches(node, reg) else { continue };
            if touches.is_read_first {
                self.found.push(node as u32);
            }
            if touches.is_read_first || touches.is_overwritten {
                self.seen[node] = self.walks;
            }
        }
        let mut next = 0;
        while let Some(&node) = self.found.get(next) {
            next += 1;
            for &before in nodes.predecessors(node as Node) {
                if core::mem::replace(&mut self.seen[before], self.walks) != self.walks {
                    self.found.push(before as u32);
                }
            }
        }
        let lives = if self.found.len() > nodes.len() / 32 {
            let mut set = FixedBitSet::with_capacity(nodes.len());
            self.found.iter().for_each(|&node| set.insert(node as usize));
            Lives::Many(set)
        } else {
            self.found.sort_unstable();
            Lives::Few(self.found.clone())
        };
        self.known[reg.index()] = Some(lives);
    }
}
