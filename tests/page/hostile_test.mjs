// Keys, queues and errors that look like something else. They are text, and nothing else.
import assert from "node:assert/strict";
import { test } from "node:test";
import { one } from "./browser.mjs";
import { base64, base64url } from "./server.mjs";
import { world } from "./world.mjs";

const { page, server, show } = world;

const keys = ["<script>alert(1)</script>", "<img src=x onerror=alert(2)>", '"onmouseover="alert(3)',
  "&lt;b&gt;", "\u202egnp.exe", "a\u2066b\u2069", "left\u200eright", "zero\u200bwidth",
    "\u001b[31mred",
  "new\nline", "back\\slash", "日本", "javascript:alert(4)", "{{7*7}}"];
const invalid = Buffer.from([0xff, 0xfe, 0x41, 0xc0, 0x80]);
const queue = "ugly";

await server.call("Queue/Add", { queue, create: true, keys:
  [...keys.map(base64), base64(invalid)] });

const shown = `[...document.querySelectorAll(".keys td.key")].map((cell) => cell.textContent)`;

test("the list shows each key as wqctl does", async () => {
  await show("view=keys&queue=" + encodeURIComponent(queue));
  await page.until(`${one("#matched")}.textContent.startsWith("16 keys match")`);
  const expected = server.wqctl(["ls", "-q", queue, "-o", "table"]).split("\n").slice(1)
    .map((line) => /^ugly +(.*?) +(pending) /.exec(line)?.[1]).filter(Boolean);
  assert.equal(expected.length, 16);
  const found = await page.value(shown);
  const short = (list) => list.filter((key) => !key.startsWith("xxx")).sort();
  assert.deepEqual(short(found), short(expected));
  assert.ok(found.includes("\\u{202e}gnp.exe") && found.includes("\\xff\\xfeA\\xc0\\x80"));
  const long = found.find((key) => key.startsWith("xxx"));
  assert.ok(long.includes(" … ") && long.length < 200, "its middle is left out");
  assert.equal(await page.value(`document.querySelectorAll("main script, main img, main b").length`)
    , 0);
  assert.equal(await page.value(`[...document.body.innerText].some((c) =>
    /[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u200e\\u200f]/.test(c))`), false);
});

test("each key has its view, with a stable URL, and can be found again", async () => {
  for (const key of [...keys, invalid]) {
    await show(new URLSearchParams({ view: "key", queue, key: base64url(key) }).toString());
    await page.until(`${one(".sentences")}.innerText.includes("It is queued")`);
    assert.equal(await page.value("new URLSearchParams(location.search).get('key')"),
      base64url(key));
  }
  await show(`view=key&queue=${queue}#key=${base64url(world.longKey)}`);
  await page.until(`${one(".sentences")}.innerText.includes("It is queued")`);
  await page.click(`[...document.querySelectorAll("button")].find((b) =>
    b.textContent.startsWith("Show all 65,536 bytes"))`);
  await page.until(`${one("p.whole")}.textContent.length === 65536`);
  await show("view=keys&queue=" + queue);
  await page.click(`[...document.querySelectorAll(".keys a")].find((a) =>
    a.textContent.startsWith("xxx"))`);
  await page.until(`${one(".sentences")}?.innerText.includes("It is queued")`);
  await page.value("history.back()");
  await page.until(`${one("#matched")}?.textContent.startsWith("16 keys match")`);
  await show(new URLSearchParams({ view: "keys", queue, part: "\\xff" }).toString());
  await page.until(`${one("#matched")}.textContent.startsWith("1 key matches")`);
  await show(new URLSearchParams({ view: "keys", queue, part: "\\u{202e}" }).toString());
  await page.until(`${one("#matched")}.textContent.startsWith("1 key matches")`);
});

test("a key that is not UTF-8 is changed by the page", async () => {
  await show(new URLSearchParams({ view: "key", queue, key: base64url(invalid) }).toString());
  await page.click(one("[data-action=remove]:not([aria-disabled])"));
  await page.until(one("dialog[open]"));
  await page.click(one("dialog .main"));
  await page.until(`${one("#status")}.textContent.startsWith("1 key of ")`);
  const { key } = await server.call("Browse/GetKey", { queue, key: base64(invalid) })
    .catch(() => ({ key: { states: [] } }));
  assert.deepEqual(key.states ?? [], []);
});
