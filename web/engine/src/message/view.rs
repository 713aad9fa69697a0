//! Everything that the page shows of a bench at a position.

use serde::{Deserialize, Serialize};

use super::{Course, Position, Stage};

/// Choices that a person has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalogue {
    /// The passes in the core's order, then pipelines that have a name, `@name`.
    pub passes: Vec<PassInfo>,
    /// The machine models.
    pub machines: Vec<MachineInfo>,
}

/// A pass as the core describes it, or a pipeline that has a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PassInfo {
    /// Its name.
    pub name: String,
    /// Summary in a line.
    pub summary: String,
    /// Paper that it comes from.
    pub paper: String,
    /// Whether it is refused without the fast-math licence.
    pub needs_fast_math: bool,
    /// The heading of what it shows, if it shows something.
    pub shows: Option<String>,
    /// Whether it predicts what its changes gain.
    pub predicts: bool,
    /// Settings.
    pub knobs: Vec<KnobInfo>,
    /// The entries of a pipeline; none for a pass.
    pub parts: Vec<Part>,
    /// Why pipelines keep it switched off; none if none does.
    pub off: Option<String>,
}

/// An entry of a pipeline that has a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The entry as it stands when the pipeline is taken apart.
    pub stage: Stage,
    /// Why it is switched off; none if it runs.
    pub off: Option<String>,
}

/// A knob of a pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnobInfo {
    /// Its name; the vendor's or the paper's where there is one.
    pub name: String,
    /// Its name in plain words.
    pub label: String,
    /// One line of help.
    pub summary: String,
    /// The allowed values in words.
    pub range: String,
    /// Its value if nobody sets it.
    pub default: String,
    /// The allowed values, where they can be listed.
    pub choices: Vec<String>,
    /// Least and greatest value of a number.
    pub bounds: Option<(f64, f64)>,
    /// Whether it is a whole number.
    pub is_whole: bool,
    /// Why it cannot be set, if so.
    pub unavailable: Option<String>,
}

/// A machine model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineInfo {
    /// Its name.
    pub name: String,
    /// Summary of the model and its source.
    pub summary: String,
    /// Cost of each class of operations.
    pub costs: Vec<CostInfo>,
    /// Sizes and times of its memory, by name.
    pub memory: Vec<(String, Figure)>,
}

/// Cost of one class of operations on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostInfo {
    /// The class.
    pub class: String,
    /// Cycles that the scheduler is busy.
    pub issue: Figure,
    /// Cycles until the result can be used.
    pub latency: Figure,
}

/// A figure of a machine model, with its source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The figure.
    pub value: u32,
    /// Source of the figure.
    pub source: String,
    /// Whether nobody published it for this machine, so that a neighbour's or an estimate stands in.
    pub is_filled: bool,
}

/// The two languages that a program may be written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Our own text.
    #[default]
    Wir,
    /// Language that nvcc prints.
    Ptx,
}

/// Everything that the page shows of a bench at a position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Language of the source.
    pub language: Language,
    /// Diagnostics of source and launch.
    pub diagnostics: Vec<Diagnostic>,
    /// The kernels of the source.
    pub kernels: Vec<String>,
    /// The kernel that is looked at; empty if there is none.
    pub kernel: String,
    /// The launch in use, as text.
    pub launch: String,
    /// Whether nobody wrote that launch.
    pub launch_is_derived: bool,
    /// Whether somebody wrote launches, but for kernels of another program.
    pub launch_is_foreign: bool,
    /// Values that a person may change for a run.
    pub sources: Vec<ValueSource>,
    /// Result of each entry of the pipeline.
    pub stages: Vec<StageResult>,
    /// The position that the rest of this is about.
    pub position: Position,
    /// The change that led here.
    pub remark: Option<Remark>,
    /// Whether the moment asked for is before that change; so are the program, its graph and what is compared.
    pub is_before_change: bool,
    /// Changes that the pass at the position considered and refused.
    pub missed: Vec<Remark>,
    /// Inspections at the position; see [`Inspect`](super::Inspect).
    pub inspected: Vec<InspectedPass>,
    /// The compared texts, line by line.
    pub diff: Vec<DiffLine>,
    /// The program of the source, in canonical text.
    pub before: String,
    /// The program at the position, in canonical text.
    pub after: String,
    /// The program after all passes, in canonical text; none where that is the program at the position.
    pub end: Option<String>,
    /// The control-flow graph of the kernel at the position.
    pub graph: Graph,
    /// For each line of the source (from 1) the block it belongs to; empty where none does.
    pub source_blocks: Vec<String>,
    /// For each line of the source the identity of the instruction that stands there.
    pub source_insts: Vec<Option<u32>>,
    /// Lines of the source, from 1, that the change that led to the position is about.
    pub source_current: Vec<usize>,
}

/// A pass that shows something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InspectedPass {
    /// The heading.
    pub title: String,
    /// Whether it has moments; then it is shown without being asked for.
    pub has_moments: bool,
    /// The moments that led to the position, and the changes among them. None if moments are about what comes next.
    pub course: Option<Course>,
}

/// A mistake, with its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Whether it is in the launch text rather than in the source.
    pub in_launch: bool,
    /// Whether the program can still be used.
    pub is_warning: bool,
    /// The core's code for it.
    pub code: String,
    /// Error and expectation.
    pub message: String,
    /// Hint for the correction.
    pub hint: String,
    /// First character, in UTF-16 units from the start of the text.
    pub from: usize,
    /// One past the last.
    pub to: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

/// An input or a buffer, whose values a person may make more often zero or less coherent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueSource {
    /// Its name.
    pub name: String,
    /// Description for people: `input pred`, `buffer f32[256]`.
    pub what: String,
    /// The probability of true, if it is an input that gives truth values.
    pub truth: Option<f64>,
    /// The probability of zero that the launch says, if it may be set.
    pub zero: Option<f64>,
    /// The coherence that the launch says, if it may be set.
    pub coherence: Option<f64>,
    /// Whether the kernel may load its values; false for a buffer that it only stores to.
    pub is_read: bool,
}

/// Result of one entry of the pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageResult {
    /// How many rewrites.
    pub rewrites: usize,
    /// How many each pass of a pipeline made; none for one pass.
    pub parts: Vec<usize>,
    /// How many opportunities it refused.
    pub missed: usize,
    /// Time taken, in microseconds; none if the answer was computed before the page was opened.
    pub micros: Option<f64>,
    /// Instructions in the kernel before and after.
    pub instructions: (usize, usize),
    /// Blocks in the kernel before and after.
    pub blocks: (usize, usize),
    /// Why it did not run.
    pub refused: Option<String>,
}

/// A reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remark {
    /// The pass.
    pub pass: String,
    /// Which of its rules.
    pub rule: String,
    /// The block where.
    pub at: String,
    /// The reason, in a sentence.
    pub message: String,
    /// The facts it rests on.
    pub facts: Vec<RemarkFact>,
}

/// A fact that a reason rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RemarkFact {
    /// Its name, as in JSON.
    pub name: String,
    /// Name for people.
    pub words: String,
    /// One value, or several in an order that means something.
    pub values: Vec<String>,
}

/// One line of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiffLine {
    /// Its number in the earlier text, from 1; none if it is new.
    pub before: Option<usize>,
    /// Its number in the later text, from 1; none if it is gone.
    pub after: Option<usize>,
    /// The line.
    pub text: String,
    /// The part of it that differs from its counterpart, in characters; none if all of it or nothing does.
    pub changed: Option<(usize, usize)>,
    /// The block that it belongs to; empty outside blocks.
    pub block: String,
    /// The identity of the instruction on it, the same in every text of the session.
    pub inst: Option<u32>,
    /// Whether the change that led to the position made, altered or removed it, or is nearest to it.
    pub is_current: bool,
}

impl DiffLine {
    /// Whether only one of the texts has it.
    pub fn differs(&self) -> bool {
        self.before.is_none() || self.after.is_none()
    }
}

/// A control-flow graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The blocks in text order.
    pub blocks: Vec<GraphBlock>,
    /// The edges, those of one block in the order of its terminator.
    pub edges: Vec<GraphEdge>,
}

/// A block of the graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphBlock {
    /// Identity, stable over all positions.
    pub id: u32,
    /// Its label.
    pub name: String,
    /// Its instructions and terminator, as text.
    pub lines: Vec<GraphLine>,
    /// Why its terminator's branch is divergent; none if it is uniform.
    pub divergent: Option<String>,
    /// Whether the entry leads here.
    pub reachable: bool,
    /// Whether the change that led to the position is in it, or nearest to it.
    pub is_current: bool,
    /// The blocks at whose ends it is decided whether this one runs, by their index, as many as are shown.
    pub depends_on: Vec<usize>,
    /// The divergent branch that keeps it out of the region in which an insertion adds no divergence, by its block's index:
    /// one that it depends on, directly or through others.
    pub kept_out_by: Option<usize>,
}

/// An instruction in the graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphLine {
    /// Identity, stable over all positions.
    pub inst: u32,
    /// Its text.
    pub text: String,
    /// Its line in the text at the position, from 1.
    pub line: usize,
    /// Whether the compared texts differ in it.
    pub changed: bool,
    /// Whether the change that led to the position made or altered it.
    pub is_current: bool,
    /// Why its result differs between lanes; none if it is uniform.
    pub divergent: Option<String>,
}

/// Kinds of edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// The only way on.
    #[default]
    Jump,
    /// The condition held.
    True,
    /// It did not.
    False,
    /// The n-th label of a switch or exit of a call.
    Case(u16),
}

/// An edge of the graph, by indices of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphEdge {
    /// Source of the edge.
    pub from: usize,
    /// Target of the edge.
    pub to: usize,
    /// Kind of the edge.
    pub kind: EdgeKind,
}
