//! Lanes: the masks of the warps at one issue, and the groups of the warp that is followed.

use warpscope_engine::message::{Moment, WarpState};
use yew::{Callback, Html, InputEvent, classes, html};

use super::icons::Icon;
use super::number_field::NumberField;
use super::{Snapshot, icon_button, on, thousands};
use crate::dom;
use crate::state::{Action, Pane, Selection, Watched};

/// The lanes.
pub fn lanes(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let watched = lab.watched;
    let moment = lab.moment.as_ref().and_then(|moment| moment.as_ref().as_ref().ok());
    let never_began = lab.moment.as_ref().is_some_and(|moment| moment.is_err());
    let ended = moment.is_some_and(|moment| moment.ended) || lab.is_at_failure();
    let go = |step: fn(Watched) -> Watched| {
        let now = lab.now.clone();
        on(act, move || Action::Watch(step(now.lab().watched)))
    };
    let side = |after: bool, name: &'static str| {
        html! {
            <label>
                <input type="radio" name="watched" checked={watched.after == after}
                    onchange={on(act, move || Action::Watch(Watched { after, ..Watched::default() }))} />
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
                <fieldset class="segments"><legend class="hidden">{ "Program whose lanes are shown" }</legend>{ side(false, "source") }{ side(true, "here") }</fieldset>
            </h3>
            <div class="stepper" role="group" aria-label="Issues">
                { icon_button(Icon::First, "First issue", watched.issue == 0, go(|watched| at(0, watched))) }
                { icon_button(Icon::Back, "Issue back", watched.issue == 0, go(|watched| at(watched.issue.saturating_sub(1), watched))) }
                { icon_button(icon, name, ended, go(|watched| Watched { playing: !watched.playing, ..watched })) }
                { icon_button(Icon::Forward, "Issue forward", ended, go(|watched| at(watched.issue + 1, watched))) }
                { icon_button(Icon::Last, "Last issue", ended, go(|watched| at(u64::from(u32::MAX), watched))) }
                <label class="field"><span>{ "issue" }</span>
                    <NumberField name="issue" held={watched.issue.to_string()} held_now={issue_now} oninput={typed} />
                </label>
                <span class="note" data-testid="issues">{ lab.last_issue().map(|last| format!("of {}", thousands(last))).unwrap_or_default() }</span>
                <span class="note" role="status" data-testid="moment">
                    { moment.map(|moment| state(moment, lab.is_at_failure())).unwrap_or_default() }
                </span>
            </div>
            <div class="scroll part-body" tabindex="0" role="region" aria-label="Warps">
                if never_began { <p class="empty">{ "The run never began." }</p> }
                { moment.map(|moment| warps(moment, lab, act)).unwrap_or_default() }
            </div>
        </div>
    }
}

/// The cycle, and whether the run goes on from there.
fn state(moment: &Moment, is_at_failure: bool) -> String {
    let end = match moment.ended {
        _ if is_at_failure => ", fails here",
        true => ", ended",
        false => "",
    };
    format!("cycle {}{end}", thousands(moment.cycle))
}

/// Watches the lanes at another issue, at rest.
fn at(issue: u64, watched: Watched) -> Watched {
    Watched { issue, playing: false, ..watched }
}

fn warps(moment: &Moment, lab: &Snapshot, act: &Callback<Action>) -> Html {
    let followed = moment.warps.iter().find(|warp| Some(warp.number) == moment.followed);
    html! {
        <>
            <ul class="warps" data-testid="warps">
                { for moment.warps.iter().map(|warp| warp_row(warp, moment, lab, act)) }
            </ul>
            { others(moment, lab, act) }
            { followed.map(groups).unwrap_or_default() }
        </>
    }
}

/// The way to warps that are not listed.
fn others(moment: &Moment, lab: &Snapshot, act: &Callback<Action>) -> Html {
    let (Some(first), Some(last)) = (moment.warps.first(), moment.warps.last()) else { return Html::default() };
    let (first, last) = (first.number, last.number);
    if (first, last + 1) == (0, moment.started) {
        return Html::default();
    }
    let show = |warp: u64| {
        let now = lab.now.clone();
        on(act, move || Action::Watch(Watched { warp: Some(warp), ..now.lab().watched }))
    };
    html! {
        <p class="note other-warps">
            { icon_button(Icon::Back, "Earlier warps", first == 0, show(first.saturating_sub(1))) }
            { format!("warps {} to {} of {}", first + 1, last + 1, moment.started) }
            { icon_button(Icon::Forward, "Later warps", last + 1 == moment.started, show(last + 1)) }
        </p>
    }
}

fn warp_row(warp: &WarpState, moment: &Moment, lab: &Snapshot, act: &Callback<Action>) -> Html {
    let issues = moment.next == Some(warp.number);
    let is_followed = moment.followed == Some(warp.number);
    let onclick = {
        let (act, now, number) = (act.clone(), lab.now.clone(), warp.number);
        let (block, inst) = (warp.block.clone(), lab.inst_on_line(warp.line, lab.watched.after));
        Callback::from(move |_| {
            act.emit(Action::Watch(Watched { warp: Some(number), ..now.lab().watched }));
            if !block.is_empty() {
                act.emit(Action::Select(Some(Selection { block: block.clone(), inst, by: Pane::Lanes })));
            }
        })
    };
    let class = classes!(
        "warp",
        issues.then_some("next"),
        is_followed.then_some("followed"),
        warp.is_finished.then_some("finished"),
    );
    html! {
        <li {class} key={warp.number}>
            <button type="button" onclick={if warp.is_finished { Callback::noop() } else { onclick }}
                aria-disabled={warp.is_finished.then_some("true")} aria-pressed={is_followed.to_string()}
                aria-current={issues.then_some("step")}>
                <span class="name">{ &warp.name }</span>
                { mask(warp.active, if warp.is_finished { u32::MAX >> (32 - warp.size) } else { warp.ended }, warp.size) }
                <span class="instruction" title={warp.text.clone()}>
                    if warp.is_finished {
                        <em>{ "finished" }</em>
                    } else {
                        <code>{ &warp.text }</code>
                        if !warp.waits.is_empty() { <em>{ &warp.waits }</em> }
                    }
                </span>
            </button>
        </li>
    }
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
