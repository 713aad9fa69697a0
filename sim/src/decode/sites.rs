//! Details of the rarer kinds of instructions: one record each.

use alloc::vec::Vec;
use smallvec::SmallVec;

use crate::ir::{AtomicOp, Op, Space, Special, Type, Values};

/// A register or constant of some width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// A plane of words.
    Word(u32),
    /// Two planes of 64-bit lanes.
    Wide(u32),
    /// A predicate; the second word is all ones where it is negated.
    Predicate(u32, u32),
}

/// Extension of a narrower number that is loaded into a wider register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extension {
    /// Fills with zeros.
    Zero,
    /// Fills with the sign of a number of so many bits.
    Sign(u32),
}

/// Base of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// Nothing else: the constant part is all.
    None,
    /// A 64-bit register or constant.
    Wide(u32),
    /// A word, extended with zeros.
    Word(u32),
}

/// An index register with its scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Index {
    /// 64 bits.
    Wide(u32, i64),
    /// Extended with zeros from so many bits (8, 16 or 32).
    Unsigned(u32, u32, i64),
    /// Extended by its sign.
    Signed(u32, u32, i64),
}

/// Kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// A load; a speculative one gives 0 where there is no memory.
    Load {
        /// `ld.spec`.
        speculative: bool,
    },
    /// A store.
    Store,
    /// `atom` and `red`.
    Atomic(AtomicOp),
    /// `tex.1d` and `tex.2d`: coordinates of that type.
    Texture(Type),
}

/// A load, store, atomic or texture fetch.
#[derive(Clone, Debug)]
pub struct Access {
    /// Kind of the access.
    pub kind: AccessKind,
    /// The space it names; none is generic.
    pub space: Option<Space>,
    /// The element's type.
    pub ty: Type,
    /// Elements of each lane.
    pub elements: u8,
    /// The elements of an atomic are bfloats.
    pub is_of_bfloats: bool,
    /// How a loaded element fills its register.
    pub extension: Extension,
    /// The address's parts. A texture's handle is the base.
    pub base: Base,
    /// Scaled indices.
    pub indices: SmallVec<[Index; 2]>,
    /// The constant part.
    pub offset: i64,
    /// Destinations of a load or atomic, sources of a store.
    pub values: SmallVec<[Value; 4]>,
    /// Operands of an atomic; coordinates of a texture.
    pub operands: SmallVec<[Value; 2]>,
}

/// A vote, shuffle, match, reduction, `activemask` or barrier.
#[derive(Clone, Copy, Debug)]
pub struct WarpSite {
    /// Which.
    pub op: Op,
    /// The type of what is shuffled, matched or reduced.
    pub ty: Type,
    /// First destination.
    pub dst: Option<Value>,
    /// Second destination: a predicate.
    pub predicate: Option<u32>,
    /// Operands in order, without the member mask; of a barrier its number, how many threads it is
    /// for, and the predicate.
    pub operands: [Option<Value>; 3],
    /// The member mask: a bit for each lane that the asking lane works with.
    pub members: Option<Value>,
    /// Is the member mask a constant that names all lanes of a warp?
    pub names_all: bool,
    /// Meeting point of lanes that do not wait here with those that do.
    pub join: u32,
    /// Must the lanes of a warp come to this barrier at one instruction?
    pub is_aligned: bool,
    /// Reduction of the lanes' values, and whether these have signs.
    pub reduction: Option<(AtomicOp, bool)>,
}

impl WarpSite {
    /// Do lanes at the two sites act together, if they name the same lanes?
    pub fn acts_with(&self, other: &WarpSite) -> bool {
        (self.op, self.reduction, self.ty) == (other.op, other.reduction, other.ty)
    }
}

/// `in`.
#[derive(Clone, Debug)]
pub struct DrawSite {
    /// The input's name.
    pub name: alloc::string::String,
    /// The type drawn.
    pub ty: Type,
    /// One value for all threads.
    pub uniform: bool,
    /// Slot of the number of earlier draws.
    pub counter: u32,
    /// The destination.
    pub dst: Value,
    /// Values of the draws, once the launch is known.
    pub values: Option<Values>,
}

/// `read`.
#[derive(Clone, Copy, Debug)]
pub struct ReadSite {
    /// The special register.
    pub special: Special,
    /// The destination.
    pub dst: Value,
}

/// `work`.
#[derive(Clone, Debug)]
pub struct WorkSite {
    /// The result's type.
    pub ty: Type,
    /// The destination.
    pub dst: Value,
    /// Operands.
    pub operands: SmallVec<[Value; 4]>,
}

/// `switch`.
#[derive(Clone, Debug)]
pub struct SwitchSite {
    /// The selector.
    pub selector: u32,
    /// Targets as pcs; the last one is for every value beyond.
    pub targets: Vec<u32>,
    /// Program counter where lanes reconverge.
    pub join: u32,
}

/// A call.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// Index into the program's functions.
    pub callee: usize,
    /// The entry's pc.
    pub entry: u32,
    /// The caller's values and the callee's parameters.
    pub arguments: Vec<(Value, Value)>,
    /// The result's place in the caller, with its clock.
    pub dst: Option<(Value, u32)>,
    /// For `call … to`: where each exit goes on, and where lanes meet.
    pub exits: Option<(Vec<u32>, u32)>,
}

/// `ret`.
#[derive(Clone, Copy, Debug)]
pub struct RetSite {
    /// The value returned.
    pub value: Option<Value>,
    /// Which exit.
    pub exit: u32,
}
