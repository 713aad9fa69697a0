//! A table of what a pass shows: rows can be chosen by hand and key, numbers entered, and verdicts read below their rows.

use warpscope_engine::message::inspect::{Cell, Column, ColumnKind, Entry, Inspection, Look, Note, Row, Table};
use yew::{Callback, Event, Html, KeyboardEvent, html};

use super::super::change::with_code;
use super::super::{Snapshot, on, thousands};
use crate::dom;
use crate::state::Action;

/// Strands that have a look of their own.
pub const STRANDS: usize = 8;

/// The table.
pub fn table(table: &Table, lab: &Snapshot, act: &Callback<Action>) -> Html {
    if table.rows.is_empty() {
        return Html::default();
    }
    let keys: Vec<String> = table.rows.iter().filter(|row| row.is_choosable).map(|row| row.key.clone()).collect();
    let told = table.rows.iter().find(|row| row.is_chosen).map(|row| row.key.clone());
    // A strand that stood out may stand out no more.
    let told = if table.has_strands() { None } else { told };
    let chosen = lab.choices.get(&table.choice).cloned().or_else(|| told.clone());
    let reached = chosen.clone().or_else(|| keys.first().cloned());
    let onkeydown = {
        let (act, now, choice) = (act.clone(), lab.now.clone(), table.choice.clone());
        Callback::from(move |event: KeyboardEvent| {
            let chosen = now.lab().choices.get(&choice).cloned().or_else(|| told.clone());
            let at = chosen.and_then(|chosen| keys.iter().position(|key| *key == chosen));
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
                act.emit(Action::Choose(choice.clone(), key.clone()));
                dom::focus(&button_id(&choice, key));
            }
        })
    };
    let digits = table.rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.entry.is_some());
    let digits = digits.map(|cell| cell.text.chars().count()).max().unwrap_or(1);
    let class = if table.is_compact() { "value-table inspected-table compact" } else { "value-table inspected-table" };
    html! {
        <>
            <table {class} style={format!("--digits:{digits}")} data-testid={format!("{}-table", table.name.to_lowercase())}>
                <thead><tr>{ for table.columns.iter().map(head) }</tr></thead>
                { for table.rows.iter().map(|row| {
                    let is = |key: &Option<String>| key.as_deref() == Some(row.key.as_str());
                    html_row(row, table, (is(&chosen), is(&reached)), (onkeydown.clone(), act))
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

fn class_of(column: &Column) -> &'static str {
    match column.kind {
        ColumnKind::Words => "words",
        ColumnKind::Number => "number",
        ColumnKind::Flag => "flag",
        ColumnKind::Path => "path",
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

/// The rows of a row: its cells, and its verdict.
fn html_row(
    row: &Row,
    table: &Table,
    (is_chosen, is_reached): (bool, bool),
    (onkeydown, act): (Callback<KeyboardEvent>, &Callback<Action>),
) -> Html {
    let mut class = format!("look-{}", row.look.name());
    if is_chosen {
        class.push_str(" selected");
    }
    let is_entered = |cell: &Cell| cell.entry.as_ref().is_some_and(|entry| entry.default.to_string() != cell.text);
    if row.cells.iter().any(is_entered) {
        class.push_str(" entered");
    }
    // Choosing a strand again lets it stand out no more. Where a number can be entered, only the button chooses.
    let value = if is_chosen && row.strand.is_some() { String::new() } else { row.key.clone() };
    let choose = row.is_choosable.then(|| {
        let (choice, value) = (table.choice.clone(), value);
        on(act, move || Action::Choose(choice.clone(), value.clone()))
    });
    let (of_row, of_button) = if table.is_compact() { (None, choose) } else { (choose, None) };
    let name = row.cells.first().map_or("", |cell| cell.text.as_str());
    let cells = row.cells.iter().zip(&table.columns).skip(1);
    html! {
        <tbody key={row.key.clone()} {class} onclick={of_row} {onkeydown} data-testid={format!("row-{}", row.key)}>
            <tr title={(!row.help.is_empty()).then(|| row.help.clone())}>
                <th scope="row">
                    if row.is_choosable {
                        <button type="button" class="leader" id={button_id(&table.choice, &row.key)} aria-pressed={is_chosen.to_string()}
                            tabindex={if is_reached { "0" } else { "-1" }} aria-label={format!("Choose {} {name}", table.choice)} onclick={of_button}>
                            if let Some(strand) = row.strand { { swatch(strand) } }
                            { name }
                        </button>
                    } else {
                        { name }
                    }
                </th>
                { for cells.map(|(cell, column)| html_cell(cell, column, act)) }
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

fn html_cell(cell: &Cell, column: &Column, act: &Callback<Action>) -> Html {
    let class = class_of(column);
    let class = if cell.look == Look::Plain { class.to_owned() } else { format!("{class} look-{}", cell.look.name()) };
    let title = (!cell.help.is_empty()).then(|| cell.help.clone());
    html! {
        <td {class} {title}>
            if let Some(entry) = &cell.entry { { number(cell, entry, act) } } else { { &cell.text } }
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
