// Roles, log-ins, origins.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { button, one } from "./browser.mjs";
import { Server, base64, base64url, dumpOf } from "./server.mjs";
import { world } from "./world.mjs";

const { page } = world;
const operators = "operator-0123456789abcdef";
const viewers = "viewer-0123456789abcdef";
writeFileSync(`${world.server.directory}/operators`, operators + "\n", { mode: 0o600 });
writeFileSync(`${world.server.directory}/viewers`, viewers + "\n", { mode: 0o600 });
const server = await Server.start({ dump: dumpOf({ pods: [{ key: "default/web" }] }), options: [
  "--token-file", `${world.server.directory}/operators`,
  "--viewer-token-file", `${world.server.directory}/viewers`] });
after(() => server.close());

const forget = () => page.call("Network.clearBrowserCookies");
async function logIn(token) {
  await forget();
  await page.goto(`${server.url}/ui/?view=key&queue=pods&key=${base64url("default/web")}`);
  await page.until(one("form.login"));
  await page.fill(one("input[name=token]"), token);
  await page.press("Enter");
}

test("a wrong token is refused, and the right one leads to the URL's view", async () => {
  await logIn("wrong");
  await page.until(`${one(".problem")}.textContent !== ""`);
  await logIn(operators);
  await page.until(`${one(".sentences")}?.innerText.includes("It is queued")`);
  assert.equal(await page.value(`${one(".role")}.textContent`), "operator");
  const { cookies } = await page.call("Network.getCookies");
  const cookie = cookies.find(({ name }) => name === "wq_session");
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
  await page.click(one("#logout"));
  await page.until(one("form.login"));
});

test("a viewer sees why an action is not possible, and the server refuses it, too", async () => {
  await logIn(viewers);
  await page.until(`${one(".role")}?.textContent === "viewer"`);
  await page.until(`${one("[data-action=delete]")}?.getAttribute("aria-disabled") === "true"`);
  assert.match(await page.value(`${one(".actions .reason")}.textContent`), /Your role is viewer/);
  await page.click(one("[data-action=delete]"));
  await page.until(`${one("#status")}.textContent.includes("Your role is viewer")`);
  assert.equal(await page.value(`${one("dialog")} === null`), true);
  for (const [path, request] of [
    ["Admin/Change", { queue: "pods", kind: "DELETE", keys: [base64("default/web")] }],
    ["Admin/ChangeMatching", { queue: "pods", filter: {}, kind: "DELETE" }],
    ["Queue/Add", { queue: "pods", keys: [base64("x")] }], ["Admin/Pause", { queue: "pods" }]]) {
    const status = await page.value(`fetch("/wq.v1.${path}", { method: "POST", headers:
      { "Content-Type": "application/json" }, body: ${JSON.stringify(JSON.stringify(request))} })
      .then((reply) => reply.status)`);
    assert.equal(status, 403, path);
  }
  const { queued } = JSON.parse(server.wqctl(["inspect", "-q", "pods", "-o", "json"])).queues[0];
  assert.ok(queued === undefined || queued === 1);
  assert.match(server.states("pods", "default/web").join(), /^pending/);
  await forget();
});

test("a request of another origin is refused, and no GET changes anything", async () => {
  const request = { queue: "pods", keys: [base64("forged")] };
  const own = world.server;
  for (const origin of ["http://evil.example", "null", `http://localhost:${own.port}`,
    `http://127.0.0.1:${own.port + 1}`]) {
    const { status } = await own.post("/wq.v1.Queue/Add", request, { Origin: origin });
    assert.equal(status, 403, origin);
  }
  const { status } = await own.post("/wq.v1.Queue/Add", request, { Origin: own.url });
  assert.equal(status, 200);
  await own.call("Admin/Change", { ...request, kind: "REMOVE" });
  const got = await fetch(own.url + "/wq.v1.Queue/Add?queue=pods");
  assert.notEqual(got.status, 200);
  const { reply } = await own.post("/ui/logout", {});
  const index = await fetch(own.url + "/ui/");
  for (const { headers } of [index, reply]) {
    assert.match(headers.get("content-security-policy"),
      /default-src 'none'.*frame-ancestors 'none'/);
    assert.equal(headers.get("x-content-type-options"), "nosniff");
  }
});

test("a server that is read-only says so", async () => {
  const quiet = await Server.start({ dump: dumpOf({ pods: [{ key: "a" }] }),
    options: ["--read-only"] });
  try {
    await page.goto(`${quiet.url}/ui/?view=queue&queue=pods`);
    await page.until(`${one(".role")}?.textContent === "read-only"`);
    await page.until(`${one("[data-action=pause]")}?.getAttribute("aria-disabled") === "true"`);
    assert.match(await page.value(`${one(".actions .reason")}.textContent`), /read-only/);
    await page.click(button("Keys"));
    await page.until(`${one("[data-action=new]")}?.getAttribute("aria-disabled") === "true"`);
  } finally {
    await page.goto("about:blank");
    await quiet.close();
  }
});
