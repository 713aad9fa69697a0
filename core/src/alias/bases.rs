//! What an address is counted from, told from registers that are written once: quicker than writing addresses as sums, and
//! enough to sort accesses by object.
//!
//! ```text
//! t = mul.wide.s32 i, 4          a plain number
//! a = add.s64 x, t               counted from what x points to
//! ld.global.f32 [a + 8]          so is this access
//! ```
//!
//! The same rules as those of [`crate::symbolic::AffineNames`]: one object may be added to plain numbers, and copied. What
//! comes from memory, from several definitions or out of other operations is taken for a plain number, as there. Beyond
//! that, whatever is scaled or widened in an address that has an object counts its elements.
//!
//! Each register is looked at once; a chain of definitions ends after [`MAX_DEPTH`]. Whoever walks over a function anyhow,
//! and comes to what dominates first, need not look at definitions again: [`BaseWalk`] is told of each as the walk comes to
//! it. That is told of registers which are written once in the end; until then, of what wrote them last.

use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;

use crate::flow::Joins;
use crate::ir::{Address, AddressBase, Flags, Function, Inst, InstData, Op, Operand, ParamType, Reg, Symbol, by_root};
use crate::symbolic::Base;

/// Definitions that are followed one behind the other.
const MAX_DEPTH: u32 = 24;

/// What a number is made of, as far as objects go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// No object.
    Plain,
    /// One object, and plain numbers.
    Object(Base),
    /// Several, or a multiple of one.
    Mixed,
}

impl Origin {
    fn plus(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::Plain, known) | (known, Origin::Plain) => known,
            _ => Origin::Mixed,
        }
    }

    /// A multiple.
    fn times(self) -> Origin {
        if self == Origin::Plain { Origin::Plain } else { Origin::Mixed }
    }
}

/// What an address is counted from as far as its own text tells.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    base: AddressBase,
    /// Does all else in it count elements, if the base is an object?
    is_alone: bool,
}

impl Start {
    /// What the text of an address tells.
    pub fn of(func: &Function, address: &Address) -> Start {
        let is_alone = address.terms.iter().all(|&term| counts_elements(func, address, term));
        Start { base: address.base, is_alone }
    }
}

/// What is known of the definitions of registers.
pub(crate) trait Definitions {
    /// The instruction that tells what a register holds wherever it is read, if one does.
    fn only(&self, reg: Reg) -> Option<Inst>;

    /// Is it written anywhere?
    fn is_written(&self, reg: Reg) -> bool;
}

/// The bases of a function's addresses.
pub(crate) struct Bases<'a, D> {
    func: &'a Function,
    definitions: D,
    /// By register, once it was asked for.
    known: Vec<Option<Origin>>,
}

impl<'a, D: Definitions> Bases<'a, D> {
    pub fn new(func: &'a Function, definitions: D) -> Self {
        let mut known = vec![None; func.regs.len()];
        for (reg, origin) in pointers(func).filter(|&(reg, _)| !definitions.is_written(reg)) {
            known[reg.index()] = Some(origin);
        }
        Bases { func, definitions, known }
    }

    /// What the address of an instruction is counted from, which begins like that.
    pub fn of(&mut self, inst: Inst, start: Start) -> Base {
        match (self.base(start.base), start.is_alone) {
            (Origin::Object(base), true) => base,
            (base, _) => {
                let func = self.func;
                let address = func.insts[inst].address();
                match address.map(|address| with_terms(func, base, address, |reg| self.reg(reg, MAX_DEPTH))) {
                    Some(Origin::Object(base)) => base,
                    _ => Base::Unknown,
                }
            }
        }
    }

    fn base(&mut self, base: AddressBase) -> Origin {
        match base {
            AddressBase::Absolute => Origin::Plain,
            AddressBase::Symbol(symbol) => object(symbol),
            AddressBase::Reg(reg) => self.reg(reg, MAX_DEPTH),
        }
    }

    fn reg(&mut self, reg: Reg, depth: u32) -> Origin {
        if let Some(known) = self.known[reg.index()] {
            return known;
        }
        let origin = match depth {
            0 => Origin::Plain,
            _ => self.definition(reg, depth - 1).unwrap_or(Origin::Plain),
        };
        self.known[reg.index()] = Some(origin);
        origin
    }

    /// What the only definition of a register makes of its operands.
    fn definition(&mut self, reg: Reg, depth: u32) -> Option<Origin> {
        let func = self.func;
        let data = &func.insts[self.definitions.only(reg)?];
        made_by(func, reg, data, |reg| self.reg(reg, depth))
    }
}

/// The bases of the accesses that a walk down the dominator tree comes to.
pub(crate) struct BaseWalk {
    /// By register: what was made by the last definition that made anything but a plain number.
    known: Vec<Origin>,
    /// Those definitions, in the order of the walk.
    makers: Vec<(Reg, Inst)>,
}

impl BaseWalk {
    /// The walk begins.
    pub fn new(func: &Function) -> BaseWalk {
        let mut walk = BaseWalk { known: vec![Origin::Plain; func.regs.len()], makers: Vec::new() };
        pointers(func).for_each(|(reg, origin)| walk.known[reg.index()] = origin);
        walk
    }

    /// The walk comes to an instruction.
    #[inline]
    pub fn visit(&mut self, func: &Function, inst: Inst, data: &InstData) {
        // Plain numbers make plain numbers, and most are.
        let has_object = |arg: &Operand| match arg {
            Operand::Reg(reg) => self.known[reg.index()] != Origin::Plain,
            Operand::Symbol(_) => true,
            _ => false,
        };
        if may_make_addresses(data.opcode.op)
            && data.args.iter().any(has_object)
            && let Some(dst) = data.dst()
        {
            self.visit_maker(func, inst, data, dst);
        }
    }

    #[inline(never)]
    fn visit_maker(&mut self, func: &Function, inst: Inst, data: &InstData, dst: Reg) {
        let made = made_by(func, dst, data, |reg| self.known[reg.index()]).unwrap_or(Origin::Plain);
        if made != Origin::Plain && data.guard.is_none() {
            self.known[dst.index()] = made;
            self.makers.push((dst, inst));
        }
    }

    /// The base of an access that the walk comes to, as far as is known by then.
    pub fn base(&self, func: &Function, address: &Address) -> Base {
        let Start { base, is_alone } = Start::of(func, address);
        let base = match base {
            AddressBase::Absolute => Origin::Plain,
            AddressBase::Symbol(symbol) => object(symbol),
            AddressBase::Reg(reg) => self.known[reg.index()],
        };
        match base {
            Origin::Object(base) if is_alone => base,
            _ => match with_terms(func, base, address, |reg| self.known[reg.index()]) {
                Origin::Object(base) => base,
                _ => Base::Unknown,
            },
        }
    }

    /// The walk is over. If some register turned out to be written several times, nothing holds that was told of it, or of
    /// what was made of it: then the bases are told anew, and true is given.
    pub fn settle(&mut self, func: &Function, joins: &Joins) -> bool {
        let is_only = |&(reg, inst): &(Reg, Inst)| joins.single_definition(reg) == Some(inst);
        let is_written = |reg| joins.definition_count(reg) != 0;
        if self.makers.iter().all(is_only) && pointers(func).all(|(reg, _)| !is_written(reg)) {
            return false;
        }
        self.known.fill(Origin::Plain);
        for (reg, origin) in pointers(func).filter(|&(reg, _)| !is_written(reg)) {
            self.known[reg.index()] = origin;
        }
        // What was plain is so still: it is made of plain numbers, and there are only more of those now.
        for (reg, inst) in core::mem::take(&mut self.makers).into_iter().filter(is_only) {
            self.visit_maker(func, inst, &func.insts[inst], reg);
        }
        true
    }
}

/// The parameters that are pointers, and what they point to.
fn pointers(func: &Function) -> impl Iterator<Item = (Reg, Origin)> {
    func.params.iter().enumerate().filter_map(|(place, param)| match (param.reg, param.ty) {
        (Some(reg), ParamType::Pointer { .. }) => Some((reg, Origin::Object(Base::Pointer(place as u32)))),
        _ => None,
    })
}

/// May an operation make a number that has an object of numbers that have some?
#[inline]
fn may_make_addresses(op: Op) -> bool {
    const ALL: [bool; Op::ALL.len()] = by_root!(makes_sums);
    ALL[op as usize]
}

const fn makes_sums(op: Op) -> bool {
    matches!(
        op,
        Op::Mov
            | Op::Cvta
            | Op::Cvt
            | Op::Add
            | Op::Sub
            | Op::Neg
            | Op::Shl
            | Op::Mul
            | Op::MulWide
            | Op::Mad
            | Op::MadWide
    )
}

/// What an instruction makes of its operands, of whose registers `origin` tells; none where it is a plain number whatever
/// they are.
fn made_by(func: &Function, reg: Reg, data: &InstData, mut origin: impl FnMut(Reg) -> Origin) -> Option<Origin> {
    let (opcode, bits) = (data.opcode, func.reg_types[reg].bits());
    let is_plain =
        opcode.flags.intersects(Flags::SAT | Flags::CC | Flags::HI) || opcode.ty.is_float() || data.dsts.len() != 1;
    if is_plain {
        return None;
    }
    let mut operand = |index: usize| match data.args.get(index)? {
        Operand::Reg(reg) => Some(origin(*reg)),
        Operand::Symbol(symbol) => Some(object(*symbol)),
        Operand::Const(_) | Operand::Special(_) => Some(Origin::Plain),
        _ => None,
    };
    match opcode.op {
        Op::Mov | Op::Cvta if opcode.ty.bits() == bits => operand(0),
        Op::Cvt if opcode.src_ty.bits() <= opcode.ty.bits() && !opcode.src_ty.is_float() => operand(0),
        Op::Add => Some(operand(0)?.plus(operand(1)?)),
        Op::Sub => Some(operand(0)?.plus(operand(1)?.times())),
        Op::Neg | Op::Shl => Some(operand(0)?.times()),
        Op::Mul | Op::MulWide => Some(operand(0)?.times().plus(operand(1)?.times())),
        Op::Mad | Op::MadWide => {
            let product = operand(0)?.times().plus(operand(1)?.times());
            Some(product.plus(operand(2)?))
        }
        _ => None,
    }
}

/// What an address is, whose base is that, and of whose registers `origin` tells.
fn with_terms(func: &Function, base: Origin, address: &Address, mut origin: impl FnMut(Reg) -> Origin) -> Origin {
    address.terms.iter().fold(base, |sum, &(reg, scale)| match sum {
        Origin::Object(_) if counts_elements(func, address, (reg, scale)) => sum,
        _ if scale == 1 => sum.plus(origin(reg)),
        _ => sum.plus(origin(reg).times()),
    })
}

/// Is a term of an address no object, if its base is one? What is multiplied counts elements, and so does what is narrower
/// than the base.
fn counts_elements(func: &Function, address: &Address, (reg, scale): (Reg, i64)) -> bool {
    let base_bits = match address.base {
        AddressBase::Reg(base) => func.reg_types[base].bits(),
        _ => 64,
    };
    scale != 1 || func.reg_types[reg].bits() < base_bits
}

fn object(symbol: Symbol) -> Origin {
    Origin::Object(Base::Symbol(symbol))
}
