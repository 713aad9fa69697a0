//! Zero specialisation: what it must never do, on generated programs, whatever a profile says, and
//! what the paper's figures show.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use warpscope_core::ir::{Inst, Module, Write};
use warpscope_core::machine::Machine;
use warpscope_core::pass::azp::survey::{Survey, survey};
use warpscope_core::pass::{self, KnobValue, Settings as PassSettings, parse_pipeline};
use warpscope_core::profile::{Collector, Profile, declare};
use warpscope_core::report::measure;
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::{Progress, Settings, Simulation};
use warpscope_core::text::print;
use warpscope_core::trace::{Fact, Remark};
use warpscope_testkit::once::{self, once};
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::scattered::{self, scattered};
use warpscope_testkit::shades::{self, shades};
use warpscope_testkit::subscripts::{self, subscripts};
use warpscope_testkit::sums::{self, sums};
use warpscope_testkit::{emit, laws, zeros};

/// With thresholds so low that much is transformed, by a vote and lane by lane.
const VARIANTS: &[&str] = &[
    "azp",
    "azp[min_cycles=0,warps=1]",
    "azp[min_cycles=0,p_thresh=0,warps=1,machine=turing,threshold_rule=expected,xform_limit=20]",
    "azp[min_cycles=0,divergent=true,warps=2,xform_limit=3]",
    "azp[min_cycles=0,threshold_rule=printed,xform_limit=2]",
    "azp[min_cycles=0,p_thresh=0,hoist=global,warps=1,xform_limit=20]",
    "azp[min_cycles=0,hoist=global,divergent=true,xform_limit=3]",
];

/// Knobs that keep only the changes that are faster in the simulator.
const ORACLE: &str = "azp[min_cycles=0,p_thresh=0,heuristic=oracle,warps=1]";

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// The program with a profile that is made up.
fn with_zero_profile(source: &str, seed: u32) -> laws::Law<Module> {
    let mut module = laws::well_formed(source)?;
    zeros::declare(&mut module, seed);
    laws::well_formed(&print(&module))
}

/// Checks everything that has to hold of every variant on a program, for integers and where
/// `fast_math` is given for floats too.
fn is_sound(source: &str, seed: u32, fast_math: bool) -> Result<(), TestCaseError> {
    let fail = |message: String| TestCaseError::fail(format!("{message}\nthe program:\n{source}"));
    let module = with_zero_profile(source, seed).map_err(fail)?;
    let mut memory = laws::Memory::of(&module, fast_math);
    for pipeline in VARIANTS.iter().chain([&ORACLE]) {
        let steps = parse_pipeline(pipeline).expect("a pipeline");
        let session = laws::every_step_is_sound(&module, &steps, fast_math)
            .map_err(|broken| fail(format!("`{pipeline}`: {broken}")))?;
        let outcome = memory.is_the_same_after(session.module());
        outcome.map_err(|broken| fail(format!("`{pipeline}`: {broken}")))?;
        // As printed, the rule takes what loses, and taking that may make something else lose.
        if !pipeline.contains("printed") {
            laws::a_second_run_finds_nothing(&module, &steps, fast_math)
                .map_err(|broken| fail(format!("`{pipeline}`: {broken}")))?;
        }
    }
    Ok(())
}

/// Contents of the buffer of that name after a program's first kernel, as floats.
fn floats_left(module: &Module, buffer: &str) -> Vec<f32> {
    let kernel = module.kernels().next().expect("a kernel");
    let (launch, settings) = (&module.launches[0], Settings::default());
    let mut simulation: Simulation =
        Simulation::new(module, kernel, launch, &settings, Machine::Ampere).expect("a launch that fits");
    while simulation.run(1_000_000).expect("a run without errors") == Progress::Running {}
    let dump = simulation.dump();
    let left = dump.iter().find(|dump| dump.name == buffer).expect("the buffer");
    left.elements.iter().map(|&bits| f32::from_bits(bits as u32)).collect()
}

/// A product with zero of numbers of which some are no real ones, and a sum whose zero has a sign.
const NOT_REAL: &str = "kernel k(x: ptr.global restrict, y: ptr.global restrict, o: ptr.global restrict) {
entry:
    i = mov.u32 %tid
    s = ld.global.f32 x[i]
    f = ld.global.f32 y[i]
    w = work.f32 60, i
    a = mul.f32 s, f
    v = mul.f32 w, s
    b = add.f32 a, v
    st.global.f32 o[i], b
    ret
    profile zero {
        entry.s: 1.0
    }
}
launch k {
    grid 1
    block 8
    warp 8
    x = buffer f32[8] { 0.0, -0.0, 0.0, 0.0, 0.0, 0.0, -0.0, 0.0 }
    y = buffer f32[8] { 2.0, 2.0, inf, -inf, nan, -1.0, 1.0, 0.0 }
    o = buffer f32[8] const 7
}
";

#[test]
fn only_the_sign_of_zero_nan_and_infinity_come_out_differently() {
    let before = laws::well_formed(NOT_REAL).expect("a program");
    let steps = parse_pipeline("azp[min_cycles=0]").expect("a pipeline");
    let after = laws::run_silently(&before, &steps, true);
    assert_ne!(print(&before), print(&after), "it is transformed");
    let (first, second) = (floats_left(&before, "o"), floats_left(&after, "o"));
    let is_real = [true, true, false, false, false, true, true, true];
    for (lane, is_real) in is_real.into_iter().enumerate() {
        assert_eq!(second[lane].to_bits(), 0, "the fast path writes 0");
        assert_eq!(first[lane] == 0.0, is_real, "lane {lane} computed {}", first[lane]);
    }
    assert!(first[2].is_nan() && first[3].is_nan() && first[4].is_nan());
    assert_eq!(first[1].to_bits(), (-0.0f32).to_bits(), "of two negative zeros the sum is one");
}

#[test]
fn a_warp_with_one_lane_that_is_not_zero_computes_to_the_bit_what_it_did() {
    let source = NOT_REAL.replace("{ 0.0, -0.0,", "{ 0.5, -0.0,");
    let before = laws::well_formed(&source).expect("a program");
    let after = laws::run_silently(&before, &parse_pipeline("azp[min_cycles=0]").expect("a pipeline"), true);
    let bits = |module: &Module| floats_left(module, "o").iter().map(|float| float.to_bits()).collect::<Vec<_>>();
    assert_ne!(print(&before), print(&after), "it is transformed");
    assert_eq!(bits(&before), bits(&after));
}

/// Two registers that are loaded side by side and needed together.
const PAIR: &str = "kernel k(x: ptr.global restrict, o: ptr.global restrict) {
entry:
    i = mov.u32 %tid
    a = ld.global.u32 x[2*i]
    b = ld.global.u32 x[2*i + 1]
    s = or.b32 a, b
    w = work.u32 900, i
    v = mul.u32 w, s
    st.global.u32 o[i], v
    ret
}
launch k {
    grid 1
    block 32
    warp 8
    x = buffer u32[64] { NUMBERS }
    o = buffer u32[32] const 7
}
";

#[test]
fn what_independence_costs_stands_beside_its_product() {
    // Either register is zero in two of four warps: in the same ones, or in the others.
    for (in_the_same, joint) in [(true, 0.5), (false, 0.0)] {
        let is_zero = |place: usize| (place / 16 < 2) == (in_the_same || place.is_multiple_of(2));
        let numbers = (0..64).map(|place| if is_zero(place) { "0" } else { "3" });
        let source = PAIR.replace("NUMBERS", &numbers.collect::<Vec<_>>().join(", "));
        let mut module = laws::well_formed(&source).expect("a program");
        let kernel = module.kernels().next().expect("a kernel");
        let settings = Settings::default();
        let profile = measure(&module, kernel, &settings, Machine::Ampere).expect("a run");
        declare(&mut module, &profile);
        let steps = parse_pipeline("azp[p_thresh=0.5]").expect("a pipeline");
        let session = Session::open(module, &Options { steps, ..Options::default() }, &mut || 0);
        let remarks = session.journal().events().iter().map(|event| &event.remark);
        let fact = |remark: &Remark, name: &str| {
            remark.facts.iter().find(|(key, _)| *key == name).map(|(_, fact)| fact.clone())
        };
        let of_both: Vec<&Remark> = remarks.filter(|remark| fact(remark, "joint").is_some()).collect();
        assert_eq!(of_both.len(), 1, "one candidate has two registers");
        assert_eq!(fact(of_both[0], "joint"), Some(Fact::Number(joint)));
        assert_eq!(fact(of_both[0], "probability"), Some(Fact::Number(0.25)), "what decides is the product");
        assert_eq!(of_both[0].rule, "specialise");
        let words = format!("`a` and `b` are all zero in 25 % of warps (counted together: {:.0} %)", joint * 100.0);
        assert!(of_both[0].message.starts_with(&words), "{}", of_both[0].message);
    }
}

/// A branch past costly code that is not taken where `k` is zero, and where `p` is false.
const PAST: &str = "kernel k(x: ptr.global restrict, y: ptr.global restrict) {
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    k = ld.global.u32 x[i]
    s = mov.u32 i
    p = setp.gt.u32 k, 7
    br p, costly, done
costly:
    s = work.u32 300, i
    br done
done:
    st.global.u32 y[i], s
    ret
    profile zero { entry.k: 0.5 entry.p: 0.75 }
}
launch k {
    block 128
    x = buffer u32[128] const ELEMENT
    y = buffer u32[128] const 0
}
";

#[test]
fn what_is_not_entered_anyway_is_not_saved() {
    let module = laws::well_formed(&PAST.replace("ELEMENT", "0")).expect("a program");
    let kernel = module.kernels().next().expect("a kernel");
    let entry = pass::find("azp").expect("the pass");
    let mut settings = entry.default_settings();
    settings.knobs.set("warps", KnobValue::Integer(1));
    settings.knobs.set("min_cycles", KnobValue::Number(0.0));
    let found = survey(&module, kernel, &settings, 1, None);
    let estimates: Vec<_> = found.candidates.iter().filter_map(|row| row.estimate.as_ref()).collect();
    assert_eq!(estimates.len(), 2, "k and p");
    for estimate in estimates {
        assert!(estimate.t_region < 300.0, "the costly block is not entered where they are zero: {estimate:?}");
        assert!(estimate.t_delta() > 0.0, "a check costs more than the branch that it saves: {estimate:?}");
    }
    assert_eq!(found.best, None);
}

#[test]
fn a_predicate_is_zero_where_it_is_false() {
    for (element, probability) in [("0", 1.0), ("9", 0.0)] {
        let mut module = laws::well_formed(&PAST.replace("ELEMENT", element)).expect("a program");
        let kernel = module.kernels().next().expect("a kernel");
        let profile = measure(&module, kernel, &Settings::default(), Machine::Ampere).expect("a run");
        declare(&mut module, &profile);
        let declared = format!("entry.p: {probability:?}\n");
        assert!(print(&module).contains(&declared), "{}", print(&module));
    }
}

#[test]
fn checks_move_up_in_generated_programs() {
    let moved = (0..40).filter(|&seed| {
        let mut runner = proptest::test_runner::TestRunner::new_with_rng(
            ProptestConfig::default(),
            proptest::test_runner::TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &[seed; 32]),
        );
        let statements = once().new_tree(&mut runner).expect("a program").current();
        let module = with_zero_profile(&once::program(&statements), u32::from(seed)).expect("a program");
        let steps = parse_pipeline(VARIANTS[5]).expect("a pipeline");
        let session = Session::open(module, &Options { steps, fast_math: true, ..Options::default() }, &mut || 0);
        session
            .journal()
            .events()
            .iter()
            .any(|event| event.is_rewrite() && event.remark.facts.iter().any(|(name, _)| *name == "moved_up"))
    });
    let moved = moved.count();
    assert!(moved >= 2, "in {moved} of 40 programs");
}

// --- the program that counts by itself
// -------------------------------------------------------------------------------------

/// Memory after a kernel's first launch, by name, and the counts of a watcher.
fn left_and_counted(module: &Module) -> (BTreeMap<String, Vec<u64>>, Profile) {
    let kernel = module.kernels().next().expect("a kernel");
    let (launch, settings) = (&module.launches[0], Settings { fuel: 20_000_000, ..Settings::default() });
    let mut simulation: Simulation =
        Simulation::new(module, kernel, launch, &settings, Machine::Ampere).expect("a launch that fits");
    let mut collector = Collector::new(module, simulation.program());
    while simulation.run_watched(1_000_000, &mut collector).expect("a run without errors") == Progress::Running {}
    (simulation.dump().into_iter().map(|dump| (dump.name, dump.elements)).collect(), collector.profile())
}

/// How many candidates were counted, how many of them in more than one warp, and how many vectors.
/// Each counter has to hold what a watcher counts, and everything else what it held.
fn counts_are_right(source: &str) -> laws::Law<[usize; 3]> {
    let module = laws::well_formed(source)?;
    let steps = parse_pipeline("azp[instrument=true]").expect("a pipeline");
    let session = laws::every_step_is_sound(&module, &steps, false)?;
    laws::a_second_run_finds_nothing(&module, &steps, false)?;
    let (mut before, profile) = left_and_counted(&module);
    let (after, _) = left_and_counted(session.module());
    let mut found = [0; 3];
    for event in session.journal().events().iter().filter(|event| event.remark.rule == "count") {
        let body = &module.funcs[event.func];
        let fact =
            |name: &'static str| event.remark.facts.iter().filter(move |(key, _)| *key == name).map(|(_, fact)| fact);
        let place = |name: &'static str| match fact(name).next() {
            Some(&Fact::Count(place)) => place as usize,
            other => panic!("{other:?}"),
        };
        let Some(Fact::Text(counters)) = fact("counters").next() else { panic!("a global") };
        let mut names = BTreeMap::new();
        body.for_each_write(|_, write| {
            let mut name = format!("{}.{}", body.blocks[write.block].name, body.regs[write.reg].name);
            if write.occurrence > 0 {
                name += &format!("#{}", write.occurrence);
            }
            names.insert(name, write);
        });
        let writes: Vec<Write> = fact("write")
            .map(|fact| match fact {
                Fact::Text(name) => names[name],
                other => panic!("{other:?}"),
            })
            .collect();
        // A function that is never called has no profile.
        let measured = profile.get(&event.func).cloned().unwrap_or_default();
        let expected = match writes[..] {
            [write] => measured.zeros.get(&write),
            _ => measured.joint.get(&writes),
        };
        // Watchers do not hear what calls give.
        if event.remark.inst.is_some_and(|inst| body.insts[inst].opcode.op.is_call()) {
            continue;
        }
        let expected = expected.map_or((0, 0), |count| (count.all.warps, count.zero.warps));
        let global = &after[counters];
        let told = (global[place("writes_at")], global[place("zeros_at")]);
        if told != expected {
            return Err(format!(
                "{}: {told:?}, and {expected:?} were seen\n{}",
                event.remark.message,
                print(session.module())
            ));
        }
        before.entry(counters.clone()).or_insert_with(|| global.clone());
        found[0] += 1;
        found[1] += usize::from(expected.0 > 1);
        found[2] += usize::from(writes.len() > 1);
    }
    for (name, elements) in &before {
        if after[name] != *elements {
            return Err(format!("`{name}` holds something else\n{}", print(session.module())));
        }
    }
    Ok(found)
}

fn is_counted(source: &str) -> Result<(), TestCaseError> {
    let found =
        counts_are_right(source).map_err(|broken| TestCaseError::fail(format!("{broken}\nthe program:\n{source}")))?;
    prop_assert!(found[0] > 0, "something is counted");
    Ok(())
}

#[test]
fn an_instrumented_vector_counts_what_its_registers_do_together() {
    let numbers = (0..64).map(|place| if place / 16 < 2 || place == 40 { "0" } else { "3" });
    let source = PAIR.replace("NUMBERS", &numbers.collect::<Vec<_>>().join(", "));
    let found = counts_are_right(&source).unwrap_or_else(|broken| panic!("{broken}"));
    // s, w, v; a, b and both.
    assert_eq!(found, [6, 6, 1]);
}

#[test]
fn guarded_writes_count_where_their_guards_hold() {
    let source = "kernel k(x: ptr.global, o: ptr.global) {
entry:
    i = mov.u32 %tid
    v = mov.u32 7
    p = setp.lt.u32 i, 12
    @p v = ld.global.u32 x[i]
    @!p v = ld.global.u32 x[i + 4]
    q = setp.gt.u32 i, 99
    @q v = add.u32 v, 1
    w = add.u32 v, 1
    st.global.u32 o[i], w
    ret
}
launch k {
    block 16
    warp 8
    x = buffer u32[20] { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
    o = buffer u32[16] const 3
}
";
    let found = counts_are_right(source).unwrap_or_else(|broken| panic!("{broken}"));
    assert_eq!(found[0], 6, "three writes of v, p, q, and w");
}

#[test]
fn counters_find_a_name_that_is_free() {
    let source = PAIR
        .replace("NUMBERS", "0")
        .replace(" v ", " k_zeros ")
        .replace(", v\n", ", k_zeros\n")
        .replace("buffer u32[64] { 0 }", "buffer u32[64] const 0");
    assert!(source.contains("k_zeros = mul"), "{source}");
    counts_are_right(&source).unwrap_or_else(|broken| panic!("{broken}"));
    let steps = parse_pipeline("azp[instrument=true]").expect("a pipeline");
    let module = laws::run_silently(&laws::well_formed(&source).expect("a program"), &steps, false);
    assert!(print(&module).starts_with("global k_zeros_1: u64[12]\n"), "{}", print(&module));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn structured_programs_count_their_zeros(recipe in recipe()) {
        is_counted(&emit::program(&recipe))?;
    }

    #[test]
    fn scattered_definitions_count_their_zeros(recipe in scattered()) {
        is_counted(&scattered::program(&recipe))?;
    }

    #[test]
    fn sums_count_their_zeros(recipe in sums()) {
        is_counted(&sums::program(&recipe))?;
    }

    #[test]
    fn floats_count_their_zeros(recipe in shades()) {
        is_counted(&shades::program(&recipe))?;
    }

    #[test]
    fn registers_written_once_count_their_zeros(statements in once()) {
        is_counted(&once::program(&statements))?;
    }

    #[test]
    fn loops_over_memory_count_their_zeros(recipe in subscripts()) {
        is_counted(&subscripts::program(&recipe))?;
    }
}

// --- what must never happen
// ------------------------------------------------------------------------------------------------

proptest! {
    #![proptest_config(config())]

    #[test]
    fn structured_programs_compute_the_same(recipe in recipe(), seed in any::<u32>()) {
        is_sound(&emit::program(&recipe), seed, false)?;
    }

    #[test]
    fn scattered_definitions_compute_the_same(recipe in scattered(), seed in any::<u32>()) {
        is_sound(&scattered::program(&recipe), seed, false)?;
    }

    #[test]
    fn sums_compute_the_same(recipe in sums(), seed in any::<u32>()) {
        is_sound(&sums::program(&recipe), seed, false)?;
    }

    #[test]
    fn finite_floats_compute_the_same(recipe in shades(), seed in any::<u32>()) {
        is_sound(&shades::program(&recipe), seed, true)?;
    }

    #[test]
    fn integers_among_floats_compute_the_same_without_the_licence(recipe in shades(), seed in any::<u32>()) {
        is_sound(&shades::program(&recipe), seed, false)?;
    }

    #[test]
    fn registers_written_once_compute_the_same(statements in once(), seed in any::<u32>()) {
        is_sound(&once::program(&statements), seed, false)?;
    }

    #[test]
    fn loops_over_memory_compute_the_same(recipe in subscripts(), seed in any::<u32>()) {
        is_sound(&subscripts::program(&recipe), seed, false)?;
    }
}

/// Checks what the pass says of its candidates in one round against a survey, which estimates all of them anew.
fn remarks_agree(survey: &Survey, remarks: &[Remark]) -> Result<(), TestCaseError> {
    for remark in remarks {
        let fact = |name: &str| remark.facts.iter().find(|(fact, _)| *fact == name).map(|(_, fact)| fact.clone());
        let Some(Fact::Count(number)) = fact("candidate") else { continue };
        let row = survey.candidates.iter().find(|row| u64::from(row.number) == number).expect("it is listed");
        prop_assert_eq!((row.rule, &row.verdict), (remark.rule, &remark.message));
        let estimate = row.estimate.as_ref().expect("it was estimated");
        let figures = [
            ("t_region", estimate.t_region),
            ("t_special", estimate.t_special),
            ("t_check", estimate.t_check),
            ("t_delta", estimate.t_delta()),
        ];
        for (name, figure) in figures {
            prop_assert_eq!(Some(Fact::Number(figure)), fact(name));
        }
        prop_assert_eq!(Some(Fact::Count(estimate.memory_killed as u64)), fact("memory_killed"));
        prop_assert_eq!(Some(Fact::Count(estimate.blocks() as u64)), fact("blocks"));
    }
    Ok(())
}

/// Checks the survey before each transformation against the pass's actions and remarks.
fn survey_foretells(module: &Module, pipeline: &str) -> Result<usize, TestCaseError> {
    let steps = parse_pipeline(pipeline).expect("a pipeline");
    let settings = PassSettings { knobs: steps[0].knob_values(), fast_math: true };
    let options = Options { steps: steps.clone(), fast_math: true, only: None, launches: None };
    let mut session = Session::open(module.clone(), &options, &mut || 0);
    let mut surveyed = 0;
    let kernels: Vec<_> = module.kernels().collect();
    for kernel in kernels {
        let of_kernel = |event: &usize| session.journal().events()[*event].func == kernel;
        let events: Vec<usize> = (0..session.len()).filter(of_kernel).collect();
        let is_rewrite = |&event: &usize| session.journal().events()[event].is_rewrite();
        let rewrites: Vec<usize> = events.iter().copied().filter(is_rewrite).collect();
        let remarks = |range: Range<usize>| -> Vec<Remark> {
            let events = events.iter().filter(|&event| range.contains(event));
            events.map(|&event| session.journal().events()[event].remark.clone()).collect()
        };
        let starts: Vec<usize> = std::iter::once(0).chain(rewrites.iter().map(|event| event + 1)).collect();
        let ends = rewrites.iter().map(|event| event + 1).chain([session.len()]);
        let rounds: Vec<Vec<Remark>> = starts.into_iter().zip(ends).map(|(start, end)| remarks(start..end)).collect();
        for (done, &event) in rewrites.iter().enumerate() {
            session.seek(event);
            let found = survey(session.module(), kernel, &settings, done as i64 + 1, None);
            remarks_agree(&found, &rounds[done])?;
            let remark = session.journal().events()[event].remark.clone();
            let fact = |name: &str| remark.facts.iter().find(|(fact, _)| *fact == name).map(|(_, fact)| fact.clone());
            prop_assert_eq!(found.best.map(|best| Fact::Count(u64::from(best))), fact("candidate"));
            let row = found.candidates.iter().find(|row| Some(row.number) == found.best).expect("the best is listed");
            prop_assert_eq!((&row.verdict, row.is_good), (&remark.message, true));
            let estimate = row.estimate.as_ref().expect("it was estimated");
            prop_assert_eq!(Some(Fact::Number(estimate.t_delta())), fact("t_delta"));
            prop_assert_eq!(Some(Fact::Count(estimate.blocks() as u64)), fact("blocks"));
            let effect = found.effect.expect("the best has an effect");
            prop_assert_eq!(Some(effect.number), found.best);
            for inst in [&effect.constant, &effect.simpler, &effect.dead].into_iter().flatten() {
                prop_assert!(effect.region.contains(inst), "{} is not in the region", inst);
            }
            surveyed += 1;
        }
        session.seek(session.len());
        let limit = settings.knobs.integer("xform_limit");
        let last = survey(session.module(), kernel, &settings, rewrites.len() as i64 + 1, None);
        remarks_agree(&last, &rounds[rewrites.len()])?;
        prop_assert!(last.best.is_none() || rewrites.len() as i64 == limit, "nothing passes any more");
        prop_assert!(last.candidates.iter().all(|row| !row.is_good || row.number != last.best.unwrap_or(0)));
    }
    Ok(surveyed)
}

#[test]
fn a_survey_of_a_figure_shows_its_slices() {
    let source = include_str!("../../www/examples/azp/figure-3.wir");
    let module = laws::well_formed(source).expect("a program");
    let kernel = module.kernels().next().expect("a kernel");
    let settings = PassSettings { fast_math: true, ..pass::find("azp").expect("the pass").default_settings() };
    let found = survey(&module, kernel, &settings, 1, None);
    let func = &module.funcs[kernel];
    let named = |insts: &[Inst]| -> Vec<String> {
        insts.iter().filter_map(|&inst| Some(func.regs[*func.insts[inst].dsts.first()?].name.clone())).collect()
    };
    let effect = found.effect.expect("its best candidate has an effect");
    assert_eq!(named(&effect.writers), ["r0"]);
    assert_eq!(named(&effect.constant), ["r4", "r5", "pixout"]);
    assert_eq!(named(&effect.dead), ["s0", "rBackward0", "s1", "rBackward1", "s2", "rBackward2"]);
    assert!(effect.start.is_some_and(|start| effect.region.first() == Some(&start)));
    let verdicts: Vec<(&str, bool)> = found.candidates.iter().map(|row| (row.rule, row.is_good)).collect();
    assert_eq!(verdicts, [("specialise", true)], "only r0 has a profile");
    let unlicensed = PassSettings { fast_math: false, ..settings.clone() };
    let refused = survey(&module, kernel, &unlicensed, 1, None);
    assert_eq!((refused.candidates[0].rule, refused.best, refused.effect), ("licence", None, None));
    let at_limit = survey(&module, kernel, &settings, 9, None);
    assert_eq!((at_limit.candidates[0].rule, at_limit.candidates[0].is_good), ("limit", false));
    let without = laws::well_formed(&source.replace("entry.r0: 0.8", "entry.g: 0.1")).expect("a program");
    let unlikely = survey(&without, kernel, &settings, 1, None);
    assert_eq!((unlikely.candidates[0].rule, unlikely.candidates[0].estimate.is_none()), ("unlikely", true));
}

#[test]
fn a_survey_foretells_each_of_three_steps() {
    let module = laws::well_formed(include_str!("../../www/examples/azp/three-steps.wir")).expect("a program");
    assert_eq!(survey_foretells(&module, "azp").expect("it foretells"), 3);
}

#[test]
fn cached_estimates_equal_new_ones_on_golden_programs() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/azp");
    let mut steps = 0;
    for file in fs::read_dir(folder).expect("the folder") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("text");
        let Some((_, program)) = text.split_once('\n') else { continue };
        let program = program.split("\n// ----").next().expect("a program");
        let Ok(module) = laws::well_formed(program) else { continue };
        for pipeline in VARIANTS {
            steps += survey_foretells(&module, pipeline).unwrap_or_else(|broken| panic!("{broken}\n{program}"));
        }
    }
    assert!(steps > 50, "{steps} transformations");
}

proptest! {
    #![proptest_config(config())]

    /// The table that a person sees is what the pass does next.
    #[test]
    fn a_survey_foretells_what_the_pass_does(recipe in shades(), seed in any::<u32>(), variant in 0..VARIANTS.len()) {
        let module = with_zero_profile(&shades::program(&recipe), seed).map_err(TestCaseError::fail)?;
        survey_foretells(&module, VARIANTS[variant])?;
    }

    #[test]
    fn cached_estimates_equal_new_ones(
        recipe in recipe(),
        scattered in scattered(),
        statements in once(),
        memory in subscripts(),
        seed in any::<u32>(),
        variant in 0..VARIANTS.len(),
    ) {
        let sources = [
            emit::program(&recipe),
            scattered::program(&scattered),
            once::program(&statements),
            subscripts::program(&memory),
        ];
        for source in sources {
            let module = with_zero_profile(&source, seed).map_err(TestCaseError::fail)?;
            survey_foretells(&module, VARIANTS[variant])?;
        }
    }
}
