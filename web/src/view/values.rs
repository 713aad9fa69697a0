//! The table of values that a pass works with, at a moment of its walk over the dominator tree: which number stands for
//! what, who leads it, and which scope takes it back. Its slider and buttons go through the walk moment by moment, and the
//! transport goes along.

use warpscope_engine::message::{Finding, HappeningKind, OpenScope, RowMark, ValueRow, ValueWalk};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use yew::{
    Callback, Html, KeyboardEvent, UseStateHandle, component, html, use_effect_with, use_node_ref, use_state_eq,
};

use super::change::with_code;
use super::moments::Stepper;
use super::{PaneProps, on};
use crate::dom;
use crate::state::{Action, Lab, Pane, Selection};

/// Rows of the table, and hits and refusals, that are drawn before somebody asks for all: more would make each step slow.
const DRAWN: usize = 300;

/// The table of values.
#[component]
pub fn Values(PaneProps { lab, act }: &PaneProps) -> Html {
    let place = use_node_ref();
    let (all_rows, all_findings) = (use_state_eq(|| false), use_state_eq(|| false));
    let (view, _) = lab.drawn();
    {
        // What just happened is in sight.
        let place = place.clone();
        use_effect_with((view.position, view.walk.as_ref().map(|walk| walk.at)), move |_| {
            if let Some(pane) = place.cast::<Element>()
                && let Ok(Some(row)) = pane.query_selector("tr.hit, tr.entered, tr.refused")
            {
                dom::reveal(&row);
            }
        });
    }
    let Some(walk) = &view.walk else { return Html::default() };
    let reached = walk.rows.iter().position(|row| row.mark != RowMark::None);
    let first = if *all_rows { 0 } else { walk.rows.len().saturating_sub(DRAWN) };
    // What the moment is about is always drawn.
    let drawn = walk.rows.iter().enumerate().filter(|&(index, row)| index >= first || row.mark != RowMark::None);
    let hidden = walk.rows.len() - drawn.clone().count();
    let reached = reached.unwrap_or(first);
    html! {
        <div class="values" data-testid="values">
            { stepper(walk, lab, act) }
            { happened(walk) }
            { scopes(&walk.scopes) }
            <div class="pane-body scroll" ref={place} tabindex="0" role="region" aria-label="Table of values">
                { more(hidden, walk.rows_left_out, ("earlier number", "before these"), &all_rows) }
                <table class="value-table" data-testid="value-table">
                    <thead>
                        <tr>
                            <th scope="col">{ "Number" }</th>
                            <th scope="col">{ "Expression" }</th>
                            <th scope="col">{ "Leader" }</th>
                            <th scope="col">{ "Scope" }</th>
                        </tr>
                    </thead>
                    <tbody onkeydown={step_in_list}>
                        { for drawn.map(|(index, value)| row(value, index == reached, lab, act)) }
                    </tbody>
                </table>
                if walk.rows.is_empty() { <p class="empty">{ "No scope is open: the table is empty." }</p> }
                { findings(walk, &all_findings, act) }
            </div>
        </div>
    }
}

/// The buttons and the slider.
fn stepper(walk: &ValueWalk, lab: &Lab, act: &Callback<Action>) -> Html {
    Stepper {
        name: "Walk over the dominator tree",
        slider: "Moment of the walk",
        // Quick hands are ahead of the engine.
        at: lab.walk_at.filter(|_| lab.looking).unwrap_or(walk.at),
        last: walk.course.last,
        between: Html::default(),
        behind: Html::default(),
    }
    .html(act)
}

/// Sentence of the last event.
fn happened(walk: &ValueWalk) -> Html {
    let Some(happening) = &walk.happened else {
        return html! { <p class="happened" role="status" data-testid="happened">{ "Before the walk: nothing is known." }</p> };
    };
    let (class, word) = match happening.kind {
        HappeningKind::Opens => ("opens", "opens"),
        HappeningKind::Enters => ("enters", "enters"),
        HappeningKind::Joins => ("joins", "holds too"),
        HappeningKind::Hit => ("hit", "hit"),
        HappeningKind::Refused => ("refused", "refused"),
        HappeningKind::Closes => ("closes", "closes"),
    };
    html! {
        <p class={format!("happened {class}")} role="status" data-testid="happened">
            <span class="chip">{ word }</span><span class="chip block">{ &happening.block }</span>
            <span class="sentence">{ with_code(&happening.message) }</span>
        </p>
    }
}

/// Number of named scopes where many are open: the outermost ones, and the innermost.
const NAMED_SCOPES: (usize, usize) = (2, 6);

/// The open scopes, one inside the other.
fn scopes(scopes: &[OpenScope]) -> Html {
    let last = scopes.len().saturating_sub(1);
    let (outer, inner) = NAMED_SCOPES;
    // One more takes no more room than the words that stand for it.
    let unnamed = if scopes.len() > outer + inner + 1 { outer..scopes.len() - inner } else { 0..0 };
    let between: Vec<&str> = scopes[unnamed.clone()].iter().map(|scope| scope.block.as_str()).collect();
    html! {
        <p class="scopes" data-testid="scopes">
            <span class="note">{ "Open scopes" }</span>
            { for scopes.iter().enumerate().filter(|(index, _)| !unnamed.contains(index)).map(|(index, scope)| {
                let mut class = "chip block".to_owned();
                if index == last { class.push_str(" here"); }
                if !scope.is_in_reach { class.push_str(" beyond"); }
                html! {
                    <>
                        if index > 0 { <span class="inside" aria-hidden="true">{ "›" }</span> }
                        if index > 0 && index == unnamed.end {
                            <span class="note" title={between.join(" › ")}>{ format!("{} more", between.len()) }</span>
                            <span class="inside" aria-hidden="true">{ "›" }</span>
                        }
                        <span {class} title={(!scope.is_in_reach).then_some("out of reach in this mode")}>{ &scope.block }</span>
                    </>
                }
            }) }
            if scopes.is_empty() { <span class="note">{ "none" }</span> }
        </p>
    }
}

/// Moves the focus in a list of buttons with up and down; the keyboard reaches one of them.
fn step_in_list(event: KeyboardEvent) {
    let is_down = match event.key().as_str() {
        "ArrowDown" => true,
        "ArrowUp" => false,
        _ => return,
    };
    let entry = event.target().and_then(|target| target.dyn_into::<Element>().ok()?.closest("tr, li").ok()?);
    let next =
        entry.and_then(|entry| if is_down { entry.next_element_sibling() } else { entry.previous_element_sibling() });
    if let Some(Ok(Some(button))) = next.map(|next| next.query_selector("button")) {
        event.prevent_default();
        // A button that cannot take the focus leaves it where it is.
        let _ = button.unchecked_into::<HtmlElement>().focus();
    }
}

fn row(value: &ValueRow, is_reached: bool, lab: &Lab, act: &Callback<Action>) -> Html {
    let mut class = match value.mark {
        RowMark::None => String::new(),
        RowMark::Entered => "entered".to_owned(),
        RowMark::Hit => "hit".to_owned(),
        RowMark::Refused => "refused".to_owned(),
    };
    if !value.is_in_reach {
        class.push_str(" beyond");
    }
    let is_selected =
        value.inst.is_some() && lab.selected.as_ref().is_some_and(|selection| selection.inst == value.inst);
    if is_selected {
        class.push_str(" selected");
    }
    let select = {
        let (block, inst) = (value.scope.clone(), value.inst);
        on(act, move || Action::Select(Some(Selection { block: block.clone(), inst, by: Pane::Everywhere })))
    };
    html! {
        <tr key={value.number} {class}>
            <th scope="row">{ format!("v{}", value.number) }</th>
            <td>{ &value.expression }</td>
            <td>
                <button type="button" class="leader" onclick={select} aria-pressed={is_selected.to_string()} tabindex={tab_index(is_reached)}
                    title="Show where it is computed">{ &value.leader }</button>
                if !value.others.is_empty() { <span class="others">{ format!("also {}", value.others.join(", ")) }</span> }
            </td>
            <td>{ &value.scope }</td>
        </tr>
    }
}

/// The hits and refusals of the whole walk: those that are still to come are faint.
fn findings(walk: &ValueWalk, all: &UseStateHandle<bool>, act: &Callback<Action>) -> Html {
    if walk.findings.is_empty() {
        return html! { <p class="empty" data-testid="findings">{ "Nothing was found twice, and nothing refused." }</p> };
    }
    let reached = walk.findings.iter().position(|finding| finding.moment >= walk.at).unwrap_or(0);
    // Around where the walk stands.
    let first = if **all { 0 } else { reached.saturating_sub(DRAWN / 2) };
    let drawn = walk.findings.iter().enumerate().skip(first).take(if **all { usize::MAX } else { DRAWN });
    let hidden = walk.findings.len() - drawn.len();
    let entry = |(index, Finding { moment, is_hit, rule, message }): (usize, &Finding)| {
        let moment = *moment;
        let mut class = if *is_hit { "hit" } else { "refused" }.to_owned();
        if moment > walk.at {
            class.push_str(" to-come");
        }
        let is_now = moment == walk.at;
        html! {
            <li {class}>
                <button type="button" onclick={on(act, move || Action::WalkTo(moment))} aria-current={is_now.then_some("step")}
                    tabindex={tab_index(index == reached)}>
                    <span class="chip">{ if *is_hit { "hit" } else { rule } }</span>
                    <span>{ with_code(message) }</span>
                </button>
            </li>
        }
    };
    html! {
        <section class="findings" data-testid="findings">
            <h3>{ "Hits and refusals" }</h3>
            { more(hidden, walk.findings_left_out, ("other one", "behind these"), all) }
            <ol onkeydown={step_in_list}>{ for drawn.map(entry) }</ol>
        </section>
    }
}

/// A button that brings what is not drawn, and how much more there is that the engine does not tell.
fn more(hidden: usize, left_out: usize, (what, place): (&str, &str), all: &UseStateHandle<bool>) -> Html {
    let counted = |count: usize| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let show = {
        let all = all.clone();
        Callback::from(move |_: yew::MouseEvent| all.set(true))
    };
    html! {
        <>
            if hidden > 0 {
                <p class="more"><button type="button" class="quiet" onclick={show} data-testid="more">{ format!("Show {}", counted(hidden)) }</button></p>
            }
            if left_out > 0 { <p class="empty">{ format!("There are {} {place} that are not listed.", counted(left_out)) }</p> }
        </>
    }
}

fn tab_index(is_reached: bool) -> &'static str {
    if is_reached { "0" } else { "-1" }
}
