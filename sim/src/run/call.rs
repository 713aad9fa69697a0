//! Calls and returns. Lanes of one warp may return at different times and, from a function with several exits, to
//! different places: the caller goes on when the last of them has left.

use alloc::format;

use smallvec::{SmallVec, smallvec};

use super::{AFTER_CALL, CAUSE_BITS, Frame, Issue, Simulation};
use crate::decode::{CALL_DEPTH_LIMIT, CallSite};
use crate::error::{ErrorKind, SimError};
use crate::lanes::for_each_lane;
use crate::together::FrameBase;
use crate::watch::Watcher;

impl Simulation {
    /// Lanes enter a callee, which gets a frame of its own.
    pub(super) fn call(&mut self, issue: Issue<'_>) -> Result<(), SimError> {
        let Issue { slot, pc, inst, frame, mask } = issue;
        if mask == 0 {
            self.warp_mut(slot).groups.jump(pc + 1);
            return Ok(());
        }
        let caller = self.frame(slot);
        let depth = caller.depth + 1;
        if depth > CALL_DEPTH_LIMIT {
            let message = format!("calls nest more than {CALL_DEPTH_LIMIT} deep");
            return Err(self.program.error_at(pc, ErrorKind::Limit, message));
        }
        let local = caller.local + self.program.funcs[caller.func].local_bytes;
        let program = self.program.clone();
        let site = &program.calls[inst.side as usize];
        let CallSite { callee, entry, .. } = *site;
        if local + self.program.funcs[callee].local_bytes > self.memory.local_bytes {
            let message =
                format!("a thread has {} bytes of local memory, and this call needs more", self.memory.local_bytes);
            return Err(self.program.error_at(pc, ErrorKind::Limit, message));
        }
        let caller = self.warp(slot).groups.current().frame;
        let callee = Frame { base: 0, func: callee, call: pc, caller, depth, local, lanes: mask };
        let (index, base) = self.push_frame(slot, callee);
        for &(from, to) in &site.arguments {
            for_each_lane(mask, |lane| {
                let bits = frame.read(&self.file, from, lane);
                FrameBase(base).write(&mut self.file, to, lane, bits);
            });
        }
        let after = if site.exits.is_some() { pc | AFTER_CALL } else { pc + 1 };
        self.warp_mut(slot).groups.call(entry, mask, after, index);
        Ok(())
    }

    /// The running lanes return from the call that they are in. Its frame is free when the last of them has.
    pub(super) fn ret(&mut self, issue: Issue<'_>) {
        let Issue { slot, inst, frame, mask, .. } = issue;
        let site = self.program.rets[inst.side as usize];
        let Some(warp) = &mut self.warps[slot] else { return };
        let callee = &mut warp.frames[warp.groups.current().frame as usize];
        callee.lanes &= !mask;
        let Frame { base, func, call, caller, lanes, .. } = *callee;
        for_each_lane(mask, |lane| warp.exits[lane] = site.exit);
        let caller = FrameBase(warp.frames[caller as usize].base);
        let call_site = &self.program.calls[self.program.insts[call as usize].side as usize];
        if let (Some((dst, clock)), Some(value)) = (call_site.dst, site.value) {
            for_each_lane(mask, |lane| {
                let bits = frame.read(&self.file, value, lane);
                caller.write(&mut self.file, dst, lane, bits);
            });
            self.clocks[(caller.0 + clock) as usize] = (self.cycle + 1) << CAUSE_BITS;
        }
        if lanes == 0 {
            self.free_frames[func].push(base);
        }
        warp.groups.ret();
    }

    /// The caller of a function with several exits goes on where each of its lanes has returned to.
    pub(super) fn continue_after_calls(&mut self, slot: usize, watcher: &mut impl Watcher) {
        loop {
            let warp = self.warp(slot);
            let top = warp.groups.current();
            if top.mask == 0 || top.pc & AFTER_CALL == 0 {
                return;
            }
            let call = top.pc & !AFTER_CALL;
            let program = self.program.clone();
            let site = &program.calls[program.insts[call as usize].side as usize];
            let Some((targets, join)) = &site.exits else { return };
            let mut lanes_to: SmallVec<[u32; 8]> = smallvec![0; targets.len()];
            for_each_lane(top.mask, |lane| lanes_to[warp.exits[lane] as usize] |= 1 << lane);
            self.go_ways(slot, call, targets, &lanes_to, *join, watcher);
        }
    }
}
