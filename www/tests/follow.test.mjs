// The change that led to the position is marked and in sight in the source, in the compared texts and in the graph.

import assert from "node:assert/strict";
import test from "node:test";
import { answered, diamonds, eventually, openPage, pasteProgram, place, screenshot, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

const step = (page, name) => page.getByTestId("transport").getByRole("button", { name, exact: true }).click();
const compared = (page) => page.getByTestId("scope").locator("input:checked + span").innerText();

/// Gives the page two functions: the panes in which the current change is not in sight, and a walk to the end that
/// collects them at every stop.
const EYES = () => {
  const find = (selector) => document.querySelector(selector);
  const panes = {
    source: [".editor:not([hidden]) .cm-current-line", ".editor:not([hidden]) .cm-scroller"],
    text: [".comparison tr.current", ".comparison"],
    graph: [".block.current .current-arrow", "#graph-canvas"],
  };
  const isInSight = (selector, around) => {
    const mark = find(selector);
    if (!mark) {
      return false;
    }
    const [inner, outer] = [mark, find(around)].map((element) => element.getBoundingClientRect());
    const [x, y] = [(inner.left + inner.right) / 2, (inner.top + inner.bottom) / 2];
    // A line of text may be longer than its pane.
    return y >= outer.top && y <= outer.bottom && (x <= outer.right || inner.left < outer.right) && inner.right > outer.left;
  };
  // Readers see the source only if they ask for it.
  const isThere = (name) => name !== "source" || !find("main.learn");
  globalThis.unseen = () => Object.keys(panes).filter((name) => isThere(name) && !isInSight(...panes[name]));
  globalThis.walkToEnd = async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const number = () => find("[data-testid=place] b").textContent.split("/").map(Number);
    const isAnswered = (at) => number()[0] === at && !find("main.looking, main [aria-busy]");
    const [wrong, [, last]] = [[], number()];
    for (let at = 1; at <= last; at += 1) {
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
      const deadline = performance.now() + 20_000;
      while (!isAnswered(at)) {
        if (performance.now() > deadline) {
          return [...wrong, `${at} of ${last}: no answer`];
        }
        await frame();
      }
      // A pane scrolls in the frame after it has been drawn.
      const hasChange = !/no change$/.test(find("[data-testid=place] b + span").textContent);
      for (let pause = 0; hasChange && pause < 60 && (pause < 2 || globalThis.unseen().length > 0); pause += 1) {
        await frame();
      }
      wrong.push(...(hasChange ? globalThis.unseen() : []).map((pane) => `${at} of ${last}: ${pane}`));
    }
    return wrong;
  };
};

test("the current change is in sight at every stop of every example", async (t) => {
  const page = await openPage(t);
  await page.evaluate(EYES);
  await page.getByTestId("open-examples").click();
  const names = await page.locator("[data-testid^='example-']").evaluateAll((all) => all.map((button) => button.dataset.testid));
  await page.keyboard.press("Escape");
  const wrong = [];
  for (const name of names) {
    await page.getByTestId("open-examples").click();
    await page.getByTestId(name).click();
    await page.getByTestId("dialog").waitFor({ state: "detached" });
    await waitForMistakes(page, "No errors");
    await answered(page);
    await page.keyboard.press("Home");
    await eventually("the source is shown", async () => (await place(page)).at === 0);
    const lines = page.getByRole("tab", { name: "Change" });
    if (await lines.count()) {
      await lines.click();
    }
    await answered(page);
    wrong.push(...(await page.evaluate(() => globalThis.walkToEnd())).map((what) => `${name}: ${what}`));
  }
  assert.deepEqual(wrong, []);
});

test("readers see the current change at every stop", async (t) => {
  const page = await openPage(t, { shape: "learn", viewport: { width: 1280, height: 720 } });
  await page.evaluate(EYES);
  const wrong = [];
  for (const name of ["detour.wir", "phases/gvn-cse.wir", "questions/figure-4.wir", "azp/figure-3.wir", "pde/figure-6.wir", "spec-pre/figure-11.wir", "cuda/saxpy.O3.ptx"]) {
    await page.getByTestId("open-examples").click();
    await page.getByTestId(`example-${name}`).click();
    await page.getByTestId("dialog").waitFor({ state: "detached" });
    await answered(page);
    await page.keyboard.press("Home");
    await eventually("the source is shown", async () => (await place(page)).at === 0);
    await answered(page);
    wrong.push(...(await page.evaluate(() => globalThis.walkToEnd())).map((what) => `${name}: ${what}`));
  }
  assert.deepEqual(wrong, []);
});

test("the text shows this change while stepping and all passes at the end", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  assert.equal(await compared(page), "Follow");
  const differing = () => page.locator(".comparison tr:is(.added, .removed)").count();
  const all = await differing();
  await step(page, "Back");
  await answered(page);
  await eventually("one change is compared", async () => (await differing()) < all);
  assert.equal(await page.locator(".comparison tr:is(.added, .removed):not(.current)").count(), 0);
  await step(page, "Last");
  await eventually("all are", async () => (await differing()) === all);
  // Whoever wants all passes keeps them, and the change is marked among them.
  await page.getByRole("radio", { name: "All passes" }).check({ force: true });
  await step(page, "Back");
  await answered(page);
  await page.locator(".comparison tr.current").first().waitFor();
  await eventually("others are not", async () => (await page.locator(".comparison tr:is(.added, .removed):not(.current)").count()) > 0);
  await screenshot(page, "follow-all-passes");
});

test("a jump in a program of 200 blocks leads to the change", async (t) => {
  const page = await openPage(t);
  await page.evaluate(EYES);
  await page.getByTestId("open-examples").click();
  await page.getByTestId("example-questions/figure-4.wir").click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await pasteProgram(page, diamonds(66));
  await waitForMistakes(page, "No errors");
  await answered(page);
  await page.getByRole("tab", { name: "Change" }).click();
  await page.getByRole("radio", { name: "All passes" }).check({ force: true });
  const { last } = await eventually("there are changes", async () => {
    const found = await place(page);
    return found.last > 40 && found;
  });
  for (const at of [Math.round(last / 5), Math.round(last / 2), last - 1]) {
    await page.getByTestId("scrubber").fill(String(at));
    await answered(page);
    await eventually(`the change is in sight after a jump to ${at}`, () => page.evaluate(() => globalThis.unseen().length === 0));
  }
  await screenshot(page, "follow-200-blocks");
});
