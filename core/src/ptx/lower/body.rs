//! One function: declarations, scopes and statements in order.

use super::call::CallParam;
use super::names::{clean, fallthrough};
use super::{
    Context, FuncResult, IGNORED, MAX_ARRAY_BYTES, MAX_PARAMS, MAX_SHARED_BYTES, UNDEFINED, UNKNOWN, array_length,
    element_count, is_aggregate,
};
use crate::ir::{
    Array, ArrayData, Block, Declaration, Extent, Func, FuncKind, Function, Global, Guard, Inst as InstId, InstData,
    Opcode, Operand, ParamType, Passing, Reg, Space, Span, Special, Type,
};
use crate::ptx::syntax::{Function as Source, Name, OperandKind, Statement, Variable};
use crate::text::Diagnostic;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Most bytes of a parameter, and the message about more: the parameter space of a kernel holds 32 KiB since sm_70.
const MAX_PARAM_BYTES: u32 = 32_768;
const PARAM_LIMIT: &str = "a parameter holds at most 32 KiB";

/// How deep braces may nest in a body.
const SCOPES: usize = 64;

/// The problem is already reported; the statement is left out.
pub(super) struct Reported;
pub(super) type Lowered<T> = Result<T, Reported>;

/// Meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Entity {
    /// A register, a scalar parameter included.
    Reg(Reg),
    /// An aggregate parameter or a shared variable behind a pointer.
    Pointer(Reg),
    Special(Special),
    /// A special register that the simulator does not know, or a register of 128 bits: text of opaque instructions.
    Unknown,
    Array(Array),
    Global(Global),
    /// A kernel's array by value.
    ParamArray(u32),
    /// A `.param` variable of a call, an index into [`Lowering::call_params`].
    CallParam(usize),
    /// The scalar result of this function.
    Result,
    Func(Func),
}

/// Names that hold between two braces.
#[derive(Default)]
pub(super) struct Scope<'a> {
    parent: usize,
    names: BTreeMap<&'a str, Entity>,
    /// Registers declared by themselves, and not used yet.
    singles: BTreeMap<&'a str, Type>,
    /// `%r<6>`: registers come into being when one is named.
    ranges: Vec<(&'a str, u64, Type)>,
    /// Registers of 128 bits, which only opaque instructions name.
    pub(super) wide: Vec<(&'a str, Option<u64>)>,
    pub(super) labels: BTreeMap<&'a str, Block>,
    pub(super) tables: BTreeMap<&'a str, Vec<Name<'a>>>,
    /// Arrays of aggregates around calls, free again when the scope ends.
    pub(super) call_arrays: Vec<(ArrayKey, Array)>,
}

impl Scope<'_> {
    /// Does this scope declare a register of 128 bits of that name?
    fn declares_wide(&self, name: &str) -> bool {
        self.wide.iter().any(|(own, count)| match count {
            None => *own == name,
            Some(count) => {
                let number = name.strip_prefix(own).filter(|digits| !digits.starts_with('+'));
                number.and_then(|digits| digits.parse::<u64>().ok()).is_some_and(|number| number < *count)
            }
        })
    }

    /// The type of a register that this scope declares, by itself or in a range.
    fn declared_type(&self, name: &str) -> Option<Type> {
        if let Some(&ty) = self.singles.get(name) {
            return Some(ty);
        }
        let in_range = self.ranges.iter().find(|(prefix, count, _)| {
            let number = name.strip_prefix(prefix).filter(|digits| !digits.starts_with('+'));
            number.and_then(|digits| digits.parse::<u64>().ok()).is_some_and(|number| number < *count)
        });
        in_range.map(|&(_, _, ty)| ty)
    }
}

/// The name, length and type of an array that calls may share.
pub(super) type ArrayKey = (String, u64, Type);

/// A function on its way into the text IR.
pub(super) struct Lowering<'a, 'c> {
    pub(super) context: &'c Context<'a>,
    /// Which of the context's functions it is.
    pub(super) index: usize,
    pub(super) func: Function,
    scopes: Vec<Scope<'a>>,
    scope: usize,
    /// Block that instructions are appended to; none after a terminator.
    pub(super) current: Option<Block>,
    /// The block that stands last.
    pub(super) last: Option<Block>,
    /// A label in LLVM's numbering, if there is one.
    pub(super) llvm_label: Option<String>,
    /// The statement being lowered.
    pub(super) span: Span,
    pub(super) guard: Option<Guard>,
    pub(super) call_params: Vec<CallParam<'a>>,
    pub(super) free_arrays: BTreeMap<ArrayKey, Vec<Array>>,
    /// Values stored to the `.param` variables of a call that has not come yet.
    pub(super) pending: Vec<usize>,
    /// The value stored to the scalar result just before a `ret`.
    pub(super) pending_result: Option<Operand>,
    pub(super) result: Option<Reg>,
    pub(super) carry: Option<Reg>,
    /// Names that asynchronous instructions write, each with the opcode.
    pub(super) late: Vec<(&'static str, &'a str)>,
    /// Registers that opaque instructions read because they may keep their value.
    pub(super) tied: BTreeSet<Reg>,
    /// Declarations of registers of 128 bits.
    pub(super) wide: Vec<String>,
    pub(super) problems: Vec<Diagnostic>,
    /// Names of this function whose declaration or first use has been reported, each with the number of the problem.
    refused: BTreeMap<&'a str, usize>,
    names_refused: bool,
    /// Labels and tables of labels whose first use has been reported.
    pub(super) undefined_labels: BTreeSet<&'a str>,
}

/// A lowered function and what is wrong with it.
pub(super) struct Outcome {
    pub(super) function: Function,
    pub(super) problems: Vec<Diagnostic>,
    /// Does it name something whose declaration was refused?
    pub(super) names_refused: bool,
}

/// Lowers the function that is number `index` of the context, under a name of the text IR.
pub(super) fn lower<'a>(context: &Context<'a>, index: usize, name: String, source: &Source<'a>) -> Outcome {
    let kind = if source.entry { FuncKind::Kernel } else { FuncKind::Func };
    let mut lowering = Lowering {
        context,
        index,
        func: Function::new(name, kind),
        scopes: Vec::from([Scope::default()]),
        scope: 0,
        current: None,
        last: None,
        llvm_label: None,
        span: source.name.span,
        guard: None,
        call_params: Vec::new(),
        free_arrays: BTreeMap::new(),
        pending: Vec::new(),
        pending_result: None,
        result: None,
        carry: None,
        late: super::opaque::late_results(source.body.as_deref().unwrap_or_default()),
        tied: BTreeSet::new(),
        wide: Vec::new(),
        problems: Vec::new(),
        refused: BTreeMap::new(),
        names_refused: false,
        undefined_labels: BTreeSet::new(),
    };
    lowering.func.span = source.name.span;
    lowering.func.declaration = declaration(&source.before, source.name.text, &source.directives);
    let statements = source.body.as_deref().unwrap_or_default();
    if lowering.find_labels(statements).is_ok() && lowering.declare_params(source, statements).is_ok() {
        lowering.statements(statements, source.end);
    }
    super::opaque::declare_wide(&mut lowering.func, &lowering.wide);
    super::unassigned::assign_tied(&mut lowering.func, &lowering.tied);
    lowering.invert_carries();
    super::types::settle(&mut lowering.func, &context.types);
    let Lowering { func: function, problems, names_refused, .. } = lowering;
    Outcome { function, problems, names_refused }
}

impl<'a> Lowering<'a, '_> {
    // Scopes

    /// Gives every label a block before the first branch needs one. Scopes are numbered in the order in which they
    /// open, here and in [`Lowering::statements`].
    fn find_labels(&mut self, statements: &[Statement<'a>]) -> Lowered<()> {
        let (mut scope, mut depth) = (0, 0);
        for statement in statements {
            match statement {
                Statement::Open => {
                    self.scopes.push(Scope { parent: scope, ..Scope::default() });
                    scope = self.scopes.len() - 1;
                    depth += 1;
                    if depth > SCOPES {
                        return Err(self.error("ptx-limit", &format!("scopes nest at most {SCOPES} deep")));
                    }
                }
                Statement::Close => {
                    scope = self.scopes[scope].parent;
                    depth -= 1;
                }
                Statement::Label(label) => {
                    let name = self.func.fresh_block_name(&clean(label.text));
                    if self.llvm_label.is_none() && fallthrough("", &name).is_some() {
                        self.llvm_label = Some(name.clone());
                    }
                    let block = self.func.build_detached_block(name, None);
                    self.func.block_spans[block] = label.span;
                    if self.scopes[scope].labels.insert(label.text, block).is_some() {
                        self.span = label.span;
                        self.error("ptx-duplicate", &format!("duplicate label `{}`", label.text));
                    }
                }
                Statement::Targets(name, labels) => {
                    self.scopes[scope].tables.insert(name.text, labels.clone());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn statements(&mut self, statements: &[Statement<'a>], end: Span) {
        let mut opened = 0;
        let mut skip_next = false;
        let is_code = |statement: &Statement<'a>| !matches!(statement, Statement::Label(_) | Statement::Close);
        let code_end = statements.iter().rposition(is_code).map_or(0, |last| last + 1);
        let mut unplaced = Vec::new();
        if !matches!(statements.iter().find(|s| !matches!(s, Statement::Variable(_))), Some(Statement::Label(_))) {
            self.block();
        }
        for (index, statement) in statements.iter().enumerate() {
            if core::mem::take(&mut skip_next) {
                continue;
            }
            self.guard = None;
            match statement {
                Statement::Open => {
                    opened += 1;
                    self.scope = opened;
                }
                Statement::Close => {
                    for (key, array) in core::mem::take(&mut self.scopes[self.scope].call_arrays) {
                        self.free_arrays.entry(key).or_default().push(array);
                    }
                    self.scope = self.scopes[self.scope].parent;
                }
                Statement::Label(label) => {
                    self.span = label.span;
                    if let Some(block) = self.labelled(label.text) {
                        match index >= code_end && self.current.is_none() && self.last.is_some() {
                            true => unplaced.push(block),
                            false => self.start(block),
                        }
                    }
                }
                Statement::Variable(variable) => {
                    self.span = variable.name.span;
                    if self.declare(variable).is_err() {
                        self.refused.insert(variable.name.text, self.problems.len().saturating_sub(1));
                    }
                }
                Statement::Targets(..) => {}
                Statement::Pragma(text) => {
                    let block = self.current;
                    self.func.pragmas.extend(block.map(|block| (block, text.clone())));
                }
                Statement::Inst(inst) => {
                    self.span = inst.span;
                    // A reported problem leaves the instruction out; the next line is lowered all the same.
                    let known = self.problems.len();
                    let lowered = self.inst(inst, &statements[index + 1..]);
                    let is_missing = |problem: &Diagnostic| matches!(problem.code, UNKNOWN | UNDEFINED);
                    if lowered.is_err()
                        && self.problems[known..].iter().filter(|problem| problem.is_error()).all(is_missing)
                    {
                        inst.operands.iter().for_each(|operand| self.report_missing(&operand.kind));
                    }
                    skip_next = lowered.unwrap_or(false);
                }
            }
        }
        self.guard = None;
        self.span = end;
        // Compilers mark the end of a function whose code has returned with labels: only what
        // branches there needs them.
        let is_reached = |block: &Block| self.func.insts.values().any(|inst| inst.targets().contains(block));
        if let Some(first) = unplaced.iter().position(is_reached) {
            unplaced[first..].iter().for_each(|&block| self.start(block));
        }
        if self.current.is_some() {
            let _ = self.finish();
        }
    }

    pub(super) fn current_scope(&mut self) -> &mut Scope<'a> {
        &mut self.scopes[self.scope]
    }

    pub(super) fn scope_chain(&self) -> impl Iterator<Item = &Scope<'a>> {
        let mut next = Some(self.scope);
        core::iter::from_fn(move || {
            let scope = next?;
            next = (scope != 0).then(|| self.scopes[scope].parent);
            Some(&self.scopes[scope])
        })
    }

    /// Resolves a name. A register of a declared span is created at its first use.
    pub(super) fn resolve(&mut self, name: &'a str) -> Lowered<Entity> {
        let mut scope = self.scope;
        loop {
            if let Some(&entity) = self.scopes[scope].names.get(name) {
                return Ok(entity);
            }
            if let Some(ty) = self.scopes[scope].declared_type(name) {
                let reg = self.new_reg(name, ty);
                self.scopes[scope].names.insert(name, Entity::Reg(reg));
                return Ok(Entity::Reg(reg));
            }
            if self.scopes[scope].declares_wide(name) {
                return Ok(Entity::Unknown);
            }
            if scope == 0 {
                break;
            }
            scope = self.scopes[scope].parent;
        }
        if let Some(&global) = self.context.globals.get(name) {
            return Ok(Entity::Global(global));
        }
        if let Some(&func) = self.context.funcs.get(name) {
            return Ok(Entity::Func(func));
        }
        if name == "WARP_SZ" {
            return Ok(Entity::Special(Special::Warpsize));
        }
        if let Some(special) = name.strip_prefix('%') {
            if let Some(special) = Special::from_name(special) {
                return Ok(Entity::Special(special));
            }
            if is_special_register(special) {
                return Ok(Entity::Unknown);
            }
        }
        if self.is_reported(name) {
            return Err(Reported);
        }
        self.refused.insert(name, self.problems.len());
        if self.context.external.contains(name) {
            let problem = Diagnostic::error(UNDEFINED, self.span, format!("`{name}` is defined in another file"));
            return Err(self.report(problem.with_hint("define it in this file, without `.extern`")));
        }
        // A register is missing in this function, and anything else in the whole file.
        let code = if name.starts_with('%') { UNKNOWN } else { UNDEFINED };
        Err(self.error(code, &format!("`{name}` is not declared in this file")))
    }

    /// Reports registers of an instruction that are declared nowhere, where its lowering has
    /// stopped at another missing name.
    fn report_missing(&mut self, kind: &OperandKind<'a>) {
        let mut report = |name: &'a str| {
            if name.starts_with('%') && !name.contains('.') {
                let _ = self.resolve(name);
            }
        };
        match kind {
            OperandKind::Name(name) | OperandKind::Not(name) | OperandKind::Offset(name, _) => report(name),
            OperandKind::Pair(first, second) => [first, second].into_iter().for_each(|name| report(name)),
            OperandKind::Address(base, _) => base.iter().for_each(|name| report(name)),
            OperandKind::Texture(base, _, elements) => {
                report(base);
                elements.iter().for_each(|element| self.report_missing(&element.kind));
            }
            // The parser puts no list into a list.
            OperandKind::Vector(elements) | OperandKind::List(elements) => {
                elements.iter().for_each(|element| self.report_missing(&element.kind));
            }
            OperandKind::Number(_) => {}
        }
    }

    /// Was the declaration or a use of this undeclared name reported before? One diagnostic is enough.
    fn is_reported(&mut self, name: &str) -> bool {
        // `%r<6>` declares `%r0` to `%r5` by their stem.
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        // A problem may have been dropped, where an instruction was tried in another form.
        let is_told = |name: &str| self.refused.get(name).is_some_and(|&problem| problem < self.problems.len());
        let is_refused = |name: &str| is_told(name) || self.context.refused.contains(name);
        let is_refused = is_refused(name) || is_refused(stem);
        self.names_refused |= is_refused;
        is_refused
    }

    // Declarations

    fn declare_params(&mut self, source: &Source<'a>, statements: &[Statement<'a>]) -> Lowered<()> {
        let local = ParamType::Pointer { space: Some(Space::Local), restrict: false };
        let addressed = addressed_names(statements);
        let mut entities = Vec::new();
        if source.returns.len() > 1 {
            self.span = source.returns[1].name.span;
            return Err(self.unsupported("functions with several results are not supported"));
        }
        if let Some(result) = source.returns.first() {
            match self.context.types[self.index].result {
                FuncResult::Aggregate => {
                    let name = self.fresh(result.name.text);
                    let reg = self.func.build_param(name, local);
                    let extent = self.aggregate_extent(result)?;
                    self.describe_param(Passing::AggregateResult(extent), variable_declaration(result));
                    entities.push((result.name.text, reg.map(Entity::Pointer)));
                }
                _ => {
                    let ty = self.scalar_type(result)?;
                    self.func.returns = Some(ty);
                    self.func.result_declaration = variable_declaration(result);
                    if result.space == "reg" {
                        let reg = self.new_reg(result.name.text, ty);
                        self.result = Some(reg);
                        entities.push((result.name.text, Some(Entity::Reg(reg))));
                    } else {
                        entities.push((result.name.text, Some(Entity::Result)));
                    }
                }
            }
        }
        if self.context.types[self.index].params.len() > MAX_PARAMS {
            return Err(self.error("ptx-limit", &format!("a function has at most {MAX_PARAMS} parameters")));
        }
        for param in &source.params {
            self.span = param.name.span;
            let name = self.fresh(param.name.text);
            let ty = self.scalar_type(param)?;
            let by_address = source.entry && !is_aggregate(param) && addressed.contains(param.name.text);
            let mut passing = Passing::Value;
            let entity = if is_aggregate(param) && !source.entry {
                passing = Passing::Aggregate(self.aggregate_extent(param)?);
                self.func.build_param(name, local).map(Entity::Pointer)
            } else if is_aggregate(param) || by_address {
                let len = element_count(param);
                let Some(len) = array_length(len, ty, MAX_PARAM_BYTES.into()) else {
                    return Err(self.error("ptx-limit", PARAM_LIMIT));
                };
                self.func.build_param(name, ParamType::Array(ty, len));
                Some(Entity::ParamArray(self.func.params.len() as u32 - 1))
            } else {
                let ty = match param.pointer {
                    Some(space) if ty.bits() == 64 => {
                        ParamType::Pointer { space: space.and_then(Space::from_name), restrict: false }
                    }
                    _ => ParamType::Scalar(ty),
                };
                self.func.build_param(name, ty).map(Entity::Reg)
            };
            self.describe_param(passing, variable_declaration(param));
            entities.push((param.name.text, entity));
        }
        for &name in &self.context.reached[self.index] {
            let variable = self.context.shared[name];
            let entity = if source.entry {
                let array = self.declare_array(variable)?;
                self.func.arrays[array].is_of_file = true;
                Some(Entity::Array(array))
            } else {
                let pointer = ParamType::Pointer { space: Some(Space::Shared), restrict: false };
                let own = self.fresh(name);
                let reg = self.func.build_param(own, pointer);
                self.describe_param(Passing::FileShared, variable_declaration(variable));
                reg.map(Entity::Pointer)
            };
            entities.push((name, entity));
        }
        for (name, entity) in entities {
            if let Some(entity) = entity {
                self.scopes[0].names.insert(name, entity);
            }
        }
        Ok(())
    }

    /// Says how PTX passes and declares the parameter that was built last.
    fn describe_param(&mut self, passing: Passing, declaration: Option<Box<Declaration>>) {
        if let Some(param) = self.func.params.last_mut() {
            (param.passing, param.declaration) = (passing, declaration);
        }
    }

    /// Size and alignment of an aggregate. Without `.align` it is aligned as its elements are.
    fn aggregate_extent(&mut self, variable: &Variable<'a>) -> Lowered<Extent> {
        let ty = self.scalar_type(variable)?;
        let bytes = element_count(variable).checked_mul(u64::from(ty.bytes()));
        let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok()).filter(|bytes| *bytes <= MAX_PARAM_BYTES);
        let Some(bytes) = bytes else { return Err(self.error("ptx-limit", PARAM_LIMIT)) };
        let natural = if variable.elements.is_some() { ty.bytes() } else { bytes };
        Ok(Extent { bytes, align: variable.align.unwrap_or(natural) })
    }

    fn declare(&mut self, variable: &Variable<'a>) -> Lowered<()> {
        let name = variable.name.text;
        let entity = match variable.space {
            "reg" if variable.scalar.text == "b128" => {
                self.declare_wide(variable);
                return Ok(());
            }
            "reg" => {
                let ty = self.scalar_type(variable)?;
                if variable.lanes > 1 {
                    return Err(self.unsupported("vector registers are not supported"));
                }
                if let Some(count) = variable.count {
                    self.scopes[self.scope].ranges.push((name, count, ty));
                    return Ok(());
                }
                // Compilers declare registers that nothing uses, so these wait for their first use too.
                self.scopes[self.scope].singles.insert(name, ty);
                return Ok(());
            }
            "local" | "shared" => Entity::Array(self.declare_array(variable)?),
            "param" => {
                let param = self.call_param(variable)?;
                self.call_params.push(param);
                Entity::CallParam(self.call_params.len() - 1)
            }
            other => return Err(self.unsupported(&format!("`.{other}` variables belong to module scope"))),
        };
        self.scopes[self.scope].names.insert(name, entity);
        Ok(())
    }

    pub(super) fn declare_array(&mut self, variable: &Variable<'a>) -> Lowered<Array> {
        let ty = self.scalar_type(variable)?;
        let len = element_count(variable);
        let space = if variable.space == "shared" { Space::Shared } else { Space::Local };
        let most = if space == Space::Shared { MAX_SHARED_BYTES } else { MAX_ARRAY_BYTES };
        let Some(len) = array_length(len, ty, most) else {
            return Err(self.error("ptx-limit", &format!("the array has more than {most} bytes")));
        };
        let sized = !(variable.external || space == Space::Shared && len == 0);
        let name = self.fresh(variable.name.text);
        // An aggregate around a call is declared as a parameter, and is an array in local memory here.
        let declaration = if variable.space == "param" { None } else { variable_declaration(variable) };
        let len = sized.then_some(len);
        Ok(self.func.build_array(ArrayData { name, space, ty, len, is_of_file: false, declaration }))
    }

    pub(super) fn scalar_type(&mut self, variable: &Variable<'a>) -> Lowered<Type> {
        // Halves, bfloats and pairs are bits here, whatever an instruction makes of them; 128 bits are two elements.
        let packed = match variable.scalar.text {
            "b128" if variable.space != "reg" => Some(Type::B64),
            _ if variable.space != "reg" => None,
            "bf16" => Some(Type::B16),
            "f16x2" | "bf16x2" | "u16x2" | "s16x2" | "tf32" => Some(Type::B32),
            "f32x2" => Some(Type::B64),
            _ => None,
        };
        if let Some(ty) = packed {
            return Ok(ty);
        }
        match Type::from_name(variable.scalar.text) {
            Some(Type::Pred) if variable.space != "reg" => Err(self.unsupported("predicates exist in registers only")),
            Some(ty) => Ok(ty),
            None => {
                self.span = variable.scalar.span;
                Err(self.unsupported(&format!("the type `.{}` is not supported", variable.scalar.text)))
            }
        }
    }

    /// A register under a name of the source.
    pub(super) fn new_reg(&mut self, name: &str, ty: Type) -> Reg {
        let name = self.fresh(name);
        self.func.build_reg(name, ty)
    }

    /// A register for a value that the source does not name.
    pub(super) fn temporary(&mut self, ty: Type) -> Reg {
        let name = self.beside_globals(Function::fresh_temporary_name);
        self.func.build_reg(name, ty)
    }

    /// The name in the text IR's characters, numbered where a register or a global has it already.
    pub(super) fn fresh(&mut self, name: &str) -> String {
        let stem = clean(name);
        self.beside_globals(|func| func.fresh_reg_name(&stem))
    }

    /// The first free name that no global has. One that a global has is kept from this function for good, so that
    /// many registers do not ask for it again and again.
    fn beside_globals(&mut self, free: impl Fn(&Function) -> String) -> String {
        loop {
            let name = free(&self.func);
            if !self.context.reserved.contains(&name) {
                return name;
            }
            self.func.reserve_reg_name(&name);
        }
    }

    // Building

    /// Adds an instruction under the statement's guard.
    pub(super) fn emit(&mut self, data: InstData) -> InstId {
        let guard = self.guard;
        self.emit_unguarded(data.guarded(guard))
    }

    /// Adds an instruction as it is: what fills a temporary needs no guard.
    pub(super) fn emit_unguarded(&mut self, data: InstData) -> InstId {
        let block = self.block();
        let inst = self.func.build_inst(block, data);
        self.func.inst_spans[inst] = self.span;
        inst
    }

    /// `dst = opcode args`, unguarded, into a new temporary.
    pub(super) fn compute(&mut self, opcode: Opcode, ty: Type, args: impl IntoIterator<Item = Operand>) -> Operand {
        let dst = self.temporary(ty);
        self.emit_unguarded(InstData::new(opcode, [dst], args));
        Operand::Reg(dst)
    }

    // Problems

    pub(super) fn error(&mut self, code: &'static str, message: &str) -> Reported {
        self.report(Diagnostic::error(code, self.span, message))
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.problems.push(diagnostic);
        Reported
    }

    pub(super) fn warn(&mut self, message: &str) {
        self.problems.push(Diagnostic::warning(IGNORED, self.span, message));
    }

    pub(super) fn unsupported(&mut self, message: &str) -> Reported {
        self.error("ptx-unsupported", message)
    }
}

/// The record of a declaration that the exporter prints again.
pub(super) fn declaration(before: &str, name: &str, after: &str) -> Option<Box<Declaration>> {
    Some(Box::new(Declaration { before: before.into(), name: name.into(), after: after.into() }))
}

/// The record of a variable's declaration. Registers have none.
pub(super) fn variable_declaration(variable: &Variable<'_>) -> Option<Box<Declaration>> {
    match variable.space {
        "reg" => None,
        _ => declaration(&variable.before, variable.name.text, &variable.after),
    }
}

/// Names that stand as plain operands rather than in brackets: where one is a parameter, its address is taken.
fn addressed_names<'a>(statements: &[Statement<'a>]) -> BTreeSet<&'a str> {
    let insts = statements.iter().filter_map(|statement| match statement {
        Statement::Inst(inst) => Some(inst),
        _ => None,
    });
    let operands = insts.flat_map(|inst| &inst.operands);
    operands
        .filter_map(|operand| match operand.kind {
            OperandKind::Name(name) | OperandKind::Offset(name, _) => Some(name),
            _ => None,
        })
        .collect()
}

pub(super) fn is_special_register(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end_matches(|c: char| c.is_ascii_digit());
    matches!(
        stem,
        "pm" | "pm_64"
            | "total_smem_size"
            | "dynamic_smem_size"
            | "aggr_smem_size"
            | "clusterid"
            | "nclusterid"
            | "cluster_ctaid"
            | "cluster_nctaid"
            | "cluster_ctarank"
            | "cluster_nctarank"
            | "is_explicit_cluster"
            | "current_graph_exec"
    )
}
