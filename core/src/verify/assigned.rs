//! Reads of registers that no path has assigned.
//!
//! ```text
//! entry: br p, a, b
//! a:     x = …        ; br c
//! b:                  ; br c
//! c:     y = add x, z       x is assigned on a path: fine.   z is assigned on none: an error.
//! ```
//!
//! A read is good if an assignment stands above it in its block, or in a block from which control reaches the read's.
//! Most assignments stand in an ancestor of the read's block in a depth-first tree of the graph, which two numbers
//! tell. What remains is asked of a forward search, for 64 registers at once: a word for each block, the bits of the
//! registers that some path to its end has assigned. Blocks that no path reaches are left out.
//!
//! Bounds: O(instructions + blocks) for the first part; the second takes O(64 · edges) word operations for each 64
//! registers, and is rare.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use cranelift_entity::{EntitySet, SecondaryMap};

use crate::compact_sort::CompactSort;
use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, Operand, Reg};
use crate::text::{Part, quoted};

use super::Verifier;

/// Assignments of a register that are tried against the depth-first tree before the search is asked.
const TRIED: usize = 8;

/// A read that waits for the search.
#[derive(Clone, Copy)]
struct Question {
    reg: Reg,
    inst: Inst,
    block: Block,
}

impl Verifier<'_> {
    pub(super) fn assigned(&mut self, func: &Function) {
        let mut reported = EntitySet::with_capacity(func.regs.len());
        for (reg, inst) in unassigned_reads(func) {
            if reported.insert(reg) {
                let name = quoted(&func.regs[reg].name);
                let part = part_that_reads(func, inst, reg);
                self.report(
                    func,
                    inst,
                    part,
                    "unassigned-read",
                    format!("{name} is read, but no path to here assigns it"),
                );
            }
        }
    }
}

/// The reads of registers that no path to them has assigned, in reachable blocks.
pub fn unassigned_reads(func: &Function) -> Vec<(Reg, Inst)> {
    unassigned_reads_without(func, &BTreeSet::new())
}

/// Finds the reads as if some instructions, which may read, did not write.
pub fn unassigned_reads_without(func: &Function, gone: &BTreeSet<Inst>) -> Vec<(Reg, Inst)> {
    let cfg = Cfg::compute(func);
    let tree = DepthFirstTree::new(func, &cfg);
    let assignments = Assignments::new(func, &cfg, gone);
    let mut params = EntitySet::with_capacity(func.regs.len());
    params.extend(func.params.iter().filter_map(|param| param.reg));
    let mut last: SecondaryMap<Reg, Option<Block>> = SecondaryMap::with_capacity(func.regs.len());
    let mut questions = Vec::new();
    for block in func.block_order().filter(|&block| cfg.is_reachable(block)) {
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            data.for_each_use(|reg| {
                let mut tried = assignments.of(reg).iter().take(TRIED);
                if last[reg] != Some(block)
                    && !params.contains(reg)
                    && !tried.any(|&from| from != block && tree.is_ancestor(from, block))
                {
                    questions.push(Question { reg, inst, block });
                }
            });
            if !gone.contains(&inst) {
                data.dsts.iter().for_each(|&reg| last[reg] = Some(block));
            }
        }
    }
    let mut regs: Vec<Reg> = questions.iter().map(|question| question.reg).collect();
    regs.compact_sort();
    regs.dedup();
    let mut unassigned: Vec<Question> = Vec::new();
    for batch in regs.chunks(64) {
        let reaching = reaching(func, &cfg, &assignments, batch);
        let asked = questions.iter().filter(|question| batch.binary_search(&question.reg).is_ok());
        unassigned.extend(asked.filter(|question| {
            let bit = batch.binary_search(&question.reg).unwrap_or(0);
            reaching[question.block] >> bit & 1 == 0
        }));
    }
    unassigned.into_iter().map(|Question { reg, inst, .. }| (reg, inst)).collect()
}

/// The part of an instruction that reads a register.
fn part_that_reads(func: &Function, inst: Inst, reg: Reg) -> Part {
    let data = &func.insts[inst];
    if data.guard.is_some_and(|guard| guard.reg == reg) {
        return Part::Guard;
    }
    let reads = |operand: &Operand| {
        let mut found = false;
        operand.for_each_reg(&mut |read| found |= read == reg);
        found
    };
    data.args.iter().position(reads).map_or(Part::Whole, Part::Operand)
}

/// For each register the reachable blocks that assign it, once each, in the order of the text.
struct Assignments {
    starts: SecondaryMap<Reg, (u32, u32)>,
    blocks: Vec<Block>,
}

impl Assignments {
    fn new(func: &Function, cfg: &Cfg, gone: &BTreeSet<Inst>) -> Self {
        let mut pairs: Vec<(Reg, Block)> = Vec::with_capacity(func.regs.len());
        let mut last: SecondaryMap<Reg, Option<Block>> = SecondaryMap::with_capacity(func.regs.len());
        for block in func.block_order().filter(|&block| cfg.is_reachable(block)) {
            for inst in func.block_insts(block).filter(|inst| !gone.contains(inst)) {
                for &reg in &func.insts[inst].dsts {
                    if last[reg] != Some(block) {
                        last[reg] = Some(block);
                        pairs.push((reg, block));
                    }
                }
            }
        }
        pairs.compact_sort_by_key(|(reg, _)| *reg);
        let mut starts = SecondaryMap::with_capacity(func.regs.len());
        let mut first = 0;
        for run in pairs.chunk_by(|a, b| a.0 == b.0) {
            starts[run[0].0] = (first, first + run.len() as u32);
            first += run.len() as u32;
        }
        Assignments { starts, blocks: pairs.into_iter().map(|(_, block)| block).collect() }
    }

    fn of(&self, reg: Reg) -> &[Block] {
        let (start, end) = self.starts[reg];
        &self.blocks[start as usize..end as usize]
    }
}

/// Numbers that tell whether one block stands above another in a depth-first tree.
struct DepthFirstTree {
    /// When the search came to the block and when it left it; 0 for a block that it did not reach.
    times: SecondaryMap<Block, (u32, u32)>,
}

impl DepthFirstTree {
    fn new(func: &Function, cfg: &Cfg) -> Self {
        let mut times: SecondaryMap<Block, (u32, u32)> = SecondaryMap::with_capacity(func.blocks.len());
        let mut clock = 0;
        let mut stack: Vec<(Block, usize)> = Vec::new();
        for &entry in cfg.entries() {
            if times[entry].0 != 0 {
                continue;
            }
            clock += 1;
            times[entry].0 = clock;
            stack.push((entry, 0));
            while let Some((block, next)) = stack.last_mut() {
                let successor = cfg.successors(*block).get(*next).copied();
                *next += 1;
                clock += 1;
                match successor {
                    Some(successor) if times[successor].0 == 0 => {
                        times[successor].0 = clock;
                        stack.push((successor, 0));
                    }
                    Some(_) => {}
                    None => {
                        times[*block].1 = clock;
                        stack.pop();
                    }
                }
            }
        }
        DepthFirstTree { times }
    }

    fn is_ancestor(&self, above: Block, below: Block) -> bool {
        let (a, b) = (self.times[above], self.times[below]);
        a.0 != 0 && a.0 < b.0 && b.1 < a.1
    }
}

/// For each block the registers of the batch (bit k is the k-th) that some path to its beginning has assigned.
fn reaching(func: &Function, cfg: &Cfg, assignments: &Assignments, batch: &[Reg]) -> SecondaryMap<Block, u64> {
    let mut own: SecondaryMap<Block, u64> = SecondaryMap::with_capacity(func.blocks.len());
    for (bit, &reg) in batch.iter().enumerate() {
        for &block in assignments.of(reg) {
            own[block] |= 1 << bit;
        }
    }
    let mut reaching: SecondaryMap<Block, u64> = SecondaryMap::with_capacity(func.blocks.len());
    let mut queued = EntitySet::with_capacity(func.blocks.len());
    let mut work: Vec<Block> = cfg.postorder().collect();
    queued.extend(work.iter().copied());
    while let Some(block) = work.pop() {
        queued.remove(block);
        let out = reaching[block] | own[block];
        for &successor in cfg.successors(block) {
            if reaching[successor] | out != reaching[successor] {
                reaching[successor] |= out;
                if queued.insert(successor) {
                    work.push(successor);
                }
            }
        }
    }
    reaching
}
