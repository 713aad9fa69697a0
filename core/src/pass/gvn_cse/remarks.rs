//! Remarks of the pass: reasons of rewrites and of refusals.

use alloc::format;
use alloc::string::String;

use super::commoning::{Holder, Source};
use super::eligibility::Class;
use super::numbers::{Numbered, ValueNumbers};
use crate::edit::Rewrite;
use crate::ir::{Block, Function, Inst, Module};
use crate::text::{constant_text, instruction_text};
use crate::trace::{Fact, Remark};
use crate::view::View;

/// Begins the replacement of a repetition by copies, the first one from `source`.
pub(super) fn repetition<'v, 'a>(
    view: &'v mut View<'a>,
    numbers: &ValueNumbers,
    (block, inst): (Block, Inst),
    (leader, source): (Holder, Source),
    shown: u64,
) -> Rewrite<'v, 'a> {
    let module = view.module();
    view.rewrite(|func| {
        let text = instruction_text(module, func, inst);
        let scope = leader.block;
        let name = &func.regs[numbers.values().reg(leader.value)].name;
        let at = &func.blocks[scope].name;
        let kept = match source {
            Source::Temporary(_) => format!(", kept in a temporary because `{name}` is written again"),
            Source::Register(_) => String::new(),
        };
        Remark::applied(
            "repeated",
            block,
            format!("replaced `{text}` by a copy of `{name}`, the same value from `{at}`{kept}"),
        )
        .at(inst)
        .with("number", Fact::Count(shown))
        .with("leader", Fact::Text(name.clone()))
        .with("scope", Fact::Block(scope))
    })
}

/// Begins the replacement of a load by a constant.
pub(super) fn stored_constant<'v, 'a>(
    view: &'v mut View<'a>,
    block: Block,
    inst: Inst,
    constant: u64,
) -> Rewrite<'v, 'a> {
    let module = view.module();
    view.rewrite(|func| {
        let text = instruction_text(module, func, inst);
        let constant = constant_text(constant, func.insts[inst].opcode.ty);
        Remark::applied("stored", block, format!("replaced `{text}` by {constant}, the value stored there")).at(inst)
    })
}

/// Begins the removal of a store that repeats what is in memory.
pub(super) fn repeated_store<'v, 'a>(view: &'v mut View<'a>, block: Block, inst: Inst) -> Rewrite<'v, 'a> {
    let module = view.module();
    view.rewrite(|func| {
        let text = instruction_text(module, func, inst);
        Remark::applied("repeated-store", block, format!("removed `{text}`: memory already holds this value")).at(inst)
    })
}

/// Begins the removal of a store that a later one overwrites.
pub(super) fn overwritten_store<'v, 'a>(
    view: &'v mut View<'a>,
    block: Block,
    inst: Inst,
    later: Inst,
) -> Rewrite<'v, 'a> {
    let module = view.module();
    view.rewrite(|func| {
        let [text, later] = [inst, later].map(|inst| instruction_text(module, func, inst));
        let message = format!("removed `{text}`: `{later}` overwrites it before any read");
        Remark::applied("overwritten-store", block, message).at(inst)
    })
}

/// Refuses a repetition that copies cannot replace.
pub(super) fn miss_copy(view: &mut View<'_>, block: Block, inst: Inst, shown: u64, reason: &str) {
    let module = view.module();
    view.miss(|func| {
        let text = instruction_text(module, func, inst);
        Remark::missed("repeated", block, format!("kept `{text}`, which repeats an earlier result: {reason}"))
            .at(inst)
            .with("number", Fact::Count(shown))
    });
}

/// Refuses everything from an instruction on.
pub(super) fn miss_beyond_limit(view: &mut View<'_>, block: Block, inst: Inst, limit: usize) {
    let module = view.module();
    view.miss(|func| {
        let text = instruction_text(module, func, inst);
        let message = format!("stopped before `{text}`: {limit} eligible instructions were looked up");
        Remark::missed("limit", block, message).at(inst).with("limit", Fact::Count(limit as u64))
    });
}

/// Refuses an instruction that does the work of an earlier one but may give another value.
pub(super) fn miss_repetition(
    view: &mut View<'_>,
    numbers: &ValueNumbers,
    (block, inst): (Block, Inst),
    earlier: Inst,
) {
    let module = view.module();
    let (Some(own), Some(other)) = (numbers.of(inst), numbers.of(earlier)) else { return };
    view.miss(|func| {
        let text = instruction_text(module, func, inst);
        let (rule, reason) = refusal(module, func, numbers, (inst, own), (earlier, other));
        let name = func.insts[earlier].dsts.first().map_or("", |&dst| &func.regs[dst].name);
        let message = format!("kept `{text}`, which repeats the operation of `{name}`: {reason}");
        Remark::missed(rule, block, message).at(inst).with("earlier", Fact::Text(name.into()))
    });
}

/// Rule and reason of the refusal to replace an instruction by an earlier one with the same work.
fn refusal(
    module: &Module,
    func: &Function,
    numbers: &ValueNumbers,
    (inst, own): (Inst, Numbered),
    (earlier, other): (Inst, Numbered),
) -> (&'static str, String) {
    let class = Class::of(&func.insts[inst]);
    match class {
        Class::Atomic => return ("atomic", "each execution changes memory".into()),
        Class::Never => return ("volatile", "each execution may give another value".into()),
        _ if own.replaceable().is_none() => return ("enhanced-scope", "enhanced scope is off".into()),
        _ if own.guard != other.guard => return ("guard", "its guard differs".into()),
        _ => {}
    }
    match class {
        Class::Load if own.content != other.content => {
            let change = own.work.expand().and_then(|place| numbers.change_between(place, earlier, inst));
            let reason = match change.filter(|&change| func.inst_block(change).is_some()) {
                Some(change) => format!("`{}` may change the loaded value", instruction_text(module, func, change)),
                None => "a path between them may change the loaded value".into(),
            };
            ("memory", reason)
        }
        _ if func.insts[inst].dsts.len() > func.insts[earlier].dsts.len() => ("results", "it has more results".into()),
        Class::Convergent | Class::Shuffle => ("lanes", "the active lanes may differ".into()),
        _ => ("scope", "its block is outside of this mode's scope".into()),
    }
}
