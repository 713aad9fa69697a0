// What the page starts as its module worker. The page sends the engine's code, compiled once for all its workers; the
// engine then posts "ready" when it listens.
import init from "./worker.js";

function start({ data }) {
  // Thrown outside the promise, a failure reaches the page as the worker's error.
  init({ module_or_path: data }).catch((error) => setTimeout(() => { throw error; }));
}

addEventListener("message", start, { once: true });
