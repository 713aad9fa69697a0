//! Runs everything that there is to compare, spread over workers.
//!
//! ```text
//! items 0 1 2 3 4 5 6 7 …    worker 0: 0 3 6 …   worker 1: 1 4 7 …   worker 2: 2 5 8 …
//! ```
//!
//! A worker is a process of its own that prints a line for each comparison. A kernel that faults takes its process's
//! context with it, and one that hangs would take the process; then a new worker goes on behind it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use warpscope_core::ir::{Launch, Module, Opcode};
use warpscope_core::ptx::{export, import};
use warpscope_core::text::{self, print};
use warpscope_testkit::expansions::{self, Expansion};
use warpscope_testkit::forms;

use crate::comparison::{Outcome, expected, ptx, with_rounding};
use crate::driver::Gpu;
use crate::programs::{self, Program};

/// Forms of operations, or instructions of PTX, in one module.
const FORMS_A_MODULE: usize = 24;

/// The language of the driver, where PTX is given to it as it stands.
const VERSION: &str = ".version 8.0";

/// Seconds that an item may take.
const PATIENCE: u64 = 40;

/// Lines of what differs that are shown of each kind.
const SHOWN: usize = 2000;

/// Options of a comparison.
#[derive(Clone, clap::Args)]
pub struct Options {
    /// Folder of the examples.
    #[arg(long, default_value = "www/examples")]
    examples: PathBuf,
    /// Generated programs of each kind.
    #[arg(long, default_value_t = 40)]
    generated: usize,
    /// Processes that compare at a time.
    #[arg(long, default_value_t = 8)]
    workers: usize,
    /// Only kinds whose name contains this: `arithmetic`, `expansions`, `as-written`, `together`, `examples`,
    /// `generated`.
    #[arg(long, default_value = "")]
    filter: String,
    /// Without a GPU: what can be simulated and written as PTX.
    #[arg(long)]
    dry: bool,
    /// Write each program and its PTX into this folder, which has to be there.
    #[arg(long)]
    save: Option<PathBuf>,
    /// A worker's first item, and how far it is to its next.
    #[arg(long, hide = true, num_args = 2)]
    worker: Option<Vec<usize>>,
}

/// One module and its launches.
enum Item {
    /// Forms of operations, each a kernel.
    Arithmetic(Vec<Opcode>),
    /// Instructions of PTX that are several here: the GPU gets them as they stand.
    Expansions(Vec<Expansion>),
    /// PTX as nvcc printed it, which the GPU gets as it stands.
    AsWritten(Program),
    /// Operations across lanes.
    Together(Program),
    Example(Program),
    Generated(Program),
}

/// A module that is ready, and its launches with the names that they have in tables.
struct Prepared {
    module: Module,
    launches: Vec<(String, Launch)>,
    /// The PTX for the GPU, if that is not what the module is exported as.
    written: Option<String>,
}

impl Item {
    fn kind(&self) -> &'static str {
        match self {
            Item::Arithmetic(_) => "arithmetic",
            Item::Expansions(_) => "expansions",
            Item::AsWritten(_) => "as-written",
            Item::Together(_) => "together",
            Item::Example(_) => "examples",
            Item::Generated(_) => "generated",
        }
    }

    /// Name of the whole program for error messages.
    fn name(&self) -> String {
        match self {
            Item::Arithmetic(group) => group.first().map(ToString::to_string).unwrap_or_default(),
            Item::Expansions(group) => group.first().map(|first| first.lines.clone()).unwrap_or_default(),
            Item::AsWritten(program) | Item::Together(program) | Item::Example(program) | Item::Generated(program) => {
                program.name.clone()
            }
        }
    }

    fn prepared(&self) -> Result<Prepared, String> {
        match self {
            Item::Arithmetic(group) => {
                let launches = group.iter().map(ToString::to_string).zip(forms::launches(group, forms::MANY)).collect();
                Ok(Prepared { module: forms::module(group), launches, written: None })
            }
            Item::Expansions(group) => {
                let written = expansions::module(group.iter().map(|expansion| expansion.lines.as_str()));
                let operands = [1, 2, 3].map(expansions::numbers);
                let launches = group.iter().enumerate().flat_map(|(at, Expansion { lines, result })| {
                    let launch = text::parse(&expansions::launch(&format!("k{at}"), &operands, result)).module.launches;
                    launch.into_iter().map(|launch| (lines.clone(), launch))
                });
                Ok(Prepared { launches: launches.collect(), module: import(&written).module, written: Some(written) })
            }
            Item::AsWritten(program) | Item::Together(program) | Item::Example(program) | Item::Generated(program) => {
                let (module, launches) = program.prepared()?;
                let named = |launch| (program.name.clone(), launch);
                let launches = launches.into_iter().map(named).collect();
                let written = if matches!(self, Item::AsWritten(_)) { program.ptx() } else { None };
                Ok(Prepared { module, launches, written: written.map(str::to_owned) })
            }
        }
    }
}

fn items(options: &Options) -> Result<Vec<Item>> {
    // One form that PTX does not have keeps the others of its module out, so it gets a module of its own.
    let (some, missing): (Vec<Opcode>, Vec<Opcode>) =
        forms::forms().into_iter().partition(|form| export(&forms::module(&[*form])).diagnostics.is_empty());
    let mut items: Vec<Item> = some.chunks(FORMS_A_MODULE).map(|group| Item::Arithmetic(group.to_vec())).collect();
    items.extend(missing.into_iter().map(|form| Item::Arithmetic(vec![form])));
    let mut expansions = expansions::all().into_iter().peekable();
    while expansions.peek().is_some() {
        items.push(Item::Expansions(expansions.by_ref().take(FORMS_A_MODULE).collect()));
    }
    let written = programs::examples_after(&options.examples, &[""])?.into_iter().filter(Program::is_ptx);
    items.extend(written.map(Item::AsWritten));
    items.extend(programs::together().into_iter().map(Item::Together));
    items.extend(programs::examples(&options.examples)?.into_iter().map(Item::Example));
    items.extend(programs::generated(options.generated).into_iter().map(Item::Generated));
    items.retain(|item| item.kind().contains(&options.filter));
    Ok(items)
}

/// Compares everything and prints what came out.
pub fn compare(options: &Options) -> Result<()> {
    if let Some(worker) = &options.worker {
        return work(options, worker[0], worker[1]);
    }
    match Gpu::open() {
        Some(gpu) => println!("{gpu}"),
        None => ensure!(options.dry, "this machine has no NVIDIA GPU, or no driver for it (`--dry` goes without)"),
    }
    let start = Instant::now();
    let workers: Vec<_> = (0..options.workers)
        .map(|first| {
            let options = options.clone();
            thread::spawn(move || supervise(&options, first))
        })
        .collect();
    let mut lines = Vec::new();
    for worker in workers {
        lines.extend(worker.join().map_err(|_| anyhow::anyhow!("a supervisor has panicked"))??);
    }
    lines.sort();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in &lines {
        *counts.entry((&line.kind, &line.outcome)).or_default() += 1;
    }
    for ((kind, outcome), count) in &counts {
        println!("{kind:12} {outcome:12} {count:6}");
    }
    for (kind, outcome) in counts.keys().filter(|(_, outcome)| !matches!(*outcome, "equal" | "simulated")) {
        println!("\n{kind}, {outcome}:");
        let of = |line: &&Line| line.kind == *kind && line.outcome == *outcome;
        lines.iter().filter(of).take(SHOWN).for_each(|line| println!("  {}: {}", line.name, line.text));
    }
    println!("\n{} comparisons in {} s", lines.len(), start.elapsed().as_secs());
    Ok(())
}

/// Line of a worker's output.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    item: usize,
    kind: String,
    outcome: String,
    name: String,
    text: String,
}

/// Starts workers one after the other until one comes to the end.
fn supervise(options: &Options, first: usize) -> Result<Vec<Line>> {
    let mut lines: Vec<Line> = Vec::new();
    let mut next = first;
    loop {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("agree").arg("--examples").arg(&options.examples).args(["--filter", &options.filter]);
        command.args(["--generated", &options.generated.to_string()]);
        command.arg("--worker").args([next.to_string(), options.workers.to_string()]);
        if options.dry {
            command.arg("--dry");
        }
        if let Some(folder) = &options.save {
            command.arg("--save").arg(folder);
        }
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("a pipe")?;
        let mut begun = None;
        for line in BufReader::new(output).lines() {
            let line = line?;
            let mut fields = line.splitn(5, '\t').map(str::to_owned);
            let mut field = || fields.next().unwrap_or_default();
            let (item, kind, outcome) = (field().parse().unwrap_or(next), field(), field());
            if outcome == "begin" {
                begun = Some((item, kind, field()));
            } else {
                lines.push(Line { item, kind, outcome, name: field(), text: field() });
            }
        }
        if child.wait()?.success() {
            return Ok(lines);
        }
        // It has ended within an item: that is one more finding, and the next worker begins behind it.
        let (item, kind, name) = begun.context("a worker has ended before its first item")?;
        if !lines.iter().any(|line| line.item == item && line.outcome == "failed") {
            let text = "the worker has ended here".to_owned();
            lines.push(Line { item, kind, outcome: "failed".to_owned(), name, text });
        }
        next = item + options.workers;
    }
}

/// Compares every `stride`-th item from `first` on.
fn work(options: &Options, first: usize, stride: usize) -> Result<()> {
    let items = items(options)?;
    let gpu = if options.dry { None } else { Some(Gpu::open().context("no GPU")?) };
    let (begin, last) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let seen = Arc::clone(&last);
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_secs(1));
            if begin.elapsed().as_secs() > seen.load(Ordering::Relaxed) + PATIENCE {
                exit(3);
            }
        }
    });
    for (number, item) in items.iter().enumerate().skip(first).step_by(stride) {
        last.store(begin.elapsed().as_secs(), Ordering::Relaxed);
        let tell = |name: &str, outcome: &Outcome| say(number, item, outcome.kind(), name, &outcome.to_string());
        say(number, item, "begin", &item.name(), "")?;
        let prepared = match item.prepared() {
            Ok(prepared) => prepared,
            Err(why) => {
                tell(&item.name(), &Outcome::Skipped(why))?;
                continue;
            }
        };
        if let Some(folder) = &options.save {
            std::fs::write(folder.join(format!("{number}.wir")), print(&prepared.module))?;
            let text = prepared.written.clone().unwrap_or_else(|| export(&prepared.module).text);
            std::fs::write(folder.join(format!("{number}.ptx")), text)?;
        }
        let (outcomes, is_final) = outcomes(&prepared, gpu.as_ref());
        for ((name, _), outcome) in prepared.launches.iter().zip(&outcomes) {
            tell(name, outcome)?;
        }
        if is_final {
            exit(3);
        }
    }
    std::io::stdout().flush()?;
    // The driver's own threads must not keep a process that has nothing left to do.
    exit(0);
}

/// A line for the supervisor.
fn say(number: usize, item: &Item, outcome: &str, name: &str, text: &str) -> Result<()> {
    let [name, text] = [name, text].map(|field| field.replace(['\n', '\t'], " "));
    writeln!(std::io::stdout(), "{number}\t{}\t{outcome}\t{name}\t{text}", item.kind())?;
    Ok(())
}

/// Outcome of each launch, and whether the last of them has destroyed the context.
fn outcomes(Prepared { module, launches, written }: &Prepared, gpu: Option<&Gpu>) -> (Vec<Outcome>, bool) {
    let mut outcomes = Vec::new();
    let text = match written {
        Some(text) => Ok(with_rounding(&for_the_driver(text))),
        None => ptx(module, launches.iter().map(|(_, launch)| launch.kernel.as_str())),
    };
    let text = match text {
        Ok(text) => text,
        Err(why) => return (vec![Outcome::Skipped(why); launches.len()], false),
    };
    let mut loaded = gpu.map(|gpu| (gpu, gpu.load(&text)));
    for (place, (_, launch)) in launches.iter().enumerate() {
        // Variables of the module keep what a launch wrote; the next one begins with what the text says.
        if place > 0 && !module.globals.is_empty() {
            loaded = gpu.map(|gpu| (gpu, gpu.load(&text)));
        }
        let outcome = match (expected(module, launch), &loaded) {
            (Err(why), _) => Outcome::Skipped(why),
            (_, Some((_, Err(failure)))) => Outcome::Failed(failure.to_string()),
            (Ok(_), None) => Outcome::Simulated,
            (Ok(run), Some((gpu, Ok(loaded)))) => match run.compare(gpu, loaded) {
                Ok(outcome) => outcome,
                Err(failure) => {
                    outcomes.push(Outcome::Failed(failure.to_string()));
                    if failure.is_final() {
                        let left_out = Outcome::Skipped("another of its module has ended the process".to_owned());
                        outcomes.resize(launches.len(), left_out);
                        return (outcomes, true);
                    }
                    continue;
                }
            },
        };
        outcomes.push(outcome);
    }
    (outcomes, false)
}

/// PTX whose version a driver reads that is older than the compiler which printed it. Nothing that
/// the examples are made of has come with the versions between.
fn for_the_driver(text: &str) -> String {
    let is_version = |line: &str| line.trim_start().starts_with(".version");
    let of = |line| if is_version(line) { VERSION } else { line };
    text.lines().flat_map(|line| [of(line), "\n"]).collect()
}
