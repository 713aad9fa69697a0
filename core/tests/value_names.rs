//! Value name graphs and estimates of small programs, whose numbers were computed by hand.

use warpscope_core::profile::estimate::{EdgeCounts, Estimator, Interval, Weighted, estimate};
use warpscope_core::text;
use warpscope_core::vng::{Foundation, Kills, Seeds, ValueNameGraph, VngOptions};

/// Bounds of PRE and CMP1 to CMP4, summed over all values.
type Bounds = [(u64, u64); 5];

/// Sums over all values: users, definite reuse, bounds and expected reuse.
struct Sums {
    users: u64,
    definite: u64,
    bounds: Bounds,
    expected: f64,
}

fn sums(source: &str, options: VngOptions) -> Sums {
    let parsed = text::parse(source);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let func = parsed.module.funcs.values().next().expect("one kernel");
    let foundation = Foundation::compute(&parsed.module, func, options);
    let graph = ValueNameGraph::build(&foundation);
    let counts = EdgeCounts::declared(func, foundation.cfg()).expect("a profile of whole runs");
    let weighted = Weighted { cfg: foundation.cfg(), graph: &graph.graph, facts: &graph.facts, counts: &counts };
    let estimates = estimate(weighted, &Estimator::ALL);
    let sum = |of: &dyn Fn(&[Interval]) -> u64| estimates.iter().map(|estimate| of(&estimate.bounds)).sum::<u64>();
    Sums {
        users: estimates.iter().map(|estimate| estimate.value.executions).sum(),
        definite: estimates.iter().map(|estimate| estimate.value.definite).sum(),
        bounds: [0, 1, 2, 3, 4].map(|at| (sum(&|bounds| bounds[at].low), sum(&|bounds| bounds[at].high))),
        expected: estimates.iter().map(|estimate| estimate.expected).sum(),
    }
}

fn window(window: u32) -> VngOptions {
    VngOptions { window, ..VngOptions::default() }
}

fn assert_close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-3, "{found} is not {wanted}");
}

const MINIMUM: &str = "kernel k(n: s32, val: ptr.global, o: ptr.global) {
entry:
    m = mov.s32 0
    i = mov.s32 1
    least = ld.global.s32 val[m]
    br head
head:
    more = setp.lt.s32 i, n
    br more, body, done
body:
    x = ld.global.s32 val[i]
    y = ld.global.s32 val[m]
    smaller = setp.lt.s32 x, y
    br smaller, take, next
take:
    m = mov.s32 i
    br next
next:
    i = add.s32 i, 1
    br head
done:
    st.global.s32 o[0], m
    ret
    profile edge {
        entry -> head: 1
        head -> body: 15
        head -> done: 1
        body -> take: 4
        body -> next: 11
        take -> next: 4
        next -> head: 15
    }
}";

#[test]
fn minimum_is_loaded_again_under_another_name() {
    let found = sums(MINIMUM, window(2));
    assert_eq!((found.definite, found.bounds), (15, [(15, 15); 5]));
    assert_close(found.expected, 15.0);
    let found = sums(MINIMUM, window(1));
    assert_eq!((found.definite, found.bounds), (0, [(0, 1); 5]));
}

const SYNONYMS: &str = "kernel k(p: pred, i: s32, j: s32, A: ptr.global, o: ptr.global) {
s:
    br p, l, r
l:
    x = add.s32 i, 1
    y = mov.s32 i
    br m
r:
    x = add.s32 j, 1
    y = mov.s32 j
    br m
m:
    a = ld.global.s32 A[x]
    b = ld.global.s32 A[y + 1]
    c = add.s32 a, b
    st.global.s32 o[0], c
    ret
    profile edge {
        s -> l: 30
        s -> r: 70
        l -> m: 30
        r -> m: 70
    }
}";

#[test]
fn synonyms_are_reused() {
    let found = sums(SYNONYMS, VngOptions::default());
    assert_eq!((found.users, found.bounds), (200, [(100, 100); 5]));
    let found = sums(SYNONYMS, VngOptions { synonyms: false, ..VngOptions::default() });
    assert_eq!((found.users, found.bounds), (200, [(0, 0); 5]));
}

const CONSTANT: &str = "kernel k(p: pred, o: ptr.global) {
s:
    br p, l, r
l:
    x = mov.s32 1
    y = mov.s32 2
    br m
r:
    x = mov.s32 2
    y = mov.s32 1
    br m
m:
    a = add.s32 x, y
    b = mul.s32 x, y
    st.global.s32 o[0], a
    st.global.s32 o[1], b
    ret
    profile edge {
        s -> l: 30
        s -> r: 70
        l -> m: 30
        r -> m: 70
    }
}";

#[test]
fn constants_on_every_way_are_known() {
    let found = sums(CONSTANT, VngOptions { seeds: Seeds::Arithmetic, ..VngOptions::default() });
    assert_eq!((found.users, found.bounds), (200, [(200, 200); 5]));
}

const RECURRENT: &str = "kernel k(A: ptr.global, o: ptr.global) {
entry:
    i = mov.s32 0
    s = mov.s32 0
    br head
head:
    x = ld.global.s32 A[i]
    y = ld.global.s32 A[i + 2]
    s = add.s32 s, x
    s = add.s32 s, y
    i = add.s32 i, 1
    more = setp.lt.s32 i, 10
    br more, head, done
done:
    st.global.s32 o[0], s
    ret
    profile edge {
        entry -> head: 1
        head -> head: 9
        head -> done: 1
    }
}";

#[test]
fn element_is_loaded_again_two_rounds_later() {
    for narrow in [1, 2] {
        assert_eq!(sums(RECURRENT, window(narrow)).bounds, [(0, 0); 5]);
    }
    let found = sums(RECURRENT, window(3));
    assert_eq!(found.bounds, [(8, 10), (8, 9), (8, 9), (8, 9), (8, 9)]);
    assert_close(found.expected, 8.1);
}

const MERGE: &str = "kernel k(n: s32, a: ptr.global restrict, b: ptr.global restrict, o: ptr.global restrict) {
entry:
    i = mov.s32 0
    j = mov.s32 0
    t = mov.s32 0
    br head
head:
    p = setp.lt.s32 i, n
    br p, more, done
more:
    q = setp.lt.s32 j, n
    br q, body, done
body:
    x = ld.global.s32 a[i]
    y = ld.global.s32 b[j]
    less = setp.lt.s32 x, y
    br less, left, right
left:
    z = ld.global.s32 a[i]
    st.global.s32 o[t], z
    i = add.s32 i, 1
    br next
right:
    w = ld.global.s32 b[j]
    st.global.s32 o[t], w
    j = add.s32 j, 1
    br next
next:
    t = add.s32 t, 1
    br head
done:
    ret
    profile edge {
        entry -> head: 1
        head -> more: 12
        more -> body: 11
        more -> done: 1
        body -> left: 6
        body -> right: 5
        left -> next: 6
        right -> next: 5
        next -> head: 11
    }
}";

#[test]
fn merge_sort_reuses_what_the_last_round_left() {
    assert_eq!(sums(MERGE, window(1)).bounds, [(11, 11); 5]);
    let found = sums(MERGE, window(2));
    assert_eq!((found.definite, found.bounds), (11, [(20, 33), (20, 22), (20, 22), (20, 22), (20, 22)]));
    assert_close(found.expected, 21.0833);
}

const ESTIMATORS: &str = "kernel k(c0: pred, c1: pred, i: s32, j: s32, x: ptr.global, o: ptr.global) {
s:
    br c0, g, s2
s2:
    br c1, r1, r2
g:
    a = ld.global.s32 x[i]
    br c1, r1, f
f:
    b = ld.global.s32 x[i]
    br c1, r3, e
r1:
    br c0, u0, r1b
r1b:
    br c1, r2, z
r2:
    br c0, u1, z
u0:
    c = ld.global.s32 x[i]
    br c1, r3, e
u1:
    d = ld.global.s32 x[i]
    br e
z:
    br c1, k, e
k:
    st.global.s32 x[j], 1
    br r3
r3:
    br c0, u2, e
u2:
    h = ld.global.s32 x[i]
    br e
e:
    ret
    profile edge {
        s -> g: 85
        s -> s2: 110
        s2 -> r1: 20
        s2 -> r2: 90
        g -> r1: 45
        g -> f: 40
        f -> r3: 30
        f -> e: 10
        r1 -> u0: 30
        r1 -> r1b: 35
        r1b -> r2: 10
        r1b -> z: 25
        r2 -> u1: 60
        r2 -> z: 40
        u0 -> r3: 10
        u0 -> e: 20
        u1 -> e: 60
        z -> k: 5
        z -> e: 60
        k -> r3: 5
        r3 -> u2: 15
        r3 -> e: 30
        u2 -> e: 15
    }
}";

#[test]
fn estimators_tighten_the_bounds() {
    let found = sums(ESTIMATORS, VngOptions::default());
    assert_eq!((found.users, found.definite), (230, 40));
    assert_eq!(found.bounds, [(60, 145), (40, 125), (50, 100), (60, 100), (60, 95)]);
    assert_close(found.expected, 78.2564);
}

const TWO_NAMES: &str = "kernel k(c0: pred, c1: pred, i: s32, k: s32, A: ptr.global, o: ptr.global) {
s:
    br c0, g, h
g:
    a = ld.global.s32 A[i]
    br t
h:
    br t
t:
    br c1, a1, b1
a1:
    j = mov.s32 i
    br m
b1:
    j = mov.s32 k
    br m
m:
    b = ld.global.s32 A[i]
    c = ld.global.s32 A[j]
    d = add.s32 b, c
    st.global.s32 o[0], d
    ret
    profile edge {
        s -> g: 60
        s -> h: 40
        g -> t: 60
        h -> t: 40
        t -> a1: 70
        t -> b1: 30
        a1 -> m: 70
        b1 -> m: 30
    }
}";

#[test]
fn splits_duplicate_what_can_come_to_them() {
    let found = sums(TWO_NAMES, VngOptions::default());
    assert_eq!(found.users, 260);
    assert_eq!(found.bounds, [(90, 120), (60, 130), (60, 130), (60, 130), (90, 120)]);
    assert_close(found.expected, 102.0);
}

const CARRIED: &str = "kernel q(c: pred, i: s32, k: s32, A: ptr.global, o: ptr.global) {
s:
    x = ld.global.s32 A[i]
    n = mov.s32 0
    br head
head:
    br c, a, b
a:
    j = mov.s32 i
    br next
b:
    j = mov.s32 k
    br next
next:
    y = ld.global.s32 A[j]
    n = add.s32 n, 1
    more = setp.lt.s32 n, 10
    br more, head, done
done:
    ret
    profile edge {
        s -> head: 1
        head -> a: 8
        head -> b: 2
        a -> next: 8
        b -> next: 2
        next -> head: 9
        next -> done: 1
    }
}";

#[test]
fn carried_values_are_bounded_by_the_users() {
    let found = sums(CARRIED, VngOptions::default());
    assert_eq!(found.definite, 8);
    assert_eq!(found.bounds[0], (0, 9));
}

const AT_HAND: &str = "kernel q(c: pred, a: s32, b: s32, o: ptr.global) {
s:
    br c, l, r
l:
    d = add.s32 a, 1
    br m
r:
    d = sub.s32 b, 3
    br m
m:
    e = sub.s32 d, 1
    st.global.s32 o[0], e
    ret
    profile edge {
        s -> l: 30
        s -> r: 70
        l -> m: 30
        r -> m: 70
    }
}";

#[test]
fn parameters_are_at_hand() {
    let found = sums(AT_HAND, VngOptions { seeds: Seeds::Arithmetic, ..VngOptions::default() });
    assert_eq!((found.users, found.bounds[0], found.bounds[4]), (200, (30, 100), (30, 30)));
}

const TWICE: &str = "kernel q(p: ptr.global, o: ptr.global) {
s:
    x = ld.global.u64 p[0]
    w = ld.global.s32 [x + 8]
    br m
m:
    y = ld.global.u64 p[0]
    z = ld.global.s32 [y + 8]
    v = add.s32 w, z
    st.global.s32 o[0], v
    ret
    profile edge { s -> m: 10 }
}";

#[test]
fn pointers_are_followed_through_memory() {
    let found = |dereferences| sums(TWICE, VngOptions { dereferences, ..VngOptions::default() });
    assert_eq!((found(0).users, found(0).definite), (40, 10));
    assert_eq!((found(1).users, found(1).definite), (40, 20));
}

fn kills(restrict: &str) -> String {
    format!(
        "kernel q(i: s32, A: ptr.global{restrict}, B: ptr.global) {{
s:
    x = ld.global.s32 A[i]
    br t
t:
    st.global.s32 B[0], 7
    br u
u:
    y = ld.global.s32 A[i]
    st.global.s32 A[i], y
    bar.sync 0
    br v
v:
    z = ld.global.s32 A[i]
    st.global.s32 A[i], z
    w = ld.global.s32 A[i]
    ret
    profile edge {{ s -> t: 10  t -> u: 10  u -> v: 10 }}
}}"
    )
}

#[test]
fn kills_end_the_reuse() {
    let definite =
        |restrict: &str, kills| sums(&self::kills(restrict), VngOptions { kills, ..VngOptions::default() }).definite;
    assert_eq!(
        [Kills::None, Kills::Calls, Kills::Analysis, Kills::All].map(|kills| definite("", kills)),
        [30, 20, 10, 10]
    );
    assert_eq!(definite(" restrict", Kills::Analysis), 20);
}
