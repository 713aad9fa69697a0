//! Tokens over the graph: each goes along an edge, waits at its end, and comes back with its answer.
//!
//! The tokens are elements above the drawing, so that nothing below them is painted anew while they move; the browser
//! moves them along the edge's own line. Only a step from one moment to the next moves anything: after a leap everything
//! stands where it belongs, and so it does for those who asked for less motion.

use warpscope_engine::message::inspect::{Anchor, Inspection, Look, Timeline};
use warpscope_engine::message::{Graph, GraphBlock, View};
use yew::{Html, component, html, use_effect_with, use_mut_ref, use_node_ref};

use super::super::{Shared, shortened};
use super::drawing;
use crate::app::MOMENT_PAUSE_MS;
use crate::dom;
use crate::layout::{Placement, Point, Rect};
use crate::tokens::{Motion, Noted, Place, Scene, Token};

/// The share of a moment's time in which a token moves; it rests for the others.
const MOVING: f64 = 0.72;
/// Height of a token's line, its width for each character and besides, and between its text and the answer, in pixels; of
/// a token at full size. The styles say the same.
const LINE: f64 = 17.0;
const CHARACTER: f64 = 7.0;
const BESIDES: f64 = 16.0;
const BETWEEN: f64 = 5.0;
/// Border that is added to the width, and with the space inside of it to the height.
const BORDER: f64 = 3.0;
const FRAME: f64 = 5.0;
/// The smallest tokens, as a share of that size: below it they could not be read.
const SMALLEST: f64 = 0.8;
/// How far around its place something looks for what is in its way, in pixels.
const AROUND: f64 = 160.0;
/// How far from a block a token waits, in pixels.
const BEFORE: f64 = 9.0;
/// Kinds of tokens with a shape of their own; further ones have these again.
pub const KINDS: usize = 3;
/// Longer texts of tokens are shortened.
const MOST_CHARACTERS: usize = 30;

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
    let mut stack = Stack { size, taken: map.names() };
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
            let raised = stack.place(*line.last()?, &[token.text, token.words]);
            Some(pill(token, &line, raised))
        })
        .collect();
    let meeting = meeting.map(|(at, meeting)| (Point { y: at.y - stack.place(at, &[meeting]), ..at }, meeting));
    let notes = scene.noted.iter().filter_map(|noted| note(noted, &map, &mut stack));
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
fn pill(token: &Token<'_>, line: &[Point], raised: f64) -> Html {
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
            style={format!("offset-path:path('{}');margin-top:{:.1}px", Placement::path_data(line, 7.0), -raised)}>
            <span class="text">{ shortened(text, MOST_CHARACTERS) }</span>
            if !token.words.is_empty() { <b>{ token.words }</b> }
        </span>
    }
}

/// The places that are taken: by the names of blocks, and by what stands over them.
struct Stack {
    /// The size of what stands there, as a share of the full one.
    size: f64,
    taken: Vec<Rect>,
}

impl Stack {
    /// How much higher than where it belongs something of these texts stands, so that it hides nothing.
    fn place(&mut self, at: Point, texts: &[&str]) -> f64 {
        let words = texts.iter().filter(|text| !text.is_empty());
        let width =
            words.map(|text| text.chars().count().min(MOST_CHARACTERS) as f64 * CHARACTER + BETWEEN).sum::<f64>()
                + BESIDES
                - BETWEEN;
        let (width, height) = (width * self.size + BORDER, LINE * self.size + FRAME);
        let x = at.x - width / 2.0;
        let rect = |y: f64| Rect { x, y, width, height: height - 1.0 };
        let home = at.y - height / 2.0;
        let reach = Rect { x, y: home - AROUND, width, height: height + 2.0 * AROUND };
        let near: Vec<&Rect> = self.taken.iter().filter(|other| other.overlaps(&reach)).collect();
        // Directly above or below something that is in the way; rather above, where the next question does not come.
        let beside = near.iter().flat_map(|other| [other.y - height, other.y + other.height + 1.0]);
        let far = |y: f64| if y > home { 2.0 * (y - home) } else { home - y };
        let mut places: Vec<f64> = std::iter::once(home).chain(beside).collect();
        places.sort_by(|&one, &other| far(one).total_cmp(&far(other)));
        let free = |y: &f64| near.iter().all(|other| !other.overlaps(&rect(*y)));
        let y = places.into_iter().find(free).unwrap_or(home);
        self.taken.push(rect(y));
        home - y
    }
}

/// A note.
fn note(noted: &Noted<'_>, map: &Map<'_>, stack: &mut Stack) -> Option<Html> {
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
    let raised = stack.place(at, &["+", noted.text]);
    Some(html! {
        <span class="token noted" style={format!("offset-path:path('M{:.1} {:.1}h0.1');margin-top:{:.1}px", at.x, at.y, -raised)}>
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

    /// Rectangles of the blocks' names.
    fn names(&self) -> Vec<Rect> {
        let name = |block: &GraphBlock| {
            let Rect { x, y, .. } = self.block(block.id)?;
            let Rect { x: left, y: top, width, height } = drawing::name_in_block(&block.name);
            let (x, y) = (x + left * self.scale, y + top * self.scale);
            Some(Rect { x, y, width: width * self.scale, height: height * self.scale })
        };
        self.graph.blocks.iter().filter_map(name).collect()
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
    fn tokens_at_one_place_stand_above_each_other() {
        let mut stack = Stack { size: 1.0, taken: Vec::new() };
        let at = |x: f64, y: f64| Point { x, y };
        assert_eq!(stack.place(at(50.0, 100.0), &["A[i]?", ""]), 0.0);
        assert_eq!(stack.place(at(52.0, 101.0), &["A[i]?", ""]), 23.0);
        assert_eq!(stack.place(at(50.0, 95.0), &["A[i]?", ""]), 39.0);
        assert_eq!(stack.place(at(200.0, 100.0), &["A[i]?", ""]), 0.0);
    }

    #[test]
    fn nothing_stands_on_a_name() {
        let name = Rect { x: 40.0, y: 98.0, width: 20.0, height: 8.0 };
        let mut stack = Stack { size: 1.0, taken: vec![name] };
        let at = Point { x: 50.0, y: 100.0 };
        // Its lower end is where the name begins.
        let height = LINE + FRAME;
        assert_eq!(at.y + height / 2.0 - stack.place(at, &["A[i]?"]), name.y);
        // The next one above that, and one that would be nearer below goes there.
        assert_eq!(stack.place(at, &["+", "A[i]"]), 13.0 + height);
        let below = Point { x: 50.0, y: 112.0 };
        assert_eq!(below.y - height / 2.0 - stack.place(below, &["A[i]?"]), name.y + name.height + 1.0);
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
