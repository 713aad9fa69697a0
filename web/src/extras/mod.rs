//! Views that the first one does not need, as a program of their own: WebAssembly cannot be split, so a second binary holds
//! them, in an element of the page's, and is loaded when somebody first wishes for one.
//!
//! ```text
//! page    Host ── Subject, as bytes ──▶ extras    mounted once, told of each change
//!         Host ◀── text of a failure ── extras
//! ```
//!
//! The extras have a state and an engine of their own: what is tried there concerns no other view.

mod app;
mod host;

use serde::{Deserialize, Serialize};
use warpscope_engine::message::{Bench, Settings, View};

use crate::state::Lab;

pub use app::{mount, update};
pub use host::Host;

/// Subject of the extras: as much of the page's state as they draw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// Whether somebody sees them, and the view is that of the bench: only then do they ask their engine.
    is_shown: bool,
    bench: Bench,
    settings: Settings,
    /// The view without texts, lines and graph.
    view: Option<View>,
    /// Catalogue, which tells the passes that predict their gain.
    catalogue: warpscope_engine::message::Catalogue,
}

impl Subject {
    /// The part of the page's state.
    pub fn of(lab: &Lab) -> Subject {
        let view = lab.view.as_ref().map(|view| View {
            kernel: view.kernel.clone(),
            launch: view.launch.clone(),
            sources: view.sources.clone(),
            // Whether there is a program is all that is asked of its text.
            after: view.after.chars().take(1).collect(),
            language: view.language,
            ..View::default()
        });
        Subject {
            is_shown: lab.is_comparing && !lab.looking,
            bench: lab.bench.clone(),
            settings: lab.settings.clone(),
            view,
            catalogue: lab.catalogue.as_deref().cloned().unwrap_or_default(),
        }
    }

    /// Takes the place of that part of a state. Another program has its usual pipelines.
    pub fn become_state_of(self, lab: &mut Lab) {
        if lab.bench.source != self.bench.source {
            (lab.pipelines, lab.varied) = (None, None);
        }
        lab.is_comparing = self.is_shown;
        (lab.bench, lab.settings) = (self.bench, self.settings);
        lab.view = self.view.map(std::rc::Rc::new);
        lab.catalogue = Some(std::rc::Rc::new(self.catalogue));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpscope_engine::message::wire;

    #[test]
    fn subjects_carry_all_questions_of_comparisons() {
        let mut lab = Lab::new();
        (lab.is_comparing, lab.looking) = (true, false);
        let view = View { kernel: "k".to_owned(), after: "kernel k".to_owned(), ..View::default() };
        lab.view = Some(std::rc::Rc::new(view));
        let bytes = wire::encode(&Subject::of(&lab)).expect("a subject is data");
        let subject: Subject = wire::decode(&bytes).expect("ours");
        let mut extras = Lab::new();
        subject.become_state_of(&mut extras);
        assert!(lab.next_trial().is_some());
        assert_eq!((extras.next_trial(), extras.next_map()), (lab.next_trial(), lab.next_map()));
    }
}
