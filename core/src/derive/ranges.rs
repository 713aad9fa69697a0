//! How far a kernel reaches into each piece of memory, when its launch is known.
//!
//! ```text
//! i = mad.u32 %ctaid, %ntid, %tid        i in 0..255       (grid 4, block 64)
//! p = setp.ge.s32 i, n; br p, …          i in 0..249       (n = 250)
//! a = ld.global.f32 x[i + 1]             x is read up to byte 1004
//! ```
//!
//! An interval for every register at every block, forward to a fixed point. Branch conditions
//! narrow the intervals on their edges. Loops are widened after a few rounds and narrowed again
//! afterwards; a pointer that a loop moves by steps (`p = p + 4`) is bounded by the rounds of a
//! counter beside it that is bounded. Calls are followed with their arguments. Numbers loaded from
//! a buffer are what the launch fills it with, and what the kernel stores; a 64-bit number is a
//! pointer to memory of its own, if the kernel accesses memory through it.
//!
//! Sound for what it calls bounded, apart from integers that wrap inside a sum whose interval does not; where it
//! does not know, it says "no bound". Bounded by a budget of evaluated instructions.
//!
//! Source: Cousot and Cousot, POPL 1977 (intervals, widening, narrowing).

use super::fills::is_pointer;
use super::interval::{Base, Value};
use super::transfer::Transfer;
use super::trial::Trial;
use crate::ir::{
    Array, Block, Func, FuncKind, Function, Inst, Module, Op, Operand, ParamType, PointerStep, Reg, Symbol, Type,
};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

/// Instructions evaluated before the analysis gives up.
const BUDGET: u32 = 400_000;
/// Rounds of a loop before its intervals are widened.
const ROUNDS: u32 = 4;
/// Registers times blocks that are kept.
const STATES: usize = 4_000_000;
/// An access beyond this many bytes says only that nothing is known.
const FARTHEST: u64 = 1 << 24;
/// Pointers in memory are followed so far from a parameter.
const POINTERS: usize = 3;
/// Pieces of memory behind pointers that are told apart; the others are not followed.
const PATHS: u32 = 256;
/// How deep calls are followed.
const CALLS: u32 = 6;

/// Accesses to one piece of memory.
#[derive(Clone, Default)]
pub(super) struct Reach {
    /// One past the last byte that is touched; none where there is no bound.
    pub end: Option<u64>,
    /// Types of the accesses, in the order found.
    pub types: Vec<Type>,
    pub is_read: bool,
    pub is_texture: bool,
    unbounded: bool,
    /// Range of the values that the kernel stores there.
    stored: Option<Value>,
}

/// Way to a piece of memory: the parameter, and the pointers from its memory on.
pub(super) type PointerPath = (usize, Vec<PointerStep>);

/// An instruction of a function.
pub(super) type Site = (Func, Inst);

/// Memory that an access touches.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Touched {
    Memory(PointerPath),
    /// A field of a structure by value: the parameter and the byte.
    Field(usize, u32),
    Array(Array),
}

/// Memory that a kernel touches.
#[derive(Clone, Default)]
pub(super) struct Reaches {
    /// Memory that each access touches, where it is one piece.
    pub touched: BTreeMap<Site, Touched>,
    /// Stores and atomics on each piece of memory.
    pub stores: BTreeMap<Touched, Vec<Site>>,
    pub params: BTreeMap<usize, Reach>,
    /// Memory behind pointers in other memory.
    pub pointees: BTreeMap<PointerPath, Reach>,
    pub arrays: BTreeMap<Array, Reach>,
    /// Instructions evaluated.
    pub evaluated: u32,
    /// Instructions evaluated, and registers joined.
    pub work: u64,
    /// The analysis gave up; everything is unbounded.
    pub gave_up: bool,
}

impl Reaches {
    fn of(&mut self, base: Base, paths: &[PointerPath]) -> Option<&mut Reach> {
        match base {
            Base::Param(index) => Some(self.params.entry(index).or_default()),
            Base::Pointee(number) => Some(self.pointees.entry(paths[number as usize].clone()).or_default()),
            Base::Array(array) => Some(self.arrays.entry(array).or_default()),
            _ => None,
        }
    }

    /// Whether accesses go through a parameter.
    pub fn is_pointer(&self, index: usize) -> bool {
        self.params.get(&index).is_some_and(|reach| !reach.types.is_empty())
    }

    /// Makes all words of a piece of memory pointers of one kind, where some of them are at unknown places.
    fn unify_pointees(&mut self) {
        let paths: Vec<PointerPath> = self.pointees.keys().cloned().collect();
        for (param, path) in paths {
            let general: Vec<PointerStep> = (0..path.len())
                .map(|depth| {
                    let is_sibling = |(other, steps): &&PointerPath| {
                        *other == param && steps.len() > depth && steps[depth] == PointerStep::Each
                    };
                    let shares_parent = |(_, steps): &PointerPath| steps[..depth] == path[..depth];
                    let has_each = self.pointees.keys().filter(is_sibling).any(shares_parent);
                    if has_each { PointerStep::Each } else { path[depth] }
                })
                .collect();
            if general != path
                && let Some(reach) = self.pointees.remove(&(param, path))
            {
                self.pointees.entry((param, general)).or_default().absorb(reach);
            }
        }
    }
}

impl Reach {
    fn absorb(&mut self, other: Reach) {
        self.end = self.end.max(other.end);
        self.types.extend(other.types);
        self.is_read |= other.is_read;
        self.unbounded |= other.unbounded;
    }
}

/// Runs the analysis.
pub(super) fn reaches(module: &Module, kernel: &Function, trial: &Trial) -> Reaches {
    let mut analysis = Analysis {
        func: module.func_by_name(&kernel.name),
        module,
        trial,
        reaches: Reaches::default(),
        paths: Vec::new(),
        budget: BUDGET,
        is_recording: false,
        site: None,
    };
    let arguments: Vec<Value> = kernel
        .params
        .iter()
        .enumerate()
        .map(|(index, param)| match param.ty {
            crate::ir::ParamType::Scalar(ty) if ty.bits() < 64 && !ty.is_float() => {
                Value::exactly(trial.numbers[index])
            }
            crate::ir::ParamType::Scalar(ty) if ty.is_float() => Value::ANY,
            crate::ir::ParamType::Scalar(_) if !is_pointer(kernel, index, None) => Value::exactly(trial.numbers[index]),
            _ => Value::pointer(Base::Param(index)),
        })
        .collect();
    // What is stored may be loaded again, so the second run sees what the first one stored.
    for last in [false, true] {
        analysis.is_recording = true;
        analysis.function(kernel, &arguments, 0);
        if !last {
            let stored: Vec<(usize, Option<Value>)> =
                analysis.reaches.params.iter().map(|(&index, reach)| (index, reach.stored)).collect();
            let Reaches { gave_up, work, .. } = analysis.reaches;
            analysis.reaches = Reaches { gave_up, work, ..Reaches::default() };
            for (index, value) in stored {
                analysis.reaches.params.entry(index).or_default().stored = value;
            }
        }
    }
    let Analysis { mut reaches, budget, .. } = analysis;
    reaches.evaluated = BUDGET - budget;
    reaches.work += u64::from(reaches.evaluated);
    reaches.unify_pointees();
    let all = reaches.params.values_mut().chain(reaches.arrays.values_mut()).chain(reaches.pointees.values_mut());
    for reach in all {
        if reach.unbounded || reaches.gave_up {
            reach.end = None;
        }
    }
    reaches
}

/// A comparison that holds.
#[derive(Clone, PartialEq)]
pub(super) struct Fact {
    pub left: Reg,
    pub cmp: crate::ir::Cmp,
    pub right: Operand,
    pub ty: Type,
}

/// Facts that follow from a predicate being true and from its being false; none where it cannot be.
#[derive(Clone, PartialEq, Default)]
pub(super) struct Condition {
    pub when_true: Option<Vec<Fact>>,
    pub when_false: Option<Vec<Fact>>,
}

/// Facts known before an instruction.
#[derive(Clone)]
pub(super) struct State {
    pub values: Vec<Option<Value>>,
    pub conditions: BTreeMap<Reg, Condition>,
}

impl State {
    pub fn get(&self, reg: Reg) -> Value {
        self.values[reg.as_u32() as usize].unwrap_or(Value::ANY)
    }

    /// Writes a register; what was known of comparisons with it is no longer true.
    pub fn set(&mut self, reg: Reg, value: Value) {
        self.values[reg.as_u32() as usize] = Some(value);
        self.conditions.remove(&reg);
        for condition in self.conditions.values_mut() {
            for facts in [&mut condition.when_true, &mut condition.when_false].into_iter().flatten() {
                facts.retain(|fact| fact.left != reg && fact.right != Operand::Reg(reg));
            }
        }
    }

    /// Takes over what another path brings; true where something changed.
    fn join(&mut self, other: &State, widens: bool) -> bool {
        let mut changed = false;
        for (own, brought) in self.values.iter_mut().zip(&other.values) {
            let Some(brought) = *brought else { continue };
            let Some(known) = *own else {
                *own = Some(brought);
                changed = true;
                continue;
            };
            let mut joined = known.join(brought);
            if joined != known {
                if widens {
                    joined = joined.widened(known);
                }
                *own = Some(joined);
                changed = true;
            }
        }
        let kept: BTreeMap<Reg, Condition> = self
            .conditions
            .iter()
            .filter_map(|(&reg, own)| {
                let brought = other.conditions.get(&reg)?;
                let either = |a: &Option<Vec<Fact>>, b: &Option<Vec<Fact>>| match (a, b) {
                    (None, facts) | (facts, None) => facts.clone(),
                    (Some(a), Some(b)) => Some(a.iter().filter(|fact| b.contains(fact)).cloned().collect()),
                };
                let when_true = either(&own.when_true, &brought.when_true);
                Some((reg, Condition { when_true, when_false: either(&own.when_false, &brought.when_false) }))
            })
            .collect();
        changed |= kept != self.conditions;
        self.conditions = kept;
        changed
    }
}

pub(super) struct Analysis<'m> {
    pub module: &'m Module,
    pub trial: &'m Trial,
    pub reaches: Reaches,
    /// The pieces of memory behind pointers, by number.
    paths: Vec<PointerPath>,
    budget: u32,
    is_recording: bool,
    /// The function that is being analysed.
    pub func: Option<Func>,
    /// The instruction that is being evaluated.
    site: Option<Site>,
}

impl Analysis<'_> {
    /// Analyses a function under its arguments and gives what it returns.
    pub fn function(&mut self, func: &Function, arguments: &[Value], depth: u32) -> Value {
        let blocks: Vec<Block> = func.block_order().collect();
        let Some(entry) = func.entry_block() else { return Value::ANY };
        if depth > CALLS || blocks.len().saturating_mul(func.regs.len()) > STATES {
            self.reaches.gave_up = true;
            return Value::ANY;
        }
        let mut start = State { values: vec![None; func.regs.len()], conditions: BTreeMap::new() };
        for (param, &argument) in func.params.iter().zip(arguments) {
            if let Some(reg) = param.reg {
                start.set(reg, argument);
            }
        }
        let recording = core::mem::replace(&mut self.is_recording, false);
        let mut clamps = BTreeMap::new();
        let mut states = self.solve(func, entry, &start, &blocks, &clamps, depth);
        let found = self.clamps(func, &states, depth);
        if !found.is_empty() {
            clamps = found;
            states = self.solve(func, entry, &start, &blocks, &clamps, depth);
        }
        // With the intervals settled, the accesses are looked at once.
        self.is_recording = recording;
        let mut result: Option<Value> = None;
        for &block in &blocks {
            if let Some(state) = states.get(&block) {
                let mut state = state.clone();
                self.run(func, block, &mut state, &clamps, depth);
                if let Some(inst) = func.terminator(block).map(|inst| &func.insts[inst])
                    && inst.opcode.op == Op::Ret
                    && let Some(arg) = inst.args.first()
                {
                    let value = self.operand(func, &state, arg, func.returns.unwrap_or(Type::B64));
                    result = Some(result.map_or(value, |known| known.join(value)));
                }
            }
        }
        result.unwrap_or(Value::ANY)
    }

    /// The state at the start of every reachable block.
    fn solve(
        &mut self,
        func: &Function,
        entry: Block,
        start: &State,
        blocks: &[Block],
        clamps: &BTreeMap<Reg, Value>,
        depth: u32,
    ) -> BTreeMap<Block, State> {
        let order: BTreeMap<Block, usize> = blocks.iter().enumerate().map(|(index, &block)| (block, index)).collect();
        let mut states = BTreeMap::from([(entry, start.clone())]);
        let mut visits: BTreeMap<Block, u32> = BTreeMap::new();
        let mut work = BTreeSet::from([(order[&entry], entry)]);
        while let Some((_, block)) = work.pop_first() {
            let Some(mut state) = states.get(&block).cloned() else { continue };
            self.run(func, block, &mut state, clamps, depth);
            if self.reaches.gave_up {
                return states;
            }
            for (target, state) in self.edges(func, block, &state) {
                self.reaches.work += state.values.len() as u64;
                let changed = match states.get_mut(&target) {
                    None => {
                        states.insert(target, state);
                        true
                    }
                    Some(known) => {
                        // Only what comes from further down can go round.
                        let goes_back = order.get(&target) <= order.get(&block);
                        let visits = visits.entry(target).or_default();
                        *visits += u32::from(goes_back);
                        known.join(&state, *visits > ROUNDS)
                    }
                };
                if changed && let Some(&at) = order.get(&target) {
                    work.insert((at, target));
                }
            }
        }
        // Narrowing: what each block really gets, computed again from the widened states.
        for _ in 0..2 {
            let mut fresh: BTreeMap<Block, State> = BTreeMap::from([(entry, start.clone())]);
            for &block in blocks {
                let Some(mut state) = states.get(&block).cloned() else { continue };
                self.run(func, block, &mut state, clamps, depth);
                for (target, state) in self.edges(func, block, &state) {
                    self.reaches.work += state.values.len() as u64;
                    match fresh.get_mut(&target) {
                        None => {
                            fresh.insert(target, state);
                        }
                        Some(known) => {
                            known.join(&state, false);
                        }
                    }
                }
            }
            states = fresh;
        }
        states
    }

    fn run(&mut self, func: &Function, block: Block, state: &mut State, clamps: &BTreeMap<Reg, Value>, depth: u32) {
        for inst in func.block_insts(block) {
            self.budget = self.budget.saturating_sub(1);
            if self.budget == 0 {
                self.reaches.gave_up = true;
                return;
            }
            let data = &func.insts[inst];
            self.site = self.func.map(|func| (func, inst));
            self.instruction(func, data, state, depth);
            if let Some(dst) = step(data).map(|(dst, _)| dst)
                && let Some(clamp) = clamps.get(&dst)
                && let Some(met) = state.get(dst).meet(clamp.low, clamp.high)
            {
                state.values[dst.as_u32() as usize] = Some(met);
            }
        }
    }

    /// Successors of a block's end, each with the state on its edge.
    fn edges(&self, func: &Function, block: Block, state: &State) -> Vec<(Block, State)> {
        let Some(inst) = func.terminator(block).map(|inst| &func.insts[inst]) else { return Vec::new() };
        let condition = match (inst.opcode.op, inst.args.first()) {
            (Op::BrIf, Some(Operand::Reg(reg))) => state.conditions.get(reg).cloned(),
            (Op::BrIf, Some(Operand::NotReg(reg))) => state
                .conditions
                .get(reg)
                .cloned()
                .map(|condition| Condition { when_true: condition.when_false, when_false: condition.when_true }),
            _ => None,
        };
        let Some(condition) = condition else {
            return inst.targets().iter().map(|&target| (target, state.clone())).collect();
        };
        let sides = [condition.when_true, condition.when_false];
        let narrowed = inst.targets().iter().zip(sides).filter_map(|(&target, facts)| {
            let mut narrowed = state.clone();
            // The numbers in buffers are guesses, so a branch that seems impossible is taken all the same.
            let holds = facts?.iter().all(|fact| self.assume(func, &mut narrowed, fact).is_some());
            Some((target, if holds { narrowed } else { state.clone() }))
        });
        narrowed.collect()
    }

    /// Narrows what a fact is about; none where it cannot hold with these numbers.
    fn assume(&self, func: &Function, state: &mut State, fact: &Fact) -> Option<()> {
        use crate::ir::Cmp::{Eq, Ge, Gt, Hi, Hs, Le, Lo, Ls, Lt, Ne};
        let left = self.operand(func, state, &Operand::Reg(fact.left), fact.ty);
        let right = self.operand(func, state, &fact.right, fact.ty);
        if left.base.is_some() || right.base.is_some() || left != state.get(fact.left) {
            return Some(());
        }
        let (below, above) = (|end: i64| end.saturating_sub(1), |end: i64| end.saturating_add(1));
        let (new_left, new_right) = match fact.cmp {
            Lt | Lo => ((i64::MIN, below(right.high)), (above(left.low), i64::MAX)),
            Le | Ls => ((i64::MIN, right.high), (left.low, i64::MAX)),
            Gt | Hi => ((above(right.low), i64::MAX), (i64::MIN, below(left.high))),
            Ge | Hs => ((right.low, i64::MAX), (i64::MIN, left.high)),
            Eq => ((right.low, right.high), (left.low, left.high)),
            // An end that is excluded moves.
            Ne if right.low == right.high => {
                let low = if left.low == right.low { above(left.low) } else { i64::MIN };
                let high = if left.high == right.low { below(left.high) } else { i64::MAX };
                ((low, high), (i64::MIN, i64::MAX))
            }
            _ => return Some(()),
        };
        state.values[fact.left.as_u32() as usize] = Some(left.meet(new_left.0, new_left.1)?);
        if let Operand::Reg(reg) = fact.right
            && right == state.get(reg)
        {
            state.values[reg.as_u32() as usize] = Some(right.meet(new_right.0, new_right.1)?);
        }
        Some(())
    }

    /// Bounds for registers that a loop moves by steps: a bounded counter in the same block says how often.
    fn clamps(&mut self, func: &Function, states: &BTreeMap<Block, State>, depth: u32) -> BTreeMap<Reg, Value> {
        let mut clamps = BTreeMap::new();
        for (&block, state) in states {
            let mut end = state.clone();
            self.run(func, block, &mut end, &BTreeMap::new(), depth);
            let steps: Vec<(Reg, Value)> = func
                .block_insts(block)
                .filter_map(|inst| {
                    let (reg, by) = step(&func.insts[inst])?;
                    let by = self.operand(func, &end, by, func.reg_types[reg]);
                    Some((reg, if func.insts[inst].opcode.op == Op::Sub { by.negated() } else { by }))
                })
                .collect();
            let rounds = steps
                .iter()
                .filter_map(|&(reg, by)| {
                    let counter = state.get(reg);
                    let size = by.low.checked_abs().filter(|&size| by.low == by.high && size > 0)?;
                    counter.is_bounded().then(|| counter.high.saturating_sub(counter.low) / size + 1)
                })
                .min();
            let Some(rounds) = rounds else { continue };
            for (reg, by) in steps {
                if state.get(reg).is_bounded() || !by.is_bounded() {
                    continue;
                }
                let Some(start) = self.start_of(func, states, reg, depth) else { continue };
                let moved = Value::between(by.low.min(0), by.high.max(0)).multiply(Value::between(0, rounds));
                clamps.insert(reg, start.add(moved));
            }
        }
        clamps
    }

    /// Value of a register from definitions that are no steps.
    fn start_of(&mut self, func: &Function, states: &BTreeMap<Block, State>, reg: Reg, depth: u32) -> Option<Value> {
        let mut start: Option<Value> = None;
        for (&block, state) in states {
            let mut state = state.clone();
            for inst in func.block_insts(block) {
                let data = &func.insts[inst];
                let writes = data.dsts.contains(&reg);
                if !writes && !func.block_insts(block).any(|other| func.insts[other].dsts.contains(&reg)) {
                    break;
                }
                self.instruction(func, data, &mut state, depth);
                if writes && step(data).is_none_or(|(dst, _)| dst != reg) {
                    let value = state.get(reg);
                    start = Some(start.map_or(value, |known| known.join(value)));
                }
            }
        }
        start.filter(|value| value.is_bounded())
    }

    /// An operand's value, read as `ty`.
    pub fn operand(&self, func: &Function, state: &State, operand: &Operand, ty: Type) -> Value {
        match operand {
            Operand::Reg(reg) => state.get(*reg).fit(if ty.bits() == 64 { Type::S64 } else { ty }),
            Operand::Const(bits) => Value::exactly(ty.extend(*bits)),
            Operand::Special(special) => self.special(*special),
            Operand::Symbol(Symbol::Array(array)) if func.kind == FuncKind::Kernel => {
                Value::pointer(Base::Array(*array))
            }
            Operand::Symbol(Symbol::Param(index)) if func.kind == FuncKind::Kernel => {
                Value::pointer(Base::Param(*index as usize))
            }
            Operand::Symbol(Symbol::Global(global)) => Value::pointer(Base::Global(*global)),
            _ => Value { base: Some(Base::Other), ..Value::ANY },
        }
    }

    /// Notes an access of `bytes` bytes.
    pub fn touch(&mut self, address: Value, bytes: u64, ty: Type, stored: Option<Value>, is_read: bool) {
        let base = address.base.filter(|_| self.is_recording);
        let Some(reach) = base.and_then(|base| self.reaches.of(base, &self.paths)) else { return };
        match u64::try_from(address.high) {
            Ok(last) if address.is_bounded() && last < FARTHEST => {
                reach.end = Some(reach.end.unwrap_or(0).max(last + bytes));
            }
            _ => reach.unbounded = true,
        }
        reach.types.push(ty);
        reach.is_read |= is_read;
        if let Some(value) = stored {
            reach.stored = Some(reach.stored.map_or(value, |known| known.join(value)));
        }
    }

    /// Notes which memory the access that is being evaluated touches.
    pub fn note_site(&mut self, kernel: Option<&Function>, address: Value, is_store: bool) {
        let Some(site) = self.site.filter(|_| self.is_recording) else { return };
        let touched = match address.base {
            Some(Base::Param(index)) => {
                let is_structure = kernel.is_some_and(|kernel| matches!(kernel.params[index].ty, ParamType::Array(..)));
                match u32::try_from(address.low) {
                    Ok(at) if is_structure && address.low == address.high => Touched::Field(index, at),
                    _ => Touched::Memory((index, Vec::new())),
                }
            }
            Some(Base::Pointee(number)) => Touched::Memory(self.paths[number as usize].clone()),
            Some(Base::Array(array)) => Touched::Array(array),
            _ => return,
        };
        if is_store {
            let stores = self.reaches.stores.entry(touched.clone()).or_default();
            if !stores.contains(&site) {
                stores.push(site);
            }
        }
        self.reaches.touched.insert(site, touched);
    }

    /// Notes that a texture is read through a value.
    pub fn touch_texture(&mut self, texture: Value) {
        if let Some(reach) = texture.base.and_then(|base| self.reaches.of(base, &self.paths)) {
            reach.is_texture = true;
        }
    }

    /// Value that a load gives.
    pub fn content(&mut self, kernel: Option<&Function>, address: Value, ty: Type) -> Value {
        let any = Value::of_type(ty);
        if ty.is_float() {
            return Value::ANY;
        }
        if ty.bits() == 64 {
            let pointee = self.pointee(address).map(Value::pointer);
            return pointee.unwrap_or(Value { base: Some(Base::Other), ..Value::ANY });
        }
        let index = match address.base {
            Some(Base::Param(index)) => index,
            Some(Base::Pointee(_)) => return self.filled(address, ty).fit(ty),
            _ => return any,
        };
        if kernel.is_some_and(|kernel| matches!(kernel.params[index].ty, ParamType::Array(..))) {
            let at = u32::try_from(address.low).ok().filter(|_| address.low == address.high);
            let number = at.map_or(self.trial.numbers[index], |at| self.trial.field(index, at));
            return Value::exactly(number).fit(ty);
        }
        let filled = self.filled(address, ty);
        let stored = self.reaches.params.get(&index).and_then(|reach| reach.stored);
        stored.map_or(filled, |stored| filled.join(stored)).fit(ty)
    }
}

impl Analysis<'_> {
    /// Elements that the launch puts into memory.
    pub fn filled(&self, address: Value, ty: Type) -> Value {
        let (low, high) = match address.base {
            Some(Base::Pointee(number)) => self.trial.element_range(&self.paths[number as usize], ty),
            Some(Base::Param(index)) => self.trial.element_range(&(index, Vec::new()), ty),
            _ => self.trial.element_range(&(usize::MAX, Vec::new()), ty),
        };
        Value::between(low, high)
    }

    /// The memory behind the pointer at an address.
    fn pointee(&mut self, address: Value) -> Option<Base> {
        let (param, mut path) = match address.base? {
            Base::Param(param) => (param, Vec::new()),
            Base::Pointee(number) => self.paths[number as usize].clone(),
            _ => return None,
        };
        let at = u32::try_from(address.low).ok().filter(|_| address.low == address.high);
        path.push(at.map_or(PointerStep::Each, PointerStep::At));
        if path.len() > POINTERS {
            return None;
        }
        let path = (param, path);
        let known = self.paths.iter().position(|other| *other == path);
        let number = known.unwrap_or_else(|| {
            self.paths.push(path);
            self.paths.len() - 1
        });
        u32::try_from(number).ok().filter(|&number| number < PATHS).map(Base::Pointee)
    }
}

/// `r = r + x` and `r = r - x`: the register and the operand.
fn step(inst: &crate::ir::InstData) -> Option<(Reg, &Operand)> {
    let dst = inst.dst()?;
    match (inst.opcode.op, &inst.args[..]) {
        (Op::Add | Op::Sub, [Operand::Reg(reg), by]) if *reg == dst => Some((dst, by)),
        (Op::Add, [by, Operand::Reg(reg)]) if *reg == dst => Some((dst, by)),
        _ => None,
    }
}
