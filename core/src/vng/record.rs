//! Events of the parts of a value name graph, for a trace that wants them.

use super::seeds::{Role, Seed};
use super::synonyms::Classes;
use super::threads::{Above, EndReason, Shape, Thread, Threads};
use crate::names::Name;
use crate::trace::{NameEnd, Trace, ValueEvent, record_value_event as record};

/// Records the seeds.
pub(super) fn record_seeds(seeds: &[Seed], trace: &mut dyn Trace) {
    if !trace.is_on() {
        return;
    }
    for seed in seeds {
        let is_user = seed.role == Role::User;
        record(trace, || ValueEvent::Seed { inst: seed.inst, name: seed.name, is_user });
    }
}

/// Records each thread, in the order of visits.
pub(super) fn record_threads(shape: Shape<'_>, threads: &Threads, trace: &mut dyn Trace) {
    if !trace.is_on() {
        return;
    }
    for &name in threads.names() {
        if let Some(thread) = threads.of(name) {
            record_thread(shape, name, thread, trace);
        }
    }
}

fn record_thread(shape: Shape<'_>, name: Name, thread: &Thread, trace: &mut dyn Trace) {
    let at = thread.latest.map(|latest| latest.block);
    match &thread.above {
        Above::Constant => record(trace, || ValueEvent::End { at, from: None, name, end: NameEnd::Constant }),
        Above::Value(_) | Above::Given => {
            record(trace, || ValueEvent::End { at, from: None, name, end: NameEnd::Value })
        }
        Above::End(reason) => record(trace, || ValueEvent::End { at, from: None, name, end: name_end(*reason) }),
        Above::Load(inst, above) | Above::Store(inst, above) => {
            if let Some(block) = at {
                let inst = Some(*inst);
                record(trace, || ValueEvent::Name { at: block, from: block, inst, name, above: *above });
            }
        }
        Above::Join(block, along) => {
            // At the function's entry one end follows those of the edges.
            let sources = shape.edges_into(*block).map(|edge| Some(shape.cfg.source(edge)));
            for (from, above) in sources.chain(core::iter::once(None)).zip(along) {
                record(trace, || match (*above, from) {
                    (Ok(above), Some(from)) => ValueEvent::Name { at: *block, from, inst: None, name, above },
                    (Err(reason), _) => ValueEvent::End { at: Some(*block), from, name, end: name_end(reason) },
                    (Ok(_), None) => ValueEvent::End { at: None, from: None, name, end: NameEnd::Entry },
                });
            }
        }
    }
}

const fn name_end(reason: EndReason) -> NameEnd {
    match reason {
        EndReason::Entry => NameEnd::Entry,
        EndReason::Definition(_) => NameEnd::Definition,
        EndReason::Overwritten(_) => NameEnd::Overwritten,
        EndReason::Language => NameEnd::Language,
        EndReason::Window => NameEnd::Window,
        EndReason::Limit => NameEnd::Limit,
    }
}

/// Records the classes of several names.
pub(super) fn record_classes(classes: &Classes, trace: &mut dyn Trace) {
    if !trace.is_on() {
        return;
    }
    for (_, names) in classes.iter().filter(|(_, names)| names.len() > 1) {
        record(trace, || ValueEvent::Class { names: names.to_vec() });
    }
}
