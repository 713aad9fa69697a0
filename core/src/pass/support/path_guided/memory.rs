//! Instructions that may change the memory that a load reads.
//!
//! ```text
//! kernel k(x: ptr.global restrict, y: ptr.global restrict)
//! n1: st.global.f32 x[i], v      changes loads of x, not loads of y
//! n2: bar.sync                   changes both, since stores of other threads become visible
//! ```
//!
//! Accesses are divided into classes that never overlap ([`crate::alias::AliasClasses`]), by space
//! and object, so the answers hold for any two executions, in different iterations of a loop too. A
//! load is changed by writes of its class, by barriers unless its memory is private, and by calls.
//! Constants and read-only loads (`.nc`) change at calls alone: lanes may end in a call, and a load
//! that moves before it may fault. Parameters never change.
//!
//! Each class is a *track*; barriers and calls are the last two. An instruction changes one track
//! at most, and a load reads up to three. An instruction keeps its track wherever it moves, because
//! its address keeps its value.
//!
//! Cost: O(instructions).

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::{EntityRef, SecondaryMap};

use super::nodes::Nodes;
use crate::alias::{AliasClasses, Bases, Definitions, Objects, Start};
use crate::ir::{Flags, Function, Inst, Module, Op, Opcode, Operand, Reg, Space};

/// Memory that a load reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::pass) struct Reads {
    /// The class of its writes; None for memory that is never written.
    class: Option<u32>,
    /// Whether only this thread can write it, so that barriers do not change it.
    is_private: bool,
}

/// See the file's head.
pub(in crate::pass) struct Memory {
    /// Track that each instruction changes, plus one; 0 without one.
    changes: SecondaryMap<Inst, u32>,
    /// Memory that each load reads, if that may change.
    reads: SecondaryMap<Inst, Option<Reads>>,
    /// The number of tracks; 0 if nothing is loaded.
    tracks: usize,
}

impl Memory {
    /// The memory of a function.
    pub fn of(module: &Module, func: &Function, nodes: &Nodes) -> Memory {
        let mut memory = Memory { changes: SecondaryMap::new(), reads: SecondaryMap::new(), tracks: 0 };
        let insts = (0..nodes.len()).filter_map(|node| nodes.block(node)).flat_map(|block| func.block_insts(block));
        let concerned: Vec<Inst> = insts.filter(|&inst| is_concerned(func, inst)).collect();
        if !concerned.iter().any(|&inst| func.insts[inst].opcode.op == Op::Ld) {
            return memory;
        }
        let mut bases = Bases::new(func, EqualDefinitions::of(func));
        let objects = Objects { module, func };
        let accesses: Vec<Option<_>> = concerned
            .iter()
            .map(|&inst| {
                let data = &func.insts[inst];
                let address = data.args.iter().find_map(Operand::as_address).filter(|_| !data.opcode.op.is_call())?;
                let base = bases.of(inst, Start::of(func, address));
                Some((data.opcode.space.or_else(|| objects.space(base)), base))
            })
            .collect();
        let keys: Vec<_> = accesses.iter().flatten().copied().collect();
        let (classes, count) = AliasClasses::of_objects(objects, &keys);
        let mut classes = classes.into_iter();
        // One space for each class, or none where it has accesses to several.
        let mut is_private = vec![true; count as usize];
        let mut class_of: Vec<Option<u32>> = Vec::with_capacity(concerned.len());
        for access in &accesses {
            let class = access.and_then(|(space, _)| {
                let class = classes.next()?.as_u32();
                is_private[class as usize] &= matches!(space, Some(Space::Local | Space::Param | Space::Const));
                Some(class)
            });
            class_of.push(class);
        }
        memory.tracks = count as usize + 2;
        for ((&inst, class), access) in concerned.iter().zip(class_of).zip(accesses) {
            let opcode = func.insts[inst].opcode;
            let track = match (class, opcode.op) {
                (_, op) if op.is_call() || op == Op::Ptx => count + 1,
                // Stores of other threads before their release become visible.
                _ if opcode.acquires() => count,
                (Some(class), Op::Ld) if may_be_repeated(opcode) => {
                    let space = access.and_then(|(space, _)| space);
                    let is_written = !opcode.has(Flags::NC) && !space.is_some_and(Space::is_read_only);
                    let is_private = !is_written || is_private[class as usize];
                    let reads = Reads { class: is_written.then_some(class), is_private };
                    memory.reads[inst] = Some(reads).filter(|_| space != Some(Space::Param));
                    continue;
                }
                (Some(class), _) => class,
                (None, _) => count,
            };
            memory.changes[inst] = track + 1;
        }
        memory
    }

    /// Memory that a load reads, if it may change while the program runs.
    pub fn reads(&self, inst: Inst) -> Option<Reads> {
        self.reads[inst]
    }

    /// The number of tracks.
    pub fn track_count(&self) -> usize {
        self.tracks
    }

    /// The track that an instruction changes.
    pub fn change(&self, inst: Inst) -> Option<usize> {
        self.changes[inst].checked_sub(1).map(|track| track as usize)
    }

    /// The track of barriers.
    pub fn barriers(&self) -> usize {
        self.tracks.saturating_sub(2)
    }

    /// The tracks that change what is read.
    pub fn tracks(&self, reads: Reads) -> impl Iterator<Item = usize> {
        let (barriers, calls) = (self.barriers(), self.tracks - 1);
        [reads.class.map(|class| class as usize), (!reads.is_private).then_some(barriers), Some(calls)]
            .into_iter()
            .flatten()
    }

    /// Gives a copy of a load what its origin reads.
    pub fn copies(&mut self, copy: Inst, origin: Inst) {
        let reads = self.reads[origin];
        if reads.is_some() {
            self.reads[copy] = reads;
        }
    }
}

/// Whether a load gives the same value again while nothing writes there.
pub(in crate::pass) fn may_be_repeated(opcode: Opcode) -> bool {
    !opcode.reads_anew()
}

/// Whether an instruction accesses or orders memory.
fn is_concerned(func: &Function, inst: Inst) -> bool {
    let op = func.insts[inst].opcode.op;
    op.reads_memory() && !op.is_texture() || op.writes_memory() || op.is_call() || op.orders_memory()
}

/// The definitions of registers: one instruction, or several that are equal except for their
/// guards.
struct EqualDefinitions {
    /// Whether anything writes each register, and the instruction, unless several differ or a
    /// parameter is in it.
    of: Vec<(bool, Option<Inst>)>,
}

impl EqualDefinitions {
    fn of(func: &Function) -> EqualDefinitions {
        let mut of: Vec<(bool, Option<Inst>)> = vec![(false, None); func.regs.len()];
        for inst in func.block_order().flat_map(|block| func.block_insts(block)) {
            for &reg in &func.insts[inst].dsts {
                let (is_written, only) = &mut of[reg.index()];
                let is_equal = !*is_written || only.is_some_and(|other| are_equal(func, inst, other));
                (*is_written, *only) = (true, is_equal.then_some(inst));
            }
        }
        func.params.iter().filter_map(|param| param.reg).for_each(|reg| of[reg.index()].1 = None);
        EqualDefinitions { of }
    }
}

/// Whether two instructions do the same under whatever guards.
fn are_equal(func: &Function, one: Inst, other: Inst) -> bool {
    let [a, b] = [one, other].map(|inst| &func.insts[inst]);
    a.opcode == b.opcode && a.dsts == b.dsts && a.args == b.args
}

impl Definitions for EqualDefinitions {
    fn only(&self, reg: Reg) -> Option<Inst> {
        self.of[reg.index()].1
    }

    fn is_written(&self, reg: Reg) -> bool {
        self.of[reg.index()].0
    }
}
