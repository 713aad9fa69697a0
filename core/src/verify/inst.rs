//! Instructions against their signatures.

use alloc::format;
use alloc::string::String;

use crate::ir::{
    ArgKind, BARRIERS, DstKind, FuncKind, Function, Inst, InstData, Op, Operand, ParamType, Piece, Reference, Reg,
    Symbol, Type, TypeClass,
};
use crate::text::{MAX_WORK_CYCLES, Part, describe_operand_kind, quoted};

use super::Verifier;

impl Verifier<'_> {
    pub(super) fn instruction(&mut self, func: &Function, inst: Inst) {
        let data = &func.insts[inst];
        let op = data.opcode.op;
        if !op.allows(data.opcode.ty) {
            let message = format!("`{}` is not defined for type {}", op.name(), data.opcode.ty);
            self.report(func, inst, Part::Opcode, "wrong-type", message);
        }
        self.guard(func, inst, data);
        match op {
            Op::Call | Op::CallTo => self.call(func, inst, data),
            Op::Ret => self.ret(func, inst, data),
            Op::Ptx => self.opaque(func, inst, data),
            _ => self.against_signature(func, inst, data),
        }
        self.memory(func, inst, data);
        if op == Op::In
            && let Some(Operand::Input(input)) = data.args.first()
            && let Some(input) = func.inputs.get(*input)
            && !data.opcode.ty.agrees_with(input.ty)
        {
            let message = format!("the input {} draws type {}, not {}", quoted(&input.name), input.ty, data.opcode.ty);
            self.report(func, inst, Part::Operand(0), "type-mismatch", message);
        }
        if let Some(number) = data.barrier_operand()
            && let Some(barrier) = data.args[number].as_const()
            && !data.takes_constant(number, barrier)
        {
            let message = format!("there are {BARRIERS} barriers, 0 to {}, not {barrier}", BARRIERS - 1);
            self.report(func, inst, Part::Operand(number), "out-of-range", message);
        }
    }

    /// Checks the places of an opaque instruction; the kinds of its operands are unknown.
    fn opaque(&mut self, func: &Function, inst: Inst, data: &InstData) {
        let places = data.dsts.len() + data.args.len();
        let is_beyond = |piece: &Piece<'_>| matches!(piece, Piece::Place(place) if *place >= places);
        if data.template().is_none_or(|template| template.pieces().iter().any(is_beyond)) {
            let message = format!("the template names an operand beyond the {places} that there are");
            self.report(func, inst, Part::Whole, "bad-template", message);
        }
        for (index, &reg) in data.dsts.iter().enumerate() {
            self.type_of(func, inst, Part::Destination(index), reg);
        }
        for (index, operand) in data.args.iter().enumerate() {
            self.operand(func, inst, Part::Operand(index), operand, ArgKind::Kept);
        }
    }

    fn guard(&mut self, func: &Function, inst: Inst, data: &InstData) {
        let Some(guard) = data.guard else { return };
        if data.is_terminator() {
            self.report(func, inst, Part::Guard, "guarded-terminator", String::from("a terminator has no guard"));
        }
        self.predicate(func, inst, Part::Guard, guard.reg);
    }

    fn predicate(&mut self, func: &Function, inst: Inst, part: Part, reg: Reg) {
        if let Some(ty) = self.type_of(func, inst, part, reg)
            && ty != Type::Pred
        {
            let message = format!("expected a predicate, but {} has type {ty}", quoted(&func.regs[reg].name));
            let diagnostic = self.error(func, inst, part, "type-mismatch", message);
            self.diagnostics
                .push(diagnostic.with_hint(format!("compare it: `p = setp.ne.{ty} {}, 0`", func.regs[reg].name)));
        }
    }

    /// The type of a register; none, and an error, where there is no such register.
    fn type_of(&mut self, func: &Function, inst: Inst, part: Part, reg: Reg) -> Option<Type> {
        let ty = func.reg_types.get(reg).copied();
        if ty.is_none() {
            self.report(func, inst, part, "unknown-name", format!("there is no register {reg}"));
        }
        ty
    }

    fn against_signature(&mut self, func: &Function, inst: Inst, data: &InstData) {
        let signature = data.signature();
        let (dsts, args) = (data.dsts.len(), data.args.len());
        if dsts < signature.required_dsts || dsts > signature.dsts.len() {
            let message = format!("`{}` cannot have {dsts} destinations", data.opcode);
            return self.report(func, inst, Part::Whole, "destination-count", message);
        }
        if args < signature.required_args || (args > signature.args.len() && signature.rest.is_none()) {
            let message = format!("`{}` cannot have {args} operands", data.opcode);
            return self.report(func, inst, Part::Whole, "operand-count", message);
        }
        for (index, (&reg, &kind)) in data.dsts.iter().zip(&signature.dsts).enumerate() {
            self.destination(func, inst, index, reg, kind);
        }
        for (index, operand) in data.args.iter().enumerate() {
            if let Some(kind) = signature.arg(index) {
                self.operand(func, inst, Part::Operand(index), operand, kind);
            }
        }
    }

    fn destination(&mut self, func: &Function, inst: Inst, index: usize, reg: Reg, kind: DstKind) {
        let part = Part::Destination(index);
        let Some(ty) = self.type_of(func, inst, part, reg) else { return };
        if ty.agrees_with(kind.ty) || (kind.may_be_wider && widens(kind.ty, ty)) {
            return;
        }
        // Other definitions of the register may have any type of its width; uses are what has to agree.
        if ty.bits() == kind.ty.bits() && ty != Type::Pred && kind.ty != Type::Pred {
            return;
        }
        let name = &func.regs[reg].name;
        let opcode = func.insts[inst].opcode;
        let message = format!("{} has type {ty}, but `{opcode}` writes type {}", quoted(name), kind.ty);
        let diagnostic = self.error(func, inst, part, "type-mismatch", message);
        let hint = if kind.may_be_wider && kind.ty.bits() < ty.bits() {
            format!("only an integer register can be wider than what is written; use another register than `{name}`")
        } else {
            format!("a register has one width; use another one, or declare it: `reg {name}: {}`", kind.ty)
        };
        self.diagnostics.push(diagnostic.with_hint(hint));
    }

    fn operand(&mut self, func: &Function, inst: Inst, part: Part, operand: &Operand, kind: ArgKind) {
        let fits = match (operand, kind) {
            (Operand::Reg(reg), ArgKind::Value(ty)) => return self.register_agrees(func, inst, part, *reg, ty, false),
            (Operand::Reg(reg), ArgKind::LowBits(ty)) => return self.register_agrees(func, inst, part, *reg, ty, true),
            (Operand::Reg(reg), ArgKind::Texture) => {
                return self.register_agrees(func, inst, part, *reg, Type::B64, false);
            }
            (Operand::Reg(reg) | Operand::NotReg(reg), ArgKind::Predicate) => {
                return self.predicate(func, inst, part, *reg);
            }
            (Operand::Reg(reg), ArgKind::Any(_) | ArgKind::Kept) => self.type_of(func, inst, part, *reg).is_some(),
            (Operand::Const(bits), ArgKind::Value(ty) | ArgKind::LowBits(ty) | ArgKind::Any(ty)) => {
                return self.constant(func, inst, part, *bits, ty);
            }
            (Operand::Const(bits), ArgKind::Cycles) => {
                if *bits > MAX_WORK_CYCLES {
                    let message = format!("`work` takes at most {MAX_WORK_CYCLES} cycles, not {bits}");
                    self.report(func, inst, part, "constant-range", message);
                }
                true
            }
            (Operand::Special(special), ArgKind::Special) => special.ty().bits() == func.insts[inst].opcode.ty.bits(),
            (Operand::Special(special), _) if special.needs_read() => {
                let message = format!("`{special}` cannot be used as an operand here");
                let diagnostic = self.error(func, inst, part, "wrong-operand", message);
                let hint = format!("read it into a register: `r = read.{} {special}`", special.ty());
                return self.diagnostics.push(diagnostic.with_hint(hint));
            }
            (Operand::Special(_), ArgKind::Value(ty)) => Type::U32.agrees_with(ty),
            (Operand::Special(_), ArgKind::LowBits(ty)) => Type::U32.agrees_with(ty) || widens(ty, Type::U32),
            (Operand::Special(_), ArgKind::Any(_)) => true,
            (Operand::Symbol(_), ArgKind::Value(ty) | ArgKind::LowBits(ty)) => ty.bits() >= 32 && !ty.is_float(),
            (Operand::Symbol(_), ArgKind::Any(_) | ArgKind::Kept) => true,
            (Operand::Symbol(Symbol::Global(global)), ArgKind::Texture) => {
                let global = self.module.globals.get(*global);
                global.is_some_and(|global| global.reference == Some(Reference::Texture))
            }
            (Operand::Address(_), ArgKind::Address) => true,
            (Operand::Input(input), ArgKind::Input) => func.inputs.is_valid(*input),
            (Operand::List(elements), ArgKind::Elements(ty, count)) if elements.len() == usize::from(count) => {
                for element in elements.iter() {
                    self.operand(func, inst, part, element, ArgKind::LowBits(ty));
                }
                true
            }
            _ => false,
        };
        if !fits {
            let message = format!("`{}` takes {} here", func.insts[inst].opcode, describe_operand_kind(kind));
            self.report(func, inst, part, "wrong-operand", message);
        }
    }

    fn register_agrees(&mut self, func: &Function, inst: Inst, part: Part, reg: Reg, wanted: Type, wider: bool) {
        let Some(ty) = self.type_of(func, inst, part, reg) else { return };
        if ty.agrees_with(wanted) || (wider && widens(wanted, ty)) {
            return;
        }
        let name = &func.regs[reg].name;
        let message =
            format!("`{}` takes type {wanted} here, but {} has type {ty}", func.insts[inst].opcode, quoted(name));
        let diagnostic = self.error(func, inst, part, "type-mismatch", message);
        self.diagnostics.push(match conversion(wanted, ty, name) {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic,
        });
    }

    fn constant(&mut self, func: &Function, inst: Inst, part: Part, bits: u64, ty: Type) {
        if bits & !ty.mask() != 0 {
            let message = format!("the constant {bits:#x} is wider than type {ty}");
            self.report(func, inst, part, "constant-range", message);
        }
    }

    // --- calls
    // ---------------------------------------------------------------------------------------------------------

    fn call(&mut self, func: &Function, inst: Inst, data: &InstData) {
        let module = self.module;
        let Some((callee, to)) = data.callee().and_then(|callee| Some((callee, module.funcs.get(callee.func)?))) else {
            return self.report(func, inst, Part::Whole, "unknown-function", String::from("a call calls a function"));
        };
        let name = quoted(&to.name);
        if to.kind == FuncKind::Kernel {
            let diagnostic = self.error(
                func,
                inst,
                Part::Whole,
                "calls-kernel",
                format!("{name} is a kernel; a call calls a `func`"),
            );
            return self.diagnostics.push(diagnostic.with_label(to.span, "declared here"));
        }
        if callee.entry as usize >= to.entries.len().max(1) {
            self.report(
                func,
                inst,
                Part::Whole,
                "unknown-entry",
                format!("{name} has no entry number {}", callee.entry),
            );
        }
        if data.args.len() != to.params.len() {
            let message = format!("{name} takes {} operands, found {}", to.params.len(), data.args.len());
            self.report(func, inst, Part::Whole, "operand-count", message);
        }
        for (index, (operand, param)) in data.args.iter().zip(&to.params).enumerate() {
            let part = Part::Operand(index);
            match param.ty {
                ParamType::Scalar(Type::Pred) => match operand {
                    Operand::Reg(reg) => self.predicate(func, inst, part, *reg),
                    _ => self.operand(func, inst, part, operand, ArgKind::Value(Type::Pred)),
                },
                ParamType::Scalar(ty) => self.operand(func, inst, part, operand, ArgKind::Value(ty)),
                ParamType::Pointer { .. } | ParamType::Texture => {
                    self.operand(func, inst, part, operand, ArgKind::Value(Type::B64));
                }
                ParamType::Array(ty, len) => {
                    if !matches!(operand, Operand::Symbol(symbol) if self.has_elements(func, *symbol, ty, len)) {
                        let message = format!("{name} takes an array {ty}[{len}] here");
                        self.report(func, inst, part, "wrong-operand", message);
                    }
                }
            }
        }
        match (data.dsts.first(), to.returns) {
            (Some(_), None) => {
                self.report(func, inst, Part::Destination(0), "destination-count", format!("{name} returns nothing"));
            }
            (Some(&dst), Some(ty)) => {
                self.destination(func, inst, 0, dst, DstKind { ty, may_be_wider: false });
            }
            (None, _) => {}
        }
        let exits = self.exit_count(callee.func);
        match data.opcode.op {
            Op::CallTo if data.targets().len() != exits as usize => {
                let message =
                    format!("{name} has {exits} exits, so `to` takes {exits} labels, not {}", data.targets().len());
                self.report(func, inst, Part::Whole, "target-count", message);
            }
            Op::Call if exits > 1 => {
                let message = format!("{name} has {exits} exits");
                let diagnostic = self.error(func, inst, Part::Whole, "target-count", message);
                let hint = "name a block for each exit: `call f(a) to first, second`";
                self.diagnostics.push(diagnostic.with_hint(hint));
            }
            _ => {}
        }
    }

    fn ret(&mut self, func: &Function, inst: Inst, data: &InstData) {
        let name = quoted(&func.name);
        if func.kind == FuncKind::Kernel && data.exit() > 0 {
            self.report(func, inst, Part::Whole, "kernel-returns", String::from("a kernel has no numbered exits"));
        }
        match (func.returns, &data.args[..]) {
            (None, []) => {}
            (None, _) => {
                let message = format!("{name} returns nothing");
                self.report(func, inst, Part::Operand(0), "operand-count", message);
            }
            (Some(ty), [operand]) => {
                let kind = if ty == Type::Pred { ArgKind::Value(Type::Pred) } else { ArgKind::Value(ty) };
                self.operand(func, inst, Part::Operand(0), operand, kind);
            }
            (Some(ty), _) => {
                let message = format!("{name} returns type {ty}: expected `ret` and a value");
                self.report(func, inst, Part::Whole, "operand-count", message);
            }
        }
    }
}

/// May a register of type `register` hold a `ty` in its low bits?
fn widens(ty: Type, register: Type) -> bool {
    let whole = |ty: Type| matches!(ty.class(), TypeClass::Bits | TypeClass::Signed | TypeClass::Unsigned);
    register.bits() > ty.bits() && whole(register) && whole(ty)
}

/// How to make a value of type `wanted` of a register of type `have`.
fn conversion(wanted: Type, have: Type, name: &str) -> Option<String> {
    if have == Type::Pred && wanted != Type::Pred {
        return Some(format!("make a number of it: `selp.{wanted} 1, 0, {name}`"));
    }
    if wanted == Type::Pred {
        return None;
    }
    if wanted.bits() == have.bits() {
        return Some(format!(
            "convert the value with `cvt.{wanted}.{have} {name}`, or take the bits as they are with `mov.{} {name}`",
            wanted.as_bits()
        ));
    }
    let convertible = |ty: Type| ty.is_float() || ty.is_integer();
    (convertible(wanted) && convertible(have)).then(|| format!("convert it: `cvt.{wanted}.{have} {name}`"))
}
