//! Transformations that help, found by running the launch after each.
//!
//! ```text
//! estimated gain   a 40, b 30, c 26               the default transforms for a, then b, then c
//! cycles           1000 ─a→ 900 ─b→ 950 ─c→ 940   a helps; after b the launch is never faster than
//!                           900 ─c→ 890           before, so b is refused, and c is tried after a
//! ```
//!
//! 1. Make the default's sequence of transformations to its end, without refused candidates: one
//!    that costs may open one that gains more.
//! 2. Keep the part of it after which the launch was fastest, if that is faster than before.
//! 3. Refuse the transformation after that part, and go on with step 1 from there.
//! 4. When nothing is left to try, try all that was refused once more on what was kept, so that
//!    running the pass again finds nothing more.
//!
//! The default's result is one of those that are compared, so the oracle's is never slower, nor
//! slower than the program without `azp`. Functions are decided one after the other, each with the
//! others as they are then: a transformation that did not help a function may help it once its
//! callers have changed, because their warps wait for other things then.
//!
//! Sound, since it only chooses among what the default may do. Limit: all runs together execute at
//! most [`MOST_INSTRUCTIONS`] instructions of warps; then the answer is what helped so far, and the
//! remark `too-long` says so.
//!
//! Source: AZP, section 4.2 and figure 5: the oracle ignores all slowdowns that the heuristic
//! induces.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::candidates::Writes;
use super::estimate_cache::EstimateCache;
use super::round::{Choice, Round};
use super::rules::Rules;
use crate::derive::launch_under;
use crate::ir::{Func, FuncKind, Function, Launch, Module};
use crate::machine::Machine;
use crate::pass::PassError;
use crate::sim::{ErrorKind, Progress, Settings, SimError, Simulation};
use crate::trace::{NoTrace, Remark};
use crate::view::{Analyses, View};

/// Instructions of warps after which no more runs are made.
pub(super) const MOST_INSTRUCTIONS: u64 = 100_000_000;

/// Cycles of all launches, before and after a transformation; none after it where the launch fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Simulated {
    pub before: u64,
    pub after: Option<u64>,
}

/// Answer of the oracle.
#[derive(Default)]
pub(super) struct Answer {
    /// Candidates that help, in order.
    pub kept: VecDeque<(Writes, Simulated)>,
    /// Candidates that do not help.
    pub refused: BTreeMap<Writes, Simulated>,
    /// Was the limit reached before everything was tried?
    pub is_cut_off: bool,
}

/// Tries the transformations of a function with at most so many instructions of warps. `module` is
/// its program, where an empty function may have its place while the function is changed.
pub(super) fn try_transformations(
    module: &Module,
    func: &Function,
    rules: &Rules,
    most_instructions: u64,
) -> Result<Answer, PassError> {
    let mut trial = Trial::new(module, func, most_instructions)?;
    let mut answer = Answer::default();
    let mut kept = func.clone();
    let failed = |error: SimError| PassError {
        message: format!("`azp.heuristic=oracle` runs the launch, and the program fails as it is: {error}"),
    };
    let mut fastest = match trial.cycles(&kept, rules.costs.machine) {
        Err(error) if error.kind == ErrorKind::Fuel => return Ok(Answer { is_cut_off: true, ..answer }),
        cycles => cycles.map_err(failed)?,
    };
    // Refused since something was kept last.
    let mut refused = BTreeMap::new();
    loop {
        let names: BTreeSet<Writes> = refused.keys().cloned().collect();
        let sequence = trial.sequence(&kept, rules, answer.kept.len(), &names);
        let mut cycles = Vec::new();
        for (_, func) in &sequence {
            cycles.push(trial.cycles(func, rules.costs.machine).ok());
        }
        if trial.instructions_left == 0 {
            answer.is_cut_off = true;
            break;
        }
        let best = (0..cycles.len()).filter(|&step| cycles[step].is_some_and(|cycles| cycles < fastest));
        let helpful = best.min_by_key(|&step| (cycles[step], step)).map_or(0, |step| step + 1);
        let mut sequence = sequence.into_iter().zip(cycles);
        for _ in 0..helpful {
            let Some(((name, func), after)) = sequence.next() else { break };
            answer.kept.push_back((name, Simulated { before: fastest, after }));
            (kept, fastest) = (func, after.unwrap_or(fastest));
            refused.clear();
        }
        match sequence.next() {
            Some(((name, _), after)) => drop(refused.insert(name, Simulated { before: fastest, after })),
            // What was refused before something was kept has its turn again.
            None if helpful > 0 => {}
            None => break,
        }
    }
    answer.refused = refused;
    Ok(answer)
}

/// Programs that are tried.
struct Trial {
    module: Module,
    /// The function's place in it.
    place: Func,
    /// Kernels to run, with their launches: the kernel itself, or those that call the function.
    launches: Vec<(Func, Launch)>,
    instructions_left: u64,
}

impl Trial {
    fn new(module: &Module, func: &Function, instructions_left: u64) -> Result<Trial, PassError> {
        let mut module = module.clone();
        // While a function is changed, it is not in its module, where an empty one keeps its place.
        let is_place = |(_, other): &(Func, &Function)| other.name == func.name || other.name.is_empty();
        let place = module.funcs.iter().find(is_place).map(|(place, _)| place);
        let place = place.unwrap_or_else(|| module.funcs.push(func.clone()));
        module.funcs[place] = func.clone();
        let kernels = callers(&module, place);
        if kernels.is_empty() {
            let message = format!("`azp.heuristic=oracle` runs kernels, and none calls `{}`", func.name);
            return Err(PassError { message });
        }
        // A launch that is not declared is derived once, from the unchanged program.
        let launch = |kernel: Func| launch_under(&module, &module.funcs[kernel], &Settings::default());
        let launches = kernels.into_iter().map(|kernel| (kernel, launch(kernel))).collect();
        Ok(Trial { module, place, launches, instructions_left })
    }

    /// Cycles of all launches together with the function as it is here.
    fn cycles(&mut self, func: &Function, machine: Machine) -> Result<u64, SimError> {
        self.module.funcs[self.place] = func.clone();
        let mut sum = 0u64;
        for (kernel, launch) in &self.launches {
            let settings = Settings { fuel: self.instructions_left, ..Settings::default() };
            let mut simulation: Simulation = Simulation::new(&self.module, *kernel, launch, &settings, machine)?;
            loop {
                match simulation.run(u64::MAX) {
                    Ok(Progress::Running) => {}
                    outcome => {
                        let result = simulation.result();
                        self.instructions_left = self.instructions_left.saturating_sub(result.warp_instructions);
                        outcome?;
                        sum = sum.saturating_add(result.cycles);
                        break;
                    }
                }
            }
        }
        Ok(sum)
    }

    /// Sequence of the default without the refused ones, from `func` on, after `done`
    /// transformations: what each is for, and the function after it.
    fn sequence(
        &self,
        func: &Function,
        rules: &Rules,
        done: usize,
        refused: &BTreeSet<Writes>,
    ) -> Vec<(Writes, Function)> {
        let mut steps: Vec<(Writes, Function)> = Vec::new();
        let mut cache = EstimateCache::default();
        for number in done as i64 + 1..=rules.limit {
            let mut func = steps.last().map_or(func, |(_, func)| func).clone();
            let mut silent = NoTrace;
            let mut view = View::new(&self.module, &mut func, &mut silent, Analyses::default());
            let round = Round::new(&mut view, rules, &mut cache, number, &Choice::BestBut(refused));
            let writes = round.and_then(|round| {
                round.transform(&mut view, |_, it| Remark::applied("tried", it.opportunity.head, String::new()))
            });
            drop(view);
            match writes {
                Some(writes) => steps.push((writes, func)),
                None => break,
            }
        }
        steps
    }
}

/// The kernel itself, or the kernels from which calls lead to a function.
fn callers(module: &Module, func: Func) -> Vec<Func> {
    let mut callers_of: BTreeMap<Func, Vec<Func>> = BTreeMap::new();
    for (caller, body) in &module.funcs {
        let insts = body.block_order().flat_map(|block| body.block_insts(block));
        let callees = insts.filter_map(|inst| body.insts[inst].callee());
        callees.for_each(|callee| callers_of.entry(callee.func).or_default().push(caller));
    }
    let (mut reached, mut open) = (BTreeSet::new(), Vec::from([func]));
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(callers_of.get(&next).into_iter().flatten());
        }
    }
    reached.into_iter().filter(|&func| module.funcs[func].kind == FuncKind::Kernel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::FuncKind;
    use crate::pass::find;
    use crate::text::parse;

    const SOURCE: &str = "kernel k(x: ptr.global restrict, y: ptr.global restrict) {
entry:
    i = mov.u32 %tid
    k = ld.global.u32 x[i]
    w = work.u32 900, i
    r = mul.u32 w, k
    st.global.u32 y[i], r
    ret
    profile zero { entry.k: 1.0 }
}
";

    #[test]
    fn answer_is_cut_off_where_launch_is_too_long() {
        let module = parse(SOURCE).module;
        let mut func = module.funcs.values().find(|func| func.kind == FuncKind::Kernel).expect("a kernel").clone();
        let mut silent = NoTrace;
        let view = View::new(&module, &mut func, &mut silent, Analyses::default());
        let rules = Rules::new(&view, &find("azp").expect("the pass").default_settings());
        let tried = |most| try_transformations(&module, view.func(), &rules, most).expect("an answer");
        let (short, long) = (tried(3), tried(1_000_000));
        assert_eq!((short.is_cut_off, short.kept.len()), (true, 0));
        assert_eq!((long.is_cut_off, long.refused.len()), (false, 1), "the derived launch has no zeros");
    }
}
