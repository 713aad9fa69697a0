//! Versions of memory: the definition that a load reads, and the one that a store makes.
//!
//! ```text
//!     ld x[i]          version 0: memory on entry
//!     st x[i + 1], v   version 1
//!     ld x[i]          version 0: the store writes another address
//!     bar.sync         version 2: other threads may have written
//!     ld x[i]          version 2
//! ```
//!
//! Algorithm:
//! 1. Collect the instructions that concern memory and the object that each one accesses, and sort
//!    the accesses into classes that never meet ([`AliasClasses`]). Each class is one variable.
//! 2. A store defines its class; a barrier, or an access that acquires, every class that other
//!    threads write; a call every class that anything writes.
//! 3. Place joins of each class on the iterated dominance frontier of its definitions.
//! 4. Walk down the dominator tree and give each definition and join a version.
//! 5. On request, skip the versions whose stores cannot meet an address ([`Memory::refine`]). Only
//!    then addresses are written as sums.
//!
//! Sound because no definition lies on a path between two accesses of one version: a path through a
//! definition comes to a join of its class, or to a place that the definition dominates.
//!
//! Cost: O(instructions + joins + classes · barriers), and [`MAX_STEPS`] definitions for each
//! refined version.
//!
//! Source: D. Novillo, Memory SSA: a unified approach for sparsely representing memory operations,
//! GCC Summit 2007.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl};

use super::expressions::Number;
use crate::alias::{Access, AliasAnalysis, AliasClass, AliasClasses, Bases, Moment, Objects, Relation, Start};
use crate::flow::Values;
use crate::graph::{Cfg, Dominators, IteratedFrontier};
use crate::ir::{Block, Function, Inst, Module, Op, Operand, Space};
use crate::symbolic::Base;

/// A refined version is the one after this many definitions.
const MAX_STEPS: usize = 64;

/// A version of one class of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::pass) struct Version(u32);
entity_impl!(Version, "memory");

/// Memory on entry.
const ENTRY: Version = Version(0);

struct VersionData {
    /// Version before it on the path from the root of the dominator tree.
    before: Version,
    /// Defining instruction; none on entry and for joins.
    maker: PackedOption<Inst>,
    /// Version with the same memory: another one if its store stores what is in memory already.
    equal: Version,
}

/// A load, store or atomic.
struct AccessData {
    before: Version,
    /// Version that it defines, if it writes.
    after: Option<Version>,
    /// Number of its address, once known.
    address: Option<Number>,
    /// Its address as a sum, once needed; then none if the sum is too long.
    access: Option<Option<Access>>,
    /// Version that it reads at its address, once needed.
    refined: Option<Version>,
}

/// The versions of a function's memory.
pub(super) struct Memory {
    versions: PrimaryMap<Version, VersionData>,
    accesses: Vec<AccessData>,
    /// Positions in `accesses`, from 1; 0 for other instructions.
    access_of: SecondaryMap<Inst, u32>,
}

impl Memory {
    /// The versions of a function; none if it has fewer than `least` loads.
    pub fn compute(
        (module, func): (&Module, &Function),
        (cfg, dominators): (&Cfg, &Dominators),
        values: &Values,
        least: usize,
    ) -> Option<Memory> {
        let blocks = dominators.preorder().iter();
        let all = blocks.flat_map(|&block| func.block_insts(block).map(move |inst| (block, inst)));
        let concerned: Vec<_> = all.filter(|&(_, inst)| concerns_memory(func.insts[inst].opcode.op)).collect();
        if concerned.iter().filter(|&&(_, inst)| func.insts[inst].opcode.op == Op::Ld).count() < least {
            return None;
        }
        let classes = Classes::new((module, func), values, &concerned);
        let joins = classes.joins(func, &concerned, cfg, dominators);
        let mut memory = Memory {
            versions: PrimaryMap::with_capacity(concerned.len()),
            accesses: Vec::with_capacity(concerned.len()),
            access_of: SecondaryMap::with_capacity(func.insts.len()),
        };
        memory.number_versions(func, dominators, &classes, &concerned, &joins);
        Some(memory)
    }

    /// Walks down the dominator tree and numbers all definitions and joins.
    fn number_versions(
        &mut self,
        func: &Function,
        dominators: &Dominators,
        classes: &Classes,
        concerned: &[(Block, Inst)],
        joins: &SecondaryMap<Block, Vec<AliasClass>>,
    ) {
        self.versions.push(VersionData { before: ENTRY, maker: None.into(), equal: ENTRY });
        let mut now: SecondaryMap<AliasClass, Version> = SecondaryMap::with_default(ENTRY);
        let mut undo: Vec<(AliasClass, Version)> = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut concerned = concerned.iter().peekable();
        for (place, &block) in dominators.preorder().iter().enumerate() {
            while let Some((_, first)) = open.pop_if(|(end, _)| *end <= place) {
                undo.drain(first..).rev().for_each(|(class, version)| now[class] = version);
            }
            open.push((place + dominators.subtree(block).len(), undo.len()));
            let mut define = |class: AliasClass, maker: Option<Inst>, now: &mut SecondaryMap<AliasClass, Version>| {
                let (before, equal) = (now[class], self.versions.next_key());
                undo.push((class, before));
                now[class] = self.versions.push(VersionData { before, maker: maker.into(), equal });
            };
            joins[block].iter().for_each(|&class| define(class, None, &mut now));
            while let Some(&(_, inst)) = concerned.next_if(|(of, _)| *of == block) {
                let own = classes.of[inst].expand().map(|class| (class, now[class]));
                classes.defined_by(func, inst).iter().for_each(|&class| define(class, Some(inst), &mut now));
                if let Some((class, before)) = own {
                    let after = Some(now[class]).filter(|&after| after != before);
                    self.accesses.push(AccessData { before, after, address: None, access: None, refined: None });
                    self.access_of[inst] = self.accesses.len() as u32;
                }
            }
        }
    }

    /// True for loads, stores and atomics with an address.
    pub fn has_access(&self, inst: Inst) -> bool {
        self.access_of[inst] != 0
    }

    /// The version before an access.
    pub fn before(&self, inst: Inst) -> Option<Version> {
        Some(self.versions[self.access(inst)?.before].equal)
    }

    /// The version after a store.
    pub fn after(&self, inst: Inst) -> Option<Version> {
        Some(self.versions[self.access(inst)?.after?].equal)
    }

    /// The version that a load was found to read at its address, if that was needed.
    pub fn refined(&self, inst: Inst) -> Option<Version> {
        self.access(inst)?.refined
    }

    /// The instruction that made a version; none on entry and for joins.
    pub fn maker(&self, version: Version) -> Option<Inst> {
        self.versions[version].maker.expand()
    }

    /// Notes the number of an access's address.
    pub fn set_address(&mut self, inst: Inst, address: Number) {
        if let Some(access) = self.access_mut(inst) {
            access.address = Some(address);
        }
    }

    /// Notes that a store stores what is in memory already. That has been decided for all stores
    /// before it.
    pub fn ignore_store(&mut self, inst: Inst) {
        if let Some(after) = self.access(inst).and_then(|access| access.after) {
            self.versions[after].equal = self.versions[self.versions[after].before].equal;
        }
    }

    /// The version before an access, without the definitions that cannot change the memory at its
    /// address.
    pub fn refine(&mut self, alias: AliasAnalysis<'_>, inst: Inst) -> Option<Version> {
        let mut version = self.before(inst)?;
        for _ in 0..MAX_STEPS {
            // No value changes its number between definition and access, since the definition
            // dominates the access.
            match self.maker(version) {
                Some(maker) if !self.may_meet(alias, inst, maker) => {}
                _ => break,
            }
            version = self.versions[self.versions[version].before].equal;
        }
        self.access_mut(inst)?.refined = Some(version);
        Some(version)
    }

    fn may_meet(&mut self, alias: AliasAnalysis<'_>, a: Inst, b: Inst) -> bool {
        let address = |inst| self.access(inst)?.address;
        if address(a).is_some() && address(a) == address(b) {
            return true;
        }
        for inst in [a, b] {
            if let Some(access) = self.access_mut(inst) {
                access.access.get_or_insert_with(|| alias.access(inst));
            }
        }
        let access = |inst| self.access(inst)?.access.as_ref()?.as_ref();
        match (access(a), access(b)) {
            (Some(a), Some(b)) => alias.relation(a, b, Moment::Same) != Relation::No,
            _ => true,
        }
    }

    fn access(&self, inst: Inst) -> Option<&AccessData> {
        self.accesses.get((self.access_of[inst] as usize).checked_sub(1)?)
    }

    fn access_mut(&mut self, inst: Inst) -> Option<&mut AccessData> {
        self.accesses.get_mut((self.access_of[inst] as usize).checked_sub(1)?)
    }
}

/// The classes of accesses, and what changes each one.
struct Classes {
    /// Classes of loads, stores and atomics; none for barriers, calls and accesses that acquire.
    of: SecondaryMap<Inst, PackedOption<AliasClass>>,
    all: Vec<AliasClass>,
    /// Classes that other threads write.
    shared: Vec<AliasClass>,
    /// Classes that anything writes.
    written: Vec<AliasClass>,
}

impl Classes {
    fn new((module, func): (&Module, &Function), values: &Values, concerned: &[(Block, Inst)]) -> Classes {
        let objects = Objects { module, func };
        let mut bases = Bases::new(func, values);
        let mut object = |inst: Inst| -> Option<(Option<Space>, Base)> {
            let opcode = func.insts[inst].opcode;
            // An access that acquires makes visible what others have stored anywhere: its address
            // says nothing.
            let has_address = !opcode.op.is_call() && !opcode.op.orders_memory() && !opcode.acquires();
            let address = func.insts[inst].args.iter().find_map(Operand::as_address).filter(|_| has_address)?;
            let base = bases.of(inst, Start::of(func, address));
            Some((opcode.space.or_else(|| objects.space(base)), base))
        };
        let found = concerned.iter().filter_map(|&(_, inst)| Some((inst, object(inst)?)));
        let (insts, keys): (Vec<Inst>, Vec<_>) = found.unzip();
        let (classes, count) = AliasClasses::of_objects(objects, &keys);
        let mut of = SecondaryMap::with_capacity(func.insts.len());
        let (mut is_shared, mut is_written) = (vec![false; count as usize], vec![false; count as usize]);
        for ((&inst, &(space, _)), class) in insts.iter().zip(&keys).zip(classes) {
            of[inst] = class.into();
            is_shared[class.index()] |= !matches!(space, Some(Space::Local | Space::Param | Space::Const));
            is_written[class.index()] |= !matches!(space, Some(Space::Param | Space::Const));
        }
        let all: Vec<AliasClass> = (0..count as usize).map(AliasClass::new).collect();
        let those = |is_one: Vec<bool>| all.iter().copied().filter(|class| is_one[class.index()]).collect();
        let (shared, written) = (those(is_shared), those(is_written));
        Classes { of, shared, written, all }
    }

    /// The classes that an instruction defines.
    fn defined_by(&self, func: &Function, inst: Inst) -> &[AliasClass] {
        let op = func.insts[inst].opcode.op;
        match self.of[inst].expand() {
            Some(class) if op.writes_memory() => &self.all[class.index()..=class.index()],
            Some(_) => &[],
            None if op.is_call() => &self.written,
            None => &self.shared,
        }
    }

    /// The classes that join at each block.
    fn joins(
        &self,
        func: &Function,
        concerned: &[(Block, Inst)],
        cfg: &Cfg,
        dominators: &Dominators,
    ) -> SecondaryMap<Block, Vec<AliasClass>> {
        let mut defining: SecondaryMap<AliasClass, Vec<Block>> = SecondaryMap::new();
        for &(block, inst) in concerned {
            for &class in self.defined_by(func, inst) {
                if defining[class].last() != Some(&block) {
                    defining[class].push(block);
                }
            }
        }
        let mut frontier = IteratedFrontier::new(cfg, dominators);
        let mut joins: SecondaryMap<Block, Vec<AliasClass>> = SecondaryMap::new();
        for (class, blocks) in defining.iter().filter(|(_, blocks)| !blocks.is_empty()) {
            frontier.in_any_order(blocks).into_iter().for_each(|block| joins[block].push(class));
        }
        joins
    }
}

/// True for instructions that read or write memory that anybody writes, or order such accesses.
pub(super) const fn concerns_memory(op: Op) -> bool {
    let reads = op.reads_memory() && !op.is_texture();
    reads || op.writes_memory() || op.orders_memory()
}
