// pictures.mjs DIRECTORY: takes the pictures of docs/ui again, of a queue that workers have served
// for MINUTES (3). WQCTL is the program.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser } from "./browser.mjs";
import { Server, base64, base64url, dumpOf } from "./server.mjs";

const [directory] = process.argv.slice(2);
const minutes = Number(process.env.MINUTES ?? 3);
const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
const range = (n) => [...Array(n).keys()];

const parts = ["billing", "payments", "staging", "search"];
const kinds = ["api", "web", "cache", "cron"];
const keyOf = (i) => `${parts[i % 4]}/${kinds[Math.floor(i / 4) % 4]}-${(i * 2654435761 >>> 16)
  .toString(16).padStart(5, "0").slice(-5)}`;
const refused = (i) => `dial tcp 10.12.3.${i % 9}:443: connect: connection refused`;
const server = await Server.start({ dump: dumpOf({
  pods: [
    ...range(900).map((i) => ({ key: keyOf(i), ageS: 300 - i / 3 })),
    ...range(6).map((i) => ({ key: keyOf(5000 + i), state: "quarantined", failures: 12,
      error: `the image registry.example/app:${i} does not exist` })),
    ...range(40).map((i) => ({ key: keyOf(6000 + i), state: "delayed", failures: 2 + i % 5,
      error: refused(i), delayS: 600, dueS: 60 + 9 * i }))],
  nodes: range(60).map((i) => ({ key: `node-${String(i).padStart(3, "0")}` })),
  reports: range(8).map((i) => ({ key: `daily/${i}`, state: "delayed", dueS: 3600 * (i + 1) })),
}) });

// One key in 16 fails.
const command = `case "$1" in *0) echo "${refused(7)}" >&2; exit 1;; esac; sleep 0.05`;
const workers = ["pods", "nodes"].map((queue, i) => spawn(process.env.WQCTL,
  ["work", "--follow", "-q", queue, "-j", `${3 - i}`, "--", "sh", "-c", command, "_"],
  { env: server.environment, stdio: "ignore" }));
for (let second = 0; second < minutes * 60; ++second) {
  const busy = Math.round(40 + 30 * Math.sin(second / 18));
  const keys = range(busy).map((i) => base64(keyOf(7000 + (second * 70 + i) % 40000)));
  await server.call("Queue/Add", { queue: "pods", keys });
  await server.call("Queue/Add", { queue: "nodes", keys: [base64(`node-${second % 60}`)] });
  await pause(1000);
}

const browser = await Browser.start();
const page = await browser.newPage();
const failing = JSON.parse(server.wqctl(["ls", "-q", "pods", "--state", "delayed", "-o", "jsonl",
  "--limit", "1"]).split("\n")[0]).key;
const pictures = [
  ["overview", "view=overview", [1280, 620], false],
  ["queue", "view=queue&queue=pods", [1280, 820], true],
  ["keys", "view=keys&queue=pods&state=delayed&sort=due", [1280, 680], false],
  ["phone", "view=errors&queue=pods", [360, 780], false],
  ["key", `view=key&queue=pods&key=${base64url(failing)}`, [1280, 820], true],
];
for (const [name, query, size, dark] of pictures) {
  await page.size(...size);
  await page.dark(dark);
  await page.goto(`${server.url}/ui/?${query}`);
  await page.until(`document.querySelector("main h1") &&
    document.querySelector("#connection")?.textContent === "live"`);
  await pause(1500);  // Until what the view asked for is there.
  const { data } = await page.call("Page.captureScreenshot", { format: "png" });
  writeFileSync(join(directory, `${name}.png`), Buffer.from(data, "base64"));
}
await browser.close();
for (const worker of workers) worker.kill("SIGTERM");
await server.close();
