//! Induction: what a register of a loop is in terms of its start and of how many rounds the loop has made.
//!
//! ```text
//! p = x + 4*n                       h: p is x + 4*n + 4*h#         h# counts the rounds of the loop at h, from 0
//! q = x                                q is x + 4*h#
//! h: …                              so a load of [q] finds what a load of [p] found n rounds ago, if n is a constant,
//!    p = p + 4;  q = q + 4          and the next round's [q] is this one's [p] if n is 1
//!    br r, h, e
//! ```
//!
//! Compilers walk through memory with several pointers that all move by the same amount. Each is a
//! join at the loop's header, and two joins are two names. Where every way around the loop adds one
//! and the same invariant amount to what the join was, the join is its start plus that amount times
//! the number of rounds, which is one name for all of them.
//!
//! Sound because all joins of a header get their values together: at any place that the header
//! dominates, they and the count stand for the same, latest, arrival there. The additions are those
//! of [`AffineNames`], which wrap around where 64 bits do and nowhere else.
//!
//! Bounds: loops whose header dominates their latches; starts that are joins of outer loops are followed to a depth of
//! [`MAX_DEPTH`]; a sum that becomes too long stays as it was.

use alloc::rc::Rc;
use core::cell::RefCell;
use cranelift_entity::EntityRef;

use hashbrown::HashMap;

use super::address::{Base, SymbolicAddress};
use super::affine::{Affine, Atom};
use super::names::AffineNames;
use super::range::Extension;
use crate::flow::{Definition, Value, Values};
use crate::graph::{Cfg, Dominators};
use crate::ir::{Block, Function};

/// Loops in loops.
const MAX_DEPTH: u32 = 4;

/// Induction of a join of a header.
#[derive(Clone, Debug)]
struct Induction {
    header: Block,
    /// Before the first round.
    start: Affine,
    /// Increment of each round.
    step: Affine,
}

/// Whether a join under an extension is an induction, once it was asked for.
type Known = HashMap<(Value, Extension), Option<Rc<Induction>>>;

/// The inductions of a function, found as they are asked for.
pub struct Inductions {
    cfg: Rc<Cfg>,
    dominators: Rc<Dominators>,
    known: RefCell<Known>,
}

impl Inductions {
    /// None found yet.
    pub fn new(cfg: Rc<Cfg>, dominators: Rc<Dominators>) -> Inductions {
        Inductions { cfg, dominators, known: RefCell::new(HashMap::new()) }
    }

    /// An address with the joins in it written as starts and rounds. What pointer it walks from is known then, too.
    pub fn closed(
        &self,
        func: &Function,
        values: &Values,
        names: AffineNames<'_>,
        address: SymbolicAddress,
    ) -> SymbolicAddress {
        let is_join_value = |value| matches!(values.definition(value), Definition::Join { .. });
        let is_join = |&(atom, _): &(Atom, i64)| matches!(atom, Atom::Value(value, _) if is_join_value(value));
        if !address.offset.terms().iter().any(is_join) {
            return address;
        }
        match self.closed_to(func, values, names, &address.offset, MAX_DEPTH) {
            Some(sum) if address.base == Base::Unknown => names.split(sum),
            Some(offset) => SymbolicAddress { offset, ..address },
            None => address,
        }
    }

    fn closed_to(
        &self,
        func: &Function,
        values: &Values,
        names: AffineNames<'_>,
        sum: &Affine,
        depth: u32,
    ) -> Option<Affine> {
        let mut result = Affine::constant(sum.offset());
        for &(atom, coefficient) in sum.terms() {
            let part = match atom {
                Atom::Value(value, extension) if depth > 0 => match self.of(func, values, names, value, extension) {
                    Some(induction) => {
                        let start = self.closed_to(func, values, names, &induction.start, depth - 1)?;
                        start.plus(&rounds(&induction)?)?
                    }
                    None => Affine::atom(atom),
                },
                _ => Affine::atom(atom),
            };
            result.add(&part, coefficient)?;
        }
        Some(result)
    }

    fn of(
        &self,
        func: &Function,
        values: &Values,
        names: AffineNames<'_>,
        value: Value,
        extension: Extension,
    ) -> Option<Rc<Induction>> {
        if !matches!(values.definition(value), Definition::Join { .. }) {
            return None;
        }
        if let Some(known) = self.known.borrow().get(&(value, extension)) {
            return known.clone();
        }
        let found = self.find(func, values, names, value, extension).map(Rc::new);
        self.known.borrow_mut().insert((value, extension), found.clone());
        found
    }

    fn find(
        &self,
        func: &Function,
        values: &Values,
        names: AffineNames<'_>,
        value: Value,
        extension: Extension,
    ) -> Option<Induction> {
        let Definition::Join { block: header } = values.definition(value) else { return None };
        let (mut start, mut step): (Option<Affine>, Option<Affine>) = (None, None);
        for arg in values.join_args(value) {
            let source = self.cfg.source(arg.edge.expand()?);
            let sum = names.extended(arg.value, extension);
            let (known, found) = if self.dominators.dominates(header, source) {
                let (rest, coefficient) = sum.without(Atom::Value(value, extension));
                if coefficient != 1 || !self.is_invariant(func, values, &rest, header) {
                    return None;
                }
                (&mut step, rest)
            } else {
                (&mut start, sum)
            };
            if known.get_or_insert_with(|| found.clone()) != &found {
                return None;
            }
        }
        Some(Induction { header, start: start?, step: step? })
    }

    /// Is everything in the sum defined before the loop?
    fn is_invariant(&self, func: &Function, values: &Values, sum: &Affine, header: Block) -> bool {
        sum.terms().iter().all(|(atom, _)| match atom {
            Atom::Symbol(_) | Atom::Special(_) => true,
            Atom::Value(value, _) => match values.definition(*value) {
                Definition::Entry => true,
                _ => values.block(func, *value).is_some_and(|block| self.dominators.strictly_dominates(block, header)),
            },
            Atom::Rounds(..) => false,
        })
    }
}

/// Sum of the increments of all rounds so far. None where the step contains atoms that are not counted.
fn rounds(induction: &Induction) -> Option<Affine> {
    let header = induction.header.index() as u32;
    let mut sum = Affine::atom(Atom::Rounds(header, None)).times(induction.step.offset());
    for &(atom, coefficient) in induction.step.terms() {
        let Atom::Value(value, extension) = atom else { return None };
        let part = Affine::atom(Atom::Rounds(header, Some((value, extension)))).times(coefficient);
        sum.add(&part, 1)?;
    }
    Some(sum)
}
