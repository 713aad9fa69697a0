//! Scalar types and memory spaces, spelled as in PTX.

use core::fmt;

/// The type of a register, an operation or a memory element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[allow(missing_docs)]
pub enum Type {
    /// One bit a lane; cannot be stored to memory.
    Pred,
    B8,
    B16,
    B32,
    B64,
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

/// Meaning of a type's bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum TypeClass {
    Pred,
    Bits,
    Signed,
    Unsigned,
    Float,
}

impl Type {
    /// Every type, in the order of the enumeration.
    pub const ALL: [Type; 16] = [
        Type::Pred,
        Type::B8,
        Type::B16,
        Type::B32,
        Type::B64,
        Type::S8,
        Type::S16,
        Type::S32,
        Type::S64,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::F16,
        Type::F32,
        Type::F64,
    ];

    /// Width in bits; a predicate has one.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::B8 | Type::S8 | Type::U8 => 8,
            Type::B16 | Type::S16 | Type::U16 | Type::F16 => 16,
            Type::B32 | Type::S32 | Type::U32 | Type::F32 => 32,
            Type::B64 | Type::S64 | Type::U64 | Type::F64 => 64,
        }
    }

    /// Size of an element in memory, in bytes. A predicate counts as one byte although it cannot be stored.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Bit mask of the width: constants are kept reduced to it.
    pub const fn mask(self) -> u64 {
        if self.bits() == 64 { u64::MAX } else { (1 << self.bits()) - 1 }
    }

    /// The low bits of that width as a number: with their sign for signed types, without for others.
    pub const fn extend(self, bits: u64) -> i64 {
        let shift = 64 - self.bits();
        if self.is_signed() { ((bits << shift) as i64) >> shift } else { (bits & self.mask()) as i64 }
    }

    /// Returns the meaning of the bits.
    pub const fn class(self) -> TypeClass {
        match self {
            Type::Pred => TypeClass::Pred,
            Type::B8 | Type::B16 | Type::B32 | Type::B64 => TypeClass::Bits,
            Type::S8 | Type::S16 | Type::S32 | Type::S64 => TypeClass::Signed,
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => TypeClass::Unsigned,
            Type::F16 | Type::F32 | Type::F64 => TypeClass::Float,
        }
    }

    /// Is this `f16`, `f32` or `f64`?
    pub const fn is_float(self) -> bool {
        matches!(self.class(), TypeClass::Float)
    }

    /// Is this an `s` type?
    pub const fn is_signed(self) -> bool {
        matches!(self.class(), TypeClass::Signed)
    }

    /// Is this an `s` or a `u` type?
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), TypeClass::Signed | TypeClass::Unsigned)
    }

    /// The untyped (`b`) type of the same width; `pred` stays.
    pub const fn as_bits(self) -> Type {
        match self.bits() {
            1 => Type::Pred,
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            _ => Type::B64,
        }
    }

    /// The type with the same meaning and another width (8, 16, 32 or 64 bits), if there is one.
    pub fn with_bits(self, bits: u32) -> Option<Type> {
        Type::ALL.into_iter().find(|ty| ty.class() == self.class() && ty.bits() == bits)
    }

    /// Does a register of type `self` agree with every type that one of type `other` agrees with?
    pub fn agrees_wherever(self, other: Type) -> bool {
        let is_bits = |ty: Type| ty.class() == TypeClass::Bits;
        self.agrees_with(other) && (is_bits(self) || !is_bits(other))
    }

    /// May a register of type `self` stand where `wanted` is expected? A `b` type agrees with every type of its
    /// width, `s` and `u` with each other (the language page's rule).
    pub fn agrees_with(self, wanted: Type) -> bool {
        use TypeClass::{Bits, Float, Pred};
        if self == wanted {
            return true;
        }
        if self.bits() != wanted.bits() {
            return false;
        }
        let (have, want) = (self.class(), wanted.class());
        if have == Pred || want == Pred || have == Bits || want == Bits {
            return have == want || (have != Pred && want != Pred);
        }
        (have == Float) == (want == Float)
    }

    /// Are these the bits of a NaN other than the one that arithmetic yields in this float type?
    /// No, where the type is no float.
    pub fn is_other_nan(self, bits: u64) -> bool {
        let infinity = match self {
            Type::F16 => 0x7C00,
            Type::F32 => 0x7F80_0000,
            Type::F64 => 0x7FF0_0000_0000_0000,
            _ => return false,
        };
        let nan = self.mask() >> 1;
        bits & nan > infinity && bits & self.mask() != nan
    }

    /// The spelling, without a dot.
    pub const fn name(self) -> &'static str {
        match self {
            Type::Pred => "pred",
            Type::B8 => "b8",
            Type::B16 => "b16",
            Type::B32 => "b32",
            Type::B64 => "b64",
            Type::S8 => "s8",
            Type::S16 => "s16",
            Type::S32 => "s32",
            Type::S64 => "s64",
            Type::U8 => "u8",
            Type::U16 => "u16",
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::F16 => "f16",
            Type::F32 => "f32",
            Type::F64 => "f64",
        }
    }

    /// The type of that spelling.
    pub fn from_name(name: &str) -> Option<Type> {
        Type::ALL.into_iter().find(|ty| ty.name() == name)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A memory that an access names. No space at all is a generic access: the address tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Space {
    /// Device memory, seen by every thread of a launch.
    Global,
    /// One memory a block.
    Shared,
    /// One memory a thread.
    Local,
    /// Read-only memory, the same for a whole launch.
    Const,
    /// The kernel's arguments; read-only.
    Param,
}

impl Space {
    /// Every space.
    pub const ALL: [Space; 5] = [Space::Global, Space::Shared, Space::Local, Space::Const, Space::Param];

    /// The spelling, without a dot.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
        }
    }

    /// The space of that spelling.
    pub fn from_name(name: &str) -> Option<Space> {
        Space::ALL.into_iter().find(|space| space.name() == name)
    }

    /// Can no store reach it?
    pub const fn is_read_only(self) -> bool {
        matches!(self, Space::Const | Space::Param)
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
