//! The programs that are shown and run: the source, and the one at the position.

use std::rc::Rc;

use warpscope_engine::message::{Probe, Program, Run, Simulate, View};

use super::{Lab, Results};

impl Lab {
    /// The two programs to run: the source and the program at the position; none while there is no valid one.
    pub fn programs(&self) -> Option<(Program, Program)> {
        let view = self.view.as_ref().filter(|view| !view.kernel.is_empty() && !view.after.is_empty())?;
        let program = |text: &str, language| Program {
            text: text.to_owned(),
            language,
            launch: view.launch.clone(),
            kernel: view.kernel.clone(),
        };
        Some((program(&self.bench.source, view.language), program(&view.after, Default::default())))
    }

    /// Whether the last answer knows of no program that could run.
    pub fn lacks_program(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.kernel.is_empty() || view.after.is_empty())
    }

    /// Whether the program has mistakes that must be mended before it can be stepped or run.
    pub fn has_mistakes(&self) -> bool {
        let errors = |view: &Rc<View>| view.diagnostics.iter().any(|diagnostic| !diagnostic.is_warning);
        self.lacks_program() && self.view.as_ref().is_some_and(errors)
    }

    /// The pass that led to the position; empty at the source.
    pub fn pass_here(&self) -> &str {
        let stage = self.view.as_ref().and_then(|view| view.position.stage.checked_sub(1));
        stage.and_then(|stage| self.bench.pipeline.get(stage)).map_or("", |stage| &stage.pass)
    }

    /// The view to draw, and whether it shows the program as it was before it had mistakes.
    pub fn drawn(&self) -> (Rc<View>, bool) {
        match &self.last_good {
            Some(good) if self.has_mistakes() => (good.clone(), true),
            _ => (self.view.clone().unwrap_or_default(), false),
        }
    }

    /// The run of the source, if that is the one that is shown.
    pub fn run_of_source(&self) -> Option<&Run> {
        let runs = self.runs.as_ref().filter(|_| self.ran.0 == self.bench.source)?;
        runs.before.as_ref().ok()
    }

    /// The run of the program at the position, if that is the one that is shown.
    pub fn run_at_position(&self) -> Option<&Run> {
        let view = self.view.as_ref()?;
        let runs = self.runs.as_ref().filter(|_| self.ran.1 == view.after)?;
        runs.after.as_ref().ok()
    }

    /// The question for runs; none while there is no valid program.
    pub fn simulate(&self) -> Option<Simulate> {
        let (before, after) = self.programs()?;
        let end = self.view.as_ref()?.end.as_ref();
        let end = end.map(|text| Program { text: text.clone(), ..after.clone() });
        Some(Simulate { before, after, end, settings: self.settings.clone() })
    }

    /// The question for the zeros of the program that is run at the position; none if nobody looks, or they are known.
    pub fn probe(&self, simulate: Option<&Simulate>) -> Option<Probe> {
        let Simulate { after, settings, .. } = simulate.filter(|_| self.results == Results::Zeros)?;
        let probe = Probe { program: after.clone(), settings: settings.clone() };
        (!self.zeros.as_ref().is_some_and(|zeros| zeros.asked == probe)).then_some(probe)
    }

    /// Whether the lanes are shown where they are asked for.
    pub fn watched_is_shown(&self) -> bool {
        let moment = self.moment.as_ref().and_then(|moment| moment.as_ref().as_ref().ok());
        moment.is_some_and(|moment| moment.issue == self.watched.issue)
    }
}
