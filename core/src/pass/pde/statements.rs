//! Statements that may sink, and what stops them in a block.
//!
//! ```text
//! n: x = mul.f32 a, b      x = a * b could go to the end of n: nothing behind it reads or writes x, or writes a or b
//!    c = add.f32 a, 1.0
//! m: a = mov.f32 0.0       in m it could go as far as to the front of this
//! ```
//!
//! A statement is a pure instruction with one destination and no guard, or a load; equal instructions in several blocks are
//! one statement. It stays in front of what reads or writes its destination or writes one of its operands, and a load also
//! in front of whatever may write the [memory](super::memory) that it reads, orders memory, or waits for others.
//!
//! In a block only the last instruction that touches a register can be a statement that leaves it, so that the statements of
//! one register cost as much as there are blocks that touch it.

use alloc::vec::Vec;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::accesses::{Accesses, NOWHERE};
use super::memory::is_changing_load;
use crate::ir::{Flags, Function, Inst, InstData, Op, Reg};
use crate::pass::path_guided::nodes::Node;

/// An instruction that may sink, wherever it stands.
pub(super) struct Statement {
    /// The instruction.
    pub data: InstData,
    /// What it writes.
    pub dst: Reg,
    /// What it reads.
    pub uses: SmallVec<[Reg; 4]>,
    /// Where it stands with nothing behind it in its block that stops it, in order, and at which place.
    pub occurrences: SmallVec<[Occurrence; 1]>,
}

/// Where a statement stands.
#[derive(Clone, Copy)]
pub(super) struct Occurrence {
    pub node: Node,
    /// From 0.
    pub place: u32,
    pub inst: Inst,
}

impl Statement {
    /// The statements that write a register, by their first occurrence.
    pub fn of(func: &Function, accesses: &Accesses, reg: Reg) -> Vec<Statement> {
        let mut statements: Vec<Statement> = Vec::new();
        let mut known: HashMap<&InstData, usize> = HashMap::new();
        for node in accesses.touching(reg) {
            let Some(touches) = accesses.touches(node, reg).filter(|touches| touches.last == touches.last_write) else {
                continue;
            };
            let (place, inst) = (touches.last, touches.last_inst);
            let data = &func.insts[inst];
            let occurrence = Occurrence { node, place, inst };
            if data.dst() != Some(reg) || !may_sink(data) || !is_free_behind(accesses, data, &occurrence) {
                continue;
            }
            // Mostly there is one.
            let number = match statements.as_slice() {
                [] => None,
                [only] if only.data == *data => Some(0),
                [only] => {
                    known.entry(&func.insts[only.occurrences[0].inst]).or_insert(0);
                    None
                }
                _ => known.get(data).copied(),
            };
            match number {
                Some(number) => statements[number].occurrences.push(occurrence),
                None => {
                    if !statements.is_empty() {
                        known.insert(data, statements.len());
                    }
                    let occurrences = [occurrence].into_iter().collect();
                    statements.push(Statement { data: data.clone(), dst: reg, uses: data.uses(), occurrences });
                }
            }
        }
        statements
    }

    /// By what statements stand in the order of their first occurrences.
    pub fn order(&self) -> (Node, u32) {
        (self.occurrences[0].node, self.occurrences[0].place)
    }

    /// Does an instruction belong to it?
    pub fn contains(&self, inst: Inst) -> bool {
        self.occurrences.iter().any(|occurrence| occurrence.inst == inst)
    }

    /// The place of the first instruction of a node that stops it.
    pub fn first_stop(&self, accesses: &Accesses, node: Node) -> Option<u32> {
        let mut first = accesses.touches(node, self.dst).map_or(NOWHERE, |touches| touches.first);
        for &reg in &self.uses {
            first = first.min(accesses.touches(node, reg).map_or(NOWHERE, |touches| touches.first_write));
        }
        if is_changing_load(&self.data) {
            first = first.min(accesses.effects(node, self.occurrences[0].inst).map_or(NOWHERE, |(first, _)| first));
        }
        (first != NOWHERE).then_some(first)
    }
}

/// Can an instruction that is the last to touch its destination go to the end of its block?
fn is_free_behind(accesses: &Accesses, data: &InstData, occurrence: &Occurrence) -> bool {
    let &Occurrence { node, place, inst } = occurrence;
    let mut is_free = true;
    data.for_each_use(|reg| {
        let last_write = accesses.touches(node, reg).map_or(NOWHERE, |touches| touches.last_write);
        is_free &= data.dst() != Some(reg) && (last_write == NOWHERE || last_write < place);
    });
    let is_behind_effects = || accesses.effects(node, inst).is_none_or(|(_, last)| last < place);
    is_free && (!is_changing_load(data) || is_behind_effects())
}

/// Can it stand elsewhere, where its operands are the same?
pub(super) fn may_sink(data: &InstData) -> bool {
    let op = data.opcode.op;
    // What is ordered with other accesses keeps its place among them.
    const STAYS: Flags = Flags::VOLATILE.union(Flags::RELAXED).union(Flags::ACQUIRE).union(Flags::CV);
    let is_load = matches!(op, Op::Ld | Op::Tex2d) && !data.opcode.flags.intersects(STAYS);
    data.guard.is_none() && data.dsts.len() == 1 && !data.is_terminator() && (op.is_pure() || is_load)
}
