//! Declared profiles: paths, edges, zero probabilities and how warps branch.

use alloc::format;
use alloc::rc::Rc;
use alloc::vec::Vec;

use smallvec::smallvec;

use crate::ir::{Block, CommentAnchor, Op, Profile, Span, WarpEntry, Write, ZeroEntry, ZeroWrite};
use crate::text::diagnostic::{Diagnostic, quoted};
use crate::text::lexer::TokenKind;
use crate::text::number::Literal;
use crate::text::suggestion::nearest;

use super::body::{Body, Name};
use super::{Parser, Result};

/// 2^64.
const TOO_MANY: f64 = 18_446_744_073_709_551_616.0;

impl<'a> Parser<'a> {
    /// `profile path { … }` and its kin. Entries may share a line; a bad one costs its line.
    pub(super) fn profile(&mut self, body: &mut Body<'a>) -> Result<()> {
        let first = self.at;
        self.advance();
        let (kind, span) = self.expect_name("`path`, `edge`, `zero` or `warp`")?;
        let mut profile = match kind {
            "path" => Profile::Path(Vec::new()),
            "edge" => Profile::Edge(Vec::new()),
            "zero" => Profile::Zero(Rc::default()),
            "warp" => Profile::Warp(Vec::new()),
            _ => {
                let meant = nearest(kind, ["path", "edge", "zero", "warp"]);
                let message = format!("a profile is one of `path`, `edge`, `zero` and `warp`, not {}", quoted(kind));
                let error = self.report(Diagnostic::error("syntax", span, message).with_suggestion(span, meant));
                self.skip_braces();
                return Err(error);
            }
        };
        self.expect_punct(b'{', "`{`")?;
        let number = body.func.profiles.len() as u32;
        self.take_comments(first, &mut body.func.comments, CommentAnchor::Profile(number, 0));
        let mut line = 0;
        loop {
            self.skip_line_ends();
            let first = self.at;
            if self.eat_punct(b'}') {
                line += 1;
                break;
            }
            if self.peek().kind == TokenKind::End {
                return Err(self.expected("`}` at the end of the profile"));
            }
            let entry = match &mut profile {
                Profile::Path(paths) => self.path_entry(body).map(|entry| paths.push(entry)),
                Profile::Edge(edges) => self.edge_entry(body).map(|entry| edges.push(entry)),
                Profile::Zero(zeros) => self.zero_entry(body).map(|entry| Rc::make_mut(zeros).push(entry)),
                Profile::Warp(entries) => self.warp_entry(body).map(|entry| entries.push(entry)),
            };
            if entry.is_err() {
                self.skip_statement(first);
                continue;
            }
            line += 1;
            self.take_comments(first, &mut body.func.comments, CommentAnchor::Profile(number, line));
        }
        self.take_comments(self.at - 1, &mut body.func.comments, CommentAnchor::Profile(number, line));
        body.func.profiles.push(profile);
        self.expect_statement_end()
    }

    /// Past the closing brace of a profile of an unknown kind.
    fn skip_braces(&mut self) {
        while !matches!(self.peek().kind, TokenKind::Punct(b'}') | TokenKind::End) {
            self.at += 1;
        }
        self.eat_punct(b'}');
    }

    /// `entry body done: 40`
    fn path_entry(&mut self, body: &Body<'a>) -> Result<(Vec<Block>, u64)> {
        let mut path = Vec::new();
        while !self.is_punct(0, b':') {
            path.push(self.expect_block(body)?);
        }
        if path.is_empty() {
            return Err(self.expected("the name of a block"));
        }
        self.advance();
        Ok((path, self.expect_executions()?))
    }

    /// `entry -> body: 40`
    fn edge_entry(&mut self, body: &Body<'a>) -> Result<(Block, Block, u64)> {
        let from = self.expect_block(body)?;
        if self.peek().kind != TokenKind::Arrow {
            return Err(self.expected("`->`"));
        }
        self.advance();
        let to = self.expect_block(body)?;
        self.expect_punct(b':', "`:` and how often")?;
        Ok((from, to, self.expect_executions()?))
    }

    /// `entry: 40`, `entry: 40 diverged 12` or `entry -> body: 40`
    fn warp_entry(&mut self, body: &Body<'a>) -> Result<WarpEntry> {
        let from = self.expect_block(body)?;
        if self.peek().kind == TokenKind::Arrow {
            self.advance();
            let to = self.expect_block(body)?;
            self.expect_punct(b':', "`:` and how often")?;
            return Ok(WarpEntry::Edge { from, to, executions: self.expect_executions()? });
        }
        self.expect_punct(b':', "`->`, or `:` and how often")?;
        let executions = self.expect_executions()?;
        // The next entry may be of a block of this name.
        let is_next = self.is_punct(1, b':') || self.peek_at(1).kind == TokenKind::Arrow;
        let is_told = self.name_at(0) == "diverged" && !is_next;
        let diverged = if is_told {
            self.advance();
            Some(self.expect_executions()?)
        } else {
            None
        };
        Ok(WarpEntry::Block { block: from, executions, diverged })
    }

    /// A whole number, also one that is written as a float (`40.0`, `1e6`): tools print counts like that.
    fn expect_executions(&mut self) -> Result<u64> {
        let what = "a number of executions";
        if self.peek().kind != TokenKind::Number {
            return Err(self.expected(what));
        }
        let (literal, _, span) = self.expect_literal()?;
        if let Literal::Int { value, .. } = literal {
            return Ok(value);
        }
        let number = literal.number(false).to_f64();
        if number == libm::floor(number) && number < TOO_MANY {
            return Ok(number as u64);
        }
        let error = Diagnostic::error("bad-number", span, format!("{what} is an integer below 2^64"));
        Err(self.report(error.with_hint("where shares are known, multiply all of them by one power of ten")))
    }

    /// `body.r#1: 0.25`, or of several writes together `body.r#1 & body.s: 0.125`
    fn zero_entry(&mut self, body: &Body<'a>) -> Result<ZeroEntry> {
        let mut writes = smallvec![ZeroWrite::Named(self.named_write(body)?)];
        while self.eat_punct(b'&') {
            writes.push(ZeroWrite::Named(self.named_write(body)?));
        }
        self.expect_punct(b':', "`:` and a probability")?;
        Ok(ZeroEntry { writes, probability: self.expect_probability()? })
    }

    /// `body.r#1`
    fn named_write(&mut self, body: &Body<'a>) -> Result<Write> {
        let token = self.peek();
        let (block_name, reg_name) = match (token.kind, self.text(token).split_once('.')) {
            (TokenKind::Word, Some((block, reg))) if !reg.contains(['.', ':']) => (block, reg),
            _ => return Err(self.expected("`block.register`")),
        };
        self.advance();
        let middle = token.span.start + block_name.len() as u32;
        let block = self.block_named(body, block_name, Span { end: middle, ..token.span })?;
        let reg_span = Span { start: middle + 1, ..token.span };
        let reg = match body.names.get(reg_name) {
            Some(&Name::Reg(reg)) => reg,
            _ => return Err(self.unknown_name(body, reg_name, reg_span, "register")),
        };
        let occurrence =
            if self.eat_punct(b'#') { self.expect_count("the number of a write", 1 << 24)? as u32 } else { 0 };
        Ok(Write { block, reg, occurrence })
    }

    /// Reports a name that nothing defines.
    pub(super) fn unknown_name(&mut self, body: &Body<'a>, name: &str, span: Span, what: &str) -> super::Reported {
        let mut diagnostic = Diagnostic::error("unknown-name", span, format!("unknown {what} {}", quoted(name)));
        if !self.diagnostics.is_full() {
            let regs = body.func.regs.values().map(|reg| reg.name.as_str());
            let arrays = body.func.arrays.values().map(|array| array.name.as_str());
            let globals = self.module.globals.values().map(|global| global.name.as_str());
            let params = body.func.params.iter().map(|param| param.name.as_str());
            let meant = nearest(name, regs.chain(arrays).chain(params).chain(globals));
            if meant.is_none() && Op::ALL.iter().any(|op| op.name() == name) {
                diagnostic = diagnostic.with_hint("an opcode comes first in its line, or after `=`");
            }
            diagnostic = diagnostic.with_suggestion(span, meant);
        }
        self.report(diagnostic)
    }
}
