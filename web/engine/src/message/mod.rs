//! Requests of the page and answers of the worker, as plain data that crosses the worker's boundary.
//!
//! Every request carries all that its answer depends on, so a worker that was just started answers like one that has
//! run for an hour, and cancelling is ending the worker. What a worker remembers only saves it from computing twice.

mod inspection;
mod map;
mod print;
mod run;
mod trial;
mod view;
pub mod wire;
mod zeros;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use inspection::*;
pub use map::*;
pub use print::*;
pub use run::*;
pub use trial::*;
pub use view::*;
pub use warpscope_core::inspect::{self, Course};
pub use zeros::*;

/// One question of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
// Tagged from outside: serde would read other tags through a copy of every type's code.
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Which passes and machines are there?
    Catalogue,
    /// Requests the bench at this position.
    Look(Look),
    /// Asks for the inspection of a pass there.
    Inspect(Inspect),
    /// Requests the results of these programs, and their cycles.
    Simulate(Simulate),
    /// How often do its register writes give zero?
    Probe(Probe),
    /// Requests the result of this pipeline on the program, and a run of it.
    Try(Trial),
    /// How much faster is the program with a pass than without, here and there?
    Map(MapPiece),
    /// Requests the place of every lane when this program has issued so many instructions.
    Watch(Watch),
    /// Requests the program there in PTX.
    Print(Print),
    /// Which link reopens this?
    Share(Shared),
    /// Requests the content of this link.
    Open(String),
}

/// The worker's answer to one [`Request`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
// Tagged from outside: serde would read other tags through a copy of every type's code.
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// To [`Request::Catalogue`].
    Catalogue(Catalogue),
    /// To [`Request::Look`].
    View(Box<View>),
    /// To [`Request::Inspect`]; none where nothing is to be shown.
    Inspected(Option<Box<inspect::Inspection>>),
    /// To [`Request::Simulate`].
    Simulated(Box<Simulated>),
    /// To [`Request::Probe`], or why the program did not end well.
    Zeros(Result<Box<Zeros>, String>),
    /// To [`Request::Try`].
    Tried(Box<Tried>),
    /// To [`Request::Map`].
    Mapped(Box<Mapped>),
    /// To [`Request::Watch`].
    Watched(Result<Box<Moment>, String>),
    /// To [`Request::Print`].
    Printed(Box<Printed>),
    /// To [`Request::Share`]: the part of the address after `#`.
    Link(Result<String, String>),
    /// To [`Request::Open`].
    Opened(Result<Box<Shared>, String>),
}

/// A request or response with the number that pairs them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Numbered<T> {
    /// Chosen by the page; the answer repeats it.
    pub id: u32,
    /// The request or response itself.
    pub body: T,
}

/// Message that the worker posts, as a plain string, as soon as it listens. The page sends nothing before.
pub const READY: &str = "ready";

/// Bench of a person: a program and what shall be done to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bench {
    /// The program, `.wir` or PTX; which one it is shows.
    pub source: String,
    /// Launches that replace those of the source. Empty: the source's own, or else derived ones.
    pub launch: String,
    /// The kernel looked at; none is the first that has a launch.
    pub kernel: Option<String>,
    /// The passes in order.
    pub pipeline: Vec<Stage>,
    /// May passes assume what IEEE arithmetic does not promise, such as `x * 0 = 0`?
    pub fast_math: bool,
    /// How the program is run before the passes, which then know its measured profile; none if they know what it declares.
    pub measured: Option<Box<Settings>>,
}

/// One entry of the pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// The pass.
    pub pass: String,
    /// Whether it runs.
    pub on: bool,
    /// Knobs that differ from their defaults.
    pub knobs: BTreeMap<String, String>,
    /// Its number in the compiler that the pipeline follows, as in `82/83`; empty where there is none.
    pub phase: String,
}

/// A point between two changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// 0 is the source; k is inside or at the end of the k-th stage.
    pub stage: usize,
    /// How many of the stage's rewrites are done.
    pub step: usize,
}

impl Position {
    /// Behind everything: the same number on the machine that builds the page and in the browser, whose `usize` is smaller.
    pub const END: Position = Position { stage: u32::MAX as usize, step: u32::MAX as usize };
}

/// Program that a diff compares with the program at the position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The program one rewrite earlier.
    Rewrite,
    /// The program before the pass.
    #[default]
    Pass,
    /// The source.
    Pipeline,
}

/// Asks for a [`View`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// The bench.
    pub bench: Bench,
    /// The position; clamped to what there is.
    pub position: Position,
    /// Scope of the diff.
    pub scope: Scope,
    /// The moment that is shown, of those that led to the position; none is the usual one.
    pub moment: Option<usize>,
}

/// Everything that a link holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shared {
    /// Program and passes.
    pub bench: Bench,
    /// Position of the transport.
    pub position: Position,
    /// Scope of the diff; none follows the change.
    pub scope: Option<Scope>,
    /// Which moment of its pass is shown; see [`Look::moment`].
    pub moment: Option<usize>,
    /// How the simulator runs it.
    pub settings: Settings,
}
