// How often registers are zero: lane by lane, and in whole warps, under the sliders.

import assert from "node:assert/strict";
import test from "node:test";
import { checkAccessibility, eventually, inBothSchemes, openPage, screenshot, useBrowser } from "./harness.mjs";

useBrowser();

async function openZeros(page, file) {
  await page.getByTestId("open-examples").click();
  await page.getByTestId(`example-azp/${file}.wir`).click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await page.getByTestId("verdict").waitFor();
  await page.getByTestId("results-by").getByLabel("Zeros").check();
  await page.getByTestId("zeros").waitFor();
}

const rowOf = (page, write) => page.getByTestId("zeros").locator("tbody tr").filter({ has: page.getByText(write, { exact: true }) });

/// The shares of a write, in percent: of lanes, and of whole warps.
async function shares(page, write) {
  return (await rowOf(page, write).locator("td").allInnerTexts()).map((text) => Number.parseInt(text, 10));
}

test("divergence destroys the zeros of warps, not those of lanes", async (t) => {
  const page = await openPage(t);
  await openZeros(page, "figure-1");
  const [lanes, warps] = await shares(page, "r1");
  assert.equal(lanes, warps, "with coherent values a warp is zero as often as a lane");
  assert.ok(lanes > 20);
  // The bars say the same.
  const bars = await rowOf(page, "r1").locator(".bar").evaluateAll((all) => all.map((bar) => Number(bar.style.getPropertyValue("--share")) * 100));
  bars.forEach((bar) => assert.ok(Math.abs(bar - lanes) < 1, `${bar}`));
  await screenshot(page, "zeros-coherent");
  await page.getByTestId("slider-x-coherence").fill("100");
  await eventually("no warp is zero as a whole", async () => (await shares(page, "r1"))[1] === 0);
  const [others] = await shares(page, "r1");
  assert.ok(Math.abs(others - 50) < 8, `${others} % of lanes`);
  await screenshot(page, "zeros-divergent");
  await page.getByTestId("slider-x-zero").fill("100");
  await eventually("all are", async () => (await shares(page, "r1")).join() === "100,100");
  await page.getByTestId("slider-x-zero").fill("0");
  await eventually("what is never zero is not listed", async () => (await rowOf(page, "r1").count()) === 0);
});

test("a write is selected everywhere", async (t) => {
  const page = await openPage(t);
  await openZeros(page, "figure-1");
  await page.getByTestId("zeros").getByRole("button", { name: /^r1/ }).click();
  await eventually("the line is marked in the graph", async () => (await page.locator(".line-selected").count()) === 1);
  await eventually("and in the text", async () => /r1/.test((await page.locator(".cm-exact-line").allInnerTexts()).join()));
});

for (const width of [1440, 320]) {
  test(`zeros can be read, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await openZeros(page, "three-steps");
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wider <= 0, `the page is ${wider} px too wide`);
    await inBothSchemes(page, async (scheme) => {
      await checkAccessibility(page, ".simulator");
      await screenshot(page, `zeros-${scheme}-${width}`);
    });
  });
}
