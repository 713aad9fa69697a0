//! A flow network of an inspection: lines as wide as their capacities, filled as far as they flow. A saturated line has
//! a double bar, and the cut is a dashed line across its edges. The numbers are in a table that opens.

use warpscope_engine::message::inspect::{Network, NetworkEdge, NodeRole};
use yew::{Callback, Event, Html, component, html, use_memo, use_state_eq};

use super::super::{Shared, shortened_within, thousands};
use crate::layout::{self, Placement, Point};
use warpscope_engine::message::inspect::Inspection;

/// Height of a box, its sides beside a name, width of a character, and the free space around all.
const HEIGHT: f64 = 26.0;
const SIDES: f64 = 16.0;
const CHARACTER: f64 = 7.6;
const MARGIN: f64 = 22.0;
/// Longer names are shortened.
const MOST_CHARACTERS: usize = 12;
/// Width of the widest line, and the least of all.
const WIDEST: f64 = 15.0;
const THINNEST: f64 = 1.5;
/// Networks with more nodes have their table alone.
const MOST_NODES: usize = 120;

/// Properties of a network.
#[derive(PartialEq, yew::Properties)]
pub struct Props {
    /// The inspection.
    pub told: Shared<Inspection>,
    /// The network's place in it.
    pub place: usize,
}

/// The network.
#[component]
pub fn FlowNetwork(Props { told, place }: &Props) -> Html {
    let placement = use_memo((told.clone(), *place), |(told, place)| {
        let network = told.0.networks.get(*place)?;
        (network.nodes.len() <= MOST_NODES).then(|| layout::lay_out(&boxes(network), None))
    });
    // Networks may have a thousand edges: those who open the table have its rows.
    let was_opened = use_state_eq(|| false);
    let ontoggle = {
        let was_opened = was_opened.clone();
        Callback::from(move |_: Event| was_opened.set(true))
    };
    let Some(network) = told.0.networks.get(*place) else { return Html::default() };
    html! {
        <figure class="network" data-testid="network">
            <figcaption>{ &network.name }<small>{ format!("flow {}", network.value) }</small></figcaption>
            if let Some(placement) = &*placement {
                { drawing(network, placement) }
            } else {
                <p class="note">{ format!("{} nodes are too many to draw; the table has all edges.", thousands(network.nodes.len() as u64)) }</p>
            }
            <details class="chart-numbers" {ontoggle}>
                <summary>{ format!("{} edges", thousands(network.edges.len() as u64)) }</summary>
                if *was_opened { { table(network) } }
            </details>
        </figure>
    }
}

/// The edges with their numbers.
fn table(network: &Network) -> Html {
    let heads = ["Edge", "Flow", "Capacity", ""].map(|name| html! { <th scope="col">{ name }</th> });
    let row = |edge: &NetworkEdge| {
        html! {
            <tr>
                <th scope="row">{ format!("{} → {}", network.label(edge.from), network.label(edge.to)) }</th>
                <td class="number">{ edge.flow }</td><td class="number">{ capacity(edge) }</td><td>{ state(edge) }</td>
            </tr>
        }
    };
    html! {
        <table class="value-table">
            <thead><tr>{ for heads }</tr></thead>
            <tbody>{ for network.edges.iter().map(row) }</tbody>
        </table>
    }
}

fn drawing(network: &Network, placement: &Placement) -> Html {
    let largest = network.edges.iter().map(|edge| edge.capacity.unwrap_or(edge.flow)).max().unwrap_or(1).max(1) as f64;
    let width = |count: u64| if count == 0 { 0.0 } else { (count as f64 / largest * WIDEST).max(THINNEST) };
    let [wide, high] = [placement.width, placement.height].map(|length| length + 2.0 * MARGIN);
    let saturated = network.edges.iter().filter(|edge| edge.is_saturated()).count();
    let line = |route: &layout::Route| {
        let edge = &network.edges[route.edge];
        let data = Placement::path_data(&route.points, 5.0);
        let capacity_width = width(edge.capacity.unwrap_or(edge.flow)).max(THINNEST);
        html! {
            <g class={format!("flow-edge{}{}", if edge.is_saturated() { " saturated" } else { "" }, if edge.is_cut { " cut" } else { "" })}>
                <title>{ format!("{} → {}: {} of {}{}", network.label(edge.from), network.label(edge.to), edge.flow, capacity(edge), spoken(edge)) }</title>
                <path class="capacity" d={data.clone()} stroke-width={unit(capacity_width + 2.0)} />
                <path class="room" d={data.clone()} stroke-width={unit(capacity_width)} />
                if edge.flow > 0 { <path class="flow" d={data} stroke-width={unit(width(edge.flow))} /> }
            </g>
        }
    };
    // Signs and numbers are above all lines and boxes.
    let signs = |route: &layout::Route| {
        let edge = &network.edges[route.edge];
        let (at, is_upright) = middle_of(&route.points)?;
        let half = width(edge.capacity.unwrap_or(edge.flow)).max(THINNEST) / 2.0;
        let (x, y) = if is_upright { (half + 6.0, 4.0) } else { (0.0, -half - 5.0) };
        Some(html! {
            <g class="flow-sign">
                { bars(edge, at, is_upright, 2.0 * half) }
                <text x={unit(at.x + x)} y={unit(at.y + y)} text-anchor={if is_upright { "start" } else { "middle" }}>{ format!("{}/{}", edge.flow, capacity(edge)) }</text>
            </g>
        })
    };
    let node = |(place, node): (usize, &warpscope_engine::message::inspect::NetworkNode)| {
        let rect = placement.blocks.get(&(place as u32))?;
        let role = match node.role {
            NodeRole::Plain => "plain",
            NodeRole::Source => "start",
            NodeRole::Sink => "end",
        };
        let side = if node.is_before_cut { " before-cut" } else { "" };
        Some(html! {
            <g class={format!("flow-node {role}{side}")} transform={format!("translate({:.1} {:.1})", rect.x, rect.y)}>
                <title>{ &node.label }</title>
                <rect width={unit(rect.width)} height={unit(rect.height)} rx={if node.role == NodeRole::Plain { "6" } else { "13" }} />
                <text x={unit(rect.width / 2.0)} y="17" text-anchor="middle">{ shortened_within(&node.label, MOST_CHARACTERS) }</text>
            </g>
        })
    };
    html! {
        <div class="network-drawing" tabindex="0" role="region" aria-label={format!("Drawing of {}", network.name)}>
        <svg role="img" width={unit(wide)} height={unit(high)} viewBox={format!("{:.0} {:.0} {wide:.0} {high:.0}", -MARGIN, -MARGIN)}
            aria-label={format!("{}: flow {}; {} edges, {saturated} saturated, {} in the cut", network.name, network.value, network.edges.len(), network.edges.iter().filter(|edge| edge.is_cut).count())}>
            { for placement.routes.iter().filter(|route| route.edge < network.edges.len()).map(line) }
            { for network.nodes.iter().enumerate().filter_map(node) }
            { for placement.routes.iter().filter(|route| route.edge < network.edges.len()).filter_map(signs) }
        </svg>
        </div>
    }
}

/// The double bar of a saturated edge and the dashed line of the cut, across the edge.
fn bars(edge: &NetworkEdge, at: Point, is_upright: bool, width: f64) -> Html {
    let across = |shift: f64, half: f64| match is_upright {
        true => format!("M{:.1} {:.1}h{:.1}", at.x - half, at.y + shift, 2.0 * half),
        false => format!("M{:.1} {:.1}v{:.1}", at.x + shift, at.y - half, 2.0 * half),
    };
    html! {
        <>
            if edge.is_saturated() { <path class="full" d={format!("{}{}", across(-9.0, width / 2.0 + 3.0), across(-6.0, width / 2.0 + 3.0))} /> }
            if edge.is_cut { <path class="across" d={across(8.0, width / 2.0 + 16.0)} /> }
        </>
    }
}

fn state(edge: &NetworkEdge) -> &'static str {
    match (edge.is_saturated(), edge.is_cut) {
        (true, true) => "saturated, in the cut",
        (true, false) => "saturated",
        (false, true) => "in the cut",
        (false, false) => "",
    }
}

fn spoken(edge: &NetworkEdge) -> String {
    if state(edge).is_empty() { String::new() } else { format!(", {}", state(edge)) }
}

fn capacity(edge: &NetworkEdge) -> String {
    edge.capacity.map_or_else(|| "∞".to_owned(), |capacity| capacity.to_string())
}

fn unit(value: f64) -> String {
    format!("{value:.1}")
}

/// The middle of the longest part of a line, and whether that is upright.
fn middle_of(points: &[Point]) -> Option<(Point, bool)> {
    let length = |ends: &[Point]| (ends[0].x - ends[1].x).abs() + (ends[0].y - ends[1].y).abs();
    let longest = points.windows(2).max_by(|a, b| length(a).total_cmp(&length(b)))?;
    let is_upright = (longest[0].y - longest[1].y).abs() > (longest[0].x - longest[1].x).abs();
    Some((Point { x: (longest[0].x + longest[1].x) / 2.0, y: (longest[0].y + longest[1].y) / 2.0 }, is_upright))
}

fn boxes(network: &Network) -> layout::Graph {
    let width = |label: &str| label.chars().count().clamp(2, MOST_CHARACTERS) as f64 * CHARACTER + SIDES;
    let place = |(id, node): (usize, &warpscope_engine::message::inspect::NetworkNode)| layout::Node {
        id: id as u32,
        width: width(&node.label),
        height: HEIGHT,
    };
    let count = network.nodes.len();
    let edges = network.edges.iter().take_while(|edge| edge.from < count && edge.to < count);
    let edges = edges.map(|edge| layout::Edge { from: edge.from, to: edge.to, kind: layout::EdgeKind::Jump });
    layout::Graph { nodes: network.nodes.iter().enumerate().map(place).collect(), edges: edges.collect(), room: 46.0 }
}
