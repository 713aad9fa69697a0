//! The figures, each with where it comes from.

use super::Machine;
use super::class::OpClass;

/// Source of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Source {
    /// Published for this architecture; the text names the publication.
    Published(&'static str),
    /// Published for none, or not for this one; measured by this project, and the text says on what.
    Measured(&'static str),
    /// Not published for this architecture: the figure of that one, the nearest for which it is.
    Filled(Machine),
    /// No published figure at all: counted from the machine instructions that it becomes.
    Estimated,
    /// Definition of the model.
    Defined,
}

impl Source {
    /// The text that tables show.
    pub const fn text(self) -> &'static str {
        match self {
            Source::Published(text) | Source::Measured(text) => text,
            Source::Filled(Machine::Volta) => "filled from volta",
            Source::Filled(Machine::Turing) => "filled from turing",
            Source::Filled(Machine::Ampere) => "filled from ampere",
            Source::Filled(_) => "filled from hopper",
            Source::Estimated => "estimated",
            Source::Defined => "by definition",
        }
    }
}

/// A figure with its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Figure {
    /// In cycles, unless the place says otherwise.
    pub value: u32,
    /// Source of the figure.
    pub source: Source,
}

/// Cost of one class on one machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Cost {
    /// Cycles for which the scheduler starts nothing else.
    pub issue: Figure,
    /// Cycles from issue until a dependent instruction may issue.
    pub latency: Figure,
}

/// One line of the table that `warpscope machines` shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CostRow {
    /// Which machine.
    pub machine: Machine,
    /// Which class.
    pub class: OpClass,
    /// Cycles for which the scheduler starts nothing else.
    pub issue: Figure,
    /// Cycles from issue until a dependent instruction may issue.
    pub latency: Figure,
}

/// The memory behind the load-store unit. A line has 128 bytes in four sectors of 32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Memory {
    /// First-level cache of one multiprocessor, in bytes; 0 is none.
    pub l1_bytes: Figure,
    /// Second-level cache of the device, in bytes; 0 is none.
    pub l2_bytes: Figure,
    /// Cycles of a load whose sectors all lie in the first level.
    pub l1_latency: Figure,
    /// Cycles of a load that the second level answers.
    pub l2_latency: Figure,
    /// Cycles of a load that device memory answers.
    pub global_latency: Figure,
    /// Cycles for which the load-store unit is busy with each sector after an instruction's first.
    pub sector_cycles: Figure,
    /// Cycles for which the load-store unit is busy with each shared-memory pass after an instruction's first.
    pub bank_cycles: Figure,
    /// Banks of shared memory, four bytes wide.
    pub banks: u32,
}

/// Capacity of one multiprocessor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Limits {
    /// Resident warps.
    pub warps: u32,
    /// Resident blocks.
    pub blocks: u32,
    /// Threads a block.
    pub block_threads: u32,
    /// Shared memory of all resident blocks, in bytes.
    pub shared_bytes: u32,
}

const VOLTA: &str = "Arafa et al. 2019 (V100)";
const TURING: &str = "Arafa et al. 2019 (Turing)";
const AMPERE: &str = "Abdelkhalik et al. 2022 (A100)";
const HOPPER: &str = "Luo et al. 2025 (H800)";
const THROUGHPUT: &str =
    "CUDA C++ Programming Guide, arithmetic throughput: 64, the full rate, over the class's results per cycle";
const PPT: &str = "Arafa et al., PPT-GPU";
/// Sources of the memory figures.
const MEMORY: [&str; 4] = [PPT, PPT, AMPERE, HOPPER];
const MEASURED_ON: &str = "measured by this project on an H100 80GB HBM3";
const WHITEPAPER: &str = "NVIDIA architecture whitepaper";

/// The four measured machines, in the order of the arrays below.
const MEASURED: [Machine; 4] = [Machine::Volta, Machine::Turing, Machine::Ampere, Machine::Hopper];

/// Nobody published it.
const NONE: u32 = 0;

/// A figure for each measured machine, or one estimate for all.
enum Row {
    Published([u32; 4]),
    Estimate(u32),
}

use Row::{Estimate, Published};

/// Issue cost: 64 (the full rate) over the results a cycle of the class; latency as measured.
fn rows(class: OpClass) -> (Row, Row) {
    let full_rate = Published([1, 1, 1, 1]);
    match class {
        OpClass::Integer => (full_rate, Published([4, 4, 4, NONE])),
        // Two dependent instructions, the second of which takes the first one's carry or half.
        OpClass::Integer64 => (Estimate(2), Estimate(6)),
        OpClass::IntegerMul => (full_rate, Published([4, 4, 3, NONE])),
        // Three products and their sums.
        OpClass::IntegerMul64 => (Estimate(4), Estimate(12)),
        // A reciprocal estimate, two corrections and a final adjustment.
        OpClass::IntegerDiv => (Estimate(16), Published([71, 79, NONE, NONE])),
        OpClass::IntegerRem => (Estimate(17), Published([72, 79, NONE, NONE])),
        OpClass::IntegerDiv64 => (Estimate(60), Estimate(250)),
        OpClass::BitCount => (Published([4, 4, 4, 4]), Estimate(10)),
        OpClass::Float16 => (full_rate, Estimate(5)),
        OpClass::Float32 => (full_rate, Published([4, 4, 4, NONE])),
        OpClass::Float64 => (Published([2, 32, 2, 1]), Published([8, 45, 5, NONE])),
        // A reciprocal, two Newton steps, a residual and a range check.
        OpClass::Div32 => (Estimate(14), Published([504, 335, NONE, NONE])),
        OpClass::Div64 => (Estimate(40), Published([606, 1165, NONE, NONE])),
        OpClass::DivApprox => (Estimate(5), Estimate(24)),
        OpClass::Sqrt32 => (Estimate(11), Published([60, 72, NONE, NONE])),
        OpClass::Sqrt64 => (Estimate(30), Estimate(300)),
        OpClass::Rcp32 => (Estimate(9), Published([60, 70, NONE, NONE])),
        OpClass::Rcp64 => (Estimate(24), Estimate(250)),
        OpClass::Special => (Published([4, 4, 4, 4]), Published([16, 16, 23, NONE])),
        OpClass::Rsqrt => (Published([4, 4, 4, 4]), Published([18, 25, 23, NONE])),
        OpClass::Convert => (Published([1, 1, 4, 1]), Estimate(6)),
        OpClass::Convert64 => (Published([4, 32, 4, 4]), Estimate(14)),
        OpClass::Vote => (full_rate, Estimate(6)),
        OpClass::Shuffle => (Published([2, 2, 2, 2]), Estimate(22)),
        OpClass::Match => (Estimate(4), Estimate(24)),
        OpClass::Reduce => (Estimate(4), Estimate(44)),
        OpClass::LoadGlobal | OpClass::LoadLocal => (full_rate, Published([33, 30, 33, 32])),
        OpClass::LoadShared => (full_rate, Published([33, 30, 23, 29])),
        // A hit in the constant cache, which this model never misses.
        OpClass::LoadConst => (full_rate, Estimate(8)),
        OpClass::Texture => (full_rate, Estimate(86)),
        OpClass::Store => (full_rate, Published([NONE, NONE, 19, NONE])),
        OpClass::Atomic => (full_rate, Published([245, 245, NONE, NONE])),
        OpClass::AtomicShared => (full_rate, Estimate(40)),
        OpClass::Barrier => (full_rate, Estimate(16)),
        // The answer comes back as from a memory.
        OpClass::BarrierReduce => (full_rate, Estimate(60)),
        OpClass::Fence => (full_rate, Estimate(16)),
        // Fetch follows the branch without a gap; other warps would fill one.
        OpClass::Control => (full_rate, Estimate(1)),
        OpClass::Draw => (full_rate, Estimate(4)),
        // The operand says; see the interpreter.
        OpClass::Work => (Estimate(1), Estimate(1)),
    }
}

/// Results of `cargo xtask gpu costs` on an H100 for classes without a publication for Hopper:
/// issue cost and latency, [`NONE`] where there is a publication, or where what was measured is not
/// what the class stands for: a constant at an address in a register, one scope of a fence. Issue
/// costs are cycles of one of the four schedulers by two, as the guide's full rate, 64 results,
/// holds each of them for two.
const fn measured_on_hopper(class: OpClass) -> (u32, u32) {
    match class {
        OpClass::Integer | OpClass::IntegerMul | OpClass::Float16 | OpClass::Float32 => (NONE, 4),
        OpClass::Integer64 => (2, 4),
        OpClass::IntegerMul64 => (4, 13),
        OpClass::IntegerDiv => (15, 134),
        OpClass::IntegerRem => (15, 133),
        OpClass::IntegerDiv64 => (77, 335),
        OpClass::BitCount => (NONE, 17),
        OpClass::Float64 => (NONE, 8),
        OpClass::Div32 => (9, 57),
        OpClass::Div64 => (14, 124),
        OpClass::DivApprox => (4, 41),
        OpClass::Sqrt32 => (6, 55),
        OpClass::Sqrt64 => (15, 92),
        OpClass::Rcp32 => (6, 77),
        OpClass::Rcp64 => (8, 73),
        OpClass::Special => (NONE, 17),
        OpClass::Rsqrt => (NONE, 39),
        OpClass::Convert => (NONE, 12),
        OpClass::Convert64 => (NONE, 18),
        OpClass::Vote => (NONE, 13),
        OpClass::Shuffle => (NONE, 26),
        OpClass::Match => (4, 28),
        OpClass::Reduce => (4, 44),
        OpClass::Atomic => (NONE, 346),
        OpClass::AtomicShared => (NONE, 88),
        OpClass::Barrier => (NONE, 14),
        OpClass::BarrierReduce => (NONE, 59),
        _ => (NONE, NONE),
    }
}

/// Other machines in the order in which their figures are borrowed.
const fn neighbours(machine: usize) -> [usize; 3] {
    match machine {
        0 => [2, 1, 3],
        1 => [0, 2, 3],
        2 => [0, 3, 1],
        _ => [2, 0, 1],
    }
}

const fn measured_index(machine: Machine) -> Option<usize> {
    match machine {
        Machine::Unit => None,
        Machine::Volta => Some(0),
        Machine::Turing => Some(1),
        Machine::Ampere => Some(2),
        Machine::Hopper => Some(3),
    }
}

fn figure(row: Row, machine: usize, publications: [&'static str; 4]) -> Figure {
    match row {
        Estimate(value) => Figure { value, source: Source::Estimated },
        Published(values) if values[machine] != NONE => {
            Figure { value: values[machine], source: Source::Published(publications[machine]) }
        }
        Published(values) => {
            let nearest = neighbours(machine).into_iter().find(|&other| values[other] != NONE).unwrap_or(machine);
            Figure { value: values[nearest].max(1), source: Source::Filled(MEASURED[nearest]) }
        }
    }
}

/// Issue cost and latency of a class.
pub(super) fn cost(machine: Machine, class: OpClass) -> Cost {
    match measured_index(machine) {
        None => {
            let one = Figure { value: 1, source: Source::Defined };
            Cost { issue: one, latency: one }
        }
        Some(index) => {
            let (issue, latency) = rows(class);
            let sources = if class.is_memory() { MEMORY } else { [VOLTA, TURING, AMPERE, HOPPER] };
            let (issue, latency) = (figure(issue, index, [THROUGHPUT; 4]), figure(latency, index, sources));
            if machine != Machine::Hopper {
                return Cost { issue, latency };
            }
            let measured = measured_on_hopper(class);
            Cost { issue: or_measured(issue, measured.0), latency: or_measured(latency, measured.1) }
        }
    }
}

/// A figure, or in place of one that is not published what was measured, if something was.
const fn or_measured(figure: Figure, measured: u32) -> Figure {
    match figure.source {
        Source::Filled(_) | Source::Estimated if measured != NONE => {
            Figure { value: measured, source: Source::Measured(MEASURED_ON) }
        }
        _ => figure,
    }
}

/// The memory of a machine.
pub(super) fn memory(machine: Machine) -> Memory {
    const KIB: u32 = 1024;
    const MIB: u32 = 1024 * 1024;
    let Some(index) = measured_index(machine) else {
        let is = |value| Figure { value, source: Source::Defined };
        return Memory {
            l1_bytes: is(0),
            l2_bytes: is(0),
            l1_latency: is(1),
            l2_latency: is(1),
            global_latency: is(1),
            sector_cycles: is(0),
            bank_cycles: is(0),
            banks: 32,
        };
    };
    let latency = |values| figure(Published(values), index, MEMORY);
    let size = |values| figure(Published(values), index, [WHITEPAPER; 4]);
    let estimate = |value| Figure { value, source: Source::Estimated };
    Memory {
        l1_bytes: size([128 * KIB, 64 * KIB, 192 * KIB, 256 * KIB]),
        l2_bytes: size([6 * MIB, 4 * MIB, 40 * MIB, 50 * MIB]),
        l1_latency: latency([33, 30, 33, 32]),
        l2_latency: latency([213, 231, 200, 264]),
        global_latency: latency([302, 279, 290, 656]),
        sector_cycles: estimate(1),
        bank_cycles: estimate(1),
        banks: 32,
    }
}

/// Capacity limits: table of compute capabilities in the CUDA C++ Programming Guide.
pub(super) const fn limits(machine: Machine) -> Limits {
    const KIB: u32 = 1024;
    let (warps, blocks, shared) = match machine {
        Machine::Unit | Machine::Ampere => (64, 32, 164),
        Machine::Volta => (64, 32, 96),
        Machine::Turing => (32, 16, 64),
        Machine::Hopper => (64, 32, 228),
    };
    Limits { warps, blocks, block_threads: 1024, shared_bytes: shared * KIB }
}
