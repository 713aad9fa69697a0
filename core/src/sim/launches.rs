//! What settings say over the launches of several kernels at once.
//!
//! ```text
//! a(x, n)  b(x)        settings x.zero=0.5 n=4        a: x.zero=0.5 n=4        b: x.zero=0.5
//! ```
//!
//! A knob turns what has its name, and whoever has nothing of that name goes without. One that turns nothing anywhere is
//! a mistake.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::bind::{has_knob, settled};
use super::error::SimError;
use super::settings::Settings;
use crate::ir::{Func, Module};

/// The settings of each of some kernels: knobs of parameters that only others have are left out. An error names a knob that
/// nothing has.
pub fn settings_of(all: &Settings, module: &Module, kernels: &[Func]) -> Result<Vec<Settings>, String> {
    let has = |kernel: Func, name: &str| has_knob(module, &module.funcs[kernel], name);
    if let Some((name, _)) = all.knobs.iter().find(|(name, _)| !kernels.iter().any(|&kernel| has(kernel, name))) {
        let names: Vec<String> = kernels.iter().map(|&kernel| format!("`{}`", module.funcs[kernel].name)).collect();
        return Err(format!("there is no parameter or input `{name}` in {}", names.join(", ")));
    }
    let of_kernel = |&kernel: &Func| {
        let knobs = all.knobs.iter().filter(|(name, _)| has(kernel, name)).cloned().collect();
        Settings { knobs, ..all.clone() }
    };
    Ok(kernels.iter().map(of_kernel).collect())
}

/// Lets launches be what settings make of them: each kernel's one by its settings.
pub fn settle_launches(module: &mut Module, kernels: &[Func], settings: &[Settings]) -> Result<(), SimError> {
    for (&kernel, settings) in kernels.iter().zip(settings) {
        let func = &module.funcs[kernel];
        let Some(place) = module.launches.iter().position(|launch| launch.kernel == func.name) else { continue };
        module.launches[place] = settled(module, func, &module.launches[place], settings)?;
    }
    Ok(())
}
