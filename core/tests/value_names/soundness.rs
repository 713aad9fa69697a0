//! Claimed reuse against numbers: generated kernels run, and wherever a user is said to compute a value again, the
//! number that it computes is the one that was carried there along the threads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use warpscope_core::derive::launch_under;
use warpscope_core::ir::{Block, Func, Inst, Op, Operand, Reg};
use warpscope_core::machine::Machine;
use warpscope_core::names::Name;
use warpscope_core::profile;
use warpscope_core::profile::estimate::{
    CountsError, EdgeCounts, Endings, Estimator, ExecutedPaths, FlagPlan, Interval, PathGraph, ReuseCounter, Weighted,
    estimate,
};
use warpscope_core::report;
use warpscope_core::sim::lanes::LaneFile;
use warpscope_core::sim::{FrameBase, Kind, Program, Progress, Settings, Simulation, Watcher};
use warpscope_core::vng::{
    Flow, Foundation, Seeds, ThreadGraph, ValueNameGraph, Vertex, VertexData, VertexKind, VngOptions,
};
use warpscope_testkit::cells;
use warpscope_testkit::emit;
use warpscope_testkit::laws;
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::scattered::{self, scattered};
use warpscope_testkit::sums::{self, sums};

/// Numbers that all tests of this process have compared, for those who want to know (`SHOW=1`).
static COMPARED: AtomicU64 = AtomicU64::new(0);

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
}

/// A number that is carried, or that the value is there but its number is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Carried {
    Nothing,
    Unknown,
    Number(u64),
}

/// Carries numbers along the threads of one kernel.
struct Numbers<'g> {
    graph: &'g ThreadGraph,
    foundation: &'g Foundation<'g>,
    kernel: usize,
    places: Vec<(usize, Block, Inst, u32)>,
    /// Whether lanes end at a program counter, in whatever function.
    exits: Vec<bool>,
    body: &'g warpscope_core::ir::Function,
    slots: HashMap<usize, HashMap<(Vertex, usize), Carried>>,
    /// The elements that vector accesses make known, by vertex.
    elements: HashMap<Vertex, usize>,
    /// The numbers of the last instruction that wrote registers.
    results: Vec<u64>,
    /// The last number that each register of a lane was given.
    written: HashMap<(usize, Reg, usize), u64>,
    compared: u64,
    reused: u64,
    wrong: Option<String>,
}

impl Numbers<'_> {
    fn output(&self, slot: usize, from: Vertex, lane: usize, own: Option<(Inst, u64)>) -> Carried {
        match self.graph.vertices[from].kind {
            VertexKind::Pass => self.at(slot, from, lane),
            VertexKind::Kill(_) => Carried::Nothing,
            VertexKind::AtHand => Carried::Unknown,
            VertexKind::User(inst) | VertexKind::Generator(inst) => match own {
                Some((computed, number)) if computed == inst => {
                    let element = self.elements.get(&from).and_then(|&element| self.results.get(element));
                    Carried::Number(element.copied().unwrap_or(number))
                }
                _ => Carried::Unknown,
            },
        }
    }

    fn at(&self, slot: usize, vertex: Vertex, lane: usize) -> Carried {
        let known = self.slots.get(&slot).and_then(|slot| slot.get(&(vertex, lane)));
        known.copied().unwrap_or_else(|| {
            // Before the first move of a lane.
            let given = self.graph.vertices[vertex].incoming.iter().any(|&edge| {
                let edge = &self.graph.edges[edge as usize];
                matches!(edge.flow, Flow::Entry(_)) && edge.from.is_ok()
            });
            if given { Carried::Unknown } else { Carried::Nothing }
        })
    }

    fn carried(&self, slot: usize, to: Vertex, way: Flow, lane: usize, own: Option<(Inst, u64)>) -> Carried {
        let edges = self.graph.vertices[to].incoming.iter().map(|&edge| self.graph.edges[edge as usize]);
        let edge = edges.into_iter().find(|edge| edge.flow == way || matches!(edge.flow, Flow::Block(..)));
        edge.and_then(|edge| edge.from.ok()).map_or(Carried::Nothing, |from| self.output(slot, from, lane, own))
    }

    /// An instruction has been executed; `number` is what it computed or stored.
    fn executed(&mut self, slot: usize, pc: u32, lane: usize, number: Option<u64>) {
        let (_, block, inst, place) = self.places[pc as usize];
        let here: Vec<(Vertex, VertexKind, u32)> = self
            .graph
            .vertices
            .iter()
            .filter(|(_, data)| data.block == block)
            .map(|(vertex, data)| (vertex, data.kind, data.place))
            .collect();
        for &(vertex, kind, at) in &here {
            if at == place && kind == VertexKind::User(inst) {
                match (self.carried(slot, vertex, Flow::Block(block, 0), lane, None), number) {
                    (Carried::Nothing, _) => {}
                    (Carried::Number(carried), Some(number)) => {
                        self.reused += 1;
                        self.compared += 1;
                        if carried != number && self.wrong.is_none() {
                            let label = &self.body.blocks[block].name;
                            self.wrong =
                                Some(format!("{label}.{place}, lane {lane}: {number:#x}, carried {carried:#x}"));
                        }
                    }
                    _ => self.reused += 1,
                }
            }
        }
        let own = number.map(|number| (inst, number));
        for (vertex, kind, at) in here {
            if kind == VertexKind::Pass && at == place + 1 {
                let carried = self.carried(slot, vertex, Flow::Block(block, 0), lane, own);
                self.slots.entry(slot).or_default().insert((vertex, lane), carried);
            }
        }
    }

    /// Lanes end.
    fn forget(&mut self, slot: usize, mask: u32) {
        self.written.retain(|&(at, _, lane), _| at != slot || mask >> lane & 1 == 0);
        if let Some(known) = self.slots.get_mut(&slot) {
            known.retain(|&(_, lane), _| mask >> lane & 1 == 0);
        }
    }

    fn is_kernel(&self, pc: u32) -> bool {
        self.places[pc as usize].0 == self.kernel
    }
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

impl Watcher for Numbers<'_> {
    fn issued(&mut self, slot: usize, pc: u32, running: u32, mask: u32) {
        if self.exits[pc as usize] {
            self.forget(slot, mask);
        }
        if !self.is_kernel(pc) {
            return;
        }
        let (.., inst, _) = self.places[pc as usize];
        let data = &self.body.insts[inst];
        // A guarded instruction makes a value known, or may change memory, for all lanes.
        lanes(running & !mask).for_each(|lane| self.executed(slot, pc, lane, None));
        // What has destinations is handled when they are written.
        if !data.dsts.is_empty() && !data.opcode.op.is_call() {
            return;
        }
        for lane in lanes(mask) {
            let stored = match data.args.get(1) {
                Some(Operand::Reg(reg)) if data.opcode.op == Op::St => self.written.get(&(slot, *reg, lane)).copied(),
                Some(Operand::Const(number)) if data.opcode.op == Op::St => Some(*number),
                _ => None,
            };
            self.results.clear();
            self.executed(slot, pc, lane, stored);
        }
        if data.opcode.op == Op::Ret {
            self.forget(slot, mask);
        }
    }

    fn wrote(&mut self, slot: usize, program: &Program, pc: u32, mask: u32, file: &LaneFile, frame: FrameBase) {
        if !self.is_kernel(pc) {
            return;
        }
        let (.., inst, _) = self.places[pc as usize];
        let data = &self.body.insts[inst];
        for lane in lanes(mask) {
            self.results.clear();
            for &reg in &data.dsts {
                let value = program.funcs[self.kernel].regs[reg.as_u32() as usize];
                let number = frame.read(file, value, lane) & self.body.reg_types[reg].mask();
                self.written.insert((slot, reg, lane), number);
                self.results.push(number);
            }
            if !data.opcode.op.is_call() {
                let first = self.results.first().copied();
                self.executed(slot, pc, lane, first);
            }
        }
    }

    fn moved(&mut self, slot: usize, pc: u32, target: u32, mask: u32) {
        if !self.is_kernel(pc) {
            return;
        }
        let ((_, from, ..), (_, to, ..)) = (self.places[pc as usize], self.places[target as usize]);
        let cfg = self.foundation.cfg();
        let Some(edge) = cfg.out_edges(from).find(|&edge| cfg.target(edge) == to) else { return };
        let gaps = self.graph.vertices.iter();
        let gaps = gaps.filter(|(_, data)| data.kind == VertexKind::Pass && data.place == 0 && data.block == to);
        let gaps: Vec<Vertex> = gaps.map(|(vertex, _)| vertex).collect();
        for lane in lanes(mask) {
            let carried: Vec<Carried> =
                gaps.iter().map(|&gap| self.carried(slot, gap, Flow::Edge(edge), lane, None)).collect();
            let known = self.slots.entry(slot).or_default();
            gaps.iter().zip(carried).for_each(|(&gap, carried)| _ = known.insert((gap, lane), carried));
        }
    }
}

/// Compares all claimed reuse of a program's first kernel. Returns how many numbers were compared.
fn check(source: &str, options: VngOptions) -> Result<u64, String> {
    let module = laws::well_formed(source)?;
    let kernel: Func = module.kernels().next().ok_or("no kernel")?;
    let body = &module.funcs[kernel];
    let foundation = Foundation::compute(&module, body, options);
    let built = ValueNameGraph::build(&foundation);
    let settings = Settings::default();
    let launch = launch_under(&module, body, &settings);
    let start = || Simulation::new(&module, kernel, &launch, &settings, Machine::default());
    let Ok(mut simulation) = start() else { return Ok(0) };
    let program = simulation.program();
    let mut indices: HashMap<Inst, u32> = HashMap::new();
    for block in body.block_order() {
        body.block_insts(block).zip(0..).for_each(|(inst, place)| _ = indices.insert(inst, place));
    }
    let places = program.locations.iter().enumerate().map(|(pc, location)| {
        let func = program.func_at(pc as u32);
        let place = if func == 0 { indices.get(&location.inst).copied().unwrap_or(u32::MAX) } else { u32::MAX };
        (func, location.block, location.inst, place)
    });
    let element = |(vertex, data): (Vertex, &VertexData)| {
        let (VertexKind::User(inst) | VertexKind::Generator(inst)) = data.kind else { return None };
        let seed = built.seeds.iter().find(|seed| seed.inst == inst)?;
        let is_of = |&name: &Name| built.classes.of(name) == Some(data.class);
        let element = seed.elements.iter().position(is_of)?;
        (!is_of(&seed.name)).then_some((vertex, element))
    };
    let mut numbers = Numbers {
        elements: built.graph.vertices.iter().filter_map(element).collect(),
        results: Vec::new(),
        graph: &built.graph,
        foundation: &foundation,
        kernel: 0,
        places: places.collect(),
        exits: program.insts.iter().map(|inst| inst.kind == Kind::Exit).collect(),
        body,
        slots: HashMap::new(),
        written: HashMap::new(),
        compared: 0,
        reused: 0,
        wrong: None,
    };
    // The profile of the same run says where its regions are and what is definite.
    let mut declaring = module.clone();
    let measured =
        report::measure(&module, kernel, &settings, Machine::default()).map_err(|error| error.to_string())?;
    profile::declare(&mut declaring, &measured);
    let cfg = foundation.cfg();
    let endings = Endings { calls: foundation.ending_calls(), measured: measured.get(&kernel) };
    let edges = match EdgeCounts::declared(&declaring.funcs[kernel], cfg, endings) {
        Err(CountsError::NoProfile) => None,
        counts => Some(counts.map_err(|error| error.message(body))?),
    };
    let weighted = edges.as_ref().map(|counts| Weighted { cfg, graph: &built.graph, facts: &built.facts, counts });
    let estimates = weighted.map_or_else(Vec::new, |weighted| estimate(weighted, &Estimator::ALL));
    let (full, _) = FlagPlan::of_gaps(cfg, &built.graph);
    let regions = weighted.map_or_else(FlagPlan::default, |weighted| {
        FlagPlan::of_regions(weighted, estimates.iter().map(|estimate| &estimate.value))
    });
    let users = full.counters;
    let plan = full.beside(&regions);
    let mut counter = ReuseCounter::new(&module, program, &[(kernel, cfg, &plan)]);
    loop {
        match simulation.run_watched(1 << 20, &mut numbers) {
            Ok(Progress::Running) => {}
            Ok(_) => break,
            Err(_) => return Ok(0),
        }
    }
    if let Some(wrong) = numbers.wrong {
        return Err(format!("{options:?}: {wrong}"));
    }
    let mut simulation = start().map_err(|error| error.to_string())?;
    while simulation.run_watched(1 << 20, &mut counter).map_err(|error| error.to_string())? == Progress::Running {}
    let reuse = counter.counts(simulation.program(), kernel).cloned().unwrap_or_default();
    if edges
        .as_ref()
        .is_some_and(|counts| cfg.edges().any(|edge| counts.edge(edge) != reuse.edges[edge.as_u32() as usize]))
    {
        return Err(format!("{options:?}: edges {:?} counted, and a profile of {measured:?}", reuse.edges));
    }
    let (of_users, of_exits) = reuse.counters.split_at(users);
    let counted = of_users.iter().sum::<u64>();
    let definite = estimates.iter().map(|estimate| estimate.value.definite);
    let correlated = definite.chain(of_exits.iter().copied()).sum::<u64>();
    if weighted.is_some() && correlated != counted {
        return Err(format!("{options:?}: {counted} counted at users, {correlated} at exits of regions"));
    }
    if weighted.is_some() {
        let paths = ExecutedPaths::declared(&declaring.funcs[kernel], cfg, endings);
        let paths = paths.map_err(|error| error.message(body))?;
        let graph = PathGraph::build(&paths, cfg, &built.graph).map_err(|error| format!("{error:?}"))?;
        let by_edges = Weighted { cfg, graph: &built.graph, facts: &built.facts, counts: &paths.edges };
        let by_edges = estimate(by_edges, &Estimator::ALL);
        let by_paths = graph.estimate(&Estimator::ALL, &by_edges, &built.graph.values());
        let best = by_paths.iter().fold(Interval::default(), |sum, value| sum.plus(value.best));
        if counted < best.low || counted > best.high {
            return Err(format!("{options:?}: {counted} counted, {best:?} by paths"));
        }
    }
    if counted != numbers.reused {
        return Err(format!("{options:?}: {counted} counted with bits, {} with numbers", numbers.reused));
    }
    let all = COMPARED.fetch_add(numbers.compared, Ordering::Relaxed) + numbers.compared;
    if std::env::var_os("SHOW").is_some() {
        println!("{all} numbers compared");
    }
    Ok(numbers.compared)
}

fn holds(source: &str) -> Result<(), TestCaseError> {
    for seeds in [Seeds::Loads, Seeds::Arithmetic] {
        for (window, dereferences, synonyms) in [(1, 0, false), (3, 1, true), (4, 2, true)] {
            let options = VngOptions { seeds, window, dereferences, synonyms, ..VngOptions::default() };
            check(source, options).map_err(|wrong| TestCaseError::fail(format!("{wrong}\nthe program:\n{source}")))?;
        }
    }
    Ok(())
}

/// The program with functions in which some lanes end.
fn ending_in_calls(source: &str) -> String {
    let mut source = source.to_string();
    for (header, bound) in [("func helper(a: u32, b: f32) -> f32 {\n", 11), ("func split(a: u32) -> u32 {\n", 7)] {
        assert!(source.contains(header), "{source}");
        let check = format!(
            "{header}check:\n    rest = rem.u32 a, {bound}\n    ends = setp.eq.u32 rest, 3\n    br ends, end, entry\n\
             end:\n    exit\n"
        );
        source = source.replace(header, &check);
    }
    source
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn reused_numbers_are_equal(recipe in recipe()) {
        holds(&emit::program(&recipe))?;
    }

    #[test]
    fn reused_numbers_are_equal_where_lanes_end_in_calls(recipe in recipe()) {
        holds(&ending_in_calls(&emit::program(&recipe)))?;
    }

    #[test]
    fn reused_numbers_of_scattered_definitions_are_equal(recipe in scattered()) {
        holds(&scattered::program(&recipe))?;
    }

    #[test]
    fn reused_numbers_of_loaded_indices_are_equal(seed in any::<u64>()) {
        holds(&cells::program(seed))?;
    }

    #[test]
    fn reused_numbers_of_sums_are_equal(recipe in sums()) {
        holds(&sums::program(&recipe))?;
    }
}

#[test]
fn many_numbers_are_compared() {
    // Two rounds of a loop load the same element.
    let source = "kernel k(A: ptr.global, o: ptr.global restrict) {
entry:
    i = mov.s32 0
    s = mov.s32 0
    br head
head:
    x = ld.global.s32 A[i]
    y = ld.global.s32 A[i + 1]
    s = add.s32 s, x
    s = add.s32 s, y
    i = add.s32 i, 1
    more = setp.lt.s32 i, 10
    br more, head, done
done:
    st.global.s32 o[0], s
    ret
}
launch k {
    block 1
    A = buffer s32[16] iota
    o = buffer s32[1] const 0
}
";
    let compared = check(source, VngOptions::default());
    assert_eq!(compared, Ok(9));
}
