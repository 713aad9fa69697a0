//! The executed paths of the program that is shown, and what `pde` does about them: for a statement and a join the sets as the
//! equations compute them, benefit against cost, and the statement's way down, moment by moment. Another frequency, written
//! into the table, is a question; a button writes it into the program.

use warpscope_engine::message::{Bits, JoinRow, PathRow, Sinking, StatementRow, Surveyed};
use web_sys::MouseEvent;
use yew::{Callback, Event, Html, KeyboardEvent, component, html};

use super::change::with_code;
use super::icons::Icon;
use super::moments::Stepper;
use super::transport::pace;
use super::{PaneProps, Snapshot, count, on, thousands};
use crate::dom;
use crate::state::{Action, Lab};

/// Paths that are drawn as strands.
pub const STRANDS: usize = 8;

/// What there is to see, for who sees it for the first time.
const WHAT: &str = "Rows and strands are ways that lanes took: some gain, some pay.";

/// The words for what moves: a statement down, past joins, or an evaluation up, past branches.
struct Words {
    /// Who moves, as it is called here.
    what: &'static str,
    /// What it passes.
    over: &'static str,
    /// What becomes of it, and what if not.
    fates: [&'static str; 2],
    /// Its way, and the button that plays it.
    way: [&'static str; 2],
    /// The columns of bits, with the name of the set and what it means.
    sets: [(&'static str, &'static str, &'static str); 4],
    /// The terms of a line that weighs benefit against cost.
    terms: &'static [(&'static str, &'static str)],
}

const SINKING: Words = Words {
    what: "Statement s",
    over: "Join",
    fates: ["sinks", "stays"],
    way: ["Way of the statement", "Let it sink"],
    sets: [
        ("avail", "X-APATHS", "s comes to the join along the path, and can go on from there"),
        ("remov", "X-RPATHS", "from the join on, the path leads to where nobody needs its result"),
        ("benefit", "", "the path executes s less often if the join, and those that it needs, are passed"),
        ("cost", "", "the path executes s under the predicate for nothing"),
    ],
    terms: &[
        ("T[s]", "cycles of s"),
        ("T[p?s]", "of s under a predicate that may be false"),
        ("T[p]", "of setting that predicate"),
    ],
};

const HOISTING: Words = Words {
    what: "Evaluation e",
    over: "Branch",
    fates: ["moves", "stays"],
    way: ["Way of the evaluation", "Let it rise"],
    sets: [
        ("avail", "", "backward from the branch, the path leads to where the value of e is at hand"),
        ("antic", "", "an evaluation of e comes up to the branch along the path"),
        ("benefit", "", "the path evaluates e less often if the branch, and those that it needs, are passed"),
        ("cost", "", "the path evaluates e for nothing"),
    ],
    terms: &[("T", "cycles of e")],
};

fn words(told: &Surveyed) -> &'static Words {
    if told.is_hoisting { &HOISTING } else { &SINKING }
}

/// The paths.
#[component]
pub fn Paths(PaneProps { lab, act }: &PaneProps) -> Html {
    let Some(told) = lab.surveyed() else {
        return html! {
            <div class="values paths" data-testid="paths"><p class="happened" role="status" data-testid="paths-lead">{ "Looking…" }</p></div>
        };
    };
    let sinking = told.sinking.as_ref();
    html! {
        <div class="values paths" data-testid="paths">
            if let Some((at, last)) = lab.sink_at() { { stepper(lab, words(told), (at, last), act) } }
            { happened(lab, told) }
            <div class="pane-body scroll" tabindex="0" role="region" aria-label="Executed paths">
                <div class="path-part">
                    { statement(told, sinking, act) }
                    if let Some(sinking) = sinking { { joins(sinking, words(told), (lab.join_shown(), !told.paths.is_empty()), act) } }
                </div>
                if !told.paths.is_empty() { { table(lab, told, lab.join_shown(), act) } }
                { reasons(told, sinking, lab.join_shown()) }
                if !told.paths.is_empty() { { left_out(told) } }
            </div>
        </div>
    }
}

fn stepper(lab: &Lab, words: &'static Words, (at, last): (usize, usize), act: &Callback<Action>) -> Html {
    let asking = lab.asking;
    let [way, play] = words.way;
    let (icon, name) = if asking { (Icon::Pause, "Pause") } else { (Icon::Play, play) };
    Stepper {
        name: way,
        slider: "Moment of its way",
        at,
        last,
        between: html! {
            <button type="button" class="icon-button play small" aria-label={name} title={name}
                onclick={on(act, move || Action::Ask(!asking))} data-testid="ask">{ icon.html() }</button>
        },
        behind: pace(lab, act, "path-pace"),
    }
    .html(act)
}

/// What comes next, or at a later moment what has happened.
fn happened(lab: &Lab, told: &Surveyed) -> Html {
    let at = lab.sink_at().map_or(0, |(at, _)| at);
    let moment = told.sinking.as_ref().and_then(|sinking| sinking.moments.get(at));
    let Some(moment) = moment.filter(|_| at > 0) else {
        return html! {
            <p class="happened" role="status" data-testid="paths-lead">
                { with_code(&told.lead) }
                if !told.paths.is_empty() { <small>{ WHAT }</small> }
            </p>
        };
    };
    html! {
        <p class="happened" role="status" data-testid="paths-lead">
            <span class="chip">{ &moment.word }</span>
            <span class="sentence">{ with_code(&moment.sentence) }</span>
        </p>
    }
}

/// The choice of a statement.
fn statement(told: &Surveyed, sinking: Option<&Sinking>, act: &Callback<Action>) -> Html {
    let shown = sinking.map_or(&[][..], |sinking| &sinking.insts);
    let is_shown = |row: &StatementRow| shown.first().is_some_and(|inst| row.insts.contains(inst));
    let choose = {
        let act = act.clone();
        Callback::from(move |event: Event| {
            if let Some(inst) = dom::value(&event).and_then(|value| value.parse().ok()) {
                act.emit(Action::Trace(inst));
            }
        })
    };
    let row = told.statements.iter().find(|row| is_shown(row));
    let words = words(told);
    let name = |row: &StatementRow| {
        let [moves, stays] = words.fates;
        format!("{} · {} · {}", row.text, row.at, if row.passes { moves } else { stays })
    };
    html! {
        <label class="path-choice">
            <span>{ words.what }</span>
            <select onchange={choose} data-testid="path-statement">
                if row.is_none() {
                    <option selected=true disabled=true>{ sinking.map_or("choose one", |sinking| &sinking.text) }</option>
                }
                { for told.statements.iter().map(|row| html! {
                    <option key={row.insts[0]} value={row.insts[0].to_string()} selected={is_shown(row)}>{ name(row) }</option>
                }) }
            </select>
        </label>
    }
}

/// Why the join is passed or not, what becomes of the statement, and what warps pay.
fn reasons(told: &Surveyed, sinking: Option<&Sinking>, join: Option<&JoinRow>) -> Html {
    let Some(sinking) = sinking else { return Html::default() };
    let row = told.statements.iter().find(|row| sinking.insts.first().is_some_and(|inst| row.insts.contains(inst)));
    html! {
        <div class="path-part">
            if let Some(join) = join { <p class="path-verdict" data-testid="join-verdict">{ with_code(&join.verdict) }</p> }
            <p class="path-verdict" data-testid="path-verdict">
                if let Some(row) = row { <span class={if row.passes { "chip pass" } else { "chip" }}>{ &row.rule }</span>{ " " } }
                { with_code(&sinking.verdict) }
            </p>
            if !sinking.warps.is_empty() { <p class="path-verdict path-warps" data-testid="path-warps">{ with_code(&sinking.warps) }</p> }
            if told.more_statements > 0 { <p class="note">{ format!("And {} more.", count(told.more_statements, "statement")) }</p> }
        </div>
    }
}

/// What the terms and the columns mean, opened beside the join.
fn legend(join: &JoinRow, words: &Words) -> Html {
    let terms = words.terms.iter().filter(|(term, _)| join.line.contains(term));
    let over = format!("the {}", words.over.to_lowercase());
    html! {
        <details class="path-terms">
        <summary data-testid="path-terms">{ "What the columns mean" }</summary>
        <dl class="path-legend" data-testid="path-legend">
            { for terms.map(|(term, meaning)| html! { <div><dt><code>{ *term }</code></dt><dd>{ *meaning }</dd></div> }) }
            { for words.sets.iter().map(|(name, _, meaning)| html! {
                <div><dt>{ *name }</dt><dd>{ meaning.replace(&over, &join.name) }</dd></div>
            }) }
            <div><dt>{ "–" }</dt><dd>{ format!("the path does not go through {}", join.name) }</dd></div>
        </dl>
        </details>
    }
}

/// The joins, what was decided about one of them, and who pays.
fn joins(
    sinking: &Sinking,
    words: &'static Words,
    (shown, has_table): (Option<&JoinRow>, bool),
    act: &Callback<Action>,
) -> Html {
    let choice = |join: &JoinRow, shown: &JoinRow| {
        let (act, block) = (act.clone(), join.block);
        html! {
            <label>
                <input type="radio" name="join" checked={join.block == shown.block} onchange={move |_| act.emit(Action::Join(block))} />
                <span>{ &join.name }<small>{ &join.word }</small></span>
            </label>
        }
    };
    html! {
        <>
            if let Some(shown) = shown {
                <div class="path-choice">
                    <span aria-hidden="true">{ words.over }</span>
                    <fieldset class="segments joins" data-testid="joins">
                        <legend class="hidden">{ words.over }</legend>
                        { for sinking.joins.iter().map(|join| choice(join, shown)) }
                    </fieldset>
                    if has_table { { legend(shown, words) } }
                </div>
                if !shown.line.is_empty() {
                    <p class={if shown.passes { "path-line pays" } else { "path-line" }} role="status">
                        <span data-testid="path-line">{ shown.line.replace("?s", "?\u{2060}s") }</span>
                        if !shown.printed.is_empty() { <small data-testid="path-printed">{ &shown.printed }</small> }
                    </p>
                }
            }
        </>
    }
}

fn button_id(row: usize) -> String {
    format!("path-{row}")
}

fn table(lab: &Snapshot, told: &Surveyed, join: Option<&JoinRow>, act: &Callback<Action>) -> Html {
    let last = told.paths.len() - 1;
    let onkeydown = {
        let (act, now) = (act.clone(), lab.now.clone());
        Callback::from(move |event: KeyboardEvent| {
            let path = now.lab().paths.path.unwrap_or(0);
            let next = match event.key().as_str() {
                _ if dom::is_typing() => return,
                "ArrowDown" => (path + 1).min(last),
                "ArrowUp" => path.saturating_sub(1),
                "Home" => 0,
                "End" => last,
                _ => return,
            };
            event.prevent_default();
            event.stop_propagation();
            act.emit(Action::Path(Some(next)));
            dom::focus(&button_id(next));
        })
    };
    let digits = told.paths.iter().map(|path| path.frequency.to_string().len()).max().unwrap_or(1);
    let words = words(told);
    let is_edited = !lab.paths.frequencies.is_empty();
    let write = told.written.clone().filter(|_| is_edited && lab.is_surveyed());
    html! {
        <>
            <table class="value-table path-table" style={format!("--digits:{digits}")} data-testid="path-table">
                <thead>
                    <tr>
                        <th scope="col">{ "Path" }</th>
                        <th scope="col" class="way">{ "Blocks" }</th>
                        <th scope="col" title="Executions, in lanes; write another one to see what it changes">{ "Freq" }</th>
                        if join.is_some() {
                            { for words.sets.iter().map(|(name, set, meaning)| html! {
                                <th scope="col" class="bit" title={format!("{set}{}{meaning}", if set.is_empty() { "" } else { ": " })}>{ *name }</th>
                            }) }
                        }
                    </tr>
                </thead>
                <tbody {onkeydown}>
                    { for told.paths.iter().enumerate().map(|(place, path)| {
                        row(lab, place, path, join.and_then(|join| Some((join, words, *join.bits.get(place)?))), act)
                    }) }
                </tbody>
            </table>
            if is_edited {
                <p class="path-edits">
                    <span>{ "Frequencies are not those of the profile." }</span>
                    <button type="button" class="plain small" onclick={on(act, || Action::ForgetFrequencies)} data-testid="forget-frequencies">{ "Take them back" }</button>
                    if let Some(text) = write {
                        <button type="button" class="plain small" onclick={on::<MouseEvent>(act, move || Action::Declare(text.clone()))} data-testid="write-profile">{ "Write them into the program" }</button>
                    }
                </p>
            }
        </>
    }
}

fn row(
    lab: &Lab,
    place: usize,
    path: &PathRow,
    bits: Option<(&JoinRow, &Words, Bits)>,
    act: &Callback<Action>,
) -> Html {
    let is_chosen = lab.paths.path == Some(place);
    let is_reached = lab.paths.path.unwrap_or(0) == place;
    let choose = on(act, move || Action::Path((!is_chosen).then_some(place)));
    let edit = {
        let (act, blocks, declared) = (act.clone(), path.blocks.clone(), path.declared);
        Callback::from(move |event: Event| {
            if let Some(frequency) = dom::value(&event).and_then(|value| value.trim().parse().ok()) {
                act.emit(Action::Frequency(blocks.clone(), frequency, declared));
            }
        })
    };
    let (name, way) = (format!("P{}", place + 1), path.names.join(" "));
    let mut class = if is_chosen { "selected" } else { "" }.to_owned();
    if path.frequency != path.declared {
        class.push_str(" edited");
    }
    let rare = (!path.is_frequent).then_some("Not among the frequent paths: it may cost, but not benefit");
    html! {
        <tr key={place} {class} title={rare} data-testid={format!("path-row-{place}")}>
            <th scope="row">
                <button type="button" class="leader" id={button_id(place)} aria-pressed={is_chosen.to_string()}
                    tabindex={if is_reached { "0" } else { "-1" }} aria-label={format!("{name} on the graph")} onclick={choose}>
                    { swatch(place) }{ &name }
                </button>
            </th>
            <td class="way" title={way.clone()}>
                if !path.is_frequent { <small>{ "rare" }</small>{ " " } }
                { &way }
            </td>
            <td>
                <input type="number" min="0" step="1" value={path.frequency.to_string()} onchange={edit}
                    aria-label={format!("Frequency of {name}")} title={format!("{:.1} % of all executions", path.share * 100.0)} />
            </td>
            if let Some((join, words, bits)) = bits {
                { for words.sets.iter().zip(cells(bits)).map(|((name, ..), (holds, counts))| html! {
                    <td class={if holds { format!("bit one {name}") } else { "bit".to_owned() }} title={(!bits.on).then(|| format!("It does not go through {}", join.name))}>
                        { if holds { "1" } else if bits.on || counts { "0" } else { "–" } }
                    </td>
                }) }
            }
        </tr>
    }
}

/// The bits of a path, each with whether it says something of paths that do not go through the join, too.
fn cells(bits: Bits) -> [(bool, bool); 4] {
    [(bits.available, false), (bits.removable, false), (bits.benefit, true), (bits.cost, true)]
}

/// The look of a path's strand.
fn swatch(place: usize) -> Html {
    if place >= STRANDS {
        return html! { <i class="strand-key" aria-hidden="true" /> };
    }
    html! {
        <svg class="strand-key" viewBox="0 0 16 8" aria-hidden="true"><path class={format!("strand s{place}")} d="M0 4H16" stroke-width="5" /></svg>
    }
}

fn left_out(told: &Surveyed) -> Html {
    let strands = told.paths.len().saturating_sub(STRANDS) + told.more_paths;
    let mut text = match told.origin.as_str() {
        "estimated" => {
            "The frequencies are estimated from counts of edges, as if each branch were decided by itself.".to_owned()
        }
        origin => format!("The frequencies are {origin}."),
    };
    if strands > 0 {
        text.push_str(&format!(
            " The graph shows the {STRANDS} most frequent paths; {} more are executed.",
            thousands(strands as u64)
        ));
    }
    if told.more_paths > 0 {
        text.push_str(&format!(" The table leaves out {}.", thousands(told.more_paths as u64)));
    }
    html! { <p class="note left-out">{ text }</p> }
}
