//! Copy propagation: a use of a copy reads what was copied.
//!
//! ```text
//! b = mov.u32 a                        b = mov.u32 a
//! @p c = mov.u32 b                     @p c = mov.u32 a
//! d = selp.u32 b, 7, q          ──▶    d = selp.u32 a, 7, q
//! @p x = add.u32 c, d                  @p x = add.u32 a, d        c is a where p holds
//! @!q y = add.u32 c, d                 @!q y = add.u32 c, 7       d is 7 where q does not
//! ```
//!
//! 1. Walk over the dominator tree with the copies that hold at each place. The operand of a copy
//!    is replaced before the copy is recorded, so a whole chain collapses in one walk.
//! 2. With `CopyPropUseReachingDefs`, propagate where all definitions that reach a use are copies
//!    of one value ([`reaching`]), and walk again if that changed something.
//! 3. Record refusals of the last walk.
//!
//! Sound because [`AvailableCopies`] only returns a source that still holds the copied value in
//! every lane of the reader. A use is kept if the type of the source does not fit its place.
//!
//! Cost: O(1) for each operand and walk, and once more for each copy that holds only under its
//! reader's guard. Running the pass again finds nothing more, unless a budget was used up; the
//! budgets count changed instructions in the order of the walk, and the remark `budget` says so.
//!
//! Source: Aho, Lam, Sethi, Ullman, section 9.1.5, extended to guards as the ptxas page describes
//! `OriCopyProp`.

mod reaching;
mod replacer;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::ir::{Block, Function, Inst, InstData, Module, Reg};
use crate::pass::support::available_copies::{AvailableCopies, CopyWalk, Source};
use crate::text::{constant_text, instruction_text};
use crate::trace::{Fact, Remark};
use crate::view::View;
use replacer::{Changed, Found, Refusal, Replacer};

/// The pass.
pub struct CopyProp;

impl Pass for CopyProp {
    const INFO: PassInfo = PassInfo {
        name: "copy-prop",
        paper: "ptxas page, OriCopyProp; Aho et al. 9.1.5",
        summary: "Replaces uses of a copy by its source, through guards and selp where the guard is the same.",
        knobs: &[
            Knob {
                name: "CopyPropBudget",
                label: "Changed instructions",
                kind: KnobKind::Integer { default: UNLIMITED, min: 0, max: UNLIMITED },
                help: "Maximum number of changed instructions.",
            },
            Knob {
                name: "CopyPropGlobalBudget",
                label: "Changes across blocks",
                kind: KnobKind::Integer { default: UNLIMITED, min: 0, max: UNLIMITED },
                help: "Maximum number of them changed because of a copy in another block.",
            },
            Knob {
                name: "CopyPropForceGlobal",
                label: "No limit across blocks",
                kind: KnobKind::Switch { default: false },
                help: "Ignore CopyPropGlobalBudget.",
            },
            Knob {
                name: "CopyPropAddr",
                label: "Addresses",
                kind: KnobKind::Switch { default: true },
                help: "Propagate into addresses.",
            },
            Knob {
                name: "CopyPropConstantBank",
                label: "Constants",
                kind: KnobKind::Switch { default: true },
                help: "Propagate constants, the only operands here that ptxas would take from its constant bank.",
            },
            Knob {
                name: "CopyPropPreAllocReg",
                label: "Preallocated registers",
                kind: KnobKind::Unavailable { why: "no register here is bound to one of the machine's" },
                help: "Propagate preallocated registers.",
            },
            Knob {
                name: "CopyPropNonRegMultiDef",
                label: "Constants with several definitions",
                kind: KnobKind::Switch { default: true },
                help: "Propagate constants from registers with several definitions, too.",
            },
            Knob {
                name: "CopyPropNoMmaCb",
                label: "Skip matrix operands",
                kind: KnobKind::Unavailable { why: "there are no matrix instructions here" },
                help: "Skip operands of matrix instructions that come from the constant bank.",
            },
            Knob {
                name: "CopyPropNoWriteNonRR",
                label: "Registers only",
                kind: KnobKind::Switch { default: false },
                help: "Skip instructions that have, or would get, an operand other than a register.",
            },
            Knob {
                name: "CopyPropUseReachingDefs",
                label: "Reaching definitions",
                kind: KnobKind::Switch { default: false },
                help: "Also propagate where different copies of one value reach a use, by reaching definitions.",
            },
            Knob {
                name: "LateCopyPropComplPred",
                label: "Opposite guards",
                kind: KnobKind::Switch { default: true },
                help: "Treat copies of one value under a guard and its opposite as one copy.",
            },
        ],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        let knobs = &settings.knobs;
        let budget = |name: &str| u64::try_from(knobs.integer(name)).unwrap_or(0);
        let counts: Vec<usize> = view.func().definition_counts().collect();
        let mut rules = Rules {
            definitions: (!knobs.switch("CopyPropNonRegMultiDef")).then_some(&counts),
            addresses: knobs.switch("CopyPropAddr"),
            constants: knobs.switch("CopyPropConstantBank"),
            registers_only: knobs.switch("CopyPropNoWriteNonRR"),
            other_blocks: true,
        };
        let mut budgets = Budgets {
            left: budget("CopyPropBudget"),
            left_global: if knobs.switch("CopyPropForceGlobal") { None } else { Some(budget("CopyPropGlobalBudget")) },
        };
        let joins_complementary = knobs.switch("LateCopyPropComplPred");
        let look = |copies: &AvailableCopies, data: &InstData| copies.reads_copy(data).then_some(());
        let mut refusals = Vec::new();
        loop {
            refusals.clear();
            let walk = CopyWalk { joins_complementary, ..CopyWalk::ALL };
            walk.run(view, look, |view, copies, (block, inst), ()| {
                if budgets.left > 0 {
                    rules.other_blocks = budgets.allow_other_blocks();
                    budgets.spend(propagate_into(view, copies, (block, inst), rules, &mut refusals));
                }
                true
            });
            // A copy with another source now may be one that holds by dominance.
            let before = view.rewrites();
            if knobs.switch("CopyPropUseReachingDefs") {
                reaching::propagate(view, rules, &mut budgets);
            }
            if budgets.left == 0 || view.rewrites() == before {
                break;
            }
        }
        tell_refusals(view, &refusals);
        for (name, left) in [("CopyPropBudget", Some(budgets.left)), ("CopyPropGlobalBudget", budgets.left_global)] {
            if left == Some(0) && budget(name) > 0 {
                tell_end_of_budget(view, name);
            }
        }
        Ok(())
    }
}

/// A greater budget than any function uses up.
const UNLIMITED: i64 = 1_000_000_000;

/// Numbers of instructions that may still be changed.
struct Budgets {
    left: u64,
    /// Those that may read a copy's source from another block; None for any number.
    left_global: Option<u64>,
}

impl Budgets {
    fn allow_other_blocks(&self) -> bool {
        self.left_global != Some(0)
    }

    fn spend(&mut self, changed: Changed) {
        self.left -= u64::from(changed.any);
        self.left_global = self.left_global.map(|left| left.saturating_sub(u64::from(changed.from_other_block)));
    }
}

/// Rules of what may be propagated, and where to.
#[derive(Clone, Copy)]
struct Rules<'a> {
    /// Numbers of definitions of all registers, if constants are taken only from those with one.
    definitions: Option<&'a [usize]>,
    addresses: bool,
    constants: bool,
    /// True if all operands of changed instructions must be registers, before and after.
    registers_only: bool,
    /// True if copies in other blocks count.
    other_blocks: bool,
}

impl Rules<'_> {
    /// Rules that allow everything.
    const ALL: Rules<'static> =
        Rules { definitions: None, addresses: true, constants: true, registers_only: false, other_blocks: true };

    /// True if an instruction with those operands may be changed.
    fn admit(self, data: &InstData) -> bool {
        !self.registers_only || data.args.iter().all(|arg| arg.as_reg_or_negation().is_some())
    }
}

/// Replaces what one instruction reads.
pub(super) fn visit(view: &mut View<'_>, copies: &AvailableCopies, block: Block, inst: Inst) {
    if copies.reads_copy(&view.func().insts[inst]) {
        let mut refusals = Vec::new();
        propagate_into(view, copies, (block, inst), Rules::ALL, &mut refusals);
        tell_refusals(view, &refusals);
    }
}

/// Replaces what one instruction reads, which may be a copy. Most instructions read none and do not
/// come here. Refusals are about the instruction afterwards, and only collected if the view is
/// traced.
#[inline(never)]
fn propagate_into(
    view: &mut View<'_>,
    copies: &AvailableCopies,
    (block, inst): (Block, Inst),
    rules: Rules<'_>,
    refusals: &mut Vec<(Block, Inst, Refusal)>,
) -> Changed {
    let mut changed = Changed::default();
    if !rules.admit(&view.func().insts[inst]) {
        return changed;
    }
    let mut found = Found::default();
    if view.is_traced() {
        // A remark precedes its rewrite, so a copy of the instruction is changed first.
        let func = view.func();
        Replacer::new(&func.reg_types, copies, rules, Some(&mut found)).replace(&mut func.insts[inst].clone());
        refusals.extend(found.refused.iter().map(|&refusal| (block, inst, refusal)));
        if found.replaced.is_empty() {
            return changed;
        }
    }
    let module = view.module();
    view.rewrite(|func| explain(module, func, block, inst, &found.replaced)).update_reads(inst, |data, reg_types| {
        changed = Replacer::new(reg_types, copies, rules, None).replace(data);
        changed.any
    });
    changed
}

fn tell_end_of_budget(view: &mut View<'_>, name: &str) {
    if let Some(entry) = view.func().entry_block() {
        view.miss(|_| {
            let message = format!("the budget `{name}` is used up; more copies may remain");
            Remark::missed("budget", entry, message).with("knob", Fact::Text(name.into()))
        });
    }
}

fn tell_refusals(view: &mut View<'_>, refusals: &[(Block, Inst, Refusal)]) {
    let module = view.module();
    for &(block, inst, Refusal { copy, source, was_overwritten }) in refusals {
        view.miss(|func| {
            let text = instruction_text(module, func, inst);
            let (copy_name, source_name) = (&func.regs[copy].name, source_text(func, copy, source));
            let why = match source {
                Source::Reg(reg) if was_overwritten => {
                    format!("`{}` may be overwritten between the copy and this use", func.regs[reg].name)
                }
                Source::Const(_) if was_overwritten => {
                    format!("`{copy_name}` may be overwritten between the copy and this use")
                }
                Source::Reg(reg) => {
                    format!("`{source_name}` has type {}, which does not fit here", func.reg_types[reg])
                }
                Source::Const(_) => "a constant is not allowed there".into(),
            };
            Remark::missed("copy", block, format!("`{text}` keeps `{copy_name}`, a copy of `{source_name}`: {why}"))
                .at(inst)
                .with("copy", Fact::Reg(copy))
                .with("source", Fact::Text(source_name))
        });
    }
}

fn explain(module: &Module, func: &Function, block: Block, inst: Inst, replaced: &[(Reg, Source)]) -> Remark {
    let before = instruction_text(module, func, inst);
    let parts: Vec<String> = replaced
        .iter()
        .map(|&(copy, source)| {
            format!("`{}` instead of its copy `{}`", source_text(func, copy, source), func.regs[copy].name)
        })
        .collect();
    let rule = match replaced.first() {
        Some((_, Source::Const(_))) => "constant",
        _ => "copy",
    };
    let mut remark = Remark::applied(rule, block, format!("`{before}` now reads {}", parts.join(" and "))).at(inst);
    for &(copy, source) in replaced {
        remark = remark.with("copy", Fact::Reg(copy)).with("source", Fact::Text(source_text(func, copy, source)));
    }
    remark
}

/// The source as the text would write it; a constant has the type of its copy.
fn source_text(func: &Function, copy: Reg, source: Source) -> String {
    match source {
        Source::Reg(reg) => func.regs[reg].name.clone(),
        Source::Const(bits) => constant_text(bits, func.reg_types[copy]),
    }
}
