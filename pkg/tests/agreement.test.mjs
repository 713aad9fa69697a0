// Every example runs alike, to the bit, on this machine and in WebAssembly: the whole answer is compared, memory included.
// So does a program that asks for what the two builds do each in a way of its own. The analyses of every example agree too.

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

/// A program that does with all pairs of numbers around the ends of 64 bits what WebAssembly's vectors do in a way of their
/// own.
function pairsOfNumbers() {
  const ends = [0n, 1n, (1n << 31n) - 1n, 1n << 31n, (1n << 32n) - 1n, 1n << 32n, (1n << 63n) - 1n, 1n << 63n];
  const numbers = [...ends, ...ends.map((end) => (1n << 64n) - 1n - end)];
  const pairs = numbers.flatMap((first) => numbers.map((second) => [first, second]));
  const list = (index) => `{ ${pairs.map((pair) => `0x${pair[index].toString(16)}`).join(", ")} }`;
  const comparisons = ["lo", "ls", "hi", "hs"].map((cmp) => ["u64", cmp]).concat(
    ["s64", "u64"].flatMap((type) => ["eq", "ne", "lt", "le", "gt", "ge"].map((cmp) => [type, cmp])),
  );
  const results = comparisons.map(([type, cmp]) => [`p = setp.${cmp}.${type} x, y`, "r = selp.b64 1, 0, p"]);
  const others = ["r = mul.lo.u64 x, y", "r = mul.hi.u64 x, y", "r = shl.b64 x, 3", "r = shr.u64 x, 5", "r = shr.s64 x, 5"];
  const all = [...results, ...others.map((line) => [line])];
  const stores = all.flatMap((lines, at) => [...lines, `st.global.b64 out[i + ${at * pairs.length}], r`]);
  return `kernel pairs(a: ptr.global, b: ptr.global, out: ptr.global) {
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    x = ld.global.b64 a[i]
    y = ld.global.b64 b[i]
    ${stores.join("\n    ")}
    ret
}

launch pairs {
    grid ${pairs.length / 64}
    block 64
    a = buffer u64[${pairs.length}] ${list(0)}
    b = buffer u64[${pairs.length}] ${list(1)}
    out = buffer u64[${pairs.length * all.length}] const 7
}
`;
}

/// JavaScript would write a negative zero as a zero, which is another number.
function signed(key, value) {
  return Object.is(value, -0) ? "-0" : value;
}

/// Prints what the package answers to the calls in a file, each a function, a source and options, a line each.
const RUN = `
import { readFileSync } from "node:fs";
import * as warpscope from "warpscope";
${signed}
for (const [name, source, options] of JSON.parse(readFileSync("cases.json", "utf8"))) {
  let answer;
  try {
    answer = { ok: warpscope[name](source, options) };
  } catch ({ message, diagnostics }) {
    answer = { error: { message, diagnostics } };
  }
  console.log(JSON.stringify(answer, signed));
}
`;

/// Answers of the package and of this machine's engine to calls, in pairs.
function answersOfBoth(t, calls) {
  const project = newProject(t, { "run.js": RUN, "cases.json": JSON.stringify(calls) });
  const wasm = runNode(project, "run.js").trimEnd().split("\n");
  const input = calls.map((call) => JSON.stringify(call)).join("\n");
  const native = spawnSync(process.env.WARPSCOPE_NATIVE, { input, encoding: "utf8", maxBuffer: 1 << 28 });
  assert.equal(native.status, 0, native.stderr);
  const expected = native.stdout.trimEnd().split("\n");
  return calls.map((_, index) => [JSON.parse(wasm[index]), JSON.parse(JSON.stringify(JSON.parse(expected[index]), signed))]);
}

test("every example runs alike natively and in WebAssembly", (t) => {
  const all = [...examples(), ["pairs of numbers", pairsOfNumbers(), { dump: true, seed: 7, from: "wir" }]];
  assert.ok(all.length > 16, `${all.length} examples`);
  const answers = answersOfBoth(t, all.map(([, source, options]) => ["simulate", source, options]));
  for (const [index, [answer, wanted]] of answers.entries()) {
    assert.ok(answer.ok, `${all[index][0]}: ${answer.error?.message}`);
    assert.deepEqual(answer, wanted, all[index][0]);
  }
});

test("every example is analysed alike natively and in WebAssembly", (t) => {
  const calls = examples().flatMap(([, source, { from, launch }]) => [
    ["vng", source, { from, seeds: "all" }],
    ["estimate", source, { from, seed: 7, exact: true, network: true, ...(launch && { launch }) }],
  ]);
  const answers = answersOfBoth(t, calls);
  const answered = answers.filter(([answer]) => answer.ok).length;
  assert.ok(answered > 0.9 * calls.length, `${answered} of ${calls.length} calls answered`);
  answers.forEach(([answer, wanted], index) => assert.deepEqual(answer, wanted, `${calls[index][0]} of ${calls[index][1].slice(0, 200)}`));
});
