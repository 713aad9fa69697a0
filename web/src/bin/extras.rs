//! The extras as a WebAssembly module; see [`warpscope_web::extras`].

use wasm_bindgen::prelude::*;

fn main() {}

/// See [`warpscope_web::extras::mount`].
#[wasm_bindgen]
pub fn mount(host: web_sys::Element, subject: &[u8], failed: js_sys::Function) -> Result<(), JsValue> {
    warpscope_web::extras::mount(host, subject, failed)
}

/// See [`warpscope_web::extras::update`].
#[wasm_bindgen]
pub fn update(subject: &[u8]) -> Result<(), JsValue> {
    warpscope_web::extras::update(subject)
}
