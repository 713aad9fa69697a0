//! Has a read of a copied region perhaps lost its last assignment?
//!
//! ```text
//! n1: …                              n1: … br t2, n1_rest_1, n1_rest
//!     @q x = mov.u32 1        ──▶    n1_rest_1: y = add.u32 x, n                  q is false: nothing assigns x here
//!     y = add.u32 x, n               n1_rest: @q x = mov.u32 1; y = add.u32 x, n  as it was
//! ```
//!
//! Only reads of the copy are asked about. All ways that the function had lead through the slow version now, with all that
//! they assigned, so that some way still assigns what is read anywhere else.
//!
//! A read of the copy is answered by an assignment that stands before it in its block; in a copied block from which control
//! comes to it; or before the check, in what stays of the check's block or in a block from which control comes there. Where
//! nothing answers, there may be an assignment all the same, further on in a loop: a "no" is sure, a "yes" is to be looked
//! at with [`unassigned_reads`](crate::verify::unassigned_reads).
//!
//! Linear in the copy, times the registers asked about over 64, and in the blocks that are gone back through from the
//! check until every register that was not answered in the copy has been met. The names of values answer for most of these
//! without going back.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;

use super::scene::Scene;
use super::stamped::Stamped;
use super::transformation::CopyOf;
use crate::flow::{Definition, Value};
use crate::ir::{Block, Inst, Reg};

/// See the file's head. The head's part is the first copy, the others follow in reverse postorder; `behind` are the head's
/// instructions that do not stay before the check, `hoisted` those that come there.
pub(super) fn may_read_unassigned(
    scene: &Scene<'_>,
    head: Block,
    behind: &[Inst],
    hoisted: &[Inst],
    copies: &[CopyOf],
) -> bool {
    let questions = questions(scene, copies);
    let mut open = unanswered_inside(scene, head, copies, &questions);
    if open.is_empty() {
        return false;
    }
    let mut behind = behind.iter().peekable();
    let stays = scene.func.block_insts(head).filter(|inst| behind.next_if_eq(&inst).is_none());
    answer(scene, stays.chain(hoisted.iter().copied()), &mut open);
    answer_by_names(scene, head, copies, &mut open);
    let cfg = &scene.known.cfg;
    let mut seen = FixedBitSet::with_capacity(scene.func.blocks.len());
    let mut work: Vec<Block> = cfg.predecessors(head).to_vec();
    while let Some(block) = work.pop().filter(|_| !open.is_empty()) {
        if cfg.is_reachable(block) && !seen.put(block.index()) {
            answer(scene, scene.func.block_insts(block), &mut open);
            work.extend(cfg.predecessors(block));
        }
    }
    !open.is_empty()
}

/// Leaves out what is read, before anything is copied, as the value of an instruction above the check, or as a join there,
/// which some instruction leads to.
fn answer_by_names(scene: &Scene<'_>, head: Block, copies: &[CopyOf], open: &mut BTreeSet<Reg>) {
    let (values, dominators) = (&scene.known.values, &scene.known.dominators);
    let is_assigned_above = |&&value: &&Value| match values.definition(value) {
        Definition::Entry => false,
        Definition::Inst { inst, .. } | Definition::Guarded { inst, .. } => {
            scene.func.inst_block(inst).is_some_and(|block| dominators.strictly_dominates(block, head))
        }
        Definition::Join { block } => dominators.dominates(block, head),
    };
    for &(original, _) in copies.iter().flat_map(|copy| &copy.insts) {
        if open.is_empty() {
            break;
        }
        for value in values.used(original).iter().filter(is_assigned_above) {
            open.remove(&values.reg(*value));
        }
    }
}

/// Registers that each copy reads before it assigns them, each once.
fn questions(scene: &Scene<'_>, copies: &[CopyOf]) -> Vec<Vec<Reg>> {
    let func = scene.func;
    let mut answered: Stamped<Reg, ()> = Stamped::new(func.regs.len());
    let mut of_copy = |copy: &CopyOf| {
        answered.clear();
        let mut asked = Vec::new();
        for reg in func.params.iter().filter_map(|param| param.reg) {
            answered.set(reg, ());
        }
        for (_, data) in &copy.insts {
            data.for_each_use(|reg| {
                if answered.set(reg, ()) {
                    asked.push(reg);
                }
            });
            for &dst in &data.dsts {
                answered.set(dst, ());
            }
        }
        asked
    };
    copies.iter().map(&mut of_copy).collect()
}

/// The registers that a copied block asks about and none assigns from which control comes there without a loop.
fn unanswered_inside(scene: &Scene<'_>, head: Block, copies: &[CopyOf], questions: &[Vec<Reg>]) -> BTreeSet<Reg> {
    let mut numbers: Stamped<Reg, u32> = Stamped::new(scene.func.regs.len());
    for &reg in questions.iter().flatten() {
        if !numbers.contains(reg) {
            numbers.set(reg, numbers.keys().len() as u32);
        }
    }
    let mut places: Stamped<Block, u32> = Stamped::new(scene.func.blocks.len());
    for (copy, place) in copies.iter().zip(0..) {
        places.set(copy.block, place);
    }
    // By copy: what is assigned on some way to it through others.
    let mut assigned = vec![FixedBitSet::with_capacity(numbers.keys().len()); copies.len()];
    let mut open = BTreeSet::new();
    for (place, (copy, questions)) in copies.iter().zip(questions).enumerate() {
        let mut here = core::mem::take(&mut assigned[place]);
        let number = |&reg: &Reg| numbers.get(reg).map(|number| number as usize);
        let is_open = |reg: &&Reg| number(reg).is_some_and(|number| !here.contains(number));
        open.extend(questions.iter().filter(is_open).copied());
        for (_, data) in &copy.insts {
            data.dsts.iter().filter_map(number).for_each(|number| here.insert(number));
        }
        let targets = copy.insts.last().map_or(&[][..], |(_, data)| data.targets());
        for &target in targets.iter().filter(|&&target| target != head) {
            if let Some(next) = places.get(target).map(|next| next as usize).filter(|&next| next > place) {
                assigned[next].union_with(&here);
            }
        }
    }
    open
}

/// Leaves out what instructions assign.
fn answer(scene: &Scene<'_>, insts: impl Iterator<Item = Inst>, open: &mut BTreeSet<Reg>) {
    for inst in insts {
        for dst in &scene.func.insts[inst].dsts {
            open.remove(dst);
        }
    }
}
