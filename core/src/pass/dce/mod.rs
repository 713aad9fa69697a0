//! Dead code elimination.
//!
//! ```text
//! i = mov.u32 0                     loop:
//! loop:                                 st.global.f32 x[j], v
//!     i = add.u32 i, 1       ──▶        …
//!     x[j] = v …
//! ```
//!
//! Everything is dead until shown needed. Instructions with an effect are needed; a needed instruction needs every
//! definition that reaches one of its reads. What is left goes away, cycles of instructions that only feed each other
//! included. A register with one definition points straight at it. For the others the search runs backwards from the
//! read to the definitions before it: an unguarded one ends the search, a guarded one does not, because other lanes
//! keep what they had. Registers that are defined often are searched for together, a bit each ([`often`]). For one that
//! is defined in a few blocks, the search goes from one block where a definition stands, or where definitions meet, to
//! the next ([`sites`]); where that would take too much memory, it leaves out regions without definitions ([`regions`]).
//!
//! A copy of a register into itself goes away too, unless it may be the only one that assigns the register: a program
//! that reads what nothing assigns is refused.
//!
//! Sound because a removed instruction writes only values that no needed instruction can see. A load may be removed
//! although it could have faulted: a program that faults has no result to keep.
//!
//! Cost: linear in the instructions, where control flow is not contrived. Registers with a definition in every 64th
//! block or more often, and a few more, take a bit a block. Another one costs a binary search for each block where different definitions
//! of it meet, for each edge to one, and for each block that reads it. Running it again finds nothing more.
//!
//! Source: Cytron et al., TOPLAS 1991, section 7.1, on use-definition chains in place of SSA.

mod definitions;
mod often;
mod regions;
mod search;
mod sites;

use alloc::format;
use alloc::vec::Vec;

use super::{Pass, PassError, PassInfo, Settings};
use crate::ir::{Block, Flags, Inst, InstData, Op, Operand};
use crate::text::instruction_text;
use crate::trace::Remark;
use crate::view::View;

/// See the file's head.
pub struct Dce;

impl Pass for Dce {
    const INFO: PassInfo = PassInfo {
        name: "dce",
        paper: "Cytron et al. 1991, 7.1",
        summary: "Removes instructions whose results nothing needs, also those that only feed each other.",
        knobs: &[],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, _: &Settings) -> Result<(), PassError> {
        let (cfg, needed) = (view.cfg(), search::find_needed(view));
        // Readers go before what they read, so that every state on the way is a good program.
        for block in cfg.postorder() {
            needed.for_each_other(view, block, |view, inst| remove(view, block, inst));
        }
        Ok(())
    }
}

fn remove(view: &mut View<'_>, block: Block, inst: Inst) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let (text, data) = (instruction_text(module, func, inst), &func.insts[inst]);
        let names: Vec<_> = data.dsts.iter().map(|&dst| format!("`{}`", func.regs[dst].name)).collect();
        let (rule, why) = if copies_itself(data) {
            ("self-copy", format!("{} already holds that", names.join(", ")))
        } else {
            ("dead", format!("nothing needs {}", names.join(", ")))
        };
        Remark::applied(rule, block, format!("`{text}` goes away: {why}")).at(inst)
    });
    rewrite.remove(inst);
}

/// Must the instruction stay whatever reads its result? Beyond effects on memory, a `.sync` form makes lanes wait for
/// each other.
fn has_effect(data: &InstData) -> bool {
    data.opcode.has_effect() || data.opcode.has(Flags::SYNC)
}

/// `x = mov x`: whoever reads `x` afterwards may as well read it before.
fn copies_itself(data: &InstData) -> bool {
    let ([Operand::Reg(reg)], [dst]) = (data.args.as_slice(), data.dsts.as_slice()) else { return false };
    data.opcode.op == Op::Mov && reg == dst
}
