//! Moves of loads under their conditions (`faulting=guarded`).
//!
//! ```text
//! a: p = …; br p, b, c             a: p = …; @p t = ld A[i]; br p, b, c
//! b: x = ld A[i]            ──▶    b: x = t
//! ```
//!
//! 1. Follow the single predecessors of the load upward, and collect the predicate of each branch
//!    on the way.
//! 2. Stop at the wanted block, or at the last branch to cross where all predicates have their
//!    values already.
//! 3. Load at the end of that block, guarded by the conjunction, or by the union with what moved
//!    there before.
//!
//! Sound because the guard holds exactly when the load would have been executed: no lane loads more
//! than before.
//!
//! Cost: O([`MAX_CONDITIONS`]) blocks for each move; longer paths are not followed.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use smallvec::SmallVec;

use super::copies::copy_before;
use super::rewriting::{Holder, Regs, Rewriting};
use crate::edit::Rewrite;
use crate::ir::{Block, Function, Guard, Inst, InstData, Op, Opcode, Operand, Type};
use crate::query::{Hoist, Occurrence, OccurrenceData, QueryEngine};
use crate::trace::{Fact, Remark};
use crate::view::View;

/// Paths over more blocks than this are not followed.
const MAX_CONDITIONS: u32 = 8;

/// A load at the end of a block, under the union of the conditions of the occurrences that moved
/// there.
pub(super) struct Guarded {
    head: Block,
    inst: Inst,
    guard: Option<Guard>,
    temporaries: Regs,
    moved: Vec<Occurrence>,
}

impl Rewriting {
    /// Moves an occurrence up to the end of a block, under the condition that it is computed on;
    /// see [`condition_of`]. If its form has moved there before, one load serves both, under the
    /// union of their conditions. Returns whether it moved.
    pub fn move_up_guarded(
        &mut self,
        view: &mut View<'_>,
        engine: &mut QueryEngine<'_>,
        occurrence: Occurrence,
        hoist: &Hoist,
    ) -> bool {
        let &OccurrenceData { inst, block, form, .. } = engine.snapshot.occurrence(occurrence);
        let Some(inst) = inst else { return false };
        // A block that already has the load is as good as the hoist's.
        let earlier = self.guarded.get(&form).map_or(&[][..], |earlier| earlier);
        let is_on_all_paths =
            |guarded: &&Guarded| engine.would_come_from(view.func(), occurrence, guarded.head, &guarded.moved);
        let heads: SmallVec<[Block; 2]> = earlier.iter().filter(is_on_all_paths).map(|guarded| guarded.head).collect();
        let find = |blocks: &[Block]| condition_of(view.func(), engine, (inst, block), blocks);
        let joined = heads.iter().find_map(|&head| find(&[head]).filter(|(found, _)| *found == head));
        let Some((head, condition)) = joined.or_else(|| find(&hoist.blocks)) else { return false };
        let known = self.guarded.entry(form).or_default();
        let before = known.iter().position(|guarded| guarded.head == head).map(|place| known.remove(place));
        let snapshot = &engine.snapshot;
        let mut rewrite = view.rewrite(|func| {
            let what = snapshot.forms.text(snapshot.module, func, form);
            let conditions =
                if condition.len() > 1 { "the conditions of its branches" } else { "the condition of its branch" };
            let others = if before.is_some() { " or of earlier moves" } else { "" };
            let message = format!(
                "moved `{what}` from `{}` to the end of `{}`, guarded by {conditions}{others}",
                func.blocks[block].name, func.blocks[head].name
            );
            let remark = Remark::applied("speculate", head, message)
                .at(inst)
                .with("from", Fact::Block(block))
                .with("faulting", Fact::Text("guarded".into()));
            self.billed(remark)
        });
        let mut guard = combined(&mut rewrite, head, Op::And, &condition);
        let data = rewrite.func().insts[inst].clone();
        let (temporaries, mut moved): (Regs, _) = match before {
            Some(Guarded { inst: load, guard: before, temporaries, moved, .. }) => {
                // The load is made again after the predicate that it needs now; only loads and
                // predicates are between.
                rewrite.remove(load);
                guard =
                    guard.zip(before).and_then(|(own, before)| combined(&mut rewrite, head, Op::Or, &[before, own]));
                (temporaries, moved)
            }
            None => {
                let types = snapshot.forms.expression(form).types.clone();
                (types.into_iter().map(|ty| rewrite.create_temporary(ty)).collect(), Vec::new())
            }
        };
        moved.push(occurrence);
        let (own, dsts): (_, Regs) = (data.guard, data.dsts.iter().copied().collect());
        let load = rewrite.append(head, InstData { dsts: temporaries.iter().copied().collect(), guard, ..data });
        let (_, last) = copy_before(&mut rewrite, inst, &dsts, &temporaries, own);
        rewrite.remove(inst);
        rewrite.finish();
        let guarded = Guarded { head, inst: load, guard, temporaries: temporaries.clone(), moved };
        self.guarded.entry(form).or_default().push(guarded);
        self.holders[occurrence] = Some((Holder::Regs(Box::new(temporaries)), last));
        engine.snapshot.replace(occurrence);
        true
    }
}

/// The block at whose end a load can be computed under its condition, and the condition from above:
/// predicates that all hold. It is the only one of `blocks`, if predicates that have their values
/// there already decide about the path from there to the load; paths that part and meet again count
/// as one. Failing that it is the last branch above the load, if loads move across it.
fn condition_of(
    func: &Function,
    engine: &QueryEngine<'_>,
    (load, block): (Inst, Block),
    blocks: &[Block],
) -> Option<(Block, SmallVec<[Guard; 2]>)> {
    let (snapshot, own) = (&engine.snapshot, func.insts[load].guard);
    let mut found: Option<(Block, SmallVec<[Guard; 2]>)> = None;
    // Each with an instruction before which its register has the value.
    let mut conditions: SmallVec<[(Guard, Inst); 2]> = own.map(|guard| (guard, load)).into_iter().collect();
    let mut at = block;
    for _ in 0..MAX_CONDITIONS {
        let &[from] = snapshot.graph.predecessors(at) else {
            // Paths that part after the wanted block, and all meet here.
            let is_there = |block: Block| {
                conditions.iter().all(|&(guard, inst)| snapshot.holds_at_end(func, block, guard.reg, inst))
            };
            if let &[wanted] = blocks
                && engine.is_post_dominated(wanted, at)
                && is_there(wanted)
            {
                found = Some((wanted, conditions.iter().rev().map(|&(guard, _)| guard).collect()));
            }
            break;
        };
        if from == block || snapshot.graph.is_entry(at) {
            break;
        }
        if snapshot.graph.is_branch(from) {
            let branch = func.terminator(from)?;
            let data = &func.insts[branch];
            let (Op::BrIf, 2) = (data.opcode.op, snapshot.graph.successors(from).len()) else { break };
            let negates = matches!(data.args[0], Operand::NotReg(_));
            let (Some(reg), Some(&on_true)) = (data.args[0].as_reg_or_negation(), data.targets().first()) else {
                break;
            };
            conditions.push((Guard { reg, negated: negates != (on_true != at) }, branch));
            let is_there = |&(guard, inst): &(Guard, Inst)| snapshot.holds_at_end(func, from, guard.reg, inst);
            let is_wanted = blocks == [from];
            if (is_wanted || found.is_none() && engine.is_crossed(from)) && conditions.iter().all(is_there) {
                found = Some((from, conditions.iter().rev().map(|&(guard, _)| guard).collect()));
            }
            if is_wanted {
                break;
            }
        }
        at = from;
    }
    found
}

/// One predicate that combines several by that operation.
fn combined(rewrite: &mut Rewrite<'_, '_>, block: Block, op: Op, conditions: &[Guard]) -> Option<Guard> {
    let (&(mut all), others) = conditions.split_first()?;
    for &guard in others {
        let operands = [all, guard].map(|guard| {
            if !guard.negated {
                return Operand::Reg(guard.reg);
            }
            let reg = rewrite.create_temporary(Type::Pred);
            rewrite.append(block, InstData::new(Opcode::new(Op::Not, Type::Pred), [reg], [Operand::Reg(guard.reg)]));
            Operand::Reg(reg)
        });
        let both = rewrite.create_temporary(Type::Pred);
        rewrite.append(block, InstData::new(Opcode::new(op, Type::Pred), [both], operands));
        all = Guard { reg: both, negated: false };
    }
    Some(all)
}
