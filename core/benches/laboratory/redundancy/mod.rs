//! The passes that take redundancy away beside those of LLVM 19, on the same programs: CPU time,
//! and the instructions that are left.
//!
//! | ours | LLVM's | which besides |
//! |---|---|---|
//! | `gvn-cse` | `early-cse<memssa>` | simplifies, forwards stores to loads, deletes dead code and overwritten stores |
//! | `srqp`, `ssrqp`, `spec-pre` | `gvn` | does the same but for stores, and removes partial redundancy |
//! | `reassociate` | `reassociate` | simplifies, and leaves repetitions to a later pass |
//! | `dce` | `adce` | removes control flow as well |
//! | `pde` | `sink,adce` | sinks past branches only, and never copies |
//! | value names of loads | `gvn` | on programs with memory; finds repetitions, under other names too |
//!
//! Bounds are shares of LLVM's CPU time, as the median over the kinds of programs. Without LLVM's
//! library the times are printed without shares.
//!
//! Ours puts a copy where something is computed again, and leaves what that makes constant or dead
//! to others. So it is measured alone, and cleaned up by `general-optimize`, which follows it in
//! the pipeline `ptxas` as well. The two together do what `early-cse` does, and more where there
//! are loops (values that only feed themselves). LLVM takes it for granted that no two threads
//! write one address at a time, so there `gvn-cse` is told that it may, too.
//!
//! A pass starts here with nothing known of its function, as LLVM's does: graph, dominators and all
//! else that it asks for count as its time. From LLVM's is taken what it needs to run a pass that
//! does nothing, which would count on small programs. Instructions are counted without phis, and
//! without the copies to registers of several definitions, which are the phis of ours.

#[cfg(not(target_os = "wasi"))]
mod llvm;
mod program;

use cranelift_entity::SecondaryMap;
use warpscope_core::ir::{Func, Function, Op, Reg};
use warpscope_core::pass::{Runner, Settings, parse_pipeline};
use warpscope_core::trace::NoTrace;
use warpscope_core::verify;
use warpscope_core::vng::{Foundation, ValueNameGraph, VngOptions};
use warpscope_testkit::paths;

use crate::report::{self, Asked};
use program::{KINDS, Program};

/// Instructions of the programs.
const SIZES: [usize; 2] = [1_000, 10_000];

/// Executed paths that a profile declares.
const PATHS: usize = 50;

/// A pipeline of ours.
struct Ours {
    name: &'static str,
    work: Work,
    /// Is a profile of [`PATHS`] paths declared?
    has_paths: bool,
    /// LLVM's pipeline that it is held against, and the share of its time that is asked.
    beside: Option<(&'static str, f64)>,
    /// May it leave no more instructions than LLVM's `early-cse`?
    leaves_as_few: bool,
}

/// Work of ours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Passes, one after the other.
    Passes(&'static str),
    /// The value name graph with its analyses. It is of interest where there is memory.
    ValueNames,
}

const fn ours(name: &'static str, passes: &'static str, beside: Option<(&'static str, f64)>) -> Ours {
    Ours { name, work: Work::Passes(passes), has_paths: false, beside, leaves_as_few: false }
}

const OURS: [Ours; 12] = [
    ours("dce", "dce", Some(("adce", 1.0))),
    ours("gvn-cse", "gvn-cse", Some(("early-cse<memssa>", 1.0))),
    Ours { leaves_as_few: true, ..ours("gvn-cse, cleaned up", "gvn-cse[forward_stores=true],general-optimize", None) },
    ours("reassociate", "reassociate", Some(("reassociate", 1.0))),
    ours("reassociate, cleaned up", "reassociate,general-optimize", None),
    ours("pde", "pde", Some(("sink,adce", 1.2))),
    Ours { has_paths: true, ..ours("pde over 50 paths", "pde", Some(("sink,adce", 2.0))) },
    ours("srqp", "srqp", Some(("gvn", 1.2))),
    ours("ssrqp", "ssrqp", Some(("gvn", 1.2))),
    ours("spec-pre", "spec-pre", Some(("gvn", 2.0))),
    Ours { has_paths: true, ..ours("spec-pre over 50 paths", "spec-pre", Some(("gvn", 2.0))) },
    Ours { work: Work::ValueNames, ..ours("value names", "", Some(("gvn", 1.0))) },
];

/// LLVM's pipelines.
#[cfg(not(target_os = "wasi"))]
const THEIRS: [&str; 6] =
    ["adce", "early-cse<memssa>", "gvn", "reassociate", "reassociate,early-cse<memssa>", "sink,adce"];

/// Measures all that the command line asks for.
pub fn measure() {
    let theirs = Theirs::find();
    let mut shares: Vec<Vec<Vec<f64>>> = OURS.iter().map(|_| vec![Vec::new(); SIZES.len()]).collect();
    for (kind, branches, memory) in KINDS {
        let name_of = |what: &str| format!("redundancy, {kind}: {what}");
        let chosen: Vec<bool> = OURS.iter().map(|ours| report::chosen(&name_of(ours.name))).collect();
        if !chosen.contains(&true) && !theirs.are_chosen(name_of) {
            continue;
        }
        report::wait_for_turn(&name_of("all passes"));
        let programs = SIZES.map(|size| Program::new(branches, memory, size));
        let times = theirs.measure(name_of, &programs);
        let least = programs.each_ref().map(|program| theirs.left(program));
        for (ours, shares) in
            OURS.iter().zip(&mut shares).zip(chosen).filter(|(_, is_chosen)| *is_chosen).map(|it| it.0)
        {
            if ours.work == Work::ValueNames && !memory {
                continue;
            }
            let name = name_of(ours.name);
            for (place, (size, program)) in SIZES.into_iter().zip(&programs).enumerate() {
                let Measured { nanoseconds, left } = measure_ours(&name, size, program, ours);
                let beside = ours.beside.and_then(|(passes, _)| times.iter().find(|(of, _)| *of == passes));
                if let Some((passes, theirs)) = beside {
                    let share = nanoseconds / theirs[place];
                    report::print(&format!("{name} of LLVM's {passes}"), Some(size), share, "of the time", None);
                    shares[place].push(share);
                }
                if let Some(left) = left {
                    print_left(&name, size, left, least[place].filter(|_| ours.leaves_as_few));
                }
            }
        }
    }
    for (Ours { name, beside, .. }, shares) in OURS.iter().zip(shares) {
        for (size, mut shares) in SIZES.into_iter().zip(shares) {
            let (Some((passes, asked)), false) = (beside, shares.is_empty()) else { continue };
            shares.sort_by(f64::total_cmp);
            let (middle, upper) = (shares[(shares.len() - 1) / 2], shares[shares.len() / 2]);
            let name = format!("redundancy, median: {name} of LLVM's {passes}");
            report::print(&name, Some(size), (middle + upper) / 2.0, "of the time", Some(Asked::AtMost(*asked)));
        }
    }
}

/// Measurements of a pipeline.
struct Measured {
    /// An instruction.
    nanoseconds: f64,
    /// Instructions that are left, if any could be removed.
    left: Option<usize>,
}

/// Prints how many instructions are left, held against those that others leave.
fn print_left(name: &str, size: usize, left: usize, least: Option<usize>) {
    let asked = least.map(|least| Asked::AtMost(least as f64));
    report::print(&format!("{name} leaves"), Some(size), left as f64, "instructions", asked);
}

/// Measures a pipeline of ours.
fn measure_ours(name: &str, size: usize, program: &Program, ours: &Ours) -> Measured {
    let checked = verify::check(&program.wir());
    assert!(checked.diagnostics.is_empty(), "{name}, {size}: {:?}", checked.diagnostics[0]);
    let mut module = checked.module;
    if ours.has_paths {
        paths::declare(&mut module, PATHS, 1);
    }
    let func: Func = module.funcs.keys().next().expect("the program has a kernel");
    let count = program.instructions();
    let Work::Passes(passes) = ours.work else {
        let build = || {
            let foundation = Foundation::compute(&module, &module.funcs[func], VngOptions::default());
            ValueNameGraph::build(&foundation).graph.vertices.len()
        };
        let nanoseconds = report::time(name, Some(size), "ns/instruction", count, None, build);
        return Measured { nanoseconds, left: None };
    };
    let steps = parse_pipeline(passes).expect("passes of ours");
    let mut left = 0;
    let nanoseconds = report::time_on_copies(name, Some(size), "ns/instruction", count, None, &[module], |module| {
        let mut runner = Runner::new(module);
        let timed = report::timed(|| {
            for step in &steps {
                let settings = Settings { knobs: step.knob_values(), ..step.entry().default_settings() };
                runner.run(func, step.entry(), &settings, &mut NoTrace).1.expect("nothing in the way");
            }
        });
        left = instructions(&runner.module().funcs[func]);
        timed
    });
    Measured { nanoseconds, left: Some(left) }
}

/// The instructions of a function, but for the copies that are phis in SSA form.
fn instructions(func: &Function) -> usize {
    let all = || func.block_order().flat_map(|block| func.block_insts(block)).map(|inst| &func.insts[inst]);
    let mut definitions: SecondaryMap<Reg, u32> = SecondaryMap::new();
    all().flat_map(|data| &data.dsts).for_each(|&reg| definitions[reg] += 1);
    all().filter(|data| data.opcode.op != Op::Mov || definitions[data.dsts[0]] < 2).count()
}

/// LLVM, where its library is installed.
struct Theirs {
    #[cfg(not(target_os = "wasi"))]
    llvm: Option<llvm::Llvm>,
}

#[cfg(not(target_os = "wasi"))]
impl Theirs {
    fn find() -> Theirs {
        let llvm = llvm::Llvm::load();
        if llvm.is_none() && report::chosen("redundancy, ") {
            println!("left out: the rows of LLVM 19, whose library (Debian's package libllvm19) is not installed");
        }
        Theirs { llvm }
    }

    /// Whether the command line asks for any of LLVM's passes.
    fn are_chosen(&self, name_of: impl Fn(&str) -> String) -> bool {
        self.llvm.is_some() && THEIRS.iter().any(|passes| report::chosen(&name_of(&format!("LLVM's {passes}"))))
    }

    /// Measures LLVM's passes, and writes the programs into the target folder for whoever wants to look. Gives what the
    /// pipelines take, in nanoseconds an instruction, by size.
    fn measure(&self, name_of: impl Fn(&str) -> String, programs: &[Program]) -> Vec<(&'static str, Vec<f64>)> {
        for (size, program) in SIZES.into_iter().zip(programs) {
            if report::chosen(&name_of("")) {
                let file = name_of(&size.to_string()).replace([':', ','], "").replace(' ', "-");
                let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
                let written = std::fs::write(file.with_extension("ll"), program.ll());
                written
                    .and_then(|()| std::fs::write(file.with_extension("wir"), program.wir()))
                    .expect("a folder to write to");
            }
        }
        let mut times = Vec::new();
        for passes in THEIRS {
            let name = name_of(&format!("LLVM's {passes}"));
            let Some(llvm) = self.llvm.as_ref().filter(|_| report::chosen(&name)) else { continue };
            let measured = SIZES.into_iter().zip(programs).map(|(size, program)| {
                let parsed = llvm.parse(&program.ll());
                let lowest = |passes: &str| (0..ROUNDS).map(|_| parsed.run(passes)).min().expect("some rounds");
                let (nothing, original) = lowest("function(no-op-function)");
                assert_eq!(original, program.instructions(), "both texts are one program");
                let (taken, left) = lowest(&format!("function({passes})"));
                let taken = taken.saturating_sub(nothing).as_secs_f64() * 1e9;
                let nanoseconds = taken / program.instructions() as f64;
                report::print(&name, Some(size), nanoseconds, "ns/instruction", None);
                (nanoseconds, left)
            });
            let measured: Vec<(f64, usize)> = measured.collect();
            SIZES.into_iter().zip(&measured).for_each(|(size, &(_, left))| print_left(&name, size, left, None));
            times.push((passes, measured.iter().map(|&(nanoseconds, _)| nanoseconds).collect()));
        }
        times
    }

    /// The instructions that LLVM's `early-cse` leaves.
    fn left(&self, program: &Program) -> Option<usize> {
        self.llvm.as_ref().map(|llvm| llvm.parse(&program.ll()).run("function(early-cse<memssa>)").1)
    }
}

/// How often LLVM's passes are run; the lowest time counts.
#[cfg(not(target_os = "wasi"))]
const ROUNDS: usize = 7;

#[cfg(target_os = "wasi")]
impl Theirs {
    fn find() -> Theirs {
        Theirs {}
    }

    fn are_chosen(&self, _: impl Fn(&str) -> String) -> bool {
        false
    }

    fn measure(&self, _: impl Fn(&str) -> String, _: &[Program]) -> Vec<(&'static str, Vec<f64>)> {
        Vec::new()
    }

    fn left(&self, _: &Program) -> Option<usize> {
        None
    }
}
