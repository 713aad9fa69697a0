//! What is evaluated, and where.
//!
//! ```text
//! n: a = add.u32 x, y      x + y: n evaluates it before it writes an operand, and so its evaluation could stand in front of n
//!    b = add.u32 y, x      of which this is a repetition
//!    x = add.u32 x, 1
//!    c = add.u32 x, y      and once more behind that: what holds at the end of n
//! ```
//!
//! An expression is an opcode with its operands, those of a commutative one in any order. Evaluated are pure instructions
//! without a guard, and loads, which are the same with and without `.spec`. What writes an operand ends what is known of its
//! value, as does whatever may change the memory that a load reads.
//!
//! One walk over the function.

use alloc::vec;
use alloc::vec::Vec;
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use crate::ir::{Few, Flags, Function, Inst, InstData, Op, Reg, Type};
use crate::pass::path_guided::memory::{Changes, Memory, Reads, may_be_repeated};
use crate::pass::path_guided::nodes::{Node, Nodes};

/// See the file's head.
#[derive(Clone)]
pub(super) struct Expression {
    /// Without destinations, and without `.spec`.
    pub data: InstData,
    /// What each result is.
    pub types: SmallVec<[Type; 1]>,
    /// What it reads, each once.
    pub operands: SmallVec<[Reg; 4]>,
    /// What a load reads that may change.
    pub reads: Option<Reads>,
    /// By node.
    pub sites: Vec<Site>,
    /// Where its value is kept, once it is.
    pub temporaries: Few<Reg>,
}

/// Where a node evaluates an expression.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub node: Node,
    /// Before anything in the node changes its value.
    pub first: Option<Inst>,
    /// With nothing behind it in the node that changes its value; the same as the first where nothing does at all.
    pub last: Option<Inst>,
}

/// What evaluates an expression again although the same block has just done so.
#[derive(Clone)]
pub(super) struct Repetition {
    pub node: Node,
    /// What has evaluated it.
    pub earlier: Inst,
    pub inst: Inst,
}

/// All that are evaluated in a function.
pub(super) struct Expressions {
    /// In the order of their first evaluations.
    pub all: Vec<Expression>,
    /// By expression: its repetitions within blocks.
    pub repetitions: Vec<Vec<Repetition>>,
    /// By register: the nodes that write it, in order.
    writers: Vec<SmallVec<[u32; 2]>>,
    /// Registers that are parameters, if anything is read where not every way has assigned it.
    doubtful: Option<HashSet<Reg>>,
}

/// An instruction without what does not matter to its value, and what its results are.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    data: InstData,
    types: SmallVec<[Type; 1]>,
}

/// What is open in the block that is being walked over.
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
        let mut known: HashMap<Key, usize> = HashMap::new();
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
                if let Some(key) = key(func, data) {
                    let number = *known.entry(key).or_insert_with_key(|key| {
                        found.all.push(Expression::new(data, key, memory.reads(inst)));
                        found.repetitions.push(Vec::new());
                        open.push(Open { node: Node::MAX, inst, place: 0 });
                        found.all.len() - 1
                    });
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
    fn new(first: &InstData, key: &Key, reads: Option<Reads>) -> Expression {
        let mut operands: SmallVec<[Reg; 4]> = first.uses();
        operands.sort_unstable();
        operands.dedup();
        Expression {
            // With operands as they are written.
            data: without_results(first),
            types: key.types.clone(),
            operands,
            reads,
            sites: Vec::new(),
            temporaries: Few::new(),
        }
    }

    /// Where a node evaluates it.
    pub fn site(&self, node: Node) -> Option<&Site> {
        self.sites.binary_search_by_key(&node, |site| site.node).ok().map(|place| &self.sites[place])
    }

    /// The same, to be changed; made where there is none.
    pub fn site_mut(&mut self, node: Node) -> &mut Site {
        let place = self.sites.binary_search_by_key(&node, |site| site.node).unwrap_or_else(|place| {
            self.sites.insert(place, Site { node, first: None, last: None });
            place
        });
        &mut self.sites[place]
    }
}

/// What an instruction is known by, if it is evaluated here and may be elsewhere.
fn key(func: &Function, data: &InstData) -> Option<Key> {
    let opcode = data.opcode;
    let is_load = opcode.op == Op::Ld && may_be_repeated(opcode) || opcode.op == Op::Tex2d;
    // A move evaluates nothing.
    let is_evaluated = opcode.is_pure() && opcode.op != Op::Mov || is_load;
    if !is_evaluated || data.guard.is_some() || data.dsts.is_empty() || data.is_terminator() {
        return None;
    }
    let types = data.dsts.iter().map(|&reg| func.regs[reg].ty).collect();
    let mut data = without_results(data);
    if opcode.op.is_commutative() && data.args.len() >= 2 && data.args[1] < data.args[0] {
        data.args.swap(0, 1);
    }
    Some(Key { data, types })
}

fn without_results(data: &InstData) -> InstData {
    let mut data = InstData { dsts: Few::new(), ..data.clone() };
    data.opcode.flags -= Flags::SPEC;
    data
}
