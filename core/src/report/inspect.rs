//! Inspections of a session by its passes, or by an analysis.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::estimate_runs::count_reuse;
use crate::compact_sort::CompactSort;
use crate::graph::Cfg;
use crate::inspect::{Inspection, Request};
use crate::ir::{Func, FuncKind, Module};
use crate::machine::Machine;
use crate::pass::{ANALYSIS, Subject, Surroundings};
use crate::profile::estimate::FlagPlan;
use crate::session::Session;
use crate::sim::Settings;

/// Warp instructions after which a run that only counts for an inspection is given up.
pub const COUNTING_FUEL: u64 = 5_000_000;

/// Inspections, in the order of passes and functions.
#[derive(Serialize)]
pub struct InspectReport {
    inspections: Vec<PassInspection>,
}

/// An inspection of one function by one pass or analysis.
#[derive(Serialize)]
struct PassInspection {
    pass: String,
    function: String,
    /// Rewrites of the whole session that are done.
    stop: usize,
    #[serde(flatten)]
    inspection: Inspection,
}

/// Positions and inputs of an [`InspectReport`].
#[derive(Default)]
pub struct InspectRequest<'a> {
    /// Name of the only function to inspect; None for all kernels.
    pub kernel: Option<&'a str>,
    /// Number of rewrites of the session after which the passes that are active there are inspected. With None each
    /// pass is inspected where it begins, or where it ends if it shows past events.
    pub stop: Option<usize>,
    /// The name of an analysis to inspect by in place of the passes: of the program at the stop, or at the end.
    pub analysis: Option<&'a str>,
    /// Choices of a person, by key.
    pub choices: BTreeMap<String, String>,
    /// The text that the program was read from, which offers change; empty for none.
    pub source: &'a str,
    /// Whether a run has measured the profile that the program declares.
    pub is_measured: bool,
}

impl InspectReport {
    /// Inspects the passes of a session. The session's position changes.
    pub fn new(session: &mut Session, request: InspectRequest<'_>) -> InspectReport {
        let InspectRequest { kernel, stop, analysis, mut choices, source, is_measured } = request;
        let is_wanted = |session: &Session, func: Func| {
            let func = &session.start().funcs[func];
            kernel.map_or(func.kind == FuncKind::Kernel, |name| func.name == name)
        };
        let funcs: Vec<Func> = session.start().funcs.keys().filter(|&func| is_wanted(session, func)).collect();
        let rewrites: Vec<usize> =
            (0..session.len()).filter(|&at| session.journal().events()[at].is_rewrite()).collect();
        if let Some(analysis) = analysis {
            let event_count = |stop: usize| {
                stop.checked_sub(1).map_or(0, |last| rewrites.get(last).map_or(session.len(), |last| last + 1))
            };
            session.seek(stop.map_or(session.len(), event_count));
            choices.insert(ANALYSIS.into(), analysis.into());
            let request = Request { choices, moment: None };
            let count = |module: &Module, func: Func, cfg: &Cfg, plan: &FlagPlan| {
                let is_kernel = module.funcs[func].kind == FuncKind::Kernel;
                let settings = Settings { fuel: COUNTING_FUEL, ..Settings::default() };
                let counted = || count_reuse(module, (func, &settings), Machine::default(), (func, cfg, plan)).ok();
                is_kernel.then(counted).flatten()
            };
            let surroundings = Surroundings { source, count_reuse: &count, ..Surroundings::none(0..0) };
            let inspected = funcs.iter().map(|&func| PassInspection {
                pass: analysis.into(),
                function: session.start().funcs[func].name.clone(),
                stop: rewrites.partition_point(|&event| event < session.done()),
                inspection: session.inspect_analysis(func, &request, &surroundings),
            });
            return InspectReport { inspections: inspected.collect() };
        }
        let passes = 0..session.reports().len();
        let places: Vec<(usize, usize, Func)> = match stop {
            Some(stop) => {
                let last = stop.checked_sub(1).map(|last| rewrites.get(last).map_or(session.len(), |last| last + 1));
                session_places(session, &funcs, last.unwrap_or(0))
            }
            None => {
                let place = |pass: usize| {
                    let events = session.events_of(pass);
                    let is_next =
                        session.inspector(pass).is_some_and(|(inspector, _)| inspector.subject == Subject::Next);
                    let done = if is_next { events.start } else { events.end };
                    funcs.iter().map(move |&func| (pass, done, func))
                };
                passes.clone().flat_map(place).collect()
            }
        };
        let request = Request { choices, moment: None };
        let mut inspections = Vec::new();
        for (pass, done, func) in places {
            session.seek(done);
            // Changes are counted through the session, as `stop` is.
            let surroundings = Surroundings { source, is_measured, ..Surroundings::none(passes.clone()) };
            let Some(inspection) = session.inspect(pass, func, &request, surroundings) else { continue };
            inspections.push(PassInspection {
                pass: session.reports()[pass].name.into(),
                function: session.start().funcs[func].name.clone(),
                stop: rewrites.partition_point(|&event| event < done),
                inspection,
            });
        }
        InspectReport { inspections }
    }

    /// Is there nothing to show?
    pub fn is_empty(&self) -> bool {
        self.inspections.is_empty()
    }
}

/// The passes that have the word after so many events, each with the functions of which it shows something.
fn session_places(session: &mut Session, funcs: &[Func], done: usize) -> Vec<(usize, usize, Func)> {
    session.seek(done);
    let position = session.position();
    let last = (position.pass + usize::from(position.event > 0)).min(session.reports().len());
    let of =
        |&func: &Func| session.inspected_passes(0..last, func).into_iter().map(move |(pass, _)| (pass, done, func));
    let mut places: Vec<(usize, usize, Func)> = funcs.iter().flat_map(of).collect();
    places.compact_sort_by_key(|&(pass, ..)| pass);
    places
}

impl Display for InspectReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (index, PassInspection { pass, function, stop, inspection }) in self.inspections.iter().enumerate() {
            let space = if index > 0 { "\n" } else { "" };
            write!(
                out,
                "{space}== {} of {pass} in `{function}` after {stop} rewrites\n{inspection}",
                inspection.title
            )?;
        }
        Ok(())
    }
}
