//! Runs of programs on the simulated machine.

use std::collections::BTreeMap;

use warpscope_core::ir::{Func, Inst, Module};
use warpscope_core::machine::Machine;
use warpscope_core::ptx;
use warpscope_core::sim::{Entry, NOWHERE, Progress, Settings as CoreSettings, SimError, Simulation, WarpView};
use warpscope_core::text::LineIndex;

use crate::message::{
    BlockHeat, LineHeat, Moment, Program, Run, Settings, Simulate, Simulated, StackEntry, WarpState, Watch,
};
use crate::program::load;

/// Warps whose lanes are shown at a time.
const MOST_WARPS: usize = 64;

/// How long one run may take, in microseconds, and how many issues pass between two looks at the clock.
const TIME_LIMIT: f64 = 10e6;
const ISSUES_A_LOOK: u64 = 200_000;

/// Runs both programs. `clock` gives microseconds since some moment.
pub fn simulate(simulate: &Simulate, clock: fn() -> f64) -> Simulated {
    let run = |program: &Program| run(program, &simulate.settings, clock);
    Simulated { before: run(&simulate.before), after: run(&simulate.after) }
}

/// A launch of a program that is ready to run, with what is needed to name its lines.
struct Prepared {
    module: Module,
    kernel: Func,
    lines: Lines,
    simulation: Simulation,
}

/// The lines of a program's own text.
struct Lines {
    text: String,
    index: LineIndex,
}

impl Lines {
    /// The line where an instruction stands, from 1; 0 for one that was not written.
    fn of(&self, module: &Module, func: Func, inst: Inst) -> usize {
        let span = module.funcs[func].inst_spans[inst];
        if span.end > span.start { self.index.position(&self.text, span.start).line as usize } else { 0 }
    }
}

fn prepare(program: &Program, settings: &Settings) -> Result<Prepared, String> {
    let loaded = load(&program.text, &program.launch);
    if !loaded.is_usable {
        let first = loaded.diagnostics.iter().find(|diagnostic| !diagnostic.is_warning);
        let first = first.map_or_else(String::new, |found| format!(", line {}: {}", found.line, found.message));
        return Err(format!("the program has mistakes{first}"));
    }
    let module = loaded.module;
    let kernel =
        module.func_by_name(&program.kernel).ok_or_else(|| format!("there is no kernel `{}`", program.kernel))?;
    let launch = match module.launch_of(&program.kernel) {
        Some(launch) if launch.is_complete(&module.funcs[kernel]) => launch.clone(),
        Some(launch) => ptx::complete_launch(&module, &module.funcs[kernel], launch),
        None => ptx::derive_launch(&module, &module.funcs[kernel]),
    };
    let machine = Machine::from_name(&settings.machine).unwrap_or_default();
    let simulation = Simulation::new(&module, kernel, &launch, &core_settings(settings)?, machine).map_err(say)?;
    let lines = Lines { index: LineIndex::new(&program.text), text: program.text.clone() };
    Ok(Prepared { module, kernel, lines, simulation })
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

/// Issues up to `budget` instructions, unless that takes too long.
fn advance(simulation: &mut Simulation, budget: u64, clock: fn() -> f64) -> Result<Progress, String> {
    let (start, last) = (clock(), simulation.issued().saturating_add(budget));
    loop {
        let missing = last - simulation.issued();
        let progress = simulation.run(missing.min(ISSUES_A_LOOK)).map_err(say)?;
        if progress == Progress::Done || simulation.issued() >= last {
            return Ok(progress);
        }
        if clock() - start > TIME_LIMIT {
            let (seconds, issued) = (TIME_LIMIT / 1e6, simulation.issued());
            return Err(format!(
                "the run was stopped after {seconds:.0} seconds, when {issued} warp instructions had been issued: a loop may never end, or the launch is too large"
            ));
        }
    }
}

fn run(program: &Program, settings: &Settings, clock: fn() -> f64) -> Result<Run, String> {
    let Prepared { module, kernel, lines, mut simulation } = prepare(program, settings)?;
    advance(&mut simulation, u64::MAX, clock)?;
    let result = simulation.result();
    let labels = module.funcs[kernel].block_order().map(|block| module.funcs[kernel].blocks[block].name.clone());
    let heat = |name: String| {
        let counts = result.blocks.get(&name).cloned().unwrap_or_default();
        BlockHeat { name, issues: counts.issues, lanes: counts.lanes }
    };
    let mut by_line: BTreeMap<usize, LineHeat> = BTreeMap::new();
    for inst in &result.instructions {
        let line = lines.of(&module, inst.func, inst.inst);
        if line > 0 {
            // A line that became several instructions ran as often as the one of them that ran most.
            let heat = by_line.entry(line).or_insert(LineHeat { line, issues: 0, lanes: 0 });
            heat.issues = heat.issues.max(inst.issues);
            heat.lanes = heat.lanes.max(inst.lanes);
        }
    }
    Ok(Run {
        cycles: result.cycles,
        warp_instructions: result.warp_instructions,
        thread_instructions: result.thread_instructions,
        simt_efficiency: result.simt_efficiency,
        divergent_branches: result.divergent_branches,
        global_loads: result.global_loads,
        global_stores: result.global_stores,
        load_sectors: result.global_load_transactions,
        store_sectors: result.global_store_transactions,
        bank_conflicts: result.shared_bank_conflicts,
        warps: result.warps,
        warp_size: result.warp_size,
        blocks: labels.map(heat).collect(),
        lines: by_line.into_values().collect(),
        occupancy: result.occupancy,
        idle: result.idle_cycles.into_iter().map(|(cause, cycles)| (cause.to_owned(), cycles)).collect(),
        result_hash: result.result_hash,
    })
}

/// Follows one run. Asking for a later issue goes on from where the last answer stood; an earlier one starts again.
#[derive(Default)]
pub struct Watcher {
    followed: Option<(Program, Settings, Prepared)>,
}

impl Watcher {
    /// The run's state after so many issues, or at its end.
    pub fn moment(&mut self, watch: &Watch, clock: fn() -> f64) -> Result<Moment, String> {
        let follows = |(program, settings, prepared): &(Program, Settings, Prepared)| {
            *program == watch.program && *settings == watch.settings && prepared.simulation.issued() <= watch.issue
        };
        let mut prepared = match self.followed.take().filter(follows) {
            Some((.., prepared)) => prepared,
            None => prepare(&watch.program, &watch.settings)?,
        };
        let missing = watch.issue - prepared.simulation.issued();
        let progress = advance(&mut prepared.simulation, missing, clock)?;
        let moment = moment(&mut prepared, progress == Progress::Done);
        self.followed = Some((watch.program.clone(), watch.settings.clone(), prepared));
        Ok(moment)
    }
}

fn moment(prepared: &mut Prepared, ended: bool) -> Moment {
    let next_slot = prepared.simulation.next_warp();
    let views = prepared.simulation.resident_warps();
    // The warp that issues next is always shown.
    let next = views.iter().position(|view| Some(view.slot) == next_slot);
    let first = next.map_or(0, |next| next.saturating_sub(MOST_WARPS - 1));
    let shown = &views[first..views.len().min(first + MOST_WARPS)];
    Moment {
        issue: prepared.simulation.issued(),
        ended,
        cycle: prepared.simulation.cycle(),
        warps: shown.iter().map(|view| warp_state(prepared, view)).collect(),
        next: next.map(|next| next - first),
    }
}

fn warp_state(prepared: &Prepared, view: &WarpView) -> WarpState {
    let program = prepared.simulation.program();
    let current = view.entries.last().copied();
    let place = current.filter(|entry| entry.mask != 0).map(|entry| program.locations[entry.pc as usize]);
    let label =
        |pc: u32| if (pc as usize) < program.insts.len() { program.label(pc).to_owned() } else { String::new() };
    let [x, y, z] = view.block;
    let block = if (y, z) == (0, 0) { x.to_string() } else { format!("{x},{y},{z}") };
    let now = prepared.simulation.cycle();
    let waits = match view.ready_at {
        _ if view.at_barrier => "barrier",
        Some(ready) if ready > now && view.waits_for_memory => "memory",
        Some(ready) if ready > now => "operands",
        _ => "",
    };
    WarpState {
        name: format!("block {block}, warp {}", view.number),
        size: prepared.simulation.bound().warp,
        active: current.map_or(0, |entry| entry.mask),
        ended: view.lanes & !view.alive,
        block: current.map_or_else(String::new, |entry| label(entry.pc)),
        line: place.map_or(0, |at| prepared.lines.of(&prepared.module, at.func, at.inst)),
        text: place.map_or_else(String::new, |at| inst_text(prepared, at.func, at.inst)),
        waits: waits.to_owned(),
        stack: view.entries.iter().rev().map(|entry| stack_entry(*entry, label)).collect(),
    }
}

fn inst_text(prepared: &Prepared, func: Func, inst: Inst) -> String {
    warpscope_core::text::instruction_text(&prepared.module, &prepared.module.funcs[func], inst)
}

fn stack_entry(entry: Entry, label: impl Fn(u32) -> String) -> StackEntry {
    let meets = if entry.join == NOWHERE { String::new() } else { label(entry.join) };
    StackEntry { block: label(entry.pc), meets, mask: entry.mask }
}
