//! The page's worker: reads numbered requests and posts numbered responses. The page starts it with the first question
//! that a hand or a link asks.

use std::cell::RefCell;

use js_sys::Uint8Array;
use warpscope_engine::Engine;
use warpscope_engine::message::{Numbered, READY, Request, wire};
use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

/// Answers until the page ends the worker.
fn main() {
    console_error_panic_hook::set_once();
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let engine = RefCell::new(Engine::new(now));
    let handler = {
        let scope = scope.clone();
        Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            if let Err(error) = answer(&mut engine.borrow_mut(), &scope, &event) {
                wasm_bindgen::throw_str(&error);
            }
        })
    };
    scope.set_onmessage(Some(handler.as_ref().unchecked_ref()));
    // The handler lives as long as the worker does.
    handler.forget();
    post(&scope, &JsValue::from_str(READY));
}

fn answer(engine: &mut Engine, scope: &DedicatedWorkerGlobalScope, event: &MessageEvent) -> Result<(), String> {
    let request: Numbered<Request> = wire::decode(&event.data().unchecked_into::<Uint8Array>().to_vec())?;
    let response = Numbered { id: request.id, body: engine.answer(request.body) };
    post(scope, &Uint8Array::from(wire::encode(&response)?.as_slice()));
    Ok(())
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
