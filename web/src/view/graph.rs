//! The graph pane: the control-flow graph at the position. Blocks keep their places between positions, and glide where
//! they have to move.

use std::rc::Rc;

use gloo::events::{EventListener, EventListenerOptions};
use warpscope_engine::message::{self, GraphBlock, Run};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, PointerEvent, ResizeObserver, WheelEvent};
use yew::{Callback, Html, KeyboardEvent, component, html, use_effect_with, use_mut_ref, use_node_ref, use_state};

use super::change::with_code;
use super::icons::Icon;
use super::source::{heat_level, short_number};
use super::{PaneProps, Shared, icon_button};
use crate::dom;
use crate::layout::{self, EdgeKind, Placement};
use crate::state::{Action, Pane, Selection};

/// Width of a character and height of a line in a block, in units of the drawing.
const CHARACTER: f64 = 7.25;
const LINE: f64 = 17.0;
/// Height of a block's head.
const HEAD: f64 = 24.0;
/// Lines that a block shows, and characters of a line.
const MOST_LINES: usize = 14;
const MOST_CHARACTERS: usize = 44;
/// Free space around the drawing.
const MARGIN: f64 = 16.0;
/// The scales that the buttons reach.
const SCALES: std::ops::RangeInclusive<f64> = 0.15..=3.0;
/// The smallest scale at which a graph opens, whole or not: below it nobody reads the text.
const SMALLEST_READABLE: f64 = 0.8;
/// What one key press zooms by, and pans by, in pixels.
const ZOOM_STEP: f64 = 1.25;
const PAN_STEP: i32 = 80;

/// How large the graph is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Zoom {
    /// As large as the pane allows, but readable.
    Readable,
    /// The whole graph in the pane.
    Fit,
    /// As a person chose.
    At(f64),
}

/// The graph pane.
#[component]
pub fn GraphPane(PaneProps { lab, act }: &PaneProps) -> Html {
    let view = lab.view.clone().unwrap_or_default();
    let place = use_node_ref();
    let chosen_scale = use_state(|| Zoom::Readable);
    let pane_size = use_state(|| (0.0f64, 0.0f64));
    let previous = use_mut_ref(|| None::<(Rc<message::View>, Rc<Placement>)>);
    let placement = {
        let mut previous = previous.borrow_mut();
        match previous.as_ref().filter(|(of, _)| lab.view.as_ref().is_some_and(|view| Rc::ptr_eq(of, view))) {
            Some((_, placement)) => placement.clone(),
            None => {
                let before = previous.take().filter(|(of, _)| of.kernel == view.kernel);
                let placed =
                    Rc::new(layout::lay_out(&boxes(&view.graph), before.as_ref().map(|(_, placement)| &**placement)));
                if let Some(view) = &lab.view {
                    *previous = Some((view.clone(), placed.clone()));
                }
                placed
            }
        }
    };
    let (width, height) = (placement.width + 2.0 * MARGIN, placement.height + 2.0 * MARGIN);
    let fit = (pane_size.0 / width).min(pane_size.1 / height).clamp(*SCALES.start(), 1.0);
    let scale = match *chosen_scale {
        Zoom::At(scale) => scale,
        Zoom::Fit if pane_size.0 > 0.0 => fit,
        _ => fit.max(SMALLEST_READABLE),
    };

    {
        let (place, pane_size) = (place.clone(), pane_size.clone());
        use_effect_with((), move |()| {
            let element = place.cast::<HtmlElement>();
            let measure = {
                let element = element.clone();
                wasm_bindgen::closure::Closure::<dyn FnMut()>::new(move || {
                    if let Some(element) = &element {
                        pane_size.set((f64::from(element.client_width()), f64::from(element.client_height())));
                    }
                })
            };
            let observer = ResizeObserver::new(measure.as_ref().unchecked_ref()).ok();
            if let (Some(observer), Some(element)) = (&observer, &element) {
                observer.observe(element);
            }
            move || {
                if let Some(observer) = observer {
                    observer.disconnect();
                }
                drop(measure);
            }
        });
    }
    {
        // Pinching and Ctrl with the wheel zoom around the pointer; the browser would zoom the page.
        let (place, chosen_scale) = (place.clone(), chosen_scale.clone());
        use_effect_with(scale, move |&scale| {
            let listener = place.cast::<HtmlElement>().map(|element| {
                let pane = element.clone();
                let options = EventListenerOptions::enable_prevent_default();
                EventListener::new_with_options(&element, "wheel", options, move |event| {
                    let Some(event) =
                        event.dyn_ref::<WheelEvent>().filter(|event| event.ctrl_key() || event.meta_key())
                    else {
                        return;
                    };
                    event.prevent_default();
                    let new = zoomed(scale, (-event.delta_y() / 300.0).exp());
                    let corner = pane.get_bounding_client_rect();
                    keep_point(
                        &pane,
                        f64::from(event.client_x()) - corner.left(),
                        f64::from(event.client_y()) - corner.top(),
                        new / scale,
                    );
                    chosen_scale.set(Zoom::At(new));
                })
            });
            move || drop(listener)
        });
    }
    {
        let place = place.clone();
        use_effect_with((lab.selected.clone(), view.position), move |(selected, _)| {
            let elsewhere = selected.as_ref().is_some_and(|selection| selection.by != Pane::Graph);
            if let Some(element) = place.cast::<HtmlElement>()
                && let Ok(Some(block)) =
                    element.query_selector(if elsewhere { ".block.selected" } else { ".block.changed" })
            {
                dom::reveal(&block);
            }
        });
    }

    let zoom = {
        let (place, chosen_scale) = (place.clone(), chosen_scale.clone());
        Callback::from(move |factor: f64| {
            let new = zoomed(scale, factor);
            if let Some(pane) = place.cast::<HtmlElement>() {
                keep_point(
                    &pane,
                    f64::from(pane.client_width()) / 2.0,
                    f64::from(pane.client_height()) / 2.0,
                    new / scale,
                );
            }
            chosen_scale.set(Zoom::At(new));
        })
    };
    // Once fitted, the same button makes it readable again.
    let is_fitted = *chosen_scale == Zoom::Fit;
    let fit_all = {
        let chosen_scale = chosen_scale.clone();
        Callback::from(move |_| chosen_scale.set(if is_fitted { Zoom::Readable } else { Zoom::Fit }))
    };
    let (onpointerdown, onpointermove, onpointerup) = panning(&place);
    let onkeydown = {
        let walk = walk(lab.selected.clone(), lab.view.clone(), placement.clone(), act.clone());
        let (place, zoom) = (place.clone(), zoom.clone());
        Callback::from(move |event: KeyboardEvent| {
            let factor = match event.key().as_str() {
                "+" | "=" => ZOOM_STEP,
                "-" => 1.0 / ZOOM_STEP,
                _ if event.shift_key() && pan(&place, &event.key()) => 1.0,
                _ => return walk.emit(event),
            };
            event.prevent_default();
            if factor != 1.0 && !event.ctrl_key() && !event.meta_key() {
                zoom.emit(factor);
            }
        })
    };
    html! {
        <section class="pane graph" aria-labelledby="graph-title" data-testid="graph-pane">
            <div class="pane-head">
                <h2 id="graph-title">{ "Graph" }</h2>
                <span class="legend" aria-hidden="true"><span class="swatch divergent" />{ "divergent" }</span>
                <span class="space" />
                <span class="note scale">{ format!("{:.0} %", scale * 100.0) }</span>
                { icon_button(Icon::Minus, "Zoom out", scale <= *SCALES.start(), zoom.reform(|_| 1.0 / ZOOM_STEP)) }
                { icon_button(Icon::Add, "Zoom in", scale >= *SCALES.end(), zoom.reform(|_| ZOOM_STEP)) }
                <button type="button" class="icon-button" id="graph-fit" aria-label="Fit" title="Fit" aria-pressed={is_fitted.to_string()}
                    onclick={fit_all}>{ Icon::Fit.html() }</button>
            </div>
            <div class="pane-body scroll canvas" id="graph-canvas" ref={place} tabindex="0" role="region" data-testid="graph"
                aria-label="Control-flow graph; arrow keys walk along its edges, with Shift they pan; plus and minus zoom"
                {onpointerdown} {onpointermove} onpointerup={onpointerup.clone()} onpointercancel={onpointerup} {onkeydown}>
                <svg role="group" aria-label={format!("{} blocks", view.graph.blocks.len())}
                    width={format!("{:.0}", width * scale)} height={format!("{:.0}", height * scale)}
                    viewBox={format!("{} {} {width:.1} {height:.1}", -MARGIN, -MARGIN)}>
                    <Drawing view={Shared(view.clone())} placement={Shared(placement.clone())} selected={lab.selected.clone()}
                        runs={lab.run_at_position().and_then(|_| lab.runs.clone()).map(Shared)} act={act.clone()} />
                </svg>
                if view.graph.blocks.is_empty() { <p class="empty">{ "There is no kernel to draw yet." }</p> }
            </div>
            { cause(&view.graph, lab.selected.as_ref()) }
        </section>
    }
}

#[derive(PartialEq, yew::Properties)]
struct DrawingProps {
    view: Shared<message::View>,
    placement: Shared<Placement>,
    selected: Option<Selection>,
    /// The runs whose heat is shown.
    runs: Option<Shared<message::Simulated>>,
    act: Callback<Action>,
}

/// Blocks, edges and loops.
#[component]
fn Drawing(DrawingProps { view, placement, selected, runs, act }: &DrawingProps) -> Html {
    let (graph, placement) = (&view.0.graph, &placement.0);
    let run = runs.as_ref().and_then(|runs| runs.0.after.as_ref().ok());
    let hottest = run.map_or(0, |run| run.lines.iter().map(|line| line.issues).max().unwrap_or(0));
    let is_selected = |block: &GraphBlock| selected.as_ref().is_some_and(|selection| selection.block == block.name);
    let focusable = graph.blocks.iter().position(is_selected).unwrap_or(0);
    html! {
        <>
            { patterns() }
            { for placement.loops.iter().map(|inner| html! {
                <rect class="loop" key={format!("loop-{}", inner.head)} rx="10"
                    style={format!("x:{:.1}px;y:{:.1}px;width:{:.1}px;height:{:.1}px", inner.rect.x, inner.rect.y, inner.rect.width, inner.rect.height)} />
            }) }
            { for placement.routes.iter().map(|route| edge_line(graph, route, selected.as_ref())) }
            { for graph.blocks.iter().enumerate().map(|(index, block)| {
                let rect = placement.blocks[&block.id];
                let heat = run.map(|run| (run, hottest));
                let act = act.clone();
                let name = block.name.clone();
                let select = Callback::from(move |inst: Option<u32>| {
                    act.emit(Action::Select(Some(Selection { block: name.clone(), inst, by: Pane::Graph })));
                });
                let exact = selected.as_ref().and_then(|selection| selection.inst);
                block_box(graph, index, block, rect, (is_selected(block), exact), index == focusable, heat, select)
            }) }
        </>
    }
}

/// Why the selected line, or the branch of the selected block, is divergent.
fn cause(graph: &message::Graph, selected: Option<&Selection>) -> Html {
    let cause = selected.and_then(|Selection { block, inst, .. }| {
        let mut lines = graph.blocks.iter().flat_map(|block| &block.lines);
        match lines.find(|line| Some(line.inst) == *inst) {
            Some(line) if line.divergent.is_some() => line.divergent.clone(),
            _ => graph.blocks.iter().find(|found| found.name == *block)?.divergent.clone(),
        }
    });
    let cause = cause.unwrap_or_default();
    let (first, rest) = cause.split_once(". ").unwrap_or((&cause, ""));
    let swatch = html! { <span class="swatch divergent" aria-hidden="true" /> };
    html! {
        <div class="cause" role="status" data-testid="cause">
            // The chain may be long; its first link says the most.
            if !rest.is_empty() {
                <details><summary>{ swatch }{ with_code(first) }</summary>{ with_code(rest) }</details>
            } else if !first.is_empty() {
                <>{ swatch }{ with_code(first) }</>
            }
        </div>
    }
}

fn zoomed(scale: f64, factor: f64) -> f64 {
    (scale * factor).clamp(*SCALES.start(), *SCALES.end())
}

/// Scrolls so that the point at (x, y) of the pane stays under the pointer when the drawing grows by `factor`.
fn keep_point(pane: &HtmlElement, x: f64, y: f64, factor: f64) {
    let (left, top) = (f64::from(pane.scroll_left()), f64::from(pane.scroll_top()));
    let pane = pane.clone();
    // After the drawing has its new size.
    gloo::timers::callback::Timeout::new(0, move || {
        pane.set_scroll_left(((left + x) * factor - x) as i32);
        pane.set_scroll_top(((top + y) * factor - y) as i32);
    })
    .forget();
}

/// Scrolls the pane by one step if `key` is an arrow.
fn pan(place: &yew::NodeRef, key: &str) -> bool {
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

type PointerCallback = Callback<PointerEvent>;

/// Dragging the background scrolls the pane.
fn panning(place: &yew::NodeRef) -> (PointerCallback, PointerCallback, PointerCallback) {
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
    let pane = place.clone();
    let moved = Callback::from(move |event: PointerEvent| {
        if let Some(pane) = pane.cast::<HtmlElement>().filter(|pane| pane.dataset().get("panning").is_some()) {
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
fn walk(
    selected: Option<Selection>,
    view: Option<Rc<message::View>>,
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
        let Some(graph) = view.as_ref().map(|view| &view.graph).filter(|graph| !graph.blocks.is_empty()) else {
            return;
        };
        let at =
            selected.as_ref().and_then(|selection| graph.blocks.iter().position(|block| block.name == selection.block));
        let next = match at {
            None => Some(0),
            Some(at) => neighbour(graph, &placement, at, direction),
        };
        if let Some(next) = next {
            let name = graph.blocks[next].name.clone();
            dom::focus_later(format!("block-{}", graph.blocks[next].id));
            act.emit(Action::Select(Some(Selection { block: name, inst: None, by: Pane::Graph })));
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
    let connected = |index: usize| {
        graph.edges.iter().any(|edge| (edge.from == at && edge.to == index) || (edge.to == at && edge.from == index))
    };
    let distance = |index: usize| {
        let (other_x, other_y) = center(index);
        let along = (other_x - x) * dx + (other_y - y) * dy;
        let aside = ((other_x - x) * dy).abs() + ((other_y - y) * dx).abs();
        let bonus = if dy != 0.0 && connected(index) { 0.2 } else { 1.0 };
        (along > 1.0).then_some((along + 2.0 * aside) * bonus)
    };
    let found =
        (0..graph.blocks.len()).filter(|&index| index != at).filter_map(|index| Some((distance(index)?, index)));
    found.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, index)| index)
}

/// What the layout needs to know.
fn boxes(graph: &message::Graph) -> layout::Graph {
    let nodes = graph.blocks.iter().map(|block| {
        let longest = block.lines.iter().map(|line| line.text.chars().count().min(MOST_CHARACTERS)).max().unwrap_or(0);
        let head = block.name.chars().count() + 8;
        layout::Node {
            id: block.id,
            width: (longest.max(head) as f64 * CHARACTER + 26.0).max(110.0),
            height: HEAD + shown_lines(block) as f64 * LINE + 8.0,
        }
    });
    let edges = graph.edges.iter().map(|edge| layout::Edge {
        from: edge.from,
        to: edge.to,
        kind: match edge.kind {
            message::EdgeKind::Jump => EdgeKind::Jump,
            message::EdgeKind::True => EdgeKind::True,
            message::EdgeKind::False => EdgeKind::False,
            message::EdgeKind::Case(case) => EdgeKind::Case(case),
        },
    });
    layout::Graph { nodes: nodes.collect(), edges: edges.collect() }
}

/// Lines that a block shows, the line that counts the others included.
fn shown_lines(block: &GraphBlock) -> usize {
    block.lines.len().min(MOST_LINES)
}

/// The hatch that says divergent without colour, and the arrow heads.
fn patterns() -> Html {
    let arrow = |id: &'static str, class: &'static str| {
        html! {
            <marker {id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path d="M0 0.5 8 4 0 7.5z" {class} />
            </marker>
        }
    };
    html! {
        <defs>
            <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <rect width="6" height="6" class="hatch-ground" /><rect width="2.4" height="6" class="hatch-line" />
            </pattern>
            { arrow("arrow", "arrow") }
            { arrow("arrow-true", "arrow true") }
            { arrow("arrow-false", "arrow false") }
        </defs>
    }
}

fn edge_line(graph: &message::Graph, route: &layout::Route, selected: Option<&Selection>) -> Html {
    let edge = graph.edges[route.edge];
    let (kind, marker, label) = match edge.kind {
        message::EdgeKind::Jump => ("", "arrow", String::new()),
        message::EdgeKind::True => (" true", "arrow-true", "T".to_owned()),
        message::EdgeKind::False => (" false", "arrow-false", "F".to_owned()),
        message::EdgeKind::Case(case) => ("", "arrow", case.to_string()),
    };
    let touches = selected
        .is_some_and(|selection| [edge.from, edge.to].iter().any(|&block| graph.blocks[block].name == selection.block));
    let class = format!("edge{kind}{}{}", if route.back { " back" } else { "" }, if touches { " near" } else { "" });
    let data = Placement::path_data(&route.points, 7.0);
    let start = route.points[0];
    let key = format!("{}-{}-{:?}", graph.blocks[edge.from].id, graph.blocks[edge.to].id, edge.kind);
    html! {
        <g {key} {class}>
            <path d={data.clone()} style={format!("d:path('{data}')")} marker-end={format!("url(#{marker})")} />
            if !label.is_empty() {
                <text aria-hidden="true" style={format!("transform:translate({:.1}px,{:.1}px)", start.x + 4.0, start.y + 11.0)}>{ label }</text>
            }
        </g>
    }
}

#[expect(clippy::too_many_arguments, reason = "one call, and a struct would only repeat the names")]
fn block_box(
    graph: &message::Graph,
    index: usize,
    block: &GraphBlock,
    rect: layout::Rect,
    (selected, exact): (bool, Option<u32>),
    focusable: bool,
    heat: Option<(&Run, u64)>,
    select: Callback<Option<u32>>,
) -> Html {
    let onclick = select.reform(|_: yew::MouseEvent| None);
    let divergent = block.divergent.is_some();
    let mut class = "block".to_owned();
    let marks = [
        ("selected", selected),
        ("divergent", divergent),
        ("unreachable", !block.reachable),
        ("changed", block.lines.iter().any(|line| line.changed)),
    ];
    for (name, _) in marks.into_iter().filter(|(_, holds)| *holds) {
        class.push(' ');
        class.push_str(name);
    }
    let leads: Vec<&str> =
        graph.edges.iter().filter(|edge| edge.from == index).map(|edge| graph.blocks[edge.to].name.as_str()).collect();
    let mut name = format!("{}, {}", block.name, super::count(block.lines.len(), "instruction"));
    if let Some(cause) = &block.divergent {
        name.push_str(&format!(", divergent: {cause}"));
    }
    if !block.reachable {
        name.push_str(", unreachable");
    }
    if !leads.is_empty() {
        name.push_str(&format!(", leads to {}", leads.join(" and ")));
    }
    let of_block = heat.and_then(|(run, _)| run.blocks.iter().find(|found| found.name == block.name));
    let level = of_block.zip(heat).map_or(0.0, |(of_block, (_, hottest))| {
        heat_level(of_block.counts.issues / (block.lines.len().max(1) as u64), hottest)
    });
    let hidden = block.lines.len() - shown_lines(block);
    let shown = if hidden > 0 { MOST_LINES - 1 } else { block.lines.len() };
    html! {
        <g {class} key={block.id} id={format!("block-{}", block.id)} role="group" aria-current={selected.then_some("true")}
            aria-label={name} tabindex={if focusable { "0" } else { "-1" }} {onclick} data-testid={format!("block-{}", block.name)}
            style={format!("transform:translate({:.1}px,{:.1}px);--heat:{level}", rect.x, rect.y)}>
            if let Some(cause) = &block.divergent { <title>{ format!("Divergent: {cause}") }</title> }
            <rect class="face" width={rect.width.to_string()} height={rect.height.to_string()} rx="7" />
            <rect class="warmth" width={rect.width.to_string()} height={HEAD.to_string()} rx="7" />
            <text class="label" x="11" y="16.5">{ &block.name }</text>
            if let Some(of_block) = of_block.filter(|of_block| of_block.counts.issues > 0) {
                <text class="issues" x={(rect.width - 10.0).to_string()} y="16">{ short_number(of_block.counts.issues) }</text>
            }
            { for block.lines.iter().take(shown).enumerate().map(|(row, line)| {
                let y = HEAD + row as f64 * LINE;
                let ran = heat.and_then(|(run, hottest)| {
                    let at = run.lines.binary_search_by_key(&line.line, |found| found.line).ok()?;
                    Some((run.lines[at].issues, hottest))
                });
                let level = ran.map_or(0.0, |(issues, hottest)| heat_level(issues, hottest));
                let inst = line.inst;
                let onclick = select.reform(move |event: yew::MouseEvent| {
                    event.stop_propagation();
                    Some(inst)
                });
                html! {
                    <g key={row} {onclick}>
                        if level > 0.0 {
                            <rect class="line-heat" x="1" y={format!("{y:.1}")} width={format!("{:.1}", rect.width - 2.0)} height={LINE.to_string()} style={format!("--heat:{level}")} />
                        }
                        if line.changed { <rect class="line-changed" x="1" y={format!("{y:.1}")} width={format!("{:.1}", rect.width - 2.0)} height={LINE.to_string()} /> }
                        if exact == Some(line.inst) { <rect class="line-selected" x="1" y={format!("{y:.1}")} width={format!("{:.1}", rect.width - 2.0)} height={LINE.to_string()} /> }
                        if let Some(cause) = &line.divergent {
                            <rect class="line-divergent" x="3" y={format!("{:.1}", y + 2.0)} width="4" height={format!("{:.1}", LINE - 4.0)}><title>{ cause }</title></rect>
                        }
                        <text x="11" y={format!("{:.1}", y + 12.5)}>{ shortened(&line.text) }</text>
                    </g>
                }
            }) }
            if hidden > 0 {
                <text class="more" x="11" y={format!("{:.1}", HEAD + shown as f64 * LINE + 12.5)}>{ format!("… {} more", block.lines.len() - shown) }</text>
            }
            if divergent {
                <rect class="divergence" x="1" y={format!("{:.1}", rect.height - 6.0)} width={format!("{:.1}", rect.width - 2.0)} height="5" rx="2" />
            }
        </g>
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MOST_CHARACTERS {
        return text.to_owned();
    }
    text.chars().take(MOST_CHARACTERS - 1).chain(['…']).collect()
}
