//! `opt` files: `// test: opt PASSES [fast-math] [again]`.
//!
//! Output is every remark as a comment, then the program. Unasked, the program is verified
//! after each rewrite, going back is compared with going forward, each pass must find nothing in a
//! second run (`again` in the head says that this pass documents why it does), and the simulator
//! must compute the same memory before and after on many launches.

use std::fmt::Write;

use libtest_mimic::Failed;
use warpscope_core::ir::Module;
use warpscope_core::pass::{PASSES, Step, parse_pipeline};
use warpscope_core::session::Session;
use warpscope_core::text::print;
use warpscope_testkit::laws;

use crate::{Golden, command};

/// Runs the passes of a golden file.
pub fn run(golden: &Golden) -> Result<String, Failed> {
    let passes = golden.words.first().map_or("", String::as_str);
    let says = |word: &str| golden.words.iter().any(|other| other == word);
    let steps = parse_pipeline(passes).map_err(|error| error.message)?;
    let module = command::program(&golden.source)?;
    let mut memory = laws::Memory::of(&module, says("fast-math"));
    let session = checked(&module, &steps, &mut memory, says("fast-math"), says("again"))?;
    Ok(remarks(&session) + &print(session.module()))
}

/// Every pass of the list, by itself, on a program that has no expectation of its own.
pub fn every_pass_is_sound(module: &Module) -> Result<(), Failed> {
    let mut memories = [false, true].map(|fast_math| laws::Memory::of(module, fast_math));
    for pass in PASSES {
        let step = Step::new(pass.info.name).map_err(|error| error.message)?;
        let fast_math = pass.info.needs_fast_math;
        checked(module, &[step], &mut memories[usize::from(fast_math)], fast_math, false)
            .map_err(|broken| format!("`{}`: {}", pass.info.name, broken.message().unwrap_or_default()))?;
    }
    Ok(())
}

/// `memory` is what the module leaves behind before the passes.
fn checked(
    module: &Module,
    steps: &[Step],
    memory: &mut laws::Memory,
    fast_math: bool,
    again: bool,
) -> Result<Session, Failed> {
    let session = laws::every_step_is_sound(module, steps, fast_math)?;
    memory.is_the_same_after(session.module())?;
    if !again {
        laws::a_second_run_finds_nothing(module, steps, fast_math)?;
    }
    Ok(session)
}

fn remarks(session: &Session) -> String {
    let mut text = String::new();
    for (pass, report) in session.reports().iter().enumerate() {
        for event in session.journal().events_of(pass) {
            let remark = &event.remark;
            let block = &session.module().funcs[event.func].blocks[remark.block].name;
            let kind = remark.kind.name();
            let _ = writeln!(text, "// {} {kind} {} at {block}: {}", report.name, remark.rule, remark.message);
        }
        if let Some(error) = &report.error {
            let _ = writeln!(text, "// {} failed: {}", report.name, error.message);
        }
    }
    text
}
