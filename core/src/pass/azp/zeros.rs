//! What `profile zero` says of writes, and the checks for zero that stand already.
//!
//! ```text
//! profile zero { n1.r: 0.5         the first write of r in n1 gives zero in all lanes of a warp half the time
//!                n1.r & n1.s: 0 }  and never when that of s does
//! p = setp.eq.f32 r, 0.0
//! q = vote.all p                 whatever stands behind `br q` knows whether r was zero
//! br q, n2, n3
//! ```

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::flow::{Definition, Value, Values};
use crate::ir::{Block, Cmp, Combine, Function, Inst, Op, Operand, Profile, Reg, Write, ZeroEntry};

/// Probabilities (0–1) of writes, by instruction and destination.
pub(super) type ZeroWrites = BTreeMap<(Inst, Reg), f64>;
/// Probabilities (0–1) that several writes together give zero, by the writes in ascending order.
pub(super) type JointWrites = BTreeMap<Vec<(Inst, Reg)>, f64>;

/// See the file's head.
pub(super) struct ZeroProfile {
    pub writes: ZeroWrites,
    pub joint: JointWrites,
}

impl ZeroProfile {
    /// What a function declares.
    pub fn of(func: &Function) -> ZeroProfile {
        let mut found = ZeroProfile { writes: BTreeMap::new(), joint: BTreeMap::new() };
        let zeros = func.profiles.iter().filter_map(|profile| match profile {
            Profile::Zero(entries) => Some(entries),
            _ => None,
        });
        let entries: Vec<&ZeroEntry> = zeros.flatten().collect();
        if entries.is_empty() {
            return found;
        }
        let mut insts: BTreeMap<Write, Inst> = BTreeMap::new();
        let named: BTreeSet<Write> = entries.iter().flat_map(|entry| entry.writes.iter().copied()).collect();
        func.for_each_write(|inst, write| {
            if named.contains(&write) {
                insts.insert(write, inst);
            }
        });
        for entry in entries {
            let writer = |write: &Write| Some((*insts.get(write)?, write.reg));
            let Some(mut writes) = entry.writes.iter().map(writer).collect::<Option<Vec<_>>>() else { continue };
            if let [write] = writes[..] {
                found.writes.insert(write, entry.probability);
            } else {
                writes.sort_unstable();
                found.joint.insert(writes, entry.probability);
            }
        }
        found
    }

    /// Does it say nothing?
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// The probability (0–1) that an instruction writes zero into that register, in all active lanes of a warp.
    pub fn probability(&self, inst: Inst, dst: Reg) -> Option<f64> {
        self.writes.get(&(inst, dst)).copied()
    }

    /// The probability (0–1) that several values together are zero, where the profile tells it of just these.
    pub fn of_values(&self, values: &Values, together: &[Value]) -> Option<f64> {
        let writer = |&value: &Value| Some((values.definition(value).inst()?, values.reg(value)));
        let mut writes = together.iter().map(writer).collect::<Option<Vec<_>>>()?;
        writes.sort_unstable();
        self.joint.get(&writes).copied()
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
