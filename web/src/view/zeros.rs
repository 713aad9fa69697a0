//! How often register writes give zero, lane by lane and in all lanes of a warp at once: as lanes disagree, the first stays
//! and the second goes.

use warpscope_engine::message::{ZeroWrite, Zeros as Told};
use yew::{Callback, Html, html};

use super::change::with_code;
use super::{Snapshot, on, thousands};
use crate::state::{Action, Lab, Pane, Selection};

/// The zeros of the program at the position.
pub fn zeros(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let Some(zeros) = lab.zeros.as_ref().map(|counted| &counted.zeros) else {
        return html! { <p class="empty">{ "Counting…" }</p> };
    };
    let told = match zeros {
        Ok(told) => told,
        Err(why) => return html! { <p class="failure" role="alert">{ with_code(why) }</p> },
    };
    html! {
        <>
            <p class="note zeros-lead">{ "How often writes give zero. A warp can skip work only where all its lanes have zero." }</p>
            if told.writes.is_empty() {
                <p class="empty">{ "No write gave zero." }</p>
            } else {
                { table(told, lab, act) }
            }
            { others(told) }
        </>
    }
}

fn table(told: &Told, lab: &Lab, act: &Callback<Action>) -> Html {
    html! {
        <table class="figures rows zeros" data-testid="zeros">
            <thead>
                <tr>
                    <th scope="col"><span class="hidden">{ "Write" }</span></th>
                    <th scope="col"><i class="bar lanes" aria-hidden="true" />{ "lanes" }</th>
                    <th scope="col"><i class="bar warps" aria-hidden="true" />{ "whole warps" }</th>
                </tr>
            </thead>
            <tbody>{ for told.writes.iter().map(|write| row(write, lab, act)) }</tbody>
        </table>
    }
}

fn row(write: &ZeroWrite, lab: &Lab, act: &Callback<Action>) -> Html {
    let view = lab.view.as_ref();
    let mut lines = view.iter().flat_map(|view| &view.graph.blocks).flat_map(|block| &block.lines);
    let line = lines.find(|line| write.line > 0 && line.line == write.line);
    let inst = line.map(|line| line.inst);
    let is_selected = inst.is_some() && lab.selected.as_ref().is_some_and(|selection| selection.inst == inst);
    let select = {
        let block = write.block.clone();
        on(act, move || Action::Select(Some(Selection { block: block.clone(), inst, by: Pane::Results })))
    };
    let bar = |kind: &'static str, share: f64, (zero, all): (u64, u64), noun: &str| {
        let title = format!("{} of {} {noun}", thousands(zero), thousands(all));
        html! {
            <td {title}>
                <span class="share">
                    <i class={format!("bar {kind}")} aria-hidden="true" style={format!("--share:{share:.3}")} />
                    <span>{ format!("{:.0} %", share * 100.0) }</span>
                </span>
            </td>
        }
    };
    html! {
        <tr class={is_selected.then_some("selected")}>
            <th scope="row">
                <button type="button" onclick={select} aria-pressed={is_selected.to_string()}
                    title={line.map(|line| line.text.clone())}><code>{ &write.register }</code><span class="note">{ &write.block }</span></button>
            </th>
            { bar("lanes", write.of_lanes(), (write.zero_lanes, write.lanes), "lanes") }
            { bar("warps", write.of_warps(), (write.zero_warps, write.warps), "executions by a warp") }
        </tr>
    }
}

/// Line of the rows that are not listed.
fn others(told: &Told) -> Html {
    let more = (told.more > 0).then(|| format!("{} more are zero somewhere. ", thousands(told.more as u64)));
    let never = (told.never > 0).then(|| {
        let verb = if told.never == 1 { "was" } else { "were" };
        format!("{} {verb} never zero.", super::count(told.never, "write"))
    });
    html! { <p class="note hint">{ more }{ never }</p> }
}
