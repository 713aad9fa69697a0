//! Who touches which register where.
//!
//! ```text
//! n: x = mul.f32 a, b      of x: first touched at 0, last at 1, last written at 0, not read before it is written
//!    y = add.f32 x, 1.0    of a: touched at 0, read before it is written
//! ```
//!
//! The same for memory, of which each [class](super::memory) is something by itself.
//!
//! Kept while the function changes: what has been touched is looked at again, and the rest stays.
//!
//! Linear; a question about one node takes a logarithm of the registers it touches.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::memory::{Classes, Effects, is_changing_load, may_change_memory};
use crate::ir::{Function, Inst, InstData, Module, Reg};
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
    /// The one that writes it last, if any does.
    pub last_writer: Inst,
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
    /// Places and instructions that read or write memory, or wait for others.
    memory: Vec<(u32, Inst)>,
    effects: Effects,
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
    classes: Classes,
}

impl Accesses {
    /// Of a function.
    pub fn of(module: &Module, func: &Function, nodes: &Nodes) -> Accesses {
        let mut accesses = Accesses {
            sites: Vec::new(),
            touching: Vec::new(),
            read_first: FixedBitSet::new(),
            place_of: Vec::new(),
            classes: Classes::unknown(),
        };
        accesses.sites.resize(nodes.len(), Sites::default());
        accesses.fit(func);
        for node in 0..nodes.len() {
            accesses.look_at(func, nodes, node);
            for touches in &accesses.sites[node].touches {
                accesses.touching[touches.reg.index()].push(node as u32);
            }
        }
        if accesses.needs_classes(func) {
            accesses.classify(module, func);
        }
        accesses
    }

    /// Looks again at nodes that have been changed, as statements of these registers were moved that stood at these
    /// instructions. Have loads got to know another memory?
    pub fn update(
        &mut self,
        module: &Module,
        func: &Function,
        nodes: &Nodes,
        changed: &[Node],
        moved: &BTreeMap<Reg, Vec<(&InstData, Inst)>>,
    ) -> bool {
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
        for &node in changed {
            let Sites { memory, effects, .. } = &mut self.sites[node];
            for &(_, inst) in memory.iter() {
                // A load that has been moved reads what it read.
                let data = &func.insts[inst];
                let statements = data.dst().and_then(|reg| moved.get(&reg)).into_iter().flatten();
                let is_statement = |of: &InstData| of.opcode == data.opcode && of.args == data.args;
                if let Some(&(_, origin)) = statements.clone().find(|(of, _)| is_statement(of)) {
                    self.classes.is_like(inst, origin);
                }
            }
            *effects = Effects::of(func, &self.classes, memory);
        }
        let is_old = match self.classes.is_known() {
            true => moved.keys().any(|&reg| self.classes.depend_on(reg)),
            false => self.needs_classes(func),
        };
        is_old && self.classify(module, func)
    }

    /// Can a load leave its node? If none can, nobody asks about memory.
    fn needs_classes(&self, func: &Function) -> bool {
        self.loaded(func).any(|reg| self.may_cross(reg))
    }

    /// Finds the classes of memory anew. Are they others than they were?
    fn classify(&mut self, module: &Module, func: &Function) -> bool {
        let memory: Vec<Inst> = self.sites.iter().flat_map(|site| site.memory.iter().map(|&(_, inst)| inst)).collect();
        let classes = Classes::of(module, func, self, &memory);
        let is_new = !classes.are_like(&self.classes, &memory);
        self.classes = classes;
        for site in self.sites.iter_mut().filter(|site| !site.memory.is_empty()) {
            site.effects = Effects::of(func, &self.classes, &site.memory);
        }
        is_new
    }

    /// The registers that are loaded from memory that may be written.
    pub fn loaded<'a>(&'a self, func: &'a Function) -> impl Iterator<Item = Reg> + 'a {
        let all = self.sites.iter().flat_map(|site| &site.memory).map(|&(_, inst)| &func.insts[inst]);
        all.filter(|data| is_changing_load(data)).flat_map(|data| data.dsts.iter().copied())
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
        here.memory.clear();
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
                        last_writer: inst,
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
                (touches.last_write, touches.last_writer) = (place, inst);
                touches.is_overwritten |= data.guard.is_none();
            }
            if is_changing_load(data) || may_change_memory(data.opcode.op) {
                here.memory.push((place, inst));
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

    /// The registers that a node touches.
    pub fn touched(&self, node: Node) -> impl Iterator<Item = Reg> + '_ {
        self.sites[node].touches.iter().map(|touches| touches.reg)
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

    /// The first and last place of what may write what a load reads, or waits for others.
    pub fn effects(&self, node: Node, load: Inst) -> Option<(u32, u32)> {
        self.sites[node].effects.on(&self.classes, load)
    }

    /// May a register be live between nodes: has any read it before it had written it in all lanes?
    pub fn may_cross(&self, reg: Reg) -> bool {
        self.read_first.contains(reg.index())
    }

    /// How many registers there are.
    pub fn registers(&self) -> usize {
        self.touching.len()
    }

    /// The nodes that write a register, with what they do to it.
    pub fn writers(&self, reg: Reg) -> impl Iterator<Item = (Node, &Touches)> + '_ {
        self.touching(reg).filter_map(move |node| {
            self.touches(node, reg).filter(|touches| touches.last_write != NOWHERE).map(|touches| (node, touches))
        })
    }

    /// The only node that writes a register, if it does so once.
    pub fn only_writer(&self, reg: Reg) -> Option<Node> {
        let mut writers = self.writers(reg).map(|(node, touches)| (node, touches.first_write == touches.last_write));
        match (writers.next(), writers.next()) {
            (Some((node, true)), None) => Some(node),
            _ => None,
        }
    }
}
