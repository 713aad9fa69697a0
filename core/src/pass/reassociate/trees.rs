//! Trees of one associative and commutative operation: flattened, sorted, rebuilt leaning to the left.
//!
//! ```text
//! t = add c, 2                 leaves as they stand: b c 2 a 3
//! u = add b, t                 sorted: a b c 2 3, constants folded: a b c 5
//! v = add a, 3                 u = add a, b
//! r = add u, v           ──▶   v = add u, c
//!                              r = add v, 5
//! ```
//!
//! An operand is flattened further if it is computed in the same block, unguarded, by the same opcode, and read by nobody
//! else. `x = sub a, b` stands for two leaves in a tree of additions, `a` and `-b`; of a constant the negation folds,
//! otherwise `x = neg b` takes its place, unless the tree has `b`, too: what is added and taken away goes. The root stays
//! where it is and the others come to stand in front of it, in the registers that they had where those are free there,
//! else in new ones.
//!
//! Sound because integer arithmetic wraps, and every leaf still holds at the root what it held where it was read: that is
//! asked, and the tree left as it is otherwise. A tree that would take more instructions than before is left, too.
//!
//! Bounds: trees of up to [`MAX_LEAVES`] leaves; sorting is all that is not linear.

use alloc::vec::Vec;

use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::block_uses::BlockUses;
use super::sketches::{NONE, Sketch};
use crate::edit::Rewrite;
use crate::ir::{Flags, Function, Inst, InstData, Op, Opcode, Operand, Reg, Special, Symbol, Type};
use crate::sim::evaluate;
use crate::trace::Place;

/// Leaves of a tree; larger ones are left as they are.
pub const MAX_LEAVES: usize = 256;

/// Marks, in [`Forest::owners`], a node that goes on writing its register where it stands.
const STAYS: u32 = 1 << 31;

/// Operands of arithmetic: those that need no memory of their own, so that many can be copied and sorted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Value {
    Reg(Reg),
    Const(u64),
    Special(Special),
    Symbol(Symbol),
}

impl Value {
    /// The value that an operand stands for. Nothing that a [`Licence`] allows reads anything else.
    pub fn of(operand: &Operand) -> Value {
        match *operand {
            Operand::Reg(reg) => Value::Reg(reg),
            Operand::Const(bits) => Value::Const(bits),
            Operand::Special(special) => Value::Special(special),
            Operand::Symbol(symbol) => Value::Symbol(symbol),
            Operand::NotReg(_) | Operand::Address(_) | Operand::List(_) | Operand::Input(_) => {
                debug_assert!(false, "arithmetic reads values");
                Value::Const(0)
            }
        }
    }

    /// The register, if it is one's.
    pub fn as_reg(self) -> Option<Reg> {
        if let Value::Reg(reg) = self { Some(reg) } else { None }
    }

    /// The bits, if it is a constant.
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
    /// Value that is read.
    pub value: Value,
    /// Place of its definition in the block.
    pub definition: u32,
    /// The subtraction that takes something away, if the leaf is the negation that it becomes.
    pub negation: PackedOption<Inst>,
}

impl Leaf {
    /// Creates the leaf of a value with that definition.
    fn new(value: Value, definition: u32) -> Leaf {
        Leaf { value, definition, negation: None.into() }
    }

    fn constant(bits: u64) -> Leaf {
        Leaf::new(Value::Const(bits), NONE)
    }
}

// A tree is sorted once more whenever its block is looked at again.
const _: () = assert!(size_of::<Leaf>() == 24);

/// Licence for changes of trees.
#[derive(Clone, Copy)]
pub struct Licence {
    /// Floats as real numbers.
    pub fast_math: bool,
    /// Sums of 64-bit constants beyond 32 bits.
    pub large_sums: bool,
}

impl Licence {
    /// May an instruction be part of a tree, or of a sum?
    pub fn allows(self, data: &InstData) -> bool {
        let flags = if data.opcode.ty.is_float() { Flags::FTZ | Flags::APPROX } else { Flags::empty() };
        matches!(data.opcode.op, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::Sub | Op::Mad | Op::Fma)
            && data.guard.is_none()
            && flags.contains(data.opcode.flags)
            && (self.fast_math || !data.opcode.ty.is_float())
    }
}

/// A tree as it stands. The next one takes the same room.
pub struct Tree {
    /// Place of its root in the block.
    pub root: u32,
    /// Opcode of its operations.
    pub opcode: Opcode,
    /// Leaves from the left to the right of the text.
    pub leaves: Vec<Leaf>,
    /// Places of its other instructions.
    pub nodes: Vec<u32>,
    /// Is every node the left operand of another?
    leans_left: bool,
    /// Operands that are still to be looked at, and whether each stands on the left; used while the tree is made.
    stack: Vec<(Leaf, bool)>,
}

impl Default for Tree {
    /// None yet.
    fn default() -> Tree {
        let opcode = Opcode::untyped(Op::Mov);
        Tree { root: 0, opcode, leaves: Vec::new(), nodes: Vec::new(), leans_left: true, stack: Vec::new() }
    }
}

/// A tree and the leaves that it is rebuilt of, if it is. One after the other they take the same room.
#[derive(Default)]
pub struct Settled {
    pub tree: Tree,
    pub leaves: Vec<Leaf>,
}

/// Why a tree stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It has too many leaves.
    TooLarge,
    /// A leaf is overwritten before the root.
    Overwritten(Reg),
    /// It would take more instructions.
    MoreInstructions,
}

/// Outcome of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It is as it should be.
    Canonical,
    /// It stays as it is all the same.
    Refused(Refusal),
    /// It is rebuilt.
    Rebuilt,
}

/// Finds trees in one block.
pub struct Forest<'a> {
    pub func: &'a Function,
    pub uses: &'a BlockUses,
    pub licence: Licence,
    /// Value number of each register.
    pub numbers: &'a [u32],
    /// One more than the root of the tree that each place belongs to.
    pub owners: &'a mut Vec<u32>,
}

impl Forest<'_> {
    /// Does the instruction at a place belong to no tree so far? Roots are met from the end of the block, so that whatever
    /// belongs to another tree is known to.
    pub fn is_free(&self, place: u32) -> bool {
        self.owners[place as usize] == 0
    }

    /// Quick test that most instructions fail if one of the next two is to be true: does it do what a root does, and has it an
    /// operand that could be part of what it computes?
    #[inline]
    pub fn may_be_root(&self, place: u32) -> bool {
        let op = self.op(place);
        is_root(op) & self.has_node(place) | matches!(op, Op::Mad | Op::Fma)
    }

    /// May it be the root of a tree of more than two leaves, or of a sum of products?
    pub fn is_root(&self, place: u32) -> bool {
        is_root(self.op(place)) && self.has_node(place) && self.sketch(place).is_licensed
    }

    /// Operation of the instruction at a place; quicker than reading it. True as long as it belongs to no tree.
    fn op(&self, place: u32) -> Op {
        self.uses.op(place)
    }

    fn data(&self, place: u32) -> &InstData {
        &self.func.insts[self.uses.slot(place).inst]
    }

    /// Sketch of the instruction at a place, which is more likely to be at hand.
    fn sketch(&self, place: u32) -> &Sketch {
        self.uses.sketch(self.uses.slot(place).inst)
    }

    /// Current opcode of the instruction at a place.
    pub fn opcode(&self, place: u32) -> Opcode {
        self.uses.sketches().opcode(self.sketch(place).opcode)
    }

    /// The register that the instruction at a place writes.
    fn dst(&self, place: u32) -> Option<Reg> {
        let dst = self.sketch(place).dst;
        (dst != NONE).then(|| Reg::from_u32(dst))
    }

    /// An operand of an instruction at a place, one of the first three, which may be part of a tree or of a sum.
    fn operand(&self, place: u32, index: usize) -> Value {
        let sketch = self.sketch(place);
        match (sketch.operands[index], sketch.other) {
            (NONE, NONE) => Value::of(&self.data(place).args[index]),
            (NONE, other) => Value::of(self.uses.sketches().other(other)),
            (reg, _) => Value::Reg(Reg::from_u32(reg)),
        }
    }

    /// Finds the tree below a root, and what becomes of it: is it to be rebuilt, of which leaves? Subtractions belong to it
    /// where it can be rebuilt with them.
    pub fn settle(&mut self, root: u32, settled: &mut Settled) -> Outcome {
        let Settled { tree, leaves } = settled;
        if !self.find_tree(root, true, tree) {
            return Outcome::Refused(Refusal::TooLarge);
        }
        let outcome = self.outcome(tree, leaves);
        let has_difference = tree.nodes.iter().any(|&node| self.opcode(node).op == Op::Sub);
        if !has_difference || outcome == Outcome::Rebuilt {
            return outcome;
        }
        self.disown(tree);
        if !self.find_tree(root, false, tree) {
            return Outcome::Refused(Refusal::TooLarge);
        }
        match self.outcome(tree, leaves) {
            // That it cannot be rebuilt with them is what there is to say.
            Outcome::Canonical => outcome,
            other => other,
        }
    }

    /// The tree below a root. With `through_sub` subtractions belong to trees of additions. Gives whether it is not too
    /// large; if it is, all its nodes are its own nevertheless.
    fn find_tree(&mut self, root: u32, through_sub: bool, tree: &mut Tree) -> bool {
        let number = self.sketch(root).opcode;
        let opcode = self.uses.sketches().opcode(number);
        (tree.root, tree.opcode, tree.leans_left) = (root, opcode, true);
        tree.leaves.clear();
        tree.nodes.clear();
        self.push_operands(root, &mut tree.stack);
        while let Some((leaf, is_left)) = tree.stack.pop() {
            let place = leaf.definition;
            let is_alike = |op: Op| op == opcode.op || op == Op::Sub && opcode.op == Op::Add;
            let is_node =
                leaf.negation.is_none() && place != NONE && is_alike(self.op(place)) && self.uses.is_read_once(place);
            let found = is_node.then(|| self.sketch(place)).filter(|found| found.is_licensed);
            let is_difference = |found: &Sketch| {
                found.op == Op::Sub
                    && opcode.op == Op::Add
                    && self.uses.sketches().opcode(found.opcode) == (Opcode { op: Op::Sub, ..opcode })
            };
            match found {
                Some(found) if found.opcode == number => {
                    tree.leans_left &= is_left;
                    self.push_operands(place, &mut tree.stack);
                }
                Some(found) if through_sub && is_difference(found) => {
                    tree.leans_left = false;
                    self.push_difference(place, &mut tree.stack);
                }
                _ => {
                    tree.leaves.push(leaf);
                    continue;
                }
            }
            tree.nodes.push(place);
        }
        self.own(tree);
        tree.leaves.len() <= MAX_LEAVES
    }

    /// Is the tree below a root seen at a glance to be as it should be: does it lean to the left, its leaves sorted, none of
    /// them a product, and none but the last a constant? Then its nodes are its own. Most trees are when they are looked at
    /// again.
    pub fn is_canonical(&mut self, root: u32) -> bool {
        let number = self.sketch(root).opcode;
        let opcode = self.uses.sketches().opcode(number);
        let mut nodes: SmallVec<[u32; 8]> = SmallVec::new();
        let mut place = root;
        // The leaf to the right of the one that is looked at.
        let mut next: Option<(bool, u64)> = None;
        loop {
            nodes.push(place);
            let definitions = self.uses.slot(place).operands;
            let [left, right] = [self.operand(place, 0), self.operand(place, 1)];
            let may_repeat = !matches!(opcode.op, Op::And | Op::Or | Op::Xor);
            let mut is_in_order = |value: Value, definition: u32| {
                let key = self.value_key(value);
                let is_sorted = next.is_none_or(|next| if may_repeat { key <= next } else { key < next });
                let is_last = next.replace(key).is_none();
                is_sorted && !self.may_be_part(definition, opcode) && (is_last && changes_more(opcode, value) || !key.0)
            };
            if !is_in_order(right, definitions[1]) {
                return false;
            }
            if !self.is_node(definitions[0], (opcode.op, number)) {
                if !is_in_order(left, definitions[0]) {
                    return false;
                }
                break;
            }
            place = definitions[0];
        }
        if nodes.len() >= MAX_LEAVES {
            return false;
        }
        self.own_all(root, &nodes);
        true
    }

    /// Is what is defined there a node of any tree of that opcode, given with its number, in which it is read?
    fn is_node(&self, place: u32, (op, number): (Op, u32)) -> bool {
        place != NONE && self.uses.is_read_once(place) && self.op(place) == op && {
            let sketch = self.sketch(place);
            sketch.opcode == number && sketch.is_licensed
        }
    }

    /// Could what is defined there be a node of such a tree, or a product?
    fn may_be_part(&self, place: u32, opcode: Opcode) -> bool {
        self.uses.is_part(place, |op| is_part(opcode.op, op))
    }

    fn push_operands(&self, place: u32, stack: &mut Vec<(Leaf, bool)>) {
        let [left, right] = self.operands(place);
        stack.push((right, false));
        stack.push((left, true));
    }

    /// `x = sub a, b` is `a` and the negation of `b`, which `x` is to hold.
    fn push_difference(&self, place: u32, stack: &mut Vec<(Leaf, bool)>) {
        let (inst, dst) = (self.uses.slot(place).inst, self.sketch(place).dst);
        let subtrahend = self.operand(place, 1).as_const();
        let negated = subtrahend.and_then(|bits| evaluate(negation(self.opcode(place)), &[bits]));
        let subtracted = match (negated, dst) {
            (Some(bits), _) => Leaf::constant(bits),
            (None, NONE) => return,
            (None, dst) => Leaf { negation: inst.into(), ..Leaf::new(Value::Reg(Reg::from_u32(dst)), place) },
        };
        stack.push((subtracted, false));
        stack.push((Leaf::new(self.operand(place, 0), self.uses.slot(place).operands[0]), true));
    }

    /// May an operand of that instruction be flattened, or be a product of a sum? Mostly not, and this is the quicker
    /// question.
    fn has_node(&self, place: u32) -> bool {
        let root = self.op(place);
        let may_be_node = |place: u32| self.uses.is_part(place, |op| is_part(root, op));
        // Each of them may as well be one or not, so none decides a branch.
        let [first, second, third] = self.uses.slot(place).operands;
        may_be_node(first) | may_be_node(second) | may_be_node(third)
    }

    /// May there be several products among what a sum adds up? Its leaves that are read once are counted that are one, or
    /// are added to one, and twice those that are added to what may be several.
    pub fn has_products(&self, tree: &Tree) -> bool {
        let products = |leaf: &Leaf| {
            let place = leaf.definition;
            if place == NONE || !self.uses.is_read_once(place) {
                return 0;
            }
            match self.op(place) {
                Op::Mul => 1,
                Op::Mad | Op::Fma => 1 + u32::from(self.adds_products(place)),
                _ => 0,
            }
        };
        tree.opcode.op == Op::Add && tree.leaves.iter().map(products).sum::<u32>() > 1
    }

    /// Does the instruction add a product to what may be one, or a sum of some?
    pub fn adds_products(&self, place: u32) -> bool {
        let added = self.uses.slot(place).operands[2];
        matches!(self.op(place), Op::Mad | Op::Fma)
            && added != NONE
            && self.uses.is_read_once(added)
            && matches!(self.op(added), Op::Add | Op::Mul | Op::Mad | Op::Fma)
            && self.sketch(place).is_licensed
    }

    /// Outcome of a tree; if it is rebuilt, of `leaves`.
    fn outcome(&self, tree: &Tree, leaves: &mut Vec<Leaf>) -> Outcome {
        if tree.leaves.len() <= 2 {
            return Outcome::Canonical;
        }
        leaves.clone_from(&tree.leaves);
        leaves.sort_by_key(|leaf| self.key(leaf));
        self.cancel(tree.opcode, leaves);
        self.fold(tree.opcode, leaves);
        if tree.leans_left && *leaves == tree.leaves {
            return Outcome::Canonical;
        }
        if let Some(reg) = self.overwritten(tree.root, leaves) {
            return Outcome::Refused(Refusal::Overwritten(reg));
        }
        let negations = leaves.iter().filter(|leaf| leaf.negation.is_some()).count();
        if leaves.len().saturating_sub(2) + negations > tree.nodes.len() {
            return Outcome::Refused(Refusal::MoreInstructions);
        }
        Outcome::Rebuilt
    }

    /// Constants last, the others by value number.
    fn key(&self, leaf: &Leaf) -> (bool, u64) {
        self.value_key(leaf.value)
    }

    fn value_key(&self, value: Value) -> (bool, u64) {
        match value {
            Value::Const(_) => (true, 0),
            Value::Reg(reg) => (false, 1 + u64::from(self.numbers[reg.as_u32() as usize])),
            // A special register or a symbol is the same everywhere.
            Value::Special(_) | Value::Symbol(_) => (false, 0),
        }
    }

    /// Leaves out, of sorted leaves, what others take back: `a` beside `-a` in a sum and beside `a` in an exclusive or, and
    /// the second `a` of a conjunction or disjunction.
    fn cancel(&self, opcode: Opcode, leaves: &mut Vec<Leaf>) {
        match opcode.op {
            _ if opcode.ty.is_float() => return,
            Op::Add => self.cancel_negations(leaves),
            Op::And | Op::Or => leaves.dedup(),
            Op::Xor => {
                let all = core::mem::take(leaves);
                for leaf in all {
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

    fn cancel_negations(&self, leaves: &mut Vec<Leaf>) {
        if leaves.iter().all(|leaf| leaf.negation.is_none()) {
            return;
        }
        let mut is_gone = alloc::vec![false; leaves.len()];
        for (place, leaf) in leaves.iter().enumerate() {
            let Some(negated) = self.negated(leaf) else { continue };
            let first = leaves.partition_point(|other| self.key(other) < self.key(&negated));
            let alike = leaves[first..].iter().take_while(|other| self.key(other) == self.key(&negated));
            let found = alike.zip(first..).find(|&(other, at)| *other == negated && !is_gone[at]);
            if let Some((_, other)) = found {
                (is_gone[place], is_gone[other]) = (true, true);
            }
        }
        let mut is_gone = is_gone.into_iter();
        leaves.retain(|_| !is_gone.next().unwrap_or_default());
    }

    /// Operand that a leaf negates.
    fn negated(&self, leaf: &Leaf) -> Option<Leaf> {
        let place = leaf.definition;
        let [_, operand] = self.func.insts[leaf.negation.expand()?].args.as_slice() else { return None };
        Some(Leaf::new(Value::of(operand), self.uses.slot(place).operands[1]))
    }

    /// Those of the tree's subtractions whose negation is not among the leaves that it is rebuilt of are as free as its
    /// other instructions.
    pub fn free_negations(&mut self, tree: &Tree, leaves: &[Leaf]) {
        for leaf in tree.leaves.iter().filter(|leaf| leaf.negation.is_some()) {
            if !leaves.iter().any(|kept| kept.negation == leaf.negation) {
                self.owners[leaf.definition as usize] &= !STAYS;
            }
        }
    }

    /// Makes one constant of several, and leaves out one that changes nothing or all others beside one that decides.
    fn fold(&self, opcode: Opcode, leaves: &mut Vec<Leaf>) {
        while let [.., a, b] = leaves.as_slice()
            && let (Some(a), Some(b)) = (a.value.as_const(), b.value.as_const())
            && let Some(bits) = evaluate(opcode, &[a, b])
            && (self.licence.large_sums || !is_large_sum(opcode, [a, b], bits))
        {
            leaves.pop();
            leaves.pop();
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

    /// A leaf that does not hold at its root what it held where it was read.
    pub fn overwritten(&self, root: u32, leaves: &[Leaf]) -> Option<Reg> {
        let overwritten = |leaf: &Leaf| {
            let reg = leaf.value.as_reg()?;
            (!self.holds_until_root(reg, leaf.definition, root)).then_some(reg)
        };
        leaves.iter().find_map(overwritten)
    }

    /// Is what a register holds from `definition` on still there in front of a root, once the root's tree has gone?
    fn holds_until_root(&self, reg: Reg, definition: u32, root: u32) -> bool {
        let mut next = self.uses.next_write(reg, definition);
        while next < root {
            if self.owners[next as usize] != root + 1 {
                return false;
            }
            next = self.uses.write_behind(next);
        }
        true
    }

    /// The instructions of a tree that can be used for others, from the first to the last in the block: all but the root
    /// and what becomes a negation. With each the register that it may go on writing, if that is free in front of the
    /// root and not among those that are read there, which are sorted.
    pub fn free_insts(&self, tree: &Tree, read: &[Reg]) -> SmallVec<[FreeInst; 8]> {
        let is_free = |place: &u32| self.owners[*place as usize] & STAYS == 0;
        let mut places: SmallVec<[u32; 8]> = tree.nodes.iter().copied().filter(is_free).collect();
        places.sort_unstable();
        places.into_iter().map(|place| self.free_inst(place, tree.root, read)).collect()
    }

    /// Is there an instruction of that opcode at a place, read once, that may be part of a tree or of a sum?
    pub fn is_read_once(&self, place: u32, opcode: Opcode) -> bool {
        place != NONE && self.uses.is_read_once(place) && {
            self.sketch(place).is_licensed && self.opcode(place) == opcode
        }
    }

    /// The first operands of an instruction.
    pub fn operands<const N: usize>(&self, place: u32) -> [Leaf; N] {
        let definitions = self.uses.slot(place).operands;
        core::array::from_fn(|index| Leaf::new(self.operand(place, index), definitions[index]))
    }

    /// The instruction at a place.
    pub fn inst(&self, place: u32) -> Inst {
        self.uses.slot(place).inst
    }

    /// A tree's instructions belong to its root.
    pub fn own(&mut self, tree: &Tree) {
        self.own_all(tree.root, &tree.nodes);
        for leaf in tree.leaves.iter().filter(|leaf| leaf.negation.is_some()) {
            self.owners[leaf.definition as usize] |= STAYS;
        }
        self.own_all(tree.root, &[tree.root]);
    }

    /// They do not.
    pub fn disown(&mut self, tree: &Tree) {
        self.disown_all(&tree.nodes);
        self.disown_all(&[tree.root]);
    }

    /// These instructions belong to a root.
    pub fn own_all(&mut self, root: u32, places: &[u32]) {
        places.iter().for_each(|&place| self.owners[place as usize] = root + 1);
    }

    /// They do not.
    pub fn disown_all(&mut self, places: &[u32]) {
        places.iter().for_each(|&place| self.owners[place as usize] = 0);
    }

    /// One of them.
    pub fn free_inst(&self, place: u32, root: u32, read: &[Reg]) -> FreeInst {
        let reg = self.dst(place);
        let is_free = |reg: &Reg| read.binary_search(reg).is_err() && self.holds_until_root(*reg, place, root);
        FreeInst { inst: self.uses.slot(place).inst, reg: reg.filter(is_free) }
    }
}

/// An instruction that can be used for another one, and the register that it may write.
#[derive(Clone, Copy)]
pub struct FreeInst {
    pub inst: Inst,
    pub reg: Option<Reg>,
}

/// The registers that leaves read, sorted.
pub fn registers(leaves: &[Leaf]) -> SmallVec<[Reg; 8]> {
    let mut read: SmallVec<[Reg; 8]> = leaves.iter().filter_map(|leaf| leaf.value.as_reg()).collect();
    read.sort_unstable();
    read
}

/// Writes, in front of a root, what combines leaves from the left to the right; the root itself does the last step.
/// Takes one instruction for each leaf beyond two.
pub fn build(
    rewrite: &mut Rewrite<'_, '_>,
    root: Inst,
    opcode: Opcode,
    leaves: &[Leaf],
    free: &mut impl Iterator<Item = FreeInst>,
) {
    let [first, others @ .., last] = leaves else {
        if let [only] = leaves {
            rewrite.replace_operation(root, Opcode::mov(opcode.ty), [only.value.into()]);
        }
        return;
    };
    let mut left: Operand = first.value.into();
    for leaf in others {
        let Some(free) = free.next() else { return };
        left = Operand::Reg(put_before(rewrite, root, free, opcode, [left, leaf.value.into()]));
    }
    rewrite.replace_operation(root, opcode, [left, last.value.into()]);
}

/// Makes another instruction of a free one, in front of a root. Gives the register that it writes.
pub fn put_before(
    rewrite: &mut Rewrite<'_, '_>,
    root: Inst,
    free: FreeInst,
    opcode: Opcode,
    operands: impl IntoIterator<Item = Operand>,
) -> Reg {
    let dst = if let Some(reg) = free.reg {
        rewrite.replace_operation(free.inst, opcode, operands);
        reg
    } else {
        let dst = rewrite.create_temporary(opcode.ty);
        rewrite.replace(free.inst, InstData::new(opcode, [dst], operands));
        dst
    };
    if let Some(block) = rewrite.func().inst_block(root) {
        rewrite.move_inst(free.inst, Place { block, before: Some(root) });
    }
    dst
}

/// Would a sum of 64-bit constants be the first that does not fit the 32 bits of an immediate operand?
fn is_large_sum(opcode: Opcode, parts: [u64; 2], sum: u64) -> bool {
    let fits = |bits: u64| i32::try_from(bits as i64).is_ok();
    opcode.op == Op::Add && opcode.ty.bits() == 64 && parts.into_iter().all(fits) && !fits(sum)
}

/// Opcode that adds a product to the sums of `add`.
pub fn multiply_add(add: Opcode) -> Opcode {
    Opcode { op: if add.ty.is_float() { Op::Fma } else { Op::Mad }, ..add }
}

/// Are there trees with that at their root?
fn is_root(op: Op) -> bool {
    matches!(op, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor)
}

/// May that be flattened into a tree of `root`, or be a product of a sum?
fn is_part(root: Op, op: Op) -> bool {
    (op == root) | (root == Op::Add) & matches!(op, Op::Sub | Op::Mul | Op::Mad | Op::Fma)
}

/// Does a value, if it is a constant, neither leave a result as it is nor decide it alone?
fn changes_more(opcode: Opcode, value: Value) -> bool {
    value.as_const().is_none_or(|bits| ![0, 1, opcode.ty.mask()].contains(&bits))
}

/// The negation that goes with a subtraction.
pub fn negation(subtraction: Opcode) -> Opcode {
    let ty = match subtraction.ty.bits() {
        _ if subtraction.ty.is_float() => subtraction.ty,
        8 => Type::S8,
        16 => Type::S16,
        32 => Type::S32,
        _ => Type::S64,
    };
    Opcode { op: Op::Neg, ty, src_ty: ty, rounding: None, ..subtraction }
}
