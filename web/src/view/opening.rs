//! Opening an example: its files are fetched, and the last one that was chosen is opened.

use gloo::utils::window;
use warpscope_engine::message::Shared;
use wasm_bindgen::JsCast;
use yew::{Callback, hook, use_effect_with, use_mut_ref, use_state};

use crate::dom;
use crate::examples::{self, Example};
use crate::state::{Action, Notice};

/// Opens examples at an entry of their pipelines. Gives what to call, and the file that is on its way; empty if none is.
/// What was chosen is forgotten when the component goes.
#[hook]
pub fn use_opening(act: &Callback<Action>) -> (Callback<(&'static Example, Option<usize>)>, &'static str) {
    let opening = use_state(|| "");
    let wanted = use_mut_ref(|| None::<&'static str>);
    {
        let wanted = wanted.clone();
        use_effect_with((), move |()| move || *wanted.borrow_mut() = None);
    }
    let on_its_way = *opening;
    let act = act.clone();
    let open = Callback::from(move |(example, stage): (&'static Example, Option<usize>)| {
        let (act, opening, wanted) = (act.clone(), opening.clone(), wanted.clone());
        opening.set(example.file);
        *wanted.borrow_mut() = Some(example.file);
        wasm_bindgen_futures::spawn_local(async move {
            let fetched = fetch_example(example, stage).await;
            if *wanted.borrow() != Some(example.file) {
                return;
            }
            opening.set("");
            // The button that was pressed may stand at an entry that goes.
            dom::focus_if_lost_later(".stages .stage.shown .name");
            act.emit(match fetched {
                Ok(shared) => Action::OpenExample(example, Box::new(shared)),
                Err(why) => {
                    // A dialog would lie over the notice.
                    act.emit(Action::Dialog(None));
                    Action::Notice(Some(Notice { text: why, is_error: true }))
                }
            });
        });
    });
    (open, on_its_way)
}

async fn fetch_example(example: &Example, stage: Option<usize>) -> Result<Shared, String> {
    let source = fetch_text(example.file).await?;
    let launch = match example.launch {
        Some(file) => fetch_text(file).await?,
        None => String::new(),
    };
    Ok(examples::bench(example, stage, source, launch))
}

async fn fetch_text(file: &str) -> Result<String, String> {
    let failed = |_| format!("The example {file} could not be loaded.");
    let address = format!("examples/{file}");
    let response = wasm_bindgen_futures::JsFuture::from(window().fetch_with_str(&address)).await.map_err(failed)?;
    let response: web_sys::Response = response.unchecked_into();
    if !response.ok() {
        return Err(format!("The example {file} could not be loaded: the server says {}.", response.status()));
    }
    let text = wasm_bindgen_futures::JsFuture::from(response.text().map_err(failed)?).await.map_err(failed)?;
    Ok(text.as_string().unwrap_or_default())
}
