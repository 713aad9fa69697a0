//! Inspections of passes at the positions of a session.

mod analyses;
mod azp;
mod paths;
mod questions;
mod values;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use warpscope_core::inspect::{Inspection, Request, Row};
use warpscope_core::load::{Dialect, load};
use warpscope_core::pass::{Surroundings, parse_pipeline};
use warpscope_core::session::{Options, Session};

/// The text of an example, or of a program that is given itself.
fn source(program: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples").join(program);
    if program.ends_with(".wir") { std::fs::read_to_string(file).expect("an example") } else { program.into() }
}

/// A session of an example, or of a program, at its end.
fn open(program: &str, pipeline: &str, fast_math: bool) -> Session {
    let loaded = load(&source(program), Dialect::Wir);
    assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
    let steps = parse_pipeline(pipeline).expect("a pipeline");
    Session::open(loaded.module, &Options { steps, fast_math, ..Options::default() }, &mut || 0)
}

fn choices(chosen: &[(&str, &str)]) -> Request {
    let choices: BTreeMap<String, String> =
        chosen.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Request { choices, moment: None }
}

/// The inspection of the first kernel by the first pass that shows something after `passes`, after so many events.
fn inspect(session: &mut Session, passes: Range<usize>, done: usize, request: &Request) -> Option<Inspection> {
    inspect_with(session, done, request, Surroundings::none(passes))
}

/// An inspection with knowledge beside the session.
fn inspect_with(
    session: &mut Session,
    done: usize,
    request: &Request,
    surroundings: Surroundings<'_>,
) -> Option<Inspection> {
    session.seek(done);
    let kernel = session.module().kernels().next().expect("a kernel");
    let &(pass, _) = session.inspected_passes(surroundings.passes.clone(), kernel).first()?;
    session.inspect(pass, kernel, request, surroundings)
}

fn row(inspection: &Inspection, is_it: impl Fn(&Row) -> bool) -> &Row {
    inspection.tables[0].rows.iter().find(|row| is_it(row)).expect("a row")
}

/// The inspection of the first kernel by a pass of that heading among `passes`, after so many events of the session.
fn inspect_kept(
    session: &mut Session,
    (title, passes): (&str, Range<usize>),
    done: usize,
    moment: Option<usize>,
) -> Option<Inspection> {
    session.seek(done);
    let kernel = session.module().kernels().next()?;
    let found = session.inspected_passes(passes.clone(), kernel);
    let &(pass, _) = found.iter().find(|(_, found)| *found == title)?;
    let request = Request { moment, ..Request::default() };
    session.inspect(pass, kernel, &request, Surroundings::none(passes))
}

/// Events that are done after each change of passes; after the last one all of theirs.
fn stops(session: &Session, passes: Range<usize>) -> Vec<usize> {
    let events = session.events_of(passes.start).start..session.events_of(passes.end - 1).end;
    let changes = events.clone().filter(|&event| session.journal().events()[event].is_rewrite());
    let mut stops: Vec<usize> = changes.map(|event| event + 1).collect();
    if let Some(last) = stops.last_mut() {
        *last = events.end;
    }
    stops
}
