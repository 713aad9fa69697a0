//! Executed paths, and how statements sink or evaluations are brought up.

use warpscope_core::inspect::{Anchor, Choice, Inspection, Look, Mark, Moment, Note, Request, Row, Timeline};
use warpscope_core::ir::{Block, Func, Module, WarpCounts, WarpEntry};
use warpscope_core::pass::Surroundings;
use warpscope_core::session::Session;

use super::{choices, inspect, inspect_with, open, source};

const PDE: &str = "pde[machine=unit]";
const SPEC_PRE: &str = "spec-pre[machine=unit]";

const FIGURE_5: &str = "pde/figure-5.wir";
const FIGURE_3: &str = "pde/figure-3.wir";
const FIGURE_11: &str = "spec-pre/figure-11.wir";

/// The paths before the first change.
fn paths(program: &str, pipeline: &str, chosen: &[(&str, &str)]) -> Inspection {
    inspect(&mut open(program, pipeline, false), 0..0, 0, &choices(chosen)).expect("paths")
}

/// An inspection with the text of the program at hand.
fn paths_of(text: &str, pipeline: &str, chosen: &[(&str, &str)]) -> Inspection {
    let surroundings = Surroundings { source: text, ..Surroundings::none(0..0) };
    inspect_with(&mut open(text, pipeline, false), 0, &choices(chosen), surroundings).expect("paths")
}

fn choice<'a>(found: &'a Inspection, key: &str) -> &'a Choice {
    found.choices.iter().find(|choice| choice.key == key).expect("a choice")
}

/// Names and words of the joins or branches.
fn joins(found: &Inspection) -> Vec<(&str, &str)> {
    choice(found, "join").options.iter().map(|option| (option.label.as_str(), option.note.as_str())).collect()
}

/// The request with another join.
fn at_join(found: &Inspection, name: &str) -> String {
    let option = choice(found, "join").options.iter().find(|option| option.label == name).expect("a join");
    option.value.clone()
}

fn note<'a>(found: &'a Inspection, has: &str) -> &'a Note {
    let is_it = |note: &&Note| note.sentence.contains(has);
    found.notes.iter().find(is_it).unwrap_or_else(|| panic!("{has}: {:?}", found.notes))
}

/// Benefit against cost at the join that is shown.
fn weighed(found: &Inspection) -> &Note {
    choice(found, "join").result.as_ref().expect("a join that was weighed")
}

fn line(found: &Inspection) -> &str {
    &weighed(found).sentence
}

/// Declared frequencies of the paths that have a 1 in a column.
fn in_set(found: &Inspection, column: &str) -> Vec<u64> {
    let table = &found.tables[0];
    let at = table.columns.iter().position(|other| other.name == column).expect("a column");
    let rows = table.rows.iter().filter(|row| row.cells[at].text == "1");
    rows.map(|row| row.cells[2].entry.as_ref().expect("a frequency").default).collect()
}

/// All moments, that of the start first.
fn moments(found: &Inspection) -> Vec<&Moment> {
    let Timeline { start, moments, .. } = found.timeline.as_ref().expect("a way");
    start.iter().chain(moments).collect()
}

fn words(found: &Inspection) -> Vec<&str> {
    moments(found).iter().map(|moment| moment.word.as_str()).collect()
}

/// The keys of the frequencies.
fn frequency_keys(found: &Inspection) -> Vec<String> {
    let key = |row: &Row| row.cells[2].entry.as_ref().expect("an entry").key.clone();
    found.tables[0].rows.iter().map(key).collect()
}

#[test]
fn pde_tells_a_figure_as_the_paper_does() {
    let found = paths(FIGURE_5, PDE, &[]);
    assert_eq!(found.title, "Paths");
    assert!(found.lead.starts_with("Next, `x = mul.f32 a, b` sinks"), "{}", found.lead);
    assert!(found.notes.iter().any(|note| note.sentence == "Frequencies: from the program's `profile path`."));
    let table = &found.tables[0];
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(columns, ["Path", "Blocks", "Freq", "avail", "remov", "benefit", "cost"]);
    assert_eq!((table.rows.len(), table.left_out, found.strands.len()), (8, 0, 8));
    assert_eq!(table.columns[3].help, "X-APATHS: s reaches n5 along the path, and can go on from there");
    let first = &table.rows[0];
    let cells: Vec<&str> = first.cells.iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!(cells, ["P1", "n1 n2 n5 n7 n12", "125", "1", "1", "1", "0"]);
    assert_eq!(first.cells[2].help, "43.1 % of all executions");
    assert_eq!((first.strand, first.anchor.as_ref()), (Some(0), Some(&Anchor::Path(found.strands[0].blocks.clone()))));
    assert!((found.strands[0].share - 125.0 / 290.0).abs() < 1e-9);
    let past = &table.rows[5];
    assert_eq!((past.cells[3].text.as_str(), past.cells[3].help.as_str()), ("–", "It does not go through n5"));

    let statement = choice(&found, "statement");
    let shown = statement.options.iter().find(|option| option.value == statement.value).expect("an option");
    assert_eq!((shown.label.as_str(), shown.note.as_str()), ("x = mul.f32 a, b · n2", "sinks"));
    assert!(statement.is_long && statement.label == "Statement");
    assert_eq!(joins(&found), [("n5", "enabled"), ("n9", "enabled")]);
    let weighed = weighed(&found);
    assert_eq!(weighed.sentence, "Saves 150 × 1 T[s], costs 100 × 1 T[p?s]: worth it");
    let terms: Vec<&str> = weighed.terms.iter().map(|term| term.name.as_str()).collect();
    assert_eq!((weighed.look, terms), (Look::Good, vec!["T[s]", "T[p?s]"]));
    assert_eq!((in_set(&found, "benefit"), in_set(&found, "cost")), (vec![125, 25], vec![50, 50]));
    note(&found, "together with `n9`");

    let nine = paths(FIGURE_5, PDE, &[("join", &at_join(&found, "n9"))]);
    assert_eq!(line(&nine), "By itself: saves 25 × 1 T[s], costs 100 × 1 T[p?s]: not worth it");
    note(&nine, "because the benefit of `n5` needs that");
}

#[test]
fn pde_tells_the_way_of_a_statement() {
    let found = paths(FIGURE_5, PDE, &[]);
    let told = words(&found);
    assert_eq!(told.first(), Some(&"start"));
    assert!(told.ends_with(&["delayed", "inserted", "eliminated", "predicate"]), "{told:?}");
    let timeline = found.timeline.as_ref().expect("a way");
    assert_eq!((timeline.first, timeline.at, timeline.course.last), (0, 0, told.len() - 1));
    assert!(timeline.leads_to_change && timeline.name == "Path of the statement");
    assert_eq!(timeline.told(0).map(|moment| moment.word.as_str()), Some("start"));
    assert_eq!(timeline.told(timeline.course.last).map(|moment| moment.word.as_str()), Some("predicate"));
    let marks: Vec<&Mark> = timeline.marks_at(timeline.course.last).map(|(_, mark)| mark).collect();
    assert_eq!(marks.len(), moments(&found).iter().map(|moment| moment.marks.len()).sum::<usize>());
    let removed = marks.iter().filter(|mark| mark.look == Look::Removed).count();
    let lands = |label: &str| marks.iter().filter(|mark| mark.look == Look::New && mark.text == label).count();
    assert_eq!((removed, lands("x"), lands("@p1 x")), (2, 3, 1), "{marks:?}");
    let start = &moments(&found)[0];
    assert!(matches!(start.marks.as_slice(), [Mark { anchor: Anchor::Range { from: Some(_), to: None, .. }, .. }]));
    // The predicate comes last, and the later join says whose benefit needs it.
    let all = moments(&found);
    let predicate = all.last().expect("a moment");
    assert!(matches!(predicate.marks.as_slice(), [Mark { text, .. }] if text == "@p1 x"));
    let at_nine = all.iter().find(|moment| moment.sentence.contains("the join `n9`")).expect("a moment");
    assert!(
        at_nine.sentence.contains("and passes as the benefit of `n5` needs that. By itself: "),
        "{}",
        at_nine.sentence
    );
    // Each edge along which it comes is told of once.
    let edge = |mark: &&Mark| if let Anchor::Edge(from, to) = mark.anchor { Some((from, to)) } else { None };
    let mut edges: Vec<(u32, u32)> = marks.iter().filter_map(edge).collect();
    let count = edges.len();
    edges.sort_unstable();
    edges.dedup();
    assert!(count == edges.len() && count > 4, "{edges:?}");
}

#[test]
fn pde_says_which_join_another_one_needs_by_the_printed_rule() {
    let pipeline = "pde[machine=unit,rule=printed]";
    let found = paths("pde/printed-rule.wir", pipeline, &[]);
    assert_eq!(line(&found), "Saves 150 × 1 T[s], costs 50 × 1 T[p?s]: worth it");
    let nine = paths("pde/printed-rule.wir", pipeline, &[("join", &at_join(&found, "n9"))]);
    note(&nine, "because the benefit of `n5` needs that");
    assert_eq!(line(&nine), "By itself: saves 25 × 1 T[s], costs 200 × 1 T[p?s]: not worth it");
    assert_eq!(weighed(&nine).look, Look::Good);
}

#[test]
fn pde_shows_the_count_of_the_paper_beside_its_own() {
    let found = paths("pde/figure-6.wir", PDE, &[]);
    let five = paths("pde/figure-6.wir", PDE, &[("join", &at_join(&found, "n5"))]);
    assert_eq!(line(&five), "Saves 85 × 1 T[s], costs 5 × 1 T[p?s]: worth it");
    note(&five, "The paper counts a benefit of 95: 10 of these");
    assert_eq!(weighed(&five).aside, "the paper counts 95");
    assert!(five.to_string().contains("(the paper counts 95)"), "{five}");
}

#[test]
fn paths_are_said_to_be_estimated_or_measured() {
    let text = source(FIGURE_5);
    let (head, rest) = text.split_once("    profile path {").expect("a profile");
    let (_, tail) = rest.split_once("    }\n").expect("its end");
    let counts = [
        ("n1 -> n2", 160),
        ("n1 -> n3", 130),
        ("n2 -> n5", 160),
        ("n3 -> n4", 70),
        ("n3 -> n6", 60),
        ("n4 -> n5", 70),
        ("n5 -> n7", 135),
        ("n5 -> n8", 95),
        ("n8 -> n9", 95),
        ("n6 -> n9", 60),
        ("n9 -> n10", 45),
        ("n9 -> n11", 110),
        ("n7 -> n12", 135),
        ("n10 -> n12", 45),
        ("n11 -> n12", 110),
    ];
    let lines: String = counts.iter().map(|(edge, count)| format!("        {edge}: {count}\n")).collect();
    let estimated = format!("{head}    profile edge {{\n{lines}    }}\n{tail}");
    let found = paths_of(&estimated, PDE, &[]);
    note(&found, "Frequencies: estimated from counts of edges");
    // Whoever changes an estimate declares the rest.
    let key = &frequency_keys(&found)[0];
    let edited = paths_of(&estimated, PDE, &[(key.as_str(), "1")]);
    assert!(edited.offers[0].source.contains("profile path {"), "{}", edited.offers[0].source);

    let surroundings = Surroundings { is_measured: true, ..Surroundings::none(0..0) };
    let mut session = open(FIGURE_5, PDE, false);
    let found = inspect_with(&mut session, 0, &Request::default(), surroundings).expect("paths");
    note(&found, "Frequencies: measured by the simulator.");
}

#[test]
fn another_frequency_changes_the_verdict_and_can_be_written() {
    let text = source(FIGURE_5);
    let first = paths_of(&text, PDE, &[]);
    assert!(first.offers.is_empty());
    let key = frequency_keys(&first)[0].clone();
    assert!(key.starts_with("frequency.0-1-"), "{key}");
    let other = paths_of(&text, PDE, &[(&key, "20")]);
    let frequency = &other.tables[0].rows[0].cells[2];
    let entry = frequency.entry.as_ref().expect("an entry");
    assert_eq!((frequency.value, entry.default, entry.label.as_str()), (Some(20.0), 125, "Frequency of P1"));
    assert!(other.lead.contains("nothing would sink"), "{}", other.lead);
    assert_eq!(choice(&other, "statement").value, choice(&first, "statement").value, "it is the same statement");
    assert!(!other.timeline.as_ref().expect("a way").leads_to_change);
    assert_eq!(line(&other), "Saves 45 × 1 T[s], costs 100 × 1 T[p?s]: not worth it");
    assert_eq!((joins(&other)[0].1, weighed(&other).look), ("refused", Look::Plain));
    let [offer] = other.offers.as_slice() else { panic!("{:?}", other.offers) };
    assert_eq!(offer.label, "Save to program");
    let written = &offer.source;
    assert!(written.contains("n1 n2 n5 n7 n12: 20\n") && !written.contains(": 125"));
    assert_eq!(written.matches("profile path").count(), 1);
    // What is written says the same without being asked.
    let again = paths_of(written, PDE, &[]);
    assert!(again.lead.starts_with("Nothing pays") && again.offers.is_empty(), "{}", again.lead);
    // A path that is never executed stays in the list.
    assert_eq!(paths_of(&text, PDE, &[(&key, "0")]).tables[0].rows.len(), 8);
    // Neither the declared frequency nor what is no number is another one.
    for value in ["125", " 125 ", "many", "-1", ""] {
        assert_eq!(paths_of(&text, PDE, &[(&key, value)]), first, "{value}");
    }
}

#[test]
fn unfit_requests_and_texts_are_ignored() {
    let text = source(FIGURE_5);
    let first = paths_of(&text, PDE, &[]);
    let key = frequency_keys(&first)[0].clone();
    let most = u64::MAX.to_string();
    let large: Vec<(&str, &str)> =
        [(key.as_str(), most.as_str()), ("frequency.9-9", "1"), ("frequency.", "1"), ("join", "4294967295")].into();
    assert!(paths_of(&text, PDE, &large).lead.starts_with("With these frequencies"));
    for chosen in [("statement", "4294967295"), ("statement", "x"), ("join", "9999"), ("path", "9999")] {
        assert_eq!(paths_of(&text, PDE, &[chosen]), first);
    }
    assert!(paths_of(&text, PDE, &[("path", "1")]).tables[0].rows[1].is_chosen);
    // The text of another program, of none, and half of one.
    let mut session = open(FIGURE_5, PDE, false);
    for wrong in ["", "ä", "}}}}", &"ü".repeat(text.len()), &text[..text.len() / 2], &"}\n".repeat(text.len() / 2)] {
        let surroundings = Surroundings { source: wrong, ..Surroundings::none(0..0) };
        let found = inspect_with(&mut session, 0, &choices(&[(&key, "20")]), surroundings).expect("paths");
        assert!(found.offers.is_empty(), "{wrong}");
    }
}

#[test]
fn pde_says_why_a_statement_stays() {
    let pipeline = "pde[machine=unit,fp=1]";
    let first = paths(FIGURE_3, pipeline, &[]);
    let product = choice(&first, "statement").options.iter().find(|option| option.label.starts_with("x = work"));
    let product = product.expect("the statement").value.clone();
    let found = paths(FIGURE_3, pipeline, &[("statement", &product)]);
    assert!(words(&found).iter().all(|word| !matches!(*word, "kept" | "predicate")));
    let four = at_join(&found, "n4");
    let found = paths(FIGURE_3, pipeline, &[("statement", &product), ("join", &four)]);
    assert!(joins(&found).contains(&("n4", "refused")));
    assert_eq!((in_set(&found, "cost").len(), in_set(&found, "benefit").len()), (6, 1));
    let all = moments(&found);
    let refused = all.iter().find(|moment| moment.word == "refused").expect("it comes to that join");
    assert!(refused.sentence.contains("on some paths only, and stops: Saves 64"), "{}", refused.sentence);
    let block: u32 = four.parse().expect("a block");
    assert_eq!(refused.marks, [Mark { anchor: Anchor::Start(block), look: Look::Bad, text: String::new() }]);
    let other = paths(FIGURE_5, PDE, &[("statement", "0")]);
    note(&other, "cannot leave its block");
    assert!(other.timeline.is_none() && choice(&other, "statement").value == "0");
}

/// The end of the pass in a session.
fn end(session: &mut Session) -> Inspection {
    let end = session.len();
    inspect(session, 0..1, end, &Request::default()).expect("paths")
}

#[test]
fn passes_say_when_nothing_comes_next() {
    let after = end(&mut open(FIGURE_3, PDE, false));
    assert!(after.lead.starts_with("Nothing left to sink"), "{}", after.lead);
    assert!(after.timeline.is_none_or(|timeline| !timeline.leads_to_change));
    let found = paths("kernel k() {\nentry:\n    ret\n}\n", PDE, &[]);
    assert!(found.lead.contains("`profile path`") && found.tables.is_empty() && found.choices.is_empty());
    let text = "kernel k(x: u32, o: ptr.global) {\nn0:\n    st.global.u32 o[0], x\n    ret\n}\n";
    let found = paths(text, SPEC_PRE, &[]);
    assert_eq!(found.lead, "Nothing is evaluated twice on any path: `spec-pre` changes nothing.");
    assert!(found.timeline.is_none() && found.choices.is_empty());
    let after = end(&mut open(FIGURE_11, SPEC_PRE, false));
    assert!(after.lead.starts_with("Nothing left to gain"), "{}", after.lead);
}

#[test]
fn pde_says_what_warps_pay() {
    // The lanes of two warps part at each branch, but one warp has no lane that goes to n2.
    let count = |module: &Module, func: Func| {
        let func = &module.funcs[func];
        let mut counts = WarpCounts::default();
        for block in func.block_order() {
            let executions = |block: Block| if func.blocks[block].name == "n2" { 1 } else { 2 };
            counts.add(&[WarpEntry::Block { block, executions: executions(block), diverged: None }]);
            let edge = |&to: &Block| WarpEntry::Edge { from: block, to, executions: executions(to) };
            counts.add(&func.successors(block).iter().map(edge).collect::<Vec<_>>());
        }
        Some(counts)
    };
    let surroundings = Surroundings { count_warps: &count, ..Surroundings::none(0..0) };
    let mut session = open(FIGURE_5, PDE, false);
    let found = inspect_with(&mut session, 0, &Request::default(), surroundings).expect("paths");
    let warps = &note(&found, "Decided per path (no warp profile).").sentence;
    assert!(
        warps.contains("launch the warps lose: 1 cycle before, 2 after, because a diverged warp runs both sides"),
        "{warps}"
    );
    assert!(paths(FIGURE_5, PDE, &[]).notes.iter().all(|note| !note.sentence.starts_with("Decided per path")));
}

#[test]
fn spec_pre_tells_a_figure_as_the_paper_does() {
    let found = paths(FIGURE_11, SPEC_PRE, &[]);
    assert!(found.lead.starts_with("Next, `add.u32 x, y`"), "{}", found.lead);
    assert_eq!((found.tables[0].rows.len(), choice(&found, "statement").options.len()), (6, 1));
    assert_eq!((&*found.choices[0].label, &*found.choices[1].label), ("Evaluation", "Branch"));
    assert_eq!(choice(&found, "statement").options[0].note, "moves");
    assert_eq!(words(&found), ["needed", "hoisted", "hoisted", "hoisted", "inserted", "replaced"]);
    assert_eq!(joins(&found), [("n6", "enabled")]);
    assert_eq!(line(&found), "Saves 19 × 1 T, costs 5 × 1 T: worth it");
    assert_eq!(in_set(&found, "avail"), [10, 9, 8, 7]);
    assert_eq!(in_set(&found, "antic"), [10, 9, 6]);
    assert_eq!((in_set(&found, "benefit"), in_set(&found, "cost")), (vec![10, 9], vec![5]));
    let looks = |column: usize| found.tables[0].rows.iter().map(move |row| row.cells[column].look);
    assert!(looks(5).any(|look| look == Look::Good) && looks(6).any(|look| look == Look::Bad));
    let all = moments(&found);
    let sentences: Vec<&str> = all.iter().map(|moment| moment.sentence.as_str()).collect();
    assert_eq!(sentences[3], "In `n2` its value is available: `a = add.u32 x, y`.");
    assert_eq!(sentences[4], "It is evaluated where its value is missing: in `n3`.");
    assert_eq!(sentences[5], "In `n7`, `b` takes the value that is there, and evaluates nothing.");
    // From the branch on, not all paths need it.
    let range = |mark: &Mark| match mark.anchor {
        Anchor::Range { block, .. } => Some((block, mark.look)),
        _ => None,
    };
    let ranges: Vec<(u32, Look)> = all.iter().flat_map(|moment| &moment.marks).filter_map(range).collect();
    let (plain, partial) = (Look::Plain, Look::Partial);
    assert_eq!(ranges, [(6, plain), (5, partial), (3, partial), (4, partial), (1, partial), (1, partial)]);
    let replaced: Vec<(Look, &str)> = all[5].marks.iter().map(|mark| (mark.look, mark.text.as_str())).collect();
    assert_eq!(replaced, [(Look::New, "b"), (Look::Removed, "×")]);
}

#[test]
fn an_evaluation_that_does_not_pay_rests_at_the_branch() {
    // The fifth path, which does not need it, is executed more often than the first two.
    let found = paths_of(&source(FIGURE_11), SPEC_PRE, &[("frequency.0-2-5-7-8", "20")]);
    assert_eq!(found.lead, "With these frequencies, nothing would be evaluated elsewhere.");
    assert_eq!(words(&found), ["refused", "kept"]);
    assert_eq!(line(&found), "Saves 19 × 1 T, costs 20 × 1 T: not worth it");
    let all = moments(&found);
    assert_eq!(all[0].marks, [Mark { anchor: Anchor::End(5), look: Look::Bad, text: String::new() }]);
    assert!(found.offers[0].source.contains("n1 n3 n6 n8 n9: 20"), "{}", found.offers[0].source);
}

#[test]
fn what_is_evaluated_twice_in_a_block_is_replaced_there() {
    let text = "kernel k(x: u32, o: ptr.global) {\nn0:\n    a = mul.u32 x, x\n    b = mul.u32 x, x\n    \
                c = add.u32 a, b\n    st.global.u32 o[0], c\n    ret\n}\n";
    let found = paths(text, SPEC_PRE, &[]);
    assert_eq!(words(&found), ["needed", "replaced"]);
    assert_eq!(
        moments(&found)[0].sentence,
        "`b = mul.u32 x, x` in `n0` needs what `a = mul.u32 x, x` has evaluated above it."
    );
    assert!(found.tables.is_empty() && found.choices.iter().all(|choice| choice.key != "join"));
    let other = paths(text, SPEC_PRE, &[("statement", "2")]);
    note(&other, "No other path evaluates it");
}
