//! The invariants of a program, listed, then checked.
//!
//! A module
//! - names its kernels and functions, and its globals, apart;
//! - keeps constants reduced to the width of their type.
//!
//! A function
//! - has a block, and each block ends with its one terminator;
//! - goes only to blocks that stand in it, and names its entries once each;
//! - names its registers, inputs, arrays and parameters apart, and its blocks;
//! - branches with one or two targets, switches with at least one, and has targets nowhere else;
//! - returns what it says it returns, at every `ret`; a kernel returns nothing and by no numbered exit;
//! - has profiles about what it has: the blocks, edges and writes that they count exist, and paths begin and end where
//!   [`PathNumbering`](crate::graph::PathNumbering) cuts them (else a warning: passes keep counts for edges that they
//!   have removed).
//!
//! An instruction
//! - has the destinations and operands of its opcode's [signature](crate::ir::Opcode::signature),
//!   and their types agree with it ([`Type::agrees_with`](crate::ir::Type::agrees_with)); `ld`,
//!   `st` and `cvt` may have wider registers;
//! - is guarded by a predicate, or not at all if it is a terminator;
//! - reads only registers that some path from an entry has assigned, a guarded assignment being one; code that no
//!   path reaches reads what it likes;
//! - counts addresses from a 64-bit integer register (32 bits do for shared, local, const and param windows) or a piece
//!   of memory of the space that it names, with integer indices;
//! - writes neither const nor param memory, and moves at most 16 bytes a lane;
//! - calls a function, not a kernel, with what its parameters take, by an entry that it has; `call … to` has a label
//!   for each exit of the callee, an ordinary `call` calls a function with one;
//! - draws from an input of its own type.
//!
//! A launch is of a kernel and gives values to parameters and inputs that this has, once each, of the right kind. A
//! parameter or input without a value is a warning: options or the page may still give one, and a run without one makes
//! one up.
//!
//! Bounds: linear in the program but for one search: a read that no assignment reaches along the depth-first tree costs
//! a search of the blocks, shared by 64 such registers.

mod assigned;
mod inst;
mod launch;
mod memory;
mod structure;

pub use assigned::{unassigned_reads, unassigned_reads_without};

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::ir::{Func, Function, Global, InitialAddress, Inst, Module, Span};
use crate::text::{Diagnostic, Diagnostics, Parsed, Part, instruction_text, parse, part_span, quoted};

/// Verifies a module: at most [`MAX_REPORTED`](crate::text::MAX_REPORTED) errors and as many warnings, in the
/// order of the text.
pub fn verify(module: &Module) -> Vec<Diagnostic> {
    let mut verifier = Verifier::new(module, None);
    verifier.names();
    for (global, _) in module.globals.iter() {
        verifier.global(global);
    }
    for func in module.funcs.keys() {
        verifier.function(&module.funcs[func]);
    }
    verifier.launches();
    verifier.diagnostics.into_sorted()
}

/// Verifies one function of a module.
pub fn verify_function(module: &Module, func: Func) -> Vec<Diagnostic> {
    module.funcs.get(func).map_or_else(Vec::new, |func| verify_version(module, func))
}

/// Verifies a version of a function, which need not be the one that the module holds.
pub fn verify_version(module: &Module, func: &Function) -> Vec<Diagnostic> {
    let mut verifier = Verifier::new(module, None);
    verifier.function(func);
    verifier.diagnostics.into_sorted()
}

/// Verifies the launches of a module, which may come from another text than its functions.
pub fn verify_launches(module: &Module) -> Vec<Diagnostic> {
    let mut verifier = Verifier::new(module, None);
    verifier.launches();
    verifier.diagnostics.into_sorted()
}

/// Parses and verifies a text: the program, and everything that is wrong with it, each in its place.
///
/// Functions with syntax errors are not verified: what they lack may stand in the lines that were left out.
pub fn check(source: &str) -> Parsed {
    let mut parsed = parse(source);
    let mut verifier = Verifier::new(&parsed.module, Some(source));
    for &func in &parsed.complete {
        verifier.function(&parsed.module.funcs[func]);
    }
    verifier.launches();
    let mut all = Diagnostics::default();
    let mut found = verifier.diagnostics.into_sorted();
    found.retain(|diagnostic| match diagnostic.code {
        "unbound" => !launch_has_errors(&parsed, diagnostic.span),
        "unknown-kernel" => {
            let name = source.get(diagnostic.span.start as usize..diagnostic.span.end as usize);
            !parsed.unread.iter().any(|unread| Some(unread.as_str()) == name)
        }
        _ => true,
    });
    parsed.diagnostics.into_iter().chain(found).for_each(|diagnostic| all.push(diagnostic));
    parsed.diagnostics = all.into_sorted();
    parsed
}

/// Is there an error in the launch whose name stands there? A line that was left out may be the one that is missed.
fn launch_has_errors(parsed: &Parsed, launch: Span) -> bool {
    let module = &parsed.module;
    let funcs = module.funcs.values().map(|func| func.span.start);
    let globals = module.globals.values().map(|global| global.span.start);
    let launches = module.launches.iter().map(|launch| launch.span.start);
    let end = funcs.chain(globals).chain(launches).filter(|&start| start > launch.start).min().unwrap_or(u32::MAX);
    parsed.diagnostics.iter().any(|error| error.is_error() && (launch.start..end).contains(&error.span.start))
}

struct Verifier<'m> {
    module: &'m Module,
    /// The text that the module came from, if places in it are to be told exactly.
    source: Option<&'m str>,
    diagnostics: Diagnostics,
    /// How many exits a function has, once somebody has asked.
    exits: RefCell<BTreeMap<Func, u32>>,
}

impl<'m> Verifier<'m> {
    fn new(module: &'m Module, source: Option<&'m str>) -> Self {
        Verifier { module, source, diagnostics: Diagnostics::default(), exits: RefCell::default() }
    }

    fn function(&mut self, func: &Function) {
        let before = self.diagnostics.error_count();
        self.structure(func);
        for block in func.block_order() {
            for inst in func.block_insts(block) {
                self.instruction(func, inst);
            }
        }
        if self.diagnostics.error_count() == before {
            self.assigned(func);
        }
    }

    /// Exits of a function.
    fn exit_count(&self, func: Func) -> u32 {
        let Some(function) = self.module.funcs.get(func) else { return 1 };
        *self.exits.borrow_mut().entry(func).or_insert_with(|| function.exit_count())
    }

    // --- modules
    // -------------------------------------------------------------------------------------------------------

    fn names(&mut self) {
        let funcs = self.module.funcs.values().map(|func| (func.name.as_str(), func.span));
        let globals = self.module.globals.values().map(|global| (global.name.as_str(), global.span));
        let twice = repeated(funcs).into_iter().chain(repeated(globals)).collect::<Vec<_>>();
        for (name, span, first) in twice {
            let diagnostic = Diagnostic::error("duplicate-name", span, format!("the name {} is taken", quoted(name)));
            self.diagnostics.push(diagnostic.with_label(first, "first declared here"));
        }
    }

    fn global(&mut self, id: Global) {
        let global = &self.module.globals[id];
        let Some(init) = &global.init else { return };
        if init.len() > global.len as usize {
            let message = format!("{} has {} elements and {} values", quoted(&global.name), global.len, init.len());
            self.diagnostics.push(Diagnostic::error("too-many", global.span, message));
        }
        let is_placed = |address: &InitialAddress| {
            (address.element as usize) < init.len() && self.module.globals.is_valid(address.global)
        };
        let is_wide = global.ty.bits() == 64 && !global.ty.is_float();
        if !global.addresses.iter().all(|address| is_wide && is_placed(address)) {
            let message = format!("{} starts with an invalid address", quoted(&global.name));
            self.diagnostics.push(Diagnostic::error("type-mismatch", global.span, message));
        }
        if let Some(bits) = init.iter().find(|bits| **bits & !global.ty.mask() != 0) {
            let message = format!("the constant {bits:#x} is wider than type {}", global.ty);
            self.diagnostics.push(Diagnostic::error("constant-range", global.span, message));
        }
    }

    // --- reporting
    // -----------------------------------------------------------------------------------------------------

    /// An error about a part of an instruction.
    fn error(&self, func: &Function, inst: Inst, part: Part, code: &'static str, message: String) -> Diagnostic {
        let span = func.inst_spans[inst];
        if span == Span::default() {
            // An instruction that a pass has made stands nowhere in the source.
            let block = func.inst_block(inst).map_or("", |block| &func.blocks[block].name);
            let text = instruction_text(self.module, func, inst);
            let place = format!("{message} (in `{text}`, block {} of {})", quoted(block), quoted(&func.name));
            return Diagnostic::error(code, func.span, place);
        }
        let span = self.source.map_or(span, |source| part_span(source, span, &func.insts[inst], part));
        Diagnostic::error(code, span, message)
    }

    fn report(&mut self, func: &Function, inst: Inst, part: Part, code: &'static str, message: String) {
        let diagnostic = self.error(func, inst, part, code, message);
        self.diagnostics.push(diagnostic);
    }
}

/// Names that stand twice: the name, the later place, the first place.
fn repeated<'n>(names: impl Iterator<Item = (&'n str, Span)>) -> Vec<(&'n str, Span, Span)> {
    let mut first = BTreeMap::new();
    let mut found = Vec::new();
    for (name, span) in names {
        match first.get(name) {
            Some(&first) => found.push((name, span, first)),
            None => {
                first.insert(name, span);
            }
        }
    }
    found
}
