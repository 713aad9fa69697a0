//! Share of a branch's executions in which the lanes of a warp diverge, by the form of its
//! predicate.
//!
//! ```text
//! i = mad.lo.s32 %ctaid, %ntid, %tid     ordered: it grows from thread to thread
//! p = setp.lt.s32 i, n                   lanes diverge in one warp of a block: where i passes n
//! b = and.b32 %tid, 1                    repeated: every warp holds the same values
//! q = setp.eq.u32 b, 0                   lanes diverge in every warp
//! ```
//!
//! 1. A value is uniform if the divergence analysis says so.
//! 2. A thread's place in its block is ordered, its place in its warp repeated.
//! 3. A remainder by at most the size of a warp, or an `and` that keeps only lower bits, is
//!    repeated if its operand differs between lanes: such bits change from thread to thread, and
//!    those of data as if at random.
//! 4. Other results, comparisons and combined predicates are as their operands: uniform ones
//!    change nothing, and nothing is known of ordered ones together with repeated ones.
//! 5. Lanes diverge in one warp of a block where the predicate is ordered, in every warp where it
//!    is repeated.
//!
//! An estimate: no rewrite is right or wrong by it. Nothing else is known of loads and joins. Cost:
//! O(1) for a branch, since at most [`MAX_STEPS`] instructions are visited; nothing is known beyond
//! them.

use core::cell::Cell;

use crate::flow::{Definition, Divergence, Value, Values};
use crate::ir::{Axis, Function, Inst, Launch, Op, Operand, Special, Type};

/// Nothing is known of a predicate that takes more instructions.
const MAX_STEPS: usize = 64;

/// Warps of a block where no launch says: 256 threads, as the CUDA samples mostly have.
const BLOCK_WARPS: u32 = 8;

/// Pattern of a value over threads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spread {
    /// One value in a warp.
    Uniform,
    /// Values that grow in the order of the threads in a block.
    Ordered,
    /// Values that differ inside a warp, in every warp alike.
    Repeated,
}

/// Arrangement of a block's threads in warps.
#[derive(Clone, Copy)]
pub struct Arrangement {
    /// Lanes of a warp.
    lanes: u32,
    /// Warps of a block.
    warps: u32,
    /// True if no row of threads along x ends inside a warp.
    has_whole_rows: bool,
}

impl Arrangement {
    /// The arrangement that a launch gives, or that a function is likely to have.
    pub fn of(func: &Function, launch: Option<&Launch>, lanes: u32) -> Arrangement {
        let Some(&Launch { block: [x, y, z], .. }) = launch else {
            return Arrangement { lanes, warps: BLOCK_WARPS, has_whole_rows: !reads_rows(func) };
        };
        let rows = y.saturating_mul(z);
        let warps = x.saturating_mul(rows).div_ceil(lanes).max(1);
        Arrangement { lanes, warps, has_whole_rows: rows == 1 || x % lanes == 0 }
    }
}

/// The share (0–1) of a divergent branch's executions in which lanes of a warp diverge. None if
/// nothing is known of the form of its predicate.
pub fn divergence_share(
    func: &Function,
    values: &Values,
    divergence: &Divergence,
    arrangement: Arrangement,
    branch: Inst,
) -> Option<f64> {
    let spreads = Spreads { func, values, divergence, arrangement, steps: Cell::new(0) };
    match spreads.of_operands(branch)? {
        // Uniform in a loop that lanes have left one after the other.
        Spread::Uniform => None,
        Spread::Ordered => Some(1.0 / f64::from(arrangement.warps)),
        Spread::Repeated => Some(1.0),
    }
}

struct Spreads<'a> {
    func: &'a Function,
    values: &'a Values,
    divergence: &'a Divergence,
    arrangement: Arrangement,
    /// Instructions visited.
    steps: Cell<usize>,
}

impl Spreads<'_> {
    fn of_value(&self, value: Value) -> Option<Spread> {
        if !self.divergence.is_divergent(value) {
            return Some(Spread::Uniform);
        }
        let Definition::Inst { inst, .. } = self.values.definition(value) else { return None };
        let data = &self.func.insts[inst];
        let lanes = u64::from(self.arrangement.lanes);
        let is_within_warp = |bound: u64| match data.opcode.op {
            // Higher bits are the same in all lanes of a warp.
            Op::And => data.opcode.ty != Type::Pred && bound < lanes,
            Op::Rem => bound <= lanes,
            _ => false,
        };
        if data.args.get(1).and_then(Operand::as_const).is_some_and(is_within_warp) {
            return Some(Spread::Repeated);
        }
        let spread = self.of_operands(inst)?;
        match data.opcode.op {
            Op::Mov | Op::Cvt | Op::Cvta | Op::Neg | Op::Not | Op::Setp => Some(spread),
            Op::Add | Op::Sub | Op::Mul | Op::MulWide | Op::Mad | Op::MadWide => Some(spread),
            Op::Shl | Op::Shr | Op::Or | Op::Xor | Op::Div | Op::Min | Op::Max => Some(spread),
            Op::And | Op::Rem => {
                Some(spread).filter(|&spread| spread == Spread::Repeated || data.opcode.ty == Type::Pred)
            }
            _ => None,
        }
    }

    /// The common spread of an instruction's operands.
    fn of_operands(&self, inst: Inst) -> Option<Spread> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MAX_STEPS {
            return None;
        }
        let mut read = self.values.operands(inst).iter();
        let mut common = Spread::Uniform;
        for arg in &self.func.insts[inst].args {
            let spread = match *arg {
                Operand::Reg(_) | Operand::NotReg(_) => self.of_value(*read.next()?)?,
                Operand::Const(_) | Operand::Symbol(_) => Spread::Uniform,
                Operand::Special(special) => self.of_special(special)?,
                Operand::Address(_) | Operand::List(_) | Operand::Input(_) => return None,
            };
            match (common, spread) {
                (_, Spread::Uniform) => {}
                (Spread::Uniform, _) => common = spread,
                _ if common == spread => {}
                _ => return None,
            }
        }
        Some(common)
    }

    fn of_special(&self, special: Special) -> Option<Spread> {
        match special {
            Special::Tid(Axis::X) => Some(Spread::Ordered).filter(|_| self.arrangement.has_whole_rows),
            Special::Tid(Axis::Y | Axis::Z) => Some(Spread::Ordered),
            Special::Laneid => Some(Spread::Repeated),
            Special::Ntid(_) | Special::Ctaid(_) | Special::Nctaid(_) | Special::Warpid | Special::Warpsize => {
                Some(Spread::Uniform)
            }
            _ => None,
        }
    }
}

/// True if a function reads a thread's place along y or z.
fn reads_rows(func: &Function) -> bool {
    let mut insts = func.block_order().flat_map(|block| func.block_insts(block));
    let is_row = |arg: &Operand| matches!(arg, Operand::Special(Special::Tid(Axis::Y | Axis::Z)));
    insts.any(|inst| func.insts[inst].args.iter().any(is_row))
}
