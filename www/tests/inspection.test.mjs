// What a pass shows is drawn alike for every pass: here for one of which the page knows nothing but its name.

import assert from "node:assert/strict";
import test from "node:test";
import { checkAccessibility, eventually, inBothSchemes, openPage, pasteProgram, place, screenshot, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

const PROGRAM = `kernel k(n: u32, m: u32, x: ptr.global) {
entry:
    a = mul.u32 n, m
    b = add.u32 m, 1
    p = setp.lt.u32 n, m
    br p, left, right
left:
    st.global.u32 x[0], a
    st.global.u32 x[1], b
    br join
right:
    st.global.u32 x[2], b
    br join
join:
    ret
}
`;

/// Opens the program with one pass, before it has changed anything.
async function openPass(page, pass) {
  await pasteProgram(page, PROGRAM);
  await waitForMistakes(page, "No errors");
  await eventually("no pass is left", async () => {
    const remove = page.getByRole("button", { name: /^Remove / }).first();
    if ((await remove.count()) > 0) {
      await remove.click();
    }
    return (await page.getByRole("button", { name: /^Remove / }).count()) === 0;
  });
  await page.getByRole("combobox", { name: "Add a pass" }).fill(pass);
  await page.keyboard.press("Enter");
  await eventually("the pass has run", async () => (await place(page)).last > 0);
  await page.getByTestId("transport").getByRole("button", { name: "First", exact: true }).click();
  await eventually("the source is shown", async () => (await place(page)).at === 0);
}

test("a pass has its table, marks and moments without a line of the page", async (t) => {
  const page = await openPage(t);
  await openPass(page, "sink");
  const lead = () => page.getByTestId("happened").innerText();
  await eventually("it is shown without being asked for", async () => /^Next, a = mul\.u32 n, m moves/.test(await lead()));
  const table = page.getByTestId("sinking-table");
  assert.deepEqual(await table.locator("thead th").allInnerTexts(), ["Instruction", "From", "To"]);
  assert.match(await table.innerText(), /a = mul\.u32 n, m\s+entry\s+left/);
  assert.match(await table.innerText(), /kept left and right use its result/);
  assert.equal(await page.locator(".block .marked.look-cause").count(), 1);
  assert.equal(await page.locator(".block .marked.look-copied").count(), 1);
  for (let at = 1; at <= 3; at += 1) {
    await page.getByTestId("transport").getByRole("button", { name: "One moment forward" }).click();
    await eventually("a moment passes", async () => (await page.getByTestId("walk-place").innerText()).startsWith(`${at} /`));
  }
  assert.equal(await page.locator(".way .flood").count(), 1);
  assert.equal(await page.locator(".way .wet").count(), 1);
  assert.equal(await page.locator(".way .sign").count(), 2);
  await inBothSchemes(page, async (scheme) => {
    await checkAccessibility(page, ".change");
    await screenshot(page, `inspection-sink-${scheme}`);
  });
  await page.keyboard.press(".");
  await eventually("it has moved", async () => (await place(page)).at === 1);
  await eventually("nothing is left", async () => /Nothing left to sink/.test(await lead()));
});
