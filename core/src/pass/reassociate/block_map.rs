//! A dense map by register that is emptied at the end of each block.
//!
//! ```text
//! block B    set(a, 1)  set(b, 2)      a: 1   b: 2
//! clear                                a:     b:
//! ```
//!
//! Clearing takes time for the entries that were set, not for the registers of the function.

use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use crate::ir::Reg;

/// Entries of the registers that the current block mentions.
pub struct BlockMap<T> {
    entries: Vec<Option<T>>,
    /// Registers with an entry.
    present: Vec<Reg>,
}

impl<T: Copy> BlockMap<T> {
    /// No entries.
    pub fn new() -> BlockMap<T> {
        BlockMap { entries: Vec::new(), present: Vec::new() }
    }

    /// The entry of a register.
    pub fn get(&self, reg: Reg) -> Option<T> {
        self.entries.get(reg.index()).copied().flatten()
    }

    /// Sets the entry of a register.
    pub fn set(&mut self, reg: Reg, entry: T) {
        if reg.index() >= self.entries.len() {
            self.entries.resize(reg.index() + 1, None);
        }
        if self.entries[reg.index()].replace(entry).is_none() {
            self.present.push(reg);
        }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.present.drain(..).for_each(|reg| self.entries[reg.index()] = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_entries_when_cleared() {
        let [a, b] = [0, 7].map(Reg::from_u32);
        let mut map = BlockMap::new();
        map.set(b, 1);
        map.set(b, 2);
        assert_eq!((map.get(a), map.get(b)), (None, Some(2)));
        map.clear();
        map.set(a, 3);
        assert_eq!((map.get(a), map.get(b)), (Some(3), None));
    }
}
