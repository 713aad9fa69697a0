//! Several pipelines on one program, side by side: what each makes of the graph, and its figures as lanes disagree more
//! and more; with a pass that predicts what it gains, a map of that over zeros and divergence.

pub mod chart;
mod map;
mod small;

use warpscope_engine::message::{Counts, Tried};
use yew::{Callback, Event, Html, InputEvent, MouseEvent, component, html, use_state};

use super::change::with_code;
use super::icons::Icon;
use super::{PaneProps, icon_button, thousands};
use crate::dom;
use crate::presets::{PIPELINE_FIELD, PIPELINE_FORM};
use crate::state::{Action, Lab, MOST_COMPARED, POINTS, divergence};
use chart::{Series, chart, key};
use map::Map;
use small::SmallGraph;

/// The figures that are drawn as lines.
const FIGURES: [Figure; 4] = [Figure::Cycles, Figure::Loads, Figure::Issues, Figure::Efficiency];

/// A figure of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Time of the launch on one multiprocessor.
    Cycles,
    /// Loads by warps, from all spaces.
    Loads,
    /// Instructions issued by warps.
    Issues,
    /// The share of active lanes.
    Efficiency,
}

impl Figure {
    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Cycles => "Cycles",
            Figure::Loads => "Loads by warps",
            Figure::Issues => "Warp instructions",
            Figure::Efficiency => "SIMT efficiency",
        }
    }

    /// Its value; none where there is nothing to divide by.
    pub fn of(self, counts: &Counts) -> Option<f64> {
        match self {
            Figure::Cycles => Some(counts.cycles as f64),
            Figure::Loads => Some(counts.loads.iter().map(|(_, count)| *count as f64).sum()),
            Figure::Issues => Some(counts.issues as f64),
            Figure::Efficiency => counts.simt_efficiency(),
        }
    }

    /// As it is written.
    pub fn show(self, value: f64) -> String {
        match self {
            Figure::Efficiency => format!("{:.1} %", value * 100.0),
            _ => thousands(value as u64),
        }
    }

    /// The smallest difference that means something.
    pub fn smallest_step(self) -> f64 {
        if self == Figure::Efficiency { 0.001 } else { 1.0 }
    }

    fn is_better(self, value: f64, than: f64) -> bool {
        if self == Figure::Efficiency { value > than } else { value < than }
    }
}

/// One pipeline and what is known of it.
struct Column<'a> {
    pipeline: String,
    tried: Option<&'a Tried>,
}

impl Column<'_> {
    fn name(&self) -> &str {
        if self.pipeline.trim().is_empty() { "none" } else { self.pipeline.trim() }
    }

    /// The run at a point of the divergence; none is as launched.
    fn run(&self, point: Option<usize>) -> Option<&Result<Counts, String>> {
        self.tried?.runs.get(point.map_or(0, |point| point + 1))
    }

    fn counts(&self, point: Option<usize>) -> Option<&Counts> {
        self.run(point)?.as_ref().ok()
    }
}

/// The view.
#[component]
pub fn Compare(PaneProps { lab, act }: &PaneProps) -> Html {
    let point = use_state(|| None::<usize>);
    if lab.programs().is_none() {
        return html! { <p class="empty">{ "There is no program to compare yet: fix its errors, or write a kernel." }</p> };
    }
    let columns: Vec<Column<'_>> = lab
        .compared()
        .into_iter()
        .map(|pipeline| Column { tried: lab.tried(&pipeline).map(|tried| &**tried), pipeline })
        .collect();
    let series: Vec<Series> = columns
        .iter()
        .map(|column| Series {
            name: column.name().to_owned(),
            has_run: column.tried.is_some(),
            counts: (0..POINTS).map(|point| column.counts(Some(point)).cloned()).collect(),
        })
        .collect();
    let slide = {
        let point = point.clone();
        Callback::from(move |event: InputEvent| {
            if let Some(to) = dom::value(&event).and_then(|value| value.parse().ok()) {
                point.set(Some(to));
            }
        })
    };
    let at = *point;
    let launched = lab.launched_divergence();
    let shown = at.map(divergence).or(launched);
    let percent = shown.map_or(50.0, |shown| shown * 100.0);
    let output = at.map_or("as launched".to_owned(), |_| format!("{percent:.0} %"));
    let as_launched = {
        let point = point.clone();
        Callback::from(move |_: MouseEvent| point.set(None))
    };
    html! {
        <div class="compare" data-testid="compare">
            <p class="lead">{ "One program, several pipelines. Divergence: the probability that lanes of a warp get different random inputs. The number on a block counts its loads." }</p>
            <div class="columns">
                { for columns.iter().enumerate().map(|(index, column)| column_head(column, index, columns.len(), lab, act)) }
                if columns.len() < MOST_COMPARED { { add(&columns, act) } }
            </div>
            <div class="slider divergence">
                <button type="button" class="plain small" aria-pressed={at.is_none().to_string()} onclick={as_launched} data-testid="as-launched">{ "As launched" }</button>
                <label for="compare-divergence">{ "Divergence" }</label>
                <input type="range" id="compare-divergence" min="0" max={(POINTS - 1).to_string()} step="1" value={format!("{:.0}", percent / 10.0)} oninput={slide}
                    list="launched-divergence" aria-valuetext={output.clone()} style={format!("--at:{percent:.0}%")} data-testid="compare-divergence" />
                <datalist id="launched-divergence">
                    { for launched.map(|launched| html! { <option value={format!("{:.1}", launched * 10.0)} /> }) }
                </datalist>
                <output>{ output.clone() }</output>
            </div>
            <p class="note what-stays" role="status" data-testid="what-stays">{ lab.what_stays() }</p>
            { table(&columns, at) }
            <div class="charts">
                { for FIGURES.into_iter().map(|figure| chart(figure, &series, at)) }
            </div>
            <Map lab={lab.clone()} act={act.clone()} />
        </div>
    }
}

/// A pipeline, what it made of the graph, and the way to take it out.
fn column_head(column: &Column<'_>, index: usize, count: usize, lab: &Lab, act: &Callback<Action>) -> Html {
    let pipelines = lab.compared();
    let change = {
        let (act, pipelines) = (act.clone(), pipelines.clone());
        Callback::from(move |event: Event| {
            let mut pipelines = pipelines.clone();
            pipelines[index] = dom::value(&event).unwrap_or_default();
            act.emit(Action::Compare(pipelines));
        })
    };
    let remove = {
        let act = act.clone();
        Callback::from(move |_| {
            let mut pipelines = pipelines.clone();
            pipelines.remove(index);
            dom::focus_later(input_id(index.min(pipelines.len() - 1)));
            act.emit(Action::Compare(pipelines));
        })
    };
    let state = match column.tried {
        None => html! { <p class="note" role="status">{ "Running…" }</p> },
        Some(Tried { refused: Some(why), .. }) => html! { <p class="refused" role="alert">{ with_code(why) }</p> },
        Some(tried) => html! {
            <>
                <SmallGraph graph={tried.graph.clone()} name={column.name().to_owned()} />
                <p class="note">{ format!("{}, {}", super::count(tried.instructions, "instruction"), super::count(tried.graph.blocks.len(), "block")) }</p>
            </>
        },
    };
    html! {
        <section class={format!("column series-{}", index + 1)} key={index} data-testid={format!("column-{}", column.name())}>
            <div class="column-head">
                <span class="key" aria-hidden="true">{ key(index) }</span>
                <input type="text" id={input_id(index)} value={column.pipeline.clone()} placeholder="none" spellcheck="false" onchange={change}
                    aria-label={format!("Pipeline {}", index + 1)} title={column.name().to_owned()} />
                if count > 1 { { icon_button(Icon::Close, &format!("Remove {}", column.name()), false, remove) } }
            </div>
            { state }
        </section>
    }
}

/// The field of a pipeline. The keyboard goes there when the place where it was is gone.
fn input_id(index: usize) -> String {
    format!("pipeline-{index}")
}

/// The way to one more pipeline.
fn add(columns: &[Column<'_>], act: &Callback<Action>) -> Html {
    let pipelines: Vec<String> = columns.iter().map(|column| column.pipeline.clone()).collect();
    let onchange = {
        let act = act.clone();
        Callback::from(move |event: Event| {
            let Some(text) = dom::value(&event).filter(|text| !text.trim().is_empty()) else { return };
            let mut pipelines = pipelines.clone();
            pipelines.push(text);
            dom::focus_later(input_id(pipelines.len() - 1));
            act.emit(Action::Compare(pipelines));
        })
    };
    html! {
        <section class="column add" key={format!("add-{}", columns.len())}>
            <input type="text" placeholder="Add a pipeline…" spellcheck="false" {onchange} aria-label={PIPELINE_FIELD}
                title={PIPELINE_FORM} data-testid="compare-add" />
        </section>
    }
}

/// The figures at a divergence, or as launched; the best of each row is marked.
fn table(columns: &[Column<'_>], at: Option<usize>) -> Html {
    let row = |figure: Figure| {
        let values: Vec<Option<f64>> = columns.iter().map(|column| figure.of(column.counts(at)?)).collect();
        let best = values
            .iter()
            .flatten()
            .copied()
            .reduce(|best, value| if figure.is_better(value, best) { value } else { best });
        let differ = values.iter().flatten().any(|&value| Some(value) != best);
        html! {
            <tr data-testid={format!("compare-{figure:?}").to_lowercase()}>
                <th scope="row">{ figure.name() }</th>
                { for values.iter().zip(columns).map(|(value, column)| {
                    let is_best = differ && value.is_some() && *value == best;
                    html! {
                        <td class={is_best.then_some("best")}>
                            { match value {
                                Some(value) => figure.show(*value),
                                None => failure(column, at),
                            } }
                            if is_best { <span class="hidden">{ " best" }</span> }
                        </td>
                    }
                }) }
            </tr>
        }
    };
    html! {
        <div class="scroll" tabindex="0" role="region" aria-label="Figures at this divergence">
            <table class="figures compared" data-testid="compared">
                <thead>
                    <tr>
                        <th scope="col"><span class="hidden">{ "Figure" }</span></th>
                        { for columns.iter().enumerate().map(|(index, column)| html! { <th scope="col" class={format!("series-{}", index + 1)}>{ column.name() }</th> }) }
                    </tr>
                </thead>
                <tbody>{ for FIGURES.into_iter().map(row) }</tbody>
            </table>
            { for columns.iter().filter_map(|column| match column.run(at)? {
                Err(why) => Some(html! { <p class="refused">{ with_code(&format!("`{}`: {why}", column.name())) }</p> }),
                Ok(_) => None,
            }) }
        </div>
    }
}

/// Placeholder of a figure that is missing.
fn failure(column: &Column<'_>, at: Option<usize>) -> String {
    match column.tried {
        None => "…".to_owned(),
        Some(_) if column.run(at).is_some_and(Result::is_err) => "stopped".to_owned(),
        Some(_) => "–".to_owned(),
    }
}
