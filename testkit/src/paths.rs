//! Path profiles that are made up: no profile may make a pass wrong, and any may make it work.

use std::collections::BTreeMap;

use warpscope_core::graph::{Cfg, PathNumbering};
use warpscope_core::ir::{Block, Module, Profile};

/// Declares for each function that at most so many of its acyclic paths were executed, and how
/// often. Equal seeds give equal profiles.
pub fn declare(module: &mut Module, count: usize, seed: u64) {
    for func in module.funcs.values_mut() {
        let cfg = Cfg::compute(func);
        let numbering = PathNumbering::compute(&cfg);
        let mut state = seed;
        let mut draw = || {
            // An avalanche of the state's bits, as of the generator called splitmix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        let mut paths: BTreeMap<Vec<Block>, u64> = BTreeMap::new();
        for _ in 0..count {
            let number = draw() % numbering.path_count().max(1);
            if let Some(path) = numbering.path(&cfg, number) {
                *paths.entry(path).or_default() += 1 + draw() % 100;
            }
        }
        func.profiles.push(Profile::Path(paths.into_iter().collect()));
    }
}
