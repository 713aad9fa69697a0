// The phases of ptxas in the pass rail: the pipeline with its numbers, and an example of each.

import assert from "node:assert/strict";
import test from "node:test";
import {
  checkAccessibility,
  eventually,
  openPage,
  pasteProgram,
  programText,
  screenshot,
  settled,
  useBrowser,
  waitForMistakes,
} from "./harness.mjs";

useBrowser();

const OWN = "kernel own(x: ptr.global) {\nentry:\n    a = add.u32 %tid, 1\n    st.global.u32 x[0], a\n    ret\n}\n";

/// Takes all passes out, and puts those in.
async function choosePasses(page, names) {
  const remove = page.getByTestId("pipeline").getByRole("button", { name: /^Remove/ });
  while ((await remove.count()) > 0) {
    const before = await remove.count();
    await remove.first().click();
    await eventually("it is gone", async () => (await remove.count()) < before);
  }
  for (const [index, name] of names.entries()) {
    await page.locator("#pass-search").fill(name);
    await page.keyboard.press("Enter");
    await page.getByTestId(`stage-${index}`).waitFor();
  }
}

const numbers = (page) => page.getByTestId("pipeline").locator("[data-stage] .figures .phase").allInnerTexts();
const names = (page) => page.getByTestId("pipeline").locator("[data-stage] .name").allInnerTexts();

test("the pipeline ptxas has the numbers of its phases, and says why one is off", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await choosePasses(page, ["@ptxas"]);
  await page.getByRole("button", { name: "Passes of @ptxas" }).click();
  const parts = page.getByTestId("knob-sheet").locator(".parts li");
  await eventually("its entries are there", async () => (await parts.count()) === 9);
  const entries = await parts.evaluateAll((items) =>
    items.map((item) => `${item.querySelector(".phase").textContent} ${item.querySelector("code").textContent}`),
  );
  assert.deepEqual(entries, [
    "46 general-optimize",
    "49 gvn-cse",
    "50 reassociate",
    "56 hoist-common",
    "58 general-optimize",
    "63 if-convert",
    "64 late-commoning",
    "65 general-optimize",
    "82/83 back-copy-prop",
  ]);
  assert.match(await parts.nth(4).innerText(), /variant = B/);
  assert.match(await parts.nth(8).innerText(), /off in ptxas/);
  await eventually("what each did is told", async () => /change/.test(await parts.nth(0).innerText()));
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme });
    await checkAccessibility(page, ".passes");
  }
  await screenshot(page, "ptxas-rail");
  // Apart, each is an entry of its own that keeps its number, its knobs and its switch; a link keeps them, too.
  await page.getByRole("button", { name: "Take apart" }).click();
  await eventually("it is apart", async () => (await names(page)).length === 9);
  assert.deepEqual(await numbers(page), ["46", "49", "50", "56", "58", "63", "64", "65", "82/83"]);
  assert.equal(await page.getByRole("checkbox", { name: "Run back-copy-prop" }).isChecked(), false);
  assert.match(await page.getByTestId("stage-8").innerText(), /off in ptxas/);
  await page.getByRole("button", { name: "Knobs of general-optimize" }).nth(1).click();
  assert.equal(await page.getByTestId("knob-sheet").getByLabel("Stopping rule", { exact: true }).inputValue(), "B");
  await page.getByTestId("share").click();
  const link = await page.getByTestId("link").inputValue();
  const other = await openPage(t, { hash: link.slice(link.indexOf("#")) });
  await eventually("the link has the numbers", async () => (await numbers(other)).at(-1) === "82/83");
});

/// Opens the first example of a pass of the pipeline, from its sheet.
async function openExampleOf(page, pass) {
  await page.getByRole("button", { name: new RegExp(`^(Knobs|Passes|Examples) of ${pass}$`) }).first().click();
  await page.locator(".show-one button").first().click();
}

/// Passes, and what their first examples are called.
const PHASES = [
  ["copy-prop", "Copies of copies"],
  ["general-optimize", "What front ends leave behind"],
  ["gvn-cse", "Scopes that open and close"],
  ["reassociate", "A near miss"],
  ["hoist-common", "Before the branch"],
  ["if-convert", "A diamond becomes straight"],
  ["late-commoning", "What guards bring together"],
  ["back-copy-prop", "A chain, backward"],
];

test("every phase shows an example of itself from the rail, and no work is lost", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await choosePasses(page, ["simplify-cfg", "gvn-cse"]);
  await pasteProgram(page, OWN);
  await waitForMistakes(page, "No errors");
  const own = await programText(page);
  await openExampleOf(page, "gvn-cse");
  await eventually("the example is there", async () => /kernel scopes/.test(await programText(page)));
  assert.match(await page.getByTestId("kept").innerText(), /Your own program and passes are kept/);
  // From here on the examples follow one another; what was one's own stays kept.
  for (const [pass, title] of PHASES) {
    await choosePasses(page, [pass]);
    await openExampleOf(page, pass);
    await page.getByTestId("kept").getByText(`“${title}” is open`).waitFor();
    await eventually(`${pass} is shown`, async () => {
      const reason = page.getByTestId("reason").or(page.getByTestId("happened"));
      return (await reason.count()) === 1 && (await page.locator(".stage.shown .name").innerText()) === pass;
    });
  }
  // A changed list of passes is one's own work as well. What was kept comes back one after the other.
  const back = page.getByTestId("kept").getByRole("button", { name: "Bring them back" });
  for (const [pass] of [...PHASES].reverse()) {
    await back.click();
    await eventually(`the list with ${pass} is back`, async () => (await names(page)).join() === pass);
  }
  await back.click();
  await eventually("one's own program is back", async () => (await programText(page)) === own);
  assert.deepEqual(await names(page), ["simplify-cfg", "gvn-cse"]);
});

test("an example gives way to one's own program and passes again", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await choosePasses(page, ["dce", "reassociate"]);
  await pasteProgram(page, OWN);
  await waitForMistakes(page, "No errors");
  const own = await programText(page);
  await openExampleOf(page, "reassociate");
  await eventually("the example is there", async () => /kernel near_miss/.test(await programText(page)));
  // An example after an example does not count as one's own.
  await page.getByTestId("open-examples").click();
  await page.getByTestId("example-phases/if-convert.wir").click();
  await eventually("the next is there", async () => /kernel clamp/.test(await programText(page)));
  await page.getByTestId("kept").getByRole("button", { name: "Bring them back" }).click();
  await eventually("the program is back", async () => (await programText(page)) === own);
  assert.deepEqual(await names(page), ["dce", "reassociate"]);
  assert.equal(await page.getByTestId("kept").count(), 0);
});

test("the near miss: missed with its table, then one tree with its leaves in another order", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await choosePasses(page, ["reassociate"]);
  await openExampleOf(page, "reassociate");
  const leaves = page.getByTestId("leaves");
  await leaves.waitFor();
  const lists = await leaves.locator("ol").evaluateAll((lists) =>
    lists.map((list) => [...list.querySelectorAll("code")].map((leaf) => leaf.textContent).join(" ")),
  );
  assert.deepEqual(lists, ["a c b", "a b c"]);
  assert.equal(await leaves.locator("line").count(), 3);
  assert.equal(await leaves.locator("line.moved").count(), 2);
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme });
    await checkAccessibility(page, ".change");
  }
  await screenshot(page, "leaves");
  await page.getByTestId("stage-0").locator(".name").click();
  await page.getByTestId("values-table").waitFor();
  assert.match(await page.getByTestId("stage-0").innerText(), /no change/);
  assert.match(await page.getByTestId("hits-and-refusals-table").innerText(), /No repeated values found/);
  await screenshot(page, "near-miss");
});

test("the chain grows backward", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.getByTestId("open-examples").click();
  await page.getByTestId("example-phases/back-copy-prop.wir").click();
  const chain = async () => (await page.getByTestId("chain").locator("code").allInnerTexts()).join(" ");
  await eventually("the last copy goes first", async () => (await chain()) === "r2 r3");
  await page.keyboard.press("ArrowRight");
  await eventually("then the one before", async () => (await chain()) === "r1 r2 r3");
  await settled(() => page.getByTestId("diff").innerText());
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme });
    await checkAccessibility(page, ".change");
  }
  await screenshot(page, "chain");
});
