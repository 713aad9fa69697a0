//! The support of a successful availability inquiry: sources, conversions and insertions.
//!
//! ```text
//! n8 asks n3, n7       n3's paths lead to a source in n2, n7's to one in n5; at n2 the form was converted, and
//!                      an insertion at the end of n1 is noted:
//!                      sources {n2, n5}, conversions {i = i + 1}, insertions {n1}
//! ```
//!
//! 1. Begin with the finding in the root's block, then follow the records that it asked.
//! 2. A record that found a source ends its path; a noted insertion replaces the paths over its
//!    edge.
//! 3. Each record is followed once; chains of records that found nothing are skipped.
//!
//! Sound because a good answer's record keeps all records that it relies on.
//!
//! Cost: O(findings and joins on the paths).

use alloc::vec::Vec;

use hashbrown::HashSet;
use smallvec::SmallVec;

use super::availability::{AvailabilityQuestion, Available};
use super::edges::InsertionPoint;
use super::forms::Form;
use super::propagation::{Propagation, RecordId};
use super::snapshot::{Conversion, Occurrence};

type Known = Propagation<AvailabilityQuestion, Available, BlockFinding>;

/// Facts that a question finds in a block.
#[derive(Default)]
pub struct BlockFinding {
    pub conversions: SmallVec<[Conversion; 1]>,
    pub source: Option<Occurrence>,
    pub insertions: SmallVec<[InsertionPoint; 1]>,
}

/// The definitions and insertions that a success relies on.
#[derive(Clone, Default, Debug)]
pub struct Support {
    /// Occurrences, each with the form whose value it computes.
    pub sources: SmallVec<[(Occurrence, Form); 2]>,
    /// Definitions at which the form changes.
    pub conversions: SmallVec<[Conversion; 1]>,
    /// Insertions that are needed.
    pub insertions: SmallVec<[(InsertionPoint, Form); 1]>,
}

/// The support of an inquiry that asked these records and found something in the root's block.
pub fn support_of(known: &Known, form: Form, finding: &BlockFinding, asked: &[RecordId]) -> Support {
    let (mut support, mut visited) = (Support::default(), HashSet::new());
    let mut pending = add_finding(known, form, finding, asked, &mut support);
    while let Some(record) = pending.pop() {
        let record = known.skip_passages(record);
        if !visited.insert(record) {
            continue;
        }
        match known.path(record) {
            (None, asked) => pending.extend_from_slice(asked),
            (Some(finding), asked) => {
                let form = known.question(record).form;
                pending.extend(add_finding(known, form, finding, asked, &mut support));
            }
        }
    }
    support
}

/// Adds a block's finding to a support. Returns the records that the finding relies on.
fn add_finding(
    known: &Known,
    form: Form,
    BlockFinding { conversions, source, insertions }: &BlockFinding,
    asked: &[RecordId],
    support: &mut Support,
) -> Vec<RecordId> {
    support.conversions.extend(conversions.iter().copied());
    let top = conversions.last().map_or(form, |conversion| conversion.above);
    if let Some(source) = *source {
        support.sources.push((source, top));
        return Vec::new();
    }
    let before_entry = insertions.iter().filter(|point| matches!(point, InsertionPoint::BeforeEntry(_)));
    support.insertions.extend(before_entry.map(|&point| (point, top)));
    let mut pending = Vec::new();
    for &record in asked {
        let from = known.block(record);
        match insertions.iter().find(|point| point.is_for_edge_from(from)) {
            Some(&point) => support.insertions.push((point, top)),
            None => pending.push(record),
        }
    }
    pending
}
