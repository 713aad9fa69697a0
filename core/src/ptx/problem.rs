//! What is wrong with a PTX file, and where.

use crate::ir::Span;
use alloc::string::String;

/// One error or warning about the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A stable name of the rule, `ptx-unsupported`.
    pub code: &'static str,
    /// A warning leaves the program as it was written.
    pub warning: bool,
    /// The bytes it is about.
    pub span: Span,
    /// What was expected or is not supported.
    pub message: String,
    /// What to write instead, where that can be said.
    pub hint: Option<String>,
}

impl Problem {
    /// An error.
    pub fn error(code: &'static str, span: Span, message: &str, hint: Option<&str>) -> Problem {
        Problem { code, warning: false, span, message: message.into(), hint: hint.map(Into::into) }
    }
}
