//! The zeros of a run, by register write.

use std::collections::BTreeMap;

use warpscope_core::ir::{Reg, Write};

use crate::message::{Probe, ZeroWrite, Zeros};
use crate::simulation::{measure, prepare};

/// Writes that are listed.
const MOST_WRITES: usize = 500;

/// Runs a program and counts.
pub fn zeros(probe: &Probe) -> Result<Zeros, String> {
    let prepared = prepare(&probe.program, &probe.settings)?;
    let (module, kernel) = (&prepared.module, prepared.kernel);
    let profile = measure(module, kernel, &probe.settings)?;
    let (func, mut found) = (&module.funcs[kernel], Zeros::default());
    let Some(counts) = profile.get(&kernel) else { return Ok(found) };
    for block in func.block_order() {
        let mut occurrences: BTreeMap<Reg, u32> = BTreeMap::new();
        for inst in func.block_insts(block) {
            for &reg in &func.insts[inst].dsts {
                let next = occurrences.entry(reg).or_default();
                let write = Write { block, reg, occurrence: *next };
                *next += 1;
                let Some(count) = counts.zeros.get(&write) else { continue };
                if count.zero.lanes == 0 {
                    found.never += 1;
                } else if found.writes.len() == MOST_WRITES {
                    found.more += 1;
                } else {
                    found.writes.push(ZeroWrite {
                        block: func.blocks[block].name.clone(),
                        register: func.regs[reg].name.clone(),
                        line: prepared.lines.of(module, kernel, inst),
                        lanes: count.all.lanes,
                        zero_lanes: count.zero.lanes,
                        warps: count.all.warps,
                        zero_warps: count.zero.warps,
                    });
                }
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::Engine;
    use crate::message::{Probe, Program, Request, Response, Settings, Zeros};

    const FIGURE_1: &str = include_str!("../../../www/examples/azp/figure-1.wir");

    fn zeros(zero: f64, coherence: f64) -> Zeros {
        let program = Program { text: FIGURE_1.to_owned(), kernel: "figure".to_owned(), ..Program::default() };
        let sets = [("x.zero".to_owned(), zero), ("x.coherence".to_owned(), coherence)].into();
        let probe = Probe { program, settings: Settings { sets, ..Settings::default() } };
        match Engine::new(|| 0.0).answer(Request::Probe(probe)) {
            Response::Zeros(zeros) => *zeros.expect("a run"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn divergence_takes_the_zeros_of_warps_and_leaves_those_of_lanes() {
        let of = |zeros: &Zeros| {
            let write = zeros.writes.iter().find(|write| write.register == "r1").expect("r1 is zero somewhere");
            (write.of_lanes(), write.of_warps())
        };
        let (coherent, divergent) = (zeros(0.5, 1.0), zeros(0.5, 0.0));
        let ((lanes, warps), (other_lanes, other_warps)) = (of(&coherent), of(&divergent));
        assert_eq!(lanes, warps, "where lanes agree, a warp is zero as often as a lane");
        assert!(lanes > 0.2 && (other_lanes - 0.5).abs() < 0.1, "{lanes} {other_lanes}");
        assert_eq!(other_warps, 0.0);
        let line = coherent.writes.iter().find(|write| write.register == "r2").map(|write| write.line);
        let text = FIGURE_1.lines().nth(line.expect("r2 is zero, too") - 1).expect("that line");
        assert!(text.contains("r2 = mul"), "{text}");
        assert!(coherent.never > 0 && zeros(0.0, 1.0).never > coherent.never);
    }

    #[test]
    fn a_program_with_mistakes_says_so() {
        let program = Program { text: "kernel".to_owned(), ..Program::default() };
        let answer = Engine::new(|| 0.0).answer(Request::Probe(Probe { program, ..Probe::default() }));
        assert!(matches!(answer, Response::Zeros(Err(_))));
    }
}
