//! Splits PTX source into tokens with byte spans.
//!
//! ```text
//! @%p1 bra $L__BB0_2;   →   `@` `%p1` `bra` `$L__BB0_2` `;`
//! ld.param.u32 %r2, …   →   `ld` `.param` `.u32` `%r2` `,` …
//! ```
//!
//! A dotted word (`.param`, `.shared::cta`) is one token, so a modifier list is a run of them. Comments and
//! white space are dropped; a token remembers whether a line break came before it, because debug directives end
//! with their line and because a missing semicolon is best reported there. A line ends at a line feed, a carriage
//! return, or both. Invisible characters are set aside and read as white space.
//!
//! Bounds: linear in the text. Any text lexes; a character that PTX does not use becomes a token that no rule
//! accepts. Offsets are 32-bit: the caller refuses longer texts.
//!
//! Source: PTX ISA, "Syntax" (identifiers, integer, floating-point and hexadecimal float literals).

use crate::ir::Span;
use crate::text::invisible_name;
use alloc::vec::Vec;

/// The smallest span that holds both.
pub fn join(first: Span, last: Span) -> Span {
    Span { start: first.start.min(last.start), end: first.end.max(last.end) }
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// An identifier, opcode, label or register, `%` and `$` included.
    Word,
    /// A word with its leading dot.
    Dotted,
    /// An integer literal, as the 64 bits PTX gives it.
    Int(u64),
    /// A 32-bit hexadecimal float literal, as bits.
    Single(u32),
    /// A 64-bit float literal, as bits.
    Double(u64),
    /// A quoted string.
    Text,
    /// One punctuation character.
    Mark(u8),
    /// A number that has no value (too large, or digits its base does not have).
    BadNumber,
    /// A character that PTX has no use for, or an unfinished string or comment.
    Stray,
    /// The end of the source.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// Kind of the token.
    pub kind: Kind,
    /// Place in the source.
    pub span: Span,
    /// Whether it is the first token of its line.
    pub starts_line: bool,
}

/// The tokens of `source`, ending with [`Kind::End`]. Adds the invisible characters outside comments to `invisible`.
pub fn tokens(source: &str, invisible: &mut Vec<Span>) -> Vec<Token> {
    // A byte order mark is no part of the program.
    let at = if source.starts_with('\u{FEFF}') { 3 } else { 0 };
    let mut lexer = Lexer { source, bytes: source.as_bytes(), at, starts_line: true, invisible };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next();
        tokens.push(token);
        if token.kind == Kind::End {
            return tokens;
        }
    }
}

struct Lexer<'a, 'i> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    starts_line: bool,
    invisible: &'i mut Vec<Span>,
}

impl Lexer<'_, '_> {
    fn next(&mut self) -> Token {
        let unfinished_comment = self.skip_blank();
        let start = self.at;
        let starts_line = core::mem::replace(&mut self.starts_line, false);
        let kind = match unfinished_comment {
            true => {
                self.at = self.bytes.len();
                Kind::Stray
            }
            false => self.kind(),
        };
        Token { kind, span: Span { start: start as u32, end: self.at as u32 }, starts_line }
    }

    /// Skips white space and comments; true where a comment never ends.
    fn skip_blank(&mut self) -> bool {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'\n' | b'\r'), _) => {
                    self.starts_line = true;
                    self.at += 1;
                }
                (Some(b' ' | b'\t' | 0x0b | 0x0c), _) => self.at += 1,
                (Some(b'/'), Some(b'/')) => {
                    while self.peek(0).is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
                        self.at += 1;
                    }
                }
                (Some(b'/'), Some(b'*')) => {
                    let mut end = self.at + 2;
                    while !self.bytes[end..].starts_with(b"*/") {
                        if end >= self.bytes.len() {
                            return true;
                        }
                        self.starts_line |= matches!(self.bytes[end], b'\n' | b'\r');
                        end += 1;
                    }
                    self.at = end + 2;
                }
                (Some(byte), _) if !(b' '..=b'~').contains(&byte) => {
                    let Some(character) = self.source.get(self.at..).and_then(|rest| rest.chars().next()) else {
                        return false;
                    };
                    if invisible_name(character).is_none() {
                        return false;
                    }
                    let start = self.at;
                    self.at += character.len_utf8();
                    self.invisible.push(Span { start: start as u32, end: self.at as u32 });
                }
                _ => return false,
            }
        }
    }

    fn kind(&mut self) -> Kind {
        let Some(first) = self.peek(0) else { return Kind::End };
        match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'%' => {
                self.at += 1;
                self.skip_while(is_word);
                Kind::Word
            }
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_some_and(is_word) => {
                self.at += 1;
                self.skip_while(is_word);
                // Scoped modifiers such as `.shared::cta` are one word.
                while self.bytes[self.at..].starts_with(b"::") && self.peek(2).is_some_and(is_word) {
                    self.at += 2;
                    self.skip_while(is_word);
                }
                Kind::Dotted
            }
            b'"' => {
                self.at += 1;
                self.skip_while(|byte| !matches!(byte, b'"' | b'\n' | b'\r'));
                if self.peek(0) != Some(b'"') {
                    return Kind::Stray;
                }
                self.at += 1;
                Kind::Text
            }
            b';' | b',' | b':' | b'@' | b'!' | b'|' | b'+' | b'-' | b'*' | b'/' | b'=' | b'<' | b'>' | b'{' | b'}'
            | b'(' | b')' | b'[' | b']' | b'~' | b'&' | b'^' | b'?' => {
                self.at += 1;
                Kind::Mark(first)
            }
            _ => {
                // A whole character, so that the span ends on a boundary.
                self.at += 1;
                self.skip_while(|byte| byte & 0xc0 == 0x80);
                Kind::Stray
            }
        }
    }

    fn number(&mut self) -> Kind {
        let start = self.at;
        let prefix = self.peek(1).map(|byte| byte.to_ascii_lowercase());
        if self.peek(0) == Some(b'0') && matches!(prefix, Some(b'f' | b'd' | b'x' | b'b')) {
            self.at += 2;
            let digits = self.at;
            self.skip_while(is_word);
            let digits = core::str::from_utf8(&self.bytes[digits..self.at]).unwrap_or("");
            return match prefix {
                Some(b'f') if digits.len() == 8 => {
                    u32::from_str_radix(digits, 16).map_or(Kind::BadNumber, Kind::Single)
                }
                Some(b'd') if digits.len() == 16 => {
                    u64::from_str_radix(digits, 16).map_or(Kind::BadNumber, Kind::Double)
                }
                Some(b'x') => integer(digits, 16),
                Some(b'b') => integer(digits, 2),
                _ => Kind::BadNumber,
            };
        }
        self.skip_while(|byte| byte.is_ascii_digit());
        let mut float = false;
        if self.peek(0) == Some(b'.') && self.peek(1).is_none_or(|byte| byte.is_ascii_digit() || !is_word(byte)) {
            float = true;
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
            if self.peek(1 + sign).is_some_and(|byte| byte.is_ascii_digit()) {
                float = true;
                self.at += 1 + sign;
            }
        }
        self.skip_while(is_word);
        let text = core::str::from_utf8(&self.bytes[start..self.at]).unwrap_or("");
        if float {
            return text.parse::<f64>().map_or(Kind::BadNumber, |value| Kind::Double(value.to_bits()));
        }
        match text.strip_prefix('0').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            Some(octal) => integer(octal, 8),
            None => integer(text, 10),
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&wanted) {
            self.at += 1;
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// PTX integers may end in `U`.
fn integer(digits: &str, radix: u32) -> Kind {
    let digits = digits.strip_suffix(['u', 'U']).unwrap_or(digits);
    u64::from_str_radix(digits, radix).map_or(Kind::BadNumber, Kind::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Kind> {
        tokens(source, &mut Vec::new()).iter().map(|token| token.kind).collect()
    }

    #[test]
    fn numbers_take_every_ptx_form() {
        assert_eq!(
            kinds("0f3F800000 0d3FF0000000000000 0x1fU 017 0b101 42 1.5 2e3 0"),
            [
                Kind::Single(0x3f80_0000),
                Kind::Double(0x3ff0_0000_0000_0000),
                Kind::Int(31),
                Kind::Int(15),
                Kind::Int(5),
                Kind::Int(42),
                Kind::Double(1.5f64.to_bits()),
                Kind::Double(2e3f64.to_bits()),
                Kind::Int(0),
                Kind::End,
            ]
        );
        assert_eq!(
            kinds("0f12 99999999999999999999 0x 089"),
            [Kind::BadNumber, Kind::BadNumber, Kind::BadNumber, Kind::BadNumber, Kind::End]
        );
    }

    #[test]
    fn unfinished_and_foreign_text_is_stray() {
        assert_eq!(kinds("/* never"), [Kind::Stray, Kind::End]);
        assert_eq!(kinds("\"never\n"), [Kind::Stray, Kind::End]);
        assert_eq!(kinds("é"), [Kind::Stray, Kind::End]);
        assert_eq!(kinds("/*"), [Kind::Stray, Kind::End]);
    }

    #[test]
    fn a_line_break_is_remembered() {
        for source in ["a b\n c /* \n */ d", "a b\r c // x\r d", "a b\r\n c /* \r */ d"] {
            let tokens = tokens(source, &mut Vec::new());
            let starts: Vec<bool> = tokens.iter().map(|token| token.starts_line).collect();
            assert_eq!(starts, [true, false, true, true, false], "{source:?}");
        }
    }
}
