//! The passes: what a pass is, and the one list of them.
//!
//! A pass is an ordinary algorithm over one function. It reads through a [`View`], changes through the view's
//! rewrites, and holds no tracing code. To add one: write its file, implement [`Pass`], name it in the list below.

mod available_copies;
pub mod azp;
mod back_copy_prop;
mod branch_slice;
mod const_fold;
mod copies;
mod copy_prop;
mod dce;
mod fresh_knowledge;
mod general_optimize;
mod gvn_cse;
mod hoist_common;
mod if_convert;
mod infer_space;
mod inspector;
mod knob;
mod last_assignment;
mod late_commoning;
mod path_guided;
pub mod pde;
mod pipeline;
mod reassociate;
mod runner;
mod scalar_replacement;
mod simplify_cfg;
mod sink;
pub mod spec_pre;

use alloc::string::String;

pub use inspector::{InspectedPosition, Inspector, Predictor, Subject, Surroundings};
pub use knob::{FAULTING_KNOB, Knob, KnobKind, KnobValue, KnobValues};
pub use pipeline::{
    PIPELINES, PassReport, Phase, Pipeline, PipelineError, Size, Step, apply_knob, guard_loads, parse_pipeline,
    print_pipeline, run_pipeline,
};
pub use runner::{Runner, run_pass};

use crate::view::View;

/// Description of a pass for users.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PassInfo {
    /// Kebab-case name.
    pub name: &'static str,
    /// The work it implements, in words a reader can look up.
    pub paper: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Its settings.
    pub knobs: &'static [Knob],
    /// Does it treat floats as real numbers? Then it refuses them without the fast-math licence.
    pub needs_fast_math: bool,
}

/// Settings of a pass.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings {
    /// Its own knobs.
    pub knobs: KnobValues,
    /// May float arithmetic be treated as that of real numbers (`x * 0 = 0`, reassociation)?
    pub fast_math: bool,
}

/// A pass could not do its work. The function stays as the last complete rewrite left it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassError {
    /// A sentence that says why and what would help.
    pub message: String,
}

/// An optimisation of one function.
pub trait Pass {
    /// Description for users.
    const INFO: PassInfo;

    /// Its inspector, if it shows anything.
    const INSPECTOR: Option<Inspector> = None;

    /// Its predictor, if it predicts what the branches that it made are worth.
    const PREDICTOR: Option<Predictor> = None;

    /// Rewrites the function. It either finds nothing more when run again, or its documentation says why not.
    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError>;
}

/// A pass in the list: its description and its code.
#[derive(Clone, Copy)]
pub struct PassEntry {
    /// Description for users.
    pub info: PassInfo,
    /// Its code.
    pub run: fn(&mut View<'_>, &Settings) -> Result<(), PassError>,
    /// Its inspector, if it shows anything.
    pub inspector: Option<Inspector>,
    /// Its predictor, if it predicts anything.
    pub predictor: Option<Predictor>,
}

impl PassEntry {
    /// The entry of a pass.
    pub const fn of<P: Pass>() -> PassEntry {
        PassEntry { info: P::INFO, run: P::run, inspector: P::INSPECTOR, predictor: P::PREDICTOR }
    }

    /// All its knobs at their defaults, without the fast-math licence.
    pub fn default_settings(&self) -> Settings {
        Settings { knobs: KnobValues::defaults(self.info.knobs), fast_math: false }
    }
}

macro_rules! passes {
    ($($pass:ty),* $(,)?) => {
        /// Every pass, in the order in which lists show them.
        pub static PASSES: &[PassEntry] = &[$(PassEntry::of::<$pass>()),*];
    };
}

passes![
    infer_space::InferSpace,
    copy_prop::CopyProp,
    back_copy_prop::BackCopyProp,
    const_fold::ConstFold,
    dce::Dce,
    sink::Sink,
    simplify_cfg::SimplifyCfg,
    general_optimize::GeneralOptimize,
    if_convert::IfConvert,
    gvn_cse::GvnCse,
    reassociate::Reassociate,
    hoist_common::HoistCommon,
    late_commoning::LateCommoning,
    scalar_replacement::Preqp,
    scalar_replacement::Srqp,
    scalar_replacement::Esrqp,
    scalar_replacement::SsrqpS,
    scalar_replacement::Ssrqp,
    azp::Azp,
    pde::Pde,
    spec_pre::SpecPre,
];

/// The pass of that name.
pub fn find(name: &str) -> Option<&'static PassEntry> {
    PASSES.iter().find(|pass| pass.info.name == name)
}
