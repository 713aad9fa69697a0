//! Diagnostics: what is wrong with a text, where, and what would be right.
//!
//! Every part of the laboratory that reads something reports through [`Diagnostics`]: the parsers, the verifier, the
//! launch binding and the simulator. A diagnostic names a place by its byte range; [`LineIndex`] turns that into lines
//! and columns, and [`Diagnostic::render`] into the lines that a shell shows.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use crate::compact_sort::CompactSort;
use crate::ir::Span;

/// How many errors are kept; the others are only counted.
pub const MAX_REPORTED: usize = 20;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Severity {
    /// The program can be used, but probably does not mean what was wanted.
    Warning,
    /// The program cannot be used.
    Error,
}

impl Severity {
    /// `warning` or `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A second place that helps to understand a diagnostic.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Label {
    /// The place.
    pub span: Span,
    /// Text of the label, such as `first defined here`.
    pub message: String,
}

/// A replacement that would repair the text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Suggestion {
    /// Span to replace.
    pub span: Span,
    /// Replacement.
    pub text: String,
}

/// One error or warning.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Diagnostic {
    /// Code in kebab case: `unknown-opcode`. Stable: pages and checks may rely on it.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Place in the source. The default span where the text has no place for it.
    pub span: Span,
    /// Error, the expectation and, after a colon, a suggestion.
    pub message: String,
    /// How to repair it, in a sentence.
    pub hint: Option<String>,
    /// The replacement that `message` proposes.
    pub suggestion: Option<Suggestion>,
    /// Other places.
    pub labels: Vec<Label>,
}

/// Every code, in alphabetical order: first those of programs, then those of PTX, then that of runs.
pub const CODES: &[&str] = &[
    "after-terminator",
    "bad-number",
    "bad-template",
    "calls-kernel",
    "constant-range",
    "destination-count",
    "duplicate-binding",
    "duplicate-name",
    "duplicate-setting",
    "foreign-language",
    "guarded-terminator",
    "incomplete-opcode",
    "instruction-outside-block",
    "invisible-character",
    "kernel-entries",
    "kernel-returns",
    "misplaced-declaration",
    "missing-terminator",
    "missing-type",
    "name-too-long",
    "no-block",
    "operand-count",
    "out-of-range",
    "profile",
    "read-only",
    "repeated-suffix",
    "syntax",
    "target-count",
    "text-too-long",
    "too-many",
    "type-mismatch",
    "unassigned-read",
    "unbound",
    "unknown-block",
    "unknown-entry",
    "unknown-function",
    "unknown-kernel",
    "unknown-name",
    "unknown-opcode",
    "unknown-parameter",
    "unknown-setting",
    "unknown-space",
    "unknown-special",
    "unknown-suffix",
    "unknown-type",
    "wrong-fill",
    "wrong-operand",
    "wrong-space",
    "wrong-type",
    "ptx-callee",
    "ptx-duplicate",
    "ptx-ignored",
    "ptx-inexpressible",
    "ptx-limit",
    "ptx-operands",
    "ptx-syntax",
    "ptx-type",
    "ptx-undefined",
    "ptx-unknown-name",
    "ptx-unknown-opcode",
    "ptx-unsupported",
    "ptx-weaker",
    "run-failed",
];

impl Diagnostic {
    /// An error.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        debug_assert!(CODES.contains(&code), "`{code}` is missing in the list of codes");
        let message = message.into();
        Diagnostic { code, severity: Severity::Error, span, message, hint: None, suggestion: None, labels: Vec::new() }
    }

    /// A warning.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// Adds a sentence that says how to repair it.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a second place.
    pub fn with_label(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// Adds a replacement of the text at `span`, if there is one; the message asks for it.
    pub fn with_suggestion(mut self, span: Span, text: Option<impl Into<String>>) -> Diagnostic {
        if let Some(text) = text {
            let text = text.into();
            let _ = write!(self.message, ": did you mean `{text}`?");
            self.suggestion = Some(Suggestion { span, text });
        }
        self
    }

    /// Is it an error?
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The lines that a shell shows: `file:line:column: error: message`, the source line, a line that underlines the
    /// place, and the hint. Ends with a line break.
    pub fn render(&self, file: &str, source: &str) -> String {
        self.render_with(file, source, &LineIndex::new(source))
    }

    /// As [`Diagnostic::render`], for callers that have the index already.
    pub fn render_with(&self, file: &str, source: &str, lines: &LineIndex) -> String {
        let mut out = String::new();
        render_place(&mut out, file, source, lines, self.span, self.severity.name(), &self.message);
        for label in &self.labels {
            render_place(&mut out, file, source, lines, label.span, "note", &label.message);
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(out, "  hint: {hint}");
        }
        out
    }
}

fn render_place(
    out: &mut String,
    file: &str,
    source: &str,
    lines: &LineIndex,
    span: Span,
    severity: &str,
    message: &str,
) {
    let at = lines.position(source, span.start);
    let _ = writeln!(out, "{file}:{}:{}: {severity}: {message}", at.line, at.column);
    if span == Span::default() {
        return;
    }
    let text = lines.line_text(source, at.line);
    let column = at.column as usize - 1;
    // A tab is kept in the margin, so that the marks stand below what they mark however wide it is shown.
    let margin: String = text.chars().take(column).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let end = lines.position(source, span.end);
    let line_length = text.chars().count();
    let marked = if end.line == at.line { end.column as usize - 1 } else { line_length };
    let marks = marked.saturating_sub(column).max(1);
    let number = at.line.to_string();
    let gutter = " ".repeat(number.len());
    let _ = writeln!(out, " {number} | {text}");
    let _ = writeln!(out, " {gutter} | {margin}{}", "^".repeat(marks));
}

/// A list of diagnostics that keeps the first [`MAX_REPORTED`] errors and as many warnings.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Diagnostics {
    /// Adds one, or only counts it.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let count = if diagnostic.is_error() { &mut self.errors } else { &mut self.warnings };
        *count += 1;
        if *count <= MAX_REPORTED {
            self.list.push(diagnostic);
        }
    }

    /// Would another error only be counted? Whoever would search long for a good message looks here first.
    pub fn is_full(&self) -> bool {
        self.errors >= MAX_REPORTED
    }

    /// Number of errors, those included that were only counted.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// Those that were kept, in the order of the text.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.compact_sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
        self.list
    }
}

/// A place as people count: both from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
}

/// Starts of the lines of a text: after a line feed, a carriage return, or both.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Looks through the text once.
    pub fn new(source: &str) -> LineIndex {
        let bytes = source.as_bytes();
        let is_break = |at: usize| bytes[at] == b'\n' || (bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
        let breaks = (0..bytes.len()).filter(|&at| is_break(at)).map(|at| at as u32 + 1);
        LineIndex { starts: core::iter::once(0).chain(breaks).collect() }
    }

    /// Number of lines; a text that ends with a line break has an empty last one.
    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// Line and column of a byte; the end of the text for anything beyond.
    pub fn position(&self, source: &str, offset: u32) -> Position {
        let offset = (offset as usize).min(source.len());
        let line = self.starts.partition_point(|&start| start as usize <= offset).max(1) - 1;
        let start = self.starts[line] as usize;
        let column = source.as_bytes()[start..offset].iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        Position { line: line as u32 + 1, column: column as u32 + 1 }
    }

    /// The text of a line (from 1) without its line break; empty where there is no such line.
    pub fn line_text<'a>(&self, source: &'a str, line: u32) -> &'a str {
        let Some(&start) = (line as usize).checked_sub(1).and_then(|index| self.starts.get(index)) else { return "" };
        let end = self.starts.get(line as usize).map_or(source.len(), |&next| next as usize - 1);
        source.get(start as usize..end).unwrap_or("").trim_end_matches('\r')
    }

    /// The byte where a line (from 1) begins, if there is such a line.
    pub fn line_start(&self, line: u32) -> Option<u32> {
        self.starts.get((line as usize).checked_sub(1)?).copied()
    }
}

/// `` `name` `` as messages quote a piece of source; long ones are cut.
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("`{}…`", &text[..cut]),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_feeds_returns_or_both() {
        let source = "a\nbb\rccc\r\ndddd\n\re";
        let lines = LineIndex::new(source);
        let texts: Vec<&str> = (1..=lines.line_count() as u32).map(|line| lines.line_text(source, line)).collect();
        assert_eq!(texts, ["a", "bb", "ccc", "dddd", "", "e"]);
        assert_eq!(lines.position(source, 6), Position { line: 3, column: 2 });
    }

    #[test]
    fn lone_carriage_returns_end_lines_of_programs() {
        let source = "// top\nkernel k(n: u32) {\nentry: // here\n    m = mov.u32 n\n    ret\n}\n";
        let parsed = crate::text::parse(&source.replace('\n', "\r"));
        assert_eq!(parsed.diagnostics, []);
        assert_eq!(crate::text::print(&parsed.module), source);
    }
}
