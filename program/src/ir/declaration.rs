//! Text of a PTX file besides its code: its header, and how it declares functions, parameters and variables.
//!
//! ```text
//! .visible .entry _Z4scalPf(.param .align 16 .b8 s[32]) .maxntid 1024, 1, 1 { … }
//!                                                           before                 name       after
//! function     .visible .entry        _Z4scalPf  .maxntid 1024, 1, 1
//! parameter    .param .align 16 .b8   s          [32]
//! ```
//!
//! Hosts find kernels by name, pass parameters by offset and rely on launch bounds. The PTX importer keeps these
//! texts, passes leave them alone, and the PTX exporter prints them. The text IR does not print them: a program that
//! was written as `.wir` and read again has the exporter's own declarations.

use alloc::string::String;
use alloc::vec::Vec;

/// The directives at the top of a PTX file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileHeader {
    /// Major and minor number of `.version`.
    pub version: (u32, u32),
    /// The operands of `.target`, the architecture first.
    pub target: Vec<String>,
    /// Directives of the whole module, `.pragma "…";`.
    pub directives: Vec<String>,
}

/// The text of a PTX declaration around the name that it declares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// Linkage, space, attributes, alignment and type.
    pub before: String,
    /// The name with its `%` and `$`.
    pub name: String,
    /// Extents and initialiser of a variable; directives of a function, one a line.
    pub after: String,
}
