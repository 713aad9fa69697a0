//! Predictions of the checks that the pass has inserted.
//!
//! ```text
//! r1 checked:   T_AZP − T_R = T_check − P · (T_R − T_S)    a loss of T_check where it fails,
//!                                                          and a gain of T_R − T_S where it holds
//! ```
//!
//! Source: AZP, equation 5. Figures are those on which the transformation was decided, in remarks
//! of the journal. Linear in the edits of the session.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::remarks::{listed, verb};
use crate::inspect::Prediction;
use crate::ir::{Function, Inst, Op, Operand, Reg};
use crate::pass::InspectedPosition;
use crate::trace::{Fact, Remark};

/// A prediction for each transformation in the function. A check that is in the region of a later
/// transformation is copied with it, and counts with its copies.
pub(super) fn predict(position: &InspectedPosition<'_>) -> Vec<Prediction> {
    let (journal, func) = (position.journal, position.func);
    let Some(pass) = journal.passes().get(position.pass) else { return Vec::new() };
    let mut program = position.start.clone();
    journal.advance(&mut program, 0..pass.start);
    let mut found: Vec<(Prediction, Reg)> = Vec::new();
    for event in pass.start..pass.end {
        journal.advance(&mut program, event..event + 1);
        let happened = &journal.events()[event];
        if happened.func != func || !happened.is_rewrite() {
            continue;
        }
        let body = &program.funcs[func];
        let decided = body.terminator(happened.remark.block).and_then(|branch| condition(body, branch));
        found.extend(prediction(&happened.remark).zip(decided));
    }
    let body = position.function();
    // A copy branches on the same register, which is the check's own.
    let branches = |wanted: Reg| {
        let found = body.block_order().filter_map(|block| {
            let branch = body.terminator(block).filter(|&branch| condition(body, branch) == Some(wanted))?;
            let &[_, slow] = body.insts[branch].targets() else { return None };
            Some((body.blocks[block].name.clone(), body.blocks[slow].name.clone()))
        });
        found.collect()
    };
    found.into_iter().map(|(prediction, decided)| Prediction { branches: branches(decided), ..prediction }).collect()
}

/// The register on which a branch decides.
fn condition(func: &Function, branch: Inst) -> Option<Reg> {
    let data = &func.insts[branch];
    match data.args.first() {
        Some(Operand::Reg(reg)) if data.opcode.op == Op::BrIf => Some(*reg),
        _ => None,
    }
}

/// The prediction of a transformation, still without its branches.
fn prediction(remark: &Remark) -> Option<Prediction> {
    let fact = |wanted: &str| remark.facts.iter().find(|(name, _)| *name == wanted).map(|(_, fact)| fact);
    let number = |wanted: &str| match fact(wanted)? {
        Fact::Number(number) => Some(*number),
        _ => None,
    };
    let Some(Fact::Words(registers)) = fact("registers") else { return None };
    let (t_region, t_special, t_check) = (number("t_region")?, number("t_special")?, number("t_check")?);
    Some(Prediction {
        condition: format!(
            "{} {} zero in all lanes",
            listed(registers.iter().map(String::as_str)),
            verb(registers.len())
        ),
        source: "equation 5".into(),
        figures: format!("T_R {t_region:.1}, T_S {t_special:.1}, T_check {t_check:.1}"),
        branches: Vec::new(),
        cycles_if_held: t_check - (t_region - t_special),
        cycles_if_not: t_check,
    })
}
