//! One side of a branch: what stands in it, and whether an instruction of it could as well come first.
//!
//! ```text
//! a: x = add.u32 n, 1        0      `y` may come first: nothing in front of it reads or writes `y`, or writes `n`
//!    y = mul.u32 n, 5        1
//!    z = add.u32 x, y        2      not `z` as long as `x` and `y` stand in front of it
//! ```
//!
//! For each register the places that read and write it are kept in order; what has been hoisted is
//! dropped when it stands foremost, so that all questions together are linear in the side.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::alias::{AliasAnalysis, Effect, Moment, Relation};
use crate::compact_sort::CompactSort;
use crate::ir::{Block, Function, Guard, Inst, InstData, Op, Opcode, Operand, Reg, Space};

/// Accesses in front of a load that are compared with it.
const MOST_COMPARED: usize = 64;

/// Properties that make two instructions equal, but for their destinations.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Opcode, Option<Guard>, Vec<Operand>);

impl Key {
    /// Creates the key of an instruction; commuted operands make no difference.
    pub fn of(data: &InstData) -> Key {
        let mut args = data.args.to_vec();
        if data.opcode.op.is_commutative() && args.len() >= 2 {
            args[..2].compact_sort();
        }
        Key(data.opcode, data.guard, args)
    }
}

/// Places in order, of which the foremost may be gone.
#[derive(Default)]
struct Places {
    places: Vec<usize>,
    first: usize,
}

impl Places {
    fn first(&mut self, is_gone: &[bool]) -> Option<usize> {
        while self.places.get(self.first).is_some_and(|&place| is_gone[place]) {
            self.first += 1;
        }
        self.places.get(self.first).copied()
    }
}

/// A side of a branch.
pub struct Side {
    block: Block,
    insts: Vec<Inst>,
    reads: BTreeMap<Reg, Places>,
    writes: BTreeMap<Reg, Places>,
    /// Places that no longer read what they read, and no longer write what they write.
    reads_are_gone: Vec<bool>,
    writes_are_gone: Vec<bool>,
    /// Places that order or write memory, or may do so.
    effects: Vec<usize>,
}

impl Side {
    /// A block without its terminator.
    pub fn of(func: &Function, block: Block) -> Side {
        let insts: Vec<Inst> = func.block_insts(block).filter(|&inst| !func.insts[inst].is_terminator()).collect();
        let (mut reads, mut writes) = (BTreeMap::<Reg, Places>::new(), BTreeMap::<Reg, Places>::new());
        let mut effects = Vec::new();
        for (place, &inst) in insts.iter().enumerate() {
            let data = &func.insts[inst];
            data.for_each_use(|reg| reads.entry(reg).or_default().places.push(place));
            data.dsts.iter().for_each(|&reg| writes.entry(reg).or_default().places.push(place));
            if data.opcode.has_effect() || data.opcode.op.writes_memory() {
                effects.push(place);
            }
        }
        let kept = vec![false; insts.len()];
        Side { block, insts, reads, writes, reads_are_gone: kept.clone(), writes_are_gone: kept, effects }
    }

    /// Its instructions in order.
    pub fn insts(&self) -> &[Inst] {
        &self.insts
    }

    /// The instruction there is hoisted; `leaves_copy` if a copy stays that writes the same registers.
    pub fn hoist(&mut self, place: usize, leaves_copy: bool) {
        self.reads_are_gone[place] = true;
        self.writes_are_gone[place] = !leaves_copy;
    }

    /// Obstacle before the instruction that keeps it from reading the same values at the beginning of the side.
    pub fn obstacle_to_reading(
        &mut self,
        func: &Function,
        alias: Option<AliasAnalysis<'_>>,
        place: usize,
    ) -> Option<String> {
        let data = &func.insts[self.insts[place]];
        let (mut written, block) = (None, &func.blocks[self.block].name);
        data.for_each_use(|reg| {
            if written.is_none() && stands_in_front(self.writes.get_mut(&reg), &self.writes_are_gone, place) {
                written = Some(reg);
            }
        });
        if let Some(reg) = written {
            return Some(format!("`{}` is written before it in `{block}`", func.regs[reg].name));
        }
        let inst = self.meeting_access(func, alias?, place)?;
        Some(format!("`{}` before it in `{block}` may write the memory that it reads", func.insts[inst].opcode))
    }

    /// Obstacle before the instruction that keeps it from writing its registers at the beginning of the side.
    pub fn obstacle_to_writing(&mut self, func: &Function, place: usize) -> Option<String> {
        for &dst in &func.insts[self.insts[place]].dsts {
            let name = (&func.regs[dst].name, &func.blocks[self.block].name);
            if stands_in_front(self.reads.get_mut(&dst), &self.reads_are_gone, place) {
                return Some(format!("`{}` is read before it in `{}`", name.0, name.1));
            }
            if stands_in_front(self.writes.get_mut(&dst), &self.writes_are_gone, place) {
                return Some(format!("`{}` is written before it in `{}`", name.0, name.1));
            }
        }
        None
    }

    /// An instruction in front of a load that may write what it reads, or is too far down a long list to be compared.
    fn meeting_access(&self, func: &Function, alias: AliasAnalysis<'_>, place: usize) -> Option<Inst> {
        let inst = self.insts[place];
        let data = &func.insts[inst];
        if data.opcode.op != Op::Ld || data.opcode.space.is_some_and(Space::is_read_only) {
            return None;
        }
        let in_front = self.effects.iter().take_while(|&&effect| effect < place).map(|&effect| self.insts[effect]);
        let load = alias.access(inst);
        let meets = |other: Inst| match (alias.effect(other), &load) {
            (Effect::None, _) => false,
            (Effect::Access(access) | Effect::Ordered(access), Some(load)) => {
                alias.relation(&access, load, Moment::Same) != Relation::No
            }
            _ => true,
        };
        in_front.enumerate().find(|&(count, other)| count >= MOST_COMPARED || meets(other)).map(|(_, other)| other)
    }
}

/// Does a place of these that is not gone stand in front of that one?
fn stands_in_front(places: Option<&mut Places>, is_gone: &[bool], place: usize) -> bool {
    places.and_then(|places| places.first(is_gone)).is_some_and(|first| first < place)
}
