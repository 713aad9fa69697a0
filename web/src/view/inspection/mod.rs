//! An inspection of a pass, whatever pass it is: moments, a sentence, choices, tables with verdicts, the meanings of the
//! marks. The chosen row is marked on graph and text.

mod bounds;
mod chart;
mod choices;
mod found;
mod marks;
mod network;
mod row;
mod rule;
mod table;
mod tree;

use warpscope_engine::message::inspect::{Inspection as Told, Key, Moment, Node, Timeline};
use web_sys::Element;
use yew::{Callback, Html, MouseEvent, UseStateHandle, component, html, use_effect_with, use_node_ref, use_state_eq};

use super::change::with_code;
use super::{PaneProps, Shared, thousands};
use crate::dom;
use crate::state::Lab;

use found::{Found, Still};
pub use marks::LineMarks;
pub use table::STRANDS;
use tree::TokenTree;

/// An inspection.
#[component]
pub fn Inspection(PaneProps { lab, act }: &PaneProps) -> Html {
    let place = use_node_ref();
    let moment = lab.moment();
    // Whether a person wants the list of steps open; none until somebody says so.
    let wanted = use_state_eq(|| None::<bool>);
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
        return html! { <div class="values inspection" data-testid="inspection"><p class="happened" role="status" data-testid="happened">{ "Computing…" }</p></div> };
    };
    let timeline = told.timeline.as_ref();
    let has_tokens = timeline.is_some_and(|timeline| !timeline.kinds.is_empty());
    let has_marks = !told.legend.is_empty() || timeline.is_none() && can_choose(told);
    // Moments of what comes next begin with a sentence that may be long.
    let class = if lab.has_own_moments() { "values inspection has-moments" } else { "values inspection" };
    let shared = Shared(told.clone());
    let has_found =
        !(told.tables.is_empty() && told.choices.is_empty() && told.charts.is_empty() && told.networks.is_empty());
    // Whether a person wants to read the rules.
    let is_rule_open = use_state_eq(|| false);
    let are_open = wanted.unwrap_or(moment.is_some_and(|(at, _)| at > 0));
    let toggle = Callback::from(move |_: MouseEvent| wanted.set(Some(!are_open)));
    let tokens = || {
        html! {
            <>
                { for timeline.map(|timeline| tree::legend(timeline, lab, act)) }
                <TokenTree told={shared.clone()} lab={lab.clone()} act={act.clone()} />
            </>
        }
    };
    html! {
        <div {class} aria-busy={(!lab.is_inspected()).then_some("true")} data-testid="inspection">
            { happened(lab, told, &is_rule_open) }
            { rule::text(told_moment(lab, told), timeline, *is_rule_open) }
            { trail(&told.trail) }
            if has_marks { { legend(&told.legend) } }
            if has_tokens && !has_found {
                { tokens() }
            } else {
                <div class="pane-body scroll" ref={place} tabindex="0" role="region" aria-label={format!("{}; up and down go from row to row", told.title)}>
                    <Found told={shared.clone()} lab={Still(lab.clone())} act={act.clone()} />
                </div>
            }
            // What an analysis found comes before the steps that led to it.
            if let Some(timeline) = timeline.filter(|_| has_tokens && has_found) {
                <section class={if are_open { "steps open" } else { "steps" }} aria-label={timeline.name.clone()} data-testid="steps">
                    { steps_head(timeline, are_open, toggle) }
                    if are_open { { tokens() } }
                </section>
            }
            { for timeline.and_then(|timeline| timeline.cut_after).map(cut) }
        </div>
    }
}

fn can_choose(told: &Told) -> bool {
    told.tables.iter().any(|table| table.rows.iter().any(|row| row.is_choosable))
}

/// The heading of the list of steps, which opens when somebody begins to step, or by hand.
fn steps_head(timeline: &Timeline, are_open: bool, toggle: Callback<MouseEvent>) -> Html {
    html! {
        <button type="button" class="steps-head" aria-expanded={are_open.to_string()} onclick={toggle}>
            { &timeline.name }<small>{ thousands(timeline.course.last as u64) }</small>
        </button>
    }
}

/// The event of the moment that is shown.
fn told_moment<'a>(lab: &Lab, told: &'a Told) -> Option<&'a Moment> {
    let at = lab.moment().map_or(0, |(at, _)| at);
    // What comes next begins with what it leads to.
    told.timeline.as_ref()?.told(at).filter(|_| at > 0 || !lab.has_own_moments())
}

/// The event of the moment, or what comes next.
fn happened(lab: &Lab, told: &Told, is_rule_open: &UseStateHandle<bool>) -> Html {
    let at = lab.moment().map_or(0, |(at, _)| at);
    let timeline = told.timeline.as_ref();
    let moment = told_moment(lab, told);
    let is_awaited = timeline.is_some_and(|timeline| moment.is_none() && timeline.at != at);
    let class = moment.map_or(String::new(), |moment| format!(" look-{}", moment.look.name()));
    html! {
        <p class={format!("happened{class}")} role="status" data-testid="happened">
            if let Some(moment) = moment {
                if !moment.word.is_empty() { <span class="chip">{ &moment.word }</span> }
                { rule::chip(moment, is_rule_open) }
                if !moment.place.is_empty() { <span class="chip block">{ &moment.place }</span> }
                <span class="sentence">{ with_code(&moment.sentence) }</span>
            } else if is_awaited {
                { "Computing…" }
            } else {
                { with_code(&told.lead) }
                if !told.aside.is_empty() { <small>{ with_code(&told.aside) }</small> }
            }
        </p>
    }
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
            { format!("Moments after the first {} are not shown; the changes that they led to are.", thousands(kept as u64)) }
        </p>
    }
}

/// The meanings of the signs, and the number of marks that have each.
fn legend(keys: &[Key]) -> Html {
    let entry = |key: &Key| {
        html! {
            <span class="mark-key">
                <i class={format!("look-{}", key.look.name())} aria-hidden="true">{ &key.sign }</i>{ format!("{} ({})", key.label, key.count) }
            </span>
        }
    };
    html! {
        <p class="mark-legend" role="status" data-testid="mark-legend">
            if keys.is_empty() { { "Choose a row to see what it would change." } } else { { for keys.iter().map(entry) } }
        </p>
    }
}
