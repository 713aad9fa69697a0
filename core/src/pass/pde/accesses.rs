//! Accesses to registers, by node.
//!
//! ```text
//! n: x = mul.f32 a, b      of x: first touched at 0, last at 1, last written at 0, not read before it is written
//!    y = add.f32 x, 1.0    of a: touched at 0, read before it is written
//! ```
//!
//! The same for memory, of which each [class](super::memory) is something by itself.
//!
//! The same in short by register ([`touching`](super::touching)).
//!
//! Kept while the function changes ([`moves`](super::moves)): places are numbers with room between them, so that what is put
//! in gets one of its own, and the others keep theirs.
//!
//! Linear; what a question about one node takes is said with its [signature](super::signature), of which mostly one bit says that
//! it does not touch the register.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::memory::{Access, Classes, Effects, is_changing_load, may_change_memory};
use super::signature::{Signature, rank};
use super::touching::{self, AllTouching, Touched, Touching, tell};
use crate::ir::{Block, Function, Inst, Module, Reg};
use crate::pass::path_guided::nodes::{Node, Nodes};

/// No place.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Between the places of one instruction and the next, in functions that are not so large that there are not enough numbers. Less
/// where debugging, so that tests see places run out.
const STEP: u32 = if cfg!(debug_assertions) { 8 } else { 256 };

/// Instructions of functions that are so large.
const TOO_MANY: usize = 1 << 22;

/// Registers that may come to be touched in a node before what is known of it moves to make room.
const ROOM: usize = 2;

/// As many steps lie in front of a terminator, where most of what is put in comes.
const STEPS_TO_TERMINATOR: u32 = 64;

/// The instructions of a block that touch a register, by their places.
#[derive(Clone, Copy)]
pub(super) struct Touches {
    pub(super) reg: Reg,
    pub first: u32,
    /// [`NOWHERE`] where none writes it, as the last.
    pub first_write: u32,
    pub last: u32,
    pub last_write: u32,
    /// The one that writes it last, if any does.
    pub last_writer: Inst,
    /// Is it read before it is written without a guard?
    pub is_read_first: bool,
    /// Is it written without a guard?
    pub is_overwritten: bool,
    /// Entry of the register's list for it.
    pub(super) told: u8,
}

impl Touches {
    /// Those of a register which that instruction is the first to touch.
    pub(super) fn first(reg: Reg, place: u32, inst: Inst) -> Touches {
        Touches {
            reg,
            first: place,
            first_write: NOWHERE,
            last: place,
            last_write: NOWHERE,
            last_writer: inst,
            is_read_first: false,
            is_overwritten: false,
            told: 0,
        }
    }

    /// Returns the short form.
    fn in_short(&self) -> u8 {
        let is_written = self.last_write != NOWHERE;
        let is_written_once = is_written && self.first_write == self.last_write;
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        bit(self.is_read_first, Touching::READ_FIRST)
            | bit(self.is_overwritten, Touching::OVERWRITTEN)
            | bit(is_written, Touching::WRITTEN)
            | bit(is_written_once, Touching::WRITTEN_ONCE)
    }

    /// Tells the list of the register what the node does to it now.
    pub(super) fn tell(&mut self, node: Node, touching: &mut [AllTouching]) {
        let bits = self.in_short();
        if core::mem::replace(&mut self.told, bits) != bits {
            tell(&mut touching[self.reg.index()], node, bits);
        }
    }

    /// Tells it that the node no longer touches it.
    pub(super) fn tell_no_more(self, node: Node, touching: &mut [AllTouching]) {
        tell(&mut touching[self.reg.index()], node, 0);
    }

    /// The register.
    pub fn reg(&self) -> Reg {
        self.reg
    }

    /// Does what touches it last write it?
    pub fn is_written_last(&self) -> bool {
        self.last == self.last_write
    }
}

/// Accesses of a block to registers.
#[derive(Clone, Default)]
pub(super) struct Sites {
    /// In the order of the registers' [ranks](rank).
    pub(super) touches: Vec<Touches>,
    /// How many instructions it has.
    pub(super) count: u32,
}

/// And to memory.
#[derive(Clone, Default)]
pub(super) struct OnMemory {
    /// Access at each place.
    pub(super) accesses: Vec<Access>,
    pub(super) effects: Effects,
}

/// See the file's head.
pub(super) struct Accesses {
    /// Sites of each node.
    pub(super) sites: Vec<Sites>,
    /// Memory accesses of each node: rarely read, so that the others are near each other.
    pub(super) on_memory: Vec<OnMemory>,
    /// Signature of each node's registers. Most queries are about registers that a node does not touch.
    pub(super) signatures: Vec<Signature>,
    /// Accesses of each register.
    pub(super) touching: Vec<AllTouching>,
    /// Place of each instruction among those of its block; 0 for those without one.
    pub(super) places: Vec<u32>,
    /// From one place to the next.
    step: u32,
    /// Registers that some node has read before it had written them in all lanes.
    pub(super) read_first: FixedBitSet,
    /// Accesses of each register in the current block, new ones after known ones.
    place_of: Vec<u32>,
    /// Those that are new, and in which order they are to stand: by their registers' ranks, with their places here.
    found: Vec<Touches>,
    order: Vec<u64>,
    pub(super) classes: Classes,
    /// Registers that some load has written of memory that may be written.
    pub(super) loaded: FixedBitSet,
    /// Has some instruction been looked at that writes memory?
    writes_memory: bool,
    /// Can a load leave its node? If none can, nobody asks about memory.
    pub(super) needs_classes: bool,
    /// Nodes of which all was looked at again.
    pub(super) is_whole: FixedBitSet,
    /// Number of moves into each node, while that is counted.
    pub(super) moves_of: Vec<u8>,
}

impl Accesses {
    /// Collects the accesses of a function.
    pub fn of(module: &Module, func: &Function, nodes: &Nodes) -> Accesses {
        let mut accesses = Accesses {
            sites: vec![Sites::default(); nodes.len()],
            on_memory: vec![OnMemory::default(); nodes.len()],
            signatures: vec![Signature::default(); nodes.len()],
            touching: Vec::new(),
            places: Vec::new(),
            step: if func.insts.len() < TOO_MANY { STEP } else { 1 },
            read_first: FixedBitSet::new(),
            place_of: Vec::new(),
            found: Vec::new(),
            order: Vec::new(),
            classes: Classes::unknown(),
            loaded: FixedBitSet::new(),
            writes_memory: false,
            needs_classes: false,
            is_whole: FixedBitSet::with_capacity(nodes.len()),
            moves_of: vec![0; nodes.len()],
        };
        accesses.fit(func);
        for node in 0..nodes.len() {
            accesses.look_at(func, nodes, node);
        }
        if accesses.needs_classes {
            accesses.classify(module, func);
        }
        accesses
    }

    /// Are the classes those that would be found now?
    pub(super) fn are_classes_right(&self, module: &Module, func: &Function) -> bool {
        let memory = self.memory();
        !self.needs_classes || Classes::of(module, func, self, &memory).are_like(&self.classes, &memory)
    }

    /// All instructions that have to do with memory.
    fn memory(&self) -> Vec<Inst> {
        self.on_memory.iter().flat_map(|here| &here.accesses).map(|access| access.inst).collect()
    }

    /// Finds the classes of memory anew. Are they others than they were?
    pub(super) fn classify(&mut self, module: &Module, func: &Function) -> bool {
        let is_new = match self.writes_memory && !self.loaded.is_clear() {
            true => {
                let memory = self.memory();
                let classes = Classes::of(module, func, self, &memory);
                let is_new = !classes.are_like(&self.classes, &memory);
                self.classes = classes;
                is_new
            }
            // Nobody asks which memory it is.
            false => {
                self.classes = Classes::none();
                false
            }
        };
        for here in self.on_memory.iter_mut().filter(|here| !here.accesses.is_empty()) {
            here.effects = Effects::of(&self.classes, &here.accesses);
        }
        is_new
    }

    /// The registers that are loaded from memory that may be written.
    pub fn loaded<'a>(&'a self, func: &'a Function) -> impl Iterator<Item = Reg> + 'a {
        let all = self.on_memory.iter().flat_map(|here| &here.accesses).map(|access| &func.insts[access.inst]);
        all.filter(|data| is_changing_load(data)).flat_map(|data| data.dsts.iter().copied())
    }

    /// There are as many registers and instructions as the function has now.
    pub(super) fn fit(&mut self, func: &Function) {
        self.places.resize(func.insts.len(), 0);
        self.touching.resize(func.regs.len(), SmallVec::new());
        self.place_of.resize(func.regs.len(), NOWHERE);
        self.read_first.grow(func.regs.len());
        self.loaded.grow(func.regs.len());
    }

    /// Looks at a node.
    pub(super) fn look_at(&mut self, func: &Function, nodes: &Nodes, node: Node) {
        let Accesses {
            sites,
            on_memory,
            signatures,
            touching,
            places,
            step,
            read_first,
            place_of,
            found,
            order,
            loaded,
            writes_memory,
            needs_classes,
            ..
        } = self;
        found.clear();
        let Some(block) = nodes.block(node) else { return };
        let Sites { touches: known, count } = &mut sites[node];
        let memory = &mut on_memory[node].accesses;
        memory.clear();
        // What is touched again keeps its place.
        for (place, touches) in known.iter_mut().enumerate() {
            place_of[touches.reg.index()] = place as u32;
            touches.first = NOWHERE;
        }
        let mut all = (known, found);
        let mut place = 0u32;
        *count = 0;
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            place = place.saturating_add(*step);
            if data.is_terminator() {
                place = place.saturating_add((STEPS_TO_TERMINATOR - 1) * *step);
            }
            places[inst.index()] = place;
            *count += 1;
            // What an instruction reads it reads before it writes.
            data.for_each_use(|reg| {
                let touches = touched(&mut all, place_of, reg, place, inst);
                touches.is_read_first |= !touches.is_overwritten;
            });
            for &reg in &data.dsts {
                let touches = touched(&mut all, place_of, reg, place, inst);
                touches.first_write = touches.first_write.min(place);
                (touches.last_write, touches.last_writer) = (place, inst);
                touches.is_overwritten |= data.guard.is_none();
            }
            let (is_load, may_change) = (is_changing_load(data), may_change_memory(data.opcode.op));
            if is_load || may_change {
                memory.push(Access { place, inst, may_change });
            }
            *writes_memory |= data.opcode.op.writes_memory();
            if is_load {
                for dst in &data.dsts {
                    loaded.insert(dst.index());
                    *needs_classes |= read_first.contains(dst.index());
                }
            }
        }
        let (known, found) = all;
        let mut signature = Signature::default();
        let mut leave = |touches: &mut Touches| {
            place_of[touches.reg.index()] = NOWHERE;
            let is_touched = touches.first != NOWHERE;
            if !is_touched {
                touches.tell_no_more(node, touching);
            } else {
                touches.tell(node, touching);
                signature = signature.and(Signature::of(touches.reg));
                if touches.is_read_first {
                    read_first.insert(touches.reg.index());
                    *needs_classes |= loaded.contains(touches.reg.index());
                }
            }
            is_touched
        };
        known.retain_mut(&mut leave);
        found.iter_mut().for_each(|touches| _ = leave(touches));
        signatures[node] = signature;
        if found.is_empty() {
            return;
        }
        // Numbers are sorted sooner than what they stand for.
        order.clear();
        let numbers = found.iter().enumerate();
        order.extend(numbers.map(|(place, touches)| u64::from(rank(touches.reg)) << 32 | place as u64));
        order.sort_unstable();
        let new = |number: u64| found[number as u32 as usize];
        if known.is_empty() {
            known.reserve_exact(order.len() + ROOM);
            known.extend(order.iter().map(|&number| new(number)));
            return;
        }
        // What is new comes among what is known from the end on, so that each is moved once.
        let (mut from, mut to) = (known.len(), known.len() + found.len());
        known.resize(to, found[0]);
        for &number in order.iter().rev() {
            let new = new(number);
            while from > 0 && rank(known[from - 1].reg) > rank(new.reg) {
                (from, to) = (from - 1, to - 1);
                known[to] = known[from];
            }
            to -= 1;
            known[to] = new;
        }
    }

    /// Accesses of a node to the registers that are written by their last access there.
    pub fn written_last(&self, node: Node) -> impl Iterator<Item = &Touches> + '_ {
        self.sites[node].touches.iter().filter(|touches| touches.is_written_last())
    }

    /// May a node touch one of these registers?
    #[inline]
    pub fn may_touch(&self, node: Node, regs: Signature) -> bool {
        self.signatures[node].meets(regs)
    }

    /// Access of a node to a register.
    #[inline]
    pub fn touches(&self, node: Node, reg: Reg) -> Option<&Touches> {
        if !self.may_touch(node, Signature::of(reg)) || touching::touches_not(&self.touching[reg.index()], node) {
            return None;
        }
        self.find(node, reg)
    }

    /// Access of a node to a register that it is known to touch.
    #[inline]
    pub fn touches_of(&self, node: Node, reg: Reg) -> Option<&Touches> {
        let found = self.find(node, reg);
        debug_assert!(found.is_some(), "it touches it");
        found
    }

    #[inline]
    fn find(&self, node: Node, reg: Reg) -> Option<&Touches> {
        let touches = &self.sites[node].touches;
        self.signatures[node].find(touches, reg, Touches::reg).ok().map(|place| &touches[place])
    }

    /// The nodes that touch a register, and perhaps some that no longer do.
    pub fn touching(&self, reg: Reg) -> impl DoubleEndedIterator<Item = Touching> + ExactSizeIterator + '_ {
        self.touching[reg.index()].iter().copied()
    }

    /// Accesses of many nodes to one register.
    pub fn touched(&self, reg: Reg) -> Touched<'_> {
        let Accesses { touching, signatures, .. } = self;
        Touched::new(&touching[reg.index()], signatures, Signature::of(reg))
    }

    /// The first and last place of what may write what a load reads, or waits for others.
    pub fn effects(&self, node: Node, load: Inst) -> Option<(u32, u32)> {
        self.on_memory[node].effects.on(&self.classes, load)
    }

    /// May a register be live between nodes: has any read it before it had written it in all lanes?
    pub fn may_cross(&self, reg: Reg) -> bool {
        self.read_first.contains(reg.index())
    }

    /// How many instructions a node has.
    pub fn count(&self, node: Node) -> usize {
        self.sites[node].count as usize
    }

    /// The instruction of a block that has a place.
    pub fn at(&self, func: &Function, block: Block, place: u32) -> Option<Inst> {
        func.block_insts(block).find(|inst| self.places[inst.index()] == place)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.sites.len()
    }

    /// How many registers there are.
    pub fn registers(&self) -> usize {
        self.touching.len()
    }

    /// The nodes that write a register, in order.
    pub fn writers(&self, reg: Reg) -> impl Iterator<Item = Touching> + '_ {
        self.touching(reg).filter(|touching| touching.is_written())
    }

    /// The only node that writes a register, if it does so once.
    pub fn only_writer(&self, reg: Reg) -> Option<Node> {
        let mut writers = self.writers(reg);
        match (writers.next(), writers.next()) {
            (Some(only), None) if only.is_written_once() => Some(only.node()),
            _ => None,
        }
    }

    /// Does each register's list say what nodes do to it, and nothing else?
    pub(super) fn are_lists_right(&self) -> bool {
        let is_right = |reg: Reg, touching: Touching| {
            let bits = self.touches(touching.node(), reg).map(|touches| (touches.in_short(), touches.told));
            touching == Touching::new(touching.node(), bits.map_or(0, |(bits, _)| bits))
                && bits.is_none_or(|(bits, told)| bits != 0 && bits == told)
        };
        let all = self.touching.iter().enumerate();
        let touching = all.clone().map(|(_, all)| all.iter().filter(|touching| !touching.is_nothing()).count());
        touching.sum::<usize>() == self.sites.iter().map(|site| site.touches.len()).sum::<usize>()
            && all.into_iter().all(|(reg, all)| all.iter().all(|&touching| is_right(Reg::new(reg), touching)))
    }
}

/// The touches of a register, of which that instruction is one: among those that are known of the node, or those that are new.
fn touched<'a>(
    (known, new): &'a mut (&mut Vec<Touches>, &mut Vec<Touches>),
    place_of: &mut [u32],
    reg: Reg,
    place: u32,
    inst: Inst,
) -> &'a mut Touches {
    let number = &mut place_of[reg.index()];
    if *number == NOWHERE {
        *number = (known.len() + new.len()) as u32;
        new.push(Touches::first(reg, place, inst));
    }
    let number = *number as usize;
    let touches = if number < known.len() { &mut known[number] } else { &mut new[number - known.len()] };
    if touches.first == NOWHERE {
        *touches = Touches { told: touches.told, ..Touches::first(reg, place, inst) };
    }
    touches.last = place;
    touches
}
