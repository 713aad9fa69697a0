// Links that reopen exactly this.

import assert from "node:assert/strict";
import test from "node:test";
import { eventually, openPage, pasteProgram, place, programText, settled, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

/// Everything that a link promises to bring back.
async function bench(page) {
  await waitForMistakes(page, "No errors");
  await page.getByTestId("verdict").waitFor();
  const view = async () => ({
    source: await programText(page),
    pipeline: await page.getByTestId("pipeline").locator("[data-stage] .name").allInnerTexts(),
    on: await page.getByTestId("pipeline").getByRole("checkbox").evaluateAll((boxes) => boxes.map((box) => box.checked)),
    fastMath: await page.getByTestId("fast-math").isChecked(),
    place: await place(page),
    scope: await page.getByTestId("scope").locator("input:checked + span").innerText(),
    diff: await page.getByTestId("diff").innerText(),
    machine: await page.getByTestId("machine").inputValue(),
    warp: await page.getByTestId("warp-size").inputValue(),
    seed: await page.getByTestId("seed").inputValue(),
    sliders: await page.getByTestId("simulator-pane").locator("input[type=range]").evaluateAll((all) => all.map((slider) => slider.value)),
    figures: await page.getByTestId("figures").innerText(),
  });
  return JSON.parse(await settled(async () => JSON.stringify(await view())));
}

async function shareLink(page) {
  await page.getByTestId("share").click();
  const link = await page.getByTestId("link").inputValue();
  await page.keyboard.press("Escape");
  return link;
}

test("a link reopens the program at its position, with everything as it was", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await pasteProgram(page, (await programText(page)).replace("gain = 2.0", "gain = 4.0"));
  await page.getByRole("checkbox", { name: "Run const-fold" }).uncheck();
  await page.getByRole("button", { name: "Remove simplify-cfg" }).click();
  await page.getByTestId("fast-math").check();
  await page.getByRole("radio", { name: "This change" }).check();
  await page.getByTestId("machine").selectOption("turing");
  await page.getByTestId("warp-size").selectOption("16");
  await page.getByTestId("seed").fill("9007199254740993");
  await page.getByTestId("seed").blur();
  await page.getByTestId("slider-x-coherence").press("PageUp");
  await page.getByTestId("slider-x-zero").press("End");
  await page.getByTestId("transport").getByRole("button", { name: "First", exact: true }).click();
  for (const _ of [1, 2, 3]) {
    await page.getByTestId("transport").getByRole("button", { name: "Forward", exact: true }).click();
  }
  const before = await bench(page);
  assert.equal(before.place.at, 3);
  assert.equal(before.seed, "9007199254740993");
  const link = await shareLink(page);
  assert.match(link, /#v2\.[\w-]+$/);

  const reopened = await openPage(t, { hash: link.slice(link.indexOf("#")) });
  await eventually("the link is open", async () => (await place(reopened)).at === 3);
  assert.deepEqual(await bench(reopened), before);
  assert.equal(await shareLink(reopened), link, "the reopened bench makes the same link");
});

test("a link pasted into an open page replaces what is there", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const link = await shareLink(page);
  await pasteProgram(page, "nothing");
  await waitForMistakes(page, "error");
  await page.goto(link);
  await waitForMistakes(page, "No errors");
  assert.match(await programText(page), /kernel shade/);
});

test("nothing is written to the address while somebody works", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const address = page.url();
  const history = await page.evaluate(() => window.history.length);
  await page.locator(".cm-content:visible").click();
  await page.keyboard.press("ControlOrMeta+Home");
  await page.keyboard.type("// a remark\n");
  await page.getByTestId("slider-x-zero").press("End");
  await page.getByTestId("transport").getByRole("button", { name: "First", exact: true }).click();
  await shareLink(page);
  await bench(page);
  assert.equal(page.url(), address);
  assert.equal(await page.evaluate(() => window.history.length), history);
});

test("a bad link opens the default and says why", async (t) => {
  const page = await openPage(t, { hash: "#v2.not-a-link" });
  await page.getByTestId("notice").waitFor();
  await waitForMistakes(page, "No errors");
  assert.match(await programText(page), /kernel /);
});
