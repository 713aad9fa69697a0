//! The text of sums: `A + 4*i - 8`.

use alloc::format;
use alloc::string::String;
use core::fmt::Write;

use super::affine::{Affine, Atom};
use crate::ir::{Function, InstData, Module, Opcode, Operand, Symbol, Type};
use crate::text::expression_text;

/// Writes sums of a function.
#[derive(Clone, Copy)]
pub struct SumText<'t> {
    /// The program.
    pub module: &'t Module,
    /// The function.
    pub func: &'t Function,
}

impl SumText<'_> {
    /// The text of a sum, all its numbers divided by a common divisor. `named` gives the text of what it is a sum of.
    pub fn sum<N: Copy + Ord>(self, sum: &Affine<N>, divisor: i64, named: &dyn Fn(N) -> String) -> String {
        let mut text = String::new();
        for (index, &(atom, coefficient)) in sum.terms().iter().enumerate() {
            let coefficient = coefficient / divisor;
            text.push_str(match (index, coefficient < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            });
            if coefficient.unsigned_abs() != 1 {
                let _ = write!(text, "{}*", coefficient.unsigned_abs());
            }
            text.push_str(&self.atom(atom, named));
        }
        let offset = sum.offset() / divisor;
        if text.is_empty() {
            let _ = write!(text, "{offset}");
        } else if offset != 0 {
            let _ = write!(text, " {} {}", if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
        }
        text
    }

    /// The text of an atom. Sums that people read count no rounds.
    pub fn atom<N>(self, atom: Atom<N>, named: &dyn Fn(N) -> String) -> String {
        match atom {
            Atom::Symbol(symbol) => self.symbol(symbol),
            Atom::Special(special) => format!("{special}"),
            Atom::Value(name, _) => named(name),
            Atom::Rounds(..) => String::new(),
        }
    }

    fn symbol(self, symbol: Symbol) -> String {
        let copy = InstData::new(Opcode::mov(Type::B64), [], [Operand::Symbol(symbol)]);
        let text = expression_text(self.module, self.func, &copy, &|_| None);
        text.split_once(' ').map_or_else(String::new, |(_, name)| name.into())
    }
}
