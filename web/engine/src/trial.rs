//! One pipeline on one program, run at several divergences.

use warpscope_core::pass::{Step, parse_pipeline};

use crate::message::{Bench, Counts, Position, Program, Scope, Settings, Stage, Trial, Tried};
use crate::simulation::run_total;
use crate::view::Opened;

/// Runs the pipeline, and what it makes of the program at each point. `clock` gives microseconds since some moment.
pub fn try_pipeline(trial: &Trial, clock: fn() -> f64) -> Tried {
    let steps = match trial.pipeline.trim() {
        "" => Ok(Vec::new()),
        text => parse_pipeline(text).map_err(|error| match error.wants_names {
            true => error.message + ": where passes are added to the pipeline, a search lists them",
            false => error.message,
        }),
    };
    let (steps, mut refused) = match steps {
        Ok(steps) => (steps, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let pipeline = steps.iter().map(stage).collect();
    let view =
        Opened::new(&Bench { pipeline, ..trial.bench.clone() }, clock).view(Position::END, Scope::Pipeline, None);
    refused = refused.or_else(|| view.stages.iter().find_map(|stage| stage.refused.clone()));
    let instructions = view.graph.blocks.iter().map(|block| block.lines.len()).sum();
    let program = Program { text: view.after, launch: view.launch, kernel: view.kernel, ..Program::default() };
    let runs = match refused {
        // Figures of another pipeline than the one that was asked for would mislead.
        Some(_) => Vec::new(),
        None => run_at_points(trial, &program),
    };
    Tried { refused, graph: view.graph, instructions, runs }
}

/// Counts of the program at each point. One that does not end at a point is not tried at later ones: each would
/// take as long.
fn run_at_points(trial: &Trial, program: &Program) -> Vec<Result<Counts, String>> {
    let mut runs: Vec<Result<Counts, String>> = Vec::new();
    for &point in &trial.points {
        let run = match runs.last() {
            Some(Err(why)) => Err(why.clone()),
            _ => run_total(program, &settings(trial, point)),
        };
        runs.push(run);
    }
    runs
}

/// The settings at one divergence, or as launched.
fn settings(trial: &Trial, divergence: Option<f64>) -> Settings {
    let mut settings = trial.settings.clone();
    let Some(divergence) = divergence else { return settings };
    let coherence = (1.0 - divergence).clamp(0.0, 1.0);
    settings.sets.extend(trial.vary.iter().map(|name| (format!("{name}.coherence"), coherence)));
    settings
}

fn stage(step: &Step) -> Stage {
    Stage {
        pass: step.pass.to_owned(),
        on: step.enabled,
        knobs: step.knobs.iter().cloned().collect(),
        phase: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::Engine;
    use crate::message::{Bench, Request, Response, Trial, Tried};

    const FIGURE_4: &str = include_str!("../../../www/examples/questions/figure-4.wir");

    fn tried(source: &str, pipeline: &str, points: &[f64]) -> Tried {
        let trial = Trial {
            bench: Bench { source: source.to_owned(), ..Bench::default() },
            pipeline: pipeline.to_owned(),
            vary: vec!["p".to_owned(), "q".to_owned()],
            points: points.iter().map(|&point| Some(point)).chain([None]).collect(),
            ..Trial::default()
        };
        match Engine::new(|| 0.0).answer(Request::Try(trial)) {
            Response::Tried(tried) => *tried,
            other => panic!("{other:?}"),
        }
    }

    fn loads(tried: &Tried, point: usize) -> u64 {
        let counts = tried.runs[point].as_ref().expect("a run");
        counts.loads.iter().map(|(_, count)| count).sum()
    }

    #[test]
    fn the_variants_differ_as_lanes_disagree() {
        let (none, ssrqp) = (tried(FIGURE_4, "", &[0.0, 1.0]), tried(FIGURE_4, "ssrqp[cost=paper]", &[0.0, 1.0]));
        assert_eq!((none.refused.as_ref(), ssrqp.refused.as_ref()), (None, None));
        assert!(loads(&none, 1) > loads(&none, 0), "lanes that disagree take both sides");
        assert_eq!(loads(&ssrqp, 0), loads(&ssrqp, 1), "the load is before the branches");
        assert!(loads(&ssrqp, 1) < loads(&none, 1));
        assert!(ssrqp.instructions > none.instructions && ssrqp.graph.blocks.len() == none.graph.blocks.len());
    }

    #[test]
    fn runs_as_launched_without_a_point() {
        let launched = tried(&FIGURE_4.replace("draws true 0.5", "draws true 0.5 coherence 1"), "", &[1.0, 0.0]);
        let unlike = tried(FIGURE_4, "", &[1.0, 0.0]);
        assert_eq!((loads(&unlike, 2), loads(&launched, 2)), (loads(&unlike, 0), loads(&unlike, 1)));
        assert_ne!(loads(&unlike, 2), loads(&launched, 2));
    }

    #[test]
    fn what_cannot_run_says_why() {
        let wrong = tried(FIGURE_4, "ssrpq", &[0.5]);
        assert!(wrong.refused.as_ref().is_some_and(|why| why.contains("did you mean `ssrqp`?")), "{:?}", wrong.refused);
        assert!(wrong.runs.is_empty() && !wrong.graph.blocks.is_empty());
        let unknown = tried(FIGURE_4, "vectorise", &[0.5]).refused.expect("there is none");
        assert!(unknown.contains("a search lists them") && !unknown.contains("warpscope"), "{unknown}");
        let knob = tried(FIGURE_4, "ssrqp[cdrnd=far]", &[0.5]);
        assert!(knob.refused.is_some() && knob.runs.is_empty());
        let no_program = tried("kernel", "ssrqp", &[0.5]);
        assert!(no_program.runs[0].is_err());
    }
}
