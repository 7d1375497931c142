// Every view shows what the server has.
import assert from "node:assert/strict";
import { test } from "node:test";
import { button, one } from "./browser.mjs";
import { base64, base64url } from "./server.mjs";
import { world } from "./world.mjs";

const { page, server, show } = world;
const texts = (selector) => page.value(`[...document.querySelectorAll(${JSON.stringify(selector)})]
  .map((element) => element.innerText)`);

test("overview: all queues, and counts that follow the store", async () => {
  await show("");
  await page.until(`document.querySelectorAll(".queues tbody tr").length >= 3`);
  const cell = (i) => `[...document.querySelectorAll(".queues tbody tr")]
    .find((row) => row.cells[0].textContent === "pods").cells[${i}].textContent`;
  assert.equal(await page.value(cell(2)), "270");
  assert.equal(await page.value(cell(4)), "8");
  assert.equal(await page.value(cell(6)), "6");
  await page.until(`${cell(1)} === "running"`);
  server.wqctl(["add", "-q", "pods", "--", "fresh"]);
  await page.until(`${cell(2)} === "271"`);
  server.wqctl(["rm", "-q", "pods", "--yes", "--", "fresh"]);
  await page.until(`${cell(2)} === "270"`);
  await page.until(`Number([...document.querySelectorAll(".queues tbody tr")]
    .find((row) => row.cells[0].textContent === "busy").cells[8]
      .textContent.replace(",", "")) > 0`);
  await page.until(`document.querySelectorAll(".queues svg[role=img]").length > 0`);
  assert.equal(await page.value("document.title"), "Overview – wq");
  assert.match(await page.value("document.querySelector('footer').innerText"),
    /Live from the owner/);
});

test("queue: counts and charts", async () => {
  await show("view=queue&queue=pods");
  await page.until(`${one(".tile.queued b")}.textContent === "270"`);
  await page.until(`document.querySelectorAll("figure svg[role=img]").length === 5`);
});

test("keys: conditions, order, pages, and the back button", async () => {
  await show("view=keys&queue=pods");
  await page.until(`${one("#matched")}.textContent.startsWith("284 keys match of 284")`);
  await page.until(`document.querySelectorAll(".keys tbody tr").length === 100`);
  await page.click(one("#next"));
  await page.until(`${one(".pages")}.innerText.includes("101 to 200")`);
  await page.click(one("#next"));
  await page.until(`${one(".pages")}.innerText.includes("201 to 284")`);
  await page.value("history.back()");
  await page.until(`${one(".pages")}.innerText.includes("101 to 200")`);
  await page.fill(one("#search"), "web-1");
  await page.press("Enter");
  await page.until(`${one("#matched")}.textContent.startsWith("111 keys match")`);
  assert.match(await page.value("location.search"), /part=web-1/);
  await page.click(button("Clear"));
  await page.until(`${one("#matched")}.textContent.startsWith("284 keys match")`);
  await page.click(one("input[value=delayed]"));
  await page.until(`${one("#matched")}.textContent.startsWith("8 keys match")`);
  await page.click(one("input[value=quarantined]"));
  await page.until(`${one("#matched")}.textContent.startsWith("14 keys match")`);
  for (const [query, found] of [["prefix=batch/", 20], ["pattern=web-.$", 10], ["lane=slow", 20],
    ["group=default", 258], ["failures=5", 6], ["error=REFUSED", 8], ["shard=7", 0]]) {
    await show("view=keys&queue=pods&" + query);
    await page.until(`${one("#matched")}.textContent.startsWith("${found} key")`);
  }
  await show("view=keys&queue=pods&pattern=(");
  await page.until(`${one(".problem")}.textContent !== ""`);
});

test("errors: a group leads to its keys", async () => {
  await show("view=errors");
  await page.until(`document.querySelectorAll(".groups tbody tr").length === 2`);
  assert.ok((await texts(".groups tbody tr")).some((text) => text.includes("connection refused")));
  await page.click(`[...document.querySelectorAll(".groups td.error a")].find((a) =>
    a.textContent.includes("refused"))`);
  await page.until(`${one("#matched")}?.textContent.startsWith("8 keys match")`);
  await page.click(button("Any error"));
  await page.until(`${one("#matched")}.textContent.startsWith("284 keys match")`);
});

test("key: a resync is no delay that somebody asked for; its causes", async () => {
  const keys = [base64("default/again")];
  await server.call("Queue/Add", { queue: "pods", keys, delay_us: "7200000000",
    delay_mode: "DELAY_MODE_RESYNC", cause: { reason: "listed" } });
  await show("view=key&queue=pods&key=" + base64url("default/again"));
  await page.until(`/^It is resynced in /.test(${one(".sentences")}.innerText)`);
  await page.until(`${one(".facts")}.innerText.includes("listed")`);
  await show("view=queue&queue=pods");
  await page.until(`${one(".tile.delayed")}.innerText.includes(", 1 resync")`);
  await server.call("Admin/Change", { queue: "pods", keys, kind: "CANCEL_DELAY" });
});

test("key: why it waits", async () => {
  await show("view=key&queue=pods&key=" + base64url("default/late-3"));
  await page.until(`${one(".sentences")}.innerText.includes("because its 4th failure asked for a " +
    "delay of 50m10s")`);
  const text = await page.value(`${one(".sentences")}.innerText`);
  assert.match(text, /^It is due in \d+m/m);
  assert.match(text, /It has failed 4 times/);
  assert.match(await page.value("document.querySelector('main').innerText"),
    /dial tcp 10\.0\.0\.3:443: connection refused/);
  await show("view=key&queue=pods&key=" + base64url("nobody/knows-it"));
  await page.until(`${one(".sentences")}.innerText.includes("has nothing of this key")`);
  await show("view=key&queue=pods&key=" + base64url("default/web-0"));
  await page.until(`${one(".sentences")}.innerText.includes("It is queued in lane fast")`);
});

test("key: its last events", async () => {
  server.wqctl(["add", "-q", "pods", "--", "with/history"]);
  server.wqctl(["add", "-q", "pods", "--", "with/history"]);
  server.wqctl(["rm", "-q", "pods", "--yes", "--", "with/history"]);
  await show("view=key&queue=pods&key=" + base64url("with/history"));
  await page.until(`document.querySelectorAll(".events tbody tr").length >= 3`);
  const events = await page.value(`[...document.querySelectorAll(".events tbody tr")].map((row) =>
    row.cells[1].textContent)`);
  assert.deepEqual(events, ["removed", "added again while it was queued, 1 time", "added"]);
});

test("a page that is only read loads nothing from another host", async () => {
  const others = page.requests.filter((url) => !url.startsWith(server.url) &&
    url !== "about:blank");
  assert.deepEqual(others, []);
});
