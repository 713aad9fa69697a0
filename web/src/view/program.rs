//! The program at the position as one text, for readers: the changed line is marked and in sight, a removed one is struck.

use yew::{Callback, Html, MouseEvent, html};

use super::comparison::{Comparison, Lines};
use super::transport::place_name;
use super::{Shared, Snapshot};
use crate::dom;
use crate::state::Action;

/// The program pane.
pub fn program(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let (view, is_old) = lab.drawn();
    let show_source = {
        let act = act.clone();
        Callback::from(move |_: MouseEvent| {
            act.emit(Action::ShowSource(true));
            // The button goes with its pane.
            dom::focus_later("tab-source".to_owned());
        })
    };
    html! {
        <section key="program" class={if is_old { "pane program old" } else { "pane program" }} aria-labelledby="program-title"
            data-testid="program-pane" hidden={lab.shows_source}>
            <div class="pane-head">
                <h2 id="program-title">{ "Program" }</h2>
                <span class="note">{ place_name(lab, view.position) }</span>
                <span class="space" />
                <button type="button" class="plain small" id="show-source" onclick={show_source}>{ "Edit the source" }</button>
            </div>
            <Comparison diff={Lines(view.clone())} is_whole=true
                selected={lab.selected.clone()}
                run={lab.run_at_position().and_then(|_| lab.runs.clone()).map(Shared)}
                now={lab.now.clone()} act={act.clone()} />
        </section>
    }
}
