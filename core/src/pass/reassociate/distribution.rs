//! The distributive law, from the right to the left: products that are added up share their common factor.
//!
//! ```text
//! p = mul a, b
//! q = mul c, a                 t = add b, c
//! s = add p, q           ──▶   s = mul a, t
//! ```
//!
//! Products are leaves of a tree of additions, computed in the same block and read by nobody else. Of the factors that
//! several of them have, the one that most have is taken out. Exact, because integer arithmetic wraps; all factors have
//! to hold at the root what they held at the products. Of `k` products `k - 1` multiplications go away.
//!
//! Linear in the leaves but for the search of equal factors, which sorts them.

use alloc::vec::Vec;

use super::trees::{Forest, FreeInst, Leaf, Tree, build, put_before, registers};
use crate::edit::Rewrite;
use crate::ir::{Inst, Op, Opcode, Operand, Reg};
use crate::view::Listener;

/// A sum that gets fewer multiplications.
pub struct Distribution {
    root: Inst,
    dst: Reg,
    add: Opcode,
    /// What all the products have.
    pub factor: Operand,
    /// What each has besides.
    pub others: Vec<Operand>,
    /// The sum's other leaves.
    rest: Vec<Operand>,
    products: Vec<FreeInst>,
    nodes: Vec<FreeInst>,
}

/// The sum's products that have a common factor, if there are two.
pub fn find(forest: &mut Forest<'_>, tree: &Tree) -> Option<Distribution> {
    let multiply = Opcode { op: Op::Mul, ..tree.opcode };
    // Each factor of each product, with the leaf's number and the other factor.
    let mut factors: Vec<(Leaf, usize, Leaf)> = Vec::new();
    for (number, leaf) in tree.leaves.iter().enumerate() {
        let place = leaf.definition;
        if forest.is_read_once_product(place, multiply) {
            let [left, right] = forest.operands(place);
            if left != right {
                factors.push((right.clone(), number, left.clone()));
            }
            factors.push((left, number, right));
        }
    }
    if factors.len() < 2 {
        return None;
    }
    factors.sort_by(|a, b| (key(&a.0), a.1).cmp(&(key(&b.0), b.1)));
    let groups = factors.chunk_by(|a, b| a.0 == b.0);
    // The first of the largest ones.
    let group = groups.rev().max_by_key(|group| group.len()).filter(|group| group.len() > 1)?;
    let factor = group[0].0.clone();
    let others: Vec<Leaf> = group.iter().map(|(_, _, other)| other.clone()).collect();
    let is_product = |number: usize| group.iter().any(|&(_, product, _)| product == number);
    let places: Vec<u32> = group.iter().map(|&(_, number, _)| tree.leaves[number].definition).collect();
    let rest: Vec<Leaf> = (0..tree.leaves.len())
        .filter(|&number| !is_product(number))
        .map(|number| tree.leaves[number].clone())
        .collect();
    let mut read = others.clone();
    read.push(factor.clone());
    read.extend(rest.iter().cloned());
    forest.own(tree, &places);
    if forest.overwritten(tree, &read).is_some() {
        forest.disown(&places);
        return None;
    }
    let mut read = registers(&read);
    let products: Vec<FreeInst> = places.iter().map(|&place| forest.free_inst(place, tree.root, &read)).collect();
    // The product is read at the end of the chain that the nodes make.
    read.extend(products.iter().filter_map(|free| free.reg));
    read.sort_unstable();
    let (root, dst) = forest.root(tree)?;
    let operands = |leaves: Vec<Leaf>| leaves.into_iter().map(|leaf| leaf.operand).collect();
    Some(Distribution {
        root,
        dst,
        add: tree.opcode,
        factor: factor.operand,
        others: operands(others),
        rest: operands(rest),
        products,
        nodes: forest.free_insts(tree, &read),
    })
}

/// Orders factors; equal ones are one value.
fn key(leaf: &Leaf) -> (&Operand, u32) {
    (&leaf.operand, leaf.definition)
}

impl Distribution {
    /// The sum's root.
    pub fn root(&self) -> Inst {
        self.root
    }

    /// Does it.
    pub fn apply<S: Listener>(self, rewrite: &mut Rewrite<'_, '_, S>) {
        let Distribution { root, dst, add, factor, others, rest, products, nodes } = self;
        let multiply = Opcode { op: Op::Mul, ..add };
        let mut free = products.into_iter();
        let mut sum: Option<Operand> = None;
        for other in others {
            sum = Some(match sum {
                None => other,
                Some(sum) => {
                    let Some(free) = free.next() else { return };
                    Operand::Reg(put_before(rewrite, root, free, add, [sum, other]))
                }
            });
        }
        let (Some(sum), Some(last)) = (sum, free.next()) else { return };
        if rest.is_empty() {
            rewrite.replace(root, crate::ir::InstData::new(multiply, [dst], [factor, sum]));
            rewrite.remove(last.inst);
            nodes.into_iter().for_each(|node| rewrite.remove(node.inst));
            return;
        }
        let product = put_before(rewrite, root, last, multiply, [factor, sum]);
        let mut operands = rest;
        operands.push(Operand::Reg(product));
        let mut nodes = nodes.into_iter();
        build(rewrite, (root, dst), add, &operands, &mut nodes);
        nodes.for_each(|node| rewrite.remove(node.inst));
    }
}
