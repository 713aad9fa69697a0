//! Dead code of a copied region: equations 1 to 4, on the names of values.
//!
//! ```text
//! r2 = mov.f32 0.0        needed: a read outside sees it
//! x = mul.f32 a, b        not needed: only y reads it
//! y = add.f32 y, x        not needed: only y itself reads it, a round later
//! st.global.f32 o[i], c   needed: it is a store, and so is what it reads
//! ```
//!
//! The equations ask which registers are live behind an instruction of the copy S, beginning with what is live where
//! control leaves S:
//!
//! ```text
//! Kill(i) = what i writes, unless it is guarded
//! Gen(i)  = nothing, if no result of i is live behind it and i has no effect; else what i reads
//! In = (Out - Kill) + Gen      Out = the union over successors: In inside S, the original's live registers outside
//! ```
//!
//! Their least solution is found here the other way round, by marking: what has an effect is needed, and a value that
//! something outside of S reads; what a needed instruction reads is needed, and so is what a needed join gets along an edge
//! that the copy still has. What is not marked is dead, also where instructions feed only each other. An instruction
//! without results (a store, a branch) has none whose death could excuse it: it always generates its uses.
//!
//! The names are those of the function before the transformation. They stay true: the copy's blocks and edges are some of
//! the region's, and each of its instructions writes what its original writes.
//!
//! Linear in the copy and the readers of what it writes.
//!
//! Source: AZP, section 3.3.2, step 4.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::opportunity::Estimator;
use super::scene::Scene;
use super::transformation::CopyOf;
use crate::flow::{Definition, Value, ValueUse};
use crate::graph::Edge;
use crate::ir::{Block, Inst, InstData};

/// Takes out of a copy what nobody needs.
pub(super) fn leave_out_dead_code(estimator: &Estimator<'_, '_>, copies: &mut [CopyOf]) {
    let scene = estimator.specialisation.scene;
    let mut marking = Marking {
        estimator,
        scene,
        insts: BTreeMap::new(),
        blocks: BTreeMap::new(),
        marked: BTreeSet::new(),
        work: Vec::new(),
    };
    for copy in copies.iter() {
        marking.blocks.insert(copy.block, copy.tail.is_some());
        marking.insts.extend(copy.insts.iter().map(|(inst, data)| (*inst, data)));
    }
    let kept = marking.run(copies);
    for copy in copies {
        copy.insts.retain(|(inst, _)| kept.contains(inst));
    }
}

struct Marking<'c, 'e, 's, 'a> {
    estimator: &'e Estimator<'s, 'a>,
    scene: &'s Scene<'a>,
    /// The copied instructions by their originals.
    insts: BTreeMap<Inst, &'c InstData>,
    /// The copied blocks; is the end of one not copied?
    blocks: BTreeMap<Block, bool>,
    marked: BTreeSet<Value>,
    work: Vec<Value>,
}

impl Marking<'_, '_, '_, '_> {
    /// The originals of the instructions that are needed.
    fn run(&mut self, copies: &[CopyOf]) -> BTreeSet<Inst> {
        let values = self.scene.known.values.clone();
        let mut kept = BTreeSet::new();
        for (inst, data) in copies.iter().flat_map(|copy| &copy.insts) {
            if data.opcode.has_effect() {
                self.keep(*inst, data, &mut kept);
            }
        }
        // Also of what never runs in the copy: its results are what was there before.
        let blocks: Vec<Block> = self.blocks.keys().copied().collect();
        for inst in blocks.iter().flat_map(|&block| self.scene.func.block_insts(block)) {
            for &result in values.defined(inst) {
                if self.estimator.is_in_copy(inst) && self.is_read_outside(result) {
                    self.mark(result);
                }
            }
        }
        for &block in blocks.iter().filter(|&&block| block != self.estimator.specialisation.head) {
            for join in values.joins(block) {
                if self.is_read_outside(join) {
                    self.mark(join);
                }
            }
        }
        while let Some(value) = self.work.pop() {
            match values.definition(value) {
                Definition::Entry => {}
                Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => {
                    if let Some(&data) = self.insts.get(&inst) {
                        self.keep(inst, data, &mut kept);
                    } else if let Definition::Guarded { old, .. } = values.definition(value) {
                        // What never runs in the copy leaves what was there.
                        self.mark(old);
                    }
                }
                Definition::Join { block } => {
                    if self.blocks.contains_key(&block) && self.estimator.specialisation.is_below(block) {
                        for arg in values.join_args(value) {
                            if arg.edge.expand().is_some_and(|edge| self.is_copied(edge)) {
                                self.mark(arg.value);
                            }
                        }
                    }
                }
            }
        }
        kept
    }

    fn mark(&mut self, value: Value) {
        if self.marked.insert(value) {
            self.work.push(value);
        }
    }

    fn keep(&mut self, inst: Inst, data: &InstData, kept: &mut BTreeSet<Inst>) {
        if !kept.insert(inst) {
            return;
        }
        let values = self.scene.known.values.clone();
        let regs = self.scene.func.insts[inst].uses();
        data.for_each_use(|reg| {
            if let Some(place) = regs.iter().position(|&other| other == reg) {
                self.mark(values.used(inst)[place]);
            }
        });
        if data.guard.is_some() {
            for &result in values.defined(inst) {
                if let Definition::Guarded { old, .. } = values.definition(result) {
                    self.mark(old);
                }
            }
        }
    }

    /// Does the copy have this edge, from a copied end to a copied block?
    fn is_copied(&self, edge: Edge) -> bool {
        let cfg = &self.scene.known.cfg;
        self.blocks.get(&cfg.source(edge)) == Some(&false)
            && self.blocks.contains_key(&cfg.target(edge))
            && self.estimator.specialisation.is_below(cfg.target(edge))
            && self.estimator.specialisation.is_open(edge)
    }

    /// Does something that is not copied read a value as the copy leaves it?
    fn is_read_outside(&self, value: Value) -> bool {
        let (known, func) = (&self.scene.known, self.scene.func);
        let dead_blocks = &self.estimator.specialisation.dead_blocks;
        let is_outside = |inst: Inst| {
            let is_dead = func.inst_block(inst).is_none_or(|block| dead_blocks.contains(block));
            !is_dead && !self.estimator.is_in_copy(inst)
        };
        known.uses.of(value).iter().any(|&reader| match reader {
            ValueUse::Operand { inst, .. } => is_outside(inst),
            ValueUse::Old(result) => known.values.definition(result).inst().is_some_and(is_outside),
            ValueUse::Argument(join) => known.values.join_args(join).iter().any(|arg| {
                let leaves = |edge: Edge| self.estimator.specialisation.is_open(edge) && !self.is_copied(edge);
                arg.value == value && arg.edge.expand().is_none_or(leaves)
            }),
        })
    }
}
