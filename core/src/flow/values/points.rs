//! Which value a register holds at a point of the function: found when somebody asks first.
//!
//! ```text
//! a: i = 0        i holds v1 from here to the end of what a dominates
//!    br h
//! h: br p, b, c   v0, a join, from here to the end of what h dominates
//! b: i = i + 1    v3 from here to the end of what b dominates; behind that, in c, v0 again
//!    br h
//! ```
//!
//! A point is a slot of [`Values`], blocks in preorder of the dominator tree, so that what a block
//! dominates is one piece. A definition that nothing reads beyond its block, where others may come
//! in, counts to the end of the block. Events of a register stand in the order of their points, and
//! each knows the one that it stands inside.
//!
//! Many passes never ask, and the events are a fourth of the work of naming. Linear in definitions and joins.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::OnceCell;

use cranelift_entity::EntityRef;

use super::{NONE, Value, Values};
use crate::flow::joins::Joins;
use crate::ir::{Block, Reg};

/// From `point` on and before `scope_end`, which is where the defining block's dominance ends or the block itself, the
/// register holds the value, unless a later event says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Event {
    point: u32,
    scope_end: u32,
    value: Value,
    /// The nearest earlier event of the register whose scope reaches here.
    outer: u32,
}

/// Inputs for the events of a function, and the events themselves, computed on the first request.
#[derive(Clone, Default, Debug)]
pub(super) struct Points {
    /// Reachable blocks in preorder of the dominator tree.
    order: Vec<Block>,
    /// End of each block's dominator subtree, by place in the order.
    subtree_ends: Vec<u32>,
    /// First slot of each place, and one past it.
    place_slots: Vec<u32>,
    /// First record of each place, and one past it.
    place_records: Vec<u32>,
    joins: Joins,
    events: OnceCell<Events>,
}

/// All of it follows from what the values say.
impl PartialEq for Points {
    fn eq(&self, _: &Points) -> bool {
        true
    }
}

impl Eq for Points {}

impl Points {
    /// Takes the blocks as they were read.
    pub fn new(
        order: Vec<Block>,
        subtree_ends: Vec<u32>,
        place_slots: Vec<u32>,
        place_records: Vec<u32>,
        joins: Joins,
    ) -> Points {
        Points { order, subtree_ends, place_slots, place_records, joins, events: OnceCell::new() }
    }

    /// The joins of registers, and how often instructions write them.
    pub fn joins(&self) -> &Joins {
        &self.joins
    }

    /// The value that a register holds at a point of these values. None where it has no name.
    pub fn value_at(&self, values: &Values, point: u32, reg: Reg) -> Option<Value> {
        self.events.get_or_init(|| Events::find(values, self)).at(values, point, reg)
    }
}

#[derive(Clone, Debug)]
struct Events {
    /// Events of register `r` are `events[first[r]..first[r + 1]]`, in order of their points.
    first: Vec<u32>,
    events: Vec<Event>,
    /// Index of each register's next event.
    next: Vec<u32>,
}

impl Events {
    fn find(values: &Values, points: &Points) -> Events {
        let mut found = Events::reserve(values, &points.joins);
        let mut joins = points.joins.clone();
        for (place, &block) in points.order.iter().enumerate() {
            let subtree_end = points.subtree_ends[place];
            let (start, end) = (points.place_slots[place], points.place_slots[subtree_end as usize]);
            for join in values.joins(block) {
                found.add(values.reg(join), start, end, join);
            }
            let records = points.place_records[place] as usize..points.place_records[place + 1] as usize;
            for record in &values.records[records] {
                for slot in record.definitions() {
                    let value = values.slots[slot];
                    let reg = values.reg(value);
                    let is_known = joins.is_known_below(reg, place as u32, || subtree_end);
                    let scope_end = if is_known { end } else { points.place_slots[place + 1] };
                    found.add(reg, slot as u32 + 1, scope_end, value);
                }
            }
        }
        found
    }

    /// Shares the table out to the registers: one event for each definition and join, and one for the entry value of a
    /// register that is known everywhere, which holds wherever nothing else does.
    fn reserve(values: &Values, joins: &Joins) -> Events {
        let regs = (0..values.entry_values.len()).map(Reg::new);
        let mut first: Vec<u32> = regs.map(|reg| joins.definition_count(reg)).collect();
        first.push(0);
        joins.known_everywhere().iter().for_each(|reg| first[reg.index()] += 1);
        for join in values.iter().take(values.first_arg.len() - 1) {
            first[values.reg(join).index()] += 1;
        }
        let mut end = 0;
        for count in &mut first {
            let start = end;
            end += *count;
            *count = start;
        }
        let unset = Event { point: 0, scope_end: u32::MAX, value: Value::new(0), outer: NONE };
        let mut found = Events { next: first.clone(), first, events: vec![unset; end as usize] };
        for &reg in joins.known_everywhere() {
            if let Some(value) = values.entry_values[reg.index()].expand() {
                found.add(reg, 0, u32::MAX, value);
            }
        }
        found
    }

    /// Adds an event after the register's others and links it to the one it stands inside.
    fn add(&mut self, reg: Reg, point: u32, scope_end: u32, value: Value) {
        let place = self.next[reg.index()];
        self.next[reg.index()] += 1;
        let start = self.first[reg.index()] as usize;
        let mut outer = (place as usize - start).checked_sub(1).map_or(NONE, |before| before as u32);
        while outer != NONE && self.events[start + outer as usize].scope_end <= point {
            outer = self.events[start + outer as usize].outer;
        }
        self.events[place as usize] = Event { point, scope_end, value, outer };
    }

    fn at(&self, values: &Values, point: u32, reg: Reg) -> Option<Value> {
        let (start, end) = (self.first[reg.index()], self.first[reg.index() + 1]);
        if start == end {
            return values.entry_values[reg.index()].expand();
        }
        let events = &self.events[start as usize..end as usize];
        let mut index = events.partition_point(|event| event.point <= point).checked_sub(1)? as u32;
        while events[index as usize].scope_end <= point {
            index = events[index as usize].outer;
            if index == NONE {
                return None;
            }
        }
        Some(events[index as usize].value)
    }
}
