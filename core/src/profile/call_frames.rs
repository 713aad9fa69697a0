//! The calls that the lanes of each warp are in.
//!
//! ```text
//! k            lanes 0–7, the kernel: it has all lanes, as the slot's next warp begins in it
//! k ▸ low      lanes 0–3, which wait in it
//! k ▸ high     lanes 4–7
//! ```
//!
//! Lanes of a warp may take turns inside different calls, so that frames are no stack. A lane is in the last of its
//! frames: it enters a call after those around it.

use alloc::vec;
use alloc::vec::Vec;

/// A call that some lanes have not returned from, or the kernel itself.
pub struct CallFrame<T> {
    /// Lanes that have not returned.
    lanes: u32,
    /// Program counter of the call; 0 for the kernel.
    pub call: u32,
    /// Knowledge of the call.
    pub state: T,
}

/// The frames of each warp slot, the kernel's first.
pub struct CallFrames<T>(Vec<Vec<CallFrame<T>>>);

impl<T> Default for CallFrames<T> {
    fn default() -> CallFrames<T> {
        CallFrames(Vec::new())
    }
}

impl<T> CallFrames<T> {
    /// Whether a slot has its kernel's frame.
    pub fn has_begun(&self, slot: usize) -> bool {
        self.0.get(slot).is_some_and(|frames| !frames.is_empty())
    }

    /// Gives a slot its kernel's frame.
    pub fn begin(&mut self, slot: usize, kernel: T) {
        if self.0.len() <= slot {
            self.0.resize_with(slot + 1, Vec::new);
        }
        self.0[slot] = vec![CallFrame { lanes: !0, call: 0, state: kernel }];
    }

    /// Enters a call.
    pub fn enter(&mut self, slot: usize, lanes: u32, call: u32, state: T) {
        self.0[slot].push(CallFrame { lanes, call, state });
    }

    /// The frame of the call that lanes, which run together, are in.
    pub fn innermost(&mut self, slot: usize, lanes: u32) -> &mut CallFrame<T> {
        let frames = &mut self.0[slot];
        let at = frames.iter().rposition(|frame| frame.lanes & lanes != 0).unwrap_or(0);
        &mut frames[at]
    }

    /// The kernel's frame.
    pub fn kernel(&mut self, slot: usize) -> &mut CallFrame<T> {
        &mut self.0[slot][0]
    }

    /// The frames that lanes are in, that of the kernel first.
    pub fn around(&self, slot: usize, lanes: u32) -> impl Iterator<Item = &CallFrame<T>> {
        self.0[slot].iter().filter(move |frame| frame.lanes & lanes != 0)
    }

    /// Lets lanes return from the call that they are in. Whether it was one: none returns from the kernel.
    pub fn leave(&mut self, slot: usize, lanes: u32) -> bool {
        let frames = &mut self.0[slot];
        let Some(at) = frames.iter().rposition(|frame| frame.lanes & lanes != 0).filter(|&at| at > 0) else {
            return false;
        };
        frames[at].lanes &= !lanes;
        if frames[at].lanes == 0 {
            frames.remove(at);
        }
        true
    }

    /// Lets lanes leave all calls.
    pub fn leave_all(&mut self, slot: usize, lanes: u32) {
        while self.leave(slot, lanes) {}
    }
}
