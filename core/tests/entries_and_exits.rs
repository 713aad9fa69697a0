//! Functions with several entries and several exits, under every pass and every pipeline: the calls
//! stay good, and memory ends the same.

use warpscope_core::pass::{PASSES, PIPELINES, Step};
use warpscope_core::text::parse;
use warpscope_testkit::laws::{every_step_is_sound, memory_is_the_same};

/// Functions that the kernel calls as `f(t)`, `f@second(t)` and `f(t) to …`; each has two entries and two exits.
const FUNCTIONS: &[&str] = &[
    // The only `ret.1` is never reached.
    "first:
    b = add.u32 a, 1
    p = setp.lt.u32 a, 0
    br p, one, zero
second:
    b = mov.u32 7
    br zero
zero:
    ret b
one:
    c = add.u32 a, 5
    ret.1 c",
    // It is in a row of blocks that are not, with another one.
    "first:
    p = mov.pred 0
    br p, row, zero
second:
    p = mov.pred 1
    br p, zero, row
zero:
    b = mul.u32 a, 3
    ret b
row:
    c = add.u32 a, 5
    br one
one:
    q = setp.lt.u32 c, 9
    br q, two, three
two:
    ret.1 c
three:
    ret.1 a",
    // It is reached from one entry only.
    "first:
    p = setp.gt.u32 a, a
    br p, one, zero
second:
    q = setp.lt.u32 a, 2
    br q, one, zero
zero:
    d = rem.u32 a, 4
    ret d
one:
    e = rem.u32 a, 4
    f = add.u32 e, 100
    ret.1 f",
    // Both exits behind a loop, one of them constant.
    "first:
    i = mov.u32 0
    br loop
second:
    i = mov.u32 3
    br loop
loop:
    i = add.u32 i, 1
    p = setp.lt.u32 i, 5
    br p, loop, done
done:
    q = setp.ge.u32 i, 0
    br q, zero, one
zero:
    s = add.u32 i, a
    ret s
one:
    ret.1 i",
    // Nothing but the last exit is reached.
    "first:
    p = setp.ge.u32 a, 0
    br p, one, zero
second:
    br one
zero:
    ret a
one:
    v = sub.u32 a, 1
    ret.1 v",
];

fn program(function: &str) -> String {
    format!(
        "func f(a: u32) -> u32 {{\n    entry first, second\n{function}\n}}\n\
         kernel k(o: ptr.global) {{\nentry:\n    t = mov.u32 %tid\n    r = call f(t) to same, other\n\
         other:\n    r = add.u32 r, 1000\n    br same\n\
         same:\n    st.global.u32 o[2*t], r\n    s = call f@second(t) to left, right\n\
         right:\n    s = add.u32 s, 2000\n    br left\n\
         left:\n    st.global.u32 o[2*t + 1], s\n    ret\n}}\n\
         launch k {{\n    block 16\n    warp 8\n    o = buffer u32[32] const 0\n}}\n"
    )
}

#[test]
fn every_pass_and_pipeline_keeps_calls_good() {
    let passes = PASSES
        .iter()
        .map(|pass| (pass.info.name, vec![Step::new(pass.info.name).expect("a pass")], pass.info.needs_fast_math));
    let pipelines = PIPELINES.iter().map(|pipeline| {
        let steps = pipeline.phases.iter().map(|phase| phase.step().expect("a step")).collect();
        (pipeline.name, steps, false)
    });
    let all: Vec<(&str, Vec<Step>, bool)> = passes.chain(pipelines).collect();
    for (number, function) in FUNCTIONS.iter().enumerate() {
        let source = program(function);
        let parsed = parse(&source);
        assert!(!parsed.has_errors(), "{number}: {:?}", parsed.diagnostics);
        for (name, steps, fast_math) in &all {
            let session = every_step_is_sound(&parsed.module, steps, *fast_math)
                .unwrap_or_else(|broken| panic!("`{name}` on function {number}: {broken}"));
            memory_is_the_same(&parsed.module, session.module(), *fast_math)
                .unwrap_or_else(|broken| panic!("`{name}` on function {number}: {broken}"));
        }
    }
}
