//! Layout of the blocks and edges of a control-flow graph.
//!
//! ```text
//!        ┌───────┐            nest    loops as nested regions, also on irreducible graphs
//!        │ entry │            rank    a row for every block; a loop is one item of the region around it
//!        └───┬───┘            link    long edges become chains of virtual nodes
//!    ┌───────▼──────┐         order   left-to-right order in each row, few crossings
//!    │ ┌──┬──────┐  │         place   x by weighted isotonic regression, row by row
//!    │ │  │ head ├┐ │         route   orthogonal lines on tracks between the rows
//!    │ └──┴┬─────┘│ │
//!    └─────┼──────┼─┘
//! ```
//!
//! The drawing is compound: the loops are laid out from the innermost outwards, and a finished loop is one box of the
//! region that contains it. So a loop's blocks are contiguous by construction, no foreign block can stand between them,
//! and a change inside a loop moves the rest of the graph as a whole. The edges back to a loop's head run up the left
//! side of its box. A true edge leaves its block left of the false edge.
//!
//! Ids are identity: given the previous placement, blocks keep their left-to-right order unless another one has fewer
//! crossings, and the same graph always gets the same placement, so that a view can let blocks glide between two events.
//!
//! Bounds: O((blocks + edges) · depth of the loop nest) to find loops; the rest is linear in the layered graph up to a
//! logarithm. The layered graph has at most [`VIRTUAL_NODES`] virtual nodes a region; longer edges past that take the
//! right margin instead of a chain.
//!
//! Source: Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures" (IEEE SMC
//! 1981) for the phases; Bourdoncle, "Efficient chaotic iteration strategies with widenings" (1993), section 4, for
//! loops of any graph.

mod compose;
mod link;
mod nest;
mod order;
mod place;
mod route;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

/// Virtual nodes that one region may spend on chains before its longer edges take the margin.
pub const VIRTUAL_NODES: usize = 20_000;

/// A control-flow graph as the layout sees it: boxes and arrows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The blocks, entry blocks first.
    pub nodes: Vec<Node>,
    /// The edges, grouped in any way; the edges of one block in the order of its terminator.
    pub edges: Vec<Edge>,
    /// How wide it is what runs along a line; 0 for the line alone.
    pub room: f64,
}

/// A block to be placed. Sizes are in the units of the drawing (CSS pixels at scale 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Identity between placements; unique in its graph.
    pub id: u32,
    /// Width, positive.
    pub width: f64,
    /// Height, positive.
    pub height: f64,
}

/// An edge between two blocks, by their indices in [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index of the block that the edge leaves.
    pub from: usize,
    /// Index of the block that it enters.
    pub to: usize,
    /// Kind of the edge.
    pub kind: EdgeKind,
}

/// Kind of an edge, which decides the place on its block where it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// The only way on.
    Jump,
    /// The condition held: leaves on the left.
    True,
    /// The condition did not hold: leaves on the right.
    False,
    /// The n-th label of a switch, or the n-th exit of a call: from left to right.
    Case(u16),
}

/// A point of the drawing; y grows downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Distance from the left border.
    pub x: f64,
    /// Distance from the upper border.
    pub y: f64,
}

/// A box of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Left side.
    pub x: f64,
    /// Upper side.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// A loop's box: it contains the loop's blocks, inner loops included, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopBox {
    /// Id of the block that the loop is entered by (the first one found, where several are).
    pub head: u32,
    /// 1 for an outermost loop.
    pub depth: usize,
    /// Rectangle of the block.
    pub rect: Rect,
}

/// One edge as an orthogonal line from the lower side of its source to the upper side of its target.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Index in [`Graph::edges`].
    pub edge: usize,
    /// Whether it goes back to the head of a loop that contains its source.
    pub back: bool,
    /// The corners, first and last point included.
    pub points: Vec<Point>,
}

/// A drawing of a graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Rectangle of each block, by id.
    pub blocks: BTreeMap<u32, Rect>,
    /// One line for each edge, in the order of [`Graph::edges`].
    pub routes: Vec<Route>,
    /// The loops, outer before inner.
    pub loops: Vec<LoopBox>,
    /// Width of everything.
    pub width: f64,
    /// Height of everything.
    pub height: f64,
    /// Position of each step of the layered graph in its region, so that the next placement can keep the order.
    spots: BTreeMap<Spot, f64>,
}

/// Identity of a place in a row from one placement to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    /// A block.
    Block(u32),
    /// The loop with this block as its head.
    Loop(u32),
    /// In the loop with this head, the line to this block, so many rows before its end.
    Line { head: Option<u32>, target: u32, rows_to_go: usize },
}

/// Places `graph`, keeping to `previous` where that costs no crossing.
///
/// Shape: every block of the graph is in the result once, and every edge has a route. Panics if an edge names a block
/// that does not exist.
pub fn lay_out(graph: &Graph, previous: Option<&Placement>) -> Placement {
    let nest = nest::find_loops(graph);
    let wiring = compose::cross_borders(graph, &nest);
    let mut regions: Vec<Option<compose::LaidRegion>> = nest.regions.iter().map(|_| None).collect();
    // A region is listed before those inside it, so this order has the size of every inner loop ready.
    for index in (0..nest.regions.len()).rev() {
        let mut layers = link::layer(graph, &nest, &wiring, &regions, index);
        order::order_rows(&mut layers, previous);
        place::place_columns(&mut layers);
        regions[index] = Some(route::route(&layers));
    }
    compose::assemble(graph, &nest, regions)
}

/// Sorts indices by a key; equal ones keep their order. All phases and drawings share it, since the standard library's sort is
/// compiled anew, some four kilobytes of it, for every closure that it is given.
pub fn sort_indices(indices: &mut [usize], key: &dyn Fn(usize) -> (f64, f64)) {
    indices.sort_by(|&a, &b| {
        let (a, b) = (key(a), key(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
}

impl Rect {
    /// Whether the insides of the two boxes have a point in common.
    pub fn overlaps(&self, other: &Rect) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    /// The x coordinate of the middle.
    pub fn center_x(&self) -> f64 {
        self.x + self.width / 2.0
    }
}

impl Route {
    /// The smallest box around the line, a little wider than a straight one.
    pub fn bounds(&self) -> Rect {
        let range = |coordinate: fn(&Point) -> f64| {
            let all = || self.points.iter().map(coordinate);
            (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
        };
        let ((left, right), (top, bottom)) = (range(|point| point.x), range(|point| point.y));
        Rect { x: left - 1.0, y: top - 1.0, width: right - left + 2.0, height: bottom - top + 2.0 }
    }
}

impl Placement {
    /// The line of an edge as SVG path data, corners rounded by at most `radius`.
    pub fn path_data(points: &[Point], radius: f64) -> String {
        let mut data = String::new();
        for (index, point) in points.iter().enumerate() {
            let around = index.checked_sub(1).and_then(|before| Some((points[before], *points.get(index + 1)?)));
            match around {
                None if index == 0 => data.push_str(&format!("M{:.1} {:.1}", point.x, point.y)),
                None => data.push_str(&format!("L{:.1} {:.1}", point.x, point.y)),
                Some((before, after)) => {
                    let enter = toward(*point, before, radius);
                    let leave = toward(*point, after, radius);
                    data.push_str(&format!(
                        "L{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}",
                        enter.x, enter.y, point.x, point.y, leave.x, leave.y
                    ));
                }
            }
        }
        data
    }
}

/// The point `distance` from `from` on the way to `to`, at most half the way.
fn toward(from: Point, to: Point, distance: f64) -> Point {
    let length = (to.x - from.x).abs() + (to.y - from.y).abs();
    if length == 0.0 {
        return from;
    }
    let part = (distance / length).min(0.5);
    Point { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part }
}
