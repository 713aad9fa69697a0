//! Another bench takes the place of the one that is there: an example, a link, or what was kept.

use std::rc::Rc;

use warpscope_engine::message::{Bench, Shared};

use super::{Lab, Tab, Watched};
use crate::examples::{self, Example};

/// Benches that are kept while examples are open; the oldest goes first.
const MOST_KEPT: usize = 24;

/// The bench that a link replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct BeforeLink {
    /// All that a link holds of it.
    shared: Shared,
    /// That bench as it had been opened.
    opened: Option<Rc<Bench>>,
    /// Example that it was.
    example: Option<&'static Example>,
}

impl Lab {
    /// Everything that a link holds.
    pub fn shared(&self) -> Shared {
        Shared {
            bench: self.bench.clone(),
            position: self.view.as_ref().map_or(self.position, |view| view.position),
            scope: self.scope,
            moment: self.moment_at,
            settings: self.settings.clone(),
        }
    }

    pub(super) fn load(&mut self, shared: Shared) {
        let before = std::mem::replace(&mut self.bench, shared.bench);
        self.launches.replace((&before.source, &before.launch), (&self.bench.source, &self.bench.launch));
        self.last_good = None;
        self.opened = Some(Rc::new(self.bench.clone()));
        self.is_newly_opened = true;
        self.position = shared.position;
        self.waiting.clear();
        self.scope = shared.scope;
        self.moment_at = shared.moment;
        self.settings = shared.settings;
        self.text_version += 1;
        self.source_leads = false;
        self.selected = None;
        self.pipelines = None;
        self.varied = None;
        (self.example, self.shows_source, self.is_comparing) = (None, false, false);
        self.tab = Tab::Source;
        self.forget_runs();
    }

    /// Keeps what is there, if a person has changed it, before something else takes its place, which that sentence tells.
    pub(super) fn keep(&mut self, what: &str) {
        if self.opened.as_deref() != Some(&self.bench) {
            let shared = self.shared();
            let kept = Rc::make_mut(&mut self.kept);
            if kept.len() == MOST_KEPT {
                kept.remove(0);
            }
            kept.push(shared);
        }
        if !self.kept.is_empty() {
            self.kept_notice = Some(format!("{what} Your own program and passes are kept."));
        }
    }

    /// Remembers the bench that a link replaces, unless that came by a link itself.
    pub(super) fn enter_link(&mut self) {
        if self.before_link.is_none() {
            let (shared, opened, example) = (self.shared(), self.opened.clone(), self.example);
            self.before_link = Some(Rc::new(BeforeLink { shared, opened, example }));
        }
    }

    /// Brings back the bench before the links, and keeps what a person has made of the last one.
    pub(super) fn leave_link(&mut self) {
        let Some(before) = self.before_link.take() else { return };
        let BeforeLink { shared, opened, example } = (*before).clone();
        // It has been kept while the links were open, and is there again.
        if opened.as_deref() != Some(&shared.bench) {
            let kept = Rc::make_mut(&mut self.kept);
            if let Some(place) = kept.iter().rposition(|kept| *kept == shared) {
                kept.remove(place);
            }
        }
        self.kept_notice = None;
        if self.bench != shared.bench {
            self.keep("You are back from the link.");
        }
        self.load(shared);
        (self.opened, self.example) = (opened, example);
    }

    /// Opens the example that a newcomer meets.
    pub(super) fn load_first_example(&mut self) {
        self.load(examples::first());
        self.example = Some(examples::FIRST_EXAMPLE);
    }

    /// A bench that was opened and has never had a program that runs shows no figures: those that are there are of the bench
    /// before it, which may have been an example that nobody has seen. Where a program was edited, its last figures stay.
    pub(super) fn forget_others_runs(&mut self) {
        if self.lacks_program() && self.last_good.is_none() {
            (self.runs, self.ran) = (None, Rc::default());
            (self.zeros, self.moment) = (None, None);
        }
    }

    /// Results of another program are worse than none.
    pub(super) fn forget_runs(&mut self) {
        (self.playing, self.asking) = (false, false);
        self.stopped = false;
        self.watched = Watched { after: self.watched.after, ..Watched::default() };
    }
}
