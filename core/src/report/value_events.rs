//! Events of a value name graph as lines of JSON.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::ir::{Func, Module};
use crate::journal::Journal;
use crate::pass::AnalysisSettings;
use crate::vng::{Foundation, Names, Narrated, Outcome, ValueNameGraph};

/// An event.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ValueEventReport {
    /// Its number, from 0.
    pub seq: usize,
    /// `seed`, `name`, `end`, `apart`, `class`, `fact`, `entry`, `exit`, `flow` or `bound`.
    pub kind: &'static str,
    /// Label of the block where it happens; None for the function as a whole.
    pub at: Option<String>,
    /// Label of the block at the other end of an edge.
    pub from: Option<String>,
    /// The name that it is about.
    pub name: String,
    /// A word, names, a count or a pair of counts.
    pub value: Outcome,
    /// The rule that decided.
    pub rule: &'static str,
    /// The sentence.
    pub why: String,
}

/// The events of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueEvents {
    /// The events, in order.
    pub events: Vec<ValueEventReport>,
    /// Whether there was no room for later ones.
    pub is_cut: bool,
}

impl ValueEvents {
    /// The events of a function's value name graph.
    pub fn of_graph(module: &Module, func: Func, settings: &AnalysisSettings) -> ValueEvents {
        let mut journal = Journal::of_analysis("vng", func);
        let func = &module.funcs[func];
        let foundation = Foundation::compute(module, func, settings.vng_options());
        let graph = ValueNameGraph::build_traced(&foundation, &mut journal);
        ValueEvents::narrate(&journal, &Names::new(module, func, &foundation, &graph))
    }

    /// The events of a journal of one analysis, of the graph that the names are of.
    pub(super) fn narrate(journal: &Journal, names: &Names<'_, '_>) -> ValueEvents {
        let line = |(seq, event)| {
            let Narrated { kind, at, from, name, value, rule, why, .. } = names.narrate(event);
            let label = |block| names.label(block);
            ValueEventReport { seq, kind, at: at.map(label), from: from.map(label), name, value, rule, why }
        };
        let events = journal.value_events(0).enumerate().map(line).collect();
        ValueEvents { events, is_cut: !journal.has_room() }
    }
}
