//! Choices of a person about the page: what is selected, which of its sheets a pane shows, which dialog is open.

use warpscope_engine::message::{Printed, Simulate, Watch};

/// A selected block or instruction, and who selected it: the other views scroll to it, that one stays where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The block's name.
    pub block: String,
    /// The instruction's identity, if one is selected.
    pub inst: Option<u32>,
    /// Pane that a person pointed into.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The program at the position rather than the source.
    pub after: bool,
    /// Instructions issued.
    pub issue: u64,
    /// Whether it moves by itself.
    pub playing: bool,
    /// Number of the warp that a person chose to follow; none follows the first one that has not ended.
    pub warp: Option<u64>,
}

impl Default for Watched {
    /// The program at the position, whose graph is beside it, before its first issue.
    fn default() -> Self {
        Watched { after: true, issue: 0, playing: false, warp: None }
    }
}

impl Watched {
    /// The question about one of the two programs that are run.
    pub fn question(self, simulate: &Simulate) -> Watch {
        let Simulate { before, after, settings, .. } = simulate;
        let program = if self.after { after } else { before };
        Watch { program: program.clone(), settings: settings.clone(), issue: self.issue, warp: self.warp }
    }
}

/// Shapes of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// For readers: notes, one text, the graph, four figures.
    #[default]
    Learn,
    /// For engineers: every pane.
    Lab,
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

/// A sheet of the change pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sheet {
    /// An inspection with moments if there is one, otherwise the compared texts.
    #[default]
    Usual,
    /// The compared texts.
    Lines,
    /// The inspection of that heading.
    Inspected(String),
}

/// Views of the runs.
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

/// Dialogs over the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// Programs to start from.
    Examples,
    /// Shortcuts and what the marks mean.
    Help,
    /// Costs of operations on the machine models.
    Machines,
    /// A link to this bench.
    Share(String),
    /// The program as PTX; none while it is being printed.
    Ptx(Option<Box<Printed>>),
}

/// Something that a person should know, shown until it is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Text of the event.
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
