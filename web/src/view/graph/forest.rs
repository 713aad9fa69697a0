//! A small graph of blocks beside the large one, level with its blocks: a tree, such as that of dominators, and the part of
//! it that is open.
//!
//! ```text
//! ●  entry      ┌───────┐
//! ├──╮          │ entry │
//! ●  │ left     ├──────┬┘
//! │  ○ join     │ left │ …
//! ```
//!
//! Each node has one parent at most; of several edges to a node the first counts. Linear in nodes and blocks.

use std::collections::BTreeMap;

use warpscope_engine::message::Graph;
use warpscope_engine::message::inspect::{Anchor, Look, Node, SmallGraph};
use yew::{Callback, Html, html};

use super::super::shortened;
use crate::layout::Placement;
use crate::state::{Action, Pane, Selection};

/// Free space between the tree and the graph.
const GAP: f64 = 18.0;
/// Width of a column: of a dot, and of each character of a name beside it.
const DOT: f64 = 26.0;
const CHARACTER: f64 = 7.0;
/// Dots in more columns have no names.
const MOST_NAMED: usize = 5;
/// Longer names are shortened.
const MOST_CHARACTERS: usize = 8;
/// Distance of the middle of a dot from the upper side of its block, and from the left side of its column.
const LEVEL: f64 = 12.0;

/// A small graph, with the places of its nodes.
pub struct Forest<'a> {
    graph: &'a SmallGraph,
    /// Parents by node.
    parents: Vec<Option<usize>>,
    /// Columns by node; none for a node that is not drawn.
    columns: Vec<Option<usize>>,
    /// Left sides by column, and at the end the width of all.
    sides: Vec<f64>,
    /// Whether dots are beside their blocks, and not in columns: a large graph reaches far to both sides.
    is_beside_blocks: bool,
}

impl<'a> Forest<'a> {
    /// The whole of a small graph: a node is below its parent, and each further child in a column of its own.
    pub fn new(graph: &'a SmallGraph) -> Forest<'a> {
        Forest::of(graph, |_, _| true)
    }

    /// The open part of a small graph that would be a thicket: open nodes, and the children of the current one.
    pub fn of_open(graph: &'a SmallGraph) -> Forest<'a> {
        let is_current = |node: usize| graph.nodes[node].look == Look::Current;
        let kept = Forest::of(graph, |node, parent| is_open(&graph.nodes[node]) || parent.is_some_and(is_current));
        Forest { is_beside_blocks: true, sides: vec![0.0], ..kept }
    }

    /// The part of a small graph that is kept. The parent of a kept node is kept.
    fn of(graph: &'a SmallGraph, is_kept: impl Fn(usize, Option<usize>) -> bool) -> Forest<'a> {
        let count = graph.nodes.len();
        let mut parents = vec![None; count];
        for &(parent, child) in graph.edges.iter().filter(|(parent, child)| *parent < count && *child < count) {
            parents[child].get_or_insert(parent);
        }
        let kept: Vec<usize> = (0..count).filter(|&node| is_kept(node, parents[node])).collect();
        let mut children = vec![Vec::new(); count];
        for &node in &kept {
            if let Some(parent) = parents[node] {
                children[parent].push(node);
            }
        }
        let mut columns = vec![None; count];
        let mut longest: Vec<usize> = Vec::new();
        // The first child goes on below; the others wait.
        let mut waiting: Vec<usize> = kept.iter().rev().copied().filter(|&node| parents[node].is_none()).collect();
        while let Some(first) = waiting.pop() {
            let column = longest.len();
            longest.push(0);
            let mut next = Some(first);
            while let Some(node) = next {
                columns[node] = Some(column);
                longest[column] = longest[column].max(short_name(&graph.nodes[node]).chars().count());
                let below = &children[node];
                waiting.extend(below.iter().skip(1).rev());
                next = below.first().copied();
            }
        }
        let is_named = longest.len() <= MOST_NAMED;
        let mut sides = vec![0.0];
        for longest in longest {
            let name = if is_named { longest as f64 * CHARACTER } else { 0.0 };
            sides.push(sides[sides.len() - 1] + DOT + name);
        }
        Forest { graph, parents, columns, sides, is_beside_blocks: false }
    }

    fn is_named(&self) -> bool {
        !self.is_beside_blocks && self.sides.len() <= MOST_NAMED + 1
    }

    /// Room beside the graph, with the space before it.
    pub fn width(&self) -> f64 {
        if self.is_beside_blocks { 0.0 } else { self.sides[self.sides.len() - 1] + GAP }
    }

    /// The drawing, to the left of the graph's.
    pub fn draw(&self, graph: &Graph, placement: &Placement, act: &Callback<Action>) -> Html {
        let left = -self.width();
        let names: BTreeMap<u32, &str> = graph.blocks.iter().map(|block| (block.id, block.name.as_str())).collect();
        let place = |node: usize| {
            let rect = placement.blocks.get(&block_of(&self.graph.nodes[node])?)?;
            let column = self.columns[node]?;
            let x = if self.is_beside_blocks { rect.x - LEVEL } else { left + self.sides[column] + LEVEL };
            Some((x, rect.y + LEVEL))
        };
        let line = |node: usize| {
            let (x, y) = place(node)?;
            let (above_x, above_y) = place(self.parents[node]?)?;
            let data = if self.is_beside_blocks || x == above_x {
                format!("M{above_x:.1} {above_y:.1}L{x:.1} {y:.1}")
            } else {
                format!(
                    "M{above_x:.1} {above_y:.1}H{:.1}Q{x:.1} {above_y:.1} {x:.1} {:.1}V{y:.1}",
                    x - 8.0,
                    above_y + 8.0
                )
            };
            let is_open = is_open(&self.graph.nodes[node]);
            Some(html! { <path key={format!("line-{node}")} class={is_open.then_some("open")} d={data} /> })
        };
        let dot = |index: usize| {
            let (x, y) = place(index)?;
            let node = &self.graph.nodes[index];
            let class = match node.look {
                Look::Closed => "dot",
                Look::Current => "dot open here",
                Look::Faint => "dot open beyond",
                _ => "dot open",
            };
            let select = {
                let (act, block) = (act.clone(), (*names.get(&block_of(node)?)?).to_owned());
                Callback::from(move |_: yew::MouseEvent| {
                    let selection = Selection { block: block.clone(), inst: None, by: Pane::Everywhere };
                    act.emit(Action::Select(Some(selection)));
                })
            };
            Some(html! {
                <g key={format!("dot-{index}")} {class} onclick={select} style={format!("transform:translate({x:.1}px,{y:.1}px)")}>
                    <title>{ &node.label }</title>
                    if node.look == Look::Current { <circle class="halo" r="9.500" /> }
                    <circle class="point" r="5.500" />
                    if self.is_named() { <text x="11" y="4">{ short_name(node) }</text> }
                </g>
            })
        };
        let nodes = || 0..self.graph.nodes.len();
        let open: Vec<&str> =
            self.graph.nodes.iter().filter(|node| is_open(node)).map(|node| node.label.as_str()).collect();
        let name = &self.graph.name;
        let label = if open.is_empty() {
            format!("{name}; none is open")
        } else {
            format!("{name}; open: {}", open.join(", "))
        };
        html! {
            <g class="forest" role="img" aria-label={label} data-testid="small-graph">
                if let Some((x, y)) = nodes().find_map(place).filter(|_| !self.is_beside_blocks) {
                    <text class="title" x={(x - 5.500).to_string()} y={(y - LEVEL - 8.0).to_string()}>{ name }</text>
                }
                { for nodes().filter_map(line) }
                { for nodes().filter_map(dot) }
            </g>
        }
    }
}

fn short_name(node: &Node) -> String {
    shortened(&node.label, MOST_CHARACTERS)
}

fn is_open(node: &Node) -> bool {
    node.look != Look::Closed
}

fn block_of(node: &Node) -> Option<u32> {
    match node.anchor {
        Anchor::Block(block) | Anchor::Start(block) | Anchor::End(block) => Some(block),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(parents: &[Option<usize>]) -> SmallGraph {
        let node = |at: usize| Node { anchor: Anchor::Block(at as u32), label: format!("n{at}"), look: Look::Closed };
        let edge = |(at, parent): (usize, &Option<usize>)| Some(((*parent)?, at));
        SmallGraph {
            nodes: (0..parents.len()).map(node).collect(),
            edges: parents.iter().enumerate().filter_map(edge).collect(),
            ..SmallGraph::default()
        }
    }

    #[test]
    fn a_first_child_is_below_and_the_others_beside() {
        let graph = graph(&[None, Some(0), Some(0), Some(2), Some(0)]);
        let forest = Forest::new(&graph);
        assert_eq!(forest.columns, [Some(0), Some(0), Some(1), Some(1), Some(2)]);
        assert_eq!(forest.sides.len(), 4);
    }

    #[test]
    fn edges_that_lead_nowhere_or_to_a_child_again_are_left_out() {
        let mut graph = graph(&[None, Some(0), Some(1)]);
        graph.edges.extend([(0, 2), (7, 1), (0, 9)]);
        assert_eq!(Forest::new(&graph).columns, [Some(0); 3]);
    }

    #[test]
    fn a_large_tree_shows_open_nodes_and_those_below_the_current_one() {
        let mut graph = graph(&[None, Some(0), Some(0), Some(2), Some(2), Some(3)]);
        graph.nodes[0].look = Look::Plain;
        graph.nodes[2].look = Look::Current;
        assert_eq!(Forest::of_open(&graph).columns, [Some(0), None, Some(0), Some(0), Some(1), None]);
    }
}
