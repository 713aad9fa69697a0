//! Copy propagation by what reaches a use, instead of by what dominates it.
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
//! A join that control comes back to is taken for itself, so that nothing is assumed on the way round. Linear in
//! instructions and joins, apart from a logarithm for finding which value a register holds.
//!
//! Source: ptxas page, `CopyPropUseReachingDefs`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::Rules;
use crate::flow::{Definition, Value, Values};
use crate::graph::Cfg;
use crate::ir::{Function, Inst, Op, Operand, Reg};
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;

/// Lets uses read what reaches them, in at most so many instructions.
pub(super) fn propagate(view: &mut View<'_>, rules: Rules<'_>, left: &mut u64) {
    let (cfg, values) = (view.cfg(), view.values());
    let sources = trace(view.func(), &cfg, &values);
    for &block in cfg.reverse_postorder() {
        let mut next = view.func().layout.first_inst(block);
        while let Some(inst) = next {
            next = view.func().layout.next_inst(inst);
            if *left == 0 {
                return;
            }
            let found = replacements(view.func(), &values, &sources, rules, inst);
            if found.is_empty() {
                continue;
            }
            *left -= 1;
            let module = view.module();
            let mut rewrite = view.rewrite(|func| {
                let text = instruction_text(module, func, inst);
                let name = |reg: Reg| &func.regs[reg].name;
                let parts: Vec<String> = found
                    .iter()
                    .map(|&(_, copy, from)| format!("`{}` instead of `{}`", name(from), name(copy)))
                    .collect();
                let message = format!(
                    "`{text}` now reads {}: every definition that reaches this use is such a copy",
                    parts.join(" and ")
                );
                found.iter().fold(Remark::applied("reaching", block, message).at(inst), |remark, &(_, copy, from)| {
                    remark.with("copy", Fact::Reg(copy)).with("source", Fact::Reg(from))
                })
            });
            rewrite.update_reads(inst, |data, _| {
                for &(place, _, from) in &found {
                    data.args[place] = match data.args[place] {
                        Operand::NotReg(_) => Operand::NotReg(from),
                        _ => Operand::Reg(from),
                    };
                }
                true
            });
        }
    }
}

/// The operands of an instruction that another register can stand for: which, the register there, and the other one.
fn replacements(
    func: &Function,
    values: &Values,
    sources: &SecondaryMap<Value, PackedOption<Value>>,
    rules: Rules<'_>,
    inst: Inst,
) -> Vec<(usize, Reg, Reg)> {
    let data = &func.insts[inst];
    if !rules.admit(data) {
        return Vec::new();
    }
    let mut used = values.operands(inst).iter().copied();
    let mut found = Vec::new();
    for (place, operand) in data.args.iter().enumerate() {
        match operand {
            Operand::Reg(reg) | Operand::NotReg(reg) => {
                let Some(value) = used.next() else { return found };
                if let Some(source) = sources[value].expand() {
                    let from = values.reg(source);
                    let holds = values.before(func, inst, from) == Some(source);
                    if from != *reg && holds && func.reg_types[from] == func.reg_types[*reg] {
                        found.push((place, *reg, from));
                    }
                }
            }
            other => other.for_each_reg(&mut |_| {
                used.next();
            }),
        }
    }
    found
}

/// Source of each value that is a copy.
fn trace(func: &Function, cfg: &Cfg, values: &Values) -> SecondaryMap<Value, PackedOption<Value>> {
    let mut sources: SecondaryMap<Value, PackedOption<Value>> = SecondaryMap::new();
    let mut is_known: SecondaryMap<Value, bool> = SecondaryMap::new();
    for &block in cfg.reverse_postorder() {
        for join in values.joins(block) {
            let mut args = values.join_args(join).iter().map(|arg| {
                let is_entry = values.definition(arg.value) == Definition::Entry;
                (is_entry || is_known[arg.value]).then(|| sources[arg.value].expand().unwrap_or(arg.value))
            });
            if let Some(Some(first)) = args.next()
                && args.all(|arg| arg == Some(first))
            {
                sources[join] = first.into();
            }
            is_known[join] = true;
        }
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            for &value in values.defined(inst) {
                is_known[value] = true;
            }
            let ([Operand::Reg(from)], [dst]) = (data.args.as_slice(), data.dsts.as_slice()) else { continue };
            let keeps_width = func.reg_types[*from].bits() == func.reg_types[*dst].bits();
            if data.opcode.op == Op::Mov && data.guard.is_none() && keeps_width {
                let copied = values.operands(inst)[0];
                sources[values.defined(inst)[0]] = sources[copied].expand().unwrap_or(copied).into();
            }
        }
    }
    sources
}
