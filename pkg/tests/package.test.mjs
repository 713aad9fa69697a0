// The tarball works where people will put it: in Node, through a bundler, in a page without one, under TypeScript.

import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { newProject, require, resultInBrowser, runNode } from "./harness.mjs";

const { version } = require("../pkg/package.json");

const SOURCE = `
kernel scale(x: ptr.global) {
entry:
    i = mov.u32 %tid
    two = mov.u32 2
    four = mul.u32 two, two
    v = ld.global.u32 x[i]
    r = mul.u32 v, four
    st.global.u32 x[i], r
    ret
}
`;

/// Uses every function of the package; what it leaves in `answer` is the same everywhere.
const USE = `
import * as warpscope from "warpscope";
await warpscope.init();
const source = ${JSON.stringify(SOURCE)};
let refused = "";
try {
  warpscope.optimize("kernel", {});
} catch (error) {
  refused = String(error instanceof warpscope.EngineError && error.diagnostics.length > 0);
}
const answer = JSON.stringify({
  version: warpscope.version(),
  kernels: warpscope.parse(source).kernels.map((kernel) => kernel.name),
  mistakes: warpscope.parse(source.replace("mul.u32", "mull.u32")).diagnostics.map((found) => found.line),
  optimized: warpscope.optimize(source, { passes: ["general-optimize"] }).text,
  ptx: warpscope.optimize(source, { emit: "ptx" }).text.includes(".visible .entry scale"),
  measured: warpscope.optimize(source, { profile: "simulate", grid: 2, block: [32] }).text.includes("profile warp"),
  cycles: warpscope.simulate(source, { grid: 1, block: [32] }).cycles > 0,
  names: warpscope.vng(source).map((graph) => graph.seeds.map((seed) => seed.name)),
  reused: warpscope.estimate(source, { kernel: "scale", exact: true, knobs: { "estimate.from": "paths" } }).exact,
  refused,
});
`;

function check(text) {
  const { optimized, ...answer } = JSON.parse(text);
  assert.deepEqual(answer, { version, kernels: ["scale"], mistakes: [6], ptx: true, measured: true, cycles: true, names: [["x[%tid]", "x[%tid]"]], reused: 0, refused: "true" });
  assert.match(optimized, /^kernel scale/);
  assert.doesNotMatch(optimized, /two/);
}

const PAGE = (script) => `<!doctype html><meta charset="utf-8" /><link rel="icon" href="data:," /><p id="result"></p>${script}`;
const SHOW = 'document.querySelector("#result").textContent = answer;';

test("Node runs it", (t) => {
  const project = newProject(t, { "use.js": `${USE} console.log(answer);` });
  check(runNode(project, "use.js"));
});

test("esbuild bundles it for a page", async (t) => {
  const project = newProject(t, {
    // Where the wasm lies is the bundler's to say.
    "use.js": `import wasm from "warpscope/engine.wasm"; ${USE.replace("init()", "init(wasm)")} ${SHOW}`,
    "index.html": PAGE('<script type="module" src="out/use.js"></script>'),
  });
  await require("esbuild").build({
    absWorkingDir: project,
    entryPoints: ["use.js"],
    bundle: true,
    format: "esm",
    outdir: "out",
    publicPath: "/out",
    loader: { ".wasm": "file" },
    logLevel: "error",
  });
  check(await resultInBrowser(t, project, "index.html"));
});

test("a plain page imports it", async (t) => {
  const project = newProject(t, {
    "index.html": PAGE(
      `<script type="importmap">{ "imports": { "warpscope": "./node_modules/warpscope/index.js" } }</script>
       <script type="module">${USE} ${SHOW}</script>`,
    ),
  });
  check(await resultInBrowser(t, project, "index.html"));
});

test("TypeScript knows its types", (t) => {
  const project = newProject(t, { "use.ts": `${USE} console.log(answer satisfies string); export {};` });
  for (const resolution of [
    ["--module", "nodenext"],
    ["--module", "esnext", "--moduleResolution", "bundler"],
  ]) {
    const compiler = path.join(path.dirname(require.resolve("typescript")), "tsc.js");
    const options = ["--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,dom", ...resolution];
    assert.equal(runNode(project, compiler, ...options, "use.ts"), "");
  }
});
