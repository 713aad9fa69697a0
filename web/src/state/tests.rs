//! The page's state without a browser.

use std::rc::Rc;

use warpscope_engine::message::*;
use yew::Reducible;

use super::*;
use crate::examples;

fn pipeline(stages: &[(&str, bool)]) -> Vec<Stage> {
    stages.iter().map(|&(pass, on)| Stage { pass: pass.to_owned(), on, ..Stage::default() }).collect()
}

fn results(rewrites: &[usize]) -> Vec<StageResult> {
    rewrites.iter().map(|&rewrites| StageResult { rewrites, ..StageResult::default() }).collect()
}

fn at(stage: usize, step: usize) -> Position {
    Position { stage, step }
}

fn timeline() -> Timeline {
    let stages = pipeline(&[("copy-prop", true), ("dce", false), ("const-fold", true), ("dce", true)]);
    Timeline::new(&stages, &results(&[2, 5, 0, 1]))
}

#[test]
fn every_rewrite_of_a_running_pass_is_a_stop() {
    assert_eq!(timeline().stops(), [at(0, 0), at(1, 1), at(1, 2), at(3, 0), at(4, 1)]);
    assert_eq!(timeline().ranges(), [(1, 1, 2), (3, 3, 3), (4, 4, 4)]);
}

#[test]
fn forward_and_back_visit_the_same_stops() {
    let timeline = timeline();
    let mut position = timeline.first();
    let mut visited = vec![position];
    while position != timeline.last() {
        position = timeline.travel(position, Travel::Forward);
        visited.push(position);
    }
    assert_eq!(visited, timeline.stops());
    assert_eq!(timeline.travel(position, Travel::Forward), position);
    for stop in visited.iter().rev().skip(1) {
        position = timeline.travel(position, Travel::Back);
        assert_eq!(position, *stop);
    }
    assert_eq!(timeline.travel(position, Travel::Back), position);
}

#[test]
fn passes_are_skipped_as_wholes() {
    let timeline = timeline();
    assert_eq!(timeline.travel(at(0, 0), Travel::NextPass), at(1, 2));
    assert_eq!(timeline.travel(at(1, 1), Travel::NextPass), at(1, 2));
    assert_eq!(timeline.travel(at(1, 2), Travel::NextPass), at(3, 0));
    assert_eq!(timeline.travel(at(4, 1), Travel::PreviousPass), at(3, 0));
    assert_eq!(timeline.travel(at(1, 2), Travel::PreviousPass), at(0, 0));
    assert_eq!(timeline.travel(at(0, 0), Travel::StageEnd(2)), at(1, 2));
}

#[test]
fn the_end_is_wherever_the_last_stop_is() {
    assert_eq!(timeline().clamp(Position::END), at(4, 1));
    assert_eq!(timeline().clamp(at(2, 3)), at(1, 2));
}

#[test]
fn moving_a_pass_shows_what_it_does_there() {
    let mut stages = pipeline(&[("a", true), ("b", true), ("c", true)]);
    let position = PipelineEdit::Move { from: 2, to: 0 }.apply(&mut stages, &Position::END);
    assert_eq!(stages.iter().map(|stage| stage.pass.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
    assert_eq!(position.stage, 1);
}

#[test]
fn edits_outside_the_list_change_nothing() {
    let mut stages = pipeline(&[("a", true)]);
    for edit in [PipelineEdit::Remove(1), PipelineEdit::Switch(4, false), PipelineEdit::Move { from: 0, to: 9 }] {
        assert_eq!(edit.apply(&mut stages, &at(0, 0)), at(0, 0));
        assert_eq!(stages, pipeline(&[("a", true)]));
    }
}

#[test]
fn a_slider_at_the_launchs_own_value_is_no_setting() {
    let slide = |value| SettingsEdit::Slide { name: "x.zero".to_owned(), value, launch: 0.1 };
    let mut settings = Settings::default();
    SettingsEdit::Seed(Some(u64::MAX)).apply(&mut settings);
    slide(0.5).apply(&mut settings);
    assert_eq!((settings.sets.get("x.zero"), settings.seed), (Some(&0.5), Some(u64::MAX)));
    slide(0.1).apply(&mut settings);
    assert!(settings.sets.is_empty());
}

#[test]
fn a_step_into_a_pass_that_is_not_known_yet_stands_at_its_first_rewrite() {
    let mut lab = Lab::new();
    lab.bench.pipeline = pipeline(&[("copy-prop", true)]);
    lab.position = at(1, 0);
    let view = View { position: at(1, 1), ..view(&[4]) };
    let question = Request::Look(lab.look());
    let lab = Rc::new(lab).reduce(Action::Answered(Box::new(question), Response::View(Box::new(view))));
    assert_eq!(lab.timeline().index(lab.position), 1);
}

#[test]
fn a_step_before_the_first_answer_waits_for_it() {
    let mut lab = Lab::new();
    lab.bench.pipeline = pipeline(&[("copy-prop", true)]);
    let lab = Rc::new(lab).reduce(Action::Travel(Travel::Back));
    assert_eq!(lab.position, Position::END);
    let (question, view) = (Request::Look(lab.look()), View { position: at(1, 4), ..view(&[4]) });
    let lab = lab.reduce(Action::Answered(Box::new(question), Response::View(Box::new(view))));
    assert_eq!(lab.position, at(1, 3));
    assert!(lab.looking && lab.waiting.is_empty());
}

#[test]
fn leaving_links_brings_back_the_bench_before_them() {
    let bench = |source: &str| Bench { source: source.to_owned(), ..Bench::default() };
    let open = |lab: Rc<Lab>, source: &str| {
        let shared = Shared { bench: bench(source), ..Shared::default() };
        lab.reduce(Action::Answered(Box::new(Request::Open(String::new())), Response::Opened(Ok(Box::new(shared)))))
    };
    let own = Rc::new(Lab::new()).reduce(Action::EditSource("own".to_owned()));
    let lab = open(open(own, "one"), "two").reduce(Action::LinkLeft);
    assert_eq!((lab.bench.source.as_str(), lab.kept.len()), ("own", 0));
    // What was written over a link is kept, and without a link nothing is left.
    let lab = open(lab, "three").reduce(Action::EditSource("four".to_owned())).reduce(Action::LinkLeft);
    assert_eq!((lab.bench.source.as_str(), lab.kept.len()), ("own", 1));
    assert!(lab.kept_notice.is_some());
    assert_eq!(lab.clone().reduce(Action::LinkLeft), lab);
}

#[test]
fn an_answer_that_comes_late_does_not_move_the_transport() {
    let mut lab = Lab::new();
    lab.bench.pipeline = pipeline(&[("copy-prop", true)]);
    lab.view = Some(Rc::new(view(&[4])));
    lab.position = at(1, 2);
    lab.looking = true;
    let asked_first = Request::Look(lab.look());
    lab.position = at(1, 1);
    let view = View { position: at(1, 2), ..view(&[4]) };
    let lab = Rc::new(lab).reduce(Action::Answered(Box::new(asked_first), Response::View(Box::new(view))));
    assert_eq!(lab.position, at(1, 1));
    assert!(lab.looking, "the last question still waits for its answer");
}

#[test]
fn a_bad_link_opens_the_first_example_and_says_so() {
    let lab = Rc::new(Lab::new()).reduce(Action::EditSource("something".to_owned()));
    let lab = lab.reduce(Action::Answered(
        Box::new(Request::Open("#v1.d:damaged".to_owned())),
        Response::Opened(Err("it is damaged".to_owned())),
    ));
    assert_eq!(lab.bench, Lab::new().bench);
    assert!(lab.notice.as_ref().is_some_and(|notice| notice.is_error && notice.text.contains("it is damaged")));
    // Nothing is lost by it.
    assert!(lab.kept_notice.is_some());
    assert_eq!(lab.clone().reduce(Action::BringBack).bench.source, "something");
    // It is no longer told of when another one opens, or the address has none.
    let shared = lab.shared();
    let opened = Response::Opened(Ok(Box::new(shared)));
    assert!(lab.clone().reduce(Action::Answered(Box::new(Request::Open("#v1".to_owned())), opened)).notice.is_none());
    assert!(lab.reduce(Action::LinkLeft).notice.is_none());
}

#[test]
fn playing_starts_again_from_the_source_and_ends_at_the_last_stop() {
    let mut lab = Lab::new();
    lab.bench.pipeline = pipeline(&[("dce", true)]);
    lab.view = Some(Rc::new(view(&[2])));
    let lab = Rc::new(lab).reduce(Action::Play(true));
    assert_eq!((lab.playing, lab.position), (true, at(0, 0)));
    let lab = lab.reduce(Action::Travel(Travel::Forward));
    assert_eq!((lab.playing, lab.position), (true, at(1, 1)));
    let lab = lab.reduce(Action::Travel(Travel::Forward));
    assert_eq!((lab.playing, lab.position), (false, at(1, 2)));
}

#[test]
fn long_links_come_with_advice() {
    assert_eq!(link_advice(900), None);
    assert!(link_advice(2_001).is_some_and(|advice| advice.contains("chat")));
    assert!(link_advice(8_001).is_some_and(|advice| advice.contains("phones")));
    assert!(link_advice(40_000).is_some_and(|advice| advice.contains("file")));
}

#[test]
fn playing_waits_for_the_engine() {
    let mut lab = Lab::new();
    lab.bench.pipeline = pipeline(&[("dce", true)]);
    lab.view = Some(Rc::new(view(&[2])));
    let lab = Rc::new(lab).reduce(Action::Play(true));
    assert!(lab.looking);
    let lab = lab.reduce(Action::Tick);
    assert_eq!(lab.position, at(0, 0));
    let question = Request::Look(lab.look());
    let lab = lab.reduce(Action::Answered(Box::new(question), Response::View(Box::new(view(&[2])))));
    assert_eq!(lab.reduce(Action::Tick).position, at(1, 1));
}

#[test]
fn a_change_that_is_taken_back_at_once_waits_for_nothing() {
    let lab = Rc::new(Lab::new());
    let question = Request::Look(lab.look());
    let lab = lab.reduce(Action::Answered(Box::new(question), Response::View(Box::new(view(&[])))));
    let there = lab.clone().reduce(Action::FastMath(true));
    assert!(there.looking);
    assert!(!there.reduce(Action::FastMath(false)).looking);
}

#[test]
fn nothing_runs_before_the_edited_program_was_looked_at() {
    let lab = Rc::new(Lab::new()).reduce(Action::EditSource("half".to_owned()));
    assert!(lab.looking);
}

#[test]
fn a_number_typed_meanwhile_is_not_replaced_by_an_older_answer() {
    let mut lab = Lab::new();
    lab.watched.issue = 12;
    let moment = |issue| Response::Watched(Ok(Box::new(Moment { issue, ..Moment::default() })));
    let watch = |issue| Box::new(Request::Watch(Watch { issue, ..Watch::default() }));
    let lab = Rc::new(lab).reduce(Action::Answered(watch(1), moment(1)));
    assert_eq!(lab.watched.issue, 12);
    // Beyond the end is the end.
    let lab = lab.reduce(Action::Answered(watch(12), moment(9)));
    assert_eq!(lab.watched.issue, 9);
}

#[test]
fn a_pipeline_taken_apart_keeps_its_place() {
    let mut stages = pipeline(&[("a", true), ("@x", false), ("c", true)]);
    let position = PipelineEdit::TakeApart(1, pipeline(&[("p", true), ("q", false)])).apply(&mut stages, &at(0, 0));
    assert_eq!(stages, pipeline(&[("a", true), ("p", false), ("q", false), ("c", true)]));
    assert_eq!(position.stage, 3);
    // What it keeps switched off stays so.
    let mut stages = pipeline(&[("@x", true)]);
    PipelineEdit::TakeApart(0, pipeline(&[("p", true), ("q", false)])).apply(&mut stages, &at(0, 0));
    assert_eq!(stages, pipeline(&[("p", true), ("q", false)]));
}

#[test]
fn without_a_program_there_is_one_stop() {
    let mut lab = Lab::new();
    lab.view = Some(Rc::default());
    assert!(lab.lacks_program());
    assert_eq!(lab.timeline().len(), 1);
}

/// A view of a program whose stages rewrote so much.
fn view(rewrites: &[usize]) -> View {
    View { kernel: "k".to_owned(), after: "text".to_owned(), stages: results(rewrites), ..View::default() }
}

#[test]
fn an_example_keeps_what_a_person_has_changed() {
    let example = |source: &str| {
        let bench = Bench { source: source.to_owned(), ..Bench::default() };
        Action::OpenExample(examples::FIRST_EXAMPLE, Box::new(Shared { bench, ..Shared::default() }))
    };
    let open = |lab: Rc<Lab>, source: &str| lab.reduce(example(source));
    let lab = open(Rc::new(Lab::new()), "one");
    assert!(lab.kept.is_empty() && lab.kept_notice.is_none(), "nobody had changed the first one");
    let lab = lab.reduce(Action::EditSource("mine".to_owned()));
    let lab = lab.reduce(Action::Pipeline(PipelineEdit::Add("dce".to_owned())));
    // An example after an example is no one's own.
    let lab = open(open(lab, "two"), "three");
    assert_eq!((lab.kept.len(), lab.bench.source.as_str()), (1, "three"));
    let lab = lab.reduce(Action::BringBack);
    assert_eq!((lab.bench.source.as_str(), lab.bench.pipeline.len()), ("mine", 1));
    assert!(lab.kept.is_empty() && lab.kept_notice.is_none());
    // It is still a person's own, and kept again.
    assert_eq!(open(lab, "four").kept.len(), 1);
}

#[test]
fn the_transport_goes_along_with_the_moments() {
    let course = Course { last: 9, changes: vec![3, 6], changes_before: 0 };
    let shown = InspectedPass { title: "Values".to_owned(), has_moments: true, course: Some(course) };
    let view = View { position: at(2, 1), inspected: vec![shown], ..view(&[1, 2]) };
    let mut lab = Lab { position: at(2, 1), view: Some(Rc::new(view)), ..Lab::new() };
    lab.bench.pipeline = pipeline(&[("dce", true), ("gvn-cse", true)]);
    let lab = Rc::new(lab).reduce(Action::WalkBy(1));
    assert_eq!((lab.position, lab.moment_at), (at(2, 2), Some(4)));
    // Faster than the engine answers.
    let lab = lab.reduce(Action::WalkBy(1)).reduce(Action::WalkBy(-3));
    assert_eq!((lab.position, lab.moment_at), (at(2, 1), Some(2)));
    let lab = lab.reduce(Action::WalkTo(100));
    assert_eq!((lab.position, lab.moment_at), (at(2, 2), Some(9)));
    // A step of the transport has its own usual moment.
    let lab = lab.reduce(Action::Travel(Travel::Back));
    assert_eq!((lab.position, lab.moment_at), (at(2, 1), None));
}

#[test]
fn moments_that_led_here_are_asked_for_until_they_are_told() {
    let course = Course { last: 9, changes: vec![3, 6], changes_before: 0 };
    let shown = InspectedPass { title: "Questions".to_owned(), has_moments: true, course: Some(course.clone()) };
    let seen = |step| Rc::new(View { position: at(1, step), inspected: vec![shown.clone()], ..view(&[2]) });
    let mut lab = Lab { position: at(1, 1), view: Some(seen(1)), ..Lab::new() };
    lab.bench.pipeline = pipeline(&[("ssrqp", true)]);
    lab.answered = Some(Rc::new(lab.look()));
    let asked = lab.inspect().expect("what has moments is shown without being asked for");
    assert_eq!((asked.moment, lab.moment()), (None, Some((3, 9))), "the moment of the change");
    let told = |moments: std::ops::Range<usize>, is_momentary: bool| {
        let moment = || inspect::Moment::default();
        let timeline = inspect::Timeline {
            course: course.clone(),
            first: moments.start,
            moments: moments.map(|_| moment()).collect(),
            start: Some(moment()),
            ..inspect::Timeline::default()
        };
        inspect::Inspection { timeline: Some(timeline), is_momentary, ..inspect::Inspection::new("Questions") }
    };
    let answer = |lab: &Rc<Lab>, told: inspect::Inspection| {
        let asked = lab.inspect().expect("a question");
        let response = Response::Inspected(Some(Box::new(told)));
        lab.clone().reduce(Action::Answered(Box::new(Request::Inspect(asked)), response))
    };
    // The page takes the view of the next change from the engine.
    let step_on = |lab: &Rc<Lab>, to: usize| {
        let lab = lab.clone().reduce(Action::WalkTo(to));
        let question = Request::Look(lab.look());
        let view = View { position: lab.position, ..(*seen(1)).clone() };
        lab.reduce(Action::Answered(Box::new(question), Response::View(Box::new(view))))
    };
    let lab = Rc::new(lab);
    let whole = answer(&lab, told(0..9, false));
    assert_eq!(whole.inspect(), None);
    let later = step_on(&whole, 5);
    assert_eq!((later.position, later.inspect()), (at(1, 2), None), "the timeline tells of all moments");
    assert!(later.inspection().is_some() && later.is_inspected());
    let part = answer(&lab, told(0..4, false));
    assert_eq!(step_on(&part, 5).inspect().and_then(|asked| asked.moment), Some(5), "that moment is not told yet");
    let scene = answer(&lab, told(0..9, true));
    let scene = step_on(&scene, 5);
    assert_eq!(scene.inspect().and_then(|asked| asked.moment), Some(5), "each moment has its own tables");
    assert!(scene.inspection().is_some(), "the last one stays meanwhile");
    let lines = scene.reduce(Action::Sheet(Sheet::Lines));
    assert!(lines.inspection().is_some(), "the graph shows them beside the compared texts");
}

#[test]
fn an_inspection_is_asked_for_while_it_is_looked_at_and_each_program_has_its_own() {
    let mut lab = Lab::new();
    lab.bench.pipeline = pipeline(&[("azp", true)]);
    let position = at(1, 1);
    lab.position = position;
    let shown = InspectedPass { title: "Candidates".to_owned(), ..InspectedPass::default() };
    lab.view = Some(Rc::new(View { inspected: vec![shown], position, ..view(&[2]) }));
    assert_eq!(lab.inspect(), None, "nobody looks");
    assert_eq!(
        Rc::new(lab.clone()).reduce(Action::Sheet(Sheet::Inspected("Paths".to_owned()))).inspect(),
        None,
        "there is one only"
    );
    let lab = Rc::new(lab).reduce(Action::Sheet(Sheet::Inspected("Candidates".to_owned())));
    let asked = lab.inspect().expect("somebody looks");
    assert_eq!((asked.position, asked.choices.len()), (position, 0));
    let (anchor, look) = (inspect::Anchor::Inst(3), inspect::Look::Removed);
    let mark = inspect::Mark { anchor, look, text: String::new() };
    let told = inspect::Inspection { marks: vec![mark], ..inspect::Inspection::new("Candidates") };
    let answer = Response::Inspected(Some(Box::new(told)));
    let lab = lab.reduce(Action::Answered(Box::new(Request::Inspect(asked)), answer));
    assert_eq!((lab.inspect(), lab.marked().map(|told| told.marks.len())), (None, Some(1)));
    let other = lab.clone().reduce(Action::Choose("candidate".to_owned(), "3".to_owned()));
    assert_eq!(other.inspect().and_then(|asked| asked.choices.get("candidate").cloned()).as_deref(), Some("3"));
    assert!(other.marked().is_none() && other.inspection().is_some(), "the table stays meanwhile");
    let next = other.clone().reduce(Action::Travel(Travel::Forward));
    assert_eq!((next.choices.len(), next.inspect()), (0, None), "the program there is not known yet");
    let away = other.reduce(Action::Sheet(Sheet::Lines));
    assert!(away.inspect().is_none() && away.marked().is_none());
}

#[test]
fn settings_stay_beside_other_choices_and_at_other_positions() {
    let mut lab = Lab::new();
    lab.bench.pipeline = pipeline(&[("dce", true)]);
    let position = at(1, 1);
    lab.position = position;
    let shown = InspectedPass { title: "Value flow".to_owned(), ..InspectedPass::default() };
    lab.view = Some(Rc::new(View { inspected: vec![shown], position, ..view(&[2]) }));
    let lab = Rc::new(lab).reduce(Action::Sheet(Sheet::Inspected("Value flow".to_owned())));
    let choice = |key: &str, value: &str, is_setting| inspect::Choice {
        key: key.to_owned(),
        value: value.to_owned(),
        is_setting,
        ..inspect::Choice::default()
    };
    let choices = vec![choice("value", "v1", false), choice("window", "3", true), choice("seeds", "loads", true)];
    let told = inspect::Inspection { choices, ..inspect::Inspection::new("Value flow") };
    let asked = lab.inspect().expect("somebody looks");
    let lab =
        lab.reduce(Action::Answered(Box::new(Request::Inspect(asked)), Response::Inspected(Some(Box::new(told)))));
    let choose = |lab: Rc<Lab>, key: &str, value: &str| lab.reduce(Action::Choose(key.to_owned(), value.to_owned()));
    let lab = choose(choose(choose(lab, "seeds", "all"), "window", "2"), "value", "v7");
    let chosen = |lab: &Lab| lab.choices.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
    assert_eq!(chosen(&lab), ["seeds=all", "value=v7", "window=2"]);
    let next = lab.reduce(Action::Travel(Travel::Forward));
    assert_eq!(chosen(&next), ["seeds=all", "window=2"]);
}

#[test]
fn steps_of_an_analysis_ask_the_engine_nothing() {
    let mut lab = Lab::new();
    lab.position = at(0, 0);
    let shown = InspectedPass { title: "Value flow".to_owned(), has_moments: false, course: None };
    lab.view = Some(Rc::new(View { inspected: vec![shown], position: at(0, 0), ..view(&[1]) }));
    lab.sheet = Sheet::Inspected("Value flow".to_owned());
    lab.answered = Some(Rc::new(lab.look()));
    let asked = lab.inspect().expect("the inspection is looked at");
    let course = Course { last: 5, ..Course::default() };
    let told = inspect::Inspection {
        timeline: Some(inspect::Timeline { course, ..inspect::Timeline::default() }),
        ..inspect::Inspection::new("Value flow")
    };
    let answer = Response::Inspected(Some(Box::new(told)));
    let lab = Rc::new(lab).reduce(Action::Answered(Box::new(Request::Inspect(asked)), answer));
    let stepped = lab.clone().reduce(Action::WalkBy(2));
    assert_eq!((stepped.moment(), stepped.inspect()), (Some((2, 5)), None));
    assert_eq!(stepped.look(), lab.look());
}

#[test]
fn moments_of_an_inspection_lead_to_the_change() {
    let mut lab = Lab::new();
    lab.bench.pipeline = pipeline(&[("pde", true)]);
    lab.position = at(0, 0);
    let shown = || vec![InspectedPass { title: "Paths".to_owned(), has_moments: true, course: None }];
    lab.view = Some(Rc::new(View { inspected: shown(), position: at(0, 0), ..view(&[1]) }));
    lab.answered = Some(Rc::new(lab.look()));
    let lab = Rc::new(lab);
    let asked = lab.inspect().expect("what has moments is shown without being asked for");
    let away = lab.clone().reduce(Action::Sheet(Sheet::Lines));
    assert!(away.inspect().is_none() && !away.has_own_moments());

    let option = |value: &str, anchor: inspect::Anchor| inspect::ChoiceOption {
        value: value.to_owned(),
        anchor: Some(anchor),
        ..inspect::ChoiceOption::default()
    };
    let choice = |key: &str, value: &str, options: Vec<inspect::ChoiceOption>| inspect::Choice {
        key: key.to_owned(),
        value: value.to_owned(),
        options,
        ..inspect::Choice::default()
    };
    let joins = [3, 5, 9].map(|block| option(&block.to_string(), inspect::Anchor::Block(block)));
    let entry = inspect::Entry { key: "frequency.0-3".to_owned(), default: 10, ..inspect::Entry::default() };
    let cell = inspect::Cell { text: "10".to_owned(), entry: Some(entry), ..inspect::Cell::default() };
    let row = inspect::Row { key: "0".to_owned(), cells: vec![cell], strand: Some(0), ..inspect::Row::default() };
    let table = inspect::Table { choice: "path".to_owned(), rows: vec![row], ..inspect::Table::default() };
    let told = inspect::Inspection {
        choices: vec![
            choice("statement", "7", vec![option("7", inspect::Anchor::Inst(7))]),
            choice("join", "5", joins.into()),
        ],
        tables: vec![table],
        timeline: Some(inspect::Timeline {
            course: Course { last: 2, ..Course::default() },
            leads_to_change: true,
            ..inspect::Timeline::default()
        }),
        ..inspect::Inspection::new("Paths")
    };
    let answer = |asked: Inspect, told: &inspect::Inspection| {
        Action::Answered(Box::new(Request::Inspect(asked)), Response::Inspected(Some(Box::new(told.clone()))))
    };
    let lab = lab.reduce(answer(asked, &told));
    assert_eq!((lab.inspect(), lab.moment()), (None, Some((0, 2))));
    let choose =
        |lab: &Rc<Lab>, key: &str, value: &str| lab.clone().reduce(Action::Choose(key.to_owned(), value.to_owned()));
    let chosen = |lab: &Lab, key: &str| lab.choices.get(key).cloned();
    let other = choose(&lab, "join", "9");
    assert_eq!(chosen(&other, "join").as_deref(), Some("9"));
    let again = choose(&other, "statement", "4");
    assert_eq!((chosen(&again, "join"), chosen(&again, "statement").as_deref()), (None, Some("4")));
    assert_eq!(choose(&lab, "path", "0").chosen_strand(), Some(0));
    assert_eq!(choose(&choose(&lab, "path", "0"), "path", "").chosen_strand(), None);
    // What is selected on the graph chooses what it stands for.
    let mut there = (*lab).clone();
    let block = GraphBlock { id: 3, name: "n3".to_owned(), ..GraphBlock::default() };
    let graph = Graph { blocks: vec![block], ..Graph::default() };
    there.view = Some(Rc::new(View { graph, ..(**there.view.as_ref().expect("a view")).clone() }));
    let select = |inst| {
        let selected = Selection { block: "n3".to_owned(), inst, by: Pane::Graph };
        Rc::new(there.clone()).reduce(Action::Select(Some(selected)))
    };
    assert_eq!(chosen(&select(None), "join").as_deref(), Some("3"));
    assert_eq!(chosen(&select(Some(12)), "statement").as_deref(), Some("12"));

    let lab = lab.reduce(Action::WalkBy(1)).reduce(Action::WalkBy(1));
    assert_eq!((lab.position, lab.moment(), lab.shared().moment), (at(0, 0), Some((2, 2)), Some(2)));
    let done = lab.clone().reduce(Action::WalkBy(1));
    assert_eq!((done.position, done.moment_at), (at(1, 1), None), "after its last moment comes the change");
    let edited = choose(&lab, "frequency.0-3", "4");
    let asked = edited.inspect().expect("another question");
    assert_eq!(asked.choices.get("statement").map(String::as_str), Some("7"), "about what is shown");
    assert!(edited.has_entries());
    let elsewhere = inspect::Timeline { leads_to_change: false, ..told.timeline.clone().expect("moments") };
    let unled = inspect::Inspection { timeline: Some(elsewhere), ..told.clone() };
    let edited = edited.reduce(answer(asked, &unled)).reduce(Action::WalkBy(1));
    assert_eq!((edited.position, edited.moment()), (at(0, 0), Some((2, 2))));
    assert!(!choose(&edited, "frequency.0-3", "10").has_entries(), "that is the program's number");
    assert!(!edited.reduce(Action::ForgetEntries).has_entries());

    let playing = lab.reduce(Action::Ask(true));
    assert_eq!((playing.asking, playing.moment()), (true, Some((0, 2))), "from the beginning");
    let playing = playing.reduce(Action::NextMoment).reduce(Action::NextMoment).reduce(Action::NextMoment);
    assert_eq!((playing.asking, playing.position), (true, at(1, 1)));
    let mut there = (*playing).clone();
    there.looking = false;
    there.view = Some(Rc::new(View { inspected: shown(), position: at(1, 1), ..view(&[1]) }));
    let asked = there.inspect().expect("the next question");
    let there = Rc::new(there).reduce(answer(asked, &inspect::Inspection::new("Paths")));
    assert!(!there.asking, "nothing is left to be changed");
}

#[test]
fn a_bench_that_never_had_a_program_shows_no_figures_of_the_one_before() {
    let runs = || {
        Response::Simulated(Box::new(Simulated { before: Ok(Run::default()), after: Ok(Run::default()), end: None }))
    };
    let ran = || Action::Answered(Box::new(Request::Simulate(Simulate::default())), runs());
    let seen =
        |lab: &Lab, view: View| Action::Answered(Box::new(Request::Look(lab.look())), Response::View(Box::new(view)));
    let open = |source: &str| {
        let bench = Bench { source: source.to_owned(), ..Bench::default() };
        Action::OpenExample(examples::FIRST_EXAMPLE, Box::new(Shared { bench, ..Shared::default() }))
    };
    let lab = Rc::new(Lab::new()).reduce(open("good"));
    let lab = lab.clone().reduce(seen(&lab, view(&[2]))).reduce(ran());
    assert!(lab.runs.is_some());
    // A person who is typing sees what the program did before the mistake.
    let lab = lab.reduce(Action::EditSource("goo".to_owned()));
    let lab = lab.clone().reduce(seen(&lab, View::default()));
    assert!(lab.lacks_program() && lab.runs.is_some());
    let lab = lab.reduce(open("bad"));
    let lab = lab.clone().reduce(seen(&lab, View::default()));
    assert!(lab.lacks_program() && lab.runs.is_none());
    assert!(lab.reduce(ran()).runs.is_none(), "an answer that was asked for before comes late");
}

#[test]
fn a_late_answer_about_the_bench_before_is_not_taken_for_the_one_that_was_opened() {
    let open = |source: &str| {
        let bench = Bench { source: source.to_owned(), ..Bench::default() };
        Action::OpenExample(examples::FIRST_EXAMPLE, Box::new(Shared { bench, ..Shared::default() }))
    };
    let answer = |asked: Request, view: View| Action::Answered(Box::new(asked), Response::View(Box::new(view)));
    let lab = Rc::new(Lab::new()).reduce(open("good"));
    let asked_before = Request::Look(lab.look());
    let lab = lab.reduce(open("bad")).reduce(answer(asked_before, view(&[2])));
    assert!(lab.last_good.is_none() && lab.view.is_none());
    let asked = Request::Look(lab.look());
    let lab = lab.reduce(answer(asked, View::default()));
    assert!(lab.lacks_program() && lab.last_good.is_none());
    // Of one bench an answer that comes late is better than none: somebody is typing.
    let asked_before = Request::Look(lab.look());
    let lab = lab.reduce(Action::EditSource("go".to_owned())).reduce(answer(asked_before, view(&[2])));
    assert!(lab.last_good.is_some());
}

#[test]
fn guarding_loads_sets_knobs_and_is_one_step_back() {
    let mut lab = Lab::new();
    lab.bench.source = "something".to_owned();
    lab.bench.pipeline = pipeline(&[("dce", true), ("ssrqp", true)]);
    lab.opened = Some(Rc::new(lab.bench.clone()));
    let before = lab.bench.clone();
    let guard = Guard { stage: 1, knob: "faulting".to_owned(), value: "guarded".to_owned() };
    let lab = Rc::new(lab).reduce(Action::GuardLoads(vec![guard]));
    assert_eq!(lab.bench.pipeline[1].knobs.get("faulting").map(String::as_str), Some("guarded"));
    // The dialog asks for the text again.
    assert_eq!(lab.dialog, Some(Dialog::Ptx(None)));
    assert_eq!(lab.reduce(Action::BringBack).bench, before);
}
