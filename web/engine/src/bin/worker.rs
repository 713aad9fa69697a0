//! The page's worker: reads a numbered request, posts the numbered response.

use warpscope_engine::message::{Numbered, READY, Request};
use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

fn main() {
    console_error_panic_hook::set_once();
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let handler = {
        let scope = scope.clone();
        Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| answer(&scope, event))
    };
    scope.set_onmessage(Some(handler.as_ref().unchecked_ref()));
    // The handler lives as long as the worker does.
    handler.forget();
    post(&scope, &JsValue::from_str(READY));
}

fn answer(scope: &DedicatedWorkerGlobalScope, event: MessageEvent) {
    let request: Numbered<Request> = match serde_wasm_bindgen::from_value(event.data()) {
        Ok(request) => request,
        Err(error) => wasm_bindgen::throw_str(&format!("not a request: {error}")),
    };
    let response = Numbered { id: request.id, body: warpscope_engine::run(request.body) };
    let encoder = serde_wasm_bindgen::Serializer::json_compatible();
    match serde::Serialize::serialize(&response, &encoder) {
        Ok(value) => post(scope, &value),
        Err(error) => wasm_bindgen::throw_str(&format!("cannot send the response: {error}")),
    }
}

fn post(scope: &DedicatedWorkerGlobalScope, value: &JsValue) {
    if let Err(error) = scope.post_message(value) {
        wasm_bindgen::throw_val(error);
    }
}
