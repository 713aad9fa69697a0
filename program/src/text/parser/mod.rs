//! `.wir` text to a module.
//!
//! Two passes over the tokens. The first finds the items, reads their headers and declares their names, so that a
//! function may be called before the text declares it. The second reads the bodies line by line; a line with an error
//! is left out and reading goes on at the next line.
//!
//! A line that looks like the beginning of an item is one, whatever braces are open: an unfinished function does not
//! swallow the rest of the file. Nothing else at the beginning of a line looks like that, so no name is reserved.
//!
//! Bounds: no recursion; time and memory are linear in the text, up to the logarithm of its size for names; the text
//! is at most [`MAX_SOURCE_BYTES`](super::MAX_SOURCE_BYTES) long.

mod body;
mod inst;
mod items;
mod launch;
mod operand;
mod profile;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cranelift_entity::PrimaryMap;
use hashbrown::HashMap;

use crate::ir::{CommentAnchor, Comments, Func, Global, Module, Number, Opcode, ParamType, Span, Type};

pub(super) use inst::param_value_type;
pub(super) use launch::{DERIVED, SETTINGS};
pub use operand::describe_kind;

use super::diagnostic::{Diagnostic, Diagnostics, quoted};
use super::foreign::{foreign_language, ptx_as_wir};
use super::invisible::{remove_consequences, report_invisible};
use super::lexer::{CommentToken, Token, TokenKind, tokenize};
use super::limits::{MAX_NAME_BYTES, MAX_SOURCE_BYTES};
use super::number::Literal;
use super::suggestion::nearest;

/// Result of parsing a text.
#[derive(Clone)]
pub struct Parsed {
    /// The program. Where there are errors, the lines they are in are missing from it.
    pub module: Module,
    /// Errors and warnings in the order of the text; at most [`MAX_REPORTED`](super::MAX_REPORTED) of each.
    pub diagnostics: Vec<Diagnostic>,
    /// The functions that have no error: the verifier has something to say about these.
    pub complete: Vec<Func>,
    /// Names of functions whose headers cannot be read: they are missing from the module, but not from the text.
    pub unread: Vec<String>,
}

impl Parsed {
    /// Nothing but an error.
    #[doc(hidden)]
    pub fn refused(diagnostic: Diagnostic) -> Parsed {
        let diagnostics = Vec::from([diagnostic]);
        Parsed { module: Module::default(), diagnostics, complete: Vec::new(), unread: Vec::new() }
    }

    /// Is there an error?
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The program, or what is wrong with the text.
    pub fn into_result(self) -> Result<Module, Vec<Diagnostic>> {
        if self.has_errors() { Err(self.diagnostics) } else { Ok(self.module) }
    }
}

/// Reads a program. Every text is accepted; what is no program is reported.
pub fn parse(source: &str) -> Parsed {
    if source.len() > MAX_SOURCE_BYTES {
        let message = format!("the text has {} bytes, more than the {MAX_SOURCE_BYTES} that are read", source.len());
        return Parsed::refused(Diagnostic::error("text-too-long", Span::default(), message));
    }
    let lexed = tokenize(source);
    let mut diagnostics = Diagnostics::default();
    report_invisible(source, &lexed.invisible, &mut diagnostics);
    let mut parser = Parser {
        source,
        tokens: lexed.tokens,
        comments: lexed.comments,
        at: 0,
        next_comment: 0,
        diagnostics,
        module: Module::default(),
        headers: PrimaryMap::new(),
        func_names: HashMap::new(),
        global_names: HashMap::new(),
        opcodes: HashMap::new(),
        complete: Vec::new(),
        unread: Vec::new(),
        refused_globals: Vec::new(),
    };
    parser.module();
    let mut diagnostics = parser.diagnostics.into_sorted();
    if diagnostics.iter().any(Diagnostic::is_error) {
        let is_empty = parser.module.funcs.is_empty() && parser.unread.is_empty();
        if let Some(foreign) = ptx_as_wir(source).or_else(|| foreign_language(source)).filter(|_| is_empty) {
            return Parsed::refused(foreign);
        }
        remove_consequences(source, &lexed.invisible, &mut diagnostics);
    }
    Parsed {
        module: parser.module,
        diagnostics,
        complete: parser.complete,
        unread: parser.unread.into_iter().map(String::from).collect(),
    }
}

/// The type that an unknown one stands for: by its name elsewhere, or by its spelling.
fn type_meant<'t>(text: &str, names: impl IntoIterator<Item = &'t str>) -> Option<&'t str> {
    let elsewhere = match text {
        "bool" | "i1" => "pred",
        "char" | "i8" => "s8",
        "short" | "i16" => "s16",
        "int" | "i32" => "s32",
        "long" | "i64" => "s64",
        "uint" | "unsigned" => "u32",
        "half" => "f16",
        "float" => "f32",
        "double" => "f64",
        _ => return nearest(text, names),
    };
    Some(elsewhere)
}

/// An error has been reported; the caller gives up the line.
#[derive(Debug)]
struct Reported;

type Result<T, E = Reported> = core::result::Result<T, E>;

/// Facts about a function that the second pass has before it reads the body.
struct Header<'a> {
    name: &'a str,
    params: Vec<ParamType>,
    param_names: Vec<&'a str>,
    returns: Option<Type>,
    entries: Vec<&'a str>,
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    comments: Vec<CommentToken<'a>>,
    /// The token looked at.
    at: usize,
    /// The first comment that no line has taken yet.
    next_comment: usize,
    diagnostics: Diagnostics,
    module: Module,
    headers: PrimaryMap<Func, Header<'a>>,
    func_names: HashMap<&'a str, Func>,
    global_names: HashMap<&'a str, Global>,
    /// Spellings seen before: a program uses few.
    opcodes: HashMap<&'a str, Opcode>,
    complete: Vec<Func>,
    unread: Vec<&'a str>,
    /// Names of globals whose declarations have an error: their uses are no further ones.
    refused_globals: Vec<&'a str>,
}

// --- tokens
// ------------------------------------------------------------------------------------------------------------

impl<'a> Parser<'a> {
    fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    /// The token `distance` further on; the last one beyond the end.
    fn peek_at(&self, distance: usize) -> Token {
        self.tokens[(self.at + distance).min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token {
        let token = self.peek();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn text(&self, token: Token) -> &'a str {
        self.span_text(token.span)
    }

    fn span_text(&self, span: Span) -> &'a str {
        &self.source[span.start as usize..span.end as usize]
    }

    /// The name that stands at a distance; empty where none does.
    fn name_at(&self, distance: usize) -> &'a str {
        let token = self.peek_at(distance);
        if token.kind == TokenKind::Name { self.text(token) } else { "" }
    }

    fn is_name(&self, distance: usize) -> bool {
        self.peek_at(distance).kind == TokenKind::Name
    }

    fn is_punct(&self, distance: usize, punct: u8) -> bool {
        self.peek_at(distance).kind == TokenKind::Punct(punct)
    }

    fn eat_punct(&mut self, punct: u8) -> bool {
        let found = self.is_punct(0, punct);
        if found {
            self.at += 1;
        }
        found
    }

    /// Takes that very name.
    fn eat_name(&mut self, name: &str) -> bool {
        let found = self.name_at(0) == name;
        if found {
            self.at += 1;
        }
        found
    }

    fn skip_line_ends(&mut self) {
        while self.peek().kind == TokenKind::LineEnd {
            self.at += 1;
        }
    }

    /// To the end of the line, for whoever has given it up.
    fn skip_line(&mut self) {
        while !matches!(self.peek().kind, TokenKind::LineEnd | TokenKind::End) {
            self.at += 1;
        }
    }

    /// To the end of the statement that begins at token `first` and has been given up: the end of its line, or the
    /// closing brace of what it stands in where that comes first.
    fn skip_statement(&mut self, first: usize) {
        let mut open = 0u32;
        let mut at = first;
        loop {
            match self.tokens[at].kind {
                TokenKind::End => break,
                TokenKind::LineEnd if at >= self.at => break,
                TokenKind::Punct(b'}') if open == 0 && at >= self.at => break,
                TokenKind::Punct(b'{') => open += 1,
                TokenKind::Punct(b'}') => open = open.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        self.at = at;
    }

    /// From the start of the token at index `first` to the end of the last token taken.
    fn span_from(&self, first: usize) -> Span {
        let start = self.tokens[first].span.start;
        let end = self.tokens[self.at.saturating_sub(1).max(first)].span.end;
        Span { start, end }
    }

    // --- expectations
    // --------------------------------------------------------------------------------------------------

    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.diagnostics.push(diagnostic);
        Reported
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Reported {
        self.report(Diagnostic::error(code, span, message))
    }

    /// Reports that something else was expected here.
    fn expected(&mut self, what: &str) -> Reported {
        let token = self.peek();
        let found = self.describe(token);
        let diagnostic = Diagnostic::error("syntax", token.span, format!("expected {what}, found {found}"));
        let has_foreign_letter = self.text(token).chars().any(|letter| !letter.is_ascii() && letter.is_alphanumeric());
        self.report(match has_foreign_letter {
            true => diagnostic.with_hint("names have the letters `A` to `Z` and `a` to `z`, digits and `_` only"),
            false => diagnostic,
        })
    }

    fn describe(&self, token: Token) -> String {
        match token.kind {
            TokenKind::LineEnd => String::from("the end of the line"),
            TokenKind::End => String::from("the end of the text"),
            _ => quoted(self.text(token)),
        }
    }

    fn expect_punct(&mut self, punct: u8, what: &str) -> Result<()> {
        if self.eat_punct(punct) { Ok(()) } else { Err(self.expected(what)) }
    }

    /// A name of at most [`MAX_NAME_BYTES`].
    fn expect_name(&mut self, what: &str) -> Result<(&'a str, Span)> {
        if !self.is_name(0) {
            return Err(self.expected(what));
        }
        let token = self.advance();
        self.checked_name(token.span)
    }

    fn checked_name(&mut self, span: Span) -> Result<(&'a str, Span)> {
        let name = self.span_text(span);
        if name.len() > MAX_NAME_BYTES {
            return Err(self.error("name-too-long", span, format!("a name has at most {MAX_NAME_BYTES} bytes")));
        }
        Ok((name, span))
    }

    /// A statement ends with its line, or before a closing brace.
    fn is_statement_end(&self, distance: usize) -> bool {
        matches!(self.peek_at(distance).kind, TokenKind::LineEnd | TokenKind::End | TokenKind::Punct(b'}'))
    }

    fn expect_statement_end(&mut self) -> Result<()> {
        if self.is_statement_end(0) { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    fn expect_type(&mut self) -> Result<Type> {
        let token = self.peek();
        if !matches!(token.kind, TokenKind::Name | TokenKind::Word) {
            return Err(self.expected("a type such as `f32`"));
        }
        let text = self.text(token);
        if let Some(ty) = Type::from_name(text) {
            self.at += 1;
            return Ok(ty);
        }
        let meant = type_meant(text, Type::ALL.map(Type::name));
        let diagnostic = Diagnostic::error("unknown-type", token.span, format!("unknown type {}", quoted(text)));
        Err(self.report(diagnostic.with_suggestion(token.span, meant)))
    }

    /// A type that memory can hold.
    fn expect_element_type(&mut self) -> Result<Type> {
        let span = self.peek().span;
        let ty = self.expect_type()?;
        if ty == Type::Pred {
            return Err(self.error("wrong-type", span, "memory holds no predicates; use `u8`"));
        }
        Ok(ty)
    }

    /// Is the token at a distance the beginning of a number, or `inf` or `nan`?
    fn is_number(&self, distance: usize) -> bool {
        match self.peek_at(distance).kind {
            TokenKind::Number => true,
            TokenKind::Punct(b'-') => {
                self.peek_at(distance + 1).kind == TokenKind::Number
                    || matches!(self.name_at(distance + 1), "inf" | "nan")
            }
            TokenKind::Name => matches!(self.name_at(distance), "inf" | "nan"),
            _ => false,
        }
    }

    /// A number with its sign.
    fn expect_literal(&mut self) -> Result<(Literal<'a>, bool, Span)> {
        let first = self.at;
        if !self.is_number(0) {
            return Err(self.expected("a number"));
        }
        let negative = self.eat_punct(b'-');
        let token = self.advance();
        let literal = match self.text(token) {
            "inf" => Ok(Literal::Infinity),
            "nan" => Ok(Literal::Nan),
            text => Literal::parse(text),
        };
        let span = self.span_from(first);
        match literal {
            Ok(literal) => Ok((literal, negative, span)),
            Err(why) => {
                let text = self.text(token);
                let message = format!("{} is not a number: {why}", quoted(text));
                // C's suffixes.
                let bare = text.trim_end_matches(['f', 'F', 'u', 'U', 'l', 'L']);
                let meant = Some(bare).filter(|bare| *bare != text && Literal::parse(bare).is_ok());
                Err(self.report(Diagnostic::error("bad-number", span, message).with_suggestion(token.span, meant)))
            }
        }
    }

    fn expect_number(&mut self) -> Result<Number> {
        let (literal, negative, span) = self.expect_literal()?;
        match (literal, literal.number(negative)) {
            (Literal::Float(text), Number::Float(value)) if value.is_infinite() => {
                Err(self.error("out-of-range", span, format!("{text} does not fit type f64; write `inf` for infinity")))
            }
            (_, number) => Ok(number),
        }
    }

    /// A number between 0 and 1.
    fn expect_probability(&mut self) -> Result<f64> {
        let (literal, negative, span) = self.expect_literal()?;
        let value = literal.number(negative).to_f64();
        if (0.0..=1.0).contains(&value) {
            Ok(value)
        } else {
            Err(self.error("out-of-range", span, "a probability is between 0 and 1"))
        }
    }

    /// An integer without sign, at most `largest`.
    fn expect_count(&mut self, what: &str, largest: u64) -> Result<u64> {
        if self.peek().kind != TokenKind::Number {
            return Err(self.expected(what));
        }
        let (literal, _, span) = self.expect_literal()?;
        match literal {
            Literal::Int { value, .. } if value <= largest => Ok(value),
            Literal::Int { .. } => Err(self.error("out-of-range", span, format!("{what} is at most {largest} here"))),
            _ => Err(self.error("bad-number", span, format!("{what} is an integer"))),
        }
    }

    /// `first {, next}` up to a closing punctuation mark, which is taken too. The list may go over several lines.
    fn comma_list(
        &mut self,
        close: u8,
        what_close: &str,
        mut element: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.skip_line_ends();
        if self.eat_punct(close) {
            return Ok(());
        }
        loop {
            element(self)?;
            self.skip_line_ends();
            if self.eat_punct(close) {
                return Ok(());
            }
            self.expect_punct(b',', what_close)?;
            self.skip_line_ends();
            if self.eat_punct(close) {
                return Ok(());
            }
        }
    }

    // --- comments
    // ------------------------------------------------------------------------------------------------------

    /// Gives the comments of the statement from token `first` to the last one taken to an anchor: those above and
    /// within it, and the one behind it.
    fn take_comments(&mut self, first: usize, comments: &mut Comments, anchor: CommentAnchor) {
        let end = self.at.max(first + 1);
        while let Some(comment) = self.comments.get(self.next_comment) {
            if comment.before < end {
                comments.at_mut(anchor).above.push(comment.text.into());
            } else if comment.before == end && !comment.own_line && self.tokens[end].kind == TokenKind::LineEnd {
                comments.at_mut(anchor).behind = Some(comment.text.into());
            } else {
                return;
            }
            self.next_comment += 1;
        }
    }
}
