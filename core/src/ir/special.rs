//! Special registers: what a thread knows of its place in the launch.

use core::fmt;

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

/// A special register; every one is a `u32`.
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
}

impl Special {
    /// Every special register.
    pub const ALL: [Special; 20] = [
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
    ];

    /// A number of its own, its place in [`Special::ALL`].
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
        }
    }

    /// The special register of a spelling without the percent sign; `tid.x` and `tid` are one, and so is PTX's
    /// `WARP_SZ` under its name here.
    pub fn from_name(name: &str) -> Option<Special> {
        let name = name.strip_suffix(".x").unwrap_or(name);
        Special::ALL.into_iter().find(|special| special.name() == name)
    }

    /// The same value in every lane of a warp?
    pub const fn is_warp_uniform(self) -> bool {
        matches!(self, Special::Ntid(_) | Special::Ctaid(_) | Special::Nctaid(_) | Special::Warpid | Special::Warpsize)
    }
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.name())
    }
}
