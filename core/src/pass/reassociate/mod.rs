//! Reassociation: trees of one operation take one shape, whatever order they were written in, and what then repeats in a
//! block is computed once.
//!
//! ```text
//! n1: t = add a, b ; x = add t, c            n1: t = add a, b ; x = add t, c
//! n2: u = add a, c ; y = add u, b     ──▶    n2: u = add a, b ; y = add u, c
//! ```
//!
//! Blocks are visited in reverse postorder. In each, trees of `add`, `mul`, `and`, `or` and `xor` are flattened, their
//! leaves sorted by value number with constants last, and rebuilt leaning to the left ([`trees`]), or, if they are sums of
//! products with a common factor, become products of sums ([`distribution`]); then what was computed within the last
//! instructions is copied ([`commoning`]). Two trees of the same leaves have the same prefixes after that, in one block or in two.
//!
//! A value number is a register's, where a copy that nothing overwrites has that of what it copies. It only says in which
//! order leaves stand, the same in every block; it claims nothing about what registers hold.
//!
//! Sound as the three parts are. Floats take part under the fast-math licence only. No tree gets more instructions than
//! it had.
//!
//! Cost: about linear; blocks in which something was found are looked at again, together with those that what was found
//! may concern, at most [`MAX_ROUNDS`] times. In a block that is looked at again only trees are asked about that have to do
//! with a register that was touched; the others are as they should be. A remark says if that was not enough; otherwise running the pass again finds
//! nothing more.
//!
//! Source: ptxas page, phase 50 (OriReassociateAndCommon); P. Briggs and K. Cooper, Effective partial redundancy
//! elimination, PLDI 1994, section 3.1, for sorting operands by rank.

mod block_uses;
mod commoning;
mod computations;
mod distribution;
mod sketches;
mod trees;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::fetch::fetch;
use super::{Knob, KnobKind, KnobValues, Pass, PassError, PassInfo, Settings};
use crate::graph::Cfg;
use crate::ir::{Block, Function, Inst, InstData, Module, Op, Opcode, Reg, Symbol, Type};
use crate::text::{constant_text, instruction_text};
use crate::trace::{Fact, Remark};
use crate::view::View;
use block_uses::{BlockUses, Touched};
use commoning::{Commoning, Found};
use distribution::Hindrance;
use trees::{Forest, FreeInst, Leaf, Licence, MAX_LEAVES, Outcome, Refusal, Settled, Tree, Value};

/// Looks at one block before giving up.
const MAX_ROUNDS: usize = 16;

/// Outcome of a tree of which nothing else is known.
const TOO_LARGE: Outcome = Outcome::Refused(Refusal::TooLarge);

/// Leaves that a remark lists.
const LISTED: usize = 32;

/// See the file's head.
pub struct Reassociate;

impl Pass for Reassociate {
    const INFO: PassInfo = PassInfo {
        name: "reassociate",
        paper: "ptxas page, phase 50, OriReassociateAndCommon",
        summary: "Sorts the operands of sums, products and bitwise trees, commons what then repeats, factors products.",
        knobs: &[
            Knob {
                name: "AllowReassociateCSE",
                kind: KnobKind::Switch { default: true },
                help: "common what repeats inside a block once trees are sorted",
            },
            Knob {
                name: "ReassociateCSEBudget",
                kind: KnobKind::Integer { default: 1_000_000_000, min: 0, max: 1_000_000_000 },
                help: "instructions of a function that are looked at, from its entry on",
            },
            Knob {
                name: "ReassociateCSEWindow",
                kind: KnobKind::Integer { default: 1_000, min: 0, max: 1_000_000_000 },
                help: "instructions back to where commoning looks for the same computation",
            },
            Knob {
                name: "ReassociateCSESkip",
                kind: KnobKind::Integer { default: 0, min: 0, max: 1_000_000_000 },
                help: "instructions at the entry of a function that are left as they are",
            },
            // An immediate operand costs the same at every width in our machine models, and nothing has to be moved into
            // a register first, as on the machines for which the vendor has this knob.
            Knob {
                name: "ReassociateLargeImmInUIADD64",
                kind: KnobKind::Switch { default: true },
                help: "add up constants of 64-bit additions although the sum does not fit 32 bits",
            },
            Knob {
                name: "DistributeAndReassociateMulBudget",
                kind: KnobKind::Integer { default: 1_000_000, min: 0, max: 1_000_000_000 },
                help: "sums of a function from whose products a common factor is taken out",
            },
        ],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        Walk::new(view, settings).run(view);
        Ok(())
    }
}

/// Refusals by block. A block that is visited again begins anew.
#[derive(Default)]
struct Misses(BTreeMap<Block, Vec<Remark>>);

impl Misses {
    fn add(&mut self, block: Block, remark: Remark) {
        self.0.entry(block).or_default().push(remark);
    }
}

/// Remaining state after sorting the trees of a block.
struct Sorted {
    /// Leaves went away, or a write that was in the way of another tree may have moved.
    again: bool,
    /// Trees got another shape, or sums another form.
    rebuilt: bool,
}

/// Kind of trees in a block. A sum of products goes through `mad`, a tree does not, so each has roots of its own.
#[derive(Clone, Copy)]
enum Kind {
    Trees,
    Sums,
}

struct Walk {
    cfg: Rc<Cfg>,
    licence: Licence,
    uses: BlockUses,
    commoning: Option<Commoning>,
    /// Value number of each register.
    numbers: Vec<u32>,
    owners: Vec<u32>,
    sum_owners: Vec<u32>,
    /// The tree that is looked at.
    settled: Settled,
    /// Instructions by their numbers in reverse postorder that take part.
    range: core::ops::Range<u64>,
    /// Distributions that may still be made.
    distributions: i64,
    misses: Misses,
    /// Blocks in which commoning may find something although no tree got another shape.
    to_common: FixedBitSet,
    /// Blocks and registers that this round has touched so far.
    touched: Touched,
    /// Registers whose trees are visited; none if all are. A listener gets for all of them
    /// what keeps them from another shape.
    concerned: Option<Touched>,
}

/// The function is looked at in this order: which instructions come first in which block.
struct Places {
    first: Vec<u64>,
    count: u64,
}

impl Places {
    fn new(uses: &BlockUses, cfg: &Cfg) -> Places {
        let mut places = Places { first: vec![0; cfg.block_count()], count: 0 };
        for &block in cfg.reverse_postorder() {
            places.first[block.index()] = places.count;
            places.count += u64::from(uses.first_length(block));
        }
        places
    }
}

impl Walk {
    fn new(view: &mut View<'_>, settings: &Settings) -> Walk {
        let knobs: &KnobValues = &settings.knobs;
        let cfg = view.cfg();
        let func = view.func();
        let window = u32::try_from(knobs.integer("ReassociateCSEWindow")).unwrap_or(u32::MAX);
        let licence =
            Licence { fast_math: settings.fast_math, large_sums: knobs.switch("ReassociateLargeImmInUIADD64") };
        let uses = BlockUses::new(func, licence);
        let mut numbers: Vec<u32> = (0..func.regs.len() as u32).collect();
        let copies = cfg.reverse_postorder().iter().map(|&block| uses.copies(block));
        copies.for_each(|copies| number_copies(func, copies, &mut numbers, |_| {}));
        Walk {
            licence,
            uses,
            commoning: knobs.switch("AllowReassociateCSE").then(|| Commoning::new(func, window, view.is_traced())),
            numbers,
            owners: Vec::new(),
            sum_owners: Vec::new(),
            settled: Settled::default(),
            range: knobs.integer("ReassociateCSESkip") as u64..knobs.integer("ReassociateCSEBudget") as u64,
            distributions: knobs.integer("DistributeAndReassociateMulBudget"),
            misses: Misses::default(),
            to_common: FixedBitSet::with_capacity(cfg.block_count()),
            touched: Touched::default(),
            concerned: None,
            cfg,
        }
    }

    fn run(&mut self, view: &mut View<'_>) {
        let cfg = self.cfg.clone();
        let places = Places::new(&self.uses, &cfg);
        let mut to_visit = FixedBitSet::with_capacity(cfg.block_count());
        to_visit.insert_range(..);
        let mut rounds = 0;
        while rounds < MAX_ROUNDS && !to_visit.is_clear() {
            rounds += 1;
            let mut changed = FixedBitSet::with_capacity(cfg.block_count());
            for &block in cfg.reverse_postorder() {
                if to_visit.contains(block.index()) {
                    self.misses.0.remove(&block);
                    changed.set(block.index(), self.visit(view, block, places.first[block.index()]));
                }
            }
            let mut touched = core::mem::take(&mut self.touched);
            if !changed.is_clear() {
                self.find_concerned(view.func(), &mut changed, &mut touched);
            }
            self.concerned = (!view.is_traced()).then_some(touched);
            to_visit = changed;
        }
        self.tell_misses(view, !to_visit.is_clear(), places.count);
    }

    /// Adds to the blocks that were changed in a round those that this concerns, and to what was touched why.
    fn find_concerned(&mut self, func: &Function, changed: &mut FixedBitSet, touched: &mut Touched) {
        // A register that is now read only where it is written may be part of a tree there.
        let gone = self.uses.count_renewed(func);
        self.numbers.extend(self.numbers.len() as u32..func.regs.len() as u32);
        touched.add_set(&gone);
        // Those that come in; other blocks do not read the others.
        let mut renumbered = FixedBitSet::with_capacity(func.regs.len());
        let uses = &self.uses;
        for &block in self.cfg.reverse_postorder() {
            number_copies(func, uses.copies(block), &mut self.numbers, |reg| {
                touched.add(reg);
                if uses.comes_in(reg) {
                    renumbered.insert(reg.index());
                    changed.insert(block.index());
                }
            });
        }
        if gone.is_clear() && renumbered.is_clear() {
            return;
        }
        // Where a leaf has another number the leaves have another order. Who reads such a copy has it from another block, or
        // is the block that it is made in.
        let writers = self.uses.writers(func, &gone);
        for &block in self.cfg.reverse_postorder() {
            if writers.contains(block.index()) || self.uses.exposes(block, &renumbered) {
                changed.insert(block.index());
            }
        }
    }

    /// Looks at a block. Gives whether looking at it again may find more.
    fn visit(&mut self, view: &mut View<'_>, block: Block, first: u64) -> bool {
        let range = self.range.clone();
        let takes_part = move |place: u32| range.contains(&(first + u64::from(place)));
        let grown = self.numbers.len() as u32..view.func().regs.len() as u32;
        self.numbers.extend(grown);
        self.uses.look_at(view.func(), block, self.concerned.as_ref());
        let Sorted { mut again, rebuilt } = self.sort_trees(view, block, &takes_part);
        let commons = rebuilt || self.concerned.is_none() || self.to_common.contains(block.index());
        if commons {
            again |= self.common(view, block, &takes_part);
        }
        if again || rebuilt {
            // What is commoned is walked over once more as it is, and that walk has seen what a survey would.
            match self.commoning.as_ref().filter(|_| commons) {
                Some(commoning) => self.uses.renew_reads(view.func(), block, commoning.reads()),
                None => self.uses.survey_again(view.func(), block),
            }
        }
        again
    }

    /// Gives whether anything was found.
    fn common(&mut self, view: &mut View<'_>, block: Block, takes_part: &impl Fn(u32) -> bool) -> bool {
        let Some(commoning) = &mut self.commoning else { return false };
        let found = commoning.visit(view, block, takes_part, (&mut self.touched, &mut self.uses), &mut self.misses);
        self.to_common.set(block.index(), found == Found::Removable);
        found != Found::Nothing
    }

    /// The trees of the block that is looked at, or its sums of products.
    fn forest<'a>(&'a mut self, func: &'a Function, kind: Kind) -> Forest<'a> {
        let owners = match kind {
            Kind::Trees => &mut self.owners,
            Kind::Sums => &mut self.sum_owners,
        };
        Forest { func, uses: &self.uses, licence: self.licence, numbers: &self.numbers, owners }
    }

    /// Goes from the last root of the block to its first: takes out the factor that a sum's products have in common, or
    /// else sorts the tree.
    fn sort_trees(&mut self, view: &mut View<'_>, block: Block, takes_part: &impl Fn(u32) -> bool) -> Sorted {
        for owners in [&mut self.owners, &mut self.sum_owners] {
            owners.clear();
            owners.resize(self.uses.len() as usize, 0);
        }
        let mut sorted = Sorted { again: false, rebuilt: false };
        let mut overwritten = false;
        let mut settled = core::mem::take(&mut self.settled);
        for root in (0..self.uses.len()).rev() {
            if !self.uses.is_concerned(root) {
                debug_assert!(
                    !takes_part(root) || self.is_settled(view.func(), root),
                    "what it is made of is as it was"
                );
                continue;
            }
            let mut forest = self.forest(view.func(), Kind::Trees);
            if !forest.may_be_root(root) || !forest.is_free(root) || !takes_part(root) {
                continue;
            }
            if forest.adds_products(root) {
                let found = self.distribute(view, block, root);
                (sorted.again, sorted.rebuilt) = (sorted.again | found.is_ok(), sorted.rebuilt | found.is_ok());
                overwritten |= found == Err(Hindrance::Overwritten);
                continue;
            }
            if !forest.is_root(root) || forest.is_canonical(root) {
                continue;
            }
            let outcome = forest.settle(root, &mut settled);
            let has_products = outcome != TOO_LARGE && forest.has_products(&settled.tree);
            if has_products {
                forest.disown(&settled.tree);
                let found = self.distribute(view, block, root);
                if found.is_ok() {
                    (sorted.again, sorted.rebuilt) = (true, true);
                    continue;
                }
                overwritten |= found == Err(Hindrance::Overwritten);
                self.forest(view.func(), Kind::Trees).own(&settled.tree);
            }
            match outcome {
                Outcome::Rebuilt => {
                    let mut forest = self.forest(view.func(), Kind::Trees);
                    let plan = Rebuilding::new(&mut forest, &settled);
                    sorted.again |= plan.leaves.len() < plan.tree.leaves.len();
                    // A product has other factors now, and the sum that it may be a term of has been looked at before it; where
                    // there was a subtraction there may be a sum of products now.
                    sorted.again |= has_products || plan.tree.opcode.op == Op::Mul && self.uses.is_read_once(root);
                    sorted.rebuilt = true;
                    let insts: SmallVec<[Inst; 8]> = plan.insts().collect();
                    plan.apply(view, block, &self.numbers);
                    self.have_been_rewritten(view.func(), &insts);
                }
                Outcome::Refused(refusal) => {
                    overwritten |= matches!(refusal, Refusal::Overwritten(_));
                    if view.is_traced() {
                        let inst = self.uses.slot(root).inst;
                        self.misses.add(block, missed(view, block, inst, refusal));
                    }
                }
                Outcome::Canonical => {}
            }
        }
        self.settled = settled;
        sorted.again |= sorted.rebuilt && overwritten;
        sorted
    }

    /// Notes what instructions do now, and what they touched and touch.
    fn have_been_rewritten(&mut self, func: &Function, insts: &[Inst]) {
        insts.iter().for_each(|&inst| self.uses.renew(func, inst, &mut self.touched));
    }

    /// Would nothing be done at a place?
    fn is_settled(&mut self, func: &Function, root: u32) -> bool {
        let may_distribute = self.distributions > 0;
        let mut forest = self.forest(func, Kind::Trees);
        if !forest.is_free(root) {
            return true;
        }
        let adds_products = forest.adds_products(root);
        let mut has_products = adds_products;
        if !adds_products && forest.is_root(root) {
            let mut settled = Settled::default();
            let outcome = forest.settle(root, &mut settled);
            has_products = outcome != TOO_LARGE && forest.has_products(&settled.tree);
            if outcome == Outcome::Rebuilt {
                return false;
            }
        }
        let mut sums = self.forest(func, Kind::Sums);
        !has_products || !may_distribute || !sums.is_free(root) || distribution::find(&mut sums, root).is_err()
    }

    /// Takes out the factor that the products of the sum at a root have in common, or says why it does not.
    fn distribute(&mut self, view: &mut View<'_>, block: Block, root: u32) -> Result<(), Hindrance> {
        let mut forest = self.forest(view.func(), Kind::Sums);
        if !forest.is_free(root) {
            return Err(Hindrance::NoFactor);
        }
        let distribution = distribution::find(&mut forest, root)?;
        if self.distributions == 0 {
            if view.is_traced() {
                let text = instruction_text(view.module(), view.func(), distribution.root());
                let message = format!("`{text}` keeps its products: the budget is used up");
                self.misses.add(block, Remark::missed("distribute", block, message).at(distribution.root()));
            }
            return Err(Hindrance::NoFactor);
        }
        let mut forest = self.forest(view.func(), Kind::Trees);
        forest.own_all(root, &distribution.places);
        let (module, ty) = (view.module(), distribution.ty());
        let mut rewrite = view.rewrite(|func| {
            let text = instruction_text(module, func, distribution.root());
            let factor = value_text(module, func, ty, distribution.factor);
            let others = listed(distribution.others.iter().map(|&other| value_text(module, func, ty, other)));
            let message = format!("`{text}` adds up products that all have the factor {factor}");
            Remark::applied("distribute", block, message)
                .at(distribution.root())
                .with("factor", Fact::Text(factor))
                .with("others", Fact::Words(others))
        });
        let insts: SmallVec<[Inst; 8]> = distribution.insts().collect();
        distribution.apply(&mut rewrite);
        rewrite.finish();
        self.have_been_rewritten(view.func(), &insts);
        self.distributions -= 1;
        Ok(())
    }

    fn tell_misses(&mut self, view: &mut View<'_>, is_unfinished: bool, count: u64) {
        for &block in self.cfg.reverse_postorder() {
            self.misses.0.remove(&block).into_iter().flatten().for_each(|remark| view.miss(|_| remark));
        }
        let Some(entry) = view.func().entry_block() else { return };
        if is_unfinished {
            view.miss(|_| {
                let message = format!("stopped after {MAX_ROUNDS} rounds that all found work");
                Remark::missed("max-rounds", entry, message).with("rounds", Fact::Count(MAX_ROUNDS as u64))
            });
        }
        if count > self.range.end {
            let budget = self.range.end;
            view.miss(|_| {
                let message = format!("of {count} instructions the first {budget} were looked at: that is the budget");
                Remark::missed("budget", entry, message).with("budget", Fact::Count(budget))
            });
        }
    }
}

/// Gives copies that nothing overwrites the numbers of what they copy, and calls `renumber` with those that this is new of.
fn number_copies(func: &Function, copies: &[(Reg, Reg)], numbers: &mut [u32], mut renumber: impl FnMut(Reg)) {
    for &(to, from) in copies {
        if func.definition_count(to) == 1 && func.definition_count(from) <= 1 {
            let number = numbers[from.index()];
            if core::mem::replace(&mut numbers[to.index()], number) != number {
                renumber(to);
            }
        }
    }
}

/// A tree that gets another shape.
struct Rebuilding<'a> {
    tree: &'a Tree,
    leaves: &'a [Leaf],
    root: Inst,
    free: SmallVec<[FreeInst; 8]>,
    /// Subtractions that become negations.
    negations: SmallVec<[Inst; 4]>,
}

impl<'a> Rebuilding<'a> {
    fn new(forest: &mut Forest<'_>, Settled { tree, leaves }: &'a Settled) -> Rebuilding<'a> {
        forest.free_negations(tree, leaves);
        let free = forest.free_insts(tree, &trees::registers(leaves));
        let negations = leaves.iter().filter_map(|leaf| leaf.negation.expand()).collect();
        Rebuilding { tree, leaves, root: forest.inst(tree.root), free, negations }
    }

    /// The instructions that are rewritten.
    fn insts(&self) -> impl Iterator<Item = Inst> {
        self.free.iter().map(|free| free.inst).chain(self.negations.iter().copied()).chain([self.root])
    }

    fn apply(self, view: &mut View<'_>, block: Block, numbers: &[u32]) {
        let module = view.module();
        // So far only the sketches were read.
        fetch(view.func(), self.insts());
        let mut rewrite = view.rewrite(|func| self.explain(module, func, block, numbers));
        for &inst in &self.negations {
            rewrite.update(inst, |data| {
                let negated = data.args.pop();
                let negation = trees::negation(data.opcode);
                *data = InstData::new(negation, data.dsts.iter().copied(), negated);
                true
            });
        }
        let mut free = self.free.into_iter();
        trees::build(&mut rewrite, self.root, self.tree.opcode, self.leaves, &mut free);
        free.for_each(|free| rewrite.remove(free.inst));
    }

    fn explain(&self, module: &Module, func: &Function, block: Block, numbers: &[u32]) -> Remark {
        let Opcode { op, ty, .. } = self.tree.opcode;
        let texts = |leaves: &[Leaf]| leaf_texts(module, func, ty, leaves);
        let (before, after) = (texts(&self.tree.leaves), texts(self.leaves));
        let ranks = self.tree.leaves.iter().map(|leaf| match leaf.value {
            Value::Const(_) => "constant".to_string(),
            Value::Reg(reg) => format!("v{}", numbers[reg.index()]),
            Value::Special(_) | Value::Symbol(_) => "first".to_string(),
        });
        let root = self.root;
        let message = format!(
            "`{}` is the root of a tree of `{}` over {}, which becomes {}",
            instruction_text(module, func, root),
            op.name(),
            before.join(", "),
            after.join(", ")
        );
        Remark::applied("reassociate", block, message)
            .at(root)
            .with("operation", Fact::Text(op.name().to_string()))
            .with("before", Fact::Words(before))
            .with("ranks", Fact::Words(ranks.take(LISTED).collect()))
            .with("after", Fact::Words(after))
            .with("leaves", Fact::Count(self.tree.leaves.len() as u64))
    }
}

/// `a`, `b`, `-c`, `5`.
fn leaf_texts(module: &Module, func: &Function, ty: Type, leaves: &[Leaf]) -> Vec<String> {
    listed(leaves.iter().map(|leaf| match leaf.negation.expand().map(|inst| func.insts[inst].args.as_slice()) {
        Some([_, negated]) => format!("-{}", value_text(module, func, ty, Value::of(negated))),
        _ => value_text(module, func, ty, leaf.value),
    }))
}

/// A list, not all of it if it is long.
fn listed(items: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let count = items.len();
    let mut texts: Vec<String> = items.take(LISTED).collect();
    if count > LISTED {
        texts.push(format!("… ({count} in all)"));
    }
    texts
}

/// A value as the text would write it.
fn value_text(module: &Module, func: &Function, ty: Type, value: Value) -> String {
    match value {
        Value::Reg(reg) => func.regs[reg].name.clone(),
        Value::Const(bits) => constant_text(bits, ty),
        Value::Special(special) => format!("{special}"),
        Value::Symbol(Symbol::Global(global)) => module.globals[global].name.clone(),
        Value::Symbol(Symbol::Array(array)) => func.arrays[array].name.clone(),
        Value::Symbol(Symbol::Param(index)) => func.params[index as usize].name.clone(),
    }
}

fn missed(view: &View<'_>, block: Block, root: Inst, refusal: Refusal) -> Remark {
    let func = view.func();
    let text = instruction_text(view.module(), func, root);
    let (rule, why) = match refusal {
        Refusal::TooLarge => ("too-large", format!("its tree has more than {MAX_LEAVES} leaves")),
        Refusal::Overwritten(reg) => (
            "overwritten",
            format!("`{}` is overwritten between where its tree reads it and here", func.regs[reg].name),
        ),
        Refusal::MoreInstructions => ("more-instructions", "its tree would take more instructions than it has".into()),
    };
    Remark::missed(rule, block, format!("`{text}` stays: {why}")).at(root)
}
