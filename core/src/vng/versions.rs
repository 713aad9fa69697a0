//! Versions of memory: between which changes the memory at one address stays the same.
//!
//! ```text
//! s: st p[0], a      *(p) after this store          l: st p[0], b      *(p) after this one
//! m: y = ld p[0]     *(p) is a join of m: along the edge from s after s's store, from l after l's
//! ```
//!
//! 1. From a point, the block is searched backward for the last instruction that may change the
//!    memory, down to the definition of its address.
//! 2. Without one, predecessors are searched, and so on: the blocks at whose start this is open.
//! 3. Each of them is taken for a join of versions. A join into which all edges bring one version,
//!    or the join itself, is that version; this is repeated until nothing changes.
//!
//! Then memory in a version is a number that does not change, like a value.
//!
//! Cost: O(blocks and changes between a point and the definition of the address), once for each
//! address, times the depth of loops. Limit: blocks whose start is open, over all addresses; there
//! the thread ends. In irreducible loops versions that are equal may keep two joins; synonyms find
//! them.
//!
//! Source of the joins: M. Braun et al., Simple and efficient construction of static single
//! assignment form, CC 2013, section 2.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntitySet;
use hashbrown::HashMap;

use super::definitions::{AtomDefinitions, Latest};
use super::memory::Memory;
use super::threads::Shape;
use crate::compact_sort::CompactSort;
use crate::ir::Block;
use crate::names::{MemoryVersion, Name, NameTable};

/// The versions of the memory that addresses read.
pub struct MemoryVersions<'v, 'a> {
    shape: Shape<'a>,
    memory: &'v Memory<'a>,
    /// The version of each load's memory at the start of blocks.
    at_start: HashMap<(Name, Block), MemoryVersion>,
    /// Most starts of blocks.
    limit: usize,
}

/// A load whose memory is followed.
struct VersionSearch<'s, 'a> {
    table: &'s NameTable<'a>,
    load: Name,
    /// The definition of its address.
    latest: Option<Latest>,
}

impl<'v, 'a> MemoryVersions<'v, 'a> {
    /// No versions yet.
    pub fn new(shape: Shape<'a>, memory: &'v Memory<'a>, limit: usize) -> MemoryVersions<'v, 'a> {
        MemoryVersions { shape, memory, at_start: HashMap::new(), limit }
    }

    /// Are there as many versions as there may be?
    pub fn is_full(&self) -> bool {
        self.at_start.len() >= self.limit
    }

    /// The version of a load's memory before a place of a block, where its address is known. None where there are too
    /// many versions.
    pub fn before(
        &mut self,
        definitions: &AtomDefinitions<'_>,
        table: &NameTable<'_>,
        load: Name,
        (block, place): (Block, u32),
    ) -> Option<MemoryVersion> {
        if table.is_never_written(load) {
            return Some(MemoryVersion::First);
        }
        let latest = definitions.latest(table, load).map(|(latest, _)| latest);
        let search = VersionSearch { table, load, latest };
        self.inside(&search, block, place).or_else(|| self.start(&search, block))
    }

    /// The version before a place, if it begins in the block.
    fn inside(&self, search: &VersionSearch<'_, '_>, block: Block, place: u32) -> Option<MemoryVersion> {
        let latest = search.latest.filter(|latest| latest.block == block);
        let start = latest.map_or(0, |latest| latest.place);
        let mut changes = self.memory.before(block, place).take_while(|change| change.place >= start);
        let change = changes.find(|change| self.memory.may_change(search.table, change, search.load));
        change.map(|change| MemoryVersion::After(change.inst)).or(latest.map(|_| MemoryVersion::First))
    }

    /// The version at the start of a block.
    fn start(&mut self, search: &VersionSearch<'_, '_>, block: Block) -> Option<MemoryVersion> {
        if let Some(&known) = self.at_start.get(&(search.load, block)) {
            return Some(known);
        }
        let Shape { cfg, .. } = self.shape;
        // The blocks whose start is open, and the versions at the ends of the others.
        let mut open: Vec<Block> = vec![block];
        let mut ends: HashMap<Block, MemoryVersion> = HashMap::new();
        let mut seen = EntitySet::new();
        seen.insert(block);
        let mut next = 0;
        while next < open.len() {
            for edge in self.shape.edges_into(open[next]) {
                let source = cfg.source(edge);
                if ends.contains_key(&source) {
                    continue;
                }
                if let Some(end) = self.inside(search, source, u32::MAX) {
                    ends.insert(source, end);
                } else if !self.at_start.contains_key(&(search.load, source)) && seen.insert(source) {
                    open.push(source);
                }
            }
            next += 1;
        }
        if self.at_start.len() + open.len() > self.limit {
            self.limit = 0;
            return None;
        }
        open.compact_sort_by_key(|&block| cfg.position(block));
        open.iter().for_each(|&block| _ = self.at_start.insert((search.load, block), MemoryVersion::Join(block)));
        loop {
            let mut has_changed = false;
            for &block in &open {
                let version = self.meet(search.load, block, &ends);
                has_changed |= self.at_start.insert((search.load, block), version) != Some(version);
            }
            if !has_changed {
                break;
            }
        }
        Some(self.at(search.load, block))
    }

    /// The version at the start of a block, joins that are one version resolved.
    fn at(&self, load: Name, mut block: Block) -> MemoryVersion {
        loop {
            match self.at_start.get(&(load, block)).copied() {
                Some(MemoryVersion::Join(other)) if other != block => block = other,
                version => return version.unwrap_or(MemoryVersion::Join(block)),
            }
        }
    }

    /// The one version that edges bring into a block, or a join of several.
    fn meet(&self, load: Name, block: Block, ends: &HashMap<Block, MemoryVersion>) -> MemoryVersion {
        let join = MemoryVersion::Join(block);
        let cfg = self.shape.cfg;
        let along = self.shape.edges_into(block).map(|edge| {
            let source = cfg.source(edge);
            ends.get(&source).copied().unwrap_or_else(|| self.at(load, source))
        });
        let mut others =
            along.chain(cfg.is_entry(block).then_some(MemoryVersion::First)).filter(|&version| version != join);
        match others.next() {
            Some(first) if others.all(|version| version == first) => first,
            _ => join,
        }
    }
}
