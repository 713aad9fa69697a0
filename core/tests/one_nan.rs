//! There is one NaN (language page, *Semantics*), and what makes a float of bits makes it that one. So a `mov` of bits into a
//! float is no copy, and the passes leave memory as it is whatever bits come.

use warpscope_core::pass::{PASSES, parse_pipeline};
use warpscope_core::text::parse;
use warpscope_testkit::laws::{memory_is_the_same, run_silently};

/// Another NaN than the one.
const OTHER: &str = "0xffc00001";

/// What a kernel does with the bits `a`, and with `p`, which holds in some lanes; `z` is of `u32`.
const BODIES: &[&str] = &[
    "f = mov.f32 a\n st.global.b32 z[t], f",
    "f = mov.f32 0fFFC00000\n b = mov.b32 f\n st.global.b32 z[t], b",
    "f = mov.f32 a\n g = mov.f32 f\n h = and.b32 g, 0x00ffffff\n st.global.b32 z[t], h",
    "f = mov.f32 1.0\n @p f = mov.f32 a\n st.global.b32 z[t], f",
    "f = selp.f32 a, a, p\n st.global.b32 z[t], f",
    "f = selp.f32 a, 1.0, p\n g = mov.f32 f\n st.global.b32 z[t], g",
    "f = mul.f32 a, 1.0\n st.global.b32 z[t], f",
    "f = add.f32 a, -0.0\n st.global.b32 z[t], f",
    "f = min.f32 a, a\n st.global.b32 z[t], f",
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
];

fn program(body: &str) -> String {
    format!(
        "func raw(a: f32) -> f32 {{\nentry:\n    ret a\n}}\n\
         func same(a: f32) -> b32 {{\nentry:\n    b = mov.b32 a\n    ret b\n}}\n\
         kernel k(x: ptr.global, z: ptr.global) {{\nentry:\n    t = mov.u32 %tid\n    a = ld.global.b32 x[t]\n    p = setp.lt.u32 %tid, 7\n {body}\n    ret\n}}\n\
         launch k {{\n    block = 32\n    x = buffer u32[64] const {OTHER}\n    z = buffer u32[64] const 0\n}}\n"
    )
}

#[test]
fn passes_keep_it() {
    let mut pipelines: Vec<String> = PASSES.iter().map(|pass| pass.info.name.to_owned()).collect();
    pipelines
        .extend(["gvn-cse[forward_stores=true]", "@basic", "@ptxas", "copy-prop,back-copy-prop,dce"].map(String::from));
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
