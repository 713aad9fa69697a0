//! Paths that are estimated from counts of edges: their sums are the counts, and where the counts
//! leave one assignment open it is found.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use warpscope_core::graph::Cfg;
use warpscope_core::ir::{Block, Function, Module, Profile};
use warpscope_core::machine::Machine;
use warpscope_core::pass::pde::survey::{Question, executed_paths, survey};
use warpscope_core::pass::{Settings as PassSettings, parse_pipeline};
use warpscope_core::profile::declare;
use warpscope_core::report::measure;
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::Settings;
use warpscope_core::trace::Remark;
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::shades::{self, shades};
use warpscope_testkit::{emit, laws};

type Edges = BTreeMap<(Block, Block), u64>;
type Paths = Vec<(Vec<Block>, u64)>;

/// Nodes in order; each goes on to one or two later ones, given as steps.
type Graph = Vec<(usize, usize)>;

/// The program of a graph, and its nodes' successors.
fn program(graph: &Graph) -> (Module, Vec<Vec<usize>>) {
    let mut text = String::from("kernel k(p: u32) {\n");
    let name = |node: usize| if node == graph.len() { "end".to_owned() } else { format!("n{node}") };
    let mut successors = Vec::new();
    for (node, &(first, second)) in graph.iter().enumerate() {
        let [first, second] = [first, second].map(|step| (node + step).min(graph.len()));
        let jump = match first == second {
            true => format!("br {}", name(first)),
            false => format!("p{node} = setp.ne.u32 p, {node}\n    br p{node}, {}, {}", name(first), name(second)),
        };
        writeln!(text, "{}:\n    {jump}", name(node)).expect("text grows");
        successors.push(if first == second { vec![first] } else { vec![first, second] });
    }
    text.push_str("end:\n    ret\n}\n");
    successors.push(Vec::new());
    (laws::well_formed(&text).expect("a program"), successors)
}

/// The graph's function with these counts and no other profile.
fn with_edges(func: &Function, edges: &Edges) -> Function {
    let mut func = func.clone();
    func.profiles = vec![Profile::Edge(edges.iter().map(|(&(from, to), &count)| (from, to, count)).collect())];
    func
}

fn edges_of(paths: &[(Vec<Block>, u64)]) -> Edges {
    let mut edges = Edges::new();
    for (path, count) in paths {
        path.windows(2).for_each(|step| *edges.entry((step[0], step[1])).or_default() += count);
    }
    edges
}

/// The counts of edges forward are the sums of paths; as many go back as paths begin and end there.
fn explains(func: &Function, edges: &Edges) -> Result<(), TestCaseError> {
    let cfg = Cfg::compute(func);
    let goes_back: BTreeSet<(Block, Block)> =
        cfg.edges().filter(|&edge| cfg.is_retreating(edge)).map(|edge| (cfg.source(edge), cfg.target(edge))).collect();
    let paths = executed_paths(&with_edges(func, edges));
    let counted = |is_wanted: &dyn Fn(&(Block, Block)) -> bool| -> u64 {
        edges.iter().filter(|(edge, count)| **count > 0 && is_wanted(edge)).map(|(_, count)| *count).sum()
    };
    let found = edges_of(&paths);
    let is_forward = |edge: &&(Block, Block)| !goes_back.contains(*edge);
    for edge in edges.keys().chain(found.keys()).filter(is_forward) {
        let [counted, found] = [edges, &found].map(|edges| edges.get(edge).copied().unwrap_or(0));
        prop_assert_eq!(counted, found, "{:?} of {:?}", edge, paths);
    }
    for block in func.block_order() {
        let of = |is_here: &dyn Fn(&[Block]) -> bool| -> u64 {
            paths.iter().filter(|(path, _)| is_here(path)).map(|(_, count)| *count).sum()
        };
        let (begins, ends) = (of(&|path| path[0] == block), of(&|path| path.last() == Some(&block)));
        let come_back = counted(&|edge| goes_back.contains(edge) && edge.1 == block);
        let go_back = counted(&|edge| goes_back.contains(edge) && edge.0 == block);
        if !cfg.is_entry(block) {
            prop_assert_eq!(begins, come_back, "paths that begin in {}", block);
        }
        if !cfg.successors(block).is_empty() {
            prop_assert_eq!(ends, go_back, "paths that end in {}", block);
        }
    }
    Ok(())
}

/// Counts of a run of the program, and the function.
fn measured(source: &str, seed: u64) -> laws::Law<Vec<(Function, Edges)>> {
    let module = laws::well_formed(source)?;
    let kernel = module.kernels().next().ok_or("no kernel")?;
    let settings = Settings { seed: Some(seed), ..Settings::default() };
    let Ok(counted) = measure(&module, kernel, &settings, Machine::Ampere) else { return Ok(Vec::new()) };
    let edges = |edges: &BTreeMap<_, warpscope_core::profile::Count>| {
        edges.iter().map(|(&edge, count)| (edge, count.lanes)).collect()
    };
    let of_func = counted.iter().filter(|(func, _)| **func == kernel);
    Ok(of_func.map(|(&func, profile)| (module.funcs[func].clone(), edges(&profile.edges))).collect())
}

fn block(func: &Function, node: usize) -> Block {
    func.block_order().nth(node).expect("a block of the graph")
}

/// Walks through the graph, each as often as is said.
fn walks(func: &Function, successors: &[Vec<usize>], drawn: &[(u64, u64)]) -> Paths {
    let mut found: BTreeMap<Vec<Block>, u64> = BTreeMap::new();
    for &(mut choices, count) in drawn {
        let (mut node, mut path) = (0, vec![block(func, 0)]);
        while let Some(&next) = successors[node].get(choices as usize % successors[node].len().max(1)) {
            node = next;
            path.push(block(func, node));
            choices /= 2;
        }
        *found.entry(path).or_default() += count;
    }
    let mut found: Paths = found.into_iter().collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found
}

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

fn graphs() -> impl Strategy<Value = Graph> {
    prop::collection::vec((1..4usize, 1..4usize), 1..14)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn sums_are_the_counts(graph in graphs(), drawn in prop::collection::vec((any::<u64>(), 1..100_000u64), 1..30)) {
        let (module, successors) = program(&graph);
        let func = module.funcs.values().next().expect("a kernel");
        explains(func, &edges_of(&walks(func, &successors, &drawn)))?;
    }

    #[test]
    fn sums_are_what_was_measured(recipe in recipe(), seed in 0..4u64) {
        for (func, edges) in measured(&emit::program(&recipe), seed).map_err(TestCaseError::fail)? {
            explains(&func, &edges)?;
        }
    }

    #[test]
    fn sums_are_what_was_measured_of_shades(recipe in shades(), seed in 0..4u64) {
        for (func, edges) in measured(&shades::program(&recipe), seed).map_err(TestCaseError::fail)? {
            explains(&func, &edges)?;
        }
    }

    /// Checks graphs without branches after joins, in which counts leave nothing open.
    #[test]
    fn the_only_assignment_is_found(
        graph in graphs(),
        drawn in prop::collection::vec((any::<u64>(), 1..100_000u64), 1..4),
    ) {
        let (module, successors) = program(&graph);
        let func = module.funcs.values().next().expect("a kernel");
        let paths = walks(func, &successors, &drawn);
        let edges = edges_of(&paths);
        // How many ways along edges that were counted lead to each block; blocks of the graph are in order.
        let mut ways: BTreeMap<Block, usize> = BTreeMap::new();
        ways.insert(block(func, 0), 1);
        for node in func.block_order() {
            let so_far = ways.get(&node).copied().unwrap_or(0);
            edges.keys().filter(|edge| edge.0 == node).for_each(|edge| *ways.entry(edge.1).or_default() += so_far);
        }
        let branches = |node: &Block| edges.keys().filter(|edge| edge.0 == *node).count() > 1;
        let has_one = func.block_order().filter(branches).all(|node| ways.get(&node) == Some(&1));
        prop_assume!(has_one);
        prop_assert_eq!(executed_paths(&with_edges(func, &edges)), paths);
    }

    /// Whatever is declared, paths are paths.
    #[test]
    fn counts_that_contradict_each_other_do_no_harm(
        graph in graphs(),
        back in prop::collection::vec((0..14usize, 0..14usize), 0..3),
        counts in prop::collection::vec(prop_oneof![Just(0), 1..1000u64, Just(u64::MAX), any::<u64>()], 1..20),
    ) {
        let (module, _) = program(&graph);
        let mut func = module.funcs.values().next().expect("a kernel").clone();
        // Some branches go back.
        for (from, to) in back {
            let (from, to) = (block(&func, from % graph.len()), block(&func, to % graph.len()));
            let last = func.terminator(from).expect("a branch");
            if from > to && to != block(&func, 0) {
                *func.insts[last].targets_mut().last_mut().expect("a target") = to;
            }
        }
        let cfg = Cfg::compute(&func);
        let all = cfg.edges().map(|edge| (cfg.source(edge), cfg.target(edge)));
        let edges: Edges = all.zip(counts.iter().copied().cycle()).collect();
        let paths = executed_paths(&with_edges(&func, &edges));
        for (path, count) in &paths {
            prop_assert!(*count > 0 && !path.is_empty());
            prop_assert!(path.windows(2).all(|step| cfg.successors(step[0]).contains(&step[1])), "{:?}", path);
            let mut seen = path.clone();
            seen.sort();
            seen.dedup();
            prop_assert_eq!(seen.len(), path.len(), "a path is acyclic");
        }
    }
}

#[test]
fn branches_are_decided_each_by_itself() {
    let (module, successors) = program(&vec![(1, 2), (2, 2), (1, 1), (1, 2), (2, 2), (1, 1)]);
    let func = module.funcs.values().next().expect("a kernel");
    // Both first or both second: the edges do not say so.
    let paths = walks(func, &successors, &[(0b0000, 60), (0b101, 40)]);
    let found = executed_paths(&with_edges(func, &edges_of(&paths)));
    let counts: Vec<u64> = found.iter().map(|&(_, count)| count).collect();
    assert_eq!(counts, [36, 24, 24, 16], "{found:?}");
}

#[test]
fn many_branches_are_told_by_few_paths() {
    let diamonds = 60;
    let graph: Graph = (0..diamonds).flat_map(|_| [(1, 2), (2, 2), (1, 1)]).collect();
    let (module, _) = program(&graph);
    let func = module.funcs.values().next().expect("a kernel");
    let mut edges = Edges::new();
    for diamond in 0..diamonds {
        let at = |node: usize| block(func, 3 * diamond + node);
        let first = 1_000_000 + 137_911 * diamond as u64 % 7_000_000;
        for (from, to, count) in [(0, 1, first), (1, 3, first), (0, 2, 8_000_000 - first), (2, 3, 8_000_000 - first)] {
            edges.insert((at(from), at(to)), count);
        }
    }
    explains(func, &edges).expect("sums are counts");
    let paths = executed_paths(&with_edges(func, &edges));
    assert!(paths.len() < 600, "{}", paths.len());
    // How often two neighbours go the first way together is near what it is if each goes for itself.
    for diamond in 1..diamonds {
        let on = |diamond: usize, path: &[Block]| path.contains(&block(func, 3 * diamond + 1));
        let sum = |is_wanted: &dyn Fn(&[Block]) -> bool| {
            paths.iter().filter(|(path, _)| is_wanted(path)).map(|(_, count)| *count as f64 / 8e6).sum::<f64>()
        };
        let (one, other) = (sum(&|path| on(diamond - 1, path)), sum(&|path| on(diamond, path)));
        let both = sum(&|path| on(diamond - 1, path) && on(diamond, path));
        assert!((both - one * other).abs() < 0.08, "{diamond}: {both} and not {one} · {other}");
    }
}

/// The golden program, of which only edges are counted.
fn figure() -> Module {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pde/figure-1-edges.wir");
    let text = std::fs::read_to_string(path).expect("a text");
    laws::well_formed(text.split("// ----").next().expect("a program")).expect("a program")
}

fn remarks(module: &Module, pipeline: &str) -> Vec<Remark> {
    let steps = parse_pipeline(pipeline).expect("a pipeline");
    let session = Session::open(module.clone(), &Options { steps, ..Options::default() }, &mut || 0);
    session.journal().events().iter().map(|event| event.remark.clone()).collect()
}

#[test]
fn what_is_measured_is_not_estimated() {
    let mut module = figure();
    let rules = |module: &Module| -> Vec<&str> {
        remarks(module, "pde[cost=path,machine=unit]").iter().map(|remark| remark.rule).collect()
    };
    assert_eq!(rules(&module), ["estimated-paths", "sink"]);
    let kernel = module.kernels().next().expect("a kernel");
    let settings =
        PassSettings { knobs: parse_pipeline("pde").expect("a pipeline")[0].knob_values(), fast_math: false };
    let found = survey(&module, kernel, &settings, Question::default());
    assert!(found.estimated.is_some_and(|estimated| estimated.explained == estimated.counted && estimated.paths == 6));
    let counted = measure(&module, kernel, &Settings::default(), Machine::Unit).expect("a run");
    declare(&mut module, &counted);
    assert!(module.funcs[kernel].profiles.iter().any(|profile| matches!(profile, Profile::Edge(_))));
    assert_eq!(rules(&module), ["sink"]);
}

#[test]
fn edges_that_only_jump_need_not_be_counted() {
    let mut module = figure();
    let kernel = module.kernels().next().expect("a kernel");
    let all = executed_paths(&module.funcs[kernel]);
    for profile in &mut module.funcs[kernel].profiles {
        let Profile::Edge(edges) = profile else { continue };
        let mut leaving: BTreeMap<Block, usize> = BTreeMap::new();
        edges.iter().for_each(|&(from, ..)| *leaving.entry(from).or_default() += 1);
        edges.retain(|(from, ..)| leaving[from] > 1);
    }
    assert_eq!(executed_paths(&module.funcs[kernel]), all);
}
