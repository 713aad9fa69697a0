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
//! in front of whatever may write memory or wait for others.
//!
//! Linear; a question about one block takes a logarithm of the registers it touches.

use alloc::vec;
use alloc::vec::Vec;
use cranelift_entity::EntityRef;
use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::graph::Cfg;
use crate::ir::{Block, Flags, Function, Inst, InstData, Op, Reg};

/// An instruction that may sink, wherever it stands.
pub(super) struct Statement {
    /// The instruction.
    pub data: InstData,
    /// What it writes.
    pub dst: Reg,
    /// What it reads.
    pub uses: SmallVec<[Reg; 4]>,
    /// Where it stands with nothing behind it in its block that stops it.
    pub occurrences: Vec<(Block, Inst)>,
}

impl Statement {
    /// Does memory decide what it gives?
    fn reads_memory(&self) -> bool {
        is_changing_load(&self.data)
    }
}

/// The instructions of a block that touch a register, by their places.
#[derive(Clone, Copy)]
struct Touches {
    reg: Reg,
    first: u32,
    first_write: u32,
    last: u32,
    /// None of the block's writes is at [`NOWHERE`].
    last_write: u32,
}

/// No place.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Default)]
struct Sites {
    touches: Vec<Touches>,
    /// The first and last place of what may write memory, or wait for others.
    effects: Option<(u32, u32)>,
}

/// Who touches what, by block.
pub(super) struct Blockers {
    sites: Vec<Sites>,
}

impl Blockers {
    /// Of the blocks that control reaches.
    pub fn of(func: &Function, cfg: &Cfg) -> Blockers {
        let mut sites = vec![Sites::default(); func.blocks.len()];
        for &block in cfg.reverse_postorder() {
            let here = &mut sites[block.index()];
            // Places of touches, then sorted and folded by register.
            let mut all: Vec<(Reg, u32, bool)> = Vec::new();
            for (place, inst) in func.block_insts(block).enumerate() {
                let (place, data) = (place as u32, &func.insts[inst]);
                data.for_each_use(|reg| all.push((reg, place, false)));
                all.extend(data.dsts.iter().map(|&reg| (reg, place, true)));
                if may_change_memory(data.opcode.op) {
                    here.effects = Some((here.effects.map_or(place, |(first, _)| first), place));
                }
            }
            all.sort_unstable();
            for (reg, place, is_write) in all {
                let is_known = here.touches.last().is_some_and(|last| last.reg == reg);
                if !is_known {
                    let (first_write, last_write) = (NOWHERE, NOWHERE);
                    here.touches.push(Touches { reg, first: place, first_write, last: place, last_write });
                }
                let Some(touches) = here.touches.last_mut() else { continue };
                touches.last = place;
                if is_write {
                    touches.first_write = touches.first_write.min(place);
                    touches.last_write = place;
                }
            }
        }
        Blockers { sites }
    }

    /// The place of the first instruction of a block that stops a statement.
    pub fn first(&self, block: Block, statement: &Statement) -> Option<u32> {
        let mut first = self.touches(block, statement.dst).map_or(NOWHERE, |touches| touches.first);
        for &reg in &statement.uses {
            first = first.min(self.touches(block, reg).map_or(NOWHERE, |touches| touches.first_write));
        }
        if statement.reads_memory() {
            first = first.min(self.sites[block.index()].effects.map_or(NOWHERE, |(first, _)| first));
        }
        (first != NOWHERE).then_some(first)
    }

    /// Can an instruction go from its place to the end of its block?
    fn is_free_behind(&self, block: Block, place: u32, data: &InstData, dst: Reg) -> bool {
        let is_last = self.touches(block, dst).is_some_and(|touches| touches.last == place);
        let mut is_free = is_last;
        data.for_each_use(|reg| {
            let last_write = self.touches(block, reg).map_or(NOWHERE, |touches| touches.last_write);
            is_free &= reg != dst && (last_write == NOWHERE || last_write < place);
        });
        let effects = self.sites[block.index()].effects;
        is_free && (!is_changing_load(data) || effects.is_none_or(|(_, last)| last < place))
    }

    fn touches(&self, block: Block, reg: Reg) -> Option<&Touches> {
        let touches = &self.sites[block.index()].touches;
        touches.binary_search_by_key(&reg, |touches| touches.reg).ok().map(|place| &touches[place])
    }

    /// The statements of a function, by their first occurrence.
    pub fn statements(&self, func: &Function, cfg: &Cfg) -> Vec<Statement> {
        let mut statements: Vec<Statement> = Vec::new();
        let mut known: HashMap<InstData, usize> = HashMap::new();
        for &block in cfg.reverse_postorder() {
            for (place, inst) in func.block_insts(block).enumerate() {
                let data = &func.insts[inst];
                let Some(dst) = data.dst().filter(|_| may_sink(data)) else { continue };
                if !self.is_free_behind(block, place as u32, data, dst) {
                    continue;
                }
                let number = *known.entry(data.clone()).or_insert_with(|| {
                    let (data, uses) = (data.clone(), data.uses());
                    statements.push(Statement { data, dst, uses, occurrences: Vec::new() });
                    statements.len() - 1
                });
                statements[number].occurrences.push((block, inst));
            }
        }
        statements
    }
}

/// Can it stand elsewhere, where its operands are the same?
pub(super) fn may_sink(data: &InstData) -> bool {
    let op = data.opcode.op;
    let is_load = matches!(op, Op::Ld | Op::Tex2d) && !data.opcode.has(Flags::VOLATILE);
    data.guard.is_none() && data.dsts.len() == 1 && !data.is_terminator() && (op.is_pure() || is_load)
}

/// A load of memory that may be written while the program runs.
fn is_changing_load(data: &InstData) -> bool {
    let is_read_only = data.opcode.has(Flags::NC) || data.opcode.space.is_some_and(|space| space.is_read_only());
    data.opcode.op == Op::Ld && !is_read_only
}

/// May memory hold something else behind it: stores and atomics, calls, and what waits for others' stores?
fn may_change_memory(op: Op) -> bool {
    op.writes_memory() || matches!(op, Op::Call | Op::CallTo | Op::BarSync | Op::BarWarp | Op::Membar)
}
