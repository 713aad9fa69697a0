//! An inspection of a pass, whatever pass it is: moments, a sentence, choices, tables with verdicts, the meanings of the
//! marks. The chosen row is marked on graph and text.

mod bounds;
mod chart;
mod choices;
mod marks;
mod network;
mod table;
mod tree;

use warpscope_engine::message::inspect::{Inspection as Told, Key, Look, Node, Note, Offer};
use web_sys::Element;
use yew::{Callback, Html, MouseEvent, component, html, use_effect_with, use_node_ref};

use super::change::with_code;
use super::icons::Icon;
use super::moments::Stepper;
use super::transport::pace;
use super::{PaneProps, Shared, Snapshot, on, thousands};
use crate::dom;
use crate::state::{Action, Lab};

use chart::chart;
use choices::choice;
pub use marks::LineMarks;
use network::FlowNetwork;
use table::InspectedTable;
pub use table::STRANDS;
use tree::TokenTree;

/// An inspection.
#[component]
pub fn Inspection(PaneProps { lab, act }: &PaneProps) -> Html {
    let place = use_node_ref();
    let moment = lab.moment();
    {
        // The row of the moment is in sight.
        let (place, view) = (place.clone(), lab.view.as_ref().map(|view| view.position));
        use_effect_with((view, moment, lab.inspection().cloned().map(Shared)), move |_| {
            let row = place.cast::<Element>().and_then(|pane| pane.query_selector("[data-reached]").ok().flatten());
            if let Some(row) = row {
                dom::reveal(&row);
            }
        });
    }
    let Some(told) = lab.inspection() else {
        return html! { <div class="values inspection" data-testid="inspection"><p class="happened" role="status" data-testid="happened">{ "Looking…" }</p></div> };
    };
    let timeline = told.timeline.as_ref();
    let has_tokens = timeline.is_some_and(|timeline| !timeline.kinds.is_empty());
    let has_marks = !told.legend.is_empty() || timeline.is_none() && can_choose(told);
    // Moments of what comes next begin with a sentence that may be long.
    let class = if lab.has_own_moments() { "values inspection has-moments" } else { "values inspection" };
    let shared = Shared(told.clone());
    html! {
        <div {class} aria-busy={(!lab.is_inspected()).then_some("true")} data-testid="inspection">
            if timeline.is_some() { { stepper(lab, told, act) } }
            { happened(lab, told) }
            { trail(&told.trail) }
            if has_marks { { legend(&told.legend) } }
            { for timeline.map(tree::legend) }
            if has_tokens {
                <TokenTree told={shared.clone()} lab={lab.clone()} act={act.clone()} />
            }
            if !has_tokens || !told.tables.is_empty() || !told.choices.is_empty() || !told.charts.is_empty() || !told.networks.is_empty() {
                <div class="pane-body scroll" ref={place} tabindex="0" role="region" aria-label={format!("{}; up and down go from row to row", told.title)}>
                    if told.choices.iter().any(|shown| !shown.is_setting) {
                        <div class="inspected-part">{ for told.choices.iter().enumerate().filter(|(_, shown)| !shown.is_setting).map(|(place, shown)| choice(shown, place, told, act)) }</div>
                    }
                    { choices::settings(told, act) }
                    // Each kind has its own list: parts that a person has opened stay open when others come.
                    <>{ for (0..told.tables.len()).map(|place| html! { <InspectedTable key={place} told={shared.clone()} {place} lab={lab.clone()} act={act.clone()} /> }) }</>
                    <>{ for told.charts.iter().map(chart) }</>
                    <>{ for (0..told.networks.len()).map(|place| html! { <FlowNetwork key={place} told={shared.clone()} {place} /> }) }</>
                    if lab.has_entries() { { entered(lab, told, act) } }
                    if !told.notes.is_empty() { <div class="inspected-part">{ for told.notes.iter().map(note) }</div> }
                </div>
            }
            { for timeline.and_then(|timeline| timeline.cut_after).map(cut) }
        </div>
    }
}

fn can_choose(told: &Told) -> bool {
    told.tables.iter().any(|table| table.rows.iter().any(|row| row.is_choosable))
}

/// The buttons and the slider of the moments.
fn stepper(lab: &Snapshot, told: &Told, act: &Callback<Action>) -> Html {
    let (at, last) = lab.moment().unwrap_or_default();
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

/// The event of the moment, or what comes next.
fn happened(lab: &Lab, told: &Told) -> Html {
    let at = lab.moment().map_or(0, |(at, _)| at);
    let timeline = told.timeline.as_ref();
    // What comes next begins with what it leads to.
    let moment = timeline.and_then(|timeline| timeline.told(at)).filter(|_| at > 0 || !lab.has_own_moments());
    let is_awaited = timeline.is_some_and(|timeline| moment.is_none() && timeline.at != at);
    let class = moment.map_or(String::new(), |moment| format!(" look-{}", moment.look.name()));
    html! {
        <p class={format!("happened{class}")} role="status" data-testid="happened">
            if let Some(moment) = moment {
                if !moment.word.is_empty() { <span class="chip">{ &moment.word }</span> }
                if !moment.rule.is_empty() { <span class="chip rule">{ rule_name(&moment.rule) }</span> }
                if !moment.place.is_empty() { <span class="chip block">{ &moment.place }</span> }
                <span class="sentence">{ with_code(&moment.sentence) }</span>
            } else if is_awaited {
                { "Looking…" }
            } else {
                { with_code(&told.lead) }
                if !told.aside.is_empty() { <small>{ &told.aside }</small> }
            }
        </p>
    }
}

/// A rule that a paper numbers says that it is one.
fn rule_name(rule: &str) -> String {
    if rule.starts_with(|first: char| first.is_ascii_digit()) { format!("rule {rule}") } else { rule.to_owned() }
}

/// Places of a long trail that are named: so many of the outermost, and of the innermost.
const NAMED_PLACES: (usize, usize) = (2, 6);

/// The places of the walk, one inside the other.
fn trail(places: &[Node]) -> Html {
    if places.is_empty() {
        return Html::default();
    }
    let (outer, inner) = NAMED_PLACES;
    // One more takes no more room than the words that say so.
    let unnamed = if places.len() > outer + inner + 1 { outer..places.len() - inner } else { 0..0 };
    let between: Vec<&str> = places[unnamed.clone()].iter().map(|place| place.label.as_str()).collect();
    html! {
        <p class="trail" data-testid="trail">
            <span class="note">{ "In" }</span>
            { for places.iter().enumerate().filter(|(index, _)| !unnamed.contains(index)).map(|(index, place)| html! {
                <>
                    if index > 0 { <span class="inside" aria-hidden="true">{ "›" }</span> }
                    if index > 0 && index == unnamed.end {
                        <span class="note" title={between.join(" › ")}>{ format!("{} more", between.len()) }</span>
                        <span class="inside" aria-hidden="true">{ "›" }</span>
                    }
                    <span class={format!("chip block look-{}", place.look.name())}>{ &place.label }</span>
                </>
            }) }
        </p>
    }
}

/// That more happened than is kept.
fn cut(kept: usize) -> Html {
    html! {
        <p class="note left-out" data-testid="moments-cut">
            { format!("The first {} moments are kept. Later ones are not shown; the changes that they led to are.", thousands(kept as u64)) }
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
        <p class="mark-legend" role="status" data-testid="mark-legend">
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
