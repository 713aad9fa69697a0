//! Backward copy propagation: a definition writes the register that its result is copied to.
//!
//! ```text
//! r1 = add.u32 a, b                       r3 = add.u32 a, b
//! r2 = mov.u32 r1                   ──▶   st.global.u32 x[0], r3
//! r3 = mov.u32 r2
//! st.global.u32 x[0], r3
//! ```
//!
//! 1. Visit blocks in reverse postorder, their instructions last to first, so that a chain of
//!    copies collapses in one walk: `r3 = r2` makes `r3 = r1` of the copy before it, which then
//!    renames the result of the addition.
//! 2. Remove a copy if three [guards](guards) hold: it is the only reader of its source's value;
//!    one definition makes that value and can write the other register just as well; and nothing in
//!    between reads or writes the other register.
//! 3. Repeat for copies that removals have opened, at most [`MAX_ROUNDS`] times. The remark
//!    `max-rounds` says that running the pass again may find more.
//! 4. Remove copies of a register to itself, which renaming has left of `x = mov y`, `y = mov x`.
//!
//! Sound because the register that is written earlier holds a dead value between its new write and
//! the copy's place, and after that the value that the copy would have put there. The other
//! register loses a value that only the copy read.
//!
//! Cost: O(n) for each walk, and O(log n) for each copy. The names of all values serve all walks.
//!
//! Off by default, as in ptxas: the pass changes definitions, where forward propagation only
//! changes reads, and leaves less for later passes to recognise; `copy-prop` and `dce` have found
//! most of it before.
//!
//! Source: ptxas page, phases 82 (AdvancedPhaseBackPropVReg) and 83 (OriBackCopyPropagate).

mod guards;
mod touches;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::{Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::ir::{Block, Inst, InstData, Reg};
use crate::pass::support::last_assignment::{assign_zeros, take_insts_away};
use crate::pass::support::rounds::tell_max_rounds;
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;
use guards::{Guards, Refusal, Renamed};

/// A further walk is not made, and the remark `max-rounds` says so.
const MAX_ROUNDS: usize = 16;

/// The pass.
pub struct BackCopyProp;

impl Pass for BackCopyProp {
    const INFO: PassInfo = PassInfo {
        name: "back-copy-prop",
        paper: "ptxas page, phases 82 and 83, OriBackCopyPropagate",
        summary: "Writes a result directly into the register that it is copied to, and removes the copy.",
        knobs: &[Knob {
            name: "BackCopyPropBudget",
            label: "Copies removed",
            kind: KnobKind::Integer { default: 1_000_000, min: 0, max: 1_000_000_000 },
            help: "Maximum number of copies removed in a function.",
        }],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        let mut budget = settings.knobs.integer("BackCopyPropBudget");
        let mut moves = moves_in_order(view);
        if moves.is_empty() {
            return Ok(());
        }
        let mut guards = Guards::new(view, &moves);
        let mut self_moves = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let mut walk = Walk { guards, budget, self_moves, refused: Vec::new(), chains: BTreeMap::new() };
            let has_ended = walk.run(view, &moves);
            (budget, self_moves) = (walk.budget, core::mem::take(&mut walk.self_moves));
            moves.retain(|&(block, inst)| view.func().inst_block(inst) == Some(block));
            if has_ended && walk.guards.may_find_more() {
                guards = walk.guards;
                guards.renew(view.func(), &moves);
            } else if has_ended && remove_self_moves(view, core::mem::take(&mut self_moves)) {
                moves = moves_in_order(view);
                guards = Guards::new(view, &moves);
            } else {
                walk.tell_refusals(view);
                return Ok(());
            }
        }
        tell_max_rounds(view, MAX_ROUNDS as u64, "each of which removed copies");
        Ok(())
    }
}

/// One walk over the function.
struct Walk {
    guards: Guards,
    /// Copies that may still be removed.
    budget: i64,
    /// Definitions that renaming has turned into copies of a register to itself.
    self_moves: Vec<(Block, Inst)>,
    /// Refused copies, if the view is traced.
    refused: Vec<(Block, Inst, Refusal)>,
    /// Registers that held the value of a renamed definition, from the first to the present one, if
    /// the view is traced.
    chains: BTreeMap<Inst, Vec<Reg>>,
}

impl Walk {
    /// Removes copies. Returns whether the budget was enough for all.
    fn run(&mut self, view: &mut View<'_>, moves: &[(Block, Inst)]) -> bool {
        for &(block, inst) in moves {
            let Some((from, to)) = copied(&view.func().insts[inst]) else { continue };
            match self.guards.definition_to_rename(view.func(), (block, inst), (from, to)) {
                Ok(_) if self.budget == 0 => {
                    self.tell_budget(view, block, inst);
                    return false;
                }
                Ok(definition) => {
                    self.rename(view, (block, inst), (from, to), definition);
                    self.budget -= 1;
                }
                Err(refusal) if view.is_traced() => self.refused.push((block, inst, refusal)),
                Err(_) => {}
            }
        }
        true
    }

    /// Lets the definition write the copy's register, and removes the copy.
    fn rename(
        &mut self,
        view: &mut View<'_>,
        (block, copy): (Block, Inst),
        (from, to): (Reg, Reg),
        definition: Renamed,
    ) {
        let mut chain = Vec::new();
        if view.is_traced() {
            chain = self.chains.remove(&copy).unwrap_or_else(|| vec![to]);
            chain.insert(0, from);
        }
        let module = view.module();
        let mut rewrite = view.rewrite(|func| {
            let (text, definition_text) =
                (instruction_text(module, func, copy), instruction_text(module, func, definition.inst));
            let (from_name, to_name) = (&func.regs[from].name, &func.regs[to].name);
            Remark::applied(
                "back-copy",
                block,
                format!(
                    "removed `{text}`, the only reader of `{from_name}`: `{definition_text}` now writes `{to_name}`"
                ),
            )
            .at(copy)
            .with("from", Fact::Reg(from))
            .with("to", Fact::Reg(to))
            .with("definition", Fact::Text(definition_text))
            .with("chain", Fact::Words(chain.iter().map(|&reg| func.regs[reg].name.clone()).collect()))
        });
        rewrite.update(definition.inst, |data| {
            data.dsts[definition.index] = to;
            true
        });
        rewrite.remove(copy);
        rewrite.finish();
        self.guards.note_renamed(view.func(), copy, (from, to), definition);
        let (func, inst) = (view.func(), definition.inst);
        if func.insts[inst].copied_register() == Some((to, to)) {
            self.self_moves.extend(func.inst_block(inst).map(|block| (block, inst)));
        }
        if view.is_traced() {
            self.chains.insert(definition.inst, chain);
        }
    }

    fn tell_budget(&mut self, view: &mut View<'_>, block: Block, copy: Inst) {
        let module = view.module();
        view.miss(|func| {
            let text = instruction_text(module, func, copy);
            Remark::missed("budget", block, format!("kept `{text}` and the copies after it: the budget is used up"))
                .at(copy)
        });
    }

    fn tell_refusals(&self, view: &mut View<'_>) {
        let module = view.module();
        for &(block, copy, refusal) in &self.refused {
            let Some(regs) = copied(&view.func().insts[copy]) else { continue };
            view.miss(|func| {
                let text = instruction_text(module, func, copy);
                let mut message = format!("kept `{text}`: {}", refusal.why(func, regs));
                if let Refusal::Between(Some(inst)) = refusal {
                    message += &format!(", by `{}`", instruction_text(module, func, inst));
                }
                Remark::missed(refusal.rule(), block, message).at(copy)
            });
        }
    }
}

/// Removes those of the instructions that are still copies of a register to itself. Returns whether
/// there were any.
fn remove_self_moves(view: &mut View<'_>, mut self_moves: Vec<(Block, Inst)>) -> bool {
    self_moves.retain(|&(block, inst)| {
        view.func().inst_block(inst) == Some(block) && copied(&view.func().insts[inst]).is_none()
    });
    take_insts_away(
        view,
        &self_moves,
        |&(_, inst)| inst,
        |view, some, needs_zeros| {
            let [(block, first), others @ ..] = some else { return };
            let module = view.module();
            let mut rewrite = view.rewrite(|func| {
                let text = instruction_text(module, func, *first);
                let message = match others.len() {
                    0 => format!("removed `{text}`: it changes nothing"),
                    more => format!("removed `{text}` and {more} more: they change nothing"),
                };
                Remark::applied("self-copy", *block, message).at(*first)
            });
            some.iter().for_each(|&(_, inst)| rewrite.remove(inst));
            if needs_zeros {
                assign_zeros(&mut rewrite);
            }
        },
    );
    !self_moves.is_empty()
}

/// The instructions that move one register into another, or into itself, in the order of a walk. A
/// renaming makes no new ones, but may turn a move of a register into itself into a copy.
fn moves_in_order(view: &mut View<'_>) -> Vec<(Block, Inst)> {
    let cfg = view.cfg();
    let func = view.func();
    let mut moves = Vec::new();
    for &block in cfg.reverse_postorder() {
        let first = moves.len();
        let insts = func.block_insts(block).filter(|&inst| func.insts[inst].copied_register().is_some());
        moves.extend(insts.map(|inst| (block, inst)));
        moves[first..].reverse();
    }
    moves
}

/// Source and destination of a copy of one register into another.
fn copied(data: &InstData) -> Option<(Reg, Reg)> {
    data.copied_register().filter(|(from, to)| from != to)
}
