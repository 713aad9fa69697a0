//! The table of values of a walk over the dominator tree.

use std::ops::Range;

use warpscope_core::inspect::{Anchor, Inspection, Look, Moment, Timeline};
use warpscope_core::session::Session;

use crate::{inspect_kept, open, stops};

const EXAMPLE: &str = "phases/gvn-cse.wir";

/// The table that led to a change, counted from 1, at a moment or at the usual one.
fn walk(session: &mut Session, passes: &Range<usize>, step: usize, moment: Option<usize>) -> Option<Inspection> {
    let done = stops(session, passes.clone())[step - 1];
    inspect_kept(session, ("Values", passes.clone()), done, moment)
}

fn timeline(found: &Inspection) -> &Timeline {
    found.timeline.as_ref().expect("a timeline")
}

/// The moment that an inspection is about.
fn told(found: &Inspection) -> Option<&Moment> {
    let timeline = timeline(found);
    timeline.moments.get(timeline.at.checked_sub(timeline.first + 1)?)
}

fn leaders(found: &Inspection, look: Look) -> Vec<&str> {
    let rows = found.tables[0].rows.iter().filter(|row| row.look == look);
    rows.map(|row| row.cells[2].text.as_str()).collect()
}

#[test]
fn every_moment_is_shown_at_the_change_that_it_leads_to() {
    for (pipeline, before) in [("gvn-cse", 0), ("copy-prop,gvn-cse", 1), ("@ptxas", 0)] {
        let mut session = open(EXAMPLE, pipeline, false);
        let passes = before..session.reports().len();
        let mut walked = 0;
        for step in 1..=stops(&session, passes.clone()).len() {
            let Some(found) = walk(&mut session, &passes, step, None) else { continue };
            walked += 1;
            let kernel = session.module().kernels().next().expect("a kernel");
            let shown = session.inspected_passes(passes.clone(), kernel);
            assert!(shown.iter().any(|&(pass, _)| session.reports()[pass].name == "gvn-cse"), "only it has a table");
            let course = &timeline(&found).course;
            assert_eq!(course.step_of(timeline(&found).at), step);
            assert_eq!(told(&found).map(|moment| (moment.word.as_str(), moment.look)), Some(("hit", Look::Good)));
            assert_eq!(leaders(&found, Look::Good).len(), 1);
            for moment in course.moments_of(step - course.changes_before) {
                let other = walk(&mut session, &passes, step, Some(moment)).expect("the same walk");
                assert_eq!((timeline(&other).at, &timeline(&other).course), (moment, course));
                let sentence = told(&other).map_or("Before the walk: nothing is known.", |moment| &moment.sentence);
                assert_eq!(other.lead, sentence);
            }
        }
        assert_eq!(walked, 2, "{pipeline}");
    }
}

#[test]
fn a_moment_of_another_change_is_the_nearest_one_of_this() {
    let mut session = open(EXAMPLE, "gvn-cse", false);
    let mut walk = |step, moment| walk(&mut session, &(0..1), step, Some(moment)).expect("a table");
    let first = walk(1, 1_000);
    let change = timeline(&first).course.changes[0];
    assert_eq!(timeline(&first).at, change);
    assert_eq!(timeline(&walk(2, 0)).at, change + 1);
    let end = walk(2, usize::MAX);
    let last = timeline(&end).course.last;
    assert_eq!((timeline(&end).at, end.tables[0].rows.len(), end.trail.len()), (last, 0, 0));
    assert_eq!(end.tables[0].empty, "No scope is open: the table is empty.");
    assert!(end.graphs[0].nodes.iter().all(|node| node.look == Look::Closed));
}

#[test]
fn the_walk_is_told_moment_by_moment() {
    let mut session = open(EXAMPLE, "gvn-cse", false);
    let found = walk(&mut session, &(0..1), 1, None).expect("a table");
    let moments = &timeline(&found).moments;
    assert_eq!((timeline(&found).first, moments.len()), (0, timeline(&found).course.last));
    let told = |word: &str| -> Vec<&str> {
        moments.iter().filter(|moment| moment.word == word).map(|moment| moment.sentence.as_str()).collect()
    };
    assert_eq!(
        told("opens"),
        [
            "The walk begins in `entry`.",
            "A scope opens for `then` inside that of `entry`.",
            "A scope opens for `join` inside that of `entry`."
        ]
    );
    assert_eq!(told("holds too"), ["`again` holds `v4` too; `s` leads.", "`t` holds `v4` too; `s` leads."]);
    assert_eq!(told("closes")[0], "The scope of `then` closes and takes back one number.");
    assert_eq!((told("hit").len(), told("refused").len(), told("enters").len()), (2, 1, 12));
    assert!(moments.iter().all(|moment| matches!(moment.focus, Some(Anchor::Block(_)))));
}

#[test]
fn the_trail_and_the_tree_say_what_is_open() {
    let mut session = open(EXAMPLE, "gvn-cse", false);
    let hit = walk(&mut session, &(0..1), 1, None).expect("a table");
    let trail: Vec<(&str, Look)> = hit.trail.iter().map(|node| (node.label.as_str(), node.look)).collect();
    assert_eq!(trail, [("entry", Look::Plain), ("then", Look::Current)]);
    let tree = &hit.graphs[0];
    let look = |name: &str| tree.nodes.iter().find(|node| node.label == name).map(|node| node.look);
    assert_eq!(tree.name, "dominator tree");
    assert_eq!(["entry", "then", "join"].map(look), [Look::Plain, Look::Current, Look::Closed].map(Some));
    let edges: Vec<(&str, &str)> =
        tree.edges.iter().map(|&(from, to)| (tree.nodes[from].label.as_str(), tree.nodes[to].label.as_str())).collect();
    assert_eq!(edges, [("entry", "then"), ("entry", "join")]);
    // In one block nothing is taken from another.
    let mut session = open(EXAMPLE, "gvn-cse[EnableGvnCseMode=1]", false);
    let done = session.len();
    let found = inspect_kept(&mut session, ("Values", 0..1), done, Some(10)).expect("a table");
    let trail: Vec<Look> = found.trail.iter().map(|node| node.look).collect();
    assert_eq!(trail, [Look::Faint, Look::Current]);
    let faint: Vec<_> = found.tables[0].rows.iter().filter(|row| row.look == Look::Faint).collect();
    assert!(!faint.is_empty() && faint.iter().all(|row| row.help == "not in scope in this mode"));
}

#[test]
fn holders_besides_the_leader_are_named() {
    let mut session = open(EXAMPLE, "gvn-cse", false);
    let found = walk(&mut session, &(0..1), 2, Some(11)).expect("a table");
    let row = found.tables[0].rows.iter().find(|row| row.cells[0].text == "v4").expect("a row");
    let texts: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(texts, ["v4", "add.u32 v2, v3", "s, also again", "entry"]);
    assert_eq!(row.look, Look::New);
    assert!(matches!(row.anchor, Some(Anchor::Inst(_))));
    let parameter = found.tables[0].rows.iter().find(|row| row.cells[1].text == "parameter").expect("a row");
    assert!(matches!(parameter.anchor, Some(Anchor::Block(_))), "no instruction writes it");
}

#[test]
fn a_refusal_marks_what_could_not_be_taken() {
    let mut session = open(EXAMPLE, "gvn-cse", false);
    let end = walk(&mut session, &(0..1), 2, None).expect("a table");
    let refusal = end.tables[1].rows.iter().find(|row| row.look == Look::Bad).expect("a refusal");
    assert_eq!((refusal.cells[0].text.as_str(), refusal.cells[1].text.contains("`second = ")), ("memory", true));
    let moment = refusal.moment.expect("a moment");
    let step = timeline(&end).course.step_of(moment);
    let found = walk(&mut session, &(0..1), step, Some(moment)).expect("a table");
    assert_eq!(leaders(&found, Look::Bad), ["first"]);
    assert_eq!(told(&found).map(|moment| (moment.word.as_str(), moment.look)), Some(("refused", Look::Bad)));
}

#[test]
fn what_is_left_out_of_a_large_table_is_counted() {
    let sums: String =
        (0..2_500).map(|at| format!("    s{at} = add.u32 n, {at}\n    t{at} = add.u32 n, {at}\n")).collect();
    let source = format!("kernel k(n: u32) {{\nentry:\n{sums}    ret\n}}\n");
    let mut session = open(&source, "gvn-cse", false);
    let last = walk(&mut session, &(0..1), 2_500, None).expect("a table");
    let [values, findings] = &last.tables[..] else { panic!("two tables") };
    // `n`, and each sum.
    assert_eq!(values.rows.len() + values.left_out, 2_501);
    assert_eq!((values.rows.len(), findings.rows.len(), findings.left_out), (2_000, 2_000, 500));
    assert_eq!(values.rows.last().map(|row| row.look), Some(Look::Good), "what was found last is in it");
    let Timeline { first, at, moments, course, .. } = timeline(&last);
    assert_eq!((moments.len(), *first), (2_000, course.last - 2_000));
    assert!(first < at);
    assert_eq!(told(&last).map(|moment| moment.word.as_str()), Some("hit"));
    let middle = walk(&mut session, &(0..1), 1_250, None).expect("a table");
    assert_eq!(timeline(&middle).first + 1_000, timeline(&middle).at);
    assert_eq!(told(&middle).map(|moment| moment.word.as_str()), Some("hit"));
}

#[test]
fn without_changes_the_table_is_shown_when_it_is_fullest() {
    let source = "kernel k(n: u32) {\nentry:\n    a = add.u32 n, 1\n    b = add.u32 a, 2\n    ret\n}\n";
    let mut session = open(source, "gvn-cse,dce", false);
    let found = inspect_kept(&mut session, ("Values", 0..1), 0, None).expect("a table");
    let at = timeline(&found).at;
    assert_eq!((found.tables[0].rows.len(), at + 1), (3, timeline(&found).course.last));
    assert_eq!(found.tables[1].empty, "No repeated values found.");
    let start = inspect_kept(&mut session, ("Values", 0..1), 0, Some(0)).expect("a table");
    assert_eq!((start.lead.as_str(), start.trail.len()), ("Before the walk: nothing is known.", 0));
    assert!(inspect_kept(&mut session, ("Values", 1..2), 0, None).is_none(), "dce has no table");
    let mut session = open(source, "gvn-cse[EnableGvnCse=off]", false);
    assert!(inspect_kept(&mut session, ("Values", 0..1), 0, None).is_none());
}
