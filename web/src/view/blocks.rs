//! The runs by block: one figure of every block, then of the selected block all figures, and that one of each of its
//! instructions. Selecting a row selects it everywhere.

use warpscope_engine::message::{BlockRun, Counts, InstRun, Run};
use yew::{Callback, Event, Html, component, html, use_state};

use super::figures::{Figure, Totals, all_figures, table_head};
use super::{PaneProps, on};
use crate::dom;
use crate::state::{Action, Lab, Pane, Selection};

/// The runs by block.
#[component]
pub fn Blocks(PaneProps { lab, act }: &PaneProps) -> Html {
    let figure = use_state(|| Figure::Cycles);
    let Some(runs) = lab.runs.clone() else { return Html::default() };
    let (before, after) = (runs.before.as_ref().ok(), runs.after.as_ref().ok());
    let known = Figure::all([before, after].into_iter().flatten().map(|run| &run.total), lab.pass_here());
    let choose = {
        let (figure, known) = (figure.clone(), known.clone());
        Callback::from(move |event: Event| {
            let name = dom::value(&event).unwrap_or_default();
            if let Some(chosen) = known.iter().find(|known| known.name() == name) {
                figure.set(chosen.clone());
            }
        })
    };
    let selected = lab.selected.as_ref();
    let rows = paired_blocks(before, after);
    let of_selected = selected.and_then(|selection| rows.iter().find(|row| row.name == selection.block));
    html! {
        <>
            <label class="field by-figure">
                <span>{ "Figure" }</span>
                <select onchange={choose} data-testid="by-figure">
                    { for known.iter().map(|known| {
                        let name = known.name();
                        html! { <option value={name.clone()} selected={*known == *figure}>{ name }</option> }
                    }) }
                </select>
            </label>
            <table class="figures rows" data-testid="by-block">
                { table_head("Block", false) }
                <tbody>
                    { for rows.iter().map(|row| {
                        let select = select(act, row.name, None);
                        block_row(row.name, (&figure, lab.pass_here()), (row.before, row.after), lab.is_selected(row.name), select)
                    }) }
                </tbody>
            </table>
            if let Some(row) = of_selected {
                <section class="of-block" data-testid="of-block">
                    <h4><code>{ row.name }</code>{ format!(", {} by instruction", figure.name()) }</h4>
                    <table class="figures rows insts" data-testid="by-instruction">
                        { table_head("Instruction", false) }
                        <tbody>
                            { for paired_insts(row.name, before, after, lab).into_iter().map(|pair| {
                                let is_exact = pair.inst.is_some() && selected.is_some_and(|selection| selection.inst == pair.inst);
                                let select = select(act, row.name, pair.inst);
                                block_row(pair.text, (&figure, lab.pass_here()), (pair.before, pair.after), is_exact, select)
                            }) }
                        </tbody>
                    </table>
                    <h4><code>{ row.name }</code>{ ", all figures" }</h4>
                    { all_figures(Totals { source: row.before, here: row.after, end: None }, lab.pass_here(), "block-figures") }
                </section>
            } else {
                <p class="note hint">{ "Select a block, here or in any pane, to see its instructions and all of its figures." }</p>
            }
        </>
    }
}

fn select(act: &Callback<Action>, block: &str, inst: Option<u32>) -> Callback<yew::MouseEvent> {
    let block = block.to_owned();
    on(act, move || Action::Select(Some(Selection { block: block.clone(), inst, by: Pane::Results })))
}

fn block_row(
    name: &str,
    (figure, pass): (&Figure, &str),
    (before, after): (Option<&Counts>, Option<&Counts>),
    is_selected: bool,
    onclick: Callback<yew::MouseEvent>,
) -> Html {
    html! {
        <tr class={is_selected.then_some("selected")}>
            <th scope="row">
                <button type="button" {onclick} aria-pressed={is_selected.to_string()} title={name.to_owned()}><code>{ name }</code></button>
            </th>
            { figure.cells(before, after, pass) }
        </tr>
    }
}

/// A block in both programs.
struct PairedBlock<'a> {
    name: &'a str,
    before: Option<&'a Counts>,
    after: Option<&'a Counts>,
}

/// The blocks of the program before, then those that are new. A name means the same block in both.
fn paired_blocks<'a>(before: Option<&'a Run>, after: Option<&'a Run>) -> Vec<PairedBlock<'a>> {
    let blocks = |run: Option<&'a Run>| run.map_or(&[][..], |run| &run.blocks);
    fn counts<'a>(blocks: &'a [BlockRun], name: &str) -> Option<&'a Counts> {
        blocks.iter().find(|block| block.name == name).map(|block| &block.counts)
    }
    let (old, new) = (blocks(before), blocks(after));
    let gone_or_kept = old.iter().map(|block| PairedBlock {
        name: &block.name,
        before: Some(&block.counts),
        after: counts(new, &block.name),
    });
    let come = new.iter().filter(|block| counts(old, &block.name).is_none());
    let come = come.map(|block| PairedBlock { name: &block.name, before: None, after: Some(&block.counts) });
    gone_or_kept.chain(come).collect()
}

/// An instruction in both programs.
struct PairedInst<'a> {
    /// Its identity in the session, where it has one.
    inst: Option<u32>,
    text: &'a str,
    before: Option<&'a Counts>,
    after: Option<&'a Counts>,
}

/// The instructions of a block, in the order of the program after; one that is gone stands where it stood.
fn paired_insts<'a>(block: &str, before: Option<&'a Run>, after: Option<&'a Run>, lab: &Lab) -> Vec<PairedInst<'a>> {
    let of_block = |run: Option<&'a Run>| {
        let insts = run.map_or(&[][..], |run| &run.insts);
        insts.iter().filter(|inst| inst.block == block).collect::<Vec<&'a InstRun>>()
    };
    // The source was read once for both, so its instructions are those of the session; the text at the position was
    // printed and read again, so that only its lines lead back.
    let (view, _) = lab.drawn();
    let drawn = view.graph.blocks.iter().find(|found| found.name == block);
    let identity = |line: usize| {
        let lines = drawn.map_or(&[][..], |block| &block.lines);
        lines.iter().find(|found| found.line == line).map(|found| found.inst)
    };
    let mut rows: Vec<PairedInst<'a>> = Vec::new();
    for inst in of_block(before) {
        rows.push(PairedInst { inst: Some(inst.inst), text: &inst.text, before: Some(&inst.counts), after: None });
    }
    let mut next = 0;
    for inst in of_block(after) {
        let id = identity(inst.line);
        match rows.iter().position(|row| id.is_some() && row.inst == id && row.after.is_none()) {
            Some(at) => {
                (rows[at].text, rows[at].after) = (&inst.text, Some(&inst.counts));
                next = at + 1;
            }
            None => {
                let come = PairedInst { inst: id, text: &inst.text, before: None, after: Some(&inst.counts) };
                rows.insert(next, come);
                next += 1;
            }
        }
    }
    rows
}
