//! The candidates of `azp` in the program that is shown: what each would cost and save, and the verdict. The selected one is
//! painted on graph and text, before anything is transformed; a step forward transforms for the best.

use warpscope_engine::message::{Candidate, CandidateFigures, Candidates as Told, Paint, Painting};
use yew::{Callback, Html, KeyboardEvent, component, html};

use super::change::with_code;
use super::{PaneProps, on};
use crate::dom;
use crate::state::Action;

/// What the columns behind the registers hold, with what their names mean.
const COLUMNS: [(&str, &str, &str); 10] = [
    (
        "P",
        "",
        "Probability that the registers are all zero, or false, in all lanes of a warp, as it was counted or declared",
    ),
    ("P", "ind", "The same as if the registers were independent: the product of theirs. The pass decides by it"),
    ("T", "R", "Cycles of the region as it is where the registers are zero, for each run of the kernel by a warp"),
    ("T", "S", "Cycles of what is left of the region where the registers are zero"),
    ("T", "check", "Cycles of the comparison, the vote and the branch"),
    ("T", "δ", "T_AZP − T_R, as equation 5 prints it: a negative number is a gain"),
    ("su", "", "Share of the region's cycles that a warp saves where the registers are zero"),
    ("su", "thresh", "e^(−|S| / (50 + 10 · MemKilled)): su has to be more than 1 minus this"),
    ("Mem", "", "MemKilled: memory operations that go away"),
    ("|S|", "", "Blocks that are copied"),
];

/// What may change, where the licence is given.
const LICENCE: &str = "With fast math, −0 counts as zero and x · 0 as 0: the sign of a zero, NaN and infinity may come out \
                       differently, and nothing else.";

/// What is painted, with its sign and its name.
const PAINTS: [(Paint, &str); 5] = [
    (Paint::Writer, "would be zero"),
    (Paint::Constant, "becomes a constant"),
    (Paint::Simpler, "becomes simpler"),
    (Paint::Dead, "not needed"),
    (Paint::Kept, "copied as it is"),
];

/// How a painted instruction looks: a class of the styles, and a sign that needs no colour.
pub fn look_of(paint: Paint) -> (&'static str, &'static str) {
    match paint {
        Paint::Writer => ("writer", "?"),
        Paint::Constant => ("constant", "="),
        Paint::Simpler => ("simpler", "≈"),
        Paint::Dead => ("dead", "×"),
        Paint::Kept => ("kept", ""),
    }
}

/// The candidates.
#[component]
pub fn Candidates(PaneProps { lab, act }: &PaneProps) -> Html {
    let told = lab.candidates();
    let painting = lab.painting();
    let painted = lab.candidate.or(told.and_then(|told| told.best));
    let onkeydown = {
        let (act, now, numbers) = (act.clone(), lab.now.clone(), told.map(paintable).unwrap_or_default());
        let best = told.and_then(|told| told.best);
        Callback::from(move |event: KeyboardEvent| {
            let painted = now.lab().candidate.or(best);
            let at = painted.and_then(|painted| numbers.iter().position(|&number| number == painted));
            let next = match event.key().as_str() {
                "ArrowDown" => at.map_or(0, |at| at + 1),
                "ArrowUp" => at.unwrap_or(0).saturating_sub(1),
                "Home" => 0,
                "End" => numbers.len().saturating_sub(1),
                _ => return,
            };
            event.prevent_default();
            event.stop_propagation();
            if let Some(&number) = numbers.get(next) {
                act.emit(Action::Paint(number));
                dom::focus(&button_id(number));
            }
        })
    };
    html! {
        <div class="values candidates" data-testid="candidates">
            { lead(told) }
            if told.is_none_or(|told| !told.rows.is_empty()) { { legend(painting.map(|painting| &**painting)) } }
            <div class="pane-body scroll" tabindex="0" role="region" aria-label="Candidates; up and down paint another one" {onkeydown}>
                if let Some(told) = told.filter(|told| !told.rows.is_empty()) {
                    { table(told, painted, act) }
                    if told.more > 0 { <p class="note left-out">{ format!("And {} more, of lower probability.", super::thousands(told.more as u64)) }</p> }
                    if lab.bench.fast_math { <p class="note left-out" data-testid="licence-note">{ LICENCE }</p> }
                }
            </div>
        </div>
    }
}

/// The numbers of the candidates that can be painted, in the table's order.
fn paintable(told: &Told) -> Vec<u32> {
    told.rows.iter().filter(|row| row.figures.is_some()).map(|row| row.number).collect()
}

fn button_id(number: u32) -> String {
    format!("candidate-{number}")
}

/// What comes next, in a sentence.
fn lead(told: Option<&Told>) -> Html {
    let text = match told {
        None => "Weighing…".to_owned(),
        Some(told) if !told.has_profile => {
            "No profile says how often anything is zero. Declare `profile zero`, or let the \
            simulator measure one: its switch is called profile."
                .to_owned()
        }
        Some(Told { rows, best, round, .. }) => match rows.iter().find(|row| Some(row.number) == *best) {
            Some(row) => format!("Next, `azp` transforms for candidate {}, {}: step forward.", row.number, named(row)),
            None if *round == 1 => "No candidate is good enough: `azp` changes nothing.".to_owned(),
            None => "No candidate is good enough any more. Step back to see what was chosen.".to_owned(),
        },
    };
    html! { <p class="happened" role="status" data-testid="candidates-lead">{ with_code(&text) }</p> }
}

/// The registers in words.
fn named(row: &Candidate) -> String {
    row.registers.iter().map(|register| format!("`{register}`")).collect::<Vec<_>>().join(" and ")
}

/// What the signs mean, and how many instructions have each.
fn legend(painting: Option<&Painting>) -> Html {
    let count = |wanted: Paint| -> usize {
        painting.map_or(0, |painting| painting.insts.iter().filter(|(_, paint)| *paint == wanted).count())
    };
    let entry = |(paint, name): (Paint, &'static str)| {
        let (class, sign) = look_of(paint);
        html! {
            <span class="painted-key">
                <i class={format!("paint-{class}")} aria-hidden="true">{ sign }</i>{ format!("{name} {}", count(paint)) }
            </span>
        }
    };
    html! {
        <p class="question-legend" role="status" data-testid="painted">
            if painting.is_some() { { for PAINTS.into_iter().map(entry) } } else { { "Select a candidate to see what it would change." } }
        </p>
    }
}

fn table(told: &Told, painted: Option<u32>, act: &Callback<Action>) -> Html {
    let is_reached = |number: u32| painted.unwrap_or(paintable(told).first().copied().unwrap_or(0)) == number;
    html! {
        <table class="value-table candidate-table" data-testid="candidate-table">
            <thead>
                <tr>
                    <th scope="col" title="Its number, by its place in the text">{ "#" }</th>
                    <th scope="col">{ "Registers" }</th>
                    { for COLUMNS.iter().map(|(name, sub, title)| html! {
                        <th scope="col" title={*title}>{ *name }if !sub.is_empty() { <sub>{ *sub }</sub> }</th>
                    }) }
                </tr>
            </thead>
            { for told.rows.iter().map(|row| rows(row, Some(row.number) == told.best, painted == Some(row.number), is_reached(row.number), act)) }
        </table>
    }
}

/// The two rows of a candidate: its figures, and its verdict.
fn rows(row: &Candidate, is_best: bool, is_painted: bool, is_reached: bool, act: &Callback<Action>) -> Html {
    let number = row.number;
    let mut class = if is_best { "hit" } else { "" }.to_owned();
    if is_painted {
        class.push_str(" selected");
    }
    let can_paint = row.figures.is_some();
    let onclick = can_paint.then(|| on(act, move || Action::Paint(number)));
    html! {
        <tbody key={number} {class} {onclick} data-testid={format!("candidate-row-{number}")}>
            <tr>
                <th scope="row">
                    if can_paint {
                        <button type="button" class="leader" id={button_id(number)} aria-pressed={is_painted.to_string()}
                            tabindex={if is_reached { "0" } else { "-1" }} aria-label={format!("Paint candidate {number}")}>{ number }</button>
                    } else {
                        { number }
                    }
                </th>
                <td class="registers">{ row.registers.join(" ") }</td>
                <td>{ row.measured.map_or("–".to_owned(), share) }</td>
                <td>{ share(row.probability) }</td>
                { figures(row.figures.as_ref()) }
            </tr>
            <tr class="verdict-row">
                <td colspan="12">
                    <div>
                        <span class={if row.passes { "chip pass" } else { "chip" }}>{ &row.rule }</span>
                        { " " }{ with_code(&row.verdict) }
                    </div>
                </td>
            </tr>
        </tbody>
    }
}

fn figures(figures: Option<&CandidateFigures>) -> Html {
    let Some(it) = figures else { return html! { <td colspan="8" class="none">{ "not estimated" }</td> } };
    let cycles = |value: f64| format!("{value:.1}").replace('-', "−");
    let cells = [
        cycles(it.t_region),
        cycles(it.t_special),
        cycles(it.t_check),
        cycles(it.t_delta),
        it.speed_up.map_or("–".to_owned(), |su| format!("{su:.3}").replace('-', "−")),
        format!("{:.3}", it.threshold),
        it.memory_killed.to_string(),
        it.blocks.to_string(),
    ];
    html! { { for cells.into_iter().map(|cell| html! { <td>{ cell }</td> }) } }
}

/// `72.9 %`, `80 %`.
fn share(probability: f64) -> String {
    let text = format!("{:.1}", probability * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}
