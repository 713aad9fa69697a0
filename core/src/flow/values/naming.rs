//! The construction of [`Values`], in three steps: read the instructions, place the joins, name everything.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::{EntityRef, PrimaryMap};

use super::{Definition, Event, JoinArg, NONE, Record, Value, ValueData, Values};
use crate::graph::{Cfg, Dominators, IteratedFrontier};
use crate::ir::{Block, Function, Reg};

pub(super) struct Naming<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    /// Blocks in the order of the visit: preorder of the dominator tree, then the unreachable ones.
    order: Vec<Block>,
    /// By place in `order`, and one past it: the first slot.
    place_slots: Vec<u32>,
    /// By place in `order`, and one past it: the first record.
    place_records: Vec<u32>,
    regs: Vec<RegFacts>,
    /// The scopes of registers with several definitions, given by the places of their tops; both rise.
    scopes: Vec<(Reg, u32)>,
    /// What each register holds at the point of the walk; `NONE` for the entry value.
    current: Vec<u32>,
    /// By register: where its next event goes.
    next_event: Vec<u32>,
    result: Values,
}

/// What reading the instructions tells of a register.
#[derive(Clone, Copy, Default)]
struct RegFacts {
    definitions: u32,
    /// One more than the place in the order of the block that wrote it last.
    written_in: u32,
    /// One more than the place of the top that the walk came to last.
    top: u32,
    /// The register's next scope in the order of the walk.
    next_scope: u32,
    /// Read below the top, in a block that did not write it before.
    is_read_below: bool,
    /// Read where no definition dominates.
    is_undominated: bool,
    /// Is that top's subtree a scope?
    is_in_scope: bool,
}

impl RegFacts {
    /// Is its value known everywhere, by joins wherever definitions meet?
    fn is_known_everywhere(self) -> bool {
        self.definitions > 0 && self.is_undominated
    }

    /// Does everything that reads it read its only definition?
    fn is_single(self) -> bool {
        self.definitions == 1 && !self.is_undominated
    }
}

impl<'a> Naming<'a> {
    pub(super) fn new(func: &'a Function, cfg: &'a Cfg, dominators: &'a Dominators) -> Naming<'a> {
        let mut order = dominators.preorder().to_vec();
        order.extend(func.block_order().filter(|&block| !cfg.is_reachable(block)));
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
            block_joins: vec![(0, 0); cfg.block_count()],
            entry_values: vec![None.into(); func.regs.len()],
            first_event: Vec::new(),
            events: Vec::new(),
        };
        Naming {
            func,
            cfg,
            dominators,
            place_slots: Vec::with_capacity(order.len() + 1),
            place_records: Vec::with_capacity(order.len() + 1),
            order,
            regs: vec![RegFacts::default(); func.regs.len()],
            scopes: Vec::new(),
            current: vec![NONE; func.regs.len()],
            next_event: Vec::new(),
            result,
        }
    }

    pub(super) fn run(mut self) -> Values {
        self.read_instructions();
        self.sort_scopes();
        self.place_joins();
        self.reserve_events();
        for reg in self.func.params.iter().filter_map(|param| param.reg) {
            self.entry_value(reg);
        }
        self.name_reachable();
        self.name_unreachable();
        self.result
    }

    // --- reading -----------------------------------------------------------------------------------------------

    /// Fills records and slots; a slot holds the number of its register for now.
    fn read_instructions(&mut self) {
        let reachable = self.dominators.preorder().len();
        for place in 0..self.order.len() {
            let block = self.order[place];
            let first_slot = self.result.slots.len() as u32;
            self.place_slots.push(first_slot);
            self.place_records.push(self.result.records.len() as u32);
            self.result.slots.push(Value::new(0));
            if place < reachable {
                self.read_block(
                    block,
                    |naming, reg| naming.note_read(block, place, reg),
                    |naming, reg| naming.note_write(block, place, reg),
                );
                self.result.block_slots[block.index()] = (first_slot, self.result.slots.len() as u32);
            } else {
                self.read_block(block, |_, _| {}, |_, _| {});
            }
            self.result.slots.push(Value::new(0));
        }
        self.place_slots.push(self.result.slots.len() as u32);
        self.place_records.push(self.result.records.len() as u32);
    }

    fn read_block(
        &mut self,
        block: Block,
        mut read: impl FnMut(&mut Self, Reg),
        mut write: impl FnMut(&mut Self, Reg),
    ) {
        let func = self.func;
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            let start = self.result.slots.len() as u32;
            data.for_each_use(|reg| {
                self.result.slots.push(Value::from_u32(reg.as_u32()));
                read(self, reg);
            });
            let middle = self.result.slots.len() as u32;
            for &reg in &data.dsts {
                self.result.slots.push(Value::from_u32(reg.as_u32()));
                if data.guard.is_some() {
                    read(self, reg);
                }
                write(self, reg);
            }
            let end = self.result.slots.len() as u32;
            self.result.record_of[inst.index()] = self.result.records.len() as u32;
            self.result.records.push(Record { inst, start, middle, end, is_guarded: data.guard.is_some() });
        }
    }

    fn note_read(&mut self, block: Block, place: usize, reg: Reg) {
        let facts = self.regs[reg.index()];
        if facts.written_in == place as u32 + 1 {
            return;
        }
        // The tree's preorder brings a dominating definition before this read.
        if !self.is_below_top(facts, block) {
            self.regs[reg.index()].is_undominated = true;
        } else if !facts.is_read_below {
            self.regs[reg.index()].is_read_below = true;
            if facts.definitions > 1 {
                self.scopes.push((reg, facts.top - 1));
            }
        }
    }

    fn note_write(&mut self, block: Block, place: usize, reg: Reg) {
        let mut facts = self.regs[reg.index()];
        facts.definitions += 1;
        facts.written_in = place as u32 + 1;
        if facts.definitions == 2 && facts.is_read_below {
            self.scopes.push((reg, facts.top - 1));
        }
        if !self.is_below_top(facts, block) {
            facts.top = place as u32 + 1;
            facts.is_read_below = false;
        }
        self.regs[reg.index()] = facts;
    }

    fn is_below_top(&self, facts: RegFacts, block: Block) -> bool {
        facts.top != 0 && self.dominators.dominates(self.order[facts.top as usize - 1], block)
    }

    /// Brings the scopes of each register together. One that is known everywhere needs none.
    fn sort_scopes(&mut self) {
        self.scopes.retain(|(reg, _)| !self.regs[reg.index()].is_undominated);
        self.scopes.sort_unstable();
        self.regs.iter_mut().for_each(|facts| (facts.top, facts.next_scope) = (0, NONE));
        for (index, (reg, _)) in self.scopes.iter().enumerate().rev() {
            self.regs[reg.index()].next_scope = index as u32;
        }
    }

    /// Are there places where definitions of the register may meet?
    fn may_have_joins(&self, reg: usize) -> bool {
        self.regs[reg].is_known_everywhere() || self.regs[reg].next_scope != NONE
    }

    // --- joins -------------------------------------------------------------------------------------------------

    fn place_joins(&mut self) {
        let reachable = self.dominators.preorder().len();
        let pairs = self.find_joins();
        // By block in the order of the visit; within a block registers rise already.
        let mut first = vec![0u32; reachable + 1];
        for (place, _) in &pairs {
            first[*place as usize] += 1;
        }
        let mut end = 0;
        for count in &mut first {
            end += *count;
            *count = end;
        }
        let mut joins = vec![(Block::new(0), Reg::new(0)); pairs.len()];
        for &(place, reg) in pairs.iter().rev() {
            first[place as usize] -= 1;
            joins[first[place as usize] as usize] = (self.order[place as usize], reg);
        }
        for place in 0..reachable {
            self.result.block_joins[self.order[place].index()] = (first[place], first[place + 1]);
        }
        let is_reachable = |block: &&Block| self.cfg.is_reachable(**block);
        for (block, reg) in joins {
            let value = self.result.values.push(ValueData { reg, definition: Definition::Join { block } });
            self.result.first_arg.push(self.result.args.len() as u32);
            let args = self.cfg.predecessors(block).iter().filter(is_reachable).count()
                + usize::from(self.cfg.is_entry(block));
            let unset = JoinArg { edge: None.into(), value };
            self.result.args.extend(core::iter::repeat_n(unset, args));
        }
        self.result.first_arg.push(self.result.args.len() as u32);
    }

    /// Place of the block and register of each join, registers rising.
    fn find_joins(&self) -> Vec<(u32, Reg)> {
        // The blocks that define each register, as compressed rows.
        let mut first = vec![0u32; self.regs.len() + 1];
        let mut end = 0;
        for (reg, facts) in self.regs.iter().enumerate() {
            first[reg] = end;
            end += if self.may_have_joins(reg) { facts.definitions } else { 0 };
        }
        first[self.regs.len()] = end;
        if end == 0 {
            return Vec::new();
        }
        let mut free = first.clone();
        let mut blocks = vec![Block::new(0); end as usize];
        for place in 0..self.dominators.preorder().len() {
            for record in &self.result.records[self.record_range(place)] {
                for slot in record.middle..record.end {
                    let reg = self.result.slots[slot as usize].index();
                    if self.may_have_joins(reg) {
                        blocks[free[reg] as usize] = self.order[place];
                        free[reg] += 1;
                    }
                }
            }
        }
        let mut frontier = IteratedFrontier::new(self.cfg, self.dominators);
        let mut pairs = Vec::new();
        let mut joins = Vec::new();
        let mut scopes = self.scopes.iter().peekable();
        for reg in (0..self.regs.len()).filter(|&reg| self.may_have_joins(reg)) {
            let definitions = &blocks[first[reg] as usize..first[reg + 1] as usize];
            if self.regs[reg].is_known_everywhere() {
                let entries = self.cfg.entries();
                joins = frontier.of(&[entries, definitions].concat());
            }
            while let Some(&(_, top)) = scopes.next_if(|(scoped, _)| scoped.index() == reg) {
                let top = self.order[top as usize];
                // What the top dominates is one piece of the preorder.
                let start = definitions.partition_point(|&block| self.is_before(block, top));
                let end = definitions
                    .partition_point(|&block| self.is_before(block, top) || self.dominators.dominates(top, block));
                frontier.add_below(&mut joins, &definitions[start..end], top);
            }
            pairs.extend(joins.drain(..).map(|block| (self.dominators.preorder_number(block), Reg::new(reg))));
        }
        pairs
    }

    fn is_before(&self, block: Block, other: Block) -> bool {
        self.dominators.preorder_number(block) < self.dominators.preorder_number(other)
    }

    // --- naming ------------------------------------------------------------------------------------------------

    fn name_reachable(&mut self) {
        let (cfg, dominators) = (self.cfg, self.dominators);
        let ordinals = self.edge_ordinals();
        // What to put back when the walk leaves a subtree; only for registers that have joins, since nothing reads the
        // others where their definitions do not dominate.
        let mut undo: Vec<(Reg, u32)> = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
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
            let scope_end = self.place_slots[subtree_end];

            for join in self.result.joins(block) {
                let reg = self.result.values[join].reg;
                self.set(reg, join, &mut undo);
                self.add_event(reg, self.place_slots[place], scope_end, join);
                if cfg.is_entry(block) {
                    let value = self.entry_value(reg);
                    let last = self.result.first_arg[join.index() + 1] as usize - 1;
                    self.result.args[last] = JoinArg { edge: None.into(), value };
                }
            }
            for record in self.record_range(place) {
                self.name_record(record, |naming, reg, value, slot| {
                    naming.set(reg, value, &mut undo);
                    let is_known = naming.is_known_below(reg, place);
                    let scope_end = if is_known { scope_end } else { naming.place_slots[place + 1] };
                    naming.add_event(reg, slot + 1, scope_end, value);
                });
            }
            for edge in cfg.out_edges(block) {
                for join in self.result.joins(cfg.target(edge)) {
                    let value = self.read(self.result.values[join].reg);
                    let place = self.result.first_arg[join.index()] + ordinals[edge.index()];
                    self.result.args[place as usize] = JoinArg { edge: edge.into(), value };
                }
            }
        }
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
                self.name_record(record, |naming, reg, value, _| {
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
    fn name_record(&mut self, record: usize, mut write: impl FnMut(&mut Self, Reg, Value, u32)) {
        let Record { inst, start, middle, end, is_guarded } = self.result.records[record];
        for slot in start..middle {
            let reg = Reg::from_u32(self.result.slots[slot as usize].as_u32());
            self.result.slots[slot as usize] = self.read(reg);
        }
        for slot in middle..end {
            let reg = Reg::from_u32(self.result.slots[slot as usize].as_u32());
            let index = slot - middle;
            let definition = if is_guarded {
                Definition::Guarded { inst, index, old: self.read(reg) }
            } else {
                Definition::Inst { inst, index }
            };
            let value = self.result.values.push(ValueData { reg, definition });
            self.result.slots[slot as usize] = value;
            write(self, reg, value, slot);
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
        if self.may_have_joins(reg.index()) {
            undo.push((reg, old));
        }
    }

    /// Does the register's value remain known below a block that writes it, beyond the block's end?
    fn is_known_below(&mut self, reg: Reg, place: usize) -> bool {
        let facts = self.regs[reg.index()];
        if facts.is_single() || facts.is_undominated {
            return true;
        }
        if facts.next_scope == NONE || self.is_below_top(facts, self.order[place]) {
            return facts.is_in_scope;
        }
        let facts = &mut self.regs[reg.index()];
        facts.top = place as u32 + 1;
        facts.is_in_scope = self.scopes.get(facts.next_scope as usize) == Some(&(reg, place as u32));
        facts.next_scope += u32::from(facts.is_in_scope);
        facts.is_in_scope
    }

    fn entry_value(&mut self, reg: Reg) -> Value {
        if let Some(value) = self.result.entry_values[reg.index()].expand() {
            return value;
        }
        let value = self.result.values.push(ValueData { reg, definition: Definition::Entry });
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

    // --- events ------------------------------------------------------------------------------------------------

    /// Shares the table of events out to the registers: one for each definition and join, and one for the entry value
    /// of a register that is known everywhere, which holds wherever nothing else does.
    fn reserve_events(&mut self) {
        let mut first: Vec<u32> =
            self.regs.iter().map(|facts| facts.definitions + u32::from(facts.is_known_everywhere())).collect();
        first.push(0);
        for data in self.result.values.values() {
            first[data.reg.index()] += 1;
        }
        let mut end = 0;
        for count in &mut first {
            let start = end;
            end += *count;
            *count = start;
        }
        self.next_event = first.clone();
        self.result.first_event = first;
        let unset = Event { point: 0, scope_end: u32::MAX, value: Value::new(0), outer: NONE };
        self.result.events = vec![unset; end as usize];
        for reg in 0..self.regs.len() {
            if self.regs[reg].is_known_everywhere() {
                let value = self.entry_value(Reg::new(reg));
                self.add_event(Reg::new(reg), 0, u32::MAX, value);
            }
        }
    }

    /// Adds an event after the register's others and links it to the one it stands inside.
    fn add_event(&mut self, reg: Reg, point: u32, scope_end: u32, value: Value) {
        let place = self.next_event[reg.index()];
        self.next_event[reg.index()] += 1;
        let start = self.result.first_event[reg.index()] as usize;
        let mut outer = (place as usize - start).checked_sub(1).map_or(NONE, |before| before as u32);
        while outer != NONE && self.result.events[start + outer as usize].scope_end <= point {
            outer = self.result.events[start + outer as usize].outer;
        }
        self.result.events[place as usize] = Event { point, scope_end, value, outer };
    }
}
