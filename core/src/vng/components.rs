//! Values: the connected components of live vertices.

use alloc::vec::Vec;

use cranelift_entity::{EntityRef, SecondaryMap};

use super::graph::{ThreadGraph, Vertex, VertexKind};

/// Numbers of components by vertex, and how many there are.
pub struct Components {
    /// The component of each vertex that is kept.
    pub of: SecondaryMap<Vertex, Option<usize>>,
    /// How many there are.
    pub count: usize,
}

impl ThreadGraph {
    /// The values: components of gaps and users. Generators and kills connect nothing.
    pub fn values(&self) -> Components {
        self.components(&|vertex| matches!(self.vertices[vertex].kind, VertexKind::Pass | VertexKind::User(_)))
    }

    /// The components of the vertices that are kept, numbered by their first ones.
    pub fn components(&self, is_kept: &dyn Fn(Vertex) -> bool) -> Components {
        let mut roots: Vec<usize> = (0..self.vertices.len()).collect();
        for edge in &self.edges {
            let Some(from) = edge.from.ok().filter(|&from| is_kept(from) && is_kept(edge.to)) else { continue };
            let (from, to) = (find(&mut roots, from.index()), find(&mut roots, edge.to.index()));
            roots[from.max(to)] = from.min(to);
        }
        let (mut of, mut count): (SecondaryMap<Vertex, Option<usize>>, usize) = (SecondaryMap::new(), 0);
        for vertex in self.vertices.keys().filter(|&vertex| is_kept(vertex)) {
            let root = find(&mut roots, vertex.index());
            of[vertex] = of[Vertex::new(root)].or_else(|| {
                count += 1;
                Some(count - 1)
            });
        }
        Components { of, count }
    }
}

/// The least vertex of a set, with the way there shortened.
fn find(roots: &mut [usize], mut at: usize) -> usize {
    while roots[at] != at {
        roots[at] = roots[roots[at]];
        at = roots[at];
    }
    at
}
