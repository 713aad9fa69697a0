//! Global value numbering and common subexpression elimination.
//!
//! ```text
//! n1: x = add.u32 a, b          n1: x = add.u32 a, b
//!     br p, n2, n3                  br p, n2, n3
//! n2: y = add.u32 b, a    ──▶   n2: y = mov.u32 x
//!     st.global.u32 o[0], y         st.global.u32 o[0], y
//! ```
//!
//! Algorithm:
//! 1. Choose the scope of the mode: a block, an extended basic block, or all dominating blocks
//!    ([`scope`]).
//! 2. Name the definitions of memory ([`memory`]) and the regions of lanes ([`lanes`]).
//! 3. Give each value and each instruction a number ([`numbering`]): equal expressions
//!    ([`expressions`]), equal numbers.
//! 4. Walk down the dominator tree. An eligible instruction ([`eligibility`]) whose number a
//!    dominating register holds becomes a copy of that register ([`commoning`]).
//!
//! Sound because both instructions compute the same from the same operands, with no write to memory
//! between two loads and the same lanes active at two votes, and because the first one has run
//! before the second one on every path. Each lane reads its own result, so that divergent values
//! are as good as uniform ones.
//!
//! Cost: O(instructions + join arguments), and a logarithm for each replacement. A second run finds
//! nothing more, but for loads of several words whose values are in registers that the load writes:
//! an earlier copy may have changed in which order they can be copied.
//!
//! Limits: `EnableGvnCsePerInstr` eligible instructions are looked up; a `limit` remark names the
//! first one beyond. Mode 4 without enhanced scope is mode 2, and modes 5 and 6 are mode 3. A
//! `generation` remark names the generations on which the vendor's compiler leaves the pass out;
//! here it runs when asked.
//!
//! Source: ptxas page, phase 49; P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE 1997.

mod commoning;
pub(super) mod eligibility;
pub(super) mod expressions;
mod inspect;
pub(super) mod lanes;
mod memory;
pub(super) mod numbering;
pub(super) mod numbers;
mod remarks;
mod report;
mod scope;
pub(super) mod scoped;

use alloc::format;

use super::{Inspector, Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::trace::{Fact, Remark};
use crate::view::View;
use commoning::replace_repetitions;
use numbering::Options;
use numbers::ValueNumbers;
use scope::Scope;

/// See the file's head.
pub struct GvnCse;

/// Generations on which the vendor's compiler does nothing here.
const LEFT_OUT: [&str; 4] = ["30", "50", "80", "89"];

impl Pass for GvnCse {
    const INFO: PassInfo = PassInfo {
        name: "gvn-cse",
        paper: "ptxas page, phase 49",
        summary: "Numbers all values and replaces repeated computations by copies of the earlier result.",
        knobs: &[
            Knob {
                name: "EnableGvnCse",
                label: "Enabled",
                kind: KnobKind::Switch { default: true },
                help: "Enable the pass.",
            },
            Knob {
                name: "EnableGvnCseMode",
                label: "Scope",
                kind: KnobKind::Integer { default: 5, min: 0, max: 6 },
                help: "Set the scope: 0 off, 1 one block, 2 immediate dominators, 3, 4 dominator tree, 5, 6 joins too.",
            },
            Knob {
                name: "EnableGvnCsePerInstr",
                label: "Instructions visited",
                kind: KnobKind::Integer { default: 1_000_000_000, min: 0, max: 1_000_000_000 },
                help: "Stop after this many eligible instructions, in the order of the walk.",
            },
            Knob {
                name: "enhanced_scope",
                label: "Wide scope",
                kind: KnobKind::Switch { default: true },
                help: "Enable modes 4 to 6, and replace transcendental functions and shuffles.",
            },
            // In a warp the lanes' stores to one address are a race that has a winner here, so it
            // takes a promise.
            Knob {
                name: "forward_stores",
                label: "Store forwarding",
                kind: KnobKind::Switch { default: false },
                help: "Forward stores to loads of the thread, remove redundant stores; sound without data races.",
            },
            Knob {
                name: "cross_block_flag",
                label: "Single-entry regions",
                kind: KnobKind::Switch { default: true },
                help: "Keep mode 2 within single-entry regions.",
            },
            Knob {
                name: "sm",
                label: "GPU generation",
                kind: KnobKind::Choice { default: "90", words: &["30", "50", "60", "70", "80", "89", "90"] },
                help: "Set the generation; a remark names those on which the vendor's compiler skips the pass.",
            },
        ],
        needs_fast_math: false,
    };

    const INSPECTOR: Option<Inspector> = Some(inspect::INSPECTOR);

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        let knobs = &settings.knobs;
        let enhanced = knobs.switch("enhanced_scope");
        let mode = match knobs.integer("EnableGvnCseMode") {
            4 if !enhanced => 2,
            5 | 6 if !enhanced => 3,
            mode => mode,
        };
        if mode == 0 || !knobs.switch("EnableGvnCse") {
            return Ok(());
        }
        tell_generation(view, knobs.choice("sm"));
        let (cfg, dominators) = (view.cfg(), view.dominators());
        let scope = match mode {
            1 => Scope::block(view.func()),
            2 => {
                let values = view.values();
                Scope::chain(view.func(), &cfg, &dominators, &values, enhanced, knobs.switch("cross_block_flag"))
            }
            _ => Scope::Dominators { joins: mode >= 5 },
        };
        let options = Options {
            enhanced,
            is_algebraic: true,
            follows_copies: true,
            forwards_stores: knobs.switch("forward_stores"),
        };
        let numbers = ValueNumbers::compute(view, options);
        let limit = usize::try_from(knobs.integer("EnableGvnCsePerInstr")).unwrap_or(usize::MAX);
        replace_repetitions(view, &dominators, &numbers, &scope, limit);
        Ok(())
    }
}

/// Says where the vendor's compiler would not have run.
fn tell_generation(view: &mut View<'_>, sm: &str) {
    if !LEFT_OUT.contains(&sm) {
        return;
    }
    if let Some(entry) = view.func().entry_block() {
        view.miss(|_| {
            let message = format!("the vendor's compiler skips this pass on sm_{sm}; it ran here");
            Remark::missed("generation", entry, message).with("sm", Fact::Text(sm.into()))
        });
    }
}
