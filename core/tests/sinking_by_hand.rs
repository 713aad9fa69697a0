//! Partial dead code elimination against counting: every path of small programs without loops is
//! executed before and after, and the statement that sinks is counted on each. The same graphs in a
//! loop, which lanes go round on ways of their own, have to compute what they did.

use proptest::prelude::*;
use warpscope_core::ir::Module;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::session::{Options, Session};
use warpscope_core::trace::{Fact, RemarkKind};
use warpscope_testkit::laws;
use warpscope_testkit::small_graphs::{self, Steps, issues, write_blocks, write_profile};

/// Cycles of the statement: so many that all others together count for less.
const CYCLES: u64 = 10_000;

/// Action of a node of the graph on x, besides its branch.
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

fn steps(graph: &Graph) -> Steps {
    graph.iter().map(|&(_, first, second)| (first, second)).collect()
}

/// The program, with how often each path is declared to be executed.
fn program(graph: &Graph, frequencies: &[u64]) -> String {
    let mut text = String::from(
        "kernel k(choices: u32, o: ptr.global restrict) {\n    input other: f32\nstart:\n    x = in.f32 other\n    \
         a = in.f32 other\n    y = in.f32 other\n    br n0\n",
    );
    let body = |node: usize| match graph[node].0 {
        Kind::Nothing => "",
        Kind::Uses => "    st.global.f32 o[0], x\n",
        Kind::DefinesOtherwise => "    x = in.f32 other\n",
        Kind::ChangesOperand => "    a = in.f32 other\n",
        Kind::Statement => "    x = work.f32 10000, a\n",
        Kind::Stores | Kind::StoresElsewhere => unreachable!("this statement reads no memory"),
    };
    let steps = steps(graph);
    write_blocks(&mut text, &steps, |node| body(node).to_owned());
    text.push_str("end:\n    st.global.f32 o[0], y\n    ret\n");
    write_profile(&mut text, &steps, "start", frequencies);
    text.push_str(
        "}\n\nlaunch k {\n    grid 1\n    block 1\n    warp 8\n    choices = 0\n    o = buffer f32[1] const 0\n}\n",
    );
    text
}

/// Kind of instruction that sinks out of a loop.
#[derive(Clone, Copy, PartialEq)]
enum Sinks {
    /// Computation so long that setting a predicate is negligible.
    Computation,
    /// Computation no longer than setting a predicate.
    Addition,
    /// A load of what some nodes store.
    Load,
}

/// Puts the graph in a loop.
fn looping(graph: &Graph, sinks: Sinks) -> String {
    let is_load = sinks == Sinks::Load;
    let body = |node: usize| match graph[node].0 {
        Kind::Nothing => "",
        Kind::Uses => "    y = mad.u32 y, 3, x\n",
        Kind::DefinesOtherwise => "    x = work.u32 90, trip\n",
        Kind::ChangesOperand if is_load => "    a = mov.u32 trip\n",
        Kind::ChangesOperand => "    a = add.u32 a, trip\n",
        Kind::Statement => match sinks {
            Sinks::Computation => "    x = work.u32 100, a\n",
            Sinks::Addition => "    x = add.u32 a, i\n",
            Sinks::Load => "    x = ld.global.u32 m[4*i + a]\n",
        },
        Kind::Stores => "    st.global.u32 m[4*i + trip], y\n",
        Kind::StoresElsewhere => "    st.global.u32 q[4*i + trip], y\n",
    };
    let start = "    x = mov.u32 1\n    a = mov.u32 2\n    y = mov.u32 3\n";
    small_graphs::looping(&steps(graph), start, |node| body(node).to_owned())
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
    let variants = ["cost=path,machine=unit", "cost=path,rule=printed", "cost=warp", "cost=warp,machine=unit"];
    let pipelines = variants.map(|variant| format!("pde[{variant},fp={fp:.2}]"));
    laws::are_sound_with_profile(&pipelines.each_ref().map(String::as_str), source, seed).map_err(TestCaseError::fail)
}

/// Paths that are equally frequent, of which only some are frequent by `fp`: they have to be the
/// same ones when a critical edge on them has been split, or else a second look finds what the
/// first refused.
#[test]
fn splitting_an_edge_leaves_the_frequent_paths() {
    let (stores, statement, uses) = (Kind::Stores, Kind::Statement, Kind::Uses);
    let graph: Graph = vec![
        (stores, 3, 1),
        (stores, 1, 2),
        (stores, 1, 1),
        (stores, 3, 2),
        (stores, 1, 1),
        (statement, 1, 2),
        (uses, 2, 2),
        (statement, 1, 1),
    ];
    loops_compute_the_same(&looping(&graph, Sinks::Computation), 5, 0.7822)
        .expect("the same is computed, and nothing is left");
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
        let [before, after] = [&module, &sunk].map(|module| issues(module, &steps(&graph), CYCLES));
        for (before, after) in before.into_iter().zip(after) {
            prop_assert!(after <= before, "{} executions become {}:\n{}", before, after, source);
        }
    }

    #[test]
    fn in_a_loop_the_same_is_computed(graph in graphs(), seed in 0..8u64, fp in 0.3..1.0f64) {
        loops_compute_the_same(&looping(&graph, Sinks::Computation), seed, fp)?;
    }

    /// Checks graphs in which the benefit of a join depends on the program's own predicates.
    #[test]
    fn in_a_loop_the_same_is_added(graph in graphs(), seed in 0..8u64, fp in 0.3..1.0f64) {
        loops_compute_the_same(&looping(&graph, Sinks::Addition), seed, fp)?;
    }

    #[test]
    fn in_a_loop_loads_read_the_same(graph in graphs_with(1), seed in 0..8u64, fp in 0.3..1.0f64) {
        loops_compute_the_same(&looping(&graph, Sinks::Load), seed, fp)?;
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
        let [before, after] = [&plain, &sunk].map(|module| weighed(issues(module, &steps(&graph), CYCLES)));
        prop_assert_eq!((before - after) as f64, said, "{}\nafter:\n{}", source, warpscope_core::text::print(&sunk));
    }
}
