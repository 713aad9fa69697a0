//! Everything that proves the laboratory works, in the order of its cost, and one line that sums it up.
//!
//! A failing step does not keep the later ones from running. The last line counts tests: each native test, each
//! test under Node, and one for each check without tests of its own.
//!
//! Generated programs are the same in every run, so that a commit is either good or it is not; `--seed random` draws others.

use std::process::Command;
use std::time::SystemTime;

use anyhow::Result;
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
    /// What generated programs are drawn from: another number, or `random`, looks where no run has looked before.
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
    /// The tests of all crates, on this machine.
    Native,
    /// The page builds and is within its size budget.
    Site,
    /// The npm package's tarball works in Node, through a bundler and in a plain page.
    Pack,
    /// The page does in Chromium what a person expects.
    Browser,
}

const QUICK: [Step; 3] = [Step::Format, Step::Lint, Step::Native];

/// How many tests passed and failed.
#[derive(Clone, Copy, Default)]
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
    let mut total = Tally::default();
    let mut failed_steps = Vec::new();
    for &step in steps {
        println!();
        let tally = run(step, steps, options).unwrap_or_else(|error| {
            println!("error: {error:#}");
            Tally { passed: 0, failed: 1 }
        });
        total.passed += tally.passed;
        total.failed += tally.failed;
        if tally.failed > 0 {
            failed_steps.push(name(step));
        }
    }
    if !failed_steps.is_empty() {
        println!("failed steps: {}", failed_steps.join(", "));
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    std::process::exit(i32::from(total.failed > 0));
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
        Step::Native => native(filter, options.seed),
        Step::Site => build_site().map(|()| Tally { passed: 1, failed: 0 }),
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

/// Node's test runner over the `*.test.mjs` files of `folder`.
fn node_tests(folder: &str, filter: Option<&str>) -> Result<Command> {
    let mut node = tools::node();
    node.args(["--test", "--test-reporter=spec"]);
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
    use super::Tally;

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
}
