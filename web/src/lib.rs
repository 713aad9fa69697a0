//! The page: a yew application that draws what the engine in its worker answers.

mod address;
mod app;
mod compiled;
mod dom;
mod editor;
mod engines;
mod examples;
pub mod extras;
pub mod first_view;
mod layout;
mod presets;
mod state;
mod tokens;
mod view;
mod worker;

use std::rc::Rc;

use first_view::Record;

/// Mounts the application, with the answers to its first questions if they are there.
pub fn start() {
    console_error_panic_hook::set_once();
    wasm_bindgen_futures::spawn_local(async {
        let record = Record::fetch().await.unwrap_or_else(|why| {
            gloo::console::warn!(format!("no answers for the first view, the engine computes them: {why}"));
            Record::default()
        });
        let record = Rc::new(record);
        yew::Renderer::<app::App>::with_props(app::Properties { record }).render();
    });
}
