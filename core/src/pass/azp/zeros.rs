//! Zeros of writes in `profile zero`, and the existing checks for zero.
//!
//! ```text
//! profile zero { n1.r: 0.5         the first write of r in n1 gives zero in all lanes of a warp half the time
//!                n1.r & n1.s: 0 }  and never when that of s does
//! p = setp.eq.f32 r, 0.0
//! q = vote.all p                 whatever stands behind `br q` knows whether r was zero
//! br q, n2, n3                   as it knows of a predicate behind `vote.all !p` that it was false
//! ```

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use cranelift_entity::SecondaryMap;
use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::flow::{Definition, Elements, Value, Values};
use crate::ir::{
    Block, Cmp, Combine, Function, Inst, InstData, Op, Operand, Profile, Reg, Write, ZeroEntry, ZeroWrite,
};

/// Several writes, in ascending order.
type WriteSet = SmallVec<[(Inst, Reg); 4]>;

/// Zeros of writes in profiles, by instruction, so that they stay true when instructions move to other blocks.
pub(super) struct ZeroProfile {
    /// The probability (0–1) that an instruction writes zero into its only register; NaN where nobody tells.
    single: SecondaryMap<Inst, f64>,
    /// Zeros of instructions with several registers.
    several: BTreeMap<(Inst, Reg), f64>,
    /// Writes and the probability (0–1) that they are zero together.
    joint: Vec<(WriteSet, f64)>,
    /// The places in `joint` of the sets that an instruction writes for.
    joint_of: HashMap<Inst, SmallVec<[u32; 2]>>,
    is_empty: bool,
}

impl ZeroProfile {
    /// Collects the declarations of a function. Of two entries for the same writes the second holds.
    pub fn of(func: &Function) -> ZeroProfile {
        let mut found = ZeroProfile {
            single: SecondaryMap::with_default(f64::NAN),
            several: BTreeMap::new(),
            joint: Vec::new(),
            joint_of: HashMap::new(),
            is_empty: true,
        };
        let zeros = func.profiles.iter().filter_map(|profile| match profile {
            Profile::Zero(entries) => Some(entries.iter()),
            _ => None,
        });
        let is_there = |write: &ZeroWrite| match *write {
            ZeroWrite::Of { inst, reg } if func.has_write(inst, reg) => Some((inst, reg)),
            _ => None,
        };
        let mut together: Vec<(WriteSet, f64)> = Vec::new();
        let mut is_any_alone = false;
        for ZeroEntry { writes, probability } in zeros.flatten() {
            if let [write] = &writes[..] {
                is_any_alone = true;
                if let Some((inst, reg)) = is_there(write) {
                    found.set(func, inst, reg, *probability);
                }
            } else if let Some(writes) = writes.iter().map(is_there).collect() {
                together.push((writes, *probability));
            }
        }
        if is_any_alone {
            together.into_iter().for_each(|(writes, probability)| found.set_joint(writes, probability));
        }
        found
    }

    /// Instructions have got copies, which are zero as often as they are: together as often as these, where all that were
    /// counted together have one. Gives what is to be said of the copies.
    pub fn follow(&mut self, func: &Function, copies: &BTreeMap<Inst, Inst>) -> Vec<ZeroEntry> {
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        for (&original, &copy) in copies {
            for &reg in func.insts[copy].dsts.iter().filter(|&&reg| func.has_write(copy, reg)) {
                if let Some(probability) = self.probability(original, reg) {
                    self.set(func, copy, reg, probability);
                    alone.push(ZeroEntry::of(ZeroWrite::Of { inst: copy, reg }, probability));
                }
            }
            for place in self.joint_of.get(&original).cloned().unwrap_or_default() {
                let (writes, probability) = &self.joint[place as usize];
                let copied = |&(inst, reg): &(Inst, Reg)| Some((*copies.get(&inst)?, reg));
                let copied: Option<WriteSet> = writes.iter().map(copied).collect();
                let probability = *probability;
                if let Some(copied) = copied.filter(|_| writes[0].0 == original) {
                    let writes = copied.iter().map(|&(inst, reg)| ZeroWrite::Of { inst, reg }).collect();
                    together.push(ZeroEntry { writes, probability });
                    self.set_joint(copied, probability);
                }
            }
        }
        alone.append(&mut together);
        alone
    }

    fn set(&mut self, func: &Function, inst: Inst, reg: Reg, probability: f64) {
        self.is_empty = false;
        if func.insts[inst].dsts.len() == 1 {
            self.single[inst] = probability;
        } else {
            self.several.insert((inst, reg), probability);
        }
    }

    fn set_joint(&mut self, mut writes: WriteSet, probability: f64) {
        writes.sort_unstable();
        writes.dedup();
        if let Some(place) = self.place_of_joint(&writes) {
            self.joint[place].1 = probability;
        } else if writes.len() > 1 {
            for &(inst, _) in &writes {
                let sets = self.joint_of.entry(inst).or_default();
                if sets.last() != Some(&(self.joint.len() as u32)) {
                    sets.push(self.joint.len() as u32);
                }
            }
            self.joint.push((writes, probability));
        }
    }

    fn place_of_joint(&self, writes: &WriteSet) -> Option<usize> {
        let of_first = self.joint_of.get(&writes.first()?.0)?;
        of_first.iter().map(|&place| place as usize).find(|&place| self.joint[place].0 == *writes)
    }

    /// Does it say nothing?
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The probability (0–1) that an instruction writes zero into that register, in all active lanes of a warp.
    pub fn probability(&self, inst: Inst, dst: Reg) -> Option<f64> {
        let of_single = Some(self.single[inst]).filter(|probability| !probability.is_nan());
        of_single.or_else(|| self.several.get(&(inst, dst)).copied())
    }

    /// Returns the probability of a value that an instruction wrote.
    pub fn of_value(&self, values: &Values, value: Value) -> Option<f64> {
        self.probability(values.definition(value).inst()?, values.reg(value))
    }

    /// The probability (0–1) that several values are zero together, where the profile tells it of just these.
    pub fn of_values(&self, values: &Values, together: &[Value]) -> Option<f64> {
        let writer = |&value: &Value| Some((values.definition(value).inst()?, values.reg(value)));
        let mut writes = together.iter().map(writer).collect::<Option<WriteSet>>()?;
        writes.sort_unstable();
        Some(self.joint[self.place_of_joint(&writes)?].1)
    }

    /// Is it what a function declares?
    pub fn says_what_is_declared(&self, func: &Function) -> bool {
        self.said(func) == ZeroProfile::of(func).said(func)
    }

    /// Entries for existing writes.
    fn said(&self, func: &Function) -> BTreeMap<WriteSet, f64> {
        let mut said = BTreeMap::new();
        func.for_each_write(|inst, Write { reg, .. }| {
            said.extend(
                self.probability(inst, reg).map(|probability| (WriteSet::from_iter([(inst, reg)]), probability)),
            );
        });
        let are_there = |writes: &WriteSet| writes.iter().all(|&(inst, reg)| func.has_write(inst, reg));
        said.extend(self.joint.iter().filter(|(writes, _)| are_there(writes)).cloned());
        said
    }
}

/// The values that the branch at the end of a block has found to be zero where it goes to its first target. A predicate
/// that the branch or its vote reads negated is one of them by itself.
pub(super) fn checked_values(func: &Function, values: &Values, block: Block) -> Elements {
    let mut checked = Elements::new();
    let is_check = |inst: &Inst| {
        let data = &func.insts[*inst];
        data.opcode.op == Op::BrIf && matches!(data.args.first(), Some(Operand::Reg(_) | Operand::NotReg(_)))
    };
    let Some(branch) = func.terminator(block).filter(is_check) else { return checked };
    let Some(&condition) = values.operands(branch).first() else { return checked };
    let is_negated = |inst: Inst| matches!(func.insts[inst].args.first(), Some(Operand::NotReg(_)));
    if is_negated(branch) {
        checked.push(condition);
        return checked;
    }
    let writer = |value| match values.definition(value) {
        Definition::Inst { inst, .. } => Some(inst),
        _ => None,
    };
    let Some(mut test) = writer(condition) else { return checked };
    if func.insts[test].opcode.op == Op::VoteAll
        && let Some(&voted) = values.operands(test).first()
    {
        if is_negated(test) {
            checked.push(voted);
            return checked;
        }
        test = match writer(voted) {
            Some(inst) => inst,
            None => return checked,
        };
    }
    loop {
        let data = &func.insts[test];
        let operands = values.operands(test);
        let Some(&value) = operands.first().filter(|_| is_zero_test(data)) else { return Elements::new() };
        checked.push(value);
        match (data.opcode.combine, operands.get(1), data.args.get(2)) {
            (None, ..) => return checked,
            (Some(_), Some(&rest), Some(Operand::Reg(_))) => match writer(rest) {
                Some(before) => test = before,
                None => return Elements::new(),
            },
            _ => return Elements::new(),
        }
    }
}

/// May a check go by what the instruction says, a comparison with zero or a vote?
pub(super) fn may_be_checked(data: &InstData) -> bool {
    data.opcode.op == Op::VoteAll || is_zero_test(data)
}

/// Is it a comparison of a register with zero, by itself or and another predicate?
fn is_zero_test(data: &InstData) -> bool {
    data.opcode.op == Op::Setp
        && data.opcode.cmp == Some(Cmp::Eq)
        && matches!(data.args.as_slice(), [Operand::Reg(_), Operand::Const(0), ..])
        && matches!(data.opcode.combine, None | Some(Combine::And))
}
