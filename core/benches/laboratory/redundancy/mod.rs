//! The passes that take redundancy away beside those of LLVM 19, on the same programs: CPU time,
//! and the instructions that are left.
//!
//! | ours | LLVM's | which besides |
//! |---|---|---|
//! | `gvn-cse` | `early-cse<memssa>` | simplifies, forwards stores to loads, deletes dead code and overwritten stores |
//! | | `gvn` | does the same but for stores, and takes partially redundant expressions away |
//! | `reassociate` | `reassociate` | simplifies, and leaves repetitions to a later pass |
//! | `pde` | `sink,adce` | sinks past branches only, and never copies |
//!
//! Bounds in nanoseconds hold on the machine on which LLVM's passes took the times of
//! [`Ours::beside`]. A slower machine is slower for both, so the share of LLVM's time has a bound,
//! too.
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

use crate::inputs::SIZES;
use crate::report::{self, Asked};
use program::{KINDS, Program};

/// A pipeline of ours.
struct Ours {
    name: &'static str,
    passes: &'static str,
    /// The nanoseconds an instruction that are asked.
    asked: Option<f64>,
    /// LLVM's pipeline that it is held against, and the nanoseconds an instruction that this took
    /// where ours was asked to take that many.
    beside: Option<(&'static str, f64)>,
    /// May it leave no more instructions than LLVM's `early-cse`?
    leaves_as_few: bool,
}

const OURS: [Ours; 5] = [
    Ours {
        name: "gvn-cse",
        passes: "gvn-cse",
        asked: Some(150.0),
        beside: Some(("early-cse<memssa>", 350.0)),
        leaves_as_few: false,
    },
    Ours {
        name: "gvn-cse, cleaned up",
        passes: "gvn-cse[forward_stores=true],general-optimize",
        asked: None,
        beside: None,
        leaves_as_few: true,
    },
    Ours {
        name: "reassociate",
        passes: "reassociate",
        asked: Some(200.0),
        beside: Some(("reassociate", 250.0)),
        leaves_as_few: false,
    },
    Ours {
        name: "reassociate, cleaned up",
        passes: "reassociate,general-optimize",
        asked: None,
        beside: None,
        leaves_as_few: false,
    },
    Ours { name: "pde", passes: "pde", asked: Some(700.0), beside: Some(("sink,adce", 718.0)), leaves_as_few: false },
];

/// LLVM's pipelines.
#[cfg(not(target_os = "wasi"))]
const THEIRS: [&str; 5] = ["early-cse<memssa>", "gvn", "reassociate", "reassociate,early-cse<memssa>", "sink,adce"];

/// Measures all that the command line asks for.
pub fn measure() {
    let theirs = Theirs::find();
    for (kind, branches, memory) in KINDS {
        let name_of = |what: &str| format!("redundancy, {kind}: {what}");
        let ours: Vec<&Ours> = OURS.iter().filter(|ours| report::chosen(&name_of(ours.name))).collect();
        if ours.is_empty() && !theirs.are_chosen(name_of) {
            continue;
        }
        report::wait_for_turn(&name_of("all passes"));
        let programs = SIZES.map(|size| Program::new(branches, memory, size));
        let times = theirs.measure(name_of, &programs);
        let least = programs.each_ref().map(|program| if ours.is_empty() { None } else { theirs.left(program) });
        for Ours { name, passes, asked, beside, leaves_as_few } in ours {
            let name = name_of(name);
            let measured = SIZES.into_iter().zip(&programs);
            let measured = measured.map(|(size, program)| measure_ours(&name, size, program, passes, *asked));
            let measured: Vec<Measured> = measured.collect();
            if let (Some((passes, nanoseconds)), Some(asked)) = (beside, asked) {
                let times = times.iter().find(|(of, _)| of == passes).map(|(_, times)| times);
                let name = format!("{name} of LLVM's {passes}");
                for ((size, ours), theirs) in SIZES.into_iter().zip(&measured).zip(times.into_iter().flatten()) {
                    let asked = Asked::AtMost((asked / nanoseconds * 100.0).round() / 100.0);
                    report::print(&name, Some(size), ours.nanoseconds / theirs, "of the time", Some(asked));
                }
            }
            for ((size, ours), least) in SIZES.into_iter().zip(measured).zip(least) {
                print_left(&name, size, ours.left, least.filter(|_| *leaves_as_few));
            }
        }
    }
}

/// Measurements of a pipeline.
struct Measured {
    /// An instruction.
    nanoseconds: f64,
    /// Instructions that are left.
    left: usize,
}

/// Prints how many instructions are left, held against those that others leave.
fn print_left(name: &str, size: usize, left: usize, least: Option<usize>) {
    let asked = least.map(|least| Asked::AtMost(least as f64));
    report::print(&format!("{name} leaves"), Some(size), left as f64, "instructions", asked);
}

/// Measures a pipeline of ours.
fn measure_ours(name: &str, size: usize, program: &Program, passes: &str, asked: Option<f64>) -> Measured {
    let checked = verify::check(&program.wir());
    assert!(checked.diagnostics.is_empty(), "{name}, {size}: {:?}", checked.diagnostics[0]);
    let module = checked.module;
    let func: Func = module.funcs.keys().next().expect("the program has a kernel");
    let steps = parse_pipeline(passes).expect("passes of ours");
    let (count, asked) = (program.instructions(), asked.map(Asked::AtMost));
    let mut left = 0;
    let nanoseconds = report::time_on_copies(name, Some(size), "ns/instruction", count, asked, &[module], |module| {
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
    Measured { nanoseconds, left }
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
                Measured { nanoseconds, left }
            });
            let measured: Vec<Measured> = measured.collect();
            SIZES.into_iter().zip(&measured).for_each(|(size, of)| print_left(&name, size, of.left, None));
            times.push((passes, measured.iter().map(|of| of.nanoseconds).collect()));
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
