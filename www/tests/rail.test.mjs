// The pass rail with more passes than it has room for, its search field, its knobs, and where the keyboard is when what it
// stood on has gone.

import assert from "node:assert/strict";
import test from "node:test";
import { answered, checkAccessibility, checkTargets, eventually, openPage, pasteProgram, place, programText, screenshot, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

const names = (page) => page.getByTestId("pipeline").locator("[data-stage] .name").allInnerTexts();
const focused = (page) => page.evaluate(() => document.activeElement.id);

async function add(page, pass) {
  const count = (await names(page)).length;
  await page.locator("#pass-search").fill(pass);
  await page.keyboard.press("Enter");
  await eventually(`${pass} is added`, async () => (await names(page)).length === count + 1);
}

/// Is all of an entry within the pane?
const isInSight = (entry) =>
  entry.evaluate((element) => {
    const [inner, outer] = [element, element.closest(".scroll")].map((of) => of.getBoundingClientRect());
    return inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
  });

test("the pass that was added and the one that is shown are in sight", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  for (const pass of ["gvn-cse", "reassociate", "hoist-common", "late-commoning", "srqp", "pde"]) {
    await add(page, pass);
    await eventually(`${pass} is in sight`, () => isInSight(page.locator(".stage:last-child")));
  }
  await page.getByTestId("verdict").waitFor();
  await page.locator("h1").click();
  await page.keyboard.press("Home");
  await eventually("the source is in sight", () => isInSight(page.locator(".stage.shown")));
  const { last } = await place(page);
  for (let step = 0; step < last; step += 1) {
    await page.keyboard.press("ArrowRight");
    await answered(page);
    await eventually("the pass is in sight", () => isInSight(page.locator(".stage.shown")));
  }
});

test("passes are removed one after the other with one key", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const before = await names(page);
  await page.locator("#remove-0").focus();
  for (let left = before.length - 1; left >= 0; left -= 1) {
    await page.keyboard.press("Enter");
    await eventually("one less", async () => (await names(page)).length === left);
    await eventually("the keyboard is at the next", async () => (await focused(page)) === (left > 0 ? "remove-0" : "pass-search"));
  }
});

test("a doubled Enter adds one pass, and Escape empties the field", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const before = await names(page);
  await page.locator("#pass-search").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("azp");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await eventually("it is added", async () => (await names(page)).includes("azp"));
  await answered(page);
  assert.deepEqual(await names(page), [...before, "azp"]);
  await page.keyboard.type("zzz");
  await page.getByText("No matching pass.").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#pass-search").inputValue(), "");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator("#pass-search").getAttribute("aria-activedescendant"), "pass-option-0");
});

test("Escape ends a drag where it began", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.getByTestId("verdict").waitFor();
  const before = await names(page);
  await page.locator("#grip-2").hover();
  await page.mouse.down();
  const to = await page.getByTestId("stage-0").boundingBox();
  await page.mouse.move(to.x + 60, to.y + 12, { steps: 4 });
  await page.locator(".stage.goal-above").waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".stage.goal-above").waitFor({ state: "detached" });
  await page.mouse.up();
  await answered(page);
  assert.deepEqual(await names(page), before);
});

for (const [width, height] of [[1440, 900], [1280, 720], [1024, 768], [390, 844]]) {
  test(`knobs open in a sheet that is in sight, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height } });
    await waitForMistakes(page, "No errors");
    await answered(page);
    const rows = await page.locator(".stage:not(.origin)").evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
    assert.ok(rows.length === 4 && rows.every((height) => height <= 36), `rows of one line: ${rows}`);
    await page.getByRole("button", { name: "Knobs of copy-prop" }).click();
    const sheet = page.getByRole("dialog", { name: "Knobs of copy-prop" });
    await eventually("it has the keyboard", async () => (await focused(page)) === "knob-sheet");
    const { top, left, right } = await sheet.evaluate((element) => element.getBoundingClientRect().toJSON());
    assert.ok(top >= 0 && top < height - 100 && left >= 0 && right <= width, `${left} to ${right}, from ${top}`);
    const over = await sheet.evaluate((element) => {
      const edge = element.getBoundingClientRect().right;
      return [...element.querySelectorAll("input, select, p, label")].filter((field) => field.getBoundingClientRect().right > edge).length;
    });
    assert.equal(over, 0, "fields beyond the edge");
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
    assert.match(await sheet.locator(".unavailable").first().innerText(), /Preallocated registers[^]*no register/, "why a knob is not there can be read");
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      await checkAccessibility(page, ".passes");
    }
    await checkTargets(page, ".passes");
    await screenshot(page, `knobs-${width}`);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Escape");
    await sheet.waitFor({ state: "detached" });
    assert.equal(await focused(page), "knobs-0");
  });
}

test("a knob says what it is, and that it was turned", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await add(page, "gvn-cse");
  await answered(page);
  const button = page.getByRole("button", { name: "Knobs of gvn-cse" });
  await button.click();
  const sheet = page.getByTestId("knob-sheet");
  // Plain name, the vendor's name, and help are there to be read; a small range is a slider.
  const scope = sheet.getByRole("slider", { name: "Scope" });
  const row = sheet.locator("li", { has: page.getByRole("slider", { name: "Scope" }) });
  assert.match(await row.innerText(), /Scope[^]*EnableGvnCseMode[^]*5[^]*0 off, 1 one block, 2 immediate dominators/);
  assert.equal(await sheet.getByRole("checkbox", { name: "Enabled" }).isChecked(), true);
  assert.equal(await sheet.getByRole("combobox", { name: "GPU generation" }).inputValue(), "90");
  const isMarked = async () => [(await row.getAttribute("class")) ?? "", await button.evaluate((element) => element.classList.contains("turned"))];
  assert.deepEqual(await isMarked(), ["", false]);
  await scope.press("ArrowLeft");
  await eventually("it is turned", async () => /Default: 5/.test(await row.innerText()));
  assert.deepEqual(await isMarked(), ["turned", true]);
  assert.match(await page.getByTestId("stage-4").innerText(), /EnableGvnCseMode = 4/);
  await sheet.getByRole("checkbox", { name: "Store forwarding" }).check();
  await eventually("both are", async () => (await sheet.locator("li.turned").count()) === 2);
  await screenshot(page, "turned-knobs");
  await row.getByRole("button", { name: "Reset Scope" }).click();
  await eventually("one is", async () => (await sheet.locator("li.turned").count()) === 1);
  assert.equal(await focused(page), "knob-EnableGvnCseMode");
  assert.equal(await scope.inputValue(), "5");
  await sheet.getByRole("button", { name: "Reset all" }).click();
  await eventually("none is", async () => (await sheet.locator("li.turned").count()) === 0);
  assert.deepEqual(await isMarked(), ["", false]);
  assert.equal(await sheet.getByRole("checkbox", { name: "Store forwarding" }).isChecked(), false);
  await sheet.getByRole("button", { name: "Close", exact: true }).click();
  await eventually("the keyboard is at its button", async () => (await focused(page)) === "knobs-4");
});

test("the keyboard stays where a button has gone or does no more", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const before = await names(page);
  await page.getByRole("button", { name: "First", exact: true }).focus();
  await page.keyboard.press("Enter");
  await eventually("the source is shown", async () => (await place(page)).at === 0);
  const label = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.equal(await label(), "First");
  assert.equal(await page.getByRole("button", { name: "First", exact: true }).getAttribute("aria-disabled"), "true");
  await page.keyboard.press("Enter");
  assert.equal((await place(page)).at, 0);
  await page.keyboard.press("End");
  // On a slow machine the lines of the source are still there for a moment, and go with the keyboard on them.
  await eventually("the last step is shown", async () => {
    const { at, last } = await place(page);
    return at === last && last > 0;
  });
  const fold = page.getByTestId("diff").getByRole("button", { name: /equal lines/ }).first();
  await fold.focus();
  await page.keyboard.press("Enter");
  await eventually("the lines have it", async () => page.evaluate(() => document.activeElement.dataset.testid === "diff"));
  await page.getByRole("button", { name: "Examples of dce" }).click();
  await page.locator(".show-one button").first().focus();
  await page.keyboard.press("Enter");
  await eventually("an example is there", async () => (await names(page)).join() !== before.join());
  await eventually("the pass that is shown has it", () => page.evaluate(() => document.activeElement.closest(".stage.shown") !== null));
  // Whoever has written something is told of it.
  await pasteProgram(page, "kernel own(out: ptr.global) {\n  st.global.u32 out[0], 42\n  ret\n}\n");
  await page.getByTestId("open-examples").click();
  await page.getByTestId("example-cuda/saxpy.O3.ptx").click();
  await page.getByTestId("kept").getByRole("button", { name: "Close" }).focus();
  await page.keyboard.press("Enter");
  await page.getByTestId("kept").waitFor({ state: "detached" });
  assert.equal(await focused(page), "tab-source");
});

test("what a number field cannot hold gives way to what it held", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.getByTestId("verdict").waitFor();
  const seed = page.getByTestId("seed");
  await seed.fill("7");
  await page.keyboard.press("Tab");
  // What was typed up to the point is a seed.
  for (const [text, held] of [["-1", "7"], ["3.5", "3"]]) {
    await seed.focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type(text);
    await page.keyboard.press("Tab");
    await eventually(`${text} gives way`, async () => (await seed.inputValue()) === held);
  }
  await seed.fill("");
  await page.keyboard.press("Tab");
  await answered(page);
  assert.equal(await seed.inputValue(), "", "no seed is that of the launch");
  const issue = page.getByTestId("issue");
  await issue.fill("5");
  await page.keyboard.press("Tab");
  await issue.focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("-5");
  await page.keyboard.press("Tab");
  await eventually("the issue gives way", async () => (await issue.inputValue()) === "5");
});

test("what is half typed in a number field stays, whatever is drawn meanwhile", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.getByTestId("verdict").waitFor();
  // Another run begins at its first issue.
  for (const [name, held] of [["seed", "7"], ["issue", "0"]]) {
    const field = page.getByTestId(name);
    await field.fill("7");
    await page.keyboard.press("Tab");
    await answered(page);
    await field.focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("-");
    // Without taking the focus.
    await page.evaluate(() => document.querySelector("[data-testid=l1]").click());
    await answered(page);
    await page.keyboard.type("1");
    assert.equal(await field.inputValue(), "-1", name);
    await page.keyboard.press("Tab");
    await eventually(`${name} gives way`, async () => (await field.inputValue()) === held);
  }
});

test("while a line is a mistake no other is marked in its place", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.locator(".cm-line", { hasText: "root = sqrt" }).click();
  await eventually("it is marked", async () => /root = /.test(await page.locator(".cm-exact-line").innerText()));
  await page.keyboard.press("End");
  await page.keyboard.type("x");
  await waitForMistakes(page, "1 error");
  await answered(page);
  assert.equal(await page.locator(".cm-exact-line").count(), 0);
  await page.keyboard.press("Backspace");
  await eventually("it is marked again", async () => /root = /.test(await page.locator(".cm-exact-line").innerText()));
});

test("a bad link takes nothing away that does not come back", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const own = "kernel own(out: ptr.global) {\n  st.global.u32 out[0], 42\n  ret\n}\n";
  await pasteProgram(page, own);
  await page.locator("#remove-0").click();
  const passes = await names(page);
  await page.evaluate(() => (location.hash = "#v1.d:oops"));
  await page.getByTestId("notice").waitFor();
  assert.match(await page.getByTestId("notice").innerText(), /could not be opened.*Showing an example instead/s);
  await page.getByTestId("kept").getByRole("button", { name: "Bring them back" }).click();
  await eventually("the program is there again", async () => (await programText(page)) === own);
  assert.deepEqual(await names(page), passes);
});

test("where the system gives the colours, lanes and the shown pass can still be seen", async (t) => {
  const page = await openPage(t, { prepare: (page) => page.emulateMedia({ forcedColors: "active" }) });
  await page.getByTestId("groups").waitFor();
  const ground = (locator) => locator.evaluate((element) => getComputedStyle(element).backgroundColor);
  const pane = await ground(page.getByTestId("simulator-pane"));
  assert.notEqual(await ground(page.locator(".mask i.on").first()), pane);
  assert.equal(await page.locator(".stage.shown").evaluate((element) => getComputedStyle(element).outlineStyle), "solid");
  const chosen = page.locator(".segments input:checked + span").first();
  assert.notEqual(await ground(chosen), pane);
});
