//! A launch for a kernel that has none, made from its parameters and what the kernel does with them, so that whatever
//! is pasted runs at once.
//!
//! ```text
//! kernel k(n: u32, a: f32, x: ptr.global, y: ptr.global)      launch k {
//!     i = mad.u32 %ctaid, %ntid, %tid                             grid 4
//!     p = setp.lt.u32 i, n                                        block 64
//!     br p, body, done                                            n = 256
//! body:                                                    →      a = 2.0
//!     xi = ld.global.f32 x[i]                                     x = buffer f32[256] random(-1.0, 1.0)
//!     st.global.f32 y[i], xi                                      y = buffer f32[256] const 0.0
//! ```
//!
//! - A kernel that never asks which block it is in gets one block. Grid and block have as many axes as the kernel asks
//!   for ([`shapes`]).
//! - An integer that the place of a thread is compared with is a bound: the number of threads along that axis. Other
//!   integers are 16 ([`sizes`]).
//! - A buffer is as long as the kernel reaches into it under these sizes ([`ranges`]); where that has no bound, as for
//!   subscripts computed from data, it has 256 KiB. Its elements are of the type it is accessed by ([`fills`]).
//! - The launch is tried in the simulator; buffers grow and sizes change until it runs (`search`).
//!
//! It is a guess that is meant to be shown and edited, so it is marked as derived. It is derived
//! once, from the source, and goes with the program: after passes the same launch shows what they
//! changed. Sizes and numbers that somebody asks for change the launch that goes with the program
//! ([`resize`]); it is derived anew only if it does not run at them.

mod causes;
mod dry_run;
mod fills;
mod guided;
mod interval;
mod ranges;
mod resize;
mod search;
mod shapes;
mod sizes;
mod stated;
mod transfer;
mod trial;

use crate::ir::{Func, Function, InstData, Item, Launch, Module};
use crate::sim::Settings;
use resize::resized;
use search::search;
use stated::Stated;

/// A launch that binds every parameter and input of a kernel, marked as derived.
pub fn derive_launch(module: &Module, kernel: &Function) -> Launch {
    search(module, kernel, &Stated::default())
}

/// The complete launch of a kernel under settings: the program's own, what it leaves open derived, or a derived one.
/// The derived parts follow the sizes and numbers that the settings ask for.
pub fn launch_under(module: &Module, kernel: &Function, settings: &Settings) -> Launch {
    match module.launch_of(&kernel.name) {
        Some(launch) => complete_under(module, kernel, launch, settings),
        None => complete_under(module, kernel, &derive_launch(module, kernel), settings),
    }
}

/// The launch, with derived fills for the parameters that it leaves out.
pub fn complete_launch(module: &Module, kernel: &Function, launch: &Launch) -> Launch {
    complete_under(module, kernel, launch, &Settings::default())
}

/// Gives each of the kernels a complete launch in its module, which then goes with the program: what passes make of
/// the kernel no longer changes it.
pub fn derive_launches(module: &mut Module, kernels: &[Func]) {
    for &kernel in kernels {
        let func = &module.funcs[kernel];
        let launch = launch_under(module, func, &Settings::default());
        put_launch(module, launch);
    }
}

/// Lets the derived parts of launches follow the sizes and numbers that each kernel's settings ask for.
pub fn resize_launches(module: &mut Module, kernels: &[Func], settings: &[Settings]) {
    for (&kernel, settings) in kernels.iter().zip(settings) {
        let launch = launch_under(module, &module.funcs[kernel], settings);
        put_launch(module, launch);
    }
}

fn put_launch(module: &mut Module, launch: Launch) {
    match module.launches.iter_mut().find(|other| other.kernel == launch.kernel) {
        Some(other) => *other = launch,
        None => {
            module.items.push(Item::Launch(module.launches.len()));
            module.launches.push(launch);
        }
    }
}

fn complete_under(module: &Module, kernel: &Function, launch: &Launch, settings: &Settings) -> Launch {
    let stated = Stated::by_launch(kernel, launch, settings);
    let is_resized = settings.resizes && launch.has_derived_parts() && stated.differs_from(kernel, launch);
    if is_resized
        && launch.is_derived
        && launch.is_complete(kernel)
        && let Some(resized) = resized(module, kernel, launch, &stated)
    {
        return resized;
    }
    let mut complete = launch.clone();
    if launch.is_complete(kernel) && !is_resized {
        return complete;
    }
    let derived = search(module, kernel, &stated);
    if launch.is_derived {
        (complete.grid, complete.block, complete.shared) = (derived.grid, derived.block, derived.shared);
    }
    for (index, (binding, param)) in derived.bindings.into_iter().zip(&kernel.params).enumerate() {
        match complete.binding_mut(index, &param.name) {
            Some(own) if own.is_derived => own.fill = binding.fill,
            Some(_) => {}
            None => complete.bindings.push(binding),
        }
    }
    complete
}

fn insts(kernel: &Function) -> impl Iterator<Item = &InstData> {
    kernel.block_order().flat_map(|block| kernel.block_insts(block)).map(|inst| &kernel.insts[inst])
}
