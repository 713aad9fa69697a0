//! Comments of the text: a comment on its own line stays with the line that follows it, one at the end of a line with
//! that line. They ride on ids, so they follow what they speak of through every pass.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::entities::{Array, Block, Input, Inst};
use super::types::Type;

/// The line that a comment belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CommentAnchor {
    /// The opening line of the function, global or launch.
    Header,
    /// The declaration of an input.
    Input(Input),
    /// The declaration of a shared or local array.
    Array(Array),
    /// The `reg` lines of a type.
    Registers(Type),
    /// The `entry` line.
    Entries,
    /// A block's label.
    Block(Block),
    /// An instruction.
    Inst(Inst),
    /// Line `line` of the k-th profile; 0 is its opening line, the last one its closing brace.
    Profile(u32, u32),
    /// A line inside a launch: 0 to 4 are grid, block, warp, shared and seed, 5 + k is the k-th binding.
    Line(u32),
    /// The closing brace.
    Close,
}

/// The comments of one line, without the slashes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comment {
    /// Whole-line comments above. An empty string is an empty comment; blank lines are not kept.
    pub above: Vec<String>,
    /// The one at the end of the line.
    pub behind: Option<String>,
}

/// All comments of a function, global or launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comments {
    entries: BTreeMap<CommentAnchor, Comment>,
}

impl Comments {
    /// The comments of a line.
    pub fn at(&self, anchor: CommentAnchor) -> Option<&Comment> {
        self.entries.get(&anchor)
    }

    /// A place for the comments of a line.
    pub fn at_mut(&mut self, anchor: CommentAnchor) -> &mut Comment {
        self.entries.entry(anchor).or_default()
    }

    /// Keeps the comments of some lines only.
    pub fn retain(&mut self, keeps: impl Fn(CommentAnchor) -> bool) {
        self.entries.retain(|anchor, _| keeps(*anchor));
    }

    /// Is there none at all?
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
