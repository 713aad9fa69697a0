//! Watchers of a warp: their events are issues of instructions and lanes that diverge and meet. The
//! watcher of nobody is a zero-sized type whose methods do nothing, so an unwatched run pays
//! nothing.

use super::decode::Program;
use super::groups::Entry;
use super::lanes::LaneFile;
use super::together::FrameBase;

/// Hears what warps do. Slots name resident warps, program counters decoded instructions, masks active lanes.
pub trait Watcher {
    /// An instruction is issued for the lanes that are there; its guard holds in those of `mask`.
    fn issued(&mut self, _slot: usize, _pc: u32, _running: u32, _mask: u32) {}
    /// An instruction has written its destinations.
    fn wrote(&mut self, _slot: usize, _program: &Program, _pc: u32, _mask: u32, _file: &LaneFile, _frame: FrameBase) {}
    /// Lanes go from one block to another.
    fn moved(&mut self, _slot: usize, _pc: u32, _target: u32, _mask: u32) {}
    /// Lanes part.
    fn diverged(&mut self, _slot: usize, _sides: &[(u32, u32)]) {}
    /// Lanes meet.
    fn reconverged(&mut self, _slot: usize, _entry: Entry) {}
}

/// A watcher that is called through a pointer: watched runs of several kinds share one compiled simulator.
impl Watcher for &mut dyn Watcher {
    fn issued(&mut self, slot: usize, pc: u32, running: u32, mask: u32) {
        (**self).issued(slot, pc, running, mask);
    }

    fn wrote(&mut self, slot: usize, program: &Program, pc: u32, mask: u32, file: &LaneFile, frame: FrameBase) {
        (**self).wrote(slot, program, pc, mask, file, frame);
    }

    fn moved(&mut self, slot: usize, pc: u32, target: u32, mask: u32) {
        (**self).moved(slot, pc, target, mask);
    }

    fn diverged(&mut self, slot: usize, sides: &[(u32, u32)]) {
        (**self).diverged(slot, sides);
    }

    fn reconverged(&mut self, slot: usize, entry: Entry) {
        (**self).reconverged(slot, entry);
    }
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Watcher for Nobody {}
