//! The search field under the pass rail: type a part of a name or of what a pass does, choose, and it is at the end.

use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;
use yew::{Callback, Html, InputEvent, KeyboardEvent, component, html, use_state};

use super::change::with_code;
use crate::dom;
use crate::state::PipelineEdit;
use warpscope_engine::message::PassInfo;

/// Properties of the field.
#[derive(PartialEq, yew::Properties)]
pub struct ChooserProps {
    /// All passes.
    pub passes: Vec<PassInfo>,
    /// Callback for the chosen one.
    pub on_edit: Callback<PipelineEdit>,
}

/// The passes that all words of `query` are about, names first: the whole name, its beginning, its parts; then summaries,
/// and citations last.
fn matching(passes: &[PassInfo], query: &str) -> Vec<PassInfo> {
    let query = query.trim().to_lowercase();
    let rank = |pass: &PassInfo| {
        // Nobody types the sign of a pipeline.
        let name = pass.name.trim_start_matches('@').to_lowercase();
        let has_words = |text: &str| query.split_whitespace().all(|word| text.contains(word));
        let summary = format!("{} {}", pass.name, pass.summary).to_lowercase();
        let paper = format!("{summary} {}", pass.paper.to_lowercase());
        let meant = [
            query.is_empty() || name == query.trim_start_matches('@'),
            name.starts_with(query.trim_start_matches('@')),
            has_words(&pass.name.to_lowercase()),
            has_words(&summary),
            has_words(&paper),
        ];
        meant.iter().position(|&is_meant| is_meant)
    };
    let mut found: Vec<(usize, &PassInfo)> = passes.iter().filter_map(|pass| Some((rank(pass)?, pass))).collect();
    found.sort_by_key(|&(rank, _)| rank);
    found.into_iter().map(|(_, pass)| pass.clone()).collect()
}

/// The search field.
#[component]
pub fn Chooser(ChooserProps { passes, on_edit }: &ChooserProps) -> Html {
    let query = use_state(String::new);
    let open = use_state(|| false);
    // None until an arrow or a letter has said what is looked for.
    let active = use_state(|| None::<usize>);
    let found = matching(passes, &query);
    let at = (*active).map(|at| at.min(found.len().saturating_sub(1)));
    let add = {
        let (on_edit, query, open, active) = (on_edit.clone(), query.clone(), open.clone(), active.clone());
        Callback::from(move |name: String| {
            on_edit.emit(PipelineEdit::Add(name));
            query.set(String::new());
            active.set(None);
            open.set(false);
        })
    };
    let oninput = {
        let (query, open, active) = (query.clone(), open.clone(), active.clone());
        Callback::from(move |event: InputEvent| {
            if let Some(input) = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) {
                active.set((!input.value().trim().is_empty()).then_some(0));
                query.set(input.value());
                open.set(true);
            }
        })
    };
    let onkeydown = {
        let (open, query, active, add, passes) =
            (open.clone(), query.clone(), active.clone(), add.clone(), passes.clone());
        Callback::from(move |event: KeyboardEvent| {
            // What the field holds now: quick hands are ahead of the drawing.
            let names = matching(&passes, &dom::value(&event).unwrap_or_default());
            let names: Vec<String> = names.into_iter().map(|pass| pass.name).collect();
            let last = names.len().saturating_sub(1);
            let at = (*active).map(|at| at.min(last));
            match event.key().as_str() {
                "ArrowDown" if !*open => open.set(true),
                "ArrowDown" => active.set(Some(at.map_or(0, |at| at + 1).min(last))),
                "ArrowUp" => active.set(Some(at.unwrap_or(0).saturating_sub(1))),
                "Enter" => {
                    // A second press of a key that has added one adds no other.
                    if let Some(name) = at.filter(|_| *open).and_then(|at| names.get(at)) {
                        add.emit(name.clone());
                    }
                }
                "Escape" => {
                    query.set(String::new());
                    active.set(None);
                    open.set(false);
                }
                _ => return,
            }
            event.prevent_default();
        })
    };
    fn show<E>(open: &yew::UseStateHandle<bool>, shown: bool) -> Callback<E> {
        let open = open.clone();
        Callback::from(move |_: E| open.set(shown))
    }
    html! {
        <div class="chooser">
            <input type="search" id="pass-search" role="combobox" placeholder="Add a pass…" aria-label="Add a pass"
                aria-expanded={open.to_string()} aria-controls="pass-options" aria-autocomplete="list" autocomplete="off"
                aria-activedescendant={at.filter(|_| *open && !found.is_empty()).map(|at| format!("pass-option-{at}"))}
                value={(*query).clone()} {oninput} {onkeydown} onfocus={show(&open, true)} onclick={show(&open, true)} onblur={show(&open, false)} />
            // Browsers put lists that scroll into the tab order, and this one is hidden once the field has lost the focus.
            <ul id="pass-options" role="listbox" aria-label="Passes" tabindex="-1" hidden={!*open}>
                { for found.iter().enumerate().map(|(index, pass)| {
                    let (add, name) = (add.clone(), pass.name.clone());
                    // Before the field loses the focus, which would close the list under the pointer.
                    let onmousedown = Callback::from(move |event: yew::MouseEvent| {
                        event.prevent_default();
                        add.emit(name.clone());
                    });
                    html! {
                        <li role="option" id={format!("pass-option-{index}")} aria-selected={(Some(index) == at).to_string()} {onmousedown}>
                            <span class="name">{ &pass.name }</span>
                            <span class="summary">{ with_code(&pass.summary) }</span>
                            if !pass.paper.is_empty() { <cite>{ &pass.paper }</cite> }
                        </li>
                    }
                }) }
                if found.is_empty() {
                    <li role="option" aria-selected="false" aria-disabled="true" class="none">{ "No matching pass." }</li>
                }
            </ul>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pass_of_that_name_comes_first() {
        let pass = |name: &str, summary: &str| PassInfo {
            name: name.to_owned(),
            summary: summary.to_owned(),
            ..PassInfo::default()
        };
        let passes =
            [pass("esrqp", "like srqp"), pass("srqp-s", "faster"), pass("dce", "dead code"), pass("srqp", "loads")];
        let names = |query| matching(&passes, query).into_iter().map(|pass| pass.name).collect::<Vec<_>>();
        assert_eq!(names("srqp"), ["srqp", "srqp-s", "esrqp"]);
        assert_eq!(names(" SRQP "), ["srqp", "srqp-s", "esrqp"]);
        assert_eq!(names("code dead"), ["dce"]);
        assert_eq!(names(""), ["esrqp", "srqp-s", "dce", "srqp"]);
    }

    #[test]
    fn names_come_before_summaries_and_citations() {
        let pass = |name: &str, summary: &str, paper: &str| PassInfo {
            name: name.to_owned(),
            summary: summary.to_owned(),
            paper: paper.to_owned(),
            ..PassInfo::default()
        };
        let passes = [
            pass("copy-prop", "copies", "ptxas page, OriCopyProp"),
            pass("basic", "as ptxas does", ""),
            pass("@ptxas-late", "", ""),
            pass("@ptxas", "", ""),
        ];
        let names: Vec<String> = matching(&passes, "ptxas").into_iter().map(|pass| pass.name).collect();
        assert_eq!(names, ["@ptxas", "@ptxas-late", "basic", "copy-prop"]);
    }
}
