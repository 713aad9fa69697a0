//! The page and its first worker, in one file: what both need is loaded once. Where there is a window it mounts the
//! application, which draws; what it draws is computed by the engine in the worker, where there is none.

mod app;
mod dom;
mod editor;
mod examples;
mod layout;
mod state;
mod view;
mod worker;

fn main() {
    if web_sys::window().is_none() {
        return warpscope_engine::worker::serve(None);
    }
    console_error_panic_hook::set_once();
    yew::Renderer::<app::App>::new().render();
}
