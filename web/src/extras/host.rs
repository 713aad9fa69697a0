//! The page's side of the extras: loads them, tells them of each change, and shows what they fail with.

use js_sys::Uint8Array;
use warpscope_engine::message::wire;
use wasm_bindgen::prelude::*;
use web_sys::Element;
use yew::{Callback, Html, component, html, use_effect_with, use_mut_ref, use_node_ref, use_state};

use super::Subject;
use crate::dom;
use crate::state::{Action, Notice};
use crate::view::PaneProps;

#[wasm_bindgen(raw_module = "./load-extras.js")]
extern "C" {
    /// Program of the extras, loaded and initialised once.
    #[wasm_bindgen(catch)]
    async fn load() -> Result<JsValue, JsValue>;

    type Program;

    #[wasm_bindgen(method, catch)]
    fn mount(this: &Program, host: &Element, subject: &Uint8Array, failed: &JsValue) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch)]
    fn update(this: &Program, subject: &Uint8Array) -> Result<(), JsValue>;
}

/// The comparison of pipelines in the place of the panes. It is loaded when it is first shown, and keeps what it found.
#[component]
pub fn Host(PaneProps { lab, act }: &PaneProps) -> Html {
    let place = use_node_ref();
    // The program once it is mounted, and whether it is on its way.
    let program = use_state(|| None::<Program>);
    let is_loading = use_mut_ref(|| false);
    let is_shown = lab.is_comparing;
    // A copy of the program, which nobody needs before the first wish.
    let subject = (is_shown || program.is_some()).then(|| Subject::of(lab));
    let failed = {
        let act = act.clone();
        Callback::from(move |why: String| {
            let text = format!("The comparison failed: {why}. Close and open it to try again.");
            act.emit(Action::Notice(Some(Notice { text, is_error: true })));
        })
    };
    {
        let (place, program) = (place.clone(), program.clone());
        let is_mounted = program.is_some();
        use_effect_with((subject, is_mounted), move |(subject, _)| {
            let Some(subject) = subject else { return };
            let bytes = match wire::encode(subject) {
                Ok(bytes) => Uint8Array::from(bytes.as_slice()),
                Err(why) => return failed.emit(why),
            };
            if let Some(mounted) = &*program {
                if let Err(error) = mounted.update(&bytes) {
                    failed.emit(text_of(&error));
                }
            } else if subject.is_shown && !is_loading.replace(true) {
                wasm_bindgen_futures::spawn_local(async move {
                    let loaded = load().await.map(JsCast::unchecked_into::<Program>);
                    is_loading.replace(false);
                    let Some(host) = place.cast::<Element>() else { return };
                    let report = failed.clone();
                    let listener = Closure::<dyn FnMut(String)>::new(move |why| report.emit(why)).into_js_value();
                    match loaded.and_then(|loaded| loaded.mount(&host, &bytes, &listener).map(|()| loaded)) {
                        Ok(loaded) => program.set(Some(loaded)),
                        Err(error) => failed.emit(text_of(&error)),
                    }
                });
            }
        });
    }
    let close = {
        let act = act.clone();
        Callback::from(move |_: yew::MouseEvent| {
            act.emit(Action::ShowComparison(false));
            dom::focus_later("open-compare".to_owned());
        })
    };
    html! {
        <section class="pane full" aria-labelledby="compare-title" hidden={!is_shown} data-testid="compare-view">
            <div class="pane-head">
                <h2 id="compare-title">{ "Compare pipelines" }</h2>
                <span class="space" />
                <button type="button" class="plain small" onclick={close} data-testid="close-compare">{ "Back to the lab" }</button>
            </div>
            if program.is_none() { <p class="empty late" role="status">{ "Loading the comparison…" }</p> }
            <div class="pane-body scroll" ref={place} tabindex="0" role="group" aria-label="Comparison" />
        </section>
    }
}

/// Text of a JavaScript failure.
fn text_of(error: &JsValue) -> String {
    let message = error.dyn_ref::<js_sys::Error>().map(|error| String::from(error.message()));
    message.or_else(|| error.as_string()).unwrap_or_else(|| "it does not start".to_owned())
}
