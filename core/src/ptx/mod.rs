//! PTX in and PTX out.
//!
//! ```text
//! PTX text → lexer → parser → syntax tree → lower → ir::Module → export → PTX text
//! ```
//!
//! [`import`] reads what compilers print for ordinary kernels; [`export`] writes what NVIDIA's assembler accepts.
//! Importing is syntactic: spaces of generic accesses are for the pass `infer-space` to find.

mod constant;
mod export;
mod lexer;
mod lower;
mod parser;
mod syntax;

use crate::ir::Span;
use crate::text::{
    Diagnostic, Diagnostics, MAX_SOURCE_BYTES, Parsed, foreign_language, ptx_as_wir, remove_consequences,
};
use alloc::format;
use alloc::vec::Vec;
pub use export::{Export, PlainLoad, export};
pub use lower::start_at_zero;

/// Reads PTX. It never fails as a whole: a kernel with an error is left out, and the others load. Every function of
/// the result is complete.
pub fn import(source: &str) -> Parsed {
    if source.len() > MAX_SOURCE_BYTES {
        let message = format!("the text has {} bytes, more than the {MAX_SOURCE_BYTES} that are read", source.len());
        return Parsed::refused(Diagnostic::error("text-too-long", Span::default(), message));
    }
    let mut diagnostics = Diagnostics::default();
    let mut invisible = Vec::new();
    let file = parser::parse(source, &mut invisible, &mut diagnostics);
    let module = lower::lower(&file, &mut diagnostics);
    let complete = module.funcs.keys().collect();
    let mut diagnostics = diagnostics.into_sorted();
    if diagnostics.iter().any(Diagnostic::is_error) {
        if ptx_as_wir(source).is_none()
            && module.funcs.is_empty()
            && let Some(foreign) = foreign_language(source)
        {
            return Parsed::refused(foreign);
        }
        remove_consequences(source, &invisible, &mut diagnostics);
    }
    Parsed { module, diagnostics, complete, unread: Vec::new() }
}
