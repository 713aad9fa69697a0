//! Short vectors that a program had and its instructions have lost: registers that are computed side by side.
//!
//! ```text
//! a = ld.f32 N[3*i]          (a, b, c) is a seed: addresses side by side
//! b = ld.f32 N[3*i + 1]
//! c = ld.f32 N[3*i + 2]
//! x = mul.f32 a, l           (x, y, z) reads it in the same places of the same opcode
//! y = mul.f32 b, l
//! z = mul.f32 c, l
//! ```
//!
//! Seeds are the results of one vector load, texture read or unpacking, and loads of adjacent
//! elements in one block. From a group one goes on to the instructions that read its elements and
//! to those that computed them, where these are as many, isomorphic, independent and in one block:
//! not one of them may need another one's result. No more than four elements go into a group.
//!
//! Groups are not packed, only looked at, so nothing has to be legal but that they are zero
//! together. Bounds: the first [`MOST_READERS`] readers of each element are looked at, and each
//! instruction is in a few groups, so time is linear.
//!
//! Source: S. Larsen and S. Amarasinghe, Exploiting superword level parallelism with multimedia instruction sets, PLDI
//! 2000, sections 4.1 and 4.2; AZP, section 3.1, step 2.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use smallvec::SmallVec;

use super::dependences::Dependences;
use super::uses::{ValueUse, ValueUses};
use super::values::{Definition, Value, Values};
use crate::compact_sort::CompactSort;
use crate::graph::Cfg;
use crate::ir::{Address, AddressBase, Block, Function, Inst, Op, Opcode};

/// The values of a group, by the places where they are written.
pub(crate) type Elements = SmallVec<[Value; MOST_ELEMENTS]>;

/// Elements of a group.
pub(crate) const MOST_ELEMENTS: usize = 4;
/// Readers of an element that are looked at.
const MOST_READERS: usize = 8;
/// Loads of a block that are compared with each other to see whether there may be a seed among them.
const MOST_COMPARED: usize = 8;
/// Instructions that are looked at to see whether one element needs another.
const MOST_STEPS: usize = 64;

/// The opcode of a load, and its address without the constant part.
type LoadKey = (Opcode, Vec<(u32, i64)>);

/// Analyses of a function that finding its groups needs.
#[derive(Clone, Copy)]
pub(crate) struct VectorInput<'a> {
    /// The function.
    pub func: &'a Function,
    /// Its graph.
    pub cfg: &'a Cfg,
    /// The names of its values.
    pub values: &'a Values,
    /// Readers of the values.
    pub uses: &'a ValueUses,
    /// Dependences within its blocks.
    pub dependences: &'a Dependences,
    /// Candidates for seeds in them.
    pub seedbeds: &'a Seedbeds,
}

/// Facts about seeds from the blocks' own instructions.
pub(crate) struct Seedbeds {
    /// Place of each instruction in its block.
    places: Vec<u32>,
    /// Blocks with an instruction that may be a seed, or several loads that may be one together: a
    /// value has one register, so that addresses which are counted from the same values are counted
    /// from the same registers.
    blocks: FixedBitSet,
}

impl Seedbeds {
    /// Collects the facts of all blocks of a function.
    pub fn of(func: &Function) -> Seedbeds {
        let mut found = Seedbeds {
            places: alloc::vec![0; func.insts.len()],
            blocks: FixedBitSet::with_capacity(func.blocks.len()),
        };
        let mut loads: Vec<(Opcode, &Address)> = Vec::new();
        for block in func.block_order() {
            let mut has_seed = false;
            loads.clear();
            for (inst, place) in func.block_insts(block).zip(0..) {
                found.places[inst.index()] = place;
                let data = &func.insts[inst];
                match data.dsts.len() {
                    0 => {}
                    1 if has_seed || data.opcode.op != Op::Ld => {}
                    1 => {
                        if let Some(address) = data.address() {
                            let mut earlier = loads.iter();
                            has_seed = loads.len() >= MOST_COMPARED
                                || earlier.any(|&load| may_be_side_by_side(load, (data.opcode, address)));
                            loads.push((data.opcode, address));
                        }
                    }
                    _ => has_seed = true,
                }
            }
            found.blocks.set(block.index(), has_seed);
        }
        found
    }
}

/// Do two loads go to addresses that differ in a constant?
fn may_be_side_by_side(a: (Opcode, &Address), b: (Opcode, &Address)) -> bool {
    a.0 == b.0 && a.1.offset != b.1.offset && a.1.base == b.1.base && a.1.terms == b.1.terms
}

/// All groups of two to four values that instructions of one block write side by side, seeds first.
pub(crate) fn vectors(input: VectorInput<'_>) -> Vec<Elements> {
    let mut groups = Vec::new();
    let mut seen: BTreeSet<Elements> = BTreeSet::new();
    let mut open: VecDeque<Elements> = seeds(input).into();
    while let Some(group) = open.pop_front() {
        if group.len() < 2 || !seen.insert(group.clone()) {
            continue;
        }
        open.extend(readers(input, &group));
        open.extend(operands(input, &group));
        groups.push(group);
    }
    // The order of the elements tells nothing: they are zero together or not.
    let mut unordered = BTreeSet::new();
    groups.retain_mut(|group| {
        group.compact_sort_by_key(|&value| place(input, value));
        unordered.insert(group.clone())
    });
    groups
}

/// Place where a value is written: the instruction's place in its block, then which destination.
fn place(input: VectorInput<'_>, value: Value) -> (u32, u32) {
    match input.values.definition(value) {
        Definition::Inst { inst, index } | Definition::Guarded { inst, index, .. } => {
            (input.seedbeds.places[inst.index()], index)
        }
        Definition::Entry | Definition::Join { .. } => (0, 0),
    }
}

fn seeds(input: VectorInput<'_>) -> Vec<Elements> {
    let (func, values) = (input.func, input.values);
    let mut seeds = Vec::new();
    let is_seedbed = |&block: &Block| input.seedbeds.blocks.contains(block.index()) && input.cfg.is_reachable(block);
    for block in func.block_order().filter(is_seedbed) {
        // Loads of the block by all of their address but the constant part, which is the key's last component.
        let mut loads: BTreeMap<LoadKey, Vec<(i64, Value)>> = BTreeMap::new();
        for inst in func.block_insts(block) {
            let data = &func.insts[inst];
            let results = values.defined(inst);
            if results.len() > 1 && matches!(data.opcode.op, Op::Ld | Op::Tex1d | Op::Tex2d | Op::Mov) {
                seeds.push(results.iter().copied().take(MOST_ELEMENTS).collect());
            }
            if let (Op::Ld, Some(address), &[result]) = (data.opcode.op, data.address(), results) {
                let operands = values.operands(inst);
                let scales = matches!(address.base, AddressBase::Reg(_)).then_some(0).into_iter();
                let scales = scales.chain(address.terms.iter().map(|&(_, scale)| scale));
                let mut key: Vec<(u32, i64)> =
                    operands.iter().zip(scales).map(|(&value, scale)| (value.as_u32(), scale)).collect();
                if let AddressBase::Symbol(symbol) = address.base {
                    let (kind, number) = symbol.words();
                    key.push((u32::MAX - kind, i64::from(number)));
                }
                loads.entry((data.opcode, key)).or_default().push((address.offset, result));
            }
        }
        for ((opcode, _), mut group) in loads {
            group.compact_sort_by_key(|&(offset, _)| offset);
            group.dedup_by_key(|&mut (offset, _)| offset);
            let size = i64::from(opcode.ty.bits() / 8);
            for run in group.chunk_by(|a, b| b.0.wrapping_sub(a.0) == size) {
                seeds.extend(run.chunks(MOST_ELEMENTS).map(|run| run.iter().map(|&(_, value)| value).collect()));
            }
        }
    }
    seeds
}

/// Groups of results that read a group's elements in the same place.
fn readers(input: VectorInput<'_>, group: &Elements) -> Vec<Elements> {
    let mut found = Vec::new();
    for (inst, index) in operand_uses(input, group[0]) {
        let mut insts: Vec<Inst> = alloc::vec![inst];
        for &element in &group[1..] {
            let next = operand_uses(input, element)
                .find(|&(other, at)| at == index && !insts.contains(&other) && is_isomorphic(input, inst, other));
            match next {
                Some((other, _)) => insts.push(other),
                None => break,
            }
        }
        if insts.len() == group.len() {
            found.extend(results(input, &insts));
        }
    }
    found
}

/// Groups of values that a group's instructions read in the same place.
fn operands(input: VectorInput<'_>, group: &Elements) -> Vec<Elements> {
    let values = input.values;
    let writers: Option<Vec<Inst>> = group.iter().map(|&value| values.definition(value).inst()).collect();
    let Some(writers) = writers.filter(|writers| writers.iter().collect::<BTreeSet<_>>().len() == writers.len()) else {
        return Vec::new();
    };
    if !writers.iter().all(|&other| is_isomorphic(input, writers[0], other)) {
        return Vec::new();
    }
    let count = values.operands(writers[0]).len();
    let mut found = Vec::new();
    for index in 0..count {
        let sources: Option<Vec<Inst>> = writers
            .iter()
            .map(|&writer| {
                let source = *values.operands(writer).get(index)?;
                let Definition::Inst { inst, .. } = values.definition(source) else { return None };
                Some(inst)
            })
            .collect();
        let Some(sources) = sources else { continue };
        let is_distinct = sources.iter().collect::<BTreeSet<_>>().len() == sources.len();
        if is_distinct && sources.iter().all(|&other| is_isomorphic(input, sources[0], other)) {
            found.extend(results(input, &sources));
        }
    }
    found
}

/// The first readers of a value that are instructions, and where they read it, the guard not counted.
fn operand_uses<'a>(input: VectorInput<'a>, value: Value) -> impl Iterator<Item = (Inst, u32)> + use<'a> {
    input.uses.of(value).iter().take(MOST_READERS).filter_map(|&reader| match reader {
        ValueUse::Operand { inst, index } => Some((inst, index)),
        ValueUse::Old(_) | ValueUse::Argument(_) => None,
    })
}

/// Tests for equal opcodes with one result, in one block, without a guard.
fn is_isomorphic(input: VectorInput<'_>, a: Inst, b: Inst) -> bool {
    let func = input.func;
    let (first, second) = (&func.insts[a], &func.insts[b]);
    let block: Option<Block> = func.inst_block(a);
    first.opcode == second.opcode
        && first.dsts.len() == 1
        && second.dsts.len() == 1
        && first.guard.is_none()
        && second.guard.is_none()
        && block == func.inst_block(b)
}

/// The results of instructions of a block that do not need each other.
fn results(input: VectorInput<'_>, insts: &[Inst]) -> Option<Elements> {
    for &inst in insts {
        let mut stack = alloc::vec![inst];
        let mut steps = 0;
        while let Some(next) = stack.pop() {
            for &before in input.dependences.predecessors(next) {
                if insts.contains(&before) {
                    return None;
                }
                steps += 1;
                if steps <= MOST_STEPS {
                    stack.push(before);
                }
            }
        }
    }
    insts.iter().map(|&inst| input.values.defined(inst).first().copied()).collect()
}
