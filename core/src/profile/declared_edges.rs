//! How often control takes an edge, as a function's declared profiles tell.
//!
//! ```text
//! profile edge { a -> b: 60  a -> c: 40 }      P(a goes to b) = 0.6
//! profile path { a b d: 60   a c d: 40 }       the same
//! ```
//!
//! Edge counts are taken where the function declares any, path counts otherwise. Two entries for
//! one edge add up. A path ends where an edge goes back to a loop's header, so that a block runs as
//! often as the paths that hold it, which may be more than its edges inside paths. Linear in the
//! profile, a logarithm for each question.

use alloc::collections::BTreeMap;

use crate::ir::{Block, Function, Profile};

/// Counts of edges and of the blocks that they leave, in the unit of who declared them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeclaredEdges {
    edges: BTreeMap<(Block, Block), u64>,
    blocks: BTreeMap<Block, u64>,
}

impl DeclaredEdges {
    /// Collects the declarations of a function.
    pub fn of(func: &Function) -> DeclaredEdges {
        let mut counts = DeclaredEdges::default();
        for profile in &func.profiles {
            if let Profile::Edge(edges) = profile {
                edges.iter().for_each(|&(from, to, count)| counts.add(from, Some(to), count));
            }
        }
        if counts.edges.is_empty() {
            for profile in &func.profiles {
                let Profile::Path(paths) = profile else { continue };
                for (path, count) in paths {
                    for (place, &block) in path.iter().enumerate() {
                        counts.add(block, path.get(place + 1).copied(), *count);
                    }
                }
            }
        }
        counts
    }

    /// The probability (0–1) that control goes from a block to that successor. None where the profile does not tell.
    pub fn probability(&self, from: Block, to: Block) -> Option<f64> {
        let leaving = *self.blocks.get(&from).filter(|&&count| count > 0)?;
        let taken = self.edges.get(&(from, to)).copied().unwrap_or(0);
        Some(taken as f64 / leaving as f64)
    }

    /// Executions of each block. Control leaves a block as often as it enters it, except where it begins or ends.
    pub fn executions(&self) -> BTreeMap<Block, u64> {
        let mut entering: BTreeMap<Block, u64> = BTreeMap::new();
        for (&(_, to), &count) in &self.edges {
            let sum = entering.entry(to).or_default();
            *sum = sum.saturating_add(count);
        }
        let mut executions = self.blocks.clone();
        for (block, count) in entering {
            let most = executions.entry(block).or_default();
            *most = count.max(*most);
        }
        executions
    }

    fn add(&mut self, from: Block, to: Option<Block>, count: u64) {
        let sum = self.blocks.entry(from).or_default();
        *sum = sum.saturating_add(count);
        if let Some(to) = to {
            let sum = self.edges.entry((from, to)).or_default();
            *sum = sum.saturating_add(count);
        }
    }
}
