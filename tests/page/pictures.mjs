// pictures.mjs DIRECTORY: the pictures of docs/ui.md, of a server with plausible data.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Browser, one } from "./browser.mjs";
import { Server, base64, base64url, dumpOf } from "./server.mjs";

const out = process.argv[2];
const range = (n) => [...Array(n).keys()];
const spaces = ["billing", "default", "ingress", "payments", "search", "staging", "web"];
const space = (i) => spaces[(i * 7919) % spaces.length];
const hash = (i) => ((i * 2654435761) >>> 0).toString(16).padStart(8, "0").slice(0, 5);
const pod = (i) => `${space(i)}/${["api", "worker", "cache", "cron"][i % 4]}-${hash(i)}`;
// One key in fifteen fails.
const command = `sleep 0.05; case "$0" in *f) echo "dial tcp 10.12.3.7:443: connect: connection ` +
  `refused" >&2; exit 1 ;; esac`;
const errors = [
  (i) => `dial tcp 10.12.${i % 7}.${i % 250}:443: connect: connection refused`,
  (i) => `update of ${pod(i)}: it has been modified since; read it again and retry`,
  (i) => `quota of namespace ${space(i)} is exceeded: ${4 + (i % 3)} of 4 CPUs`,
];
const failed = (i, state, failures, more) => ({ key: pod(i), group: space(i), state, failures,
  error: errors[i % 13 === 0 ? 2 : i % 4 === 0 ? 1 : 0](i), firstS: 3000 + 20 * i,
  ageS: 20 + i, ...more });
const dump = dumpOf({
  pods: [
    ...range(1240).map((i) => ({ key: pod(i), group: space(i), ageS: 192 - i / 8,
      lane: i % 5 === 0 ? "slow" : "fast" })),
    ...range(83).map((i) => failed(5000 + i, "delayed", 1 + (i % 6), { delayS: 320,
      dueS: 12 + 9 * i, ageS: 1 + (i % 300) })),
    ...range(7).map((i) => failed(7000 + i * 5, "quarantined", 12, { ageS: 5400 + 600 * i })),
  ],
  nodes: range(38).map((i) => ({ key: `node-${hash(i)}`, ageS: 3 })),
  certificates: range(412).map((i) => ({ key: `${space(i)}/tls-${hash(i)}`, state: "delayed",
    delayS: 86400, dueS: 600 + 200 * i, ageS: 3600 })),
  volumes: [],
});

const browser = await Browser.start();
const settings = join(mkdtempSync(join(tmpdir(), "wq-pictures-")), "config");
writeFileSync(settings, "[queue *]\nbase-delay = 10s\nmax-delay = 10m\nmax-requeues = 12\n");
const server = await Server.start({ dump, options: ["--config", settings] });
let running = true;
let work = Promise.resolve();
const children = [];
try {
  server.wqctl(["pause", "-q", "certificates", "--yes", "--for", "25m"]);
  // Some work, so that there are rates.
  for (const [queue, workers] of [["pods", 3], ["nodes", 1], ["volumes", 1]]) {
    children.push(spawn(process.env.WQCTL, ["work", "-q", queue, "-j", `${workers}`, "--follow",
      "--", "sh", "-c", command], { env: server.environment, stdio: "ignore" }));
  }
  work = (async () => {
    for (let round = 0; running; ++round) {
      const keys = range(4 + Math.round(4 * Math.sin(round / 95))).map((i) =>
        base64(pod(20000 + round * 9 + i)));
      await server.call("Queue/Add", { queue: "pods", keys });
      await server.call("Queue/Add", { queue: "nodes", keys: keys.slice(0, 1) });
      await new Promise((done) => { setTimeout(done, 100); });
    }
  })();
  const page = await browser.newPage();
  const take = async (name, query, ready, width = 1280, height = 820) => {
    await page.size(width, height);
    await page.goto(`${server.url}/ui/?${query}`);
    await page.until(`${one("#connection")}?.textContent === "live"`);
    await page.until(ready);
    await page.until(`document.fonts.status === "loaded"`);
    await page.picture(join(out, name + ".png"));
  };
  // The server measures every ten seconds.
  for (let points = 0; points < 13;) {
    const { adds } = await server.call("Browse/GetSeries", { queue: "pods" });
    points = adds.filter((value) => value >= 0).length;
    await new Promise((done) => { setTimeout(done, 1000); });
  }
  await take("overview", "", `document.querySelectorAll(".queues svg").length >= 4`, 1280, 620);
  await take("keys", "view=keys&queue=pods&state=delayed&sort=due",
    `document.querySelectorAll(".keys tbody tr").length > 20`, 1280, 680);
  await page.dark(true);
  await take("queue", "view=queue&queue=pods", `document.querySelectorAll("figure").length === 5`);
  const { keys } = await server.call("Browse/Search", { queue: "pods", sort: "FAILURES", limit: 1,
    filter: { error: "10.12.3.7:443", states: ["KEY_STATE_DELAYED"] } });
  await take("key", `view=key&queue=pods&key=${base64url(Buffer.from(keys[0].key, "base64"))}`,
    `${one(".sentences")}?.innerText.includes("It is due in")`);
  await page.dark(false);
  await take("phone", "view=errors", `document.querySelectorAll(".groups tbody tr").length >= 3`,
    360, 780);
} finally {
  running = false;
  for (const child of children) child.kill("SIGKILL");
  await work.catch(() => {});
  await browser.close();
  await server.close();
  rmSync(dirname(settings), { recursive: true });
}
