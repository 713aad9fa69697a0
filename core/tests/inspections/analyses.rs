//! Inspections of analyses: values under many names, and estimates of their reuse.

use warpscope_core::graph::Cfg;
use warpscope_core::inspect::{Anchor, Cell, Inspection, Look, NodeRole, Request};
use warpscope_core::ir::{Func, Module};
use warpscope_core::machine::Machine;
use warpscope_core::pass::Surroundings;
use warpscope_core::profile::estimate::FlagPlan;
use warpscope_core::report::count_reuse;
use warpscope_core::sim::Settings;

use super::{choices, open};

/// A golden program with its edge profile.
fn golden(name: &str) -> String {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/vng").join(name);
    let text = std::fs::read_to_string(file).expect("a golden file");
    text.split("// ----").next().expect("a program").to_owned()
}

fn inspected(program: &str, chosen: &[(&str, &str)]) -> Inspection {
    let mut session = open(program, "dce", false);
    session.seek(0);
    let kernel = session.module().kernels().next().expect("a kernel");
    session.inspect_analysis(kernel, &choices(chosen), &Surroundings { source: program, ..Surroundings::none(0..0) })
}

/// The inspection of estimates with a run of the launch.
fn inspected_with_run(program: &str, chosen: &[(&str, &str)]) -> Inspection {
    let mut session = open(program, "dce", false);
    session.seek(0);
    let kernel = session.module().kernels().next().expect("a kernel");
    let count = |module: &Module, func: Func, cfg: &Cfg, plan: &FlagPlan| {
        let settings = Settings::default();
        count_reuse(module, (func, &settings), Machine::default(), (func, cfg, plan)).ok()
    };
    session.inspect_analysis(
        kernel,
        &choices(chosen),
        &Surroundings { count_reuse: &count, ..Surroundings::none(0..0) },
    )
}

fn table<'i>(found: &'i Inspection, name: &str) -> &'i warpscope_core::inspect::Table {
    found.tables.iter().find(|table| table.name.starts_with(name)).expect("a table")
}

fn texts(found: &Inspection, name: &str, column: usize) -> Vec<String> {
    table(found, name).rows.iter().map(|row| row.cells[column].text.clone()).collect()
}

#[test]
fn estimate_shows_exact_counts_of_the_profiles_run() {
    let counts = golden("estimators.wir");
    let counts = &counts[counts.find("    profile edge").expect("a profile")..counts.rfind('}').expect("an end")];
    for (file, exact) in [("estimators-least.wir", 60), ("estimators-most.wir", 95)] {
        let program = golden(file).replacen("\n}\n", &format!("\n{counts}}}\n"), 1);
        let all = inspected_with_run(&program, &[]);
        let rows = &table(&all, "Values").rows;
        let value = rows.iter().position(|row| row.cells[0].text == "x[i]" && !row.is_part).expect("a value");
        let exact_of = |cell: &Cell| cell.bounds.as_ref().and_then(|bounds| bounds.exact);
        assert_eq!(exact_of(&rows[value].cells[3]), Some(f64::from(exact)));
        let users = rows[value + 1..].iter().take_while(|row| row.is_part).filter_map(|row| exact_of(&row.cells[3]));
        assert_eq!(users.sum::<f64>(), f64::from(exact));
        let found = inspected_with_run(&program, &[("value", &rows[value].key)]);
        assert_eq!(exact_of(&table(&found, "Bounds of x[i]").rows[5].cells[1]), Some(f64::from(exact)));
        assert!(found.lead.ends_with(&format!(", exactly {exact} in the launch.")), "{}", found.lead);
        // Entered counts are of no run, and the run of another profile is none of this one.
        let entered = inspected_with_run(&program, &[("count.0-1", "84")]);
        assert!(!entered.lead.contains("exactly") && entered.notes.iter().all(|note| note.word != "other run"));
        let elsewhere = program.replace("u0 -> r3: 10", "u0 -> r3: 9").replace("u0 -> e: 20", "u0 -> e: 21");
        let elsewhere = elsewhere.replace("r3 -> e: 30", "r3 -> e: 29");
        let other = inspected_with_run(&elsewhere, &[]);
        assert!(!other.lead.contains("exactly") && other.notes.iter().any(|note| note.word == "other run"));
    }
}

#[test]
fn estimate_bounds_tighten_and_hold_the_network() {
    let found = inspected(&golden("estimators.wir"), &[]);
    assert_eq!((found.title.as_str(), found.choices[1].value.as_str()), ("Value flow", "estimate"));
    assert_eq!(found.lead, "60–95 of 230 executions reuse a value, 78.3 if every branch is decided by itself.");
    let bounds = ["40 of 230", "60–145 of 230", "40–125 of 230", "50–100 of 230", "60–100 of 230", "60–95 of 230"];
    assert_eq!(texts(&found, "Bounds of x[i]", 1), bounds);
    assert_eq!(table(&found, "Bounds").scale_end(1), 230.0);
    let values = table(&found, "Values");
    assert!(values.rows[0].is_chosen && !values.rows[0].is_part && values.rows[1].is_part);
    assert_eq!(values.rows[0].cells[3].text, "60–95 of 230");
    let points = &found.charts[0].series[0].points;
    assert_eq!((points.len(), points[4].interval), (5, Some((60.0, 95.0))));

    // The flows of both subregions with the value are the upper bound beyond what is certain.
    let flow = |with: &str| -> u64 {
        let networks = found.networks.iter().filter(|network| network.name.ends_with(with));
        networks.map(|network| network.value).sum()
    };
    assert_eq!((flow("with the value"), flow("without it")), (55, 85));
    for network in &found.networks {
        let cut = network.edges.iter().filter(|edge| edge.is_cut);
        assert_eq!(cut.clone().map(|edge| edge.flow).sum::<u64>(), network.value, "{}", network.name);
        assert!(cut.clone().all(|edge| edge.is_saturated()));
        let is_before = |role| network.nodes.iter().find(|node| node.role == role).map(|node| node.is_before_cut);
        assert_eq!((is_before(NodeRole::Source), is_before(NodeRole::Sink)), (Some(true), Some(false)));
    }
    // Entries and exits have their counts at the border, and the subregions their looks.
    let labels: Vec<&str> = found.marks.iter().map(|mark| mark.text.as_str()).collect();
    assert!(labels.contains(&"2: En+ 45") && labels.contains(&"1: En− 5"), "{labels:?}");
    let shaded = |look: Look| {
        let range = |anchor: &Anchor| matches!(anchor, Anchor::Range { .. });
        found.marks.iter().filter(|mark| mark.look == look && range(&mark.anchor)).count()
    };
    assert_eq!((shaded(Look::Plain), shaded(Look::Partial)), (1, 3));
}

#[test]
fn entered_count_moves_bounds_and_says_what_is_no_profile() {
    let program = golden("estimators.wir");
    let found = inspected(&program, &[]);
    let counts = table(&found, "Counts");
    let row = counts.rows.iter().find(|row| row.cells[0].text == "u0 → r3").expect("an edge");
    let entry = row.cells[1].entry.as_ref().expect("an entry");
    assert_eq!(entry.default, 10);
    let edited = inspected(&program, &[(entry.key.as_str(), "20")]);
    assert_ne!(edited.lead, found.lead);
    let note = edited.notes.iter().find(|note| note.word == "no profile").expect("a note");
    assert_eq!(note.sentence, "These are no counts of whole runs: `u0` is entered 30 times and left 40 times.");
    assert!(table(&edited, "Counts").rows.iter().any(|row| row.look == Look::Bad));
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    // Another edge of the block makes them counts of whole runs again.
    let other = counts.rows.iter().find(|row| row.cells[0].text == "u0 → e").expect("an edge");
    let other = other.cells[1].entry.as_ref().expect("an entry").key.clone();
    let r3 = counts.rows.iter().find(|row| row.cells[0].text == "r3 → e").expect("an edge");
    let r3 = r3.cells[1].entry.as_ref().expect("an entry").key.clone();
    let balanced = inspected(&program, &[(entry.key.as_str(), "20"), (&other, "10"), (&r3, "40")]);
    assert!(balanced.notes.is_empty(), "{:?}", balanced.notes);
}

#[test]
fn vng_shows_threads_of_a_value_and_of_an_instruction() {
    let program = golden("synonyms.wir");
    let found = inspected(&program, &[("analysis", "vng")]);
    assert!(found.lead.starts_with("Of 2 computations 1 reuse"), "{}", found.lead);
    let values = table(&found, "Values");
    assert_eq!(texts(&found, "Values", 2).iter().filter(|text| *text == "● must").count(), 1);
    assert!(!found.strands.is_empty() && found.strands.len() == table(&found, "Threads").rows.len());
    let part = values.rows.iter().rfind(|row| row.is_part).expect("an instruction");
    let one = inspected(&program, &[("analysis", "vng"), ("value", &part.key)]);
    let chosen = table(&one, "Values").rows.iter().find(|row| row.is_chosen).expect("a chosen row");
    assert_eq!(chosen.key, part.key);
    let bars = &found.charts[0].series[0].points;
    assert!(bars.len() == 4 && bars[0].y <= bars[3].y);
}

#[test]
fn knobs_of_analyses_are_choices() {
    let program = golden("minimum.wir");
    let found = inspected(&program, &[("analysis", "vng"), ("vng.window", "1")]);
    let window = found.choices.iter().find(|choice| choice.key == "vng.window").expect("a choice");
    assert_eq!((window.value.as_str(), window.options.len(), window.is_setting), ("1", 8, true));
    assert!(found.choices.iter().all(|choice| choice.key != "vng.names"), "knobs with many values are no choices");
    let wide = inspected(&program, &[("analysis", "vng")]);
    assert_ne!(texts(&found, "Values", 2), texts(&wide, "Values", 2));
    let wrong = inspected(&program, &[("analysis", "vng"), ("vng.window", "99")]);
    assert!(wrong.notes[0].sentence.contains("`window` takes"), "{:?}", wrong.notes[0]);
}

#[test]
fn analyses_inspect_each_position_and_empty_kernels() {
    let twice = "kernel k(x: ptr.global, y: ptr.global) {\nentry:\n    a = ld.global.u32 x[0]\n    b = \
                 ld.global.u32 x[0]\n    c = add.u32 a, b\n    st.global.u32 y[0], c\n    ret\n}\n";
    let mut session = open(twice, "gvn-cse,dce", false);
    let kernel = session.module().kernels().next().expect("a kernel");
    session.seek(0);
    let before = session.inspect_analysis(kernel, &Request::default(), &Surroundings::none(0..0));
    session.seek(usize::MAX);
    let after = session.inspect_analysis(kernel, &Request::default(), &Surroundings::none(0..0));
    let insts = |found: &Inspection| found.tables[0].rows.iter().filter(|row| row.is_part).count();
    assert_eq!((insts(&before), insts(&after)), (2, 1));
    for analysis in ["vng", "estimate"] {
        let found = inspected("kernel k() {\nentry:\n    ret\n}\n", &[("analysis", analysis)]);
        assert!(found.tables[0].rows.is_empty() && found.strands.is_empty());
    }
}

#[test]
fn entered_counts_of_whole_runs_can_be_written_into_the_program() {
    let program = golden("synonyms.wir");
    let plain = inspected(&program, &[]);
    let counts = table(&plain, "Counts");
    let keys: Vec<&str> = counts.rows.iter().map(|row| row.key.as_str()).collect();
    assert_eq!((keys.len(), plain.offers.len()), (4, 0));
    let edited = |chosen: &[(&str, &str)]| inspected(&program, chosen);
    assert!(edited(&[(keys[0], "40")]).offers.is_empty(), "one count alone is no profile");
    let all: Vec<(&str, &str)> =
        counts.rows.iter().filter(|row| row.cells[0].text.contains('l')).map(|row| (row.key.as_str(), "40")).collect();
    let offered = edited(&all).offers.pop().expect("an offer").source;
    assert!(offered.contains("s -> l: 40\n") && offered.contains("r -> m: 70\n"), "{offered}");
}

#[test]
fn entered_counts_move_lanes_that_end_in_calls() {
    let arithmetic = ("vng.seeds", "arithmetic");
    let program = golden("ended-in-a-call.wir");
    let found = inspected(&program, &[arithmetic]);
    assert!(found.lead.starts_with("30–60 of 230 executions") && found.notes.is_empty(), "{}", found.lead);
    let key = &table(&found, "Counts").rows.iter().find(|row| row.cells[0].text == "m → u").expect("an edge").key;
    let edited = inspected(&program, &[arithmetic, (key.as_str(), "90")]);
    assert!(edited.lead.starts_with("50–60 of 250 executions") && edited.notes.is_empty(), "{}", edited.lead);
    let more = inspected(&program, &[arithmetic, (key.as_str(), "101")]);
    assert_eq!(more.notes[0].word, "no profile");
    let several = inspected(&golden("ended-in-several-calls.wir"), &[arithmetic]);
    assert_eq!(several.notes[0].sentence, "These counts do not say how many lanes end in calls of `m`.");
}
