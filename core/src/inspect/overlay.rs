//! Marks on the program and its graph.

use alloc::string::String;

/// A part of the program, by the identities of blocks and instructions in the function that is inspected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Anchor {
    /// A block.
    Block(u32),
    /// An instruction.
    Inst(u32),
    /// The place before an instruction.
    Before(u32),
}

/// How something looks, and what that says.
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
}

impl Look {
    /// The name in styles, the same as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Look::Plain => "plain",
            Look::Good => "good",
            Look::Bad => "bad",
            Look::Cause => "cause",
            Look::Constant => "constant",
            Look::Simpler => "simpler",
            Look::Removed => "removed",
            Look::Copied => "copied",
        }
    }
}

/// Something to see at a part of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mark {
    /// Where.
    pub anchor: Anchor,
    /// How it looks.
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
