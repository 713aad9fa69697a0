//! Effects of instructions beyond arithmetic: accesses to memory, draws of inputs, and `work`.

use alloc::string::String;

use smallvec::SmallVec;

use super::{Issue, Simulation, Warp, unflatten};
use crate::access::{self, Place as AccessPlace};
use crate::bind::{Bound, input_stream};
use crate::decode::{AccessKind, DrawSite, ReadSite, WorkSite};
use crate::error::{ErrorKind, SimError};
use crate::ir::Type;
use crate::lanes::{LaneFile, for_each_lane};
use crate::random::{Place, Stream, hash};
use crate::together::FrameBase;

impl Simulation {
    /// Runs a memory access of the lanes of a mask.
    pub(super) fn access(&mut self, issue: Issue<'_>) -> Result<access::Cost, SimError> {
        let Issue { slot, pc, inst, frame, mask } = issue;
        let model = self.machine.memory();
        let block = self.warp(slot).block;
        let site = &self.program.accesses[inst.side as usize];
        let lanes = matches!(site.kind, AccessKind::Atomic(_)).then(|| self.order.lanes()).flatten();
        let order = lanes.as_ref();
        let place = AccessPlace { frame, mask, block, warp: slot, order, model: &model, caches: &mut self.caches };
        match access::run(site, &mut self.file, &mut self.memory, place) {
            Ok(cost) => {
                let counts = &mut self.statistics.insts[pc as usize];
                counts.sectors += cost.sectors;
                counts.hits += cost.hits;
                counts.conflicts += cost.conflicts;
                counts.elsewhere += u64::from(cost.elsewhere);
                Ok(cost)
            }
            Err(fault) => Err(self.blame(slot, pc, fault.lane, Some(fault.address), fault.kind, fault.message)),
        }
    }

    /// `read`: a special register as it is at this cycle.
    pub(super) fn read_special(&mut self, issue: Issue<'_>) {
        let Issue { slot, inst, frame, mask, .. } = issue;
        let ReadSite { special, dst } = self.program.reads[inst.side as usize];
        for_each_lane(mask, |lane| {
            let low = u64::from(self.special(slot, special, lane as u32));
            let high = if special.ty() == Type::U64 && special.is_volatile() { self.cycle >> 32 << 32 } else { 0 };
            frame.write(&mut self.file, dst, lane, high | low);
        });
    }

    /// An error of one lane, with its thread.
    pub(super) fn blame(
        &self,
        slot: usize,
        pc: u32,
        lane: usize,
        address: Option<u64>,
        kind: ErrorKind,
        message: String,
    ) -> SimError {
        let mut error = self.program.error_at(pc, kind, message);
        if let Some(place) = &mut error.place {
            let thread = u64::from(self.warp(slot).number * self.bound.warp) + lane as u64;
            place.thread =
                Some((unflatten(thread, self.bound.block), unflatten(self.block_number(slot), self.bound.grid)));
            place.address = address;
        }
        error
    }
}

/// `in`: each lane's next value of an input. `block` is the block's place in the grid.
pub(super) fn draw(
    site: &DrawSite,
    bound: &Bound,
    block: u64,
    warp: &mut Warp,
    file: &mut LaneFile,
    frame: FrameBase,
    mask: u32,
) {
    let Some(values) = &site.values else { return };
    let stream = Stream::new(values, site.ty, bound.seed, input_stream(&site.name));
    let warps_a_block = u64::from(bound.block_threads().div_ceil(bound.warp));
    let global_warp = block * warps_a_block + u64::from(warp.number);
    let first = block * u64::from(bound.block_threads()) + u64::from(warp.number * bound.warp);
    let counter = &mut warp.draws[site.counter as usize];
    for_each_lane(mask, |lane| {
        let count = u64::from(counter[lane]);
        counter[lane] += 1;
        let place = if site.uniform {
            Place { own: [u64::MAX, count], group: [u64::MAX, count], number: count }
        } else {
            Place { own: [first + lane as u64, 2 * count], group: [global_warp, 2 * count + 1], number: count }
        };
        frame.write(file, site.dst, lane, stream.value(place));
    });
}

/// `work`: a fixed hash of the operands; as a float it lies in [1, 2).
pub(super) fn work(site: &WorkSite, file: &mut LaneFile, frame: FrameBase, mask: u32) {
    let float = site.ty.is_float().then_some(site.ty);
    for_each_lane(mask, |lane| {
        let mut words: SmallVec<[u64; 8]> = SmallVec::new();
        words.push(site.operands.len() as u64);
        let word = |&operand| access::canonical(float, frame.read(file, operand, lane) & site.ty.mask());
        words.extend(site.operands.iter().map(word));
        frame.write(file, site.dst, lane, work_value(site.ty, &words));
    });
}

/// Computes `work` from the words of its operands.
fn work_value(ty: Type, words: &[u64]) -> u64 {
    let bits = hash(words);
    match ty {
        Type::F16 => 0x3C00 | bits >> 54,
        Type::F32 => 0x3F80_0000 | bits >> 41,
        Type::F64 => 0x3FF0_0000_0000_0000 | bits >> 12,
        _ => bits & ty.mask(),
    }
}
