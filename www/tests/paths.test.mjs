// The executed paths: strands and a table, the sets of a statement at a join, and the statement's way down.

import assert from "node:assert/strict";
import test from "node:test";
import { checkAccessibility, eventually, inBothSchemes, openPage, pasteProgram, place, programText, screenshot, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

/// Opens a figure from the gallery, at the program that it begins with, with its paths in sight.
async function openPaths(page, file, pass = "pde") {
  await page.getByTestId("open-examples").click();
  await page.getByTestId(`example-${pass}/${file}.wir`).click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await page.getByTestId("verdict").waitFor();
  await page.keyboard.press("Home");
  await eventually("the source is shown", async () => (await place(page)).at === 0);
  await page.getByTestId("paths-table").waitFor();
  await eventually("something comes next", async () => /^Next/.test(await lead(page)));
}

const notes = async (page) => (await page.getByTestId("inspection-note").allInnerTexts()).join("\n");
const lead = (page) => page.getByTestId("happened").innerText();
// A word joiner keeps its terms together.
const line = async (page) => (await page.getByTestId("decided").innerText()).replaceAll("\u2060", "");

/// The bits of a column, by the paths' frequencies.
async function having(page, column) {
  const rows = page.getByTestId("paths-table").locator("tbody tr");
  const found = [];
  for (let at = 0; at < (await rows.count()); at += 1) {
    const row = rows.nth(at);
    if ((await row.locator("td.flag").nth(column).innerText()) === "1") {
      found.push(Number(await row.locator("input").inputValue()));
    }
  }
  return found;
}

const moment = async (page) => Number((await page.getByTestId("walk-place").innerText()).split("/")[0]);
const forward = (page) => page.getByTestId("transport").getByRole("button", { name: "One moment forward" });

test("a figure's paths are strands and rows, with the sets of a statement at a join", async (t) => {
  const page = await openPage(t);
  await openPaths(page, "figure-5");
  assert.match(await lead(page), /x = mul\.f32 a, b sinks/);
  assert.equal(await page.getByTestId("paths-table").locator("tbody tr").count(), 8);
  assert.equal(await line(page), "Saves 150 × 1 T[s], costs 100 × 1 T[p?s]: worth it");
  assert.deepEqual(await having(page, 0), [125, 25, 10]);
  assert.deepEqual(await having(page, 1), [125, 25, 10, 10]);
  assert.deepEqual(await having(page, 2), [125, 25]);
  assert.deepEqual(await having(page, 3), [50, 50]);
  assert.match(await notes(page), /Decided per path.*no warp profile.*lose: 1 cycle before, 3 after.*pde\.cost=warp/s);
  // Side by side: along an edge no two strands have the same line.
  const strands = page.locator(".strands .strand");
  const lines = await strands.evaluateAll((all) => all.map((strand) => strand.getAttribute("d")));
  assert.ok(lines.length > 20 && new Set(lines).size === lines.length, `${lines.length} strands`);
  const widths = await strands.evaluateAll((all) => all.map((strand) => [Number(strand.getAttribute("class").match(/s(\d)$/)[1]), Number(strand.getAttribute("stroke-width"))]));
  const width = (path) => widths.find(([of]) => of === path)[1];
  assert.ok(width(0) > 2 * width(1) && width(1) > width(2) && width(6) > width(1), "the more frequent the thicker");
  // The other join, with the keyboard.
  await page.getByTestId("choice-join").getByRole("radio").first().focus();
  await page.keyboard.press("ArrowRight");
  await eventually("the other join is shown", async () => (await line(page)) === "By itself: saves 25 × 1 T[s], costs 100 × 1 T[p?s]: not worth it");
  assert.deepEqual([await having(page, 2), await having(page, 3)], [[25], [50, 50]]);
  // And with the mouse, on the graph.
  await page.getByTestId("block-n5").locator(".label").click();
  await eventually("the first one is shown", async () => /^Saves 150/.test(await line(page)));
  // A path stands out.
  await page.locator("#path-0").focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator("#path-1").getAttribute("aria-pressed"), "true");
  assert.equal(await page.locator(".strand.chosen.s1").count(), 6);
  assert.equal(await page.locator(".on-path").count(), 7);
  await page.locator("#path-1").click();
  assert.equal(await page.locator(".strand.chosen").count(), 0);
});

test("a statement is chosen from the list, or in graph and text", async (t) => {
  const page = await openPage(t);
  await openPaths(page, "figure-5");
  const verdict = () => notes(page);
  await page.getByTestId("choice-statement").selectOption({ label: "y = add.f32 x, 11.0 · n11 · kept" });
  await eventually("that one is told", async () => /^needed Kept y = add\.f32 x, 11\.0/.test(await verdict()));
  await page.getByTestId("block-n1").getByText("i = mad.u32").click();
  await eventually("what is no statement says why", async () => /cannot leave its block/.test(await verdict()));
  await page.getByTestId("block-n2").getByText("x = mul.f32").click();
  await eventually("it is told again", async () => /sinks to n11 under p1/.test(await verdict()));
  assert.equal((await place(page)).at, 0, "nothing was changed");
});

test("of many paths the most frequent are strands, and the others are counted", async (t) => {
  const page = await openPage(t);
  await openPaths(page, "figure-3");
  assert.equal(await page.getByTestId("paths-table").locator("tbody tr").count(), 12);
  assert.match(await page.getByTestId("inspection").innerText(), /shows the first 8 of these 12, and the row that is chosen/);
  assert.deepEqual((await having(page, 3)).toSorted((a, b) => a - b), [2, 4, 16, 32, 1024, 2048]);
  assert.deepEqual(await having(page, 2), [64]);
  assert.equal(await page.locator(".strand.other").count(), 0);
  // One that stands out is drawn all the same.
  await page.locator("#path-11").click();
  assert.equal(await page.locator(".strand.other.chosen").count(), 5);
});

test("another frequency is a question, until it is written into the program", async (t) => {
  const page = await openPage(t);
  await openPaths(page, "figure-5");
  const first = page.getByRole("spinbutton", { name: "Frequency of P1", exact: true });
  const edit = async (frequency) => {
    await first.fill(frequency);
    await first.press("Enter");
  };
  await edit("20");
  await eventually("the line follows", async () => (await line(page)) === "Saves 45 × 1 T[s], costs 100 × 1 T[p?s]: not worth it");
  assert.match(await lead(page), /With these frequencies, nothing would sink/);
  assert.match(await notes(page), /does not pass n5.*costs more/);
  assert.ok((await programText(page)).includes("n1 n2 n5 n7 n12: 125"), "the program is as it was");
  await page.getByTestId("forget-entries").click();
  await eventually("it is as before", async () => /^Saves 150/.test(await line(page)));
  await edit("20");
  await page.getByTestId("offer").click();
  await eventually("the program says it", async () => (await programText(page)).includes("n1 n2 n5 n7 n12: 20"));
  assert.ok(!(await programText(page)).includes(": 125"));
  await waitForMistakes(page, "No errors");
  await eventually("the pass knows it", async () => /changes nothing/.test(await lead(page)));
  await eventually("and finds nothing", async () => (await place(page)).last <= 1 && (await page.getByTestId("offer").count()) === 0);
});

test("a statement goes its way moment by moment, by hand and by itself", async (t) => {
  const page = await openPage(t);
  await openPaths(page, "figure-5");
  const words = [];
  const count = (selector) => page.locator(`.way ${selector}`).count();
  const seen = [];
  const top = async () => (await page.getByTestId("paths-table").boundingBox()).y;
  const atFirst = await top();
  for (let at = 1; at <= 7; at += 1) {
    await forward(page).click();
    await eventually("a moment passes", async () => (await moment(page)) === at);
    words.push(await page.getByTestId("happened").locator(".chip").innerText());
    assert.ok(Math.abs((await top()) - atFirst) < 2, `the table jumps at moment ${at}`);
    seen.push({ wet: await count(".wet"), flood: await count(".flood"), signs: await count(".sign"), dropped: await count(".sign.removed"), guarded: await page.locator(".way .sign text", { hasText: "@p1" }).count() });
  }
  assert.deepEqual(words, ["delayed", "delayed", "delayed", "delayed", "inserted", "eliminated", "predicate"]);
  for (let at = 1; at < seen.length; at += 1) {
    for (const [what, many] of Object.entries(seen[at])) {
      assert.ok(many >= seen[at - 1][what], `${what} at ${at}`);
    }
  }
  assert.deepEqual(seen[3].signs, 0, "nothing is inserted while it is delayed");
  assert.deepEqual([seen[4].signs, seen[4].dropped, seen[5].dropped], [3, 0, 2]);
  assert.deepEqual([seen[4].guarded, seen[5].guarded, seen[6].guarded], [0, 0, 1], "the predicate comes last");
  assert.ok(seen[0].wet > 0 && seen[3].wet > seen[0].wet);
  assert.match(await lead(page), /predicate p1 is true on the paths with the statement/);
  assert.equal((await place(page)).at, 0, "nothing has changed yet");
  // A key goes on to the change, and what is foretold there happens.
  await page.keyboard.press(".");
  await eventually("it has sunk", async () => (await place(page)).at === 1);
  await eventually("nothing sinks any more", async () => /Nothing left to sink/.test(await lead(page)));
  assert.match(await page.getByTestId("block-n11").innerText().catch(() => page.getByTestId("block-n11").textContent()), /@p1 x = mul/);
  await page.keyboard.press("Home");
  await eventually("back at the source", async () => /^Next/.test(await lead(page)));
  await page.getByTestId("pace").selectOption("4");
  await page.getByTestId("transport").getByTestId("ask").click();
  await eventually("it goes by itself", async () => (await place(page)).at === 1);
  await eventually("and rests", async () => (await page.getByTestId("inspection").getByRole("button", { name: "Play the moments" }).count()) === 1 || (await page.getByTestId("ask").count()) === 0);
});

test("a link holds position and moment", async (t) => {
  const page = await openPage(t);
  await openPaths(page, "figure-6");
  for (let at = 1; at <= 3; at += 1) {
    await forward(page).click();
    await eventually("a moment passes", async () => (await moment(page)) === at);
  }
  const told = await lead(page);
  await page.getByTestId("share").click();
  const link = await page.getByTestId("link").inputValue();
  const other = await openPage(t, { hash: link.slice(link.indexOf("#")) });
  await other.getByTestId("paths-table").waitFor();
  await eventually("the same moment is shown", async () => (await lead(other)) === told && (await moment(other)) === 3);
});

test("without a profile that is said, and a measured one serves", async (t) => {
  const page = await openPage(t);
  await openPaths(page, "figure-1");
  const text = await programText(page);
  await pasteProgram(page, text.replace(/ {4}profile path \{[^}]*\}\n/, ""));
  await waitForMistakes(page, "No errors");
  await eventually("no profile", async () => /No profile path or profile edge says/.test(await lead(page)));
  assert.equal(await page.getByTestId("strands").locator(".strand").count(), 0);
  await page.getByTestId("profile").check();
  await eventually("a measured one", async () => (await page.getByTestId("paths-table").count()) === 1);
  assert.match(await page.getByTestId("inspection").innerText(), /Frequencies: measured/);
});

test("rows and bits are in sight, and what the terms mean is said", async (t) => {
  const page = await openPage(t, { viewport: { width: 1440, height: 900 } });
  await openPaths(page, "figure-5");
  const [pane, rows] = await Promise.all([
    page.getByTestId("inspection").getByRole("region", { name: /^Paths/ }).boundingBox(),
    page.getByTestId("paths-table").locator("tbody tr").evaluateAll((all) => all.map((row) => row.getBoundingClientRect().bottom)),
  ]);
  const seen = rows.filter((bottom) => bottom <= pane.y + pane.height + 1).length;
  assert.ok(seen >= 8, `${seen} rows of ${rows.length}`);
  const cut = await page.getByTestId("paths-table").locator("input").evaluateAll((all) => all.filter((input) => input.scrollWidth > input.clientWidth).length);
  assert.equal(cut, 0, "no frequency is cut");
  const terms = page.getByTestId("terms");
  const summary = await terms.boundingBox();
  assert.ok(summary.y + summary.height < pane.y + pane.height, "what opens the legend is in sight");
  await terms.focus();
  await page.keyboard.press("Enter");
  const [open] = [await page.getByTestId("terms-list").boundingBox()];
  assert.ok(open.y + open.height <= pane.y + pane.height, "and the legend is");
  const legend = await page.getByTestId("terms-list").innerText();
  assert.match(legend, /T\[s\]\s+cycles of s/);
  assert.match(legend, /avail\s+X-APATHS: s reaches n5 along the path/);
  assert.doesNotMatch(legend, /T\[p\]/, "the program has the predicate");
  await page.keyboard.press("Enter");
  await page.setViewportSize({ width: 320, height: 800 });
  const table = page.getByTestId("paths-table");
  const inner = await page.getByTestId("inspection").boundingBox();
  const ends = await table.locator("tr > :last-child").evaluateAll((all) => all.map((cell) => cell.getBoundingClientRect().right));
  const [link, joins] = [await terms.boundingBox(), await page.getByTestId("choice-join").boundingBox()];
  assert.ok(link.x >= joins.x + joins.width || link.y >= joins.y + joins.height, "what opens the legend lies on no join");
  assert.ok(Math.max(...ends) <= inner.x + inner.width + 0.5, "all bits are seen on a phone");
  assert.equal(await table.locator("tbody tr").first().getByRole("cell").count(), 6, "it is still a table");
});

/// How many rows end within the sheet.
async function rowsInSight(page) {
  const pane = await page.getByTestId("inspection").getByRole("region", { name: /^Paths/ }).boundingBox();
  const rows = await page.getByTestId("paths-table").locator("tbody tr").evaluateAll((all) => all.map((row) => row.getBoundingClientRect().bottom));
  return rows.filter((bottom) => bottom <= pane.y + pane.height + 1).length;
}

for (const [width, height, rows] of [[1240, 800, 6], [1024, 768, 8]]) {
  test(`several rows are in sight, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height } });
    await openPaths(page, "figure-5");
    const seen = await rowsInSight(page);
    assert.ok(seen >= rows, `${seen} rows`);
  });
}

test("what the paper counts stands beside the true count", async (t) => {
  const page = await openPage(t, { viewport: { width: 1440, height: 900 } });
  await openPaths(page, "figure-6");
  assert.equal(await line(page), "Saves 85 × 1 T[s], costs 5 × 1 T[p?s]: worth it");
  const printed = page.getByTestId("decided-aside");
  assert.equal(await printed.innerText(), "the paper counts 95");
  const [pane, place] = [await page.getByTestId("inspection").boundingBox(), await printed.boundingBox()];
  assert.ok(place.y + place.height <= pane.y + pane.height, "in sight");
  assert.equal(await rowsInSight(page), 7, "with all paths");
});

for (const width of [1440, 320]) {
  test(`a long path can be read whole, by keyboard too, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await openPaths(page, "figure-10");
    await pasteProgram(page, (await programText(page)).replaceAll(/\bn(\d+)\b/g, "a_long_name_$1"));
    await waitForMistakes(page, "No errors");
    await eventually("the names are long", async () => /a_long_name_12/.test(await page.getByTestId("paths-table").innerText()));
    const last = page.getByTestId("row-11").locator(".path");
    const isWhole = () => last.evaluate((cell) => cell.scrollWidth <= cell.clientWidth && cell.scrollHeight <= cell.clientHeight + 1);
    // As it is edited, and as it is chosen.
    await page.getByRole("spinbutton", { name: "Frequency of P12", exact: true }).focus();
    assert.ok(await isWhole(), "where a frequency is written");
    await page.locator("#path-0").focus();
    assert.equal(await isWhole(), width === 320, "on a phone it always is");
    // End belongs to the transport.
    for (let row = 1; row <= 11; row += 1) {
      await page.keyboard.press("ArrowDown");
      await eventually(`row ${row} is chosen`, async () => (await page.locator(`#path-${row}`).getAttribute("aria-pressed")) === "true");
    }
    await eventually("the last one is chosen", async () => (await page.locator("#path-11").getAttribute("aria-pressed")) === "true");
    assert.ok(await isWhole(), "where it is chosen");
    assert.match(await last.innerText(), /a_long_name_1 a_long_name_3 .* a_long_name_12/s);
  });
}

test("a join that is not passed is told on the way, and what an earlier one needs says so", async (t) => {
  const page = await openPage(t);
  const top = async () => (await page.getByTestId("paths-table").boundingBox()).y;
  const sentences = async (figure) => {
    await openPaths(page, figure);
    const [told, atFirst] = [[], await top()];
    while (!(await forward(page).isDisabled())) {
      const at = await moment(page);
      await forward(page).click();
      await eventually("a moment passes", async () => (await moment(page)) === at + 1);
      told.push(await lead(page));
      assert.ok(Math.abs((await top()) - atFirst) < 2, `the table jumps at "${told.at(-1)}"`);
    }
    return told;
  };
  const refused = (await sentences("figure-3")).find((told) => /refused/.test(told));
  assert.match(refused, /join n4 on some paths only, and stops: Saves 64 .*, costs 3126 .*: not worth it/);
  assert.equal(await page.locator(".way .stop").count(), 1);
  assert.match((await sentences("figure-10")).at(-1), /A new one, q, is false at first/);
  const nine = (await sentences("figure-5")).find((told) => /the join n9/.test(told));
  assert.match(nine, /and passes as the benefit of n5 needs that. By itself: saves 25/);
});

test("what stands beside a block on the way lies on no other text and is not cut", async (t) => {
  const page = await openPage(t);
  for (const figure of ["figure-1", "figure-3", "figure-5", "figure-6", "figure-10", "printed-rule", "figure-11"]) {
    await openPaths(page, figure, figure === "figure-11" ? "spec-pre" : "pde");
    while (!(await forward(page).isDisabled())) {
      const at = await moment(page);
      await forward(page).click();
      await eventually("a moment passes", async () => (await moment(page)) === at + 1);
    }
    const found = await page.evaluate(() => {
      const box = (element) => element.getBoundingClientRect();
      const texts = [...document.querySelectorAll(".way .sign text")];
      const rows = [...document.querySelectorAll(".canvas .block text")];
      const canvas = box(document.querySelector(".canvas"));
      const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
      const cut = texts.filter((text) => box(text).right > canvas.right + 1 || box(text).left < canvas.left - 1);
      const hidden = texts.flatMap((text) => rows.filter((row) => meet(box(text), box(row))).map((row) => `${text.textContent} on ${row.textContent}`));
      return { texts: texts.length, cut: cut.map((text) => text.textContent), hidden };
    });
    assert.ok(found.texts > 0);
    assert.deepEqual([found.cut, found.hidden], [[], []], figure);
  }
});

test("an evaluation comes up past a branch, and rests where that does not pay", async (t) => {
  const page = await openPage(t);
  await openPaths(page, "figure-11", "spec-pre");
  assert.match(await lead(page), /^Next, add\.u32 x, y is evaluated once/);
  assert.equal(await page.getByTestId("choice-statement").locator("option").count(), 1);
  assert.equal(await line(page), "Saves 19 × 1 T, costs 5 × 1 T: worth it");
  assert.deepEqual(await page.getByTestId("paths-table").locator("th.flag").allInnerTexts(), ["avail", "antic", "benefit", "cost"]);
  assert.deepEqual([await having(page, 0), await having(page, 1)], [[10, 9, 8, 7], [10, 9, 6]]);
  assert.deepEqual([await having(page, 2), await having(page, 3)], [[10, 9], [5]]);
  const told = [];
  while (!(await forward(page).isDisabled()) && told.length < 5) {
    const at = await moment(page);
    await forward(page).click();
    await eventually("a moment passes", async () => (await moment(page)) === at + 1);
    told.push(await lead(page));
  }
  assert.match(told[0], /comes up ahead of n6, though not all paths on need it/);
  assert.match(told[2], /In n2 its value is available/);
  assert.deepEqual(await page.locator(".way .sign:not(.removed) text").allTextContents(), ["add.u32 x, y"]);
  assert.deepEqual(await page.locator(".way .sign.removed text").allTextContents(), ["b ×"]);
  await checkAccessibility(page);
  // Another frequency, and it does not pay.
  await page.getByRole("spinbutton", { name: "Frequency of P5", exact: true }).fill("20");
  await page.keyboard.press("Enter");
  await eventually("it does not pay", async () => (await line(page)) === "Saves 19 × 1 T, costs 20 × 1 T: not worth it");
  assert.match(await notes(page), /not evaluated ahead of n6/);
  await page.getByTestId("forget-entries").click();
  await eventually("it pays again", async () => /^Saves 19 .*, costs 5 .*: worth it/.test(await line(page)));
  // A step of the pass does what was told.
  await page.keyboard.press("ArrowRight");
  await eventually("it has moved", async () => (await place(page)).at === 1);
  await eventually("nothing is left", async () => /Nothing left to gain/.test(await lead(page)));
});

test("what a reason rests on is told in words", async (t) => {
  const page = await openPage(t);
  await openPaths(page, "figure-5");
  await page.keyboard.press("ArrowRight");
  await eventually("it has sunk", async () => (await place(page)).at === 1);
  await page.getByRole("tab", { name: "Change", exact: true }).click();
  const reason = await page.getByTestId("reason").innerText();
  assert.match(reason, /executions that paths lose\s+150/);
  assert.doesNotMatch(await page.getByTestId("reason").locator("dl").innerText(), /_/);
});

for (const figure of ["figure-3", "figure-6"]) test(`strands of different edges keep apart, ${figure}`, async (t) => {
  const page = await openPage(t);
  await openPaths(page, figure);
  // Each strand by its edge, as level and upright parts of its line with half its width on both sides.
  const strands = await page.locator(".strands .strand").evaluateAll((all) =>
    all.map((strand) => {
      const numbers = strand.getAttribute("d").match(/-?[\d.]+/g).map(Number);
      const points = Array.from({ length: numbers.length / 2 }, (_, at) => [numbers[2 * at], numbers[2 * at + 1]]);
      const half = Number(strand.getAttribute("stroke-width")) / 2;
      const level = points.slice(1).map((to, at) => [points[at], to]).filter(([from, to]) => Math.abs(from[1] - to[1]) < 0.05 && Math.abs(from[0] - to[0]) > 1);
      const parts = level.map(([from, to]) => ({ left: Math.min(from[0], to[0]), right: Math.max(from[0], to[0]), top: from[1] - half, bottom: from[1] + half }));
      return { title: strand.querySelector("title").textContent, parts };
    }),
  );
  assert.ok(strands.some((strand) => strand.parts.length > 0));
  for (const [at, a] of strands.entries()) {
    for (const b of strands.slice(at + 1)) {
      const touch = a.parts.some((p) => b.parts.some((q) => p.left < q.right && q.left < p.right && p.top < q.bottom - 0.2 && q.top < p.bottom - 0.2));
      assert.ok(!touch, `${a.title} lies on ${b.title}`);
    }
  }
});

for (const width of [1440, 320]) {
  test(`paths can be read, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    for (const [figure, pass] of [["figure-1", "pde"], ["figure-3", "pde"], ["figure-5", "pde"], ["figure-6", "pde"], ["figure-11", "spec-pre"]]) {
      await openPaths(page, figure, pass);
      await screenshot(page, `paths-${figure}-${width}`);
      while (!(await forward(page).isDisabled())) {
        const at = await moment(page);
        await forward(page).click();
        await eventually("a moment passes", async () => (await moment(page)) === at + 1);
      }
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wider <= 0, `the page is ${wider} px too wide`);
      await inBothSchemes(page, async (scheme) => {
        await checkAccessibility(page, ".change");
        await checkAccessibility(page, ".graph");
        await screenshot(page, `paths-${figure}-${scheme}-${width}-end`);
      });
    }
  });
}

/// Past `m` it sinks with a predicate, and comes to `j` on all ways then.
const BEHIND = `kernel k(a: f32, b: f32, c: u32, o: ptr.global restrict) {
    input other: f32
n0:
    i = mov.u32 %tid
    p0 = setp.lt.u32 i, 3
    br p0, n1, n2
n1:
    x = mul.f32 a, b
    p1 = setp.eq.u32 i, 1
    br p1, m, j
n2:
    x = in.f32 other
    br m
m:
    p2 = setp.eq.u32 c, 1
    br p2, j, e
j:
    br u
u:
    st.global.f32 o[i], x
    ret
e:
    ret
    profile path {
        n0 n1 m e: 100
        n0 n1 j u: 10
        n0 n1 m j u: 1
        n0 n2 m j u: 5
    }
}
`;

test("a join behind one that is passed with a predicate is passed as well", async (t) => {
  const page = await openPage(t);
  await openPaths(page, "figure-1");
  await pasteProgram(page, BEHIND);
  await waitForMistakes(page, "No errors");
  await page.getByTestId("transport").getByRole("button", { name: "First", exact: true }).click();
  await eventually("something comes next", async () => /x = mul\.f32 a, b sinks/.test(await lead(page)));
  await page.getByTestId("block-j").locator(".label").click();
  await eventually("why is told", async () =>
    /It reaches j on all paths, as it passes other joins with a predicate/.test(await notes(page)),
  );
  await page.getByTestId("block-m").locator(".label").click();
  await eventually("the one in front was weighed", async () => /It passes m with a predicate: that pays/.test(await notes(page)));
});
