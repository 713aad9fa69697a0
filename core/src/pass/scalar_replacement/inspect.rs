//! The questions that a pass asked on its way to a position, moment by moment.
//!
//! ```text
//!   1 inquiry: Is `A[i]` available in `n8`: computed on every path that leads here?
//!   2 question: `A[i]?` goes up from `n8` to `n7`.
//!   …
//!  57 change (insert): …
//! ```
//!
//! A moment is a question event of the journal, a change or a refusal. Everything comes from there, so that every
//! pass that asks questions can be shown. The sentences are in [`super::narration`].
//!
//! Linear in moments, apart from logarithms, and in the edits before the first moment that is told.
//!
//! Limit: [`MOST_MOMENTS`] moments, from the beginning of an inquiry and with the one that is shown.

use alloc::vec::Vec;
use core::ops::Range;

use super::SsrqpS;
use super::narration::{Narrator, kinds, texts};
use crate::inspect::{Inspection, Moment, Request, Timeline};
use crate::ir::Func;
use crate::journal::{Inquiry, Journal, MAX_DETAILS};
use crate::pass::{InspectedPosition, Inspector, Pass, Subject};
use crate::trace::QuestionEvent;

/// Longer timelines are cut around the moment that is shown.
const MOST_MOMENTS: usize = 12_000;

const NOT_BEGUN: &str = "Nothing has been asked yet.";

/// The inspector of passes that ask questions.
pub(super) const INSPECTOR: Inspector =
    Inspector { title: "Questions", subject: Subject::Last, has_moments: true, applies: |_| true, inspect };

fn inspect(position: &InspectedPosition<'_>, request: &Request) -> Option<Inspection> {
    let (journal, pass, func) = (position.journal, position.pass, position.func);
    let recorded = recorded(journal, pass, func);
    if !recorded.iter().any(|moment| matches!(moment, Inquiry::Question(..))) {
        return None;
    }
    let course = position.course();
    let at = position.moment(&course, request, || course.last);
    let shown = window(&recorded, at, MOST_MOMENTS);
    let moments = tell(position, &recorded, shown.clone());
    let told = at.checked_sub(shown.start + 1).and_then(|place| moments.get(place));
    Some(Inspection {
        lead: told.map_or(NOT_BEGUN.into(), |moment| moment.sentence.clone()),
        timeline: Some(Timeline {
            name: INSPECTOR.title.into(),
            course,
            at,
            start: Some(Moment { sentence: NOT_BEGUN.into(), ..Moment::default() }),
            first: shown.start,
            moments,
            cut_after: journal.is_cut(pass, func).then_some(MAX_DETAILS),
            kinds: kinds(),
            rules: texts(),
            ..Timeline::default()
        }),
        ..Inspection::new(INSPECTOR.title)
    })
}

/// The moments of a pass in a function.
fn recorded(journal: &Journal, pass: usize, func: Func) -> Vec<Inquiry<'_>> {
    let mut moments = journal.inquiries(pass);
    moments.retain(|moment| match moment {
        Inquiry::Question(at, _) => *at == func,
        Inquiry::Event(event) => journal.events()[*event].func == func,
    });
    moments
}

fn event_of(moment: &Inquiry<'_>) -> Option<usize> {
    match moment {
        Inquiry::Event(event) => Some(*event),
        Inquiry::Question(..) => None,
    }
}

/// A part of the moments, each in a sentence about the program as it was when it happened.
fn tell(position: &InspectedPosition<'_>, recorded: &[Inquiry<'_>], part: Range<usize>) -> Vec<Moment> {
    let journal = position.journal;
    let last = recorded[..part.start].iter().rev().find_map(event_of);
    let begin = || journal.passes().get(position.pass).map_or(0, |pass| pass.start);
    let mut program = position.start.clone();
    journal.advance(&mut program, 0..last.map_or_else(begin, |last| last + 1));
    let pass = journal.passes().get(position.pass).map_or("", |pass| pass.pass.as_str());
    let mut narrator = Narrator::new(program, position.func, pass == SsrqpS::INFO.name);
    let moment = |moment: &Inquiry<'_>| match moment {
        Inquiry::Question(_, event) => Some(narrator.tell(event)),
        Inquiry::Event(event) => narrator.change(journal, *event),
    };
    recorded[part].iter().filter_map(moment).collect()
}

/// The part that is told of more than `most` moments: from the beginning of an inquiry, and with the one that is shown.
fn window(moments: &[Inquiry<'_>], at: usize, most: usize) -> Range<usize> {
    if moments.len() <= most {
        return 0..moments.len();
    }
    let wanted = at.min(moments.len()).saturating_sub(1);
    let earliest = wanted.saturating_sub(most / 2);
    let begins =
        |moment: &Inquiry<'_>| matches!(moment, Inquiry::Question(_, QuestionEvent::Began { parent: None, .. }));
    // An inquiry that is longer than that is cut.
    let first = (earliest..=wanted).find(|&index| begins(&moments[index])).unwrap_or(earliest);
    first..(first + most).min(moments.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Block;
    use crate::trace::Query;
    use alloc::string::String;

    #[test]
    fn of_very_many_moments_those_around_one_are_told() {
        let event = |parent| QuestionEvent::Began {
            id: 1,
            parent,
            query: Query::Availability,
            expression: String::new(),
            root: Block::from_u32(0),
            inst: None,
        };
        let (root, inner) = (event(None), event(Some(0)));
        let func = Func::from_u32(0);
        let moments: Vec<Inquiry<'_>> =
            (0..100).map(|index| Inquiry::Question(func, if index % 10 == 0 { &root } else { &inner })).collect();
        assert_eq!(window(&moments, 55, 100), 0..100);
        assert_eq!(window(&moments, 56, 40), 40..80);
        assert_eq!(window(&moments, 3, 40), 0..40);
        assert_eq!(window(&moments, 1_000, 40), 80..100);
        assert_eq!(window(&moments, 56, 6), 52..58);
    }
}
