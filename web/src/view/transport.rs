//! The transport: the position in words, a scrubber over all changes of all passes, and the moments inside a change.

use warpscope_engine::message::{Position, View};
use yew::{Callback, Event, Html, InputEvent, html};

use super::change::{with_code, without_marks};
use super::icons::Icon;
use super::moments::moments;
use super::{Snapshot, icon_button, on};
use crate::dom;
use crate::state::{Action, Lab, Shape, Timeline, Travel};

/// How fast the transport and the lanes may move, as multiples of the usual pace.
const PACES: [(f64, &str); 5] = [(0.25, "¼×"), (0.5, "½×"), (1.0, "1×"), (2.0, "2×"), (4.0, "4×")];

/// The transport.
pub fn transport(lab: &Snapshot, act: &Callback<Action>) -> Html {
    // While the program has mistakes its last good state stands still.
    let (view, is_old) = lab.drawn();
    let (timeline, position) = match is_old {
        true => (Timeline::new(&lab.bench.pipeline, &view.stages), view.position),
        false => (lab.timeline(), lab.position),
    };
    let at = timeline.index(position);
    let last = timeline.len() - 1;
    let rests = is_old || last == 0;
    let stop = timeline.stops()[at];
    let place = place_name(lab, stop);
    let lacking = lab
        .lacks_program()
        .then(|| if lab.has_mistakes() { "Fix the errors to step" } else { "Write a kernel to step" });
    let travel = |travel: Travel| on(act, move || Action::Travel(travel));
    let scrub = {
        let act = act.clone();
        Callback::from(move |event: InputEvent| {
            if let Some(to) = dom::value(&event).and_then(|value| value.parse().ok()) {
                act.emit(Action::Travel(Travel::To(to)));
            }
        })
    };
    let playing = lab.playing;
    let (icon, name) = if playing { (Icon::Pause, "Pause") } else { (Icon::Play, "Play") };
    html! {
        <section class={if is_old { "transport old" } else { "transport" }} aria-label="Transport" data-testid="transport">
            <p class="place" data-testid="place">
                if let Some(why) = lacking {
                    <b aria-hidden="true">{ "–" }</b><span class={if lab.has_mistakes() { "lacking bad" } else { "lacking" }}>{ why }</span>
                } else {
                    <b>{ format!("{at} / {last}") }</b><span>{ &place }</span>
                }
                { sentence(lab, &view, stop) }
            </p>
            <div class="buttons" role="group" aria-label="Step through changes">
                { icon_button(Icon::First, "First", rests || at == 0, travel(Travel::First)) }
                { icon_button(Icon::Back, "Back", rests || at == 0, travel(Travel::Back)) }
                <button type="button" class="icon-button play" aria-label={name} title={name} disabled={rests}
                    onclick={on(act, move || Action::Play(!playing))}>{ icon.html() }</button>
                { icon_button(Icon::Forward, "Forward", rests || at == last, travel(Travel::Forward)) }
                { icon_button(Icon::Last, "Last", rests || at == last, travel(Travel::Last)) }
                { pace(lab, act) }
            </div>
            <div class="scrubber">
                <div class="track" aria-hidden="true">
                    { for timeline.ranges().into_iter().map(|(stage, from, to)| {
                        let mut class = "piece".to_owned();
                        if stop.stage == stage { class.push_str(" shown"); }
                        if at >= to { class.push_str(" done"); }
                        html! {
                            <span {class} style={format!("flex-grow:{}", to - from + 1)} title={pass_name(lab, stage).to_owned()}>
                                <i>{ pass_name(lab, stage) }</i>
                            </span>
                        }
                    }) }
                </div>
                <input type="range" min="0" max={last.to_string()} step="1" value={at.to_string()} disabled={rests}
                    aria-label="Position" aria-valuetext={lacking.map_or_else(|| place.clone(), str::to_owned)} oninput={scrub} data-testid="scrubber" />
            </div>
            { moments(lab, act) }
            <p class="hidden" role="status" data-testid="spoken">{ spoken(lab, lacking) }</p>
        </section>
    }
}

/// Pass of a stage; the source is stage 0.
fn pass_name(lab: &Lab, stage: usize) -> &str {
    lab.bench.pipeline.get(stage.wrapping_sub(1)).map_or("source", |stage| stage.pass.as_str())
}

/// Name of a stop, for people.
pub fn place_name(lab: &Lab, stop: Position) -> String {
    let (view, _) = lab.drawn();
    let pass = pass_name(lab, stop.stage);
    let result = view.stages.get(stop.stage.wrapping_sub(1));
    let refused = result.and_then(|result| result.refused.as_ref());
    match (stop.stage, refused, result.map_or(0, |result| result.rewrites)) {
        (0, ..) => "Source".to_owned(),
        (_, Some(why), _) => format!("{pass}: {}", without_marks(why)),
        (_, None, 0) => format!("{pass}: no change"),
        (_, None, rewrites) => {
            let before = if view.is_before_change && stop == view.position { "before " } else { "" };
            format!("{pass}: {before}change {} of {rewrites}", stop.step)
        }
    }
}

/// The sentence of the change that led to the last answer's position.
fn answered_sentence(lab: &Lab) -> Option<String> {
    let (view, is_old) = lab.drawn();
    let remark = view.remark.as_ref().filter(|_| view.position.stage > 0 && !is_old);
    remark.map(|remark| remark.message.clone())
}

/// The sentence of the moment or change at `stop`. The answer may be about another stop: before the engine has answered, and
/// where a pass could not run.
fn sentence(lab: &Lab, view: &View, stop: Position) -> Html {
    // Where no pane tells of moments, this line does.
    let moment = || {
        let (at, _) = lab.moment()?;
        Some(lab.inspection()?.timeline.as_ref()?.told(at).filter(|_| at > 0)?.sentence.clone())
    };
    let is_told_here = lab.shape == Shape::Learn;
    let told = is_told_here.then(moment).flatten().or_else(|| answered_sentence(lab).filter(|_| view.position == stop));
    match told {
        Some(told) => html! { <span class="sentence" title={without_marks(&told)}>{ with_code(&told) }</span> },
        None => Html::default(),
    }
}

/// Text for screen readers, which say each change once, when all of it is known.
fn spoken(lab: &Lab, lacking: Option<&str>) -> String {
    let (view, _) = lab.drawn();
    match (lacking, answered_sentence(lab)) {
        (Some(why), _) => why.to_owned(),
        (None, Some(sentence)) => format!("{}. {}", place_name(lab, view.position), without_marks(&sentence)),
        (None, None) => place_name(lab, view.position),
    }
}

/// The choice of how fast everything moves by itself.
fn pace(lab: &Lab, act: &Callback<Action>) -> Html {
    let act = act.clone();
    let choose = Callback::from(move |event: Event| {
        if let Some(pace) = dom::value(&event).and_then(|value| value.parse().ok()) {
            act.emit(Action::Pace(pace));
        }
    });
    html! {
        <select class="pace" aria-label="Speed" title="Speed of playing" onchange={choose} data-testid="pace">
            { for PACES.into_iter().map(|(pace, name)| html! {
                <option value={pace.to_string()} selected={pace == lab.pace}>{ name }</option>
            }) }
        </select>
    }
}
