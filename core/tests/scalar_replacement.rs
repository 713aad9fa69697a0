//! Scalar replacement by question propagation: what it must never do, on generated programs, and
//! what the paper's figures say it costs.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use warpscope_core::ir::{Module, Op};
use warpscope_core::journal::{Inquiry, Journal, MAX_DETAILS};
use warpscope_core::machine::Machine;
use warpscope_core::pass::{parse_pipeline, run_pipeline};
use warpscope_core::profile::{Collector, declare};
use warpscope_core::sim::{Progress, RunResult, Settings, Simulation};
use warpscope_core::text::print;
use warpscope_core::trace::{Answer, Event, QuestionEvent, Trace};
use warpscope_core::verify::check;
use warpscope_testkit::bounded::{self, bounded};
use warpscope_testkit::laws;
use warpscope_testkit::sample;
use warpscope_testkit::subscripts::{self, subscripts};

/// The five passes, and every knob away from its default.
const VARIANTS: &[&str] = &[
    "preqp",
    "srqp",
    "srqp[down_safety=exact]",
    "srqp[overflow=prove]",
    "srqp[faulting=never]",
    "srqp[visits=4]",
    "esrqp",
    "esrqp[cdrnd=direct]",
    "esrqp[divergence=all]",
    "esrqp[divergence=profile]",
    "esrqp[cdrnd=relative]",
    "ssrqp-s",
    "ssrqp-s[partial_speculation=true]",
    "ssrqp-s[divergence=profile]",
    "ssrqp[cost=paper]",
    "ssrqp[cost=paper,cdrnd=relative]",
    "ssrqp[cost=paper,divergence=all,partial_speculation=true]",
    "ssrqp[cost=paper,divergence=none]",
    "ssrqp[cost=paper,divergence=profile]",
    "ssrqp[cost=paper,divergence=profile,divergence_threshold=0.3]",
    "ssrqp[cost=paper,faulting=guarded]",
    "ssrqp[cost=paper,faulting=never]",
    "ssrqp",
    "ssrqp[faulting=guarded,warps=1]",
    "ssrqp[cost=machine]",
    "ssrqp[cost=machine,warps=1,machine=turing,cdrnd=relative]",
    "ssrqp[cost=machine,divergence=profile,faulting=guarded]",
    "ssrqp[cost=machine,partial_speculation=true,visits=4]",
];

/// Those that read profiles.
const VARIANTS_OF_PROFILES: &[&str] = &[
    "ssrqp[cost=paper,divergence=profile,divergence_threshold=0.5]",
    "ssrqp[cost=machine]",
    "ssrqp[cost=machine,divergence=profile,warps=1]",
];

/// Those that move and insert loads of arrays, without what is assumed of overflow.
const VARIANTS_WITH_BOUNDS: &[&str] = &[
    "srqp[overflow=prove]",
    "srqp[overflow=prove,faulting=never]",
    "esrqp[overflow=prove,divergence=none,faulting=never]",
    "ssrqp-s[overflow=prove]",
    "ssrqp-s[overflow=prove,faulting=never]",
    "ssrqp[cost=paper,overflow=prove]",
    "ssrqp[cost=paper,overflow=prove,divergence=all]",
    "ssrqp[cost=paper,overflow=prove,faulting=guarded]",
    "ssrqp[cost=paper,overflow=prove,faulting=never,visits=4]",
];

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(250);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// Checks a law of some pipelines on a program, which is part of the message.
fn holds(
    source: &str,
    pipelines: &[&str],
    mut law: impl FnMut(&Module, &[warpscope_core::pass::Step]) -> laws::Law,
) -> Result<(), TestCaseError> {
    let fail = |message: String| TestCaseError::fail(format!("{message}\nthe program:\n{source}"));
    let module = laws::well_formed(source).map_err(fail)?;
    for pipeline in pipelines {
        let steps = parse_pipeline(pipeline).expect("a pipeline");
        law(&module, &steps).map_err(|broken| fail(format!("`{pipeline}`: {broken}")))?;
    }
    Ok(())
}

/// The program after a pipeline.
fn optimised(module: &Module, pipeline: &str) -> Module {
    laws::run_silently(module, &parse_pipeline(pipeline).expect("a pipeline"), false)
}

/// The first launch of a program, run.
fn run(module: &Module, settings: &Settings) -> RunResult {
    let (launch, machine) = (&module.launches[0], Machine::Ampere);
    let kernel = module.kernels().next().expect("a kernel");
    let mut simulation: Simulation =
        Simulation::new(module, kernel, launch, settings, machine).expect("a launch that fits");
    while simulation.run(1_000_000).expect("a run without errors") == Progress::Running {}
    simulation.result()
}

/// The program with the profile of its first launch.
fn measured(module: &Module, settings: &Settings) -> Module {
    let kernel = module.kernels().next().expect("a kernel");
    let mut simulation: Simulation =
        Simulation::new(module, kernel, &module.launches[0], settings, Machine::Ampere).expect("a launch that fits");
    let mut collector = Collector::new(module, simulation.program());
    while simulation.run_watched(1_000_000, &mut collector).expect("a run without errors") == Progress::Running {}
    let mut measured = module.clone();
    declare(&mut measured, &collector.profile());
    measured
}

/// A figure of the paper, as the gallery has it.
fn figure(name: &str) -> Module {
    let path = format!("{}/../www/examples/questions/{name}.wir", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    laws::well_formed(&source).expect("a program")
}

fn settings(of: &[&str]) -> Settings {
    let mut settings = Settings::default();
    of.iter().for_each(|text| settings.set(text).expect("a setting"));
    settings
}

/// Rounds of the loop of figure 4.
const ROUNDS: u64 = 16;

#[test]
fn figure_4_with_every_side_taken_loads_as_the_paper_says() {
    let module = figure("figure-4");
    let settings = settings(&[]);
    let found = |pipeline: &str| run(&optimised(&module, pipeline), &settings);
    let before = run(&module, &settings);
    for side in ["n3", "n5", "n6"] {
        assert_eq!(before.blocks[side].issues % ROUNDS, 0, "some lane takes {side} in every round");
    }
    let [srqp, esrqp, ssrqp] = ["srqp", "esrqp", "ssrqp[cost=paper]"].map(found);
    assert_eq!(before.global_loads, 2 * ROUNDS);
    assert_eq!(esrqp.global_loads, 2 * ROUNDS);
    assert_eq!(srqp.global_loads, 3 * ROUNDS + 1);
    assert_eq!(ssrqp.global_loads, ROUNDS + 1);
    for other in [&before, &srqp, &esrqp] {
        assert!(ssrqp.cycles < other.cycles, "{} against {}", ssrqp.cycles, other.cycles);
    }
}

#[test]
fn figure_4_without_divergence_loads_as_the_paper_says() {
    let module = figure("figure-4");
    let settings = settings(&["p.coherence=1", "q.coherence=1"]);
    let found = |pipeline: &str| run(&optimised(&module, pipeline), &settings).global_loads;
    let before = run(&module, &settings);
    assert_eq!(before.divergent_branches, 0);
    let load = before.instructions.iter().find(|inst| inst.block == "n5").expect("the load of n5");
    assert!(load.issues > 0 && load.issues < ROUNDS, "n5 is visited in some rounds");
    assert_eq!(before.global_loads, ROUNDS + load.issues);
    assert_eq!([found("srqp"), found("ssrqp[cost=paper]")], [ROUNDS + 1; 2]);
}

#[test]
fn across_a_uniform_branch_that_is_rarely_taken_only_the_blind_variant_moves_loads() {
    let module = figure("rarely");
    let settings = settings(&[]);
    let [before, blind, seeing] =
        ["", "ssrqp-s", "ssrqp[cost=paper]"].map(|pipeline| run(&optimised(&module, pipeline), &settings));
    assert!(before.blocks["n2"].issues > 0, "it is taken sometimes");
    assert_eq!(seeing.global_loads, before.global_loads);
    assert_eq!(blind.global_loads, 64, "once a round");
    assert!(blind.cycles > seeing.cycles, "{} against {}", blind.cycles, seeing.cycles);
}

#[test]
fn a_side_that_warps_seldom_enter_keeps_its_load_where_costs_decide() {
    let settings = settings(&[]);
    let module = measured(&figure("seldom-entered"), &settings);
    let found = |pipeline: &str| run(&optimised(&module, pipeline), &settings);
    let before = run(&module, &settings);
    assert!(before.divergent_branches > 0, "it diverges now and then, so that measuring that alone does not help");
    for pipeline in ["ssrqp[cost=paper]", "ssrqp[cost=paper,divergence=profile]"] {
        assert_eq!(found(pipeline).global_loads, 64, "{pipeline}: both warps load once a round");
    }
    let machine = found("ssrqp[cost=machine]");
    assert_eq!(machine.global_loads, before.global_loads);
    assert!(before.global_loads < 32, "{}", before.global_loads);
    assert!(machine.cycles < found("ssrqp[cost=paper]").cycles);
}

#[test]
fn an_insertion_outside_the_region_is_made_where_it_pays() {
    let settings = settings(&[]);
    let module = measured(&figure("cold-side"), &settings);
    let found = |pipeline: &str| run(&optimised(&module, pipeline), &settings);
    let before = run(&module, &settings);
    for pipeline in ["ssrqp[cost=paper]", "ssrqp[cost=paper,divergence=profile]"] {
        assert!(found(pipeline).global_loads >= before.global_loads, "{pipeline} inserts nothing under the branch");
    }
    let machine = found("ssrqp[cost=machine]");
    // Each round loaded in `rest`, and loads in `cold` now.
    let executions = |block: &str| {
        let load = before.instructions.iter().find(|inst| inst.block == block).expect("a block that ran");
        load.issues
    };
    assert_eq!(machine.global_loads, before.global_loads - executions("rest") + executions("cold"));
    for pipeline in ["", "ssrqp[cost=paper]"] {
        assert!(machine.cycles < found(pipeline).cycles, "{pipeline}");
    }
}

#[test]
fn what_a_move_counts_on_goes_away_though_it_was_asked_about_before() {
    // `first` is asked about before `second`, whose move to `head` and `back` pays only because
    // `first` goes away as well.
    let source = "kernel k(x: ptr.global, o: ptr.global) {
entry:
    t = mov.u32 %tid
    a = mad.wide.u32 t, 2048, x
    i = mov.s32 256
    sum = mov.u32 0
    fuel = mov.u32 13
    br head
head:
    fuel = sub.u32 fuel, 1
    out = setp.eq.u32 fuel, 0
    br out, done, above
above:
    fuel = sub.u32 fuel, 1
    over = setp.eq.u32 fuel, 0
    br over, done, first
first:
    v = ld.global.u32 a[i]
    sum = mad.u32 sum, 31, v
    br join
back:
    i = add.s32 i, 1
    low = setp.lt.u32 v, 40
    br low, join, head
join:
    fuel = sub.u32 fuel, 1
    spent = setp.eq.u32 fuel, 0
    br spent, done, second
second:
    v = ld.global.u32 a[i]
    sum = xor.b32 sum, v
    st.global.u32 a[256], v
    br back
done:
    st.global.u32 o[t], sum
    ret
}
launch k {
    block 8
    warp 8
    x = buffer u32[4096] random(0, 99)
    o = buffer u32[8] const 0
}
";
    let module = measured(&laws::well_formed(source).expect("a program"), &settings(&[]));
    let pipeline = "ssrqp[cost=machine,machine=unit,down_safety=exact]";
    let after = optimised(&module, pipeline);
    let loads = |module: &Module| run(module, &settings(&[])).global_loads;
    let (had, has) = (loads(&module), loads(&after));
    assert!(has < had, "{had} loads become {has}");
    let first = after.kernels().next().expect("a kernel");
    let func = &after.funcs[first];
    let block = func.block_order().find(|&block| func.blocks[block].name == "first").expect("it is still there");
    let is_load = |inst| func.insts[inst].opcode.op == Op::Ld;
    assert!(!func.block_insts(block).any(is_load), "the load of `first` goes away");
}

/// Records a run of a pass: the program, and its journal apart from questions.
fn recorded(module: &Module, pass: &str, journal: &mut Journal) -> (String, Vec<String>) {
    let mut module = module.clone();
    let before = journal.events().len();
    run_pipeline(&mut module, &parse_pipeline(pass).expect("a pass"), false, |_| true, journal, &mut || 0);
    let remarks = journal.events()[before..].iter().map(|event| format!("{:?}", event.remark));
    (print(&module), remarks.collect())
}

#[test]
fn who_is_answered_from_memory_hears_why_not_as_well() {
    // `first` and `second` ask the same of `join`. Only the first question has answers meet there,
    // which are not made the same as an insertion in `without` would depend on the divergent
    // branch.
    let source = "kernel k(x: ptr.global, o: ptr.global, n: u32) {
entry:
    t = mov.u32 %tid
    few = setp.lt.u32 t, 5
    br few, with, without
with:
    u = ld.global.u32 x[n]
    br join
without:
    u = mov.u32 0
    br join
join:
    big = setp.lt.u32 n, 3
    br big, first, second
first:
    v = ld.global.u32 x[n]
    br done
second:
    w = ld.global.u32 x[n]
    v = add.u32 w, 1
    br done
done:
    v = add.u32 v, u
    st.global.u32 o[t], v
    ret
}
";
    let module = laws::well_formed(source).expect("a program");
    let (_, remarks) = recorded(&module, "esrqp", &mut Journal::new());
    let refused: Vec<&String> = remarks.iter().filter(|remark| remark.contains("divergent")).collect();
    assert_eq!(refused.len(), 2, "one for each load: {remarks:?}");
}

#[test]
fn what_had_reached_nothing_yet_is_asked_again_when_something_has_changed() {
    // The question of `way` comes to `head` while it is under way in `turn`: nothing has been
    // reached yet, so `head` says no. Later the way through `turn` turns out to come by the load of
    // `way`, and `last` is right to ask once more.
    let source = "kernel k(n: u32, x: ptr.global restrict) {
    input again: pred uniform
entry:
    t = mov.u32 %tid
    k = add.s32 t, 3
    br head
head:
    switch v, start, last, draw
last:
    v = ld.global.u32 x[k + 2]
    ret
middle:
    u = ld.global.u32 x[i + 1]
    br few, last, draw
way:
    w = ld.global.u32 x[k + 2]
    v = ld.global.u32 x[i + 1]
    br compare
turn:
    br low, head, way
compare:
    few = setp.lt.u32 n, 6
    br start
start:
    i = mov.s32 t
    w = ld.global.u32 x[i + 1]
    br middle
draw:
    low = in.pred again
    br turn
}
";
    let module = laws::well_formed(source).expect("a program");
    let (text, remarks) = recorded(&module, "esrqp", &mut Journal::new());
    let last = text.split("last:").nth(1).and_then(|rest| rest.split("ret").next()).expect("it is still there");
    assert!(!last.contains("ld."), "the load of `last` goes away: {last} {remarks:?}");
}

#[test]
fn a_load_moves_to_no_block_whose_way_ends_before_it() {
    // `latch` learns of `join` while `join` is still under way, and later asks again. The load
    // stays at `join`, since `change` cannot take it; what `join` would have sent further up, to
    // `head` and `entry`, is no business of `latch`.
    let source = "\
kernel k(a: ptr.global) {
entry:
    g = and.b32 %tid, 7
    p = setp.lt.u32 %tid, 16
    br head
head:
    br p, out, body
body:
    br p, change, keep
change:
    g = add.u32 g, 1
    br join
keep:
    br join
join:
    br p, use, more
more:
    br latch
latch:
    br p, use, head
use:
    x = ld.global.f32 a[g]
    st.global.f32 a[g], x
    ret
out:
    ret
}
";
    let text = print(&optimised(&check(source).module, "ssrqp[cost=paper]"));
    let loads = |block: &str| {
        let behind = text.split(&format!("{block}:\n")).nth(1).unwrap_or_else(|| panic!("no `{block}` in {text}"));
        behind.lines().take_while(|line| line.starts_with(' ')).filter(|line| line.contains("ld.")).count()
    };
    assert_eq!(loads("join"), 1, "{text}");
    assert_eq!(text.matches("ld.").count(), 1, "{text}");
}

/// Loads under divergent branches, one behind the other: each question goes all the way up.
fn loads_in_a_row(count: usize) -> Module {
    let one = |at: usize| {
        format!(
            "n{at}:\n    br p, l{at}, n{next}\nl{at}:\n    x = ld.global.s32 a[{at}]\n    y = add.s32 y, x\n    br \
             n{next}\n",
            next = at + 1
        )
    };
    let row: String = (0..count).map(one).collect();
    check(&format!(
        "kernel k(a: ptr.global) {{\nentry:\n    p = setp.lt.u32 %tid.x, 16\n    y = 0\n    br \
         n0\n{row}n{count}:\n    st.global.s32 a[0], y\n    ret\n}}\n"
    ))
    .module
}

#[test]
fn what_is_done_does_not_depend_on_who_listens_even_where_no_more_is_looked_at() {
    let mut exhausted = 0;
    for (program, module) in
        [("a row", loads_in_a_row(1500)), ("a sample", check(&sample::programs(20_000, 1)[0]).module)]
    {
        for pass in [
            "srqp",
            "esrqp",
            "ssrqp-s",
            "ssrqp[cost=paper]",
            "ssrqp[cost=paper,divergence=all,partial_speculation=true]",
        ] {
            let (heard, remarks) = recorded(&module, pass, &mut Journal::new());
            exhausted += usize::from(remarks.iter().any(|remark| remark.contains("\"budget\"")));
            assert!(heard == print(&optimised(&module, pass)), "{pass} on {program}");
        }
    }
    assert!(exhausted > 0, "no budget is used up");
}

/// Number of steps of questions that a journal keeps.
fn questions(journal: &Journal) -> usize {
    let asked = (0..journal.passes().len()).flat_map(|pass| journal.inquiries(pass));
    asked.filter(|moment| matches!(moment, Inquiry::Question(..))).count()
}

#[test]
fn journal_full_of_questions_keeps_rewrites_and_refusals() {
    for (pass, figure) in
        [("preqp", figure("figure-2")), ("srqp", figure("figure-4")), ("ssrqp[cost=paper]", figure("figure-5"))]
    {
        let mut empty = Journal::new();
        let expected = recorded(&figure, pass, &mut empty);
        assert!(questions(&empty) > 0, "{pass} asks");
        let mut full = Journal::new();
        full.begin_pass("one that asks much");
        full.enter(figure.kernels().next().expect("a kernel"));
        for id in 0..MAX_DETAILS as u32 {
            full.record(Event::Question(QuestionEvent::Ended {
                id,
                answer: Answer::Anticipated(false),
                because: None,
                refusal: None,
            }));
        }
        assert_eq!(recorded(&figure, pass, &mut full), expected, "{pass}");
        assert_eq!(questions(&full), MAX_DETAILS);
    }
}

#[test]
fn bounds_prove_some_loads_good_and_others_not() {
    let mut runner = TestRunner::deterministic();
    let (mut proved, mut marked) = (0, 0);
    for _ in 0..400 {
        let recipe = bounded().new_tree(&mut runner).expect("the strategy rejects nothing").current();
        let module = laws::well_formed(&bounded::program(&recipe)).expect("a program");
        let text = print(&optimised(&module, "ssrqp[cost=paper,overflow=prove]"));
        let (before, _) = text.split_once("load:\n").expect("the block is still there");
        proved += u32::from(before.contains("= ld.const.u32 table"));
        marked += u32::from(before.contains("= ld.const.spec.u32 table"));
    }
    assert!(proved > 40 && marked > 40, "{proved} proved and {marked} marked");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_load_that_is_not_marked_never_faults(recipe in bounded()) {
        let source = bounded::program(&recipe);
        let before = laws::well_formed(&source).map_err(TestCaseError::fail)?;
        let mut memory = laws::Memory::of(&before, false);
        holds(&source, VARIANTS_WITH_BOUNDS, |module, steps| {
            memory.is_the_same_after(&laws::run_silently(module, steps, false))
        })?;
    }

    #[test]
    fn memory_stays_as_it_was_with_what_was_measured(recipe in subscripts()) {
        holds(&subscripts::program(&recipe), VARIANTS_OF_PROFILES, |module, steps| {
            let module = measured(module, &settings(&[]));
            laws::every_step_is_sound(&module, steps, false)?;
            laws::memory_is_the_same(&module, &laws::run_silently(&module, steps, false), false)
        })?;
    }

    #[test]
    fn what_costs_decide_makes_warps_load_no_more_than_before(recipe in subscripts()) {
        // On this machine every instruction takes a cycle and waits for nothing, so that cycles are executions.
        let counting = ["ssrqp[cost=machine,machine=unit,down_safety=exact]"];
        holds(&subscripts::program(&recipe), &counting, |module, steps| {
            let module = measured(module, &settings(&[]));
            let (before, after) =
                (run(&module, &settings(&[])), run(&laws::run_silently(&module, steps, false), &settings(&[])));
            if after.global_loads > before.global_loads {
                return Err(format!("{} loads become {}", before.global_loads, after.global_loads));
            }
            Ok(())
        })?;
    }

    #[test]
    fn memory_stays_as_it_was(recipe in subscripts()) {
        let source = subscripts::program(&recipe);
        let before = laws::well_formed(&source).map_err(TestCaseError::fail)?;
        let mut memory = laws::Memory::of(&before, false);
        holds(&source, VARIANTS, |module, steps| {
            memory.is_the_same_after(&laws::run_silently(module, steps, false))
        })?;
    }

    #[test]
    fn every_step_is_a_good_program_and_can_be_taken_back(recipe in subscripts()) {
        holds(&subscripts::program(&recipe), VARIANTS, |module, steps| {
            laws::every_step_is_sound(module, steps, false).map(drop)
        })?;
    }

    #[test]
    fn where_only_the_inserted_form_justifies_insertions_no_thread_loads_more(recipe in subscripts()) {
        let source = subscripts::program(&recipe);
        let exact = ["srqp[down_safety=exact]", "esrqp[down_safety=exact]"];
        holds(&source, &exact, |module, steps| {
            // With one lane a warp, what a thread loads is what its warp loads.
            let alone = settings(&["block=1"]);
            let (before, after) = (run(module, &alone), run(&laws::run_silently(module, steps, false), &alone));
            if after.global_loads > before.global_loads {
                return Err(format!("{} loads become {}", before.global_loads, after.global_loads));
            }
            Ok(())
        })?;
    }
}

/// The paper's rules move a load up in front of a divergent branch whatever its sides do, here one
/// that few lanes take: all lanes load then. With costs, a profile tells that this does not pay.
#[test]
fn loads_behind_a_guard_move_up_by_the_papers_rules_and_stay_by_costs() {
    let source = "kernel k(n: u32, x: ptr.global, o: ptr.global) {\nentry:\n    i = mad.u32 %ctaid, %ntid, %tid\n    \
         j = shl.b32 i, 6\n    s = mov.u32 0\n    p = setp.lt.u32 i, n\n    br p, a, b\na:\n    v = ld.global.u32 \
         x[j]\n    \
         s = add.u32 s, v\n    br b\nb:\n    q = setp.lt.u32 j, n\n    br q, c, d\nc:\n    w = ld.global.u32 x[j + \
         1]\n    \
         s = add.u32 s, w\n    br d\nd:\n    st.global.u32 o[i], s\n    ret\n}\n\
         launch k {\n    grid 4\n    block 64\n    n = 2\n    x = buffer u32[16384] iota\n    o = buffer u32[256] \
         const 0\n}\n";
    let module = laws::well_formed(source).expect("a program");
    let settings = Settings::default();
    let loads = |module: &Module| {
        let result = run(module, &settings);
        (result.global_loads, result.global_load_transactions)
    };
    let before = loads(&module);
    assert_eq!(before, (2, 3));
    assert_eq!(loads(&optimised(&module, "ssrqp[cost=paper]")), (16, 512));
    assert_eq!(loads(&optimised(&measured(&module, &settings), "ssrqp[cost=machine]")), before);
}
