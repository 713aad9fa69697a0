//! Questions over the graph: each is a token that goes along an edge, waits at its end, and comes back with its answer.
//!
//! The tokens are elements above the drawing, so that nothing below them is painted anew while they move; the browser
//! moves them along the edge's own line. Only a step from one moment to the next moves anything: after a leap everything
//! stands where it belongs, and so it does for those who asked for less motion.

use warpscope_engine::message::{Graph, Query, Questions, Verdict, View, What};
use yew::{Html, component, html, use_effect_with, use_mut_ref, use_node_ref};

use super::super::{Shared, shortened};
use crate::app::MOMENT_PAUSE_MS;
use crate::dom;
use crate::inquiry::{Motion, Noted, Place, Scene, Token};
use crate::layout::{Placement, Point, Rect};

/// The share of a moment's time in which a token moves; it rests for the others.
const MOVING: f64 = 0.72;
/// Height of a token with some space, and its width for each character and besides, in pixels.
const HEIGHT: f64 = 21.0;
const CHARACTER: f64 = 7.0;
const BESIDES: f64 = 20.0;
/// How far from a block a token waits, in pixels.
const BEFORE: f64 = 9.0;
/// Characters of a token's text.
const MOST_CHARACTERS: usize = 30;

/// What there is to draw.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// Whose graph it is.
    pub view: Shared<View>,
    /// Where everything stands.
    pub placement: Shared<Placement>,
    /// The questions.
    pub questions: Shared<Questions>,
    /// The moment that is shown.
    pub moment: usize,
    /// Pixels a unit of the drawing, and where its origin is.
    pub scale: f64,
    /// In pixels.
    pub origin: (f64, f64),
    /// How fast questions move, as a multiple of the usual pace.
    pub pace: f64,
}

/// The tokens.
#[component]
pub fn Tokens(Props { view, placement, questions, moment, scale, origin, pace }: &Props) -> Html {
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
    let scene = Scene::at(&questions.0, moment.saturating_sub(questions.0.first));
    let map = Map { graph: &view.0.graph, placement: &placement.0, scale: *scale, origin: *origin };
    let mut stack = Stack::default();
    let here = scene.last.and_then(|last| map.block(last.block));
    let meeting = scene.last.and_then(|last| match &last.what {
        What::Answered { id, meeting, .. } | What::Ended { id, meeting, .. } if !meeting.is_empty() => {
            let rect = here?;
            let is_upward = scene.tokens.iter().all(|token| token.id != *id || is_upward(token.query));
            let y = if is_upward { rect.y } else { rect.y + rect.height };
            Some((Point { x: rect.center_x(), y }, meeting))
        }
        _ => None,
    });
    html! {
        <div class={if is_step { "tokens" } else { "tokens still" }} aria-hidden="true" ref={place} data-testid="tokens"
            style={format!("--travel:{:.0}ms", MOMENT_PAUSE_MS * MOVING / pace)}>
            if let Some(rect) = here {
                <div class="asks" style={format!("left:{:.1}px;top:{:.1}px;width:{:.1}px;height:{:.1}px", rect.x, rect.y, rect.width, rect.height)} />
            }
            { for scene.noted.iter().filter_map(|noted| note(noted, &map)) }
            { for scene.tokens.iter().filter_map(|token| {
                let line = map.line(token)?;
                let raised = stack.place(*line.last()?, token.text);
                Some(pill(token, &line, raised))
            }) }
            if let Some((at, meeting)) = meeting {
                <div class="meeting" style={format!("left:{:.1}px;top:{:.1}px", at.x, at.y)}>{ meeting }</div>
            }
        </div>
    }
}

/// A question or its answer.
fn pill(token: &Token<'_>, line: &[Point], raised: f64) -> Html {
    let kind = match token.query {
        Query::Availability => "avail",
        Query::Anticipatability => "antic",
        Query::Speculation => "spec",
    };
    let (state, word) = match token.verdict {
        None => ("asked", ""),
        Some(Verdict::False) => ("no", "false"),
        Some(Verdict::True) => ("yes", "true"),
        Some(Verdict::Unreal) => ("unreal", "true, not real"),
        Some(Verdict::Real) => ("yes", "true, real"),
    };
    let motion = match token.motion {
        Motion::Rests => "rests",
        Motion::Goes => "goes",
        Motion::Changes => "changes",
        Motion::Returns => "goes returns",
    };
    let text = match token.verdict {
        Some(_) => token.text.trim_end_matches('?'),
        None => token.text,
    };
    html! {
        // Another motion is another element, so that it begins anew.
        <span key={format!("{}-{motion}", token.id)} class={format!("token {kind} {state} {motion}")}
            style={format!("offset-path:path('{}');margin-top:{:.1}px", Placement::path_data(line, 7.0), -raised)}>
            <span class="text">{ shortened(text, MOST_CHARACTERS) }</span>
            if !word.is_empty() { <b>{ word }</b> }
        </span>
    }
}

/// The places that are taken by tokens.
#[derive(Default)]
struct Stack(Vec<Rect>);

impl Stack {
    /// How much higher than where it belongs a token stands, so that it hides no other.
    fn place(&mut self, end: Point, text: &str) -> f64 {
        let width = text.chars().count().min(MOST_CHARACTERS) as f64 * CHARACTER + BESIDES;
        let mut rect = Rect { x: end.x - width / 2.0, y: end.y - HEIGHT / 2.0, width, height: HEIGHT - 1.0 };
        // Each one that is in the way lets it rise at most once.
        for _ in 0..=self.0.len() {
            let Some(other) = self.0.iter().find(|other| other.overlaps(&rect)) else { break };
            rect.y = other.y - HEIGHT;
        }
        self.0.push(rect);
        end.y - HEIGHT / 2.0 - rect.y
    }
}

/// What would be inserted.
fn note(noted: &Noted<'_>, map: &Map<'_>) -> Option<Html> {
    let at = match noted.place {
        Place::Block(block) => {
            let rect = map.block(block)?;
            Point { x: rect.x + rect.width / 2.0, y: rect.y + rect.height }
        }
        Place::Way { from, to } => {
            let points = map.route(from, to)?;
            let middle = points.len() / 2;
            let (a, b) = (*points.get(middle.checked_sub(1)?)?, *points.get(middle)?);
            Point { x: (a.x + b.x) / 2.0, y: (a.y + b.y) / 2.0 }
        }
    };
    Some(html! {
        <span class="token noted" style={format!("offset-path:path('M{:.1} {:.1}h0.1')", at.x, at.y)}>
            <b>{ "+" }</b><span class="text">{ shortened(noted.text, MOST_CHARACTERS) }</span>
        </span>
    })
}

/// Where things are, in pixels.
struct Map<'a> {
    graph: &'a Graph,
    placement: &'a Placement,
    scale: f64,
    origin: (f64, f64),
}

impl Map<'_> {
    fn point(&self, point: Point) -> Point {
        Point { x: (point.x + self.origin.0) * self.scale, y: (point.y + self.origin.1) * self.scale }
    }

    fn block(&self, id: u32) -> Option<Rect> {
        let rect = self.placement.blocks.get(&id)?;
        let corner = self.point(Point { x: rect.x, y: rect.y });
        Some(Rect { x: corner.x, y: corner.y, width: rect.width * self.scale, height: rect.height * self.scale })
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
        let is_upward = is_upward(token.query);
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
        if token.verdict.is_some() {
            line.reverse();
        }
        shorten(&mut line, BEFORE);
        Some(line)
    }
}

/// Whether it goes against the edges.
fn is_upward(query: Query) -> bool {
    query != Query::Anticipatability
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
    fn tokens_at_one_place_stand_above_each_other() {
        let mut stack = Stack::default();
        let at = |x: f64, y: f64| Point { x, y };
        assert_eq!(stack.place(at(50.0, 100.0), "A[i]?"), 0.0);
        assert_eq!(stack.place(at(52.0, 101.0), "A[i]?"), 22.0);
        assert_eq!(stack.place(at(50.0, 95.0), "A[i]?"), 37.0);
        assert_eq!(stack.place(at(200.0, 100.0), "A[i]?"), 0.0);
    }

    #[test]
    fn a_line_ends_before_the_block() {
        let mut line = [Point { x: 0.0, y: 0.0 }, Point { x: 0.0, y: 40.0 }];
        shorten(&mut line, 10.0);
        assert_eq!(line[1], Point { x: 0.0, y: 30.0 });
        shorten(&mut line, 100.0);
        assert_eq!(line[1], Point { x: 0.0, y: 30.0 });
    }
}
