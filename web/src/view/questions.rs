//! The questions that a pass asks: what just happened, in a sentence with the number of its rule, and all of them as a
//! tree. Its slider and buttons go through them moment by moment, and the graph shows where they are.

use std::rc::Rc;

use warpscope_engine::message::{Event as Happened, Query, Questions as Told, What};
use web_sys::HtmlElement;
use yew::{Callback, Html, KeyboardEvent, MouseEvent, component, html, use_effect_with, use_memo, use_node_ref};

use super::change::with_code;
use super::icons::Icon;
use super::moments::Stepper;
use super::sight::{GRAIN, use_sight};
use super::transport::pace;
use super::{PaneProps, Shared, on, thousands};
use crate::dom;
use crate::inquiry::{Row, RowKind, Tree, look_of};
use crate::state::{Action, Lab};

/// Height of a row, in pixels; the styles say the same.
const ROW: f64 = 25.0;
/// Levels that are indented; deeper ones stand as far to the right as the last of them.
const MOST_DEPTH: usize = 12;

/// The questions.
#[component]
pub fn Questions(PaneProps { lab, act }: &PaneProps) -> Html {
    let place = use_node_ref();
    let sight = use_sight(&place);
    let told = lab.heard().cloned().map(Shared);
    let tree = use_memo(told.clone(), |told| told.as_ref().map(|told| Tree::new(&told.0)).unwrap_or_default());
    let (at, last) = lab.questions_at().map_or((0, 0), |(course, at)| (at, course.last));
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
            let at = state.lab().questions_at().map_or(0, |(_, at)| at);
            if let Some(moment) = moment_by_key(&tree, tree.row_at(at), at, &event.key()) {
                event.prevent_default();
                event.stop_propagation();
                act.emit(Action::WalkTo(moment));
            }
        })
    };
    let first = ((sight.top - GRAIN) / ROW).floor().max(0.0) as usize;
    let count = ((sight.height + 3.0 * GRAIN) / ROW).ceil() as usize;
    let shown = first.min(tree.rows.len())..(first + count).min(tree.rows.len());
    let happened = told.as_ref().and_then(|told| happened_at(&told.0, at));
    html! {
        <div class="values questions" data-testid="questions">
            { stepper(lab, at, last, act) }
            { narration(happened, at, told.is_some()) }
            { legend() }
            <div class="pane-body scroll question-tree" ref={place} tabindex="0" role="tree" data-testid="question-tree" {onkeydown}
                aria-label="Questions; up and down go from one to the next, right to its answer, left to where it was raised"
                aria-activedescendant={now.map(|row| format!("question-{row}"))}>
                <div class="asked-rows" role="presentation" style={format!("height:{}px", tree.rows.len() as f64 * ROW)}>
                    { for shown.map(|index| row(&tree.rows[index], index, at, now == Some(index), act)) }
                </div>
            </div>
            if let Some(told) = &told { { left_out(&told.0) } }
        </div>
    }
}

/// Target of a key from the row that is shown.
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

/// Event of a moment, if the engine has sent it.
fn happened_at(told: &Told, at: usize) -> Option<&Happened> {
    told.happened.get(at.checked_sub(told.first + 1)?)
}

fn stepper(lab: &Lab, at: usize, last: usize, act: &Callback<Action>) -> Html {
    let asking = lab.asking;
    let (icon, name) =
        if asking { (Icon::Pause, "Pause the questions") } else { (Icon::Play, "Let the questions travel") };
    Stepper {
        name: "Questions",
        slider: "Moment of the questions",
        at,
        last,
        between: html! {
            <button type="button" class="icon-button play small" aria-label={name} title={name} disabled={last == 0}
                onclick={on(act, move || Action::Ask(!asking))} data-testid="ask">{ icon.html() }</button>
        },
        behind: pace(lab, act, "question-pace"),
    }
    .html(act)
}

/// Sentence of the last event.
fn narration(happened: Option<&Happened>, at: usize, is_told: bool) -> Html {
    let Some(happened) = happened else {
        let text = match (at, is_told) {
            (0, _) => "Nothing has been asked yet.",
            (_, true) => "",
            (_, false) => "Listening…",
        };
        return html! { <p class="happened" role="status" data-testid="happened">{ text }</p> };
    };
    let (class, word) = match &happened.what {
        What::Began { .. } => ("", "inquiry"),
        What::Asked { .. } => ("", "question"),
        What::Converted { .. } => ("", "converted"),
        What::Answered { verdict, .. } => (if verdict.is_good() { "hit" } else { "refused" }, "answer"),
        What::Noted { .. } => ("", "noted"),
        What::Ended { verdict, .. } => (if verdict.is_good() { "hit" } else { "refused" }, "result"),
        What::Changed => ("hit", "change"),
        What::Refused => ("refused", "refused"),
    };
    html! {
        <p class={format!("happened {class}")} role="status" data-testid="happened">
            <span class="chip">{ word }</span>
            if !happened.rule.is_empty() { <span class="chip rule">{ rule_name(happened) }</span> }
            <span class="chip block">{ &happened.at }</span>
            <span class="sentence">{ with_code(&happened.sentence) }</span>
        </p>
    }
}

fn rule_name(happened: &Happened) -> String {
    match happened.what {
        What::Changed | What::Refused => happened.rule.clone(),
        _ => format!("rule {}", happened.rule),
    }
}

/// Legend of the tokens' shapes.
fn legend() -> Html {
    html! {
        <p class="question-legend">
            <span class="token avail">{ "available?" }</span>
            <span class="token antic">{ "anticipated?" }</span>
            <span class="token spec">{ "can it move up?" }</span>
        </p>
    }
}

fn row(row: &Row, index: usize, at: usize, is_now: bool, act: &Callback<Action>) -> Html {
    let begins = row.begins;
    let to_beginning = on::<MouseEvent>(act, move || Action::WalkTo(begins));
    let answered = row.ends.filter(|&ends| ends <= at);
    let (class, mark) = match row.kind {
        RowKind::Inquiry(query) => ("of-inquiry", query_mark(query)),
        RowKind::Question(query) => ("of-question", query_mark(query)),
        RowKind::Change => ("of-change", "●"),
        RowKind::Refusal => ("of-refusal", "○"),
    };
    let verdict = row.verdict.map_or("", look_of);
    let state = match () {
        () if row.begins > at => " to-come",
        () if row.verdict.is_some() && answered.is_none() => " under-way",
        () => "",
    };
    html! {
        <div key={index} id={format!("question-{index}")} class={format!("asked-row {class}{state}")} role="treeitem" aria-level={(row.depth + 1).to_string()}
            aria-posinset={row.among.0.to_string()} aria-setsize={row.among.1.to_string()}
            aria-selected={is_now.to_string()} onclick={to_beginning}
            style={format!("top:{}px;--depth:{}", index as f64 * ROW, row.depth.min(MOST_DEPTH))}>
            <span class="mark" aria-hidden="true">{ mark }</span>
            if row.kind.query().is_some() {
                <code class="text" title={row.text.clone()}>{ &row.text }</code>
            } else {
                <span class="text" title={row.text.replace('`', "")}>{ with_code(&row.text) }</span>
            }
            if row.noted > 0 { <span class="chip">{ if row.noted == 1 { "+1".to_owned() } else { format!("+{}", row.noted) } }</span> }
            <span class="at">{ &row.at }</span>
            if let Some(ends) = row.ends {
                <span class={format!("answer {verdict}")} title="To the answer" onclick={to_answer(act, ends)}>
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

fn query_mark(query: Query) -> &'static str {
    match query {
        Query::Availability => "↑",
        Query::Anticipatability => "↓",
        Query::Speculation => "⇈",
    }
}

/// That there are more questions than are listed, or than are kept.
fn left_out(told: &Rc<Told>) -> Html {
    let (shown, all) = (told.happened.len(), told.course.last);
    html! {
        <>
            if shown < all {
                <p class="note left-out">
                    { format!("Moments {} to {} of {}: the others are listed when the slider comes to them.",
                        thousands(told.first as u64 + 1), thousands((told.first + shown) as u64), thousands(all as u64)) }
                </p>
            }
            if let Some(kept) = told.cut_after {
                <p class="note left-out" data-testid="questions-cut">
                    { format!("Of the questions, the first {} moments are kept. Those behind are not shown; what they led to is.",
                        thousands(kept as u64)) }
                </p>
            }
        </>
    }
}
