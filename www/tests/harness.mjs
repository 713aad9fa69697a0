// What every browser test needs: a Chromium with an empty profile, the served page, an eye on its console, the
// editor's text, axe, and screenshots. `cargo xtask test browser` serves the page and says where it is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

export const SITE = process.env.WARPSCOPE_SITE;
assert.ok(SITE, "run these tests with `cargo xtask test browser`, or set WARPSCOPE_SITE to the address of a served page");

/// What of Chromium no test wants. The first two would load two pages of the browser's own for each page of a test, which
/// costs as much as ours. The others are those that Playwright leaves out: only the last such list counts.
const FEATURES = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "TcpPortRandomizationWin",
  "ThirdPartyStoragePartitioning",
];

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--disable-features=${FEATURES.join(",")}`,
];

/// How long a person would wait for the page to do something, in milliseconds. Generous: test machines are slow.
export const PATIENCE = 20_000;

/// Time that a screen of 60 frames a second leaves for each, in milliseconds.
export const FRAME = 1_000 / 60;

const WIDE = { width: 1440, height: 900 };
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;

/// Starts one browser for all tests of a file. Call it at the file's top.
export function useBrowser() {
  before(async () => {
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
  });
  after(() => browser.close());
}

/// Opens the page as a newcomer's browser would, in a profile of its own, and waits until the laboratory is there. Then a
/// hand moves and the editor comes, unless `hand` is false: whoever only looks moves none. Without a `hash` the page opens in
/// the shape for engineers, or as a bare address does where `shape` is "learn".
/// When the test ends, an error that the page wrote to its console fails it, except `expected` ones.
/// `prepare` is given the page before anything is loaded.
export async function openPage(
  test,
  { hash = "", shape = "lab", viewport = WIDE, colorScheme = "light", reducedMotion = "reduce", hand = true, expected = null, prepare = () => {} } = {},
) {
  const context = await browser.newContext({
    viewport,
    colorScheme,
    reducedMotion,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const problems = [];
  page.on("console", (message) => message.type() === "error" && !expected?.test(message.text()) && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  test.after(async () => {
    await context.close();
    assert.deepEqual(problems, [], "the page reported errors");
  });
  await prepare(page);
  await page.goto(SITE + (hash || (shape === "lab" ? "#view=lab" : "")));
  await page.locator("main").waitFor();
  if (hand) {
    await page.mouse.move(1, 1);
    await page.locator(".cm-content").first().waitFor({ state: shape === "lab" ? "visible" : "attached" });
  }
  return page;
}

/// Fails if axe finds anything wrong with the part of the page that `selector` names.
export async function checkAccessibility(page, selector = "body") {
  if (!(await page.evaluate(() => "axe" in globalThis))) {
    await page.evaluate(axe);
  }
  // What is in order is a megabyte that nobody reads.
  const violations = await page.evaluate(
    async (where) => (await globalThis.axe.run(where, { resultTypes: ["violations"] })).violations,
    selector,
  );
  const found = violations.map(
    ({ id, help, nodes }) => `${id}: ${help}\n${nodes.map((node) => `    ${node.html}\n    ${node.failureSummary}`).join("\n")}`,
  );
  assert.equal(found.length, 0, `axe on ${selector}:\n${found.join("\n")}`);
}

/// Fails if something to press is smaller than 24 pixels and has a neighbour within that.
export async function checkTargets(page, selector = "body") {
  if (!(await page.evaluate(() => "axe" in globalThis))) {
    await page.evaluate(axe);
  }
  const small = await page.evaluate(async (where) => {
    const { violations } = await globalThis.axe.run(where, { runOnly: { type: "rule", values: ["target-size"] }, resultTypes: ["violations"] });
    return violations.flatMap(({ nodes }) => nodes.map((node) => node.html.slice(0, 160)));
  }, selector);
  assert.deepEqual(small, []);
}

/// Writes a picture of the page to target/screenshots, for eyes.
export async function screenshot(page, name) {
  const folder = process.env.WARPSCOPE_SCREENSHOTS;
  if (folder) {
    await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
  }
}

/// Calls `look` with the name of each colour scheme, after the page has changed to it, as it does at dusk.
export async function inBothSchemes(page, look) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await look(colorScheme);
  }
}

/// Waits until `probe` returns something true, and returns it. `what` says what did not happen in time.
export async function eventually(what, probe) {
  const deadline = Date.now() + PATIENCE;
  for (let pause = 5; ; pause = Math.min(2 * pause, 50)) {
    const value = await probe();
    if (value) {
      return value;
    }
    assert.ok(Date.now() < deadline, `in ${PATIENCE / 1000} s it did not happen that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/// Waits until the engine has answered the last question about program, position and moment, and about the inspection.
export async function answered(page) {
  await page.locator("main:not(.looking):not(:has([aria-busy]))").waitFor();
}

/// What `probe` returns when it has returned the same for a moment: the worker answers after a person's act.
export async function settled(probe) {
  let before = await probe();
  return eventually("the page comes to rest", async () => {
    await new Promise((resolve) => setTimeout(resolve, 250));
    const now = await probe();
    const rests = now === before;
    before = now;
    return rests && { now };
  }).then(({ now }) => now);
}

/// Milliseconds of work on the page's own thread for each frame that it draws, measured for `length` milliseconds. A screen
/// of 60 frames a second leaves 16.7. Time on the processor is counted and not the clock's: a busy machine draws fewer
/// frames, and each takes the work that it takes. The test notes the rate that was reached.
export async function workPerFrame(test, page, length) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const worked = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "ThreadTime").value * 1_000;
  const before = await worked();
  const frames = await page.evaluate(
    (length) =>
      new Promise((resolve) => {
        const times = [];
        const tick = (now) => {
          times.push(now);
          if (now - times[0] < length) {
            requestAnimationFrame(tick);
          } else {
            resolve(times);
          }
        };
        requestAnimationFrame(tick);
      }),
    length,
  );
  const work = ((await worked()) - before) / frames.length;
  await session.detach();
  const gaps = frames.slice(1).map((time, index) => time - frames[index]);
  const rate = (gaps.length / (frames.at(-1) - frames[0])) * 1_000;
  test.diagnostic(`${work.toFixed(1)} ms of work a frame, ${rate.toFixed(1)} frames a second, the longest took ${Math.max(...gaps).toFixed(0)} ms`);
  return work;
}

/// A kernel of three blocks a diamond and four more: a loop over diamonds, each of which loads on one side what the next one
/// loads on the other. With `profile` it declares how often each edge is executed.
export function diamonds(count, { profile = false } = {}) {
  const lines = ["kernel diamonds(N: s32, A: ptr.global, y: ptr.global) {", "    input p: pred", "entry:", "    sum = mov.f32 0.0", "    i = mov.s32 0", "    br head0"];
  const edges = ["entry -> head0: 100"];
  for (let at = 0; at < count; at += 1) {
    const next = at + 1 < count ? `head${at + 1}` : "latch";
    const left = 300 + ((at * 37) % 400);
    lines.push(
      `head${at}:\n    c${at} = in.pred p\n    br c${at}, left${at}, right${at}`,
      `left${at}:\n    a${at} = ld.global.f32 A[i + ${at % 5}]\n    sum = add.f32 sum, a${at}\n    br ${next}`,
      `right${at}:\n    b${at} = ld.global.f32 A[i + ${(at + 1) % 5}]\n    sum = add.f32 sum, b${at}\n    br ${next}`,
    );
    edges.push(`head${at} -> left${at}: ${left}`, `head${at} -> right${at}: ${1_000 - left}`, `left${at} -> ${next}: ${left}`, `right${at} -> ${next}: ${1_000 - left}`);
  }
  edges.push("latch -> head0: 900", "latch -> end: 100");
  lines.push("latch:\n    i = add.s32 i, 1\n    more = setp.lt.s32 i, N\n    br more, head0, end", "end:\n    tid = mov.u32 %tid\n    st.global.f32 y[tid], sum\n    ret");
  if (profile) {
    lines.push(`    profile edge {\n        ${edges.join("\n        ")}\n    }`);
  }
  return [...lines, "}\n"].join("\n");
}

/// Where the transport stands, and its last stop.
export async function place(page) {
  const text = await page.getByTestId("place").locator("b").innerText();
  const [at, last] = text.split("/").map(Number);
  return { at, last };
}

/// What the editor of the tab that is shown holds.
export function programText(page) {
  // CodeMirror draws only the lines in view; its own record has all.
  return page.locator(".cm-content:visible").evaluate((content) => content.cmTile.root.view.state.doc.toString());
}

/// Replaces all that the editor holds, as a person who pastes over a selection.
export async function pasteProgram(page, text) {
  await page.locator(".cm-content:visible").click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

/// Waits until what was typed has been looked at, and the summary of mistakes matches `expected`.
export async function waitForMistakes(page, expected) {
  await page.getByTestId("diagnostics").getByRole("status").filter({ hasText: expected }).waitFor();
}
