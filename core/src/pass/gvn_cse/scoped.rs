//! A map from numbers to stacks, whose entries are removed when the scope that pushed them closes.
//!
//! ```text
//! open          push(n3, x)          n3: x
//!   open        push(n3, y)          n3: x y
//!   close                            n3: x
//! close                              n3:
//! ```
//!
//! Constant time for each entry, but for [`ScopedStacks::remove`].
//!
//! Source: P. Briggs, K. Cooper and L. Simpson, Value numbering, SPE 1997, section 3 (scoped hash
//! tables).

use alloc::vec::Vec;

use cranelift_entity::EntityRef;
use smallvec::SmallVec;

use super::expressions::Number;

/// The entries of all numbers on the path from a root of the dominator tree to the open block.
pub(in crate::pass) struct ScopedStacks<T> {
    stacks: Vec<SmallVec<[T; 1]>>,
    /// Numbers of all entries in the order of their pushes.
    pushed: Vec<Number>,
    /// Open scopes: the end of each in the walk, and the length of `pushed` before it.
    open: Vec<(usize, usize)>,
}

impl<T> ScopedStacks<T> {
    /// No entries, with room for that many numbers.
    pub fn new(numbers: usize) -> ScopedStacks<T> {
        let stacks = core::iter::repeat_with(SmallVec::new).take(numbers).collect();
        ScopedStacks { stacks, pushed: Vec::new(), open: Vec::new() }
    }

    /// Opens a scope that closes when the walk comes to `end`.
    pub fn open(&mut self, end: usize) {
        self.open.push((end, self.pushed.len()));
    }

    /// Closes the innermost scope if it ends at `place` or earlier. True if it does.
    pub fn close(&mut self, place: usize) -> bool {
        let Some((_, first)) = self.open.pop_if(|(end, _)| *end <= place) else { return false };
        for number in self.pushed.drain(first..) {
            self.stacks[number.index()].pop();
        }
        true
    }

    /// Adds an entry of the innermost scope.
    pub fn push(&mut self, number: Number, entry: T) {
        self.stacks[number.index()].push(entry);
        self.pushed.push(number);
    }

    /// Removes a number's wanted entry, if the innermost scope has it. Linear in the entries that
    /// the scope has got since.
    pub fn remove(&mut self, number: Number, is_wanted: impl Fn(&T) -> bool) {
        let stack = &mut self.stacks[number.index()];
        let first = self.open.last().map_or(0, |&(_, first)| first);
        let place = self.pushed[first..].iter().rposition(|&pushed| pushed == number);
        if let (Some(place), Some(entry)) = (place, stack.iter().rposition(is_wanted)) {
            stack.remove(entry);
            self.pushed.remove(first + place);
        }
    }

    /// The entries of a number, those of outer scopes first.
    pub fn get(&self, number: Number) -> &[T] {
        &self.stacks[number.index()]
    }
}
