//! The table of values at a moment of the walk over the dominator tree that recorded it.
//!
//! ```text
//! entry › left                               the trail: scopes that are open
//! Number  Expression      Leader  Scope
//! v3      add.u32 v1, v2  t       entry
//! hit     `y` is `t` …                       hits and refusals of the whole walk, each with its moment
//! ```
//!
//! A moment is how much of the walk is done: a scope that opens, an entry, a hit, a refusal and a scope that closes
//! each count one. Everything comes from the table events in the journal, so that every pass that records these can
//! be shown.
//!
//! Linear in moments, apart from logarithms.
//!
//! Limits: [`MOST_ROWS`] rows, those entered last and the ones that the moment is about; the first [`MOST_FINDINGS`]
//! hits and refusals; [`MOST_MOMENTS`] moments, around the one that is shown.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use crate::graph::{Cfg, Dominators};
use crate::inspect::{Anchor, Cell, Column, Inspection, Look, Moment, Node, Request, Row, SmallGraph, Table, Timeline};
use crate::ir::{Block, Function};
use crate::journal::{Journal, MAX_DETAILS, Moment as Recorded};
use crate::pass::{InspectedPosition, Inspector, Subject};
use crate::trace::{Fact, Remark, TableEvent};
use crate::value_table::{Row as Entry, TableBuilder, ValueTable};

/// Earlier rows are counted, not listed.
const MOST_ROWS: usize = 2_000;

/// Later hits and refusals are counted, not listed.
const MOST_FINDINGS: usize = 2_000;

/// Longer timelines are cut around the moment that is shown.
const MOST_MOMENTS: usize = 2_000;

const NOT_BEGUN: &str = "Before the walk: nothing is known.";

const OUT_OF_REACH: &str = "not in scope in this mode";

/// The inspector of passes that record a value table.
pub(super) const INSPECTOR: Inspector =
    Inspector { title: "Values", subject: Subject::Last, has_moments: true, applies: |_| true, inspect };

fn inspect(position: &InspectedPosition<'_>, request: &Request) -> Option<Inspection> {
    let (journal, func) = (position.journal, position.function());
    let recorded = journal.moments(position.pass, position.func);
    if recorded.is_empty() {
        return None;
    }
    let course = position.course();
    // Where nothing was changed, the table when it is fullest.
    let at = position.moment(&course, request, || fullest(&recorded));
    let table = ValueTable::at(table_events(&recorded[..at]));
    let shown = window(recorded.len(), at);
    let moments = tell(func, journal, &recorded, shown.clone());
    let told = at.checked_sub(shown.start + 1).and_then(|place| moments.get(place));
    Some(Inspection {
        lead: told.map_or(NOT_BEGUN.into(), |moment| moment.sentence.clone()),
        tables: Vec::from([values(func, journal, &table, &recorded[..at]), findings(journal, &recorded)]),
        graphs: Vec::from([dominators(func, &table)]),
        trail: trail(func, &table),
        timeline: Some(Timeline {
            name: "Walk over the dominator tree".into(),
            course,
            at,
            start: Some(Moment { sentence: NOT_BEGUN.into(), ..Moment::default() }),
            first: shown.start,
            moments,
            cut_after: journal.is_cut(position.pass, position.func).then_some(MAX_DETAILS),
            ..Timeline::default()
        }),
        is_momentary: true,
        ..Inspection::new(INSPECTOR.title)
    })
}

/// The moments that are told: of many those around `at`.
fn window(count: usize, at: usize) -> Range<usize> {
    let first = at.saturating_sub(MOST_MOMENTS / 2).min(count.saturating_sub(MOST_MOMENTS));
    first..count.min(first + MOST_MOMENTS)
}

fn event_of(moment: &Recorded<'_>) -> Option<usize> {
    match moment {
        Recorded::Event(event) => Some(*event),
        Recorded::Table(_) => None,
    }
}

fn table_events<'a>(moments: &'a [Recorded<'a>]) -> impl Iterator<Item = &'a TableEvent> {
    moments.iter().filter_map(|moment| match moment {
        Recorded::Table(event) => Some(*event),
        Recorded::Event(_) => None,
    })
}

/// The last moment at which no other one has more entries.
fn fullest(moments: &[Recorded<'_>]) -> usize {
    let mut of_block: BTreeMap<Block, usize> = BTreeMap::new();
    let (mut now, mut most, mut at) = (0, 0, 0);
    for (after, moment) in (1..).zip(moments) {
        match moment {
            Recorded::Table(TableEvent::Held { holder, .. }) => {
                *of_block.entry(holder.block).or_default() += 1;
                now += 1;
            }
            Recorded::Table(TableEvent::Closed { block }) => now -= of_block.remove(block).unwrap_or(0),
            _ => {}
        }
        if now >= most {
            (most, at) = (now, after);
        }
    }
    at
}

/// The moments of a part of the walk, each in a sentence.
fn tell(func: &Function, journal: &Journal, recorded: &[Recorded<'_>], part: Range<usize>) -> Vec<Moment> {
    let mut table = TableBuilder::default();
    table_events(&recorded[..part.start]).for_each(|event| table.take(event));
    let moment = |recorded: &Recorded<'_>| match recorded {
        Recorded::Table(event) => table_moment(func, event, &mut table),
        Recorded::Event(event) => event_moment(func, journal, *event),
    };
    recorded[part].iter().map(moment).collect()
}

/// A hit or a refusal.
fn event_moment(func: &Function, journal: &Journal, event: usize) -> Moment {
    let event = &journal.events()[event];
    let (word, look) = if event.is_rewrite() { ("hit", Look::Good) } else { ("refused", Look::Bad) };
    let Remark { block, rule, .. } = &event.remark;
    Moment { rule: (*rule).into(), ..moment(func, word, look, *block, event.remark.sentence()) }
}

/// A step of the table, which takes it.
fn table_moment(func: &Function, event: &TableEvent, table: &mut TableBuilder) -> Moment {
    let name = |block: Block| block_name(func, block);
    let rows = table.len();
    table.take(event);
    match event {
        TableEvent::Opened { block, reach } => {
            let here = name(*block);
            let sentence = match table.enclosing_scope() {
                None => format!("The walk begins in `{here}`."),
                Some(_) if block == reach => {
                    format!("A scope opens for `{here}`, and no block above it is in scope.")
                }
                Some(above) => format!("A scope opens for `{here}` inside that of `{}`.", name(above)),
            };
            moment(func, "opens", Look::Plain, *block, sentence)
        }
        TableEvent::Held { number, expression, holder } => {
            let (word, sentence) = match table.leader(*number) {
                Some(leader) if leader != holder => {
                    ("holds too", format!("`{}` holds `v{number}` too; `{}` leads.", holder.name, leader.name))
                }
                _ => ("enters", format!("`{}` holds `v{number}` = `{expression}`.", holder.name)),
            };
            moment(func, word, Look::New, holder.block, sentence)
        }
        TableEvent::Closed { block } => {
            let here = name(*block);
            let sentence = match rows - table.len() {
                0 => format!("The scope of `{here}` closes; it entered no number of its own."),
                1 => format!("The scope of `{here}` closes and takes back one number."),
                removed => format!("The scope of `{here}` closes and takes back {removed} numbers."),
            };
            moment(func, "closes", Look::Plain, *block, sentence)
        }
    }
}

fn moment(func: &Function, word: &str, look: Look, block: Block, sentence: String) -> Moment {
    let (focus, place) = (Some(Anchor::Block(block.as_u32())), block_name(func, block));
    Moment { word: word.into(), look, sentence, focus, place, ..Moment::default() }
}

/// The rows of the table, of which the last moment's are marked.
fn values(func: &Function, journal: &Journal, table: &ValueTable, done: &[Recorded<'_>]) -> Table {
    let event = match done.last() {
        Some(Recorded::Event(event)) => journal.events().get(*event),
        _ => None,
    };
    let found = event.and_then(|event| number_of(&event.remark));
    let refused = event.filter(|event| !event.is_rewrite()).and_then(|event| earlier_of(&event.remark));
    let entered = match done.last() {
        Some(Recorded::Table(TableEvent::Held { .. })) => table_events(done).count().checked_sub(1),
        _ => None,
    };
    let look = |entry: &Entry| match () {
        () if refused.is_some_and(|name| entry.holders.iter().any(|holder| holder.name == name)) => Look::Bad,
        () if found == Some(entry.number) => Look::Good,
        () if entered == Some(entry.entered) => Look::New,
        () => Look::Plain,
    };
    let excess = table.rows.len().saturating_sub(MOST_ROWS);
    let in_reach: BTreeSet<Block> =
        table.scopes.iter().filter(|scope| scope.is_in_reach).map(|scope| scope.block).collect();
    let rows: Vec<Row> = (table.rows.iter().enumerate())
        .map(|(place, entry)| (place, entry, look(entry)))
        .filter(|&(place, _, look)| place >= excess || look != Look::Plain)
        .filter_map(|(_, entry, look)| value_row(func, entry, look, &in_reach))
        .collect();
    let column =
        |(name, help): &(&str, &str)| Column { name: (*name).into(), help: (*help).into(), ..Column::default() };
    Table {
        name: "Values".into(),
        columns: COLUMNS.iter().map(column).collect(),
        left_out: table.rows.len() - rows.len(),
        left_out_words: "more, entered earlier".into(),
        rows,
        empty: "No scope is open: the table is empty.".into(),
        choice: String::new(),
    }
}

/// Names and meanings of the columns of values.
const COLUMNS: [(&str, &str); 4] = [
    ("Number", "Registers with the same number hold the same value"),
    ("Expression", "Computation of the value, with the numbers of its operands"),
    ("Leader", "Register that is copied where the value is computed again"),
    ("Scope", "Block at whose end the leader is taken back"),
];

fn value_row(func: &Function, entry: &Entry, look: Look, in_reach: &BTreeSet<Block>) -> Option<Row> {
    let (leader, others) = entry.holders.split_first()?;
    let names: Vec<&str> = others.iter().map(|holder| holder.name.as_str()).collect();
    let also = if names.is_empty() { String::new() } else { format!(", also {}", names.join(", ")) };
    let is_in_reach = in_reach.contains(&leader.block);
    let faint = if is_in_reach { Look::Plain } else { Look::Faint };
    let block = leader.block.as_u32();
    Some(Row {
        key: entry.number.to_string(),
        cells: Vec::from([
            Cell::text(format!("v{}", entry.number)),
            Cell::text(entry.expression.clone()),
            Cell::text(format!("{}{also}", leader.name)),
            Cell::text(block_name(func, leader.block)).looking(faint),
        ]),
        look: if look == Look::Plain { faint } else { look },
        anchor: Some(leader.inst.map_or(Anchor::Block(block), |inst| Anchor::Inst(inst.as_u32()))),
        help: if is_in_reach { String::new() } else { OUT_OF_REACH.into() },
        ..Row::default()
    })
}

/// The number that a hit found, or that a refusal is about.
fn number_of(remark: &Remark) -> Option<u32> {
    remark.facts.iter().find_map(|(name, fact)| match (*name, fact) {
        ("number", Fact::Count(number)) => u32::try_from(*number).ok(),
        _ => None,
    })
}

/// The register that holds what an instruction computes again, where it must not be used.
fn earlier_of(remark: &Remark) -> Option<&str> {
    remark.facts.iter().find_map(|(name, fact)| match (*name, fact) {
        ("earlier", Fact::Text(name)) => Some(name.as_str()),
        _ => None,
    })
}

/// The hits and refusals of the whole walk.
fn findings(journal: &Journal, moments: &[Recorded<'_>]) -> Table {
    let events = (1..).zip(moments).filter_map(|(after, moment)| Some((after, event_of(moment)?)));
    let row = |(after, event): (usize, usize)| {
        let event = &journal.events()[event];
        let is_hit = event.is_rewrite();
        Row {
            key: after.to_string(),
            cells: Vec::from([
                Cell::text(if is_hit { "hit" } else { event.remark.rule }),
                Cell::text(event.remark.sentence()),
            ]),
            look: if is_hit { Look::Good } else { Look::Bad },
            moment: Some(after),
            ..Row::default()
        }
    };
    let column = |name: &str| Column { name: name.into(), ..Column::default() };
    Table {
        name: "Hits and refusals".into(),
        columns: Vec::from([column("Rule"), column("Reason")]),
        left_out: events.clone().count().saturating_sub(MOST_FINDINGS),
        rows: events.take(MOST_FINDINGS).map(row).collect(),
        left_out_words: "more, after these".into(),
        empty: "No repeated values found.".into(),
        choice: String::new(),
    }
}

/// The open scopes, outermost first. The innermost one is the current one.
fn trail(func: &Function, table: &ValueTable) -> Vec<Node> {
    open_scopes(table).map(|(block, look)| node(func, block, look)).collect()
}

fn open_scopes(table: &ValueTable) -> impl Iterator<Item = (Block, Look)> {
    let innermost = table.scopes.len().saturating_sub(1);
    table.scopes.iter().enumerate().map(move |(place, scope)| {
        let look = if scope.is_in_reach { Look::Plain } else { Look::Faint };
        (scope.block, if place == innermost { Look::Current } else { look })
    })
}

fn node(func: &Function, block: Block, look: Look) -> Node {
    Node { anchor: Anchor::Block(block.as_u32()), label: block_name(func, block), look }
}

/// The dominator tree of the blocks that can be reached, in the order of the text.
fn dominators(func: &Function, table: &ValueTable) -> SmallGraph {
    let cfg = Cfg::compute(func);
    let tree = Dominators::compute(&cfg);
    let open: BTreeMap<Block, Look> = open_scopes(table).collect();
    let blocks: Vec<Block> = func.block_order().filter(|&block| cfg.is_reachable(block)).collect();
    let places: BTreeMap<Block, usize> = blocks.iter().enumerate().map(|(place, &block)| (block, place)).collect();
    let look = |block: &Block| open.get(block).copied().unwrap_or(Look::Closed);
    let edge = |(place, block): (usize, &Block)| Some((*places.get(&tree.parent(*block)?)?, place));
    SmallGraph {
        name: "dominator tree".into(),
        nodes: blocks.iter().map(|block| node(func, *block, look(block))).collect(),
        edges: blocks.iter().enumerate().filter_map(edge).collect(),
    }
}

fn block_name(func: &Function, block: Block) -> String {
    func.blocks.get(block).map(|data| data.name.clone()).unwrap_or_default()
}
