//! Four figures and the sliders, for readers.

use yew::{Callback, Html, html};

use super::Snapshot;
use super::change::with_code;
use super::figures::{Figure, Totals, about_evaluations, figure_table};
use super::simulator::sliders;
use crate::state::Action;

/// The strip below notes and program.
pub fn strip(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let figures =
        [Figure::Cycles, Figure::SimtEfficiency, Figure::Loads("global".to_owned()), Figure::EvaluationsByLanes];
    let runs = lab.runs.as_ref();
    let failure = runs.and_then(|runs| runs.before.as_ref().err().or(runs.after.as_ref().err()));
    let totals = Totals::of(lab);
    html! {
        <section key="strip" class={if lab.running { "pane strip stale" } else { "pane strip" }} aria-label="Figures" data-testid="strip">
            <div class="scroll part-body" tabindex="0" role="region" aria-label="Figures of the run">
                if let Some(failure) = failure { <p class="failure" role="alert">{ with_code(&failure.text()) }</p> }
                if totals.source.or(totals.here).is_some() {
                    { figure_table(&figures, totals, lab.pass_here(), "strip-figures") }
                    { about_evaluations(totals, lab.pass_here()) }
                } else if failure.is_none() {
                    <p class="empty">{ "Nothing has run yet." }</p>
                }
            </div>
            <div class="scroll part-body values" tabindex="0" role="group" aria-label="Sliders">{ sliders(lab, act) }</div>
        </section>
    }
}
