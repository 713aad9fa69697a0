//! Suggestions: the candidate that takes the fewest typing errors to become the written word.
//!
//! `fam.f32` -> `fma.f32` (two neighbours swapped), `%tidx` -> `%tid.x` (one letter missing), `glob` -> `global` (cut
//! short).
//!
//! The distance is the optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours
//! each cost one. Bounds: words longer than [`LONGEST`] bytes get no suggestion, so a comparison costs at most
//! `LONGEST`² steps.

use alloc::vec::Vec;

/// Longest word compared, in bytes.
pub const LONGEST: usize = 64;

/// Shortest word, in bytes, that may be the beginning of what was meant.
const SHORTEST_CUT: usize = 3;

/// The nearest candidate, the first of several equally near ones; none where all are too far away to be meant (more
/// than a third of the letters, at least one, wrong). A word that a candidate goes on from counts as one error.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut limit = (word.chars().count() / 3).max(1) + 1;
    let mut best = None;
    if word.len() > LONGEST {
        return None;
    }
    for candidate in candidates {
        let is_cut_short = word.len() >= SHORTEST_CUT && candidate.starts_with(word);
        let is_far = !is_cut_short && candidate.len().abs_diff(word.len()) >= limit.max(1) + 3;
        if is_far || candidate.len() > LONGEST {
            continue;
        }
        let distance = edit_distance(word, candidate).min(if is_cut_short { 1 } else { usize::MAX });
        // Words that share no letter are no slips of each other.
        let letters = word.chars().count().max(candidate.chars().count());
        if distance < limit && distance < letters {
            (limit, best) = (distance, Some(candidate));
        }
    }
    best
}

/// How many single typing errors (a letter too many, missing, wrong, or two neighbours swapped) lie between two words.
/// Case counts half an error in the sense that only equal letters in another case are free.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().map(|c| c.to_ascii_lowercase()).collect();
    let b: Vec<char> = b.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for j in 0..b.len() {
            let replaced = above[j] + usize::from(a[i] != b[j]);
            let mut cost = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = core::mem::replace(&mut above, row);
    }
    above[b.len()]
}
