//! Dialogs over the page: the gallery, help, costs, and the link.

use gloo::utils::window;
use warpscope_engine::message::{Language, Printed};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;
use yew::{Callback, Html, KeyboardEvent, component, html, use_effect_with, use_node_ref, use_state};

use super::change::with_code;
use super::icons::Icon;
use super::machines::Machines;
use super::opening::use_opening;
use super::{Snapshot, count, icon_button, on, thousands};
use crate::examples::{self, Example};
use crate::state::{Action, Dialog, Notice, link_advice};

/// The open dialog, if any.
pub fn dialogs(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let close = on(act, || Action::Dialog(None));
    let (title, body) = match &lab.dialog {
        None => return Html::default(),
        Some(Dialog::Examples) => ("Examples", html! { <Gallery act={act.clone()} /> }),
        Some(Dialog::Help) => ("Keyboard and legend", help()),
        Some(Dialog::Machines) => {
            let machines = lab.catalogue.as_ref().map(|catalogue| catalogue.machines.clone()).unwrap_or_default();
            ("Machines", html! { <Machines {machines} chosen={lab.settings.machine().to_owned()} /> })
        }
        Some(Dialog::Share(link)) => {
            let language = lab.view.as_ref().map_or(Language::Wir, |view| view.language);
            let (source, launch) = (lab.bench.source.clone(), lab.bench.launch.clone());
            ("Share", html! { <Link link={link.clone()} {source} {language} {launch} act={act.clone()} /> })
        }
        Some(Dialog::Ptx(printed)) => ("Save as PTX", as_ptx(printed.as_deref(), act)),
    };
    html! { <Frame {title} {close}>{ body }</Frame> }
}

#[derive(PartialEq, yew::Properties)]
struct FrameProps {
    title: &'static str,
    close: Callback<()>,
    children: Html,
}

/// A modal dialog of the browser's own kind, which keeps the focus inside and gives it back.
#[component]
fn Frame(FrameProps { title, close, children }: &FrameProps) -> Html {
    let place = use_node_ref();
    {
        let place = place.clone();
        use_effect_with((), move |()| {
            let dialog = place.cast::<web_sys::HtmlDialogElement>();
            if let Some(dialog) = &dialog
                && !dialog.open()
            {
                // It is in the document, so the browser has no reason to refuse.
                let _ = dialog.show_modal();
            }
            move || {
                if let Some(dialog) = dialog {
                    dialog.close();
                }
            }
        });
    }
    let onclose = close.reform(|_| ());
    let onclick = {
        let (place, close) = (place.clone(), close.clone());
        Callback::from(move |event: yew::MouseEvent| {
            // A click beside the contents has the dialog itself as its target.
            let target = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
            if target.is_some() && target == place.cast::<HtmlElement>() {
                close.emit(());
            }
        })
    };
    let onkeydown = {
        let close = close.clone();
        Callback::from(move |event: KeyboardEvent| {
            if event.key() == "Escape" {
                event.prevent_default();
                close.emit(());
            }
        })
    };
    html! {
        <dialog ref={place} aria-labelledby="dialog-title" {onclose} {onclick} {onkeydown} data-testid="dialog">
            <div class="sheet">
                <div class="pane-head">
                    <h2 id="dialog-title">{ *title }</h2>
                    { icon_button(Icon::Close, "Close", false, close.reform(|_| ())) }
                </div>
                <div class="sheet-body" tabindex="0" role="region" aria-labelledby="dialog-title">{ children.clone() }</div>
            </div>
        </dialog>
    }
}

#[derive(PartialEq, yew::Properties)]
struct GalleryProps {
    act: Callback<Action>,
}

/// Programs to start from.
#[component]
fn Gallery(GalleryProps { act }: &GalleryProps) -> Html {
    let (open, opening) = use_opening(act);
    let choose = |example: &'static Example| {
        let open = open.clone();
        Callback::from(move |_| open.emit((example, None)))
    };
    html! {
        { for examples::GALLERY.iter().map(|examples::Group { heading, paper, examples }| html! {
            <section class="gallery">
                <h3>{ *heading }if !paper.is_empty() { <cite>{ *paper }</cite> }</h3>
                <ul>
                    { for examples.iter().map(|example| html! {
                        <li>
                            <button type="button" onclick={choose(example)} data-testid={format!("example-{}", example.file)}>
                                <b>{ example.title }if opening == example.file { <span class="late">{ " opening…" }</span> }</b>
                                <span>{ with_code(example.summary) }</span>
                            </button>
                        </li>
                    }) }
                </ul>
            </section>
        }) }
    }
}

#[derive(PartialEq, yew::Properties)]
struct LinkProps {
    link: String,
    source: String,
    language: Language,
    /// A launch beside the program; empty if the program's own text has it, or none.
    launch: String,
    act: Callback<Action>,
}

/// The link, already selected, with a button that copies it.
#[component]
fn Link(LinkProps { link, source, language, launch, act }: &LinkProps) -> Html {
    let copied = use_state(|| false);
    if link.is_empty() {
        return html! { <p role="status">{ "Making the link…" }</p> };
    }
    // The engine makes the part after `#`; where the page lies only the browser knows.
    let page = window().location().href().unwrap_or_default();
    let link = &format!("{}{link}", page.split('#').next().unwrap_or_default());
    let copy = {
        let (act, copied, link) = (act.clone(), copied.clone(), link.clone());
        Callback::from(move |_| {
            let (act, copied, link) = (act.clone(), copied.clone(), link.clone());
            wasm_bindgen_futures::spawn_local(async move {
                let written =
                    wasm_bindgen_futures::JsFuture::from(window().navigator().clipboard().write_text(&link)).await;
                if written.is_ok() {
                    copied.set(true);
                } else {
                    let text =
                        "The browser does not let the page copy. Select the link and copy it by hand.".to_owned();
                    act.emit(Action::Notice(Some(Notice { text, is_error: true })));
                }
            });
        })
    };
    // The command line reads the format from the name, and a launch beside a program from a file of its own.
    let name = if *language == Language::Ptx { "program.ptx" } else { "program.wir" };
    html! {
        <div class="link">
            <p>{ "This link restores the program, passes, position and run settings." }</p>
            <label class="field wide">
                <span class="hidden">{ "Link" }</span>
                <input type="text" readonly=true value={link.clone()} data-testid="link" onfocus={|event: yew::FocusEvent| {
                    if let Some(input) = event.target().and_then(|target| target.dyn_into::<web_sys::HtmlInputElement>().ok()) {
                        input.select();
                    }
                }} />
            </label>
            <p class="row">
                <button type="button" class="plain primary" onclick={copy} data-testid="copy-link">
                    { if *copied { "Copied" } else { "Copy link" } }
                </button>
                <a class="plain" download={name} href={file(source)} data-testid="save-program">{ "Save the program" }</a>
                if !launch.is_empty() {
                    <a class="plain" download="program.launch.wir" href={file(launch)} data-testid="save-launch"
                        title={format!("warpscope sim {name} --launch program.launch.wir")}>{ "Save its launch" }</a>
                }
                <button type="button" class="plain" onclick={on(act, || Action::Dialog(Some(Dialog::Ptx(None))))} data-testid="save-ptx">
                    { "Save as PTX" }
                </button>
                <span class="note" role="status">{ format!("{} characters", thousands(link.len() as u64)) }</span>
            </p>
            if let Some(advice) = link_advice(link.len()) { <p class="advice">{ advice }</p> }
        </div>
    }
}

/// The address of a file that holds this text.
fn file(text: &str) -> String {
    format!("data:text/plain;charset=utf-8,{}", js_sys::encode_uri_component(text))
}

/// The program that is shown, as PTX. Loads that must not fault are named before it is saved.
fn as_ptx(printed: Option<&Printed>, act: &Callback<Action>) -> Html {
    let Some(Printed { text, problems, loads, guards }) = printed else {
        return html! { <p role="status">{ "Printing the program…" }</p> };
    };
    let list =
        |items: &[String]| html! { <ul>{ for items.iter().map(|item| html! { <li><code>{ item }</code></li> }) }</ul> };
    if !problems.is_empty() {
        return html! {
            <div class="link" data-testid="ptx-problems">
                <p role="status">{ "PTX cannot express this program:" }</p>
                { list(problems) }
            </div>
        };
    }
    let file = file(text);
    let save = |label: &'static str, class: &'static str| {
        html! { <a class={class.to_owned()} download="program.ptx" href={file.clone()} data-testid="download-ptx">{ label }</a> }
    };
    if loads.is_empty() {
        return html! {
            <div class="link">
                <p role="status">{ "The program at this position, as NVIDIA's assembler takes it." }</p>
                <p class="row">{ save("Download program.ptx", "plain primary") }</p>
            </div>
        };
    }
    let guard = {
        let (act, guards) = (act.clone(), guards.clone());
        Callback::from(move |_| act.emit(Action::GuardLoads(guards.clone())))
    };
    html! {
        <div class="link" data-testid="ptx-loads">
            <p role="status">
                { format!("A pass moved {} to where they might fault. PTX has no non-faulting load, so on a GPU they may abort the program:", count(loads.len(), "load")) }
            </p>
            { list(loads) }
            <p class="row">
                if !guards.is_empty() {
                    <button type="button" class="plain primary" onclick={guard} data-testid="guard-loads">{ "Guard them" }</button>
                }
                { save("Download anyway", "plain") }
            </p>
        </div>
    }
}

/// The page's five words for what happens.
const WORDS: [(&str, &str); 5] = [
    ("pass", "one optimisation over the whole program, an entry of the list of passes"),
    ("change", "one edit of the program by a pass, with its reason; the transport goes from change to change"),
    ("moment", "one point inside a change or an analysis: a question asked or answered, a block passed"),
    ("run", "one execution of the launch by the simulator"),
    ("issue", "one instruction started by a warp for its active lanes; a run is a sequence of issues"),
];

/// Shortcuts, which do not fire while typing, and the meanings of marks and words.
fn help() -> Html {
    let keys: [(&[&str], &str); 17] = [
        (&["←", "→"], "one change back, one forward"),
        (&["[", "]"], "one pass back, one forward"),
        (&[",", "."], "inside a change: one moment back, one forward"),
        (&["<", ">"], "where a pass asks questions: to where an inquiry begins or ends"),
        (&["q"], "play or pause these moments"),
        (&["Home", "End"], "the source, the end"),
        (&["p"], "play or pause"),
        (&["e"], "to the editor; Escape, then Tab, leaves it"),
        (&["a"], "add a pass"),
        (&["g"], "to the graph; arrow keys walk along its edges"),
        (&["f"], "fit the graph into its pane, or make it readable again"),
        (&["+", "−"], "in the graph: larger, smaller"),
        (&["Shift", "↓"], "in the graph, with any arrow: move the drawing"),
        (&["v"], "the page for readers, the page with every pane"),
        (&["c"], "compare pipelines, or go back"),
        (&["s"], "share"),
        (&["?"], "this list"),
    ];
    html! {
        <div class="help">
            <dl class="keys">
                { for keys.into_iter().map(|(keys, meaning)| html! {
                    <div>
                        <dt>{ for keys.iter().map(|key| html! { <kbd>{ *key }</kbd> }) }</dt>
                        <dd>{ meaning }</dd>
                    </div>
                }) }
            </dl>
            <p class="note">{ "Shortcuts are off while you type in the editor or a field." }</p>
            <h3>{ "Legend" }</h3>
            <dl class="marks">
                <div><dt><span class="swatch divergent" /></dt><dd>{ "divergent: lanes of one warp may disagree" }</dd></div>
                <div><dt><span class="swatch heat" /></dt><dd>{ "heat: how often an instruction was issued; the number beside it is the exact count" }</dd></div>
                <div><dt><span class="swatch removed">{ "−" }</span></dt><dd>{ "removed" }</dd></div>
                <div><dt><span class="swatch added">{ "+" }</span></dt><dd>{ "added" }</dd></div>
            </dl>
            <h3>{ "Words" }</h3>
            <dl data-testid="words">
                { for WORDS.into_iter().map(|(word, meaning)| html! { <div><dt>{ word }</dt><dd>{ meaning }</dd></div> }) }
            </dl>
        </div>
    }
}
