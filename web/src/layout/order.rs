//! Phase 4: the left-to-right order in each row.
//!
//! The first order is the previous placement's where blocks are known from it, and otherwise follows the edges down,
//! true sides first. Sweeps by barycentres then try to do better, and an order replaces the first one only if it has
//! fewer crossings: that is what keeps blocks in their places between two events. A region in which nothing is new keeps
//! its order in any case.
//!
//! Bounds: a fixed number of sweeps, each O(arcs · log nodes).

use super::link::Layers;
use super::{Placement, sort_indices};

/// Sweeps down and up before the best order is taken.
const SWEEPS: usize = 8;

/// Orders the rows of `layers`.
pub fn order_rows(layers: &mut Layers, previous: Option<&Placement>) {
    let arrows = Arrows::new(layers);
    let mut position = vec![0.0; layers.nodes.len()];
    number(&layers.rows, &mut position);
    for row in 0..layers.rows.len() {
        sort_row(layers, &mut position, row, &arrows, Arrows::above);
    }
    if let Some(previous) = previous {
        restore(layers, previous, &mut position);
        if layers.nodes.iter().all(|node| previous.spots.contains_key(&node.spot)) {
            return;
        }
    }

    let mut best = layers.rows.clone();
    let mut fewest = crossings(layers, &position);
    for sweep in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        if sweep % 2 == 0 {
            for row in (0..layers.rows.len()).rev() {
                sort_row(layers, &mut position, row, &arrows, Arrows::below);
            }
        } else {
            for row in 0..layers.rows.len() {
                sort_row(layers, &mut position, row, &arrows, Arrows::above);
            }
        }
        let count = crossings(layers, &position);
        if count < fewest {
            fewest = count;
            best = layers.rows.clone();
        }
    }
    layers.rows = best;
}

/// For each node the arcs that enter and leave it.
struct Arrows {
    entering: Vec<Vec<usize>>,
    leaving: Vec<Vec<usize>>,
}

impl Arrows {
    fn new(layers: &Layers) -> Self {
        let mut arrows =
            Arrows { entering: vec![Vec::new(); layers.nodes.len()], leaving: vec![Vec::new(); layers.nodes.len()] };
        for (index, arc) in layers.arcs.iter().enumerate() {
            arrows.leaving[arc.from.0].push(index);
            arrows.entering[arc.to.0].push(index);
        }
        arrows
    }

    /// The mean position of what leads to `node`; a port left of the middle counts as further left.
    fn above(&self, layers: &Layers, node: usize, position: &[f64]) -> Option<f64> {
        mean(self.entering[node].iter().map(|&arc| port_position(layers, layers.arcs[arc].from, position)))
    }

    /// The mean position of what `node` leads to.
    fn below(&self, layers: &Layers, node: usize, position: &[f64]) -> Option<f64> {
        mean(self.leaving[node].iter().map(|&arc| {
            let arc = &layers.arcs[arc];
            // The line of the right port wants to be right of the left port's, so the block itself lies between.
            port_position(layers, arc.to, position)
        }))
    }
}

fn port_position(layers: &Layers, (node, at): (usize, f64), position: &[f64]) -> f64 {
    let width = layers.nodes[node].width;
    position[node] + (at / width - 0.5) * 0.8
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Wished position of a node because of its connections.
type Wish = fn(&Arrows, &Layers, usize, &[f64]) -> Option<f64>;

/// Sorts one row by the wish of each node; a node without a wish stays where it is among the others.
fn sort_row(layers: &mut Layers, position: &mut [f64], row: usize, arrows: &Arrows, wish: Wish) {
    let wishes = layers.rows[row].iter().map(|&node| (wish(arrows, layers, node, position), node));
    let (slots, wished): (Vec<usize>, Vec<(f64, usize)>) =
        wishes.enumerate().filter_map(|(slot, (wish, node))| Some((slot, (wish?, node)))).unzip();
    let mut sorted: Vec<usize> = (0..wished.len()).collect();
    sort_indices(&mut sorted, &|index| (wished[index].0, 0.0));
    for (slot, index) in slots.into_iter().zip(sorted) {
        layers.rows[row][slot] = wished[index].1;
    }
    for (place, &node) in layers.rows[row].iter().enumerate() {
        position[node] = place as f64;
    }
}

/// Puts the blocks that the previous placement knows back into its order, each row by itself.
fn restore(layers: &mut Layers, previous: &Placement, position: &mut [f64]) {
    for row in &mut layers.rows {
        let was = |node: usize| previous.spots.get(&layers.nodes[node].spot).copied();
        let slots: Vec<usize> = (0..row.len()).filter(|&slot| was(row[slot]).is_some()).collect();
        let mut known: Vec<usize> = slots.iter().map(|&slot| row[slot]).collect();
        sort_indices(&mut known, &|node| (was(node).unwrap_or(0.0), 0.0));
        for (slot, node) in slots.into_iter().zip(known) {
            row[slot] = node;
        }
    }
    number(&layers.rows, position);
}

fn number(rows: &[Vec<usize>], position: &mut [f64]) {
    for row in rows {
        for (place, &node) in row.iter().enumerate() {
            position[node] = place as f64;
        }
    }
}

/// How many pairs of lines cross between neighbouring rows; a back edge counts as a line to the far left.
fn crossings(layers: &Layers, position: &[f64]) -> usize {
    let mut gaps: Vec<Vec<(f64, f64)>> = vec![Vec::new(); layers.rows.len()];
    for arc in &layers.arcs {
        let from = port_position(layers, arc.from, position);
        gaps[layers.nodes[arc.from.0].row].push((from, position[arc.to.0]));
    }
    for back in &layers.backs {
        gaps[layers.nodes[back.from.0].row].push((port_position(layers, back.from, position), -1.0));
    }
    gaps.iter().map(|lines| inversions(lines)).sum()
}

/// Pairs whose ends are in the opposite order of their starts, by a tree of prefix sums over the ends.
fn inversions(lines: &[(f64, f64)]) -> usize {
    let mut sorted: Vec<usize> = (0..lines.len()).collect();
    sort_indices(&mut sorted, &|line| (lines[line].1, 0.0));
    let mut ends: Vec<f64> = sorted.iter().map(|&line| lines[line].1).collect();
    ends.dedup();
    sort_indices(&mut sorted, &|line| lines[line]);
    let mut tree = vec![0usize; ends.len() + 1];
    let mut crossed = 0;
    for (seen, line) in sorted.into_iter().map(|line| lines[line]).enumerate() {
        let end = ends.partition_point(|&e| e < line.1) + 1;
        let mut before = 0;
        let mut at = end;
        while at > 0 {
            before += tree[at];
            at &= at - 1;
        }
        crossed += seen - before;
        at = end;
        while at < tree.len() {
            tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    crossed
}
