//! Treatment of loads that must not fault by `opt --emit ptx`.

use super::{file, good, stderr, warpscope};

/// A load behind its bounds check.
const CHECKED: &str = "\
kernel k(n: u32, x: ptr.global, o: ptr.global) {
entry:
    t = mov.u32 %tid
    p = setp.lt.u32 t, n
    r = mov.u32 7
    br p, in, out
in:
    v = ld.global.u32 x[t]
    r = add.u32 v, 1
    br out
out:
    st.global.u32 o[t], r
    ret
}
launch k {
    block 32
    n = 20
    x = buffer u32[20] iota
    o = buffer u32[64] const 0
}
";

/// Two loads, one of which is redundant on the path that a profile finds executed.
const PROFILED: &str = "\
kernel k(p: u32, n: u32, x: ptr.global restrict, o: ptr.global restrict) {
entry:
    q = setp.ne.u32 p, 0
    i = mov.u32 %tid
    br q, first, other
first:
    a = ld.global.u32 x[i]
    st.global.u32 o[i], a
    br join
other:
    br join
join:
    s = setp.lt.u32 i, n
    br s, second, out
second:
    b = ld.global.u32 x[i]
    st.global.u32 o[i + 64], b
    ret
out:
    ret
    profile path {
        entry first join second: 90
        entry other join second: 90
        entry other join out: 1
    }
}
launch k {
    block 64
    p = 0
    n = 20
    x = buffer u32[20] iota
    o = buffer u32[128] const 0
}
";

/// A program after a pass with `--emit ptx` computes what the source computes, and faults nowhere.
fn assert_sound(source: &str, passes: &str) -> String {
    let path = file(&format!("{}.wir", passes.replace(['[', ']', '='], "-")), source);
    let path = path.to_str().expect("a plain path");
    let ptx = good(&["opt", path, "--passes", passes, "--emit", "ptx"], "");
    let written = file(&format!("{}.ptx", passes.replace(['[', ']', '='], "-")), &ptx);
    good(&["equiv", path, written.to_str().expect("a plain path"), "--trials", "4"], "");
    ptx
}

#[test]
fn guards_loads_where_ptx_is_asked_for() {
    for pass in ["ssrqp", "ssrqp-s", "srqp", "esrqp"] {
        assert_sound(CHECKED, pass);
    }
    let ptx = assert_sound(CHECKED, "ssrqp[cost=paper]");
    let load = ptx.lines().find(|line| line.contains("ld.global")).expect("the load");
    assert!(load.trim_start().starts_with('@') || ptx.contains("bra $out"), "{ptx}");
    // In the laboratory the load is marked.
    let text = good(&["opt", "-", "--passes", "ssrqp[cost=paper]"], CHECKED);
    assert!(text.contains("ld.global.spec.u32"), "{text}");
}

#[test]
fn leaves_loads_of_a_profile_where_ptx_is_asked_for() {
    let text = good(&["opt", "-", "--passes", "spec-pre"], PROFILED);
    assert!(text.contains("ld.global.spec.u32"), "{text}");
    assert_sound(PROFILED, "spec-pre");
    let text = good(&["opt", "-", "--passes", "spec-pre[faulting=never]"], PROFILED);
    assert!(!text.contains(".spec"), "{text}");
}

#[test]
fn refuses_loads_that_must_not_fault() {
    for (passes, source) in [("ssrqp[cost=paper,faulting=spec]", CHECKED), ("spec-pre[faulting=spec]", PROFILED)] {
        let refused = warpscope(&["opt", "-", "--passes", passes, "--emit", "ptx"], source);
        let message = stderr(&refused);
        assert_eq!(refused.status.code(), Some(1), "{message}");
        assert!(refused.stdout.is_empty());
        assert!(message.contains("ld.global.spec.u32") && message.contains("of `k` must not fault"), "{message}");
        assert!(message.contains("--plain-loads"), "{message}");
        let printed = warpscope(&["opt", "-", "--passes", passes, "--emit", "ptx", "--plain-loads"], source);
        assert_eq!(printed.status.code(), Some(0), "{}", stderr(&printed));
        let text = String::from_utf8_lossy(&printed.stdout).into_owned();
        let message = stderr(&printed);
        let line = message.split("line ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a line");
        let line: usize = line.parse().expect("a number");
        assert!(text.lines().nth(line - 1).is_some_and(|line| line.contains("ld.global.u32")), "{message}\n{text}");
    }
    // One that the source has itself.
    let source = CHECKED.replace("ld.global.u32", "ld.global.spec.u32");
    let refused = warpscope(&["opt", "-", "--passes", "", "--emit", "ptx"], &source);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("in block `in` of `k`"), "{}", stderr(&refused));
}

#[test]
fn plain_loads_are_a_way_to_print_ptx() {
    let wrong = warpscope(&["opt", "-", "--plain-loads"], CHECKED);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("--emit ptx"), "{}", stderr(&wrong));
}
