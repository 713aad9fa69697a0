//! Writes the answers that the page's first view needs to the file named on the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: first-view FILE");
        return ExitCode::FAILURE;
    };
    let written = warpscope_web::first_view::Record::compute()
        .encode()
        .and_then(|bytes| std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display())));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
