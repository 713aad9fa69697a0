//! The spelling of an opaque instruction: PTX with numbered places for registers and symbols.
//!
//! ```text
//! mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$0, $1, $2, $3}
//! ```
//!
//! Places count the destinations first, then the operands. `$$` is a dollar sign. A destination or an operand without a
//! place is written or read all the same: the accumulators of `wgmma.mma_async` are read as well as written, though PTX
//! names them once, and `wgmma.wait_group` writes them without a name.
//!
//! `.reg .b128 %x` is such an instruction, too: a register of 128 bits has no other place in the
//! program than in the text of opaque instructions, whose order stays.
//!
//! Source: LLVM's inline assembly, whose template strings are alike.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Characters of the longest spelling.
pub const MAX_TEMPLATE: usize = 4096;

/// The declaration of registers of 128 bits begins so.
#[doc(hidden)]
pub const WIDE_REGISTERS: &str = ".reg .b128 ";

/// A piece of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// Text that stays as it is.
    Text(&'a str),
    /// The place of that destination or operand.
    Place(usize),
}

/// The spelling of an opaque instruction, checked to be one instruction of printable characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Template(String);

/// Why a text is no template, at that byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TemplateError {
    /// Byte at which the error is.
    pub at: usize,
    /// Why.
    pub reason: &'static str,
}

impl Template {
    /// A template of that text.
    pub fn new(text: impl Into<String>) -> Result<Template, TemplateError> {
        let text = text.into();
        let error = |at: usize, reason| Err(TemplateError { at, reason });
        if !text.starts_with(|c: char| c.is_ascii_lowercase()) && !text.starts_with(WIDE_REGISTERS) {
            return error(0, "an instruction starts with its opcode");
        }
        if text.len() > MAX_TEMPLATE {
            return error(MAX_TEMPLATE, "the instruction is too long");
        }
        // Two instructions, a label or a comment would be no instruction with these operands.
        let is_allowed = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b';' | b'"' | b'\\' | b'@');
        if let Some(at) = text.bytes().position(|byte| !is_allowed(byte)) {
            return error(at, "this character is not allowed in an instruction");
        }
        if let Some(at) = text.find("//").or_else(|| text.find("/*")) {
            return error(at, "comments are not allowed in an instruction");
        }
        let template = Template(text);
        match template.try_pieces() {
            Ok(_) => Ok(template),
            Err(at) => error(at, "`$` takes the number of an operand; `$$` is a dollar sign"),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The opcode with its modifiers.
    pub fn opcode(&self) -> &str {
        self.0.split(' ').next().unwrap_or(&self.0)
    }

    /// The text and the places in order.
    pub fn pieces(&self) -> Vec<Piece<'_>> {
        self.try_pieces().unwrap_or_default()
    }

    /// The pieces, or the byte of a dollar sign without a number.
    fn try_pieces(&self) -> Result<Vec<Piece<'_>>, usize> {
        let text = &self.0;
        let (mut pieces, mut start) = (Vec::new(), 0);
        while let Some(found) = text[start..].find('$') {
            let dollar = start + found;
            if dollar > start {
                pieces.push(Piece::Text(&text[start..dollar]));
            }
            let rest = &text[dollar + 1..];
            if rest.starts_with('$') {
                pieces.push(Piece::Text(&rest[..1]));
                start = dollar + 2;
                continue;
            }
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let number = rest[..digits].parse::<u16>().map_err(|_| dollar)?;
            pieces.push(Piece::Place(usize::from(number)));
            start = dollar + 1 + digits;
        }
        if start < text.len() {
            pieces.push(Piece::Text(&text[start..]));
        }
        Ok(pieces)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_alternate_text_and_places() {
        let template = Template::new("suld.b.2d.b32.trap $0, [$1, {$2, $13}]").unwrap();
        assert_eq!(
            template.pieces(),
            [
                Piece::Text("suld.b.2d.b32.trap "),
                Piece::Place(0),
                Piece::Text(", ["),
                Piece::Place(1),
                Piece::Text(", {"),
                Piece::Place(2),
                Piece::Text(", "),
                Piece::Place(13),
                Piece::Text("}]"),
            ]
        );
        assert_eq!(template.opcode(), "suld.b.2d.b32.trap");
    }

    #[test]
    fn texts_that_are_no_instruction_are_refused() {
        for text in ["", "$0", "add.u32 $0; exit", "a \"b\"", "call $", "call $x", "a // b", "a /* b", "é", "a\nb"] {
            assert!(Template::new(text).is_err(), "{text:?}");
        }
        assert!(Template::new("x".repeat(MAX_TEMPLATE + 1)).is_err());
        assert_eq!(Template::new("a $$").unwrap().pieces(), [Piece::Text("a "), Piece::Text("$")]);
    }
}
