//! How regions fit together: which edges cross their borders, and one drawing out of all of them.
//!
//! An edge `u → v` is drawn in parts. In the region of `u` it goes to `v`, or to the port for `v` on the lower border;
//! then on from there in the region around, until one contains `v`; and from the upper border of each loop around `v`
//! further in. Each region knows the parts inside it; this file names them and strings them together.

use std::collections::BTreeMap;

use super::nest::{Item, Nest};
use super::{Graph, LoopBox, Placement, Point, Rect, Route, Spot, sort_indices};

/// Start of a line inside a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// At the block that this edge leaves.
    Edge(usize),
    /// At the lower border of this inner loop.
    Exit(usize),
    /// At the upper border of the region itself.
    Entry,
}

/// For each region the blocks that edges over its border lead to.
pub struct Wiring {
    /// Blocks outside (or heads of loops around) that an edge from inside leads to.
    pub exits: Vec<Vec<usize>>,
    /// Blocks inside, other than the head, that an edge from outside leads to.
    pub entries: Vec<Vec<usize>>,
}

/// A region that is laid out, in its own coordinates.
pub struct LaidRegion {
    /// Width of the box.
    pub width: f64,
    /// Height of the box.
    pub height: f64,
    /// The upper left corner of each item.
    pub corners: Vec<(Item, Point)>,
    /// Ports on the upper border where lines to a block inside enter.
    pub in_ports: BTreeMap<usize, f64>,
    /// Ports on the lower border where lines to a block outside leave.
    pub out_ports: BTreeMap<usize, f64>,
    /// The middle of every node of the layered graph.
    pub spots: Vec<(Spot, f64)>,
    /// The lines inside, by where they begin and the block that they lead to.
    pub wires: BTreeMap<(Source, usize), Vec<Point>>,
}

/// Finds the edges over the borders of each region.
pub fn cross_borders(graph: &Graph, nest: &Nest) -> Wiring {
    let mut exits = vec![Vec::new(); nest.regions.len()];
    let mut entries = vec![Vec::new(); nest.regions.len()];
    for edge in &graph.edges {
        let mut region = nest.home[edge.from];
        while !nest.contains(region, edge.to) {
            exits[region].push(edge.to);
            region = nest.regions[region].parent.expect("the function contains every block");
        }
        let mut region = nest.home[edge.to];
        while !nest.contains(region, edge.from) {
            if nest.regions[region].head != Some(edge.to) {
                entries[region].push(edge.to);
            }
            region = nest.regions[region].parent.expect("the function contains every block");
        }
    }
    for targets in exits.iter_mut().chain(&mut entries) {
        sort_indices(targets, &|target| (target as f64, 0.0));
        targets.dedup();
    }
    Wiring { exits, entries }
}

/// Puts all regions into one drawing.
pub fn assemble(graph: &Graph, nest: &Nest, regions: Vec<Option<LaidRegion>>) -> Placement {
    let regions: Vec<LaidRegion> =
        regions.into_iter().map(|region| region.expect("every region is laid out")).collect();
    let mut origins = vec![Point { x: 0.0, y: 0.0 }; regions.len()];
    let mut placement = Placement { width: regions[0].width, height: regions[0].height, ..Placement::default() };
    for (index, region) in regions.iter().enumerate() {
        let origin = origins[index];
        placement.spots.extend(region.spots.iter().copied());
        if let Some(head) = nest.regions[index].head {
            let rect = Rect { x: origin.x, y: origin.y, width: region.width, height: region.height };
            placement.loops.push(LoopBox { head: graph.nodes[head].id, depth: nest.regions[index].depth, rect });
        }
        for &(item, corner) in &region.corners {
            let at = Point { x: origin.x + corner.x, y: origin.y + corner.y };
            match item {
                Item::Loop(inner) => origins[inner] = at,
                Item::Block(block) => {
                    let node = graph.nodes[block];
                    placement.blocks.insert(node.id, Rect { x: at.x, y: at.y, width: node.width, height: node.height });
                }
            }
        }
    }
    placement.routes =
        (0..graph.edges.len()).map(|edge| string_together(graph, nest, &regions, &origins, edge)).collect();
    placement
}

/// The whole line of one edge.
fn string_together(graph: &Graph, nest: &Nest, regions: &[LaidRegion], origins: &[Point], edge: usize) -> Route {
    let (from, to) = (graph.edges[edge].from, graph.edges[edge].to);
    let mut points: Vec<Point> = Vec::new();
    let mut add = |region: usize, source: Source| {
        let origin = origins[region];
        for point in regions[region].wires.get(&(source, to)).into_iter().flatten() {
            push_corner(&mut points, Point { x: origin.x + point.x, y: origin.y + point.y });
        }
    };
    let mut region = nest.home[from];
    let mut source = Source::Edge(edge);
    add(region, source);
    while !nest.contains(region, to) {
        source = Source::Exit(region);
        region = nest.regions[region].parent.expect("the function contains every block");
        add(region, source);
    }
    let back = nest.regions[region].head == Some(to);
    let mut inwards = Vec::new();
    let mut inner = nest.home[to];
    while !back && inner != region {
        inwards.push(inner);
        inner = nest.regions[inner].parent.expect("a block's region is inside every one that holds the block");
    }
    inwards.into_iter().rev().for_each(|inner| add(inner, Source::Entry));
    Route { edge, back, points }
}

/// Appends a corner, without repeating one and without corners in the middle of a straight line.
pub fn push_corner(points: &mut Vec<Point>, point: Point) {
    const SAME: f64 = 1e-6;
    let near = |a: f64, b: f64| (a - b).abs() < SAME;
    if let [.., last] = points[..]
        && near(last.x, point.x)
        && near(last.y, point.y)
    {
        return;
    }
    if let [.., before, last] = points[..] {
        let vertical = near(before.x, last.x) && near(last.x, point.x);
        let horizontal = near(before.y, last.y) && near(last.y, point.y);
        let onwards = (last.x - before.x) * (point.x - last.x) + (last.y - before.y) * (point.y - last.y) >= 0.0;
        if (vertical || horizontal) && onwards {
            points.pop();
        }
    }
    points.push(point);
}
