//! Intervals of integers, with the piece of memory that they are offsets into, if any.
//!
//! Arithmetic saturates at the ends of 64 bits, which stand for "no bound". Sound as long as an operation whose result
//! leaves the range of its type is given that whole range, because it may wrap there; [`Value::fit`] does that.

use crate::ir::{Array, Global, Type};

/// Base of an address that is an offset from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    /// The memory of a kernel's parameter: its buffer, or the array by value.
    Param(usize),
    /// The memory behind a pointer in other memory, by its number in the analysis.
    Pointee(u32),
    /// A shared or local array of the kernel.
    Array(Array),
    Global(Global),
    /// Some memory that is not followed.
    Other,
}

/// The numbers from `low` to `high`, as offsets in bytes where there is a base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Value {
    pub base: Option<Base>,
    pub low: i64,
    pub high: i64,
}

impl Value {
    pub const ANY: Value = Value { base: None, low: i64::MIN, high: i64::MAX };

    pub fn exactly(number: i64) -> Value {
        Value::between(number, number)
    }

    pub fn between(low: i64, high: i64) -> Value {
        Value { base: None, low, high }
    }

    pub fn pointer(base: Base) -> Value {
        Value { base: Some(base), low: 0, high: 0 }
    }

    /// Every number of the type.
    pub fn of_type(ty: Type) -> Value {
        let (low, high) = bounds(ty);
        Value::between(low, high)
    }

    /// Is there no base, and both ends within sight?
    pub fn is_bounded(self) -> bool {
        self.low > i64::MIN && self.high < i64::MAX
    }

    /// The result of an operation of type `ty`: it wraps where it leaves the type's range.
    pub fn fit(self, ty: Type) -> Value {
        let (low, high) = bounds(ty);
        if ty.is_float() {
            Value::ANY
        } else if self.base.is_some() || self.low >= low && self.high <= high {
            self
        } else {
            Value::between(low, high)
        }
    }

    /// The result of arithmetic. Signed 32-bit arithmetic counts as not overflowing, as in subscripts; otherwise a loop
    /// counter without a bound yet would lose the one it has on the other side.
    pub fn fit_sum(self, ty: Type) -> Value {
        let (low, high) = bounds(ty);
        match self.meet(low, high) {
            Some(met) if ty.is_signed() && ty.bits() == 32 && self.base.is_none() => met,
            _ => self.fit(ty),
        }
    }

    pub fn join(self, other: Value) -> Value {
        let base = match (self.base, other.base) {
            (a, b) if a == b => a,
            _ => return Value { base: Some(Base::Other), ..Value::ANY },
        };
        Value { base, low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// A join that cannot grow many times: an end that moves goes to the next of 0, the ends of 32 bits, and no bound.
    pub fn widened(self, before: Value) -> Value {
        let low = match self.low {
            low if low == before.low => low,
            0.. => 0,
            low if low >= i64::from(i32::MIN) => i64::from(i32::MIN),
            _ => i64::MIN,
        };
        let high = match self.high {
            high if high == before.high => high,
            high if high <= i64::from(i32::MAX) => i64::from(i32::MAX),
            _ => i64::MAX,
        };
        Value { base: self.base, low, high }
    }

    pub fn add(self, other: Value) -> Value {
        let base = match (self.base, other.base) {
            (base, None) | (None, base) => base,
            _ => Some(Base::Other),
        };
        Value { base, low: low_sum(self.low, other.low), high: high_sum(self.high, other.high) }
    }

    pub fn negated(self) -> Value {
        let flip = |end: i64| match end {
            i64::MIN => i64::MAX,
            i64::MAX => i64::MIN,
            end => -end,
        };
        Value { base: self.base.map(|_| Base::Other), low: flip(self.high), high: flip(self.low) }
    }

    /// A difference of addresses in one piece of memory is a number.
    pub fn subtract(self, other: Value) -> Value {
        match (self.base, other.base) {
            (base, None) => Value { base, ..Value { base: None, ..self }.add(other.negated()) },
            (a, b) if a == b => Value { base: None, ..self }.add(Value { base: None, ..other }.negated()),
            _ => Value { base: Some(Base::Other), ..Value::ANY },
        }
    }

    pub fn multiply(self, other: Value) -> Value {
        let ends = [self.low, self.high];
        let others = [other.low, other.high];
        let products = ends.iter().flat_map(|&a| others.iter().map(move |&b| product(a, b)));
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for end in products {
            (low, high) = (low.min(end), high.max(end));
        }
        let base = self.base.or(other.base).map(|_| Base::Other);
        Value { base, low, high }
    }

    /// The numbers that are in both; none where there is none.
    pub fn meet(self, low: i64, high: i64) -> Option<Value> {
        let met = Value { base: self.base, low: self.low.max(low), high: self.high.min(high) };
        (met.low <= met.high).then_some(met)
    }
}

/// The smallest and the largest number that a register of that type may stand for; a `b` type may be read either way.
fn bounds(ty: Type) -> (i64, i64) {
    let bits = ty.bits();
    if bits == 64 {
        return (i64::MIN, i64::MAX);
    }
    let (signed, unsigned) = ((1i64 << (bits - 1)) - 1, (1i64 << bits) - 1);
    match () {
        _ if ty.is_signed() => (-signed - 1, signed),
        _ if ty.is_integer() => (0, unsigned),
        _ => (-signed - 1, unsigned),
    }
}

fn low_sum(a: i64, b: i64) -> i64 {
    if a == i64::MIN || b == i64::MIN { i64::MIN } else { a.saturating_add(b) }
}

fn high_sum(a: i64, b: i64) -> i64 {
    if a == i64::MAX || b == i64::MAX { i64::MAX } else { a.saturating_add(b) }
}

fn product(a: i64, b: i64) -> i64 {
    if a == 0 || b == 0 { 0 } else { a.saturating_mul(b) }
}
