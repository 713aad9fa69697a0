//! Synonyms: names that stand for one value wherever both hold.
//!
//! ```text
//! l: x = i + 1; y = i        r: x = j + 1; y = j
//! m: A[x], A[y + 1]          l: A[i + 1] and A[i + 1];  r: A[j + 1] and A[j + 1]: synonyms
//! ```
//!
//! 1. Names of one class become one name on every way back. So they do on one fixed way, which takes
//!    the first edge into each block that does not retreat. Names are grouped by what they are at
//!    its end.
//! 2. In a group each two names that hold together are assumed equal. Two names depend on the two
//!    that they are above the later one of their latest definitions, along each edge.
//! 3. Pairs of which one has ended, or that are two names where the function begins, differ. This is
//!    pushed to the pairs that depend on them.
//! 4. What is left is equal, also where no way decides. Classes are the connected names.
//!
//! Two names of a class are equal wherever both hold: values and versions of memory stand for the
//! same numbers at every point where they are defined, so that a pair does not depend on the point, and between two
//! members of a class that hold together all intermediate members hold, or only below both.
//!
//! Cost: O(pairs · edges into their joins), pairs being quadratic in a group. Limit: with more than
//! [`MAX_PAIRS`] pairs all names are different, with a remark.
//!
//! Source: R. Bodík, Path-sensitive value-flow optimizations of programs, 1999, section 2.3.3.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use hashbrown::HashMap;

use super::definitions::Latest;
use super::threads::{Above, Shape, Threads};
use crate::ir::Block;
use crate::names::Name;
use crate::trace::{Trace, ValueEvent, record_value_event};

/// Pairs of names that are compared, those included that never hold together.
pub const MAX_PAIRS: usize = 1 << 22;

/// A class of synonyms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(u32);
entity_impl!(Class, "class");

/// The classes of all names that are placed.
pub struct Classes {
    of: SecondaryMap<Name, Option<Class>>,
    members: PrimaryMap<Class, Vec<Name>>,
    /// Whether there were too many pairs to compare.
    pub is_limited: bool,
}

impl Classes {
    /// A class for each name.
    pub fn single(threads: &Threads) -> Classes {
        let mut classes = Classes { of: SecondaryMap::new(), members: PrimaryMap::new(), is_limited: false };
        threads.names().iter().for_each(|&name| classes.of[name] = Some(classes.members.push(Vec::from([name]))));
        classes
    }

    /// The classes of names that are equal on every way back, with an event for each pair that is found to differ.
    pub fn find(shape: Shape<'_>, threads: &Threads, trace: &mut dyn Trace) -> Classes {
        let mut comparison = Comparison { shape, threads, numbers: HashMap::new(), pairs: Vec::new() };
        if !comparison.add_groups() {
            return Classes { is_limited: true, ..Classes::single(threads) };
        }
        comparison.push_differences(trace);
        comparison.classes()
    }

    /// The class of a name that is placed.
    pub fn of(&self, name: Name) -> Option<Class> {
        self.of[name]
    }

    /// The names of a class, in the order of their visits.
    pub fn members(&self, class: Class) -> &[Name] {
        &self.members[class]
    }

    /// The name of a class that holds from the earliest point on, of those that hold before a place of a block.
    /// Constants are left out.
    pub fn first_name(
        &self,
        shape: Shape<'_>,
        threads: &Threads,
        class: Class,
        (block, place): (Block, u32),
    ) -> Option<(Name, Option<Latest>)> {
        let holding = self.members(class).iter().filter_map(|&name| {
            let thread = threads.of(name)?;
            let is_constant = thread.above == Above::Constant;
            (!is_constant && thread.holds_at(shape, block, place)).then_some((name, thread.latest))
        });
        holding.min_by_key(|&(_, latest)| latest)
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Are there no names?
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The classes, by their first names.
    pub fn iter(&self) -> impl Iterator<Item = (Class, &[Name])> {
        self.members.iter().map(|(class, names)| (class, names.as_slice()))
    }
}

/// Two names, the one with the lower number first.
type Names = (Name, Name);

/// Two names that are compared.
struct Pair {
    names: Names,
    differ: bool,
    /// Pairs that differ if this one does.
    dependents: Vec<u32>,
}

/// The comparison of names.
struct Comparison<'a> {
    shape: Shape<'a>,
    threads: &'a Threads,
    numbers: HashMap<Names, u32>,
    pairs: Vec<Pair>,
}

impl Comparison<'_> {
    /// Adds the pairs of each group, and those that they depend on. Returns false if there are too many.
    fn add_groups(&mut self) -> bool {
        let mut ends: SecondaryMap<Name, Option<Name>> = SecondaryMap::new();
        let mut groups: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
        for &name in self.threads.names() {
            groups.entry(self.end_of_first_way(name, &mut ends)).or_default().push(name);
        }
        let pairs = groups.values().map(|group| group.len() as u64 * (group.len() as u64 - 1) / 2);
        if pairs.sum::<u64>() > MAX_PAIRS as u64 {
            return false;
        }
        for group in groups.values() {
            for (index, &first) in group.iter().enumerate() {
                for &second in &group[index + 1..] {
                    if self.hold_together(first, second) {
                        self.pair(first, second);
                    }
                }
            }
        }
        let mut next = 0;
        while next < self.pairs.len() {
            self.add_dependences(next as u32);
            next += 1;
            if self.pairs.len() > MAX_PAIRS {
                return false;
            }
        }
        true
    }

    /// The name that a name is at the end of the way along first edges.
    fn end_of_first_way(&self, name: Name, ends: &mut SecondaryMap<Name, Option<Name>>) -> Name {
        let mut way = Vec::new();
        let mut at = name;
        let end = loop {
            if let Some(known) = ends[at] {
                break known;
            }
            way.push(at);
            match self.first_above(at) {
                Some(next) => at = next,
                None => break at,
            }
        };
        way.into_iter().for_each(|name| ends[name] = Some(end));
        end
    }

    /// The name above a name along the first edge that does not retreat.
    fn first_above(&self, name: Name) -> Option<Name> {
        match &self.threads.of(name)?.above {
            Above::Load(_, before) | Above::Store(_, before) => Some(*before),
            Above::Join(block, along) => {
                let cfg = self.shape.cfg;
                let first = self.shape.edges_into(*block).position(|edge| !cfg.is_retreating(edge))?;
                along[first].ok()
            }
            Above::Constant | Above::Value(_) | Above::Given | Above::End(_) => None,
        }
    }

    /// Is there a point where both names hold?
    fn hold_together(&self, first: Name, second: Name) -> bool {
        let dominators = self.shape.dominators;
        match (self.block(first), self.block(second)) {
            (Some(a), Some(b)) => dominators.dominates(a, b) || dominators.dominates(b, a),
            _ => true,
        }
    }

    /// The block of the latest definition in a name.
    fn block(&self, name: Name) -> Option<Block> {
        self.threads.of(name)?.latest.map(|latest| latest.block)
    }

    /// The number of a pair.
    fn pair(&mut self, first: Name, second: Name) -> u32 {
        let names = (first.min(second), first.max(second));
        let next = self.pairs.len() as u32;
        let number = *self.numbers.entry(names).or_insert(next);
        if number == next {
            self.pairs.push(Pair { names, differ: false, dependents: Vec::new() });
        }
        number
    }

    /// Adds the pairs that a pair depends on, or finds that its names differ.
    fn add_dependences(&mut self, pair: u32) {
        let (first, second) = self.pairs[pair as usize].names;
        let threads = self.threads;
        let (Some(a), Some(b)) = (threads.of(first), threads.of(second)) else {
            // Without a thread nothing is known above.
            self.pairs[pair as usize].differ = true;
            return;
        };
        // The later definition is above both names' other ones.
        let (moves_first, moves_second) = (a.latest >= b.latest, b.latest >= a.latest);
        let above = |name: Name, thread: &'_ super::threads::Thread, moves: bool, edge: usize| match &thread.above {
            _ if !moves => Some(name),
            Above::Load(_, before) | Above::Store(_, before) => Some(*before),
            Above::Join(_, along) => along[edge].ok(),
            Above::Constant | Above::Value(_) | Above::Given | Above::End(_) => None,
        };
        let later = if moves_first { a } else { b };
        let edges = if let Above::Join(_, along) = &later.above { along.len() } else { 1 };
        for edge in 0..edges {
            let names = (above(first, a, moves_first, edge), above(second, b, moves_second, edge));
            match names {
                (Some(first), Some(second)) if first == second => {}
                (Some(first), Some(second)) => {
                    let other = self.pair(first, second);
                    self.pairs[other as usize].dependents.push(pair);
                }
                _ => self.pairs[pair as usize].differ = true,
            }
        }
    }

    /// Marks the pairs that depend on pairs that differ.
    fn push_differences(&mut self, trace: &mut dyn Trace) {
        let mut work: Vec<u32> =
            (0..self.pairs.len() as u32).filter(|&pair| self.pairs[pair as usize].differ).collect();
        for &pair in &work {
            record_value_event(trace, || ValueEvent::Apart { names: self.pairs[pair as usize].names, because: None });
        }
        while let Some(pair) = work.pop() {
            for dependent in core::mem::take(&mut self.pairs[pair as usize].dependents) {
                if !core::mem::replace(&mut self.pairs[dependent as usize].differ, true) {
                    let because = Some(self.pairs[pair as usize].names);
                    record_value_event(trace, || ValueEvent::Apart {
                        names: self.pairs[dependent as usize].names,
                        because,
                    });
                    work.push(dependent);
                }
            }
        }
    }

    /// The classes of names that do not differ.
    fn classes(&self) -> Classes {
        let names = self.threads.names();
        let mut place: SecondaryMap<Name, u32> = SecondaryMap::new();
        names.iter().zip(0..).for_each(|(&name, index)| place[name] = index);
        let mut roots: Vec<u32> = (0..names.len() as u32).collect();
        for pair in self.pairs.iter().filter(|pair| !pair.differ) {
            let (first, second) = (find(&mut roots, place[pair.names.0]), find(&mut roots, place[pair.names.1]));
            roots[first.max(second) as usize] = first.min(second);
        }
        let mut classes = Classes { of: SecondaryMap::new(), members: PrimaryMap::new(), is_limited: false };
        let mut numbers = vec![None; names.len()];
        for (index, &name) in names.iter().enumerate() {
            let root = find(&mut roots, index as u32) as usize;
            let class = *numbers[root].get_or_insert_with(|| classes.members.push(Vec::new()));
            classes.members[class].push(name);
            classes.of[name] = Some(class);
        }
        classes
    }
}

/// The least name of a set, with the way there shortened.
fn find(roots: &mut [u32], mut name: u32) -> u32 {
    while roots[name as usize] != name {
        roots[name as usize] = roots[roots[name as usize] as usize];
        name = roots[name as usize];
    }
    name
}
