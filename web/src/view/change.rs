//! The change pane: the reason of the change that led to the position, and the compared texts.

use warpscope_engine::message::{Remark, Scope};
use yew::{Html, component, html};

use super::comparison::{Comparison, Lines};
use super::{PaneProps, Shared, count};
use crate::state::{Action, Lab};

/// The change pane.
#[component]
pub fn Change(PaneProps { lab, act }: &PaneProps) -> Html {
    let (view, is_old) = lab.drawn();
    let scopes = [(Scope::Rewrite, "This change"), (Scope::Pass, "This pass"), (Scope::Pipeline, "All passes")];
    html! {
        <section class={if is_old { "pane change old" } else { "pane change" }} aria-labelledby="change-title" data-testid="change-pane">
            <div class="pane-head">
                <h2 id="change-title">{ "Change" }</h2>
                <fieldset class="segments" data-testid="scope">
                    <legend class="hidden">{ "What is compared" }</legend>
                    { for scopes.into_iter().map(|(scope, name)| {
                        let act = act.clone();
                        html! {
                            <label>
                                <input type="radio" name="scope" checked={lab.scope == scope}
                                    onchange={move |_| act.emit(Action::Scope(scope))} />
                                <span>{ name }</span>
                            </label>
                        }
                    }) }
                </fieldset>
            </div>
            { reason(view.remark.as_ref().filter(|_| !is_old), &nothing_changed(lab)) }
            if !is_old { { refusals(&view.missed) } }
            <Comparison diff={Lines(view.clone())}
                selected={lab.selected.clone()}
                run={lab.run_at_position().and_then(|_| lab.runs.clone()).map(Shared)}
                act={act.clone()} />
        </section>
    }
}

/// What there is to say where no change led to the position.
fn nothing_changed(lab: &Lab) -> String {
    let Some(view) = &lab.view else { return String::new() };
    let shown = view.position.stage.checked_sub(1).and_then(|index| lab.bench.pipeline.get(index));
    match shown {
        _ if !lab.lacks_program() => match shown {
            Some(stage) => format!("`{}` changed nothing.", stage.pass),
            None => "The source, before any pass.".to_owned(),
        },
        _ if lab.has_mistakes() && lab.last_good.is_some() => {
            "The program has mistakes, listed below the editor. Until they are mended this is the program before them."
                .to_owned()
        }
        _ if lab.has_mistakes() => {
            "The program has mistakes, listed below the editor. It is shown here once they are mended.".to_owned()
        }
        _ => "There is no kernel yet: write one, paste PTX, or open an example.".to_owned(),
    }
}

/// The sentence that says why.
fn reason(remark: Option<&Remark>, otherwise: &str) -> Html {
    let Some(remark) = remark else {
        let text = with_code(otherwise);
        return html! { <div class="reason none" data-testid="reason"><p>{ text }</p></div> };
    };
    html! {
        <div class="reason" data-testid="reason">
            <p>
                <span class="chip pass">{ &remark.pass }</span>
                <span class="chip">{ &remark.rule }</span>
                if !remark.at.is_empty() { <span class="chip block">{ &remark.at }</span> }
            </p>
            <p class="sentence">{ with_code(&remark.message) }</p>
            if !remark.facts.is_empty() {
                <dl>
                    { for remark.facts.iter().map(|(name, value)| html! {
                        <div><dt>{ name }</dt><dd>{ value }</dd></div>
                    }) }
                </dl>
            }
        </div>
    }
}

/// What the pass considered and did not do.
fn refusals(missed: &[Remark]) -> Html {
    if missed.is_empty() {
        return Html::default();
    }
    html! {
        <details class="refusals" data-testid="missed">
            <summary>{ format!("{} refused", count(missed.len(), "opportunity").replace("opportunitys", "opportunities")) }</summary>
            <ul>
                { for missed.iter().map(|remark| html! {
                    <li><span class="chip">{ &remark.rule }</span>{ " " }{ with_code(&remark.message) }</li>
                }) }
            </ul>
        </details>
    }
}

/// Text with its parts between backquotes as code.
pub fn with_code(text: &str) -> Html {
    html! {
        { for text.split('`').enumerate().map(|(index, part)| {
            if index % 2 == 1 { html! { <code>{ part }</code> } } else { html! { part } }
        }) }
    }
}
