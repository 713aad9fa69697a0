//! The moments of an inspection on the graph: what has been passed so far, where something is inserted, and where it is
//! removed. An inspection without moments has marks that are always there.

use std::cell::RefCell;
use std::collections::BTreeMap;

use warpscope_engine::message::inspect::{Anchor, Inspection, Look, Mark};
use warpscope_engine::message::{EdgeKind, Graph, GraphBlock, View};
use yew::{Html, component, html, use_mut_ref};

use super::super::Shared;
use super::MARGIN;
use super::drawing::{NAME, name_in_block, row_in_block};
use super::signs::{CHARACTER, LINE, Sign, drawn, signs, size};
use super::strands::{room, routes, unit};
use crate::layout::{Placement, Point, Rect, sort_indices};

/// Room for labels to the right of the blocks.
pub const ROOM: f64 = 36.0;
/// Lines that a label goes down where another one is in its place.
const MOST_SHIFTS: u8 = 5;
/// Half of the width of the line across an edge along which no strands run.
const LEAST_HALF: f64 = 7.0;
/// How far that line goes where the edge has its name.
const AT_NAME: f64 = 2.0;

/// The moments to draw.
#[derive(PartialEq, yew::Properties)]
pub struct WayProps {
    /// The view that the graph is of.
    pub view: Shared<View>,
    /// Places of blocks and lines.
    pub placement: Shared<Placement>,
    /// The inspection that the moments are of.
    pub told: Shared<Inspection>,
    /// The moment that is shown; 0 without a timeline.
    pub moment: usize,
    /// The edges, which are below the strands; otherwise what is above the blocks.
    pub is_ground: bool,
    /// The part of the drawing that is drawn; none is all of it.
    pub part: Option<Rect>,
}

/// The marks of all moments up to one.
#[component]
pub fn Way(WayProps { view, placement, told, moment, is_ground, part }: &WayProps) -> Html {
    // Whether the shown moment followed the one before it, so that what happened is seen to happen.
    let course = use_mut_ref(|| (usize::MAX, false));
    let (last, was_step) = *course.borrow();
    let is_step = if last == *moment { was_step } else { last.wrapping_add(1) == *moment };
    *course.borrow_mut() = (*moment, is_step);
    let half = (room(&told.0) / 2.0).max(LEAST_HALF);
    let map = Map::new(&view.0.graph, &placement.0, *part, half);
    // Marks of the inspection are there without a timeline, and before the moments of one without a scene there.
    let marks: Vec<(usize, &Mark)> = match &told.0.timeline {
        Some(timeline) if *moment > 0 || timeline.start.is_some() => timeline.marks_at(*moment).collect(),
        _ => told.0.marks.iter().map(|mark| (usize::MAX, mark)).collect(),
    };
    let is_edge = |mark: &Mark| matches!(mark.anchor, Anchor::Edge(..));
    let wet = marks.iter().filter(|(_, mark)| is_edge(mark) == *is_ground);
    let signs = if *is_ground { Vec::new() } else { signs(&marks, *moment) };
    // Where there is little choice is settled first. Signs of moments keep the order in which they came.
    let mut order: Vec<usize> = (0..signs.len()).collect();
    if marks.iter().all(|(at, _)| *at == usize::MAX) {
        sort_indices(&mut order, &|at| (map.choice(signs[at].0), 0.0));
    }
    html! {
        <g class={if is_step { "way" } else { "way still" }} aria-hidden="true" data-testid={if *is_ground { "way-ground" } else { "way" }}>
            { for wet.filter_map(|(at, mark)| map.wet(mark, at == moment)) }
            { for order.into_iter().filter_map(|at| map.sign(signs[at].0, &signs[at].1)) }
        </g>
    }
}

/// Places of things.
struct Map<'a> {
    graph: &'a Graph,
    placement: &'a Placement,
    routes: BTreeMap<(u32, u32), usize>,
    /// The part that is drawn; none is all of it.
    part: Option<Rect>,
    /// Half of the width of the line across an edge.
    half: f64,
    /// Places of texts that are drawn already.
    taken: RefCell<Vec<Rect>>,
}

impl<'a> Map<'a> {
    fn new(graph: &'a Graph, placement: &'a Placement, part: Option<Rect>, half: f64) -> Map<'a> {
        let named = placement.routes.iter().filter(|route| graph.edges[route.edge].kind != EdgeKind::Jump);
        let taken = named.map(|route| name_of_edge(route.points[0])).collect();
        Map { graph, placement, routes: routes(graph, placement), part, half, taken: RefCell::new(taken) }
    }

    /// A block that is drawn.
    fn block(&self, id: u32) -> Option<(&GraphBlock, Rect)> {
        let rect = *self.placement.blocks.get(&id)?;
        self.graph.blocks.iter().find(|block| self.is_drawn(&rect) && block.id == id).map(|block| (block, rect))
    }

    /// The line of an edge that is drawn.
    fn line(&self, from: u32, to: u32) -> Option<&[Point]> {
        let route = &self.placement.routes[*self.routes.get(&(from, to))?];
        Some(&route.points[..]).filter(|_| self.is_drawn(&route.bounds()))
    }

    fn is_drawn(&self, rect: &Rect) -> bool {
        self.part.is_none_or(|part| part.overlaps(rect))
    }

    /// The upper border of an instruction's line, from the block's.
    fn row(&self, block: &GraphBlock, inst: u32) -> Option<f64> {
        let row = block.lines.iter().position(|line| line.inst == inst)?;
        Some(row_in_block(block, row))
    }

    /// The parts that have been passed so far, and the place of a stop.
    fn wet(&self, mark: &Mark, is_new: bool) -> Option<Html> {
        let class = |kind: &str| {
            let partial = if mark.look == Look::Partial { " partial" } else { "" };
            format!("{kind}{partial}{}", if is_new { " new" } else { "" })
        };
        match (&mark.anchor, mark.look) {
            (&Anchor::Range { block, from, to }, _) => {
                let (block, rect) = self.block(block)?;
                let below =
                    |inst: u32| Some(row_in_block(block, block.lines.iter().position(|line| line.inst == inst)? + 1));
                let top = from.and_then(below).unwrap_or(0.0);
                let bottom = to.and_then(|to| self.row(block, to)).unwrap_or(rect.height);
                Some(html! {
                    <rect class={class("flood")} x={unit(rect.x)} y={unit(rect.y + top)} width={unit(rect.width)}
                        height={unit((bottom - top).max(2.0))} />
                })
            }
            (&Anchor::Edge(from, to), Look::Plain | Look::Partial) => {
                let data = Placement::path_data(self.line(from, to)?, 7.0);
                Some(html! { <path class={class("wet")} d={data} pathLength="1" /> })
            }
            (&(Anchor::Start(block) | Anchor::End(block)), Look::Bad) => {
                let (_, rect) = self.block(block)?;
                let (left, right) = (unit(rect.x - 4.0), unit(rect.x + rect.width + 4.0));
                let is_start = matches!(mark.anchor, Anchor::Start(_));
                let y = unit(if is_start { rect.y - 4.0 } else { rect.y + rect.height + 4.0 });
                Some(html! { <line class={class("stop")} x1={left} x2={right} y1={y.clone()} y2={y} /> })
            }
            _ => None,
        }
    }

    /// The sign at a place.
    fn sign(&self, anchor: &Anchor, sign: &Sign<'_>) -> Option<Html> {
        let (left, right, y) = match *anchor {
            Anchor::Before(inst) => {
                let block = self.graph.blocks.iter().find(|block| block.lines.iter().any(|line| line.inst == inst))?;
                let (block, rect) = self.block(block.id)?;
                (rect.x, rect.x + rect.width, rect.y + self.row(block, inst)?)
            }
            Anchor::Start(block) => {
                let (block, rect) = self.block(block)?;
                (rect.x, rect.x + rect.width, rect.y + row_in_block(block, 0))
            }
            Anchor::End(block) => {
                let (block, rect) = self.block(block)?;
                (rect.x, rect.x + rect.width, rect.y + row_in_block(block, block.lines.len().saturating_sub(1)))
            }
            Anchor::Edge(from, to) => return self.edge_sign(self.line(from, to)?, anchor, sign),
            _ => return None,
        };
        let texts = sign.texts();
        let side = self.side((left, right, y), &texts);
        let (x, end) = match side {
            Side::Right => (right + 10.0, "start"),
            Side::Left => (left - 10.0, "end"),
            Side::Named { right, .. } => (right, "end"),
        };
        let (width, height) = size(&texts);
        let place =
            |shift: f64| Rect { x: if end == "start" { x } else { x - width }, y: y - 8.0 + shift, width, height };
        let is_taken = |place: &Rect| self.taken.borrow().iter().any(|taken| taken.overlaps(place));
        let shift = (0..MOST_SHIFTS).map(|lines| f64::from(lines) * LINE).find(|&shift| !is_taken(&place(shift)));
        let shift = shift.unwrap_or(0.0);
        self.taken.borrow_mut().push(place(shift));
        let line = |place: usize| match side {
            Side::Named { y, .. } => y - LINE * (texts.len() - 1 - place) as f64,
            Side::Right | Side::Left => y + 4.0 + shift + LINE * place as f64,
        };
        let lines: Vec<f64> = (0..texts.len()).map(line).collect();
        Some(drawn(anchor, sign, &texts, ((left - 7.0, right + 7.0), y), (x, &lines, end)))
    }

    /// The sign of an edge, across one of its upright parts, if possible where its texts lie on nothing else.
    fn edge_sign(&self, line: &[Point], anchor: &Anchor, sign: &Sign<'_>) -> Option<Html> {
        let texts = sign.texts();
        let (width, height) = (size(&texts).0, LINE * texts.len() as f64);
        let sides = |at: Point| {
            let beside = |x: f64| Rect { x, y: at.y - height / 2.0, width, height };
            [(at, beside(at.x + self.half + 3.0), "start"), (at, beside(at.x - self.half - 3.0 - width), "end")]
        };
        let places: Vec<(Point, Rect, &str)> = self.crossings(line).into_iter().flat_map(sides).collect();
        let is_on_block = |rect: &Rect| self.placement.blocks.values().any(|block| block.overlaps(rect));
        let free = || places.iter().find(|(_, rect, _)| self.is_free(rect) && !is_on_block(rect));
        let (at, rect, end) =
            *free().or_else(|| places.iter().find(|(_, rect, _)| self.is_free(rect))).or(places.first())?;
        // The line across ends before a name of the edge.
        let across = |left: f64, right: f64| Rect { x: at.x + left, y: at.y - 2.0, width: right - left, height: 4.0 };
        let right = if self.is_free(&across(0.0, self.half)) { self.half } else { AT_NAME };
        let tick = across(-self.half, right);
        self.taken.borrow_mut().extend([rect, tick]);
        let lines: Vec<f64> = (0..texts.len()).map(|place| rect.y + LINE * place as f64 + 11.0).collect();
        let x = if end == "start" { rect.x } else { rect.x + width };
        Some(drawn(anchor, sign, &texts, ((tick.x, tick.x + tick.width), at.y), (x, &lines, end)))
    }

    /// Places where a sign may cross a line: along its upright parts, those of its own first, the middle of the longest
    /// before all.
    fn crossings(&self, line: &[Point]) -> Vec<Point> {
        let is_upright = |ends: &[Point]| (ends[0].x - ends[1].x).abs() < 0.5;
        let length = |ends: &[Point]| (ends[0].y - ends[1].y).abs();
        let is_shared = |ends: &[Point]| {
            let (top, bottom) = (ends[0].y.min(ends[1].y), ends[0].y.max(ends[1].y));
            let covers = |other: &[Point]| {
                let (above, below) = (other[0].y.min(other[1].y), other[0].y.max(other[1].y));
                is_upright(other) && (other[0].x - ends[0].x).abs() < 0.5 && above < bottom && top < below
            };
            let others = self.placement.routes.iter().filter(|route| route.points != line);
            others.flat_map(|route| route.points.windows(2)).any(covers)
        };
        let parts: Vec<&[Point]> = line.windows(2).filter(|ends| is_upright(ends)).collect();
        let mut order: Vec<usize> = (0..parts.len()).collect();
        sort_indices(&mut order, &|at| (f64::from(u8::from(is_shared(parts[at]))), -length(parts[at])));
        let mut places = Vec::new();
        for ends in order.into_iter().map(|at| parts[at]) {
            let (x, middle, most) = (ends[0].x, (ends[0].y + ends[1].y) / 2.0, length(ends) / 2.0 - LINE);
            places.push(Point { x, y: middle });
            let mut step = LINE;
            while step <= most {
                places.extend([Point { x, y: middle + step }, Point { x, y: middle - step }]);
                step += LINE;
            }
        }
        places
    }

    /// How much choice of places there is for a sign: the length of an edge's upright parts; nothing beside a block.
    fn choice(&self, anchor: &Anchor) -> f64 {
        match *anchor {
            Anchor::Edge(from, to) => {
                self.line(from, to).map_or(0.0, |line| line.windows(2).map(|ends| (ends[0].y - ends[1].y).abs()).sum())
            }
            _ => 0.0,
        }
    }

    /// Whether a text can be there: inside the drawing, and on no other one.
    fn is_free(&self, wanted: &Rect) -> bool {
        let is_inside = wanted.x >= -MARGIN && wanted.x + wanted.width <= self.placement.width + ROOM + MARGIN;
        is_inside && !self.taken.borrow().iter().any(|taken| taken.overlaps(wanted))
    }

    /// The side with room for the texts of a line: its right, its left, or after its block's name, with what does not
    /// fit there above it.
    fn side(&self, (left, right, y): (f64, f64, f64), texts: &[(&str, String)]) -> Side {
        let (width, height) = size(texts);
        let beside = |x: f64| Rect { x, y: y - 8.0, width, height };
        let blocks = || self.placement.blocks.values();
        let is_free = |wanted: &Rect| self.is_free(wanted) && !blocks().any(|block| block.overlaps(wanted));
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

/// The place of an edge's name, from where its line begins.
pub fn name_of_edge(start: Point) -> Rect {
    Rect { x: start.x + 3.0, y: start.y + 2.0, width: 9.0, height: 10.0 }
}

/// The side of a line that its texts are on.
#[derive(Clone, Copy)]
enum Side {
    Right,
    Left,
    /// Up to here, with the last on this line: after the block's name, or above the block if that is too long.
    Named {
        right: f64,
        y: f64,
    },
}
