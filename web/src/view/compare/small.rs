//! A graph small enough to stand beside others: boxes with their names, and how many loads each block makes.

use warpscope_engine::message::{EdgeKind, Graph, GraphBlock};
use yew::{Html, component, html, use_memo};

use super::super::shortened_within;
use crate::layout::{self, Placement};

/// Height of a box, its width without a name, and of the free space around all of them. Letters are large beside it: of a
/// graph that is drawn small they are what is looked for.
const HEIGHT: f64 = 36.0;
const SIDES: f64 = 22.0;
const MARGIN: f64 = 14.0;
/// Width of a character, and characters of a name.
const CHARACTER: f64 = 14.5;
const MOST_CHARACTERS: usize = 8;
/// How much larger than it is laid out a graph is drawn: letters of one block alone are not larger than those of a few.
const MOST_SCALE: f64 = 1.4;
/// Blocks of a graph that is drawn at all.
const MOST_BLOCKS: usize = 400;

/// Properties of the drawing.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// The graph.
    pub graph: Graph,
    /// Whose it is.
    pub name: String,
}

/// The graph.
#[component]
pub fn SmallGraph(Props { graph, name }: &Props) -> Html {
    let placement = use_memo(graph.clone(), |graph| {
        (graph.blocks.len() <= MOST_BLOCKS).then(|| layout::lay_out(&boxes(graph), None))
    });
    let width = box_width(graph);
    let Some(placement) = &*placement else {
        return html! { <p class="note small-graph">{ "Too many blocks for a small drawing." }</p> };
    };
    let [wide, high] = [placement.width, placement.height].map(|length| length + 2.0 * MARGIN);
    let all_loads: usize = graph.blocks.iter().map(loads).sum();
    html! {
        <svg class="small-graph" role="img" aria-label={format!("Graph after {name}: {} and {}", super::super::count(graph.blocks.len(), "block"), super::super::count(all_loads, "load"))}
            viewBox={format!("{:.0} {:.0} {wide:.0} {high:.0}", -MARGIN, -MARGIN)}
            style={format!("max-width: {:.0}px", wide * MOST_SCALE)}>
            { for placement.routes.iter().map(|route| {
                let class = match graph.edges[route.edge].kind {
                    EdgeKind::True => "edge true",
                    EdgeKind::False => "edge false",
                    EdgeKind::Jump | EdgeKind::Case(_) => "edge",
                };
                html! { <g {class}><path d={Placement::path_data(&route.points, 6.0)} /></g> }
            }) }
            { for graph.blocks.iter().map(|block| {
                let rect = placement.blocks[&block.id];
                let class = if block.divergent.is_some() { "small divergent" } else { "small" };
                html! {
                    <g {class} transform={format!("translate({:.1} {:.1})", rect.x, rect.y)}>
                        <rect width={width.to_string()} height={HEIGHT.to_string()} rx="6" />
                        <text x={(width / 2.0).to_string()} y="25" text-anchor="middle">{ shortened_within(&block.name, MOST_CHARACTERS) }</text>
                        if block.divergent.is_some() { <rect class="divergence" x="1" y={(HEIGHT - 6.0).to_string()} width={(width - 2.0).to_string()} height="5" rx="2" /> }
                        if loads(block) > 0 {
                            <g class="loads" transform={format!("translate({:.1} 0)", width)}>
                                <title>{ super::super::count(loads(block), "load") }</title>
                                <circle r="13" /><text y="7" text-anchor="middle">{ loads(block) }</text>
                            </g>
                        }
                    </g>
                }
            }) }
        </svg>
    }
}

fn boxes(graph: &Graph) -> layout::Graph {
    let width = box_width(graph);
    let nodes = graph.blocks.iter().map(|block| layout::Node { id: block.id, width, height: HEIGHT });
    let edges = graph.edges.iter().map(|edge| layout::Edge {
        from: edge.from,
        to: edge.to,
        kind: match edge.kind {
            EdgeKind::Jump => layout::EdgeKind::Jump,
            EdgeKind::True => layout::EdgeKind::True,
            EdgeKind::False => layout::EdgeKind::False,
            EdgeKind::Case(case) => layout::EdgeKind::Case(case),
        },
    });
    layout::Graph { nodes: nodes.collect(), edges: edges.collect(), room: 0.0 }
}

/// As wide as the longest name: what short names leave makes the graph larger.
fn box_width(graph: &Graph) -> f64 {
    let longest = graph.blocks.iter().map(|block| block.name.chars().count()).max().unwrap_or(0);
    longest.clamp(2, MOST_CHARACTERS) as f64 * CHARACTER + SIDES
}

/// How many loads stand in a block.
fn loads(block: &GraphBlock) -> usize {
    block.lines.iter().filter(|line| line.text.contains(" = ld.")).count()
}
