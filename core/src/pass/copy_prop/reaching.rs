//! Copy propagation by the definitions that reach a use, instead of by dominance.
//!
//! ```text
//! left:  x = mov.u32 a              left:  x = mov.u32 a
//!        br join                           br join
//! right: x = mov.u32 a       ──▶    right: x = mov.u32 a
//!        br join                           br join
//! join:  y = add.u32 x, 1           join:  y = add.u32 a, 1
//! ```
//!
//! Every value is traced to what it is a copy of: through copies, and through joins all of whose
//! arguments are one value. A use reads the register of that value where the register still holds
//! it. Sound because the names of values say which value a use sees, whichever of several
//! definitions reached it, and which one a register holds.
//!
//! A join with an argument that is defined later, on a back edge, is a value of its own.
//!
//! Cost: linear in instructions and joins, apart from a logarithm for finding which value a
//! register holds.
//!
//! Source: ptxas page, `CopyPropUseReachingDefs`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;

use super::replacer::Changed;
use super::{Budgets, Rules};
use crate::flow::{Definition, Value, Values};
use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, Operand, Reg};
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;

/// Lets uses read what reaches them, in as many instructions as the budgets allow.
pub(super) fn propagate(view: &mut View<'_>, mut rules: Rules<'_>, budgets: &mut Budgets) {
    let (cfg, values) = (view.cfg(), view.values());
    let sources = trace(view.func(), &cfg, &values);
    for &block in cfg.reverse_postorder() {
        let mut next = view.func().layout.first_inst(block);
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            if budgets.left == 0 {
                return;
            }
            rules.other_blocks = budgets.allow_other_blocks();
            let found = replacements(view.func(), &values, &sources, rules, (block, inst));
            if found.is_empty() {
                continue;
            }
            let from_other_block = found.iter().any(|replacement| replacement.from_other_block);
            budgets.spend(Changed { any: true, from_other_block });
            let module = view.module();
            let mut rewrite = view.rewrite(|func| {
                let text = instruction_text(module, func, inst);
                let name = |reg: Reg| &func.regs[reg].name;
                let parts: Vec<String> = found
                    .iter()
                    .map(|&Replacement { copy, source, .. }| format!("`{}` instead of `{}`", name(source), name(copy)))
                    .collect();
                let message = format!(
                    "`{text}` now reads {}: every definition that reaches this use is such a copy",
                    parts.join(" and ")
                );
                found.iter().fold(Remark::applied("reaching", block, message).at(inst), |remark, replacement| {
                    remark.with("copy", Fact::Reg(replacement.copy)).with("source", Fact::Reg(replacement.source))
                })
            });
            rewrite.update_reads(inst, |data, _| {
                for &Replacement { place, source, .. } in &found {
                    data.args[place] = match data.args[place] {
                        Operand::NotReg(_) => Operand::NotReg(source),
                        _ => Operand::Reg(source),
                    };
                }
                true
            });
        }
    }
}

/// An operand that can read the source of a copy.
struct Replacement {
    /// Index of the operand.
    place: usize,
    copy: Reg,
    source: Reg,
    from_other_block: bool,
}

/// Source of a value that is a copy.
#[derive(Clone, Copy)]
struct Source {
    value: Value,
    /// Block of all copies between the source and the value, if these are in one block.
    copied_in: Option<Block>,
}

/// The operands of an instruction that can read another register.
fn replacements(
    func: &Function,
    values: &Values,
    sources: &SecondaryMap<Value, Option<Source>>,
    rules: Rules<'_>,
    (block, inst): (Block, Inst),
) -> Vec<Replacement> {
    let data = &func.insts[inst];
    if !rules.admit(data) {
        return Vec::new();
    }
    let mut used = values.operands(inst).iter().copied();
    let mut found = Vec::new();
    for (place, operand) in data.args.iter().enumerate() {
        match *operand {
            Operand::Reg(copy) | Operand::NotReg(copy) => {
                let Some(value) = used.next() else { return found };
                if let Some(Source { value: original, copied_in }) = sources[value] {
                    let source = values.reg(original);
                    let holds = values.before(func, inst, source) == Some(original);
                    let from_other_block = copied_in != Some(block);
                    let is_allowed = rules.other_blocks || !from_other_block;
                    if is_allowed && source != copy && holds && func.reg_types[source] == func.reg_types[copy] {
                        found.push(Replacement { place, copy, source, from_other_block });
                    }
                }
            }
            ref other => other.for_each_reg(&mut |_| {
                used.next();
            }),
        }
    }
    found
}

/// Sources of all values that are copies. Arguments of a join that are not yet visited do not
/// count, so nothing is assumed of values that reach it on a back edge.
fn trace(func: &Function, cfg: &Cfg, values: &Values) -> SecondaryMap<Value, Option<Source>> {
    let mut sources: SecondaryMap<Value, Option<Source>> = SecondaryMap::new();
    let mut is_visited: SecondaryMap<Value, bool> = SecondaryMap::new();
    for &block in cfg.reverse_postorder() {
        for join in values.joins(block) {
            let mut args = values.join_args(join).iter().map(|arg| {
                let is_entry = values.definition(arg.value) == Definition::Entry;
                (is_entry || is_visited[arg.value]).then(|| sources[arg.value].map_or(arg.value, |source| source.value))
            });
            if let Some(Some(value)) = args.next()
                && args.all(|arg| arg == Some(value))
            {
                sources[join] = Some(Source { value, copied_in: None });
            }
            is_visited[join] = true;
        }
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            for &value in values.defined(inst) {
                is_visited[value] = true;
            }
            let Some((from, to)) = data.copied_register() else { continue };
            if data.guard.is_none() && func.reg_types[from].bits() == func.reg_types[to].bits() {
                let copied = values.operands(inst)[0];
                let source = match sources[copied] {
                    Some(Source { value, copied_in }) => {
                        Source { value, copied_in: copied_in.filter(|&copied_in| copied_in == block) }
                    }
                    None => Source { value: copied, copied_in: Some(block) },
                };
                sources[values.defined(inst)[0]] = Some(source);
            }
        }
    }
    sources
}
