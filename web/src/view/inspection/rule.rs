//! The rule of a moment: a button with its name, and its text once that is pressed. Opened, it follows the moments.

use warpscope_engine::message::inspect::{Moment, Timeline};
use yew::{Callback, Html, MouseEvent, UseStateHandle, html};

use super::super::change::with_code;

const TEXT_ID: &str = "rule-text";

/// The name of a moment's rule: a button if the rule has a text.
pub fn chip(moment: &Moment, is_open: &UseStateHandle<bool>) -> Html {
    let name = match moment.rule.chars().next() {
        None => return Html::default(),
        Some(first) if first.is_ascii_digit() => format!("rule {}", moment.rule),
        Some(_) => moment.rule.clone(),
    };
    if moment.cites.is_none() {
        return html! { <span class="chip rule">{ name }</span> };
    }
    let toggle = {
        let is_open = is_open.clone();
        Callback::from(move |_: MouseEvent| is_open.set(!*is_open))
    };
    html! {
        <button type="button" class="chip rule" aria-expanded={is_open.to_string()} aria-controls={is_open.then_some(TEXT_ID)}
            onclick={toggle} data-testid="rule">{ name }</button>
    }
}

/// The text of a moment's rule, if it is open.
pub fn text(moment: Option<&Moment>, timeline: Option<&Timeline>, is_open: bool) -> Html {
    let rule = moment.zip(timeline).and_then(|(moment, timeline)| timeline.rules.get(moment.cites?));
    let Some(rule) = rule.filter(|_| is_open) else { return Html::default() };
    html! {
        <p class="rule-text" id={TEXT_ID} data-testid="rule-text">{ with_code(&rule.text) }<small>{ &rule.source }</small></p>
    }
}
