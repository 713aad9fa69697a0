//! A sectored cache with least-recently-used replacement: tags only, for data are always in memory.
//!
//! A line has 128 bytes in four sectors of 32, which are fetched one by one. The cache is fully associative. All
//! operations take constant time: lines are known by a dense number, and a list through the slots keeps their order.

use alloc::vec;
use alloc::vec::Vec;

/// Bytes of a line.
pub const LINE_BYTES: u64 = 128;
/// Bytes of a sector.
pub const SECTOR_BYTES: u64 = 32;

#[derive(Clone, Copy)]
struct Slot {
    line: u32,
    sectors: u8,
    newer: u32,
    older: u32,
}

/// One level of cache.
pub struct Cache {
    /// For each line of memory: one plus its slot, 0 where it is not cached.
    slot_of: Vec<u32>,
    slots: Vec<Slot>,
    capacity: usize,
    newest: u32,
    oldest: u32,
}

const NONE: u32 = u32::MAX;

impl Cache {
    /// An empty cache of so many bytes over so many lines of memory. Without bytes nothing ever hits.
    pub fn new(bytes: u32, lines: u32) -> Cache {
        let capacity = (u64::from(bytes) / LINE_BYTES) as usize;
        let tracked = if capacity == 0 { 0 } else { lines as usize };
        Cache { slot_of: vec![0; tracked], slots: Vec::new(), capacity, newest: NONE, oldest: NONE }
    }

    /// Reads a sector, by its number in memory: was it there? It is afterwards.
    pub fn read(&mut self, sector: u32) -> bool {
        let (line, bit) = (sector / 4, 1u8 << (sector % 4));
        let Some(&entry) = self.slot_of.get(line as usize) else { return false };
        if entry != 0 {
            let slot = entry - 1;
            self.touch(slot);
            let sectors = &mut self.slots[slot as usize].sectors;
            let hit = *sectors & bit != 0;
            *sectors |= bit;
            return hit;
        }
        let slot = if self.slots.len() < self.capacity {
            self.slots.push(Slot { line, sectors: bit, newer: NONE, older: NONE });
            (self.slots.len() - 1) as u32
        } else {
            let slot = self.oldest;
            self.unlink(slot);
            self.slot_of[self.slots[slot as usize].line as usize] = 0;
            self.slots[slot as usize] = Slot { line, sectors: bit, newer: NONE, older: NONE };
            slot
        };
        self.slot_of[line as usize] = slot + 1;
        self.push_newest(slot);
        false
    }

    /// Forgets a sector that is changed behind this level's back.
    pub fn invalidate(&mut self, sector: u32) {
        if let Some(&entry) = self.slot_of.get((sector / 4) as usize)
            && entry != 0
        {
            self.slots[(entry - 1) as usize].sectors &= !(1 << (sector % 4));
        }
    }

    fn touch(&mut self, slot: u32) {
        if self.newest != slot {
            self.unlink(slot);
            self.push_newest(slot);
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        match newer {
            NONE => self.newest = older,
            _ => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.slots[older as usize].newer = newer,
        }
    }

    fn push_newest(&mut self, slot: u32) {
        let older = self.newest;
        self.slots[slot as usize].newer = NONE;
        self.slots[slot as usize].older = older;
        match older {
            NONE => self.oldest = slot,
            _ => self.slots[older as usize].newer = slot,
        }
        self.newest = slot;
    }
}
