//! Text to tokens, with the comments set aside.
//!
//! ```text
//! x = ld.global.f32 a[i] // why   ->   Name `x`, `=`, Word `ld.global.f32`, Name `a`, `[`, Name `i`, `]`, line end
//! ```
//!
//! Lines without a token give none, so a line end always ends something. A comment is remembered with the number of
//! the token that follows it: the line end for a comment behind a line, the next line's first token for one on a line
//! of its own. A line ends at a line feed, a carriage return, or both. Invisible characters are set aside and read as
//! white space. The time is linear in the text; any text at all is accepted ([`TokenKind::Unknown`]).

use alloc::vec::Vec;

use super::invisible::invisible_name;
use crate::ir::Span;

/// Kind of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    /// `[A-Za-z_][A-Za-z0-9_]*`
    Name,
    /// Names and numbers joined by points: `ld.global.f32`, `ret.1`.
    Word,
    /// `%tid.x`
    Special,
    /// Whatever starts with a digit.
    Number,
    /// `"…"` on one line.
    Text,
    /// One of `: , = { } ( ) [ ] + - * @ ! #`.
    Punct(u8),
    /// `->`
    Arrow,
    /// The end of a line that had tokens.
    LineEnd,
    /// The end of the text.
    End,
    /// Characters that begin no token.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// A comment, without the slashes.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommentToken<'a> {
    pub text: &'a str,
    /// The token that follows.
    pub before: usize,
    /// Is there nothing else on its line?
    pub own_line: bool,
}

pub(super) struct Tokens<'a> {
    pub tokens: Vec<Token>,
    pub comments: Vec<CommentToken<'a>>,
    /// The invisible characters outside comments.
    pub invisible: Vec<Span>,
}

/// Splits a text of less than 4 GiB.
pub(super) fn tokenize(source: &str) -> Tokens<'_> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::with_capacity(bytes.len() / 4 + 2);
    let mut comments = Vec::new();
    let mut invisible = Vec::new();
    // A byte order mark is no part of the program.
    let mut at = if source.starts_with('\u{FEFF}') { 3 } else { 0 };
    let mut line_has_tokens = false;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b'\n' | b'\r' => {
                at += 1;
                if !line_has_tokens {
                    continue;
                }
                line_has_tokens = false;
                tokens.push(Token { kind: TokenKind::LineEnd, span: span(start, start) });
                continue;
            }
            b' ' | b'\t' | b'\x0B' | b'\x0C' => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                while at < bytes.len() && !matches!(bytes[at], b'\n' | b'\r') {
                    at += 1;
                }
                let text = source[start + 2..at].trim_end();
                let text = text.strip_prefix(' ').unwrap_or(text);
                comments.push(CommentToken { text, before: tokens.len(), own_line: !line_has_tokens });
                continue;
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => {
                let kind = scan_word(bytes, &mut at);
                if scan_foreign_letters(source, &mut at) { TokenKind::Unknown } else { kind }
            }
            b'%' => {
                at += 1;
                if bytes.get(at).is_some_and(|&byte| is_name_byte(byte)) {
                    scan_word(bytes, &mut at);
                }
                TokenKind::Special
            }
            b'"' => {
                let rest = &bytes[at + 1..];
                let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\n')).unwrap_or(rest.len());
                let is_closed = rest.get(end) == Some(&b'"');
                at += 1 + end + usize::from(is_closed);
                if is_closed { TokenKind::Text } else { TokenKind::Unknown }
            }
            b'0'..=b'9' => {
                scan_number(bytes, &mut at);
                TokenKind::Number
            }
            b'-' if bytes.get(at + 1) == Some(&b'>') => {
                at += 2;
                TokenKind::Arrow
            }
            byte @ (b':' | b',' | b'=' | b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'+' | b'-' | b'*' | b'@' | b'!'
            | b'#' | b'&') => {
                at += 1;
                TokenKind::Punct(byte)
            }
            _ => {
                if !scan_foreign_letters(source, &mut at) {
                    let character = source[at..].chars().next().unwrap_or_default();
                    at += character.len_utf8();
                    if invisible_name(character).is_some() {
                        invisible.push(span(start, at));
                        continue;
                    }
                }
                TokenKind::Unknown
            }
        };
        line_has_tokens = true;
        tokens.push(Token { kind, span: span(start, at) });
    }
    if line_has_tokens {
        tokens.push(Token { kind: TokenKind::LineEnd, span: span(at, at) });
    }
    tokens.push(Token { kind: TokenKind::End, span: span(at, at) });
    Tokens { tokens, comments, invisible }
}

/// A name, or a word where points follow. PTX's `shared::cta` counts as one part.
fn scan_word(bytes: &[u8], at: &mut usize) -> TokenKind {
    let mut kind = TokenKind::Name;
    loop {
        while bytes.get(*at).is_some_and(|&byte| is_name_byte(byte)) {
            *at += 1;
        }
        let next = |offset: usize| bytes.get(*at + offset).copied().unwrap_or(b' ');
        if next(0) == b'.' && is_name_byte(next(1)) {
            kind = TokenKind::Word;
            *at += 1;
        } else if kind == TokenKind::Word && next(0) == b':' && next(1) == b':' && is_name_byte(next(2)) {
            *at += 2;
        } else {
            return kind;
        }
    }
}

/// The rest of a word from a letter on that no name has. Is there such a letter?
fn scan_foreign_letters(source: &str, at: &mut usize) -> bool {
    // Mostly a word ends here, which one byte tells.
    if source.as_bytes().get(*at).is_none_or(u8::is_ascii) {
        return false;
    }
    let is_foreign = |letter: char| !letter.is_ascii() && letter.is_alphanumeric();
    let rest = &source[*at..];
    if !rest.starts_with(is_foreign) {
        return false;
    }
    let is_of_word = |letter: char| is_foreign(letter) || u8::try_from(letter).is_ok_and(is_name_byte);
    *at += rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len());
    true
}

fn scan_number(bytes: &[u8], at: &mut usize) {
    let radix_prefix =
        bytes[*at] == b'0' && matches!(bytes.get(*at + 1), Some(b'x' | b'X' | b'f' | b'F' | b'd' | b'D'));
    while let Some(&byte) = bytes.get(*at) {
        let exponent_sign = !radix_prefix
            && matches!(byte, b'+' | b'-')
            && matches!(bytes[*at - 1], b'e' | b'E')
            && bytes.get(*at + 1).is_some_and(u8::is_ascii_digit);
        let point = !radix_prefix && byte == b'.' && bytes.get(*at + 1).is_none_or(|&next| next != b'.');
        if !(is_name_byte(byte) || exponent_sign || point) {
            return;
        }
        *at += 1;
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn span(start: usize, end: usize) -> Span {
    Span { start: start as u32, end: end as u32 }
}
