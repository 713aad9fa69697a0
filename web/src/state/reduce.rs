//! Transitions: each action, and the change of the page's state.

use std::rc::Rc;

use warpscope_engine::message::{Guard, Position};
use yew::Reducible;

use super::{Action, Dialog, Lab, Notice, Travel, Watched};

impl Reducible for Lab {
    type Action = Action;

    fn reduce(self: Rc<Self>, action: Action) -> Rc<Self> {
        let mut lab = (*self).clone();
        let says_moment = matches!(
            action,
            Action::WalkTo(_)
                | Action::WalkBy(_)
                | Action::WalkToInquiry { .. }
                | Action::Ask(_)
                | Action::NextMoment
                | Action::OpenExample(..)
                | Action::BringBack
                | Action::Answered(..)
        );
        match action {
            Action::EditSource(text) => {
                let (before, launch) = (std::mem::replace(&mut lab.bench.source, text), lab.bench.launch.clone());
                if let Some(launch) = lab.launches.at_undo((&before, &launch), &lab.bench.source) {
                    lab.bench.launch = launch;
                    lab.launch_version += 1;
                }
                lab.before_edit = Rc::new((before, launch));
                lab.source_leads = true;
                lab.position = Position::END;
                lab.forget_runs();
            }
            Action::EditLaunch(text) => {
                lab.bench.launch = text;
                lab.source_leads = false;
                lab.forget_runs();
            }
            Action::Pipeline(edit) => {
                let position = lab.timeline_position();
                lab.position = edit.apply(&mut lab.bench.pipeline, &position);
                lab.forget_runs();
            }
            Action::GuardLoads(guards) => {
                // One step back brings the passes of before, also where nothing else was changed.
                lab.opened = None;
                lab.keep("The loads are guarded.");
                for Guard { stage, knob, value } in guards {
                    if let Some(stage) = lab.bench.pipeline.get_mut(stage) {
                        stage.knobs.insert(knob, value);
                    }
                }
                lab.position = Position::END;
                lab.dialog = Some(Dialog::Ptx(None));
                lab.forget_runs();
            }
            Action::FastMath(on) => {
                lab.bench.fast_math = on;
                lab.position = Position::END;
            }
            Action::Kernel(name) => {
                lab.bench.kernel = Some(name);
                lab.position = Position::END;
                lab.selected = None;
                lab.forget_runs();
            }
            Action::Travel(travel) => {
                lab.travel(travel);
                lab.watched = Watched { after: lab.watched.after, ..Watched::default() };
                (lab.stopped, lab.asking) = (false, false);
                // Playing ends at the last stop.
                lab.playing &= matches!(travel, Travel::Forward) && lab.position != lab.timeline().last();
            }
            Action::Play(on) => {
                let timeline = lab.timeline();
                if on && lab.timeline_position() == timeline.last() {
                    lab.position = timeline.first();
                }
                lab.playing = on && timeline.len() > 1;
                lab.asking = false;
            }
            Action::Pace(pace) => lab.pace = pace.clamp(0.1, 10.0),
            Action::Scope(scope) => lab.scope = scope,
            Action::WalkTo(moment) => lab.go_to_moment(|_| moment),
            Action::WalkBy(moments) => lab.go_to_moment(|at| at.saturating_add_signed(moments)),
            Action::WalkToInquiry { is_forward } => {
                if let Some(moment) = lab.inquiry(is_forward) {
                    lab.go_to_moment(|_| moment);
                }
            }
            Action::ShowOutcomes(on) => lab.shows_outcomes = on,
            Action::Choose(key, value) => lab.choose(&key, &value),
            Action::ForgetEntries => lab.forget_entries(),
            Action::Declare(text) => {
                lab.bench.source = text;
                // What is measured would take the place of what is declared.
                lab.bench.measured = None;
                lab.text_version += 1;
                lab.position = Position::default();
                lab.forget_runs();
            }
            Action::Ask(on) => {
                let Some((at, last)) = lab.moment() else { return self };
                if on && at == last {
                    lab.go_to_moment(|_| 0);
                }
                (lab.asking, lab.playing) = (on, false);
            }
            // Every moment is seen, however long the engine takes.
            Action::NextMoment => {
                if !lab.is_inspected() {
                    return self;
                }
                lab.play_moment();
            }
            Action::ShowComparison(shows) => lab.is_comparing = shows,
            Action::Subject(subject) => subject.become_state_of(&mut lab),
            Action::Compare(pipelines) => {
                Rc::make_mut(&mut lab.trials).keep(&pipelines);
                lab.pipelines = Some(Rc::new(pipelines));
            }
            Action::Vary(name) => lab.varied = name,
            Action::Measure(on) => {
                lab.bench.measured = on.then(|| Box::new(lab.settings.clone()));
                lab.forget_runs();
            }
            Action::Settings(edit) => {
                edit.apply(&mut lab.settings);
                // The profile is that of the runs that are shown.
                if let Some(measured) = &mut lab.bench.measured {
                    (**measured).clone_from(&lab.settings);
                }
                lab.stopped = false;
                lab.watched = Watched { after: lab.watched.after, ..Watched::default() };
            }
            Action::Results(results) => lab.results = results,
            Action::StopRun => {
                lab.stopped = true;
                lab.running = false;
                lab.watched.playing = false;
            }
            Action::Watch(watched) => lab.watched = watched,
            Action::Select(selection) => {
                if let Some(selection) = &selection {
                    lab.choose_selected(selection);
                }
                lab.selected = selection;
            }
            Action::Shape(shape) => lab.shape = shape,
            Action::ShowSource(shows) => lab.shows_source = shows,
            Action::Tab(tab) => lab.tab = tab,
            Action::Sheet(sheet) => lab.sheet = sheet,
            Action::Dialog(dialog) => lab.dialog = dialog,
            Action::Notice(notice) => lab.notice = notice,
            Action::LinkLeft => {
                lab.notice = None;
                lab.leave_link();
            }
            Action::Theme(theme) => lab.theme = theme,
            Action::OpenExample(example, shared) => {
                lab.keep(&format!("“{}” is open.", example.title));
                lab.load(*shared);
                lab.example = Some(example);
                lab.dialog = None;
                lab.notice = None;
            }
            Action::BringBack => {
                if let Some(kept) = Rc::make_mut(&mut lab.kept).pop() {
                    lab.load(kept);
                    // It is a person's own, whatever the example was.
                    lab.opened = None;
                    lab.kept_notice =
                        (!lab.kept.is_empty()).then(|| "The program before that one is kept, too.".to_owned());
                }
            }
            Action::HideKept => lab.kept_notice = None,
            Action::Asked { run: true } => {
                lab.running = true;
                lab.runs_asked = lab.runs_asked.wrapping_add(1);
            }
            Action::Asked { run: false } => lab.looking = true,
            // Whoever watches wants to see every stop, however long the engine takes.
            Action::Tick => return if lab.looking { self } else { self.reduce(Action::Travel(Travel::Forward)) },
            Action::Ready => lab.is_engine_ready = true,
            Action::Failed(why) => {
                (lab.looking, lab.running, lab.playing, lab.asking) = (false, false, false, false);
                lab.waiting.clear();
                let text = format!("The engine failed: {why}. It restarts at your next action.");
                lab.notice = Some(Notice { text, is_error: true });
            }
            Action::Answered(request, response) => lab.take_answer(&request, response),
        }
        // Another position has its own usual moment.
        if !says_moment && (lab.bench != self.bench || lab.position != self.position) {
            lab.moment_at = None;
        }
        // Another program has its own choices; settings stay.
        if lab.bench != self.bench || lab.position != self.position {
            lab.choices.retain(|key, _| self.is_setting(key));
        }
        // From now on the view belongs to another bench, and nothing may be run that mixes the two.
        if lab.bench != self.bench
            || lab.position != self.position
            || lab.scope != self.scope
            || lab.moment_at != self.moment_at
        {
            lab.looking = lab.answered.as_deref() != Some(&lab.look());
        }
        Rc::new(lab)
    }
}
