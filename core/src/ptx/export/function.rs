//! One function as PTX: its head, its declarations, and its blocks in the order of the text.

use super::carry::{self, FlagState};
use super::forms::{Form, forms};
use super::guards;
use super::limits;
use super::names::{LocalNames, ModuleNames};
use super::requirements::{self, Needs};
use super::unassigned::may_be_read_unassigned;
use super::{PlainLoad, Problem, aggregates, memory_type, param_type, passed_type};
use crate::ir::{
    Block, Extent, Func, FuncKind, Function, Inst, InstData, Module, Op, Opcode, Operand, ParamData, ParamType,
    Passing, Reg, Space, Special, Type,
};
use crate::text::{Diagnostic, instruction_text};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use cranelift_entity::SecondaryMap;

/// A function's text.
pub(super) struct Body {
    pub head: String,
    /// Declarations of its other names, each as a function without a body.
    pub alias_heads: String,
    /// The alias directives of these names.
    pub aliases: String,
    pub declarations: String,
    pub text: String,
    pub problems: Vec<Problem>,
    pub callees: BTreeSet<Func>,
    /// With lines counted from the function's body.
    pub plain_loads: Vec<PlainLoad>,
    /// The version and target that the text asks for.
    pub needs: Needs,
}

/// PTX cannot say it; reported.
pub(super) struct Inexpressible;
pub(super) type Written<T> = Result<T, Inexpressible>;

/// The lines up to the opening brace.
fn head(func: &Function, name: &str, names: &LocalNames<'_>) -> String {
    let params = func.params.iter().zip(&names.params);
    let params = params.filter(|(param, _)| matches!(param.passing, Passing::Value | Passing::Aggregate(_)));
    let params: Vec<String> = params.map(|(param, name)| param_declaration(func.kind, param, name)).collect();
    let list = if params.is_empty() { String::new() } else { format!("\n\t{}\n", params.join(",\n\t")) };
    let (before, after) = match (func.declaration.as_deref(), func.kind) {
        (Some(declaration), _) => (declaration.before.as_str(), declaration.after.as_str()),
        (None, FuncKind::Kernel) => (".visible .entry", ""),
        (None, FuncKind::Func) => (".func", ""),
    };
    let result = result_declaration(func, &names.result).map(|result| format!(" ({result})"));
    format!("{before}{} {name}({list}){after}", result.unwrap_or_default())
}

/// The declaration of what a function returns, as a parameter of that name.
pub(super) fn result_declaration(func: &Function, name: &str) -> Option<String> {
    match (&func.result_declaration, func.returns) {
        (Some(declaration), Some(_)) => Some(format!("{} {name}{}", declaration.before, declaration.after)),
        (None, Some(ty)) => Some(format!(".param .{} {name}", passed_type(ty))),
        (_, None) => {
            let is_result = |param: &&ParamData| matches!(param.passing, Passing::AggregateResult(_));
            func.params.iter().find(is_result).map(|param| param_declaration(func.kind, param, name))
        }
    }
}

/// The declaration of a parameter under that name.
pub(super) fn param_declaration(kind: FuncKind, param: &ParamData, name: &str) -> String {
    if let Some(declaration) = &param.declaration {
        return format!("{} {name}{}", declaration.before, declaration.after);
    }
    if let Passing::Aggregate(extent) | Passing::AggregateResult(extent) = param.passing {
        return format!(".param .align {} .b8 {name}[{}]", extent.align, extent.bytes);
    }
    let kernel = kind == FuncKind::Kernel;
    match param.ty {
        ParamType::Scalar(ty) if kernel && ty != Type::Pred => format!(".param .{} {name}", memory_type(ty)),
        ParamType::Scalar(ty) => format!(".param .{} {name}", passed_type(ty)),
        ParamType::Array(ty, len) => format!(".param .align 8 .{} {name}[{len}]", memory_type(ty)),
        ParamType::Pointer { space: Some(space @ (Space::Global | Space::Shared | Space::Const)), .. } if kernel => {
            format!(".param .u64 .ptr .{space} .align 1 {name}")
        }
        ParamType::Pointer { .. } | ParamType::Texture if kernel => format!(".param .u64 {name}"),
        ParamType::Pointer { .. } | ParamType::Texture => format!(".param .b64 {name}"),
    }
}

/// The head, declarations and statements of a function.
pub(super) fn body(module: &Module, names: &ModuleNames, id: Func) -> Body {
    let func = &module.funcs[id];
    let mut writer = Writer::new(module, names, func);
    let head = head(func, &names.funcs[id], &writer.locals);
    let (mut alias_heads, mut aliases) = (String::new(), String::new());
    for alias in &func.aliases {
        writer.needs = writer.needs.and(requirements::ALIAS);
        let _ = writeln!(alias_heads, "\n{} {}{};", alias.before, alias.name, alias.after);
        let _ = writeln!(aliases, "\n.alias {}, {};", alias.name, names.funcs[id]);
    }
    if let Some(param) = super::unsupported_param(func) {
        writer.problem(None, &format!("the parameter `{param}` is an array by value, which only kernels have in PTX"));
    }
    limits::of_function(func).iter().for_each(|problem| _ = writer.problem(None, problem));
    if func.entry_blocks().len() > 1 {
        writer.problem(None, "PTX functions have one entry");
    }
    writer.load_params();
    for reg in may_be_read_unassigned(func) {
        let zero = InstData::new(Opcode::new(Op::Mov, func.reg_types[reg]), [reg], [Operand::Const(0)]);
        let _ = writer.instruction(&zero);
    }
    let blocks: Vec<Block> = func.block_order().collect();
    let entry = func.entry_block();
    if entry.is_some() && entry != blocks.first().copied() {
        let label = entry.map(|entry| writer.label(entry)).unwrap_or_default();
        writer.line(&format!("bra.uni {label};"));
    }
    let unguarded = guards::needless(func);
    let mut pragmas: BTreeMap<Block, Vec<&str>> = BTreeMap::new();
    func.pragmas.iter().for_each(|(block, pragma)| pragmas.entry(*block).or_default().push(pragma));
    for (index, &block) in blocks.iter().enumerate() {
        let label = writer.label(block);
        let _ = writeln!(writer.text, "{label}:");
        writer.lines += 1;
        writer.flag = None;
        pragmas.get(&block).into_iter().flatten().for_each(|pragma| writer.line(pragma));
        for inst in func.block_insts(block) {
            writer.inst = Some(inst);
            let data = &func.insts[inst];
            if data.is_terminator() {
                let _ = writer.terminator(data, blocks.get(index + 1).copied());
            } else if unguarded.contains(&inst) {
                let _ = writer.instruction(&data.clone().guarded(None));
            } else {
                let _ = writer.instruction(data);
            }
            writer.flag = carry::after(data, writer.flag);
        }
    }
    Body { head, alias_heads, aliases, ..writer.finish() }
}

/// A function being written.
pub(super) struct Writer<'m> {
    pub module: &'m Module,
    pub func: &'m Function,
    pub locals: LocalNames<'m>,
    pub forms: SecondaryMap<Reg, Form>,
    /// Carry registers with a use that the flag cannot serve.
    pub kept_carries: BTreeSet<Reg>,
    pub flag: Option<FlagState>,
    /// The version of the source, or the one that is written where there is no source.
    pub version: (u32, u32),
    pub needs: Needs,
    pub callees: BTreeSet<Func>,
    names: SecondaryMap<Reg, String>,
    /// Parameters that are loaded where they are copied.
    pub copied_params: BTreeSet<Reg>,
    /// Pointers to aggregates that are accessed by the name of the parameter.
    pub named_aggregates: BTreeMap<Reg, String>,
    /// The local array of an aggregate result that is not, and what of it `ret` copies.
    result_array: Option<(String, Extent)>,
    temporaries: Vec<(String, Type)>,
    temporary_prefix: String,
    /// `$`, or several where another name begins with one.
    label_sigil: String,
    label_prefix: String,
    /// Prefix of the names of parameters and results around calls.
    pub call_prefix: String,
    labels: u32,
    text: String,
    lines: u32,
    inst: Option<Inst>,
    problems: Vec<Problem>,
    plain_loads: Vec<PlainLoad>,
}

impl<'m> Writer<'m> {
    fn new(module: &'m Module, names: &'m ModuleNames, func: &'m Function) -> Writer<'m> {
        let locals = LocalNames::new(func, names);
        let mut names = SecondaryMap::new();
        for (reg, data) in func.regs.iter() {
            let mut name = data.name.clone();
            // PTX has the names of its special registers for itself.
            let is_taken = |name: &str| is_reserved_register(name) || locals.has(&format!("%{name}"));
            if is_taken(&name) {
                name.push('_');
                while func.reg_name_is_taken(&name) || is_taken(&name) {
                    name.push('_');
                }
            }
            names[reg] = format!("%{name}");
        }
        let mut temporary_prefix = String::from("_t");
        while func.regs.values().any(|data| data.name.starts_with(&temporary_prefix))
            || locals.has_prefix(&format!("%{temporary_prefix}"))
        {
            temporary_prefix.insert(0, '_');
        }
        let mut label_sigil = String::from("$");
        while locals.has_prefix(&label_sigil) {
            label_sigil.push('$');
        }
        let mut call_prefix = String::new();
        while ["param", "retval"].into_iter().any(|name| locals.has_prefix(&format!("{call_prefix}{name}"))) {
            call_prefix.push('_');
        }
        let mut label_prefix = String::from("_l");
        while func.blocks.values().any(|data| data.name.starts_with(&label_prefix)) {
            label_prefix.insert(0, '_');
        }
        Writer {
            module,
            func,
            locals,
            forms: forms(module, func),
            kept_carries: carry::kept(func),
            flag: None,
            version: requirements::version(module),
            needs: requirements::of_function(func),
            callees: BTreeSet::new(),
            names,
            copied_params: copied_params(func),
            named_aggregates: BTreeMap::new(),
            result_array: None,
            temporaries: Vec::new(),
            temporary_prefix,
            label_sigil,
            label_prefix,
            call_prefix,
            labels: 0,
            text: String::new(),
            lines: 0,
            inst: None,
            problems: Vec::new(),
            plain_loads: Vec::new(),
        }
    }

    fn finish(self) -> Body {
        let mut declarations = String::new();
        if let Some((name, extent)) = &self.result_array {
            let _ = writeln!(declarations, "\t.local .align {} .b8 {name}[{}];", extent.align, extent.bytes);
        }
        for (id, array) in self.func.arrays.iter() {
            let (space, name) = (array.space, &self.locals.arrays[id]);
            let _ = match (&array.declaration, array.len) {
                _ if array.is_of_file => Ok(()),
                (_, None) => Ok(()),
                (Some(declaration), _) => {
                    writeln!(declarations, "\t{} {name}{};", declaration.before, declaration.after)
                }
                (None, Some(len)) => {
                    let bytes = (u64::from(len) * u64::from(array.ty.bytes())).max(1);
                    writeln!(declarations, "\t.{space} .align 16 .b8 {name}[{bytes}];")
                }
            };
        }
        // A parameter that is only copied never has a register.
        let has_register = |reg: &Reg| !self.copied_params.contains(reg) && !self.named_aggregates.contains_key(reg);
        let registers = self.func.reg_types.iter().filter(|(reg, _)| has_register(reg));
        let registers = registers.map(|(reg, &ty)| (self.names[reg].as_str(), register_class(ty)));
        let temporaries = self.temporaries.iter().map(|(name, ty)| match ty {
            Type::B8 => (name.as_str(), Type::B8),
            ty => (name.as_str(), register_class(*ty)),
        });
        let all: Vec<(&str, Type)> = registers.chain(temporaries).collect();
        for class in [Type::Pred, Type::B8, Type::B16, Type::B32, Type::B64] {
            let names: Vec<&str> = all.iter().filter(|(_, own)| *own == class).map(|(name, _)| *name).collect();
            for line in names.chunks(12) {
                let _ = writeln!(declarations, "\t.reg .{class} {};", line.join(", "));
            }
        }
        let Writer { text, problems, callees, plain_loads, needs, .. } = self;
        let (head, alias_heads, aliases) = (String::new(), String::new(), String::new());
        Body { head, alias_heads, aliases, declarations, text, problems, callees, plain_loads, needs }
    }

    /// Loads every parameter into its register, unless copies take it from where it is.
    fn load_params(&mut self) {
        for (index, param) in self.func.params.iter().enumerate() {
            let Some(reg) = param.reg.filter(|reg| !self.copied_params.contains(reg)) else { continue };
            let (ty, name) = (self.func.reg_types[reg], self.locals.params[index].clone());
            let register = self.reg(reg);
            match param.passing {
                Passing::Value if ty == Type::Pred => {
                    let number = self.temporary(Type::B32);
                    self.line(&format!("ld.param.b32 {number}, [{name}];"));
                    self.line(&format!("setp.ne.u32 {register}, {number}, 0;"));
                }
                Passing::Value => self.line(&format!("ld.param.{} {register}, [{name}];", param_type(ty))),
                Passing::FileShared => self.line(&format!("mov.b64 {register}, {name};")),
                Passing::Aggregate(_) | Passing::AggregateResult(_)
                    if aggregates::is_accessed_by_name(self.func, param) =>
                {
                    self.named_aggregates.insert(reg, name);
                }
                // PTX copies a parameter whose address is taken to local memory.
                Passing::Aggregate(_) => self.line(&format!("mov.b64 {register}, {name};")),
                Passing::AggregateResult(extent) => {
                    let array = format!("{}result", self.label_prefix);
                    self.line(&format!("mov.b64 {register}, {array};"));
                    self.result_array = Some((array, extent));
                }
            }
        }
    }

    /// Ends a block; a branch to the block that follows in the text is left out.
    fn terminator(&mut self, inst: &InstData, next: Option<Block>) -> Written<()> {
        match inst.opcode.op {
            Op::Br => {
                if Some(inst.targets()[0]) != next {
                    let label = self.label(inst.targets()[0]);
                    self.line(&format!("bra.uni {label};"));
                }
            }
            Op::BrIf => {
                let (reg, mut negated) = match inst.args.first() {
                    Some(Operand::NotReg(reg)) => (*reg, true),
                    Some(Operand::Reg(reg)) => (*reg, false),
                    _ => return Err(self.problem(None, "a branch on a constant; run `simplify-cfg` first")),
                };
                let (mut taken, mut other) = (inst.targets()[0], inst.targets()[1]);
                if Some(taken) == next {
                    (taken, other, negated) = (other, taken, !negated);
                }
                let (label, bang) = (self.label(taken), if negated { "!" } else { "" });
                let condition = self.reg(reg);
                self.line(&format!("@{bang}{condition} bra {label};"));
                if Some(other) != next {
                    let label = self.label(other);
                    self.line(&format!("bra.uni {label};"));
                }
            }
            Op::Switch => {
                let index = self.value(&inst.args[0], Type::U32)?;
                let (clamped, table) = (self.temporary(Type::B32), self.fresh_label());
                let last = inst.targets().len().saturating_sub(1);
                self.line(&format!("min.u32 {clamped}, {index}, {last};"));
                let labels: Vec<String> = inst.targets().iter().map(|&target| self.label(target)).collect();
                self.line(&format!("{table}: .branchtargets {};", labels.join(", ")));
                self.line(&format!("brx.idx {clamped}, {table};"));
                self.needs = self.needs.and(requirements::INDEXED_BRANCH);
            }
            Op::Ret if inst.exit() != 0 => {
                return Err(self.problem(None, "PTX functions have one exit"));
            }
            Op::Ret => {
                let name = self.locals.result.clone();
                if let (Some(value), Some(ty)) = (inst.args.first(), self.func.returns) {
                    let value = self.passed(value, ty)?;
                    self.line(&format!("st.param.{} [{name}], {value};", param_type(ty)));
                }
                if let Some((array, extent)) = self.result_array.clone() {
                    self.copy_aggregate(extent, ("local", &array), ("param", &name));
                }
                self.line("ret;");
            }
            Op::Exit => self.line("exit;"),
            _ => return Err(self.problem(None, "PTX functions have one exit")),
        }
        Ok(())
    }

    // Names

    /// A register's name in PTX.
    pub fn reg(&self, reg: Reg) -> String {
        self.names[reg].clone()
    }

    /// A block's label in PTX.
    pub fn label(&self, block: Block) -> String {
        format!("{}{}", self.label_sigil, self.func.blocks[block].name)
    }

    /// A label for a place inside a block.
    pub fn fresh_label(&mut self) -> String {
        self.labels += 1;
        format!("{}{}{}", self.label_sigil, self.label_prefix, self.labels)
    }

    /// A new register.
    pub fn temporary(&mut self, ty: Type) -> String {
        let name = format!("%{}{}", self.temporary_prefix, self.temporaries.len() + 1);
        self.temporaries.push((name.clone(), ty));
        name
    }

    // Lines

    /// Writes one statement.
    pub fn line(&mut self, statement: &str) {
        let _ = writeln!(self.text, "\t{statement}");
        self.lines += 1;
    }

    /// Reports what PTX cannot say; `line` is the warning's place in the body.
    pub fn problem(&mut self, line: Option<u32>, message: &str) -> Inexpressible {
        let span = self.inst.map_or(self.func.span, |inst| self.func.inst_spans[inst]);
        let diagnostic = match line {
            Some(_) => Diagnostic::warning("ptx-weaker", span, message),
            None => Diagnostic::error("ptx-inexpressible", span, format!("`{}`: {message}", self.func.name)),
        };
        self.problems.push(Problem { line, diagnostic });
        Inexpressible
    }

    /// Lists the load written last, which may fault where the instruction must not.
    pub fn list_plain_load(&mut self) {
        let Some(inst) = self.inst else { return };
        let block = self.func.layout.inst_block(inst).map(|block| self.func.blocks[block].name.clone());
        self.plain_loads.push(PlainLoad {
            func: self.func.name.clone(),
            block: block.unwrap_or_default(),
            text: instruction_text(self.module, self.func, inst),
            line: self.lines,
        });
    }

    /// Warns about the statement written last.
    pub fn warn(&mut self, message: &str) {
        self.problem(Some(self.lines), message);
    }
}

/// Parameters passed as values that nothing but plain copies reads, and nothing writes.
fn copied_params(func: &Function) -> BTreeSet<Reg> {
    let values = func.params.iter().filter(|param| param.passing == Passing::Value);
    let mut params: BTreeSet<Reg> = values.filter_map(|param| param.reg).collect();
    for inst in func.block_order().flat_map(|block| func.block_insts(block)).map(|inst| &func.insts[inst]) {
        inst.dsts.iter().for_each(|dst| {
            params.remove(dst);
        });
        if !is_plain_copy(func, inst) {
            inst.for_each_use(|reg| {
                params.remove(&reg);
            });
        } else if let Some(guard) = inst.guard {
            params.remove(&guard.reg);
        }
    }
    params
}

/// One register to another of the same width, not a predicate.
fn is_plain_copy(func: &Function, inst: &InstData) -> bool {
    let [Operand::Reg(source)] = inst.args[..] else { return false };
    let source = func.reg_types[source];
    let [dst] = inst.dsts[..] else { return false };
    inst.opcode.op == Op::Mov && source != Type::Pred && func.reg_types[dst].bits() == source.bits()
}

fn register_class(ty: Type) -> Type {
    match ty.bits() {
        1 => Type::Pred,
        8 | 16 => Type::B16,
        32 => Type::B32,
        _ => Type::B64,
    }
}

fn is_reserved_register(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Special::ALL.iter().any(|special| special.name() == name)
        || matches!(stem, "pm" | "envreg" | "clock")
        || matches!(
            name,
            "nwarpid"
                | "smid"
                | "nsmid"
                | "gridid"
                | "clock_hi"
                | "globaltimer"
                | "globaltimer_lo"
                | "globaltimer_hi"
                | "total_smem_size"
                | "dynamic_smem_size"
                | "aggr_smem_size"
        )
        || name.ends_with("clusterid")
        || name.starts_with("cluster_")
        || name.starts_with("is_explicit_cluster")
}

/// A special register's name in PTX.
pub(super) fn special_name(special: Special) -> String {
    match special {
        Special::Warpsize => "WARP_SZ".to_string(),
        Special::Tid(_) | Special::Ntid(_) | Special::Ctaid(_) | Special::Nctaid(_)
            if !special.name().contains('.') =>
        {
            format!("%{}.x", special.name())
        }
        other => format!("%{}", other.name()),
    }
}
