//! A field for a number that shows what is typed while somebody is in it, and else what is held.
//!
//! ```text
//! held 7    typed -       shown -     whatever is drawn meanwhile
//!           typed -1      shown -1    which is nothing that can be held
//!           left          shown 7
//! ```
//!
//! yew would put what is held into the field with every drawing, between two keys as well: of `-1` the minus would go, and
//! 71 be held.

use web_sys::HtmlInputElement;
use yew::{Callback, Event, FocusEvent, Html, InputEvent, Properties, component, html, use_effect_with, use_node_ref};

use crate::dom;

/// Properties of a field.
#[derive(Properties, PartialEq)]
pub struct NumberFieldProps {
    /// Current value, as it is drawn.
    pub held: String,
    /// Tells what is held now, which may not be drawn yet.
    pub held_now: Callback<(), String>,
    /// Called at each key.
    pub oninput: Callback<InputEvent>,
    /// Its class, and its name in tests.
    pub name: &'static str,
    /// Placeholder of an empty one.
    #[prop_or_default]
    pub placeholder: &'static str,
}

/// See the file's head.
#[component]
pub fn NumberField(props: &NumberFieldProps) -> Html {
    let NumberFieldProps { held, held_now, oninput, name, placeholder } = props;
    let field = use_node_ref();
    {
        let field = field.clone();
        use_effect_with(held.clone(), move |held| {
            if let Some(input) = field.cast::<HtmlInputElement>().filter(|input| !dom::has_focus(input)) {
                show(&input, held);
            }
        });
    }
    // Whoever leaves it quickly does so before what was typed last is drawn.
    let leave = {
        let (field, held_now) = (field.clone(), held_now.clone());
        Callback::from(move |()| {
            if let Some(input) = field.cast::<HtmlInputElement>() {
                show(&input, &held_now.emit(()));
            }
        })
    };
    let (onchange, onblur) = (leave.reform(|_: Event| ()), leave.reform(|_: FocusEvent| ()));
    html! {
        <input ref={field} type="number" min="0" step="1" class={*name} placeholder={*placeholder} data-testid={*name} {oninput}
            {onchange} {onblur} />
    }
}

fn show(input: &HtmlInputElement, held: &str) {
    if input.value() != held {
        input.set_value(held);
    }
}
