//! Values of the pass's knobs.

use super::costs::Costs;
use super::opportunity::{Opportunity, ThresholdRule};
use crate::machine::Machine;
use crate::pass::Settings;
use crate::pass::if_convert::{LANES, resident_warps};
use crate::view::View;

/// Knobs and settings as the pass uses them.
pub(super) struct Rules {
    pub p_thresh: f64,
    pub min_cycles: f64,
    pub rule: ThresholdRule,
    pub is_divergent: bool,
    pub may_hoist: bool,
    pub costs: Costs,
    pub fast_math: bool,
    /// No more transformations are made.
    pub limit: i64,
}

impl Rules {
    /// Reads the knobs, and the resident warps from the launch.
    pub fn new(view: &View<'_>, settings: &Settings) -> Rules {
        let knobs = &settings.knobs;
        let machine = Machine::from_name(knobs.choice("machine")).unwrap_or_default();
        let launch = view.module().stated_launch_of(&view.func().name);
        let warps = match u32::try_from(knobs.integer("warps")) {
            Ok(0) | Err(_) => resident_warps(launch, machine, launch.and_then(|launch| launch.warp).unwrap_or(LANES)),
            Ok(warps) => warps,
        };
        Rules {
            p_thresh: knobs.number("p_thresh"),
            min_cycles: knobs.number("min_cycles"),
            rule: match knobs.choice("threshold_rule") {
                "printed" => ThresholdRule::Printed,
                "expected" => ThresholdRule::Expected,
                _ => ThresholdRule::Remaining,
            },
            is_divergent: knobs.switch("divergent"),
            may_hoist: knobs.choice("hoist") == "global",
            costs: Costs { machine, warps },
            fast_math: settings.fast_math,
            limit: knobs.integer("xform_limit"),
        }
    }

    /// Score of a transformation: its gain. As printed, the rule takes a loss for a gain.
    pub fn score(&self, opportunity: &Opportunity) -> f64 {
        let sign = if self.rule == ThresholdRule::Printed { -1.0 } else { 1.0 };
        sign * opportunity.gain()
    }
}
