//! Facts about a point where a form would be inserted: are its registers assigned, and does its
//! load stay within an array?
//!
//! ```text
//! const table: f32[64]
//! i = and.b32 x, 63; … ld table[i]        4*i is within 0 and 252: a load that is moved there never faults
//! ```
//!
//! 1. Put the registers' values at the point into the form's sum.
//! 2. Split off the array; what is left has to be a multiple of what the load reads.
//! 3. Bound the rest from the comparisons, loops and ranges that hold at the point, and compare
//!    with the array's size.
//!
//! Sound because overflow is never assumed away here.
//!
//! Cost: one query to [`crate::symbolic::Bounds`].

use super::Snapshot;
use crate::flow::Definition;
use crate::ir::{Block, Function, Inst, ParamType, Reg, Symbol};
use crate::query::edges::InsertionPoint;
use crate::query::forms::{Expression, Form, LoadKind, Subject};
use crate::symbolic::{Affine, AffineNames, Atom, Overflow, Site};

impl Snapshot<'_> {
    /// Does a register at the end of a block have the value that it has before an instruction?
    pub fn holds_at_end(&self, func: &Function, block: Block, reg: Reg, inst: Inst) -> bool {
        let there = self.end_of(block).value(&self.values, func, reg);
        there.is_some() && there == self.values.before(func, inst, reg)
    }

    /// Is a register of the form unassigned on every path to the end of a block?
    pub fn reads_unassigned(&self, func: &Function, block: Block, form: Form) -> bool {
        let end = self.end_of(block);
        self.forms.regs(form).iter().any(|&reg| {
            let value = end.value(&self.values, func, reg);
            value.is_some_and(|value| self.values.definition(value) == Definition::Entry)
                && func.param_of(reg).is_none()
        })
    }

    /// Does a load at that point stay within an array of known size, at a multiple of what it
    /// loads? The sum over the registers' values may say so, or the one over what these are
    /// computed from.
    pub fn is_within_array(&self, func: &Function, point: InsertionPoint, form: Form) -> bool {
        let Expression { subject: Subject::Load(kind, sum), guard, .. } = self.forms.expression(form) else {
            return false;
        };
        if !self.has_arrays {
            return false;
        }
        let (from, onto) = match point {
            InsertionPoint::BeforeEntry(_) => return false,
            InsertionPoint::End(block) if self.graph.entry_after(block).is_some() => return false,
            InsertionPoint::Edge(from, to) => (from, Some(to)),
            InsertionPoint::End(block) if self.graph.is_on_edge(block) => {
                (block, self.graph.successors(block).first().copied())
            }
            InsertionPoint::End(block) => (block, None),
        };
        let block = self.graph.value_block(from);
        let value = |reg| self.values.at_end(block, reg);
        let guard = guard.and_then(|guard| Some((value(guard.reg)?, guard.negated)));
        let site = Site { block, onto, guard };
        let named = |&(atom, coefficient): &(Atom<Reg>, i64)| {
            let atom = match atom {
                Atom::Value(reg, extension) => Atom::Value(value(reg)?, extension),
                Atom::Symbol(symbol) => Atom::Symbol(symbol),
                Atom::Special(special) => Atom::Special(special),
                Atom::Rounds(..) => return None,
            };
            Some(Affine::atom(atom).times(coefficient))
        };
        let mut parts = sum.terms().iter().map(named);
        let plain = parts.try_fold(Affine::constant(sum.offset()), |all, part| all.plus(&part?));
        let names = AffineNames::new(func, &self.values, Overflow::Prove);
        let is_within = |sum: Affine| self.stays_within(func, site, kind, &sum);
        plain.is_some_and(is_within) || names.valued(sum, value).is_some_and(is_within)
    }

    fn stays_within(&self, func: &Function, site: Site, kind: &LoadKind, sum: &Affine) -> bool {
        let Some(&(Atom::Symbol(symbol), 1)) = sum.terms().first() else { return false };
        let (index, _) = sum.without(Atom::Symbol(symbol));
        let is_number = |(atom, _): &(Atom, i64)| matches!(atom, Atom::Value(..) | Atom::Special(_));
        if !index.terms().iter().all(is_number) {
            return false;
        }
        // Arrays of the function and of the module are aligned to the widest load.
        let (len, element, alignment) = match symbol {
            Symbol::Global(global) => (self.module.globals[global].len, self.module.globals[global].ty.bytes(), 16),
            Symbol::Array(array) => (func.arrays[array].len.unwrap_or(0), func.arrays[array].ty.bytes(), 16),
            Symbol::Param(index) => match func.params[index as usize].ty {
                ParamType::Array(ty, len) => (len, ty.bytes(), ty.bytes()),
                _ => (0, 1, 1),
            },
        };
        let size = i128::from(len) * i128::from(element);
        let bytes = kind.opcode.ty.bytes() * u32::from(kind.opcode.vector);
        let is_multiple = |number: i64| number % i64::from(bytes) == 0;
        let is_aligned = bytes <= alignment
            && is_multiple(index.offset())
            && index.terms().iter().all(|&(_, coefficient)| is_multiple(coefficient));
        if !is_aligned {
            return false;
        }
        let range = self.bounds.of_sum(func, &self.values, site, &index);
        range.low >= 0 && range.high + i128::from(bytes) <= size
    }
}
