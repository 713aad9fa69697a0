//! Demands: whether one instruction's value is available.

use serde_json::{Value, json};

use crate::{json as answer, stderr, warpscope};

const TWICE: &str = "\
kernel k(i: s32, A: ptr.global restrict, o: ptr.global restrict) {
s:
    a = ld.global.s32 A[i]
    j = add.s32 i, 0
    b = ld.global.s32 A[j]
    c = add.s32 a, b
    st.global.s32 o[0], c
    ret
}
";

#[test]
fn demand_gives_answer_and_thread() {
    let report = answer(&["vng", "-", "--kernel", "k", "--at", "s.2", "--json"], TWICE);
    assert_eq!((&report["answer"], &report["visited"]), (&json!("must"), &json!(2)));
    assert_eq!((&report["seed"]["name"], &report["seed"]["kind"]), (&json!("A[i]"), &json!("user")));
    let source = &report["thread"][0]["from"][0];
    assert_eq!(source["why"], json!("computed by `a = ld.global.s32 A[i]` in s"));
    let all = answer(&["vng", "-", "--at", "s.0", "--json"], TWICE);
    assert_eq!((&all[0]["answer"], all.as_array().map(Vec::len)), (&json!("no"), Some(1)));
    let stored = answer(&["vng", "-", "--kernel", "k", "--at", "s.4", "--json"], TWICE);
    assert_eq!(stored["answer"], Value::Null);
}

#[test]
fn wrong_places_are_diagnosed() {
    for (at, message) in [
        ("s", "expected `LABEL.INDEX`, found `s`"),
        ("t.0", "`k` has no block `t`"),
        ("s.9", "block `s` of `k` has 6 instructions, counted from 0; there is no `s.9`"),
        ("s.1", "`s.1` is no seed: `j = add.s32 i, 0`; the knob `vng.seeds` chooses seeds"),
    ] {
        let output = warpscope(&["vng", "-", "--at", at], TWICE);
        assert_eq!((output.status.code(), stderr(&output)), (Some(2), format!("error: {message}\n")));
    }
}
