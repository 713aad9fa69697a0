//! Guards that PTX can do without.
//!
//! ```text
//! @p x = shl.b32 i, 2           shl.b32 %x, %i, 2;
//! @p a = add.u32 o, x     →     add.u32 %a, %o, %x;
//! @p st.shared.f32 [a], f       @%p st.shared.f32 [%a], %f;
//! ```
//!
//! A guarded write keeps the old value in some lanes, so `ptxas` makes a select of both and holds a
//! register for the old one, although nothing ever reads that. What makes straight code of branches
//! leaves many such writes: its guards say that the instruction is not needed in the other lanes,
//! which the simulator counts and a warp does not feel.
//!
//! Sound because only pure instructions lose their guard, and only where each read of their result is in the same
//! block, behind a write, and under the same guard, or by a `selp` that takes it where that guard holds: no lane whose
//! guard is false ever gets the result. Divisions and roots keep theirs; they become many instructions, which a guard
//! jumps over.
//!
//! Linear in the instructions: of one register at most [`MOST_WRITES`] writes between two unguarded ones are looked at.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::ir::{Block, Flags, Function, Inst, InstData, Op, Operand, Reg};

/// Writes of one register that a read may mean.
const MOST_WRITES: usize = 8;

/// The register of a guard, what it has to be, and how often the block has written it.
type Condition = Option<(Reg, bool, u32)>;

/// Instructions that may be written without their guard.
pub fn needless(func: &Function) -> BTreeSet<Inst> {
    let mut search = Search::default();
    for block in func.block_order() {
        search.block(func, block);
    }
    let Search { candidates, read, kept, exposed } = search;
    let can_lose = |inst: &Inst| {
        let is_exposed = || func.insts[*inst].dsts.iter().any(|dst| exposed.contains(dst));
        read.contains(inst) && !kept.contains(inst) && !is_exposed()
    };
    candidates.into_iter().filter(can_lose).collect()
}

#[derive(Default)]
struct Search {
    /// Guarded instructions that could do without.
    candidates: Vec<Inst>,
    /// Those whose result is read under the same condition. What nothing reads is written as it stands.
    read: BTreeSet<Inst>,
    /// Those whose result is read under another condition.
    kept: BTreeSet<Inst>,
    /// Registers with a read that may mean a write somewhere else.
    exposed: BTreeSet<Reg>,
}

impl Search {
    fn block(&mut self, func: &Function, block: Block) {
        let mut counts: BTreeMap<Reg, u32> = BTreeMap::new();
        let mut writes: BTreeMap<Reg, Vec<(Inst, Condition)>> = BTreeMap::new();
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            let count = |reg: Reg| counts.get(&reg).copied().unwrap_or_default();
            let condition = data.guard.map(|guard| (guard.reg, guard.negated, count(guard.reg)));
            let of = |reg: Reg| writes.get(&reg).map_or(&[][..], Vec::as_slice);
            match (data.opcode.op, data.args.as_slice()) {
                (Op::Selp, [on_true, on_false, Operand::Reg(predicate)]) => {
                    for (operand, negated) in [(on_true, false), (on_false, true)] {
                        let taken = Some((*predicate, negated, count(*predicate)));
                        operand.as_reg().into_iter().for_each(|reg| self.read(reg, [condition, taken], of(reg)));
                    }
                    let others = data.guard.map(|guard| guard.reg).into_iter().chain([*predicate]);
                    others.for_each(|reg| self.read(reg, [condition; 2], of(reg)));
                }
                _ => data.for_each_use(|reg| self.read(reg, [condition; 2], of(reg))),
            }
            if condition.is_some() && can_run_anywhere(data) {
                self.candidates.push(inst);
            }
            for &dst in &data.dsts {
                *counts.entry(dst).or_default() += 1;
                let writes = writes.entry(dst).or_default();
                if condition.is_none() {
                    writes.clear();
                } else if writes.len() == MOST_WRITES {
                    self.exposed.insert(dst);
                    continue;
                }
                writes.push((inst, condition));
            }
        }
    }

    /// A read under both conditions of what those writes of the block left.
    fn read(&mut self, reg: Reg, conditions: [Condition; 2], writes: &[(Inst, Condition)]) {
        let mut is_covered = false;
        for &(inst, write) in writes {
            is_covered |= write.is_none() || conditions.contains(&write);
            if write.is_some() && conditions.contains(&write) {
                self.read.insert(inst);
            } else if write.is_some() {
                self.kept.insert(inst);
            }
        }
        if !is_covered {
            self.exposed.insert(reg);
        }
    }
}

fn can_run_anywhere(inst: &InstData) -> bool {
    let is_long = matches!(inst.opcode.op, Op::Div | Op::Rem | Op::Sqrt | Op::Rcp | Op::Rsqrt);
    inst.opcode.is_pure() && !inst.is_terminator() && !is_long && !inst.opcode.has(Flags::CC)
}
