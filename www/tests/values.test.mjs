// The table of values while `gvn-cse` is stepped: forward, back, by keys, by link, and the dominator tree beside the graph.

import assert from "node:assert/strict";
import test from "node:test";
import { answered, checkAccessibility, eventually, inBothSchemes, openPage, pasteProgram, place, screenshot, settled, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

/// Opens the example of a phase from the gallery, with the table in sight.
async function openScopes(page) {
  await page.getByTestId("open-examples").click();
  await page.getByTestId("example-phases/gvn-cse.wir").click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await page.getByTestId("values-table").waitFor();
  await page.getByTestId("verdict").waitFor();
}

const rows = (page) => page.getByTestId("values-table").locator("tbody tr").allInnerTexts();
const happened = (page) => page.getByTestId("happened").innerText();
const moment = async (page) => Number.parseInt(await page.getByTestId("walk-place").innerText(), 10);

async function press(page, key, to) {
  await page.keyboard.press(key);
  await eventually(`${key} leads to moment ${to}`, async () => (await moment(page)) === to);
  await answered(page);
}

test("the table opens at the first hit, with its leader and its scope", async (t) => {
  const page = await openPage(t);
  await openScopes(page);
  assert.match(await happened(page), /hit[\s\S]*then[\s\S]*Replaced again = add\.u32 b, a by a copy of s[\s\S]*entry/);
  const hit = (await page.locator(".value-table tbody.look-good[data-reached]").innerText()).trim();
  assert.match(hit, /^v\d+\s+add\.u32 v\d+, v\d+\s+s\s+entry$/);
  assert.deepEqual(await page.getByTestId("trail").locator(".chip").allInnerTexts(), ["entry", "then"]);
  const tree = page.getByTestId("small-graph");
  assert.equal(await tree.getAttribute("aria-label"), "dominator tree; open: entry, then");
  assert.equal(await tree.locator(".dot").count(), 3);
  assert.equal(await tree.locator(".here title").evaluate((title) => title.textContent), "then");
  // Each dot is level with its block.
  for (const block of ["entry", "then", "join"]) {
    const dot = await tree.locator(".dot", { has: page.locator("title", { hasText: new RegExp(`^${block}$`) }) }).locator(".point").boundingBox();
    const box = await page.getByTestId(`block-${block}`).boundingBox();
    assert.ok(dot.x + dot.width < box.x && dot.y >= box.y - 1 && dot.y < box.y + 40, `${block}: ${dot.y} beside ${box.y}`);
  }
});

test("a moment back takes entries back, and forward enters them again", async (t) => {
  const page = await openPage(t);
  await openScopes(page);
  const walk = page.getByTestId("walk");
  const last = Number(await walk.getAttribute("max"));
  await walk.focus();
  await press(page, "Home", 0);
  assert.deepEqual(await rows(page), []);
  assert.match(await happened(page), /Before the walk/);
  const seen = [];
  const kinds = new Set();
  for (let at = 1; at <= last; at += 1) {
    await press(page, "ArrowRight", at);
    seen.push((await rows(page)).join("\n"));
    kinds.add(await page.getByTestId("happened").locator(".chip").first().innerText());
  }
  assert.deepEqual([...kinds].sort(), ["closes", "enters", "hit", "holds too", "opens", "refused"]);
  assert.equal(seen.at(-1), "", "when all scopes are closed nothing is left");
  for (let at = last - 1; at >= 1; at -= 1) {
    await press(page, "ArrowLeft", at);
    assert.equal((await rows(page)).join("\n"), seen[at - 1], `moment ${at} looks as on the way there`);
  }
});

test("the transport goes along with the walk, and the walk with the transport", async (t) => {
  const page = await openPage(t);
  await openScopes(page);
  const first = await moment(page);
  assert.equal((await place(page)).at, 1);
  // The keys of the walk work wherever the transport's do.
  await page.locator("#change-sheet").click({ position: { x: 5, y: 5 } });
  await press(page, ".", first + 1);
  await eventually("the next moment leads to the next change", async () => (await place(page)).at === 2);
  await press(page, ",", first);
  await eventually("and back", async () => (await place(page)).at === 1);
  await page.keyboard.press("ArrowRight");
  await eventually("a change forward is its moment", async () => (await moment(page)) > first + 1);
  assert.match(await happened(page), /t = add\.u32 a, b/);
  // The refusal is a moment as well, with its reason.
  await page.getByTestId("hits-and-refusals-table").getByRole("button", { name: /memory/ }).click();
  await eventually("the refusal is shown", async () => /refused[\s\S]*second = ld\.global\.u32/.test(await happened(page)));
  assert.match(await happened(page), /a path between them may change the loaded value/);
  assert.match(await page.locator(".value-table tbody.look-bad[data-reached]").innerText(), /first/, "what could not be taken is marked");
});

test("a link brings the moment back", async (t) => {
  const page = await openPage(t);
  await openScopes(page);
  const walk = page.getByTestId("walk");
  await walk.focus();
  await press(page, "Home", 0);
  for (let at = 1; at <= 4; at += 1) {
    await press(page, "ArrowRight", at);
  }
  const expected = { rows: await rows(page), happened: await happened(page) };
  await page.getByTestId("share").click();
  const link = await page.getByTestId("link").inputValue();
  const other = await openPage(t, { hash: link.slice(link.indexOf("#")) });
  await other.getByTestId("values-table").waitFor();
  await eventually("the moment is the same", async () => (await moment(other)) === 4);
  assert.deepEqual({ rows: await rows(other), happened: await happened(other) }, expected);
});

test("the table and the lines are two sheets, turned by keys; other passes have none", async (t) => {
  const page = await openPage(t);
  await openScopes(page);
  await page.getByRole("tab", { name: "Values" }).focus();
  await page.keyboard.press("ArrowLeft");
  await page.getByTestId("diff").waitFor();
  await eventually("the focus is on its tab", () => page.evaluate(() => document.activeElement.id === "sheet-lines"));
  await page.keyboard.press("ArrowRight");
  await page.getByTestId("values-table").waitFor();
  await page.keyboard.press("Tab");
  // A leader shows where it was computed, in every pane. The keyboard meets one of them; the arrows lead to the others.
  await settled(async () => (await rows(page)).join("\n"));
  const reached = () => page.evaluate(() => document.activeElement.closest("tr")?.rowIndex);
  await page.locator(".value-table tbody.look-good[data-reached] .leader").focus();
  const hit = await reached();
  await page.keyboard.press("ArrowUp");
  await eventually("the row above is reached", async () => (await reached()) === hit - 1);
  await page.keyboard.press("ArrowDown");
  await eventually("the hit is reached again", async () => (await reached()) === hit);
  await page.keyboard.press("Enter");
  await eventually("the editor marks it", async () => /s = add\.u32 a, b/.test(await page.locator(".cm-exact-line").innerText()));
  await page.keyboard.press("Home");
  await eventually("the source has no table", async () => (await page.getByTestId("values-table").count()) === 0);
  assert.equal(await page.getByTestId("small-graph").count(), 0);
});

for (const width of [1440, 320]) {
  test(`axe finds nothing in the table and its tree, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await waitForMistakes(page, "No errors");
    await openScopes(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
    await inBothSchemes(page, async (scheme) => {
      await checkAccessibility(page);
      await screenshot(page, `values-${scheme}-${width}`);
    });
  });
}

test("of a large program the open part of the tree is drawn, and all of the table on demand", async (t) => {
  const page = await openPage(t);
  await openScopes(page);
  // Ninety steps, each with a side way; the same sum of each step is met again at the end.
  const steps = Array.from({ length: 90 }, (_, at) => {
    const sums = [0, 1, 2, 3].map((sum) => `    s${at}_${sum} = add.u32 n, ${4 * at + sum + 1}`).join("\n");
    return `b${at}:\n${sums}\n    br p, side${at}, b${at + 1}\nside${at}:\n    br b${at + 1}`;
  });
  const again = Array.from({ length: 90 }, (_, at) => `    again${at} = add.u32 n, ${4 * at + 1}`).join("\n");
  await pasteProgram(page, `kernel k(n: u32) {\nentry:\n    p = setp.lt.u32 n, 7\n    br b0\n${steps.join("\n")}\nb90:\n${again}\n    ret\n}\n`);
  await waitForMistakes(page, "No errors");
  await answered(page);
  const tree = page.getByTestId("small-graph");
  await eventually("the walk stands in the last block", async () => (await tree.locator(".here title").evaluateAll((all) => all.map((title) => title.textContent))).includes("b90"));
  // `entry`, and the blocks from `b0` to `b90`.
  assert.equal(await tree.locator(".dot").count(), 92);
  const here = await tree.locator(".here .point").boundingBox();
  const block = await page.getByTestId("block-b90").boundingBox();
  assert.ok(here.x < block.x && here.x > block.x - 30 && here.y >= block.y - 1, `${here.x} beside ${block.x}`);
  assert.match(await page.getByTestId("trail").innerText(), /entry\s*›\s*b0\s*›\s*84 more\s*›\s*b85[\s\S]*b90$/);
  assert.equal((await rows(page)).length, 100);
  assert.equal(await page.getByTestId("more").first().innerText(), "Show 262 more rows");
  await screenshot(page, "large-walk");
  await page.getByTestId("more").first().click();
  await eventually("all rows are drawn", async () => (await rows(page)).length === 362);
  assert.equal(await page.getByTestId("more").count(), 0);
  await checkAccessibility(page, '[data-testid="inspection"]');
});
