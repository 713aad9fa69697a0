//! Writes as profiles name them, and what profiles say of zeros.
//!
//! ```text
//! n1: r = add a, b        n1.r
//!     s = mov r           n1.s
//!     r = mul r, s        n1.r#1: the block's writes of a register are counted from 0
//! profile zero {
//!     n1.r#1: 0.5         said of the multiplication; sunk into n2, it is printed as n2.r
//! }
//! ```
//!
//! A name counts the writes that stand before one, so it is another whenever one of these comes or
//! goes. What a profile says is therefore kept by the instruction and its register. It stays true
//! wherever the instruction is put, is said of nothing where the instruction is gone or writes the
//! register no more, and gets its name when it is printed.
//!
//! Source of what is said: AZP, section 3.2.

use alloc::rc::Rc;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use hashbrown::HashMap;
use smallvec::{SmallVec, smallvec};

use super::entities::{Block, Inst, Reg};
use super::function::{Function, Profile};

/// One write of a register by its name: `block.register#k`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Write {
    /// The block.
    pub block: Block,
    /// The register.
    pub reg: Reg,
    /// Which of the block's writes of the register, from 0.
    pub occurrence: u32,
}

/// A write that a zero profile speaks of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ZeroWrite {
    /// Result of an instruction in a register.
    Of {
        /// The instruction.
        inst: Inst,
        /// The register.
        reg: Reg,
    },
    /// Write of this name, if there is one; see [`Function::find_named_writes`].
    Named(Write),
}

/// `block.register#k: p`, or of several writes `block.register#k & block.register#k: p`.
#[derive(Clone, PartialEq, Debug)]
pub struct ZeroEntry {
    /// The writes.
    pub writes: SmallVec<[ZeroWrite; 1]>,
    /// Probability (0–1) that all active lanes of the warp get zero; of several writes, that their
    /// registers are all zero in them when the last has been written.
    pub probability: f64,
}

impl ZeroEntry {
    /// Creates the entry of one write.
    pub fn of(write: ZeroWrite, probability: f64) -> ZeroEntry {
        ZeroEntry { writes: smallvec![write], probability }
    }
}

/// The names of the writes that zero profiles of a function speak of.
pub struct ZeroNames(HashMap<(Inst, Reg), Option<Write>>);

impl Function {
    /// Visits the writes of registers in the order of the text, by their names.
    pub fn for_each_write(&self, mut visit: impl FnMut(Inst, Write)) {
        // By register: the last block that writes it, and how often it has done so.
        let mut counts: SecondaryMap<Reg, (PackedOption<Block>, u32)> = SecondaryMap::with_capacity(self.regs.len());
        for block in self.block_order() {
            for inst in self.block_insts(block) {
                for &reg in &self.insts[inst].dsts {
                    let count = &mut counts[reg];
                    let occurrence = if count.0 == block.into() { count.1 } else { 0 };
                    *count = (block.into(), occurrence + 1);
                    visit(inst, Write { block, reg, occurrence });
                }
            }
        }
    }

    /// Lets zero profiles speak of the writes that they name, as far as there are any of these names.
    pub fn find_named_writes(&mut self) {
        let mut found: HashMap<Write, Option<Inst>> = HashMap::new();
        found.extend(self.zero_writes().filter_map(|write| match write {
            ZeroWrite::Named(name) => Some((name, None)),
            ZeroWrite::Of { .. } => None,
        }));
        if found.is_empty() {
            return;
        }
        self.for_each_write(|inst, write| {
            if let Some(writer) = found.get_mut(&write) {
                *writer = Some(inst);
            }
        });
        for profile in &mut self.profiles {
            let Profile::Zero(entries) = profile else { continue };
            for write in Rc::make_mut(entries).iter_mut().flat_map(|entry| &mut entry.writes) {
                if let ZeroWrite::Named(name) = *write
                    && let Some(&Some(inst)) = found.get(&name)
                {
                    *write = ZeroWrite::Of { inst, reg: name.reg };
                }
            }
        }
    }

    /// The writes that zero profiles speak of, as often as they do.
    pub fn zero_writes(&self) -> impl Iterator<Item = ZeroWrite> + '_ {
        let zeros = self.profiles.iter().filter_map(|profile| match profile {
            Profile::Zero(entries) => Some(entries.iter()),
            _ => None,
        });
        zeros.flatten().flat_map(|entry| entry.writes.iter().copied())
    }

    /// Does an instruction that stands in the function write that register?
    pub fn has_write(&self, inst: Inst, reg: Reg) -> bool {
        self.inst_block(inst).is_some() && self.insts[inst].dsts.contains(&reg)
    }

    /// Names of the writes that zero profiles refer to.
    pub fn zero_names(&self) -> ZeroNames {
        let mut names = HashMap::new();
        names.extend(self.zero_writes().filter_map(|write| match write {
            ZeroWrite::Of { inst, reg } => Some(((inst, reg), None)),
            ZeroWrite::Named(_) => None,
        }));
        if !names.is_empty() {
            self.for_each_write(|inst, write| {
                if let Some(name @ None) = names.get_mut(&(inst, write.reg)) {
                    *name = Some(write);
                }
            });
        }
        ZeroNames(names)
    }
}

impl ZeroNames {
    /// Returns the name of a write. None where it was removed, or the block that its name refers to.
    pub fn of(&self, func: &Function, write: ZeroWrite) -> Option<Write> {
        match write {
            ZeroWrite::Of { inst, reg } => self.0.get(&(inst, reg)).copied().flatten(),
            ZeroWrite::Named(name) => Some(name).filter(|name| func.layout.has_block(name.block)),
        }
    }

    /// Returns the names of the writes of an entry. None where one of them was removed: then the entry is void.
    pub fn of_entry(&self, func: &Function, entry: &ZeroEntry) -> Option<SmallVec<[Write; 1]>> {
        entry.writes.iter().map(|&write| self.of(func, write)).collect()
    }
}
