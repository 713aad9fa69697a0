//! PTX in and PTX out.
//!
//! ```text
//! PTX text → lexer → parser → syntax tree → lower → ir::Module → export → PTX text
//! ```
//!
//! [`import`] reads what compilers print for ordinary kernels; [`export`] writes what NVIDIA's assembler accepts.
//! Importing is syntactic: spaces of generic accesses are for the pass `infer-space` to find.

mod export;
mod lexer;
mod lower;
mod parser;
mod problem;
mod syntax;

use crate::ir::Module;
use alloc::format;
use alloc::vec::Vec;
pub use export::{Export, ExportProblem, export};
pub use problem::Problem;

/// Bytes that a PTX file may have.
pub const MAX_SOURCE: usize = 4 << 20;

/// What a PTX file says.
#[derive(Clone, Default)]
pub struct Imported {
    /// The kernels, functions and variables that could be loaded.
    pub module: Module,
    /// What is wrong or not supported, in the order of the text.
    pub problems: Vec<Problem>,
}

/// Reads PTX. Never fails as a whole: a kernel with an error is left out and the others load.
pub fn import(source: &str) -> Imported {
    if source.len() > MAX_SOURCE {
        let message = format!("the file has {} bytes, at most {MAX_SOURCE} are read", source.len());
        let problem = Problem::error("ptx-limit", Default::default(), &message, None);
        return Imported { module: Module::default(), problems: Vec::from([problem]) };
    }
    let (file, mut problems) = parser::parse(source);
    let (module, found) = lower::lower(&file);
    problems.extend(found);
    problems.sort_by_key(|problem| problem.span.start);
    Imported { module, problems }
}
