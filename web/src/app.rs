//! The root component of the page.

use yew::{Html, component, html};

/// The whole laboratory.
#[component]
pub fn App() -> Html {
    html! {
        <main>
            <h1>{ "warpscope" }</h1>
        </main>
    }
}
