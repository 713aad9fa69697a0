//! The dominator tree beside the graph, level with its blocks: what is open, and where a walk stands.
//!
//! ```text
//! ●  entry      ┌───────┐
//! ├──╮          │ entry │
//! ●  │ left     ├──────┬┘
//! │  ○ join     │ left │ …
//! ```

use std::collections::HashSet;

use warpscope_engine::message::{Graph, GraphBlock, ValueWalk};
use yew::{Callback, Html, html};

use super::super::shortened;
use crate::layout::Placement;
use crate::state::{Action, Pane, Selection};

/// Free space between the tree and the graph.
const GAP: f64 = 18.0;
/// Width of a column: of a dot, and of each character of a name beside it. Where there are more columns than this the
/// dots have no names.
const DOT: f64 = 26.0;
const CHARACTER: f64 = 7.0;
const MOST_NAMED: usize = 5;
/// Characters of a name.
const MOST_CHARACTERS: usize = 8;
/// How far the middle of a dot is from the upper side of its block, and from the left side of its column.
const LEVEL: f64 = 12.0;

/// Places of the blocks in the tree.
pub struct Tree {
    /// Column of each block; none for unreachable ones.
    columns: Vec<Option<usize>>,
    /// Left side of each column, and at the end the width of all.
    sides: Vec<f64>,
    /// Whether dots stand beside their blocks, and not in columns: a large graph reaches far to both sides.
    is_beside_blocks: bool,
}

impl Tree {
    /// The tree of a graph: a block stands below its first child's dominator, and each further child in a column of its
    /// own.
    pub fn new(graph: &Graph) -> Tree {
        Tree::of(graph, |_| true)
    }

    /// Tree of the open blocks of a large graph and those right below the innermost one: the whole would be a thicket.
    pub fn of_open(graph: &Graph, walk: &ValueWalk) -> Tree {
        let open: HashSet<&str> = walk.scopes.iter().map(|scope| scope.block.as_str()).collect();
        let here = walk.scopes.last().map(|scope| scope.block.as_str());
        let kept = Tree::of(graph, |block| {
            let above = block.dominator.map(|above| graph.blocks[above].name.as_str());
            open.contains(block.name.as_str()) || here.is_some() && above == here
        });
        Tree { is_beside_blocks: true, sides: vec![0.0], ..kept }
    }

    /// The part of the tree that is kept. Whatever is kept has its dominator kept.
    fn of(graph: &Graph, is_kept: impl Fn(&GraphBlock) -> bool) -> Tree {
        let is_kept: Vec<bool> = graph.blocks.iter().map(is_kept).collect();
        let mut children = vec![Vec::new(); graph.blocks.len()];
        for (index, block) in graph.blocks.iter().enumerate() {
            if let Some(above) = block.dominator
                && is_kept[index]
            {
                children[above].push(index);
            }
        }
        let mut columns = vec![None; graph.blocks.len()];
        let mut longest: Vec<usize> = Vec::new();
        let roots = (0..graph.blocks.len()).filter(|&index| {
            let block = &graph.blocks[index];
            block.reachable && block.dominator.is_none() && is_kept[index]
        });
        // The first child goes on below; the others wait.
        let mut waiting: Vec<usize> = roots.collect();
        waiting.reverse();
        while let Some(first) = waiting.pop() {
            let column = longest.len();
            longest.push(0);
            let mut next = Some(first);
            while let Some(index) = next {
                columns[index] = Some(column);
                longest[column] =
                    longest[column].max(shortened(&graph.blocks[index].name, MOST_CHARACTERS).chars().count());
                let below = &children[index];
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
        Tree { columns, sides, is_beside_blocks: false }
    }

    fn is_named(&self) -> bool {
        !self.is_beside_blocks && self.sides.len() <= MOST_NAMED + 1
    }

    /// How much room it takes beside the graph, with the space behind it.
    pub fn width(&self) -> f64 {
        if self.is_beside_blocks { 0.0 } else { self.sides[self.sides.len() - 1] + GAP }
    }

    /// The drawing, to the left of the graph's.
    pub fn draw(&self, graph: &Graph, placement: &Placement, walk: &ValueWalk, act: &Callback<Action>) -> Html {
        let left = -self.width();
        let place = |index: usize| {
            let rect = placement.blocks.get(&graph.blocks[index].id)?;
            let column = self.columns[index]?;
            let x = if self.is_beside_blocks { rect.x - LEVEL } else { left + self.sides[column] + LEVEL };
            Some((x, rect.y + LEVEL))
        };
        let line = |index: usize| {
            let (x, y) = place(index)?;
            let (above_x, above_y) = place(graph.blocks[index].dominator?)?;
            let data = if self.is_beside_blocks || x == above_x {
                format!("M{above_x:.1} {above_y:.1}L{x:.1} {y:.1}")
            } else {
                format!(
                    "M{above_x:.1} {above_y:.1}H{:.1}Q{x:.1} {above_y:.1} {x:.1} {:.1}V{y:.1}",
                    x - 8.0,
                    above_y + 8.0
                )
            };
            let is_open = walk.scopes.iter().any(|scope| scope.block == graph.blocks[index].name);
            Some(html! { <path key={format!("line-{index}")} class={is_open.then_some("open")} d={data} /> })
        };
        let here = walk.scopes.last().map(|scope| scope.block.as_str());
        let dot = |index: usize| {
            let (x, y) = place(index)?;
            let name = &graph.blocks[index].name;
            let scope = walk.scopes.iter().find(|scope| scope.block == *name);
            let class = match scope {
                Some(scope) if Some(scope.block.as_str()) == here => "dot open here",
                Some(scope) if scope.is_in_reach => "dot open",
                Some(_) => "dot open beyond",
                None => "dot",
            };
            let select = {
                let (act, block) = (act.clone(), name.clone());
                Callback::from(move |_: yew::MouseEvent| {
                    act.emit(Action::Select(Some(Selection {
                        block: block.clone(),
                        inst: None,
                        by: Pane::Everywhere,
                    })));
                })
            };
            Some(html! {
                <g key={format!("dot-{index}")} {class} onclick={select} style={format!("transform:translate({x:.1}px,{y:.1}px)")}>
                    <title>{ name }</title>
                    if Some(name.as_str()) == here { <circle class="halo" r="9.500" /> }
                    <circle class="point" r="5.500" />
                    if self.is_named() { <text x="11" y="4">{ shortened(name, MOST_CHARACTERS) }</text> }
                </g>
            })
        };
        let blocks = || 0..graph.blocks.len();
        let open: Vec<&str> = walk.scopes.iter().map(|scope| scope.block.as_str()).collect();
        let label = match open.as_slice() {
            [] => "Dominator tree; no scope is open".to_owned(),
            open => format!("Dominator tree; open: {}", open.join(", then ")),
        };
        html! {
            <g class="dominators" role="img" aria-label={label} data-testid="dominators">
                if let Some((x, y)) = (0..graph.blocks.len()).find_map(place).filter(|_| !self.is_beside_blocks) {
                    <text class="title" x={(x - 5.500).to_string()} y={(y - LEVEL - 8.0).to_string()}>{ "dominators" }</text>
                }
                { for blocks().filter_map(line) }
                { for blocks().filter_map(dot) }
            </g>
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpscope_engine::message::OpenScope;

    fn graph(dominators: &[Option<usize>]) -> Graph {
        let block = |&dominator: &Option<usize>| GraphBlock { dominator, reachable: true, ..GraphBlock::default() };
        Graph { blocks: dominators.iter().map(block).collect(), ..Graph::default() }
    }

    #[test]
    fn a_first_child_stands_below_and_the_others_beside() {
        let tree = Tree::new(&graph(&[None, Some(0), Some(0), Some(2), Some(0)]));
        assert_eq!(tree.columns, [Some(0), Some(0), Some(1), Some(1), Some(2)]);
        assert_eq!(tree.sides.len(), 4);
    }

    #[test]
    fn what_cannot_be_reached_stands_nowhere() {
        let mut graph = graph(&[None, Some(0), None]);
        graph.blocks[2].reachable = false;
        assert_eq!(Tree::new(&graph).columns, [Some(0), Some(0), None]);
    }

    #[test]
    fn of_a_large_tree_the_open_blocks_stand_and_those_below_the_innermost() {
        let mut graph = graph(&[None, Some(0), Some(0), Some(2), Some(2), Some(3)]);
        for (index, block) in graph.blocks.iter_mut().enumerate() {
            block.name = format!("n{index}");
        }
        let scopes = ["n0", "n2"].map(|block| OpenScope { block: block.to_owned(), is_in_reach: true });
        let walk = ValueWalk { scopes: scopes.into(), ..ValueWalk::default() };
        let tree = Tree::of_open(&graph, &walk);
        assert_eq!(tree.columns, [Some(0), None, Some(0), Some(0), Some(1), None]);
    }
}
