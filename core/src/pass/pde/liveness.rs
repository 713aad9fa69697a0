//! Liveness of a statement's destination.
//!
//! ```text
//! n: x = s ─▶ a: reads x        from b much can be reached, so that one begins with what reads x, and finds all nodes from
//!          └▶ b ─▶ …            which control comes there without overwriting it
//! ```
//!
//! That costs as much as the register lives; it is done if it is not told by what is [near](super::nearby). If the register lives
//! in more than [`MOST_ALONE`] nodes, the next registers are looked for together with it, a bit of a word for each, so that long
//! lives do not cost as much as there are registers times nodes: by one pass over the nodes if they are touched in many of them,
//! else from node to node where they live. If it turns out that nobody asks for those others, long lives are looked for one by
//! one for a while. In a large graph one looks first at the [stretches](super::stretched) that touch the register, if these are
//! little of it.
//!
//! What was asked for from afar is kept, and changes with what is carried out. Mostly a plan tells how: where a statement is on its
//! way and comes to a landing on all ways, its destination is dead, and its operands are live if it comes to where it is needed.
//!
//! Only statements that write a register ask for it, of nodes to which control comes from them. So nothing is looked for in
//! front of the first node that writes it, or of the outermost loop around that: what is perhaps read before it is written would
//! live from the beginning of the function on. Statements move the way of control, so that this bound only moves the same way.
//!
//! Where that is not known, but only in which nodes it is read or written otherwise, what lives more is found backwards from
//! these. Now it lives nowhere but where the answer says so. In what is left each of these nodes is asked for a way to a
//! read: without one the register is dead in all that the search has found, and the nodes in front of that are asked. So
//! nodes of a loop that are live only as each other are do not stay so. After [`MOST_STEPS`] one begins at the reads again.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::accesses::Accesses;
use super::nearby::{Near, Nearby};
use super::statements::{Occurrence, Statement};
use super::stretched::Stretched;
use crate::ir::Reg;
use crate::pass::path_guided::ascending::Ascending;
use crate::pass::path_guided::nodes::{Node, Nodes};
use crate::pass::path_guided::stretches::Stretches;

/// Nodes in which a register may be live before one looks for others together with it. Fewer where debugging, so that tests of
/// small programs see both.
const MOST_ALONE: usize = if cfg!(debug_assertions) { 8 } else { 256 };

/// Registers of a group, besides the one that it is made for, of which one expects that somebody asks for them. As long as fewer
/// are asked for, others are looked for by themselves between two groups: in as many nodes as there are, then in twice as many,
/// and so on.
const FEW_ASKED: usize = 4;

/// Groups of which one does not know yet whether they are worth what they take. Fewer where debugging, so that tests of small
/// programs see both.
const FEW_GROUPS: usize = if cfg!(debug_assertions) { 1 } else { 3 };

/// Registers on either side that are looked for together with one, if these are not known.
const MOST_BESIDE: usize = 256;

/// Nodes for each that touches a register, up to which one looks at all of them at once. Fewer where debugging, so that tests
/// of small programs see both.
const MOST_BETWEEN: usize = if cfg!(debug_assertions) { 1 } else { 32 };

/// Nodes of graphs in which it is as good to look at all of them for 64 registers together as at stretches for each. Fewer
/// where debugging, so that tests of small programs see both.
const FEW_NODES: usize = if cfg!(debug_assertions) { 64 } else { 8192 };

/// Nodes that are looked at in search of reads that are left before one begins at all reads; a sixteenth of all nodes if
/// that is more, as to begin again takes as long.
const MOST_STEPS: usize = 256;

/// Nodes at which a register dies that are taken out of a list one by one. Fewer where debugging, so that tests of small programs
/// see both.
const FEW_DEAD: usize = if cfg!(debug_assertions) { 1 } else { 8 };

/// No place.
const NONE: u32 = u32::MAX;

/// Nodes at whose entries a register is live.
enum Lives {
    /// It has not been found from afar.
    Unknown,
    /// In order.
    Few(SmallVec<[u32; 4]>),
    Many(FixedBitSet),
    /// A bit of each word of a group.
    Shared(Shared),
    /// As the few parts of the graph tell that touch it.
    Stretched(Stretched),
}

/// The place of a register in a group.
#[derive(Clone, Copy)]
struct Shared {
    group: u32,
    bit: u32,
}

/// Liveness of registers that were searched together.
pub(super) struct Group {
    /// Nobody asks for earlier nodes.
    first: Node,
    /// A word for each node from that on; for what is behind the last nothing is live.
    words: Vec<u64>,
}

impl Group {
    /// Computes registers that are touched in many nodes of a range: all of these are visited at once, and again only what edges that
    /// go back lead to. They are in the order of the first nodes at which they may be asked for, of which the range begins with
    /// the first. `overwritten` has no bits, and room for all nodes when it has been used once.
    fn of(
        (nodes, accesses): (&Nodes, &Accesses),
        regs: &[(Node, Reg)],
        range: Range<Node>,
        overwritten: &mut Vec<u64>,
    ) -> Group {
        let (first, mut end) = (range.start, range.end);
        let mut words: Vec<u64> = vec![0; nodes.len() - first];
        overwritten.resize(nodes.len(), 0);
        for (bit, &(first_asked, reg)) in regs.iter().enumerate() {
            for touching in accesses.touching(reg).skip_while(|touching| touching.node() < first_asked) {
                let node = touching.node();
                words[node - first] |= u64::from(touching.is_read_first()) << bit;
                overwritten[node] |= u64::from(touching.is_overwritten()) << bit;
            }
        }
        let mut asked = Asked::of(regs);
        // Where more may live in front of a node. The last ones come first, and what an edge leads to that goes back waits for all
        // others, so that a loop is gone through once for many of them.
        let (mut work, mut waiting) = (Ascending::new(nodes.len()), Ascending::new(nodes.len()));
        let mirrored = |node: Node| nodes.len() - 1 - node;
        for node in range.clone().rev() {
            let live = nodes.successors(node).iter().fold(0, |live, &next| live | words[next - first]);
            words[node - first] |= live & !overwritten[node] & asked.at(node);
            // From behind the range, too.
            if words[node - first] != 0 && nodes.is_head(node) {
                waiting.insert(mirrored(node));
            }
        }
        loop {
            let Some(node) = work.pop().map(mirrored) else {
                core::mem::swap(&mut work, &mut waiting);
                if work.is_empty() {
                    break;
                }
                continue;
            };
            let live = words[node - first];
            for &before in nodes.predecessors(node).iter().filter(|&&before| before >= first) {
                let to = &mut words[before - first];
                let more = live & !overwritten[before] & !*to;
                if more != 0 && more & asked.at(before) != 0 {
                    *to |= more & asked.at(before);
                    end = end.max(before + 1);
                    let sweep = if Nodes::goes_back(before, node) { &mut waiting } else { &mut work };
                    sweep.insert(mirrored(before));
                }
            }
        }
        overwritten[range].fill(0);
        words.truncate(end - first);
        Group { first, words }
    }

    #[inline]
    fn at(&self, node: Node) -> u64 {
        node.checked_sub(self.first).and_then(|place| self.words.get(place)).copied().unwrap_or(0)
    }

    fn set(&mut self, node: Node, bit: u32, is_live: bool) {
        let Some(place) = node.checked_sub(self.first) else { return };
        if place >= self.words.len() && is_live {
            self.words.resize(place + 1, 0);
        }
        if let Some(word) = self.words.get_mut(place) {
            *word = *word & !(1 << bit) | u64::from(is_live) << bit;
        }
    }
}

/// Which registers of a group a node overwrites, and which are live at its entry.
#[derive(Clone, Copy, Default)]
struct Together {
    overwritten: u64,
    live: u64,
}

impl Together {
    /// Has it nothing to do with any?
    fn is_nothing(&self) -> bool {
        self.overwritten | self.live == 0
    }
}

impl Lives {
    fn view<'a>(&'a self, nodes: &'a Nodes, groups: &'a [Group]) -> View<'a> {
        match self {
            Lives::Unknown => View::Unknown,
            Lives::Few(few) => View::Few(few),
            Lives::Many(many) => View::Many(many),
            &Lives::Shared(Shared { group, bit }) => View::Shared { group: &groups[group as usize], bit },
            Lives::Stretched(stretched) => View::Stretched(stretched, nodes.stretches()),
        }
    }

    fn contains(&self, nodes: &Nodes, groups: &[Group], node: Node) -> bool {
        self.view(nodes, groups).contains(node)
    }

    fn as_set(&self, groups: &[Group], nodes: &Nodes) -> FixedBitSet {
        match self {
            Lives::Many(set) => set.clone(),
            _ => (0..nodes.len()).filter(|&node| self.contains(nodes, groups, node)).collect(),
        }
    }

    fn set(&mut self, nodes: &Nodes, groups: &mut [Group], node: Node, is_live: bool) {
        match self {
            Lives::Unknown => {}
            Lives::Few(few) => match (few.binary_search(&(node as u32)), is_live) {
                (Ok(place), false) => drop(few.remove(place)),
                (Err(place), true) => few.insert(place, node as u32),
                _ => {}
            },
            Lives::Many(many) => many.set(node, is_live),
            Lives::Shared(Shared { group, bit }) => groups[*group as usize].set(node, *bit, is_live),
            Lives::Stretched(stretched) => stretched.set(nodes.stretches(), node, is_live),
        }
    }

    /// It is dead at the entries of some nodes from now on, which come in no order.
    fn let_die(&mut self, nodes: &Nodes, groups: &mut [Group], dead: &mut [u32]) {
        match self {
            // Those behind each would move once for each.
            Lives::Few(few) if dead.len() > FEW_DEAD => {
                dead.sort_unstable();
                let mut dead = dead.iter().copied().peekable();
                few.retain(|&mut node| {
                    while dead.next_if(|&dead| dead < node).is_some() {}
                    dead.next_if_eq(&node).is_none()
                });
            }
            _ => dead.iter().for_each(|&node| self.set(nodes, groups, node as Node, false)),
        }
    }
}

/// Liveness of a register, for queries about many nodes.
#[derive(Clone, Copy)]
pub(super) enum View<'a> {
    Unknown,
    Near(&'a [Near]),
    Few(&'a [u32]),
    Many(&'a FixedBitSet),
    Shared { group: &'a Group, bit: u32 },
    Stretched(&'a Stretched, &'a Stretches),
}

impl View<'_> {
    /// Is it live at the entry of a node?
    #[inline(always)]
    pub fn contains(&self, node: Node) -> bool {
        match *self {
            // Nothing may be dropped of which nothing is known.
            View::Unknown => true,
            View::Near(near) => near[node] == Near::Live,
            View::Few(few) => few.binary_search(&(node as u32)).is_ok(),
            View::Many(many) => many.contains(node),
            View::Shared { group, bit } => group.at(node) >> bit & 1 == 1,
            View::Stretched(stretched, stretches) => stretched.contains(stretches, node),
        }
    }
}

/// Returns the cached liveness of a register, to be changed.
fn known_mut<'a>(place_of: &[u32], known: &'a mut [Lives], reg: Reg) -> Option<&'a mut Lives> {
    known.get_mut(place_of.get(reg.index()).copied()? as usize)
}

/// See the file's head.
pub(super) struct Liveness {
    /// Index of each register's liveness in `known`, or [`NONE`]. Found together with another one's perhaps before
    /// anybody asks.
    place_of: Vec<u32>,
    known: Vec<Lives>,
    /// Registers that somebody may ask for; none where all may be.
    wanted: Option<FixedBitSet>,
    /// Registers that somebody has asked for from afar.
    asked: FixedBitSet,
    /// Registers that have been found together with others, whether somebody has asked for them since or not.
    beside: FixedBitSet,
    groups: Vec<Group>,
    /// How many registers somebody has asked for that had been found together with others.
    asked_beside: usize,
    /// Nodes in which registers that live in many may still be found by themselves, and how many these were last.
    left_alone: usize,
    most_alone: usize,
    /// How many groups there have to be before there are more nodes for that.
    next_alone: usize,
    /// State of each node, while a group is searched that is touched in few nodes.
    together: Vec<Together>,
    /// Overwritten registers of each node, while another group is searched.
    overwritten: Vec<u64>,
    /// Nearby liveness of the last statement, where that was enough.
    nearby: Nearby,
    /// Number of the walk that has found each node, or found that it overwrites the register.
    seen: Vec<u32>,
    /// Number of the search that has found a path from each node to a read.
    shown: Vec<u32>,
    walks: u32,
    found: Vec<u32>,
}

impl Liveness {
    /// Nothing is known yet. Registers that are not wanted, if it is known which are, are seldom asked for.
    pub fn new(nodes: &Nodes, wanted: Option<FixedBitSet>) -> Liveness {
        Liveness {
            place_of: Vec::new(),
            known: Vec::new(),
            wanted,
            asked: FixedBitSet::new(),
            beside: FixedBitSet::new(),
            groups: Vec::new(),
            asked_beside: 0,
            left_alone: 0,
            most_alone: nodes.len(),
            next_alone: FEW_GROUPS,
            together: Vec::new(),
            overwritten: Vec::new(),
            nearby: Nearby::new(nodes),
            seen: vec![0; nodes.len()],
            shown: vec![0; nodes.len()],
            walks: 0,
            found: Vec::new(),
        }
    }

    /// Makes it known where the destination of a statement is live, in all nodes to which the statement could sink.
    pub fn look_behind(&mut self, nodes: &Nodes, accesses: &Accesses, statement: &Statement) {
        let reg = statement.dst;
        if self.is_known(reg) {
            self.nearby.forget();
            return;
        }
        if self.nearby.look_behind(nodes, accesses, statement) {
            debug_assert!(self.is_nearby_right(nodes, accesses, reg), "that is all there is");
            return;
        }
        self.asked.grow(accesses.registers());
        self.asked.insert(reg.index());
        if self.is_found(reg) {
            self.asked_beside += 1;
            return;
        }
        let is_large = nodes.len() > FEW_NODES;
        let is_found =
            is_large && self.look_at_stretches(nodes, accesses, reg) || self.look_alone(nodes, accesses, reg);
        if !is_found {
            self.look_together(nodes, accesses, reg);
        }
    }

    /// Looks for a register by itself. Gives up where it lives too much.
    fn look_alone(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) -> bool {
        if self.look_alone_in(nodes, accesses, reg) {
            return true;
        }
        // Groups are not worth what they take if hardly anybody asks for others of them.
        if self.groups.len() < self.next_alone || self.asked_beside >= FEW_ASKED * self.groups.len() {
            return false;
        }
        self.next_alone = self.groups.len() + 1;
        self.left_alone = self.most_alone;
        self.most_alone = self.most_alone.saturating_mul(2);
        self.look_alone_in(nodes, accesses, reg)
    }

    /// Searches alone, with the remaining nodes of the budget.
    fn look_alone_in(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) -> bool {
        let is_found = self.look_from_afar(nodes, accesses, reg, self.left_alone.max(MOST_ALONE));
        if self.found.len() > MOST_ALONE {
            self.left_alone = self.left_alone.saturating_sub(self.found.len());
        }
        is_found
    }

    /// Is a register's liveness kept, as it was asked for from afar?
    pub fn is_known(&self, reg: Reg) -> bool {
        self.asked.contains(reg.index())
    }

    /// Forgets where a register is live if nobody has asked for that yet.
    pub fn forget_unasked(&mut self, reg: Reg) {
        if self.beside.contains(reg.index()) && !self.asked.contains(reg.index()) {
            self.beside.remove(reg.index());
            self.keep(reg, Lives::Unknown);
        }
    }

    /// Returns the known liveness of a register.
    fn lives(&self, reg: Reg) -> &Lives {
        let place = self.place_of.get(reg.index()).copied().unwrap_or(NONE);
        self.known.get(place as usize).unwrap_or(&Lives::Unknown)
    }

    /// That is known of a register from now on.
    fn keep(&mut self, reg: Reg, lives: Lives) {
        if self.place_of.len() <= reg.index() {
            self.place_of.resize(reg.index() + 1, NONE);
        }
        let place = &mut self.place_of[reg.index()];
        match self.known.get_mut(*place as usize) {
            Some(known) => *known = lives,
            None => {
                *place = self.known.len() as u32;
                self.known.push(lives);
            }
        }
    }

    fn is_found(&self, reg: Reg) -> bool {
        !matches!(self.lives(reg), Lives::Unknown)
    }

    /// Something touches a register in a node from now on, or no more.
    pub fn touch(&mut self, nodes: &Nodes, reg: Reg, node: Node) {
        if let Some(Lives::Stretched(stretched)) = known_mut(&self.place_of, &mut self.known, reg) {
            stretched.touch(nodes.stretches(), node);
        }
    }

    /// A register is live at the entries of some nodes from now on, or dead, if its liveness was found from afar before. The
    /// last ones come first.
    pub fn set(&mut self, nodes: &Nodes, reg: Reg, at: impl Iterator<Item = Node>, is_live: bool) {
        let Liveness { place_of, known, groups, .. } = self;
        match known_mut(place_of, known, reg) {
            None | Some(Lives::Unknown) => {}
            Some(&mut Lives::Shared(Shared { group, bit })) => {
                let group = &mut groups[group as usize];
                at.for_each(|node| group.set(node, bit, is_live));
            }
            Some(lives) => at.for_each(|node| lives.set(nodes, groups, node, is_live)),
        }
    }

    /// Is what is known of a register what would be found now?
    pub fn is_right(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) -> bool {
        let Some(known) = self.take(reg) else { return true };
        self.look_from_afar(nodes, accesses, reg, nodes.len());
        let found = self.take(reg).unwrap_or(Lives::Unknown);
        self.keep(reg, known);
        let known = self.lives(reg);
        (first_asked(nodes, accesses, reg)..nodes.len())
            .all(|node| known.contains(nodes, &self.groups, node) == found.contains(nodes, &self.groups, node))
    }

    /// Takes the known liveness of a register, which is unknown from then on.
    fn take(&mut self, reg: Reg) -> Option<Lives> {
        let known = core::mem::replace(known_mut(&self.place_of, &mut self.known, reg)?, Lives::Unknown);
        Some(known).filter(|known| !matches!(known, Lives::Unknown))
    }

    /// Makes what is known of a register right, if it was found from afar before, as it is read or written otherwise in these
    /// nodes. Gives where its liveness has changed, in order.
    pub fn renew(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg, changed: &[Node]) -> Vec<u32> {
        let Some(mut lives) = self.take(reg) else { return Vec::new() };
        if let Lives::Stretched(before) = &lives {
            if !self.look_at_stretches(nodes, accesses, reg) {
                self.look_from_afar(nodes, accesses, reg, nodes.len());
            }
            if let Lives::Stretched(now) = self.lives(reg) {
                return now.difference(before, nodes.stretches());
            }
            return self.difference(nodes, reg, &lives);
        }
        let first = first_asked(nodes, accesses, reg);
        // With each change; what has changed there and back is in it twice.
        let mut changes: Vec<u32> = Vec::new();
        let mut work: Vec<Node> = changed.to_vec();
        let touched = accesses.touched(reg);
        while let Some(node) = work.pop() {
            if node < first || lives.contains(nodes, &self.groups, node) {
                continue;
            }
            let touching = touched.at(node);
            let is_live_behind =
                || nodes.successors(node).iter().any(|&next| lives.contains(nodes, &self.groups, next));
            if touching.is_read_first() || !touching.is_overwritten() && is_live_behind() {
                lives.set(nodes, &mut self.groups, node, true);
                changes.push(node as u32);
                work.extend(nodes.predecessors(node));
            }
        }
        work.extend(changed);
        let is_found = self.let_die(nodes, accesses, reg, &mut lives, work, &mut changes);
        if is_found {
            self.keep(reg, lives);
        } else {
            self.look_from_afar(nodes, accesses, reg, nodes.len());
            changes.extend(self.difference(nodes, reg, &lives));
        }
        changes.sort_unstable();
        let runs = changes.chunk_by(|a, b| a == b).filter(|run| run.len() % 2 == 1);
        runs.map(|run| run[0]).collect()
    }

    /// Nodes at which the liveness of a register changed against the old one; in order.
    fn difference(&self, nodes: &Nodes, reg: Reg, before: &Lives) -> Vec<u32> {
        let mut difference = before.as_set(&self.groups, nodes);
        difference.grow(nodes.len());
        difference.symmetric_difference_with(&self.lives(reg).as_set(&self.groups, nodes));
        difference.ones().map(|node| node as u32).collect()
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
        let most_steps = MOST_STEPS.max(nodes.len() / 16);
        let touched = accesses.touched(reg);
        // From what lies on a way to a read no other way has to be found.
        self.walks += 1;
        let shown = self.walks;
        let mut ways: Vec<u32> = Vec::new();
        while let Some(start) = work.pop() {
            if !lives.contains(nodes, &self.groups, start) || self.shown[start] == shown {
                continue;
            }
            self.walks += 1;
            self.seen[start] = self.walks;
            self.found.clear();
            self.found.push(start as u32);
            ways.clear();
            ways.push(0);
            let (mut next, mut is_read) = (0, false);
            // What is near is found first.
            while let Some(&node) = self.found.get(next).filter(|_| !is_read) {
                steps += 1;
                if steps > most_steps {
                    return false;
                }
                let touching = touched.at(node as Node);
                is_read = touching.is_read_first() || self.shown[node as Node] == shown;
                if is_read {
                    self.shown[node as Node] = shown;
                    let mut on_way = ways[next] as usize;
                    while core::mem::replace(&mut self.shown[self.found[on_way] as Node], shown) != shown {
                        on_way = ways[on_way] as usize;
                    }
                } else if !touching.is_overwritten() {
                    for &to in nodes.successors(node as Node) {
                        let mut is_new = || core::mem::replace(&mut self.seen[to], self.walks) != self.walks;
                        if lives.contains(nodes, &self.groups, to) && is_new() {
                            self.found.push(to as u32);
                            ways.push(next as u32);
                        }
                    }
                }
                next += 1;
            }
            if !is_read {
                lives.let_die(nodes, &mut self.groups, &mut self.found);
                self.found.iter().for_each(|&node| work.extend(nodes.predecessors(node as Node)));
                changes.extend(&self.found);
            }
        }
        true
    }

    /// Can there be a node behind the statement that was looked from where its destination is dead?
    pub fn may_be_dead(&self) -> bool {
        self.nearby.may_be_dead()
    }

    /// The nodes that the answers were found in.
    pub fn looked_at<'a>(&'a self, nodes: &'a Nodes, statement: &'a Statement) -> impl Iterator<Item = Node> + 'a {
        let occurrences = statement.occurrences.iter().map(Occurrence::node);
        let behind = occurrences.clone().flat_map(|node| nodes.successors(node).iter().copied());
        occurrences.chain(behind).chain(self.nearby.looked_at().iter().copied())
    }

    /// May the destination of the statement that was looked from be read from the entry of a node on, before it is written
    /// in all lanes?
    pub fn is_live_in(&self, nodes: &Nodes, node: Node, reg: Reg) -> bool {
        self.view(nodes, reg).contains(node)
    }

    /// Returns the view for queries about many nodes.
    pub fn view<'a>(&'a self, nodes: &'a Nodes, reg: Reg) -> View<'a> {
        match self.nearby.told() {
            Some(near) => View::Near(near),
            None => self.lives(reg).view(nodes, &self.groups),
        }
    }

    /// Tests for liveness at the end of a node.
    pub fn is_live_out(&self, nodes: &Nodes, node: Node, reg: Reg) -> bool {
        nodes.successors(node).iter().any(|&next| self.is_live_in(nodes, next, reg))
    }

    /// Is what is told by what is near, if it is told of all nodes, what is found from afar?
    fn is_nearby_right(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) -> bool {
        let kept = self.take(reg);
        self.look_from_afar(nodes, accesses, reg, nodes.len());
        let found = self.take(reg).unwrap_or(Lives::Unknown);
        if let Some(kept) = kept {
            self.keep(reg, kept);
        }
        let near = self.nearby.told().filter(|_| self.nearby.is_told_of_all());
        near.is_none_or(|near| {
            let all = first_asked(nodes, accesses, reg)..nodes.len();
            all.into_iter().all(|node| found.contains(nodes, &self.groups, node) == (near[node] == Near::Live))
        })
    }

    /// Begins at the reads of a register. Gives up where it is live in more nodes than that.
    fn look_from_afar(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg, most: usize) -> bool {
        self.walks += 1;
        self.found.clear();
        let first = first_asked(nodes, accesses, reg);
        for touching in accesses.touching(reg).skip_while(|touching| touching.node() < first) {
            let node = touching.node();
            if touching.is_read_first() {
                self.found.push(node as u32);
            }
            if touching.is_read_first() || touching.is_overwritten() {
                self.seen[node] = self.walks;
            }
        }
        let mut next = 0;
        while let Some(&node) = self.found.get(next) {
            if self.found.len() > most {
                return false;
            }
            next += 1;
            for &before in nodes.predecessors(node as Node) {
                if before >= first && core::mem::replace(&mut self.seen[before], self.walks) != self.walks {
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
            Lives::Few(SmallVec::from_slice(&self.found))
        };
        self.keep(reg, lives);
        true
    }

    /// Looks at the stretches that touch a register. Gives up where these are too much.
    fn look_at_stretches(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) -> bool {
        let found = Stretched::of(nodes, accesses, reg, first_asked(nodes, accesses, reg));
        let is_found = found.is_some();
        if let Some(stretched) = found {
            self.keep(reg, Lives::Stretched(stretched));
        }
        is_found
    }

    /// Looks from afar for a register and those beside it that may be live between nodes, a bit for each.
    fn look_together(&mut self, nodes: &Nodes, accesses: &Accesses, reg: Reg) {
        let index = reg.index();
        let behind = index..accesses.registers().min(index + MOST_BESIDE);
        let in_front = index.saturating_sub(MOST_BESIDE)..index;
        let others = behind.chain(in_front.rev()).map(Reg::new);
        let is_wanted = |other: Reg| match &self.wanted {
            Some(wanted) => wanted.contains(other.index()) || other == reg,
            None => true,
        };
        let others = others.filter(|&reg| is_wanted(reg) && accesses.may_cross(reg) && !self.is_found(reg));
        let of = |reg: Reg| (first_asked(nodes, accesses, reg), reg);
        let mut regs: SmallVec<[(Node, Reg); 64]> = others.take(u64::BITS as usize).map(of).collect();
        regs.sort_unstable();
        self.beside.grow(accesses.registers());
        self.beside.extend(regs.iter().map(|&(_, reg)| reg.index()));
        let touches: usize = regs.iter().map(|&(_, reg)| accesses.touching(reg).len()).sum();
        let first = regs.first().map_or(0, |&(first, _)| first);
        let last_touching = |&(_, reg): &(Node, Reg)| Some(accesses.touching(reg).next_back()?.node());
        let last = regs.iter().filter_map(last_touching).max();
        let range = first..last.map_or(first, |last| first.max(last + 1));
        if touches * MOST_BETWEEN >= range.len() {
            let group = Group::of((nodes, accesses), &regs, range, &mut self.overwritten);
            self.keep_shared(&regs, group);
            return;
        }
        let Liveness { together, found, .. } = self;
        let mut asked = Asked::of(&regs);
        together.resize(nodes.len(), Together::default());
        found.clear();
        let mut work = FixedBitSet::with_capacity(nodes.len());
        for (bit, &(first, reg)) in regs.iter().enumerate() {
            for touching in accesses.touching(reg).skip_while(|touching| touching.node() < first) {
                let node = touching.node();
                let here = &mut together[node];
                let was_nothing = here.is_nothing();
                here.overwritten |= u64::from(touching.is_overwritten()) << bit;
                here.live |= u64::from(touching.is_read_first()) << bit;
                if was_nothing && !here.is_nothing() {
                    found.push(node as u32);
                }
                if touching.is_read_first() {
                    work.insert(node);
                }
            }
        }
        // From the last nodes on, since only edges that go back lead to what has been looked at: once more for these.
        while !work.is_clear() {
            for words in (0..work.as_slice().len()).rev() {
                while let Some(bit) = work.as_slice()[words].checked_ilog2() {
                    let node = words * fixedbitset::Block::BITS as usize + bit as usize;
                    work.remove(node);
                    let live = together[node].live;
                    for &before in nodes.predecessors(node) {
                        let to = &mut together[before];
                        let mut more = live & !to.overwritten & !to.live;
                        if more != 0 {
                            more &= asked.at(before);
                        }
                        if more != 0 {
                            if to.is_nothing() {
                                found.push(before as u32);
                            }
                            to.live |= more;
                            work.insert(before);
                        }
                    }
                }
            }
        }
        if found.len() > nodes.len() / 32 {
            let (first, last) = (regs[0].0, found.iter().max().map_or(0, |&last| last as Node));
            let words = (first..=last).map(|node| together[node].live).collect();
            self.keep_shared(&regs, Group { first, words });
        } else {
            found.sort_unstable();
            let mut lives: SmallVec<[SmallVec<[u32; 4]>; 64]> = regs.iter().map(|_| SmallVec::new()).collect();
            for &node in &*found {
                let mut live = together[node as usize].live;
                while live != 0 {
                    lives[live.trailing_zeros() as usize].push(node);
                    live &= live - 1;
                }
            }
            for (&(_, reg), nodes) in regs.iter().zip(lives) {
                self.keep(reg, Lives::Few(nodes));
            }
        }
        let Liveness { together, found, .. } = self;
        found.drain(..).for_each(|node| together[node as usize] = Together::default());
    }

    /// Caches the liveness of registers that were searched together.
    fn keep_shared(&mut self, regs: &[(Node, Reg)], group: Group) {
        let number = self.groups.len() as u32;
        self.groups.push(group);
        for (bit, &(_, reg)) in regs.iter().enumerate() {
            self.keep(reg, Lives::Shared(Shared { group: number, bit: bit as u32 }));
        }
    }
}

/// Which of some registers may be asked for at a node: the first of them, as they are in the order of the first nodes at which
/// they may be.
struct Asked<'a> {
    regs: &'a [(Node, Reg)],
    /// How many of them may at the last node that was looked at, and the bits of these.
    count: usize,
    bits: u64,
    /// The nodes at which the same may.
    same: Range<Node>,
}

impl<'a> Asked<'a> {
    /// Query for registers after the first nodes, at most 64.
    fn of(regs: &'a [(Node, Reg)]) -> Asked<'a> {
        Asked { regs, count: regs.len(), bits: 0, same: 0..0 }
    }

    /// A bit for each of them. Nodes come mostly one after the other.
    #[inline]
    fn at(&mut self, node: Node) -> u64 {
        if !self.same.contains(&node) {
            self.look_at(node);
        }
        self.bits
    }

    fn look_at(&mut self, node: Node) {
        while self.count > 0 && self.regs[self.count - 1].0 > node {
            self.count -= 1;
        }
        while self.regs.get(self.count).is_some_and(|&(first, _)| first <= node) {
            self.count += 1;
        }
        let first = |count: usize| self.regs.get(count).map(|&(first, _)| first);
        self.same = self.count.checked_sub(1).and_then(first).unwrap_or(0)..first(self.count).unwrap_or(Node::MAX);
        self.bits = match self.count as u32 {
            u64::BITS => !0,
            count => (1 << count) - 1,
        };
    }
}

/// The first node that may be asked for a register: a statement that writes it stands there or behind.
pub(super) fn first_asked(nodes: &Nodes, accesses: &Accesses, reg: Reg) -> Node {
    accesses.writers(reg).next().map_or(nodes.len(), |writer| nodes.least_behind(writer.node()))
}
