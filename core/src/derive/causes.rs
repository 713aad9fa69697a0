//! The parts of a launch that values of a kernel depend on, nearest first.
//!
//! ```text
//! n, k = …                   x[j + 1] fails, or a branch on p goes one way only
//! j = ld.global.u32 idx[i]       ▼
//! p = setp.lt.u32 j, k       elements of idx · k · constants that values are compared with
//! ```
//!
//! A backward search, breadth first, from registers to all their definitions:
//!
//! 1. A parameter's register, a field of a structure by value and a special register are causes.
//! 2. A load gives the elements of its buffer as a cause, and goes on at the values stored to the same memory.
//! 3. A call goes on at what the callee returns, a callee's parameter at the arguments of its calls.
//! 4. A register with several definitions goes on at the branches that decide between them.
//!
//! It ignores the order of definitions and stores, so it may name too many causes: each is only something to try.
//! Cost: O(instructions), at most [`VISITS`] registers a search.

use super::ranges::{PointerPath, Reaches, Site, Touched};
use crate::ir::{
    AddressBase, Block, Func, FuncKind, Inst, InstData, Module, Op, Operand, ParamType, Reg, Special, Symbol,
};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

/// Registers that one search visits.
const VISITS: usize = 2_000;
/// Causes that one search collects.
const CAUSES: usize = 16;
/// Constants that one search collects.
const CONSTANTS: usize = 8;

/// A part of a launch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Cause {
    /// The integer of a parameter.
    Number(usize),
    /// The integer at a byte of a structure by value.
    Field(usize, u32),
    /// The float of a parameter.
    Float(usize),
    /// The elements of a buffer.
    Elements(PointerPath),
    /// Grid and block.
    Shape,
}

/// Causes, and the constants that values on the way are compared with.
#[derive(Default)]
pub(super) struct Causes {
    pub list: Vec<Cause>,
    pub constants: Vec<i64>,
}

/// Definitions, calls and branches of a kernel and the functions that it may call.
pub(super) struct Definitions<'m> {
    module: &'m Module,
    kernel: Func,
    by_reg: BTreeMap<(Func, Reg), Vec<Inst>>,
    calls: BTreeMap<Func, Vec<Site>>,
    /// Branches to a block.
    branches: BTreeMap<(Func, Block), Vec<Inst>>,
}

impl<'m> Definitions<'m> {
    pub fn new(module: &'m Module, kernel: Func) -> Definitions<'m> {
        let mut all =
            Definitions { module, kernel, by_reg: BTreeMap::new(), calls: BTreeMap::new(), branches: BTreeMap::new() };
        let callable = module.funcs.iter().filter(|(_, func)| func.kind == FuncKind::Func).map(|(func, _)| func);
        for func in callable.chain([kernel]) {
            let data = &module.funcs[func];
            for block in data.block_order() {
                for inst in data.block_insts(block) {
                    let of_inst = &data.insts[inst];
                    for &dst in &of_inst.dsts {
                        all.by_reg.entry((func, dst)).or_default().push(inst);
                    }
                    if let Some(callee) = of_inst.callee() {
                        all.calls.entry(callee.func).or_default().push((func, inst));
                    }
                    for &target in of_inst.targets() {
                        all.branches.entry((func, target)).or_default().push(inst);
                    }
                }
            }
        }
        all
    }

    /// Causes of the address of an access.
    pub fn of_address(&self, (func, inst): Site, reaches: &Reaches) -> Causes {
        let mut search = Search::new(self, reaches);
        if let Some(address) = self.data((func, inst)).address() {
            search.address(func, address);
        }
        search.run()
    }

    /// Causes of the conditions of branches.
    pub fn of_branches(&self, branches: impl IntoIterator<Item = Site>, reaches: &Reaches) -> Causes {
        let mut search = Search::new(self, reaches);
        for (func, inst) in branches {
            search.operands(func, self.data((func, inst)));
        }
        search.run()
    }

    /// The nearest conditional branches before a block.
    pub fn branches_before(&self, func: Func, block: Block) -> Vec<Site> {
        let (mut found, mut seen, mut work) = (Vec::new(), BTreeSet::from([block]), Vec::from([block]));
        while let Some(block) = work.pop() {
            for &branch in self.branches.get(&(func, block)).into_iter().flatten() {
                if self.data((func, branch)).opcode.op == Op::BrIf {
                    found.push((func, branch));
                } else if let Some(from) = self.module.funcs[func].inst_block(branch)
                    && seen.insert(from)
                {
                    work.push(from);
                }
            }
        }
        found
    }

    fn data(&self, (func, inst): Site) -> &'m InstData {
        &self.module.funcs[func].insts[inst]
    }
}

struct Search<'a> {
    all: &'a Definitions<'a>,
    reaches: &'a Reaches,
    queue: VecDeque<(Func, Reg)>,
    seen: BTreeSet<(Func, Reg)>,
    /// Memory whose stores have been followed.
    memory: BTreeSet<Touched>,
    found: Causes,
}

impl<'a> Search<'a> {
    fn new(all: &'a Definitions<'a>, reaches: &'a Reaches) -> Search<'a> {
        let (queue, seen, memory) = (VecDeque::new(), BTreeSet::new(), BTreeSet::new());
        Search { all, reaches, queue, seen, memory, found: Causes::default() }
    }

    fn run(mut self) -> Causes {
        while let Some((func, reg)) = self.queue.pop_front() {
            if self.seen.len() > VISITS || self.found.list.len() >= CAUSES {
                break;
            }
            self.param(func, reg);
            let Some(definitions) = self.all.by_reg.get(&(func, reg)) else { continue };
            for &inst in definitions {
                self.definition(func, inst);
            }
            if definitions.len() > 1 {
                for &inst in definitions {
                    let Some(block) = self.all.module.funcs[func].inst_block(inst) else { continue };
                    for branch in self.all.branches_before(func, block) {
                        self.operands(func, self.all.data(branch));
                    }
                }
            }
        }
        self.found
    }

    fn cause(&mut self, cause: Cause) {
        if !self.found.list.contains(&cause) {
            self.found.list.push(cause);
        }
    }

    fn reg(&mut self, func: Func, reg: Reg) {
        if self.seen.insert((func, reg)) {
            self.queue.push_back((func, reg));
        }
    }

    fn param(&mut self, func: Func, reg: Reg) {
        let params = &self.all.module.funcs[func].params;
        let Some(index) = params.iter().position(|param| param.reg == Some(reg)) else { return };
        if func != self.all.kernel {
            for site in self.all.calls.get(&func).into_iter().flatten() {
                if let Some(argument) = self.all.data(*site).args.get(index) {
                    self.operand(site.0, argument);
                }
            }
            return;
        }
        match params[index].ty {
            ParamType::Scalar(ty) if ty.is_float() => self.cause(Cause::Float(index)),
            ParamType::Scalar(_) if !self.reaches.is_pointer(index) => self.cause(Cause::Number(index)),
            _ => {}
        }
    }

    fn definition(&mut self, func: Func, inst: Inst) {
        let data = self.all.data((func, inst));
        match data.opcode.op {
            Op::Ld | Op::Atom => {
                let touched = self.reaches.touched.get(&(func, inst)).cloned();
                touched.into_iter().for_each(|touched| self.memory(touched));
            }
            Op::Call | Op::CallTo => {
                let Some(callee) = data.callee() else { return };
                let body = &self.all.module.funcs[callee.func];
                let returns =
                    body.block_order().filter_map(|block| body.terminator(block)).map(|inst| &body.insts[inst]);
                for end in returns.filter(|end| end.opcode.op == Op::Ret) {
                    self.operands(callee.func, end);
                }
            }
            _ => {
                if let Some(guard) = &data.guard {
                    self.reg(func, guard.reg);
                }
                self.operands(func, data);
            }
        }
    }

    fn memory(&mut self, touched: Touched) {
        match &touched {
            Touched::Memory((param, path)) => {
                let is_structure =
                    matches!(self.all.module.funcs[self.all.kernel].params[*param].ty, ParamType::Array(..));
                if !(is_structure && path.is_empty()) {
                    self.cause(Cause::Elements((*param, path.clone())));
                }
            }
            Touched::Field(param, at) => self.cause(Cause::Field(*param, *at)),
            Touched::Array(_) => {}
        }
        if self.memory.insert(touched.clone()) {
            let stores = self.reaches.stores.get(&touched);
            for &(func, inst) in stores.into_iter().flatten() {
                for arg in self.all.data((func, inst)).args.iter().skip(1) {
                    self.operand(func, arg);
                }
            }
        }
    }

    fn operands(&mut self, func: Func, inst: &InstData) {
        let is_comparison = inst.opcode.op == Op::Setp && !inst.opcode.ty.is_float();
        for arg in &inst.args {
            match arg {
                Operand::Const(bits) if is_comparison && self.found.constants.len() < CONSTANTS => {
                    let unused = 64 - inst.opcode.ty.bits().clamp(1, 64);
                    let constant = (bits << unused).cast_signed() >> unused;
                    if !self.found.constants.contains(&constant) {
                        self.found.constants.push(constant);
                    }
                }
                arg => self.operand(func, arg),
            }
        }
    }

    fn operand(&mut self, func: Func, operand: &Operand) {
        match operand {
            Operand::Reg(reg) | Operand::NotReg(reg) => self.reg(func, *reg),
            Operand::Special(Special::Tid(_) | Special::Ctaid(_) | Special::Ntid(_) | Special::Nctaid(_)) => {
                self.cause(Cause::Shape);
            }
            Operand::List(parts) => parts.iter().for_each(|part| self.operand(func, part)),
            Operand::Address(address) => self.address(func, address),
            Operand::Symbol(Symbol::Param(_)) | Operand::Symbol(_) => {}
            Operand::Special(_) | Operand::Const(_) | Operand::Input(_) => {}
        }
    }

    fn address(&mut self, func: Func, address: &crate::ir::Address) {
        if let AddressBase::Reg(reg) = address.base {
            self.reg(func, reg);
        }
        for &(index, _) in &address.terms {
            self.reg(func, index);
        }
    }
}
