// Small acts of a person, each with what must hold after it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { answered, checkAccessibility, checkTargets, eventually, openPage, pasteProgram, place, programText, screenshot, settled, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

const NO_MISTAKES = /^No /;

/// Opens an example from the gallery.
async function openExample(page, file) {
  await page.getByTestId("open-examples").click();
  await page.getByTestId(`example-${file}`).click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await page.getByTestId("verdict").waitFor();
  await answered(page);
}

/// Adds the pass of that name at the end, as a person who types it.
async function addPass(page, name) {
  await page.getByRole("combobox", { name: "Add a pass" }).fill(name);
  await page.keyboard.press("Enter");
  await answered(page);
}

const names = (page) => page.getByTestId("pipeline").locator("[data-stage] .name").allInnerTexts();
const focus = (page) => page.evaluate(() => document.activeElement.tagName);

/// Relative luminance of a colour as the browser computes it, and the contrast of two.
function contrast(one, other) {
  const luminance = (color) => {
    const channels = color.match(/[\d.]+/g).slice(0, 3).map((channel) => Number(channel) / 255);
    const [r, g, b] = channels.map((channel) => (channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

test("a fitted graph grows again when the pass that shrank it is removed", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("verdict").waitFor();
  const scale = async () => Number.parseInt(await page.locator(".scale").innerText(), 10);
  const before = await settled(scale);
  // Its dominator tree stands beside the blocks.
  await addPass(page, "gvn-cse");
  await eventually("the graph is smaller", async () => (await scale()) < before);
  await page.getByRole("button", { name: "Remove gvn-cse" }).click();
  await eventually("it is as large as it was", async () => (await scale()) === before);
});

test("the search for a pass finds names before citations", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, NO_MISTAKES);
  await addPass(page, "ptxas");
  await eventually("the pipeline of that name is added", async () => (await names(page)).at(-1) === "@ptxas");
});

test("a tall dialog has one scroll bar", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, NO_MISTAKES);
  for (const open of ["open-examples", "open-machines"]) {
    await page.getByTestId(open).click();
    const dialog = page.getByTestId("dialog");
    await dialog.waitFor();
    await page.waitForTimeout(300);
    const scrolled = await dialog.evaluate((dialog) => {
      const bottom = dialog.getBoundingClientRect().bottom;
      const scrolls = [dialog, ...dialog.querySelectorAll(".sheet, .sheet-body")].filter(
        (element) => element.scrollHeight > element.clientHeight && getComputedStyle(element).overflowY !== "visible" && getComputedStyle(element).overflowY !== "hidden",
      );
      const body = dialog.querySelector(".sheet-body").getBoundingClientRect();
      return { scrolls: scrolls.map((element) => element.className), inside: body.bottom <= bottom, beyond: dialog.scrollHeight - dialog.clientHeight };
    });
    assert.deepEqual(scrolled, { scrolls: ["sheet-body"], inside: true, beyond: 0 }, open);
    await screenshot(page, `dialog-${open}`);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  }
});

test("the sliders of the last program stay while a line is wrong", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, NO_MISTAKES);
  await page.getByTestId("verdict").waitFor();
  const sliders = () => page.locator(".values input[type=range]").evaluateAll((all) => all.map((slider) => slider.id));
  const written = () => page.getByTestId("written-only").locator("summary").allInnerTexts();
  const before = [await sliders(), await written()];
  assert.ok(before[0].length > 0);
  await pasteProgram(page, (await programText(page)).replace("ld.global", "ld.globl"));
  await waitForMistakes(page, "1 error");
  await answered(page);
  assert.deepEqual([await sliders(), await written()], before);
});

test("a knob out of range is named in the transport, without another pass's reason", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, NO_MISTAKES);
  await addPass(page, "gvn-cse");
  await page.getByRole("button", { name: "Knobs of gvn-cse" }).click();
  await page.getByTestId("knob-sheet").getByLabel("Instructions visited").fill("-5");
  await page.locator(".stage.refused").waitFor();
  await page.locator(".stage.refused .why").waitFor();
  const why = await page.locator(".stage.refused .why").innerText();
  await page.getByTestId("scrubber").press("End");
  await answered(page);
  const told = await page.getByTestId("place").innerText();
  assert.ok(told.includes("gvn-cse") && told.includes(why), told);
  assert.equal(await page.getByTestId("place").locator(".sentence").count(), 0, told);
});

test("an empty editor is no mistake, has no mistakes, and shows no figures in colour", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, NO_MISTAKES);
  await page.getByTestId("verdict").waitFor();
  await page.locator(".warps").waitFor();
  const summary = page.getByTestId("diagnostics").getByRole("status");
  const valid = await summary.innerText();
  await pasteProgram(page, " ");
  await eventually("it says that there is nothing", async () => !["", valid].includes(await summary.innerText()));
  await answered(page);
  const colors = await page.evaluate(() => {
    const style = (selector) => getComputedStyle(document.querySelector(selector));
    return {
      lacking: style(".transport .lacking").color,
      text: style(".transport .place b").color,
      results: style(".results .part-body").filter,
      lanes: style(".lanes .part-body").filter,
    };
  });
  assert.deepEqual(colors, { lacking: colors.text, text: colors.text, results: "grayscale(1)", lanes: "grayscale(1)" });
  await screenshot(page, "empty-editor");
});

for (const width of [1440, 1280]) {
  test(`heads of panes keep their height whatever they say, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await waitForMistakes(page, NO_MISTAKES);
    await page.getByTestId("verdict").waitFor();
    // A wider font than most.
    await page.addStyleTag({ content: ":root { --sans: 'DejaVu Sans', Verdana, sans-serif; }" });
    const heights = () =>
      page.evaluate(() => [".graph .pane-head", ".lanes > h3", ".results > h3", ".simulator > .pane-head"].map((head) => document.querySelector(head).offsetHeight));
    const before = await heights();
    assert.ok(before.slice(0, 3).every((height) => height <= 42), `one line each: ${before}`);
    await page.getByTestId("stepper").getByRole("button", { name: "Last issue" }).or(page.getByRole("button", { name: "Last issue" })).first().click();
    await eventually("the end is shown", async () => /ended/.test(await page.getByTestId("moment").innerText()));
    assert.deepEqual(await heights(), before, "at the last issue");
    await pasteProgram(page, (await programText(page)).replace("ld.global", "ld.globl"));
    await waitForMistakes(page, "1 error");
    await page.locator(".graph.old").waitFor();
    assert.deepEqual(await heights(), before, "with a mistake");
    await screenshot(page, `heads-${width}`);
  });

  test(`the state of a run is a whole word or none, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await waitForMistakes(page, NO_MISTAKES);
    await pasteProgram(page, "kernel spin(y: ptr.global) {\nentry:\n    br loop\nloop:\n    st.global.u32 y[0], 1\n    br loop\n}\n");
    await page.getByTestId("stop").filter({ hasText: "Stop" }).and(page.locator(":enabled")).waitFor();
    const state = page.getByTestId("run-state");
    await eventually("it runs", async () => /running/.test(await state.textContent()));
    const seen = await state.evaluate((state) => {
      const range = document.createRange();
      range.selectNodeContents(state);
      const [text] = [...range.getClientRects()].filter((rect) => rect.width > 1);
      const box = state.getBoundingClientRect();
      const isWhole = text.left >= box.left - 1 && text.right <= box.right + 1 && text.bottom <= box.bottom + 2;
      return isWhole || text.top >= box.bottom - 1 ? "" : `${JSON.stringify(text)} in ${JSON.stringify(box)}`;
    });
    assert.equal(seen, "");
    await screenshot(page, `run-state-${width}`);
    await page.getByTestId("stop").click();
  });
}

test("Home and End go to the source and the end wherever they are not needed", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, NO_MISTAKES);
  await openExample(page, "azp/figure-1.wir");
  const last = (await place(page)).last;
  const endsWork = async (where) => {
    await page.keyboard.press("Home");
    await eventually(`Home works ${where}`, async () => (await place(page)).at === 0);
    await page.keyboard.press("End");
    await eventually(`End works ${where}`, async () => (await place(page)).at === (await place(page)).last);
  };
  assert.ok(last > 0);
  await page.keyboard.press("Home");
  await page.getByRole("tab", { name: "Candidates" }).click();
  await endsWork("on a tab");
  await page.keyboard.press("Home");
  await page.getByTestId("candidates-table").locator("button").first().click();
  await endsWork("in a table");
  await page.getByTestId("graph").focus();
  await endsWork("in the graph");
  await page.getByRole("checkbox", { name: /^Run / }).first().focus();
  await endsWork("on a check box");
  await page.getByRole("region", { name: "Statistics" }).focus();
  await endsWork("in a region that scrolls");
});

test("a saved program has the extension of its language, and its launch beside it", async (t) => {
  const page = await openPage(t);
  await openExample(page, "cuda/saxpy.O3.ptx");
  await page.getByTestId("share").click();
  await page.getByTestId("link").waitFor();
  const save = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByTestId(name).click()]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
  };
  const program = await save("save-program");
  assert.equal(program.name, "program.ptx");
  assert.match(program.text, /\.visible \.entry/);
  const launch = await save("save-launch");
  assert.equal(launch.name, "program.launch.wir");
  assert.match(launch.text, /^launch /m);
  await page.keyboard.press("Escape");
  await openExample(page, "detour.wir");
  await page.getByTestId("share").click();
  await page.getByTestId("link").waitFor();
  assert.equal((await save("save-program")).name, "program.wir");
  assert.equal(await page.getByTestId("save-launch").count(), 0, "its launch is in its text");
});

test("a predicate has one slider for how often it is true", async (t) => {
  const page = await openPage(t);
  await openExample(page, "questions/figure-4.wir");
  const sliders = (await page.locator(".values input[type=range]").evaluateAll((all) => all.map((slider) => slider.id))).sort();
  assert.ok(sliders.includes("slider-p-true") && sliders.includes("slider-q-true"), sliders.join(" "));
  assert.ok(!sliders.includes("slider-p-zero") && !sliders.includes("slider-q-zero"), sliders.join(" "));
});

test("going back from a link brings back what was there", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, NO_MISTAKES);
  await openExample(page, "detour.wir");
  await page.getByTestId("share").click();
  const link = await page.getByTestId("link").inputValue();
  await page.keyboard.press("Escape");
  await openExample(page, "cuda/saxpy.O3.ptx");
  const before = await programText(page);
  await page.evaluate((hash) => (location.hash = hash), link.slice(link.indexOf("#")));
  await eventually("the link is open", async () => /kernel detour/.test(await programText(page)));
  await page.goBack();
  await eventually("the program is back", async () => (await programText(page)) === before);
  assert.equal(await page.getByTestId("kept").count(), 0, "nobody has changed anything");
  await page.goForward();
  await eventually("the link is open again", async () => /kernel detour/.test(await programText(page)));
  // What somebody writes over a link is kept when they leave it.
  const own = "kernel own(y: ptr.global) {\nentry:\n    st.global.u32 y[0], 42\n    ret\n}\n";
  await pasteProgram(page, own);
  await page.getByTestId("block-entry").getByText("42").waitFor();
  await page.goBack();
  await eventually("the program is back again", async () => (await programText(page)) === before);
  await page.getByTestId("kept").getByRole("button", { name: "Bring them back" }).click();
  await eventually("the own one is kept", async () => (await programText(page)) === own);
});

test("the detour has a pass that changes it, and costs that the sliders move", async (t) => {
  const page = await openPage(t);
  await openExample(page, "detour.wir");
  assert.ok((await page.locator(".comparison tr.removed").count()) > 0, "something is removed");
  const cycles = async () => (await page.getByTestId("figure-cycles").locator("td").allInnerTexts())[2];
  assert.match(await settled(cycles), /%/);
});

test("names and heads of edges stand out from strands", async (t) => {
  const page = await openPage(t);
  await openExample(page, "pde/figure-1.wir");
  await page.keyboard.press("Home");
  await page.getByTestId("strands").waitFor();
  const hidden = await page.evaluate(() => {
    const strands = [...document.querySelectorAll(".strand")];
    return [...document.querySelectorAll(".edge text")].filter((label) => {
      const { strokeWidth, paintOrder, stroke } = getComputedStyle(label);
      const isBelow = strands.some((strand) => strand.compareDocumentPosition(label) & Node.DOCUMENT_POSITION_PRECEDING);
      return isBelow || stroke === "none" || !paintOrder.startsWith("stroke") || Number.parseFloat(strokeWidth) < 3;
    }).length;
  });
  assert.equal(hidden, 0, "labels without a ground of their own");
  for (let time = 0; time < 3; time += 1) {
    await page.getByRole("button", { name: "Zoom in" }).click();
  }
  await screenshot(page, "strands-zoomed");
});

test("numbers that can be entered look like fields", async (t) => {
  const page = await openPage(t);
  await openExample(page, "pde/figure-1.wir");
  await page.keyboard.press("Home");
  await page.getByTestId("paths-table").waitFor();
  await page.mouse.move(5, 5);
  const looks = await page.getByTestId("paths-table").locator("input").evaluateAll((all) =>
    all.map((input) => {
      const { borderTopColor, borderTopWidth } = getComputedStyle(input);
      return { border: borderTopColor, width: Number.parseFloat(borderTopWidth) };
    }),
  );
  assert.ok(looks.length > 0);
  assert.ok(looks.every(({ border, width }) => width >= 1 && !/, 0\)$|transparent/.test(border)), JSON.stringify(looks[0]));
  await screenshot(page, "entries");
});

test("a key before the first answer leads where it leads after it", async (t) => {
  const prepare = (page) =>
    page.addInitScript(() => {
      // As soon as the page listens to keys.
      const listen = document.addEventListener;
      document.addEventListener = function (type, ...rest) {
        listen.call(document, type, ...rest);
        if (type === "keydown" && document.querySelector("main")) {
          document.addEventListener = listen;
          queueMicrotask(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true, cancelable: true })));
        }
      };
    });
  const page = await openPage(t, { hand: false, prepare });
  await page.getByTestId("verdict").waitFor();
  await answered(page);
  const { at, last } = JSON.parse(await settled(async () => JSON.stringify(await place(page))));
  assert.ok(last > 4, `${last} changes`);
  assert.equal(at, last - 1);
});

const OUT_OF_BOUNDS = `kernel gather(x: ptr.global) {
entry:
    t = mov.u32 %tid
    u = add.u32 t, 30
    v = ld.global.u32 x[u]
    st.global.u32 x[t], v
    ret
}
launch gather {
    grid 1
    block 64
    x = buffer u32[64] iota
}
`;

test("a failed run is a problem at its line, with the way to its issue", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("verdict").waitFor();
  await pasteProgram(page, OUT_OF_BOUNDS);
  await waitForMistakes(page, "1 run-time error");
  const problems = page.getByRole("region", { name: "Problems" });
  const entry = problems.getByRole("button", { name: /^5 out-of-bounds load/ });
  assert.match(await entry.innerText(), /thread \(34, 0, 0\)[^]*After 5 issues[^]*Same in the optimised program/);
  assert.doesNotMatch(await problems.innerText(), /No errors|`/);
  const told = (await page.locator("main").innerText()).match(/out-of-bounds load/g);
  assert.equal(told.length, 1, "the reason is told once");
  await eventually("its line is marked", async () => (await page.locator(".cm-lintRange-error").allInnerTexts()).join() === "v = ld.global.u32 x[u]");
  await entry.click();
  await eventually("the cursor is there", async () => (await page.locator("[aria-label=Program] .cm-activeLine").innerText()).trim() === "v = ld.global.u32 x[u]");
  await problems.getByRole("button", { name: "Go to the failing issue" }).click();
  await page.getByTestId("moment").filter({ hasText: "fails here" }).waitFor();
  assert.equal(await page.getByTestId("issue").inputValue(), "5");
  assert.match(await page.locator(".warp.followed.next").innerText(), /block 0, warp 1\s+v = ld\.global/);
  await eventually("the line is the warp's", async () => (await page.locator(".cm-lane-line").innerText()).trim() === "v = ld.global.u32 x[u]");
  assert.equal(await page.getByRole("button", { name: "Issue forward" }).getAttribute("aria-disabled"), "true");
  await page.getByRole("button", { name: "Issue back" }).click();
  await eventually("one issue before it", async () => (await page.getByTestId("issue").inputValue()) === "4");
  // Whoever runs on comes no further than that.
  await page.getByRole("button", { name: "Last issue" }).click();
  await eventually("the last issue is the failing one", async () => (await page.getByTestId("issue").inputValue()) === "5");
  await page.getByRole("button", { name: "See Problems" }).click();
  assert.equal(await page.evaluate(() => document.activeElement.id), "problems");
  await checkAccessibility(page, ".source");
  await screenshot(page, "failed-run");
  await page.locator(".cm-line", { hasText: "u = add" }).click();
  await page.keyboard.press("End");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  await page.keyboard.type("0");
  await waitForMistakes(page, "No errors");
  assert.equal(await page.locator(".cm-lintRange-error").count(), 0);
});

test("a launch that cannot run is a problem of the launch", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("verdict").waitFor();
  await pasteProgram(page, OUT_OF_BOUNDS.replace("grid 1", "grid 1000000000"));
  await waitForMistakes(page, "1 run-time error");
  await page.getByRole("region", { name: "Problems" }).getByRole("button", { name: /^launch / }).click();
  assert.equal(await page.getByRole("tab", { name: "Launch" }).getAttribute("aria-selected"), "true");
  assert.equal(await page.getByRole("button", { name: "Go to the failing issue" }).count(), 0, "there is none");
});

test("the graph can be read in forced colours on black", async (t) => {
  const page = await openPage(t, { colorScheme: "dark" });
  await page.emulateMedia({ colorScheme: "dark", forcedColors: "active", reducedMotion: "reduce" });
  await page.getByTestId("verdict").waitFor();
  const [ground, faces, words] = await page.evaluate(() => {
    const fills = (selector) => [...document.querySelectorAll(selector)].map((element) => getComputedStyle(element).fill);
    return [getComputedStyle(document.querySelector(".canvas")).backgroundColor, fills(".block .face"), fills(".canvas .edge text, .canvas .block text")];
  });
  for (const word of new Set(words)) {
    for (const face of new Set([...faces, ground])) {
      assert.ok(contrast(word, face) >= 4.5, `${word} on ${face}`);
    }
  }
  await screenshot(page, "forced-colours");
});
test("rates change in points, and only what the pass is for is coloured", async (t) => {
  const page = await openPage(t);
  await page.getByTestId("verdict").waitFor();
  const cells = async (figure) => page.getByTestId(`figure-${figure}`).locator("td").allInnerTexts();
  const [before, after, change] = await cells("simt-efficiency");
  const points = Number.parseFloat(after) - Number.parseFloat(before);
  assert.match(change, /^[+−]\d+\.\d pp$/, change);
  assert.ok(Math.abs(Number.parseFloat(change.replace("−", "-")) - points) < 0.11, `${before} ${after} ${change}`);
  const colored = await page.getByTestId("figures").locator("tr", { has: page.locator(".good, .bad") }).evaluateAll((rows) => rows.map((row) => row.dataset.testid));
  assert.deepEqual(colored, ["figure-cycles"]);
  await openExample(page, "questions/figure-4.wir");
  await page.keyboard.press("End");
  await eventually("the loads that it saves are judged", async () => (await page.getByTestId("figure-global-loads").locator(".good").count()) === 1);
});

for (const width of [1440, 320]) {
  test(`targets are large enough for a finger, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await page.getByTestId("verdict").waitFor();
    await checkTargets(page);
    await openExample(page, "questions/figure-4.wir");
    // A target that the transport covers in part would count as small.
    await page.getByTestId("inspection").evaluate((pane) => pane.scrollIntoView({ block: "center" }));
    await checkTargets(page);
    await screenshot(page, `targets-${width}`);
  });
}

test("Tab after the search for a pass leads to something", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, NO_MISTAKES);
  await page.getByRole("combobox", { name: "Add a pass" }).focus();
  await page.getByRole("listbox", { name: "Passes" }).waitFor();
  for (const key of ["Tab", "Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab"]) {
    await page.keyboard.press(key);
    assert.notEqual(await focus(page), "BODY", key);
  }
  await checkAccessibility(page, ".passes");
});
