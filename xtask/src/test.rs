//! Everything that proves the laboratory works, and one line that sums it up.
//!
//! ```text
//! format ─ lint ─ no-std ─ docs ─ native    what this machine runs
//! site ─ pack ─ browser                     beside it, what needs WebAssembly or a browser
//! ```
//!
//! Either half is in the order of its cost. The second one is a process of its own, since each
//! spends much of its time on one core: what it prints follows when the first one is done. A
//! failing step does not keep the later ones from running. The last line counts tests: each native
//! test, each test under Node, and one for each check without tests of its own.
//!
//! Generated programs are the same in every run, so that a commit is either good or it is not;
//! `--seed random` draws others.

use std::env;
use std::io::{BufRead, BufReader, pipe};
use std::num::NonZero;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::SystemTime;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::{chromium, cuda, pack, progress, serve, setup, site, tools, workspace};

#[derive(clap::Args)]
pub struct Options {
    /// The steps to run; all of them if none is named.
    steps: Vec<Step>,
    /// Only what needs neither WebAssembly nor a browser: format, lint, native.
    #[arg(long, conflicts_with = "steps")]
    quick: bool,
    /// Only tests whose name contains this.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Seed of generated programs: another number, or `random`, draws programs that no run has drawn before.
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = seed)]
    seed: u64,
}

/// A number, or one that depends on the time.
fn seed(text: &str) -> Result<u64, String> {
    if text != "random" {
        return text.parse().map_err(|_| "neither a number nor `random`".to_owned());
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(since.as_nanos() as u64)
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// The sources are formatted.
    Format,
    /// Clippy finds nothing to warn about.
    Lint,
    /// The core compiles for a machine without an operating system.
    NoStd,
    /// The documentation builds without a warning.
    Docs,
    /// The tests of all crates, on this machine.
    Native,
    /// The page builds and is within its size budget.
    Site,
    /// The npm package's tarball works in Node, through a bundler and in a plain page.
    Pack,
    /// The page does in Chromium what a person expects.
    Browser,
}

impl Step {
    /// Does it need WebAssembly or a browser?
    fn is_of_the_page(self) -> bool {
        matches!(self, Step::Site | Step::Pack | Step::Browser)
    }
}

const QUICK: [Step; 3] = [Step::Format, Step::Lint, Step::Native];

/// How many tests passed and failed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Tally {
    passed: usize,
    failed: usize,
}

/// Runs the chosen steps and ends the process with status 1 if anything failed.
pub fn test(options: &Options) -> Result<()> {
    let steps = match (options.quick, options.steps.as_slice()) {
        (true, _) => &QUICK[..],
        (false, []) => Step::value_variants(),
        (false, steps) => steps,
    };
    let (page, machine): (Vec<Step>, Vec<Step>) = steps.iter().partition(|step| step.is_of_the_page());
    let (tally, failed_steps) = match (machine.is_empty(), page.is_empty()) {
        (false, false) => {
            // Rustup is not made for two at a time. What fails here fails again in the step that needs it.
            let _ = setup::compilation_target(setup::WASM);
            let beside = Beside::start(&page, options.filter.as_deref())?;
            let (mut tally, mut failed_steps) = run_all(&machine, options);
            let (others, failed_others) = beside.finish()?;
            tally.add(others);
            failed_steps.extend(failed_others);
            (tally, failed_steps)
        }
        _ => run_all(steps, options),
    };
    if !failed_steps.is_empty() {
        println!("{FAILED_STEPS}{}", failed_steps.join(", "));
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    std::process::exit(i32::from(tally.failed > 0));
}

/// Runs steps one after the other. Gives the names of those that failed, too.
fn run_all(steps: &[Step], options: &Options) -> (Tally, Vec<String>) {
    let mut total = Tally::default();
    let mut failed_steps = Vec::new();
    for &step in steps {
        println!();
        let tally = run(step, steps, options).unwrap_or_else(|error| {
            println!("error: {error:#}");
            Tally { passed: 0, failed: 1 }
        });
        total.add(tally);
        if tally.failed > 0 {
            failed_steps.push(name(step));
        }
    }
    (total, failed_steps)
}

/// Prefix of the line that names the failed steps.
const FAILED_STEPS: &str = "failed steps: ";

/// Another run of this program, which takes some of the steps.
struct Beside {
    process: Child,
    steps: Vec<String>,
    lines: Receiver<String>,
}

impl Beside {
    fn start(steps: &[Step], filter: Option<&str>) -> Result<Beside> {
        let steps: Vec<String> = steps.iter().map(|&step| name(step)).collect();
        let (reader, writer) = pipe()?;
        let mut command = Command::new(env::current_exe()?);
        command.arg("test").args(&steps).args(filter.map(|filter| format!("--filter={filter}")));
        let process = command.stdout(writer.try_clone()?).stderr(writer).spawn().context("cannot run beside itself")?;
        // The command holds the pipe's other end, which has to close when the process ends.
        drop(command);
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
                let _ = send.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
        Ok(Beside { process, steps, lines })
    }

    /// Prints what it has printed and will, and gives what it found.
    fn finish(mut self) -> Result<(Tally, Vec<String>)> {
        let mut told = Told::default();
        for line in &self.lines {
            if !told.hear(&line) {
                println!("{line}");
            }
        }
        let good = self.process.wait()?.success();
        Ok(told.outcome(good, self.steps))
    }
}

/// Last lines of another run.
#[derive(Default)]
struct Told {
    tally: Option<Tally>,
    failed_steps: Vec<String>,
}

impl Told {
    /// Was this one of those lines?
    fn hear(&mut self, line: &str) -> bool {
        if let Some(names) = line.strip_prefix(FAILED_STEPS) {
            self.failed_steps = names.split(", ").map(str::to_owned).collect();
            return true;
        }
        let counts = line.strip_suffix(" failed").and_then(|line| line.split_once(" passed, "));
        let numbers = counts.and_then(|(passed, failed)| passed.parse().ok().zip(failed.parse().ok()));
        self.tally = numbers.map(|(passed, failed)| Tally { passed, failed }).or(self.tally);
        numbers.is_some()
    }

    /// A run that ended before it could tell has failed, with all of its steps.
    fn outcome(self, good: bool, steps: Vec<String>) -> (Tally, Vec<String>) {
        let tally = self.tally.unwrap_or_default().or_failed(good && self.tally.is_some());
        let is_named = tally.failed == 0 || !self.failed_steps.is_empty();
        (tally, if is_named { self.failed_steps } else { steps })
    }
}

fn name(step: Step) -> String {
    let value = step.to_possible_value().expect("no step is hidden");
    value.get_name().to_owned()
}

fn run(step: Step, steps: &[Step], options: &Options) -> Result<Tally> {
    let filter = options.filter.as_deref();
    match step {
        Step::Format => check("format", tools::cargo().args(["fmt", "--all", "--check"])),
        Step::Lint => check(
            "lint",
            tools::cargo().args([
                "clippy",
                "--quiet",
                "--locked",
                "--workspace",
                "--all-targets",
                "--",
                "--deny",
                "warnings",
            ]),
        ),
        Step::NoStd => {
            setup::compilation_target(setup::BARE_METAL)?;
            check(
                "compile the core without std",
                tools::cargo().args([
                    "check",
                    "--quiet",
                    "--locked",
                    "--package",
                    "warpscope-core",
                    "--no-default-features",
                    "--target",
                    setup::BARE_METAL,
                ]),
            )
        }
        Step::Docs => check(
            "document the crates",
            tools::cargo()
                .args(["doc", "--quiet", "--locked", "--no-deps", "--workspace"])
                .env("RUSTDOCFLAGS", "--deny warnings"),
        ),
        Step::Native => native(filter, options.seed),
        Step::Site => {
            // All that is compiled to WebAssembly at once keeps more than one core busy.
            if steps.contains(&Step::Pack) {
                setup::setup()?;
                site::binaries(&["page", "extras", "worker", "engine"], false)?;
            }
            build_site().map(|()| Tally { passed: 1, failed: 0 })
        }
        Step::Pack => package(filter),
        Step::Browser => {
            // The step before has built the page, or said why it cannot.
            if !steps.contains(&Step::Site) {
                build_site()?;
            }
            browser(filter)
        }
    }
}

/// A step that is one test by itself.
fn check(what: &str, command: &mut Command) -> Result<Tally> {
    progress::step(what, || tools::run(command))?;
    Ok(Tally { passed: 1, failed: 0 })
}

fn native(filter: Option<&str>, seed: u64) -> Result<Tally> {
    let mut cargo = tools::cargo();
    cargo.env("PROPTEST_RNG_SEED", seed.to_string());
    cargo.args(["test", "--locked", "--workspace", "--no-fail-fast"]);
    cargo.args(filter);
    cuda::prepare(&mut cargo)?;
    progress::step(&format!("native tests, generated programs of seed {seed}"), || {
        let mut tally = Tally::default();
        let good = tools::watch(&mut cargo, |line| tally.add_cargo_summary(line))?;
        Ok(tally.or_failed(good))
    })
}

fn package(filter: Option<&str>) -> Result<Tally> {
    let tarball = pack::pack()?;
    let native = pack::native_engine()?;
    let mut node = node_tests("pkg/tests", filter)?;
    node.env("WARPSCOPE_TARBALL", tarball)
        .env("WARPSCOPE_NATIVE", native)
        .env("CHROMIUM", chromium::find_or_install()?);
    progress::step("tests of the npm package", || count_node_tests(&mut node))
}

fn build_site() -> Result<()> {
    site::build(&site::Options { draft: false })
}

fn browser(filter: Option<&str>) -> Result<Tally> {
    let chromium = chromium::find_or_install()?;
    let address = serve::start(&workspace::dist(), [0])?;
    let screenshots = workspace::target().join("screenshots");
    std::fs::create_dir_all(&screenshots)?;
    let mut node = node_tests("www/tests", filter)?;
    node.env("WARPSCOPE_SITE", address).env("WARPSCOPE_SCREENSHOTS", screenshots).env("CHROMIUM", chromium);
    progress::step("browser tests", || count_node_tests(&mut node))
}

/// Node's test runner over the `*.test.mjs` files of `folder`, one more at a time than there are
/// cores, since each waits for its page a good part of the time. By itself the runner would leave
/// one core free, and of two use one.
fn node_tests(folder: &str, filter: Option<&str>) -> Result<Command> {
    let mut node = tools::node();
    node.args(["--test", "--test-reporter=spec"]);
    node.arg(format!("--test-concurrency={}", thread::available_parallelism().map_or(1, NonZero::get) + 1));
    if let Some(filter) = filter {
        node.arg(format!("--test-name-pattern={filter}"));
    }
    for file in progress::files_below(&workspace::root().join(folder))? {
        if file.to_string_lossy().ends_with(".test.mjs") {
            node.arg(file);
        }
    }
    Ok(node)
}

fn count_node_tests(node: &mut Command) -> Result<Tally> {
    let mut tally = Tally::default();
    let good = tools::watch(node, |line| tally.add_node_summary(line))?;
    Ok(tally.or_failed(good))
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Adds what a test binary's last line says: `test result: ok. 3 passed; 0 failed; …`.
    fn add_cargo_summary(&mut self, line: &str) {
        let Some((_, counts)) = line.trim().strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
            return;
        };
        for part in counts.split("; ") {
            match part.split_once(' ') {
                Some((count, "passed")) => self.passed += count.parse().unwrap_or(0),
                Some((count, "failed")) => self.failed += count.parse().unwrap_or(0),
                _ => {}
            }
        }
    }

    /// Adds a line of the last paragraph of Node's report: `ℹ pass 3`, `ℹ fail 0`, `ℹ cancelled 0`.
    fn add_node_summary(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let (Some("ℹ" | "#"), Some(what), Some(count), None) = (words.next(), words.next(), words.next(), words.next())
        else {
            return;
        };
        let Ok(count) = count.parse::<usize>() else {
            return;
        };
        match what {
            "pass" => self.passed += count,
            "fail" | "cancelled" => self.failed += count,
            _ => {}
        }
    }

    /// A run that ended badly without a failed test, because something did not compile, counts as one failure.
    fn or_failed(mut self, good: bool) -> Self {
        if !good && self.failed == 0 {
            self.failed = 1;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Tally, Told};

    #[test]
    fn summaries_of_both_runners_are_counted() {
        let mut tally = Tally::default();
        tally.add_cargo_summary("test result: FAILED. 12 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out");
        tally.add_cargo_summary("test text::tests::passed ... ok");
        tally.add_node_summary("ℹ pass 4");
        tally.add_node_summary("ℹ cancelled 2");
        tally.add_node_summary("ℹ pass 4 and more");
        assert_eq!((tally.passed, tally.failed), (16, 3));
    }

    #[test]
    fn a_run_that_ends_badly_is_never_all_green() {
        assert_eq!(Tally { passed: 3, failed: 0 }.or_failed(false).failed, 1);
        assert_eq!(Tally { passed: 3, failed: 0 }.or_failed(true).failed, 0);
    }

    #[test]
    fn what_runs_beside_tells_how_it_went() {
        let outcome = |lines: &[&str], good| {
            let mut told = Told::default();
            let heard = lines.iter().filter(|line| told.hear(line)).count();
            let (tally, steps) = told.outcome(good, vec!["site".into(), "pack".into()]);
            (heard, tally.passed, tally.failed, steps.join(", "))
        };
        let good = ["4 passed, of which 1 failed", "70 passed, 0 failed"];
        assert_eq!(outcome(&good, true), (1, 70, 0, String::new()));
        assert_eq!(outcome(&["failed steps: pack", "3 passed, 2 failed"], false), (2, 3, 2, "pack".into()));
        // It was ended, before its last line or behind it.
        assert_eq!(outcome(&good[..1], true), (0, 0, 1, "site, pack".into()));
        assert_eq!(outcome(&good, false), (1, 70, 1, "site, pack".into()));
    }
}
