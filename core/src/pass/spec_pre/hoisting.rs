//! How far an evaluation may be brought forward, and where it ends up.
//!
//! ```text
//! 2: x + y ─▶ 6 ─▶ 7: x + y       hoisted to the entry of 7; to the exit of 6 only if speculation is enabled there,
//! as 8 does 3        ─▶┘ └─▶ 8              not need it. From the entry of 6 it goes on to 2, where it is available,
//! and to 3, in which
//!                                 it stands then; 7 evaluates nothing any more
//! ```
//!
//! The region of an expression are the nodes to which its value comes on some way (it is *partially available*) and
//! from which a way leads on to an evaluation (it is *partially anticipated*), with nothing in between that changes
//! it. Only there can anything be redundant. In it an evaluation is *hoisted* to an exit if all ways on need it, or
//! one does and speculation is enabled; the greatest solution, so that it may be hoisted out of loops. It stops where
//! the value is available on all ways, where something changes it, and at splits that are not enabled. Branches that
//! may go back are never enabled.
//!
//! From there it is *delayed* again as far as that evaluates it no more often, so that what gains nothing stays where
//! it is and values live no longer than they have to. Where it is delayed to the end of a block and no further, it is
//! inserted; where it is delayed to an evaluation, that stays; all other evaluations read the value.
//!
//! Sound: on every way to an evaluation that goes, the value has been evaluated since an operand was last written, by
//! one that stays or by one that is inserted. Without speculation nothing is inserted where it would not be evaluated
//! anyway.
//!
//! Linear in the region, for which [`MOST_NODES`] nodes are looked at at most. In a large function most searches that
//! come to that limit are seen to before they begin ([`Spans`]).
//!
//! Source: J. Knoop, O. Rüthing and B. Steffen, Lazy code motion, 1992; R. Gupta, D. Berson and J. Z. Fang, Path
//! profile guided partial dead code elimination using predication, 1997, section 3: enabling speculation at a
//! conditional node.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Range, RangeInclusive};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, entity_impl};

use super::expressions::{Expression, Expressions, Site};
use super::spans::Spans;
use crate::ir::Inst;
use crate::pass::support::path_guided::memory::Memory;
use crate::pass::support::path_guided::nodes::{Node, Nodes};

/// Nodes that are looked at for one expression.
const MOST_NODES: usize = 4096;

/// Nodes in whose place as few as these are looked at to see that what is told of a search ahead is what it comes to.
#[cfg(debug_assertions)]
const MOST_NODES_OF_TRIALS: usize = 12;

/// The place of a member among those of its region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MemberId(u32);

entity_impl!(MemberId);

/// A node of a region. There are many, so they are small.
#[derive(Debug)]
pub(super) struct Member {
    /// The node.
    pub node: Node,
    /// Evaluation before it changes.
    pub first: Option<Inst>,
    /// Last evaluation, with no change after it.
    pub last: Option<Inst>,
    /// Does nothing in it change the value?
    pub is_transparent: bool,
    /// May an evaluation at its entry be redundant? Not so where the value never comes to.
    pub is_reached: bool,
    /// Does the value come to its entry on all ways?
    pub is_available: bool,
    /// Range of the predecessors and successors in the list.
    before: Range<u32>,
    next: Range<u32>,
    /// May speculation be enabled: at a branch forward, with nothing in the way?
    pub is_split: bool,
}

impl Member {
    /// Does its exit have the value on all ways?
    fn leaves_available(&self) -> bool {
        self.last.is_some() || self.is_reached && self.is_transparent && self.is_available
    }

    /// Can an evaluation go from its exit to its entry?
    fn is_free(&self) -> bool {
        self.is_reached && self.is_transparent && self.last.is_none()
    }
}

/// See the file's head. Members are in the order of their nodes, in which only edges that go back lead to an earlier
/// one.
#[derive(Debug)]
pub(super) struct Region {
    pub members: Vec<Member>,
    /// The nodes that come before each, with the members that they are.
    before: Vec<(u32, PackedOption<MemberId>)>,
    /// Successors.
    next: Vec<PackedOption<MemberId>>,
}

/// Region in which an expression may be redundant.
pub(super) enum Around {
    /// Nowhere.
    Nothing,
    /// There is too much to look at.
    TooMuch,
    /// In these regions, which have nothing to do with each other.
    Regions(Vec<Region>),
}

/// Shape of a function's nodes for hoisting, whatever the expression.
pub(super) struct Shape {
    /// Part of each node: from it on control reaches only nodes whose part is as late or later; equal within a cycle.
    part: Vec<u32>,
    /// Part of each node, if insertions are possible at the ends of its predecessors; else [`NONE`].
    open_part: Vec<u32>,
    /// Whether a path leads from each node to an end of the function.
    ends: Vec<bool>,
    /// Whether each node is a forward branch.
    is_split: Vec<bool>,
    /// Spans at which searches reach the limit.
    spans: Option<Spans>,
    /// Spans for a much lower limit.
    #[cfg(debug_assertions)]
    trial: Spans,
}

/// Buffers that a search reuses for the next.
pub(super) struct Places {
    /// Mark of each node.
    marks: Vec<Mark>,
    /// Marks from this number on are of this search.
    base: u32,
    /// The nodes that have been found.
    found: Vec<u32>,
    /// Room for a bit for each node, none of which is set.
    bits: Vec<u64>,
}

/// Knowledge of a node in a search. Its parts are stored together, because the search reads so many.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// Its place among those found, counted from the search's number.
    number: u32,
    is_transparent: bool,
    is_reached: bool,
    /// Does a way lead from its entry to an evaluation?
    is_wanted: bool,
    /// Does it evaluate the value so that its exit has it?
    has_last: bool,
}

impl Mark {
    /// Does the value come to its entry on some way, and is it wanted there?
    fn is_inside(&self) -> bool {
        self.is_reached && self.is_wanted
    }
}

/// For each of those found another one of the same region, or itself.
struct Roots(Vec<u32>);

impl Roots {
    fn root(&mut self, mut place: usize) -> usize {
        while self.0[place] as usize != place {
            let above = self.0[place] as usize;
            self.0[place] = self.0[above];
            place = above;
        }
        place
    }

    /// The first of two regions stands for both.
    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other) as u32;
    }
}

/// Not found.
const NONE: u32 = u32::MAX;

/// Places that an evaluation is hoisted to, by member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hoisted {
    pub entry: Vec<bool>,
    pub exit: Vec<bool>,
}

/// Contribution of an edge into a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// The value.
    Available(usize),
    /// Hoisting continues.
    Hoisted(usize),
    /// Nothing: here hoisting ends.
    End,
}

/// Final places of evaluations.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    /// Nodes at whose ends one is inserted.
    pub inserted: Vec<Node>,
    /// Members whose first evaluation stays.
    pub staying: Vec<usize>,
    /// Members whose first evaluation reads the value instead.
    pub replaced: Vec<usize>,
    /// Members whose last evaluation is read there.
    pub sources: Vec<usize>,
}

impl Shape {
    /// Computes the shape of the nodes; `has_room` says at the end of which blocks insertions are possible.
    pub fn of(nodes: &Nodes, has_room: impl Fn(Node) -> bool) -> Shape {
        let count = nodes.len();
        let has_room_before =
            |node: Node| !nodes.is_entry(node) && nodes.predecessors(node).iter().all(|&it| has_room(it));
        let mut ends = vec![false; count];
        let mut work: Vec<Node> = (0..count).filter(|&node| nodes.successors(node).is_empty()).collect();
        while let Some(node) = work.pop() {
            if !core::mem::replace(&mut ends[node], true) {
                work.extend(nodes.predecessors(node));
            }
        }
        let part = parts(nodes);
        let open_part = part.iter().enumerate().map(|(node, &part)| if has_room_before(node) { part } else { NONE });
        let open_part: Vec<u32> = open_part.collect();
        let goes_on = |node: Node, beside: Node| open_part[node] == part[beside] && ends[node];
        let is_split = |node: Node| {
            let successors = nodes.successors(node);
            successors.len() > 1 && !successors.iter().any(|&next| Nodes::goes_back(node, next))
        };
        Shape {
            is_split: (0..count).map(is_split).collect(),
            // What a smaller function has in all is not too much.
            spans: (count > MOST_NODES).then(|| Spans::of(nodes, goes_on, MOST_NODES)),
            #[cfg(debug_assertions)]
            trial: Spans::of(nodes, goes_on, MOST_NODES_OF_TRIALS),
            open_part,
            part,
            ends,
        }
    }

    /// The parts from where something is evaluated first to where it is last; none if that is nowhere redundant.
    fn parts_between(&self, sites: &[Site]) -> Option<RangeInclusive<u32>> {
        let part = |site: &Site| self.part[site.node];
        let last = sites.iter().filter(|site| site.first.is_some()).map(part).max();
        let first = sites.iter().filter(|site| site.last.is_some()).map(part).min();
        Some(first?..=last?).filter(|parts| !parts.is_empty())
    }
}

impl Places {
    /// For that many nodes.
    pub fn new(nodes: &Nodes) -> Places {
        let bits = vec![0; nodes.len().div_ceil(u64::BITS as usize)];
        Places { marks: vec![Mark::default(); nodes.len()], base: 1, found: Vec::new(), bits }
    }

    /// The place of a node among those found.
    fn get(&self, node: Node) -> Option<usize> {
        self.marks[node].number.checked_sub(self.base).map(|place| place as usize)
    }

    /// Enters a node that the search has found; `is_transparent` is called where it has not been before.
    fn enter(&mut self, node: Node, is_transparent: impl Fn(Node) -> bool) -> &mut Mark {
        let mark = &mut self.marks[node];
        if mark.number < self.base {
            let number = self.base + self.found.len() as u32;
            self.found.push(node as u32);
            *mark = Mark { number, is_transparent: is_transparent(node), ..Mark::default() };
        }
        mark
    }

    fn node(&self, place: usize) -> Node {
        self.found[place] as Node
    }

    fn mark(&self, place: usize) -> &Mark {
        &self.marks[self.node(place)]
    }

    /// Finds where the value of an expression comes to and where it is wanted. Gives up when there are more than so
    /// many nodes; tells whether it did not.
    fn search(
        &mut self,
        nodes: &Nodes,
        shape: &Shape,
        (expressions, memory): (&Expressions, &Memory),
        expression: &Expression,
        is_between: impl Fn(Node) -> bool,
        most: usize,
    ) -> bool {
        self.clear();
        let is_transparent = {
            let is_transparent = expressions.transparency(memory, expression);
            move |node: Node| shape.ends[node] && is_transparent(node)
        };
        // Forward with the value, and backward from where it is wanted, in turn: whichever comes to its end first,
        // the other only has to look where that has been.
        let (mut ahead, mut back): (Vec<Node>, Vec<Node>) = Default::default();
        for &Site { node, first, last } in &expression.sites {
            let mark = self.enter(node, &is_transparent);
            mark.has_last = last.is_some();
            mark.is_wanted = first.is_some() && is_between(node);
            ahead.extend(mark.has_last.then_some(node));
            back.extend(mark.is_wanted.then_some(node));
        }
        let mut only_wanted = false;
        let mut only_reached = false;
        loop {
            only_wanted |= back.is_empty();
            if let Some(node) = ahead.pop() {
                for &next in nodes.successors(node).iter().filter(|&&next| is_between(next)) {
                    let mark = self.enter(next, &is_transparent);
                    let is_new = !mark.is_reached && (mark.is_wanted || !only_wanted);
                    mark.is_reached |= is_new;
                    if is_new && mark.is_transparent && !mark.has_last {
                        ahead.push(next);
                    }
                }
            }
            only_reached |= ahead.is_empty();
            if let Some(node) = back.pop() {
                if only_reached && !self.marks[node].is_reached {
                    continue;
                }
                for &before in nodes.predecessors(node).iter().filter(|&&before| is_between(before)) {
                    let mark = self.enter(before, &is_transparent);
                    if mark.is_transparent && !core::mem::replace(&mut mark.is_wanted, true) {
                        back.push(before);
                    }
                }
            }
            if ahead.is_empty() && back.is_empty() {
                return true;
            }
            if self.found.len() > most {
                return false;
            }
        }
    }

    /// Places in the order of their nodes, each once.
    fn in_order(&mut self, mut places: Vec<usize>) -> Vec<usize> {
        let word_of = |node: Node| node / u64::BITS as usize;
        let words = places.iter().map(|&place| word_of(self.node(place)));
        let (Some(first), Some(last)) = (words.clone().min(), words.max()) else { return places };
        if last - first > places.len() {
            // They lie far from each other.
            places.sort_unstable_by_key(|&place| self.found[place]);
            places.dedup();
            return places;
        }
        for place in places.drain(..) {
            let node = self.node(place);
            self.bits[word_of(node)] |= 1 << (node % u64::BITS as usize);
        }
        for word in first..=last {
            let mut bits = core::mem::take(&mut self.bits[word]);
            while bits != 0 {
                let node = word * u64::BITS as usize + bits.trailing_zeros() as usize;
                places.extend(self.get(node));
                bits &= bits - 1;
            }
        }
        places
    }

    fn clear(&mut self) {
        // What one search finds is no more than all nodes.
        let most = self.marks.len() as u32;
        self.base += self.found.len() as u32;
        if self.base > u32::MAX - most {
            self.marks.fill(Mark::default());
            self.base = 1;
        }
        self.found.clear();
    }
}

impl Around {
    /// Computes the region in which an expression is redundant.
    pub fn of(
        nodes: &Nodes,
        shape: &Shape,
        (expressions, memory): (&Expressions, &Memory),
        expression: &Expression,
        places: &mut Places,
    ) -> Around {
        let Some(parts) = shape.parts_between(&expression.sites) else { return Around::Nothing };
        let (first_part, later) = (*parts.start(), parts.end() - parts.start());
        let is_between = |node: Node| shape.open_part[node].wrapping_sub(first_part) <= later;
        let is_open = |node: Node| is_between(node) && shape.ends[node];
        let is_too_long = |spans: &Spans| spans.are_too_long(nodes, expressions, expression, is_open);
        let mut search = |most: usize| places.search(nodes, shape, (expressions, memory), expression, is_between, most);
        #[cfg(debug_assertions)]
        assert!(!is_too_long(&shape.trial) || !search(MOST_NODES_OF_TRIALS), "this search does come to its end");
        if shape.spans.as_ref().is_some_and(is_too_long) || !search(MOST_NODES) {
            return Around::TooMuch;
        }
        let may_be_redundant = |site: &Site| site.first.is_some() && places.marks[site.node].is_inside();
        if !expression.sites.iter().any(may_be_redundant) {
            return Around::Nothing;
        }
        let is_inside = |&place: &usize| places.mark(place).is_inside();
        let mut members: Vec<usize> = (0..places.found.len()).filter(is_inside).collect();
        let mut roots = Roots((0..places.found.len() as u32).collect());
        for index in 0..members.len() {
            let place = members[index];
            for &before in nodes.predecessors(places.node(place)) {
                let Some(other) = places.get(before) else { continue };
                let mark = &places.marks[before];
                if !(mark.has_last || mark.is_inside() && mark.is_transparent) {
                    continue;
                }
                if !mark.is_inside() {
                    members.push(other);
                }
                roots.unite(place, other);
            }
        }
        let members = places.in_order(members);
        // By node, so that the regions are in the order of their first ones.
        let mut regions: Vec<Vec<usize>> = Vec::new();
        let (mut region_of, mut number_of) = (vec![NONE; places.found.len()], vec![NONE; places.found.len()]);
        for place in members {
            let region = &mut region_of[roots.root(place)];
            if *region == NONE {
                *region = regions.len() as u32;
                regions.push(Vec::new());
            }
            let list = &mut regions[*region as usize];
            number_of[place] = list.len() as u32;
            list.push(place);
        }
        let of = |list: &Vec<usize>| {
            // A node that ends one region and begins another belongs to one of them only.
            let member_of = |node: Node| {
                let place = places.get(node)?;
                let number = Some(number_of[place]).filter(|&number| number != NONE)? as usize;
                (list.get(number) == Some(&place)).then_some(number)
            };
            let found = list.iter().map(|&place| (places.node(place), places.mark(place)));
            Region::of((nodes, shape), expression, found, member_of)
        };
        let regions = regions.iter().map(of).collect();
        Around::Regions(regions)
    }
}

impl Region {
    fn of<'a>(
        (nodes, shape): (&Nodes, &Shape),
        expression: &Expression,
        found: impl ExactSizeIterator<Item = (Node, &'a Mark)>,
        member_of: impl Fn(Node) -> Option<usize>,
    ) -> Region {
        let id_of = |node: Node| member_of(node).map(MemberId::new).into();
        let count = found.len();
        let mut region = Region {
            members: Vec::with_capacity(count),
            // Most have one or two.
            before: Vec::with_capacity(2 * count),
            next: Vec::with_capacity(2 * count),
        };
        for (node, mark) in found {
            let (is_reached, is_transparent) = (mark.is_inside(), mark.is_transparent);
            let is_free = is_reached && is_transparent && !mark.has_last;
            let before = nodes.predecessors(node).iter().map(|&before| (before as u32, id_of(before)));
            let next = nodes.successors(node).iter().map(|&next| id_of(next));
            region.members.push(Member {
                node,
                first: None,
                last: None,
                is_transparent,
                is_reached,
                is_available: is_reached,
                before: append(&mut region.before, before),
                next: append(&mut region.next, next),
                is_split: is_free && shape.is_split[node],
            });
        }
        for &Site { node, first, last } in &expression.sites {
            if let Some(place) = member_of(node) {
                (region.members[place].first, region.members[place].last) = (first, last);
            }
        }
        region.find_available();
        region
    }

    /// The nodes that come before a member, with the members that they are.
    fn before(&self, place: usize) -> impl Iterator<Item = (Node, Option<usize>)> + '_ {
        let Range { start, end } = self.members[place].before;
        let of = |&(node, member): &(u32, PackedOption<MemberId>)| (node as Node, place_of(member));
        self.before[start as usize..end as usize].iter().map(of)
    }

    /// The members that come next; none for a node outside, where it is not needed.
    pub fn next(&self, place: usize) -> impl Iterator<Item = Option<usize>> + '_ {
        let Range { start, end } = self.members[place].next;
        self.next[start as usize..end as usize].iter().map(|&member| place_of(member))
    }

    /// Does a node come before a member?
    fn comes_before(&self, node: Node, place: usize) -> bool {
        self.before(place).any(|(before, _)| before == node)
    }

    /// Has hoisting end behind a node, at whose end nothing can be inserted.
    pub fn close_behind(&mut self, node: Node) {
        for place in 0..self.members.len() {
            if self.comes_before(node, place) {
                self.members[place].is_reached = false;
                self.members[place].is_split = false;
            }
        }
        self.members.iter_mut().for_each(|member| member.is_available = member.is_reached);
        self.find_available();
    }

    /// Which entries have the value on all ways: all, but for those to which one comes without it.
    fn find_available(&mut self) {
        let mut work: Vec<usize> = (0..self.members.len()).rev().collect();
        while let Some(place) = work.pop() {
            let member = &self.members[place];
            let comes =
                |(_, before): (Node, Option<usize>)| before.is_some_and(|it| self.members[it].leaves_available());
            if !member.is_available || self.before(place).all(comes) {
                continue;
            }
            let member = &mut self.members[place];
            member.is_available = false;
            if member.is_free() {
                work.extend(self.next(place).flatten());
            }
        }
    }

    /// Places that an evaluation is hoisted to if it may pass the enabled splits: everywhere, except what is removed.
    pub fn hoisted(&self, enabled: &[bool]) -> Hoisted {
        let count = self.members.len();
        let mut hoisted = Hoisted { entry: vec![true; count], exit: vec![true; count] };
        // Taken from the end, so that what comes last is looked at first.
        let mut work: Vec<usize> = (0..count).collect();
        let mut is_waiting = vec![true; count];
        while let Some(place) = work.pop() {
            is_waiting[place] = false;
            let member = &self.members[place];
            let needs = |next: Option<usize>| next.is_some_and(|next| hoisted.entry[next]);
            let exit = !member.next.is_empty()
                && (self.next(place).all(needs) || enabled[place] && self.next(place).any(needs));
            let passes = exit && member.is_free() && !member.is_available;
            let entry = member.is_reached && (member.first.is_some() || passes);
            hoisted.exit[place] = exit;
            if core::mem::replace(&mut hoisted.entry[place], entry) != entry {
                for (_, before) in self.before(place) {
                    if let Some(before) = before.filter(|&before| !is_waiting[before]) {
                        is_waiting[before] = true;
                        work.push(before);
                    }
                }
            }
        }
        hoisted
    }

    /// Contributions of the edges into a member.
    pub fn ways<'a>(&'a self, hoisted: &'a Hoisted, place: usize) -> impl Iterator<Item = (Node, Way)> + 'a {
        self.before(place).map(|(node, before)| {
            let way = match before {
                Some(before) if self.members[before].leaves_available() => Way::Available(before),
                Some(before) if self.members[before].is_free() && hoisted.exit[before] => Way::Hoisted(before),
                _ => Way::End,
            };
            (node, way)
        })
    }

    /// Places of evaluations that have been hoisted so far.
    pub fn placement(&self, hoisted: &Hoisted) -> Placement {
        let count = self.members.len();
        // Where nothing has to be evaluated yet: everywhere, but for what has to be taken away.
        let mut delayed = hoisted.entry.clone();
        let mut work: Vec<usize> = (0..count).rev().filter(|&place| delayed[place]).collect();
        while let Some(place) = work.pop() {
            let is_later = |(_, way): (Node, Way)| match way {
                Way::Available(_) => false,
                Way::Hoisted(before) => delayed[before],
                Way::End => true,
            };
            if !delayed[place] || self.ways(hoisted, place).all(is_later) {
                continue;
            }
            delayed[place] = false;
            if self.members[place].first.is_none() {
                work.extend(self.next(place).flatten().filter(|&next| delayed[next]));
            }
        }
        let mut placement =
            Placement { inserted: Vec::new(), staying: Vec::new(), replaced: Vec::new(), sources: Vec::new() };
        let mut is_source = vec![false; count];
        let mut work: Vec<usize> = Vec::new();
        for place in (0..count).filter(|&place| hoisted.entry[place]) {
            let is_evaluated = self.members[place].first.is_some();
            match (is_evaluated, delayed[place]) {
                (true, true) => placement.staying.push(place),
                (true, false) => placement.replaced.push(place),
                _ => {}
            }
            if delayed[place] {
                continue;
            }
            for (node, way) in self.ways(hoisted, place) {
                match way {
                    Way::Available(before) => work.push(before),
                    Way::Hoisted(before) if !delayed[before] => {}
                    // It has no other way on: edges from branches to joins are nodes themselves.
                    _ => placement.inserted.push(node),
                }
            }
        }
        while let Some(place) = work.pop() {
            if !core::mem::replace(&mut is_source[place], true) && self.members[place].last.is_none() {
                work.extend(self.before(place).filter_map(|(_, before)| before));
            }
        }
        placement.inserted.sort_unstable();
        placement.inserted.dedup();
        let is_kept = |&place: &usize| {
            let member = &self.members[place];
            let is_replaced = member.first == member.last && placement.replaced.binary_search(&place).is_ok();
            is_source[place] && member.last.is_some() && !is_replaced
        };
        placement.sources = (0..count).filter(is_kept).collect();
        placement
    }

    /// The nodes of evaluations that may be redundant.
    pub fn redundant_evaluations(&self) -> impl Iterator<Item = Node> + '_ {
        self.members.iter().filter(|member| member.is_reached && member.first.is_some()).map(|member| member.node)
    }

    /// The nodes of evaluations that are made in any case, and whose values others may read.
    pub fn kept_evaluations(&self) -> impl Iterator<Item = Node> + '_ {
        let is_kept = |member: &&Member| member.last.is_some() && !(member.is_reached && member.first == member.last);
        self.members.iter().filter(is_kept).map(|member| member.node)
    }

    /// Is an evaluation hoisted to all ways that lead on from a node?
    pub fn needs_behind(&self, hoisted: &Hoisted, node: Node) -> bool {
        // What is inserted at a node has one way on, whether the node is a member or not.
        (0..self.members.len()).any(|place| self.comes_before(node, place) && hoisted.entry[place])
    }

    /// Is there a branch ahead of which speculation would make something redundant?
    pub fn could_speculate(&self) -> bool {
        if !self.members.iter().any(|member| member.is_split) {
            return false;
        }
        let always = self.hoisted(&vec![false; self.members.len()]);
        let is_open = |&place: &usize| self.members[place].is_split && !always.exit[place];
        let open: Vec<usize> = (0..self.members.len()).filter(is_open).collect();
        !open.is_empty() && {
            let leads = self.leading_to_available();
            open.iter().any(|&place| leads[place])
        }
    }

    /// To which members could a hoisted evaluation come on its way to where the value is available, if it may pass
    /// all splits?
    pub fn leading_to_available(&self) -> Vec<bool> {
        let splits: Vec<bool> = self.members.iter().map(|member| member.is_split).collect();
        let hoisted = self.hoisted(&splits);
        let mut leads = vec![false; self.members.len()];
        let is_available = |&place: &usize| {
            hoisted.entry[place] && self.ways(&hoisted, place).any(|(_, way)| matches!(way, Way::Available(_)))
        };
        let mut work: Vec<usize> = (0..leads.len()).filter(is_available).collect();
        while let Some(place) = work.pop() {
            if hoisted.entry[place] && !core::mem::replace(&mut leads[place], true) && self.members[place].is_free() {
                work.extend(self.next(place).flatten());
            }
        }
        leads
    }
}

fn place_of(member: PackedOption<MemberId>) -> Option<usize> {
    member.expand().map(EntityRef::index)
}

/// Appends to the list, and returns the range.
fn append<T>(list: &mut Vec<T>, more: impl Iterator<Item = T>) -> Range<u32> {
    let start = list.len() as u32;
    list.extend(more);
    start..list.len() as u32
}

/// Parts of the nodes: numbers that only rise along edges, equal within a cycle. (R. Tarjan, Depth-first search and
/// linear graph algorithms, 1972.)
fn parts(nodes: &Nodes) -> Vec<u32> {
    let count = nodes.len();
    let (mut number, mut low, mut part) = (vec![NONE; count], vec![NONE; count], vec![NONE; count]);
    let (mut found, mut parts) = (0, 0);
    let mut open: Vec<Node> = Vec::new();
    // Nodes that are being looked at, each with the successor that comes next.
    let mut stack: Vec<(Node, usize)> = Vec::new();
    for &entry in nodes.entries() {
        if number[entry] == NONE {
            (number[entry], low[entry]) = (found, found);
            found += 1;
            open.push(entry);
            stack.push((entry, 0));
        }
        while let Some((node, next)) = stack.last_mut() {
            let node = *node;
            if let Some(&to) = nodes.successors(node).get(*next) {
                *next += 1;
                if number[to] == NONE {
                    (number[to], low[to]) = (found, found);
                    found += 1;
                    open.push(to);
                    stack.push((to, 0));
                } else if part[to] == NONE {
                    low[node] = low[node].min(number[to]);
                }
                continue;
            }
            stack.pop();
            if let Some(&(above, _)) = stack.last() {
                low[above] = low[above].min(low[node]);
            }
            if low[node] == number[node] {
                while let Some(inside) = open.pop() {
                    part[inside] = parts;
                    if inside == node {
                        break;
                    }
                }
                parts += 1;
            }
        }
    }
    // They are found from the last to the first.
    part.iter_mut().for_each(|part| *part = parts - 1 - *part);
    part
}
