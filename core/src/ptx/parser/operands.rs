//! Instructions and their operands.

use alloc::vec::Vec;

use super::{Parsed, Parser};
use crate::ptx::lexer::{Kind, join};
use crate::ptx::syntax::*;

impl<'a> Parser<'a, '_> {
    pub(super) fn inst(&mut self) -> Parsed<Inst<'a>> {
        let first = self.token().span;
        let guard = if self.take_mark(b'@') {
            let negated = self.take_mark(b'!');
            Some(Guard { negated, register: self.word("a predicate register")? })
        } else {
            None
        };
        let opcode = self.word("an opcode")?;
        let mut modifiers = Vec::new();
        while self.token().kind == Kind::Dotted && !self.token().starts_line {
            modifiers.push(&self.take_text()[1..]);
        }
        let mut operands = Vec::new();
        if opcode.text == "bra" {
            // A label may be a number, which is no operand anywhere else.
            let label = self.label()?;
            operands.push(Operand { kind: OperandKind::Name(label.text), span: label.span });
        } else if !self.ends_statement() {
            loop {
                operands.push(self.operand(opcode.text == "call")?);
                // `call (results), f, (arguments)`: nvcc always writes the commas.
                if !self.take_mark(b',') {
                    break;
                }
            }
        }
        let span = join(first, self.previous().span);
        self.end_statement()?;
        Ok(Inst { span, guard, opcode, modifiers, operands })
    }

    /// An operand; parentheses hold a list in a call, and a constant elsewhere.
    pub(super) fn operand(&mut self, in_call: bool) -> Parsed<Operand<'a>> {
        let first = self.token();
        let kind = match first.kind {
            Kind::Mark(b'{') => OperandKind::Vector(self.operands_until(b'{', b'}')?),
            Kind::Mark(b'(') if in_call => OperandKind::List(self.operands_until(b'(', b')')?),
            Kind::Mark(b'[') => self.address()?,
            Kind::Mark(b'!') if self.tokens.get(self.at + 1).is_some_and(|next| next.kind == Kind::Word) => {
                self.at += 1;
                OperandKind::Not(self.register()?)
            }
            _ => self.simple_operand()?,
        };
        Ok(Operand { kind, span: join(first.span, self.previous().span) })
    }

    pub(super) fn operands_until(&mut self, open: u8, close: u8) -> Parsed<Vec<Operand<'a>>> {
        self.expect_mark(open)?;
        let mut operands = Vec::new();
        while !self.is_mark(close) {
            let first = self.token();
            let kind = self.simple_operand()?;
            operands.push(Operand { kind, span: join(first.span, self.previous().span) });
            if !self.take_mark(b',') {
                break;
            }
        }
        self.expect_mark(close)?;
        Ok(operands)
    }

    /// A name, a pair, a name with an offset, or a number: what may stand inside braces.
    pub(super) fn simple_operand(&mut self) -> Parsed<OperandKind<'a>> {
        if self.token().kind != Kind::Word {
            return Ok(OperandKind::Number(self.number()?));
        }
        let name = self.register()?;
        Ok(match self.token().kind {
            Kind::Mark(b'|') => {
                self.at += 1;
                OperandKind::Pair(name, self.register()?)
            }
            Kind::Mark(b'+' | b'-') => OperandKind::Offset(name, self.offset()?),
            _ => OperandKind::Name(name),
        })
    }

    /// A word with its component, `%tid.x`, or with the bytes that are meant of it, `r1.b0`.
    pub(super) fn register(&mut self) -> Parsed<&'a str> {
        let name = self.word("an operand")?;
        let next = self.token();
        let touches = next.span.start == name.span.end;
        let selects = matches!(self.text(next), ".b0" | ".b1" | ".b2" | ".b3" | ".h0" | ".h1");
        if next.kind == Kind::Dotted && touches && (name.text.starts_with('%') || selects) {
            self.at += 1;
            return Ok(&self.source[name.span.start as usize..next.span.end as usize]);
        }
        Ok(name.text)
    }

    pub(super) fn address(&mut self) -> Parsed<OperandKind<'a>> {
        self.expect_mark(b'[')?;
        if self.token().kind != Kind::Word {
            let Number::Int(offset) = self.number()? else { return Err(self.expected("an integer address")) };
            self.expect_mark(b']')?;
            return Ok(OperandKind::Address(None, offset as i64));
        }
        let base = self.register()?;
        if self.take_mark(b',') {
            let mut coordinates = self.coordinates()?;
            let mut sampler = None;
            if self.take_mark(b',') {
                match coordinates[..] {
                    [Operand { kind: OperandKind::Name(name), .. }] => sampler = Some(name),
                    _ => return Err(self.expected("`]`")),
                }
                coordinates = self.coordinates()?;
            }
            self.expect_mark(b']')?;
            return Ok(OperandKind::Texture(base, sampler, coordinates));
        }
        let offset = self.offset()?;
        self.expect_mark(b']')?;
        Ok(OperandKind::Address(Some(base), offset))
    }

    /// `{x, y}`, or one coordinate without braces.
    pub(super) fn coordinates(&mut self) -> Parsed<Vec<Operand<'a>>> {
        match self.token().kind {
            Kind::Mark(b'{') => self.operands_until(b'{', b'}'),
            _ => {
                let first = self.token();
                let kind = self.simple_operand()?;
                Ok(Vec::from([Operand { kind, span: join(first.span, self.previous().span) }]))
            }
        }
    }

    /// Zero or more `+4`, `-4`, `+-4`.
    pub(super) fn offset(&mut self) -> Parsed<i64> {
        let mut sum = 0i64;
        while let Kind::Mark(sign @ (b'+' | b'-')) = self.token().kind {
            self.at += 1;
            let Number::Int(value) = self.factor()? else { return Err(self.expected("an offset in bytes")) };
            let value = value as i64;
            sum = sum.wrapping_add(if sign == b'-' { value.wrapping_neg() } else { value });
        }
        Ok(sum)
    }
}
