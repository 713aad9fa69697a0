//! Register and memory accesses of each node, as far as they stop a statement.
//!
//! ```text
//! n: x = mul.f32 a, b      x: first touched at 0, last at 1, last written at 0, not read before it is written
//!    y = add.f32 x, 1.0    a: touched at 0, read before it is written
//! ```
//!
//! Places are positions in the block. A node is scanned at the start and again after a plan changes
//! it; the list of nodes that touch a register follows. Memory is divided into
//! [classes](crate::pass::support::path_guided::memory) once, at the start: an instruction keeps its class
//! wherever it moves, because its address keeps its value.
//!
//! Cost: O(instructions) for the scans; a query about a node and a register is a binary search in
//! the node.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use crate::compact_sort::CompactSort;
use crate::ir::{Block, Flags, Function, Inst, Module, Reg};
use crate::pass::support::path_guided::memory::{Memory, Reads};
use crate::pass::support::path_guided::nodes::{Node, Nodes};

/// No place.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Accesses of a block to a register, by their places.
#[derive(Clone, Copy)]
pub(super) struct Touches {
    pub reg: Reg,
    pub first: u32,
    /// The first write, or [`NOWHERE`].
    pub first_write: u32,
    pub last: u32,
    /// The last write, or [`NOWHERE`].
    pub last_write: u32,
    /// The instruction of the last write, if any.
    pub last_writer: Inst,
    /// Whether it is read before it is written without a guard.
    pub is_read_first: bool,
    /// Whether it is written without a guard.
    pub is_overwritten: bool,
}

impl Touches {
    fn new(reg: Reg, place: u32, inst: Inst) -> Touches {
        Touches {
            reg,
            first: place,
            first_write: NOWHERE,
            last: place,
            last_write: NOWHERE,
            last_writer: inst,
            is_read_first: false,
            is_overwritten: false,
        }
    }

    /// Whether the last access is a write.
    pub fn is_written_last(&self) -> bool {
        self.last == self.last_write
    }

    fn is_written(&self) -> bool {
        self.last_write != NOWHERE
    }
}

/// Accesses of one block.
#[derive(Clone, Default)]
struct NodeAccesses {
    /// Touched registers, in their order.
    touches: Vec<Touches>,
    /// Memory tracks that the block changes, with the first and the last place.
    effects: SmallVec<[(usize, u32, u32); 1]>,
}

/// See the file's head.
pub(super) struct Accesses {
    of_node: Vec<NodeAccesses>,
    /// Nodes that touch each register, in order.
    touching: Vec<SmallVec<[u32; 4]>>,
    /// Registers that some node has read before writing them in all lanes.
    read_first: FixedBitSet,
    /// Registers that have become such since the last update.
    crossing: Vec<Reg>,
    memory: Memory,
    /// Index of each register's touches during a scan, or [`NOWHERE`].
    index_of: Vec<u32>,
}

impl Accesses {
    /// Scans a function.
    pub fn of(module: &Module, func: &Function, nodes: &Nodes) -> Accesses {
        let mut accesses = Accesses {
            of_node: vec![NodeAccesses::default(); nodes.len()],
            touching: Vec::new(),
            read_first: FixedBitSet::new(),
            crossing: Vec::new(),
            memory: Memory::of(module, func, nodes),
            index_of: Vec::new(),
        };
        accesses.grow(func);
        for node in 0..nodes.len() {
            accesses.scan(func, nodes, node);
            for touches in &accesses.of_node[node].touches {
                accesses.touching[touches.reg.index()].push(node as u32);
            }
        }
        accesses.crossing.clear();
        accesses
    }

    /// Scans changed nodes again. Gives the registers that may be live between nodes from now on.
    pub fn update(&mut self, func: &Function, nodes: &Nodes, changed: &[Node]) -> Vec<Reg> {
        self.grow(func);
        for &node in changed {
            let before = core::mem::take(&mut self.of_node[node].touches);
            self.scan(func, nodes, node);
            let after = &self.of_node[node].touches;
            let is_in = |all: &[Touches], reg: Reg| all.binary_search_by_key(&reg, |touches| touches.reg).is_ok();
            for reg in before.iter().map(|touches| touches.reg).filter(|&reg| !is_in(after, reg)) {
                let all = &mut self.touching[reg.index()];
                if let Ok(index) = all.binary_search(&(node as u32)) {
                    all.remove(index);
                }
            }
            for reg in after.iter().map(|touches| touches.reg).filter(|&reg| !is_in(&before, reg)) {
                let all = &mut self.touching[reg.index()];
                all.insert(all.partition_point(|&other| (other as Node) < node), node as u32);
            }
        }
        core::mem::take(&mut self.crossing)
    }

    /// Gives a copy of a load the memory of its origin.
    pub fn copies(&mut self, copy: Inst, origin: Inst) {
        self.memory.copies(copy, origin);
    }

    fn grow(&mut self, func: &Function) {
        self.touching.resize(func.regs.len(), SmallVec::new());
        self.index_of.resize(func.regs.len(), NOWHERE);
        self.read_first.grow(func.regs.len());
    }

    fn scan(&mut self, func: &Function, nodes: &Nodes, node: Node) {
        let Some(block) = nodes.block(node) else { return };
        let Accesses { of_node, index_of, memory, read_first, crossing, .. } = self;
        let NodeAccesses { touches: found, effects } = &mut of_node[node];
        found.clear();
        effects.clear();
        let mut touch = |found: &mut Vec<Touches>, reg: Reg, place: u32, inst: Inst| {
            let index = &mut index_of[reg.index()];
            if *index == NOWHERE {
                *index = found.len() as u32;
                found.push(Touches::new(reg, place, inst));
            }
            found[*index as usize].last = place;
            *index as usize
        };
        for (place, inst) in func.block_insts(block).enumerate() {
            let (place, data) = (place as u32, &func.insts[inst]);
            // An instruction reads before it writes.
            data.for_each_use(|reg| {
                let index = touch(found, reg, place, inst);
                found[index].is_read_first |= !found[index].is_overwritten;
            });
            for &reg in &data.dsts {
                let index = touch(found, reg, place, inst);
                let touches = &mut found[index];
                touches.first_write = touches.first_write.min(place);
                (touches.last_write, touches.last_writer) = (place, inst);
                touches.is_overwritten |= data.guard.is_none();
            }
            let change = memory.change(inst);
            // A load before a release must not move after it.
            let release = change.filter(|_| data.opcode.has(Flags::RELEASE)).map(|_| memory.barriers());
            for track in change.into_iter().chain(release) {
                match effects.iter_mut().find(|effect| effect.0 == track) {
                    Some((_, _, last)) => *last = place,
                    None => effects.push((track, place, place)),
                }
            }
        }
        for touches in &*found {
            index_of[touches.reg.index()] = NOWHERE;
            if touches.is_read_first && !read_first.put(touches.reg.index()) {
                crossing.push(touches.reg);
            }
        }
        found.compact_sort_by_key(|touches| touches.reg);
    }

    /// Registers that the last access of a node to them writes.
    pub fn written_last(&self, node: Node) -> impl Iterator<Item = &Touches> + '_ {
        self.of_node[node].touches.iter().filter(|touches| touches.is_written_last())
    }

    /// Accesses of a node to a register.
    pub fn touches(&self, node: Node, reg: Reg) -> Option<&Touches> {
        let touches = &self.of_node[node].touches;
        touches.binary_search_by_key(&reg, |touches| touches.reg).ok().map(|index| &touches[index])
    }

    /// The nodes that touch a register, in order.
    pub fn touching(&self, reg: Reg) -> impl Iterator<Item = (Node, &Touches)> + '_ {
        let nodes = self.touching[reg.index()].iter().map(|&node| node as Node);
        nodes.filter_map(move |node| Some((node, self.touches(node, reg)?)))
    }

    /// The nodes that write a register, in order.
    pub fn writers(&self, reg: Reg) -> impl Iterator<Item = (Node, &Touches)> + '_ {
        self.touching(reg).filter(|(_, touches)| touches.is_written())
    }

    /// The only node that writes a register, if it does so once.
    pub fn only_writer(&self, reg: Reg) -> Option<Node> {
        let mut writers = self.writers(reg);
        match (writers.next(), writers.next()) {
            (Some((node, only)), None) if only.first_write == only.last_write => Some(node),
            _ => None,
        }
    }

    /// Memory that a load reads, if it may change.
    pub fn reads(&self, load: Inst) -> Option<Reads> {
        self.memory.reads(load)
    }

    /// The first and the last place in a node that may change what is read.
    pub fn effects(&self, node: Node, reads: Reads) -> Option<(u32, u32)> {
        let effects = &self.of_node[node].effects;
        let on_tracks = self.memory.tracks(reads).filter_map(|track| effects.iter().find(|effect| effect.0 == track));
        on_tracks.map(|&(_, first, last)| (first, last)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// Whether a register may be live between nodes.
    pub fn may_cross(&self, reg: Reg) -> bool {
        self.read_first.contains(reg.index())
    }

    /// The instruction at a place of a block.
    pub fn at(&self, func: &Function, block: Block, place: u32) -> Option<Inst> {
        func.block_insts(block).nth(place as usize)
    }

    /// The number of registers.
    pub fn registers(&self) -> usize {
        self.touching.len()
    }
}
