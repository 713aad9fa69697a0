//! Facts of a function by which all candidates of a round are estimated.
//!
//! ```text
//! n1: r = ld …     place 0, 0 cycles before it, 14 of its own
//!     x = mul …    place 1, 14 cycles before it       n1: 18 cycles, 1 execution for each run
//! ```
//!
//! Linear in the function.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::{EntityRef, SecondaryMap};

use super::costs::Costs;
use super::frequencies::block_frequencies;
use super::rules::Rules;
use super::zero_profile::{ExistingCheck, ZeroProfile, existing_checks};
use crate::flow::{Dependences, Elements, Seedbeds, Value, ValueUses, Values, VectorInput, vectors};
use crate::graph::{Cfg, Dominators, Loops, PostDominators};
use crate::ir::{Block, Function, Inst};
use crate::view::View;

/// Analyses, costs and frequencies of a function.
pub(super) struct Facts<'a> {
    pub func: &'a Function,
    pub cfg: Rc<Cfg>,
    pub dominators: Rc<Dominators>,
    pub post_dominators: Rc<PostDominators>,
    pub loops: Rc<Loops>,
    pub has_irreducible_loops: bool,
    pub values: Rc<Values>,
    pub uses: Rc<ValueUses>,
    pub dependences: Dependences,
    pub zeros: ZeroProfile,
    pub costs: Costs,
    pub fast_math: bool,
    /// Checks in which blocks end.
    pub checks: BTreeMap<Block, ExistingCheck>,
    insts: SecondaryMap<Inst, InstFacts>,
    /// Cycles of one execution of each block.
    block_cycles: Vec<f64>,
    frequencies: Vec<f64>,
}

#[derive(Clone, Copy, Default)]
struct InstFacts {
    place: u32,
    /// Cycles of one execution of the instructions before it in its block.
    cycles_before: f64,
    cycles: f64,
}

impl<'a> Facts<'a> {
    /// Collects the facts of a view's function.
    pub fn new(view: &'a mut View<'_>, rules: &Rules) -> Facts<'a> {
        let &Rules { costs, fast_math, .. } = rules;
        let (cfg, dominators, post_dominators) = (view.cfg(), view.dominators(), view.post_dominators());
        let (loops, values, uses) = (view.loops(), view.values(), view.value_uses());
        let func = view.func();
        let zeros = ZeroProfile::of(func);
        let checks = existing_checks(func, &values);
        let frequencies = block_frequencies(func, (&cfg, &loops), &values, &zeros, &checks);
        let mut insts = SecondaryMap::with_capacity(func.insts.len());
        let mut block_cycles = vec![0.0; func.blocks.len()];
        for block in func.block_order() {
            let sum = &mut block_cycles[block.index()];
            for (inst, place) in func.block_insts(block).zip(0..) {
                let cycles = costs.cycles(&func.insts[inst]);
                insts[inst] = InstFacts { place, cycles_before: *sum, cycles };
                *sum += cycles;
            }
        }
        let dependences = Dependences::of(func);
        let has_irreducible_loops = loops.iter().any(|(_, data)| data.is_irreducible());
        Facts {
            func,
            cfg,
            dominators,
            post_dominators,
            has_irreducible_loops,
            loops,
            values,
            uses,
            dependences,
            zeros,
            costs,
            fast_math,
            checks,
            insts,
            block_cycles,
            frequencies,
        }
    }

    /// Groups of values that the program computes side by side.
    pub fn vectors(&self) -> Vec<Elements> {
        let Facts { func, cfg, values, uses, dependences, .. } = self;
        vectors(VectorInput { func, cfg, values, uses, dependences, seedbeds: &Seedbeds::of(func) })
    }

    /// Does the value's register still hold it after an instruction?
    pub fn is_held_after(&self, inst: Inst, value: Value) -> bool {
        self.values.after(self.func, inst, self.values.reg(value)) == Some(value)
    }

    /// Place of an instruction in its block, from 0.
    pub fn place(&self, inst: Inst) -> u32 {
        self.insts[inst].place
    }

    /// Cycles of one execution of the instructions before this one in its block.
    pub fn cycles_before(&self, inst: Inst) -> f64 {
        self.insts[inst].cycles_before
    }

    /// Cycles of one execution of an instruction.
    pub fn cycles(&self, inst: Inst) -> f64 {
        self.insts[inst].cycles
    }

    /// Cycles of one execution of a block.
    pub fn block_cycles(&self, block: Block) -> f64 {
        self.block_cycles[block.index()]
    }

    /// Executions of a block by a warp, for each run of the function by one.
    pub fn frequency(&self, block: Block) -> f64 {
        self.frequencies[block.index()]
    }
}
