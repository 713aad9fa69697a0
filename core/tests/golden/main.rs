//! The golden files: a program, what is done to it, and what has to come out.
//!
//! ```text
//! // test: opt copy-prop,dce
//! kernel k() {
//! …
//! // ----
//! what is expected
//! ```
//!
//! The first line says what is done: a [`command`] and its words. `BLESS=1 cargo test --test
//! golden` writes what comes out as what is expected; read the difference before committing it.
//! Every program is also printed and parsed again, and an `opt` file is put through all the laws of
//! the test kit: see [`optimisation`]. The examples of the page, which expect nothing in
//! particular, go through them with every pass.

mod analysis;
mod command;
mod optimisation;
mod questions;
mod simulation;
mod value_names;

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use warpscope_core::text::CODES;

/// Separator between a program and its expected output.
const SEPARATOR: &str = "// ----";

fn main() {
    let arguments = Arguments::from_args();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut trials = Vec::new();
    for (folder, prefix) in [(here.join("tests/golden"), "golden"), (here.join("../www/examples"), "example")] {
        for path in files(&folder, "wir").into_iter().filter(|path| !is_launch_of_ptx(path)) {
            let name = format!("{prefix}/{}", path.strip_prefix(&folder).unwrap_or(&path).display());
            trials.push(match prefix {
                "golden" => Trial::test(name, move || golden(&path)),
                _ => Trial::test(name, move || example(&path)),
            });
        }
    }
    let folder = here.join("tests/golden");
    for path in files(&folder, "ptx") {
        let name = format!("golden/{}", path.strip_prefix(&folder).unwrap_or(&path).display());
        trials.push(Trial::test(name, move || golden(&path)));
    }
    trials.push(Trial::test("every code of a diagnostic has a file", move || {
        every_code_has_a_file(&folder.join("errors"))
    }));
    let examples = here.join("../www/examples");
    for path in files(&examples, "ptx") {
        let name = format!("example/{}", path.strip_prefix(&examples).unwrap_or(&path).display());
        trials.push(Trial::test(name, move || ptx_example(&path)));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// These need a text of megabytes, a name of kilobytes, or a run; their tests are elsewhere.
const TESTED_ELSEWHERE: [&str; 3] = ["text-too-long", "name-too-long", "run-failed"];

/// A code's file shows it, whatever else it shows.
fn every_code_has_a_file(folder: &Path) -> Result<(), Failed> {
    for code in CODES.iter().filter(|code| !TESTED_ELSEWHERE.contains(code)) {
        let paths = ["wir", "ptx"].map(|extension| folder.join(format!("{code}.{extension}")));
        let text = paths.iter().find_map(|path| fs::read_to_string(path).ok());
        let text = text.ok_or_else(|| format!("errors/{code}.wir is missing"))?;
        if !text
            .lines()
            .any(|line| line.strip_prefix("  code: ").is_some_and(|rest| rest.split(',').next() == Some(code)))
        {
            return Err(format!("errors/{code} does not show its code").into());
        }
    }
    Ok(())
}

/// All files with an extension below a folder, sorted.
fn files(folder: &Path, wanted: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == wanted) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// `saxpy.launch.wir` says how the PTX beside it is run, and is no program by itself.
fn is_launch_of_ptx(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".launch.wir")
}

/// A golden file in its parts.
struct Golden {
    /// Command: `opt`.
    command: String,
    /// How: `copy-prop,dce`.
    words: Vec<String>,
    /// The program, an empty line in place of the head so that lines keep their numbers.
    source: String,
    /// Expected output.
    expected: String,
}

impl Golden {
    fn parse(text: &str) -> Result<Golden, Failed> {
        let (head, _) = text.split_once('\n').unwrap_or((text, ""));
        let mut words = head.strip_prefix("// test:").ok_or("the first line is no `// test: …`")?.split_whitespace();
        let command = words.next().ok_or("the first line does not say what to do")?.to_string();
        let separator = format!("\n{SEPARATOR}\n");
        let (source, expected) = text.split_once(&separator).unwrap_or((text, ""));
        Ok(Golden {
            command,
            words: words.map(str::to_string).collect(),
            source: format!("{}\n", source[head.len()..].trim_end()),
            expected: expected.to_string(),
        })
    }
}

fn golden(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let golden = Golden::parse(&text)?;
    let found = command::run(&golden)?;
    if found == golden.expected {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        let (head, _) = text.split_once('\n').unwrap_or((&text, ""));
        fs::write(path, format!("{head}{}{SEPARATOR}\n{found}", golden.source))?;
        return Ok(());
    }
    warpscope_testkit::laws::same_text("the command", &golden.expected, &found)?;
    Ok(())
}

fn example(path: &Path) -> Result<(), Failed> {
    let source = fs::read_to_string(path)?;
    let module = warpscope_testkit::laws::print_then_parse_is_identity(&source)?;
    optimisation::every_pass_is_sound(&module)
}

fn ptx_example(path: &Path) -> Result<(), Failed> {
    let imported = warpscope_core::ptx::import(&fs::read_to_string(path)?);
    if let Some(diagnostic) = imported.diagnostics.first() {
        return Err(format!("{}: {}", diagnostic.code, diagnostic.message).into());
    }
    let module = warpscope_testkit::laws::print_then_parse_is_identity(&warpscope_core::text::print(&imported.module))?;
    optimisation::every_pass_is_sound(&module)
}
