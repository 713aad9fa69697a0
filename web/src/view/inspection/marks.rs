//! Marks on instructions, as graph and text look them up.

use std::collections::BTreeMap;

use warpscope_engine::message::inspect::{Anchor, Inspection as Told, Look};

/// The marks on instructions, as graph and text look them up.
#[derive(Default)]
pub struct LineMarks<'a> {
    insts: BTreeMap<u32, (Look, &'a str)>,
    before: BTreeMap<u32, &'a str>,
}

impl<'a> LineMarks<'a> {
    /// Those of an inspection.
    pub fn of(told: &'a Told) -> LineMarks<'a> {
        let mut marks = LineMarks::default();
        for mark in &told.marks {
            match mark.anchor {
                Anchor::Inst(inst) => _ = marks.insts.insert(inst, (mark.look, &mark.text)),
                Anchor::Before(inst) => _ = marks.before.insert(inst, &mark.text),
                _ => {}
            }
        }
        marks
    }

    /// The look of an instruction, and its sign.
    pub fn at(&self, inst: u32) -> Option<(Look, &'a str)> {
        self.insts.get(&inst).copied()
    }

    /// The label of an insertion before an instruction.
    pub fn before(&self, inst: u32) -> Option<&'a str> {
        self.before.get(&inst).copied()
    }
}
