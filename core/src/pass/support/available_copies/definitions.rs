//! Definitions: the knowledge of registers that an instruction or a branch adds.
//!
//! Cost: O(1) for each result.

use cranelift_entity::EntityRef;

use super::AvailableCopies;
use super::facts::{Copy, Held, Knowledge, Outcome, Predicate, RegState, Source, Written};
use crate::ir::{Guard, InstData, Op, Operand, Reg};

impl AvailableCopies {
    /// Records what an instruction writes, after its reads have been looked up.
    pub(super) fn define(&mut self, data: &InstData) {
        let may_copy = data.guard.is_some() || matches!(data.opcode.op, Op::Mov | Op::Selp);
        let copy = if may_copy { self.copy_made_by(data) } else { Copy::Unknown };
        let known = match copy {
            Copy::Unknown => 0,
            copy => self.add_knowledge(Knowledge {
                copy,
                copied_in: self.extended_block,
                copied_at: self.block,
                is_only_definition: data.dsts.first().is_some_and(|&dst| self.is_defined_once(dst)),
                outcome: None,
            }),
        };
        for &dst in &data.dsts {
            let before = self.regs[dst.index()];
            let written = if before.written.is_once() {
                Written::Once(self.block)
            } else {
                self.last_version += 1;
                Written::Version(self.last_version)
            };
            self.regs[dst.index()] = RegState { written, known };
            self.undo.push((dst, before));
        }
    }

    fn add_knowledge(&mut self, knowledge: Knowledge) -> usize {
        self.knowledge.push(knowledge);
        self.knowledge.len() - 1
    }

    /// Source of the copy that the only destination of an instruction is, in the versions before
    /// the instruction.
    fn copy_made_by(&self, data: &InstData) -> Copy {
        let &[dst] = data.dsts.as_slice() else { return Copy::Unknown };
        // A register that is copied into itself, or chosen by itself, tells nothing of its new
        // value.
        let hold = |operand: &Operand| match Source::of(operand)? {
            Source::Reg(reg) if reg == dst => None,
            Source::Reg(reg) => Some(Held::Reg(reg, self.regs[reg.index()].written)),
            Source::Const(bits) => Some(Held::Const(bits)),
        };
        let made = match (data.opcode.op, data.args.as_slice()) {
            (Op::Mov, [from]) => hold(from).map_or(Copy::Unknown, Copy::Always),
            (Op::Selp, [on_true, on_false, condition]) => {
                let (on_true, on_false) = (hold(on_true), hold(on_false));
                let (Operand::Reg(reg) | Operand::NotReg(reg)) = *condition else { return Copy::Unknown };
                let negated = matches!(condition, Operand::NotReg(_));
                let (on_true, on_false) = if negated { (on_false, on_true) } else { (on_true, on_false) };
                let predicate = Predicate { reg, written: self.regs[reg.index()].written };
                let known =
                    data.guard.filter(|guard| guard.reg == reg).map(|guard| !guard.negated).or(self.predicate(reg));
                match known {
                    _ if reg == dst => Copy::Unknown,
                    _ if on_true.is_some() && on_true == on_false => on_true.map_or(Copy::Unknown, Copy::Always),
                    Some(value) => (if value { on_true } else { on_false }).map_or(Copy::Unknown, Copy::Always),
                    None => Copy::Select(predicate, on_true, on_false),
                }
            }
            _ => Copy::Unknown,
        };
        match (made, data.guard) {
            (_, None) => made,
            (_, Some(guard)) if guard.reg == dst => Copy::Unknown,
            (made, Some(guard)) => self.under_guard(dst, guard, made),
        }
    }

    /// Effect of a guarded write: the new copy where the guard holds, and elsewhere the old one.
    fn under_guard(&self, dst: Reg, guard: Guard, made: Copy) -> Copy {
        let predicate = Predicate { reg: guard.reg, written: self.regs[guard.reg.index()].written };
        let value = !guard.negated;
        if self.predicate(guard.reg) == Some(value) {
            return made;
        }
        let before = self.knowledge_of(dst);
        let Copy::Always(held) = made else {
            // Nothing is known where the guard holds, so only the other lanes may keep what they
            // had.
            return match before.copy {
                Copy::Where(known, known_value, held)
                    if known == predicate && known_value != value && before.copied_in == self.extended_block =>
                {
                    Copy::Where(known, known_value, held)
                }
                _ => Copy::Unknown,
            };
        };
        match before.copy {
            // Complementary guarded copies of one value are one copy.
            Copy::Where(known, known_value, other)
                if self.joins_complementary
                    && known == predicate
                    && known_value != value
                    && other == held
                    && before.copied_in == self.extended_block =>
            {
                Copy::Always(held)
            }
            Copy::Always(other) if other == held && before.copied_in == self.extended_block => Copy::Always(held),
            _ => Copy::Where(predicate, value, held),
        }
    }

    /// Notes the condition of a block's branch.
    pub(super) fn note_branch(&mut self, branch: &InstData) {
        if branch.opcode.op != Op::BrIf || branch.targets()[0] == branch.targets()[1] {
            return;
        }
        let (reg, value) = match branch.args[0] {
            Operand::Reg(reg) => (reg, true),
            Operand::NotReg(reg) => (reg, false),
            _ => return,
        };
        if let Some(scope) = self.scopes.last_mut() {
            scope.condition = Some((reg, value, branch.targets()[0]));
        }
    }

    /// Records the value of a predicate that the only edge into the open block implies.
    pub(super) fn learn_outcome(&mut self, reg: Reg, value: bool) {
        let state = self.regs[reg.index()];
        let outcome = Some(Outcome { value, extended_block: self.extended_block, block: self.block });
        let known = self.add_knowledge(Knowledge { outcome, ..*self.knowledge_of(reg) });
        self.undo.push((reg, state));
        self.regs[reg.index()].known = known;
    }
}
