//! Bounds in a cell: a bar, a bracket for the tightest ones, a dot for the expected count, a line for the exact one, all
//! on the scale of the column.

use warpscope_engine::message::inspect::Bounds;
use yew::{Html, html};

/// The drawing of bounds on a scale from zero to `end`, before their text.
pub fn drawn(bounds: &Bounds, text: &str, end: f64) -> Html {
    let share = |count: f64| (count / end * 100.0).clamp(0.0, 100.0);
    let from_to =
        |low: f64, high: f64| format!("left:{:.2}%;width:{:.2}%", share(low), (share(high) - share(low)).max(0.0));
    let at = |count: f64| format!("left:{:.2}%", share(count));
    html! {
        <span class="bounds-cell">
        <span class="bounds" role="img" aria-label={bounds.description()}>
            <i class="track" style={from_to(0.0, bounds.of)} />
            <i class="bar" style={from_to(bounds.low, bounds.high)} />
            if let Some((low, high)) = bounds.best { <i class="best" style={from_to(low, high)} /> }
            if let Some(exact) = bounds.exact { <i class="exact" style={at(exact)} /> }
            if let Some(expected) = bounds.expected { <i class="expected" style={at(expected)} /> }
        </span>
        <span class="bounds-text" aria-hidden="true">{ text }</span>
        </span>
    }
}
