//! The distributive law, from the right to the left: products that are added up share their common factor.
//!
//! ```text
//! p = mul a, b
//! q = mul c, a                 t = add b, c              p = mul a, b                t = add b, c
//! s = add p, q           ──▶   s = mul a, t              s = mad a, c, p       ──▶   s = mul a, t
//! ```
//!
//! The terms of a sum are what a tree of `add` and `mad` (with floats `fma`) adds up. A term is a product if a `mad` of the
//! tree adds it, or if it is computed in the same block and read by nobody else. Of the factors that several products have,
//! the one that most have is taken out. Exact, because integer arithmetic wraps; whatever the sum reads has to hold at its
//! root what it held where it was read.
//!
//! Of `k` products `k - 1` multiplications go away, and additions stay as many: `k - 1` of them add up the other factors.
//! Where there was a `mad` the product is added by one, too. Then what has the factor takes `k` instructions where it took
//! as many `mad`s and, for each product that none of them added, one more.
//!
//! Linear in the terms but for the search of equal factors, which sorts them.

use alloc::vec::Vec;

use super::trees::{Forest, FreeInst, Leaf, MAX_LEAVES, Value, multiply_add, put_before, registers};
use crate::edit::Rewrite;
use crate::ir::{Inst, Op, Opcode, Operand, Type};

/// A sum that gets fewer multiplications.
pub struct Distribution {
    /// Places of the instructions that are rewritten.
    pub places: Vec<u32>,
    root: Inst,
    add: Opcode,
    /// Is it rebuilt with `mad`?
    has_mad: bool,
    /// Factor of all products.
    pub factor: Value,
    /// Other factors of each.
    pub others: Vec<Value>,
    /// The sum's other terms, but for those in `products`.
    rest: Vec<Value>,
    /// The factors of the other products of `mad`.
    products: Vec<[Value; 2]>,
    /// Instructions that can be used for what is multiplied, and for the product if that is not left to the root.
    early: Vec<FreeInst>,
    /// Instructions for the steps after that.
    late: Vec<FreeInst>,
}

/// Why a sum keeps its products.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hindrance {
    /// They have no common factor.
    NoFactor,
    /// They have, but what would be read at the root is overwritten before it.
    Overwritten,
}

/// A sum as it stands.
struct Sum {
    add: Opcode,
    /// From the left to the right; what `mad` adds to stands on the left.
    terms: Vec<Term>,
    /// Places of its other instructions.
    nodes: Vec<u32>,
    has_mad: bool,
}

enum Term {
    Leaf(Leaf),
    /// A leaf that is a product.
    Product(Leaf),
    /// The product of the `mad` at that place.
    OfMad(u32),
}

impl Sum {
    /// The sum that a root computes. None if it is too large; then all its nodes are its own nevertheless.
    fn at(forest: &mut Forest<'_>, root: u32) -> Option<Sum> {
        let add = Opcode { op: Op::Add, ..forest.opcode(root) };
        let (multiply, mad) = (Opcode { op: Op::Mul, ..add }, multiply_add(add));
        let mut sum = Sum { add, terms: Vec::new(), nodes: Vec::new(), has_mad: false };
        let mut stack = Vec::new();
        sum.push_terms(forest, root, &mut stack);
        while let Some(term) = stack.pop() {
            match term {
                Term::Leaf(leaf) if [add, mad].iter().any(|&node| forest.is_read_once(leaf.definition, node)) => {
                    sum.nodes.push(leaf.definition);
                    sum.push_terms(forest, leaf.definition, &mut stack);
                }
                Term::Leaf(leaf) if forest.is_read_once(leaf.definition, multiply) => {
                    sum.terms.push(Term::Product(leaf));
                }
                term => sum.terms.push(term),
            }
        }
        forest.own_all(root, &[root]);
        forest.own_all(root, &sum.nodes);
        (sum.terms.len() <= MAX_LEAVES).then_some(sum)
    }

    fn push_terms(&mut self, forest: &Forest<'_>, place: u32, stack: &mut Vec<Term>) {
        if forest.opcode(place).op == Op::Add {
            let [left, right] = forest.operands(place);
            stack.extend([Term::Leaf(right), Term::Leaf(left)]);
        } else {
            let [_, _, added] = forest.operands(place);
            stack.extend([Term::OfMad(place), Term::Leaf(added)]);
            self.has_mad = true;
        }
    }
}

impl Term {
    /// Place of its product, if it is one.
    fn product(&self) -> Option<u32> {
        match self {
            Term::Leaf(_) => None,
            Term::Product(leaf) => Some(leaf.definition),
            Term::OfMad(place) => Some(*place),
        }
    }
}

/// The sum at a root, if several of its products have a common factor.
pub fn find(forest: &mut Forest<'_>, root: u32) -> Result<Distribution, Hindrance> {
    let mut sum = Sum::at(forest, root).ok_or(Hindrance::NoFactor)?;
    // Each factor of each product, with the term's number and the other factor.
    let mut factors: Vec<(Leaf, usize, Leaf)> = Vec::new();
    for (number, term) in sum.terms.iter().enumerate() {
        if let Some(place) = term.product() {
            let [left, right] = forest.operands(place);
            if left != right {
                factors.push((right, number, left));
            }
            factors.push((left, number, right));
        }
    }
    if factors.len() < 2 {
        return Err(Hindrance::NoFactor);
    }
    factors.sort_by_key(|(factor, number, _)| (key(factor), *number));
    let groups = factors.chunk_by(|a, b| a.0 == b.0);
    // The first of the largest ones.
    let group = groups.rev().max_by_key(|group| group.len()).filter(|group| group.len() > 1);
    let group = group.ok_or(Hindrance::NoFactor)?;
    let factor = group[0].0;
    let others: Vec<Leaf> = group.iter().map(|&(_, _, other)| other).collect();
    let chosen: Vec<usize> = group.iter().map(|&(_, number, _)| number).collect();
    let (mut multiplications, mut rest, mut products) = (Vec::new(), Vec::new(), Vec::new());
    for (number, term) in sum.terms.iter().enumerate() {
        let is_chosen = chosen.binary_search(&number).is_ok();
        match term {
            Term::Product(leaf) if is_chosen => multiplications.push(leaf.definition),
            Term::OfMad(_) if is_chosen => {}
            Term::Leaf(leaf) | Term::Product(leaf) => rest.push(*leaf),
            Term::OfMad(place) => products.push(forest.operands::<2>(*place)),
        }
    }
    forest.own_all(root, &multiplications);
    let read = [core::slice::from_ref(&factor), &others, &rest, products.as_flattened()].concat();
    if forest.overwritten(root, &read).is_some() {
        forest.disown_all(&multiplications);
        return Err(Hindrance::Overwritten);
    }
    // The root adds the product as a `mad`, or it computes it where there is nothing else to add.
    let is_left_to_root = if rest.is_empty() { products.is_empty() } else { sum.has_mad };
    let mut places = multiplications;
    sum.nodes.sort_unstable();
    places.append(&mut sum.nodes);
    let multiplied = others.len() - usize::from(is_left_to_root);
    let (early, late) = places.split_at_checked(multiplied).ok_or(Hindrance::NoFactor)?;
    let mut read = registers(&read);
    let early: Vec<FreeInst> = early.iter().map(|&place| forest.free_inst(place, root, &read)).collect();
    // The last of these is read behind the late ones.
    read.extend(early.iter().filter_map(|free| free.reg));
    read.sort_unstable();
    let late: Vec<FreeInst> = late.iter().map(|&place| forest.free_inst(place, root, &read)).collect();
    let values = |leaves: Vec<Leaf>| leaves.into_iter().map(|leaf| leaf.value).collect();
    places.push(root);
    Ok(Distribution {
        places,
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

/// Orders factors; equal ones are one value.
fn key(leaf: &Leaf) -> (Value, u32) {
    (leaf.value, leaf.definition)
}

impl Distribution {
    /// The sum's root.
    pub fn root(&self) -> Inst {
        self.root
    }

    /// The instructions that are rewritten.
    pub fn insts(&self) -> impl Iterator<Item = Inst> {
        self.early.iter().chain(&self.late).map(|free| free.inst).chain([self.root])
    }

    /// The type of what is added up.
    pub fn ty(&self) -> Type {
        self.add.ty
    }

    /// Does it.
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
        let place = if rest.is_empty() { 0 } else { rest.len() + products.len() };
        let mut steps: Vec<Step> = rest
            .into_iter()
            .map(|term| Step::Add(term.into()))
            .chain(products.into_iter().map(|factors| Step::Product(factors.map(Operand::from))))
            .collect();
        steps.insert(place, product);
        let last = steps.len() - 1;
        let mut so_far: Option<Operand> = None;
        for (number, step) in steps.into_iter().enumerate() {
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
            if number == last {
                rewrite.replace_operation(root, opcode, operands);
                break;
            }
            let Some(free) = free.next() else { return };
            so_far = Some(Operand::Reg(put_before(rewrite, root, free, opcode, operands)));
        }
        early.chain(late).for_each(|free| rewrite.remove(free.inst));
    }
}

/// Step that continues or begins the sum.
enum Step {
    Add(Operand),
    Product([Operand; 2]),
}
