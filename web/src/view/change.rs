//! The change pane: the reason of the change that led to the position, and the compared texts; each inspection at the
//! position is another sheet.

use warpscope_engine::message::{InspectedPass, Remark, RemarkFact, Scope};
use yew::{Callback, Html, KeyboardEvent, html};

use super::comparison::{Comparison, Lines};
use super::inspection::Inspection;
use super::order::{DRAWN, ordered_facts};
use super::{Shared, Snapshot, count, on};
use crate::dom;
use crate::state::{Action, Lab, Sheet};

/// The change pane.
pub fn change(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let (view, is_old) = lab.drawn();
    let scopes = [
        (None, "Follow", "This change while you step, all passes at the end"),
        (Some(Scope::Rewrite), "This change", "Effect of this change"),
        (Some(Scope::Pass), "This pass", "Effect of the pass so far"),
        (Some(Scope::Pipeline), "All passes", "Effect of all passes so far"),
    ];
    let titles: &[InspectedPass] = if is_old { &[] } else { &view.inspected };
    let shown = lab.which_inspection().filter(|_| lab.sheet != Sheet::Lines).and_then(|which| titles.get(which));
    if let Some(shown) = shown {
        let shown = Some(shown.title.as_str());
        return html! {
            <section key="change" class="pane change" aria-label="Change" data-testid="change-pane">
                <div class="pane-head">{ sheets(titles, shown, act) }</div>
                <div class="sheet-panel" role="tabpanel" id="change-sheet" aria-labelledby={sheet_id(shown)}>
                    <Inspection lab={lab.clone()} act={act.clone()} />
                </div>
            </section>
        };
    }
    let is_tabbed = !titles.is_empty();
    html! {
        <section key="change" class={if is_old { "pane change old" } else { "pane change" }} aria-label="Change" data-testid="change-pane">
            <div class="pane-head">
                if is_tabbed { { sheets(titles, None, act) } } else { <h2>{ "Change" }</h2> }
                <fieldset class="segments" data-testid="scope">
                    <legend class="hidden">{ "Compared versions" }</legend>
                    { for scopes.into_iter().map(|(scope, name, help)| {
                        let act = act.clone();
                        html! {
                            <label title={help}>
                                <input type="radio" name="scope" checked={lab.scope == scope}
                                    onchange={move |_| act.emit(Action::Scope(scope))} />
                                <span>{ name }</span>
                            </label>
                        }
                    }) }
                </fieldset>
            </div>
            <div class="sheet-panel" role={is_tabbed.then_some("tabpanel")} id="change-sheet"
                aria-labelledby={is_tabbed.then(|| sheet_id(None))}>
                { reason(view.remark.as_ref().filter(|_| !is_old), &nothing_changed(lab)) }
                if !is_old { { refusals(&view.missed) } }
                <Comparison diff={Lines(view.clone())}
                    selected={lab.selected.clone()}
                    run={lab.run_at_position().and_then(|_| lab.runs.clone()).map(Shared)}
                    now={lab.now.clone()} act={act.clone()} />
            </div>
        </section>
    }
}

/// The identity of the tab of an inspection, or of that of the compared texts.
fn sheet_id(title: Option<&str>) -> String {
    title.map_or_else(|| "sheet-lines".to_owned(), |title| format!("sheet-{}", title.to_lowercase().replace(' ', "-")))
}

/// The tabs: the compared texts, and the inspections.
fn sheets(inspected: &[InspectedPass], shown: Option<&str>, act: &Callback<Action>) -> Html {
    let all: Vec<Option<String>> =
        [None].into_iter().chain(inspected.iter().map(|shown| Some(shown.title.clone()))).collect();
    let sheet = |title: Option<String>| title.map_or(Sheet::Lines, Sheet::Inspected);
    let onkeydown = {
        let (act, all) = (act.clone(), all.clone());
        Callback::from(move |event: KeyboardEvent| {
            // The tab that has the focus; which one is shown may not be drawn yet.
            let focused = dom::id(&event);
            let at = all.iter().position(|title| focused == Some(sheet_id(title.as_deref()))).unwrap_or(0);
            let next = match event.key().as_str() {
                "ArrowLeft" => (at + all.len() - 1) % all.len(),
                "ArrowRight" => (at + 1) % all.len(),
                _ => return,
            };
            event.prevent_default();
            act.emit(Action::Sheet(sheet(all[next].clone())));
            // At once for the next key, and then again: another sheet may be drawn with other tabs.
            let id = sheet_id(all[next].as_deref());
            dom::focus(&id);
            dom::focus_later(id);
        })
    };
    let tab = |title: &Option<String>| {
        let is_shown = title.as_deref() == shown;
        let chosen = sheet(title.clone());
        html! {
            <button type="button" role="tab" id={sheet_id(title.as_deref())} aria-selected={is_shown.to_string()}
                aria-controls="change-sheet" tabindex={if is_shown { "0" } else { "-1" }}
                onclick={on(act, move || Action::Sheet(chosen.clone()))}>{ title.as_deref().unwrap_or("Change") }</button>
        }
    };
    html! {
        <div role="tablist" aria-label="Views of the change" class="tabs" {onkeydown}>{ for all.iter().map(tab) }</div>
    }
}

/// Sentence for a position that no change led to.
fn nothing_changed(lab: &Lab) -> String {
    let Some(view) = &lab.view else { return String::new() };
    let shown = view.position.stage.checked_sub(1).and_then(|index| lab.bench.pipeline.get(index));
    match shown {
        _ if !lab.lacks_program() => match shown {
            Some(_) if view.is_before_change => {
                let (at, last) = lab.moment().unwrap_or_default();
                format!("Moment {at} of {last}: change {} is still to come.", view.position.step)
            }
            Some(stage) => format!("`{}` changed nothing.", stage.pass),
            None => "The source, before any pass.".to_owned(),
        },
        _ if lab.has_mistakes() && lab.last_good.is_some() => {
            "The program has errors, listed below the editor. Shown here: the last version without errors.".to_owned()
        }
        _ if lab.has_mistakes() => {
            "The program has errors, listed below the editor. It is shown here once they are fixed.".to_owned()
        }
        _ => "There is no kernel yet: write one, paste PTX, or open an example.".to_owned(),
    }
}

/// Whether a fact is told in words, and not drawn.
fn is_listed(fact: &RemarkFact) -> bool {
    !DRAWN.contains(&fact.name.as_str())
}

/// The sentence that says why.
fn reason(remark: Option<&Remark>, otherwise: &str) -> Html {
    let Some(remark) = remark else {
        let text = with_code(otherwise);
        return html! { <div class="reason none" data-testid="reason"><p>{ text }</p></div> };
    };
    html! {
        <div class="reason" tabindex="0" role="group" aria-label="Reason" data-testid="reason">
            <p>
                <span class="chip pass">{ &remark.pass }</span>
                <span class="chip">{ &remark.rule }</span>
                if !remark.at.is_empty() { <span class="chip block">{ &remark.at }</span> }
            </p>
            <p class="sentence">{ with_code(&remark.message) }</p>
            { ordered_facts(remark) }
            if remark.facts.iter().any(is_listed) {
                <dl>
                    { for remark.facts.iter().filter(|fact| is_listed(fact)).map(|RemarkFact { words, values, .. }| html! {
                        <div><dt>{ words }</dt><dd>{ values.join(", ") }</dd></div>
                    }) }
                </dl>
            }
        </div>
    }
}

/// Refusals of the pass.
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

/// Text without the backquotes around its code, for attributes.
pub fn without_marks(text: &str) -> String {
    text.replace('`', "")
}
