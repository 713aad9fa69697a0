//! The algebraic identities, as functions from an instruction to something simpler.
//!
//! Integer arithmetic wraps, so integer identities need no condition. For floats, without the
//! licence: `x * 1`, `x / 1`, `x - 0`, `x + -0` and `min(x, x)` are `x` to the bit when rounding to
//! nearest without flushing, if `x` is a result of arithmetic itself: another NaN would become the
//! canonical one; `x * -1` is a sign change; division by a power of two is a multiplication. `x +
//! 0` turns -0 into 0, `x * 0` is NaN for an infinite x, `x - x` too: those need the licence.

use alloc::vec;
use alloc::vec::Vec;

use crate::ir::{Cmp, Flags, InstData, Op, Opcode, Operand, Rounding, Type, TypeClass};

/// Simpler forms of an instruction.
#[derive(Clone, PartialEq, Debug)]
pub enum Simpler {
    /// A constant's bits.
    Constant(u64),
    /// A copy of one of its operands.
    Operand(Operand),
    /// A cheaper instruction.
    Instruction(Opcode, Vec<Operand>),
}

/// An identity that applies.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// The identity, in words.
    pub why: &'static str,
    /// The result.
    pub simpler: Simpler,
}

/// Facts that float identities depend on.
#[derive(Clone, Copy)]
pub struct FloatFacts<'a> {
    /// True with the fast-math licence.
    pub fast_math: bool,
    /// True for an operand that is a result of arithmetic, so that its NaN is the canonical one.
    pub is_computed: &'a dyn Fn(&Operand) -> bool,
}

impl FloatFacts<'_> {
    /// True if arithmetic that changes no number is a copy of that operand.
    fn is_copied(&self, operand: &Operand) -> bool {
        self.fast_math || (self.is_computed)(operand)
    }
}

/// Looks for an identity.
pub fn find(data: &InstData, facts: FloatFacts<'_>) -> Option<Finding> {
    let fast_math = facts.fast_math;
    if data.dsts.len() != 1 || data.opcode.has(Flags::CC) {
        return None;
    }
    if data.opcode.has(Flags::SAT) {
        return if fast_math && data.opcode.ty.is_float() { saturated_product(data) } else { None };
    }
    if data.opcode.op == Op::Selp {
        return same_choice(data);
    }
    if data.opcode.op == Op::Cvt {
        return conversion_to_itself(data, facts);
    }
    match data.opcode.ty.class() {
        TypeClass::Float => float_identity(data, facts),
        _ => integer_identity(data),
    }
}

fn finding(rule: &'static str, why: &'static str, simpler: Simpler) -> Option<Finding> {
    Some(Finding { rule, why, simpler })
}

/// A saturating product with a factor of zero: zero is saturated already, and an addend is
/// saturated alone.
fn saturated_product(data: &InstData) -> Option<Finding> {
    let (_, bits) = with_constant(data)?;
    let is_zero = matches!(landmark(data.opcode.ty, bits), Landmark::Zero | Landmark::MinusZero);
    match (data.opcode.op, data.args.as_slice()) {
        (Op::Mul, _) if is_zero => finding("annihilator", "a zero operand makes the result zero", Simpler::Constant(0)),
        (Op::Fma | Op::Mad, [_, _, addend]) if is_zero => {
            let add = Opcode { op: Op::Add, ..data.opcode };
            finding(
                "annihilator",
                "the product is zero",
                Simpler::Instruction(add, vec![addend.clone(), Operand::Const(0)]),
            )
        }
        _ => None,
    }
}

/// Both orders of the first two operands, where one of them is a constant: the other one and the
/// constant's bits.
fn with_constant(data: &InstData) -> Option<(&Operand, u64)> {
    match data.args.as_slice() {
        [x, Operand::Const(bits), ..] => Some((x, *bits)),
        [Operand::Const(bits), x, ..] if data.opcode.op.is_commutative() => Some((x, *bits)),
        _ => None,
    }
}

fn same_operands(data: &InstData) -> bool {
    matches!(data.args.as_slice(), [Operand::Reg(a), Operand::Reg(b), ..] if a == b)
}

fn same_choice(data: &InstData) -> Option<Finding> {
    let chosen = data.args.first().filter(|&chosen| data.args.get(1) == Some(chosen))?;
    finding("same-choice", "both choices are the same", Simpler::Operand(chosen.clone()))
}

/// A conversion that changes no bit.
fn conversion_to_itself(data: &InstData, facts: FloatFacts<'_>) -> Option<Finding> {
    let operand = data.args.first()?;
    let Opcode { ty, src_ty, rounding, flags, .. } = data.opcode;
    let integers = ty.is_integer() && src_ty.is_integer() && ty.bits() == src_ty.bits();
    let plain_float = ty == src_ty && ty.is_float() && rounding.is_none() && flags.is_empty();
    if integers || (plain_float && facts.is_copied(operand)) {
        return finding("same-type", "the conversion changes nothing", Simpler::Operand(operand.clone()));
    }
    None
}

fn integer_identity(data: &InstData) -> Option<Finding> {
    use Simpler::{Constant, Instruction, Operand as Copy};
    let opcode = data.opcode;
    let ty = opcode.ty;
    let ones = ty.mask();
    let constant = with_constant(data);
    let args = data.args.as_slice();
    match (opcode.op, constant) {
        (Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Shl | Op::Shr, Some((x, 0))) => {
            finding("neutral", "zero changes nothing", Copy(x.clone()))
        }
        (Op::Sub | Op::Xor, _) if same_operands(data) => {
            finding("self-inverse", "a value minus itself is zero", Constant(0))
        }
        (Op::And | Op::Or | Op::Min | Op::Max, _) if same_operands(data) => {
            finding("idempotent", "both operands are the same", Copy(args[0].clone()))
        }
        (Op::Mul | Op::MulHi | Op::MulWide | Op::And, Some((_, 0))) => {
            finding("annihilator", "a zero operand makes the result zero", Constant(0))
        }
        (Op::Mul | Op::Div, Some((x, 1))) => finding("neutral", "one changes nothing", Copy(x.clone())),
        (Op::Rem, Some((_, 1))) => finding("annihilator", "a division by one has no remainder", Constant(0)),
        (Op::And, Some((x, bits))) if bits == ones => finding("neutral", "all ones change nothing", Copy(x.clone())),
        (Op::Or, Some((_, bits))) if bits == ones => finding("annihilator", "all ones stay all ones", Constant(ones)),
        (Op::Xor, Some((x, bits))) if bits == ones => {
            finding("negation", "all ones flip every bit", Instruction(Opcode::new(Op::Not, ty), vec![x.clone()]))
        }
        (Op::Shl, Some((_, bits))) if bits >= u64::from(ty.bits()) => {
            finding("shifted-out", "every bit is shifted out", Constant(0))
        }
        (Op::Shr, Some((_, bits))) if bits >= u64::from(ty.bits()) && !ty.is_signed() => {
            finding("shifted-out", "every bit is shifted out", Constant(0))
        }
        (Op::Shl | Op::Shr, _) if args.first() == Some(&Operand::Const(0)) => {
            finding("annihilator", "zero stays zero", Constant(0))
        }
        (Op::Div, Some((x, bits))) if is_unsigned_power(ty, bits) => finding(
            "power-of-two",
            "dividing by a power of two is a shift",
            Instruction(Opcode::new(Op::Shr, ty), vec![x.clone(), Operand::Const(u64::from(bits.trailing_zeros()))]),
        ),
        (Op::Rem, Some((x, bits))) if is_unsigned_power(ty, bits) => finding(
            "power-of-two",
            "the remainder by a power of two is a mask",
            Instruction(Opcode::new(Op::And, ty.as_bits()), vec![x.clone(), Operand::Const(bits - 1)]),
        ),
        (Op::Min | Op::Max, Some((x, bits))) => bound(opcode.op, ty, x, bits),
        (Op::MulWide, Some((x, 1))) => finding(
            "neutral",
            "one changes nothing but the width",
            Instruction(Opcode::cvt(opcode.wide_type(), ty), vec![x.clone()]),
        ),
        (Op::Mad | Op::MadWide, _) => multiply_add(data, constant),
        (Op::Setp, _) if opcode.combine.is_none() => comparison(data),
        (Op::Bfe, _) if args.get(2) == Some(&Operand::Const(0)) => {
            finding("empty-field", "a field of no bits is zero", Constant(0))
        }
        (Op::Bfi, _) if args.get(3) == Some(&Operand::Const(0)) => {
            finding("empty-field", "a field of no bits is not inserted", Copy(args[1].clone()))
        }
        _ => None,
    }
}

fn is_unsigned_power(ty: Type, bits: u64) -> bool {
    ty.class() == TypeClass::Unsigned && bits.is_power_of_two()
}

/// `min` and `max` against the least or greatest number of the type.
fn bound(op: Op, ty: Type, x: &Operand, bits: u64) -> Option<Finding> {
    let sign = 1 << (ty.bits() - 1);
    let (least, greatest) = if ty.is_signed() { (sign, sign - 1) } else { (0, ty.mask()) };
    let keeps = if op == Op::Min { greatest } else { least };
    let wins = if op == Op::Min { least } else { greatest };
    if bits == keeps {
        finding("neutral", "the constant is a bound of the type", Simpler::Operand(x.clone()))
    } else if bits == wins {
        finding("annihilator", "the constant is a bound of the type", Simpler::Constant(bits))
    } else {
        None
    }
}

/// `a * b + c` where a factor or the addend says enough.
fn multiply_add(data: &InstData, constant: Option<(&Operand, u64)>) -> Option<Finding> {
    let opcode = data.opcode;
    let [a, b, c] = data.args.as_slice() else { return None };
    let wide = opcode.op == Op::MadWide;
    let result = if wide { opcode.wide_type() } else { opcode.ty };
    let add = |x: Operand| Simpler::Instruction(Opcode::new(Op::Add, result), vec![x, c.clone()]);
    match (constant, a, b) {
        (Some((_, 0)), ..) => finding("annihilator", "the product is zero", Simpler::Operand(c.clone())),
        (Some((x, 1)), ..) if !wide => finding("neutral", "the product is its other factor", add(x.clone())),
        (_, Operand::Const(a), Operand::Const(b)) => {
            let product = opcode.ty.extend(*a).wrapping_mul(opcode.ty.extend(*b)) as u64 & result.mask();
            finding("constant", "the product is a constant", add(Operand::Const(product)))
        }
        _ if *c == Operand::Const(0) => {
            let op = if wide { Op::MulWide } else { Op::Mul };
            let multiply = Opcode { op, ..opcode };
            finding("neutral", "zero is added", Simpler::Instruction(multiply, vec![a.clone(), b.clone()]))
        }
        _ => None,
    }
}

/// Integer comparisons whose outcome the operands' shape tells.
fn comparison(data: &InstData) -> Option<Finding> {
    let cmp = data.opcode.cmp?;
    let truth = |value: bool| Simpler::Constant(u64::from(value));
    if same_operands(data) {
        let holds = matches!(cmp, Cmp::Eq | Cmp::Le | Cmp::Ge | Cmp::Ls | Cmp::Hs);
        return finding("same-operands", "a value is compared with itself", truth(holds));
    }
    let unsigned = data.opcode.ty.class() == TypeClass::Unsigned;
    match (cmp, data.args.get(1)) {
        (Cmp::Lo, Some(Operand::Const(0))) => finding("bound", "nothing is below zero", truth(false)),
        (Cmp::Hs, Some(Operand::Const(0))) => finding("bound", "nothing is below zero", truth(true)),
        (Cmp::Lt, Some(Operand::Const(0))) if unsigned => finding("bound", "nothing is below zero", truth(false)),
        (Cmp::Ge, Some(Operand::Const(0))) if unsigned => finding("bound", "nothing is below zero", truth(true)),
        _ => None,
    }
}

/// The float constants that identities speak of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Landmark {
    Zero,
    MinusZero,
    One,
    MinusOne,
    Other,
}

fn landmark(ty: Type, bits: u64) -> Landmark {
    let (one, sign) = match ty {
        Type::F16 => (0x3c00, 1 << 15),
        Type::F32 => (0x3f80_0000, 1 << 31),
        _ => (0x3ff0_0000_0000_0000, 1 << 63),
    };
    match bits {
        0 => Landmark::Zero,
        _ if bits == sign => Landmark::MinusZero,
        _ if bits == one => Landmark::One,
        _ if bits == one | sign => Landmark::MinusOne,
        _ => Landmark::Other,
    }
}

fn float_identity(data: &InstData, facts: FloatFacts<'_>) -> Option<Finding> {
    use Simpler::{Constant, Instruction, Operand as Copy};
    let fast_math = facts.fast_math;
    let opcode = data.opcode;
    let ty = opcode.ty;
    let nearest = matches!(opcode.rounding, None | Some(Rounding::Rn));
    let exact = nearest && !opcode.flags.intersects(Flags::FTZ | Flags::APPROX | Flags::FULL);
    if !exact && !fast_math {
        return None;
    }
    let constant = with_constant(data).map(|(x, bits)| (x, landmark(ty, bits), bits));
    match (opcode.op, constant) {
        (Op::Mul | Op::Div, Some((x, Landmark::One, _))) if facts.is_copied(x) => {
            finding("neutral", "one changes nothing", Copy(x.clone()))
        }
        (Op::Mul | Op::Div, Some((x, Landmark::MinusOne, _))) => {
            finding("negation", "minus one flips the sign", Instruction(Opcode::new(Op::Neg, ty), vec![x.clone()]))
        }
        (Op::Sub, Some((x, Landmark::Zero, _))) | (Op::Add, Some((x, Landmark::MinusZero, _)))
            if facts.is_copied(x) =>
        {
            finding("neutral", "zero changes nothing", Copy(x.clone()))
        }
        (Op::Add | Op::Sub, Some((x, Landmark::Zero | Landmark::MinusZero, _))) if fast_math => {
            finding("neutral", "zero changes nothing", Copy(x.clone()))
        }
        (Op::Mul, Some((_, Landmark::Zero | Landmark::MinusZero, _))) if fast_math => {
            finding("annihilator", "a zero operand makes the result zero", Constant(0))
        }
        (Op::Div, _) if fast_math && is_zero_constant(ty, data.args.first()) => {
            finding("annihilator", "zero stays zero", Constant(0))
        }
        (Op::Sub, _) if fast_math && same_operands(data) => {
            finding("self-inverse", "a value minus itself is zero", Constant(0))
        }
        (Op::Min | Op::Max, _) if same_operands(data) && facts.is_copied(&data.args[0]) => {
            finding("idempotent", "both operands are the same", Copy(data.args[0].clone()))
        }
        (Op::Div, Some((x, Landmark::Other, bits))) if exact => {
            let reciprocal = reciprocal_of_power(ty, bits)?;
            let multiply = Opcode { op: Op::Mul, ..opcode };
            finding(
                "power-of-two",
                "dividing by a power of two is a multiplication",
                Instruction(multiply, vec![x.clone(), Operand::Const(reciprocal)]),
            )
        }
        (Op::Fma | Op::Mad, _) => fused_multiply_add(data, constant.map(|(x, mark, _)| (x, mark)), fast_math),
        _ => None,
    }
}

fn is_zero_constant(ty: Type, operand: Option<&Operand>) -> bool {
    let bits = operand.and_then(Operand::as_const);
    bits.is_some_and(|bits| matches!(landmark(ty, bits), Landmark::Zero | Landmark::MinusZero))
}

fn fused_multiply_add(data: &InstData, constant: Option<(&Operand, Landmark)>, fast_math: bool) -> Option<Finding> {
    let opcode = data.opcode;
    let [a, b, c] = data.args.as_slice() else { return None };
    let addend = c.as_const().map(|bits| landmark(opcode.ty, bits));
    match (constant, addend) {
        (Some((x, Landmark::One)), _) => {
            let add = Opcode { op: Op::Add, ..opcode };
            finding("neutral", "the product is its other factor", Simpler::Instruction(add, vec![x.clone(), c.clone()]))
        }
        (Some((_, Landmark::Zero | Landmark::MinusZero)), _) if fast_math => {
            finding("annihilator", "the product is zero", Simpler::Operand(c.clone()))
        }
        (_, Some(mark)) if mark == Landmark::MinusZero || (fast_math && mark == Landmark::Zero) => {
            let multiply = Opcode { op: Op::Mul, ..opcode };
            finding("neutral", "zero is added", Simpler::Instruction(multiply, vec![a.clone(), b.clone()]))
        }
        _ => None,
    }
}

/// The bits of `1 / 2^k` for the bits of a normal `2^k` (of either sign) whose reciprocal is normal
/// too.
fn reciprocal_of_power(ty: Type, bits: u64) -> Option<u64> {
    let (mantissa_bits, exponent_bits) = match ty {
        Type::F16 => (10, 5),
        Type::F32 => (23, 8),
        Type::F64 => (52, 11),
        _ => return None,
    };
    let mantissa = bits & ((1 << mantissa_bits) - 1);
    let exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    let sign = bits & (1 << (mantissa_bits + exponent_bits));
    let bias = (1 << (exponent_bits - 1)) - 1;
    let reciprocal = (2 * bias as u64).checked_sub(exponent)?;
    let normal = |exponent: u64| exponent > 0 && exponent < (1 << exponent_bits) - 1;
    (mantissa == 0 && normal(exponent) && normal(reciprocal)).then_some(sign | (reciprocal << mantissa_bits))
}
