//! The number that each register holds, along a walk over the dominator tree.
//!
//! ```text
//! a: x = …        x holds 3
//! b: x = …        below a: x holds 4, until the walk leaves b
//! c: …            below a: x is a join of what a and b give, if c reads it
//! ```
//!
//! Where definitions meet is what [`crate::flow::Joins`] says; what comes along an edge is noted at the edge's source. The
//! walk goes down the tree so that siblings come in reverse postorder: then whatever comes to a join along forward edges
//! is known. A register that has no joins, since its reads are all in the blocks that write it, is unknown elsewhere.
//!
//! Linear in instructions, joins and what comes to them.
//!
//! Source: R. Cytron and others, TOPLAS 1991, section 5.2 (renaming).

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use super::expressions::Number;
use crate::flow::{Joins, subtree_end};
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function, Reg};

/// Contents of registers.
pub(super) struct Registers<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    pub joins: Joins,
    /// [`NONE`] where nothing is known.
    now: Vec<u32>,
    /// Writes of each register, summarised.
    writings: Vec<Writing>,
    /// Former content of `now`, for registers that join somewhere.
    undo: Vec<(Reg, u32)>,
    /// Registers of the open block that are not known below it.
    local: Vec<Reg>,
    /// Arguments of all joins along the edges; [`NONE`] where one is not known yet.
    args: Vec<u32>,
    /// Start of the arguments of the first join of each block with joins, and their number each.
    rows: Vec<(u32, u32)>,
    /// Place of each edge among those into its target, where something joins.
    ordinals: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// How a register is written. Small, since it is asked at every write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    /// Once, and all that read it read that.
    Once,
    /// Without joins.
    Apart,
    /// Definitions may meet.
    Joining,
}

impl<'a> Registers<'a> {
    pub fn new(func: &Function, cfg: &'a Cfg, dominators: &'a Dominators, joins: Joins) -> Registers<'a> {
        let (mut rows, mut ordinals, mut args) = (Vec::new(), Vec::new(), 0);
        if joins.len() > 0 {
            rows = vec![(0, 0); dominators.preorder().len()];
            ordinals = vec![0; cfg.edge_count()];
            for (place, &block) in dominators.preorder().iter().enumerate() {
                let count = joins.at(place as u32).len() as u32;
                if count == 0 {
                    continue;
                }
                let mut width = 0;
                for &edge in cfg.in_edges(block).iter().filter(|&&edge| cfg.is_reachable(cfg.source(edge))) {
                    ordinals[edge.index()] = width;
                    width += 1;
                }
                width += u32::from(cfg.is_entry(block));
                rows[place] = (args, width);
                args += count * width;
            }
        }
        let writings = func.regs.keys().map(|reg| match reg {
            _ if joins.is_single(reg) => Writing::Once,
            _ if joins.may_be_at(reg) => Writing::Joining,
            _ => Writing::Apart,
        });
        Registers {
            cfg,
            dominators,
            writings: writings.collect(),
            joins,
            now: vec![NONE; func.regs.len()],
            undo: Vec::new(),
            local: Vec::new(),
            args: vec![NONE; args as usize],
            rows,
            ordinals,
        }
    }

    /// The number that a register holds, where it is known.
    #[inline]
    pub fn get(&self, reg: Reg) -> Option<Number> {
        self.now.get(reg.index()).filter(|&&number| number != NONE).map(|&number| Number(number))
    }

    /// A register is what it was on entry, wherever nothing writes it or where control comes in.
    pub fn set_entry(&mut self, reg: Reg, number: Number) {
        self.now[reg.index()] = number.0;
    }

    /// A join of the open block, or an instruction of it, writes a register.
    #[inline]
    pub fn set(&mut self, reg: Reg, number: Number, place: u32) {
        let old = core::mem::replace(&mut self.now[reg.index()], number.0);
        match self.writings[reg.index()] {
            Writing::Once => return,
            Writing::Joining => self.undo.push((reg, old)),
            Writing::Apart => {}
        }
        self.note_local(reg, place);
    }

    /// Notes a register of the open block that is not known below it.
    fn note_local(&mut self, reg: Reg, place: u32) {
        if !self.joins.is_known_below(reg, place, || subtree_end(self.dominators, place)) {
            self.local.push(reg);
        }
    }

    /// A join of the open block gives a register its number.
    pub fn set_join(&mut self, reg: Reg, number: Number) {
        let old = core::mem::replace(&mut self.now[reg.index()], number.0);
        self.undo.push((reg, old));
    }

    /// The registers that join at a place, each with the place of its row.
    pub fn join(&self, place: u32, index: usize) -> Option<(Reg, &[u32])> {
        let reg = *self.joins.at(place).get(index)?;
        let (first, width) = self.rows[place as usize];
        let first = first as usize + index * width as usize;
        Some((reg, &self.args[first..first + width as usize]))
    }

    /// Passes a register's value on entry to the join with that index of an entry block.
    pub fn set_entry_arg(&mut self, place: u32, index: usize, number: Number) {
        let (first, width) = self.rows[place as usize];
        self.args[(first + (index as u32 + 1) * width) as usize - 1] = number.0;
    }

    /// The walk leaves a block for those below it: its registers go along its edges.
    pub fn leave(&mut self, block: Block) {
        if !self.rows.is_empty() {
            for edge in self.cfg.out_edges(block) {
                let place = self.dominators.preorder_number(self.cfg.target(edge));
                let (first, width) = self.rows[place as usize];
                let first = first + self.ordinals[edge.index()];
                for (index, &reg) in self.joins.at(place).iter().enumerate() {
                    self.args[(first + index as u32 * width) as usize] = self.now[reg.index()];
                }
            }
        }
        for reg in self.local.drain(..) {
            self.now[reg.index()] = NONE;
        }
    }

    /// How much there is to take back.
    pub fn depth(&self) -> usize {
        self.undo.len()
    }

    /// Takes back what has been done since the depth was that.
    pub fn take_back(&mut self, depth: usize) {
        self.undo.drain(depth..).rev().for_each(|(reg, number)| self.now[reg.index()] = number);
    }
}

/// Preorder of the dominator tree, siblings in reverse postorder.
pub(super) fn walk_order(cfg: &Cfg, dominators: &Dominators) -> Vec<Block> {
    let mut first_child = vec![None; cfg.block_count()];
    let mut next_sibling = vec![None; cfg.block_count()];
    let mut first_root = None;
    for &block in cfg.reverse_postorder().iter().rev() {
        let first = match dominators.parent(block) {
            Some(above) => &mut first_child[above.index()],
            None => &mut first_root,
        };
        next_sibling[block.index()] = first.replace(block);
    }
    let mut order = Vec::with_capacity(cfg.reverse_postorder().len());
    let mut next: Option<Block> = first_root;
    while let Some(block) = next {
        order.push(block);
        next = first_child[block.index()];
        let mut above = Some(block);
        while next.is_none()
            && let Some(done) = above
        {
            next = next_sibling[done.index()];
            above = dominators.parent(done);
        }
    }
    order
}
