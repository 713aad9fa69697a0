//! Special registers: what a thread knows of its place in the launch, and of the machine.
//!
//! Most keep their value while a kernel runs and are operands like any other. Those of which each read may give another
//! value ([`Special::is_volatile`]) are read by the opcode `read` alone, so that no pass takes two reads for one value.

use core::fmt;

use super::types::Type;

/// One of the three axes of a grid or block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    /// 0, 1 or 2.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A special register. Every one that is an operand of other opcodes than `read` is a `u32`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Special {
    /// The thread's place in its block.
    Tid(Axis),
    /// The block's size in threads.
    Ntid(Axis),
    /// The block's place in the grid.
    Ctaid(Axis),
    /// The grid's size in blocks.
    Nctaid(Axis),
    /// The thread's place in its warp.
    Laneid,
    /// The warp's place in its block.
    Warpid,
    /// Lanes in a warp.
    Warpsize,
    /// The bit of this lane.
    LanemaskEq,
    /// The bits of this lane and those below.
    LanemaskLe,
    /// The bits of the lanes below.
    LanemaskLt,
    /// The bits of this lane and those above.
    LanemaskGe,
    /// The bits of the lanes above.
    LanemaskGt,
    /// Warps that fit on a multiprocessor.
    Nwarpid,
    /// Multiprocessors of the device.
    Nsmid,
    /// Read-only values that the driver passes beside the parameters.
    Envreg(u8),
    /// Begin, end or capacity of the shared memory that the system reserves: an index into
    /// [`RESERVED_SMEM`].
    ReservedSmem(u8),
    /// The low half of the cycle counter.
    Clock,
    /// The high half of the cycle counter.
    ClockHi,
    /// The cycle counter.
    Clock64,
    /// A clock in nanoseconds, the same for all multiprocessors.
    Globaltimer,
    /// Its low half.
    GlobaltimerLo,
    /// Its high half.
    GlobaltimerHi,
    /// The multiprocessor that runs the thread.
    Smid,
    /// The number of the launch.
    Gridid,
}

/// The names of [`Special::ReservedSmem`].
const RESERVED_SMEM: [&str; 5] = [
    "reserved_smem_offset_0",
    "reserved_smem_offset_1",
    "reserved_smem_offset_begin",
    "reserved_smem_offset_cap",
    "reserved_smem_offset_end",
];

/// The names of [`Special::Envreg`].
const ENVREGS: [&str; 32] = [
    "envreg0", "envreg1", "envreg2", "envreg3", "envreg4", "envreg5", "envreg6", "envreg7", "envreg8", "envreg9",
    "envreg10", "envreg11", "envreg12", "envreg13", "envreg14", "envreg15", "envreg16", "envreg17", "envreg18",
    "envreg19", "envreg20", "envreg21", "envreg22", "envreg23", "envreg24", "envreg25", "envreg26", "envreg27",
    "envreg28", "envreg29", "envreg30", "envreg31",
];

impl Special {
    /// Every special register but the numbered ones, [`Special::Envreg`] and [`Special::ReservedSmem`].
    pub const ALL: [Special; 30] = [
        Special::Tid(Axis::X),
        Special::Tid(Axis::Y),
        Special::Tid(Axis::Z),
        Special::Ntid(Axis::X),
        Special::Ntid(Axis::Y),
        Special::Ntid(Axis::Z),
        Special::Ctaid(Axis::X),
        Special::Ctaid(Axis::Y),
        Special::Ctaid(Axis::Z),
        Special::Nctaid(Axis::X),
        Special::Nctaid(Axis::Y),
        Special::Nctaid(Axis::Z),
        Special::Laneid,
        Special::Warpid,
        Special::Warpsize,
        Special::LanemaskEq,
        Special::LanemaskLe,
        Special::LanemaskLt,
        Special::LanemaskGe,
        Special::LanemaskGt,
        Special::Nwarpid,
        Special::Nsmid,
        Special::Clock,
        Special::ClockHi,
        Special::Clock64,
        Special::Globaltimer,
        Special::GlobaltimerLo,
        Special::GlobaltimerHi,
        Special::Smid,
        Special::Gridid,
    ];

    /// A number of its own: its place in [`Special::ALL`], or one beyond for the registers that are
    /// told apart by number.
    pub const fn index(self) -> u32 {
        match self {
            Special::Tid(axis) => axis as u32,
            Special::Ntid(axis) => 3 + axis as u32,
            Special::Ctaid(axis) => 6 + axis as u32,
            Special::Nctaid(axis) => 9 + axis as u32,
            Special::Laneid => 12,
            Special::Warpid => 13,
            Special::Warpsize => 14,
            Special::LanemaskEq => 15,
            Special::LanemaskLe => 16,
            Special::LanemaskLt => 17,
            Special::LanemaskGe => 18,
            Special::LanemaskGt => 19,
            Special::Nwarpid => 20,
            Special::Nsmid => 21,
            Special::Clock => 22,
            Special::ClockHi => 23,
            Special::Clock64 => 24,
            Special::Globaltimer => 25,
            Special::GlobaltimerLo => 26,
            Special::GlobaltimerHi => 27,
            Special::Smid => 28,
            Special::Gridid => 29,
            Special::Envreg(number) => 64 + number as u32,
            Special::ReservedSmem(number) => 128 + number as u32,
        }
    }

    /// The canonical spelling, without the percent sign. `%tid` is `%tid.x`.
    pub const fn name(self) -> &'static str {
        match self {
            Special::Tid(Axis::X) => "tid",
            Special::Tid(Axis::Y) => "tid.y",
            Special::Tid(Axis::Z) => "tid.z",
            Special::Ntid(Axis::X) => "ntid",
            Special::Ntid(Axis::Y) => "ntid.y",
            Special::Ntid(Axis::Z) => "ntid.z",
            Special::Ctaid(Axis::X) => "ctaid",
            Special::Ctaid(Axis::Y) => "ctaid.y",
            Special::Ctaid(Axis::Z) => "ctaid.z",
            Special::Nctaid(Axis::X) => "nctaid",
            Special::Nctaid(Axis::Y) => "nctaid.y",
            Special::Nctaid(Axis::Z) => "nctaid.z",
            Special::Laneid => "laneid",
            Special::Warpid => "warpid",
            Special::Warpsize => "warpsize",
            Special::LanemaskEq => "lanemask_eq",
            Special::LanemaskLe => "lanemask_le",
            Special::LanemaskLt => "lanemask_lt",
            Special::LanemaskGe => "lanemask_ge",
            Special::LanemaskGt => "lanemask_gt",
            Special::Nwarpid => "nwarpid",
            Special::Nsmid => "nsmid",
            Special::Envreg(number) => ENVREGS[number as usize % ENVREGS.len()],
            Special::ReservedSmem(number) => RESERVED_SMEM[number as usize % RESERVED_SMEM.len()],
            Special::Clock => "clock",
            Special::ClockHi => "clock_hi",
            Special::Clock64 => "clock64",
            Special::Globaltimer => "globaltimer",
            Special::GlobaltimerLo => "globaltimer_lo",
            Special::GlobaltimerHi => "globaltimer_hi",
            Special::Smid => "smid",
            Special::Gridid => "gridid",
        }
    }

    /// The special register of a spelling without the percent sign; `tid.x` and `tid` are one, and so is PTX's
    /// `WARP_SZ` under its name here.
    pub fn from_name(name: &str) -> Option<Special> {
        let name = name.strip_suffix(".x").unwrap_or(name);
        let numbered = |names: &[&str], make: fn(u8) -> Special| {
            names.iter().position(|own| *own == name).map(|number| make(number as u8))
        };
        Special::ALL
            .into_iter()
            .find(|special| special.name() == name)
            .or_else(|| numbered(&ENVREGS, Special::Envreg))
            .or_else(|| numbered(&RESERVED_SMEM, Special::ReservedSmem))
    }

    /// May two reads of it by one thread give two values?
    pub const fn is_volatile(self) -> bool {
        matches!(
            self,
            Special::Clock
                | Special::ClockHi
                | Special::Clock64
                | Special::Globaltimer
                | Special::GlobaltimerLo
                | Special::GlobaltimerHi
                | Special::Smid
        )
    }

    /// Is it read by the opcode `read` alone: because it is volatile, or because it has 64 bits?
    pub const fn needs_read(self) -> bool {
        self.is_volatile() || matches!(self, Special::Gridid)
    }

    /// Its type.
    pub const fn ty(self) -> Type {
        match self {
            Special::Clock64 | Special::Globaltimer | Special::Gridid => Type::U64,
            _ => Type::U32,
        }
    }

    /// Tests for one value in all lanes of a warp.
    pub const fn is_warp_uniform(self) -> bool {
        matches!(
            self,
            Special::Ntid(_)
                | Special::Ctaid(_)
                | Special::Nctaid(_)
                | Special::Warpid
                | Special::Warpsize
                | Special::Nwarpid
                | Special::Nsmid
                | Special::Envreg(_)
                | Special::ReservedSmem(_)
                | Special::Gridid
        )
    }
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.name())
    }
}
