//! The exact count of reuse along the runs of a launch.
//!
//! 1. Each gap of the value name graph has one bit for each lane of a warp: whether the value was
//!    computed on the lane's way there.
//! 2. An instruction sets the bits of the gaps below it: all lanes after a user or a generator, none
//!    after a kill, otherwise those of the gap above.
//! 3. Lanes that go to another block take the bits along the thread edges of that way.
//! 4. A user counts the lanes whose bit is set above it.
//!
//! Cost: O(gaps of a block) for each instruction and move.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::graph::{Cfg, Edge};
use crate::ir::{Block, Func, Inst, Module};
use crate::sim::{Kind, Program, Watcher};
use crate::vng::{Flow, ThreadGraph, Vertex, VertexKind};

/// The graph of a function, by the places of a decoded program.
struct Placed<'g> {
    cfg: &'g Cfg,
    graph: &'g ThreadGraph,
    entry: Block,
    /// Gaps at the start of each block.
    starts: BTreeMap<Block, Vec<Vertex>>,
    /// Users at each instruction, and gaps below it.
    at: BTreeMap<Inst, (Vec<Vertex>, Vec<Vertex>)>,
}

/// A call that some lanes have not returned from, or the kernel itself.
struct Frame {
    /// Lanes that have not returned.
    lanes: u32,
    /// Lanes that carry the value in each gap.
    bits: Vec<u32>,
}

/// A watcher that counts reuse.
pub struct ReuseCounter<'g> {
    placed: Vec<Option<Placed<'g>>>,
    /// Function, block and instruction of each program counter.
    places: Vec<(usize, Block, Inst)>,
    /// The function that each call enters.
    callees: BTreeMap<u32, usize>,
    returns: Vec<Ending>,
    slots: Vec<Vec<Frame>>,
    counts: Vec<SecondaryMap<Vertex, u64>>,
}

/// Effect of an instruction on frames.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    None,
    Return,
    Exit,
}

impl<'g> ReuseCounter<'g> {
    /// A counter for a decoded program with the graphs of some of its functions.
    pub fn new(module: &Module, program: &Program, graphs: &[(Func, &'g Cfg, &'g ThreadGraph)]) -> ReuseCounter<'g> {
        let placed = program.funcs.iter().map(|decoded| {
            let &(func, cfg, graph) = graphs.iter().find(|(func, ..)| *func == decoded.func)?;
            let body = &module.funcs[func];
            let mut starts: BTreeMap<Block, Vec<Vertex>> = BTreeMap::new();
            let mut by_place: BTreeMap<(Block, u32), (Vec<Vertex>, Vec<Vertex>)> = BTreeMap::new();
            for (vertex, data) in graph.vertices.iter() {
                match data.kind {
                    VertexKind::Pass if data.place == 0 => starts.entry(data.block).or_default().push(vertex),
                    VertexKind::Pass => by_place.entry((data.block, data.place - 1)).or_default().1.push(vertex),
                    VertexKind::User(_) => by_place.entry((data.block, data.place)).or_default().0.push(vertex),
                    _ => {}
                }
            }
            let mut at = BTreeMap::new();
            for block in body.block_order() {
                for (inst, place) in body.block_insts(block).zip(0..) {
                    if let Some(found) = by_place.remove(&(block, place)) {
                        at.insert(inst, found);
                    }
                }
            }
            Some(Placed { cfg, graph, entry: *cfg.entries().first()?, starts, at })
        });
        let places = program.locations.iter().enumerate();
        let places = places.map(|(pc, location)| (program.func_at(pc as u32), location.block, location.inst));
        let calls = program.insts.iter().zip(0..).filter(|(inst, _)| inst.kind == Kind::Call);
        let ending = |kind: &Kind| match kind {
            Kind::Ret => Ending::Return,
            Kind::Exit => Ending::Exit,
            _ => Ending::None,
        };
        let counts = vec![SecondaryMap::new(); program.funcs.len()];
        ReuseCounter {
            placed: placed.collect(),
            places: places.collect(),
            callees: calls.map(|(inst, pc)| (pc, program.calls[inst.side as usize].callee)).collect(),
            returns: program.insts.iter().map(|inst| ending(&inst.kind)).collect(),
            slots: Vec::new(),
            counts,
        }
    }

    /// Lanes that reuse the value at each user of a function.
    pub fn counts(&self, program: &Program, func: Func) -> Option<&SecondaryMap<Vertex, u64>> {
        let at = program.funcs.iter().position(|decoded| decoded.func == func)?;
        Some(&self.counts[at])
    }

    /// A frame before the first instruction of a function.
    fn frame(&self, func: usize, lanes: u32) -> Frame {
        let mut bits = Vec::new();
        if let Some(placed) = &self.placed[func] {
            bits = vec![0; placed.graph.vertices.len()];
            let entered = Flow::Entry(placed.entry);
            let starts = placed.starts.get(&placed.entry).into_iter().flatten();
            starts.for_each(|&gap| bits[gap.index()] = placed.carried(&bits, gap, entered));
        }
        Frame { lanes, bits }
    }

    fn stack(&mut self, slot: usize) -> &mut Vec<Frame> {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, Vec::new);
        }
        if self.slots[slot].is_empty() {
            let frame = self.frame(0, !0);
            self.slots[slot].push(frame);
        }
        &mut self.slots[slot]
    }

    /// Ends lanes of the last frame, or of all of them.
    fn end(&mut self, slot: usize, mask: u32, all_frames: bool) {
        let fresh = self.frame(0, !0);
        let stack = self.stack(slot);
        let first = if all_frames { 0 } else { stack.len() - 1 };
        stack[first..].iter_mut().for_each(|frame| frame.lanes &= !mask);
        while stack.len() > 1 && stack[stack.len() - 1].lanes == 0 {
            stack.pop();
        }
        // The slot's next warp begins as this one did.
        let bottom = &mut stack[0];
        for (old, new) in bottom.bits.iter_mut().zip(&fresh.bits).filter(|_| bottom.lanes == 0) {
            *old = *new;
        }
        if bottom.lanes == 0 {
            bottom.lanes = !0;
        }
    }
}

impl Placed<'_> {
    /// Lanes that carry the value into a gap on a way.
    fn carried(&self, bits: &[u32], gap: Vertex, way: Flow) -> u32 {
        let edges = self.graph.vertices[gap].incoming.iter().map(|&edge| self.graph.edges[edge as usize]);
        let edge = edges.into_iter().find(|edge| edge.flow == way || matches!(edge.flow, Flow::Block(_)));
        let Some(from) = edge.and_then(|edge| edge.from.ok()) else { return 0 };
        match self.graph.vertices[from].kind {
            VertexKind::Pass => bits[from.index()],
            VertexKind::Kill(_) => 0,
            VertexKind::User(_) | VertexKind::Generator(_) | VertexKind::AtHand => !0,
        }
    }
}

impl Watcher for ReuseCounter<'_> {
    fn issued(&mut self, slot: usize, pc: u32, mask: u32) {
        if mask == 0 {
            return;
        }
        let (func, block, inst) = self.places[pc as usize];
        self.stack(slot);
        if let (Some(placed), Some(frame)) = (&self.placed[func], self.slots[slot].last_mut())
            && let Some((users, gaps)) = placed.at.get(&inst)
        {
            for &user in users {
                let reused = placed.carried(&frame.bits, user, Flow::Block(block)) & mask;
                self.counts[func][user] += u64::from(reused.count_ones());
            }
            for &gap in gaps {
                let carried = placed.carried(&frame.bits, gap, Flow::Block(block));
                let bits = &mut frame.bits[gap.index()];
                *bits = *bits & !mask | carried & mask;
            }
        }
        if let Some(&callee) = self.callees.get(&pc) {
            let frame = self.frame(callee, mask);
            self.stack(slot).push(frame);
        }
        match self.returns[pc as usize] {
            Ending::None => {}
            Ending::Return => self.end(slot, mask, false),
            Ending::Exit => self.end(slot, mask, true),
        }
    }

    fn moved(&mut self, slot: usize, pc: u32, target: u32, mask: u32) {
        let ((func, from, _), (_, to, _)) = (self.places[pc as usize], self.places[target as usize]);
        self.stack(slot);
        let (Some(placed), Some(frame)) = (&self.placed[func], self.slots[slot].last_mut()) else { return };
        let Some(gaps) = placed.starts.get(&to) else { return };
        let edge: Option<Edge> = placed.cfg.out_edges(from).find(|&edge| placed.cfg.target(edge) == to);
        let Some(edge) = edge else { return };
        let carried: Vec<u32> = gaps.iter().map(|&gap| placed.carried(&frame.bits, gap, Flow::Edge(edge))).collect();
        for (&gap, carried) in gaps.iter().zip(carried) {
            let bits = &mut frame.bits[gap.index()];
            *bits = *bits & !mask | carried & mask;
        }
    }
}
