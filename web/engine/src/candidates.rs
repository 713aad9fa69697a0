//! The candidates of `azp` at a position, with the pass's own survey.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use warpscope_core::ir::{Func, Function, Inst};
use warpscope_core::pass::azp::survey::{Effect, Estimate, Survey, Surveyed, survey};
use warpscope_core::pass::{Settings, Step};
use warpscope_core::session::Session;
use warpscope_core::trace::Fact;

use crate::message::{Candidate, CandidateFigures, Candidates, Paint, Painting};

/// Candidates that are listed.
const MOST_CANDIDATES: usize = 300;

/// The session's pass of a name whose next change is that of a position in `passes`, with so many events done: one of them,
/// or the first that runs behind. `azp` that only instruments weighs nothing.
pub fn pass_at_hand(
    session: &Session,
    steps: &[Step],
    name: &str,
    passes: &Range<usize>,
    done: usize,
) -> Option<usize> {
    let reports = session.reports();
    let instruments = |pass: usize| name == "azp" && steps[pass].knob_values().switch("instrument");
    let is_it = |pass: &usize| reports[*pass].enabled && reports[*pass].name == name && !instruments(*pass);
    let is_at_hand = |pass: &usize| {
        let events = session.events_of(*pass);
        events.start <= done && done <= events.end
    };
    let inside = passes.clone().filter(is_it).find(is_at_hand);
    let behind = || (passes.end..reports.len()).find(|&pass| reports[pass].enabled).filter(is_it).filter(is_at_hand);
    inside.or_else(behind)
}

/// The candidates of that pass in the program at the session's position.
pub fn candidates(
    session: &Session,
    steps: &[Step],
    pass: usize,
    kernel: Func,
    fast_math: bool,
    painted: Option<u32>,
) -> Candidates {
    let events = session.journal().events();
    let before = session.events_of(pass).take_while(|&event| event < session.done());
    let round = 1 + before.filter(|&event| events[event].func == kernel && events[event].is_rewrite()).count();
    let settings = Settings { knobs: steps[pass].knob_values(), fast_math };
    // The journal knows what comes next, also where an oracle or a person chose it.
    let best = session
        .events_of(pass)
        .skip_while(|&event| event < session.done())
        .find(|&event| events[event].func == kernel && events[event].is_rewrite())
        .and_then(|event| events[event].remark.facts.iter().find_map(candidate_of));
    let Survey { has_profile, mut candidates, effect, .. } =
        survey(session.module(), kernel, &settings, round as i64, painted.or(best));
    candidates.sort_by(|a, b| order(a, b, best));
    let func = &session.module().funcs[kernel];
    Candidates {
        round,
        has_profile,
        rows: candidates.iter().take(MOST_CANDIDATES).map(|surveyed| row(func, surveyed)).collect(),
        more: candidates.len().saturating_sub(MOST_CANDIDATES),
        best,
        painting: effect.map(|effect| painting(&effect)),
    }
}

/// The candidate that a change was made for.
fn candidate_of((name, fact): &(&str, Fact)) -> Option<u32> {
    match fact {
        Fact::Count(number) if *name == "candidate" => u32::try_from(*number).ok(),
        _ => None,
    }
}

/// The best first, then by gain; those without an estimate by their probability.
fn order(a: &Surveyed, b: &Surveyed, best: Option<u32>) -> Ordering {
    let key = |surveyed: &Surveyed| {
        let loss = surveyed.estimate.as_ref().map_or(f64::INFINITY, |estimate| estimate.t_delta);
        (Some(surveyed.number) != best, !surveyed.passes, loss, -surveyed.probability)
    };
    let ((a_other, a_fails, a_loss, a_unlikely), (b_other, b_fails, b_loss, b_unlikely)) = (key(a), key(b));
    let by_figures = a_loss.total_cmp(&b_loss).then(a_unlikely.total_cmp(&b_unlikely));
    (a_other, a_fails).cmp(&(b_other, b_fails)).then(by_figures).then(a.number.cmp(&b.number))
}

fn row(func: &Function, surveyed: &Surveyed) -> Candidate {
    let block = func.inst_block(surveyed.inst).map(|block| func.blocks[block].name.clone());
    Candidate {
        number: surveyed.number,
        registers: surveyed.regs.iter().map(|&reg| func.regs[reg].name.clone()).collect(),
        block: block.unwrap_or_default(),
        inst: surveyed.inst.as_u32(),
        probability: surveyed.probability,
        measured: surveyed.counted,
        figures: surveyed.estimate.as_ref().map(figures),
        passes: surveyed.passes,
        rule: surveyed.rule.to_owned(),
        verdict: format!("{}.", surveyed.verdict),
    }
}

fn figures(estimate: &Estimate) -> CandidateFigures {
    CandidateFigures {
        t_region: estimate.t_region,
        t_special: estimate.t_special,
        t_check: estimate.t_check,
        t_delta: estimate.t_delta,
        speed_up: estimate.speed_up,
        threshold: estimate.threshold,
        memory_killed: estimate.memory_killed,
        blocks: estimate.blocks,
    }
}

fn painting(effect: &Effect) -> Painting {
    let mut insts: BTreeMap<u32, Paint> = BTreeMap::new();
    let mut paint = |of: &[Inst], with: Paint| insts.extend(of.iter().map(|inst| (inst.as_u32(), with)));
    paint(&effect.region, Paint::Kept);
    paint(&effect.dead, Paint::Dead);
    paint(&effect.simpler, Paint::Simpler);
    paint(&effect.constant, Paint::Constant);
    paint(&effect.writers, Paint::Writer);
    Painting { candidate: effect.number, check: effect.start.map(Inst::as_u32), insts: insts.into_iter().collect() }
}

#[cfg(test)]
mod tests {
    use crate::Engine;
    use crate::message::{Bench, Candidates, Look, Paint, Position, Request, Response, Scope, Stage, View, Weigh};

    const FIGURE_3: &str = include_str!("../../../www/examples/azp/figure-3.wir");
    const THREE_STEPS: &str = include_str!("../../../www/examples/azp/three-steps.wir");

    fn bench(source: &str, passes: &[&str]) -> Bench {
        let stage = |pass: &&str| Stage { pass: (*pass).to_owned(), on: true, ..Stage::default() };
        let pipeline = passes.iter().map(stage).collect();
        Bench { source: source.to_owned(), pipeline, fast_math: true, ..Bench::default() }
    }

    fn weigh(bench: &Bench, stage: usize, step: usize, painted: Option<u32>) -> Option<Candidates> {
        let position = Position { stage, step };
        match Engine::new(|| 0.0).answer(Request::Weigh(Weigh { bench: bench.clone(), position, painted })) {
            Response::Candidates(candidates) => candidates.map(|candidates| *candidates),
            other => panic!("{other:?}"),
        }
    }

    fn look(bench: &Bench, stage: usize, step: usize) -> View {
        let (position, scope) = (Position { stage, step }, Scope::Rewrite);
        match Engine::new(|| 0.0).answer(Request::Look(Look { bench: bench.clone(), position, scope, moment: None })) {
            Response::View(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_slices_of_a_figure_are_painted_before_anything_is_changed() {
        let bench = bench(FIGURE_3, &["azp"]);
        let found = weigh(&bench, 0, 0, None).expect("azp comes next");
        assert_eq!((found.round, found.has_profile, found.best), (1, true, Some(3)));
        let painting = found.painting.expect("the best is painted");
        let view = look(&bench, 0, 0);
        let painted = |wanted: Paint| -> Vec<&str> {
            let lines = view.graph.blocks.iter().flat_map(|block| &block.lines);
            lines.filter(|line| painting.of(line.inst) == Some(wanted)).map(|line| line.text.as_str()).collect()
        };
        assert_eq!(painted(Paint::Writer), ["{r0, g, b0, a0} = tex.2d.v4.f32 T, u, 0.5"]);
        assert_eq!(painted(Paint::Constant).len(), 3);
        assert_eq!(painted(Paint::Dead).len(), 6);
        assert_eq!(
            painting.of(painting.check.expect("a place")),
            Some(Paint::Dead),
            "s0 is the first behind the check"
        );
    }

    #[test]
    fn each_position_has_its_own_round() {
        let bench = bench(THREE_STEPS, &["dce", "azp", "dce"]);
        let rounds: Vec<(usize, bool)> = [(0, 0), (1, 0), (2, 1), (2, 2), (2, 3)]
            .into_iter()
            .map(|(stage, step)| {
                weigh(&bench, stage, step, None).map_or((0, false), |it| (it.round, it.best.is_some()))
            })
            .collect();
        assert_eq!(rounds, [(0, false), (1, true), (2, true), (3, true), (4, false)]);
        assert!(weigh(&bench, 3, 0, None).is_none(), "behind the pass there are none");
        let (before, behind) = (look(&bench, 1, 0), look(&bench, 3, 0));
        assert!(before.weighs && !behind.weighs);
        let vectors = weigh(&bench, 2, 1, None).expect("candidates");
        let best = vectors.rows.first().expect("a row");
        assert_eq!((best.registers.len(), best.measured, Some(best.number)), (3, None, vectors.best));
        assert!((best.probability - 0.729).abs() < 1e-9);
        let other =
            vectors.rows.iter().find(|row| row.figures.is_some() && row.number != best.number).expect("another");
        let painted = weigh(&bench, 2, 1, Some(other.number)).expect("candidates");
        assert_eq!(painted.painting.map(|painting| painting.candidate), Some(other.number));
        assert_eq!(painted.rows, vectors.rows);
    }

    #[test]
    fn what_a_person_chose_comes_next() {
        let mut chosen = bench(THREE_STEPS, &["azp"]);
        let first = weigh(&chosen, 0, 0, None).expect("candidates");
        let other =
            first.rows.iter().find(|row| row.figures.is_some() && Some(row.number) != first.best).expect("another");
        chosen.pipeline[0].knobs.insert("candidate".to_owned(), other.number.to_string());
        let found = weigh(&chosen, 0, 0, None).expect("candidates");
        assert_eq!((found.best, found.rows[0].number), (Some(other.number), other.number));
        assert_eq!(found.painting.map(|painting| painting.candidate), Some(other.number));
    }

    #[test]
    fn without_the_licence_the_table_says_so() {
        let unlicensed = Bench { fast_math: false, ..bench(FIGURE_3, &["azp"]) };
        let found = weigh(&unlicensed, 0, 0, None).expect("azp comes next");
        assert_eq!(found.best, None);
        assert!(found.rows[0].verdict.contains("fast-math licence"), "{:?}", found.rows[0]);
        let no_profile = bench("kernel k() {\nentry:\n    ret\n}\n", &["azp"]);
        assert!(weigh(&no_profile, 0, 0, None).is_some_and(|found| !found.has_profile && found.rows.is_empty()));
        assert!(weigh(&bench("kernel", &["azp"]), 0, 0, None).is_none());
    }
}
