// Several pipelines side by side: their graphs, figures and lines over the divergence.

import assert from "node:assert/strict";
import test from "node:test";
import { checkAccessibility, eventually, inBothSchemes, openPage, pasteProgram, screenshot, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

async function openCompare(page, file) {
  if (file) {
    await page.getByTestId("open-examples").click();
    await page.getByTestId(`example-${file}`).click();
    await page.getByTestId("dialog").waitFor({ state: "detached" });
  }
  await page.getByTestId("verdict").waitFor();
  await page.getByTestId("open-compare").click();
  await page.getByTestId("compared").waitFor();
  await eventually("all have run", async () => !(await page.getByTestId("compare").innerText()).includes("…\n") && !/Running…/.test(await page.getByTestId("compare").innerText()));
}

/// A row of figures, as numbers.
async function row(page, figure) {
  const cells = await page.getByTestId(`compare-${figure}`).locator("td").allInnerTexts();
  return cells.map((cell) => Number.parseFloat(cell.replaceAll(/[,✓%]/g, "")));
}

const setDivergence = (page, point) => page.getByTestId("compare-divergence").fill(String(point));

test("the variants of scalar replacement differ as the paper says", async (t) => {
  const page = await openPage(t);
  await openCompare(page, "questions/figure-4.wir");
  const names = await page.getByTestId("compared").locator("thead th").allInnerTexts();
  assert.deepEqual(names.slice(1), ["none", "srqp", "esrqp", "ssrqp-s", "ssrqp[cost=paper]"]);
  await setDivergence(page, 10);
  await eventually("all disagree", async () => (await page.getByTestId("compare").locator("output").innerText()) === "100 %");
  assert.equal(await page.locator(".small-graph").count(), 5);
  // N is 16: lanes that all disagree take every side.
  const rounds = 16;
  assert.deepEqual(await row(page, "loads"), [2 * rounds, 3 * rounds + 1, 2 * rounds, rounds + 1, rounds + 1]);
  const [none, srqp, esrqp, , ssrqp] = await row(page, "cycles");
  assert.ok(ssrqp < none && ssrqp < srqp && ssrqp < esrqp);
  await setDivergence(page, 0);
  await eventually("nobody disagrees", async () => (await page.getByTestId("compare").locator("output").innerText()) === "0 %");
  const loads = await row(page, "loads");
  assert.deepEqual([loads[1], loads[4]], [rounds + 1, rounds + 1]);
  assert.ok(loads[0] >= rounds && loads[0] < 2 * rounds);
  assert.deepEqual(await row(page, "efficiency"), [100, 100, 100, 100, 100]);
  for (const chart of ["cycles", "loads", "issues", "efficiency"]) {
    assert.equal(await page.getByTestId(`chart-${chart}`).locator("polyline").count(), 5);
    assert.equal(await page.getByTestId(`chart-${chart}`).locator(".series path").count(), 55);
  }
  await screenshot(page, "compare");
});

test("figures are those of the results until somebody moves the divergence", async (t) => {
  const page = await openPage(t);
  const cycles = async () => (await page.getByTestId("figure-cycles").locator("td").allInnerTexts()).slice(0, 2).map((text) => Number(text.replaceAll(",", "")));
  await page.getByTestId("verdict").waitFor();
  await page.getByTestId("figure-cycles").waitFor();
  const results = await cycles();
  await openCompare(page);
  assert.deepEqual(await row(page, "cycles"), results);
  assert.equal(await page.getByTestId("as-launched").getAttribute("aria-pressed"), "true");
  await setDivergence(page, 10);
  await eventually("lanes differ more", async () => (await row(page, "cycles"))[0] !== results[0]);
  await page.getByTestId("as-launched").click();
  await eventually("the launch counts again", async () => (await row(page, "cycles"))[0] === results[0]);
  // The way back gives the focus back.
  await page.getByTestId("close-compare").click();
  await eventually("the button has the focus", () => page.getByTestId("open-compare").evaluate((button) => button === document.activeElement));
});

test("pipelines are added, changed and taken out, and a wrong one says what is wrong", async (t) => {
  const page = await openPage(t);
  await openCompare(page);
  const columns = page.locator(".column:not(.add)");
  const count = await columns.count();
  await page.getByTestId("compare-add").fill("copy-prop,gvn-ces");
  await page.getByTestId("compare-add").press("Enter");
  await columns.last().locator(".refused").filter({ hasText: /did you mean gvn-cse\?/ }).waitFor();
  const hasFocus = (index) => page.locator(`#pipeline-${index}`).evaluate((field) => field === document.activeElement);
  await eventually("the keyboard stands in the new column", () => hasFocus(count));
  await columns.last().locator("input").fill("copy-prop,gvn-cse[EnableGvnCseMode=1]");
  await columns.last().locator("input").press("Enter");
  await eventually("it has run", async () => (await row(page, "cycles"))[count] > 0);
  await page.getByRole("button", { name: /^Remove copy-prop,gvn-cse/ }).click();
  await eventually("it is gone", async () => (await columns.count()) === count);
  await eventually("the keyboard stands beside it", () => hasFocus(count - 1));
  // Closed and opened again everything is still there.
  await page.keyboard.press("Escape");
  await page.getByTestId("compare-view").waitFor({ state: "hidden" });
  await page.locator("main").waitFor();
  await page.keyboard.press("c");
  await page.getByTestId("compared").waitFor();
  assert.ok((await row(page, "cycles")).every((cycles) => cycles > 0));
});

test("names can be read, and two columns stand beside each other where there is little room", async (t) => {
  for (const [width, columns, smallest] of [[1440, 6, 9.5], [320, 2, 9.5]]) {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await openCompare(page, width > 1000 ? "questions/figure-4.wir" : "questions/figure-5.wir");
    const shown = await page.locator(".column").evaluateAll((all) => all.map((column) => column.getBoundingClientRect().top));
    assert.equal(shown.filter((top) => top === shown[0]).length, columns);
    const sizes = await page.locator(".small > text").evaluateAll((names) => names.map((name) => 24 * name.getScreenCTM().a));
    assert.ok(Math.min(...sizes) >= smallest, `${Math.min(...sizes)} pixels at ${width}`);
  }
});

test("where nothing varies with the slider that is said", async (t) => {
  const page = await openPage(t);
  await openCompare(page, "questions/figure-4.wir");
  assert.equal(await page.getByTestId("what-stays").innerText(), "");
  await page.keyboard.press("Escape");
  await pasteProgram(page, "kernel k(x: ptr.global) {\nentry:\n    a = add.u32 1, 2\n    st.global.u32 x[0], a\n    ret\n}\nlaunch k {\n    grid 1\n    block 32\n    x = buffer u32[4] iota\n}\n");
  await waitForMistakes(page, "No errors");
  await openCompare(page);
  await page.getByTestId("what-stays").getByText("no random inputs").waitFor();
  // A name that is near no other: a page's user is told where passes are, not which command lists them.
  await page.getByTestId("compare-add").fill("vectorise");
  await page.getByTestId("compare-add").press("Enter");
  await page.locator(".refused").filter({ hasText: "a search lists them" }).waitFor();
});

test("without a program there is nothing to compare", async (t) => {
  const page = await openPage(t);
  await pasteProgram(page, "kernel k() {\nentry:\n    a = fam.f32 1\n    ret\n}\n");
  await waitForMistakes(page, "error");
  await page.getByTestId("open-compare").click();
  await page.getByText("There is no program to compare yet").waitFor();
});

for (const width of [1440, 320]) {
  test(`the comparison can be read, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await openCompare(page, "questions/figure-5.wir");
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wider <= 0, `the page is ${wider} px too wide`);
    await inBothSchemes(page, async (scheme) => {
      await checkAccessibility(page, "[data-testid=compare-view]");
      await screenshot(page, `compare-${scheme}-${width}`);
    });
  });
}
