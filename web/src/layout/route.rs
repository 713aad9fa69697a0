//! Phase 6: the y coordinates, and every line of a region as corners.
//!
//! Between two rows lies a gap with horizontal tracks. A line goes down from its port to a track, along it, and down to
//! the next row. Lines that overlap get different tracks, chosen so that two lines to the same side never cross; lines
//! that merge in a chain share theirs. Back edges take a track to the lane on the left, go up, and enter the head from
//! a track above it. Lines therefore cross one another only at right angles, and never a block.
//!
//! Bounds: O(k²) for the k lines of one gap, at most [`EXACT_TRACKS`] of them; what is more shares the last tracks.

use std::collections::BTreeMap;

use super::Point;
use super::compose::{LaidRegion, Source, push_corner};
use super::link::{Layers, Role};
use super::nest::Item;
use super::sort_indices;

/// From a block to the first track, and from the last track to the next block.
const LEAD: f64 = 15.0;
/// Between two tracks, unless what runs along the lines is wider.
const TRACK: f64 = 9.0;
/// Around the contents of a loop.
const PADDING: f64 = 14.0;
/// Between the lane of the back edges and the contents.
const LANE: f64 = 16.0;
/// Between two ports on a block's upper side, likewise.
const PORT: f64 = 14.0;
/// A step to the side smaller than this is avoided by moving the port.
const JOG: f64 = 26.0;
/// Lines of one gap that get tracks of their own.
const EXACT_TRACKS: usize = 2000;

/// A horizontal part of a line in a gap.
struct Segment {
    gap: usize,
    from_x: f64,
    to_x: f64,
    /// Lines with the same net may lie on each other.
    net: Net,
    track: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Net {
    /// A line of its own.
    Own(usize),
    /// Lines that end in this node at the same point.
    Into(usize),
    /// Lines that end in the lane of the back edges.
    Lane,
    /// Lines that end in the right margin on the way to this block, or come from there.
    Margin(usize),
}

/// Draws the lines of one region.
pub fn route(layers: &Layers) -> LaidRegion {
    let is_loop = layers.head.is_some();
    let track = TRACK.max(layers.room);
    // What runs along two lines on both sides of a loop's border has half its width on each.
    let half = layers.room / 2.0;
    let (lead, lane) = (LEAD.max(half), PADDING.max(half));
    let left = if is_loop { lane + LANE.max(layers.room) } else { 0.0 };
    let content = layers.nodes.iter().map(|node| node.x + node.width).fold(0.0, f64::max);
    let margin_lanes = margin_lanes(layers, left + content);
    let right = margin_lanes.values().copied().fold(left + content, f64::max);

    let arrivals = spread_arrivals(layers);
    let from_x = |(node, at): (usize, f64)| left + layers.nodes[node].x + at;
    let mut segments: Vec<Segment> = Vec::new();
    let mut add = |gap: usize, from_x: f64, to_x: f64, net: Net| {
        segments.push(Segment { gap, from_x, to_x, net, track: 0 });
        segments.len() - 1
    };
    let arcs: Vec<usize> = (layers.arcs.iter().enumerate())
        .map(|(index, arc)| {
            let to = left + layers.nodes[arc.to.0].x + arrivals[index];
            let shared = !matches!(layers.nodes[arc.to.0].role, Role::Item(Item::Block(_)));
            let net = if shared { Net::Into(arc.to.0) } else { Net::Own(index) };
            add(layers.nodes[arc.from.0].row, from_x(arc.from), to, net)
        })
        .collect();
    let backs: Vec<usize> = layers
        .backs
        .iter()
        .map(|wire| add(layers.nodes[wire.from.0].row, from_x(wire.from), lane, Net::Lane))
        .collect();
    let margins: Vec<(usize, usize)> = (layers.margins.iter())
        .map(|wire| {
            let (out, end) = (margin_lanes[&wire.target], &layers.nodes[wire.to]);
            let down = add(layers.nodes[wire.from.0].row, from_x(wire.from), out, Net::Margin(wire.target));
            let into = left + end.x + end.width / 2.0 + (end.width / 4.0).min(PORT);
            (down, add(end.row - 1, out, into, Net::Margin(wire.target)))
        })
        .collect();
    let tracks = assign_tracks(&mut segments, layers.rows.len());

    // Rows and gaps from the top; the tracks of a gap lie in its middle.
    let back_y = lane;
    let mut y = if is_loop { if layers.backs.is_empty() { PADDING } else { back_y + lead + 4.0 } } else { 0.0 };
    let (mut row_top, mut gap_top) = (Vec::new(), Vec::new());
    for (row, nodes) in layers.rows.iter().enumerate() {
        row_top.push(y);
        y += nodes.iter().map(|&node| layers.nodes[node].height).fold(0.0, f64::max);
        gap_top.push(y);
        let last = row + 1 == layers.rows.len();
        let ports = nodes.iter().any(|&node| matches!(layers.nodes[node].role, Role::Port(_)));
        y += match (tracks[row], last) {
            (0, true) if ports => 0.0,
            (0, true) => {
                if is_loop {
                    PADDING
                } else {
                    0.0
                }
            }
            (tracks, _) => 2.0 * lead + (tracks.max(1) - 1) as f64 * track,
        };
    }
    let height = y;
    let track_y = |segment: &Segment| gap_top[segment.gap] + lead + segment.track as f64 * track;
    let bottom = |node: usize| row_top[layers.nodes[node].row] + layers.nodes[node].height;

    // The two corners of a line in its gap, from a node's lower side on.
    let leave = |points: &mut Vec<Point>, from: (usize, f64), segment: &Segment| {
        push_corner(points, Point { x: segment.from_x, y: bottom(from.0) });
        if (segment.from_x - segment.to_x).abs() > 0.5 {
            push_corner(points, Point { x: segment.from_x, y: track_y(segment) });
            push_corner(points, Point { x: segment.to_x, y: track_y(segment) });
        }
    };
    // What a line does after it has entered a chain, for every step of every chain, from the last one upwards.
    let mut tails: Vec<Vec<Point>> = vec![Vec::new(); layers.nodes.len()];
    let mut chain_arcs: Vec<usize> = (0..layers.arcs.len()).filter(|&arc| layers.arcs[arc].source.is_none()).collect();
    sort_indices(&mut chain_arcs, &|arc| (-(layers.nodes[layers.arcs[arc].from.0].row as f64), 0.0));
    let arrive = |tails: &[Vec<Point>], points: &mut Vec<Point>, index: usize| {
        let node = layers.arcs[index].to.0;
        let segment = &segments[arcs[index]];
        push_corner(points, Point { x: segment.to_x, y: row_top[layers.nodes[node].row] });
        match layers.nodes[node].role {
            Role::Chain(_) => tails[node].iter().for_each(|&point| push_corner(points, point)),
            Role::Port(_) => push_corner(points, Point { x: segment.to_x, y: height }),
            Role::Item(_) => {}
        }
    };
    for index in chain_arcs {
        let from = layers.arcs[index].from;
        let mut points = vec![Point { x: from_x(from), y: row_top[layers.nodes[from.0].row] }];
        leave(&mut points, (from.0, from.1), &segments[arcs[index]]);
        arrive(&tails, &mut points, index);
        tails[from.0] = points;
    }

    let mut laid = LaidRegion {
        width: if is_loop { right + PADDING } else { right },
        height,
        corners: Vec::new(),
        in_ports: BTreeMap::new(),
        out_ports: BTreeMap::new(),
        spots: layers.nodes.iter().map(|node| (node.spot, node.x + node.width / 2.0)).collect(),
        wires: BTreeMap::new(),
    };
    for (index, arc) in layers.arcs.iter().enumerate() {
        let Some(source) = arc.source else { continue };
        let mut points = Vec::new();
        leave(&mut points, arc.from, &segments[arcs[index]]);
        arrive(&tails, &mut points, index);
        laid.wires.insert((source, arc.target), points);
    }
    for (wire, &segment) in layers.backs.iter().zip(&backs) {
        let head = &layers.nodes[0];
        let mut points = Vec::new();
        leave(&mut points, wire.from, &segments[segment]);
        let into = left + head.x + head_port(layers) - (head.width / 4.0).min(PORT.max(layers.room));
        push_corner(&mut points, Point { x: lane, y: track_y(&segments[segment]) });
        push_corner(&mut points, Point { x: lane, y: back_y });
        push_corner(&mut points, Point { x: into, y: back_y });
        push_corner(&mut points, Point { x: into, y: row_top[0] });
        laid.wires.insert((wire.source, wire.target), points);
    }
    for (wire, &(down, along)) in layers.margins.iter().zip(&margins) {
        let mut points = Vec::new();
        leave(&mut points, wire.from, &segments[down]);
        let along = &segments[along];
        push_corner(&mut points, Point { x: along.from_x, y: track_y(along) });
        push_corner(&mut points, Point { x: along.to_x, y: track_y(along) });
        push_corner(&mut points, Point { x: along.to_x, y: row_top[layers.nodes[wire.to].row] });
        if matches!(layers.nodes[wire.to].role, Role::Port(_)) {
            push_corner(&mut points, Point { x: along.to_x, y: height });
        }
        laid.wires.insert((wire.source, wire.target), points);
    }
    finish(layers, &mut laid, left, &row_top, &tails);
    laid
}

/// The corners of items, and the ports on both borders.
fn finish(layers: &Layers, laid: &mut LaidRegion, left: f64, row_top: &[f64], tails: &[Vec<Point>]) {
    for (index, node) in layers.nodes.iter().enumerate() {
        match node.role {
            Role::Item(item) => laid.corners.push((item, Point { x: left + node.x, y: row_top[node.row] })),
            Role::Port(target) => {
                laid.out_ports.insert(target, left + node.x + node.width / 2.0);
            }
            // Only a chain to a block that is entered beside the head begins in the first row.
            Role::Chain(target) if node.row == 0 && layers.head.is_some() => {
                let x = left + node.x + node.width / 2.0;
                let mut points = vec![Point { x, y: 0.0 }];
                tails[index].iter().for_each(|&point| push_corner(&mut points, point));
                laid.in_ports.insert(target, x);
                laid.wires.insert((Source::Entry, target), points);
            }
            Role::Chain(_) => {}
        }
    }
    if let Some(head) = layers.head {
        let x = left + layers.nodes[0].x + head_port(layers);
        laid.in_ports.insert(head, x);
        laid.wires.insert((Source::Entry, head), vec![Point { x, y: 0.0 }, Point { x, y: row_top[0] }]);
    }
}

/// Port on the head's left side where the lines into the loop enter.
fn head_port(layers: &Layers) -> f64 {
    layers.nodes[0].width / 2.0
}

/// A lane in the right margin for every block that lines reach through it.
fn margin_lanes(layers: &Layers, content: f64) -> BTreeMap<usize, f64> {
    let mut targets: Vec<usize> = layers.margins.iter().map(|wire| wire.target).collect();
    sort_indices(&mut targets, &|target| (target as f64, 0.0));
    targets.dedup();
    let mut lanes = BTreeMap::new();
    for (lane, target) in targets.into_iter().enumerate() {
        lanes.insert(target, content + PADDING + lane as f64 * TRACK.max(layers.room));
    }
    lanes
}

/// Ports of each arc on its lower node's left side: apart from one another on a block, in the order
/// of where they come from, and straight under where they come from if that is near.
fn spread_arrivals(layers: &Layers) -> Vec<f64> {
    let mut arrivals: Vec<f64> = layers.arcs.iter().map(|arc| arc.to.1).collect();
    let mut entering: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, arc) in layers.arcs.iter().enumerate() {
        if matches!(layers.nodes[arc.to.0].role, Role::Item(Item::Block(_))) {
            entering.entry(arc.to.0).or_default().push(index);
        }
    }
    for (node, mut arcs) in entering {
        let start = |arc: usize| layers.nodes[layers.arcs[arc].from.0].x + layers.arcs[arc].from.1;
        sort_indices(&mut arcs, &|arc| (start(arc), 0.0));
        let block = &layers.nodes[node];
        let port = PORT.max(layers.room).min(block.width / (arcs.len() as f64 + 1.0));
        let first = block.width / 2.0 - port * (arcs.len() as f64 - 1.0) / 2.0;
        for (place, &arc) in arcs.iter().enumerate() {
            arrivals[arc] = first + port * place as f64;
        }
        // From left to right: a port moves under its line if it then still keeps its distance to the ones beside it.
        for (place, arc) in arcs.iter().enumerate() {
            let straight = start(*arc) - block.x;
            let free_from = if place == 0 { 8.0 } else { arrivals[arcs[place - 1]] + port };
            let free_to = arcs.get(place + 1).map_or(block.width - 8.0, |&next| arrivals[next] - port);
            if (straight - arrivals[*arc]).abs() < JOG && (free_from..=free_to).contains(&straight) {
                arrivals[*arc] = straight;
            }
        }
    }
    arrivals
}

/// Gives each segment its track and returns how many tracks each gap has.
fn assign_tracks(segments: &mut [Segment], gaps: usize) -> Vec<usize> {
    let mut by_gap: Vec<Vec<usize>> = vec![Vec::new(); gaps];
    for (index, segment) in segments.iter().enumerate() {
        if (segment.from_x - segment.to_x).abs() > 0.5 || segment.net == Net::Lane {
            by_gap[segment.gap].push(index);
        }
    }
    let mut count = vec![0; gaps];
    for (gap, members) in by_gap.iter_mut().enumerate() {
        // Of two lines to the right, the one that starts further right turns first; to the left, the other way round.
        let rightwards = |index: &usize| segments[*index].to_x > segments[*index].from_x;
        let (mut right, mut left): (Vec<usize>, Vec<usize>) = members.iter().copied().partition(rightwards);
        sort_indices(&mut right, &|index| (-segments[index].from_x, 0.0));
        sort_indices(&mut left, &|index| (segments[index].from_x, 0.0));
        let mut placed: Vec<usize> = Vec::new();
        for index in left.into_iter().chain(right) {
            let track = placed
                .iter()
                .rev()
                .take(EXACT_TRACKS)
                .filter(|&&other| meets(&segments[index], &segments[other]))
                .map(|&other| segments[other].track + 1)
                .max();
            let shared =
                placed.iter().rev().take(EXACT_TRACKS).find(|&&other| segments[other].net == segments[index].net);
            let track = match shared {
                Some(&other) => segments[other].track.max(track.unwrap_or(0)),
                None => track.unwrap_or(0),
            };
            segments[index].track = track;
            count[gap] = count[gap].max(track + 1);
            placed.push(index);
        }
    }
    count
}

/// Whether two segments of different nets would touch on one track.
fn meets(a: &Segment, b: &Segment) -> bool {
    let range = |segment: &Segment| (segment.from_x.min(segment.to_x), segment.from_x.max(segment.to_x));
    let ((a_left, a_right), (b_left, b_right)) = (range(a), range(b));
    a.net != b.net && a_left < b_right + 4.0 && b_left < a_right + 4.0
}
