//! Which numbers an atom may be: enough to prove that narrow arithmetic does not overflow.

use crate::flow::{Definition, Value, ValueNames};
use crate::ir::{Function, Op, Operand, Special, Type};

/// How a narrow value becomes 64 bits wide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Extension {
    /// With zeros.
    Zero,
    /// With copies of its sign bit.
    Sign,
}

impl Extension {
    /// The extension of a type: `s` with its sign, all others with zeros.
    pub fn of(ty: Type) -> Extension {
        if ty.is_signed() { Extension::Sign } else { Extension::Zero }
    }

    /// The numbers that `bits` bits make.
    pub fn range(self, bits: u32) -> Range {
        match self {
            Extension::Zero => Range { low: 0, high: (1i128 << bits) - 1 },
            Extension::Sign => Range { low: -(1i128 << (bits - 1)), high: (1i128 << (bits - 1)) - 1 },
        }
    }

    /// The number that the low `bits` bits make.
    pub fn extend(self, number: u64, bits: u32) -> i64 {
        let unused = 64 - bits;
        match self {
            Extension::Zero => ((number << unused) >> unused) as i64,
            Extension::Sign => ((number << unused) as i64) >> unused,
        }
    }
}

/// The numbers from `low` to `high`, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least.
    pub low: i128,
    /// The greatest.
    pub high: i128,
}

impl Range {
    /// Has it all of another one's numbers?
    pub fn contains(self, other: Range) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// The sums of a number of each.
    pub fn plus(self, other: Range) -> Range {
        Range { low: self.low.saturating_add(other.low), high: self.high.saturating_add(other.high) }
    }

    /// Their multiples.
    pub fn times(self, factor: i64) -> Range {
        let ends = [self.low, self.high].map(|end| end.saturating_mul(i128::from(factor)));
        Range { low: ends[0].min(ends[1]), high: ends[0].max(ends[1]) }
    }
}

/// The numbers of a special register, by PTX's limits: blocks of up to 1024 threads, grids of up to 2^31 - 1 blocks
/// along x and 65535 along the others. Only what holds on any launch that the simulator accepts is used.
pub(super) fn special_range(special: Special) -> Range {
    let high = match special {
        Special::Tid(_) => 1023,
        Special::Ntid(_) => 1024,
        Special::Laneid => 31,
        Special::Warpsize => 32,
        Special::Warpid => 1023,
        _ => u32::MAX.into(),
    };
    Range { low: 0, high }
}

/// The numbers that a value may be under an extension, from its definition alone.
pub(super) fn value_range(func: &Function, values: &dyn ValueNames, value: Value, extension: Extension) -> Range {
    let bits = func.reg_types[values.reg(value)].bits();
    let full = extension.range(bits);
    let Definition::Inst { inst, index: 0 } = values.definition(value) else { return full };
    let data = &func.insts[inst];
    let ty = data.opcode.ty;
    let constant = |index: usize| data.args.get(index).and_then(Operand::as_const);
    let below = |high: u64| Range { low: 0, high: high.into() };
    let known = match data.opcode.op {
        // What is loaded is narrower than its register and extends by its type.
        Op::Ld if ty.bits() < bits && !ty.is_float() => Extension::of(ty).range(ty.bits()),
        Op::Cvt
            if data.opcode.src_ty.bits() < ty.bits()
                && ty.bits() == bits
                && !ty.is_float()
                && !data.opcode.src_ty.is_float() =>
        {
            Extension::of(data.opcode.src_ty).range(data.opcode.src_ty.bits())
        }
        Op::And => match constant(1).or(constant(0)) {
            Some(mask) => below(mask),
            None => return full,
        },
        Op::Rem if !ty.is_signed() && !ty.is_float() => match constant(1) {
            // Division by zero gives all ones.
            Some(divisor) if divisor > 0 => below(divisor - 1),
            _ => return full,
        },
        Op::Shr if !ty.is_signed() => match constant(1) {
            Some(amount) if amount < u64::from(ty.bits()) => below(ty.mask() >> amount),
            _ => return full,
        },
        _ => return full,
    };
    // Bits that mean this number mean it under either extension only where both have it.
    if full.contains(known) { known } else { full }
}
