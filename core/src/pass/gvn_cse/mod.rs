//! Global value numbering and common subexpression elimination.
//!
//! ```text
//! n1: x = add.u32 a, b          n1: x = add.u32 a, b
//!     br p, n2, n3                  br p, n2, n3
//! n2: y = add.u32 b, a    ──▶   n2: y = mov.u32 x
//!     st.global.u32 o[0], y         st.global.u32 o[0], y
//! ```
//!
//! After one look at all instructions ([`outline`]) every value gets a number, and what has one number is one value
//! ([`numbering`]); an instruction whose number has been computed in a block that dominates becomes a copy of that
//! ([`commoning`]). Which instructions take part is the page's
//! table ([`eligibility`]), how far a value is taken is the mode ([`scope`]), loads have the state of memory in their
//! numbers ([`memory`]), and operations across lanes the region in which the same lanes are active ([`lanes`]). Each step of
//! the value table goes to the trace ([`report`]) and can be shown ([`inspect`]).
//!
//! Sound because both instructions compute the same from the same, with no write to memory between two loads and the
//! same lanes active at two votes, and because the first one has run before the second one on every path. A divergent
//! value is as good as a uniform one: each lane reads what it computed itself.
//!
//! Mode 4 without enhanced scope is mode 2, and modes 5 and 6 are mode 3. `sm` tells on which generations the vendor's
//! compiler runs the pass: it leaves it out on 30, 50, 80 and 89, which a remark says; here it runs when asked.
//!
//! Linear in instructions, apart from a logarithm for finding which value a register holds. Running it again finds
//! nothing more, but for a load of several words whose values stand in the registers that it writes: in which order these
//! could be copied, an earlier copy may have changed.
//!
//! Source: ptxas page, Phase 49; P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE 1997.

mod commoning;
pub(super) mod eligibility;
pub(super) mod expressions;
mod inspect;
pub(super) mod lanes;
pub(super) mod memory;
pub(super) mod numbering;
mod origins;
pub(super) mod outline;
mod registers;
mod report;
mod scope;

use alloc::format;

use super::{Inspector, Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::trace::{Fact, Remark};
use crate::view::View;
use commoning::replace_repetitions;
use lanes::Regions;
use numbering::{Numbering, Options};
use outline::Outline;
use scope::Scope;

/// See the file's head.
pub struct GvnCse;

/// Generations on which the vendor's compiler does nothing here.
const LEFT_OUT: [&str; 4] = ["30", "50", "80", "89"];

impl Pass for GvnCse {
    const INFO: PassInfo = PassInfo {
        name: "gvn-cse",
        paper: "ptxas page, phase 49",
        summary: "Numbers all values and lets what has been computed before be copied instead of computed again.",
        knobs: &[
            Knob { name: "EnableGvnCse", kind: KnobKind::Switch { default: true }, help: "runs the pass at all" },
            Knob {
                name: "EnableGvnCseMode",
                kind: KnobKind::Integer { default: 5, min: 0, max: 6 },
                help: "0 off, 1 one block, 2 along immediate dominators, 3 and 4 dominator tree, 5 and 6 joins as well",
            },
            Knob {
                name: "EnableGvnCsePerInstr",
                kind: KnobKind::Integer { default: 1_000_000_000, min: 0, max: 1_000_000_000 },
                help: "how many eligible instructions are looked at, in the order of the walk, before the pass stops",
            },
            Knob {
                name: "enhanced_scope",
                kind: KnobKind::Switch { default: true },
                help: "lets modes 4 to 6 be what they are, and transcendental functions and shuffles be replaced",
            },
            // In a warp the lanes' stores to one address are a race that has a winner here, so it takes a promise.
            Knob {
                name: "forward_stores",
                kind: KnobKind::Switch { default: false },
                help: "a thread takes what it stored for what it loads, and stores only what changes memory and is read; sound without races",
            },
            Knob {
                name: "cross_block_flag",
                kind: KnobKind::Switch { default: true },
                help: "keeps mode 2 within single-entry regions",
            },
            Knob {
                name: "sm",
                kind: KnobKind::Choice { default: "90", words: &["30", "50", "60", "70", "80", "89", "90"] },
                help: "the generation; a remark tells whether the vendor's compiler runs the pass on it",
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
            1 => Scope::Block,
            2 => {
                let values = view.values();
                Scope::chain(view.func(), &cfg, &dominators, &values, enhanced, knobs.switch("cross_block_flag"))
            }
            _ => Scope::Dominators { joins: mode >= 5 },
        };
        let outline = Outline::of(view.func(), &dominators);
        let regions = if outline.needs_regions() { Regions::compute(view) } else { Regions::default() };
        let options = Options {
            enhanced,
            names_work: view.is_traced(),
            is_algebraic: true,
            follows_copies: true,
            forwards_stores: knobs.switch("forward_stores"),
        };
        let place = (view.module(), view.func());
        let numbering = Numbering::new(place, (&cfg, &dominators), &regions, outline, options);
        let limit = usize::try_from(knobs.integer("EnableGvnCsePerInstr")).unwrap_or(usize::MAX);
        replace_repetitions(view, &dominators, numbering, &scope, limit);
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
            let message = format!("the vendor's compiler leaves this pass out on sm_{sm}; it ran all the same");
            Remark::missed("generation", entry, message).with("sm", Fact::Text(sm.into()))
        });
    }
}
