//! What a session or a run found, as data that the command line prints with `--json` and the npm package returns.
//!
//! Of `warpscope opt`:
//!
//! ```text
//! { "passes": [ { "name", "changed", "micros", "before": { "blocks", "instructions" }, "after": { … }, "error"?,
//!                 "remarks": [ { "kind": "applied" | "missed", "rule", "at", "message", "facts": { … } } ] } ],
//!   "text": the whole module after the last pass }
//! ```
//!
//! `warpscope sim` prints a [`RunResult`], with `"memory": { name: [elements] }` where a dump is asked for.
//!
//! Ids become names here, so a report outlives its session. JSON has no infinities and no NaN: they are strings.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;

use crate::edit::{Fact, RemarkKind};
use crate::ir::{Func, FuncKind, Function, Module, Type};
use crate::journal::Event;
use crate::machine::Machine;
use crate::pass::Size;
use crate::ptx::{complete_launch, derive_launch};
use crate::session::Session;
use crate::sim::{BufferDump, ErrorKind, Progress, RunResult, Settings, SimError, SimtStack, Simulation};

/// What a pipeline did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct OptimizeReport {
    /// What each pass did; passes that were switched off are left out.
    pub passes: Vec<PassReport>,
    /// The program after the last pass, in the language that was asked for.
    pub text: String,
}

/// What one pass did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PassReport {
    /// The pass.
    pub name: String,
    /// Did it change anything?
    pub changed: bool,
    /// Time taken, in microseconds of the session's clock.
    pub micros: u64,
    /// Size before.
    pub before: Size,
    /// Size after.
    pub after: Size,
    /// Why it stopped early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it changed and what it refused to, in order.
    pub remarks: Vec<RemarkReport>,
}

/// A rewrite or a refusal.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RemarkReport {
    /// Taken or refused.
    pub kind: RemarkKind,
    /// The rule of the pass.
    pub rule: &'static str,
    /// The kernel or function.
    pub function: String,
    /// The label of the block.
    pub at: String,
    /// A sentence.
    pub message: String,
    /// Details by name.
    pub facts: BTreeMap<&'static str, FactReport>,
}

/// A detail of a remark. Registers and blocks are their names.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum FactReport {
    /// Yes or no.
    Flag(bool),
    /// How many.
    Count(u64),
    /// A finite number.
    Number(f64),
    /// A name, or words; also the numbers that JSON has not.
    Text(String),
    /// Several names.
    Names(Vec<String>),
}

impl OptimizeReport {
    /// Reports all that a session's pipeline did; `text` is the program at its end as the caller wants it written.
    pub fn new(session: &Session, text: String) -> OptimizeReport {
        let passes = session
            .reports()
            .iter()
            .zip(session.journal().passes())
            .filter(|(report, _)| report.enabled)
            .map(|(report, events)| PassReport {
                name: report.name.to_string(),
                changed: report.changed(),
                micros: report.micros,
                before: report.before,
                after: report.after,
                error: report.error.as_ref().map(|error| error.message.clone()),
                remarks: session.journal().events()[events.start..events.end]
                    .iter()
                    .map(|event| remark(&session.module().funcs[event.func], event))
                    .collect(),
            })
            .collect();
        OptimizeReport { passes, text }
    }
}

/// What a run found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SimulateReport {
    /// Counts and the hash of the memory.
    #[serde(flatten)]
    pub result: RunResult,
    /// The elements of each buffer and global at the end, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<BTreeMap<String, Vec<Element>>>,
}

/// An element of memory.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Element {
    /// An unsigned integer, or bits.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A finite float.
    Float(f64),
    /// `nan`, `inf` or `-inf`.
    Special(&'static str),
}

/// Warp instructions between two looks at the clock.
const SLICE: u64 = 1 << 16;

/// Runs a kernel to its end. Without a name it is the first launch's kernel, or the first kernel; without a launch one is
/// derived. After every [`SLICE`] warp instructions `go_on` is asked; once it says no, the run is out of fuel.
///
/// The simulator's loop is instantiated here, in the crate that is always compiled for speed.
pub fn simulate(
    module: &Module,
    kernel: Option<&str>,
    settings: &Settings,
    machine: Machine,
    dump: bool,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<SimulateReport, SimError> {
    let kernel = find_kernel(module, kernel)?;
    let func = &module.funcs[kernel];
    let launch = module.launches.iter().find(|launch| launch.kernel == func.name);
    let launch = launch.map_or_else(|| derive_launch(module, func), |launch| complete_launch(module, func, launch));
    let mut simulation = Simulation::<SimtStack>::new(module, kernel, &launch, settings, machine)?;
    while simulation.run(SLICE)? == Progress::Running {
        if !go_on() {
            return Err(SimError::new(ErrorKind::Fuel, "the run takes too long and was given up"));
        }
    }
    let memory = dump.then(|| simulation.dump().into_iter().map(elements).collect());
    Ok(SimulateReport { result: simulation.result(), memory })
}

fn find_kernel(module: &Module, name: Option<&str>) -> Result<Func, SimError> {
    let is_kernel = |func: &Func| module.funcs[*func].kind == FuncKind::Kernel;
    let launched = || module.launches.first().and_then(|launch| module.func_by_name(&launch.kernel));
    let found = match name {
        Some(name) => module.func_by_name(name),
        None => launched().or_else(|| module.funcs.keys().find(is_kernel)),
    };
    found.filter(is_kernel).ok_or_else(|| {
        let message =
            name.map_or_else(|| "the program has no kernel".into(), |name| format!("there is no kernel `{name}`"));
        SimError::new(ErrorKind::Program, message)
    })
}

fn elements(buffer: BufferDump) -> (String, Vec<Element>) {
    let elements = buffer.elements.iter().map(|&bits| element(buffer.ty, bits)).collect();
    (buffer.name, elements)
}

fn element(ty: Type, bits: u64) -> Element {
    match ty {
        Type::F64 => float(f64::from_bits(bits)),
        Type::F32 => float(f64::from(f32::from_bits(bits as u32))),
        Type::F16 => float(half::f16::from_bits(bits as u16).to_f64()),
        Type::S8 => Element::Signed(i64::from(bits as i8)),
        Type::S16 => Element::Signed(i64::from(bits as i16)),
        Type::S32 => Element::Signed(i64::from(bits as i32)),
        Type::S64 => Element::Signed(bits as i64),
        _ => Element::Unsigned(bits),
    }
}

fn float(value: f64) -> Element {
    match value {
        value if value.is_finite() => Element::Float(value),
        value if value.is_nan() => Element::Special("nan"),
        value if value > 0.0 => Element::Special("inf"),
        _ => Element::Special("-inf"),
    }
}

/// Ids are never reused, so names of what a later pass removed can still be read.
fn remark(func: &Function, event: &Event) -> RemarkReport {
    let remark = &event.remark;
    RemarkReport {
        kind: remark.kind,
        rule: remark.rule,
        function: func.name.clone(),
        at: func.blocks[remark.block].name.clone(),
        message: remark.message.clone(),
        facts: remark.facts.iter().map(|(name, value)| (*name, fact(func, value))).collect(),
    }
}

fn fact(func: &Function, fact: &Fact) -> FactReport {
    match fact {
        Fact::Reg(reg) => FactReport::Text(func.regs[*reg].name.clone()),
        Fact::Block(block) => FactReport::Text(func.blocks[*block].name.clone()),
        Fact::Blocks(blocks) => {
            FactReport::Names(blocks.iter().map(|&block| func.blocks[block].name.clone()).collect())
        }
        Fact::Number(number) if number.is_finite() => FactReport::Number(*number),
        Fact::Number(number) => FactReport::Text(number.to_string()),
        Fact::Count(count) => FactReport::Count(*count),
        Fact::Flag(flag) => FactReport::Flag(*flag),
        Fact::Text(text) => FactReport::Text(text.clone()),
    }
}
