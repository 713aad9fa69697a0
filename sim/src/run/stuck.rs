//! Runs that cannot go on: who waits where, and for whom.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Progress, Simulation, Warp};
use crate::decode::Kind;
use crate::error::{ErrorKind, ErrorNote, SimError};
use crate::groups::Entry;
use crate::settings::Scheduling;

/// Groups that an error names.
const MOST_NAMED: usize = 4;

impl Simulation {
    /// The end of a run in which nobody can issue: either all is done, or groups wait for lanes that will never come.
    pub(super) fn ended_or_stuck(&self) -> Result<Progress, SimError> {
        let groups = |(slot, warp): (usize, &Option<Warp>)| -> Vec<(usize, Entry)> {
            warp.iter().flat_map(|warp| warp.groups.waiting()).map(|entry| (slot, *entry)).collect()
        };
        let waiting: Vec<(usize, Entry)> = self.warps.iter().enumerate().flat_map(groups).collect();
        let Some((slot, first)) = waiting.first() else { return Ok(Progress::Done) };
        let slot = *slot;
        let message = match self.program.insts[first.pc as usize].kind {
            Kind::Barrier => format!(
                "deadlock at the barrier in block `{}`: some threads of the block never reach it",
                self.program.label(first.pc)
            ),
            _ => format!(
                "deadlock: lanes wait for the lanes of their member mask {:#x}, which never reach the same \
                 operation with the same mask",
                self.named_by(slot, first)
            ),
        };
        let lane = first.mask.trailing_zeros() as usize;
        let mut error = self.blame(slot, first.pc, lane, None, ErrorKind::Barrier, message);
        for (slot, entry) in waiting.iter().take(MOST_NAMED) {
            error = error.with_note(self.waits_here(*slot, entry));
        }
        if waiting.len() > MOST_NAMED {
            error.message += &format!(" ({} groups of lanes wait)", waiting.len());
        }
        Err(error)
    }

    /// A note that lanes wait at their instruction.
    pub(super) fn waits_here(&self, slot: usize, entry: &Entry) -> ErrorNote {
        let inst = &self.program.insts[entry.pc as usize];
        let what = match self.barrier_of(slot, entry) {
            Some((_, number)) => format!("at barrier {number}"),
            None if inst.kind == Kind::Barrier => "here".to_string(),
            None => format!("for the lanes {:#x}", self.named_by(slot, entry)),
        };
        self.note(slot, entry.pc, format!("{} wait here {what}", self.lanes_of(slot, entry.mask)))
    }

    fn note(&self, slot: usize, pc: u32, message: String) -> ErrorNote {
        let error = self.blame(slot, pc, 0, None, ErrorKind::Barrier, message);
        ErrorNote { message: error.message, place: error.place }
    }

    /// Lanes and warp, for people.
    fn lanes_of(&self, slot: usize, lanes: u32) -> String {
        let warp = self.warp(slot);
        format!("{} of warp {} of block {}", which(lanes), warp.number, self.block_number(slot))
    }

    /// An error of lanes that would have to wait for others of their warp, where the model does not allow it.
    pub(super) fn stack_error(&self, slot: usize, pc: u32, lanes: u32) -> SimError {
        let missing = self.warp(slot).alive & !lanes;
        let message = format!(
            "{} would wait for {}: under `scheduling=stack` diverged lanes run to where they reconverge, and none \
             waits for another of its warp",
            self.lanes_of(slot, lanes),
            which(missing)
        );
        self.blame(slot, pc, lanes.trailing_zeros() as usize, None, ErrorKind::Barrier, message)
    }

    /// The error of a run that has used up its fuel, at a warp's next instruction.
    pub(super) fn out_of_fuel(&self, slot: usize) -> SimError {
        let mut message = format!("stopped after {} warp instructions, probably in an endless loop", self.fuel);
        let front = &self.fronts[slot];
        if !front.is_whole && front.running != 0 {
            message += "; while these lanes run, others of their warp wait: ";
            message += match self.scheduling {
                Scheduling::Independent => {
                    "lanes that wait for others in a loop let them run only if the loop loads with `.volatile`, \
                     `.relaxed` or `.acquire`, or by atomics"
                }
                Scheduling::Stack => {
                    "under `scheduling=stack` they run to where they reconverge, and none waits for another"
                }
            };
        }
        self.program.error_at(front.pc, ErrorKind::Fuel, message)
    }
}

/// Lanes, for people.
fn which(lanes: u32) -> String {
    let (first, last) = (lanes.trailing_zeros(), 31 - lanes.leading_zeros());
    match lanes.count_ones() {
        1 => format!("lane {first}"),
        count if count == last - first + 1 => format!("lanes {first}–{last}"),
        _ => format!("lanes {lanes:#x}"),
    }
}
