//! Statements that may sink, and the instructions that stop them.
//!
//! ```text
//! n: x = mul.f32 a, b      x = a * b could move to the end of n: nothing after it reads or writes x, or writes a or b
//!    c = add.f32 a, 1.0
//! m: a = mov.f32 0.0       in m it could move up to the point before this
//! ```
//!
//! A statement is a pure instruction with one result and no guard, or a load. Equal instructions of
//! several blocks are one statement and sink together. It stays before every read or write of its
//! result and every write of its operands, and a load also before whatever may change its memory or
//! orders memory.
//!
//! Only the last access of a block to a register can be a statement that leaves the block. So the
//! catalogue asks each node for the registers that it writes last, at the start and again for each
//! node that a plan changes.
//!
//! Cost: O(registers that the scanned nodes touch).

use alloc::vec::Vec;
use core::hash::BuildHasher;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use hashbrown::{DefaultHashBuilder, HashTable};
use smallvec::SmallVec;

use super::accesses::{Accesses, NOWHERE, Touches};
use crate::ir::{Function, Inst, InstData, Op, Reg};
use crate::pass::support::path_guided::memory::Reads;
use crate::pass::support::path_guided::nodes::Node;
use crate::pass::support::path_guided::paths::Paths;

/// An instruction that may sink, in all blocks that it could leave.
pub(super) struct Statement {
    /// The operation; it stays valid when the instructions are gone.
    pub data: InstData,
    /// The result.
    pub dst: Reg,
    /// The operands.
    pub uses: SmallVec<[Reg; 4]>,
    /// Instructions that could move to the end of their block, in the order of the nodes.
    pub occurrences: SmallVec<[Occurrence; 1]>,
    /// Memory that a load reads, if it may change.
    reads: Option<Reads>,
}

/// An instruction of a statement.
#[derive(Clone, Copy)]
pub(super) struct Occurrence {
    pub node: Node,
    /// The place in the block.
    pub place: u32,
    pub inst: Inst,
}

impl Statement {
    /// The place of the first occurrence: the order in which statements are planned.
    pub fn order(&self) -> (Node, u32) {
        (self.occurrences[0].node, self.occurrences[0].place)
    }

    /// Whether an instruction belongs to it.
    pub fn contains(&self, inst: Inst) -> bool {
        self.occurrences.iter().any(|occurrence| occurrence.inst == inst)
    }

    /// The place of the first instruction of a node that stops it, or [`NOWHERE`].
    pub fn first_stop(&self, accesses: &Accesses, node: Node) -> u32 {
        let mut first = accesses.touches(node, self.dst).map_or(NOWHERE, |touches| touches.first);
        for &reg in &self.uses {
            first = first.min(accesses.touches(node, reg).map_or(NOWHERE, |touches| touches.first_write));
        }
        if let Some(reads) = self.reads {
            first = first.min(accesses.effects(node, reads).map_or(NOWHERE, |(first, _)| first));
        }
        first
    }
}

/// See the file's head.
#[derive(Default)]
pub(super) struct Catalogue {
    /// All statements; some have lost all occurrences.
    statements: Vec<Statement>,
    /// Statements by their data; looked up, never iterated.
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Statements that occur in each node.
    in_node: Vec<SmallVec<[u32; 4]>>,
    /// Statements that write each register.
    writing: Vec<SmallVec<[u32; 1]>>,
    /// Statements whose occurrences have changed.
    changed: Vec<u32>,
    /// Whether it holds statements whose result cannot be live between nodes.
    has_local: bool,
}

impl Catalogue {
    /// Collects the statements of a function, those that no other block can need only if
    /// `has_local`.
    pub fn of(func: &Function, accesses: &Accesses, nodes: usize, has_local: bool) -> Catalogue {
        let mut catalogue = Catalogue { has_local, ..Catalogue::default() };
        catalogue.in_node.resize_with(nodes, SmallVec::new);
        (0..nodes).for_each(|node| catalogue.renew(func, accesses, node));
        catalogue
    }

    /// All statements.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The statements of a survey.
    pub fn into_statements(self) -> Vec<Statement> {
        self.statements
    }

    /// The statements that write a register, with and without occurrences.
    pub fn writing(&self, reg: Reg) -> &[u32] {
        self.writing.get(reg.index()).map_or(&[], SmallVec::as_slice)
    }

    /// Statements whose occurrences have changed since the last call, some several times.
    pub fn take_changed(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.changed)
    }

    /// Collects the statements of a node again.
    pub fn renew(&mut self, func: &Function, accesses: &Accesses, node: Node) {
        if self.writing.len() < accesses.registers() {
            self.writing.resize_with(accesses.registers(), SmallVec::new);
        }
        let before = core::mem::take(&mut self.in_node[node]);
        let mut after: SmallVec<[u32; 4]> = SmallVec::new();
        for touches in accesses.written_last(node) {
            if self.has_local || accesses.may_cross(touches.reg) {
                after.extend(self.enter(func, accesses, node, touches));
            }
        }
        for &number in before.iter().filter(|number| !after.contains(number)) {
            self.statements[number as usize].occurrences.retain(|occurrence| occurrence.node != node);
            self.changed.push(number);
        }
        self.in_node[node] = after;
    }

    /// Enters the last write of a register in a node, if it is a statement that could leave the
    /// node.
    fn enter(&mut self, func: &Function, accesses: &Accesses, node: Node, touches: &Touches) -> Option<u32> {
        let inst = touches.last_writer;
        let data = &func.insts[inst];
        let occurrence = Occurrence { node, place: touches.last, inst };
        if !may_sink(data) || !can_leave(accesses, data, &occurrence) {
            return None;
        }
        let number = self.number(data, touches.reg, reads(accesses, data, inst));
        let occurrences = &mut self.statements[number as usize].occurrences;
        let index = occurrences.partition_point(|other| other.node < node);
        match occurrences.get_mut(index).filter(|other| other.node == node) {
            Some(known) => {
                if core::mem::replace(known, occurrence).inst != inst {
                    self.changed.push(number);
                }
            }
            None => {
                occurrences.insert(index, occurrence);
                self.changed.push(number);
            }
        }
        Some(number)
    }

    fn number(&mut self, data: &InstData, dst: Reg, reads: Option<Reads>) -> u32 {
        let Catalogue { statements, known, hasher, writing, .. } = self;
        let hash = hasher.hash_one(data);
        if let Some(&number) = known.find(hash, |&number| statements[number as usize].data == *data) {
            return number;
        }
        let number = statements.len() as u32;
        let (uses, occurrences) = (data.uses(), SmallVec::new());
        statements.push(Statement { data: data.clone(), dst, uses, occurrences, reads });
        known.insert_unique(hash, number, |&number| hasher.hash_one(&statements[number as usize].data));
        writing[dst.index()].push(number);
        number
    }
}

/// Whether the last write of a register can move to the end of its block.
fn can_leave(accesses: &Accesses, data: &InstData, occurrence: &Occurrence) -> bool {
    let &Occurrence { node, place, inst } = occurrence;
    let mut is_free = true;
    data.for_each_use(|reg| {
        let last_write = accesses.touches(node, reg).map_or(NOWHERE, |touches| touches.last_write);
        is_free &= data.dst() != Some(reg) && (last_write == NOWHERE || last_write < place);
    });
    let effects = reads(accesses, data, inst).and_then(|reads| accesses.effects(node, reads));
    is_free && effects.is_none_or(|(_, last)| last < place)
}

/// Memory that a load reads, if it may change.
fn reads(accesses: &Accesses, data: &InstData, inst: Inst) -> Option<Reads> {
    // A new predicate may be set by an instruction that was a load.
    if data.opcode.op == Op::Ld { accesses.reads(inst) } else { None }
}

/// Whether an instruction computes its result wherever its operands are the same.
pub(super) fn may_sink(data: &InstData) -> bool {
    let op = data.opcode.op;
    // A load that is ordered with other accesses keeps its place among them.
    let is_load = matches!(op, Op::Ld | Op::Tex1d | Op::Tex2d) && !data.opcode.reads_anew();
    data.guard.is_none() && data.dsts.len() == 1 && !data.is_terminator() && (op.is_pure() || is_load)
}

/// Nodes whose statements are planned: those on frequent paths, and with warps those that any warp
/// executes.
///
/// The others gain nothing that counts (the set FS of figure 2 in the paper). A statement that
/// occurs in one of the nodes moves from all of them.
#[derive(Clone, Default)]
pub(super) struct FrequentNodes(Option<FixedBitSet>);

impl FrequentNodes {
    /// All nodes without a profile of paths. `warps` are the executions of each node by warps, if
    /// they are counted.
    pub fn of(paths: Option<&Paths>, warps: Option<&[f64]>) -> FrequentNodes {
        FrequentNodes(paths.map(|paths| {
            let mut nodes = paths.frequent_nodes().clone();
            let executed = warps.unwrap_or_default().iter().enumerate().filter(|&(_, &executions)| executions > 0.0);
            nodes.extend(executed.map(|(node, _)| node));
            nodes
        }))
    }

    /// Whether a statement occurs in one of them.
    pub fn execute(&self, statement: &Statement) -> bool {
        let is_frequent = |node: Node| self.0.as_ref().is_none_or(|nodes| nodes.contains(node));
        statement.occurrences.iter().any(|occurrence| is_frequent(occurrence.node))
    }
}
