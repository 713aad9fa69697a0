//! Paths as strands along the edges, side by side, as thick as they are frequent.

use std::collections::BTreeMap;

use warpscope_engine::message::inspect::Inspection;
use warpscope_engine::message::{Graph, View};
use yew::{Html, component, html};

use super::super::Shared;
use super::super::inspection::STRANDS;
use crate::layout::{Placement, Point, Rect, Route};

/// Width of a strand that is executed seldom, and what is shared out among all of them.
const THIN: f64 = 1.6;
const THICK: f64 = 11.0;
/// Free space between two strands.
const GAP: f64 = 0.8;
/// Free space between two bundles of strands.
const BETWEEN: f64 = 2.0;
/// How much wider the strand is that stands out.
const CHOSEN: f64 = 2.5;

/// Properties of the drawing.
#[derive(PartialEq, yew::Properties)]
pub struct StrandsProps {
    /// Whose graph it is.
    pub view: Shared<View>,
    /// Placement of all parts.
    pub placement: Shared<Placement>,
    /// The inspection that the strands are of.
    pub told: Shared<Inspection>,
    /// The path that stands out.
    pub chosen: Option<usize>,
    /// The part of the drawing that is drawn; none is all of it.
    pub part: Option<Rect>,
}

/// The strands.
#[component]
pub fn Strands(StrandsProps { view, placement, told, chosen, part }: &StrandsProps) -> Html {
    let (placement, paths) = (&placement.0, &told.0.strands);
    let routes = routes(&view.0.graph, placement);
    let is_drawn = |rect: &Rect| part.is_none_or(|part| part.overlaps(rect));
    let shown = |place: usize| place < STRANDS || *chosen == Some(place);
    // For each route the strands along it.
    let mut along: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for (place, path) in paths.iter().enumerate().filter(|&(place, path)| shown(place) && path.share > 0.0) {
        let more = if *chosen == Some(place) { CHOSEN } else { 0.0 };
        let width = THIN + THICK * path.share + more;
        for ends in path.blocks.windows(2) {
            if let Some(&route) = routes.get(&(ends[0], ends[1])) {
                along.entry(route).or_default().push((place, width));
            }
        }
    }
    let strand = |route: &Route, place: usize, width: f64, offset: f64| {
        let path = &paths[place];
        let data = Placement::path_data(&beside(&route.points, offset), 7.0);
        let look = if place < STRANDS { format!("s{place}") } else { "other".to_owned() };
        let state = match chosen {
            Some(chosen) if *chosen == place => " chosen",
            Some(_) => " faint",
            None => "",
        };
        html! {
            <path key={format!("{}-{place}", route.edge)} class={format!("strand {look}{state}")} d={data} stroke-width={format!("{width:.1}")}>
                <title>{ &path.label }</title>
            </path>
        }
    };
    // Lines that merge are one bundle, in which each has its side.
    let mut bundles: BTreeMap<(i64, i64), Vec<usize>> = BTreeMap::new();
    for &route in along.keys() {
        bundles.entry(end_of(&placement.routes[route])).or_default().push(route);
    }
    // Lines of a bundle are as wide as they are wherever it is cut off.
    let is_in_sight = |routes: &&Vec<usize>| routes.iter().any(|&route| is_drawn(&placement.routes[route].bounds()));
    let bundles = bundles.values().filter(is_in_sight).map(|routes| {
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
    let on_path = chosen.and_then(|chosen| paths.get(chosen)).map_or(&[][..], |path| &path.blocks);
    let frames = on_path.iter().filter_map(|id| placement.blocks.get(id)).filter(|rect| is_drawn(rect));
    let frames = frames.map(|rect| html! {
        <rect class="on-path" rx="10" x={unit(rect.x - 4.0)} y={unit(rect.y - 4.0)} width={unit(rect.width + 8.0)} height={unit(rect.height + 8.0)} />
    });
    let drawn = paths.len().min(STRANDS);
    html! {
        <g class="strands" role="img" aria-label={format!("{drawn} of {} paths as strands along the edges", paths.len())} data-testid="strands">
            { for frames }
            { for bundles }
        </g>
    }
}

/// How wide the strands along an edge may get, whatever frequencies somebody gives to the paths.
pub fn room(told: &Inspection) -> f64 {
    let mut along: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for ends in told.strands.iter().take(STRANDS).flat_map(|path| path.blocks.windows(2)) {
        *along.entry((ends[0], ends[1])).or_default() += 1;
    }
    along.values().max().map_or(0.0, |&most| THICK + most as f64 * (THIN + GAP) + BETWEEN)
}

/// End of a line, for comparison.
fn end_of(route: &Route) -> (i64, i64) {
    route.points.last().map_or((0, 0), |point| (point.x.round() as i64, point.y.round() as i64))
}

/// A length as the drawing writes it.
pub fn unit(value: f64) -> String {
    format!("{value:.1}")
}

/// The route of the first edge between each two blocks.
pub fn routes(graph: &Graph, placement: &Placement) -> BTreeMap<(u32, u32), usize> {
    let ends = |route: &Route| {
        let edge = graph.edges[route.edge];
        (graph.blocks[edge.from].id, graph.blocks[edge.to].id)
    };
    let mut routes = BTreeMap::new();
    placement.routes.iter().enumerate().for_each(|(at, route)| _ = routes.entry(ends(route)).or_insert(at));
    routes
}

/// Shifts the line so far to its left, as it goes.
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
