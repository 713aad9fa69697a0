//! Knobs that both passes have: the executions that count, and who pays.

use alloc::format;

use crate::ir::{Function, WarpCounts};
use crate::machine::Machine;
use crate::pass::{Knob, KnobKind, KnobValues, PassError};

/// The knob for frequent paths.
pub(in crate::pass) const FP: Knob = Knob {
    name: "fp",
    label: "Frequent paths",
    kind: KnobKind::Number { default: 0.99, min: 0.0, max: 1.0 },
    help: "Set the share of all executions that frequent paths cover; other paths may pay, but not benefit.",
};

/// The knob for who pays.
pub(in crate::pass) const COST: Knob = Knob {
    name: "cost",
    label: "Who pays for an instruction",
    kind: KnobKind::Choice { default: "auto", words: &["auto", "path", "warp"] },
    help: "Charge an instruction to the path, as in the paper, or to the warp; auto: to the warp if a `profile \
           warp` counts executions.",
};

/// The knob for the machine.
pub(in crate::pass) const MACHINE: Knob = Knob {
    name: "machine",
    label: "Machine",
    kind: KnobKind::Choice { default: "ampere", words: &["unit", "volta", "turing", "ampere", "hopper"] },
    help: "Choose the machine whose issue costs count.",
};

/// Values of these knobs.
pub(in crate::pass) struct Rules {
    /// The share (0–1) of executions that frequent paths cover.
    pub share: f64,
    /// Whether warps pay instead of paths.
    pub is_by_warp: bool,
    /// The machine whose issue costs are counted.
    pub machine: Machine,
}

impl Rules {
    /// Values for a pass of that name. Fails if warps shall pay without a `profile warp`.
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
