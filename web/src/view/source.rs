//! The source pane: the program and its launch in two tabs, and the list of problems.

use std::rc::Rc;

use warpscope_engine::message::{Diagnostic, Language, Run};
use yew::{Callback, Html, KeyboardEvent, MouseEvent, component, html, use_memo, use_state};

use super::inspection::LineMarks;
use super::problems::{failures_in_source, problems};
use super::{PaneProps, Shared, on, thousands};
use crate::dom;
use crate::editor::{EditorBox, LineLevel, PaintedLine};
use crate::state::{Action, Lab, Pane, Selection, Shape, Tab};

/// The source pane.
#[component]
pub fn Source(PaneProps { lab, act }: &PaneProps) -> Html {
    let jump = use_state(|| None::<(Tab, usize, u32)>);
    let view = lab.view.clone().unwrap_or_default();
    let (in_launch, mut in_source): (Vec<Diagnostic>, Vec<Diagnostic>) =
        view.diagnostics.iter().cloned().partition(|diagnostic| diagnostic.in_launch);
    in_source.extend(failures_in_source(lab));
    let jump_in = |tab: Tab| (*jump).filter(|jump| jump.0 == tab).map(|(_, offset, number)| (offset, number));
    let on_line = {
        let (act, view) = (act.clone(), lab.view.clone());
        Callback::from(move |line: usize| {
            let Some(view) = &view else { return };
            let block = view.source_blocks.get(line.wrapping_sub(1)).filter(|block| !block.is_empty());
            let inst = view.source_insts.get(line.wrapping_sub(1)).copied().flatten();
            act.emit(Action::Select(block.map(|block| Selection { block: block.clone(), inst, by: Pane::Source })));
        })
    };
    let (marked, exact) = marked_lines(lab);
    let heat = use_memo(lab.run_of_source().and_then(|_| lab.runs.clone()).map(Shared), |runs| {
        Rc::new(runs.as_ref().and_then(|runs| runs.0.before.as_ref().ok()).map(line_levels).unwrap_or_default())
    });
    let show_marked = lab.selected.as_ref().is_some_and(|selection| selection.by != Pane::Source);
    let launch_text = if lab.bench.launch.is_empty() { view.launch.clone() } else { lab.bench.launch.clone() };
    // A derived launch arrives with the view; the editor takes it over when it is another one.
    let launch_version = use_state(|| (0u32, String::new()));
    if launch_version.1 != launch_text && lab.bench.launch.is_empty() {
        launch_version.set((launch_version.0 + 1, launch_text.clone()));
    }
    let on_place = {
        let (act, jump) = (act.clone(), jump.clone());
        Callback::from(move |(tab, offset): (Tab, usize)| {
            act.emit(Action::Tab(tab));
            jump.set(Some((tab, offset, jump.map_or(0, |jump| jump.2) + 1)));
        })
    };
    let is_learn = lab.shape == Shape::Learn;
    let language = if view.language == Language::Ptx { "PTX" } else { "text IR" };
    html! {
        <section class="pane source" aria-label="Source" data-testid="source-pane" hidden={is_learn && !lab.shows_source}>
            <div class="pane-head">
                { tabs(lab.tab, act) }
                if is_learn {
                    <button type="button" class="plain small" onclick={hide_source(act)}>{ "Back to the step" }</button>
                }
                <span class="note">{ if lab.tab == Tab::Source { language } else if view.launch_is_derived { "derived" } else { "" } }</span>
            </div>
            <div class="pane-body editors" role="tabpanel" id="source-panel" aria-labelledby={tab_id(lab.tab)}>
                <EditorBox
                    label="Program" hint="Write a kernel, or paste the PTX that nvcc printed."
                    text={lab.bench.source.clone()} version={lab.text_version} language={view.language}
                    diagnostics={in_source} {marked} {exact} {show_marked} current={current_lines(lab)} position={lab.view.as_ref().map(|view| view.position)} lane={lab.lane_line() as u32} painted={painted_lines(lab)} heat={(*heat).clone()}
                    hidden={lab.tab != Tab::Source} jump={jump_in(Tab::Source)}
                    on_change={act.reform(Action::EditSource)} {on_line}
                />
                <EditorBox
                    label="Launch" hint="How the kernel is run: grid, block, and what its parameters hold."
                    text={launch_text} version={(lab.text_version + lab.launch_version).wrapping_mul(1 << 16) + launch_version.0} language={Language::Wir}
                    diagnostics={in_launch} hidden={lab.tab != Tab::Launch} jump={jump_in(Tab::Launch)}
                    on_change={act.reform(Action::EditLaunch)} on_line={Callback::noop()}
                />
            </div>
            { problems(lab, &view.diagnostics, &on_place, act) }
        </section>
    }
}

/// Gives the place of the source back to the program at the position.
fn hide_source(act: &Callback<Action>) -> Callback<MouseEvent> {
    let act = act.clone();
    Callback::from(move |_| {
        act.emit(Action::ShowSource(false));
        // The button goes.
        dom::focus_later("show-source".to_owned());
    })
}

fn tab_id(tab: Tab) -> &'static str {
    match tab {
        Tab::Source => "tab-source",
        Tab::Launch => "tab-launch",
    }
}

fn tabs(shown: Tab, act: &Callback<Action>) -> Html {
    let onkeydown = {
        let act = act.clone();
        Callback::from(move |event: KeyboardEvent| {
            if ["ArrowLeft", "ArrowRight"].contains(&event.key().as_str()) {
                event.prevent_default();
                // Of the tab that has the focus; which one is shown may not be drawn yet.
                let is_source = dom::id(&event).as_deref() == Some(tab_id(Tab::Source));
                let other = if is_source { Tab::Launch } else { Tab::Source };
                act.emit(Action::Tab(other));
                dom::focus(tab_id(other));
            }
        })
    };
    let tab = |tab: Tab, name: &'static str| {
        html! {
            <button type="button" role="tab" id={tab_id(tab)} aria-selected={(shown == tab).to_string()}
                aria-controls="source-panel" tabindex={if shown == tab { "0" } else { "-1" }}
                onclick={on(act, move || Action::Tab(tab))}>{ name }</button>
        }
    };
    html! {
        <div role="tablist" aria-label="Texts" class="tabs" {onkeydown}>
            { tab(Tab::Source, "Source") }
            { tab(Tab::Launch, "Launch") }
        </div>
    }
}

/// The lines of the selected block in the source, and that of the selected instruction; 0 if it is not there.
fn marked_lines(lab: &Lab) -> (Vec<u32>, u32) {
    // While there are mistakes, what stands on which line is told of the text before them.
    let (Some(view), Some(selection)) = (lab.view.as_ref().filter(|_| !lab.has_mistakes()), &lab.selected) else {
        return (Vec::new(), 0);
    };
    let of_block = (1..).zip(&view.source_blocks).filter(|(_, block)| **block == selection.block);
    let exact = (1..).zip(&view.source_insts).find(|(_, inst)| inst.is_some() && **inst == selection.inst);
    let exact = exact.map_or(0, |(line, _)| line);
    let mut lines: Vec<u32> = of_block.map(|(line, _)| line).collect();
    // A pass may have moved the instruction into another block.
    if exact > 0 && !lines.contains(&exact) {
        lines.push(exact);
    }
    (lines, exact)
}

/// The lines of the source that the change that led to the position is about.
fn current_lines(lab: &Lab) -> Vec<u32> {
    let view = lab.view.as_ref().filter(|_| !lab.has_mistakes());
    view.map_or_else(Vec::new, |view| view.source_current.iter().map(|&line| line as u32).collect())
}

/// The lines of the source that a pass marks.
fn painted_lines(lab: &Lab) -> Vec<PaintedLine> {
    let (Some(view), Some(told)) = (&lab.view, lab.marked()) else { return Vec::new() };
    let (lines, marks) = ((1..).zip(&view.source_insts), LineMarks::of(told));
    lines.filter_map(|(line, inst)| Some(PaintedLine { line, look: marks.at((*inst)?)?.0.name() })).collect()
}

/// Issues of each line, relative to the hottest.
fn line_levels(run: &Run) -> Vec<LineLevel> {
    let hottest = run.lines.iter().map(|line| line.issues).max().unwrap_or(0).max(1);
    run.lines
        .iter()
        .filter(|line| line.issues > 0)
        .map(|line| LineLevel {
            line: line.line,
            level: heat_level(line.issues, hottest),
            label: short_number(line.issues),
        })
        .collect()
}

/// The square root keeps lines that ran a few times apart from those that never did.
pub fn heat_level(issues: u64, hottest: u64) -> f64 {
    let level = (issues as f64 / hottest.max(1) as f64).sqrt();
    (level * 100.0).round() / 100.0
}

/// At most four characters: `999`, `12k`, `3.4M`.
pub fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..10_000 => format!("{:.1}k", number as f64 / 1e3),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        1_000_000..10_000_000 => format!("{:.1}M", number as f64 / 1e6),
        10_000_000..1_000_000_000 => format!("{}M", number / 1_000_000),
        _ => thousands(number / 1_000_000_000) + "G",
    }
}
