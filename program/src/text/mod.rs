//! The text of a program: `.wir` to a [`Module`](crate::ir::Module) and back.
//!
//! [`parse`] accepts any text and reports what is wrong with it; [`print`] writes the canonical text. Printing what
//! was parsed and parsing that again gives the same program, comments included.

mod diagnostic;
mod foreign;
mod inference;
mod invisible;
mod lexer;
mod limits;
mod nearest_half;
mod number;
mod parser;
mod place;
mod printer;
mod suggestion;

pub use diagnostic::{
    CODES, Diagnostic, Diagnostics, Label, LineIndex, MAX_REPORTED, Position, Severity, Suggestion, quoted,
};
#[doc(hidden)]
pub use foreign::{foreign_language, ptx_as_wir};
pub use inference::inferred_types;
pub use invisible::invisible_name;
#[doc(hidden)]
pub use invisible::{remove_consequences, report_invisible};
pub use limits::*;
#[doc(hidden)]
pub use number::canonical_nan;
pub use number::constant_text;
pub use parser::{Parsed, describe_kind as describe_operand_kind, parse};
pub use place::{Part, part_span};
pub use printer::{
    LineMap, LineOwner, Printed, expression_text, instruction_text, print, print_function, print_launches,
    print_with_lines,
};
pub use suggestion::{edit_distance, nearest};
