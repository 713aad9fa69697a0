//! Partial redundancy elimination: what it must never do, on generated programs, with profiles that
//! are right, wrong, or missing.

use proptest::prelude::*;
use warpscope_core::ir::{Block, Func, Module};
use warpscope_core::pass::spec_pre::survey::{Branch, BranchVerdict, Position, Question, Survey, carried_out, survey};
use warpscope_core::pass::{Settings, parse_pipeline};
use warpscope_core::session::{Options, Session};
use warpscope_core::text::print;
use warpscope_testkit::figures::{figures, saves_what_is_foreseen};
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::shades::{self, shades};
use warpscope_testkit::{emit, generated_programs_are_sound, laws};

/// With and without speculation, by path and by warp.
const VARIANTS: &[&str] =
    &["spec-pre", "spec-pre[speculation=false]", "spec-pre[cost=path]", "spec-pre[cost=path,machine=turing,fp=0.5]"];

fn is_sound(source: &str, seed: u64) -> Result<(), TestCaseError> {
    laws::are_sound_with_profile(VARIANTS, source, seed).map_err(TestCaseError::fail)
}

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

#[test]
fn figures_save_in_the_simulator_what_is_foreseen() {
    for (name, module) in figures("spec-pre") {
        // Values are copied to where they were evaluated; what follows takes that away.
        let saved = saves_what_is_foreseen(&name, &module, "spec-pre[machine=unit],copy-prop,dce");
        assert!(saved > 0.0, "{name}: something is gained");
    }
}

fn settings(pipeline: &str) -> Settings {
    Settings { knobs: parse_pipeline(pipeline).expect("a pipeline")[0].knob_values(), fast_math: false }
}

/// Checks the survey before each rewrite against the pass's actions and remarks. Returns how often it was queried.
fn survey_foretells(module: &Module, pipeline: &str) -> Result<usize, TestCaseError> {
    let steps = parse_pipeline(pipeline).expect("a pipeline");
    let settings = settings(pipeline);
    let mut session = Session::open(module.clone(), &Options { steps, ..Options::default() }, &mut || 0);
    let events = session.journal().events();
    let rewrites: Vec<usize> = (0..session.len()).filter(|&event| events[event].is_rewrite()).collect();
    let rounds_end = events.iter().any(|event| event.remark.rule == "max-rounds");
    let blocks = |module: &Module, func: Func| module.funcs[func].block_order().count();
    let mut foretold = 0;
    for (place, &event) in rewrites.iter().enumerate() {
        session.seek(event);
        let (func, remark) = (session.journal().events()[event].func, session.journal().events()[event].remark.clone());
        // Where an edge has been split, nodes and paths are others than those that the pass began with.
        if blocks(session.module(), func) > blocks(module, func) {
            continue;
        }
        let inst = remark.inst.expect("a rewrite is about an instruction");
        let question = Question { wanted: Some(inst), ..Question::default() };
        let found = survey(session.module(), func, &settings, question);
        let is_told = |surveyed: &warpscope_core::pass::spec_pre::survey::Surveyed| {
            surveyed.passes && surveyed.verdict.inst == Some(inst)
        };
        let surveyed = found.redundancies.iter().find(|surveyed| is_told(surveyed));
        prop_assert!(surveyed.is_some(), "nobody told of `{}`: {:?}", remark.message, found.redundancies);
        let surveyed = surveyed.expect("it is there");
        prop_assert!(surveyed.evaluations.contains(&inst));
        prop_assert_eq!(&surveyed.verdict.message, &remark.message);
        prop_assert_eq!(&surveyed.verdict.facts, &remark.facts);
        let of_branches = |branch: &Branch| matches!(branch.verdict, BranchVerdict::Enabled);
        let detail = found.detail.as_ref().expect("what was asked for");
        if found.redundancies[detail.redundancy] == *surveyed {
            prop_assert!(detail.replaced.contains(&inst));
            let speculates = remark.facts.iter().any(|(name, _)| *name == "splits");
            prop_assert_eq!(detail.branches.iter().any(of_branches), speculates);
            for branch in &detail.branches {
                are_consistent(&found, branch)?;
            }
        }
        // Later the pass has registers for values that others do not know of.
        if place == 0 {
            let mut then = session.module().clone();
            then.funcs[func] = carried_out(&then, func, &settings, inst).expect("it is done");
            session.seek(event + 1);
            prop_assert_eq!(print(&then), print(session.module()));
        }
        foretold += 1;
    }
    session.seek(session.len());
    for func in session.module().funcs.keys() {
        let left = survey(session.module(), func, &settings, Question::default());
        prop_assert!(rounds_end || left.redundancies.iter().all(|surveyed| !surveyed.passes), "nothing is left");
    }
    Ok(foretold)
}

/// Sets of paths are among those through a branch, and the figures are their sums.
fn are_consistent(found: &Survey, branch: &Branch) -> Result<(), TestCaseError> {
    for set in [&branch.sets.available, &branch.sets.removable] {
        prop_assert!(set.iter().all(|path| branch.sets.on.contains(path)));
    }
    prop_assert!(branch.sets.benefit.iter().all(|path| !branch.sets.cost.contains(path)));
    let Some(weighed) = branch.weighed else { return Ok(()) };
    let executions = |set: &[usize]| set.iter().map(|&path| found.paths[path].frequency as f64).sum::<f64>();
    // A path may lose more than one evaluation.
    prop_assert!(weighed.benefit_paths >= executions(&branch.sets.benefit), "{:?}", branch);
    prop_assert!(weighed.cost_paths >= executions(&branch.sets.cost), "{:?}", branch);
    prop_assert_eq!(weighed.benefit_paths > 0.0, executions(&branch.sets.benefit) > 0.0);
    Ok(())
}

fn figure_11() -> (Module, Func) {
    let figures = figures("spec-pre");
    let (_, module) = figures.into_iter().find(|(name, _)| name == "figure-11.wir").expect("the figure");
    let kernel = module.kernels().next().expect("a kernel");
    (module, kernel)
}

#[test]
fn a_survey_of_figure_11_shows_its_sets() {
    let (module, kernel) = figure_11();
    let func = &module.funcs[kernel];
    let name = |block: Block| func.blocks[block].name.as_str();
    let by_path = settings("spec-pre[machine=unit,cost=path]");
    let found = survey(&module, kernel, &by_path, Question::default());
    let frequencies = |set: &[usize]| -> Vec<u64> { set.iter().map(|&path| found.paths[path].frequency).collect() };
    let detail = found.detail.as_ref().expect("something is evaluated once");
    assert!(found.redundancies[detail.redundancy].passes);
    let [six] = detail.branches.as_slice() else { panic!("{:?}", detail.branches) };
    assert_eq!((name(six.block), six.verdict), ("n6", BranchVerdict::Enabled));
    // The first two paths lose an evaluation, the fifth gains one.
    assert_eq!((frequencies(&six.sets.benefit), frequencies(&six.sets.cost)), (vec![10, 9], vec![5]));
    assert_eq!(frequencies(&six.sets.available), [10, 9, 8, 7]);
    assert_eq!(frequencies(&six.sets.removable), [10, 9, 6]);
    let weighed = six.weighed.expect("it was weighed");
    assert_eq!((weighed.benefit_paths, weighed.cost_paths, weighed.benefit, weighed.cost), (19.0, 5.0, 19.0, 5.0));
    let [Position::Block(inserted)] = *detail.inserted else { panic!("{:?}", detail.inserted) };
    assert_eq!(name(inserted), "n3");
    let block_of = |inst| name(func.inst_block(inst).expect("it stands somewhere"));
    assert_eq!((block_of(detail.replaced[0]), block_of(detail.sources[0])), ("n7", "n2"));

    // Where the fifth path is taken more often, it does not pay.
    let fifth = found.paths.iter().find(|path| path.frequency == 5).expect("a path").blocks.clone();
    let edited = [(fifth, 50)];
    let question = Question { frequencies: &edited, wanted: Some(detail.replaced[0]) };
    let other = survey(&module, kernel, &by_path, question);
    let told = other.detail.expect("what was asked for");
    assert_eq!(told.branches[0].verdict, BranchVerdict::Cost);
    let verdict = &other.redundancies[told.redundancy];
    assert!(!verdict.passes && verdict.verdict.rule == "cost", "{verdict:?}");

    // Without speculation there is nothing to weigh.
    let safe =
        survey(&module, kernel, &settings("spec-pre[speculation=false]"), Question { frequencies: &[], ..question });
    let told = safe.detail.expect("what was asked for");
    assert_eq!(told.branches[0].verdict, BranchVerdict::NoSpeculation);
    assert_eq!(safe.redundancies[told.redundancy].verdict.rule, "no-speculation");

    // Warps gain all the same, and where they pay that is what counts.
    let by_warp = survey(&module, kernel, &settings("spec-pre[machine=unit]"), question);
    let told = by_warp.detail.expect("what was asked for");
    assert!(by_warp.is_by_warp && by_warp.redundancies[told.redundancy].passes);
    let weighed = told.branches[0].weighed.expect("it was weighed");
    assert!(told.branches[0].verdict == BranchVerdict::Enabled && weighed.benefit < weighed.cost);
    assert!(told.warp_cycles.is_some_and(|(before, after)| after < before), "{:?}", told.warp_cycles);
}

#[test]
fn a_survey_foretells_each_figure() {
    for (name, module) in figures("spec-pre") {
        for variant in ["spec-pre[machine=unit]", "spec-pre[cost=path]"] {
            let foretold = survey_foretells(&module, variant).expect("it foretells");
            assert!(foretold > 0 || name == "diverging.wir", "{name} {variant}");
        }
    }
}

proptest! {
    #![proptest_config(config())]

    /// The table that a person sees is what the pass does next.
    #[test]
    fn a_survey_foretells_what_the_pass_does(recipe in recipe(), seed in 0..4u64, variant in 0..VARIANTS.len()) {
        let module = laws::profiled(&emit::program(&recipe), seed).map_err(TestCaseError::fail)?;
        survey_foretells(&module, VARIANTS[variant])?;
        survey_foretells(&laws::with_estimated_paths(&module, seed), VARIANTS[variant])?;
    }

    #[test]
    fn a_survey_foretells_what_shades_become(recipe in shades(), seed in 0..4u64, variant in 0..VARIANTS.len()) {
        let module = laws::profiled(&shades::program(&recipe), seed).map_err(TestCaseError::fail)?;
        survey_foretells(&module, VARIANTS[variant])?;
        survey_foretells(&laws::with_estimated_paths(&module, seed), VARIANTS[variant])?;
    }
}

generated_programs_are_sound!();
