//! What a golden file may ask for.

use libtest_mimic::Failed;
use warpscope_core::ir::Module;
use warpscope_core::text::{Diagnostic, parse, print};
use warpscope_core::verify::check;
use warpscope_testkit::laws;

use crate::{Golden, analysis, optimisation};

/// Does what the file asks for and gives what comes out.
pub fn run(golden: &Golden) -> Result<String, Failed> {
    match golden.command.as_str() {
        // The canonical text, or what is wrong with the program.
        "parse" | "fmt" => Ok(canonical(&golden.source)),
        // What the verifier says.
        "verify" => Ok(verified(&golden.source)),
        // The remarks of passes, and the program that they leave.
        "opt" => optimisation::run(golden),
        // What an analysis says of each function.
        _ => analysis::run(&golden.command, &program(&golden.source)?),
    }
}

/// The program; a law of its own is that it survives printing and parsing.
pub fn program(source: &str) -> Result<Module, Failed> {
    Ok(laws::print_then_parse_is_identity(source)?)
}

fn canonical(source: &str) -> String {
    let parsed = parse(source);
    let diagnostics = render(source, &parsed.diagnostics);
    if parsed.has_errors() { diagnostics } else { diagnostics + &print(&parsed.module) }
}

fn verified(source: &str) -> String {
    let diagnostics = check(source).diagnostics;
    if diagnostics.is_empty() { "valid\n".to_string() } else { render(source, &diagnostics) }
}

fn render(source: &str, diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|diagnostic| diagnostic.render("input", source)).collect()
}
