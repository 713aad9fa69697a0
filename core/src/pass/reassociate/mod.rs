//! Reassociation: trees of one operation get one canonical shape, whatever order they were written
//! in, and repeated computations of a block become copies.
//!
//! ```text
//! n1: t = add a, b ; x = add t, c            n1: t = add a, b ; x = add t, c
//! n2: u = add a, c ; y = add u, b     ──▶    n2: u = add a, b ; y = add u, c
//! ```
//!
//! 1. Rank registers: a copy has the rank of its source ([`ranks`]).
//! 2. Visit the blocks in reverse postorder and collect definitions and uses ([`block_uses`]).
//! 3. Visit the roots of a block from its end. Take the common factor of products out of a sum
//!    ([`distribution`]), or else flatten the tree of the root ([`trees`]) and rebuild it from its
//!    leaves sorted by rank, leaning to the left ([`rebuild`]).
//! 4. Turn computations that the last instructions of the block repeat into copies ([`commoning`]).
//! 5. Visit again the blocks in which a step may find more, and those that mention a register whose
//!    rank changed or that is no longer live between blocks, until there are none.
//!
//! Sound as its three parts are. No tree gets more instructions than it had. Trees of the same
//! leaves have the same prefixes afterwards, in one block or in two.
//!
//! Cost: O(n log n) in the instructions for each round.
//!
//! Limits: [`MAX_ROUNDS`] rounds; the remark `max-rounds` tells, and without it a second run of the
//! pass finds nothing. The remark `budget` tells of instructions that the knob leaves out.
//!
//! Source: ptxas page, phase 50 (OriReassociateAndCommon); P. Briggs and K. Cooper, Effective
//! partial redundancy elimination, PLDI 1994, section 3.1 (sorting operands by rank).

mod block_map;
mod block_uses;
mod commoning;
mod distribution;
mod ranks;
mod rebuild;
mod remarks;
mod trees;

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ops::Range;

use cranelift_entity::{EntityRef, SecondaryMap};
use fixedbitset::FixedBitSet;

use super::{Knob, KnobKind, Pass, PassError, PassInfo, Settings};
use crate::graph::Cfg;
use crate::ir::{Block, Function, Op, Reg};
use crate::pass::support::rounds::tell_max_rounds;
use crate::trace::Remark;
use crate::view::View;
use block_uses::{BlockUses, Slot};
use commoning::Commoning;
use distribution::Hindrance;
use ranks::Ranks;
use rebuild::Rebuilding;
use trees::{Forest, Licence, Outcome, Owners, Refusal};

/// The pass stops after that many rounds, with a remark.
const MAX_ROUNDS: usize = 16;

/// Reassociation and commoning; the header of this file describes them.
pub struct Reassociate;

impl Pass for Reassociate {
    const INFO: PassInfo = PassInfo {
        name: "reassociate",
        paper: "ptxas page, phase 50, OriReassociateAndCommon",
        summary: "Sorts the operands of sums, products and bitwise trees, commons what then repeats, factors products.",
        knobs: &[
            Knob {
                name: "AllowReassociateCSE",
                label: "Merge repeated computations",
                kind: KnobKind::Switch { default: true },
                help: "common what repeats inside a block once trees are sorted",
            },
            Knob {
                name: "ReassociateCSEBudget",
                label: "Instructions visited",
                kind: KnobKind::Integer { default: 1_000_000_000, min: 0, max: 1_000_000_000 },
                help: "instructions of a function that are looked at, from its entry on",
            },
            Knob {
                name: "ReassociateCSEWindow",
                label: "Search distance",
                kind: KnobKind::Integer { default: 1_000, min: 0, max: 1_000_000_000 },
                help: "instructions back to where commoning looks for the same computation",
            },
            Knob {
                name: "ReassociateCSESkip",
                label: "Instructions skipped",
                kind: KnobKind::Integer { default: 0, min: 0, max: 1_000_000_000 },
                help: "instructions at the entry of a function that are left as they are",
            },
            // In our machine models an immediate operand costs the same at every width. On the
            // vendor's machines a wide one has to be moved into a register first.
            Knob {
                name: "ReassociateLargeImmInUIADD64",
                label: "Large 64-bit constants",
                kind: KnobKind::Switch { default: true },
                help: "add up constants of 64-bit additions although the sum does not fit 32 bits",
            },
            Knob {
                name: "DistributeAndReassociateMulBudget",
                label: "Sums with common factors",
                kind: KnobKind::Integer { default: 1_000_000, min: 0, max: 1_000_000_000 },
                help: "sums of a function from whose products a common factor is taken out",
            },
        ],
        needs_fast_math: false,
    };

    fn run(view: &mut View<'_>, settings: &Settings) -> Result<(), PassError> {
        Reassociation::new(view, settings).run(view);
        Ok(())
    }
}

/// The kinds of trees in a block. Sums of products contain `mad`, trees of one operation do not, so
/// that each kind has owners of its own.
#[derive(Clone, Copy)]
enum Kind {
    Trees,
    Sums,
}

/// Effects of visiting the roots of a block.
#[derive(Default)]
struct Effects {
    /// Instructions were rewritten.
    is_changed: bool,
    /// A second visit may find more even if nothing was refused.
    may_find_more: bool,
    /// A tree or sum was refused because of a write that a later rewrite may have moved.
    is_overwritten: bool,
}

/// State of one run of the pass.
struct Reassociation {
    cfg: Rc<Cfg>,
    licence: Licence,
    ranks: Ranks,
    /// Registers that are live between blocks.
    globals: FixedBitSet,
    uses: BlockUses,
    tree_owners: Owners,
    sum_owners: Owners,
    commoning: Option<Commoning>,
    /// Instructions that take part, by their position in reverse postorder.
    range: Range<u64>,
    /// Position of the first instruction of each block.
    firsts: SecondaryMap<Block, u64>,
    /// Instructions of the function before the pass.
    count: u64,
    /// Sums that may still be factored.
    distributions: i64,
    /// Refusals of the last visit to each block.
    misses: SecondaryMap<Block, Vec<Remark>>,
}

impl Reassociation {
    fn new(view: &mut View<'_>, settings: &Settings) -> Reassociation {
        let (cfg, knobs) = (view.cfg(), &settings.knobs);
        let (mut firsts, mut count) = (SecondaryMap::new(), 0);
        for &block in cfg.reverse_postorder() {
            firsts[block] = count;
            count += view.func().block_insts(block).count() as u64;
        }
        let commoning = || Commoning::new(knobs.integer("ReassociateCSEWindow") as u64);
        Reassociation {
            cfg,
            licence: Licence {
                fast_math: settings.fast_math,
                large_sums: knobs.switch("ReassociateLargeImmInUIADD64"),
            },
            ranks: Ranks::new(),
            globals: FixedBitSet::new(),
            uses: BlockUses::new(),
            tree_owners: Owners::new(),
            sum_owners: Owners::new(),
            commoning: knobs.switch("AllowReassociateCSE").then(commoning),
            range: knobs.integer("ReassociateCSESkip") as u64..knobs.integer("ReassociateCSEBudget") as u64,
            firsts,
            count,
            distributions: knobs.integer("DistributeAndReassociateMulBudget"),
            misses: SecondaryMap::new(),
        }
    }

    fn run(&mut self, view: &mut View<'_>) {
        let cfg = self.cfg.clone();
        self.update_facts(view.func());
        let mut to_visit = FixedBitSet::with_capacity(cfg.block_count());
        to_visit.insert_range(..);
        for _ in 0..MAX_ROUNDS {
            let mut next = FixedBitSet::with_capacity(cfg.block_count());
            for &block in cfg.reverse_postorder().iter().filter(|block| to_visit.contains(block.index())) {
                next.set(block.index(), self.visit(view, block));
            }
            to_visit = next;
            if to_visit.is_clear() {
                break;
            }
            let changed = self.update_facts(view.func());
            self.add_mentions(view.func(), &changed, &mut to_visit);
        }
        self.report_misses(view, !to_visit.is_clear());
    }

    /// Updates ranks and global registers. Gives the registers whose rank changed or that are no
    /// longer global.
    fn update_facts(&mut self, func: &Function) -> FixedBitSet {
        let globals = block_uses::find_globals(func);
        let mut changed = core::mem::replace(&mut self.globals, globals);
        changed.difference_with(&self.globals);
        changed.grow(func.regs.len());
        self.ranks.update(func, &self.cfg, |reg| changed.insert(reg.index()));
        changed
    }

    /// Adds the blocks that mention one of these registers.
    fn add_mentions(&self, func: &Function, regs: &FixedBitSet, blocks: &mut FixedBitSet) {
        if regs.is_clear() {
            return;
        }
        for &block in self.cfg.reverse_postorder() {
            let is_mentioned = func.block_insts(block).any(|inst| {
                let data = &func.insts[inst];
                let mut is_mentioned = data.dsts.iter().any(|dst| regs.contains(dst.index()));
                data.for_each_use(|reg: Reg| is_mentioned |= regs.contains(reg.index()));
                is_mentioned
            });
            if is_mentioned {
                blocks.insert(block.index());
            }
        }
    }

    /// Rebuilds, factors and commons in a block. True if a second visit may find more.
    fn visit(&mut self, view: &mut View<'_>, block: Block) -> bool {
        let (range, first) = (self.range.clone(), self.firsts[block]);
        let takes_part = move |place: u64| range.contains(&(first + place));
        self.misses[block].clear();
        self.uses.collect(view.func(), block, &self.globals, self.licence);
        let may_find_more = self.visit_roots(view, block, &takes_part);
        let Some(commoning) = &mut self.commoning else { return may_find_more };
        commoning.visit(view, block, takes_part, &mut self.misses[block]) || may_find_more
    }

    /// The trees or the sums of the block that is visited.
    fn forest<'a>(&'a mut self, func: &'a Function, kind: Kind) -> Forest<'a> {
        let owners = match kind {
            Kind::Trees => &mut self.tree_owners,
            Kind::Sums => &mut self.sum_owners,
        };
        Forest { func, uses: &self.uses, licence: self.licence, ranks: &self.ranks, owners }
    }

    /// Visits the roots of the block from its end. True if a second visit may find more.
    fn visit_roots(&mut self, view: &mut View<'_>, block: Block, takes_part: impl Fn(u64) -> bool) -> bool {
        self.tree_owners.clear();
        self.sum_owners.clear();
        let mut effects = Effects::default();
        for root in self.uses.slots.keys().rev() {
            if takes_part(root.as_u32().into()) && self.forest(view.func(), Kind::Trees).is_free(root) {
                self.visit_root(view, block, root, &mut effects);
            }
        }
        effects.may_find_more || effects.is_changed && effects.is_overwritten
    }

    /// Factors the sum of a root, or else rebuilds its tree.
    fn visit_root(&mut self, view: &mut View<'_>, block: Block, root: Slot, effects: &mut Effects) {
        let mut forest = self.forest(view.func(), Kind::Trees);
        if forest.adds_products(root) {
            self.factor(view, block, root, effects);
            return;
        }
        if !forest.is_root(root) {
            return;
        }
        let (tree, outcome) = forest.settle(root);
        let is_too_large = matches!(outcome, Outcome::Refused(Refusal::TooLarge));
        let products = if is_too_large { 0 } else { forest.count_products(&tree) };
        let has_products = products > 1;
        if has_products {
            forest.disown(&tree);
            if self.factor(view, block, root, effects) {
                return;
            }
            self.forest(view.func(), Kind::Trees).own(&tree);
        }
        match outcome {
            Outcome::Canonical => {}
            Outcome::Refused(refusal) => {
                effects.is_overwritten |= matches!(refusal, Refusal::Overwritten(_));
                if view.is_traced() {
                    let inst = self.uses.slots[root].inst;
                    self.misses[block].push(remarks::not_rebuilt(view, block, inst, refusal));
                }
            }
            Outcome::Rebuilt(leaves) => {
                effects.is_changed = true;
                // Results that canceled leaves read may be part of other trees now. A sum may have
                // products with other factors, or products where there was a subtraction. A factor
                // or a sum with a product may be part of a sum that was visited before.
                let is_read_once = self.uses.op_read_once(root.into()).is_some();
                let is_part = is_read_once && (tree.opcode.op == Op::Mul || products > 0);
                effects.may_find_more |= leaves.len() < tree.leaves.len() || has_products || is_part;
                let mut forest = self.forest(view.func(), Kind::Trees);
                Rebuilding::new(&mut forest, &tree, &leaves).apply(view, block, &self.ranks);
            }
        }
    }

    /// Takes the common factor out of the sum of a root. True if there was one.
    fn factor(&mut self, view: &mut View<'_>, block: Block, root: Slot, effects: &mut Effects) -> bool {
        let mut sums = self.forest(view.func(), Kind::Sums);
        if !sums.is_free(root) {
            return false;
        }
        let plan = match distribution::find(&mut sums, root) {
            Ok(plan) => plan,
            Err(hindrance) => {
                effects.is_overwritten |= hindrance == Hindrance::Overwritten;
                return false;
            }
        };
        if self.distributions == 0 {
            if view.is_traced() {
                self.misses[block].push(remarks::not_factored(view, block, plan.root));
            }
            return false;
        }
        self.distributions -= 1;
        self.forest(view.func(), Kind::Trees).own_all(root, &plan.slots);
        let module = view.module();
        let mut rewrite = view.rewrite(|func| remarks::factored(module, func, block, &plan));
        plan.apply(&mut rewrite);
        rewrite.finish();
        (effects.is_changed, effects.may_find_more) = (true, true);
        true
    }

    fn report_misses(&mut self, view: &mut View<'_>, is_unfinished: bool) {
        for &block in self.cfg.reverse_postorder() {
            core::mem::take(&mut self.misses[block]).into_iter().for_each(|remark| view.miss(|_| remark));
        }
        let Some(entry) = view.func().entry_block() else { return };
        if is_unfinished {
            tell_max_rounds(view, MAX_ROUNDS as u64, "each of which found work");
        }
        if self.count > self.range.end {
            view.miss(|_| remarks::over_budget(entry, self.count, self.range.end));
        }
    }
}
