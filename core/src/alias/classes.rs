//! Classes of memory: a small number for each access, so that accesses of different classes never meet.
//!
//! ```text
//! ld.shared s[i]  0     ld.global x[i]  1     st.global x[j]  1     ld.param a[0]  2
//! ```
//!
//! A pass that keeps one state of memory for each class may forget one class at a store and keep the others. Two
//! accesses get one class when their spaces and objects, without their offsets, may meet, directly or through others.
//! So classes hold for any two executions. Linear in instructions, quadratic in the pairs of space and object that
//! occur; beyond [`AliasClasses::MAX_KEYS`] pairs all accesses are in one class.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use cranelift_entity::entity_impl;

use super::{Access, AliasAnalysis, spaces_meet};
use crate::ir::{Inst, Space};
use crate::symbolic::Base;

/// A class of memory of one function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AliasClass(u32);
entity_impl!(AliasClass, "memory");

/// The class of every load, store and atomic of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AliasClasses {
    classes: BTreeMap<Inst, AliasClass>,
    count: u32,
}

impl AliasClasses {
    /// More pairs of space and object than this are not told apart.
    pub const MAX_KEYS: usize = 512;

    /// The classes of a function.
    pub fn compute(alias: AliasAnalysis<'_>) -> AliasClasses {
        let func = alias.func;
        let insts = func.block_order().flat_map(|block| func.block_insts(block));
        let accesses: Vec<(Inst, Access)> = insts.filter_map(|inst| Some((inst, alias.access(inst)?))).collect();
        AliasClasses::of_accesses(alias, accesses.iter().map(|(inst, access)| (*inst, access)))
    }

    /// The same, where the accesses are known already.
    pub fn of_accesses<'a>(alias: AliasAnalysis<'_>, found: impl Iterator<Item = (Inst, &'a Access)>) -> AliasClasses {
        let mut keys: BTreeMap<(Option<Space>, Base), u32> = BTreeMap::new();
        let mut accesses: Vec<(Inst, u32)> = Vec::new();
        for (inst, access) in found {
            let base = access.address.as_ref().map_or(Base::Unknown, |address| address.base);
            let next = keys.len() as u32;
            accesses.push((inst, *keys.entry((access.space, base)).or_insert(next)));
        }
        let mut roots: Vec<u32> = (0..keys.len() as u32).collect();
        let is_small = keys.len() <= AliasClasses::MAX_KEYS;
        for (a, &a_key) in &keys {
            for (b, &b_key) in &keys {
                if !is_small || (spaces_meet(a.0, b.0) && alias.objects_meet(a.1, b.1)) {
                    let (a_root, b_root) = (root(&roots, a_key), root(&roots, b_key));
                    roots[a_root.max(b_root) as usize] = a_root.min(b_root);
                }
                if !is_small {
                    break;
                }
            }
        }
        let mut numbers: BTreeMap<u32, AliasClass> = BTreeMap::new();
        let classes = accesses.into_iter().map(|(inst, key)| {
            let next = AliasClass(numbers.len() as u32);
            (inst, *numbers.entry(root(&roots, key)).or_insert(next))
        });
        let classes = classes.collect();
        AliasClasses { classes, count: numbers.len() as u32 }
    }

    /// The class of a load, store or atomic. None for other instructions.
    pub fn of(&self, inst: Inst) -> Option<AliasClass> {
        self.classes.get(&inst).copied()
    }

    /// How many classes there are; their numbers are dense, in the order of the text.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Does the function access no memory?
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

fn root(roots: &[u32], mut key: u32) -> u32 {
    while roots[key as usize] != key {
        key = roots[key as usize];
    }
    key
}
