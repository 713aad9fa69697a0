//! Commands of golden files.

use libtest_mimic::Failed;
use warpscope_core::ir::Module;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::session::{Options, Session};
use warpscope_core::text::{Diagnostic, parse, print};
use warpscope_core::verify::check;
use warpscope_core::{ptx, verify};
use warpscope_testkit::laws;

use crate::{Golden, analysis, optimisation, questions, simulation, value_names};

/// Does what the file asks for and gives what comes out.
pub fn run(golden: &Golden) -> Result<String, Failed> {
    match golden.command.as_str() {
        // The canonical text, or what is wrong with the program.
        "parse" | "fmt" => Ok(canonical(&golden.source)),
        // What the verifier says.
        "verify" => Ok(verified(&golden.source)),
        // What PTX becomes, behind what is wrong with it.
        "import" => Ok(imported(&golden.source)),
        // The PTX, behind what it cannot say.
        "export" => Ok(exported(&golden.source, &program(&golden.source)?)),
        // PTX that is read, changed by the passes that follow, and written again, behind what it cannot say.
        "rewrite" => rewritten(golden),
        // The remarks of passes, and the program that they leave.
        "opt" => optimisation::run(golden),
        // The memory that the launch leaves, under every schedule and both models of a warp.
        "sim" => simulation::run(golden, &program(&golden.source)?),
        // What passes asked, and the answers.
        "questions" => questions::run(golden),
        // Names, and how often values are computed again.
        "vng" => value_names::names(golden, &program(&golden.source)?),
        "estimate" => value_names::estimates(golden, &program(&golden.source)?),
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

fn imported(source: &str) -> String {
    let mut imported = ptx::import(source);
    imported.diagnostics.extend(verify::verify(&imported.module));
    render(source, &imported.diagnostics) + &print(&imported.module)
}

fn rewritten(golden: &Golden) -> Result<String, Failed> {
    let imported = ptx::import(&golden.source);
    let steps = parse_pipeline(&golden.words.join(",")).map_err(|error| error.message)?;
    let session = Session::open(imported.module, &Options { steps, ..Options::default() }, &mut || 0);
    Ok(render(&golden.source, &imported.diagnostics) + &exported(&golden.source, session.module()))
}

fn exported(source: &str, module: &Module) -> String {
    let export = ptx::export(module);
    let mut text = render(source, &export.diagnostics);
    for load in &export.plain_loads {
        text += &format!("line {} of the PTX may fault: {load}\n", load.line);
    }
    text + &export.text
}

/// As a shell shows them, each with its code and what it proposes to replace by what.
fn render(source: &str, diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        text += &diagnostic.render("input", source);
        text += &format!("  code: {}", diagnostic.code);
        if let Some(suggestion) = &diagnostic.suggestion {
            let span = suggestion.span.start as usize..suggestion.span.end as usize;
            text += &format!(", replaces `{}` by `{}`", &source[span], suggestion.text);
        }
        text.push('\n');
    }
    text
}
