//! Partial dead code elimination: what it must never do, on generated programs, with profiles that are right, wrong, or
//! missing.

use proptest::prelude::*;
use warpscope_core::ir::{
    Block, Func, Function, Inst, InstData, Module, Op, Opcode, Operand, Profile, Type, WarpCounts,
};
use warpscope_core::machine::Machine;
use warpscope_core::pass::pde::survey::{
    Join, JoinVerdict, Path, Predicate, Question, Spot, Survey, carried_out, survey,
};
use warpscope_core::pass::{Runner, Settings as PassSettings, parse_pipeline};
use warpscope_core::profile::declare;
use warpscope_core::report::measure;
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::Settings;
use warpscope_core::text::print;
use warpscope_core::trace::NoTrace;
use warpscope_testkit::figures::{cycles, figures, saves_what_is_foreseen};
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::shades::{self, shades};
use warpscope_testkit::{emit, generated_programs_are_sound, laws, paths, sample};

/// With and without predicates, by path and by warp, as printed, and in windows of which small programs have several.
const VARIANTS: &[&str] = &[
    "pde",
    "pde[cost=path,fp=0.8]",
    "pde[predication=false]",
    "pde[cost=path]",
    "pde[cost=path,machine=turing,fp=0.5]",
    "pde[cost=path,rule=printed]",
    "pde[window=1]",
    "pde[cost=path,window=5]",
];

/// The example that only the printed rule changes, for the worse.
const LOSES: &str = "printed-rule.wir";

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

fn is_sound(source: &str, seed: u64) -> Result<(), TestCaseError> {
    laws::are_sound_with_profile(VARIANTS, source, seed).map_err(TestCaseError::fail)
}

#[test]
fn figures_save_in_the_simulator_what_is_foreseen() {
    for (name, module) in figures("pde") {
        let saved = saves_what_is_foreseen(&name, &module, "pde[machine=unit]");
        assert_eq!(saved > 0.0, name != LOSES, "{name}: something is gained");
    }
}

/// Lets each branch ask a predicate of its own.
fn give_own_predicates(module: &mut Module) {
    for func in module.funcs.values_mut() {
        let blocks: Vec<Block> = func.block_order().collect();
        for block in blocks {
            let Some(branch) = func.terminator(block).filter(|&inst| func.insts[inst].opcode.op == Op::BrIf) else {
                continue;
            };
            let Operand::Reg(asked) = func.insts[branch].args[0] else { continue };
            let own = func.build_reg(func.fresh_reg_name("own"), Type::Pred);
            let copy = func.insts.push(InstData::new(Opcode::mov(Type::Pred), [own], [Operand::Reg(asked)]));
            func.insert_inst(copy, block, Some(branch));
            func.insts[branch].args[0] = Operand::Reg(own);
        }
    }
}

/// The module after passes.
fn after(module: &Module, pipeline: &str) -> Module {
    let steps = parse_pipeline(pipeline).expect("a pipeline");
    Session::open(module.clone(), &Options { steps, ..Options::default() }, &mut || 0).module().clone()
}

/// Instructions that lanes execute on the paths of a program's profile, but for those that only lead on.
fn executed(module: &Module) -> u128 {
    let of_block = |func: &Function, block: Block| {
        func.block_insts(block).filter(|&inst| !func.insts[inst].is_terminator()).count() as u128
    };
    let of_func = |func: &Function| -> u128 {
        let paths = func.profiles.iter().filter_map(|profile| match profile {
            Profile::Path(paths) => Some(paths),
            _ => None,
        });
        let length = |path: &[Block]| -> u128 { path.iter().map(|&block| of_block(func, block)).sum() };
        paths.flatten().map(|(path, count)| u128::from(*count) * length(path)).sum()
    };
    module.funcs.values().map(of_func).sum()
}

/// Checks a path that is seldom executed: it is blocked by one that never is, in a loop out of
/// which something could sink.
#[test]
fn next_to_nothing_is_lost_by_leaving_what_is_not_executed_alone() {
    let (mut before, mut by_frequent, mut by_all) = (0, 0, 0);
    for source in sample::programs(200, 100) {
        let module = laws::profiled(&source, 1).expect("a program that runs");
        let [frequent, all] = ["frequent", "all"]
            .map(|statements| format!("pde[machine=unit,cost=path,fp=1,statements={statements}]"))
            .map(|pipeline| executed(&after(&module, &pipeline)));
        before += executed(&module);
        by_frequent += frequent;
        by_all += all;
    }
    let (saved, could) = (before - by_frequent, before - by_all);
    assert!(saved * 1000 >= could * 999 && could * 100 > before, "{saved} of {could} of {before}");
}

#[test]
fn the_printed_rule_leaves_out_costs() {
    let (_, module) = figures("pde").into_iter().find(|(name, _)| name == LOSES).expect("the example");
    let [sound, printed] = ["sound", "printed"]
        .map(|rule| cycles(&after(&module, &format!("pde[machine=unit,cost=path,rule={rule}]"))) - cycles(&module));
    // A fifth of the executions that the profile says: 150 less, and 200 more.
    assert_eq!((sound, printed), (0.0, 10.0));
}

#[test]
fn a_predicate_is_set_once_and_cleared_twice_at_most() {
    let (_, module) = figures("pde").into_iter().find(|(name, _)| name == "figure-10.wir").expect("the example");
    let sunk = after(&module, "pde[machine=unit,cost=path]");
    let kernel = sunk.kernels().next().expect("a kernel");
    let func = &sunk.funcs[kernel];
    let predicated =
        func.block_order().flat_map(|block| func.block_insts(block)).find_map(|inst| func.insts[inst].guard);
    let predicate = predicated.expect("a predicated statement").reg;
    let counted = measure(&sunk, kernel, &Settings::default(), Machine::Unit).expect("a run");
    let paths = &counted[&kernel].paths;
    let mut found: Vec<(usize, usize)> = Vec::new();
    for path in paths.keys() {
        let assigned = path.iter().flat_map(|&block| func.block_insts(block)).map(|inst| &func.insts[inst]);
        let (set, cleared): (Vec<_>, Vec<_>) = assigned
            .filter(|data| data.dst() == Some(predicate))
            .map(|data| data.args[0].clone())
            .partition(|value| *value == Operand::Const(1));
        assert!(cleared.iter().all(|value| *value == Operand::Const(0)));
        found.push((set.len(), cleared.len()));
    }
    assert_eq!(found.len(), 12, "all ways are executed");
    found.sort();
    found.dedup();
    // Past n4 or with the statement, then past n7 or n8.
    assert_eq!(found, [(0, 1), (0, 2), (1, 0), (1, 1)]);
}

/// Figure 6 with threads that go round as these numbers say, and what was measured of it.
fn rounds(ways: &[u32]) -> Module {
    let (mut module, kernel) = figure("figure-6.wir");
    let text = print(&module);
    let (head, rest) = text.split_once("ways = buffer").expect("a buffer");
    let rest = rest.split_once('}').expect("its values").1;
    let numbers = ways.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let rest = rest.replace("f32[8]", &format!("f32[{}]", ways.len()));
    let text = format!("{head}ways = buffer u32[{}] {{ {numbers} }}{rest}", ways.len());
    module = laws::well_formed(&text.replace("block 8", &format!("block {}", ways.len()))).expect("a program");
    let counted = measure(&module, kernel, &Settings::default(), Machine::Unit).expect("a run");
    declare(&mut module, &counted);
    module
}

/// Remark about the join after which the loop of figure 6 ends: executions lost, as the paper counts them, and gained.
fn at_the_exit(module: &Module) -> Option<(f64, f64, f64)> {
    let kernel = module.kernels().next().expect("a kernel");
    let func = &module.funcs[kernel];
    let statement = func.block_order().flat_map(|block| func.block_insts(block)).find(|&inst| {
        let data = &func.insts[inst];
        data.opcode.op == Op::Mul && func.regs[data.dsts[0]].name == "x"
    });
    let question = Question { wanted: statement, ..Question::default() };
    let found = survey(module, kernel, &settings("pde[machine=unit,cost=path,fp=1]"), question);
    let joins = found.detail?.joins;
    let join = joins.iter().find(|join| func.blocks[join.block].name == "n5")?;
    let (weighed, printed) = (join.weighed?, join.printed?);
    Some((weighed.benefit_paths, printed.benefit_paths, weighed.cost_paths))
}

/// Checks the survey before each rewrite against the pass's actions and remarks.
fn survey_foretells(module: &Module, pipeline: &str) -> Result<usize, TestCaseError> {
    let steps = parse_pipeline(pipeline).expect("a pipeline");
    let settings = PassSettings { knobs: steps[0].knob_values(), fast_math: false };
    let mut session = Session::open(module.clone(), &Options { steps, ..Options::default() }, &mut || 0);
    let events = session.journal().events();
    let rewrites: Vec<usize> = (0..session.len()).filter(|&event| events[event].is_rewrite()).collect();
    // What is left of the round that is under way, and the blocks that there were when it began.
    let (mut round, mut blocks_then): (Vec<Vec<Inst>>, usize) = (Vec::new(), 0);
    let mut foretold = 0;
    for &event in &rewrites {
        session.seek(event);
        let event_data = &session.journal().events()[event];
        let (func, remark) = (event_data.func, event_data.remark.clone());
        let inst = remark.inst.expect("a rewrite is about an instruction");
        let question = Question { wanted: Some(inst), ..Question::default() };
        let found = survey(session.module(), func, &settings, question);
        let blocks = session.module().funcs[func].block_order().count();
        if round.is_empty() {
            round = found.round.iter().rev().map(|&place| found.statements[place].occurrences.clone()).collect();
            blocks_then = blocks;
        }
        let next = round.pop().unwrap_or_default();
        prop_assert!(next.contains(&inst), "{inst} sinks, and not one of {next:?}");
        // Where an edge has been split since, nodes and paths are others than those that were planned with.
        if blocks > blocks_then {
            continue;
        }
        let detail = found.detail.as_ref().expect("what was asked for");
        let surveyed = &found.statements[detail.statement.expect("it is a statement")];
        prop_assert_eq!((&surveyed.verdict, surveyed.passes), (&remark.message, true));
        let with_predicate = detail.landings.iter().any(|landed| landed.is_live && landed.is_partial);
        prop_assert_eq!(with_predicate, detail.predicate.is_some());
        prop_assert!(detail.landings.iter().any(|landed| !landed.is_live), "something is dropped");
        let mut then = session.module().clone();
        then.funcs[func] = carried_out(&then, func, &settings, inst).expect("it sinks");
        session.seek(event + 1);
        prop_assert_eq!(print(&then), print(session.module()));
        foretold += 1;
    }
    session.seek(session.len());
    for func in session.module().funcs.keys() {
        let left = survey(session.module(), func, &settings, Question::default());
        prop_assert!(left.round.is_empty(), "nothing sinks any more");
    }
    prop_assert!(foretold > 0 || rewrites.is_empty());
    Ok(foretold)
}

fn figure(name: &str) -> (Module, Func) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples/pde").join(name);
    let module = laws::well_formed(&std::fs::read_to_string(path).expect("a text")).expect("a program");
    let kernel = module.kernels().next().expect("a kernel");
    (module, kernel)
}

fn settings(pipeline: &str) -> PassSettings {
    PassSettings { knobs: parse_pipeline(pipeline).expect("a pipeline")[0].knob_values(), fast_math: false }
}

#[test]
fn a_survey_of_a_figure_shows_its_sets() {
    let (module, kernel) = figure("figure-5.wir");
    let names = |found: &Survey, join: &Join, set: &[usize]| -> Vec<u64> {
        assert!(join.sets.on.len() <= found.paths.len());
        set.iter().map(|&path| found.paths[path].frequency).collect()
    };
    let found = survey(&module, kernel, &settings("pde[machine=unit]"), Question::default());
    let func = &module.funcs[kernel];
    let name = |block: Block| func.blocks[block].name.as_str();
    assert_eq!(found.paths.iter().map(|path| path.frequency).sum::<u64>(), 290);
    let detail = found.detail.as_ref().expect("something sinks");
    assert_eq!(detail.statement, found.round.first().copied());
    let joins: Vec<(&str, JoinVerdict)> = detail.joins.iter().map(|join| (name(join.block), join.verdict)).collect();
    let [five, nine] = detail.joins.as_slice() else { panic!("{joins:?}") };
    assert_eq!(joins, [("n5", JoinVerdict::Enabled), ("n9", JoinVerdict::EnabledWith(five.block))]);
    assert_eq!(five.together, [five.block, nine.block]);
    let weighed = five.weighed.expect("it was weighed");
    assert_eq!(
        (weighed.benefit_paths, weighed.cost_paths, weighed.benefit, weighed.cost),
        (150.0, 100.0, 150.0, 100.0)
    );
    assert_eq!(names(&found, five, &five.sets.available), [125, 25, 10]);
    assert_eq!(names(&found, five, &five.sets.benefit), [125, 25]);
    assert_eq!(names(&found, five, &five.sets.cost), [50, 50]);
    // By itself, as the paper prints it.
    assert_eq!(names(&found, nine, &nine.sets.benefit), [25]);
    assert_eq!(names(&found, nine, &nine.sets.cost), [50, 50]);
    let waves: Vec<usize> = detail.flood.iter().map(|flooded| flooded.wave).collect();
    assert!(waves.is_sorted() && waves[0] == 0 && waves.iter().max() > Some(&2), "{waves:?}");
    let lives: Vec<bool> = detail.landings.iter().map(|landed| landed.is_live).collect();
    assert_eq!(lives.iter().filter(|&&is_live| is_live).count(), 1, "only in n11 it is needed");
    let landed = detail.landings.iter().find(|landed| landed.is_live).expect("a live landing");
    assert!(landed.is_partial && matches!(landed.spot, Spot::Before(_)));
    assert!(matches!(&detail.predicate, Some(Predicate::Known(guard)) if func.regs[guard.reg].name == "p1"));

    // A path that is executed seldom is not worth it, whoever says so.
    let (path, _) = found.paths.iter().map(|path| (path.blocks.clone(), 20)).next().expect("a path");
    let edited = [(path, 20)];
    let question = Question { frequencies: &edited, ..Question::default() };
    let other = survey(&module, kernel, &settings("pde[machine=unit]"), question);
    assert_eq!((other.round.len(), other.paths.iter().map(|path| path.frequency).sum::<u64>()), (0, 185));

    // What warps take for it is told beside, and does not decide.
    let counted = measure(&module, kernel, &Settings::default(), Machine::Unit).expect("a run");
    let mut measured = module.clone();
    declare(&mut measured, &counted);
    let warps = WarpCounts::of(&measured.funcs[kernel]);
    let question = Question { warps: Some(&warps), ..Question::default() };
    let told = survey(&module, kernel, &settings("pde[machine=unit]"), question);
    assert_eq!((&told.round, told.is_by_warp), (&found.round, false));
    let (before, after) = told.detail.and_then(|detail| detail.warp_cycles).expect("they are counted");
    assert!(after > before, "{before} {after}");
    let by_warp = survey(&module, kernel, &settings("pde[machine=unit,cost=warp]"), Question::default());
    assert!(by_warp.refused.is_some(), "without counts it cannot");
}

/// Behind `m`, which it passes with a predicate, the statement comes to `j` on all ways: nothing
/// has to be enabled there.
#[test]
fn what_is_said_to_be_executed_no_more_is_not_looked_at() {
    let (module, kernel) = figure("figure-1.wir");
    let func = &module.funcs[kernel];
    let settings = settings("pde[machine=unit,cost=path]");
    let of = |found: &Survey| {
        let is_product = |inst: &Inst| func.insts[*inst].opcode.op == Op::Mul;
        let statement = found.statements.iter().find(|statement| statement.occurrences.iter().any(is_product));
        statement.map(|statement| (statement.passes, statement.rule)).expect("the product")
    };
    let found = survey(&module, kernel, &settings, Question::default());
    assert_eq!(of(&found), (true, "sink"));
    let n2 = func.block_order().find(|&block| func.blocks[block].name == "n2").expect("its block");
    let through_n2 = found.paths.iter().filter(|path| path.blocks.contains(&n2));
    let never: Vec<(Vec<Block>, u64)> = through_n2.map(|path| (path.blocks.clone(), 0)).collect();
    let found = survey(&module, kernel, &settings, Question { frequencies: &never, ..Question::default() });
    assert_eq!(of(&found), (false, "infrequent"));
}

#[test]
fn a_join_behind_one_that_is_enabled_is_passed_as_well() {
    let source = "
kernel k(a: f32, b: f32, c: u32, o: ptr.global restrict) {
    input other: f32
n0:
    i = mov.u32 %tid
    p0 = setp.lt.u32 i, 3
    br p0, n1, n2
n1:
    x = mul.f32 a, b
    p1 = setp.eq.u32 i, 1
    br p1, m, j
n2:
    x = in.f32 other
    br m
m:
    p2 = setp.eq.u32 c, 1
    br p2, j, e
j:
    br u
u:
    st.global.f32 o[i], x
    ret
e:
    ret
    profile path {
        n0 n1 m e: 100
        n0 n1 j u: 10
        n0 n1 m j u: 1
        n0 n2 m j u: 5
    }
}
";
    let module = laws::well_formed(source).expect("a program");
    let kernel = module.kernels().next().expect("a kernel");
    let found = survey(&module, kernel, &settings("pde[machine=unit,cost=path]"), Question::default());
    let detail = found.detail.as_ref().expect("the product sinks");
    let name = |block: Block| module.funcs[kernel].blocks[block].name.as_str();
    let joins: Vec<(&str, JoinVerdict)> = detail.joins.iter().map(|join| (name(join.block), join.verdict)).collect();
    assert_eq!(joins, [("m", JoinVerdict::Enabled), ("j", JoinVerdict::PastOthers)]);
    let frequencies = |set: &[usize]| set.iter().map(|&path| found.paths[path].frequency).collect::<Vec<_>>();
    assert_eq!(frequencies(&detail.joins[1].sets.available), [10, 1], "they come there with it");
    assert_eq!((&detail.joins[1].sets.benefit, &detail.joins[1].sets.cost), (&vec![], &vec![]), "it was not weighed");
    assert_eq!(detail.joins[0].weighed.map(|weighed| (weighed.benefit_paths, weighed.cost_paths)), Some((100.0, 5.0)));
    survey_foretells(&module, "pde[machine=unit,cost=path]").expect("the pass does what is foretold");
}

#[test]
fn a_survey_foretells_each_figure() {
    for (name, module) in figures("pde") {
        let foretold = survey_foretells(&module, "pde[machine=unit]").expect("it foretells");
        assert_eq!(foretold > 0, name != LOSES, "{name}");
    }
}

/// The pass looks no further than it must, and which plans get in each other's way is a question of where it looked.
#[test]
fn a_survey_foretells_who_shares_a_round() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/pde/edges-without-paths.wir");
    let text = std::fs::read_to_string(path).expect("a text");
    let (program, _) = text.split_once("// ----").expect("what becomes of it");
    let module = laws::well_formed(program).expect("a program");
    assert_eq!(survey_foretells(&module, "pde[cost=path,stalls=ignore]").expect("it foretells"), 6);
}

/// Programs with more executed paths than a word has bits: sets of paths then have several words.
/// (What is told of joins without weighing them is asserted where it is told.)
#[test]
fn with_many_paths_the_same_is_computed() {
    let (mut most, mut with_predicates) = (0, 0);
    for (source, seed) in sample::programs(1000, 8).iter().zip(1..) {
        let mut module = laws::well_formed(source).expect("it is generated");
        paths::declare(&mut module, 300, seed);
        for profile in module.funcs.values().flat_map(|func| &func.profiles) {
            let Profile::Path(paths) = profile else { continue };
            most = most.max(paths.len());
        }
        let after = after(&module, "pde[cost=path,fp=0.9]");
        let predicated = |module: &Module| print(module).matches('@').count();
        with_predicates += usize::from(predicated(&after) > predicated(&module));
        laws::memory_is_the_same(&module, &after, false).expect("it computes the same");
    }
    assert!(most > 3 * 64, "only {most} paths were executed");
    assert!(with_predicates > 3, "in {with_predicates} programs something sinks with a predicate");
}

/// In the third round `y` lands in `n` where `x1` stood, which goes on from there in the same round
/// and reads what `y` reads: what is known of the block is not taken from the one that has come for
/// the one that has gone.
#[test]
fn what_lands_is_not_taken_for_what_has_gone_from_there() {
    let source = "
kernel k(u: u32, o: ptr.global restrict) {
a:
    i = mov.u32 %tid
    p = setp.lt.u32 i, 9
    y = add.u32 u, 3
    x1 = mul.u32 u, 5
    x2 = mul.u32 y, 7
    v = xor.b32 y, 2
    v2 = xor.b32 v, 1
    br p, n, m
n:
    w = add.u32 x1, x2
    t = add.u32 x2, 1
    st.global.u32 o[i], t
    br p, b1, b2
b1:
    r = mul.u32 w, x1
    st.global.u32 o[i + 32], r
    st.global.u32 o[i + 64], v2
    br e
b2:
    st.global.u32 o[i + 32], v2
    br e
e:
    ret
m:
    ret
}
";
    let module = laws::well_formed(source).expect("a program");
    let after = after(&module, "pde");
    laws::memory_is_the_same(&module, &after, false).expect("it computes the same");
    let text = print(&after);
    let place = |what: &str| text.find(what).expect("it is there");
    assert!(place("\nn:") < place("y = ") && place("y = ") < place("\nb1:"), "{text}");
    assert!(place("\nb1:") < place("x1 = "), "{text}");
}

/// A chain of products that only one side needs: one of them sinks in each round.
fn chain(length: usize) -> Module {
    let products: String = (1..length).map(|place| format!("    v{place} = mul.u32 v{}, 3\n", place - 1)).collect();
    let source = format!(
        "
kernel k(x: ptr.global, n: u32) {{
a:
    i = mov.u32 %tid
    p = setp.lt.u32 i, n
    v0 = mul.u32 i, n
{products}    br p, b, c
b:
    st.global.u32 x[i], v{}
    ret
c:
    ret
}}
",
        length - 1
    );
    laws::well_formed(&source).expect("a program")
}

/// Checks that the last round is carried out, and that the remark says whether more could follow.
#[test]
fn window_stops_after_its_last_round_is_applied() {
    for (length, left) in [(32, 0), (33, 1)] {
        let steps = parse_pipeline("pde[predication=false]").expect("a pipeline");
        let session = Session::open(chain(length), &Options { steps, ..Options::default() }, &mut || 0);
        let events = session.journal().events();
        let stopped = events.iter().any(|event| event.remark.rule == "max-rounds");
        let text = print(session.module());
        let first = &text[..text.find("\nb:").expect("the side")];
        assert_eq!((first.matches(" = mul").count(), stopped), (left, left > 0), "{text}");
    }
}

/// Checks long programs: the pass asserts shortcuts where it takes them, for joins past which no path could
/// lose anything, which are not weighed, and for nodes in which nothing happens, which are not visited.
#[test]
fn long_programs_are_looked_at_in_short() {
    let mut with_predicates = 0;
    for source in sample::programs(1000, 100) {
        let mut module = laws::well_formed(&source).expect("it is generated");
        paths::declare(&mut module, 50, 1);
        let after = after(&module, "pde[cost=path]");
        let predicated = |module: &Module| print(module).matches('@').count();
        with_predicates += usize::from(predicated(&after) > predicated(&module));
        laws::memory_is_the_same(&module, &after, false).expect("it computes the same");
    }
    assert!(with_predicates > 50, "in {with_predicates} programs something sinks with a predicate");
}

proptest! {
    #![proptest_config(config())]

    /// Checks paths that end with the loop, or are estimated: they lose as much as in the worst case.
    #[test]
    fn last_trips_that_are_not_told_are_taken_for_the_worst(ways in prop::collection::vec(1..5000u32, 1..24)) {
        let module = rounds(&ways);
        let kernel = module.kernels().next().expect("a kernel");
        let names = |func: &Function, path: &[Block]| -> Vec<String> {
            path.iter().map(|&block| func.blocks[block].name.to_string()).collect()
        };
        let mut separate = module.clone();
        let (mut by_n2, mut to_n7, mut both) = (0, 0, 0);
        for profile in &mut separate.funcs[kernel].profiles {
            let Profile::Path(paths) = profile else { continue };
            let mut cut: Vec<(Vec<Block>, u64)> = Vec::new();
            for (path, count) in paths.drain(..) {
                let steps = names(&module.funcs[kernel], &path);
                let is_on = |name: &str| steps.iter().any(|step| step == name);
                by_n2 += if is_on("n2") { count } else { 0 };
                to_n7 += if is_on("n7") { count } else { 0 };
                both += if is_on("n2") && is_on("n7") { count } else { 0 };
                let exit = steps.iter().position(|step| step == "n6").unwrap_or(path.len());
                cut.push((path[..exit].to_vec(), count));
                cut.extend((exit < path.len()).then(|| (path[exit..].to_vec(), count)));
            }
            *paths = cut;
        }
        let [by_n2, to_n7, both] = [by_n2, to_n7, both].map(|count: u64| count as f64);
        let told = at_the_exit(&module).unwrap_or_default();
        if by_n2 > both {
            prop_assert_eq!(told, (by_n2 - both, by_n2, to_n7 - both));
        }
        if by_n2 > 0.0 {
            let worst = (by_n2 - to_n7).max(0.0);
            prop_assert_eq!(at_the_exit(&separate), Some((worst, by_n2, to_n7)));
            let (lost, printed, gained) = at_the_exit(&laws::with_estimated_paths(&module, 0)).unwrap_or_default();
            prop_assert!(lost == worst && gained <= to_n7, "{} {} {} of {:?}", lost, printed, gained, told);
            prop_assert!(printed == by_n2 || lost == 0.0, "{} {}", printed, by_n2);
        }
    }

    /// Each branch asks a predicate that nobody else writes, so that the program's own may serve.
    /// (What is told of statements without a look at all that lies behind them is asserted where it
    /// is told.)
    #[test]
    fn with_own_predicates_the_same_is_computed(recipe in recipe(), seed in 0..64u64) {
        let mut module = laws::well_formed(&emit::program(&recipe)).map_err(TestCaseError::fail)?;
        give_own_predicates(&mut module);
        laws::are_sound_with_profile(&["pde[cost=path]", "pde[cost=path,fp=0.6]"], &print(&module), seed)
            .map_err(TestCaseError::fail)?;
    }

    /// Checks untraced runs, in which profiles follow all edges that a round has split at a time:
    /// their counts are equal.
    #[test]
    fn with_nobody_listening_profiles_follow_as_well(
        recipe in shades(),
        seed in 0..4u64,
        variant in 0..VARIANTS.len(),
    ) {
        let mut module = laws::profiled(&shades::program(&recipe), seed).map_err(TestCaseError::fail)?;
        paths::declare(&mut module, 12, seed);
        // One that says nothing goes as soon as profiles change.
        let kernel = module.kernels().next().expect("a kernel");
        module.funcs[kernel].profiles.extend((seed > 1).then(|| Profile::Edge(Vec::new())));
        for module in [laws::with_estimated_paths(&module, seed), module] {
            let heard = after(&module, VARIANTS[variant]);
            let mut unheard = module;
            let kernel = unheard.kernels().next().expect("a kernel");
            let [step] = &parse_pipeline(VARIANTS[variant]).expect("a pass")[..] else { panic!("one pass") };
            let knobs = settings(VARIANTS[variant]);
            let done = Runner::new(&mut unheard).run(kernel, step.entry(), &knobs, &mut NoTrace).1;
            prop_assert!(done.is_ok());
            prop_assert_eq!(print(&unheard), print(&heard));
        }
    }

    /// Checks that nothing sinks that no frequent path executes. Equal instructions are one statement.
    #[test]
    fn what_no_frequent_path_executes_stays(shades in shades(), seed in 0..16u64) {
        let mut module = laws::well_formed(&shades::program(&shades)).map_err(TestCaseError::fail)?;
        paths::declare(&mut module, 1 + seed as usize, seed);
        let steps = parse_pipeline("pde[cost=path,fp=0.5]").expect("a pipeline");
        let mut session = Session::open(module, &Options { steps, ..Options::default() }, &mut || 0);
        for event in 0..session.len() {
            let event_data = &session.journal().events()[event];
            let (func, remark) = (event_data.func, event_data.remark.clone());
            let Some(inst) = remark.inst.filter(|_| session.journal().events()[event].is_rewrite()) else { continue };
            session.seek(event);
            let found = survey(session.module(), func, &settings("pde[cost=path,fp=0.5]"), Question::default());
            let statement = found.statements.iter().find(|statement| statement.occurrences.contains(&inst));
            let stands_on = |path: &Path| {
                let func = &session.module().funcs[func];
                let occurrences = statement.iter().flat_map(|it| &it.occurrences);
                let mut blocks = occurrences.filter_map(|&inst| func.inst_block(inst));
                blocks.any(|block| path.blocks.contains(&block))
            };
            prop_assert!(found.paths.iter().any(|path| path.is_frequent && stands_on(path)), "{}", remark.message);
        }
    }

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
