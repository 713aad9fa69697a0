//! The page: mounts the application. It draws; what it draws is computed by the engine in its worker.

mod app;
mod dom;
mod editor;
mod examples;
mod layout;
mod state;
mod view;
mod worker;

fn main() {
    console_error_panic_hook::set_once();
    yew::Renderer::<app::App>::new().render();
}
