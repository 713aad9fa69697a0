//! The pass rail: which passes run, in which order, with which knobs, and what each of them did.

use gloo::utils::document;
use wasm_bindgen::JsCast;
use web_sys::PointerEvent;
use yew::{Callback, Event, Html, KeyboardEvent, component, html, use_effect_with, use_mut_ref, use_state};

use super::change::{with_code, without_marks};
use super::chooser::Chooser;
use super::icons::Icon;
use super::knobs::{KnobSheet, SHEET, details};
use super::opening::use_opening;
use super::{PaneProps, count, duration, on};
use crate::dom;
use crate::examples::Example;
use crate::state::{Action, Lab, PipelineEdit, Travel};
use warpscope_engine::message::{PassInfo, Stage, StageResult};

/// The pass rail.
#[component]
pub fn Passes(PaneProps { lab, act }: &PaneProps) -> Html {
    let (view, is_old) = lab.drawn();
    let shown = view.position.stage;
    let edit = act.reform(Action::Pipeline);
    let (open_example, _) = use_opening(act);
    // The entry whose knobs are shown, with its pass: another one that takes its place shows none.
    let open = use_state(|| None::<(usize, String)>);
    let on_example = {
        let open = open.clone();
        Callback::from(move |chosen: (&'static Example, Option<usize>)| {
            open.set(None);
            open_example.emit(chosen);
        })
    };
    let is_open =
        |index: usize, stage: &Stage| open.as_ref().is_some_and(|(at, pass)| (*at, pass) == (index, &stage.pass));
    let toggle = {
        let (open, now) = (open.clone(), lab.now.clone());
        Callback::from(move |index: usize| {
            let pass = now.lab().bench.pipeline.get(index).map(|stage| stage.pass.clone());
            let chosen = pass.map(|pass| (index, pass)).filter(|chosen| open.as_ref() != Some(chosen));
            if chosen.is_none() {
                dom::focus(&format!("knobs-{index}"));
            }
            open.set(chosen);
        })
    };
    let dragged = use_state(|| None::<Dragged>);
    let entries = lab.bench.pipeline.len();
    {
        // The pass that is shown comes into sight, and one that was added.
        let before = use_mut_ref(|| entries);
        use_effect_with((shown, entries), move |&(_, entries)| {
            let is_longer = entries > before.replace(entries);
            let selector = if is_longer { ".stages .stage:last-child" } else { ".stages .stage.shown" };
            if let Ok(Some(entry)) = document().query_selector(selector) {
                dom::reveal(&entry);
            }
        });
    }
    let on_drag = {
        let (act, dragged) = (act.clone(), dragged.clone());
        Callback::from(move |drag: Drag| match (drag, *dragged) {
            (Drag::Take(from), _) => dragged.set(Some(Dragged { from, to: from })),
            (Drag::Over(x, y), Some(Dragged { from, to })) => {
                // Between two entries the last place stays.
                if let Some(to) = dom::stage_at(x, y).filter(|&over| over != to) {
                    dragged.set(Some(Dragged { from, to }));
                }
            }
            (Drag::Drop, Some(Dragged { from, to })) => {
                dragged.set(None);
                if from != to {
                    act.emit(Action::Pipeline(PipelineEdit::Move { from, to }));
                }
            }
            (Drag::Leave, _) => dragged.set(None),
            (Drag::Over(..) | Drag::Drop, None) => {}
        })
    };
    let opened = lab.bench.pipeline.iter().enumerate().find(|(index, stage)| is_open(*index, stage));
    let sheet = opened.and_then(|(index, stage)| {
        let result = view.stages.get(index);
        Some(html! {
            <KnobSheet key={format!("{index}-{}", stage.pass)} {index} stage={stage.clone()} info={info(lab, &stage.pass)?}
                outcome={result.filter(|_| stage.on).map(outcome).unwrap_or_default()} result={result.cloned()}
                on_example={on_example.clone()} on_close={toggle.reform(move |()| index)} act={act.clone()} />
        })
    });
    let licence = {
        let act = act.clone();
        Callback::from(move |event: Event| act.emit(Action::FastMath(dom::is_checked(&event))))
    };
    html! {
        <section class="pane passes" aria-labelledby="passes-title" data-testid="passes-pane">
            <div class="pane-head">
                <h2 id="passes-title">{ "Passes" }</h2>
                <label class="switch note" title="Passes may assume x * 0 = 0 and reorder sums: rounding, the sign of a zero, NaN and infinity may differ">
                    <input type="checkbox" checked={lab.bench.fast_math} onchange={licence} data-testid="fast-math" />
                    { "fast math" }
                </label>
            </div>
            <div class="pane-body scroll" tabindex="-1">
                <ol class={if is_old { "stages old" } else { "stages" }} data-testid="pipeline">
                    <li class={if shown == 0 { "stage origin shown" } else { "stage origin" }}>
                        <button type="button" class="name" aria-current={(shown == 0).then_some("step")}
                            onclick={on(act, || Action::Travel(Travel::First))}>{ "Source" }</button>
                        if !view.kernel.is_empty() {
                            <span class="figures">{ sizes(&view.stages, lab) }</span>
                        }
                    </li>
                    { for lab.bench.pipeline.iter().enumerate().map(|(index, stage)| html! {
                        <StageCard key={format!("{index}-{}", stage.pass)} {index} stage={stage.clone()}
                            info={info(lab, &stage.pass)} result={view.stages.get(index).cloned()}
                            shown={shown == index + 1} last={index + 1 == lab.bench.pipeline.len()}
                            dragged={dragged.filter(|dragged| dragged.from == index || dragged.to == index)}
                            is_open={is_open(index, stage)} on_drag={on_drag.clone()} on_open={toggle.reform(move |()| index)} act={act.clone()} />
                    }) }
                </ol>
                if lab.bench.pipeline.is_empty() {
                    <p class="empty">{ "No passes yet. Search for one below." }</p>
                }
            </div>
            <Chooser passes={lab.catalogue.as_ref().map(|catalogue| catalogue.passes.clone()).unwrap_or_default()} on_edit={edit} />
            { sheet.unwrap_or_default() }
        </section>
    }
}

fn info(lab: &Lab, pass: &str) -> Option<PassInfo> {
    lab.catalogue.as_ref().and_then(|catalogue| catalogue.passes.iter().find(|info| info.name == pass)).cloned()
}

fn sizes(stages: &[StageResult], lab: &Lab) -> String {
    let ran = stages.iter().zip(&lab.bench.pipeline).find(|(result, stage)| stage.on && result.refused.is_none());
    ran.map(|(result, _)| count(result.instructions.0, "instruction")).unwrap_or_default()
}

/// An entry that a pointer holds, and the place where it would be let go.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Dragged {
    from: usize,
    to: usize,
}

/// Drag of an entry.
enum Drag {
    /// It takes the entry of this index.
    Take(usize),
    /// It is over this point of the window.
    Over(f64, f64),
    /// It lets go.
    Drop,
    /// It was taken away.
    Leave,
}

#[derive(PartialEq, yew::Properties)]
struct StageProps {
    index: usize,
    stage: Stage,
    info: Option<PassInfo>,
    result: Option<StageResult>,
    shown: bool,
    last: bool,
    /// The drag, if it begins or would end here.
    dragged: Option<Dragged>,
    /// Whether its knobs are shown.
    is_open: bool,
    on_drag: Callback<Drag>,
    on_open: Callback<()>,
    act: Callback<Action>,
}

/// One entry of the pipeline.
#[component]
fn StageCard(props: &StageProps) -> Html {
    let StageProps { index, stage, info, result, shown, last, dragged, is_open, on_drag, on_open, act } = props;
    let index = *index;
    let switch = {
        let act = act.clone();
        Callback::from(move |event: Event| {
            act.emit(Action::Pipeline(PipelineEdit::Switch(index, dom::is_checked(&event))));
        })
    };
    let rewrites = result.as_ref().map_or(0, |result| result.rewrites);
    let refused = result.as_ref().and_then(|result| result.refused.clone());
    let changed = stage.on && rewrites > 0;
    let remove = {
        let (act, last) = (act.clone(), *last);
        Callback::from(move |_: yew::MouseEvent| {
            act.emit(Action::Pipeline(PipelineEdit::Remove(index)));
            // To the one that takes its place, so that several can go one after the other.
            dom::focus_later(match (last, index) {
                (false, _) => format!("remove-{index}"),
                (true, 0) => "pass-search".to_owned(),
                (true, _) => format!("remove-{}", index - 1),
            });
        })
    };
    let mut class = "stage".to_owned();
    let is_goal = |is_before: bool| {
        dragged.is_some_and(|Dragged { from, to }| from != to && to == index && (to < from) == is_before)
    };
    let marks = [
        ("shown", *shown),
        ("off", !stage.on),
        ("changed", changed),
        ("refused", refused.is_some()),
        ("held", dragged.is_some_and(|dragged| dragged.from == index)),
        ("goal-above", is_goal(true)),
        ("goal-below", is_goal(false)),
    ];
    for (name, holds) in marks {
        if holds {
            class.push(' ');
            class.push_str(name);
        }
    }
    let why_off = info.as_ref().and_then(|info| info.off.clone()).filter(|_| !stage.on);
    let details = info.as_ref().and_then(details);
    let summary = info.as_ref().map_or(String::new(), |info| info.summary.clone());
    let told = match (&refused, result) {
        (None, Some(result)) if stage.on => outcome(result),
        _ => String::new(),
    };
    let turned: Vec<String> = stage.knobs.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let name = stage.pass.clone();
    html! {
        <li {class} data-stage={index.to_string()} data-testid={format!("stage-{index}")}>
            { grip(index, &name, *last, on_drag, act) }
            <label><input type="checkbox" checked={stage.on} onchange={switch} aria-label={format!("Run {name}")} /></label>
            <button type="button" class="name" title={without_marks(&summary)} disabled={!stage.on} aria-current={shown.then_some("step")}
                onclick={on(act, move || Action::Travel(Travel::StageEnd(index + 1)))}>
                { &name }
            </button>
            <span class="figures" title={told.clone()}>
                { phase_number(&stage.phase) }
                if !told.is_empty() {
                    <span class="mark" aria-hidden="true">{ if changed { "●" } else { "○" } }</span>
                    if changed { <span class="number" aria-hidden="true">{ rewrites }</span> }
                    <span class="hidden">{ &told }</span>
                } else if !stage.on {
                    <span>{ "off" }</span>
                    if let Some(why) = &why_off { <span class="hidden">{ with_code(why) }</span> }
                }
            </span>
            <span class="tools">
                if let Some(details) = details {
                    <button type="button" class={if turned.is_empty() { "icon-button" } else { "icon-button turned" }} id={format!("knobs-{index}")}
                        aria-expanded={is_open.to_string()} aria-controls={is_open.then_some(SHEET)}
                        aria-label={format!("{details} of {name}")} title={if turned.is_empty() { details.to_owned() } else { turned.join(", ") }}
                        onclick={on_open.reform(|_: yew::MouseEvent| ())}>
                        { Icon::Knobs.html() }
                    </button>
                }
                if !turned.is_empty() { <span class="hidden">{ turned.join(", ") }</span> }
                <button type="button" class="icon-button" id={format!("remove-{index}")} aria-label={format!("Remove {name}")}
                    title={format!("Remove {name}")} onclick={remove}>{ Icon::Close.html() }</button>
            </span>
            if let Some(why) = &refused { <span class="why">{ with_code(why) }</span> }
        </li>
    }
}

/// Result of a pass in a few words.
fn outcome(result: &StageResult) -> String {
    let changes = if result.rewrites > 0 { count(result.rewrites, "change") } else { "no change".to_owned() };
    let instructions = (result.instructions.0 != result.instructions.1).then(|| difference(result.instructions));
    let refused = (result.missed > 0).then(|| format!("{} refused", result.missed));
    let parts: Vec<String> =
        [Some(changes), instructions, refused, result.micros.map(duration)].into_iter().flatten().collect();
    parts.join(", ")
}

/// The number of a phase in the compiler that the pipeline follows.
pub fn phase_number(number: &str) -> Html {
    if number.is_empty() {
        return Html::default();
    }
    html! { <span class="phase" title={format!("Phase {number} of ptxas")}>{ number }</span> }
}

fn difference((before, after): (usize, usize)) -> String {
    if after < before { format!("−{} inst", before - after) } else { format!("+{} inst", after - before) }
}

/// The handle: dragged by a pointer, or moved by the arrow keys.
fn grip(index: usize, name: &str, last: bool, on_drag: &Callback<Drag>, act: &Callback<Action>) -> Html {
    let onkeydown = {
        let (act, on_drag) = (act.clone(), on_drag.clone());
        Callback::from(move |event: KeyboardEvent| {
            let to = match event.key().as_str() {
                "Escape" => {
                    on_drag.emit(Drag::Leave);
                    return;
                }
                "ArrowUp" if index > 0 => index - 1,
                "ArrowDown" if !last => index + 1,
                _ => return,
            };
            event.prevent_default();
            act.emit(Action::Pipeline(PipelineEdit::Move { from: index, to }));
            // At once for the next key, which may come before the list is drawn anew, and then again: the list is drawn with
            // other handles.
            dom::focus(&format!("grip-{to}"));
            dom::focus_later(format!("grip-{to}"));
        })
    };
    let onpointerdown = {
        let on_drag = on_drag.clone();
        Callback::from(move |event: PointerEvent| {
            if let Some(handle) = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok()) {
                // A pointer that cannot be captured still works while it stays over the list.
                let _ = handle.set_pointer_capture(event.pointer_id());
            }
            on_drag.emit(Drag::Take(index));
        })
    };
    let onpointermove =
        on_drag.reform(|event: PointerEvent| Drag::Over(f64::from(event.client_x()), f64::from(event.client_y())));
    let onpointerup = on_drag.reform(|_: PointerEvent| Drag::Drop);
    let onpointercancel = on_drag.reform(|_: PointerEvent| Drag::Leave);
    html! {
        <button type="button" class="grip" id={format!("grip-{index}")} {onkeydown} {onpointerdown} {onpointermove} {onpointerup} {onpointercancel}
            aria-label={format!("Move {name}: arrow keys up and down, or drag")} title="Drag, or use the arrow keys">
            { Icon::Grip.html() }
        </button>
    }
}
