//! The notes beside a program, for readers: title, paper and figure, what happens, and what to look at.

use yew::{Callback, Html, MouseEvent, component, html};

use super::change::with_code;
use super::opening::use_opening;
use super::{PaneProps, on};
use crate::examples::{self, Example};
use crate::state::{Action, Dialog, Lab};

/// Lines of a program's own leading comment that are shown.
const MOST_LINES: usize = 6;

/// The notes.
#[component]
pub fn Notes(PaneProps { lab, act }: &PaneProps) -> Html {
    let (open, opening) = use_opening(act);
    let next = lab.example.and_then(|example| examples::place_in_gallery(example).1);
    let go_on = next.map(|next| {
        let open = open.clone();
        let is_opening = opening == next.file;
        let onclick = Callback::from(move |_: MouseEvent| open.emit((next, None)));
        html! {
            <button type="button" class="plain" {onclick} data-testid="next-example">
                <span><small>{ if is_opening { "Opening…" } else { "Next" } }</small>{ next.title }</span><span aria-hidden="true">{ "▸" }</span>
            </button>
        }
    });
    html! {
        <section class="pane notes" aria-labelledby="notes-title" data-testid="notes">
            <div class="pane-head"><h2 id="notes-title">{ title(lab) }</h2></div>
            <div class="pane-body scroll" tabindex="0" role="region" aria-label="Notes">
                { match lab.example {
                    Some(example) => of_example(lab, example),
                    None => own(lab),
                } }
            </div>
            <div class="notes-end">
                { for go_on }
                <button type="button" class="quiet" onclick={on(act, || Action::Dialog(Some(Dialog::Examples)))}>{ "All examples" }</button>
            </div>
        </section>
    }
}

fn title(lab: &Lab) -> String {
    let kernel = || lab.drawn().0.kernel.clone();
    lab.example.map_or_else(kernel, |example| example.title.to_owned())
}

/// Notes of an example.
fn of_example(lab: &Lab, example: &'static Example) -> Html {
    let (group, _) = examples::place_in_gallery(example);
    let is_edited = lab.opened.as_deref().is_some_and(|opened| opened.source != lab.bench.source);
    html! {
        <>
            <p class="cite">
                { if group.paper.is_empty() { group.heading } else { group.paper } }
                if let Some(figure) = examples::figure_of(example) { { format!(", figure {figure}") } }
                if is_edited { <span class="chip">{ "edited" }</span> }
            </p>
            <p>{ with_code(example.summary) }</p>
            <p class="look"><b>{ "Look at " }</b>{ with_code(example.look) }</p>
            <p class="note">{ "Step with → and ←. Each change says why." }</p>
        </>
    }
}

/// The leading comment of a person's own program.
fn own(lab: &Lab) -> Html {
    let lines = lab.bench.source.lines().map(str::trim).take_while(|line| line.starts_with("//"));
    let comment: Vec<&str> = lines.map(|line| line.trim_start_matches('/').trim()).take(MOST_LINES).collect();
    html! {
        <>
            <p class="cite">{ "Your program" }</p>
            <p>{ comment.join(" ") }</p>
            <p class="note">{ "Step with → and ←. Each change says why." }</p>
        </>
    }
}
