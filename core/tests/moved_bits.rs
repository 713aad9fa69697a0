//! Moves move bits: a NaN keeps its payload through every form that moves it, and only arithmetic
//! yields the one NaN. So a `mov` of bits into a float is a copy, `x * 1` of what was loaded is
//! none, and the passes leave memory as it is whatever bits come.

use warpscope_core::machine::Machine;
use warpscope_core::pass::{PASSES, parse_pipeline};
use warpscope_core::sim::{Progress, Settings, Simulation};
use warpscope_core::text::parse;
use warpscope_testkit::laws::{memory_is_the_same, run_silently};

/// Another NaN than the one of arithmetic.
const OTHER: &str = "0xffc00001";

/// Body of a kernel over the bits `a`, and with `p`, which holds in some lanes; `z` is of `u32`.
const BODIES: &[&str] = &[
    "f = mov.f32 a\n st.global.b32 z[t], f",
    "f = mov.f32 0fFFC00000\n b = mov.b32 f\n st.global.b32 z[t], b",
    "f = mov.f32 a\n g = mov.f32 f\n h = and.b32 g, 0x00ffffff\n st.global.b32 z[t], h",
    "f = mov.f32 1.0\n @p f = mov.f32 a\n st.global.b32 z[t], f",
    "f = selp.f32 a, a, p\n st.global.b32 z[t], f",
    "f = selp.f32 a, 1.0, p\n g = mov.f32 f\n st.global.b32 z[t], g",
    "f = mul.f32 a, 1.0\n st.global.b32 z[t], f",
    "f = mul.f32 a, 1.0\n g = mul.f32 f, 1.0\n st.global.b32 z[t], g",
    "f = div.f32 a, 1.0\n st.global.f32 z[t], f",
    "f = add.f32 a, -0.0\n st.global.b32 z[t], f",
    "f = sub.f32 a, 0.0\n st.global.f32 z[t], f",
    "f = min.f32 a, a\n st.global.b32 z[t], f",
    "f = cvt.f32.f32 a\n st.global.f32 z[t], f",
    "f = neg.f32 a\n g = neg.f32 f\n st.global.f32 z[t], g",
    "f = mul.f32 a, 2.0\n @p f = mov.f32 a\n g = mul.f32 f, 1.0\n st.global.f32 z[t], g",
    "a = mov.f32 a\n st.global.b32 z[t], a",
    "f = mov.f32 a\n q = setp.eq.b32 f, 0x7fffffff\n k = selp.b32 1, 2, q\n st.global.b32 z[t], k",
    "f = mov.f32 a\n x = xor.b32 a, 5\n y = xor.b32 f, 5\n w = add.u32 x, y\n st.global.b32 z[t], w",
    "f = mov.f32 a\n g = mov.f32 a\n w = mov.b64 {f, g}\n h = shr.u64 w, 8\n v = cvt.u32.u64 h\n st.global.b32 z[t], v",
    "st.global.f32 z[t], a\n b = ld.global.f32 z[t]\n st.global.b32 z[t + 32], b",
    "st.global.f32 z[t], a\n b = ld.global.b32 z[t]\n st.global.b32 z[t + 32], b",
    "st.global.b32 z[t], a\n f = ld.global.f32 z[t]\n st.global.b32 z[t + 32], f",
    "g = ld.global.f32 x[t]\n h = ld.global.f32 x[t + 32]\n st.global.f32 x[t], g\n st.global.f32 z[t], h",
    "f = call raw(a)\n st.global.b32 z[t], f",
    "f = call same(a)\n st.global.b32 z[t], f",
    "f = mov.f32 a\n b = shfl.bfly.b32 f, 1, 31\n st.global.b32 z[t], b",
    "f = mov.f32 a\n o = atom.global.exch.f32 z[t], f\n n = ld.global.b32 z[t]\n st.global.b32 z[t + 32], n",
    "s = ld.global.f32 x[t]\n s = add.f32 s, 0fFFC00001\n st.global.f32 z[t], s\n s = ld.global.f32 x[t]\n \
     st.global.f32 z[t + 32], s",
];

/// The bodies of which `z[0]` and `z[32]` end as the bits that came.
const MOVES: &[(&str, [&str; 2])] = &[
    ("f = mov.f32 a\n st.global.f32 z[t], f", [OTHER, "0"]),
    ("f = ld.global.f32 x[t]\n st.global.f32 z[t], f", [OTHER, "0"]),
    ("f = selp.f32 a, 1.0, p\n st.global.f32 z[t], f", [OTHER, "0"]),
    ("st.global.f32 z[t], a\n f = ld.global.f32 z[t]\n st.global.f32 z[t + 32], f", [OTHER, OTHER]),
    ("f = mul.f32 a, 1.0\n st.global.f32 z[t], f", ["0x7fffffff", "0"]),
    ("f = mul.f32 a, 2.0\n g = mul.f32 f, 1.0\n st.global.f32 z[t], g", ["0x7fffffff", "0"]),
    ("f = max.f32 a, a\n g = mov.f32 f\n st.global.f32 z[t], g\n st.global.f32 z[t + 32], a", ["0x7fffffff", OTHER]),
];

fn program(body: &str) -> String {
    format!(
        "func raw(a: f32) -> f32 {{\nentry:\n    ret a\n}}\n\
         func same(a: f32) -> b32 {{\nentry:\n    b = mov.b32 a\n    ret b\n}}\n\
         kernel k(x: ptr.global, z: ptr.global) {{\nentry:\n    t = mov.u32 %tid\n    a = ld.global.b32 x[t]\n    p = \
         setp.lt.u32 %tid, 7\n {body}\n    ret\n}}\n\
         launch k {{\n    block = 32\n    x = buffer u32[64] const {OTHER}\n    z = buffer u32[64] const 0\n}}\n"
    )
}

/// Every pass by itself, and some one after another.
fn pipelines() -> Vec<String> {
    let several = ["gvn-cse[forward_stores=true]", "@basic", "@ptxas", "copy-prop,back-copy-prop,dce"];
    PASSES.iter().map(|pass| pass.info.name).chain(several).map(String::from).collect()
}

#[test]
fn passes_leave_memory_as_it_is() {
    let pipelines = pipelines();
    let mut broken_ones = Vec::new();
    for body in BODIES {
        let parsed = parse(&program(body));
        assert!(!parsed.has_errors(), "{body}: {:?}", parsed.diagnostics);
        for pipeline in &pipelines {
            let steps = parse_pipeline(pipeline).expect("the pipeline is known");
            let after = run_silently(&parsed.module, &steps, false);
            if let Err(broken) = memory_is_the_same(&parsed.module, &after, false) {
                broken_ones.push(format!("{pipeline} on\n{body}\n{broken}"));
            }
        }
    }
    assert!(broken_ones.is_empty(), "{} are broken:\n{}", broken_ones.len(), broken_ones.join("\n"));
}

#[test]
fn bits_that_come_are_bits_that_go() {
    let bits = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number");
    for (body, [first, second]) in MOVES {
        let parsed = parse(&program(body));
        assert!(!parsed.has_errors(), "{body}: {:?}", parsed.diagnostics);
        for pipeline in [String::new()].into_iter().chain(pipelines()) {
            let after = run_silently(&parsed.module, &parse_pipeline(&pipeline).expect("the pipeline is known"), false);
            let kernel = after.func_by_name("k").expect("the kernel");
            let mut run: Simulation =
                Simulation::new(&after, kernel, &after.launches[0], &Settings::default(), Machine::Unit)
                    .expect("it fits");
            assert_eq!(run.run(u64::MAX), Ok(Progress::Done), "{body}");
            let z = run.dump().into_iter().find(|buffer| buffer.name == "z").expect("the buffer").elements;
            assert_eq!([z[0], z[32]], [bits(first), bits(second)], "{pipeline} on\n{body}");
        }
    }
}
