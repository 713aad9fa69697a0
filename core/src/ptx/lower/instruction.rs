//! One instruction of PTX: what it is called here, and its operands in place.

use super::body::{Entity, Lowered, Lowering};
use super::opaque::{is_kept, is_opaque_family};
use crate::ir::{Few, Flags, Guard, InstData, Op, Opcode, Operand, Reg, Signature, SpellingError, Type};
use crate::ptx::syntax::{Inst, Operand as Source, OperandKind, Statement};
use crate::text::{Diagnostic, nearest, quoted};
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

impl<'a> Lowering<'a, '_> {
    /// Lowers an instruction. True where the statement behind it was taken along.
    pub(super) fn inst(&mut self, inst: &Inst<'a>, rest: &[Statement<'a>]) -> Lowered<bool> {
        self.guard = match inst.guard {
            Some(guard) => Some(Guard { reg: self.predicate_register(guard.register.text)?, negated: guard.negated }),
            None => None,
        };
        let first = inst.modifiers.first().copied().unwrap_or_default();
        match inst.opcode.text {
            "bra" => {
                self.flush();
                return self.branch(inst, rest);
            }
            "brx" => {
                self.flush();
                self.switch(inst, rest)?;
            }
            "ret" => self.leave(Op::Ret, rest),
            "exit" => {
                self.flush();
                self.leave(Op::Exit, rest);
            }
            "trap" => {
                self.flush();
                self.emit(InstData::new(Opcode::untyped(Op::Trap), [], []));
            }
            "call" => return self.call(inst, rest),
            "st" | "ld" if first.split("::").next() == Some("param") && inst.modifiers.contains(&"b128") => {
                self.flush();
                self.wide_param(inst)?;
            }
            "st" | "ld" if first.split("::").next() == Some("param") => {
                let opcode = self.opcode(inst)?;
                match inst.opcode.text {
                    "st" => self.store_param(inst, opcode)?,
                    _ => self.load_param(inst, opcode)?,
                }
            }
            _ if is_opaque_family(inst.opcode.text) => {
                self.flush();
                self.opaque(inst)?;
            }
            _ => {
                self.flush();
                self.plain(inst)?;
            }
        }
        Ok(false)
    }

    /// An instruction that the text IR has, or can say in others; where it has only relatives of it, it is kept.
    fn plain(&mut self, inst: &Inst<'a>) -> Lowered<()> {
        let (known, begun) = (self.problems.len(), self.func.insts.len());
        let mut plain = Cow::Borrowed(inst);
        // A policy of the cache, which does nothing here, stands last.
        if inst.modifiers.contains(&"L2::cache_hint") {
            let plain = plain.to_mut();
            plain.modifiers.retain(|word| *word != "L2::cache_hint");
            plain.operands.pop();
            self.warn("the cache hint `.L2::cache_hint` is dropped");
        }
        let mut lowered = self.expand(&plain);
        if let Ok(false) = lowered {
            lowered = self.opcode(&plain).and_then(|opcode| self.generic(&plain, opcode)).map(|()| true);
        }
        let is_unsupported = |problem: &Diagnostic| problem.code == "ptx-unsupported";
        if lowered.is_err() && self.problems[known..].iter().any(is_unsupported) && is_kept(inst) {
            self.problems.truncate(known);
            self.drop_insts(begun);
            return self.opaque(inst);
        }
        lowered.map(|_| ())
    }

    /// Takes back what was emitted since there were so many instructions.
    fn drop_insts(&mut self, begun: usize) {
        for inst in (begun..self.func.insts.len()).map(crate::ir::Inst::new) {
            if self.func.inst_block(inst).is_some() {
                self.func.remove_inst(inst);
            }
        }
    }

    /// The opcode that is spelled like the instruction, apart from words that mean nothing to a simulator.
    pub(super) fn opcode(&mut self, inst: &Inst<'a>) -> Lowered<Opcode> {
        let mut spelling = String::from(match inst.opcode.text {
            "ldu" => "ld",
            other => other,
        });
        for word in &inst.modifiers {
            // Hints to caches and to the assembler, and defaults that have a name.
            let is_cache_hint = word.starts_with("L1::") || word.starts_with("L2::");
            let is_hint = matches!(*word, "aligned" | "weak" | "noftz") || is_cache_hint;
            if is_cache_hint {
                self.warn(&format!("the cache hint `.{word}` is dropped"));
            }
            if matches!(*word, "shared::cluster" | "cluster" | "unified" | "mmio") {
                return Err(self.unsupported(&format!("`.{word}` is not supported")));
            }
            if !is_hint {
                spelling.push('.');
                spelling.push_str(word);
            }
        }
        let problem = match Opcode::from_spelling(&spelling) {
            Ok(opcode) if !matches!(opcode.op, Op::In | Op::Work | Op::BrIf | Op::CallTo | Op::Switch) => {
                return Ok(opcode);
            }
            Ok(_) | Err(SpellingError::UnknownRoot(_)) => {
                let root = inst.opcode.text;
                return Err(match unsupported_family(root) {
                    Some(what) => self.unsupported(&format!("`{root}` is not supported: {what}")),
                    None => {
                        let known = Op::ALL.iter().filter_map(|op| op.name().split(['.', ' ']).next());
                        let meant =
                            nearest(root, known.filter(|name| !matches!(*name, "in" | "work" | "br" | "switch")));
                        let message = format!("unknown opcode {}", quoted(root));
                        let diagnostic = Diagnostic::error("ptx-unknown-opcode", inst.opcode.span, message);
                        self.report(diagnostic.with_suggestion(inst.opcode.span, meant))
                    }
                });
            }
            Err(SpellingError::UnknownSuffix(op, word)) => format!("`.{word}` of `{}` is not supported", op.name()),
            Err(SpellingError::MissingType(op)) => format!("`{}` needs a type", op.name()),
            Err(SpellingError::WrongType(op, ty)) => format!("`{}` of type `.{ty}` is not supported", op.name()),
            Err(SpellingError::Missing(op, what)) => format!("`{}` needs {what}", op.name()),
            Err(SpellingError::SuffixForType(op, word, ty)) => {
                format!("`.{word}` of `{}` is not supported for type `.{ty}`", op.name())
            }
            Err(SpellingError::Repeated(op, word)) => format!("duplicate modifier `.{word}` on `{}`", op.name()),
        };
        Err(self.unsupported(&problem))
    }

    /// An instruction whose operands stand as its opcode's signature says.
    pub(super) fn generic(&mut self, inst: &Inst<'a>, opcode: Opcode) -> Lowered<()> {
        let (signature, operands) = self.shape(inst, opcode)?;
        let (dsts, sources) = match operands {
            [first, rest @ ..] if !signature.dsts.is_empty() => (self.destinations(first, &signature)?, rest),
            operands => (Few::new(), operands),
        };
        let mut data = InstData::new(opcode, dsts, []);
        // PTX's carry flag is a register here: one destination more, or one operand more.
        if opcode.has(Flags::CC) {
            let carry = self.carry();
            data.dsts.push(carry);
        }
        let takes_carry = matches!(opcode.op, Op::Addc | Op::Subc | Op::Madc);
        let taken = signature.args.len() - usize::from(takes_carry);
        // PTX has what is asked of the threads behind which barrier it is, and how many threads it is for.
        let asks_threads = matches!(opcode.op, Op::BarPopc | Op::BarAnd | Op::BarOr);
        let (front, behind) = sources.split_at(if asks_threads { sources.len().saturating_sub(1) } else { 0 });
        for (index, source) in behind.iter().chain(front).enumerate() {
            if index >= taken {
                return Err(self.count_error(inst, taken));
            }
            let operand = self.argument(source, signature.args[index])?;
            self.check_base(&operand, opcode.space)?;
            data.args.push(operand);
        }
        if takes_carry {
            let carry = self.carry();
            data.args.push(Operand::Reg(carry));
        }
        if data.args.len() < signature.required_args {
            return Err(self.count_error(inst, taken));
        }
        data.leave_out_barrier_0();
        self.emit(data);
        Ok(())
    }

    /// A load or store whose address is already known.
    pub(super) fn memory(&mut self, inst: &Inst<'a>, opcode: Opcode, address: Operand) -> Lowered<()> {
        let signature = opcode.signature();
        let (Some(first), Some(second)) = (inst.operands.first(), inst.operands.get(1)) else {
            return Err(self.count_error(inst, 2));
        };
        let data = if opcode.op == Op::St {
            let value = self.argument(second, signature.args[1])?;
            InstData::new(opcode, [], [address, value])
        } else {
            InstData::new(opcode, self.destinations(first, &signature)?, [address])
        };
        self.emit(data);
        Ok(())
    }

    /// The signature, which for a packing `mov` depends on the operands, and the operands, which for `st` start
    /// with the address.
    fn shape<'i>(&mut self, inst: &'i Inst<'a>, opcode: Opcode) -> Lowered<(Signature, &'i [Source<'a>])> {
        let parts = |index: usize| match inst.operands.get(index).map(|operand| &operand.kind) {
            Some(OperandKind::Vector(parts)) => Some(parts.len()),
            _ => None,
        };
        let packing = match (opcode.op, parts(0), parts(1)) {
            (Op::Mov, Some(parts), _) => Some((parts, false)),
            (Op::Mov, _, Some(parts)) => Some((parts, true)),
            _ => None,
        };
        let signature = match packing {
            None => opcode.signature(),
            Some((parts, packs)) => match opcode.packing_signature(parts, packs) {
                Some(signature) => signature,
                None => return Err(self.unsupported(&format!("`mov.{}` of {parts} parts is not supported", opcode.ty))),
            },
        };
        Ok((signature, &inst.operands))
    }

    pub(super) fn destinations(&mut self, first: &Source<'a>, signature: &Signature) -> Lowered<Few<Reg>> {
        let names: SmallVec<[&'a str; 4]> = match &first.kind {
            OperandKind::Name(name) => SmallVec::from_slice(&[*name]),
            OperandKind::Pair(first, second) if *second == "_" => SmallVec::from_slice(&[*first]),
            OperandKind::Pair(first, second) => SmallVec::from_slice(&[*first, *second]),
            OperandKind::Vector(parts) => {
                let names = parts.iter().map(|part| match part.kind {
                    OperandKind::Name(name) => Ok(name),
                    _ => Err(self.error("ptx-operands", "expected registers in braces")),
                });
                names.collect::<Lowered<_>>()?
            }
            _ => return Err(self.error("ptx-operands", "expected a register to write")),
        };
        // PTX keeps the carry out in a register of its own, which no instruction names.
        let keeps_carry = signature.dsts.get(1).is_some_and(|second| second.ty == Type::Pred);
        let required = if keeps_carry { 1 } else { signature.required_dsts };
        if !(required..=signature.dsts.len()).contains(&names.len()) {
            let message = format!("expected {} registers to write", signature.required_dsts);
            return Err(self.error("ptx-operands", &message));
        }
        // The registers of a vector have one width, also that of the sink.
        let mut width = None;
        if names.contains(&"_")
            && let Some(name) = names.iter().find(|name| **name != "_")
            && let Entity::Reg(reg) = self.resolve(name)?
        {
            width = Some(self.func.reg_types[reg].bits());
        }
        let dsts = signature.dsts.clone();
        let destinations = names.into_iter().zip(dsts).map(|(name, dst)| match (name, width) {
            ("_", Some(width)) if dst.may_be_wider && width > dst.ty.bits() => {
                Ok(self.temporary(dst.ty.with_bits(width).unwrap_or(dst.ty)))
            }
            _ => self.destination(name, dst.ty, dst.may_be_wider),
        });
        destinations.collect()
    }

    fn carry(&mut self) -> Reg {
        if let Some(carry) = self.carry {
            return carry;
        }
        let carry = self.new_reg("carry", Type::Pred);
        self.carry = Some(carry);
        carry
    }

    pub(super) fn count_error(&mut self, inst: &Inst<'a>, wanted: usize) -> super::body::Reported {
        let message = format!("`{}` takes {wanted} source operands", inst.opcode.text);
        self.error("ptx-operands", &message)
    }
}

/// Supported part of a family of instructions that has no opcode here.
fn unsupported_family(root: &str) -> Option<&'static str> {
    Some(match root {
        "bar" | "barrier" => "only `bar.sync`, `bar.arrive`, `bar.red` and `bar.warp.sync` are",
        "tanh" => "only `tanh.approx` of `.f32`, `.f16` and `.bf16` is",
        "match" | "vote" | "shfl" => "no equivalent here",
        _ => return None,
    })
}
