//! Factoring of sums: products that are added up share their common factor.
//!
//! ```text
//! p = mul a, b
//! q = mul c, a                 t = add b, c              p = mul a, b                t = add b, c
//! s = add p, q           ──▶   s = mul a, t              s = mad a, c, p       ──▶   s = mul a, t
//! ```
//!
//! 1. Flatten the sum of a root through `add` and `mad` (`fma` for floats) that only the sum reads.
//! 2. Its products are those that a `mad` adds, and those that a `mul` of the block computes and
//!    only the sum reads.
//! 3. Sort the factors of all products and choose the factor that most products have.
//! 4. Refuse if an operand is overwritten before the root.
//! 5. Add up the other factors, multiply the result by the common factor, and add the remaining
//!    terms and products, the last step in the root.
//! 6. Remove the instructions that are left over.
//!
//! For k products it removes k − 1 multiplications and keeps the number of additions.
//!
//! Sound: integer arithmetic wraps, and floats take part only under the fast-math licence.
//!
//! Cost: O(k log k) for k terms.
//!
//! Limits: sums of more than [`MAX_LEAVES`] terms keep their products. A remark `distribute` tells
//! when the budget of the knob is used up.

use alloc::vec::Vec;

use super::block_uses::Slot;
use super::rebuild::put_before;
use super::trees::{Forest, FreeInst, Leaf, MAX_LEAVES, Value, multiply_add, registers};
use crate::compact_sort::CompactSort;
use crate::edit::Rewrite;
use crate::ir::{Inst, Op, Opcode, Operand};

/// A sum that gets fewer multiplications.
pub struct Distribution {
    /// All instructions that are rewritten or removed.
    pub slots: Vec<Slot>,
    pub root: Inst,
    pub add: Opcode,
    /// A `mad` may add the product.
    has_mad: bool,
    /// Common factor of the chosen products.
    pub factor: Value,
    /// The other factor of each chosen product.
    pub others: Vec<Value>,
    /// Terms that are neither chosen nor products of a `mad`.
    rest: Vec<Value>,
    /// Factors of the products that a `mad` adds and that are not chosen.
    products: Vec<[Value; 2]>,
    /// Instructions for the sum of the other factors, and for the product if the root does not compute it.
    early: Vec<FreeInst>,
    /// Instructions for the steps after that.
    late: Vec<FreeInst>,
}

/// Reason for which a sum keeps its products.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hindrance {
    /// The products have no common factor.
    NoFactor,
    /// A term or factor is overwritten before the root.
    Overwritten,
}

/// A flattened sum.
struct Sum {
    add: Opcode,
    /// Terms from left to right; the product of a `mad` follows the term that it is added to.
    terms: Vec<Term>,
    /// Its additions but for the root.
    nodes: Vec<Slot>,
    has_mad: bool,
}

enum Term {
    Leaf(Leaf),
    /// A leaf that a multiplication computes.
    Product(Leaf, Slot),
    /// The product of a `mad`.
    OfMad(Slot),
}

impl Sum {
    /// The sum of a root, which then owns its nodes; None if the sum is too large.
    fn at(forest: &mut Forest<'_>, root: Slot) -> Option<Sum> {
        let add = Opcode { op: Op::Add, ..forest.opcode(root) };
        let (multiply, mad) = (Opcode { op: Op::Mul, ..add }, multiply_add(add));
        let mut sum = Sum { add, terms: Vec::new(), nodes: Vec::new(), has_mad: false };
        let mut stack = Vec::new();
        sum.push_terms(forest, root, &mut stack);
        while let Some(term) = stack.pop() {
            match term {
                Term::Leaf(leaf) if let Some(slot) = leaf.definition.expand() => {
                    if [add, mad].iter().any(|&node| forest.is_read_once(leaf.definition, node)) {
                        sum.nodes.push(slot);
                        sum.push_terms(forest, slot, &mut stack);
                    } else if forest.is_read_once(leaf.definition, multiply) {
                        sum.terms.push(Term::Product(leaf, slot));
                    } else {
                        sum.terms.push(term);
                    }
                }
                term => sum.terms.push(term),
            }
        }
        forest.own_all(root, &[root]);
        forest.own_all(root, &sum.nodes);
        (sum.terms.len() <= MAX_LEAVES).then_some(sum)
    }

    fn push_terms(&mut self, forest: &Forest<'_>, slot: Slot, stack: &mut Vec<Term>) {
        if forest.opcode(slot).op == Op::Add {
            let [left, right] = forest.operands(slot);
            stack.extend([Term::Leaf(right), Term::Leaf(left)]);
        } else {
            let [_, _, added] = forest.operands(slot);
            stack.extend([Term::OfMad(slot), Term::Leaf(added)]);
            self.has_mad = true;
        }
    }
}

impl Term {
    /// The instruction that multiplies, if the term is a product.
    fn product(&self) -> Option<Slot> {
        match self {
            Term::Leaf(_) => None,
            Term::Product(_, slot) | Term::OfMad(slot) => Some(*slot),
        }
    }
}

/// The factoring of the sum at a root.
pub fn find(forest: &mut Forest<'_>, root: Slot) -> Result<Distribution, Hindrance> {
    let mut sum = Sum::at(forest, root).ok_or(Hindrance::NoFactor)?;
    // Each factor of each product, with the index of the term and the other factor.
    let mut factors: Vec<(Leaf, usize, Leaf)> = Vec::new();
    for (index, term) in sum.terms.iter().enumerate() {
        if let Some(slot) = term.product() {
            let [left, right] = forest.operands(slot);
            if left != right {
                factors.push((right, index, left));
            }
            factors.push((left, index, right));
        }
    }
    if factors.len() < 2 {
        return Err(Hindrance::NoFactor);
    }
    factors.compact_sort_by_key(|(factor, index, _)| (factor.value, factor.definition.expand(), *index));
    let groups = factors.chunk_by(|a, b| a.0 == b.0);
    // The first of the largest groups.
    let group = groups.rev().max_by_key(|group| group.len()).filter(|group| group.len() > 1);
    let group = group.ok_or(Hindrance::NoFactor)?;
    let factor = group[0].0;
    let others: Vec<Leaf> = group.iter().map(|&(_, _, other)| other).collect();
    let chosen: Vec<usize> = group.iter().map(|&(_, index, _)| index).collect();
    let (mut multiplications, mut rest, mut products) = (Vec::new(), Vec::new(), Vec::new());
    for (index, term) in sum.terms.iter().enumerate() {
        let is_chosen = chosen.binary_search(&index).is_ok();
        match term {
            Term::Product(_, slot) if is_chosen => multiplications.push(*slot),
            Term::OfMad(_) if is_chosen => {}
            Term::Leaf(leaf) | Term::Product(leaf, _) => rest.push(*leaf),
            Term::OfMad(slot) => products.push(forest.operands::<2>(*slot)),
        }
    }
    forest.own_all(root, &multiplications);
    let read = [core::slice::from_ref(&factor), &others, &rest, products.as_flattened()].concat();
    if forest.overwritten(root, &read).is_some() {
        forest.disown_all(&multiplications);
        return Err(Hindrance::Overwritten);
    }
    // The root adds the product as a `mad`, or computes it if there is nothing else to add.
    let is_left_to_root = if rest.is_empty() { products.is_empty() } else { sum.has_mad };
    let mut slots = multiplications;
    sum.nodes.compact_sort();
    slots.append(&mut sum.nodes);
    let multiplied = others.len() - usize::from(is_left_to_root);
    let (early, late) = slots.split_at_checked(multiplied).ok_or(Hindrance::NoFactor)?;
    let mut read = registers(&read);
    let early: Vec<FreeInst> = early.iter().map(|&slot| forest.free_inst(slot, root, &read)).collect();
    // The late instructions read the result of the early ones.
    read.extend(early.iter().filter_map(|free| free.reg));
    read.compact_sort();
    let late: Vec<FreeInst> = late.iter().map(|&slot| forest.free_inst(slot, root, &read)).collect();
    let values = |leaves: Vec<Leaf>| leaves.into_iter().map(|leaf| leaf.value).collect();
    slots.push(root);
    Ok(Distribution {
        slots,
        root: forest.inst(root),
        add: sum.add,
        has_mad: sum.has_mad,
        factor: factor.value,
        others: values(others),
        rest: values(rest),
        products: products.into_iter().map(|factors| factors.map(|factor| factor.value)).collect(),
        early,
        late,
    })
}

impl Distribution {
    /// Rewrites the sum.
    pub fn apply(self, rewrite: &mut Rewrite<'_, '_>) {
        let Distribution { root, add, has_mad, factor, others, rest, products, early, late, .. } = self;
        let multiply = Opcode { op: Op::Mul, ..add };
        let (mut early, mut late) = (early.into_iter(), late.into_iter());
        let mut sum: Option<Operand> = None;
        for other in others {
            sum = Some(match sum {
                None => other.into(),
                Some(sum) => {
                    let Some(free) = early.next() else { return };
                    Operand::Reg(put_before(rewrite, root, free, add, [sum, other.into()]))
                }
            });
        }
        let Some(sum) = sum else { return };
        let mut product = Step::Product([factor.into(), sum]);
        if !has_mad && !rest.is_empty() {
            let (Step::Product(factors), Some(free)) = (product, early.next()) else { return };
            product = Step::Add(Operand::Reg(put_before(rewrite, root, free, multiply, factors)));
        }
        let index = if rest.is_empty() { 0 } else { rest.len() + products.len() };
        let mut steps: Vec<Step> = rest
            .into_iter()
            .map(|term| Step::Add(term.into()))
            .chain(products.into_iter().map(|factors| Step::Product(factors.map(Operand::from))))
            .collect();
        steps.insert(index, product);
        let last = steps.len() - 1;
        let mut so_far: Option<Operand> = None;
        for (index, step) in steps.into_iter().enumerate() {
            let (opcode, operands, free) = match (so_far, step) {
                (None, Step::Add(first)) => {
                    so_far = Some(first);
                    continue;
                }
                (None, Step::Product(factors)) => (multiply, Vec::from(factors), &mut early),
                (Some(so_far), Step::Add(other)) => (add, Vec::from([so_far, other]), &mut late),
                (Some(so_far), Step::Product([left, right])) => {
                    (multiply_add(add), Vec::from([left, right, so_far]), &mut late)
                }
            };
            if index == last {
                rewrite.replace_operation(root, opcode, operands);
                break;
            }
            let Some(free) = free.next() else { return };
            so_far = Some(Operand::Reg(put_before(rewrite, root, free, opcode, operands)));
        }
        early.chain(late).for_each(|free| rewrite.remove(free.inst));
    }
}

/// A step that begins or continues the sum.
enum Step {
    Add(Operand),
    Product([Operand; 2]),
}
