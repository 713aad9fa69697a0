//! Moves an instruction into the only successor that uses its result.
//!
//! ```text
//! a: x = mul.f32 u, v          a: br p, b, c
//!    br p, b, c           ──▶  b: x = mul.f32 u, v
//! b: st.global.f32 o[i], x        st.global.f32 o[i], x
//! ```
//!
//! 1. Blocks are visited in reverse postorder, so that an instruction can sink several times.
//! 2. Of each block the instructions are read from the last to the first, so that users move
//!    before the definitions that they read.
//! 3. An instruction moves if it is pure and unguarded, no later instruction of its block touches
//!    its result or writes its operands, and one of several successors, which control enters from
//!    this block only, dominates all uses of its result.
//! 4. It becomes the first instruction there.
//!
//! Sound because the lanes that enter the successor come from this block, with the same operands,
//! and every path to a use leads through the successor. It runs no more often than before, as a
//! block with one predecessor begins no loop.
//!
//! Cost: linear in uses times the depth of sinking, and each instruction times those after it in
//! its block. Limit: an instruction with more than [`MOST_LATER`] after it stays.
//!
//! Source: Muchnick, section 13.5; LLVM's Sink.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{InspectedPosition, Inspector, Pass, PassError, PassInfo, Settings, Subject};
use crate::flow::{ValueUse, ValueUses, Values};
use crate::graph::{Cfg, Dominators};
use crate::inspect::{
    Anchor, Cell, Column, Course, Inspection, Key, Look, Mark, Moment, Request, Row, Table, Timeline, Verdict,
};
use crate::ir::{Block, Function, Inst, Reg};
use crate::text::instruction_text;
use crate::trace::{Fact, Place, Remark};
use crate::view::View;

/// Instructions with more after them in their block stay.
const MOST_LATER: usize = 500;

/// Blocks that need a result are listed up to this number.
const MOST_NEEDING: usize = 3;

/// More instructions are counted, not listed.
const MOST_ROWS: usize = 200;

/// The heading of inspections.
const TITLE: &str = "Sinking";

/// The key of the choice of an instruction.
const CHOICE: &str = "instruction";

/// See the file's head.
pub struct Sink;

impl Pass for Sink {
    const INFO: PassInfo = PassInfo {
        name: "sink",
        paper: "Muchnick 13.5",
        summary: "Moves instructions into the only successor that uses their results.",
        knobs: &[],
        needs_fast_math: false,
    };

    const INSPECTOR: Option<Inspector> =
        Some(Inspector { title: TITLE, subject: Subject::Next, has_moments: true, applies: |_| true, inspect });

    fn run(view: &mut View<'_>, _: &Settings) -> Result<(), PassError> {
        let (cfg, dominators, values, uses) = (view.cfg(), view.dominators(), view.values(), view.value_uses());
        let results = Results { cfg: &cfg, dominators: &dominators, values: &values, uses: &uses };
        for &block in cfg.reverse_postorder() {
            let mut next = view.func().layout.last_inst(block);
            while let Some(inst) = next {
                next = view.func().layout.prev_inst(inst);
                match results.target(view.func(), block, inst) {
                    Ok(to) => sink(view, block, inst, to),
                    Err(Stays::Used(why)) => miss(view, block, inst, &why),
                    Err(Stays::Unsuitable) => {}
                }
            }
        }
        Ok(())
    }
}

/// The reason why an instruction stays.
enum Stays {
    /// It is of no kind that sinks.
    Unsuitable,
    /// Something else needs it where it is.
    Used(String),
}

/// Results of instructions and the blocks that need them.
struct Results<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    values: &'a Values,
    uses: &'a ValueUses,
}

impl Results<'_> {
    /// The successor that an instruction sinks into.
    fn target(&self, func: &Function, block: Block, inst: Inst) -> Result<Block, Stays> {
        let data = &func.insts[inst];
        let [dst] = *data.dsts else { return Err(Stays::Unsuitable) };
        if !data.opcode.is_pure() || data.guard.is_some() || data.is_terminator() {
            return Err(Stays::Unsuitable);
        }
        let name = |block: Block| format!("`{}`", func.blocks[block].name);
        let to = match self.needing(func, block, inst)[..] {
            [to] => to,
            [] => return Err(Stays::Unsuitable),
            [first, second] => return Err(Stays::Used(format!("{} and {} use its result", name(first), name(second)))),
            [first, second, ..] => {
                return Err(Stays::Used(format!("{}, {} and others use its result", name(first), name(second))));
            }
        };
        if !self.is_entered_from(to, block) {
            return Err(Stays::Used(format!("control reaches {} on other paths too", name(to))));
        }
        if self.cfg.successors(block).len() == 1 {
            return Err(Stays::Used(format!("{} is the only successor", name(to))));
        }
        let mut reads: Vec<Reg> = Vec::new();
        data.for_each_use(|reg| reads.push(reg));
        let mut next = func.layout.next_inst(inst);
        let mut later = 0;
        while let Some(other) = next {
            next = func.layout.next_inst(other);
            later += 1;
            let data = &func.insts[other];
            let mut touches = data.dsts.contains(&dst) || data.dsts.iter().any(|dst| reads.contains(dst));
            data.for_each_use(|reg| touches |= reg == dst);
            if touches {
                return Err(Stays::Used("a later instruction of its block depends on it".to_string()));
            }
            if later > MOST_LATER {
                return Err(Stays::Used(format!("more than {MOST_LATER} instructions come after it")));
            }
        }
        Ok(to)
    }

    /// The blocks after a block that need the result of one of its instructions, at most
    /// [`MOST_NEEDING`]: successors that dominate uses, and for other uses the blocks that they are in.
    fn needing(&self, func: &Function, block: Block, inst: Inst) -> Vec<Block> {
        let result = self.values.defined(inst)[0];
        let other_block = |inst: Inst| func.layout.inst_block(inst).filter(|&user| user != block);
        let mut needing: Vec<Block> = Vec::new();
        for reader in self.uses.of(result) {
            let users: Vec<Block> = match *reader {
                ValueUse::Operand { inst, .. } => other_block(inst).into_iter().collect(),
                ValueUse::Old(new) => self.values.definition(new).inst().and_then(other_block).into_iter().collect(),
                ValueUse::Argument(join) => {
                    let args = self.values.join_args(join).iter().filter(|arg| arg.value == result);
                    let edges = args.filter_map(|arg| arg.edge.expand());
                    let ends = edges.map(|edge| (self.cfg.source(edge), self.cfg.target(edge)));
                    ends.map(|(from, to)| if from == block { to } else { from }).collect()
                }
            };
            for user in users {
                let dominates =
                    |next: &Block| self.is_entered_from(*next, block) && self.dominators.dominates(*next, user);
                let place = self.cfg.successors(block).iter().copied().find(dominates).unwrap_or(user);
                if !needing.contains(&place) {
                    needing.push(place);
                }
            }
            if needing.len() >= MOST_NEEDING {
                break;
            }
        }
        needing
    }

    /// Does control enter a block from this one only?
    fn is_entered_from(&self, block: Block, only: Block) -> bool {
        !self.cfg.is_entry(block) && *self.cfg.predecessors(block) == [only]
    }
}

fn sink(view: &mut View<'_>, block: Block, inst: Inst, to: Block) {
    let module = view.module();
    let mut rewrite = view.rewrite(|func| {
        let (text, name) = (instruction_text(module, func, inst), &func.blocks[to].name);
        Remark::applied("sink", block, format!("moved `{text}` into `{name}`, the only successor that uses its result"))
            .at(inst)
            .with("to", Fact::Block(to))
    });
    let before = rewrite.func().layout.first_inst(to);
    rewrite.move_inst(inst, Place { block: to, before });
}

fn miss(view: &mut View<'_>, block: Block, inst: Inst, why: &str) {
    let module = view.module();
    view.miss(|func| {
        Remark::missed("sink", block, format!("kept `{}`: {why}", instruction_text(module, func, inst))).at(inst)
    });
}

/// The instructions that could sink, and the way of one of them.
fn inspect(position: &InspectedPosition<'_>, request: &Request) -> Option<Inspection> {
    let (module, func) = (position.module, position.function());
    let cfg = Cfg::compute(func);
    let dominators = Dominators::compute(&cfg);
    let values = Values::compute(func, &cfg, &dominators);
    let uses = ValueUses::compute(func, &values);
    let results = Results { cfg: &cfg, dominators: &dominators, values: &values, uses: &uses };
    let blocks = cfg.reverse_postorder().iter();
    let insts = blocks.flat_map(|&block| func.block_insts(block).map(move |inst| (block, inst)));
    let found: Vec<(Block, Inst, Result<Block, String>)> = insts
        .filter_map(|(block, inst)| match results.target(func, block, inst) {
            Ok(to) => Some((block, inst, Ok(to))),
            Err(Stays::Used(why)) => Some((block, inst, Err(why))),
            Err(Stays::Unsuitable) => None,
        })
        .collect();
    let chosen = request.choices.get(CHOICE).and_then(|value| value.parse().ok()).map(Inst::from_u32);
    let next = position.rewrites().1.next().and_then(|event| event.remark.inst);
    let is = |wanted: Option<Inst>| found.iter().find(move |(_, inst, _)| Some(*inst) == wanted);
    let shown = is(chosen).or_else(|| is(next)).or_else(|| found.iter().find(|(.., to)| to.is_ok()));
    let text = |inst: Inst| instruction_text(module, func, inst);
    let name = |block: Block| func.blocks[block].name.as_str();
    let row = |(block, inst, to): &(Block, Inst, Result<Block, String>)| Row {
        key: inst.as_u32().to_string(),
        cells: Vec::from([
            Cell::text(text(*inst)),
            Cell::text(name(*block)),
            to.as_ref().map_or_else(|_| Cell::none(), |&to| Cell::text(name(to))),
        ]),
        look: if next == Some(*inst) { Look::Good } else { Look::Plain },
        is_choosable: true,
        is_chosen: shown.is_some_and(|(_, shown, _)| shown == inst),
        verdict: to.as_ref().err().map(|why| Verdict {
            is_good: false,
            rule: "kept".into(),
            sentence: format!("{why}."),
        }),
        anchor: Some(Anchor::Inst(inst.as_u32())),
        ..Row::default()
    };
    let column = |name: &str| Column { name: name.into(), ..Column::default() };
    let mark = |(_, inst, to): &(Block, Inst, Result<Block, String>)| Mark {
        anchor: Anchor::Inst(inst.as_u32()),
        look: if to.is_ok() { Look::Cause } else { Look::Copied },
        text: String::new(),
    };
    let key = |look: Look, label: &str, sinks: bool| Key {
        look,
        sign: String::new(),
        label: label.into(),
        count: found.iter().filter(|(.., to)| to.is_ok() == sinks).count(),
    };
    Some(Inspection {
        lead: match next {
            Some(inst) => format!("Next, `{}` moves to where its result is used.", text(inst)),
            None => "Nothing left to sink.".into(),
        },
        tables: Vec::from([Table {
            name: "Sinking".into(),
            columns: ["Instruction", "From", "To"].map(column).into(),
            rows: found.iter().take(MOST_ROWS).map(row).collect(),
            left_out: found.len().saturating_sub(MOST_ROWS),
            left_out_words: "more".into(),
            empty: "no instruction could sink".into(),
            choice: CHOICE.into(),
        }]),
        legend: Vec::from([key(Look::Cause, "sinks", true), key(Look::Copied, "kept", false)]),
        marks: found.iter().map(mark).collect(),
        timeline: shown.map(|(block, inst, to)| way(func, *block, *inst, to.as_ref().ok(), next == Some(*inst))),
        ..Inspection::new(TITLE)
    })
}

/// The way of an instruction: through the rest of its block, along the edge, to where it is inserted.
fn way(func: &Function, block: Block, inst: Inst, to: Option<&Block>, is_next: bool) -> Timeline {
    let name = |block: Block| format!("`{}`", func.blocks[block].name);
    let mark = |anchor: Anchor, look: Look, text: &str| Mark { anchor, look, text: text.into() };
    let moment = |word: &str, sentence: String, marks: &[Mark]| Moment {
        word: word.into(),
        sentence,
        marks: marks.to_vec(),
        ..Moment::default()
    };
    let (from, place) = (block.as_u32(), Anchor::Before(inst.as_u32()));
    let rest = Anchor::Range { block: from, from: Some(inst.as_u32()), to: None };
    let moments = to.map(|&to| {
        let dst = func.insts[inst].dst().map_or("", |dst| &func.regs[dst].name);
        let (edge, target) = (Anchor::Edge(from, to.as_u32()), Anchor::Start(to.as_u32()));
        let moved = [
            mark(target, Look::New, dst),
            mark(place.clone(), Look::New, dst),
            mark(place.clone(), Look::Removed, "×"),
        ];
        [
            moment(
                "delayed",
                format!("Nothing after it in {} depends on it.", name(block)),
                &[mark(rest, Look::Plain, "")],
            ),
            moment("delayed", format!("Only {} uses its result.", name(to)), &[mark(edge, Look::Plain, "")]),
            moment("moved", format!("It becomes the first instruction of {}.", name(to)), &moved),
        ]
    });
    let moments: Vec<Moment> = moments.into_iter().flatten().collect();
    Timeline {
        name: "Path of the instruction".into(),
        course: Course { last: moments.len(), ..Course::default() },
        moments,
        leads_to_change: is_next,
        ..Timeline::default()
    }
}
