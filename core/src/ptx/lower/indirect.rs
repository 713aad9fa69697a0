//! Calls of what a register says.
//!
//! ```text
//! mov.u64 %rd1, plus1;                  rd1 = mov.u64 1
//! call (y), %rd1, (x), prototype;  →    t1 = sub.u64 rd1, 1 ; t2 = min.u64 t1, 2 ; t3 = cvt.u32.u64 t2
//!                                       switch t3, call_plus1, call_plus2, no_function
//! ```
//!
//! The functions whose address somebody takes are numbered from 1, and the number is the address. A
//! call goes to those among them that take such arguments and return such a result, or to those
//! that `.calltargets` names; any other number traps.
//!
//! Sound where every address comes from this file: of others nobody knows what they call.
//!
//! Source: PTX ISA, "call", "Kernel and Function Directives".

use super::FuncResult;
use super::body::{Entity, Lowered, Lowering};
use crate::ir::{Callee, Func, InstData, Op, Opcode, Operand, ParamType, Reg, Symbol, Type};
use crate::ptx::syntax::{Operand as Source, OperandKind};
use alloc::format;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

impl<'a> Lowering<'a, '_> {
    /// `call (results), pointer, (arguments), prototype;`
    pub(super) fn indirect_call(
        &mut self,
        results: &[Source<'a>],
        arguments: &[Source<'a>],
        pointer: Reg,
        targets: Option<&Source<'a>>,
    ) -> Lowered<bool> {
        let shapes: Vec<Option<(u32, bool)>> = arguments.iter().map(|argument| self.argument_shape(argument)).collect();
        let result = results.first().map(|result| self.argument_shape(result));
        let named = match targets.map(|targets| &targets.kind) {
            Some(OperandKind::Name(name)) => self.scope_chain().find_map(|scope| scope.tables.get(name)).cloned(),
            _ => None,
        };
        let context = self.context;
        let fits = |func: Func| {
            let ty = &context.types[func.index()];
            let hidden = usize::from(ty.result == FuncResult::Aggregate);
            let shared = context.reached[func.index()].len();
            let params = &ty.params[hidden..ty.params.len() - shared];
            let returns = match ty.result {
                FuncResult::None => None,
                FuncResult::Scalar(ty) => Some(Some((ty.bits(), false))),
                FuncResult::Aggregate => Some(result.flatten().map(|(bits, _)| (bits, true))),
            };
            let takes = |param: &ParamType, shape: &Option<(u32, bool)>| match (param, shape) {
                (ParamType::Scalar(ty), Some((bits, false))) => ty.bits() == *bits,
                (ParamType::Pointer { .. }, Some((_, true))) => true,
                // A literal fits any number.
                (ParamType::Scalar(_), None) => true,
                _ => false,
            };
            let is_named =
                named.as_ref().is_none_or(|names| names.iter().any(|name| context.funcs.get(name.text) == Some(&func)));
            is_named
                && returns == result
                && params.len() == shapes.len()
                && params.iter().zip(&shapes).all(|(param, shape)| takes(param, shape))
        };
        let candidates: Vec<Option<Func>> = context.addressed.iter().map(|&func| fits(func).then_some(func)).collect();
        if candidates.iter().all(Option::is_none) {
            return Err(self.unsupported("no function of this file whose address is taken matches this call"));
        }
        if self.func.reg_types[pointer].bits() != 64 {
            return Err(self.error("ptx-type", "a function's address has 64 bits"));
        }
        // Everything that needs instructions of its own comes before the branch.
        let mut values: SmallVec<[Operand; 3]> = SmallVec::new();
        for (argument, shape) in arguments.iter().zip(&shapes) {
            values.push(match (&argument.kind, shape) {
                (OperandKind::Name(name), Some((_, true))) => self.aggregate(name)?,
                (_, Some((bits, false))) => {
                    let ty = Type::B64.with_bits(*bits).unwrap_or(Type::B64);
                    self.scalar_argument(argument, if *bits == 1 { Type::Pred } else { ty })?
                }
                _ => self.scalar_argument(argument, Type::B64)?,
            });
        }
        let mut written = None;
        let mut aggregate = None;
        if let (Some(Source { kind: OperandKind::Name(name), .. }), Some(Some((bits, is_aggregate)))) =
            (results.first(), result)
        {
            let ty = if bits == 1 { Type::Pred } else { Type::B64.with_bits(bits).unwrap_or(Type::B64) };
            match is_aggregate {
                true => aggregate = Some(self.aggregate(name)?),
                false => written = Some(self.result_place(name, ty)?),
            }
        }
        self.flush();
        let hidden: Vec<SmallVec<[Operand; 3]>> = candidates
            .iter()
            .map(|func| func.map_or(Ok(SmallVec::new()), |func| self.shared_arguments(func)))
            .collect::<Lowered<_>>()?;
        self.dispatch(pointer, &candidates, |func, place| {
            let args = aggregate.iter().cloned().chain(values.iter().cloned()).chain(hidden[place].iter().cloned());
            let opcode = match context.types[func.index()].result {
                FuncResult::Scalar(ty) => Opcode { ty, src_ty: ty, ..Opcode::untyped(Op::Call) },
                _ => Opcode::untyped(Op::Call),
            };
            InstData::new(opcode, written, args).calling(Callee { func, entry: 0, alias: None })
        });
        Ok(false)
    }

    /// The module's shared variables that a function reaches.
    fn shared_arguments(&mut self, func: Func) -> Lowered<SmallVec<[Operand; 3]>> {
        let context = self.context;
        let names = context.reached[func.index()].iter();
        names
            .map(|name| match self.resolve(name)? {
                Entity::Array(array) => Ok(Operand::Symbol(Symbol::Array(array))),
                Entity::Pointer(reg) => Ok(Operand::Reg(reg)),
                _ => Err(self.unsupported(&format!("`{name}` hides a shared variable"))),
            })
            .collect()
    }

    /// Branches to a block for each candidate, of which every other number traps, and goes on where they meet.
    fn dispatch(&mut self, pointer: Reg, candidates: &[Option<Func>], call: impl Fn(Func, usize) -> InstData) {
        let guard = self.guard.take();
        let fresh = |this: &mut Self, stem: &str| {
            let name = this.func.fresh_block_name(stem);
            this.func.build_detached_block(name, None)
        };
        let after = fresh(self, "called");
        if let Some(guard) = guard {
            let start = fresh(self, "dispatch");
            let condition = super::control::condition(guard);
            self.terminate(InstData::branch_if(condition, start, after));
            self.place(start);
            self.current = Some(start);
        }
        let none = fresh(self, "no_function");
        let count = candidates.len() as u64;
        let number = |op: Op| Opcode::new(op, Type::U64);
        let place = self.compute(number(Op::Sub), Type::U64, [Operand::Reg(pointer), Operand::Const(1)]);
        let place = self.compute(number(Op::Min), Type::U64, [place, Operand::Const(count)]);
        let place = self.compute(Opcode::cvt(Type::U32, Type::U64), Type::U32, [place]);
        let blocks: Vec<_> =
            candidates.iter().map(|candidate| candidate.map(|func| (func, fresh(self, "call")))).collect();
        let targets = blocks.iter().map(|block| block.map_or(none, |(_, block)| block)).chain([none]);
        let targets: Vec<_> = targets.collect();
        self.terminate(InstData::new(Opcode::untyped(Op::Switch), [], [place]).to(targets));
        for (place, block) in blocks.into_iter().enumerate() {
            let Some((func, block)) = block else { continue };
            self.place(block);
            self.current = Some(block);
            self.emit_unguarded(call(func, place));
            self.terminate(InstData::branch(after));
        }
        self.place(none);
        self.current = Some(none);
        self.emit_unguarded(InstData::new(Opcode::untyped(Op::Trap), [], []));
        self.terminate(InstData::new(Opcode::untyped(Op::Exit), [], []));
        self.place(after);
        self.current = Some(after);
    }
}
