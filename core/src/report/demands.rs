//! Reports of demands: whether the value of one instruction is available, and the thread that decides it.
//!
//! ```text
//! { "kernel", "knobs", "seed": { "block", "index", "text", "kind", "name", "constant" },
//!   "answer": "must" | "may" | "no" | null, "visited": vertices,
//!   "thread": [ { "block", "name", "from": [ { "block", "name": … | null, "why": … | null } ] } ],
//!   "remarks": [ { "rule", "message" } ] }
//! ```

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};
use serde::Serialize;

use super::simulate::Element;
use super::value_names::{NoteReport, notes, owned};
use crate::ir::{Func, Inst, Module};
use crate::pass::{AnalysisSettings, KnobValue};
use crate::text::instruction_text;
use crate::vng::{EndReason, Flow, Foundation, Names, Role, ThreadEdge, ValueNameGraph, VertexKind};

/// Report of one demand.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DemandReport {
    /// The kernel or function.
    pub kernel: String,
    /// The knobs and their values.
    pub knobs: BTreeMap<&'static str, KnobValue>,
    /// The instruction.
    pub seed: DemandSeedReport,
    /// Availability before it: `must`, `may` or `no`; None for a seed that only generates.
    pub answer: Option<&'static str>,
    /// Number of vertices that were visited.
    pub visited: usize,
    /// The names on the ways to it, the nearest first.
    pub thread: Vec<ThreadNameReport>,
    /// Sentences about limits and what was left out.
    pub remarks: Vec<NoteReport>,
}

/// An instruction whose value is asked for.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DemandSeedReport {
    /// Label of its block.
    pub block: String,
    /// Its place among the instructions of the block, from 0.
    pub index: u32,
    /// The instruction.
    pub text: String,
    /// `user` or `generator`.
    pub kind: &'static str,
    /// Its name, over the registers before it.
    pub name: String,
    /// The constant that it is on every way.
    pub constant: Option<Element>,
}

/// A name on a thread.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ThreadNameReport {
    /// Label of its block.
    pub block: String,
    /// The name there.
    pub name: String,
    /// Its continuations.
    pub from: Vec<ThreadSourceReport>,
}

/// Continuation of a name along an edge or above an instruction.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ThreadSourceReport {
    /// Label of the block.
    pub block: String,
    /// The name; None where nothing is available.
    pub name: Option<String>,
    /// Reason why the name is another one or its thread ends; None where it passes unchanged.
    pub why: Option<String>,
}

impl DemandReport {
    /// The report of the instruction at `LABEL.INDEX` of a function.
    ///
    /// # Errors
    ///
    /// A message if there is no such instruction, or if it is no seed.
    pub fn new(module: &Module, func: Func, settings: &AnalysisSettings, at: &str) -> Result<DemandReport, String> {
        let func = &module.funcs[func];
        let (label, index) = parse(at)?;
        let block = func.block_by_name(label).ok_or_else(|| format!("`{}` has no block `{label}`", func.name))?;
        let inst = func.block_insts(block).nth(index as usize).ok_or_else(|| {
            let count = func.block_insts(block).count();
            format!("block `{label}` of `{}` has {count} instructions, counted from 0; there is no `{at}`", func.name)
        })?;
        let foundation = Foundation::compute(module, func, settings.vng_options());
        let text = instruction_text(module, func, inst);
        let answer = ValueNameGraph::demand(&foundation, inst)
            .ok_or_else(|| format!("`{at}` is no seed: `{text}`; the knob `vng.seeds` chooses seeds"))?;
        let names = Names::new(module, func, &foundation, &answer.graph);
        let seed = &answer.graph.seeds[answer.seed];
        let mut remarks = notes(&answer.graph);
        if answer.is_cut {
            let message = format!("the budget of {} vertices is spent: open paths count as `no`", answer.visited);
            remarks.push(NoteReport { rule: "limit", message });
        }
        let vertices = answer.graph.graph.vertices.iter();
        let gaps = vertices.filter(|(_, data)| data.kind == VertexKind::Pass && !data.incoming.is_empty());
        let thread = gaps.map(|(vertex, data)| {
            let edges = data.incoming.iter().map(|&edge| &answer.graph.graph.edges[edge as usize]);
            ThreadNameReport {
                block: names.label(data.block),
                name: names.of_vertex(vertex),
                from: edges.map(|edge| names.source(edge)).collect(),
            }
        });
        Ok(DemandReport {
            kernel: func.name.clone(),
            knobs: settings.values("vng").map(owned).collect(),
            seed: DemandSeedReport {
                block: label.to_string(),
                index,
                text,
                kind: if seed.role == Role::User { "user" } else { "generator" },
                name: names.at(seed.name, block, Some(inst)),
                constant: names.constant(seed),
            },
            answer: answer.availability.map(|fact| fact.word()),
            visited: answer.visited,
            thread: thread.collect(),
            remarks,
        })
    }
}

/// Label and index.
fn parse(at: &str) -> Result<(&str, u32), String> {
    let parts = at.rsplit_once('.').and_then(|(label, index)| Some((label, index.parse().ok()?)));
    parts.filter(|(label, _)| !label.is_empty()).ok_or_else(|| format!("expected `LABEL.INDEX`, found `{at}`"))
}

impl Names<'_, '_> {
    /// The continuation of a name along an edge between vertices.
    fn source(&self, edge: &ThreadEdge) -> ThreadSourceReport {
        let graph = &self.graph.graph;
        let to = &graph.vertices[edge.to];
        let from = match edge.from {
            Ok(from) => from,
            Err(reason) => {
                let block = edge.flow.block(self.foundation.cfg());
                return ThreadSourceReport { block: self.label(block), name: None, why: Some(self.reason(reason)) };
            }
        };
        let data = &graph.vertices[from];
        let name = self.of_vertex(from);
        let is_renamed = data.class != to.class || name != self.of_vertex(edge.to);
        let why = match (data.kind, edge.flow) {
            (VertexKind::Pass, _) if !is_renamed => None,
            (VertexKind::Pass, Flow::Block(block, _)) => {
                let inst = to.place.checked_sub(1).and_then(|place| self.foundation.instruction(block, place));
                inst.map(|inst| format!("above {}", self.instruction(inst)))
            }
            (VertexKind::Pass, _) => Some(format!("along the edge into {}", self.label(to.block))),
            (VertexKind::User(inst), _) => Some(format!("computed by {}", self.instruction(inst))),
            (VertexKind::Generator(inst), _) => Some(format!("known after {}", self.instruction(inst))),
            (VertexKind::AtHand, _) => Some("known".to_string()),
            (VertexKind::Kill(inst), _) => Some(format!("killed by {}", self.instruction(inst))),
        };
        let is_killed = matches!(data.kind, VertexKind::Kill(_));
        ThreadSourceReport { block: self.label(data.block), name: (!is_killed).then_some(name), why }
    }

    /// An instruction with its block.
    fn instruction(&self, inst: Inst) -> String {
        let block = self.func.inst_block(inst).map_or_else(String::new, |block| self.label(block));
        format!("`{}` in {block}", instruction_text(self.module, self.func, inst))
    }

    /// The words for the end of a thread.
    fn reason(&self, reason: EndReason) -> String {
        match reason {
            EndReason::Entry => "the function begins".to_string(),
            EndReason::Definition(value) => match self.foundation.values().definition(value).inst() {
                Some(inst) => format!("cannot be named above {}", self.instruction(inst)),
                None => "cannot be named above a definition".to_string(),
            },
            EndReason::Overwritten(inst) => format!("an address may be changed by {}", self.instruction(inst)),
            EndReason::Language => "too many terms, operations or levels of memory".to_string(),
            EndReason::Window => "the window ends".to_string(),
            EndReason::Limit => "a limit is reached".to_string(),
        }
    }
}

impl Display for DemandReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let DemandReport { kernel, seed, answer, visited, .. } = self;
        let DemandSeedReport { block, index, text, name, .. } = seed;
        let constant = seed.constant.as_ref().map_or_else(String::new, |constant| format!(" = {constant}"));
        writeln!(out, "{kernel}: {block}.{index} `{text}` is {name}{constant}")?;
        writeln!(out, "  available: {}, {visited} vertices visited", answer.unwrap_or("generates"))?;
        for row in &self.thread {
            writeln!(out, "  {} in {}", row.name, row.block)?;
            for source in &row.from {
                let name = source.name.as_deref().unwrap_or("nothing");
                let why = source.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                writeln!(out, "    from {name} in {}{why}", source.block)?;
            }
        }
        self.remarks.iter().try_for_each(|remark| writeln!(out, "  {}: {}", remark.rule, remark.message))
    }
}
