//! The questions of the pass at a position, with a sentence for everything that happens to them.

mod narration;

use std::ops::Range;

use warpscope_core::ir::Func;
use warpscope_core::journal::{Inquiry, MAX_DETAILS};
use warpscope_core::session::Session;
use warpscope_core::trace::QuestionEvent;

use crate::message::{Course, Questions};
use crate::walk::course;
use narration::Narrator;

/// Events that are sent at a time.
const MOST_EVENTS: usize = 12_000;

/// The moments of a pass that asks questions.
struct Moments<'a> {
    pass: usize,
    func: Func,
    moments: Vec<Inquiry<'a>>,
    course: Course,
}

impl<'a> Moments<'a> {
    /// Those that led to a position: to the rewrite of that index if one did, else those of a pass among `passes` that
    /// changed nothing.
    fn find(session: &'a Session, passes: &Range<usize>, rewrite: Option<usize>, kernel: Func) -> Option<Moments<'a>> {
        let journal = session.journal();
        let events = journal.events();
        let of = |pass: usize, func: Func| -> Vec<Inquiry<'a>> {
            let mut moments = journal.inquiries(pass);
            moments.retain(|moment| match moment {
                Inquiry::Question(at, _) => *at == func,
                Inquiry::Event(event) => events[*event].func == func,
            });
            moments
        };
        let (pass, func, moments) = match rewrite {
            Some(event) => {
                let pass = passes.clone().find(|&pass| session.events_of(pass).contains(&event))?;
                let func = events[event].func;
                (pass, func, Some(of(pass, func)).filter(|moments| asks(moments))?)
            }
            None => {
                let (pass, moments) =
                    passes.clone().rev().map(|pass| (pass, of(pass, kernel))).find(|(_, moments)| asks(moments))?;
                (pass, kernel, moments)
            }
        };
        let happened = moments.iter().map(|moment| match moment {
            Inquiry::Event(event) => Some(*event),
            Inquiry::Question(..) => None,
        });
        let course = course(session, passes, happened);
        Some(Moments { pass, func, moments, course })
    }
}

/// Are questions among these?
fn asks(moments: &[Inquiry<'_>]) -> bool {
    moments.iter().any(|moment| matches!(moment, Inquiry::Question(..)))
}

/// The moments of the pass that led to a position, if it asks questions.
pub fn course_of_questions(
    session: &Session,
    passes: &Range<usize>,
    rewrite: Option<usize>,
    kernel: Func,
) -> Option<Course> {
    Moments::find(session, passes, rewrite, kernel).map(|moments| moments.course)
}

/// The questions of the pass that led to a position, if it asks any; of very many those around a moment.
pub fn questions(
    session: &Session,
    passes: &Range<usize>,
    rewrite: Option<usize>,
    kernel: Func,
    moment: usize,
) -> Option<Questions> {
    let Moments { pass, func, moments, course } = Moments::find(session, passes, rewrite, kernel)?;
    let shown = window(&moments, moment, MOST_EVENTS);
    // Told of the program as it was when they were asked.
    let journal = session.journal();
    let event = |moment: &Inquiry<'_>| match moment {
        Inquiry::Event(event) => Some(*event),
        Inquiry::Question(..) => None,
    };
    let done =
        moments[..shown.start].iter().rev().find_map(event).map_or(session.events_of(pass).start, |last| last + 1);
    let mut program = session.start().clone();
    journal.advance(&mut program, 0..done);
    let mut narrator = Narrator::new(program, func);
    let happened = moments[shown.clone()].iter().map(|moment| match moment {
        Inquiry::Question(_, event) => narrator.tell(event),
        Inquiry::Event(event) => narrator.change(journal, *event),
    });
    let happened = happened.collect();
    // What is asked behind that is not kept, of this pass and of those behind it.
    let is_last = || (pass + 1..journal.passes().len()).all(|later| !asks(&journal.inquiries(later)));
    let cut_after = (!journal.has_room() && is_last()).then_some(MAX_DETAILS);
    Some(Questions { course, first: shown.start, happened, cut_after })
}

/// The part that is shown of more than `most` moments: from the beginning of an inquiry, and with the one that is asked
/// for.
fn window(moments: &[Inquiry<'_>], moment: usize, most: usize) -> Range<usize> {
    if moments.len() <= most {
        return 0..moments.len();
    }
    let wanted = moment.min(moments.len()).saturating_sub(1);
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
    use crate::Engine;
    use crate::message::{Bench, Event, Listen, Look, Position, Request, Response, Scope, Stage, Verdict, View, What};

    const FIGURE_6: &str = include_str!("../../../www/examples/questions/figure-4.wir");
    const FIGURE_2: &str = include_str!("../../../www/examples/questions/figure-2.wir");

    fn bench(source: &str, passes: &[&str]) -> Bench {
        let stage = |pass: &&str| Stage { pass: (*pass).to_owned(), on: true, ..Stage::default() };
        Bench { source: source.to_owned(), pipeline: passes.iter().map(stage).collect(), ..Bench::default() }
    }

    fn listen(bench: &Bench, position: Position, moment: usize) -> Option<Box<Questions>> {
        let listen = Listen { bench: bench.clone(), position, moment };
        match Engine::new(|| 0.0).answer(Request::Listen(listen)) {
            Response::Questions(questions) => questions,
            other => panic!("{other:?}"),
        }
    }

    fn look(bench: &Bench, step: usize, moment: Option<usize>) -> View {
        let position = Position { stage: bench.pipeline.len(), step };
        let look = Look { bench: bench.clone(), position, scope: Scope::Rewrite, moment };
        match Engine::new(|| 0.0).answer(Request::Look(look)) {
            Response::View(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_figures_are_told_as_the_paper_tells_them() {
        let told = |source: &str, pass: &str| -> Vec<String> {
            let questions = listen(&bench(source, &[pass]), Position::END, 0).expect("questions");
            questions.happened.into_iter().map(|event| format!("{} | {}", event.rule, event.sentence)).collect()
        };
        let preqp = told(FIGURE_2, "preqp");
        for sentence in [
            "5 | `n3` computes it, `u = add.s32 a, b`. The answer is (true, true).",
            "7 | `add.s32 a, b` is missing there, and other ways have it: it is noted for the end of `n2`.",
        ] {
            assert!(preqp.iter().any(|told| told == sentence), "{sentence}\n{}", preqp.join("\n"));
        }
        let ssrqp = told(FIGURE_6, "ssrqp");
        for sentence in [
            "3-ii | `i = mov.s32 0` in `n1` changes it, and its branch does not diverge. The answer is (false, ∅).",
            "4-i-b | It can go no further, but in front of the branch of `n2` it can. The answer is (true, {n2}).",
            "4-i-a | It can go further up than `n4`. The answer is (true, {n2}).",
        ] {
            assert!(ssrqp.iter().any(|told| told == sentence), "{sentence}\n{}", ssrqp.join("\n"));
        }
    }

    #[test]
    fn before_a_change_the_graph_is_the_one_that_was_asked_about() {
        let bench = bench(FIGURE_2, &["preqp"]);
        let course = look(&bench, 1, None).questions.expect("a pass that asks");
        let lines = |moment: Option<usize>| -> usize {
            look(&bench, 1, moment).graph.blocks.iter().map(|block| block.lines.len()).sum()
        };
        let (made, without) = (course.changes[0], lines(Some(0)));
        assert_eq!(lines(Some(made - 1)), without);
        assert_eq!(lines(Some(made)), lines(None));
        assert!(lines(None) != without, "the change inserts or removes a line");
    }

    #[test]
    fn what_comes_back_answers_what_went_out() {
        let questions = listen(&bench(FIGURE_6, &["ssrqp"]), Position::END, 0).expect("questions");
        assert_eq!((questions.first, questions.happened.len()), (0, questions.course.last));
        let mut under_way = Vec::new();
        for event in &questions.happened {
            match &event.what {
                What::Began { id, parent, .. } => {
                    assert_eq!(parent.is_none(), under_way.is_empty());
                    under_way.push(*id);
                }
                What::Asked { id, parent, .. } => {
                    assert_eq!(under_way.last(), Some(parent));
                    under_way.push(*id);
                }
                What::Answered { id, .. } | What::Ended { id, .. } => assert_eq!(under_way.pop(), Some(*id)),
                What::Converted { id, .. } | What::Noted { id, .. } => assert_eq!(under_way.last(), Some(id)),
                What::Changed | What::Refused => assert!(under_way.is_empty()),
            }
        }
        let words = |wanted: &str| {
            let is_it = |event: &&Event| matches!(&event.what, What::Answered { words, .. } if words == wanted);
            questions.happened.iter().filter(is_it).count()
        };
        assert!(words("true, {n2}") >= 2 && words("false") > 0, "where it can go is said");
        let is_real =
            |event: &&Event| matches!(event.what, What::Answered { verdict: Verdict::Real, .. }) && event.rule == "5";
        assert!(questions.happened.iter().filter(is_real).count() > 0);
    }

    #[test]
    fn a_pass_that_asks_nothing_has_no_questions() {
        assert!(listen(&bench(FIGURE_2, &["dce"]), Position::END, 0).is_none());
        assert!(listen(&bench(FIGURE_2, &[]), Position::END, 0).is_none());
        assert!(listen(&bench("no program", &["ssrqp"]), Position::END, 0).is_none());
        assert!(look(&bench(FIGURE_2, &["dce"]), 1, None).questions.is_none());
    }

    #[test]
    fn of_more_questions_than_are_kept_the_page_is_told() {
        // Each inquiry goes up through all diamonds above its own.
        let mut source = "kernel k(a: u32, c: u32) {\nstart:\n    p = setp.lt.u32 a, c\n    br first0\n".to_owned();
        for at in 0..200 {
            let next = at + 1;
            source += &format!(
                "first{at}:\n    br p, left{at}, right{at}\nleft{at}:\n    x{at} = add.u32 a, {next}\n    br join{at}\n\
                 right{at}:\n    br join{at}\njoin{at}:\n    y{at} = add.u32 a, {next}\n    br first{next}\n"
            );
        }
        source += "first200:\n    ret\n}\n";
        let told = listen(&bench(&source, &["preqp"]), Position::END, 0).expect("it asks");
        assert_eq!(told.cut_after, Some(MAX_DETAILS));
        let told = listen(&bench(FIGURE_2, &["preqp"]), Position::END, 0).expect("it asks");
        assert_eq!(told.cut_after, None);
    }

    #[test]
    fn of_very_many_moments_those_around_one_are_shown() {
        let event = |parent| QuestionEvent::Began {
            id: 1,
            parent,
            query: warpscope_core::trace::Query::Availability,
            expression: String::new(),
            root: warpscope_core::ir::Block::from_u32(0),
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
