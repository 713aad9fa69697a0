// The transport: to the start, through every change, and back.

import assert from "node:assert/strict";
import test from "node:test";
import { eventually, openPage, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

const place = async (page) => {
  const text = await page.getByTestId("place").locator("b").innerText();
  const [at, last] = text.split("/").map(Number);
  return { at, last };
};
const step = (page, name) => page.getByTestId("transport").getByRole("button", { name, exact: true }).click();
const diff = (page) => page.getByTestId("diff").innerText();

async function go(page, name, to) {
  await step(page, name);
  await eventually(`"${name}" leads to ${to}`, async () => (await place(page)).at === to);
}

test("stepping to the end and back shows the same programs in reverse", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No mistakes");
  const { last } = await place(page);
  assert.ok(last > 3, "the example has something to step through");
  await go(page, "First", 0);
  // Each change compared with the one before, so that a view belongs to its position alone.
  const forward = [];
  for (let at = 1; at <= last; at += 1) {
    await go(page, "Forward", at);
    forward.push(await settled(page));
  }
  assert.ok(new Set(forward).size > 1, "the comparison changes from step to step");
  for (let at = last - 1; at >= 1; at -= 1) {
    await go(page, "Back", at);
    const expected = forward[at - 1];
    await eventually(`step ${at} looks as on the way there`, async () => (await diff(page)) === expected);
  }
});

/// The comparison, when it has not changed for a moment: the worker answers after the place is shown.
async function settled(page) {
  let before = await diff(page);
  for (;;) {
    await page.waitForTimeout(120);
    const now = await diff(page);
    if (now === before) {
      return now;
    }
    before = now;
  }
}

test("every control of the page is reached with the tab key", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No mistakes");
  const reached = new Set();
  await page.locator("body").press("Tab");
  for (let presses = 0; presses < 150; presses += 1) {
    const pane = await page.evaluate(() => document.activeElement?.closest("[data-testid$=-pane], [data-testid=transport]")?.dataset.testid);
    if (pane) {
      reached.add(pane);
    }
    // Inside the editor, Tab after Escape leaves it.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
  }
  assert.deepEqual([...reached].sort(), ["change-pane", "graph-pane", "passes-pane", "simulator-pane", "source-pane", "transport"]);
});
