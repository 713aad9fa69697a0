//! The construction of [`Values`], in three steps: read the instructions, place the joins, name everything.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::{EntityRef, PrimaryMap};

use super::points::Points;
use super::record::Record;
use super::{GuardedData, JoinArg, NONE, Value, ValueData, Values};
use crate::flow::joins::{JoinFinder, Joins};
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function, Inst, Reg};

pub(super) struct Naming<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    /// Blocks in the order of the visit: preorder of the dominator tree, then the unreachable ones.
    order: Vec<Block>,
    /// First slot of each place in `order`, and one past it.
    place_slots: Vec<u32>,
    /// First record of each place in `order`, and one past it.
    place_records: Vec<u32>,
    joins: Joins,
    /// Value of each register at the point of the walk; `NONE` for the entry value.
    current: Vec<u32>,
    result: Values,
}

impl<'a> Naming<'a> {
    pub(super) fn new(func: &'a Function, cfg: &'a Cfg, dominators: &'a Dominators) -> Naming<'a> {
        let mut order = dominators.preorder().to_vec();
        order.extend(func.block_order().filter(|&block| !cfg.is_reachable(block)));
        let reader = Reader::read(func, cfg, dominators, &order);
        Naming {
            func,
            cfg,
            dominators,
            order,
            place_slots: reader.place_slots,
            place_records: reader.place_records,
            joins: reader.joins.finish(cfg),
            current: vec![NONE; func.regs.len()],
            result: reader.result,
        }
    }

    pub(super) fn run(mut self) -> Values {
        self.place_joins();
        for index in 0..self.joins.known_everywhere().len() {
            self.entry_value(self.joins.known_everywhere()[index]);
        }
        for reg in self.func.params.iter().filter_map(|param| param.reg) {
            self.entry_value(reg);
        }
        let subtree_ends = self.name_reachable();
        self.name_unreachable();
        let Naming { mut order, place_slots, place_records, joins, mut result, .. } = self;
        order.truncate(subtree_ends.len());
        result.points = Points::new(order, subtree_ends, place_slots, place_records, joins);
        result
    }

    // --- joins -------------------------------------------------------------------------------------------------

    fn place_joins(&mut self) {
        let is_reachable = |block: &&Block| self.cfg.is_reachable(**block);
        for place in 0..self.dominators.preorder().len() {
            let block = self.order[place];
            let regs = self.joins.at(place as u32);
            let first = self.result.values.len() as u32;
            self.result.block_joins[block.index()] = (first, first + regs.len() as u32);
            if regs.is_empty() {
                continue;
            }
            let args = self.cfg.predecessors(block).iter().filter(is_reachable).count()
                + usize::from(self.cfg.is_entry(block));
            for &reg in regs {
                let value = self.result.values.push(ValueData::of_join(reg, block));
                self.result.first_arg.push(self.result.args.len() as u32);
                let unset = JoinArg { edge: None.into(), value };
                self.result.args.extend(core::iter::repeat_n(unset, args));
            }
        }
        self.result.first_arg.push(self.result.args.len() as u32);
    }

    // --- naming ------------------------------------------------------------------------------------------------

    /// Gives by place where what its block dominates ends.
    fn name_reachable(&mut self) -> Vec<u32> {
        let (cfg, dominators) = (self.cfg, self.dominators);
        let ordinals = self.edge_ordinals();
        // What to put back when the walk leaves a subtree; only for registers that have joins, since nothing reads the
        // others where their definitions do not dominate.
        let mut undo: Vec<(Reg, u32)> = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut subtree_ends = Vec::with_capacity(dominators.preorder().len());
        for place in 0..dominators.preorder().len() {
            while let Some(&(end, depth)) = open.last()
                && end <= place
            {
                for (reg, value) in undo.drain(depth..).rev() {
                    self.current[reg.index()] = value;
                }
                open.pop();
            }
            let block = self.order[place];
            let subtree_end = place + dominators.subtree(block).len();
            open.push((subtree_end, undo.len()));
            subtree_ends.push(subtree_end as u32);

            for join in self.result.joins(block) {
                let reg = self.result.values[join].reg;
                self.set(reg, join, &mut undo);
                if cfg.is_entry(block) {
                    let value = self.entry_value(reg);
                    let last = self.result.first_arg[join.index() + 1] as usize - 1;
                    self.result.args[last] = JoinArg { edge: None.into(), value };
                }
            }
            let first = self.result.values.len() as u32;
            for record in self.record_range(place) {
                self.name_record(record, |naming, reg, value| naming.set(reg, value, &mut undo));
            }
            self.result.block_values[block.index()] = (first, self.result.values.len() as u32);
            for edge in cfg.out_edges(block) {
                for join in self.result.joins(cfg.target(edge)) {
                    let value = self.read(self.result.values[join].reg);
                    let place = self.result.first_arg[join.index()] + ordinals[edge.index()];
                    self.result.args[place as usize] = JoinArg { edge: edge.into(), value };
                }
            }
        }
        subtree_ends
    }

    /// In unreachable blocks a read sees the block's own definitions and otherwise the entry value. Nothing runs there;
    /// the names only have to exist.
    fn name_unreachable(&mut self) {
        let reachable = self.dominators.preorder().len();
        if reachable == self.order.len() {
            return;
        }
        self.current.fill(NONE);
        let mut written = Vec::new();
        for place in reachable..self.order.len() {
            for record in self.record_range(place) {
                self.name_record(record, |naming, reg, value| {
                    naming.current[reg.index()] = value.as_u32();
                    written.push(reg);
                });
            }
            for reg in written.drain(..) {
                self.current[reg.index()] = NONE;
            }
        }
    }

    /// Replaces registers by values in an instruction's slots. All uses are read before anything is written.
    fn name_record(&mut self, record: usize, mut write: impl FnMut(&mut Self, Reg, Value)) {
        let record = self.result.records[record];
        for slot in record.uses() {
            let reg = Reg::from_u32(self.result.slots[slot].as_u32());
            self.result.slots[slot] = self.read(reg);
        }
        for (slot, index) in record.definitions().zip(0..) {
            let reg = Reg::from_u32(self.result.slots[slot].as_u32());
            let value = if record.is_guarded() {
                let old = self.read(reg);
                let place = self.result.guarded.len();
                let value = self.result.values.push(ValueData::of_guarded(reg, record.inst, place));
                self.result.guarded.push(GuardedData { value, old, index });
                value
            } else {
                self.result.values.push(ValueData::of_inst(reg, record.inst, index))
            };
            self.result.slots[slot] = value;
            write(self, reg, value);
        }
    }

    fn read(&mut self, reg: Reg) -> Value {
        match self.current[reg.index()] {
            NONE => self.entry_value(reg),
            value => Value::from_u32(value),
        }
    }

    fn set(&mut self, reg: Reg, value: Value, undo: &mut Vec<(Reg, u32)>) {
        let old = core::mem::replace(&mut self.current[reg.index()], value.as_u32());
        if self.joins.may_be_at(reg) {
            undo.push((reg, old));
        }
    }

    fn entry_value(&mut self, reg: Reg) -> Value {
        if let Some(value) = self.result.entry_values[reg.index()].expand() {
            return value;
        }
        let value = self.result.values.push(ValueData::of_entry(reg));
        self.result.entry_values[reg.index()] = value.into();
        value
    }

    /// For each edge from a reachable block its place among those into its target.
    fn edge_ordinals(&self) -> Vec<u32> {
        let mut ordinals = vec![0; self.cfg.edge_count()];
        if self.result.args.is_empty() {
            return ordinals;
        }
        for &block in self.cfg.reverse_postorder() {
            let edges = self.cfg.in_edges(block).iter().filter(|&&edge| self.cfg.is_reachable(self.cfg.source(edge)));
            edges.enumerate().for_each(|(ordinal, edge)| ordinals[edge.index()] = ordinal as u32);
        }
        ordinals
    }

    fn record_range(&self, place: usize) -> core::ops::Range<usize> {
        self.place_records[place] as usize..self.place_records[place + 1] as usize
    }
}

/// The first step: records, and slots that hold the numbers of registers for now.
struct Reader<'a> {
    place_slots: Vec<u32>,
    place_records: Vec<u32>,
    joins: JoinFinder<'a>,
    result: Values,
}

impl<'a> Reader<'a> {
    fn read(func: &Function, cfg: &Cfg, dominators: &'a Dominators, order: &[Block]) -> Reader<'a> {
        // A good guess for the size of what follows: most instructions write one register and read two.
        let insts = func.insts.len();
        let result = Values {
            values: PrimaryMap::with_capacity(insts + func.params.len()),
            records: Vec::with_capacity(insts),
            record_of: vec![NONE; insts],
            slots: Vec::with_capacity(3 * insts + 2 * order.len()),
            block_slots: vec![(NONE, NONE); cfg.block_count()],
            first_arg: Vec::new(),
            args: Vec::new(),
            guarded: Vec::new(),
            block_joins: vec![(0, 0); cfg.block_count()],
            block_values: vec![(0, 0); cfg.block_count()],
            entry_values: vec![None.into(); func.regs.len()],
            points: Points::default(),
        };
        let mut reader = Reader {
            place_slots: Vec::with_capacity(order.len() + 1),
            place_records: Vec::with_capacity(order.len() + 1),
            joins: JoinFinder::new(func.regs.len(), dominators),
            result,
        };
        let reachable = dominators.preorder().len();
        for (place, &block) in order.iter().enumerate() {
            let first_slot = reader.result.slots.len() as u32;
            reader.place_slots.push(first_slot);
            reader.place_records.push(reader.result.records.len() as u32);
            reader.result.slots.push(Value::new(0));
            let place = (place < reachable).then_some(place as u32);
            reader.block(func, block, place);
            if place.is_some() {
                reader.result.block_slots[block.index()] = (first_slot, reader.result.slots.len() as u32);
            }
            reader.result.slots.push(Value::new(0));
        }
        reader.place_slots.push(reader.result.slots.len() as u32);
        reader.place_records.push(reader.result.records.len() as u32);
        reader
    }

    /// Reads the instructions of a block, which has a place if it is reachable.
    fn block(&mut self, func: &Function, block: Block, place: Option<u32>) {
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            let start = self.result.slots.len() as u32;
            data.for_each_use(|reg| {
                self.result.slots.push(Value::from_u32(reg.as_u32()));
                self.meet_read(place, reg);
            });
            let middle = self.result.slots.len() as u32;
            for &reg in &data.dsts {
                self.result.slots.push(Value::from_u32(reg.as_u32()));
                self.meet_write(place, reg, inst, data.guard.is_some());
            }
            let end = self.result.slots.len() as u32;
            self.result.record_of[inst.index()] = self.result.records.len() as u32;
            self.result.records.push(Record::new(inst, start, middle, end, data.guard.is_some()));
        }
    }

    #[inline]
    fn meet_read(&mut self, place: Option<u32>, reg: Reg) {
        if let Some(place) = place {
            self.joins.read(place, reg);
        }
    }

    #[inline]
    fn meet_write(&mut self, place: Option<u32>, reg: Reg, inst: Inst, is_guarded: bool) {
        if let Some(place) = place {
            if is_guarded {
                self.joins.read(place, reg);
            }
            self.joins.write(place, reg, inst);
        }
    }
}
