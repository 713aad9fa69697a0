//! Choices: among many options from a list that opens, among few from a row of buttons. The decision about the
//! chosen one is below them.

use warpscope_engine::message::inspect::{Choice, ChoiceOption, Inspection, Look, Note};
use yew::{Callback, Event, Html, html};

use super::super::change::{with_code, without_marks};
use super::table::help;
use crate::dom;
use crate::state::Action;

/// The settings, each a small list, in a part that opens.
pub fn settings(told: &Inspection, act: &Callback<Action>) -> Html {
    let settings: Vec<&Choice> = told.choices.iter().filter(|choice| choice.is_setting).collect();
    if settings.is_empty() {
        return Html::default();
    }
    let summary: Vec<String> =
        settings.iter().map(|choice| format!("{} {}", choice.label, value_label(choice))).collect();
    html! {
        <details class="inspected-settings" data-testid="inspected-settings">
            <summary>{ "Settings" }<small>{ summary.join(" · ") }</small></summary>
            <div>{ for settings.into_iter().map(|choice| html! { <div title={without_marks(&choice.help)}>{ menu(choice, act) }</div> }) }</div>
        </details>
    }
}

/// The label of the value in use.
fn value_label(choice: &Choice) -> &str {
    let option = choice.options.iter().find(|option| option.value == choice.value);
    option.map_or(&choice.value, |option| &option.label)
}

/// A choice, the `place`-th of what is shown.
pub fn choice(choice: &Choice, place: usize, told: &Inspection, act: &Callback<Action>) -> Html {
    let is_last = place + 1 == told.choices.len();
    html! {
        <>
            if choice.is_long { { menu(choice, act) } } else if !choice.options.is_empty() { { segments(choice, told, is_last, act) } }
            if let Some(result) = &choice.result { { decided(result) } }
        </>
    }
}

fn name(option: &ChoiceOption) -> String {
    if option.note.is_empty() { option.label.clone() } else { format!("{} · {}", option.label, option.note) }
}

fn menu(choice: &Choice, act: &Callback<Action>) -> Html {
    let choose = {
        let (act, key) = (act.clone(), choice.key.clone());
        Callback::from(move |event: Event| {
            if let Some(value) = dom::value(&event) {
                act.emit(Action::Choose(key.clone(), value));
            }
        })
    };
    let is_listed = choice.options.iter().any(|option| option.value == choice.value);
    html! {
        <label class="inspected-choice">
            <span>{ &choice.label }</span>
            <select onchange={choose} data-testid={format!("choice-{}", choice.key)}>
                if !is_listed { <option selected=true disabled=true>{ "choose one" }</option> }
                { for choice.options.iter().map(|option| html! {
                    <option key={option.value.clone()} value={option.value.clone()} selected={option.value == choice.value}>{ name(option) }</option>
                }) }
            </select>
        </label>
    }
}

fn segments(choice: &Choice, told: &Inspection, has_help: bool, act: &Callback<Action>) -> Html {
    let button = |option: &ChoiceOption| {
        let (act, key, value) = (act.clone(), choice.key.clone(), option.value.clone());
        html! {
            <label>
                <input type="radio" name={choice.key.clone()} checked={option.value == choice.value}
                    onchange={move |_| act.emit(Action::Choose(key.clone(), value.clone()))} />
                <span>{ &option.label }<small>{ &option.note }</small></span>
            </label>
        }
    };
    html! {
        <div class="inspected-choice">
            <span aria-hidden="true">{ &choice.label }</span>
            <fieldset class="segments options" data-testid={format!("choice-{}", choice.key)}>
                <legend class="hidden">{ &choice.label }</legend>
                { for choice.options.iter().map(button) }
            </fieldset>
            if has_help { { help(told, choice.result.as_ref()) } }
        </div>
    }
}

fn decided(result: &Note) -> Html {
    html! {
        <p class={if result.look == Look::Good { "decided good" } else { "decided" }} role="status">
            <span data-testid="decided">{ with_code(&result.sentence.replace("?s", "?\u{2060}s")) }</span>
            if !result.aside.is_empty() { <small data-testid="decided-aside">{ with_code(&result.aside) }</small> }
        </p>
    }
}
