// What most tests share: one browser, one page in it, and one server with some queues.
import assert from "node:assert/strict";
import { after, afterEach } from "node:test";
import { Browser } from "./browser.mjs";
import { Server, dumpOf, load } from "./server.mjs";

const many = process.env.WQ_PAGE_KEYS ? Number(process.env.WQ_PAGE_KEYS) : 100000;

const range = (n) => [...Array(n).keys()];
const pods = [
  ...range(250).map((i) => ({ key: `default/web-${i}`, group: "default", ageS: 300 - i })),
  ...range(20).map((i) => ({ key: `batch/job-${i}`, lane: "slow", group: "batch" })),
  ...range(8).map((i) => ({ key: `default/late-${i}`, state: "delayed", group: "default",
    failures: 4, error: `dial tcp 10.0.0.${i}:443: connection refused`, delayS: 300, dueS: 3000 })),
  ...range(6).map((i) => ({ key: `default/sick-${i}`, state: "quarantined", failures: 12,
    error: "the image <b>does not</b> exist" })),
];

export const world = { keys: many };
world.browser = await Browser.start();
// A server adds keys of at most 4 KiB; a store may have longer ones.
world.longKey = "x".repeat(65536);
world.server = await Server.start({ dump: dumpOf({ pods, ugly: [{ key: world.longKey }],
  many: range(many).map((i) =>
  ({ key: `tenant-${i % 50}/object-${String(i).padStart(7, "0")}` })) }) });
world.page = await world.browser.newPage();
world.load = load(world.server, "busy");

world.show = async (query) => {
  await world.page.goto(`${world.server.url}/ui/?${query}`);
  await world.page.until(`document.querySelector("main h1") &&
    document.querySelector("#connection")?.textContent === "live"`);
};

afterEach(() => {
  const { complaints } = world.page;
  world.page.complaints = [];
  world.page.network = [];
  assert.deepEqual(complaints, []);
});

after(async () => {
  await world.load.stop();
  await world.browser.close();
  await world.server.close();
});
