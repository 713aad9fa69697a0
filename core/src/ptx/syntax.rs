//! The syntax tree of a PTX file: what the parser found, before any of it means something.
//!
//! ```text
//! @%p1 ld.global.v2.f32 {%f1, %f2}, [%rd4+8];
//! Inst { guard: %p1, opcode: "ld", modifiers: ["global", "v2", "f32"],
//!        operands: [Vector[%f1, %f2], Address { base: %rd4, offset: 8 }] }
//! ```
//!
//! Names are slices of the source. Scopes are flat: `{` and `}` inside a body are statements, so that no input can
//! nest the tree deeper than a few levels.

use crate::ir::{FileHeader, Span};
use alloc::string::String;
use alloc::vec::Vec;

/// A slice of the source and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// As written, with `%`, `$` and dots.
    pub text: &'a str,
    /// Place in the source.
    pub span: Span,
}

/// A file: its variables and functions in the order of the text.
#[derive(Clone, Debug, Default)]
pub struct File<'a> {
    /// The directives at its top; none where `.version` or `.target` is missing.
    pub header: Option<FileHeader>,
    /// Module-scope variables (`.global`, `.const`, `.shared`).
    pub variables: Vec<Variable<'a>>,
    /// Entries, functions and their forward declarations.
    pub functions: Vec<Function<'a>>,
    /// `.alias name, function;`
    pub aliases: Vec<(Name<'a>, Name<'a>)>,
    /// Names in declarations that could not be read.
    pub refused: Vec<&'a str>,
}

/// A declaration of a register, a parameter or a piece of memory.
#[derive(Clone, Debug)]
pub struct Variable<'a> {
    /// Its name; for a register span `%r<6>` the prefix `%r`.
    pub name: Name<'a>,
    /// `reg`, `param`, `global`, `shared`, `local` or `const`.
    pub space: &'a str,
    /// The type without its dot, `u32`.
    pub scalar: Name<'a>,
    /// 2 or 4 after `.v2` or `.v4`, otherwise 1.
    pub lanes: u8,
    /// Alignment in bytes, if `.align` gives one.
    pub align: Option<u32>,
    /// The count of `%r<6>`.
    pub count: Option<u64>,
    /// Elements of an array in all; `None` for a scalar, 0 for an array without a size.
    pub elements: Option<u64>,
    /// The initial elements.
    pub init: Vec<Initial<'a>>,
    /// `.ptr` on a parameter: the space it names, if any.
    pub pointer: Option<Option<&'a str>>,
    /// Declared `.extern`: defined elsewhere, or sized by the launch.
    pub external: bool,
    /// Linkage, `.visible` or `.weak`, of a variable at module scope.
    pub linkage: String,
    /// The text before the name, from the space on. Registers have none.
    pub before: String,
    /// The text after the name: extents and initialiser.
    pub after: String,
}

/// One element of an initialiser.
#[derive(Clone, Copy, Debug)]
pub enum Initial<'a> {
    /// A number.
    Number(Number),
    /// The address of a variable or function, and bytes beyond.
    Address(Name<'a>, i64),
}

/// A literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer, sign-extended where a minus stood before it.
    Int(u64),
    /// Bits of a 32-bit float.
    Single(u32),
    /// Bits of a 64-bit float.
    Double(u64),
}

/// An entry, a function, or the declaration of one.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// `.entry` rather than `.func`.
    pub entry: bool,
    /// Return parameters of a `.func`.
    pub returns: Vec<Variable<'a>>,
    /// Parameters.
    pub params: Vec<Variable<'a>>,
    /// Statements; `None` where only declared.
    pub body: Option<Vec<Statement<'a>>>,
    /// The closing brace, or the end of the declaration.
    pub end: Span,
    /// Errors were found inside it, so it cannot be lowered.
    pub broken: bool,
    /// The text before the result and the name: linkage, `.entry` or `.func`, attributes.
    pub before: String,
    /// The directives after the parameters, one a line.
    pub directives: String,
}

/// One statement of a body.
#[derive(Clone, Debug)]
pub enum Statement<'a> {
    /// `name:`
    Label(Name<'a>),
    /// `.reg`, `.local`, `.shared` or `.param` inside the body.
    Variable(Variable<'a>),
    /// An instruction.
    Inst(Inst<'a>),
    /// `.pragma "nounroll";`
    Pragma(String),
    /// `name: .branchtargets a, b, …;`
    Targets(Name<'a>, Vec<Name<'a>>),
    /// `{`
    Open,
    /// `}`
    Close,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Inst<'a> {
    /// From the guard or opcode to the last operand.
    pub span: Span,
    /// The guarding predicate.
    pub guard: Option<Guard<'a>>,
    /// The first word, `ld`.
    pub opcode: Name<'a>,
    /// The words after it without their dots.
    pub modifiers: Vec<&'a str>,
    /// In order of the text.
    pub operands: Vec<Operand<'a>>,
}

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug)]
pub struct Guard<'a> {
    /// The predicate register.
    pub register: Name<'a>,
    /// `!` stood before it.
    pub negated: bool,
}

/// An operand and where it stands.
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    /// Kind of the operand.
    pub kind: OperandKind<'a>,
    /// Place in the source.
    pub span: Span,
}

/// Kind of an operand.
#[derive(Clone, Debug)]
pub enum OperandKind<'a> {
    /// A register, special register, label, variable, or the sink `_`.
    Name(&'a str),
    /// `!%p`
    Not(&'a str),
    /// `%p|%q`
    Pair(&'a str, &'a str),
    /// A literal.
    Number(Number),
    /// `name+4` outside brackets: the address of a variable and bytes.
    Offset(&'a str, i64),
    /// `[base+offset]`, the base a register or a variable, absent in `[4096]`.
    Address(Option<&'a str>, i64),
    /// `[texture, {x, y}]`, or with a sampler `[texture, sampler, {x, y}]`
    Texture(&'a str, Option<&'a str>, Vec<Operand<'a>>),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `(a, b)` of a call.
    List(Vec<Operand<'a>>),
}
