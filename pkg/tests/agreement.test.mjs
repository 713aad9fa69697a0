// Every example runs alike, to the bit, on this machine and in WebAssembly: the whole answer is compared, memory included.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { newProject, ROOT, runNode } from "./harness.mjs";

const EXAMPLES = path.join(ROOT, "www/examples");

/// Every program of the examples as [name, source, options]; PTX brings its launch in a file beside it.
function examples() {
  const files = readdirSync(EXAMPLES, { recursive: true }).filter((name) => /\.(wir|ptx)$/.test(name) && !name.endsWith(".launch.wir"));
  return files.sort().map((name) => {
    const file = path.join(EXAMPLES, name);
    const launch = file.replace(/(\.O\d)?\.(ptx|wir)$/, ".launch.wir");
    const options = { dump: true, seed: 7, from: name.endsWith(".ptx") ? "ptx" : "wir" };
    return [name, readFileSync(file, "utf8"), existsSync(launch) ? { ...options, launch: readFileSync(launch, "utf8") } : options];
  });
}

/// JavaScript would write a negative zero as a zero, which is another number.
function signed(key, value) {
  return Object.is(value, -0) ? "-0" : value;
}

/// Prints what the package answers to the pairs of source and options in a file, a line each.
const RUN = `
import { readFileSync } from "node:fs";
import * as warpscope from "warpscope";
${signed}
for (const [source, options] of JSON.parse(readFileSync("cases.json", "utf8"))) {
  let answer;
  try {
    answer = { ok: warpscope.simulate(source, options) };
  } catch ({ message, diagnostics }) {
    answer = { error: { message, diagnostics } };
  }
  console.log(JSON.stringify(answer, signed));
}
`;

test("every example runs alike natively and in WebAssembly", (t) => {
  const all = examples();
  assert.ok(all.length >= 16, `${all.length} examples`);
  const cases = all.map(([, source, options]) => [source, options]);
  const project = newProject(t, { "run.js": RUN, "cases.json": JSON.stringify(cases) });
  const wasm = runNode(project, "run.js").trimEnd().split("\n");
  const input = cases.map((one) => JSON.stringify(one)).join("\n");
  const native = spawnSync(process.env.WARPSCOPE_NATIVE, { input, encoding: "utf8", maxBuffer: 1 << 28 });
  assert.equal(native.status, 0, native.stderr);
  const expected = native.stdout.trimEnd().split("\n");
  for (const [index, [name]] of all.entries()) {
    const answer = JSON.parse(wasm[index]);
    assert.ok(answer.ok, `${name}: ${answer.error?.message}`);
    const wanted = JSON.parse(JSON.stringify(JSON.parse(expected[index]), signed));
    assert.deepEqual(answer, wanted, name);
  }
});
