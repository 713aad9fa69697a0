//! Programs that load from an array of known size by an index that arithmetic, branches and loops
//! keep within it, or nearly.
//!
//! ```text
//! i = and.b32 n, 127                 an index from what differs by launch, by lane or by memory, in a few steps;
//! p = setp.lt.s32 i, 64              comparisons on the way, some of them on the index, most near the array's length;
//! br p, b1, done
//! b1: …                              perhaps a loop that counts it up or down, compared at its head or at its end
//! ok = setp.lt.u32 i, 64             and then the load, made only where it stays within the array and a coin says so
//! go = and.pred ok, coin
//! br go, load, next
//! ```
//!
//! So no program faults as it stands. A pass that moves the load up in front of its branch has to know that it does not
//! fault there, from all that comes before, or mark it as one that does not.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any};

/// Elements of the array.
const LEN: i64 = 64;
/// Rounds that a loop makes, at most.
const FUEL: u32 = 24;
/// Threads, all in one warp.
const THREADS: u32 = 8;

/// Numbers that lie near where something changes.
const NUMBERS: [i64; 20] = [
    0,
    1,
    2,
    3,
    5,
    31,
    32,
    62,
    63,
    64,
    65,
    100,
    127,
    128,
    0x7FFF_FFFF,
    0x8000_0000,
    0x8000_0001,
    0xFFFF_FFC0,
    0xFFFF_FFFE,
    0xFFFF_FFFF,
];

const OPERATIONS: [&str; 24] = [
    "and.b32", "and.b32", "rem.u32", "rem.u32", "shr.u32", "shr.s32", "shl.b32", "add.s32", "add.u32", "add.s32",
    "sub.s32", "sub.u32", "mul.s32", "min.u32", "min.s32", "max.s32", "max.u32", "or.b32", "xor.b32", "div.u32",
    "div.s32", "rem.s32", "mov", "selp",
];

const COMPARISONS: [&str; 12] = [
    "lt.u32", "lt.s32", "le.u32", "le.s32", "gt.u32", "gt.s32", "ge.u32", "ge.s32", "eq.s32", "ne.s32", "lo.u32",
    "ls.u32",
];

/// A program, before it is written.
#[derive(Clone, Debug)]
pub struct Bounded {
    source: u8,
    /// The parameters.
    given: [u8; 2],
    operations: Vec<Operation>,
    comparisons: Vec<Comparison>,
    /// Increment of each round, and whether it is compared at the loop's head.
    counted: Option<(u8, Comparison, bool)>,
    /// In the loop, or behind the comparisons.
    late: Vec<Operation>,
    /// Is the index loaded with, of 32 bits with a sign, of 64, or of 32 without?
    width: u8,
    offset: u8,
}

/// A step of the index's computation: which, with what, and under which guard.
#[derive(Clone, Copy, Debug)]
struct Operation {
    which: u8,
    with: u8,
    is_guarded: bool,
}

/// A comparison of the index with a number, and where it leads.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    which: u8,
    with: u8,
    /// Is the number on the left, is it the false side that goes on, is it combined with another predicate?
    choice: [bool; 3],
}

/// Any such program.
pub fn bounded() -> impl Strategy<Value = Bounded> {
    let operation = || {
        let parts = (any::<u8>(), any::<u8>(), (0..8_u8).prop_map(|one| one == 0));
        parts.prop_map(|(which, with, is_guarded)| Operation { which, with, is_guarded })
    };
    let comparison = || {
        let parts = (any::<u8>(), any::<u8>(), any::<[bool; 3]>());
        parts.prop_map(|(which, with, choice)| Comparison { which, with, choice })
    };
    let counted = option::of((any::<u8>(), comparison(), any::<bool>()));
    let parts = (
        (any::<u8>(), any::<[u8; 2]>(), vec(operation(), 0..4)),
        (vec(comparison(), 0..3), counted, vec(operation(), 0..2)),
        (any::<u8>(), any::<u8>()),
    );
    parts.prop_map(|((source, given, operations), (comparisons, counted, late), (width, offset))| Bounded {
        source,
        given,
        operations,
        comparisons,
        counted,
        late,
        width,
        offset,
    })
}

/// The program as text.
pub fn program(recipe: &Bounded) -> String {
    let numbers: Vec<String> = (0..LEN).map(|number| (number * 7 + 1).to_string()).collect();
    let mut text = format!("const table: u32[{LEN}] = {{ {} }}\n", numbers.join(", "));
    text.push_str("kernel k(n: u32, m: u32, x: ptr.global restrict, y: ptr.global restrict) {\n    input side: pred\n");
    text.push_str("    reg i: s32\n    reg u: u32\n    reg w: s64\nentry:\n    t = mov.u32 %tid\n    r = mov.u32 0\n");
    line(&mut text, format_args!("fuel = mov.u32 {FUEL}"));
    line(&mut text, format_args!("odd = setp.gt.u32 m, 63"));
    match recipe.source % 6 {
        0 | 1 => line(&mut text, format_args!("i = mov.b32 n")),
        2 => line(&mut text, format_args!("i = mov.b32 t")),
        3 => line(&mut text, format_args!("i = ld.global.s32 x[t]")),
        4 => line(&mut text, format_args!("i = mov.s32 {}", signed(recipe.source))),
        _ => line(&mut text, format_args!("i = ld.global.u8 x[t]")),
    }
    recipe.operations.iter().for_each(|operation| operation.write(&mut text));
    for (index, comparison) in recipe.comparisons.iter().enumerate() {
        comparison.write(&mut text, &format!("c{index}"), &format!("b{index}"), "done");
        let _ = writeln!(text, "b{index}:");
    }
    text.push_str(
        "    br head\nhead:\n    fuel = sub.u32 fuel, 1\n    out = setp.eq.u32 fuel, 0\n    br out, done, \
                   more\nmore:\n",
    );
    if let Some((_, comparison, true)) = &recipe.counted {
        comparison.write(&mut text, "again", "body", "done");
    } else {
        text.push_str("    br body\n");
    }
    text.push_str("body:\n");
    recipe.late.iter().for_each(|operation| operation.write(&mut text));
    let index = match recipe.width % 3 {
        0 => "i",
        1 => {
            line(&mut text, format_args!("w = cvt.s64.s32 i"));
            "w"
        }
        _ => {
            line(&mut text, format_args!("u = mov.b32 i"));
            "u"
        }
    };
    let offset = [0, 0, 1, -1][usize::from(recipe.offset % 4)];
    let ty = if index == "w" { "64" } else { "32" };
    // At least `-offset` and below the length less that, without a sign.
    line(&mut text, format_args!("at = add.s{ty} {index}, {offset}"));
    line(&mut text, format_args!("ok = setp.lt.u{ty} at, {LEN}"));
    if offset == -1 && index != "w" {
        // What is extended to 64 bits before one is taken away is no large number where it was none.
        let least = if index == "u" { "u32" } else { "s32" };
        line(&mut text, format_args!("low = setp.ge.{least} {index}, 1"));
        line(&mut text, format_args!("ok = and.pred ok, low"));
    }
    if offset == 1 && index == "u" {
        line(&mut text, format_args!("low = setp.lt.u32 u, {LEN}"));
        line(&mut text, format_args!("ok = and.pred ok, low"));
    }
    text.push_str("    coin = in.pred side\n    go = and.pred ok, coin\n    br go, load, next\nload:\n");
    let sign = if offset < 0 { "-" } else { "+" };
    line(&mut text, format_args!("v = ld.const.u32 table[{index} {sign} {}]", i64::abs(offset)));
    text.push_str("    r = mad.u32 r, 3, v\n    br next\nnext:\n");
    match &recipe.counted {
        None => text.push_str("    br head\n"),
        Some((step, comparison, is_at_head)) => {
            let step = [1, 1, 1, 2, 3, 7, -1, -1, -2, 64, 0x4000_0000, -0x4000_0000][usize::from(step % 12)];
            line(&mut text, format_args!("i = add.s32 i, {step}"));
            match is_at_head {
                true => text.push_str("    br head\n"),
                false => comparison.write(&mut text, "again", "head", "done"),
            }
        }
    }
    text.push_str("done:\n    st.global.u32 y[t], r\n    ret\n}\n");
    let [n, m] = recipe.given.map(|given| NUMBERS[usize::from(given) % NUMBERS.len()]);
    let _ = writeln!(
        text,
        "launch k {{\n    grid 1\n    block {THREADS}\n    warp {THREADS}\n    n = {n}\n    m = {m}\n    \
         x = buffer s32[{THREADS}] random(-70, 140)\n    y = buffer u32[{THREADS}] const 0\n    side = draws true \
         0.5\n}}"
    );
    text
}

impl Operation {
    fn write(self, text: &mut String) {
        let guard = if self.is_guarded { "@odd " } else { "" };
        match OPERATIONS[usize::from(self.which) % OPERATIONS.len()] {
            "mov" => line(text, format_args!("{guard}i = mov.b32 m")),
            "selp" => line(text, format_args!("{guard}i = selp.b32 i, {}, odd", bits(self.with))),
            shift @ ("shr.u32" | "shr.s32" | "shl.b32") => {
                let amount = [1, 2, 5, 25, 26, 27, 31, 32][usize::from(self.with % 8)];
                line(text, format_args!("{guard}i = {shift} i, {amount}"));
            }
            operation if operation.ends_with("s32") => {
                line(text, format_args!("{guard}i = {operation} i, {}", signed(self.with)));
            }
            // Between two registers now and then.
            operation if self.with.is_multiple_of(9) => line(text, format_args!("{guard}i = {operation} i, m")),
            operation => line(text, format_args!("{guard}i = {operation} i, {}", bits(self.with))),
        }
    }
}

impl Comparison {
    fn write(self, text: &mut String, predicate: &str, then: &str, otherwise: &str) {
        let comparison = COMPARISONS[usize::from(self.which) % COMPARISONS.len()];
        let number = if comparison.ends_with("s32") { signed(self.with) } else { bits(self.with) };
        let [is_swapped, is_negated, is_combined] = self.choice;
        if is_swapped {
            line(text, format_args!("{predicate}n = mov.b32 {number}"));
            line(text, format_args!("{predicate} = setp.{comparison} {predicate}n, i"));
        } else {
            line(text, format_args!("{predicate} = setp.{comparison} i, {number}"));
        }
        if is_combined {
            let op = ["and", "or"][usize::from(self.with / 128)];
            line(text, format_args!("{predicate} = {op}.pred {predicate}, odd"));
        }
        let not = if is_negated { "!" } else { "" };
        line(text, format_args!("br {not}{predicate}, {then}, {otherwise}"));
    }
}

/// One of the numbers, as bits.
fn bits(which: u8) -> i64 {
    NUMBERS[usize::from(which) % NUMBERS.len()]
}

/// Returns the number with its sign.
fn signed(which: u8) -> i64 {
    i64::from(bits(which) as u32 as i32)
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "    {line}");
}
