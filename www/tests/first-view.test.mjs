// What a newcomer meets.

import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { checkAccessibility, eventually, openPage, place, programText, SITE, screenshot, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

/// What the first view may weigh, in bytes compressed: the same as in `xtask/src/budget.rs`.
const BUDGET = 500_000 * 1.05;

test("the page opens", async (t) => {
  const page = await openPage(t, { hand: false });
  await page.getByTestId("verdict").waitFor();
  await screenshot(page, "first-view");
});

test("what is loaded before anybody moves a hand is within the budget, and all from here", async (t) => {
  const loaded = new Set();
  const page = await openPage(t, { hand: false, prepare: (page) => page.on("request", (request) => loaded.add(request.url())) });
  // The example is there, optimised and run.
  await waitForMistakes(page, "No errors");
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
  const names = () => [...loaded].join(" ");
  assert.doesNotMatch(names(), /worker|code-editor/, "neither engine nor editor is needed yet");

  // What was computed when the page was built is what the engine computes.
  // At which scale the graph is drawn depends on the largest that was shown.
  // An editor writes lines and their numbers in another order than a text does; that it holds the same is another test.
  const panes = page.locator("main > section:not(.source), .source .mistakes");
  const shown = async () => (await panes.allInnerTexts()).join("\n").replace(await page.locator(".scale").innerText(), "");
  const before = await shown();
  await page.mouse.move(5, 5);
  await page.keyboard.press("ArrowLeft");
  await eventually("the program before the last change is shown", async () => (await shown()) !== before);
  await page.keyboard.press("ArrowRight");
  await eventually("the engine shows the same", async () => withoutTimes(await shown()) === withoutTimes(before));
  assert.match(names(), /worker.*code-editor|code-editor.*worker/, "both are there now");
});

test("the first act by keyboard is answered, though it is what loads the engine, and the wait shows", async (t) => {
  let loads = 0;
  const prepare = (page) =>
    page.route("**/worker_bg.wasm", async (route) => {
      loads += 1;
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await route.continue();
    });
  const page = await openPage(t, { hand: false, prepare });
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

test("the editor stands where the text stood that could only be read", async (t) => {
  for (const viewport of [{ width: 1440, height: 900 }, { width: 320, height: 700 }]) {
    const page = await openPage(t, { hand: false, viewport });
    await page.getByTestId("verdict").waitFor();
    const lines = () =>
      page.locator(".editor:visible").evaluate((editor) =>
        [...editor.querySelectorAll(".cm-line, .cm-heat-mark")].map((line) => {
          const { x, y, width, height } = line.getBoundingClientRect();
          const { bottom } = editor.getBoundingClientRect();
          // CodeMirror draws no more than what is in sight.
          return y < bottom && { x, y, width, height, text: line.textContent, html: line.querySelector("[class^=tok]")?.className };
        }),
      );
    const inSight = async () => new Set((await lines()).filter(Boolean).map((line) => JSON.stringify(line)));
    const read = await inSight();
    assert.ok(read.size > 15, `${read.size} lines and marks`);
    await checkAccessibility(page, ".editors");
    await page.mouse.move(100, 5);
    await page.locator(".cm-content:visible").waitFor();
    await eventually("every line and mark is where it was", async () => {
      const edited = await inSight();
      return [...read].every((line) => edited.has(line)) && edited.size === read.size;
    });
  }
});

test("what is done to the text while the editor loads is done to the editor", async (t) => {
  let loads = 0;
  const prepare = (page) =>
    page.route("**/code-editor.js*", async (route) => {
      loads += 1;
      if (loads === 1) {
        return route.abort();
      }
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await route.continue();
    });
  // The browser's own word about the load that fails is not the page's.
  const page = await openPage(t, { hand: false, prepare, expected: /ERR_FAILED/ });
  await page.getByTestId("verdict").waitFor();
  await page.mouse.move(1, 1);
  await page.getByRole("alert").filter({ hasText: "can only be read" }).waitFor();
  assert.equal(await page.locator(".cm-content:visible").count(), 0);
  // A click asks for it again, and says where the cursor goes.
  const line = page.locator(".cm-line", { hasText: "root = sqrt" });
  const { width } = await line.boundingBox();
  await line.click({ position: { x: width - 4, y: 8 } });
  await page.keyboard.type(" // here");
  await page.locator(".cm-content:visible").waitFor();
  await page.keyboard.type(", too");
  await eventually("all of it is in the program", async () => /root = sqrt\.f32 w \/\/ here, too\n/.test(await programText(page)));
  assert.equal(loads, 2);
});

test("the keyboard finds the editor before it is loaded, and stays in it", async (t) => {
  const prepare = (page) =>
    page.route("**/code-editor.js", async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await route.continue();
    });
  const page = await openPage(t, { hand: false, prepare });
  await page.getByTestId("verdict").waitFor();
  await page.keyboard.press("e");
  // A letter that is a shortcut elsewhere is one here no more.
  await page.keyboard.type("// copy");
  assert.equal(await page.getByTestId("dialog").count(), 0);
  await page.locator(".cm-editor.cm-focused .cm-content").waitFor();
  await page.keyboard.press("Enter");
  await eventually("it is typed where the text begins", async () => (await programText(page)).startsWith("// copy\n//"));
});

/// A pass's time is shown only where it was measured.
function withoutTimes(text) {
  return text.replaceAll(/(\n|, )?(< )?[\d.]+ (µs|ms|s)$/gm, "");
}
