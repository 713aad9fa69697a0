//! The program of the extras.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Function;
use warpscope_engine::message::{Request, wire};
use wasm_bindgen::JsValue;
use web_sys::Element;
use yew::{AppHandle, Callback, Html, component, hook, html, use_callback, use_effect_with, use_memo, use_reducer};

use super::Subject;
use crate::compiled::Compiled;
use crate::engines::{Parts, use_engine};
use crate::first_view::Record;
use crate::state::{Action, Lab};
use crate::view::{Compare, Snapshot};

thread_local! {
    /// The one application; none before it is mounted.
    static MOUNTED: RefCell<Option<(AppHandle<Extras>, Callback<String>)>> = const { RefCell::new(None) };
}

/// Draws the extras into an element. `failed` is called with the text of each failure of their engine. An error tells why the
/// subject cannot be read.
pub fn mount(host: Element, subject: &[u8], failed: Function) -> Result<(), JsValue> {
    console_error_panic_hook::set_once();
    let subject = read(subject)?;
    skip_root_of_page()?;
    let failed = Callback::from(move |why: String| {
        // A page that listens to no failure has none to show.
        let _ = failed.call1(&JsValue::NULL, &JsValue::from_str(&why));
    });
    let properties = Properties { subject, failed: failed.clone() };
    let handle = yew::Renderer::<Extras>::with_root_and_props(host, properties).render();
    MOUNTED.set(Some((handle, failed)));
    Ok(())
}

/// Shows another subject. An error tells why it cannot be read.
pub fn update(subject: &[u8]) -> Result<(), JsValue> {
    let subject = read(subject)?;
    MOUNTED.with_borrow_mut(|mounted| {
        if let Some((handle, failed)) = mounted {
            handle.update(Properties { subject, failed: failed.clone() });
        }
    });
    Ok(())
}

/// Takes the number of the page's only root. Yew numbers the roots of each program from 1 and marks elements with them: a root
/// of the same number would leave its events to the page.
fn skip_root_of_page() -> Result<(), JsValue> {
    let aside = gloo::utils::document().create_element("div")?;
    yew::Renderer::<Nothing>::with_root(aside).render().destroy();
    Ok(())
}

#[component]
fn Nothing() -> Html {
    Html::default()
}

fn read(subject: &[u8]) -> Result<Rc<Subject>, JsValue> {
    wire::decode(subject).map(Rc::new).map_err(|why| JsValue::from_str(&why))
}

#[derive(PartialEq, yew::Properties)]
struct Properties {
    subject: Rc<Subject>,
    failed: Callback<String>,
}

/// The root.
#[component]
fn Extras(Properties { subject, failed }: &Properties) -> Html {
    let store = use_reducer(Lab::new);
    let dispatcher = store.dispatcher();
    let failed = failed.clone();
    let act = use_callback((), move |action: Action, ()| match action {
        Action::Failed(why) => failed.emit(why),
        action => dispatcher.dispatch(action),
    });
    {
        let act = act.clone();
        use_effect_with(subject.clone(), move |subject| act.emit(Action::Subject(Box::new((**subject).clone()))));
    }
    let lab = Snapshot::of(&store);
    use_trial_engine(&lab, &act);
    html! { <Compare {lab} {act} /> }
}

/// Tries the pipelines that are compared, one after the other, in a worker that ends when nobody looks any more.
#[hook]
fn use_trial_engine(lab: &Snapshot, act: &Callback<Action>) {
    let parts = use_memo((), |()| Parts { code: Compiled::default(), record: Rc::new(Record::default()) });
    let engine = use_engine(act, &parts);
    use_effect_with((lab.next_trial(), lab.next_map()), move |(trial, piece)| match (trial, piece) {
        (Some(trial), _) => engine.ask(Request::Try(trial.clone())),
        (None, Some(piece)) => engine.ask(Request::Map(piece.clone())),
        (None, None) => engine.cancel(),
    });
}
