//! A row of a table: its cells, with bounds drawn and numbers to enter, and its verdict below.

use warpscope_engine::message::inspect::{Anchor, Cell, Column, Entry, Look, Row, Table};
use yew::{Callback, Event, Html, html};

use super::super::change::{with_code, without_marks};
use super::super::on;
use super::bounds;
use super::table::{STRANDS, class_of, stands_out};
use crate::dom;
use crate::state::{Action, Lab, Pane, Selection};

/// The identity of the button that chooses a row.
pub fn button_id(choice: &str, key: &str) -> String {
    format!("{choice}-{key}")
}

/// A row, and what decides about its look.
pub struct RowDrawing<'a> {
    /// The row.
    pub row: &'a Row,
    /// The table that it is of.
    pub table: &'a Table,
    /// Whether the rows of the table are strands.
    pub has_strands: bool,
    /// The end of the scale of each column of bounds.
    pub scales: &'a [f64],
    /// The moment that is shown.
    pub at: Option<usize>,
    /// Whether it is chosen.
    pub is_chosen: bool,
    /// Whether the keyboard meets it first.
    pub is_reached: bool,
    /// The state that is drawn.
    pub lab: &'a Lab,
    /// The receiver of what a person does.
    pub act: &'a Callback<Action>,
}

impl RowDrawing<'_> {
    /// The rows of the row: its cells, and its verdict.
    pub fn html(&self) -> Html {
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
        let (of_row, of_button) = if self.has_strands { (None, choose) } else { (choose, lead.clone()) };
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
            <tbody key={row.key.clone()} class={format!("look-{}{states}", row.look.name())} onclick={of_row}
                data-testid={format!("row-{}", row.key)} data-reached={(self.is_reached && stands_out(row) && row.moment.is_none()).then_some("true")}>
                <tr title={(!row.help.is_empty()).then(|| without_marks(&row.help))}>
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
                    { for cells.map(|(place, (cell, column))| html_cell(cell, column, self.scales[place], act)) }
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
    let title = (!cell.help.is_empty()).then(|| without_marks(&cell.help));
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
    html! { <input type="number" min="0" step="1" value={cell.text.clone()} {onchange} aria-label={entry.label.clone()} title={without_marks(&cell.help)} /> }
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
