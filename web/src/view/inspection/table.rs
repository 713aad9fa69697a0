//! A table of what a pass shows: rows can be chosen by hand and key, numbers entered, and verdicts read below their rows. A
//! row that cannot be chosen leads to its moment, or to its place in the program.

use std::ops::Range;

use warpscope_engine::message::inspect::{Anchor, Cell, Column, ColumnKind, Entry, Inspection, Look, Note, Row, Table};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use yew::{Callback, Event, Html, KeyboardEvent, component, html, use_state_eq};

use super::super::change::with_code;
use super::super::{Shared, Snapshot, on, thousands};
use super::bounds;
use crate::dom;
use crate::state::{Action, Lab, Pane, Selection};

/// Strands that have a look of their own.
pub const STRANDS: usize = 8;

/// Further rows are drawn when somebody asks for them: more would make each step slow.
const DRAWN: usize = 300;

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
    let onkeydown = keys(table, lab, act);
    let digits = table.rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.entry.is_some());
    let digits = digits.map(|cell| cell.text.chars().count()).max().unwrap_or(1);
    let kind = match () {
        () if table.has_strands() => "compact",
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
            <table class={format!("value-table inspected-table {kind}")} style={format!("--digits:{digits}")} data-testid={test_id(table)}>
                <thead><tr>{ for table.columns.iter().map(head) }</tr></thead>
                { for drawn.map(|index| {
                    let row = &table.rows[index];
                    let is_chosen = chosen.as_deref() == Some(row.key.as_str());
                    let drawing = RowDrawing { row, table, at, is_chosen, is_reached: reached == Some(index), lab, act };
                    drawing.html(onkeydown.clone())
                }) }
            </table>
            if table.has_strands() && table.rows.len() > STRANDS {
                <p class="note left-out">{ format!("The graph shows the first {STRANDS} of these; {} more are executed.", thousands((table.rows.len() + table.left_out - STRANDS) as u64)) }</p>
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
    Some(rows().rposition(stands_out).unwrap_or(table.rows.len() - 1))
}

fn stands_out(row: &Row) -> bool {
    !matches!(row.look, Look::Plain | Look::Faint)
}

/// The rows that are drawn of so many: those around the one that is reached.
fn rows_around(reached: usize, count: usize) -> Range<usize> {
    let first = reached.saturating_sub(DRAWN / 2).min(count.saturating_sub(DRAWN));
    first..count.min(first + DRAWN)
}

/// The keys that lead from row to row: they choose, or move the focus where nothing can be chosen.
fn keys(table: &Table, lab: &Snapshot, act: &Callback<Action>) -> Callback<KeyboardEvent> {
    let keys: Vec<String> = table.rows.iter().filter(|row| row.is_choosable).map(|row| row.key.clone()).collect();
    if keys.is_empty() {
        return Callback::from(step_in_list);
    }
    let (act, now, table) = (act.clone(), lab.now.clone(), table.clone());
    Callback::from(move |event: KeyboardEvent| {
        let at = chosen_key(&table, &now.lab()).and_then(|chosen| keys.iter().position(|key| *key == chosen));
        let next = match event.key().as_str() {
            _ if dom::is_typing() => return,
            "ArrowDown" => at.map_or(1, |at| at + 1).min(keys.len().saturating_sub(1)),
            "ArrowUp" => at.unwrap_or(0).saturating_sub(1),
            "Home" => 0,
            "End" => keys.len().saturating_sub(1),
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        if let Some(key) = keys.get(next) {
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

fn class_of(column: &Column) -> &'static str {
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
        <th scope="col" class={class_of(column)} title={(!column.help.is_empty()).then(|| format!("{}{unit}", column.help))}>
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
        <summary data-testid="terms">{ "What the columns mean" }</summary>
        <dl data-testid="terms-list">
            { for result.iter().flat_map(|result| &result.terms).map(|term| html! { <div><dt><code>{ &term.name }</code></dt><dd>{ &term.meaning }</dd></div> }) }
            { for columns.iter().map(|column| html! { <div><dt>{ &column.name }</dt><dd>{ &column.help }</dd></div> }) }
        </dl>
        </details>
    }
}

fn button_id(choice: &str, key: &str) -> String {
    format!("{choice}-{key}")
}

/// A row, and what decides about its look.
struct RowDrawing<'a> {
    row: &'a Row,
    table: &'a Table,
    /// The moment that is shown.
    at: Option<usize>,
    is_chosen: bool,
    is_reached: bool,
    lab: &'a Lab,
    act: &'a Callback<Action>,
}

impl RowDrawing<'_> {
    /// The rows of the row: its cells, and its verdict.
    fn html(&self, onkeydown: Callback<KeyboardEvent>) -> Html {
        let RowDrawing { row, table, is_chosen, act, .. } = *self;
        let place = row.anchor.as_ref().filter(|_| !row.is_choosable).and_then(|anchor| selection(anchor, self.lab));
        let is_selected = place.as_ref().is_some_and(|place| is_same_place(self.lab.selected.as_ref(), place));
        let is_now = row.moment.is_some() && row.moment == self.at;
        let is_to_come = row.moment.zip(self.at).is_some_and(|(moment, at)| moment > at);
        let is_entered = |cell: &Cell| cell.entry.as_ref().is_some_and(|entry| entry.default.to_string() != cell.text);
        let states = [
            ("selected", is_chosen || is_selected),
            ("now", is_now),
            ("to-come", is_to_come),
            ("entered", row.cells.iter().any(is_entered)),
        ];
        let states: String = states.iter().filter(|(_, is_so)| *is_so).map(|(state, _)| format!(" {state}")).collect();
        // Choosing a strand again lets it stand out no more. Where a number can be entered, only the button chooses.
        let value = if is_chosen && row.strand.is_some() { String::new() } else { row.key.clone() };
        let choose = row.is_choosable.then(|| {
            let (choice, value) = (table.choice.clone(), value);
            on(act, move || Action::Choose(choice.clone(), value.clone()))
        });
        let lead = match (row.moment.filter(|_| !row.is_choosable), place) {
            (Some(moment), _) => Some(on(act, move || Action::WalkTo(moment))),
            (None, Some(place)) => Some(on(act, move || Action::Select(Some(place.clone())))),
            (None, None) => None,
        };
        let (of_row, of_button) = if table.has_strands() { (None, choose) } else { (choose, lead.clone()) };
        let is_button = row.is_choosable || lead.is_some();
        let name = row.cells.first().map_or("", |cell| cell.text.as_str());
        let label = match (row.is_choosable, row.moment) {
            (true, _) => format!("Choose {} {name}", table.choice),
            (false, Some(_)) => format!("Show moment {name}"),
            (false, None) => format!("Show where {name} is"),
        };
        let cells = row.cells.iter().zip(&table.columns).enumerate().skip(1);
        let pressed = (row.is_choosable || row.moment.is_none()).then(|| (is_chosen || is_selected).to_string());
        html! {
            <tbody key={row.key.clone()} class={format!("look-{}{states}", row.look.name())} onclick={of_row} {onkeydown}
                data-testid={format!("row-{}", row.key)} data-reached={(self.is_reached && stands_out(row) && row.moment.is_none()).then_some("true")}>
                <tr title={(!row.help.is_empty()).then(|| row.help.clone())}>
                    <th scope="row" class={row.is_part.then_some("part")}>
                        if is_button {
                            <button type="button" class="leader" id={row.is_choosable.then(|| button_id(&table.choice, &row.key))}
                                aria-pressed={pressed} aria-current={is_now.then_some("step")}
                                tabindex={if self.is_reached { "0" } else { "-1" }} aria-label={label} onclick={of_button}>
                                if let Some(strand) = row.strand { { swatch(strand) } }
                                { name }
                            </button>
                        } else {
                            { name }
                        }
                    </th>
                    { for cells.map(|(place, (cell, column))| html_cell(cell, column, table.scale_end(place), act)) }
                </tr>
                if let Some(verdict) = &row.verdict {
                    <tr class="verdict-row">
                        <td colspan={table.columns.len().to_string()}>
                            <div>
                                <span class={if verdict.is_good { "chip pass" } else { "chip" }}>{ &verdict.rule }</span>
                                { " " }{ with_code(&verdict.sentence) }
                            </div>
                        </td>
                    </tr>
                }
            </tbody>
        }
    }
}

/// The part of the program that an anchor is about, as panes select it; none if the graph does not have it.
fn selection(anchor: &Anchor, lab: &Lab) -> Option<Selection> {
    let blocks = &lab.view.as_ref()?.graph.blocks;
    let (block, inst) = match *anchor {
        Anchor::Inst(inst) | Anchor::Before(inst) => {
            let holds =
                |block: &&warpscope_engine::message::GraphBlock| block.lines.iter().any(|line| line.inst == inst);
            (blocks.iter().find(holds)?, Some(inst))
        }
        Anchor::Block(id) | Anchor::Start(id) | Anchor::End(id) => (blocks.iter().find(|block| block.id == id)?, None),
        _ => return None,
    };
    Some(Selection { block: block.name.clone(), inst, by: Pane::Everywhere })
}

fn is_same_place(selected: Option<&Selection>, place: &Selection) -> bool {
    selected.is_some_and(|selected| (&selected.block, selected.inst) == (&place.block, place.inst))
}

/// A cell, with the end of its column's scale.
fn html_cell(cell: &Cell, column: &Column, end: f64, act: &Callback<Action>) -> Html {
    let class = class_of(column);
    let class = if cell.look == Look::Plain { class.to_owned() } else { format!("{class} look-{}", cell.look.name()) };
    let title = (!cell.help.is_empty()).then(|| cell.help.clone());
    html! {
        <td {class} {title}>
            if let Some(entry) = &cell.entry {
                { number(cell, entry, act) }
            } else if let Some(bounds) = &cell.bounds {
                { bounds::drawn(bounds, &cell.text, end) }
            } else {
                { with_code(&cell.text) }
            }
        </td>
    }
}

/// A number that may be entered.
fn number(cell: &Cell, entry: &Entry, act: &Callback<Action>) -> Html {
    let onchange = {
        let (act, key) = (act.clone(), entry.key.clone());
        Callback::from(move |event: Event| {
            let number = dom::value(&event).and_then(|value| value.trim().parse::<u64>().ok());
            if let Some(number) = number {
                act.emit(Action::Choose(key.clone(), number.to_string()));
            }
        })
    };
    html! { <input type="number" min="0" step="1" value={cell.text.clone()} {onchange} aria-label={entry.label.clone()} title={cell.help.clone()} /> }
}

/// The look of a strand.
fn swatch(place: usize) -> Html {
    if place >= STRANDS {
        return html! { <i class="strand-key" aria-hidden="true" /> };
    }
    html! {
        <svg class="strand-key" viewBox="0 0 16 8" aria-hidden="true"><path class={format!("strand s{place}")} d="M0 4H16" stroke-width="5" /></svg>
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
            (0..300, 350..650, 700..1_000)
        );
    }
}
