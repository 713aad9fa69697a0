//! Phases 2 and 3: a row for every item of a region, and chains of virtual nodes for edges that pass rows.
//!
//! A row is the longest way from the region's head, so every edge inside goes down. An edge that passes rows becomes a
//! chain with one virtual node a row; edges to the same block share its chain and merge where they join it. An edge
//! that leaves the region ends in a port on the lower border, one that enters it beside the head begins as a chain at
//! the upper one, and an edge to the head stays outside the rows: it will run up the left side.

use std::collections::BTreeMap;

use super::compose::{LaidRegion, Source, Wiring};
use super::nest::{Item, Nest};
use super::{EdgeKind, Graph, Spot, VIRTUAL_NODES, sort_indices};

/// The width that a line alone takes among blocks.
const LINE_WIDTH: f64 = 2.0;

/// A region in rows, ready to be ordered, placed and routed.
pub struct Layers {
    /// Items and virtual nodes.
    pub nodes: Vec<LayerNode>,
    /// Indices of nodes, row by row, from left to right.
    pub rows: Vec<Vec<usize>>,
    /// Connections between neighbouring rows.
    pub arcs: Vec<Arc>,
    /// Connections from a node up to the head.
    pub backs: Vec<Wire>,
    /// Connections that pass rows on the right margin because the chains have run out.
    pub margins: Vec<Wire>,
    /// The head's block, for a loop.
    pub head: Option<usize>,
    /// How wide it is what runs along a line.
    pub room: f64,
}

impl Layers {
    /// The width that a line takes among blocks.
    pub fn line_width(&self) -> f64 {
        LINE_WIDTH.max(self.room)
    }
}

/// An item of the region or one step of a chain.
pub struct LayerNode {
    /// Role of the node.
    pub role: Role,
    /// Spot that identifies it in a previous placement.
    pub spot: Spot,
    /// Its row.
    pub row: usize,
    /// Left side, set by the place phase.
    pub x: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// Role of a node of the layered graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A block or an inner loop.
    Item(Item),
    /// A step of the chain to this block.
    Chain(usize),
    /// The place on the lower border where edges to this block leave.
    Port(usize),
}

/// A line from a node to one in the next row.
pub struct Arc {
    /// The upper node and the distance of the line from its left side.
    pub from: (usize, f64),
    /// The lower node and the distance of the line from its left side.
    pub to: (usize, f64),
    /// The block that the line leads to in the end.
    pub target: usize,
    /// Start of the line in this region; none for the further steps of a chain.
    pub source: Option<Source>,
}

/// A line that does not go from row to row.
pub struct Wire {
    /// The node that it leaves and the distance from its left side.
    pub from: (usize, f64),
    /// The node that it enters; for a back edge the head.
    pub to: usize,
    /// The block that it leads to in the end.
    pub target: usize,
    /// Start of the line in this region.
    pub source: Source,
}

/// A line of the region before it has rows: its source, where it leaves it, and the block that it leads to.
struct Link {
    source: Source,
    from: (usize, f64),
    target: usize,
}

/// Arranges the items of one region in rows and links them.
pub fn layer(graph: &Graph, nest: &Nest, wiring: &Wiring, laid: &[Option<LaidRegion>], region: usize) -> Layers {
    let head = nest.regions[region].head;
    let mut layers = Layers {
        nodes: Vec::new(),
        rows: Vec::new(),
        arcs: Vec::new(),
        backs: Vec::new(),
        margins: Vec::new(),
        head,
        room: graph.room,
    };
    let line_width = layers.line_width();
    let mut node_of = BTreeMap::new();
    for &item in &nest.regions[region].items {
        let (spot, width, height) = match item {
            Item::Block(block) => {
                let node = &graph.nodes[block];
                (Spot::Block(node.id), node.width, node.height)
            }
            Item::Loop(inner) => {
                let size = laid[inner].as_ref().expect("inner loops are laid out first");
                let head = nest.regions[inner].head.expect("a loop has a head");
                (Spot::Loop(graph.nodes[head].id), size.width, size.height)
            }
        };
        node_of.insert(key(item), layers.nodes.len());
        layers.nodes.push(LayerNode { role: Role::Item(item), spot, row: 0, x: 0.0, width, height });
    }

    let mut links = Vec::new();
    for (node, &item) in nest.regions[region].items.iter().enumerate() {
        match item {
            Item::Block(block) => {
                let width = graph.nodes[block].width;
                let count = nest.leaving[block].len();
                links.extend(nest.leaving[block].iter().map(|&edge| Link {
                    source: Source::Edge(edge),
                    from: (node, leaving_at(graph.edges[edge].kind, width, count)),
                    target: graph.edges[edge].to,
                }));
            }
            Item::Loop(inner) => {
                let ports = &laid[inner].as_ref().expect("inner loops are laid out first").out_ports;
                links.extend(wiring.exits[inner].iter().map(|&target| Link {
                    source: Source::Exit(inner),
                    from: (node, ports[&target]),
                    target,
                }));
            }
        }
    }
    let destination = |target: usize| nest.item_with(region, target).map(|item| node_of[&key(item)]);

    rank(&mut layers, &links, head, destination);
    let height = layers.nodes.iter().map(|node| node.row + 1).max().unwrap_or(0);
    let to_head = |link: &Link| head == Some(link.target);
    let (backs, links): (Vec<Link>, Vec<Link>) = links.into_iter().partition(to_head);
    layers.backs = backs
        .into_iter()
        .map(|link| Wire { from: link.from, to: 0, target: link.target, source: link.source })
        .collect();

    let mut by_target: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, link) in links.iter().enumerate() {
        by_target.entry(link.target).or_default().push(index);
    }
    for &target in &wiring.entries[region] {
        by_target.entry(target).or_default();
    }
    let head_id = head.map(|head| graph.nodes[head].id);
    let line = |target: usize, rows_to_go| Spot::Line { head: head_id, target: graph.nodes[target].id, rows_to_go };
    let mut spent = 0;
    for (target, indices) in by_target {
        let end = destination(target).unwrap_or_else(|| {
            layers.nodes.push(LayerNode {
                role: Role::Port(target),
                spot: line(target, 0),
                row: height,
                x: 0.0,
                width: line_width,
                height: 0.0,
            });
            layers.nodes.len() - 1
        });
        let enters = wiring.entries[region].contains(&target);
        let links: Vec<&Link> = indices.into_iter().map(|index| &links[index]).collect();
        connect(&mut layers, &links, target, end, laid, enters, line, &mut spent);
    }
    let rows = layers.nodes.iter().map(|node| node.row + 1).max().unwrap_or(0);
    layers.rows = vec![Vec::new(); rows];
    for (index, node) in layers.nodes.iter().enumerate() {
        layers.rows[node.row].push(index);
    }
    if let Some(first) = layers.rows.first_mut() {
        // The entry stands left of blocks that nothing leads to.
        let block = |node: usize| match layers.nodes[node].role {
            Role::Item(Item::Block(block)) => block as f64,
            Role::Item(Item::Loop(inner)) => nest.regions[inner].head.unwrap_or(0) as f64,
            Role::Chain(_) | Role::Port(_) => f64::INFINITY,
        };
        sort_indices(first, &|node| (block(node), 0.0));
    }
    layers
}

/// Longest ways from the head, following the topological order of the items.
fn rank(layers: &mut Layers, links: &[Link], head: Option<usize>, destination: impl Fn(usize) -> Option<usize>) {
    // Links are grouped by node, and nodes are in topological order.
    let first_row = usize::from(head.is_some());
    layers.nodes.iter_mut().skip(1).for_each(|node| node.row = first_row);
    for link in links {
        if let Some(to) = destination(link.target).filter(|_| head != Some(link.target)) {
            layers.nodes[to].row = layers.nodes[to].row.max(layers.nodes[link.from.0].row + 1);
        }
    }
}

/// Makes the arcs of all links to one block, through a chain that starts below the highest of them.
#[allow(clippy::too_many_arguments)] // It is the body of the loop above, given a name.
fn connect(
    layers: &mut Layers,
    links: &[&Link],
    target: usize,
    end: usize,
    laid: &[Option<LaidRegion>],
    enters: bool,
    line: impl Fn(usize, usize) -> Spot,
    spent: &mut usize,
) {
    let (last, line_width) = (layers.nodes[end].row, layers.line_width());
    let first = if enters { Some(0) } else { links.iter().map(|link| layers.nodes[link.from.0].row + 1).min() };
    let first = first.unwrap_or(last);
    let arrive = |layers: &Layers| match layers.nodes[end].role {
        Role::Item(Item::Loop(inner)) => laid[inner].as_ref().map_or(0.0, |size| size.in_ports[&target]),
        _ => layers.nodes[end].width / 2.0,
    };
    let to_end = (end, arrive(layers));
    // A way in at the border needs its chain whatever it costs; there are no more of them than blocks.
    let affordable = enters || *spent + (last - first) <= VIRTUAL_NODES;
    let mut chain = Vec::new();
    if affordable {
        *spent += last - first;
        for row in first..last {
            chain.push(layers.nodes.len());
            layers.nodes.push(LayerNode {
                role: Role::Chain(target),
                spot: line(target, last - row),
                row,
                x: 0.0,
                width: line_width,
                height: 0.0,
            });
        }
        let steps = chain.iter().map(|&node| (node, line_width / 2.0)).chain([to_end]);
        for (from, to) in steps.clone().zip(steps.skip(1)) {
            layers.arcs.push(Arc { from, to, target, source: None });
        }
    }
    for link in links {
        let row = layers.nodes[link.from.0].row + 1;
        if row == last {
            layers.arcs.push(Arc { from: link.from, to: to_end, target, source: Some(link.source) });
        } else if affordable {
            let to = (chain[row - first], line_width / 2.0);
            layers.arcs.push(Arc { from: link.from, to, target, source: Some(link.source) });
        } else {
            layers.margins.push(Wire { from: link.from, to: end, target, source: link.source });
        }
    }
}

/// The distance from the left side at which an edge of this kind leaves a block with `count` edges.
fn leaving_at(kind: EdgeKind, width: f64, count: usize) -> f64 {
    let aside = (width / 4.0).min(36.0);
    match kind {
        EdgeKind::Jump => width / 2.0,
        EdgeKind::True => width / 2.0 - aside,
        EdgeKind::False => width / 2.0 + aside,
        EdgeKind::Case(case) => width * (f64::from(case) + 1.0) / (count.max(usize::from(case) + 1) as f64 + 1.0),
    }
}

fn key(item: Item) -> (bool, usize) {
    match item {
        Item::Block(block) => (false, block),
        Item::Loop(region) => (true, region),
    }
}
