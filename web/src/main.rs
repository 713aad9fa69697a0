//! The page: mounts the application. It draws; what it draws is computed by the engine in its worker.

mod app;

fn main() {
    console_error_panic_hook::set_once();
    yew::Renderer::<app::App>::new().render();
}
