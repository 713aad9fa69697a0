//! Coherence of a branch: the share of executions in which all lanes of a warp decide alike.
//!
//! The launch declares it for what the branch depends on:
//!
//! ```text
//! v = ld.global.f32 x[i]         x = buffer f32[256] random(0, 1) coherence 0.9
//! p = setp.gt.f32 v, 0.5
//! br p, a, b                     all lanes see one value in 0.9 of the executions
//! ```
//!
//! The causes of the branch's divergence are followed back to the first draw, or load through a
//! parameter, to which the launch gives a coherence: lanes that draw one value decide alike.
//!
//! Cost: O(1) for a branch, a chain of at most [`MOST_STEPS`] values.
//!
//! Limits: one chain of causes, though a predicate may come from several draws; the indices of a
//! load are taken for those of a warp's neighbours.

use crate::flow::{Cause, Divergence, Value, Values};
use crate::ir::{
    AddressBase, Block, Fill, FillKey, Function, Inst, InstData, Launch, Op, Operand, ValueSource, Values as Drawn,
};

/// Longer chains of causes have no coherence.
const MOST_STEPS: usize = 64;

/// Declarations of a launch about a branch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Coherence {
    /// Probability (0–1) that all lanes of a warp share what decides.
    pub shared: f64,
    /// Probability (0–1) that a lane's predicate is true, where it is drawn itself.
    pub is_true: Option<f64>,
}

impl Coherence {
    /// Looks up the divergent branch at the end of a block.
    pub fn of_branch(
        func: &Function,
        launch: &Launch,
        values: &Values,
        divergence: &Divergence,
        head: Block,
    ) -> Option<Coherence> {
        let mut cause = divergence.branch_cause(head)?;
        for step in 0..MOST_STEPS {
            let (Cause::Value(value) | Cause::Guard(value)) = cause else { return None };
            if let Some(drawn) = drawn(func, launch, values, value)
                && let Some(shared) = drawn.coherence
            {
                let is_true = match drawn.source {
                    ValueSource::True(probability) if step == 0 => {
                        Some(probability * (1.0 - drawn.zero.unwrap_or(0.0)))
                    }
                    _ => None,
                };
                return Some(Coherence { shared, is_true });
            }
            cause = divergence.cause(value)?;
        }
        None
    }
}

/// The distribution of a value that an input or a buffer gives.
fn drawn<'l>(func: &Function, launch: &'l Launch, values: &Values, value: Value) -> Option<&'l Drawn> {
    let inst: Inst = values.definition(value).inst()?;
    let data: &InstData = &func.insts[inst];
    let fill = match (data.opcode.op, data.args.first()?) {
        (Op::In, Operand::Input(input)) => {
            let is_it = |key: &FillKey| matches!(key, FillKey::Name(name) if *name == func.inputs[*input].name);
            &launch.bindings.iter().rev().find(|binding| is_it(&binding.key))?.fill
        }
        (Op::Ld, Operand::Address(address)) => {
            let AddressBase::Reg(base) = address.base else { return None };
            let index = func.params.iter().position(|param| param.reg == Some(base))?;
            &launch.binding(index, &func.params[index].name)?.fill
        }
        _ => return None,
    };
    match fill {
        Fill::Buffer { values, .. } | Fill::Draws(values) => Some(values),
        Fill::Number(_) | Fill::Numbers(_) | Fill::Texture { .. } => None,
    }
}
