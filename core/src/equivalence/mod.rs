//! Do two programs leave the same memory behind? Asked by running both on many generated launches.
//!
//! ```text
//! launch of the text ──▶ other seeds, coherence and zeros of each buffer and input, fewer blocks and threads
//!                   ──▶ run both, compare every element ──▶ the first difference, on the smallest such launch
//! ```
//!
//! Each launch runs under two schedules, which order warps, groups of lanes and float atomics
//! differently. A first program that leaves different memory under them has a race there: the
//! launch gives no verdict. A second program must leave the first one's memory under both, as a
//! race that a pass has made is a wrong rewrite.
//!
//! Sound in one direction: a difference is real, and a counterexample shows it; agreement is
//! evidence only. A launch on which the first program itself fails says nothing and is skipped.
//! Elements are compared bit by bit, or within a relative tolerance for passes that may
//! reassociate. Globals that only the second program has are its own affair. A parameter or input
//! that one of them lacks is no difference by itself; the buffer of a parameter that only one has
//! must be left as it was ([`align`]).
//!
//! Cost: four runs a trial, each with its own fuel, up to [`MAX_ENDLESS`] launches that use theirs
//! up; making a counterexample smaller at most [`MAX_REDUCTIONS`] runs more. A [`Reference`] keeps
//! what the first program left behind for as many second programs as are held against it: from then
//! on two runs a trial, for the memory of all trials.

mod align;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::derive::complete_launch;
use crate::ir::{Fill, Func, Launch, Module, ParamType, Space, Type};
use crate::machine::Machine;
use crate::sim::{BufferDump, ErrorKind, Knob, Progress, Settings, SimError, Simulation, retyped_launch};

/// Runs that are spent on making a counterexample smaller.
pub const MAX_REDUCTIONS: u32 = 64;

/// Launches that may use up their fuel; after these no other one is tried.
pub const MAX_ENDLESS: u32 = 3;

/// How much more fuel the second program has than the first: it may be slower, but not endless.
const PATIENCE: u64 = 4;

/// Settings of a comparison: which kernels, and how thoroughly.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The machine model; memory does not depend on it, unless the program has a race.
    pub machine: Machine,
    /// Generated launches.
    pub trials: u32,
    /// Settings of every launch: sliders, sizes and the fuel of one run.
    pub settings: Settings,
    /// How far two floats may be apart, relative to the greater one; 0 compares bits.
    pub tolerance: f64,
}

impl Default for Comparison {
    fn default() -> Comparison {
        let settings = Settings { fuel: 10_000_000, ..Settings::default() };
        Comparison { machine: Machine::Unit, trials: 20, settings, tolerance: 0.0 }
    }
}

/// Result of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// No launch showed a difference.
    Same {
        /// Launches on which both ran to their end.
        compared: u32,
        /// Launches on which the first program failed, and why the last one did.
        skipped: u32,
        /// The failure of the last launch that was skipped.
        failure: Option<SimError>,
        /// Launches on which the first program left different memory under two schedules.
        raced: u32,
        /// How it differed from itself on the last of those.
        race: Option<Difference>,
        /// Were launches left out because [`MAX_ENDLESS`] had used up their fuel?
        gave_up: bool,
        /// Blocks of the first program that no launch reached on which both ran: nothing is known of them.
        unreached: Vec<String>,
    },
    /// They differ.
    Different(Counterexample),
}

/// A launch on which two programs differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Counterexample {
    /// Settings that override the launch of the text.
    pub settings: Settings,
    /// How they differ there.
    pub difference: Difference,
    /// Whether parts of the launch were derived, which follow other sizes elsewhere.
    pub is_derived: bool,
}

/// The first difference.
#[derive(Clone, PartialEq, Debug)]
pub enum Difference {
    /// An element of a buffer.
    Element {
        /// The buffer, by the first program's name.
        buffer: String,
        /// The element, from 0.
        index: usize,
        /// The element type.
        ty: Type,
        /// Its bits after the first program.
        first: u64,
        /// Its bits after the second program.
        second: u64,
    },
    /// The second program fails where the first does not.
    Failure(SimError),
    /// The programs do not have the same buffers.
    Buffers,
}

/// Compares two kernels under launches made from one.
pub fn compare(first: (&Module, Func), second: (&Module, Func), launch: &Launch, comparison: &Comparison) -> Verdict {
    Reference::new(first, launch.clone(), comparison.clone()).compare(second)
}

/// The first program of comparisons, with what it left behind on each launch that has been asked for.
pub struct Reference<'a> {
    first: (&'a Module, Func),
    launch: Launch,
    comparison: Comparison,
    trials: Vec<Trial>,
}

/// A launch, and the memory after the first program or why there is none.
struct Trial {
    settings: Settings,
    expected: Expected,
    /// Blocks that the first program did not reach.
    unreached: Vec<String>,
}

/// Memory that the first program leaves behind on one launch.
enum Expected {
    /// One memory under every schedule.
    Memory(Vec<BufferDump>),
    /// Different memory: how the second schedule's differs from the first one's.
    Race(Difference),
    /// Nothing, as it fails.
    Failure(SimError),
}

/// The settings under each schedule that is tried: the one that is asked for, and an odd one, in
/// which warps start in the opposite order, for each seed.
fn schedules(settings: &Settings) -> [Settings; 2] {
    let odd = settings.seed.unwrap_or_default().wrapping_mul(2) | 1;
    [settings.schedule, odd].map(|schedule| Settings { schedule, ..settings.clone() })
}

impl<'a> Reference<'a> {
    /// Runs nothing yet.
    pub fn new(first: (&'a Module, Func), launch: Launch, comparison: Comparison) -> Reference<'a> {
        Reference { first, launch, comparison, trials: Vec::new() }
    }

    /// Compares a second kernel with the first.
    pub fn compare(&mut self, second: (&Module, Func)) -> Verdict {
        let module = align::aligned(self.first, second);
        let second = (&*module, second.1);
        let launch_of_second =
            retyped_launch(&self.launch, &self.first.0.funcs[self.first.1], &second.0.funcs[second.1]);
        let pair = Pair { first: self.first, second, launch_of_second };
        let (mut compared, mut skipped, mut endless, mut failure) = (0, 0, 0, None);
        let (mut raced, mut race) = (0, None);
        let mut unreached: Option<Vec<String>> = None;
        for number in 0..self.comparison.trials {
            self.run_first(number);
            let trial = &self.trials[number as usize];
            match &trial.expected {
                Expected::Race(difference) => {
                    raced += 1;
                    race = Some(difference.clone());
                }
                Expected::Memory(expected) => {
                    let (launch, comparison) = (&self.launch, &self.comparison);
                    if let Some(difference) = pair.difference(expected, &trial.settings, comparison) {
                        let is_derived = launch.has_derived_parts();
                        let found = Counterexample { settings: trial.settings.clone(), difference, is_derived };
                        return Verdict::Different(pair.smaller(launch, comparison, found));
                    }
                    compared += 1;
                    match &mut unreached {
                        Some(unreached) => unreached.retain(|label| trial.unreached.contains(label)),
                        None => unreached = Some(trial.unreached.clone()),
                    }
                }
                Expected::Failure(error) => {
                    skipped += 1;
                    failure = Some(error.clone());
                    endless += u32::from(error.kind == ErrorKind::Fuel);
                    if endless >= MAX_ENDLESS {
                        break;
                    }
                }
            }
        }
        let gave_up = compared + skipped + raced < self.comparison.trials;
        let unreached = unreached.unwrap_or_default();
        Verdict::Same { compared, skipped, failure, raced, race, gave_up, unreached }
    }

    /// Runs the first program on the next launch, unless it has run there.
    fn run_first(&mut self, number: u32) {
        if self.trials.len() == number as usize {
            let settings = generated(self.first, &self.launch, &self.comparison.settings, number);
            let (expected, unreached) = expected(self.first, &self.launch, &settings, &self.comparison);
            self.trials.push(Trial { settings, expected, unreached });
        }
    }
}

/// The k-th variation of a launch. The first one is the launch as it stands.
fn generated((module, kernel): (&Module, Func), launch: &Launch, base: &Settings, trial: u32) -> Settings {
    let mut settings = base.clone();
    if trial == 0 {
        return settings;
    }
    // A derived launch keeps its buffers and numbers at other sizes, as a launch that somebody wrote does.
    settings.resizes = false;
    settings.seed = Some(base.seed.or(launch.seed).unwrap_or(0).wrapping_add(u64::from(trial)));
    let kernel = &module.funcs[kernel];
    // Mixed radix counting: neighbours in the list see other combinations of the same few extremes.
    let mut digits = trial;
    let mut digit = |radix: u32| {
        let digit = digits % radix;
        digits = digits / radix + trial.wrapping_mul(2_654_435_761) % 97;
        digit
    };
    match digit(4) {
        1 => settings.grid = Some([1, 1, 1]),
        2 => settings.block = Some(fewer(settings.block.unwrap_or(launch.block))),
        _ => {}
    }
    let mut turn = |name: &str, is_predicate: bool| {
        let mut knob = |knob: Knob| settings.knobs.push((name.to_string(), knob));
        match digit(4) {
            1 => knob(Knob::Coherence(0.0)),
            2 => knob(Knob::Coherence(1.0)),
            3 => knob(Knob::Coherence(0.75)),
            _ => {}
        }
        match (is_predicate, digit(4)) {
            (true, 1) => knob(Knob::True(0.0)),
            (true, 2) => knob(Knob::True(1.0)),
            (true, 3) => knob(Knob::True(0.25)),
            (false, 1) => knob(Knob::Zero(1.0)),
            (false, 2) => knob(Knob::Zero(0.5)),
            _ => {}
        }
    };
    for (index, param) in kernel.params.iter().enumerate() {
        let is_buffer = match launch.binding(index, &param.name) {
            Some(binding) => matches!(binding.fill, Fill::Buffer { .. } | Fill::Texture { .. }),
            None => matches!(param.ty, ParamType::Pointer { .. } | ParamType::Texture),
        };
        if is_buffer {
            turn(&param.name, false);
        }
    }
    for input in kernel.inputs.values() {
        turn(&input.name, input.ty == Type::Pred);
    }
    settings
}

/// About half as many threads, along the first axis that has several.
fn fewer(mut size: [u32; 3]) -> [u32; 3] {
    if let Some(axis) = size.iter_mut().find(|axis| **axis > 1) {
        *axis = axis.div_ceil(2);
    }
    size
}

/// Two kernels of the same parameters.
struct Pair<'m> {
    first: (&'m Module, Func),
    second: (&'m Module, Func),
    /// The launch as the second kernel's types write it.
    launch_of_second: Launch,
}

impl Pair<'_> {
    /// How what the second program leaves behind on one launch differs from what is expected, if it does.
    fn difference(&self, expected: &[BufferDump], settings: &Settings, comparison: &Comparison) -> Option<Difference> {
        schedules(settings).iter().find_map(|settings| self.difference_under(expected, settings, comparison))
    }

    fn difference_under(
        &self,
        expected: &[BufferDump],
        settings: &Settings,
        comparison: &Comparison,
    ) -> Option<Difference> {
        let patient = Settings { fuel: settings.fuel.saturating_mul(PATIENCE), ..settings.clone() };
        let simulation = simulation(self.second, &self.launch_of_second, &patient, comparison.machine);
        let globals_of =
            |module: &Module| module.globals.values().filter(|global| global.space == Space::Global).count();
        let globals = globals_of(self.second.0);
        let of_params = expected.len() - globals_of(self.first.0).min(expected.len());
        let found = simulation.and_then(|mut simulation| {
            // Buffers of parameters that only the second program has must be left as they are.
            let held = simulation.buffer_count() - globals.min(simulation.buffer_count());
            let before = if held > of_params { simulation.dump() } else { Vec::new() };
            Ok((before, memory_at_end(&mut simulation)?, held))
        });
        let (before, found, held) = match found {
            Ok(found) => found,
            Err(error) => return Some(Difference::Failure(error)),
        };
        if held < of_params || found.len() - held < expected.len() - of_params {
            return Some(Difference::Buffers);
        }
        let extra = (of_params..held).map(|at| (&before[at], &found[at]));
        let of_globals = expected[of_params..].iter().zip(&found[held..]);
        let mut pairs = expected[..of_params].iter().zip(&found).chain(of_globals).chain(extra);
        pairs.find_map(|(a, b)| buffer_difference(a, b, comparison))
    }

    /// A smaller launch that still shows a difference: fewer blocks, fewer threads, fewer knobs turned.
    fn smaller(&self, launch: &Launch, comparison: &Comparison, mut found: Counterexample) -> Counterexample {
        let (mut runs, mut endless) = (0, 0);
        let is_derived = found.is_derived;
        loop {
            let better = reductions(&found.settings, launch).into_iter().find_map(|settings| {
                if runs >= MAX_REDUCTIONS || endless >= MAX_ENDLESS {
                    return None;
                }
                runs += 1;
                let found = match expected(self.first, launch, &settings, comparison).0 {
                    Expected::Memory(expected) => self.difference(&expected, &settings, comparison),
                    Expected::Failure(error) => {
                        endless += u32::from(error.kind == ErrorKind::Fuel);
                        None
                    }
                    Expected::Race(_) => None,
                };
                if let Some(Difference::Failure(error)) = &found {
                    endless += u32::from(error.kind == ErrorKind::Fuel);
                }
                found.map(|difference| Counterexample { settings, difference, is_derived })
            });
            match better {
                Some(better) => found = better,
                None => return found,
            }
        }
    }
}

/// Memory that the first program leaves behind on one launch, under each schedule, and the blocks
/// that it does not reach.
fn expected(
    first: (&Module, Func),
    launch: &Launch,
    settings: &Settings,
    comparison: &Comparison,
) -> (Expected, Vec<String>) {
    let [documented, other] = schedules(settings);
    let run = |settings: &Settings| {
        let mut simulation = simulation(first, launch, settings, comparison.machine)?;
        let memory = memory_at_end(&mut simulation)?;
        Ok((memory, simulation.unreached()))
    };
    let (memory, unreached) = match run(&documented) {
        Ok(found) => found,
        Err(error) => return (Expected::Failure(error), Vec::new()),
    };
    let race = match run(&other) {
        Ok((other, _)) => memory.iter().zip(&other).find_map(|(a, b)| buffer_difference(a, b, comparison)),
        Err(error) => Some(Difference::Failure(error)),
    };
    (race.map_or(Expected::Memory(memory), Expected::Race), unreached)
}

/// The first difference of two buffers, if there is one.
fn buffer_difference(a: &BufferDump, b: &BufferDump, comparison: &Comparison) -> Option<Difference> {
    if a.elements.len() != b.elements.len() || a.ty != b.ty {
        return Some(Difference::Buffers);
    }
    let differs = |(&x, &y): (&u64, &u64)| x != y && !close(a.ty, x, y, comparison.tolerance);
    let index = a.elements.iter().zip(&b.elements).position(differs)?;
    let (first, second) = (a.elements[index], b.elements[index]);
    Some(Difference::Element { buffer: a.name.clone(), index, ty: a.ty, first, second })
}

fn simulation(
    (module, kernel): (&Module, Func),
    launch: &Launch,
    settings: &Settings,
    machine: Machine,
) -> Result<Simulation, SimError> {
    let launch = complete_launch(module, &module.funcs[kernel], launch);
    Simulation::new(module, kernel, &launch, settings, machine)
}

fn memory_at_end(simulation: &mut Simulation) -> Result<Vec<BufferDump>, SimError> {
    while simulation.run(u64::MAX)? == Progress::Running {}
    Ok(simulation.dump())
}

/// Are two floats within the tolerance, or both not numbers? Other types have none.
fn close(ty: Type, first: u64, second: u64, tolerance: f64) -> bool {
    let (a, b) = match ty {
        Type::F32 => (f64::from(f32::from_bits(first as u32)), f64::from(f32::from_bits(second as u32))),
        Type::F64 => (f64::from_bits(first), f64::from_bits(second)),
        _ => return false,
    };
    let are_nan = a.is_nan() && b.is_nan();
    tolerance > 0.0 && (are_nan || a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0))
}

/// Launches that are one step smaller, smallest first.
fn reductions(settings: &Settings, launch: &Launch) -> Vec<Settings> {
    let (grid, block) = (settings.grid.unwrap_or(launch.grid), settings.block.unwrap_or(launch.block));
    let mut list = Vec::new();
    if grid != [1; 3] {
        list.push(Settings { grid: Some([1; 3]), ..settings.clone() });
        list.push(Settings { grid: Some(fewer(grid)), ..settings.clone() });
    }
    if block != [1; 3] {
        list.push(Settings { block: Some([1; 3]), ..settings.clone() });
        list.push(Settings { block: Some(fewer(block)), ..settings.clone() });
    }
    for index in 0..settings.knobs.len() {
        let mut without = settings.clone();
        without.knobs.remove(index);
        list.push(without);
    }
    list
}

impl Counterexample {
    /// The settings as `--set`, `--grid` and `--block` options of a shell. Under them, each program fails or leaves the
    /// memory of the counterexample if it has the launch that was compared.
    pub fn options(&self) -> String {
        let mut options = Vec::new();
        let size = |size: [u32; 3]| format!("{},{},{}", size[0], size[1], size[2]);
        let settings = &self.settings;
        options.extend(settings.seed.map(|seed| format!("--seed {seed}")));
        options.extend(settings.grid.map(|grid| format!("--grid {}", size(grid))));
        options.extend(settings.block.map(|block| format!("--block {}", size(block))));
        if self.is_derived && (settings.grid.is_some() || settings.block.is_some()) {
            options.push("--set resize=off".to_string());
        }
        for (name, knob) in &settings.knobs {
            options.push(match knob {
                Knob::Value(number) => format!("--set {name}={number:?}"),
                Knob::True(p) => format!("--set {name}.true={p}"),
                Knob::Zero(p) => format!("--set {name}.zero={p}"),
                Knob::Coherence(p) => format!("--set {name}.coherence={p}"),
            });
        }
        options.join(" ")
    }
}
