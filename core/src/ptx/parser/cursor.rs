//! Reading of single tokens.

use alloc::format;
use alloc::string::String;
use core::ops::Range;

use super::{Parsed, Parser, Reported};
use crate::ir::Span;
use crate::ptx::lexer::{Kind, Token};
use crate::ptx::syntax::Name;

impl<'a> Parser<'a, '_> {
    pub(in crate::ptx) fn token(&self) -> Token {
        // The last token is `End` and is never passed.
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(super) fn previous(&self) -> Token {
        self.tokens[self.at.saturating_sub(1).min(self.tokens.len() - 1)]
    }

    pub(in crate::ptx) fn text(&self, token: Token) -> &'a str {
        &self.source[token.span.start as usize..token.span.end as usize]
    }

    /// The text of several tokens, with one space where white space or a comment separates two.
    pub(super) fn text_of(&self, tokens: Range<usize>) -> String {
        let mut text = String::new();
        let mut end = None;
        for token in &self.tokens[tokens.start..tokens.end.min(self.tokens.len())] {
            if end.is_some_and(|end| end < token.span.start) {
                text.push(' ');
            }
            text.push_str(self.text(*token));
            end = Some(token.span.end);
        }
        text
    }

    pub(super) fn take_text(&mut self) -> &'a str {
        let text = self.text(self.token());
        self.at += 1;
        text
    }

    pub(in crate::ptx) fn is_mark(&self, mark: u8) -> bool {
        self.token().kind == Kind::Mark(mark)
    }

    pub(in crate::ptx) fn take_mark(&mut self, mark: u8) -> bool {
        let is = self.is_mark(mark);
        self.at += usize::from(is);
        is
    }

    pub(in crate::ptx) fn expect_mark(&mut self, mark: u8) -> Parsed<()> {
        match self.take_mark(mark) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{}`", mark as char))),
        }
    }

    pub(super) fn word(&mut self, what: &str) -> Parsed<Name<'a>> {
        let token = self.token();
        match token.kind {
            Kind::Word => {
                self.at += 1;
                Ok(Name { text: self.text(token), span: token.span })
            }
            _ => Err(self.expected(what)),
        }
    }

    pub(super) fn int(&mut self, what: &str) -> Parsed<u64> {
        match self.token().kind {
            Kind::Int(value) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.expected(what)),
        }
    }

    pub(super) fn ends_statement(&self) -> bool {
        matches!(self.token().kind, Kind::Mark(b';' | b'}') | Kind::End)
    }

    /// The semicolon. Where it is missing at the end of a line the statement still counts as whole, so that the
    /// next line is read as what it is.
    pub(super) fn end_statement(&mut self) -> Parsed<()> {
        if self.take_mark(b';') {
            return Ok(());
        }
        let token = self.token();
        if token.starts_line || token.kind == Kind::End {
            let end = self.previous().span.end;
            self.error(Span { start: end.saturating_sub(1), end }, "expected `;` at the end of the statement", None);
            return Err(Reported);
        }
        Err(self.expected("`;` or `,`"))
    }
}
