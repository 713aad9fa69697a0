//! What is done to programs, at several sizes: reading, checking, the graph's dominators, and every pass.

use warpscope_core::edit::Silent;
use warpscope_core::graph::{Cfg, Dominators};
use warpscope_core::ir::{Func, Module};
use warpscope_core::pass::{KnobValues, PASSES, Settings, run_pass};
use warpscope_core::{text, verify};
use warpscope_testkit::sample;

use crate::report::{self, Asked};

/// Instructions of the programs.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Nanoseconds an instruction that are asked of passes.
const ASKED_OF_PASSES: &[(&str, f64)] = &[("copy-prop", 60.0), ("dce", 150.0)];

/// Nanoseconds a block that are asked of the dominators.
const ASKED_OF_DOMINATORS: f64 = 60.0;

/// A program of one size.
struct Subject {
    size: usize,
    source: String,
    module: Module,
    /// The kernel that makes it that large.
    func: Func,
}

impl Subject {
    fn new(size: usize) -> Subject {
        let source = sample::program(size);
        let module = text::parse(&source).module;
        let largest = module.funcs.iter().max_by_key(|(_, func)| func.inst_count());
        let func = largest.expect("the program has a kernel").0;
        Subject { size, source, module, func }
    }

    fn instructions(&self) -> usize {
        self.module.funcs.values().map(|func| func.inst_count()).sum()
    }
}

/// Measures all of them that the command line asks for.
pub fn measure() {
    if !["parse", "verify", "dominators"].iter().any(|group| report::chosen(group))
        && !PASSES.iter().any(|pass| report::chosen(pass.info.name))
    {
        return;
    }
    let subjects = SIZES.map(Subject::new);
    if report::chosen("parse") {
        for subject in &subjects {
            let count = subject.instructions();
            report::time("parse", Some(subject.size), "ns/instruction", count, None, || text::parse(&subject.source));
        }
    }
    if report::chosen("verify") {
        for subject in &subjects {
            let count = subject.instructions();
            report::time("verify", Some(subject.size), "ns/instruction", count, None, || {
                verify::verify(&subject.module)
            });
        }
    }
    if report::chosen("dominators") {
        for subject in &subjects {
            dominators(subject);
        }
    }
    for pass in PASSES.iter().filter(|pass| report::chosen(pass.info.name)) {
        let asked = ASKED_OF_PASSES.iter().find(|(name, _)| *name == pass.info.name);
        let asked = asked.map(|&(_, nanoseconds)| Asked::AtMost(nanoseconds));
        let settings = Settings { knobs: KnobValues::defaults(pass.info.knobs), fast_math: true };
        for subject in &subjects {
            // A pass changes what it is given, so each call gets a fresh copy, and the copying is not counted.
            report::time_on_copies(
                pass.info.name,
                Some(subject.size),
                "ns/instruction",
                subject.instructions(),
                asked,
                &subject.module,
                |module| run_pass(module, subject.func, pass, &settings, &mut Silent),
            );
        }
    }
}

fn dominators(subject: &Subject) {
    let cfg = Cfg::compute(&subject.module.funcs[subject.func]);
    let asked = Some(Asked::AtMost(ASKED_OF_DOMINATORS));
    report::time("dominators", Some(subject.size), "ns/block", cfg.block_count(), asked, || Dominators::compute(&cfg));
}
