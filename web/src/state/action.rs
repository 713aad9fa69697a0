//! All that can happen on the page: what a person did, what the engine said, and that time passed.

use warpscope_engine::message::{Guard, Request, Response, Scope, Shared};

use super::choices::{Dialog, Notice, Results, Selection, Shape, Sheet, Tab, Theme, Watched};
use super::{PipelineEdit, SettingsEdit, Travel};
use crate::examples::Example;
use crate::extras::Subject;

/// Actions of users and engine.
#[derive(Clone, Debug)]
pub enum Action {
    /// A person edited the program.
    EditSource(String),
    /// A person edited the launch.
    EditLaunch(String),
    /// The passes changed.
    Pipeline(PipelineEdit),
    /// These knobs are set, so that the program can be written as PTX.
    GuardLoads(Vec<Guard>),
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
    /// The diff compares something else; none follows the change.
    Scope(Option<Scope>),
    /// The table of values or the questions are shown at another moment; the transport goes along.
    WalkTo(usize),
    /// Walks by so many moments.
    WalkBy(isize),
    /// Goes to where an inquiry begins or ends: the next such moment, or the last one before.
    WalkToInquiry {
        /// Whether to the next one.
        is_forward: bool,
    },
    /// Answers that are still to come are listed, or not.
    ShowOutcomes(bool),
    /// Something is chosen in what a pass shows: a key and a value.
    Choose(String, String),
    /// The numbers that have been entered in what a pass shows are taken back.
    ForgetEntries,
    /// The source declares a profile, in this text.
    Declare(String),
    /// The questions start or stop to move by themselves.
    Ask(bool),
    /// Time passed while they do.
    NextMoment,
    /// The comparison of pipelines takes the place of the panes, or gives it back.
    ShowComparison(bool),
    /// Another bench, or other settings, are compared.
    Subject(Box<Subject>),
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
    /// The address has no link any more: the bench before it comes back.
    LinkLeft,
    /// The colours change.
    Theme(Theme),
    /// An example replaces everything; what a person has changed is kept.
    OpenExample(&'static Example, Box<Shared>),
    /// The page takes another shape.
    Shape(Shape),
    /// The source takes the place of the program at the position, or gives it back.
    ShowSource(bool),
    /// Restores what was kept last.
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
