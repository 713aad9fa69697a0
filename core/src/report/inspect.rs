//! Inspections of the passes of a session, pass by pass.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

use serde::Serialize;

use crate::compact_sort::CompactSort;
use crate::inspect::{Inspection, Request};
use crate::ir::{Func, FuncKind};
use crate::pass::{Subject, Surroundings};
use crate::session::Session;

/// Inspections, in the order of passes and functions.
#[derive(Serialize)]
pub struct InspectReport {
    inspections: Vec<PassInspection>,
}

/// An inspection of one function by one pass.
#[derive(Serialize)]
struct PassInspection {
    pass: &'static str,
    function: String,
    /// Rewrites of the whole session that are done.
    stop: usize,
    #[serde(flatten)]
    inspection: Inspection,
}

impl InspectReport {
    /// Inspects the functions of that name, or all kernels: after so many rewrites the passes that have the word there,
    /// otherwise each pass where it begins, or where it ends if it shows what has been kept.
    pub fn new(
        session: &mut Session,
        kernel: Option<&str>,
        stop: Option<usize>,
        choices: BTreeMap<String, String>,
    ) -> InspectReport {
        let is_wanted = |session: &Session, func: Func| {
            let func = &session.start().funcs[func];
            kernel.map_or(func.kind == FuncKind::Kernel, |name| func.name == name)
        };
        let funcs: Vec<Func> = session.start().funcs.keys().filter(|&func| is_wanted(session, func)).collect();
        let rewrites: Vec<usize> =
            (0..session.len()).filter(|&at| session.journal().events()[at].is_rewrite()).collect();
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
            let Some(inspection) = session.inspect(pass, func, &request, Surroundings::none(passes.clone())) else {
                continue;
            };
            inspections.push(PassInspection {
                pass: session.reports()[pass].name,
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
