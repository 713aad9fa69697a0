//! Runs with and without a pass over zero probability and divergence.
//!
//! The program is transformed once, with the profile at hand, and then meets other values: so does a shader that was
//! compiled for the frames that were profiled. With a profile of its own at each point there would be no break-even to see,
//! since a pass transforms nothing where it would lose.

use warpscope_core::inspect::Prediction;
use warpscope_core::ir::{Func, Module};
use warpscope_core::report::ProfileReport;
use warpscope_core::session::Session;

use crate::message::{Bench, Cell, MapPiece, Mapped, Settings};
use crate::simulation::{profiled, run_module};
use crate::view::Opened;

/// Time that one answer may take after its first cell, in microseconds.
const PIECE: f64 = 120e3;

/// The programs of the last map.
#[derive(Default)]
pub struct Mapper(Option<(Bench, String, Result<Programs, String>)>);

/// A program with and without a pass.
struct Programs {
    kernel: Func,
    without: Module,
    with: Module,
    predictions: Vec<Prediction>,
}

impl Mapper {
    /// Runs what there is time for. `clock` gives microseconds since some moment.
    pub fn map(&mut self, piece: &MapPiece, clock: fn() -> f64) -> Mapped {
        let start = clock();
        let MapPiece { bench, pass, .. } = piece;
        let remembered = self.0.take().filter(|(last, last_pass, _)| (last, last_pass) == (bench, pass));
        let programs = || (bench.clone(), pass.clone(), Programs::of(bench, pass, clock));
        let (.., programs) = self.0.insert(remembered.unwrap_or_else(programs));
        let programs = match programs {
            Ok(programs) => programs,
            Err(why) => return Mapped { refused: Some(why.clone()), ..Mapped::default() },
        };
        let mut cells = Vec::new();
        for &point in &piece.points {
            if !cells.is_empty() && clock() - start > PIECE {
                break;
            }
            let cell = programs.cell(&settings(piece, point));
            // Each further run that does not end would take as long.
            let is_last = cell.is_err();
            cells.push(cell);
            if is_last {
                break;
            }
        }
        Mapped { refused: None, predictions: programs.predictions.clone(), cells }
    }
}

impl Programs {
    fn of(bench: &Bench, pass: &str, clock: fn() -> f64) -> Result<Programs, String> {
        let mut opened = Opened::new(bench, clock);
        let mut other = bench.clone();
        other.pipeline.iter_mut().filter(|stage| stage.pass == pass).for_each(|stage| stage.on = false);
        let mut plain = Opened::new(&other, clock);
        let missing = || "there is no program to run".to_owned();
        let (session, kernel) = opened.session_and_kernel().ok_or_else(missing)?;
        let (plain, _) = plain.session_and_kernel().ok_or_else(missing)?;
        if let Some(error) = session.reports().iter().find_map(|report| report.error.as_ref()) {
            return Err(error.message.clone());
        }
        session.seek(usize::MAX);
        let predictions = predictions(session, pass, kernel);
        if predictions.is_empty() {
            return Err(format!("with the current profile `{pass}` transforms nothing"));
        }
        plain.seek(usize::MAX);
        Ok(Programs { kernel, without: plain.module().clone(), with: session.module().clone(), predictions })
    }

    fn cell(&self, settings: &Settings) -> Result<Cell, String> {
        let without = run_module(&self.without, self.kernel, settings)?.cycles;
        let (with, profile) = profiled(&self.with, self.kernel, settings)?;
        let shares = self.predictions.iter().map(|prediction| share(&profile, prediction)).collect();
        Ok(Cell { without, with: with.cycles, shares })
    }
}

/// The share of executions by a warp in which the condition of a prediction held; none where its branches never ran.
fn share(profile: &ProfileReport, prediction: &Prediction) -> Option<f64> {
    let executions = |(from, _): &(String, String)| {
        let of_block = profile.blocks.iter().find(|block| block.block == *from);
        of_block.map_or(0, |block| block.count.executions)
    };
    let failed = |(from, to): &(String, String)| {
        let edge = profile.edges.iter().find(|edge| edge.from == *from && edge.to == *to);
        edge.map_or(0, |edge| edge.count.warps)
    };
    let all: u64 = prediction.branches.iter().map(executions).sum();
    (all > 0).then(|| 1.0 - prediction.branches.iter().map(failed).sum::<u64>() as f64 / all as f64)
}

/// The predictions of each run of a pass.
fn predictions(session: &Session, pass: &str, kernel: Func) -> Vec<Prediction> {
    let runs = (0..session.reports().len()).filter(|&run| session.reports()[run].name == pass);
    runs.flat_map(|run| session.predictions(run, kernel)).collect()
}

/// The settings at one point.
fn settings(piece: &MapPiece, (zero, divergence): (f64, f64)) -> Settings {
    let mut settings = piece.settings.clone();
    for name in &piece.vary {
        settings.sets.insert(format!("{name}.zero"), zero.clamp(0.0, 1.0));
        settings.sets.insert(format!("{name}.coherence"), (1.0 - divergence).clamp(0.0, 1.0));
    }
    settings
}

#[cfg(test)]
mod tests {
    use crate::Engine;
    use crate::message::{Bench, Cell, MapPiece, Mapped, Request, Response, Stage};

    const FIGURE_1: &str = include_str!("../../../www/examples/azp/figure-1.wir");

    fn bench(passes: &[&str]) -> Bench {
        let stage = |pass: &&str| Stage { pass: (*pass).to_owned(), on: true, ..Stage::default() };
        let pipeline = passes.iter().map(stage).collect();
        Bench { source: FIGURE_1.to_owned(), pipeline, fast_math: true, ..Bench::default() }
    }

    fn mapped(bench: Bench, points: &[(f64, f64)]) -> Mapped {
        let pass = "azp".to_owned();
        let piece =
            MapPiece { bench, pass, vary: vec!["x".to_owned()], points: points.to_vec(), ..MapPiece::default() };
        match Engine::new(|| 0.0).answer(Request::Map(piece)) {
            Response::Mapped(mapped) => *mapped,
            other => panic!("{other:?}"),
        }
    }

    fn cells(mapped: &Mapped) -> Vec<&Cell> {
        mapped.cells.iter().map(|cell| cell.as_ref().expect("a run")).collect()
    }

    #[test]
    fn zeros_gain_where_lanes_agree_and_cost_the_check_elsewhere() {
        let points = [(0.0, 0.0), (1.0, 0.0), (0.5, 0.0), (0.5, 1.0), (1.0, 1.0)];
        let map = mapped(bench(&["azp"]), &points);
        assert_eq!((map.refused.as_deref(), map.predictions.len()), (None, 1));
        assert_eq!(map.predictions[0].condition, "`r1` is zero in all lanes");
        let [never, always, half, apart, together] = cells(&map)[..] else { panic!("{map:?}") };
        assert_eq!((never.shares[0], always.shares[0], together.shares[0]), (Some(0.0), Some(1.0), Some(1.0)));
        assert_eq!(always, together, "where all is zero lanes cannot disagree");
        assert!(never.with > never.without && never.predicted(&map.predictions) == map.predictions[0].cycles_if_not);
        assert!(always.speed_up() > half.speed_up() && half.speed_up() > 1.0);
        assert!(half.predicted(&map.predictions) < 0.0);
        assert_eq!(apart.shares[0], Some(0.0), "no warp has zero in all of its lanes");
        assert!(apart.speed_up() < 1.0);
    }

    #[test]
    fn the_counted_share_is_that_of_the_profile() {
        let text =
            crate::message::Program { text: FIGURE_1.to_owned(), kernel: "figure".to_owned(), ..Default::default() };
        let sets = [("x.zero".to_owned(), 0.7), ("x.coherence".to_owned(), 0.6)].into();
        let settings = crate::message::Settings { sets, ..Default::default() };
        let probe = crate::message::Probe { program: text, settings };
        let Response::Zeros(Ok(zeros)) = Engine::new(|| 0.0).answer(Request::Probe(probe)) else { panic!("a run") };
        let write = zeros.writes.iter().find(|write| write.register == "r1").expect("r1");
        let map = mapped(bench(&["dce", "azp", "dce", "simplify-cfg"]), &[(0.7, 0.4)]);
        assert_eq!(cells(&map)[0].shares, [Some(write.of_warps())]);
    }

    #[test]
    fn a_check_that_a_later_transformation_copies_is_counted_with_its_copies() {
        let source = include_str!("../../../www/examples/azp/three-steps.wir").to_owned();
        let map = mapped(Bench { source, ..bench(&["azp"]) }, &[(1.0, 0.0), (0.5, 0.5)]);
        let registers: Vec<usize> = map.predictions.iter().map(|it| it.condition.matches('`').count() / 2).collect();
        assert_eq!(registers, [1, 3, 1]);
        let cells = cells(&map);
        assert_eq!(cells[0].shares, [Some(1.0); 3]);
        assert!(cells[1].shares[0].is_some_and(|share| share < 1.0) && cells[0].speed_up() > cells[1].speed_up());
    }

    #[test]
    fn without_a_transformation_there_is_no_map() {
        let refused = |passes: &[&str]| mapped(bench(passes), &[(0.5, 0.5)]).refused;
        assert!(refused(&["dce"]).is_some_and(|why| why.contains("transforms nothing")));
        let mut unlicensed = bench(&["azp"]);
        unlicensed.fast_math = false;
        assert!(mapped(unlicensed, &[]).refused.is_some_and(|why| why.contains("licence")));
        assert!(mapped(Bench::default(), &[]).refused.is_some());
    }
}
