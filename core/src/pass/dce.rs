//! Dead code elimination.
//!
//! ```text
//! i = mov.u32 0                     loop:
//! loop:                                 st.global.f32 x[j], v
//!     i = add.u32 i, 1       ──▶        …
//!     x[j] = v …
//! ```
//!
//! Everything is dead until shown needed. Instructions with an effect are needed; a needed instruction needs every
//! definition that reaches one of its reads. What is left goes away, cycles of instructions that only feed each other
//! included. A register with one definition points straight at it. For the others the search runs backwards from the
//! read to the definitions before it: an unguarded one ends the search, a guarded one does not, because other lanes
//! keep what they had. Where a register is defined in a few blocks only, the search skips regions without definitions:
//! what is at the beginning of a block is what was at the beginning of the highest dominator below which none stands.
//!
//! Sound because a removed instruction writes only values that no needed instruction can see. A load may be removed
//! although it could have faulted: a program that faults has no result to keep.
//!
//! Cost: linear in the instructions, where control flow is not contrived. Registers with a definition in every 64th
//! block or more often are searched for together, a bit each. Another one costs a visit to each block where different
//! definitions of it meet and to each block that reads it, of a time logarithmic in the depth of the dominator tree.
//! Running it again finds nothing more.
//!
//! Source: Cytron et al., TOPLAS 1991, section 7.1, on use-definition chains in place of SSA.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use hashbrown::HashSet;
use smallvec::SmallVec;

use super::{Pass, PassError, PassInfo, Settings};
use crate::edit::Remark;
use crate::graph::{Ancestors, Cfg};
use crate::ir::{Block, Flags, Function, Inst, InstData, Op, Operand, Reg};
use crate::text::instruction_text;
use crate::view::{Listener, View};

/// See the file's head.
pub struct Dce;

impl Pass for Dce {
    const INFO: PassInfo = PassInfo {
        name: "dce",
        paper: "Cytron et al. 1991, 7.1",
        summary: "Removes instructions whose results nothing needs, also those that only feed each other.",
        knobs: &[],
        needs_fast_math: false,
    };

    fn run<S: Listener>(view: &mut View<'_, S>, _: &Settings) -> Result<(), PassError> {
        let (cfg, needed) = (view.cfg(), needed(view));
        // Readers go before what they read, so that every state on the way is a good program.
        for block in cfg.postorder() {
            let mut next = view.func().layout.last_inst(block);
            while let Some(inst) = next {
                next = view.func().layout.prev_inst(inst);
                if !needed.contains(inst) {
                    remove(view, block, inst);
                }
            }
        }
        Ok(())
    }
}

fn remove<S: Listener>(view: &mut View<'_, S>, block: Block, inst: Inst) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let (text, data) = (instruction_text(module, func, inst), &func.insts[inst]);
        let names: Vec<_> = data.dsts.iter().map(|&dst| format!("`{}`", func.regs[dst].name)).collect();
        let (rule, why) = if copies_itself(data) {
            ("self-copy", format!("{} already holds that", names.join(", ")))
        } else {
            ("dead", format!("nothing needs {}", names.join(", ")))
        };
        Remark::applied(rule, block, format!("`{text}` goes away: {why}")).at(inst)
    });
    rewrite.remove(inst);
}

/// Must the instruction stay whatever reads its result? Beyond effects on memory, a `.sync` form makes lanes wait for
/// each other.
fn has_effect(data: &InstData) -> bool {
    data.opcode.has_effect() || data.opcode.has(Flags::SYNC)
}

/// `x = mov x`: whoever reads `x` afterwards may as well read it before.
fn copies_itself(data: &InstData) -> bool {
    data.opcode.op == Op::Mov && matches!(data.args.as_slice(), [Operand::Reg(from)] if data.dsts.as_slice() == [*from])
}

/// The instructions that are needed.
fn needed<S: Listener>(view: &mut View<'_, S>) -> EntitySet<Inst> {
    let cfg = view.cfg();
    let (mut definitions, effects) = Definitions::of(view.func(), &cfg);
    let often = Often::new(view.func(), &mut definitions, &cfg);
    let has_rare = often.lists.len() < definitions.lists.len();
    let rare = definitions.lists.iter().filter(|list| list.bit.is_none()).map(|list| list.unneeded as usize).sum();
    let search = Search {
        ancestors: has_rare.then(|| Ancestors::new(view.dominators(), cfg.block_count())),
        func: view.func(),
        cfg: &cfg,
        needed: EntitySet::with_capacity(view.func().insts.len()),
        todo: Todo::new(definitions.places.len()),
        definitions,
        often,
        searched: HashSet::with_capacity(rare),
        asked: Vec::new(),
    };
    search.run(effects)
}

/// The search for them.
struct Search<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    needed: EntitySet<Inst>,
    /// Needed instructions whose reads are still to be looked at, and blocks at whose beginning something is asked for.
    todo: Todo,
    definitions: Definitions,
    /// Where registers are that are defined often.
    often: Often,
    /// For the others: from the ends of which blocks they were searched for, and how regions are skipped.
    searched: HashSet<(u32, Block)>,
    ancestors: Option<Ancestors>,
    /// Blocks at whose beginning the register is asked for that is being searched for.
    asked: Vec<Block>,
}

impl Search<'_> {
    fn run(mut self, effects: Vec<Inst>) -> EntitySet<Inst> {
        effects.into_iter().for_each(|inst| self.need(inst));
        while let Some(place) = self.todo.pop() {
            match self.definitions.places[place as usize] {
                Place::Inst(inst) => {
                    for index in self.definitions.read_range(place) {
                        self.need_definitions(self.definitions.read[index], inst);
                    }
                }
                Place::Start(block) => self.go_up_together(block),
            }
        }
        self.needed
    }

    fn need(&mut self, inst: Inst) {
        if self.needed.insert(inst) {
            self.todo.insert(self.definitions.order[inst]);
            if !self.definitions.defines_one_of_several.contains(inst) {
                return;
            }
            for dst in distinct_dsts(&self.func.insts[inst]) {
                if let Count::Several(list) = self.definitions.of_reg[dst] {
                    self.definitions.lists[list as usize].unneeded -= 1;
                }
            }
        }
    }

    /// Needs every definition of a register that reaches one reader.
    fn need_definitions(&mut self, reg: Reg, reader: Inst) {
        let list = match self.definitions.of_reg[reg] {
            Count::None => return,
            Count::One(definition) => return self.need(definition),
            Count::Several(list) => list,
        };
        // Once all definitions are needed there is nothing left to search for: a register that is only ever written
        // under guards would otherwise be followed to the entry from each of its reads.
        if self.definitions.lists[list as usize].unneeded == 0 {
            return;
        }
        let Some(block) = self.func.inst_block(reader) else { return };
        let bit = self.definitions.lists[list as usize].bit;
        if bit.is_some_and(|bit| !self.often.is_defined(block, bit))
            || self.need_last(list, block, self.definitions.order[reader])
        {
            match bit {
                Some(bit) => self.ask(block, bit),
                None => self.go_up(list, block),
            }
        }
    }

    /// Goes up from the beginning of a block with all registers defined often that are asked for there.
    fn go_up_together(&mut self, block: Block) {
        for (word, asked) in self.often.take(block).into_iter().enumerate() {
            for &predecessor in self.cfg.predecessors(block) {
                let (through, mut defined) = self.often.search(predecessor, word, asked);
                self.ask_word(predecessor, word, through);
                while defined != 0 {
                    let bit = word as u32 * u64::BITS + defined.trailing_zeros();
                    defined &= defined - 1;
                    let list = self.often.lists[bit as usize];
                    if self.definitions.lists[list as usize].unneeded > 0
                        && self.need_last(list, predecessor, self.definitions.block_end[predecessor])
                    {
                        self.ask(predecessor, bit);
                    }
                }
            }
        }
    }

    /// Asks for a register defined often at the beginning of a block.
    fn ask(&mut self, block: Block, bit: u32) {
        self.ask_word(block, (bit / u64::BITS) as usize, 1 << (bit % u64::BITS));
    }

    /// Asks for registers of one word at the beginning of a block.
    fn ask_word(&mut self, block: Block, word: usize, bits: u64) {
        if self.often.ask(block, word, bits) {
            self.todo.insert(self.definitions.block_start[block]);
        }
    }

    /// Goes up from the beginning of a block with a register that is defined in a few blocks.
    fn go_up(&mut self, list: u32, block: Block) {
        self.asked.push(block);
        while let Some(block) = self.asked.pop() {
            if self.definitions.lists[list as usize].unneeded > 0 {
                self.ask_predecessors(list, block);
            }
        }
    }

    fn ask_predecessors(&mut self, list: u32, block: Block) {
        let Some(ancestors) = &self.ancestors else { return };
        let top = self.definitions.highest_without(list, self.func, ancestors, block);
        for &predecessor in self.cfg.predecessors(top.unwrap_or(block)) {
            // What comes back from a region without definitions went in at its top.
            let dominators = self.ancestors.as_ref().map(Ancestors::dominators);
            let comes_back = top.zip(dominators).is_some_and(|(top, tree)| tree.dominates(top, predecessor));
            if !comes_back
                && self.searched.insert((list, predecessor))
                && self.need_last(list, predecessor, self.definitions.block_end[predecessor])
            {
                self.asked.push(predecessor);
            }
        }
    }

    /// Needs those definitions of a block before the position `before` that can be the last ones to write. Gives
    /// whether none of them ends the search.
    fn need_last(&mut self, list: u32, block: Block, before: u32) -> bool {
        // Blocks stand in the order of the text, so a block's definitions are neighbours.
        let start = self.definitions.block_start[block];
        let first = self.definitions.lists[list as usize].first as usize;
        let mut place = self.definitions.first_from(list, before);
        while place > first {
            place -= 1;
            let Entry { order, inst } = self.definitions.entries[place];
            if order < start {
                break;
            }
            self.need(inst);
            if self.func.insts[inst].guard.is_none() {
                return false;
            }
        }
        true
    }
}

/// Places of the text where there is something to do, from the end of the text to its beginning, again and again: so most
/// of what is asked at a place was asked when its turn comes.
struct Todo {
    words: Vec<u64>,
    /// The sweep has come to this word.
    at: usize,
    /// The last word behind the sweep where something has come since.
    behind: usize,
}

impl Todo {
    fn new(places: usize) -> Todo {
        let words = places / u64::BITS as usize + 1;
        Todo { words: vec![0; words], at: words - 1, behind: 0 }
    }

    fn insert(&mut self, place: u32) {
        let word = (place / u64::BITS) as usize;
        self.words[word] |= 1 << (place % u64::BITS);
        if word > self.at {
            self.behind = self.behind.max(word);
        }
    }

    fn pop(&mut self) -> Option<u32> {
        while self.words[self.at] == 0 {
            if self.at > 0 {
                self.at -= 1;
            } else if self.behind > 0 {
                self.at = core::mem::take(&mut self.behind);
            } else {
                return None;
            }
        }
        let bit = u64::BITS - 1 - self.words[self.at].leading_zeros();
        self.words[self.at] &= !(1 << bit);
        Some(self.at as u32 * u64::BITS + bit)
    }
}

/// The registers that an instruction writes, each once.
fn distinct_dsts(data: &InstData) -> impl Iterator<Item = Reg> + '_ {
    let dsts = data.dsts.as_slice();
    dsts.iter().enumerate().filter(|(index, dst)| !dsts[..*index].contains(dst)).map(|(_, &dst)| dst)
}

/// The definitions of one register. A copy of a register into itself is none: it passes on what was there.
#[derive(Clone, Copy, Default)]
enum Count {
    #[default]
    None,
    One(Inst),
    /// An index into [`Definitions::lists`].
    Several(u32),
}

/// The definitions of a register that has several: `entries[first..end]`.
#[derive(Clone, Copy, Default)]
struct List {
    first: u32,
    end: u32,
    /// Where the last look-up ended.
    near: u32,
    /// How many of them are not needed yet.
    unneeded: u32,
    /// The register's bit in [`Often`], if it is defined often.
    bit: Option<u32>,
    /// Are their numbers in the dominator tree known?
    has_numbers: bool,
}

/// A place of the text.
#[derive(Clone, Copy)]
enum Place {
    Start(Block),
    Inst(Inst),
}

/// Entries that are tried one by one before a binary search is worth it.
const STEPS: usize = 8;

/// One definition.
#[derive(Clone, Copy)]
struct Entry {
    order: u32,
    inst: Inst,
}

/// All definitions by register.
struct Definitions {
    of_reg: SecondaryMap<Reg, Count>,
    lists: Vec<List>,
    /// In each list in text order.
    entries: Vec<Entry>,
    /// Parallel to `entries`, once asked for: preorder numbers in the dominator tree, sorted within a list.
    numbers: Vec<u32>,
    /// The instructions of the entries.
    defines_one_of_several: EntitySet<Inst>,
    /// The text: blocks' beginnings and instructions.
    places: Vec<Place>,
    /// Instruction to its place.
    order: SecondaryMap<Inst, u32>,
    /// By place: what an instruction reads is `read[first_read[place]..first_read[place + 1]]`. The search comes to
    /// instructions in any order, and these few words lie closer together than the instructions.
    first_read: Vec<u32>,
    read: Vec<Reg>,
    /// The place of a block's beginning, and one more than that of its last instruction.
    block_start: SecondaryMap<Block, u32>,
    block_end: SecondaryMap<Block, u32>,
}

impl Definitions {
    /// Reads the function once: all definitions, and the reachable instructions with an effect.
    fn of(func: &Function, cfg: &Cfg) -> (Definitions, Vec<Inst>) {
        let mut found = Definitions {
            of_reg: SecondaryMap::new(),
            lists: Vec::new(),
            entries: Vec::new(),
            numbers: Vec::new(),
            places: Vec::with_capacity(func.insts.len() + func.blocks.len()),
            defines_one_of_several: EntitySet::with_capacity(func.insts.len()),
            order: SecondaryMap::new(),
            first_read: Vec::with_capacity(func.insts.len() + func.blocks.len() + 1),
            read: Vec::with_capacity(3 * func.insts.len()),
            block_start: SecondaryMap::new(),
            block_end: SecondaryMap::new(),
        };
        found.of_reg.resize(func.regs.len());
        found.order.resize(func.insts.len());
        found.block_start.resize(func.blocks.len());
        found.block_end.resize(func.blocks.len());
        let mut params = EntitySet::with_capacity(func.regs.len());
        params.extend(func.params.iter().filter_map(|param| param.reg));
        let mut effects = Vec::new();
        // Definitions of registers that have several, with the register's list.
        let mut several: Vec<(u32, Entry)> = Vec::new();
        let mut order = 0;
        for block in func.block_order() {
            let is_reachable = cfg.is_reachable(block);
            found.block_start[block] = order;
            found.places.push(Place::Start(block));
            found.first_read.push(found.read.len() as u32);
            order += 1;
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                found.order[inst] = order;
                found.places.push(Place::Inst(inst));
                found.first_read.push(found.read.len() as u32);
                data.for_each_use(|reg| found.read.push(reg));
                if is_reachable && has_effect(data) {
                    effects.push(inst);
                }
                if !copies_itself(data) {
                    for dst in distinct_dsts(data) {
                        found.add(dst, Entry { order, inst }, &params, &mut several);
                    }
                }
                order += 1;
            }
            found.block_end[block] = order;
        }
        found.first_read.push(found.read.len() as u32);
        found.share_out(&several);
        (found, effects)
    }

    fn add(&mut self, reg: Reg, entry: Entry, params: &EntitySet<Reg>, several: &mut Vec<(u32, Entry)>) {
        let count = self.of_reg[reg];
        let list = match count {
            // A parameter has its value on entry besides, which a read may mean.
            Count::None if !params.contains(reg) => {
                self.of_reg[reg] = Count::One(entry.inst);
                return;
            }
            Count::Several(list) => list,
            Count::None | Count::One(_) => {
                let list = self.lists.len() as u32;
                self.lists.push(List::default());
                self.of_reg[reg] = Count::Several(list);
                if let Count::One(inst) = count {
                    several.push((list, Entry { order: self.order[inst], inst }));
                    self.lists[list as usize].unneeded = 1;
                }
                list
            }
        };
        several.push((list, entry));
        self.lists[list as usize].unneeded += 1;
    }

    /// Puts the definitions of each list side by side; those of one list come in text order.
    fn share_out(&mut self, several: &[(u32, Entry)]) {
        let mut end = 0;
        for list in &mut self.lists {
            (list.first, list.end) = (end, end);
            end += list.unneeded;
        }
        self.entries = vec![Entry { order: 0, inst: Inst::from_u32(0) }; several.len()];
        for &(list, entry) in several {
            let list = &mut self.lists[list as usize];
            self.entries[list.end as usize] = entry;
            list.end += 1;
            list.near = list.end;
            self.defines_one_of_several.insert(entry.inst);
        }
    }

    /// The index of a list's first entry at a place or behind it.
    fn first_from(&mut self, list: u32, place: u32) -> usize {
        let List { first, end, near, .. } = self.lists[list as usize];
        let (first, mut near, end) = (first as usize, near as usize, end as usize);
        // The search goes through the text backwards, so the answer mostly stands a few entries before the last one.
        let mut steps = 0;
        while steps < STEPS && near > first && self.entries[near - 1].order >= place {
            (near, steps) = (near - 1, steps + 1);
        }
        while steps < STEPS && near < end && self.entries[near].order < place {
            (near, steps) = (near + 1, steps + 1);
        }
        if steps == STEPS {
            near = first + self.entries[first..end].partition_point(|entry| entry.order < place);
        }
        self.lists[list as usize].near = near as u32;
        near
    }

    /// What the instruction at a place reads: a range of `read`.
    fn read_range(&self, order: u32) -> Range<usize> {
        self.first_read[order as usize] as usize..self.first_read[order as usize + 1] as usize
    }

    /// The highest block above this one, or itself, such that no definition stands in a block that it dominates: at its
    /// beginning the register is what it is at this block's. None if a definition stands below this block itself.
    fn highest_without(&mut self, list: u32, func: &Function, ancestors: &Ancestors, block: Block) -> Option<Block> {
        let dominators = ancestors.dominators();
        if !dominators.contains(block) {
            return None;
        }
        let List { first, end, has_numbers, .. } = self.lists[list as usize];
        let range = first as usize..end as usize;
        if !has_numbers {
            self.lists[list as usize].has_numbers = true;
            self.numbers.resize(self.entries.len(), 0);
            for index in range.clone() {
                let block = func.inst_block(self.entries[index].inst).filter(|&block| dominators.contains(block));
                // What is not reachable is in nobody's way.
                self.numbers[index] = block.map_or(u32::MAX, |block| dominators.preorder_number(block));
            }
            self.numbers[range.clone()].sort_unstable();
        }
        let numbers = &self.numbers[range];
        let start = dominators.preorder_number(block);
        let next = numbers.partition_point(|&number| number < start);
        let before = next.checked_sub(1).map(|index| numbers[index]);
        let after = numbers.get(next).copied().unwrap_or(u32::MAX);
        ancestors.highest(block, |above| {
            let start = dominators.preorder_number(above);
            let end = start + dominators.subtree(above).len() as u32;
            before.is_none_or(|before| before < start) && end <= after
        })
    }
}

/// The search for registers that have a definition in every so many blocks or more often. All of them go up together, a
/// bit each; there are at most so many bits for each definition.
struct Often {
    /// The list of each bit.
    lists: Vec<u32>,
    /// How many words a block has.
    words: usize,
    /// By block and word.
    blocks: Vec<OftenWord>,
}

/// A block's bits for 64 registers.
#[derive(Clone, Copy, Default)]
struct OftenWord {
    /// Has the block a definition?
    defined: u64,
    /// Was the register searched for from the block's end?
    searched: u64,
    /// Was it asked for at the block's beginning?
    asked: u64,
    /// Is that still to be passed on?
    pending: u64,
}

/// How many blocks there are for each definition of a register that is defined often, at most.
const OFTEN: usize = 64;

impl Often {
    fn new(func: &Function, definitions: &mut Definitions, cfg: &Cfg) -> Often {
        let mut lists = Vec::new();
        for (index, list) in definitions.lists.iter_mut().enumerate() {
            if ((list.end - list.first) as usize) * OFTEN >= cfg.block_count() {
                list.bit = Some(lists.len() as u32);
                lists.push(index as u32);
            }
        }
        let words = lists.len().div_ceil(u64::BITS as usize);
        let mut blocks = vec![OftenWord::default(); words * cfg.block_count()];
        for (bit, &list) in lists.iter().enumerate() {
            let List { first, end, .. } = definitions.lists[list as usize];
            for entry in &definitions.entries[first as usize..end as usize] {
                if let Some(block) = func.inst_block(entry.inst) {
                    let word = &mut blocks[block.index() * words + bit / u64::BITS as usize];
                    word.defined |= 1 << (bit % u64::BITS as usize);
                }
            }
        }
        Often { lists, words, blocks }
    }

    /// Has the block a definition of the register?
    fn is_defined(&self, block: Block, bit: u32) -> bool {
        let word = self.blocks[block.index() * self.words + (bit / u64::BITS) as usize];
        word.defined >> (bit % u64::BITS) & 1 != 0
    }

    /// Asks for registers of one word at the beginning of a block. Is one of them new?
    fn ask(&mut self, block: Block, word: usize, bits: u64) -> bool {
        let word = &mut self.blocks[block.index() * self.words + word];
        let new = bits & !word.asked;
        word.asked |= new;
        word.pending |= new;
        new != 0
    }

    /// What is to be passed on from the beginning of a block, by word.
    fn take(&mut self, block: Block) -> SmallVec<[u64; 4]> {
        let words = &mut self.blocks[block.index() * self.words..][..self.words];
        words.iter_mut().map(|word| core::mem::take(&mut word.pending)).collect()
    }

    /// Searches for registers from the end of a block: those that were not yet and go through it, and those that were
    /// not yet and are defined in it.
    fn search(&mut self, block: Block, word: usize, bits: u64) -> (u64, u64) {
        let word = &mut self.blocks[block.index() * self.words + word];
        let new = bits & !word.searched;
        word.searched |= new;
        (new & !word.defined, new & word.defined)
    }
}
