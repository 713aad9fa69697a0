//! Hoisting of instructions that both sides of a branch have in common.
//!
//! ```text
//! h: br p, a, b                     h: x = div.u32 n, 3
//! a: x = div.u32 n, 3                  br p, a, b
//!    y = add.u32 x, 1          ──▶ a: y = add.u32 x, 1
//!    br j                              br j
//! b: z = mov.u32 7                  b: z = mov.u32 7
//!    x = div.u32 n, 3                  br j
//!    br j
//! ```
//!
//! Common are a pure instruction or a load with the same opcode, operands and guard on both sides,
//! in any place from which it could as well be moved to the beginning ([`side`]). It moves in front
//! of the branch once and goes away on both sides. Where it could not write its registers so early,
//! or they differ, or the branch asks for one of them, it writes new ones, or the branch asks for a
//! copy; that is done if the instruction issues for more cycles than these copies.
//!
//! Sound because both sides are reached by the branch alone: the lanes that execute it in front of
//! the branch are those that executed it on one side or the other, each once, with the same
//! operands and on the same memory. So no load is made that was not made before. What depends on
//! which lanes are active (votes, shuffles, barriers, calls), draws, volatile and atomic accesses
//! stay, and so do stores: where threads of a warp store to one place, the side decides whose value
//! stays.
//!
//! Bounds: inner branches come before outer ones, so that what is hoisted out of a nest goes all
//! the way. A walk over both sides of a branch takes n log n; it is made again until it finds
//! nothing, each time but the last with something hoisted. Running the pass again finds nothing
//! more.
//!
//! Source: ptxas page, SpeculativeHoistCommonInsts (phase 56), of which it gives no more than the
//! name; Muchnick, section
//! 13.5, code hoisting.

mod side;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::alias::AliasAnalysis;
use crate::edit::Rewrite;
use crate::flow::Values;
use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, InstData, Module, Op, Opcode, Operand, Reg, Type};
use crate::machine::{Machine, OpClass};
use crate::symbolic::{AffineNames, Overflow};
use crate::text::instruction_text;
use crate::trace::{Fact, Place, Remark};
use crate::view::View;
use side::{Key, Side};

/// See the file's head.
pub struct HoistCommon;

impl Pass for HoistCommon {
    const INFO: PassInfo = PassInfo {
        name: "hoist-common",
        paper: "ptxas page, SpeculativeHoistCommonInsts; Muchnick 13.5",
        summary: "Hoists instructions that are common to both sides of a branch above it.",
        knobs: &[Knob {
            name: "SpeculativeHoistCommonInsts",
            label: "Enabled",
            kind: KnobKind::Switch { default: true },
            help: "Enable the pass.",
        }],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        if !settings.knobs.switch("SpeculativeHoistCommonInsts") {
            return Ok(());
        }
        let cfg = view.cfg();
        // Names of values stay true of what is moved: it computes the same.
        let mut values = None;
        for head in cfg.postorder() {
            if let Some(branch) = Branch::at(view.func(), &cfg, head) {
                while hoist(view, &branch, &mut values) {}
            }
        }
        Ok(())
    }
}

/// A conditional branch whose sides nothing else reaches.
struct Branch {
    head: Block,
    inst: Inst,
    sides: [Block; 2],
}

impl Branch {
    fn at(func: &Function, cfg: &Cfg, head: Block) -> Option<Branch> {
        let inst = func.terminator(head).filter(|&inst| func.insts[inst].opcode.op == Op::BrIf)?;
        let &[on_true, on_false] = func.insts[inst].targets() else { return None };
        let sides = [on_true, on_false];
        let is_its_own = |&side: &Block| side != head && !cfg.is_entry(side) && cfg.predecessors(side).len() == 1;
        sides.iter().all(is_its_own).then_some(Branch { head, inst, sides })
    }
}

/// Equal instructions of a side among which one with the same registers is looked for.
const MOST_EQUAL: usize = 16;

/// An instruction of the true side and its equal on the false side.
struct Pair {
    insts: [Inst; 2],
    /// Do both write new registers, which are copied where they stood?
    needs_copies: bool,
}

/// Hoists what both sides of a branch have in common now. Gives whether there was anything; if not, it says what was
/// refused.
fn hoist(view: &mut View<'_>, branch: &Branch, values: &mut Option<Rc<Values>>) -> bool {
    let sides = branch.sides.map(|side| Side::of(view.func(), side));
    let is_load = |&inst: &Inst| view.func().insts[inst].opcode.op == Op::Ld;
    if values.is_none() && sides.iter().all(|side| side.insts().iter().any(is_load)) {
        *values = Some(view.values());
    }
    let (pairs, refusals) = common(view.module(), view.func(), values.as_deref(), branch, sides);
    if pairs.is_empty() {
        for (inst, why) in refusals {
            let module = view.module();
            view.miss(|func| {
                let text = instruction_text(module, func, inst);
                let message = format!("kept `{text}`, common to both sides: {why}");
                Remark::missed("hoist", branch.head, message).at(inst)
            });
        }
        return false;
    }
    pairs.iter().for_each(|pair| move_up(view, branch, pair));
    true
}

/// Pairs that can be hoisted, in order, and the common instructions that cannot, with the reason.
fn common(
    module: &Module,
    func: &Function,
    values: Option<&Values>,
    branch: &Branch,
    [mut first, mut second]: [Side; 2],
) -> (Vec<Pair>, Vec<(Inst, String)>) {
    let alias =
        values.map(|values| AliasAnalysis::new(module, func, values, AffineNames::new(func, values, Overflow::Assume)));
    let (mut pairs, mut refusals) = (Vec::new(), Vec::new());
    let mut equals: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (place, &inst) in second.insts().iter().enumerate() {
        if may_be_common(&func.insts[inst]) {
            equals.entry(Key::of(&func.insts[inst])).or_default().push(place);
        }
    }
    for place in 0..first.insts().len() {
        let inst = first.insts()[place];
        let data = &func.insts[inst];
        if !may_be_common(data) {
            continue;
        }
        let Some(places) = equals.get_mut(&Key::of(data)) else { continue };
        let same_registers = |&&other: &&usize| func.insts[second.insts()[other]].dsts == data.dsts;
        let Some(&other) = places.iter().take(MOST_EQUAL).find(same_registers).or(places.first()) else { continue };
        let insts = [inst, second.insts()[other]];
        let pair = stays(data).map_or(Ok(()), |why| Err(why.to_string())).and_then(|()| {
            let obstacle = first.obstacle_to_reading(func, alias, place);
            match obstacle.or_else(|| second.obstacle_to_reading(func, alias, other)) {
                Some(why) => Err(why),
                None => {
                    let obstacle = first.obstacle_to_writing(func, place);
                    judge_copies(func, branch, insts, obstacle.or_else(|| second.obstacle_to_writing(func, other)))
                }
            }
        });
        match pair {
            Ok(pair) => {
                places.retain(|&place| place != other);
                first.hoist(place, pair.needs_copies);
                second.hoist(other, pair.needs_copies);
                pairs.push(pair);
            }
            Err(why) => refusals.push((inst, why)),
        }
    }
    (pairs, refusals)
}

/// Is the instruction of a kind that is hoisted, or would be but for [`stays`]?
fn may_be_common(data: &InstData) -> bool {
    let op = data.opcode.op;
    !data.dsts.is_empty()
        && (op.is_pure() || matches!(op, Op::Ld | Op::Tex1d | Op::Tex2d | Op::In) || op.is_convergent())
}

/// Why an instruction stays whatever stands around it.
fn stays(data: &InstData) -> Option<&'static str> {
    match data.opcode.op {
        Op::In => Some("draws are never moved"),
        op if op.is_convergent() => Some("it depends on which lanes are active"),
        _ if data.opcode.has_effect() => Some("it is volatile"),
        _ => None,
    }
}

/// Decides whether a pair needs copies, and whether it is worth them. `obstacle` keeps it from writing its registers.
fn judge_copies(func: &Function, branch: &Branch, insts: [Inst; 2], obstacle: Option<String>) -> Result<Pair, String> {
    let [first, second] = insts.map(|inst| &func.insts[inst]);
    let needs_copies = obstacle.is_some() || first.dsts != second.dsts;
    let is_asked = !needs_copies && first.dsts.iter().any(|&dst| asks(func, branch, dst));
    let ty = |reg: Reg| func.reg_types[reg];
    if needs_copies && first.dsts.iter().zip(&second.dsts).any(|(&a, &b)| ty(a) != ty(b)) {
        return Err("the destinations have different types".to_string());
    }
    // The first of several copies would change the guard of the others.
    let writes_guard =
        [first, second].iter().any(|data| data.guard.is_some_and(|guard| data.dsts.contains(&guard.reg)));
    if needs_copies && first.dsts.len() > 1 && writes_guard {
        return Err("it writes its guard".to_string());
    }
    let machine = Machine::default();
    let copy = |ty| machine.cost(OpClass::of(Opcode::mov(ty))).issue.value;
    let copies: u32 = if needs_copies {
        first.dsts.iter().map(|&dst| copy(ty(dst))).sum()
    } else {
        u32::from(is_asked) * copy(Type::Pred)
    };
    if copies > 0 && copies >= machine.issue_cycles(first) {
        let why = obstacle.unwrap_or_else(|| {
            if is_asked { "it writes a register that the branch reads" } else { "the destinations differ" }.to_string()
        });
        return Err(format!("{why}, and a copy would cost as much"));
    }
    Ok(Pair { insts, needs_copies })
}

/// Does the branch ask for that register?
fn asks(func: &Function, branch: &Branch, reg: Reg) -> bool {
    func.insts[branch.inst].uses().contains(&reg)
}

/// Moves a pair in front of its branch, in one rewrite.
fn move_up(view: &mut View<'_>, branch: &Branch, pair: &Pair) {
    let module = view.module();
    let [first, second] = pair.insts;
    let mut rewrite = view.rewrite(|func| {
        let text = instruction_text(module, func, first);
        let names = branch.sides.map(|side| &func.blocks[side].name);
        let message = format!("hoisted `{text}` above the branch: both `{}` and `{}` contain it", names[0], names[1]);
        Remark::applied("hoist", branch.head, message)
            .at(first)
            .with("sides", Fact::Blocks(branch.sides.to_vec()))
            .with("copies", Fact::Flag(pair.needs_copies))
    });
    if pair.needs_copies {
        write_temporaries(&mut rewrite, [first, second]);
    } else {
        let dsts = rewrite.func().insts[first].dsts.clone();
        for dst in dsts {
            if asks(rewrite.func(), branch, dst) {
                let copy = rewrite.create_temporary(Type::Pred);
                rewrite.insert_before(branch.inst, InstData::new(Opcode::mov(Type::Pred), [copy], [Operand::Reg(dst)]));
                rewrite.update_reads(branch.inst, |data, _| {
                    data.args.iter_mut().for_each(|arg| arg.for_each_reg_mut(&mut |reg| *reg = copy));
                    true
                });
            }
        }
    }
    rewrite.move_inst(first, Place { block: branch.head, before: Some(branch.inst) });
    rewrite.remove(second);
}

/// Lets the first of two equal instructions write new registers, and puts copies of these where both stand.
fn write_temporaries(rewrite: &mut Rewrite<'_, '_>, insts: [Inst; 2]) {
    let dsts = insts.map(|inst| rewrite.func().insts[inst].dsts.clone());
    let guard = rewrite.func().insts[insts[0]].guard;
    let mut temporaries = Vec::new();
    for &dst in &dsts[0] {
        let ty = rewrite.func().reg_types[dst];
        temporaries.push(rewrite.create_temporary(ty));
    }
    for (inst, dsts) in insts.into_iter().zip(&dsts) {
        for (&dst, &temporary) in dsts.iter().zip(&temporaries) {
            let ty = rewrite.func().reg_types[dst];
            let copy = InstData::new(Opcode::mov(ty), [dst], [Operand::Reg(temporary)]).guarded(guard);
            rewrite.insert_before(inst, copy);
        }
    }
    rewrite.update(insts[0], |data| {
        data.dsts = temporaries.iter().copied().collect();
        true
    });
}
