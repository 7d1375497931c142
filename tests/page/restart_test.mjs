// A server of its own under an open page: idle, or killed and back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { one } from "./browser.mjs";
import { Server, base64url, dumpOf } from "./server.mjs";
import { world } from "./world.mjs";

const { page } = world;

test("the rows of a store in which nothing happens are left alone", async () => {
  const server = await Server.start({ dump: dumpOf({ pods: [{ key: "a" }, { key: "b" }] }) });
  try {
    await page.goto(`${server.url}/ui/?view=keys&queue=pods`);
    await page.until(`${one("#matched")}?.textContent.startsWith("2 keys match")`);
    const read = () => page.requests.filter((url) => url.endsWith("/GetOverview")).length;
    const until = async (count) => { while (read() < count) await page.value("1"); };
    await until(read() + 1);  // The first one may find that the view is new.
    await page.value(`window.row = ${one("tbody tr")}`);
    await until(read() + 3);
    assert.ok(await page.value("window.row.isConnected"), "nobody has drawn it again");
  } finally {
    await page.goto("about:blank");
    await server.close();
  }
});

test("a page goes on after SIGKILL and a restart of its server", async () => {
  const server = await Server.start({ dump: dumpOf({ pods: [{ key: "a" }, { key: "b" }] }) });
  try {
    await page.goto(`${server.url}/ui/?view=queue&queue=pods`);
    await page.until(`${one(".tile.queued b")}?.textContent === "2"`);
    await page.value("window.mark = 1");
    await server.kill();
    await page.until(`${one("#connection")}.textContent === "disconnected, trying again"`);
    await page.click(one("[data-view=keys]"));
    await page.until(`${one(".problem")}?.textContent.includes("does not answer")`);
    await server.run();
    server.wqctl(["add", "-q", "pods", "--", "c"]);
    await page.until(`${one("#connection")}.textContent === "live"`);
    await page.until(`${one("#matched")}.textContent.startsWith("3 keys match")`);
    await page.click(one("[data-view=queue]"));
    await page.until(`${one(".tile.queued b")}.textContent === "3"`);
    assert.equal(await page.value("window.mark"), 1, "it was not loaded again");
    await page.goto(`${server.url}/ui/?view=key&queue=pods&key=${base64url("a")}`);
    await page.until(`${one(".sentences")}?.innerText.includes("It is queued")`);
  } finally {
    await page.goto("about:blank");
    await server.close();
  }
});
