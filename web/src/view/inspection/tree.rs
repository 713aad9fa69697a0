//! The tokens of an inspection as a tree. Up and down go from one to the next, right to its answer, left back to where it
//! appeared; of very many rows only those in sight are drawn.

use warpscope_engine::message::inspect::{Inspection, Look, Timeline};
use web_sys::HtmlElement;
use yew::{Callback, Html, KeyboardEvent, MouseEvent, component, html, use_effect_with, use_memo, use_node_ref};

use super::super::change::{with_code, without_marks};
use super::super::graph::KINDS;
use super::super::sight::{GRAIN, use_sight};
use super::super::{Shared, Snapshot, on, thousands};
use crate::dom;
use crate::state::Action;
use crate::tokens::{Row, RowKind, Tree, inquiry_stops};

/// Height of a row, in pixels; the styles say the same.
const ROW: f64 = 25.0;
/// Deeper rows are indented like those of this depth.
const MOST_DEPTH: usize = 12;

/// The tokens of an inspection.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// The inspection.
    pub told: Shared<Inspection>,
    /// The state that is drawn.
    pub lab: Snapshot,
    /// The receiver of what a person does.
    pub act: Callback<Action>,
}

/// The tree.
#[component]
pub fn TokenTree(Props { told, lab, act }: &Props) -> Html {
    let place = use_node_ref();
    let sight = use_sight(&place);
    let tree = use_memo(told.clone(), |told| told.0.timeline.as_ref().map(Tree::new).unwrap_or_default());
    let at = lab.moment().map_or(0, |(at, _)| at);
    let now = tree.row_at(at);
    {
        let place = place.clone();
        use_effect_with((now, tree.rows.len()), move |&(now, _)| {
            if let Some((pane, row)) = place.cast::<HtmlElement>().zip(now) {
                dom::reveal_between(&pane, row as f64 * ROW, (row + 1) as f64 * ROW);
            }
        });
    }
    let onkeydown = {
        let (act, tree, state) = (act.clone(), tree.clone(), lab.now.clone());
        Callback::from(move |event: KeyboardEvent| {
            if event.ctrl_key() || event.alt_key() || event.meta_key() {
                return;
            }
            let at = state.lab().moment().map_or(0, |(at, _)| at);
            if let Some(moment) = moment_by_key(&tree, tree.row_at(at), at, &event.key()) {
                event.prevent_default();
                event.stop_propagation();
                act.emit(Action::WalkTo(moment));
            }
        })
    };
    let Some(timeline) = &told.0.timeline else { return Html::default() };
    // Where nothing is asked, the rows are no answers.
    let shows_outcomes = lab.shows_outcomes || inquiry_stops(timeline).is_empty();
    let first = ((sight.top - GRAIN) / ROW).floor().max(0.0) as usize;
    let count = ((sight.height + 3.0 * GRAIN) / ROW).ceil() as usize;
    let shown = first.min(tree.rows.len())..(first + count).min(tree.rows.len());
    html! {
        <>
            <div class="pane-body scroll token-tree" ref={place} tabindex="0" role="tree" data-testid="token-tree" {onkeydown}
                aria-label={format!("{}; up and down go from one to the next, right to its answer, left to its beginning", timeline.name)}
                aria-activedescendant={now.map(|row| format!("token-{row}"))}>
                <div class="token-rows" role="presentation" style={format!("height:{}px", tree.rows.len() as f64 * ROW)}>
                    { for shown.map(|index| html_row(&tree.rows[index], index, timeline, &RowState { at, is_now: now == Some(index), shows_outcomes }, act)) }
                </div>
            </div>
            { left_out(timeline) }
        </>
    }
}

/// The moment that a key leads to from the row that is shown.
fn moment_by_key(tree: &Tree, now: Option<usize>, at: usize, key: &str) -> Option<usize> {
    let row = |index: usize| tree.rows.get(index);
    match key {
        "ArrowDown" => row(now.map_or(0, |now| now + 1)).map(|row| row.begins),
        "ArrowUp" => row(now?.checked_sub(1)?).map(|row| row.begins),
        "ArrowRight" => row(now?)?.ends.filter(|&ends| ends != at),
        "ArrowLeft" => Some(row(now?)?.begins).filter(|&begins| begins != at),
        "Home" => row(0).map(|row| row.begins),
        "End" => tree.rows.last().map(|row| row.begins),
        _ => None,
    }
}

/// The meanings of the tokens' shapes, and whether answers that are still to come are listed.
pub fn legend(timeline: &Timeline, lab: &Snapshot, act: &Callback<Action>) -> Html {
    let shows_outcomes = lab.shows_outcomes;
    if timeline.kinds.is_empty() {
        return Html::default();
    }
    html! {
        <p class="mark-legend">
            { for timeline.kinds.iter().enumerate().map(|(place, kind)| html! {
                <span class={format!("token k{}", place % KINDS)}>{ &kind.label }</span>
            }) }
            if !inquiry_stops(timeline).is_empty() {
                <label class="outcomes">
                    <input type="checkbox" checked={lab.shows_outcomes} data-testid="outcomes"
                        onchange={on(act, move || Action::ShowOutcomes(!shows_outcomes))} />
                    { "Show outcomes" }
                </label>
            }
        </p>
    }
}

/// State that a row is drawn in.
struct RowState {
    /// The moment that is shown.
    at: usize,
    /// Whether the row is that of the moment.
    is_now: bool,
    /// Whether answers that are still to come are shown.
    shows_outcomes: bool,
}

fn html_row(row: &Row, index: usize, timeline: &Timeline, state: &RowState, act: &Callback<Action>) -> Html {
    let &RowState { at, is_now, shows_outcomes } = state;
    let is_known = |moment: usize| shows_outcomes || moment <= at;
    let begins = row.begins;
    let to_beginning = on::<MouseEvent>(act, move || Action::WalkTo(begins));
    let answered = row.ends.filter(|&ends| ends <= at);
    let sign = |kind: usize| timeline.kinds.get(kind).map_or("", |kind| kind.sign.as_str());
    let (class, mark) = match row.kind {
        RowKind::Root(kind) => ("of-root", sign(kind)),
        RowKind::Token(kind) => ("of-token", sign(kind)),
        RowKind::Moment(_) if !is_known(row.begins) => ("of-moment", "·"),
        RowKind::Moment(Look::Bad) => ("of-moment look-bad", "○"),
        RowKind::Moment(_) => ("of-moment look-good", "●"),
    };
    let state = match () {
        () if row.begins > at => " to-come",
        () if row.answer.is_some() && answered.is_none() => " under-way",
        () => "",
    };
    html! {
        <div key={index} id={format!("token-{index}")} class={format!("token-row {class}{state}")} role="treeitem" aria-level={(row.depth + 1).to_string()}
            aria-posinset={row.among.0.to_string()} aria-setsize={row.among.1.to_string()}
            aria-selected={is_now.to_string()} onclick={to_beginning}
            style={format!("top:{}px;--depth:{}", index as f64 * ROW, row.depth.min(MOST_DEPTH))}>
            <span class="mark" aria-hidden="true">{ mark }</span>
            if matches!(row.kind, RowKind::Moment(_)) && !is_known(row.begins) {
                <span class="text">{ "…" }</span>
            } else if matches!(row.kind, RowKind::Moment(_)) {
                <span class="text" title={without_marks(&row.text)}>{ with_code(&row.text) }</span>
            } else {
                <code class="text" title={row.text.clone()}>{ &row.text }</code>
            }
            if row.noted > 0 { <span class="chip">{ format!("+{}", row.noted) }</span> }
            <span class="at">{ &row.place }</span>
            if let Some(ends) = row.ends.filter(|&ends| !is_known(ends)) {
                <span class="answer" title="To the answer" aria-label="not answered yet" onclick={to_answer(act, ends)}>{ "?" }</span>
            } else if let Some(ends) = row.ends {
                <span class={format!("answer look-{}", row.answer.map_or("plain", Look::name))} title="To the answer" onclick={to_answer(act, ends)}>
                    { &row.words }
                    if !row.rule.is_empty() { <small>{ &row.rule }</small> }
                </span>
            }
        </div>
    }
}

fn to_answer(act: &Callback<Action>, ends: usize) -> Callback<MouseEvent> {
    let act = act.clone();
    Callback::from(move |event: MouseEvent| {
        event.stop_propagation();
        act.emit(Action::WalkTo(ends));
    })
}

/// The moments that are not listed.
fn left_out(timeline: &Timeline) -> Html {
    let (shown, all) = (timeline.moments.len(), timeline.course.last);
    if shown == all {
        return Html::default();
    }
    html! {
        <p class="note left-out">
            { format!("Moments {} to {} of {}: the others are listed when the slider reaches them.",
                thousands(timeline.first as u64 + 1), thousands((timeline.first + shown) as u64), thousands(all as u64)) }
        </p>
    }
}
