//! Removes instructions whose results are unused, also those that only feed each other.
//!
//! ```text
//! i = mov.u32 0                     loop:
//! loop:                                 st.global.f32 x[j], v
//!     i = add.u32 i, 1       ──▶        …
//!     x[j] = v …
//! ```
//!
//! 1. Instructions with an effect are needed.
//! 2. A needed instruction needs the values that it reads.
//! 3. A needed value needs the instruction that writes it; a guarded one also the value that the register held before,
//!    which other lanes keep; a join of values all of its arguments.
//! 4. All other instructions of reachable blocks are removed, readers before what they read, so that every state on the
//!    way is a good program.
//!
//! A copy of a register into itself needs no place of its own: who needs it needs what the register
//! held before. It stays where no path assigns the register before, because a program that reads
//! what nothing assigns is refused.
//!
//! Sound because a removed instruction writes only values that no needed instruction can see. A load may be removed
//! although it could have faulted: a program that faults has no result to keep.
//!
//! Cost: that of naming the values, and linear in those. Running it again finds nothing more.
//!
//! Source: Cytron et al., TOPLAS 1991, section 7.1.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use cranelift_entity::EntitySet;

use super::{Pass, PassError, PassInfo, Settings};
use crate::flow::{Definition, JoinArg, Value, Values};
use crate::graph::Cfg;
use crate::ir::{Block, Flags, Function, Inst, InstData, Op, Operand, Reg};
use crate::text::instruction_text;
use crate::trace::Remark;
use crate::view::View;

/// See the file's head.
pub struct Dce;

impl Pass for Dce {
    const INFO: PassInfo = PassInfo {
        name: "dce",
        paper: "Cytron et al. 1991, 7.1",
        summary: "Removes instructions whose results are unused, also those that only feed each other.",
        knobs: &[],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, _: &Settings) -> Result<(), PassError> {
        let cfg = view.cfg();
        let needed = find_needed(view, &cfg);
        for block in cfg.postorder() {
            let mut next = view.func().layout.last_inst(block);
            while let Some(inst) = next {
                next = view.func().layout.prev_inst(inst);
                if !needed.contains(inst) {
                    remove(view, block, inst);
                }
            }
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
            ("self-copy", format!("{} already holds this value", names.join(", ")))
        } else {
            let unused = if names.len() == 1 { "its result is unused" } else { "its results are unused" };
            ("dead", unused.into())
        };
        Remark::applied(rule, block, format!("removed `{text}`: {why}")).at(inst)
    });
    rewrite.remove(inst);
}

/// Whether the instruction stays whatever reads its result. Beyond effects on memory, a `.sync`
/// form makes lanes wait for each other.
fn has_effect(data: &InstData) -> bool {
    data.opcode.has_effect() || data.opcode.has(Flags::SYNC)
}

/// Whether the instruction is `x = mov x`, guarded or not.
fn copies_itself(data: &InstData) -> bool {
    let ([Operand::Reg(reg)], [dst]) = (data.args.as_slice(), data.dsts.as_slice()) else { return false };
    data.opcode.op == Op::Mov && reg == dst
}

/// The instructions that are needed.
fn find_needed(view: &mut View<'_>, cfg: &Cfg) -> EntitySet<Inst> {
    let values = view.values();
    let func = view.func();
    let mut search = Search {
        func,
        cfg,
        values: &values,
        needed: EntitySet::with_capacity(func.insts.len()),
        seen: EntitySet::with_capacity(values.len()),
        worklist: Vec::new(),
        unassigned: None,
    };
    let insts = cfg.postorder().flat_map(|block| func.block_insts(block));
    insts.filter(|&inst| has_effect(&func.insts[inst])).for_each(|inst| search.need(inst));
    while let Some(value) = search.worklist.pop() {
        search.need_sources(value);
    }
    search.needed
}

/// The search for what is needed.
struct Search<'a> {
    func: &'a Function,
    cfg: &'a Cfg,
    values: &'a Values,
    needed: EntitySet<Inst>,
    /// Values that have been on the worklist.
    seen: EntitySet<Value>,
    /// Needed values whose sources are still to be needed.
    worklist: Vec<Value>,
    /// Values that nothing assigns, found once a copy of a register into itself is needed.
    unassigned: Option<EntitySet<Value>>,
}

impl Search<'_> {
    fn need(&mut self, inst: Inst) {
        if self.needed.insert(inst) {
            self.values.used(inst).iter().for_each(|&value| self.need_value(value));
        }
    }

    fn need_value(&mut self, value: Value) {
        if self.seen.insert(value) {
            self.worklist.push(value);
        }
    }

    fn need_sources(&mut self, value: Value) {
        match self.values.definition(value) {
            Definition::Entry => {}
            Definition::Inst { inst, .. } => self.need_writer(inst),
            Definition::Guarded { inst, old, .. } => {
                self.need_value(old);
                self.need_writer(inst);
            }
            Definition::Join { .. } => self.values.join_args(value).iter().for_each(|arg| self.need_value(arg.value)),
        }
    }

    fn need_writer(&mut self, inst: Inst) {
        if copies_itself(&self.func.insts[inst])
            && let [before] = *self.values.operands(inst)
        {
            let unassigned = self.unassigned.get_or_insert_with(|| find_unassigned(self.func, self.cfg, self.values));
            if !unassigned.contains(before) {
                return self.need_value(before);
            }
        }
        self.need(inst);
    }
}

/// The values of registers that no path without a loop has assigned.
fn find_unassigned(func: &Function, cfg: &Cfg, values: &Values) -> EntitySet<Value> {
    let params: BTreeSet<Reg> = func.params.iter().filter_map(|param| param.reg).collect();
    let mut unassigned = EntitySet::with_capacity(values.len());
    let is_entry = |value: Value| values.definition(value) == Definition::Entry;
    unassigned.extend(values.iter().filter(|&value| is_entry(value) && !params.contains(&values.reg(value))));
    for &block in cfg.reverse_postorder() {
        let comes_later = |arg: &JoinArg| arg.edge.expand().is_some_and(|edge| cfg.is_retreating(edge));
        for join in values.joins(block) {
            let mut args = values.join_args(join).iter();
            if args.all(|arg| comes_later(arg) || unassigned.contains(arg.value)) {
                unassigned.insert(join);
            }
        }
    }
    unassigned
}
