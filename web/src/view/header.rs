//! The bar at the top: what the page is, programs to start from, the kernel, sharing, colours, help.

use wasm_bindgen::JsCast;
use web_sys::HtmlSelectElement;
use yew::{Callback, Event, Html, html};

use super::icons::Icon;
use super::{Snapshot, icon_button, on};
use crate::state::{Action, Dialog, Shape, Theme};

/// The bar at the top.
pub fn header(lab: &Snapshot, act: &Callback<Action>) -> Html {
    let kernels = lab.view.as_ref().map(|view| view.kernels.clone()).unwrap_or_default();
    let kernel = lab.view.as_ref().map(|view| view.kernel.clone()).unwrap_or_default();
    let choose = {
        let act = act.clone();
        Callback::from(move |event: Event| {
            if let Some(select) = event.target().and_then(|target| target.dyn_into::<HtmlSelectElement>().ok()) {
                act.emit(Action::Kernel(select.value()));
            }
        })
    };
    let (theme, theme_name) = match lab.theme {
        Theme::System => (Theme::Light, "Theme: system"),
        Theme::Light => (Theme::Dark, "Theme: light"),
        Theme::Dark => (Theme::System, "Theme: dark"),
    };
    let (other, name, title) = match lab.shape {
        Shape::Learn => (Shape::Lab, "Lab", "Every pane: passes with their settings, comparisons, lanes"),
        Shape::Lab => (Shape::Learn, "Learn", "One text, the graph, and four figures"),
    };
    let is_comparing = lab.is_comparing;
    let share = {
        let act = act.clone();
        Callback::from(move |_| act.emit(Action::Dialog(Some(Dialog::Share(String::new())))))
    };
    html! {
        <header class="top">
            <h1 class="brand">
                <svg viewBox="0 0 24 24" aria-hidden="true" class="mark">
                    <path d="M3 5c5 0 4 14 9 14S16 5 21 5" /><path d="M3 12h4M10 12h4M17 12h4" class="dim" />
                </svg>
                { "warpscope" }
            </h1>
            <p class="tagline">{ "Edit a GPU kernel, watch each pass think, run it on a simulated warp." }</p>
            <button type="button" class="plain" title="Examples" data-testid="open-examples"
                onclick={on(act, || Action::Dialog(Some(Dialog::Examples)))}>
                { Icon::Examples.html() }<span>{ "Examples" }</span>
            </button>
            if lab.shape == Shape::Lab {
                <button type="button" class="plain" title="Compare pipelines" id="open-compare" data-testid="open-compare"
                    aria-pressed={is_comparing.to_string()} onclick={on(act, move || Action::ShowComparison(!is_comparing))}>
                    { Icon::Compare.html() }<span>{ "Compare" }</span>
                </button>
            }
            if kernels.len() > 1 {
                <label class="field kernel">
                    <span>{ "Kernel" }</span>
                    <select data-testid="kernel" onchange={choose}>
                        { for kernels.iter().map(|name| html! {
                            <option value={name.clone()} selected={*name == kernel}>{ name }</option>
                        }) }
                    </select>
                </label>
            }
            <span class="space" />
            <button type="button" class="plain" title={title} data-testid="shape" onclick={on(act, move || Action::Shape(other))}>
                { Icon::Layers.html() }<span>{ name }</span>
            </button>
            <button type="button" class="plain primary" title="Share a link" data-testid="share" onclick={share}>
                { Icon::Share.html() }<span>{ "Share" }</span>
            </button>
            { icon_button(Icon::Theme, theme_name, false, on(act, move || Action::Theme(theme))) }
            { icon_button(Icon::Help, "Keyboard and legend", false, on(act, || Action::Dialog(Some(Dialog::Help)))) }
        </header>
    }
}
