//! Joins of different definitions of a register, after which its value needs a name of its own.
//!
//! ```text
//! a: i = 0        br h
//! h: br p, b, c           h is a join of i: what a wrote meets what b wrote
//! b: i = i + 1    br h
//! ```
//!
//! Joins are iterated dominance frontiers (minimal), and only for registers that some block reads
//! before it writes them (semi-pruned), and there only where the register may still be read. That
//! is told by dominance, without knowing what is live. Let the *tops* of a register be the blocks
//! that write it and are dominated by no other block that does. Where every such read is dominated
//! by a write, a join that a top does not strictly dominate could reach a read below that top only
//! through it, which writes the register again. So joins are needed only below tops with such a
//! read, their
//! *scopes*: a counter of an inner loop has none in the headers of the loops around it. A register with a read that no
//! write dominates is known everywhere; that read may see the value on entry.
//!
//! Time and space: linear in reads, writes and blocks, plus the joins, plus what their frontiers cost.
//!
//! Source: R. Cytron and others, Efficiently computing static single assignment form and the control dependence graph,
//! TOPLAS 1991; P. Briggs and others, Practical improvements to the construction and destruction of static single
//! assignment form, SPE 1998 (semi-pruned).

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;

use crate::compact_sort::CompactSort;
use crate::graph::{Cfg, Dominators, IteratedFrontier};
use crate::ir::{Block, Inst, Reg};

/// Is told what each block reads and writes, and finds the joins. A place is a block's in the preorder of the dominator
/// tree, and blocks come so that each follows those that dominate it.
pub(crate) struct JoinFinder<'a> {
    dominators: &'a Dominators,
    regs: Vec<RegFacts>,
    /// The scopes of registers with several definitions, given by the places of their tops.
    scopes: Vec<(Reg, u32)>,
    /// Registers that have several definitions, and the place of each.
    definitions: Vec<(Reg, u32)>,
}

/// Facts about a register from reading the instructions.
#[derive(Clone, Copy, Default, Debug)]
struct RegFacts {
    definitions: u32,
    /// The instruction that wrote it last.
    last: PackedOption<Inst>,
    /// One more than the place of the block that wrote it last.
    written_in: u32,
    /// The place of the top that was come to last, and where its subtree ends; 0 for none.
    top: u32,
    top_end: u32,
    /// Read below the top, in a block that did not write it before.
    is_read_below: bool,
    /// Read where no definition dominates.
    is_undominated: bool,
    /// Has it a scope?
    has_scopes: bool,
    /// Is the top's subtree a scope?
    is_in_scope: bool,
}

impl<'a> JoinFinder<'a> {
    pub fn new(reg_count: usize, dominators: &'a Dominators) -> JoinFinder<'a> {
        JoinFinder {
            dominators,
            regs: vec![RegFacts::default(); reg_count],
            scopes: Vec::new(),
            definitions: Vec::new(),
        }
    }

    /// A block reads a register. A guarded write reads what was there.
    #[inline]
    pub fn read(&mut self, place: u32, reg: Reg) {
        let facts = &mut self.regs[reg.index()];
        // What dominates came before this read. Without branches, which no processor could foretell.
        let comes_in = facts.written_in != place + 1;
        let is_below = facts.is_below_top(place);
        let is_first = comes_in & is_below & !facts.is_read_below;
        facts.is_undominated |= comes_in & !is_below;
        facts.is_read_below |= is_first;
        if is_first & (facts.definitions > 1) {
            self.scopes.push((reg, facts.top));
        }
    }

    /// An instruction of a block writes a register.
    #[inline]
    pub fn write(&mut self, place: u32, reg: Reg, inst: Inst) {
        let facts = &mut self.regs[reg.index()];
        let before = core::mem::replace(&mut facts.written_in, place + 1);
        facts.definitions += 1;
        facts.last = inst.into();
        if facts.definitions > 1 {
            self.note_definition(place, reg, before);
        }
        let facts = &mut self.regs[reg.index()];
        if !facts.is_below_top(place) {
            facts.top = place;
            facts.top_end = subtree_end(self.dominators, place);
            facts.is_read_below = false;
        }
    }

    /// Notes another definition of a register, which was written before in the block of that place, counted from 1.
    fn note_definition(&mut self, place: u32, reg: Reg, before: u32) {
        let facts = &self.regs[reg.index()];
        if facts.definitions == 2 {
            self.definitions.push((reg, before - 1));
            if facts.is_read_below {
                self.scopes.push((reg, facts.top));
            }
        }
        self.definitions.push((reg, place));
    }

    /// Places the joins.
    pub fn finish(mut self, cfg: &'a Cfg) -> Joins {
        self.scopes.retain(|(reg, _)| !self.regs[reg.index()].is_undominated);
        self.scopes.compact_sort();
        for (reg, _) in &self.scopes {
            self.regs[reg.index()].has_scopes = true;
        }
        let candidates = self.line_up();
        let pairs = self.find(cfg, &candidates);
        let place_count = self.dominators.preorder().len();
        // By place; at one place registers rise already.
        let mut first = vec![0_u32; place_count + 1];
        for (place, _) in &pairs {
            first[*place as usize] += 1;
        }
        let mut end = 0;
        for count in &mut first {
            end += *count;
            *count = end;
        }
        let mut joined = vec![Reg::new(0); pairs.len()];
        for &(place, reg) in pairs.iter().rev() {
            first[place as usize] -= 1;
            joined[first[place as usize] as usize] = reg;
        }
        let everywhere = candidates.regs.iter().map(|&(reg, _)| reg);
        let everywhere = everywhere.filter(|reg| self.regs[reg.index()].is_known_everywhere()).collect();
        Joins { regs: self.regs, scopes: self.scopes, everywhere, first, joined }
    }

    /// The registers that may have joins, and the places that define each, rising. A single definition that does not
    /// dominate all reads meets the value on entry.
    fn line_up(&mut self) -> Candidates {
        let mut candidates = Candidates { regs: Vec::new(), places: Vec::new() };
        let mut end = 0;
        for (reg, facts) in self.regs.iter_mut().enumerate().filter(|(_, facts)| facts.may_have_joins()) {
            candidates.regs.push((Reg::new(reg), end));
            // Nothing is below a top from here on, which leaves room for where the next place goes.
            (facts.top, facts.top_end) = (end, 0);
            end += facts.definitions;
        }
        candidates.places.resize(end as usize, 0);
        let places = &mut candidates.places;
        for &(reg, first) in &candidates.regs {
            let facts = &self.regs[reg.index()];
            if facts.definitions == 1 {
                places[first as usize] = facts.written_in - 1;
            }
        }
        for &(reg, place) in &self.definitions {
            let facts = &mut self.regs[reg.index()];
            if facts.may_have_joins() {
                places[facts.top as usize] = place;
                facts.top += 1;
            }
        }
        candidates
    }

    /// Place and register of each join, registers rising.
    fn find(&self, cfg: &'a Cfg, candidates: &Candidates) -> Vec<(u32, Reg)> {
        let dominators = self.dominators;
        if candidates.regs.is_empty() {
            return Vec::new();
        }
        let order = dominators.preorder();
        let blocks: Vec<Block> = candidates.places.iter().map(|&place| order[place as usize]).collect();
        let mut frontier = IteratedFrontier::new(cfg, dominators);
        let (mut pairs, mut joins) = (Vec::new(), Vec::new());
        let mut scopes = self.scopes.iter().peekable();
        for (index, &(reg, first)) in candidates.regs.iter().enumerate() {
            let end = candidates.regs.get(index + 1).map_or(candidates.places.len(), |&(_, next)| next as usize);
            let row = first as usize..end;
            let (places, blocks) = (&candidates.places[row.clone()], &blocks[row]);
            if self.regs[reg.index()].is_undominated {
                joins = frontier.in_any_order(&[cfg.entries(), blocks].concat());
            }
            while let Some(&(_, top)) = scopes.next_if(|(scoped, _)| *scoped == reg) {
                let (top_block, below) = (order[top as usize], subtree_end(dominators, top));
                let start = places.partition_point(|&place| place < top);
                let end = places.partition_point(|&place| place < below);
                frontier.add_below(&mut joins, &blocks[start..end], top_block);
            }
            pairs.extend(joins.drain(..).map(|block| (dominators.preorder_number(block), reg)));
        }
        pairs
    }
}

/// The registers that may have joins.
struct Candidates {
    /// Registers, rising, and where the places that define each begin.
    regs: Vec<(Reg, u32)>,
    places: Vec<u32>,
}

/// One more than the last place that the block with that place dominates: a subtree is one piece of the preorder.
pub(crate) fn subtree_end(dominators: &Dominators, place: u32) -> u32 {
    place + dominators.subtree(dominators.preorder()[place as usize]).len() as u32
}

impl RegFacts {
    /// Does the top that was come to last dominate that place?
    #[inline]
    fn is_below_top(&self, place: u32) -> bool {
        (self.top <= place) & (place < self.top_end)
    }

    /// Is its value known everywhere, by joins wherever definitions meet?
    fn is_known_everywhere(&self) -> bool {
        self.definitions > 0 && self.is_undominated
    }

    fn may_have_joins(&self) -> bool {
        self.is_known_everywhere() || self.has_scopes
    }
}

/// The joins of a function's registers.
#[derive(Clone, Default, Debug)]
pub(crate) struct Joins {
    regs: Vec<RegFacts>,
    scopes: Vec<(Reg, u32)>,
    /// Registers whose values are known everywhere, rising.
    everywhere: Vec<Reg>,
    /// The registers that join at the block with place `p` are `joined[first[p]..first[p + 1]]`, rising.
    first: Vec<u32>,
    joined: Vec<Reg>,
}

impl Joins {
    /// The registers that join at a place, rising.
    pub fn at(&self, place: u32) -> &[Reg] {
        let place = place as usize;
        &self.joined[self.first[place] as usize..self.first[place + 1] as usize]
    }

    /// How many instructions write the register.
    pub fn definition_count(&self, reg: Reg) -> u32 {
        self.regs[reg.index()].definitions
    }

    /// The only instruction that writes the register, if everything that reads it reads that.
    pub fn single_definition(&self, reg: Reg) -> Option<Inst> {
        if self.is_single(reg) { self.regs[reg.index()].last.expand() } else { None }
    }

    /// Does everything that reads it read its only definition?
    pub fn is_single(&self, reg: Reg) -> bool {
        let facts = &self.regs[reg.index()];
        facts.definitions == 1 && !facts.is_undominated
    }

    /// The registers whose values are known everywhere, by joins wherever definitions meet, rising.
    pub fn known_everywhere(&self) -> &[Reg] {
        &self.everywhere
    }

    /// Are there places where definitions of the register may meet?
    pub fn may_be_at(&self, reg: Reg) -> bool {
        self.regs[reg.index()].may_have_joins()
    }

    /// Does the register's value remain known below a block that writes it, beyond the block's end?
    /// Blocks are visited so that each subtree of the dominator tree is in one piece, its root first;
    /// the subtree of this block ends before the place that `subtree_end` gives.
    #[inline]
    pub fn is_known_below(&mut self, reg: Reg, place: u32, subtree_end: impl FnOnce() -> u32) -> bool {
        let facts = &mut self.regs[reg.index()];
        if facts.is_undominated || facts.definitions == 1 {
            return true;
        }
        if !facts.has_scopes {
            return false;
        }
        if !facts.is_below_top(place) {
            facts.top = place;
            facts.top_end = subtree_end();
            facts.is_in_scope = self.scopes.binary_search(&(reg, place)).is_ok();
        }
        facts.is_in_scope
    }
}
