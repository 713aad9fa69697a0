// Links that reopen exactly this.

import assert from "node:assert/strict";
import test from "node:test";
import { openPage, pasteProgram, programText, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

test("a bad link opens the default and says why", async (t) => {
  const page = await openPage(t, { hash: "#v1.d:not-a-link" });
  await page.getByTestId("notice").waitFor();
  await waitForMistakes(page, "No mistakes");
  assert.match(await programText(page), /kernel /);
});
