// The package in Node: the engine is read from beside this file and ready at once.

import { readFileSync } from "node:fs";
import { initSync } from "./engine.js";

initSync({ module: readFileSync(new URL("./engine_bg.wasm", import.meta.url)) });

/** There is nothing to wait for in Node; it exists so that the same program runs in a browser. */
export async function init() {}

export * from "./api.js";
