//! Inputs of the measurements: graphs of three kinds, and programs over them and of two kinds more, at any size.
//!
//! | kind | its blocks |
//! |---|---|
//! | structured | loops around diamonds, one after the other |
//! | deep | loops in loops in loops |
//! | irreducible | each goes to the next, and to one a short random way off |
//! | straight | four long ones, one after the other |
//! | generated | what the property tests run: short blocks over a few registers that everything overwrites |
//!
//! All but the generated programs are made by [`over_graph`], of one mixture with something to do
//! for every pass: copies of registers and constants, guarded writes, constant operands, results
//! that nothing reads. One in six is a `mov`; of what nvcc prints for the examples in
//! `www/examples/cuda` it is one in nine, with and without optimisation. Loads and stores are about
//! as frequent as there. Nothing here is ever run.

use cranelift_entity::EntityRef;
use warpscope_core::graph::{Cfg, Dominators};
use warpscope_core::ir::{
    Address, AddressBase, Block, Cmp, Func, FuncKind, Function, Guard, InstData, Item, Module, Op, Opcode, Operand,
    ParamType, Reg, Space, Special, Type,
};
use warpscope_core::{text, verify};
use warpscope_testkit::sample;

/// Blocks of a graph, or instructions of a program.
pub const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Blocks, or instructions, of all graphs or programs that are measured at one size. A processor
/// learns the branches of a small program that it is given again and again, and then takes half the
/// time; nobody runs a pass on one program a thousand times. So a size is as many different
/// programs as keep it from that, and what they take grows with what is done, not with what has
/// been learned.
const ALTOGETHER: usize = 100_000;

/// Makes a graph of so many blocks, another for each seed where the kind has something to choose:
/// the successors of each.
pub type MakeGraph = fn(usize, u64) -> Vec<Vec<Block>>;

/// Graphs by kind: each block's successors.
pub const GRAPHS: [(&str, MakeGraph); 3] = [("structured", structured), ("deep", deep), ("irreducible", irreducible)];

/// Kinds of programs.
pub const PROGRAMS: [&str; 5] = ["structured", "deep", "irreducible", "straight", "generated"];

/// Instructions of a block, where a kind does not say otherwise.
const BLOCK: usize = 10;

/// Different programs of one kind and size, as many as make [`ALTOGETHER`] instructions.
#[derive(Clone)]
pub struct Inputs {
    pub size: usize,
    pub programs: Vec<Input>,
}

/// One program.
#[derive(Clone)]
pub struct Input {
    pub module: Module,
    /// The kernel that makes it that large.
    pub func: Func,
}

impl Inputs {
    /// Programs of a kind with about `size` instructions each. They went through their text, as all programs do.
    pub fn new(kind: &str, size: usize) -> Inputs {
        let programs = sources(kind, size).into_iter().map(|source| {
            let checked = verify::check(&source);
            assert!(checked.diagnostics.is_empty(), "{kind}, {size}: {:?}", checked.diagnostics[0]);
            let module = checked.module;
            let largest = module.funcs.iter().max_by_key(|(_, func)| func.inst_count());
            let func = largest.expect("the program has a kernel").0;
            Input { module, func }
        });
        Inputs { size, programs: programs.collect() }
    }

    /// Instructions of all programs.
    pub fn instructions(&self) -> usize {
        self.programs.iter().map(Input::instructions).sum()
    }

    /// The programs' kernels, the functions that make them that large.
    pub fn kernels(&self) -> impl Iterator<Item = &Function> {
        self.programs.iter().map(|program| &program.module.funcs[program.func])
    }
}

impl Input {
    /// Instructions of all functions.
    pub fn instructions(&self) -> usize {
        self.module.funcs.values().map(|func| func.inst_count()).sum()
    }
}

/// The texts of those programs.
pub fn sources(kind: &str, size: usize) -> Vec<String> {
    let count = programs_of(size);
    match (kind, GRAPHS.iter().find(|(name, _)| *name == kind)) {
        ("generated", _) => sample::programs(size, count),
        (_, Some((_, graph))) => {
            let blocks = (size / BLOCK).max(4);
            (1..=count as u64).map(|seed| over_graph(&graph(blocks, seed), BLOCK, seed)).collect()
        }
        (_, None) => (1..=count as u64).map(|seed| over_graph(&straight(4), size / 4, seed)).collect(),
    }
}

/// Graphs of a kind with so many blocks each, as many as make [`ALTOGETHER`] blocks.
pub fn graphs(make: MakeGraph, size: usize) -> Vec<Vec<Vec<Block>>> {
    (1..=programs_of(size) as u64).map(|seed| make(size, seed)).collect()
}

/// How many programs of a size are measured.
fn programs_of(size: usize) -> usize {
    (ALTOGETHER / size).max(1)
}

/// The graph with those successors, entered at its first block.
pub fn cfg(lists: &[Vec<Block>]) -> Cfg {
    Cfg::from_successors(lists.len(), &[Block::new(0)], |block| &lists[block.index()])
}

/// Header, two arms, join that goes round or on.
fn structured(size: usize, _: u64) -> Vec<Vec<Block>> {
    let target = |at: usize| Block::new(at.min(size - 1));
    (0..size)
        .map(|at| match (at + 1 == size, at % 4) {
            (true, _) => vec![],
            (_, 0) => vec![target(at + 1), target(at + 2)],
            (_, 1) => vec![target(at + 2)],
            (_, 2) => vec![target(at + 1)],
            _ => vec![target(at - 3), target(at + 1)],
        })
        .collect()
}

/// The second half of the blocks goes back to the first, the last to the first.
fn deep(size: usize, _: u64) -> Vec<Vec<Block>> {
    (0..size)
        .map(|at| {
            let next = Block::new((at + 1) % size);
            match at {
                _ if at + 1 == size => vec![],
                _ if at < size / 2 => vec![next],
                _ => vec![Block::new(size - 1 - at), next],
            }
        })
        .collect()
}

/// The random way is at most thirty blocks long, in either direction.
fn irreducible(size: usize, seed: u64) -> Vec<Vec<Block>> {
    let mut random = Random(seed);
    (0..size)
        .map(|at| {
            if at + 1 == size {
                return vec![];
            }
            let distance = random.below(61);
            vec![Block::new(at + 1), Block::new((at + distance).saturating_sub(30).min(size - 1))]
        })
        .collect()
}

/// Each block goes to the next.
fn straight(size: usize) -> Vec<Vec<Block>> {
    (1..=size).map(|next| if next < size { vec![Block::new(next)] } else { vec![] }).collect()
}

/// Numbers that look random and are always the same.
pub struct Random(pub u64);

impl Random {
    /// The next number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// The registers that a block may read, because they are assigned on every way to it: the latest few of each kind.
#[derive(Clone, Copy)]
struct Window {
    integers: [Reg; 6],
    floats: [Reg; 6],
    predicates: [Reg; 2],
    /// Registers that are written again and again.
    counters: [Reg; 2],
}

/// Lets a new register take the oldest one's place.
fn remember(latest: &mut [Reg], reg: Reg) {
    latest.rotate_right(1);
    latest[0] = reg;
}

/// The text of a program over a graph, with that many instructions a block, other ones for each seed.
fn over_graph(lists: &[Vec<Block>], instructions: usize, seed: u64) -> String {
    let mut func = Function::new("k", FuncKind::Kernel);
    let count = func.build_param("n", ParamType::Scalar(Type::U32)).expect("a scalar has a register");
    let memory = ParamType::Pointer { space: Some(Space::Global), restrict: false };
    let buffer = func.build_param("x", memory).expect("a pointer has a register");
    for block in 0..lists.len() {
        func.build_block(format!("n{block}"));
    }
    let mut writer = Writer { func, buffer, next_name: 0, random: Random(seed) };
    let first = writer.open(count);
    // A block may read what its immediate dominator had at its end.
    let dominators = Dominators::compute(&cfg(lists));
    let mut windows = vec![first; lists.len()];
    for &block in dominators.preorder() {
        let mut window = dominators.immediate_dominator(block).map_or(first, |above| windows[above.index()]);
        for _ in 1..instructions {
            writer.instruction(block, &mut window);
        }
        writer.terminator(block, &lists[block.index()], &window);
        windows[block.index()] = window;
    }
    let mut module = Module::default();
    let func = module.funcs.push(writer.func);
    module.items.push(Item::Func(func));
    text::print(&module)
}

/// Writes a function's instructions.
struct Writer {
    func: Function,
    buffer: Reg,
    next_name: usize,
    random: Random,
}

impl Writer {
    /// The entry's first instructions, which give all that the others read.
    fn open(&mut self, count: Reg) -> Window {
        let entry = Block::new(0);
        let thread = self.reg(Type::U32);
        let lane = Operand::Special(Special::Laneid);
        self.push(entry, InstData::new(Opcode::new(Op::Add, Type::U32), [thread], [lane, Operand::Reg(count)]));
        let float = self.reg(Type::F32);
        let convert = Opcode::cvt(Type::F32, Type::U32);
        self.push(entry, InstData::new(convert, [float], [Operand::Reg(thread)]));
        let predicate = self.reg(Type::Pred);
        let compare = Opcode::setp(Cmp::Lt, Type::U32);
        self.push(entry, InstData::new(compare, [predicate], [Operand::Reg(thread), Operand::Reg(count)]));
        let counters = [0, 1].map(|start| self.counter(entry, start));
        Window { integers: [thread; 6], floats: [float; 6], predicates: [predicate; 2], counters }
    }

    /// One instruction that is not the block's last.
    fn instruction(&mut self, block: Block, window: &mut Window) {
        let integer = Operand::Reg(self.one_of(&window.integers));
        let float = Operand::Reg(self.one_of(&window.floats));
        let predicate = self.one_of(&window.predicates);
        let counter = self.one_of(&window.counters);
        match self.random.below(36) {
            0..=8 => {
                let op = [Op::Add, Op::Mul, Op::And, Op::Xor][self.random.below(4)];
                let ty = if matches!(op, Op::And | Op::Xor) { Type::B32 } else { Type::U32 };
                let other = Operand::Reg(self.one_of(&window.integers));
                let reg = self.reg(Type::U32);
                self.push(block, InstData::new(Opcode::new(op, ty), [reg], [integer, other]));
                remember(&mut window.integers, reg);
            }
            9..=14 => {
                let (second, third) = (self.one_of(&window.floats), self.one_of(&window.floats));
                let reg = self.reg(Type::F32);
                let args = [float, Operand::Reg(second), Operand::Reg(third)];
                self.push(block, InstData::new(Opcode::new(Op::Fma, Type::F32), [reg], args));
                remember(&mut window.floats, reg);
            }
            15 => {
                let reg = self.reg(Type::U32);
                self.push(block, InstData::new(Opcode::mov(Type::U32), [reg], [integer]));
                remember(&mut window.integers, reg);
            }
            16 => {
                let reg = self.reg(Type::F32);
                self.push(block, InstData::new(Opcode::mov(Type::F32), [reg], [float]));
                remember(&mut window.floats, reg);
            }
            17 => {
                let reg = self.reg(Type::U32);
                let constant = Operand::Const(self.random.below(3) as u64);
                self.push(block, InstData::new(Opcode::mov(Type::U32), [reg], [constant]));
                remember(&mut window.integers, reg);
            }
            19..=20 => {
                let reg = self.reg(Type::U32);
                let constant = Operand::Const(self.random.below(3) as u64);
                self.push(block, InstData::new(Opcode::new(Op::Add, Type::U32), [reg], [integer, constant]));
                remember(&mut window.integers, reg);
            }
            21..=25 => {
                let reg = self.reg(Type::F32);
                let address = self.element(integer);
                let load = Opcode::memory(Op::Ld, Some(Space::Global), Type::F32);
                self.push(block, InstData::new(load, [reg], [address]));
                remember(&mut window.floats, reg);
            }
            26..=28 => {
                let address = self.element(integer);
                let store = Opcode::memory(Op::St, Some(Space::Global), Type::F32);
                self.push(block, InstData::new(store, [], [address, float]));
            }
            29..=30 => {
                let step = InstData::new(Opcode::new(Op::Add, Type::U32), [counter], [Operand::Reg(counter), integer]);
                self.push(block, step);
            }
            18 => {
                let reg = self.reg(Type::U32);
                self.push(block, InstData::new(Opcode::mov(Type::U32), [reg], [Operand::Reg(counter)]));
                remember(&mut window.integers, reg);
            }
            31 => {
                let guard = Guard { reg: predicate, negated: self.random.below(2) == 0 };
                let write = InstData::new(Opcode::mov(Type::U32), [counter], [integer]);
                self.push(block, write.guarded(Some(guard)));
            }
            32..=33 => {
                let reg = self.reg(Type::Pred);
                let other = Operand::Reg(self.one_of(&window.integers));
                self.push(block, InstData::new(Opcode::setp(Cmp::Lt, Type::U32), [reg], [integer, other]));
                remember(&mut window.predicates, reg);
            }
            34 => {
                let reg = self.reg(Type::F32);
                let args = [float, Operand::Reg(self.one_of(&window.floats)), Operand::Reg(predicate)];
                self.push(block, InstData::new(Opcode::new(Op::Selp, Type::F32), [reg], args));
                remember(&mut window.floats, reg);
            }
            _ => {
                let start = self.random.below(9) as u64;
                let counter = self.counter(block, start);
                remember(&mut window.counters, counter);
            }
        }
    }

    fn terminator(&mut self, block: Block, targets: &[Block], window: &Window) {
        let data = match *targets {
            [] => InstData::new(Opcode::untyped(Op::Ret), [], []),
            [target] => InstData::branch(target),
            [on_true, on_false, ..] => {
                InstData::branch_if(Operand::Reg(self.one_of(&window.predicates)), on_true, on_false)
            }
        };
        self.push(block, data);
    }

    /// A register that will be written again, with its first value.
    fn counter(&mut self, block: Block, start: u64) -> Reg {
        let reg = self.reg(Type::U32);
        self.push(block, InstData::new(Opcode::mov(Type::U32), [reg], [Operand::Const(start)]));
        reg
    }

    /// `x[index]`, an element of four bytes.
    fn element(&self, index: Operand) -> Operand {
        let terms = index.as_reg().into_iter().map(|reg| (reg, 4)).collect();
        Operand::Address(Box::new(Address { base: AddressBase::Reg(self.buffer), terms, offset: 0 }))
    }

    fn one_of(&mut self, regs: &[Reg]) -> Reg {
        regs[self.random.below(regs.len())]
    }

    fn reg(&mut self, ty: Type) -> Reg {
        self.next_name += 1;
        self.func.build_reg(format!("r{}", self.next_name), ty)
    }

    fn push(&mut self, block: Block, data: InstData) {
        self.func.build_inst(block, data);
    }
}
