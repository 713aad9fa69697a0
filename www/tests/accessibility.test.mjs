// What keeps people out, as far as axe can tell: every pane and dialog, light and dark, wide and narrow.

import test from "node:test";
import { checkAccessibility, inBothSchemes, openPage, pasteProgram, screenshot, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

for (const width of [1440, 320]) {
  test(`panes and dialogs, ${width} pixels wide`, async (t) => {
    const page = await openPage(t, { viewport: { width, height: 900 } });
    const check = (selector) => inBothSchemes(page, () => checkAccessibility(page, selector));
    await waitForMistakes(page, "No errors");
    await page.getByTestId("verdict").waitFor();
    await page.getByTestId("groups").waitFor();
    await inBothSchemes(page, async (scheme) => {
      await checkAccessibility(page);
      await screenshot(page, `whole-${scheme}-${width}`);
    });
    for (const open of ["open-examples", "share", "open-machines"]) {
      await page.getByTestId(open).click();
      await page.getByTestId("dialog").waitFor();
      if (open === "share") {
        await page.getByTestId("link").waitFor();
      }
      await check("dialog");
      await page.keyboard.press("Escape");
      await page.getByTestId("dialog").waitFor({ state: "detached" });
    }
    await page.keyboard.press("?");
    await check("dialog");
    await page.keyboard.press("Escape");
    await page.locator("#pass-search").focus();
    await check(".passes");
    await page.keyboard.press("Escape");
    await page.getByRole("tab", { name: "Launch" }).click();
    await check(".source");
    await page.getByRole("tab", { name: "Source" }).click();
    await pasteProgram(page, "kernel k() {\nentry:\n    a = fam.f32 1\n    ret\n}\n");
    await waitForMistakes(page, "error");
    await inBothSchemes(page, async (scheme) => {
      await checkAccessibility(page);
      await screenshot(page, `mistake-${scheme}-${width}`);
    });
  });
}
