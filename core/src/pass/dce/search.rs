//! The search for what is needed.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use cranelift_entity::EntityRef;

use super::definitions::{Count, Definitions, Entry};
use super::often::Often;
use super::regions::Regions;
use super::sites::Sites;
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Inst, Reg};
use crate::view::View;

/// The instructions that are needed.
pub(super) struct Needed {
    /// Places of the text, a bit each.
    places: Vec<u64>,
    text_of: Vec<Range<u32>>,
}

impl Needed {
    /// Calls `visit` with the instructions of a block that are not needed, the last one first. It may remove them.
    pub fn for_each_other(&self, view: &mut View<'_>, block: Block, mut visit: impl FnMut(&mut View<'_>, Inst)) {
        let mut next = view.func().layout.last_inst(block);
        let mut place = self.text_of[block.index()].end;
        while let Some(inst) = next {
            next = view.func().layout.prev_inst(inst);
            place -= 1;
            if !contains(&self.places, place) {
                visit(view, inst);
            }
        }
    }
}

/// Is a bit set?
fn contains(words: &[u64], bit: u32) -> bool {
    words[(bit / u64::BITS) as usize] >> (bit % u64::BITS) & 1 != 0
}

/// Finds the instructions that are needed.
pub(super) fn find_needed(view: &mut View<'_>) -> Needed {
    let cfg = view.cfg();
    let (mut definitions, effects) = Definitions::of(view.func(), &cfg);
    let often = Often::new(&mut definitions, &cfg);
    let has_rare = often.lists.len() < definitions.lists.len();
    let dominators = has_rare.then(|| view.dominators());
    let todo = Todo::new(definitions.places.len());
    let search = Search {
        cfg: &cfg,
        dominators: dominators.as_ref(),
        needed: vec![0; todo.words.len()],
        todo,
        definitions,
        often,
        rare: None,
        asked: Vec::new(),
    };
    search.run(effects)
}

/// The search for them.
struct Search<'a> {
    cfg: &'a Cfg,
    /// Known if there are registers that are defined several times, but not often.
    dominators: Option<&'a Rc<Dominators>>,
    /// Places, a bit each.
    needed: Vec<u64>,
    /// Needed instructions whose reads are still to be looked at, and blocks at whose beginning something is asked for.
    todo: Todo,
    definitions: Definitions,
    /// Where registers are that are defined often.
    often: Often,
    /// How the others are searched for, once one is.
    rare: Option<Box<Rare<'a>>>,
    /// Blocks at whose beginnings the register is still asked for that is being searched for.
    asked: Vec<Block>,
}

/// How a register is searched for that is defined several times, but not often.
struct Rare<'a> {
    regions: Regions,
    /// Blocks that the search around regions has come to.
    visits: usize,
    /// Found once those are many; none inside where frontiers are too large.
    sites: Option<Option<Sites<'a>>>,
}

/// How many blocks the function may have for each visit of one around regions, before sites are worth their tables.
const BLOCKS_A_VISIT: usize = 16;

impl Search<'_> {
    fn run(mut self, effects: Vec<u32>) -> Needed {
        for place in effects {
            if self.mark(place) {
                self.definitions.count_as_needed(place);
            }
        }
        while let Some(place) = self.todo.pop() {
            let Range { start, end } = self.definitions.read_range(place);
            if contains(&self.needed, place) {
                for index in start..end {
                    self.need_definitions(self.definitions.read(index), place);
                }
            } else {
                self.go_up_together(self.definitions.places[place as usize].block);
            }
        }
        Needed { places: self.needed, text_of: self.definitions.text_of }
    }

    /// Needs the instruction at a place. Gives whether it was not needed yet.
    #[inline]
    fn mark(&mut self, place: u32) -> bool {
        let (word, bit) = (&mut self.needed[(place / u64::BITS) as usize], 1 << (place % u64::BITS));
        let is_new = *word & bit == 0;
        if is_new {
            *word |= bit;
            self.todo.insert(place);
        }
        is_new
    }

    /// Needs a definition of a register, which has a list if it has several.
    #[inline]
    fn need(&mut self, definition: Entry, list: Option<u32>) {
        if !self.mark(definition.place()) {
            return;
        }
        if definition.has_company() {
            self.definitions.count_as_needed(definition.place());
        } else if let Some(list) = list {
            self.definitions.lists[list as usize].unneeded -= 1;
        }
    }

    /// Needs every definition of a register that reaches the reader at a place.
    #[inline]
    fn need_definitions(&mut self, reg: Reg, reader: u32) {
        let list = match self.definitions.of_reg[reg.index()] {
            Count::None | Count::Parameter => return,
            Count::One(definition) => return self.need(definition, None),
            Count::Several(list) => list,
        };
        // Once all definitions are needed there is nothing left to search for: a register that is only ever written
        // under guards would otherwise be followed to the entry from each of its reads.
        if self.definitions.lists[list as usize].unneeded == 0 {
            return;
        }
        let block = self.definitions.places[reader as usize].block;
        let bit = self.definitions.lists[list as usize].bit;
        if bit.is_some_and(|bit| !self.often.is_defined(block, bit)) || self.need_last(list, block, reader) {
            match bit {
                Some(bit) => self.ask(block, bit),
                None => self.go_up(list, block),
            }
        }
    }

    /// Goes up from the beginning of a block with all registers defined often that are asked for there.
    fn go_up_together(&mut self, block: Block) {
        for word in 0..self.often.words {
            let asked = self.often.take(block, word);
            if asked == 0 {
                continue;
            }
            for &predecessor in self.cfg.predecessors(block) {
                let (through, mut defined) = self.often.search(predecessor, word, asked);
                self.ask_word(predecessor, word, through);
                while defined != 0 {
                    let bit = word as u32 * u64::BITS + defined.trailing_zeros();
                    defined &= defined - 1;
                    let list = self.often.lists[bit as usize];
                    if self.definitions.lists[list as usize].unneeded > 0 && self.need_last_at_end(list, predecessor) {
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
            self.todo.insert(self.definitions.text_of[block.index()].start);
        }
    }

    /// Goes up from the beginning of a block with a register that is defined in a few blocks.
    fn go_up(&mut self, list: u32, block: Block) {
        let Some(dominators) = self.dominators else { return };
        let mut rare = self.rare.take().unwrap_or_else(|| {
            let regions = Regions::new(dominators.clone(), self.cfg, &self.definitions);
            Box::new(Rare { regions, visits: 0, sites: None })
        });
        if rare.sites.is_none() && rare.visits > self.cfg.block_count() / BLOCKS_A_VISIT {
            rare.sites = Some(Sites::new(self.cfg, dominators, &self.definitions));
        }
        if let Some(Some(sites)) = &mut rare.sites
            && sites.find(list, &self.definitions)
        {
            self.go_from_site_to_site(sites, list, block);
        } else {
            rare.visits += self.go_around_regions(&mut rare.regions, list, block);
        }
        self.rare = Some(rare);
    }

    fn go_from_site_to_site(&mut self, sites: &mut Sites<'_>, list: u32, block: Block) {
        sites.ask_at_start(list, block);
        while let Some(block) = sites.next_asked(list) {
            if self.definitions.lists[list as usize].unneeded > 0 && self.need_last_at_end(list, block) {
                sites.ask_at_start(list, block);
            }
        }
    }

    /// Gives how many blocks it came to.
    fn go_around_regions(&mut self, regions: &mut Regions, list: u32, block: Block) -> usize {
        let mut visits = 0;
        self.asked.push(block);
        while let Some(block) = self.asked.pop() {
            if self.definitions.lists[list as usize].unneeded == 0 {
                continue;
            }
            visits += 1;
            let top = regions.highest_without(list, &self.definitions, block);
            for &predecessor in self.cfg.predecessors(top.unwrap_or(block)) {
                // What comes back from a region without definitions went in at its top.
                let comes_back = top.is_some_and(|top| regions.dominators().dominates(top, predecessor));
                if !comes_back && regions.ask(list, predecessor) && self.need_last_at_end(list, predecessor) {
                    self.asked.push(predecessor);
                }
            }
        }
        visits
    }

    /// Needs those definitions of a block that can be the last ones to write. Gives whether none of them ends the search.
    fn need_last_at_end(&mut self, list: u32, block: Block) -> bool {
        self.need_last(list, block, self.definitions.text_of[block.index()].end)
    }

    /// The same for the definitions of a block before a place in it.
    fn need_last(&mut self, list: u32, block: Block, before: u32) -> bool {
        // Blocks stand in the order of the text, so a block's definitions are neighbours.
        let start = self.definitions.text_of[block.index()].start;
        let first = self.definitions.lists[list as usize].first as usize;
        let mut index = self.definitions.first_from(list, before);
        while index > first {
            index -= 1;
            let entry = self.definitions.entries[index];
            if entry.place() < start {
                break;
            }
            self.need(entry, Some(list));
            if !entry.is_guarded() {
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
