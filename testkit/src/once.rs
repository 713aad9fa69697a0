//! Programs whose registers are written once, as compilers print them, but for one that everything goes into.
//!
//! ```text
//! t = …; r1 = ld.global.u32 x[i]
//! br p, then, else             in both arms registers of their own, from those before, and t
//! r5 = mul.u32 r1, r2          behind them, registers that could be computed before
//! t = mul.u32 t, r5            so that what the arms did to t was in vain where r5 is zero
//! ```
//!
//! Arms and loops nest; every loop ends after a few rounds. Every thread stores at places of its own.

use std::fmt::Write;

use proptest::prelude::*;

/// A statement. Registers are numbers, counted back among those that are there.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A register from two others.
    Pure(u8, u8, u8),
    /// A register from memory.
    Load(u8),
    /// Operation that mixes a value into the accumulator: multiply, add or replace.
    Mix(u8, u8),
    /// Store of the accumulator.
    Store,
    /// Two arms.
    Branch(u8, Vec<Statement>, Vec<Statement>),
    /// Some rounds.
    Loop(u8, Vec<Statement>),
}

/// Any program.
pub fn once() -> impl Strategy<Value = Vec<Statement>> {
    let leaf = prop_oneof![
        4 => (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(op, a, b)| Statement::Pure(op, a, b)),
        1 => any::<u8>().prop_map(Statement::Load),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(how, a)| Statement::Mix(how, a)),
        1 => Just(Statement::Store),
    ];
    let statement = leaf.prop_recursive(3, 32, 6, |inner| {
        let some = prop::collection::vec(inner, 0..6);
        prop_oneof![
            3 => (any::<u8>(), some.clone(), some.clone()).prop_map(|(p, a, b)| Statement::Branch(p, a, b)),
            1 => (1u8..4, some).prop_map(|(rounds, body)| Statement::Loop(rounds, body)),
        ]
    });
    prop::collection::vec(statement, 1..16)
}

/// Its text.
pub fn program(statements: &[Statement]) -> String {
    let mut writer = Writer { text: String::new(), registers: Vec::new(), names: 0, blocks: 0, stores: 0 };
    for index in 0..3 {
        writer.define(&format!("ld.global.u32 x[3*i + {index}]"));
    }
    writer.statements(statements);
    writer.line("st.global.u32 y[i], t");
    let Writer { text, stores, .. } = writer;
    format!(
        "kernel k(x: ptr.global restrict, y: ptr.global restrict) {{\nentry:\n    i = mov.u32 %tid\n    t = mov.u32 \
         1\n{text}    \
         ret\n}}\n\nlaunch k {{\n    block 32\n    warp 8\n    x = buffer u32[512] random(0, 3) zero 0.5 coherence \
         0.7\n    \
         y = buffer u32[{}] const 7\n}}\n",
        32 * (stores + 1)
    )
}

struct Writer {
    text: String,
    /// Registers that every way to here has written.
    registers: Vec<u32>,
    names: u32,
    blocks: u32,
    stores: u32,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "    {line}");
    }

    fn block(&mut self, name: &str) {
        let _ = writeln!(self.text, "{name}:");
    }

    fn define(&mut self, what: &str) {
        self.names += 1;
        let name = self.names;
        self.line(&format!("r{name} = {what}"));
        self.registers.push(name);
    }

    /// A register that is there.
    fn register(&self, back: u8) -> String {
        let place = usize::from(back) % self.registers.len();
        format!("r{}", self.registers[self.registers.len() - 1 - place])
    }

    fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Pure(op, a, b) => {
                let (a, b) = (self.register(*a), self.register(*b));
                let op = ["add.u32", "mul.u32", "sub.u32", "and.b32", "min.u32", "work.u32 40,"][usize::from(op % 6)];
                self.define(&format!("{op} {a}, {b}"));
            }
            Statement::Load(place) => self.define(&format!("ld.global.u32 x[i + {place}]")),
            Statement::Mix(how, a) => {
                let a = self.register(*a);
                let how = ["mul.u32 t,", "mul.u32 t,", "add.u32 t,", "mov.u32"][usize::from(how % 4)];
                self.line(&format!("t = {how} {a}"));
            }
            Statement::Store => {
                self.stores += 1;
                let place = 32 * self.stores;
                self.line(&format!("st.global.u32 y[i + {place}], t"));
            }
            Statement::Branch(p, first, second) => {
                self.blocks += 1;
                let (number, p) = (self.blocks, self.register(*p));
                self.line(&format!("p{number} = setp.gt.u32 {p}, 1"));
                self.line(&format!("br p{number}, then{number}, else{number}"));
                for (name, arm) in [("then", first), ("else", second)] {
                    self.block(&format!("{name}{number}"));
                    let there = self.registers.len();
                    self.statements(arm);
                    self.registers.truncate(there);
                    self.line(&format!("br join{number}"));
                }
                self.block(&format!("join{number}"));
            }
            Statement::Loop(rounds, body) => {
                self.blocks += 1;
                let number = self.blocks;
                self.line(&format!("c{number} = mov.u32 0"));
                self.line(&format!("br loop{number}"));
                self.block(&format!("loop{number}"));
                self.statements(body);
                self.line(&format!("c{number} = add.u32 c{number}, 1"));
                self.line(&format!("q{number} = setp.lt.u32 c{number}, {rounds}"));
                self.line(&format!("br q{number}, loop{number}, behind{number}"));
                self.block(&format!("behind{number}"));
            }
        }
    }
}
