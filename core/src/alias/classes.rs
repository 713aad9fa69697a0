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

use super::{AliasAnalysis, Objects, spaces_meet};
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
        let found = insts.filter_map(|inst| {
            let access = alias.access(inst)?;
            Some((inst, access.space, access.address.map_or(Base::Unknown, |address| address.base)))
        });
        let (insts, keys): (Vec<Inst>, Vec<_>) = found.map(|(inst, space, base)| (inst, (space, base))).unzip();
        let (classes, count) = AliasClasses::of_objects(alias.objects, &keys);
        AliasClasses { classes: insts.into_iter().zip(classes).collect(), count }
    }

    /// The classes of accesses that go to those spaces and objects, in their order, and how many there are.
    pub(crate) fn of_objects(objects: Objects<'_>, found: &[(Option<Space>, Base)]) -> (Vec<AliasClass>, u32) {
        let mut keys: BTreeMap<(Option<Space>, Base), u32> = BTreeMap::new();
        let mut accesses: Vec<u32> = Vec::with_capacity(found.len());
        let mut last = None;
        for &key in found {
            // Neighbours mostly go to one object.
            let number = match last {
                Some((before, number)) if before == key => number,
                _ => {
                    let next = keys.len() as u32;
                    *keys.entry(key).or_insert(next)
                }
            };
            last = Some((key, number));
            accesses.push(number);
        }
        let mut roots: Vec<u32> = (0..keys.len() as u32).collect();
        let is_small = keys.len() <= AliasClasses::MAX_KEYS;
        for (a, &a_key) in &keys {
            for (b, &b_key) in &keys {
                if !is_small || (spaces_meet(a.0, b.0) && objects.meet(a.1, b.1)) {
                    let (a_root, b_root) = (root(&roots, a_key), root(&roots, b_key));
                    roots[a_root.max(b_root) as usize] = a_root.min(b_root);
                }
                if !is_small {
                    break;
                }
            }
        }
        let mut numbers: BTreeMap<u32, AliasClass> = BTreeMap::new();
        let classes = accesses.into_iter().map(|key| {
            let next = AliasClass(numbers.len() as u32);
            *numbers.entry(root(&roots, key)).or_insert(next)
        });
        let classes = classes.collect();
        (classes, numbers.len() as u32)
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
