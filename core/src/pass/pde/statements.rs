//! Statements that may sink, and what stops them in a block.
//!
//! ```text
//! n: x = mul.f32 a, b      x = a * b could go to the end of n: nothing behind it reads or writes x, or writes a or b
//!    c = add.f32 a, 1.0
//! m: a = mov.f32 0.0       in m it could go as far as to the front of this
//! ```
//!
//! A statement is a pure instruction with one destination and no guard, or a load; equal instructions in several blocks are
//! one statement. It stays in front of what reads or writes its destination or writes one of its operands, and a load also
//! in front of whatever may write the [memory](super::memory) that it reads, orders memory, or waits for others.
//!
//! In a block only the last instruction that touches a register can be a statement that leaves it, so that the statements of
//! one register cost as much as there are blocks that touch it. They are [kept](Catalogue) while the function changes: what
//! stands in nodes that were changed is looked at again, and the rest stays.

use alloc::vec::Vec;
use core::hash::BuildHasher;
use cranelift_entity::EntityRef;
use hashbrown::{DefaultHashBuilder, HashTable};
use smallvec::SmallVec;

use super::accesses::{Accesses, NOWHERE};
use super::memory::is_changing_load;
use crate::ir::{Flags, Function, Inst, InstData, Op, Reg};
use crate::pass::path_guided::nodes::Node;

/// An instruction that may sink, wherever it stands.
pub(super) struct Statement {
    /// The instruction.
    pub data: InstData,
    /// What it writes.
    pub dst: Reg,
    /// What it reads.
    pub uses: SmallVec<[Reg; 4]>,
    /// Where it stands with nothing behind it in its block that stops it, in order, and at which place.
    pub occurrences: SmallVec<[Occurrence; 1]>,
}

/// Where a statement stands.
#[derive(Clone, Copy)]
pub(super) struct Occurrence {
    pub node: Node,
    /// From 0.
    pub place: u32,
    pub inst: Inst,
}

impl Statement {
    /// The statements that write a register, by their first occurrence.
    pub fn of(func: &Function, accesses: &Accesses, reg: Reg) -> Vec<Statement> {
        Kept::of(func, accesses, reg).statements
    }

    /// By what statements stand in the order of their first occurrences.
    pub fn order(&self) -> (Node, u32) {
        (self.occurrences[0].node, self.occurrences[0].place)
    }

    /// Does an instruction belong to it?
    pub fn contains(&self, inst: Inst) -> bool {
        self.occurrences.iter().any(|occurrence| occurrence.inst == inst)
    }

    /// The place of the first instruction of a node that stops it.
    pub fn first_stop(&self, accesses: &Accesses, node: Node) -> Option<u32> {
        let mut first = accesses.touches(node, self.dst).map_or(NOWHERE, |touches| touches.first);
        for &reg in &self.uses {
            first = first.min(accesses.touches(node, reg).map_or(NOWHERE, |touches| touches.first_write));
        }
        if is_changing_load(&self.data) {
            first = first.min(accesses.effects(node, self.occurrences[0].inst).map_or(NOWHERE, |(first, _)| first));
        }
        (first != NOWHERE).then_some(first)
    }
}

/// See the file's head.
#[derive(Default)]
pub(super) struct Catalogue {
    /// By register, if anybody has asked.
    kept: Vec<Option<Kept>>,
}

impl Catalogue {
    /// Gets to know the statements of a register.
    pub fn know(&mut self, func: &Function, accesses: &Accesses, reg: Reg) {
        self.kept.resize_with(self.kept.len().max(accesses.registers()), || None);
        let kept = self.kept[reg.index()].get_or_insert_with(|| Kept::of(func, accesses, reg));
        debug_assert!(kept.is_right(func, accesses, reg), "what stands elsewhere stands as it did");
    }

    /// The statements that write a register, and perhaps some that no longer stand anywhere, if they are known.
    pub fn of(&self, reg: Reg) -> &[Statement] {
        self.kept.get(reg.index()).and_then(Option::as_ref).map_or(&[], |kept| &kept.statements)
    }

    /// The statement of a register that stands in a node, of what is kept.
    pub fn standing(&self, reg: Reg, node: Node) -> Option<&Statement> {
        let kept = self.kept.get(reg.index())?.as_ref()?;
        kept.place(node).ok().map(|place| &kept.statements[kept.at[place].1 as usize])
    }

    /// Takes out what stands in nodes that have been changed; `accesses` are those from before.
    pub fn leave(&mut self, accesses: &Accesses, changed: &[Node]) {
        for &node in changed {
            for reg in accesses.touched(node) {
                if let Some(Some(kept)) = self.kept.get_mut(reg.index()) {
                    kept.leave(node);
                }
            }
        }
    }

    /// Takes in what stands there now.
    pub fn enter(&mut self, func: &Function, accesses: &Accesses, changed: &[Node]) {
        for &node in changed {
            for reg in accesses.touched(node) {
                if let Some(Some(kept)) = self.kept.get_mut(reg.index()) {
                    kept.enter(func, accesses, reg, node);
                }
            }
        }
    }

    /// Forgets the statements of a register, as they are told by more than the nodes in which they stand.
    pub fn forget(&mut self, reg: Reg) {
        if let Some(kept) = self.kept.get_mut(reg.index()) {
            *kept = None;
        }
    }
}

/// The statements that write a register.
#[derive(Default)]
struct Kept {
    statements: Vec<Statement>,
    /// The nodes in which they stand, in order, and which of them does.
    at: Vec<(u32, u32)>,
    /// By what they are, if there are several: mostly there is one.
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Kept {
    fn of(func: &Function, accesses: &Accesses, reg: Reg) -> Kept {
        let mut kept = Kept::default();
        accesses.touching(reg).for_each(|node| kept.enter(func, accesses, reg, node));
        kept
    }

    fn place(&self, node: Node) -> Result<usize, usize> {
        self.at.binary_search_by_key(&(node as u32), |&(node, _)| node)
    }

    fn leave(&mut self, node: Node) {
        let Ok(place) = self.place(node) else { return };
        let (_, number) = self.at.remove(place);
        self.statements[number as usize].occurrences.retain(|occurrence| occurrence.node != node);
    }

    fn enter(&mut self, func: &Function, accesses: &Accesses, reg: Reg, node: Node) {
        let Some(occurrence) = standing(func, accesses, reg, node) else { return };
        let Err(place) = self.place(node) else { return };
        let number = self.number(&func.insts[occurrence.inst], reg);
        self.at.insert(place, (node as u32, number));
        let occurrences = &mut self.statements[number as usize].occurrences;
        let place = occurrences.partition_point(|other| other.node < node);
        occurrences.insert(place, occurrence);
    }

    /// Which statement an instruction is; perhaps one that stands nowhere yet.
    fn number(&mut self, data: &InstData, reg: Reg) -> u32 {
        let Kept { statements, known, hasher, .. } = self;
        let hash = |data: &InstData| hasher.hash_one(data);
        let found = match statements.as_slice() {
            [] => None,
            [only] => (only.data == *data).then_some(0),
            _ => known.find(hash(data), |&number| statements[number as usize].data == *data).copied(),
        };
        found.unwrap_or_else(|| {
            let number = statements.len() as u32;
            let occurrences = SmallVec::new();
            statements.push(Statement { data: data.clone(), dst: reg, uses: data.uses(), occurrences });
            let hash_of = |&number: &u32| hash(&statements[number as usize].data);
            // The first is entered with the second.
            let entered = match number {
                0 => 0..0,
                1 => 0..2,
                _ => number..number + 1,
            };
            for number in entered {
                known.insert_unique(hash_of(&number), number, hash_of);
            }
            number
        })
    }

    /// Is it what would be found now?
    fn is_right(&self, func: &Function, accesses: &Accesses, reg: Reg) -> bool {
        let all = |kept: &Kept| -> Vec<Vec<(Node, u32, Inst)>> {
            let of = |statement: &Statement| {
                statement.occurrences.iter().map(|it| (it.node, it.place, it.inst)).collect::<Vec<_>>()
            };
            let mut all: Vec<_> = kept.statements.iter().map(of).filter(|it| !it.is_empty()).collect();
            all.sort_unstable();
            all
        };
        all(self) == all(&Kept::of(func, accesses, reg))
    }
}

/// Where in a node a statement stands that writes a register and could leave the node.
fn standing(func: &Function, accesses: &Accesses, reg: Reg, node: Node) -> Option<Occurrence> {
    let touches = accesses.touches(node, reg).filter(|touches| touches.last == touches.last_write)?;
    let occurrence = Occurrence { node, place: touches.last, inst: touches.last_inst };
    let data = &func.insts[occurrence.inst];
    let may_leave = data.dst() == Some(reg) && may_sink(data) && is_free_behind(accesses, data, &occurrence);
    may_leave.then_some(occurrence)
}

/// Can an instruction that is the last to touch its destination go to the end of its block?
fn is_free_behind(accesses: &Accesses, data: &InstData, occurrence: &Occurrence) -> bool {
    let &Occurrence { node, place, inst } = occurrence;
    let mut is_free = true;
    data.for_each_use(|reg| {
        let last_write = accesses.touches(node, reg).map_or(NOWHERE, |touches| touches.last_write);
        is_free &= data.dst() != Some(reg) && (last_write == NOWHERE || last_write < place);
    });
    let is_behind_effects = || accesses.effects(node, inst).is_none_or(|(_, last)| last < place);
    is_free && (!is_changing_load(data) || is_behind_effects())
}

/// Can it stand elsewhere, where its operands are the same?
pub(super) fn may_sink(data: &InstData) -> bool {
    let op = data.opcode.op;
    // What is ordered with other accesses keeps its place among them.
    const STAYS: Flags = Flags::VOLATILE.union(Flags::RELAXED).union(Flags::ACQUIRE).union(Flags::CV);
    let is_load = matches!(op, Op::Ld | Op::Tex2d) && !data.opcode.flags.intersects(STAYS);
    data.guard.is_none() && data.dsts.len() == 1 && !data.is_terminator() && (op.is_pure() || is_load)
}
