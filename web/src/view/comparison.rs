//! The compared texts as one list of lines. Equal lines far from a difference are folded, and of a long list only the
//! rows in sight are in the document:
//!
//! ```text
//! lines    7,000   what the engine answered
//! parts    5,200   a line, or a fold of equal lines; all of the same height
//! rows        90   those in sight and some around them, between two spaces that keep the height of the list
//! ```

use std::ops::{Deref, Range};
use std::rc::Rc;

use warpscope_engine::message::{DiffLine, LineHeat, Simulated, View};
use web_sys::{Element, HtmlElement};
use yew::{
    Callback, Html, KeyboardEvent, MouseEvent, component, html, use_effect_with, use_memo, use_node_ref, use_state,
    use_state_eq,
};

use super::sight::{GRAIN, Sight, use_sight};
use super::source::{heat_level, short_number};
use super::{Now, Shared};
use crate::dom;
use crate::state::{Action, Pane, Selection};

/// Equal lines around a difference that stay visible.
const CONTEXT: usize = 4;
/// Fewer hidden lines than this are shown: a fold would take as much room.
const SMALLEST_FOLD: usize = 4;
/// Rows of a list that is in the document as a whole.
const MOST_ROWS: usize = 240;
/// Characters of a line that is likely to reach beyond its pane: it is shown whole under a resting pointer too.
const LONG_LINE: usize = 40;
/// Height of a row until one has been measured, in pixels.
const ROW_HEIGHT: f64 = 20.0;

/// The lines of a view's comparison; equal if they are the same, whatever else has changed.
#[derive(Clone)]
pub struct Lines(pub Rc<View>);

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

/// Properties of the list.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// The compared lines.
    pub diff: Lines,
    /// The block or line that is selected everywhere.
    pub selected: Option<Selection>,
    /// Whether equal lines are shown, however far from a difference they are.
    #[prop_or_default]
    pub is_whole: bool,
    /// The runs whose heat is shown beside the lines.
    pub run: Option<Shared<Simulated>>,
    /// Selection when a key is pressed.
    pub now: Now,
    /// Callback for actions.
    pub act: Callback<Action>,
}

/// The two texts as one list of lines.
#[component]
pub fn Comparison(Props { diff, selected, is_whole: shows_all, run, now, act }: &Props) -> Html {
    let opened = use_state(Vec::<usize>::new);
    let place = use_node_ref();
    let sight = use_sight(&place);
    let heat = use_memo(run.clone(), |run| Heat::of(run.as_ref()));
    let widths = use_memo(diff.clone(), |lines| widths(lines));
    let shows_all = *shows_all;
    let parts = use_memo((diff.clone(), (*opened).clone(), selected.clone()), |(lines, opened, selected)| {
        if shows_all { (0..lines.len()).map(Part::Line).collect() } else { folds(lines, opened, selected.as_ref()) }
    });
    {
        let (opened, lines) = (opened.clone(), diff.clone());
        use_effect_with(lines, move |_| {
            if !opened.is_empty() {
                opened.set(Vec::new());
            }
        });
    }
    {
        // A selection that was made elsewhere comes into sight.
        let (place, parts, lines) = (place.clone(), parts.clone(), diff.clone());
        use_effect_with(selected.clone(), move |selected| {
            let by_itself = selected.as_ref().is_some_and(|selection| selection.by == Pane::Change);
            let Some(pane) = place.cast::<HtmlElement>().filter(|_| !by_itself) else { return };
            if let Some(rows) = selected.as_ref().and_then(|selected| selected_rows(&lines, &parts, selected)) {
                show_rows(&pane, &rows);
            }
        });
    }
    {
        // The change comes into sight after a step, whatever is selected, and when the pane gets another height.
        let (place, parts) = (place.clone(), parts.clone());
        use_effect_with((diff.clone(), sight.height), move |(lines, _)| {
            if let Some((pane, rows)) = place.cast::<HtmlElement>().zip(changed_rows(lines, &parts)) {
                show_rows(&pane, &rows);
            }
        });
    }
    let onkeydown = {
        let (act, lines, now) = (act.clone(), diff.clone(), now.clone());
        Callback::from(move |event: KeyboardEvent| {
            let step: isize = match event.key().as_str() {
                "ArrowDown" => 1,
                "ArrowUp" => -1,
                _ => return,
            };
            event.prevent_default();
            if let Some((block, inst)) = neighbour(&lines, now.lab().selected.as_ref(), step) {
                act.emit(Action::Select(Some(Selection { block, inst, by: Pane::Everywhere })));
            }
        })
    };
    // The rows are as high as each other, and as high as long as the pane is as large.
    let height = use_state_eq(|| ROW_HEIGHT);
    {
        let (place, height) = (place.clone(), height.clone());
        use_effect_with((sight.width, sight.height, parts.is_empty()), move |_| {
            if let Some(pane) = place.cast::<Element>() {
                height.set(row_height(&pane));
            }
        });
    }
    let height = *height;
    let shown = rows_in_sight(parts.len(), sight, height);
    let space = |rows: usize| match rows {
        0 => Html::default(),
        rows => {
            html! { <tr class="space" aria-hidden="true"><td colspan="5" style={format!("height:{}px", rows as f64 * height)} /></tr> }
        }
    };
    // Only of a list that is not in the document as a whole do rows have to say where they are.
    let is_whole = shown.len() == parts.len();
    let index_of_row = |row: usize| (!is_whole).then(|| (row + 2).to_string());
    html! {
        <div class="pane-body scroll comparison" ref={place.clone()} tabindex="0" role="region" data-testid="diff"
            aria-label="Compared programs; arrow keys select lines" {onkeydown}>
            <table aria-rowcount={(!is_whole).then(|| (parts.len() + 1).to_string())}
                style={format!("--digits:{};--longest:{}", widths.0, widths.1)}>
                <thead class="hidden"><tr><th>{ "Before" }</th><th>{ "After" }</th><th>{ "Heat" }</th><th>{ "Change" }</th><th>{ "Text" }</th></tr></thead>
                <tbody>
                    { space(shown.start) }
                    { for shown.clone().map(|row| match parts[row] {
                        Part::Line(index) => line_row(&diff[index], index_of_row(row), selected.as_ref(), &heat, act),
                        Part::Fold(from, to) => {
                            let (opened, place) = (opened.clone(), place.clone());
                            let open = Callback::from(move |_: MouseEvent| {
                                let mut all = (*opened).clone();
                                all.push(from);
                                opened.set(all);
                                // The button goes; from here the keyboard goes through the lines.
                                if let Some(pane) = place.cast::<HtmlElement>() {
                                    let _ = pane.focus();
                                }
                            });
                            html! {
                                <tr class="fold" key={format!("fold-{from}")} aria-rowindex={index_of_row(row)}><td colspan="5">
                                    <button type="button" onclick={open}>{ format!("{} equal lines", super::thousands((to - from) as u64)) }</button>
                                </td></tr>
                            }
                        }
                    }) }
                    { space(parts.len() - shown.end) }
                </tbody>
            </table>
        </div>
    }
}

/// How often lines of the later text were issued.
struct Heat {
    runs: Option<Shared<Simulated>>,
    hottest: u64,
}

impl Heat {
    fn of(runs: Option<&Shared<Simulated>>) -> Heat {
        let heat = Heat { runs: runs.cloned(), hottest: 0 };
        let hottest = heat.lines().iter().map(|line| line.issues).max().unwrap_or(0);
        Heat { hottest, ..heat }
    }

    fn lines(&self) -> &[LineHeat] {
        self.runs.as_ref().and_then(|runs| runs.0.after.as_ref().ok()).map_or(&[], |run| &run.lines)
    }

    /// The issues of a line that ran.
    fn issues(&self, line: usize) -> Option<u64> {
        let at = self.lines().binary_search_by_key(&line, |found| found.line).ok()?;
        Some(self.lines()[at].issues).filter(|&issues| issues > 0)
    }
}

/// Digits of the largest line number, and characters of the longest line: columns keep their width while rows come and go.
fn widths(lines: &[DiffLine]) -> (usize, usize) {
    let last = lines.iter().filter_map(|line| line.before.max(line.after)).max().unwrap_or(0);
    (last.to_string().len(), lines.iter().map(|line| line.text.chars().count()).max().unwrap_or(0))
}

/// The height of the rows, in pixels.
fn row_height(pane: &Element) -> f64 {
    let row = pane.query_selector("tbody tr:not(.space)").ok().flatten();
    row.map(|row| row.get_bounding_client_rect().height()).filter(|height| *height > 0.0).unwrap_or(ROW_HEIGHT)
}

/// Which of `count` rows of this height are in the document.
fn rows_in_sight(count: usize, sight: Sight, height: f64) -> Range<usize> {
    if count <= MOST_ROWS {
        return 0..count;
    }
    let from = ((sight.top - GRAIN) / height).max(0.0) as usize;
    let to = ((sight.top + sight.height + 2.0 * GRAIN) / height) as usize;
    from.min(count)..to.clamp(from.min(count), count)
}

/// Scrolls to rows.
fn show_rows(pane: &HtmlElement, rows: &Range<usize>) {
    let height = row_height(pane);
    dom::reveal_between(pane, rows.start as f64 * height, rows.end as f64 * height);
}

/// The rows from the first to the last of lines.
fn rows_of(lines: &[DiffLine], parts: &[Part], is_wanted: impl Fn(&DiffLine) -> bool) -> Option<Range<usize>> {
    let holds = |part: &Part| matches!(*part, Part::Line(index) if is_wanted(&lines[index]));
    let first = parts.iter().position(holds)?;
    Some(first..parts.iter().rposition(holds)? + 1)
}

/// The rows of the selected line, else of the selected block.
fn selected_rows(lines: &[DiffLine], parts: &[Part], selected: &Selection) -> Option<Range<usize>> {
    let exact = selected.inst.and_then(|inst| rows_of(lines, parts, |line| line.inst == Some(inst)));
    exact.or_else(|| rows_of(lines, parts, |line| line.block == selected.block))
}

/// The rows of the current change, else the first that differs.
fn changed_rows(lines: &[DiffLine], parts: &[Part]) -> Option<Range<usize>> {
    let current = rows_of(lines, parts, |line| line.is_current);
    current.or_else(|| rows_of(lines, parts, DiffLine::differs).map(|all| all.start..all.start + 1))
}

/// The stop of the keyboard that is `step` after the selected one. What an altered line was and what it is are one stop.
fn neighbour(lines: &[DiffLine], selected: Option<&Selection>, step: isize) -> Option<(String, Option<u32>)> {
    let mut met = vec![false; lines.iter().filter_map(|line| line.inst).max().map_or(0, |most| most as usize + 1)];
    let mut stops: Vec<(&str, Option<u32>)> = Vec::new();
    let mut last_label = "";
    for line in lines.iter().filter(|line| !line.block.is_empty()) {
        let is_new = match line.inst {
            Some(inst) => !std::mem::replace(&mut met[inst as usize], true),
            None => std::mem::replace(&mut last_label, &line.block) != line.block,
        };
        if is_new {
            stops.push((&line.block, line.inst));
        }
    }
    let at = selected
        .and_then(|selection| stops.iter().position(|stop| *stop == (selection.block.as_str(), selection.inst)));
    let next = match at {
        Some(at) => at.checked_add_signed(step)?,
        None => 0,
    };
    stops.get(next).map(|&(block, inst)| (block.to_owned(), inst))
}

fn line_row(
    line: &DiffLine,
    row: Option<String>,
    selected: Option<&Selection>,
    heat: &Heat,
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
    let current = if line.is_current { " current" } else { "" };
    let class = format!("{kind}{mark}{current}");
    let onclick = {
        let (act, block, inst) = (act.clone(), line.block.clone(), line.inst);
        Callback::from(move |_: MouseEvent| {
            let selection = (!block.is_empty()).then(|| Selection { block: block.clone(), inst, by: Pane::Change });
            act.emit(Action::Select(selection));
        })
    };
    let number = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
    let ran = line.after.and_then(|line| heat.issues(line));
    html! {
        <tr {class} aria-current={line.is_current.then_some("step")} {onclick} key={format!("{:?}-{:?}", line.before, line.after)} aria-rowindex={row}>
            <td class="number">{ number(line.before) }</td>
            <td class="number">{ number(line.after) }</td>
            <td class="heat" style={ran.map(|issues| format!("--heat:{}", heat_level(issues, heat.hottest)))}>
                { ran.map(short_number).unwrap_or_default() }
            </td>
            <td class="sign"><span aria-hidden="true">{ sign }</span><span class="hidden">{ spoken }</span></td>
            <td class="text" title={(line.text.len() > LONG_LINE).then(|| line.text.trim().to_owned())}><code>{ marked_text(line) }</code></td>
        </tr>
    }
}

/// The line, the part that differs marked.
fn marked_text(line: &DiffLine) -> Html {
    let Some((from, to)) = line.changed else {
        let text = line.text.trim_start();
        return html! { <>{ &line.text[..line.text.len() - text.len()] }<span>{ text }</span></> };
    };
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

/// Which lines to show: what differs or is current, some lines around it, what is selected elsewhere, and what a person opened.
fn folds(lines: &[DiffLine], opened: &[usize], selected: Option<&Selection>) -> Vec<Part> {
    let mut near = vec![false; lines.len()];
    for (index, _) in lines.iter().enumerate().filter(|(_, line)| line.differs() || line.is_current) {
        let to = (index + CONTEXT + 1).min(lines.len());
        near[index.saturating_sub(CONTEXT)..to].fill(true);
    }
    // Without any difference the text is what there is to see.
    if !near.contains(&true) {
        near.fill(true);
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
        let lines: Vec<DiffLine> = (1..=3_000).map(same).collect();
        assert_eq!(folds(&lines, &[], None).len(), 3_000);
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

    #[test]
    fn of_a_long_list_only_what_is_in_sight_is_drawn() {
        let sight = Sight { left: 0.0, top: 20_224.0, width: 400.0, height: 500.0 };
        assert_eq!(rows_in_sight(5_000, sight, 20.0), 998..1_061);
        assert_eq!(rows_in_sight(1_000, sight, 20.0), 998..1_000);
        // Shorter than where it was scrolled to, as after a step.
        assert_eq!(rows_in_sight(500, sight, 20.0), 500..500);
        assert_eq!(rows_in_sight(MOST_ROWS, sight, 20.0), 0..MOST_ROWS);
    }

    #[test]
    fn shows_the_selection_and_the_current_change() {
        let mut lines: Vec<DiffLine> = (1..=30).map(same).collect();
        lines[15].before = None;
        for line in &mut lines[20..24] {
            line.block = "b".to_owned();
        }
        lines[22].inst = Some(7);
        let selection = |inst| Selection { block: "b".to_owned(), inst, by: Pane::Graph };
        let rows = |inst| {
            let selected = selection(inst);
            selected_rows(&lines, &folds(&lines, &[], Some(&selected)), &selected)
        };
        // The fold of the first eleven lines is one row.
        assert_eq!(rows(None), Some(10..14));
        assert_eq!(rows(Some(7)), Some(12..13));
        assert_eq!(changed_rows(&lines, &folds(&lines, &[], None)), Some(5..6));
        lines[25].is_current = true;
        assert_eq!(changed_rows(&lines, &folds(&lines, &[], None)), Some(15..16));
    }

    #[test]
    fn the_keyboard_stops_once_at_an_altered_line() {
        let line = |inst| DiffLine { block: "b".to_owned(), inst: Some(inst), ..DiffLine::default() };
        let lines = [line(1), line(2), line(1), line(2), line(3)];
        let from = |inst| Some(Selection { block: "b".to_owned(), inst: Some(inst), by: Pane::Change });
        assert_eq!(neighbour(&lines, from(2).as_ref(), 1), Some(("b".to_owned(), Some(3))));
        assert_eq!(neighbour(&lines, from(1).as_ref(), -1), None);
        assert_eq!(neighbour(&lines, None, 1), Some(("b".to_owned(), Some(1))));
    }
}
