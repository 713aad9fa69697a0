//! Zeros of writes in `profile zero`, and the checks for zero that a program has already.
//!
//! ```text
//! profile zero { n1.r: 0.5         in half the warps the first write of r in n1 gives only zeros,
//!                n1.r & n1.s: 0 }  and never where that of s does
//! p = setp.eq.f32 r, 0.0
//! q = vote.all p                   after `br q, n2, n3`, r is zero in n2
//! br q, n2, n3                     after `vote.all !p` a predicate p is false there
//! ```
//!
//! A check without a vote does not stop the pass from inserting one with a vote, since lanes part
//! at the first and stay together at the second.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use hashbrown::HashMap;

use super::candidates::Writes;
use super::zero_test::is_zero_test;
use crate::compact_sort::CompactSort;
use crate::flow::{Definition, Elements, MOST_ELEMENTS, Value, Values};
use crate::ir::{Block, Function, Inst, Op, Operand, Profile, Reg, ZeroEntry, ZeroWrite};

/// Declared probabilities (0–1) of zeros, by the writing instructions.
pub(super) struct ZeroProfile {
    /// Probability of one write.
    alone: HashMap<(Inst, Reg), f64>,
    /// Probability that several writes, in ascending order, are zero together.
    together: BTreeMap<Writes, f64>,
}

impl ZeroProfile {
    /// Collects the declarations for existing writes. Of two entries for the same writes the second
    /// holds.
    pub fn of(func: &Function) -> ZeroProfile {
        let mut found = ZeroProfile { alone: HashMap::new(), together: BTreeMap::new() };
        let existing = |write: &ZeroWrite| match *write {
            ZeroWrite::Of { inst, reg } if func.has_write(inst, reg) => Some((inst, reg)),
            _ => None,
        };
        let zeros = func.profiles.iter().filter_map(|profile| match profile {
            Profile::Zero(entries) => Some(entries.iter()),
            _ => None,
        });
        for ZeroEntry { writes, probability } in zeros.flatten() {
            let Some(existing) = writes.iter().map(existing).collect::<Option<Writes>>() else { continue };
            if let [write] = existing[..] {
                found.alone.insert(write, *probability);
            } else {
                let existing = sorted(existing);
                if existing.len() > 1 {
                    found.together.insert(existing, *probability);
                }
            }
        }
        found
    }

    /// Is no write declared?
    pub fn is_empty(&self) -> bool {
        self.alone.is_empty()
    }

    /// Probability that an instruction writes zero to a register, in all active lanes of a warp.
    pub fn probability(&self, inst: Inst, reg: Reg) -> Option<f64> {
        self.alone.get(&(inst, reg)).copied()
    }

    /// Probability of a value that an instruction writes.
    pub fn of_value(&self, values: &Values, value: Value) -> Option<f64> {
        self.probability(values.definition(value).inst()?, values.reg(value))
    }

    /// Probability that several writes are zero together, if the profile declares it.
    pub fn of_writes(&self, writes: &Writes) -> Option<f64> {
        self.together.get(&sorted(writes.clone())).copied()
    }

    /// Entries for copied instructions, which are zero as often as their originals; together as
    /// often as these, where all of them are copied.
    pub fn of_copies(&self, func: &Function, copies: &BTreeMap<Inst, Inst>) -> Vec<ZeroEntry> {
        let mut entries = Vec::new();
        for (&original, &copy) in copies {
            for &reg in func.insts[copy].dsts.iter().filter(|&&reg| func.has_write(copy, reg)) {
                let probability = self.probability(original, reg);
                let write = ZeroWrite::Of { inst: copy, reg };
                entries.extend(probability.map(|probability| ZeroEntry::of(write, probability)));
            }
        }
        for (writes, &probability) in &self.together {
            let copied = |&(inst, reg): &(Inst, Reg)| Some(ZeroWrite::Of { inst: *copies.get(&inst)?, reg });
            let writes = writes.iter().map(copied).collect();
            entries.extend(Option::map(writes, |writes| ZeroEntry { writes, probability }));
        }
        entries
    }
}

/// Writes in ascending order, each once.
pub(super) fn sorted(mut writes: Writes) -> Writes {
    writes.compact_sort();
    writes.dedup();
    writes
}

/// Check that a program has already.
pub(super) struct ExistingCheck {
    /// Values that are zero at the first target of the branch.
    pub values: Elements,
    /// Does a vote decide for all lanes together?
    has_vote: bool,
}

/// The checks in which blocks end.
pub(super) fn existing_checks(func: &Function, values: &Values) -> BTreeMap<Block, ExistingCheck> {
    func.block_order().filter_map(|block| Some((block, existing_check(func, values, block)?))).collect()
}

/// Writes that have a check such as the pass inserts: with a vote, unless each lane branches for
/// itself (`is_divergent`).
pub(super) fn checked_writes(
    values: &Values,
    checks: &BTreeMap<Block, ExistingCheck>,
    is_divergent: bool,
) -> BTreeSet<Writes> {
    let write = |&value: &Value| Some((values.definition(value).inst()?, values.reg(value)));
    let checks = checks.values().filter(|check| is_divergent || check.has_vote);
    let writes = checks.filter_map(|check| check.values.iter().map(write).collect::<Option<Writes>>());
    writes.map(sorted).collect()
}

/// The check at the end of a block. A predicate that the branch or its vote reads negated is
/// checked by itself; of comparisons combined by `and` there are as many as a vector has elements.
fn existing_check(func: &Function, values: &Values, block: Block) -> Option<ExistingCheck> {
    let branch = func.terminator(block).filter(|&inst| func.insts[inst].opcode.op == Op::BrIf)?;
    let is_negated = |inst: Inst| matches!(func.insts[inst].args.first(), Some(Operand::NotReg(_)));
    let writer = |value| match values.definition(value) {
        Definition::Inst { inst, .. } => Some(inst),
        _ => None,
    };
    let &condition = values.operands(branch).first()?;
    if is_negated(branch) {
        return Some(ExistingCheck { values: Elements::from_iter([condition]), has_vote: false });
    }
    let mut test = writer(condition)?;
    let has_vote = func.insts[test].opcode.op == Op::VoteAll;
    if has_vote {
        let &voted = values.operands(test).first()?;
        if is_negated(test) {
            return Some(ExistingCheck { values: Elements::from_iter([voted]), has_vote });
        }
        test = writer(voted)?;
    }
    let mut checked = Elements::new();
    while checked.len() < MOST_ELEMENTS {
        let data = &func.insts[test];
        let operands = values.operands(test);
        checked.push(*operands.first().filter(|_| is_zero_test(data))?);
        match (data.opcode.combine, data.args.get(2)) {
            (None, _) => return Some(ExistingCheck { values: checked, has_vote }),
            (Some(_), Some(Operand::Reg(_))) => test = writer(*operands.get(1)?)?,
            _ => return None,
        }
    }
    None
}
