// The shape for readers: notes, one text, the graph, four figures, one transport.

import assert from "node:assert/strict";
import test from "node:test";
import { answered, checkAccessibility, checkTargets, eventually, inBothSchemes, openPage, place, screenshot, useBrowser } from "./harness.mjs";

useBrowser();

const PROJECTOR = { width: 1280, height: 720 };
const learn = (t, options = {}) => openPage(t, { shape: "learn", viewport: PROJECTOR, ...options });
const cells = (page, figure) => page.getByTestId(`strip-figure-${figure}`).locator("td").allInnerTexts();

async function openExample(page, file) {
  await page.getByTestId("open-examples").click();
  await page.getByTestId(`example-${file}`).click();
  await page.getByTestId("dialog").waitFor({ state: "detached" });
  await answered(page);
}

test("a bare address opens the whole page for readers on a projector", async (t) => {
  const loaded = [];
  const page = await learn(t, { hand: false, prepare: (page) => page.on("request", (request) => loaded.push(request.url())) });
  await page.getByTestId("strip-figure-cycles").waitFor();
  assert.doesNotMatch(loaded.join(" "), /worker|code-editor|extras_bg/, "readers need neither engine nor editor before they act");
  for (const id of ["notes", "program-pane", "graph-pane", "strip", "transport"]) {
    const box = await page.getByTestId(id).boundingBox();
    assert.ok(box.y >= 0 && box.x >= 0 && box.y + box.height <= 720 && box.x + box.width <= 1280, `${id}: ${JSON.stringify(box)}`);
  }
  assert.equal(await page.evaluate(() => document.documentElement.scrollHeight), 720);
  assert.equal(await page.getByTestId("notes").locator(".scroll").evaluate((notes) => notes.scrollHeight - notes.clientHeight), 0);
  assert.equal(await page.locator(".sentence:visible").evaluate((sentence) => getComputedStyle(sentence).fontSize), "18px");
  for (const id of ["pipeline", "simulator-pane", "change-pane"]) {
    assert.equal(await page.getByTestId(id).count(), 0, id);
  }
  await screenshot(page, "learn-first");
});

test("one button and one key change the shape, and the address follows without history", async (t) => {
  const page = await learn(t);
  const steps = await page.evaluate(() => history.length);
  await page.getByTestId("shape").click();
  await page.getByTestId("pipeline").waitFor();
  await eventually("the address says so", async () => (await page.evaluate(() => location.hash)) === "#view=lab");
  await page.reload();
  await page.getByTestId("pipeline").waitFor();
  await page.keyboard.press("v");
  await page.getByTestId("notes").waitFor();
  await eventually("the address is bare", async () => (await page.evaluate(() => location.href.includes("#"))) === false);
  assert.equal(await page.evaluate(() => history.length), steps);
});

test("an unknown part of the address is named, and the rest opens", async (t) => {
  const page = await openPage(t, { hash: "#view=lab&wiev=learn" });
  await page.getByTestId("pipeline").waitFor();
  await page.getByTestId("notice").getByText("wiev=learn").waitFor();
});

test("a change strikes its line, and its figures stand between source and end", async (t) => {
  const page = await learn(t);
  await page.getByTestId("strip-figure-cycles").waitFor();
  const [source, end] = await cells(page, "cycles");
  for (let back = 0; back < 2; back += 1) {
    await page.keyboard.press("ArrowLeft");
  }
  await answered(page);
  await eventually("the figures are those of here", async () => (await cells(page, "cycles")).length === 4);
  const row = await cells(page, "cycles");
  assert.deepEqual([row[0], row[3]], [source, end]);
  assert.ok(![source, end].includes(row[1]), `${row}`);
  const struck = page.locator(".comparison tr.removed.current");
  assert.equal(await struck.count(), 1);
  assert.match(await struck.locator("code > span").evaluate((text) => getComputedStyle(text).textDecorationLine), /line-through/);
  // The whole program is there, not only what differs.
  assert.equal(await page.locator(".comparison .fold").count(), 0);
  assert.match(await page.locator(".transport .sentence").innerText(), /^Removed one = mov/);
  await screenshot(page, "learn-step");
});

test("moments are a level of the same transport, and tell what happens", async (t) => {
  const page = await learn(t);
  await openExample(page, "questions/figure-4.wir");
  await page.getByTestId("walk").fill("30");
  await eventually("the moment is told", async () => /\?/.test(await page.locator(".transport .sentence").innerText()));
  const told = await page.locator(".transport .sentence").innerText();
  await page.keyboard.press(".");
  await eventually("the next one is", async () => (await page.locator(".transport .sentence").innerText()) !== told);
  await screenshot(page, "learn-moment");
});

test("the source is edited in the place of the program", async (t) => {
  const page = await learn(t);
  await page.getByTestId("strip-figure-cycles").waitFor();
  await page.keyboard.press("e");
  await page.locator(".cm-content:visible").waitFor();
  await page.locator(".cm-content:visible").press("Control+End");
  await page.locator(".cm-content:visible").pressSequentially("\n// mine");
  await page.getByRole("button", { name: "Back to the step" }).click();
  await page.getByTestId("program-pane").waitFor();
  await page.getByTestId("notes").getByText("edited").waitFor();
  await eventually("the focus is kept", () => page.locator("#show-source").evaluate((button) => button === document.activeElement));
});

test("notes name paper and figure, and lead to the next example", async (t) => {
  const page = await learn(t);
  await openExample(page, "questions/figure-4.wir");
  await page.getByTestId("notes").getByText("Fukuhara and Takimoto 2021, figure 4").waitFor();
  await page.getByTestId("notes").getByText("Look at").waitFor();
  await page.getByTestId("next-example").click();
  await page.getByRole("heading", { name: "Where the lanes agree" }).waitFor();
  assert.ok((await place(page)).at > 0);
});

test("a slider moves the figures", async (t) => {
  const page = await learn(t);
  await page.getByTestId("strip-figure-cycles").waitFor();
  const before = await cells(page, "simt-efficiency");
  await page.getByTestId("slider-x-coherence").fill("0");
  await eventually("lanes agree", async () => (await cells(page, "simt-efficiency"))[0] !== before[0]);
});

for (const width of [1280, 768, 320]) {
  test(`readers can read, ${width} pixels wide`, async (t) => {
    const page = await learn(t, { viewport: { width, height: 720 } });
    await page.getByTestId("strip-figure-cycles").waitFor();
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
    assert.ok((await page.locator("header.top").boundingBox()).height < 60);
    await inBothSchemes(page, async (scheme) => {
      await checkAccessibility(page);
      await screenshot(page, `learn-${scheme}-${width}`);
    });
    await checkTargets(page);
  });
}
