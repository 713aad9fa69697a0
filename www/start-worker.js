// What the page starts as its module worker: loads the engine, which posts "ready" when it listens.
import init from "./worker.js";

await init();
