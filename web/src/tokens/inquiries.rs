//! Moments at which inquiries begin and end.

use std::collections::BTreeSet;

use warpscope_engine::message::inspect::{Timeline, TokenStep};

/// Those moments, in order. An inquiry is a token that comes from no other and begins where it is.
pub fn inquiry_stops(timeline: &Timeline) -> Vec<usize> {
    let mut inquiries: BTreeSet<u32> = BTreeSet::new();
    let mut is_stop = |step: &TokenStep| match step {
        TokenStep::Appears { id, parent: None, from: None, .. } => inquiries.insert(*id),
        TokenStep::Returns { id, .. } => inquiries.contains(id),
        _ => false,
    };
    let told = (timeline.first + 1..).zip(&timeline.moments);
    told.filter(|(_, told)| told.tokens.iter().any(&mut is_stop)).map(|(moment, _)| moment).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{appears, returns, timeline};
    use super::*;
    use warpscope_engine::message::inspect::Look;

    #[test]
    fn finds_where_inquiries_begin_and_end() {
        let moments = vec![
            appears(1, None, "is it available?", (None, 8)),
            appears(2, Some(1), "is it?", (Some(8), 7)),
            appears(3, Some(2), "is it down-safe?", (None, 7)),
            returns(3, Look::Bad, 7),
            returns(2, Look::Bad, 7),
            returns(1, Look::Bad, 8),
            appears(4, None, "and here?", (None, 9)),
        ];
        assert_eq!(inquiry_stops(&timeline(moments.clone())), [1, 6, 7]);
        let later = Timeline { first: 10, ..timeline(moments) };
        assert_eq!(inquiry_stops(&later), [11, 16, 17]);
    }
}
