// The simulator pane: sliders, runs side by side, stopping, lanes, machines.

import assert from "node:assert/strict";
import test from "node:test";
import { checkAccessibility, eventually, openPage, pasteProgram, screenshot, settled, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

const figure = (page, name) => page.getByTestId(`figure-${name}`).locator("td").first().innerText();

/// The page, after the example has run.
async function openAndRun(t, options) {
  const page = await openPage(t, options);
  await page.getByTestId("verdict").waitFor();
  return page;
}

/// Moves a slider as a hand would, by the keyboard, and returns what a figure was before and is after.
async function slide(page, slider, key, name) {
  const before = await figure(page, name);
  await page.getByTestId(`slider-${slider}`).press(key);
  const after = await eventually(`${slider} changes ${name}`, async () => {
    const now = await figure(page, name);
    return now !== before && now;
  });
  return [before, after].map((text) => Number(text.replace(/[^\d.]/g, "")));
}

test("less divergence makes a run more efficient and shorter", async (t) => {
  const page = await openAndRun(t);
  const [low, high] = await slide(page, "x-coherence", "Home", "simt-efficiency");
  assert.ok(high > low, `${low} % to ${high} %`);
  const [short, long] = await slide(page, "x-coherence", "End", "cycles");
  assert.ok(long > short, `${short} to ${long} cycles`);
  assert.equal(await page.getByTestId("slider-x-coherence").locator("xpath=following-sibling::output").innerText(), "100 %");
});

test("more zeros change the work, and the launch's own values come back", async (t) => {
  const page = await openAndRun(t);
  const at = await figure(page, "cycles");
  await slide(page, "x-zero", "End", "cycles");
  await page.getByTestId("reset-values").click();
  await eventually("the cycles are as they were", async () => (await figure(page, "cycles")) === at);
});

test("a buffer that the kernel only stores to offers no sliders at first sight", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("verdict").waitFor();
  await page.getByTestId("slider-x-zero").waitFor();
  const written = page.getByTestId("written-only");
  assert.match(await written.locator("summary").innerText(), /Write-only buffers: y/);
  assert.equal(await page.getByTestId("slider-y-zero").isVisible(), false);
  await written.locator("summary").click();
  await page.getByTestId("slider-y-zero").waitFor();
});

test("passes know the profile that a run measures, or the one that is declared, and a link says which", async (t) => {
  const page = await openAndRun(t);
  await page.getByTestId("open-examples").click();
  await page.getByTestId("example-questions/cold-side.wir").click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  const profile = page.getByTestId("profile");
  await eventually("the example measures", () => profile.isChecked());
  assert.match(await page.getByTestId("stage-0").innerText(), /cost = machine/);
  const loadsInCold = () => page.getByTestId("block-cold").locator("text", { hasText: "ld.global" }).count();
  const last = page.getByRole("button", { name: "Last", exact: true });
  await eventually("the transport stands at the end", async () => (await last.isDisabled()) || (await last.click(), false));
  await eventually("a load stands where hardly a warp comes", async () => (await loadsInCold()) === 1);
  await page.getByTestId("share").click();
  const link = await page.getByTestId("link").inputValue();
  await page.keyboard.press("Escape");
  await profile.uncheck();
  await eventually("without a profile it does not", async () => (await loadsInCold()) === 0);
  // A slider changes what is measured: where every warp comes, a load costs what it saves.
  await profile.check();
  await eventually("measured again", async () => (await loadsInCold()) === 1);
  await page.getByTestId("slider-p-true").press("Home");
  await eventually("no lane takes the other side", async () => (await loadsInCold()) === 0);
  const other = await openPage(t, { hash: link.slice(link.indexOf("#")) });
  await eventually("the link measures", () => other.getByTestId("profile").isChecked());
});

test("an input has a slider for how often it is true", async (t) => {
  const page = await openAndRun(t);
  await page.getByTestId("open-examples").click();
  await page.getByTestId("example-detour.wir").click();
  await page.getByTestId("slider-long-true").waitFor();
  await page.getByTestId("block-round").waitFor();
  await settled(() => figure(page, "cycles"));
  const [, never] = await slide(page, "long-true", "Home", "cycles");
  const [, always] = await slide(page, "long-true", "End", "cycles");
  assert.ok(always > 2 * never, `${never} to ${always} cycles`);
  // When all take the long way nobody diverges.
  assert.equal(await figure(page, "divergent-branches"), "0");
});

test("both runs are shown, with the issues by active lanes and idle cycles by cause", async (t) => {
  const page = await openAndRun(t);
  assert.match(await page.getByTestId("verdict").innerText(), /same memory/);
  for (const name of ["cycles", "warp-instructions", "simt-efficiency", "divergent-branches", "global-loads", "bank-conflicts"]) {
    const cells = await page.getByTestId(`figure-${name}`).locator("td").allInnerTexts();
    assert.match(cells.slice(0, 2).join(" "), /^\d\S*( %)? \d\S*( %)?$/, `${name}: ${cells}`);
  }
  assert.equal(await page.getByTestId("occupancy").locator("svg").count(), 2);
  assert.match(await page.getByTestId("figures").innerText(), /Stalled: memory/);
});

test("results by block and by instruction, for any figure; a row selects everywhere", async (t) => {
  const page = await openAndRun(t);
  const whole = Number((await figure(page, "cycles")).replace(",", ""));
  await page.getByRole("radio", { name: "Blocks" }).check();
  const table = page.getByTestId("by-block");
  const cells = async () => (await table.locator("tbody tr td:nth-child(2)").allInnerTexts()).map((text) => Number(text.replace(",", "")));
  assert.equal((await cells()).reduce((sum, cycles) => sum + cycles), whole, "the blocks' cycles are the launch's");
  // A block that a pass took away has no figures after it.
  assert.match(await table.locator("tr", { hasText: "forward" }).innerText(), /forward\s+7\s+–/);
  await table.getByRole("button", { name: "loop" }).click();
  assert.equal(await page.getByTestId("block-loop").getAttribute("aria-current"), "true");
  await page.locator(".cm-marked-line", { hasText: "root = sqrt" }).waitFor();
  assert.match(await page.getByTestId("block-figure-simt-efficiency").innerText(), /%/);
  const rows = page.getByTestId("by-instruction").locator("tbody tr");
  assert.equal(await rows.count(), 5);
  await page.getByTestId("by-figure").selectOption("Thread instructions");
  const lanes = await rows.locator("td:nth-child(2)").allInnerTexts();
  assert.equal(new Set(lanes).size, 1, "every instruction of the block ran in the same lanes");
  await rows.getByRole("button", { name: "root = sqrt" }).click();
  await eventually("the comparison marks the line", async () => /root = sqrt/.test(await page.locator("tr.exact").first().innerText()));
  await page.getByTestId("by-figure").selectOption("Stalled: memory");
  await eventually("idle cycles stand by block", async () => (await cells()).some((cycles) => cycles > 100));
});

test("while a program has errors the results say that they are older", async (t) => {
  const page = await openAndRun(t);
  await pasteProgram(page, "kernel k() {");
  await waitForMistakes(page, "error");
  await page.getByTestId("outdated").waitFor();
  assert.equal(await page.getByTestId("verdict").count(), 0);
  assert.match(await page.getByTestId("reason").innerText(), /errors/);
  assert.equal(await page.getByTestId("scrubber").isDisabled(), true);
  await page.keyboard.press("ControlOrMeta+z");
  await page.getByTestId("verdict").waitFor();
});

test("a run that takes long says for how long, and Stop ends it", async (t) => {
  const page = await openAndRun(t);
  // Each of these takes the machine long, so that the allowance of instructions is far away.
  const slow = "    a = fma.rn.f64 a, a, a\n".repeat(8);
  await pasteProgram(page, `kernel slow(x: ptr.global) {\nentry:\n    a = mov.f64 0.3\n    br body\nbody:\n${slow}    br body\n}\n`);
  await page.getByTestId("waiting").getByText(/Running for \d s\. Perhaps an endless loop/).waitFor();
  await page.getByTestId("stop").click();
  await page.getByTestId("run-state").filter({ hasText: "stopped" }).waitFor();
  await page.getByTestId("waiting").locator("span").waitFor({ state: "detached" });
});

test("a kernel that never ends is stopped by hand, and by itself after a while", async (t) => {
  const page = await openAndRun(t);
  await pasteProgram(page, "kernel spin(x: ptr.global) {\nentry:\n    br entry\n}\n");
  await page.getByTestId("stop").click();
  await page.getByTestId("run-state").filter({ hasText: "stopped" }).waitFor();
  // The page goes on: the next program runs at once.
  await pasteProgram(page, "kernel done(x: ptr.global) {\nentry:\n    st.global.u32 x[0], 1\n    ret\n}\n");
  await page.getByTestId("verdict").filter({ hasText: "same memory" }).waitFor();
  await pasteProgram(page, "kernel spin(x: ptr.global) {\nentry:\n    br entry\n}\n");
  await page.getByTestId("failure").waitFor({ timeout: 60_000 });
  assert.match(await page.getByTestId("failure").innerText(), /^Both runs failed\. See Problems$/);
  await waitForMistakes(page, "1 run-time error");
  const why = await page.getByTestId("diagnostics").innerText();
  assert.match(why, /3\s+stopped after [\d,]+ warp instructions[^]*Same in the optimised program/i);
});

test("lanes of a warp wait for each other, or cannot where they are scheduled by the stack", async (t) => {
  const page = await openAndRun(t);
  const arms = "    br p, low, high\nlow:\n    a = shfl.sync.bfly.b32 i, 31, 31, -1\n    br end\nhigh:\n    a = shfl.sync.bfly.b32 i, 31, 31, -1\n    br end\n";
  await pasteProgram(
    page,
    `kernel k(o: ptr.global) {\nentry:\n    i = mov.u32 %laneid\n    p = setp.lt.u32 i, 9\n${arms}end:\n    st.global.u32 o[i], a\n    ret\n}\nlaunch k {\n    block 32\n    o = buffer u32[32] const 0\n}\n`,
  );
  await page.getByTestId("verdict").filter({ hasText: "same memory" }).waitFor();
  await page.getByTestId("scheduling").selectOption("stack");
  await page.getByTestId("diagnostics").filter({ hasText: "diverged lanes run to where they reconverge" }).waitFor();
  await page.getByTestId("scheduling").selectOption("independent");
  await page.getByTestId("verdict").filter({ hasText: "same memory" }).waitFor();
});

test("lanes step through issues, with masks and groups", async (t) => {
  const page = await openAndRun(t);
  await page.getByTestId("groups").waitFor();
  const lanes = page.getByTestId("warps").getByRole("img");
  assert.match(await lanes.first().getAttribute("aria-label"), /^32 of 32 lanes active/);
  await page.getByRole("button", { name: "Issue forward", exact: true }).click();
  await eventually("one instruction is issued", async () => (await page.getByTestId("issue").inputValue()) === "1");
  // Somewhere on the way a branch splits a warp, and its lanes wait for one another where they meet.
  await page.getByRole("button", { name: "Run the warps" }).click();
  await page.getByTestId("pace").selectOption("4");
  await eventually("a warp diverges", async () => (await page.getByTestId("groups").locator("tbody tr").count()) > 1);
  await page.getByRole("button", { name: "Pause the warps" }).click();
  const active = await lanes.evaluateAll((masks) => masks.map((mask) => mask.getAttribute("aria-label")));
  assert.ok(active.some((label) => !label.startsWith("32 ")), active.join("; "));
  await page.getByRole("button", { name: "Last issue" }).click();
  await page.getByTestId("moment").filter({ hasText: "ended" }).waitFor();
});

/// Presses a button of the lanes, and waits until that issue is shown.
async function walkTo(page, name, issue) {
  await page.getByRole("button", { name, exact: true }).click();
  await eventually(`issue ${issue} is shown`, async () => (await page.getByTestId("issue").inputValue()) === String(issue));
  await page.getByTestId("warps").waitFor();
}

test("lanes that run are followed in source and graph", async (t) => {
  const page = await openAndRun(t);
  await page.getByRole("radio", { name: "source" }).check();
  await page.getByTestId("issues").filter({ hasText: "of 244" }).waitFor();
  assert.equal(await page.locator(".cm-lane-line").count(), 0, "nothing is followed before the first issue");
  const rows = page.getByTestId("warps").locator("li");
  const names = await rows.locator(".name").allInnerTexts();
  assert.equal(names.length, 8);
  // What is marked, what the list says of the followed warp, and whether the marks are in sight.
  const look = () =>
    page.evaluate(() => {
      const find = (selector) => document.querySelector(selector);
      const inside = (mark, around) => {
        const [inner, outer] = [find(mark), find(around)].map((element) => element.getBoundingClientRect());
        return inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1 && inner.left >= outer.left - 1;
      };
      const line = find(".editor:not([hidden]) .cm-lane-line");
      const dots = [...document.querySelectorAll(".warp-dot")];
      return {
        listed: find(".warp.followed code")?.textContent,
        marked: line?.textContent.trim(),
        lineIsInSight: line && inside(".editor:not([hidden]) .cm-lane-line", ".editor:not([hidden]) .cm-scroller"),
        blockIsInSight: find(".lane-block") && inside(".lane-row", "#graph-canvas"),
        followed: dots.filter((dot) => dot.classList.contains("followed")).map((dot) => dot.dataset.testid),
        running: document.querySelectorAll(".warp:not(.finished)").length,
        marks: dots.length + [...document.querySelectorAll(".more-warps")].reduce((sum, text) => sum + Number(text.textContent), 0),
        dots: dots.map((dot) => dot.getAttribute("style") + dot.dataset.block).join(),
      };
    });
  const pictures = new Set();
  for (let issue = 1; issue <= 40; issue += 1) {
    await walkTo(page, "Issue forward", issue);
    const seen = await eventually("the marks follow the list", async () => {
      const seen = await look();
      return seen.marked === seen.listed && seen;
    });
    assert.deepEqual([seen.lineIsInSight, seen.followed], [true, ["warp-dot-0"]], `issue ${issue}`);
    assert.ok(seen.blockIsInSight !== false, `the block is in sight at issue ${issue}`);
    assert.ok(seen.marks <= seen.running && seen.marks >= seen.running - 2, `${seen.marks} marks of ${seen.running} warps`);
    pictures.add(seen.dots);
  }
  assert.ok(pictures.size > 20, `${pictures.size} pictures of 40 issues`);
  // Another warp is followed once it is chosen.
  await rows.nth(5).getByRole("button").click();
  await page.locator("[data-testid=warp-dot-5].followed").waitFor();
  assert.equal(await rows.nth(5).getByRole("button").getAttribute("aria-pressed"), "true");
  await eventually("its line is marked", async () => {
    const seen = await look();
    return seen.marked === seen.listed && seen.marked !== undefined;
  });
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme });
    await checkAccessibility(page, ".lanes");
    await screenshot(page, `lanes-followed-${colorScheme}`);
  }
  // A step of the transport is about a change again.
  await page.getByRole("button", { name: "Back", exact: true }).first().click();
  await eventually("no warp is marked", async () => (await page.locator(".warp-dot, .cm-lane-line").count()) === 0);
});

test("finished warps keep their rows, and the issue has a name and a total", async (t) => {
  const page = await openAndRun(t);
  const rows = page.getByTestId("warps").locator("li");
  await page.getByTestId("issues").filter({ hasText: /^of \d+$/ }).waitFor();
  const total = Number((await page.getByTestId("issues").innerText()).replace("of ", ""));
  const names = await rows.locator(".name").allInnerTexts();
  let finished = 0;
  for (const issue of [0.5, 0.8, 0.9, 0.97, 1].map((part) => Math.floor(part * total))) {
    await page.getByLabel("issue", { exact: true }).fill(String(issue));
    await page.getByTestId("issue").press("Tab");
    await eventually(`issue ${issue} is shown`, async () => (await page.locator(".warp-dot").count()) > 0 || issue === total);
    await settled(() => rows.allInnerTexts().then((texts) => texts.join()));
    assert.deepEqual(await rows.locator(".name").allInnerTexts(), names, "rows keep their places");
    const now = await page.locator(".warp.finished").count();
    assert.ok(now >= finished);
    finished = now;
  }
  assert.equal(finished, names.length);
  assert.match(await rows.first().innerText(), /finished/);
  assert.match(await page.getByTestId("moment").innerText(), /ended/);
});

test("the machines are listed with their figures and who measured them", async (t) => {
  const page = await openAndRun(t);
  await page.getByTestId("open-machines").click();
  const table = page.getByTestId("machines");
  assert.match(await table.innerText(), /Abdelkhalik/);
  assert.match(await table.innerText(), /filled from volta/);
  await table.getByRole("radio", { name: "hopper" }).check();
  await eventually("hopper is shown", async () => /Luo/.test(await table.innerText()));
  assert.ok((await table.locator(".estimate").count()) > 3, "figures without a source are marked");
});

test("another machine, warp size or seed is another run", async (t) => {
  const page = await openAndRun(t);
  const cycles = await figure(page, "cycles");
  await page.getByTestId("machine").selectOption("volta");
  await eventually("the cycles differ", async () => (await figure(page, "cycles")) !== cycles);
  const instructions = await figure(page, "warp-instructions");
  await page.getByTestId("warp-size").selectOption("8");
  await eventually("small warps issue more", async () => (await figure(page, "warp-instructions")) !== instructions);
  await page.getByTestId("seed").fill("18446744073709551615");
  await page.getByTestId("seed").blur();
  await settled(() => figure(page, "cycles"));
  assert.equal(await page.getByTestId("seed").inputValue(), "18446744073709551615");
  await waitForMistakes(page, "No errors");
});
