//! Errors that end a launch early.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::ir::{Block, Func, Inst, Span};
use crate::text::Diagnostic;

/// Kinds of failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum ErrorKind {
    /// The program cannot be run as it stands: an operand that the verifier would have refused, an unknown kernel.
    Program,
    /// The launch does not fit the kernel or the machine.
    Launch,
    /// A limit of the simulator: memory, threads, depth of calls.
    Limit,
    /// The allowance of warp instructions is used up.
    Fuel,
    /// An access outside every buffer.
    OutOfBounds,
    /// An access whose address is no multiple of its size.
    Misaligned,
    /// A store to memory that is read-only.
    ReadOnly,
    /// A barrier that some lanes or warps of a block can never reach.
    Barrier,
    /// A `trap`.
    Trap,
}

/// A failed launch.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SimError {
    /// Kind of the failure.
    pub kind: ErrorKind,
    /// A sentence without the place.
    pub message: String,
    /// Place of the instruction, if the error has one.
    pub place: Option<Box<ErrorPlace>>,
    /// Other places that belong to it.
    pub notes: Vec<ErrorNote>,
}

/// Another place of a failed launch: lanes that wait there.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ErrorNote {
    /// Sentence about the lanes there.
    pub message: String,
    /// Place of the instruction, if the note has one.
    pub place: Option<Box<ErrorPlace>>,
}

/// The instruction and thread that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ErrorPlace {
    /// The function.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub func: Func,
    /// The instruction.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub inst: Inst,
    /// The block.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub block: Block,
    /// The function's name.
    pub function: String,
    /// The block's label.
    pub label: String,
    /// The instruction's opcode.
    pub opcode: String,
    /// Span in the source.
    pub span: Span,
    /// The thread's place in its block, and the block's in the grid, where one thread is to blame.
    pub thread: Option<([u32; 3], [u32; 3])>,
    /// The address, if it is about one.
    pub address: Option<u64>,
}

impl SimError {
    /// An error without a place.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> SimError {
        SimError { kind, message: message.into(), place: None, notes: Vec::new() }
    }

    /// Puts the subject of the launch that does not fit before the sentence.
    pub(super) fn about(mut self, subject: &str) -> SimError {
        if self.kind == ErrorKind::Launch {
            self.message = format!("{subject}: {}", self.message);
        }
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn with_note(mut self, note: ErrorNote) -> SimError {
        self.notes.push(note);
        self
    }

    /// Returns the span in the source, if known.
    pub fn span(&self) -> Option<Span> {
        self.place.as_ref().map(|place| place.span).filter(|span| *span != Span::default())
    }

    /// The error as people read it beside the source: its place underlined, and a note at each other place.
    pub fn diagnostic(&self) -> Diagnostic {
        let headline = SimError { notes: Vec::new(), ..self.clone() };
        let error = Diagnostic::error("run-failed", self.span().unwrap_or_default(), headline.to_string());
        self.notes.iter().fold(error, |error, note| {
            let span = note.place.as_ref().map_or(Span::default(), |place| place.span);
            error.with_label(span, note.message.clone())
        })
    }
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let Some(place) = &self.place else { return Ok(()) };
        write!(f, ", at `{}` in block `{}` of `{}`", place.opcode, place.label, place.function)?;
        if let Some(([x, y, z], [bx, by, bz])) = place.thread {
            write!(f, ", thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz})")?;
        }
        if let Some(address) = place.address {
            write!(f, ", address {address:#x}")?;
        }
        for note in &self.notes {
            write!(f, "; {}", note.message)?;
            if let Some(place) = &note.place {
                write!(f, ", at `{}` in block `{}` of `{}`", place.opcode, place.label, place.function)?;
            }
        }
        Ok(())
    }
}

impl core::error::Error for SimError {}
