//! A graph small enough to stand beside others: boxes with their names, and how many loads each block makes.

use warpscope_engine::message::{EdgeKind, Graph, GraphBlock};
use yew::{Html, component, html, use_memo};

use super::super::shortened;
use crate::layout::{self, Placement};

/// Size of a box, and of the free space around all of them.
const BOX: (f64, f64) = (84.0, 34.0);
const MARGIN: f64 = 8.0;
/// Characters of a name.
const MOST_CHARACTERS: usize = 9;
/// Blocks of a graph that is drawn at all.
const MOST_BLOCKS: usize = 400;

/// What there is to draw.
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
    let Some(placement) = &*placement else {
        return html! { <p class="note small-graph">{ "Too many blocks for a small drawing." }</p> };
    };
    let all_loads: usize = graph.blocks.iter().map(loads).sum();
    html! {
        <svg class="small-graph" role="img" aria-label={format!("Graph behind {name}: {} and {}", super::super::count(graph.blocks.len(), "block"), super::super::count(all_loads, "load"))}
            viewBox={format!("{:.0} {:.0} {:.0} {:.0}", -MARGIN, -MARGIN, placement.width + 2.0 * MARGIN, placement.height + 2.0 * MARGIN)}>
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
                        <rect width={BOX.0.to_string()} height={BOX.1.to_string()} rx="6" />
                        <text x="8" y="22">{ shortened(&block.name, MOST_CHARACTERS) }</text>
                        if loads(block) > 0 { <text class="loads" x={(BOX.0 - 8.0).to_string()} y="22" text-anchor="end">{ format!("{} ld", loads(block)) }</text> }
                        if block.divergent.is_some() { <rect class="divergence" x="1" y={(BOX.1 - 6.0).to_string()} width={(BOX.0 - 2.0).to_string()} height="5" rx="2" /> }
                    </g>
                }
            }) }
        </svg>
    }
}

fn boxes(graph: &Graph) -> layout::Graph {
    let nodes = graph.blocks.iter().map(|block| layout::Node { id: block.id, width: BOX.0, height: BOX.1 });
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
    layout::Graph { nodes: nodes.collect(), edges: edges.collect() }
}

/// How many loads stand in a block.
fn loads(block: &GraphBlock) -> usize {
    block.lines.iter().filter(|line| line.text.contains(" = ld.")).count()
}
