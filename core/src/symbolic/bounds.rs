//! Which numbers a value may be at a place: what its definition makes of the numbers that it reads,
//! and what the branches on every way there have found out about it.
//!
//! ```text
//!     j = and.b32 t, 63             j is at most 63
//! h:  i = 0, or i + 1               at h: i is at least 0, since it begins there and does not wrap around below 64
//!     p = setp.lt.s32 i, 64
//!     br p, b, e
//! b:  …                             at b: i is from 0 to 63
//! ```
//!
//! A number of so many bits is kept twice ([`Numbers`]), read without and with its sign; where one
//! reading says that the two agree, each is made as narrow as the other. An operation is followed
//! where no result that it may have lies outside the reading, so that it does not wrap around
//! there.
//!
//! A comparison holds at a place if the one edge that control comes by to some block above it in
//! the dominator tree is a side of a branch on it. A value name stands for one number between two
//! runs of its definition, and that dominates the comparison, the comparison the branch, and its
//! side the place: whoever is at the place has compared the number that the name stands for there.
//!
//! A join has the numbers of its arguments, each at the end of the block that it comes from and on
//! the way in. One that is still being looked at may be anything, except that a step by a constant
//! which does not wrap around only goes one way: where all other arguments are at least so much,
//! the join is. Whether the step wraps around is judged by the numbers that are found without that.
//!
//! Sound for every launch: special registers have what the machine's limits leave them, not what a `launch` says, since
//! that can be overridden.
//!
//! Bounds: [`MAX_DEPTH`] definitions and joins one inside the other, [`MAX_STEPS`] for one answer,
//! and [`MAX_CONDITIONS`] blocks up the dominator tree; what lies beyond may be any number. Steps
//! are followed where an argument is the join itself plus a constant, not through joins inside the
//! loop. A comparison tells of the registers compared, not of others that are sums of them.
//!
//! Source: W. Harrison, Compiler analysis of the value ranges for variables, TSE 1977; on demand
//! and with the dominating comparisons as in R. Bodik, R. Gupta, V. Sarkar, ABCD: eliminating array
//! bounds checks on demand, PLDI 2000.

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::affine::{Affine, Atom};
use super::range::{Extension, Range, special_range};
use crate::flow::{Definition, Value, Values};
use crate::graph::{Cfg, Dominators, Edge};
use crate::ir::{Block, Cmp, Flags, Function, Inst, InstData, Op, Operand, Type};

/// Definitions and joins that are followed one inside the other.
const MAX_DEPTH: u32 = 8;
/// Values that are looked at for one answer.
const MAX_STEPS: u32 = 256;
/// Blocks up the dominator tree whose conditions are looked at.
const MAX_CONDITIONS: u32 = 64;

/// Finds the numbers that values of a function may be.
pub struct Bounds {
    cfg: Rc<Cfg>,
    dominators: Rc<Dominators>,
}

/// Site at which numbers are queried.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The end of this block.
    pub block: Block,
    /// Or the edge from there to this block.
    pub onto: Option<Block>,
    /// A predicate that holds there, or whose opposite does, besides those that control depends on.
    pub guard: Option<(Value, bool)>,
}

impl Bounds {
    /// For a graph and its dominators.
    pub fn new(cfg: Rc<Cfg>, dominators: Rc<Dominators>) -> Bounds {
        Bounds { cfg, dominators }
    }

    /// The numbers that a sum may be at a place where its values have names, before it is reduced modulo 2^64.
    pub fn of_sum(&self, func: &Function, values: &Values, site: Site, sum: &Affine) -> Range {
        let mut search = Search { bounds: self, func, values, steps: MAX_STEPS, under_way: Vec::new() };
        let constant = Range { low: sum.offset().into(), high: sum.offset().into() };
        sum.terms().iter().fold(constant, |range, &(atom, coefficient)| {
            let atom = match atom {
                Atom::Special(special) => special_range(special),
                Atom::Value(value, extension) => {
                    let numbers = search.at_site(value, site);
                    match numbers.bits {
                        64 => numbers.narrower(),
                        _ => numbers.read(extension),
                    }
                }
                Atom::Symbol(_) | Atom::Rounds(..) => Extension::Sign.range(64),
            };
            range.plus(atom.times(coefficient))
        })
    }
}

/// The numbers that some bits may be, read in both ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Numbers {
    bits: u32,
    zero: Range,
    sign: Range,
}

impl Numbers {
    fn any(bits: u32) -> Numbers {
        Numbers { bits, zero: Extension::Zero.range(bits), sign: Extension::Sign.range(bits) }
    }

    /// Numbers of that range, in as many bits; any where the range does not fit in.
    fn of(range: Range, bits: u32) -> Numbers {
        let mut numbers = Numbers::any(bits);
        for extension in [Extension::Zero, Extension::Sign] {
            numbers.narrow(extension, range, true);
        }
        numbers.agree()
    }

    /// Combines two ranges that were computed in the two readings.
    fn of_both(zero: Range, sign: Range, bits: u32) -> Numbers {
        let mut numbers = Numbers::any(bits);
        numbers.narrow(Extension::Zero, zero, true);
        numbers.narrow(Extension::Sign, sign, true);
        numbers.agree()
    }

    fn constant(number: u64, bits: u32) -> Numbers {
        let of = |extension: Extension| {
            let number = i128::from(extension.extend(number, bits));
            // 64 bits without a sign do not fit in what extending gives.
            let number = if extension == Extension::Zero && number < 0 { number + (1 << 64) } else { number };
            Range { low: number, high: number }
        };
        Numbers { bits, zero: of(Extension::Zero), sign: of(Extension::Sign) }
    }

    fn read(self, extension: Extension) -> Range {
        match extension {
            Extension::Zero => self.zero,
            Extension::Sign => self.sign,
        }
    }

    /// The reading that says more. Of 64 bits either will do, since sums are taken modulo 2^64.
    fn narrower(self) -> Range {
        let is_signed = self.sign.high - self.sign.low < self.zero.high - self.zero.low;
        if is_signed { self.sign } else { self.zero }
    }

    /// Takes on a range in one reading: all of it, or what it has in common with what is known.
    fn narrow(&mut self, extension: Extension, range: Range, is_whole: bool) {
        let known = match extension {
            Extension::Zero => &mut self.zero,
            Extension::Sign => &mut self.sign,
        };
        let common = Range { low: known.low.max(range.low), high: known.high.min(range.high) };
        // Where nothing is in common, control does not come there, and anything may be said.
        if common.low <= common.high && (!is_whole || known.contains(range)) {
            *known = common;
        }
    }

    /// Lets each reading say to the other what it knows.
    fn agree(mut self) -> Numbers {
        let (half, whole) = (1i128 << (self.bits - 1), 1i128 << self.bits);
        let moved = |range: Range, by: i128| Range { low: range.low + by, high: range.high + by };
        for _ in 0..2 {
            let (zero, sign) = (self.zero, self.sign);
            if zero.high < half {
                self.narrow(Extension::Sign, zero, false);
            } else if zero.low >= half {
                self.narrow(Extension::Sign, moved(zero, -whole), false);
            }
            if sign.low >= 0 {
                self.narrow(Extension::Zero, sign, false);
            } else if sign.high < 0 {
                self.narrow(Extension::Zero, moved(sign, whole), false);
            }
        }
        self
    }

    /// Union of both.
    fn or(self, other: Numbers) -> Numbers {
        let hull = |a: Range, b: Range| Range { low: a.low.min(b.low), high: a.high.max(b.high) };
        Numbers { bits: self.bits, zero: hull(self.zero, other.zero), sign: hull(self.sign, other.sign) }
    }
}

/// One answer that is being looked for.
struct Search<'a> {
    bounds: &'a Bounds,
    func: &'a Function,
    values: &'a Values,
    steps: u32,
    /// Joins that are being looked at.
    under_way: Vec<Value>,
}

impl Search<'_> {
    fn bits(&self, value: Value) -> u32 {
        self.func.reg_types[self.values.reg(value)].bits()
    }

    fn at_site(&mut self, value: Value, site: Site) -> Numbers {
        let mut numbers = self.at(value, site.block, MAX_DEPTH);
        if let Some((guard, negated)) = site.guard {
            self.compare(&mut numbers, value, guard, !negated, MAX_DEPTH);
        }
        if let Some(onto) = site.onto {
            let mut edges = self.bounds.cfg.out_edges(site.block).filter(|&edge| self.bounds.cfg.target(edge) == onto);
            if let (Some(edge), None) = (edges.next(), edges.next()) {
                self.pass(&mut numbers, value, edge, MAX_DEPTH);
            }
        }
        numbers.agree()
    }

    /// Range of a value in a block, wherever it has the name there.
    fn at(&mut self, value: Value, block: Block, depth: u32) -> Numbers {
        if depth == 0 || self.steps == 0 {
            return Numbers::any(self.bits(value));
        }
        self.steps -= 1;
        let mut numbers = self.defined(value, depth - 1);
        let (cfg, dominators) = (self.bounds.cfg.clone(), self.bounds.dominators.clone());
        let mut at = Some(block);
        for _ in 0..MAX_CONDITIONS {
            let Some(block) = at.filter(|&block| cfg.is_reachable(block)) else { break };
            at = dominators.immediate_dominator(block);
            let is_from_above = |edge: &&Edge| {
                let source = cfg.source(**edge);
                cfg.is_reachable(source) && !dominators.dominates(block, source)
            };
            let mut edges = cfg.in_edges(block).iter().filter(is_from_above);
            if let (Some(&edge), None, false) = (edges.next(), edges.next(), cfg.is_entry(block)) {
                self.pass(&mut numbers, value, edge, depth - 1);
            }
        }
        numbers.agree()
    }

    /// Control has come by an edge.
    fn pass(&mut self, numbers: &mut Numbers, value: Value, edge: Edge, depth: u32) {
        let cfg = &self.bounds.cfg;
        let (source, slot) = (cfg.source(edge), cfg.slot(edge));
        let Some(branch) = self.func.terminator(source) else { return };
        let data = &self.func.insts[branch];
        if data.opcode.op != Op::BrIf || slot > 1 {
            return;
        }
        let is_negated = matches!(data.args.first(), Some(Operand::NotReg(_)));
        if let Some(&predicate) = self.values.operands(branch).first() {
            self.compare(numbers, value, predicate, (slot == 0) != is_negated, depth);
        }
    }

    /// A predicate is true or false.
    fn compare(&mut self, numbers: &mut Numbers, value: Value, predicate: Value, is_true: bool, depth: u32) {
        let Definition::Inst { inst, index: 0 } = self.values.definition(predicate) else { return };
        if depth == 0 || self.steps == 0 {
            return;
        }
        self.steps -= 1;
        let data = &self.func.insts[inst];
        let read = self.values.operands(inst);
        let is_plain = data.args.iter().all(|arg| arg.as_reg().is_some());
        match data.opcode.op {
            Op::Not if is_plain => read.iter().for_each(|&of| self.compare(numbers, value, of, !is_true, depth - 1)),
            Op::Mov if is_plain => read.iter().for_each(|&of| self.compare(numbers, value, of, is_true, depth - 1)),
            Op::And if is_plain && is_true => {
                read.iter().for_each(|&of| self.compare(numbers, value, of, true, depth - 1));
            }
            Op::Or if is_plain && !is_true => {
                read.iter().for_each(|&of| self.compare(numbers, value, of, false, depth - 1));
            }
            Op::Setp if data.args.len() == 2 && is_integer(data.opcode.ty) => {
                let (Some(cmp), ty) = (data.opcode.cmp, data.opcode.ty) else { return };
                let Some(cmp) = (if is_true { Some(cmp) } else { cmp.complement() }) else { return };
                for (own, cmp) in [(0, cmp), (1, cmp.swapped())] {
                    let is_own = self.operand_value(inst, own) == Some(value) && ty.bits() == numbers.bits;
                    if is_own {
                        let other = self.operand(inst, 1 - own, ty, depth - 1);
                        restrict(numbers, cmp, ty, other);
                    }
                }
            }
            _ => {}
        }
    }

    fn defined(&mut self, value: Value, depth: u32) -> Numbers {
        let bits = self.bits(value);
        match self.values.definition(value) {
            Definition::Inst { inst, index: 0 } => self.computed(inst, bits, depth),
            Definition::Guarded { inst, index: 0, old } => {
                let Some(block) = self.func.inst_block(inst) else { return Numbers::any(bits) };
                self.computed(inst, bits, depth).or(self.at(old, block, depth))
            }
            Definition::Join { .. } => self.joined(value, depth),
            Definition::Entry | Definition::Inst { .. } | Definition::Guarded { .. } => Numbers::any(bits),
        }
    }

    fn joined(&mut self, join: Value, depth: u32) -> Numbers {
        let bits = self.bits(join);
        if self.under_way.contains(&join) {
            return Numbers::any(bits);
        }
        self.under_way.push(join);
        let (mut all, mut begins): (Option<Numbers>, Option<Numbers>) = (None, None);
        let mut steps: Vec<(Block, Numbers)> = Vec::new();
        for arg in self.values.join_args(join) {
            let numbers = match arg.edge.expand() {
                Some(edge) => {
                    let mut numbers = self.at(arg.value, self.bounds.cfg.source(edge), depth);
                    self.pass(&mut numbers, arg.value, edge, depth);
                    numbers.agree()
                }
                None => Numbers::any(bits),
            };
            all = Some(all.map_or(numbers, |all| all.or(numbers)));
            match self.step_of(arg.value, join) {
                Some(step) => steps.push(step),
                None if arg.value == join => {}
                None => begins = Some(begins.map_or(numbers, |begins| begins.or(numbers))),
            }
        }
        let (Some(mut all), Some(begins)) = (all, begins) else {
            self.under_way.pop();
            return Numbers::any(bits);
        };
        if !steps.is_empty() {
            let before: Vec<(Numbers, Numbers)> = steps
                .iter()
                .map(|&(block, step)| {
                    let mut before = self.at(join, block, depth);
                    before.narrow(Extension::Zero, all.zero, false);
                    before.narrow(Extension::Sign, all.sign, false);
                    (before.agree(), step)
                })
                .collect();
            for extension in [Extension::Zero, Extension::Sign] {
                let (full, begins) = (extension.range(bits), begins.read(extension));
                // A step is read with its sign: so a large number without one goes down.
                let goes = |is_up: bool| {
                    before.iter().all(|(before, step)| {
                        let (from, by) = (before.read(extension), step.sign);
                        (if is_up { by.low >= 0 } else { by.high <= 0 }) && full.contains(from.plus(by))
                    })
                };
                let (is_up, is_down) = (goes(true), goes(false));
                if is_up {
                    all.narrow(extension, Range { low: begins.low, ..full }, false);
                }
                if is_down {
                    all.narrow(extension, Range { high: begins.high, ..full }, false);
                }
            }
        }
        self.under_way.pop();
        all.agree()
    }

    /// Is a value a join plus or minus a constant? Gives where that is computed and what is added.
    fn step_of(&self, value: Value, join: Value) -> Option<(Block, Numbers)> {
        let Definition::Inst { inst, index: 0 } = self.values.definition(value) else { return None };
        let data = &self.func.insts[inst];
        let (block, bits) = (self.func.inst_block(inst)?, self.bits(join));
        if !is_exact(data) || data.opcode.ty.bits() != bits {
            return None;
        }
        let constant = |index: usize| data.args.get(index)?.as_const();
        let is_join = |index: usize| self.operand_value(inst, index) == Some(join);
        let added = match data.opcode.op {
            Op::Add if is_join(0) => constant(1)?,
            Op::Add if is_join(1) => constant(0)?,
            Op::Sub if is_join(0) => constant(1)?.wrapping_neg() & data.opcode.ty.mask(),
            _ => return None,
        };
        Some((block, Numbers::constant(added, bits)))
    }

    /// The value of an operand that is a plain register.
    fn operand_value(&self, inst: Inst, index: usize) -> Option<Value> {
        let data = &self.func.insts[inst];
        data.args.get(index)?.as_reg()?;
        let mut before = 0;
        data.args[..index].iter().for_each(|arg| arg.for_each_reg(&mut |_| before += 1));
        self.values.operands(inst).get(before).copied()
    }

    /// Range of an operand, as a number of a type.
    fn operand(&mut self, inst: Inst, index: usize, ty: Type, depth: u32) -> Numbers {
        let bits = ty.bits();
        match self.func.insts[inst].args.get(index) {
            Some(Operand::Const(constant)) => Numbers::constant(*constant & ty.mask(), bits),
            Some(Operand::Special(special)) => Numbers::of(special_range(*special), bits),
            Some(Operand::Reg(_)) => {
                let (value, block) = (self.operand_value(inst, index), self.func.inst_block(inst));
                let (Some(value), Some(block)) = (value, block) else { return Numbers::any(bits) };
                let numbers = self.at(value, block, depth);
                // A register that is wider gives its low bits.
                if numbers.bits == bits { numbers } else { Numbers::of(numbers.read(Extension::of(ty)), bits) }
            }
            _ => Numbers::any(bits),
        }
    }

    /// Range of an instruction's first result, in a register of so many bits.
    fn computed(&mut self, inst: Inst, bits: u32, depth: u32) -> Numbers {
        let data = &self.func.insts[inst];
        let (op, ty) = (data.opcode.op, data.opcode.ty);
        let any = Numbers::any(bits);
        if !is_integer(ty) || !is_exact(data) || depth == 0 {
            return any;
        }
        let mut operand = |index: usize, ty: Type| self.operand(inst, index, ty, depth);
        let is_signed = ty.is_signed();
        match op {
            // What is narrower than its register extends by its type.
            Op::Ld if ty.bits() < bits => return Numbers::of(Extension::of(ty).range(ty.bits()), bits),
            Op::Cvt => {
                let from = data.opcode.src_ty;
                if !is_integer(from) {
                    return any;
                }
                let range = operand(0, from).read(Extension::of(from));
                let is_kept = Extension::of(ty).range(ty.bits()).contains(range);
                let result = if is_kept { range } else { Extension::of(ty).range(ty.bits()) };
                return if is_kept || ty.bits() < bits { Numbers::of(result, bits) } else { any };
            }
            Op::MulWide | Op::MadWide if data.opcode.wide_type().bits() == bits => {
                let [left, right] = [0, 1].map(|index| operand(index, ty).read(Extension::of(ty)));
                let product = product(left, right);
                if op == Op::MulWide {
                    return Numbers::of(product, bits);
                }
                let addend = operand(2, data.opcode.wide_type());
                return Numbers::of_both(product.plus(addend.zero), product.plus(addend.sign), bits);
            }
            Op::Popc | Op::Clz => return Numbers::of(Range { low: 0, high: ty.bits().into() }, bits),
            _ => {}
        }
        if ty.bits() != bits {
            return any;
        }
        let both = |a: Numbers, b: Numbers, of: fn(Range, Range) -> Range| {
            Numbers::of_both(of(a.zero, b.zero), of(a.sign, b.sign), bits)
        };
        match op {
            Op::Mov => operand(0, ty),
            Op::Add => {
                let (a, b) = (operand(0, ty), operand(1, ty));
                both(a, b, Range::plus)
            }
            Op::Sub => {
                let (a, b) = (operand(0, ty), operand(1, ty));
                both(a, b, |a, b| a.plus(b.times(-1)))
            }
            Op::Mul => {
                let (a, b) = (operand(0, ty), operand(1, ty));
                both(a, b, product)
            }
            Op::Mad => {
                let (a, b, c) = (operand(0, ty), operand(1, ty), operand(2, ty));
                let (zero, sign) = (product(a.zero, b.zero), product(a.sign, b.sign));
                Numbers::of_both(zero.plus(c.zero), sign.plus(c.sign), bits)
            }
            Op::Min | Op::Max => {
                let (a, b) = (operand(0, ty), operand(1, ty));
                let of = if op == Op::Min { i128::min } else { i128::max };
                let (a, b) = (a.read(Extension::of(ty)), b.read(Extension::of(ty)));
                Numbers::of(Range { low: of(a.low, b.low), high: of(a.high, b.high) }, bits)
            }
            Op::Selp => operand(0, ty).or(operand(1, ty)),
            Op::And => {
                let (a, b) = (operand(0, ty), operand(1, ty));
                Numbers::of(Range { low: 0, high: a.zero.high.min(b.zero.high) }, bits)
            }
            Op::Or | Op::Xor => {
                let (a, b) = (operand(0, ty), operand(1, ty));
                let high = a.zero.high.max(b.zero.high);
                let low = if op == Op::Or { a.zero.low.max(b.zero.low) } else { 0 };
                Numbers::of(Range { low, high: (1 << (128 - high.leading_zeros())) - 1 }, bits)
            }
            Op::Shl => {
                let (a, amount) = (operand(0, ty), operand(1, Type::U32).zero);
                if amount.high >= i128::from(bits) {
                    return any;
                }
                let factor = Range { low: 1 << amount.low, high: 1 << amount.high };
                Numbers::of_both(product(a.zero, factor), product(a.sign, factor), bits)
            }
            Op::Shr => {
                let (a, amount) = (operand(0, ty), operand(1, Type::U32).zero);
                let [least, most] = [amount.low, amount.high].map(|amount| amount.min(127) as u32);
                let a = a.read(Extension::of(ty));
                // What is negative comes nearer to nothing the further it is shifted.
                let low = if a.low < 0 { a.low >> least } else { a.low >> most };
                let high = if a.high < 0 { a.high >> most } else { a.high >> least };
                Numbers::of(Range { low, high }, bits)
            }
            Op::Rem | Op::Div => {
                let (a, b) = (operand(0, ty), operand(1, ty));
                let (a, b) = (a.read(Extension::of(ty)), b.read(Extension::of(ty)));
                // Division by nothing gives all ones.
                if b.low < 1 || is_signed && a.low < 0 {
                    return any;
                }
                match op {
                    Op::Rem => Numbers::of(Range { low: 0, high: a.high.min(b.high - 1) }, bits),
                    _ => Numbers::of(Range { low: a.low / b.high, high: a.high / b.low }, bits),
                }
            }
            _ => any,
        }
    }
}

fn is_integer(ty: Type) -> bool {
    !ty.is_float() && ty != Type::Pred
}

/// Does an instruction what its opcode says, on all lanes that it runs on, and no more?
fn is_exact(data: &InstData) -> bool {
    !data.opcode.flags.intersects(Flags::SAT | Flags::CC | Flags::HI)
}

fn product(a: Range, b: Range) -> Range {
    let ends = [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)];
    let products = ends.map(|(a, b)| a.saturating_mul(b));
    products.iter().fold(Range { low: products[0], high: products[0] }, |range, &product| Range {
        low: range.low.min(product),
        high: range.high.max(product),
    })
}

/// Numbers of which a comparison with others, read by a type, holds.
fn restrict(numbers: &mut Numbers, cmp: Cmp, ty: Type, other: Numbers) {
    let is_unsigned = matches!(cmp, Cmp::Lo | Cmp::Ls | Cmp::Hi | Cmp::Hs);
    let extension = if is_unsigned { Extension::Zero } else { Extension::of(ty) };
    let (full, known, with) = (extension.range(numbers.bits), numbers.read(extension), other.read(extension));
    let range = match cmp {
        Cmp::Lt | Cmp::Lo => Range { high: with.high - 1, ..full },
        Cmp::Le | Cmp::Ls => Range { high: with.high, ..full },
        Cmp::Gt | Cmp::Hi => Range { low: with.low + 1, ..full },
        Cmp::Ge | Cmp::Hs => Range { low: with.low, ..full },
        Cmp::Eq => {
            numbers.narrow(Extension::Zero, other.zero, false);
            numbers.narrow(Extension::Sign, other.sign, false);
            return;
        }
        // A number at an end is no end any more.
        Cmp::Ne if with.low == with.high => Range {
            low: known.low + i128::from(known.low == with.low),
            high: known.high - i128::from(known.high == with.high),
        },
        _ => return,
    };
    numbers.narrow(extension, range, false);
}
