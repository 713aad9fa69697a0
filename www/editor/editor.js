// The page imports this module, bundled by esbuild to `editor.js` beside it.
