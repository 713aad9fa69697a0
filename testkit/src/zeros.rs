//! Zero profiles that are made up: no profile may make a pass wrong, and any may make it work.

use warpscope_core::ir::{Module, Profile, ZeroEntry, ZeroWrite};

/// Declares for two thirds of a module's writes that they are zero with some probability, and for
/// some of them that the one before is too. Equal seeds give equal profiles.
pub fn declare(module: &mut Module, seed: u32) {
    for func in module.funcs.values_mut() {
        let mut entries = Vec::new();
        let mut joint = Vec::new();
        let mut last: Option<ZeroWrite> = None;
        func.for_each_write(|inst, write| {
            let draw = (seed ^ inst.as_u32().wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b) >> 13;
            if !draw.is_multiple_of(3) {
                let write = ZeroWrite::Of { inst, reg: write.reg };
                let probability = f64::from(draw % 97) / 96.0;
                entries.push(ZeroEntry::of(write, probability));
                // Also of writes of two blocks, and of one register.
                if let Some(last) = last.filter(|_| draw.is_multiple_of(2)) {
                    joint.push(ZeroEntry { writes: [last, write].into_iter().collect(), probability });
                }
                last = Some(write);
            }
        });
        entries.append(&mut joint);
        func.profiles.push(Profile::Zero(entries.into()));
    }
}
