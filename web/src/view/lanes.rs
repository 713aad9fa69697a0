//! Lanes: the masks of the warps at one issue, and the groups of the warp that issues next.

use warpscope_engine::message::{Moment, WarpState};
use yew::{Callback, Html, InputEvent, classes, component, html};

use super::change::with_code;
use super::icons::Icon;
use super::number_field::NumberField;
use super::{PaneProps, icon_button, on, thousands};
use crate::dom;
use crate::state::{Action, Lab, Pane, Selection, Watched};

/// Warps that are drawn; there may be hundreds.
const MOST_WARPS: usize = 16;

/// The lanes.
#[component]
pub fn Lanes(PaneProps { lab, act }: &PaneProps) -> Html {
    let watched = lab.watched;
    let moment = lab.moment.as_ref().and_then(|moment| moment.as_ref().as_ref().ok());
    let failure = lab.moment.as_ref().and_then(|moment| moment.as_ref().as_ref().err());
    let ended = moment.is_some_and(|moment| moment.ended);
    let go = |step: fn(Watched) -> Watched| {
        let now = lab.now.clone();
        on(act, move || Action::Watch(step(now.lab().watched)))
    };
    let side = |after: bool, name: &'static str| {
        let act = act.clone();
        html! {
            <label>
                <input type="radio" name="watched" checked={watched.after == after}
                    onchange={move |_| act.emit(Action::Watch(Watched { after, issue: 0, playing: false }))} />
                <span>{ name }</span>
            </label>
        }
    };
    let issue_now = {
        let now = lab.now.clone();
        Callback::from(move |()| now.lab().watched.issue.to_string())
    };
    let typed = {
        let (act, now) = (act.clone(), lab.now.clone());
        Callback::from(move |event: InputEvent| {
            if let Some(issue) = dom::value(&event).and_then(|value| value.parse().ok()) {
                act.emit(Action::Watch(at(issue, now.lab().watched)));
            }
        })
    };
    let (icon, name) = if watched.playing { (Icon::Pause, "Pause the warps") } else { (Icon::Play, "Run the warps") };
    html! {
        <div class={classes!("part", "lanes", lab.lacks_program().then_some("old"))} role="group" aria-labelledby="lanes-title">
            <h3 id="lanes-title">
                { "Lanes" }
                <span class="note" role="status" data-testid="moment">
                    { moment.map(|moment| format!("cycle {}{}", thousands(moment.cycle), if moment.ended { ", ended" } else { "" })).unwrap_or_default() }
                </span>
                <fieldset class="segments"><legend class="hidden">{ "Program whose lanes are shown" }</legend>{ side(false, "before") }{ side(true, "after") }</fieldset>
            </h3>
            <div class="stepper" role="group" aria-label="Issues">
                { icon_button(Icon::First, "First issue", watched.issue == 0, go(|watched| at(0, watched))) }
                { icon_button(Icon::Back, "Issue back", watched.issue == 0, go(|watched| at(watched.issue.saturating_sub(1), watched))) }
                { icon_button(icon, name, ended, go(|watched| Watched { playing: !watched.playing, ..watched })) }
                { icon_button(Icon::Forward, "Issue forward", ended, go(|watched| at(watched.issue + 1, watched))) }
                { icon_button(Icon::Last, "Last issue", ended, go(|watched| at(u64::from(u32::MAX), watched))) }
                <label class="field"><span class="hidden">{ "Issue" }</span>
                    <NumberField name="issue" held={watched.issue.to_string()} held_now={issue_now} oninput={typed} />
                </label>
            </div>
            <div class="scroll part-body" tabindex="0" role="region" aria-label="Warps">
                if let Some(why) = failure { <p class="failure">{ with_code(why) }</p> }
                { moment.map(|moment| warps(moment, lab, act)).unwrap_or_default() }
            </div>
        </div>
    }
}

/// Watches the lanes at another issue, at rest.
fn at(issue: u64, watched: Watched) -> Watched {
    Watched { issue, playing: false, ..watched }
}

fn warps(moment: &Moment, lab: &Lab, act: &Callback<Action>) -> Html {
    // The warp that issues is in sight even where there are more than can be drawn.
    let next = moment.next.unwrap_or(0);
    let from = if next < MOST_WARPS { 0 } else { next - MOST_WARPS / 2 };
    let hidden = moment.warps.len().saturating_sub(MOST_WARPS);
    html! {
        <>
            <ul class="warps" data-testid="warps">
                { for moment.warps.iter().enumerate().skip(from).take(MOST_WARPS).map(|(index, warp)| {
                    warp_row(warp, moment.next == Some(index), lab, act)
                }) }
            </ul>
            if hidden > 0 { <p class="note">{ format!("and {hidden} more") }</p> }
            if let Some(warp) = moment.next.and_then(|next| moment.warps.get(next)) { { groups(warp) } }
        </>
    }
}

fn warp_row(warp: &WarpState, issues: bool, lab: &Lab, act: &Callback<Action>) -> Html {
    let onclick = {
        let (act, block, inst) = (act.clone(), warp.block.clone(), instruction(warp.line, lab));
        Callback::from(move |_| {
            if !block.is_empty() {
                act.emit(Action::Select(Some(Selection { block: block.clone(), inst, by: Pane::Lanes })));
            }
        })
    };
    html! {
        <li class={if issues { "warp next" } else { "warp" }}>
            <button type="button" {onclick} aria-current={issues.then_some("step")}>
                <span class="name">{ &warp.name }</span>
                { mask(warp.active, warp.ended, warp.size) }
                <span class="instruction" title={warp.text.clone()}>
                    if warp.text.is_empty() {
                        <em>{ "ended" }</em>
                    } else {
                        <code>{ &warp.text }</code>
                        if !warp.waits.is_empty() { <em>{ &warp.waits }</em> }
                    }
                </span>
            </button>
        </li>
    }
}

/// The identity of the instruction on a line of the program whose lanes are shown.
fn instruction(line: usize, lab: &Lab) -> Option<u32> {
    let view = lab.view.as_ref()?;
    if lab.watched.after {
        let mut lines = view.graph.blocks.iter().flat_map(|block| &block.lines);
        return lines.find(|found| found.line == line).map(|found| found.inst);
    }
    *view.source_insts.get(line.checked_sub(1)?)?
}

/// One cell a lane: filled if it takes part, empty if it waits, a dot if it has ended.
fn mask(active: u32, ended: u32, size: u32) -> Html {
    let spoken = format!("{} of {size} lanes active, {} ended", active.count_ones(), ended.count_ones());
    html! {
        <span class="mask" role="img" aria-label={spoken}>
            { for (0..size).map(|lane| {
                let class = if active >> lane & 1 == 1 { "on" } else if ended >> lane & 1 == 1 { "ended" } else { "off" };
                html! { <i {class} /> }
            }) }
        </span>
    }
}

fn groups(warp: &WarpState) -> Html {
    html! {
        <table class="stack" data-testid="groups">
            <caption>{ format!("Groups of {}", warp.name) }</caption>
            <thead><tr><th scope="col">{ "lanes" }</th><th scope="col">{ "do" }</th><th scope="col">{ "resumes at" }</th><th scope="col">{ "reconverges at" }</th></tr></thead>
            <tbody>
                { for warp.groups.iter().map(|entry| html! {
                    <tr>
                        <td>{ mask(entry.mask, 0, warp.size) }</td>
                        <td>{ &entry.state }</td>
                        <td><code>{ &entry.block }</code></td>
                        <td><code>{ if entry.meets.is_empty() { "–" } else { &entry.meets } }</code></td>
                    </tr>
                }) }
            </tbody>
        </table>
    }
}
