//! Constant expressions of PTX, which may stand wherever a number may.
//!
//! ```text
//! (3+4*2)<<1   →   22          0xF0 & ~0x30   →   0xC0          5 > 3 ? 1 : 2   →   1
//! ```
//!
//! Precedence climbing, as in C. Values have 64 bits; they are unsigned where a literal is, by its
//! `U` or because it does not fit `.s64`, or where a cast says so. Floats are literals with a sign,
//! no more.
//!
//! Bounds: linear in the tokens; [`DEPTH`] levels of parentheses and signs.
//!
//! Source: PTX ISA, "Constant Expressions".

use super::lexer::{Kind, Token};
use super::parser::{Parsed, Parser, Reported};
use super::syntax::Number;
use alloc::format;

/// Levels beyond which an expression is refused.
const DEPTH: u32 = 64;

/// Binary operators.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Binary {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    Both,
    Either,
    Choice,
}

impl Binary {
    /// How tightly it binds.
    fn precedence(self) -> u8 {
        match self {
            Binary::Choice => 0,
            Binary::Either => 1,
            Binary::Both => 2,
            Binary::Or => 3,
            Binary::Xor => 4,
            Binary::And => 5,
            Binary::Eq | Binary::Ne => 6,
            Binary::Lt | Binary::Gt | Binary::Le | Binary::Ge => 7,
            Binary::Shl | Binary::Shr => 8,
            Binary::Add | Binary::Sub => SUM,
            Binary::Mul | Binary::Div | Binary::Rem => SUM + 1,
        }
    }
}

/// Binding strength of `+`.
const SUM: u8 = 9;

/// A value on its way.
#[derive(Clone, Copy)]
struct Value {
    number: Number,
    is_unsigned: bool,
}

impl Parser<'_, '_> {
    /// A number, or a constant expression.
    pub(super) fn number(&mut self) -> Parsed<Number> {
        self.expression(0, 0).map(|value| value.number)
    }

    /// A number or a product: what stands behind the sign of an offset.
    pub(super) fn factor(&mut self) -> Parsed<Number> {
        self.expression(SUM + 1, 0).map(|value| value.number)
    }

    fn expression(&mut self, least: u8, depth: u32) -> Parsed<Value> {
        if depth > DEPTH {
            let span = self.token().span;
            self.error(span, &format!("constant expressions nest at most {DEPTH} deep"), None);
            return Err(Reported);
        }
        let mut left = self.unary(depth)?;
        while let Some((operator, tokens)) = self.operator().filter(|(operator, _)| operator.precedence() >= least) {
            let span = self.token().span;
            let Number::Int(a) = left.number else {
                self.error(span, "a float is a literal here, not an expression", None);
                return Err(Reported);
            };
            self.at += tokens;
            if operator == Binary::Choice {
                let (yes, no) = (self.expression(0, depth + 1)?, {
                    self.expect_mark(b':')?;
                    self.expression(0, depth + 1)?
                });
                left = if a != 0 { yes } else { no };
                continue;
            }
            let right = self.expression(operator.precedence() + 1, depth + 1)?;
            let Number::Int(b) = right.number else {
                self.error(span, "a float is a literal here, not an expression", None);
                return Err(Reported);
            };
            let shifts = matches!(operator, Binary::Shl | Binary::Shr);
            let is_unsigned = left.is_unsigned || right.is_unsigned && !shifts;
            let Some(result) = apply(operator, a, b, is_unsigned) else {
                self.error(span, "division by zero", None);
                return Err(Reported);
            };
            let is_truth =
                (1..=7).contains(&operator.precedence()) && !matches!(operator, Binary::And | Binary::Or | Binary::Xor);
            left = Value { number: Number::Int(result), is_unsigned: is_unsigned && !is_truth };
        }
        Ok(left)
    }

    fn unary(&mut self, depth: u32) -> Parsed<Value> {
        if depth > DEPTH {
            return self.expression(0, depth);
        }
        let token = self.token();
        let Kind::Mark(mark) = token.kind else { return self.literal() };
        match mark {
            b'+' => {
                self.at += 1;
                self.unary(depth + 1)
            }
            b'-' => {
                self.at += 1;
                let value = self.unary(depth + 1)?;
                let number = match value.number {
                    Number::Int(bits) => Number::Int(bits.wrapping_neg()),
                    Number::Single(bits) => Number::Single(bits ^ 1 << 31),
                    Number::Double(bits) => Number::Double(bits ^ 1 << 63),
                };
                Ok(Value { number, ..value })
            }
            b'~' | b'!' => {
                self.at += 1;
                let value = self.unary(depth + 1)?;
                let Number::Int(bits) = value.number else { return Err(self.expected("an integer")) };
                let bits = if mark == b'~' { !bits } else { u64::from(bits == 0) };
                Ok(Value { number: Number::Int(bits), ..value })
            }
            b'(' => {
                self.at += 1;
                let cast = self.text(self.token());
                if matches!(cast, ".s64" | ".u64") {
                    self.at += 1;
                    self.expect_mark(b')')?;
                    let value = self.unary(depth + 1)?;
                    return Ok(Value { is_unsigned: cast == ".u64", ..value });
                }
                let value = self.expression(0, depth + 1)?;
                self.expect_mark(b')')?;
                Ok(value)
            }
            _ => Err(self.expected("an operand")),
        }
    }

    fn literal(&mut self) -> Parsed<Value> {
        let token = self.token();
        let number = match token.kind {
            Kind::Int(value) => Number::Int(value),
            Kind::Single(bits) => Number::Single(bits),
            Kind::Double(bits) => Number::Double(bits),
            Kind::BadNumber => {
                let hint = "write 42, 0x2a, 1.5, 0f3FC00000 or 0d3FF8000000000000";
                self.error(token.span, "not a PTX number", Some(hint));
                return Err(Reported);
            }
            _ => return Err(self.expected("an operand")),
        };
        let is_unsigned = match token.kind {
            Kind::Int(value) => value > i64::MAX as u64 || self.text(token).ends_with(['u', 'U']),
            _ => false,
        };
        self.at += 1;
        Ok(Value { number, is_unsigned })
    }

    /// The binary operator that comes next, and its tokens.
    fn operator(&self) -> Option<(Binary, usize)> {
        let token = self.token();
        let follows = |mark: u8| {
            let next: Option<&Token> = self.tokens.get(self.at + 1);
            next.is_some_and(|next| next.kind == Kind::Mark(mark) && next.span.start == token.span.end)
        };
        let Kind::Mark(mark) = token.kind else {
            return (self.text(token) == "%").then_some((Binary::Rem, 1));
        };
        Some(match mark {
            b'*' => (Binary::Mul, 1),
            b'/' => (Binary::Div, 1),
            b'+' => (Binary::Add, 1),
            b'-' => (Binary::Sub, 1),
            b'<' if follows(b'<') => (Binary::Shl, 2),
            b'>' if follows(b'>') => (Binary::Shr, 2),
            b'<' if follows(b'=') => (Binary::Le, 2),
            b'>' if follows(b'=') => (Binary::Ge, 2),
            b'<' => (Binary::Lt, 1),
            b'>' => (Binary::Gt, 1),
            b'=' if follows(b'=') => (Binary::Eq, 2),
            b'!' if follows(b'=') => (Binary::Ne, 2),
            b'&' if follows(b'&') => (Binary::Both, 2),
            b'|' if follows(b'|') => (Binary::Either, 2),
            b'&' => (Binary::And, 1),
            b'^' => (Binary::Xor, 1),
            b'|' => (Binary::Or, 1),
            b'?' => (Binary::Choice, 1),
            _ => return None,
        })
    }
}

/// The result, but for a division by zero.
fn apply(operator: Binary, a: u64, b: u64, is_unsigned: bool) -> Option<u64> {
    let (signed_a, signed_b) = (a as i64, b as i64);
    let order = if is_unsigned { a.cmp(&b) } else { signed_a.cmp(&signed_b) };
    Some(match operator {
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div | Binary::Rem if b == 0 => return None,
        Binary::Div if is_unsigned => a / b,
        Binary::Div => signed_a.wrapping_div(signed_b) as u64,
        Binary::Rem if is_unsigned => a % b,
        Binary::Rem => signed_a.wrapping_rem(signed_b) as u64,
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Shl => u32::try_from(b).ok().and_then(|by| a.checked_shl(by)).unwrap_or(0),
        Binary::Shr if is_unsigned => u32::try_from(b).ok().and_then(|by| a.checked_shr(by)).unwrap_or(0),
        Binary::Shr => (signed_a >> b.min(63)) as u64,
        Binary::Lt => u64::from(order.is_lt()),
        Binary::Gt => u64::from(order.is_gt()),
        Binary::Le => u64::from(order.is_le()),
        Binary::Ge => u64::from(order.is_ge()),
        Binary::Eq => u64::from(a == b),
        Binary::Ne => u64::from(a != b),
        Binary::And => a & b,
        Binary::Xor => a ^ b,
        Binary::Or => a | b,
        Binary::Both => u64::from(a != 0 && b != 0),
        Binary::Either | Binary::Choice => u64::from(a != 0 || b != 0),
    })
}
