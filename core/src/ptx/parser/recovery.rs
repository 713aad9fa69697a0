//! Errors, and where reading continues after one.

use alloc::format;
use alloc::string::String;

use super::{Parser, Reported, is_module_directive};
use crate::ir::Span;
use crate::ptx::lexer::Kind;
use crate::text::Diagnostic;

impl<'a> Parser<'a, '_> {
    pub(super) fn skip_line(&mut self) {
        self.at += 1;
        while self.token().kind != Kind::End && !self.token().starts_line {
            self.at += 1;
        }
    }

    pub(super) fn skip_past_semicolon(&mut self) {
        while !matches!(self.token().kind, Kind::End | Kind::Mark(b'}')) && !self.take_mark(b';') {
            self.at += 1;
        }
    }

    /// `.section name { … }`, whose braces do not nest.
    pub(super) fn skip_section(&mut self) {
        while !matches!(self.token().kind, Kind::End) && !self.take_mark(b'}') {
            self.at += 1;
        }
    }

    /// `.attribute(.managed)`, in whose parentheses may be others: `.attribute(.unified(19, 95))`.
    pub(super) fn skip_attributes(&mut self) {
        if self.text(self.token()) != ".attribute" {
            return;
        }
        self.at += 1;
        let mut open = 0_u32;
        while !matches!(self.token().kind, Kind::End | Kind::Mark(b';' | b'{')) {
            match self.token().kind {
                Kind::Mark(b'(') => open += 1,
                Kind::Mark(b')') => open = open.saturating_sub(1),
                _ if open == 0 => return,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return;
            }
        }
    }

    /// After an error in the statement that began at token `start`: past its semicolon if that stands before the
    /// end of the line on which parsing stopped, otherwise to the next line.
    pub(super) fn skip_statement(&mut self, start: usize) {
        if self.at == start {
            self.at += 1;
        }
        while !self.token().starts_line && self.token().kind != Kind::End {
            if self.take_mark(b';') || self.is_closing_brace() {
                return;
            }
            self.at += 1;
        }
    }

    /// A brace that ends a scope: one that ends a vector has `,`, `;` or `]` after it.
    pub(super) fn is_closing_brace(&self) -> bool {
        let next = self.tokens.get(self.at + 1).map(|next| next.kind);
        self.is_mark(b'}') && !matches!(next, Some(Kind::Mark(b',' | b';' | b']')))
    }

    /// After an error in the item that began at token `start`: to the next item, past the braces of this one.
    pub(super) fn skip_to_module_item(&mut self, start: usize) {
        self.remember_refused(start);
        if self.at == start {
            self.at += 1;
        }
        let mut depth = 0u32;
        while self.token().kind != Kind::End {
            match self.token().kind {
                Kind::Mark(b'{') => depth += 1,
                Kind::Mark(b'}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            let begins_function = matches!(self.text(self.token()), ".visible" | ".weak" | ".entry" | ".func");
            if self.begins_module_item() && (depth == 0 || begins_function) {
                return;
            }
            self.at += 1;
        }
    }

    pub(super) fn begins_module_item(&self) -> bool {
        let token = self.token();
        token.starts_line && is_module_directive(self.text(token))
    }

    /// Remembers the name in the declaration or header that began at token `start` and has an error: its uses are no
    /// further errors.
    pub(super) fn remember_refused(&mut self, start: usize) {
        let declaration = self.tokens[start..]
            .iter()
            .take_while(|token| !matches!(token.kind, Kind::Mark(b';' | b'{' | b'}' | b'=')));
        let mut open = 0u32;
        let name = declaration.enumerate().find(|(index, token)| {
            match token.kind {
                Kind::Mark(b'(') => open += 1,
                Kind::Mark(b')') => open = open.saturating_sub(1),
                _ => {}
            }
            open == 0 && *index > 0 && token.kind == Kind::Word
        });
        if let Some((_, &name)) = name.filter(|_| self.tokens[start].kind == Kind::Dotted) {
            self.refused.push(self.text(name));
        }
    }

    pub(in crate::ptx) fn expected(&mut self, what: &str) -> Reported {
        let token = self.token();
        let found = match token.kind {
            Kind::End => String::from("the end of the file"),
            _ => format!("`{}`", self.text(token).chars().take(40).collect::<String>()),
        };
        self.error(token.span, &format!("expected {what}, found {found}"), None);
        Reported
    }

    pub(in crate::ptx) fn error(&mut self, span: Span, message: &str, hint: Option<&str>) {
        let diagnostic = Diagnostic::error("ptx-syntax", span, message);
        self.diagnostics.push(match hint {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic,
        });
    }
}
