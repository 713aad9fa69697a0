//! Settings that passes guided by path profiles share: whose executions count, and who pays.

use alloc::format;

use crate::ir::{Function, WarpCounts};
use crate::machine::Machine;
use crate::pass::{Knob, KnobKind, KnobValues, PassError};

/// Which paths are frequent.
pub(in crate::pass) const FP: Knob = Knob {
    name: "fp",
    kind: KnobKind::Number { default: 0.99, min: 0.0, max: 1.0 },
    help: "share of all executions of paths that the analysed paths cover; others may cost, but not benefit",
};

/// Knob for who pays.
pub(in crate::pass) const COST: Knob = Knob {
    name: "cost",
    kind: KnobKind::Choice { default: "auto", words: &["auto", "path", "warp"] },
    help: "who pays for an instruction: the path, as in the paper, or the warp; auto: the warp where a `profile warp` counts executions",
};

/// Whose cycles.
pub(in crate::pass) const MACHINE: Knob = Knob {
    name: "machine",
    kind: KnobKind::Choice { default: "ampere", words: &["unit", "volta", "turing", "ampere", "hopper"] },
    help: "whose issue costs are counted",
};

/// Values of these knobs.
pub(in crate::pass) struct Rules {
    /// The share (0–1) of executions that are of frequent paths.
    pub share: f64,
    /// Do warps pay, and not paths?
    pub is_by_warp: bool,
    /// Whose issue costs are counted.
    pub machine: Machine,
}

impl Rules {
    /// For a pass of that name. Fails where warps are to pay that nobody has counted.
    pub fn of(func: &Function, knobs: &KnobValues, pass: &str) -> Result<Rules, PassError> {
        let is_counted = !WarpCounts::of(func).is_empty();
        let is_by_warp = match knobs.choice(COST.name) {
            "path" => false,
            "warp" if !is_counted => {
                let message = format!("`{pass}.cost=warp` needs a `profile warp`: measure one with --profile simulate");
                return Err(PassError { message });
            }
            _ => is_counted,
        };
        let machine = Machine::from_name(knobs.choice(MACHINE.name)).unwrap_or_default();
        Ok(Rules { share: knobs.number(FP.name), is_by_warp, machine })
    }
}
