//! The passes: what a pass is, and the one list of them.
//!
//! A pass is an ordinary algorithm over one function. It reads through a [`View`], changes through the view's
//! rewrites, and holds no tracing code. To add one: write its file, implement [`Pass`], name it in the list below.
//! `driver` runs passes, `support` holds what several of them share.
//!
//! | pass | source | in a line | leans on |
//! |---|---|---|---|
//! | `infer-space` | LLVM, InferAddressSpaces | gives generic accesses their space | alias |
//! | `copy-prop`, `back-copy-prop` | ptxas page, phases 82, 83 | reads sources, removes copies backward | flow |
//! | `const-fold`, `simplify-cfg` | Muchnick 12.1, 18.2 | folds constants, removes edges and blocks | sim |
//! | `general-optimize` | ptxas page, GeneralOptimize | both, copies and dead code in rounds | sim, flow |
//! | `dce`, `sink` | Cytron et al. 1991; Muchnick 13.5 | removes unused, moves to the only use | flow |
//! | `if-convert` | Allen et al. 1983 | small sides of branches become guards | machine |
//! | `gvn-cse`, `late-commoning` | ptxas page, phases 49, 64 | repeated expressions become copies | symbolic, alias |
//! | `reassociate`, `hoist-common` | ptxas page, phase 50; Muchnick 13.5 | orders sums, hoists common code | flow |
//! | `preqp` to `ssrqp` | Fukuhara and Takimoto 2021 | replaces loads by scalars, by questions | query |
//! | `azp` | Stephenson and Rangan 2020 | specialises code for zeros | machine, profile |
//! | `pde`, `spec-pre` | Gupta, Berson and Fang 1997 | moves code along executed paths | profile |

mod analyses;
pub mod azp;
mod back_copy_prop;
mod const_fold;
mod copy_prop;
mod dce;
mod driver;
mod general_optimize;
mod gvn_cse;
mod hoist_common;
mod if_convert;
mod infer_space;
mod inspected_analyses;
mod late_commoning;
pub mod pde;
mod reassociate;
mod scalar_replacement;
mod simplify_cfg;
mod sink;
pub mod spec_pre;
mod support;

use alloc::string::String;

pub use analyses::{ANALYSES, AnalysisInfo, AnalysisSettings};
pub use driver::inspector::{InspectedPosition, Inspector, Predictor, Subject, Surroundings};
pub use driver::knob::{FAULTING_KNOB, Knob, KnobKind, KnobValue, KnobValues};
pub use driver::pipeline::{
    PIPELINES, PassReport, Phase, Pipeline, PipelineError, Size, Step, apply_knob, guard_loads, parse_pipeline,
    print_pipeline, run_pipeline,
};
pub use driver::runner::{Runner, run_pass};
pub use inspected_analyses::{ANALYSES_TITLE, ANALYSIS, inspect_analysis};

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
