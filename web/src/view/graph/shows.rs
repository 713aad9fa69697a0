//! Layers of the graph besides blocks and edges: the inspection of a pass, the region in which an insertion adds no
//! divergence (CDRND), and which branch decides whether a block runs.

use warpscope_engine::message::{Graph, GraphBlock};
use wasm_bindgen::JsCast;
use web_sys::{Element, FocusEvent, HtmlElement, Node};
use yew::{Callback, Event, Html, KeyboardEvent, html};

use super::super::icons::Icon;
use super::drawing::MOST_BLOCKS;
use crate::dom;
use crate::layout::{Placement, Rect};
use crate::state::Selection;

/// How far the frame of a block of the region is from the block.
const FRAME: f64 = 4.0;
/// How far an arc goes to the side at least, and for each unit between its ends.
const ARC: (f64, f64) = (20.0, 0.12);
/// The farthest that an arc goes to the side.
const WIDEST_ARC: f64 = 70.0;

/// Free space between the menu and the right side of its pane, in pixels.
const EDGE: f64 = 8.0;

/// Overlays that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shows {
    /// The tokens, paths, marks and small graphs of the inspection.
    pub inspection: bool,
    /// The region.
    pub region: bool,
    /// Shows control dependence.
    pub dependence: bool,
}

impl Default for Shows {
    fn default() -> Self {
        Shows { inspection: true, region: false, dependence: false }
    }
}

impl Shows {
    /// Room for arcs at the right side of the drawing.
    pub fn room(self) -> f64 {
        if self.dependence { WIDEST_ARC * 0.75 } else { 0.0 }
    }
}

/// The choice.
pub fn menu(shows: Shows, choose: &Callback<Shows>) -> Html {
    let entry =
        |name: &'static str, about: &'static str, test: &'static str, on: bool, with: fn(Shows, bool) -> Shows| {
            let onchange = choose.reform(move |event: Event| with(shows, dom::is_checked(&event)));
            html! {
                <label title={about}>
                    <input type="checkbox" checked={on} {onchange} data-testid={test} />
                    <span>{ name }<small>{ about }</small></span>
                </label>
            }
        };
    html! {
        <details class="shows" data-testid="shows" ontoggle={place_menu} onfocusout={close_behind} onkeydown={close_by_key}>
            <summary class="icon-button" aria-label="Overlays of the graph" title="Overlays of the graph">{ Icon::Layers.html() }</summary>
            <div class="menu">
                { entry("Inspection", "questions, paths and marks of the pass", "show-inspection", shows.inspection, |shows, inspection| Shows { inspection, ..shows }) }
                { entry("CDRND", "framed: no divergent branch decides whether these blocks run", "show-region", shows.region, |shows, region| Shows { region, ..shows }) }
                { entry("Control dependence", "arcs from a branch to the blocks that it decides about", "show-dependence", shows.dependence, |shows, dependence| Shows { dependence, ..shows }) }
            </div>
        </details>
    }
}

/// The menu opens under its button, and no further to the right than its pane goes.
fn place_menu(event: Event) {
    let Some(menu) = menu_of(&event) else { return };
    let pane = menu.closest(".pane").ok().flatten();
    let entries = menu.query_selector(".menu").ok().flatten();
    if let Some((pane, entries)) = pane.zip(entries) {
        let (button, pane) = (menu.get_bounding_client_rect(), pane.get_bounding_client_rect());
        let most = pane.right() - EDGE - entries.get_bounding_client_rect().width() - button.left();
        // Setting an attribute of this name cannot fail.
        let _ = entries.set_attribute("style", &format!("left:{:.0}px", most.min(0.0)));
    }
}

/// The menu closes when the focus leaves it.
fn close_behind(event: FocusEvent) {
    let Some(menu) = menu_of(&event) else { return };
    let goes_to = event.related_target().and_then(|target| target.dyn_into::<Node>().ok());
    if goes_to.is_some_and(|target| !menu.contains(Some(&target))) {
        // What is not open stays closed.
        let _ = menu.remove_attribute("open");
    }
}

fn close_by_key(event: KeyboardEvent) {
    let Some(menu) = menu_of(&event).filter(|menu| event.key() == "Escape" && menu.has_attribute("open")) else {
        return;
    };
    event.stop_propagation();
    let _ = menu.remove_attribute("open");
    if let Ok(Some(summary)) = menu.query_selector("summary") {
        // A summary that cannot take the focus leaves it where it is.
        let _ = summary.unchecked_ref::<HtmlElement>().focus();
    }
}

fn menu_of(event: &web_sys::Event) -> Option<Element> {
    event.target()?.dyn_into::<Element>().ok()?.closest("details").ok()?
}

/// A frame around each block of the region.
pub fn region_frames(graph: &Graph, placement: &Placement, part: Option<Rect>) -> Html {
    let frame = |block: &GraphBlock| {
        let rect = placement.blocks.get(&block.id).filter(|rect| part.is_none_or(|part| part.overlaps(rect)))?;
        let title = match block.kept_out_by.and_then(|branch| graph.blocks.get(branch)) {
            Some(branch) => {
                format!("Not in CDRND: {} depends on the divergent branch of {}", block.name, branch.name)
            }
            None => format!("{} is in CDRND", block.name),
        };
        let is_in = block.reachable && block.kept_out_by.is_none();
        Some(html! {
            <rect key={block.id} class={if is_in { "region in" } else { "region out" }} rx="10"
                x={format!("{:.1}", rect.x - FRAME)} y={format!("{:.1}", rect.y - FRAME)}
                width={format!("{:.1}", rect.width + 2.0 * FRAME)} height={format!("{:.1}", rect.height + 2.0 * FRAME)}>
                <title>{ title }</title>
            </rect>
        })
    };
    let members: Vec<&str> = graph
        .blocks
        .iter()
        .filter(|block| block.reachable && block.kept_out_by.is_none())
        .map(|block| block.name.as_str())
        .collect();
    html! {
        <g role="img" aria-label={format!("CDRND: {}", members.join(", "))} data-testid="region">{ for graph.blocks.iter().filter_map(frame) }</g>
    }
}

/// An arc from each deciding block to those that it decides about; of a large graph only those of the selected block.
pub fn arcs(graph: &Graph, placement: &Placement, part: Option<Rect>, selected: Option<&Selection>) -> Html {
    let is_selected = |block: &GraphBlock| selected.is_some_and(|selection| selection.block == block.name);
    let is_large = graph.blocks.len() > MOST_BLOCKS;
    let arc = |branch: usize, block: &GraphBlock| {
        let source = graph.blocks.get(branch)?;
        let is_near = is_selected(source) || is_selected(block);
        let (from, to) = (placement.blocks.get(&source.id)?, placement.blocks.get(&block.id)?);
        if is_large && !is_near || !part.is_none_or(|part| part.overlaps(from) || part.overlaps(to)) {
            return None;
        }
        let class = format!(
            "depends{}{}",
            if source.divergent.is_some() { " divergent" } else { "" },
            if is_near { " near" } else { "" }
        );
        Some(html! {
            <path key={format!("{}-{}", source.id, block.id)} {class} d={curve(from, to)} marker-end="url(#arrow-depends)">
                <title>{ format!("{} decides whether {} runs", source.name, block.name) }</title>
            </path>
        })
    };
    let arcs = graph.blocks.iter().flat_map(|block| block.depends_on.iter().map(move |&branch| (branch, block)));
    let told: Vec<String> = graph
        .blocks
        .iter()
        .filter(|block| !block.depends_on.is_empty())
        .map(|block| {
            let branches: Vec<&str> =
                block.depends_on.iter().filter_map(|&branch| Some(graph.blocks.get(branch)?.name.as_str())).collect();
            format!("{} on {}", block.name, branches.join(" and "))
        })
        .collect();
    html! {
        <g class="dependence" role="img" aria-label={format!("Control dependence: {}", told.join(", "))} data-testid="dependence">
            <defs>
                <marker id="arrow-depends" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">
                    <path d="M0 0.5 8 4 0 7.5z" class="arrow depends-arrow" />
                </marker>
            </defs>
            { for arcs.filter_map(|(branch, block)| arc(branch, block)) }
        </g>
    }
}

/// From the right side of one block to that of another, around what lies between.
fn curve(from: &Rect, to: &Rect) -> String {
    let (x1, y1) = (from.x + from.width, from.y + from.height * 0.7);
    let (x2, y2) = (to.x + to.width, to.y + to.height * 0.35);
    let side = (ARC.0 + (y2 - y1).abs() * ARC.1).min(WIDEST_ARC);
    let far = x1.max(x2) + side;
    format!("M{x1:.1} {y1:.1}C{far:.1} {y1:.1} {far:.1} {y2:.1} {x2:.1} {y2:.1}")
}
