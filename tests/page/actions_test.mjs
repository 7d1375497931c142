// Every action, against an owner under load. Its effect is checked in the store, by wqctl.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { test } from "node:test";
import { button, one } from "./browser.mjs";
import { base64, base64url } from "./server.mjs";
import { world } from "./world.mjs";

const { page, server, show } = world;
const action = (name) => one(`[data-action=${name}]:not([aria-disabled])`);

// Clicks, reads the question, agrees, and waits for what the page says then.
async function act(name, asks, says) {
  await page.click(action(name));
  await page.until(one("dialog[open]"));
  assert.match(await page.value(`${one("dialog")}.innerText`), asks);
  await page.click(one("dialog .main"));
  await page.until(`${says}.test(${one("#status")}.textContent)`);
}

async function showKey(key) {
  await show("view=key&queue=pods&key=" + base64url(key));
  await page.until(`${one(".sentences")}.innerText !== ""`);
}

test("retry now: a delayed key, and a key in quarantine", async () => {
  assert.deepEqual(server.states("pods", "default/late-0"), ["delayed 4"]);
  await showKey("default/late-0");
  await act("retry", /Retry now: 1 key of queue pods\?/, /^1 key of pods was queued again/);
  assert.match(server.states("pods", "default/late-0").join(), /^pending/);
  await showKey("default/sick-0");
  await act("retry", /1 key of queue pods/, /^1 key of pods was queued again/);
  assert.match(server.states("pods", "default/sick-0").join(), /^pending/);
});

test("release, drop, forget, delete", async () => {
  await showKey("default/sick-1");
  await act("release", /Release: 1 key/, /^1 key of pods was released/);
  assert.match(server.states("pods", "default/sick-1").join(), /^pending/);
  await showKey("default/sick-5");
  await act("pace", /Release 10\/s: 1 key/, /^1 key of pods was released/);
  assert.match(server.states("pods", "default/sick-5").join(), /^pending/);
  await showKey("default/sick-2");
  await act("drop", /Drop: 1 key/, /^1 key of pods was dropped/);
  assert.doesNotMatch(server.states("pods", "default/sick-2").join(), /quarantined|pending/);
  await showKey("default/late-1");
  await act("forget", /Forget: 1 key/, /^1 key of pods was forgotten/);
  assert.deepEqual(server.states("pods", "default/late-1"), ["delayed 0"]);
  await showKey("default/late-2");
  await act("delete", /Delete: 1 key/, /^1 key of pods was deleted/);
  assert.deepEqual(server.states("pods", "default/late-2"), []);
  await page.until(`${one(".sentences")}.innerText.includes("has nothing of this key")`);
});

test("add, remove, move to a lane: of selected rows", async () => {
  await show("view=keys&queue=pods&prefix=default/web-10");
  await page.until(`${one("#matched")}.textContent.startsWith("11 keys match")`);
  await page.click(one(".keys tbody tr:nth-child(1) input"));
  await page.click(one(".keys tbody tr:nth-child(3) input"));
  await page.until(`${one("#chosen")}.textContent === "2 keys selected."`);
  await page.fill(one(".pair input"), "slow");
  await act("lane", /Move to lane slow: 2 keys of queue pods\?/, /^2 keys of pods were moved/);
  const { entries } = JSON.parse(server.wqctl(["inspect", "-q", "pods", "-o", "json", "--",
    "default/web-10"]));
  assert.equal(entries[0].lane, "slow");
  await page.until(`${one("#chosen")}.textContent === ""`);
  await page.click(one(".keys thead input"));
  await page.until(`${one("#chosen")}.textContent === "11 keys selected."`);
  await act("remove", /Remove: 11 keys of queue pods\?/, /^11 keys of pods were removed/);
  await page.until(`${one("#matched")}.textContent.startsWith("0 keys match")`);
  assert.deepEqual(server.states("pods", "default/web-10"), []);
  await showKey("default/web-10");
  await act("add", /Add: 1 key/, /^1 key of pods was added/);
  assert.deepEqual(server.states("pods", "default/web-10"), ["pending 0"]);
});

test("a question that is answered with no changes nothing", async () => {
  await showKey("default/web-20");
  await page.click(action("delete"));
  await page.until(one("dialog[open]"));
  await page.press("Escape");
  await page.until(`!${one("dialog")}`);
  assert.deepEqual(server.states("pods", "default/web-20"), ["pending 0"]);
});

test("keys that are added by hand, with escapes, a lane, a group and a delay", async () => {
  await show("view=keys&queue=pods");
  await page.fill(one("textarea"), "by-hand/1\nby-hand/\\xff\\n");
  const inputs = "[...document.querySelectorAll('.adding input')]";
  await page.fill(`${inputs}[0]`, "slow");
  await page.fill(`${inputs}[1]`, "hands");
  await page.fill(`${inputs}[2]`, "1h30m");
  await page.click(action("new"));
  await page.until(`${one("#status")}.textContent.startsWith("2 keys were added to pods")`);
  const { key } = await server.call("Browse/GetKey", { queue: "pods", key:
    base64(Buffer.from("by-hand/\xff\n", "latin1")) });
  assert.deepEqual([key.states, key.lane, key.group, key.delay_us],
    [["KEY_STATE_DELAYED"], -100, base64("hands"), "5400000000"]);
});

test("all that match: a dry run says how many, then they are changed", async () => {
  const before = world.load.rounds();
  await show("view=keys&queue=many&prefix=tenant-7/");
  const n = world.keys / 50;
  const text = n.toLocaleString("en");
  await page.until(`${one("#matched")}.textContent.startsWith("${text} keys match")`);
  await page.click(one("#all"));
  await page.fill(one(".pair input"), "slow");
  await act("lane", new RegExp(`${text} keys match.*applies to ${text} of them`, "s"),
    new RegExp(`^${text} keys of many were moved`));
  await show("view=keys&queue=many");
  await page.until(`${one("#matched")}.textContent.includes(" keys match")`);
  await page.click(one("#all"));
  const all = world.keys.toLocaleString("en");
  await act("remove", new RegExp(`Remove: ${all} keys of queue many`),
    new RegExp(`^${all} keys of many were removed`));
  const counts = await server.call("Queue/Counts", { queue: "many" });
  assert.equal(counts.queued, "0");
  assert.ok(world.load.rounds() > before, "the load went on");
});

test("pause, resume, pause for a time", async () => {
  await show("view=queue&queue=pods");
  const paused = async () => (await server.call("Queue/Counts", { queue: "pods" })).paused;
  await act("pause", /Pause queue pods\?/, /^pods is paused/);
  assert.equal(await paused(), true);
  await page.until(`${one("#state")}.textContent.startsWith("paused")`);
  await page.click(action("resume"));
  await page.until(`${one("#state")}.textContent.startsWith("running")`);
  assert.equal(await paused(), false);
  await page.fill(one("#pause-for"), "1h");
  await act("pause-for", /Pause queue pods for 1h\?/, /^pods is paused for 1h/);
  await page.until(`/^paused, resumes in (1h|59m)/.test(${one("#state")}.textContent)`);
  await page.click(action("resume"));
  await page.until(`${one("#state")}.textContent.startsWith("running")`);
});

test("a worker, the key that it holds, and since when", async () => {
  const pipe = `${server.directory}/pipe`;
  execFileSync("mkfifo", [pipe]);
  const held = openSync(pipe, "r+");  // The command reads until it is closed.
  const worker = spawn(process.env.WQCTL, ["work", "-q", "held", "--follow", "--", "sh", "-c",
    'read -r line <"$0"', pipe], { env: server.environment, stdio: "ignore" });
  const ended = new Promise((done) => { worker.once("exit", done); });
  try {
    server.wqctl(["add", "-q", "held", "--", "held/key"]);
    await show("view=queue&queue=held");
    await page.until(`document.querySelectorAll(".workers li.card").length === 1`);
    await page.until(`${one(".workers")}.innerText.includes("holds 1 key")`);
    await page.click(one(".workers summary"));
    await page.click(`[...document.querySelectorAll(".held a")].find((a) =>
      a.textContent === "held/key")`);
    await page.until(`/^The worker .* holds it, for/.test(${one(".sentences")}?.innerText)`);
    await page.until(`${one(".facts")}.innerText.includes("processing")`);
  } finally {
    writeSync(held, "\n");
    worker.kill("SIGTERM");
    await ended;
    closeSync(held);
  }
});
