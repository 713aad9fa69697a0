//! The root component: it holds the state, asks the engine whenever the state asks a new question, and lets time pass.

use std::rc::Rc;

use gloo::events::{EventListener, EventListenerOptions};
use gloo::timers::callback::{Interval, Timeout};
use gloo::utils::{document, window};
use warpscope_engine::message::{Print, Request};
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent};
use yew::{
    Callback, Html, classes, component, hook, html, use_callback, use_effect_with, use_memo, use_mut_ref, use_reducer,
    use_state,
};

use crate::address::Address;
use crate::compiled::Compiled;
use crate::dom;
use crate::editor;
use crate::engines::{Parts, use_engine, use_first_move};
use crate::extras::Host;
use crate::first_view::Record;
use crate::state::{Action, Dialog, Lab, Notice, Shape, Theme, Travel, Watched};
use crate::view::{
    GraphPane, Notes, Now, Passes, Snapshot, Source, Splits, change, dialogs, header, program, simulator, strip,
    transport, with_code,
};

/// Pause between two stops while the transport plays, and between two issues while the lanes run, at the usual pace, in
/// milliseconds.
const STOP_PAUSE_MS: f64 = 1_100.0;
const ISSUE_PAUSE_MS: f64 = 160.0;
/// Pause between two moments of an inspection at the usual pace, in milliseconds.
pub const MOMENT_PAUSE_MS: f64 = 800.0;
/// How long the state must rest before programs are run, in milliseconds.
const RUN_PAUSE_MS: u32 = 120;

/// Key under which the browser stores the theme.
const THEME_KEY: &str = "warpscope.theme";

/// Properties of the page.
#[derive(yew::Properties, PartialEq)]
pub struct Properties {
    /// Answers to the first questions.
    pub record: Rc<Record>,
}

/// The whole laboratory.
#[component]
pub fn App(properties: &Properties) -> Html {
    let store = use_reducer(|| Lab { shape: here().shape(), ..Lab::new() });
    let dispatcher = store.dispatcher();
    let act = use_callback((), move |action: Action, ()| dispatcher.dispatch(action));
    let lab = Snapshot::of(&store);
    let parts = use_memo((), |()| Parts { code: Compiled::default(), record: properties.record.clone() });
    use_first_move(editor::wake);
    use_bench_engine(&lab, &act, &parts);
    use_run_engine(&lab, &act, &parts);
    use_time(&lab, &act);
    use_theme(lab.theme, &act);
    use_shortcuts(&lab.now, &act);
    html! {
        <>
            <a class="skip" href="#source-panel">{ "Skip to the editor" }</a>
            { header(&lab, &act) }
            { notice(lab.notice.as_ref(), &act) }
            { kept(lab.kept_notice.as_ref(), &act) }
            { waiting(&lab) }
            { panes(&lab, &act) }
            if !lab.is_comparing { { transport(&lab, &act) } }
            { dialogs(&lab, &act) }
        </>
    }
}

/// The panes of the page's shape. Source and graph are in both, and keep what a person has done there.
fn panes(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let source = html! { <Source key="source" lab={lab.clone()} act={act.clone()} /> };
    let graph = html! { <GraphPane key="graph" lab={lab.clone()} act={act.clone()} /> };
    let (shape, panes) = match lab.shape {
        Shape::Learn => {
            let notes = html! { <Notes key="notes" lab={lab.clone()} act={act.clone()} /> };
            ("learn", vec![notes, program(lab, act), source, graph, strip(lab, act)])
        }
        Shape::Lab => {
            let passes = html! { <Passes key="passes" lab={lab.clone()} act={act.clone()} /> };
            let splits = html! { <Splits key="splits" /> };
            ("lab", vec![source, passes, change(lab, act), graph, simulator(lab, act), splits])
        }
    };
    html! {
        <>
            <main class={classes!(shape, lab.looking.then_some("looking"))} hidden={lab.is_comparing}>{ for panes }</main>
            <Host lab={lab.clone()} act={act.clone()} />
        </>
    }
}

fn notice(notice: Option<&Notice>, act: &Callback<Action>) -> Html {
    let Some(notice) = notice else { return Html::default() };
    let close = {
        let act = act.clone();
        Callback::from(move |_| {
            act.emit(Action::Notice(None));
            dom::focus("tab-source");
        })
    };
    html! {
        <div class={if notice.is_error { "notice bad" } else { "notice" }} role="alert" data-testid="notice">
            <p>{ with_code(&notice.text) }</p>
            <button type="button" class="plain small" onclick={close}>{ "Close" }</button>
        </div>
    }
}

/// That an example has taken the place of something, and the way back.
fn kept(notice: Option<&String>, act: &Callback<Action>) -> Html {
    let Some(notice) = notice else { return Html::default() };
    let leave = |action: Action| {
        let act = act.clone();
        Callback::from(move |_: yew::MouseEvent| {
            act.emit(action.clone());
            dom::focus("tab-source");
        })
    };
    html! {
        <div class="notice" role="status" data-testid="kept">
            <p>{ notice }</p>
            <button type="button" class="plain small" onclick={leave(Action::BringBack)}>{ "Bring them back" }</button>
            <button type="button" class="plain small" onclick={leave(Action::HideKept)}>{ "Close" }</button>
        </div>
    }
}

/// Request that the page waits for. The styles show it when it has taken a moment, so that nothing flickers.
fn waiting(lab: &Lab) -> Html {
    let what = match (lab.is_engine_ready, lab.looking, lab.running) {
        (true, true, _) => html! { "Working…" },
        (true, false, true) => html! { <Running key={lab.runs_asked} /> },
        (false, ..) if lab.looking || lab.running || lab.watched.issue > 0 => html! { "Loading the engine…" },
        _ => return html! { <p class="waiting" role="status" data-testid="waiting" /> },
    };
    html! { <p class="waiting on" role="status" data-testid="waiting"><span>{ what }</span></p> }
}

/// How long a run has taken, in seconds, when a person begins to wonder.
const LONG_S: u32 = 3;

/// That programs run, and if that takes long, for how long.
#[component]
fn Running() -> Html {
    let seconds = use_state(|| 0u32);
    {
        let seconds = seconds.clone();
        use_effect_with(*seconds, move |&passed| {
            let timer = Timeout::new(1_000, move || seconds.set(passed + 1));
            move || drop(timer)
        });
    }
    match *seconds {
        0 => html! { "Running…" },
        passed if passed < LONG_S => html! { format!("Running for {passed} s") },
        passed => {
            html! { format!("Running for {passed} s. Perhaps an endless loop: Stop in the simulator ends the run.") }
        }
    }
}

/// Asks about the bench whenever it or the position changes, and makes links.
#[hook]
fn use_bench_engine(lab: &Snapshot, act: &Callback<Action>, parts: &Parts) {
    let engine = use_engine(act, parts);
    {
        let engine = engine.clone();
        use_effect_with((), move |()| engine.ask(Request::Catalogue));
    }
    {
        let (engine, act) = (engine.clone(), act.clone());
        use_effect_with(lab.look(), move |look| {
            act.emit(Action::Asked { run: false });
            engine.ask(Request::Look(look.clone()));
        });
    }
    {
        let engine = engine.clone();
        use_effect_with(lab.inspect(), move |inspect| {
            if let Some(inspect) = inspect {
                engine.ask(Request::Inspect(inspect.clone()));
            }
        });
    }
    {
        // An empty link in the dialog is the wish for one.
        let (engine, lab) = (engine.clone(), lab.clone());
        let wanted = lab.dialog == Some(Dialog::Share(String::new()));
        use_effect_with(wanted, move |&wanted| {
            if wanted {
                engine.ask(Request::Share(lab.shared()));
            }
        });
    }
    {
        let (engine, lab) = (engine.clone(), lab.clone());
        let wanted = lab.dialog == Some(Dialog::Ptx(None));
        use_effect_with(wanted, move |&wanted| {
            if wanted {
                engine.ask(Request::Print(Print { bench: lab.bench.clone(), position: lab.position }));
            }
        });
    }
    let open = move |link| {
        editor::wake();
        engine.ask(Request::Open(link));
    };
    use_address(lab.shape, act, open);
}

/// Runs the programs whenever they or the settings change, in a worker of its own: a kernel that never ends must not
/// keep a person from typing.
#[hook]
fn use_run_engine(lab: &Snapshot, act: &Callback<Action>, parts: &Parts) {
    let engine = use_engine(act, parts);
    // While the bench is being looked at the last programs stay, so that nothing runs twice.
    let last = use_mut_ref(|| None);
    let simulate = if lab.looking {
        last.borrow().clone()
    } else if lab.stopped {
        None
    } else {
        lab.simulate()
    };
    last.borrow_mut().clone_from(&simulate);
    {
        let (engine, act, stopped) = (engine.clone(), act.clone(), lab.stopped);
        use_effect_with((simulate.clone(), stopped), move |(simulate, stopped)| {
            if *stopped {
                engine.cancel();
            }
            let timer = simulate.clone().map(|simulate| {
                Timeout::new(RUN_PAUSE_MS, move || {
                    act.emit(Action::Asked { run: true });
                    engine.ask(Request::Simulate(simulate));
                })
            });
            move || drop(timer)
        });
    }
    {
        let engine = engine.clone();
        use_effect_with(lab.probe(simulate.as_ref()), move |probe| {
            let timer =
                probe.clone().map(|probe| Timeout::new(RUN_PAUSE_MS, move || engine.ask(Request::Probe(probe))));
            move || drop(timer)
        });
    }
    let watched = Watched { playing: false, ..lab.watched };
    use_effect_with((simulate, watched), move |(simulate, watched)| {
        let timer = simulate.clone().map(|simulate| {
            let watch = watched.question(&simulate);
            Timeout::new(1, move || engine.ask(Request::Watch(watch)))
        });
        move || drop(timer)
    });
}

/// Moves the transport, the moments and the lanes while they play.
#[hook]
fn use_time(lab: &Snapshot, act: &Callback<Action>) {
    {
        let act = act.clone();
        use_effect_with((lab.playing, lab.pace), move |&(playing, pace)| {
            let pause = (STOP_PAUSE_MS / pace) as u32;
            let timer = playing.then(|| Interval::new(pause, move || act.emit(Action::Tick)));
            move || drop(timer)
        });
    }
    {
        let act = act.clone();
        let moment = lab.moment().filter(|_| lab.asking && lab.is_inspected()).map(|(at, _)| at);
        use_effect_with((moment, lab.position, lab.pace), move |&(moment, _, pace)| {
            let pause = (MOMENT_PAUSE_MS / pace) as u32;
            let timer = moment.map(|_| Timeout::new(pause, move || act.emit(Action::NextMoment)));
            move || drop(timer)
        });
    }
    let act = act.clone();
    use_effect_with((lab.watched, lab.watched_is_shown(), lab.pace), move |&(watched, is_shown, pace)| {
        let next = Watched { issue: watched.issue + 1, ..watched };
        let pause = (ISSUE_PAUSE_MS / pace) as u32;
        let timer = (watched.playing && is_shown).then(|| Timeout::new(pause, move || act.emit(Action::Watch(next))));
        move || drop(timer)
    });
}

/// Target of the link that skips the header: it is no address of a state.
const SKIP_TARGET: &str = "#source-panel";

/// The address as it is now.
fn here() -> Address {
    let hash = window().location().hash().unwrap_or_default();
    if hash == SKIP_TARGET { Address::default() } else { Address::parse(&hash) }
}

/// Follows the address: calls `open` with its link, when the page opens and when somebody goes to another one. A shape that
/// somebody chooses is written into it, without a new entry of the history.
#[hook]
fn use_address(shape: Shape, act: &Callback<Action>, open: impl Fn(String) + 'static) {
    {
        let act = act.clone();
        use_effect_with((), move |()| {
            let read = move |is_change: bool| {
                let location = window().location();
                if location.hash().is_ok_and(|hash| hash == SKIP_TARGET) {
                    return;
                }
                let address = here();
                if is_change {
                    act.emit(Action::Shape(address.shape()));
                    if address.link.is_empty() {
                        act.emit(Action::LinkLeft);
                    }
                }
                if let Some(text) = address.complaint() {
                    act.emit(Action::Notice(Some(Notice { text, is_error: true })));
                }
                if !address.link.is_empty() {
                    // The whole address: a message about a shortened link counts its characters.
                    let page = location.href().unwrap_or_default();
                    open(format!("{}#{}", page.split('#').next().unwrap_or_default(), address.link));
                }
            };
            read(false);
            let listener = EventListener::new(&window(), "hashchange", move |_| read(true));
            move || drop(listener)
        });
    }
    let is_first = use_mut_ref(|| true);
    use_effect_with(shape, move |&shape| {
        if !is_first.replace(false) && here().shape() != shape {
            dom::replace_hash(&here().in_shape(shape));
        }
    });
}

/// Keeps the colours as chosen, here and at the next visit.
#[hook]
fn use_theme(theme: Theme, act: &Callback<Action>) {
    {
        let act = act.clone();
        use_effect_with((), move |()| match dom::remembered(THEME_KEY).as_deref() {
            Some("light") => act.emit(Action::Theme(Theme::Light)),
            Some("dark") => act.emit(Action::Theme(Theme::Dark)),
            _ => {}
        });
    }
    let is_first = use_mut_ref(|| true);
    use_effect_with(theme, move |&theme| {
        let name = match theme {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
        };
        if let Some(root) = document().document_element() {
            // Setting an attribute of this name cannot fail.
            let _ = root.set_attribute("data-theme", name);
        }
        if !is_first.replace(false) {
            dom::remember(THEME_KEY, name);
        }
    });
}

/// The keys that work everywhere except in texts and fields.
#[hook]
fn use_shortcuts(now: &Now, act: &Callback<Action>) {
    let (now, act) = (now.clone(), act.clone());
    use_effect_with((), move |()| {
        // A listener that may keep the browser from scrolling has to say so.
        let options = EventListenerOptions::enable_prevent_default();
        let listener = EventListener::new_with_options(&document(), "keydown", options, move |event| {
            let Some(event) = event.dyn_ref::<KeyboardEvent>() else { return };
            let has_dialog = document().query_selector("dialog[open]").is_ok_and(|dialog| dialog.is_some());
            // From a field, too: what was typed there is kept.
            if event.key() == "Escape" && !event.default_prevented() && !has_dialog && now.lab().is_comparing {
                event.prevent_default();
                dom::focus_later("open-compare".to_owned());
                return act.emit(Action::ShowComparison(false));
            }
            let free = !event.default_prevented() && !event.ctrl_key() && !event.alt_key() && !event.meta_key();
            if !free || dom::is_typing() || has_dialog {
                return;
            }
            let element = event.target().and_then(|target| target.dyn_into::<Element>().ok());
            let is_in = |selector: &str| {
                let found = element.as_ref().map(|element| element.closest(selector));
                matches!(found, Some(Ok(Some(_))))
            };
            let has_arrows = is_in("input:not([type=checkbox]), .canvas, [role=tablist]");
            let has_ends = is_in("input[type=range]");
            let action = match event.key().as_str() {
                "ArrowLeft" if !has_arrows => Action::Travel(Travel::Back),
                "ArrowRight" if !has_arrows => Action::Travel(Travel::Forward),
                "Home" if !has_ends => Action::Travel(Travel::First),
                "End" if !has_ends => Action::Travel(Travel::Last),
                "[" => Action::Travel(Travel::PreviousPass),
                "]" => Action::Travel(Travel::NextPass),
                "," => Action::WalkBy(-1),
                "." => Action::WalkBy(1),
                "<" => Action::WalkToInquiry { is_forward: false },
                ">" => Action::WalkToInquiry { is_forward: true },
                "v" if now.lab().shape == Shape::Learn => Action::Shape(Shape::Lab),
                "v" => Action::Shape(Shape::Learn),
                "p" => Action::Play(!now.lab().playing),
                "q" => Action::Ask(!now.lab().asking),
                "c" => Action::ShowComparison(!now.lab().is_comparing),
                // Nothing that the other keys move is in sight.
                key if now.lab().is_comparing && !["s", "?"].contains(&key) => return,
                "s" => Action::Dialog(Some(Dialog::Share(String::new()))),
                "?" => Action::Dialog(Some(Dialog::Help)),
                "e" if now.lab().shape == Shape::Learn && !now.lab().shows_source => {
                    dom::focus_later("tab-source".to_owned());
                    Action::ShowSource(true)
                }
                "e" => return focus_instead(event, ".editor:not([hidden]) :is(.cm-content, .reading)"),
                "a" => return focus_instead(event, "#pass-search"),
                "g" => return focus_instead(event, "#graph-canvas"),
                "f" => {
                    if let Ok(Some(button)) = document().query_selector("#graph-fit") {
                        button.unchecked_ref::<web_sys::HtmlElement>().click();
                    }
                    return;
                }
                _ => return,
            };
            event.prevent_default();
            act.emit(action);
        });
        move || drop(listener)
    });
}

fn focus_instead(event: &KeyboardEvent, selector: &str) {
    event.prevent_default();
    if let Ok(Some(element)) = document().query_selector(selector) {
        // An element that cannot take the focus leaves it where it is.
        let _ = element.unchecked_ref::<web_sys::HtmlElement>().focus();
    }
}
