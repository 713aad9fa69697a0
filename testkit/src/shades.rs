//! Programs in the manner of shaders: products and sums of numbers many of which are zero, in branches and loops.
//!
//! ```text
//! f1 = ld.global.f32 x[at + 3]      zero more often than not, and often for a whole warp
//! @p0 f2 = mul.f32 f1, f0
//! f2 = fma.f32 f1, f2, f3           followed by a clamp to [-1, 1]
//! u1 = and.b32 u0, u2
//! ```
//!
//! No float leaves [-1, 1], so that nothing is infinite or NaN, and a zero factor makes every product zero.
//! Every thread reads its own part of the inputs and stores to its own words. Loops have counters of their own.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Strategy, any};
use proptest::prop_oneof;

/// Words of an input that a thread has.
const PART: u32 = 16;
/// Threads: two warps.
const THREADS: u32 = 16;

/// A program, before it is written.
#[derive(Clone, Debug)]
pub struct Shades {
    body: Vec<Statement>,
    /// Tenths: probability that an element is zero, and that a warp's share a draw.
    zero: u8,
    coherence: u8,
}

#[derive(Clone, Debug)]
enum Statement {
    Inst { form: u8, choice: [u8; 4], guard: Option<(u8, bool)> },
    If { condition: u8, sides: [Vec<Statement>; 2] },
    Loop { rounds: u8, body: Vec<Statement> },
}

/// Any such program.
pub fn shades() -> impl Strategy<Value = Shades> {
    (vec(statement(), 4..24), 3..10_u8, 5..11_u8).prop_map(|(body, zero, coherence)| Shades { body, zero, coherence })
}

fn statement() -> BoxedStrategy<Statement> {
    let guard = option::weighted(0.12, (0..2_u8, any::<bool>()));
    let inst = (0..24_u8, any::<[u8; 4]>(), guard)
        .prop_map(|(form, choice, guard)| Statement::Inst { form, choice, guard })
        .boxed();
    inst.prop_recursive(3, 48, 6, |inner| {
        let many = || vec(inner.clone(), 1..6);
        prop_oneof![
            6 => inner.clone(),
            1 => (any::<u8>(), many(), vec(inner.clone(), 0..4))
                .prop_map(|(condition, yes, no)| Statement::If { condition, sides: [yes, no] }),
            1 => (1..4_u8, many()).prop_map(|(rounds, body)| Statement::Loop { rounds, body }),
        ]
    })
    .boxed()
}

/// The program as text.
pub fn program(recipe: &Shades) -> String {
    let mut writer = Writer { text: String::new(), blocks: 0, loops: 0 };
    writer.text.push_str(
        "kernel k(x: ptr.global restrict, z: ptr.global restrict, o: ptr.global restrict, w: \
                          ptr.global restrict) {\nentry:\n",
    );
    writer.line(format_args!("at = mul.u32 %tid, {PART}"));
    writer.line(format_args!("out = mul.u32 %tid, 4"));
    for word in 0..4 {
        writer.line(format_args!("f{word} = ld.global.f32 x[at + {word}]"));
        writer.line(format_args!("u{word} = ld.global.u32 z[at + {word}]"));
    }
    writer.line(format_args!("p0 = setp.gt.f32 f0, 0.0"));
    writer.line(format_args!("p1 = setp.eq.u32 u1, 0"));
    writer.statements(&recipe.body);
    for word in 0..4 {
        writer.line(format_args!("st.global.f32 o[out + {word}], f{word}"));
        writer.line(format_args!("st.global.u32 w[out + {word}], u{word}"));
    }
    writer.line(format_args!("ret"));
    let (words, outputs) = (PART * THREADS, 4 * THREADS);
    let draws = format!("zero 0.{} coherence {:.1}", recipe.zero, f64::from(recipe.coherence) / 10.0);
    let _ = writeln!(
        writer.text,
        "}}\nlaunch k {{\n    grid 1\n    block {THREADS}\n    warp 8\n    x = buffer f32[{words}] random(-1, 1) \
         {draws}\n    \
         z = buffer u32[{words}] random(0, 9) {draws}\n    o = buffer f32[{outputs}] const 0\n    w = buffer \
         u32[{outputs}] const 0\n}}"
    );
    writer.text
}

struct Writer {
    text: String,
    blocks: usize,
    loops: usize,
}

impl Writer {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "    {line}");
    }

    fn label(&mut self, stem: &str, number: usize) {
        let _ = writeln!(self.text, "{stem}{number}:");
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Inst { form, choice, guard } => self.inst(*form, *choice, *guard),
                Statement::If { condition, sides: [yes, no] } => {
                    self.blocks += 1;
                    let number = self.blocks;
                    self.line(format_args!("br p{}, yes{number}, no{number}", condition % 2));
                    self.label("yes", number);
                    self.statements(yes);
                    self.line(format_args!("br join{number}"));
                    self.label("no", number);
                    self.statements(no);
                    self.line(format_args!("br join{number}"));
                    self.label("join", number);
                }
                Statement::Loop { rounds, body } => {
                    self.loops += 1;
                    let number = self.loops;
                    self.line(format_args!("k{number} = mov.u32 0"));
                    self.line(format_args!("br loop{number}"));
                    self.label("loop", number);
                    self.statements(body);
                    self.line(format_args!("k{number} = add.u32 k{number}, 1"));
                    self.line(format_args!("more{number} = setp.lt.u32 k{number}, {rounds}"));
                    self.line(format_args!("br more{number}, loop{number}, out{number}"));
                    self.label("out", number);
                }
            }
        }
    }

    fn inst(&mut self, form: u8, [d, a, b, c]: [u8; 4], guard: Option<(u8, bool)>) {
        let guard = guard.map_or(String::new(), |(reg, negated)| format!("@{}p{reg} ", if negated { "!" } else { "" }));
        let [fd, fa, fb, fc] = [d, a, b, c].map(|choice| format!("f{}", choice % 4));
        let [ud, ua, ub, uc] = [d, a, b, c].map(|choice| format!("u{}", choice % 4));
        let word = u32::from(c) % PART;
        let (text, clamps) = match form {
            0..=4 => (format!("{fd} = mul.f32 {fa}, {fb}"), false),
            5..=7 => (format!("{fd} = fma.f32 {fa}, {fb}, {fc}"), true),
            8 => (format!("{fd} = add.f32 {fa}, {fb}"), true),
            9 => (format!("{fd} = sub.f32 {fa}, {fb}"), true),
            10 => (format!("{fd} = mul.sat.f32 {fa}, {fb}"), false),
            11 => (format!("{fd} = max.f32 {fa}, 0.0"), false),
            12 => (format!("{fd} = neg.f32 {fa}"), false),
            13 | 14 => (format!("{fd} = ld.global.f32 x[at + {word}]"), false),
            15 => (format!("{ud} = ld.global.u32 z[at + {word}]"), false),
            16 => (format!("{ud} = mul.u32 {ua}, {ub}"), false),
            17 => (format!("{ud} = and.b32 {ua}, {ub}"), false),
            18 => (format!("{ud} = mad.u32 {ua}, {ub}, {uc}"), false),
            19 => (format!("{ud} = add.u32 {ua}, {}", c % 3), false),
            20 => (format!("{fd} = selp.f32 {fa}, {fb}, p{}", c % 2), false),
            21 => (format!("p{} = setp.{}.f32 {fa}, 0.0", d % 2, ["gt", "eq", "lt"][usize::from(b) % 3]), false),
            22 => (format!("p{} = setp.{}.u32 {ua}, {}", d % 2, ["gt", "eq", "ne"][usize::from(b) % 3], c % 3), false),
            _ => (format!("st.global.f32 o[out + {}], {fa}", c % 4), false),
        };
        self.line(format_args!("{guard}{text}"));
        if clamps {
            self.line(format_args!("{fd} = max.f32 {fd}, -1.0"));
            self.line(format_args!("{fd} = min.f32 {fd}, 1.0"));
        }
    }
}
