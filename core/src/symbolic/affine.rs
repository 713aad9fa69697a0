//! Sums of integer multiples of atoms and a constant, in 64-bit arithmetic.
//!
//! ```text
//! 4*i - 8*j + 12        terms (i, 4) (j, -8), constant 12
//! ```
//!
//! Two equal sums are the same number modulo 2^64, because terms are sorted, appear once and are not zero. A sum has
//! at most [`Affine::MAX_TERMS`] terms; what would need more is refused.

use core::cmp::Ordering;
use smallvec::SmallVec;

use super::range::Extension;
use crate::flow::Value;
use crate::ir::{Special, Symbol};

/// Atom of a sum. `N` is its name: a value, or a register at some point of the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Atom<N = Value> {
    /// The address of a piece of memory.
    Symbol(Symbol),
    /// A special register.
    Special(Special),
    /// Named value, extended to 64 bits like this where it is narrower.
    Value(N, Extension),
    /// How often the loop at that header (by its number) has come around, or that times something that does not change
    /// in the loop.
    Rounds(u32, Option<(N, Extension)>),
}

/// `Σ coefficient·atom + constant`, modulo 2^64.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Affine<N = Value> {
    terms: SmallVec<[(Atom<N>, i64); 2]>,
    constant: i64,
}

impl Affine {
    /// No sum has more terms than this.
    pub const MAX_TERMS: usize = 8;
}

impl<N: Copy + Ord> Affine<N> {
    /// A number.
    pub fn constant(constant: i64) -> Affine<N> {
        Affine { terms: SmallVec::new(), constant }
    }

    /// One atom.
    pub fn atom(atom: Atom<N>) -> Affine<N> {
        Affine { terms: SmallVec::from_iter([(atom, 1)]), constant: 0 }
    }

    /// Atoms and their coefficients, atoms rising, no coefficient zero.
    pub fn terms(&self) -> &[(Atom<N>, i64)] {
        &self.terms
    }

    /// The part without atoms.
    pub fn offset(&self) -> i64 {
        self.constant
    }

    /// The number, if there are no atoms.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The sum of both; none where it has too many terms.
    pub fn plus(&self, other: &Affine<N>) -> Option<Affine<N>> {
        let mut terms = SmallVec::new();
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.0.cmp(&b.0),
            };
            let term = match order {
                Ordering::Less => left.next().copied(),
                Ordering::Greater => right.next().copied(),
                Ordering::Equal => {
                    let coefficient = right.next().map_or(0, |term| term.1);
                    left.next().map(|&(atom, own)| (atom, own.wrapping_add(coefficient)))
                }
            };
            terms.extend(term.filter(|term| term.1 != 0));
        }
        let constant = self.constant.wrapping_add(other.constant);
        (terms.len() <= Affine::MAX_TERMS).then_some(Affine { terms, constant })
    }

    /// Adds a multiple of another sum in place. None, and then the sum is of no use, where it has too many terms.
    pub fn add(&mut self, other: &Affine<N>, factor: i64) -> Option<()> {
        for &(atom, coefficient) in &other.terms {
            let coefficient = coefficient.wrapping_mul(factor);
            let place = self.terms.iter().position(|term| term.0 >= atom).unwrap_or(self.terms.len());
            match self.terms.get_mut(place).filter(|term| term.0 == atom) {
                Some(term) => {
                    term.1 = term.1.wrapping_add(coefficient);
                    if term.1 == 0 {
                        self.terms.remove(place);
                    }
                }
                None if coefficient != 0 => self.terms.insert(place, (atom, coefficient)),
                None => {}
            }
        }
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        (self.terms.len() <= Affine::MAX_TERMS).then_some(())
    }

    /// The number modulo 2^width, with the least coefficients in absolute value.
    pub fn modulo(&self, width: u32) -> Affine<N> {
        let reduce = |number: i64| Extension::Sign.extend(number as u64, width);
        let terms = self.terms.iter().map(|&(atom, coefficient)| (atom, reduce(coefficient)));
        Affine { terms: terms.filter(|term| term.1 != 0).collect(), constant: reduce(self.constant) }
    }

    /// Adds a number in place.
    pub fn add_constant(&mut self, constant: i64) {
        self.constant = self.constant.wrapping_add(constant);
    }

    /// The difference; none where it has too many terms.
    pub fn minus(&self, other: &Affine<N>) -> Option<Affine<N>> {
        self.plus(&other.times(-1))
    }

    /// The difference, if it is a number. Nothing is computed but that number.
    pub fn distance_from(&self, other: &Affine<N>) -> Option<i64> {
        (self.terms == other.terms).then(|| self.constant.wrapping_sub(other.constant))
    }

    /// A multiple.
    pub fn times(&self, factor: i64) -> Affine<N> {
        let scaled = self.terms.iter().map(|&(atom, own)| (atom, own.wrapping_mul(factor)));
        Affine { terms: scaled.filter(|term| term.1 != 0).collect(), constant: self.constant.wrapping_mul(factor) }
    }

    /// The sum without one atom, and that atom's coefficient (0 if it is not there).
    pub fn without(&self, atom: Atom<N>) -> (Affine<N>, i64) {
        self.clone().split_off(atom)
    }

    /// Splits an atom off a sum that is not needed any more.
    pub fn split_off(mut self, atom: Atom<N>) -> (Affine<N>, i64) {
        match self.terms.iter().position(|term| term.0 == atom) {
            Some(place) => {
                let (_, coefficient) = self.terms.remove(place);
                (self, coefficient)
            }
            None => (self, 0),
        }
    }

    /// The number that the sum is when each atom is the number that `number` gives, modulo 2^64.
    pub fn evaluate(&self, mut number: impl FnMut(Atom<N>) -> i64) -> i64 {
        let add =
            |sum: i64, &(atom, coefficient): &(Atom<N>, i64)| sum.wrapping_add(coefficient.wrapping_mul(number(atom)));
        self.terms.iter().fold(self.constant, add)
    }
}
