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
//! Not expressible, and reported where they stand: `in`, `work`, functions with several entries or exits, arrays by
//! value of functions, directed roundings of f16, `.sat` beside `.cc`, atomics of types for which PTX has none, loads
//! that release and stores that acquire. A function with such an instruction is left out. A load that must not fault
//! (`.spec`) is printed as an ordinary one, with a warning that names the line.
//!
//! An `add`, `sub` or `mul` of floats without a rounding stays one: `ptxas` may fuse a product with a sum, which rounds
//! once where the simulator rounds twice (`-fmad=false` keeps it from that). Positions and lengths of bit fields beyond a
//! byte are outside of what PTX defines, and are not masked.
//!
//! Linear in the module, but for the search in [`unassigned`].
//!
//! Source: PTX ISA 7.0 (the first for sm_80); checked against `ptxas` by the tests.

mod address;
mod carry;
mod forms;
mod function;
mod guards;
mod instruction;
mod spelling;
mod unassigned;

use crate::ir::{
    Func, FuncKind, Function, GlobalData, InstData, Item, Module, Op, Operand, ParamType, Space, Special, Type,
};
use crate::text::Diagnostic;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
pub(super) use unassigned::may_be_read_unassigned;

/// PTX, and what it could not say.
#[derive(Clone, Debug, Default)]
pub struct Export {
    /// The text. Functions with an error are missing.
    pub text: String,
    /// Errors and warnings. Their spans are in the source that the module was read from, and empty for an instruction
    /// that a pass made.
    pub diagnostics: Vec<Diagnostic>,
}

/// A diagnostic on its way; a warning names a line of the PTX, counted from the function's body until that is placed.
struct Problem {
    line: Option<u32>,
    diagnostic: Diagnostic,
}

/// Writes a module as PTX for sm_80.
pub fn export(module: &Module) -> Export {
    let mut export = Export::default();
    let _ = writeln!(export.text, ".version {}\n.target sm_80\n.address_size 64", version(module));
    let mut bodies = Vec::new();
    for item in &module.items {
        let &Item::Func(id) = item else { continue };
        bodies.push((id, function::body(module, id)));
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
    for global in module.items.iter().filter_map(|item| match item {
        Item::Global(global) => Some(&module.globals[*global]),
        _ => None,
    }) {
        write_global(&mut export.text, module, global);
    }
    for name in dynamic_arrays(module) {
        let _ = writeln!(export.text, "\n.extern .shared .align 16 .b8 {name}[];");
    }
    // Functions may call what stands below them, so each is declared first.
    for (id, _) in bodies.iter().filter(|(id, _)| !missing.contains(id)) {
        let func = &module.funcs[*id];
        if func.kind == FuncKind::Func {
            let _ = writeln!(export.text, "\n{};", function::head(func));
        }
    }
    let mut lines = export.text.lines().count() as u32;
    for (id, mut body) in bodies {
        if !missing.contains(&id) {
            let head = format!("\n{}\n{{\n{}", function::head(&module.funcs[id]), body.declarations);
            lines += head.lines().count() as u32;
            for problem in &mut body.problems {
                if let Some(line) = problem.line {
                    let message = &mut problem.diagnostic.message;
                    *message = format!("line {} of the PTX: {message}", line + lines);
                }
            }
            let _ = writeln!(export.text, "{head}{}}}", body.text);
            lines += body.text.lines().count() as u32 + 1;
        }
        export.diagnostics.extend(body.problems.into_iter().map(|problem| problem.diagnostic));
    }
    export
}

/// The oldest version of PTX that has all that is written: the first one for sm_80, as a rule.
fn version(module: &Module) -> &'static str {
    let has = |is_such: &dyn Fn(&InstData) -> bool| {
        let of_func = |func: &Function| {
            func.block_order().flat_map(|block| func.block_insts(block)).any(|inst| is_such(&func.insts[inst]))
        };
        module.funcs.values().any(of_func)
    };
    if has(&|inst| inst.opcode.op == Op::Cvta && inst.opcode.space == Some(Space::Param)) {
        return "7.7";
    }
    let is_reserved = |arg: &Operand| matches!(arg, Operand::Special(Special::ReservedSmem(_)));
    if has(&|inst| inst.args.iter().any(is_reserved)) { "7.6" } else { "7.0" }
}

/// Shared arrays that the launch sizes stand at module scope in PTX; all of them are one memory.
fn dynamic_arrays(module: &Module) -> BTreeSet<String> {
    let arrays = module.funcs.values().flat_map(|func| func.arrays.values());
    arrays.filter(|array| array.len.is_none()).map(|array| dynamic_name(module, &array.name)).collect()
}

/// The name of such an array, which in the text IR belongs to its kernel.
fn dynamic_name(module: &Module, name: &str) -> String {
    let mut name = symbol(name);
    while module.func_by_name(&name).is_some() || module.global_by_name(&name).is_some() {
        name.push('_');
    }
    name
}

fn write_global(text: &mut String, module: &Module, global: &GlobalData) {
    let space = if global.space == Space::Const { "const" } else { "global" };
    if let Some(reference) = global.reference {
        let _ = writeln!(text, "\n.visible .{space} .{} {};", reference.name(), symbol(&global.name));
        return;
    }
    let ty = memory_type(global.ty);
    let _ = write!(text, "\n.visible .{space} .align 16 .{ty} {}[{}]", symbol(&global.name), global.len.max(1));
    if let Some(init) = &global.init {
        let mut elements: Vec<String> = init.iter().map(|&bits| literal(bits, global.ty)).collect();
        for address in &global.addresses {
            let offset = if address.offset == 0 { String::new() } else { format!("+{}", address.offset) };
            elements[address.element as usize] =
                format!("generic({}){offset}", symbol(&module.globals[address.global].name));
        }
        let _ = write!(text, " = {{{}}}", elements.join(", "));
    }
    text.push_str(";\n");
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
        _ if ty.is_signed() => {
            let shift = 64 - ty.bits();
            (((bits << shift) as i64) >> shift).to_string()
        }
        _ => bits.to_string(),
    }
}

/// A module's name in PTX: opcodes and directives are reserved there.
fn symbol(name: &str) -> String {
    let reserved = crate::ir::Op::ALL.iter().any(|op| op.name().split(['.', ' ']).next() == Some(name));
    let other = matches!(
        name,
        "bra"
            | "brx"
            | "bar"
            | "barrier"
            | "cp"
            | "mma"
            | "wmma"
            | "set"
            | "slct"
            | "tex"
            | "suld"
            | "sust"
            | "trap"
            | "vote"
            | "shfl"
            | "match"
            | "redux"
            | "shf"
            | "sad"
            | "lop3"
            | "bfind"
            | "prefetch"
            | "prefetchu"
            | "isspacep"
            | "fence"
            | "pmevent"
            | "nanosleep"
            | "mul24"
            | "mad24"
            | "cnot"
            | "testp"
            | "dp4a"
            | "dp2a"
            | "brkpt"
            | "txq"
            | "tld4"
            | "ldu"
            | "_"
            | "WARP_SZ"
    );
    if reserved || other { format!("{name}_0") } else { name.to_string() }
}

/// The bits of a parameter or result of that type: PTX passes predicates as numbers.
fn param_type(ty: Type) -> Type {
    if ty == Type::Pred { Type::B32 } else { memory_type(ty).as_bits() }
}

fn unsupported_param(func: &Function) -> Option<&str> {
    let mut params = func.params.iter();
    params
        .find(|param| func.kind == FuncKind::Func && matches!(param.ty, ParamType::Array(..)))
        .map(|param| param.name.as_str())
}
