//! Lowers the syntax tree of a PTX file to a module of the text IR.
//!
//! ```text
//! .visible .entry k(.param .u32 k_param_0)      kernel k(k_param_0: u32) {
//! {                                             entry:
//!   ld.param.u32 %r1, [k_param_0];          →       r1 = mov.u32 k_param_0
//!   @%p1 bra $L__BB0_2;                             br p1, L__BB0_2, L__BB0_1
//! ```
//!
//! The lowering is syntactic: one instruction becomes one, registers stay registers that may be written many times,
//! and generic accesses stay generic. What the text IR says differently is rewritten on the way:
//!
//! - a guarded `bra`, `ret` or `exit` ends its block; what falls through gets a block;
//! - a scalar parameter is a register, so `ld.param` of it is a `mov`;
//! - the `.param` variables around a call disappear: their values become operands and the result of the call. An
//!   aggregate passes by the address of a local array, which nobody else can reach;
//! - a `.shared` variable of the file is an array of every kernel that reaches it, and functions get it as a
//!   pointer, because shared arrays belong to kernels here; how it is declared, and what other files define, is kept;
//! - the carry flag is a predicate register, inverted between subtractions and additions ([`carries`]);
//! - a call of what a register says is a `switch` over the functions whose address is taken ([`indirect`]);
//! - a call of an alias is a call of its function, which keeps the names that PTX gives it;
//! - what the text IR has no counterpart of is an opaque instruction ([`opaque`]);
//! - a few opcodes become short sequences ([`expand`]), among them those of two halves ([`halves`])
//!   and of bfloats ([`bfloats`]), of floats of 8 bits ([`narrow`]) and of vectors ([`packed`]),
//!   and an asynchronous copy is done at once ([`copies`]);
//! - a register that is read although nothing assigns it starts as 0, with a warning ([`unassigned`]).
//!
//! A function with an error is left out, and so is whoever calls it, each with a diagnostic; the others load.
//!
//! Bounds: linear in the file times a logarithm, except that finding who reaches a module's shared variables takes
//! variables × calls; a file with more than [`SHARED_VARIABLES`] of them is refused.
//!
//! Source: PTX ISA, "Instruction Set" and "Abstracting the ABI".

mod bfloats;
mod body;
mod call;
mod carries;
mod control;
mod copies;
mod expand;
mod functions;
mod halves;
mod indirect;
mod instruction;
mod lop3;
mod names;
mod narrow;
mod opaque;
mod operand;
mod packed;
mod special;
mod types;
mod unassigned;

pub use unassigned::start_at_zero;

use super::syntax::{File, Function as Source, Initial, Inst, Name, Number, OperandKind, Statement, Variable};
use crate::compact_sort::CompactSort;
use crate::ir::{
    Control, Declaration, Func, FuncKind, Function, Global, GlobalData, InitialAddress, Item, Module, NameSpace, Op,
    Operand, ParamType, Reference, Reg, Space, Span, Type,
};
use crate::text::{Diagnostic, Diagnostics, MAX_ARRAY_BYTES, MAX_PARAMS, MAX_SHARED_BYTES, canonical_nan};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;

/// The code of warnings that something does nothing here, or something else.
const IGNORED: &str = "ptx-ignored";

/// The code of errors about registers and labels that a function should declare.
const UNKNOWN: &str = "ptx-unknown-name";

/// The code of errors about functions and variables that the file should define.
const UNDEFINED: &str = "ptx-undefined";

/// Module-scope shared variables a file may have.
const SHARED_VARIABLES: usize = 256;

/// The module that a file says; what could not be lowered goes to `problems`.
pub(super) fn lower(file: &File<'_>, problems: &mut Diagnostics) -> Module {
    let header = file.header.clone().filter(|header| !header.target.is_empty());
    let mut module = Module { header, ..Module::default() };
    let mut positions = Vec::new();
    let mut context = Context { refused: file.refused.iter().copied().collect(), ..Context::default() };
    let mut sources: Vec<&Source> = Vec::new();
    for source in file.functions.iter().filter(|function| function.body.is_some()) {
        if let Some(first) = context.funcs.get(source.name.text) {
            problems.push(defined_twice(source.name, sources[first.index()].name.span));
            continue;
        }
        context.funcs.insert(source.name.text, Func::from_u32(context.funcs.len() as u32));
        sources.push(source);
    }
    let aliases = context.find_aliases(file, &sources, problems);
    context.find_addressed(file, &sources);
    context.find_read(file);
    module.declarations = context.find_declarations(file);
    for variable in &file.variables {
        if variable.external && variable.space != "shared" {
            continue;
        }
        if variable.space == "shared" && context.shared.len() >= SHARED_VARIABLES {
            let message = format!("a module has at most {SHARED_VARIABLES} shared variables");
            problems.push(Diagnostic::error("ptx-limit", variable.name.span, message));
            context.refused.insert(variable.name.text);
        } else if variable.space == "shared" {
            if let Some(first) = context.shared.insert(variable.name.text, variable)
                && !(first.external && variable.external)
            {
                problems.push(defined_twice(variable.name, first.name.span));
            }
        } else if let Some(&first) = context.globals.get(variable.name.text) {
            problems.push(defined_twice(variable.name, module.globals[first].span));
        } else {
            match context.global(variable, context.reserved.fresh(&names::clean(variable.name.text))) {
                Ok(data) => {
                    if data.init.is_some() && data.declaration.as_ref().is_some_and(|it| !it.after.contains('=')) {
                        let message = format!(
                            "`{}` holds function numbers instead of addresses: other files cannot call through it",
                            variable.name.text
                        );
                        problems.push(Diagnostic::warning(IGNORED, variable.name.span, message));
                    }
                    context.reserved.take(&data.name);
                    let is_texture = data.reference == Some(Reference::Texture);
                    let global = module.globals.push(data);
                    context.textures.extend(is_texture.then_some(global));
                    context.globals.insert(variable.name.text, global);
                    positions.push((variable.name.span.start, Item::Global(global)));
                }
                Err(problem) => {
                    problems.push(*problem);
                    context.refused.insert(variable.name.text);
                }
            }
        }
    }
    context.reach_shared(&sources);
    for (index, source) in sources.iter().enumerate() {
        let ty = FuncType::of(source, context.reached[index].len());
        context.types.push(ty);
    }
    let mut lowered = Vec::new();
    let mut func_names = NameSpace::default();
    // What is left out, and what the whole file lacks, is reported once of a file, at its first use.
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut is_news =
        |problem: &Diagnostic| !matches!(problem.code, IGNORED | UNDEFINED) || known.insert(problem.message.clone());
    for (index, source) in sources.iter().enumerate() {
        let name = func_names.fresh(&names::clean(source.name.text));
        func_names.take(&name);
        let body::Outcome { mut function, problems: mut errors, names_refused } =
            body::lower(&context, index, name, source);
        let sound = !source.broken && !names_refused && !errors.iter().any(Diagnostic::is_error);
        function.aliases = aliases.get(&Func::from_u32(index as u32)).cloned().unwrap_or_default();
        if sound {
            errors.extend(unassigned::assign(&mut function));
        }
        errors.into_iter().filter(&mut is_news).for_each(|error| problems.push(error));
        lowered.push((source, sound.then_some(function)));
    }
    drop_callers(&mut lowered, problems);

    // Ids are dense, so what is left is numbered again.
    let mut ids: Vec<Option<Func>> = vec![None; lowered.len()];
    for (index, (source, function)) in lowered.into_iter().enumerate() {
        if let Some(function) = function {
            let id = module.funcs.push(function);
            ids[index] = Some(id);
            positions.push((source.name.span.start, Item::Func(id)));
        }
    }
    for function in module.funcs.values_mut() {
        for inst in function.insts.values_mut() {
            if let Some(Control::Call(call)) = inst.control.as_deref_mut()
                && let Some(id) = ids[call.callee.func.as_u32() as usize]
            {
                call.callee.func = id;
            }
        }
    }
    mark_textures(&mut module);
    positions.compact_sort_by_key(|&(start, _)| start);
    module.items = positions.into_iter().map(|(_, item)| item).collect();
    module
}

/// Names that every function of the file may use.
#[derive(Default)]
struct Context<'a> {
    globals: BTreeMap<&'a str, Global>,
    /// The globals that are references to textures.
    textures: BTreeSet<Global>,
    /// Names of globals in the text IR, which no register may take.
    reserved: NameSpace,
    /// Variables that only other files define.
    external: BTreeSet<&'a str>,
    /// Names in bodies and in initialisers of variables.
    read: BTreeSet<&'a str>,
    /// Names whose declarations have been refused: their uses are no further errors.
    refused: BTreeSet<&'a str>,
    /// Functions with a body, numbered in the order of the text.
    funcs: BTreeMap<&'a str, Func>,
    /// Which names are aliases, each with its place among those of its function.
    aliases: BTreeMap<&'a str, u32>,
    types: Vec<FuncType>,
    /// The functions whose address is taken, in order; the address is the place in this list, from 1.
    addressed: Vec<Func>,
    /// Module-scope shared variables.
    shared: BTreeMap<&'a str, &'a Variable<'a>>,
    /// For each function, the module's shared variables that it or a callee names.
    reached: Vec<Vec<&'a str>>,
}

/// How a function is called.
#[derive(PartialEq, Eq)]
struct FuncType {
    /// Parameters, the hidden ones included: first the aggregate result, last the shared variables.
    params: Vec<ParamType>,
    result: FuncResult,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FuncResult {
    None,
    Scalar(Type),
    /// Written through the first parameter.
    Aggregate,
}

impl FuncType {
    fn of(source: &Source<'_>, shared: usize) -> FuncType {
        let local = ParamType::Pointer { space: Some(Space::Local), restrict: false };
        let result = match source.returns.first() {
            None => FuncResult::None,
            Some(result) if is_aggregate(result) => FuncResult::Aggregate,
            Some(result) => Type::from_name(result.scalar.text).map_or(FuncResult::None, FuncResult::Scalar),
        };
        let hidden = (result == FuncResult::Aggregate).then_some(local);
        let params = source.params.iter().map(|param| match Type::from_name(param.scalar.text) {
            Some(ty) if !is_aggregate(param) => ParamType::Scalar(ty),
            _ => local,
        });
        let pointer = ParamType::Pointer { space: Some(Space::Shared), restrict: false };
        let shared = core::iter::repeat_n(pointer, if source.entry { 0 } else { shared });
        FuncType { params: hidden.into_iter().chain(params).chain(shared).collect(), result }
    }
}

fn is_aggregate(variable: &Variable<'_>) -> bool {
    variable.elements.is_some() || variable.lanes > 1 || is_wide(variable)
}

/// Is it of 128 bits? In memory that is two elements of 64 bits.
fn is_wide(variable: &Variable<'_>) -> bool {
    variable.scalar.text == "b128"
}

/// The elements of a variable in all.
fn element_count(variable: &Variable<'_>) -> u64 {
    let parts = u64::from(variable.lanes) * if is_wide(variable) { 2 } else { 1 };
    variable.elements.unwrap_or(1).saturating_mul(parts)
}

impl<'a> Context<'a> {
    /// Finds what is declared but no item of the module: shared variables of the file, which kernels and functions get
    /// as arrays and parameters, and variables and functions that only other files define. Each is listed once.
    fn find_declarations(&mut self, file: &File<'a>) -> Vec<Declaration> {
        let is_item = |variable: &&Variable<'_>| !variable.external && variable.space != "shared";
        let defined: BTreeSet<&str> =
            file.variables.iter().filter(is_item).map(|variable| variable.name.text).collect();
        let mut listed = BTreeSet::new();
        let mut declarations = Vec::new();
        for variable in &file.variables {
            let name = variable.name.text;
            if variable.space != "shared" && variable.external && !defined.contains(name) {
                self.external.insert(name);
            }
            if !defined.contains(name) && listed.insert(name) {
                declarations.push(declaration_in_file(variable));
            }
        }
        let without_body = file.functions.iter().filter(|function| function.body.is_none());
        for function in without_body.filter(|function| !self.funcs.contains_key(function.name.text)) {
            if listed.insert(function.name.text) {
                declarations.push(prototype(function));
            }
        }
        declarations
    }

    /// Finds the other names of functions, each as it is declared. One that has no function behind it is refused.
    fn find_aliases(
        &mut self,
        file: &File<'a>,
        sources: &[&Source<'a>],
        problems: &mut Diagnostics,
    ) -> BTreeMap<Func, Vec<Declaration>> {
        let mut aliases: BTreeMap<Func, Vec<Declaration>> = BTreeMap::new();
        for (name, target) in &file.aliases {
            let func = self.funcs.get(target.text).copied().filter(|func| !sources[func.index()].entry);
            let prototype = file.functions.iter().find(|function| function.name.text == name.text);
            let problem = match (func, prototype) {
                _ if self.refused.contains(target.text) => None,
                (None, _) => {
                    let message = format!("`{}` is not a function with a body in this file", target.text);
                    let hint = "an alias is another name of a `.func` that the same file defines";
                    Some(Diagnostic::error(UNDEFINED, target.span, message).with_hint(hint))
                }
                (_, None) => {
                    let message = format!("the alias `{}` is not declared in this file", name.text);
                    let hint = "declare it first, as a `.func` without a body";
                    Some(Diagnostic::error(UNKNOWN, name.span, message).with_hint(hint))
                }
                (_, Some(prototype)) if prototype.body.is_some() => Some(defined_twice(*name, prototype.name.span)),
                (Some(func), Some(prototype)) => {
                    let source = sources[func.index()];
                    if FuncType::of(prototype, 0) == FuncType::of(source, 0) {
                        let known = aliases.entry(func).or_default();
                        self.funcs.insert(name.text, func);
                        self.aliases.insert(name.text, known.len() as u32);
                        known.push(self::prototype(prototype));
                        continue;
                    }
                    let message = format!("`{}` and `{}` take or return other values", name.text, target.text);
                    let problem = Diagnostic::error("ptx-type", name.span, message);
                    Some(problem.with_label(source.name.span, "this is the function"))
                }
            };
            problem.into_iter().for_each(|problem| problems.push(problem));
            self.refused.insert(name.text);
        }
        aliases
    }

    /// Finds the names that bodies and initialisers of variables mention.
    fn find_read(&mut self, file: &File<'a>) {
        for element in file.variables.iter().flat_map(|variable| &variable.init) {
            if let Initial::Address(name, _) = element {
                self.read.insert(name.text);
            }
        }
        for statement in file.functions.iter().flat_map(|function| function.body.iter().flatten()) {
            let Statement::Inst(inst) = statement else { continue };
            for operand in &inst.operands {
                match &operand.kind {
                    OperandKind::Name(name) | OperandKind::Offset(name, _) | OperandKind::Address(Some(name), _) => {
                        self.read.insert(name);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Finds the functions whose address somebody takes: what an indirect call may call.
    fn find_addressed(&mut self, file: &File<'a>, sources: &[&Source<'a>]) {
        let mut addressed: BTreeSet<Func> = BTreeSet::new();
        for element in file.variables.iter().flat_map(|variable| &variable.init) {
            if let Initial::Address(name, _) = element {
                addressed.extend(self.funcs.get(name.text).copied());
            }
        }
        for statement in sources.iter().flat_map(|source| source.body.iter().flatten()) {
            match statement {
                Statement::Inst(inst) if inst.opcode.text != "call" => {
                    for operand in &inst.operands {
                        if let OperandKind::Name(name) = operand.kind {
                            addressed.extend(self.funcs.get(name).copied());
                        }
                    }
                }
                Statement::Targets(_, names) => {
                    addressed.extend(names.iter().filter_map(|name| self.funcs.get(name.text).copied()));
                }
                _ => {}
            }
        }
        self.addressed = addressed.into_iter().filter(|func| !sources[func.index()].entry).collect();
    }

    /// The number that stands for a function's address: 0 is no function's.
    fn address_of(&self, name: &str) -> Option<u64> {
        let func = self.funcs.get(name)?;
        self.addressed.iter().position(|addressed| addressed == func).map(|place| place as u64 + 1)
    }

    /// The module's variable, under a name of the text IR.
    fn global(&self, variable: &Variable<'_>, own_name: String) -> Result<GlobalData, Box<Diagnostic>> {
        let error = |message: &str| Err(Box::new(Diagnostic::error("ptx-unsupported", variable.name.span, message)));
        let name = variable.name.text;
        let space = match variable.space {
            "global" => Space::Global,
            "const" => Space::Const,
            other => return error(&format!("`.{other}` variables are not supported at module scope")),
        };
        let reference = Reference::from_name(variable.scalar.text);
        let stored = match reference {
            Some(_) => Some(Type::U64),
            None if is_wide(variable) => Some(Type::B64),
            None => Type::from_name(variable.scalar.text),
        };
        let Some(ty) = stored.filter(|&ty| ty != Type::Pred) else {
            return error(&format!("variables of type `.{}` are not supported", variable.scalar.text));
        };
        let parts = if is_wide(variable) { 2 } else { 1 };
        let len = element_count(variable).max(variable.init.len() as u64 * parts);
        let Some(len) = array_length(len, ty, MAX_ARRAY_BYTES) else {
            return error(&format!("`{name}` has more than {MAX_ARRAY_BYTES} bytes"));
        };
        let (mut init, mut addresses) = (Vec::new(), Vec::new());
        let mut declaration = Some(Box::new(declaration_in_file(variable)));
        let mut has_numbers = false;
        for element in &variable.init {
            match element {
                Initial::Number(number) => {
                    init.push(number_bits(*number, ty));
                    init.extend((parts == 2).then_some(0));
                }
                Initial::Address(target, offset) => {
                    let fits = ty.bits() == 64 && !ty.is_float() && parts == 1;
                    match (self.globals.get(target.text), self.address_of(target.text)) {
                        (Some(&global), _) if fits => {
                            let element = init.len() as u32;
                            addresses.push(InitialAddress { element, global, offset: *offset });
                            init.push(0);
                        }
                        (None, Some(number)) if *offset == 0 && fits => {
                            // A table that nobody reads here keeps its text.
                            has_numbers |= self.read.contains(name);
                            init.push(number);
                        }
                        _ => {
                            let text = target.text;
                            let message =
                                format!("`{name}` starts with the address of `{text}`, which is not supported");
                            let hint =
                                "use the address of an earlier variable or of a function, in an element of 64 bits";
                            let problem = Diagnostic::error("ptx-unsupported", target.span, message);
                            return Err(Box::new(problem.with_hint(hint)));
                        }
                    }
                }
            }
        }
        if let (Some(declaration), true) = (&mut declaration, has_numbers) {
            // Functions are numbers here, in what is written as well: code and tables have to agree.
            let extents = declaration.after.split('=').next().unwrap_or_default().trim_end();
            declaration.after = extents.into();
        }
        Ok(GlobalData {
            name: own_name,
            space,
            ty,
            len,
            init: (!init.is_empty()).then_some(init),
            addresses,
            reference,
            declaration,
            comments: Default::default(),
            span: variable.name.span,
        })
    }

    /// Finds which functions reach which of the module's shared variables, by themselves and through calls: a search
    /// from the users of each variable to their callers.
    fn reach_shared(&mut self, sources: &[&Source<'a>]) {
        let mut reached: Vec<BTreeSet<&'a str>> = vec![BTreeSet::new(); sources.len()];
        if !self.shared.is_empty() {
            let mut callers: Vec<Vec<usize>> = vec![Vec::new(); sources.len()];
            let mut work = Vec::new();
            for (index, source) in sources.iter().enumerate() {
                for_each_name(source, &mut |name| {
                    if let Some((&name, _)) = self.shared.get_key_value(name) {
                        work.push((index, name));
                    }
                    if let Some(func) = self.funcs.get(name) {
                        callers[func.as_u32() as usize].push(index);
                    }
                });
                if has_indirect_call(self, source) {
                    self.addressed.iter().for_each(|func| callers[func.index()].push(index));
                }
            }
            while let Some((index, name)) = work.pop() {
                if reached[index].insert(name) {
                    work.extend(callers[index].iter().map(|&caller| (caller, name)));
                }
            }
        }
        self.reached = reached.into_iter().map(|names| names.into_iter().collect()).collect();
    }
}

/// A variable as the file declares it.
fn declaration_in_file(variable: &Variable<'_>) -> Declaration {
    let before = format!("{} {}", variable.linkage, variable.before);
    Declaration { before: before.trim_start().into(), name: variable.name.text.into(), after: variable.after.clone() }
}

/// A function without a body as the file declares it.
fn prototype(source: &Source<'_>) -> Declaration {
    let list = |variables: &[Variable<'_>]| {
        let variables = variables.iter().map(|variable| match variable.space {
            // Parameters in registers come out in memory, as those of definitions do.
            "reg" => {
                let bits = Type::from_name(variable.scalar.text).map_or(32, |ty| ty.bits().max(32));
                format!(".param .b{bits} {}", names::clean(variable.name.text))
            }
            _ => format!("{} {}{}", variable.before, variable.name.text, variable.after),
        });
        format!("({})", variables.collect::<Vec<_>>().join(", "))
    };
    let result = if source.returns.is_empty() { String::new() } else { format!(" {}", list(&source.returns)) };
    Declaration {
        before: format!("{}{result}", source.before),
        name: source.name.text.into(),
        after: format!("{}{}", list(&source.params), source.directives),
    }
}

/// Is there a call of what a register says?
fn has_indirect_call(context: &Context<'_>, source: &Source<'_>) -> bool {
    source.body.iter().flatten().any(|statement| match statement {
        Statement::Inst(inst) if inst.opcode.text == "call" => {
            call::callee_name(inst).is_some_and(|name| !context.funcs.contains_key(name))
        }
        _ => false,
    })
}

/// Visits the names of operands that the function does not declare itself.
fn for_each_name(source: &Source<'_>, visit: &mut impl FnMut(&str)) {
    let params = source.params.iter().chain(&source.returns);
    let declared = source.body.iter().flatten().filter_map(|statement| match statement {
        Statement::Variable(variable) => Some(variable),
        _ => None,
    });
    let own: BTreeSet<&str> = params.chain(declared).map(|variable| variable.name.text).collect();
    for statement in source.body.iter().flatten() {
        let Statement::Inst(Inst { operands, .. }) = statement else { continue };
        for operand in operands {
            match &operand.kind {
                OperandKind::Name(name) | OperandKind::Offset(name, _) | OperandKind::Address(Some(name), _)
                    if !own.contains(name) =>
                {
                    visit(name);
                }
                _ => {}
            }
        }
    }
}

fn defined_twice(name: Name<'_>, first: Span) -> Diagnostic {
    let message = format!("`{}` is defined twice", name.text);
    Diagnostic::error("ptx-duplicate", name.span, message).with_label(first, "first defined here")
}

/// The number of elements as the text IR counts them, if the array has at most `most` bytes.
fn array_length(len: u64, ty: Type, most: u64) -> Option<u32> {
    let bytes = len.checked_mul(u64::from(ty.bytes()))?;
    u32::try_from(len).ok().filter(|_| bytes <= most)
}

/// The bits of a literal where a value of type `ty` stands. PTX converts between its float widths, and writes
/// integers for bits.
fn number_bits(number: Number, ty: Type) -> u64 {
    let bits = match (number, ty) {
        (Number::Int(value), Type::Pred) => u64::from(value != 0),
        (Number::Int(value), Type::F32) => u64::from((value as i64 as f32).to_bits()),
        (Number::Int(value), Type::F64) => (value as i64 as f64).to_bits(),
        (Number::Int(value), _) => value,
        // The bits that a host's conversion gives a NaN are its own.
        (Number::Single(bits), Type::F64) if f32::from_bits(bits).is_nan() => canonical_nan(ty),
        (Number::Double(bits), Type::F32) if f64::from_bits(bits).is_nan() => canonical_nan(ty),
        (Number::Single(bits), Type::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Number::Single(bits), _) => u64::from(bits),
        (Number::Double(bits), Type::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Number::Double(bits), _) => bits,
    };
    bits & ty.mask()
}

/// Leaves out every function that calls one that was left out, directly or not.
fn drop_callers(lowered: &mut [(&&Source<'_>, Option<Function>)], problems: &mut Diagnostics) {
    let mut call_sites: Vec<Vec<(usize, Span)>> = vec![Vec::new(); lowered.len()];
    for (index, (_, function)) in lowered.iter().enumerate() {
        let Some(caller) = function else { continue };
        for inst in caller.block_order().flat_map(|block| caller.block_insts(block)) {
            if let Some(callee) = caller.insts[inst].callee() {
                call_sites[callee.func.as_u32() as usize].push((index, caller.inst_spans[inst]));
            }
        }
    }
    let mut work: Vec<usize> = (0..lowered.len()).filter(|&index| lowered[index].1.is_none()).collect();
    while let Some(missing) = work.pop() {
        let name = lowered[missing].0.name.text;
        for &(caller, span) in &call_sites[missing] {
            if let Some(function) = lowered[caller].1.take() {
                let message = format!("`{}` calls `{name}`, which could not be loaded", function.name);
                problems.push(Diagnostic::error("ptx-callee", span, message));
                work.push(caller);
            }
        }
    }
}

/// Makes a 64-bit kernel parameter a texture where its value reaches a texture load, through copies and calls: a
/// search backwards from the loads.
fn mark_textures(module: &mut Module) {
    let mut sources: BTreeMap<(Func, Reg), Vec<(Func, Reg)>> = BTreeMap::new();
    let mut work = Vec::new();
    for (id, func) in module.funcs.iter() {
        for inst in func.insts.values() {
            match (inst.opcode.op, inst.callee()) {
                (Op::Tex1d | Op::Tex2d, _) => {
                    work.extend(inst.args.first().and_then(Operand::as_reg).map(|reg| (id, reg)))
                }
                (Op::Mov, _) => {
                    if let (Some(dst), Some(source)) = (inst.dst(), inst.args.first().and_then(Operand::as_reg)) {
                        sources.entry((id, dst)).or_default().push((id, source));
                    }
                }
                (_, Some(callee)) => {
                    for (param, arg) in module.funcs[callee.func].params.iter().zip(&inst.args) {
                        if let (Some(param), Some(arg)) = (param.reg, arg.as_reg()) {
                            sources.entry((callee.func, param)).or_default().push((id, arg));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    if work.is_empty() {
        return;
    }
    let mut textures = BTreeSet::new();
    while let Some(place) = work.pop() {
        if textures.insert(place) {
            work.extend(sources.get(&place).into_iter().flatten().copied());
        }
    }
    for (id, func) in module.funcs.iter_mut().filter(|(_, func)| func.kind == FuncKind::Kernel) {
        for param in &mut func.params {
            let Some(reg) = param.reg.filter(|&reg| textures.contains(&(id, reg))) else { continue };
            if matches!(param.ty, ParamType::Scalar(ty) if ty.bits() == 64) {
                param.ty = ParamType::Texture;
                func.reg_types[reg] = Type::B64;
            }
        }
    }
}
