//! Trees of one associative and commutative operation inside a block, and the leaves that they
//! are rebuilt from.
//!
//! ```text
//! t = add c, 2                 leaves from left to right: b c 2 a 3
//! u = add b, t                 sorted by rank: a b c 2 3
//! v = add a, 3                 constants folded: a b c 5
//! r = add u, v
//! ```
//!
//! 1. An operand is a node of the tree if the same opcode computes it in the same block, unguarded,
//!    and only the tree reads it. All other operands are leaves.
//! 2. In a tree of additions `x = sub a, b` is a node with the leaves `a` and `-b`.
//! 3. Sort the leaves by rank.
//! 4. Cancel `a` with `-a` in sums and `a` with `a` in `xor`; keep one of equal leaves in `and` and
//!    `or`.
//! 5. Fold constants, and drop identities and what an absorbing constant decides.
//! 6. Refuse if a leaf is overwritten before the root, or if the rebuilt tree has more instructions.
//!    A refused tree with subtractions is tried once more with the subtractions as leaves.
//!
//! Sound: integer arithmetic wraps, so that order and grouping do not matter, and each leaf holds
//! at the root the value that the tree read. Floats take part only under the fast-math licence.
//!
//! Cost: O(k log k) for k leaves.
//!
//! Limits: trees of more than [`MAX_LEAVES`] leaves stay; the remark `too-large` tells.
//!
//! Source: P. Briggs and K. Cooper, Effective partial redundancy elimination, PLDI 1994, section 3.1.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::block_uses::{BlockUses, Slot};
use super::ranks::{Rank, Ranks};
use crate::compact_sort::CompactSort;
use crate::ir::{Flags, Function, Inst, InstData, Op, Opcode, Operand, Reg, Special, Symbol, Type};
use crate::sim::evaluate;

/// Larger trees are left as they are.
pub const MAX_LEAVES: usize = 256;

/// Operands of arithmetic, which are all copyable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    Reg(Reg),
    Const(u64),
    Special(Special),
    Symbol(Symbol),
}

impl Value {
    /// The value of an operand; None for addresses, lists and other compound operands.
    pub fn of(operand: &Operand) -> Option<Value> {
        match *operand {
            Operand::Reg(reg) => Some(Value::Reg(reg)),
            Operand::Const(bits) => Some(Value::Const(bits)),
            Operand::Special(special) => Some(Value::Special(special)),
            Operand::Symbol(symbol) => Some(Value::Symbol(symbol)),
            Operand::NotReg(_) | Operand::Address(_) | Operand::List(_) | Operand::Input(_) => None,
        }
    }

    /// The register, if the value is one.
    pub fn as_reg(self) -> Option<Reg> {
        if let Value::Reg(reg) = self { Some(reg) } else { None }
    }

    /// The bits, if the value is a constant.
    pub fn as_const(self) -> Option<u64> {
        if let Value::Const(bits) = self { Some(bits) } else { None }
    }
}

impl From<Value> for Operand {
    fn from(value: Value) -> Operand {
        match value {
            Value::Reg(reg) => Operand::Reg(reg),
            Value::Const(bits) => Operand::Const(bits),
            Value::Special(special) => Operand::Special(special),
            Value::Symbol(symbol) => Operand::Symbol(symbol),
        }
    }
}

/// One operand of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub value: Value,
    /// The definition in this block. That of a negation is its subtraction.
    pub definition: PackedOption<Slot>,
    /// The subtraction that becomes a negation, if the leaf is one.
    pub negation: PackedOption<Inst>,
}

impl Leaf {
    fn new(value: Value, definition: PackedOption<Slot>) -> Leaf {
        Leaf { value, definition, negation: None.into() }
    }

    fn constant(bits: u64) -> Leaf {
        Leaf::new(Value::Const(bits), None.into())
    }
}

/// Leaves of a tree or terms of a sum.
pub type Leaves = SmallVec<[Leaf; 8]>;

/// The permitted changes of trees.
#[derive(Clone, Copy)]
pub struct Licence {
    /// Floats are treated as real numbers.
    pub fast_math: bool,
    /// Sums of 64-bit constants may exceed 32 bits.
    pub large_sums: bool,
}

impl Licence {
    /// True if an instruction may be part of a tree or of a sum.
    pub fn allows(self, data: &InstData) -> bool {
        let is_float = data.opcode.ty.is_float();
        let flags = if is_float { Flags::FTZ | Flags::APPROX } else { Flags::empty() };
        matches!(data.opcode.op, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::Sub | Op::Mad | Op::Fma)
            && data.guard.is_none()
            && data.dsts.len() == 1
            && flags.contains(data.opcode.flags)
            && (self.fast_math || !is_float)
            && data.args.iter().all(|arg| Value::of(arg).is_some())
    }
}

/// A tree before it is rebuilt.
pub struct Tree {
    pub root: Slot,
    pub opcode: Opcode,
    /// Leaves from left to right.
    pub leaves: Leaves,
    /// Its instructions but for the root.
    pub nodes: SmallVec<[Slot; 8]>,
    /// Every node is the left operand of another.
    leans_left: bool,
}

/// Reason for which a tree stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    TooLarge,
    /// The register of a leaf is overwritten before the root.
    Overwritten(Reg),
    MoreInstructions,
}

/// Outcome for a tree.
pub enum Outcome {
    /// The tree has the canonical shape.
    Canonical,
    Refused(Refusal),
    /// The tree is rebuilt from these leaves.
    Rebuilt(Leaves),
}

/// The tree that a slot belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub enum Owner {
    #[default]
    Nobody,
    /// The tree with that root, which may use the instruction for another one.
    Tree(Slot),
    /// A tree in which the instruction becomes a negation and keeps its place.
    Negation,
}

/// The owner of each slot.
pub type Owners = SecondaryMap<Slot, Owner>;

/// An instruction that a rebuilt tree may use for another one, and the register that it may write.
#[derive(Clone, Copy)]
pub struct FreeInst {
    pub inst: Inst,
    pub reg: Option<Reg>,
}

/// The trees of one block.
pub struct Forest<'a> {
    pub func: &'a Function,
    pub uses: &'a BlockUses,
    pub licence: Licence,
    pub ranks: &'a Ranks,
    pub owners: &'a mut Owners,
}

impl Forest<'_> {
    /// True if no tree owns a slot. Roots are visited from the end of the block, so that readers
    /// have claimed their nodes before.
    pub fn is_free(&self, slot: Slot) -> bool {
        self.owners[slot] == Owner::Nobody
    }

    /// The instruction of a slot.
    pub fn inst(&self, slot: Slot) -> Inst {
        self.uses.slots[slot].inst
    }

    fn data(&self, slot: Slot) -> &InstData {
        &self.func.insts[self.inst(slot)]
    }

    /// The opcode of a slot.
    pub fn opcode(&self, slot: Slot) -> Opcode {
        self.data(slot).opcode
    }

    /// The first operands of an instruction that the licence allows.
    pub fn operands<const N: usize>(&self, slot: Slot) -> [Leaf; N] {
        let definitions = self.uses.slots[slot].operands;
        let args = &self.data(slot).args;
        // The licence allows values only.
        let value = |index: usize| Value::of(&args[index]).unwrap_or(Value::Const(0));
        core::array::from_fn(|index| Leaf::new(value(index), definitions[index]))
    }

    /// True if a slot may be the root of a tree of more than two leaves, or of a sum of products.
    pub fn is_root(&self, slot: Slot) -> bool {
        let data = &self.uses.slots[slot];
        let Some(root @ (Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor)) = data.op else { return false };
        data.operands
            .into_iter()
            .filter_map(|operand| self.uses.op_read_once(operand))
            .any(|op| op == root || root == Op::Add && matches!(op, Op::Sub | Op::Mul | Op::Mad | Op::Fma))
    }

    /// True if the result of a slot is read once and computed by that opcode.
    pub fn is_read_once(&self, slot: PackedOption<Slot>, opcode: Opcode) -> bool {
        self.uses.op_read_once(slot) == Some(opcode.op) && slot.expand().is_some_and(|slot| self.opcode(slot) == opcode)
    }

    /// True if a slot adds a product to a product or to a sum.
    pub fn adds_products(&self, slot: Slot) -> bool {
        let data = &self.uses.slots[slot];
        let added = self.uses.op_read_once(data.operands[2]);
        matches!(data.op, Some(Op::Mad | Op::Fma)) && matches!(added, Some(Op::Add | Op::Mul | Op::Mad | Op::Fma))
    }

    /// Number of products that the leaves of a sum may contain; 0 for other trees.
    pub fn count_products(&self, tree: &Tree) -> usize {
        let products = |leaf: &Leaf| match self.uses.op_read_once(leaf.definition) {
            Some(Op::Mul) => 1,
            Some(Op::Mad | Op::Fma) => {
                1 + usize::from(leaf.definition.expand().is_some_and(|slot| self.adds_products(slot)))
            }
            _ => 0,
        };
        if tree.opcode.op == Op::Add { tree.leaves.iter().map(products).sum() } else { 0 }
    }

    /// Finds the tree of a root, which then owns its nodes, and what becomes of the tree.
    pub fn settle(&mut self, root: Slot) -> (Tree, Outcome) {
        let tree = self.find_tree(root, true);
        let outcome = self.outcome(&tree);
        let is_sub = |&node: &Slot| self.uses.slots[node].op == Some(Op::Sub);
        let is_final = matches!(outcome, Outcome::Rebuilt(_) | Outcome::Refused(Refusal::TooLarge));
        if is_final || !tree.nodes.iter().any(is_sub) {
            return (tree, outcome);
        }
        self.disown(&tree);
        let without_subs = self.find_tree(root, false);
        match self.outcome(&without_subs) {
            Outcome::Canonical => (without_subs, outcome),
            other => (without_subs, other),
        }
    }

    /// The tree of a root. `through_subs` tells whether subtractions are nodes of additions.
    fn find_tree(&mut self, root: Slot, through_subs: bool) -> Tree {
        let opcode = self.opcode(root);
        let sub = Opcode { op: Op::Sub, ..opcode };
        let is_sum = through_subs && opcode.op == Op::Add;
        let (leaves, nodes) = (Leaves::new(), SmallVec::new());
        let mut tree = Tree { root, opcode, leaves, nodes, leans_left: true };
        // Operands to visit, and whether each is the left one.
        let [left, right] = self.operands(root);
        let mut stack: SmallVec<[(Leaf, bool); 8]> = SmallVec::from_slice(&[(right, false), (left, true)]);
        while let Some((leaf, is_left)) = stack.pop() {
            let is_node = leaf.negation.is_none();
            if is_node
                && self.is_read_once(leaf.definition, opcode)
                && let Some(slot) = leaf.definition.expand()
            {
                let [left, right] = self.operands(slot);
                stack.extend([(right, false), (left, true)]);
                tree.leans_left &= is_left;
                tree.nodes.push(slot);
            } else if is_node
                && is_sum
                && self.is_read_once(leaf.definition, sub)
                && let Some(slot) = leaf.definition.expand()
            {
                let [left, right] = self.operands(slot);
                stack.extend([(self.negation(slot, leaf, right), false), (left, true)]);
                tree.leans_left = false;
                tree.nodes.push(slot);
            } else {
                tree.leaves.push(leaf);
            }
        }
        self.own(&tree);
        tree
    }

    /// The leaf for the negation of `subtrahend`, which takes the place of the subtraction.
    fn negation(&self, sub: Slot, difference: Leaf, subtrahend: Leaf) -> Leaf {
        let bits = subtrahend.value.as_const().and_then(|bits| evaluate(negation_of(self.opcode(sub)), &[bits]));
        let negated = || Leaf { negation: self.inst(sub).into(), ..difference };
        bits.map_or_else(negated, Leaf::constant)
    }

    fn outcome(&self, tree: &Tree) -> Outcome {
        match tree.leaves.len() {
            0..=2 => return Outcome::Canonical,
            count if count > MAX_LEAVES => return Outcome::Refused(Refusal::TooLarge),
            _ => {}
        }
        let mut leaves = tree.leaves.clone();
        leaves.compact_sort_by_key(|leaf| self.rank(leaf));
        self.cancel(tree.opcode, &mut leaves);
        self.fold(tree.opcode, &mut leaves);
        if tree.leans_left && leaves == tree.leaves {
            return Outcome::Canonical;
        }
        if let Some(reg) = self.overwritten(tree.root, &leaves) {
            return Outcome::Refused(Refusal::Overwritten(reg));
        }
        let negations = leaves.iter().filter(|leaf| leaf.negation.is_some()).count();
        if leaves.len().saturating_sub(2) + negations > tree.nodes.len() {
            return Outcome::Refused(Refusal::MoreInstructions);
        }
        Outcome::Rebuilt(leaves)
    }

    fn rank(&self, leaf: &Leaf) -> Rank {
        self.ranks.of_value(leaf.value)
    }

    /// Removes leaves that cancel each other or repeat in a tree where repetition has no effect.
    fn cancel(&self, opcode: Opcode, leaves: &mut Leaves) {
        match opcode.op {
            _ if opcode.ty.is_float() => return,
            Op::Add => self.cancel_negations(leaves),
            Op::And | Op::Or => leaves.dedup(),
            Op::Xor => {
                for leaf in core::mem::take(leaves) {
                    if leaves.last() == Some(&leaf) {
                        leaves.pop();
                    } else {
                        leaves.push(leaf);
                    }
                }
            }
            _ => return,
        }
        if leaves.is_empty() {
            leaves.push(Leaf::constant(0));
        }
    }

    /// Removes each negation together with a leaf that has the negated value.
    fn cancel_negations(&self, leaves: &mut Leaves) {
        if leaves.iter().all(|leaf| leaf.negation.is_none()) {
            return;
        }
        let mut is_gone: SmallVec<[bool; 8]> = SmallVec::from_elem(false, leaves.len());
        for (index, leaf) in leaves.iter().enumerate() {
            let Some(negated) = self.negated(leaf) else { continue };
            let rank = self.rank(&negated);
            let first = leaves.partition_point(|other| self.rank(other) < rank);
            let equal_ranks = leaves[first..].iter().take_while(|other| self.rank(other) == rank).zip(first..);
            let mut partners = equal_ranks.filter(|&(other, at)| *other == negated && !is_gone[at]);
            if let Some((_, partner)) = partners.next() {
                (is_gone[index], is_gone[partner]) = (true, true);
            }
        }
        let mut is_gone = is_gone.into_iter();
        leaves.retain(|_| !is_gone.next().unwrap_or_default());
    }

    /// The operand that a leaf negates.
    fn negated(&self, leaf: &Leaf) -> Option<Leaf> {
        leaf.negation.expand()?;
        let [_, subtrahend] = self.operands(leaf.definition.expand()?);
        Some(subtrahend)
    }

    /// Folds several constants to one, drops an identity, and drops all other leaves beside an
    /// absorbing constant.
    fn fold(&self, opcode: Opcode, leaves: &mut Leaves) {
        while let [.., a, b] = leaves.as_slice()
            && let (Some(a), Some(b)) = (a.value.as_const(), b.value.as_const())
            && let Some(bits) = evaluate(opcode, &[a, b])
            && (self.licence.large_sums || !is_large_sum(opcode, [a, b], bits))
        {
            leaves.truncate(leaves.len() - 2);
            leaves.push(Leaf::constant(bits));
        }
        let Some(bits) = leaves.last().and_then(|leaf| leaf.value.as_const()) else { return };
        let ones = opcode.ty.mask();
        match opcode.op {
            _ if opcode.ty.is_float() => {}
            Op::Add | Op::Or | Op::Xor if bits == 0 && leaves.len() > 1 => drop(leaves.pop()),
            Op::Mul if bits == 1 && leaves.len() > 1 => drop(leaves.pop()),
            Op::And if bits == ones && leaves.len() > 1 => drop(leaves.pop()),
            Op::Mul | Op::And if bits == 0 => drop(leaves.drain(..leaves.len() - 1)),
            Op::Or if bits == ones => drop(leaves.drain(..leaves.len() - 1)),
            _ => {}
        }
    }

    /// The register of a leaf whose value does not reach the root.
    pub fn overwritten(&self, root: Slot, leaves: &[Leaf]) -> Option<Reg> {
        let registers = leaves.iter().filter_map(|leaf| Some((leaf.value.as_reg()?, leaf.definition)));
        registers.filter(|&(reg, definition)| !self.reaches(reg, definition, root)).map(|(reg, _)| reg).next()
    }

    /// True if the value of a register reaches a root once the tree of the root is removed.
    fn reaches(&self, reg: Reg, definition: PackedOption<Slot>, root: Slot) -> bool {
        let first = self.uses.next_write(reg, definition);
        let writes = core::iter::successors(first, |&write| self.uses.slots[write].next_write.expand());
        writes.take_while(|&write| write < root).all(|write| self.owners[write] == Owner::Tree(root))
    }

    /// Frees the subtractions whose negations are not among the leaves of the rebuilt tree.
    pub fn free_negations(&mut self, tree: &Tree, leaves: &[Leaf]) {
        for leaf in tree.leaves.iter().filter(|leaf| leaf.negation.is_some()) {
            let is_kept = leaves.iter().any(|kept| kept.negation == leaf.negation);
            if let Some(sub) = leaf.definition.expand().filter(|_| !is_kept) {
                self.owners[sub] = Owner::Tree(tree.root);
            }
        }
    }

    /// The instructions of a tree that the rebuilt tree may use, in the order of the block. `read`
    /// are the registers of its leaves, sorted.
    pub fn free_insts(&self, tree: &Tree, read: &[Reg]) -> SmallVec<[FreeInst; 8]> {
        let is_free = |&node: &Slot| self.owners[node] == Owner::Tree(tree.root);
        let mut nodes: SmallVec<[Slot; 8]> = tree.nodes.iter().copied().filter(is_free).collect();
        nodes.compact_sort();
        nodes.into_iter().map(|node| self.free_inst(node, tree.root, read)).collect()
    }

    /// The instruction of a slot, with its register if no leaf and no reader of an earlier value
    /// needs the register at the root.
    pub fn free_inst(&self, slot: Slot, root: Slot, read: &[Reg]) -> FreeInst {
        let is_free = |reg: &Reg| read.binary_search(reg).is_err() && self.reaches(*reg, slot.into(), root);
        FreeInst { inst: self.inst(slot), reg: self.data(slot).dst().filter(is_free) }
    }

    /// Gives the instructions of a tree to its root.
    pub fn own(&mut self, tree: &Tree) {
        self.own_all(tree.root, &tree.nodes);
        for leaf in tree.leaves.iter().filter(|leaf| leaf.negation.is_some()) {
            if let Some(sub) = leaf.definition.expand() {
                self.owners[sub] = Owner::Negation;
            }
        }
        self.own_all(tree.root, &[tree.root]);
    }

    /// Releases the instructions of a tree.
    pub fn disown(&mut self, tree: &Tree) {
        self.disown_all(&tree.nodes);
        self.disown_all(&[tree.root]);
    }

    /// Gives slots to a root.
    pub fn own_all(&mut self, root: Slot, slots: &[Slot]) {
        slots.iter().for_each(|&slot| self.owners[slot] = Owner::Tree(root));
    }

    /// Releases slots.
    pub fn disown_all(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|&slot| self.owners[slot] = Owner::Nobody);
    }
}

/// The registers of leaves, sorted.
pub fn registers(leaves: &[Leaf]) -> SmallVec<[Reg; 8]> {
    let mut read: SmallVec<[Reg; 8]> = leaves.iter().filter_map(|leaf| leaf.value.as_reg()).collect();
    read.compact_sort();
    read
}

/// True if two 64-bit constants fit the 32 bits of an immediate operand and their sum does not.
fn is_large_sum(opcode: Opcode, parts: [u64; 2], sum: u64) -> bool {
    let fits = |bits: u64| i32::try_from(bits as i64).is_ok();
    opcode.op == Op::Add && opcode.ty.bits() == 64 && parts.into_iter().all(fits) && !fits(sum)
}

/// The opcode that adds a product to the sums of `add`.
pub fn multiply_add(add: Opcode) -> Opcode {
    Opcode { op: if add.ty.is_float() { Op::Fma } else { Op::Mad }, ..add }
}

/// The negation of the type that a subtraction has.
pub fn negation_of(sub: Opcode) -> Opcode {
    let ty = match sub.ty.bits() {
        _ if sub.ty.is_float() => sub.ty,
        8 => Type::S8,
        16 => Type::S16,
        32 => Type::S32,
        _ => Type::S64,
    };
    Opcode { op: Op::Neg, ty, src_ty: ty, rounding: None, ..sub }
}
