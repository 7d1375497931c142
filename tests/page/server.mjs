// wqctl serve with its page, for the tests.
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const base64 = (key) => Buffer.from(key).toString("base64");
export const base64url = (key) => Buffer.from(key).toString("base64url");

// Lines of `wqctl dump`. Of a key: { key, state, lane, group, failures, error, ageS, dueS }.
export function dumpOf(queues) {
  const now = Date.now();  // One: a delay must not end later than it may.
  const at = (seconds) => new Date(now + seconds * 1000).toISOString().replace("Z", "000Z");
  const lines = [];
  for (const [queue, keys] of Object.entries(queues)) {
    lines.push({ record: "queue", queue, created_at: at(-86400),
      sequence_high_water: keys.length + 1,
      paused: false, shards: 0 });
    keys.forEach((key, i) => {
      const line = { queue, key: key.key, state: key.state ?? "pending", lane: key.lane ?? "fast" };
      if (key.group) line.group = key.group;
      if (line.state === "quarantined") line.quarantined_at = at(-(key.ageS ?? 10));
      else line.added_at = at(-(key.ageS ?? 10));
      if (line.state === "pending") line.sequence = i + 1;
      if (line.state === "delayed") {
        const dueS = key.dueS ?? 3600;
        Object.assign(line, { ready_at: at(dueS),
          delay_seconds: Math.max(key.delayS ?? 3600, dueS + (key.ageS ?? 10)) });
      }
      if (key.failures) {
        Object.assign(line, { failures: key.failures, last_error: key.error ?? "",
          first_failure_at: at(-(key.firstS ?? 7200)), last_failure_at: at(-(key.ageS ?? 10)) });
      } else line.failures = 0;
      lines.push(line);
    });
  }
  return lines.map((line) => JSON.stringify(line) + "\n").join("");
}

export class Server {
  // options: words of wqctl serve. dump: what the store has.
  static async start({ dump = "", options = [], cookie = "" } = {}) {
    const server = new Server();
    server.directory = mkdtempSync(join(tmpdir(), "wq-page-store-"));
    server.environment = { ...process.env, WQ_STORE: join(server.directory, "store"),
      XDG_CONFIG_HOME: server.directory };
    server.options = options;
    server.cookie = cookie;
    if (dump !== "") server.wqctl(["load", "-"], dump);
    server.port = 0;
    await server.run();
    return server;
  }

  // Also after kill(): at the same port.
  async run() {
    const words = ["serve", "--create", "--http", `127.0.0.1:${this.port}`, ...this.options];
    const child = spawn(process.env.WQCTL, words,
      { env: this.environment, stdio: ["ignore", "ignore", "pipe"] });
    this.child = child;
    this.exited = new Promise((done) => { child.once("exit", done); });
    let text = "";
    await new Promise((done, failed) => {
      child.stderr.on("data", (chunk) => {
        text += chunk;
        const found = /http port (\d+)/.exec(text);
        if (!found) return;
        this.port = Number(found[1]);
        done();
      });
      this.exited.then(() => failed(new Error("wqctl serve has ended: " + text)));
    });
    this.url = `http://127.0.0.1:${this.port}`;
  }

  async kill(signal = "SIGKILL") {
    this.child.kill(signal);
    await this.exited;
  }

  async close() {
    await this.kill("SIGKILL");
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  // stdout of wqctl.
  wqctl(words, input = "") {
    return execFileSync(process.env.WQCTL, words, { input, env: this.environment,
      encoding: "utf8", stdio: ["pipe", "pipe", "pipe"], maxBuffer: 1 << 28 });
  }

  // "delayed 2", "pending 0": each state of a key with its failures.
  states(queue, key) {
    let text;
    try {
      text = this.wqctl(["inspect", "-q", queue, "-o", "json", "--", key]);
    } catch (error) {
      if (error.status === 3) return [];  // The queue has nothing of it.
      throw error;
    }
    return JSON.parse(text).entries.map((entry) => `${entry.state} ${entry.failures ?? 0}`);
  }

  // { status, body } of a call.
  async post(path, request, headers = {}) {
    const reply = await fetch(this.url + path, { method: "POST",
      headers: { "Content-Type": "application/json", Cookie: this.cookie, ...headers },
      body: JSON.stringify(request) });
    return { status: reply.status, body: await reply.json().catch(() => ({})), reply };
  }

  async call(method, request) {
    const { status, body } = await this.post("/wq.v1." + method, request);
    if (status !== 200) throw new Error(`${method}: ${status} ${JSON.stringify(body)}`);
    return body;
  }
}

// Adds and removes keys of a queue until stop() is called.
export function load(server, queue) {
  let running = true;
  let rounds = 0;
  const done = (async () => {
    while (running) {
      const keys = [...Array(100)].map((_, i) => base64(`load/${rounds % 7}/${i}`));
      await server.call("Queue/Add", { queue, keys, create: true });
      await server.call("Admin/Change", { queue, kind: "REMOVE", keys });
      rounds += 1;
    }
  })();
  return { rounds: () => rounds, async stop() {
    running = false;
    await done;
  } };
}
