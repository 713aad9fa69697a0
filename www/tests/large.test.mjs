// A program of 4,800 lines and 700 blocks: only what is in sight is drawn, so that the page stays under the hand.

import assert from "node:assert/strict";
import test from "node:test";
import { checkAccessibility, eventually, openPage, place, settled, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

/// A kernel in nvcc's spelling: a chain of small branches, each with something to do for every small pass.
function largeKernel(branches) {
  const lines = [
    ".version 9.0\n.target sm_80\n.address_size 64\n",
    ".visible .entry large(\n\t.param .u64 .ptr .align 1 large_param_0\n)\n{",
    "\t.reg .pred \t%p<9999>;\n\t.reg .b32 \t%r<99999>;\n\t.reg .b64 \t%rd<9>;\n",
    "\tld.param.u64 \t%rd1, [large_param_0];\n\tcvta.to.global.u64 \t%rd2, %rd1;\n\tmov.u32 \t%r1, %tid.x;",
    "\tmul.wide.s32 \t%rd3, %r1, 4;\n\tadd.s64 \t%rd4, %rd2, %rd3;\n\tld.global.u32 \t%r2, [%rd4];\n\tmov.u32 \t%r9, 0;",
  ];
  for (let at = 0; at < branches; at += 1) {
    const r = (offset) => `%r${10 * at + offset}`;
    const label = (offset) => `$L__BB0_${3 * at + offset + 1}`;
    lines.push(
      `\tadd.s32 \t${r(10)}, ${r(9)}, ${at % 17};\n\tmul.lo.s32 \t${r(11)}, ${r(10)}, 1;\n\tmov.u32 \t${r(12)}, ${r(11)};`,
      `\txor.b32 \t${r(13)}, ${r(12)}, %r2;\n\tand.b32 \t${r(14)}, ${r(13)}, ${1 << at % 5};\n\tsetp.eq.s32 \t%p${at}, ${r(14)}, 0;`,
      `\t@%p${at} bra \t${label(1)};\n\tbra.uni \t${label(0)};\n`,
      `${label(0)}:\n\tadd.s32 \t${r(15)}, ${r(12)}, 3;\n\tshl.b32 \t${r(16)}, ${r(15)}, 0;\n\txor.b32 \t${r(19)}, ${r(16)}, ${at};\n\tbra.uni \t${label(2)};\n`,
      `${label(1)}:\n\tmov.u32 \t${r(17)}, ${r(12)};\n\tadd.s32 \t${r(19)}, ${r(17)}, 0;\n\n${label(2)}:`,
    );
  }
  lines.push(`\tst.global.u32 \t[%rd4], %r${10 * branches - 1};\n\tret;\n\n}\n`);
  return lines.join("\n");
}

/// Pastes as a person does: through the clipboard, so that the editor and not the browser takes the lines in.
async function paste(page, text) {
  await page.locator(".cm-content:visible").click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.evaluate((text) => navigator.clipboard.writeText(text), text);
  await page.keyboard.press("ControlOrMeta+v");
}

/// The longest time that the page did not answer while `act` was done and until it came to rest, in milliseconds.
async function longestTask(page, act) {
  await page.evaluate(() => {
    globalThis.longTasks = [];
    globalThis.taskObserver ??= new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((task) => task.duration)));
    globalThis.taskObserver.observe({ type: "longtask" });
  });
  await act();
  await settled(() => page.getByTestId("simulator-pane").innerText());
  return Math.max(0, ...(await page.evaluate(() => globalThis.longTasks)));
}

/// Fails if `act` names faults each of so many times. A page that is slow is so every time, a machine that halts is not.
async function onceIn(times, act) {
  const all = [];
  for (let time = 0; time < times; time += 1) {
    const faults = await act();
    if (faults.length === 0) return;
    all.push(faults);
  }
  assert.fail(all.map((faults) => faults.join(", ")).join("; again: "));
}

test("a program of 4,800 lines is stepped, typed in and walked through without a stall", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("verdict").waitFor();
  const source = largeKernel(240);
  assert.ok(source.split("\n").length > 4_700);
  await paste(page, source);
  // The last change is in sight, far from the first block.
  await page.locator("[data-testid^='block-L__BB0_'].current").waitFor();
  await waitForMistakes(page, "No errors");
  await eventually("every change is a stop", async () => (await place(page)).last > 1_000);
  await page.getByTestId("verdict").filter({ hasText: "same memory" }).waitFor();
  // A machine that is busy with other things is forgiven much; drawing everything took three seconds.
  const LIMIT = 1_000;
  const { last } = await place(page);
  const walk = async () => {
    const held = [];
    for (const [name, to] of [["Back", last - 1], ["Back", last - 2], ["First", 0], ["Forward", 1], ["Last", last]]) {
      const longest = await longestTask(page, async () => {
        await page.getByTestId("transport").getByRole("button", { name, exact: true }).click();
        await eventually(`"${name}" leads to ${to}`, async () => (await place(page)).at === to);
      });
      if (longest >= LIMIT) held.push(`"${name}" held the page for ${longest} ms`);
    }
    return held;
  };
  await onceIn(2, walk);
  assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 12_000, "what is out of sight is not drawn");
  await onceIn(2, async () => {
    const longest = await longestTask(page, () => page.locator(".cm-content:visible").press("End").then(() => page.keyboard.type(" // a note", { delay: 30 })));
    return longest < LIMIT ? [] : [`typing held the page for ${longest} ms`];
  });
});

test("in a large program what is selected in one pane comes into sight in the others", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("verdict").waitFor();
  await paste(page, largeKernel(240));
  await page.getByTestId("block-L__BB0_1").waitFor();
  await page.getByTestId("verdict").filter({ hasText: "same memory" }).waitFor();
  const isInSight = (locator, pane) =>
    eventually(`${pane} shows it`, async () => {
      if ((await locator.count()) === 0) return false;
      const [inner, outer] = await Promise.all([locator.first().boundingBox(), page.getByTestId(pane).boundingBox()]);
      return inner && inner.y + inner.height > outer.y && inner.y < outer.y + outer.height;
    });
  // Far down in the graph, by its scroll bar.
  await page.getByTestId("graph").evaluate((canvas) => canvas.scrollTo(0, canvas.scrollHeight / 2));
  const block = page.locator(".block", { hasText: "L__BB0_" }).filter({ visible: true });
  await eventually("blocks there are drawn", async () => (await block.count()) > 0);
  const name = await eventually("one of them is in sight", () =>
    page.evaluate(() => {
      const pane = document.querySelector("#graph-canvas").getBoundingClientRect();
      const inside = [...document.querySelectorAll(".block")].find((block) => {
        const box = block.getBoundingClientRect();
        return box.top > pane.top + 20 && box.bottom < pane.bottom - 20 && box.left > pane.left && box.right < pane.right;
      });
      return inside?.dataset.testid.replace("block-", "");
    }),
  );
  assert.ok(Number(name.replace("L__BB0_", "")) > 100, `${name} is in the middle`);
  await page.getByTestId(`block-${name}`).locator(".label").click();
  await isInSight(page.locator("tr.selected"), "diff");
  await isInSight(page.locator(".cm-marked-line"), "source-pane");
  await page.getByTestId("graph").focus();
  await page.keyboard.press("ArrowDown");
  await eventually("the arrows walk on", async () => (await page.locator(".block.selected").getAttribute("data-testid")) !== `block-${name}`);
  await isInSight(page.locator(".block.selected"), "graph");
  // Far down in the comparison, by its scroll bar, and on from there by the keyboard.
  await page.getByTestId("diff").evaluate((list) => list.scrollTo(0, list.scrollHeight));
  const row = page.getByTestId("diff").locator("tr", { hasText: "st.global.u32" });
  await row.first().click();
  await isInSight(page.locator(".block.selected"), "graph");
  await page.getByTestId("diff").focus();
  await page.keyboard.press("ArrowUp");
  await isInSight(page.locator("tr.selected"), "diff");
  await checkAccessibility(page);
});
