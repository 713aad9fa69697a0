//! Optimises a PTX file and prints it as PTX: `cargo run --example optimize_ptx kernel.ptx @ptxas`.

use std::process::ExitCode;

use warpscope_core::{Diagnostic, export, optimize, parse, trace};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else { return fail("usage: optimize_ptx FILE [PASSES]") };
    let passes = arguments.next().unwrap_or_else(|| "@ptxas".to_owned());
    let source = match std::fs::read_to_string(&path) {
        Ok(source) => source,
        Err(error) => return fail(&format!("{path}: {error}")),
    };
    let optimized = parse(&source).map_err(|errors| all(&errors)).and_then(|module| optimize(module, &passes));
    let session = match optimized {
        Ok(session) => session,
        Err(error) => return fail(&error),
    };
    trace(&session).iter().for_each(|line| eprintln!("{line}"));
    let exported = export(session.module());
    if exported.diagnostics.iter().any(Diagnostic::is_error) {
        return fail(&all(&exported.diagnostics));
    }
    print!("{}", exported.text);
    ExitCode::SUCCESS
}

fn all(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect::<Vec<_>>().join("\n")
}

fn fail(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}
