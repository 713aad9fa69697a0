//! Branches: lanes go on together, or part and meet at the immediate post-dominator.

use smallvec::{SmallVec, smallvec};

use super::{Issue, Simulation};
use crate::decode::{SwitchSite, Value};
use crate::lanes::{Slots, for_each_lane};
use crate::watch::Watcher;

impl Simulation {
    pub(super) fn advance(&mut self, slot: usize, pc: u32, target: u32, watcher: &mut impl Watcher) {
        let Some(warp) = &mut self.warps[slot] else { return };
        watcher.moved(slot, pc, target, warp.groups.current().mask);
        if warp.groups.jump(target) {
            watcher.reconverged(slot, warp.groups.current());
        }
    }

    pub(super) fn branch(&mut self, issue: Issue<'_>, watcher: &mut impl Watcher) {
        let Issue { slot, pc, inst, frame, mask } = issue;
        let condition = self.file.predicates[frame.at(inst.slots.f) as usize] ^ inst.slots.flip;
        let (on_true, on_false) = (mask & condition, mask & !condition);
        let Slots { a, b, c, .. } = inst.slots;
        // Lanes that go to one place do not part, whatever they read.
        if on_false == 0 || a == b {
            self.advance(slot, pc, a, watcher);
        } else if on_true == 0 {
            self.advance(slot, pc, b, watcher);
        } else {
            self.statistics.insts[pc as usize].divergences += 1;
            self.part(slot, pc, &mut [(a, on_true), (b, on_false)], c, watcher);
        }
    }

    fn part(&mut self, slot: usize, pc: u32, sides: &mut [(u32, u32)], join: u32, watcher: &mut impl Watcher) {
        self.order.shuffle(sides);
        let Some(warp) = &mut self.warps[slot] else { return };
        for &(target, lanes) in sides.iter() {
            watcher.moved(slot, pc, target, lanes);
        }
        warp.groups.diverge(sides, join);
        watcher.diverged(slot, sides);
    }

    pub(super) fn switch(&mut self, issue: Issue<'_>, watcher: &mut impl Watcher) {
        let Issue { slot, pc, inst, frame, mask } = issue;
        let program = self.program.clone();
        let SwitchSite { selector, ref targets, join } = program.switches[inst.side as usize];
        let mut lanes_to: SmallVec<[u32; 8]> = smallvec![0; targets.len()];
        for_each_lane(mask, |lane| {
            let index = frame.read(&self.file, Value::Word(selector), lane) as usize;
            lanes_to[index.min(targets.len() - 1)] |= 1 << lane;
        });
        self.go_ways(slot, pc, targets, &lanes_to, join, watcher);
    }

    /// Lanes go to several targets, first target first.
    pub(super) fn go_ways(
        &mut self,
        slot: usize,
        pc: u32,
        targets: &[u32],
        lanes_to: &[u32],
        join: u32,
        watcher: &mut impl Watcher,
    ) {
        let mut sides: SmallVec<[(u32, u32); 8]> = SmallVec::new();
        for (&target, &lanes) in targets.iter().zip(lanes_to).filter(|(_, lanes)| **lanes != 0) {
            match sides.iter_mut().find(|(known, _)| *known == target) {
                Some((_, all)) => *all |= lanes,
                None => sides.push((target, lanes)),
            }
        }
        match sides.as_slice() {
            [] => {}
            &[(target, _)] => self.advance(slot, pc, target, watcher),
            _ => {
                self.statistics.insts[pc as usize].divergences += 1;
                self.part(slot, pc, &mut sides, join, watcher);
            }
        }
    }
}
