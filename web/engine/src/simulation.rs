//! Runs of programs on the simulated machine.

use std::collections::{BTreeMap, VecDeque};

use warpscope_core::derive;
use warpscope_core::graph::Cfg;
use warpscope_core::ir::{Func, Inst, Module, WarpCounts};
use warpscope_core::machine::Machine;
use warpscope_core::profile::estimate::{CountedReuse, FlagPlan};
use warpscope_core::profile::{self, Profile};
use warpscope_core::report::{self, COUNTING_FUEL, ProfileReport, Wanted};
use warpscope_core::sim::{
    BlockStatistics, InstResult, Progress, RunResult, Settings as CoreSettings, SimError, Simulation,
};
use warpscope_core::text::LineIndex;

use crate::failure::failure;
use crate::message::{BlockRun, Counts, Failure, InstRun, LineHeat, Program, Run, Settings, Simulate, Simulated};
use crate::program::{Loaded, launch_text, load};

/// Runs that are kept: those of the last answer. An older one runs again.
const MOST_KEPT: usize = 3;

/// Runs of programs, of which the last are kept: from one position to the next the source and the program after all
/// passes are the same, so that one run of three is new.
#[derive(Default)]
pub struct Runner {
    kept: VecDeque<(Program, Settings, Result<Run, Failure>)>,
}

impl Runner {
    /// Runs the programs. A launch that they share is sized for the first.
    pub fn simulate(&mut self, simulate: &Simulate) -> Simulated {
        let Simulate { before, after, end, settings } = simulate;
        let is_shared = (&before.launch, &before.kernel) == (&after.launch, &after.kernel);
        let sized = if is_shared { sized_launch(before, settings) } else { None };
        let launch = sized.unwrap_or_else(|| after.launch.clone());
        let mut run_sized =
            |program: &Program| self.run(&Program { launch: launch.clone(), ..program.clone() }, settings);
        let (after, end) = (run_sized(after), end.as_ref().map(|end| run_sized(end).map(|run| run.total)));
        Simulated { before: self.run(before, settings), after, end }
    }

    fn run(&mut self, program: &Program, settings: &Settings) -> Result<Run, Failure> {
        let known = self.kept.iter().position(|(kept, set, _)| (kept, set) == (program, settings));
        let known = known.and_then(|place| self.kept.remove(place));
        let kept = known.unwrap_or_else(|| (program.clone(), settings.clone(), run(program, settings)));
        let result = kept.2.clone();
        self.kept.push_front(kept);
        self.kept.truncate(MOST_KEPT);
        result
    }
}

/// The launch of a program as it is run: its derived parts follow the sizes of the settings. None if there is a mistake,
/// which a run tells.
fn sized_launch(program: &Program, settings: &Settings) -> Option<String> {
    let Loaded { mut module, is_usable, .. } = load(&program.text, &program.launch);
    let kernel = module.func_by_name(&program.kernel).filter(|_| is_usable)?;
    derive::resize_launches(&mut module, &[kernel], &[core_settings(settings).ok()?]);
    Some(launch_text(&module))
}

/// Runs one program, and counts over the whole launch.
pub fn run_total(program: &Program, settings: &Settings) -> Result<Counts, String> {
    run(program, settings).map(|run| run.total).map_err(|failure| failure.text())
}

/// Measures a run of a kernel: how often its edges, paths and zeros occur, and how often warps diverge.
pub fn measure(module: &Module, kernel: Func, settings: &Settings) -> Result<Profile, String> {
    report::measure(module, kernel, &core_settings(settings)?, machine(settings)?).map_err(say)
}

/// A launch of a program that is ready to run, with what is needed to name its lines.
pub struct Prepared {
    /// The program.
    pub module: Module,
    /// Kernel to launch.
    pub kernel: Func,
    /// Lines of its instructions.
    pub lines: Lines,
    /// The run.
    pub simulation: Simulation,
}

/// The lines of a program's own text.
pub struct Lines {
    text: String,
    index: LineIndex,
}

impl Lines {
    /// The line where an instruction stands, from 1; 0 for one that was not written.
    pub fn of(&self, module: &Module, func: Func, inst: Inst) -> usize {
        let span = module.funcs[func].inst_spans[inst];
        if span.end > span.start { self.index.position(&self.text, span.start).line as usize } else { 0 }
    }
}

/// Reads a program and makes its launch ready.
pub fn prepare(program: &Program, settings: &Settings) -> Result<Prepared, String> {
    let loaded = load(&program.text, &program.launch);
    if !loaded.is_usable {
        let first = loaded.diagnostics.iter().find(|diagnostic| !diagnostic.is_warning);
        let first = first.map_or_else(String::new, |found| format!(", line {}: {}", found.line, found.message));
        return Err(format!("the program has errors{first}"));
    }
    let module = loaded.module;
    let kernel =
        module.func_by_name(&program.kernel).ok_or_else(|| format!("there is no kernel `{}`", program.kernel))?;
    let simulation = launch(&module, kernel, settings)?;
    let lines = Lines { index: LineIndex::new(&program.text), text: program.text.clone() };
    Ok(Prepared { module, kernel, lines, simulation })
}

fn launch(module: &Module, kernel: Func, settings: &Settings) -> Result<Simulation, String> {
    let func = &module.funcs[kernel];
    let settings_of_core = core_settings(settings)?;
    let launch = derive::launch_under(module, func, &settings_of_core);
    Simulation::new(module, kernel, &launch, &settings_of_core, machine(settings)?).map_err(say)
}

/// Runs a kernel to its end.
pub fn run_module(module: &Module, kernel: Func, settings: &Settings) -> Result<RunResult, String> {
    let mut simulation = launch(module, kernel, settings)?;
    advance(&mut simulation, u64::MAX).map_err(say)?;
    Ok(simulation.result())
}

/// Measures a run, with the counts of the kernel's parts.
pub fn profiled(module: &Module, kernel: Func, settings: &Settings) -> Result<(RunResult, ProfileReport), String> {
    let wanted = Wanted { dump: false, profile: true };
    let report = report::simulate(module, kernel, &core_settings(settings)?, machine(settings)?, wanted);
    let report = report.map_err(say)?;
    let profile = report.profile.and_then(|mut profile| profile.remove(&module.funcs[kernel].name));
    Ok((report.result, profile.ok_or("nothing was counted")?))
}

fn machine(settings: &Settings) -> Result<Machine, String> {
    match settings.machine.as_str() {
        "" => Ok(Machine::default()),
        name => Machine::from_name(name).ok_or_else(|| format!("there is no machine `{name}`: choose another")),
    }
}

fn core_settings(settings: &Settings) -> Result<CoreSettings, String> {
    let Settings { seed, warp, grid, block, .. } = *settings;
    let mut core = CoreSettings { seed, warp, grid, block, ..CoreSettings::default() };
    core.fuel = settings.fuel.unwrap_or(core.fuel);
    for (name, value) in &settings.sets {
        core.set(&format!("{name}={value}"))?;
    }
    for (name, value) in &settings.words {
        core.set(&format!("{name}={value}"))?;
    }
    Ok(core)
}

fn say(error: SimError) -> String {
    error.to_string()
}

/// Issues up to `budget` instructions.
pub fn advance(simulation: &mut Simulation, budget: u64) -> Result<Progress, SimError> {
    let last = simulation.issued().saturating_add(budget);
    loop {
        let progress = simulation.run(last - simulation.issued())?;
        if progress == Progress::Done || simulation.issued() >= last {
            return Ok(progress);
        }
    }
}

fn run(program: &Program, settings: &Settings) -> Result<Run, Failure> {
    let mut prepared = prepare(program, settings).map_err(Failure::at_start)?;
    if let Err(error) = advance(&mut prepared.simulation, u64::MAX) {
        return Err(failure(&prepared, &error));
    }
    let Prepared { module, kernel, lines, simulation } = prepared;
    let result = simulation.result();
    let mut by_line: BTreeMap<usize, LineHeat> = BTreeMap::new();
    let mut insts = Vec::with_capacity(result.instructions.len());
    for inst in &result.instructions {
        let line = lines.of(&module, inst.func, inst.inst);
        if line > 0 {
            // A line that became several instructions ran as often as the one of them that ran most.
            let heat = by_line.entry(line).or_insert(LineHeat { line, issues: 0, lanes: 0 });
            heat.issues = heat.issues.max(inst.issues);
            heat.lanes = heat.lanes.max(inst.lanes);
        }
        insts.push(InstRun {
            block: block_key(inst, kernel),
            inst: inst.inst.as_u32(),
            line,
            text: warpscope_core::text::instruction_text(&module, &module.funcs[inst.func], inst.inst),
            counts: inst_counts(inst, module.funcs[inst.func].insts[inst.inst].is_terminator()),
        });
    }
    let func = &module.funcs[kernel];
    let own = func.block_order().map(|block| func.blocks[block].name.clone());
    let mut blocks: Vec<BlockRun> = own.map(|name| block_run(&result, &insts, name)).collect();
    let of_functions = result.blocks.keys().filter(|name| blocks.iter().all(|block| block.name != **name));
    let of_functions: Vec<BlockRun> = of_functions.map(|name| block_run(&result, &insts, name.clone())).collect();
    blocks.extend(of_functions);
    let whole = BlockStatistics {
        cycles: result.cycles,
        idle_cycles: result.idle_cycles,
        occupancy: result.occupancy,
        divergent: result.divergent_branches,
        loads: result.loads,
        stores: result.stores,
        l1_hits: result.l1_hits,
        bank_conflicts: result.shared_bank_conflicts,
        sectors: insts.iter().map(|inst| inst.counts.sectors).sum(),
    };
    Ok(Run {
        total: counts(&whole, (result.warp_instructions, result.thread_instructions), insts.iter()),
        warps: result.warps,
        warp_size: result.warp_size,
        blocks,
        insts,
        lines: by_line.into_values().collect(),
        unreached: result.unreached,
        result_hash: result.result_hash,
    })
}

/// Labels of the kernel stand as they are, those of functions behind the function's name: the core's own keys.
fn block_key(inst: &InstResult, kernel: Func) -> String {
    if inst.func == kernel { inst.block.clone() } else { format!("{}.{}", inst.function, inst.block) }
}

fn block_run(result: &RunResult, insts: &[InstRun], name: String) -> BlockRun {
    let statistics = result.block_statistics.get(&name).cloned().unwrap_or_default();
    let heat = result.blocks.get(&name).cloned().unwrap_or_default();
    let own = insts.iter().filter(|inst| inst.block == name);
    BlockRun { counts: counts(&statistics, (heat.issues, heat.lanes), own), name }
}

/// Counts of the launch or of a block, whose issues and active lanes these are, and whose instructions.
fn counts<'a>(
    of: &BlockStatistics,
    (issues, lanes): (u64, u64),
    insts: impl Iterator<Item = &'a InstRun> + Clone,
) -> Counts {
    let evaluations = insts
        .clone()
        .fold((0, 0), |(warps, lanes), inst| (warps + inst.counts.evaluations.0, lanes + inst.counts.evaluations.1));
    Counts {
        cycles: of.cycles,
        issues,
        lanes,
        evaluations,
        divergent: of.divergent,
        loads: named(&of.loads),
        stores: named(&of.stores),
        requests: insts.map(|inst| inst.counts.requests).sum(),
        sectors: of.sectors,
        l1_hits: of.l1_hits,
        bank_conflicts: of.bank_conflicts,
        occupancy: of.occupancy.clone(),
        idle: named(&of.idle_cycles),
    }
}

/// The spaces as opcodes name them.
const SPACES: [&str; 5] = ["global", "shared", "local", "const", "param"];

fn inst_counts(inst: &InstResult, is_terminator: bool) -> Counts {
    let accesses = |root: &str| {
        let mut parts = inst.opcode.split('.');
        let is_access = parts.next() == Some(root) && inst.requests > 0;
        // A space that is not written is the global one, as in the sums of the core.
        let space = parts.find(|part| SPACES.contains(part)).unwrap_or(SPACES[0]);
        if is_access { vec![(space.to_owned(), inst.requests)] } else { Vec::new() }
    };
    Counts {
        loads: accesses("ld"),
        stores: accesses("st"),
        cycles: inst.cycles,
        issues: inst.issues,
        lanes: inst.lanes,
        evaluations: if is_terminator { (0, 0) } else { (inst.issues, inst.lanes) },
        divergent: inst.divergent,
        requests: if inst.sectors > 0 { inst.requests } else { 0 },
        sectors: inst.sectors,
        l1_hits: inst.l1_hits,
        bank_conflicts: inst.bank_conflicts,
        occupancy: inst.occupancy.clone(),
        idle: named(&inst.idle_cycles),
    }
}

/// The entries that count something.
fn named(map: &BTreeMap<&'static str, u64>) -> Vec<(String, u64)> {
    map.iter().filter(|(_, count)| **count > 0).map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

/// Counts what warps execute in a run of the program as it is, if that is known soon.
pub fn count_warps(module: &Module, kernel: Func, settings: &Settings) -> Option<WarpCounts> {
    let counted = measure(module, kernel, &briefly(settings)).ok()?;
    let mut measured = module.clone();
    measured.funcs[kernel].profiles.clear();
    profile::declare(&mut measured, &counted);
    Some(WarpCounts::of(&measured.funcs[kernel])).filter(|warps| !warps.is_empty())
}

/// Counts reuse of values in a run of the kernel, if that is known soon.
pub fn count_reuse(
    module: &Module,
    kernel: Func,
    settings: &Settings,
    planned: (Func, &Cfg, &FlagPlan),
) -> Option<CountedReuse> {
    let core_settings = core_settings(&briefly(settings)).ok()?;
    report::count_reuse(module, (kernel, &core_settings), machine(settings).ok()?, planned).ok()
}

/// The settings of a run that is given up if it takes long.
fn briefly(settings: &Settings) -> Settings {
    let fuel = settings.fuel.map_or(COUNTING_FUEL, |fuel| fuel.min(COUNTING_FUEL));
    Settings { fuel: Some(fuel), ..settings.clone() }
}

#[cfg(test)]
mod tests {

    use super::*;

    const LOOP: &str = "kernel k(x: ptr.global) {
entry:
    t = mov.u32 %tid
    br body
body:
    v = ld.global.u32 x[t]
    t = add.u32 t, 1
    more = setp.lt.u32 t, 40
    br more, body, done
done:
    st.global.u32 x[0], v
    ret
}
launch k {
    grid 1
    block 32
    x = buffer u32[64] iota
}
";

    fn simulated(text: &str, settings: Settings) -> Simulated {
        let program = Program { text: text.to_owned(), kernel: "k".to_owned(), ..Program::default() };
        Runner::default().simulate(&Simulate { before: program.clone(), after: program, end: None, settings })
    }

    #[test]
    fn kept_runs_equal_new_ones() {
        let program = |text: &str| Program { text: text.to_owned(), kernel: "k".to_owned(), ..Program::default() };
        let (first, second) = (program(LOOP), program(&LOOP.replace("v = ld", "w = ld")));
        let mut runner = Runner::default();
        for (before, after, seed) in
            [(&first, &second, 1), (&first, &first, 1), (&second, &first, 2), (&first, &second, 1)]
        {
            let settings = Settings { seed: Some(seed), ..Settings::default() };
            let simulate =
                Simulate { before: before.clone(), after: after.clone(), end: Some(first.clone()), settings };
            assert_eq!(runner.simulate(&simulate), Runner::default().simulate(&simulate));
            assert!(runner.kept.len() <= MOST_KEPT);
        }
    }

    #[test]
    fn evaluations_leave_terminators_out() {
        let run = simulated(LOOP, Settings::default()).before.expect("the kernel ends");
        let is_terminator =
            |inst: &&InstRun| ["br", "jmp", "ret", "exit"].iter().any(|name| inst.text.starts_with(name));
        let terminators: u64 = run.insts.iter().filter(is_terminator).map(|inst| inst.counts.issues).sum();
        assert!(terminators > 0);
        assert_eq!(run.total.evaluations.0, run.total.issues - terminators);
        assert!(run.total.evaluations.1 > run.total.evaluations.0 && run.total.evaluations.1 < run.total.lanes);
    }

    #[test]
    fn blocks_and_instructions_add_up_to_the_launch() {
        let run = simulated(LOOP, Settings::default()).before.expect("the kernel ends");
        let sum = |counts: &mut dyn Iterator<Item = &Counts>| {
            counts.fold((0, 0, 0, 0, 0), |sum, counts| {
                let idle: u64 = counts.idle.iter().map(|(_, cycles)| cycles).sum();
                let loads: u64 = counts.loads.iter().map(|(_, loads)| loads).sum();
                (sum.0 + counts.cycles, sum.1 + counts.issues, sum.2 + counts.lanes, sum.3 + idle, sum.4 + loads)
            })
        };
        let whole = sum(&mut [&run.total].into_iter());
        assert_eq!(sum(&mut run.blocks.iter().map(|block| &block.counts)), whole);
        assert_eq!(sum(&mut run.insts.iter().map(|inst| &inst.counts)), whole);
        let body = run.blocks.iter().find(|block| block.name == "body").expect("it has that block");
        assert_eq!(body.counts.loads, [("global".to_owned(), 40)]);
        assert_eq!(body.counts.requests, 40);
        let load = run.insts.iter().find(|inst| inst.text.starts_with("v = ld")).expect("it has that line");
        assert_eq!((load.block.as_str(), load.line, load.counts.issues), ("body", 6, 40));
    }

    #[test]
    fn endless_run_ends_with_its_fuel() {
        let spin = "kernel k(x: ptr.global) {\nentry:\n    br entry\n}\n";
        let runs = simulated(spin, Settings { fuel: Some(10_000), ..Settings::default() });
        let why = runs.before.expect_err("it never ends");
        assert_eq!((why.code.as_str(), why.line, why.issue), ("endless-loop", 3, Some(10_000)));
        assert!(why.message.contains("10,000 warp instructions") || why.message.contains("10000"), "{why:?}");
    }

    #[test]
    fn access_out_of_bounds_tells_line_issue_and_warp() {
        let text = LOOP.replace("block 32", "block 64").replace("x[t]", "x[t + 30]");
        let failure = simulated(&text, Settings::default()).before.expect_err("it leaves the buffer");
        assert_eq!((failure.code.as_str(), failure.line, failure.warp), ("out-of-bounds", 6, Some(1)));
        assert!(failure.place.starts_with("at `ld.global.u32`"), "{failure:?}");
    }
}
