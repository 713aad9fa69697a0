//! Interaction with the graph: zoom, pan, and steps from block to block.

use std::rc::Rc;

use warpscope_engine::message;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, PointerEvent};
use yew::{Callback, KeyboardEvent};

use super::super::Now;
use super::SCALES;
use crate::dom;
use crate::layout::Placement;
use crate::state::{Action, Pane, Selection};

/// Distance that one key press pans, in pixels.
const PAN_STEP: i32 = 80;

/// The scale after a zoom, within what there is.
pub fn zoomed(scale: f64, factor: f64) -> f64 {
    (scale * factor).clamp(*SCALES.start(), *SCALES.end())
}

/// Scroll position of the pane once a point of it has stayed where it is and the drawing has grown by
/// `factor`, in pixels.
pub fn keep_point((left, top): (f64, f64), (x, y): (f64, f64), factor: f64) -> (f64, f64) {
    ((left + x) * factor - x, (top + y) * factor - y)
}

/// Scroll position of the pane, in pixels.
pub fn scrolled(pane: &HtmlElement) -> (f64, f64) {
    (f64::from(pane.scroll_left()), f64::from(pane.scroll_top()))
}

/// Scrolls the pane by one step if `key` is an arrow.
pub fn pan(place: &yew::NodeRef, key: &str) -> bool {
    let (x, y) = match key {
        "ArrowLeft" => (-1, 0),
        "ArrowRight" => (1, 0),
        "ArrowUp" => (0, -1),
        "ArrowDown" => (0, 1),
        _ => return false,
    };
    if let Some(pane) = place.cast::<HtmlElement>() {
        pane.set_scroll_left(pane.scroll_left() + x * PAN_STEP);
        pane.set_scroll_top(pane.scroll_top() + y * PAN_STEP);
    }
    true
}

/// Callback that follows a pointer.
pub type PointerCallback = Callback<PointerEvent>;

/// Dragging the background scrolls the pane.
/// Whenever it does, `hold` is told.
pub fn panning(place: &yew::NodeRef, hold: &Callback<()>) -> (PointerCallback, PointerCallback, PointerCallback) {
    let pane = place.clone();
    let down = Callback::from(move |event: PointerEvent| {
        let on_block = event
            .target()
            .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
            .is_some_and(|element| element.closest(".block").is_ok_and(|found| found.is_some()));
        let by_mouse = event.pointer_type() == "mouse" && event.button() == 0;
        if let Some(pane) = pane.cast::<HtmlElement>().filter(|_| by_mouse && !on_block) {
            let _ = pane.dataset().set("panning", "true");
        }
    });
    let (pane, hold) = (place.clone(), hold.clone());
    let moved = Callback::from(move |event: PointerEvent| {
        if let Some(pane) = pane.cast::<HtmlElement>().filter(|pane| pane.dataset().get("panning").is_some()) {
            hold.emit(());
            pane.set_scroll_left(pane.scroll_left() - event.movement_x());
            pane.set_scroll_top(pane.scroll_top() - event.movement_y());
        }
    });
    let pane = place.clone();
    let up = Callback::from(move |_: PointerEvent| {
        if let Some(pane) = pane.cast::<HtmlElement>() {
            pane.dataset().delete("panning");
        }
    });
    (down, moved, up)
}

/// Arrow keys go from the selected block to the nearest one in that direction.
pub fn walk(
    now: Now,
    view: Rc<message::View>,
    placement: Rc<Placement>,
    act: Callback<Action>,
) -> Callback<KeyboardEvent> {
    Callback::from(move |event: KeyboardEvent| {
        let direction = match event.key().as_str() {
            "ArrowDown" => (0.0, 1.0),
            "ArrowUp" => (0.0, -1.0),
            "ArrowLeft" => (-1.0, 0.0),
            "ArrowRight" => (1.0, 0.0),
            // Where the keyboard stands without having walked.
            "Enter" | " " => (0.0, 0.0),
            _ => return,
        };
        if event.ctrl_key() || event.alt_key() || event.meta_key() {
            return;
        }
        event.prevent_default();
        event.stop_propagation();
        let graph = &view.graph;
        if graph.blocks.is_empty() {
            return;
        }
        let at = now
            .lab()
            .selected
            .and_then(|selection| graph.blocks.iter().position(|block| block.name == selection.block));
        let next = match at {
            None => Some(0),
            Some(at) => neighbour(graph, &placement, at, direction),
        };
        if let Some(next) = next {
            let name = graph.blocks[next].name.clone();
            dom::focus_later(format!("block-{}", graph.blocks[next].id));
            act.emit(Action::Select(Some(Selection { block: name, inst: None, by: Pane::Everywhere })));
        }
    })
}

/// The block in a direction from another: along an edge if one leads there, otherwise the nearest.
fn neighbour(graph: &message::Graph, placement: &Placement, at: usize, (dx, dy): (f64, f64)) -> Option<usize> {
    let center = |index: usize| {
        let rect = placement.blocks[&graph.blocks[index].id];
        (rect.center_x(), rect.y + rect.height / 2.0)
    };
    let (x, y) = center(at);
    let touching = graph.edges.iter().filter(|edge| edge.from == at || edge.to == at);
    let neighbours: Vec<usize> = touching.map(|edge| if edge.from == at { edge.to } else { edge.from }).collect();
    let distance = |index: usize| {
        let (other_x, other_y) = center(index);
        let along = (other_x - x) * dx + (other_y - y) * dy;
        let aside = ((other_x - x) * dy).abs() + ((other_y - y) * dx).abs();
        let bonus = if dy != 0.0 && neighbours.contains(&index) { 0.2 } else { 1.0 };
        (along > 1.0).then_some((along + 2.0 * aside) * bonus)
    };
    let found =
        (0..graph.blocks.len()).filter(|&index| index != at).filter_map(|index| Some((distance(index)?, index)));
    found.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, index)| index)
}
