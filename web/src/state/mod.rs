//! State of the page, and how it changes: a value, and a function from value and action to value.
//!
//! Every view is a function of a [`Lab`]. Whatever takes time (the engine, the clipboard, a timer) happens in
//! [`crate::app`] and comes back as an [`Action`], so that this folder can be tested without a browser.
//!
//! | file | what it holds |
//! |---|---|
//! | `lab` | all that the page knows |
//! | `action` | all that can happen |
//! | `reduce` | what happens, and how that changes what the page knows |
//! | `answers` | what the engine has answered, and to which question |
//! | `choices` | what a person chooses of how the page looks |
//! | `opening` | another bench takes the place of the one before, which is kept |
//! | `programs` | the programs that are shown and run |
//! | `timeline`, `moments` | the stops of the transport, and the moments between them |
//! | `pipeline`, `settings` | edits of the passes and of the simulator's settings |
//! | `inspection` | what is shown of a pass |
//! | `trials`, `map` | pipelines side by side, and the map of zeros and divergence |
//! | `launches`, `share` | launches that belong to programs; how long links may be |

mod action;
mod answers;
mod choices;
mod inspection;
mod lab;
mod launches;
mod map;
mod moments;
mod opening;
mod pipeline;
mod programs;
mod reduce;
mod settings;
mod share;
#[cfg(test)]
mod tests;
mod timeline;
mod trials;

pub use action::Action;
pub use choices::{Dialog, Notice, Pane, Results, Selection, Shape, Sheet, Tab, Theme, Watched};
pub use lab::Lab;
pub use map::{HeatMap, variable};
pub use pipeline::PipelineEdit;
pub use settings::{SettingsEdit, is_of_machine};
pub use share::link_advice;
pub use timeline::{Timeline, Travel};
pub use trials::{MOST_COMPARED, POINTS, divergence};
