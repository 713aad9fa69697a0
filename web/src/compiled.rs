//! The engine's code: fetched and compiled once, when somebody first needs it, for every worker that the page starts.
//! Two workers thereby cost one download, and the worker that follows a cancelled one starts at once.

use std::cell::RefCell;
use std::rc::Rc;

use gloo::utils::window;
use js_sys::{Promise, WebAssembly};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, future_to_promise};
use web_sys::Response;

/// The engine's file, beside the page.
const FILE: &str = "worker_bg.wasm";

/// The code, or the promise of it. Clones are the same code.
#[derive(Clone, Default)]
pub struct Compiled(Rc<RefCell<Option<Promise>>>);

impl Compiled {
    /// The module, or why there is none; then the next call tries again.
    pub async fn get(&self) -> Result<JsValue, JsValue> {
        let promise = self.0.borrow_mut().get_or_insert_with(|| future_to_promise(fetch_and_compile())).clone();
        let module = JsFuture::from(promise).await;
        if module.is_err() {
            *self.0.borrow_mut() = None;
        }
        module
    }
}

async fn fetch_and_compile() -> Result<JsValue, JsValue> {
    let response: Response = JsFuture::from(window().fetch_with_str(FILE)).await?.dyn_into()?;
    if !response.ok() {
        return Err(js_sys::Error::new(&format!("{FILE}: the server says {}", response.status())).into());
    }
    let bytes = JsFuture::from(response.array_buffer()?).await?;
    JsFuture::from(WebAssembly::compile(&bytes)).await
}
