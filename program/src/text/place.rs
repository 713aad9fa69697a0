//! Place of a part of an instruction in its text: found again on request, because requests are rare.
//!
//! Linear in the instruction's text.

use alloc::vec::Vec;

use crate::ir::{InstData, Span};

use super::lexer::{Token, TokenKind, tokenize};

/// A part of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All of it.
    Whole,
    /// The opcode.
    Opcode,
    /// The guard.
    Guard,
    /// A destination, from 0.
    Destination(usize),
    /// An operand, from 0.
    Operand(usize),
    /// A target, from 0.
    Target(usize),
}

/// The place of a part of an instruction that `source` has at `span`; `span` itself where it cannot be told.
pub fn part_span(source: &str, span: Span, inst: &InstData, part: Part) -> Span {
    let text = source.get(span.start as usize..span.end as usize).unwrap_or("");
    match find(&tokenize(text).tokens, text, inst, part) {
        Some(found) => Span { start: span.start + found.start, end: span.start + found.end },
        None => span,
    }
}

fn find(tokens: &[Token], text: &str, inst: &InstData, part: Part) -> Option<Span> {
    let is = |at: usize, punct: u8| tokens.get(at).is_some_and(|token| token.kind == TokenKind::Punct(punct));
    let mut at = 0;
    if is(0, b'@') {
        at = if is(1, b'!') { 3 } else { 2 };
        if part == Part::Guard {
            return pieces(&tokens[..at], at).first().copied();
        }
    }
    let equals = tokens.iter().position(|token| token.kind == TokenKind::Punct(b'='));
    if let Some(equals) = equals {
        if let Part::Destination(index) = part {
            let (first, last) = if is(at, b'{') { (at + 1, equals - 1) } else { (at, equals) };
            return pieces(tokens.get(first..last)?, usize::MAX).get(index).copied();
        }
        at = equals + 1;
    }
    let opcode = tokens.get(at)?.span;
    let mut rest = tokens.get(at + 1..)?;
    if part == Part::Opcode {
        return Some(opcode);
    }
    if inst.template().is_some() {
        // The template and its comma.
        rest = rest.get(2.min(rest.len())..)?;
    }
    let mut operands = inst.args.len();
    if inst.opcode.op.is_call() {
        let open = rest.iter().position(|token| token.kind == TokenKind::Punct(b'('))?;
        let close = rest.iter().position(|token| token.kind == TokenKind::Punct(b')'))?;
        if let Part::Target(_) = part {
            let to = close + 1;
            (rest.get(to).map(|token| &text[token.span.start as usize..token.span.end as usize]) == Some("to"))
                .then_some(())?;
            rest = rest.get(to + 1..)?;
            operands = 0;
        } else {
            rest = rest.get(open + 1..close)?;
        }
    }
    let index = match part {
        Part::Operand(index) => index,
        Part::Target(index) => operands + index,
        _ => return None,
    };
    pieces(rest, usize::MAX).get(index).copied()
}

/// Pieces between commas outside brackets; no more than `most` tokens are read.
fn pieces(tokens: &[Token], most: usize) -> Vec<Span> {
    let mut pieces: Vec<Span> = Vec::new();
    let (mut depth, mut fresh) = (0usize, true);
    for token in tokens.iter().take(most) {
        match token.kind {
            TokenKind::LineEnd | TokenKind::End => break,
            TokenKind::Punct(b'{' | b'[') => depth += 1,
            TokenKind::Punct(b'}' | b']') => depth = depth.saturating_sub(1),
            TokenKind::Punct(b',') if depth == 0 => {
                fresh = true;
                continue;
            }
            _ => {}
        }
        match pieces.last_mut() {
            Some(piece) if !fresh => piece.end = token.span.end,
            _ => pieces.push(token.span),
        }
        fresh = false;
    }
    pieces
}
