//! How a kernel is run: the options that say it over what the program's launch says.

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

/// `4`, `4,2` or `4,2,1`; what is left out is 1.
fn size(text: &str) -> Result<[u32; 3], String> {
    let mut size = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > size.len() {
        return Err("expected at most three sizes".to_string());
    }
    for (place, part) in size.iter_mut().zip(parts) {
        *place = part.trim().parse().map_err(|_| format!("`{part}` is no size"))?;
    }
    Ok(size)
}
