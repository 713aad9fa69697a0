//! Carries a plan out.
//!
//! ```text
//! n2: x = s          n2: q = true            the statement lands in n5 and is dropped in n6
//! n5: uses x   ──▶   n5: @q x = s
//! n6: x = 0              uses x
//! ```
//!
//! Copies are inserted at all landings, then what is left is removed, or sets the new predicate. If
//! an instruction may keep its identity, it moves to one of the landings itself.
//!
//! Cost: O(landings).

use smallvec::SmallVec;

use super::plan::{Plan, Spot};
use crate::edit::Rewrite;
use crate::ir::{Block, Guard, Inst, InstData, Opcode, Operand, Type};
use crate::pass::support::path_guided::nodes::Nodes;
use crate::trace::Place;

impl Plan {
    /// Moves the statement. Critical edges that are split become blocks of `nodes`. Gives the
    /// copies of the first occurrence.
    pub fn carry_out(&self, rewrite: &mut Rewrite<'_, '_>, nodes: &mut Nodes) -> SmallVec<[Inst; 2]> {
        let setting = |reg, value: u64| InstData::new(Opcode::mov(Type::Pred), [reg], [Operand::Const(value)]);
        let predicate = (self.is_predicated && self.guard.is_none()).then(|| rewrite.create_temporary(Type::Pred));
        let guard = self.guard.or(predicate.map(|reg| Guard { reg, negated: false }));
        // A zero profile speaks of all executions of an instruction, and does not hold for some of
        // them.
        let may_move = !self.is_predicated && rewrite.func().zero_writes().next().is_none();
        let moved = self.lands.iter().position(|(_, node, _)| may_move && !self.from.contains(node));
        let mut copies = SmallVec::new();
        for (_, &(spot, _, is_partial)) in self.lands.iter().enumerate().filter(|&(index, _)| Some(index) != moved) {
            let place = place_of(rewrite, nodes, spot);
            copies.push(rewrite.insert(place, self.data.clone().guarded(guard.filter(|_| is_partial))));
        }
        // Last, because another landing may be before this one in its block.
        if let Some(index) = moved {
            let place = place_of(rewrite, nodes, self.lands[index].0);
            rewrite.move_inst(self.occurrences[0], place);
        }
        if let Some(reg) = predicate {
            for &spot in &self.clears {
                let place = place_of(rewrite, nodes, spot);
                rewrite.insert(place, setting(reg, 0));
            }
        }
        for &inst in &self.occurrences[usize::from(moved.is_some())..] {
            match predicate {
                Some(reg) => rewrite.replace(inst, setting(reg, 1)),
                None => rewrite.remove(inst),
            }
        }
        if let Some(reg) = predicate {
            for &block in &self.begins {
                rewrite.prepend(block, setting(reg, 0));
            }
        }
        copies
    }
}

fn place_of(rewrite: &mut Rewrite<'_, '_>, nodes: &mut Nodes, spot: Spot) -> Place {
    match spot {
        Spot::Before(inst) => {
            let block = rewrite.func().inst_block(inst).unwrap_or(Block::from_u32(0));
            Place { block, before: Some(inst) }
        }
        Spot::Start(block) => Place { block, before: rewrite.func().block_insts(block).next() },
        Spot::End(block) => Place { block, before: rewrite.func().terminator(block) },
        Spot::Edge(from, to) => {
            // Another plan may have split it.
            let node = nodes.middle(from, to);
            let middle = node.and_then(|node| nodes.block(node)).unwrap_or_else(|| {
                let middle = rewrite.split_edge_ahead(from, to);
                if let Some(node) = node {
                    nodes.has_been_split(node, middle);
                }
                middle
            });
            Place { block: middle, before: rewrite.func().terminator(middle) }
        }
    }
}
