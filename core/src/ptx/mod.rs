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
mod launch;
mod lexer;
mod lower;
mod parser;
mod syntax;

use crate::ir::{Module, Span};
use crate::text::{Diagnostic, Diagnostics, MAX_SOURCE_BYTES, Parsed};
use alloc::format;
use alloc::vec::Vec;
pub use export::{Export, export};
pub use launch::{complete_launch, derive_draws, derive_launch};

/// Reads PTX. It never fails as a whole: a kernel with an error is left out, and the others load. Every function of
/// the result is complete.
pub fn import(source: &str) -> Parsed {
    if source.len() > MAX_SOURCE_BYTES {
        let message = format!("the text has {} bytes, more than the {MAX_SOURCE_BYTES} that are read", source.len());
        let diagnostics = Vec::from([Diagnostic::error("text-too-long", Span::default(), message)]);
        return Parsed { module: Module::default(), diagnostics, complete: Vec::new(), unread: Vec::new() };
    }
    let mut diagnostics = Diagnostics::default();
    let file = parser::parse(source, &mut diagnostics);
    let module = lower::lower(&file, &mut diagnostics);
    let complete = module.funcs.keys().collect();
    Parsed { module, diagnostics: diagnostics.into_sorted(), complete, unread: Vec::new() }
}
