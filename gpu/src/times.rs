//! Savings of passes on the GPU beside those in the simulator, on the kernels written for them.
//!
//! ```text
//! kernel      variant     time by that of the first variant:    simulated   measured   with all multiprocessors full
//! ```
//!
//! One block runs, so that what is measured is one multiprocessor, as in the simulator: from the
//! first clock that a warp reads to the last. The rest stays different: a multiprocessor has four
//! schedulers where the model has one, the assembler optimises once more, and between launches the
//! second-level cache keeps what the simulator starts without. So the cycles themselves say little,
//! and ratios are compared.
//!
//! A block of a few warps leaves a scheduler one, and waits wherever that one waits. So some
//! kernels are measured once more with as many threads as the GPU has room for, and more behind
//! them: they do again and again what the first block does, to the same memory, and what counts is
//! the time that all of them take.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use warpscope_core::sim::Settings;

use crate::comparison::{Expected, expected_with, ptx};
use crate::driver::Gpu;
use crate::programs::{Program, examples_after};

/// Kernels that are compared after some pipelines, of which the first is the measure of the others.
struct Suite {
    kernels: Kernels,
    /// All clean up alike.
    variants: &'static [&'static str],
    fast_math: bool,
    /// Are they measured with all multiprocessors full too? Not those whose blocks wait for what others store.
    is_filled: bool,
}

/// Sources of kernels.
enum Kernels {
    /// The PTX of a folder of examples.
    Folder(&'static str),
    /// A text, by its name.
    Text(&'static str, &'static str),
    /// Texts by their names, each with lanes that stay [together](TOGETHER) and with lanes that part.
    Spread(&'static [(&'static str, &'static str)]),
}

/// Settings of a launch whose lanes stay together, and their replacement for lanes that diverge.
const TOGETHER: [&str; 2] = ["spread = 0", "spread = 1"];

const SCALAR_REPLACEMENT: [&str; 5] =
    ["copy-prop,dce", "srqp,copy-prop,dce", "esrqp,copy-prop,dce", "ssrqp-s,copy-prop,dce", "ssrqp,copy-prop,dce"];
const ZERO_SPECIALISATION: [&str; 2] = ["copy-prop,dce", "azp[machine=hopper],copy-prop,dce"];

const PARTIAL_DEAD_CODE: [&str; 4] = [
    "copy-prop,dce",
    "pde[predication=false],copy-prop,dce",
    "pde[cost=path],copy-prop,dce",
    "pde[cost=warp],copy-prop,dce",
];
const SPECULATION: [&str; 3] =
    ["copy-prop,dce", "spec-pre[cost=path],copy-prop,dce", "spec-pre[cost=warp],copy-prop,dce"];

const SUITES: [Suite; 5] = [
    Suite {
        kernels: Kernels::Text("figure-4", include_str!("figure-4.wir")),
        variants: &SCALAR_REPLACEMENT,
        fast_math: false,
        is_filled: false,
    },
    Suite { kernels: Kernels::Folder("ssrqp"), variants: &SCALAR_REPLACEMENT, fast_math: false, is_filled: false },
    Suite { kernels: Kernels::Folder("azp"), variants: &ZERO_SPECIALISATION, fast_math: true, is_filled: true },
    Suite {
        kernels: Kernels::Spread(&[
            ("sinking", include_str!("sinking.wir")),
            ("predicated", include_str!("predicated.wir")),
        ]),
        variants: &PARTIAL_DEAD_CODE,
        fast_math: false,
        is_filled: true,
    },
    Suite {
        kernels: Kernels::Spread(&[("speculation", include_str!("speculation.wir"))]),
        variants: &SPECULATION,
        fast_math: false,
        is_filled: true,
    },
];

/// Launches of each, of which the least counts.
const LAUNCHES: usize = 30;

/// Threads that a multiprocessor and a block have room for, and a block along `z`.
const MOST_THREADS: u32 = 2048;
const MOST_THREADS_OF_BLOCK: u32 = 1024;
const MOST_DEEP: u32 = 64;

/// Least time of all blocks on full multiprocessors, so that beginning and end weigh little.
const FULL_LAUNCH: Duration = Duration::from_millis(4);

/// Ratios this near to one are neither better nor worse.
const NOISE: f64 = 0.01;

/// Folder of the kernels.
#[derive(clap::Args)]
pub struct Options {
    /// Folder of the examples.
    #[arg(long, default_value = "www/examples")]
    examples: PathBuf,
    /// Print the PTX in place of running it.
    #[arg(long)]
    print: bool,
}

/// Measures everything and prints it beside what is simulated.
pub fn times(options: &Options) -> Result<()> {
    let gpu = if options.print { None } else { Some(Gpu::open().context("this machine has no NVIDIA GPU")?) };
    if let Some(gpu) = &gpu {
        println!("{gpu}");
    }
    for suite in &SUITES {
        let programs = match suite.kernels {
            Kernels::Folder(folder) => {
                let programs = examples_after(&options.examples.join(folder), suite.variants)?;
                programs.into_iter().filter(Program::is_ptx).collect()
            }
            Kernels::Text(name, text) => variants_of(suite, name, text),
            Kernels::Spread(texts) => {
                let [together, apart] = TOGETHER;
                let both = |&(name, text): &(&str, &str)| {
                    let texts = [
                        (format!("{name}-together"), text.to_owned()),
                        (format!("{name}-apart"), text.replace(together, apart)),
                    ];
                    texts.into_iter().flat_map(|(name, text)| variants_of(suite, &name, &text)).collect::<Vec<_>>()
                };
                texts.iter().flat_map(both).collect()
            }
        };
        let programs = programs.into_iter().map(|program| program.with_fast_math(suite.fast_math));
        compare(gpu.as_ref(), suite, &programs.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// A text after each of a suite's variants.
fn variants_of(suite: &Suite, name: &str, text: &str) -> Vec<Program> {
    suite.variants.iter().map(|&variant| Program::from_text(name, text, variant)).collect()
}

/// The table of one suite; without a GPU the PTX.
fn compare(gpu: Option<&Gpu>, suite: &Suite, programs: &[Program]) -> Result<()> {
    let ways = if suite.is_filled { 3 } else { 2 };
    let names = suite.variants[1..].iter().map(|variant| variant.split(",copy-prop").next().unwrap_or(variant));
    if gpu.is_some() {
        let full = if suite.is_filled { "ns, full" } else { "" };
        let columns: String = names.map(|name| format!(" {name:>22}")).collect();
        println!("\n{:24} {:>10} {:>10} {full:>10} {columns}", "cycles and ratios", "simulated", "measured");
    }
    let (mut agree, mut all, mut kernels) = ([0; 2], 0, 0);
    let mut products = vec![[1.0; 3]; suite.variants.len()];
    for variants in programs.chunks(suite.variants.len()) {
        let mut times = Vec::new();
        for program in variants {
            let (module, launches) = program.prepared().map_err(anyhow::Error::msg)?;
            let launch = launches.first().context("no launch")?;
            let settings = Settings { grid: Some([1; 3]), ..Settings::default() };
            let run = expected_with(&module, launch, settings).map_err(anyhow::Error::msg)?;
            let text = ptx(&module, [launch.kernel.as_str()]).map_err(anyhow::Error::msg)?;
            let Some(gpu) = gpu else {
                println!("// {}\n{}", program.name, instrumented(&text));
                continue;
            };
            let measured = least_cycles(gpu, &run, &instrumented(&text))? as f64;
            let full = if suite.is_filled { nanoseconds_when_full(gpu, &run, &text)? } else { 1.0 };
            times.push([run.cycles as f64, measured, full]);
        }
        if times.is_empty() {
            continue;
        }
        kernels += 1;
        print!("{:24}", variants[0].name.split(' ').next().unwrap_or("?"));
        let [simulated, measured, full] = times[0];
        print!(" {simulated:10.0} {measured:10.0}");
        if suite.is_filled {
            print!(" {full:10.3}");
        }
        print!("{:1$} ", "", 11 * (3 - ways));
        for (variant, of_variant) in times.iter().enumerate().skip(1) {
            let ratios = [0, 1, 2].map(|way| of_variant[way] / times[0][way]);
            let side =
                ratios.map(|ratio| if (ratio - 1.0).abs() <= NOISE { 0 } else { 2 * i32::from(ratio > 1.0) - 1 });
            all += 1;
            (0..2).for_each(|way| agree[way] += i32::from(side[0] == side[way + 1]));
            (0..3).for_each(|way| products[variant][way] *= ratios[way]);
            print_ratios(&ratios[..ways]);
        }
        println!();
    }
    if kernels > 0 {
        print!("{:24}{:33} ", "geometric mean", "");
        for product in &products[1..] {
            let mean = product.map(|product: f64| product.powf(1.0 / f64::from(kernels)));
            print_ratios(&mean[..ways]);
        }
        println!("\nbetter, equal (within {NOISE}) or worse as simulated: {} of {all}", agree[0]);
        if suite.is_filled {
            println!("with all multiprocessors full: {} of {all}", agree[1]);
        }
    }
    Ok(())
}

/// Ratios under the name of a variant.
fn print_ratios(ratios: &[f64]) {
    let ratios: String = ratios.iter().map(|ratio| format!(" {ratio:6.3}")).collect();
    print!(" {ratios:>22}");
}

/// Cycles from the first clock of a warp to the last, the least of some launches.
fn least_cycles(gpu: &Gpu, run: &Expected, text: &str) -> Result<u64> {
    let loaded = gpu.load(text)?;
    let clocks = loaded.global("clocks_of_warps")?;
    let mut least = u64::MAX;
    for _ in 0..LAUNCHES {
        gpu.write(clocks, &vec![0; 16 * run.warps()])?;
        run.launch(gpu, &loaded)?;
        let bytes = gpu.read(clocks, 16 * run.warps())?;
        let word = |at: usize| u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().expect("eight bytes"));
        let first = (0..run.warps()).map(|warp| word(2 * warp)).min().unwrap_or(0);
        let last = (0..run.warps()).map(|warp| word(2 * warp + 1)).max().unwrap_or(0);
        least = least.min(last.saturating_sub(first));
    }
    Ok(least)
}

/// Nanoseconds of the whole GPU's time for what the first block does, where it is done by as many
/// threads as there is room for, and more behind them; the least of some launches.
fn nanoseconds_when_full(gpu: &Gpu, run: &Expected, text: &str) -> Result<f64> {
    // Each block is told that it is the first. Small ones come no faster than the GPU deals them
    // out, so a block does the same several times, once for each place along `z`.
    let [x, y, z] = run.block();
    anyhow::ensure!(z == 1, "`{}` has blocks that extend along `z`", run.kernel);
    let times = (MOST_THREADS_OF_BLOCK / run.threads().max(1)).clamp(1, MOST_DEEP);
    let told = ["%ctaid.x", "%ctaid.y", "%ctaid.z", "%tid.z"];
    let text = told.iter().fold(text.to_owned(), |text, place| text.replace(place, "0")).replace("%ntid.z", "1");
    let loaded = gpu.load(&text)?;
    let time = |blocks: u32| -> Result<Duration> {
        let launch = run.prepare(gpu)?;
        let begin = Instant::now();
        launch.run(&loaded, [blocks, 1, 1], [x, y, times])?;
        Ok(begin.elapsed())
    };
    let mut blocks = MOST_THREADS / (run.threads() * times).max(1) * gpu.multiprocessors.cast_unsigned();
    while time(blocks)? < FULL_LAUNCH && blocks < u32::MAX / 4 {
        blocks *= 2;
    }
    let mut least = Duration::MAX;
    for _ in 0..LAUNCHES {
        least = least.min(time(blocks)?);
    }
    Ok(least.as_secs_f64() * 1e9 / f64::from(blocks) / f64::from(times))
}

/// The PTX with a clock read at a kernel's start and before each of its ends, in two words for each warp.
fn instrumented(text: &str) -> String {
    let mut result = String::new();
    let (mut in_kernel, mut begun) = (false, false);
    for line in text.lines() {
        let word = line.trim();
        if word.starts_with(".visible .entry") {
            (in_kernel, begun) = (true, false);
            result += ".visible .global .align 16 .b64 clocks_of_warps[64];\n";
        }
        let is_statement =
            line.starts_with('$') || line.starts_with('\t') && !word.starts_with('.') && word.ends_with(';');
        if in_kernel && !begun && is_statement {
            begun = true;
            result += "\t.reg .b64 %cw_begin, %cw_end, %cw_place;\n\t.reg .b32 %cw_warp, %cw_size, %cw_part;\n\
                       \tmov.u64 %cw_begin, %clock64;\n\tmov.u32 %cw_warp, %tid.z;\n\tmov.u32 %cw_size, %ntid.y;\n\
                       \tmov.u32 %cw_part, %tid.y;\n\tmad.lo.u32 %cw_warp, %cw_warp, %cw_size, %cw_part;\n\
                       \tmov.u32 %cw_size, %ntid.x;\n\tmov.u32 %cw_part, %tid.x;\n\
                       \tmad.lo.u32 %cw_warp, %cw_warp, %cw_size, %cw_part;\n\tshr.u32 %cw_warp, %cw_warp, 5;\n\
                       \tmov.u64 %cw_place, clocks_of_warps;\n\tmad.wide.u32 %cw_place, %cw_warp, 16, %cw_place;\n";
        }
        if in_kernel && matches!(word, "ret;" | "exit;") {
            result += "\tmov.u64 %cw_end, %clock64;\n\tst.global.u64 [%cw_place], %cw_begin;\n\
                       \tred.global.max.u64 [%cw_place + 8], %cw_end;\n";
        }
        result += line;
        result.push('\n');
        in_kernel &= line != "}";
    }
    result
}

#[cfg(test)]
mod tests {
    use super::instrumented;

    #[test]
    fn clocks_stand_at_both_ends_of_a_kernel_and_in_no_function() {
        let text =
            ".func f()\n{\n\tret;\n}\n.visible .entry k(\n\t.param .u64 p\n)\n{\n\t.reg .b32 %x;\n$entry:\n\tret;\n}\n";
        let clocked = instrumented(text);
        assert_eq!(clocked.matches("%clock64").count(), 2);
        let place = |what: &str| clocked.find(what).expect(what);
        assert!(place(".entry") < place("%cw_begin, %clock64") && place("%cw_begin, %clock64") < place("$entry:"));
        assert!(place("$entry:") < place("%cw_end, %clock64"));
    }
}
