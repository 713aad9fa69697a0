//! Which nodes may change the memory that a load reads.
//!
//! ```text
//! kernel k(x: ptr.global restrict, y: ptr.global restrict)
//! n1: st.global.f32 x[i], v      changes what loads of x read, and not what loads of y do
//! n2: bar.sync                   changes what loads of both read, as other threads' stores come through
//! ```
//!
//! Memory is a few classes of accesses that never meet those of another one ([`crate::alias::AliasClasses`]), told apart by
//! space and object, so that what is said of two instructions holds at all times, in different iterations of a loop too. A
//! load is changed by what writes its class, by barriers where other threads may write, and by calls where anybody may.
//! Constants, parameters and what is loaded as read-only (`.nc`) never change.
//!
//! Linear in the instructions; a question about a node takes a logarithm of those that write.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::{EntityRef, SecondaryMap};

use super::nodes::{Node, Nodes};
use crate::alias::{AliasClasses, Bases, Definitions, Objects, Start};
use crate::ir::{Flags, Function, Inst, Module, Op, Opcode, Operand, Reg, Space};

/// Memory that a load reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::pass) struct Reads {
    class: u32,
    /// Do barriers not change it?
    is_private: bool,
}

/// See the file's head.
pub(in crate::pass) struct Memory {
    /// One more than the track that each instruction changes; 0 for most.
    changes: SecondaryMap<Inst, u32>,
    /// Memory that each load reads, if it may change.
    reads: SecondaryMap<Inst, Option<Reads>>,
    /// Nodes that change each track, in order. The tracks are the classes, then barriers, then calls.
    nodes: Vec<Vec<u32>>,
}

impl Memory {
    /// That of a function.
    pub fn of(module: &Module, func: &Function, nodes: &Nodes) -> Memory {
        let mut memory = Memory { changes: SecondaryMap::new(), reads: SecondaryMap::new(), nodes: Vec::new() };
        let in_order = (0..nodes.len()).filter_map(|node| Some((node, nodes.block(node)?)));
        let insts = in_order.flat_map(|(node, block)| func.block_insts(block).map(move |inst| (node, inst)));
        let concerned: Vec<(Node, Inst)> = insts.filter(|&(_, inst)| is_concerned(func, inst)).collect();
        if !concerned.iter().any(|&(_, inst)| func.insts[inst].opcode.op == Op::Ld) {
            return memory;
        }
        let mut bases = Bases::new(func, Only::of(func));
        let objects = Objects { module, func };
        let accesses: Vec<Option<_>> = concerned
            .iter()
            .map(|&(_, inst)| {
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
        memory.nodes = vec![Vec::new(); count as usize + 2];
        for ((&(node, inst), class), access) in concerned.iter().zip(class_of).zip(accesses) {
            let opcode = func.insts[inst].opcode;
            let track = match (class, opcode.op) {
                (_, op) if op.is_call() => count + 1,
                // What others have stored before they let go of something is seen behind it.
                _ if opcode.acquires() => count,
                (Some(class), Op::Ld) if may_be_repeated(opcode) => {
                    let never_changes = opcode.has(Flags::NC)
                        || access.is_some_and(|(space, _)| space.is_some_and(Space::is_read_only));
                    let is_private = is_private[class as usize];
                    memory.reads[inst] = (!never_changes).then_some(Reads { class, is_private });
                    continue;
                }
                (Some(class), _) => class,
                (None, _) => count,
            };
            memory.changes[inst] = track + 1;
            let changing = &mut memory.nodes[track as usize];
            if changing.last() != Some(&(node as u32)) {
                changing.push(node as u32);
            }
        }
        memory
    }

    /// Memory that a load reads, if it may change while the program runs.
    pub fn reads(&self, inst: Inst) -> Option<Reads> {
        self.reads[inst]
    }

    /// May a node change what is read?
    pub fn may_change(&self, reads: Reads, node: Node) -> bool {
        self.tracks(reads).any(|track| self.nodes[track].binary_search(&(node as u32)).is_ok())
    }

    /// For a walk over the instructions of blocks.
    pub fn changes(&self) -> Changes<'_> {
        Changes { memory: self, last: vec![0; self.nodes.len()], touched: Vec::new() }
    }

    fn tracks(&self, reads: Reads) -> impl Iterator<Item = usize> {
        let (barriers, calls) = (self.nodes.len() - 2, self.nodes.len() - 1);
        [Some(reads.class as usize), (!reads.is_private).then_some(barriers), Some(calls)].into_iter().flatten()
    }
}

/// Changes by the instructions of a block up to some place.
pub(in crate::pass) struct Changes<'a> {
    memory: &'a Memory,
    /// Last place of each track, from 1; 0 for none.
    last: Vec<u32>,
    touched: Vec<usize>,
}

impl Changes<'_> {
    /// The walk comes to an instruction, at that place from 1.
    pub fn visit(&mut self, inst: Inst, place: u32) {
        if let Some(track) = self.memory.changes[inst].checked_sub(1) {
            self.last[track as usize] = place;
            self.touched.push(track as usize);
        }
    }

    /// The last place that may have changed what is read; 0 for none.
    pub fn last(&self, reads: Reads) -> u32 {
        self.memory.tracks(reads).map(|track| self.last[track]).max().unwrap_or(0)
    }

    /// The walk comes to another block.
    pub fn clear(&mut self) {
        for track in self.touched.drain(..) {
            self.last[track] = 0;
        }
    }
}

/// Does a load give what it would give again while nothing writes there?
pub(in crate::pass) fn may_be_repeated(opcode: Opcode) -> bool {
    !opcode.reads_anew()
}

/// Does it have to do with memory that anybody writes?
fn is_concerned(func: &Function, inst: Inst) -> bool {
    let op = func.insts[inst].opcode.op;
    op.reads_memory() && !op.is_texture() || op.writes_memory() || op.is_call() || op.orders_memory()
}

/// The registers that one instruction writes, without a guard.
struct Only {
    /// Number of writers of each register, and the last of them.
    writers: Vec<(u32, Option<Inst>)>,
}

impl Only {
    fn of(func: &Function) -> Only {
        let mut writers = vec![(0, None); func.regs.len()];
        for inst in func.block_order().flat_map(|block| func.block_insts(block)) {
            let data = &func.insts[inst];
            for &reg in &data.dsts {
                let (count, last) = &mut writers[reg.index()];
                *count += 1;
                *last = data.guard.is_none().then_some(inst);
            }
        }
        Only { writers }
    }
}

impl Definitions for Only {
    fn only(&self, reg: Reg) -> Option<Inst> {
        let (count, last) = self.writers[reg.index()];
        last.filter(|_| count == 1)
    }

    fn is_written(&self, reg: Reg) -> bool {
        self.writers[reg.index()].0 > 0
    }
}
