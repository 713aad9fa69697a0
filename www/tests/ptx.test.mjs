// The program saved as PTX: what is saved is what is shown, and loads that may fault are named first.

import assert from "node:assert/strict";
import test from "node:test";
import { eventually, openPage, pasteProgram, useBrowser, waitForMistakes } from "./harness.mjs";

useBrowser();

const CHECKED = `kernel k(n: u32, x: ptr.global, o: ptr.global) {
entry:
    t = mov.u32 %tid
    p = setp.lt.u32 t, n
    r = mov.u32 7
    br p, in, out
in:
    v = ld.global.u32 x[t]
    r = add.u32 v, 1
    br out
out:
    st.global.u32 o[t], r
    ret
}
launch k {
    block 32
    n = 20
    x = buffer u32[20] iota
    o = buffer u32[64] const 0
}
`;

/// The text behind the download link.
async function downloaded(page) {
  const address = await page.getByTestId("download-ptx").getAttribute("href");
  return decodeURIComponent(address.slice(address.indexOf(",") + 1));
}

test("a load that may fault is named, and can be guarded before the program is saved", async (t) => {
  const page = await openPage(t);
  await waitForMistakes(page, "No errors");
  await pasteProgram(page, CHECKED);
  await page.getByRole("combobox", { name: "Add a pass" }).fill("ssrqp-s");
  await page.keyboard.press("Enter");
  await waitForMistakes(page, "No errors");
  await page.getByTestId("share").click();
  await page.getByTestId("save-ptx").click();
  await page.getByTestId("ptx-loads").waitFor();
  assert.match(await page.getByTestId("ptx-loads").innerText(), /ld\.global\.spec\.u32/);
  assert.match(await downloaded(page), /\.visible \.entry k\(/);
  await page.getByTestId("guard-loads").click();
  await eventually("the loads are guarded", async () => (await page.getByTestId("ptx-loads").count()) === 0);
  assert.match(await downloaded(page), /\.visible \.entry k\(/);
});
