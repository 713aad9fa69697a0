//! Divergence against the simulator: nothing that the analysis calls uniform ever differs between
//! the lanes of a warp that run together.
//!
//! Generated programs run warp instruction by warp instruction. At each, every register that the
//! instruction reads or writes is compared over the running lanes, those included whose guard is
//! false, unless the analysis calls that use or value divergent; and lanes part only at branches
//! that it calls divergent. `PROPTEST_CASES=60000` looks further than the everyday run.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;

use cranelift_entity::EntityRef;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use warpscope_core::derive::complete_launch;
use warpscope_core::flow::{Divergence, DivergenceInput, ValueUses, Values};
use warpscope_core::graph::{Cfg, Dominators, Loops, PostDominators};
use warpscope_core::ir::{Block, Func, Module, Reg};
use warpscope_core::machine::Machine;
use warpscope_core::pass::Step;
use warpscope_core::sim::lanes::LaneFile;
use warpscope_core::sim::{DecodedInst, FrameBase, Kind, Program, Progress, Settings, Simulation, Watcher};
use warpscope_core::text::{instruction_text, print};
use warpscope_testkit::recipe::recipe;
use warpscope_testkit::{emit, laws};

/// Warp instructions of one run.
const FUEL: u64 = 20_000;

struct Analysed {
    values: Values,
    divergence: Divergence,
}

fn analyse(module: &Module) -> BTreeMap<Func, Analysed> {
    let analysed = |(func, body): (Func, &warpscope_core::ir::Function)| {
        let cfg = Cfg::compute(body);
        let dominators = Dominators::compute(&cfg);
        let post_dominators = PostDominators::compute(&cfg);
        let values = Values::compute(body, &cfg, &dominators);
        let uses = ValueUses::compute(body, &values);
        let divergence = Divergence::compute(DivergenceInput {
            func: body,
            cfg: &cfg,
            dominators: &dominators,
            post_dominators: &post_dominators,
            loops: &Loops::compute(&cfg),
            values: &values,
            uses: &uses,
        });
        (func, Analysed { values, divergence })
    };
    module.funcs.iter().map(analysed).collect()
}

/// A register of a frame, lane by lane.
type Numbers = [u64; 32];

/// Compares lanes.
struct Oracle<'a> {
    module: &'a Module,
    analysed: &'a BTreeMap<Func, Analysed>,
    /// Function and block of each program counter, and whether frames begin or end there.
    places: Vec<(Func, Block, bool)>,
    /// The instruction that issues.
    pc: u32,
    /// Running lanes of each slot, whatever an instruction's guard.
    running: Vec<u32>,
    /// Last values written to registers, by frame: the operand of an instruction that overwrites it.
    written: BTreeMap<(u32, Reg), Numbers>,
    compared: u64,
    broken: Option<String>,
}

impl<'a> Oracle<'a> {
    fn new(module: &'a Module, analysed: &'a BTreeMap<Func, Analysed>, program: &Program) -> Oracle<'a> {
        let moves_frames = |inst: &DecodedInst| matches!(inst.kind, Kind::Call | Kind::Ret | Kind::Exit);
        let places = program.locations.iter().zip(&program.insts);
        let places = places.map(|(at, inst)| (at.func, at.block, moves_frames(inst))).collect();
        Oracle {
            module,
            analysed,
            places,
            pc: 0,
            running: Vec::new(),
            written: BTreeMap::new(),
            compared: 0,
            broken: None,
        }
    }

    fn compare(&mut self, slot: usize, numbers: &Numbers, tell: impl Fn() -> String) {
        self.compared += 1;
        let mut lanes = (0..32).filter(|lane| self.running[slot] >> lane & 1 != 0);
        let Some(first) = lanes.next() else { return };
        if let Some(other) = lanes.find(|&lane| numbers[lane] != numbers[first]) {
            let (a, b) = (numbers[first], numbers[other]);
            let message = || format!("{}: lane {first} has {a:#x}, lane {other} has {b:#x}", tell());
            self.broken.get_or_insert_with(message);
        }
    }
}

impl Watcher for Oracle<'_> {
    fn issued(&mut self, _slot: usize, pc: u32, _running: u32, _mask: u32) {
        self.pc = pc;
        if self.places[pc as usize].2 {
            self.written.clear();
        }
    }

    fn wrote(&mut self, slot: usize, program: &Program, pc: u32, _mask: u32, file: &LaneFile, frame: FrameBase) {
        let index = program.func_at(pc);
        let location = &program.locations[pc as usize];
        let (func, inst) = (location.func, location.inst);
        let body = &self.module.funcs[func];
        let Analysed { values, divergence } = &self.analysed[&func];
        let now = |reg: Reg| -> Numbers {
            let value = program.funcs[index].regs[reg.index()];
            std::array::from_fn(|lane| frame.read(file, value, lane))
        };
        let text = |what: &str, reg: Reg| {
            let (block, reg) = (&body.blocks[location.block].name, &body.regs[reg].name);
            format!("the {what} `{reg}` of `{}` in {block}", instruction_text(self.module, body, inst))
        };
        let dsts = &body.insts[inst].dsts;
        for (index, &value) in values.used(inst).iter().enumerate() {
            let reg = values.reg(value);
            if divergence.is_divergent_use(values, inst, index) {
                continue;
            }
            let read = if dsts.contains(&reg) { self.written.get(&(frame.0, reg)).copied() } else { Some(now(reg)) };
            if let Some(numbers) = read {
                self.compare(slot, &numbers, || text("operand", reg));
            }
        }
        for &value in values.defined(inst) {
            let reg = values.reg(value);
            let numbers = now(reg);
            self.written.insert((frame.0, reg), numbers);
            if !divergence.is_divergent(value) {
                self.compare(slot, &numbers, || text("result", reg));
            }
        }
    }

    fn diverged(&mut self, _slot: usize, _sides: &[(u32, u32)]) {
        let (func, block, moves_frames) = self.places[self.pc as usize];
        // Lanes that return by several exits part at the call, which is divergent whatever it calls.
        if !moves_frames && !self.analysed[&func].divergence.is_divergent_branch(block) {
            let body = &self.module.funcs[func];
            let message = || format!("lanes part at the end of {} of {}", body.blocks[block].name, body.name);
            self.broken.get_or_insert_with(message);
        }
    }
}

/// Runs every kernel with its launch and gives the number of comparisons, or the first that failed.
fn lanes_agree(module: &Module) -> Result<u64, String> {
    let analysed = analyse(module);
    let mut compared = 0;
    for launch in &module.launches {
        let Some(kernel) = module.func_by_name(&launch.kernel) else { continue };
        let launch = complete_launch(module, &module.funcs[kernel], launch);
        let settings = Settings { fuel: FUEL, ..Settings::default() };
        let run = Simulation::new(module, kernel, &launch, &settings, Machine::Unit);
        let mut run = run.map_err(|error| error.to_string())?;
        let mut oracle = Oracle::new(module, &analysed, run.program());
        loop {
            let warps = run.resident_warps();
            oracle.running = vec![0; warps.last().map_or(0, |warp| warp.slot + 1)];
            for warp in &warps {
                oracle.running[warp.slot] = warp.entries.last().map_or(0, |entry| entry.mask);
            }
            // A run that uses up its fuel has been watched as far as it went.
            if run.run_watched(1, &mut oracle) != Ok(Progress::Running) {
                break;
            }
        }
        compared += oracle.compared;
        if let Some(broken) = oracle.broken {
            return Err(format!("{broken}\n{}", print(module)));
        }
    }
    Ok(compared)
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40)
}

/// Watches programs as they are generated and as the passes leave them.
fn watch<R: std::fmt::Debug>(recipes: &impl Strategy<Value = R>, program: impl Fn(&R) -> String) {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) };
    let general = [Step::new("general-optimize").expect("it is in the list")];
    let compared = Cell::new(0);
    let outcome = TestRunner::new(config).run(recipes, |recipe| {
        let module = laws::well_formed(&program(&recipe)).map_err(TestCaseError::fail)?;
        for module in [&module, &laws::run_silently(&module, &general, false)] {
            compared.set(compared.get() + lanes_agree(module).map_err(TestCaseError::fail)?);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    println!("{} programs, {} comparisons over running lanes", cases(), compared.get());
    assert!(compared.get() > u64::from(cases()) * 10, "hardly anything was compared");
}

#[test]
fn what_is_called_uniform_never_differs_between_running_lanes() {
    watch(&recipe(), emit::program);
}

#[test]
fn nor_does_it_behind_loops_that_lanes_leave_one_by_one() {
    watch(&prop::collection::vec(statement(), 1..8), |statements| knotted(statements));
}

/// Statements over a few registers that nearly everything reads, so that what differs by lane meets what does not at
/// joins, under guards, and behind loops.
#[derive(Clone, Debug)]
enum Statement {
    /// A register, the two that it is computed from, and a guard.
    Compute(u8, u8, u8, Option<u8>),
    /// Branch on a register, and its sides.
    Branch(u8, Vec<Statement>, Vec<Statement>),
    /// Loop with its condition, the most rounds that it makes, its body, and a register that the count of
    /// rounds is added to behind it.
    Loop(u8, u8, Vec<Statement>, u8),
}

fn statement() -> impl Strategy<Value = Statement> {
    let guard = prop::option::weighted(0.3, any::<u8>());
    let leaf = (any::<u8>(), any::<u8>(), any::<u8>(), guard)
        .prop_map(|(dst, a, b, guard)| Statement::Compute(dst, a, b, guard));
    leaf.prop_recursive(3, 20, 4, |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (any::<u8>(), body(), body()).prop_map(|(reg, yes, no)| Statement::Branch(reg, yes, no)),
            (any::<u8>(), 1..6u8, body(), any::<u8>())
                .prop_map(|(reg, rounds, body, dst)| Statement::Loop(reg, rounds, body, dst)),
        ]
    })
}

/// The registers that statements choose from: the lane's number, the block's, a parameter and three that begin as
/// constants.
const POOL: u8 = 6;

fn knotted(statements: &[Statement]) -> String {
    let mut text = String::from(
        "kernel k(n: u32, x: ptr.global) {\nentry:\n    r0 = mov.u32 %laneid\n    r1 = mov.u32 %ctaid\n    r2 = \
         mov.u32 \
         n\n    r3 = mov.u32 1\n    r4 = mov.u32 6\n    r5 = mov.u32 0\n",
    );
    let mut names = 0;
    statements.iter().for_each(|statement| write_statement(&mut text, &mut names, statement));
    for reg in 0..POOL {
        let _ = writeln!(text, "    red.global.add.u32 x[0], r{reg}");
    }
    text + "    ret\n}\n\nlaunch k {\n    grid 2\n    block 8\n    warp 8\n    n = 5\n    x = buffer u32[4] const \
            0\n}\n"
}

fn write_statement(text: &mut String, names: &mut u32, statement: &Statement) {
    *names += 1;
    let name = *names;
    let condition = |reg: &u8, to: &str| {
        let bit = 1 << (reg / POOL % 3);
        format!("    q{name} = and.b32 r{}, {bit}\n    {to} = setp.ne.u32 q{name}, 0\n", reg % POOL)
    };
    match statement {
        Statement::Compute(dst, a, b, guard) => {
            let op = ["add.u32", "sub.u32", "xor.b32", "and.b32"][usize::from(dst / POOL) % 4];
            let line = format!("r{} = {op} r{}, r{}", dst % POOL, a % POOL, b % POOL);
            *text += &match guard {
                Some(reg) => format!("{}    @p{name} {line}\n", condition(reg, &format!("p{name}"))),
                None => format!("    {line}\n"),
            };
        }
        Statement::Branch(reg, yes, no) => {
            let _ = writeln!(text, "{}    br p{name}, yes{name}, no{name}", condition(reg, &format!("p{name}")));
            for (label, side) in [("yes", yes), ("no", no)] {
                let _ = writeln!(text, "{label}{name}:");
                side.iter().for_each(|statement| write_statement(text, names, statement));
                let _ = writeln!(text, "    br join{name}");
            }
            let _ = writeln!(text, "join{name}:");
        }
        Statement::Loop(reg, rounds, body, dst) => {
            let _ = write!(text, "    c{name} = mov.u32 0\n    br head{name}\nhead{name}:\n");
            body.iter().for_each(|statement| write_statement(text, names, statement));
            let (again, dst) = (condition(reg, &format!("again{name}")), dst % POOL);
            let _ = write!(
                text,
                "    c{name} = add.u32 c{name}, 1\n    few{name} = setp.lt.u32 c{name}, {rounds}\n{again}    p{name} = \
                 and.pred few{name}, again{name}\n    br p{name}, head{name}, left{name}\nleft{name}:\n    r{dst} = \
                 add.u32 r{dst}, c{name}\n"
            );
        }
    }
}

/// Checks that the oracle finds each of these where the analysis was run on another program.
#[test]
fn the_oracle_sees_lanes_differ() {
    let uniform = "kernel k(x: ptr.global) {\nentry:\n    a = mov.u32 %ctaid\n    p = setp.lt.u32 a, 1\n    br p, one, \
                   two\none:\n    b = add.u32 a, 1\n    br two\ntwo:\n    st.global.u32 x[a], a\n    ret\n}\nlaunch k \
                   {\n    \
                   block 32\n    x = buffer u32[64] iota\n}\n";
    let calm = warpscope_core::verify::check(uniform).module;
    let wild = warpscope_core::verify::check(&uniform.replace("%ctaid", "%tid")).module;
    assert!(lanes_agree(&calm).is_ok_and(|compared| compared > 5));
    assert!(lanes_agree(&wild).is_ok());
    let analysed = analyse(&calm);
    let kernel = wild.func_by_name("k").expect("the kernel");
    let mut run =
        Simulation::new(&wild, kernel, &wild.launches[0], &Settings::default(), Machine::Unit).expect("a launch");
    let mut oracle = Oracle::new(&wild, &analysed, run.program());
    oracle.running = vec![!0];
    assert_eq!(run.run_watched(u64::MAX, &mut oracle), Ok(Progress::Done));
    assert!(oracle.broken.is_some_and(|broken| broken.starts_with("the result `a`")));
}

#[test]
fn lanes_that_go_to_one_place_do_not_part() {
    let source = "kernel k() {\nentry:\n    p = setp.lt.u32 %laneid, 3\n    br p, out, out\nout:\n    ret\n}\nlaunch \
                  k {\n    \
                  block 32\n}\n";
    let module = warpscope_core::verify::check(source).module;
    let kernel = module.func_by_name("k").expect("the kernel");
    let mut run =
        Simulation::new(&module, kernel, &module.launches[0], &Settings::default(), Machine::Unit).expect("a launch");
    assert_eq!(run.run(u64::MAX), Ok(Progress::Done));
    let result = run.result();
    assert_eq!((result.divergent_branches, result.warp_instructions), (0, 3));
}
