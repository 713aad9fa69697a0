//! Speculation: can the expression be moved up in front of the branch that decides whether it is computed?
//!
//! ```text
//! n1: br p, n2, n3       `(A[i], n2, n1)`: n1 diverges and n2 depends on it, so n1's own predecessors are asked (4-i);
//! n2: x = ld A[i]        they cannot take it, so n1 does (4-i-b): (true, {n1})
//! n3: …
//! ```
//!
//! A warp runs both sides of a branch that its lanes disagree about, so that a load in front of it costs no more than the
//! one on a side, and is there for all that follows. The question (e, m, n) asks n whether e, which would move up from m, can
//! move there or further; m becomes n wherever that would help, at a branch that m is control-dependent on. Across a branch
//! on which all lanes agree an expression goes only where it is down-safe.
//!
//! The rules do not look at all ways from the last change of an operand to the expression: whoever moves something asks
//! afterwards whether it is available where it was ([`super::Inquiries::hoist`]).
//!
//! Source: J. Fukuhara and M. Takimoto, Scalar replacement considering branch divergence, JIP 2021, section 5.2 and
//! algorithm 2, of which lines 7 to 9 are not in the prose.

use alloc::string::String;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use core::ops::Range;

use cranelift_entity::SecondaryMap;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use smallvec::SmallVec;

use super::anticipation::Anticipated;
use super::availability::anticipated;
use super::forms::Form;
use super::propagation::{Arrival, Local, Meeting, Problem, RecordId, Teller, Time};
use super::region::{Region, Shape};
use super::snapshot::Snapshot;
use super::ways::Spot;
use crate::ir::{Block, Function};
use crate::questions::Answer;
use crate::view::Listener;

/// Asked of a block: can it come here or further up?
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpeculationQuestion {
    /// What would move.
    pub form: Form,
    /// From where (the paper's m).
    pub mover: Block,
}

/// The paper's (canHoist, Node).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hoistable {
    /// Can it?
    pub can_hoist: bool,
    /// To the ends of these blocks.
    pub blocks: BlockList,
    /// Has anybody on the way asked what is down-safe, or assumed something of a question under way? What is known then was
    /// found from where the walk began, and for how things were.
    expires: bool,
    /// Does it stay at its block, whatever those above it take, because not all of them can?
    stays: bool,
}

impl Hoistable {
    /// It cannot.
    pub const NO: Hoistable = Hoistable { can_hoist: false, blocks: BlockList::Empty, expires: false, stays: false };

    fn to(block: Block) -> Hoistable {
        Hoistable { can_hoist: true, blocks: BlockList::One(block), ..Hoistable::NO }
    }
}

/// Blocks in the order in which they were found. Answers are passed on from block to block as they are, so a longer list is a
/// number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockList {
    /// No blocks.
    Empty,
    /// That one.
    One(Block),
    /// An index into the lists.
    Several(u32),
}

/// All longer lists that came up, each once, one behind the other.
#[derive(Default)]
pub struct BlockLists {
    blocks: Vec<Block>,
    /// Where each list lies among the blocks.
    lists: Vec<Range<u32>>,
    /// Finds a list by its blocks.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Unions that were asked for. Where many blocks lean on one question, its answer joins theirs, which are few lists.
    unions: HashMap<(BlockList, BlockList), BlockList>,
    /// By block: the last union in which it was in the first list.
    seen: SecondaryMap<Block, u32>,
    union_count: u32,
}

impl BlockLists {
    /// The blocks of a list.
    pub fn blocks<'l>(&'l self, list: &'l BlockList) -> &'l [Block] {
        match list {
            BlockList::Empty => &[],
            BlockList::One(block) => core::slice::from_ref(block),
            BlockList::Several(index) => slice(&self.blocks, &self.lists[*index as usize]),
        }
    }

    /// The blocks of one list, and behind them those of another that it has not. Takes as long as the lists are, once for
    /// each two of them.
    fn union(&mut self, list: BlockList, more: BlockList) -> BlockList {
        if list == BlockList::Empty || more == BlockList::Empty || list == more {
            return if list == BlockList::Empty { more } else { list };
        }
        if let (BlockList::One(_), BlockList::One(_)) = (list, more) {
            return self.unite(list, more);
        }
        if let Some(&known) = self.unions.get(&(list, more)) {
            return known;
        }
        let union = self.unite(list, more);
        self.unions.insert((list, more), union);
        union
    }

    fn unite(&mut self, list: BlockList, more: BlockList) -> BlockList {
        let start = self.blocks.len();
        self.union_count += 1;
        self.append(list);
        for &block in &self.blocks[start..] {
            self.seen[block] = self.union_count;
        }
        let middle = self.blocks.len();
        self.append(more);
        let mut end = middle;
        for index in middle..self.blocks.len() {
            let block = self.blocks[index];
            self.blocks[end] = block;
            end += usize::from(self.seen[block] != self.union_count);
        }
        self.blocks.truncate(end);
        if end == middle {
            self.blocks.truncate(start);
            return list;
        }
        let (lists, blocks) = (&self.lists, &self.blocks);
        let hash_of = |blocks: &[Block]| self.hasher.hash_one(blocks);
        let own = &blocks[start..];
        let is_own = |&index: &u32| slice(blocks, &lists[index as usize]) == own;
        let rehash = |&index: &u32| hash_of(slice(blocks, &lists[index as usize]));
        match self.numbers.entry(hash_of(own), is_own, rehash) {
            Entry::Occupied(known) => {
                let known = *known.get();
                self.blocks.truncate(start);
                BlockList::Several(known)
            }
            Entry::Vacant(free) => {
                let index = lists.len() as u32;
                free.insert(index);
                self.lists.push(start as u32..end as u32);
                BlockList::Several(index)
            }
        }
    }

    /// Puts the blocks of a list behind all others.
    fn append(&mut self, list: BlockList) {
        match list {
            BlockList::Empty => {}
            BlockList::One(block) => self.blocks.push(block),
            BlockList::Several(index) => {
                let Range { start, end } = self.lists[index as usize];
                self.blocks.extend_from_within(start as usize..end as usize);
            }
        }
    }
}

fn slice<'b>(blocks: &'b [Block], range: &Range<u32>) -> &'b [Block] {
    &blocks[range.start as usize..range.end as usize]
}

/// See the file's head.
pub struct Speculation<'q, 'm> {
    /// What is looked at.
    pub snapshot: &'q mut Snapshot<'m>,
    /// By which rule each record's question was sent on.
    pub sent: &'q mut Vec<&'static str>,
    /// Where what several blocks take is kept.
    pub lists: &'q mut BlockLists,
    /// What is known of anticipatability.
    pub anticipated: &'q mut Anticipated,
    /// The graph's shape.
    pub shape: &'q Shape,
    /// The branches across which expressions move.
    pub is_crossed: &'q dyn Fn(Block) -> bool,
    /// Where insertions make no warp run more sides of branches.
    pub region: &'q Region,
    /// Do answers that differ meet as in lines 7 to 9 of algorithm 2?
    pub meets_partially: bool,
    /// No more than so many steps.
    pub budget: u64,
}

impl Speculation<'_, '_> {
    fn is_down_safe<S: Listener>(
        &mut self,
        teller: &mut Teller<'_, S>,
        root: Block,
        asked: &[Block],
        form: Form,
        id: u32,
    ) -> bool {
        let set = self.snapshot.forms.only(form);
        anticipated(self.snapshot, self.anticipated, teller, (root, asked), set, Some(id))
    }

    fn rule_of(&self, record: Option<RecordId>) -> &'static str {
        record.map_or("6", |record| self.sent[record as usize])
    }
}

impl Problem for Speculation<'_, '_> {
    type Question = SpeculationQuestion;
    type Answer = Hoistable;
    const UNDER_WAY: &'static str = "2";

    fn onward(&self, block: Block) -> &[Block] {
        self.snapshot.ways.up(block)
    }

    fn assumed() -> Hoistable {
        Hoistable { can_hoist: true, expires: true, ..Hoistable::NO }
    }

    fn is_good(answer: &Hoistable) -> bool {
        answer.can_hoist
    }

    fn improve(&mut self, answer: &mut Hoistable, proved: &Hoistable) {
        // Whoever could move up because the question came back to where it was under way moves to where that does.
        if !answer.stays {
            answer.blocks = self.lists.union(answer.blocks, proved.blocks);
        }
    }

    fn holds(&self, question: SpeculationQuestion, answer: &Hoistable, time: Time) -> bool {
        // No insertion changes where an operand changes, nor where lanes part.
        !answer.expires || self.time(question).changes == time.changes
    }

    fn time(&self, question: SpeculationQuestion) -> Time {
        Time { inquiry: 0, changes: self.snapshot.changes(question.form) }
    }

    /// The rules in their order, of which the engine has asked the second one.
    fn arrive<S: Listener>(&mut self, teller: &mut Teller<'_, S>, at: Arrival<SpeculationQuestion>) -> Local<Self> {
        let Arrival { block, question: SpeculationQuestion { form, mover }, record, id } = at;
        if self.snapshot.steps > self.budget {
            return Local::Answered("budget", Hoistable::NO, None);
        }
        let is_branch = self.snapshot.ways.is_branch(block);
        let is_crossed = is_branch && (self.is_crossed)(block);
        // What was put on an edge runs if its source's branch says so, and for nothing else.
        let is_decided = |mover: Block| match self.snapshot.ways.is_on_edge(mover) {
            true => self.snapshot.ways.named_as(mover) == block,
            false => self.shape.depends(mover, block),
        };
        let depends = is_branch && is_decided(mover);
        let upward = |depends: bool| SpeculationQuestion { form, mover: if depends { block } else { mover } };
        let (rule, forwarded) = if let Some(place) = self.snapshot.changed_in(teller.func, block, form) {
            let because = self.snapshot.told_inst_at::<S>(teller.func, block, place);
            return match (is_crossed, depends) {
                (true, true) => Local::Answered("3-i-a", Hoistable::to(block), because),
                (true, false) => Local::Answered("3-i-b", Hoistable::NO, because),
                (false, _) => Local::Answered("3-ii", Hoistable::NO, because),
            };
        } else if is_crossed {
            (if depends { "4-i" } else { "4-ii" }, upward(depends))
        } else if is_branch {
            let successors: SmallVec<[Block; 4]> = self.snapshot.ways.down(block).into();
            if !self.is_down_safe(teller, block, &successors, form, id) {
                return Local::Answered("5-ii", Hoistable { expires: true, ..Hoistable::NO }, None);
            }
            (if depends { "5-i-a" } else { "5-i-b" }, upward(depends))
        } else {
            ("6", upward(false))
        };
        if self.sent.len() <= record as usize {
            self.sent.resize(record as usize + 1, "");
        }
        self.sent[record as usize] = rule;
        Local::Forwarded(rule, forwarded)
    }

    fn meet<S: Listener>(
        &mut self,
        teller: &mut Teller<'_, S>,
        place: Meeting<SpeculationQuestion>,
        answers: &[(Block, Hoistable)],
    ) -> (&'static str, Hoistable) {
        let rule = self.rule_of(place.record);
        let from_outside = self.snapshot.ways.is_entry(place.block);
        let mut can_hoist = !from_outside && !answers.is_empty() && answers.iter().all(|(_, answer)| answer.can_hoist);
        let mut expires = matches!(rule, "5-i-a" | "5-i-b") || answers.iter().any(|(_, answer)| answer.expires);
        let mut blocks = BlockList::Empty;
        if can_hoist || self.meets_partially {
            for (_, answer) in answers {
                blocks = self.lists.union(blocks, answer.blocks);
            }
        }
        if !can_hoist && self.meets_partially && !from_outside {
            expires = true;
            let without: SmallVec<[Block; 4]> =
                answers.iter().filter(|(_, answer)| !answer.can_hoist).map(|&(from, _)| from).collect();
            let can_take = |&from: &Block| {
                self.region.kept_out_by(from).is_none() && self.snapshot.ways.spot(from, place.block) == Spot::End(from)
            };
            if without.len() < answers.len()
                && without.iter().all(can_take)
                && self.is_down_safe(teller, place.block, &[place.block], place.forwarded.form, place.id)
            {
                can_hoist = true;
                for from in without {
                    blocks = self.lists.union(blocks, BlockList::One(from));
                }
            }
        }
        let all = Hoistable { can_hoist, blocks, expires, stays: false };
        let here = Hoistable { expires, stays: true, ..Hoistable::to(place.block) };
        let no = Hoistable { expires, ..Hoistable::NO };
        match (rule, can_hoist) {
            ("4-i", true) => ("4-i-a", all),
            ("4-i", false) => ("4-i-b", here),
            (_, true) => (rule, all),
            (_, false) if from_outside && answers.is_empty() => ("1", no),
            (_, false) => (rule, no),
        }
    }

    fn describe(&self, func: &Function, question: SpeculationQuestion) -> (String, Option<Block>) {
        (self.snapshot.forms.text(self.snapshot.module, func, question.form), Some(question.mover))
    }

    fn answer(&self, answer: &Hoistable) -> Answer {
        Answer::Hoistable { can_hoist: answer.can_hoist, blocks: self.lists.blocks(&answer.blocks).to_vec() }
    }
}
