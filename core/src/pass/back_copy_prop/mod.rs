//! Backward copy propagation: a definition writes the register into which a copy would have put its result.
//!
//! ```text
//! r1 = add.u32 a, b                       r3 = add.u32 a, b
//! r2 = mov.u32 r1                   ──▶   st.global.u32 x[0], r3
//! r3 = mov.u32 r2
//! st.global.u32 x[0], r3
//! ```
//!
//! 1. Visit blocks in reverse postorder, their instructions last to first, so that a chain of copies
//!    collapses in one walk: `r3 = r2` makes `r3 = r1` of the copy before it, which then renames the
//!    result of the addition.
//! 2. Remove a copy if three [guards](guards) hold: it is the only reader of its source's value; one
//!    definition makes that value and can write the other register just as well; and nothing in
//!    between reads or writes the other register.
//! 3. Repeat for copies that removals have opened, at most [`MAX_ROUNDS`] times. If the last walk
//!    removed something, a remark says that running the pass again may find more.
//!
//! Sound because the register that is written earlier holds a dead value between its new write and
//! the copy's place, and after that the value that the copy would have put there. The other register
//! loses a value that only the copy read.
//!
//! Cost: the names of all values, which mostly serve all walks; then a binary search for each copy,
//! and a few dozens for one in another block than its definition.
//!
//! Off by default, as in ptxas: the pass changes definitions, where forward propagation only changes reads, and leaves
//! less for later passes to recognise; `copy-prop` and `dce` have found most of it before.
//!
//! Source: ptxas page, phases 82 (AdvancedPhaseBackPropVReg) and 83 (OriBackCopyPropagate).

mod guards;
mod touches;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::{Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::ir::{Block, Inst, InstData, Op, Operand, Reg};
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;
use guards::{Guards, Refusal, Renamed};

/// Walks over the function before giving up.
const MAX_ROUNDS: usize = 16;

/// See the file's head.
pub struct BackCopyProp;

impl Pass for BackCopyProp {
    const INFO: PassInfo = PassInfo {
        name: "back-copy-prop",
        paper: "ptxas page, phases 82 and 83, OriBackCopyPropagate",
        summary: "Writes a result directly into the register that it is copied to, and removes the copy.",
        knobs: &[Knob {
            name: "BackCopyPropBudget",
            kind: KnobKind::Integer { default: 1_000_000, min: 0, max: 1_000_000_000 },
            help: "Maximum number of copies removed in a function.",
        }],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        let mut budget = settings.knobs.integer("BackCopyPropBudget");
        let mut moves = moves_in_order(view);
        let mut guards = Guards::new(view, &moves);
        for _ in 0..MAX_ROUNDS {
            let mut walk = Walk { guards, budget, refused: Vec::new(), chains: BTreeMap::new() };
            walk.run(view, &moves);
            budget = walk.budget;
            let (more, more_anew) = (walk.guards.may_find_more(), walk.guards.may_find_more_anew());
            if budget == 0 || !more && !more_anew {
                walk.tell_refusals(view);
                return Ok(());
            }
            moves.retain(|&(block, inst)| view.func().inst_block(inst) == Some(block));
            guards = walk.guards;
            match more {
                true => guards.renew(view.func(), &moves),
                false => guards = Guards::new(view, &moves),
            }
        }
        if let Some(entry) = view.func().entry_block() {
            view.miss(|_| {
                Remark::missed(
                    "max-rounds",
                    entry,
                    format!("stopped after {MAX_ROUNDS} rounds, each of which removed copies"),
                )
                .with("rounds", Fact::Count(MAX_ROUNDS as u64))
            });
        }
        Ok(())
    }
}

/// One walk over the function.
struct Walk {
    guards: Guards,
    /// Copies that may still be removed.
    budget: i64,
    /// Only where somebody listens.
    refused: Vec<(Block, Inst, Refusal)>,
    /// The registers that a definition's value went through, for those that write another register than at first. Only
    /// where somebody listens.
    chains: BTreeMap<Inst, Vec<Reg>>,
}

impl Walk {
    fn run(&mut self, view: &mut View<'_>, moves: &[(Block, Inst)]) {
        for &(block, inst) in moves {
            let Some((from, to)) = copied(&view.func().insts[inst]) else { continue };
            match self.guards.definition_to_rename(view.func(), (block, inst), (from, to)) {
                Ok(_) if self.budget == 0 => return self.tell_budget(view, block, inst),
                Ok(definition) => {
                    self.rename(view, (block, inst), (from, to), definition);
                    self.budget -= 1;
                }
                Err(refusal) if view.is_traced() => self.refused.push((block, inst, refusal)),
                Err(_) => {}
            }
        }
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
            view.miss(|func| {
                let text = instruction_text(module, func, copy);
                let mut message = format!("kept `{text}`: {}", refusal.why(func, copy));
                if let Refusal::UnderWay(Some(inst)) = refusal {
                    message += &format!(", by `{}`", instruction_text(module, func, inst));
                }
                Remark::missed(refusal.rule(), block, message).at(copy)
            });
        }
    }
}

/// The instructions that move one register into another, or into itself, in the order of a walk: a
/// renaming makes no others of them, but may make a copy of what moved a register into itself.
fn moves_in_order(view: &mut View<'_>) -> Vec<(Block, Inst)> {
    let cfg = view.cfg();
    let func = view.func();
    let mut moves = Vec::new();
    for &block in cfg.reverse_postorder() {
        let first = moves.len();
        moves.extend(
            func.block_insts(block).filter(|&inst| moved(&func.insts[inst]).is_some()).map(|inst| (block, inst)),
        );
        moves[first..].reverse();
    }
    moves
}

/// Source and destination of a copy of one register into another. Others are ignored.
fn copied(data: &InstData) -> Option<(Reg, Reg)> {
    moved(data).filter(|(from, to)| from != to)
}

fn moved(data: &InstData) -> Option<(Reg, Reg)> {
    match (data.opcode.op, data.dsts.as_slice(), data.args.as_slice()) {
        (Op::Mov, &[to], &[Operand::Reg(from)]) => Some((from, to)),
        _ => None,
    }
}
