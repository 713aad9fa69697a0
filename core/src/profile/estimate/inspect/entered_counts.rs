//! Counts of edges that a person may enter in place of those of the profile.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::graph::{Cfg, Edge};
use crate::inspect::{Cell, Column, ColumnKind, Entry, Look, Note, Offer, Request, Row, Table};
use crate::ir::{Block, Function, Profile};
use crate::profile::estimate::{CountsError, EdgeCounts, Endings};
use crate::profile::{TextProfile, declared_in};
use crate::vng::Flow;
use crate::vng::inspect::{column, flow_anchor};

/// Further edges are counted, not listed.
const MOST_EDGES: usize = 300;

/// Counts of edges: those of the profile, and in their place what a person has entered.
pub(super) struct EnteredCounts {
    declared: Vec<u64>,
    /// The counts, by the numbers of the edges.
    pub edges: Vec<u64>,
    /// Whether no edge has a count.
    pub has_none: bool,
    /// The first block where these are no counts of whole runs.
    error: Option<CountsError>,
}

impl EnteredCounts {
    pub fn new(func: &Function, cfg: &Cfg, endings: Endings<'_>, request: &Request) -> EnteredCounts {
        let mut declared = vec![0u64; cfg.edge_count()];
        for profile in &func.profiles {
            let Profile::Edge(counts) = profile else { continue };
            for &(from, to, count) in counts {
                if let Some(edge) = cfg.out_edges(from).find(|&edge| cfg.target(edge) == to) {
                    let sum = &mut declared[edge.as_u32() as usize];
                    *sum = sum.saturating_add(count);
                }
            }
        }
        let mut edges = declared.clone();
        for edge in all_edges(cfg) {
            let entered = request.choices.get(&key(cfg, edge)).and_then(|count| count.trim().parse().ok());
            edges[edge.as_u32() as usize] = entered.unwrap_or(edges[edge.as_u32() as usize]);
        }
        let has_none = edges.iter().all(|&count| count == 0);
        let runs = (!has_none).then(|| EdgeCounts::of_runs(cfg, edges.clone(), endings));
        let error = runs.and_then(Result::err);
        EnteredCounts { declared, edges, has_none, error }
    }

    /// Whether a person has changed no count.
    pub fn are_declared(&self) -> bool {
        self.edges == self.declared
    }

    /// The counts as rows, each of which may be changed.
    pub fn table(&self, func: &Function, cfg: &Cfg) -> Table {
        let name = |block| func.blocks[block].name.as_str();
        let all: Vec<Edge> = all_edges(cfg).collect();
        let row = |&edge: &Edge| {
            let at = edge.as_u32() as usize;
            let (from, to) = (cfg.source(edge), cfg.target(edge));
            let label = format!("{} → {}", name(from), name(to));
            let is_wrong =
                matches!(self.error, Some(CountsError::Unbalanced { block, .. }) if block == from || block == to);
            let count = Cell {
                entry: Some(Entry {
                    key: key(cfg, edge),
                    label: format!("Count of {label}"),
                    default: self.declared[at],
                }),
                ..Cell::number(self.edges[at] as f64, self.edges[at].to_string())
            };
            Row {
                key: key(cfg, edge),
                cells: vec![Cell::text(label), count],
                look: if is_wrong { Look::Bad } else { Look::Plain },
                anchor: Some(flow_anchor(cfg, Flow::Edge(edge))),
                ..Row::default()
            }
        };
        let columns = vec![
            column("Edge", ""),
            Column {
                unit: "lanes".into(),
                kind: ColumnKind::Number,
                ..column("Count", "Lanes along the edge; enter another number to see what it changes")
            },
        ];
        Table {
            name: "Counts".into(),
            columns,
            rows: all.iter().take(MOST_EDGES).map(row).collect(),
            left_out: all.len().saturating_sub(MOST_EDGES),
            left_out_words: "more, further down in the text".into(),
            empty: "the function has one block, which no edge counts".into(),
            choice: String::new(),
        }
    }

    /// The offer to write entered counts into the program.
    pub fn offer(&self, source: &str, start: &Function, func: &Function, cfg: &Cfg) -> Option<Offer> {
        let edges: Vec<([Block; 2], u64)> = all_edges(cfg)
            .map(|edge| ([cfg.source(edge), cfg.target(edge)], self.edges[edge.as_u32() as usize]))
            .filter(|(_, count)| *count > 0)
            .collect();
        let edges: Vec<(&[Block], u64)> = edges.iter().map(|(ends, count)| (ends.as_slice(), *count)).collect();
        let is_edited = !self.are_declared() && self.error.is_none();
        let source = is_edited.then(|| declared_in(source, start, func, TextProfile::Edge, &edges)).flatten()?;
        Some(Offer { label: "Save to program".into(), source })
    }

    /// A note where the counts are not of whole runs.
    pub fn note(&self, func: &Function) -> Option<Note> {
        let name = |block| &func.blocks[block].name;
        let sentence = match &self.error {
            Some(CountsError::Unbalanced { block, entered, left }) => format!(
                "These are no counts of whole runs: `{}` is entered {entered} times and left {left} times.",
                name(*block)
            ),
            Some(CountsError::UnknownEnds(block)) => {
                format!("These counts do not say how many lanes end in calls of `{}`.", name(*block))
            }
            Some(CountsError::UncountedRuns(block)) => {
                format!("No edge counts runs that begin and end at `{}`.", name(*block))
            }
            Some(CountsError::TooLarge(block)) => format!("The counts at `{}` are above 2^56.", name(*block)),
            _ => return None,
        };
        Some(Note { word: "no profile".into(), look: Look::Bad, sentence, ..Note::default() })
    }
}

/// The edges of a function, one of those between two blocks, in the order of the text.
fn all_edges(cfg: &Cfg) -> impl Iterator<Item = Edge> + '_ {
    let of = move |&block| {
        let edges: Vec<Edge> = cfg.out_edges(block).collect();
        let is_first = |at: usize| !edges[..at].iter().any(|&other| cfg.target(other) == cfg.target(edges[at]));
        (0..edges.len()).filter(|&at| is_first(at)).map(|at| edges[at]).collect::<Vec<Edge>>()
    };
    cfg.reverse_postorder().iter().flat_map(of)
}

/// The key of an edge's count in a request.
fn key(cfg: &Cfg, edge: Edge) -> String {
    format!("count.{}-{}", cfg.source(edge).as_u32(), cfg.target(edge).as_u32())
}
