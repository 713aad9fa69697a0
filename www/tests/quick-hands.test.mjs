// A hand that is quicker than the drawing: keys and clicks that come before the page has been drawn anew each count, as a
// key that is held down sends them to a busy machine. Here they come within one task, where nothing can be drawn between.

import assert from "node:assert/strict";
import test from "node:test";
import { answered, eventually, openPage, settled, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

/// Presses a key several times within one task, each time where the focus is then.
const pressAtOnce = (page, key, times) =>
  page.evaluate(
    ([key, times]) => {
      for (let time = 0; time < times; time += 1) {
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      }
    },
    [key, times],
  );

const clickAtOnce = (button, times) =>
  button.evaluate((element, times) => {
    for (let time = 0; time < times; time += 1) {
      element.click();
    }
  }, times);

/// Two keys down at once lead two places on: one key up from there is one place, and one more is where it began.
/// `where` tells the place.
async function twoDownOneByOneUp(page, where) {
  await page.keyboard.press("ArrowDown");
  const first = await settled(where);
  await pressAtOnce(page, "ArrowDown", 2);
  await eventually("it goes on", async () => (await where()) !== first);
  const third = await settled(where);
  await page.keyboard.press("ArrowUp");
  await eventually("it goes back", async () => (await where()) !== third);
  const second = await settled(where);
  assert.notEqual(second, first, `only one step from ${first} to ${third}`);
  await page.keyboard.press("ArrowUp");
  await eventually(`it is at ${first} again`, async () => (await where()) === first);
}

/// Opens an example from the gallery.
async function openExample(page, file) {
  await page.getByTestId("open-examples").click();
  await page.getByTestId(`example-${file}`).click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await page.getByTestId("verdict").waitFor();
}

/// The same at its source, before any pass.
async function openSource(page, file) {
  await openExample(page, file);
  await page.keyboard.press("Home");
  await answered(page);
}

test("every zoom counts, and what was in the middle stays there", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const canvas = page.getByTestId("graph");
  const scale = async () => Number.parseInt(await page.locator(".scale").innerText(), 10);
  // The share of the drawing above the middle of the pane.
  const middle = () =>
    canvas.evaluate((pane) => (pane.scrollTop + pane.clientHeight / 2) / pane.querySelector("svg").getBoundingClientRect().height);
  const before = await settled(scale);
  await canvas.focus();
  await pressAtOnce(page, "+", 6);
  const wanted = before * 1.25 ** 6;
  await eventually("it is six steps larger", async () => Math.abs((await scale()) - wanted) <= 3);
  const at = await middle();
  await pressAtOnce(page, "-", 2);
  await eventually("it is two steps smaller", async () => Math.abs((await scale()) - wanted / 1.25 ** 2) <= 3);
  assert.ok(Math.abs((await middle()) - at) < 0.01, `the middle went from ${at} to ${await middle()}`);
});

test("every arrow counts in graph and lines", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.getByTestId("graph").focus();
  await twoDownOneByOneUp(page, () => page.locator(".block[aria-current]").getAttribute("data-testid"));
  await page.getByTestId("diff").focus();
  await twoDownOneByOneUp(page, () => page.locator("tr.exact").first().innerText());
});

test("a focus moved right after an arrow key stays", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.getByTestId("graph").focus();
  await page.evaluate(() => {
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, cancelable: true }));
    document.querySelector("[data-testid=diff]").focus();
  });
  // The graph moves the focus to the selected block once that is drawn.
  await page.locator(".block[aria-current]").waitFor();
  assert.equal(await settled(() => page.evaluate(() => document.activeElement.dataset.testid)), "diff");
});

test("every arrow counts in tables of paths, candidates and questions", async (t) => {
  const page = await openPage(t);
  await openSource(page, "pde/figure-5.wir");
  await page.getByTestId("paths-table").waitFor();
  await page.locator("#path-0").focus();
  await twoDownOneByOneUp(page, () => page.evaluate(() => document.activeElement.id));
  await openSource(page, "azp/three-steps.wir");
  await page.getByRole("tab", { name: "Candidates" }).click();
  await page.getByTestId("candidates-table").locator("button").first().focus();
  await twoDownOneByOneUp(page, () => page.locator(".inspection [aria-pressed=true]").getAttribute("id"));
  await openExample(page, "questions/figure-4.wir");
  await page.getByTestId("token-tree").getByRole("treeitem").first().waitFor();
  await page.getByTestId("token-tree").focus();
  await twoDownOneByOneUp(page, () => page.getByTestId("token-tree").getAttribute("aria-activedescendant"));
  const moment = async () => Number.parseInt(await page.getByTestId("walk-place").innerText(), 10);
  const at = await moment();
  await clickAtOnce(page.getByRole("button", { name: "One moment forward", exact: true }), 3);
  await eventually("it is three moments on", async () => (await moment()) === at + 3);
});

test("every step of a pass, a bar and a lane counts", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.getByTestId("verdict").waitFor();
  const names = () => page.getByTestId("pipeline").locator("[data-stage] .name").allInnerTexts();
  const before = await names();
  await page.locator("#grip-0").focus();
  await pressAtOnce(page, "ArrowDown", 2);
  await eventually("it is third", async () => (await names()).slice(0, 3).join() === [before[1], before[2], before[0]].join());
  await eventually("the focus went with it", () => page.evaluate(() => document.activeElement.id === "grip-2"));
  const width = () => page.getByTestId("source-pane").evaluate((pane) => pane.getBoundingClientRect().width);
  const wide = await width();
  await page.getByRole("separator", { name: "Between source and passes" }).focus();
  await pressAtOnce(page, "ArrowLeft", 3);
  await eventually("it is three steps narrower", async () => Math.abs((await width()) - wide + 72) < 2);
  await clickAtOnce(page.getByRole("button", { name: "Issue forward", exact: true }), 3);
  await eventually("it is the third issue", async () => (await page.getByTestId("issue").inputValue()) === "3");
});

test("a pass that is taken and let go at once is where it was let go", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.getByTestId("verdict").waitFor();
  const names = () => page.getByTestId("pipeline").locator("[data-stage] .name").allInnerTexts();
  const before = await names();
  await page.getByTestId("stage-0").evaluate((goal) => {
    const { x, y } = goal.getBoundingClientRect();
    for (const type of ["pointerdown", "pointermove", "pointerup"]) {
      const init = { bubbles: true, cancelable: true, clientX: x + 60, clientY: y + 12 };
      document.getElementById("grip-2").dispatchEvent(new PointerEvent(type, init));
    }
  });
  await eventually("it is first", async () => (await names())[0] === before[2]);
  assert.equal(await page.locator(".stage.held").count(), 0);
});
