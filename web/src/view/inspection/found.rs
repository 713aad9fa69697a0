//! Contents of an inspection: choices, settings, tables, charts, networks and notes. A step of moments draws it anew only
//! where rows belong to moments.

use std::rc::Rc;

use warpscope_engine::message::inspect::{Inspection, Look, Note, Offer};
use yew::{Callback, Html, MouseEvent, component, html};

use super::super::change::with_code;
use super::super::{Shared, Snapshot, on};
use super::chart::chart;
use super::choices::{self, choice};
use super::network::FlowNetwork;
use super::table::InspectedTable;
use crate::state::{Action, Lab};

/// The state that is drawn; equal to another one of which this draws the same.
#[derive(Clone)]
pub struct Still(pub Snapshot);

impl PartialEq for Still {
    fn eq(&self, other: &Self) -> bool {
        let has_moments = |lab: &Lab| {
            let tables = lab.inspection().map_or(&[][..], |told| &told.tables);
            tables.iter().flat_map(|table| &table.rows).any(|row| row.moment.is_some())
        };
        let view = |lab: &Lab| lab.view.as_ref().map(Rc::as_ptr);
        let (one, other) = (&*self.0, &*other.0);
        (&one.choices, &one.selected, view(one)) == (&other.choices, &other.selected, view(other))
            && one.is_inspected() == other.is_inspected()
            && (one.moment() == other.moment() || !has_moments(one))
    }
}

/// Properties of what was found.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// The inspection.
    pub told: Shared<Inspection>,
    /// The state that is drawn.
    pub lab: Still,
    /// The receiver of what a person does.
    pub act: Callback<Action>,
}

/// All of it.
#[component]
pub fn Found(Props { told: shared, lab, act }: &Props) -> Html {
    let (told, lab) = (&shared.0, &lab.0);
    let choices = told.choices.iter().enumerate().filter(|(_, shown)| !shown.is_setting);
    html! {
        <>
            if told.choices.iter().any(|shown| !shown.is_setting) {
                <div class="inspected-part">{ for choices.map(|(place, shown)| choice(shown, place, told, act)) }</div>
            }
            { choices::settings(told, act) }
            // Each kind has its own list: parts that a person has opened stay open when others come.
            <>{ for (0..told.tables.len()).map(|place| html! {
                <InspectedTable key={place} told={shared.clone()} {place} lab={lab.clone()} act={act.clone()} />
            }) }</>
            <>{ for told.charts.iter().map(chart) }</>
            <>{ for (0..told.networks.len()).map(|place| html! {
                <FlowNetwork key={place} told={shared.clone()} {place} />
            }) }</>
            if lab.has_entries() { { entered(lab, told, act) } }
            if !told.notes.is_empty() { <div class="inspected-part">{ for told.notes.iter().map(note) }</div> }
        </>
    }
}

fn note(note: &Note) -> Html {
    html! {
        <p class="inspected-note" data-testid="inspection-note">
            if !note.word.is_empty() { <span class={if note.look == Look::Good { "chip pass" } else { "chip" }}>{ &note.word }</span>{ " " } }
            { with_code(&note.sentence) }
            if !note.aside.is_empty() { <small>{ with_code(&note.aside) }</small> }
        </p>
    }
}

/// The entered numbers, which can be taken back or written into the program.
fn entered(lab: &Snapshot, told: &Inspection, act: &Callback<Action>) -> Html {
    let offer = |offer: &Offer| {
        let source = offer.source.clone();
        html! {
            <button type="button" class="plain small" onclick={on::<MouseEvent>(act, move || Action::Declare(source.clone()))} data-testid="offer">{ &offer.label }</button>
        }
    };
    html! {
        <p class="entered">
            <span>{ "Numbers edited." }</span>
            <button type="button" class="plain small" onclick={on(act, || Action::ForgetEntries)} data-testid="forget-entries">{ "Reset" }</button>
            if lab.is_inspected() { { for told.offers.iter().map(offer) } }
        </p>
    }
}
