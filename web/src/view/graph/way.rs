//! The moments of an inspection on the graph: what has been passed so far, where something is inserted, and where it is
//! removed. An inspection without moments has marks that are always there.

use std::cell::RefCell;

use warpscope_engine::message::inspect::{Anchor, Inspection, Look, Mark};
use warpscope_engine::message::{Graph, GraphBlock, View};
use yew::{Html, component, html, use_mut_ref};

use super::super::{Shared, shortened};
use super::MARGIN;
use super::drawing::{NAME, name_in_block, row_in_block};
use super::strands::{route_of, unit};
use crate::layout::{Placement, Rect};

/// Room for labels to the right of the blocks.
pub const ROOM: f64 = 36.0;
/// Width of a character of a label.
const CHARACTER: f64 = 7.3;
/// Height of a line of labels.
const LINE: f64 = 14.0;
/// Lines that a label goes down where another one is in its place.
const MOST_SHIFTS: u8 = 5;
/// Characters of a label beside a block.
const MOST_CHARACTERS: usize = 26;

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
}

/// Marks at a place.
#[derive(Clone, Default)]
struct Sign<'a> {
    labels: Vec<&'a str>,
    is_removed: bool,
    /// Predicates that become true or false there.
    causes: Vec<&'a str>,
    /// The moment of its last mark.
    at: usize,
    is_new: bool,
}

/// The marks of all moments up to one.
#[component]
pub fn Way(WayProps { view, placement, told, moment, is_ground }: &WayProps) -> Html {
    // Whether the shown moment followed the one before it, so that what happened is seen to happen.
    let course = use_mut_ref(|| (usize::MAX, false));
    let (last, was_step) = *course.borrow();
    let is_step = if last == *moment { was_step } else { last.wrapping_add(1) == *moment };
    *course.borrow_mut() = (*moment, is_step);
    let map = Map { graph: &view.0.graph, placement: &placement.0, taken: RefCell::default() };
    // Marks of the inspection are there without a timeline, and before the moments of one without a scene there.
    let marks: Vec<(usize, &Mark)> = match &told.0.timeline {
        Some(timeline) if *moment > 0 || timeline.start.is_some() => timeline.marks_at(*moment).collect(),
        _ => told.0.marks.iter().map(|mark| (usize::MAX, mark)).collect(),
    };
    let is_edge = |mark: &Mark| matches!(mark.anchor, Anchor::Edge(..));
    let wet = marks.iter().filter(|(_, mark)| is_edge(mark) == *is_ground);
    let signs = if *is_ground { Vec::new() } else { signs(&marks, *moment) };
    html! {
        <g class={if is_step { "way" } else { "way still" }} aria-hidden="true" data-testid={if *is_ground { "way-ground" } else { "way" }}>
            { for wet.filter_map(|(at, mark)| map.wet(mark, at == moment)) }
            { for signs.iter().filter_map(|(anchor, sign)| map.sign(anchor, sign)) }
        </g>
    }
}

/// Signs by their places after a moment.
fn signs<'a>(marks: &[(usize, &'a Mark)], moment: usize) -> Vec<(&'a Anchor, Sign<'a>)> {
    let mut signs: Vec<(&Anchor, Sign<'_>)> = Vec::new();
    for (at, mark) in marks {
        if !matches!(mark.look, Look::New | Look::Removed | Look::Cause) {
            continue;
        }
        let place = signs.iter().position(|(anchor, _)| **anchor == mark.anchor).unwrap_or_else(|| {
            signs.push((&mark.anchor, Sign::default()));
            signs.len() - 1
        });
        let last = Some(signs[place].1.at).filter(|_| !signs[place].1.labels.is_empty());
        let sign = &mut signs[place].1;
        match mark.look {
            // Those of one moment are below each other.
            Look::New if last == Some(*at) => sign.labels.push(&mark.text),
            Look::New => sign.labels = vec![&mark.text],
            Look::Removed => sign.is_removed = true,
            _ => sign.causes.push(&mark.text),
        }
        (sign.at, sign.is_new) = (*at, *at == moment);
    }
    signs
}

/// Places of things.
struct Map<'a> {
    graph: &'a Graph,
    placement: &'a Placement,
    /// Places of texts that are drawn already.
    taken: RefCell<Vec<Rect>>,
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
                let route = &self.placement.routes[route_of(self.graph, self.placement, from, to)?];
                let data = Placement::path_data(&route.points, 7.0);
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
                let rect = self.placement.blocks.get(&block.id)?;
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
            Anchor::Edge(from, to) => {
                let points = &self.placement.routes[route_of(self.graph, self.placement, from, to)?].points;
                let middle = points.len() / 2;
                let (a, b) = (points[middle.checked_sub(1)?], *points.get(middle)?);
                let x = (a.x + b.x) / 2.0;
                (x - 7.0, x + 7.0, (a.y + b.y) / 2.0)
            }
            _ => return None,
        };
        let removed = if sign.is_removed { " ×" } else { "" };
        let labels = sign.labels.iter().map(|label| shortened(label, MOST_CHARACTERS) + removed);
        let class =
            format!("sign{}{}", if sign.is_removed { " removed" } else { "" }, if sign.is_new { " new" } else { "" });
        let texts: Vec<(&str, String)> = (labels.map(|label| ("", label)))
            .chain(sign.causes.iter().map(|text| ("sets", (*text).to_owned())))
            .collect();
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
        Some(html! {
            <g {class} key={format!("{anchor:?}")}>
                <line x1={unit(left - 7.0)} x2={unit(right + 7.0)} y1={unit(y)} y2={unit(y)} />
                { for texts.iter().enumerate().map(|(place, (class, text))| html! {
                    <text class={*class} x={unit(x)} y={unit(line(place))} text-anchor={end}>{ text }</text>
                }) }
            </g>
        })
    }

    /// The side with room for the texts of a line: its right, its left, or after its block's name, with what does not
    /// fit there above it.
    fn side(&self, (left, right, y): (f64, f64, f64), texts: &[(&str, String)]) -> Side {
        let (width, height) = size(texts);
        let beside = |x: f64| Rect { x, y: y - 8.0, width, height };
        let blocks = || self.placement.blocks.values();
        let is_free = |wanted: &Rect| {
            let is_inside = wanted.x >= -MARGIN && wanted.x + width <= self.placement.width + ROOM + MARGIN;
            let is_taken = || self.taken.borrow().iter().any(|taken| taken.overlaps(wanted));
            is_inside && !blocks().any(|block| block.overlaps(wanted)) && !is_taken()
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

/// Width and height of texts below each other.
fn size(texts: &[(&str, String)]) -> (f64, f64) {
    let characters = texts.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
    (characters as f64 * CHARACTER + 4.0, LINE * texts.len() as f64 + 2.0)
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
