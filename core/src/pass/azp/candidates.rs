//! Candidates for versioning variables: register writes, and groups of them that a program treats as short vectors.
//!
//! ```text
//! {x, y, z, w} = tex.2d T, u, v     candidates 1 2 3 4: x, y, z, w; 5: (x, y, z, w)
//! a = mul.f32 x, s                  6: a        the products are isomorphic and stem from the texture, so with
//! b = mul.f32 y, s                  7: b        8: c      (a, b, c) is a candidate too
//! c = mul.f32 z, s                  k = mov.f32 1.0 and r = mov.f32 a are none
//! ```
//!
//! Every register write is a scalar candidate, except moves. A predicate is zero where it is false, and stands in no vector.
//! Each has a number, by its place in the text; vectors come behind them. What the profile says decides which are looked
//! at: a scalar from `p_thresh` on, a vector without the elements that are below it, if two are left. Its probability is
//! the product of theirs, and beside it stands the share in which they were counted to be zero together, where the profile
//! tells that of just these. A result that is zero because an operand is (a product, a shift, a negation) is not looked at
//! where that operand is a candidate at least as likely: specialising for the operand specialises for the result.
//!
//! Linear in the instructions and operands. What a write is stays known from one round to the next where nothing has changed
//! that it depends on ([`Standings`]): then a round only counts it.
//!
//! Source: AZP, sections 3.1 and 3.3.1.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::Versioned;
use super::hoisting::Hoist;
use super::kept::Changed;
use super::opportunity::reg_of;
use super::scene::Scene;
use super::special::{has_zero_comparison, has_zero_test};
use crate::flow::{Elements, Value};
use crate::ir::{Block, Function, Inst, InstData, Op, Reg};

/// A candidate that is estimated.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Candidate {
    /// Its number, from 1.
    pub number: u32,
    /// The values that have to be zero, by their instructions' places.
    pub values: Elements,
    /// The probability (0–1) that they are, in all lanes of a warp.
    pub probability: f64,
    /// Joint probability as it was counted, of several values. The pass decides by the product; where they differ, the values are not
    /// independent.
    pub joint: Option<f64>,
    /// Place of its check, if that is above its block.
    pub hoist: Option<Hoist>,
}

/// The values that are written.
pub(super) fn values_of(scene: &Scene<'_>, name: &[(Inst, Reg)]) -> Elements {
    let value = |&(inst, reg): &(Inst, Reg)| {
        let place = scene.func.insts[inst].dsts.iter().position(|&dst| dst == reg)?;
        scene.known.values.defined(inst).get(place).copied()
    };
    name.iter().filter_map(value).collect()
}

/// A scalar that is not looked at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Filtered {
    /// Its number, from 1.
    pub number: u32,
    /// Instruction that writes it.
    pub inst: Inst,
    /// Its register.
    pub reg: Reg,
    /// The probability (0–1) that it is zero, in all lanes of a warp.
    pub probability: f64,
    /// Why not.
    pub why: WhyNot,
}

/// Why a scalar is not looked at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum WhyNot {
    /// It is zero too seldom.
    Unlikely(f64),
    /// It is zero where this one is, which is at least as likely.
    Propagator(Reg),
    /// Its arithmetic is not that of real numbers without the licence.
    NeedsLicence,
    /// There is no comparison with zero for its type, which is no predicate.
    Untestable,
}

impl Candidate {
    /// Its registers.
    pub fn regs(&self, scene: &Scene<'_>) -> SmallVec<[Reg; 4]> {
        self.values.iter().map(|&value| reg_of(scene, value)).collect()
    }
}

/// All candidates with their numbers, whatever a profile says.
pub(super) struct Numbered {
    /// Writes of one register.
    pub scalars: Vec<(u32, Inst, Value)>,
    /// Groups of them.
    pub vectors: Vec<(u32, Elements)>,
}

impl Numbered {
    /// Numbers the candidates of a scene.
    pub fn of(scene: &Scene<'_>) -> Numbered {
        let values = &scene.known.values;
        let results =
            scalar_writers(scene.func).flat_map(|inst| values.defined(inst).iter().map(move |&value| (inst, value)));
        let scalars: Vec<_> = (1..).zip(results).map(|(number, (inst, value))| (number, inst, value)).collect();
        let vectors = (scalars.len() as u32 + 1..).zip(scene.vectors()).collect();
        Numbered { scalars, vectors }
    }
}

/// Knowledge of an instruction's writes as candidates.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Standing {
    /// Nothing.
    #[default]
    Unknown,
    /// They are none.
    None,
    /// It is one that no profile speaks of.
    Untold,
    /// It is one that is not looked at.
    Filtered,
    /// It is one, of this register, that is worth a look.
    Listed(Reg),
    /// They are several.
    Several,
}

/// Knowledge of writes as candidates from one round to the next. It depends on the instruction, on where what it reads
/// comes from, and on what the profile says of both.
#[derive(Default)]
pub(super) struct Standings {
    of_insts: Vec<Standing>,
    /// Blocks in which there is nothing to look at, as far as is known: nothing is worth a look, or what came of it is kept.
    settled: FixedBitSet,
}

impl Standings {
    /// Forgets what a transformation may have changed, with the blocks whose instructions are others than before; all of it
    /// where that cannot be told.
    pub fn forget(&mut self, func: &Function, changed: Option<(&Changed, &[Block])>) {
        let Some((changed, blocks)) = changed else {
            *self = Standings::default();
            return;
        };
        self.settled.grow(func.blocks.len());
        for inst in changed.insts() {
            if let Some(standing) = self.of_insts.get_mut(inst.index()) {
                *standing = Standing::Unknown;
            }
            self.look_again(func, inst);
        }
        blocks.iter().for_each(|block| self.settled.set(block.index(), false));
    }

    /// There is something to look at again where an instruction stands.
    pub fn look_again(&mut self, func: &Function, inst: Inst) {
        if let Some(block) = func.inst_block(inst) {
            self.settled.set(block.index(), false);
        }
    }
}

/// Calls `list` with the number of what is worth a look, its writes, how probably all are of zero, and what was counted of
/// several; it says whether what comes of it is kept. Gives what of the rest the profile speaks of is not, and why. Without
/// `names_all` it calls and gives nothing of single writes that is known already, and numbers only rise as they should.
pub(super) fn candidates(
    scene: &Scene<'_>,
    p_thresh: f64,
    standings: &mut Standings,
    names_all: bool,
    mut list: impl FnMut(u32, &[(Inst, Reg)], f64, Option<f64>) -> bool,
) -> Vec<Filtered> {
    let (func, values) = (scene.func, &scene.known.values);
    let mut filtered = Vec::new();
    let mut last_number = 0;
    let Standings { of_insts, settled } = standings;
    of_insts.resize(func.insts.len(), Standing::Unknown);
    settled.grow(func.blocks.len());
    for block in func.block_order() {
        if settled.contains(block.index()) && !names_all {
            continue;
        }
        let mut is_settled = true;
        for inst in func.block_insts(block) {
            let (mut standing, mut why) = (of_insts[inst.index()], None);
            if standing == Standing::Unknown {
                (standing, why) = standing_of(scene, inst, p_thresh);
                of_insts[inst.index()] = standing;
            }
            debug_assert_eq!(standing, standing_of(scene, inst, p_thresh).0, "another one than when it was seen");
            match standing {
                Standing::Unknown | Standing::None => continue,
                Standing::Untold => last_number += 1,
                Standing::Filtered if !names_all => last_number += 1,
                Standing::Listed(reg) => {
                    last_number += 1;
                    if let Some(probability) = scene.zeros.probability(inst, reg) {
                        is_settled &= list(last_number, &[(inst, reg)], probability, None);
                    }
                }
                Standing::Filtered | Standing::Several => {
                    let data = &func.insts[inst];
                    for (&reg, place) in data.dsts.iter().zip(0..) {
                        if data.overwrites_dst(place) {
                            continue;
                        }
                        last_number += 1;
                        let number = last_number;
                        let Some(probability) = scene.zeros.probability(inst, reg) else { continue };
                        if why.is_none() {
                            why = filter(scene, inst, values.defined(inst)[place], probability, p_thresh);
                        }
                        match why.take() {
                            None => is_settled &= list(number, &[(inst, reg)], probability, None),
                            Some(why) => filtered.push(Filtered { number, inst, reg, probability, why }),
                        }
                    }
                }
            }
        }
        settled.set(block.index(), is_settled);
    }
    let mut seen: BTreeSet<Elements> = BTreeSet::new();
    for (number, group) in (last_number + 1..).zip(scene.vectors()) {
        let (mut likely, mut name) = (Elements::new(), Versioned::new());
        let mut probability = 1.0;
        for &value in &group {
            let Some(inst) = values.definition(value).inst() else { continue };
            let reg = reg_of(scene, value);
            let place = values.defined(inst).iter().position(|&defined| defined == value);
            if place.is_some_and(|place| func.insts[inst].overwrites_dst(place)) {
                continue;
            }
            let Some(own) = scene.zeros.probability(inst, reg) else { continue };
            let is_usable = own >= p_thresh
                && has_zero_comparison(func, reg)
                && (scene.fast_math || !func.reg_types[reg].is_float());
            if is_usable {
                likely.push(value);
                name.push((inst, reg));
                probability *= own;
            }
        }
        if likely.len() >= 2 && seen.insert(likely.clone()) {
            let joint = scene.zeros.of_values(values, &likely);
            list(number, &name, probability, joint);
        }
    }
    filtered
}

/// Standing of an instruction's writes as candidates; for ignored ones with the reason.
fn standing_of(scene: &Scene<'_>, inst: Inst, p_thresh: f64) -> (Standing, Option<WhyNot>) {
    let data = &scene.func.insts[inst];
    match *data.dsts {
        _ if !is_scalar_writer(data) => (Standing::None, None),
        [] => (Standing::None, None),
        [reg] => match scene.zeros.probability(inst, reg) {
            None => (Standing::Untold, None),
            Some(probability) => {
                let value = scene.known.values.defined(inst)[0];
                match filter(scene, inst, value, probability, p_thresh) {
                    None => (Standing::Listed(reg), None),
                    why => (Standing::Filtered, why),
                }
            }
        },
        _ => (Standing::Several, None),
    }
}

/// Instructions whose writes are candidates, in text order. Behind a terminator there is no place for a check.
fn scalar_writers(func: &Function) -> impl Iterator<Item = Inst> + '_ {
    let insts = func.block_order().flat_map(|block| func.block_insts(block));
    insts.filter(|&inst| is_scalar_writer(&func.insts[inst]))
}

fn is_scalar_writer(data: &InstData) -> bool {
    !data.is_terminator() && (data.opcode.op != Op::Mov || data.dsts.len() > 1)
}

fn filter(scene: &Scene<'_>, inst: Inst, value: Value, probability: f64, p_thresh: f64) -> Option<WhyNot> {
    let func = scene.func;
    if probability < p_thresh {
        return Some(WhyNot::Unlikely(probability));
    }
    let reg = reg_of(scene, value);
    if !has_zero_test(func, reg) {
        return Some(WhyNot::Untestable);
    }
    if func.reg_types[reg].is_float() && !scene.fast_math {
        return Some(WhyNot::NeedsLicence);
    }
    let values = &scene.known.values;
    for (index, &operand) in values.used(inst).iter().enumerate() {
        let likelier = scene.zeros.of_value(values, operand).is_some_and(|other| other >= probability);
        let is_candidate = values.definition(operand).inst().is_some_and(|inst| {
            func.inst_block(inst).is_some()
                && (func.insts[inst].opcode.op != Op::Mov || func.insts[inst].dsts.len() > 1)
        });
        if likelier && is_candidate && scene.propagates_zero(inst, index) {
            return Some(WhyNot::Propagator(values.reg(operand)));
        }
    }
    None
}
