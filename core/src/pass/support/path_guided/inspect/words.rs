//! Words of sentences about paths: names of blocks and places, and figures.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ir::{Block, Function};

/// The name of a block, as code.
pub(in crate::pass) fn name(func: &Function, block: Block) -> String {
    format!("`{}`", func.blocks.get(block).map_or("", |data| &data.name))
}

/// The names of several blocks.
pub(in crate::pass) fn names(func: &Function, blocks: &[Block]) -> String {
    listed(&blocks.iter().map(|&block| name(func, block)).collect::<Vec<_>>())
}

/// `, together with a and b, which its benefit needs`, of the blocks besides its own; nothing if there are none.
pub(in crate::pass) fn together(func: &Function, own: Block, all: &[Block]) -> String {
    let others: Vec<Block> = all.iter().copied().filter(|&block| block != own).collect();
    match others.is_empty() {
        true => String::new(),
        false => format!(", together with {}, which its benefit needs", names(func, &others)),
    }
}

/// The names of blocks as a table has them: `n1 n2 n5`.
pub(in crate::pass) fn plain_names(func: &Function, blocks: impl Iterator<Item = Block>) -> String {
    let names: Vec<&str> = blocks.map(|block| func.blocks.get(block).map_or("", |data| data.name.as_str())).collect();
    names.join(" ")
}

/// `150 × 2 T[s]`, of executions, the cycles of each and their name.
pub(in crate::pass) fn product(executions: f64, cycles: f64, term: &str) -> String {
    format!("{executions} × {cycles} {term}")
}

/// `Saves 150 × 2 T[s], costs 100 × 1 T[p?s]: worth it`, of products and their values.
pub(in crate::pass) fn balance(prefix: &str, (saved, benefit): (String, f64), (added, cost): (String, f64)) -> String {
    let saves = if prefix.is_empty() { "Saves" } else { "saves" };
    let verdict = match (benefit > cost, benefit < cost) {
        (true, _) => "worth it",
        (_, true) => "not worth it",
        _ => "no gain",
    };
    format!("{prefix}{saves} {saved}, costs {added}: {verdict}")
}

/// `45 cycles before, 30 after`.
pub(in crate::pass) fn warp_cycles(before: f64, after: f64) -> String {
    match format!("{before:.0}") {
        one if one == "1" => format!("1 cycle before, {after:.0} after"),
        many => format!("{many} cycles before, {after:.0} after"),
    }
}

/// `a, b and c`.
pub(in crate::pass) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// `in a, b and on the edge from c to d`, of places with their prepositions.
pub(in crate::pass) fn places(all: &[String]) -> String {
    let short = |(place, word): (usize, &String)| match word.strip_prefix("in ").filter(|_| place > 0) {
        Some(rest) if all[place - 1].starts_with("in ") => rest.into(),
        _ => word.clone(),
    };
    listed(&all.iter().enumerate().map(short).collect::<Vec<_>>())
}

/// A sentence that follows another one; nothing if it is empty.
pub(in crate::pass) fn following(sentence: String) -> String {
    if sentence.is_empty() { sentence } else { format!(" {sentence}.") }
}
