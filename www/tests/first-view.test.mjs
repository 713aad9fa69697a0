// What a newcomer meets.

import test from "node:test";
import { openPage, screenshot, useBrowser } from "./harness.mjs";

useBrowser();

test("the page opens", async (t) => {
  const page = await openPage(t);
  await screenshot(page, "first-view");
});
