//! A name space: names that are or ever were taken, and the next free number of each stem.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};

use hashbrown::HashSet;

/// Names of one kind in one function. A name once taken never comes back for something else; only undoing its
/// creation lets go of it.
#[derive(Clone, Default)]
pub struct NameSpace {
    taken: HashSet<String>,
    /// For a stem such as `t` or `n4_`: no number below this one is free. Names are mostly handed out in order, so the
    /// search for a free one starts where the last ended.
    next: BTreeMap<String, u64>,
}

impl NameSpace {
    /// Is the name taken, now or earlier?
    pub fn contains(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// Takes a name.
    pub fn take(&mut self, name: &str) {
        self.taken.insert(name.to_string());
        if let (stem, Some(number)) = split_number(name) {
            match self.next.get_mut(stem) {
                Some(next) if *next == number => *next += 1,
                Some(_) => {}
                None => {
                    self.next.insert(stem.to_string(), if number == 1 { 2 } else { 1 });
                }
            }
        }
    }

    /// Lets go of a name whose creation is undone.
    pub fn release(&mut self, name: &str) {
        self.taken.remove(name);
        let (stem, number) = split_number(name);
        if let (Some(number), Some(next)) = (number, self.next.get_mut(stem)) {
            *next = number.min(*next);
        }
    }

    /// `stem` itself if it is free, else the first free of `stem_1`, `stem_2`, …
    pub fn fresh(&self, stem: &str) -> String {
        if self.contains(stem) { self.fresh_numbered(&format!("{stem}_")) } else { stem.to_string() }
    }

    /// The first free of `stem1`, `stem2`, …
    pub fn fresh_numbered(&self, stem: &str) -> String {
        let mut number = self.next.get(stem).copied().unwrap_or(1);
        loop {
            let name = format!("{stem}{number}");
            if !self.contains(&name) {
                return name;
            }
            number += 1;
        }
    }
}

/// `n4_12` is stem `n4_` and number 12. Numbers as we print them: no leading zero, at least 1, at most 18 digits.
fn split_number(name: &str) -> (&str, Option<u64>) {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, number) = name.split_at(name.len() - digits);
    if digits == 0 || digits > 18 || number.starts_with('0') {
        return (name, None);
    }
    (stem, number.parse().ok())
}
