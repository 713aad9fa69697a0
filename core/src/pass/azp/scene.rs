//! Scene of a round, by which every candidate is judged: value names, order in blocks, cycles and frequencies.
//!
//! ```text
//! profile warp { n1: 100  n2: 40 }      n2 runs 0.4 times for each run of the function that begins in n1
//! n1: p = setp.eq.f32 r, 0.0            without counts: frequencies are guessed from the shape, except that a check
//!     q = vote.all p; br q, a, b        for zero goes to a as often as `profile zero` says of r, or of q itself
//! ```
//!
//! An instruction costs a warp the cycles for which it holds the scheduler, and of those for which its result takes longer
//! the `n`th part, as `n` resident warps use each other's waiting. Linear in the function.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use fixedbitset::FixedBitSet;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::candidates::Standings;
use super::kept::{Change, Kept, Past};
use super::special::propagates_zero;
use super::zeros::{ZeroProfile, checked_values, may_be_checked};
use crate::flow::{
    Dependences, Elements, RegisterAccesses, Seedbeds, Value, ValueUse, ValueUses, Values, VectorInput, vectors,
};
use crate::graph::{Cfg, Dominators, Frequencies, Loops, PostDominators};
use crate::ir::{Block, Function, Inst, InstData, Op, Opcode, Operand, Profile, Reg, WarpCounts};
use crate::machine::{Machine, OpClass};
use crate::pass::if_convert::LANES;
use crate::sim::evaluate;
use crate::view::View;

/// Instructions that a register has for writers and is still looked at by them.
const FEW_WRITERS: usize = 4;
/// Bytes of a sector of memory.
const SECTOR_BYTES: u32 = 32;

/// Whose cycles are counted, and how many warps share them.
#[derive(Clone, Copy)]
pub(super) struct Prices {
    /// The machine.
    pub machine: Machine,
    /// Resident warps that take turns.
    pub warps: u32,
}

impl Prices {
    /// Cycles of one execution by a full warp. What goes to memory is taken to go to elements side by side, and to be
    /// answered by the device's memory, since nothing says what a cache holds.
    pub fn of(self, data: &InstData) -> f64 {
        let (class, memory) = (OpClass::of(data.opcode), self.machine.memory());
        let mut issue = self.machine.issue_cycles(data);
        let mut latency = self.machine.cost(class).latency.value;
        if matches!(class, OpClass::LoadGlobal | OpClass::LoadLocal | OpClass::Texture) {
            latency = memory.global_latency.value;
        }
        if matches!(
            class,
            OpClass::LoadGlobal | OpClass::LoadLocal | OpClass::Texture | OpClass::Store | OpClass::Atomic
        ) {
            let elements = if class == OpClass::Texture { 4 } else { u32::from(data.opcode.vector) };
            let sectors = (data.opcode.ty.bits() / 8 * elements * LANES).div_ceil(SECTOR_BYTES);
            issue += sectors.saturating_sub(1) * memory.sector_cycles.value;
        }
        self.shared(issue, latency)
    }

    /// Price of an instruction whose guard fails in all lanes: no access to memory.
    pub fn of_no_lane(self, data: &InstData) -> f64 {
        let class = OpClass::of(data.opcode);
        let issue = self.machine.issue_cycles(data);
        let latency = if class.is_memory() { issue } else { self.machine.cost(class).latency.value };
        self.shared(issue, latency)
    }

    /// Cycles of holding the scheduler, and this warp's part of what it waits beyond.
    fn shared(self, issue: u32, latency: u32) -> f64 {
        f64::from(issue) + f64::from(latency.saturating_sub(issue)) / f64::from(self.warps.max(1))
    }
}

/// Results by opcode and operands; none where the opcode computes nothing from these.
type Computed = HashMap<(Opcode, SmallVec<[u64; 3]>), Option<u64>>;

/// The analyses of a function.
pub(super) struct Analyses {
    pub cfg: Rc<Cfg>,
    pub dominators: Rc<Dominators>,
    pub post_dominators: Rc<PostDominators>,
    pub loops: Rc<Loops>,
    pub values: Rc<Values>,
    pub uses: Rc<ValueUses>,
}

impl Analyses {
    /// Analyses of a function that the memory is up to date with.
    pub fn of(view: &mut View<'_>, memory: &Memory) -> Analyses {
        let (values, uses) = (view.values_from(&memory.accesses), view.value_uses());
        let (dominators, post_dominators) = (view.dominators(), view.post_dominators());
        Analyses { cfg: view.cfg(), dominators, post_dominators, loops: view.loops(), values, uses }
    }
}

/// See the file's head.
pub(super) struct Scene<'a> {
    pub func: &'a Function,
    pub known: Analyses,
    pub zeros: &'a ZeroProfile,
    pub prices: Prices,
    pub fast_math: bool,
    memory: &'a Memory,
    inside: Insides,
    /// Executions of each block for each run of the function by a warp.
    frequencies: Vec<f64>,
    /// Zero registers at the first target of each check, by the block that ends in it.
    pub checks: BTreeMap<Block, Elements>,
}

/// Facts about blocks from their own instructions alone.
#[derive(Default)]
pub(super) struct Insides {
    /// Place of each instruction in its block, and the cycles of those before it there, for one execution.
    places: Vec<(u32, f64)>,
    /// Next instruction of the block that writes one of an instruction's registers.
    overwriters: Vec<PackedOption<Inst>>,
    /// Cycles of one execution of each block.
    cycles: Vec<f64>,
    dependences: Dependences,
    seedbeds: Seedbeds,
    /// Branch that ends each block, if it reads a register.
    branches: Vec<Option<Branch>>,
    /// Blocks that end in one which is negated.
    negated: FixedBitSet,
    /// Comparisons with zero and votes, which are what checks go by.
    tests: FixedBitSet,
}

/// The value by which a branch goes, and whether it is negated there.
type Condition = (Value, bool);

/// A branch that goes by a register.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Branch {
    inst: Inst,
    /// Does it go to its first target where the register is false?
    is_negated: bool,
}

impl Insides {
    /// Looks at blocks that it has not seen as they are.
    fn learn(&mut self, func: &Function, memory: &Memory, blocks: &[Block]) {
        let Insides { places, overwriters, cycles, dependences, seedbeds, branches, negated, tests } = self;
        places.resize(func.insts.len(), (0, 0.0));
        overwriters.resize(func.insts.len(), PackedOption::default());
        cycles.resize(func.blocks.len(), 0.0);
        branches.resize(func.blocks.len(), None);
        negated.grow(func.blocks.len());
        tests.grow(func.insts.len());
        let mut writers: Vec<(Option<Block>, Option<Inst>)> = vec![(None, None); func.regs.len()];
        for &block in blocks {
            let sum = &mut cycles[block.index()];
            *sum = 0.0;
            for (place, inst) in func.block_insts(block).enumerate() {
                places[inst.index()] = (place as u32, *sum);
                *sum += memory.cycles[inst.index()];
                overwriters[inst.index()] = PackedOption::default();
                tests.set(inst.index(), may_be_checked(&func.insts[inst]));
            }
            branches[block.index()] = Branch::of(func, block);
            negated.set(block.index(), branches[block.index()].is_some_and(|branch| branch.is_negated));
            for inst in func.block_insts(block).rev() {
                for dst in &func.insts[inst].dsts {
                    let (of, next) = core::mem::replace(&mut writers[dst.index()], (Some(block), Some(inst)));
                    let known: Option<Inst> = overwriters[inst.index()].expand();
                    let next = next.filter(|_| of == Some(block));
                    let is_earlier =
                        |next: &Inst| known.is_none_or(|known| places[next.index()].0 < places[known.index()].0);
                    if let Some(next) = next.filter(|&next| next != inst).filter(is_earlier) {
                        overwriters[inst.index()] = next.into();
                    }
                }
            }
        }
        dependences.learn(func, blocks.iter().copied());
        seedbeds.learn(func, blocks.iter().copied());
    }

    /// Value that the branch of each block reads, and whether it is negated there.
    fn conditions(&self, values: &Values) -> Vec<Option<Condition>> {
        let condition = |branch: Branch| Some((*values.operands(branch.inst).first()?, branch.is_negated));
        self.branches.iter().map(|branch| branch.and_then(condition)).collect()
    }

    /// The checks for zero, and what is zero behind them. They are few, and so are tests and negated branches.
    fn checks(&self, func: &Function, known: &Analyses) -> BTreeMap<Block, Elements> {
        let Analyses { values, uses, .. } = known;
        let results = self.tests.ones().flat_map(|test| values.defined(Inst::new(test)));
        let readers = results.flat_map(|&result| uses.of(result)).filter_map(|reader| match reader {
            ValueUse::Operand { inst, .. } => func.inst_block(*inst),
            ValueUse::Old(_) | ValueUse::Argument(_) => None,
        });
        let negated = self.negated.ones().map(Block::new);
        let may_check = |block: &Block| self.branches[block.index()].is_some() && func.layout.has_block(*block);
        let blocks: BTreeSet<Block> = readers.chain(negated).filter(may_check).collect();
        let checked = blocks.into_iter().map(|block| (block, checked_values(func, values, block)));
        checked.filter(|(_, checked)| !checked.is_empty()).collect()
    }
}

impl Branch {
    /// The branch that ends a block.
    fn of(func: &Function, block: Block) -> Option<Branch> {
        let inst = func.terminator(block)?;
        let data = &func.insts[inst];
        let is_negated = match data.args.first().filter(|_| data.opcode.op == Op::BrIf)? {
            Operand::Reg(_) => false,
            Operand::NotReg(_) => true,
            _ => return None,
        };
        Some(Branch { inst, is_negated })
    }
}

/// Facts that survive from one round to the next, but for the additions of a transformation.
pub(super) struct Memory {
    /// Zeros in the profile.
    pub zeros: ZeroProfile,
    prices: Prices,
    /// Registers that instructions read and write.
    pub accesses: RegisterAccesses,
    /// Cycles of one execution of each instruction.
    cycles: Vec<f64>,
    /// Constants that an opcode gives for constants: the candidates of a function request the same again and again.
    computed: RefCell<Computed>,
    /// Uses of each instruction, as bits, of which it is known whether a zero there makes its result zero; and of which
    /// it does.
    propagating: RefCell<Vec<(u16, u16)>>,
    /// Instructions that write each register, up to one more than are few.
    writers: Vec<SmallVec<[Inst; FEW_WRITERS]>>,
    /// Standings of writes as candidates.
    pub standings: Standings,
    /// The estimates of the last round.
    pub kept: Kept,
    /// The function as it was in the last round, and what has been changed since.
    pub change: Option<(Past, Change)>,
    /// Facts about blocks in the last round.
    pub inside: Option<Insides>,
}

impl Memory {
    /// Collects the facts of a function.
    pub fn of(func: &Function, prices: Prices) -> Memory {
        let zeros = ZeroProfile::of(func);
        let mut memory = Memory {
            zeros,
            prices,
            accesses: RegisterAccesses::of(func),
            cycles: Vec::new(),
            computed: RefCell::default(),
            propagating: RefCell::default(),
            writers: Vec::new(),
            standings: Standings::default(),
            kept: Kept::default(),
            change: None,
            inside: None,
        };
        memory.learn(func);
        memory
    }

    /// Looks at the instructions that the function has got since; those that it had are as they were.
    pub fn learn(&mut self, func: &Function) {
        self.writers.resize(func.regs.len(), SmallVec::new());
        for (inst, data) in func.insts.iter().skip(self.cycles.len()) {
            self.cycles.push(self.prices.of(data));
            for dst in &data.dsts {
                let writers = &mut self.writers[dst.index()];
                if writers.len() <= FEW_WRITERS {
                    writers.push(inst);
                }
            }
        }
        debug_assert!(
            self.cycles.iter().zip(func.insts.values()).all(|(&cycles, data)| cycles == self.prices.of(data)),
            "an instruction costs something else than when it was seen"
        );
        debug_assert!(self.zeros.says_what_is_declared(func), "the profile did not follow a transformation");
    }
}

impl<'a> Scene<'a> {
    /// The scene of a function as it is, which the memory has seen. `inside` is what is known of all blocks but those.
    pub fn new(
        func: &'a Function,
        known: Analyses,
        memory: &'a Memory,
        fast_math: bool,
        inside: Option<(Insides, &[Block])>,
    ) -> Scene<'a> {
        let inside = match inside {
            Some((mut inside, blocks)) => {
                inside.learn(func, memory, blocks);
                inside
            }
            None => {
                let mut inside = Insides::default();
                inside.learn(func, memory, &func.block_order().collect::<Vec<Block>>());
                inside
            }
        };
        debug_assert!(
            func.block_order().all(|block| inside.branches[block.index()] == Branch::of(func, block)),
            "a block that was taken to be as it was has another end"
        );
        let zeros = &memory.zeros;
        let conditions = inside.conditions(&known.values);
        let checks = inside.checks(func, &known);
        let frequencies = frequencies(func, &known, zeros, &checks, &conditions);
        Scene { func, known, zeros, prices: memory.prices, fast_math, memory, inside, frequencies, checks }
    }

    /// Groups of values that the program computes side by side.
    pub fn vectors(&self) -> Vec<Elements> {
        let Analyses { cfg, values, uses, .. } = &self.known;
        let Insides { dependences, seedbeds, .. } = &self.inside;
        vectors(VectorInput { func: self.func, cfg, values, uses, dependences, seedbeds })
    }

    /// Evaluates an opcode on constants with the simulator.
    pub fn evaluate(&self, opcode: Opcode, args: &[u64]) -> Option<u64> {
        *self.memory.computed.borrow_mut().entry((opcode, args.into())).or_insert_with(|| evaluate(opcode, args))
    }

    /// Dependences within blocks.
    pub fn dependences(&self) -> &Dependences {
        &self.inside.dependences
    }

    /// Facts found block by block, for the next scene.
    pub fn into_insides(self) -> Insides {
        self.inside
    }

    /// Is the result of an instruction zero whenever that use is? That depends on nothing else.
    pub fn propagates_zero(&self, inst: Inst, use_index: usize) -> bool {
        let Some(bit) = 1u16.checked_shl(use_index as u32) else { return propagates_zero(self, inst, use_index) };
        let (known, does) = self.memory.propagating.borrow().get(inst.index()).copied().unwrap_or_default();
        if known & bit != 0 {
            return does & bit != 0;
        }
        let propagates = propagates_zero(self, inst, use_index);
        let mut table = self.memory.propagating.borrow_mut();
        if table.len() <= inst.index() {
            table.resize(self.func.insts.len(), (0, 0));
        }
        table[inst.index()] = (known | bit, if propagates { does | bit } else { does });
        propagates
    }

    /// The blocks in which a register is written, if these are few.
    pub fn written_in(&self, reg: Reg) -> Option<impl Iterator<Item = Block>> {
        let writers = &self.memory.writers[reg.index()];
        (writers.len() <= FEW_WRITERS).then(|| writers.iter().filter_map(|&inst| self.func.inst_block(inst)))
    }

    /// Is a register written by more than few instructions, now that there are those from that number on?
    pub fn has_many_writers_since(&self, reg: Reg, first: usize) -> bool {
        let last_counted = self.memory.writers[reg.index()].get(FEW_WRITERS);
        last_counted.is_some_and(|inst| inst.index() >= first)
    }

    /// Is it clear that nothing which a block dominates writes a register, nor the block itself? Then nothing is known there of
    /// what it holds, and whatever joins there joins what came in.
    pub fn comes_from_outside(&self, head: Block, reg: Reg) -> bool {
        let dominators = &self.known.dominators;
        self.written_in(reg).is_some_and(|mut blocks| blocks.all(|block| !dominators.dominates(head, block)))
    }

    /// The place of an instruction in its block, from 0.
    pub fn place(&self, inst: Inst) -> u32 {
        self.inside.places[inst.index()].0
    }

    /// The next instruction of its block that writes one of an instruction's registers.
    pub fn overwriter(&self, inst: Inst) -> Option<Inst> {
        self.inside.overwriters[inst.index()].expand()
    }

    /// Cycles of one execution of what stands before an instruction in its block.
    pub fn cycles_before(&self, inst: Inst) -> f64 {
        self.inside.places[inst.index()].1
    }

    /// Cycles of one execution of a block.
    pub fn block_cycles(&self, block: Block) -> f64 {
        self.inside.cycles[block.index()]
    }

    /// Cycles of one execution of an instruction.
    pub fn cycles(&self, inst: Inst) -> f64 {
        self.memory.cycles[inst.index()]
    }

    /// Executions of each block by a warp, for each run of the function by one.
    pub fn frequencies(&self) -> &[f64] {
        &self.frequencies
    }

    /// Executions of a block by a warp, for each run of the function by one.
    pub fn frequency(&self, block: Block) -> f64 {
        self.frequencies[block.index()]
    }
}

fn frequencies(
    func: &Function,
    known: &Analyses,
    zeros: &ZeroProfile,
    checks: &BTreeMap<Block, Elements>,
    conditions: &[Option<Condition>],
) -> Vec<f64> {
    let counts = counts(func);
    let entries = func.entry_blocks();
    let runs: u64 =
        entries.iter().filter_map(|entry| counts.get(entry)).fold(0, |sum, &count| sum.saturating_add(count));
    let mut found = vec![0.0; func.blocks.len()];
    if runs > 0 {
        counts.iter().for_each(|(block, &count)| found[block.index()] = count as f64 / runs as f64);
        return found;
    }
    let of_value = |value| zeros.of_value(&known.values, value);
    let first_share = |block: Block| {
        let own = conditions[block.index()].and_then(|(value, is_negated)| {
            let share = of_value(value)?;
            Some(if is_negated { share } else { 1.0 - share })
        });
        own.or_else(|| {
            let checked = checks.get(&block)?.iter();
            Some(checked.map(|&value| of_value(value).unwrap_or(0.5)).product())
        })
    };
    // The edges of a block are asked for one after the other.
    let last: Cell<Option<(Block, Option<f64>)>> = Cell::default();
    let guessed = Frequencies::compute_with(&known.cfg, &known.loops, |edge| {
        let source = known.cfg.source(edge);
        if known.cfg.out_edges(source).len() == 1 {
            return None;
        }
        let share = match last.get() {
            Some((block, share)) if block == source => share,
            _ => first_share(source),
        };
        last.set(Some((source, share)));
        Some(if known.cfg.slot(edge) == 0 { share? } else { 1.0 - share? })
    });
    func.block_order().for_each(|block| found[block.index()] = without_noise(guessed.block(block)));
    found
}

/// A frequency to 40 bits. Where ways part and meet again, the sum of their shares differs by what rounding makes from what
/// went in; blocks that run equally often shall have equal frequencies, however control is shared out before them.
fn without_noise(frequency: f64) -> f64 {
    const NOISE: u64 = (1 << 13) - 1;
    f64::from_bits((frequency.to_bits() + NOISE / 2 + 1) & !NOISE)
}

/// How often blocks ran, in the unit of the profile that tells it: warps if there is one of these, else lanes.
fn counts(func: &Function) -> BTreeMap<Block, u64> {
    let warps = WarpCounts::of(func);
    let mut counts: BTreeMap<Block, u64> = BTreeMap::new();
    if !warps.is_empty() {
        counts.extend(warps.blocks().filter_map(|block| Some((block, warps.executions(block)?))));
        return counts;
    }
    let (mut into, mut from): (BTreeMap<Block, u64>, BTreeMap<Block, u64>) = Default::default();
    let add = |table: &mut BTreeMap<Block, u64>, block: Block, count: u64| {
        let sum = table.entry(block).or_default();
        *sum = sum.saturating_add(count);
    };
    for profile in &func.profiles {
        match profile {
            Profile::Edge(edges) => edges.iter().for_each(|&(source, target, count)| {
                add(&mut from, source, count);
                add(&mut into, target, count);
            }),
            Profile::Path(_) | Profile::Zero(_) | Profile::Warp(_) => {}
        }
    }
    if from.is_empty() {
        let paths = func
            .profiles
            .iter()
            .filter_map(|profile| if let Profile::Path(paths) = profile { Some(paths) } else { None });
        for (path, count) in paths.flatten() {
            path.iter().for_each(|&block| add(&mut from, block, *count));
        }
    }
    // Control leaves a block as often as it enters it, except where it begins or ends.
    for (block, count) in into.into_iter().chain(from) {
        let most = counts.entry(block).or_default();
        *most = (*most).max(count);
    }
    counts
}
