//! The value table of a walk over the dominator tree: which number stands for what, and which
//! register holds it, at every moment of the walk.
//!
//! ```text
//! opened entry
//!   held v2    2  add.u32 v0, v1   x  entry
//! opened then
//!   held v3    2  add.u32 v0, v1   x  entry      3  mul.u32 v2, v2   y  then
//! closed then
//!              2  add.u32 v0, v1   x  entry
//! ```
//!
//! A walk records a [`TableEvent`] when a scope opens, when a register comes to hold a number, and
//! when a scope closes. The table at a moment is what the events up to it amount to
//! ([`ValueTable::at`]), so going a step back takes entries back.
//!
//! Linear in events, apart from a logarithm for finding rows. [`TableBuilder`] takes the events one by one.
//!
//! Source: P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE 1997, section 3 (scoped hash tables).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::compact_sort::CompactSort;
use crate::ir::Block;
use crate::trace::{Holder, TableEvent};

/// A table at a moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ValueTable {
    /// The open scopes, from the outermost on. The last one is the block where the walk stands.
    pub scopes: Vec<Scope>,
    /// The rows, in the order in which they were entered.
    pub rows: Vec<Row>,
}

/// An open scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scope {
    /// Its block.
    pub block: Block,
    /// May values be taken from it where the walk stands?
    pub is_in_reach: bool,
}

/// A number that somebody holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The number.
    pub number: u32,
    /// Expression of the number.
    pub expression: String,
    /// Holders of the value, the leader first.
    pub holders: Vec<Holder>,
    /// The last event that entered a holder, counted from 0.
    pub entered: usize,
}

/// A table that takes one event after the other, for those who look at every moment.
#[derive(Clone, Debug, Default)]
pub struct TableBuilder {
    /// Open blocks, each with the outermost one within reach.
    open: Vec<(Block, Block)>,
    rows: BTreeMap<u32, Row>,
    /// Numbers that have holders in each block, once for each holder.
    held_in: BTreeMap<Block, Vec<u32>>,
    events: usize,
}

impl TableBuilder {
    /// Takes the next event.
    pub fn take(&mut self, event: &TableEvent) {
        match event {
            TableEvent::Opened { block, reach } => self.open.push((*block, *reach)),
            TableEvent::Held { number, expression, holder } => {
                let row = self.rows.entry(*number).or_insert_with(|| Row {
                    number: *number,
                    expression: expression.clone(),
                    holders: Vec::new(),
                    entered: 0,
                });
                row.holders.push(holder.clone());
                row.entered = self.events;
                self.held_in.entry(holder.block).or_default().push(*number);
            }
            TableEvent::Closed { block } => {
                self.open.retain(|(opened, _)| opened != block);
                for number in self.held_in.remove(block).unwrap_or_default() {
                    let Some(row) = self.rows.get_mut(&number) else { continue };
                    row.holders.retain(|holder| holder.block != *block);
                    if row.holders.is_empty() {
                        self.rows.remove(&number);
                    }
                }
            }
        }
        self.events += 1;
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The open scope around the innermost one.
    pub fn enclosing_scope(&self) -> Option<Block> {
        self.open.iter().rev().nth(1).map(|&(block, _)| block)
    }

    /// The leader of a number: the first holder that is within reach, or else the first.
    pub fn leader(&self, number: u32) -> Option<&Holder> {
        let holders = &self.rows.get(&number)?.holders;
        let out_of_reach = &self.open[..self.out_of_reach()];
        let is_in_reach = |holder: &&Holder| out_of_reach.iter().all(|&(block, _)| block != holder.block);
        holders.iter().find(is_in_reach).or(holders.first())
    }

    /// The table at this moment.
    pub fn table(self) -> ValueTable {
        let first = self.out_of_reach();
        let scopes = (self.open.iter().enumerate())
            .map(|(place, &(block, _))| Scope { block, is_in_reach: place >= first })
            .collect();
        let out_of_reach: BTreeSet<Block> = self.open[..first].iter().map(|&(block, _)| block).collect();
        let mut rows: Vec<Row> = self.rows.into_values().collect();
        // What is out of reach leads no more, and what remains is led by the holder that comes next.
        for row in &mut rows {
            row.holders.compact_sort_by_key(|holder| out_of_reach.contains(&holder.block));
        }
        ValueTable { scopes, rows }
    }

    /// Open scopes that are out of reach.
    fn out_of_reach(&self) -> usize {
        let reach = self.open.last().map(|&(_, reach)| reach);
        self.open.iter().position(|&(block, _)| Some(block) == reach).unwrap_or(0)
    }
}

impl ValueTable {
    /// The table after those events.
    pub fn at<'a>(events: impl Iterator<Item = &'a TableEvent>) -> ValueTable {
        let mut builder = TableBuilder::default();
        events.for_each(|event| builder.take(event));
        builder.table()
    }

    /// May a value be taken from that block where the walk stands?
    pub fn is_in_reach(&self, block: Block) -> bool {
        self.scopes.iter().any(|scope| scope.block == block && scope.is_in_reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn held(number: u32, holder: &str, block: u32) -> TableEvent {
        let holder = Holder { name: holder.into(), block: Block::from_u32(block), inst: None };
        TableEvent::Held { number, expression: "e".into(), holder }
    }

    fn opened(block: u32, reach: u32) -> TableEvent {
        TableEvent::Opened { block: Block::from_u32(block), reach: Block::from_u32(reach) }
    }

    fn closed(block: u32) -> TableEvent {
        TableEvent::Closed { block: Block::from_u32(block) }
    }

    /// The table as text: open blocks, then numbers with their holders.
    fn shown(events: &[TableEvent]) -> String {
        use core::fmt::Write;
        let table = ValueTable::at(events.iter());
        let mut text = String::new();
        for scope in &table.scopes {
            let _ = write!(text, "{}{} ", scope.block.as_u32(), if scope.is_in_reach { "" } else { "-" });
        }
        for row in &table.rows {
            let holders: Vec<&str> = row.holders.iter().map(|holder| holder.name.as_str()).collect();
            let _ = write!(text, "| {} {} ", row.number, holders.join(","));
        }
        text
    }

    #[test]
    fn what_a_scope_entered_goes_with_it() {
        let events = [opened(0, 0), held(2, "x", 0), opened(1, 0), held(2, "y", 1), held(3, "z", 1), closed(1)];
        assert_eq!(shown(&events[..2]), "0 | 2 x ");
        assert_eq!(shown(&events[..5]), "0 1 | 2 x,y | 3 z ");
        assert_eq!(shown(&events), "0 | 2 x ");
    }

    #[test]
    fn an_entry_for_a_block_above_outlives_the_scope_in_which_it_was_made() {
        let events = [opened(0, 0), opened(1, 0), held(4, "parameter", 0), closed(1)];
        assert_eq!(shown(&events), "0 | 4 parameter ");
    }

    #[test]
    fn out_of_reach_nobody_leads() {
        let events = vec![opened(0, 0), held(2, "x", 0), opened(1, 1), held(2, "y", 1)];
        assert_eq!(shown(&events), "0- 1 | 2 y,x ");
        let mut builder = TableBuilder::default();
        events.iter().for_each(|event| builder.take(event));
        let leader = builder.leader(2).map(|holder| holder.name.as_str());
        assert_eq!((leader, builder.enclosing_scope()), (Some("y"), Some(Block::from_u32(0))));
    }
}
