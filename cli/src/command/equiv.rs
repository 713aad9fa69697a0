//! `warpscope equiv`: do two programs leave the same memory behind?

use serde_json::json;
use warpscope_core::derive::{complete_launch, derive_launch};
use warpscope_core::equivalence::{Comparison, Counterexample, Difference, MAX_ENDLESS, Verdict, compare};
use warpscope_core::ir::{Func, Launch, Module};
use warpscope_core::report::Element;
use warpscope_core::sim::retyped_launch;

use crate::failure::Failure;
use crate::output;
use crate::source::{Dialect, Program, Source};

#[derive(clap::Args)]
pub struct Options {
    /// Reference program: a `.wir` or `.ptx` file, or `-` for standard input.
    #[arg(value_name = "A")]
    first: String,
    /// Program to compare with it.
    #[arg(value_name = "B")]
    second: String,
    /// Format of both programs. Default: by the files' names.
    #[arg(long, value_enum, value_name = "DIALECT")]
    from: Option<Dialect>,
    /// Compare only this kernel. Default: all that both programs have.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Number of launches to try for each kernel.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    trials: u32,
    /// Allowed relative difference of floats.
    #[arg(long, value_name = "T", default_value_t = 0.0)]
    tolerance: f64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(options: &Options) -> Result<(), Failure> {
    let first = Source::read(&options.first, options.from)?.load()?;
    let second = Source::read(&options.second, options.from)?.load()?;
    let comparison = Comparison { trials: options.trials, tolerance: options.tolerance, ..Comparison::default() };
    let mut compared_in_all = 0;
    let mut skipped_in_all = 0;
    let mut raced_in_all = 0;
    let mut unreached_in_all: Vec<String> = Vec::new();
    // What could be read is compared all the same; a difference in it is one.
    let complete = match options.kernel {
        None => first.worked_on_all().and_then(|()| second.worked_on_all()),
        Some(_) => Ok(()),
    };
    let pairs = kernels(options, &first, &second)?;
    let (first, second) = (&first.module, &second.module);
    let is_alone = pairs.len() == 1;
    for (name, a, b) in pairs {
        let launch = launch_of(first, second, &name, a);
        match compare((first, a), (second, b), &launch, &comparison) {
            Verdict::Different(found) => {
                different(options, &name, &found)?;
                return Err(Failure::Negative);
            }
            Verdict::Same { compared: 0, failure: Some(error), gave_up, .. } => {
                let which = if gave_up { format!("{MAX_ENDLESS} launches") } else { "every launch".to_string() };
                let message =
                    format!("error: `{name}` of {} fails on {which}, so none was compared: {error}\n", options.first);
                return Err(Failure::Program(message));
            }
            Verdict::Same { compared: 0, race: Some(race), .. } => {
                let message = format!(
                    "error: `{name}` of {} races on every launch, so none was compared: {}\n",
                    options.first,
                    race_text(&race)
                );
                return Err(Failure::Program(message));
            }
            Verdict::Same { compared, skipped, raced, race, gave_up, unreached, .. } => {
                // As a function's blocks are named after the function.
                let label = |label: String| if is_alone { label } else { format!("{name}.{label}") };
                unreached_in_all.extend(unreached.into_iter().map(label));
                if let Some(race) = &race {
                    output::notice(&format!(
                        "note: {raced} launches of `{name}` of {} give no verdict: {}\n",
                        options.first,
                        race_text(race)
                    ));
                }
                raced_in_all += raced;
                compared_in_all += compared;
                skipped_in_all += skipped;
                if gave_up {
                    output::notice(&format!(
                        "note: {MAX_ENDLESS} launches of `{name}` of {} used up their fuel, so no others were tried\n",
                        options.first
                    ));
                }
            }
        }
    }
    if options.json {
        output::json(&json!({
            "equivalent": if complete.is_ok() { Some(true) } else { None },
            "trials": compared_in_all,
            "skipped": skipped_in_all,
            "raced": raced_in_all,
            "unreached": unreached_in_all,
            "counterexample": null,
        }))?;
        return complete;
    }
    let of_whom = if complete.is_ok() { "" } else { " of the kernels that could be read" };
    output::text(&format!("no difference on {compared_in_all} launches{of_whom}\n"))?;
    if !unreached_in_all.is_empty() {
        output::text(&format!(
            "no launch reached these blocks of {}: {}\n",
            options.first,
            unreached_in_all.join(", ")
        ))?;
    }
    complete
}

/// The kernels that are compared.
fn kernels(options: &Options, first: &Program, second: &Program) -> Result<Vec<(String, Func, Func)>, Failure> {
    let name_of = |kernel: Func| first.module.funcs[kernel].name.clone();
    let names: Vec<String> = match &options.kernel {
        Some(name) => vec![name.clone()],
        None => first.module.kernels().map(name_of).collect(),
    };
    if names.is_empty() {
        return Err(Failure::usage(format!("{} has no kernel", options.first)));
    }
    names.into_iter().map(|name| Ok((name.clone(), first.kernel(&name)?, second.kernel(&name)?))).collect()
}

/// The launch that both are run under: one that somebody wrote, else one that was derived before, else one derived from
/// the first program.
fn launch_of(first: &Module, second: &Module, name: &str, kernel: Func) -> Launch {
    let of_first = |launch: &Launch| complete_launch(first, &first.funcs[kernel], launch);
    let of_second = |launch: &Launch| {
        let typed_by = &second.funcs[second.func_by_name(name)?];
        Some(of_first(&retyped_launch(launch, typed_by, &first.funcs[kernel])))
    };
    let stated = first.stated_launch_of(name).map(of_first);
    let stated = stated.or_else(|| second.stated_launch_of(name).and_then(of_second));
    let derived = || first.launch_of(name).map(of_first).or_else(|| second.launch_of(name).and_then(of_second));
    stated.or_else(derived).unwrap_or_else(|| derive_launch(first, &first.funcs[kernel]))
}

/// Sentence about a program that differs from itself.
fn race_text(race: &Difference) -> String {
    match race {
        Difference::Element { buffer, index, ty, first, second } => {
            let (a, b) = (Element::new(*ty, *first), Element::new(*ty, *second));
            format!("{buffer}[{index}] is {a} under one schedule and {b} under another")
        }
        Difference::Failure(error) => format!("it fails under one of two schedules: {error}"),
        Difference::Buffers => "it has other buffers under another schedule".to_string(),
    }
}

fn different(options: &Options, kernel: &str, found: &Counterexample) -> Result<(), Failure> {
    let launch = found.options();
    if options.json {
        let difference = match &found.difference {
            Difference::Element { buffer, index, ty, first, second } => json!({
                "buffer": buffer,
                "index": index,
                "a": Element::new(*ty, *first),
                "b": Element::new(*ty, *second),
            }),
            Difference::Failure(error) => json!({ "failure": error.to_string() }),
            Difference::Buffers => json!({ "failure": "the programs do not have the same buffers" }),
        };
        return output::json(&json!({
            "equivalent": false,
            "counterexample": { "kernel": kernel, "launch": launch, "difference": difference },
        }));
    }
    let difference = match &found.difference {
        Difference::Element { buffer, index, ty, first, second } => {
            let (a, b) = (Element::new(*ty, *first), Element::new(*ty, *second));
            format!("{buffer}[{index}] is {a} after {} and {b} after {}", options.first, options.second)
        }
        Difference::Failure(error) => format!("{} fails: {error}", options.second),
        Difference::Buffers => "the programs do not have the same buffers".to_string(),
    };
    let under = if launch.is_empty() { String::new() } else { format!(" under `{launch}`") };
    output::text(&format!("`{kernel}` differs{under}: {difference}\n"))
}
