// The map of zeros and divergence: what azp gains where, and where it breaks even, simulated and foretold.

import assert from "node:assert/strict";
import test from "node:test";
import { checkAccessibility, eventually, inBothSchemes, openPage, screenshot, useBrowser } from "./harness.mjs";

useBrowser();

const SIDE = 11;

async function openMap(page, file) {
  await page.getByTestId("open-examples").click();
  await page.getByTestId(`example-azp/${file}.wir`).click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await page.getByTestId("verdict").waitFor();
  await page.getByTestId("open-compare").click();
  await page.getByTestId("heat-map").waitFor();
}

const isWhole = async (page) => (await cells(page)).flat().every((speed) => speed > 0);

/// The speed-ups: a row for each divergence from 0, a column for each zero probability from 0.
async function cells(page) {
  const rows = await page.getByTestId("heat-map").locator("tr:not(.below)").evaluateAll((all) => all.map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent))));
  return rows.reverse();
}

/// The ends of a line's pieces: zero probability and divergence, as places on the axes.
async function line(page, which) {
  const path = await page.getByTestId(`map-${which}`).getAttribute("d");
  return path.split(/[ML]/).slice(1).map((point) => {
    const [x, y] = point.split(" ").map(Number);
    return { zero: x - 0.5, apart: SIDE - 0.5 - y };
  });
}

test("more zeros gain more, divergence takes it away, and both lines lie between", async (t) => {
  const page = await openPage(t);
  await openMap(page, "figure-1");
  await eventually("all cells have run", () => isWhole(page));
  const speeds = await cells(page);
  assert.deepEqual([speeds.length, ...speeds.map((row) => row.length)], new Array(SIDE + 1).fill(SIDE));
  const [agree, apart] = [speeds[0], speeds[SIDE - 1]];
  agree.slice(1).forEach((speed, index) => assert.ok(speed >= agree[index], "with each more zero it is as fast or faster"));
  assert.ok(agree[0] < 1 && agree[5] > 1.3 && agree[10] > 3);
  assert.ok(apart[5] < 1, "where every lane draws for itself the check is in vain");
  speeds.forEach((row) => assert.equal(row[10], agree[10], "where all is zero lanes cannot disagree"));
  // The simulated line separates the cells that it goes between.
  for (const { zero, apart } of await line(page, "simulated")) {
    // The path has two decimals.
    const [near, far] = [-0.01, 0.01].map((by) => [zero + by, apart + by].map((at) => Math.min(Math.max(by < 0 ? Math.floor(at) : Math.ceil(at), 0), SIDE - 1)));
    const around = [near, far, [near[0], far[1]], [far[0], near[1]]].map(([x, y]) => speeds[y][x]);
    assert.ok(Math.min(...around) <= 1 && Math.max(...around) >= 1, `${around} at ${zero}, ${apart}`);
  }
  // Equation 5 with its figures: the line is where P is T_check / (T_R - T_S).
  const predicted = await line(page, "predicted");
  assert.ok(predicted.length > 0);
  await screenshot(page, "map-figure-1");
  const figures = await page.locator(".map-legend").innerText();
  const [region, special, check] = figures.match(/T_R (\d+\.\d), T_S (\d+\.\d), T_check (\d+\.\d)/).slice(1).map(Number);
  await page.getByTestId("heat-map").focus();
  await page.keyboard.press("Home");
  for (let zero = 0; zero < SIDE; zero += 1) {
    const told = await eventually(`zero ${zero * 10} % is told`, async () => {
      const text = await page.getByTestId("map-told").innerText();
      return text.startsWith(`Zero ${zero * 10} %, divergence 0 %`) && text;
    });
    assert.ok(told.includes(`speed-up ${agree[zero].toFixed(2)}`), told);
    const share = Number(told.match(/In (\d+) % of the warps that check, r1 is zero/)[1]) / 100;
    const [, cycles, kind] = told.match(/predicts ([\d.]+) cycles (saved|lost)/);
    const delta = check - share * (region - special);
    assert.ok(Math.abs((kind === "lost" ? 1 : -1) * Number(cycles) - delta) < 0.006 * (region - special), `${delta}: ${told}`);
    await page.keyboard.press("ArrowRight");
  }
  await page.keyboard.press("ArrowUp");
  await eventually("a row up", async () => /^Zero 100 %, divergence 10 %/.test(await page.getByTestId("map-told").innerText()));
  await page.getByTestId("heat-map").locator("tr").nth(3).locator("td").nth(2).hover();
  await eventually("what is under the pointer is told", async () => /^Zero 20 %, divergence 70 %/.test(await page.getByTestId("map-told").innerText()));
});

test("what varies can be chosen, and the map comes and goes with the pass", async (t) => {
  const page = await openPage(t);
  await openMap(page, "three-steps");
  await eventually("all cells have run", () => isWhole(page));
  const all = await cells(page);
  assert.equal((await page.locator(".map-legend").innerText()).match(/T_R/g).length, 3, "three transformations");
  await page.getByTestId("map-vary").selectOption("M");
  await eventually("another map", async () => (await isWhole(page)) && JSON.stringify(await cells(page)) !== JSON.stringify(all));
  await page.keyboard.press("Escape");
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await page.getByRole("checkbox", { name: "fast math" }).uncheck();
  await page.getByTestId("open-compare").click();
  await page.getByTestId("map-refused").filter({ hasText: "licence" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByTestId("open-examples").click();
  await page.getByTestId("example-first-look.wir").click();
  await page.getByTestId("verdict").waitFor();
  await page.getByTestId("open-compare").click();
  await page.getByTestId("compared").waitFor();
  assert.equal(await page.getByTestId("map").count(), 0, "without azp there is no map");
});

for (const width of [1440, 320]) {
  test(`the map can be read, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await openMap(page, "figure-1");
    await eventually("all cells have run", () => isWhole(page));
    const wider = await page.locator("[data-testid=compare-view] > .pane-body").evaluate((body) => body.scrollWidth - body.clientWidth);
    assert.ok(wider <= 0, `the page is ${wider} px too wide`);
    await inBothSchemes(page, async (scheme) => {
      await checkAccessibility(page, "[data-testid=compare-view]");
      await page.getByTestId("map").evaluate((map) => map.scrollIntoView());
      await screenshot(page, `map-${scheme}-${width}`);
    });
  });
}
