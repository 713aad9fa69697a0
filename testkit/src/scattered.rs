//! Programs whose registers have few definitions, anywhere.
//!
//! ```text
//! b0: br p1, b2, b1        p1 has one definition, in b1: the branch sees zero until control has come there
//! b1: p1 = setp.lt.u32 t, 9
//!     br b0
//! ```
//!
//! In the programs of [`crate::recipe`] every register has a value from the start. Here most have
//! one definition or two, in any block of a graph of any shape, and are read wherever some path has
//! assigned them: what holds behind *the* definition of a register need not hold where it is read.
//! Every path runs out of fuel in the end, and the last block stores all registers.

use std::fmt::Write;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any};
use warpscope_core::verify::check;

/// Registers of type `u32`, and predicates.
const WORDS: u8 = 8;
const PREDICATES: u8 = 4;

/// Blocks of the graph, at most.
const MOST_BLOCKS: usize = 8;

/// How many blocks a thread comes to, at most.
const MOST_FUEL: u8 = 24;

/// A program, before it is written.
#[derive(Clone, Debug)]
pub struct Scattered {
    blocks: Vec<Block>,
    fuel: u8,
}

#[derive(Clone, Debug)]
struct Block {
    insts: Vec<Inst>,
    /// The predicate that is asked, whether it is negated, and where control goes.
    jump: (Option<(u8, bool)>, u8, u8),
}

#[derive(Clone, Debug)]
struct Inst {
    form: u8,
    dst: u8,
    args: [u8; 3],
    guard: Option<(u8, bool)>,
}

/// Any such program.
pub fn scattered() -> impl Strategy<Value = Scattered> {
    let guard = || option::weighted(0.3, (0..PREDICATES, any::<bool>()));
    let inst = (0..8_u8, any::<u8>(), any::<[u8; 3]>(), guard()).prop_map(|(form, dst, args, guard)| Inst {
        form,
        dst,
        args,
        guard,
    });
    let asked = option::weighted(0.7, (0..PREDICATES, any::<bool>()));
    let block = (vec(inst, 0..4), (asked, any::<u8>(), any::<u8>())).prop_map(|(insts, jump)| Block { insts, jump });
    (vec(block, 1..MOST_BLOCKS), 1..MOST_FUEL).prop_map(|(blocks, fuel)| Scattered { blocks, fuel })
}

/// The program as text. What reads a register that no path has assigned is left out.
pub fn program(recipe: &Scattered) -> String {
    let mut lines = all_lines(recipe);
    loop {
        let text = lines.concat();
        let checked = check(&text);
        let unassigned = checked.diagnostics.iter().find(|diagnostic| diagnostic.code == "unassigned-read");
        let Some(error) = unassigned else { return text };
        let line = text[..error.span.start as usize].matches('\n').count();
        match lines[line].split_once("br ").map(|(_, operands)| operands.split(", ").nth(1)) {
            Some(Some(target)) => lines[line] = format!("    br {target}\n"),
            _ => {
                lines.remove(line);
            }
        }
    }
}

fn all_lines(recipe: &Scattered) -> Vec<String> {
    let count = recipe.blocks.len();
    let mut text = String::from("kernel k(n: u32, o: ptr.global) {\n");
    (0..WORDS).for_each(|word| line(&mut text, format_args!("reg r{word}: u32")));
    (0..PREDICATES).for_each(|predicate| line(&mut text, format_args!("reg p{predicate}: pred")));
    text.push_str("entry:\n    t = mov.u32 %tid\n");
    line(&mut text, format_args!("place = mul.u32 t, {}", WORDS + PREDICATES));
    line(&mut text, format_args!("fuel = mov.u32 {}", recipe.fuel));
    text.push_str("    br b0\n");
    for (index, block) in recipe.blocks.iter().enumerate() {
        let _ = writeln!(text, "b{index}:");
        text.push_str("    fuel = sub.u32 fuel, 1\n    out = setp.eq.u32 fuel, 0\n");
        line(&mut text, format_args!("br out, done, c{index}"));
        let _ = writeln!(text, "c{index}:");
        block.insts.iter().for_each(|inst| line(&mut text, format_args!("{}", inst.text())));
        let (asked, first, second) = block.jump;
        let (first, second) = (usize::from(first) % count, usize::from(second) % count);
        match asked {
            Some((predicate, negated)) => {
                line(&mut text, format_args!("br {}, b{first}, b{second}", predicate_text(predicate, negated)));
            }
            None => line(&mut text, format_args!("br b{first}")),
        }
    }
    text.push_str("done:\n");
    (0..WORDS).for_each(|word| line(&mut text, format_args!("st.global.u32 o[place + {word}], r{word}")));
    for predicate in 0..PREDICATES {
        line(&mut text, format_args!("flag = mov.u32 0"));
        line(&mut text, format_args!("flag = selp.u32 1, 0, p{predicate}"));
        line(&mut text, format_args!("st.global.u32 o[place + {}], flag", WORDS + predicate));
    }
    let places = 32 * u32::from(WORDS + PREDICATES);
    text.push_str("    ret\n}\n");
    let _ =
        writeln!(text, "launch k {{\n    grid 1\n    block 32\n    n = 7\n    o = buffer u32[{places}] const 0\n}}");
    text.split_inclusive('\n').map(String::from).collect()
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "    {line}");
}

fn predicate_text(predicate: u8, negated: bool) -> String {
    format!("{}p{predicate}", if negated { "!" } else { "" })
}

/// Mostly a register, otherwise the thread's number, the parameter or a small constant.
fn word_text(choice: u8) -> String {
    match choice % 16 {
        12 => "t".to_string(),
        13 => "n".to_string(),
        14 | 15 => format!("{}", choice / 16 % 4),
        other => format!("r{}", other % WORDS),
    }
}

impl Inst {
    fn text(&self) -> String {
        let guard = self.guard.map(|(predicate, negated)| format!("@{} ", predicate_text(predicate, negated)));
        let (word, predicate) = (self.dst % WORDS, self.dst % PREDICATES);
        let [first, second, third] = self.args;
        let (a, b, p) = (word_text(first), word_text(second), predicate_text(third % PREDICATES, third & 64 != 0));
        let body = match self.form {
            0..=2 => format!("r{word} = mov.u32 {a}"),
            3 => format!("r{word} = add.u32 {a}, {b}"),
            4 => format!("r{word} = selp.u32 {a}, {b}, {p}"),
            5 => format!("p{predicate} = mov.pred p{}", third % PREDICATES),
            _ => format!("p{predicate} = setp.lt.u32 {a}, {b}"),
        };
        format!("{}{body}", guard.unwrap_or_default())
    }
}
