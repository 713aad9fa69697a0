//! The npm package's engine: functions from strings to strings, so that it needs nothing but a JavaScript engine.

use warpscope_engine::{analyses, api};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Milliseconds since some moment, in Node and in browsers.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn milliseconds() -> f64;
}

fn main() {
    console_error_panic_hook::set_once();
}

/// The package's version.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// See [`api::parse`].
#[wasm_bindgen]
pub fn parse(source: &str, options: &str) -> String {
    api::parse(source, options)
}

/// See [`api::optimize`].
#[wasm_bindgen]
pub fn optimize(source: &str, options: &str) -> String {
    api::optimize(source, options, &mut || (milliseconds() * 1e3) as u64)
}

/// See [`api::inspect`].
#[wasm_bindgen]
pub fn inspect(source: &str, options: &str) -> String {
    api::inspect(source, options)
}

/// See [`api::simulate`].
#[wasm_bindgen]
pub fn simulate(source: &str, options: &str) -> String {
    api::simulate(source, options)
}

/// See [`analyses::vng`].
#[wasm_bindgen]
pub fn vng(source: &str, options: &str) -> String {
    analyses::vng(source, options)
}

/// See [`analyses::estimate`].
#[wasm_bindgen]
pub fn estimate(source: &str, options: &str) -> String {
    analyses::estimate(source, options)
}
