//! Sentences and facts of the remarks of reassociation.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::distribution::Distribution;
use super::ranks::Ranks;
use super::rebuild::Rebuilding;
use super::trees::{Leaf, MAX_LEAVES, Refusal, Value};
use crate::ir::{Block, Function, Inst, Module, Opcode, Reg, Symbol, Type};
use crate::text::{constant_text, instruction_text};
use crate::trace::{Fact, Remark};
use crate::view::View;

/// Longer lists of leaves are cut.
const LISTED: usize = 32;

/// A tree got another shape.
pub fn rebuilt(module: &Module, func: &Function, block: Block, plan: &Rebuilding<'_>, ranks: &Ranks) -> Remark {
    let Opcode { op, ty, .. } = plan.tree.opcode;
    let texts = |leaves: &[Leaf]| leaf_texts(module, func, ty, leaves);
    let (before, after) = (texts(&plan.tree.leaves), texts(plan.leaves));
    let ranks = plan.tree.leaves.iter().map(|leaf| match leaf.value {
        Value::Const(_) => "constant".to_string(),
        Value::Reg(reg) => format!("v{}", ranks.of(reg).as_u32()),
        Value::Special(_) | Value::Symbol(_) => "first".to_string(),
    });
    let message = format!(
        "`{}` is the root of a tree of `{}` over {}, which becomes {}",
        instruction_text(module, func, plan.root),
        op.name(),
        before.join(", "),
        after.join(", ")
    );
    Remark::applied("reassociate", block, message)
        .at(plan.root)
        .with("operation", Fact::Text(op.name().to_string()))
        .with("before", Fact::Words(before))
        .with("ranks", Fact::Words(ranks.take(LISTED).collect()))
        .with("after", Fact::Words(after))
        .with("leaves", Fact::Count(plan.tree.leaves.len() as u64))
}

/// A tree stays as it is.
pub fn not_rebuilt(view: &View<'_>, block: Block, root: Inst, refusal: Refusal) -> Remark {
    let func = view.func();
    let text = instruction_text(view.module(), func, root);
    let (rule, why) = match refusal {
        Refusal::TooLarge => ("too-large", format!("its tree has more than {MAX_LEAVES} leaves")),
        Refusal::Overwritten(reg) => (
            "overwritten",
            format!("`{}` is overwritten between where its tree reads it and here", func.regs[reg].name),
        ),
        Refusal::MoreInstructions => ("more-instructions", "its tree would take more instructions than it has".into()),
    };
    Remark::missed(rule, block, format!("kept `{text}`: {why}")).at(root)
}

/// A common factor was taken out of a sum.
pub fn factored(module: &Module, func: &Function, block: Block, plan: &Distribution) -> Remark {
    let text = instruction_text(module, func, plan.root);
    let factor = value_text(module, func, plan.add.ty, plan.factor);
    let others = listed(plan.others.iter().map(|&other| value_text(module, func, plan.add.ty, other)));
    let message = format!("`{text}` adds up products that all have the factor {factor}");
    Remark::applied("distribute", block, message)
        .at(plan.root)
        .with("factor", Fact::Text(factor))
        .with("others", Fact::Words(others))
}

/// The budget of sums is used up.
pub fn not_factored(view: &View<'_>, block: Block, root: Inst) -> Remark {
    let text = instruction_text(view.module(), view.func(), root);
    let message = format!("`{text}` keeps its products: the budget is used up");
    Remark::missed("distribute", block, message).at(root)
}

/// An instruction copies an earlier result.
pub fn commoned(module: &Module, func: &Function, block: Block, inst: Inst, earlier: Reg) -> Remark {
    let (text, name) = (instruction_text(module, func, inst), &func.regs[earlier].name);
    Remark::applied("common", block, format!("`{text}`: `{name}` holds that already"))
        .at(inst)
        .with("earlier", Fact::Reg(earlier))
}

/// An instruction repeats a result that is overwritten or too old.
pub fn not_commoned(view: &View<'_>, block: Block, inst: Inst, reg: Reg, is_overwritten: bool) -> Remark {
    let func = view.func();
    let (text, name) = (instruction_text(view.module(), func, inst), &func.regs[reg].name);
    let why = if is_overwritten { "is overwritten since" } else { "is too far before" };
    Remark::missed("common", block, format!("kept `{text}`: `{name}`, which held the same value, {why}")).at(inst)
}

/// The function has more instructions than the budget.
pub fn over_budget(entry: Block, count: u64, budget: u64) -> Remark {
    let message = format!("of {count} instructions the first {budget} were looked at: that is the budget");
    Remark::missed("budget", entry, message).with("budget", Fact::Count(budget))
}

/// Leaves as `a`, `b`, `-c`, `5`.
fn leaf_texts(module: &Module, func: &Function, ty: Type, leaves: &[Leaf]) -> Vec<String> {
    listed(leaves.iter().map(|leaf| match leaf.negation.expand().map(|inst| func.insts[inst].args.as_slice()) {
        Some([_, subtrahend]) => {
            let value = Value::of(subtrahend).unwrap_or(leaf.value);
            format!("-{}", value_text(module, func, ty, value))
        }
        _ => value_text(module, func, ty, leaf.value),
    }))
}

/// At most [`LISTED`] items, and how many there are in all if that is more.
fn listed(items: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let count = items.len();
    let mut texts: Vec<String> = items.take(LISTED).collect();
    if count > LISTED {
        texts.push(format!("… ({count} in all)"));
    }
    texts
}

/// A value as in the text of a program.
fn value_text(module: &Module, func: &Function, ty: Type, value: Value) -> String {
    match value {
        Value::Reg(reg) => func.regs[reg].name.clone(),
        Value::Const(bits) => constant_text(bits, ty),
        Value::Special(special) => format!("{special}"),
        Value::Symbol(Symbol::Global(global)) => module.globals[global].name.clone(),
        Value::Symbol(Symbol::Array(array)) => func.arrays[array].name.clone(),
        Value::Symbol(Symbol::Param(index)) => func.params[index as usize].name.clone(),
    }
}
