//! The questions that passes ask.

use std::collections::BTreeSet;

use warpscope_core::inspect::{Anchor, Inspection, Look, Moment, RuleText, Timeline, TokenStep};
use warpscope_core::journal::MAX_DETAILS;
use warpscope_core::session::Session;

use crate::{inspect_kept, open, stops};

const FIGURE_6: &str = "questions/figure-4.wir";
const FIGURE_2: &str = "questions/figure-2.wir";

/// The questions of a pass at its end.
fn ask(program: &str, pass: &str) -> Option<Inspection> {
    let mut session = open(program, pass, false);
    let done = session.len();
    inspect_kept(&mut session, ("Questions", 0..1), done, None)
}

fn timeline(found: &Inspection) -> &Timeline {
    found.timeline.as_ref().expect("a timeline")
}

/// The questions that led to the first change.
fn first(session: &mut Session, moment: Option<usize>) -> Inspection {
    let done = stops(session, 0..1)[0];
    inspect_kept(session, ("Questions", 0..1), done, moment).expect("a pass that asks")
}

#[test]
fn the_figures_are_told_as_the_paper_tells_them() {
    let told = |program: &str, pass: &str| -> Vec<String> {
        let found = ask(program, pass).expect("questions");
        timeline(&found).moments.iter().map(|moment| format!("{} | {}", moment.rule, moment.sentence)).collect()
    };
    let preqp = told(FIGURE_2, "preqp");
    for sentence in [
        "5 | `n3` computes it, `u = add.s32 a, b`. Answer: available.",
        "7 | `add.s32 a, b` is missing there, and other paths have it: it is noted for the end of `n2`.",
    ] {
        assert!(preqp.iter().any(|told| told == sentence), "{sentence}\n{}", preqp.join("\n"));
    }
    let ssrqp = told(FIGURE_6, "ssrqp[cost=paper]");
    for sentence in [
        "3-ii | `i = mov.s32 0` in `n1` changes it, and `n1` has no divergent branch. Answer: cannot move up.",
        "4-i-b | It can move above the branch of `n2`, but no further. Answer: can move up, to `n2`.",
        "4-i-a | It can go further up than `n4`. Answer: can move up, to `n2`.",
    ] {
        assert!(ssrqp.iter().any(|told| told == sentence), "{sentence}\n{}", ssrqp.join("\n"));
    }
}

/// A question that comes to `head` in three forms, one more than the paper allows.
const THREE_FORMS: &str = "kernel k(A: ptr.global, y: ptr.global, n: s32, p: pred, q: pred) {
head:
    i = mov.s32 n
    br fork
fork:
    br p, one, other
one:
    i = add.s32 i, 1
    br join
other:
    br q, two, three
two:
    i = add.s32 i, 2
    br join
three:
    i = add.s32 i, 3
    br join
join:
    x = ld.global.f32 A[i]
    z = ld.global.f32 A[i + 1]
    st.global.f32 y[0], x
    st.global.f32 y[1], z
    ret
}
";

/// A load after a branch at which all lanes agree, which decides nothing about it.
const AFTER_A_UNIFORM_BRANCH: &str = "kernel k(A: ptr.global, y: ptr.global, n: s32) {
entry:
    i = mov.u32 %tid
    c = setp.lt.s32 n, 4
    d = setp.lt.u32 i, 4
    br fork
fork:
    br c, left, right
left:
    st.global.s32 y[0], n
    br join
right:
    br join
join:
    x = ld.global.nc.f32 A[i]
    st.global.f32 y[i], x
    br d, again, out
again:
    z = ld.global.nc.f32 A[i]
    st.global.f32 y[i + 1], z
    br out
out:
    ret
}
";

/// The moments of every golden program about questions, by every pass that asks.
fn all_moments() -> Vec<(Vec<RuleText>, Vec<Moment>)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/questions");
    let files = std::fs::read_dir(folder).expect("golden programs").map(|entry| entry.expect("a file").path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    let passes = ["preqp", "srqp", "esrqp", "ssrqp-s[partial_speculation=true]", "ssrqp[cost=paper]"];
    let golden = files.iter().map(|file| {
        let text = std::fs::read_to_string(file).expect("a program");
        text.split("----").next().unwrap_or_default().to_owned()
    });
    let own = [THREE_FORMS, AFTER_A_UNIFORM_BRANCH].map(str::to_owned);
    let found = golden.chain(own).flat_map(|program| passes.map(move |pass| ask(&program, pass)));
    found.flatten().filter_map(|found| found.timeline).map(|told| (told.rules, told.moments)).collect()
}

#[test]
fn every_rule_that_occurs_has_a_text() {
    let all = all_moments();
    let mut cited = BTreeSet::new();
    for (rules, moments) in &all {
        for moment in moments.iter().filter(|moment| !moment.rule.is_empty() && !is_about_a_change(moment)) {
            let index = moment.cites.unwrap_or_else(|| panic!("no text: {} {}", moment.rule, moment.sentence));
            let RuleText { name, text, source } = &rules[index];
            assert!(*name == moment.rule && text.len() > 60 && !source.is_empty(), "{moment:?}");
            cited.insert(index);
        }
    }
    let (rules, _) = &all[0];
    let unused: Vec<_> = (0..rules.len()).filter(|index| !cited.contains(index)).map(|index| &rules[index]).collect();
    // A budget is used up by larger programs only.
    assert!(unused.iter().all(|rule| rule.name == "budget"), "{unused:?}");
}

/// Whether a moment is a change or a refusal of the pass.
fn is_about_a_change(moment: &Moment) -> bool {
    matches!(moment.word.as_str(), "change" | "refused")
}

#[test]
fn sentences_have_words_for_signs_of_the_paper() {
    for (_, moments) in all_moments() {
        for moment in &moments {
            let tokens = moment.tokens.iter().map(|step| format!("{step:?}"));
            for text in tokens.chain([moment.sentence.clone()]) {
                let found = ["∏", "∪", "∅", "(true", "(false", "not real"].into_iter().find(|sign| text.contains(sign));
                assert_eq!(found, None, "{text}");
            }
        }
    }
}

/// The sentences with which inquiries end.
fn results(program: &str, pass: &str) -> Vec<String> {
    let found = ask(program, pass).expect("questions");
    let ends = timeline(&found).moments.iter().filter(|moment| moment.word == "result");
    ends.map(|moment| moment.sentence.clone()).collect()
}

#[test]
fn inquiry_ends_with_its_moments_and_cause() {
    let not_available = "38 moments: `A[i + 1]` is not available in `n5`, because nothing computes it on the path from \
                         the entry `s`, through `i = mov.s32 0`.";
    let expected: [(&str, &str, &[&str]); 4] = [
        (
            FIGURE_2,
            "preqp",
            &[
                "4 moments: `add.s32 a, b` is not available in `n3`, because `a = mov.s32 x` in `n1` changes it.",
                "4 moments: `n4` is down-safe for `add.s32 a, b`, because `n4` computes it.",
                "13 moments: `add.s32 a, b` is available in `n4`, because `n3` computes it and it is inserted at the \
                 end of `n2`.",
            ],
        ),
        (
            FIGURE_6,
            "srqp",
            &[
                not_available,
                "6 moments: `n7` is down-safe for `A[i] or A[i + 1]`, because `n8` computes it.",
                "4 moments: `n8` is down-safe for `A[i] or A[i + 1]`, because `n8` computes it.",
                "20 moments: `n2` is down-safe for `A[i]`, because `n8` computes it.",
                "81 moments: `A[i]` is available in `n8`, because `n5` computes it and it is inserted at the end of \
                 `n6`, at the end of `n3` and at the end of `n1`.",
            ],
        ),
        (
            FIGURE_6,
            "esrqp",
            &[
                not_available,
                "6 moments: `n7` is down-safe for `A[i] or A[i + 1]`, because `n8` computes it.",
                "54 moments: `A[i]` is not available in `n8`, because nothing is inserted at the end of `n6`, where \
                 the divergent branch of `n4` decides.",
            ],
        ),
        (
            FIGURE_6,
            "ssrqp[cost=paper]",
            &[
                not_available,
                "12 moments: `A[i + 1]` can move up, to `n2`, because the branch of `n2` diverges and decides about \
                 it.",
                "20 moments: `n2` is down-safe for `A[i]`, because `n8` computes it.",
                "63 moments: `A[i]` is available in `n8`, because `n2` and `n5` compute it and it is inserted at the \
                 end of `n1`.",
            ],
        ),
    ];
    for (program, pass, sentences) in expected {
        assert_eq!(results(program, pass), sentences, "{pass}");
    }
}

#[test]
fn inquiry_counts_its_own_moments() {
    for (_, moments) in all_moments() {
        let mut begun = Vec::new();
        for (at, moment) in moments.iter().enumerate() {
            match moment.word.as_str() {
                "inquiry" => begun.push(at),
                "result" => {
                    let count = at - begun.pop().expect("an inquiry") + 1;
                    assert!(moment.sentence.starts_with(&format!("{count} moments: ")), "{}", moment.sentence);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn every_pass_that_asks_shows_its_questions() {
    for pass in ["preqp", "srqp", "esrqp", "ssrqp-s", "ssrqp"] {
        let program = if pass == "preqp" { FIGURE_2 } else { FIGURE_6 };
        let found = ask(program, pass).expect("questions");
        let Timeline { name, kinds, at, course, .. } = timeline(&found);
        assert_eq!((found.title.as_str(), name.as_str()), ("Questions", "Questions"));
        let kinds: Vec<_> = kinds.iter().map(|kind| (kind.key.as_str(), kind.sign.as_str(), kind.is_upward)).collect();
        assert_eq!(kinds, [("availability", "↑", true), ("anticipatability", "↓", false), ("speculation", "⇈", true)]);
        assert_eq!(*at, course.changes.last().copied().unwrap_or(course.last), "{pass}");
    }
}

#[test]
fn a_moment_before_a_change_is_ahead_of_it() {
    let mut session = open(FIGURE_2, "preqp", false);
    let usual = first(&mut session, None);
    let course = timeline(&usual).course.clone();
    let made = course.changes[0];
    assert_eq!((timeline(&usual).at, course.step_of(made), course.is_ahead(made)), (made, 1, false));
    assert!(course.is_ahead(0) && course.is_ahead(made - 1));
    let start = first(&mut session, Some(0));
    assert_eq!((timeline(&start).at, start.lead.as_str()), (0, "Nothing has been asked yet."));
    let asked = first(&mut session, Some(1));
    assert_eq!(asked.lead, timeline(&asked).moments[0].sentence);
    let later = first(&mut session, Some(usize::MAX));
    assert_eq!(timeline(&later).at, *course.moments_of(1).end());
}

#[test]
fn what_comes_back_answers_what_went_out() {
    let found = ask(FIGURE_6, "ssrqp[cost=paper]").expect("questions");
    let Timeline { first, moments, course, cut_after, .. } = timeline(&found);
    assert_eq!((*first, moments.len(), *cut_after), (0, course.last, None));
    let mut under_way = Vec::new();
    for moment in moments {
        assert!(matches!(moment.focus, Some(Anchor::Block(_))));
        match moment.word.as_str() {
            "change" => assert!(under_way.is_empty() && moment.tokens.contains(&TokenStep::Clears)),
            "refused" => assert!(under_way.is_empty() && moment.tokens.is_empty()),
            _ => assert!(!moment.tokens.is_empty()),
        }
        for step in &moment.tokens {
            match step {
                TokenStep::Appears { id, parent, from: None, to, .. } => {
                    assert_eq!((parent.is_none(), moment.word.as_str()), (under_way.is_empty(), "inquiry"));
                    assert_eq!(moment.focus, Some(Anchor::Block(*to)));
                    under_way.push(*id);
                }
                TokenStep::Appears { id, parent, to, .. } => {
                    assert_eq!((under_way.last().copied(), moment.word.as_str()), (*parent, "question"));
                    assert_eq!(moment.focus, Some(Anchor::Block(*to)));
                    under_way.push(*id);
                }
                TokenStep::Returns { id, look, .. } => {
                    assert_eq!((under_way.pop(), moment.look), (Some(*id), *look));
                }
                TokenStep::Changes { id, .. } | TokenStep::Notes { id, .. } => {
                    assert_eq!(under_way.last(), Some(id));
                }
                TokenStep::Clears | TokenStep::Erases { .. } => assert!(under_way.is_empty()),
            }
        }
    }
    let words = |wanted: &str| {
        let is_it = |step: &&TokenStep| matches!(step, TokenStep::Returns { words, .. } if words == wanted);
        moments.iter().filter(|moment| moment.word == "answer").flat_map(|moment| &moment.tokens).filter(is_it).count()
    };
    assert!(words("yes, to n2") >= 2 && words("no") > 0, "where it can go is said");
    let real = moments.iter().filter(|moment| (moment.rule.as_str(), moment.look) == ("5", Look::Good));
    assert!(real.count() > 0);
    let expected = "available on some paths, down-safe";
    let meets = |step: &TokenStep| matches!(step, TokenStep::Returns { meeting, .. } if meeting == expected);
    assert!(moments.iter().any(|moment| moment.tokens.iter().any(meets)));
}

#[test]
fn notes_stay_until_they_are_carried_out_or_the_inquiry_fails() {
    for (program, pass) in [(FIGURE_2, "preqp"), (FIGURE_6, "srqp"), (FIGURE_6, "ssrqp[cost=paper]")] {
        let found = ask(program, pass).expect("questions");
        let (mut noted, mut carried_out) = (Vec::new(), 0);
        for moment in &timeline(&found).moments {
            for step in &moment.tokens {
                match step {
                    TokenStep::Notes { at, .. } => noted.push(at.clone()),
                    TokenStep::Erases { at } => {
                        let place = noted.iter().position(|noted| noted == at).expect("a note");
                        noted.remove(place);
                        if moment.word == "change" {
                            assert_eq!(moment.rule, "insert");
                            carried_out += 1;
                        }
                    }
                    TokenStep::Appears { parent: None, .. } => assert!(noted.is_empty(), "a new inquiry has no notes"),
                    _ => {}
                }
            }
        }
        assert!(carried_out > 0, "{pass}");
    }
}

#[test]
fn an_answer_that_only_the_question_gave_holds_in_part() {
    let found = ask(FIGURE_6, "ssrqp-s").expect("questions");
    let more = ask(FIGURE_2, "preqp").expect("questions");
    let moments = timeline(&found).moments.iter().chain(&timeline(&more).moments);
    for step in moments.flat_map(|moment| &moment.tokens) {
        if let TokenStep::Returns { look, words, .. } = step {
            let expected = match words.as_str() {
                "assumed" => Look::Partial,
                "no" => Look::Bad,
                _ => Look::Good,
            };
            assert_eq!(*look, expected, "{words}");
        }
    }
}

#[test]
fn a_pass_that_asks_nothing_has_no_questions() {
    assert!(ask(FIGURE_2, "dce").is_none());
    assert!(ask("kernel k() {\nentry:\n    ret\n}\n", "ssrqp").is_none());
    let mut session = open(FIGURE_2, "preqp,dce", false);
    let done = stops(&session, 1..2).last().copied().unwrap_or(session.len());
    let kernel = session.module().kernels().next().expect("a kernel");
    session.seek(done);
    assert!(session.inspected_passes(1..2, kernel).is_empty(), "of the entry of dce nothing is shown");
}

#[test]
fn of_entries_that_changed_nothing_the_last_pass_that_asked_is_shown() {
    let source = "kernel k(x: ptr.global) {\nentry:\n    a = ld.global.u32 x[0]\n    b = ld.global.u32 x[1]\n    br \
                  p\np:\n    \
                  st.global.u32 x[0], a\n    st.global.u32 x[1], b\n    ret\n}\n";
    let mut session = open(source, "srqp,esrqp", false);
    let kernel = session.module().kernels().next().expect("a kernel");
    session.seek(0);
    let asked: Vec<usize> = (0..2).filter(|&pass| session.journal().has_details(pass, kernel)).collect();
    let shown: Vec<usize> = session.inspected_passes(0..2, kernel).into_iter().map(|(pass, _)| pass).collect();
    assert_eq!(shown, asked.last().copied().into_iter().collect::<Vec<_>>());
}

#[test]
fn of_more_questions_than_are_kept_the_reader_is_told() {
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
    let found = ask(&source, "preqp").expect("it asks");
    let Timeline { cut_after, first, at, moments, course, .. } = timeline(&found);
    assert_eq!(*cut_after, Some(MAX_DETAILS));
    assert!(course.last > 12_000 && moments.len() <= 12_000);
    assert!(first < at && *at <= first + moments.len());
    assert_eq!(moments[0].word, "inquiry", "what is told begins with an inquiry");
}
