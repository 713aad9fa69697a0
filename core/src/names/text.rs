//! The text of names, over the registers that hold their values at a point.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::operations::operand_type;
use super::{Expression, LoadKind, Name, NameTable};
use crate::flow::Value;
use crate::ir::{InstData, Module, Type};
use crate::symbolic::{Affine, Atom, SumText};
use crate::text::{constant_text, expression_text};

/// Writes names. `register` gives the text of a value: a register that holds it, or where it was made.
pub struct NameText<'t, 'a> {
    /// The names.
    pub table: &'t NameTable<'a>,
    /// The program.
    pub module: &'t Module,
    /// The text of a value at the point.
    pub register: &'t dyn Fn(Value) -> String,
}

impl NameText<'_, '_> {
    /// The text of a name: `A[i + 1]`, `a + b + 7`, `div.u32 a, b`, `*(first) + 8`.
    pub fn text(&self, name: Name) -> String {
        match self.table.expression(name) {
            Expression::Load { kind, address } => self.load(kind, *address),
            _ => self.operand(name),
        }
    }

    /// The text of a name inside another one.
    fn operand(&self, name: Name) -> String {
        match self.table.expression(name) {
            Expression::Constant { number, width: 1 } => if *number == 1 { "true" } else { "false" }.into(),
            Expression::Constant { number, width } => {
                let unused = 64 - width;
                format!("{}", ((*number << unused) as i64) >> unused)
            }
            Expression::Special(special) => format!("{special}"),
            Expression::Value(value) => (self.register)(*value),
            Expression::Sum { sum, .. } => self.sum(sum, 1),
            Expression::Not(inner) => format!("!{}", self.factor(*inner)),
            Expression::Load { address, .. } => format!("*({})", self.operand(*address)),
            Expression::Memory { load, .. } => self.operand(*load),
            Expression::Operation { opcode, args, .. } => {
                let operation = InstData::new(*opcode, [], []);
                let opcode = expression_text(self.module, self.table.func, &operation, &|_| None);
                let signature = operation.opcode.signature();
                let args = args.iter().enumerate().map(|(index, &arg)| match self.table.expression(arg) {
                    Expression::Constant { number, .. } => self.constant(*number, operand_type(&signature, index), arg),
                    _ => self.factor(arg),
                });
                let args: Vec<String> = args.collect();
                format!("{} {}", opcode.trim(), args.join(", "))
            }
        }
    }

    /// A constant operand, as the program writes one of that type.
    fn constant(&self, number: u64, ty: Option<Type>, name: Name) -> String {
        match ty {
            Some(ty) if ty.is_float() => constant_text(number, ty),
            _ => self.operand(name),
        }
    }

    /// The text of a name, in brackets if it is an operation.
    fn factor(&self, name: Name) -> String {
        match self.table.expression(name) {
            Expression::Operation { .. } => format!("({})", self.operand(name)),
            _ => self.operand(name),
        }
    }

    /// A load by its address: an element of an array where all distances are multiples of the element's size, else the
    /// address in bytes.
    fn load(&self, kind: &LoadKind, address: Name) -> String {
        let vector = if kind.opcode.vector > 1 { format!(".v{}", kind.opcode.vector) } else { String::new() };
        let bytes = i64::from(kind.opcode.ty.bytes());
        let element = match self.table.expression(address) {
            Expression::Sum { sum, .. } => self.base(sum).and_then(|atom| {
                let (index, _) = sum.without(atom);
                let is_multiple = index.terms().iter().all(|term| term.1 % bytes == 0) && index.offset() % bytes == 0;
                is_multiple.then(|| format!("{}[{}]", self.atom(atom), self.sum(&index, bytes)))
            }),
            Expression::Value(value) => Some(format!("{}[0]", (self.register)(*value))),
            _ => None,
        };
        format!("{}{vector}", element.unwrap_or_else(|| format!("[{}]", self.operand(address))))
    }

    /// The atom of an address that is its array: a symbol, else a pointer of 64 bits.
    fn base(&self, sum: &Affine<Name>) -> Option<Atom<Name>> {
        let rank = |atom: Atom<Name>| match atom {
            Atom::Symbol(_) => Some(0),
            Atom::Value(name, _) => match self.table.expression(name) {
                Expression::Value(value) if self.table.is_pointer(*value) => Some(1),
                Expression::Value(_) if self.table.width(name) == 64 => Some(2),
                _ => None,
            },
            _ => None,
        };
        let ranked = sum.terms().iter().filter(|term| term.1 == 1).filter_map(|&(atom, _)| Some((rank(atom)?, atom)));
        ranked.min_by_key(|&(rank, _)| rank).map(|(_, atom)| atom)
    }

    /// A sum, all its numbers divided by a common divisor.
    fn sum(&self, sum: &Affine<Name>, divisor: i64) -> String {
        self.sums().sum(sum, divisor, &|name| self.term(name))
    }

    fn atom(&self, atom: Atom<Name>) -> String {
        self.sums().atom(atom, &|name| self.term(name))
    }

    fn sums(&self) -> SumText<'_> {
        SumText { module: self.module, func: self.table.func }
    }

    /// The text of a name in a sum.
    fn term(&self, name: Name) -> String {
        match self.table.expression(name) {
            Expression::Sum { .. } => format!("({})", self.operand(name)),
            _ => self.factor(name),
        }
    }
}
