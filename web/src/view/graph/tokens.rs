//! Tokens over the graph: each goes along an edge, waits beside its end, and comes back with its answer.
//!
//! On its way a token is a small bar on the edge; it unfolds where it covers no text of a block ([`super::clearance`]).
//!
//! The tokens are elements above the drawing, so that nothing below them is painted anew while they move; the browser
//! moves them along the edge's own line. Only a step from one moment to the next moves anything: after a leap everything
//! stands where it belongs, and so it does for those who asked for less motion.

use warpscope_engine::message::inspect::{Anchor, Inspection, Look, Timeline};
use warpscope_engine::message::{EdgeKind, Graph, GraphBlock, View};
use yew::{Html, component, html, use_effect_with, use_mut_ref, use_node_ref};

use super::super::{Shared, shortened};
use super::MARGIN;
use super::clearance::{Clearance, MOST_CHARACTERS, Offset};
use super::drawing;
use super::way::name_of_edge;
use crate::app::MOMENT_PAUSE_MS;
use crate::dom;
use crate::layout::{Placement, Point, Rect, Route};
use crate::tokens::{Motion, Noted, Place, Scene, Token};

/// The share of a moment's time in which a token moves; it rests for the others.
const MOVING: f64 = 0.72;
/// The smallest tokens, as a share of that size: below it they could not be read.
const SMALLEST: f64 = 0.8;
/// How far from a block a token waits, in pixels.
const BEFORE: f64 = 9.0;
/// Kinds of tokens with a shape of their own; further ones have these again.
pub const KINDS: usize = 3;

/// Properties of the drawing.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// Whose graph it is.
    pub view: Shared<View>,
    /// Placement of all parts.
    pub placement: Shared<Placement>,
    /// The inspection whose timeline has tokens.
    pub told: Shared<Inspection>,
    /// The moment that is shown.
    pub moment: usize,
    /// Pixels a unit of the drawing, and where its origin is.
    pub scale: f64,
    /// In pixels.
    pub origin: (f64, f64),
    /// The pace of tokens, as a multiple of the usual one.
    pub pace: f64,
}

/// The tokens.
#[component]
pub fn Tokens(Props { view, placement, told, moment, scale, origin, pace }: &Props) -> Html {
    let place = use_node_ref();
    // Whether the shown moment followed the one before it, so that what happened is seen to happen.
    let course = use_mut_ref(|| (usize::MAX, false));
    let (last, was_step) = *course.borrow();
    let is_step = if last == *moment { was_step } else { last.wrapping_add(1) == *moment };
    *course.borrow_mut() = (*moment, is_step);
    {
        // What happens is in sight.
        let place = place.clone();
        use_effect_with((*moment, view.clone()), move |_| {
            let here =
                place.cast::<web_sys::Element>().and_then(|tokens| tokens.query_selector(".asks").ok().flatten());
            if let Some(here) = here {
                dom::reveal(&here);
            }
        });
    }
    let Some(timeline) = &told.0.timeline else { return Html::default() };
    let scene = Scene::at(timeline, *moment);
    let map = Map { graph: &view.0.graph, placement: &placement.0, timeline, scale: *scale, origin: *origin };
    let size = scale.clamp(SMALLEST, 1.0);
    let mut clearance = Clearance::new(size, map.texts(), map.room());
    let here = timeline.told(*moment).and_then(|told| match told.focus {
        Some(Anchor::Block(block)) => map.block(block),
        _ => None,
    });
    let meeting = scene.meeting.and_then(|(id, meeting)| {
        let rect = here?;
        let is_upward = scene.tokens.iter().all(|token| token.id != id || map.is_upward(token));
        let y = if is_upward { rect.y } else { rect.y + rect.height };
        Some((Point { x: rect.center_x(), y }, meeting))
    });
    // The tokens first: they stand where they belong, if they can, and what belongs to them makes room.
    let pills: Vec<Html> = scene
        .tokens
        .iter()
        .filter_map(|token| {
            let line = map.line(token)?;
            let offset = clearance.place(*line.last()?, &[&shortened(token.text, MOST_CHARACTERS), token.words]);
            Some(pill(token, &line, offset))
        })
        .collect();
    let meeting = meeting.map(|(at, meeting)| {
        let Offset { x, y } = clearance.place(at, &[meeting]);
        (Point { x: at.x + x, y: at.y + y }, meeting)
    });
    let notes = scene.noted.iter().filter_map(|noted| note(noted, &map, &mut clearance));
    html! {
        <div class={if is_step { "tokens" } else { "tokens still" }} aria-hidden="true" ref={place} data-testid="tokens"
            style={format!("--travel:{:.0}ms;--size:{size:.2}", MOMENT_PAUSE_MS * MOVING / pace)}>
            if let Some(rect) = here {
                <div class="asks" style={format!("left:{:.1}px;top:{:.1}px;width:{:.1}px;height:{:.1}px", rect.x, rect.y, rect.width, rect.height)} />
            }
            { for notes }
            { for pills }
            if let Some((at, meeting)) = meeting {
                <div class="meeting" style={format!("left:{:.1}px;top:{:.1}px", at.x, at.y)}>{ meeting }</div>
            }
        </div>
    }
}

/// A token with its answer.
fn pill(token: &Token<'_>, line: &[Point], offset: Offset) -> Html {
    let kind = token.kind % KINDS;
    let state = token.answer.map_or("open", Look::name);
    let motion = match token.motion {
        Motion::Rests => "rests",
        Motion::Goes => "goes",
        Motion::Changes => "changes",
        Motion::Returns => "goes returns",
    };
    let text = match token.answer {
        Some(_) => token.text.trim_end_matches('?'),
        None => token.text,
    };
    html! {
        // Another motion is another element, so that it begins anew.
        <span key={format!("{}-{motion}", token.id)} class={format!("token k{kind} {state} {motion}")}
            style={format!("offset-path:path('{}');{}", Placement::path_data(line, 7.0), offset.style())}>
            <span class="text">{ shortened(text, MOST_CHARACTERS) }</span>
            if !token.words.is_empty() { <b>{ token.words }</b> }
        </span>
    }
}

/// A note.
fn note(noted: &Noted<'_>, map: &Map<'_>, clearance: &mut Clearance) -> Option<Html> {
    let at = match *noted.at {
        Anchor::Block(block) => {
            let rect = map.block(block)?;
            Point { x: rect.x + rect.width / 2.0, y: rect.y + rect.height }
        }
        Anchor::Edge(from, to) => {
            let points = map.route(from, to)?;
            let middle = points.len() / 2;
            let (a, b) = (*points.get(middle.checked_sub(1)?)?, *points.get(middle)?);
            Point { x: (a.x + b.x) / 2.0, y: (a.y + b.y) / 2.0 }
        }
        _ => return None,
    };
    let offset = clearance.place(at, &["+", &shortened(noted.text, MOST_CHARACTERS)]);
    Some(html! {
        <span class="token noted" style={format!("offset-path:path('M{:.1} {:.1}h0.1');{}", at.x, at.y, offset.style())}>
            <b>{ "+" }</b><span class="text">{ shortened(noted.text, MOST_CHARACTERS) }</span>
        </span>
    })
}

/// Positions of things, in pixels.
struct Map<'a> {
    graph: &'a Graph,
    placement: &'a Placement,
    timeline: &'a Timeline,
    scale: f64,
    origin: (f64, f64),
}

impl Map<'_> {
    /// Whether a token goes against the edges.
    fn is_upward(&self, token: &Token<'_>) -> bool {
        self.timeline.kinds.get(token.kind).is_some_and(|kind| kind.is_upward)
    }

    fn point(&self, point: Point) -> Point {
        Point { x: (point.x + self.origin.0) * self.scale, y: (point.y + self.origin.1) * self.scale }
    }

    fn block(&self, id: u32) -> Option<Rect> {
        let rect = self.placement.blocks.get(&id)?;
        let corner = self.point(Point { x: rect.x, y: rect.y });
        Some(Rect { x: corner.x, y: corner.y, width: rect.width * self.scale, height: rect.height * self.scale })
    }

    /// Rectangles of the blocks' texts, and of the names of edges.
    fn texts(&self) -> Vec<Rect> {
        let scaled = |rect: Rect| {
            let corner = self.point(Point { x: rect.x, y: rect.y });
            Rect { x: corner.x, y: corner.y, width: rect.width * self.scale, height: rect.height * self.scale }
        };
        let in_block = |block: &GraphBlock| {
            let face = *self.placement.blocks.get(&block.id)?;
            let text = drawing::text_in_block(block, face.width);
            Some(scaled(Rect { x: face.x + text.x, y: face.y + text.y, ..text }))
        };
        let is_named = |route: &&Route| self.graph.edges[route.edge].kind != EdgeKind::Jump;
        let names = self.placement.routes.iter().filter(is_named).filter_map(|route| route.points.first());
        let names = names.map(|&start| scaled(name_of_edge(start)));
        self.graph.blocks.iter().filter_map(in_block).chain(names).collect()
    }

    /// The size of the drawing, in pixels.
    fn room(&self) -> (f64, f64) {
        let end = self.point(Point { x: self.placement.width, y: self.placement.height });
        (end.x + MARGIN * self.scale, end.y + MARGIN * self.scale)
    }

    /// The line of the edge between two blocks, from its source's end.
    fn route(&self, from: u32, to: u32) -> Option<Vec<Point>> {
        let leads = |edge: usize| {
            let edge = &self.graph.edges[edge];
            self.graph.blocks[edge.from].id == from && self.graph.blocks[edge.to].id == to
        };
        let route = self.placement.routes.iter().find(|route| leads(route.edge))?;
        Some(route.points.iter().map(|&point| self.point(point)).collect())
    }

    /// The way of a token, which ends where it is to be seen.
    fn line(&self, token: &Token<'_>) -> Option<Vec<Point>> {
        let is_upward = self.is_upward(token);
        let mut line = match token.place {
            Place::Block(block) => {
                let rect = self.block(block)?;
                let y = if is_upward { rect.y } else { rect.y + rect.height };
                let x = rect.x + rect.width / 2.0;
                return Some(vec![Point { x, y }, Point { x: x + 0.1, y }]);
            }
            Place::Way { from, to } => {
                let along = if is_upward { self.route(to, from) } else { self.route(from, to) };
                match along {
                    Some(mut line) => {
                        if is_upward {
                            line.reverse();
                        }
                        line
                    }
                    // An edge that has been split since.
                    None => {
                        let center = |id: u32| {
                            let rect = self.block(id)?;
                            Some(Point { x: rect.center_x(), y: rect.y + rect.height / 2.0 })
                        };
                        vec![center(from)?, center(to)?]
                    }
                }
            }
        };
        if token.answer.is_some() {
            line.reverse();
        }
        shorten(&mut line, BEFORE);
        Some(line)
    }
}

/// Lets a line end earlier, so that a token does not hide the name of the block that it waits at.
fn shorten(line: &mut [Point], by: f64) {
    let [.., before, end] = line else { return };
    let (x, y) = (end.x - before.x, end.y - before.y);
    let length = (x * x + y * y).sqrt();
    if length > by {
        let share = by / length;
        *end = Point { x: end.x + (before.x - end.x) * share, y: end.y + (before.y - end.y) * share };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_before_the_block() {
        let mut line = [Point { x: 0.0, y: 0.0 }, Point { x: 0.0, y: 40.0 }];
        shorten(&mut line, 10.0);
        assert_eq!(line[1], Point { x: 0.0, y: 30.0 });
        shorten(&mut line, 100.0);
        assert_eq!(line[1], Point { x: 0.0, y: 30.0 });
    }
}
