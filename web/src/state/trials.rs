//! Several pipelines side by side: which ones, and what is known of them.

use std::rc::Rc;

use warpscope_engine::message::{Bench, Settings, Stage, Trial, Tried, ValueSource};

use super::Lab;
use crate::presets::VARIANTS;

/// Pipelines that are compared at a time.
pub const MOST_COMPARED: usize = 6;
/// The divergences at which they are run: 0 %, 10 %, … 100 %.
pub const POINTS: usize = 11;
/// Results of pipelines that were compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trials {
    known: Vec<(Trial, Rc<Tried>)>,
}

impl Trials {
    /// Result of a pipeline on the program, if it is known.
    pub fn of(&self, trial: &Trial) -> Option<&Rc<Tried>> {
        self.known.iter().find(|(known, _)| known == trial).map(|(_, tried)| tried)
    }

    /// Remembers an answer, and forgets those about other programs and settings.
    pub fn learn(&mut self, trial: Trial, tried: Tried) {
        self.known.retain(|(known, _)| {
            known.bench == trial.bench
                && known.settings == trial.settings
                && known.vary == trial.vary
                && known.pipeline != trial.pipeline
        });
        self.known.push((trial, Rc::new(tried)));
    }

    /// Forgets the pipelines that are compared no longer.
    pub fn keep(&mut self, pipelines: &[String]) {
        self.known.retain(|(known, _)| pipelines.iter().any(|pipeline| pipeline.trim() == known.pipeline));
    }
}

/// Sentence about what the slider does not change; none while that is unknown or something changes.
pub fn what_stays(tried: &[Option<&Tried>], varies: bool) -> Option<&'static str> {
    if !varies {
        return Some(
            "This launch has no random inputs that could differ between lanes: the figures are the same at every divergence.",
        );
    }
    // The first run is as launched.
    let is_same = |tried: &Tried| tried.runs.len() > 1 && tried.runs[1..].windows(2).all(|runs| runs[0] == runs[1]);
    let known: Vec<&Tried> = tried.iter().copied().collect::<Option<_>>()?;
    let run: Vec<&Tried> = known.into_iter().filter(|tried| tried.refused.is_none()).collect();
    let same = "This kernel does not depend on whether its lanes differ: the figures are the same at every divergence.";
    (!run.is_empty() && run.into_iter().all(is_same)).then_some(same)
}

/// The divergence of a point, 0 to 1.
pub fn divergence(point: usize) -> f64 {
    point as f64 / (POINTS - 1) as f64
}

/// The name of the pass that a pipeline of one pass begins with.
fn pass_of(pipeline: &str) -> &str {
    pipeline.split('[').next().unwrap_or_default()
}

/// Pipelines that are compared unless a person chooses others: no pass, and the current one; with a pass of a family, the family.
pub fn usual_pipelines(pipeline: &[Stage]) -> Vec<String> {
    let is_variant = |stage: &Stage| stage.on && VARIANTS.iter().any(|variant| pass_of(variant) == stage.pass);
    let own = pipeline_text(pipeline);
    let mut all: Vec<String> = match pipeline.iter().any(is_variant) {
        true => VARIANTS.map(str::to_owned).to_vec(),
        false => vec![String::new()],
    };
    if !all.contains(&own) {
        all.push(own);
    }
    all
}

/// A pipeline as the command line takes it. What is switched off is left out.
pub fn pipeline_text(pipeline: &[Stage]) -> String {
    let stage = |stage: &Stage| {
        let knobs: Vec<String> = stage.knobs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        match knobs.is_empty() {
            true => stage.pass.clone(),
            false => format!("{}[{}]", stage.pass, knobs.join(",")),
        }
    };
    pipeline.iter().filter(|entry| entry.on).map(stage).collect::<Vec<_>>().join(",")
}

/// The question about one pipeline.
pub fn trial(bench: &Bench, launch: &str, sources: &[ValueSource], settings: &Settings, pipeline: &str) -> Trial {
    let varies = |source: &&ValueSource| source.is_read && source.coherence.is_some();
    let vary: Vec<String> = sources.iter().filter(varies).map(|source| source.name.clone()).collect();
    Trial {
        bench: Bench { pipeline: Vec::new(), launch: launch.to_owned(), ..bench.clone() },
        pipeline: pipeline.trim().to_owned(),
        settings: settings.clone(),
        vary,
        points: [None].into_iter().chain((0..POINTS).map(|point| Some(divergence(point)))).collect(),
    }
}

impl Lab {
    /// The divergence that all values that vary have as launched, 0 to 1; none if they differ.
    pub fn launched_divergence(&self) -> Option<f64> {
        let view = self.view.as_ref()?;
        let vary = view.sources.iter().filter(|source| source.is_read && source.coherence.is_some());
        let own = |source: &ValueSource| {
            let set = self.settings.sets.get(&format!("{}.coherence", source.name)).copied();
            1.0 - set.or(source.coherence).unwrap_or_default()
        };
        let mut all = vary.map(own);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    /// The pipelines that are compared.
    pub fn compared(&self) -> Vec<String> {
        let usual = || usual_pipelines(&self.bench.pipeline);
        self.pipelines.as_ref().map_or_else(usual, |pipelines| pipelines.to_vec())
    }

    /// Result of a compared pipeline on the program, once it is known.
    pub fn tried(&self, pipeline: &str) -> Option<&Rc<Tried>> {
        self.trials.of(&self.trial(pipeline)?)
    }

    /// Sentence about what the slider of the comparison does not change, if there is any.
    pub fn what_stays(&self) -> Option<&'static str> {
        let all: Vec<Option<&Tried>> =
            self.compared().iter().map(|pipeline| self.tried(pipeline).map(|tried| &**tried)).collect();
        what_stays(&all, self.trial("").is_none_or(|trial| !trial.vary.is_empty()))
    }

    /// The next question about pipelines that are compared; none if all is known, or none are.
    pub fn next_trial(&self) -> Option<Trial> {
        if !self.is_comparing {
            return None;
        }
        let all = self.compared();
        let mut unknown = all.iter().filter_map(|pipeline| self.trial(pipeline));
        unknown.find(|trial| self.trials.of(trial).is_none())
    }

    fn trial(&self, pipeline: &str) -> Option<Trial> {
        let view = self.view.as_ref().filter(|view| !view.kernel.is_empty() && !view.after.is_empty())?;
        Some(trial(&self.bench, &view.launch, &view.sources, &self.settings, pipeline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpscope_engine::message::Counts;

    fn stage(pass: &str, on: bool) -> Stage {
        Stage { pass: pass.to_owned(), on, ..Stage::default() }
    }

    #[test]
    fn a_pipeline_is_compared_with_nothing_and_a_variant_with_its_family() {
        assert_eq!(usual_pipelines(&[]), [""]);
        assert_eq!(usual_pipelines(&[stage("dce", true), stage("ssrqp", false)]), ["", "dce"]);
        assert_eq!(usual_pipelines(&[stage("srqp", true)]), VARIANTS);
        assert_eq!(usual_pipelines(&[stage("ssrqp", true)])[5..], ["ssrqp"]);
        let mut turned = stage("ssrqp", true);
        turned.knobs.insert("cdrnd".to_owned(), "direct".to_owned());
        assert_eq!(usual_pipelines(&[stage("dce", true), turned])[5], "dce,ssrqp[cdrnd=direct]");
    }

    #[test]
    fn trials_run_as_launched_and_at_each_divergence() {
        let source = |name: &str, is_read| ValueSource {
            name: name.to_owned(),
            coherence: Some(0.0),
            is_read,
            ..ValueSource::default()
        };
        let mut settings = Settings::default();
        for name in ["p.coherence", "p.zero", "y.coherence"] {
            settings.sets.insert(name.to_owned(), 0.5);
        }
        let trial = trial(&Bench::default(), "", &[source("p", true), source("y", false)], &settings, " dce ");
        assert_eq!((trial.vary, trial.pipeline.as_str()), (vec!["p".to_owned()], "dce"));
        assert_eq!(trial.settings, settings);
        assert_eq!((trial.points[0], trial.points[1], trial.points[6]), (None, Some(0.0), Some(0.5)));
        assert_eq!((trial.points[11], trial.points.len()), (Some(1.0), 12));
    }

    #[test]
    fn what_does_not_move_is_said_once_it_is_known() {
        let counts = |cycles| Ok(Counts { cycles, ..Counts::default() });
        let tried = |cycles: [u64; 3]| Tried { runs: cycles.map(counts).to_vec(), ..Tried::default() };
        let (same, moves) = (tried([9, 4, 4]), tried([9, 4, 5]));
        let refused = Tried { refused: Some("no".to_owned()), ..Tried::default() };
        assert!(what_stays(&[Some(&same), Some(&refused)], true).is_some());
        assert!(what_stays(&[Some(&same), Some(&moves)], true).is_none());
        assert!(what_stays(&[Some(&same), None], true).is_none());
        assert!(what_stays(&[Some(&refused)], true).is_none());
        assert!(what_stays(&[None], false).is_some_and(|why| why.contains("no random inputs")));
    }

    #[test]
    fn answers_about_another_program_are_forgotten() {
        let about = |source: &str, pipeline: &str| Trial {
            bench: Bench { source: source.to_owned(), ..Bench::default() },
            pipeline: pipeline.to_owned(),
            ..Trial::default()
        };
        let mut trials = Trials::default();
        trials.learn(about("a", ""), Tried::default());
        trials.learn(about("a", "dce"), Tried::default());
        assert!(trials.of(&about("a", "")).is_some() && trials.of(&about("a", "dce")).is_some());
        trials.keep(&[" dce".to_owned(), "licm".to_owned()]);
        assert!(trials.of(&about("a", "")).is_none() && trials.of(&about("a", "dce")).is_some());
        trials.learn(about("a", ""), Tried::default());
        trials.learn(about("b", ""), Tried::default());
        assert!(trials.of(&about("a", "")).is_none() && trials.of(&about("b", "")).is_some());
    }
}
