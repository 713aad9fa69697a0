//! The graph pane: the control-flow graph at the position. Blocks keep their places between positions, and glide where
//! they have to move.

mod clearance;
mod drawing;
mod fit;
mod forest;
mod hand;
mod shows;
mod signs;
mod strands;
mod tokens;
mod warps;
mod way;

use std::rc::Rc;

use gloo::events::{EventListener, EventListenerOptions};
use warpscope_engine::message;
use warpscope_engine::message::inspect::{Anchor, Inspection};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, WheelEvent};
use yew::{Callback, Html, KeyboardEvent, component, html, use_effect_with, use_mut_ref, use_node_ref, use_state};

use super::change::{with_code, without_marks};
use super::icons::Icon;
use super::sight::{GRAIN, Sight, use_sight};
use super::{PaneProps, Shared, icon_button};
use crate::dom;
use crate::layout::{self, Placement, Rect};
use crate::state::{Pane, Selection};

use drawing::{Detail, Drawing, MOST_BLOCKS, boxes};
use fit::Fitted;
use forest::Forest;
use hand::{keep_point, pan, panning, scrolled, walk, zoomed};
use shows::{Shows, arcs, region_frames};
use strands::Strands;
pub use tokens::KINDS;
use tokens::Tokens;
use warps::Warps;
use way::Way;

/// Free space around the drawing.
const MARGIN: f64 = 16.0;
/// The scales that the buttons reach.
const SCALES: std::ops::RangeInclusive<f64> = 0.15..=3.0;
/// Factor that one key press zooms by.
const ZOOM_STEP: f64 = 1.25;
/// The scale below which the blocks of a large graph are outlines.
const SMALLEST_TEXT: f64 = 0.35;

/// How large the graph is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Zoom {
    /// The whole graph in the pane, if that is not too small to tell its blocks apart.
    Fit,
    /// As large as the pane allows, and large enough to be read.
    Readable,
    /// As a person chose.
    At(f64),
}

/// A graph as it was placed last.
struct Placed {
    view: Rc<message::View>,
    boxes: layout::Graph,
    placement: Rc<Placement>,
}

/// The graph pane.
#[component]
pub fn GraphPane(PaneProps { lab, act }: &PaneProps) -> Html {
    let (view, is_old) = lab.drawn();
    let place = use_node_ref();
    let sight = use_sight(&place);
    let zoom = use_state(|| Zoom::Fit);
    let fitted = use_mut_ref(Fitted::default);
    let last = use_mut_ref(|| None::<Placed>);
    // Where the pane is to be scrolled once a zoom is drawn.
    let scroll_to = use_mut_ref(|| None::<(f64, f64)>);
    let room = match lab.inspection() {
        Some(told) => Some(strands::room(told)),
        // Until the paths of the next position are told, blocks stay where they are.
        None => (!lab.has_own_moments()).then_some(0.0),
    };
    let placement = place_blocks(&mut last.borrow_mut(), &view, room);
    let is_large = view.graph.blocks.len() > MOST_BLOCKS;
    let shows = use_state(Shows::default);
    let choose = {
        let shows = shows.clone();
        Callback::from(move |chosen: Shows| shows.set(chosen))
    };
    let shows = *shows;
    let inspected = lab.inspection().filter(|_| !is_old && shows.inspection).cloned().map(Shared);
    let forest = inspected.as_ref().and_then(|told| told.0.graphs.first());
    let forest = forest.map(|graph| if is_large { Forest::of_open(graph) } else { Forest::new(graph) });
    let forest_width = forest.as_ref().map_or(0.0, Forest::width);
    let is_placed = |told: &Inspection| told.timeline.is_some() || has_marks(told);
    let told = inspected.clone().filter(|told| is_placed(&told.0));
    let moment = |told: &Inspection| match &told.timeline {
        Some(_) => lab.moment().map(|(at, _)| at),
        None => Some(0),
    };
    let moving = told.and_then(|told| Some((moment(&told.0)?, told))).map(|(at, told)| (told, at));
    let tokens: Vec<_> = moving.iter().filter(|(told, _)| has_tokens(&told.0)).cloned().collect();
    let way = moving.filter(|(told, _)| has_marks(&told.0) && (!has_tokens(&told.0) || has_result(&told.0)));
    let told = way.as_ref().map(|(told, _)| told.clone());
    let signs = if way.is_some() { way::ROOM } else { 0.0 };
    let size = (placement.width + forest_width + shows.room() + signs + 2.0 * MARGIN, placement.height + 2.0 * MARGIN);
    let pane = (sight.width, sight.height);
    let scale = match *zoom {
        Zoom::At(scale) => scale,
        Zoom::Fit => fitted.borrow_mut().scale(lab.answered.as_ref(), size, pane),
        Zoom::Readable => fit::readable(size, pane),
    };
    {
        let (place, scroll_to) = (place.clone(), scroll_to.clone());
        use_effect_with(scale, move |_| {
            if let Some((pane, (left, top))) = place.cast::<HtmlElement>().zip(scroll_to.take()) {
                pane.set_scroll_left(left as i32);
                pane.set_scroll_top(top as i32);
            }
        });
    }
    let zoom_around = {
        let (place, zoom) = (place.clone(), zoom.clone());
        Rc::new(move |point: (f64, f64), factor: f64| {
            let Some(pane) = place.cast::<HtmlElement>() else { return };
            // From what was asked for last, which may not be drawn yet.
            let now = if let Zoom::At(scale) = *zoom { scale } else { scale };
            let new = zoomed(now, factor);
            let from = scroll_to.take().unwrap_or_else(|| scrolled(&pane));
            scroll_to.replace((new != scale).then(|| keep_point(from, point, new / now)));
            zoom.set(Zoom::At(new));
        })
    };

    {
        // Pinching and Ctrl with the wheel zoom around the pointer; the browser would zoom the page.
        let (place, zoom_around) = (place.clone(), zoom_around.clone());
        use_effect_with(scale, move |_| {
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
                    let corner = pane.get_bounding_client_rect();
                    let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
                    zoom_around((x - corner.left(), y - corner.top()), (-event.delta_y() / 300.0).exp());
                })
            });
            move || drop(listener)
        });
    }
    {
        // A selection that was made elsewhere comes into sight, and the change after a step.
        let bring = {
            let place = place.clone();
            move |selector: &str| {
                if let Some(element) = place.cast::<HtmlElement>()
                    && let Ok(Some(block)) = element.query_selector(selector)
                {
                    dom::reveal(&block);
                }
            }
        };
        let elsewhere = lab.selected.as_ref().is_some_and(|selection| selection.by != Pane::Graph);
        let (step_to, follow) = (bring.clone(), bring.clone());
        use_effect_with(lab.selected.clone(), move |_| {
            if elsewhere {
                bring(".block.selected");
            }
        });
        use_effect_with(view.position, move |_| step_to(".block.current"));
        // The block of the followed warp, and of a tall block its line.
        let place =
            lab.lanes().and_then(|moment| moment.places.iter().find(|place| Some(place.warp) == moment.followed));
        use_effect_with(place.map(|place| (place.block.clone(), place.line)), move |_| {
            follow(".lane-block");
            follow(".lane-row");
        });
    }

    let zoom_by = {
        let place = place.clone();
        Callback::from(move |factor: f64| {
            if let Some(pane) = place.cast::<HtmlElement>() {
                let (width, height) = (f64::from(pane.client_width()), f64::from(pane.client_height()));
                zoom_around((width / 2.0, height / 2.0), factor);
            }
        })
    };
    // Once fitted, the same button makes it readable.
    let is_fitted = *zoom == Zoom::Fit;
    let fit_all = {
        let zoom = zoom.clone();
        Callback::from(move |_| zoom.set(if is_fitted { Zoom::Readable } else { Zoom::Fit }))
    };
    let fit_name = if is_fitted { "Make it readable" } else { "Fit" };
    // Whoever has moved the drawing by hand has found a place: no edit fits it anew.
    let hold = {
        let (place, zoom) = (place.clone(), zoom.clone());
        Callback::from(move |()| {
            let can_move = |pane: HtmlElement| {
                pane.scroll_width() > pane.client_width() || pane.scroll_height() > pane.client_height()
            };
            if matches!(*zoom, Zoom::Fit | Zoom::Readable) && place.cast::<HtmlElement>().is_some_and(can_move) {
                zoom.set(Zoom::At(scale));
            }
        })
    };
    let (onpointerdown, onpointermove, onpointerup) = panning(&place, &hold);
    let onkeydown = {
        let walk = walk(lab.now.clone(), view.clone(), placement.clone(), act.clone());
        let (place, zoom_by) = (place.clone(), zoom_by.clone());
        Callback::from(move |event: KeyboardEvent| {
            let factor = match event.key().as_str() {
                "+" | "=" => ZOOM_STEP,
                "-" => 1.0 / ZOOM_STEP,
                _ if event.shift_key() && pan(&place, &event.key()) => 1.0,
                _ => return walk.emit(event),
            };
            event.prevent_default();
            if factor != 1.0 && !event.ctrl_key() && !event.meta_key() {
                zoom_by.emit(factor);
            }
        })
    };
    let whole = |units: f64| (units * scale).floor();
    let marked = lab.marked().filter(|_| !is_old).cloned().map(Shared);
    let part = is_large.then(|| part_around(sight, scale));
    html! {
        <section class={if is_old { "pane graph old" } else { "pane graph" }} aria-labelledby="graph-title" data-testid="graph-pane">
            <div class="pane-head">
                <h2 id="graph-title">{ "Graph" }</h2>
                if is_old {
                    <span class="chip" role="status">{ "last valid version" }</span>
                } else {
                    <span class="legend" aria-hidden="true"><span class="swatch divergent" />{ "divergent" }</span>
                }
                { shows::menu(shows, &choose) }
                <span class="space" />
                <span class="note scale">{ format!("{:.0} %", scale * 100.0) }</span>
                { icon_button(Icon::Minus, "Zoom out", scale <= *SCALES.start(), zoom_by.reform(|_| 1.0 / ZOOM_STEP)) }
                { icon_button(Icon::Add, "Zoom in", scale >= *SCALES.end(), zoom_by.reform(|_| ZOOM_STEP)) }
                <button type="button" class="icon-button" id="graph-fit" aria-label="Fit" title={fit_name} aria-pressed={is_fitted.to_string()}
                    onclick={fit_all}>{ Icon::Fit.html() }</button>
            </div>
            <div class="pane-body scroll canvas" id="graph-canvas" ref={place} tabindex="0" role="region" data-testid="graph"
                aria-label="Control-flow graph; arrow keys walk along its edges, with Shift they pan; plus and minus zoom"
                {onpointerdown} {onpointermove} onpointerup={onpointerup.clone()} onpointercancel={onpointerup} {onkeydown}>
                <div class="drawing">
                    // Rounded down: half a pixel too much would bring scroll bars, which take room, which scales.
                    // The part that is shown is rounded with it, so that the scale is exact over the whole length.
                    <svg role="group" aria-label={format!("{} blocks", view.graph.blocks.len())} class={is_large.then_some("large")}
                        width={format!("{:.0}", whole(size.0))} height={format!("{:.0}", whole(size.1))}
                        viewBox={format!("{:.1} {} {:.4} {:.4}", -MARGIN - forest_width, -MARGIN, whole(size.0) / scale, whole(size.1) / scale)}>
                        { for forest.iter().map(|forest| forest.draw(&view.graph, &placement, act)) }
                        if shows.region { { region_frames(&view.graph, &placement, part) } }
                        if let Some(told) = &told {
                            if let Some(moment) = way.as_ref().map(|(_, moment)| *moment) {
                                <Way view={Shared(view.clone())} placement={Shared(placement.clone())} told={told.clone()} {moment} {part} is_ground=true />
                            }
                            <Strands view={Shared(view.clone())} placement={Shared(placement.clone())} told={told.clone()} chosen={lab.chosen_strand()} {part} />
                        }
                        <Drawing view={Shared(view.clone())} placement={Shared(placement.clone())} selected={lab.selected.clone()}
                            {part}
                            detail={if is_large && scale < SMALLEST_TEXT { Detail::Outline } else { Detail::Text }}
                            // Two kinds of colour on one line could not be told apart.
                            runs={lab.run_at_position().filter(|_| marked.is_none() && told.is_none()).and_then(|_| lab.runs.clone()).map(Shared)}
                            marked={marked.clone()} act={act.clone()} />
                        if let Some((told, moment)) = way {
                            <Way view={Shared(view.clone())} placement={Shared(placement.clone())} {told} {moment} {part} is_ground=false />
                        }
                        if let Some(moment) = lab.lanes().and(lab.moment.clone()) {
                            <Warps view={Shared(view.clone())} placement={Shared(placement.clone())} moment={Shared(moment)} after={lab.watched.after} />
                        }
                        if shows.dependence { { arcs(&view.graph, &placement, part, lab.selected.as_ref()) } }
                    </svg>
                    { for tokens.into_iter().map(|(told, moment)| html! {
                        <Tokens view={Shared(view.clone())} placement={Shared(placement.clone())} {told} {moment} {scale}
                            origin={(MARGIN + forest_width, MARGIN)} pace={lab.pace} />
                    }) }
                </div>
                if view.graph.blocks.is_empty() { <p class="empty">{ "There is no kernel to draw yet." }</p> }
            </div>
            { cause(&view.graph, lab.selected.as_ref()) }
        </section>
    }
}

fn has_tokens(told: &Inspection) -> bool {
    told.timeline.as_ref().is_some_and(|timeline| !timeline.kinds.is_empty())
}

/// Whether marks or strands are of the whole inspection, not only of moments.
fn has_result(told: &Inspection) -> bool {
    !told.marks.is_empty() || !told.strands.is_empty()
}

/// Whether there are strands, marks of places, or moments that mark what they are about.
fn has_marks(told: &Inspection) -> bool {
    let moments = told.timeline.iter().flat_map(|timeline| timeline.start.iter().chain(&timeline.moments));
    let has_places = || told.marks.iter().any(|mark| !matches!(mark.anchor, Anchor::Inst(_) | Anchor::Before(_)));
    let has_moments = moments.into_iter().any(|moment| !moment.marks.is_empty());
    !told.strands.is_empty() || has_moments || told.timeline.is_none() && has_places()
}

/// Places of the blocks: as before if nothing has another size or leads elsewhere, otherwise as near to it as possible.
/// Without a `room` for what runs along the lines, they keep what they have; less room than before moves no block.
fn place_blocks(last: &mut Option<Placed>, view: &Rc<message::View>, room: Option<f64>) -> Rc<Placement> {
    let had = last.as_ref().filter(|placed| placed.view.kernel == view.kernel).map(|placed| placed.boxes.room);
    let room = match (room, had) {
        (Some(room), Some(had)) if room > 0.0 => room.max(had),
        (room, had) => room.or(had).unwrap_or(0.0),
    };
    if let Some(placed) = last.as_ref().filter(|placed| Rc::ptr_eq(&placed.view, view) && placed.boxes.room == room) {
        return placed.placement.clone();
    }
    let boxes = boxes(&view.graph, room);
    let before = last.take().filter(|placed| placed.view.kernel == view.kernel);
    let placement = match before {
        Some(placed) if placed.boxes == boxes => placed.placement,
        before => Rc::new(layout::lay_out(&boxes, before.as_ref().map(|placed| &*placed.placement))),
    };
    *last = Some(Placed { view: view.clone(), boxes, placement: placement.clone() });
    placement
}

/// Part in sight, with as much around it as may come into sight before it is drawn anew, in units of the drawing.
fn part_around(sight: Sight, scale: f64) -> Rect {
    let unit = |pixels: f64| pixels / scale;
    Rect {
        x: unit(sight.left - GRAIN) - MARGIN,
        y: unit(sight.top - GRAIN) - MARGIN,
        width: unit(sight.width + 3.0 * GRAIN),
        height: unit(sight.height + 3.0 * GRAIN),
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
    // The strip is always there: a graph that changed its size with every selection would be hard to follow.
    let Some(cause) = cause.filter(|cause| !cause.is_empty()) else {
        let is_drawn = |name: &str| graph.blocks.iter().any(|block| block.name == name);
        let hint = match selected {
            Some(selection) if is_drawn(&selection.block) => "Uniform: all lanes of a warp agree here.",
            _ => "Select a line to see whether its lanes diverge, and why.",
        };
        return html! { <div class="cause none" role="status" data-testid="cause" title={hint}>{ hint }</div> };
    };
    let (first, rest) = cause.split_once(". ").unwrap_or((&cause, ""));
    let swatch = html! { <span class="swatch divergent" aria-hidden="true" /> };
    html! {
        <div class="cause" role="status" data-testid="cause">
            // The chain may be long; its first link says the most.
            if !rest.is_empty() {
                <details><summary title={without_marks(first)}>{ swatch }{ with_code(first) }</summary><p>{ with_code(first) }{ ". " }{ with_code(rest) }</p></details>
            } else {
                <p title={without_marks(first)}>{ swatch }{ with_code(first) }</p>
            }
        </div>
    }
}
