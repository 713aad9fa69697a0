// Inspections of analyses: values under many names, bounds of their reuse, flow networks, and counts that a hand enters.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import {
  FRAME,
  answered,
  checkAccessibility,
  diamonds,
  eventually,
  inBothSchemes,
  openPage,
  pasteProgram,
  place,
  screenshot,
  settled,
  useBrowser,
  waitForMistakes,
  workPerFrame,
} from "./harness.mjs";

useBrowser();

/// A golden program of value name graphs, with its edge profile.
const golden = (name) => readFileSync(new URL(`../../core/tests/golden/vng/${name}.wir`, import.meta.url), "utf8").split("// ----")[0];

/// Opens the program, before any pass, with the inspection of analyses in sight.
async function openValueFlow(page, program) {
  await pasteProgram(page, program);
  await waitForMistakes(page, "No errors");
  await eventually("the pipeline has run", async () => (await place(page)).last > 0);
  // A program that no pass changes is at its source already.
  const first = page.getByTestId("transport").getByRole("button", { name: "First", exact: true });
  await eventually("the source is shown", async () => (await place(page)).at === 0 || (await first.click({ timeout: 500 }).catch(() => {}), false));
  await page.getByRole("tab", { name: "Value flow" }).click();
  await page.getByTestId("values-table").waitFor();
  await answered(page);
}

const lead = (page) => page.getByTestId("happened").innerText();
const moment = async (page) => Number.parseInt(await page.getByTestId("walk-place").innerText(), 10);

test("bounds, region and network of a value, which entered counts move at once", async (t) => {
  const page = await openPage(t);
  await openValueFlow(page, golden("estimators"));
  assert.match(await lead(page), /^60–95 of 230 executions reuse a value/);
  const bounds = page.getByTestId("bounds-of-x[i]-table");
  assert.deepEqual(
    (await bounds.locator("tbody td.bounded").allInnerTexts()).map((text) => text.trim()),
    ["40 of 230", "60–145 of 230", "40–125 of 230", "50–100 of 230", "60–100 of 230", "60–95 of 230"],
  );
  // One scale for the column: a tighter bar begins no further left and ends no further right.
  const bars = await bounds.locator(".bounds .bar").evaluateAll((all) => all.slice(2).map((bar) => [parseFloat(bar.style.left), parseFloat(bar.style.left) + parseFloat(bar.style.width)]));
  bars.slice(1).forEach(([left, right], at) => assert.ok(left >= bars[at][0] && right <= bars[at][1] + 1e-9, `${bars}`));
  assert.equal(await page.getByTestId("inspected-chart").locator(".interval").count(), 5);
  assert.equal(await page.getByTestId("network").count(), 4);
  const drawing = page.getByTestId("network").first().getByRole("img");
  assert.match(await drawing.getAttribute("aria-label"), /flow \d+; \d+ edges, \d+ saturated, \d+ in the cut/);
  // The rows of a network are there for those who open them.
  const edges = page.getByTestId("network").first().locator("details");
  assert.equal(await edges.locator("tbody tr").count(), 0);
  await edges.locator("summary").click();
  const said = Number.parseInt(await edges.locator("summary").innerText(), 10);
  await eventually("its edges are listed", async () => said > 0 && (await edges.locator("tbody tr").count()) === said);
  assert.ok((await page.locator(".flow-sign .across").count()) > 0 && (await page.locator(".flow-sign .full").count()) > 0);
  // The graph has the region, its border with counts, and the threads.
  assert.equal(await page.locator(".way .flood").count(), 4);
  assert.match((await page.locator(".sign text").allTextContents()).join(" "), /En\+ 45/);
  assert.ok((await page.locator(".strands .strand").count()) > 0);
  await screenshot(page, "value-flow-estimators");

  const count = page.getByRole("spinbutton", { name: "Count of u0 → r3" });
  await count.fill("20");
  await count.press("Enter");
  await eventually("the bounds move", async () => !/^60–95 of 230/.test(await lead(page)));
  await eventually("it is no profile", async () => /no counts of whole runs: u0 is entered 30 times and left 40 times/.test((await page.getByTestId("inspection-note").allInnerTexts()).join("\n")));
  await page.getByTestId("forget-entries").click();
  await eventually("they are those of the program again", async () => /^60–95 of 230/.test(await lead(page)));

  // The steps of the analysis: names go back, and each says why.
  const forward = page.getByTestId("transport").getByRole("button", { name: "One moment forward" });
  await forward.click();
  await eventually("the first step", async () => /computes x\[i\]: where has it been computed before/.test(await lead(page)));
  assert.doesNotMatch((await page.locator(".sign text").allTextContents()).join(" "), /En\+ 45/, "the region is still to come");
  await page.getByTestId("transport").getByRole("button", { name: "One moment back" }).click();
  await eventually("the result", async () => /^60–95 of 230/.test(await lead(page)));
});

test("values and instructions are chosen in table, text and graph, and settings change names", async (t) => {
  const page = await openPage(t);
  await openValueFlow(page, golden("minimum"));
  await page.getByTestId("inspected-settings").locator("summary").click();
  await page.getByTestId("choice-analysis").selectOption("vng");
  await eventually("names are shown", async () => /reuse their value on all paths/.test(await lead(page)));
  const values = page.getByTestId("values-table");
  const reuse = async () => (await values.locator("tbody tr").allInnerTexts()).join("\n");
  assert.match(await reuse(), /● must/);
  await page.getByTestId("choice-vng.window").selectOption("1");
  await eventually("the window hides a name", async () => /◐ may/.test(await reuse()) && !/● must/.test(await reuse()));
  await page.getByTestId("choice-vng.window").selectOption("2");
  await eventually("it is back", async () => /● must/.test(await reuse()));

  // A row of an instruction gives its threads, and a line of the graph chooses its row.
  const rows = values.locator("tbody").filter({ hasText: "body.1" });
  await rows.first().getByRole("button").click();
  await eventually("the row is chosen", async () => (await rows.first().getByRole("button").getAttribute("aria-pressed")) === "true");
  await answered(page);
  assert.match(await page.getByTestId("threads-table").innerText(), /val\[m\]/);
  await page.locator(".block text", { hasText: "x = ld.global.s32 val[i]" }).first().click();
  const other = values.locator("tbody").filter({ hasText: "body.0" }).first();
  await eventually("its row is chosen", async () => (await other.getByRole("button").getAttribute("aria-pressed")) === "true");
  // Setting stays beside the choice.
  assert.equal(await page.getByTestId("choice-vng.window").inputValue(), "2");
  await screenshot(page, "value-flow-minimum");
});

test("steps are listed below what was found, once somebody steps or asks", async (t) => {
  const page = await openPage(t);
  await openValueFlow(page, golden("estimators"));
  const steps = page.getByTestId("steps");
  const head = steps.getByRole("button", { name: /^Moments/ });
  const tree = page.getByTestId("token-tree");
  assert.equal(await tree.count(), 0);
  const height = (locator) => locator.evaluate((element) => element.getBoundingClientRect().height);
  const [pane, body] = [await height(page.getByTestId("inspection")), await height(page.locator(".inspection > .pane-body"))];
  assert.ok((await height(steps)) < 40 && body > pane / 2, `tables have ${body} of ${pane} px`);

  // By keyboard: open it, go through it, close it.
  await head.focus();
  await page.keyboard.press("Enter");
  await tree.waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), "token-tree");
  await page.keyboard.press("ArrowDown");
  await eventually("the first step is shown", async () => (await moment(page)) === 1);
  await page.keyboard.press("End");
  const last = Number(await page.getByTestId("walk").getAttribute("max"));
  await eventually("the last one is", async () => (await moment(page)) === last);
  const selected = tree.locator("[aria-selected=true]");
  await eventually("it is in sight", () =>
    selected.evaluate((row) => {
      const [inner, outer] = [row, row.closest("[role=tree]")].map((element) => element.getBoundingClientRect());
      return inner.top >= outer.top && inner.bottom <= outer.bottom + 1;
    }),
  );
  await head.click();
  assert.equal(await tree.count(), 0);
  assert.equal(await head.getAttribute("aria-expanded"), "false");

  // Whoever steps without having said so sees the list, and the tables keep the larger part.
  const other = await openPage(t);
  await openValueFlow(other, golden("estimators"));
  await other.keyboard.press(".");
  await other.getByTestId("token-tree").waitFor();
  assert.ok((await height(other.getByTestId("steps"))) < (await height(other.locator(".inspection > .pane-body"))));
  await screenshot(other, "value-flow-steps");
});

test("of many threads eight are drawn, and the table says how to see another", async (t) => {
  const page = await openPage(t);
  await openValueFlow(page, diamonds(6, { profile: true }));
  const inspection = page.getByTestId("inspection");
  const threads = page.getByTestId("threads-table");
  const rows = await threads.locator("tbody").count();
  assert.ok(rows > 8, `${rows} threads`);
  assert.match(await inspection.innerText(), new RegExp(`shows the first 8 of these ${rows}, and the row that is chosen`));
  assert.equal(await page.locator(".strand.other").count(), 0);
  await threads.locator("tbody").nth(8).getByRole("button").click();
  await eventually("the ninth is drawn", async () => (await page.locator(".strand.other.chosen").count()) > 0);
  await screenshot(page, "value-flow-threads");
});

test("steps move at the screen's pace in a function of 200 blocks", async (t) => {
  const page = await openPage(t, { reducedMotion: "no-preference" });
  await openValueFlow(page, diamonds(66, { profile: true }));
  await settled(() => page.getByTestId("simulator-pane").innerText());
  await page.getByTestId("pace").selectOption({ label: "4×" });
  // In the middle, with the marks of hundreds of steps on the graph.
  const last = Number(await page.getByTestId("walk").getAttribute("max"));
  await page.getByTestId("walk").fill(String(Math.round(last / 2)));
  await eventually("a step is shown", async () => (await moment(page)) > 0);
  const from = await moment(page);
  await page.getByTestId("ask").click();
  const work = await workPerFrame(t, page, 4_000);
  assert.ok((await moment(page)) > from + 5, "steps passed meanwhile");
  assert.ok(work < FRAME, `${work.toFixed(1)} ms of work a frame`);
});

for (const forcedColors of ["active", "none"]) {
  test(`parts of an interval and of a network keep apart, forced colours ${forcedColors}`, async (t) => {
    const page = await openPage(t);
    await openValueFlow(page, golden("estimators"));
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, forcedColors });
      const colors = await page.evaluate(() => {
        const ink = (selector, property) => getComputedStyle(document.querySelector(selector))[property];
        return {
          pane: ink(".change", "backgroundColor"),
          bar: ink(".bounds .bar", "backgroundColor"),
          expected: ink(".bounds .expected", "backgroundColor"),
          bracket: ink(".bounds .best", "borderLeftColor"),
          capacity: ink(".flow-edge .capacity", "stroke"),
          room: ink(".flow-edge .room", "stroke"),
          flow: ink(".flow-edge .flow", "stroke"),
          cut: ink(".flow-sign .across", "stroke"),
          full: ink(".flow-sign .full", "stroke"),
        };
      });
      for (const part of ["bar", "expected", "bracket", "capacity", "flow", "cut", "full"]) {
        assert.notEqual(colors[part], colors.pane, `${part} on the pane, ${colorScheme}`);
      }
      assert.notEqual(colors.bar, colors.expected, colorScheme);
      assert.notEqual(colors.flow, colors.room, colorScheme);
      await checkAccessibility(page, ".change");
      await screenshot(page, `value-flow-forced-${forcedColors}-${colorScheme}`);
    }
  });
}

for (const width of [1440, 768, 320]) {
  test(`value flow can be read, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await openValueFlow(page, golden("two-names"));
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wider <= 0, `the page is ${wider} px too wide`);
    await inBothSchemes(page, async (scheme) => {
      await checkAccessibility(page, ".change");
      await checkAccessibility(page, ".graph");
      await screenshot(page, `value-flow-${scheme}-${width}`);
      await page.getByTestId("inspected-chart").scrollIntoViewIfNeeded();
      await screenshot(page, `value-flow-chart-${scheme}-${width}`);
      await page.getByTestId("network").first().scrollIntoViewIfNeeded();
      await screenshot(page, `value-flow-network-${scheme}-${width}`);
    });
  });
}
