//! Global value numbering: equal numbers for values and instructions that are certain to compute
//! the same.
//!
//! ```text
//! n1: x = add.u32 a, b        number 4
//! n2: y = add.u32 b, a        number 4 too, although neither block dominates the other
//! n3: z is x from n1, y from n2: a join of 4 and 4 is 4
//!     @p c = mov.u32 z        4 where p holds, elsewhere the old value of c: a number of its own
//! ```
//!
//! Algorithm, for each block in reverse postorder:
//! 1. Number its joins: the common number of all arguments, or else a [`Expression::Join`] of them;
//!    a fresh number while an argument from a back edge has none.
//! 2. Number the work of each instruction: opcode and the numbers of its operands, sorted where
//!    they commute. Copies pass the number of their source on.
//! 3. Qualify the work by its class: a load by the version of memory at its address, an operation
//!    across lanes by the region of lanes, all by their guard. What executes anew each time gets a
//!    fresh number.
//! 4. With store forwarding, a store gives the load of its address in the version after it the
//!    number of the stored value. If that load has this number in the version before it, the store
//!    repeats what is in memory.
//! 5. Give each written value its number; under a guard a [`Expression::Merge`] with the old value.
//!
//! Sound because values of one number are equal wherever both definitions dominate, by induction
//! over the walk, as their operands are. A value of an earlier iteration is no value of this one,
//! because a dominating definition has run since its operands changed last.
//!
//! Cost: O(instructions + join arguments), and the bounded refinement of [`super::memory`].
//!
//! Source: ptxas page, Algorithm (key); P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE
//! 1997, section 4 (joins).

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::{EntityRef, SecondaryMap};
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::eligibility::{Class, is_copy};
use super::expressions::{Expression, Expressions, Extended, Number, NumberList, NumberedGuard};
use super::lanes::Regions;
use super::memory::{Memory, Version};
use super::numbers::{FirstLoad, Names, Numbered, Stored, ValueNumbers};
use crate::alias::AliasAnalysis;
use crate::flow::{Definition, Value, Values};
use crate::graph::Cfg;
use crate::ir::{Address, AddressBase, Block, Function, Inst, Module, Op, Opcode, Operand, Reg};
use crate::symbolic::{AffineNames, Extension, Overflow};
use crate::view::View;

/// Choices of what counts as equal.
#[derive(Clone, Copy)]
pub(in crate::pass) struct Options {
    /// Classes of enhanced scope are eligible.
    pub enhanced: bool,
    /// Commuting operands are sorted, and a join of one number has that number.
    pub is_algebraic: bool,
    /// A copy has the number of its source.
    pub follows_copies: bool,
    /// Loads have the numbers of values stored by the same thread.
    pub forwards_stores: bool,
}

/// The walk.
struct Numbering<'a> {
    module: &'a Module,
    func: &'a Function,
    regions: &'a Regions,
    options: Options,
    /// Instructions of the open block so far that may lose lanes.
    losses: u32,
    numbers: ValueNumbers,
}

impl ValueNumbers {
    /// Numbers a function.
    pub fn compute(view: &mut View<'_>, options: Options) -> ValueNumbers {
        let (cfg, dominators, values) = (view.cfg(), view.dominators(), view.values());
        let regions = Regions::compute(view);
        let (module, func) = (view.module(), view.func());
        let least_loads = if options.forwards_stores { 1 } else { 2 };
        let memory = Memory::compute((module, func), (&cfg, &dominators), &values, least_loads);
        let numbers = ValueNumbers {
            names: Names {
                of_value: vec![None.into(); values.len()],
                firsts: Vec::with_capacity(values.len()),
                leaves: HashMap::new(),
                values,
            },
            of_inst: SecondaryMap::with_capacity(func.insts.len()),
            expressions: Expressions::with_capacity(func.insts.len()),
            memory,
            first_loads: HashMap::new(),
            stores: BTreeMap::new(),
        };
        Numbering { module, func, regions: &regions, options, losses: 0, numbers }.run(&cfg)
    }
}

impl Numbering<'_> {
    fn run(mut self, cfg: &Cfg) -> ValueNumbers {
        let values = self.numbers.names.values.clone();
        for &block in cfg.reverse_postorder() {
            self.losses = 0;
            for join in values.joins(block) {
                let number = self.join(&values, block, join);
                self.numbers.names.set(join, number);
            }
            for inst in self.func.block_insts(block) {
                self.instruction(&values, block, inst);
            }
        }
        self.numbers
    }

    fn fresh(&mut self) -> Number {
        self.numbers.expressions.fresh()
    }

    fn number(&mut self, expression: Expression) -> Number {
        self.numbers.expressions.number(expression)
    }

    fn join(&mut self, values: &Values, block: Block, join: Value) -> Number {
        if !self.options.is_algebraic {
            return self.fresh();
        }
        let args: Option<NumberList> = values.join_args(join).iter().map(|arg| self.known(arg.value)).collect();
        match args {
            None => self.fresh(),
            Some(args) if args.iter().all(|&number| number == args[0]) => args[0],
            Some(args) => self.number(Expression::Join { block, args }),
        }
    }

    fn instruction(&mut self, values: &Values, block: Block, inst: Inst) {
        let data = &self.func.insts[inst];
        self.losses += u32::from(self.regions.may_lose_lanes(inst));
        if data.dsts.is_empty() {
            return self.store(values, inst);
        }
        let (class, is_copy) = (Class::of(data), is_copy(data));
        let predicate = values.guard(inst).map(|value| self.read(value));
        let guard = data.guard.zip(predicate);
        let guard = guard.map(|(guard, predicate)| NumberedGuard { predicate, negated: guard.negated });
        let numbered = match self.copied(values, inst) {
            Some(source) => {
                let is_eligible = !is_copy && guard.is_none();
                Numbered { work: None.into(), content: source, guard, value: source, is_eligible }
            }
            None => {
                let work = self.work(values, inst);
                let content = self.content(block, inst, class, work);
                let value = guard.map_or(content, |guard| self.number(Expression::Guarded { content, guard }));
                let is_eligible = class.is_eligible(self.options.enhanced) && !is_copy;
                let work = Some(work).filter(|_| !is_copy).into();
                Numbered { work, content, guard, value, is_eligible }
            }
        };
        self.numbers.of_inst[inst] = Some(numbered);
        for (index, &value) in values.defined(inst).iter().enumerate() {
            let mut number = numbered.value;
            if index > 0 {
                number = self.number(Expression::Result { first: number, index });
            }
            if let (Some(guard), Definition::Guarded { old, .. }) = (guard, values.definition(value)) {
                let old = self.read(old);
                number = self.number(Expression::Merge { written: number, old, guard });
            }
            self.numbers.names.set(value, number);
        }
    }

    /// The number of the source of a copy that keeps all its bits.
    fn copied(&mut self, values: &Values, inst: Inst) -> Option<Number> {
        let data = &self.func.insts[inst];
        let ([source], &[dst]) = (data.args.as_slice(), data.dsts.as_slice()) else { return None };
        let types = &self.func.reg_types;
        match source {
            _ if data.opcode.op != Op::Mov => None,
            Operand::Reg(reg) if !self.options.follows_copies || types[*reg].bits() != types[dst].bits() => None,
            Operand::Reg(_) => values.operands(inst).first().map(|&value| self.read(value)),
            Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) => Some(self.leaf(source)),
            _ => None,
        }
    }

    /// The number of an instruction's opcode and operands.
    fn work(&mut self, values: &Values, inst: Inst) -> Number {
        let data = &self.func.insts[inst];
        let mut operands = self.operands(values, inst);
        let mut opcode = data.opcode;
        if self.options.is_algebraic
            && (opcode.op.is_commutative() || opcode.op == Op::Setp)
            && let [left, right, ..] = data.args.as_slice()
            && is_plain(left)
            && is_plain(right)
            && operands[0] > operands[1]
        {
            operands.swap(0, 1);
            opcode.cmp = opcode.cmp.map(|cmp| cmp.swapped());
        }
        let parts = if opcode.op == Op::Mov { data.dsts.len() } else { 1 };
        self.number(Expression::Operation { opcode, parts, operands })
    }

    /// The number of the first result of an instruction without a guard, by its work.
    fn content(&mut self, block: Block, inst: Inst, class: Class, work: Number) -> Number {
        match class {
            Class::Pure | Class::Transcendental => work,
            Class::Load => {
                let content = self.load(inst, work);
                self.widened(inst, content)
            }
            Class::Convergent | Class::Shuffle => {
                let losses = (self.losses > 0).then_some((block, self.losses));
                self.number(Expression::Lanes { work, region: self.regions.of(block), losses })
            }
            Class::Atomic | Class::Never => self.fresh(),
        }
    }

    /// The number of a load's result: the loaded value, extended where the register is wider.
    fn widened(&mut self, inst: Inst, content: Number) -> Number {
        let data = &self.func.insts[inst];
        let ty = data.opcode.ty;
        let bits = data.dst().map_or(ty.bits(), |dst| self.func.reg_types[dst].bits());
        if bits == ty.bits() { content } else { self.number(Expression::Widened { content, ty, bits }) }
    }

    // --- memory ------------------------------------------------------------------------------------------------

    /// The number of a load from a place.
    fn load(&mut self, inst: Inst, place: Number) -> Number {
        let Some(version) = self.numbers.memory.as_ref().and_then(|memory| memory.before(inst)) else {
            return self.fresh();
        };
        match self.numbers.first_loads.get(&place) {
            Some(first) if first.version == version => return first.number,
            Some(_) => self.refine_first(place),
            None => {
                let number = self.fresh();
                self.numbers.first_loads.insert(place, FirstLoad { inst, version, number, refined: None });
                return number;
            }
        }
        let version = self.refine(inst).unwrap_or(version);
        self.number(Expression::Load { place, version })
    }

    /// Numbers the address of an instruction without results. If it is a plain store, loads have
    /// the stored number.
    fn store(&mut self, values: &Values, inst: Inst) {
        if !self.numbers.memory.as_ref().is_some_and(|memory| memory.has_access(inst)) {
            return;
        }
        let operands = self.operands(values, inst);
        let (func, data) = (self.func, &self.func.insts[inst]);
        let opcode = data.opcode;
        let is_plain = opcode.op == Op::St && opcode.flags.is_empty() && opcode.vector == 1 && data.guard.is_none();
        let (true, true, [_, stored]) = (self.options.forwards_stores, is_plain, data.args.as_slice()) else { return };
        let (address, number) = (operands[0], operands[1]);
        let value = match stored {
            Operand::Reg(reg) if func.reg_types[*reg].bits() == opcode.ty.bits() => {
                values.operands(inst).last().copied()
            }
            Operand::Const(_) => None,
            _ => return,
        };
        let opcode = Opcode { op: Op::Ld, ..opcode };
        let place = self.number(Expression::Operation { opcode, parts: 1, operands: SmallVec::from_slice(&[address]) });
        let is_repeated = self.number_in_memory(inst, place) == Some(number);
        self.numbers.stores.insert(inst, Stored { place, value, is_repeated });
        let Some(memory) = &mut self.numbers.memory else { return };
        if is_repeated {
            return memory.ignore_store(inst);
        }
        let Some(version) = memory.after(inst) else { return };
        self.numbers.expressions.set(Expression::Load { place, version }, number);
        let first = FirstLoad { inst, version, number, refined: Some(version) };
        self.numbers.first_loads.entry(place).or_insert(first);
    }

    /// The number that a load of a place just before a store would have.
    fn number_in_memory(&mut self, inst: Inst, place: Number) -> Option<Number> {
        self.numbers.first_loads.get(&place)?;
        self.refine_first(place);
        let version = self.refine(inst)?;
        self.numbers.expressions.get(&Expression::Load { place, version })
    }

    /// Notes the number of the first load of a place by its refined version.
    fn refine_first(&mut self, place: Number) {
        let Some(&FirstLoad { inst, number, refined: None, .. }) = self.numbers.first_loads.get(&place) else { return };
        let Some(version) = self.refine(inst) else { return };
        self.numbers.expressions.set(Expression::Load { place, version }, number);
        if let Some(first) = self.numbers.first_loads.get_mut(&place) {
            first.refined = Some(version);
        }
    }

    /// The version of memory before an access, by its address.
    fn refine(&mut self, inst: Inst) -> Option<Version> {
        let ValueNumbers { names, memory, .. } = &mut self.numbers;
        let affine = AffineNames::over(self.func, names, Overflow::default());
        memory.as_mut()?.refine(AliasAnalysis::over(self.module, self.func, names, affine), inst)
    }

    // --- operands ----------------------------------------------------------------------------------------------

    /// The numbers of an instruction's operands. Notes that of its address.
    fn operands(&mut self, values: &Values, inst: Inst) -> NumberList {
        let data = &self.func.insts[inst];
        let mut used = values.operands(inst).iter().copied();
        data.args.iter().map(|operand| self.operand(inst, operand, &mut used)).collect()
    }

    /// The number of an operand, whose registers have the next values of `used`.
    fn operand(&mut self, inst: Inst, operand: &Operand, used: &mut impl Iterator<Item = Value>) -> Number {
        match operand {
            Operand::Reg(_) => self.next(used),
            Operand::NotReg(_) => {
                let number = self.next(used);
                self.number(Expression::Not(number))
            }
            Operand::Const(_) | Operand::Special(_) | Operand::Symbol(_) => self.leaf(operand),
            Operand::Input(_) => self.fresh(),
            Operand::List(elements) => {
                let numbers = elements.iter().map(|element| self.operand(inst, element, used)).collect();
                self.number(Expression::List(numbers))
            }
            Operand::Address(address) => {
                let number = self.address(address, used);
                if let Some(memory) = &mut self.numbers.memory {
                    memory.set_address(inst, number);
                }
                number
            }
        }
    }

    fn address(&mut self, address: &Address, used: &mut impl Iterator<Item = Value>) -> Number {
        let func = self.func;
        let extended = |number: Number, reg: Reg| {
            let ty = func.reg_types[reg];
            Extended { number, bits: ty.bits() as u8, extension: Extension::of(ty) }
        };
        let base = match address.base {
            AddressBase::Reg(reg) => Some(extended(self.next(used), reg)),
            AddressBase::Symbol(symbol) => {
                let number = self.leaf(&Operand::Symbol(symbol));
                Some(Extended { number, bits: 64, extension: Extension::Zero })
            }
            AddressBase::Absolute => None,
        };
        let terms = address.terms.iter().map(|&(reg, scale)| (extended(self.next(used), reg), scale)).collect();
        self.number(Expression::Address { base, offset: address.offset, terms })
    }

    fn leaf(&mut self, operand: &Operand) -> Number {
        let next = self.numbers.count();
        let number = self.number(Expression::Leaf(operand.clone()));
        if number.index() == next {
            self.numbers.names.leaves.insert(number, operand.clone());
        }
        number
    }

    /// The number of the next value that an instruction reads.
    fn next(&mut self, used: &mut impl Iterator<Item = Value>) -> Number {
        match used.next() {
            Some(value) => self.read(value),
            None => self.fresh(),
        }
    }

    /// The number of a value that is read.
    fn read(&mut self, value: Value) -> Number {
        self.known(value).unwrap_or_else(|| {
            let number = self.fresh();
            self.numbers.names.set(value, number);
            number
        })
    }

    /// The number of a value, if it has one already. Values on entry do.
    fn known(&mut self, value: Value) -> Option<Number> {
        match self.numbers.of_value(value) {
            None if self.numbers.values().definition(value) == Definition::Entry => {
                let number = self.fresh();
                self.numbers.names.set(value, number);
                Some(number)
            }
            known => known,
        }
    }
}

/// True for registers and leaves.
fn is_plain(operand: &Operand) -> bool {
    !matches!(operand, Operand::NotReg(_) | Operand::Address(_) | Operand::List(_))
}
