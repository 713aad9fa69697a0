//! Two printed programs, line by line.
//!
//! ```text
//!   1  1    entry:
//!   2     −     a = mul.u32 n, 1        changed: `mul.u32 n, 1`
//!      2  +     a = mov.u32 n           changed: `mov.u32 n`
//! ```
//!
//! Which lines correspond is decided by Myers' algorithm (the crate `similar`); inside a group of replaced lines the
//! k-th one that is gone stands for the k-th new one, and what both begin and end with counts as unchanged.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use warpscope_core::ir::{Func, Module};
use warpscope_core::text::{LineOwner, Printed, print_with_lines};

use crate::message::DiffLine;

/// A printed program with the blocks and instructions of its lines.
pub struct Listing {
    printed: Printed,
    blocks: Vec<String>,
    insts: Vec<Option<u32>>,
}

impl Listing {
    /// Prints a program; blocks are those of `kernel`.
    pub fn new(module: &Module, kernel: Option<Func>) -> Listing {
        let printed = print_with_lines(module);
        let block = |line: usize| {
            let (func, block) = printed.lines.block_of_line(module, line as u32 + 1)?;
            (Some(func) == kernel).then(|| module.funcs[func].blocks[block].name.clone())
        };
        let inst = |line: usize| match printed.lines.owner(line as u32 + 1)? {
            LineOwner::Inst(func, inst) if Some(func) == kernel => Some(inst.as_u32()),
            _ => None,
        };
        let count = printed.text.lines().count();
        let blocks = (0..count).map(|line| block(line).unwrap_or_default()).collect();
        let insts = (0..count).map(inst).collect();
        Listing { printed, blocks, insts }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.printed.text
    }

    /// The text with the map of its lines.
    pub fn printed(&self) -> &Printed {
        &self.printed
    }
}

/// Compares two listings.
pub fn compare(before: &Listing, after: &Listing) -> Vec<DiffLine> {
    let old: Vec<&str> = before.text().lines().collect();
    let new: Vec<&str> = after.text().lines().collect();
    let gone = |index: usize| DiffLine {
        before: Some(index + 1),
        text: old[index].to_owned(),
        block: before.blocks[index].clone(),
        inst: before.insts[index],
        ..DiffLine::default()
    };
    let come = |index: usize| DiffLine {
        after: Some(index + 1),
        text: new[index].to_owned(),
        block: after.blocks[index].clone(),
        inst: after.insts[index],
        ..DiffLine::default()
    };
    let mut lines = Vec::new();
    for operation in capture_diff_slices(Algorithm::Myers, &old, &new) {
        match operation {
            DiffOp::Equal { old_index, new_index, len } => {
                lines.extend((0..len).map(|k| DiffLine { before: Some(old_index + k + 1), ..come(new_index + k) }));
            }
            DiffOp::Delete { old_index, old_len, .. } => lines.extend((0..old_len).map(|k| gone(old_index + k))),
            DiffOp::Insert { new_index, new_len, .. } => lines.extend((0..new_len).map(|k| come(new_index + k))),
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                let changed =
                    |k: usize| (k < old_len.min(new_len)).then(|| difference(old[old_index + k], new[new_index + k]));
                lines.extend(
                    (0..old_len).map(|k| DiffLine { changed: changed(k).map(|both| both.0), ..gone(old_index + k) }),
                );
                lines.extend(
                    (0..new_len).map(|k| DiffLine { changed: changed(k).map(|both| both.1), ..come(new_index + k) }),
                );
            }
        }
    }
    lines
}

/// A range of characters.
type Part = (usize, usize);

/// The parts of two lines that differ, at the ends of whole words.
fn difference(old: &str, new: &str) -> (Part, Part) {
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    // A point belongs to the word: neither `1.0` nor `add.u32` changes in its half.
    let is_word = |character: char| character.is_alphanumeric() || character == '_' || character == '.';
    let splits = |line: &[char], at: usize| at > 0 && at < line.len() && is_word(line[at - 1]) && is_word(line[at]);
    let mut start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    while splits(&old, start) || splits(&new, start) {
        start -= 1;
    }
    let most = old.len().min(new.len()) - start;
    let mut end = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    while end > 0 && (splits(&old, old.len() - end) || splits(&new, new.len() - end)) {
        end -= 1;
    }
    ((start, old.len() - end), (start, new.len() - end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_whole_words() {
        let (old, new) = difference("    a = mul.u32 n, 1", "    a = mov.u32 n");
        let piece = |line: &str, (from, to): Part| line.chars().skip(from).take(to - from).collect::<String>();
        assert_eq!(piece("    a = mul.u32 n, 1", old), "mul.u32 n, 1");
        assert_eq!(piece("    a = mov.u32 n", new), "mov.u32 n");
        assert_eq!(difference("x", "x"), ((1, 1), (1, 1)));
        assert_eq!(difference("", "x"), ((0, 0), (0, 1)));
    }

    #[test]
    fn lines_are_numbered_in_both_texts() {
        let listing = |source| Listing::new(&warpscope_core::text::parse(source).module, None);
        let before = listing("kernel k() {\nentry:\n    a = mov.u32 1\n    ret\n}\n");
        let after = listing("kernel k() {\nentry:\n    ret\n}\n");
        let lines = compare(&before, &after);
        let numbers: Vec<_> = lines.iter().map(|line| (line.before, line.after)).collect();
        assert_eq!(
            numbers,
            [(Some(1), Some(1)), (Some(2), Some(2)), (Some(3), None), (Some(4), Some(3)), (Some(5), Some(4))]
        );
    }
}
