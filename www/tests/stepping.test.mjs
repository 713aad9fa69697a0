// The transport: to the start, through every change, and back.

import assert from "node:assert/strict";
import test from "node:test";
import { eventually, openPage, place, programText, settled, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

const step = (page, name) => page.getByTestId("transport").getByRole("button", { name, exact: true }).click();
const diff = (page) => page.getByTestId("diff").innerText();

async function go(page, name, to) {
  await step(page, name);
  await eventually(`"${name}" leads to ${to}`, async () => (await place(page)).at === to);
}

test("stepping to the end and back shows the same programs in reverse", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const { last } = await place(page);
  assert.ok(last > 3, "the example has something to step through");
  await go(page, "First", 0);
  // Each change compared with the one before, so that a view belongs to its position alone.
  const forward = [];
  for (let at = 1; at <= last; at += 1) {
    await go(page, "Forward", at);
    forward.push(await settled(() => diff(page)));
  }
  assert.ok(new Set(forward).size > 1, "the comparison changes from step to step");
  for (let at = last - 1; at >= 1; at -= 1) {
    await go(page, "Back", at);
    const expected = forward[at - 1];
    await eventually(`step ${at} looks as on the way there`, async () => (await diff(page)) === expected);
  }
});

test("keys move the transport, wherever the focus is outside texts", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const { last } = await place(page);
  const press = async (key, to) => {
    await page.keyboard.press(key);
    await eventually(`${key} leads to ${to}`, async () => (await place(page)).at === to);
  };
  await press("Home", 0);
  await press("ArrowRight", 1);
  await press("ArrowRight", 2);
  await press("ArrowLeft", 1);
  await press("End", last);
  // A button that its own press makes unusable must not swallow the next key.
  await page.getByRole("button", { name: "First", exact: true }).focus();
  await press("Enter", 0);
  await press("End", last);
  await press("[", last - 1);
  await press("]", last);
  // In the editor the same keys belong to the text.
  await page.keyboard.press("e");
  await page.keyboard.press("ControlOrMeta+Home");
  await page.keyboard.press("Home");
  assert.equal((await place(page)).at, last);
  // What is typed may be a mistake, which leaves nothing to step through: so it is the text and the button that are asked.
  const text = await programText(page);
  await page.keyboard.press("p");
  await eventually("the letter stands in the text", async () => (await programText(page)) === `p${text}`);
  await page.getByTestId("transport").getByRole("button", { name: "Play" }).waitFor();
  await page.keyboard.press("ControlOrMeta+z");
  await eventually("the letter is gone again", async () => (await programText(page)) === text);
});

test("playing walks through the changes, faster if asked, and ends at the end", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const { last } = await place(page);
  await page.getByTestId("pace").selectOption("4");
  await page.getByTestId("transport").getByRole("button", { name: "Play" }).click();
  await eventually("it starts at the source", async () => (await place(page)).at < 3);
  await eventually("it ends at the end", async () => (await place(page)).at === last);
  await page.getByTestId("transport").getByRole("button", { name: "Play" }).waitFor();
});

test("a pipeline with a name is one entry, and can be taken apart", async (t) => {
  const page = await openPage(t);
  // With the heat beside the lines.
  await page.getByTestId("verdict").waitFor();
  const program = await settled(() => diff(page));
  for (const name of ["copy-prop", "const-fold", "dce", "simplify-cfg"]) {
    await page.getByRole("button", { name: `Remove ${name}` }).click();
  }
  await page.locator("#pass-search").fill("@bas");
  await page.keyboard.press("Enter");
  await eventually("its changes are stops", async () => (await place(page)).last > 3);
  await eventually("it does what its passes do", async () => (await diff(page)) === program);
  assert.match(await page.getByTestId("reason").innerText(), /simplify-cfg/, "the pass that made the change is named");
  await page.getByTestId("share").click();
  const link = await page.getByTestId("link").inputValue();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Passes of @basic" }).click();
  await page.getByRole("button", { name: "Take apart" }).click();
  const names = page.getByTestId("pipeline").locator("[data-stage] .name");
  await eventually("its passes stand in its place", async () => (await names.allInnerTexts()).length === 4);
  await eventually("they do the same", async () => (await diff(page)) === program);
  const reopened = await openPage(t, { hash: link.slice(link.indexOf("#")) });
  await reopened.getByTestId("stage-0").getByText("@basic").waitFor();
  await eventually("the link has it as one entry", async () => /change/.test(await reopened.getByTestId("stage-0").innerText()));
});

test("every control of the page is reached with the tab key", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  // In the middle, where every button of the transport can be used.
  await page.keyboard.press("ArrowLeft");
  await page.getByTestId("verdict").waitFor();
  await settled(() => page.locator("main").innerText());
  const reached = new Set();
  await page.evaluate(() => (globalThis.met = new Set()));
  await page.locator("body").press("Tab");
  for (let presses = 0; presses < 150; presses += 1) {
    const pane = await page.evaluate(() => {
      globalThis.met.add(document.activeElement);
      return document.activeElement?.closest("[data-testid$=-pane], [data-testid=transport]")?.dataset.testid;
    });
    if (pane) {
      reached.add(pane);
    }
    // Inside the editor, Tab after Escape leaves it.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
  }
  assert.deepEqual([...reached].sort(), ["change-pane", "graph-pane", "passes-pane", "simulator-pane", "source-pane", "transport"]);
  // Of the buttons of a group the keyboard meets one; the arrows lead to the others.
  const missed = await page.evaluate(() =>
    [...document.querySelectorAll("button, input:not([type=radio]), select, [tabindex='0']")]
      .filter((control) => !control.disabled && control.tabIndex >= 0 && control.checkVisibility({ visibilityProperty: true }))
      .filter((control) => !globalThis.met.has(control))
      .map((control) => control.outerHTML.slice(0, 160)),
  );
  assert.deepEqual(missed, []);
});
