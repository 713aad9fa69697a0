//! Phase 5: the x coordinate of every node.
//!
//! Each node wants to be straight above or below what it is connected to; the order of its row and the distance to its
//! neighbours are given. For one row this is a weighted isotonic regression, which pooling adjacent violators solves
//! exactly in linear time. Sweeps over the rows, down and up, propagate the wishes. Steps of a chain weigh more than
//! blocks, and in the end each chain that has room becomes one straight line.
//!
//! Source: Best and Chakravarti, "Active set algorithms for isotonic regression" (1990), for the pooling.

use std::collections::BTreeMap;

use super::link::{Arc, Layers, Role};
use super::sort_indices;

/// Free space between two neighbours, by how many of them are lines.
const SPACE: [f64; 3] = [30.0, 18.0, 12.0];
/// Sweeps; even ones go down.
const SWEEPS: usize = 12;

/// Sets `x` of all nodes; the leftmost side is at 0.
pub fn place_columns(layers: &mut Layers) {
    for row in &layers.rows {
        let mut x = 0.0;
        for (index, &node) in row.iter().enumerate() {
            x += if index == 0 { 0.0 } else { space(layers, row[index - 1], node) };
            layers.nodes[node].x = x;
            x += layers.nodes[node].width;
        }
    }
    let mut entering = vec![Vec::new(); layers.nodes.len()];
    let mut leaving = vec![Vec::new(); layers.nodes.len()];
    for (index, arc) in layers.arcs.iter().enumerate() {
        leaving[arc.from.0].push(index);
        entering[arc.to.0].push(index);
    }
    let rows = layers.rows.clone();
    for sweep in 0..SWEEPS {
        // The first sweeps look one way, so that both ends of the graph are heard; the others balance.
        let (up, down) = match sweep {
            0 => (1.0, 0.0),
            1 => (0.0, 1.0),
            _ => (1.0, 0.7),
        };
        let settle = |layers: &mut Layers, row: &[usize]| {
            let wishes: Vec<(f64, f64)> = row
                .iter()
                .map(|&node| {
                    let above = entering[node].iter().map(|&arc| (&layers.arcs[arc], true, up));
                    let below = leaving[node].iter().map(|&arc| (&layers.arcs[arc], false, down));
                    wish(layers, node, above.chain(below))
                })
                .collect();
            settle_row(layers, row, &wishes);
        };
        if sweep % 2 == 0 {
            rows.iter().for_each(|row| settle(layers, row));
        } else {
            rows.iter().rev().for_each(|row| settle(layers, row));
        }
    }
    straighten(layers, &entering);
    let left = layers.nodes.iter().map(|node| node.x).fold(f64::INFINITY, f64::min);
    layers.nodes.iter_mut().for_each(|node| node.x -= left);
}

/// Moves each chain to one x if its neighbours leave room, best of all under the port where it begins.
fn straighten(layers: &mut Layers, entering: &[Vec<usize>]) {
    let mut place = vec![0; layers.nodes.len()];
    for row in &layers.rows {
        row.iter().enumerate().for_each(|(index, &node)| place[node] = index);
    }
    let mut chains: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, node) in layers.nodes.iter().enumerate() {
        if let Role::Chain(target) | Role::Port(target) = node.role {
            chains.entry(target).or_default().push(index);
        }
    }
    for mut chain in chains.into_values() {
        sort_indices(&mut chain, &|node| (layers.nodes[node].row as f64, 0.0));
        let (mut lowest, mut highest) = (f64::NEG_INFINITY, f64::INFINITY);
        for &node in &chain {
            let row = &layers.rows[layers.nodes[node].row];
            if let Some(&left) = place[node].checked_sub(1).and_then(|before| row.get(before)) {
                lowest = lowest.max(layers.nodes[left].x + layers.nodes[left].width + space(layers, left, node));
            }
            if let Some(&right) = row.get(place[node] + 1) {
                highest = highest.min(layers.nodes[right].x - layers.nodes[node].width - space(layers, node, right));
            }
        }
        let starts = entering[chain[0]].iter().map(|&arc| layers.arcs[arc].from);
        let wish = starts.map(|(node, at)| layers.nodes[node].x + at - layers.line_width() / 2.0).next();
        if lowest <= highest {
            let x = wish.unwrap_or(layers.nodes[chain[0]].x).clamp(lowest, highest);
            chain.iter().for_each(|&node| layers.nodes[node].x = x);
        }
    }
}

/// Position where `node` would make its lines straight, and how much that counts.
fn wish<'a>(layers: &Layers, node: usize, lines: impl Iterator<Item = (&'a Arc, bool, f64)>) -> (f64, f64) {
    let (mut sum, mut weight) = (0.0, 0.0);
    for (arc, enters, factor) in lines {
        let ((other, other_at), at) = if enters { (arc.from, arc.to.1) } else { (arc.to, arc.from.1) };
        let chain = |node: usize| usize::from(!matches!(layers.nodes[node].role, Role::Item(_)));
        let importance = factor * [1.0, 3.0, 10.0][chain(node) + chain(other)];
        sum += importance * (layers.nodes[other].x + other_at - at);
        weight += importance;
    }
    // A node without lines stays, but lets itself be pushed.
    if weight == 0.0 { (layers.nodes[node].x, 0.01) } else { (sum / weight, weight) }
}

/// The nearest positions to the wishes that keep the order and the distances.
fn settle_row(layers: &mut Layers, row: &[usize], wishes: &[(f64, f64)]) {
    // Measured without the widths and distances to the left, the positions must only not decrease.
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(row.len());
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (index, &node) in row.iter().enumerate() {
        if index > 0 {
            offset += layers.nodes[row[index - 1]].width + space(layers, row[index - 1], node);
        }
        offsets.push(offset);
        let (wish, weight) = wishes[index];
        let mut pool = (wish - offset, weight, 1);
        while let Some(last) = pools.last().copied().filter(|last| last.0 > pool.0) {
            pools.pop();
            let sum = last.1 + pool.1;
            pool = ((last.0 * last.1 + pool.0 * pool.1) / sum, sum, last.2 + pool.2);
        }
        pools.push(pool);
    }
    let values = pools.iter().flat_map(|&(value, _, count)| std::iter::repeat_n(value, count));
    for ((&node, value), offset) in row.iter().zip(values).zip(offsets) {
        layers.nodes[node].x = value + offset;
    }
}

fn space(layers: &Layers, left: usize, right: usize) -> f64 {
    let is_line = |node: usize| usize::from(!matches!(layers.nodes[node].role, Role::Item(_)));
    SPACE[is_line(left) + is_line(right)]
}
