//! Candidates of zero specialisation.

use warpscope_core::inspect::{Anchor, Look, Request};
use warpscope_core::ir::Inst;
use warpscope_core::text::instruction_text;

use super::{choices, inspect, open, row};

#[test]
fn azp_marks_the_slices_of_a_figure_before_it_transforms() {
    let mut session = open("azp/figure-3.wir", "azp", true);
    let found = inspect(&mut session, 0..0, 0, &Request::default()).expect("azp comes next");
    assert_eq!(found.lead, "Next: specialise for candidate 3 (`r0` = 0). Step forward to apply.");
    let best = row(&found, |row| row.is_chosen);
    assert_eq!(
        (best.key.as_str(), best.look, best.verdict.as_ref().map(|verdict| verdict.is_good)),
        ("3", Look::Good, Some(true))
    );
    let module = session.module();
    let func = module.kernels().next().map(|kernel| &module.funcs[kernel]).expect("a kernel");
    let marked = |look: Look| -> Vec<String> {
        let of = |anchor: &Anchor| if let Anchor::Inst(inst) = anchor { Some(Inst::from_u32(*inst)) } else { None };
        let marks = found.marks.iter().filter(|mark| mark.look == look);
        marks.filter_map(|mark| of(&mark.anchor)).map(|inst| instruction_text(module, func, inst)).collect()
    };
    assert_eq!(marked(Look::Cause), ["{r0, g, b0, a0} = tex.2d.v4.f32 T, u, 0.5"]);
    assert_eq!((marked(Look::Constant).len(), marked(Look::Removed).len()), (3, 6));
    let counts: Vec<usize> = found.legend.iter().map(|key| key.count).collect();
    assert_eq!(counts, [1, 3, 0, 6, 0]);
    let check =
        found.marks.iter().find_map(|mark| if let Anchor::Before(inst) = mark.anchor { Some(inst) } else { None });
    let check = check.expect("a place");
    assert!(
        marked(Look::Removed).contains(&instruction_text(module, func, Inst::from_u32(check))),
        "s0 is after the check"
    );
}

#[test]
fn azp_shows_each_round_its_own_candidates() {
    let mut session = open("azp/three-steps.wir", "dce,azp,dce", true);
    let start = session.events_of(1).start;
    let rewrites: Vec<usize> = session.events_of(1).filter(|&at| session.journal().events()[at].is_rewrite()).collect();
    assert_eq!(rewrites.len(), 3);
    let places = [start, rewrites[0] + 1, rewrites[1] + 1, session.events_of(1).end];
    let leads: Vec<String> = places
        .iter()
        .map(|&done| inspect(&mut session, 0..2, done, &Request::default()).expect("candidates").lead)
        .collect();
    assert!(leads[..3].iter().all(|lead| lead.starts_with("Next: specialise for candidate ")), "{leads:?}");
    assert!(leads[3].starts_with("No further candidate pays off"), "{leads:?}");
    let end = session.len();
    session.seek(end);
    let kernel = session.module().kernels().next().expect("a kernel");
    assert!(session.inspected_passes(2..3, kernel).is_empty(), "after the pass nothing is shown");

    let second = inspect(&mut session, 0..2, places[1], &Request::default()).expect("candidates");
    let best = second.tables[0].rows.first().expect("a row").clone();
    assert_eq!((best.cells[1].text.split(' ').count(), best.cells[2].value), (3, None));
    assert!(best.cells[3].value.is_some_and(|value| (value - 0.729).abs() < 1e-9), "{:?}", best.cells[3]);
    let other = row(&second, |row| row.is_choosable && row.key != best.key).key.clone();
    let chosen = inspect(&mut session, 0..2, places[1], &choices(&[("candidate", &other)])).expect("candidates");
    assert_eq!(row(&chosen, |row| row.is_chosen).key, other);
    assert_ne!(chosen.marks, second.marks);
}

#[test]
fn azp_shows_first_what_a_person_chose() {
    let mut session = open("azp/three-steps.wir", "azp", true);
    let first = inspect(&mut session, 0..0, 0, &Request::default()).expect("candidates");
    let other = row(&first, |row| row.is_choosable && !row.is_chosen).key.clone();
    let mut session = open("azp/three-steps.wir", &format!("azp[candidate={other}]"), true);
    let found = inspect(&mut session, 0..0, 0, &Request::default()).expect("candidates");
    assert_eq!((found.tables[0].rows[0].key.as_str(), found.tables[0].rows[0].is_chosen), (other.as_str(), true));
}

#[test]
fn azp_says_why_there_is_no_candidate() {
    let mut unlicensed = open("azp/figure-3.wir", "azp", false);
    let found = inspect(&mut unlicensed, 0..0, 0, &Request::default()).expect("azp comes next");
    let verdict = found.tables[0].rows[0].verdict.as_ref().expect("a verdict");
    assert!(!verdict.is_good && verdict.sentence.contains("fast-math licence"), "{verdict:?}");
    assert!(found.notes.is_empty() && found.lead.contains("changes nothing"), "{}", found.lead);
    let mut without_profile = open("kernel k() {\nentry:\n    ret\n}\n", "azp", true);
    let found = inspect(&mut without_profile, 0..0, 0, &Request::default()).expect("azp comes next");
    assert!(found.lead.starts_with("No profile says") && found.tables[0].rows.is_empty());
    let mut instrumented = open("azp/figure-3.wir", "azp[instrument=on]", true);
    assert!(inspect(&mut instrumented, 0..0, 0, &Request::default()).is_none());
}

#[test]
fn azp_charts_change_over_share_of_zero_warps() {
    let mut session = open("azp/figure-3.wir", "azp", true);
    let found = inspect(&mut session, 0..0, 0, &Request::default()).expect("azp comes next");
    let [chart] = found.charts.as_slice() else { panic!("{:?}", found.charts) };
    let best = row(&found, |row| row.is_chosen);
    let figure = |name: &str, index: &str| {
        let column = found.tables[0].columns.iter().position(|column| (&*column.name, &*column.index) == (name, index));
        best.cells[column.expect("a column")].value.expect("a figure")
    };
    let [line, now] = chart.series.as_slice() else { panic!("{:?}", chart.series) };
    let ends: Vec<(f64, f64)> = line.points.iter().map(|point| (point.x, point.y)).collect();
    let if_zero = figure("T", "check") - (figure("T", "R") - figure("T", "S"));
    assert_eq!(ends, [(0.0, figure("T", "check")), (100.0, if_zero)]);
    assert!((now.points[0].y - figure("T", "δ")).abs() < 1e-9, "{now:?}");
    let marks: Vec<&str> = chart.marks.iter().map(|mark| mark.label.as_str()).collect();
    assert_eq!(marks, ["break-even", "now"]);
    let even = chart.marks[0].at / 100.0;
    assert!((line.points[0].y + even * (if_zero - line.points[0].y)).abs() < 1e-9);
    assert!(
        found.to_string().contains("\nBreak-even: Change for each warp (cycles) by Warps where all are zero (%)\n")
    );
}

#[test]
fn azp_charts_nothing_without_estimate() {
    let mut unlicensed = open("azp/figure-3.wir", "azp", false);
    let found = inspect(&mut unlicensed, 0..0, 0, &Request::default()).expect("azp comes next");
    assert!(found.charts.is_empty());
}
