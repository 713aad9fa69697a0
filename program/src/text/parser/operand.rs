//! Operands and addresses.
//!
//! An operand is read first as what it looks like, and understood when the opcode says what belongs in its place: the
//! bits of a number depend on that, and whether a name may be an input.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use smallvec::SmallVec;

use crate::ir::{Address, AddressBase, ArgKind, Input, Operand, Span, Special, Symbol, Type};
use crate::text::diagnostic::{Diagnostic, quoted};
use crate::text::lexer::TokenKind;
use crate::text::limits::{MAX_ADDRESS_TERMS, MAX_OPERANDS};
use crate::text::number::Literal;
use crate::text::suggestion::nearest;

use super::body::{Body, Name};
use super::{Parser, Reported, Result};

/// An operand as it stands in the text.
pub(super) struct RawOperand<'a> {
    pub span: Span,
    pub kind: RawKind<'a>,
}

pub(super) enum RawKind<'a> {
    Name(&'a str),
    /// `!name`
    Not(&'a str),
    Number(Literal<'a>, bool),
    Special(Special),
    Address(Address),
    List(Vec<RawOperand<'a>>),
}

/// The parts of `[…]` before they are put together; scales and offsets as written.
struct AffineSum<'a> {
    /// A name without a factor, its scale +1 or −1 by its sign, or a name with a factor.
    terms: SmallVec<[AffineTerm<'a>; 4]>,
    offset: i128,
}

struct AffineTerm<'a> {
    name: &'a str,
    span: Span,
    scale: i128,
    has_factor: bool,
}

impl<'a> Parser<'a> {
    /// Operands up to the end of the statement or a closing punctuation mark, which is left. `element` is the size of
    /// an element of the access in bytes.
    pub(super) fn raw_operands(&mut self, body: &mut Body<'a>, element: u32) -> Result<SmallVec<[RawOperand<'a>; 4]>> {
        let mut operands = SmallVec::new();
        if self.ends_operands() {
            return Ok(operands);
        }
        loop {
            operands.push(self.raw_operand(body, element, true)?);
            if operands.len() > MAX_OPERANDS {
                let span = self.peek().span;
                return Err(self.error(
                    "too-many",
                    span,
                    format!("an instruction has at most {MAX_OPERANDS} operands"),
                ));
            }
            if !self.eat_punct(b',') {
                return Ok(operands);
            }
        }
    }

    fn ends_operands(&self) -> bool {
        matches!(self.peek().kind, TokenKind::LineEnd | TokenKind::End | TokenKind::Punct(b'}' | b')'))
    }

    /// One operand, a brace list only where `lists` are allowed.
    pub(super) fn raw_operand(&mut self, body: &mut Body<'a>, element: u32, lists: bool) -> Result<RawOperand<'a>> {
        let first = self.at;
        let token = self.peek();
        let kind = match token.kind {
            TokenKind::Name if self.is_punct(1, b'[') => RawKind::Address(self.element_address(body, element)?),
            // `inf` and `nan` are numbers unless the function has a register of that name.
            TokenKind::Name if !self.is_number(0) || body.names.contains_key(self.text(token)) => {
                RawKind::Name(self.expect_name("an operand")?.0)
            }
            TokenKind::Punct(b'!') => {
                self.advance();
                RawKind::Not(self.expect_name("a predicate register")?.0)
            }
            TokenKind::Special => {
                self.advance();
                RawKind::Special(self.special(token.span)?)
            }
            TokenKind::Punct(b'[') => RawKind::Address(self.byte_address(body)?),
            TokenKind::Punct(b'{') if lists => {
                self.advance();
                let mut elements = Vec::new();
                while !self.eat_punct(b'}') {
                    elements.push(self.raw_operand(body, element, false)?);
                    if elements.len() > MAX_OPERANDS {
                        let span = self.span_from(first);
                        return Err(self.error("too-many", span, "a brace list has at most four elements"));
                    }
                    if !self.eat_punct(b',') && !self.is_punct(0, b'}') {
                        return Err(self.expected("`,` or `}`"));
                    }
                }
                RawKind::List(elements)
            }
            _ if self.is_number(0) => {
                let (literal, negative, _) = self.expect_literal()?;
                RawKind::Number(literal, negative)
            }
            TokenKind::Word => {
                let text = self.text(token);
                let message = format!("expected an operand, found {}", quoted(text));
                let meant = special_elsewhere(text);
                return Err(
                    self.report(Diagnostic::error("syntax", token.span, message).with_suggestion(token.span, meant))
                );
            }
            _ => return Err(self.expected("an operand")),
        };
        Ok(RawOperand { span: self.span_from(first), kind })
    }

    fn special(&mut self, span: Span) -> Result<Special> {
        let text = self.span_text(span);
        if let Some(special) = Special::from_name(&text[1..]) {
            return Ok(special);
        }
        let diagnostic =
            Diagnostic::error("unknown-special", span, format!("unknown special register {}", quoted(text)));
        let names: Vec<String> = Special::ALL.iter().map(|special| format!("{special}")).collect();
        let meant = nearest(text, names.iter().map(String::as_str));
        Err(self.report(diagnostic.with_suggestion(span, meant)))
    }

    // --- addresses
    // -----------------------------------------------------------------------------------------------------

    /// `x[2*i - 1]`: indices count elements.
    fn element_address(&mut self, body: &mut Body<'a>, element: u32) -> Result<Address> {
        let (name, span) = self.expect_name("an address")?;
        let base = self.address_base(body, name, span)?;
        let first = self.at;
        let sum = self.affine_sum()?;
        let span = self.span_from(first);
        self.address(body, base, sum.terms, sum.offset, i128::from(element), span)
    }

    /// `[r + 4*i + 16]`: everything counts bytes, and the first name without a factor is the base.
    fn byte_address(&mut self, body: &mut Body<'a>) -> Result<Address> {
        let first = self.at;
        let mut sum = self.affine_sum()?;
        let span = self.span_from(first);
        let base = match sum.terms.iter().position(|term| !term.has_factor && term.scale == 1) {
            Some(index) => {
                let term = sum.terms.remove(index);
                self.address_base(body, term.name, term.span)?
            }
            None => AddressBase::Absolute,
        };
        self.address(body, base, sum.terms, sum.offset, 1, span)
    }

    fn address_base(&mut self, body: &mut Body<'a>, name: &'a str, span: Span) -> Result<AddressBase> {
        match self.value_named(body, name, span)? {
            Operand::Reg(reg) => Ok(AddressBase::Reg(reg)),
            Operand::Symbol(symbol) => Ok(AddressBase::Symbol(symbol)),
            _ => Err(self.error("wrong-operand", span, format!("{} has no address", quoted(name)))),
        }
    }

    /// `[` a sum of names, numbers and products of both `]`.
    fn affine_sum(&mut self) -> Result<AffineSum<'a>> {
        self.expect_punct(b'[', "`[`")?;
        let mut sum = AffineSum { terms: SmallVec::new(), offset: 0 };
        let mut negative = self.eat_punct(b'-');
        loop {
            let sign = if negative { -1 } else { 1 };
            if self.is_name(0) {
                let (name, span) = self.expect_name("an index")?;
                let (scale, has_factor) = if self.eat_punct(b'*') { (self.index_number()?, true) } else { (1, false) };
                sum.terms.push(AffineTerm { name, span, scale: sign * scale, has_factor });
            } else {
                let number = self.index_number()?;
                if self.eat_punct(b'*') {
                    let (name, span) = self.expect_name("an index register")?;
                    sum.terms.push(AffineTerm { name, span, scale: sign * number, has_factor: true });
                } else {
                    // Each is below 2^64 and there are fewer than 2^32: no overflow.
                    sum.offset += sign * number;
                }
            }
            if sum.terms.len() > MAX_ADDRESS_TERMS {
                let span = self.peek().span;
                let message = format!("an address has at most {MAX_ADDRESS_TERMS} index registers");
                return Err(self.error("too-many", span, message));
            }
            if self.eat_punct(b']') {
                return Ok(sum);
            }
            negative = self.is_punct(0, b'-');
            if !negative && !self.is_punct(0, b'+') {
                return Err(self.expected("`+`, `-` or `]`"));
            }
            self.advance();
        }
    }

    fn index_number(&mut self) -> Result<i128> {
        if self.peek().kind != TokenKind::Number {
            return Err(self.expected("a register or an integer"));
        }
        let (literal, _, span) = self.expect_literal()?;
        match literal {
            Literal::Int { value, .. } => Ok(i128::from(value)),
            _ => Err(self.error("bad-number", span, "an address is made of integers")),
        }
    }

    fn address(
        &mut self,
        body: &mut Body<'a>,
        base: AddressBase,
        terms: SmallVec<[AffineTerm<'a>; 4]>,
        offset: i128,
        unit: i128,
        span: Span,
    ) -> Result<Address> {
        let mut address = Address { base, terms: SmallVec::new(), offset: self.address_part(offset * unit, span)? };
        for term in terms {
            let scale = self.address_part(term.scale * unit, term.span)?;
            match self.value_named(body, term.name, term.span)? {
                Operand::Reg(reg) => address.terms.push((reg, scale)),
                _ => {
                    let message = format!("an index is a register; {} is not one", quoted(term.name));
                    return Err(self.error("wrong-operand", term.span, message));
                }
            }
        }
        Ok(address)
    }

    fn address_part(&mut self, bytes: i128, span: Span) -> Result<i64> {
        i64::try_from(bytes)
            .map_err(|_| self.error("constant-range", span, "an offset or scale does not fit 64 bits, in bytes"))
    }

    // --- understanding
    // -------------------------------------------------------------------------------------------------

    /// The operand in a place of that kind.
    pub(super) fn operand(&mut self, body: &mut Body<'a>, raw: RawOperand<'a>, kind: ArgKind) -> Result<Operand> {
        let span = raw.span;
        match (raw.kind, kind) {
            (RawKind::Name(name), ArgKind::Input) => self.input_named(body, name, span).map(Operand::Input),
            (RawKind::Name(name), ArgKind::Address) => {
                let message = format!("expected an address, found {}", quoted(name));
                Err(self.report(
                    Diagnostic::error("wrong-operand", span, message)
                        .with_hint(format!("the element that {name} points to is written `{name}[0]`")),
                ))
            }
            (RawKind::Name(name), _) => self.value_named(body, name, span),
            (RawKind::Not(name), ArgKind::Predicate) => match self.value_named(body, name, span)? {
                Operand::Reg(reg) => Ok(Operand::NotReg(reg)),
                _ => Err(self.wrong_operand(span, "a predicate register")),
            },
            (RawKind::Number(literal, negative), ArgKind::Value(ty) | ArgKind::LowBits(ty) | ArgKind::Any(ty)) => {
                self.constant(literal, negative, ty, span)
            }
            (RawKind::Number(literal, negative), ArgKind::Cycles) => self.constant(literal, negative, Type::U32, span),
            (RawKind::Special(special), ArgKind::Value(_) | ArgKind::LowBits(_) | ArgKind::Any(_)) => {
                Ok(Operand::Special(special))
            }
            (RawKind::Special(special), ArgKind::Special) => Ok(Operand::Special(special)),
            (RawKind::Address(address), ArgKind::Address) => Ok(Operand::Address(Box::new(address))),
            (RawKind::List(raw), ArgKind::Elements(ty, count)) => {
                if raw.len() != usize::from(count) {
                    let message = format!("expected {count} elements in braces, found {}", raw.len());
                    return Err(self.error("operand-count", span, message));
                }
                let elements: Result<Vec<Operand>> =
                    raw.into_iter().map(|element| self.operand(body, element, ArgKind::LowBits(ty))).collect();
                Ok(Operand::List(Box::new(elements?.into())))
            }
            (_, kind) => Err(self.wrong_operand(span, &describe_kind(kind))),
        }
    }

    fn wrong_operand(&mut self, span: Span, expected: &str) -> Reported {
        let found = quoted(self.span_text(span));
        self.error("wrong-operand", span, format!("expected {expected}, found {found}"))
    }

    fn constant(&mut self, literal: Literal<'a>, negative: bool, ty: Type, span: Span) -> Result<Operand> {
        literal.bits(negative, ty).map(Operand::Const).map_err(|why| self.error("constant-range", span, why))
    }

    /// The register or piece of memory of a name.
    pub(super) fn value_named(&mut self, body: &mut Body<'a>, name: &'a str, span: Span) -> Result<Operand> {
        match body.names.get(name) {
            Some(&Name::Reg(reg)) => return Ok(Operand::Reg(reg)),
            Some(&Name::Array(array)) => return Ok(Operand::Symbol(Symbol::Array(array))),
            Some(&Name::ParamArray(index)) => return Ok(Operand::Symbol(Symbol::Param(index))),
            Some(&Name::Input(_)) => {
                let message = format!("{} is an input; its next value is drawn by `r = in.T {name}`", quoted(name));
                return Err(self.error("wrong-operand", span, message));
            }
            None => {}
        }
        if let Some(&global) = self.global_names.get(name) {
            body.func.reserve_reg_name(name);
            return Ok(Operand::Symbol(Symbol::Global(global)));
        }
        // Once for each name: a register that is never assigned is usually read more than once.
        if self.refused_globals.contains(&name) || !body.unknown.insert(name) {
            return Err(Reported);
        }
        Err(self.unknown_name(body, name, span, "register"))
    }

    fn input_named(&mut self, body: &Body<'a>, name: &str, span: Span) -> Result<Input> {
        if let Some(&Name::Input(input)) = body.names.get(name) {
            return Ok(input);
        }
        if body.unknown.contains(name) {
            return Err(Reported);
        }
        let meant = nearest(name, body.func.inputs.values().map(|input| input.name.as_str()));
        let diagnostic = Diagnostic::error("unknown-name", span, format!("unknown input {}", quoted(name)));
        let hint = format!("an input is declared before the first block: `input {name}: f32`");
        Err(self.report(diagnostic.with_hint(hint).with_suggestion(span, meant)))
    }
}

/// The special register that is meant by its name without `%`, or by its name in CUDA.
fn special_elsewhere(text: &str) -> Option<String> {
    let (name, axis) = text.split_once('.').unwrap_or((text, "x"));
    let name = match name {
        "threadIdx" => "tid",
        "blockIdx" => "ctaid",
        "blockDim" => "ntid",
        "gridDim" => "nctaid",
        name => name,
    };
    Special::from_name(&format!("{name}.{axis}")).map(|special| format!("{special}"))
}

/// Describes the operand that a position takes.
pub fn describe_kind(kind: ArgKind) -> String {
    match kind {
        ArgKind::Value(ty) | ArgKind::LowBits(ty) | ArgKind::Any(ty) => format!("a value of type {ty}"),
        ArgKind::Predicate => String::from("a predicate register"),
        ArgKind::Address => String::from("an address such as `x[i]` or `[r + 16]`"),
        ArgKind::Elements(ty, count) => format!("{count} values of type {ty} in braces"),
        ArgKind::Texture => String::from("a `tex2d` parameter or a `texref`"),
        ArgKind::Input => String::from("the name of an input"),
        ArgKind::Special => String::from("a special register such as `%clock`"),
        ArgKind::Kept => String::from("a register or an array"),
        ArgKind::Cycles => String::from("a constant number of cycles"),
    }
}
