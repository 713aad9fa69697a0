//! Changes of register accesses by statements that move.
//!
//! ```text
//! n: x = mul.f32 a, b      x = a * b goes away: nothing touches x and b in n any more, and c = a + 1 is what touches a first
//!    c = add.f32 a, 1.0
//! m: y = add.f32 x, 1.0    in m it lands in front of this: x is not read first there any more, and a and b are
//! ```
//!
//! A statement that lands stands in front of all in its node that touches what it writes, or writes what it reads. So what is
//! known of the node is told without looking at it. One that goes away is the last that touches what it writes, and nothing
//! behind it writes what it reads; of what others touch as well mostly that tells all which touches it next to where the
//! statement stood, or else the block is asked once more, and of that alone. Where there are predicates, the whole node is
//! looked at again.
//!
//! A landing takes a place between those beside it. When there is none left, the places of the node are made anew, as it is looked
//! at again.
//!
//! A block is asked a few times at most ([`MOST_MOVES`]), so that all is linear in the blocks in which something was changed;
//! where debugging, all is held against a new look.

use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

use super::accesses::{Accesses, NOWHERE, OnMemory, Sites, Touches};
use super::memory::{Access, Classes, Effects, is_changing_load};
use super::signature::Signature;
use crate::ir::{Block, Function, Inst, InstData, Module, Reg};
use crate::pass::path_guided::nodes::{Node, Nodes};

/// Statements that land in a node or go away from it up to which each is told by itself: with more, a look at all of it costs
/// less than to ask it for each. Fewer where debugging, so that tests of small programs see both.
const MOST_MOVES: u8 = if cfg!(debug_assertions) { 3 } else { 8 };

/// Nodes of functions in which all lists are held against that, where debugging.
const FEW_NODES: usize = 400;

/// Moves into and out of nodes.
#[derive(Default)]
pub(super) struct Moves {
    /// Nodes of which all is to be looked at again; in order when that was done.
    pub whole: Vec<Node>,
    /// Landings of statements without a guard, with their numbers.
    pub landed: Vec<(Node, Inst, u32)>,
    /// And where they went away.
    pub gone: Vec<(Node, Inst)>,
}

impl Accesses {
    /// Gets to know what has been done, as statements were moved that wrote these registers, and of those that are loads an
    /// instruction like each and one at which it stood, in the order of the registers. Have loads got to know another memory?
    /// Leaves in `moves` what could be told without looking at whole nodes.
    pub fn update(
        &mut self,
        module: &Module,
        func: &Function,
        nodes: &Nodes,
        moves: &mut Moves,
        (moved, loads): (&[Reg], &[(Reg, Inst, Inst)]),
    ) -> bool {
        self.fit(func);
        moves.whole.iter().for_each(|&node| self.is_whole.insert(node));
        let nodes_of = |moves: &Moves| -> SmallVec<[Node; 32]> {
            let landed = moves.landed.iter().map(|&(node, ..)| node);
            landed.chain(moves.gone.iter().map(|&(node, _)| node)).collect()
        };
        let changed = nodes_of(moves);
        for &node in &changed {
            let count = &mut self.moves_of[node];
            *count = count.saturating_add(1);
            if *count > MOST_MOVES && !self.is_whole.put(node) {
                moves.whole.push(node);
            }
        }
        changed.iter().for_each(|&node| self.moves_of[node] = 0);
        // Mostly they are in order.
        moves.gone.sort();
        // What has moved from one node to another has a place in the other one from now on.
        let places = moves.gone.iter().map(|&(node, inst)| (node, inst, self.places[inst.index()]));
        let all_gone: SmallVec<[(Node, Inst, u32); 16]> = places.collect();
        moves.landed.iter().for_each(|&(_, inst, _)| self.places[inst.index()] = 0);
        // What lands comes first: a block is asked about what has gone when all of it has places.
        for &(node, inst, _) in &moves.landed {
            let gone = &all_gone[all_gone.partition_point(|&(other, ..)| other < node)..];
            let gone = gone.iter().take_while(|&&(other, ..)| other == node).map(|&(.., place)| place);
            let has_place = self.is_whole.contains(node) || self.put_in(func, node, inst, gone);
            self.is_whole.set(node, !has_place || self.is_whole.contains(node));
            if !has_place {
                moves.whole.push(node);
            }
        }
        for &(node, inst, place) in &all_gone {
            if let Some(block) = nodes.block(node).filter(|_| !self.is_whole.contains(node)) {
                self.take_out(func, (node, block), inst, place);
            }
        }
        moves.landed.retain(|&(node, ..)| !self.is_whole.contains(node));
        moves.gone.retain(|&(node, _)| !self.is_whole.contains(node));
        moves.whole.sort_unstable();
        moves.whole.dedup();
        for &node in &moves.whole {
            self.is_whole.remove(node);
            self.look_at(func, nodes, node);
        }
        let Accesses { on_memory, classes, .. } = self;
        // A load that has been moved reads what it read.
        let know_class = |classes: &mut Classes, inst: Inst| {
            let data = &func.insts[inst];
            let Some(dst) = data.dst().filter(|_| !classes.has_looked_at(inst)) else { return };
            let first = loads.partition_point(|&(reg, ..)| reg < dst);
            let mut statements = loads[first..].iter().take_while(|&&(reg, ..)| reg == dst);
            let is_it = |of: &InstData| of.opcode == data.opcode && of.args == data.args;
            if let Some(&(.., origin)) = statements.find(|&&(_, like, _)| is_it(&func.insts[like])) {
                classes.is_like(inst, origin);
            }
        };
        for &node in &moves.whole {
            let OnMemory { accesses, effects } = &mut on_memory[node];
            accesses.iter().for_each(|access| know_class(classes, access.inst));
            *effects = Effects::of(classes, accesses);
        }
        let loads = moves.landed.iter().filter(|&&(_, inst, _)| is_changing_load(&func.insts[inst]));
        loads.for_each(|&(_, inst, _)| know_class(classes, inst));
        debug_assert!(
            nodes_of(moves).into_iter().all(|node| self.is_known_right(func, nodes, node)),
            "a node does what a look at it would tell"
        );
        debug_assert!(nodes.len() > FEW_NODES || self.are_lists_right(), "what is said in short is what nodes do");
        let may_differ = match self.classes.is_known() {
            true => {
                let mut classes = core::mem::replace(&mut self.classes, Classes::unknown());
                let may_differ = classes.may_differ(func, self, moved.iter().copied());
                self.classes = classes;
                may_differ
            }
            false => self.needs_classes,
        };
        debug_assert!(may_differ || self.are_classes_right(module, func), "what makes addresses is as it was");
        may_differ && self.classify(module, func)
    }

    /// A statement has landed in a node from which others have gone that had these places. Is there a place for it?
    fn put_in(&mut self, func: &Function, node: Node, inst: Inst, gone: impl Iterator<Item = u32> + Clone) -> bool {
        let Some(place) = self.place_between(func, inst, gone) else { return false };
        self.places[inst.index()] = place;
        let data = &func.insts[inst];
        let Accesses { sites, on_memory, signatures, touching, read_first, loaded, needs_classes, .. } = self;
        let Sites { touches: all, count } = &mut sites[node];
        *count += 1;
        if is_changing_load(data) {
            let memory = &mut on_memory[node].accesses;
            let at = memory.partition_point(|other| other.place < place);
            memory.insert(at, Access { place, inst, may_change: false });
            for dst in &data.dsts {
                loaded.insert(dst.index());
                *needs_classes |= read_first.contains(dst.index());
            }
        }
        let signature = &mut signatures[node];
        let mut touch = |all: &mut Vec<Touches>, reg: Reg| {
            *signature = signature.and(Signature::of(reg));
            signature.find(all, reg, Touches::reg).unwrap_or_else(|at| {
                all.insert(at, Touches::first(reg, place, inst));
                at
            })
        };
        data.for_each_use(|reg| {
            let at = touch(all, reg);
            let touches = &mut all[at];
            (touches.first, touches.last) = (touches.first.min(place), touches.last.max(place));
            touches.is_read_first = true;
            touches.tell(node, touching);
            read_first.insert(reg.index());
            *needs_classes |= loaded.contains(reg.index());
        });
        if let Some(reg) = data.dst() {
            let at = touch(all, reg);
            let touches = &mut all[at];
            (touches.first, touches.first_write) = (place, place);
            touches.last = touches.last.max(place);
            if touches.last_write == NOWHERE {
                (touches.last_write, touches.last_writer) = (place, inst);
            }
            (touches.is_read_first, touches.is_overwritten) = (false, true);
            touches.tell(node, touching);
        }
        true
    }

    /// A place between those of the instructions beside a new one, which what has gone did not have either. More come mostly
    /// behind it.
    fn place_between(&self, func: &Function, inst: Inst, gone: impl Iterator<Item = u32> + Clone) -> Option<u32> {
        let place = |inst: Inst| self.places[inst.index()];
        let before = func.layout.prev_inst(inst).map_or(0, place);
        if before == 0 && func.layout.prev_inst(inst).is_some() {
            return None;
        }
        let behind = core::iter::successors(func.layout.next_inst(inst), |&next| func.layout.next_inst(next));
        let room = behind.map(place).find(|&place| place != 0)?.checked_sub(before)?;
        let first = before + (room / 8).max(1);
        let is_free = |wanted: &u32| gone.clone().all(|place| place != *wanted);
        (first..before + room).find(is_free)
    }

    /// A statement has gone from a node in which it had a place.
    fn take_out(&mut self, func: &Function, (node, block): (Node, Block), inst: Inst, place: u32) {
        let data = &func.insts[inst];
        let Accesses { sites, on_memory, signatures, places, touching, .. } = self;
        let Sites { touches: all, count } = &mut sites[node];
        let signature = &mut signatures[node];
        *count -= 1;
        if is_changing_load(data) {
            on_memory[node].accesses.retain(|known| known.inst != inst);
        }
        // What others touch as well, of which has to be asked.
        let mut asked: SmallVec<[Reg; 4]> = SmallVec::new();
        let mut leave = |reg: Reg| {
            let Ok(at) = signature.find(all, reg, Touches::reg) else { return };
            let touches = &mut all[at];
            if touches.first == place && touches.last == place {
                remove(all, signature, at).tell_no_more(node, touching);
                return;
            }
            // What touched it in front of this one, or behind, is mostly near.
            let touched = |inst: Inst| {
                let data = &func.insts[inst];
                let mut is_touched = data.dsts.contains(&reg);
                data.for_each_use(|used| is_touched |= used == reg);
                is_touched
            };
            let insts = || func.block_insts(block).map(|inst| (places[inst.index()], inst));
            let before = || insts().rev().find(|&(other, inst)| other < place && touched(inst)).map(|(place, _)| place);
            let behind = || insts().find(|&(other, inst)| other > place && touched(inst)).map(|(place, _)| place);
            if touches.leave(place, before, behind) {
                touches.tell(node, touching);
                return;
            }
            if !asked.contains(&reg) {
                asked.push(reg);
            }
        };
        data.for_each_use(&mut leave);
        data.dst().into_iter().for_each(&mut leave);
        if !asked.is_empty() {
            self.ask_again(func, node, block, &asked);
        }
    }

    /// Asks a block what it does to some registers that it touches.
    fn ask_again(&mut self, func: &Function, node: Node, block: Block, regs: &[Reg]) {
        let mut found: SmallVec<[Touches; 4]> =
            regs.iter().map(|&reg| Touches::first(reg, NOWHERE, Inst::new(0))).collect();
        for inst in func.block_insts(block) {
            let (place, data) = (self.places[inst.index()], &func.insts[inst]);
            let mut touch = |reg: Reg, is_written: bool| {
                let Some(touches) = found.iter_mut().find(|touches| touches.reg() == reg) else { return };
                if touches.first == NOWHERE {
                    *touches = Touches::first(reg, place, inst);
                }
                touches.last = place;
                if is_written {
                    touches.first_write = touches.first_write.min(place);
                    (touches.last_write, touches.last_writer) = (place, inst);
                    touches.is_overwritten |= data.guard.is_none();
                } else {
                    touches.is_read_first |= !touches.is_overwritten;
                }
            };
            data.for_each_use(|reg| touch(reg, false));
            data.dsts.iter().for_each(|&reg| touch(reg, true));
        }
        let Accesses { sites, signatures, touching, .. } = self;
        let (all, signature) = (&mut sites[node].touches, &mut signatures[node]);
        for touches in found {
            let Ok(at) = signature.find(all, touches.reg(), Touches::reg) else { continue };
            // Several statements that touched it may have gone.
            if touches.first == NOWHERE {
                remove(all, signature, at).tell_no_more(node, touching);
            } else {
                all[at] = Touches { told: all[at].told, ..touches };
                all[at].tell(node, touching);
            }
        }
    }

    /// Is what is known of a node what a look at it would tell?
    fn is_known_right(&mut self, func: &Function, nodes: &Nodes, node: Node) -> bool {
        let Some(block) = nodes.block(node) else { return false };
        let insts: Vec<Inst> = func.block_insts(block).collect();
        let take = |accesses: &mut Accesses| {
            let Accesses { sites, on_memory, signatures, .. } = accesses;
            let sites = core::mem::take(&mut sites[node]);
            (sites, core::mem::take(&mut on_memory[node]), core::mem::take(&mut signatures[node]))
        };
        let known = take(self);
        let place_of = |all: &[u32]| -> Vec<u32> { insts.iter().map(|inst| all[inst.index()]).collect() };
        let known_places = place_of(&self.places);
        self.look_at(func, nodes, node);
        let found = take(self);
        let places = place_of(&self.places);
        insts.iter().zip(&known_places).for_each(|(inst, &place)| self.places[inst.index()] = place);
        let is_in_order = known_places.is_sorted_by(|a, b| a < b);
        // Places are others, in the same order.
        let order = |places: &[u32], place: u32| places.binary_search(&place).ok();
        let seen = |places: &[u32], touches: &Touches| {
            let Touches { first, first_write, last, last_write, last_writer, is_read_first, is_overwritten, .. } =
                *touches;
            let writer = (last_write != NOWHERE).then_some(last_writer);
            let all = [first, first_write, last, last_write].map(|place| order(places, place));
            (touches.reg(), all, writer, is_read_first, is_overwritten)
        };
        let all = |places: &[u32], (sites, on_memory, _): &(Sites, OnMemory, Signature)| -> (Vec<_>, Vec<_>, u32) {
            let touches = sites.touches.iter().map(|touches| seen(places, touches)).collect();
            let memory = on_memory.accesses.iter().map(|access| (access.inst, access.may_change)).collect();
            (touches, memory, sites.count)
        };
        let is_right = is_in_order && all(&known_places, &known) == all(&places, &found) && known.2 == found.2;
        (self.sites[node], self.on_memory[node], self.signatures[node]) = known;
        is_right
    }
}

/// A node touches one register less. A bit of its signature that no other has goes with it.
fn remove(all: &mut Vec<Touches>, signature: &mut Signature, at: usize) -> Touches {
    let touches = all.remove(at);
    let bit = |touches: &Touches| Signature::of(touches.reg());
    let beside = [at.checked_sub(1), Some(at)].into_iter().flatten().filter_map(|place| all.get(place));
    if beside.into_iter().all(|other| !bit(other).meets(bit(&touches))) {
        *signature = signature.without(bit(&touches));
    }
    touches
}

impl Touches {
    /// One of several instructions that touch the register goes away from that place. `before` and `behind` give the places of
    /// the last in front of it and the first behind it that touch it. Do they tell all?
    fn leave(
        &mut self,
        place: u32,
        before: impl FnOnce() -> Option<u32>,
        behind: impl FnOnce() -> Option<u32>,
    ) -> bool {
        let is_written = self.first_write != NOWHERE;
        if place < self.first || place > self.last {
            // It is known already, of an operand that it reads twice.
            return true;
        }
        if self.last_write == place {
            // If it was the only write, others read it in front of that.
            let last = if self.first_write == place { before() } else { None };
            let Some(last) = last else { return false };
            (self.first_write, self.last_write, self.is_overwritten) = (NOWHERE, NOWHERE, false);
            self.last = last;
            return true;
        }
        if self.first < place && place < self.last {
            // A write with a guard may stand in front of the first that reads.
            return !is_written || self.is_overwritten;
        }
        if self.last == place {
            // It is read first as it was if it was not at all, or by one in front of all writes.
            let is_read_first_as_before = !self.is_read_first || self.first < self.first_write;
            let last = if is_read_first_as_before { before() } else { None };
            self.last = last.unwrap_or(self.last);
            return last.is_some();
        }
        // What is only read is read first by the next one.
        let first = if is_written { None } else { behind() };
        self.first = first.unwrap_or(self.first);
        first.is_some()
    }
}
