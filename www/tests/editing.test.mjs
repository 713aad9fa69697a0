// Typing and pasting programs.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { eventually, openPage, pasteProgram, programText, settled, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

const example = (name) => readFile(new URL(`../examples/${name}`, import.meta.url), "utf8");

test("a mistake is marked where it is typed, and goes when it is repaired", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const good = "kernel k(x: ptr.global, a: f32) {\nentry:\n    r = fma.f32 a, a, a\n    st.global.f32 x[0], r\n    ret\n}\n";
  await pasteProgram(page, good.replace("fma", "fam"));
  await waitForMistakes(page, "1 error");
  assert.equal(await page.locator(".cm-lintRange-error").first().innerText(), "fam.f32");
  const listed = page.getByTestId("diagnostics").getByRole("listitem");
  assert.match(await listed.innerText(), /3:9[\s\S]*fma\.f32/);
  await pasteProgram(page, good);
  await waitForMistakes(page, "No errors");
  assert.equal(await page.locator(".cm-lintRange-error").count(), 0);
});

test("what is typed key by key is looked at when the hand rests", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await page.locator(".cm-line", { hasText: "root = sqrt" }).click();
  await page.keyboard.press("End");
  await page.keyboard.type("\nfault = sqrd.f32 w");
  await waitForMistakes(page, "1 error");
  // On a slow machine the hand seems to rest before the last key.
  const told = () => page.getByTestId("diagnostics").innerText();
  await eventually("it suggests what was meant", async () => /sqrt\.f32/.test(await told()));
  assert.equal(await page.locator(".cm-lintRange-error").first().innerText(), "sqrd.f32");
});

test("PTX that nvcc printed runs at once, with a launch that is shown and can be edited", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await pasteProgram(page, await example("cuda/saxpy.O3.ptx"));
  await page.getByTestId("block-L__BB0_1").waitFor();
  await waitForMistakes(page, "No errors");
  const cycles = () => page.getByTestId("figure-cycles").locator("td").first().innerText();
  await page.getByTestId("verdict").filter({ hasText: "same memory" }).waitFor();
  await page.getByRole("tab", { name: "Launch" }).click();
  await eventually("the derived launch is shown", async () => /launch saxpy/.test(await programText(page)));
  const before = await settled(cycles);
  await pasteProgram(page, (await programText(page)).replace(/grid \d+/, "grid 32"));
  await eventually("more blocks take longer", async () => (await cycles()) !== before);
  // Another program makes its own launch: the old one would not fit.
  await page.getByRole("tab", { name: "Source" }).click();
  await pasteProgram(page, await example("cuda/collatz.O3.ptx"));
  await page.getByRole("tab", { name: "Launch" }).click();
  await eventually("the launch is the new program's", async () => /launch collatz/.test(await programText(page)));
});

test("of several kernels one that is not supported is named and the others can be chosen", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const body = (name, line) => `.visible .entry ${name}(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n${line}\tret;\n}\n`;
  const unsupported = body("mine", "\tadd.u33 %rd1, %rd1, 1;\n");
  await pasteProgram(page, `.version 9.0\n.target sm_80\n.address_size 64\n${body("one", "")}${unsupported}${body("two", "\tst.global.u64 [%rd1], 7;\n")}`);
  await waitForMistakes(page, "1 error");
  assert.match(await page.getByTestId("diagnostics").innerText(), /u33/);
  assert.deepEqual(await page.getByTestId("kernel").locator("option").allInnerTexts(), ["one", "two"]);
  await page.getByTestId("kernel").selectOption("two");
  await page.getByTestId("block-entry").getByText("st.global.u64").waitFor();
});

test("every example of the gallery opens, runs, and keeps its memory through the passes", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("open-examples").click();
  const names = await page.locator("[data-testid^='example-']").evaluateAll((all) => all.map((button) => button.dataset.testid));
  assert.ok(names.length >= 17);
  await page.keyboard.press("Escape");
  for (const name of names) {
    await page.getByTestId("open-examples").click();
    await page.getByTestId(name).click();
    await page.getByTestId("dialog").waitFor({ state: "detached" });
    await waitForMistakes(page, "No errors");
    const verdicts = () => page.getByTestId("verdict").allInnerTexts().then(String);
    // While it runs for the first time there is no verdict yet.
    await eventually(`${name} has run`, async () => /memory/.test(await verdicts()));
    const verdict = await settled(verdicts);
    assert.match(verdict, /same memory/, `${name}: ${await page.getByTestId("simulator-pane").innerText()}`);
  }
});

test("typing can be undone", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  const before = await programText(page);
  await pasteProgram(page, "nothing");
  await waitForMistakes(page, "error");
  await page.keyboard.press("ControlOrMeta+z");
  await waitForMistakes(page, "No errors");
  assert.equal(await programText(page), before);
});

test("while a program has errors the transport says so, and the panes keep the last good one", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("verdict").waitFor();
  const good = await page.getByTestId("place").innerText();
  const blocks = await page.getByTestId("graph").locator(".block").count();
  await page.locator(".cm-line", { hasText: "root = sqrt" }).click();
  await page.keyboard.press("End");
  await page.keyboard.type("x");
  await page.getByTestId("place").getByText("Fix the errors to step").waitFor();
  assert.doesNotMatch(await page.getByTestId("place").innerText(), /\d+ \/ \d+/, "no place of a program that cannot be stepped");
  await page.getByTestId("graph-pane").getByText("last valid version").waitFor();
  assert.equal(await page.getByTestId("graph").locator(".block").count(), blocks);
  assert.match(await page.getByTestId("diff").innerText(), /root = sqrt/);
  await page.keyboard.press("Backspace");
  await eventually("the place is back", async () => (await page.getByTestId("place").innerText()) === good);
  assert.equal(await page.getByText("last valid version").count(), 0);
});

test("undo and redo over a change of example bring back the launch too", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("verdict").waitFor();
  const open = async (name) => {
    await page.getByTestId("open-examples").click();
    await page.getByTestId(`example-cuda/${name}.O3.ptx`).click();
    await page.getByTestId("dialog").waitFor({ state: "detached" });
  };
  const launch = async () => {
    await page.getByRole("tab", { name: "Launch" }).click();
    const text = await settled(() => programText(page));
    await page.getByRole("tab", { name: "Source" }).click();
    return text;
  };
  await open("saxpy");
  await waitForMistakes(page, "No errors");
  const first = await launch();
  assert.equal(first, await example("cuda/saxpy.launch.wir"));
  await open("stencil");
  await waitForMistakes(page, "No errors");
  const second = await launch();
  assert.equal(second, await example("cuda/stencil.launch.wir"));
  await page.locator(".cm-content:visible").click();
  await page.keyboard.press("ControlOrMeta+z");
  await page.getByTestId("verdict").filter({ hasText: "same memory" }).waitFor();
  await eventually("the first program is back", async () => /saxpy/.test(await programText(page)));
  assert.equal(await launch(), first);
  await page.locator(".cm-content:visible").click();
  await page.keyboard.press("ControlOrMeta+y");
  await eventually("the second program is back", async () => /stencil/.test(await programText(page)));
  assert.equal(await launch(), second);
});
