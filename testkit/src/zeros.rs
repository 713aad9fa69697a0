//! Zero profiles that are made up: no profile may make a pass wrong, and any may make it work.

use std::collections::BTreeMap;

use warpscope_core::ir::{Module, Profile, Type, ZeroEntry};

/// Declares for two thirds of a module's writes that they are zero with some probability. Equal seeds give equal profiles.
pub fn declare(module: &mut Module, seed: u32) {
    for func in module.funcs.values_mut() {
        let mut entries = Vec::new();
        for block in func.block_order() {
            let mut occurrences = BTreeMap::new();
            for inst in func.block_insts(block) {
                for &reg in &func.insts[inst].dsts {
                    let occurrence = occurrences.entry(reg).or_insert(0);
                    let draw = (seed ^ inst.as_u32().wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b) >> 13;
                    if func.regs[reg].ty != Type::Pred && !draw.is_multiple_of(3) {
                        let probability = f64::from(draw % 97) / 96.0;
                        entries.push(ZeroEntry { block, reg, occurrence: *occurrence, probability });
                    }
                    *occurrence += 1;
                }
            }
        }
        func.profiles.push(Profile::Zero(entries));
    }
}
