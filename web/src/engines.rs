//! Engines of components: each is made with its component, and loaded when somebody moves a hand or asks.

use std::rc::Rc;

use gloo::events::EventListener;
use gloo::utils::window;
use yew::{Callback, hook, use_effect_with, use_memo};

use crate::compiled::Compiled;
use crate::first_view::Record;
use crate::state::Action;
use crate::worker::{Engine, Listeners};

/// Events that announce an action of the user.
const SIGNS_OF_A_HAND: [&str; 5] = ["pointermove", "pointerdown", "keydown", "wheel", "focusin"];

/// Parts of an engine: its code, and answers for the time before it is loaded.
pub struct Parts {
    /// Code of every engine of the page.
    pub code: Compiled,
    /// Answers to the first questions.
    pub record: Rc<Record>,
}

/// One engine for this component's life, loaded when somebody moves a hand or asks what is not in the record. Failures
/// become a notice.
#[hook]
pub fn use_engine(act: &Callback<Action>, parts: &Parts) -> Rc<Engine> {
    let (act, code, record) = (act.clone(), parts.code.clone(), parts.record.clone());
    let engine = use_memo((), move |()| {
        let listeners = Listeners {
            answered: act.reform(|(request, response)| Action::Answered(Box::new(request), response)),
            failed: act.reform(Action::Failed),
            ready: act.reform(|()| Action::Ready),
        };
        Engine::new(code, record, listeners)
    });
    {
        let engine = engine.clone();
        use_first_move(move || engine.wake());
    }
    engine
}

/// Calls `wake` when somebody moves a hand for the first time: at once for each of the signs, of which a few come together.
#[hook]
pub fn use_first_move(wake: impl Fn() + Clone + 'static) {
    use_effect_with((), move |()| {
        let listen = |event: &'static str| {
            let wake = wake.clone();
            EventListener::once(&window(), event, move |_| wake())
        };
        let listeners = SIGNS_OF_A_HAND.map(listen);
        move || drop(listeners)
    });
}
