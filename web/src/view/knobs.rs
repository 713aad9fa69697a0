//! The side sheet of a pass: its knobs with their help, the entries of a pipeline, and examples. It is not modal: the
//! panes beside it show at once what a turned knob changes.

use warpscope_engine::message::{KnobInfo, Part, PassInfo, Stage, StageResult};
use yew::{Callback, Event, Html, InputEvent, KeyboardEvent, MouseEvent, component, html, use_effect_with};

use super::change::{with_code, without_marks};
use super::icons::Icon;
use super::passes::phase_number;
use super::{count, icon_button};
use crate::dom;
use crate::examples::{self, Example};
use crate::state::{Action, PipelineEdit};

/// Id of the sheet.
pub const SHEET: &str = "knob-sheet";

/// A whole number of at most so many values gets a slider.
const MOST_STEPS: f64 = 100.0;

/// Properties of the sheet.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// Index of the entry.
    pub index: usize,
    /// The entry.
    pub stage: Stage,
    /// Its pass.
    pub info: PassInfo,
    /// Result of the pass in a few words.
    pub outcome: String,
    /// Result of the entry.
    pub result: Option<StageResult>,
    /// Opens an example.
    pub on_example: Callback<(&'static Example, Option<usize>)>,
    /// Closes the sheet.
    pub on_close: Callback<()>,
    /// Callback for actions.
    pub act: Callback<Action>,
}

/// The content of a pass's sheet in one word; none if there is nothing to show.
pub fn details(info: &PassInfo) -> Option<&'static str> {
    if !info.knobs.is_empty() {
        Some("Knobs")
    } else if !info.parts.is_empty() {
        Some("Passes")
    } else {
        (!examples::of_pass(&info.name).is_empty()).then_some("Examples")
    }
}

/// The sheet.
#[component]
pub fn KnobSheet(Props { index, stage, info, outcome, result, on_example, on_close, act }: &Props) -> Html {
    let index = *index;
    // The browser scrolls to what it focuses.
    use_effect_with((), |()| dom::focus(SHEET));
    let onkeydown = {
        let on_close = on_close.clone();
        Callback::from(move |event: KeyboardEvent| {
            if event.key() == "Escape" {
                event.prevent_default();
                on_close.emit(());
            }
        })
    };
    let take_apart = {
        let (act, parts) = (act.clone(), info.parts.clone());
        Callback::from(move |_: MouseEvent| {
            let stages = parts.iter().map(|part| part.stage.clone()).collect();
            act.emit(Action::Pipeline(PipelineEdit::TakeApart(index, stages)));
            dom::focus_later(format!("grip-{index}"));
        })
    };
    let is_turned = !stage.knobs.is_empty();
    let reset_all = match is_turned {
        true => act.reform(move |_: MouseEvent| Action::Pipeline(PipelineEdit::ResetKnobs(index))),
        false => Callback::noop(),
    };
    let why_off = info.off.as_ref().filter(|_| !stage.on);
    html! {
        <div class="knob-sheet" id={SHEET} role="dialog" aria-labelledby="knob-sheet-title" tabindex="-1" data-testid="knob-sheet" {onkeydown}>
            <div class="sheet-head">
                <h3 id="knob-sheet-title">{ details(info).unwrap_or_default() }{ " of " }<code>{ &stage.pass }</code></h3>
                if !info.knobs.is_empty() {
                    <button type="button" class="plain small" aria-disabled={(!is_turned).then_some("true")} onclick={reset_all}>{ "Reset all" }</button>
                }
                { icon_button(Icon::Close, "Close", false, on_close.reform(|_| ())) }
            </div>
            <div class="scroll sheet-body" tabindex="-1">
                <p>{ with_code(&info.summary) }</p>
                if let Some(why) = why_off { <p class="why-off">{ with_code(why) }</p> }
                if !outcome.is_empty() { <p class="note">{ outcome }</p> }
                if !info.knobs.is_empty() {
                    <ul class="knobs">{ for info.knobs.iter().map(|knob| knob_row(knob, stage.knobs.get(&knob.name), index, act)) }</ul>
                }
                if !info.parts.is_empty() {
                    { part_list(&info.parts, result.as_ref(), on_example) }
                    <button type="button" class="plain small" onclick={take_apart}>{ "Take apart" }</button>
                }
                { example_list(&stage.pass, on_example) }
            </div>
        </div>
    }
}

/// A knob: its names, its control, the mark and the way back where it has not its default, and its help.
fn knob_row(knob: &KnobInfo, value: Option<&String>, stage: usize, act: &Callback<Action>) -> Html {
    let id = format!("knob-{}", knob.name);
    let names = html! { <><label for={id.clone()}>{ &knob.label }</label><code>{ &knob.name }</code></> };
    if let Some(why) = &knob.unavailable {
        return html! {
            <li class="unavailable"><span><span class="label">{ &knob.label }</span><code>{ &knob.name }</code></span><p class="note">{ with_code(why) }</p></li>
        };
    }
    let reset = {
        let (act, name, id) = (act.clone(), knob.name.clone(), id.clone());
        Callback::from(move |_: MouseEvent| {
            act.emit(Action::Pipeline(PipelineEdit::Turn { stage, knob: name.clone(), value: None }));
            // The button goes.
            dom::focus(&id);
        })
    };
    let range =
        if is_typed(knob, value.unwrap_or(&knob.default)) { format!(" Takes {}.", knob.range) } else { String::new() };
    html! {
        <li class={value.is_some().then_some("turned")}>
            <span>{ names }</span>
            { control(knob, value, &id, stage, act) }
            if value.is_some() {
                <p class="turned-note">
                    { format!("Default: {}", knob.default) }
                    <button type="button" class="quiet" aria-label={format!("Reset {}", knob.label)} onclick={reset}>{ "reset" }</button>
                </p>
            }
            <p class="note" id={format!("{id}-help")}>{ with_code(&knob.summary) }{ range }</p>
        </li>
    }
}

/// Whether a slider shows a value of the knob.
fn is_slid(knob: &KnobInfo, value: &str) -> bool {
    let most = if knob.is_whole { MOST_STEPS } else { 1.0 };
    let bounds = knob.bounds.filter(|(least, greatest)| greatest - least <= most);
    bounds.zip(value.parse().ok()).is_some_and(|((least, greatest), value)| (least..=greatest).contains(&value))
}

/// Whether a value of the knob is typed.
fn is_typed(knob: &KnobInfo, value: &str) -> bool {
    knob.choices.is_empty() && !is_slid(knob, value)
}

fn control(knob: &KnobInfo, value: Option<&String>, id: &str, stage: usize, act: &Callback<Action>) -> Html {
    let turn = {
        let (act, name, default) = (act.clone(), knob.name.clone(), knob.default.clone());
        move |value: Option<String>| {
            let value = value.filter(|value| *value != default);
            act.emit(Action::Pipeline(PipelineEdit::Turn { stage, knob: name.clone(), value }));
        }
    };
    let value = value.unwrap_or(&knob.default).clone();
    let (id, help) = (id.to_owned(), format!("{id}-help"));
    if knob.choices == ["true", "false"] {
        let onchange = Callback::from(move |event: Event| turn(Some(dom::is_checked(&event).to_string())));
        return html! { <input type="checkbox" {id} aria-describedby={help} checked={value == "true"} {onchange} /> };
    }
    if !knob.choices.is_empty() {
        let onchange = Callback::from(move |event: Event| turn(dom::value(&event)));
        return html! {
            <select {id} aria-describedby={help} {onchange}>
                { for knob.choices.iter().map(|choice| html! {
                    <option value={choice.clone()} selected={*choice == value}>{ choice }</option>
                }) }
            </select>
        };
    }
    // At each key, since a redraw in between would wipe what is half typed; a field left empty means the default.
    let oninput = Callback::from({
        let turn = turn.clone();
        move |event: InputEvent| turn(dom::value(&event))
    });
    if let Some((least, greatest)) = knob.bounds.filter(|_| is_slid(knob, &value)) {
        let step = if knob.is_whole { "1" } else { "0.01" };
        return html! {
            <span class="knob-slider">
                <input type="range" {id} aria-describedby={help} min={least.to_string()} max={greatest.to_string()} {step} value={value.clone()} {oninput} />
                <output>{ value }</output>
            </span>
        };
    }
    let onchange = Callback::from(move |event: Event| turn(dom::value(&event).filter(|value| !value.is_empty())));
    html! { <input type="text" {id} aria-describedby={help} {value} {oninput} {onchange} spellcheck="false" /> }
}

/// The entries of a pipeline with a name, with their numbers; what it keeps switched off says why.
fn part_list(
    parts: &[Part],
    result: Option<&StageResult>,
    on_example: &Callback<(&'static Example, Option<usize>)>,
) -> Html {
    let rewrites = |index: usize| result.and_then(|result| result.parts.get(index)).copied().unwrap_or(0);
    html! {
        <ol class="parts">
            { for parts.iter().enumerate().map(|(index, Part { stage, off })| html! {
                <li class={off.is_some().then_some("off")}>
                    { phase_number(&stage.phase) }
                    <code>{ &stage.pass }</code>
                    { show_one(&stage.pass, on_example) }
                    if rewrites(index) > 0 {
                        <span class="note"><span class="mark" aria-hidden="true">{ "● " }</span>{ count(rewrites(index), "change") }</span>
                    }
                    { for stage.knobs.iter().map(|(name, value)| html! { <span class="note">{ format!("{name} = {value}") }</span> }) }
                    if let Some(why) = off { <span class="why-off">{ with_code(why) }</span> }
                </li>
            }) }
        </ol>
    }
}

/// The button that opens the first example of a pass.
fn show_one(pass: &str, on_example: &Callback<(&'static Example, Option<usize>)>) -> Html {
    let Some(&(example, stage)) = examples::of_pass(pass).first() else { return Html::default() };
    let onclick = on_example.reform(move |_: MouseEvent| (example, Some(stage)));
    icon_button(Icon::Examples, &format!("Open an example: {pass}"), false, onclick)
}

/// All examples of a pass, with their names.
fn example_list(pass: &str, on_example: &Callback<(&'static Example, Option<usize>)>) -> Html {
    let examples = examples::of_pass(pass);
    if examples.is_empty() {
        return Html::default();
    }
    html! {
        <div class="show-one">
            <span>{ "Open an example" }</span>
            <ul>
                { for examples.into_iter().map(|(example, stage)| {
                    let onclick = on_example.reform(move |_: MouseEvent| (example, Some(stage)));
                    html! { <li><button type="button" class="quiet" title={without_marks(example.summary)} {onclick}>{ example.title }</button></li> }
                }) }
            </ul>
        </div>
    }
}
