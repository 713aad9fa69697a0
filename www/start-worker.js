// What the page starts as its module worker: loads the engine, which posts "ready" when it listens. The page's own file
// has what the first view needs of it; with `?whole` it is the one that also reads PTX and makes links.
const name = new URL(import.meta.url).search === "?whole" ? "whole-worker" : "page";
const { default: init } = await import(`./${name}.js`);

await init();
