// Narrow, dark, by keyboard alone, and what axe-core finds.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { one } from "./browser.mjs";
import { base64url } from "./server.mjs";
import { world } from "./world.mjs";

const { page, show } = world;
const views = { overview: "", queue: "view=queue&queue=pods", keys: "view=keys&queue=pods",
  "ugly keys": `view=keys&queue=ugly`, errors: "view=errors",
  key: `view=key&queue=pods&key=${base64url("default/late-4")}`,
  "long key": `view=key&queue=ugly#key=${base64url(world.longKey)}` };
const ready = `!document.querySelector("main").innerText.includes("Reading…") &&
  document.querySelector("main").innerText.length > 40`;

test("360 px: nothing is wider than the screen, no column is hidden", async () => {
  await page.size(360, 780);
  try {
    for (const [name, query] of Object.entries(views)) {
      await show(query);
      await page.until(ready);
      const wide = await page.value(`[...document.querySelectorAll("body *")].filter((element) =>
        element.getClientRects().length > 0 && element.getBoundingClientRect().right > 360.5 &&
        !element.closest("svg, thead, caption")).map((element) => element.outerHTML.slice(0, 90))`);
      assert.deepEqual(wide, [], name);
      assert.equal(await page.value("document.documentElement.scrollWidth"), 360, name);
      const hidden = await page.value(`[...document.querySelectorAll("tbody td")].filter((cell) =>
        cell.textContent !== "" && cell.getClientRects().length === 0).length`);
      assert.equal(hidden, 0, name);
    }
  } finally {
    await page.size(1280, 900);
  }
});

test("dark and light follow the system", async () => {
  await show("");
  const color = "getComputedStyle(document.body).backgroundColor";
  await page.dark(true);
  assert.equal(await page.value(color), "rgb(18, 21, 26)");
  await page.dark(false);
  assert.equal(await page.value(color), "rgb(246, 247, 249)");
});

test("by keyboard alone: find a key, open it, remove it, go back", async () => {
  await show("");
  await page.press("?");
  await page.until(`${one("dialog[open]")}?.innerText.includes("next row")`);
  await page.press("Escape");
  await page.until(`!${one("dialog")}`);
  await page.press("j");
  await page.until(`document.activeElement.closest(".queues tbody tr")?.rowIndex === 1`);
  await page.press("j");
  await page.press("k");
  await page.until(`document.activeElement.closest(".queues tbody tr")?.rowIndex === 1`);
  await show("view=queue&queue=pods");
  await page.press("/");
  await page.until(`document.activeElement.id === "search"`);
  await page.type("web-77");
  await page.press("Enter");
  await page.until(`${one("#matched")}?.textContent.startsWith("1 key matches")`);
  await page.press("Escape");
  await page.until(`document.activeElement === document.body`);
  await page.press("j");
  await page.until(`document.activeElement.textContent === "default/web-77"`);
  await page.press("x");
  await page.until(`${one("#chosen")}.textContent === "1 key selected."`);
  await page.press("Enter");
  await page.until(`document.activeElement.tagName === "H1" && document.title.startsWith("Key ")`);
  const action = "document.activeElement.dataset?.action";
  for (let i = 0; i < 30 && await page.value(action) !== "remove"; ++i) await page.press("Tab");
  assert.equal(await page.value(action), "remove");
  assert.notEqual(await page.value("getComputedStyle(document.activeElement).outlineStyle"),
    "none");
  await page.press("Enter");
  await page.until(one("dialog[open]"));
  for (let i = 0; i < 5 && await page.value("document.activeElement.className") !== "main danger";
    ++i) await page.press("Tab");
  await page.press("Enter");
  await page.until(`${one("#status")}.textContent.startsWith("1 key of pods was removed")`);
  assert.equal(await page.value(action), "remove");  // The focus is back.
  assert.deepEqual(world.server.states("pods", "default/web-77"), []);
  await page.press("g");
  await page.press("o");
  await page.until(`document.title === "Overview – wq" && document.activeElement.tagName === "H1"`);
});

test("axe-core finds nothing", { skip: process.env.WQ_AXE ? false : "axe-core is not there" },
  async () => {
    const axe = readFileSync(process.env.WQ_AXE, "utf8");
    for (const dark of [false, true]) {
      // Only the colours differ.
      const options = dark ? '{ runOnly: ["color-contrast"] }' : "{}";
      await page.dark(dark);
      for (const [name, query] of Object.entries(views)) {
        await show(query);
        await page.until(ready);
        await page.value(axe + ";0");
        const found = await page.value(`axe.run(document, ${options}).then(
          ({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map(
            (node) => node.html.slice(0, 160) + " " + (node.any[0]?.message ?? "")).join(" | ")))`);
        assert.deepEqual(found, [], `${name}, ${dark ? "dark" : "light"}`);
      }
    }
    await page.dark(false);
  });
