//! The executed paths as strands along the edges, side by side, as thick as they are frequent; and the way of a statement: what
//! it has come through so far, where it is inserted, and where it goes away.

use std::collections::BTreeMap;

use warpscope_engine::message::{Graph, GraphBlock, Mark, Sinking, Spot, Surveyed, View};
use yew::{Html, component, html, use_mut_ref};

use super::super::paths::STRANDS;
use super::super::{Shared, shortened};
use super::MARGIN;
use super::drawing::{NAME, name_in_block, row_in_block};
use crate::layout::{Placement, Point, Rect, Route};

/// Room for what stands to the right of the blocks.
pub const ROOM: f64 = 36.0;
/// Width of a strand that is executed seldom, and what is shared out among all of them.
const THIN: f64 = 1.6;
const THICK: f64 = 11.0;
/// Free space between two strands.
const GAP: f64 = 0.8;
/// Free space between two bundles of strands.
const BETWEEN: f64 = 2.0;
/// How much wider the strand is that stands out.
const CHOSEN: f64 = 2.5;
/// Width of a character of a label.
const CHARACTER: f64 = 7.3;
/// Characters of a label beside a block.
const MOST_CHARACTERS: usize = 26;

/// What there is to draw.
#[derive(PartialEq, yew::Properties)]
pub struct StrandsProps {
    /// Whose graph it is.
    pub view: Shared<View>,
    /// Where everything stands.
    pub placement: Shared<Placement>,
    /// The paths.
    pub surveyed: Shared<Surveyed>,
    /// The path that stands out.
    pub chosen: Option<usize>,
}

/// The strands.
#[component]
pub fn Strands(StrandsProps { view, placement, surveyed, chosen }: &StrandsProps) -> Html {
    let (graph, placement, told) = (&view.0.graph, &placement.0, &surveyed.0);
    let shown = |place: usize| place < STRANDS || *chosen == Some(place);
    // For each route the strands along it.
    let mut along: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for (place, path) in told.paths.iter().enumerate().filter(|&(place, path)| shown(place) && path.frequency > 0) {
        let more = if *chosen == Some(place) { CHOSEN } else { 0.0 };
        let width = THIN + THICK * path.share + more;
        for ends in path.blocks.windows(2) {
            if let Some(route) = route_of(graph, placement, ends[0], ends[1]) {
                along.entry(route).or_default().push((place, width));
            }
        }
    }
    let strand = |route: &Route, place: usize, width: f64, offset: f64| {
        let path = &told.paths[place];
        let data = Placement::path_data(&beside(&route.points, offset), 7.0);
        let look = if place < STRANDS { format!("s{place}") } else { "other".to_owned() };
        let state = match chosen {
            Some(chosen) if *chosen == place => " chosen",
            Some(_) => " faint",
            None => "",
        };
        html! {
            <path key={format!("{}-{place}", route.edge)} class={format!("strand {look}{state}")} d={data} stroke-width={format!("{width:.1}")}>
                <title>{ format!("P{}, {} executions: {}", place + 1, path.frequency, path.names.join(" ")) }</title>
            </path>
        }
    };
    // Lines that merge are one bundle, in which each has its side.
    let mut bundles: BTreeMap<(i64, i64), Vec<usize>> = BTreeMap::new();
    for &route in along.keys() {
        bundles.entry(end_of(&placement.routes[route])).or_default().push(route);
    }
    let bundles = bundles.values().map(|routes| {
        let strands = || routes.iter().flat_map(|route| along[route].iter().map(move |strand| (*route, *strand)));
        let all: f64 = strands().map(|(_, (_, width))| width + GAP).sum::<f64>() - GAP;
        let mut left = -all / 2.0;
        let drawn: Vec<Html> = strands()
            .map(|(route, (place, width))| {
                let offset = left + width / 2.0;
                left += width + GAP;
                strand(&placement.routes[route], place, width, offset)
            })
            .collect();
        html! { <>{ for drawn }</> }
    });
    let on_path = chosen.and_then(|chosen| told.paths.get(chosen)).map_or(&[][..], |path| &path.blocks);
    let frames = on_path.iter().filter_map(|id| placement.blocks.get(id)).map(|rect| html! {
        <rect class="on-path" rx="10" x={unit(rect.x - 4.0)} y={unit(rect.y - 4.0)} width={unit(rect.width + 8.0)} height={unit(rect.height + 8.0)} />
    });
    let drawn = told.paths.len().min(STRANDS);
    html! {
        <g class="strands" role="img" aria-label={format!("The {drawn} most frequent paths as strands along the edges")} data-testid="strands">
            { for frames }
            { for bundles }
        </g>
    }
}

/// How wide the strands along an edge may get, whatever frequencies somebody gives to the paths.
pub fn room(told: &Surveyed) -> f64 {
    let mut along: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for ends in told.paths.iter().take(STRANDS).flat_map(|path| path.blocks.windows(2)) {
        *along.entry((ends[0], ends[1])).or_default() += 1;
    }
    along.values().max().map_or(0.0, |&most| THICK + most as f64 * (THIN + GAP) + BETWEEN)
}

/// Where a line ends, to be compared.
fn end_of(route: &Route) -> (i64, i64) {
    route.points.last().map_or((0, 0), |point| (point.x.round() as i64, point.y.round() as i64))
}

/// What there is to draw of a way.
#[derive(PartialEq, yew::Properties)]
pub struct WayProps {
    /// Whose graph it is.
    pub view: Shared<View>,
    /// Where everything stands.
    pub placement: Shared<Placement>,
    /// The statements and their ways.
    pub surveyed: Shared<Surveyed>,
    /// The moment that is shown.
    pub moment: usize,
    /// The edges, which lie below the strands; otherwise what lies above the blocks.
    pub is_ground: bool,
}

/// What is at a place.
#[derive(Clone, Default)]
struct Sign {
    label: Option<String>,
    is_dropped: bool,
    predicates: Vec<bool>,
    is_new: bool,
}

/// The way of a statement up to a moment.
#[component]
pub fn Way(WayProps { view, placement, surveyed, moment, is_ground }: &WayProps) -> Html {
    // Whether the shown moment followed the one before it, so that what happened is seen to happen.
    let course = use_mut_ref(|| (usize::MAX, false));
    let (last, was_step) = *course.borrow();
    let is_step = if last == *moment { was_step } else { last.wrapping_add(1) == *moment };
    *course.borrow_mut() = (*moment, is_step);
    let Some(sinking) = &surveyed.0.sinking else { return Html::default() };
    let map = Map { graph: &view.0.graph, placement: &placement.0 };
    let marks = sinking.moments.iter().enumerate().take(moment + 1);
    let marks = marks.flat_map(|(at, moment)| moment.marks.iter().map(move |mark| (at, mark)));
    let wet = marks.filter(|(_, mark)| matches!(mark, Mark::Way { .. }) == *is_ground);
    let signs = if *is_ground { BTreeMap::new() } else { signs(sinking, *moment) };
    html! {
        <g class={if is_step { "way" } else { "way still" }} aria-hidden="true" data-testid={if *is_ground { "way-ground" } else { "way" }}>
            { for wet.filter_map(|(at, mark)| map.wet(mark, at == *moment)) }
            { for signs.iter().filter_map(|(spot, sign)| map.sign(*spot, sign)) }
        </g>
    }
}

/// What stands where after a moment.
fn signs(sinking: &Sinking, moment: usize) -> BTreeMap<Spot, Sign> {
    let mut signs: BTreeMap<Spot, Sign> = BTreeMap::new();
    for (at, happened) in sinking.moments.iter().take(moment + 1).enumerate() {
        for mark in &happened.marks {
            let (spot, change): (Spot, &dyn Fn(&mut Sign)) = match mark {
                Mark::Lands(spot, label) => (*spot, &|sign| sign.label = Some(label.clone())),
                Mark::Dropped(spot) => (*spot, &|sign| sign.is_dropped = true),
                Mark::Predicate(spot, is_true) => (*spot, &|sign| sign.predicates.push(*is_true)),
                Mark::Flood { .. } | Mark::Way { .. } | Mark::Stops(_) | Mark::Rests(_) => continue,
            };
            let sign = signs.entry(spot).or_default();
            change(sign);
            sign.is_new = at == moment;
        }
    }
    signs
}

/// Where things are.
struct Map<'a> {
    graph: &'a Graph,
    placement: &'a Placement,
}

impl Map<'_> {
    fn block(&self, id: u32) -> Option<(&GraphBlock, Rect)> {
        let block = self.graph.blocks.iter().find(|block| block.id == id)?;
        Some((block, *self.placement.blocks.get(&id)?))
    }

    /// The upper border of an instruction's line, from the block's.
    fn row(&self, block: &GraphBlock, inst: u32) -> Option<f64> {
        let row = block.lines.iter().position(|line| line.inst == inst)?;
        Some(row_in_block(block, row))
    }

    /// What a statement has come through.
    fn wet(&self, mark: &Mark, is_new: bool) -> Option<Html> {
        let class = |kind: &str, is_partial: bool| {
            format!("{kind}{}{}", if is_partial { " partial" } else { "" }, if is_new { " new" } else { "" })
        };
        match *mark {
            Mark::Flood { block, from, to, is_partial } => {
                let (block, rect) = self.block(block)?;
                let below =
                    |inst: u32| Some(row_in_block(block, block.lines.iter().position(|line| line.inst == inst)? + 1));
                let top = from.and_then(below).unwrap_or(0.0);
                let bottom = to.and_then(|to| self.row(block, to)).unwrap_or(rect.height);
                Some(html! {
                    <rect class={class("flood", is_partial)} x={unit(rect.x)} y={unit(rect.y + top)} width={unit(rect.width)}
                        height={unit((bottom - top).max(2.0))} />
                })
            }
            Mark::Way { from, to, is_partial } => {
                let route = &self.placement.routes[route_of(self.graph, self.placement, from, to)?];
                let data = Placement::path_data(&route.points, 7.0);
                Some(html! { <path class={class("wet", is_partial)} d={data} pathLength="1" /> })
            }
            Mark::Stops(block) => {
                let (_, rect) = self.block(block)?;
                let (left, right, y) = (unit(rect.x - 4.0), unit(rect.x + rect.width + 4.0), unit(rect.y - 4.0));
                Some(html! { <line class={class("stop", false)} x1={left} x2={right} y1={y.clone()} y2={y} /> })
            }
            Mark::Rests(block) => {
                let (_, rect) = self.block(block)?;
                let (left, right) = (unit(rect.x - 4.0), unit(rect.x + rect.width + 4.0));
                let y = unit(rect.y + rect.height + 4.0);
                Some(html! { <line class={class("stop", false)} x1={left} x2={right} y1={y.clone()} y2={y} /> })
            }
            Mark::Lands(..) | Mark::Dropped(_) | Mark::Predicate(..) => None,
        }
    }

    /// What is put at a place.
    fn sign(&self, spot: Spot, sign: &Sign) -> Option<Html> {
        let (left, right, y) = match spot {
            Spot::Before(inst) => {
                let block = self.graph.blocks.iter().find(|block| block.lines.iter().any(|line| line.inst == inst))?;
                let rect = self.placement.blocks.get(&block.id)?;
                (rect.x, rect.x + rect.width, rect.y + self.row(block, inst)?)
            }
            Spot::Start(block) => {
                let (block, rect) = self.block(block)?;
                (rect.x, rect.x + rect.width, rect.y + row_in_block(block, 0))
            }
            Spot::End(block) => {
                let (block, rect) = self.block(block)?;
                (rect.x, rect.x + rect.width, rect.y + row_in_block(block, block.lines.len().saturating_sub(1)))
            }
            Spot::Edge(from, to) => {
                let points = &self.placement.routes[route_of(self.graph, self.placement, from, to)?].points;
                let middle = points.len() / 2;
                let (a, b) = (points[middle.checked_sub(1)?], *points.get(middle)?);
                let x = (a.x + b.x) / 2.0;
                (x - 7.0, x + 7.0, (a.y + b.y) / 2.0)
            }
        };
        let predicates = sign.predicates.iter().map(|&is_true| if is_true { "q = true" } else { "q = false" });
        let gone = if sign.is_dropped { " ×" } else { "" };
        let label = sign.label.as_ref().map(|label| shortened(label, MOST_CHARACTERS) + gone);
        let class =
            format!("sign{}{}", if sign.is_dropped { " dropped" } else { "" }, if sign.is_new { " new" } else { "" });
        let texts: Vec<(&str, String)> = (label.into_iter().map(|label| ("", label)))
            .chain(predicates.map(|text| ("sets", text.to_owned())))
            .collect();
        let side = self.side((left, right, y), &texts);
        let (x, anchor) = match side {
            Side::Right => (right + 10.0, "start"),
            Side::Left => (left - 10.0, "end"),
            Side::Named { right, .. } => (right, "end"),
        };
        let line = |place: usize| match side {
            Side::Named { y, .. } => y - 14.0 * (texts.len() - 1 - place) as f64,
            Side::Right | Side::Left => y + 4.0 + 14.0 * place as f64,
        };
        Some(html! {
            <g {class} key={format!("{spot:?}")}>
                <line x1={unit(left - 7.0)} x2={unit(right + 7.0)} y1={unit(y)} y2={unit(y)} />
                { for texts.iter().enumerate().map(|(place, (class, text))| html! {
                    <text class={*class} x={unit(x)} y={unit(line(place))} text-anchor={anchor}>{ text }</text>
                }) }
            </g>
        })
    }

    /// Where there is room for the texts of a line: to its right, to its left, or behind its block's name, with what does not
    /// fit there above it.
    fn side(&self, (left, right, y): (f64, f64, f64), texts: &[(&str, String)]) -> Side {
        let characters = texts.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let width = characters as f64 * CHARACTER + 4.0;
        let height = 14.0 * texts.len() as f64 + 2.0;
        let beside = |x: f64| Rect { x, y: y - 8.0, width, height };
        let blocks = || self.placement.blocks.values();
        let is_free = |wanted: &Rect| {
            let is_inside = wanted.x >= -MARGIN && wanted.x + width <= self.placement.width + ROOM + MARGIN;
            is_inside && !blocks().any(|block| block.overlaps(wanted))
        };
        let is_its = |block: &Rect| block.x == left && (block.y..=block.y + block.height).contains(&y);
        let named = || {
            let block =
                self.graph.blocks.iter().find(|block| self.placement.blocks.get(&block.id).is_some_and(is_its))?;
            let last = texts.last().map_or(0, |(_, text)| text.chars().count());
            let behind = left + NAME.0 + name_in_block(&block.name).width + 8.0 + last as f64 * CHARACTER;
            let top = self.placement.blocks[&block.id].y;
            Some(if behind <= self.placement.width + ROOM + MARGIN {
                Side::Named { right: behind.max(right - 5.0), y: top + NAME.1 }
            } else {
                Side::Named { right: right - 5.0, y: top - 5.0 }
            })
        };
        if is_free(&beside(right + 8.0)) {
            Side::Right
        } else if is_free(&beside(left - 8.0 - width)) {
            Side::Left
        } else {
            named().unwrap_or(Side::Right)
        }
    }
}

/// Where the texts of a line stand.
#[derive(Clone, Copy)]
enum Side {
    Right,
    Left,
    /// Up to here, with the last on this line: behind the block's name, or above the block if that is too long.
    Named {
        right: f64,
        y: f64,
    },
}

fn unit(value: f64) -> String {
    format!("{value:.1}")
}

/// The route of the first edge between two blocks.
fn route_of(graph: &Graph, placement: &Placement, from: u32, to: u32) -> Option<usize> {
    placement.routes.iter().position(|route| {
        let edge = graph.edges[route.edge];
        graph.blocks[edge.from].id == from && graph.blocks[edge.to].id == to
    })
}

/// The same line so far to its left, as it goes.
fn beside(points: &[Point], by: f64) -> Vec<Point> {
    let normal = |a: Point, b: Point| {
        let (x, y) = (b.x - a.x, b.y - a.y);
        let length = (x * x + y * y).sqrt().max(1e-9);
        (y / length, -x / length)
    };
    let around = |index: usize| {
        let before = index.checked_sub(1).map(|before| normal(points[before], points[index]));
        let after = points.get(index + 1).map(|&next| normal(points[index], next));
        (before, after)
    };
    let moved = |(index, point): (usize, &Point)| {
        let (x, y) = match around(index) {
            // At a corner both lines move; where it goes straight on they are one.
            (Some(a), Some(b)) if a.0 * b.0 + a.1 * b.1 < 0.5 => (a.0 + b.0, a.1 + b.1),
            (Some(a), _) | (None, Some(a)) => a,
            (None, None) => (0.0, 0.0),
        };
        Point { x: point.x + x * by, y: point.y + y * by }
    };
    points.iter().enumerate().map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strands_run_side_by_side() {
        let line = [(0.0, 0.0), (0.0, 10.0), (20.0, 10.0), (20.0, 30.0)].map(|(x, y)| Point { x, y });
        let moved: Vec<(f64, f64)> = beside(&line, 2.0).iter().map(|point| (point.x, point.y)).collect();
        // Going down, left is to the right of the page.
        assert_eq!(moved, [(2.0, 0.0), (2.0, 8.0), (22.0, 8.0), (22.0, 30.0)]);
        assert_eq!(beside(&line, 0.0), line);
        let straight = [(0.0, 0.0), (0.0, 5.0), (0.0, 9.0)].map(|(x, y)| Point { x, y });
        assert_eq!(beside(&straight, -3.0).iter().map(|point| point.x).collect::<Vec<_>>(), [-3.0; 3]);
    }
}
