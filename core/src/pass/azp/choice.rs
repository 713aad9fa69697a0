//! For which candidate a round transforms.
//!
//! ```text
//! number  gains   passes
//! 3       630.2   yes
//! 7       630.2   yes          3 is chosen: both gain most, and it has the smaller number
//! 9       911.0   no
//! ```
//!
//! The best is the passing one that gains most. Of those that gain as much, but for what rounding makes, it is the one that
//! stands first in the text; vectors stand behind scalars.
//!
//! Linear in the candidates, and in the blocks where several gain the same.
//!
//! Source: AZP, section 3.3.2, step 5.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::kept::{Kept, Place};
use super::opportunity::Refusal;
use super::scene::Scene;
use super::{Judged, Versioned};
use crate::ir::Block;

/// Relative difference of two gains that rounding may cause.
const ROUNDING: f64 = 1e-9;

/// See the file's head.
pub(super) enum Choice<'a> {
    /// The best that passes.
    Best,
    /// The best that passes, but for these.
    BestBut(&'a BTreeSet<Versioned>),
    /// This one.
    Only(&'a Versioned),
    /// The one of this number, if anything gains.
    Number(u32),
    /// None.
    Nothing,
}

impl Choice<'_> {
    /// The candidate that is chosen, of those that have an estimate.
    pub fn among(&self, scene: &Scene<'_>, kept: &Kept, judged: &[Place]) -> Option<Place> {
        let find = |is_meant: &dyn Fn(&Judged) -> bool| {
            judged.iter().copied().find(|&place| kept.judged(place).is_some_and(is_meant))
        };
        match self {
            Choice::Nothing => None,
            Choice::Only(name) => find(&|judged| judged.name == **name),
            Choice::Number(number) => find(&|judged| {
                let is_possible = matches!(judged.verdict, Ok(()) | Err(Refusal::Gain | Refusal::Threshold));
                judged.candidate.number == *number && is_possible
            }),
            Choice::Best | Choice::BestBut(_) => {
                let passing = judged.iter().filter_map(|&place| Some((place, kept.score(place)?)));
                let free = passing.filter(|&(place, _)| self.is_free(kept, place));
                let best = free.clone().map(|(_, score)| score).reduce(f64::max)?;
                let equals = free.filter(|&(_, score)| score >= best - best.abs() * ROUNDING);
                first_in_text(scene, kept, &equals.map(|(place, _)| place).collect::<Vec<Place>>())
            }
        }
    }

    fn is_free(&self, kept: &Kept, place: Place) -> bool {
        match self {
            Choice::BestBut(refused) => kept.judged(place).is_some_and(|judged| !refused.contains(&judged.name)),
            _ => true,
        }
    }
}

/// The one whose number is the smallest, if all of them were numbered.
fn first_in_text(scene: &Scene<'_>, kept: &Kept, places: &[Place]) -> Option<Place> {
    if let [only] = *places {
        return Some(only);
    }
    let func = scene.func;
    let named = places.iter().filter_map(|&place| Some((place, &kept.judged(place)?.name)));
    let block_of = |name: &Versioned| func.inst_block(name.first()?.0);
    let blocks: BTreeSet<Block> = named.clone().filter_map(|(_, name)| block_of(name)).collect();
    let order: Vec<Block> = func.block_order().filter(|block| blocks.contains(block)).collect();
    let place_in_text = |name: &Versioned| {
        let writes = name.iter().map(|&(inst, reg)| {
            let dst = func.insts[inst].dsts.iter().position(|&dst| dst == reg);
            (scene.place(inst), dst)
        });
        let block = block_of(name).and_then(|block| order.iter().position(|&other| other == block));
        (name.len() > 1, block, writes.collect::<Vec<_>>())
    };
    named.min_by_key(|(_, name)| place_in_text(name)).map(|(place, _)| place)
}
