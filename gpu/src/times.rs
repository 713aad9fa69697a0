//! What scalar replacement and zero specialisation save on the GPU beside what the simulator says, on the kernels written
//! for them.
//!
//! ```text
//! kernel      variant     cycles by cycles of `none`:    simulated   measured
//! ```
//!
//! One block runs, so that what is measured is one multiprocessor, as in the simulator: from the first clock that a warp
//! reads to the last. The rest stays different: a multiprocessor has four schedulers where the model has one, the
//! assembler optimises once more, and between launches the second-level cache keeps what the simulator starts without. So
//! the cycles themselves say little, and ratios are compared.

use std::path::PathBuf;

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
}

/// Where kernels come from.
enum Kernels {
    /// The PTX of a folder of examples.
    Folder(&'static str),
    /// A text, by its name.
    Text(&'static str, &'static str),
}

const SCALAR_REPLACEMENT: [&str; 5] =
    ["copy-prop,dce", "srqp,copy-prop,dce", "esrqp,copy-prop,dce", "ssrqp-s,copy-prop,dce", "ssrqp,copy-prop,dce"];
const ZERO_SPECIALISATION: [&str; 2] = ["copy-prop,dce", "azp[machine=hopper],copy-prop,dce"];

const SUITES: [Suite; 3] = [
    Suite {
        kernels: Kernels::Text("figure-4", include_str!("figure-4.wir")),
        variants: &SCALAR_REPLACEMENT,
        fast_math: false,
    },
    Suite { kernels: Kernels::Folder("ssrqp"), variants: &SCALAR_REPLACEMENT, fast_math: false },
    Suite { kernels: Kernels::Folder("azp"), variants: &ZERO_SPECIALISATION, fast_math: true },
];

/// Launches of each, of which the least counts.
const LAUNCHES: usize = 30;

/// Ratios this near to one are neither better nor worse.
const NOISE: f64 = 0.01;

/// Where the kernels lie.
#[derive(clap::Args)]
pub struct Options {
    /// Where the examples lie.
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
            Kernels::Text(name, text) => {
                let after = |&variant: &&'static str| Program::from_text(name, text, variant);
                suite.variants.iter().map(after).collect::<Vec<_>>()
            }
        };
        let programs = programs.into_iter().map(|program| program.with_fast_math(suite.fast_math));
        compare(gpu.as_ref(), suite, &programs.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// The table of one suite; without a GPU the PTX.
fn compare(gpu: Option<&Gpu>, suite: &Suite, programs: &[Program]) -> Result<()> {
    let names = suite.variants[1..].iter().map(|variant| variant.split([',', '[']).next().unwrap_or(variant));
    if gpu.is_some() {
        let columns: String = names.map(|name| format!(" {name:>13}")).collect();
        println!("\n{:24} {:>10} {:>10} {columns}", "cycles and ratios", "simulated", "measured");
    }
    let (mut agree, mut all, mut kernels) = (0, 0, 0);
    let mut products = vec![[1.0; 2]; suite.variants.len()];
    for variants in programs.chunks(suite.variants.len()) {
        let mut cycles = Vec::new();
        for program in variants {
            let (module, launches) = program.prepared().map_err(anyhow::Error::msg)?;
            let launch = launches.first().context("no launch")?;
            let settings = Settings { grid: Some([1; 3]), ..Settings::default() };
            let run = expected_with(&module, launch, settings).map_err(anyhow::Error::msg)?;
            let text = instrumented(&ptx(&module, [launch.kernel.as_str()]).map_err(anyhow::Error::msg)?);
            match gpu {
                Some(gpu) => cycles.push([run.cycles as f64, least_cycles(gpu, &run, &text)? as f64]),
                None => println!("// {}\n{text}", program.name),
            }
        }
        if cycles.is_empty() {
            continue;
        }
        kernels += 1;
        print!("{:24} {:10} {:10} ", variants[0].name.split(' ').next().unwrap_or("?"), cycles[0][0], cycles[0][1]);
        for (variant, both) in cycles.iter().enumerate().skip(1) {
            let ratio = [both[0] / cycles[0][0], both[1] / cycles[0][1]];
            let side = ratio.map(|ratio| if (ratio - 1.0).abs() <= NOISE { 0 } else { 2 * i32::from(ratio > 1.0) - 1 });
            (agree, all) = (agree + i32::from(side[0] == side[1]), all + 1);
            (0..2).for_each(|which| products[variant][which] *= ratio[which]);
            print!("   {:5.3} {:5.3}", ratio[0], ratio[1]);
        }
        println!();
    }
    if kernels > 0 {
        print!("{:24} {:>10} {:>10} ", "geometric mean", "", "");
        for product in &products[1..] {
            let mean = product.map(|product: f64| product.powf(1.0 / f64::from(kernels)));
            print!("   {:5.3} {:5.3}", mean[0], mean[1]);
        }
        println!("\nbetter, equal (within {NOISE}) or worse in both: {agree} of {all}");
    }
    Ok(())
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
