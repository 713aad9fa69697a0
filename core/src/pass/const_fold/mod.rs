//! Constant folding and algebraic identities.
//!
//! ```text
//! a = add.u32 2, 3                 a = mov.u32 5
//! b = mul.u32 x, 0                 b = mov.u32 0
//! c = mad.s32 1, y, z       ──▶    c = add.s32 y, z
//! d = mul.f32 v, 0.0               d = mul.f32 v, 0.0      unless --fast-math: v may be NaN, infinite or negative
//! n2: @p e = mov.u32 7             n2: e = mov.u32 7       n2 is only reached where p holds
//! ```
//!
//! 1. Walk over the dominator tree with the copies and branch outcomes that hold at each place.
//! 2. Replace an instruction with constant operands by a `mov` of the simulator's result: there is
//!    one arithmetic in this project.
//! 3. Apply an [identity](identities) that holds for every operand value to the bit. Float
//!    identities of real numbers need the fast-math licence; those that would keep a NaN's bits,
//!    which arithmetic does not, need an operand that is a result itself.
//! 4. Drop a guard that holds on this path, and remove an instruction whose guard does not; reads
//!    that lose their last assignment get a zero ([`crate::pass::support::last_assignment`]).
//! 5. Walk again after a removal, at most [`MAX_WALKS`] times: a register that is left with one
//!    definition tells more elsewhere. The remarks of the last walk say what was kept.
//!
//! Sound because each replacement computes the same bits.
//!
//! Cost: a constant number of steps for each instruction and walk. Constants reach the uses of a
//! definition by `copy-prop`; `general-optimize` runs both. Running the pass again finds nothing
//! more, unless the remark `max-rounds` says so.
//!
//! Source: Muchnick, sections 12.1 and 12.3; IEEE 754-2019 for what holds of floats.

mod identities;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;

use super::{Pass, PassError, PassInfo, Settings};
use crate::flow::FloatResults;
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Type};
use crate::pass::support::available_copies::{AvailableCopies, CopyWalk};
use crate::pass::support::last_assignment::{assign_zeros, take_insts_away};
use crate::pass::support::rounds::tell_max_rounds;
use crate::sim::evaluate;
use crate::text::instruction_text;
use crate::trace::Remark;
use crate::view::View;
use identities::{Finding, FloatFacts, Simpler};

/// A further walk is not made, and the remark `max-rounds` says so.
const MAX_WALKS: usize = 16;

/// The pass.
pub struct ConstFold;

impl Pass for ConstFold {
    const INFO: PassInfo = PassInfo {
        name: "const-fold",
        paper: "Muchnick 12.1, 12.3",
        summary: "Folds constants, applies algebraic identities, and resolves guards whose value is known.",
        knobs: &[],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        let mut folding = Folding::new(settings);
        for _ in 0..MAX_WALKS {
            if !walk(view, &mut folding) {
                folding.tell_refusals(view);
                return Ok(());
            }
        }
        tell_max_rounds(view, MAX_WALKS as u64, "each of which removed an instruction");
        folding.tell_refusals(view);
        Ok(())
    }
}

/// One walk over the dominator tree. Returns whether an instruction was removed.
fn walk(view: &mut View<'_>, folding: &mut Folding<'_>) -> bool {
    let mut removed = false;
    folding.refused.clear();
    CopyWalk::ALL.run(
        view,
        |_, _| Some(()),
        |view, copies, (block, inst), ()| {
            let stays = folding.visit(view, copies, block, inst);
            removed |= !stays;
            stays
        },
    );
    removed | folding.finish_walk(view)
}

/// State of one run of the pass.
pub(super) struct Folding<'a> {
    settings: &'a Settings,
    /// Instructions that never run, but whose assignments may be the last before some read. They
    /// are removed after the walk, because the zeros assigned in their place must not change under
    /// it.
    never_run: Vec<(Block, Inst)>,
    /// Instructions that the walk kept for a reason worth a remark, if the view is traced.
    refused: Vec<Refusal>,
    /// Facts about the function at the first request. They survive changes: what replaces
    /// arithmetic is arithmetic, a number, or a copy of an earlier result.
    float_results: OnceCell<FloatResults>,
}

/// An instruction that was kept, and the reason.
struct Refusal {
    block: Block,
    inst: Inst,
    rule: &'static str,
    why: String,
}

impl<'a> Folding<'a> {
    pub(super) fn new(settings: &'a Settings) -> Folding<'a> {
        Folding { settings, never_run: Vec::new(), refused: Vec::new(), float_results: OnceCell::new() }
    }

    /// Makes one instruction simpler. Returns whether it is still in the function.
    pub(super) fn visit(&mut self, view: &mut View<'_>, copies: &AvailableCopies, block: Block, inst: Inst) -> bool {
        self.settle_guard(view, copies, block, inst);
        let stays = view.func().inst_block(inst).is_some();
        if stays {
            self.fold(view, block, inst);
        }
        stays
    }

    /// Replaces one instruction by something simpler, again and again until nothing simpler is
    /// found.
    fn fold(&mut self, view: &mut View<'_>, block: Block, inst: Inst) {
        while let Some((finding, simpler)) = self.simpler(view.func(), inst) {
            let module = view.module();
            let mut rewrite = view.rewrite(|func| {
                let text = instruction_text(module, func, inst);
                Remark::applied(finding.rule, block, format!("simplified `{text}`: {}", finding.why)).at(inst)
            });
            rewrite.replace(inst, simpler);
        }
        if self.settings.fast_math || !view.is_traced() {
            return;
        }
        let licensed = FloatFacts { fast_math: true, is_computed: &|_| false };
        if let Some(Finding { rule, why, .. }) = identities::find(&view.func().insts[inst], licensed) {
            let why = format!("{why} only for real numbers (--fast-math)");
            self.refused.push(Refusal { block, inst, rule, why });
        }
    }

    /// Records what the last walk kept.
    pub(super) fn tell_refusals(&self, view: &mut View<'_>) {
        let module = view.module();
        for &Refusal { block, inst, rule, ref why } in &self.refused {
            if view.func().inst_block(inst) == Some(block) {
                view.miss(|func| {
                    let text = instruction_text(module, func, inst);
                    Remark::missed(rule, block, format!("kept `{text}`: {why}")).at(inst)
                });
            }
        }
    }

    /// Something simpler than an instruction, and why it does the same.
    fn simpler(&self, func: &Function, inst: Inst) -> Option<(Finding, InstData)> {
        let is_computed = |operand: &Operand| {
            let results = || self.float_results.get_or_init(|| FloatResults::of(func));
            operand.as_reg().is_some_and(|reg| results().is_computed(reg))
        };
        let facts = FloatFacts { fast_math: self.settings.fast_math, is_computed: &is_computed };
        simpler(func, &func.insts[inst], facts, evaluate)
    }

    /// Finishes a walk. Returns whether an instruction was removed.
    pub(super) fn finish_walk(&mut self, view: &mut View<'_>) -> bool {
        let never_run = core::mem::take(&mut self.never_run);
        take_insts_away(view, &never_run, |&(_, inst)| inst, remove);
        !never_run.is_empty()
    }

    /// Drops a guard that is known to hold, and removes an instruction whose guard never holds.
    fn settle_guard(&mut self, view: &mut View<'_>, copies: &AvailableCopies, block: Block, inst: Inst) {
        let data = &view.func().insts[inst];
        let Some(guard) = data.guard else { return };
        let Some(value) = copies.predicate(guard.reg) else { return };
        let holds = value != guard.negated;
        // A register that is written nowhere else keeps a definition, of the value that unwritten
        // registers have.
        let sole = data.dsts.iter().find(|&&dst| copies.is_defined_once(dst)).copied();
        if !holds && sole.is_none() && !data.dsts.iter().all(|&dst| copies.is_assigned(dst)) {
            return self.never_run.push((block, inst));
        }
        if !holds && sole.is_some() && data.dsts.len() > 1 {
            let why = "it never runs, but has several results, and defines a register alone".into();
            return self.refused.push(Refusal { block, inst, rule: "guard-false", why });
        }
        let module = view.module();
        let mut rewrite = view.rewrite(|func| {
            let (text, name) = (instruction_text(module, func, inst), &func.regs[guard.reg].name);
            let word = if value { "true" } else { "false" };
            let (rule, outcome) = match (holds, sole) {
                (true, _) => ("guard-true", "its guard always holds"),
                (false, None) => ("guard-false", "it never runs"),
                (false, Some(_)) => ("guard-false", "it never runs, and its result is zero"),
            };
            Remark::applied(rule, block, format!("`{text}`: `{name}` is {word} here, so {outcome}")).at(inst)
        });
        if holds {
            rewrite.update(inst, |data| data.guard.take().is_some());
        } else if let Some(dst) = sole {
            let ty = rewrite.func().reg_types[dst];
            rewrite.replace(inst, InstData::new(Opcode::mov(ty), [dst], [Operand::Const(0)]));
        } else {
            rewrite.remove(inst);
        }
    }
}

/// Removes instructions that never run, mostly one, in one rewrite.
fn remove(view: &mut View<'_>, never_run: &[(Block, Inst)], needs_zeros: bool) {
    let [(block, inst), others @ ..] = never_run else { return };
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let text = instruction_text(module, func, *inst);
        let message = match others.len() {
            0 => format!("removed `{text}`: it never runs"),
            more => format!("removed `{text}` and {more} more: they never run"),
        };
        Remark::applied("guard-false", *block, message).at(*inst)
    });
    never_run.iter().for_each(|&(_, inst)| rewrite.remove(inst));
    if needs_zeros {
        assign_zeros(&mut rewrite);
    }
}

/// The simplest instruction that does what this one does, under the same guard. `compute` is
/// [`evaluate`], or remembers what that has given.
pub(super) fn simplest(
    func: &Function,
    mut data: InstData,
    fast_math: bool,
    mut compute: impl FnMut(Opcode, &[u64]) -> Option<u64>,
) -> InstData {
    let facts = FloatFacts { fast_math, is_computed: &|_| false };
    while let Some((_, simpler)) = simpler(func, &data, facts, &mut compute) {
        data = simpler;
    }
    data
}

/// A simpler instruction that does the same, and why it does.
fn simpler(
    func: &Function,
    data: &InstData,
    facts: FloatFacts<'_>,
    compute: impl FnMut(Opcode, &[u64]) -> Option<u64>,
) -> Option<(Finding, InstData)> {
    let finding = match folded(data, compute) {
        Some(bits) => Finding { rule: "constant", why: "all operands are constant", simpler: Simpler::Constant(bits) },
        None => identities::find(data, facts)?,
    };
    let simpler = simplified(func, data, finding.simpler.clone())?;
    (simpler != *data).then_some((finding, simpler))
}

/// The constant that an instruction computes, if it does.
fn folded(data: &InstData, mut compute: impl FnMut(Opcode, &[u64]) -> Option<u64>) -> Option<u64> {
    if data.dsts.len() != 1 || !data.opcode.is_pure() || matches!(data.opcode.op, Op::Mov | Op::Work) {
        return None;
    }
    let args: Option<Vec<u64>> = data.args.iter().map(Operand::as_const).collect();
    compute(data.opcode, &args.filter(|args| !args.is_empty())?)
}

/// The instruction that does the simpler thing under the same guard into the same register.
fn simplified(func: &Function, data: &InstData, simpler: Simpler) -> Option<InstData> {
    let ty = data.opcode.signature().dsts.first()?.ty;
    let (opcode, args): (Opcode, Vec<Operand>) = match simpler {
        Simpler::Constant(bits) => (Opcode::mov(ty), [Operand::Const(bits & ty.mask())].into()),
        Simpler::Operand(operand) => (Opcode::mov(copy_type(func, ty, &operand)?), [operand].into()),
        Simpler::Instruction(opcode, args) => (opcode, args),
    };
    let dst = *data.dsts.first()?;
    // A conversion may write a wider register than its type says; a `mov` may not.
    if opcode.op == Op::Mov && func.reg_types[dst].bits() != ty.bits() {
        return None;
    }
    Some(InstData::new(opcode, [dst], args).guarded(data.guard))
}

/// The type of a `mov` of that operand: the result's, unless the operand's register is of another
/// kind.
fn copy_type(func: &Function, ty: Type, operand: &Operand) -> Option<Type> {
    match operand {
        Operand::Reg(reg) => {
            let have = func.reg_types[*reg];
            if have.agrees_with(ty) { Some(ty) } else { (have.bits() == ty.bits()).then(|| ty.as_bits()) }
        }
        Operand::NotReg(_) | Operand::Address(_) | Operand::List(_) | Operand::Input(_) => None,
        Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) => Some(ty),
    }
}
