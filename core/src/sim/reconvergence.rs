//! Which lanes of a warp run where: the SIMT stack.
//!
//! ```text
//!        a          diverge at a, lanes 0–3 to b, 4–7 to c; they meet at d
//!       / \
//!      b   c        stack, top last:   d ← 0–7   |   c ← 4–7, until d   |   b ← 0–3, until d
//!       \ /
//!        d          b reaches d: popped; c runs, reaches d: popped; d runs with 0–7
//! ```
//!
//! Any choice of meeting point is sound: lanes below in the stack wait, lanes that end are taken out of every entry, and
//! an entry without lanes is dropped. The immediate post-dominator is the nearest point that all lanes must pass. Where
//! the new meeting point is the one already waited for, no entry is added, so a loop whose lanes leave one by one
//! does not grow the stack: it holds at most two entries a lane and call.
//!
//! Source: Fung, Sham, Yuan, Aamodt, "Dynamic Warp Formation and Scheduling for Efficient GPU Control Flow", MICRO 2007.

use alloc::vec::Vec;

/// No such place.
pub const NOWHERE: u32 = u32::MAX;

/// Lanes and where they go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The next instruction.
    pub pc: u32,
    /// The lanes.
    pub mask: u32,
    /// Where they wait for the entry below; [`NOWHERE`] if nothing waits.
    pub join: u32,
    /// How many calls deep.
    pub depth: u32,
}

/// A policy that decides which lanes of a warp run next, and from where.
pub trait Reconvergence {
    /// A warp whose lanes all start at one place.
    fn start(pc: u32, mask: u32) -> Self;
    /// The lanes that run now. Without lanes the warp is done.
    fn current(&self) -> Entry;
    /// The running lanes go on at another place. True if they met others there.
    fn jump(&mut self, pc: u32) -> bool;
    /// The running lanes part: each side's place and lanes, first side first; all meet at `join`.
    fn diverge(&mut self, sides: &[(u32, u32)], join: u32);
    /// Some of the running lanes call: they go to `entry`, and all go on at `after` when the call is done.
    fn call(&mut self, entry: u32, mask: u32, after: u32);
    /// The running lanes return from the call they are in; another entry of the call, or the caller, runs next.
    fn ret(&mut self);
    /// The running lanes end.
    fn exit(&mut self);
    /// Some of the running lanes end while the others go on.
    fn retire(&mut self, mask: u32);
    /// Everything that waits, lowest first, the running lanes last. For showing.
    fn entries(&self) -> Vec<Entry>;
}

/// The classic stack.
#[derive(Clone)]
pub struct SimtStack {
    top: Entry,
    below: Vec<Entry>,
}

impl SimtStack {
    /// Drops entries without lanes from the top.
    fn settle(&mut self) {
        while self.top.mask == 0 {
            match self.below.pop() {
                Some(entry) => self.top = entry,
                None => return,
            }
        }
    }

    fn remove(&mut self, mask: u32, down_to_depth: u32) {
        self.top.mask &= !mask;
        for entry in self.below.iter_mut().rev() {
            if entry.depth < down_to_depth {
                break;
            }
            entry.mask &= !mask;
        }
        self.settle();
    }
}

impl Reconvergence for SimtStack {
    fn start(pc: u32, mask: u32) -> SimtStack {
        SimtStack { top: Entry { pc, mask, join: NOWHERE, depth: 0 }, below: Vec::new() }
    }

    #[inline(always)]
    fn current(&self) -> Entry {
        self.top
    }

    #[inline(always)]
    fn jump(&mut self, pc: u32) -> bool {
        self.top.pc = pc;
        let mut met = false;
        while self.top.pc == self.top.join {
            let Some(entry) = self.below.pop() else { break };
            self.top = entry;
            self.settle();
            met = true;
        }
        met
    }

    fn diverge(&mut self, sides: &[(u32, u32)], join: u32) {
        let Entry { join: outer, depth, .. } = self.top;
        let join = if join == NOWHERE { outer } else { join };
        if join == outer {
            // Whoever waits for this entry already waits at the meeting point.
            self.top.mask = 0;
        } else {
            self.top.pc = join;
        }
        for &(pc, mask) in sides.iter().rev() {
            if mask != 0 && pc != join {
                let below = core::mem::replace(&mut self.top, Entry { pc, mask, join, depth });
                if below.mask != 0 {
                    self.below.push(below);
                }
            }
        }
        self.settle();
    }

    fn call(&mut self, entry: u32, mask: u32, after: u32) {
        self.top.pc = after;
        let depth = self.top.depth + 1;
        self.below.push(core::mem::replace(&mut self.top, Entry { pc: entry, mask, join: NOWHERE, depth }));
    }

    fn ret(&mut self) {
        self.remove(self.top.mask, self.top.depth);
    }

    fn exit(&mut self) {
        self.remove(self.top.mask, 0);
    }

    fn retire(&mut self, mask: u32) {
        self.remove(mask, 0);
    }

    fn entries(&self) -> Vec<Entry> {
        self.below.iter().copied().chain([self.top]).collect()
    }
}
