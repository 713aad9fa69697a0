//! What the two runs found, side by side.

use warpscope_engine::message::Run;
use yew::{Html, component, html};

use super::{PaneProps, thousands};

/// Whether less or more of a figure is better.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
}

/// The figures, before and after.
#[component]
pub fn Results(PaneProps { lab, .. }: &PaneProps) -> Html {
    let runs = lab.runs.clone();
    let sides = runs.as_ref().map(|runs| (runs.before.as_ref(), runs.after.as_ref()));
    let stale = lab.running || lab.stopped;
    html! {
        <div class={if stale { "part results stale" } else { "part results" }} role="group" aria-labelledby="results-title">
            <h3 id="results-title">{ "Before and after" }{ verdict(sides) }</h3>
            <div class="scroll part-body" tabindex="0" role="region" aria-label="Statistics">
                { match sides {
                    None => html! { <p class="empty">{ "Nothing has run yet." }</p> },
                    Some((before, after)) => html! {
                        <>
                            { failure("The source", before.err()) }
                            { failure("The program at the position", after.err()) }
                            if before.is_ok() || after.is_ok() {
                                { figures(before.ok(), after.ok()) }
                                { occupancy(before.ok(), after.ok()) }
                            }
                        </>
                    },
                } }
            </div>
        </div>
    }
}

/// A run, or why it did not end well.
type Side<'a> = Result<&'a Run, &'a String>;

/// Whether both runs left the same memory.
fn verdict(sides: Option<(Side<'_>, Side<'_>)>) -> Html {
    match sides {
        Some((Ok(before), Ok(after))) if before.result_hash == after.result_hash => {
            html! { <span class="verdict good" data-testid="verdict">{ "✓ same memory" }</span> }
        }
        Some((Ok(_), Ok(_))) => html! { <span class="verdict bad" data-testid="verdict">{ "✗ memory differs" }</span> },
        _ => Html::default(),
    }
}

fn failure(which: &str, why: Option<&String>) -> Html {
    why.map(|why| html! { <p class="failure" role="alert"><b>{ which }</b>{ ": " }{ why }</p> }).unwrap_or_default()
}

fn figures(before: Option<&Run>, after: Option<&Run>) -> Html {
    let sectors = |sectors: u64, requests: u64| if requests == 0 { 0.0 } else { sectors as f64 / requests as f64 };
    let whole = |value: f64| thousands(value as u64);
    let percent = |value: f64| format!("{:.1} %", value * 100.0);
    let fine = |value: f64| format!("{value:.2}");
    html! {
        <table class="figures" data-testid="figures">
            <thead><tr><th scope="col"><span class="hidden">{ "Figure" }</span></th><th scope="col">{ "before" }</th><th scope="col">{ "after" }</th><th scope="col">{ "change" }</th></tr></thead>
            <tbody>
                { row("Cycles", Better::Less, before, after, |run| run.cycles as f64, whole) }
                { row("Warp instructions", Better::Less, before, after, |run| run.warp_instructions as f64, whole) }
                { row("Thread instructions", Better::Less, before, after, |run| run.thread_instructions as f64, whole) }
                { row("SIMT efficiency", Better::More, before, after, |run| run.simt_efficiency, percent) }
                { row("Divergent branches", Better::Less, before, after, |run| run.divergent_branches as f64, whole) }
                { row("Global loads", Better::Less, before, after, |run| run.global_loads as f64, whole) }
                { row("Sectors a load", Better::Less, before, after, move |run| sectors(run.load_sectors, run.global_loads), fine) }
                { row("Global stores", Better::Less, before, after, |run| run.global_stores as f64, whole) }
                { row("Sectors a store", Better::Less, before, after, move |run| sectors(run.store_sectors, run.global_stores), fine) }
                { row("Bank conflicts", Better::Less, before, after, |run| run.bank_conflicts as f64, whole) }
                { for idle_causes(before, after).into_iter().map(|cause| {
                    let of = cause.clone();
                    let idle = move |run: &Run| run.idle.iter().find(|(name, _)| *name == of).map_or(0.0, |(_, cycles)| *cycles as f64);
                    row(&format!("Idle: {cause}"), Better::Less, before, after, idle, whole)
                }) }
            </tbody>
        </table>
    }
}

fn idle_causes(before: Option<&Run>, after: Option<&Run>) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    for (name, cycles) in [before, after].into_iter().flatten().flat_map(|run| &run.idle) {
        if *cycles > 0 && !causes.contains(name) {
            causes.push(name.clone());
        }
    }
    causes
}

fn row(
    name: &str,
    better: Better,
    before: Option<&Run>,
    after: Option<&Run>,
    figure: impl Fn(&Run) -> f64,
    show: impl Fn(f64) -> String,
) -> Html {
    let (before, after) = (before.map(&figure), after.map(&figure));
    let show = |value: Option<f64>| value.map_or("–".to_owned(), &show);
    let (class, change) = match (before, after) {
        (Some(before), Some(after)) if before != after => {
            let is_better = (after < before) == (better == Better::Less);
            let text = if before == 0.0 {
                "new".to_owned()
            } else {
                format!("{:+.1} %", (after / before - 1.0) * 100.0).replace('-', "−")
            };
            (if is_better { "change good" } else { "change bad" }, text)
        }
        (Some(_), Some(_)) => ("change", "=".to_owned()),
        _ => ("change", String::new()),
    };
    let id = name.to_lowercase().replace([' ', ':'], "-");
    html! {
        <tr data-testid={format!("figure-{id}")}>
            <th scope="row">{ name }</th>
            <td>{ show(before) }</td>
            <td>{ show(after) }</td>
            <td {class}>{ change }</td>
        </tr>
    }
}

/// How many issues had so many active lanes, as two rows of bars.
fn occupancy(before: Option<&Run>, after: Option<&Run>) -> Html {
    let most =
        [before, after].into_iter().flatten().flat_map(|run| run.occupancy.iter().skip(1)).copied().max().unwrap_or(0);
    if most == 0 {
        return Html::default();
    }
    let bars = |run: Option<&Run>, name: &'static str| {
        let Some(run) = run else { return Html::default() };
        let total: u64 = run.occupancy.iter().sum();
        let full = run.occupancy.last().copied().unwrap_or(0);
        let spoken = format!(
            "{name}: {:.0} % of issues with all {} lanes active",
            full as f64 / total.max(1) as f64 * 100.0,
            run.warp_size
        );
        let count = run.occupancy.len().saturating_sub(1).max(1);
        let width = 320.0 / count as f64;
        html! {
            <div class="bars">
                <span>{ name }</span>
                <svg viewBox="0 0 320 36" preserveAspectRatio="none" role="img" aria-label={spoken}>
                    { for run.occupancy.iter().enumerate().skip(1).map(|(lanes, &issues)| {
                        let height = (issues as f64 / most as f64).sqrt() * 35.0;
                        html! {
                            <rect x={format!("{:.1}", (lanes - 1) as f64 * width + 0.5)} width={format!("{:.1}", (width - 1.0).max(0.5))}
                                y={format!("{:.1}", 36.0 - height)} height={format!("{height:.1}")}>
                                <title>{ format!("{lanes} lanes: {} issues", thousands(issues)) }</title>
                            </rect>
                        }
                    }) }
                </svg>
            </div>
        }
    };
    html! {
        <figure class="occupancy" data-testid="occupancy">
            <figcaption>{ "Issues by active lanes" }</figcaption>
            { bars(before, "before") }
            { bars(after, "after") }
            <p class="axis" aria-hidden="true"><span>{ "1" }</span><span>{ before.or(after).map_or(32, |run| run.warp_size) }</span></p>
        </figure>
    }
}
