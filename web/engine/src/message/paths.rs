//! What the page shows of the pass for partial dead code elimination, `pde`, before it does anything: the executed paths, the
//! statements with their verdicts, and how one of them would sink.

use serde::{Deserialize, Serialize};

use super::{Bench, Position, Settings};

/// Asks for [`Surveyed`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// The bench.
    pub bench: Bench,
    /// The position whose program is meant.
    pub position: Position,
    /// How the program is run, so that what warps take can be told beside what paths do.
    pub settings: Settings,
    /// An instruction whose statement is told; none is the one that the pass sinks next.
    pub wanted: Option<u32>,
    /// Frequencies that paths, by their blocks, have other than the profile says.
    pub frequencies: Vec<(Vec<u32>, u64)>,
}

/// What the pass considers in the program at a position. Blocks and instructions are told by identity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Surveyed {
    /// What comes next, in a sentence.
    pub lead: String,
    /// Are evaluations brought up, past branches, rather than statements down, past joins? Then what is said here of statements
    /// is said of evaluations, and what of joins, of branches.
    pub is_hoisting: bool,
    /// Where the paths' frequencies come from, in a word; empty where there are none.
    pub origin: String,
    /// The executed paths: a few in the order of the profile, of many the most frequent first.
    pub paths: Vec<PathRow>,
    /// How many more there are.
    pub more_paths: usize,
    /// The statements: what sinks, what was refused, and the others.
    pub statements: Vec<StatementRow>,
    /// How many more there are.
    pub more_statements: usize,
    /// An instruction of the statement that the pass sinks next.
    pub next: Option<u32>,
    /// What was asked for.
    pub sinking: Option<Sinking>,
    /// The source with a `profile path` of the frequencies that were given; none where they cannot be written there.
    pub written: Option<String>,
}

/// An executed path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathRow {
    /// Its blocks in order.
    pub blocks: Vec<u32>,
    /// Their names.
    pub names: Vec<String>,
    /// Executions, in lanes.
    pub frequency: u64,
    /// What the profile says.
    pub declared: u64,
    /// The share (0–1) of all executions.
    pub share: f64,
    /// Whether it is among those that may benefit.
    pub is_frequent: bool,
}

/// A statement, or an instruction that is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatementRow {
    /// Equal instructions, which sink together.
    pub insts: Vec<u32>,
    /// Their text.
    pub text: String,
    /// The blocks where they stand.
    pub at: String,
    /// Whether it sinks.
    pub passes: bool,
    /// The rule that decided.
    pub rule: String,
    /// Why, in a sentence.
    pub verdict: String,
}

/// How a statement sinks, or why it does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sinking {
    /// The instructions.
    pub insts: Vec<u32>,
    /// Their text.
    pub text: String,
    /// The verdict, in a sentence.
    pub verdict: String,
    /// What warps pay for it, beside what paths do; empty where nobody has counted it.
    pub warps: String,
    /// The joins that it could come to.
    pub joins: Vec<JoinRow>,
    /// What happens, moment by moment.
    pub moments: Vec<SinkMoment>,
}

/// A join on the way of a statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JoinRow {
    /// The block.
    pub block: u32,
    /// Its name.
    pub name: String,
    /// What was decided, in a word.
    pub word: String,
    /// Whether the statement passes it.
    pub passes: bool,
    /// The same in a sentence.
    pub verdict: String,
    /// Benefit against cost; empty where nothing was weighed.
    pub line: String,
    /// The benefit that the paper counts, in words, where that is another one.
    pub printed: String,
    /// For each path of [`Surveyed::paths`] its [`Bits`].
    pub bits: Vec<Bits>,
}

/// What holds of a path, a statement and a join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bits {
    /// The path goes through the join.
    pub on: bool,
    /// The statement is available there along it.
    pub available: bool,
    /// And removable; an evaluation that is brought up is anticipated there.
    pub removable: bool,
    /// The path loses an execution.
    pub benefit: bool,
    /// The path gains one.
    pub cost: bool,
}

/// A moment of a statement's way down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SinkMoment {
    /// What happens, in a word.
    pub word: String,
    /// And in a sentence.
    pub sentence: String,
    /// What there is to see from now on.
    pub marks: Vec<Mark>,
}

/// Something to see on the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The statement is delayed in a block: from an instruction on, or from the entry, up to another, or to the end.
    Flood {
        /// The block.
        block: u32,
        /// Behind which instruction; none is the entry.
        from: Option<u32>,
        /// In front of which one; none is the end.
        to: Option<u32>,
        /// Whether it comes on some ways only.
        is_partial: bool,
    },
    /// It is delayed on an edge.
    Way {
        /// The block that the edge leaves.
        from: u32,
        /// The block that it enters.
        to: u32,
        /// Whether it comes on some ways only.
        is_partial: bool,
    },
    /// It lands, with what stands there: its result, and once there is one the predicate that it needs.
    Lands(Spot, String),
    /// It comes to this join, and does not pass.
    Stops(u32),
    /// It comes up to the branch that ends this block, and does not pass.
    Rests(u32),
    /// What landed there is not needed.
    Dropped(Spot),
    /// The predicate becomes true or false.
    Predicate(Spot, bool),
}

/// A place in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spot {
    /// In front of an instruction.
    Before(u32),
    /// At a block's beginning.
    Start(u32),
    /// At its end.
    End(u32),
    /// On an edge.
    Edge(u32, u32),
}
