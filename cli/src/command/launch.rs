//! How a kernel is run: the options that say it over what the program's launch says.

use warpscope_core::ir::{Func, FuncKind, Launch, Module};
use warpscope_core::machine::Machine;
use warpscope_core::ptx::{complete_launch, derive_launch};
use warpscope_core::sim::{Settings, parse_dim};
use warpscope_core::text;

use crate::failure::Failure;
use crate::source::{Dialect, Source};

/// Which kernel, on what, with what.
#[derive(clap::Args)]
pub struct RunOptions {
    /// Launches that stand beside the program, as a PTX file needs them; only these are read.
    #[arg(long, value_name = "FILE.wir")]
    pub launch: Option<String>,
    /// The kernel; the first one if nothing is said.
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// The machine model; `warpscope machines` lists them.
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Seed of everything random.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Turns a knob of the launch: `input.true=0.3`, `x.zero=0.5`, `x.coherence=1`, `n=250`, `l1=off`.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Blocks along x, y and z.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = size)]
    pub grid: Option<[u32; 3]>,
    /// Threads a block along x, y and z.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = size)]
    pub block: Option<[u32; 3]>,
    /// Lanes a warp: 8, 16 or 32.
    #[arg(long, value_name = "LANES")]
    pub warp: Option<u32>,
    /// Warp instructions after which the run is stopped.
    #[arg(long, value_name = "N")]
    pub fuel: Option<u64>,
}

/// `name=value`.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_string(), value.trim().to_string())),
        _ => Err("expected `name=value`".to_string()),
    }
}

fn size(text: &str) -> Result<[u32; 3], String> {
    parse_dim(text).ok_or_else(|| "expected one to three sizes, as in `4,2`".to_string())
}

impl RunOptions {
    /// The machine model.
    pub fn machine(&self) -> Result<Machine, Failure> {
        let Some(name) = &self.machine else { return Ok(Machine::default()) };
        Machine::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = Machine::ALL.iter().map(|machine| machine.name()).collect();
            Failure::usage(format!("unknown machine `{name}`: there is {}", names.join(", ")))
        })
    }

    /// What is said over the launch.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        for (name, value) in &self.set {
            settings.set(&format!("{name}={value}")).map_err(Failure::usage)?;
        }
        settings.seed = self.seed.or(settings.seed);
        settings.grid = self.grid.or(settings.grid);
        settings.block = self.block.or(settings.block);
        settings.warp = self.warp.or(settings.warp);
        settings.fuel = self.fuel.unwrap_or(settings.fuel);
        Ok(settings)
    }

    /// The kernel and its launch. A kernel without one gets one made from its parameters.
    pub fn kernel_and_launch(&self, module: &Module) -> Result<(Func, Launch), Failure> {
        let launches = match &self.launch {
            Some(file) => launches_of(file)?,
            None => module.launches.clone(),
        };
        let kernel = match &self.kernel {
            Some(name) => module
                .func_by_name(name)
                .filter(|&func| module.funcs[func].kind == FuncKind::Kernel)
                .ok_or_else(|| Failure::usage(format!("the program has no kernel `{name}`")))?,
            None => launches
                .iter()
                .find_map(|launch| module.func_by_name(&launch.kernel))
                .or_else(|| module.kernels().next())
                .ok_or_else(|| Failure::Program("error: the program has no kernel to run\n".to_string()))?,
        };
        let func = &module.funcs[kernel];
        let launch = launches.into_iter().find(|launch| launch.kernel == func.name);
        let launch =
            launch.map_or_else(|| derive_launch(module, func), |launch| complete_launch(module, func, &launch));
        Ok((kernel, launch))
    }
}

/// The launches of a file; whatever else stands there is not read.
fn launches_of(file: &str) -> Result<Vec<Launch>, Failure> {
    let source = Source::read(file, Some(Dialect::Wir))?;
    let parsed = text::parse(&source.text);
    if parsed.has_errors() {
        return Err(Failure::Program(source.render(&parsed.diagnostics)));
    }
    Ok(parsed.module.launches)
}
