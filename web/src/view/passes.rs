//! The pass rail: which passes run, in which order, with which knobs, and what each of them did.

use gloo::utils::document;
use wasm_bindgen::JsCast;
use web_sys::{HtmlInputElement, PointerEvent};
use yew::{Callback, Event, Html, InputEvent, KeyboardEvent, component, html, use_effect_with, use_mut_ref, use_state};

use super::change::{with_code, without_marks};
use super::icons::Icon;
use super::opening::use_opening;
use super::{PaneProps, count, duration, icon_button, on};
use crate::dom;
use crate::examples::{self, Example};
use crate::state::{Action, Lab, PipelineEdit, Travel};
use warpscope_engine::message::{KnobInfo, Part, PassInfo, Stage, StageResult};

/// The pass rail.
#[component]
pub fn Passes(PaneProps { lab, act }: &PaneProps) -> Html {
    let (view, is_old) = lab.drawn();
    let shown = view.position.stage;
    let edit = act.reform(Action::Pipeline);
    let (on_example, _) = use_opening(act);
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
                            on_drag={on_drag.clone()} on_example={on_example.clone()} act={act.clone()} />
                    }) }
                </ol>
                if lab.bench.pipeline.is_empty() {
                    <p class="empty">{ "No passes yet. Search for one below." }</p>
                }
            </div>
            <Chooser passes={lab.catalogue.as_ref().map(|catalogue| catalogue.passes.clone()).unwrap_or_default()} on_edit={edit} />
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
    on_drag: Callback<Drag>,
    on_example: Callback<(&'static Example, Option<usize>)>,
    act: Callback<Action>,
}

/// One entry of the pipeline.
#[component]
fn StageCard(props: &StageProps) -> Html {
    let StageProps { index, stage, info, result, shown, last, dragged, on_drag, on_example, act } = props;
    let index = *index;
    let chosen = use_state(|| None::<bool>);
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
    let knobs = info.as_ref().map(|info| info.knobs.clone()).unwrap_or_default();
    let parts = info.as_ref().map_or(&[][..], |info| &info.parts);
    let take_apart = {
        let (act, parts) = (act.clone(), parts.to_vec());
        Callback::from(move |_: yew::MouseEvent| {
            let stages = parts.iter().map(|part| part.stage.clone()).collect();
            act.emit(Action::Pipeline(PipelineEdit::TakeApart(index, stages)));
            dom::focus_later(format!("grip-{index}"));
        })
    };
    // The entries of a pipeline with numbers are what one came for.
    let open = chosen.unwrap_or_else(|| parts.iter().any(|part| !part.stage.phase.is_empty()));
    let why_off = info.as_ref().and_then(|info| info.off.clone()).filter(|_| !stage.on);
    let details = if parts.is_empty() { "Knobs" } else { "Passes" };
    let summary = info.as_ref().map_or(String::new(), |info| info.summary.clone());
    let name = stage.pass.clone();
    html! {
        <li {class} data-stage={index.to_string()} data-testid={format!("stage-{index}")}>
            { grip(index, &name, *last, on_drag, act) }
            <label><input type="checkbox" checked={stage.on} onchange={switch} aria-label={format!("Run {name}")} /></label>
            <button type="button" class="name" title={without_marks(&summary)} disabled={!stage.on} aria-current={shown.then_some("step")}
                onclick={on(act, move || Action::Travel(Travel::StageEnd(index + 1)))}>
                { &name }
            </button>
            <span class="tools">
                if !knobs.is_empty() || !parts.is_empty() || examples::of_pass(&name).len() > 1 {
                    <button type="button" class="icon-button small" aria-expanded={open.to_string()}
                        aria-label={format!("{details} of {name}")} title={details}
                        onclick={let chosen = chosen.clone(); Callback::from(move |_| chosen.set(Some(!open)))}>
                        { Icon::Knobs.html() }
                    </button>
                }
                <button type="button" class="icon-button" id={format!("remove-{index}")} aria-label={format!("Remove {name}")}
                    title={format!("Remove {name}")} onclick={remove}>{ Icon::Close.html() }</button>
            </span>
            { show_one(&name, on_example) }
            <span class="figures">
                { phase_number(&stage.phase) }
                if !open { { for stage.knobs.iter().map(|(name, value)| turned(name, value)) } }
                if let Some(why) = &refused {
                    <span class="why">{ with_code(why) }</span>
                } else if let (true, Some(result)) = (stage.on, result) {
                    <span class="mark" aria-hidden="true">{ if changed { "●" } else { "○" } }</span>
                    <span>{ if changed { count(rewrites, "change") } else { "no change".to_owned() } }</span>
                    if result.instructions.0 != result.instructions.1 {
                        <span class="delta">{ difference(result.instructions) }</span>
                    }
                    if result.missed > 0 { <span>{ format!("{} refused", result.missed) }</span> }
                    <span class="time">{ result.micros.map(duration) }</span>
                } else if let Some(why) = &why_off {
                    <span class="why-off">{ with_code(why) }</span>
                } else if !stage.on {
                    <span>{ "off" }</span>
                }
            </span>
            if open {
                <div class="knobs">
                    { example_list(&name, on_example) }
                    { for knobs.iter().map(|knob| knob_field(knob, stage.knobs.get(&knob.name), index, act)) }
                    if !parts.is_empty() {
                        { part_list(parts, result.as_ref(), on_example) }
                        <button type="button" class="plain small" onclick={take_apart}>
                            { "Take apart" }
                        </button>
                    }
                </div>
            }
        </li>
    }
}

/// The entries of a pipeline with a name, with their numbers; what it keeps switched off says why.
fn part_list(
    parts: &[Part],
    result: Option<&StageResult>,
    on_example: &Callback<(&'static Example, Option<usize>)>,
) -> Html {
    let rewrites = |index: usize| result.and_then(|result| result.parts.get(index)).copied().unwrap_or(0);
    html! {
        <ol class="parts">
            { for parts.iter().enumerate().map(|(index, Part { stage, off })| html! {
                <li class={off.is_some().then_some("off")}>
                    { phase_number(&stage.phase) }
                    <code>{ &stage.pass }</code>
                    { show_one(&stage.pass, on_example) }
                    if rewrites(index) > 0 {
                        <span class="note"><span class="mark" aria-hidden="true">{ "● " }</span>{ count(rewrites(index), "change") }</span>
                    }
                    { for stage.knobs.iter().map(|(name, value)| turned(name, value)) }
                    if let Some(why) = off { <span class="why-off">{ with_code(why) }</span> }
                </li>
            }) }
        </ol>
    }
}

/// A knob that has not its default.
fn turned(name: &str, value: &str) -> Html {
    html! { <span class="note">{ format!("{name} = {value}") }</span> }
}

/// The number of a phase in the compiler that the pipeline follows.
fn phase_number(number: &str) -> Html {
    if number.is_empty() {
        return Html::default();
    }
    html! { <span class="phase" title={format!("Phase {number} of ptxas")}>{ number }</span> }
}

/// The button that opens the first example of a pass.
fn show_one(pass: &str, on_example: &Callback<(&'static Example, Option<usize>)>) -> Html {
    let Some(&(example, stage)) = examples::of_pass(pass).first() else { return Html::default() };
    let onclick = on_example.reform(move |_: yew::MouseEvent| (example, Some(stage)));
    let name = format!("Open an example: {pass}");
    icon_button(Icon::Examples, &name, false, onclick)
}

/// All examples of a pass, with their names.
fn example_list(pass: &str, on_example: &Callback<(&'static Example, Option<usize>)>) -> Html {
    let examples = examples::of_pass(pass);
    if examples.is_empty() {
        return Html::default();
    }
    html! {
        <div class="show-one">
            <span>{ "Open an example" }</span>
            <ul>
                { for examples.into_iter().map(|(example, stage)| {
                    let onclick = on_example.reform(move |_: yew::MouseEvent| (example, Some(stage)));
                    html! { <li><button type="button" class="quiet" title={without_marks(example.summary)} {onclick}>{ example.title }</button></li> }
                }) }
            </ul>
        </div>
    }
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

fn knob_field(knob: &KnobInfo, value: Option<&String>, stage: usize, act: &Callback<Action>) -> Html {
    let turn = {
        let (act, name, default) = (act.clone(), knob.name.clone(), knob.default.clone());
        move |value: Option<String>| {
            let value = value.filter(|value| *value != default);
            act.emit(Action::Pipeline(PipelineEdit::Turn { stage, knob: name.clone(), value }));
        }
    };
    // At each key, since a redraw in between would wipe what is half typed; a field left empty means the default.
    let typed = {
        let turn = turn.clone();
        Callback::from(move |event: InputEvent| turn(dom::value(&event)))
    };
    let turned = Callback::from(move |event: Event| turn(dom::value(&event).filter(|value| !value.is_empty())));
    let value = value.unwrap_or(&knob.default).clone();
    if let Some(why) = &knob.unavailable {
        return html! {
            <p class="field unavailable" title={without_marks(&knob.summary)}><span>{ &knob.name }</span><span class="note">{ with_code(why) }</span></p>
        };
    }
    html! {
        <label class="field" title={without_marks(&knob.summary)}>
            <span>{ &knob.name }</span>
            if knob.choices.is_empty() {
                <input type="text" value={value} oninput={typed} onchange={turned} spellcheck="false" />
            } else {
                <select onchange={turned}>
                    { for knob.choices.iter().map(|choice| html! {
                        <option value={choice.clone()} selected={*choice == value}>{ choice }</option>
                    }) }
                </select>
            }
        </label>
    }
}

#[derive(PartialEq, yew::Properties)]
struct ChooserProps {
    passes: Vec<PassInfo>,
    on_edit: Callback<PipelineEdit>,
}

/// The passes that all words of `query` are about, names first: the whole name, its beginning, its parts; then summaries,
/// and citations last.
fn matching(passes: &[PassInfo], query: &str) -> Vec<PassInfo> {
    let query = query.trim().to_lowercase();
    let rank = |pass: &PassInfo| {
        // Nobody types the sign of a pipeline.
        let name = pass.name.trim_start_matches('@').to_lowercase();
        let has_words = |text: &str| query.split_whitespace().all(|word| text.contains(word));
        let summary = format!("{} {}", pass.name, pass.summary).to_lowercase();
        let paper = format!("{summary} {}", pass.paper.to_lowercase());
        let meant = [
            query.is_empty() || name == query.trim_start_matches('@'),
            name.starts_with(query.trim_start_matches('@')),
            has_words(&pass.name.to_lowercase()),
            has_words(&summary),
            has_words(&paper),
        ];
        meant.iter().position(|&is_meant| is_meant)
    };
    let mut found: Vec<(usize, &PassInfo)> = passes.iter().filter_map(|pass| Some((rank(pass)?, pass))).collect();
    found.sort_by_key(|&(rank, _)| rank);
    found.into_iter().map(|(_, pass)| pass.clone()).collect()
}

/// The search field under the list: type a part of a name or of what a pass does, choose, and it is at the end.
#[component]
fn Chooser(ChooserProps { passes, on_edit }: &ChooserProps) -> Html {
    let query = use_state(String::new);
    let open = use_state(|| false);
    // None until an arrow or a letter has said what is looked for.
    let active = use_state(|| None::<usize>);
    let found = matching(passes, &query);
    let at = (*active).map(|at| at.min(found.len().saturating_sub(1)));
    let add = {
        let (on_edit, query, open, active) = (on_edit.clone(), query.clone(), open.clone(), active.clone());
        Callback::from(move |name: String| {
            on_edit.emit(PipelineEdit::Add(name));
            query.set(String::new());
            active.set(None);
            open.set(false);
        })
    };
    let oninput = {
        let (query, open, active) = (query.clone(), open.clone(), active.clone());
        Callback::from(move |event: InputEvent| {
            if let Some(input) = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok()) {
                active.set((!input.value().trim().is_empty()).then_some(0));
                query.set(input.value());
                open.set(true);
            }
        })
    };
    let onkeydown = {
        let (open, query, active, add, passes) =
            (open.clone(), query.clone(), active.clone(), add.clone(), passes.clone());
        Callback::from(move |event: KeyboardEvent| {
            // What the field holds now: quick hands are ahead of the drawing.
            let names = matching(&passes, &dom::value(&event).unwrap_or_default());
            let names: Vec<String> = names.into_iter().map(|pass| pass.name).collect();
            let last = names.len().saturating_sub(1);
            let at = (*active).map(|at| at.min(last));
            match event.key().as_str() {
                "ArrowDown" if !*open => open.set(true),
                "ArrowDown" => active.set(Some(at.map_or(0, |at| at + 1).min(last))),
                "ArrowUp" => active.set(Some(at.unwrap_or(0).saturating_sub(1))),
                "Enter" => {
                    // A second press of a key that has added one adds no other.
                    if let Some(name) = at.filter(|_| *open).and_then(|at| names.get(at)) {
                        add.emit(name.clone());
                    }
                }
                "Escape" => {
                    query.set(String::new());
                    active.set(None);
                    open.set(false);
                }
                _ => return,
            }
            event.prevent_default();
        })
    };
    fn show<E>(open: &yew::UseStateHandle<bool>, shown: bool) -> Callback<E> {
        let open = open.clone();
        Callback::from(move |_: E| open.set(shown))
    }
    html! {
        <div class="chooser">
            <input type="search" id="pass-search" role="combobox" placeholder="Add a pass…" aria-label="Add a pass"
                aria-expanded={open.to_string()} aria-controls="pass-options" aria-autocomplete="list" autocomplete="off"
                aria-activedescendant={at.filter(|_| *open && !found.is_empty()).map(|at| format!("pass-option-{at}"))}
                value={(*query).clone()} {oninput} {onkeydown} onfocus={show(&open, true)} onclick={show(&open, true)} onblur={show(&open, false)} />
            // Browsers put lists that scroll into the tab order, and this one is hidden once the field has lost the focus.
            <ul id="pass-options" role="listbox" aria-label="Passes" tabindex="-1" hidden={!*open}>
                { for found.iter().enumerate().map(|(index, pass)| {
                    let (add, name) = (add.clone(), pass.name.clone());
                    // Before the field loses the focus, which would close the list under the pointer.
                    let onmousedown = Callback::from(move |event: yew::MouseEvent| {
                        event.prevent_default();
                        add.emit(name.clone());
                    });
                    html! {
                        <li role="option" id={format!("pass-option-{index}")} aria-selected={(Some(index) == at).to_string()} {onmousedown}>
                            <span class="name">{ &pass.name }</span>
                            <span class="summary">{ with_code(&pass.summary) }</span>
                            if !pass.paper.is_empty() { <cite>{ &pass.paper }</cite> }
                        </li>
                    }
                }) }
                if found.is_empty() {
                    <li role="option" aria-selected="false" aria-disabled="true" class="none">{ "No matching pass." }</li>
                }
            </ul>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pass_of_that_name_comes_first() {
        let pass = |name: &str, summary: &str| PassInfo {
            name: name.to_owned(),
            summary: summary.to_owned(),
            ..PassInfo::default()
        };
        let passes =
            [pass("esrqp", "like srqp"), pass("srqp-s", "faster"), pass("dce", "dead code"), pass("srqp", "loads")];
        let names = |query| matching(&passes, query).into_iter().map(|pass| pass.name).collect::<Vec<_>>();
        assert_eq!(names("srqp"), ["srqp", "srqp-s", "esrqp"]);
        assert_eq!(names(" SRQP "), ["srqp", "srqp-s", "esrqp"]);
        assert_eq!(names("code dead"), ["dce"]);
        assert_eq!(names(""), ["esrqp", "srqp-s", "dce", "srqp"]);
    }

    #[test]
    fn names_come_before_summaries_and_citations() {
        let pass = |name: &str, summary: &str, paper: &str| PassInfo {
            name: name.to_owned(),
            summary: summary.to_owned(),
            paper: paper.to_owned(),
            ..PassInfo::default()
        };
        let passes = [
            pass("copy-prop", "copies", "ptxas page, OriCopyProp"),
            pass("basic", "as ptxas does", ""),
            pass("@ptxas-late", "", ""),
            pass("@ptxas", "", ""),
        ];
        let names: Vec<String> = matching(&passes, "ptxas").into_iter().map(|pass| pass.name).collect();
        assert_eq!(names, ["@ptxas", "@ptxas-late", "basic", "copy-prop"]);
    }
}
