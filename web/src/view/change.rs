//! The change pane: the reason of the change that led to the position, and the compared texts.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

use warpscope_engine::message::{DiffLine, Remark, Scope, Simulated, View};
use web_sys::HtmlElement;
use yew::{
    Callback, Html, KeyboardEvent, MouseEvent, component, html, use_effect_with, use_memo, use_node_ref, use_state,
};

use super::source::{heat_level, short_number};
use super::{PaneProps, Shared, count};
use crate::dom;
use crate::state::{Action, Lab, Pane, Selection};

/// Equal lines around a difference that stay visible.
const CONTEXT: usize = 4;
/// Equal lines of a text without any difference that are shown at once; a page of many thousands is slow.
const LONGEST_WHOLE: usize = 600;
/// Fewer hidden lines than this are shown: a fold would take as much room.
const SMALLEST_FOLD: usize = 4;

/// The change pane.
#[component]
pub fn Change(PaneProps { lab, act }: &PaneProps) -> Html {
    let view = lab.view.clone().unwrap_or_default();
    let scopes = [(Scope::Rewrite, "This change"), (Scope::Pass, "This pass"), (Scope::Pipeline, "All passes")];
    html! {
        <section class="pane change" aria-labelledby="change-title" data-testid="change-pane">
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
            { reason(view.remark.as_ref(), &nothing_changed(lab)) }
            { refusals(&view.missed) }
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
        _ if view.diagnostics.iter().any(|diagnostic| !diagnostic.is_warning) => {
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

/// The lines of a view's comparison; equal if they are the same, whatever else has changed.
#[derive(Clone)]
struct Lines(Rc<View>);

impl Deref for Lines {
    type Target = [DiffLine];

    fn deref(&self) -> &[DiffLine] {
        &self.0.diff
    }
}

impl PartialEq for Lines {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

#[derive(PartialEq, yew::Properties)]
struct ComparisonProps {
    diff: Lines,
    selected: Option<Selection>,
    /// The runs whose heat is shown beside the lines.
    run: Option<Shared<Simulated>>,
    act: Callback<Action>,
}

/// The two texts as one list of lines.
#[component]
fn Comparison(ComparisonProps { diff, selected, run, act }: &ComparisonProps) -> Html {
    let opened = use_state(Vec::<usize>::new);
    let place = use_node_ref();
    let heat = use_memo(run.clone(), |run| {
        let run = run.as_ref().and_then(|runs| runs.0.after.as_ref().ok());
        let lines = run.map(|run| run.lines.clone()).unwrap_or_default();
        let hottest = lines.iter().map(|line| line.issues).max().unwrap_or(0);
        let entries = lines.into_iter().map(|line| (line.line, (line.issues, heat_level(line.issues, hottest))));
        let mut by_line = BTreeMap::new();
        by_line.extend(entries);
        by_line
    });
    {
        let (opened, lines) = (opened.clone(), diff.clone());
        use_effect_with(lines, move |_| opened.set(Vec::new()));
    }
    {
        // What changed, or what was selected elsewhere, comes into sight.
        let place = place.clone();
        use_effect_with((diff.clone(), selected.clone()), move |(_, selected)| {
            let elsewhere = selected.as_ref().is_some_and(|selection| selection.by != Pane::Change);
            let by_itself = selected.as_ref().is_some_and(|selection| selection.by == Pane::Change);
            let Some(element) = place.cast::<HtmlElement>().filter(|_| !by_itself) else { return };
            let lines = if elsewhere {
                let exact = dom::all(&element, "tr.exact");
                if exact.is_empty() { dom::all(&element, "tr.selected") } else { exact }
            } else {
                element.query_selector("tr.removed, tr.added").ok().flatten().into_iter().collect()
            };
            // All of a block if it fits, else its beginning.
            for line in lines.last().into_iter().chain(lines.first()) {
                dom::reveal(line);
            }
        });
    }
    let folds = folds(diff, &opened, selected.as_ref());
    let onkeydown = {
        let (act, lines, selected) = (act.clone(), diff.clone(), selected.clone());
        Callback::from(move |event: KeyboardEvent| {
            let step: isize = match event.key().as_str() {
                "ArrowDown" => 1,
                "ArrowUp" => -1,
                _ => return,
            };
            event.prevent_default();
            // What an altered line was and what it is are one stop.
            let mut stops: Vec<(&str, Option<u32>)> = Vec::new();
            for line in lines.iter().filter(|line| !line.block.is_empty()) {
                let stop = (line.block.as_str(), line.inst);
                if !stops.contains(&stop) {
                    stops.push(stop);
                }
            }
            let at = selected.as_ref().and_then(|selection| {
                stops.iter().position(|&(block, inst)| block == selection.block && inst == selection.inst)
            });
            let next = match at {
                Some(at) => at.checked_add_signed(step).filter(|&next| next < stops.len()),
                None => (!stops.is_empty()).then_some(0),
            };
            if let Some(next) = next {
                let (block, inst) = stops[next];
                act.emit(Action::Select(Some(Selection { block: block.to_owned(), inst, by: Pane::Everywhere })));
            }
        })
    };
    html! {
        <div class="pane-body scroll comparison" ref={place} tabindex="0" role="region" data-testid="diff"
            aria-label="Compared programs; arrow keys select lines" {onkeydown}>
            <table>
                <thead class="hidden"><tr><th>{ "Before" }</th><th>{ "After" }</th><th>{ "Heat" }</th><th>{ "Change" }</th><th>{ "Text" }</th></tr></thead>
                <tbody>
                    { for folds.into_iter().map(|part| match part {
                        Part::Line(index) => line_row(&diff[index], selected.as_ref(), &heat, act),
                        Part::Fold(from, to) => {
                            let opened = opened.clone();
                            let open = Callback::from(move |_: MouseEvent| {
                                let mut all = (*opened).clone();
                                all.push(from);
                                opened.set(all);
                            });
                            html! {
                                <tr class="fold" key={format!("fold-{from}")}><td colspan="5">
                                    <button type="button" onclick={open}>{ format!("{} equal lines", to - from) }</button>
                                </td></tr>
                            }
                        }
                    }) }
                </tbody>
            </table>
        </div>
    }
}

fn line_row(
    line: &DiffLine,
    selected: Option<&Selection>,
    heat: &BTreeMap<usize, (u64, f64)>,
    act: &Callback<Action>,
) -> Html {
    let (kind, sign, spoken) = match (line.before, line.after) {
        (Some(_), None) => ("removed", "−", "removed"),
        (None, Some(_)) => ("added", "+", "added"),
        _ => ("same", "", ""),
    };
    let is_selected = !line.block.is_empty() && selected.is_some_and(|selection| selection.block == line.block);
    let is_exact = line.inst.is_some() && selected.is_some_and(|selection| selection.inst == line.inst);
    let mark = if is_exact {
        " selected exact"
    } else if is_selected {
        " selected"
    } else {
        ""
    };
    let class = format!("{kind}{mark}");
    let onclick = {
        let (act, block, inst) = (act.clone(), line.block.clone(), line.inst);
        Callback::from(move |_: MouseEvent| {
            let selection = (!block.is_empty()).then(|| Selection { block: block.clone(), inst, by: Pane::Change });
            act.emit(Action::Select(selection));
        })
    };
    let number = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
    let ran = line.after.and_then(|line| heat.get(&line)).filter(|(issues, _)| *issues > 0);
    html! {
        <tr {class} {onclick} key={format!("{:?}-{:?}", line.before, line.after)}>
            <td class="number">{ number(line.before) }</td>
            <td class="number">{ number(line.after) }</td>
            <td class="heat" style={ran.map(|(_, level)| format!("--heat:{level}"))}>
                { ran.map(|(issues, _)| short_number(*issues)).unwrap_or_default() }
            </td>
            <td class="sign"><span aria-hidden="true">{ sign }</span><span class="hidden">{ spoken }</span></td>
            <td class="text"><code>{ marked_text(line) }</code></td>
        </tr>
    }
}

/// The line, the part that differs marked.
fn marked_text(line: &DiffLine) -> Html {
    let Some((from, to)) = line.changed else { return html! { &line.text } };
    let characters: Vec<char> = line.text.chars().collect();
    let piece = |from: usize, to: usize| {
        characters[from.min(characters.len())..to.min(characters.len())].iter().collect::<String>()
    };
    html! { <>{ piece(0, from) }<mark>{ piece(from, to) }</mark>{ piece(to, usize::MAX) }</> }
}

/// A part of the shown list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Line(usize),
    /// Hidden equal lines, from and to.
    Fold(usize, usize),
}

/// Which lines to show: what differs, some lines around it, what is selected elsewhere, and what a person opened.
fn folds(lines: &[DiffLine], opened: &[usize], selected: Option<&Selection>) -> Vec<Part> {
    let differs = |line: &DiffLine| line.before.is_none() || line.after.is_none();
    let mut near = vec![false; lines.len()];
    for (index, _) in lines.iter().enumerate().filter(|(_, line)| differs(line)) {
        let to = (index + CONTEXT + 1).min(lines.len());
        near[index.saturating_sub(CONTEXT)..to].fill(true);
    }
    // Without any difference the text is what there is to see.
    if !near.contains(&true) {
        let most = if lines.len() > LONGEST_WHOLE { LONGEST_WHOLE } else { lines.len() };
        near[..most].fill(true);
    }
    // Under a pointer that selects here, lines stay where they are.
    if let Some(selection) = selected.filter(|selection| selection.by != Pane::Change) {
        let is_selected = |line: &DiffLine| line.block == selection.block;
        near.iter_mut().zip(lines).for_each(|(near, line)| *near |= is_selected(line));
    }
    let mut parts = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let hidden = near[index..].iter().take_while(|near| !**near).count();
        if hidden >= SMALLEST_FOLD && !opened.contains(&index) {
            parts.push(Part::Fold(index, index + hidden));
            index += hidden;
        } else {
            let shown = hidden.max(1);
            parts.extend((index..index + shown).map(Part::Line));
            index += shown;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(number: usize) -> DiffLine {
        DiffLine { before: Some(number), after: Some(number), ..DiffLine::default() }
    }

    #[test]
    fn equal_lines_far_from_a_difference_are_folded() {
        let mut lines: Vec<DiffLine> = (1..=30).map(same).collect();
        lines[15].before = None;
        let parts = folds(&lines, &[], None);
        assert_eq!(parts[0], Part::Fold(0, 11));
        assert_eq!(parts[1], Part::Line(11));
        assert_eq!(*parts.last().unwrap(), Part::Fold(20, 30));
        assert_eq!(folds(&lines, &[0], None)[0], Part::Line(0));
    }

    #[test]
    fn a_text_without_differences_is_shown_whole() {
        let lines: Vec<DiffLine> = (1..=30).map(same).collect();
        assert_eq!(folds(&lines, &[], None).len(), 30);
        let lines: Vec<DiffLine> = (1..=LONGEST_WHOLE + 50).map(same).collect();
        assert_eq!(folds(&lines, &[], None).len(), LONGEST_WHOLE + 1);
    }

    #[test]
    fn what_is_selected_elsewhere_is_unfolded() {
        let mut lines: Vec<DiffLine> = (1..=30).map(same).collect();
        lines[25].before = None;
        lines[3].block = "b".to_owned();
        let selected = |by| Selection { block: "b".to_owned(), inst: None, by };
        assert!(folds(&lines, &[], Some(&selected(Pane::Graph))).contains(&Part::Line(3)));
        assert!(!folds(&lines, &[], Some(&selected(Pane::Change))).contains(&Part::Line(3)));
    }
}
