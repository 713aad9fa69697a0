//! Small questions to the document that a view cannot answer from its state.

use std::cell::Cell;

use gloo::timers::callback::Timeout;
use gloo::utils::{document, window};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, HtmlInputElement, HtmlSelectElement, ScrollBehavior, ScrollToOptions};
use yew::Event;

/// Moves the focus to the element with this id.
pub fn focus(id: &str) {
    if let Some(element) = document().get_element_by_id(id) {
        // Elements of a drawing take the focus as those of a text do. One that cannot leaves it where it is.
        let _ = element.unchecked_ref::<HtmlElement>().focus();
    }
}

thread_local! {
    /// Number of the last call that moves the focus later. Earlier ones no longer count.
    static LAST_CALL: Cell<u32> = const { Cell::new(0) };
}

/// Number of a new call that moves the focus later.
fn begin_call() -> u32 {
    let call = LAST_CALL.get().wrapping_add(1);
    LAST_CALL.set(call);
    call
}

/// Moves the focus once the page has drawn what changed. A focus that has moved elsewhere since the
/// call stays: the next keys are meant for that element.
pub fn focus_later(id: String) {
    let call = begin_call();
    let before = document().active_element();
    Timeout::new(30, move || {
        let is_unmoved = is_focus_lost() || document().active_element() == before;
        if LAST_CALL.get() == call && is_unmoved {
            focus(&id);
        }
    })
    .forget();
}

/// Whether no element has the focus, as after the one that had it was removed.
fn is_focus_lost() -> bool {
    document().active_element().is_none_or(|element| element.tag_name() == "BODY")
}

/// Moves the focus to the first element that the selector names, if the focused one is removed within a while.
pub fn focus_if_lost_later(selector: &'static str) {
    focus_if_lost_within(selector, LOOKS, begin_call());
}

/// Checks for a lost focus, and the pause between two, in milliseconds: the element that replaces the
/// focused one may have to be computed first.
const LOOKS: u32 = 60;
const LOOK_PAUSE_MS: u32 = 50;

fn focus_if_lost_within(selector: &'static str, looks: u32, call: u32) {
    if looks == 0 {
        return;
    }
    Timeout::new(LOOK_PAUSE_MS, move || {
        if LAST_CALL.get() != call {
            return;
        }
        let is_lost = is_focus_lost();
        match document().query_selector(selector) {
            Ok(Some(element)) if is_lost => {
                let _ = element.unchecked_ref::<HtmlElement>().focus();
            }
            _ => focus_if_lost_within(selector, looks - 1, call),
        }
    })
    .forget();
}

/// Whether the check box that the event is about is on.
pub fn is_checked(event: &Event) -> bool {
    event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok()).is_some_and(|input| input.checked())
}

/// The id of the element that the event is about.
pub fn id(event: &web_sys::Event) -> Option<String> {
    Some(event.target()?.dyn_into::<Element>().ok()?.id())
}

/// The value of the field that the event is about.
pub fn value(event: &web_sys::Event) -> Option<String> {
    let target = event.target()?;
    match target.dyn_into::<HtmlInputElement>() {
        Ok(input) => Some(input.value()),
        Err(target) => target.dyn_into::<HtmlSelectElement>().ok().map(|select| select.value()),
    }
}

/// Does the field that the event is about hold something that is no value of its kind?
pub fn is_unreadable(event: &web_sys::Event) -> bool {
    let input = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
    input.is_some_and(|input| input.validity().bad_input())
}

/// Does a field have the focus?
pub fn has_focus(input: &HtmlInputElement) -> bool {
    document().active_element().is_some_and(|active| active.is_same_node(Some(input)))
}

/// The index of the pipeline's entry at a point of the window.
pub fn stage_at(x: f64, y: f64) -> Option<usize> {
    let under = document().element_from_point(x as f32, y as f32)?;
    under.closest("[data-stage]").ok()??.get_attribute("data-stage")?.parse().ok()
}

/// Whether keys go into a text now, so that a letter is no shortcut.
pub fn is_typing() -> bool {
    let Some(element) = document().active_element() else { return false };
    let editable = element.closest("input:not([type=range]):not([type=checkbox]):not([type=radio]), select, textarea, [contenteditable=true], .cm-editor");
    editable.is_ok_and(|found| found.is_some())
}

/// Scrolls the pane around `element` so that it is in sight, or its beginning.
pub fn reveal(element: &Element) {
    let Some(pane) = element.closest(".scroll").ok().flatten() else { return };
    let (inner, outer) = (element.get_bounding_client_rect(), pane.get_bounding_client_rect());
    let left = nearest((inner.left(), inner.right()), (outer.left(), outer.right()));
    let top = nearest((inner.top(), inner.bottom()), (outer.top(), outer.bottom()));
    scroll_by(&pane, left, top);
}

/// Scrolls `pane` down or up so that what lies between two heights of its contents is in sight, or its beginning.
pub fn reveal_between(pane: &HtmlElement, top: f64, bottom: f64) {
    let (from, height) = (f64::from(pane.scroll_top()), f64::from(pane.client_height()));
    scroll_by(pane, 0.0, nearest((top, bottom), (from, from + height)));
}

/// Free space around what comes into sight, in pixels.
const REVEAL_MARGIN: f64 = 24.0;

/// How far to scroll so that the range `inner` lies in `outer`, or at least begins in it, in pixels.
fn nearest(inner: (f64, f64), outer: (f64, f64)) -> f64 {
    let to_start = inner.0 - outer.0 - REVEAL_MARGIN;
    let to_end = inner.1 - outer.1 + REVEAL_MARGIN;
    if to_start < 0.0 { to_start } else { to_end.clamp(0.0, to_start) }
}

/// Scrolls smoothly, or at once for those who asked for less motion.
fn scroll_by(pane: &Element, left: f64, top: f64) {
    if left == 0.0 && top == 0.0 {
        return;
    }
    let query = window().match_media("(prefers-reduced-motion: reduce)");
    let is_calm = query.ok().flatten().is_some_and(|query| query.matches());
    let options = ScrollToOptions::new();
    options.set_left(f64::from(pane.scroll_left()) + left);
    options.set_top(f64::from(pane.scroll_top()) + top);
    options.set_behavior(if is_calm { ScrollBehavior::Instant } else { ScrollBehavior::Smooth });
    pane.scroll_to_with_scroll_to_options(&options);
}

/// A value that the browser keeps for this page; none where it keeps nothing.
pub fn remembered(key: &str) -> Option<String> {
    window().local_storage().ok()??.get_item(key).ok()?
}

/// Asks the browser to keep a value. A browser that keeps nothing is no error.
pub fn remember(key: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        let _ = storage.set_item(key, value);
    }
}

/// Gives the address another part after `#`, without a new entry of the history. An empty one takes the `#` with it.
pub fn replace_hash(hash: &str) {
    let location = window().location();
    let page = location.href().unwrap_or_default();
    let page = page.split('#').next().unwrap_or_default();
    let address = if hash.is_empty() { page.to_owned() } else { format!("{page}#{hash}") };
    if let Ok(history) = window().history() {
        // In a frame without an origin of its own this fails, and the address stays.
        let _ = history.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(&address));
    }
}
