//! Decoding: a kernel and all that it may call, as one flat array of instructions.
//!
//! ```text
//! loop:                              pc 4   add.f32 on planes 3, 1 → 3    waits for clocks 5, 3, 5
//!     s = add.f32 s, x        →      pc 5   setp on planes 0, 9           …
//!     p = setp.lt.u32 i, n           pc 6   branch if predicate 0 to pc 4, else pc 7, lanes meet at pc 7
//!     br p, loop, done
//! ```
//!
//! One decoded instruction stands for each instruction of the text, terminators included, so counts
//! by program counter are counts by instruction. Registers have fixed places in their function's
//! *frame*; constants, and addresses of globals and shared arrays, are planes that all warps share.
//! What an opcode's function does not do itself (operands of another width, flushing, saturation)
//! becomes steps around it.

mod access;
mod builder;
mod control;
mod instruction;
mod layout;
mod operands;
mod sites;
mod timing;
mod warp;

pub use sites::{
    Access, AccessKind, Base, CallSite, DrawSite, Extension, Index, ReadSite, RetSite, SwitchSite, Value, WarpSite,
    WorkSite,
};

pub use timing::{Calm, MoreClocks, NO_MORE, Timing};

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::{ErrorKind, ErrorPlace, SimError};
use super::lanes::{LaneOp, Plane, Slots};
use crate::ir::{Block, Func, Inst, Module, Space, Span, Special, Type};
use crate::machine::{Machine, OpClass};

/// Set in the slot of a constant, which all warps share; the others count from the frame. Shared, because a warp's
/// registers have to be near when it runs, and constants of its own would double them.
pub const SHARED: u32 = 1 << 31;
/// The predicate of every frame that is false in every lane.
pub const FALSE: u32 = 0;
/// The predicate that is true in every lane.
pub const TRUE: u32 = 1;
/// The predicate that takes carries nobody asked for.
pub const SINK: u32 = 2;

/// The clock slot that is always ready.
pub const READY: u32 = 0;
/// The clock slot that nobody waits for.
pub const UNUSED: u32 = 1;

/// No guard.
pub const UNGUARDED: u32 = u32::MAX;

/// How the interpreter runs an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// One function over lanes.
    Lanes,
    /// Several; the side table holds them.
    Steps,
    /// Goes to pc `a`.
    Branch,
    /// Goes to pc `a` where predicate `f` holds, else to `b`; lanes meet at pc `c`.
    BranchIf,
    /// A load, store or atomic.
    Access,
    /// A texture fetch.
    Texture,
    /// A vote, shuffle, match, reduction or `activemask`.
    Warp,
    /// `bar.warp.sync` with a member mask.
    WarpBarrier,
    /// A barrier of the block.
    Barrier,
    /// Nothing but time: fences.
    Pause,
    /// `nanosleep`: time, and other groups of the warp run.
    Yield,
    /// `in`.
    Draw,
    /// `work`.
    Work,
    /// `read` of a special register.
    Read,
    /// `trap`.
    Trap,
    /// `switch`.
    Switch,
    /// A call, of either form.
    Call,
    /// `ret`.
    Ret,
    /// `exit`.
    Exit,
}

impl Kind {
    /// Does the instruction neither notice nor change anything but the registers of its warp? One
    /// with a member mask may have to wait for lanes of the warp all the same.
    #[inline(always)]
    pub const fn stays_in_the_warp(self) -> bool {
        matches!(self, Kind::Lanes | Kind::Steps | Kind::Warp | Kind::Draw | Kind::Work)
    }

    /// May its work be done before it issues? For a branch this depends on the lanes.
    #[inline(always)]
    pub const fn may_go_ahead(self) -> bool {
        self.stays_in_the_warp() || matches!(self, Kind::Branch | Kind::BranchIf)
    }
}

/// A decoded instruction.
#[derive(Clone, Copy)]
pub struct DecodedInst {
    /// The function over lanes, for [`Kind::Lanes`].
    pub run: LaneOp,
    /// Cycles after the first for which it holds the scheduler.
    pub held: u16,
    /// How to run it.
    pub kind: Kind,
    /// Is it an access by which lanes may wait for others: volatile, relaxed, acquiring or atomic?
    pub may_spin: bool,
    /// The guard's predicate slot, or [`UNGUARDED`].
    pub guard: u32,
    /// All ones where the guard is negated.
    pub guard_flip: u32,
    /// Operands.
    pub slots: Slots,
    /// Index into the side table of its kind.
    pub side: u32,
}

/// One of several functions over lanes that an instruction becomes.
#[derive(Clone, Copy)]
pub struct Step {
    /// The function.
    pub run: LaneOp,
    /// Its operands.
    pub slots: Slots,
}

/// Source location of a program counter.
#[derive(Clone, Copy)]
pub struct Location {
    /// The function.
    pub func: Func,
    /// The block.
    pub block: Block,
    /// The instruction.
    pub inst: Inst,
    /// Cost class of the instruction.
    pub class: OpClass,
    /// The space it names, if it is an access.
    pub space: Option<Space>,
}

/// Content of a new frame before its first instruction, beyond zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initial {
    /// A special register, as `u32`.
    Special(Special),
    /// The address of a local array at that offset in the function's local memory.
    Local {
        /// Bytes from the frame's local base.
        offset: u32,
        /// As 64 bits?
        wide: bool,
    },
}

/// A function of the program.
pub struct DecodedFunc {
    /// Which.
    pub func: Func,
    /// The pc of each entry.
    pub entries: Vec<u32>,
    /// Slot of each register in a frame.
    pub regs: Vec<Value>,
    /// Planes of a frame.
    pub planes: u32,
    /// Predicates of a frame.
    pub predicates: u32,
    /// Clocks of a frame.
    pub clocks: u32,
    /// Planes to fill when a frame is made.
    pub initial: Vec<(Initial, u32)>,
    /// Bytes of its own local arrays.
    pub local_bytes: u32,
    /// Slots of the parameters, in order; none for an array by value.
    pub params: Vec<Option<Value>>,
}

impl DecodedFunc {
    /// The size of a frame: of each kind of place as many as there are of the most frequent.
    pub fn frame_size(&self) -> u32 {
        self.planes.max(self.predicates).max(self.clocks)
    }
}

/// A decoded kernel with the functions that it may call.
pub struct Program {
    /// All instructions.
    pub insts: Vec<DecodedInst>,
    /// Location of each instruction.
    pub locations: Vec<Location>,
    /// Functions, the kernel first.
    pub funcs: Vec<DecodedFunc>,
    /// Planes that all warps share.
    pub constants: Vec<Plane>,
    /// When each of them may issue.
    pub timings: Vec<Timing>,
    /// Which of them go on calmly.
    pub calm: Vec<Calm>,
    /// From each on, the first that does not stay in the warp.
    pub leaves_at: Vec<u32>,
    /// From each on, the first that does not stay in the warp or has a member mask.
    pub meets_at: Vec<u32>,
    /// Before each of them, and after the last, the cycles of issue of all before, modulo 2³².
    pub issue_before: Vec<u32>,
    /// For [`Timing::more`].
    pub more_clocks: Vec<MoreClocks>,
    /// For [`Kind::Steps`].
    pub steps: Vec<Box<[Step]>>,
    /// For [`Kind::Access`] and [`Kind::Texture`].
    pub accesses: Vec<Access>,
    /// For [`Kind::Warp`], [`Kind::WarpBarrier`] and [`Kind::Barrier`].
    pub warp_sites: Vec<WarpSite>,
    /// For [`Kind::Draw`].
    pub draws: Vec<DrawSite>,
    /// For [`Kind::Work`].
    pub works: Vec<WorkSite>,
    /// For [`Kind::Read`].
    pub reads: Vec<ReadSite>,
    /// For [`Kind::Switch`].
    pub switches: Vec<SwitchSite>,
    /// For [`Kind::Call`].
    pub calls: Vec<CallSite>,
    /// For [`Kind::Ret`].
    pub rets: Vec<RetSite>,
    /// Bytes of shared arrays with a size.
    pub shared_bytes: u32,
    /// Has the program a shared array without a size?
    pub has_extern_shared: bool,
    /// Bytes of the param window.
    pub param_bytes: u32,
    /// Offset of each kernel parameter that is an array by value in the param window.
    pub param_offsets: Vec<u32>,
    /// Draw counters a thread: one for each input of each function.
    pub counters: u32,
    /// Bytes of local memory that a thread may need.
    pub local_bytes: u32,
    names: Vec<FuncNames>,
}

/// Names for messages and results.
struct FuncNames {
    func: Func,
    name: String,
    blocks: Vec<(Block, String)>,
    insts: Vec<(Inst, String, Span)>,
}

/// Deepest chain of calls, the kernel not counted.
pub const CALL_DEPTH_LIMIT: u32 = 64;
/// Local memory that a thread may have, in bytes.
pub const LOCAL_LIMIT: u32 = 64 << 10;
/// Instructions that a program may have.
pub const INST_LIMIT: usize = 1 << 20;

impl Program {
    /// Decodes a kernel of a verified module.
    ///
    /// Errors: [`ErrorKind::Program`] where an instruction is not what its opcode takes, which the verifier reports
    /// better; [`ErrorKind::Limit`] where the program is too large.
    pub fn decode(module: &Module, kernel: Func, machine: Machine) -> Result<Program, SimError> {
        let mut program = builder::build(module, kernel, machine)?;
        for (inst, timing) in program.insts.iter_mut().zip(&program.timings) {
            inst.held = timing.issue - 1;
        }
        program.calm = timing::calm(&program.timings);
        program.leaves_at =
            timing::first_from_each(&program.timings, |pc| !program.timings[pc].kind.stays_in_the_warp());
        program.meets_at = timing::first_from_each(&program.timings, |pc| {
            !program.timings[pc].kind.stays_in_the_warp() || program.has_members(pc)
        });
        program.issue_before = timing::issue_before(&program.timings);
        Ok(program)
    }

    /// Has the instruction a member mask?
    fn has_members(&self, pc: usize) -> bool {
        let inst = &self.insts[pc];
        inst.kind == Kind::Warp && self.warp_sites[inst.side as usize].members.is_some()
    }

    /// Cycles for which the instructions from one place to another hold the scheduler.
    #[inline(always)]
    pub fn held_between(&self, start: u32, end: u32) -> u32 {
        self.issue_before[end as usize].wrapping_sub(self.issue_before[start as usize])
    }

    /// The function whose code holds a pc.
    pub fn func_at(&self, pc: u32) -> usize {
        let func = self.locations[pc as usize].func;
        self.funcs.iter().position(|decoded| decoded.func == func).unwrap_or(0)
    }

    /// The label of the block that holds a pc.
    pub fn label(&self, pc: u32) -> &str {
        let location = self.locations[pc as usize];
        self.names_of(location.func)
            .and_then(|names| names.blocks.iter().find(|(block, _)| *block == location.block))
            .map_or("", |(_, label)| label)
    }

    /// A function's name.
    pub fn func_name(&self, func: Func) -> &str {
        self.names_of(func).map_or("", |names| &names.name)
    }

    /// The opcode, as spelled, and the place in the source of the instruction at a pc.
    pub fn text(&self, pc: u32) -> (&str, Span) {
        let location = self.locations[pc as usize];
        self.names_of(location.func)
            .and_then(|names| {
                let at = names.insts.binary_search_by_key(&location.inst, |(inst, ..)| *inst).ok()?;
                Some((names.insts[at].1.as_str(), names.insts[at].2))
            })
            .unwrap_or(("", Span::default()))
    }

    /// Labels of a function's blocks in text order.
    pub fn blocks(&self, func: Func) -> impl Iterator<Item = (Block, &str)> {
        self.names_of(func).into_iter().flat_map(|names| names.blocks.iter()).map(|(block, label)| (*block, &**label))
    }

    /// An error at an instruction.
    pub fn error_at(&self, pc: u32, kind: ErrorKind, message: impl Into<String>) -> SimError {
        let location = self.locations[pc as usize];
        let (opcode, span) = self.text(pc);
        SimError {
            kind,
            message: message.into(),
            notes: Vec::new(),
            place: Some(Box::new(ErrorPlace {
                func: location.func,
                inst: location.inst,
                block: location.block,
                function: self.func_name(location.func).into(),
                label: self.label(pc).into(),
                opcode: opcode.into(),
                span,
                thread: None,
                address: None,
            })),
        }
    }

    fn names_of(&self, func: Func) -> Option<&FuncNames> {
        self.names.iter().find(|names| names.func == func)
    }
}

/// Lane width of a type's registers: 64 bits, or a word.
pub(super) const fn is_wide(ty: Type) -> bool {
    ty.bits() == 64
}
