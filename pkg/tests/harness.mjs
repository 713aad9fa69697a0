// Installs the tarball as a user would, in a folder of its own, and lends what www's npm packages offer.
// `cargo xtask test pack` makes the tarball and says where it is.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const tarball = process.env.WARPSCOPE_TARBALL;
assert.ok(tarball, "run these tests with `cargo xtask test pack`, or set WARPSCOPE_TARBALL to a tarball that `cargo xtask pack` made");

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/// Imports from www/node_modules, the one place with npm packages.
export const require = createRequire(path.join(ROOT, "www/package.json"));

/// A new project with the package installed; `files` are written into it. Removed when the test ends.
export function newProject(test, files = {}) {
  const folder = mkdtempSync(path.join(tmpdir(), "warpscope-"));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  const all = { "package.json": '{ "private": true, "type": "module" }', ...files };
  for (const [name, text] of Object.entries(all)) {
    writeFileSync(path.join(folder, name), text);
  }
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  execFileSync(npm, ["install", "--offline", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", tarball], { cwd: folder });
  return folder;
}

/// Runs a program of `folder` under Node and returns what it printed.
export function runNode(folder, ...args) {
  return execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8", maxBuffer: 1 << 28 });
}

/// Opens `page` of `folder` in Chromium and returns the text that its element `#result` ends up with.
export async function resultInBrowser(test, folder, page) {
  const { chromium } = require("playwright-core");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  test.after(() => browser.close());
  const tab = await browser.newPage();
  const problem = new Promise((_, reject) => tab.once("pageerror", reject));
  await tab.route("http://project.test/**", (route) => route.fulfill({ path: path.join(folder, new URL(route.request().url()).pathname) }));
  await tab.goto(`http://project.test/${page}`);
  return Promise.race([problem, tab.locator("#result:not(:empty)").innerText()]);
}
