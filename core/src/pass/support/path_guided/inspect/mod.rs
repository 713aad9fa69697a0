//! Inspections of passes that are guided by paths: one of the statements that they consider, one of the joins or
//! branches in its way, the executed paths with the sets of that, and the statement's way, moment by moment.
//!
//! ```text
//! request     { statement: "4", join: "8", path: "0", frequency.0-1-4-6: "20" }
//! inspection  Statement  x = mul.f32 a, b · n2       Join  n5
//!             Saves 150 × 1 T[s], costs 100 × 1 T[p?s]: worth it
//!             P1  n1 n2 n5 n7 n12  125  1 1 1 0      a row and a strand for each path
//! ```
//!
//! Each pass surveys the function and finds the words ([`Findings`]); here they become an inspection, alike for all
//! passes.
//!
//! Limit: [`MOST_STATEMENTS`] options.

mod list;
pub(in crate::pass) mod points;
pub(in crate::pass) mod words;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::paths::Path;
use crate::inspect::{
    Anchor, Choice, ChoiceOption, Course, Inspection, Look, Mark, Moment, Note, Request, Term, Timeline,
};
use crate::ir::{Block, Function, Inst};
use crate::pass::{InspectedPosition, Inspector, Subject};
use crate::trace::sentence;

use self::points::PointSets;
pub(in crate::pass) use list::ListedPaths;

/// More statements are counted, not listed.
const MOST_STATEMENTS: usize = 300;

const STATEMENT: &str = "statement";
const JOIN: &str = "join";
const PATH: &str = "path";

const TITLE: &str = "Paths";

/// An explanation of the table and the strands.
const WHAT: &str = "Each row and line is an executed path: green saves, red adds.";

/// The inspector of a pass that is guided by paths.
pub(in crate::pass) const fn inspector(
    inspect: fn(&InspectedPosition<'_>, &Request) -> Option<Inspection>,
) -> Option<Inspector> {
    Some(Inspector { title: TITLE, subject: Subject::Next, has_moments: true, applies: |_| true, inspect })
}

/// The words of a pass: a statement that sinks past joins, or an evaluation that is brought up past branches.
pub(in crate::pass) struct Vocabulary {
    /// The name of what moves.
    pub statement: &'static str,
    /// The name of what it passes.
    pub point: &'static str,
    /// The fate of what moves, and of what does not.
    pub fates: [&'static str; 2],
    /// The name of its way.
    pub way: &'static str,
    /// The columns of sets.
    pub sets: [SetColumn; 4],
    /// Terms of a line that weighs benefit against cost, with their meanings.
    pub terms: &'static [(&'static str, &'static str)],
}

/// A column that says which paths are in a set.
pub(in crate::pass) struct SetColumn {
    /// Its name.
    pub name: &'static str,
    /// The name of the set in the paper; empty if it has none.
    pub set: &'static str,
    /// The property of the paths in it, with `{}` for the join or branch.
    pub meaning: &'static str,
}

impl SetColumn {
    fn help(&self, point: &str) -> String {
        let colon = if self.set.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", self.set, self.meaning.replace("{}", point))
    }
}

/// The findings of a pass in a function.
pub(in crate::pass) struct Findings<'a> {
    /// The next step, in a sentence.
    pub lead: String,
    /// The statements, those first that matter most.
    pub statements: Vec<StatementRow>,
    /// The statement whose way is shown.
    pub shown: Option<ShownStatement>,
    /// An instruction of the statement that the pass changes next.
    pub next: Option<Inst>,
    /// The paths that the sets are of.
    pub paths: &'a [Path],
    /// Whether their frequencies are estimated.
    pub is_estimated: bool,
}

/// A statement that may be chosen.
pub(in crate::pass) struct StatementRow {
    /// Its instructions, which move together.
    pub insts: Vec<Inst>,
    /// Their text.
    pub text: String,
    /// Whether it moves.
    pub passes: bool,
}

/// A statement, why it moves or not, and its way.
pub(in crate::pass) struct ShownStatement {
    /// Its instructions.
    pub insts: Vec<Inst>,
    /// Their text.
    pub text: String,
    /// Whether it moves.
    pub passes: bool,
    /// The rule that decided; empty if none did.
    pub rule: String,
    /// The decision, in a sentence.
    pub verdict: String,
    /// The price that warps pay for it; empty if that is not known.
    pub warps: String,
    /// The joins or branches that it could reach.
    pub points: Vec<DecisionPoint>,
    /// Its way, from where it is.
    pub moments: Vec<Moment>,
}

impl ShownStatement {
    /// An instruction that the pass does not consider, for a reason in a sentence.
    pub fn out_of_question(inst: Inst, text: String, reason: String) -> ShownStatement {
        ShownStatement {
            insts: Vec::from([inst]),
            text,
            passes: false,
            rule: String::new(),
            verdict: reason,
            warps: String::new(),
            points: Vec::new(),
            moments: Vec::new(),
        }
    }
}

/// A join or a branch in the way of a statement.
pub(in crate::pass) struct DecisionPoint {
    /// The block.
    pub block: Block,
    /// Its name.
    pub name: String,
    /// The decision, in a word.
    pub word: &'static str,
    /// Whether the statement passes it.
    pub passes: bool,
    /// The decision, in a sentence.
    pub verdict: String,
    /// Benefit against cost; empty if nothing was weighed.
    pub line: String,
    /// The benefit that the paper counts, in words, where that is another one.
    pub printed: String,
    /// Which paths lose and gain by it.
    pub sets: PointSets,
}

/// The instruction that a request asks about, if the function has it.
pub(in crate::pass) fn requested(request: &Request, func: &Function) -> Option<Inst> {
    let number: u32 = request.choices.get(STATEMENT)?.trim().parse().ok()?;
    ((number as usize) < func.insts.len()).then(|| Inst::from_u32(number))
}

/// The instruction that the pass changes next. The journal knows, as a round goes on from the program that it began
/// with.
pub(in crate::pass) fn planned(position: &InspectedPosition<'_>) -> Option<Inst> {
    let (_, mut next) = position.rewrites();
    next.next().and_then(|event| event.remark.inst)
}

/// The survey of the statement that a request or the next step is about, or else of the usual one,
/// with edited frequencies. `survey` is called with frequencies and an instruction of the statement;
/// `usual` gives the statement that is shown where nothing is known to come next, and
/// `has_statement` says whether a survey is of one.
pub(in crate::pass) fn survey_of_statement<S>(
    (wanted, planned): (Option<Inst>, Option<Inst>),
    listed: &ListedPaths<'_>,
    survey: impl Fn(&[(Vec<Block>, u64)], Option<Inst>) -> S,
    usual: impl Fn(&S) -> Option<Inst>,
    has_statement: impl Fn(&S) -> bool,
) -> S {
    // Other frequencies are asked about the same statement.
    let found = survey(&listed.edited, wanted.or(planned).or_else(|| usual(&survey(&[], None))));
    match usual(&found).filter(|_| wanted.is_none() && !has_statement(&found)) {
        Some(inst) => survey(&listed.edited, Some(inst)),
        None => found,
    }
}

/// Executions of a set of paths, by their places.
pub(in crate::pass) fn executions(paths: &[Path], set: &[usize]) -> f64 {
    set.iter().map(|&path| paths[path].frequency as f64).sum()
}

/// The moment at which a statement does not pass a join or branch.
pub(in crate::pass) fn refused(anchor: Anchor, sentence: String) -> Moment {
    let marks = Vec::from([mark(anchor, Look::Bad, "")]);
    Moment { word: "refused".into(), look: Look::Bad, sentence, marks, ..Moment::default() }
}

/// The moment at which a statement stays, for a reason.
pub(in crate::pass) fn stays(reason: &str) -> Moment {
    Moment { word: "kept".into(), look: Look::Bad, sentence: sentence(reason), ..Moment::default() }
}

/// A mark of a place.
pub(in crate::pass) fn mark(anchor: Anchor, look: Look, text: impl Into<String>) -> Mark {
    Mark { anchor, look, text: text.into() }
}

/// The inspection of what a pass found.
pub(in crate::pass) fn inspection(
    request: &Request,
    vocabulary: &Vocabulary,
    listed: &ListedPaths<'_>,
    func: &Function,
    findings: Findings<'_>,
) -> Inspection {
    let Findings { lead, statements, mut shown, next, paths, is_estimated } = findings;
    let moments = shown.as_mut().map(|shown| core::mem::take(&mut shown.moments)).unwrap_or_default();
    let leads_to_change =
        listed.edited.is_empty() && next.zip(shown.as_ref()).is_some_and(|(next, shown)| shown.insts.contains(&next));
    let point = shown.as_ref().and_then(|shown| chosen_point(&shown.points, request));
    let mut choices = Vec::from_iter(statement_choice(func, vocabulary, &statements, shown.as_ref()));
    choices.extend(shown.as_ref().zip(point).map(|(shown, point)| Choice {
        key: JOIN.into(),
        label: vocabulary.point.into(),
        options: shown.points.iter().map(point_option).collect(),
        value: point.block.as_u32().to_string(),
        result: weighing(vocabulary, point),
        ..Choice::default()
    }));
    let mut notes: Vec<Note> =
        point.map(|point| Note { sentence: point.verdict.clone(), ..Note::default() }).into_iter().collect();
    notes.extend(shown.as_ref().map(statement_notes).unwrap_or_default());
    notes.extend(listed.origin(is_estimated));
    let sets = point.map(|point| (point, &vocabulary.sets));
    let tables = if listed.is_empty() { Vec::new() } else { Vec::from([listed.table(request, paths, sets)]) };
    Inspection {
        lead,
        aside: if listed.is_empty() { String::new() } else { WHAT.into() },
        choices,
        notes,
        tables,
        strands: listed.strands(),
        timeline: timeline(vocabulary, moments, request, leads_to_change),
        offers: listed.offers(),
        ..Inspection::new(TITLE)
    }
}

/// The choice of a statement. One that is not among the options becomes the first.
fn statement_choice(
    func: &Function,
    vocabulary: &Vocabulary,
    statements: &[StatementRow],
    shown: Option<&ShownStatement>,
) -> Option<Choice> {
    let option = |insts: &[Inst], label: String, note: &str| {
        let first = insts.first()?.as_u32();
        let (value, anchor) = (first.to_string(), Some(Anchor::Inst(first)));
        Some(ChoiceOption { value, label, note: note.into(), anchor })
    };
    let [moves, stays] = vocabulary.fates;
    let row = |row: &StatementRow| {
        let blocks = row.insts.iter().filter_map(|&inst| func.inst_block(inst));
        let label = format!("{} · {}", row.text, words::plain_names(func, blocks));
        option(&row.insts, label, if row.passes { moves } else { stays })
    };
    let mut options: Vec<ChoiceOption> = statements.iter().take(MOST_STATEMENTS).filter_map(row).collect();
    let own = shown.and_then(|shown| option(&shown.insts, shown.text.clone(), ""));
    let value = own.as_ref().map(|own| own.value.clone()).unwrap_or_default();
    if let Some(own) = own.filter(|own| options.iter().all(|option| option.value != own.value)) {
        options.insert(0, own);
    }
    (!options.is_empty()).then(|| Choice {
        key: STATEMENT.into(),
        label: vocabulary.statement.into(),
        is_long: true,
        options,
        value,
        left_out: statements.len().saturating_sub(MOST_STATEMENTS),
        ..Choice::default()
    })
}

fn point_option(point: &DecisionPoint) -> ChoiceOption {
    let block = point.block.as_u32();
    ChoiceOption {
        value: block.to_string(),
        label: point.name.clone(),
        note: point.word.into(),
        anchor: Some(Anchor::Block(block)),
    }
}

/// The one that was chosen, or the first that was weighed, or the first.
fn chosen_point<'a>(all: &'a [DecisionPoint], request: &Request) -> Option<&'a DecisionPoint> {
    let number: Option<u32> = request.choices.get(JOIN).and_then(|value| value.trim().parse().ok());
    let chosen = all.iter().find(|point| Some(point.block.as_u32()) == number);
    chosen.or_else(|| all.iter().find(|point| !point.line.is_empty())).or(all.first())
}

/// Benefit against cost, where that was weighed.
fn weighing(vocabulary: &Vocabulary, point: &DecisionPoint) -> Option<Note> {
    let terms = vocabulary.terms.iter().filter(|(term, _)| point.line.contains(term));
    let term = |&(name, meaning): &(&str, &str)| Term { name: name.into(), meaning: meaning.into() };
    (!point.line.is_empty()).then(|| Note {
        look: if point.passes { Look::Good } else { Look::Plain },
        sentence: point.line.clone(),
        aside: point.printed.clone(),
        terms: terms.map(term).collect(),
        ..Note::default()
    })
}

/// The fate of a statement, and what warps pay.
fn statement_notes(shown: &ShownStatement) -> Vec<Note> {
    let verdict = Note {
        word: shown.rule.clone(),
        look: if shown.passes { Look::Good } else { Look::Plain },
        sentence: shown.verdict.clone(),
        ..Note::default()
    };
    let warps = Note { sentence: shown.warps.clone(), ..Note::default() };
    [verdict, warps].into_iter().filter(|note| !note.sentence.is_empty()).collect()
}

/// The way of a statement: its first moment is where the statement is.
fn timeline(
    vocabulary: &Vocabulary,
    moments: Vec<Moment>,
    request: &Request,
    leads_to_change: bool,
) -> Option<Timeline> {
    let mut moments = moments.into_iter();
    let start = moments.next()?;
    let moments: Vec<Moment> = moments.collect();
    let last = moments.len();
    Some(Timeline {
        name: vocabulary.way.into(),
        course: Course { last, ..Course::default() },
        at: request.moment.unwrap_or(0).min(last),
        start: Some(start),
        moments,
        leads_to_change,
        ..Timeline::default()
    })
}
