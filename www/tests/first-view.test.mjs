// What a newcomer meets.

import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { eventually, openPage, SITE, screenshot, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

/// What the first view may weigh, in bytes compressed: the same as in `xtask/src/budget.rs`.
const BUDGET = 500_000 * 1.05;

test("the page opens", async (t) => {
  const page = await openPage(t);
  await screenshot(page, "first-view");
});

test("what is loaded before anybody moves a hand is within the budget, and all from here", async (t) => {
  const loaded = new Set();
  const page = await openPage(t, { prepare: (page) => page.on("request", (request) => loaded.add(request.url())) });
  // The example is there, optimised and run.
  await waitForMistakes(page, "No mistakes");
  await page.getByTestId("verdict").waitFor();
  await page.waitForLoadState("networkidle");
  let total = 0;
  for (const url of loaded) {
    assert.ok(url.startsWith(SITE), `${url} is somewhere else`);
    const response = await fetch(url);
    total += gzipSync(new Uint8Array(await response.arrayBuffer()), { level: 9 }).length;
  }
  assert.ok(loaded.size > 3, "the page, its script and its wasm at least");
  assert.ok(total <= BUDGET, `${total} bytes compressed`);
  assert.ok(![...loaded].some((url) => url.includes("worker")), "the engine is not needed yet");

  // What was computed when the page was built is what the engine computes.
  const shown = () => page.locator("main").innerText();
  const before = await shown();
  await page.mouse.move(5, 5);
  await page.keyboard.press("ArrowLeft");
  await eventually("the program before the last change is shown", async () => (await shown()) !== before);
  await page.keyboard.press("ArrowRight");
  await eventually("the engine shows the same", async () => withoutTimes(await shown()) === withoutTimes(before));
  assert.ok([...loaded].some((url) => url.includes("worker")), "the engine is there now");
});

/// A pass's time is shown only where it was measured.
function withoutTimes(text) {
  return text.replaceAll(/\n?(< )?[\d.]+ (µs|ms|s)$/gm, "");
}
