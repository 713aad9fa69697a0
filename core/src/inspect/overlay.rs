//! Marks on the program and its graph.

use alloc::string::String;
use alloc::vec::Vec;

/// A part of the program, by the identities of blocks and instructions in the function that is inspected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Anchor {
    /// A block.
    Block(u32),
    /// The beginning of a block.
    Start(u32),
    /// The end of a block.
    End(u32),
    /// The edge from one block to another.
    Edge(u32, u32),
    /// A part of a block.
    Range {
        /// The block.
        block: u32,
        /// The instruction after which it begins; the block's beginning if none.
        from: Option<u32>,
        /// The instruction before which it ends; the block's end if none.
        to: Option<u32>,
    },
    /// Blocks one after the other.
    Path(Vec<u32>),
    /// An instruction.
    Inst(u32),
    /// The place before an instruction.
    Before(u32),
}

/// A look, and its meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Look {
    /// Nothing in particular.
    #[default]
    Plain,
    /// Done, found, or worth it.
    Good,
    /// Refused, or not worth it.
    Bad,
    /// Came about just now.
    New,
    /// The place where things are now.
    Current,
    /// Out of reach, or still to come.
    Faint,
    /// Holds on some paths only.
    Partial,
    /// The cause of what is marked.
    Cause,
    /// Becomes a constant.
    Constant,
    /// Becomes simpler.
    Simpler,
    /// Removed.
    Removed,
    /// Copied as it is.
    Copied,
    /// Not begun, or over.
    Closed,
}

impl Look {
    /// The name in styles, the same as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Look::Plain => "plain",
            Look::Good => "good",
            Look::Bad => "bad",
            Look::New => "new",
            Look::Current => "current",
            Look::Faint => "faint",
            Look::Partial => "partial",
            Look::Cause => "cause",
            Look::Constant => "constant",
            Look::Simpler => "simpler",
            Look::Removed => "removed",
            Look::Copied => "copied",
            Look::Closed => "closed",
        }
    }
}

/// Something to see at a part of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mark {
    /// The place.
    pub anchor: Anchor,
    /// The look.
    pub look: Look,
    /// A sign or label; empty if the look says it all.
    pub text: String,
}

/// The meaning of a look.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Key {
    /// The look.
    pub look: Look,
    /// The sign that marks of this look have; empty if none.
    pub sign: String,
    /// The meaning, without a capital.
    pub label: String,
    /// Marks of this look.
    pub count: usize,
}

/// A path that is drawn along the lines of the graph.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Strand {
    /// Its blocks, in order.
    pub blocks: Vec<u32>,
    /// Its share of all executions, 0–1.
    pub share: f64,
    /// A description for those who point at it.
    pub label: String,
}

/// A small graph.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SmallGraph {
    /// A heading, in lower case.
    pub name: String,
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// Edges, by the places of their nodes.
    pub edges: Vec<(usize, usize)>,
}

/// A node of a small graph.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Node {
    /// The part of the program that it is about.
    pub anchor: Anchor,
    /// Its name.
    pub label: String,
    /// The look.
    pub look: Look,
}
