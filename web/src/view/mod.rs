//! The panes. Each is a function of the laboratory's state; what a person does in it becomes an action.

mod blocks;
mod change;
mod chooser;
mod compare;
mod comparison;
mod dialogs;
mod figures;
mod graph;
mod header;
mod icons;
mod inspection;
mod knobs;
mod lanes;
mod machines;
mod moments;
mod notes;
mod number_field;
mod opening;
mod order;
mod passes;
mod problems;
mod program;
mod results;
mod scale;
mod sight;
mod simulator;
mod source;
mod splits;
mod strip;
mod transport;
mod zeros;

use std::ops::Deref;
use std::rc::Rc;

use yew::{Callback, Html, MouseEvent, UseReducerHandle, html};

use crate::state::{Action, Lab};

pub use change::{change, with_code};
pub use compare::Compare;
pub use dialogs::dialogs;
pub use graph::GraphPane;
pub use header::header;
pub use notes::Notes;
pub use passes::Passes;
pub use program::program;
pub use simulator::simulator;
pub use source::Source;
pub use splits::Splits;
pub use strip::strip;
pub use transport::transport;

use icons::Icon;

/// The state that a pane draws. Two are equal if they are the same one: comparing programs would cost more than
/// drawing them.
#[derive(Clone)]
pub struct Snapshot {
    drawn: Rc<Lab>,
    /// State for a handler whose act depends on an act before it.
    pub now: Now,
}

impl Snapshot {
    /// The state as it is now.
    pub fn of(store: &UseReducerHandle<Lab>) -> Snapshot {
        Snapshot { drawn: Rc::new((**store).clone()), now: Now(store.clone()) }
    }
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.drawn, &other.drawn)
    }
}

impl Deref for Snapshot {
    type Target = Lab;

    fn deref(&self) -> &Lab {
        &self.drawn
    }
}

/// The way to the state as it is when somebody looks. A quick hand acts again before the page has drawn what it did
/// last: a handler that went by what is drawn would lose a step. There is one, so that any two are equal.
#[derive(Clone)]
pub struct Now(UseReducerHandle<Lab>);

impl Now {
    /// The state now.
    pub fn lab(&self) -> Lab {
        // A handle keeps all that was ever read through it: the clone goes with its one.
        let store = self.0.clone();
        (*store).clone()
    }
}

impl PartialEq for Now {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A part of the state that an expensive view draws; equal if it is the same one, as with [`Snapshot`].
#[derive(Debug)]
pub struct Shared<T>(pub Rc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}

impl<T> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

/// Properties of every pane.
#[derive(Clone, PartialEq, yew::Properties)]
pub struct PaneProps {
    /// State to draw.
    pub lab: Snapshot,
    /// Callback for actions.
    pub act: Callback<Action>,
}

/// A button with a pictogram and a name. One that can do nothing keeps the focus: who presses it until nothing more happens
/// is still there.
fn icon_button(icon: Icon, name: &str, disabled: bool, onclick: Callback<MouseEvent>) -> Html {
    html! {
        <button type="button" class="icon-button" aria-label={name.to_owned()} title={name.to_owned()}
            aria-disabled={disabled.then_some("true")} onclick={if disabled { Callback::noop() } else { onclick }}>
            { icon.html() }
        </button>
    }
}

/// A callback that does one thing whatever the event says.
fn on<E>(act: &Callback<Action>, action: impl Fn() -> Action + 'static) -> Callback<E> {
    let act = act.clone();
    Callback::from(move |_: E| act.emit(action()))
}

/// A text of at most so many characters; what is cut ends in `…`.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// A text of at most so many characters; what is cut is in the middle, as copies of a block differ in their ends.
fn shortened_within(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let (begin, end) = ((most - 1) / 2, most / 2);
    text.chars().take(begin).chain(['…']).chain(text.chars().skip(length - end)).collect()
}

/// `1 rewrite`, `2 rewrites`.
fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// `1,234,567`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `3.4 ms`, `1.2 s`. Browsers round their clocks to a tenth of a millisecond.
fn duration(micros: f64) -> String {
    match micros {
        m if m < 100.0 => "< 0.1 ms".to_owned(),
        m if m < 1_000_000.0 => format!("{:.1} ms", m / 1_000.0),
        m => format!("{:.1} s", m / 1_000_000.0),
    }
}
