//! Verdicts of `equiv` on two programs, and its exit status.

use std::path::PathBuf;

use super::{file, good, json, stderr, stdout, warpscope};

/// A program in a file of its own.
fn program(name: &str, text: &str) -> String {
    path_text(file(&format!("equivalence-{name}"), text))
}

fn path_text(path: PathBuf) -> String {
    path.display().to_string()
}

#[track_caller]
fn assert_same(first: &str, second: &str) {
    let answer = json(&["equiv", first, second, "--json"], "");
    assert_eq!(answer["equivalent"], true, "{answer}");
    assert_eq!(answer["trials"], 20, "{answer}");
}

/// Stores its thread numbers; the header and the launch are given.
fn store_numbers(header: &str, launch: &str) -> String {
    format!(
        "kernel k({header}\nentry:\n    t = mov.u32 %tid\n    st.global.u32 o[t], t\n    ret\n}}\nlaunch k {{\n    \
         block 32\n{launch}    o = buffer u32[32] const 0\n}}\n"
    )
}

#[test]
fn input_that_nobody_draws_is_no_difference() {
    let with =
        program("input-a.wir", &store_numbers("o: ptr.global) {\n    input u: pred", "    u = draws true 0.5\n"));
    let without = program("input-b.wir", &store_numbers("o: ptr.global) {", ""));
    assert_same(&with, &without);
    assert_same(&without, &with);
}

#[test]
fn parameter_that_nobody_reads_is_no_difference() {
    let (scalar, buffer) = ("    n = 3\n", "    x = buffer f32[64] random(0, 1)\n    n = 3\n");
    let without = program("parameter-a.wir", &store_numbers("o: ptr.global) {", ""));
    let with_scalar = program("parameter-b.wir", &store_numbers("n: u32, o: ptr.global) {", scalar));
    let with_buffer = program("parameter-c.wir", &store_numbers("x: ptr.global, o: ptr.global, n: u64) {", buffer));
    for with in [&with_scalar, &with_buffer] {
        assert_same(&without, with);
        assert_same(with, &without);
    }
    assert_same(&with_scalar, &with_buffer);
}

#[test]
fn random_buffers_stay_the_same_where_a_parameter_is_missing() {
    let copy = |header: &str, launch: &str| {
        format!(
            "kernel k({header}) {{\nentry:\n    t = mov.u32 %tid\n    i = and.b32 t, 3\n    a = ld.param.u32 \
                arr[i]\n    v = ld.global.u32 x[t]\n    s = add.u32 v, a\n    st.global.u32 o[t], s\n    \
                ret\n}}\nlaunch k {{\n    block 32\n{launch}    arr = {{ 1, 2, 3, 4 }}\n    x = buffer u32[32] \
                random(0, 1000)\n    o = buffer u32[32] const 0\n}}\n"
        )
    };
    let with = program("random-a.wir", &copy("n: u32, arr: u32[4], x: ptr.global, o: ptr.global", "    n = 3\n"));
    let without = program("random-b.wir", &copy("o: ptr.global, x: ptr.global, arr: u32[4]", ""));
    assert_same(&with, &without);
    assert_same(&without, &with);
}

#[test]
fn buffer_that_only_one_writes_is_a_difference() {
    let without = program("write-a.wir", &store_numbers("o: ptr.global) {", ""));
    let text = store_numbers("x: ptr.global, o: ptr.global) {", "    x = buffer u32[32] const 0\n");
    let with = program("write-b.wir", &text.replace("    ret", "    st.global.u32 x[t], 1\n    ret"));
    for (first, second) in [(&with, &without), (&without, &with)] {
        let output = warpscope(&["equiv", first, second], "");
        assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
        assert!(stdout(&output).contains("x[0] is"), "{}", stdout(&output));
    }
}

const ARRAY: &str = "\
kernel k(x: ptr.global, o: ptr.global, arr: u32[4]) {
entry:
    t = mov.u32 %tid
    v = ld.global.u32 x[t]
    i = and.b32 v, 3
    a = ld.param.u32 arr[i]
    b = ld.param.u32 arr[2]
    r = mad.u32 a, 10, b
    st.global.u32 o[t], r
    ret
}
launch k {
    block 64
    arr = { 5, 6, 7, 8 }
    x = buffer u32[64] iota
    o = buffer u32[64] const 0
}
";

/// The kernel of [`ARRAY`] with its array in another type, as PTX may declare it.
fn bytes_of_array(ty: &str, count: u32) -> String {
    let kernel = &ARRAY[..ARRAY.find("launch").expect("it has a launch")];
    kernel.replace("arr: u32[4]", &format!("arr: {ty}[{count}]"))
}

#[test]
fn launch_binds_arrays_by_its_own_types() {
    let words = program("array.wir", ARRAY);
    for (ty, count) in [("b8", 16), ("u16", 8), ("u64", 2), ("f32", 4)] {
        let other = program(&format!("array-{ty}.wir"), &bytes_of_array(ty, count));
        assert_same(&words, &other);
        assert_same(&other, &words);
        let memory = |file: &str| json(&["sim", file, "--launch", &words, "--json", "--dump"], "")["memory"].clone();
        assert_eq!(memory(&words), memory(&other), "{ty}");
    }
    let exported = program("array.ptx", &good(&["opt", &words, "--passes", "dce", "--emit", "ptx"], ""));
    assert_same(&words, &exported);
    let memory = |file: &str| json(&["sim", file, "--launch", &words, "--json", "--dump"], "")["memory"]["o"].clone();
    assert_eq!(memory(&exported), memory(&words));
}

/// Spins where the predicate that is drawn is true.
const SPIN: &str = "\
kernel k(o: ptr.global) {
    input u: pred
entry:
    p = in.pred u
    br p, spin, done
spin:
    v = ld.volatile.global.u32 o[0]
    q = setp.eq.u32 v, 1
    br q, done, spin
done:
    ret
}
launch k {
    block 32
    u = draws true PROBABILITY
    o = buffer u32[1] const 0
}
";

#[test]
fn spinning_program_stops_early_and_says_so() {
    let always = SPIN.replace("    u = draws true PROBABILITY\n", "").replace("    input u: pred\n", "");
    let always = program("spin-always.wir", &always.replace("in.pred u", "setp.eq.u32 %warpsize, 32"));
    let output = warpscope(&["equiv", &always, &always], "");
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stderr(&output).contains("fails on 3 launches, so none was compared: "), "{}", stderr(&output));
    assert!(stderr(&output).contains("warp instructions, probably in an endless loop"), "{}", stderr(&output));
    // The launch of the text ends; many of its variants do not.
    let seldom = program("spin-seldom.wir", &SPIN.replace("PROBABILITY", "0"));
    let output = warpscope(&["equiv", &seldom, &seldom], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("3 launches of `k` of"), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("no difference on "), "{}", stdout(&output));
}

/// The last warp to store wins.
const RACE: &str = "\
kernel k(o: ptr.global) {
entry:
    w = mov.u32 %warpid
    st.global.u32 o[0], w
    ret
}
launch k {
    block 64
    o = buffer u32[1] const 0
}
";

#[test]
fn program_that_disagrees_with_itself_gives_no_verdict() {
    let race = program("race.wir", RACE);
    let output = warpscope(&["equiv", &race, &race, "--trials", "1"], "");
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stderr(&output).contains("o[0] is 1 under one schedule and 0 under another"), "{}", stderr(&output));
    // One warp races with nobody, so that some of the launches are compared.
    let sometimes = program("race-sometimes.wir", &RACE.replace("block 64", "block 33"));
    let answer = json(&["equiv", &sometimes, &sometimes, "--json"], "");
    assert_eq!(answer["equivalent"], true, "{answer}");
    let (raced, compared) = (answer["raced"].as_u64().unwrap_or(0), answer["trials"].as_u64().unwrap_or(0));
    assert!(raced > 0 && compared > 0 && raced + compared == 20, "{answer}");
}

#[test]
fn sides_of_a_branch_that_store_to_one_place_race() {
    let sides = |test: &str, [first, second]: [&str; 2]| {
        format!(
            "kernel k(x: ptr.global) {{\nentry:\n    p = setp.{test}.u32 %tid, 16\n    br p, {first}, {second}\n\
             l:\n    st.global.u32 x[0], 1\n    br j\nr:\n    st.global.u32 x[0], 2\n    br j\nj:\n    ret\n}}\n\
             launch k {{\n    block 32\n    x = buffer u32[1] const 0\n}}\n"
        )
    };
    let one = program("sides.wir", &sides("lt", ["l", "r"]));
    let other = program("sides-swapped.wir", &sides("ge", ["r", "l"]));
    for files in [[&one, &other], [&other, &one]] {
        let output = warpscope(&["equiv", files[0], files[1], "--trials", "1"], "");
        assert!(stderr(&output).contains("under one schedule and"), "{}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn race_that_only_the_second_has_is_a_difference() {
    let right = program("no-race.wir", &RACE.replace("mov.u32 %warpid", "mul.u32 %warpid, 0"));
    let race = program("race-second.wir", RACE);
    let output = warpscope(&["equiv", &right, &race], "");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("o[0] is 0 after"), "{}", stdout(&output));
}

#[test]
fn order_of_integer_atomics_is_no_race() {
    let text = RACE.replace("st.global.u32 o[0], w", "red.global.add.u32 o[0], w");
    let sum = program("atomics.wir", &text);
    assert_same(&sum, &sum);
}
