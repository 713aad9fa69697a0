//! The speed-up by a pass that predicts what it gains, over zero probability and divergence: a table whose cells are
//! coloured, with two lines over it, where it breaks even in the simulator and where the prediction says that it does.

use warpscope_engine::message::Cell;
use warpscope_engine::message::inspect::Prediction;
use yew::{Callback, Event, Html, KeyboardEvent, component, html, use_state};

use super::super::change::with_code;
use super::super::{PaneProps, thousands};
use crate::dom;
use crate::state::{Action, HeatMap, Lab, POINTS, divergence, variable};

/// The speed-up from which on a cell has its full colour, if none is further from 1.
const LITTLE: f64 = 1.05;

/// The map, where the pipeline has such a pass.
#[component]
pub fn Map(PaneProps { lab, act }: &PaneProps) -> Html {
    // Zero probability and divergence of the cell that is told, by their places.
    let at = use_state(|| (POINTS / 2, 0usize));
    let Some(pass) = lab.mapped_pass() else { return Html::default() };
    let map = lab.known_map();
    let onkeydown = {
        let at = at.clone();
        Callback::from(move |event: KeyboardEvent| {
            let (zero, apart) = *at;
            let last = POINTS - 1;
            let next = match event.key().as_str() {
                "ArrowLeft" => (zero.saturating_sub(1), apart),
                "ArrowRight" => ((zero + 1).min(last), apart),
                "ArrowDown" => (zero, apart.saturating_sub(1)),
                "ArrowUp" => (zero, (apart + 1).min(last)),
                "Home" => (0, apart),
                "End" => (last, apart),
                _ => return,
            };
            event.prevent_default();
            at.set(next);
        })
    };
    let body = match map {
        _ if lab.map_question().is_none() => {
            html! { <p class="note" data-testid="map-refused">{ "This launch draws no values that could be zero." }</p> }
        }
        Some(HeatMap { refused: Some(why), .. }) => {
            html! { <p class="note" data-testid="map-refused">{ "There is no map: " }{ with_code(why) }{ "." }</p> }
        }
        map => {
            let empty = HeatMap::default();
            let map = map.unwrap_or(&empty);
            html! {
                <>
                    <p class="told" role="status" data-testid="map-told">{ with_code(&told(map, *at)) }</p>
                    <div class="heat-map" tabindex="0" role="group" {onkeydown} data-testid="heat-map"
                        aria-label="Speed-up over zero probability and divergence; arrow keys go from cell to cell">
                        <p class="axis-name upright" aria-hidden="true">{ "Divergence" }</p>
                        { table(map, pass, *at, &at) }
                        { lines(map) }
                        <p class="axis-name" aria-hidden="true">{ "Zero probability" }</p>
                    </div>
                    { legend(map, pass) }
                </>
            }
        }
    };
    html! {
        <section class="mapped" aria-labelledby="map-title" data-testid="map">
            <div class="map-head">
                <h3 id="map-title">{ format!("Speed-up with {pass}, by zero probability and divergence") }</h3>
                { chooser(lab, act) }
            </div>
            { body }
        </section>
    }
}

/// Which values vary.
fn chooser(lab: &Lab, act: &Callback<Action>) -> Html {
    let sources = lab.view.as_ref().map(|view| view.sources.clone()).unwrap_or_default();
    let onchange = act.reform(|event: Event| Action::Vary(dom::value(&event).filter(|name| !name.is_empty())));
    let usual = lab.usual_map_sources().join(", ");
    html! {
        <label class="field">
            <span>{ "Vary" }</span>
            <select {onchange} data-testid="map-vary">
                <option value="" selected={lab.varied.is_none()}>{ format!("all of {usual}") }</option>
                { for variable(&sources).into_iter().map(|source| html! {
                    <option value={source.name.clone()} selected={lab.varied.as_ref() == Some(&source.name)}>{ format!("only {}", source.name) }</option>
                }) }
            </select>
        </label>
    }
}

/// A cell in words.
fn told(map: &HeatMap, (zero, apart): (usize, usize)) -> String {
    let place = format!("Zero {}, divergence {}: ", percent(zero), percent(apart));
    let Some(cell) = map.cell(zero, apart) else { return place + "not run yet." };
    let predicted = cell.predicted(&map.predictions);
    let share = |(prediction, share): (&Prediction, &Option<f64>)| match share {
        Some(share) => format!("In {:.0} % of the warps that check, {}.", share * 100.0, prediction.condition),
        None => format!("No warp checks whether {}.", prediction.condition),
    };
    let shares: Vec<String> = map.predictions.iter().zip(&cell.shares).map(share).collect();
    format!(
        "{place}{} cycles without, {} with: speed-up {:.2}. {} {} predicts {:.1} cycles {} per warp.",
        thousands(cell.without),
        thousands(cell.with),
        cell.speed_up(),
        shares.join(" "),
        source(map),
        predicted.abs(),
        if predicted > 0.0 { "lost" } else { "saved" }
    )
}

/// The source of the predictions, as a sentence begins with it.
fn source(map: &HeatMap) -> String {
    let name = map.predictions.first().map_or("the estimate", |prediction| prediction.source.as_str());
    let first = name.chars().next().map_or(0, char::len_utf8);
    name[..first].to_uppercase() + &name[first..]
}

fn percent(place: usize) -> String {
    format!("{:.0} %", divergence(place) * 100.0)
}

fn table(map: &HeatMap, pass: &str, at: (usize, usize), choose: &yew::UseStateHandle<(usize, usize)>) -> Html {
    let speeds = map.cells.iter().flatten().flatten().map(Cell::speed_up);
    let strongest = speeds.map(strength).fold(LITTLE, f64::max);
    let cell = |zero: usize, apart: usize| {
        let here = (zero, apart);
        let onpointerenter = {
            let choose = choose.clone();
            Callback::from(move |_| choose.set(here))
        };
        let mut class = if at == here { "at" } else { "" }.to_owned();
        let found = map.cell(zero, apart);
        let speed = found.map(Cell::speed_up);
        if let Some(speed) = speed {
            class.push_str(if speed >= 1.0 { " faster" } else { " slower" });
        }
        // The root keeps a little gain apart from none where another cell gains much.
        let level = speed.map(|speed| ((strength(speed) - 1.0) / (strongest - 1.0)).sqrt());
        let level = level.map(|level| format!("--level:{level:.2}"));
        html! { <td {class} style={level} {onpointerenter}>{ speed.map_or(String::new(), |speed| format!("{speed:.2}")) }</td> }
    };
    html! {
        <table>
            <caption class="hidden">{ format!("Speed-up with {pass}: a row for each divergence, a column for each zero probability") }</caption>
            <tbody>
                { for (0..POINTS).rev().map(|apart| html! {
                    <tr key={apart}><th scope="row">{ percent(apart) }</th>{ for (0..POINTS).map(|zero| cell(zero, apart)) }</tr>
                }) }
                <tr class="below"><td />{ for (0..POINTS).map(|zero| html! { <th scope="col">{ percent(zero) }</th> }) }</tr>
            </tbody>
        </table>
    }
}

/// How far a speed-up is from 1, either way. Logarithms would cost kilobytes.
fn strength(speed: f64) -> f64 {
    if speed < 1.0 { 1.0 / speed } else { speed }
}

/// The two lines of breaking even.
fn lines(map: &HeatMap) -> Html {
    let values = |of: &dyn Fn(&Cell) -> f64| -> Vec<Option<f64>> {
        (0..POINTS * POINTS).map(|index| map.cell(index % POINTS, index / POINTS).map(of)).collect()
    };
    let simulated = contour(&values(&|cell| cell.speed_up() - 1.0));
    let predicted = contour(&values(&|cell| -cell.predicted(&map.predictions)));
    html! {
        <svg class="lines" viewBox={format!("0 0 {POINTS} {POINTS}")} preserveAspectRatio="none" aria-hidden="true">
            <path class="halo" d={format!("{simulated}{predicted}")} />
            <path class="simulated" d={simulated} data-testid="map-simulated" />
            <path class="predicted" d={predicted} data-testid="map-predicted" />
        </svg>
    }
}

/// The line where values between the middles of cells are 0, as a path; divergence goes up. Between two cells the values
/// are taken to go straight.
fn contour(values: &[Option<f64>]) -> String {
    let value = |column: usize, row: usize| values[row * POINTS + column];
    let place = |column: f64, row: f64| (column + 0.5, POINTS as f64 - 0.5 - row);
    let mut path = String::new();
    for row in 0..POINTS - 1 {
        for column in 0..POINTS - 1 {
            // Around the square of four cells.
            let corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)];
            let found: Option<Vec<f64>> = corners.iter().map(|&(column, row)| value(column, row)).collect();
            let Some(found) = found else { continue };
            let crossings: Vec<(f64, f64)> = (0..4)
                .filter_map(|side| {
                    let (from, to) = (found[side], found[(side + 1) % 4]);
                    if (from > 0.0) == (to > 0.0) {
                        return None;
                    }
                    let ((x1, y1), (x2, y2)) = (corners[side], corners[(side + 1) % 4]);
                    let part = from / (from - to);
                    Some(place(x1 as f64 + part * (x2 as f64 - x1 as f64), y1 as f64 + part * (y2 as f64 - y1 as f64)))
                })
                .collect();
            for ends in crossings.chunks_exact(2) {
                path.push_str(&format!("M{:.2} {:.2}L{:.2} {:.2}", ends[0].0, ends[0].1, ends[1].0, ends[1].1));
            }
        }
    }
    path
}

/// Whether no cell is slower, nor predicted to be.
fn loses_nowhere(map: &HeatMap) -> bool {
    let cells = map.cells.iter().flatten().flatten();
    cells.into_iter().all(|cell| cell.speed_up() >= 1.0 && cell.predicted(&map.predictions) <= 0.0)
}

/// The meanings of colours and lines, and the runs.
fn legend(map: &HeatMap, pass: &str) -> Html {
    let failure = map.cells.iter().flatten().find_map(|cell| cell.as_ref().err());
    let figures = map.predictions.iter().map(|prediction| format!("{}: {}", prediction.condition, prediction.figures));
    let figures: Vec<String> = figures.collect();
    let source = source(map);
    let line = format!("break-even by {}", source.to_lowercase());
    html! {
        <div class="map-legend">
            <p>
                <span class="swatch faster" aria-hidden="true" />{ format!("faster with {pass}") }
                <span class="swatch slower" aria-hidden="true" />{ "slower" }
                <svg class="key simulated" viewBox="0 0 34 8" aria-hidden="true"><path d="M1 4H33" /></svg>{ "break-even, simulated" }
                <svg class="key predicted" viewBox="0 0 34 8" aria-hidden="true"><path d="M1 4H33" /></svg>{ line }
            </p>
            <p class="note">
                { "The passes run once, with the current profile; their result then runs on other values (re-profiling each cell would hide the losses). " }
                { format!("{source} takes probabilities as counted in each cell at the check, in whole warps, and cycles as the pass estimated them: ") }
                { with_code(&figures.join("; ")) }{ "." }
            </p>
            if let Some(why) = failure { <p class="refused">{ with_code(why) }</p> }
            if map.known() == POINTS * POINTS && loses_nowhere(map) {
                <p class="note">{ "No cell loses, so there is no break-even." }</p>
            }
            if failure.is_none() && map.known() < POINTS * POINTS {
                <p class="note" data-testid="map-progress">{ format!("{} of {} cells", map.known(), POINTS * POINTS) }</p>
            }
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(of: impl Fn(f64, f64) -> f64) -> Vec<Option<f64>> {
        (0..POINTS * POINTS).map(|index| Some(of((index % POINTS) as f64, (index / POINTS) as f64))).collect()
    }

    #[test]
    fn the_line_goes_between_cells_where_the_value_changes_its_sign() {
        let upright = contour(&field(|zero, _| zero - 2.25));
        assert_eq!(upright.matches('M').count(), POINTS - 1);
        assert!(upright.split(['M', 'L']).skip(1).all(|point| point.starts_with("2.75 ")), "{upright}");
        let level = contour(&field(|_, apart| 9.5 - apart));
        assert!(level.split(['M', 'L']).skip(1).all(|point| point.ends_with(" 1.00")), "divergence goes up: {level}");
        assert_eq!(contour(&field(|_, _| 1.0)), "");
        assert_eq!(contour(&vec![None; POINTS * POINTS]), "");
    }
}
