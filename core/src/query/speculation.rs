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

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use hashbrown::{HashMap, HashSet};
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

/// Blocks in the order in which they were found, each once. Answers are passed on from block to block as they are, and joined
/// far more often than anybody asks what is in them: so a longer list is the number of the two that it was made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockList {
    /// No blocks.
    Empty,
    /// That one.
    One(Block),
    /// An index into the unions.
    Several(u32),
}

/// All longer lists that came up, each two that were joined once.
#[derive(Default)]
pub struct BlockLists {
    unions: Vec<Union>,
    numbers: HashMap<(BlockList, BlockList), u32>,
    /// How many lists have been asked for, and by union and by block the last one in which it was met.
    asked: u32,
    met_unions: Vec<u32>,
    met_blocks: SecondaryMap<Block, u32>,
}

/// Two lists that were joined.
struct Union {
    parts: (BlockList, BlockList),
    /// Its blocks, once somebody has asked and many lists had to be looked at.
    blocks: Option<Box<[Block]>>,
}

/// After so many lists it is noted what they amount to.
const MANY: usize = 32;

impl BlockLists {
    /// The blocks of a list. Linear in the lists that it was made of since one of them was asked for, and in their blocks.
    pub fn blocks(&mut self, list: BlockList) -> Vec<Block> {
        if let BlockList::One(block) = list {
            return vec![block];
        }
        self.asked += 1;
        self.met_unions.resize(self.unions.len(), 0);
        let (asked, met_unions, met_blocks) = (self.asked, &mut self.met_unions, &mut self.met_blocks);
        let (blocks, looked_at) = collect(&self.unions, list, |part| {
            let met = match part {
                BlockList::Empty => return false,
                BlockList::One(block) => &mut met_blocks[block],
                BlockList::Several(index) => &mut met_unions[index as usize],
            };
            core::mem::replace(met, asked) != asked
        });
        if let BlockList::Several(index) = list
            && looked_at > MANY
        {
            self.unions[index as usize].blocks = Some(blocks.as_slice().into());
        }
        blocks
    }

    /// The same for those who are told of it.
    fn told(&self, list: BlockList) -> Vec<Block> {
        let mut met: HashSet<BlockList> = HashSet::new();
        collect(&self.unions, list, |part| part != BlockList::Empty && met.insert(part)).0
    }

    /// The blocks of one list, and behind them those of another that it has not.
    fn union(&mut self, list: BlockList, more: BlockList) -> BlockList {
        if list == BlockList::Empty || more == BlockList::Empty || list == more {
            return if list == BlockList::Empty { more } else { list };
        }
        let unions = &mut self.unions;
        BlockList::Several(*self.numbers.entry((list, more)).or_insert_with(|| {
            unions.push(Union { parts: (list, more), blocks: None });
            unions.len() as u32 - 1
        }))
    }
}

/// The blocks of a list, and how many lists it took to find them. `is_new` is asked of each: what has been met once adds
/// nothing the second time.
fn collect(unions: &[Union], list: BlockList, mut is_new: impl FnMut(BlockList) -> bool) -> (Vec<Block>, usize) {
    let (mut blocks, mut looked_at) = (Vec::new(), 0);
    let mut pending: SmallVec<[BlockList; 16]> = SmallVec::from_elem(list, 1);
    while let Some(part) = pending.pop() {
        looked_at += 1;
        if !is_new(part) {
            continue;
        }
        match part {
            BlockList::Empty => {}
            BlockList::One(block) => blocks.push(block),
            BlockList::Several(index) => match &unions[index as usize] {
                Union { blocks: Some(known), .. } => {
                    pending.extend(known.iter().rev().map(|&block| BlockList::One(block)));
                }
                &Union { parts: (first, more), .. } => pending.extend([more, first]),
            },
        }
    }
    (blocks, looked_at)
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
        Answer::Hoistable { can_hoist: answer.can_hoist, blocks: self.lists.told(answer.blocks) }
    }
}
