//! Writes a module as PTX that `ptxas` assembles.
//!
//! ```text
//! kernel saxpy(n: u32, x: ptr.global) {          .visible .entry saxpy(.param .u32 saxpy_param_0, …)
//! entry:                                         {
//!     i = mad.u32 %ctaid, %ntid, %tid       →      ld.param.u32 %n, [saxpy_param_0];
//!     xi = ld.global.f32 x[i]                      mov.u32 %_t1, %ctaid.x; …
//!                                                  mad.wide.u32 %_t4, %i, 4, %x;
//!                                                  ld.global.f32 %xi, [%_t4];
//! ```
//!
//! What PTX has no room for is computed into temporaries in front of the instruction: scaled indices, special
//! registers as operands, a carry that is used far from its definition ([`carry`]), addresses in another form than an
//! access wants ([`forms`]). Registers are declared with `b` types, which agree with every instruction. Parameters
//! are loaded into their registers at the top, or where the only use is one `mov`, there. A register that may be read
//! before it is assigned starts as the 0 that it is here ([`unassigned`]). A guard is left out where it makes no
//! difference ([`guards`]).
//!
//! Declarations that were read from PTX come out as they were: names ([`names`]), linkage,
//! attributes, alignments, element types, launch bounds and pragmas, also of what is not used or
//! stands in other files. Functions take and return aggregates by value as they did
//! ([`aggregates`]). Version and target are those of the source, or the least that what is written
//! asks for ([`requirements`]).
//!
//! Not expressible, and reported where they stand: `in`, `work`, functions with several entries or exits, arrays by
//! value of functions, directed roundings of f16, `.sat` beside `.cc`, atomics of types for which PTX has none, loads
//! that release and stores that acquire. A function with such an instruction is left out. A load that must not fault
//! (`.spec`) is printed as an ordinary one, and listed: whoever hands the text on decides whether that will do.
//!
//! An `add`, `sub` or `mul` of floats without a rounding stays one: `ptxas` may fuse a product with
//! a sum, which rounds once where the simulator rounds twice (`-fmad=false` keeps it from that).
//! Positions and lengths of bit fields beyond a byte are outside of what PTX defines, and are not
//! masked.
//!
//! Linear in the module, but for the search in [`unassigned`].
//!
//! Source: PTX ISA 7.0 (the first for sm_80); checked against `ptxas` by the tests.

mod address;
mod aggregates;
mod carry;
mod forms;
mod function;
mod guards;
mod instruction;
mod limits;
mod names;
mod requirements;
mod spelling;
mod unassigned;

use crate::ir::{Declaration, Func, FuncKind, Function, Global, GlobalData, Item, Module, ParamType, Space, Type};
use crate::text::Diagnostic;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};
use names::ModuleNames;
pub(super) use unassigned::may_be_read_unassigned;

/// PTX, and what it could not say.
#[derive(Clone, Debug, Default)]
pub struct Export {
    /// The text. Functions with an error are missing.
    pub text: String,
    /// Errors and warnings. Their spans are in the source that the module was read from, and empty for an instruction
    /// that a pass made.
    pub diagnostics: Vec<Diagnostic>,
    /// Loads that must not fault (`.spec`) and are printed as ordinary ones, which may.
    pub plain_loads: Vec<PlainLoad>,
}

/// A load that must not fault, in a text that cannot say so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlainLoad {
    /// Its kernel or function.
    pub func: String,
    /// Its block.
    pub block: String,
    /// The instruction in the text IR.
    pub text: String,
    /// Its line in the PTX, from 1.
    pub line: u32,
}

impl fmt::Display for PlainLoad {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` in block `{}` of `{}`", self.text, self.block, self.func)
    }
}

/// A diagnostic on its way; a warning names a line of the PTX, counted from the function's body until that is placed.
struct Problem {
    line: Option<u32>,
    diagnostic: Diagnostic,
}

/// Writes a module as PTX: for the version and target that it was read with, otherwise for sm_80.
pub fn export(module: &Module) -> Export {
    let mut export = Export::default();
    let names = ModuleNames::new(module);
    let mut bodies = Vec::new();
    for item in &module.items {
        let &Item::Func(id) = item else { continue };
        bodies.push((id, function::body(module, &names, id)));
    }
    // Who calls a function that cannot be written cannot be written either.
    let mut callers: BTreeMap<Func, Vec<usize>> = BTreeMap::new();
    let mut missing: BTreeSet<Func> = BTreeSet::new();
    for (index, (id, body)) in bodies.iter().enumerate() {
        body.callees.iter().for_each(|&callee| callers.entry(callee).or_default().push(index));
        if body.problems.iter().any(|problem| problem.line.is_none()) {
            missing.insert(*id);
        }
    }
    let mut work: Vec<Func> = missing.iter().copied().collect();
    while let Some(callee) = work.pop() {
        for &index in callers.get(&callee).into_iter().flatten() {
            let (id, body) = &mut bodies[index];
            if missing.insert(*id) {
                let func = &module.funcs[*id];
                let message = format!("calls `{}`, which PTX cannot express", module.funcs[callee].name);
                let message = format!("`{}` {message}", func.name);
                let diagnostic = Diagnostic::error("ptx-inexpressible", func.span, message);
                body.problems.push(Problem { line: None, diagnostic });
                work.push(*id);
            }
        }
    }
    let written = bodies.iter().filter(|(id, _)| !missing.contains(id));
    export.text = requirements::header(module, written.map(|(_, body)| body.needs));
    for Declaration { before, name, after } in &module.declarations {
        let _ = writeln!(export.text, "\n{before} {name}{after};");
    }
    for item in &module.items {
        if let &Item::Global(global) = item {
            write_global(&mut export.text, &module.globals[global], global, &names);
        }
    }
    export.diagnostics.extend(limits::constants(module));
    write_dynamic_arrays(&mut export.text, module, &names);
    // Functions may call what stands below them, so each is declared first.
    for (_, body) in bodies.iter().filter(|(id, _)| !missing.contains(id) && module.funcs[*id].kind == FuncKind::Func) {
        let _ = write!(export.text, "\n{};\n{}", body.head, body.alias_heads);
    }
    let aliases: String =
        bodies.iter().filter(|(id, _)| !missing.contains(id)).map(|(_, body)| body.aliases.as_str()).collect();
    let mut lines = export.text.lines().count() as u32;
    for (id, mut body) in bodies {
        if !missing.contains(&id) {
            let head = format!("\n{}\n{{\n{}", body.head, body.declarations);
            lines += head.lines().count() as u32;
            for problem in &mut body.problems {
                if let Some(line) = problem.line {
                    let message = &mut problem.diagnostic.message;
                    *message = format!("line {} of the PTX: {message}", line + lines);
                }
            }
            for load in &mut body.plain_loads {
                load.line += lines;
            }
            export.plain_loads.append(&mut body.plain_loads);
            let _ = writeln!(export.text, "{head}{}}}", body.text);
            lines += body.text.lines().count() as u32 + 1;
        }
        export.diagnostics.extend(body.problems.into_iter().map(|problem| problem.diagnostic));
    }
    export.text += &aliases;
    export
}

/// Shared arrays that the launch sizes stand at module scope in PTX; all of them are one memory.
fn write_dynamic_arrays(text: &mut String, module: &Module, names: &ModuleNames) {
    let mut written = BTreeSet::new();
    let arrays = module.funcs.values().flat_map(|func| func.arrays.values());
    for array in arrays.filter(|array| array.len.is_none() && !array.is_of_file) {
        let declaration = array.declaration.as_ref();
        let own = declaration.map_or(&array.name, |declaration| &declaration.name);
        if let Some(name) = names.dynamic.get(own).filter(|name| written.insert(*name)) {
            let before = declaration.map_or(".shared .align 16 .b8", |declaration| &declaration.before);
            let _ = writeln!(text, "\n.extern {before} {name}[];");
        }
    }
}

fn write_global(text: &mut String, global: &GlobalData, id: Global, names: &ModuleNames) {
    let name = &names.globals[id];
    if let Some(declaration) = &global.declaration {
        // PTX has had no `.tex` since version 1.5, before the least version that is written.
        let before = match declaration.before.split_once(".tex ") {
            Some((linkage, _)) => format!("{linkage}.global .texref"),
            None => declaration.before.clone(),
        };
        let has_initialiser = declaration.after.contains('=');
        let _ = write!(text, "\n{before} {name}{}", declaration.after);
        if let (Some(init), false) = (&global.init, has_initialiser) {
            let elements = initialiser(global, init, names);
            let _ = if declaration.after.is_empty() {
                write!(text, " = {elements}")
            } else {
                write!(text, " = {{{elements}}}")
            };
        }
        text.push_str(";\n");
        return;
    }
    let space = if global.space == Space::Const { "const" } else { "global" };
    if let Some(reference) = global.reference {
        let _ = writeln!(text, "\n.visible .{space} .{} {};", reference.name(), name);
        return;
    }
    let ty = memory_type(global.ty);
    let _ = write!(text, "\n.visible .{space} .align 16 .{ty} {name}[{}]", global.len.max(1));
    if let Some(init) = &global.init {
        let _ = write!(text, " = {{{}}}", initialiser(global, init, names));
    }
    text.push_str(";\n");
}

/// The initial elements, between commas.
fn initialiser(global: &GlobalData, init: &[u64], names: &ModuleNames) -> String {
    let mut elements: Vec<String> = init.iter().map(|&bits| literal(bits, global.ty)).collect();
    for address in &global.addresses {
        let offset = if address.offset == 0 { String::new() } else { format!("+{}", address.offset) };
        elements[address.element as usize] = format!("generic({}){offset}", names.globals[address.global]);
    }
    elements.join(", ")
}

/// The type of an element in memory; PTX has no `f16` there.
fn memory_type(ty: Type) -> Type {
    if ty == Type::F16 { Type::B16 } else { ty }
}

/// A constant of that type as PTX writes it.
fn literal(bits: u64, ty: Type) -> String {
    let bits = bits & ty.mask();
    match ty {
        Type::F32 => format!("0f{bits:08X}"),
        Type::F64 => format!("0d{bits:016X}"),
        Type::F16 => format!("0x{bits:04X}"),
        _ if ty.is_signed() => ty.extend(bits).to_string(),
        _ => bits.to_string(),
    }
}

/// The bits of a parameter or result of that type: PTX passes predicates as numbers.
fn param_type(ty: Type) -> Type {
    if ty == Type::Pred { Type::B32 } else { memory_type(ty).as_bits() }
}

/// The type of a parameter or result of a function, which PTX passes in 32 bits or more.
fn passed_type(ty: Type) -> Type {
    if ty.bits() < 32 { Type::B32 } else { param_type(ty) }
}

fn unsupported_param(func: &Function) -> Option<&str> {
    let mut params = func.params.iter();
    params
        .find(|param| func.kind == FuncKind::Func && matches!(param.ty, ParamType::Array(..)))
        .map(|param| param.name.as_str())
}
