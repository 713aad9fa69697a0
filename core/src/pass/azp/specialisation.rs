//! Specialises a region for zero values: constants forward, dead code backward, nothing changed.
//!
//! ```text
//! check of r0                      r0 = 0
//! x = work.f32 50, a               dead: only r4 reads it, which is a constant
//! r4 = mul.f32 r0, x        ──▶    0
//! r5 = fma.f32 r4, y, z            z, and y is not read
//! br p, n2, n3                     p = r4 > 1 is false: n2 is not entered
//! ```
//!
//! The region is what the check dominates: the blocks below its block, and of its block what stands behind it, where
//! instructions that the check does not need may be put behind it although they stood before it; what is hoisted to the
//! check from below is not in it. It ends where control
//! leaves the innermost loop around the check. Lanes that leave a loop in different rounds wait for each other behind it,
//! and their rounds' checks may have come out differently: with two versions of the place behind the loop they would
//! not meet there, and a barrier or a vote would miss some of them. A branch before the check never rejoins inside the
//! region, since all that goes there goes through the check.
//!
//! Constants follow the value names: a value is constant if its instruction computes it from constants, a join if all
//! that comes along edges that control can take is the same constant. Values from outside the region are not constant.
//! Around a loop that is taken to hold for what comes back, and looked at again at the end; where it did not hold,
//! everything is computed anew without it. A branch on a constant closes its other ways, and a block that nothing enters
//! any more is dead.
//!
//! Dead code goes by the number of readers that are left. Constants read nothing, nor do closed edges; an instruction
//! whose results nobody reads and which does nothing else is dead, and so are rings of instructions that read only
//! each other. What leaves the region is read there.
//!
//! All of this follows the names from one instruction to the next, and never looks at the region as a whole: a candidate
//! costs as much as it changes. So all candidates together take time in proportion to their slices.
//!
//! Source: AZP, section 3.3.2, steps 1 to 4; M. Wegman and F. Zadeck, Constant propagation with conditional branches,
//! TOPLAS 1991.

use alloc::vec::Vec;
use core::cell::RefCell;
use cranelift_entity::EntityRef;

use super::hoisting::Hoist;
use super::kept::Seen;
use super::opportunity::MOST_BLOCKS;
use super::scene::Scene;
use super::special::{Special, special};
use super::stamped::Stamped;
use crate::flow::{Definition, Value, ValueUse};
use crate::graph::Edge;
use crate::ir::{Block, Inst, InstData, Op, Operand, Reg};

/// Times that everything is computed anew because something did not hold around a loop. After that no more is assumed.
const MOST_RESTARTS: usize = 8;
/// Values of a ring that nobody else reads.
const LARGEST_RING: usize = 32;
/// How often one value is taken for a part of a ring, each time that it loses a reader.
const MOST_SUSPICIONS: u8 = 4;
/// Readers of one value of a ring.
const MOST_READERS: usize = 32;
/// Instructions that a candidate may change.
const MOST_CHANGED: usize = 4096;
/// Blocks in which it may change some. Not all of them need to gain, so that these are more than it may copy.
const MOST_CHANGED_BLOCKS: usize = 2 * MOST_BLOCKS;
/// Instructions that a check may need of its block for others to be put behind it.
const MOST_NEEDED: usize = 512;

/// Result for an instruction of the region.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Outcome {
    /// It goes away.
    #[default]
    Dead,
    /// It gives a constant that is read where the constant cannot stand.
    Constant,
    /// Its guard never holds.
    Never,
    /// The branch goes to that target.
    Goes(u32),
    /// It becomes the instruction of that number.
    Simpler(u32),
}

/// Instructions of its block that a check needs: those that write its registers, and all that they follow.
struct Needed {
    insts: Stamped<Inst, ()>,
    /// Those to begin with.
    writers: Vec<Inst>,
    is_known: bool,
    /// Then all that stands before the last of them is taken to be needed.
    are_too_many: bool,
}

/// See the file's head. The tables are used for one candidate after the other.
pub(super) struct Specialisation<'s, 'a> {
    pub scene: &'s Scene<'a>,
    /// The block of the check.
    pub head: Block,
    /// The instruction of that block behind which the check stands at the earliest, if it has to stand behind any.
    pub last: Option<Inst>,
    /// Instructions that move up to the check from blocks below.
    pub hoisted: Vec<Inst>,
    /// Instructions that the check needs of its block, computed on the first request.
    needed: RefCell<Needed>,
    pub constants: Stamped<Value, u64>,
    pub outcomes: Stamped<Inst, Outcome>,
    pub dead_blocks: Stamped<Block, ()>,
    closed: Stamped<Edge, ()>,
    specials: Vec<InstData>,
    /// Remaining readers of each value.
    readers: Stamped<Value, u32>,
    work: Vec<Value>,
    edges: Vec<Edge>,
    assumed: Vec<Value>,
    refuted: Vec<Value>,
    unread: Vec<Value>,
    suspects: Vec<Value>,
    /// Number of times that each value was suspected to be part of a ring.
    suspected: Stamped<Value, u8>,
    /// Blocks in which constants change something.
    changed_blocks: Stamped<Block, ()>,
    /// Items that all of this has read.
    seen: Stamped<Seen, ()>,
}

impl<'s, 'a> Specialisation<'s, 'a> {
    /// Tables for the candidates of a scene.
    pub fn new(scene: &'s Scene<'a>) -> Specialisation<'s, 'a> {
        let (values, insts) = (scene.known.values.len(), scene.func.insts.len());
        let blocks = scene.func.blocks.len();
        Specialisation {
            scene,
            head: Block::new(0),
            last: None,
            hoisted: Vec::new(),
            needed: RefCell::new(Needed {
                insts: Stamped::new(insts),
                writers: Vec::new(),
                is_known: false,
                are_too_many: false,
            }),
            constants: Stamped::new(values),
            outcomes: Stamped::new(insts),
            dead_blocks: Stamped::new(blocks),
            closed: Stamped::new(scene.known.cfg.edge_count()),
            specials: Vec::new(),
            readers: Stamped::new(values),
            work: Vec::new(),
            edges: Vec::new(),
            assumed: Vec::new(),
            refuted: Vec::new(),
            unread: Vec::new(),
            suspects: Vec::new(),
            suspected: Stamped::new(values),
            changed_blocks: Stamped::new(blocks),
            seen: Stamped::new(Seen::count(scene.func)),
        }
    }

    /// Takes values that instructions of one block write to be zero, where these stand or where they are hoisted to, and
    /// finds what is constant then. None where that changes too much, or one of the values is overwritten before the last is
    /// there.
    pub fn assume_zero(&mut self, zeros: &[Value], hoist: Option<&Hoist>) -> Option<()> {
        let scene = self.scene;
        self.seen.clear();
        zeros.iter().for_each(|&zero| self.sees_value(zero));
        let needed = self.needed.get_mut();
        needed.is_known = false;
        needed.writers.clear();
        self.hoisted.clear();
        if let Some(hoist) = hoist {
            needed.writers.extend(&hoist.needs);
            self.hoisted.extend(&hoist.insts);
            self.head = hoist.block;
        } else {
            needed.writers.extend(zeros.iter().filter_map(|&value| scene.known.values.definition(value).inst()));
            self.head = needed.writers.first().and_then(|&inst| scene.func.inst_block(inst))?;
        }
        self.seen.set(Seen::block(self.head), ());
        self.last = needed.writers.iter().copied().max_by_key(|&inst| scene.place(inst));
        let last = self.last.filter(|_| hoist.is_none()).map(|last| scene.place(last));
        let overwriters = needed.writers.iter().filter_map(|&inst| scene.overwriter(inst));
        if overwriters.into_iter().any(|other| last.is_some_and(|last| scene.place(other) <= last)) {
            return None;
        }
        self.refuted.clear();
        let mut restarts = 0;
        loop {
            self.find_constants(zeros, restarts < MOST_RESTARTS);
            if self.changes_too_much() {
                return None;
            }
            if self.assumptions_hold() {
                break;
            }
            restarts += 1;
        }
        Some(())
    }

    /// Does the instruction stand in the region?
    pub fn is_inside(&self, inst: Inst) -> bool {
        let Some(block) = self.scene.func.inst_block(inst) else { return false };
        if block != self.head {
            return self.is_below(block) && !self.is_hoisted(inst);
        }
        let Some(last) = self.last.map(|last| self.scene.place(last)) else { return true };
        let place = self.scene.place(inst);
        place > last || (place < last && !self.is_needed(inst))
    }

    /// Does the instruction move up to the check?
    pub fn is_hoisted(&self, inst: Inst) -> bool {
        !self.hoisted.is_empty() && self.hoisted.contains(&inst)
    }

    /// Is it a block of the region, other than the check's own?
    pub fn is_below(&self, block: Block) -> bool {
        let (dominators, loops) = (&self.scene.known.dominators, &self.scene.known.loops);
        dominators.strictly_dominates(self.head, block)
            && loops.innermost(self.head).is_none_or(|around| loops.contains(around, block))
    }

    /// The instruction as which it is left, if it becomes another one.
    pub fn simpler(&self, outcome: Outcome) -> Option<&InstData> {
        if let Outcome::Simpler(number) = outcome { self.specials.get(number as usize) } else { None }
    }

    /// Can control still take the edge?
    pub fn is_open(&self, edge: Edge) -> bool {
        !self.closed.contains(edge) && !self.dead_blocks.contains(self.scene.known.cfg.source(edge))
    }

    /// The bits that a value is known to have in the region.
    pub fn constant(&self, value: Value) -> Option<u64> {
        if let Some(bits) = self.constants.get(value) {
            return Some(bits);
        }
        let Definition::Inst { inst, .. } = self.scene.known.values.definition(value) else { return None };
        let data = &self.scene.func.insts[inst];
        match (data.opcode.op, data.args.as_slice()) {
            (Op::Mov, [Operand::Const(bits)]) if data.dsts.len() == 1 && self.is_inside(inst) => Some(*bits),
            _ => None,
        }
    }

    /// Items that the present candidate's estimate has read.
    pub fn seen(&self) -> &[Seen] {
        self.seen.keys()
    }

    /// It looks at a block.
    pub fn sees_block(&mut self, block: Block) {
        self.seen.set(Seen::block(block), ());
    }

    /// It looks at an instruction.
    pub fn sees_inst(&mut self, inst: Inst) {
        self.seen.set(Seen::inst(inst), ());
        if let Some(block) = self.scene.func.inst_block(inst) {
            self.sees_block(block);
        }
    }

    /// It asks how often a block runs.
    pub fn sees_frequency(&mut self, block: Block) {
        self.seen.set(Seen::frequency(block), ());
    }

    /// It asks whether readers of a value are left, and which, if these are few enough to be gone through.
    fn sees_readers(&mut self, value: Value) {
        let known = &self.scene.known;
        let is_crowd = known.uses.of(value).len() > MOST_READERS && self.readers_left(value) > 0;
        match Seen::crowd(&known.values, value).filter(|_| is_crowd) {
            Some(crowd) => drop(self.seen.set(crowd, ())),
            None => self.sees_value(value),
        }
    }

    /// It asks where a value comes from, or who reads it.
    fn sees_value(&mut self, value: Value) {
        self.seen.set(Seen::value(&self.scene.known.values, value), ());
    }

    // --- the check -----------------------------------------------------------------------------------------------------

    /// Does the check need an instruction that stands before the last of its registers?
    pub fn is_needed(&self, inst: Inst) -> bool {
        let mut needed = self.needed.borrow_mut();
        if !needed.is_known {
            self.find_needed(&mut needed);
        }
        needed.are_too_many || needed.insts.contains(inst)
    }

    fn find_needed(&self, needed: &mut Needed) {
        let Needed { insts, writers, is_known, are_too_many } = needed;
        *is_known = true;
        insts.clear();
        let mut stack = writers.clone();
        for &inst in &stack {
            insts.set(inst, ());
        }
        while let Some(inst) = stack.pop() {
            for &before in self.scene.dependences().predecessors(inst) {
                if insts.set(before, ()) {
                    stack.push(before);
                }
            }
            if insts.keys().len() > MOST_NEEDED {
                break;
            }
        }
        *are_too_many = insts.keys().len() > MOST_NEEDED;
    }

    /// Cycles of what the check needs from a place of its block on.
    pub fn needed_cycles(&self, places: core::ops::Range<u32>) -> f64 {
        let Some(last) = self.last.filter(|&last| places.start <= self.scene.place(last)) else { return 0.0 };
        // From here on it is known what is needed.
        self.is_needed(last);
        let needed = self.needed.borrow();
        let needed = needed.insts.keys().iter().copied().filter(|&inst| places.contains(&self.scene.place(inst)));
        needed.map(|inst| self.scene.cycles(inst)).sum()
    }

    // --- constants -----------------------------------------------------------------------------------------------------

    fn find_constants(&mut self, zeros: &[Value], may_assume: bool) {
        self.constants.clear();
        self.outcomes.clear();
        self.changed_blocks.clear();
        self.dead_blocks.clear();
        self.closed.clear();
        self.specials.clear();
        self.assumed.clear();
        zeros.iter().for_each(|&value| self.set_constant(value, 0));
        let uses = self.scene.known.uses.clone();
        loop {
            if self.changes_too_much() {
                self.work.clear();
                self.edges.clear();
                break;
            }
            if let Some(edge) = self.edges.pop() {
                self.close(edge, may_assume);
            } else if let Some(value) = self.work.pop() {
                self.sees_value(value);
                for &reader in uses.of(value) {
                    if self.changes_too_much() {
                        break;
                    }
                    match reader {
                        ValueUse::Operand { inst, .. } => self.visit(inst, may_assume),
                        ValueUse::Old(result) => {
                            if let Some(inst) = self.scene.known.values.definition(result).inst() {
                                self.visit(inst, may_assume);
                            }
                        }
                        ValueUse::Argument(join) => self.visit_join(join, may_assume),
                    }
                }
            } else {
                break;
            }
        }
    }

    fn changes_too_much(&self) -> bool {
        self.outcomes.keys().len() > MOST_CHANGED || self.changed_blocks.keys().len() > MOST_CHANGED_BLOCKS
    }

    fn set_constant(&mut self, value: Value, bits: u64) {
        if !self.constants.contains(value) {
            self.constants.set(value, bits);
            self.work.push(value);
        }
    }

    fn visit(&mut self, inst: Inst, may_assume: bool) {
        self.sees_inst(inst);
        let func = self.scene.func;
        let is_dead = func.inst_block(inst).is_none_or(|block| self.dead_blocks.contains(block));
        if is_dead || !self.is_inside(inst) {
            return;
        }
        let values = self.scene.known.values.clone();
        let used = values.used(inst);
        let left = special(self.scene, inst, |number| self.constant(*used.get(number)?));
        if left != Special::Same
            && let Some(block) = func.inst_block(inst)
        {
            self.changed_blocks.set(block, ());
        }
        match left {
            Special::Same => {}
            Special::Constant(bits) => {
                self.outcomes.set(inst, Outcome::Constant);
                values.defined(inst).iter().for_each(|&result| self.set_constant(result, bits));
            }
            Special::Never => {
                self.outcomes.set(inst, Outcome::Never);
                for &result in values.defined(inst) {
                    if let Definition::Guarded { old, .. } = values.definition(result)
                        && let Some(bits) = self.constant(old)
                    {
                        self.set_constant(result, bits);
                    }
                }
            }
            Special::Goes(target) => {
                self.outcomes.set(inst, Outcome::Goes(target as u32));
                let goal = func.insts[inst].targets()[target];
                let Some(block) = func.inst_block(inst) else { return };
                let cfg = &self.scene.known.cfg;
                self.edges.extend(cfg.out_edges(block).filter(|&edge| cfg.target(edge) != goal));
            }
            Special::Simpler(data) => {
                // What is only a copy now may be all that a join gets around its loop.
                let copied = copied_register(&data).and_then(|reg| {
                    let place = func.insts[inst].uses().iter().position(|&other| other == reg)?;
                    used.get(place).copied()
                });
                if let (Op::Mov, [Operand::Const(bits)], &[result]) =
                    (data.opcode.op, data.args.as_slice(), values.defined(inst))
                    && let Definition::Guarded { old, .. } = values.definition(result)
                    && self.constant(old) == Some(*bits)
                {
                    self.set_constant(result, *bits);
                }
                self.outcomes.set(inst, Outcome::Simpler(self.specials.len() as u32));
                self.specials.push(data);
                if let Some(source) = copied {
                    self.visit_join(source, may_assume);
                }
            }
        }
    }

    fn visit_join(&mut self, join: Value, may_assume: bool) {
        let values = self.scene.known.values.clone();
        let Definition::Join { block } = values.definition(join) else { return };
        self.sees_block(block);
        self.sees_value(join);
        if !self.is_below(block) || self.dead_blocks.contains(block) || self.constants.contains(join) {
            return;
        }
        let may_assume = may_assume && !self.refuted.contains(&join);
        let (mut bits, mut assumes) = (None, false);
        for arg in values.join_args(join) {
            let Some(edge) = arg.edge.expand() else { return };
            if !self.is_open(edge) {
                continue;
            }
            match self.constant(arg.value) {
                Some(other) if bits.is_none_or(|bits| bits == other) => bits = Some(other),
                None if may_assume && self.scene.known.cfg.is_retreating(edge) => assumes = true,
                _ => return,
            }
        }
        if let Some(bits) = bits {
            if assumes {
                self.assumed.push(join);
            }
            self.set_constant(join, bits);
        }
    }

    /// Control does not take an edge any more.
    fn close(&mut self, edge: Edge, may_assume: bool) {
        if !self.closed.set(edge, ()) {
            return;
        }
        let (cfg, dominators) = (self.scene.known.cfg.clone(), &self.scene.known.dominators);
        let target = cfg.target(edge);
        self.sees_block(target);
        self.seen.set(Seen::joins(target), ());
        if !self.is_below(target) || self.dead_blocks.contains(target) {
            return;
        }
        let comes_first =
            |&edge: &Edge| cfg.is_reachable(cfg.source(edge)) && !dominators.dominates(target, cfg.source(edge));
        if cfg.in_edges(target).iter().filter(|edge| comes_first(edge)).all(|&edge| !self.is_open(edge)) {
            self.dead_blocks.set(target, ());
            self.edges.extend(cfg.out_edges(target));
        } else {
            let known = &self.scene.known;
            let joins = known.values.joins(target).filter(|&join| known.uses.is_read(join));
            joins.for_each(|join| self.visit_join(join, may_assume));
        }
    }

    /// Did what was taken to hold around loops hold? What did not is not assumed again.
    fn assumptions_hold(&mut self) -> bool {
        let before = self.refuted.len();
        for join in core::mem::take(&mut self.assumed) {
            let bits = self.constants.get(join);
            let args = self.scene.known.values.join_args(join);
            let is_open = |edge: Option<Edge>| edge.is_none_or(|edge| self.is_open(edge));
            if args.iter().any(|arg| is_open(arg.edge.expand()) && self.constant(arg.value) != bits) {
                self.refuted.push(join);
            }
        }
        self.refuted.len() == before
    }

    // --- dead code -----------------------------------------------------------------------------------------------------

    /// Finds what nobody needs where the values are zero that are taken to be.
    pub fn find_dead(&mut self) {
        self.readers.clear();
        self.suspected.clear();
        let (func, values) = (self.scene.func, self.scene.known.values.clone());
        let changed: Vec<Inst> = self.outcomes.keys().to_vec();
        for place in 0..self.dead_blocks.keys().len() {
            let block = self.dead_blocks.keys()[place];
            for inst in func.block_insts(block) {
                self.sees_inst(inst);
                self.outcomes.set(inst, Outcome::Dead);
                values.used(inst).iter().for_each(|&value| self.lose_reader(value));
                self.lose_old(inst);
            }
        }
        for &inst in &changed {
            let is_dead = func.inst_block(inst).is_some_and(|block| self.dead_blocks.contains(block));
            if !is_dead && let Some(outcome) = self.outcomes.get(inst) {
                let is_guarded = self.simpler(outcome).is_some_and(|data| data.guard.is_some());
                self.lose_all_but(inst, outcome);
                if outcome != Outcome::Never && !is_guarded {
                    self.lose_old(inst);
                }
            }
        }
        for place in 0..self.closed.keys().len() {
            self.lose_arguments_along(self.closed.keys()[place]);
        }
        loop {
            while let Some(value) = self.unread.pop() {
                self.remove_unread(value);
            }
            let Some(suspect) = self.suspects.pop() else { break };
            self.remove_ring(suspect);
        }
        for place in 0..self.readers.keys().len() {
            self.sees_readers(self.readers.keys()[place]);
        }
    }

    /// How many readers a value has left.
    pub fn readers_left(&self, value: Value) -> u32 {
        self.readers.get(value).unwrap_or_else(|| self.scene.known.uses.of(value).len() as u32)
    }

    fn lose_reader(&mut self, value: Value) {
        let left = self.readers_left(value);
        if left > 0 {
            self.readers.set(value, left - 1);
            if left == 1 {
                self.unread.push(value);
            } else {
                let times = self.suspected.get(value).unwrap_or(0);
                if times < MOST_SUSPICIONS {
                    self.suspected.set(value, times + 1);
                    self.suspects.push(value);
                }
            }
        }
    }

    /// An instruction that changed does not read any more what its outcome does not read.
    fn lose_all_but(&mut self, inst: Inst, outcome: Outcome) {
        let mut kept = self.simpler(outcome).map(InstData::uses).unwrap_or_default();
        self.lose_uses(inst, &mut kept);
    }

    /// An instruction reads only the registers in `kept` any more, each as often as it stands there.
    fn lose_uses(&mut self, inst: Inst, kept: &mut smallvec::SmallVec<[Reg; 4]>) {
        let values = self.scene.known.values.clone();
        for (&value, &reg) in values.used(inst).iter().zip(&self.scene.func.insts[inst].uses()) {
            match kept.iter().position(|&other| other == reg) {
                Some(place) => drop(kept.swap_remove(place)),
                None => self.lose_reader(value),
            }
        }
    }

    /// A guarded instruction does not keep what its registers held before.
    fn lose_old(&mut self, inst: Inst) {
        let values = self.scene.known.values.clone();
        for &result in values.defined(inst) {
            if let Definition::Guarded { old, .. } = values.definition(result) {
                self.lose_reader(old);
            }
        }
    }

    fn lose_arguments_along(&mut self, edge: Edge) {
        let (values, uses) = (self.scene.known.values.clone(), self.scene.known.uses.clone());
        for join in values.joins(self.scene.known.cfg.target(edge)).filter(|&join| uses.is_read(join)) {
            let args = values.join_args(join).iter().filter(|arg| arg.edge.expand() == Some(edge));
            args.for_each(|arg| self.lose_reader(arg.value));
        }
    }

    /// Removes the definition of an unread value, if it does nothing else.
    fn remove_unread(&mut self, value: Value) {
        let values = self.scene.known.values.clone();
        match values.definition(value) {
            Definition::Entry => {}
            Definition::Join { block } => {
                if self.is_below(block) && !self.dead_blocks.contains(block) {
                    for arg in values.join_args(value) {
                        if arg.edge.expand().is_none_or(|edge| !self.closed.contains(edge)) {
                            self.lose_reader(arg.value);
                        }
                    }
                }
            }
            Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => {
                let outcome = self.outcomes.get(inst);
                self.sees_inst(inst);
                let data = &self.scene.func.insts[inst];
                let stays = !self.is_inside(inst) || data.opcode.has_effect() || outcome == Some(Outcome::Dead);
                if stays || values.defined(inst).iter().any(|&result| self.readers_left(result) > 0) {
                    return;
                }
                let mut lost = match outcome {
                    None => data.uses(),
                    Some(outcome) => self.simpler(outcome).map(InstData::uses).unwrap_or_default(),
                };
                let keeps_old = match outcome {
                    None | Some(Outcome::Never) => true,
                    Some(outcome) => self.simpler(outcome).is_some_and(|data| data.guard.is_some()),
                };
                self.outcomes.set(inst, Outcome::Dead);
                for (&value, reg) in values.used(inst).iter().zip(data.uses()) {
                    if let Some(place) = lost.iter().position(|&other| other == reg) {
                        lost.swap_remove(place);
                        self.lose_reader(value);
                    }
                }
                if keeps_old {
                    self.lose_old(inst);
                }
            }
        }
    }

    /// Values that only read each other, beginning with one that has lost a reader, go away together.
    fn remove_ring(&mut self, suspect: Value) {
        // What comes in from outside does not go away. What reads only that and each other did so before.
        if self.readers_left(suspect) == 0
            || self.scene.comes_from_outside(self.head, self.scene.known.values.reg(suspect))
        {
            return;
        }
        let mut ring = alloc::vec![suspect];
        let mut next = 0;
        while next < ring.len() {
            self.sees_readers(ring[next]);
            if ring.len() > LARGEST_RING || !self.readers_into(ring[next], &mut ring) {
                return;
            }
            next += 1;
        }
        for &value in &ring {
            self.readers.set(value, 0);
        }
        self.unread.append(&mut ring);
    }

    /// Adds what is made of a value by those who still read it. False where one of them has to stay.
    fn readers_into(&self, value: Value, ring: &mut Vec<Value>) -> bool {
        let (func, known) = (self.scene.func, &self.scene.known);
        let mut add = |result: Value| {
            if !ring.contains(&result) {
                ring.push(result);
            }
        };
        let readers = known.uses.of(value);
        if readers.len() > MOST_READERS {
            return false;
        }
        for &reader in readers {
            match reader {
                ValueUse::Operand { inst, .. } => {
                    let reads = match self.outcomes.get(inst) {
                        None => true,
                        Some(outcome) => {
                            self.simpler(outcome).is_some_and(|data| data.uses().contains(&known.values.reg(value)))
                        }
                    };
                    if !reads {
                        continue;
                    }
                    if !self.is_inside(inst) || func.insts[inst].opcode.has_effect() {
                        return false;
                    }
                    known.values.defined(inst).iter().for_each(|&result| add(result));
                }
                ValueUse::Old(result) => {
                    let Some(inst) = known.values.definition(result).inst() else { return false };
                    match self.outcomes.get(inst) {
                        Some(Outcome::Dead | Outcome::Constant | Outcome::Goes(_)) => {}
                        Some(outcome) if self.simpler(outcome).is_some_and(|data| data.guard.is_none()) => {}
                        _ if !self.is_inside(inst) => return false,
                        _ => add(result),
                    }
                }
                ValueUse::Argument(join) => {
                    let Definition::Join { block } = known.values.definition(join) else { return false };
                    let takes = known.values.join_args(join).iter().any(|arg| {
                        arg.value == value && arg.edge.expand().is_none_or(|edge| !self.closed.contains(edge))
                    });
                    if takes && !self.dead_blocks.contains(block) {
                        if !self.is_below(block) {
                            return false;
                        }
                        add(join);
                    }
                }
            }
        }
        true
    }

    /// Lets a constant be written after all, because something that stays as it is reads it.
    pub fn demand(&mut self, value: Value) {
        if self.constant(value).is_none() {
            return;
        }
        let values = self.scene.known.values.clone();
        let mut stack = alloc::vec![value];
        let mut joins: Vec<Value> = Vec::new();
        while let Some(value) = stack.pop() {
            self.sees_value(value);
            match values.definition(value) {
                Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => {
                    if self.is_inside(inst) && self.outcomes.get(inst) == Some(Outcome::Dead) {
                        self.outcomes.set(inst, Outcome::Constant);
                    }
                }
                Definition::Join { .. } if !joins.contains(&value) && joins.len() < LARGEST_RING => {
                    joins.push(value);
                    let args = values.join_args(value).iter();
                    stack.extend(
                        args.filter(|arg| arg.edge.expand().is_some_and(|edge| self.is_open(edge)))
                            .map(|arg| arg.value),
                    );
                }
                Definition::Join { .. } | Definition::Entry => {}
            }
        }
    }
}

/// The register that an instruction copies, if that is all it does.
pub(super) fn copied_register(data: &InstData) -> Option<Reg> {
    match (data.opcode.op, data.dsts.len(), data.args.as_slice()) {
        (Op::Mov, 1, &[Operand::Reg(reg)]) => Some(reg),
        _ => None,
    }
}
