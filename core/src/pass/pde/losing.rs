//! Losses of executed paths from the places in which a statement lands, if it passed joins that it reaches on some paths
//! only: whether any could lose an execution, and whether that could be worth it.
//!
//! ```text
//! 1: x = s ─▶ 2 ─▶ 4 ─▶ 5: uses x       the statement lands at the end of 2. Past the join 4, path 1 2 4 6 would lose it, as
//!             3 ─▶ ┘└─▶ 6: x = 0        x is dead in 6, and path 1 3 4 5 would pay for it in 5
//! ```
//!
//! Most statements have no path that could lose, and then no join is worth weighing, so that nothing has to be known of what
//! lies behind. To see that, only paths are followed, from where the statement lands without a predicate to where something
//! stops it: much less than all that control reaches from there. Where some could lose, but others pay more whatever else is
//! enabled, or all that could be saved goes into setting a predicate, nothing has to be known either, but for those who want
//! to hear how much.
//!
//! Sound: a path executes a statement as often as it comes to a node where the statement lands. Passing a join adds places
//! where it lands, and takes away those right in front of a join to which it did not come on all ways. So a path that
//! executes it less often goes through one of these, on past the join, and comes to no other landing: the statement is
//! still on its way where the path ends, where it leaves what is known of it, or where the destination is dead. All paths on
//! which that could be are found, whichever joins are passed. Heads of loops that cannot let it in, whatever is passed, are not
//! begun at: there it goes on landing. Where it lands in front of joins only, and not of loops that could let it in, these are
//! the first that are weighed; as long as none of them is enabled, no other is. A path without any landing that is
//! followed past such a join, and comes to what stops the statement before it comes to where the destination is dead, comes
//! to a landing there or earlier, whichever joins are passed with it: it pays.
//!
//! Linear in the nodes that are walked over, of which there are [`MOST_NODES`] at most, each once and once for each of the
//! first joins, of which [`MOST_JOINS`] are followed. Where there are more, all is weighed.

use alloc::vec;
use alloc::vec::Vec;
use fixedbitset::{Block as Word, FixedBitSet};
use smallvec::{SmallVec, smallvec};

use crate::pass::path_guided::ascending::Ascending;
use crate::pass::path_guided::nodes::{Node, Nodes};
use crate::pass::path_guided::path_sets::{add, are_disjoint, is_none, take_away};
use crate::pass::path_guided::paths::Paths;

/// Sets of paths have any number of words.
const ANY: usize = 0;

/// Nodes that are walked over.
const MOST_NODES: usize = 4096;

/// First joins that paths are followed from one by one.
pub(super) const MOST_JOINS: usize = 16;

/// Effect of a node on a statement that reaches it along a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Meets {
    /// Its destination is dead.
    Dead,
    /// Something stops it.
    Stop,
    /// Nothing.
    Nothing,
}

/// A set of paths. Mostly there are few.
pub(super) type Words = SmallVec<[Word; 2]>;

/// Places that paths have reached, as sets.
pub(super) struct Outcome {
    /// Those that came to where the destination is dead, ended, or went elsewhere.
    pub lost: Words,
    /// Those that came to what stops the statement.
    pub stopped: Words,
}

impl Outcome {
    /// Has no path come to where it could lose the statement?
    pub fn is_nothing_lost(&self) -> bool {
        is_none(&self.lost)
    }
}

/// See the file's head. Kept for the next search.
pub(super) struct Walk {
    /// Place of each node among those that are reached.
    of: Vec<u32>,
    reached: Vec<u32>,
    /// For each of these the paths on which the statement comes to it.
    coming: Vec<Word>,
    work: Ascending,
    /// Nodes that were reached since all was forgotten.
    looked_at: Vec<u32>,
    has_looked_at: FixedBitSet,
}

/// Not reached.
const NONE: u32 = u32::MAX;

impl Walk {
    /// For that many nodes.
    pub fn new(nodes: &Nodes) -> Walk {
        Walk {
            of: vec![NONE; nodes.len()],
            reached: Vec::new(),
            coming: Vec::new(),
            work: Ascending::new(nodes.len()),
            looked_at: Vec::new(),
            has_looked_at: FixedBitSet::with_capacity(nodes.len()),
        }
    }

    /// The nodes that were reached since all was forgotten.
    pub fn looked_at(&self) -> impl Iterator<Item = Node> + '_ {
        self.looked_at.iter().map(|&node| node as Node)
    }

    /// Was a node reached since all was forgotten?
    pub fn has_looked_at(&self, node: Node) -> bool {
        self.has_looked_at.contains(node)
    }

    /// Forgets what was reached.
    pub fn clear(&mut self) {
        self.looked_at.iter().for_each(|&node| self.has_looked_at.remove(node as Node));
        self.looked_at.clear();
    }

    /// Follows paths with a statement: `starts` are nodes that they come to, and two sets that the paths are in. None where they
    /// come to too many.
    pub fn follow<'a>(
        &mut self,
        nodes: &Nodes,
        paths: &Paths,
        starts: impl Iterator<Item = (Node, [&'a [Word]; 2])>,
        meets: impl Fn(Node) -> Meets,
    ) -> Option<Outcome> {
        // Mostly there are few paths, and a set is one word.
        match paths.tables()[0].width() {
            1 => self.follow_of_width::<1>(nodes, paths, starts, meets),
            _ => self.follow_of_width::<ANY>(nodes, paths, starts, meets),
        }
    }

    /// Follows sets of `WIDTH` words, or [`ANY`] number of them.
    fn follow_of_width<'a, const WIDTH: usize>(
        &mut self,
        nodes: &Nodes,
        paths: &Paths,
        starts: impl Iterator<Item = (Node, [&'a [Word]; 2])>,
        meets: impl Fn(Node) -> Meets,
    ) -> Option<Outcome> {
        let [table, ..] = paths.tables();
        let width = if WIDTH == ANY { table.width() } else { WIDTH };
        let on = table.rows(width);
        let mut outcome = Outcome { lost: smallvec![0; width], stopped: smallvec![0; width] };
        let mut set: Words = smallvec![0; width];
        let (lost, stopped, set) = (&mut outcome.lost[..width], &mut outcome.stopped[..width], &mut set[..width]);
        for (node, [one, other]) in starts {
            set.iter_mut().zip(one[..width].iter().zip(&other[..width])).for_each(|(to, (a, b))| *to = a & b);
            self.go_on(node, on.at(node), set);
            add(lost, set);
        }
        while let Some(node) = self.work.pop().filter(|_| self.reached.len() <= MOST_NODES) {
            let place = self.of[node] as usize;
            set.copy_from_slice(&self.coming[place * width..][..width]);
            match meets(node) {
                Meets::Dead => add(lost, set),
                Meets::Stop => add(stopped, set),
                Meets::Nothing => {
                    for &next in nodes.successors(node) {
                        // A path ends in front of an edge back.
                        if !Nodes::goes_back(node, next) {
                            self.go_on(next, on.at(next), set);
                        }
                    }
                    add(lost, set);
                }
            }
        }
        let is_all = self.reached.len() <= MOST_NODES;
        self.work.clear();
        self.coming.clear();
        for node in self.reached.drain(..) {
            self.of[node as Node] = NONE;
            if !self.has_looked_at.put(node as Node) {
                self.looked_at.push(node);
            }
        }
        is_all.then_some(outcome)
    }

    /// Follows paths to a next node, on which these are. In `set` those stay that end, or go elsewhere.
    #[inline(always)]
    fn go_on(&mut self, next: Node, on: &[Word], set: &mut [Word]) {
        if are_disjoint(set, on) {
            return;
        }
        let width = set.len();
        match self.of[next] {
            NONE => {
                self.of[next] = self.reached.len() as u32;
                self.reached.push(next as u32);
                self.work.insert(next);
                self.coming.extend(set.iter().zip(on).map(|(set, on)| set & on));
            }
            place => {
                let coming = &mut self.coming[place as usize * width..][..width];
                coming.iter_mut().zip(set.iter().zip(on)).for_each(|(coming, (set, on))| *coming |= set & on);
            }
        }
        take_away(set, on);
    }
}
