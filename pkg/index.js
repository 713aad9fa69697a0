// The package in a browser: the engine is fetched by `init`.

import start from "./engine.js";

let started;

/** Fetches and starts the engine, once. `source` says where it is if not beside this file. */
export function init(source) {
  started ??= start(source === undefined ? undefined : { module_or_path: source }).then(
    () => {},
    (error) => {
      // A failed download may be tried again.
      started = undefined;
      throw error;
    },
  );
  return started;
}

export * from "./api.js";
