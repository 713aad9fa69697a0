//! Value name graphs and estimates: documents, knobs with their types, and refusals.

use serde_json::{Value, json};

use super::{good, json, stderr, warpscope};

/// A loop whose first two rounds load what nothing has loaded before.
const RECURRENT: &str = "kernel k(A: ptr.global restrict, o: ptr.global restrict) {
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
}

launch k {
    grid 1
    block 1
    A = buffer s32[16] iota
    o = buffer s32[1] const 0
}
";

#[test]
fn knobs_of_reports_have_their_types() {
    let names = json(&["vng", "-", "--json", "--kernel", "k", "--window", "2"], RECURRENT);
    assert_eq!(names["knobs"]["window"], json!(2));
    assert_eq!(names["knobs"]["synonyms"], json!(true));
    assert_eq!(names["knobs"]["kills"], json!("analysis"));
    let knob = "estimate.estimators=cmp2,pre";
    let estimate = json(&["estimate", "-", "--json", "--kernel", "k", "--exact", "--knob", knob], RECURRENT);
    assert_eq!(estimate["knobs"]["estimators"], json!(["cmp2", "pre"]));
    assert_eq!(estimate["bounds"], json!({ "cmp2": [8, 9], "pre": [8, 10] }));
    let list = json(&["passes", "--json"], "");
    let knobs = list["analyses"][1]["knobs"].as_array().expect("a list");
    let estimators = knobs.iter().find(|knob| knob["name"] == "estimators").expect("a knob");
    assert_eq!(estimators["kind"], "list");
    assert_eq!(estimators["default"], estimators["words"]);
}

#[test]
fn estimates_from_paths_agree_with_runs() {
    let from_paths = ["estimate", "-", "--json", "--exact", "--network", "--knob", "estimate.from=paths"];
    let reports = json(&from_paths, RECURRENT);
    let report = &reports[0];
    assert_eq!((&report["from"], &report["profile"]), (&Value::from("paths"), &Value::from("simulated")));
    assert_eq!((&report["best"], &report["exact"]), (&json!([8, 8]), &json!(8)));
    assert_eq!(report["correlation"]["count"], report["exact"]);
    let edges = json(&["estimate", "-", "--json", "--exact", "--network"], RECURRENT);
    let networks = edges[0]["values"][0]["networks"].as_array().expect("a list");
    assert_eq!(networks.len(), 2);
    assert_eq!((&networks[0]["available"], &networks[0]["flow"]), (&Value::from(true), &Value::from(9)));
    let edge = &networks[0]["edges"][0];
    assert!(["from", "to", "capacity", "flow"].iter().all(|field| edge[field].is_u64()), "{edge}");
    assert!(networks[0]["cut"].is_array());
}

#[test]
fn refusals_say_what_to_do() {
    let wrong = warpscope(&["estimate", "-", "--knob", "estimate.estimators=cmp9"], RECURRENT);
    assert_eq!(wrong.status.code(), Some(2));
    let message = "`estimators` takes a list of pre, cmp1, cmp2, cmp3, cmp4, not `cmp9`";
    assert!(stderr(&wrong).contains(message), "{}", stderr(&wrong));
    let none = warpscope(&["estimate", "-", "--knob", "estimate.from=paths"], RECURRENT);
    assert_eq!(none.status.code(), Some(1));
    assert!(stderr(&none).contains("`k` has no path profile"), "{}", stderr(&none));
    assert!(good(&["estimate", "-", "--exact"], RECURRENT).contains("correlation profiling counts 8"));
}
