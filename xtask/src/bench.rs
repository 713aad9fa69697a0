//! Measures speed, natively and as WebAssembly under Node, side by side.

use anyhow::Result;

#[derive(clap::Args)]
pub struct Options {}

pub fn bench(_options: &Options) -> Result<()> {
    anyhow::bail!("there is nothing to measure yet")
}
