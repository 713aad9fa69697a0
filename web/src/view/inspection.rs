//! What a pass shows, whatever pass it is: a sentence, tables with verdicts, the meanings of the marks. A chosen row is
//! marked on graph and text.

use std::collections::BTreeMap;

use warpscope_engine::message::inspect::{Anchor, Cell, Column, Inspection as Told, Key, Look, Note, Row, Table};
use yew::{Callback, Html, KeyboardEvent, component, html};

use super::change::with_code;
use super::{PaneProps, Snapshot, on, thousands};
use crate::dom;
use crate::state::Action;

/// An inspection.
#[component]
pub fn Inspection(PaneProps { lab, act }: &PaneProps) -> Html {
    let Some(told) = lab.inspection() else {
        return html! { <div class="values inspection" data-testid="inspection"><p class="happened" role="status" data-testid="inspection-lead">{ "Looking…" }</p></div> };
    };
    let can_choose = told.tables.iter().any(|table| table.rows.iter().any(|row| row.is_choosable));
    html! {
        <div class="values inspection" data-testid="inspection">
            <p class="happened" role="status" data-testid="inspection-lead">{ with_code(&told.lead) }</p>
            if can_choose || !told.legend.is_empty() { { legend(&told.legend) } }
            <div class="pane-body scroll" tabindex="0" role="region" aria-label={format!("{}; up and down choose another row", told.title)}>
                { for told.tables.iter().map(|shown| table(shown, lab, act)) }
                { for told.notes.iter().map(note) }
            </div>
        </div>
    }
}

/// What the signs mean, and how many marks have each.
fn legend(keys: &[Key]) -> Html {
    let entry = |key: &Key| {
        html! {
            <span class="mark-key">
                <i class={format!("look-{}", key.look.name())} aria-hidden="true">{ &key.sign }</i>{ format!("{} {}", key.label, key.count) }
            </span>
        }
    };
    html! {
        <p class="question-legend" role="status" data-testid="mark-legend">
            if keys.is_empty() { { "Choose a row to see what it would change." } } else { { for keys.iter().map(entry) } }
        </p>
    }
}

fn note(note: &Note) -> Html {
    html! {
        <p class="note left-out" data-testid="inspection-note">
            if !note.word.is_empty() { <span class={if note.look == Look::Good { "chip pass" } else { "chip" }}>{ &note.word }</span>{ " " } }
            { with_code(&note.sentence) }
            if !note.aside.is_empty() { <small>{ &note.aside }</small> }
        </p>
    }
}

fn button_id(choice: &str, key: &str) -> String {
    format!("{choice}-{key}")
}

fn table(table: &Table, lab: &Snapshot, act: &Callback<Action>) -> Html {
    if table.rows.is_empty() {
        return Html::default();
    }
    let keys: Vec<String> = table.rows.iter().filter(|row| row.is_choosable).map(|row| row.key.clone()).collect();
    let told = table.rows.iter().find(|row| row.is_chosen).map(|row| row.key.clone());
    let chosen = lab.choices.get(&table.choice).cloned().or(told);
    let reached = chosen.clone().or_else(|| keys.first().cloned());
    let onkeydown = {
        let (act, now, choice, told) = (act.clone(), lab.now.clone(), table.choice.clone(), chosen.clone());
        Callback::from(move |event: KeyboardEvent| {
            let chosen = now.lab().choices.get(&choice).cloned().or_else(|| told.clone());
            let at = chosen.and_then(|chosen| keys.iter().position(|key| *key == chosen));
            let next = match event.key().as_str() {
                _ if dom::is_typing() => return,
                "ArrowDown" => at.map_or(0, |at| at + 1),
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
    let numbers: Vec<bool> = (0..table.columns.len()).map(|column| is_number(table, column)).collect();
    html! {
        <>
            <table class="value-table inspected-table" data-testid={format!("{}-table", table.name.to_lowercase())}>
                <thead><tr>{ for table.columns.iter().zip(&numbers).map(|(column, is_number)| head(column, *is_number)) }</tr></thead>
                { for table.rows.iter().map(|row| {
                    let is = |key: &Option<String>| key.as_deref() == Some(row.key.as_str());
                    html_row(row, table, &numbers, (is(&chosen), is(&reached)), (onkeydown.clone(), act))
                }) }
            </table>
            if table.left_out > 0 {
                <p class="note left-out">{ format!("And {} {}.", thousands(table.left_out as u64), table.left_out_words) }</p>
            }
        </>
    }
}

fn is_number(table: &Table, column: usize) -> bool {
    column > 0 && table.rows.iter().any(|row| row.cells.get(column).is_some_and(|cell| cell.value.is_some()))
}

fn head(column: &Column, is_number: bool) -> Html {
    let unit = if column.unit.is_empty() { String::new() } else { format!(" ({})", column.unit) };
    html! {
        <th scope="col" class={is_number.then_some("number")} title={(!column.help.is_empty()).then(|| format!("{}{unit}", column.help))}>
            { &column.name }if !column.index.is_empty() { <sub>{ &column.index }</sub> }
        </th>
    }
}

/// The two rows of a row: its cells, and its verdict.
fn html_row(
    row: &Row,
    table: &Table,
    numbers: &[bool],
    (is_chosen, is_reached): (bool, bool),
    (onkeydown, act): (Callback<KeyboardEvent>, &Callback<Action>),
) -> Html {
    let mut class = format!("look-{}", row.look.name());
    if is_chosen {
        class.push_str(" selected");
    }
    let onclick = row.is_choosable.then(|| {
        let (choice, key) = (table.choice.clone(), row.key.clone());
        on(act, move || Action::Choose(choice.clone(), key.clone()))
    });
    let name = row.cells.first().map_or("", |cell| cell.text.as_str());
    let cells = row.cells.iter().skip(1).zip(numbers.iter().skip(1));
    html! {
        <tbody key={row.key.clone()} {class} {onclick} {onkeydown} data-testid={format!("row-{}", row.key)}>
            <tr>
                <th scope="row">
                    if row.is_choosable {
                        <button type="button" class="leader" id={button_id(&table.choice, &row.key)} aria-pressed={is_chosen.to_string()}
                            tabindex={if is_reached { "0" } else { "-1" }} aria-label={format!("Choose {} {name}", table.choice)}>{ name }</button>
                    } else {
                        { name }
                    }
                </th>
                { for cells.map(|(cell, is_number)| html_cell(cell, *is_number)) }
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

fn html_cell(cell: &Cell, is_number: bool) -> Html {
    let class = if is_number { "number".to_owned() } else { "words".to_owned() };
    let class = if cell.look == Look::Plain { class } else { format!("{class} look-{}", cell.look.name()) };
    html! { <td {class}>{ &cell.text }</td> }
}

/// The marks on instructions, as graph and text look them up.
#[derive(Default)]
pub struct LineMarks<'a> {
    insts: BTreeMap<u32, (Look, &'a str)>,
    before: BTreeMap<u32, &'a str>,
}

impl<'a> LineMarks<'a> {
    /// Those of an inspection.
    pub fn of(told: &'a Told) -> LineMarks<'a> {
        let mut marks = LineMarks::default();
        for mark in &told.marks {
            match mark.anchor {
                Anchor::Inst(inst) => _ = marks.insts.insert(inst, (mark.look, &mark.text)),
                Anchor::Before(inst) => _ = marks.before.insert(inst, &mark.text),
                _ => {}
            }
        }
        marks
    }

    /// The look of an instruction, and its sign.
    pub fn at(&self, inst: u32) -> Option<(Look, &'a str)> {
        self.insts.get(&inst).copied()
    }

    /// What is to be inserted before an instruction.
    pub fn before(&self, inst: u32) -> Option<&'a str> {
        self.before.get(&inst).copied()
    }
}
