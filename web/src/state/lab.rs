//! All that the page knows: a program and its passes, where a person stands and looks, and what the engine has answered.

use std::collections::BTreeMap;
use std::rc::Rc;

use warpscope_engine::message::{
    Bench, Catalogue, Look, Moment, Position, Request, Scope, Settings, Shared, Simulated, View,
};

use super::answers::{Answered, Counted};
use super::choices::{Dialog, Notice, Results, Selection, Shape, Sheet, Tab, Theme, Watched};
use super::launches::Launches;
use super::map::HeatMap;
use super::opening::BeforeLink;
use super::timeline::Travel;
use super::trials::Trials;
use crate::examples::Example;

/// The laboratory as the page knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Lab {
    /// Program and passes.
    pub bench: Bench,
    /// Position of the transport, as requested; the view says the one reached.
    pub position: Position,
    /// Moves of the transport that wait for the first answer about this bench, which tells the stops.
    pub waiting: Vec<Travel>,
    /// Scope of the diff as a person chose it; none follows the change.
    pub scope: Option<Scope>,
    /// The moment of an inspection that is shown; none is the usual one.
    pub moment_at: Option<usize>,
    /// Choices in the inspection of a pass, by key.
    pub choices: BTreeMap<String, String>,
    /// The last answer about that.
    pub inspected: Option<Rc<Answered>>,
    /// Whether the moments move by themselves.
    pub asking: bool,
    /// Whether answers that are still to come are listed.
    pub shows_outcomes: bool,
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
    /// Choices, once the engine has sent them.
    pub catalogue: Option<Rc<Catalogue>>,
    /// The last answer about bench and position.
    pub view: Option<Rc<View>>,
    /// The last answer with a program, for the time in which the present one has mistakes.
    pub last_good: Option<Rc<View>>,
    /// The last question about them that was answered while nobody had a newer one.
    pub answered: Option<Rc<Look>>,
    /// Whether a newer answer is on its way.
    pub looking: bool,
    /// Whether the bench that was opened last has not been answered for yet: what still comes is about the one before it.
    pub is_newly_opened: bool,
    /// Whether the program was edited after the launch.
    pub source_leads: bool,
    /// Whether the engine has been loaded.
    pub is_engine_ready: bool,
    /// The last runs.
    pub runs: Option<Rc<Simulated>>,
    /// The texts of the programs that ran.
    pub ran: Rc<(String, String)>,
    /// View of the runs.
    pub results: Results,
    /// The last answer about zeros.
    pub zeros: Option<Rc<Counted>>,
    /// Whether newer runs are on their way.
    pub running: bool,
    /// How many runs have been asked for.
    pub runs_asked: u32,
    /// Whether a person stopped the simulator; it starts again when something changes.
    pub stopped: bool,
    /// Subject of the lanes view.
    pub watched: Watched,
    /// The last answer about it.
    pub moment: Option<Rc<Result<Box<Moment>, String>>>,
    /// The pipelines that are compared; none are the usual ones.
    pub pipelines: Option<Rc<Vec<String>>>,
    /// Trials known so far.
    pub trials: Rc<Trials>,
    /// The input or buffer that varies in the map of zeros and divergence; none is all that are ever zero.
    pub varied: Option<String>,
    /// Map as known so far.
    pub map: Rc<HeatMap>,
    /// The block or line that is selected everywhere.
    pub selected: Option<Selection>,
    /// Shape of the page.
    pub shape: Shape,
    /// Whether the comparison of pipelines takes the place of the panes.
    pub is_comparing: bool,
    /// Whether the source takes the place of the program at the position, in the shape for readers.
    pub shows_source: bool,
    /// Example that is open; none for a person's own program.
    pub example: Option<&'static Example>,
    /// Which text the source pane shows.
    pub tab: Tab,
    /// The sheet of the change pane.
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
    /// Benches that examples have replaced, where they were more than another example; the last one at the end.
    pub kept: Rc<Vec<Shared>>,
    /// The bench that the first of the links in the address replaced.
    pub before_link: Option<Rc<BeforeLink>>,
    /// Notice about it, until it is closed.
    pub kept_notice: Option<String>,
    /// Light, dark, or as the system says.
    pub theme: Theme,
}

impl Lab {
    /// First example, which newcomers see.
    pub fn new() -> Self {
        let mut lab = Lab {
            bench: Bench::default(),
            position: Position::END,
            waiting: Vec::new(),
            scope: None,
            moment_at: None,
            choices: BTreeMap::new(),
            inspected: None,
            asking: false,
            shows_outcomes: false,
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
            is_newly_opened: false,
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
            shape: Shape::Learn,
            is_comparing: false,
            shows_source: false,
            example: None,
            tab: Tab::Source,
            sheet: Sheet::Usual,
            playing: false,
            pace: 1.0,
            dialog: None,
            notice: None,
            opened: None,
            kept: Rc::default(),
            before_link: None,
            kept_notice: None,
            theme: Theme::System,
        };
        lab.load_first_example();
        lab
    }

    /// Whether the selection is this block.
    pub fn is_selected(&self, block: &str) -> bool {
        self.selected.as_ref().is_some_and(|selection| selection.block == block)
    }

    /// All questions that the page has now.
    pub fn questions(&self) -> Vec<Request> {
        let mut questions = vec![Request::Catalogue, Request::Look(self.look())];
        questions.extend(self.inspect().map(Request::Inspect));
        if let Some(simulate) = self.simulate() {
            let watch = self.watched.question(&simulate);
            questions.extend([Request::Simulate(simulate), Request::Watch(watch)]);
        }
        questions
    }
}
