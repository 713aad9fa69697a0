//! The simulator: warp instructions a second on a kernel that diverges and on one that does not.

use std::hint::black_box;

use warpscope_core::ir::Module;
use warpscope_core::machine::Machine;
use warpscope_core::ptx;
use warpscope_core::sim::{Settings, Simulation};
use warpscope_core::text::parse;

use crate::report::rate;

/// Arithmetic in full warps: a loop of ten operations.
const ARITHMETIC: &str = "
kernel arithmetic(n: u32, x: ptr.global) {
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    a = cvt.f32.u32 i
    s = mov.f32 1.0
    k = mov.u32 0
    br loop
loop:
    t = fma.f32 a, s, 0.5
    u = mul.f32 t, 0.25
    s = add.f32 u, s
    w = min.f32 s, 4.0
    m = xor.b32 i, k
    q = and.b32 m, 255
    a = sub.f32 w, t
    k = add.u32 k, 1
    p = setp.lt.u32 k, n
    br p, loop, done
done:
    st.global.f32 x[i], s
    st.global.u32 x[i], q
    ret
}
launch arithmetic {
    grid 8
    block 256
    n = 200
    x = buffer f32[2048] const 0.0
}
";

/// Takes the measurements.
pub fn measure() {
    measure_kernel("simulator, full warps", &parse(ARITHMETIC).module);
    let collatz = ptx::import(include_str!("../../../www/examples/cuda/collatz.O3.ptx")).module;
    measure_kernel("simulator, collatz", &collatz);
}

fn measure_kernel(name: &str, module: &Module) {
    let Some(kernel) = module.kernels().next() else { return };
    let func = &module.funcs[kernel];
    let launch = module.launch_of(&func.name).cloned().unwrap_or_else(|| ptx::derive_launch(module, func));
    let settings = Settings::default();
    let simulate = || {
        let mut simulation: Simulation =
            Simulation::new(module, kernel, &launch, &settings, Machine::Ampere).expect("it fits");
        simulation.run(u64::MAX).expect("it ends");
        simulation.issued()
    };
    let issued = simulate();
    rate(name, "M warp instructions/s", issued as usize, || black_box(simulate()));
}
