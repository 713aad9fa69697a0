//! Partial dead code elimination against counting: every path of small programs without loops is executed before and after,
//! and the statement that sinks is counted on each. The same graphs in a loop, which lanes go round on ways of their own, have
//! to compute what they did.

use proptest::prelude::*;
use std::fmt::Write;
use warpscope_core::edit::{Fact, RemarkKind};
use warpscope_core::ir::{Module, Profile};
use warpscope_core::machine::Machine;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::profile::declare;
use warpscope_core::report::measure;
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::{Knob, Progress, Settings, Simulation};
use warpscope_testkit::laws;

/// Cycles of the statement: so many that all others together count for less.
const CYCLES: u64 = 10_000;

/// What a node of the graph does with x, besides deciding where to go.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Nothing,
    Uses,
    DefinesOtherwise,
    ChangesOperand,
    Statement,
    Stores,
    StoresElsewhere,
}

/// Nodes in order; each goes on to one or two later ones, given as steps.
type Graph = Vec<(Kind, usize, usize)>;

fn graphs() -> impl Strategy<Value = Graph> {
    graphs_with(0)
}

/// Graphs in which memory is written so often.
fn graphs_with(stores: u32) -> impl Strategy<Value = Graph> {
    let kind = prop_oneof![
        stores => Just(Kind::Stores),
        stores => Just(Kind::StoresElsewhere),
        5 => Just(Kind::Nothing),
        2 => Just(Kind::Uses),
        2 => Just(Kind::DefinesOtherwise),
        1 => Just(Kind::ChangesOperand),
        2 => Just(Kind::Statement),
    ];
    prop::collection::vec((kind, 1..4usize, 1..4usize), 3..10)
}

/// Where a node goes: the end is a node as well.
fn targets(graph: &Graph, node: usize) -> [usize; 2] {
    let (_, first, second) = graph[node];
    [first, second].map(|step| (node + step).min(graph.len()))
}

/// Every path, as nodes with the choices that lead along it. A node's choice is the bit of its number.
fn paths(graph: &Graph) -> Vec<(Vec<usize>, u64)> {
    let mut found = Vec::new();
    let mut work = vec![(vec![0], 0u64)];
    while let Some((path, choices)) = work.pop() {
        let last = *path.last().expect("a node");
        if last == graph.len() {
            found.push((path, choices));
            continue;
        }
        let [first, second] = targets(graph, last);
        let and = |next: usize| path.iter().copied().chain([next]).collect::<Vec<_>>();
        work.push((and(first), choices | 1 << last));
        if second != first {
            work.push((and(second), choices));
        }
    }
    found.sort();
    found
}

/// The program, with how often each path is declared to be executed.
fn program(graph: &Graph, frequencies: &[u64]) -> String {
    let mut text = String::from(
        "kernel k(choices: u32, o: ptr.global restrict) {\n    input other: f32\nstart:\n    x = in.f32 other\n    \
         a = in.f32 other\n    y = in.f32 other\n    br n0\n",
    );
    let name = |node: usize| if node == graph.len() { "end".to_owned() } else { format!("n{node}") };
    for (node, &(kind, ..)) in graph.iter().enumerate() {
        writeln!(text, "n{node}:").expect("text grows");
        text.push_str(match kind {
            Kind::Nothing => "",
            Kind::Uses => "    st.global.f32 o[0], x\n",
            Kind::DefinesOtherwise => "    x = in.f32 other\n",
            Kind::ChangesOperand => "    a = in.f32 other\n",
            Kind::Statement => "    x = work.f32 10000, a\n",
            Kind::Stores | Kind::StoresElsewhere => unreachable!("this statement reads no memory"),
        });
        let [first, second] = targets(graph, node);
        if first == second {
            writeln!(text, "    br {}", name(first)).expect("text grows");
        } else {
            writeln!(
                text,
                "    c{node} = and.b32 choices, {}\n    p{node} = setp.ne.u32 c{node}, 0\n    br p{node}, {}, {}",
                1 << node,
                name(first),
                name(second)
            )
            .expect("text grows");
        }
    }
    text.push_str("end:\n    st.global.f32 o[0], y\n    ret\n    profile path {\n");
    for ((path, _), frequency) in paths(graph).iter().zip(frequencies.iter().cycle()) {
        let names: Vec<String> = path.iter().map(|&node| name(node)).collect();
        writeln!(text, "        start {}: {frequency}", names.join(" ")).expect("text grows");
    }
    text.push_str("    }\n}\n\nlaunch k {\n    grid 1\n    block 1\n    warp 8\n    choices = 0\n    o = buffer f32[1] const 0\n}\n");
    text
}

/// The same graph in a loop: each thread goes round four times, on ways that a buffer tells. What sinks is a computation, or a
/// load of what some nodes store.
fn looping(graph: &Graph, is_load: bool) -> String {
    let mut text = String::from(
        "kernel k(ways: ptr.global restrict, o: ptr.global restrict, m: ptr.global, q: ptr.global restrict) {\nstart:\n    i = mov.u32 %tid\n    \
         x = mov.u32 1\n    a = mov.u32 2\n    y = mov.u32 3\n    trip = mov.u32 0\n    br head\nhead:\n    \
         choices = ld.global.u32 ways[4*i + trip]\n    br n0\n",
    );
    let name = |node: usize| if node == graph.len() { "end".to_owned() } else { format!("n{node}") };
    for (node, &(kind, ..)) in graph.iter().enumerate() {
        writeln!(text, "n{node}:").expect("text grows");
        text.push_str(match kind {
            Kind::Nothing => "",
            Kind::Uses => "    y = mad.u32 y, 3, x\n",
            Kind::DefinesOtherwise => "    x = work.u32 90, trip\n",
            Kind::ChangesOperand if is_load => "    a = mov.u32 trip\n",
            Kind::ChangesOperand => "    a = add.u32 a, trip\n",
            Kind::Statement if is_load => "    x = ld.global.u32 m[4*i + a]\n",
            Kind::Statement => "    x = work.u32 100, a\n",
            Kind::Stores => "    st.global.u32 m[4*i + trip], y\n",
            Kind::StoresElsewhere => "    st.global.u32 q[4*i + trip], y\n",
        });
        let [first, second] = targets(graph, node);
        if first == second {
            writeln!(text, "    br {}", name(first)).expect("text grows");
        } else {
            let (first, second) = (name(first), name(second));
            let choice =
                format!("    c{node} = and.b32 choices, {}\n    p{node} = setp.ne.u32 c{node}, 0\n", 1 << node);
            writeln!(text, "{choice}    br p{node}, {first}, {second}").expect("text grows");
        }
    }
    text.push_str(
        "end:\n    trip = add.u32 trip, 1\n    again = setp.lt.u32 trip, 4\n    br again, head, out\nout:\n    \
         st.global.u32 o[i], y\n    ret\n}\n\nlaunch k {\n    grid 1\n    block 24\n    warp 8\n    \
         ways = buffer u32[96] random(0, 1023)\n    o = buffer u32[24] const 0\n    \
         m = buffer u32[96] random(0, 1023)\n    q = buffer u32[96] random(0, 1023)\n}\n",
    );
    text
}

/// How often the statement is issued on each path, with a predicate or without.
fn counted(module: &Module, graph: &Graph) -> Vec<i64> {
    let kernel = module.kernels().next().expect("a kernel");
    let count = |choices: u64| {
        let choices = Knob::Value(warpscope_core::ir::Number::Int(choices.into()));
        let settings = Settings { knobs: vec![("choices".to_owned(), choices)], ..Settings::default() };
        let mut simulation: Simulation =
            Simulation::new(module, kernel, &module.launches[0], &settings, Machine::Unit).expect("a launch that fits");
        while simulation.run(1_000_000).expect("a run without errors") == Progress::Running {}
        (simulation.result().cycles / CYCLES) as i64
    };
    paths(graph).iter().map(|&(_, choices)| count(choices)).collect()
}

/// The program after a pass, with what the pass says that executions with a predicate save in all.
fn after(module: &Module, pipeline: &str) -> (Module, f64, usize) {
    let steps = parse_pipeline(pipeline).expect("a pipeline");
    let session = Session::open(module.clone(), &Options { steps, ..Options::default() }, &mut || 0);
    let mut saved = 0.0;
    let mut predicated = 0;
    for event in session.journal().events().iter().filter(|event| event.remark.kind == RemarkKind::Applied) {
        let fact = |name: &str| event.remark.facts.iter().find(|(fact, _)| *fact == name).map(|(_, fact)| fact);
        if let (true, Some(Fact::Number(lost)), Some(Fact::Number(gained))) =
            (event.remark.message.contains("work"), fact("executions_lost"), fact("executions_gained"))
        {
            saved += lost - gained;
            predicated += 1;
        }
    }
    (session.module().clone(), saved, predicated)
}

/// Whatever decides, and whatever paths are known.
fn loops_compute_the_same(source: &str, seed: u64, fp: f64) -> Result<(), TestCaseError> {
    let fail = |broken: String| TestCaseError::fail(format!("{broken}\n{source}"));
    let mut module = laws::well_formed(source).map_err(fail)?;
    let kernel = module.kernels().next().expect("a kernel");
    let settings = Settings { seed: Some(seed), ..Settings::default() };
    let counted = measure(&module, kernel, &settings, Machine::Unit, &mut || true).expect("a run without errors");
    declare(&mut module, &counted);
    let mut memory = laws::Memory::of(&module, false);
    let mut estimated = module.clone();
    let profiles = &mut estimated.funcs[kernel].profiles;
    profiles.retain(|profile| !matches!(profile, Profile::Path(_)));
    let variants = ["cost=path,machine=unit", "cost=path,rule=printed", "cost=warp", "cost=warp,machine=unit"];
    for (variant, module) in variants.iter().flat_map(|variant| [(variant, &module), (variant, &estimated)]) {
        let steps = parse_pipeline(&format!("pde[{variant},fp={fp:.2}]")).expect("a pipeline");
        let told = |broken| fail(format!("{variant}: {broken}"));
        let session = laws::every_step_is_sound(module, &steps, false).map_err(told)?;
        memory.is_the_same_after(session.module()).map_err(told)?;
        laws::a_second_run_finds_nothing(module, &steps, false).map_err(told)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(
            std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
        )
    })]

    #[test]
    fn no_path_executes_more_without_predicates(graph in graphs()) {
        let source = program(&graph, &[1]);
        let module = laws::well_formed(&source).map_err(TestCaseError::fail)?;
        let (sunk, _, predicated) = after(&module, "pde[predication=false]");
        prop_assert_eq!(predicated, 0);
        for (before, after) in counted(&module, &graph).into_iter().zip(counted(&sunk, &graph)) {
            prop_assert!(after <= before, "{} executions become {}:\n{}", before, after, source);
        }
    }

    #[test]
    fn in_a_loop_the_same_is_computed(graph in graphs(), seed in 0..8u64, fp in 0.3..1.0f64) {
        loops_compute_the_same(&looping(&graph, false), seed, fp)?;
    }

    #[test]
    fn in_a_loop_loads_read_the_same(graph in graphs_with(1), seed in 0..8u64, fp in 0.3..1.0f64) {
        loops_compute_the_same(&looping(&graph, true), seed, fp)?;
    }

    #[test]
    fn what_predicates_are_said_to_save_is_what_they_save(
        graph in graphs(),
        frequencies in prop::collection::vec(0..100u64, 1..20),
    ) {
        let source = program(&graph, &frequencies);
        let module = laws::well_formed(&source).map_err(TestCaseError::fail)?;
        let (plain, ..) = after(&module, "pde[predication=false]");
        let (sunk, said, _) = after(&module, "pde[cost=path,fp=1,machine=unit]");
        let weighed = |counts: Vec<i64>| -> i64 {
            counts.iter().zip(frequencies.iter().cycle()).map(|(count, &frequency)| count * frequency as i64).sum()
        };
        let (before, after) = (weighed(counted(&plain, &graph)), weighed(counted(&sunk, &graph)));
        prop_assert_eq!((before - after) as f64, said, "{}\nafter:\n{}", source, warpscope_core::text::print(&sunk));
    }
}
