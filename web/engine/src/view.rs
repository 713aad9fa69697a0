//! A bench that is open: the program, what the pipeline did to it, and what the page shows of that at a position.

use std::cell::RefCell;
use std::ops::Range;

use warpscope_core::graph::Cfg;
use warpscope_core::inspect::{self, Inspection};
use warpscope_core::ir::{Block, Func, Function, Module, WarpCounts};
use warpscope_core::pass::{ANALYSES_TITLE, Step, Surroundings, parse_pipeline};
use warpscope_core::profile;
use warpscope_core::profile::estimate::{CountedReuse, FlagPlan};
use warpscope_core::session::{Options, Session};
use warpscope_core::text::LineIndex;
use warpscope_core::trace::Remark as CoreRemark;
use warpscope_core::trace::{Fact, RemarkKind};

use crate::comparison::{Listing, compare};
use crate::current_change::CurrentChange;
use crate::drawing::draw;
use crate::facts;
use crate::message::{
    Bench, Course, Diagnostic, Inspect, InspectedPass, Position, Printed, Remark, RemarkFact, Scope, Settings, Stage,
    StageResult, ValueSource, View,
};
use crate::print::print;
use crate::program::{Loaded, launch_text, load};
use crate::simulation::{self, measure};
use crate::sources::value_sources;

/// Refused opportunities of one pass that are shown.
const MOST_MISSED: usize = 200;

/// A bench that is open.
pub struct Opened {
    loaded: Loaded,
    kernel: Option<Func>,
    source_blocks: Vec<String>,
    source_insts: Vec<Option<u32>>,
    sources: Vec<ValueSource>,
    session: Option<Session>,
    /// The session's passes with their settings.
    steps: Vec<Step>,
    stages: Vec<StageResult>,
    /// The program after all passes, in canonical text, once a position has needed it.
    end: Option<String>,
    /// For each stage the session's passes, several for a named pipeline; none for a stage that cannot run.
    passes: Vec<Option<Range<usize>>>,
    /// Warp counts of a run of the program after so many events, so set.
    counted: LastRun<(usize, Settings), Option<WarpCounts>>,
    /// Reuse in a run of the program after so many events, so set, counted with a plan.
    reused: LastRun<(usize, Settings, FlagPlan), Option<CountedReuse>>,
}

/// The last count, and of which run. Choices in an inspection are mostly about one run, which takes up to
/// [`COUNTING_FUEL`](warpscope_core::report::COUNTING_FUEL) warp instructions.
struct LastRun<K, V>(RefCell<Option<(K, V)>>);

impl<K, V> Default for LastRun<K, V> {
    fn default() -> LastRun<K, V> {
        LastRun(RefCell::new(None))
    }
}

impl<K: PartialEq, V: Clone> LastRun<K, V> {
    /// The last count if it was of the same run, else that of another run.
    fn get(&self, key: K, run: impl FnOnce() -> V) -> V {
        let known = self.0.take().filter(|(last, _)| *last == key);
        let (key, value) = known.unwrap_or_else(|| (key, run()));
        self.0.replace(Some((key, value.clone())));
        value
    }
}

impl Opened {
    /// Reads the program and runs the pipeline.
    pub fn new(bench: &Bench, clock: fn() -> f64) -> Opened {
        let mut loaded = load(&bench.source, &bench.launch);
        let mut module = std::mem::take(&mut loaded.module);
        let kernel = choose_kernel(&module, bench.kernel.as_deref());
        if let Some((settings, kernel)) = bench.measured.as_ref().zip(kernel.filter(|_| loaded.is_usable)) {
            loaded.diagnostics.extend(declare_measured(&mut module, kernel, settings));
        }
        let (source_blocks, source_insts) =
            kernel.map(|kernel| owners_of_lines(&module.funcs[kernel], &bench.source)).unwrap_or_default();
        let sources = kernel.map(|kernel| value_sources(&module, &module.funcs[kernel])).unwrap_or_default();
        let (session, stages, passes) = (None, Vec::new(), Vec::new());
        let mut opened = Opened {
            loaded,
            kernel,
            source_blocks,
            source_insts,
            sources,
            session,
            steps: Vec::new(),
            stages,
            end: None,
            passes,
            counted: LastRun::default(),
            reused: LastRun::default(),
        };
        if let Some(kernel) = kernel.filter(|_| opened.loaded.is_usable) {
            let steps: Vec<Result<Vec<Step>, String>> = bench.pipeline.iter().map(steps_of).collect();
            let only = (module.kernels().count() > 1).then(|| module.funcs[kernel].name.clone());
            opened.steps = steps.iter().flatten().flatten().cloned().collect();
            let options = Options { steps: opened.steps.clone(), fast_math: bench.fast_math, only, launches: None };
            let session = Session::open(module, &options, &mut || clock() as u64);
            let mut next = 0;
            for steps in &steps {
                let first = next;
                next += steps.as_ref().map_or(0, Vec::len);
                opened.passes.push(steps.is_ok().then_some(first..next));
            }
            let results = steps.iter().zip(&opened.passes).map(|(steps, passes)| {
                let refused = steps.as_ref().err().cloned();
                let nothing = StageResult { refused, ..StageResult::default() };
                passes.as_ref().map_or(nothing, |passes| stage_result(&session, passes))
            });
            opened.stages = results.collect();
            opened.session = Some(session);
        } else {
            opened.loaded.module = module;
        }
        opened
    }

    /// Page at `position`, with its pass at that moment of the path to it.
    pub fn view(&mut self, position: Position, scope: Scope, moment: Option<usize>) -> View {
        let start = self.session.as_ref().map_or(&self.loaded.module, Session::start);
        let mut view = View {
            language: self.loaded.language,
            diagnostics: self.loaded.diagnostics.clone(),
            kernels: start.kernels().map(|kernel| start.funcs[kernel].name.clone()).collect(),
            kernel: self.kernel.map(|kernel| start.funcs[kernel].name.clone()).unwrap_or_default(),
            launch: launch_text(start),
            launch_is_derived: self.loaded.launch_is_derived,
            launch_is_foreign: self.loaded.launch_is_foreign,
            stages: self.stages.clone(),
            source_blocks: self.source_blocks.clone(),
            source_insts: self.source_insts.clone(),
            sources: self.sources.clone(),
            ..View::default()
        };
        let (Some(session), Some(kernel)) = (&mut self.session, self.kernel) else { return view };
        let stop = Stop::find(session, &self.passes, position);
        view.position = stop.position;
        let describe = |session: &Session, event: usize| {
            let pass = stop.passes.clone().find(|&pass| session.events_of(pass).contains(&event));
            let pass = pass.map_or("", |pass| session.reports()[pass].name);
            let event = &session.journal().events()[event];
            remark(&session.module().funcs[event.func], pass, &event.remark)
        };
        session.seek(stop.done);
        view.remark = stop.rewrite.map(|event| describe(session, event));
        let missed = events_of(session, &stop.passes)
            .filter(|&event| session.journal().events()[event].remark.kind == RemarkKind::Missed);
        view.missed = missed.take(MOST_MISSED).map(|event| describe(session, event)).collect();
        let shown = inspections(session, &stop, kernel).into_iter();
        view.inspected = shown.map(|shown| inspected(session, &self.steps, &stop, shown)).collect();
        view.inspected.push(InspectedPass { title: ANALYSES_TITLE.to_owned(), ..InspectedPass::default() });
        let courses = view.inspected.iter().filter_map(|shown| shown.course.as_ref());
        let is_ahead = |course: &Course| moment.is_some_and(|moment| course.is_ahead(moment));
        // All that has happened at a moment before the change is about the program before it.
        let ahead = stop.rewrite.filter(|_| courses.clone().any(is_ahead));
        view.is_before_change = ahead.is_some();
        let done = ahead.unwrap_or(stop.done);
        session.seek(done);
        let after = Listing::new(session.module(), Some(kernel));
        let alone = |session: &mut Session| {
            session.seek(stop.rewrite.unwrap_or(done));
            Listing::new(session.module(), Some(kernel))
        };
        let before = match scope {
            Scope::Rewrite => alone(session),
            Scope::Pass | Scope::Pipeline => {
                session.seek(if scope == Scope::Pass { events_of(session, &stop.passes).start } else { 0 });
                Listing::new(session.module(), Some(kernel))
            }
        };
        view.diff = compare(&before, &after);
        let mut is_new = vec![false; after.text().lines().count() + 1];
        for line in view.diff.iter().filter(|line| line.before.is_none()) {
            is_new[line.after.unwrap_or(0)] = true;
        }
        let of_change = match (stop.rewrite.filter(|_| ahead.is_none()), scope) {
            (None, _) => Vec::new(),
            (Some(_), Scope::Rewrite) => view.diff.clone(),
            (Some(_), _) => compare(&alone(session), &after),
        };
        session.seek(done);
        view.graph = draw(session.module(), kernel, after.printed(), |line| is_new[line]);
        if let Some(change) = CurrentChange::of(&of_change) {
            change.mark_diff(&mut view.diff);
            change.mark_graph(&mut view.graph);
            view.source_current = change.source_lines(&view.source_insts);
        }
        view.remark = view.remark.filter(|_| ahead.is_none());
        view.after = after.text().to_owned();
        let last = session.journal().events().len();
        if done < last {
            let end = self.end.get_or_insert_with(|| {
                session.seek(last);
                Listing::new(session.module(), Some(kernel)).text().to_owned()
            });
            view.end = (*end != view.after).then(|| end.clone());
        }
        view
    }

    /// The program at `position` as PTX.
    pub fn printed(&mut self, position: Position) -> Printed {
        let Some(session) = &mut self.session else { return print(&self.loaded.module, &[], &[]) };
        let stop = Stop::find(session, &self.passes, position);
        session.seek(stop.done);
        print(session.module(), &self.steps, &self.passes)
    }

    /// Session of the pipeline, and the kernel that is shown.
    pub fn session_and_kernel(&mut self) -> Option<(&mut Session, Func)> {
        Some((self.session.as_mut()?, self.kernel?))
    }

    /// One of the inspections at a position, with what has been chosen in it.
    pub fn inspection(&mut self, asked: &Inspect) -> Option<Inspection> {
        let (session, kernel) = (self.session.as_mut()?, self.kernel?);
        let stop = Stop::find(session, &self.passes, asked.position);
        session.seek(stop.done);
        let request = inspect::Request { choices: asked.choices.clone(), moment: asked.moment };
        let settings = &asked.settings;
        let count_warps = |module: &Module, func: Func| {
            let key = (stop.done, settings.clone());
            self.counted.get(key, || simulation::count_warps(module, func, settings))
        };
        let count_reuse = |module: &Module, func: Func, cfg: &Cfg, plan: &FlagPlan| {
            let key = (stop.done, settings.clone(), plan.clone());
            self.reused.get(key, || simulation::count_reuse(module, kernel, settings, (func, cfg, plan)))
        };
        let (source, is_measured) = (asked.bench.source.as_str(), asked.bench.measured.is_some());
        let (count_warps, count_reuse) = (&count_warps, &count_reuse);
        let passes = stop.passes.clone();
        let surroundings = Surroundings { passes, source, is_measured, count_warps, count_reuse };
        if asked.title == ANALYSES_TITLE {
            return Some(session.inspect_analysis(kernel, &request, &surroundings));
        }
        let shown = inspections(session, &stop, kernel);
        let &(pass, func, _) = shown.iter().find(|(_, _, title)| *title == asked.title)?;
        session.inspect(pass, func, &request, surroundings)
    }
}

/// Lets the program declare the profile of a run of its kernel, or says why there is none.
fn declare_measured(module: &mut Module, kernel: Func, settings: &Settings) -> Option<Diagnostic> {
    match measure(module, kernel, settings) {
        Ok(profile) => {
            profile::declare(module, &profile);
            None
        }
        Err(why) => Some(Diagnostic {
            in_launch: true,
            is_warning: true,
            code: "no-profile".to_owned(),
            message: format!("no profile could be measured, so passes know what the program declares: {why}"),
            line: 1,
            column: 1,
            ..Diagnostic::default()
        }),
    }
}

/// Passes that show something at a stop, each with the function that it is about and its heading. Opportunities are those
/// of the kernel; moments that led to the stop are those of the function that was changed last.
fn inspections(session: &Session, stop: &Stop, kernel: Func) -> Vec<(usize, Func, &'static str)> {
    let changed = stop.rewrite.map_or(kernel, |event| session.journal().events()[event].func);
    let of = |func: Func| {
        let shown = session.inspected_passes(stop.passes.clone(), func).into_iter();
        shown.map(move |(pass, title)| (pass, func, title))
    };
    if changed == kernel {
        return of(kernel).collect();
    }
    let is_led_here = |pass: usize, func: Func| session.course(pass, func, stop.passes.clone()).is_some();
    let last = of(changed).filter(|&(pass, func, _)| is_led_here(pass, func));
    last.chain(of(kernel).filter(|&(pass, func, _)| !is_led_here(pass, func))).collect()
}

/// An inspection as the view lists it.
fn inspected(session: &Session, steps: &[Step], stop: &Stop, shown: (usize, Func, &str)) -> InspectedPass {
    let (pass, func, title) = shown;
    let has_moments = steps[pass].entry().inspector.is_some_and(|inspector| inspector.has_moments);
    InspectedPass { title: title.to_owned(), has_moments, course: session.course(pass, func, stop.passes.clone()) }
}

/// A position in terms of the journal.
struct Stop {
    position: Position,
    /// The passes of the stage that it is in; none at the source.
    passes: Range<usize>,
    /// Events done.
    done: usize,
    /// The event of the rewrite that led here.
    rewrite: Option<usize>,
}

impl Stop {
    /// The stop at `position`, or the last one before it.
    fn find(session: &Session, stages: &[Option<Range<usize>>], position: Position) -> Stop {
        let runs = |stage: &usize| {
            stages[*stage].clone().is_some_and(|mut passes| passes.any(|pass| session.reports()[pass].enabled))
        };
        let stage = (0..stages.len().min(position.stage)).rev().find(runs);
        let Some((stage, passes)) = stage.and_then(|stage| Some((stage, stages[stage].clone()?))) else {
            return Stop { position: Position::default(), passes: 0..0, done: 0, rewrite: None };
        };
        let range = events_of(session, &passes);
        let wanted = if stage + 1 == position.stage { position.step } else { usize::MAX };
        let events = &session.journal().events()[range.clone()];
        let rewrites: Vec<usize> =
            (range.clone()).zip(events).filter(|(_, event)| event.is_rewrite()).map(|(at, _)| at).collect();
        let step = wanted.min(rewrites.len()).max(usize::from(!rewrites.is_empty()));
        let rewrite = step.checked_sub(1).map(|index| rewrites[index]);
        let is_last = step == rewrites.len();
        Stop {
            position: Position { stage: stage + 1, step },
            passes,
            done: if is_last { range.end } else { rewrite.map_or(range.start, |event| event + 1) },
            rewrite,
        }
    }
}

/// The events of passes that follow one another.
fn events_of(session: &Session, passes: &Range<usize>) -> Range<usize> {
    let ranges = passes.clone().map(|pass| session.events_of(pass));
    ranges.reduce(|all, range| all.start..range.end).unwrap_or(0..0)
}

/// The kernel of that name, else the first that has a launch, else the first.
fn choose_kernel(module: &Module, name: Option<&str>) -> Option<Func> {
    let named = |name: &str| module.kernels().find(|&kernel| module.funcs[kernel].name == name);
    let launched = || module.launches.iter().find_map(|launch| named(&launch.kernel));
    name.and_then(named).or_else(launched).or_else(|| module.kernels().next())
}

/// A stage as steps of the core's pipeline, one for a pass and several for a named pipeline; an unknown name or a knob
/// out of range says why it cannot be that.
fn steps_of(stage: &Stage) -> Result<Vec<Step>, String> {
    let mut steps = match stage.pass.strip_prefix('@') {
        Some(name) if !name.contains([',', '[']) => parse_pipeline(&stage.pass),
        _ => Step::new(&stage.pass).map(|step| vec![step]),
    }
    .map_err(|error| error.message)?;
    match steps.as_mut_slice() {
        [step] => {
            stage.knobs.iter().try_for_each(|(name, value)| step.set(name, value)).map_err(|error| error.message)?
        }
        _ if stage.knobs.is_empty() => {}
        _ => return Err(format!("`{}` has no knobs: take it apart to set those of its passes", stage.pass)),
    }
    steps.iter_mut().for_each(|step| step.enabled &= stage.on);
    Ok(steps)
}

/// Result of the passes of a stage.
fn stage_result(session: &Session, passes: &Range<usize>) -> StageResult {
    let reports = &session.reports()[passes.clone()];
    let (Some(first), Some(last)) = (reports.first(), reports.last()) else { return StageResult::default() };
    let events = &session.journal().events()[events_of(session, passes)];
    let missed = events.iter().filter(|event| event.remark.kind == RemarkKind::Missed).count();
    let refused = reports.iter().find_map(|report| Some((report.name, report.error.as_ref()?)));
    StageResult {
        rewrites: events.len() - missed,
        parts: if reports.len() > 1 {
            reports.iter().map(|report| report.rewrites as usize).collect()
        } else {
            Vec::new()
        },
        missed,
        micros: Some(reports.iter().map(|report| report.micros as f64).sum()),
        instructions: (first.before.instructions, last.after.instructions),
        blocks: (first.before.blocks, last.after.blocks),
        refused: refused.map(|(name, error)| match reports {
            [_] => error.message.clone(),
            _ => format!("{name}: {}", error.message),
        }),
    }
}

fn remark(func: &Function, pass: &str, remark: &CoreRemark) -> Remark {
    let facts = remark.facts.iter().map(|(name, value)| RemarkFact {
        name: (*name).to_owned(),
        words: facts::words(name).unwrap_or(name).to_owned(),
        values: fact(func, value),
    });
    Remark {
        pass: pass.to_owned(),
        rule: remark.rule.to_owned(),
        at: block_name(func, remark.block),
        message: remark.sentence(),
        facts: facts.collect(),
    }
}

fn block_name(func: &Function, block: Block) -> String {
    func.blocks.get(block).map(|data| data.name.clone()).unwrap_or_default()
}

fn fact(func: &Function, fact: &Fact) -> Vec<String> {
    let word = match fact {
        Fact::Reg(reg) => func.regs.get(*reg).map(|data| data.name.clone()).unwrap_or_default(),
        Fact::Block(block) => block_name(func, *block),
        Fact::Number(number) => readable(*number),
        Fact::Count(count) => count.to_string(),
        Fact::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Fact::Text(text) => text.clone(),
        Fact::Blocks(blocks) => return blocks.iter().map(|&block| block_name(func, block)).collect(),
        Fact::Words(words) => return words.clone(),
    };
    vec![word]
}

/// A number with as many decimals as somebody reads, and no zeros at their end.
fn readable(number: f64) -> String {
    let text = format!("{number:.*}", if number.abs() < 1.0 { 4 } else { 2 });
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if number != 0.0 && matches!(short, "0" | "-0") { format!("{number:.2e}") } else { short.to_owned() }
}

/// For each line of the source the block of `func` that it belongs to, and the instruction on it.
fn owners_of_lines(func: &Function, source: &str) -> (Vec<String>, Vec<Option<u32>>) {
    let lines = LineIndex::new(source);
    let mut blocks = vec![String::new(); lines.line_count()];
    let mut insts = vec![None; lines.line_count()];
    let line = |offset: u32| lines.position(source, offset).line as usize - 1;
    for block in func.block_order() {
        let first = line(func.block_spans[block].start);
        let mut last = first;
        for inst in func.block_insts(block).filter(|&inst| func.inst_spans[inst].end > func.inst_spans[inst].start) {
            let line = line(func.inst_spans[inst].start);
            // Where one line became several instructions, the first stands for them.
            insts[line].get_or_insert(inst.as_u32());
            last = last.max(line);
        }
        if first <= last {
            blocks[first..=last].fill(func.blocks[block].name.clone());
        }
    }
    (blocks, insts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::DiffLine;

    const SOURCE: &str = "kernel k(x: ptr.global) {
entry:
    a = mov.u32 2
    b = add.u32 a, 2
    unused = mov.u32 b
    st.global.u32 x[0], b
    ret
}
";

    fn opened(passes: &[&str]) -> Opened {
        let stage = |pass: &&str| Stage { pass: (*pass).to_owned(), on: true, ..Stage::default() };
        let pipeline = passes.iter().map(stage).collect();
        Opened::new(&Bench { source: SOURCE.to_owned(), pipeline, ..Bench::default() }, || 0.0)
    }

    #[test]
    fn views_before_the_end_carry_its_text() {
        let mut opened = opened(&["copy-prop", "const-fold", "dce"]);
        let end = opened.view(Position::END, Scope::Pipeline, None);
        assert_eq!(end.end, None);
        for position in [Position::default(), Position { stage: 1, step: 1 }, Position { stage: 2, step: 1 }] {
            let view = opened.view(position, Scope::Rewrite, None);
            assert_ne!(view.after, end.after);
            assert_eq!(view.end.as_ref(), Some(&end.after));
        }
    }

    #[test]
    fn a_named_pipeline_is_one_entry_with_the_changes_of_its_passes() {
        let parts = ["copy-prop", "const-fold", "dce", "simplify-cfg"];
        let (mut apart, mut whole) = (opened(&parts), opened(&["@basic"]));
        let (one, all) =
            (apart.view(Position::END, Scope::Pipeline, None), whole.view(Position::END, Scope::Pass, None));
        // The last of the four passes changes nothing: no change led to its end.
        let lines = |view: &View| {
            view.diff.iter().map(|line| DiffLine { is_current: false, ..line.clone() }).collect::<Vec<_>>()
        };
        assert_eq!((&one.after, lines(&one)), (&all.after, lines(&all)));
        assert_eq!(all.stages.len(), 1);
        let sum: usize = one.stages.iter().map(|stage| stage.rewrites).sum();
        assert_eq!(all.stages[0].rewrites, sum);
        assert_eq!(all.stages[0].instructions, (5, one.stages[3].instructions.1));
        // Every change is a stop, under the name of the pass that made it.
        let mut passes: Vec<String> = Vec::new();
        for step in 1..=sum {
            let view = whole.view(Position { stage: 1, step }, Scope::Rewrite, None);
            assert_eq!(view.position.step, step);
            passes.push(view.remark.expect("a change has a reason").pass);
        }
        assert!(passes.is_sorted_by_key(|pass| parts.iter().position(|part| part == pass)), "{passes:?}");
        assert!(
            passes.iter().any(|pass| pass == "const-fold") && passes.iter().any(|pass| pass == "dce"),
            "{passes:?}"
        );
    }

    #[test]
    fn an_entry_that_cannot_run_says_why_and_the_others_run() {
        let view = opened(&["@bsic", "dce", "@basic,dce"]).view(Position::END, Scope::Pipeline, None);
        assert!(view.stages[0].refused.as_ref().is_some_and(|why| why.contains("did you mean `@basic`?")));
        assert!(view.stages[1].rewrites > 0);
        assert!(view.stages[2].refused.is_some());
    }

    const SCOPES: &str = include_str!("../../../www/examples/phases/gvn-cse.wir");

    fn opened_scopes(passes: &[&str]) -> (Bench, Opened) {
        let stage = |pass: &&str| Stage { pass: (*pass).to_owned(), on: true, ..Stage::default() };
        let bench =
            Bench { source: SCOPES.to_owned(), pipeline: passes.iter().map(stage).collect(), ..Bench::default() };
        (bench.clone(), Opened::new(&bench, || 0.0))
    }

    #[test]
    fn every_moment_is_shown_at_the_change_that_it_leads_to() {
        for passes in [&["gvn-cse"][..], &["copy-prop", "gvn-cse"], &["@ptxas"]] {
            let (bench, mut opened) = opened_scopes(passes);
            let stage = passes.len();
            let ask = |opened: &mut Opened, position, moment| {
                let (bench, title) = (bench.clone(), "Values".to_owned());
                opened.inspection(&Inspect { bench, position, title, moment, ..Inspect::default() })
            };
            let rewrites = opened.view(Position::END, Scope::Rewrite, None).stages[stage - 1].rewrites;
            let mut changes = 0;
            for step in 1..=rewrites {
                let position = Position { stage, step };
                let view = opened.view(position, Scope::Rewrite, None);
                let Some(course) = view.inspected.iter().find_map(|shown| shown.course.clone()) else { continue };
                changes += 1;
                assert_eq!(view.remark.as_ref().expect("a reason").pass, "gvn-cse", "only its changes have moments");
                let told = ask(&mut opened, position, None).and_then(|told| told.timeline).expect("moments");
                assert_eq!((&told.course, told.course.step_of(told.at)), (&course, step));
                assert_eq!(Some(told.at), course.made(step), "the usual moment is that of the change");
                for moment in course.moments_of(step - course.changes_before) {
                    let timeline = ask(&mut opened, position, Some(moment)).and_then(|told| told.timeline);
                    assert_eq!(timeline.map(|timeline| timeline.at), Some(moment));
                    let other = opened.view(position, Scope::Rewrite, Some(moment));
                    assert_eq!(other.position.step, step);
                    // Program, graph and reason are those of the moment.
                    let is_before = course.is_ahead(moment);
                    assert_eq!(other.is_before_change, is_before);
                    assert_eq!([other.graph != view.graph, other.after != view.after], [is_before; 2]);
                    assert_eq!(other.remark.is_none(), is_before);
                }
            }
            assert_eq!(changes, 2, "{passes:?}");
        }
    }

    #[test]
    fn a_pass_without_details_has_no_moments_that_led_here() {
        let (bench, mut opened) = opened_scopes(&["dce"]);
        let view = opened.view(Position::END, Scope::Pass, None);
        assert!(view.inspected.iter().all(|shown| shown.title == ANALYSES_TITLE && shown.course.is_none()));
        let asked = Inspect { bench, position: Position::END, title: "Values".to_owned(), ..Inspect::default() };
        assert_eq!(opened.inspection(&asked), None);
    }

    #[test]
    fn numbers_are_shown_as_somebody_reads_them() {
        let shown =
            [35.525000000000006, 0.9111747851002865, -33.0, 2.5, 0.0, 1.25e-7, f64::INFINITY, 1e15].map(readable);
        assert_eq!(shown, ["35.53", "0.9112", "-33", "2.5", "0", "1.25e-7", "inf", "1000000000000000"]);
    }
}
