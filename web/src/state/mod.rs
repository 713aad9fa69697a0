//! What the page knows, and how it changes: a value, and a function from value and action to value.
//!
//! Every view is a function of a [`Lab`]. Whatever takes time (the engine, the clipboard, a timer) happens in
//! [`crate::app`] and comes back as an [`Action`], so that this folder can be tested without a browser.

mod launches;
mod map;
mod paths;
mod pipeline;
mod settings;
mod share;
#[cfg(test)]
mod tests;
mod timeline;
mod trials;

use std::rc::Rc;

use warpscope_engine::message::{
    Bench, Candidates, Catalogue, Course, Listen, Look, MapPiece, Moment, Painting, Position, Probe, Program,
    Questions, Request, Response, Run, Scope, Settings, Shared, Simulate, Simulated, Trial, Tried, View, Watch, Weigh,
    Zeros,
};
use yew::Reducible;

pub use map::{HeatMap, variable};
pub use paths::PathView;
pub use pipeline::PipelineEdit;
pub use settings::SettingsEdit;
pub use share::link_advice;
pub use timeline::{Timeline, Travel};
pub use trials::{MOST_COMPARED, POINTS, Trials, divergence};

use trials::what_stays;

use crate::examples;

use launches::Launches;

/// Benches that are kept while examples are open; the oldest goes first.
const MOST_KEPT: usize = 24;

/// The laboratory as the page knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Lab {
    /// Program and passes.
    pub bench: Bench,
    /// Where the transport stands, as asked for; the view says where that is.
    pub position: Position,
    /// What the diff compares.
    pub scope: Scope,
    /// Which moment of a pass with a table of values or with questions is shown, of those that lead to the position; none is
    /// the usual one.
    pub walk_at: Option<usize>,
    /// The last answer about questions that a pass asks.
    pub heard: Option<Rc<Heard>>,
    /// The candidate whose effect is painted; none is the one that would be transformed for.
    pub candidate: Option<u32>,
    /// The last answer about candidates.
    pub weighed: Option<Rc<Weighed>>,
    /// How the executed paths are looked at.
    pub paths: PathView,
    /// Whether the questions, or the way of a statement, move by themselves.
    pub asking: bool,
    /// How the simulator runs.
    pub settings: Settings,
    /// Counts whenever something other than a person's typing replaces the texts, so that the editors follow.
    pub text_version: u32,
    /// Counts whenever something other than a person's typing replaces the launch alone.
    pub launch_version: u32,
    /// Which launch stood beside which program.
    pub launches: Launches,
    /// The program before the last edit, with its launch.
    pub before_edit: Rc<(String, String)>,
    /// What there is to choose from, once the engine has said it.
    pub catalogue: Option<Rc<Catalogue>>,
    /// The last answer about bench and position.
    pub view: Option<Rc<View>>,
    /// The last answer with a program, for the time in which the present one has mistakes.
    pub last_good: Option<Rc<View>>,
    /// The last question about them that was answered while nobody had a newer one.
    pub answered: Option<Rc<Look>>,
    /// Whether a newer answer is on its way.
    pub looking: bool,
    /// Whether the program was edited after the launch.
    pub source_leads: bool,
    /// Whether the engine has been loaded.
    pub is_engine_ready: bool,
    /// The last runs.
    pub runs: Option<Rc<Simulated>>,
    /// The texts of the programs that ran.
    pub ran: Rc<(String, String)>,
    /// What is shown of the runs.
    pub results: Results,
    /// The last answer about zeros.
    pub zeros: Option<Rc<Counted>>,
    /// Whether newer runs are on their way.
    pub running: bool,
    /// How many runs have been asked for.
    pub runs_asked: u32,
    /// Whether a person stopped the simulator; it starts again when something changes.
    pub stopped: bool,
    /// What the lanes view follows.
    pub watched: Watched,
    /// The last answer about it.
    pub moment: Option<Rc<Result<Box<Moment>, String>>>,
    /// The pipelines that are compared; none are the usual ones.
    pub pipelines: Option<Rc<Vec<String>>>,
    /// What is known of them.
    pub trials: Rc<Trials>,
    /// The input or buffer that varies in the map of zeros and divergence; none is all that are ever zero.
    pub varied: Option<String>,
    /// What is known of that map.
    pub map: Rc<HeatMap>,
    /// The block or line that is selected everywhere.
    pub selected: Option<Selection>,
    /// Which text the source pane shows.
    pub tab: Tab,
    /// What the change pane shows where there is a table of values.
    pub sheet: Sheet,
    /// Whether the transport moves by itself.
    pub playing: bool,
    /// How fast it moves by itself, as a multiple of the usual pace.
    pub pace: f64,
    /// The open dialog.
    pub dialog: Option<Dialog>,
    /// Something that a person should know.
    pub notice: Option<Notice>,
    /// The bench as an example or a link opened it.
    pub opened: Option<Rc<Bench>>,
    /// What examples have taken the place of, where that was more than another example; the last one at the end.
    pub kept: Rc<Vec<Shared>>,
    /// What the page says of it, until that is closed.
    pub kept_notice: Option<String>,
    /// Light, dark, or as the system says.
    pub theme: Theme,
}

/// The questions of a pass, and of which bench.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// The bench.
    pub bench: Bench,
    /// The stage whose pass it is.
    pub stage: usize,
    /// The questions.
    pub questions: Rc<Questions>,
}

/// The candidates in a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighed {
    /// What was asked.
    pub asked: Weigh,
    /// The candidates, without what is painted.
    pub candidates: Candidates,
    /// What is painted.
    pub painting: Option<Rc<Painting>>,
}

/// The zeros of a program, or why it did not end well.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// What was asked.
    pub asked: Probe,
    /// What was found.
    pub zeros: Result<Box<Zeros>, String>,
}

/// A selected block or instruction, and who selected it: the other views scroll to it, that one stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The block's name.
    pub block: String,
    /// The instruction's identity, if one is selected.
    pub inst: Option<u32>,
    /// Where a person pointed.
    pub by: Pane,
}

/// The panes that show blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The editor.
    Source,
    /// The comparison.
    Change,
    /// The control-flow graph.
    Graph,
    /// The results of the runs.
    Results,
    /// The lanes.
    Lanes,
    /// None: the keyboard walks, and every pane follows.
    Everywhere,
}

/// Which run the lanes view follows, and where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// The program at the position rather than the source.
    pub after: bool,
    /// Instructions issued.
    pub issue: u64,
    /// Whether it moves by itself.
    pub playing: bool,
}

impl Watched {
    /// The question about one of the two programs that are run.
    pub fn question(self, simulate: &Simulate) -> Watch {
        let Simulate { before, after, settings } = simulate;
        let program = if self.after { after } else { before };
        Watch { program: program.clone(), settings: settings.clone(), issue: self.issue }
    }
}

/// The texts of the source pane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// The program.
    #[default]
    Source,
    /// How it is run.
    Launch,
}

/// What the change pane can show of a pass that works with a table of values or asks questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sheet {
    /// That table, or those questions.
    #[default]
    Walk,
    /// The compared texts.
    Lines,
    /// The candidates of `azp`, where that is the pass at hand.
    Candidates,
    /// The executed paths, where that is `pde`.
    Paths,
}

/// What can be shown of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Results {
    /// The figures of the whole launch.
    #[default]
    All,
    /// Those of each block.
    Blocks,
    /// How often register writes give zero.
    Zeros,
}

/// What can lie over the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// Programs to start from.
    Examples,
    /// Shortcuts and what the marks mean.
    Help,
    /// What operations cost on the machine models.
    Machines,
    /// Several pipelines side by side.
    Compare,
    /// A link to this bench.
    Share(String),
}

/// Something that a person should know, shown until it is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What happened.
    pub text: String,
    /// Whether something went wrong.
    pub is_error: bool,
}

/// The page's colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the system says.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// What can happen.
#[derive(Clone, Debug)]
pub enum Action {
    /// A person edited the program.
    EditSource(String),
    /// A person edited the launch.
    EditLaunch(String),
    /// The passes changed.
    Pipeline(PipelineEdit),
    /// The fast-math licence was given or taken.
    FastMath(bool),
    /// Another kernel is looked at.
    Kernel(String),
    /// The transport moves.
    Travel(Travel),
    /// The transport starts or stops to move by itself.
    Play(bool),
    /// It moves faster or slower.
    Pace(f64),
    /// The diff compares something else.
    Scope(Scope),
    /// The table of values or the questions are shown at another moment; the transport goes along.
    WalkTo(usize),
    /// The same by so many moments.
    WalkBy(isize),
    /// Another candidate's effect is painted.
    Paint(u32),
    /// The way of another statement is shown, by one of its instructions.
    Trace(u32),
    /// What is shown is about another join.
    Join(u32),
    /// A path stands out, or none.
    Path(Option<usize>),
    /// A path, by its blocks, has another frequency than the last of these, which the profile says.
    Frequency(Vec<u32>, u64, u64),
    /// The frequencies are those of the profile again.
    ForgetFrequencies,
    /// The source declares a profile, in this text.
    Declare(String),
    /// The questions start or stop to move by themselves.
    Ask(bool),
    /// Time passed while they do.
    NextMoment,
    /// Other pipelines are compared.
    Compare(Vec<String>),
    /// Something else varies in the map of zeros and divergence.
    Vary(Option<String>),
    /// The simulator's settings changed.
    Settings(SettingsEdit),
    /// Passes know the profile that the simulator measures, or the one that the program declares.
    Measure(bool),
    /// Something else is shown of the runs.
    Results(Results),
    /// A person stopped the simulator.
    StopRun,
    /// The lanes view follows something else.
    Watch(Watched),
    /// A block was selected, or none.
    Select(Option<Selection>),
    /// The source pane shows another text.
    Tab(Tab),
    /// The change pane shows something else.
    Sheet(Sheet),
    /// A dialog opens or closes.
    Dialog(Option<Dialog>),
    /// Something is to be told, or was read.
    Notice(Option<Notice>),
    /// The colours change.
    Theme(Theme),
    /// An example of that name replaces everything; what a person has changed is kept.
    OpenExample(&'static str, Box<Shared>),
    /// What was kept last takes its place again.
    BringBack,
    /// It is still kept, and the page no longer says so.
    HideKept,
    /// A question was sent: about the bench, or for runs.
    Asked {
        /// For runs rather than about the bench.
        run: bool,
    },
    /// Time passed while the transport moves by itself.
    Tick,
    /// An engine has been loaded.
    Ready,
    /// An engine broke down, for this reason.
    Failed(String),
    /// The engine answered a question, perhaps one that is no longer the last of its kind.
    Answered(Box<Request>, Response),
}

impl Lab {
    /// What a newcomer meets: the first example.
    pub fn new() -> Self {
        let mut lab = Lab {
            bench: Bench::default(),
            position: Position::END,
            scope: Scope::Pass,
            walk_at: None,
            heard: None,
            candidate: None,
            weighed: None,
            paths: PathView::default(),
            asking: false,
            settings: Settings::default(),
            text_version: 0,
            launch_version: 0,
            launches: Launches::default(),
            before_edit: Rc::default(),
            catalogue: None,
            view: None,
            last_good: None,
            answered: None,
            looking: false,
            source_leads: false,
            is_engine_ready: false,
            runs: None,
            ran: Rc::default(),
            results: Results::All,
            zeros: None,
            running: false,
            runs_asked: 0,
            stopped: false,
            watched: Watched::default(),
            moment: None,
            pipelines: None,
            trials: Rc::default(),
            varied: None,
            map: Rc::default(),
            selected: None,
            tab: Tab::Source,
            sheet: Sheet::Walk,
            playing: false,
            pace: 1.0,
            dialog: None,
            notice: None,
            opened: None,
            kept: Rc::default(),
            kept_notice: None,
            theme: Theme::System,
        };
        lab.load(examples::first());
        lab
    }

    /// Everything that a link holds.
    pub fn shared(&self) -> Shared {
        Shared {
            bench: self.bench.clone(),
            position: self.view.as_ref().map_or(self.position, |view| view.position),
            scope: self.scope,
            moment: self.walk_at,
            settings: self.settings.clone(),
        }
    }

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

    /// The question about the bench.
    pub fn look(&self) -> Look {
        Look { bench: self.bench.clone(), position: self.position, scope: self.scope, moment: self.moment_to_look_at() }
    }

    /// The moment that the engine is asked about. From one question to the next only the page draws something else: what
    /// matters to the engine is whether the change is still to come.
    fn moment_to_look_at(&self) -> Option<usize> {
        let is_known = self.answered.as_ref().is_some_and(|look| look.bench == self.bench);
        if self.shows_paths() {
            return None;
        }
        match self.view.as_ref().and_then(|view| view.questions.as_ref()).filter(|_| is_known) {
            Some(course) => {
                self.walk_at.filter(|&moment| course.is_ahead(moment)).map(|moment| course.beginning_of(moment))
            }
            None => self.walk_at,
        }
    }

    /// The moments of the pass that is shown, and the one at which it is, if it asks questions.
    pub fn questions_at(&self) -> Option<(&Course, usize)> {
        let view = self.view.as_ref().filter(|_| !self.has_mistakes())?;
        let course = view.questions.as_ref()?;
        let usual = || course.made(view.position.step).unwrap_or(course.last);
        Some((course, self.walk_at.unwrap_or_else(usual).min(course.last)))
    }

    /// The questions of the pass that is shown, once the engine has told them.
    pub fn heard(&self) -> Option<&Rc<Questions>> {
        let view = self.view.as_ref()?;
        let heard = self.heard.as_ref().filter(|heard| heard.stage == view.position.stage)?;
        let is_of_this = Some(&heard.questions.course) == view.questions.as_ref() && heard.bench == self.bench;
        is_of_this.then_some(&heard.questions)
    }

    /// The question for the questions of the pass that is shown; none if it asks none, or they are known.
    pub fn listen(&self) -> Option<Listen> {
        let (_, moment) = self.questions_at()?;
        let is_known = self.heard().is_some_and(|questions| {
            moment.saturating_sub(1) >= questions.first && moment <= questions.first + questions.happened.len()
                || moment == 0 && questions.first == 0
        });
        let position = self.view.as_ref()?.position;
        (!is_known).then(|| Listen { bench: self.bench.clone(), position, moment })
    }

    /// Whether the candidates of `azp` are shown.
    pub fn shows_candidates(&self) -> bool {
        let is_at_hand = self.view.as_ref().is_some_and(|view| view.weighs);
        self.sheet == Sheet::Candidates && is_at_hand && !self.has_mistakes()
    }

    /// The candidates in the program that is shown, once the engine has told them.
    pub fn candidates(&self) -> Option<&Candidates> {
        self.weighed_here().map(|weighed| &weighed.candidates)
    }

    fn weighed_here(&self) -> Option<&Weighed> {
        let position = self.view.as_ref()?.position;
        let weighed = self.weighed.as_deref()?;
        (weighed.asked.bench == self.bench && weighed.asked.position == position).then_some(weighed)
    }

    /// The question for them; none if nobody looks, or they are known.
    pub fn weigh(&self) -> Option<Weigh> {
        let position = self.view.as_ref().filter(|_| self.shows_candidates() && !self.looking)?.position;
        let weigh = Weigh { bench: self.bench.clone(), position, painted: self.candidate };
        let is_known = self.weighed.as_ref().is_some_and(|weighed| weighed.asked == weigh);
        (!is_known).then_some(weigh)
    }

    /// What a candidate would change in the program that is shown, while candidates are looked at.
    pub fn painting(&self) -> Option<&Rc<Painting>> {
        let painting = self.weighed_here().filter(|_| self.shows_candidates())?.painting.as_ref()?;
        self.candidate.is_none_or(|candidate| candidate == painting.candidate).then_some(painting)
    }

    /// The question for runs; none while there is no valid program.
    pub fn simulate(&self) -> Option<Simulate> {
        let (before, after) = self.programs()?;
        Some(Simulate { before, after, settings: self.settings.clone() })
    }

    /// The question for the zeros of the program that is run at the position; none if nobody looks, or they are known.
    pub fn probe(&self, simulate: Option<&Simulate>) -> Option<Probe> {
        let Simulate { after, settings, .. } = simulate.filter(|_| self.results == Results::Zeros)?;
        let probe = Probe { program: after.clone(), settings: settings.clone() };
        (!self.zeros.as_ref().is_some_and(|zeros| zeros.asked == probe)).then_some(probe)
    }

    /// The pipelines that are compared.
    pub fn compared(&self) -> Vec<String> {
        let usual = || trials::usual_pipelines(&self.bench.pipeline);
        self.pipelines.as_ref().map_or_else(usual, |pipelines| pipelines.to_vec())
    }

    /// What a pipeline that is compared made of the program, once that is known.
    pub fn tried(&self, pipeline: &str) -> Option<&Rc<Tried>> {
        self.trials.of(&self.trial(pipeline)?)
    }

    /// What the slider of the comparison does not move, if that is so, in a sentence.
    pub fn what_stays(&self) -> Option<&'static str> {
        let all: Vec<Option<&Tried>> =
            self.compared().iter().map(|pipeline| self.tried(pipeline).map(|tried| &**tried)).collect();
        what_stays(&all, self.trial("").is_none_or(|trial| !trial.vary.is_empty()))
    }

    /// The next question about pipelines that are compared; none if all is known, or none are.
    pub fn next_trial(&self) -> Option<Trial> {
        if self.dialog != Some(Dialog::Compare) {
            return None;
        }
        let all = self.compared();
        let mut unknown = all.iter().filter_map(|pipeline| self.trial(pipeline));
        unknown.find(|trial| self.trials.of(trial).is_none())
    }

    /// Whether `azp` is among the passes that run.
    pub fn has_azp(&self) -> bool {
        self.bench.pipeline.iter().any(|stage| stage.on && stage.pass == "azp")
    }

    /// The question about the map of zeros and divergence, without its points; none where nothing can vary.
    pub fn map_question(&self) -> Option<MapPiece> {
        self.map_question_about(self.varied.as_deref())
    }

    fn map_question_about(&self, varied: Option<&str>) -> Option<MapPiece> {
        let view = self.view.as_ref().filter(|_| self.programs().is_some() && self.has_azp())?;
        map::question(&self.bench, &view.launch, &view.sources, &self.settings, varied)
    }

    /// What varies in the map unless a person says otherwise.
    pub fn usual_map_sources(&self) -> Vec<String> {
        self.map_question_about(None).map(|question| question.vary).unwrap_or_default()
    }

    /// What is known of the map that is looked at.
    pub fn known_map(&self) -> Option<&HeatMap> {
        let question = self.map_question()?;
        Some(&*self.map).filter(|map| map.is_of(&question))
    }

    /// The next question about the map; none if all is known, or nobody looks, or pipelines come first.
    pub fn next_map(&self) -> Option<MapPiece> {
        let is_seen = self.dialog == Some(Dialog::Compare) && !self.looking && self.next_trial().is_none();
        self.map.next(&self.map_question().filter(|_| is_seen)?)
    }

    fn trial(&self, pipeline: &str) -> Option<Trial> {
        let view = self.view.as_ref().filter(|view| !view.kernel.is_empty() && !view.after.is_empty())?;
        Some(trials::trial(&self.bench, &view.launch, &view.sources, &self.settings, pipeline))
    }

    /// All questions that the page has now.
    pub fn questions(&self) -> Vec<Request> {
        let mut questions = vec![Request::Catalogue, Request::Look(self.look())];
        questions.extend(self.listen().map(Request::Listen));
        questions.extend(self.weigh().map(Request::Weigh));
        questions.extend(self.survey().map(Request::Survey));
        if let Some(simulate) = self.simulate() {
            let watch = self.watched.question(&simulate);
            questions.extend([Request::Simulate(simulate), Request::Watch(watch)]);
        }
        questions
    }

    /// The stops of the transport.
    pub fn timeline(&self) -> Timeline {
        let pipeline = if self.lacks_program() { &[][..] } else { &self.bench.pipeline };
        Timeline::new(pipeline, self.view.as_ref().map_or(&[], |view| &view.stages))
    }

    /// Whether the selection is this block.
    pub fn is_selected(&self, block: &str) -> bool {
        self.selected.as_ref().is_some_and(|selection| selection.block == block)
    }

    /// Whether the lanes are shown where they are asked for.
    pub fn watched_is_shown(&self) -> bool {
        let moment = self.moment.as_ref().and_then(|moment| moment.as_ref().as_ref().ok());
        moment.is_some_and(|moment| moment.issue == self.watched.issue)
    }

    fn load(&mut self, shared: Shared) {
        let before = std::mem::replace(&mut self.bench, shared.bench);
        self.launches.replace((&before.source, &before.launch), (&self.bench.source, &self.bench.launch));
        self.last_good = None;
        self.opened = Some(Rc::new(self.bench.clone()));
        self.position = shared.position;
        self.scope = shared.scope;
        self.walk_at = shared.moment;
        self.settings = shared.settings;
        self.text_version += 1;
        self.source_leads = false;
        self.selected = None;
        self.pipelines = None;
        self.varied = None;
        self.tab = Tab::Source;
        self.forget_runs();
    }

    /// Keeps what is there, if a person has changed it, before an example takes its place.
    fn keep(&mut self, example: &str) {
        if self.opened.as_deref() != Some(&self.bench) {
            let shared = self.shared();
            let kept = Rc::make_mut(&mut self.kept);
            if kept.len() == MOST_KEPT {
                kept.remove(0);
            }
            kept.push(shared);
        }
        if !self.kept.is_empty() {
            self.kept_notice = Some(format!("“{example}” is open. Your own program and passes are kept."));
        }
    }

    /// Results of another program are worse than none.
    fn forget_runs(&mut self) {
        (self.playing, self.asking) = (false, false);
        self.stopped = false;
        self.watched = Watched { after: self.watched.after, ..Watched::default() };
    }

    fn take_answer(&mut self, request: &Request, response: Response) {
        match response {
            Response::Catalogue(catalogue) => self.catalogue = Some(Rc::new(catalogue)),
            Response::View(view) => {
                let is_last = matches!(request, Request::Look(look) if *look == self.look());
                if let Request::Look(look) = request
                    && is_last
                {
                    self.looking = false;
                    self.answered = Some(Rc::new(look.clone()));
                }
                // Whoever pastes another program does not mean its launch to be that of the last one.
                if view.launch_is_foreign && self.source_leads && is_last {
                    self.launches.replace((&self.before_edit.0, &self.before_edit.1), (&self.bench.source, ""));
                    self.bench.launch.clear();
                }
                // A step into a pass whose rewrites were not known yet stands at the first of them.
                if is_last && view.position.stage == self.position.stage && view.position.step > self.position.step {
                    self.position = view.position;
                }
                let view = Rc::new(*view);
                self.view = Some(view.clone());
                if !self.lacks_program() {
                    self.last_good = Some(view);
                }
            }
            Response::Questions(questions) => {
                if let Request::Listen(Listen { bench, position, .. }) = request {
                    self.heard = questions.map(|questions| {
                        let (bench, questions) = (bench.clone(), Rc::new(*questions));
                        Rc::new(Heard { bench, stage: position.stage, questions })
                    });
                }
            }
            Response::Candidates(candidates) => {
                if let Request::Weigh(weigh) = request {
                    self.weighed = candidates.map(|mut candidates| {
                        let painting = candidates.painting.take().map(Rc::new);
                        Rc::new(Weighed { asked: weigh.clone(), candidates: *candidates, painting })
                    });
                }
            }
            Response::Surveyed(surveyed) => {
                if let Request::Survey(survey) = request {
                    // What plays ends where nothing sinks any more.
                    self.asking &=
                        surveyed.as_ref().is_some_and(|surveyed| surveyed.next.is_some()) || !self.shows_paths();
                    self.paths.answer = surveyed.map(|surveyed| (Rc::new(survey.clone()), Rc::new(*surveyed)));
                }
            }
            Response::Simulated(runs) => {
                self.running = false;
                self.runs = Some(Rc::new(*runs));
                if let Request::Simulate(Simulate { before, after, .. }) = request {
                    self.ran = Rc::new((before.text.clone(), after.text.clone()));
                }
            }
            Response::Zeros(zeros) => {
                if let Request::Probe(probe) = request {
                    self.zeros = Some(Rc::new(Counted { asked: probe.clone(), zeros }));
                }
            }
            Response::Tried(tried) => {
                if let Request::Try(trial) = request {
                    Rc::make_mut(&mut self.trials).learn(trial.clone(), *tried);
                }
            }
            Response::Mapped(mapped) => {
                if let Request::Map(piece) = request {
                    Rc::make_mut(&mut self.map).learn(piece, *mapped);
                }
            }
            Response::Watched(moment) => {
                let ended = moment.as_ref().is_ok_and(|moment| moment.ended) || moment.is_err();
                // Somebody may have typed another number meanwhile.
                let is_last = matches!(request, Request::Watch(watch) if watch.issue == self.watched.issue);
                if let Some(moment) = moment.as_ref().ok().filter(|_| is_last) {
                    self.watched.issue = moment.issue;
                }
                self.watched.playing &= !(ended && is_last);
                self.moment = Some(Rc::new(moment));
            }
            Response::Link(Ok(link)) => self.dialog = Some(Dialog::Share(link)),
            Response::Link(Err(why)) => self.notice = Some(Notice { text: why, is_error: true }),
            Response::Opened(Ok(shared)) => self.load(*shared),
            Response::Opened(Err(why)) => {
                let text = format!("This link could not be opened: {why}. Here is an example instead.");
                self.notice = Some(Notice { text, is_error: true });
                self.load(examples::first());
            }
        }
    }
}

impl Reducible for Lab {
    type Action = Action;

    fn reduce(self: Rc<Self>, action: Action) -> Rc<Self> {
        let mut lab = (*self).clone();
        let says_moment = matches!(
            action,
            Action::WalkTo(_)
                | Action::WalkBy(_)
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
                let timeline = lab.timeline();
                lab.position = timeline.travel(lab.timeline_position(), travel);
                lab.watched = Watched { after: lab.watched.after, ..Watched::default() };
                (lab.stopped, lab.asking) = (false, false);
                // Playing ends at the last stop.
                lab.playing &= matches!(travel, Travel::Forward) && lab.position != timeline.last();
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
            Action::WalkTo(moment) => lab.walk_to(|_| moment),
            Action::WalkBy(moments) => lab.walk_to(|at| at.saturating_add_signed(moments)),
            Action::Paint(candidate) => lab.candidate = Some(candidate),
            Action::Trace(inst) => {
                (lab.paths.wanted, lab.paths.join, lab.asking) = (Some(inst), None, false);
                lab.walk_at = None;
            }
            Action::Join(block) => {
                lab.paths.join = Some(block);
                // The selection would say another one.
                lab.selected = None;
            }
            Action::Path(path) => lab.paths.path = path,
            Action::Frequency(blocks, frequency, declared) => lab.paths.give(blocks, frequency, declared),
            Action::ForgetFrequencies => lab.paths.frequencies.clear(),
            Action::Declare(text) => {
                lab.bench.source = text;
                // What is measured would take the place of what is declared.
                lab.bench.measured = None;
                lab.text_version += 1;
                lab.position = Position::default();
                lab.forget_runs();
            }
            Action::Ask(on) if lab.shows_paths() => {
                if lab.sink_at().is_some_and(|(at, last)| on && at == last) {
                    lab.walk_at = Some(0);
                }
                (lab.asking, lab.playing) = (on && lab.sink_at().is_some(), false);
            }
            Action::Ask(on) => {
                if let Some((course, at)) = lab.questions_at() {
                    let is_over = at == course.last;
                    lab.walk_to(|at| if on && is_over { 0 } else { at });
                    lab.asking = on;
                }
            }
            // Whoever watches wants to see every moment, however long the engine takes.
            Action::NextMoment if lab.shows_paths() => {
                if lab.is_surveyed() {
                    lab.sink_to(|at| at + 1);
                }
            }
            Action::NextMoment => {
                if lab.looking || lab.heard().is_none() {
                    return self;
                }
                lab.walk_to(|at| at + 1);
                lab.asking = lab.questions_at().is_some_and(|(course, at)| at < course.last);
            }
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
                if let Some(inst) =
                    selection.as_ref().and_then(|selection| selection.inst).filter(|_| lab.shows_paths())
                {
                    (lab.paths.wanted, lab.walk_at, lab.asking) = (Some(inst), None, false);
                }
                lab.selected = selection;
            }
            Action::Tab(tab) => lab.tab = tab,
            Action::Sheet(sheet) => lab.sheet = sheet,
            Action::Dialog(dialog) => lab.dialog = dialog,
            Action::Notice(notice) => lab.notice = notice,
            Action::Theme(theme) => lab.theme = theme,
            Action::OpenExample(title, shared) => {
                lab.keep(title);
                lab.load(*shared);
                lab.dialog = None;
                lab.notice = None;
            }
            Action::BringBack => {
                if let Some(kept) = Rc::make_mut(&mut lab.kept).pop() {
                    lab.load(kept);
                    // It is a person's own, whatever the example was.
                    lab.opened = None;
                    lab.kept_notice =
                        (!lab.kept.is_empty()).then(|| "What you had before that is kept, too.".to_owned());
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
                let text = format!("The engine failed: {why}. It starts again with your next step.");
                lab.notice = Some(Notice { text, is_error: true });
            }
            Action::Answered(request, response) => lab.take_answer(&request, response),
        }
        // Another position has its own usual moment.
        if !says_moment && (lab.bench != self.bench || lab.position != self.position) {
            lab.walk_at = None;
        }
        // Another program has its own best candidate.
        if lab.bench != self.bench || lab.position != self.position {
            lab.candidate = None;
            lab.paths.forget();
        }
        // From now on the view belongs to another bench, and nothing may be run that mixes the two.
        if lab.bench != self.bench
            || lab.position != self.position
            || lab.scope != self.scope
            || lab.walk_at != self.walk_at
        {
            lab.looking = lab.answered.as_deref() != Some(&lab.look());
        }
        Rc::new(lab)
    }
}

impl Lab {
    /// Shows the table of values or the questions at another moment, if there are any.
    fn walk_to(&mut self, moment: impl FnOnce(usize) -> usize) {
        if self.shows_paths() {
            self.asking = false;
            return self.sink_to(moment);
        }
        let Some(view) = self.view.clone().filter(|_| !self.has_mistakes()) else { return };
        let (course, at) = match (&view.walk, self.questions_at()) {
            // Quick hands are ahead of the engine.
            (Some(walk), _) => (&walk.course, self.walk_at.filter(|_| self.looking).unwrap_or(walk.at)),
            (None, Some((course, at))) => (course, at),
            (None, None) => return,
        };
        let moment = moment(at).min(course.last);
        self.position = Position { stage: view.position.stage, step: course.step_of(moment) };
        self.walk_at = Some(moment);
        (self.playing, self.asking) = (false, false);
    }

    /// The position as the last view clamped it, so that a step from the end starts at the end.
    fn timeline_position(&self) -> Position {
        self.timeline().clamp(self.position)
    }
}
