// The engine's functions. It speaks JSON, as the command line's `--json` does; here its answers become objects.

import * as engine from "./engine.js";

/** The package's version. */
export function version() {
  return engine.version();
}
