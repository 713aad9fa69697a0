//! What `profile zero` says of writes, and the checks for zero that stand already.
//!
//! ```text
//! profile zero { n1.r: 0.5 }     the first write of r in n1 gives zero in all lanes of a warp half the time
//! p = setp.eq.f32 r, 0.0
//! q = vote.all p                 whatever stands behind `br q` knows whether r was zero
//! br q, n2, n3
//! ```

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::flow::{Definition, Value, Values};
use crate::ir::{Block, Cmp, Combine, Function, Inst, Op, Operand, Profile, Reg};

/// Probabilities (0–1) of writes, by instruction and destination.
pub(super) type ZeroWrites = BTreeMap<(Inst, Reg), f64>;

/// The writes of a function of which its profiles speak.
pub(super) fn zero_writes(func: &Function) -> ZeroWrites {
    ZeroProfile::of(func).writes
}

/// See the file's head.
pub(super) struct ZeroProfile {
    writes: ZeroWrites,
}

impl ZeroProfile {
    /// What a function declares.
    pub fn of(func: &Function) -> ZeroProfile {
        let mut wanted: BTreeMap<(Block, Reg, u32), f64> = BTreeMap::new();
        for profile in &func.profiles {
            if let Profile::Zero(entries) = profile {
                wanted.extend(
                    entries.iter().map(|entry| ((entry.block, entry.reg, entry.occurrence), entry.probability)),
                );
            }
        }
        let mut writes = BTreeMap::new();
        if wanted.is_empty() {
            return ZeroProfile { writes };
        }
        for block in func.block_order() {
            let mut occurrences: BTreeMap<Reg, u32> = BTreeMap::new();
            for inst in func.block_insts(block) {
                for &dst in &func.insts[inst].dsts {
                    let next = occurrences.entry(dst).or_default();
                    if let Some(&probability) = wanted.get(&(block, dst, *next)) {
                        writes.insert((inst, dst), probability);
                    }
                    *next += 1;
                }
            }
        }
        ZeroProfile { writes }
    }

    /// Does it say nothing?
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The probability (0–1) that an instruction writes zero into that register, in all active lanes of a warp.
    pub fn probability(&self, inst: Inst, dst: Reg) -> Option<f64> {
        self.writes.get(&(inst, dst)).copied()
    }

    /// The same of a value that an instruction wrote.
    pub fn of_value(&self, func: &Function, values: &Values, value: Value) -> Option<f64> {
        let inst = values.definition(value).inst().filter(|&inst| func.inst_block(inst).is_some())?;
        self.probability(inst, values.reg(value))
    }
}

/// The values that the branch at the end of a block has found to be zero where it goes to its first target.
pub(super) fn checked_values(func: &Function, values: &Values, block: Block) -> Vec<Value> {
    let mut checked = Vec::new();
    let is_check = |inst: &Inst| {
        let data = &func.insts[*inst];
        data.opcode.op == Op::BrIf && matches!(data.args.first(), Some(Operand::Reg(_)))
    };
    let Some(branch) = func.terminator(block).filter(is_check) else { return checked };
    let Some(&condition) = values.operands(branch).first() else { return checked };
    let writer = |value| match values.definition(value) {
        Definition::Inst { inst, .. } => Some(inst),
        _ => None,
    };
    let Some(mut test) = writer(condition) else { return checked };
    if func.insts[test].opcode.op == Op::VoteAll
        && matches!(func.insts[test].args.first(), Some(Operand::Reg(_)))
        && let Some(voted) = values.operands(test).first().and_then(|&value| writer(value))
    {
        test = voted;
    }
    loop {
        let data = &func.insts[test];
        let operands = values.operands(test);
        let is_test = data.opcode.op == Op::Setp
            && data.opcode.cmp == Some(Cmp::Eq)
            && matches!(data.args.as_slice(), [Operand::Reg(_), Operand::Const(0), ..])
            && matches!(data.opcode.combine, None | Some(Combine::And));
        let Some(&value) = operands.first().filter(|_| is_test) else { return Vec::new() };
        checked.push(value);
        match (data.opcode.combine, operands.get(1), data.args.get(2)) {
            (None, ..) => return checked,
            (Some(_), Some(&rest), Some(Operand::Reg(_))) => match writer(rest) {
                Some(before) => test = before,
                None => return Vec::new(),
            },
            _ => return Vec::new(),
        }
    }
}
