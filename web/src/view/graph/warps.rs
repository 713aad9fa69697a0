//! Warps on the graph while lanes run: a dot for each at its next instruction, beside the block, and the followed one's
//! block and line marked.

use std::collections::BTreeMap;

use warpscope_engine::message::{self, Moment, WarpPlace};
use yew::{Html, component, html};

use super::super::Shared;
use super::drawing::{LINE, row_in_block};
use super::strands::unit;
use crate::layout::Placement;

/// Distance of the first dot from its block, and of a dot from the one before it.
const FIRST: f64 = 8.0;
const STEP: f64 = 9.0;
/// Dots beside a line; more are counted.
const MOST_DOTS: usize = 5;
/// Distance of the mark around a block from its border.
const RING: f64 = 4.0;

/// Properties of the warps.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// The graph.
    pub view: Shared<message::View>,
    /// Placement of its blocks.
    pub placement: Shared<Placement>,
    /// State of the lanes.
    pub moment: Shared<Result<Box<Moment>, String>>,
    /// Whether the lanes are those of the program at the position, rather than of the source.
    pub after: bool,
}

/// A place in the graph: a block, by its index, and a row of it.
type Spot = (usize, usize);

/// The warps.
#[component]
pub fn Warps(Props { view, placement, moment, after }: &Props) -> Html {
    let Ok(moment) = &*moment.0 else { return Html::default() };
    let (view, placement) = (&view.0, &placement.0);
    let spots = spots(view, *after);
    let mut beside: BTreeMap<Spot, usize> = BTreeMap::new();
    // The followed warp is nearest to its line.
    let is_followed = |place: &&WarpPlace| Some(place.warp) == moment.followed;
    let followed = moment.places.iter().find(is_followed);
    let others = moment.places.iter().filter(|place| !is_followed(place));
    let mut placed: Vec<(&WarpPlace, Spot, usize)> = followed
        .into_iter()
        .chain(others)
        .filter_map(|place| {
            let spot = spot(view, &spots, place)?;
            let before = beside.entry(spot).or_default();
            *before += 1;
            Some((place, spot, *before - 1))
        })
        .collect();
    // A dot glides only if it keeps its place in the document.
    placed.sort_by_key(|(place, ..)| place.warp);
    let corner = |(block, row): Spot| {
        let rect = placement.blocks[&view.graph.blocks[block].id];
        (rect, rect.y + row_in_block(&view.graph.blocks[block], row))
    };
    let dot_at = |spot: Spot, index: usize| {
        let (rect, top) = corner(spot);
        (rect.x + rect.width + FIRST + index as f64 * STEP, top + LINE / 2.0)
    };
    html! {
        <g class="lanes-here" aria-hidden="true">
            if let Some((_, spot, _)) = placed.iter().find(|(place, ..)| is_followed(place)) {
                { mark(corner(*spot), *spot) }
            }
            <g>
                { for placed.iter().filter(|(.., index)| *index < MOST_DOTS).map(|(place, spot, index)| {
                    let (x, y) = dot_at(*spot, *index);
                    let state = if is_followed(place) { "warp-dot followed" } else { "warp-dot" };
                    let class = if moment.next == Some(place.warp) { format!("{state} next") } else { state.to_owned() };
                    html! {
                        <circle key={place.warp} {class} r={if is_followed(place) { "4.5" } else { "3.5" }} style={format!("transform:translate({x:.1}px,{y:.1}px)")}
                            data-testid={format!("warp-dot-{}", place.warp)} data-block={view.graph.blocks[spot.0].name.clone()} />
                    }
                }) }
            </g>
            { for beside.iter().filter(|(_, number)| **number > MOST_DOTS).map(|(spot, number)| {
                let (x, y) = dot_at(*spot, MOST_DOTS);
                html! { <text class="more-warps" x={unit(x - 3.0)} y={unit(y + 4.0)}>{ format!("+{}", number - MOST_DOTS) }</text> }
            }) }
        </g>
    }
}

/// Marks of the followed warp: its block, and the line that it runs next. New elements for each place, so that what
/// scrolls to them finds them there.
fn mark((rect, top): (crate::layout::Rect, f64), (block, row): Spot) -> Html {
    html! {
        <>
            <rect key={format!("block-{block}")} class="lane-block" x={unit(rect.x - RING)} y={unit(rect.y - RING)} rx="10"
                width={unit(rect.width + 2.0 * RING)} height={unit(rect.height + 2.0 * RING)} />
            <rect key={format!("row-{block}-{row}")} class="lane-row" x={unit(rect.x + 1.0)} y={unit(top)} width={unit(rect.width - 2.0)} height={LINE.to_string()} />
        </>
    }
}

/// Places of the lines of a program, from 1, in the graph.
fn spots(view: &message::View, after: bool) -> BTreeMap<usize, Spot> {
    let lines = view
        .graph
        .blocks
        .iter()
        .enumerate()
        .flat_map(|(block, of)| of.lines.iter().enumerate().map(move |(row, line)| ((block, row), line)));
    if after {
        return lines.map(|(spot, line)| (line.line, spot)).collect();
    }
    let by_inst: BTreeMap<u32, Spot> = lines.map(|(spot, line)| (line.inst, spot)).collect();
    let of_source = (1..).zip(&view.source_insts);
    of_source.filter_map(|(line, inst)| Some((line, *by_inst.get(&(*inst)?)?))).collect()
}

/// Place of a warp in the graph: its line, or the head of its block. None in functions and removed blocks.
fn spot(view: &message::View, spots: &BTreeMap<usize, Spot>, place: &WarpPlace) -> Option<Spot> {
    let of_line = spots.get(&place.line).filter(|_| place.line > 0).copied();
    of_line.or_else(|| Some((view.graph.blocks.iter().position(|block| block.name == place.block)?, 0)))
}
