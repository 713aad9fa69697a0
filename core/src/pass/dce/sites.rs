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
use hashbrown::HashSet;

use super::definitions::Definitions;
use crate::graph::{Cfg, Dominators, IteratedFrontier};
use crate::ir::Block;

/// How many blocks where definitions meet there may be for each block that defines: more would cost more than they help.
const MOST_JOINS: usize = 8;

/// A block where something happens to a register.
#[derive(Clone, Copy)]
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

/// A place where a register is asked for.
enum Asked {
    /// The end of a site, by its index.
    Site(usize),
    /// The end of a block that nothing reaches.
    Unreachable(Block),
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
    /// Where the register is still asked for that is being searched for.
    asked: Vec<Asked>,
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
            asked: Vec::new(),
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

    /// Asks for a register at the beginning of a block.
    pub fn ask_at_start(&mut self, list: u32, block: Block) {
        let (cfg, dominators) = (self.cfg, self.dominators);
        let mut next = self.nearest(list, block);
        if let Some(index) = next
            && self.sites[index].block == block
        {
            let site = &mut self.sites[index];
            if site.joins {
                if !core::mem::replace(&mut site.asked_at_start, true) {
                    cfg.predecessors(block).iter().for_each(|&predecessor| self.ask_at_end(list, predecessor));
                }
                return;
            }
            next = dominators.parent(block).and_then(|parent| self.nearest(list, parent));
        } else if !dominators.contains(block) {
            cfg.predecessors(block).iter().for_each(|&predecessor| self.ask_at_end(list, predecessor));
        }
        self.ask_site(next);
    }

    fn ask_at_end(&mut self, list: u32, block: Block) {
        if self.dominators.contains(block) {
            let site = self.nearest(list, block);
            self.ask_site(site);
        } else if self.asked_unreachable.insert((list, block)) {
            self.asked.push(Asked::Unreachable(block));
        }
    }

    /// Asks for a register at the end of a site.
    fn ask_site(&mut self, site: Option<usize>) {
        if let Some(index) = site
            && !core::mem::replace(&mut self.sites[index].asked_at_end, true)
        {
            self.asked.push(Asked::Site(index));
        }
    }

    /// The next block at whose end the register is asked for and that may define it.
    pub fn next_asked(&mut self, list: u32) -> Option<Block> {
        loop {
            let index = match self.asked.pop()? {
                Asked::Site(index) => index,
                Asked::Unreachable(block) => return Some(block),
            };
            let Site { block, defines, .. } = self.sites[index];
            if defines {
                return Some(block);
            }
            self.ask_at_start(list, block);
        }
    }

    /// The index of the nearest site that dominates a block, which may be its own.
    fn nearest(&self, list: u32, block: Block) -> Option<usize> {
        if !self.dominators.contains(block) {
            return None;
        }
        let (first, end) = self.of_list[list as usize]?;
        let steps = &self.steps[first as usize..end as usize];
        let place = self.dominators.preorder_number(block);
        let index = steps.partition_point(|step| step.from <= place).checked_sub(1)?;
        steps[index].site.map(|site| site as usize)
    }
}
