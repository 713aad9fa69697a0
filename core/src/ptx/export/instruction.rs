//! One instruction as PTX: mostly its spelling and operands, and for some a short sequence.

use super::address::unsigned;
use super::carry::{self, FlagState};
use super::forms::Form;
use super::function::{Writer, Written, param_declaration, result_declaration, special_name};
use super::requirements;
use super::spelling::{missing, plain, spelling};
use super::{memory_type, param_type};
use crate::ir::{
    ArgKind, Extent, Flags, FuncKind, InstData, Op, Opcode, Operand, ParamType, Passing, Piece, Rounding, Signature,
    Space, Symbol, Type,
};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The content of a call's parameter.
enum Argument {
    Value(Type, String),
    /// With the address of the local array.
    Aggregate(Extent, String),
}

impl Writer<'_> {
    /// Writes an instruction that is no terminator.
    pub fn instruction(&mut self, inst: &InstData) -> Written<()> {
        self.needs = self.needs.and(requirements::of(inst, self.module.header.is_none()));
        if let Some(missing) = missing(inst.opcode) {
            return Err(self.problem(None, &format!("PTX has no {missing}")));
        }
        match inst.opcode.op {
            Op::In => Err(self.problem(None, "`in` draws from outside the program, which PTX cannot express")),
            Op::Work => Err(self.problem(None, "`work` is a placeholder for other code, which PTX cannot express")),
            Op::Ptx => self.opaque(inst),
            Op::Read => {
                let args = self.arguments(inst, &inst.opcode.signature())?;
                let dst = self.destinations(inst).unwrap_or_default();
                self.statement(inst, &format!("mov.{} {dst}, {};", inst.opcode.ty, args.join(", ")));
                Ok(())
            }
            Op::Mov => self.mov(inst),
            Op::Cvta => self.cvta(inst),
            Op::Isspacep => {
                let address = self.generic(&inst.args[0], Type::B64)?;
                self.plain(inst, &[address]);
                Ok(())
            }
            Op::Ld | Op::St | Op::Atom | Op::Red => self.memory(inst),
            Op::Tex1d | Op::Tex2d => self.texture(inst),
            Op::Addc | Op::Subc | Op::Madc => self.with_carry_in(inst),
            Op::Call => self.call(inst),
            Op::Selp => self.selp(inst),
            Op::Cvt if rounds_to_integer_between_floats(inst.opcode) => self.two_conversions(inst),
            Op::VoteAll | Op::VoteAny | Op::VoteUni | Op::VoteBallot | Op::MatchAny | Op::MatchAll | Op::Redux => {
                self.collective(inst, &[])
            }
            Op::ShflIdx | Op::ShflDown | Op::ShflBfly => self.collective(inst, &["31"]),
            Op::ShflUp => self.collective(inst, &["0"]),
            Op::BarSync => {
                let args = self.barrier_arguments(inst)?;
                let list = if args.is_empty() { "0".to_string() } else { args.join(", ") };
                self.statement(inst, &format!("{} {list};", inst.opcode));
                Ok(())
            }
            Op::BarPopc | Op::BarAnd | Op::BarOr => {
                let mut args = self.barrier_arguments(inst)?;
                // PTX has the predicate behind the others, and always says which barrier it is.
                args.rotate_left(1);
                if args.len() == 1 {
                    args.insert(0, "0".to_string());
                }
                self.plain(inst, &args);
                Ok(())
            }
            Op::Bfe | Op::Bfi => {
                // Positions and lengths count modulo 256, and the assembler takes numbers below.
                let mut written = inst.clone();
                for arg in written.args.iter_mut().rev().take(2) {
                    if let Operand::Const(bits) = arg {
                        *bits &= 0xFF;
                    }
                }
                let args = self.arguments(&written, &inst.opcode.signature())?;
                self.plain(&written, &args);
                Ok(())
            }
            Op::BarArrive => {
                let args = self.barrier_arguments(inst)?;
                self.plain(inst, &args);
                Ok(())
            }
            Op::BarWarp => {
                let args = self.arguments(inst, &inst.opcode.signature())?;
                let mask = args.first().map_or("0xffffffff", String::as_str);
                self.statement(inst, &format!("bar.warp.sync {mask};"));
                Ok(())
            }
            _ => {
                let (mut written, signature) = (inst.clone(), inst.opcode.signature());
                let clamps = inst.opcode.has(Flags::SAT) && inst.opcode.ty == Type::F64 && inst.opcode.op != Op::Cvt;
                if clamps {
                    written.opcode.flags.remove(Flags::SAT);
                }
                let args = self.arguments(inst, &signature)?;
                self.plain(&written, &args);
                if clamps {
                    // `max` takes the number where the other is NaN, and +0 of the two zeros.
                    let dst = self.destinations(inst).unwrap_or_default();
                    self.statement(inst, &format!("max.f64 {dst}, {dst}, 0d0000000000000000;"));
                    self.statement(inst, &format!("min.f64 {dst}, {dst}, 0d3FF0000000000000;"));
                }
                self.keep_carry(inst);
                Ok(())
            }
        }
    }

    /// An opaque instruction: its template with the operands in their places.
    fn opaque(&mut self, inst: &InstData) -> Written<()> {
        let Some(template) = inst.template() else { return Err(self.problem(None, "the instruction has no text")) };
        let mut text = String::new();
        for piece in template.pieces() {
            match piece {
                Piece::Text(own) => text.push_str(own),
                Piece::Place(place) => match inst.dsts.get(place) {
                    Some(&dst) => text.push_str(&self.reg(dst)),
                    None => match inst.args.get(place - inst.dsts.len()) {
                        Some(operand) => text.push_str(&self.argument(operand, ArgKind::Kept)?),
                        None => return Err(self.problem(None, "the template names no operand")),
                    },
                },
            }
        }
        text.push(';');
        self.statement(inst, &text);
        Ok(())
    }

    /// A float to a whole number and to another format: PTX has each alone.
    fn two_conversions(&mut self, inst: &InstData) -> Written<()> {
        let (to, from) = (inst.opcode.ty, inst.opcode.src_ty);
        let args = self.arguments(inst, &inst.opcode.signature())?;
        let whole = self.temporary(from);
        let flush = |ty: Type| if inst.opcode.has(Flags::FTZ) && ty == Type::F32 { ".ftz" } else { "" };
        let clamp = if inst.opcode.has(Flags::SAT) { ".sat" } else { "" };
        let Some(rounding) = inst.opcode.rounding else { return Ok(()) };
        let narrows = to.bits() < from.bits();
        let second = if narrows { format!(".{}", plain(rounding).name()) } else { String::new() };
        let flush_any = if from == Type::F32 || to == Type::F32 { flush(Type::F32) } else { "" };
        let dst = self.destinations(inst).unwrap_or_default();
        let first = format!("cvt.{}{}.{from}.{from} {whole}, {};", rounding.name(), flush(from), args.join(", "));
        self.statement(inst, &first);
        self.statement(inst, &format!("cvt{second}{flush_any}{clamp}.{to}.{from} {dst}, {whole};"));
        Ok(())
    }

    /// `spelling dsts, args;` under the guard.
    fn plain(&mut self, inst: &InstData, args: &[String]) {
        let opcode = spelling(inst.opcode);
        let dsts = self.destinations(inst);
        let operands: Vec<&str> = dsts.iter().map(String::as_str).chain(args.iter().map(String::as_str)).collect();
        self.statement(inst, format!("{opcode} {};", operands.join(", ")).replace(" ;", ";").as_str());
    }

    /// The destinations as one operand, if there are any.
    fn destinations(&self, inst: &InstData) -> Option<String> {
        let mut regs: Vec<String> = inst.dsts.iter().map(|&reg| self.reg(reg)).collect();
        if inst.opcode.has(Flags::CC) {
            regs.truncate(1);
        }
        match (inst.opcode.op, regs.len()) {
            (_, 0) => None,
            (Op::Ld | Op::Atom | Op::Mov | Op::Tex1d | Op::Tex2d, 2..) => Some(format!("{{{}}}", regs.join(", "))),
            _ => Some(regs.join("|")),
        }
    }

    fn arguments(&mut self, inst: &InstData, signature: &Signature) -> Written<Vec<String>> {
        let kinds = inst.args.iter().enumerate();
        kinds
            .map(|(index, arg)| self.argument(arg, signature.arg(index).unwrap_or(ArgKind::Any(inst.opcode.ty))))
            .collect()
    }

    /// Arguments of a barrier. The assembler takes a count only if it is a multiple of 32, but one
    /// in a register may be any.
    fn barrier_arguments(&mut self, inst: &InstData) -> Written<Vec<String>> {
        let mut args = self.arguments(inst, &inst.opcode.signature())?;
        let count = inst.barrier_operand().map(|number| number + 1);
        if let Some(count) = count
            && let Some(Operand::Const(bits)) = inst.args.get(count)
            && bits % 32 != 0
        {
            let register = self.temporary(Type::B32);
            self.line(&format!("mov.u32 {register}, {};", args[count]));
            args[count] = register;
        }
        Ok(args)
    }

    /// Writes one statement under the instruction's guard.
    fn statement(&mut self, inst: &InstData, text: &str) {
        match inst.guard {
            Some(guard) => {
                let (bang, reg) = (if guard.negated { "!" } else { "" }, self.reg(guard.reg));
                self.line(&format!("@{bang}{reg} {text}"));
            }
            None => self.line(text),
        }
    }

    fn mov(&mut self, inst: &InstData) -> Written<()> {
        let opcode = spelling(inst.opcode);
        if inst.dsts.len() == 4 && inst.opcode.ty.bits() == 32 {
            return self.unpack_bytes(inst);
        }
        let dsts = self.destinations(inst).unwrap_or_default();
        let source = match &inst.args[..] {
            [Operand::Reg(reg)] if self.copied_params.contains(reg) => {
                let place = self.func.params.iter().position(|param| param.reg == Some(*reg));
                let name = place.map(|place| self.locals.params[place].clone()).unwrap_or_default();
                let ty = memory_type(inst.opcode.ty);
                self.statement(inst, &format!("ld.param.{ty} {dsts}, [{name}];"));
                return Ok(());
            }
            [Operand::Special(special)] => special_name(*special),
            [Operand::Symbol(own)] => self.symbol_name(*own),
            [list @ Operand::List(parts)] => {
                let part = inst.opcode.packing_signature(parts.len(), true).and_then(|signature| signature.arg(0));
                let Some(kind) = part else { return Err(self.problem(None, "PTX packs 2 or 4 registers")) };
                if parts.len() == 4 && inst.opcode.ty.bits() == 32 {
                    self.bytes(parts)?
                } else {
                    self.argument(list, kind)?
                }
            }
            [operand] => self.value(operand, inst.opcode.ty)?,
            _ => return Err(self.problem(None, "`mov` takes one operand")),
        };
        self.statement(inst, &format!("{opcode} {dsts}, {source};"));
        Ok(())
    }

    /// Unpacking into four bytes, which `mov` gives to registers of 8 bits only.
    fn unpack_bytes(&mut self, inst: &InstData) -> Written<()> {
        let value = self.value(&inst.args[0], inst.opcode.ty)?;
        let bytes: Vec<String> = inst.dsts.iter().map(|_| self.temporary(Type::B8)).collect();
        self.statement(inst, &format!("mov.b32 {{{}}}, {value};", bytes.join(", ")));
        for (&dst, byte) in inst.dsts.iter().zip(&bytes) {
            let width = unsigned(self.func.reg_types[dst].bits().max(16));
            let dst = self.reg(dst);
            self.statement(inst, &format!("cvt.{width}.u8 {dst}, {byte};"));
        }
        Ok(())
    }

    /// A conversion between address forms, unless passes already made the operand what the result should be.
    fn cvta(&mut self, inst: &InstData) -> Written<()> {
        let value = self.value(&inst.args[0], inst.opcode.ty)?;
        if inst.opcode.space.is_none() {
            let dst = self.destinations(inst).unwrap_or_default();
            self.statement(inst, &format!("mov.b{} {dst}, {value};", inst.opcode.ty.bits()));
            return Ok(());
        }
        let form = super::forms::operand_form(self.module, self.func, &self.forms, &inst.args[0]);
        let to = inst.opcode.has(Flags::TO);
        let done = match (inst.opcode.space, form) {
            (Some(Space::Global), _) => false,
            (Some(space), Form::Window(own)) if to => own == space,
            (Some(_), Form::Generic) => !to,
            _ => false,
        };
        let dst = self.destinations(inst).unwrap_or_default();
        if done {
            self.statement(inst, &format!("mov.b{} {dst}, {value};", inst.opcode.ty.bits()));
        } else {
            self.statement(inst, &format!("{} {dst}, {value};", spelling(inst.opcode)));
        }
        Ok(())
    }

    fn memory(&mut self, inst: &InstData) -> Written<()> {
        let Some(address) = inst.address() else { return Err(self.problem(None, "the access has no address")) };
        let (address, space) = self.address(address, inst.opcode)?;
        let signature = inst.opcode.signature();
        let (destinations, narrowed) = self.loaded(inst);
        let mut operands: Vec<String> = destinations.into_iter().collect();
        operands.push(address);
        let is_of_halves = inst.opcode.ty == Type::F16 || inst.opcode.has(Flags::BF16);
        let is_atomic_on_halves = is_of_halves && matches!(inst.opcode.op, Op::Atom | Op::Red);
        for (index, arg) in inst.args.iter().enumerate().skip(1) {
            let kind = signature.arg(index).unwrap_or(ArgKind::Any(inst.opcode.ty));
            operands.push(match kind {
                _ if is_atomic_on_halves => self.halves(arg)?,
                // What is stored may be read back anywhere, so an address is stored in generic form.
                ArgKind::LowBits(ty) | ArgKind::Value(ty) if ty.bits() == 64 && !ty.is_float() => {
                    self.generic(arg, ty)?
                }
                kind => self.argument(arg, kind)?,
            });
        }
        let opcode = spelling(Opcode { space, ..inst.opcode });
        self.statement(inst, &format!("{opcode} {};", operands.join(", ")));
        if inst.opcode.has(Flags::SPEC) {
            self.list_plain_load();
        }
        narrowed.iter().for_each(|conversion| self.statement(inst, conversion));
        Ok(())
    }

    /// One half or a list of them, of which PTX has no literals in an atomic.
    fn halves(&mut self, operand: &Operand) -> Written<String> {
        match operand {
            Operand::List(elements) => {
                let elements = elements.iter().map(|element| self.halves(element)).collect::<Written<Vec<_>>>()?;
                Ok(format!("{{{}}}", elements.join(", ")))
            }
            operand => self.argument(operand, ArgKind::Value(Type::F16)),
        }
    }

    /// The destinations of an access, and the statements after it. The registers of a vector have one width in PTX; a
    /// narrower one takes the low bits of a temporary.
    fn loaded(&mut self, inst: &InstData) -> (Option<String>, Vec<String>) {
        let widths = inst.dsts.iter().map(|&dst| self.func.reg_types[dst].bits().max(16));
        let (Some(widest), Some(narrowest)) = (widths.clone().max(), widths.min()) else { return (None, Vec::new()) };
        if widest == narrowest {
            return (self.destinations(inst), Vec::new());
        }
        let (mut names, mut conversions) = (Vec::new(), Vec::new());
        for &dst in &inst.dsts {
            let width = self.func.reg_types[dst].bits().max(16);
            let mut name = self.reg(dst);
            if width < widest {
                let wide = self.temporary(unsigned(widest));
                conversions.push(format!("cvt.u{width}.u{widest} {name}, {wide};"));
                name = wide;
            }
            names.push(name);
        }
        (Some(format!("{{{}}}", names.join(", "))), conversions)
    }

    fn texture(&mut self, inst: &InstData) -> Written<()> {
        let args = self.arguments(inst, &inst.opcode.signature())?;
        let (opcode, dsts) = (spelling(inst.opcode), self.destinations(inst).unwrap_or_default());
        let [texture, coordinates @ ..] = &args[..] else { return Err(self.problem(None, "a texture is missing")) };
        self.statement(inst, &format!("{opcode} {dsts}, [{texture}, {{{}}}];", coordinates.join(", ")));
        Ok(())
    }

    /// `selp` takes a plain predicate: a negated one swaps the choices.
    fn selp(&mut self, inst: &InstData) -> Written<()> {
        let args = self.arguments(inst, &inst.opcode.signature())?;
        let [yes, no, predicate] = &args[..] else { return Err(self.problem(None, "`selp` takes three operands")) };
        let args = match predicate.strip_prefix('!') {
            Some(plain) => [no.clone(), yes.clone(), plain.to_string()],
            None => [yes.clone(), no.clone(), predicate.clone()],
        };
        self.plain(inst, &args);
        Ok(())
    }

    /// Votes, shuffles and matches. `defaults` are the operands that may be missing before the member mask; without
    /// a mask it is the lanes that are active here, which is what the text IR means.
    fn collective(&mut self, inst: &InstData, defaults: &[&str]) -> Written<()> {
        let mut args = self.arguments(inst, &inst.opcode.signature())?;
        let fixed = inst.opcode.signature().required_args;
        for (index, default) in defaults.iter().enumerate() {
            if args.len() <= fixed + index {
                args.push((*default).to_string());
            }
        }
        if args.len() == fixed + defaults.len() {
            let mask = self.temporary(Type::B32);
            self.statement(inst, &format!("activemask.b32 {mask};"));
            args.push(mask);
        }
        self.plain(inst, &args);
        Ok(())
    }

    // Carries

    fn with_carry_in(&mut self, inst: &InstData) -> Written<()> {
        let signature = inst.opcode.signature();
        let Some((carry, sources)) = inst.args.split_last() else {
            return Err(self.problem(None, "the carry is missing"));
        };
        let mut args = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            args.push(self.argument(source, signature.args[index])?);
        }
        let subtraction = carry::is_subtraction(inst.opcode.op);
        let direct = carry::carry_in(inst).is_some_and(|reg| self.flag == Some(FlagState { reg, subtraction }));
        if !direct {
            // 1 + 0xffffffff carries, 0 - 1 borrows: the flag becomes the predicate.
            let predicate = self.predicate(carry)?;
            let (number, sum) = (self.temporary(Type::B32), self.temporary(Type::B32));
            let (plain, yes, no) = match predicate.strip_prefix('!') {
                Some(plain) => (plain, 0, 1),
                None => (predicate.as_str(), 1, 0),
            };
            self.line(&format!("selp.b32 {number}, {yes}, {no}, {plain};"));
            match subtraction {
                true => self.line(&format!("sub.cc.u32 {sum}, 0, {number};")),
                false => self.line(&format!("add.cc.u32 {sum}, {number}, 0xffffffff;")),
            }
        }
        self.plain(inst, &args);
        self.keep_carry(inst);
        Ok(())
    }

    /// Copies the flag into the predicate register where something wants it there.
    fn keep_carry(&mut self, inst: &InstData) {
        let Some(reg) = carry::carry_out(inst).filter(|reg| self.kept_carries.contains(reg)) else { return };
        let number = self.temporary(Type::B32);
        let name = self.reg(reg);
        // `addc` and `subc` without `.cc` leave the flag as it is.
        let opcode = if carry::is_subtraction(inst.opcode.op) { "subc" } else { "addc" };
        self.line(&format!("{opcode}.u32 {number}, 0, 0;"));
        self.statement(inst, &format!("setp.ne.u32 {name}, {number}, 0;"));
    }

    // Calls

    /// The size of an array of this function.
    fn array_bytes(&self, operand: &Operand) -> u32 {
        let Operand::Symbol(Symbol::Array(array)) = operand else { return 0 };
        let array = &self.func.arrays[*array];
        array.len.unwrap_or(0) * array.ty.bytes()
    }

    /// The parameters around a call must stand beside it, so a guarded one is jumped over.
    fn call(&mut self, inst: &InstData) -> Written<()> {
        let Some(callee) = inst.callee().filter(|callee| callee.entry == 0) else {
            return Err(self.problem(None, "PTX functions have one entry"));
        };
        self.callees.insert(callee.func);
        let target = &self.module.funcs[callee.func];
        // The value of each argument, the bytes that it points at of an aggregate, and the declaration that passes it.
        let mut args = Vec::new();
        let mut result_address = None;
        let prefix = self.call_prefix.clone();
        for (param, arg) in target.params.iter().zip(&inst.args) {
            let name = format!("{prefix}param{}", args.len());
            let declaration = param_declaration(FuncKind::Func, param, &name);
            match param.passing {
                Passing::FileShared => continue,
                Passing::Aggregate(extent) => {
                    // An array without a size takes as many bytes as there are.
                    let bytes = if extent.bytes == 0 { self.array_bytes(arg) } else { extent.bytes };
                    let declaration = declaration.replace("[]", &format!("[{bytes}]"));
                    let address = self.windowed(arg, Space::Local)?;
                    args.push((name, declaration, Argument::Aggregate(Extent { bytes, ..extent }, address)));
                    continue;
                }
                Passing::AggregateResult(extent) => {
                    result_address = Some((extent, self.windowed(arg, Space::Local)?));
                    continue;
                }
                Passing::Value => {}
            }
            let ty = match param.ty {
                ParamType::Scalar(ty) => ty,
                ParamType::Pointer { .. } | ParamType::Texture => Type::B64,
                ParamType::Array(..) => return Err(self.problem(None, "arrays by value are passed to kernels only")),
            };
            let value = match param.ty {
                ParamType::Pointer { space: Some(space), .. } => self.windowed(arg, space)?,
                _ => self.passed(arg, ty)?,
            };
            args.push((name, declaration, Argument::Value(param_type(ty), value)));
        }
        let around = inst.guard.map(|guard| {
            let (bang, reg, label) = (if guard.negated { "" } else { "!" }, self.reg(guard.reg), self.fresh_label());
            self.line(&format!("@{bang}{reg} bra {label};"));
            label
        });
        self.line("{");
        for (name, declaration, argument) in &args {
            self.line(&format!("{declaration};"));
            match argument {
                Argument::Value(ty, value) => self.line(&format!("st.param.{ty} [{name}], {value};")),
                Argument::Aggregate(extent, address) => {
                    self.copy_aggregate(*extent, ("local", address), ("param", name));
                }
            }
        }
        let names = args.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>().join(", ");
        let alias = callee.alias.and_then(|alias| target.aliases.get(alias as usize)).map(|alias| alias.name.clone());
        let name = alias.unwrap_or_else(|| self.locals.module.funcs[callee.func].clone());
        let result = format!("{prefix}retval0");
        match result_declaration(target, &result) {
            Some(declaration) => {
                self.line(&format!("{declaration};"));
                self.line(&format!("call.uni ({result}), {name}, ({names});"));
            }
            None => self.line(&format!("call.uni {name}, ({names});")),
        }
        if let (Some(ty), Some(dst)) = (target.returns, inst.dst()) {
            let dst = self.reg(dst);
            if ty == Type::Pred {
                let number = self.temporary(Type::B32);
                self.line(&format!("ld.param.b32 {number}, [{result}];"));
                self.line(&format!("setp.ne.u32 {dst}, {number}, 0;"));
            } else {
                self.line(&format!("ld.param.{} {dst}, [{result}];", param_type(ty)));
            }
        }
        if let Some((extent, address)) = result_address {
            self.copy_aggregate(extent, ("param", &result), ("local", &address));
        }
        self.line("}");
        if let Some(label) = around {
            self.line(&format!("{label}:"));
        }
        Ok(())
    }
}

/// Does a conversion between different floats also round to a whole number?
fn rounds_to_integer_between_floats(opcode: Opcode) -> bool {
    let to_whole = matches!(opcode.rounding, Some(Rounding::Rni | Rounding::Rzi | Rounding::Rmi | Rounding::Rpi));
    to_whole && opcode.ty.is_float() && opcode.src_ty.is_float() && opcode.ty != opcode.src_ty
}
