//! The buttons and the slider that go through the moments of a pass.

use yew::{Callback, Html, InputEvent, html};

use super::icons::Icon;
use super::{icon_button, on};
use crate::dom;
use crate::state::Action;

/// Properties of the stepper.
pub struct Stepper<'a> {
    /// Subject of the moments, for people.
    pub name: &'a str,
    /// Name of the slider.
    pub slider: &'a str,
    /// The moment that is shown.
    pub at: usize,
    /// The last moment.
    pub last: usize,
    /// Content before the button back.
    pub before: Html,
    /// Content between the buttons back and forward.
    pub between: Html,
    /// Content after the button forward.
    pub after: Html,
    /// Content at the end.
    pub end: Html,
}

impl Stepper<'_> {
    /// The row.
    pub fn html(self, act: &Callback<Action>) -> Html {
        let Stepper { name, slider, at, last, before, between, after, end } = self;
        let go = |by: isize| on(act, move || Action::WalkBy(by));
        let slide = {
            let act = act.clone();
            Callback::from(move |event: InputEvent| {
                if let Some(to) = dom::value(&event).and_then(|value| value.parse().ok()) {
                    act.emit(Action::WalkTo(to));
                }
            })
        };
        let filled = at as f64 / last.max(1) as f64 * 100.0;
        html! {
            <div class="stepper" role="group" aria-label={name.to_owned()}>
                { before }
                { icon_button(Icon::Back, "One moment back", at == 0, go(-1)) }
                { between }
                { icon_button(Icon::Forward, "One moment forward", at >= last, go(1)) }
                { after }
                <input type="range" min="0" max={last.to_string()} step="1" value={at.to_string()} oninput={slide}
                    aria-label={slider.to_owned()} aria-valuetext={format!("moment {at} of {last}")}
                    style={format!("--at:{filled:.2}%")} data-testid="walk" />
                <span class="note" data-testid="walk-place">{ format!("{at} / {last}") }</span>
                { end }
            </div>
        }
    }
}
