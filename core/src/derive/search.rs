//! The search for a launch that a kernel runs under: guesses, each tried in the simulator.
//!
//! ```text
//! guess → how far it reaches → launch → dry run ──ran──▶ taken
//!   ▲                              ▲        ├─ beyond a buffer: the buffer grows ─┐
//!   └── next guess ◀── it fails ───┼────────┘                                     │
//!                                  └──────────────────────────────────────────────┘
//! ```
//!
//! 1. The first guess is the usual one, then the same with other blocks.
//! 2. Where a guess fails, what the failing address or branch depends on changes ([`causes`](super::causes),
//!    [`guided`](super::guided)); a change that fails elsewhere is the next guess to change.
//! 3. Other numbers for the parameters that bound no threads, all of them at once; smaller elements for all buffers of
//!    integers; numbers one by one; blocks and numbers together.
//! 4. Once a guess runs to its end, changes that reach more blocks are taken.
//!
//! The first guess that runs to its end is taken, else the first that only lacked fuel, else the first one. What is
//! stated is in every guess.
//!
//! Cost: [`ANALYSED`] instructions that [`reaches`] evaluates and [`FUEL`] warp instructions of dry runs, at most; a
//! small part of them, [`COVERING`] and [`COVERING_WORK`], for step 4.

use super::causes::{Causes, Definitions};
use super::dry_run::{FUEL_OF_ONE, GROWTHS, LARGEST, Outcome, Run, dry_run, shared_grows};
use super::fills::{fill, pointee};
use super::guided::{Aim, Shapes, changes};
use super::insts;
use super::ranges::{PointerPath, Reaches, Site, reaches};
use super::shapes::shapes;
use super::sizes::{NUMBER, numbers, roles};
use super::stated::Stated;
use super::trial::{ELEMENT, Trial};
use crate::compact_sort::CompactSort;
use crate::ir::{
    Binding, Fill, FillKey, Func, FuncKind, Function, Global, Launch, Module, Operand, ParamType, Reg, Span, Symbol,
};
use crate::sim::{derive_draws, derive_texture};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Instructions evaluated by the analyses of all guesses; after them the best guess so far is taken.
const ANALYSED: u64 = 8_000_000;
/// Warp instructions of all dry runs; after them the best guess so far is taken.
const FUEL: u64 = 6_000_000;
/// Fuel of a dry run once a guess has lacked it.
const FUEL_OF_NEXT: u64 = 200_000;
/// Bytes beyond which no buffer grows before step 3.
const LARGEST_AT_FIRST: u64 = 1 << 20;
/// Bytes of shared memory that the launch has where the analysis finds no bound.
const SHARED: u64 = 48 << 10;
/// Values for the parameters that bound nothing, after the usual one.
const NUMBERS: [i64; 9] = [64, 256, 8, 4, 1024, 2, 1, 32, 0];
/// Values that one such parameter may need while the others keep theirs.
const SINGLE_NUMBERS: [i64; 4] = [1, 4, 64, 0];
/// Guesses of step 2.
const GUIDED: u32 = 96;
/// Branches, the most frequent ones, that a lack of fuel is blamed on.
const HOT: usize = 3;
/// Warp instructions of dry runs for step 4.
const COVERING: u64 = 500_000;
/// Instructions evaluated and registers joined for step 4.
const COVERING_WORK: u64 = 10_000_000;
/// Guesses of step 4.
const COVERING_GUESSES: u32 = 48;
/// Changes of step 4 for one branch.
const CHANGES_OF_BRANCH: usize = 16;
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

/// A derived launch that keeps to what is stated.
pub(super) fn search(module: &Module, kernel: &Function, stated: &Stated) -> Launch {
    let Some(func) = module.func_by_name(&kernel.name) else { return Launch::new(kernel.name.clone()) };
    let roles = roles(kernel);
    let shapes = Shapes { kernel, roles: &roles, list: shapes(module, kernel, stated) };
    let mut search = Search {
        module,
        kernel,
        func,
        stated,
        shapes,
        definitions: None,
        tried: Vec::new(),
        fuel: FUEL,
        fuel_of_one: FUEL_OF_ONE,
        analysed: ANALYSED,
        work: u64::MAX,
        largest: LARGEST_AT_FIRST,
        first: None,
        lacks_fuel: None,
    };
    let trials = search.trials();
    // The usual guess comes a second time, when buffers may grow further.
    let again = trials[..1].to_vec();
    for (number, trial) in trials[..1].iter().chain(&again).chain(&trials[1..]).cloned().enumerate() {
        if search.is_spent() {
            break;
        }
        let Some((guess, run)) = search.attempt(trial) else { continue };
        if run.outcome == Outcome::Ran {
            return search.covering(guess, run);
        }
        if run.outcome == Outcome::Refused {
            break;
        }
        if number == 0 {
            if let Some((guess, run)) = search.guided(guess, run) {
                return search.covering(guess, run);
            }
            search.largest = LARGEST;
            search.tried.clear();
        }
    }
    search.lacks_fuel.or(search.first).unwrap_or_else(|| Launch::new(kernel.name.clone()))
}

struct Search<'m> {
    module: &'m Module,
    kernel: &'m Function,
    func: Func,
    stated: &'m Stated,
    shapes: Shapes<'m>,
    definitions: Option<Definitions<'m>>,
    /// Guesses so far.
    tried: Vec<Trial>,
    /// Warp instructions that are left for dry runs.
    fuel: u64,
    fuel_of_one: u64,
    /// Instructions that are left for analyses.
    analysed: u64,
    /// Analysis work that is left for step 4.
    work: u64,
    /// Bytes beyond which no buffer grows.
    largest: u64,
    /// Launch of the first guess.
    first: Option<Launch>,
    /// First launch that only lacked fuel.
    lacks_fuel: Option<Launch>,
}

impl<'m> Search<'m> {
    fn is_spent(&self) -> bool {
        self.fuel == 0 || self.analysed == 0 || self.work == 0
    }

    /// Analyses a guess and runs it; none if that was done before.
    fn attempt(&mut self, trial: Trial) -> Option<(Guess, Run)> {
        if self.tried.contains(&trial) {
            return None;
        }
        self.tried.push(trial.clone());
        let reaches = reaches(self.module, self.kernel, &trial);
        self.analysed = self.analysed.saturating_sub(u64::from(reaches.evaluated));
        self.work = self.work.saturating_sub(reaches.work);
        let mut guess = Guess { reaches, trial, sizes: Sizes::default() };
        let run = self.dry_runs(&mut guess);
        match run.outcome {
            Outcome::Ran => {}
            Outcome::OutOfFuel if self.lacks_fuel.is_none() => {
                self.lacks_fuel = Some(self.launch(&guess));
                self.fuel_of_one = FUEL_OF_NEXT;
            }
            _ if self.first.is_none() => {
                // That the memory has grown did not help.
                guess.sizes = Sizes::default();
                self.first = Some(self.launch(&guess));
            }
            _ => {}
        }
        Some((guess, run))
    }

    /// Changes what failures depend on until a guess runs.
    fn guided(&mut self, mut guess: Guess, mut run: Run) -> Option<(Guess, Run)> {
        let mut seen: BTreeSet<Site> = BTreeSet::new();
        let mut attempts = GUIDED;
        // The rest is for step 3.
        let (least_fuel, least_analysed) = (self.fuel / 8, self.analysed / 2);
        'moves: loop {
            seen.extend(run.failed.map(|(site, _)| site));
            let (causes, aim) = self.causes(&guess, &run);
            for trial in changes(&guess.trial, &causes, aim, self.stated, &self.shapes) {
                attempts -= 1;
                if attempts == 0 || self.fuel <= least_fuel || self.analysed <= least_analysed {
                    return None;
                }
                let Some((next, found)) = self.attempt(trial) else { continue };
                let is_new = found.failed.is_some_and(|(site, _)| !seen.contains(&site));
                let is_nearer = found.failed == run.failed && found.distance < run.distance / 2;
                match found.outcome {
                    Outcome::Ran => return Some((next, found)),
                    Outcome::Refused => return None,
                    _ if is_nearer || is_new && found.reached.len() >= run.reached.len() => {
                        (guess, run) = (next, found);
                        continue 'moves;
                    }
                    _ => {}
                }
            }
            return None;
        }
    }

    /// Causes of a failure.
    fn causes(&mut self, guess: &Guess, run: &Run) -> (Causes, Aim) {
        let reaches = &guess.reaches;
        let (module, func) = (self.module, self.func);
        let definitions = self.definitions.get_or_insert_with(|| Definitions::new(module, func));
        match (&run.outcome, run.failed) {
            (Outcome::OutOfFuel, _) => {
                (definitions.of_branches(run.branches.iter().take(HOT).copied(), reaches), Aim::Shorten)
            }
            (_, Some((site, block))) => {
                let mut causes = definitions.of_address(site, reaches);
                if causes.list.is_empty() {
                    causes = definitions.of_branches(definitions.branches_before(site.0, block), reaches);
                }
                (causes, if run.is_before { Aim::Raise } else { Aim::Run })
            }
            _ => (Causes::default(), Aim::Run),
        }
    }

    /// The launch of a guess that runs, or of one that reaches more blocks.
    fn covering(&mut self, mut guess: Guess, mut run: Run) -> Launch {
        self.fuel = self.fuel.min(COVERING);
        self.work = COVERING_WORK;
        self.fuel_of_one = FUEL_OF_NEXT;
        let mut attempts = COVERING_GUESSES;
        'moves: loop {
            let mut branches = run.branches.clone();
            branches.compact_sort();
            for branch in branches {
                let (func, inst) = branch;
                let targets = self.module.funcs[func].insts[inst].targets();
                if targets.iter().all(|&target| run.reached.contains(&(func, target))) {
                    continue;
                }
                let (module, kernel) = (self.module, self.func);
                let definitions = self.definitions.get_or_insert_with(|| Definitions::new(module, kernel));
                let causes = definitions.of_branches([branch], &guess.reaches);
                let changes = changes(&guess.trial, &causes, Aim::Reach, self.stated, &self.shapes);
                for trial in changes.into_iter().take(CHANGES_OF_BRANCH) {
                    if attempts == 0 || self.is_spent() {
                        return self.launch(&guess);
                    }
                    let Some((next, found)) = self.attempt(trial) else { continue };
                    attempts -= 1;
                    if found.outcome == Outcome::Ran && found.reached.len() > run.reached.len() {
                        (guess, run) = (next, found);
                        continue 'moves;
                    }
                }
            }
            return self.launch(&guess);
        }
    }

    /// Guesses to try, in this order.
    fn trials(&self) -> Vec<Trial> {
        let (stated, roles, shapes) = (self.stated, self.shapes.roles, &self.shapes.list);
        let free = self.free_numbers(roles, stated);
        let trial = |shape: usize, number: i64, element: i64| {
            let (grid, block) = shapes[shape];
            let numbers = stated.numbers(numbers(self.kernel, roles, grid, block, number));
            Trial::new(grid, block, numbers, element)
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
    fn dry_runs(&mut self, guess: &mut Guess) -> Run {
        let mut growths = 0;
        // A guess that has run for long before it fails is not worth growing.
        let least = self.fuel.saturating_sub(self.fuel_of_one);
        loop {
            let mut run = dry_run(self.module, self.func, &self.launch(guess), self.fuel.min(self.fuel_of_one));
            self.fuel = self.fuel.saturating_sub(run.cost);
            match run.outcome {
                Outcome::Beyond(path, end) if end <= self.largest && growths < GROWTHS && self.fuel > least => {
                    guess.sizes.memory.insert(path, end.next_power_of_two());
                }
                Outcome::BeyondShared(end) if growths < GROWTHS && shared_grows(self.kernel, end) => {
                    guess.sizes.shared = end.next_power_of_two();
                }
                Outcome::Beyond(..) | Outcome::BeyondShared(_) => {
                    run.outcome = Outcome::Failed;
                    return run;
                }
                _ => return run,
            }
            growths += 1;
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

/// Names of the module's references to textures that a kernel or some function reads, unless an
/// input or parameter has the name.
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
pub(super) fn dynamic_shared(kernel: &Function, reaches: &Reaches, least: u64) -> Option<u32> {
    let mut arrays = kernel.arrays.iter().filter(|(_, data)| data.len.is_none()).map(|(array, _)| array).peekable();
    arrays.peek()?;
    let bytes = arrays.map(|array| reaches.arrays.get(&array).and_then(|reach| reach.end).unwrap_or(SHARED)).max();
    Some(bytes.unwrap_or(0).next_multiple_of(16).min(SHARED).max(least) as u32)
}
