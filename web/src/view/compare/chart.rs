//! One figure of several pipelines over the divergence, as lines that differ in colour, dashes and marks.

use warpscope_engine::message::Counts;
use yew::{Html, html};

use super::super::scale::Scale;
use super::Figure;
use crate::state::{POINTS, divergence};

/// Size of the drawing, and of its free borders: left, top, right, bottom.
const SIZE: (f64, f64) = (360.0, 190.0);
const BORDER: (f64, f64, f64, f64) = (66.0, 12.0, 14.0, 30.0);

/// A line.
pub struct Series {
    /// The pipeline.
    pub name: String,
    /// Whether it has run.
    pub has_run: bool,
    /// Counts of a run at each point; none where none is known.
    pub counts: Vec<Option<Counts>>,
}

/// The lines of a figure, with a mark at that point.
pub fn chart(figure: Figure, series: &[Series], at: Option<usize>) -> Html {
    let values = |series: &Series| -> Vec<Option<f64>> {
        series.counts.iter().map(|counts| figure.of(counts.as_ref()?)).collect()
    };
    let lines: Vec<Vec<Option<f64>>> = series.iter().map(values).collect();
    let Some(axis) = Scale::new(lines.iter().flatten().flatten().copied(), figure.smallest_step()) else {
        return html! { <figure class="chart"><figcaption>{ figure.name() }</figcaption><p class="note">{ if series.iter().all(|series| series.has_run) { "No run came to an end." } else { "Running…" } }</p></figure> };
    };
    let x = |point: usize| BORDER.0 + divergence(point) * (SIZE.0 - BORDER.0 - BORDER.2);
    let y =
        |value: f64| SIZE.1 - BORDER.3 - (value - axis.low) / (axis.high() - axis.low) * (SIZE.1 - BORDER.1 - BORDER.3);
    let spoken: Vec<String> = series
        .iter()
        .zip(&lines)
        .filter_map(|(series, line)| {
            let (first, last) = (line.first().copied().flatten()?, line.last().copied().flatten()?);
            Some(format!("{} from {} to {}", series.name, figure.show(first), figure.show(last)))
        })
        .collect();
    html! {
        <figure class="chart" data-testid={format!("chart-{figure:?}").to_lowercase()}>
            <figcaption>{ figure.name() }</figcaption>
            <svg viewBox={format!("0 0 {} {}", SIZE.0, SIZE.1)} role="img" aria-label={format!("{} over divergence: {}", figure.name(), spoken.join("; "))}>
                { for (0..=axis.ticks).map(|tick| {
                    let value = axis.low + axis.step * tick as f64;
                    html! {
                        <g class="tick">
                            <line x1={BORDER.0.to_string()} x2={(SIZE.0 - BORDER.2).to_string()} y1={format!("{:.1}", y(value))} y2={format!("{:.1}", y(value))} />
                            <text x={(BORDER.0 - 6.0).to_string()} y={format!("{:.1}", y(value) + 4.0)} text-anchor="end">{ figure.show(value) }</text>
                        </g>
                    }
                }) }
                { for [0, POINTS / 2, POINTS - 1].into_iter().map(|point| html! {
                    <text class="below" x={format!("{:.1}", x(point))} y={(SIZE.1 - 9.0).to_string()} text-anchor={if point + 1 == POINTS { "end" } else { "middle" }}>{ format!("{:.0} %", divergence(point) * 100.0) }</text>
                }) }
                { for at.map(|at| html! { <line class="cursor" x1={format!("{:.1}", x(at))} x2={format!("{:.1}", x(at))} y1={BORDER.1.to_string()} y2={(SIZE.1 - BORDER.3).to_string()} /> }) }
                { for lines.iter().enumerate().map(|(index, line)| {
                    let points: Vec<(f64, f64)> = line.iter().enumerate().filter_map(|(point, value)| Some((x(point), y((*value)?)))).collect();
                    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                    html! {
                        <g class={format!("series series-{}", index + 1)}>
                            <title>{ &series[index].name }</title>
                            <polyline points={path.join(" ")} />
                            { for points.iter().map(|&(x, y)| mark(index, x, y)) }
                        </g>
                    }
                }) }
            </svg>
        </figure>
    }
}

/// The sign of a line beside its name.
pub fn key(index: usize) -> Html {
    html! {
        <svg class={format!("series series-{}", index + 1)} viewBox="0 0 26 12" width="26" height="12">
            <polyline points="1,6 25,6" />{ mark(index, 13.0, 6.0) }
        </svg>
    }
}

/// A point of the line of that index.
fn mark(index: usize, x: f64, y: f64) -> Html {
    let path = match index {
        0 => "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
        1 => "M-3-3h6v6h-6z",
        2 => "M0-3.800 3.800 3h-7.600z",
        3 => "M0-4 4 0 0 4-4 0z",
        4 => "M0 3.800 3.800-3h-7.600z",
        _ => "M-3.500-1.200h2.300v-2.300h2.400v2.300h2.300v2.400h-2.300v2.300h-2.400v-2.300h-2.300z",
    };
    html! { <path d={path} transform={format!("translate({x:.1} {y:.1})")} /> }
}
