//! Problems: what is wrong with the texts, and what failed when they ran, in one list with ways to the places.

use warpscope_engine::message::{Diagnostic, Failure};
use yew::{Callback, Html, html};

use super::change::with_code;
use super::{count, on};
use crate::state::{Action, Lab, Tab, Watched};

/// A failed run.
struct FailedRun<'a> {
    failure: &'a Failure,
    /// Whether the program at the position failed, rather than the source.
    after: bool,
    /// The line of the source, from 1; 0 if the instruction is not there.
    line: usize,
    /// Sentence about the other program; empty if there is nothing to say.
    other: &'static str,
}

/// The failed runs. Two that fail alike are one entry.
fn failed_runs(lab: &Lab) -> Vec<FailedRun<'_>> {
    let (before, after) = lab.failures();
    let is_source = lab.view.as_ref().is_none_or(|view| view.position.stage == 0);
    let line = |failure: &Failure, after: bool| lab.source_line(failure.line, after);
    let fail_alike = before.zip(after).is_some_and(|(before, after)| {
        let is_one_place = line(before, false) == line(after, true) || before.place == after.place;
        // An endless loop is stopped wherever it is by then.
        before.message == after.message && (is_one_place || before.code == "endless-loop")
    });
    let mut runs = Vec::new();
    if let Some(failure) = before {
        let other = match (fail_alike, after) {
            _ if is_source => "",
            (true, _) => "Same in the optimised program.",
            (false, Some(_)) => "The optimised program fails in another way.",
            (false, None) => "The optimised program does not fail.",
        };
        runs.push(FailedRun { failure, after: false, line: line(failure, false), other });
    }
    if let Some(failure) = after.filter(|_| !(fail_alike || is_source && before.is_some())) {
        let other = if before.is_some() { "" } else { "The source does not fail." };
        runs.push(FailedRun { failure, after: true, line: line(failure, true), other });
    }
    runs
}

/// The places of failed runs in the source, as the editor marks them.
pub fn failures_in_source(lab: &Lab) -> Vec<Diagnostic> {
    let runs = failed_runs(lab);
    let marks = runs.iter().filter(|run| run.line > 0).map(|run| {
        let (from, to) = line_range(&lab.bench.source, run.line);
        let (code, message) = (run.failure.code.clone(), run.failure.message.clone());
        Diagnostic { code, message, from, to, line: run.line, ..Diagnostic::default() }
    });
    marks.collect()
}

/// Begin and end of the statement on a line, from 1, in UTF-16 units.
fn line_range(text: &str, line: usize) -> (usize, usize) {
    let length = |text: &str| text.encode_utf16().count();
    let mut start = 0;
    for (index, found) in text.split('\n').enumerate() {
        if index + 1 == line {
            let statement = found.trim_start();
            let from = start + length(found) - length(statement);
            return (from, from + length(statement.trim_end()));
        }
        start += length(found) + 1;
    }
    (0, 0)
}

/// The list under the editor. It is always there for screen readers, which announce a change of its summary.
pub fn problems(
    lab: &Lab,
    diagnostics: &[Diagnostic],
    on_place: &Callback<(Tab, usize)>,
    act: &Callback<Action>,
) -> Html {
    let errors = diagnostics.iter().filter(|diagnostic| !diagnostic.is_warning).count();
    let warnings = diagnostics.len() - errors;
    let failed = failed_runs(lab);
    let counts = [(errors, "error"), (failed.len(), "run-time error"), (warnings, "warning")];
    let counted: Vec<String> =
        counts.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(number, noun)).collect();
    let summary = match counted.join(", ") {
        none if !none.is_empty() => none,
        _ if lab.view.is_none() => "Reading…".to_owned(),
        _ if lab.lacks_program() => "No kernel".to_owned(),
        _ => "No errors".to_owned(),
    };
    let is_bad = errors + failed.len() > 0;
    html! {
        <section class="mistakes" id="problems" tabindex="-1" aria-label="Problems" data-testid="diagnostics">
            <p class={if is_bad { "summary bad" } else { "summary" }}><b>{ "Problems" }</b><span role="status">{ summary }</span></p>
            if !diagnostics.is_empty() || !failed.is_empty() {
                <ul>
                    { for diagnostics.iter().map(|diagnostic| mistake(diagnostic, on_place)) }
                    { for failed.iter().map(|run| failed_run(run, lab, on_place, act)) }
                </ul>
            }
        </section>
    }
}

fn mistake(diagnostic: &Diagnostic, on_place: &Callback<(Tab, usize)>) -> Html {
    let tab = if diagnostic.in_launch { Tab::Launch } else { Tab::Source };
    let from = diagnostic.from;
    let text = if diagnostic.in_launch { "launch " } else { "" };
    let place = format!("{text}{}:{}", diagnostic.line, diagnostic.column);
    html! {
        <li class={if diagnostic.is_warning { "warning" } else { "error" }}>
            <button type="button" onclick={on_place.reform(move |_| (tab, from))}>
                <span class="place">{ place }</span>
                <span class="message">
                    { with_code(&diagnostic.message) }
                    if !diagnostic.hint.is_empty() { <em>{ with_code(&diagnostic.hint) }</em> }
                </span>
                <code class="code">{ &diagnostic.code }</code>
            </button>
        </li>
    }
}

fn failed_run(run: &FailedRun<'_>, lab: &Lab, on_place: &Callback<(Tab, usize)>, act: &Callback<Action>) -> Html {
    let FailedRun { failure, after, line, other } = *run;
    let (place, target) = match line {
        0 if failure.line == 0 => ("launch".to_owned(), (Tab::Launch, 0)),
        0 => ("optimised".to_owned(), (Tab::Source, 0)),
        line => (line.to_string(), (Tab::Source, line_range(&lab.bench.source, line).0)),
    };
    let warp = failure.warp;
    let go = failure.issue.map(|issue| {
        let onclick = on(act, move || Action::Watch(Watched { after, issue, playing: false, warp }));
        html! { <button type="button" class="plain small go" {onclick}>{ "Go to the failing issue" }</button> }
    });
    html! {
        <li class="error">
            <button type="button" onclick={on_place.reform(move |_| target)}>
                <span class="place">{ place }</span>
                <span class="message">
                    { with_code(&failure.message) }
                    if !failure.place.is_empty() { <em>{ with_code(&failure.place) }</em> }
                    if let Some(issue) = failure.issue { <em>{ format!("After {}.", count(issue as usize, "issue")) }</em> }
                    if !other.is_empty() { <em>{ other }</em> }
                </span>
                <code class="code">{ &failure.code }</code>
            </button>
            { go.unwrap_or_default() }
        </li>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_of_line_counts_utf16_units() {
        let text = "// é𝄞\n    x = 1  \nret";
        assert_eq!(line_range(text, 1), (0, 6));
        assert_eq!(line_range(text, 2), (11, 16));
        assert_eq!(line_range(text, 3), (19, 22));
        assert_eq!(line_range(text, 9), (0, 0));
    }
}
