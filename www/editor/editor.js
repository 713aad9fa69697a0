// The editor behind a small door. esbuild bundles this with CodeMirror into `editor.js`, which lies beside `page.js`;
// Rust imports it with `#[wasm_bindgen(raw_module = "./editor.js")]`, so that cargo alone can check the page.
