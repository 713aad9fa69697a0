//! Which writes a [`Collector`](super::Collector) counts together, and which of the counts are declared.
//!
//! ```text
//! {x, y, z} = …      a short vector: {x, y}, {x, z}, {y, z} and {x, y, z} are counted,
//!                    each at the write of its last register, while all still hold what was written
//!
//! x: 0.9  y: 0.4  z: 0.6      declared: x & z: …  x & y & z: …
//! ```
//!
//! Whoever looks for code that is not needed where a vector is zero leaves out elements that are
//! zero too seldom, whatever he calls seldom. So all sets of two to four elements are counted, of
//! which a vector has at most eleven. Of these only such are declared as some threshold leaves:
//! each element of the set is zero more often than each one left out. That makes at most three
//! lines for a vector, and any threshold finds its own, as long as nothing but the threshold
//! decides.
//!
//! A set counts at the issue of its last write: the lanes that are active there, with what all its registers hold then.
//! Where one is overwritten before, the set is not counted. Predicates stand in no set.
//!
//! Time and space are linear in the function, and so are counting and declaring in the issues and the sets.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::FunctionProfile;
use crate::flow::{Dependences, Elements, Seedbeds, ValueUses, Values, VectorInput, vectors};
use crate::graph::{Cfg, Dominators};
use crate::ir::{Function, Inst, Reg, Type, Write, ZeroEntry, ZeroWrite};

/// The short vectors of a function whose elements are counted.
pub(super) struct JointWrites<'a> {
    func: &'a Function,
    values: Values,
    groups: Vec<Elements>,
    names: BTreeMap<(Inst, Reg), Write>,
}

impl<'a> JointWrites<'a> {
    /// Creates the groups of a function with its graph.
    pub fn of(func: &'a Function, cfg: &Cfg) -> JointWrites<'a> {
        let values = Values::compute(func, cfg, &Dominators::compute(cfg));
        let (uses, dependences) = (ValueUses::compute(func, &values), Dependences::of(func));
        let seedbeds = Seedbeds::of(func);
        let input =
            VectorInput { func, cfg, values: &values, uses: &uses, dependences: &dependences, seedbeds: &seedbeds };
        let mut groups = vectors(input);
        for group in &mut groups {
            group.retain(|value| func.reg_types[values.reg(*value)] != Type::Pred);
        }
        let mut names = BTreeMap::new();
        if !groups.is_empty() {
            func.for_each_write(|inst, write| {
                names.insert((inst, write.reg), write);
            });
        }
        JointWrites { func, values, groups, names }
    }

    /// The sets that are counted, by the instruction that writes the last register of each.
    pub fn sets(&self) -> BTreeMap<Inst, Vec<Vec<Write>>> {
        let mut found: BTreeMap<Inst, Vec<Vec<Write>>> = BTreeMap::new();
        let mut seen: BTreeSet<Vec<Write>> = BTreeSet::new();
        for group in &self.groups {
            for chosen in 0u32..1 << group.len() {
                let numbered = group.iter().zip(0..).filter(|(_, number)| chosen >> number & 1 != 0);
                let set: Elements = numbered.map(|(&value, _)| value).collect();
                let last = set.last().and_then(|&value| self.values.definition(value).inst());
                let Some(last) = last.filter(|_| set.len() >= 2) else { continue };
                let is_there = |&value| self.values.after(self.func, last, self.values.reg(value)) == Some(value);
                if let Some(writes) = self.names(&set).filter(|_| set.iter().all(is_there))
                    && seen.insert(writes.clone())
                {
                    found.entry(last).or_default().push(writes);
                }
            }
        }
        found
    }

    /// Declared part of a measured profile, each set once, in the order of the vectors.
    pub fn declared(&self, measured: &FunctionProfile) -> Vec<ZeroEntry> {
        let mut entries = Vec::new();
        let mut seen: BTreeSet<Vec<Write>> = BTreeSet::new();
        for group in self.groups.iter().filter_map(|group| self.names(group)) {
            let own = |write: &Write| measured.zeros.get(write).map_or(0.0, |count| count.warp_probability());
            for threshold in group.iter().map(own) {
                let set: Vec<Write> = group.iter().copied().filter(|write| own(write) >= threshold).collect();
                let count = measured.joint.get(&set).filter(|count| count.all.warps > 0);
                if let Some(count) = count
                    && seen.insert(set.clone())
                {
                    let writes = set.into_iter().map(ZeroWrite::Named).collect();
                    entries.push(ZeroEntry { writes, probability: count.warp_probability() });
                }
            }
        }
        entries
    }

    /// Names of the writes of a group in profiles.
    fn names(&self, group: &Elements) -> Option<Vec<Write>> {
        let name = |&value| {
            let inst = self.values.definition(value).inst()?;
            self.names.get(&(inst, self.values.reg(value))).copied()
        };
        group.iter().map(name).collect()
    }
}
