//! The programs that are shown and run: the source, and the one at the position.

use std::rc::Rc;

use warpscope_engine::message::{Failure, Moment, Probe, Program, Run, Simulate, View};

use super::{Lab, Results, Watched};

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
        self.result_of_source()?.ok()
    }

    fn result_of_source(&self) -> Option<Result<&Run, &Failure>> {
        let runs = self.runs.as_ref().filter(|_| self.ran.0 == self.bench.source)?;
        Some(runs.before.as_ref())
    }

    /// The run of the program at the position, if that is the one that is shown.
    pub fn run_at_position(&self) -> Option<&Run> {
        self.result_at_position()?.ok()
    }

    fn result_at_position(&self) -> Option<Result<&Run, &Failure>> {
        let view = self.view.as_ref()?;
        let runs = self.runs.as_ref().filter(|_| self.ran.1 == view.after)?;
        Some(runs.after.as_ref())
    }

    /// Why the run of the source failed, and that of the program at the position, if these are shown.
    pub fn failures(&self) -> (Option<&Failure>, Option<&Failure>) {
        let failed = |result: Option<Result<_, _>>| result.and_then(Result::err);
        match self.lacks_program() {
            true => (None, None),
            false => (
                failed(self.result_of_source().map(|it| it.map(|_| ()))),
                failed(self.result_at_position().map(|it| it.map(|_| ()))),
            ),
        }
    }

    /// Issues of the run whose lanes are shown, up to its end or its failure; none until it is known.
    pub fn last_issue(&self) -> Option<u64> {
        let result = if self.watched.after { self.result_at_position() } else { self.result_of_source() };
        match result? {
            Ok(run) => Some(run.total.issues),
            Err(failure) => failure.issue,
        }
    }

    /// Whether the lanes are at the issue that fails.
    pub fn is_at_failure(&self) -> bool {
        let (before, after) = self.failures();
        let failure = if self.watched.after { after } else { before };
        failure.is_some_and(|failure| failure.issue == Some(self.watched.issue))
    }

    /// State of the lanes while they are followed: once they have moved, or a warp was chosen.
    pub fn lanes(&self) -> Option<&Moment> {
        let Watched { issue, playing, warp, .. } = self.watched;
        let is_followed = (issue > 0 || playing || warp.is_some()) && !self.lacks_program();
        let moment = self.moment.as_ref().filter(|_| is_followed)?;
        moment.as_ref().as_ref().ok().map(|moment| &**moment)
    }

    /// The instruction on a line of the source, or of the program at the position.
    pub fn inst_on_line(&self, line: usize, after: bool) -> Option<u32> {
        let view = self.view.as_ref()?;
        if after {
            let mut lines = view.graph.blocks.iter().flat_map(|block| &block.lines);
            return lines.find(|found| found.line == line).map(|found| found.inst);
        }
        *view.source_insts.get(line.checked_sub(1)?)?
    }

    /// The line of the source, from 1, on which a line of one of the two programs was written; 0 if none was.
    pub fn source_line(&self, line: usize, after: bool) -> usize {
        if !after {
            return line;
        }
        let (Some(view), Some(inst)) = (&self.view, self.inst_on_line(line, true)) else { return 0 };
        view.source_insts.iter().position(|found| *found == Some(inst)).map_or(0, |index| index + 1)
    }

    /// The line of the source, from 1, that the followed warp runs next; 0 if there is none.
    pub fn lane_line(&self) -> usize {
        let place =
            self.lanes().and_then(|moment| moment.places.iter().find(|place| Some(place.warp) == moment.followed));
        place.map_or(0, |place| self.source_line(place.line, self.watched.after))
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

#[cfg(test)]
mod tests {
    use warpscope_engine::message::*;

    use super::*;

    /// A program with a view of it and runs of it, of which the second fails.
    fn failed() -> Lab {
        let mut lab = Lab::new();
        let line = |inst: u32, line: usize| GraphLine { inst, line, ..Default::default() };
        let block = GraphBlock { lines: vec![line(7, 2), line(9, 3)], ..Default::default() };
        let view = View {
            kernel: "k".to_owned(),
            after: "after".to_owned(),
            source_insts: vec![None, None, Some(4), Some(9)],
            graph: Graph { blocks: vec![block], ..Default::default() },
            ..View::default()
        };
        lab.view = Some(Rc::new(view));
        lab.ran = Rc::new((lab.bench.source.clone(), "after".to_owned()));
        let failure = Failure { line: 3, issue: Some(12), ..Default::default() };
        let total = Counts { issues: 40, ..Default::default() };
        let run = Run { total, ..Default::default() };
        lab.runs = Some(Rc::new(Simulated { before: Ok(run), after: Err(failure), end: None }));
        lab
    }

    #[test]
    fn failure_is_that_of_the_shown_programs() {
        let mut lab = failed();
        assert!(matches!(lab.failures(), (None, Some(_))));
        assert_eq!((lab.last_issue(), lab.is_at_failure()), (Some(12), false));
        lab.watched.issue = 12;
        assert!(lab.is_at_failure());
        lab.watched.after = false;
        assert_eq!((lab.last_issue(), lab.is_at_failure()), (Some(40), false));
        lab.ran = Rc::new((lab.bench.source.clone(), "older".to_owned()));
        assert_eq!(lab.failures(), (None, None), "another program has run");
    }

    #[test]
    fn line_at_position_leads_to_source_line() {
        let lab = failed();
        assert_eq!(lab.source_line(3, true), 4, "by its instruction");
        assert_eq!(lab.source_line(2, true), 0, "a pass inserted it");
        assert_eq!(lab.source_line(3, false), 3);
    }

    #[test]
    fn lanes_are_followed_once_they_move() {
        let mut lab = failed();
        let place = WarpPlace { warp: 2, line: 3, block: String::new() };
        let moment = Moment { followed: Some(2), places: vec![place], ..Moment::default() };
        lab.moment = Some(Rc::new(Ok(Box::new(moment))));
        assert_eq!(lab.lane_line(), 0);
        lab.watched.issue = 1;
        assert_eq!(lab.lane_line(), 4);
        lab.watched.after = false;
        assert_eq!(lab.lane_line(), 3);
    }
}
