//! Late commoning: what if-conversion has put side by side is computed once.
//!
//! ```text
//! @p x = mul.u32 a, 3            @p x = mul.u32 a, 3
//! @p y = mul.u32 a, 3     ──▶    @p y = mov.u32 x
//! @!p z = mul.u32 a, 3           @!p z = mul.u32 a, 3      with `complementary`: one multiplication without a guard
//! ```
//!
//! A walk in program order down the dominator tree looks for each instruction's work, its opcode and operands, in a table
//! of those above ([`classes`] says quickly where there can be none). What is found has to meet the page's seven
//! [`conditions`]. Copies are seen through, unless `DisableMoveCommoning` says otherwise; operands that commute are not
//! sorted, that is `gvn-cse`'s work.
//!
//! Sound because the earlier instruction has run on every way to the later one, in the same lanes, with the same operands
//! and the same memory, and its register still holds what it wrote. With `complementary` a pure instruction runs in all
//! lanes instead of in those where `p` holds, into a new register that the lanes of both guards copy from.
//!
//! The page's phase is on, and asks `ForceLateCommoning` before anything else: what turns that off turns the pass off.
//!
//! Linear in instructions, apart from a logarithm for finding which value a register holds. Running it again finds nothing
//! more.
//!
//! Source: ptxas page, phase 64 (LateOriCommoning).

mod classes;
mod conditions;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::gvn_cse::eligibility::Class;
use super::gvn_cse::lanes::Regions;
use super::gvn_cse::numbering::{Numbering, Options, Outline};
use super::{Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::edit::{Fact, Remark};
use crate::flow::Values;
use crate::ir::{Block, Inst, InstData, Opcode, Operand, Reg};
use crate::text::instruction_text;
use crate::view::{Listener, View};
use classes::Mask;
use conditions::{Broken, Conditions};

/// See the file's head.
pub struct LateCommoning;

impl Pass for LateCommoning {
    const INFO: PassInfo = PassInfo {
        name: "late-commoning",
        paper: "ptxas page, phase 64",
        summary: "Lets what repeats under one guard, as if-conversion leaves it, be copied instead of computed again.",
        knobs: &[
            Knob { name: "ForceLateCommoning", kind: KnobKind::Switch { default: true }, help: "runs the pass at all" },
            Knob {
                name: "DisableMoveCommoning",
                kind: KnobKind::Switch { default: false },
                help: "takes a copy for a value of its own instead of for what it copies",
            },
            Knob {
                name: "complementary",
                kind: KnobKind::Switch { default: false },
                help: "lets one computation under a guard and its opposite be one without guard, which ptxas does not",
            },
        ],
        needs_fast_math: false,
    };

    fn run<S: Listener>(view: &mut View<'_, S>, settings: &Settings) -> Result<(), PassError> {
        let knobs = &settings.knobs;
        if !knobs.switch("ForceLateCommoning") {
            return Ok(());
        }
        let (cfg, dominators, values) = (view.cfg(), view.dominators(), view.values());
        let outline = Outline::of(view.func(), &dominators);
        let regions = if outline.needs_regions() { Regions::compute(view) } else { Regions::default() };
        let options = Options {
            enhanced: true,
            names_work: true,
            is_algebraic: false,
            follows_copies: !knobs.switch("DisableMoveCommoning"),
            has_surroundings: false,
            forwards_stores: false,
        };
        let place = (view.module(), view.func());
        let numbering = Numbering::new(place, (&cfg, &dominators), &regions, outline, options);
        let (numbered, number_count) = numbering.of_all(view.func());
        let complementary = knobs.switch("complementary");
        let mut leaders: Vec<PackedOption<Inst>> = vec![None.into(); number_count];
        let mut undo: Vec<(u32, PackedOption<Inst>)> = Vec::new();
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut seen: SecondaryMap<Block, Mask> = SecondaryMap::new();
        for (place, &block) in dominators.preorder().iter().enumerate() {
            while let Some((_, first)) = open.pop_if(|(end, _)| *end <= place) {
                undo.drain(first..).rev().for_each(|(number, before)| leaders[number as usize] = before);
            }
            open.push((place + dominators.subtree(block).len(), undo.len()));
            let mut mask = dominators.parent(block).map_or(Mask::default(), |above| seen[above]);
            let mut next = view.func().layout.first_inst(block);
            while let Some(inst) = next {
                next = view.func().layout.next_inst(inst);
                let data = &view.func().insts[inst];
                let Some((own, details)) = numbered[inst].filter(|_| can_be_common(data)) else { continue };
                let Some(work) = details.work else { continue };
                let wanted = Mask::of(data);
                // Under the same guard, or else under any.
                let number = own.replaceable().unwrap_or(work);
                let alike = leaders[number.0 as usize].expand().filter(|_| mask.may_hold(wanted));
                let leader = alike.or_else(|| leaders[work.0 as usize].expand());
                // Numbers of work do not tell `{p, q} = setp` from `p = setp`.
                let has_as_many = |leader: &Inst| view.func().insts[*leader].dsts.len() == data.dsts.len();
                let leader = leader.filter(has_as_many);
                mask = mask.with(wanted);
                if let Some(leader) = leader {
                    let func = view.func();
                    let conditions =
                        Conditions { func, numbered: &numbered, dominators: &dominators, regions: &regions };
                    let from = func.inst_block(leader).unwrap_or(block);
                    let outcome = conditions.hold((from, leader), (block, inst));
                    let is_opposite = complementary && conditions.predicates_are_opposite(leader, inst);
                    match outcome {
                        Ok(()) if copy_leader(view, &values, (from, leader), (block, inst)) => continue,
                        Err(Broken::C4) if is_opposite && drop_guards(view, &values, (from, leader), (block, inst)) => {
                            continue;
                        }
                        Ok(()) => {}
                        Err(broken) => tell_refusal(view, leader, (block, inst), broken),
                    }
                }
                for number in [work, number] {
                    undo.push((number.0, leaders[number.0 as usize]));
                    leaders[number.0 as usize] = inst.into();
                }
            }
            seen[block] = mask;
        }
        Ok(())
    }
}

/// Has the instruction results that could as well be copied?
fn can_be_common(data: &InstData) -> bool {
    !data.dsts.is_empty() && !matches!(Class::of(data), Class::Never | Class::Atomic)
}

/// Copies the leader's registers, if they still hold what the leader wrote. Gives whether they do.
fn copy_leader<S: Listener>(
    view: &mut View<'_, S>,
    values: &Values,
    (from, leader): (Block, Inst),
    (block, inst): (Block, Inst),
) -> bool {
    let (module, func) = (view.module(), view.func());
    let (sources, data) = (func.insts[leader].dsts.clone(), func.insts[inst].clone());
    let lost = sources.iter().zip(&data.dsts).zip(values.defined(leader)).find(|&((&reg, &dst), &value)| {
        let holds = values.before(func, inst, reg) == Some(value);
        !holds || !func.regs[reg].ty.agrees_with(func.regs[dst].ty)
    });
    let lost = lost.map(|((&reg, _), _)| (reg, "has been written since"));
    if let Some((reg, why)) = lost.or_else(|| Some((first_overwritten(&sources, &data)?, "would be written too early")))
    {
        view.miss(|func| {
            let (text, name) = (instruction_text(module, func, inst), &func.regs[reg].name);
            let message = format!("`{text}` is what `{name}` was given, and stays: `{name}` {why}");
            Remark::missed("overwritten", block, message).at(inst).with("leader", Fact::Reg(reg))
        });
        return false;
    }
    let mut rewrite = view.rewrite(|func| {
        let text = instruction_text(module, func, inst);
        let names: Vec<_> = sources.iter().map(|&reg| format!("`{}`", func.regs[reg].name)).collect();
        let (names, were) = (names.join(", "), if names.len() == 1 { "was" } else { "were" });
        let message = format!("`{text}` is what {names} {were} given in `{}`", func.blocks[from].name);
        Remark::applied("common", block, message)
            .at(inst)
            .with("leader", Fact::Reg(sources[0]))
            .with("scope", Fact::Block(from))
    });
    let mut copies: Vec<InstData> = Vec::new();
    for (&reg, &dst) in sources.iter().zip(&data.dsts).filter(|(reg, dst)| reg != dst) {
        let ty = rewrite.func().regs[dst].ty;
        let copy = InstData::new(Opcode::mov(ty), [dst], [Operand::Reg(reg)]);
        copies.push(InstData { guard: data.guard, ..copy });
    }
    let last = copies.pop();
    for copy in copies {
        rewrite.insert_before(inst, copy);
    }
    match last {
        Some(copy) => rewrite.replace(inst, copy),
        None => rewrite.remove(inst),
    }
    true
}

/// Copies are made one after the other: a register that one of them reads behind another that has written it.
fn first_overwritten(sources: &[Reg], data: &InstData) -> Option<Reg> {
    let guard = data.guard.map(|guard| guard.reg);
    (1..sources.len()).find_map(|place| {
        let written = |reg: &Reg| (0..place).any(|before| data.dsts[before] == *reg && sources[before] != *reg);
        [Some(sources[place]).filter(|reg| data.dsts[place] != *reg), guard].into_iter().flatten().find(written)
    })
}

/// Computes once, in all lanes, what stands under a guard and its opposite. Gives whether that can be.
fn drop_guards<S: Listener>(
    view: &mut View<'_, S>,
    values: &Values,
    (from, leader): (Block, Inst),
    (block, inst): (Block, Inst),
) -> bool {
    let (module, func) = (view.module(), view.func());
    let (first, second) = (func.insts[leader].clone(), func.insts[inst].clone());
    let is_pure = matches!(Class::of(&second), Class::Pure | Class::Transcendental) && second.dsts.len() == 1;
    // A later result of the leader's register would stand between, and so would a guarded one that both write.
    if !is_pure || from != block || values.defined(leader).is_empty() {
        return false;
    }
    let mut rewrite = view.rewrite(|func| {
        let (text, name) = (instruction_text(module, func, inst), &func.regs[first.dsts[0]].name);
        let message =
            format!("`{text}` is what `{name}` was given where its guard fails, so all lanes compute it once");
        Remark::applied("complementary", block, message).at(inst).with("leader", Fact::Reg(first.dsts[0]))
    });
    let ty = rewrite.func().regs[first.dsts[0]].ty;
    let kept = rewrite.create_temporary(ty);
    rewrite.insert_before(leader, InstData { guard: None, dsts: [kept].into_iter().collect(), ..first.clone() });
    for (inst, data) in [(leader, first), (inst, second)] {
        let ty = rewrite.func().regs[data.dsts[0]].ty;
        let copy = InstData::new(Opcode::mov(ty), [data.dsts[0]], [Operand::Reg(kept)]);
        rewrite.replace(inst, InstData { guard: data.guard, ..copy });
    }
    true
}

fn tell_refusal<S: Listener>(view: &mut View<'_, S>, leader: Inst, (block, inst): (Block, Inst), broken: Broken) {
    let module = view.module();
    view.miss(|func| {
        let (condition, why) = broken.explain();
        let (text, name) = (instruction_text(module, func, inst), &func.regs[func.insts[leader].dsts[0]].name);
        let message = format!("`{text}` does what gave `{name}` its value, and stays: {why} ({condition})");
        Remark::missed("not-common", block, message).at(inst).with("condition", Fact::Text(condition.into()))
    });
}
