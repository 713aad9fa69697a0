//! The search for a register that is defined in a few blocks, from site to site: from one block where a definition
//! stands, or where different definitions meet, to the next.
//!
//! ```text
//! a: r = 0            br b         the sites of r: a and c define it, in b what a and c give meets
//! b: …                br p, c, d
//! c: r = add.u32 r, 1 br b         read in d: b is the nearest site that dominates d, so r is what it is
//! d: x = r …                       where b begins: what it is at the ends of a and c
//! ```
//!
//! Sound because the blocks where definitions meet are the iterated dominance frontier of those that define: at any other
//! block's beginning a register is what it was at the end of the block's immediate dominator. The sites' subtrees in the
//! dominator tree nest, so the nearest site that dominates a block is found by one binary search among the places of the
//! tree's preorder where a subtree begins or ends.
//!
//! Source: R. Cytron and others, TOPLAS 1991, on where definitions meet.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use hashbrown::HashSet;

use super::definitions::Definitions;
use crate::graph::{Cfg, Dominators, IteratedFrontier};
use crate::ir::Block;

/// How many blocks where definitions meet there may be for each block that defines: more would cost more than they help.
const MOST_JOINS: usize = 8;

/// A block where something happens to a register.
struct Site {
    block: Block,
    /// Does the block define the register?
    defines: bool,
    /// Do different definitions meet at its beginning?
    joins: bool,
    /// Was the register asked for at the beginning already, and at the end?
    asked_at_start: bool,
    asked_at_end: bool,
}

/// From a place of the preorder on, the nearest site is this one.
struct Step {
    from: u32,
    site: Option<u32>,
}

/// The sites of registers, each register's once somebody asks for it.
pub(super) struct Sites<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    frontier: IteratedFrontier<'a>,
    /// By list: a range of `steps`, none while it is not known, an empty one where there are too many.
    of_list: Vec<Option<(u32, u32)>>,
    steps: Vec<Step>,
    sites: Vec<Site>,
    /// Used while sites are found: definitions, joins, and open subtrees.
    blocks: Vec<Block>,
    joins: Vec<Block>,
    open: Vec<(u32, u32)>,
    /// Lists, and unreachable blocks at whose ends they were asked for. No tree says what is above those.
    asked_unreachable: HashSet<(u32, Block)>,
}

impl<'a> Sites<'a> {
    /// None where frontiers are too large.
    pub fn new(cfg: &'a Cfg, dominators: &'a Dominators, definitions: &Definitions) -> Option<Sites<'a>> {
        let frontier = IteratedFrontier::new(cfg, dominators);
        frontier.is_stored().then(|| Sites {
            cfg,
            dominators,
            frontier,
            of_list: vec![None; definitions.lists.len()],
            steps: Vec::new(),
            sites: Vec::new(),
            blocks: Vec::new(),
            joins: Vec::new(),
            open: Vec::new(),
            asked_unreachable: HashSet::new(),
        })
    }

    /// Finds a register's sites, unless they are known. Gives whether it has only a few.
    pub fn find(&mut self, list: u32, definitions: &Definitions) -> bool {
        if let Some((first, end)) = self.of_list[list as usize] {
            return first < end;
        }
        // Definitions of one block are neighbours.
        let mut blocks = core::mem::take(&mut self.blocks);
        blocks.clear();
        blocks.extend(definitions.blocks_of(list));
        blocks.dedup();
        blocks.retain(|&block| self.dominators.contains(block));
        let mut joins = core::mem::take(&mut self.joins);
        joins.clear();
        let are_few = self.frontier.add_to(&mut joins, &blocks, MOST_JOINS * blocks.len());
        let first_step = self.steps.len() as u32;
        if are_few {
            self.add(&blocks, &joins);
        }
        (self.blocks, self.joins) = (blocks, joins);
        self.of_list[list as usize] = Some((first_step, self.steps.len() as u32));
        are_few
    }

    /// Appends a register's sites and steps, from the blocks that define it and those where definitions meet.
    fn add(&mut self, defining: &[Block], joining: &[Block]) {
        let site =
            |block, joins: bool| Site { block, defines: !joins, joins, asked_at_start: false, asked_at_end: false };
        let first_site = self.sites.len();
        self.sites.extend(defining.iter().map(|&block| site(block, false)));
        self.sites.extend(joining.iter().map(|&block| site(block, true)));
        self.sites[first_site..].sort_unstable_by_key(|site| (self.dominators.preorder_number(site.block), site.joins));
        // The open subtrees: where each ends, and its site.
        let mut open = core::mem::take(&mut self.open);
        for index in first_site..self.sites.len() {
            let (block, joins) = (self.sites[index].block, self.sites[index].joins);
            let start = self.dominators.preorder_number(block);
            self.close(&mut open, start);
            match open.last() {
                // A block that defines and where definitions meet is one site.
                Some(&(_, same)) if self.sites[same as usize].block == block => {
                    self.sites[same as usize].joins |= joins
                }
                _ => {
                    open.push((start + self.dominators.subtree(block).len() as u32, index as u32));
                    self.steps.push(Step { from: start, site: Some(index as u32) });
                }
            }
        }
        self.close(&mut open, u32::MAX);
        self.open = open;
    }

    /// Closes the subtrees that end at this place of the preorder or before it.
    fn close(&mut self, open: &mut Vec<(u32, u32)>, place: u32) {
        while let Some(&(end, _)) = open.last()
            && end <= place
        {
            open.pop();
            self.steps.push(Step { from: end, site: open.last().map(|&(_, site)| site) });
        }
    }

    /// Asks for a register at the end of a block. Gives the nearest site that dominates it, and whether it may define
    /// the register, if that is new.
    pub fn ask_at_end(&mut self, list: u32, block: Block) -> Option<(Block, bool)> {
        if !self.dominators.contains(block) {
            return self.asked_unreachable.insert((list, block)).then_some((block, true));
        }
        let site = self.nearest(list, block)?;
        let is_new = !core::mem::replace(&mut site.asked_at_end, true);
        is_new.then_some((site.block, site.defines))
    }

    /// Asks for a register at the beginning of a block: appends to `asked` the blocks at whose ends it is to be asked for.
    pub fn ask_at_start(&mut self, list: u32, block: Block, asked: &mut Vec<Block>) {
        let (cfg, dominators) = (self.cfg, self.dominators);
        if !dominators.contains(block) {
            return asked.extend_from_slice(cfg.predecessors(block));
        }
        let Some(site) = self.nearest(list, block) else { return };
        if site.block != block {
            asked.push(site.block);
        } else if !site.joins {
            asked.extend(dominators.parent(block));
        } else if !core::mem::replace(&mut site.asked_at_start, true) {
            asked.extend_from_slice(cfg.predecessors(block));
        }
    }

    /// The nearest site that dominates a block, which may be its own.
    fn nearest(&mut self, list: u32, block: Block) -> Option<&mut Site> {
        let (first, end) = self.of_list[list as usize]?;
        let steps = &self.steps[Range { start: first as usize, end: end as usize }];
        let place = self.dominators.preorder_number(block);
        let index = steps.partition_point(|step| step.from <= place).checked_sub(1)?;
        steps[index].site.map(|site| &mut self.sites[site as usize])
    }
}
