//! Laws for every program and every pass.
//!
//! Each law is a function that gives what it found broken as a text to read: the golden runner, the tests on generated
//! programs and the fuzz targets all ask these same questions.

use std::fmt::Write;

use warpscope_core::derive::derive_launch;
use warpscope_core::equivalence::{Comparison, Reference, Verdict};
use warpscope_core::ir::{Func, Module, Profile};
use warpscope_core::journal::Event;
use warpscope_core::machine::Machine;
use warpscope_core::pass::{Settings as PassSettings, Step, parse_pipeline, run_pass};
use warpscope_core::profile::declare;
use warpscope_core::report::measure;
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::Settings;
use warpscope_core::text::{Diagnostic, print};
use warpscope_core::trace::NoTrace;
use warpscope_core::verify::{check, verify};

/// A law holds, or a text says how it is broken.
pub type Law<T = ()> = Result<T, String>;

/// States whose text is kept to compare going back with going forward; longer sessions are compared at every so many.
const STATES_COMPARED: usize = 300;

/// Printing a program and parsing that gives the same program: its text does not change any more. Gives the program.
pub fn print_then_parse_is_identity(source: &str) -> Law<Module> {
    let module = well_formed(source)?;
    let once = print(&module);
    let twice = print(&well_formed(&once).map_err(|errors| format!("{errors}in its own canonical text:\n{once}"))?);
    same_text("printing what was printed", &once, &twice)?;
    Ok(module)
}

/// The program, if neither the parser nor the verifier finds an error.
pub fn well_formed(source: &str) -> Law<Module> {
    let parsed = check(source);
    let errors: String = parsed
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .map(|error| error.render("program", source))
        .collect();
    if errors.is_empty() { Ok(parsed.module) } else { Err(errors) }
}

/// The program with the profile of its own launch, or of one with another seed; as it is where that cannot be run.
pub fn profiled(source: &str, seed: u64) -> Law<Module> {
    let mut module = well_formed(source)?;
    let kernel = module.kernels().next().ok_or("no kernel")?;
    let settings = Settings { seed: Some(seed), ..Settings::default() };
    if let Ok(counted) = measure(&module, kernel, &settings, Machine::Ampere) {
        declare(&mut module, &counted);
    }
    well_formed(&print(&module))
}

/// A program with a profile whose paths can only be estimated: of its counts of edges, or of some
/// that contradict each other.
pub fn with_estimated_paths(module: &Module, seed: u64) -> Module {
    let mut module = module.clone();
    for func in module.funcs.values_mut() {
        func.profiles.retain(|profile| !matches!(profile, Profile::Path(_)));
        for profile in &mut func.profiles {
            let Profile::Edge(edges) = profile else { continue };
            for (place, (.., count)) in edges.iter_mut().enumerate() {
                *count = if seed.is_multiple_of(2) { *count } else { *count * (place as u64 * 7 % 5) };
            }
        }
    }
    module
}

/// Pipelines that each do nothing wrong to a program with its profile, the first two also where its
/// paths are estimated: every step is sound, memory stays the same, and a second run finds nothing.
pub fn are_sound_with_profile(pipelines: &[&str], source: &str, seed: u64) -> Law {
    let of_program = |message: String| format!("{message}\nthe program:\n{source}");
    let module = profiled(source, seed).map_err(of_program)?;
    let estimated = with_estimated_paths(&module, seed);
    let mut memory = Memory::of(&module, false);
    let of_estimates = pipelines.iter().take(2).map(|pipeline| (pipeline, &estimated));
    for (pipeline, module) in pipelines.iter().map(|pipeline| (pipeline, &module)).chain(of_estimates) {
        let told = |broken: String| of_program(format!("`{pipeline}`: {broken}"));
        let steps = parse_pipeline(pipeline).map_err(|error| told(format!("{error:?}")))?;
        let session = every_step_is_sound(module, &steps, false).map_err(told)?;
        memory.is_the_same_after(session.module()).map_err(told)?;
        a_second_run_finds_nothing(module, &steps, false).map_err(told)?;
    }
    Ok(())
}

/// Runs a pipeline and checks everything that holds whatever the passes are:
///
/// - the verifier finds no error after any rewrite;
/// - going back gives the texts of going forward, and in the end the start's;
/// - passes without a trace do the same;
/// - the result survives being printed and parsed.
pub fn every_step_is_sound(module: &Module, steps: &[Step], fast_math: bool) -> Law<Session> {
    let options = Options { steps: steps.to_vec(), fast_math, only: None, launches: None };
    let mut session = Session::open(module.clone(), &options, &mut || 0);
    let start = print(module);
    let end = print(session.module());
    let count = session.len();
    let stride = count / STATES_COMPARED + 1;
    session.seek(0);
    same_text("going back to the start", &start, &print(session.module()))?;
    let mut states = vec![start];
    while session.step() {
        if session.done().is_multiple_of(stride) || session.done() == count {
            no_errors(session.module())
                .map_err(|errors| format!("{errors}after {}\n{}", last_event(&session), print(session.module())))?;
            states.push(print(session.module()));
        }
    }
    same_text("going forward again", &end, &print(session.module()))?;
    while session.back() {
        if session.done().is_multiple_of(stride) {
            let place = format!("going back to event {} of {count}", session.done());
            same_text(&place, &states[session.done() / stride], &print(session.module()))?;
        }
    }
    session.seek(count);
    same_text("running without a trace", &end, &print(&run_silently(module, steps, fast_math)))?;
    print_then_parse_is_identity(&end).map_err(|broken| format!("{broken}in the result:\n{end}"))?;
    Ok(session)
}

/// Passes whose documentation says why another run may find more, and after how many runs nothing more is found.
const COMES_TO_AN_END: [(&str, usize); 2] = [("ssrqp-s", 5), ("ssrqp", 5)];

/// The rules of missed remarks by which a pass says that it stopped before everything was found.
const SAYS_WHY_NOT: [&str; 4] = ["budget", "limit", "max-rounds", "small-share"];

/// Running any step of a pipeline a second time, right after the first, changes nothing, or the
/// first one said why not. What documents that it may find more finds nothing after a few runs;
/// what runs the launch to decide may find more in a function only if another one has changed.
pub fn a_second_run_finds_nothing(module: &Module, steps: &[Step], fast_math: bool) -> Law {
    let mut current = module.clone();
    for step in steps.iter().filter(|step| step.enabled) {
        let once = std::slice::from_ref(step);
        let options = Options { steps: once.to_vec(), fast_math, only: None, launches: None };
        let first = Session::open(current.clone(), &options, &mut || 0);
        let runs = COMES_TO_AN_END.iter().find(|(pass, _)| *pass == step.pass).map_or(1, |(_, runs)| *runs);
        for _ in 0..runs {
            current = run_silently(&current, once, fast_math);
        }
        if first.journal().events().iter().any(|event| SAYS_WHY_NOT.contains(&event.remark.rule)) {
            continue;
        }
        let runs_the_launch = step.knobs.iter().any(|(name, value)| name == "heuristic" && value == "oracle");
        let others_changed = |func: Func| {
            let changed = |event: &Event| event.is_rewrite() && event.func != func;
            runs_the_launch && first.journal().events().iter().any(changed)
        };
        let again = Session::open(current.clone(), &options, &mut || 0);
        let finds_more = |event: &&Event| event.is_rewrite() && !others_changed(event.func);
        if let Some(event) = again.journal().events().iter().find(finds_more) {
            let mut text = format!("run {} of `{}` finds: {}\n", runs + 1, step.pass, event.remark.message);
            let _ = writeln!(text, "in\n{}", print(&current));
            return Err(text);
        }
    }
    Ok(())
}

/// Launches on which every optimised kernel is compared with what it was.
const TRIALS: u32 = 12;

/// How far results may be apart where floats may be treated as real numbers.
const FAST_MATH_TOLERANCE: f64 = 1e-4;

/// [`Memory::is_the_same_after`] for one program.
pub fn memory_is_the_same(before: &Module, after: &Module, fast_math: bool) -> Law {
    Memory::of(before, fast_math).is_the_same_after(after)
}

/// Memory that a program leaves, computed once for all programs that are compared with it.
pub struct Memory<'a> {
    before: &'a Module,
    text: String,
    kernels: Vec<(Func, Reference<'a>)>,
}

impl<'a> Memory<'a> {
    /// On its launch (or one made for it) and variations of it. With `fast_math` floats may differ a little.
    pub fn of(before: &'a Module, fast_math: bool) -> Memory<'a> {
        let tolerance = if fast_math { FAST_MATH_TOLERANCE } else { 0.0 };
        let comparison = Comparison { trials: TRIALS, tolerance, ..Comparison::default() };
        let kernels = before.kernels().map(|kernel| {
            let func = &before.funcs[kernel];
            let launch = before.launch_of(&func.name).cloned().unwrap_or_else(|| derive_launch(before, func));
            (kernel, Reference::new((before, kernel), launch, comparison.clone()))
        });
        Memory { before, text: print(before), kernels: kernels.collect() }
    }

    /// Every kernel of `after` leaves the same memory behind.
    ///
    /// The text is all of a program, and a run depends on nothing else: one whose text has not changed need not run.
    pub fn is_the_same_after(&mut self, after: &Module) -> Law {
        if print(after) == self.text {
            return Ok(());
        }
        for (kernel, reference) in &mut self.kernels {
            if let Verdict::Different(found) = reference.compare((after, *kernel)) {
                let (options, difference) = (found.options(), found.difference);
                let name = &self.before.funcs[*kernel].name;
                let texts = format!("{}\n--- becomes ---\n{}", self.text, print(after));
                return Err(format!("`{name}` computes something else under `{options}`: {difference:?}\n{texts}"));
            }
        }
        Ok(())
    }
}

/// The verifier finds no error.
pub fn no_errors(module: &Module) -> Law {
    let errors: Vec<String> =
        verify(module).into_iter().filter(Diagnostic::is_error).map(|error| error.message + "\n").collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.concat()) }
}

/// The result of passes without a trace. A pass that is refused does nothing here, as in a session.
pub fn run_silently(module: &Module, steps: &[Step], fast_math: bool) -> Module {
    let mut module = module.clone();
    let funcs: Vec<Func> = module.funcs.keys().collect();
    for step in steps.iter().filter(|step| step.enabled) {
        let entry = step.entry();
        let settings = PassSettings { knobs: step.knob_values(), fast_math };
        for &func in &funcs {
            let _ = run_pass(&mut module, func, entry, &settings, &mut NoTrace);
        }
    }
    module
}

fn last_event(session: &Session) -> String {
    session.last_event().map_or_else(String::new, |event| format!("{}: {}", event.remark.rule, event.remark.message))
}

/// Two texts are the same, or the first line in which they differ.
pub fn same_text(what: &str, expected: &str, found: &str) -> Law {
    if expected == found {
        return Ok(());
    }
    let line = expected.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
    let shown = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_string();
    Err(format!(
        "{what} gives another text from line {} on:\n  expected {}\n  found    {}\n{expected}--- becomes ---\n{found}",
        line + 1,
        shown(expected),
        shown(found)
    ))
}
