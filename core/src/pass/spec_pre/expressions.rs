//! Expressions and their evaluations.
//!
//! ```text
//! n: a = add.u32 x, y      x + y: n evaluates it before it writes an operand, and so its evaluation could stand in
//! front of n
//!    b = add.u32 y, x      of which this is a repetition
//!    x = add.u32 x, 1
//!    c = add.u32 x, y      and once more behind that: what holds at the end of n
//! ```
//!
//! An expression is an opcode with its operands, those of a commutative one in any order. Evaluated are pure
//! instructions without a guard, and loads, which are the same with and without `.spec`. What writes an operand ends
//! what is known of its value, as does whatever may change the memory that a load reads.
//!
//! One walk over the function.

use alloc::vec;
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash, Hasher};
use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
use smallvec::SmallVec;

use crate::ir::{Few, Flags, Function, Inst, InstData, Op, Opcode, Operand, Reg, Type};
use crate::pass::support::path_guided::memory::{Changes, Memory, Reads, may_be_repeated};
use crate::pass::support::path_guided::nodes::{Node, Nodes};

/// See the file's head.
#[derive(Clone)]
pub(super) struct Expression {
    /// Without destinations, and without `.spec`.
    pub data: InstData,
    /// Types of the results.
    pub types: SmallVec<[Type; 1]>,
    /// Registers that it reads, each once.
    pub operands: SmallVec<[Reg; 4]>,
    /// Memory that a load reads, if it may change.
    pub reads: Option<Reads>,
    /// Sites by node.
    pub sites: SmallVec<[Site; 1]>,
    /// Temporaries that hold its value, once there are any.
    pub temporaries: Few<Reg>,
}

/// Evaluations of an expression in a node.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub node: Node,
    /// Before anything in the node changes its value.
    pub first: Option<Inst>,
    /// With nothing behind it in the node that changes its value; the same as the first where nothing does at all.
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

/// All that are evaluated in a function.
pub(super) struct Expressions {
    /// In the order of their first evaluations.
    pub all: Vec<Expression>,
    /// Repetitions of each expression within blocks.
    pub repetitions: Vec<Vec<Repetition>>,
    /// Nodes that write each register, in order.
    writers: Vec<SmallVec<[u32; 2]>>,
    /// Registers that are parameters, if anything is read where not every way has assigned it.
    doubtful: Option<HashSet<Reg>>,
}

/// The expressions of a walk by what they are: their numbers, each with the hash of its instructions.
#[derive(Default)]
struct Known {
    numbers: HashTable<(u64, u32)>,
    hasher: DefaultHashBuilder,
}

impl Known {
    /// The number of what an instruction evaluates, the next one if it is new.
    fn number(&mut self, func: &Function, data: &InstData, all: &[Expression]) -> usize {
        let (hash, next) = (self.hash(data), all.len() as u32);
        let is_same = |&(other, number): &(u64, u32)| other == hash && all[number as usize].is_evaluated_by(func, data);
        self.numbers.entry(hash, is_same, |&(hash, _)| hash).or_insert((hash, next)).get().1 as usize
    }

    /// A hash that is the same for instructions that evaluate the same.
    fn hash(&self, data: &InstData) -> u64 {
        let mut state = self.hasher.build_hasher();
        (data.opcode.op, data.opcode.ty).hash(&mut state);
        arguments(data).for_each(|operand| operand.hash(&mut state));
        state.finish()
    }
}

/// Open expressions of the block that is being walked over.
struct Open {
    node: Node,
    inst: Inst,
    /// Its place in the block, from 0.
    place: u32,
}

impl Expressions {
    /// Those of a function.
    pub fn of(func: &Function, nodes: &Nodes, memory: &Memory, has_doubtful_reads: bool) -> Expressions {
        let mut found = Expressions {
            doubtful: has_doubtful_reads.then(|| func.params.iter().filter_map(|param| param.reg).collect()),
            all: Vec::new(),
            repetitions: Vec::new(),
            writers: vec![SmallVec::new(); func.regs.len()],
        };
        let mut known = Known::default();
        let mut open: Vec<Open> = Vec::new();
        // By register: one more than the last place that has written it in the block.
        let mut written = vec![(0, 0); func.regs.len()];
        let mut touched: Vec<usize> = Vec::new();
        let mut changes = memory.changes();
        for node in 0..nodes.len() {
            let Some(block) = nodes.block(node) else { continue };
            let last_kill = |expression: &Expression, written: &[(Node, u32)], changes: &Changes| {
                let of_regs = expression.operands.iter().filter_map(|&reg| {
                    let (there, place) = written[reg.as_u32() as usize];
                    (there == node).then_some(place)
                });
                let of_memory = expression.reads.map_or(0, |reads| changes.last(reads));
                of_regs.max().unwrap_or(0).max(of_memory)
            };
            touched.clear();
            changes.clear();
            for (place, inst) in func.block_insts(block).enumerate() {
                let (place, data) = (place as u32 + 1, &func.insts[inst]);
                if is_evaluated(data) {
                    let number = known.number(func, data, &found.all);
                    if number == found.all.len() {
                        found.all.push(Expression::new(func, data, memory.reads(inst)));
                        found.repetitions.push(Vec::new());
                        open.push(Open { node: Node::MAX, inst, place: 0 });
                    }
                    let expression = &mut found.all[number];
                    let kill = last_kill(expression, &written, &changes);
                    let open = &mut open[number];
                    if open.node != node {
                        touched.push(number);
                        expression.sites.push(Site { node, first: (kill == 0).then_some(inst), last: None });
                    }
                    if open.node == node && kill < open.place {
                        found.repetitions[number].push(Repetition { node, earlier: open.inst, inst });
                    } else {
                        *open = Open { node, inst, place };
                    }
                }
                for &reg in &*data.dsts {
                    let writers = &mut found.writers[reg.as_u32() as usize];
                    if writers.last() != Some(&(node as u32)) {
                        writers.push(node as u32);
                    }
                    written[reg.as_u32() as usize] = (node, place);
                }
                changes.visit(inst, place);
            }
            for &number in &touched {
                let expression = &mut found.all[number];
                let is_left = last_kill(expression, &written, &changes) < open[number].place;
                if let Some(site) = expression.sites.last_mut() {
                    site.last = is_left.then_some(open[number].inst);
                }
            }
        }
        found
    }

    /// Does nothing in a node change the value of an expression?
    pub fn is_transparent(&self, memory: &Memory, expression: &Expression, node: Node) -> bool {
        !self.is_written(expression, node) && !expression.reads.is_some_and(|reads| memory.may_change(reads, node))
    }

    /// Transparency ([`Self::is_transparent`]) for many nodes.
    pub fn transparency<'a>(
        &'a self,
        memory: &'a Memory,
        expression: &'a Expression,
    ) -> impl Fn(Node) -> bool + use<'a> {
        let writers: SmallVec<[&[u32]; 4]> = self.writers(expression).filter(|writers| !writers.is_empty()).collect();
        // Most nodes lie before or behind all that write one.
        let first = writers.iter().map(|writers| writers[0]).min().unwrap_or(u32::MAX);
        let last = writers.iter().map(|writers| writers[writers.len() - 1]).max().unwrap_or(0);
        let is_written = move |node: u32| {
            (first..=last).contains(&node) && writers.iter().any(|writers| writers.binary_search(&node).is_ok())
        };
        move |node| !is_written(node as u32) && !expression.reads.is_some_and(|reads| memory.may_change(reads, node))
    }

    /// Does a node write an operand?
    pub fn is_written(&self, expression: &Expression, node: Node) -> bool {
        self.writers(expression).any(|writers| writers.binary_search(&(node as u32)).is_ok())
    }

    /// The first node behind a node that writes an operand.
    pub fn next_writer(&self, expression: &Expression, node: Node) -> Option<Node> {
        let next = |writers: &[u32]| writers.get(writers.partition_point(|&writer| writer <= node as u32)).copied();
        self.writers(expression).filter_map(next).min().map(|writer| writer as Node)
    }

    /// The last node before a node that writes an operand.
    pub fn last_writer(&self, expression: &Expression, node: Node) -> Option<Node> {
        let last = |writers: &[u32]| {
            let before = writers.partition_point(|&writer| writer < node as u32);
            Some(writers[before.checked_sub(1)?])
        };
        self.writers(expression).filter_map(last).max().map(|writer| writer as Node)
    }

    /// The nodes that write each operand.
    fn writers(&self, expression: &Expression) -> impl Iterator<Item = &[u32]> {
        let of = |reg: &Reg| self.writers.get(reg.as_u32() as usize).map(|writers| writers.as_slice());
        expression.operands.iter().filter_map(of)
    }
}

impl Expressions {
    /// Does some way to the end of a node assign each operand of an expression? Where none does, nothing may read it.
    pub fn can_be_evaluated(&self, nodes: &Nodes, expression: &Expression, node: Node) -> bool {
        let Some(params) = &self.doubtful else { return true };
        expression.operands.iter().filter(|reg| !params.contains(*reg)).all(|&reg| {
            let writers = &self.writers[reg.as_u32() as usize];
            let is_writer = |node: Node| writers.binary_search(&(node as u32)).is_ok();
            let mut seen: HashSet<Node> = HashSet::new();
            let mut work = vec![node];
            while let Some(node) = work.pop() {
                if is_writer(node) {
                    return true;
                }
                if seen.insert(node) {
                    work.extend(nodes.predecessors(node));
                }
            }
            false
        })
    }
}

impl Expression {
    fn new(func: &Function, first: &InstData, reads: Option<Reads>) -> Expression {
        let mut operands: SmallVec<[Reg; 4]> = first.uses();
        operands.sort_unstable();
        operands.dedup();
        Expression {
            // With operands as they are written.
            data: without_results(first),
            types: types(func, first).collect(),
            operands,
            reads,
            sites: SmallVec::new(),
            temporaries: Few::new(),
        }
    }

    /// Is it what an instruction evaluates?
    fn is_evaluated_by(&self, func: &Function, data: &InstData) -> bool {
        without_speculation(data.opcode) == self.data.opcode
            && data.control == self.data.control
            && arguments(data).eq(arguments(&self.data))
            && types(func, data).eq(self.types.iter().copied())
    }

    /// Returns the site of a node, to be changed; made if there is none.
    pub fn site_mut(&mut self, node: Node) -> &mut Site {
        let place = self.sites.binary_search_by_key(&node, |site| site.node).unwrap_or_else(|place| {
            self.sites.insert(place, Site { node, first: None, last: None });
            place
        });
        &mut self.sites[place]
    }
}

/// Is what an instruction computes an evaluation that may be made elsewhere?
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

/// Types of its results.
fn types(func: &Function, data: &InstData) -> impl Iterator<Item = Type> {
    data.dsts.iter().map(|&reg| func.reg_types[reg])
}

fn without_results(data: &InstData) -> InstData {
    let (opcode, args, control) = (without_speculation(data.opcode), data.args.clone(), data.control.clone());
    InstData { opcode, control, guard: data.guard, dsts: Few::new(), args }
}

fn without_speculation(opcode: Opcode) -> Opcode {
    Opcode { flags: opcode.flags - Flags::SPEC, ..opcode }
}
