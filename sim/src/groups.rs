//! The groups of a warp: lanes that run together, each with its own program counter, and the points where they meet.
//!
//! ```text
//!        a          lanes part at a, 0–3 to b, 4–7 to c; they meet at d
//!       / \
//!      b   c        entries, running group last:   d ← 0–7 [ c ← 4–7 | b ← 0–3 ]
//!       \ /
//!        d          b reaches d: c runs, reaches d: d runs with 0–7
//! ```
//!
//! Entries form a tree, kept in depth-first order: an entry with entries above it is a meeting point, one without is a
//! group. The running group is the last entry.
//!
//! 1. Lanes that part become groups that meet at the immediate post-dominator; the first side runs first.
//! 2. A group that arrives at its meeting point ends; the next group in order runs, or the meeting point itself once
//!    nothing is left above it.
//! 3. While a group waits, the next one of its warp runs. A group that spins becomes the last in turn.
//! 4. If no other group can run, the lanes that have arrived at a meeting point go on without the
//!    missing ones: those of the innermost point first. They meet the missing ones at the next
//!    point outwards.
//!
//! Sound: any choice of meeting points and of the next group runs each lane's own instructions in order. Rule 4 gives
//! every lane progress, as Volta and later GPUs do; without rules 3 and 4 the tree is the classic SIMT stack.
//! Where the new meeting point is the one already waited for, no entry is added, so a loop whose lanes leave one by one
//! does not grow the tree: it holds at most two entries for each lane and call.
//!
//! Cost: O(1) for each jump and O(sides) for each divergence while no group waits; otherwise O(entries).
//!
//! Source: Fung, Sham, Yuan, Aamodt, "Dynamic Warp Formation and Scheduling for Efficient GPU
//! Control Flow", MICRO 2007, for the stack; NVIDIA, "Tesla V100 GPU Architecture", 2017, section
//! "Independent Thread Scheduling", for progress.

use alloc::vec::Vec;

/// The absence of a meeting point.
pub const NOWHERE: u32 = u32::MAX;

/// Whether a group may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stance {
    /// It may, or it is a meeting point.
    Runs,
    /// It may, but has spun and gives way to others first.
    Spins,
    /// It waits at its instruction for other lanes.
    Waits,
    /// It has waited, and has not run since.
    Released,
}

/// A group of lanes, or a point where groups meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The next instruction. A group that waits is at the instruction that makes it wait.
    pub pc: u32,
    /// Its lanes; those of a meeting point include the lanes that are still missing.
    pub mask: u32,
    /// Meeting point of its lanes with those of its siblings; [`NOWHERE`] if they do not meet.
    pub join: u32,
    /// Index of its frame among the frames of its warp.
    pub frame: u32,
    /// Number of entries that enclose it.
    pub level: u16,
    /// Whether it may run.
    pub stance: Stance,
}

impl Entry {
    const NOBODY: Entry = Entry { pc: 0, mask: 0, join: NOWHERE, frame: 0, level: 0, stance: Stance::Runs };
}

/// The groups of one warp.
#[derive(Clone)]
pub struct Groups {
    /// The running group; without lanes if none can run.
    top: Entry,
    /// The others, in depth-first order.
    below: Vec<Entry>,
    /// Number of entries below that do not simply run.
    idle: u32,
    /// The clock before which groups that have been released may not issue, in the scheduler's unit.
    not_before: u64,
}

impl Groups {
    /// A warp whose lanes all start at one place.
    pub fn start(pc: u32, mask: u32) -> Groups {
        Groups { top: Entry { pc, mask, ..Entry::NOBODY }, below: Vec::new(), idle: 0, not_before: 0 }
    }

    /// The running group; without lanes if none can run.
    #[inline(always)]
    pub fn current(&self) -> Entry {
        self.top
    }

    /// The running group goes on at another place. True if it ended there, because others meet it there.
    #[inline(always)]
    pub fn jump(&mut self, pc: u32) -> bool {
        self.top.pc = pc;
        let mut met = false;
        while self.top.pc == self.top.join && self.top.mask != 0 {
            self.next();
            met = true;
        }
        met
    }

    /// The running lanes part: each side's place and lanes, first side first; all meet at `join`.
    pub fn diverge(&mut self, sides: &[(u32, u32)], join: u32) {
        let Entry { join: outer, mut level, frame, .. } = self.top;
        let join = if join == NOWHERE { outer } else { join };
        if join == outer {
            // Whoever waits for this entry already waits at the meeting point.
            self.top.mask = 0;
        } else {
            self.top.pc = join;
            level += 1;
        }
        for &(pc, mask) in sides.iter().rev() {
            if mask != 0 && pc != join {
                let side = Entry { pc, mask, join, frame, level, ..Entry::NOBODY };
                let below = core::mem::replace(&mut self.top, side);
                if below.mask != 0 {
                    self.below.push(below);
                }
            }
        }
        if self.top.mask == 0 {
            self.next();
        }
    }

    /// Some of the running lanes call: they go to `entry` with a frame of their own, and all go on
    /// at `after` when the call is done.
    pub fn call(&mut self, entry: u32, mask: u32, after: u32, frame: u32) {
        self.top.pc = after;
        let callee = Entry { pc: entry, mask, frame, level: self.top.level + 1, ..Entry::NOBODY };
        self.below.push(core::mem::replace(&mut self.top, callee));
    }

    /// The running lanes return from their call; another group runs next, or the caller.
    pub fn ret(&mut self) {
        let Entry { mask, frame, .. } = self.top;
        self.remove(mask, |entry| entry.frame == frame);
    }

    /// The running lanes end.
    pub fn exit(&mut self) {
        self.remove(self.top.mask, |_| true);
    }

    /// Some of the running lanes wait at their instruction until they are released. The others, if there are any, go on
    /// behind it as a group of their own and meet them at `join`; otherwise another group runs.
    pub fn wait(&mut self, pc: u32, waiting: u32, join: u32) {
        let others = self.top.mask & !waiting;
        self.idle += 1;
        if others == 0 {
            self.below.push(Entry { pc, stance: Stance::Waits, ..core::mem::replace(&mut self.top, Entry::NOBODY) });
            self.rouse();
            self.choose();
            return;
        }
        self.diverge(&[(pc + 1, others), (pc, waiting)], join);
        if let Some(side) = self.below.last_mut() {
            side.stance = Stance::Waits;
        }
    }

    /// The running group, about to go on at `pc`, has spun: every other group runs before it does again.
    pub fn spin(&mut self, pc: u32) {
        self.give_way(pc);
        self.choose();
    }

    /// Lets waiting groups go on behind their instruction, not before `not_before`: those of which
    /// `is_released` says so. True if one of them is the running group now because none was. Groups
    /// that were released before and have not run yet wait as long.
    pub fn release(&mut self, not_before: u64, mut is_released: impl FnMut(&Entry) -> bool) -> bool {
        for entry in &mut self.below {
            if entry.stance == Stance::Waits && is_released(entry) {
                entry.stance = Stance::Released;
                entry.pc += 1;
            }
        }
        self.not_before = self.not_before.max(not_before);
        let resumes = self.top.mask == 0;
        if resumes {
            self.choose();
        }
        resumes && self.top.mask != 0
    }

    /// The clock before which the running group may not issue, if it has been released since it ran last.
    #[inline(always)]
    pub fn take_release(&mut self) -> Option<u64> {
        if self.top.stance == Stance::Runs {
            return None;
        }
        self.top.stance = Stance::Runs;
        Some(self.not_before)
    }

    /// Does no group wait or spin, so that the running group meets others only where lanes have parted?
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.idle == 0
    }

    /// The groups that wait at their instruction.
    pub fn waiting(&self) -> impl Iterator<Item = &Entry> {
        self.below.iter().filter(|entry| entry.stance == Stance::Waits)
    }

    /// Everything in depth-first order, the running group last. For showing.
    pub fn entries(&self) -> Vec<Entry> {
        self.below.iter().copied().chain([self.top]).filter(|entry| entry.mask != 0).collect()
    }

    /// The running group has ended: the next one runs.
    #[inline(always)]
    fn next(&mut self) {
        if self.idle == 0 {
            self.top = self.below.pop().unwrap_or(Entry::NOBODY);
        } else {
            self.top.mask = 0;
            self.rouse();
            self.choose();
        }
    }

    /// Takes lanes out of the running group and of those entries.
    fn remove(&mut self, mask: u32, of: impl Fn(&Entry) -> bool) {
        let Groups { top, below, idle, .. } = self;
        below.retain_mut(|entry| {
            if of(entry) {
                entry.mask &= !mask;
            }
            *idle -= u32::from(entry.mask == 0 && entry.stance != Stance::Runs);
            entry.mask != 0
        });
        top.mask &= !mask;
        if top.mask == 0 {
            self.next();
        }
    }

    /// Groups that have spun may run again.
    fn rouse(&mut self) {
        for entry in self.below.iter_mut().filter(|entry| entry.stance == Stance::Spins) {
            entry.stance = Stance::Runs;
            self.idle -= 1;
        }
    }

    /// Puts the running group behind all others in turn.
    fn give_way(&mut self, pc: u32) {
        let mut at = self.below.len();
        self.below.push(Entry { pc, stance: Stance::Spins, ..core::mem::replace(&mut self.top, Entry::NOBODY) });
        self.idle += 1;
        loop {
            let level = self.below[at].level;
            // The first of its siblings comes right after the entry that encloses them.
            let first = self.enclosing(at).map_or(0, |parent| parent + 1);
            let end = self.end_of(at);
            self.below[first..end].rotate_right(end - at);
            if level == 0 {
                return;
            }
            at = first - 1;
        }
    }

    /// Chooses the running group where there is none, by the rules of the file's head.
    fn choose(&mut self) {
        let next = self.last_that_runs().or_else(|| self.leave_meeting_point()).or_else(|| {
            self.rouse();
            self.last_that_runs()
        });
        if let Some(at) = next {
            self.bring_to_top(at);
            self.top = self.below.pop().unwrap_or(Entry::NOBODY);
            self.idle -= u32::from(self.top.stance != Stance::Runs);
        }
    }

    fn last_that_runs(&self) -> Option<usize> {
        let is_group = |at: usize| self.end_of(at) == at + 1;
        let may_run = |at: usize| matches!(self.below[at].stance, Stance::Runs | Stance::Released);
        (0..self.below.len()).rev().find(|&at| may_run(at) && is_group(at))
    }

    /// The lanes at the innermost meeting point that any have reached become a group of their own.
    fn leave_meeting_point(&mut self) -> Option<usize> {
        let arrived = |at: usize| {
            let above = at + 1..self.end_of(at);
            let inner = |entry: &&Entry| entry.level == self.below[at].level + 1;
            let missing = self.below[above.clone()].iter().filter(inner).fold(0, |lanes, entry| lanes | entry.mask);
            if above.is_empty() { 0 } else { self.below[at].mask & !missing }
        };
        let points = (0..self.below.len()).filter(|&at| arrived(at) != 0);
        let at = points.max_by_key(|&at| self.below[at].level)?;
        let mask = arrived(at);
        let end = self.end_of(at);
        self.rouse();
        self.below[at].mask &= !mask;
        self.below.insert(end, Entry { mask, ..self.below[at] });
        Some(end)
    }

    /// Makes a group the last in order, with everything that encloses it.
    fn bring_to_top(&mut self, mut at: usize) {
        loop {
            let level = self.below[at].level;
            let end = self.end_of(at);
            let siblings = self.below[end..].iter().take_while(|entry| entry.level >= level).count();
            self.below[at..end + siblings].rotate_left(end - at);
            match self.enclosing(at) {
                Some(parent) => at = parent,
                None => return,
            }
        }
    }

    /// The entry that encloses another.
    fn enclosing(&self, at: usize) -> Option<usize> {
        let level = self.below[at].level;
        self.below[..at].iter().rposition(|entry| entry.level < level)
    }

    /// The end of an entry and everything above it that meets there.
    fn end_of(&self, at: usize) -> usize {
        let level = self.below[at].level;
        at + 1 + self.below[at + 1..].iter().take_while(|entry| entry.level > level).count()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn shape(groups: &Groups) -> Vec<(u32, u32)> {
        groups.entries().iter().map(|entry| (entry.pc, entry.mask)).collect()
    }

    #[test]
    fn sides_run_in_order_and_meet() {
        let mut groups = Groups::start(0, 0xFF);
        groups.diverge(&[(1, 0x0F), (2, 0xF0)], 9);
        assert_eq!(shape(&groups), [(9, 0xFF), (2, 0xF0), (1, 0x0F)]);
        assert!(groups.jump(9));
        assert_eq!(groups.current().pc, 2);
        assert!(groups.jump(9));
        assert_eq!(shape(&groups), [(9, 0xFF)]);
    }

    #[test]
    fn waiting_group_lets_others_pass_the_meeting_point() {
        let mut groups = Groups::start(0, 0xFF);
        groups.diverge(&[(1, 0x0F), (2, 0xF0)], 9);
        groups.wait(1, 0x0F, NOWHERE);
        assert_eq!(groups.current().mask, 0xF0);
        // Nothing else can run: the lanes go on behind their meeting point.
        groups.jump(9);
        assert_eq!((groups.current().pc, groups.current().mask), (9, 0xF0));
        groups.wait(9, 0xF0, NOWHERE);
        assert_eq!(groups.current().mask, 0);
        assert!(groups.release(0, |entry| entry.mask == 0x0F));
        assert_eq!((groups.current().pc, groups.current().mask), (2, 0x0F));
        groups.jump(9);
        assert_eq!((groups.current().pc, groups.current().mask), (9, 0x0F));
    }

    #[test]
    fn lanes_that_went_on_meet_at_the_next_point_outwards() {
        let mut groups = Groups::start(0, 0xFF);
        groups.diverge(&[(1, 0x3F), (2, 0xC0)], 20);
        groups.diverge(&[(3, 0x0F), (4, 0x30)], 10);
        groups.wait(3, 0x0F, NOWHERE);
        // The other inner side, then the other outer side, then the innermost point that lanes have reached.
        assert_eq!(groups.current().mask, 0x30);
        groups.jump(10);
        assert_eq!(groups.current().mask, 0xC0);
        groups.jump(20);
        assert_eq!((groups.current().pc, groups.current().mask), (10, 0x30));
        groups.jump(20);
        assert_eq!((groups.current().pc, groups.current().mask), (20, 0xF0));
        groups.exit();
        assert_eq!(groups.current().mask, 0);
        assert!(groups.release(0, |_| true));
        groups.jump(10);
        groups.jump(20);
        assert_eq!(shape(&groups), [(20, 0x0F)]);
    }

    #[test]
    fn spinning_groups_run_in_turn() {
        let mut groups = Groups::start(0, 0b111);
        groups.diverge(&[(1, 0b001), (2, 0b010), (3, 0b100)], 9);
        let mut order = vec![];
        for _ in 0..6 {
            order.push(groups.current().mask);
            groups.spin(1);
        }
        assert_eq!(order, [1, 2, 4, 1, 2, 4]);
    }

    #[test]
    fn lanes_at_a_meeting_point_run_once_all_others_spin() {
        let mut groups = Groups::start(0, 0b111);
        groups.diverge(&[(1, 0b001), (2, 0b010), (3, 0b100)], 9);
        groups.jump(9);
        assert_eq!(groups.current().mask, 0b010);
        groups.spin(2);
        assert_eq!(groups.current().mask, 0b100);
        groups.spin(3);
        assert_eq!((groups.current().pc, groups.current().mask), (9, 0b001));
    }

    #[test]
    fn group_in_a_call_keeps_its_frame() {
        let mut groups = Groups::start(0, 0b11);
        groups.diverge(&[(1, 0b01), (2, 0b10)], 9);
        groups.call(50, 0b01, 5, 1);
        groups.wait(50, 0b01, NOWHERE);
        groups.call(50, 0b10, 5, 2);
        groups.ret();
        assert_eq!((groups.current().pc, groups.current().mask, groups.current().frame), (5, 0b10, 0));
        groups.jump(9);
        assert_eq!((groups.current().pc, groups.current().mask), (9, 0b10));
        groups.exit();
        groups.release(0, |_| true);
        assert_eq!((groups.current().pc, groups.current().frame), (51, 1));
        groups.ret();
        assert_eq!((groups.current().pc, groups.current().frame), (5, 0));
    }
}
