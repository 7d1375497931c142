// The server is killed and comes back under an open page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { one } from "./browser.mjs";
import { Server, base64url, dumpOf } from "./server.mjs";
import { world } from "./world.mjs";

const { page } = world;

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
