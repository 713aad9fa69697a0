// The engine's functions. It speaks JSON, as the command line's `--json` does; here its answers become objects.

import * as engine from "./engine.js";

/** The program or the options were wrong, or a run failed. */
export class EngineError extends Error {
  constructor({ message, diagnostics }) {
    super(message);
    this.name = "EngineError";
    this.diagnostics = diagnostics;
  }
}

/** The package's version. */
export function version() {
  return engine.version();
}

/** Reads a program. What is wrong with it is part of the answer. */
export function parse(source, options = {}) {
  return call(engine.parse, source, options);
}

/** Runs passes over a program. */
export function optimize(source, options = {}) {
  return call(engine.optimize, source, options);
}

/** Runs passes over a program, and tells what they show. */
export function inspect(source, options = {}) {
  return call(engine.inspect, source, options);
}

/** Runs a program's launch on the simulated multiprocessor. */
export function simulate(source, options = {}) {
  return call(engine.simulate, source, options);
}

/** Follows values under their names, and tells which computations repeat them on which paths. */
export function vng(source, options = {}) {
  return call(engine.vng, source, options);
}

/** Bounds how often values are computed again. */
export function estimate(source, options = {}) {
  return call(engine.estimate, source, options);
}

/** The engine answers `{ "ok": … }` or `{ "error": { "message", "diagnostics" } }`. */
function call(entry, source, options) {
  const answer = JSON.parse(entry(String(source), JSON.stringify(options)));
  if (answer.error) {
    throw new EngineError(answer.error);
  }
  return answer.ok;
}
