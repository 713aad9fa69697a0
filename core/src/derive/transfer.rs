//! Transfer of intervals through each instruction, and the memory that it touches.

use super::interval::{Base, Value};
use super::ranges::{Analysis, Condition, Fact, State};
use crate::ir::{AddressBase, AtomicOp, Cmp, FuncKind, Function, InstData, Op, Operand, Special, Type};
use alloc::vec;
use alloc::vec::Vec;

/// Conditions kept at a time; more are forgotten.
const CONDITIONS: usize = 64;

/// The transfer functions, apart from the solver that applies them.
pub(super) trait Transfer {
    /// Applies one instruction to the state.
    fn instruction(&mut self, func: &Function, inst: &InstData, state: &mut State, depth: u32);
    /// The values of a special register in this launch.
    fn special(&self, special: Special) -> Value;
}

impl Transfer for Analysis<'_> {
    fn instruction(&mut self, func: &Function, inst: &InstData, state: &mut State, depth: u32) {
        let before: Vec<(crate::ir::Reg, Option<Value>)> =
            inst.dsts.iter().map(|&dst| (dst, state.values[dst.as_u32() as usize])).collect();
        let (values, condition) = self.results(func, inst, state, depth);
        for (index, &dst) in inst.dsts.iter().enumerate() {
            let mut value = values.get(index).copied().unwrap_or(Value::of_type(func.reg_types[dst]));
            // Where the guard is false the old value stays.
            if let (Some(_), Some(old)) = (inst.guard, before[index].1) {
                value = value.join(old);
            }
            state.set(dst, value);
        }
        if let (Some(condition), Some(&dst), None) = (condition, inst.dsts.first(), inst.guard)
            && state.conditions.len() < CONDITIONS
        {
            state.conditions.insert(dst, condition);
        }
    }

    fn special(&self, special: Special) -> Value {
        let (grid, block) = (self.trial.grid, self.trial.block);
        let below = |size: u32| Value::between(0, i64::from(size) - 1);
        match special {
            Special::Tid(axis) => below(block[axis.index()]),
            Special::Ctaid(axis) => below(grid[axis.index()]),
            Special::Ntid(axis) => Value::exactly(i64::from(block[axis.index()])),
            Special::Nctaid(axis) => Value::exactly(i64::from(grid[axis.index()])),
            Special::Laneid => below(32),
            Special::Warpid => below(block.iter().product::<u32>().div_ceil(32)),
            Special::Warpsize => Value::exactly(32),
            _ => Value::of_type(Type::U32),
        }
    }
}

impl Analysis<'_> {
    fn results(
        &mut self,
        func: &Function,
        inst: &InstData,
        state: &State,
        depth: u32,
    ) -> (Vec<Value>, Option<Condition>) {
        let ty = inst.opcode.ty;
        let wide = inst.opcode.wide_type();
        let of =
            |index: usize, ty: Type| inst.args.get(index).map_or(Value::ANY, |arg| self.operand(func, state, arg, ty));
        let value = match inst.opcode.op {
            Op::Mov if inst.dsts.len() > 1 || matches!(inst.args.first(), Some(Operand::List(_))) => {
                return (vec![], None);
            }
            Op::Mov if ty == Type::Pred => return (vec![], copied(state, inst)),
            Op::Mov | Op::Cvta => of(0, ty).fit(ty),
            Op::Cvt => {
                let source = of(0, inst.opcode.src_ty);
                if inst.opcode.src_ty.is_float() { Value::of_type(ty) } else { source.fit(ty) }
            }
            Op::Add => of(0, ty).add(of(1, ty)).fit_sum(ty),
            Op::Sub => of(0, ty).subtract(of(1, ty)).fit_sum(ty),
            Op::Mul => of(0, ty).multiply(of(1, ty)).fit_sum(ty),
            Op::MulWide => of(0, ty).multiply(of(1, ty)),
            Op::Mad => of(0, ty).multiply(of(1, ty)).fit_sum(ty).add(of(2, ty)).fit_sum(ty),
            Op::MadWide => of(0, ty).multiply(of(1, ty)).add(of(2, wide)),
            Op::MulHi => high_product(of(0, ty), of(1, ty), ty),
            Op::Neg => of(0, ty).negated().fit(ty),
            Op::Abs => absolute(of(0, ty)).fit(ty),
            Op::Div => quotient(of(0, ty), of(1, ty)).fit(ty),
            Op::Rem => remainder(of(0, ty), of(1, ty)).fit(ty),
            Op::Min => ends(of(0, ty), of(1, ty), i64::min).fit(ty),
            Op::Max => ends(of(0, ty), of(1, ty), i64::max).fit(ty),
            Op::And | Op::Or | Op::Xor if ty == Type::Pred => return (vec![], combined(state, inst)),
            Op::Not if ty == Type::Pred => return (vec![], copied(state, inst).map(inverted)),
            Op::And => masked(of(0, ty), of(1, ty), ty),
            Op::Or | Op::Xor => united(of(0, ty), of(1, ty), ty),
            Op::Shl => {
                let by = of(1, Type::U32);
                let factor = |by: i64| if by >= 62 { i64::MAX } else { 1 << by.max(0) };
                of(0, ty).multiply(Value::between(factor(by.low), factor(by.high))).fit(ty)
            }
            Op::Shr => shifted(of(0, ty), of(1, Type::U32), ty),
            Op::Selp => of(0, ty).join(of(1, ty)),
            Op::Bfe if !ty.is_signed() => match of(2, Type::U32) {
                len if len.low == len.high && (0..32).contains(&len.low) => Value::between(0, (1 << len.low) - 1),
                _ => Value::of_type(ty),
            },
            Op::Popc | Op::Clz => Value::between(0, 64),
            Op::ShflIdx | Op::ShflUp | Op::ShflDown | Op::ShflBfly => of(0, ty).fit(ty),
            Op::Setp => return (vec![], compared(inst)),
            Op::Tex1d | Op::Tex2d => {
                let texture = of(0, Type::B64);
                self.touch_texture(texture);
                return (vec![], None);
            }
            Op::Ld | Op::St | Op::Atom | Op::Red => return (self.access(func, inst, state), None),
            Op::Call | Op::CallTo => {
                let Some(callee) = inst.callee() else { return (vec![], None) };
                let target = &self.module.funcs[callee.func];
                let arguments: Vec<Value> =
                    inst.args.iter().map(|arg| self.operand(func, state, arg, Type::B64)).collect();
                let caller = self.func.replace(callee.func);
                let returned = self.function(target, &arguments, depth + 1);
                self.func = caller;
                returned
            }
            _ => return (vec![], None),
        };
        (vec![value], None)
    }

    /// Notes what an access touches and gives what it loads.
    fn access(&mut self, func: &Function, inst: &InstData, state: &State) -> Vec<Value> {
        let (op, ty) = (inst.opcode.op, inst.opcode.ty);
        let Some(address) = inst.address() else { return vec![] };
        let mut place = match address.base {
            AddressBase::Reg(reg) => state.get(reg),
            AddressBase::Symbol(symbol) => self.operand(func, state, &Operand::Symbol(symbol), Type::B64),
            AddressBase::Absolute => Value::pointer(Base::Other),
        };
        for &(index, scale) in &address.terms {
            let index = self.operand(func, state, &Operand::Reg(index), func.reg_types[index]);
            place = place.add(index.multiply(Value::exactly(scale)));
        }
        place = place.add(Value::exactly(address.offset));
        let bytes = u64::from(ty.bytes()) * u64::from(inst.opcode.vector);
        let kernel = (func.kind == FuncKind::Kernel).then_some(func);
        let loaded = self.content(kernel, place, ty);
        let stored = match (op, inst.opcode.atomic) {
            (Op::Ld, _) => None,
            // Counting up: every thread once is what ordinary kernels do.
            (Op::Atom | Op::Red, Some(AtomicOp::Add | AtomicOp::Inc)) => {
                let threads = self.trial.grid.iter().chain(&self.trial.block).map(|&size| i64::from(size)).product();
                let by = inst.args.get(1).map_or(Value::ANY, |arg| self.operand(func, state, arg, ty));
                Some(self.filled(place, ty).add(by.multiply(Value::between(0, threads))).fit(ty))
            }
            _ => {
                let values = inst.args.iter().skip(1).flat_map(|arg| match arg {
                    Operand::List(parts) => parts.to_vec(),
                    other => vec![other.clone()],
                });
                let values: Vec<Value> = values.map(|arg| self.operand(func, state, &arg, ty).fit(ty)).collect();
                values.into_iter().reduce(Value::join)
            }
        };
        let stored = stored.map(|value| Value { base: None, ..value });
        self.note_site(kernel, place, op != Op::Ld);
        self.touch(place, bytes, ty, stored, op == Op::Ld);
        inst.dsts.iter().map(|_| loaded).collect()
    }
}

// Conditions

fn compared(inst: &InstData) -> Option<Condition> {
    let ty = inst.opcode.ty;
    let (cmp, Some(Operand::Reg(left)), Some(right)) = (inst.opcode.cmp?, inst.args.first(), inst.args.get(1)) else {
        return None;
    };
    if ty.is_float() || inst.dsts.len() > 1 || inst.opcode.combine.is_some() {
        return None;
    }
    // On a `b` type only equality is meant.
    let fact = |cmp: Cmp| vec![Fact { left: *left, cmp, right: right.clone(), ty }];
    Some(Condition { when_true: Some(fact(cmp)), when_false: Some(fact(opposite(cmp)?)) })
}

fn opposite(cmp: Cmp) -> Option<Cmp> {
    Some(match cmp {
        Cmp::Eq => Cmp::Ne,
        Cmp::Ne => Cmp::Eq,
        Cmp::Lt | Cmp::Lo => Cmp::Ge,
        Cmp::Le | Cmp::Ls => Cmp::Gt,
        Cmp::Gt | Cmp::Hi => Cmp::Le,
        Cmp::Ge | Cmp::Hs => Cmp::Lt,
        _ => return None,
    })
}

fn copied(state: &State, inst: &InstData) -> Option<Condition> {
    match inst.args.first()? {
        Operand::Reg(reg) => state.conditions.get(reg).cloned(),
        Operand::Const(bits) if bits & 1 == 1 => Some(Condition { when_true: Some(vec![]), when_false: None }),
        Operand::Const(_) => Some(Condition { when_true: None, when_false: Some(vec![]) }),
        _ => None,
    }
}

fn inverted(condition: Condition) -> Condition {
    Condition { when_true: condition.when_false, when_false: condition.when_true }
}

/// Both hold where a conjunction is true; neither where a disjunction is false.
fn combined(state: &State, inst: &InstData) -> Option<Condition> {
    let known = |index: usize| match inst.args.get(index) {
        Some(Operand::Reg(reg)) => state.conditions.get(reg).cloned(),
        _ => None,
    };
    let unknown = Condition { when_true: Some(vec![]), when_false: Some(vec![]) };
    let (a, b) = (known(0).unwrap_or(unknown.clone()), known(1).unwrap_or(unknown));
    let both = |a: Option<Vec<Fact>>, b: Option<Vec<Fact>>| Some([a?, b?].concat());
    match inst.opcode.op {
        Op::And => Some(Condition { when_true: both(a.when_true, b.when_true), when_false: Some(vec![]) }),
        Op::Or => Some(Condition { when_true: Some(vec![]), when_false: both(a.when_false, b.when_false) }),
        _ => None,
    }
}

// Arithmetic

fn ends(a: Value, b: Value, of: fn(i64, i64) -> i64) -> Value {
    if a.base.is_some() || b.base.is_some() {
        return Value { base: Some(Base::Other), ..Value::ANY };
    }
    Value::between(of(a.low, b.low), of(a.high, b.high))
}

fn absolute(a: Value) -> Value {
    let (low, high) = (a.low.saturating_abs(), a.high.saturating_abs());
    Value::between(if a.low <= 0 && a.high >= 0 { 0 } else { low.min(high) }, low.max(high))
}

fn high_product(a: Value, b: Value, ty: Type) -> Value {
    if a.low < 0 || b.low < 0 || !a.is_bounded() || !b.is_bounded() {
        return Value::of_type(ty);
    }
    let high = (i128::from(a.high) * i128::from(b.high)) >> ty.bits();
    Value::between(0, high as i64)
}

fn quotient(a: Value, b: Value) -> Value {
    if b.low <= 0 || b.base.is_some() || a.base.is_some() {
        return Value::ANY;
    }
    let of = |end: i64, by: i64| if end == i64::MIN || end == i64::MAX { end } else { end / by };
    let all = [of(a.low, b.low), of(a.low, b.high), of(a.high, b.low), of(a.high, b.high)];
    Value::between(all.into_iter().min().unwrap_or(i64::MIN), all.into_iter().max().unwrap_or(i64::MAX))
}

fn remainder(a: Value, b: Value) -> Value {
    if b.low <= 0 || b.high == i64::MAX {
        return Value::ANY;
    }
    let low = if a.low >= 0 { 0 } else { (1 - b.high).max(a.low) };
    Value::between(low, if a.high <= 0 { 0 } else { (b.high - 1).min(a.high) })
}

/// No more bits than the operand that is not negative has.
fn masked(a: Value, b: Value, ty: Type) -> Value {
    let limit = [a, b].into_iter().filter(|value| value.base.is_none() && value.low >= 0).map(|value| value.high).min();
    limit.map_or(Value::of_type(ty), |high| Value::between(0, high))
}

fn united(a: Value, b: Value, ty: Type) -> Value {
    let high = a.high.max(b.high);
    if a.base.is_some() || b.base.is_some() || a.low < 0 || b.low < 0 || high >= 1 << 62 {
        return Value::of_type(ty);
    }
    Value::between(0, ((high as u64 + 1).next_power_of_two() - 1) as i64)
}

fn shifted(a: Value, by: Value, ty: Type) -> Value {
    if by.low != by.high || !(0..64).contains(&by.low) || !a.is_bounded() || (a.low < 0 && !ty.is_signed()) {
        return if a.low >= 0 && a.base.is_none() { Value::between(0, a.high) } else { Value::of_type(ty) };
    }
    Value { base: a.base.map(|_| Base::Other), low: a.low >> by.low, high: a.high >> by.low }
}
