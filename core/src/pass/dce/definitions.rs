//! The definitions of a function, by register, and what its instructions read.
//!
//! The search comes to instructions in any order, and looks at little of each. So all that it looks at stands in tables
//! of a few words an instruction, which stay in the caches when the instructions themselves do not.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;

use super::{copies_itself, has_effect};
use crate::graph::Cfg;
use crate::ir::{Block, Function, InstData, Reg};

/// The definitions of one register. A copy of a register into itself is none where something else has assigned the
/// register before: it passes on what was there.
#[derive(Clone, Copy)]
pub(super) enum Count {
    None,
    /// None, but the register has its value on entry, which a read may mean.
    Parameter,
    One(Entry),
    /// An index into [`Definitions::lists`]. A parameter with one definition has a list, too.
    Several(u32),
}

/// The definitions of a register that has several: `entries[first..end]`.
#[derive(Clone, Copy, Default)]
pub(super) struct List {
    pub first: u32,
    pub end: u32,
    /// Where the last look-up ended.
    near: u32,
    /// How many of them are not needed yet.
    pub unneeded: u32,
    /// The block of the first of them in the text; none for a parameter, which has a value on entry.
    first_in: PackedOption<Block>,
    /// The register's bit in [`super::often::Often`], if it is defined often.
    pub bit: Option<u32>,
}

/// One definition: four times its place in the text, two more if its instruction writes another register as well, and
/// one more if it stands under a guard.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry(u32);

impl Entry {
    fn new(place: u32, data: &InstData) -> Entry {
        Entry(place << 2 | u32::from(data.dsts.len() > 1) << 1 | u32::from(data.guard.is_some()))
    }

    pub fn place(self) -> u32 {
        self.0 >> 2
    }

    /// May its instruction write other registers as well?
    pub fn has_company(self) -> bool {
        self.0 & 2 != 0
    }

    pub fn is_guarded(self) -> bool {
        self.0 & 1 != 0
    }
}

/// A place of the text: an instruction, or the beginning of a block.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub block: Block,
    /// An instruction reads `read[first_read..]` up to the next place's. A beginning reads nothing.
    first_read: u32,
    /// The list of the only register that an instruction writes which has several definitions. [`NO_LIST`] where it
    /// writes none, [`LISTS`] where it writes several.
    list: u32,
}

const NO_LIST: u32 = u32::MAX;
const LISTS: u32 = u32::MAX - 1;

/// Entries that are tried one by one before a binary search is worth it.
const STEPS: usize = 8;

/// All definitions by register.
pub(super) struct Definitions {
    pub of_reg: Vec<Count>,
    pub lists: Vec<List>,
    /// In each list in text order.
    pub entries: Vec<Entry>,
    /// The text, and an end.
    pub places: Vec<Place>,
    read: Vec<Reg>,
    /// By block: the place of its beginning, and one more than that of its last instruction.
    pub text_of: Vec<Range<u32>>,
    /// Places of instructions that write several registers with several definitions, and their lists, in text order.
    several_lists: Vec<(u32, u32)>,
}

impl Definitions {
    /// Reads the function once: all definitions, and the places of reachable instructions with an effect.
    pub fn of(func: &Function, cfg: &Cfg) -> (Definitions, Vec<u32>) {
        let mut found = Definitions {
            of_reg: vec![Count::None; func.regs.len()],
            lists: Vec::new(),
            entries: Vec::new(),
            places: Vec::with_capacity(func.insts.len() + func.blocks.len() + 1),
            read: Vec::with_capacity(3 * func.insts.len()),
            text_of: vec![0..0; func.blocks.len()],
            several_lists: Vec::new(),
        };
        for reg in func.params.iter().filter_map(|param| param.reg) {
            found.of_reg[reg.index()] = Count::Parameter;
        }
        let mut effects = Vec::with_capacity(func.insts.len());
        // Definitions of registers that have several, with the register's list.
        let mut several: Vec<(u32, Entry)> = Vec::new();
        for block in func.block_order() {
            let is_reachable = cfg.is_reachable(block);
            let start = found.add_place(block);
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                let place = found.add_place(block);
                data.for_each_use(|reg| found.read.push(reg));
                if is_reachable && has_effect(data) {
                    effects.push(place);
                }
                if !(copies_itself(data) && found.is_assigned_before(data.dsts[0], block, cfg)) {
                    for dst in distinct_dsts(data) {
                        found.add(dst, Entry::new(place, data), &mut several);
                    }
                }
            }
            found.text_of[block.index()] = start..found.places.len() as u32;
        }
        found.add_place(Block::new(0));
        found.share_out(&several);
        (found, effects)
    }

    #[inline]
    fn add_place(&mut self, block: Block) -> u32 {
        let place = self.places.len() as u32;
        self.places.push(Place { block, first_read: self.read.len() as u32, list: NO_LIST });
        place
    }

    /// Is it seen at once that a register may have been assigned on the way to a place in that block that the text comes
    /// to next? A copy of it into itself must stay otherwise: without it the register could be one that is read and that
    /// nothing assigns.
    fn is_assigned_before(&self, reg: Reg, block: Block, cfg: &Cfg) -> bool {
        let first_in = match self.of_reg[reg.index()] {
            Count::None => return false,
            Count::Parameter => None,
            Count::One(entry) => Some(self.places[entry.place() as usize].block),
            Count::Several(list) => self.lists[list as usize].first_in.expand(),
        };
        first_in.is_none_or(|first_in| cfg.is_search_ancestor(first_in, block))
    }

    #[inline]
    fn add(&mut self, reg: Reg, entry: Entry, several: &mut Vec<(u32, Entry)>) {
        let count = &mut self.of_reg[reg.index()];
        let list = match *count {
            Count::None => {
                *count = Count::One(entry);
                return;
            }
            Count::Several(list) => list,
            Count::Parameter | Count::One(_) => {
                let list = self.lists.len() as u32;
                let mut new = List::default();
                if let Count::One(first) = *count {
                    several.push((list, first));
                    new.unneeded = 1;
                    new.first_in = self.places[first.place() as usize].block.into();
                }
                *count = Count::Several(list);
                self.lists.push(new);
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
        self.entries = vec![Entry::default(); several.len()];
        for &(index, entry) in several {
            let list = &mut self.lists[index as usize];
            self.entries[list.end as usize] = entry;
            list.end += 1;
            list.near = list.end;
            let place = &mut self.places[entry.place() as usize];
            if place.list == NO_LIST {
                place.list = index;
                continue;
            }
            if place.list != LISTS {
                self.several_lists.push((entry.place(), place.list));
                place.list = LISTS;
            }
            self.several_lists.push((entry.place(), index));
        }
        self.several_lists.sort_unstable();
    }

    /// The instruction at a place is needed: its definitions are counted.
    #[inline]
    pub fn count_as_needed(&mut self, place: u32) {
        match self.places[place as usize].list {
            NO_LIST => {}
            LISTS => {
                let first = self.several_lists.partition_point(|&(other, _)| other < place);
                let lists = self.several_lists[first..].iter().take_while(|&&(other, _)| other == place);
                lists.for_each(|&(_, list)| self.lists[list as usize].unneeded -= 1);
            }
            list => self.lists[list as usize].unneeded -= 1,
        }
    }

    /// The index of a list's first entry at a place or behind it.
    pub fn first_from(&mut self, list: u32, place: u32) -> usize {
        let List { first, end, near, .. } = self.lists[list as usize];
        let (first, mut near, end) = (first as usize, near as usize, end as usize);
        // The search goes through the text backwards, so the answer mostly stands a few entries before the last one.
        let mut steps = 0;
        while steps < STEPS && near > first && self.entries[near - 1].place() >= place {
            (near, steps) = (near - 1, steps + 1);
        }
        while steps < STEPS && near < end && self.entries[near].place() < place {
            (near, steps) = (near + 1, steps + 1);
        }
        if steps == STEPS {
            near = first + self.entries[first..end].partition_point(|entry| entry.place() < place);
        }
        self.lists[list as usize].near = near as u32;
        near
    }

    /// What the instruction at a place reads: a range of [`Definitions::read`].
    pub fn read_range(&self, place: u32) -> Range<usize> {
        self.places[place as usize].first_read as usize..self.places[place as usize + 1].first_read as usize
    }

    /// A register that an instruction reads.
    pub fn read(&self, index: usize) -> Reg {
        self.read[index]
    }

    /// The blocks of a list's definitions, in text order.
    pub fn blocks_of(&self, list: u32) -> impl Iterator<Item = Block> + '_ {
        let List { first, end, .. } = self.lists[list as usize];
        let entries = self.entries[first as usize..end as usize].iter();
        entries.map(|entry| self.places[entry.place() as usize].block)
    }
}

/// The registers that an instruction writes, each once.
fn distinct_dsts(data: &InstData) -> impl Iterator<Item = Reg> + '_ {
    let dsts = data.dsts.as_slice();
    dsts.iter().enumerate().filter(|(index, dst)| !dsts[..*index].contains(dst)).map(|(_, &dst)| dst)
}
