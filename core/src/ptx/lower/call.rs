//! Parameters: of this function, and of the functions that it calls.
//!
//! ```text
//! { .param .b32 param0;
//!   st.param.b32 [param0+0], %r3;
//!   .param .b32 retval0;                        →   r5 = call gcd(r3)
//!   call.uni (retval0), gcd, (param0);
//!   ld.param.b32 %r5, [retval0+0]; }
//! ```
//!
//! A value stored to a scalar `.param` variable becomes the operand of the call. Where another instruction stands
//! between the two, the value is kept in a register named like the variable, so that the call sees what was stored.
//! An aggregate becomes a local array, written by `st.local` and passed by its address: the callee only reads it,
//! or for a result only writes it, before the caller goes on.
//!
//! Functions that `printf` and `assert` call are in the driver and have no body here: a call for
//! `printf` does nothing, one for `assert` ends the thread, each with a warning.

use super::body::{Entity, Lowered, Lowering, Reported};
use super::{FuncResult, element_count, is_aggregate};
use crate::ir::{
    Address, AddressBase, Array, Callee, Flags, Guard, InstData, Op, Opcode, Operand, ParamType, Reg, Space, Symbol,
    Type,
};
use crate::ptx::syntax::{Inst, Operand as Source, OperandKind, Statement, Variable};
use crate::text::Diagnostic;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use smallvec::SmallVec;

/// A `.param` variable inside a body.
pub(super) struct CallParam<'a> {
    name: &'a str,
    /// The declared type of a scalar.
    ty: Type,
    /// The array of an aggregate.
    pub(super) array: Option<Array>,
    /// A value has been stored in it.
    is_stored: bool,
    /// Value stored last, if no instruction follows it.
    pending: Option<(Operand, Option<Guard>)>,
    /// Register that holds the value otherwise.
    reg: Option<Reg>,
}

impl<'a> Lowering<'a, '_> {
    /// Declares a `.param` variable of a body. nvcc calls all of them `param0`, `retval0`, …; the arrays of
    /// aggregates are shared by calls whose scopes do not overlap.
    pub(super) fn call_param(&mut self, variable: &Variable<'a>) -> Lowered<CallParam<'a>> {
        let ty = self.scalar_type(variable)?;
        let mut param =
            CallParam { name: variable.name.text, ty, array: None, is_stored: false, pending: None, reg: None };
        if is_aggregate(variable) {
            let len = element_count(variable);
            let key = (super::names::clean(variable.name.text), len, ty);
            let array = match self.free_arrays.get_mut(&key).and_then(Vec::pop) {
                Some(array) => array,
                None => self.declare_array(variable)?,
            };
            param.array = Some(array);
            self.current_scope().call_arrays.push((key, array));
        }
        Ok(param)
    }

    /// Keeps what was stored for a coming call or return in registers, because another instruction comes first.
    pub(super) fn flush(&mut self) {
        for index in core::mem::take(&mut self.pending) {
            let Some((value, guard)) = self.call_params[index].pending.take() else { continue };
            let (name, ty) = (self.call_params[index].name, self.call_params[index].ty);
            let reg = match self.call_params[index].reg {
                Some(reg) => reg,
                None => self.new_reg(name, ty),
            };
            self.call_params[index].reg = Some(reg);
            self.emit_unguarded(InstData::new(Opcode::mov(ty), [reg], [value]).guarded(guard));
        }
        if let (Some(value), Some(ty)) = (self.pending_result.take(), self.func.returns) {
            let reg = self.result_register(ty);
            self.emit_unguarded(InstData::new(Opcode::mov(ty), [reg], [value]));
        }
    }

    /// The register that holds the scalar result between `st.param` and `ret`.
    pub(super) fn result_register(&mut self, ty: Type) -> Reg {
        if let Some(reg) = self.result {
            return reg;
        }
        let reg = self.new_reg("func_retval0", ty);
        self.result = Some(reg);
        reg
    }

    /// `st.param.T [name+offset], value`.
    pub(super) fn store_param(&mut self, inst: &Inst<'a>, opcode: Opcode) -> Lowered<()> {
        let [address, value] = &inst.operands[..] else {
            return Err(self.error("ptx-operands", "`st.param` takes an address and a value"));
        };
        let OperandKind::Address(Some(name), offset) = address.kind else {
            return Err(self.error("ptx-operands", "`st.param` takes the name of a parameter"));
        };
        match self.resolve(name)? {
            Entity::CallParam(index) if self.call_params[index].array.is_none() => {
                let ty = self.call_params[index].ty;
                self.check_whole(opcode, offset, ty)?;
                let value = self.converted(value, opcode.ty, ty)?;
                let guard = self.guard;
                if self.call_params[index].pending.is_some() || guard.is_some() {
                    self.flush();
                }
                self.call_params[index].pending = Some((value, guard));
                self.call_params[index].is_stored = true;
                self.pending.push(index);
                Ok(())
            }
            Entity::Result => {
                let Some(ty) = self.func.returns else { return Ok(()) };
                self.check_whole(opcode, offset, ty)?;
                let value = self.converted(value, opcode.ty, ty)?;
                self.flush();
                if self.guard.is_some() {
                    let reg = self.result_register(ty);
                    self.copy(reg, ty, value);
                } else {
                    self.pending_result = Some(value);
                }
                Ok(())
            }
            Entity::CallParam(index) => {
                self.flush_result();
                let array = self.call_params[index].array;
                self.local_access(inst, opcode, array.map(|array| AddressBase::Symbol(Symbol::Array(array))), offset)
            }
            Entity::Pointer(reg) => {
                self.flush();
                self.local_access(inst, opcode, Some(AddressBase::Reg(reg)), offset)
            }
            _ => Err(self.error("ptx-operands", &format!("`{name}` is not a parameter that can be written"))),
        }
    }

    /// The results of a call that is refused: who reads them is at no fault.
    fn excuse(&mut self, results: &[Source<'a>]) {
        for result in results {
            let OperandKind::Name(name) = result.kind else { continue };
            if let Ok(Entity::CallParam(index)) = self.resolve(name)
                && self.call_params[index].reg.is_none()
            {
                let (name, ty) = (self.call_params[index].name, self.call_params[index].ty);
                self.call_params[index].reg = Some(self.new_reg(name, ty));
            }
        }
    }

    /// `ld.param.T dst, [name+offset]`.
    pub(super) fn load_param(&mut self, inst: &Inst<'a>, opcode: Opcode) -> Lowered<()> {
        let [dst, address] = &inst.operands[..] else {
            return Err(self.error("ptx-operands", "`ld.param` takes a register and an address"));
        };
        let OperandKind::Address(Some(name), offset) = address.kind else {
            return Err(self.error("ptx-operands", "`ld.param` takes the name of a parameter"));
        };
        let (source, whole) = match self.resolve(name)? {
            Entity::Reg(reg) if self.func.param_of(reg).is_some() => (reg, self.func.reg_types[reg]),
            Entity::CallParam(index) if self.call_params[index].array.is_none() => {
                self.flush();
                let Some(reg) = self.call_params[index].reg else {
                    return Err(self.error("ptx-operands", &format!("`{name}` has no value yet")));
                };
                (reg, self.call_params[index].ty)
            }
            Entity::CallParam(index) => {
                self.flush();
                let array = self.call_params[index].array;
                return self.local_access(
                    inst,
                    opcode,
                    array.map(|array| AddressBase::Symbol(Symbol::Array(array))),
                    offset,
                );
            }
            Entity::Pointer(reg) => {
                self.flush();
                return self.local_access(inst, opcode, Some(AddressBase::Reg(reg)), offset);
            }
            // The address of a parameter in a register, or an array by value.
            _ => {
                self.flush();
                return self.generic(inst, opcode);
            }
        };
        self.check_whole(opcode, offset, whole)?;
        let OperandKind::Name(dst) = dst.kind else {
            return Err(self.error("ptx-operands", "expected one register"));
        };
        let dst = self.destination(dst, opcode.ty, true)?;
        self.extend(dst, opcode.ty, Operand::Reg(source), whole);
        Ok(())
    }

    /// `call (result), name, (arguments);` True where the `ld.param` behind it was taken along.
    pub(super) fn call(&mut self, inst: &Inst<'a>, rest: &[Statement<'a>]) -> Lowered<bool> {
        let (results, operands) = match &inst.operands[..] {
            [Source { kind: OperandKind::List(results), .. }, rest @ ..] => (&results[..], rest),
            operands => (&[][..], operands),
        };
        let arguments = match operands.get(1).map(|operand| &operand.kind) {
            Some(OperandKind::List(arguments)) => &arguments[..],
            _ => &[],
        };
        let Some(OperandKind::Name(name)) = operands.first().map(|operand| &operand.kind) else {
            return Err(self.error("ptx-operands", "`call` takes the name of a function"));
        };
        let Some(&func) = self.context.funcs.get(name) else {
            match *name {
                "vprintf" => {
                    self.warn("`printf` is dropped: its output is not shown");
                    self.drop_arguments(arguments);
                    let (dst, taken) = self.call_result(inst, results, Type::S32, rest)?;
                    let nothing = |dst: Reg| InstData::new(Opcode::mov(Type::S32), [dst], [Operand::Const(0)]);
                    dst.into_iter().for_each(|dst| _ = self.emit(nothing(dst)));
                    return Ok(taken);
                }
                "__assertfail" => {
                    self.warn("a failing assertion only ends its thread in the simulator");
                    self.drop_arguments(arguments);
                    self.leave(Op::Exit, rest);
                    return Ok(false);
                }
                _ => {}
            }
            let known = self.problems.len();
            let callee = self.resolve(name);
            if let Ok(Entity::Reg(pointer)) = callee {
                return self.indirect_call(results, arguments, pointer, operands.get(2));
            }
            self.excuse(results);
            // `resolve` remembers an unknown name: other calls are no further errors.
            if callee.is_err() && self.problems.len() == known {
                return Err(Reported);
            }
            self.problems.truncate(known);
            return Err({
                let message = format!("the function `{name}` has no body in this file");
                let diagnostic = Diagnostic::error(super::UNDEFINED, self.span, message);
                let hint = match *name {
                    "malloc" | "free" => {
                        "the driver defines it, and no driver is simulated: use an array of fixed size"
                    }
                    _ => "compile it into the same file",
                };
                self.report(diagnostic.with_hint(hint))
            });
        };
        self.flush_result();
        let ty = &self.context.types[func.as_u32() as usize];
        let reached = &self.context.reached[func.as_u32() as usize];
        let hidden = usize::from(ty.result == FuncResult::Aggregate);
        if arguments.len() + hidden + reached.len() != ty.params.len() {
            let wanted = ty.params.len() - hidden - reached.len();
            return Err(self.error("ptx-operands", &format!("`{name}` takes {wanted} arguments")));
        }
        // Everything that needs instructions of its own comes before the call.
        let mut args: SmallVec<[Operand; 3]> = SmallVec::new();
        if ty.result == FuncResult::Aggregate {
            let result = results.first().map(|result| &result.kind);
            let Some(OperandKind::Name(result)) = result else {
                return Err(self.error("ptx-operands", &format!("`{name}` returns a value")));
            };
            args.push(self.aggregate(result)?);
        }
        for (argument, param) in arguments.iter().zip(&ty.params[hidden..]) {
            let value = match (argument.kind.clone(), param) {
                (OperandKind::Name(argument), ParamType::Pointer { space: Some(Space::Local), .. }) => {
                    self.aggregate(argument)?
                }
                (_, ParamType::Scalar(ty)) => self.scalar_argument(argument, *ty)?,
                _ => return Err(self.error("ptx-operands", "expected a parameter")),
            };
            args.push(value);
        }
        for name in reached {
            args.push(match self.resolve(name)? {
                Entity::Array(array) => Operand::Symbol(Symbol::Array(array)),
                Entity::Pointer(reg) => Operand::Reg(reg),
                _ => return Err(self.unsupported(&format!("`{name}` hides a shared variable"))),
            });
        }
        self.flush();
        let (dst, taken) = match ty.result {
            FuncResult::Scalar(ty) => self.call_result(inst, results, ty, rest)?,
            _ => (None, false),
        };
        let opcode = match ty.result {
            FuncResult::Scalar(ty) => Opcode { ty, src_ty: ty, ..Opcode::untyped(Op::Call) },
            _ => Opcode::untyped(Op::Call),
        };
        self.emit(InstData::new(opcode, dst, args).calling(Callee {
            func,
            entry: 0,
            alias: self.context.aliases.get(name).copied(),
        }));
        Ok(taken)
    }

    /// The register or the shape of the parameter that a call's operand names.
    pub(super) fn argument_shape(&mut self, argument: &Source<'a>) -> Option<(u32, bool)> {
        let OperandKind::Name(name) = argument.kind else { return None };
        match self.resolve(name).ok()? {
            Entity::CallParam(index) => {
                let param = &self.call_params[index];
                Some((param.ty.bits(), param.array.is_some()))
            }
            Entity::Reg(reg) => Some((self.func.reg_types[reg].bits(), false)),
            Entity::Pointer(_) => Some((64, true)),
            _ => None,
        }
    }

    /// Drops the arguments of a call that is not made.
    fn drop_arguments(&mut self, arguments: &[Source<'a>]) {
        for argument in arguments {
            let OperandKind::Name(name) = argument.kind else { continue };
            if let Ok(Entity::CallParam(dropped)) = self.resolve(name) {
                self.call_params[dropped].pending = None;
                self.pending.retain(|index| *index != dropped);
            }
        }
        self.flush();
    }

    /// The register that takes a call's scalar result: where the only thing that happens to the result is one
    /// `ld.param` of its whole width right behind the call, that one's destination.
    fn call_result(
        &mut self,
        call: &Inst<'a>,
        results: &[Source<'a>],
        ty: Type,
        rest: &[Statement<'a>],
    ) -> Lowered<(Option<Reg>, bool)> {
        let Some(OperandKind::Name(name)) = results.first().map(|result| &result.kind) else {
            return Ok((None, false));
        };
        let index = match self.resolve(name)? {
            Entity::Reg(reg) => return self.check_width(reg, ty).map(|()| (Some(reg), false)),
            Entity::CallParam(index) if self.call_params[index].array.is_none() => index,
            _ => return Err(self.error("ptx-operands", &format!("`{name}` cannot take the result"))),
        };
        if let [Statement::Inst(load), Statement::Close, ..] = rest
            && load.opcode.text == "ld"
            && load.modifiers.first() == Some(&"param")
            && guard_text(load) == guard_text(call)
            && let [Source { kind: OperandKind::Name(dst), .. }, address] = &load.operands[..]
            && matches!(address.kind, OperandKind::Address(Some(base), 0) if base == *name)
            && let Some(loaded) = load.modifiers.last().and_then(|ty| Type::from_name(ty))
            && loaded.bits() == ty.bits()
            && *dst != "_"
            && let Entity::Reg(reg) = self.resolve(dst)?
            && self.func.reg_types[reg].bits() == ty.bits()
        {
            return Ok((Some(reg), true));
        }
        let reg = match self.call_params[index].reg {
            Some(reg) => reg,
            None => self.new_reg(name, ty),
        };
        self.call_params[index].reg = Some(reg);
        Ok((Some(reg), false))
    }

    /// The register that a call writes for a parameter or register of that name.
    pub(super) fn result_place(&mut self, name: &'a str, ty: Type) -> Lowered<Reg> {
        match self.resolve(name)? {
            Entity::Reg(reg) => self.check_width(reg, ty).map(|()| reg),
            Entity::CallParam(index) if self.call_params[index].array.is_none() => {
                let reg = match self.call_params[index].reg {
                    Some(reg) => reg,
                    None => self.new_reg(name, ty),
                };
                self.call_params[index].reg = Some(reg);
                Ok(reg)
            }
            _ => Err(self.error("ptx-operands", &format!("`{name}` cannot take the result"))),
        }
    }

    pub(super) fn scalar_argument(&mut self, argument: &Source<'a>, ty: Type) -> Lowered<Operand> {
        if let OperandKind::Name(name) = argument.kind
            && let Entity::CallParam(index) = self.resolve(name)?
        {
            let own = self.call_params[index].ty;
            if own.bits() != ty.bits() || self.call_params[index].array.is_some() {
                return Err(self.error("ptx-type", &format!("`{name}` does not fit a parameter of type `{ty}`")));
            }
            if let Some((value, guard)) = self.call_params[index].pending.clone()
                && (guard.is_none() || guard == self.guard)
            {
                self.call_params[index].pending = None;
                return Ok(value);
            }
            self.flush();
            return match self.call_params[index].reg {
                Some(reg) => Ok(Operand::Reg(reg)),
                // nvcc stores nothing for a parameter that the callee does not read.
                None if !self.call_params[index].is_stored => Ok(Operand::Const(0)),
                None => {
                    let message = format!("`{name}` has been passed to a call: store its value again for this one");
                    Err(self.error("ptx-operands", &message))
                }
            };
        }
        self.value(argument, ty)
    }

    /// The address of the array behind an aggregate argument or result.
    pub(super) fn aggregate(&mut self, name: &'a str) -> Lowered<Operand> {
        match self.resolve(name)? {
            Entity::CallParam(index) => match self.call_params[index].array {
                Some(array) => Ok(Operand::Symbol(Symbol::Array(array))),
                None => Err(self.error("ptx-type", &format!("`{name}` is not an aggregate"))),
            },
            Entity::Pointer(reg) => Ok(Operand::Reg(reg)),
            _ => Err(self.error("ptx-operands", &format!("`{name}` is not a parameter"))),
        }
    }

    /// An access of an aggregate, which lives in local memory.
    fn local_access(&mut self, inst: &Inst<'a>, opcode: Opcode, base: Option<AddressBase>, offset: i64) -> Lowered<()> {
        let Some(base) = base else { return Ok(()) };
        let opcode = Opcode { space: Some(Space::Local), flags: opcode.flags.difference(Flags::NC), ..opcode };
        let address = Operand::Address(Box::new(Address { base, terms: SmallVec::new(), offset }));
        self.memory(inst, opcode, address)
    }

    /// A scalar parameter is read and written whole, from its first byte.
    fn check_whole(&mut self, opcode: Opcode, offset: i64, whole: Type) -> Lowered<()> {
        if opcode.vector != 1 || offset != 0 || opcode.ty.bits() > whole.bits() {
            return Err(self.unsupported("only whole scalar parameters are supported"));
        }
        Ok(())
    }

    /// The value stored by a `st` of type `ty`, as a `whole`.
    fn converted(&mut self, value: &Source<'a>, ty: Type, whole: Type) -> Lowered<Operand> {
        let value = self.argument(value, crate::ir::ArgKind::LowBits(ty))?;
        let Operand::Reg(reg) = value else { return Ok(value) };
        if self.func.reg_types[reg].bits() == whole.bits() && ty.bits() == whole.bits() {
            return Ok(value);
        }
        let value = self.as_bits(value);
        let source = integer(ty);
        let result = source.with_bits(whole.bits()).unwrap_or(source);
        Ok(self.compute(Opcode::cvt(result, source), result, [value]))
    }

    /// `dst = value`, where `ty` says how many of the value's bits count and how they fill the register.
    fn extend(&mut self, dst: Reg, ty: Type, value: Operand, whole: Type) {
        let ty = if ty.agrees_with(whole) || ty.bits() < whole.bits() { ty } else { ty.as_bits() };
        let width = self.func.reg_types[dst].bits();
        if ty.bits() == whole.bits() && width == ty.bits() {
            return self.copy(dst, ty, value);
        }
        let value = self.as_bits(value);
        let source = integer(ty);
        let result = source.with_bits(width).unwrap_or(source);
        self.emit(InstData::new(Opcode::cvt(result, source), [dst], [value]));
    }

    /// The bits of a value, of which a conversion between integers then takes some: it does not read a float.
    fn as_bits(&mut self, value: Operand) -> Operand {
        match value {
            Operand::Reg(reg) if self.func.reg_types[reg].is_float() => {
                let bits = self.func.reg_types[reg].as_bits();
                self.compute(Opcode::mov(bits), bits, [value])
            }
            _ => value,
        }
    }

    /// Keeps a stored result only: arguments may wait while other arguments are stored.
    fn flush_result(&mut self) {
        if self.pending_result.is_some() {
            self.flush();
        }
    }
}

/// The name that stands for the function in a call.
pub(super) fn callee_name<'a>(inst: &Inst<'a>) -> Option<&'a str> {
    let name = inst.operands.iter().find(|operand| !matches!(operand.kind, OperandKind::List(_)))?;
    if let OperandKind::Name(name) = name.kind { Some(name) } else { None }
}

fn guard_text<'a>(inst: &Inst<'a>) -> Option<(&'a str, bool)> {
    inst.guard.map(|guard| (guard.register.text, guard.negated))
}

/// The integer type whose conversion extends as a load of `ty` does.
fn integer(ty: Type) -> Type {
    if ty.is_signed() { ty } else { Type::U64.with_bits(ty.bits()).unwrap_or(Type::U32) }
}
