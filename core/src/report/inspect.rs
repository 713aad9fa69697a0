//! What the passes of a session show, pass by pass.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};

use serde::Serialize;

use crate::inspect::{Inspection, Request};
use crate::ir::{Func, FuncKind};
use crate::pass::Subject;
use crate::session::Session;

/// Inspections, in the order of passes and functions.
#[derive(Serialize)]
pub struct InspectReport {
    inspections: Vec<PassInspection>,
}

/// What one pass shows of one function.
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
        let places: Vec<(usize, usize)> = match stop {
            Some(0) => session_places(session, 0),
            Some(stop) => session_places(session, rewrites.get(stop - 1).map_or(session.len(), |last| last + 1)),
            None => {
                let place = |pass: usize| {
                    let events = session.events_of(pass);
                    let is_next =
                        session.inspector(pass).is_some_and(|(inspector, _)| inspector.subject == Subject::Next);
                    (pass, if is_next { events.start } else { events.end })
                };
                (0..session.reports().len()).map(place).collect()
            }
        };
        let request = Request { choices, moment: None };
        let mut inspections = Vec::new();
        for (pass, done) in places {
            session.seek(done);
            for &func in &funcs {
                let Some(inspection) = session.inspect(pass, func, &request) else { continue };
                inspections.push(PassInspection {
                    pass: session.reports()[pass].name,
                    function: session.start().funcs[func].name.clone(),
                    stop: rewrites.partition_point(|&event| event < done),
                    inspection,
                });
            }
        }
        InspectReport { inspections }
    }

    /// Is there nothing to show?
    pub fn is_empty(&self) -> bool {
        self.inspections.is_empty()
    }
}

/// The passes that have the word after so many events.
fn session_places(session: &mut Session, done: usize) -> Vec<(usize, usize)> {
    session.seek(done);
    let last = session.position().pass.min(session.reports().len());
    session.inspected_passes(0..last).into_iter().map(|(pass, _)| (pass, done)).collect()
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
