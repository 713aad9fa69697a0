//! Expressions and their evaluations.
//!
//! ```text
//! n: a = add.u32 x, y      first: before anything in n changes x + y
//!    b = add.u32 y, x      a repetition of a
//!    x = add.u32 x, 1
//!    c = add.u32 x, y      last: its value holds at the end of n
//! ```
//!
//! An expression is an opcode with its operands, those of a commutative one in any order. Evaluated
//! are pure instructions without a guard, and loads, which are equal with and without `.spec`. Its
//! *sources* are the registers that it reads and the
//! [memory](crate::pass::support::path_guided::memory) of a load: whatever writes one changes the
//! value.
//!
//! Cost: O(instructions).

use alloc::vec;
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash, Hasher};
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use hashbrown::{DefaultHashBuilder, HashTable};
use smallvec::SmallVec;

use super::region::Lanes;
use crate::compact_sort::CompactSort;
use crate::ir::{Few, Flags, Function, Inst, InstData, Op, Opcode, Operand, Reg, Type};
use crate::pass::support::path_guided::memory::{Memory, may_be_repeated};
use crate::pass::support::path_guided::nodes::{Node, Nodes};

/// A register by its number, or a track of memory by its number after those of all registers.
type Source = usize;

/// See the file's head.
#[derive(Clone)]
pub(super) struct Expression {
    /// An evaluation without destinations, guard and `.spec`.
    pub data: InstData,
    /// Types of the results.
    pub types: SmallVec<[Type; 1]>,
    /// Sources, each once, registers first.
    sources: SmallVec<[Source; 4]>,
    /// Evaluations by node.
    pub sites: SmallVec<[Site; 1]>,
    /// Repetitions in blocks.
    pub repetitions: Vec<Repetition>,
    /// Temporaries that hold its value, once there are any.
    pub temporaries: Few<Reg>,
}

/// Evaluations of an expression in a node.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub node: Node,
    /// The evaluation before anything in the node changes the value.
    pub first: Option<Inst>,
    /// The last evaluation, if nothing after it in the node changes the value.
    pub last: Option<Inst>,
}

/// Repeated evaluation of an expression in one block.
#[derive(Clone)]
pub(super) struct Repetition {
    pub node: Node,
    /// Earlier evaluation.
    pub earlier: Inst,
    pub inst: Inst,
}

/// The expressions of a function.
pub(super) struct Expressions {
    /// All, in the order of their first evaluations.
    pub all: Vec<Expression>,
    /// Nodes that write each source, in order.
    writers: Vec<SmallVec<[u32; 2]>>,
    /// The number of registers.
    registers: usize,
    /// Registers of parameters, if anything is read where not every path has assigned it.
    doubtful: Option<FixedBitSet>,
}

/// Last write of a source, or last evaluation of an expression, in the block of a walk.
#[derive(Clone, Copy)]
struct Event {
    node: Node,
    /// Place in the block, from 1.
    place: u32,
    inst: Inst,
}

impl Expressions {
    /// The expressions of a function.
    pub fn of(func: &Function, nodes: &Nodes, memory: &Memory, has_doubtful_reads: bool) -> Expressions {
        let registers = func.regs.len();
        let sources = registers + memory.track_count();
        let params = || func.params.iter().filter_map(|param| Some(param.reg?.index())).collect();
        let mut found = Expressions {
            all: Vec::new(),
            writers: vec![SmallVec::new(); sources],
            registers,
            doubtful: has_doubtful_reads.then(params),
        };
        // Numbers of expressions, each with the hash of its evaluations.
        let mut known: HashTable<(u64, usize)> = HashTable::new();
        let hasher = DefaultHashBuilder::default();
        let never = Event { node: Node::MAX, place: 0, inst: Inst::from_u32(0) };
        let (mut written, mut evaluated) = (vec![never; sources], Vec::new());
        let mut here: Vec<usize> = Vec::new();
        for node in 0..nodes.len() {
            let Some(block) = nodes.block(node) else { continue };
            // Place of the last change in this block; 0 without one.
            let last_change = |expression: &Expression, written: &[Event]| {
                let of = |&source: &Source| Some(written[source]).filter(|write| write.node == node);
                expression.sources.iter().filter_map(of).map(|write| write.place).max().unwrap_or(0)
            };
            for (inst, place) in func.block_insts(block).zip(1..) {
                let (data, event) = (&func.insts[inst], Event { node, place, inst });
                if is_evaluated(data) {
                    let (hash, next) = (hash(&hasher, data), found.all.len());
                    let is_same = |&(other, number): &(u64, usize)| {
                        other == hash && found.all[number].is_evaluated_by(func, data)
                    };
                    let number = known.entry(hash, is_same, |&(hash, _)| hash).or_insert((hash, next)).get().1;
                    if number == next {
                        found.all.push(Expression::new(func, data, memory.reads(inst).map(|it| memory.tracks(it))));
                        evaluated.push(never);
                    }
                    let expression = &mut found.all[number];
                    let (change, earlier) = (last_change(expression, &written), &mut evaluated[number]);
                    if earlier.node != node {
                        here.push(number);
                        expression.sites.push(Site { node, first: (change == 0).then_some(inst), last: None });
                    }
                    if earlier.node == node && change < earlier.place {
                        expression.repetitions.push(Repetition { node, earlier: earlier.inst, inst });
                    } else {
                        *earlier = event;
                    }
                }
                let track = memory.change(inst).map(|track| registers + track);
                for source in data.dsts.iter().map(|reg| reg.index()).chain(track) {
                    if written[source].node != node {
                        found.writers[source].push(node as u32);
                    }
                    written[source] = event;
                }
            }
            for number in here.drain(..) {
                let expression = &mut found.all[number];
                let is_left = last_change(expression, &written) < evaluated[number].place;
                if let Some(site) = expression.sites.last_mut() {
                    site.last = is_left.then_some(evaluated[number].inst);
                }
            }
        }
        found
    }

    /// Visits the nodes that change the values of expressions.
    pub fn for_each_change(&self, batch: &[(Lanes, &Expression)], mut visit: impl FnMut(Node, Lanes)) {
        let of = |&(lane, expression): &(Lanes, &Expression)| {
            expression.sources.iter().map(move |&source| (source, lane)).collect::<SmallVec<[_; 4]>>()
        };
        let mut changes: Vec<(Source, Lanes)> = batch.iter().flat_map(of).collect();
        changes.compact_sort();
        for one in changes.chunk_by(|(one, _), (other, _)| one == other) {
            let lanes = one.iter().fold(0, |all, (_, lane)| all | lane);
            self.writers[one[0].0].iter().for_each(|&node| visit(node as Node, lanes));
        }
    }

    /// Whether nothing in a node changes the value of an expression.
    pub fn is_transparent(&self, expression: &Expression, node: Node) -> bool {
        !expression.sources.iter().any(|&source| self.is_written(source, node))
    }

    fn is_written(&self, source: Source, node: Node) -> bool {
        self.writers[source].binary_search(&(node as u32)).is_ok()
    }

    /// Whether operands of some expression may be unassigned.
    pub fn has_doubtful_operands(&self) -> bool {
        self.doubtful.is_some()
    }

    /// Whether some path to the end of a node assigns each operand of an expression. Where none
    /// does, nothing may read it.
    pub fn can_be_evaluated(&self, nodes: &Nodes, expression: &Expression, node: Node) -> bool {
        let Some(params) = &self.doubtful else { return true };
        let registers = expression.sources.iter().copied().filter(|&source| source < self.registers);
        registers.filter(|&reg| !params.contains(reg)).all(|reg| {
            let mut seen = FixedBitSet::with_capacity(nodes.len());
            let mut work = vec![node];
            while let Some(node) = work.pop() {
                if self.is_written(reg, node) {
                    return true;
                }
                if !seen.put(node) {
                    work.extend(nodes.predecessors(node));
                }
            }
            false
        })
    }
}

impl Expression {
    fn new(func: &Function, first: &InstData, tracks: Option<impl Iterator<Item = usize>>) -> Expression {
        let mut sources: SmallVec<[Source; 4]> = first.uses().iter().map(|reg: &Reg| reg.index()).collect();
        sources.compact_sort();
        sources.dedup();
        sources.extend(tracks.into_iter().flatten().map(|track| func.regs.len() + track));
        let (opcode, args, control) = (without_speculation(first.opcode), first.args.clone(), first.control.clone());
        Expression {
            data: InstData { opcode, control, guard: None, dsts: Few::new(), args },
            types: types(func, first).collect(),
            sources,
            sites: SmallVec::new(),
            repetitions: Vec::new(),
            temporaries: Few::new(),
        }
    }

    /// Whether an instruction evaluates it.
    fn is_evaluated_by(&self, func: &Function, data: &InstData) -> bool {
        without_speculation(data.opcode) == self.data.opcode
            && data.control == self.data.control
            && arguments(data).eq(arguments(&self.data))
            && types(func, data).eq(self.types.iter().copied())
    }

    /// The evaluations in a node, if it has any.
    pub fn site(&self, node: Node) -> Option<&Site> {
        self.sites.binary_search_by_key(&node, |site| site.node).ok().map(|place| &self.sites[place])
    }

    /// The site of a node; a new one if it has none.
    pub fn site_mut(&mut self, node: Node) -> &mut Site {
        let place = self.sites.binary_search_by_key(&node, |site| site.node).unwrap_or_else(|place| {
            self.sites.insert(place, Site { node, first: None, last: None });
            place
        });
        &mut self.sites[place]
    }

    /// Whether one of its evaluations may come after another one.
    pub fn may_be_redundant(&self, nodes: &Nodes) -> bool {
        let made = self.sites.iter().find(|site| site.last.is_some());
        let wanted = self.sites.iter().rfind(|site| site.first.is_some());
        let comes = |made: &Site, wanted: &Site| {
            made.node < wanted.node || nodes.may_come_again(wanted.node) && nodes.least_behind(made.node) <= wanted.node
        };
        made.zip(wanted).is_some_and(|(made, wanted)| comes(made, wanted))
    }
}

/// Whether an instruction evaluates something that may be evaluated elsewhere.
fn is_evaluated(data: &InstData) -> bool {
    let opcode = data.opcode;
    let is_load = opcode.op == Op::Ld && may_be_repeated(opcode) || opcode.op.is_texture();
    // A move evaluates nothing.
    let is_evaluated = opcode.is_pure() && opcode.op != Op::Mov || is_load;
    is_evaluated && data.guard.is_none() && !data.dsts.is_empty() && !data.is_terminator()
}

/// The operands of an instruction, with the first two of a commutative one in order.
fn arguments(data: &InstData) -> impl Iterator<Item = &Operand> {
    let (first, others) = data.args.split_at(data.args.len().min(2));
    let is_swapped = matches!(first, [a, b] if data.opcode.op.is_commutative() && b < a);
    let first = (0..first.len()).map(move |place| if is_swapped { &first[1 - place] } else { &first[place] });
    first.chain(others)
}

/// Types of an instruction's results.
fn types(func: &Function, data: &InstData) -> impl Iterator<Item = Type> {
    data.dsts.iter().map(|&reg| func.reg_types[reg])
}

fn without_speculation(opcode: Opcode) -> Opcode {
    Opcode { flags: opcode.flags - Flags::SPEC, ..opcode }
}

/// A hash that is equal for instructions that evaluate the same.
fn hash(hasher: &DefaultHashBuilder, data: &InstData) -> u64 {
    let mut state = hasher.build_hasher();
    (data.opcode.op, data.opcode.ty).hash(&mut state);
    arguments(data).for_each(|operand| operand.hash(&mut state));
    state.finish()
}
