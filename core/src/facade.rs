//! The laboratory in seven functions, for other programs.
//!
//! ```text
//! source ──parse──▶ Module ──optimize──▶ Session ──trace, inspect──▶ what happened, and what a pass shows
//!                     │                     │
//!                     └─────simulate, equivalent
//! ```
//!
//! Text IR and PTX are both read. A kernel without a launch gets one that is derived from its code, as on the command
//! line. Nothing here panics on bad input.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::derive::launch_under;
use crate::equivalence::{Comparison, Verdict, compare};
use crate::inspect::{Inspection, Request};
use crate::ir::{Func, FuncKind, Module};
use crate::load::{Dialect, Loaded, load};
use crate::machine::Machine;
use crate::pass::{Surroundings, parse_pipeline};
use crate::session::{Options, Session};
use crate::sim::{ErrorKind, Progress, RunResult, Settings, SimError, Simulation};
use crate::text::Diagnostic;

/// Reads a program in text IR or PTX.
///
/// # Errors
///
/// All diagnostics, if the program cannot be used. Of PTX a part may be usable: see [`check`] for what is not.
pub fn parse(source: &str) -> Result<Module, Vec<Diagnostic>> {
    let Loaded { module, diagnostics, is_usable } = load(source, Dialect::of(source));
    if is_usable { Ok(module) } else { Err(diagnostics) }
}

/// Errors and warnings of a program, in the order of the text.
pub fn check(source: &str) -> Vec<Diagnostic> {
    load(source, Dialect::of(source)).diagnostics
}

/// Runs passes over all functions, such as `gvn-cse,dce`, `@ptxas` or `ssrqp[cost=machine]`. The session is at its
/// end; it replays any position, and its [`module`](Session::module) is the program there.
///
/// # Errors
///
/// A sentence with a suggestion, if the pipeline cannot be read.
pub fn optimize(module: Module, passes: &str) -> Result<Session, String> {
    let steps = parse_pipeline(passes).map_err(|error| error.message)?;
    Ok(Session::open(module, &Options { steps, ..Options::default() }, &mut || 0))
}

/// The rewrites and refusals of a session, a line each: pass, rule and reason.
pub fn trace(session: &Session) -> Vec<String> {
    let (events, passes) = (session.journal().events(), session.journal().passes());
    let lines = passes.iter().flat_map(|pass| {
        events[pass.start..pass.end].iter().map(|event| {
            let kept = if event.is_rewrite() { "" } else { "missed, " };
            format!("{} ({kept}{}): {}", pass.pass, event.remark.rule, event.remark.message)
        })
    });
    lines.collect()
}

/// Inspections of a kernel by the passes of a session, each before its first change, or after its last one if it shows
/// how it came there. The session is at its end afterwards.
pub fn inspect(session: &mut Session, kernel: Func) -> Vec<Inspection> {
    let passes = 0..session.reports().len();
    let inspections = passes.clone().filter_map(|pass| {
        let events = session.events_of(pass);
        session.seek(if session.course(pass, kernel, passes.clone()).is_some() { events.end } else { events.start });
        session.inspect(pass, kernel, &Request::default(), Surroundings::none(passes.clone()))
    });
    let inspections = inspections.collect();
    session.seek(usize::MAX);
    inspections
}

/// Runs a kernel to its end on a machine model and counts.
///
/// # Errors
///
/// The place and the reason, if the launch does not come to its end.
pub fn simulate(module: &Module, kernel: Func, settings: &Settings, machine: Machine) -> Result<RunResult, SimError> {
    let launch = launch_under(module, &module.funcs[kernel], settings);
    let mut simulation = Simulation::new(module, kernel, &launch, settings, machine)?;
    while simulation.run(u64::MAX)? == Progress::Running {}
    Ok(simulation.result())
}

/// Compares the memory that two kernels leave behind, on launches made from that of the first one. Sound in one
/// direction: a difference is real, agreement is evidence only.
pub fn equivalent(first: (&Module, Func), second: (&Module, Func)) -> Verdict {
    let launch = launch_under(first.0, &first.0.funcs[first.1], &Settings::default());
    compare(first, second, &launch, &Comparison::default())
}

/// The kernel of that name; without a name the first launch's, or the first one of the text.
///
/// # Errors
///
/// There is no such kernel.
pub fn find_kernel(module: &Module, name: Option<&str>) -> Result<Func, SimError> {
    let is_kernel = |func: &Func| module.funcs[*func].kind == FuncKind::Kernel;
    let launched = || module.launches.iter().find_map(|launch| module.func_by_name(&launch.kernel));
    let found = match name {
        Some(name) => module.func_by_name(name),
        None => launched().or_else(|| module.funcs.keys().find(is_kernel)),
    };
    found.filter(is_kernel).ok_or_else(|| {
        let message =
            name.map_or_else(|| "the program has no kernel".into(), |name| format!("there is no kernel `{name}`"));
        SimError::new(ErrorKind::Program, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equivalence::Verdict;

    const SOURCE: &str = "kernel k(x: ptr.global) {
entry:
    i = mov.u32 %tid
    a = ld.global.u32 x[i]
    b = add.u32 a, 2
    c = add.u32 a, 2
    d = add.u32 b, c
    unused = mul.u32 d, 3
    st.global.u32 x[i], d
    ret
}
";

    #[test]
    fn seven_functions_work_together() {
        let module = parse(SOURCE).expect("a program");
        let kernel = find_kernel(&module, None).expect("a kernel");
        let mut session = optimize(module.clone(), "gvn-cse,copy-prop,dce").expect("a pipeline");
        let lines = trace(&session);
        assert!(lines.iter().any(|line| line.starts_with("dce (")), "{lines:?}");
        let shown = inspect(&mut session, kernel);
        assert_eq!(shown.iter().map(|shown| shown.title.as_str()).collect::<Vec<_>>(), ["Values"]);
        assert_eq!(session.done(), session.len());
        let run = |module: &Module| simulate(module, kernel, &Settings::default(), Machine::Ampere).expect("a run");
        let (before, after) = (run(&module), run(session.module()));
        assert_eq!(before.result_hash, after.result_hash);
        assert!(after.warp_instructions < before.warp_instructions);
        assert!(matches!(equivalent((&module, kernel), (session.module(), kernel)), Verdict::Same { .. }));
    }

    #[test]
    fn bad_input_is_answered() {
        let errors = parse("kernel k(").err().expect("no program");
        assert!(errors.iter().any(Diagnostic::is_error));
        assert_eq!(check("kernel k("), errors);
        let empty = parse("").expect("an empty program");
        assert!(find_kernel(&empty, None).is_err() && find_kernel(&empty, Some("k")).is_err());
        let refused = optimize(empty.clone(), "gvn-cs").err().expect("no such pass");
        assert!(refused.contains("did you mean `gvn-cse`?"), "{refused}");
        assert!(trace(&optimize(empty, "@ptxas").expect("a pipeline")).is_empty());
    }
}
