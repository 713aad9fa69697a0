//! A list of ids of which there are mostly none, one or two, in 16 bytes.
//!
//! ```text
//! []  [a]  [a b]        in place
//! [a b c …]             on the heap
//! ```
//!
//! An instruction has two such lists, and how long a walk over a large program takes is how many bytes its instructions
//! have. `SmallVec<[u32; 2]>` takes 24: it has words for a length and a capacity.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::hint::select_unpredictable;
use core::ops::{Deref, DerefMut};
use cranelift_entity::EntityRef;

/// How many ids have their place in the list itself.
const HERE: usize = 2;

/// A list of ids, short as a rule.
pub struct Few<T>(Items<T>);

enum Items<T> {
    /// The first so many of the array.
    Here(u8, [T; HERE]),
    #[expect(clippy::box_collection, reason = "a vector has 24 bytes itself, and a boxed slice cannot grow")]
    Elsewhere(Box<Vec<T>>),
}

impl<T: EntityRef> Few<T> {
    /// Nothing.
    pub fn new() -> Few<T> {
        // What stands behind the end is never looked at.
        Few(Items::Here(0, [T::new(0); HERE]))
    }

    /// Puts an item at the end.
    pub fn push(&mut self, item: T) {
        match &mut self.0 {
            Items::Here(len, items) if usize::from(*len) < HERE => {
                items[usize::from(*len)] = item;
                *len += 1;
            }
            Items::Here(_, items) => {
                let mut longer = items.to_vec();
                longer.push(item);
                self.0 = Items::Elsewhere(Box::new(longer));
            }
            Items::Elsewhere(items) => items.push(item),
        }
    }

    /// The only item, or `other` where there is none. None where there are several. Which of the two it is does not
    /// decide a branch: that would be as good as random where lists of both kinds mix.
    #[inline]
    pub fn only_or(&self, other: T) -> Option<T> {
        match &self.0 {
            Items::Here(len @ (0 | 1), items) => Some(select_unpredictable(*len == 1, items[0], other)),
            _ => None,
        }
    }

    /// The items.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        match &self.0 {
            Items::Here(len, items) => &items[..usize::from(*len).min(HERE)],
            Items::Elsewhere(items) => items,
        }
    }
}

impl<T: EntityRef> Clone for Few<T> {
    #[inline]
    fn clone(&self) -> Few<T> {
        Few(match &self.0 {
            Items::Here(len, items) => Items::Here(*len, *items),
            Items::Elsewhere(items) => Items::Elsewhere(items.clone()),
        })
    }
}

impl<T: EntityRef> Default for Few<T> {
    fn default() -> Few<T> {
        Few::new()
    }
}

impl<T: EntityRef> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: EntityRef> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Items::Here(len, items) => &mut items[..usize::from(*len).min(HERE)],
            Items::Elsewhere(items) => items,
        }
    }
}

impl<T: EntityRef> Extend<T> for Few<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: EntityRef> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Few<T> {
        let mut list = Few::new();
        list.extend(items);
        list
    }
}

impl<'a, T: EntityRef> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = core::slice::Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> core::slice::Iter<'a, T> {
        self.as_slice().iter()
    }
}

impl<T: EntityRef> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { list: self, next: 0 }
    }
}

/// The items of a list, one by one.
pub struct IntoIter<T> {
    list: Few<T>,
    next: usize,
}

impl<T: EntityRef> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let item = self.list.get(self.next).copied();
        self.next += 1;
        item
    }
}

impl<T: EntityRef> PartialEq for Few<T> {
    fn eq(&self, other: &Few<T>) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: EntityRef> Eq for Few<T> {}

impl<T: EntityRef + Hash> Hash for Few<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl<T: EntityRef + fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Block;

    #[test]
    fn it_is_the_list_of_what_was_pushed() {
        let mut list = Few::new();
        for count in 0..5 {
            let expected: Vec<Block> = (0..count).map(Block::new).collect();
            assert_eq!(list.as_slice(), expected);
            assert_eq!(list, expected.iter().copied().collect());
            list.push(Block::new(count));
        }
        list[4] = Block::new(9);
        assert_eq!(list.last(), Some(&Block::new(9)));
    }

    #[test]
    fn what_stands_behind_the_end_does_not_count() {
        let mut longer: Few<Block> = [Block::new(1), Block::new(2)].into_iter().collect();
        assert_ne!(longer, [Block::new(1)].into_iter().collect());
        longer = Few(match longer.0 {
            Items::Here(_, items) => Items::Here(1, items),
            elsewhere => elsewhere,
        });
        assert_eq!(longer, [Block::new(1)].into_iter().collect());
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn it_has_16_bytes() {
        assert_eq!(size_of::<Few<Block>>(), 16);
    }
}
