//! Calls and returns. Lanes of one warp may return at different times and, from a function with several exits, to
//! different places: the caller goes on when the last of them has left.

use alloc::format;
use alloc::vec;

use smallvec::SmallVec;

use super::{AFTER_CALL, CAUSE_BITS, Issue, Simulation};
use crate::sim::access::canonical;
use crate::sim::decode::{CALL_DEPTH_LIMIT, CallSite};
use crate::sim::error::{ErrorKind, SimError};
use crate::sim::lanes::for_each_lane;
use crate::sim::reconvergence::Reconvergence;
use crate::sim::together::FrameBase;
use crate::sim::watch::Watcher;

impl<R: Reconvergence> Simulation<R> {
    /// Lanes enter a callee, which gets a frame of its own.
    pub(super) fn call(&mut self, issue: Issue<'_>) -> Result<(), SimError> {
        let Issue { slot, pc, inst, frame, mask } = issue;
        if mask == 0 {
            self.warp_mut(slot).stack.jump(pc + 1);
            return Ok(());
        }
        let depth = self.warp(slot).frames.len() as u32;
        if depth > CALL_DEPTH_LIMIT {
            let message = format!("calls nest more than {CALL_DEPTH_LIMIT} deep");
            return Err(self.program.error_at(pc, ErrorKind::Limit, message));
        }
        let caller = self.warp(slot).frames.last().expect("a frame");
        let local = caller.local + self.program.funcs[caller.func].local_bytes;
        let program = self.program.clone();
        let site = &program.calls[inst.side as usize];
        let CallSite { callee, entry, .. } = *site;
        if local + self.program.funcs[callee].local_bytes > self.memory.local_bytes {
            let message =
                format!("a thread has {} bytes of local memory, and this call needs more", self.memory.local_bytes);
            return Err(self.program.error_at(pc, ErrorKind::Limit, message));
        }
        self.push_frame(slot, callee, pc, local);
        let base = self.warp(slot).frames.last().expect("the new frame").base;
        for &(from, to, float) in &site.arguments {
            for_each_lane(mask, |lane| {
                let bits = canonical(float, frame.read(&self.file, from, lane));
                FrameBase(base).write(&mut self.file, to, lane, bits);
            });
        }
        let exits = site.exits.as_ref().map_or(0, |(targets, _)| targets.len());
        let warp = self.warps[slot].as_mut().expect("a resident warp");
        if let Some(frame) = warp.frames.last_mut() {
            frame.exits = vec![0; exits];
        }
        warp.stack.call(entry, mask, if exits > 0 { pc | AFTER_CALL } else { pc + 1 });
        Ok(())
    }

    /// The running lanes return, or end where there is nobody to return to.
    pub(super) fn ret(&mut self, issue: Issue<'_>) {
        let Issue { slot, inst, frame, mask, .. } = issue;
        let site = self.program.rets[inst.side as usize];
        let Some(warp) = &mut self.warps[slot] else { return };
        if warp.frames.len() == 1 {
            warp.alive &= !mask;
            warp.stack.exit();
            return;
        }
        let callee = warp.frames.last_mut().expect("a frame");
        let call = callee.call;
        if let Some(lanes) = callee.exits.get_mut(site.exit as usize) {
            *lanes |= mask;
        }
        let caller = FrameBase(warp.frames[warp.frames.len() - 2].base);
        let call_site = &self.program.calls[self.program.insts[call as usize].side as usize];
        if let (Some((dst, clock, float)), Some(value)) = (call_site.dst, site.value) {
            for_each_lane(mask, |lane| {
                let bits = canonical(float, frame.read(&self.file, value, lane));
                caller.write(&mut self.file, dst, lane, bits);
            });
            self.clocks[(caller.0 + clock) as usize] = (self.cycle + 1) << CAUSE_BITS;
        }
        warp.stack.ret();
    }

    /// Gives back the frames of calls whose last lane has left, and lets the callers of functions with several exits go
    /// on where each lane returned to.
    pub(super) fn leave_frames(&mut self, slot: usize, watcher: &mut impl Watcher) {
        loop {
            let warp = self.warps[slot].as_mut().expect("a resident warp");
            let top = warp.stack.current();
            if warp.frames.len() < 2 || (top.mask != 0 && top.depth as usize >= warp.frames.len() - 1) {
                return;
            }
            let Some(left) = warp.frames.pop() else { return };
            self.free_frames[left.func].push(left.base);
            if top.mask != 0 && top.pc == left.call | AFTER_CALL {
                let program = self.program.clone();
                let site = &program.calls[program.insts[left.call as usize].side as usize];
                if let Some((targets, join)) = &site.exits {
                    let lanes_to: SmallVec<[u32; 8]> = left.exits.iter().map(|lanes| lanes & top.mask).collect();
                    self.go_ways(slot, left.call, targets, &lanes_to, *join, watcher);
                }
            }
        }
    }
}
