//! An inspection of a pass, whatever pass it is: moments, a sentence, choices, tables with verdicts, the meanings of the
//! marks. The chosen row is marked on graph and text.

mod choices;
mod marks;
mod table;

use warpscope_engine::message::inspect::{Inspection as Told, Key, Look, Note, Offer};
use yew::{Callback, Html, MouseEvent, component, html};

use super::change::with_code;
use super::icons::Icon;
use super::moments::Stepper;
use super::transport::pace;
use super::{PaneProps, Snapshot, on};
use crate::state::{Action, Lab};

use choices::choice;
pub use marks::LineMarks;
pub use table::STRANDS;
use table::table;

/// An inspection.
#[component]
pub fn Inspection(PaneProps { lab, act }: &PaneProps) -> Html {
    let Some(told) = lab.inspection() else {
        return html! { <div class="values inspection" data-testid="inspection"><p class="happened" role="status" data-testid="inspection-lead">{ "Looking…" }</p></div> };
    };
    let has_marks = !told.legend.is_empty() || told.timeline.is_none() && can_choose(told);
    html! {
        <div class={if told.timeline.is_some() { "values inspection has-moments" } else { "values inspection" }} data-testid="inspection">
            if told.timeline.is_some() { { stepper(lab, told, act) } }
            { happened(lab, told) }
            if has_marks { { legend(&told.legend) } }
            <div class="pane-body scroll" tabindex="0" role="region" aria-label={format!("{}; up and down choose another row", told.title)}>
                if !told.choices.is_empty() {
                    <div class="inspected-part">{ for told.choices.iter().enumerate().map(|(place, shown)| choice(shown, place, told, act)) }</div>
                }
                { for told.tables.iter().map(|shown| table(shown, lab, act)) }
                if lab.has_entries() { { entered(lab, told, act) } }
                if !told.notes.is_empty() { <div class="inspected-part">{ for told.notes.iter().map(note) }</div> }
            </div>
        </div>
    }
}

fn can_choose(told: &Told) -> bool {
    told.tables.iter().any(|table| table.rows.iter().any(|row| row.is_choosable))
}

/// The buttons and the slider of the moments.
fn stepper(lab: &Snapshot, told: &Told, act: &Callback<Action>) -> Html {
    let (at, last) = lab.own_moment().unwrap_or_default();
    let name = told.timeline.as_ref().map_or("", |timeline| &timeline.name);
    let asking = lab.asking;
    let (icon, button) = if asking { (Icon::Pause, "Pause") } else { (Icon::Play, "Play the moments") };
    Stepper {
        name,
        slider: "Moment",
        at,
        last,
        between: html! {
            <button type="button" class="icon-button play small" aria-label={button} title={button}
                onclick={on(act, move || Action::Ask(!asking))} data-testid="ask">{ icon.html() }</button>
        },
        behind: pace(lab, act, "moment-pace"),
    }
    .html(act)
}

/// The next step, or at a later moment the event.
fn happened(lab: &Lab, told: &Told) -> Html {
    let at = lab.own_moment().map_or(0, |(at, _)| at);
    let moment = told.timeline.as_ref().and_then(|timeline| timeline.told(at)).filter(|_| at > 0);
    html! {
        <p class="happened" role="status" data-testid="inspection-lead">
            if let Some(moment) = moment {
                <span class="chip">{ &moment.word }</span>
                <span class="sentence">{ with_code(&moment.sentence) }</span>
            } else {
                { with_code(&told.lead) }
                if !told.aside.is_empty() { <small>{ &told.aside }</small> }
            }
        </p>
    }
}

/// The meanings of the signs, and the number of marks that have each.
fn legend(keys: &[Key]) -> Html {
    let entry = |key: &Key| {
        html! {
            <span class="mark-key">
                <i class={format!("look-{}", key.look.name())} aria-hidden="true">{ &key.sign }</i>{ format!("{} {}", key.label, key.count) }
            </span>
        }
    };
    html! {
        <p class="question-legend" role="status" data-testid="mark-legend">
            if keys.is_empty() { { "Choose a row to see what it would change." } } else { { for keys.iter().map(entry) } }
        </p>
    }
}

fn note(note: &Note) -> Html {
    html! {
        <p class="inspected-note" data-testid="inspection-note">
            if !note.word.is_empty() { <span class={if note.look == Look::Good { "chip pass" } else { "chip" }}>{ &note.word }</span>{ " " } }
            { with_code(&note.sentence) }
            if !note.aside.is_empty() { <small>{ &note.aside }</small> }
        </p>
    }
}

/// The entered numbers, which can be taken back or written into the program.
fn entered(lab: &Snapshot, told: &Told, act: &Callback<Action>) -> Html {
    let offer = |offer: &Offer| {
        let source = offer.source.clone();
        html! {
            <button type="button" class="plain small" onclick={on::<MouseEvent>(act, move || Action::Declare(source.clone()))} data-testid="offer">{ &offer.label }</button>
        }
    };
    html! {
        <p class="entered">
            <span>{ "Numbers are not those of the program." }</span>
            <button type="button" class="plain small" onclick={on(act, || Action::ForgetEntries)} data-testid="forget-entries">{ "Take them back" }</button>
            if lab.is_inspected() { { for told.offers.iter().map(offer) } }
        </p>
    }
}
