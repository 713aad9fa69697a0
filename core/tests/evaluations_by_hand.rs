//! Partial redundancy elimination against counting: every path of small programs without loops is
//! executed before and after, and the evaluations of an expression are counted on each. Beside the
//! pass stand textbook solutions that share nothing with it: busy code motion, and the best
//! placement of all by trying every one. The same graphs in a loop, which lanes go round on ways of
//! their own, have to compute what they did.

use proptest::prelude::*;
use warpscope_core::ir::Module;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::session::{Options, Session};
use warpscope_core::trace::{Fact, RemarkKind};
use warpscope_testkit::laws;
use warpscope_testkit::small_graphs::{self, Steps, issues, paths, targets, write_blocks, write_profile};

/// Cycles of an evaluation: so many that all other instructions together count for less.
const CYCLES: u64 = 10_000;

/// Action of a node on the expression, besides its branch.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Nothing,
    Evaluates,
    ChangesOperand,
    EvaluatesAndChanges,
    ChangesAndEvaluates,
    EvaluatesTwice,
}

impl Kind {
    /// Does it evaluate before it changes anything?
    fn first(self) -> bool {
        matches!(self, Kind::Evaluates | Kind::EvaluatesAndChanges | Kind::EvaluatesTwice)
    }

    /// Is what it evaluates last still true at its end?
    fn last(self) -> bool {
        matches!(self, Kind::Evaluates | Kind::ChangesAndEvaluates | Kind::EvaluatesTwice)
    }

    /// Does it change nothing?
    fn is_transparent(self) -> bool {
        matches!(self, Kind::Nothing | Kind::Evaluates | Kind::EvaluatesTwice)
    }
}

type Graph = Vec<(Kind, usize, usize)>;

fn graphs() -> impl Strategy<Value = Graph> {
    let kind = prop_oneof![
        5 => Just(Kind::Nothing),
        4 => Just(Kind::Evaluates),
        1 => Just(Kind::ChangesOperand),
        1 => Just(Kind::EvaluatesAndChanges),
        1 => Just(Kind::ChangesAndEvaluates),
        1 => Just(Kind::EvaluatesTwice),
    ];
    prop::collection::vec((kind, 1..4usize, 1..4usize), 3..10)
}

fn steps(graph: &Graph) -> Steps {
    graph.iter().map(|&(_, first, second)| (first, second)).collect()
}

/// Body of a node. Results have one of three names, so that values also die.
fn body(kind: Kind, node: usize, cycles: u64, change: &str) -> String {
    let name = node % 3;
    let evaluate = format!("    v{name} = work.u32 {cycles}, a\n    y = mad.u32 y, 3, v{name}\n");
    let change = format!("    a = {change}\n");
    match kind {
        Kind::Nothing => String::new(),
        Kind::Evaluates => evaluate,
        Kind::ChangesOperand => change,
        Kind::EvaluatesAndChanges => evaluate + &change,
        Kind::ChangesAndEvaluates => change + &evaluate,
        Kind::EvaluatesTwice => evaluate.clone() + &evaluate,
    }
}

/// The program, with how often each path is declared to be executed.
fn program(graph: &Graph, frequencies: &[u64]) -> String {
    let mut text = String::from(
        "kernel k(choices: u32, o: ptr.global restrict) {\nstart:\n    a = mov.u32 7\n    y = mov.u32 1\n    br n0\n",
    );
    let steps = steps(graph);
    write_blocks(&mut text, &steps, |node| body(graph[node].0, node, CYCLES, "add.u32 a, 5"));
    text.push_str("end:\n    st.global.u32 o[0], y\n    ret\n");
    write_profile(&mut text, &steps, "start", frequencies);
    text.push_str(
        "}\n\nlaunch k {\n    grid 1\n    block 1\n    warp 8\n    choices = 0\n    o = buffer u32[1] const 0\n}\n",
    );
    text
}

/// The program after a pass, with what the pass says that speculation saves in all.
fn after(module: &Module, pipeline: &str) -> (Module, f64) {
    let steps = parse_pipeline(pipeline).expect("a pipeline");
    let session = Session::open(module.clone(), &Options { steps, ..Options::default() }, &mut || 0);
    let mut saved = 0.0;
    for event in session.journal().events().iter().filter(|event| event.remark.kind == RemarkKind::Applied) {
        let fact = |name: &str| event.remark.facts.iter().find(|(fact, _)| *fact == name).map(|(_, fact)| fact);
        if let (Some(Fact::Number(lost)), Some(Fact::Number(gained))) =
            (fact("executions_lost"), fact("executions_gained"))
        {
            saved += lost - gained;
        }
    }
    (session.module().clone(), saved)
}

/// How often each path evaluates after busy code motion, which brings every evaluation as far
/// forward as it is safe: no other safe placement evaluates less on any path.
fn by_busy_code_motion(graph: &Graph) -> Vec<i64> {
    let steps = steps(graph);
    let count = graph.len();
    let kind = |node: usize| if node == count { Kind::Nothing } else { graph[node].0 };
    let next = |node: usize| if node == count { vec![] } else { targets(&steps, node).to_vec() };
    // Without loops one walk each way is enough. Critical edges need no nodes here: what would be
    // put on them is counted by edges.
    let mut is_safe_in = vec![false; count + 1];
    let mut is_safe_out = vec![false; count + 1];
    for node in (0..=count).rev() {
        is_safe_out[node] = !next(node).is_empty() && next(node).iter().all(|&next| is_safe_in[next]);
        is_safe_in[node] = kind(node).first() || kind(node).is_transparent() && is_safe_out[node];
    }
    // After the motion every entry has the value where an evaluation is safe, which is made on the
    // edges that lack it, and where all edges bring it.
    let mut has_value = vec![true; count + 1];
    has_value[0] = false;
    let leaves =
        |node: usize, comes: bool| kind(node).last() || kind(node).is_transparent() && (comes || is_safe_in[node]);
    let mut is_reached = vec![false; count + 1];
    is_reached[0] = true;
    for node in 0..count {
        let leaves = leaves(node, has_value[node]);
        if is_reached[node] {
            for to in next(node) {
                has_value[to] &= leaves;
                is_reached[to] = true;
            }
        }
    }
    let walk = |(path, _): &(Vec<usize>, u64)| {
        let comes =
            |place: usize| place.checked_sub(1).is_some_and(|before| leaves(path[before], has_value[path[before]]));
        let is_evaluated = |place: usize| is_safe_in[path[place]] && !comes(place);
        let inserted = (0..path.len()).filter(|&place| is_evaluated(place)).count();
        let stays = path.iter().filter(|&&node| kind(node) == Kind::ChangesAndEvaluates).count();
        (inserted + stays) as i64
    };
    paths(&steps).iter().map(walk).collect()
}

/// The fewest evaluations that any placement makes of all executions. A placement says at which
/// nodes' entries the value is held; it is evaluated on edges that come there without it, and by
/// nodes that need it and do not have it.
fn fewest(graph: &Graph, frequencies: &[u64]) -> i64 {
    let steps = steps(graph);
    let count = graph.len();
    let mut of_edge = vec![vec![0i64; count + 1]; count + 1];
    let mut of_node = vec![0i64; count + 1];
    for ((path, _), &frequency) in paths(&steps).iter().zip(frequencies.iter().cycle()) {
        path.iter().for_each(|&node| of_node[node] += frequency as i64);
        path.windows(2).for_each(|edge| of_edge[edge[0]][edge[1]] += frequency as i64);
    }
    let kind = |node: usize| if node == count { Kind::Nothing } else { graph[node].0 };
    let total = |held: u32| {
        let is_held = |node: usize| node > 0 && held >> node & 1 == 1;
        let leaves =
            |node: usize| kind(node).last() || kind(node).is_transparent() && (is_held(node) || kind(node).first());
        let mut total = 0;
        for node in 0..=count {
            if kind(node).first() && !is_held(node) {
                total += of_node[node];
            }
            if kind(node) == Kind::ChangesAndEvaluates {
                total += of_node[node];
            }
            if !leaves(node) {
                total += of_edge[node]
                    .iter()
                    .enumerate()
                    .filter(|&(to, _)| is_held(to))
                    .map(|(_, times)| times)
                    .sum::<i64>();
            }
        }
        total
    };
    (0..1u32 << (count + 1)).map(total).min().expect("a placement")
}

/// Checks that speculation saves as much as it announces, and no more than the best placement would.
fn saves_what_it_says(graph: &Graph, frequencies: &[u64]) -> Result<(), TestCaseError> {
    let source = program(graph, frequencies);
    let module = laws::well_formed(&source).map_err(TestCaseError::fail)?;
    let (plain, _) = after(&module, "spec-pre[speculation=false]");
    let (moved, said) = after(&module, "spec-pre[cost=path,fp=1,machine=unit]");
    let weighed = |module: &Module| -> i64 {
        let counts = issues(module, &steps(graph), CYCLES);
        counts.iter().zip(frequencies.iter().cycle()).map(|(count, &frequency)| count * frequency as i64).sum()
    };
    let (before, after) = (weighed(&plain), weighed(&moved));
    let text = warpscope_core::text::print(&moved);
    prop_assert_eq!((before - after) as f64, said, "{}\nafter:\n{}", source, text);
    let fewest = fewest(graph, frequencies);
    prop_assert!(after >= fewest, "{} evaluations, and there cannot be fewer than {}:\n{}", after, fewest, source);
    Ok(())
}

/// Ahead of `n5` nothing pays while `n3` stops evaluations, and once `n4` has opened it the one that passes `n5` is for
/// nothing.
#[test]
fn what_did_not_pay_is_looked_at_again() {
    use Kind::{ChangesOperand, Evaluates, EvaluatesTwice, Nothing};
    let kinds = [ChangesOperand, Evaluates, Nothing, Nothing, Nothing, Nothing, EvaluatesTwice, Nothing];
    let steps = [(3, 1), (1, 2), (1, 1), (1, 2), (3, 2), (2, 1), (1, 2), (1, 1)];
    let graph: Graph = kinds.into_iter().zip(steps).map(|(kind, (first, second))| (kind, first, second)).collect();
    let taken = |path: &[usize]| match path {
        [0, 1, 2, 3, 4, 7, 8] | [0, 3, 5, 7, 8] => 22,
        [0, 1, 3, 4, 6, 8] => 33,
        [0, 1, 3, 5, 6, 8] => 1,
        _ => 0,
    };
    let frequencies: Vec<u64> = paths(&self::steps(&graph)).iter().map(|(path, _)| taken(path)).collect();
    assert_eq!(frequencies.iter().sum::<u64>(), 78);
    saves_what_it_says(&graph, &frequencies).unwrap_or_else(|why| panic!("{why}"));
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(
            std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
        )
    })]

    #[test]
    fn without_speculation_every_path_evaluates_as_seldom_as_is_safe(graph in graphs()) {
        let source = program(&graph, &[1]);
        let module = laws::well_formed(&source).map_err(TestCaseError::fail)?;
        let (moved, said) = after(&module, "spec-pre[speculation=false]");
        prop_assert_eq!(said, 0.0);
        let found = issues(&moved, &steps(&graph), CYCLES);
        prop_assert_eq!(&found, &by_busy_code_motion(&graph), "{}", source);
        for (before, after) in issues(&module, &steps(&graph), CYCLES).into_iter().zip(found) {
            prop_assert!(after <= before, "{} evaluations become {}:\n{}", before, after, source);
        }
    }

    #[test]
    fn what_speculation_is_said_to_save_is_what_it_saves(
        graph in graphs(),
        frequencies in prop::collection::vec(0..100u64, 1..20),
    ) {
        saves_what_it_says(&graph, &frequencies)?;
    }

    #[test]
    fn in_a_loop_the_same_is_computed(graph in graphs(), seed in 0..8u64, fp in 0.3..1.0f64) {
        let start = "    a = mov.u32 2\n    y = mov.u32 3\n";
        let source = small_graphs::looping(&steps(&graph), start, |node| {
            body(graph[node].0, node, 100, "add.u32 a, trip")
        });
        let variants = ["speculation=false", "cost=path,machine=unit", "cost=warp", "cost=warp,machine=unit"];
        let pipelines = variants.map(|variant| format!("spec-pre[{variant},fp={fp:.2}]"));
        let pipelines = pipelines.each_ref().map(String::as_str);
        laws::are_sound_with_profile(&pipelines, &source, seed).map_err(TestCaseError::fail)?;
    }
}
