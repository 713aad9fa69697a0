//! The simulator pane: what the values are like, what the runs found, and where every lane is.

use warpscope_engine::message::{Settings, ValueSource};
use yew::{Callback, Event, Html, InputEvent, MouseEvent, html};

use super::icons::Icon;
use super::lanes::lanes;
use super::number_field::NumberField;
use super::results::results;
use super::{Snapshot, on};
use crate::dom;
use crate::state::{Action, Dialog, Lab, SettingsEdit, is_of_machine};

/// Lanes a warp that a person may choose.
const WARP_SIZES: [u32; 3] = [32, 16, 8];

/// The simulator pane.
pub fn simulator(lab: &Snapshot, act: &Callback<Action>) -> Html {
    // That nothing has run is to be read among the results, where there is room for it.
    let (state, class) = match (lab.stopped, lab.running, &lab.runs) {
        (true, ..) => ("stopped", "note run-state"),
        (_, true, _) => ("running…", "note run-state late"),
        (.., None) => ("waiting for a program", "hidden"),
        _ => ("", "note run-state"),
    };
    html! {
        <section key="simulator" class="pane simulator" aria-labelledby="simulator-title" data-testid="simulator-pane">
            <div class="pane-head">
                <h2 id="simulator-title">{ "Simulator" }</h2>
                // The button keeps its place while there is nothing to stop: runs are short, and the row would jump.
                if lab.stopped {
                    <button type="button" class="plain small" onclick={on(act, || Action::Settings(SettingsEdit::Again))} data-testid="run-again">
                        { Icon::Play.html() }<span>{ "Again" }</span>
                    </button>
                } else {
                    <button type="button" class={if lab.running { "plain small late" } else { "plain small away" }} disabled={!lab.running}
                        onclick={on(act, || Action::StopRun)} data-testid="stop">
                        { Icon::Stop.html() }<span>{ "Stop" }</span>
                    </button>
                }
                <span {class} role="status" data-testid="run-state">{ state }</span>
                { machine(lab, act) }
            </div>
            <div class="pane-body simulation">
                { values(lab, act) }
                { results(lab, act) }
                { lanes(lab, act) }
            </div>
        </section>
    }
}

/// Machine, warp size and seed.
fn machine(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let machines = lab.catalogue.as_ref().map(|catalogue| catalogue.machines.clone()).unwrap_or_default();
    let change = |edit: fn(String) -> SettingsEdit| {
        act.reform(move |event: Event| Action::Settings(edit(dom::value(&event).unwrap_or_default())))
    };
    let chosen = lab.settings.machine();
    // With every key, as with all other settings.
    let type_seed = {
        let act = act.clone();
        Callback::from(move |event: InputEvent| {
            let typed = dom::value(&event).unwrap_or_default();
            let seed: Option<u64> = typed.parse().ok();
            // What is no seed changes nothing; nothing at all is the launch's. A field tells of what it cannot read as if
            // it were empty.
            if seed.is_some() || typed.is_empty() && !dom::is_unreadable(&event) {
                act.emit(Action::Settings(SettingsEdit::Seed(seed)));
            }
        })
    };
    let seed = |lab: &Lab| lab.settings.seed.map(|seed| seed.to_string()).unwrap_or_default();
    let seed_now = {
        let now = lab.now.clone();
        Callback::from(move |()| seed(&now.lab()))
    };
    let has_cache = lab.settings.words.get("l1").is_none_or(|word| word != "off");
    let switch_cache = act.reform(|event: Event| Action::Settings(SettingsEdit::Cache(dom::is_checked(&event))));
    let are_stacked = lab.settings.words.get("scheduling").is_some_and(|word| word == "stack");
    let switch_lanes = change(|value| SettingsEdit::IndependentLanes(value != "stack"));
    let measure = act.reform(|event: Event| Action::Measure(dom::is_checked(&event)));
    html! {
        <div class="machine">
            <label class="field">
                <span class="hidden">{ "Machine" }</span>
                <select onchange={change(SettingsEdit::Machine)} data-testid="machine">
                    { for machines.iter().map(|machine| html! {
                        <option value={machine.name.clone()} selected={machine.name == chosen} title={machine.summary.clone()}>{ &machine.name }</option>
                    }) }
                </select>
            </label>
            <button type="button" class="quiet" onclick={on(act, || Action::Dialog(Some(Dialog::Machines)))} data-testid="open-machines">{ "costs" }</button>
            <label class="field">
                <span>{ "Warp" }</span>
                <select onchange={change(|value| SettingsEdit::Warp(value.parse().ok()))} data-testid="warp-size">
                    <option value="" selected={lab.settings.warp.is_none()}>{ "launch" }</option>
                    { for WARP_SIZES.into_iter().map(|size| html! {
                        <option value={size.to_string()} selected={lab.settings.warp == Some(size)}>{ size }</option>
                    }) }
                </select>
            </label>
            <label class="field" title="Independent: every lane makes progress, as on Volta and later. Stack: diverged lanes run one side after the other until they reconverge, as before Volta.">
                <span>{ "Lanes" }</span>
                <select onchange={switch_lanes} data-testid="scheduling">
                    <option value="independent" selected={!are_stacked}>{ "independent" }</option>
                    <option value="stack" selected={are_stacked}>{ "stack" }</option>
                </select>
            </label>
            <label class="field" title="The first-level cache">
                <input type="checkbox" checked={has_cache} onchange={switch_cache} data-testid="l1" />
                <span>{ "L1" }</span>
            </label>
            <label class="field" title="Passes use the profile that a run before them measures. Without it they use the profiles that the program declares.">
                <input type="checkbox" checked={lab.bench.measured.is_some()} onchange={measure} data-testid="profile" />
                <span><span class="hidden">{ "Use measured " }</span>{ "profile" }</span>
            </label>
            <label class="field">
                <span>{ "Seed" }</span>
                <NumberField name="seed" placeholder="launch" held={seed(lab)} held_now={seed_now} oninput={type_seed} />
            </label>
        </div>
    }
}

/// The sliders of all values that the kernel reads.
pub fn sliders(lab: &Lab, act: &Callback<Action>) -> Html {
    let (view, _) = lab.drawn();
    let read: Vec<&ValueSource> = view.sources.iter().filter(|source| source.is_read).collect();
    match read[..] {
        [] if lab.lacks_program() => html! { <p class="empty">{ "There is no kernel to run yet." }</p> },
        [] => html! { <p class="empty">{ "This launch has no inputs and no random buffers." }</p> },
        _ => html! { { for read.into_iter().map(|source| value_source(source, lab, act)) } },
    }
}

/// A slider for everything that the launch makes random.
fn values(lab: &Snapshot, act: &Callback<Action>) -> Html {
    // While the program has mistakes: the inputs before them, as what the faulty line reads seems to be unused.
    let sources = lab.drawn().0.sources.clone();
    let Settings { grid, block, fuel, ref sets, ref words, .. } = lab.settings;
    let is_set =
        !sets.is_empty() || words.keys().any(|name| !is_of_machine(name)) || grid.or(block).is_some() || fuel.is_some();
    let (read, written): (Vec<ValueSource>, Vec<ValueSource>) =
        sources.iter().cloned().partition(|source| source.is_read);
    let names = written.iter().enumerate().map(|(index, source)| {
        html! { <>{ if index > 0 { ", " } else { "" } }<code>{ &source.name }</code></> }
    });
    let reset = {
        let act = act.clone();
        Callback::from(move |_: MouseEvent| {
            act.emit(Action::Settings(SettingsEdit::Reset));
            // The button goes.
            dom::focus_later("value-sliders".to_owned());
        })
    };
    html! {
        <div class="part values" role="group" aria-labelledby="values-title">
            <h3 id="values-title">
                { "Values" }
                <button type="button" class="quiet" title="Reset to the values of the launch" disabled={!is_set} onclick={reset} data-testid="reset-values">{ "reset" }</button>
            </h3>
            <div class="scroll part-body" id="value-sliders" tabindex={if sources.is_empty() { "-1" } else { "0" }} role="group" aria-label="Sliders">
                { overrides(&lab.settings) }
                { for read.iter().map(|source| value_source(source, lab, act)) }
                if !written.is_empty() {
                    <details class="written" data-testid="written-only" open={written.iter().any(|source| is_turned(source, &lab.settings))}>
                        <summary>{ "Write-only buffers: " }{ for names }</summary>
                        <p class="note">{ "The kernel loads nothing from these buffers, so their sliders change no figure." }</p>
                        { for written.iter().map(|source| value_source(source, lab, act)) }
                    </details>
                }
                if sources.is_empty() {
                    <p class="empty">
                        { if lab.has_mistakes() { "Fix the errors to run it." } else if lab.lacks_program() { "There is no kernel to run yet." } else { "This launch has no inputs and no random buffers." } }
                    </p>
                }
            </div>
        </div>
    }
}

/// Whether a slider of it stands elsewhere than the launch says, perhaps by a link.
fn is_turned(source: &ValueSource, settings: &Settings) -> bool {
    ["true", "zero", "coherence"].iter().any(|what| settings.sets.contains_key(&format!("{}.{what}", source.name)))
}

/// Settings of a link over the launch that no slider shows.
fn overrides(settings: &Settings) -> Html {
    let dim = |name: &str, dim: Option<[u32; 3]>| dim.map(|[x, y, z]| format!("{name} {x} × {y} × {z}"));
    let words = settings.words.iter().filter(|(name, _)| *name != "l1").map(|(name, value)| format!("{name} {value}"));
    let fuel = settings.fuel.map(|fuel| format!("at most {} warp instructions", super::thousands(fuel)));
    let said: Vec<String> =
        dim("grid", settings.grid).into_iter().chain(dim("block", settings.block)).chain(fuel).chain(words).collect();
    if said.is_empty() {
        Html::default()
    } else {
        html! { <p class="note">{ format!("Instead of the launch's: {}.", said.join(", ")) }</p> }
    }
}

fn value_source(source: &ValueSource, lab: &Lab, act: &Callback<Action>) -> Html {
    let slider = |[what, short]: [&'static str; 2], setting: &'static str, launch: Option<f64>, inverted: bool| {
        let Some(launch) = launch else { return Html::default() };
        let key = format!("{}.{setting}", source.name);
        let stored = lab.settings.sets.get(&key).copied().unwrap_or(launch);
        let shown = if inverted { 1.0 - stored } else { stored };
        let id = format!("slider-{}-{setting}", source.name);
        let oninput = {
            let act = act.clone();
            Callback::from(move |event: InputEvent| {
                let percent: f64 = dom::value(&event).and_then(|value| value.parse().ok()).unwrap_or(0.0);
                let value = if inverted { 1.0 - percent / 100.0 } else { percent / 100.0 };
                act.emit(Action::Settings(SettingsEdit::Slide { name: key.clone(), value, launch }));
            })
        };
        html! {
            <div class="slider">
                <label for={id.clone()}><span class="long">{ what }</span><span class="short" aria-hidden="true">{ short }</span></label>
                <input type="range" {id} min="0" max="100" step="1" value={format!("{:.0}", shown * 100.0)} {oninput}
                    style={format!("--at:{:.0}%", shown * 100.0)}
                    aria-label={format!("{what} of {}", source.name)} data-testid={format!("slider-{}-{setting}", source.name)} />
                <output>{ format!("{:.0} %", shown * 100.0) }</output>
            </div>
        }
    };
    html! {
        <div class="value-source">
            <p><code>{ &source.name }</code><span class="note">{ &source.what }</span></p>
            { slider(["True probability", "P(true)"], "true", source.truth, false) }
            // A truth value is zero where it is not true.
            { slider(["Zero probability", "P(zero)"], "zero", source.zero.filter(|_| source.truth.is_none()), false) }
            { slider(["Divergence"; 2], "coherence", source.coherence, true) }
        </div>
    }
}
