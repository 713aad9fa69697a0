//! Visible part of a scrolled pane, so that a view of many thousand lines or blocks draws only that.

use std::rc::Rc;

use gloo::events::EventListener;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{HtmlElement, ResizeObserver};
use yew::{NodeRef, hook, use_effect_with, use_state_eq};

/// A pane is drawn anew when it was scrolled this far, in pixels; whoever draws adds at least as much on every side.
pub const GRAIN: f64 = 256.0;

/// The part of a pane's contents that is in sight, in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sight {
    /// How far it is scrolled to the right, rounded down to [`GRAIN`].
    pub left: f64,
    /// How far it is scrolled down, rounded down to [`GRAIN`].
    pub top: f64,
    /// Width of the pane; 0 until it has been measured.
    pub width: f64,
    /// Height of the pane; 0 until it has been measured.
    pub height: f64,
}

impl Sight {
    fn of(element: &HtmlElement) -> Sight {
        let coarse = |scrolled: i32| (f64::from(scrolled.max(0)) / GRAIN).floor() * GRAIN;
        Sight {
            left: coarse(element.scroll_left()),
            top: coarse(element.scroll_top()),
            width: f64::from(element.client_width()),
            height: f64::from(element.client_height()),
        }
    }
}

/// Follows the scroll position and the size of the element at `place`.
#[hook]
pub fn use_sight(place: &NodeRef) -> Sight {
    let sight = use_state_eq(Sight::default);
    let now = *sight;
    let place = place.clone();
    use_effect_with((), move |()| {
        let following = place.cast::<HtmlElement>().map(|element| {
            let measure = {
                let element = element.clone();
                Rc::new(move || sight.set(Sight::of(&element)))
            };
            let resized = {
                let measure = measure.clone();
                Closure::<dyn FnMut()>::new(move || measure())
            };
            let observer = ResizeObserver::new(resized.as_ref().unchecked_ref()).ok();
            if let Some(observer) = &observer {
                observer.observe(&element);
            }
            (observer, resized, EventListener::new(&element, "scroll", move |_| measure()))
        });
        move || {
            if let Some((Some(observer), ..)) = &following {
                observer.disconnect();
            }
            drop(following);
        }
    });
    now
}
