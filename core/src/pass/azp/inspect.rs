//! Candidates of zero specialisation, with their estimates, and what one of them would change.
//!
//! ```text
//! #  Registers  P     P_ind  T_R    T_S  T_check  T_δ     verdict
//! 1  a1         80 %  80 %   812.0  1.0  9.2      −639.6  a1 is zero in 80 % of warps: …
//! 3  c          80 %  80 %   –      –    –        –       c is zero because a1 is, …
//! ```
//!
//! Figures and verdicts are those of [`survey`], hence of the pass itself.
//!
//! Limit: [`MOST_CANDIDATES`] rows, the next transformation first, then by gain.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::remarks::listed;
use super::survey::{Effect, Opportunity, Survey, Surveyed, survey};
use crate::compact_sort::CompactSort;
use crate::inspect::{
    Anchor, Axis, AxisMark, Cell, Chart, Column, ColumnKind, Inspection, Key, Look, Mark, Note, Point, Request, Row,
    Series, SeriesKind, Table, Verdict,
};
use crate::ir::{Function, Inst};
use crate::journal::Event;
use crate::pass::{InspectedPosition, Inspector, Settings, Subject};
use crate::trace::Fact;

/// More candidates are counted, not listed.
const MOST_CANDIDATES: usize = 300;

/// The key of the choice of a candidate.
const CANDIDATE: &str = "candidate";

/// Name, index, unit and meaning of each column after the registers.
const FIGURES: [(&str, &str, &str, &str); 10] = [
    (
        "P",
        "",
        "probability",
        "Probability that the registers are all zero, or false, in all lanes of a warp, as it was counted or declared",
    ),
    (
        "P",
        "ind",
        "probability",
        "Product of the registers' probabilities, which is right if they are independent. The pass decides by it",
    ),
    (
        "T",
        "R",
        "cycles",
        "Cycles of the region as it is where the registers are zero, for each run of the kernel by a warp",
    ),
    ("T", "S", "cycles", "Remaining cycles of the region where the registers are zero"),
    ("T", "check", "cycles", "Cycles of the comparison, the vote and the branch"),
    ("T", "δ", "cycles", "T_AZP − T_R, as equation 5 prints it: a negative number is a gain"),
    ("su", "", "", "Share of the region's cycles that a warp saves where the registers are zero"),
    ("su", "thresh", "", "e^(−|S| / (50 + 10 · MemKilled)): su has to be more than 1 minus this"),
    ("Mem", "", "instructions", "MemKilled: memory operations that are removed"),
    ("|S|", "", "blocks", "Blocks that are copied"),
];

/// Looks of instructions in the region, their signs and their meanings.
const LEGEND: [(Look, &str, &str); 5] = [
    (Look::Cause, "?", "assumed zero"),
    (Look::Constant, "=", "constant"),
    (Look::Simpler, "≈", "simpler"),
    (Look::Removed, "×", "not needed"),
    (Look::Copied, "", "copied unchanged"),
];

const NO_PROFILE: &str = "No profile says how often anything is zero. Declare `profile zero`, or let the simulator \
                          measure one: its switch is called profile.";

const LICENCE: &str = "With fast math, −0 counts as zero and x · 0 as 0: the sign of a zero, NaN and infinity may come \
                       out differently, and nothing else.";

/// The inspector of the pass.
pub(super) const INSPECTOR: Inspector =
    Inspector { title: "Candidates", subject: Subject::Next, has_moments: false, applies, inspect };

/// A pass that only instruments has no candidates.
fn applies(settings: &Settings) -> bool {
    !settings.knobs.switch("instrument")
}

fn inspect(position: &InspectedPosition<'_>, request: &Request) -> Option<Inspection> {
    let settings = position.settings;
    let (before, mut next) = position.rewrites();
    let round = 1 + before.count();
    // The journal knows what comes next, also where an oracle or a person chose it.
    let best = next.next().and_then(candidate_of);
    let chosen = request.choices.get(CANDIDATE).and_then(|value| value.parse().ok()).or(best);
    let Survey { has_profile, mut candidates, effect, .. } =
        survey(position.module, position.func, settings, round as i64, chosen);
    candidates.compact_sort_by(|a, b| order(a, b, best));
    let func = position.function();
    let rows = candidates.iter().take(MOST_CANDIDATES);
    let rows = rows.map(|candidate| row(func, candidate, best, chosen)).collect();
    let charted = candidates.iter().find(|candidate| Some(candidate.number) == chosen);
    let charted = charted.and_then(|candidate| candidate.estimate.as_ref());
    let licence = Note { sentence: LICENCE.into(), ..Note::default() };
    Some(Inspection {
        lead: lead(func, &candidates, has_profile, best, round),
        tables: Vec::from([Table {
            name: "Candidates".into(),
            columns: columns(),
            rows,
            left_out: candidates.len().saturating_sub(MOST_CANDIDATES),
            left_out_words: "more, further down in this order".into(),
            empty: "there is none".into(),
            choice: CANDIDATE.into(),
        }]),
        charts: charted.map(break_even).into_iter().collect(),
        legend: effect.as_ref().map(legend).unwrap_or_default(),
        marks: effect.as_ref().map(marks).unwrap_or_default(),
        notes: (settings.fast_math && !candidates.is_empty()).then_some(licence).into_iter().collect(),
        ..Inspection::new(INSPECTOR.title)
    })
}

/// The candidate that a change was made for.
fn candidate_of(event: &Event) -> Option<u32> {
    event.remark.facts.iter().find_map(|(name, fact)| match fact {
        Fact::Count(number) if *name == "candidate" => u32::try_from(*number).ok(),
        _ => None,
    })
}

/// The next transformation first, then by gain; those without an estimate by their probability.
fn order(a: &Surveyed, b: &Surveyed, best: Option<u32>) -> Ordering {
    let key = |candidate: &Surveyed| {
        let loss = candidate.estimate.as_ref().map_or(f64::INFINITY, |estimate| estimate.t_delta());
        (Some(candidate.number) != best, !candidate.is_good, loss, -candidate.probability)
    };
    let ((a_other, a_fails, a_loss, a_unlikely), (b_other, b_fails, b_loss, b_unlikely)) = (key(a), key(b));
    let by_figures = a_loss.total_cmp(&b_loss).then(a_unlikely.total_cmp(&b_unlikely));
    (a_other, a_fails).cmp(&(b_other, b_fails)).then(by_figures).then(a.number.cmp(&b.number))
}

/// The next step, in a sentence.
fn lead(func: &Function, candidates: &[Surveyed], has_profile: bool, best: Option<u32>, round: usize) -> String {
    if !has_profile {
        return NO_PROFILE.into();
    }
    match candidates.iter().find(|candidate| Some(candidate.number) == best) {
        Some(next) => {
            let (number, names) = (next.number, listed(registers(func, next)));
            format!("Next: specialise for candidate {number} ({names} = 0). Step forward to apply.")
        }
        None if round == 1 => "No candidate pays off: `azp` changes nothing.".into(),
        None => "No further candidate pays off. Step back to see what was chosen.".into(),
    }
}

fn columns() -> Vec<Column> {
    let name = |name: &str, help: &str| Column { name: name.into(), help: help.into(), ..Column::default() };
    let figures = FIGURES.iter().map(|(name, index, unit, help)| Column {
        name: (*name).into(),
        index: (*index).into(),
        unit: (*unit).into(),
        help: (*help).into(),
        kind: ColumnKind::Number,
    });
    [name("#", "Number, by the place in the text"), name("Registers", "")].into_iter().chain(figures).collect()
}

fn registers<'a>(func: &'a Function, candidate: &'a Surveyed) -> impl Iterator<Item = &'a str> {
    candidate.regs.iter().map(|&reg| func.regs[reg].name.as_str())
}

fn row(func: &Function, candidate: &Surveyed, best: Option<u32>, chosen: Option<u32>) -> Row {
    let number = candidate.number;
    let names: Vec<&str> = registers(func, candidate).collect();
    let mut cells = Vec::from([
        Cell::text(number.to_string()),
        Cell::text(names.join(" ")),
        candidate.counted.map_or_else(Cell::none, probability),
        probability(candidate.probability),
    ]);
    cells.extend(candidate.estimate.as_ref().map_or_else(|| alloc::vec![Cell::none(); 8], figures));
    Row {
        key: number.to_string(),
        cells,
        look: if best == Some(number) { Look::Good } else { Look::Plain },
        is_choosable: candidate.estimate.is_some(),
        is_chosen: chosen == Some(number),
        verdict: Some(Verdict {
            is_good: candidate.is_good,
            rule: candidate.rule.into(),
            sentence: format!("{}.", candidate.verdict),
        }),
        anchor: Some(Anchor::Inst(candidate.inst.as_u32())),
        ..Row::default()
    }
}

fn figures(it: &Opportunity) -> Vec<Cell> {
    let cycles = |value: f64| Cell::number(value, format!("{value:.1}").replace('-', "−"));
    let count = |value: usize| Cell::number(value as f64, value.to_string());
    let speed_up = |su: f64| Cell::number(su, format!("{su:.3}").replace('-', "−"));
    Vec::from([
        cycles(it.t_region),
        cycles(it.t_special),
        cycles(it.t_check),
        cycles(it.t_delta()),
        it.speed_up().map_or_else(Cell::none, speed_up),
        speed_up(it.threshold()),
        count(it.memory_killed),
        count(it.blocks()),
    ])
}

/// Cycles that a warp takes more or less, by the share of warps for which the registers are zero.
fn break_even(it: &Opportunity) -> Chart {
    let change = |share: f64| it.t_check - share / 100.0 * (it.t_region - it.t_special);
    let now = it.probability * 100.0;
    let even = it.t_check / (it.t_region - it.t_special) * 100.0;
    let even = (0.0..=100.0).contains(&even).then(|| AxisMark { at: even, label: "break-even".into() });
    let series = |name: &str, kind, points: &[Point]| Series { name: name.into(), kind, points: points.to_vec() };
    let end = |share: f64| Point::at(share, change(share));
    Chart {
        name: "Break-even".into(),
        across: Axis::numbers("Warps where all are zero", "%"),
        up: Axis::numbers("Change for each warp", "cycles"),
        series: Vec::from([
            series("T_δ", SeriesKind::Line, &[end(0.0), end(100.0)]),
            series("now", SeriesKind::Points, &[Point { label: "P_ind".into(), ..end(now) }]),
        ]),
        marks: even.into_iter().chain([AxisMark { at: now, label: "now".into() }]).collect(),
    }
}

/// `72.9 %`, `80 %`.
fn probability(value: f64) -> Cell {
    let text = format!("{:.1}", value * 100.0);
    Cell::number(value, format!("{} %", text.strip_suffix(".0").unwrap_or(&text)))
}

/// The look of each instruction that writes the candidate or is in its region.
fn looks(effect: &Effect) -> BTreeMap<Inst, Look> {
    let of = |insts: &'_ [Inst], look: Look| insts.iter().map(move |&inst| (inst, look)).collect::<Vec<_>>();
    let groups = [
        of(&effect.region, Look::Copied),
        of(&effect.dead, Look::Removed),
        of(&effect.simpler, Look::Simpler),
        of(&effect.constant, Look::Constant),
        of(&effect.writers, Look::Cause),
    ];
    groups.into_iter().flatten().collect()
}

fn marks(effect: &Effect) -> Vec<Mark> {
    let sign = |look: Look| LEGEND.iter().find(|(own, ..)| *own == look).map_or("", |(_, sign, _)| sign);
    let check = effect.start.map(|inst| Mark {
        anchor: Anchor::Before(inst.as_u32()),
        look: Look::Plain,
        text: "check".into(),
    });
    let insts = looks(effect).into_iter().map(|(inst, look)| Mark {
        anchor: Anchor::Inst(inst.as_u32()),
        look,
        text: sign(look).into(),
    });
    check.into_iter().chain(insts).collect()
}

fn legend(effect: &Effect) -> Vec<Key> {
    let looks = looks(effect);
    let key = |&(look, sign, label): &(Look, &str, &str)| Key {
        look,
        sign: sign.into(),
        label: label.into(),
        count: looks.values().filter(|own| **own == look).count(),
    };
    LEGEND.iter().map(key).collect()
}
