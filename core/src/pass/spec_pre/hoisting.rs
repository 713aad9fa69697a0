//! How far an evaluation may be brought forward, and where it ends up.
//!
//! ```text
//! 2: x + y ─▶ 6 ─▶ 7: x + y       hoisted to the entry of 7; to the exit of 6 only if speculation is enabled there, as 8 does
//! 3        ─▶┘ └─▶ 8              not need it. From the entry of 6 it goes on to 2, where it is available, and to 3, in which
//!                                 it stands then; 7 evaluates nothing any more
//! ```
//!
//! The region of an expression are the nodes to which its value comes on some way (it is *partially available*) and from
//! which a way leads on to an evaluation (it is *partially anticipated*), with nothing in between that changes it. Only there
//! can anything be redundant. In it an evaluation is *hoisted* to an exit if all ways on need it, or one does and speculation
//! is enabled; the greatest solution, so that it may be hoisted out of loops. It stops where the value is available on all
//! ways, where something changes it, and at splits that are not enabled. Branches that may go back are never enabled.
//!
//! From there it is *delayed* again as far as that evaluates it no more often, so that what gains nothing stays where it is and
//! values live no longer than they have to. Where it is delayed to the end of a block and no further, it is inserted;
//! where it is delayed to an evaluation, that stays; all other evaluations read the value.
//!
//! Sound: on every way to an evaluation that goes, the value has been evaluated since an operand was last written, by one
//! that stays or by one that is inserted. Without speculation nothing is inserted where it would not be evaluated anyway.
//!
//! Linear in the region, for which [`MOST_NODES`] nodes are looked at at most. In a large function most searches that come to
//! that limit are seen to before they begin ([`Spans`]).
//!
//! Source: J. Knoop, O. Rüthing and B. Steffen, Lazy code motion, 1992; R. Gupta, D. Berson and J. Z. Fang, Path profile
//! guided partial dead code elimination using predication, 1997, section 3: enabling speculation at a conditional node.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::expressions::{Expression, Expressions, Site};
use crate::ir::Inst;
use crate::pass::path_guided::memory::Memory;
use crate::pass::path_guided::nodes::{Node, Nodes};

/// Nodes that are looked at for one expression.
const MOST_NODES: usize = 4096;

/// Nodes near to where a search begins that are asked how far it goes from there.
const MOST_NEAR: usize = 16;

/// A node of a region.
#[derive(Debug)]
pub(super) struct Member {
    /// The node.
    pub node: Node,
    /// What evaluates it before it changes.
    pub first: Option<Inst>,
    /// What evaluates it last, with nothing behind that changes it.
    pub last: Option<Inst>,
    /// Does nothing in it change the value?
    pub is_transparent: bool,
    /// May an evaluation at its entry be redundant? Not so where the value never comes to.
    pub is_reached: bool,
    /// Does the value come to its entry on all ways?
    pub is_available: bool,
    /// The nodes that come before, with the members that they are.
    pub before: SmallVec<[(Node, Option<usize>); 2]>,
    /// Members that come next; none for a node outside, where it is not needed.
    pub next: SmallVec<[Option<usize>; 2]>,
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

/// See the file's head. Members are in the order of their nodes, in which only edges that go back lead to an earlier one.
#[derive(Debug)]
pub(super) struct Region {
    pub members: Vec<Member>,
}

/// Where an expression may be redundant.
pub(super) enum Around {
    /// Nowhere.
    Nothing,
    /// There is too much to look at.
    TooMuch,
    /// In these regions, which have nothing to do with each other.
    Regions(Vec<Region>),
}

/// What a function's nodes are to hoisting, whatever the expression.
pub(super) struct Shape {
    /// By node: from it on control comes only to nodes whose part is as late or later; equal within a cycle.
    part: Vec<u32>,
    /// By node: its part, if something may be put at the ends of what comes before it; else [`NONE`].
    open_part: Vec<u32>,
    /// By node: does a way lead to an end of the function?
    ends: Vec<bool>,
    /// Where searches may come to the limit.
    spans: Option<Spans>,
}

/// Where a search goes far, as long as nothing writes an operand nearby.
///
/// ```text
/// 3 ─▶ 4 ─▶ 5 ─▶ 6 ─▶ 7      ahead of 3, 4 to 7 are reached, as each has a way from another one of 3 to 6: all of them are
///      ╰─────────▶╯          found for an expression whose operands none of them writes
/// ```
///
/// A search goes forward and backward in turn, each as far as it can while the other has not come to its end. Where both go
/// further than [`MOST_NODES`] nodes, that many are found before either comes to its end, so that the search is refused: then it
/// need not be made.
struct Spans {
    /// By node: a search goes far ahead if none of the nodes behind it up to that one writes an operand; [`NONE`] where
    /// that is not known.
    ahead: Vec<u32>,
    /// By node: a search goes far back if none of the nodes before it from that one on writes an operand; [`NONE`] where
    /// that is not known.
    back: Vec<u32>,
}

/// What a search keeps for the next.
pub(super) struct Places {
    /// By node: its place among those found, counted from `base`; below that it is one of an earlier search.
    of: Vec<u32>,
    base: u32,
    found: Vec<Found>,
    /// Room for a bit for each node, none of which is set.
    bits: Vec<u64>,
}

/// A node that has been found. There are many, so they are small.
struct Found {
    node: u32,
    first: PackedOption<Inst>,
    last: PackedOption<Inst>,
    is_transparent: bool,
    is_reached: bool,
    /// Does a way lead from its entry to an evaluation?
    is_wanted: bool,
    /// For the regions: another one of the same, or itself.
    root: u32,
}

impl Found {
    /// Does the value come to its entry on some way, and is it wanted there?
    fn is_inside(&self) -> bool {
        self.is_reached && self.is_wanted
    }

    fn node(&self) -> Node {
        self.node as Node
    }
}

/// Not found.
const NONE: u32 = u32::MAX;

/// Where an evaluation is hoisted to, by member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hoisted {
    pub entry: Vec<bool>,
    pub exit: Vec<bool>,
}

/// What an edge into a member brings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// The value.
    Available(usize),
    /// What is hoisted further.
    Hoisted(usize),
    /// Nothing: here hoisting ends.
    End,
}

/// Where evaluations stand in the end.
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
    /// Of the nodes; `has_room` tells which blocks something can be put at the end of.
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
        let mut shape = Shape { open_part: open_part.collect(), part, ends, spans: None };
        // What a smaller function has in all is not too much.
        shape.spans = (count > MOST_NODES).then(|| Spans::of(nodes, &shape));
        shape
    }

    /// Does a search that comes to a node beside another one come to this one too, as far as the expression does not matter?
    fn goes_on(&self, node: Node, beside: Node) -> bool {
        self.open_part[node] == self.part[beside] && self.ends[node]
    }
}

impl Spans {
    fn of(nodes: &Nodes, shape: &Shape) -> Spans {
        let count = nodes.len();
        let most_at_once = |node: Node| nodes.successors(node).len().max(nodes.predecessors(node).len());
        // One step finds several, and the last of them may come to the end.
        let far = MOST_NODES + (0..count).map(most_at_once).max().unwrap_or(0) + 1;
        Spans { ahead: far_ahead(nodes, shape, far), back: far_back(nodes, shape, far) }
    }
}

/// By node: so many nodes on, if each of those between has a way from another one or from it.
fn far_ahead(nodes: &Nodes, shape: &Shape, far: usize) -> Vec<u32> {
    let count = nodes.len();
    let mut ahead = vec![NONE; count];
    // From which all are reached so far.
    let mut open: Vec<Node> = Vec::new();
    for node in 0..=count {
        let goes_on = node > 0 && node < count && shape.goes_on(node, node - 1);
        let before = if goes_on { nodes.predecessors(node) } else { &[] };
        let nearest = before.iter().copied().filter(|&before| before < node).max();
        while let Some(from) = open.pop_if(|from| nearest.is_none_or(|nearest| *from > nearest)) {
            if from + far < node {
                ahead[from] = (from + far) as u32;
            }
        }
        open.push(node);
    }
    ahead
}

/// By node: so many nodes before, if each of those between leads to another one or to it. What leads back only counts where it
/// leads to one of those that lead on, so that the nodes between begin there at the latest.
fn far_back(nodes: &Nodes, shape: &Shape, far: usize) -> Vec<u32> {
    let count = nodes.len();
    let leads_on = |node: Node| nodes.successors(node).iter().any(|&next| next > node);
    let turns_to = |node: Node| {
        let back = nodes.successors(node).iter().copied().filter(|&next| next < node && leads_on(next));
        back.max().filter(|_| !leads_on(node))
    };
    let mut first = vec![0; count];
    // To which all lead so far.
    let mut open: Vec<Node> = Vec::new();
    for node in (0..count).rev() {
        let goes_on = node + 1 < count && shape.goes_on(node, node + 1);
        if !goes_on || turns_to(node).is_none() {
            let next = if goes_on { nodes.successors(node) } else { &[] };
            let nearest = next.iter().copied().filter(|&next| next > node && leads_on(next)).min();
            while let Some(to) = open.pop_if(|to| nearest.is_none_or(|nearest| *to < nearest)) {
                first[to] = node + 1;
            }
        }
        open.push(node);
    }
    let mut back = vec![NONE; count];
    // Among the last so many nodes those that lead back only, and to where, without those behind which one leads further.
    let mut turning: VecDeque<(Node, Node)> = VecDeque::new();
    for node in 0..count {
        while turning.pop_front_if(|(from, _)| *from + far < node).is_some() {}
        if node >= far {
            let lowest = turning.front().map_or(node - far, |&(_, to)| to.min(node - far));
            if first[node] <= lowest {
                back[node] = lowest as u32;
            }
        }
        if let Some(to) = turns_to(node) {
            while turning.pop_back_if(|(_, other)| *other >= to).is_some() {}
            turning.push_back((node, to));
        }
    }
    back
}

impl Places {
    /// For that many nodes.
    pub fn new(nodes: &Nodes) -> Places {
        let bits = vec![0; nodes.len().div_ceil(u64::BITS as usize)];
        Places { of: vec![0; nodes.len()], base: 1, found: Vec::new(), bits }
    }

    fn get(&self, node: Node) -> Option<usize> {
        self.of[node].checked_sub(self.base).map(|place| place as usize)
    }

    fn enter(&mut self, node: Node, look: impl FnOnce(Node) -> Found) -> usize {
        self.get(node).unwrap_or_else(|| {
            let place = self.found.len();
            self.of[node] = self.base + place as u32;
            self.found.push(Found { root: place as u32, ..look(node) });
            place
        })
    }

    fn root(&mut self, mut place: usize) -> usize {
        while self.found[place].root as usize != place {
            let above = self.found[place].root as usize;
            self.found[place].root = self.found[above].root;
            place = above;
        }
        place
    }

    /// Places in the order of their nodes, each once.
    fn in_order(&mut self, mut places: Vec<usize>) -> Vec<usize> {
        let word_of = |node: Node| node / u64::BITS as usize;
        let words = places.iter().map(|&place| word_of(self.found[place].node()));
        let (Some(first), Some(last)) = (words.clone().min(), words.max()) else { return places };
        if last - first > places.len() {
            // They lie far from each other.
            places.sort_unstable_by_key(|&place| self.found[place].node);
            places.dedup();
            return places;
        }
        for place in places.drain(..) {
            let node = self.found[place].node();
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
        let most = self.of.len() as u32;
        self.base += self.found.len() as u32;
        if self.base > u32::MAX - most {
            self.of.fill(0);
            self.base = 1;
        }
        self.found.clear();
    }
}

impl Around {
    /// What an expression is redundant in.
    pub fn of(
        nodes: &Nodes,
        shape: &Shape,
        (expressions, memory): (&Expressions, &Memory),
        expression: &Expression,
        places: &mut Places,
    ) -> Around {
        places.clear();
        let part = |site: &Site| shape.part[site.node];
        let last_part = expression.sites.iter().filter(|site| site.first.is_some()).map(part).max();
        let first_part = expression.sites.iter().filter(|site| site.last.is_some()).map(part).min();
        let (Some(first_part), Some(last_part)) = (first_part, last_part) else { return Around::Nothing };
        let is_between = |node: Node| (first_part..=last_part).contains(&shape.open_part[node]);
        if let Some(spans) = &shape.spans
            && spans.are_too_long(nodes, expressions, expression, |node| is_between(node) && shape.ends[node])
        {
            return Around::TooMuch;
        }
        let look = |node: Node| {
            let is_transparent = shape.ends[node] && expressions.is_transparent(memory, expression, node);
            let (first, last) = Default::default();
            Found { node: node as u32, first, last, is_transparent, is_reached: false, is_wanted: false, root: 0 }
        };
        // These come first, so that whatever else is found evaluates nothing.
        for site in &expression.sites {
            let place = places.enter(site.node, look);
            let found = &mut places.found[place];
            (found.first, found.last) = (site.first.into(), site.last.into());
            found.is_wanted = site.first.is_some() && is_between(site.node);
        }
        // Forward with the value, and backward from where it is wanted, in turn: whichever comes to its end first, the other only
        // has to look where that has been.
        let sites = 0..places.found.len();
        let mut ahead: Vec<usize> = sites.clone().filter(|&place| places.found[place].last.is_some()).collect();
        let mut back: Vec<usize> = sites.filter(|&place| places.found[place].is_wanted).collect();
        let mut only_wanted = false;
        let mut only_reached = false;
        loop {
            only_wanted |= back.is_empty();
            if let Some(place) = ahead.pop() {
                for &next in nodes.successors(places.found[place].node()).iter().filter(|&&next| is_between(next)) {
                    let place = places.enter(next, look);
                    let found = &mut places.found[place];
                    let is_new = !found.is_reached && (found.is_wanted || !only_wanted);
                    found.is_reached |= is_new;
                    if is_new && found.is_transparent && found.last.is_none() {
                        ahead.push(place);
                    }
                }
            }
            only_reached |= ahead.is_empty();
            if let Some(place) = back.pop() {
                if only_reached && !places.found[place].is_reached {
                    continue;
                }
                for &before in
                    nodes.predecessors(places.found[place].node()).iter().filter(|&&before| is_between(before))
                {
                    let place = places.enter(before, look);
                    let found = &mut places.found[place];
                    if found.is_transparent && !core::mem::replace(&mut found.is_wanted, true) {
                        back.push(place);
                    }
                }
            }
            if ahead.is_empty() && back.is_empty() {
                break;
            }
            if places.found.len() > MOST_NODES {
                return Around::TooMuch;
            }
        }
        let mut members: Vec<usize> =
            (0..places.found.len()).filter(|&place| places.found[place].is_inside()).collect();
        for index in 0..members.len() {
            let place = members[index];
            for &before in nodes.predecessors(places.found[place].node()) {
                let Some(other) = places.get(before) else { continue };
                let found = &places.found[other];
                if found.last.is_none() && !(found.is_inside() && found.is_transparent) {
                    continue;
                }
                if !found.is_inside() {
                    members.push(other);
                }
                let (one, other) = (places.root(place), places.root(other));
                places.found[one.max(other)].root = one.min(other) as u32;
            }
        }
        if !members.iter().any(|&place| places.found[place].is_inside() && places.found[place].first.is_some()) {
            return Around::Nothing;
        }
        let members = places.in_order(members);
        // By node, so that the regions are in the order of their first ones.
        let mut regions: Vec<Vec<usize>> = Vec::new();
        let (mut region_of, mut number_of) = (vec![NONE; places.found.len()], vec![NONE; places.found.len()]);
        for place in members {
            let region = &mut region_of[places.root(place)];
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
            Region::of(nodes, list.iter().map(|&place| &places.found[place]), member_of)
        };
        let regions = regions.iter().map(of).collect();
        Around::Regions(regions)
    }
}

impl Spans {
    /// Does a search for an expression go too far in both directions? Says no where that is not seen near to where it begins.
    /// `is_between` tells which nodes it comes to.
    fn are_too_long(
        &self,
        nodes: &Nodes,
        expressions: &Expressions,
        expression: &Expression,
        is_between: impl Fn(Node) -> bool,
    ) -> bool {
        // What changes memory does not tell where it is next.
        if expression.reads.is_some() {
            return false;
        }
        let is_far_back = |node: Node| {
            let first = self.back[node];
            let is_before = |writer: Node| writer < first as Node;
            first != NONE && expressions.last_writer(expression, node).is_none_or(is_before)
        };
        let is_far_ahead = |node: Node| {
            let last = self.ahead[node];
            let is_behind = |writer: Node| writer > last as Node;
            last != NONE && is_between(node + 1) && expressions.next_writer(expression, node).is_none_or(is_behind)
        };
        let goes_on = |node: Node| is_between(node) && !expressions.is_written(expression, node);
        let wanted = expression.sites.iter().filter(|site| site.first.is_some() && is_between(site.node));
        let made = expression.sites.iter().filter(|site| site.last.is_some());
        is_one_near(wanted.map(|site| site.node), is_far_back, |node| nodes.predecessors(node), goes_on)
            && is_one_near(made.map(|site| site.node), is_far_ahead, |node| nodes.successors(node), goes_on)
    }
}

/// Is one of the first few nodes of a search what is looked for?
fn is_one_near<'a>(
    begin: impl Iterator<Item = Node>,
    is_it: impl Fn(Node) -> bool,
    onward: impl Fn(Node) -> &'a [Node],
    goes_on: impl Fn(Node) -> bool,
) -> bool {
    let mut found: SmallVec<[Node; MOST_NEAR]> = begin.take(MOST_NEAR / 2).collect();
    let mut next = 0;
    while let Some(&node) = found.get(next) {
        if is_it(node) {
            return true;
        }
        next += 1;
        for &other in onward(node) {
            if found.len() < MOST_NEAR && !found.contains(&other) && goes_on(other) {
                found.push(other);
            }
        }
    }
    false
}

impl Region {
    fn of<'a>(
        nodes: &Nodes,
        found: impl Iterator<Item = &'a Found>,
        member_of: impl Fn(Node) -> Option<usize>,
    ) -> Region {
        let member = |found: &Found| {
            let (node, is_transparent) = (found.node(), found.is_transparent);
            let (first, last) = (found.first.expand(), found.last.expand());
            let is_reached = found.is_inside();
            let successors = nodes.successors(node);
            let goes_back = successors.iter().any(|&next| Nodes::goes_back(node, next));
            let is_free = is_reached && is_transparent && last.is_none();
            Member {
                node,
                first,
                last,
                is_transparent,
                is_reached,
                is_available: is_reached,
                before: nodes.predecessors(node).iter().map(|&before| (before, member_of(before))).collect(),
                next: successors.iter().map(|&next| member_of(next)).collect(),
                is_split: is_free && successors.len() > 1 && !goes_back,
            }
        };
        let mut region = Region { members: found.map(member).collect() };
        region.find_available();
        region
    }

    /// Has hoisting end behind a node, at whose end nothing can be inserted.
    pub fn close_behind(&mut self, node: Node) {
        for member in &mut self.members {
            if member.before.iter().any(|&(before, _)| before == node) {
                member.is_reached = false;
                member.is_split = false;
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
                |(_, before): &(Node, Option<usize>)| before.is_some_and(|it| self.members[it].leaves_available());
            if !member.is_available || member.before.iter().all(comes) {
                continue;
            }
            let member = &mut self.members[place];
            member.is_available = false;
            if member.is_free() {
                work.extend(member.next.iter().flatten());
            }
        }
    }

    /// Where an evaluation is hoisted to if it may pass the enabled splits: everywhere, but for what has to be taken away.
    pub fn hoisted(&self, enabled: &[bool]) -> Hoisted {
        let count = self.members.len();
        let mut hoisted = Hoisted { entry: vec![true; count], exit: vec![true; count] };
        // Taken from the end, so that what comes last is looked at first.
        let mut work: Vec<usize> = (0..count).collect();
        let mut is_waiting = vec![true; count];
        while let Some(place) = work.pop() {
            is_waiting[place] = false;
            let member = &self.members[place];
            let needs = |next: &Option<usize>| next.is_some_and(|next| hoisted.entry[next]);
            let exit = !member.next.is_empty()
                && (member.next.iter().all(needs) || enabled[place] && member.next.iter().any(needs));
            let passes = exit && member.is_free() && !member.is_available;
            let entry = member.is_reached && (member.first.is_some() || passes);
            hoisted.exit[place] = exit;
            if core::mem::replace(&mut hoisted.entry[place], entry) != entry {
                for &(_, before) in &member.before {
                    if let Some(before) = before.filter(|&before| !is_waiting[before]) {
                        is_waiting[before] = true;
                        work.push(before);
                    }
                }
            }
        }
        hoisted
    }

    /// What the edges into a member bring.
    pub fn ways<'a>(&'a self, hoisted: &'a Hoisted, place: usize) -> impl Iterator<Item = (Node, Way)> + 'a {
        self.members[place].before.iter().map(|&(node, before)| {
            let way = match before {
                Some(before) if self.members[before].leaves_available() => Way::Available(before),
                Some(before) if self.members[before].is_free() && hoisted.exit[before] => Way::Hoisted(before),
                _ => Way::End,
            };
            (node, way)
        })
    }

    /// Where evaluations stand that have been hoisted so far.
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
                work.extend(self.members[place].next.iter().flatten().filter(|&&next| delayed[next]));
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
                work.extend(self.members[place].before.iter().filter_map(|&(_, before)| before));
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
        let comes_from = |member: &Member| member.before.iter().any(|&(before, _)| before == node);
        (0..self.members.len()).any(|place| comes_from(&self.members[place]) && hoisted.entry[place])
    }

    /// Is there a branch ahead of which speculation would make something redundant?
    pub fn could_speculate(&self) -> bool {
        let always = self.hoisted(&vec![false; self.members.len()]);
        let leads = self.leading_to_available();
        (0..leads.len()).any(|place| self.members[place].is_split && leads[place] && !always.exit[place])
    }

    /// To which members could a hoisted evaluation come on its way to where the value is available, if it may pass all splits?
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
                work.extend(self.members[place].next.iter().flatten());
            }
        }
        leads
    }
}

/// By node: numbers that only rise along edges, equal within a cycle. (R. Tarjan, Depth-first search and linear graph
/// algorithms, 1972.)
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
