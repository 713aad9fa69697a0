//! Spaces of memory, vectors, speculative loads, atomics, and outside values.

use super::{run, run_blocks, try_run};

#[test]
fn shared_memory_carries_values_over_a_barrier() {
    let outcome = run(
        "kernel k(r: ptr.global) {\n    shared t: u32[64]\nentry:\n    i = mov.u32 %tid\n    st.shared.u32 t[i], i\n    \
         bar.sync 0\n    j = sub.u32 63, i\n    v = ld.shared.u32 t[j]\n    st.global.u32 r[i], v\n    ret\n}\n\
         launch k {\n    block 64\n    r = buffer u32[64] const 0\n}\n",
    );
    assert_eq!(outcome.buffer("r"), (0..64).rev().collect::<Vec<u64>>());
}

#[test]
fn local_memory_is_a_lanes_own_and_constants_and_arrays_are_read() {
    let outcome = run("const c: u32[2] = { 100, 200 }\nglobal g: u32[1] = { 5 }\n\
         kernel k(a: u32[2], r: ptr.global) {\n    local own: u32[2]\nentry:\n    i = mov.u32 %tid\n    \
         st.local.u32 own[1], i\n    b = ld.const.u32 c[1]\n    d = ld.param.u32 a[1]\n    e = ld.global.u32 g[0]\n    \
         v = ld.local.u32 own[1]\n    v = add.u32 v, b\n    v = add.u32 v, d\n    v = add.u32 v, e\n    \
         st.global.u32 r[i], v\n    ret\n}\nlaunch k {\n    block 32\n    a = { 1000, 2000 }\n    \
         r = buffer u32[32] const 0\n}\n");
    assert_eq!(outcome.buffer("r"), (0..32).map(|i| i + 2205).collect::<Vec<u64>>());
}

#[test]
fn vectors_and_speculative_loads() {
    let outcome =
        run("kernel k(x: ptr.global, r: ptr.global) {\nentry:\n    {a, b, c, d} = ld.global.v4.u32 x[4]\n    \
         far = ld.global.spec.u32 x[1000]\n    near = ld.global.spec.u32 x[7]\n    \
         st.global.v2.u32 r[0], {d, a}\n    st.global.v2.u32 r[2], {far, near}\n    ret\n}\n\
         launch k {\n    x = buffer u32[8] iota\n    r = buffer u32[4] const 9\n}\n");
    assert_eq!(outcome.buffer("r"), [7, 4, 0, 7]);
}

#[test]
fn atomics_take_lanes_in_order() {
    let outcome = run_blocks(
        "    shared t: u32[1]",
        "    st.shared.u32 t[0], 100\n    v = atom.shared.add.u32 t[0], i\n    st.global.u32 r[i], v\n    ret\n",
    );
    let expected: Vec<u64> = (0..32u64).map(|i| 100 + i * i.saturating_sub(1) / 2).collect();
    assert_eq!(outcome.buffer("r"), expected);
}

const DRAWS: &str = "kernel k(r: ptr.global, u: ptr.global) {\n    input x: u32\n    input y: u32 uniform\nentry:\n    \
     i = mad.u32 %ctaid, %ntid, %tid\n    v = in.u32 x\n    w = in.u32 y\n    st.global.u32 r[i], v\n    \
     st.global.u32 u[i], w\n    ret\n}\nlaunch k {\n    grid 64\n    block 64\n    x = draws random(1, 1000000)\n    \
     y = draws random(1, 1000000)\n    r = buffer u32[4096] const 0\n    u = buffer u32[4096] const 0\n}\n";

#[test]
fn draws_depend_on_seed_input_thread_and_number_alone() {
    let draws = |source: &str, settings: &[&str]| {
        try_run(source, settings).unwrap_or_else(|error| panic!("{error}")).buffer("r").to_vec()
    };
    let plain = draws(DRAWS, &[]);
    assert_eq!(plain, draws(DRAWS, &["l1=off"]));
    assert_ne!(plain, draws(DRAWS, &["seed=1"]));
    // Another order of execution: the draw stands on two sides of a divergent branch.
    let sides = DRAWS.replace(
        "    v = in.u32 x\n",
        "    b = and.b32 i, 1\n    p = setp.eq.u32 b, 0\n    br p, even, odd\neven:\n    v = in.u32 x\n    br on\nodd:\n    \
         v = in.u32 x\n    br on\non:\n",
    );
    assert_eq!(plain, draws(&sides, &[]));
}

#[test]
fn uniform_inputs_and_the_knobs_of_the_others() {
    let outcome = run(DRAWS);
    assert!(outcome.buffer("u").windows(2).all(|pair| pair[0] == pair[1]), "one value for all threads");
    let half = try_run(DRAWS, &["x.zero=0.5"]).unwrap_or_else(|error| panic!("{error}"));
    let zeros = half.buffer("r").iter().filter(|&&value| value == 0).count();
    assert!((1850..=2250).contains(&zeros), "{zeros} of 4096, expected about half");
    let coherent = try_run(DRAWS, &["x.coherence=1"]).unwrap_or_else(|error| panic!("{error}"));
    let mut warps = coherent.buffer("r").chunks(32);
    assert!(warps.all(|warp| warp.iter().all(|value| *value == warp[0])), "a warp shares its draw");
    let some = try_run(DRAWS, &["x.coherence=0.5"]).unwrap_or_else(|error| panic!("{error}"));
    let shared = some.buffer("r").chunks(32).filter(|warp| warp.iter().all(|value| *value == warp[0])).count();
    assert!((44..=84).contains(&shared), "{shared} of 128 warps, expected about half");
}
