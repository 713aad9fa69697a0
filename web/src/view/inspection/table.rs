//! A table of what a pass shows: rows can be chosen by hand and key, numbers entered, and verdicts read below their rows. A
//! row that cannot be chosen leads to its moment, or to its place in the program.

use std::ops::Range;

use warpscope_engine::message::inspect::{Column, ColumnKind, Inspection, Look, Note, Row, Table};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use yew::{Callback, Html, KeyboardEvent, component, html, use_state_eq};

use super::super::change::{with_code, without_marks};
use super::super::{Now, Shared, Snapshot, thousands};
use super::row::{RowDrawing, button_id};
use crate::dom;
use crate::state::{Action, Lab};

/// Strands that have a look of their own.
pub const STRANDS: usize = 8;

/// Further rows are drawn when somebody asks for them: more would make each step slow.
const DRAWN: usize = 100;

/// A table of an inspection.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// The inspection.
    pub told: Shared<Inspection>,
    /// The table's place among those of the inspection.
    pub place: usize,
    /// The state that is drawn.
    pub lab: Snapshot,
    /// The receiver of what a person does.
    pub act: Callback<Action>,
}

/// The table.
#[component]
pub fn InspectedTable(Props { told, place, lab, act }: &Props) -> Html {
    let are_all_drawn = use_state_eq(|| false);
    let Some(table) = told.0.tables.get(*place) else { return Html::default() };
    let has_name = told.0.tables.len() > 1;
    if table.rows.is_empty() {
        let text = if has_name { &table.empty } else { "" };
        return if text.is_empty() {
            Html::default()
        } else {
            html! { <p class="empty" data-testid={test_id(table)}>{ text }</p> }
        };
    }
    let at = lab.moment().map(|(at, _)| at);
    let chosen = chosen_key(table, lab);
    let reached = reached_row(table, at, chosen.as_deref());
    let drawn = if *are_all_drawn { 0..table.rows.len() } else { rows_around(reached.unwrap_or(0), table.rows.len()) };
    let hidden = table.rows.len() - drawn.len();
    let show_all = {
        let are_all_drawn = are_all_drawn.clone();
        Callback::from(move |_: yew::MouseEvent| are_all_drawn.set(true))
    };
    let onkeydown = keys(told, *place, &lab.now, act);
    let scales: Vec<f64> = (0..table.columns.len()).map(|column| table.scale_end(column)).collect();
    // Texts of bounds are equally wide: their drawings have one scale.
    let bounds = table.rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.bounds.is_some());
    let bounds = bounds.map(|cell| cell.text.chars().count()).max().unwrap_or(0);
    let digits = table.rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.entry.is_some());
    let digits = digits.map(|cell| cell.text.chars().count()).max().unwrap_or(1);
    let has_strands = table.has_strands();
    let kind = match () {
        () if has_strands && table.columns.iter().any(|column| column.kind == ColumnKind::Path) => "compact",
        () if table.rows.iter().any(|row| row.verdict.is_some()) => "judged",
        () if table.rows.iter().any(|row| row.is_part) => "listed parts",
        () => "listed",
    };
    html! {
        <>
            if has_name && table.name != told.0.title { <h3 class="inspected-name">{ &table.name }</h3> }
            if hidden > 0 {
                <p class="more"><button type="button" class="quiet" onclick={show_all} data-testid="more">{ format!("Show {} more rows", thousands(hidden as u64)) }</button></p>
            }
            <table class={format!("value-table inspected-table {kind}")} style={format!("--digits:{digits};--bounds:{bounds}")} {onkeydown} data-testid={test_id(table)}>
                <thead><tr>{ for table.columns.iter().map(head) }</tr></thead>
                { for drawn.map(|index| {
                    let row = &table.rows[index];
                    let is_chosen = chosen.as_deref() == Some(row.key.as_str());
                    let is_reached = reached == Some(index);
                    RowDrawing { row, table, has_strands, scales: &scales, at, is_chosen, is_reached, lab, act }.html()
                }) }
            </table>
            if has_strands && table.rows.len() > STRANDS {
                <p class="note left-out">{ format!("The graph shows the first {STRANDS} of these {}, and the row that is chosen.", thousands(table.rows.len() as u64)) }</p>
            }
            if table.left_out > 0 {
                <p class="note left-out">{ format!("And {} {}.", thousands(table.left_out as u64), table.left_out_words) }</p>
            }
        </>
    }
}

fn test_id(table: &Table) -> String {
    format!("{}-table", table.name.to_lowercase().replace(' ', "-"))
}

/// The key of the chosen row.
fn chosen_key(table: &Table, lab: &Lab) -> Option<String> {
    // A strand that stood out may stand out no more.
    let told = table.rows.iter().find(|row| row.is_chosen && !table.has_strands()).map(|row| row.key.clone());
    lab.choices.get(&table.choice).cloned().or(told)
}

/// The row that the keyboard meets first: the chosen one, that of the moment, or the one that stands out.
fn reached_row(table: &Table, at: Option<usize>, chosen: Option<&str>) -> Option<usize> {
    let rows = || table.rows.iter();
    if rows().any(|row| row.is_choosable) {
        let is_chosen = |row: &Row| chosen == Some(row.key.as_str());
        return rows().position(is_chosen).or_else(|| rows().position(|row| row.is_choosable));
    }
    if rows().any(|row| row.moment.is_some()) {
        return Some(rows().position(|row| row.moment >= at).unwrap_or(table.rows.len() - 1));
    }
    // Somebody who enters numbers stays where the number is.
    let has_entries = rows().flat_map(|row| &row.cells).any(|cell| cell.entry.is_some());
    if has_entries {
        return None;
    }
    Some(rows().rposition(stands_out).unwrap_or(table.rows.len() - 1))
}

pub fn stands_out(row: &Row) -> bool {
    !matches!(row.look, Look::Plain | Look::Faint)
}

/// The rows that are drawn of so many: those around the one that is reached.
fn rows_around(reached: usize, count: usize) -> Range<usize> {
    let first = reached.saturating_sub(DRAWN / 2).min(count.saturating_sub(DRAWN));
    first..count.min(first + DRAWN)
}

/// The keys that lead from row to row: they choose, or move the focus where nothing can be chosen.
fn keys(told: &Shared<Inspection>, place: usize, now: &Now, act: &Callback<Action>) -> Callback<KeyboardEvent> {
    if !told.0.tables[place].rows.iter().any(|row| row.is_choosable) {
        return Callback::from(step_in_list);
    }
    let (act, now, told) = (act.clone(), now.clone(), told.clone());
    Callback::from(move |event: KeyboardEvent| {
        let table = &told.0.tables[place];
        let keys: Vec<&String> = table.rows.iter().filter(|row| row.is_choosable).map(|row| &row.key).collect();
        let at = chosen_key(table, &now.lab()).and_then(|chosen| keys.iter().position(|key| **key == chosen));
        let next = match event.key().as_str() {
            _ if dom::is_typing() => return,
            "ArrowDown" => at.map_or(1, |at| at + 1).min(keys.len().saturating_sub(1)),
            "ArrowUp" => at.unwrap_or(0).saturating_sub(1),
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        if let Some(&key) = keys.get(next) {
            act.emit(Action::Choose(table.choice.clone(), key.clone()));
            dom::focus(&button_id(&table.choice, key));
        }
    })
}

/// Moves the focus up or down in a list: the keyboard meets one of its buttons, and reaches the others from there.
fn step_in_list(event: KeyboardEvent) {
    let is_down = match event.key().as_str() {
        "ArrowDown" => true,
        "ArrowUp" => false,
        _ => return,
    };
    let entry = event.target().and_then(|target| target.dyn_into::<Element>().ok()?.closest("tbody").ok()?);
    let next =
        entry.and_then(|entry| if is_down { entry.next_element_sibling() } else { entry.previous_element_sibling() });
    if let Some(Ok(Some(button))) = next.map(|next| next.query_selector("button")) {
        event.prevent_default();
        // A button that cannot take the focus leaves it where it is.
        let _ = button.unchecked_into::<HtmlElement>().focus();
    }
}

pub fn class_of(column: &Column) -> &'static str {
    match column.kind {
        ColumnKind::Words => "words",
        ColumnKind::Number => "number",
        ColumnKind::Flag => "flag",
        ColumnKind::Path => "path",
        ColumnKind::Bounds => "bounded",
    }
}

fn head(column: &Column) -> Html {
    let unit = if column.unit.is_empty() { String::new() } else { format!(" ({})", column.unit) };
    html! {
        <th scope="col" class={class_of(column)} title={(!column.help.is_empty()).then(|| without_marks(&column.help) + &unit)}>
            { &column.name }if !column.index.is_empty() { <sub>{ &column.index }</sub> }
        </th>
    }
}

/// The meanings of columns and terms, opened beside the choice.
pub fn help(told: &Inspection, result: Option<&Note>) -> Html {
    let columns = told.tables.iter().flat_map(|table| &table.columns).filter(|column| column.kind == ColumnKind::Flag);
    let columns: Vec<&Column> = columns.collect();
    if columns.is_empty() {
        return Html::default();
    }
    html! {
        <details class="inspected-terms">
        <summary data-testid="terms">{ "Meanings of the columns" }</summary>
        <dl data-testid="terms-list">
            { for result.iter().flat_map(|result| &result.terms).map(|term| html! { <div><dt><code>{ &term.name }</code></dt><dd>{ with_code(&term.meaning) }</dd></div> }) }
            { for columns.iter().map(|column| html! { <div><dt>{ &column.name }</dt><dd>{ with_code(&column.help) }</dd></div> }) }
        </dl>
        </details>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_rows_around_the_reached_one() {
        assert_eq!((rows_around(0, 20), rows_around(19, 20)), (0..20, 0..20));
        assert_eq!(
            (rows_around(0, 1_000), rows_around(500, 1_000), rows_around(999, 1_000)),
            (0..100, 450..550, 900..1_000)
        );
    }
}
