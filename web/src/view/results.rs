//! Results of the two runs, side by side: of the whole launch, and by block; and how often registers are zero.

use warpscope_engine::message::{Failure, Run};
use yew::{Callback, Html, classes, html};

use super::blocks::Blocks;
use super::figures::{Totals, all_figures};
use super::transport::place_name;
use super::zeros::zeros;
use super::{Snapshot, on};
use crate::dom;
use crate::state::{Action, Lab, Results as Shown};

/// Letters of a list of blocks; more stand in its tooltip.
const MOST_LETTERS: usize = 80;

/// The figures, before and after.
pub fn results(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let runs = lab.runs.clone();
    let sides = runs.as_ref().map(|runs| (runs.before.as_ref(), runs.after.as_ref()));
    let stale = lab.running || lab.stopped;
    let is_outdated = lab.lacks_program() || lab.ran.0 != lab.bench.source;
    let side = |shown: Shown, name: &'static str| {
        html! {
            <label>
                <input type="radio" name="results" checked={lab.results == shown} onchange={on(act, move || Action::Results(shown))} />
                <span>{ name }</span>
            </label>
        }
    };
    html! {
        <div class={classes!("part", "results", stale.then_some("stale"), lab.lacks_program().then_some("old"))} role="group" aria-labelledby="results-title">
            <h3 id="results-title">
                { "Results" }{ if is_outdated { outdated(sides) } else { verdict(sides) } }
                <fieldset class="segments" data-testid="results-by"><legend class="hidden">{ "Results of" }</legend>
                    { side(Shown::All, "All") }{ side(Shown::Blocks, "Blocks") }{ side(Shown::Zeros, "Zeros") }
                </fieldset>
            </h3>
            <div class="scroll part-body" tabindex="0" role="region" aria-label="Statistics">
                { match sides {
                    None if lab.has_mistakes() => html! { <p class="empty">{ "Nothing has run yet: the program has errors." }</p> },
                    None => html! { <p class="empty">{ "Nothing has run yet." }</p> },
                    Some((before, after)) => html! {
                        <>
                            { failure(before.err().is_some(), after.err().is_some()) }
                            { before.ok().map(unreached).unwrap_or_default() }
                            if before.is_ok() || after.is_ok() {
                                { match lab.results {
                                    Shown::All => html! {
                                        <>
                                            { here(lab) }
                                            { all_figures(Totals::of(lab), lab.pass_here(), "figures") }
                                        </>
                                    },
                                    Shown::Blocks => html! { <Blocks lab={lab.clone()} act={act.clone()} /> },
                                    Shown::Zeros => html! { { zeros(lab, act) } },
                                } }
                            }
                        </>
                    },
                } }
            </div>
        </div>
    }
}

/// The position that "here" is, unless it is an end.
fn here(lab: &Lab) -> Html {
    match lab.view.as_ref().filter(|view| view.end.is_some() && view.position.stage > 0) {
        None => Html::default(),
        Some(view) => {
            html! { <p class="note" data-testid="here">{ format!("Here: {}", place_name(lab, view.position)) }</p> }
        }
    }
}

/// A run, or why it did not end well.
type Side<'a> = Result<&'a Run, &'a Failure>;

/// Whether both runs left the same memory.
fn verdict(sides: Option<(Side<'_>, Side<'_>)>) -> Html {
    match sides {
        Some((Ok(before), Ok(after))) if before.result_hash == after.result_hash => {
            html! { <span class="verdict good" data-testid="verdict">{ "✓ same memory" }</span> }
        }
        Some((Ok(_), Ok(_))) => html! { <span class="verdict bad" data-testid="verdict">{ "✗ memory differs" }</span> },
        _ => Html::default(),
    }
}

/// The source's blocks that no lane reached: of what a pass did there the figures say nothing.
fn unreached(run: &Run) -> Html {
    if run.unreached.is_empty() {
        return Html::default();
    }
    let (count, names) =
        (format!("{} of {} blocks never ran: ", run.unreached.len(), run.blocks.len()), run.unreached.join(", "));
    html! { <p class="note" data-testid="unreached" title={names.clone()}>{ count }{ shortened(names) }</p> }
}

/// A list as long as a line.
fn shortened(names: String) -> String {
    match names.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{}…", &names[..end]),
        None => names,
    }
}

/// That the results are not of the program in the editor.
fn outdated(sides: Option<(Side<'_>, Side<'_>)>) -> Html {
    if sides.is_none() {
        return Html::default();
    }
    html! { <span class="verdict" data-testid="outdated">{ "previous program" }</span> }
}

/// That runs failed, and the way to the reason.
fn failure(before: bool, after: bool) -> Html {
    let which = match (before, after) {
        (false, false) => return Html::default(),
        (true, true) => "Both runs failed.",
        (true, false) => "The run of the source failed.",
        (false, true) => "The run of the program at the position failed.",
    };
    html! {
        <p class="failure" data-testid="failure">
            { which }{ " " }
            <button type="button" class="quiet" onclick={|_| dom::focus("problems")}>{ "See Problems" }</button>
        </p>
    }
}
