//! The page's worker: reads a numbered request, posts the numbered response.

use std::cell::RefCell;

use warpscope_engine::Engine;
use warpscope_engine::message::{Numbered, READY, Request};
use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

fn main() {
    console_error_panic_hook::set_once();
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let engine = RefCell::new(Engine::new(now));
    let handler = {
        let scope = scope.clone();
        Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            answer(&mut engine.borrow_mut(), &scope, event)
        })
    };
    scope.set_onmessage(Some(handler.as_ref().unchecked_ref()));
    // The handler lives as long as the worker does.
    handler.forget();
    post(&scope, &JsValue::from_str(READY));
}

fn answer(engine: &mut Engine, scope: &DedicatedWorkerGlobalScope, event: MessageEvent) {
    let request: Numbered<Request> = match serde_wasm_bindgen::from_value(event.data()) {
        Ok(request) => request,
        Err(error) => wasm_bindgen::throw_str(&format!("not a request: {error}")),
    };
    let response = Numbered { id: request.id, body: engine.answer(request.body) };
    // A seed may be larger than what a JavaScript number holds exactly.
    let encoder = serde_wasm_bindgen::Serializer::json_compatible().serialize_large_number_types_as_bigints(true);
    match serde::Serialize::serialize(&response, &encoder) {
        Ok(value) => post(scope, &value),
        Err(error) => wasm_bindgen::throw_str(&format!("cannot send the response: {error}")),
    }
}

/// Microseconds since the worker started; 0 where there is no clock.
fn now() -> f64 {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    scope.performance().map_or(0.0, |performance| performance.now() * 1000.0)
}

fn post(scope: &DedicatedWorkerGlobalScope, value: &JsValue) {
    if let Err(error) = scope.post_message(value) {
        wasm_bindgen::throw_val(error);
    }
}
