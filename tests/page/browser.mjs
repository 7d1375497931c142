// A headless Chromium, driven by its DevTools protocol over a pair of pipes. No npm package.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Of one wait.
const limitMs = 20000 + Number(process.env.WQ_PAGE_KEYS ?? 0) / 10;

export class Browser {
  static async start() {
    const browser = new Browser();
    const home = mkdtempSync(join(tmpdir(), "wq-page-"));
    const root = process.getuid() === 0 ? ["--no-sandbox"] : [];  // It refuses to be root in one.
    const child = spawn("chromium", ["--headless", ...root, "--disable-gpu", "--hide-scrollbars",
      "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--force-prefers-reduced-motion",
      `--user-data-dir=${join(home, "profile")}`, "--remote-debugging-pipe", "about:blank"],
    { env: { ...process.env, HOME: home, LANG: "C.UTF-8", TZ: "UTC" },
      detached: true,  // The leader of a group of processes, which all end in close().
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    Object.assign(browser, { child, home, last: 0, waiting: new Map(), pages: new Map() });
    browser.exited = new Promise((done) => { child.once("exit", done); });
    browser.exited.then(() => {
      for (const { reject } of browser.waiting.values()) reject(new Error("the browser has ended"));
    });
    browser.#read();
    return browser;
  }

  #read() {
    let parts = [];
    this.child.stdio[4].on("data", (chunk) => {
      let begin = 0;
      for (let end = chunk.indexOf(0); end >= 0; end = chunk.indexOf(0, begin)) {
        parts.push(chunk.subarray(begin, end));
        this.#take(JSON.parse(Buffer.concat(parts).toString()));
        parts = [];
        begin = end + 1;
      }
      parts.push(chunk.subarray(begin));
    });
    this.child.stdio[3].on("error", () => {});
  }

  #take(message) {
    if (message.id === undefined) {
      this.pages.get(message.sessionId)?.event(message);
      return;
    }
    const { resolve, reject, method } = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) reject(new Error(`${method}: ${message.error.message}`));
    else resolve(message.result);
  }

  call(method, params = {}, sessionId = undefined) {
    const id = ++this.last;
    this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, method, sessionId });
    });
  }

  // A page that is left may never answer what it was asked.
  forget(session) {
    for (const [id, { reject, method, sessionId }] of this.waiting) {
      if (sessionId !== session || method !== "Runtime.evaluate") continue;
      this.waiting.set(id, { resolve() {}, reject() {}, method, sessionId });
      reject(new Error("the context was left"));
    }
  }

  async newPage() {
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.pages.set(sessionId, page);
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.call(domain + ".enable");
    await page.size(1280, 900);
    return page;
  }

  async close() {
    process.kill(-this.child.pid, "SIGKILL");
    await this.exited;
    rmSync(this.home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

const keyCodes = { Enter: [13, "\r"], Escape: [27], Tab: [9], " ": [32, " "] };

class Page {
  constructor(browser, sessionId, targetId) {
    Object.assign(this, { browser, sessionId, targetId });
    this.complaints = [];  // Exceptions, errors of the console, violations of the policy.
    this.network = [];     // Requests that failed, as the browser's log has them.
    this.requests = [];
  }

  event({ method, params }) {
    if (method === "Runtime.exceptionThrown") {
      this.complaints.push(params.exceptionDetails.exception?.description ??
        params.exceptionDetails.text);
    } else if (method === "Runtime.consoleAPICalled" && params.type !== "log") {
      this.complaints.push(params.args.map((arg) => arg.value ?? arg.description).join(" "));
    } else if (method === "Page.javascriptDialogOpening") {
      this.complaints.push("a dialog: " + params.message);
      this.call("Page.handleJavaScriptDialog", { accept: true });
    } else if (method === "Log.entryAdded") {
      const { source, level, text } = params.entry;
      if (source === "network") this.network.push(text);
      else if (level !== "verbose") this.complaints.push(`${source}: ${text}`);
    } else if (method === "Runtime.executionContextsCleared") this.browser.forget(this.sessionId);
    else if (method === "Page.loadEventFired") this.loaded?.();
    else if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
  }

  call(method, params) { return this.browser.call(method, params, this.sessionId); }

  // The value of a JavaScript expression in the page.
  async value(expression) {
    const { result, exceptionDetails } = await this.call("Runtime.evaluate",
      { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) {
      throw new Error(`${expression}: ${exceptionDetails.exception?.description ??
        exceptionDetails.text}`);
    }
    return result.value;
  }

  // Waits, in the page, until the expression is true, also over a load of the page.
  async until(expression) {
    const check = `new Promise((done, failed) => {
      const end = Date.now() + 2000;
      const check = () => {
        let value;
        try { value = (() => (${expression}))(); } catch (error) { value = undefined; }
        if (value) done(true);
        else if (Date.now() > end) done(false);
        else setTimeout(check, 10);
      };
      check();
    })`;
    const end = Date.now() + limitMs;
    while (Date.now() < end) {
      try {
        if (await this.value(check)) return;
      } catch (error) {
        if (!/context|navigat|Promise was collected/i.test(error.message)) throw error;
      }
    }
    throw new Error(`timed out: ${expression}\nthe page: ${
      await this.value("document.title + '\\n' + document.body.innerText.slice(0, 3000)")}`);
  }

  async goto(url) {
    const loaded = new Promise((done) => { this.loaded = done; });
    const { errorText } = await this.call("Page.navigate", { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await loaded;
  }

  size(width, height) {
    return this.call("Emulation.setDeviceMetricsOverride",
      { width, height, deviceScaleFactor: 1, mobile: false });
  }

  dark(on) {
    return this.call("Emulation.setEmulatedMedia",
      { features: [{ name: "prefers-color-scheme", value: on ? "dark" : "light" }] });
  }

  async press(key, modifiers = 0) {
    const [code, text] = keyCodes[key] ?? [key.toUpperCase().charCodeAt(0), key];
    const named = { key, modifiers, windowsVirtualKeyCode: code };
    await this.call("Input.dispatchKeyEvent", { type: "keyDown", text, ...named });
    await this.call("Input.dispatchKeyEvent", { type: "keyUp", ...named });
  }

  async type(text) {
    await this.call("Input.insertText", { text });
  }

  // Clicks into the middle of an element, as a mouse does, once the page has come to rest: what it
  // loads may move the element, or put another one in its place. `element` is an expression.
  async click(element) {
    await this.until(`${element}?.isConnected`);
    const place = await this.value(`(async () => {
      const end = Date.now() + ${limitMs};
      for (let last = null; Date.now() < end;) {
        const element = ${element};
        if (element?.isConnected) {
          element.scrollIntoView({ block: "center" });
          const box = element.getBoundingClientRect();
          const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
          const top = document.elementFromPoint(x, y);
          if (last?.x === x && last.y === y && element.contains(top)) return [x, y];
          last = { x, y };
        }
        await new Promise((done) => { requestAnimationFrame(done); });
      }
      return null;
    })()`);
    if (!place) throw new Error(`timed out: a click on ${element}`);
    const [x, y] = place;
    const at = { x, y, button: "left", clickCount: 1 };
    await this.call("Input.dispatchMouseEvent", { type: "mousePressed", ...at });
    await this.call("Input.dispatchMouseEvent", { type: "mouseReleased", ...at });
  }

  async fill(element, text) {
    await this.until(`${element}?.isConnected`);
    await this.value(`${element}.focus(); ${element}.select?.()`);
    if (text === "") await this.value(`${element}.value = ""`);
    else await this.type(text);
  }
}

export const one = (selector) => `document.querySelector(${JSON.stringify(selector)})`;
export const button = (text) => `[...document.querySelectorAll("button, a, summary")].find(
  (one) => one.textContent === ${JSON.stringify(text)} && one.getClientRects().length > 0)`;
