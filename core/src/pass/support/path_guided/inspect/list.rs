//! The executed paths as a person numbers and edits them.
//!
//! ```text
//! Path  Blocks              Freq  avail  remov  benefit  cost
//! P1    n1 n2 n5 n7 n12     125   1      1      1        0
//! P2    n1 n3 n6 n9 (rare)   10   –      –      0        0
//! ```
//!
//! A few paths have the order of the profile; of many the most frequent come first.
//!
//! Limit: [`MOST_PATHS`] rows; the frequencies of all count.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::words::plain_names;
use super::{DecisionPoint, PATH, SetColumn};
use crate::compact_sort::CompactSort;
use crate::inspect::{Anchor, Cell, Column, ColumnKind, Entry, Look, Note, Offer, Request, Row, Strand, Table};
use crate::ir::{Block, Function, Profile};
use crate::pass::InspectedPosition;
use crate::pass::support::path_guided::paths::{Path, executed_paths};
use crate::profile::{TextProfile, declared_in};

/// More paths are counted, not listed.
const MOST_PATHS: usize = 200;

/// More paths are ordered by their frequency, not as the profile has them.
const FEW_PATHS: usize = 8;

const RARE: &str = "Not among the frequent paths: it may cost, but not benefit";

/// The executed paths, each with its frequency in the profile, and those frequencies that a person has changed.
pub(in crate::pass) struct ListedPaths<'a> {
    position: &'a InspectedPosition<'a>,
    declared: Vec<(Vec<Block>, u64)>,
    /// Frequencies other than the profile's, by the blocks of their paths.
    pub edited: Vec<(Vec<Block>, u64)>,
}

impl<'a> ListedPaths<'a> {
    /// The paths at a position, with the frequencies that a request has for them. Those that are no numbers do not
    /// count.
    pub(in crate::pass) fn new(position: &'a InspectedPosition<'a>, request: &Request) -> ListedPaths<'a> {
        let func = position.function();
        let declared = in_order(func, executed_paths(func));
        let entered = |(blocks, declared): &(Vec<Block>, u64)| {
            let frequency: u64 = request.choices.get(&key(blocks))?.trim().parse().ok()?;
            (frequency != *declared).then(|| (blocks.clone(), frequency))
        };
        let edited = declared.iter().filter_map(entered).collect();
        ListedPaths { position, declared, edited }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.declared.is_empty()
    }

    fn frequency(&self, (blocks, declared): &(Vec<Block>, u64)) -> u64 {
        self.edited.iter().find(|(path, _)| path == blocks).map_or(*declared, |(_, frequency)| *frequency)
    }

    /// Executions of all paths; at least 1.
    fn total(&self) -> f64 {
        self.declared.iter().map(|path| self.frequency(path) as f64).sum::<f64>().max(1.0)
    }

    /// The table, with the sets of a join or branch. `found` are the paths of the survey that the sets are of.
    pub(super) fn table(
        &self,
        request: &Request,
        found: &[Path],
        sets: Option<(&DecisionPoint, &[SetColumn; 4])>,
    ) -> Table {
        let column = |name: &str, kind: ColumnKind, help: &str| Column {
            name: name.into(),
            help: help.into(),
            kind,
            ..Column::default()
        };
        let mut columns = Vec::from([
            column("Path", ColumnKind::Words, "Each row, and each coloured line in the graph, is one executed path"),
            column("Blocks", ColumnKind::Path, ""),
            Column {
                unit: "lanes".into(),
                ..column("Freq", ColumnKind::Number, "Executions; enter another number to see what it changes")
            },
        ]);
        if let Some((point, sets)) = sets {
            columns.extend(sets.iter().map(|set| column(set.name, ColumnKind::Flag, &set.help(&point.name))));
        }
        let total = self.total();
        let chosen: Option<usize> = request.choices.get(PATH).and_then(|value| value.parse().ok());
        let rows = self.declared.iter().take(MOST_PATHS).enumerate().map(|(place, path)| {
            let at = found.iter().position(|other| other.blocks == path.0);
            let is_frequent = at.is_some_and(|at| found[at].is_frequent);
            let mut cells = self.cells(place, path, is_frequent, total).to_vec();
            if let Some((point, _)) = sets {
                cells.extend(point.cells(at));
            }
            Row {
                key: place.to_string(),
                cells,
                is_choosable: true,
                is_chosen: chosen == Some(place),
                anchor: Some(Anchor::Path(numbers(&path.0))),
                help: if is_frequent { String::new() } else { RARE.into() },
                strand: Some(place),
                ..Row::default()
            }
        });
        Table {
            name: "Paths".into(),
            columns,
            rows: rows.collect(),
            left_out: self.declared.len().saturating_sub(MOST_PATHS),
            left_out_words: "more, of lower frequency".into(),
            empty: "none is known".into(),
            choice: PATH.into(),
        }
    }

    /// The name, the blocks and the frequency of a path.
    fn cells(&self, place: usize, path: &(Vec<Block>, u64), is_frequent: bool, total: f64) -> [Cell; 3] {
        let (name, blocks) = (format!("P{}", place + 1), plain_names(self.position.function(), path.0.iter().copied()));
        let frequency = self.frequency(path);
        let entry = Entry { key: key(&path.0), label: format!("Frequency of {name}"), default: path.1 };
        let blocks = match is_frequent {
            true => Cell::text(blocks),
            false => Cell { text: format!("{blocks} (rare)"), help: RARE.into(), ..Cell::default() },
        };
        let frequency = Cell {
            help: format!("{:.1} % of all executions", frequency as f64 / total * 100.0),
            entry: Some(entry),
            ..Cell::number(frequency as f64, frequency.to_string())
        };
        [Cell::text(name), blocks, frequency]
    }

    /// The listed paths along the lines of the graph, in the order of the rows.
    pub(super) fn strands(&self) -> Vec<Strand> {
        let total = self.total();
        let strand = |(place, path): (usize, &(Vec<Block>, u64))| {
            let (frequency, names) =
                (self.frequency(path), plain_names(self.position.function(), path.0.iter().copied()));
            Strand {
                blocks: numbers(&path.0),
                share: frequency as f64 / total,
                label: format!("P{}, {frequency} executions: {names}", place + 1),
            }
        };
        self.declared.iter().take(MOST_PATHS).enumerate().map(strand).collect()
    }

    /// The origin of the frequencies, in a sentence.
    pub(super) fn origin(&self, is_estimated: bool) -> Option<Note> {
        let sentence = match (self.is_empty(), is_estimated, self.position.surroundings.is_measured) {
            (true, ..) => return None,
            (false, true, _) => "Frequencies: estimated from counts of edges, with each branch as independent.",
            (false, false, true) => "Frequencies: measured by the simulator.",
            (false, false, false) => "Frequencies: from the program's `profile path`.",
        };
        Some(Note { sentence: sentence.to_owned(), ..Note::default() })
    }

    /// The offer to write edited frequencies into the program, where they can be written.
    pub(super) fn offers(&self) -> Vec<Offer> {
        if self.edited.is_empty() {
            return Vec::new();
        }
        let paths: Vec<(&[Block], u64)> =
            self.declared.iter().map(|path| (path.0.as_slice(), self.frequency(path))).collect();
        let position = self.position;
        let start = position.start.funcs.get(position.func);
        let source = start
            .and_then(|start| {
                declared_in(position.surroundings.source, start, position.function(), TextProfile::Path, &paths)
            })
            .map(|source| Offer { label: "Save to program".into(), source });
        source.into_iter().collect()
    }
}

/// The key of a path's frequency in a request.
fn key(blocks: &[Block]) -> String {
    let numbers: Vec<String> = blocks.iter().map(|block| block.as_u32().to_string()).collect();
    format!("frequency.{}", numbers.join("-"))
}

fn numbers(blocks: &[Block]) -> Vec<u32> {
    blocks.iter().map(|block| block.as_u32()).collect()
}

/// A few paths in the order of the profile; many as they come, the most frequent first.
fn in_order(func: &Function, mut paths: Vec<(Vec<Block>, u64)>) -> Vec<(Vec<Block>, u64)> {
    if paths.len() <= FEW_PATHS {
        let declared: Vec<&Vec<Block>> = func
            .profiles
            .iter()
            .filter_map(|profile| if let Profile::Path(paths) = profile { Some(paths) } else { None })
            .flatten()
            .map(|(blocks, _)| blocks)
            .collect();
        paths.compact_sort_by_key(|(blocks, _)| declared.iter().position(|path| *path == blocks));
    }
    paths
}

impl DecisionPoint {
    /// The cells of a path, by its place in the survey, for the four sets.
    fn cells(&self, at: Option<usize>) -> [Cell; 4] {
        let holds = |set: &[usize]| at.is_some_and(|at| set.binary_search(&at).is_ok());
        let is_on = holds(&self.sets.on);
        // Benefit and cost say something of paths that do not go through the join, too.
        let cell = |set: &[usize], look: Look, counts: bool| {
            let holds = holds(set);
            let text = match (holds, is_on || counts) {
                (true, _) => "1",
                (false, true) => "0",
                (false, false) => "–",
            };
            let help = if is_on { String::new() } else { format!("It does not go through {}", self.name) };
            Cell { help, ..Cell::text(text).looking(if holds { look } else { Look::Plain }) }
        };
        let sets = &self.sets;
        [
            cell(&sets.available, Look::Current, false),
            cell(&sets.removable, Look::Current, false),
            cell(&sets.benefit, Look::Good, true),
            cell(&sets.cost, Look::Bad, true),
        ]
    }
}
