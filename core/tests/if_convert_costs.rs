//! Decisions of `if-convert`, held against the simulator.

use warpscope_core::{Machine, Settings, find_kernel, optimize, parse, simulate};

/// Cycles by which the best program may undercut the one that the pass leaves.
const TOLERANCE: f64 = 0.01;

/// Neither branches nor straight code everywhere takes fewer cycles than the chosen mixture.
#[track_caller]
fn assert_best(golden: &str) {
    let source = golden.split("// ----").next().unwrap_or_default();
    let module = parse(source).expect("a program");
    for kernel in module.kernels() {
        let name = &module.funcs[kernel].name;
        let cycles = |passes: &str| {
            let session = optimize(module.clone(), passes).expect("a pipeline");
            let kernel = find_kernel(session.module(), Some(name)).expect("the kernel");
            let result = simulate(session.module(), kernel, &Settings::default(), Machine::Ampere).expect("a run");
            result.cycles as f64
        };
        let chosen = cycles("if-convert");
        for other in ["", "if-convert[always=true]"] {
            let cycles = cycles(other);
            assert!(chosen <= cycles * (1.0 + TOLERANCE), "{name}: {chosen} cycles, {cycles} after `{other}`");
        }
    }
}

#[test]
fn keeps_uniform_branch_that_skips_a_side() {
    assert_best(include_str!("golden/if-convert/uniform-stays.wir"));
}

#[test]
fn converts_branch_at_which_every_warp_parts() {
    assert_best(include_str!("golden/if-convert/lanes-part.wir"));
}

#[test]
fn keeps_steps_of_a_reduction() {
    assert_best(include_str!("golden/if-convert/reduction.wir"));
}

#[test]
fn converts_only_what_pays_in_a_loop() {
    assert_best(include_str!("golden/if-convert/in-loop.wir"));
}
