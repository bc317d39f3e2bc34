// Opens an exported session in Chromium: the outline leads to the events, the search within the page finds, nothing is loaded from
// anywhere, no rule of accessibility is broken, in light and in dark. Usage: page.mjs PAGE.html OUT-DIR
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, out] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1200, height: 900 }, bypassCSP: false });
    const requests = [];
    const complaints = [];
    page.on("request", (r) => requests.push(r.url()));
    page.on("console", (m) => m.type() === "error" && complaints.push(m.text()));
    page.on("pageerror", (e) => complaints.push(String(e)));
    await page.goto(pathToFileURL(file).href);
    assert.deepEqual(requests, [pathToFileURL(file).href], "only the file itself is loaded");
    await page.screenshot({ path: join(out, `session-${colorScheme}.png`) });

    const events = page.locator("main > article");
    const all = await events.count();
    assert.ok(all > 5, "the session has events");
    const first = page.locator("nav ol a").first();
    assert.equal(await first.textContent(), "Checkout sometimes charges a card twice. Find out why.");
    await first.click();
    assert.equal(await page.evaluate(() => location.hash), "#e1");

    await page.getByLabel("Search in this page").fill("idempotency key");
    const shown = await page.locator("main > article:visible").count();
    assert.ok(shown > 0 && shown < all, `${shown} of ${all} events hold the words`);
    assert.equal(await page.locator("#found").textContent(), `${shown} of ${all} events`);
    assert.ok(await page.evaluate(() => CSS.highlights.get("found").size) >= shown, "the words are marked");
    await page.getByLabel("Search in this page").fill("");
    assert.equal(await page.evaluate(() => CSS.highlights.get("found").size), 0);
    assert.equal(await page.locator("main > article:visible").count(), all);

    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await paper();
    await page.getByRole("button", { name: "Light or dark" }).click();
    assert.notEqual(await paper(), before, "the button changes the colours");
    await page.getByRole("button", { name: "Light or dark" }).click();

    // axe is put in by the debugger, which the page's own policy does not bind.
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Runtime.evaluate", { expression: axe });
    const { result } = await cdp.send("Runtime.evaluate", {
      expression: "axe.run().then(r => JSON.stringify(r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target).join(' '))))",
      awaitPromise: true,
    });
    assert.equal(result.value, "[]", "no rule of accessibility is broken");
    assert.deepEqual(complaints, [], "the browser complains about nothing");
    await page.close();
  }
} finally {
  await browser.close();
}
console.log("page: outline, search, colours and accessibility are right");
