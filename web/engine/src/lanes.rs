//! Lanes of a run between two issues: each warp's next instruction, and the groups of the warp that is followed.

use std::collections::BTreeMap;

use warpscope_core::ir::{Func, Inst};
use warpscope_core::sim::{Kind, NOWHERE, Progress, Simulation, Stance, WarpView};

use crate::failure::{failure, warp_number, warps_a_block};
use crate::message::{LaneGroup, Moment, Program, Settings, WarpPlace, WarpState, Watch};
use crate::simulation::{Prepared, advance, prepare};

/// Warps whose lanes are shown at a time. A list begins at a multiple of it, so that its rows keep their places.
const MOST_WARPS: u64 = 16;

/// Follows one run. Asking for a later issue goes on from where the last answer stood; an earlier one starts again.
#[derive(Default)]
pub struct Watcher {
    followed: Option<Followed>,
}

/// A run at an issue.
struct Followed {
    program: Program,
    settings: Settings,
    prepared: Prepared,
    /// Whether the run ends there, or its next instruction is known to fail.
    ended: bool,
}

impl Watcher {
    /// The run's state after so many issues, or at its end.
    pub fn moment(&mut self, watch: &Watch) -> Result<Moment, String> {
        let follows = |followed: &Followed| {
            let Followed { program, settings, prepared, .. } = followed;
            *program == watch.program && *settings == watch.settings && prepared.simulation.issued() <= watch.issue
        };
        let known = self.followed.take().filter(follows);
        let (mut prepared, mut ended) = match known {
            Some(Followed { prepared, ended, .. }) => (prepared, ended),
            None => (prepare(&watch.program, &watch.settings)?, false),
        };
        if !ended {
            let missing = watch.issue - prepared.simulation.issued();
            match advance(&mut prepared.simulation, missing) {
                Ok(progress) => ended = progress == Progress::Done,
                Err(error) => {
                    ended = true;
                    let failed = failure(&prepared, &error);
                    // A failed instruction may have left part of its work behind.
                    if let Some(issue) = failed.issue.filter(|&issue| issue < prepared.simulation.issued()) {
                        prepared = prepare(&watch.program, &watch.settings)?;
                        advance(&mut prepared.simulation, issue).map_err(|error| error.to_string())?;
                    }
                }
            }
        }
        let moment = moment(&prepared, ended, watch.warp);
        let (program, settings) = (watch.program.clone(), watch.settings.clone());
        self.followed = Some(Followed { program, settings, prepared, ended });
        Ok(moment)
    }
}

/// State of a run. The warp to follow is the chosen one until it has ended, or the first that has not.
fn moment(prepared: &Prepared, ended: bool, chosen: Option<u64>) -> Moment {
    let simulation = &prepared.simulation;
    let resident: BTreeMap<u64, WarpView> =
        simulation.resident_warps().into_iter().map(|view| (number(simulation, &view), view)).collect();
    let started = simulation.warps_launched();
    let followed = chosen.filter(|&warp| warp < started).or_else(|| resident.keys().next().copied());
    let first = followed.unwrap_or(started.saturating_sub(1)) / MOST_WARPS * MOST_WARPS;
    let next_slot = simulation.next_warp();
    Moment {
        issue: simulation.issued(),
        ended,
        cycle: simulation.cycle(),
        warps: (first..started.min(first + MOST_WARPS))
            .map(|warp| warp_state(prepared, warp, resident.get(&warp)))
            .collect(),
        started,
        next: resident.iter().find(|(_, view)| Some(view.slot) == next_slot).map(|(number, _)| *number),
        followed: followed.filter(|warp| resident.contains_key(warp)),
        places: resident.iter().filter_map(|(number, view)| place(prepared, *number, view)).collect(),
    }
}

fn number(simulation: &Simulation, view: &WarpView) -> u64 {
    warp_number(simulation, view.block, [0; 3]) + u64::from(view.number)
}

/// Place of a warp's next instruction; none while all of its lanes wait without a place.
fn place(prepared: &Prepared, number: u64, view: &WarpView) -> Option<WarpPlace> {
    let program = prepared.simulation.program();
    let entry = view.entries.last().filter(|entry| (entry.pc as usize) < program.insts.len())?;
    let (label, at) = (program.label(entry.pc), program.locations[entry.pc as usize]);
    let block = if at.func == prepared.kernel {
        label.to_owned()
    } else {
        format!("{}.{label}", prepared.module.funcs[at.func].name)
    };
    Some(WarpPlace { warp: number, block, line: prepared.lines.of(&prepared.module, at.func, at.inst) })
}

/// Name of a warp: the place of its block in the grid, and its own in the block.
fn name(simulation: &Simulation, number: u64) -> String {
    let (width, height) = (u64::from(simulation.bound().grid[0]), u64::from(simulation.bound().grid[1]));
    let (block, warp) = (number / warps_a_block(simulation), number % warps_a_block(simulation));
    let (x, y, z) = (block % width, block / width % height, block / (width * height));
    if (y, z) == (0, 0) { format!("block {x}, warp {warp}") } else { format!("block {x},{y},{z}, warp {warp}") }
}

fn warp_state(prepared: &Prepared, number: u64, view: Option<&WarpView>) -> WarpState {
    let simulation = &prepared.simulation;
    let (program, size) = (simulation.program(), simulation.bound().warp);
    let name = name(simulation, number);
    let Some(view) = view else {
        return WarpState { number, name, size, is_finished: true, ..WarpState::default() };
    };
    let current = view.entries.last().copied();
    let place = current.filter(|entry| entry.mask != 0).map(|entry| program.locations[entry.pc as usize]);
    let label =
        |pc: u32| if (pc as usize) < program.insts.len() { program.label(pc).to_owned() } else { String::new() };
    let now = simulation.cycle();
    let waits = match view.ready_at {
        _ if !view.runs && current.is_some_and(|at| program.insts[at.pc as usize].kind == Kind::Barrier) => "barrier",
        _ if !view.runs => "lanes",
        Some(ready) if ready > now && view.waits_for_memory => "memory",
        Some(ready) if ready > now => "operands",
        _ => "",
    };
    WarpState {
        number,
        name,
        size,
        is_finished: false,
        active: current.map_or(0, |entry| entry.mask),
        ended: view.lanes & !view.alive,
        block: current.map_or_else(String::new, |entry| label(entry.pc)),
        line: place.map_or(0, |at| prepared.lines.of(&prepared.module, at.func, at.inst)),
        text: place.map_or_else(String::new, |at| inst_text(prepared, at.func, at.inst)),
        waits: waits.to_owned(),
        groups: (0..view.entries.len()).rev().map(|at| lane_group(view, at, label)).collect(),
    }
}

fn inst_text(prepared: &Prepared, func: Func, inst: Inst) -> String {
    warpscope_core::text::instruction_text(&prepared.module, &prepared.module.funcs[func], inst)
}

fn lane_group(view: &WarpView, at: usize, label: impl Fn(u32) -> String) -> LaneGroup {
    let entry = view.entries[at];
    let is_point = view.entries.get(at + 1).is_some_and(|next| next.level > entry.level);
    let state = match entry.stance {
        Stance::Waits => "waits",
        Stance::Spins => "spins",
        Stance::Runs if is_point => "meets",
        Stance::Runs if view.runs && at + 1 == view.entries.len() => "runs",
        Stance::Runs | Stance::Released => "ready",
    };
    let meets = if entry.join == NOWHERE { String::new() } else { label(entry.join) };
    LaneGroup { block: label(entry.pc), meets, mask: entry.mask, state: state.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "kernel k(x: ptr.global) {
entry:
    t = mov.u32 %tid
    w = shr.u32 t, 5
    first = setp.eq.u32 w, 0
    br first, done, body
body:
    v = ld.global.u32 x[t]
    st.global.u32 x[t], v
    br done
done:
    ret
}
launch k {
    grid 2
    block 64
    x = buffer u32[SIZE] iota
}
";

    fn watch(size: &str, issue: u64, warp: Option<u64>) -> Watch {
        let program = Program { text: PROGRAM.replace("SIZE", size), kernel: "k".to_owned(), ..Program::default() };
        Watch { program, issue, warp, ..Watch::default() }
    }

    #[test]
    fn finished_warps_keep_their_rows() {
        let mut watcher = Watcher::default();
        let mut most_finished = 0;
        for issue in 0.. {
            let moment = watcher.moment(&watch("64", issue, None)).expect("it runs");
            assert_eq!(moment.warps.iter().map(|warp| warp.number).collect::<Vec<_>>(), [0, 1, 2, 3]);
            let finished = moment.warps.iter().filter(|warp| warp.is_finished).count();
            assert_eq!(moment.places.len(), 4 - finished);
            assert!(finished >= most_finished);
            most_finished = finished;
            if moment.ended {
                assert_eq!((finished, moment.followed, moment.next), (4, None, None));
                return;
            }
            let running = moment.warps.iter().find(|warp| !warp.is_finished).map(|warp| warp.number);
            assert_eq!(moment.followed, running);
        }
    }

    #[test]
    fn followed_warp_stays_the_chosen_one() {
        let moment = Watcher::default().moment(&watch("64", 9, Some(3))).expect("it runs");
        assert_eq!(moment.followed, Some(3));
        let place = moment.places.iter().find(|place| place.warp == 3).expect("it has not ended");
        assert_eq!(place.block, "entry");
    }

    #[test]
    fn failing_run_stops_before_the_failing_instruction() {
        let mut watcher = Watcher::default();
        let last = watcher.moment(&watch("40", u64::from(u32::MAX), None)).expect("it has a state there");
        assert!(last.ended);
        let place = last.places.iter().find(|place| Some(place.warp) == last.next).expect("one is next");
        assert_eq!((place.warp, place.line), (1, 8), "{last:?}");
        let again = watcher.moment(&watch("40", last.issue + 5, None)).expect("it stays there");
        assert_eq!(again, last);
        let before = watcher.moment(&watch("40", last.issue - 1, None)).expect("it goes back");
        assert_eq!((before.issue, before.ended), (last.issue - 1, false));
    }
}
