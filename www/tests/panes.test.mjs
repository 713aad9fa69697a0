// How the panes lie, and what one of them shows the others.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { eventually, openPage, pasteProgram, screenshot, settled, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

test("a line selected in one pane is selected in the others", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.getByTestId("block-loop").getByText("root = ").click();
  await eventually("the editor marks it", async () => /root = sqrt/.test(await page.locator(".cm-exact-line").innerText()));
  assert.match(await page.locator("tr.exact").first().innerText(), /root = sqrt/);
  await page.locator(".cm-line", { hasText: "lit = setp" }).click();
  await eventually("the comparison marks it", async () => /lit = setp/.test(await page.locator("tr.exact").first().innerText()));
  assert.equal(await page.getByTestId("block-load").locator(".line-selected").count(), 1);
  assert.equal(await page.getByTestId("block-load").getAttribute("aria-current"), "true");
  assert.match(await page.getByTestId("cause").innerText(), /lit/, "it says why the line is divergent");
  await page.getByTestId("diff").focus();
  await page.keyboard.press("ArrowDown");
  await eventually("the keyboard goes on to the next", async () => /br lit/.test(await page.locator("tr.exact").innerText()));
  assert.match(await page.locator(".cm-exact-line").innerText(), /br lit/);
});

test("the graph is zoomed, moved and fitted without a mouse", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const canvas = page.getByTestId("graph");
  const scale = async () => Number.parseInt(await page.locator(".scale").innerText(), 10);
  await canvas.focus();
  const before = await scale();
  await page.keyboard.press("+");
  await page.keyboard.press("+");
  await eventually("it is larger", async () => (await scale()) > before);
  await eventually("it moves", async () => {
    await page.keyboard.press("Shift+ArrowDown");
    return (await canvas.evaluate((element) => element.scrollTop)) > 0;
  });
  await page.keyboard.press("f");
  await eventually("all of it is in sight", () =>
    canvas.evaluate((element) => element.scrollHeight <= element.clientHeight && element.scrollWidth <= element.clientWidth),
  );
  await page.keyboard.press("ArrowDown");
  await eventually("the arrows walk", async () => (await page.locator(".block.selected").count()) === 1);
});

test("the graph opens whole, and stays so when the pane or the program is another, until a person zooms", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("verdict").waitFor();
  const canvas = page.getByTestId("graph");
  const scale = async () => Number.parseInt(await page.locator(".scale").innerText(), 10);
  const isWhole = () =>
    canvas.evaluate((element) => element.scrollHeight <= element.clientHeight && element.scrollWidth <= element.clientWidth);
  await eventually("all of it is in sight", isWhole);
  assert.ok((await scale()) <= 100);
  const opened = await scale();
  // A step leaves the scale alone, unless the graph outgrows the pane.
  await page.keyboard.press("Home");
  await page.getByTestId("block-forward").waitFor();
  await eventually("the source's graph is whole too", isWhole);
  const smallest = await scale();
  assert.ok(smallest <= opened);
  await page.keyboard.press("End");
  await page.getByTestId("block-forward").waitFor({ state: "detached" });
  assert.equal(await scale(), smallest);
  // The bar beside it gives the pane another width.
  const bar = page.getByRole("separator", { name: "Between change and graph" });
  await bar.focus();
  for (let presses = 0; presses < 4; presses += 1) {
    await page.keyboard.press("ArrowRight");
  }
  await eventually("it is smaller, and whole", async () => (await scale()) < smallest && (await isWhole()));
  await page.getByTestId("open-examples").click();
  await page.getByTestId("example-cuda/saxpy.O3.ptx").click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await page.getByTestId("block-L__BB0_1").or(page.getByTestId("block-L__BB0_2")).first().waitFor();
  await eventually("another program is whole", isWhole);
  assert.ok((await scale()) <= 100);
  await canvas.focus();
  await page.keyboard.press("+");
  const chosen = await settled(scale);
  await bar.focus();
  await page.keyboard.press("ArrowLeft");
  assert.equal(await settled(scale), chosen, "whoever zoomed keeps the scale");
});

test("whoever has dragged the graph keeps its scale through an edit", async (t) => {
  const page = await openPage(t);
  const chain = (blocks) => {
    const steps = Array.from({ length: blocks }, (_, at) => `b${at}:\n    br b${at + 1}`);
    return `kernel chain() {\n${steps.join("\n")}\nb${blocks}:\n    ret\n}\n`;
  };
  // Nothing merges the blocks while the source is shown.
  const show = async (blocks) => {
    await pasteProgram(page, chain(blocks));
    await waitForMistakes(page, "No errors");
    await page.getByTestId("scrubber").focus();
    await page.keyboard.press("Home");
    await page.getByTestId(`block-b${blocks > 12 ? 3 : 12}`).waitFor();
  };
  await show(40);
  const canvas = page.getByTestId("graph");
  await eventually("there is more than in sight", () => canvas.evaluate((element) => element.scrollHeight > element.clientHeight));
  const scale = () => page.locator(".scale").innerText();
  const before = await settled(scale);
  const top = () => canvas.evaluate((element) => element.scrollTop);
  const start = await settled(top);
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + 4, box.y + box.height - 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 4, box.y + box.height - 140, { steps: 6 });
  await page.mouse.up();
  assert.notEqual(await settled(top), start, "it was dragged");
  // This one would fit as a whole.
  await show(12);
  await page.getByTestId("block-b13").waitFor({ state: "detached" });
  assert.equal(await settled(scale), before, "the scale is kept");
  await page.locator("#graph-fit").click();
  assert.notEqual(await settled(scale), before, "until all of it is asked for");
});

test("passes are moved by dragging, with a preview, and by keys", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const names = () => page.getByTestId("pipeline").locator("[data-stage] .name").allInnerTexts();
  const before = await names();
  // The list is at rest when the programs have run.
  await page.getByTestId("verdict").waitFor();
  await page.locator("#grip-3").hover();
  await page.mouse.down();
  const to = await page.getByTestId("stage-0").boundingBox();
  await page.mouse.move(to.x + 60, to.y + 12, { steps: 6 });
  await page.locator(".stage.goal-above[data-stage='0']").waitFor();
  await page.locator(".stage.held[data-stage='3']").waitFor();
  await page.mouse.up();
  await eventually("it is first", async () => (await names())[0] === before[3]);
  await page.locator("#grip-0").focus();
  await page.keyboard.press("ArrowDown");
  await eventually("it is second", async () => (await names())[1] === before[3]);
  await eventually("the focus went with it", () => page.evaluate(() => document.activeElement.id === "grip-1"));
});

test("bars give a pane more room, by keys and by pointer, and are remembered", async (t) => {
  const page = await openPage(t);
  const width = () => page.getByTestId("source-pane").evaluate((pane) => pane.getBoundingClientRect().width);
  const before = await width();
  const bar = page.getByRole("separator", { name: "Between source and passes" });
  await bar.focus();
  await page.keyboard.press("ArrowRight");
  await eventually("it is wider", async () => (await width()) > before + 10);
  const box = await bar.boundingBox();
  await page.mouse.move(box.x + 4, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x - 60, box.y + 100, { steps: 4 });
  await page.mouse.up();
  await eventually("it is narrower", async () => (await width()) < before - 20);
  const chosen = await width();
  await page.reload();
  await page.locator("main").waitFor();
  await eventually("it is as it was left", async () => Math.abs((await width()) - chosen) < 2);
  await bar.focus();
  await page.keyboard.press("Enter");
  await eventually("it is as it was at first", async () => Math.abs((await width()) - before) < 2);
});

test("bars work in two columns too, and a row grows with the page", async (t) => {
  const page = await openPage(t, { viewport: { width: 1024, height: 768 } });
  const size = (pane) => page.getByTestId(`${pane}-pane`).evaluate((pane) => ({ width: pane.offsetWidth, height: pane.offsetHeight }));
  const before = { source: await size("source"), graph: await size("graph") };
  await page.getByRole("separator", { name: "Between source and passes" }).press("ArrowRight");
  await eventually("both panes of the column are wider", async () => (await size("source")).width > before.source.width + 10);
  assert.ok((await size("graph")).width < before.graph.width - 10);
  const bar = page.getByRole("separator", { name: "Below source and passes" });
  const box = await bar.boundingBox();
  await page.mouse.move(box.x + 200, box.y + 4);
  await page.mouse.down();
  await page.mouse.move(box.x + 200, box.y + 84, { steps: 4 });
  await page.mouse.up();
  await eventually("the row is higher", async () => (await size("source")).height > before.source.height + 60);
  assert.equal((await size("graph")).height, before.graph.height);
  await bar.press("Enter");
  await eventually("it is as it was at first", async () => (await size("source")).width === before.source.width);
});

const WIDTHS = [1440, 1240, 1024, 900, 640, 320];

for (const width of WIDTHS) {
  test(`at ${width} pixels nothing lies beyond the page or over its neighbour`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 800 } });
    await waitForMistakes(page, "No errors");
    await page.getByTestId("verdict").waitFor();
    for (const example of [null, "cuda/stencil.O3.ptx"]) {
      if (example) {
        await pasteProgram(page, await readFile(new URL(`../examples/${example}`, import.meta.url), "utf8"));
        await page.getByTestId("block-L__BB0_1").waitFor();
      }
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
      const beyond = await page.evaluate(() => {
        const end = Math.max(document.querySelector("main").getBoundingClientRect().bottom + scrollY + 140, innerHeight);
        return document.documentElement.scrollHeight - end;
      });
      assert.ok(beyond <= 0, `${beyond} empty pixels below the page`);
      // Boxes that neither scroll nor cut off must hold what is in them.
      const tooWide = await page.evaluate(() =>
        [...document.querySelectorAll("header, .pane-head, .stage, .slider, .warp button, .stack, .figures, .transport, .moments, .stepper, .machine")]
          .filter((box) => box.offsetParent && box.scrollWidth > box.clientWidth + 1)
          .map((box) => `${box.className}: ${box.scrollWidth} in ${box.clientWidth}`),
      );
      assert.deepEqual(tooWide, []);
      const header = await page.locator("header.top").boundingBox();
      assert.ok(header.height < 60, `the bar at the top has more than one row: ${header.height} px`);
      await screenshot(page, `${example ? "ptx" : "first"}-${width}`);
    }
  });
}
