// What a newcomer meets.

import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { eventually, openPage, place, SITE, screenshot, useBrowser, waitForMistakes } from "./harness.mjs";

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
  // At which scale the graph is drawn depends on the largest that was shown.
  const shown = async () => (await page.locator("main").innerText()).replace(await page.locator(".scale").innerText(), "");
  const before = await shown();
  await page.mouse.move(5, 5);
  await page.keyboard.press("ArrowLeft");
  await eventually("the program before the last change is shown", async () => (await shown()) !== before);
  await page.keyboard.press("ArrowRight");
  await eventually("the engine shows the same", async () => withoutTimes(await shown()) === withoutTimes(before));
  assert.ok([...loaded].some((url) => url.includes("worker")), "the engine is there now");
});

test("the first act by keyboard is answered, though it is what loads the engine, and the wait shows", async (t) => {
  let loads = 0;
  const prepare = (page) =>
    page.route("**/worker_bg.wasm", async (route) => {
      loads += 1;
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await route.continue();
    });
  const page = await openPage(t, { prepare });
  await page.getByTestId("verdict").waitFor();
  const { at } = await place(page);
  await page.keyboard.press("ArrowLeft");
  await page.getByTestId("waiting").getByText("Loading the engine…").waitFor();
  // More acts meanwhile: none is lost.
  await page.keyboard.press("ArrowLeft");
  await page.getByTestId("slider-x-coherence").press("Home");
  await eventually("the transport stands two changes back", async () => (await place(page)).at === at - 2);
  await eventually("its reason is shown", async () => /dead-definition|dce/.test(await page.getByTestId("reason").innerText()));
  await eventually("the slider's run is shown", async () => /^100\.0 %|^9/.test(await page.getByTestId("figure-simt-efficiency").locator("td").first().innerText()));
  await page.getByTestId("waiting").locator("span").waitFor({ state: "detached" });
  assert.equal(loads, 1, "both workers share one download");
});

/// A pass's time is shown only where it was measured.
function withoutTimes(text) {
  return text.replaceAll(/\n?(< )?[\d.]+ (µs|ms|s)$/gm, "");
}
