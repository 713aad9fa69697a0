//! Runs of programs on the simulated machine.

use crate::message::{Moment, Simulate, Simulated, Watch};

/// Runs both programs.
pub fn simulate(_: &Simulate) -> Simulated {
    let missing = || Err("there is no simulator yet".to_owned());
    Simulated { before: missing(), after: missing() }
}

/// Follows one run.
#[derive(Default)]
pub struct Watcher;

impl Watcher {
    /// The run's state after so many issues.
    pub fn moment(&mut self, _: &Watch) -> Result<Moment, String> {
        Err("there is no simulator yet".to_owned())
    }
}
