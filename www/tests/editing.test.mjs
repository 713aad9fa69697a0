// Typing and pasting programs.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { openPage, pasteProgram, programText, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

const example = (name) => readFile(new URL(`../examples/${name}`, import.meta.url), "utf8");

test("a mistake is marked where it is typed, and goes when it is repaired", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No mistakes");
  const good = "kernel k(x: ptr.global, a: f32) {\nentry:\n    r = fma.f32 a, a, a\n    st.global.f32 x[0], r\n    ret\n}\n";
  await pasteProgram(page, good.replace("fma", "fam"));
  await waitForMistakes(page, "1 error");
  assert.equal(await page.locator(".cm-lintRange-error").first().innerText(), "fam.f32");
  const listed = page.getByTestId("diagnostics").getByRole("listitem");
  assert.match(await listed.innerText(), /3:9[\s\S]*fma\.f32/);
  await pasteProgram(page, good);
  await waitForMistakes(page, "No mistakes");
  assert.equal(await page.locator(".cm-lintRange-error").count(), 0);
});

test("PTX that nvcc printed is taken as it is", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No mistakes");
  await pasteProgram(page, await example("cuda/saxpy.O3.ptx"));
  await page.getByTestId("kernel").or(page.getByTestId("graph-pane")).first().waitFor();
  await page.locator('[data-testid^="block-"]').first().waitFor();
  await waitForMistakes(page, /No mistakes|warning/);
});

test("typing can be undone", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No mistakes");
  const before = await programText(page);
  await pasteProgram(page, "nothing");
  await waitForMistakes(page, "error");
  await page.keyboard.press("ControlOrMeta+z");
  await waitForMistakes(page, "No mistakes");
  assert.equal(await programText(page), before);
});
