//! Who touches which register where.
//!
//! ```text
//! n: x = mul.f32 a, b      of x: first touched at 0, last at 1, last written at 0, not read before it is written
//!    y = add.f32 x, 1.0    of a: touched at 0, read before it is written
//! ```
//!
//! Kept while the function changes: what has been touched is looked at again, and the rest stays.
//!
//! Linear; a question about one node takes a logarithm of the registers it touches.

use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use crate::ir::{Function, Inst, Op, Reg};
use crate::pass::path_guided::nodes::{Node, Nodes};

/// No place.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The instructions of a block that touch a register, by their places from 0.
#[derive(Clone, Copy)]
pub(super) struct Touches {
    reg: Reg,
    pub first: u32,
    /// [`NOWHERE`] where none writes it, as the last.
    pub first_write: u32,
    pub last: u32,
    pub last_write: u32,
    /// The last that touches it.
    pub last_inst: Inst,
    /// Is it read before it is written without a guard?
    pub is_read_first: bool,
    /// Is it written without a guard?
    pub is_overwritten: bool,
}

/// What a block does.
#[derive(Clone, Default)]
struct Sites {
    /// By register.
    touches: Vec<Touches>,
    /// The first and last place of what may write memory, or wait for others.
    effects: Option<(u32, u32)>,
}

/// See the file's head.
pub(super) struct Accesses {
    sites: Vec<Sites>,
    /// By register: the nodes that touch it, in order, and perhaps some that no longer do.
    touching: Vec<SmallVec<[u32; 4]>>,
    /// Registers that some node has read before it had written them in all lanes.
    read_first: FixedBitSet,
    /// By register: where its touches are in the block that is being looked at.
    place_of: Vec<u32>,
}

impl Accesses {
    /// Of a function.
    pub fn of(func: &Function, nodes: &Nodes) -> Accesses {
        let mut accesses =
            Accesses { sites: Vec::new(), touching: Vec::new(), read_first: FixedBitSet::new(), place_of: Vec::new() };
        accesses.sites.resize(nodes.len(), Sites::default());
        accesses.fit(func);
        for node in 0..nodes.len() {
            accesses.look_at(func, nodes, node);
            for touches in &accesses.sites[node].touches {
                accesses.touching[touches.reg.index()].push(node as u32);
            }
        }
        accesses
    }

    /// Looks again at nodes that have been changed.
    pub fn update(&mut self, func: &Function, nodes: &Nodes, changed: &[Node]) {
        self.fit(func);
        let mut grown: Vec<Reg> = Vec::new();
        for &node in changed {
            let before = core::mem::take(&mut self.sites[node].touches);
            self.look_at(func, nodes, node);
            for touches in &self.sites[node].touches {
                if before.binary_search_by_key(&touches.reg, |touches| touches.reg).is_err() {
                    self.touching[touches.reg.index()].push(node as u32);
                    grown.push(touches.reg);
                }
            }
        }
        grown.sort_unstable();
        grown.dedup();
        for reg in grown {
            let touching = &mut self.touching[reg.index()];
            // What was there is in order already, which this sort makes use of.
            touching.sort();
            touching.dedup();
        }
    }

    fn fit(&mut self, func: &Function) {
        self.touching.resize(func.regs.len(), SmallVec::new());
        self.place_of.resize(func.regs.len(), NOWHERE);
        self.read_first.grow(func.regs.len());
    }

    fn look_at(&mut self, func: &Function, nodes: &Nodes, node: Node) {
        let Some(block) = nodes.block(node) else { return };
        let here = &mut self.sites[node];
        here.touches.clear();
        here.effects = None;
        for (place, inst) in func.block_insts(block).enumerate() {
            let (place, data) = (place as u32, &func.insts[inst]);
            let mut touched = |reg: Reg| {
                let known = &mut self.place_of[reg.index()];
                if *known == NOWHERE {
                    *known = here.touches.len() as u32;
                    here.touches.push(Touches {
                        reg,
                        first: place,
                        first_write: NOWHERE,
                        last: place,
                        last_write: NOWHERE,
                        last_inst: inst,
                        is_read_first: false,
                        is_overwritten: false,
                    });
                }
                let touches = &mut here.touches[*known as usize];
                (touches.last, touches.last_inst) = (place, inst);
                *known as usize
            };
            let mut read: SmallVec<[usize; 4]> = SmallVec::new();
            data.for_each_use(|reg| read.push(touched(reg)));
            let written: SmallVec<[usize; 2]> = data.dsts.iter().map(|&reg| touched(reg)).collect();
            for at in read {
                here.touches[at].is_read_first |= !here.touches[at].is_overwritten;
            }
            for at in written {
                let touches = &mut here.touches[at];
                touches.first_write = touches.first_write.min(place);
                touches.last_write = place;
                touches.is_overwritten |= data.guard.is_none();
            }
            if may_change_memory(data.opcode.op) {
                here.effects = Some((here.effects.map_or(place, |(first, _)| first), place));
            }
        }
        for touches in &here.touches {
            self.place_of[touches.reg.index()] = NOWHERE;
            if touches.is_read_first {
                self.read_first.insert(touches.reg.index());
            }
        }
        here.touches.sort_unstable_by_key(|touches| touches.reg);
    }

    /// What a node does to a register.
    pub fn touches(&self, node: Node, reg: Reg) -> Option<&Touches> {
        let touches = &self.sites[node].touches;
        touches.binary_search_by_key(&reg, |touches| touches.reg).ok().map(|place| &touches[place])
    }

    /// The nodes that touch a register, and perhaps some that no longer do.
    pub fn touching(&self, reg: Reg) -> impl Iterator<Item = Node> + '_ {
        self.touching[reg.index()].iter().map(|&node| node as Node)
    }

    /// The first and last place of what may write memory, or wait for others.
    pub fn effects(&self, node: Node) -> Option<(u32, u32)> {
        self.sites[node].effects
    }

    /// May a register be live between nodes: has any read it before it had written it in all lanes?
    pub fn may_cross(&self, reg: Reg) -> bool {
        self.read_first.contains(reg.index())
    }

    /// How many registers there are.
    pub fn registers(&self) -> usize {
        self.touching.len()
    }

    /// The only node that writes a register, if it does so once.
    pub fn only_writer(&self, reg: Reg) -> Option<Node> {
        let mut writers = self.touching(reg).filter_map(|node| {
            let touches = self.touches(node, reg).filter(|touches| touches.last_write != NOWHERE)?;
            Some((node, touches.first_write == touches.last_write))
        });
        match (writers.next(), writers.next()) {
            (Some((node, true)), None) => Some(node),
            _ => None,
        }
    }
}

/// May memory hold something else behind it: stores and atomics, calls, and what waits for others' stores?
fn may_change_memory(op: Op) -> bool {
    op.writes_memory() || matches!(op, Op::Call | Op::CallTo | Op::BarSync | Op::BarWarp | Op::Membar)
}
