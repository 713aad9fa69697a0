//! Divergence and reconvergence: lanes part, run one side after the other, and meet where every path meets.

use super::{run, run_blocks, try_run};
use warpscope_core::sim::ErrorKind;

#[test]
fn the_true_side_runs_first_and_lanes_meet_behind() {
    let outcome = run_blocks(
        "",
        "    b = and.b32 i, 1\n    p = setp.eq.u32 b, 0\n    br p, even, odd\neven:\n    v = add.u32 i, 100\n    br \
         join\n\
         odd:\n    v = add.u32 i, 200\n    br join\njoin:\n    st.global.u32 r[i], v\n    ret\n",
    );
    let expected: Vec<u64> = (0..32).map(|i| i + if i % 2 == 0 { 100 } else { 200 }).collect();
    assert_eq!(outcome.buffer("r"), expected);
    assert_eq!(outcome.result.divergent_branches, 1);
    let lanes = |label: &str| (outcome.result.blocks[label].issues, outcome.result.blocks[label].lanes);
    assert_eq!([lanes("even"), lanes("odd"), lanes("join")], [(2, 32), (2, 32), (2, 64)]);
}

#[test]
fn lanes_leave_a_loop_one_after_another_and_meet_behind_it() {
    let outcome = run_blocks(
        "",
        "    s = mov.u32 0\n    k = mov.u32 0\n    br head\nhead:\n    s = add.u32 s, k\n    k = add.u32 k, 1\n    \
         p = setp.le.u32 k, i\n    br p, head, done\ndone:\n    st.global.u32 r[i], s\n    ret\n",
    );
    let expected: Vec<u64> = (0..32).map(|i| i * (i + 1) / 2).collect();
    assert_eq!(outcome.buffer("r"), expected);
    let head = &outcome.result.blocks["head"];
    assert_eq!((head.issues, head.lanes), (32 * 4, 4 * (1..=32).sum::<u64>()));
    assert_eq!(outcome.result.blocks["done"].issues, 2, "all lanes meet behind the loop");
    assert_eq!(outcome.result.divergent_branches, 31);
}

#[test]
fn a_cycle_with_two_entries() {
    let outcome = run_blocks(
        "",
        "    n = mov.u32 0\n    b = and.b32 i, 1\n    p = setp.eq.u32 b, 0\n    br p, x, y\nx:\n    n = add.u32 n, \
         1\n    \
         br y\ny:\n    n = add.u32 n, 10\n    q = setp.lt.u32 n, i\n    br q, x, done\ndone:\n    \
         st.global.u32 r[i], n\n    ret\n",
    );
    let reference = |i: u64| {
        let mut n = u64::from(i.is_multiple_of(2));
        loop {
            n += 10;
            if n >= i {
                return n;
            }
            n += 1;
        }
    };
    assert_eq!(outcome.buffer("r"), (0..32).map(reference).collect::<Vec<_>>());
}

#[test]
fn a_switch_sends_values_beyond_to_its_last_target() {
    let outcome = run_blocks(
        "",
        "    switch i, a, b, c\na:\n    v = mov.u32 10\n    br done\nb:\n    v = mov.u32 20\n    br done\nc:\n    \
         v = mov.u32 30\n    br done\ndone:\n    st.global.u32 r[i], v\n    ret\n",
    );
    let expected: Vec<u64> = (0..32).map(|i| [10, 20, 30][i.min(2)]).collect();
    assert_eq!(outcome.buffer("r"), expected);
    assert_eq!(outcome.result.divergent_branches, 1);
}

#[test]
fn lanes_that_end_early_are_not_waited_for() {
    let outcome = run_blocks(
        "",
        "    p = setp.lt.u32 i, 20\n    br p, out, on\nout:\n    exit\non:\n    v = add.u32 i, 1\n    \
         st.global.u32 r[i], v\n    ret\n",
    );
    let expected: Vec<u64> = (0..32).map(|i| if i < 20 { 0 } else { i + 1 }).collect();
    assert_eq!(outcome.buffer("r"), expected);
}

#[test]
fn a_guard_that_is_false_leaves_the_destination() {
    let outcome = run_blocks(
        "",
        "    v = mov.u32 7\n    p = setp.lt.u32 i, 4\n    @!p v = add.u32 v, i\n    @p st.global.u32 r[i], v\n    \
         @!p st.global.u32 r[i], v\n    ret\n",
    );
    let expected: Vec<u64> = (0..32).map(|i| if i < 4 { 7 } else { 7 + i }).collect();
    assert_eq!(outcome.buffer("r"), expected);
}

#[test]
fn a_call_returns_by_the_exit_that_each_lane_takes() {
    let outcome = run("func part(v: u32) -> u32 {\nentry:\n    p = setp.lt.u32 v, 10\n    br p, low, high\nlow:\n    \
         a = add.u32 v, 1000\n    ret.0 a\nhigh:\n    b = add.u32 v, 2000\n    ret.1 b\n}\n\
         kernel k(r: ptr.global) {\nentry:\n    i = mov.u32 %tid\n    v = call part(i) to first, second\nfirst:\n    \
         w = add.u32 v, 1\n    br done\nsecond:\n    w = add.u32 v, 2\n    br done\ndone:\n    \
         st.global.u32 r[i], w\n    ret\n}\nlaunch k {\n    block 32\n    r = buffer u32[32] const 0\n}\n");
    let expected: Vec<u64> = (0..32).map(|i| if i < 10 { 1001 + i } else { 2002 + i }).collect();
    assert_eq!(outcome.buffer("r"), expected);
}

/// Σ 1…n by recursion, called with each lane's number plus `more`.
fn recursion(more: u32) -> String {
    format!(
        "func sum(n: u32) -> u32 {{\nentry:\n    p = setp.eq.u32 n, 0\n    br p, zero, more\nzero:\n    ret \
         n\nmore:\n    \
         m = sub.u32 n, 1\n    s = call sum(m)\n    t = add.u32 s, n\n    ret t\n}}\n\
         kernel k(r: ptr.global) {{\nentry:\n    i = mov.u32 %tid\n    n = add.u32 i, {more}\n    s = call sum(n)\n    \
         st.global.u32 r[i], s\n    ret\n}}\nlaunch k {{\n    block 32\n    r = buffer u32[32] const 0\n}}\n"
    )
}

#[test]
fn recursion_goes_64_calls_deep_and_no_further() {
    // The deepest lane makes 31 + 32 + 1 calls.
    let outcome = run(&recursion(32));
    let expected: Vec<u64> = (32..64).map(|n| n * (n + 1) / 2).collect();
    assert_eq!(outcome.buffer("r"), expected);
    let error = try_run(&recursion(33), &[]).err().expect("one call too many");
    assert_eq!(error.kind, ErrorKind::Limit);
    assert!(error.message.contains("64"), "{error}");
}

#[test]
fn a_register_that_only_some_path_assigns_reads_as_zero() {
    let outcome = run_blocks(
        "",
        "    p = setp.lt.u32 i, 4\n    br p, some, join\nsome:\n    v = add.u32 i, 10\n    br join\njoin:\n    \
         w = add.u32 v, 1\n    st.global.u32 r[i], w\n    ret\n",
    );
    assert_eq!(outcome.buffer("r"), (0..32).map(|i| if i < 4 { i + 11 } else { 1 }).collect::<Vec<u64>>());
}

#[test]
fn a_function_is_entered_where_the_call_says() {
    let outcome = run(
        "func scale(v: u32, by: u32) -> u32 {\n    entry first, second\nfirst:\n    r = mul.u32 v, by\n    ret r\n\
         second:\n    s = add.u32 v, by\n    ret s\n}\n\
         kernel k(r: ptr.global) {\nentry:\n    i = mov.u32 %tid\n    a = call scale(i, 3)\n    b = call \
         scale@second(i, 3)\n    \
         c = call scale@first(b, 100)\n    v = add.u32 a, c\n    st.global.u32 r[i], v\n    ret\n}\n\
         launch k {\n    block 32\n    r = buffer u32[32] const 0\n}\n",
    );
    assert_eq!(outcome.buffer("r"), (0..32).map(|i| 3 * i + 100 * (i + 3)).collect::<Vec<u64>>());
}

/// Lanes that a guard leaves out, or that are on the other side of a branch, keep their registers.
#[test]
fn calls_of_some_lanes() {
    let outcome = run(
        "func collatz(n: u32) -> u32 {\nentry:\n    steps = mov.u32 0\n    br head\nhead:\n    p = setp.le.u32 n, \
         1\n    \
         br p, done, step\nstep:\n    b = and.b32 n, 1\n    odd = setp.eq.u32 b, 1\n    h = shr.u32 n, 1\n    \
         t = mad.u32 n, 3, 1\n    n = selp.u32 t, h, odd\n    steps = add.u32 steps, 1\n    br head\ndone:\n    ret \
         steps\n}\n\
         kernel k(r: ptr.global) {\nentry:\n    i = mov.u32 %tid\n    b = and.b32 i, 1\n    p = setp.eq.u32 b, 0\n    \
         v = mov.u32 1000\n    @p v = call collatz(i)\n    c = and.b32 i, 2\n    q = setp.eq.u32 c, 0\n    br q, \
         left, right\n\
         left:\n    w = call collatz(27)\n    br join\nright:\n    w = call collatz(i)\n    br join\njoin:\n    \
         v = mad.u32 v, 1000, w\n    st.global.u32 r[i], v\n    ret\n}\n\
         launch k {\n    block 32\n    r = buffer u32[32] const 0\n}\n",
    );
    let steps = |mut n: u64| {
        let mut steps = 0;
        while n > 1 {
            n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
            steps += 1;
        }
        steps
    };
    let expected = |i: u64| {
        let guarded = if i.is_multiple_of(2) { steps(i) } else { 1000 };
        1000 * guarded + if i & 2 == 0 { steps(27) } else { steps(i) }
    };
    assert_eq!(outcome.buffer("r"), (0..32).map(expected).collect::<Vec<u64>>());
}

/// `exit` ends the thread wherever it stands; the others return.
#[test]
fn lanes_end_inside_of_a_function() {
    let outcome =
        run("func check(n: u32) -> u32 {\nentry:\n    b = and.b32 n, 3\n    p = setp.eq.u32 b, 1\n    br p, out, \
         on\nout:\n    exit\n\
         on:\n    v = add.u32 n, 100\n    ret v\n}\n\
         func outer(n: u32) -> u32 {\nentry:\n    v = call check(n)\n    v = add.u32 v, 1000\n    ret v\n}\n\
         kernel k(r: ptr.global) {\nentry:\n    i = mov.u32 %tid\n    v = call outer(i)\n    st.global.u32 r[i], \
         v\n    ret\n}\n\
         launch k {\n    block 32\n    r = buffer u32[32] const 0\n}\n");
    assert_eq!(outcome.buffer("r"), (0..32).map(|i| if i % 4 == 1 { 0 } else { i + 1100 }).collect::<Vec<u64>>());
}

/// Exits of one call taken by different lanes of a loop, in turn.
#[test]
fn exits_in_a_loop() {
    let outcome =
        run("func step(n: u32) -> u32 {\nentry:\n    b = and.b32 n, 1\n    p = setp.eq.u32 b, 1\n    br p, odd, \
         even\nodd:\n    \
         t = mad.u32 n, 3, 1\n    ret.1 t\neven:\n    z = setp.le.u32 n, 2\n    br z, end, half\nhalf:\n    h = \
         shr.u32 n, 1\n    \
         ret h\nend:\n    ret.2 0\n}\n\
         kernel k(r: ptr.global) {\nentry:\n    i = mov.u32 %tid\n    n = add.u32 i, 2\n    ups = mov.u32 0\n    \
         downs = mov.u32 0\n    br again\nagain:\n    n = call step(n) to down, up, done\ndown:\n    downs = add.u32 \
         downs, 1\n    \
         br again\nup:\n    ups = add.u32 ups, 1\n    br again\ndone:\n    v = mad.u32 ups, 1000, downs\n    \
         st.global.u32 r[i], v\n    ret\n}\nlaunch k {\n    block 32\n    r = buffer u32[32] const 0\n}\n");
    let expected = |i: u64| {
        let (mut n, mut ups, mut downs) = (i + 2, 0, 0);
        while n != 2 {
            if n % 2 == 1 {
                (n, ups) = (3 * n + 1, ups + 1);
            } else {
                (n, downs) = (n / 2, downs + 1);
            }
        }
        1000 * ups + downs
    };
    assert_eq!(outcome.buffer("r"), (0..32).map(expected).collect::<Vec<u64>>());
}

/// Predicates, floats and 64-bit numbers go in and out; functions have shared arrays, too.
#[test]
fn what_calls_carry() {
    let outcome = run("func pick(p: pred, a: f64, b: f64) -> f64 {\nentry:\n    r = selp.f64 a, b, p\n    ret r\n}\n\
         func odd(n: u64) -> pred {\nentry:\n    b = and.b64 n, 1\n    p = setp.eq.u64 b, 1\n    ret p\n}\n\
         func through(n: u32) -> u32 {\n    shared t: u32[32]\nentry:\n    st.shared.u32 t[n], n\n    bar.sync\n    \
         m = sub.u32 31, n\n    v = ld.shared.u32 t[m]\n    ret v\n}\n\
         kernel k(r: ptr.global, s: ptr.global) {\nentry:\n    i = mov.u32 %tid\n    w = cvt.u64.u32 i\n    o = call \
         odd(w)\n    \
         x = cvt.rn.f64.u32 i\n    y = call pick(o, x, 0.5)\n    st.global.f64 r[i], y\n    v = call through(i)\n    \
         st.global.u32 s[i], v\n    ret\n}\n\
         launch k {\n    block 32\n    r = buffer f64[32] const 0\n    s = buffer u32[32] const 0\n}\n");
    let expected: Vec<u64> = (0..32).map(|i| if i % 2 == 1 { f64::from(i) } else { 0.5 }.to_bits()).collect();
    assert_eq!(outcome.buffer("r"), expected);
    assert_eq!(outcome.buffer("s"), (0..32).rev().collect::<Vec<u64>>());
}
