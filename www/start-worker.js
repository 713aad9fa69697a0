// What the page starts as its module worker: loads the engine, which posts "ready" when it listens. With `?whole` it is
// the one that also reads PTX and makes links.
const name = new URL(import.meta.url).search === "?whole" ? "whole-worker" : "worker";
const { default: init } = await import(`./${name}.js`);

await init();
