//! Votes, shuffles, matches, reductions and `bar.warp.sync` under a member mask: lanes wait until
//! all that they name have come to an operation with the same opcode, modifiers and mask, wherever
//! in the program, and act together.
//!
//! Lanes that are complete at one instruction act at once and go on; where all lanes of a group are, nobody waits and
//! nothing else is done here. Lanes whose members are missing become a group that waits, one for each mask.
//!
//! Source: PTX ISA, sections on `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`, `bar.warp.sync`.

use alloc::format;

use smallvec::SmallVec;

use super::{CAUSE_BITS, Issue, Simulation};
use crate::decode::{Kind, NO_MORE, WarpSite};
use crate::error::{ErrorKind, SimError};
use crate::groups::Entry;
use crate::ir::Op;
use crate::lanes::for_each_lane;
use crate::settings::Scheduling;
use crate::statistics::IdleCause;
use crate::together::{self, FrameBase, Part};
use crate::watch::Watcher;

impl Simulation {
    /// Lanes come to an operation with a member mask. `latency` is that of the result, in cycles.
    pub(super) fn act_together(
        &mut self,
        issue: Issue<'_>,
        latency: u64,
        watcher: &mut impl Watcher,
    ) -> Result<(), SimError> {
        let Issue { slot, pc, inst, frame, mask } = issue;
        let program = self.program.clone();
        let site = &program.warp_sites[inst.side as usize];
        let mut waiting: SmallVec<[u32; 1]> = SmallVec::new();
        let mut left = mask;
        while left != 0 {
            let here = Part { site, frame, lanes: left };
            let lane = left.trailing_zeros() as usize;
            let named = here.named(&self.file, lane);
            let mut lanes = 0;
            for_each_lane(left, |lane| lanes |= u32::from(here.named(&self.file, lane) == named) << lane);
            left &= !lanes;
            if lanes & !named != 0 {
                let lane = (lanes & !named).trailing_zeros() as usize;
                let message = format!("lane {lane} is not in its own member mask {named:#x}");
                return Err(self.blame(slot, pc, lane, None, ErrorKind::Barrier, message));
            }
            let met = self.waiting_for(slot, site, named);
            let come = met.iter().fold(lanes, |come, entry| come | entry.mask);
            if named & self.warp(slot).alive & !come != 0 {
                waiting.push(lanes);
                continue;
            }
            self.act(slot, (pc, frame, lanes), &met, latency, watcher);
        }
        for &lanes in &waiting {
            if self.scheduling == Scheduling::Stack {
                return Err(self.stack_error(slot, pc, lanes));
            }
            self.warp_mut(slot).groups.wait(pc, lanes, site.join);
        }
        if !waiting.is_empty() {
            self.resume(slot, watcher);
        }
        Ok(())
    }

    /// The groups of a warp that wait at an operation like this one under the same mask.
    fn waiting_for(&self, slot: usize, site: &WarpSite, named: u32) -> SmallVec<[Entry; 2]> {
        let is_alike = |entry: &&Entry| {
            self.member_site(entry).is_some_and(|(_, other)| other.acts_with(site))
                && self.named_by(slot, entry) == named
        };
        self.warp(slot).groups.waiting().filter(is_alike).copied().collect()
    }

    /// The site at which a group waits for the lanes of its mask, with its pc.
    fn member_site(&self, entry: &Entry) -> Option<(u32, &WarpSite)> {
        let inst = &self.program.insts[entry.pc as usize];
        let is_one = matches!(inst.kind, Kind::Warp | Kind::WarpBarrier);
        is_one.then(|| (entry.pc, &self.program.warp_sites[inst.side as usize]))
    }

    /// The member mask of a group that waits.
    pub(super) fn named_by(&self, slot: usize, entry: &Entry) -> u32 {
        let frame = FrameBase(self.warp(slot).frames[entry.frame as usize].base);
        let lane = entry.mask.trailing_zeros() as usize;
        self.member_site(entry).map_or(!0, |(_, site)| Part { site, frame, lanes: entry.mask }.named(&self.file, lane))
    }

    /// All lanes have come: those of the running group, if any are here, and the groups that have waited.
    fn act(
        &mut self,
        slot: usize,
        (pc, frame, lanes): (u32, FrameBase, u32),
        met: &[Entry],
        latency: u64,
        watcher: &mut impl Watcher,
    ) {
        let program = self.program.clone();
        let mut places: SmallVec<[(u32, FrameBase, u32); 2]> = SmallVec::new();
        if lanes != 0 {
            places.push((pc, frame, lanes));
        }
        for entry in met {
            let base = self.warp(slot).frames[entry.frame as usize].base;
            places.push((entry.pc, FrameBase(base), entry.mask));
        }
        let site_at = |pc: u32| &program.warp_sites[program.insts[pc as usize].side as usize];
        if places.iter().all(|&(pc, ..)| site_at(pc).op != Op::BarWarp) {
            let parts: SmallVec<[Part<'_>; 2]> =
                places.iter().map(|&(pc, frame, lanes)| Part { site: site_at(pc), frame, lanes }).collect();
            together::run(&parts, &mut self.file, self.bound.warp);
            for &(pc, frame, lanes) in &places {
                watcher.wrote(slot, &program, pc, lanes, &self.file, frame);
            }
        }
        if met.is_empty() {
            return;
        }
        let ready = self.cycle + latency;
        for &(pc, frame, _) in &places {
            self.set_clocks(pc, frame, ready);
        }
        let is_barrier = site_at(pc).op == Op::BarWarp;
        let not_before = if is_barrier { ready } else { self.cycle } << CAUSE_BITS | IdleCause::Barrier as u64;
        let released = met.iter().fold(0, |released, entry| released | entry.mask);
        self.warp_mut(slot).groups.release(not_before, |entry| entry.mask & !released == 0);
    }

    /// The destinations of an instruction are ready from a cycle on.
    fn set_clocks(&mut self, pc: u32, frame: FrameBase, ready: u64) {
        let timing = self.program.timings[pc as usize];
        let ready = ready << CAUSE_BITS | IdleCause::Arithmetic as u64;
        let mut set = |done: u32| {
            let clock = &mut self.clocks[(frame.0 + done) as usize];
            *clock = ready.max(*clock);
        };
        set(timing.done);
        if timing.more != NO_MORE {
            self.program.more_clocks[timing.more as usize].done.iter().copied().for_each(set);
        }
    }

    /// Lanes of a warp are about to end: groups that waited for them only act.
    pub(super) fn act_without(&mut self, slot: usize, watcher: &mut impl Watcher) {
        loop {
            let alive = self.warp(slot).alive;
            let complete = self.warp(slot).groups.waiting().find_map(|entry| {
                let (pc, site) = self.member_site(entry)?;
                let named = self.named_by(slot, entry);
                let met = self.waiting_for(slot, site, named);
                let come = met.iter().fold(0, |come, entry| come | entry.mask);
                (named & alive & !come == 0).then_some((pc, met))
            });
            let Some((pc, met)) = complete else { return };
            let latency = u64::from(self.program.timings[pc as usize].latency);
            self.act(slot, (pc, FrameBase(0), 0), &met, latency, watcher);
        }
    }
}
