//! The search for a launch that a kernel runs under: guesses, each tried in the simulator.
//!
//! ```text
//! guess → how far it reaches → launch → dry run ──ran──▶ taken
//!   ▲                              ▲        ├─ beyond a buffer: the buffer grows ─┐
//!   └── next guess ◀── it fails ───┼────────┘                                     │
//!                                  └──────────────────────────────────────────────┘
//! ```
//!
//! The first guess is the usual one. Where it fails, other blocks are tried; then other numbers for the parameters that
//! bound no threads, all of them at once; then smaller elements for buffers of integers; then numbers one by one; then
//! blocks and numbers together. The first guess that runs to its end is taken, else the first that only lacked fuel,
//! else the first one. What is stated is in every guess.
//!
//! Cost: [`ANALYSED`] instructions that [`reaches`] evaluates and [`FUEL`] warp instructions of dry runs, at most.

use super::fills::{fill, pointee};
use super::insts;
use super::ranges::{ELEMENT, PointerPath, Reaches, Trial, reaches};
use super::shapes::shapes;
use super::sizes::{NUMBER, numbers, roles};
use super::stated::Stated;
use crate::ir::{
    Binding, Fill, FillKey, Func, FuncKind, Function, Global, Launch, Module, Operand, ParamType, Reg, Span, Symbol,
};
use crate::machine::Machine;
use crate::sim::{ErrorKind, Nearest, Progress, Settings, Simulation, derive_draws, derive_texture};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Instructions evaluated by the analyses of all guesses; after them the best guess so far is taken.
const ANALYSED: u64 = 8_000_000;
/// Warp instructions of all dry runs; after them the best guess so far is taken.
const FUEL: u64 = 6_000_000;
/// Warp instructions of one dry run; a launch that takes longer counts as one that may not end.
const FUEL_OF_ONE: u64 = 2_000_000;
/// Fuel of a dry run once a guess has lacked it.
const FUEL_OF_NEXT: u64 = 250_000;
/// Times that a launch grows; then the guess fails.
const GROWTHS: usize = 24;
/// Bytes beyond which no buffer grows: an address further away is not a matter of size.
const LARGEST: u64 = 1 << 24;
/// Bytes that a dry run fills in the time of a warp instruction.
const BYTES_FILLED: u64 = 16;
/// Bytes of the widest access of a lane.
const WIDEST_ACCESS: u64 = 16;
/// Bytes of shared memory that the launch has where the analysis finds no bound.
const SHARED: u64 = 48 << 10;
/// Values for the parameters that bound nothing, after the usual one.
const NUMBERS: [i64; 9] = [64, 256, 8, 4, 1024, 2, 1, 32, 0];
/// Values that one such parameter may need while the others keep theirs.
const SINGLE_NUMBERS: [i64; 4] = [1, 4, 64, 0];
/// Largest elements to try where the usual one leads astray.
const ELEMENTS: [i64; 4] = [NUMBER - 1, 3, 1, 0];

/// A guess, and what is known of its launch.
struct Guess {
    trial: Trial,
    reaches: Reaches,
    sizes: Sizes,
}

/// Bytes that dry runs have asked for.
#[derive(Default)]
struct Sizes {
    memory: BTreeMap<PointerPath, u64>,
    shared: u64,
}

/// End of a dry run.
enum Outcome {
    Ran,
    OutOfFuel,
    /// An access ended that many bytes after the start of a buffer.
    Beyond(PointerPath, u64),
    /// An access ended that many bytes after the start of shared memory.
    BeyondShared(u64),
    Failed,
    /// The simulator cannot run the kernel under any launch.
    Refused,
}

/// A derived launch that keeps to what is stated.
pub(super) fn search(module: &Module, kernel: &Function, stated: &Stated) -> Launch {
    let func = module.func_by_name(&kernel.name);
    let mut search = Search { module, kernel, func, fuel: FUEL, fuel_of_one: FUEL_OF_ONE };
    let (mut first, mut lacks_fuel) = (None, None);
    let mut analysed = 0;
    for trial in search.trials(stated) {
        let reaches = reaches(module, kernel, &trial);
        analysed += u64::from(reaches.evaluated);
        let mut guess = Guess { reaches, trial, sizes: Sizes::default() };
        match search.dry_runs(&mut guess) {
            Outcome::Ran => return search.launch(&guess),
            Outcome::OutOfFuel if lacks_fuel.is_none() => {
                lacks_fuel = Some(search.launch(&guess));
                search.fuel_of_one = FUEL_OF_NEXT;
            }
            outcome => {
                // That the memory has grown did not help.
                guess.sizes = Sizes::default();
                let first = first.get_or_insert_with(|| search.launch(&guess));
                if matches!(outcome, Outcome::Refused) {
                    return first.clone();
                }
            }
        }
        if search.fuel == 0 || analysed > ANALYSED {
            break;
        }
    }
    lacks_fuel.or(first).unwrap_or_else(|| Launch::new(kernel.name.clone()))
}

struct Search<'m> {
    module: &'m Module,
    kernel: &'m Function,
    func: Option<Func>,
    /// Warp instructions that are left for dry runs.
    fuel: u64,
    fuel_of_one: u64,
}

impl Search<'_> {
    /// Guesses to try, in this order.
    fn trials(&self, stated: &Stated) -> Vec<Trial> {
        let roles = roles(self.kernel);
        let shapes = shapes(self.module, self.kernel, stated);
        let free = self.free_numbers(&roles, stated);
        let trial = |shape: usize, number: i64, element: i64| {
            let (grid, block) = shapes[shape];
            let numbers = stated.numbers(numbers(self.kernel, &roles, grid, block, number));
            Trial { grid, block, numbers, element }
        };
        let mut trials: Vec<Trial> = (0..shapes.len()).map(|shape| trial(shape, NUMBER, ELEMENT)).collect();
        if !free.is_empty() {
            trials.extend(NUMBERS.map(|number| trial(0, number, ELEMENT)));
        }
        trials.extend(ELEMENTS.map(|element| trial(0, NUMBER, element)));
        for &index in &free {
            trials.extend(SINGLE_NUMBERS.map(|number| {
                let mut trial = trial(0, NUMBER, ELEMENT);
                trial.numbers[index] = number;
                trial
            }));
        }
        if !free.is_empty() {
            let shapes = 1..shapes.len();
            trials.extend(shapes.flat_map(|shape| NUMBERS.map(|number| trial(shape, number, ELEMENT))));
        }
        trials
    }

    /// The integer parameters whose number neither a count of threads nor a statement fixes.
    fn free_numbers(&self, roles: &BTreeMap<Reg, u8>, stated: &Stated) -> Vec<usize> {
        let params = self.kernel.params.iter().enumerate();
        let is_free = |(index, param): &(usize, &crate::ir::ParamData)| {
            let is_integer = match param.ty {
                ParamType::Scalar(ty) => !ty.is_float(),
                // Its integers are the fields of a structure.
                ParamType::Array(..) => true,
                _ => false,
            };
            let bounds_threads = param.reg.is_some_and(|reg| roles.get(&reg).is_some_and(|&role| role != 0));
            is_integer && !bounds_threads && !stated.has_number(*index)
        };
        params.filter(is_free).map(|(index, _)| index).collect()
    }

    /// Runs the launch of a guess, grown as often as it reaches beyond its memory.
    fn dry_runs(&mut self, guess: &mut Guess) -> Outcome {
        for _ in 0..GROWTHS {
            match self.dry_run(&self.launch(guess)) {
                Outcome::Beyond(path, end) if end <= LARGEST => {
                    guess.sizes.memory.insert(path, end.next_power_of_two());
                }
                Outcome::BeyondShared(end) if self.kernel.arrays.values().any(|array| array.len.is_none()) => {
                    guess.sizes.shared = end.next_power_of_two();
                }
                outcome => return outcome,
            }
        }
        Outcome::Failed
    }

    fn dry_run(&mut self, launch: &Launch) -> Outcome {
        let Some(func) = self.func else { return Outcome::Refused };
        let fuel = self.fuel.min(self.fuel_of_one);
        let settings = Settings { fuel, ..Settings::default() };
        let mut simulation = match Simulation::new(self.module, func, launch, &settings, Machine::default()) {
            Ok(simulation) => simulation,
            Err(error) if error.kind == ErrorKind::Program => return Outcome::Refused,
            Err(_) => return Outcome::Failed,
        };
        let error = loop {
            match simulation.run(u64::MAX) {
                Ok(Progress::Running) => {}
                Ok(_) => break None,
                Err(error) => break Some(error),
            }
        };
        let filled: usize = simulation.memory().regions.iter().map(|region| region.bytes.len()).sum();
        self.fuel = self.fuel.saturating_sub(simulation.issued() + filled as u64 / BYTES_FILLED);
        let Some(error) = error else { return Outcome::Ran };
        let address = error.place.as_ref().and_then(|place| place.address);
        let beyond = |path, at: i64| match u64::try_from(at) {
            Ok(at) => Outcome::Beyond(path, at + WIDEST_ACCESS),
            Err(_) => Outcome::Failed,
        };
        match (error.kind, address.and_then(|address| simulation.nearest(address))) {
            (ErrorKind::Fuel, _) => Outcome::OutOfFuel,
            (ErrorKind::OutOfBounds, Some(Nearest::Param(index, at))) => beyond((index, Vec::new()), at),
            (ErrorKind::OutOfBounds, Some(Nearest::Pointee(line, at))) => {
                let pointee = &simulation.bound().pointees[line];
                beyond((pointee.param, pointee.path.clone()), at)
            }
            (ErrorKind::OutOfBounds, Some(Nearest::Shared(at))) => Outcome::BeyondShared(at + WIDEST_ACCESS),
            _ => Outcome::Failed,
        }
    }

    fn launch(&self, guess: &Guess) -> Launch {
        let Guess { trial, reaches, sizes } = guess;
        let mut launch = Launch::new(self.kernel.name.clone());
        launch.is_derived = true;
        (launch.grid, launch.block) = (trial.grid, trial.block);
        launch.shared = dynamic_shared(self.kernel, reaches, sizes.shared);
        let binding = |key, path, fill| Binding { key, path, fill, is_derived: true, span: Span::default() };
        let key = |index: usize| {
            // `saxpy_param_2` says nothing that its number does not.
            let name = &self.kernel.params[index].name;
            if name.contains("_param_") { FillKey::Index(index as u32) } else { FillKey::Name(name.clone()) }
        };
        let least = |path: &PointerPath| sizes.memory.get(path).copied().unwrap_or(0);
        for index in 0..self.kernel.params.len() {
            let path = (index, Vec::new());
            let fill = fill(self.kernel, index, trial, reaches, least(&path));
            launch.bindings.push(binding(key(index), path.1, fill));
        }
        for input in self.kernel.inputs.values() {
            let fill = Fill::Draws(derive_draws(input.ty));
            launch.bindings.push(binding(FillKey::Name(input.name.clone()), Vec::new(), fill));
        }
        for texture in textures(self.module, self.kernel) {
            launch.bindings.push(binding(FillKey::Name(texture.into()), Vec::new(), derive_texture()));
        }
        for (path, reach) in &reaches.pointees {
            let fill = pointee(self.kernel, path, trial, reaches, reach, least(path));
            launch.bindings.push(binding(key(path.0), path.1.clone(), fill));
        }
        launch
    }
}

/// Names of the module's references to textures that a kernel or some function reads, unless an input or parameter has the
/// name.
fn textures<'m>(module: &'m Module, kernel: &Function) -> Vec<&'m str> {
    let mut read: BTreeSet<Global> = BTreeSet::new();
    for func in module.funcs.values().filter(|func| func.kind == FuncKind::Func).chain([kernel]) {
        for inst in insts(func).filter(|inst| inst.opcode.op.is_texture()) {
            if let Some(Operand::Symbol(Symbol::Global(global))) = inst.args.first() {
                read.insert(*global);
            }
        }
    }
    let is_taken = |name: &str| kernel.params.iter().any(|param| param.name == name);
    let names = read.into_iter().map(|global| module.globals[global].name.as_str());
    names.filter(|name| !is_taken(name)).collect()
}

/// Bytes for shared arrays that the launch sizes, `least` at least.
fn dynamic_shared(kernel: &Function, reaches: &Reaches, least: u64) -> Option<u32> {
    let mut arrays = kernel.arrays.iter().filter(|(_, data)| data.len.is_none()).map(|(array, _)| array).peekable();
    arrays.peek()?;
    let bytes = arrays.map(|array| reaches.arrays.get(&array).and_then(|reach| reach.end).unwrap_or(SHARED)).max();
    Some(bytes.unwrap_or(0).next_multiple_of(16).min(SHARED).max(least) as u32)
}
