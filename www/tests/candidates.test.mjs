// The candidates of zero specialisation: weighed, painted before anything is transformed, and transformed by a step.

import assert from "node:assert/strict";
import test from "node:test";
import { checkAccessibility, eventually, inBothSchemes, openPage, pasteProgram, place, screenshot, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

/// Opens a figure from the gallery, at the program that it begins with, with its candidates in sight.
async function openCandidates(page, file) {
  await page.getByTestId("open-examples").click();
  await page.getByTestId(`example-azp/${file}.wir`).click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await page.getByTestId("verdict").waitFor();
  await page.keyboard.press("Home");
  await eventually("the source is shown", async () => (await place(page)).at === 0);
  await page.getByRole("tab", { name: "Candidates" }).click();
  await page.getByTestId("candidates-table").waitFor();
}

const lead = (page) => page.getByTestId("happened").innerText();

/// The lines of the graph that are painted so.
const painted = (page, look) => page.locator(`.marked.look-${look} + text, .marked.look-${look} ~ text:last-child`).allTextContents();

/// The lines of the editor that are painted so.
const inText = (page, look) => page.locator(`.cm-paint-${look}`).allInnerTexts();

test("the slices of a figure are painted on graph and text, and a step forward transforms", async (t) => {
  const page = await openPage(t);
  await openCandidates(page, "figure-3");
  assert.match(await lead(page), /specialise for candidate 3 \(r0 = 0\)\. Step forward/);
  const slices = {
    cause: [/^\{r0, g, b0, a0\} = tex/],
    constant: [/^r4 = mul/, /^r5 = mul/, /^pixout = mul/],
    simpler: [],
    removed: [/^s0 = /, /^rBackward0 = /, /^s1 = /, /^rBackward1 = /, /^s2 = /, /^rBackward2 = /],
  };
  await eventually("the graph is painted", async () => (await painted(page, "removed")).length > 0);
  for (const [look, wanted] of Object.entries(slices)) {
    for (const lines of [await painted(page, look), await inText(page, look)]) {
      assert.equal(lines.length, wanted.length, `${look}: ${lines}`);
      wanted.forEach((line, index) => assert.match(lines[index].trim(), line));
    }
  }
  // The check stands in front of the first line that it may leave out.
  assert.equal(await page.locator(".marked .insertion").count(), 1);
  assert.match(await page.getByTestId("mark-legend").innerText(), /constant \(3\)[^]*not needed \(6\)/);
  // The chart says from which share of zero warps on the check pays, in a drawing and in numbers.
  const chart = page.getByTestId("inspected-chart");
  assert.deepEqual(await chart.locator(".chart-mark text").allTextContents(), ["break-even", "now"]);
  assert.match(await chart.locator("svg[role=img]").getAttribute("aria-label"), /T_δ .* at 0 %, .* at 100 %; now .*break-even at/);
  await chart.locator("summary").click();
  assert.equal(await chart.locator("tbody tr").count(), 5);
  await chart.locator("summary").click();
  await screenshot(page, "candidates-figure-3");
  const cycles = async () => Number((await page.getByTestId("figures").locator("tbody tr").first().locator("td").nth(1).innerText()).replaceAll(",", ""));
  const before = await cycles();
  await page.keyboard.press("ArrowRight");
  await eventually("the step transforms", async () => (await place(page)).at === 1);
  await eventually("nothing is good enough any more", async () => /No further candidate/.test(await lead(page)));
  assert.equal(await page.locator(".marked.look-removed").count(), 0);
  await eventually("it takes less time", async () => (await cycles()) < before);
  // The pane goes back to what it showed before, and the colours with it.
  await page.keyboard.press("ArrowLeft");
  await eventually("the slices are painted again", async () => (await painted(page, "removed")).length === 6);
  await page.getByRole("tab", { name: "Change", exact: true }).click();
  assert.equal(await page.locator(".marked").count(), 0);
  assert.equal(await page.locator(".cm-paint").count(), 0);
});

test("a row has the paper's figures, and agrees with what the pass says when it transforms", async (t) => {
  const page = await openPage(t);
  await openCandidates(page, "three-steps");
  const cells = async (row) => (await row.locator("tr").first().locator("th, td").allInnerTexts()).map((cell) => cell.trim());
  const heads = await page.getByTestId("candidates-table").locator("thead th").allInnerTexts();
  assert.deepEqual(heads.map((head) => head.replaceAll(/\s/g, "")), ["#", "Registers", "P", "Pind", "TR", "TS", "Tcheck", "Tδ", "su", "suthresh", "Mem", "|S|"]);
  assert.match(await page.getByTestId("candidates-table").locator("thead th").nth(7).getAttribute("title"), /negative number is a gain/);
  for (let step = 1; step <= 3; step += 1) {
    const best = page.locator(".inspected-table tbody.look-good");
    await eventually(`candidates of round ${step}`, async () => (await best.count()) === 1 && (await place(page)).at === step - 1);
    const [number, registers, , product, region, special, check, delta, su, threshold, memory, blocks] = await cells(best);
    const verdict = await best.locator(".verdict-row").innerText();
    const [p, tr, ts, tc, td] = [product, region, special, check, delta].map((cell) => Number.parseFloat(cell.replace("−", "-")));
    // Equations 5 and 6.
    assert.ok(Math.abs((p / 100) * ts + (1 - p / 100) * tr + tc - tr - td) < 0.6, `T_δ of ${number}`);
    assert.ok(Math.abs((tr - ts - tc) / tr - Number(su.replace("−", "-"))) < 0.01);
    assert.ok(Math.abs(Math.exp(-Number(blocks) / (50 + 10 * Number(memory))) - Number(threshold)) < 0.001);
    await page.keyboard.press("ArrowRight");
    await eventually("a step", async () => (await place(page)).at === step);
    await page.getByRole("tab", { name: "Change", exact: true }).click();
    const reason = await page.getByTestId("reason").innerText();
    const said = reason.replaceAll(/\s+/g, " ");
    assert.ok(said.includes(`candidate ${number} `), `${number} in ${said}`);
    registers.split(" ").forEach((register) => assert.ok(said.includes(register)));
    const sentence = verdict.replace(/^\s*specialise\s*/, "").replaceAll(/\s+/g, " ").trim();
    assert.ok(said.includes(sentence), `${sentence} in ${said}`);
    await page.getByRole("tab", { name: "Candidates" }).click();
  }
  await eventually("none is left", async () => /No further candidate/.test(await lead(page)));
  assert.match(await page.getByTestId("inspection-note").innerText(), /sign of a zero, NaN and infinity/);
  await page.getByTestId("fast-math").uncheck();
  await eventually("nothing is licensed", async () => (await page.getByTestId("inspection-note").count()) === 0);
});

test("the keyboard goes through the candidates, each of which is painted", async (t) => {
  const page = await openPage(t);
  await openCandidates(page, "three-steps");
  const rows = page.locator(".inspected-table tbody").filter({ has: page.locator("button") });
  await rows.first().getByRole("button").focus();
  for (let at = 1; at < (await rows.count()); at += 1) {
    await page.keyboard.press("ArrowDown");
    const button = rows.nth(at).getByRole("button");
    await eventually("the next one is painted", async () => (await button.getAttribute("aria-pressed")) === "true");
    assert.ok(await button.evaluate((element) => element === document.activeElement), "and has the focus");
    await eventually("its register is named", async () => /assumed zero \([1-4]\)/.test(await page.getByTestId("mark-legend").innerText()));
    const registers = (await rows.nth(at).locator("tr").first().locator("th, td").nth(1).innerText()).split(" ");
    const written = async () => (await inText(page, "cause")).map((line) => line.trim().split(" = ")[0]);
    await eventually("its writes are painted", async () => (await written()).join(" ") === registers.join(" "));
  }
  assert.equal((await place(page)).at, 0, "nothing was transformed");
  await rows.nth(1).locator(".words").click();
  await eventually("a click paints as well", async () => (await rows.nth(1).getByRole("button").getAttribute("aria-pressed")) === "true");
});

test("what is no candidate says why, and where nothing is known that is said", async (t) => {
  const page = await openPage(t);
  await openCandidates(page, "figure-1");
  const source = (profile) => `kernel k(x: ptr.global restrict, y: ptr.global restrict) {
entry:
    i = mov.u32 %tid
    a = ld.global.f32 x[i]
    b = mul.f32 a, 2.0
    c = ld.global.f32 x[i + 32]
    st.global.f32 y[i], b
    st.global.f32 y[i + 32], c
    ret
${profile}}
`;
  await pasteProgram(page, source("    profile zero {\n        entry.a: 0.9\n        entry.b: 0.9\n        entry.c: 0.1\n    }\n"));
  await waitForMistakes(page, "No errors");
  await page.getByTestId("candidates-table").waitFor();
  await eventually("the filtered ones are listed", async () => (await page.locator(".inspected-table tbody").count()) === 3);
  const verdicts = (await page.locator(".verdict-row").allInnerTexts()).join("\n");
  assert.match(verdicts, /unlikely\s+c is zero in 10 % of warps; p_thresh is 32 %/);
  assert.match(verdicts, /propagator\s+b is zero because a is/);
  assert.match(await lead(page), /changes nothing/);
  await pasteProgram(page, source(""));
  await eventually("no profile", async () => /No profile says/.test(await lead(page)));
  await page.getByTestId("profile").check();
  await eventually("a measured one", async () => (await page.locator(".inspected-table tbody").count()) > 0);
});

for (const width of [1440, 320]) {
  test(`candidates can be read, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await openCandidates(page, "three-steps");
    await eventually("it is painted", async () => (await page.locator(".marked").count()) > 0);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wider <= 0, `the page is ${wider} px too wide`);
    await inBothSchemes(page, async (scheme) => {
      await checkAccessibility(page, ".change");
      await checkAccessibility(page, ".graph");
      await checkAccessibility(page, ".source");
      await screenshot(page, `candidates-${scheme}-${width}`);
    });
  });
}
