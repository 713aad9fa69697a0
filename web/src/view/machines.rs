//! The table of a machine model: what each class of operations costs, what memory costs, and who says so.

use warpscope_engine::message::{Figure, MachineInfo};
use yew::{Html, component, html, use_state};

use super::thousands;

/// Properties of the table.
#[derive(PartialEq, yew::Properties)]
pub struct MachinesProps {
    /// All models.
    pub machines: Vec<MachineInfo>,
    /// The one that is shown first.
    pub chosen: String,
}

/// The models, one at a time.
#[component]
pub fn Machines(MachinesProps { machines, chosen }: &MachinesProps) -> Html {
    let shown = use_state(|| chosen.clone());
    let Some(machine) = machines.iter().find(|machine| machine.name == *shown) else { return Html::default() };
    html! {
        <div class="machines" data-testid="machines">
            <fieldset class="segments">
                <legend class="hidden">{ "Machine" }</legend>
                { for machines.iter().map(|machine| {
                    let (shown, name) = (shown.clone(), machine.name.clone());
                    html! {
                        <label>
                            <input type="radio" name="shown-machine" checked={*shown == machine.name} onchange={move |_| shown.set(name.clone())} />
                            <span>{ &machine.name }</span>
                        </label>
                    }
                }) }
            </fieldset>
            <p>{ &machine.summary }</p>
            <p class="note"><span class="estimate">{ "≈" }</span>{ " no published figure: taken from the nearest machine, or estimated." }</p>
            <table class="costs">
                <thead><tr>
                    <th scope="col">{ "operations" }</th>
                    <th scope="col" class="number">{ "issue" }</th>
                    <th scope="col">{ "from" }</th>
                    <th scope="col" class="number">{ "latency" }</th>
                    <th scope="col">{ "from" }</th>
                </tr></thead>
                <tbody>
                    { for machine.costs.iter().map(|cost| html! {
                        <tr><th scope="row">{ &cost.class }</th>{ figure(&cost.issue) }{ figure(&cost.latency) }</tr>
                    }) }
                </tbody>
            </table>
            <table class="costs">
                <thead><tr><th scope="col">{ "memory" }</th><th scope="col" class="number">{ "figure" }</th><th scope="col">{ "from" }</th></tr></thead>
                <tbody>
                    { for machine.memory.iter().map(|(name, of)| html! { <tr><th scope="row">{ name }</th>{ figure(of) }</tr> }) }
                </tbody>
            </table>
            <p class="note">{ "Issue: cycles for which the scheduler starts nothing else. Latency: cycles until the result can be used." }</p>
        </div>
    }
}

fn figure(figure: &Figure) -> Html {
    html! {
        <>
            <td class="number">
                if figure.is_filled { <span class="estimate" title="not published for this machine">{ "≈" }</span> }
                { thousands(u64::from(figure.value)) }
            </td>
            <td class="from">{ &figure.source }</td>
        </>
    }
}
