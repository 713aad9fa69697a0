/** The package's version. */
export function version(): string;

/**
 * Starts the engine; await it before anything else. In Node it is ready at once.
 * @param source where the wasm is, if not beside the package's files: its address, a response, its bytes or a compiled module
 */
export function init(source?: string | URL | Request | Response | Promise<Response> | BufferSource | WebAssembly.Module): Promise<void>;
