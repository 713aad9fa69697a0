//! The table of values of the pass at a position, at one of the moments that lead there.

use std::collections::BTreeMap;
use std::ops::Range;

use warpscope_core::ir::{Block, Func, Function};
use warpscope_core::journal::Moment;
use warpscope_core::session::Session;
use warpscope_core::trace::{Fact, Remark, TableEvent};
use warpscope_core::value_table::{Row, ValueTable};

use crate::message::{Course, Finding, Happening, HappeningKind, OpenScope, RowMark, ValueRow, ValueWalk};

/// Hits and refusals that are told, and rows of the table. What was entered last is always among these.
const MOST_FINDINGS: usize = 2_000;
const MOST_ROWS: usize = 2_000;

/// The walk that led to a position: to the rewrite of that index if one did, else that of a pass among `passes` that
/// changed nothing. None if no such pass tells of a table. `moment` is the one that is asked for.
pub fn value_walk(
    session: &Session,
    passes: &Range<usize>,
    rewrite: Option<usize>,
    kernel: Func,
    moment: Option<usize>,
) -> Option<ValueWalk> {
    let journal = session.journal();
    let events = journal.events();
    let (pass, func) = match rewrite {
        Some(event) => (passes.clone().find(|&pass| session.events_of(pass).contains(&event))?, events[event].func),
        None => (passes.clone().rfind(|&pass| !journal.moments(pass, kernel).is_empty())?, kernel),
    };
    let moments = journal.moments(pass, func);
    if moments.is_empty() {
        return None;
    }
    let happened = moments.iter().map(|moment| match moment {
        Moment::Event(event) => Some(*event),
        Moment::Table(_) => None,
    });
    let mut walk = ValueWalk { course: course(session, passes, happened), ..ValueWalk::default() };
    let change = rewrite.map_or(0, |event| {
        moments
            .iter()
            .filter(|moment| matches!(moment, Moment::Event(at) if *at <= event && events[*at].is_rewrite()))
            .count()
    });
    let range = walk.course.moments_of(change);
    // Where nothing was changed, the table when it is fullest.
    let usual = || change.checked_sub(1).map_or_else(|| fullest(&moments), |index| walk.course.changes[index]);
    walk.at = moment.unwrap_or_else(usual).clamp(*range.start(), *range.end());
    let body = &session.module().funcs[func];
    let table = table_at(&moments[..walk.at]);
    let last = walk.at.checked_sub(1).map(|last| moments[last]);
    walk.happened = last.map(|moment| happening(session, body, &moments[..walk.at], moment, &table));
    walk.scopes = (table.scopes.iter())
        .map(|scope| OpenScope { block: block_name(body, scope.block), is_in_reach: scope.is_in_reach })
        .collect();
    walk.rows = rows(session, body, &table, last, &moments[..walk.at]);
    walk.rows_left_out = table.rows.len() - walk.rows.len();
    walk.findings = findings(session, &moments);
    let told = happened_events(&moments).count();
    walk.findings_left_out = told - walk.findings.len();
    Some(walk)
}

/// The moments of a pass in a function, of which each is an event of the journal or something that was told in between.
pub fn course(
    session: &Session,
    passes: &Range<usize>,
    happened: impl ExactSizeIterator<Item = Option<usize>>,
) -> Course {
    let events = session.journal().events();
    let last = happened.len();
    let rewrites: Vec<(usize, usize)> = (1..)
        .zip(happened)
        .filter_map(|(after, event)| event.filter(|&event| events[event].is_rewrite()).map(|event| (after, event)))
        .collect();
    let first = session.events_of(passes.start).start;
    let first_change = rewrites.first().map_or(first, |&(_, event)| event);
    let changes_before = events[first..first_change].iter().filter(|event| event.is_rewrite()).count();
    Course { last, changes: rewrites.into_iter().map(|(after, _)| after).collect(), changes_before }
}

/// The last moment at which no other one has more entries.
fn fullest(moments: &[Moment<'_>]) -> usize {
    let mut of_block: BTreeMap<Block, usize> = BTreeMap::new();
    let (mut now, mut most, mut at) = (0, 0, 0);
    for (after, moment) in (1..).zip(moments) {
        match moment {
            Moment::Table(TableEvent::Held { holder, .. }) => {
                *of_block.entry(holder.block).or_default() += 1;
                now += 1;
            }
            Moment::Table(TableEvent::Closed { block }) => now -= of_block.remove(block).unwrap_or(0),
            _ => {}
        }
        if now >= most {
            (most, at) = (now, after);
        }
    }
    at
}

fn table_at(moments: &[Moment<'_>]) -> ValueTable {
    ValueTable::at(table_events(moments))
}

fn table_events<'a>(moments: &'a [Moment<'a>]) -> impl Iterator<Item = &'a TableEvent> {
    moments.iter().filter_map(|moment| match moment {
        Moment::Table(event) => Some(*event),
        Moment::Event(_) => None,
    })
}

fn happening(
    session: &Session,
    func: &Function,
    done: &[Moment<'_>],
    moment: Moment<'_>,
    table: &ValueTable,
) -> Happening {
    let name = |block: Block| block_name(func, block);
    match moment {
        Moment::Event(event) => {
            let event = &session.journal().events()[event];
            let kind = if event.is_rewrite() { HappeningKind::Hit } else { HappeningKind::Refused };
            Happening { kind, block: name(event.remark.block), message: format!("{}.", event.remark.message) }
        }
        Moment::Table(TableEvent::Opened { block, reach }) => {
            let above = table.scopes.iter().rev().nth(1);
            let message = match above {
                None => format!("The walk begins in `{}`.", name(*block)),
                Some(_) if block == reach => {
                    format!("A scope opens for `{}`, and no block above it is within reach.", name(*block))
                }
                Some(above) => format!("A scope opens for `{}` inside that of `{}`.", name(*block), name(above.block)),
            };
            Happening { kind: HappeningKind::Opens, block: name(*block), message }
        }
        Moment::Table(TableEvent::Held { number, expression, holder }) => {
            let leader = table.rows.iter().find(|row| row.number == *number).map(|row| &row.holders[0]);
            let (kind, message) = match leader {
                Some(leader) if leader != holder => {
                    let message = format!("`{}` holds `v{number}` too; `{}` leads.", holder.name, leader.name);
                    (HappeningKind::Joins, message)
                }
                _ => (HappeningKind::Enters, format!("`{}` holds `v{number}` = `{expression}`.", holder.name)),
            };
            Happening { kind, block: name(holder.block), message }
        }
        Moment::Table(TableEvent::Closed { block }) => {
            let before = table_at(&done[..done.len() - 1]).rows.len();
            let message = match before - table.rows.len() {
                0 => format!("The scope of `{}` closes; it entered no number of its own.", name(*block)),
                1 => format!("The scope of `{}` closes and takes back one number.", name(*block)),
                gone => format!("The scope of `{}` closes and takes back {gone} numbers.", name(*block)),
            };
            Happening { kind: HappeningKind::Closes, block: name(*block), message }
        }
    }
}

fn rows(
    session: &Session,
    func: &Function,
    table: &ValueTable,
    last: Option<Moment<'_>>,
    done: &[Moment<'_>],
) -> Vec<ValueRow> {
    let event = match last {
        Some(Moment::Event(event)) => Some(&session.journal().events()[event]),
        _ => None,
    };
    let found = event.and_then(|event| number_of(&event.remark));
    let refused = event.filter(|event| !event.is_rewrite()).and_then(|event| earlier(&event.remark));
    let entered = match last {
        Some(Moment::Table(TableEvent::Held { .. })) => Some(table_events(done).count() - 1),
        _ => None,
    };
    let row = |row: &Row| {
        let leader = &row.holders[0];
        let mark = match () {
            () if refused.is_some_and(|name| row.holders.iter().any(|holder| holder.name == name)) => RowMark::Refused,
            () if found == Some(row.number) => RowMark::Hit,
            () if entered == Some(row.entered) => RowMark::Entered,
            () => RowMark::None,
        };
        ValueRow {
            number: row.number,
            expression: row.expression.clone(),
            leader: leader.name.clone(),
            inst: leader.inst.map(|inst| inst.as_u32()),
            others: row.holders[1..].iter().map(|holder| holder.name.clone()).collect(),
            scope: block_name(func, leader.block),
            is_in_reach: table.is_in_reach(leader.block),
            mark,
        }
    };
    let mut rows: Vec<ValueRow> = table.rows.iter().map(row).collect();
    if let Some(excess) = rows.len().checked_sub(MOST_ROWS) {
        let mut place = 0;
        rows.retain(|row| {
            place += 1;
            place > excess || row.mark != RowMark::None
        });
    }
    rows
}

/// The number that a hit found, or a refusal is about.
fn number_of(remark: &Remark) -> Option<u32> {
    remark.facts.iter().find_map(|(name, fact)| match (*name, fact) {
        ("number", Fact::Count(number)) => u32::try_from(*number).ok(),
        _ => None,
    })
}

/// The register that holds what an instruction computes again and may not be given.
fn earlier(remark: &Remark) -> Option<&str> {
    remark.facts.iter().find_map(|(name, fact)| match (*name, fact) {
        ("earlier", Fact::Text(name)) => Some(name.as_str()),
        _ => None,
    })
}

fn findings(session: &Session, moments: &[Moment<'_>]) -> Vec<Finding> {
    let finding = |(after, event): (usize, usize)| {
        let event = &session.journal().events()[event];
        Finding {
            moment: after,
            is_hit: event.is_rewrite(),
            rule: event.remark.rule.to_owned(),
            message: format!("{}.", event.remark.message),
        }
    };
    happened_events(moments).take(MOST_FINDINGS).map(finding).collect()
}

/// The moments that are events of the journal, each with how much of the walk is done then.
fn happened_events<'a>(moments: &'a [Moment<'a>]) -> impl Iterator<Item = (usize, usize)> {
    (1..).zip(moments).filter_map(|(after, moment)| match moment {
        Moment::Event(event) => Some((after, *event)),
        Moment::Table(_) => None,
    })
}

fn block_name(func: &Function, block: Block) -> String {
    func.blocks.get(block).map(|data| data.name.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::Engine;
    use crate::message::{Bench, HappeningKind, Look, Position, Request, Response, RowMark, Scope, Stage, View};

    const SOURCE: &str = include_str!("../../../www/examples/phases/gvn-cse.wir");

    fn look(engine: &mut Engine, passes: &[&str], position: Position, moment: Option<usize>) -> View {
        look_at(engine, SOURCE, passes, position, moment)
    }

    fn look_at(engine: &mut Engine, source: &str, passes: &[&str], position: Position, moment: Option<usize>) -> View {
        let stage = |pass: &&str| Stage { pass: (*pass).to_owned(), on: true, ..Stage::default() };
        let pipeline = passes.iter().map(stage).collect();
        let bench = Bench { source: source.to_owned(), pipeline, ..Bench::default() };
        match engine.answer(Request::Look(Look { bench, position, scope: Scope::Rewrite, moment })) {
            Response::View(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_moment_is_shown_at_the_change_that_it_leads_to() {
        let mut engine = Engine::new(|| 0.0);
        for passes in [&["gvn-cse"][..], &["copy-prop", "gvn-cse"], &["@ptxas"]] {
            let stage = passes.len();
            let rewrites = look(&mut engine, passes, Position::END, None).stages[stage - 1].rewrites;
            let mut walked = 0;
            for step in 1..=rewrites {
                let view = look(&mut engine, passes, Position { stage, step }, None);
                let Some(walk) = view.walk else { continue };
                walked += 1;
                assert_eq!(view.remark.expect("a reason").pass, "gvn-cse", "only its changes have a table");
                assert_eq!(walk.course.step_of(walk.at), step);
                assert_eq!(walk.happened.as_ref().map(|what| what.kind), Some(HappeningKind::Hit));
                assert_eq!(walk.rows.iter().filter(|row| row.mark == RowMark::Hit).count(), 1);
                for moment in walk.course.moments_of(step - walk.course.changes_before) {
                    let other = look(&mut engine, passes, Position { stage, step }, Some(moment));
                    assert_eq!(other.walk.expect("the same walk").at, moment);
                    assert_eq!((other.position.step, &other.after), (step, &view.after));
                }
            }
            assert_eq!(walked, 2, "{passes:?}");
        }
    }

    #[test]
    fn a_moment_of_another_change_is_the_nearest_one_of_this() {
        let mut engine = Engine::new(|| 0.0);
        let walk = |engine: &mut Engine, step, moment| {
            look(engine, &["gvn-cse"], Position { stage: 1, step }, Some(moment)).walk.expect("a table")
        };
        let first = walk(&mut engine, 1, 1_000);
        assert_eq!(first.at, first.course.changes[0]);
        assert_eq!(walk(&mut engine, 2, 0).at, first.course.changes[0] + 1);
        let end = walk(&mut engine, 2, usize::MAX);
        assert_eq!((end.at, end.rows.len(), end.scopes.len()), (end.course.last, 0, 0));
    }

    #[test]
    fn a_refusal_marks_what_could_not_be_taken() {
        let mut engine = Engine::new(|| 0.0);
        let end = look(&mut engine, &["gvn-cse"], Position::END, None).walk.expect("a table");
        let refusal = end.findings.iter().find(|finding| !finding.is_hit).expect("a refusal");
        let position = Position { stage: 1, step: end.course.step_of(refusal.moment) };
        let walk = look(&mut engine, &["gvn-cse"], position, Some(refusal.moment)).walk.expect("a table");
        let marked: Vec<&str> =
            walk.rows.iter().filter(|row| row.mark == RowMark::Refused).map(|row| row.leader.as_str()).collect();
        assert_eq!(marked, ["first"]);
    }

    #[test]
    fn what_is_left_out_of_a_large_table_is_counted() {
        let sums: String =
            (0..2_500).map(|at| format!("    s{at} = add.u32 n, {at}\n    t{at} = add.u32 n, {at}\n")).collect();
        let source = format!("kernel k(n: u32) {{\nentry:\n{sums}    ret\n}}\n");
        let mut engine = Engine::new(|| 0.0);
        let last = look_at(&mut engine, &source, &["gvn-cse"], Position { stage: 1, step: 2_500 }, None);
        let walk = last.walk.expect("a table");
        // `n`, and each sum.
        assert_eq!(walk.rows.len() + walk.rows_left_out, 2_501);
        assert_eq!((walk.rows.len(), walk.findings.len(), walk.findings_left_out), (2_000, 2_000, 500));
        assert_eq!(walk.rows.last().map(|row| row.mark), Some(RowMark::Hit), "what was found last is in it");
    }
}
