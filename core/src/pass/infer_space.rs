//! Inference of memory spaces: a generic access whose address comes from one memory names that memory.
//!
//! ```text
//! kernel k(x: ptr) {                              kernel k(x: ptr) {
//!     q = add.u64 x, 16                               q = add.u64 x, 16
//!     v = ld.f32 [q]                  ──▶             v = ld.global.f32 [q]
//!     s = cvta.shared.u64 tile                        s = cvta.shared.u64 tile
//!     st.f32 [s + 4], v                               t1 = cvta.to.shared.u64 s
//!                                                     st.shared.f32 [t1 + 4], v
//! ```
//!
//! Every register gets an origin: the join over its definitions of where the pointer in it comes
//! from. A sum points where its pointer points, and so does a pointer less a number; what is taken
//! away must be known not to be a pointer. What a kernel is given points into global memory,
//! because a launch can bind nothing else; what is loaded, called for or passed to a function may
//! point anywhere, and the access stays generic. An address of global memory is the same number in
//! both forms; for the other spaces a `cvta.to` is put before the access, since on hardware a
//! generic address is another number.
//!
//! Sound under the rule of C that PTX inherits from its source: an address is computed from one
//! pointer and numbers, and stays inside the memory of that pointer. Each register rises through
//! five values, so the worklist is linear; without a generic access there is nothing to do at all.
//! Running the pass again finds nothing more.
//!
//! Source: LLVM's InferAddressSpaces pass, whose idea this is.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::{EntityRef, SecondaryMap};

use super::{Pass, PassError, PassInfo, Settings};
use crate::ir::{
    Address, AddressBase, Flags, FuncKind, Function, Inst, InstData, Module, Op, Opcode, Operand, ParamType, Reg,
    Space, Symbol, Type,
};
use crate::text::instruction_text;
use crate::trace::{Fact, Remark};
use crate::view::View;

/// See the file's head.
pub struct InferSpace;

impl Pass for InferSpace {
    const INFO: PassInfo = PassInfo {
        name: "infer-space",
        paper: "LLVM, InferAddressSpaces",
        summary: "Infers the memory space of generic loads, stores and atomics whose address points into only one.",
        knobs: &[],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, _: &Settings) -> Result<(), PassError> {
        if view.func().generic_access_count() == 0 {
            return Ok(());
        }
        let (origins, accesses) = Origins::of(view.module(), view.func());
        for inst in accesses {
            name_space(view, &origins, inst);
        }
        Ok(())
    }
}

/// Names the space of one access, or says why not.
fn name_space(view: &mut View<'_>, origins: &Origins, inst: Inst) {
    let (module, func) = (view.module(), view.func());
    let data = &func.insts[inst];
    let (Some(address), Some(block)) = (data.address(), func.inst_block(inst)) else { return };
    let (origin, cause) = origins.of_address(module, func, address);
    let space = match origin {
        Origin::In(space) => space,
        Origin::Number => Space::Global,
        Origin::None | Origin::Unknown | Origin::Mixed => {
            let why = match origin {
                Origin::Mixed => "its address may point into several memory spaces",
                _ => "the memory space of its address is unknown",
            };
            view.miss(|func| {
                Remark::missed(
                    "generic",
                    block,
                    format!("kept `{}` generic: {why}", instruction_text(module, func, inst)),
                )
                .at(inst)
            });
            return;
        }
    };
    if space.is_read_only() && data.opcode.op != Op::Ld {
        return;
    }
    let base = match address.base {
        AddressBase::Reg(reg) if space != Space::Global => Some(reg),
        _ => None,
    };
    let mut rewrite = view.rewrite(|func| {
        let text = instruction_text(module, func, inst);
        let because = cause.map_or_else(String::new, |cause| format!(": its address comes from {cause}"));
        Remark::applied("space", block, format!("`{text}` accesses {space} memory{because}"))
            .at(inst)
            .with("space", Fact::Text(space.name().to_string()))
    });
    let converted = base.map(|base| {
        let ty = if rewrite.func().reg_types[base].bits() == 32 { Type::U32 } else { Type::U64 };
        let mut convert = Opcode::new(Op::Cvta, ty);
        (convert.space, convert.flags) = (Some(space), Flags::TO);
        let converted = rewrite.create_temporary(ty);
        let guard = rewrite.func().insts[inst].guard;
        rewrite.insert_before(inst, InstData::new(convert, [converted], [Operand::Reg(base)]).guarded(guard));
        converted
    });
    rewrite.update(inst, |data| {
        data.opcode.space = Some(space);
        for operand in &mut data.args {
            if let (Operand::Address(address), Some(converted)) = (operand, converted) {
                address.base = AddressBase::Reg(converted);
            }
        }
        true
    });
}

/// Origin of the pointer in a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Origin {
    /// No pointer: numbers only.
    #[default]
    None,
    /// A 64-bit kernel parameter that may be a number or a buffer.
    Number,
    /// One memory.
    In(Space),
    /// A pointer of unknown origin, or a number.
    Unknown,
    /// Several memories.
    Mixed,
}

impl Origin {
    /// One or the other.
    fn join(self, other: Origin) -> Origin {
        match (self, other) {
            (a, b) if a == b => a,
            (Origin::None, one) | (one, Origin::None) => one,
            (Origin::Number, Origin::In(Space::Global)) | (Origin::In(Space::Global), Origin::Number) => {
                Origin::In(Space::Global)
            }
            _ => Origin::Mixed,
        }
    }

    /// The sum: whichever is the pointer.
    fn plus(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::In(a), Origin::In(b)) if a != b => Origin::Mixed,
            (Origin::In(space), _) | (_, Origin::In(space)) => Origin::In(space),
            (Origin::Mixed, _) | (_, Origin::Mixed) => Origin::Mixed,
            (Origin::Unknown, _) | (_, Origin::Unknown) => Origin::Unknown,
            (Origin::Number, _) | (_, Origin::Number) => Origin::Number,
            (Origin::None, Origin::None) => Origin::None,
        }
    }

    /// The difference: less a number, a pointer is one still; of two pointers it is a number.
    fn minus(self, other: Origin) -> Origin {
        match (self, other) {
            (one, Origin::None) => one,
            (Origin::Mixed, _) | (_, Origin::Mixed) => Origin::Mixed,
            (Origin::Number, Origin::Number) => Origin::Number,
            _ => Origin::Unknown,
        }
    }
}

/// Origin of an instruction's result.
enum Passing {
    /// Origin of its operands, or of some of them.
    Operands,
    /// Nobody knows where, if it is as wide as a pointer.
    Unknown,
    /// Nowhere.
    Nothing,
}

fn passing(data: &InstData) -> Passing {
    match data.opcode.op {
        Op::Mov | Op::Cvt | Op::Cvta | Op::Add | Op::Or | Op::And | Op::Xor | Op::Sub => Passing::Operands,
        Op::Mad | Op::MadWide | Op::Selp | Op::Min | Op::Max => Passing::Operands,
        Op::Ld | Op::Atom | Op::Call | Op::CallTo | Op::In => Passing::Unknown,
        op if op.is_convergent() => Passing::Unknown,
        _ => Passing::Nothing,
    }
}

/// The origins of all registers, with the parameter or symbol each came from first.
struct Origins {
    of_reg: SecondaryMap<Reg, Origin>,
    cause: SecondaryMap<Reg, Option<Cause>>,
}

/// First cause of a register's origin.
#[derive(Clone, Copy)]
enum Cause {
    Param(Reg),
    Symbol(Symbol),
    Conversion(Space),
}

impl Cause {
    fn text(self, module: &Module, func: &Function) -> String {
        match self {
            Cause::Param(reg) => format!("the parameter `{}`", func.regs[reg].name),
            Cause::Symbol(symbol) => format!("`{}`", symbol_name(module, func, symbol)),
            Cause::Conversion(space) => format!("a `cvta` of {space} memory"),
        }
    }
}

impl Origins {
    /// The origins of all registers, and the generic accesses in the order of the text.
    fn of(module: &Module, func: &Function) -> (Origins, Vec<Inst>) {
        let mut origins = Origins {
            of_reg: SecondaryMap::with_capacity(func.regs.len()),
            cause: SecondaryMap::with_capacity(func.regs.len()),
        };
        for param in &func.params {
            let Some(reg) = param.reg else { continue };
            let origin = match (param.ty, func.kind) {
                (ParamType::Pointer { space: Some(space), .. }, _) => Origin::In(space),
                (ParamType::Pointer { space: None, .. }, FuncKind::Kernel) => Origin::In(Space::Global),
                (ParamType::Scalar(ty), FuncKind::Kernel) if ty.bits() == 64 && !ty.is_float() => Origin::Number,
                (ParamType::Scalar(ty), _) if ty.bits() < 64 || ty.is_float() => Origin::None,
                (ParamType::Texture | ParamType::Array(..), _) => Origin::None,
                _ => Origin::Unknown,
            };
            origins.of_reg[reg] = origin;
            origins.cause[reg] = Some(Cause::Param(reg));
        }
        // The text is read once, and mostly that is all: each instruction is looked at again when
        // an origin that it reads rises later, which each does at most three times.
        let mut accesses = Vec::with_capacity(func.generic_access_count());
        let mut readings: Vec<(Reg, Inst)> = Vec::with_capacity(func.insts.len());
        // How many readings stand before the place where each register's origin last rose.
        let mut rose_after = vec![0; func.regs.len()];
        for block in func.block_order() {
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                if data.is_generic_access() {
                    accesses.push(inst);
                }
                match passing(data) {
                    Passing::Operands if data.dsts.len() == 1 => {
                        let mut points = data.opcode.op == Op::Cvta && data.opcode.space.is_some();
                        for arg in &data.args {
                            if let &Operand::Reg(reg) = arg {
                                points |= origins.of_reg[reg] != Origin::None;
                                readings.push((reg, inst));
                            } else {
                                points |= matches!(arg, Operand::Symbol(_) | Operand::List(_));
                            }
                        }
                        if points && origins.raise(module, func, data, data.dsts[0]) {
                            rose_after[data.dsts[0].index()] = readings.len();
                        }
                    }
                    Passing::Unknown => {
                        for &dst in &data.dsts {
                            if origins.raise(module, func, data, dst) {
                                rose_after[dst.index()] = readings.len();
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        let too_early = |&(place, &(reg, _)): &(usize, &(Reg, Inst))| place < rose_after[reg.index()];
        let mut worklist: Vec<Inst> =
            readings.iter().enumerate().rev().filter(too_early).map(|(_, &(_, inst))| inst).collect();
        if worklist.is_empty() {
            return (origins, accesses);
        }
        let readers = Readers::new(func, &readings);
        while let Some(inst) = worklist.pop() {
            let data = &func.insts[inst];
            if origins.raise(module, func, data, data.dsts[0]) {
                worklist.extend_from_slice(readers.of(data.dsts[0]));
            }
        }
        (origins, accesses)
    }

    /// Takes account of an instruction that writes `dst`. Gives whether the origin of that rises.
    fn raise(&mut self, module: &Module, func: &Function, data: &InstData, dst: Reg) -> bool {
        if func.reg_types[dst].bits() < 32 {
            return false;
        }
        let (origin, cause) = self.of_result(module, func, data, dst);
        let joined = self.of_reg[dst].join(origin);
        if joined == self.of_reg[dst] {
            return false;
        }
        self.of_reg[dst] = joined;
        self.cause[dst] = self.cause[dst].or(cause);
        true
    }

    /// Origin of an instruction's result, one of them if it has several, from the current origins of its operands.
    fn of_result(&self, module: &Module, func: &Function, data: &InstData, dst: Reg) -> (Origin, Option<Cause>) {
        let arg =
            |index: usize| data.args.get(index).map_or((Origin::None, None), |arg| self.of_operand(module, func, arg));
        let both = |(a, cause_a): (Origin, Option<Cause>), (b, cause_b), combine: fn(Origin, Origin) -> Origin| {
            let from_a = matches!(a, Origin::In(_)) || b == Origin::None;
            (combine(a, b), if from_a { cause_a } else { cause_b })
        };
        match (passing(data), data.opcode.op) {
            (Passing::Nothing, _) => (Origin::None, None),
            (Passing::Unknown, _) if func.reg_types[dst].bits() == 64 => (Origin::Unknown, None),
            (Passing::Unknown, _) => (Origin::None, None),
            (Passing::Operands, Op::Cvta) => match data.opcode.space {
                Some(space) => (Origin::In(space), arg(0).1.or(Some(Cause::Conversion(space)))),
                None => arg(0),
            },
            (Passing::Operands, Op::Sub) => both(arg(0), arg(1), Origin::minus),
            (Passing::Operands, Op::Mad | Op::MadWide) => arg(2),
            (Passing::Operands, Op::Selp | Op::Min | Op::Max) => both(arg(0), arg(1), Origin::join),
            (Passing::Operands, Op::Add | Op::Or | Op::And | Op::Xor) => both(arg(0), arg(1), Origin::plus),
            (Passing::Operands, _) => arg(0),
        }
    }

    fn of_operand(&self, module: &Module, func: &Function, operand: &Operand) -> (Origin, Option<Cause>) {
        match operand {
            Operand::Reg(reg) => (self.of_reg[*reg], self.cause[*reg]),
            Operand::Symbol(symbol) => (Origin::In(symbol_space(module, func, *symbol)), Some(Cause::Symbol(*symbol))),
            // What is put together may be the halves of a pointer.
            Operand::List(_) => (Origin::Unknown, None),
            _ => (Origin::None, None),
        }
    }

    /// Origin of an address, and its cause.
    fn of_address(&self, module: &Module, func: &Function, address: &Address) -> (Origin, Option<String>) {
        let base = match address.base {
            AddressBase::Reg(reg) => Operand::Reg(reg),
            AddressBase::Symbol(symbol) => Operand::Symbol(symbol),
            AddressBase::Absolute => Operand::Const(0),
        };
        let (mut origin, mut cause) = self.of_operand(module, func, &base);
        for &(index, _) in &address.terms {
            if !matches!(origin, Origin::In(_)) && matches!(self.of_reg[index], Origin::In(_)) {
                cause = self.cause[index];
            }
            origin = origin.plus(self.of_reg[index]);
        }
        (origin, cause.map(|cause| cause.text(module, func)))
    }
}

/// The instructions that read each register, in one array: those of `r` are `insts[first[r]..first[r + 1]]`.
struct Readers {
    first: Vec<u32>,
    insts: Vec<Inst>,
}

impl Readers {
    fn new(func: &Function, readings: &[(Reg, Inst)]) -> Readers {
        let mut first = vec![0; func.regs.len() + 1];
        readings.iter().for_each(|(reg, _)| first[reg.index()] += 1);
        // Counts become ends, and filling from the back turns the ends into starts.
        let mut end = 0;
        for count in &mut first {
            end += *count;
            *count = end;
        }
        let mut insts = vec![Inst::new(0); readings.len()];
        for &(reg, inst) in readings.iter().rev() {
            first[reg.index()] -= 1;
            insts[first[reg.index()] as usize] = inst;
        }
        Readers { first, insts }
    }

    fn of(&self, reg: Reg) -> &[Inst] {
        &self.insts[self.first[reg.index()] as usize..self.first[reg.index() + 1] as usize]
    }
}

fn symbol_space(module: &Module, func: &Function, symbol: Symbol) -> Space {
    match symbol {
        Symbol::Global(global) => module.globals[global].space,
        Symbol::Array(array) => func.arrays[array].space,
        Symbol::Param(_) => Space::Param,
    }
}

fn symbol_name<'a>(module: &'a Module, func: &'a Function, symbol: Symbol) -> &'a str {
    match symbol {
        Symbol::Global(global) => &module.globals[global].name,
        Symbol::Array(array) => &func.arrays[array].name,
        Symbol::Param(index) => &func.params[index as usize].name,
    }
}
