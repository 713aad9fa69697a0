//! The executed paths at a position, and what the pass at hand does about them: `pde` lets statements [sink](sinking),
//! `spec-pre` brings evaluations [up](hoisting).

mod hoisting;
mod sinking;

use std::collections::BTreeMap;

use cranelift_entity::EntityRef;
use warpscope_core::ir::{Block, Func, Function, Inst, Module, Profile, WarpCounts};
use warpscope_core::pass::pde::survey::Path;
use warpscope_core::pass::{Settings as PassSettings, Step};
use warpscope_core::profile;
use warpscope_core::session::Session;

use crate::message::{PathRow, Settings, Survey, Surveyed};
use crate::simulation::measure;

/// Paths and statements that are listed.
const MOST_PATHS: usize = 200;
const MOST_STATEMENTS: usize = 300;
/// Paths that keep the order of the profile: as many as the page draws.
const FEW_PATHS: usize = 8;
/// Warp instructions after which a run that only tells what warps pay is given up.
const COUNTING_FUEL: u64 = 5_000_000;

/// The paths in the program at the session's position, where `pass` is the one at hand: `pde`, or `spec-pre`. `warps` gives
/// what warps execute there.
pub fn paths(
    session: &Session,
    steps: &[Step],
    pass: usize,
    kernel: Func,
    asked: &Survey,
    warps: impl FnOnce() -> Option<WarpCounts>,
) -> Surveyed {
    let settings = PassSettings { knobs: steps[pass].knob_values(), fast_math: asked.bench.fast_math };
    match steps[pass].entry().info.name {
        "spec-pre" => hoisting::paths(session, &settings, pass, kernel, asked),
        _ => sinking::paths(session, &settings, pass, kernel, asked, warps().as_ref()),
    }
}

/// Where frequencies come from, in a word.
fn origin(rows: &[PathRow], are_estimated: bool, asked: &Survey) -> String {
    let word = match (rows.is_empty(), are_estimated, asked.bench.measured.is_some()) {
        (true, ..) => "",
        (false, true, _) => "estimated",
        (false, false, true) => "measured",
        (false, false, false) => "declared",
    };
    word.to_owned()
}

/// The frequencies that somebody gave to paths.
fn frequencies(asked: &Survey) -> Vec<(Vec<Block>, u64)> {
    let block = |&block: &u32| Block::new(block as usize);
    asked.frequencies.iter().map(|(blocks, count)| (blocks.iter().map(block).collect(), *count)).collect()
}

/// The instruction that the pass does something about next. The journal knows, as a round goes on from the program that it
/// began with.
fn planned(session: &Session, pass: usize, kernel: Func) -> Option<Inst> {
    let events = session.journal().events();
    session
        .events_of(pass)
        .skip_while(|&event| event < session.done())
        .find(|&event| events[event].func == kernel && events[event].is_rewrite())
        .and_then(|event| events[event].remark.inst)
}

/// Paths as a person numbers them: a few in the order of the profile, many by their frequency.
fn in_order(func: &Function, mut paths: Vec<(Vec<Block>, u64)>) -> Vec<(Vec<Block>, u64)> {
    if paths.len() <= FEW_PATHS {
        let declared: Vec<&Vec<Block>> = func
            .profiles
            .iter()
            .filter_map(|profile| if let Profile::Path(paths) = profile { Some(paths) } else { None })
            .flatten()
            .map(|(blocks, _)| blocks)
            .collect();
        paths.sort_by_key(|(blocks, _)| declared.iter().position(|path| *path == blocks));
    }
    paths
}

/// What warps execute in a run of the program as it is, if that is known soon.
pub fn count_warps(module: &Module, kernel: Func, settings: &Settings) -> Option<WarpCounts> {
    let fuel = settings.fuel.map_or(COUNTING_FUEL, |fuel| fuel.min(COUNTING_FUEL));
    let settings = Settings { fuel: Some(fuel), ..settings.clone() };
    let counted = measure(module, kernel, &settings).ok()?;
    let mut measured = module.clone();
    measured.funcs[kernel].profiles.clear();
    profile::declare(&mut measured, &counted);
    Some(WarpCounts::of(&measured.funcs[kernel])).filter(|warps| !warps.is_empty())
}

/// The paths, in the order of the profile, also those that are said to be executed never.
fn rows(
    func: &Function,
    declared: &[(Vec<Block>, u64)],
    found: &[Path],
    frequencies: &[(Vec<Block>, u64)],
) -> Vec<PathRow> {
    let frequency = |blocks: &Vec<Block>, declared: u64| {
        frequencies.iter().find(|(path, _)| path == blocks).map_or(declared, |(_, frequency)| *frequency)
    };
    let total: u64 = declared.iter().map(|(blocks, count)| frequency(blocks, *count)).sum();
    let row = |(blocks, declared): &(Vec<Block>, u64)| {
        let frequency = frequency(blocks, *declared);
        let path = found.iter().find(|path| path.blocks == *blocks);
        PathRow {
            blocks: blocks.iter().map(|block| block.index() as u32).collect(),
            names: blocks.iter().map(|&block| func.blocks[block].name.clone()).collect(),
            frequency,
            declared: *declared,
            share: frequency as f64 / total.max(1) as f64,
            is_frequent: path.is_some_and(|path| path.is_frequent),
        }
    };
    declared.iter().map(row).collect()
}

/// Where each listed path stands in a survey, whose sets are of its places.
fn places_of(rows: &[PathRow], found: &[Path]) -> Vec<Option<usize>> {
    let is_it = |path: &Path, row: &PathRow| {
        path.blocks.iter().map(|block| block.index() as u32).eq(row.blocks.iter().copied())
    };
    rows.iter().take(MOST_PATHS).map(|row| found.iter().position(|path| is_it(path, row))).collect()
}

/// A block's name as code.
fn name(func: &Function, block: Block) -> String {
    format!("`{}`", func.blocks.get(block).map_or("", |data| &data.name))
}

/// Several names.
fn names(func: &Function, blocks: &[Block]) -> String {
    listed(&blocks.iter().map(|&block| name(func, block)).collect::<Vec<_>>())
}

/// How one figure compares with another, as a sign.
fn sign(one: f64, other: f64) -> &'static str {
    match (one > other, one < other) {
        (true, _) => ">",
        (_, true) => "<",
        _ => "=",
    }
}

/// `Warps pay: 45 cycles before, 30 behind.` without its first words.
fn warp_cycles(before: f64, after: f64) -> String {
    match format!("{before:.0}") {
        one if one == "1" => format!("1 cycle before, {after:.0} behind"),
        many => format!("{many} cycles before, {after:.0} behind"),
    }
}

/// `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// `in a, b and on the edge from c to d`.
fn places(all: &[String]) -> String {
    let short = |(place, word): (usize, &String)| match word.strip_prefix("in ").filter(|_| place > 0) {
        Some(rest) if all[place - 1].starts_with("in ") => rest.to_owned(),
        _ => word.clone(),
    };
    listed(&all.iter().enumerate().map(short).collect::<Vec<_>>())
}

/// The source with a `profile path` of these rows in the place of those that it has, if the paths are of the source.
fn written(session: &Session, kernel: Func, asked: &Survey, rows: &[PathRow]) -> Option<String> {
    let start = &session.start().funcs[kernel];
    let names: BTreeMap<usize, &str> =
        start.block_order().map(|block| (block.index(), start.blocks[block].name.as_str())).collect();
    let is_of_source = |row: &PathRow| {
        row.blocks.iter().zip(&row.names).all(|(block, name)| names.get(&(*block as usize)) == Some(&name.as_str()))
    };
    let entry = start.entry_block()?;
    if rows.is_empty() || !rows.iter().all(is_of_source) {
        return None;
    }
    let lines: Vec<String> =
        rows.iter().map(|row| format!("        {}: {}\n", row.names.join(" "), row.frequency)).collect();
    let block = format!("    profile path {{\n{}    }}\n", lines.concat());
    declare_in(&asked.bench.source, start.block_spans[entry].start as usize, &block)
}

/// Puts a block of text in the place of the `profile path` blocks of the kernel whose body is at an offset, or at the end of
/// that.
fn declare_in(source: &str, body: usize, block: &str) -> Option<String> {
    let mut text = source.get(..body)?.to_owned();
    let (mut depth, mut at) = (1usize, None);
    let mut inside = false;
    let mut lines = source.get(body..)?.split_inclusive('\n');
    for line in lines.by_ref() {
        let code = line.split("//").next().unwrap_or("");
        let words: Vec<&str> = code.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        let begins = depth == 1
            && words.first() == Some(&"profile")
            && words.get(1).is_some_and(|word| word.starts_with("path"));
        inside |= begins;
        if begins && at.is_none() {
            at = Some(text.len());
        }
        for brace in code.matches(['{', '}']) {
            depth = if brace == "{" { depth + 1 } else { depth.checked_sub(1)? };
        }
        if depth == 0 {
            // The kernel ends here.
            at = at.or(Some(text.len()));
            text.push_str(line);
            break;
        }
        if !inside {
            text.push_str(line);
        }
        inside &= depth > 1;
    }
    text.insert_str(at?, block);
    text.extend(lines);
    (depth == 0).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::declare_in;
    use crate::Engine;
    use crate::message::{Bench, Mark, Position, Request, Response, Spot, Stage, StatementRow, Survey, Surveyed};

    const FIGURE_5: &str = include_str!("../../../../www/examples/pde/figure-5.wir");
    const FIGURE_3: &str = include_str!("../../../../www/examples/pde/figure-3.wir");

    fn survey(source: &str, step: usize) -> Survey {
        let knobs = [("machine".to_owned(), "unit".to_owned())].into();
        let pipeline = vec![Stage { pass: "pde".to_owned(), on: true, knobs, ..Stage::default() }];
        let bench = Bench { source: source.to_owned(), pipeline, ..Bench::default() };
        Survey { bench, position: Position { stage: step.min(1), step }, ..Survey::default() }
    }

    fn ask(survey: &Survey) -> Surveyed {
        match Engine::new(|| 0.0).answer(Request::Survey(survey.clone())) {
            Response::Surveyed(Some(surveyed)) => *surveyed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_figure_is_told_as_the_paper_tells_it() {
        let told = ask(&survey(FIGURE_5, 0));
        assert_eq!((told.origin.as_str(), told.paths.len(), told.more_paths), ("declared", 8, 0));
        assert!(told.lead.starts_with("Next, `x = mul.f32 a, b` sinks"), "{}", told.lead);
        let sinking = told.sinking.expect("it sinks");
        let [five, nine] = sinking.joins.as_slice() else { panic!("{:?}", sinking.joins) };
        assert_eq!(five.line, "Benefit 150 · T[s] = 150 > Cost 100 · T[p?s] = 100");
        assert_eq!(nine.line, "By itself: Benefit 25 · T[s] = 25 < Cost 100 · T[p?s] = 100");
        assert!(five.verdict.contains("together with `n9`") && nine.verdict.contains("`n5`"));
        let of = |holds: fn(&crate::message::Bits) -> bool| -> Vec<u64> {
            told.paths.iter().zip(&five.bits).filter(|(_, bits)| holds(bits)).map(|(row, _)| row.frequency).collect()
        };
        assert_eq!((of(|bits| bits.benefit), of(|bits| bits.cost)), (vec![125, 25], vec![50, 50]));
        assert!(
            sinking.warps.contains("no `profile warp`") && sinking.warps.contains("launch lose"),
            "{}",
            sinking.warps
        );
        let words: Vec<&str> = sinking.moments.iter().map(|moment| moment.word.as_str()).collect();
        assert_eq!(words.first(), Some(&"stands"));
        assert!(words.ends_with(&["delayed", "inserted", "eliminated", "predicate"]), "{words:?}");
        let marks: Vec<&Mark> = sinking.moments.iter().flat_map(|moment| &moment.marks).collect();
        let dropped = marks.iter().filter(|mark| matches!(mark, Mark::Dropped(..))).count();
        let lands = |label: &str| {
            let is_it =
                |mark: &&&Mark| matches!(mark, Mark::Lands(Spot::Before(_) | Spot::Start(_), it) if it == label);
            marks.iter().filter(is_it).count()
        };
        assert_eq!((dropped, lands("x"), lands("@p1 x")), (2, 3, 1), "{marks:?}");
        // The predicate comes last, and the later join says whose benefit needs it.
        let [.., predicate] = sinking.moments.as_slice() else { panic!("moments") };
        assert!(matches!(predicate.marks.as_slice(), [Mark::Lands(_, label)] if label == "@p1 x"));
        let at_nine =
            sinking.moments.iter().find(|moment| moment.sentence.contains("the join `n9`")).expect("a moment");
        assert!(
            at_nine.sentence.contains("and passes as the benefit of `n5` needs that. By itself: "),
            "{}",
            at_nine.sentence
        );
        // The edges along which it comes are told once each.
        let mut ways: Vec<(u32, u32)> = marks
            .iter()
            .filter_map(|mark| if let Mark::Way { from, to, .. } = mark { Some((*from, *to)) } else { None })
            .collect();
        let count = ways.len();
        ways.sort_unstable();
        ways.dedup();
        assert!(count == ways.len() && count > 4, "{ways:?}");
    }

    #[test]
    fn a_join_that_the_printed_rule_enables_behind_another_says_so() {
        let mut asked = survey(include_str!("../../../../www/examples/pde/printed-rule.wir"), 0);
        asked.bench.pipeline[0].knobs.insert("rule".to_owned(), "printed".to_owned());
        let sinking = ask(&asked).sinking.expect("it sinks");
        let [five, nine] = sinking.joins.as_slice() else { panic!("{:?}", sinking.joins) };
        assert_eq!(five.line, "Benefit 150 · T[s] = 150 > Cost 50 · T[p?s] = 50");
        assert!(nine.passes && nine.verdict.contains("because the benefit of `n5` needs that"), "{}", nine.verdict);
        assert_eq!(nine.line, "By itself: Benefit 25 · T[s] = 25 < Cost 200 · T[p?s] = 200");
    }

    #[test]
    fn the_paper_s_count_stands_beside_the_true_one() {
        let source = include_str!("../../../../www/examples/pde/figure-6.wir");
        let sinking = ask(&survey(source, 0)).sinking.expect("it sinks");
        let join = sinking.joins.iter().find(|join| join.name == "n5").expect("the loop's tail");
        assert_eq!(join.line, "Benefit 85 · T[s] = 85 > Cost 5 · T[p?s] = 5");
        assert!(join.verdict.contains("The paper counts a benefit of 95: 10 of these"), "{}", join.verdict);
        assert_eq!(join.printed, "the paper counts 95");
    }

    #[test]
    fn paths_that_are_estimated_are_said_to_be() {
        let (head, rest) = FIGURE_5.split_once("    profile path {").expect("a profile");
        let (_, tail) = rest.split_once("    }\n").expect("its end");
        let counts = [
            ("n1 -> n2", 160),
            ("n1 -> n3", 130),
            ("n2 -> n5", 160),
            ("n3 -> n4", 70),
            ("n3 -> n6", 60),
            ("n4 -> n5", 70),
            ("n5 -> n7", 135),
            ("n5 -> n8", 95),
            ("n8 -> n9", 95),
            ("n6 -> n9", 60),
            ("n9 -> n10", 45),
            ("n9 -> n11", 110),
            ("n7 -> n12", 135),
            ("n10 -> n12", 45),
            ("n11 -> n12", 110),
        ];
        let lines: String = counts.iter().map(|(edge, count)| format!("        {edge}: {count}\n")).collect();
        let edges = format!("    profile edge {{\n{lines}    }}\n");
        let told = ask(&survey(&format!("{head}{edges}{tail}"), 0));
        assert!(told.origin == "estimated" && !told.paths.is_empty(), "{}", told.origin);
    }

    #[test]
    fn another_frequency_changes_the_verdict_and_can_be_written() {
        let mut asked = survey(FIGURE_5, 0);
        let first = ask(&asked);
        assert_eq!(first.written, None);
        asked.wanted = first.next;
        asked.frequencies = vec![(first.paths[0].blocks.clone(), 20)];
        let other = ask(&asked);
        assert_eq!((other.paths[0].frequency, other.paths[0].declared, other.next), (20, 125, None));
        assert!(other.lead.contains("nothing would sink"), "{}", other.lead);
        let sinking = other.sinking.expect("what was asked for");
        assert_eq!(sinking.joins[0].line, "Benefit 45 · T[s] = 45 < Cost 100 · T[p?s] = 100");
        assert!(!sinking.joins[0].passes && sinking.joins[0].word == "refused");
        let written = other.written.expect("a source");
        assert!(written.contains("n1 n2 n5 n7 n12: 20\n") && !written.contains(": 125"));
        assert_eq!(written.matches("profile path").count(), 1);
        // What is written says the same without being asked.
        let again = ask(&Survey { wanted: asked.wanted, ..survey(&written, 0) });
        assert_eq!((again.next, again.lead.starts_with("Nothing pays")), (None, true));
        // A path that is executed never stays in the list.
        asked.frequencies[0].1 = 0;
        assert_eq!(ask(&asked).paths.len(), 8);
    }

    #[test]
    fn what_stays_says_why() {
        let mut asked = survey(FIGURE_3, 0);
        asked.bench.pipeline[0].knobs.insert("fp".to_owned(), "1".to_owned());
        let product = |row: &&StatementRow| row.text.starts_with("x = work");
        asked.wanted = ask(&asked).statements.iter().find(product).map(|row| row.insts[0]);
        let sinking = ask(&asked).sinking.expect("it sinks as far as it goes");
        assert!(sinking.moments.iter().all(|moment| moment.word != "stays" && moment.word != "predicate"));
        let four = sinking.joins.iter().find(|join| join.name == "n4").expect("a join");
        assert_eq!((four.word.as_str(), four.bits.iter().filter(|bits| bits.cost).count()), ("refused", 6));
        assert_eq!(four.bits.iter().filter(|bits| bits.benefit).count(), 1);
        let refused = sinking.moments.iter().find(|moment| moment.word == "refused").expect("it comes to that join");
        assert!(refused.sentence.contains("on some ways only, and stops: Benefit 64"), "{}", refused.sentence);
        assert_eq!(refused.marks, [Mark::Stops(four.block)]);
        let behind = ask(&survey(FIGURE_3, 2));
        assert!(behind.lead.contains("any more") && behind.next.is_none(), "{}", behind.lead);
        let no_profile = ask(&survey("kernel k() {\nentry:\n    ret\n}\n", 0));
        assert!(no_profile.lead.contains("`profile path`") && no_profile.paths.is_empty());
        let other = Survey { wanted: Some(0), ..survey(FIGURE_5, 0) };
        assert!(ask(&other).sinking.expect("an answer").verdict.contains("cannot leave its block"));
    }

    #[test]
    fn a_profile_is_written_where_one_was_or_at_the_end() {
        let source = "kernel k() {\na:\n    ret // }\n    profile path {\n        a: 1\n    }\n}\nlaunch k {\n}\n";
        let at = source.find("a:").expect("a block");
        let new = "    profile path {\n        a: 2\n    }\n";
        assert_eq!(declare_in(source, at, new).as_deref(), Some(source.replace("a: 1", "a: 2").as_str()));
        let bare = "kernel k() {\na:\n    ret\n}\n";
        assert_eq!(declare_in(bare, at, new), Some(format!("kernel k() {{\na:\n    ret\n{new}}}\n")));
        assert_eq!(declare_in("kernel k() {\na:\n", at, new), None);
    }
}
