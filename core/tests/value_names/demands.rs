//! Answers against other answers: demands over classes are equal to the exhaustive analysis and never more as words;
//! more windows, levels of memory and synonyms never find less.

use proptest::prelude::*;
use warpscope_core::ir::Module;
use warpscope_core::text;
use warpscope_core::vng::{Fact, Foundation, Role, Seeds, ValueNameGraph, VngOptions};
use warpscope_testkit::cells;
use warpscope_testkit::emit;
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::scattered::{self, scattered};
use warpscope_testkit::sums::{self, sums};

/// Programs of each kind that an everyday run checks.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
}

/// Random graphs that an everyday run checks.
fn graphs() -> u64 {
    std::env::var("GRAPHS").ok().and_then(|count| count.parse().ok()).unwrap_or(500)
}

fn rank(fact: Fact) -> u32 {
    match fact {
        Fact::MUST => 2,
        Fact::MAY => 1,
        _ => 0,
    }
}

/// Checks all demands of a program's functions. Returns how many there were.
fn check(source: &str, options: VngOptions) -> Result<u64, String> {
    let module: Module = text::parse(source).module;
    let mut demands = 0;
    for func in module.funcs.values() {
        let foundation = Foundation::compute(&module, func, options);
        let words = Foundation::compute(&module, func, VngOptions { synonyms: false, ..options });
        let near = Foundation::compute(&module, func, VngOptions { budget: 3, ..options });
        let built = ValueNameGraph::build(&foundation);
        for (index, seed) in built.seeds.iter().enumerate() {
            let place = format!("{}.{}", func.blocks[seed.block].name, seed.index);
            let answer = ValueNameGraph::demand(&foundation, seed.inst).ok_or("no seed")?;
            if seed.role == Role::Generator {
                if answer.availability.is_some() {
                    return Err(format!("{place} generates, and has an answer"));
                }
                continue;
            }
            demands += 1;
            let exhaustive = built.graph.seeds[index].map_or(Fact::NO, |user| built.facts.available[user]);
            let found = answer.availability.ok_or("no answer")?;
            if rank(found) != rank(exhaustive) {
                return Err(format!("{place}: {} on demand, {} of all", found.word(), exhaustive.word()));
            }
            if answer.visited > built.graph.vertices.len() {
                return Err(format!("{place}: {} vertices visited", answer.visited));
            }
            for (foundation, what) in [(&words, "as words"), (&near, "near")] {
                let less = ValueNameGraph::demand(foundation, seed.inst).and_then(|answer| answer.availability);
                let less = less.ok_or("no answer")?;
                if rank(less) > rank(exhaustive) {
                    return Err(format!("{place}: {} {what}, {} of all", less.word(), exhaustive.word()));
                }
            }
        }
    }
    Ok(demands)
}

fn holds(source: &str) -> Result<u64, String> {
    let mut demands = 0;
    for seeds in [Seeds::Loads, Seeds::All] {
        for (window, dereferences) in [(1, 0), (3, 1), (4, 2)] {
            let options = VngOptions { seeds, window, dereferences, ..VngOptions::default() };
            demands +=
                check(source, options).map_err(|wrong| format!("{options:?}: {wrong}\nthe program:\n{source}"))?;
        }
    }
    Ok(demands)
}

/// Availability at each user under some options.
fn answers(module: &Module, options: VngOptions) -> Vec<(String, Fact)> {
    let mut answers = Vec::new();
    for func in module.funcs.values() {
        let foundation = Foundation::compute(module, func, options);
        let built = ValueNameGraph::build(&foundation);
        for (seed, vertex) in built.seeds.iter().zip(&built.graph.seeds) {
            let place = format!("{}.{}", func.blocks[seed.block].name, seed.index);
            let user = vertex.filter(|_| seed.role == Role::User);
            answers.push((place, user.map_or(Fact::NO, |user| built.facts.available[user])));
        }
    }
    answers
}

/// Checks that more of each option finds at least as much.
fn more_finds_no_less(source: &str) -> Result<(), String> {
    let module: Module = text::parse(source).module;
    let usual = VngOptions { seeds: Seeds::All, ..VngOptions::default() };
    let windows = [1, 2, 4].map(|window| VngOptions { window, ..usual });
    let levels = [0, 1, 2].map(|dereferences| VngOptions { dereferences, ..usual });
    let synonyms = [false, true, true].map(|synonyms| VngOptions { synonyms, ..usual });
    for options in [windows, levels, synonyms] {
        let found = options.map(|options| answers(&module, options));
        for (less, more) in [(&found[0], &found[1]), (&found[1], &found[2])] {
            for ((place, less), (_, more)) in less.iter().zip(more) {
                if rank(*less) > rank(*more) {
                    let (less, more) = (less.word(), more.word());
                    return Err(format!(
                        "{place}: {less}, and {more} with more of {options:?}\nthe program:\n{source}"
                    ));
                }
            }
        }
    }
    Ok(())
}

fn case(source: &str) -> Result<(), TestCaseError> {
    holds(source).and_then(|_| more_finds_no_less(source)).map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn demands_agree_on_programs_with_loops(recipe in recipe()) {
        case(&emit::program(&recipe))?;
    }

    #[test]
    fn demands_agree_on_scattered_definitions(recipe in scattered()) {
        case(&scattered::program(&recipe))?;
    }

    #[test]
    fn demands_agree_on_sums(recipe in sums()) {
        case(&sums::program(&recipe))?;
    }
}

#[test]
fn more_finds_no_less_on_random_graphs() {
    for seed in 0..graphs() {
        more_finds_no_less(&cells::program(seed)).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
}

#[test]
fn demands_agree_on_random_graphs() {
    let mut demands = 0;
    for seed in 0..graphs() {
        demands += holds(&cells::program(seed)).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
    assert!(demands > graphs(), "only {demands} demands");
}
