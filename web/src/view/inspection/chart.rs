//! A chart of an inspection: series that differ in colour, dashes and signs, and their numbers as a table that opens.

use warpscope_engine::message::inspect::{Axis, Chart, Point, Series, SeriesKind};
use yew::{Html, html};

use super::super::compare::chart::key;
use super::super::scale::Scale;

/// Size of the drawing, and of its free borders: left, top, right, bottom.
const SIZE: (f64, f64) = (340.0, 168.0);
const BORDER: (f64, f64, f64, f64) = (52.0, 20.0, 14.0, 24.0);
/// Smallest step of an axis.
const SMALLEST_STEP: f64 = 0.1;
/// Half of the width of a bar among words, and of the end of an interval.
const HALF_BAR: f64 = 9.0;
const HALF_CAP: f64 = 4.5;

/// The chart.
pub fn chart(chart: &Chart) -> Html {
    let Some(map) = Map::of(chart) else { return Html::default() };
    let spoken: Vec<String> = chart.series.iter().map(|series| spoken(chart, series)).collect();
    let marks = chart.marks.iter().map(|mark| format!("{} at {}", mark.label, with_unit(&chart.across, mark.at)));
    let spoken: Vec<String> = spoken.into_iter().chain(marks).collect();
    html! {
        <figure class="chart inspected-chart" data-testid="inspected-chart">
            <figcaption>{ &chart.name }<small>{ format!("{} by {}", chart.up.heading(), chart.across.heading()) }</small></figcaption>
            <svg viewBox={format!("0 0 {} {}", SIZE.0, SIZE.1)} role="img" aria-label={format!("{}: {}", chart.name, spoken.join("; "))}>
                { ticks(chart, &map) }
                { for chart.marks.iter().enumerate().map(|(place, mark)| html! {
                    <g class="chart-mark">
                        <line x1={unit(map.x(mark.at))} x2={unit(map.x(mark.at))} y1={unit(BORDER.1 - 4.0)} y2={unit(SIZE.1 - BORDER.3)} />
                        <text x={unit(map.x(mark.at) + if place % 2 == 0 { -4.0 } else { 4.0 })} y="12"
                            text-anchor={if place % 2 == 0 { "end" } else { "start" }}>{ &mark.label }</text>
                    </g>
                }) }
                { for chart.series.iter().enumerate().map(|(place, series)| drawn(series, place, &map)) }
            </svg>
            <p class="mark-legend">
                { for chart.series.iter().enumerate().map(|(place, series)| html! { <span class="mark-key"><span aria-hidden="true">{ key(place + 1) }</span>{ &series.name }</span> }) }
            </p>
            { numbers(chart) }
        </figure>
    }
}

fn ticks(chart: &Chart, map: &Map) -> Html {
    let bottom = SIZE.1 - BORDER.3;
    let upright = (0..=map.up.ticks).map(|tick| {
        let value = map.up.low + map.up.step * tick as f64;
        let is_zero = value.abs() < map.up.step / 2.0;
        html! {
            <g class={if is_zero { "tick zero" } else { "tick" }}>
                <line x1={unit(BORDER.0)} x2={unit(SIZE.0 - BORDER.2)} y1={unit(map.y(value))} y2={unit(map.y(value))} />
                <text x={unit(BORDER.0 - 6.0)} y={unit(map.y(value) + 4.0)} text-anchor="end">{ chart.up.text(value) }</text>
            </g>
        }
    });
    let across = map.across_ticks(chart).into_iter().map(|value| {
        let is_last = map.x(value) > SIZE.0 - BORDER.2 - 16.0;
        html! {
            <text class="below" x={unit(map.x(value))} y={unit(bottom + 17.0)} text-anchor={if is_last && chart.across.words.is_empty() { "end" } else { "middle" }}>{ with_unit(&chart.across, value) }</text>
        }
    });
    html! { <>{ for upright }{ for across }</> }
}

/// The drawing of a series, the `place`-th.
fn drawn(series: &Series, place: usize, map: &Map) -> Html {
    let at = |point: &Point| (map.x(point.x), map.y(point.y));
    let line: Vec<String> = series.points.iter().map(&at).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let point = |point: &Point| {
        let (x, y) = at(point);
        let interval = point.interval.map(|(low, high)| {
            let (top, bottom) = (map.y(high), map.y(low));
            let cap = |y: f64| format!("M{:.1} {y:.1}h{:.1}", x - HALF_CAP, 2.0 * HALF_CAP);
            html! { <path class="interval" d={format!("M{x:.1} {top:.1}V{bottom:.1}{}{}", cap(top), cap(bottom))} /> }
        });
        let zero = map.y(0.0_f64.clamp(map.up.low, map.up.high()));
        html! {
            <>
                if series.kind == SeriesKind::Bars {
                    <rect x={unit(x - HALF_BAR)} width={unit(2.0 * HALF_BAR)} y={unit(y.min(zero))} height={unit((y - zero).abs().max(1.0))} />
                }
                { for interval }
                if series.kind != SeriesKind::Bars { <circle class="dot" cx={unit(x)} cy={unit(y)} r="3.500" /> }
                if !point.label.is_empty() { <title>{ &point.label }</title> }
            </>
        }
    };
    html! {
        <g class={format!("series series-{} {}", place + 2, series.kind.name())}>
            if series.kind == SeriesKind::Line { <polyline points={line.join(" ")} /> }
            { for series.points.iter().map(|it| html! { <g>{ point(it) }</g> }) }
        </g>
    }
}

/// The numbers as a table, which opens.
fn numbers(chart: &Chart) -> Html {
    let row = |series: &Series, point: &Point| {
        html! {
            <tr>
                <th scope="row">{ &series.name }</th>
                <td class="number">{ with_unit(&chart.across, point.x) }</td>
                <td class="number">{ point.text() }</td>
                <td>{ &point.label }</td>
            </tr>
        }
    };
    html! {
        <details class="chart-numbers">
            <summary>{ "Numbers" }</summary>
            <table class="value-table">
                <thead><tr><th scope="col">{ "Series" }</th><th scope="col" class="number">{ chart.across.heading() }</th><th scope="col" class="number">{ chart.up.heading() }</th><th scope="col">{ "Name" }</th></tr></thead>
                <tbody>
                    { for chart.series.iter().flat_map(|series| series.points.iter().map(move |point| row(series, point))) }
                    { for chart.marks.iter().map(|mark| html! {
                        <tr><th scope="row">{ &mark.label }</th><td class="number">{ with_unit(&chart.across, mark.at) }</td><td class="number">{ "–" }</td><td /></tr>
                    }) }
                </tbody>
            </table>
        </details>
    }
}

fn spoken(chart: &Chart, series: &Series) -> String {
    let point = |point: &Point| format!("{} at {}", point.text(), with_unit(&chart.across, point.x));
    let points: Vec<String> = series.points.iter().map(point).collect();
    format!("{} {}", series.name, points.join(", "))
}

fn with_unit(axis: &Axis, value: f64) -> String {
    let text = axis.text(value);
    if axis.unit.is_empty() { text } else { format!("{text} {}", axis.unit) }
}

fn unit(value: f64) -> String {
    format!("{value:.1}")
}

/// Places of numbers.
struct Map {
    across: (f64, f64),
    up: Scale,
}

impl Map {
    /// The map of a chart; none for one without a number.
    fn of(chart: &Chart) -> Option<Map> {
        let points = || chart.series.iter().flat_map(|series| &series.points);
        let is_from_zero = chart.series.iter().any(|series| series.kind == SeriesKind::Bars);
        let values = points().flat_map(|point| {
            let (low, high) = point.interval.unwrap_or((point.y, point.y));
            [point.y, low, high]
        });
        let up =
            Scale::new(values.chain(is_from_zero.then_some(0.0)).filter(|value| value.is_finite()), SMALLEST_STEP)?;
        let places = points().map(|point| point.x).chain(chart.marks.iter().map(|mark| mark.at));
        let (low, high) = places.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        let across = match chart.across.words.len() {
            0 if low < high => (low, high),
            0 => (low - 0.5, low + 0.5),
            words => (-0.5, words as f64 - 0.5),
        };
        Some(Map { across, up })
    }

    fn x(&self, value: f64) -> f64 {
        let (low, high) = self.across;
        BORDER.0 + (value - low) / (high - low) * (SIZE.0 - BORDER.0 - BORDER.2)
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value - self.up.low) / (self.up.high() - self.up.low);
        SIZE.1 - BORDER.3 - share * (SIZE.1 - BORDER.1 - BORDER.3)
    }

    /// The numbers below the drawing: each word, or both ends and the middle.
    fn across_ticks(&self, chart: &Chart) -> Vec<f64> {
        let (low, high) = self.across;
        match chart.across.words.len() {
            0 => vec![low, (low + high) / 2.0, high],
            words => (0..words).map(|word| word as f64).collect(),
        }
    }
}
