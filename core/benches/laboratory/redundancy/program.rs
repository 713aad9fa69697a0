//! Programs with redundancy in them, each written twice: for us and for LLVM.
//!
//! ```text
//! v9: u32 = v3 or v8, by the path taken     .wir   v9 = mov.u32 v3 at the end of one path, = mov.u32 v8 of the other
//!                                           .ll    %v9 = phi i32 [ %v3, %b1 ], [ %v8, %b2 ]
//! ```
//!
//! A program here is in SSA form. Its joins are phis in LLVM's text and copies at the end of the
//! blocks before in ours, which is how compilers print PTX. Every other step is one instruction in
//! both. Nothing is dead: each value is read, the last ones by the store at the end. One step in
//! four repeats an earlier one that is certain to have run (nvcc without optimisation prints 27 %
//! such instructions): with its operands swapped half the time, and with equal values in their
//! place where there are some, so that whoever wants to find it has to number values.

use std::fmt::Write as _;

use crate::inputs::Random;

/// Kinds of programs: name, whether they have branches and loops, and whether they have loads and stores.
pub const KINDS: [(&str, bool, bool); 4] = [
    ("straight", false, false),
    ("branching", true, false),
    ("straight with memory", false, true),
    ("branching with memory", true, true),
];

/// Integers that the kernel is given: `v0` to `v5`.
const PARAMETERS: usize = 6;

/// Blocks of straight code.
const STRAIGHT_BLOCKS: usize = 4;

/// How deep branches and loops are nested.
const DEPTH: usize = 4;

/// How many of the latest values, or steps, a choice is made from.
const WINDOW: usize = 12;

/// A value, by the order in which they were made.
type Value = usize;

#[derive(Clone, Copy)]
enum Operand {
    Value(Value),
    Constant(u32),
}

/// One instruction.
#[derive(Clone)]
enum Step {
    /// One of [`BINARY`].
    Binary(usize, Operand, Operand),
    /// Unsigned less than.
    Less(Operand, Operand),
    Select(Value, Operand, Operand),
    /// From 32 to 64 bits.
    Extend(Value),
    /// An address so many bytes behind the first or second buffer's beginning.
    Behind(usize, Value),
    Load(Value),
    Store(Value, Value),
}

/// Operations of two integers: ours, LLVM's, and whether operands may be swapped.
const BINARY: [(&str, &str, bool); 7] = [
    ("add.u32", "add", true),
    ("mul.u32", "mul", true),
    ("xor.b32", "xor", true),
    ("and.b32", "and", true),
    ("or.b32", "or", true),
    ("sub.u32", "sub", false),
    ("shl.b32", "shl", false),
];
const ADD: usize = 0;
const XOR: usize = 2;
const SHL: usize = 6;

/// A value that depends on the block before.
struct Join {
    value: Value,
    from: Vec<(usize, Value)>,
}

enum End {
    Jump(usize),
    Branch(Value, usize, usize),
    Return,
}

struct Block {
    joins: Vec<Join>,
    /// Each with the value that it makes, if it makes one.
    steps: Vec<(Option<Value>, Step)>,
    end: End,
}

/// A kernel in SSA form.
pub struct Program {
    blocks: Vec<Block>,
}

impl Program {
    /// A program of about `size` instructions.
    pub fn new(branches: bool, memory: bool, size: usize) -> Program {
        let mut writer = Writer {
            blocks: Vec::new(),
            random: Random(1),
            values: PARAMETERS,
            class: (0..PARAMETERS).collect(),
            memory,
            steps: 0,
            size,
            scope: Scope { integers: (0..PARAMETERS).collect(), ..Scope::default() },
        };
        writer.open();
        if branches {
            writer.region(0, size);
        } else {
            for block in 1..=STRAIGHT_BLOCKS {
                writer.plain(size * block / STRAIGHT_BLOCKS);
                if block < STRAIGHT_BLOCKS {
                    writer.go_on();
                }
            }
        }
        writer.close();
        Program { blocks: writer.blocks }
    }

    /// Instructions other than joins and the copies that stand for them.
    pub fn instructions(&self) -> usize {
        self.blocks.iter().map(|block| block.steps.len() + 1).sum()
    }

    /// Our text.
    pub fn wir(&self) -> String {
        let parameters: String = (0..PARAMETERS).map(|number| format!("v{number}: u32, ")).collect();
        let mut text = format!("kernel k({parameters}x: ptr.global restrict, y: ptr.global restrict) {{\n");
        let mut copies = vec![Vec::new(); self.blocks.len()];
        for join in self.blocks.iter().flat_map(|block| &block.joins) {
            join.from.iter().for_each(|&(from, value)| copies[from].push((join.value, value)));
        }
        for (number, block) in self.blocks.iter().enumerate() {
            line(&mut text, format_args!("b{number}:"));
            for (value, step) in &block.steps {
                let result = value.map(|value| format!("v{value} = ")).unwrap_or_default();
                line(&mut text, format_args!("    {result}{}", step.wir()));
            }
            for (join, value) in &copies[number] {
                line(&mut text, format_args!("    v{join} = mov.u32 v{value}"));
            }
            match block.end {
                End::Jump(to) => line(&mut text, format_args!("    br b{to}")),
                End::Branch(on, yes, no) => line(&mut text, format_args!("    br v{on}, b{yes}, b{no}")),
                End::Return => line(&mut text, format_args!("    ret")),
            }
        }
        text + "}\n"
    }

    /// LLVM's text.
    #[cfg(not(target_os = "wasi"))]
    pub fn ll(&self) -> String {
        let parameters: String = (0..PARAMETERS).map(|number| format!("i32 %v{number}, ")).collect();
        let mut text = format!("define void @k({parameters}ptr noalias %x, ptr noalias %y) {{\n");
        for (number, block) in self.blocks.iter().enumerate() {
            line(&mut text, format_args!("b{number}:"));
            for join in &block.joins {
                let ways: Vec<String> =
                    join.from.iter().map(|(from, value)| format!("[ %v{value}, %b{from} ]")).collect();
                line(&mut text, format_args!("  %v{} = phi i32 {}", join.value, ways.join(", ")));
            }
            for (value, step) in &block.steps {
                let result = value.map(|value| format!("%v{value} = ")).unwrap_or_default();
                line(&mut text, format_args!("  {result}{}", step.ll()));
            }
            match block.end {
                End::Jump(to) => line(&mut text, format_args!("  br label %b{to}")),
                End::Branch(on, yes, no) => {
                    line(&mut text, format_args!("  br i1 %v{on}, label %b{yes}, label %b{no}"))
                }
                End::Return => line(&mut text, format_args!("  ret void")),
            }
        }
        text + "}\n"
    }
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("writing to a string does not fail");
}

impl Operand {
    fn wir(self) -> String {
        match self {
            Operand::Value(value) => format!("v{value}"),
            Operand::Constant(number) => number.to_string(),
        }
    }

    #[cfg(not(target_os = "wasi"))]
    fn ll(self) -> String {
        match self {
            Operand::Value(value) => format!("%v{value}"),
            Operand::Constant(number) => number.to_string(),
        }
    }
}

impl Step {
    fn wir(&self) -> String {
        match *self {
            Step::Binary(operation, a, b) => format!("{} {}, {}", BINARY[operation].0, a.wir(), b.wir()),
            Step::Less(a, b) => format!("setp.lt.u32 {}, {}", a.wir(), b.wir()),
            Step::Select(on, a, b) => format!("selp.u32 {}, {}, v{on}", a.wir(), b.wir()),
            Step::Extend(a) => format!("cvt.u64.u32 v{a}"),
            Step::Behind(buffer, offset) => format!("add.u64 {}, v{offset}", ["x", "y"][buffer]),
            Step::Load(address) => format!("ld.global.u32 [v{address}]"),
            Step::Store(address, value) => format!("st.global.u32 [v{address}], v{value}"),
        }
    }

    #[cfg(not(target_os = "wasi"))]
    fn ll(&self) -> String {
        match *self {
            Step::Binary(operation, a, b) => format!("{} i32 {}, {}", BINARY[operation].1, a.ll(), b.ll()),
            Step::Less(a, b) => format!("icmp ult i32 {}, {}", a.ll(), b.ll()),
            Step::Select(on, a, b) => format!("select i1 %v{on}, i32 {}, i32 {}", a.ll(), b.ll()),
            Step::Extend(a) => format!("zext i32 %v{a} to i64"),
            Step::Behind(buffer, offset) => format!("getelementptr i8, ptr %{}, i64 %v{offset}", ["x", "y"][buffer]),
            Step::Load(address) => format!("load i32, ptr %v{address}, align 4"),
            Step::Store(address, value) => format!("store i32 %v{value}, ptr %v{address}, align 4"),
        }
    }
}

/// Definitions that are certain to have run at the current point.
#[derive(Clone, Default)]
struct Scope {
    /// Integers, latest last.
    integers: Vec<Value>,
    predicates: Vec<Value>,
    addresses: Vec<Value>,
    /// Steps without effect on memory.
    steps: Vec<(Value, Step)>,
    /// Integers that nothing has read yet.
    unread: Vec<Value>,
}

/// How long the lists of a [`Scope`] are: what leaves a region, the lists as they were before it come back.
#[derive(Clone, Copy)]
struct Mark([usize; 4]);

struct Writer {
    blocks: Vec<Block>,
    random: Random,
    values: usize,
    /// Values of one class are equal for certain.
    class: Vec<usize>,
    memory: bool,
    steps: usize,
    size: usize,
    scope: Scope,
}

impl Writer {
    /// The first block, with a predicate and an address for the others to read.
    fn open(&mut self) {
        self.block();
        self.choose();
        if self.memory {
            self.address();
            self.load();
        }
    }

    /// Stores what nothing has read.
    fn close(&mut self) {
        let result = self.fold();
        self.address();
        let address = *self.scope.addresses.last().expect("just made");
        self.push(None, Step::Store(address, result));
    }

    /// Blocks, branches and loops until the program has that many instructions.
    fn region(&mut self, depth: usize, until: usize) {
        while self.steps < until {
            let length = 4 + self.random.below(12);
            self.plain(self.steps + length);
            if depth == DEPTH {
                continue;
            }
            let inner = (self.size >> (2 * depth + 3)).clamp(10, 4 * 10_usize.pow((DEPTH - depth) as u32));
            match self.random.below(4) {
                0 => self.loops(depth + 1, inner),
                1 => self.branch(depth + 1, inner, false),
                _ => self.branch(depth + 1, inner, true),
            }
        }
    }

    /// Two ways, or one and the direct one, and the integer that they give.
    fn branch(&mut self, depth: usize, inner: usize, two: bool) {
        let on = self.condition();
        let before = self.current();
        let direct = self.latest();
        let (yes, mut from) = self.arm(depth, inner);
        let mut ways = vec![(self.current(), from)];
        let no = if two {
            let (no, other) = self.arm(depth, inner);
            from = other;
            ways.push((self.current(), from));
            Some(no)
        } else {
            ways.push((before, direct));
            None
        };
        let join = self.block();
        self.blocks[before].end = End::Branch(on, yes, no.unwrap_or(join));
        for &(way, _) in ways.iter().filter(|(way, _)| *way != before) {
            self.blocks[way].end = End::Jump(join);
        }
        let value = self.value();
        self.blocks[join].joins.push(Join { value, from: ways });
        self.scope.integers.push(value);
        self.scope.unread.push(value);
    }

    /// One way: its first block, and what it gives.
    fn arm(&mut self, depth: usize, inner: usize) -> (usize, Value) {
        let mark = self.enter();
        let first = self.block();
        self.region(depth, self.steps + inner);
        let result = self.fold();
        self.leave(mark);
        (first, result)
    }

    /// `while (i < limit) { …; i += 1; sum = …; }`
    fn loops(&mut self, depth: usize, inner: usize) {
        let (start, first_sum, limit) = (self.latest(), self.integer(), self.integer());
        let before = self.current();
        let header = self.block();
        self.blocks[before].end = End::Jump(header);
        let (i, sum) = (self.value(), self.value());
        self.scope.integers.extend([i, sum]);
        let on = self.value();
        self.push(Some(on), Step::Less(Operand::Value(i), limit));
        let mark = self.enter();
        let body = self.block();
        self.scope.unread.extend([i, sum]);
        self.region(depth, self.steps + inner);
        let next_sum = self.fold();
        let next = self.value();
        self.push(Some(next), Step::Binary(ADD, Operand::Value(i), Operand::Constant(1)));
        let latch = self.current();
        self.blocks[latch].end = End::Jump(header);
        self.leave(mark);
        let exit = self.block();
        self.blocks[header].end = End::Branch(on, body, exit);
        let first_sum = match first_sum {
            Operand::Value(value) => value,
            Operand::Constant(_) => start,
        };
        self.blocks[header].joins = vec![
            Join { value: i, from: vec![(before, start), (latch, next)] },
            Join { value: sum, from: vec![(before, first_sum), (latch, next_sum)] },
        ];
        self.scope.unread.push(sum);
    }

    /// Steps without a branch until the program has that many.
    fn plain(&mut self, until: usize) {
        while self.steps < until {
            match self.random.below(24) {
                0..=5 => self.repeat(),
                6 => self.choose(),
                7 => self.select(),
                8 if self.memory => {
                    self.address();
                    self.load();
                }
                9..=11 if self.memory => {
                    let address = self.old_address();
                    self.compute(Step::Load(address));
                }
                12..=13 if self.memory => {
                    let (address, value) = (self.old_address(), self.unread());
                    self.push(None, Step::Store(address, value));
                }
                _ => self.binary(),
            }
        }
    }

    /// Most sums and products read what nothing has read yet: expressions are trees, with here and
    /// there a new one begun and two of them made one.
    fn binary(&mut self) {
        let operation = self.random.below(SHL);
        let many = self.scope.unread.len() > WINDOW;
        let (a, b) = match self.random.below(4) {
            _ if many => (Operand::Value(self.unread()), Operand::Value(self.unread())),
            0 => (Operand::Value(self.old_integer()), self.integer()),
            1 => (Operand::Value(self.unread()), Operand::Value(self.unread())),
            _ => (Operand::Value(self.unread()), self.integer()),
        };
        self.compute(Step::Binary(operation, a, b));
    }

    /// Computes again what has been computed, from equal operands.
    fn repeat(&mut self) {
        let steps = &self.scope.steps;
        if steps.is_empty() {
            return self.binary();
        }
        let back = 1 + self.random.below(steps.len().min(4 * WINDOW));
        let (value, step) = steps[steps.len() - back].clone();
        let again = match step {
            Step::Binary(operation, a, b) => {
                let (a, b) = (self.equal(a), self.equal(b));
                let swap = BINARY[operation].2 && self.random.below(2) == 0;
                if swap { Step::Binary(operation, b, a) } else { Step::Binary(operation, a, b) }
            }
            Step::Less(a, b) => Step::Less(self.equal(a), self.equal(b)),
            Step::Select(on, a, b) => Step::Select(on, self.equal(a), self.equal(b)),
            step => step,
        };
        let result = self.value();
        self.class[result] = self.class[value];
        self.push(Some(result), again.clone());
        // What is computed again is read again.
        match again {
            Step::Less(..) => {
                self.scope.predicates.push(result);
                self.select();
            }
            Step::Behind(..) => {
                self.scope.addresses.push(result);
                self.load();
            }
            Step::Extend(_) => {
                let address = self.value();
                self.push(Some(address), Step::Behind(0, result));
                self.scope.addresses.push(address);
                self.load();
            }
            _ => {
                self.scope.integers.push(result);
                self.scope.unread.push(result);
            }
        }
    }

    /// Compares, and selects by that.
    fn choose(&mut self) {
        self.compare();
        self.select();
    }

    /// Selects by the latest predicate.
    fn select(&mut self) {
        let on = *self.scope.predicates.last().expect("the first block compares");
        let (a, b) = (self.unread(), self.integer());
        self.compute(Step::Select(on, Operand::Value(a), b));
    }

    /// Reads the latest address.
    fn load(&mut self) {
        let address = *self.scope.addresses.last().expect("made before");
        self.compute(Step::Load(address));
    }

    fn compare(&mut self) {
        let value = self.value();
        let step = Step::Less(Operand::Value(self.old_integer()), Operand::Value(self.unread()));
        self.push(Some(value), step.clone());
        self.scope.predicates.push(value);
        self.scope.steps.push((value, step));
    }

    /// An element of one of the buffers, with a number from before.
    fn address(&mut self) {
        let (offset, wide, address) = (self.value(), self.value(), self.value());
        let index = Operand::Value(self.old_integer());
        let buffer = self.random.below(2);
        let steps = [
            (offset, Step::Binary(SHL, index, Operand::Constant(2))),
            (wide, Step::Extend(offset)),
            (address, Step::Behind(buffer, wide)),
        ];
        for (value, step) in steps {
            self.push(Some(value), step.clone());
            self.scope.steps.push((value, step));
        }
        self.scope.addresses.push(address);
    }

    /// A step that gives an integer.
    fn compute(&mut self, step: Step) {
        let value = self.value();
        self.push(Some(value), step.clone());
        self.scope.integers.push(value);
        self.scope.unread.push(value);
        if !matches!(step, Step::Load(_)) {
            self.scope.steps.push((value, step));
        }
    }

    /// Makes one integer of all that nothing has read.
    fn fold(&mut self) -> Value {
        let mut all = self.unread();
        loop {
            let (a, last) = (Operand::Value(all), self.scope.unread.is_empty());
            let b = if last { Operand::Value(0) } else { Operand::Value(self.unread()) };
            all = self.value();
            self.push(Some(all), Step::Binary(XOR, a, b));
            if last {
                return all;
            }
        }
    }

    /// A value of that class, the latest of a few, or the value itself.
    fn equal(&self, operand: Operand) -> Operand {
        let Operand::Value(value) = operand else { return operand };
        let same = |other: &&Value| self.class[**other] == self.class[value];
        let found = self.scope.integers.iter().rev().take(4 * WINDOW).find(same);
        Operand::Value(found.copied().unwrap_or(value))
    }

    fn integer(&mut self) -> Operand {
        match self.random.below(5) {
            0 => Operand::Constant(1 + self.random.below(30) as u32),
            _ => Operand::Value(self.old_integer()),
        }
    }

    fn old_integer(&mut self) -> Value {
        one_of_latest(&mut self.random, &self.scope.integers)
    }

    fn latest(&self) -> Value {
        *self.scope.integers.last().expect("parameters are always there")
    }

    /// A condition of this block's own.
    fn condition(&mut self) -> Value {
        self.compare();
        *self.scope.predicates.last().expect("just made")
    }

    fn old_address(&mut self) -> Value {
        one_of_latest(&mut self.random, &self.scope.addresses)
    }

    /// The oldest integer that nothing has read, or any.
    fn unread(&mut self) -> Value {
        if self.scope.unread.is_empty() { self.old_integer() } else { self.scope.unread.remove(0) }
    }

    fn enter(&mut self) -> (Mark, Vec<Value>) {
        let Scope { integers, predicates, addresses, steps, unread } = &mut self.scope;
        let mark = Mark([integers.len(), predicates.len(), addresses.len(), steps.len()]);
        (mark, std::mem::take(unread))
    }

    fn leave(&mut self, (Mark([integers, predicates, addresses, steps]), unread): (Mark, Vec<Value>)) {
        self.scope.integers.truncate(integers);
        self.scope.predicates.truncate(predicates);
        self.scope.addresses.truncate(addresses);
        self.scope.steps.truncate(steps);
        self.scope.unread = unread;
    }

    fn value(&mut self) -> Value {
        self.values += 1;
        self.class.push(self.values - 1);
        self.values - 1
    }

    fn current(&self) -> usize {
        self.blocks.len() - 1
    }

    /// Begins a block and returns its number.
    fn block(&mut self) -> usize {
        self.steps += 1;
        self.blocks.push(Block { joins: Vec::new(), steps: Vec::new(), end: End::Return });
        self.current()
    }

    /// Begins a block after this one.
    fn go_on(&mut self) {
        let before = self.current();
        let next = self.block();
        self.blocks[before].end = End::Jump(next);
    }

    fn push(&mut self, value: Option<Value>, step: Step) {
        self.steps += 1;
        let block = self.current();
        self.blocks[block].steps.push((value, step));
    }
}

fn one_of_latest(random: &mut Random, values: &[Value]) -> Value {
    let back = 1 + random.below(values.len().min(WINDOW));
    values[values.len() - back]
}
