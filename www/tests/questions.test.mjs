// The questions of a pass while they travel: narrated, stepped, sought, shared, and moving at the screen's own pace.

import assert from "node:assert/strict";
import test from "node:test";
import { FRAME, answered, checkAccessibility, diamonds, eventually, inBothSchemes, openPage, pasteProgram, screenshot, settled, useBrowser, waitForMistakes, workPerFrame } from "./harness.mjs";

useBrowser();

/// Opens a figure from the gallery, with its questions in sight.
async function openFigure(page, file) {
  await page.getByTestId("open-examples").click();
  await page.getByTestId(`example-questions/${file}.wir`).click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await page.getByTestId("token-tree").getByRole("treeitem").first().waitFor();
  await page.getByTestId("verdict").waitFor();
}

const happened = (page) => page.getByTestId("happened").innerText();
const moment = async (page) => Number.parseInt(await page.getByTestId("walk-place").innerText(), 10);
const linesOf = (page, block) => page.getByTestId(`block-${block}`).locator("text:not(.issues)").allTextContents();

async function goTo(page, to) {
  await page.getByTestId("walk").fill(String(to));
  await eventually(`moment ${to} is shown`, async () => (await moment(page)) === to);
  // A change has been made when the engine has answered.
  await answered(page);
}

/// The tokens in sight: what they ask, how they look, and where their middle is.
const tokens = (page) =>
  page.locator(".tokens .token").evaluateAll((all) =>
    all.map((token) => {
      const rect = token.getBoundingClientRect();
      return { text: token.innerText.replaceAll(/\s+/g, " "), kind: token.className, x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 };
    }),
  );

test("every question of figure 6 is told, in the order of the paper, and nothing is lost on the way", async (t) => {
  const page = await openPage(t);
  await openFigure(page, "figure-4");
  const last = Number(await page.getByTestId("walk").getAttribute("max"));
  assert.ok(last > 100, `${last} moments`);
  await goTo(page, 0);
  assert.match(await happened(page), /Nothing has been asked/);
  assert.equal((await tokens(page)).length, 0);
  const told = [];
  for (let at = 1; at <= last; at += 1) {
    await page.keyboard.press(".");
    await eventually(`moment ${at} is shown`, async () => (await moment(page)) === at);
    told.push((await happened(page)).replaceAll(/\s+/g, " "));
  }
  const order = [
    /Is A\[i \+ 1\] available in n5/,
    /rule 6 ?\S+ ?i = mov\.s32 0 defines an operand/,
    /rule 1 ?s ?s is the entry/,
    /A\[i \+ 1\] is not available in n5/,
    /Can A\[i \+ 1\] move up from n5/,
    /May it come to n4/,
    /rule 4-i ?n\d ?n4 diverges and decides about it.*n2 is asked/,
    /rule 4-i ?n\d ?n2 diverges and decides about it.*n1 is asked/,
    /rule 3-ii ?n1 ?i = mov\.s32 0 in n1.*cannot move up/,
    /rule 4-i ?n\d ?n2 diverges.*n9 is asked/,
    /rule 6 ?n8 ?Nothing in n9 stops it.*n8/,
    /rule 3-ii ?n8 ?i = add\.s32 i, 1 in n8.*cannot move up/,
    /rule 4-i-b.*can move up, to n2/,
    /rule 4-i-a.*can move up, to n2/,
    /change ?speculate/,
    /change ?replace/,
    /Is A\[i\] available in n8/,
    /A\[i\] is missing there.*noted for the end of n1/,
    /A\[i\] is available in n8/,
  ];
  let from = 0;
  for (const wanted of order) {
    const found = told.findIndex((sentence, index) => index >= from && wanted.test(sentence));
    assert.ok(found >= 0, `${wanted} is not told after moment ${from}:\n${told.slice(from).join("\n")}`);
    from = found + 1;
  }
  // The tree says the same.
  await goTo(page, 1 + told.findIndex((sentence) => /rule 4-i-b.*can move up, to n2/.test(sentence)));
  assert.match(await page.getByTestId("token-tree").locator("[aria-selected=true] .answer").innerText(), /^yes, to n2/);
  await goTo(page, last);
  // The keys go back as well.
  await page.keyboard.press(",");
  await eventually("a moment back", async () => (await moment(page)) === last - 1);
});

test("a question waits at its block, comes back with its answer, and the change is made in place", async (t) => {
  const page = await openPage(t);
  await openFigure(page, "figure-2");
  const tree = page.getByTestId("token-tree");
  const last = Number(await page.getByTestId("walk").getAttribute("max"));
  await goTo(page, 0);
  const before = await linesOf(page, "n2");
  const box = (block) => page.getByTestId(`block-${block}`).boundingBox();
  // From one moment to the next, and what is to be seen at the block that it is about.
  const seen = [];
  for (let at = 1; at <= last; at += 1) {
    await goTo(page, at);
    seen.push({ text: (await happened(page)).replaceAll(/\s+/g, " "), tokens: await tokens(page), n2: await linesOf(page, "n2"), boxes: [await box("n2"), await box("n4")] });
  }
  const raised = seen.find(({ text }) => /goes up from n4 to n2/.test(text));
  const asked = raised.tokens.at(-1);
  assert.match(asked.kind, /k0 open goes/);
  const [n2] = raised.boxes;
  assert.ok(Math.abs(asked.y - (n2.y + n2.height)) < 45, `waits at ${asked.y}, n2 ends at ${n2.y + n2.height}`);
  const answered = seen.find(({ text }) => /rule 5\s*n3\s*n3 computes it/.test(text));
  assert.match(answered.tokens.at(-1).text, /yes/);
  assert.match(answered.tokens.at(-1).kind, /good goes returns/);
  const [, n4] = answered.boxes;
  // Above the block or below it: where the other question has the place, this one makes room.
  const away = Math.min(...[n4.y, n4.y + n4.height].map((side) => Math.abs(answered.tokens.at(-1).y - side)));
  assert.ok(away < 45, `the answer is ${away} pixels from n4`);
  // Both answers are at the join until it is answered itself.
  assert.ok(answered.tokens.some((token) => /bad/.test(token.kind) && /no/.test(token.text)));
  assert.ok(seen.some(({ tokens }) => tokens.some((token) => /k1/.test(token.kind))), "anticipatability is asked");
  const noted = seen.find(({ text }) => /noted for the end of n2/.test(text));
  assert.ok(noted.tokens.some((token) => /noted/.test(token.kind)));
  assert.deepEqual(noted.n2, before, "nothing is inserted before the inquiry has ended");
  const made = seen.findIndex(({ text }) => /Inserted .* at the end of n2/.test(text));
  assert.ok(seen[made].n2.length > before.length, `${seen[made].n2} after ${before}`);
  assert.deepEqual(seen[made - 1].n2, before);
  assert.ok(!seen[made].tokens.some((token) => /noted/.test(token.kind)), "what is inserted is no longer noted");
  // The tree has a row for each question, and leads to it.
  const rows = await tree.getByRole("treeitem").count();
  assert.equal(rows, seen.filter(({ text }) => /^(inquiry|question|change|refused)/.test(text)).length);
  assert.deepEqual(
    await tree.getByRole("treeitem").first().evaluate((row) => ["aria-level", "aria-posinset", "aria-setsize"].map((name) => row.getAttribute(name))),
    ["1", "1", String(await tree.locator("[role=treeitem][aria-level='1']").count())],
  );
  // Answers that have not been given yet are listed on demand.
  await page.getByTestId("walk").fill("1");
  await eventually("nothing is answered", async () => (await tree.locator(".answer").allInnerTexts()).every((text) => text === "?"));
  assert.equal(await tree.locator(".of-moment.look-good").count(), 0, "no change is told before it is made");
  await page.getByTestId("outcomes").check();
  await eventually("all answers are listed", async () => (await tree.locator(".answer").allInnerTexts()).every((text) => text !== "?"));
  const row = tree.getByRole("treeitem").filter({ hasText: "yes" }).filter({ hasText: "n3" }).first();
  await row.click();
  await eventually("the click leads to the question", async () => /goes up from n4 to n3/.test(await happened(page)));
  assert.equal(await row.getAttribute("aria-selected"), "true");
  await row.locator(".answer").click();
  await eventually("and its answer's to the answer", async () => /rule 5\s*n3\s*n3 computes it/.test(await happened(page)));
  await tree.focus();
  await page.keyboard.press("ArrowUp");
  await eventually("the keyboard goes up", async () => !/n3 computes it/.test(await happened(page)));
  await page.keyboard.press("ArrowRight");
  await eventually("and to the answer", async () => /answer/.test(await happened(page)));
  await screenshot(page, "questions-figure-2");
});

test("inquiries are passed as wholes", async (t) => {
  const page = await openPage(t);
  await openFigure(page, "figure-4");
  await goTo(page, 0);
  const next = page.getByRole("button", { name: "To where an inquiry ends or begins" });
  const seen = [];
  for (let stop = 0; stop < 4; stop += 1) {
    const before = await moment(page);
    await next.click();
    await eventually("a later moment is shown", async () => (await moment(page)) > before);
    seen.push((await happened(page)).match(/^(inquiry|result|question|answer)/)[0]);
  }
  assert.deepEqual(seen, ["inquiry", "result", "inquiry", "result"]);
  const at = await moment(page);
  await page.keyboard.press("<");
  await eventually("and back", async () => (await moment(page)) < at);
  assert.match(await happened(page), /^inquiry/);
});

/// The tokens that cover a line of a block, the name of an edge or each other.
const covered = (page) =>
  page.locator(".drawing").evaluate((drawing) => {
    const rects = (selector) => [...drawing.querySelectorAll(selector)].map((found) => ({ text: found.textContent, ...found.getBoundingClientRect().toJSON() }));
    const meet = (one, other) => one.left + 1 < other.right && other.left + 1 < one.right && one.top + 1 < other.bottom && other.top + 1 < one.bottom;
    const [marks, texts] = [rects(".tokens .token, .meeting"), rects(".block text, .edge text")];
    return marks.flatMap((mark, index) => [...texts, ...marks.slice(index + 1)].filter((other) => meet(mark, other)).map((other) => `${mark.text} on ${other.text}`));
  });

test("tokens cover no line of a block, however small the graph is", async (t) => {
  const page = await openPage(t);
  await openFigure(page, "figure-4");
  for (const shrinks of [0, 4]) {
    for (let time = 0; time < shrinks; time += 1) {
      await page.getByRole("button", { name: "Zoom out" }).click();
    }
    const scale = await page.locator(".scale").innerText();
    const last = Number(await page.getByTestId("walk").getAttribute("max"));
    for (let at = 1; at <= last; at += 1) {
      await (at === 1 ? goTo(page, 1) : page.keyboard.press("."));
      await eventually(`moment ${at} is shown`, async () => (await moment(page)) === at);
      assert.deepEqual(await covered(page), [], `moment ${at} at ${scale}`);
    }
    await screenshot(page, `questions-small-${shrinks}`);
  }
});

/// Opens a function of 200 blocks, with its questions in sight.
async function openLarge(page) {
  await openFigure(page, "figure-4");
  await pasteProgram(page, diamonds(66));
  await waitForMistakes(page, "No errors");
  const walk = page.getByTestId("walk");
  await eventually("a thousand moments and more", async () => Number(await walk.getAttribute("max")) > 1_000);
  await page.getByTestId("token-tree").getByRole("treeitem").first().waitFor();
}

test("tokens cover no line in a function of 200 blocks", async (t) => {
  const page = await openPage(t);
  await openLarge(page);
  const last = Number(await page.getByTestId("walk").getAttribute("max"));
  let seen = 0;
  for (let at = 1; at <= last; at += Math.ceil(last / 97)) {
    await page.getByTestId("walk").fill(String(at));
    await eventually(`moment ${at} is shown`, async () => (await moment(page)) === at);
    seen = Math.max(seen, await page.locator(".tokens .token").count());
    assert.deepEqual(await covered(page), [], `moment ${at}`);
  }
  assert.ok(seen > 20, `${seen} tokens at once`);
  await screenshot(page, "questions-large");
});

for (const reducedMotion of ["reduce", "no-preference"]) {
  test(`the frame and its token keep to their block in a graph larger than its pane, motion ${reducedMotion}`, async (t) => {
    const page = await openPage(t, { reducedMotion });
    await openLarge(page);
    await goTo(page, 0);
    for (let zoom = 0; zoom < 4; zoom += 1) {
      for (let step = 0; step < 4; step += 1) {
        const at = (await moment(page)) + 1;
        await page.keyboard.press(".");
        await eventually(`moment ${at} is shown`, async () => (await moment(page)) === at);
        await answered(page);
        const name = await page.getByTestId("happened").locator(".chip.block").innerText();
        const away = () =>
          page.evaluate((name) => {
            const found = [".asks", `[data-testid="block-${name}"] .face`].map((selector) => document.querySelector(selector));
            if (found.includes(null)) {
              return Infinity;
            }
            const [ring, face] = found.map((element) => element.getBoundingClientRect());
            return Math.max(...["top", "bottom", "left", "right"].map((side) => Math.abs(ring[side] - face[side])));
          }, name);
        await eventually(`the frame is at ${name} in moment ${at}`, async () => (await away()) <= 1.5);
      }
      await page.getByRole("button", { name: "Zoom in" }).click();
      await page.getByTestId("walk").focus();
    }
    await screenshot(page, `questions-larger-than-the-pane-${reducedMotion}`);
  });
}

test("a rule's name opens its text, which follows the moments", async (t) => {
  const page = await openPage(t);
  await openFigure(page, "figure-4");
  const last = Number(await page.getByTestId("walk").getAttribute("max"));
  const rule = page.getByTestId("rule");
  let at = 0;
  while (at < last && !((await rule.count()) && /4-i-b/.test(await rule.innerText()))) {
    at += 1;
    await goTo(page, at);
  }
  assert.equal(await page.getByTestId("rule-text").count(), 0);
  assert.equal(await rule.getAttribute("aria-expanded"), "false");
  const { width, height } = await rule.boundingBox();
  assert.ok(width >= 24 && height >= 24, `${width} by ${height}`);
  await rule.focus();
  await page.keyboard.press("Enter");
  await page.getByTestId("rule-text").waitFor();
  assert.equal(await rule.getAttribute("aria-expanded"), "true");
  assert.equal(await rule.getAttribute("aria-controls"), await page.getByTestId("rule-text").getAttribute("id"));
  const text = await page.getByTestId("rule-text").innerText();
  assert.match(text, /cannot move further up[^]*section 5\.2/);
  await screenshot(page, "questions-rule");
  await checkAccessibility(page, ".change");
  await goTo(page, at - 1);
  assert.notEqual(await page.getByTestId("rule-text").innerText(), text);
  await rule.click();
  assert.equal(await page.getByTestId("rule-text").count(), 0);
});

test("an inquiry ends with its moments and its cause", async (t) => {
  const page = await openPage(t);
  await openFigure(page, "figure-4");
  await goTo(page, 38);
  assert.match(
    (await happened(page)).replaceAll(/\s+/g, " "),
    /^result\s*n5\s*38 moments: A\[i \+ 1\] is not available in n5, because nothing computes it on the path from the entry s, through i = mov\.s32 0\.$/,
  );
});

test("a link reopens the moment, before the change that it leads to", async (t) => {
  const page = await openPage(t);
  await openFigure(page, "figure-4");
  await goTo(page, 48);
  const told = await happened(page);
  const n2 = await linesOf(page, "n2");
  await page.getByTestId("share").click();
  const link = await page.getByTestId("link").inputValue();
  const other = await openPage(t, { hash: link.slice(link.indexOf("#")) });
  await other.getByTestId("token-tree").waitFor();
  await eventually("the same moment", async () => (await happened(other)) === told);
  assert.deepEqual(await linesOf(other, "n2"), n2);
  assert.ok(!n2.some((line) => line.includes("ld.")), "the load has not moved yet");
});

test("questions play, rest, and stand still for those who asked for less motion", async (t) => {
  for (const reducedMotion of ["reduce", "no-preference"]) {
    const page = await openPage(t, { reducedMotion });
    await openFigure(page, "figure-5");
    await page.getByTestId("pace").selectOption({ label: "4×" });
    await page.getByTestId("show-inspection").waitFor({ state: "attached" });
    await goTo(page, 1);
    const travelling = () =>
      page.locator(".tokens").evaluate((all) => all.getAnimations({ subtree: true }).some((animation) => animation.animationName === "travel"));
    await page.getByTestId("ask").click();
    if (reducedMotion === "reduce") {
      await eventually("they move on", async () => (await moment(page)) > 3);
      assert.equal(await travelling(), false);
    } else {
      await eventually("a token travels", travelling);
    }
    await page.getByTestId("ask").click();
    const rests = await settled(() => moment(page));
    await page.keyboard.press("q");
    await eventually("q lets them go on", async () => (await moment(page)) > rests);
    await eventually("and they come to the end", async () => (await page.getByTestId("ask").getAttribute("aria-label")) === "Play the moments");
    assert.equal(await moment(page), Number(await page.getByTestId("walk").getAttribute("max")));
  }
});

test("what the graph shows is chosen under the button, inside the window", async (t) => {
  for (const width of [1440, 1024, 320]) {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    const shows = page.getByTestId("shows");
    await shows.locator("summary").click();
    const menu = shows.locator(".menu");
    await menu.waitFor();
    const placed = async () => {
      const [button, entries] = [await shows.locator("summary").boundingBox(), await menu.boundingBox()];
      const isUnder = entries.y >= button.y + button.height && entries.y < button.y + button.height + 16;
      return isUnder && entries.x <= button.x + 1 && entries.x + entries.width > button.x && entries.x >= 0 && entries.x + entries.width <= width;
    };
    await eventually(`the menu is under its button at ${width} pixels`, placed);
    await screenshot(page, `graph-menu-${width}`);
    await checkAccessibility(page, ".graph");
  }
});

test("the graph shows CDRND and who decides about whom", async (t) => {
  const page = await openPage(t);
  await openFigure(page, "figure-4");
  await page.getByTestId("shows").locator("summary").click();
  await page.getByTestId("show-region").check();
  await page.getByTestId("show-dependence").check();
  assert.equal(await page.getByTestId("region").getAttribute("aria-label"), "CDRND: s, n1, n2, n8, n9, e");
  assert.equal(
    await page.getByTestId("dependence").getAttribute("aria-label"),
    "Control dependence: n2 on n8, n3 on n2, n4 on n2, n5 on n4, n6 on n4, n7 on n2, n8 on n8, n9 on n8",
  );
  await checkAccessibility(page, ".graph");
  await page.getByTestId("show-inspection").uncheck();
  assert.equal(await page.getByTestId("tokens").count(), 0);
  await page.keyboard.press("Escape");
  assert.equal(await page.getByTestId("show-region").isVisible(), false);
  await screenshot(page, "questions-region");
});

for (const width of [1440, 320]) {
  test(`questions can be read, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    await openFigure(page, "figure-4");
    await goTo(page, 33);
    await inBothSchemes(page, async (scheme) => {
      await checkAccessibility(page, ".change");
      await checkAccessibility(page, ".graph");
      await screenshot(page, `questions-${scheme}-${width}`);
    });
  });
}

test("questions move at the screen's pace in a function of 200 blocks", async (t) => {
  const page = await openPage(t, { reducedMotion: "no-preference" });
  // Of a graph of this size only what is in sight is in the document: the slider says when its questions are there.
  await openLarge(page);
  await settled(() => page.getByTestId("simulator-pane").innerText());
  await goTo(page, 1);
  await page.getByTestId("pace").selectOption({ label: "2×" });
  await page.getByTestId("ask").click();
  const work = await workPerFrame(t, page, 4_000);
  assert.ok((await moment(page)) > 5, "questions moved meanwhile");
  assert.ok(work < FRAME, `${work.toFixed(1)} ms of work a frame`);
});
