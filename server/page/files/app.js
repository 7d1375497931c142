// The page's frame: which view is shown (its URL says it), the session, the live overview, the
// keyboard.
import { session as askSession, browse, logout, whyNot } from "./api.js";
import { help } from "./dialogs.js";
import { h, heading, link, paramsOf, say, urlOf } from "./dom.js";
import { listen, stop } from "./live.js";
import { showLogin } from "./login.js";
import { ago, escapeText, number } from "./text.js";
import * as errors from "./view_errors.js";
import * as key from "./view_key.js";
import * as keys from "./view_keys.js";
import * as overview from "./view_overview.js";
import * as queue from "./view_queue.js";

const views = { overview, queue, keys, errors, key };
const main = document.getElementById("main");

// What the views use.
const page = {
  session: null,
  whyNot: null,    // Why nothing may be changed; null: it may.
  params: {},      // Of the URL.
  queues: [],      // Names of all queues.
  overview: null,  // The last one.
  skew: 0,         // The server's clock minus this one's, in microseconds.
  now: () => Date.now() * 1000 + page.skew,
  go,
};
let shown = null;      // { name, queue, view }

// Opens a URL of the page. Params without a value are left out.
function go(params, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", urlOf(params));
  render(true);
}

function render(moveFocus) {
  page.params = paramsOf(location);
  const name = page.params.view in views ? page.params.view : "overview";
  const same = shown?.name === name && shown.queue === page.params.queue &&
    (name !== "key" || shown.key === page.params.key);
  if (same && shown.view.update) {
    shown.view.update(page.params);
  } else {
    shown?.view.close?.();
    main.replaceChildren();
    say("");
    shown = { name, queue: page.params.queue, key: page.params.key, view: {} };
    shown.view = views[name].open(main, page.params, page);
    if (moveFocus) {
      scrollTo(0, 0);
      main.querySelector("h1")?.focus({ preventScroll: true });
    }
  }
  document.title = shown.view.title + " – wq";
  renderNav();
  follow();
}

function renderNav() {
  const current = shown.name;
  const name = page.params.queue ?? page.queue ?? page.queues[0];
  if (page.params.queue) page.queue = page.params.queue;
  const item = (view, text, params) => h("li", {}, link(params, text,
    { "aria-current": current === view && "page", "data-view": view }));
  const choice = h("select", { "aria-label": "Queue", id: "choice", onchange: (event) => {
    const view = current === "overview" || current === "key" ? "queue" : current;
    go({ view, queue: event.target.value });
  } });
  const names = page.queues.includes(name) || !name ? page.queues : [name, ...page.queues];
  if (current === "errors") choice.append(h("option", { value: "" }, "all queues"));
  choice.append(...names.map((other) => h("option", { value: other }, escapeText(other))));
  choice.value = current === "errors" ? page.params.queue ?? "" : name ?? "";
  document.getElementById("nav").replaceChildren(h("ul", {},
    item("overview", "Overview", {}),
      name && item("queue", "Queue", { view: "queue", queue: name }),
    name && item("keys", "Keys", { view: "keys", queue: name }),
    item("errors", "Errors", { view: "errors", queue: page.params.queue })),
  names.length > 0 && current !== "overview" ? choice : "");
}

function renderSide() {
  const { role, needs_token: needsToken, read_only: readOnly } = page.session;
  document.getElementById("side").replaceChildren(
    h("span", { id: "connection" }),
    role === "none" ? "" : h("span", { class: "role" }, readOnly ? "read-only" : role),
    needsToken && role !== "none" ? h("button", { id: "logout", onclick: async () => {
      await logout().catch(() => {});
      begin();
    } }, "Log out") : "",
    h("button", { id: "help", "aria-label": "Help: keys of the keyboard", onclick: help }, "?"));
}

function renderAbout(response) {
  const place = response.read_at_us && number(response.read_at_us) > 0
    ? `Read at ${new Date(number(response.read_at_us) / 1000).toLocaleString()}, ` +
      `${ago(response.read_at_us, page.now())}: this page shows the store as it was then.`
    : `Live from the owner, process ${response.pid}.`;
  const health = response.health?.code && response.health.code !== "CODE_OK"
    ? h("strong", { class: "bad" }, `Not durable: ${escapeText(response.health.message)}. `) : "";
  const about = document.getElementById("about");
  const text = `${place} Store ${escapeText(response.directory)}, ${response.uuid}. wq ${
    page.session.version}`;
  if (about.textContent !== health.textContent + text) about.replaceChildren(health, text);
}

function connection(text, bad) {
  const element = document.getElementById("connection");
  if (!element || element.textContent === text) return;
  element.className = bad ? "bad" : "";
  element.textContent = text;
  if (bad) say("Disconnected, trying again.", true);
}

const live = {
  overview(response, changed) {
    page.skew = number(response.now_us) - Date.now() * 1000;
    page.overview = response;
    connection(number(response.read_at_us) > 0 ? "not live" : "live", false);
    renderAbout(response);
    if (shown && !page.params.queue) takeNames(response);
    if (changed) shown?.view.live?.(response);
  },
  lost: () => connection("disconnected, trying again", true),
  async back() {
    say("Connected again.");
    const session = await askSession();
    if (!session) return;
    if (session.version !== page.session.version) location.reload();
    take(session);
    shown?.view.refresh?.();
  },
};

function takeNames(response) {
  const names = (response.queues ?? []).map(({ name }) => name);
  if (names.join("\n") === page.queues.join("\n")) return;
  page.queues = names;
  if (document.activeElement?.id !== "choice") renderNav();
}

function take(session) {
  const changed = JSON.stringify(session) !== JSON.stringify(page.session);
  page.session = session;
  page.whyNot = whyNot(session);
  if (changed) renderSide();
}

async function begin() {
  stop();
  let session = await askSession();
  while (!session) {
    main.replaceChildren(heading("wq"), h("p", { class: "note" },
      "The server does not answer. Trying again."));
    await new Promise((done) => { setTimeout(done, 1000); });
    session = await askSession();
  }
  take(session);
  if (session.role === "none") {
    shown?.view.close?.();
    shown = null;
    document.getElementById("nav").replaceChildren();
    document.title = "Log in – wq";
    showLogin(main, begin);
    return;
  }
  shown = null;
  const response = await browse("GetOverview", {}).catch((error) => {
    say(error.message, true);
    return { queues: [] };
  });
  page.queues = (response.queues ?? []).map(({ name }) => name);
  page.overview = response;
  if (response.now_us) page.skew = number(response.now_us) - Date.now() * 1000;
  render(false);
}

document.addEventListener("click", (event) => {
  const anchor = event.target.closest("a[href^='?']");
  if (!anchor || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(paramsOf(anchor));
});
// A page that is not seen reads nothing.
function follow() {
  const own = ["queue", "keys", "key"].includes(shown?.name) ? page.params.queue ?? "" : "";
  if (!shown || document.hidden) stop();
  else listen(own, live);
}
document.addEventListener("visibilitychange", follow);
addEventListener("pagehide", stop);
addEventListener("pageshow", (event) => { if (event.persisted) follow(); });
addEventListener("popstate", () => { if (shown) render(true); });
addEventListener("session-ended", () => { if (shown) begin(); });

// Moves the focus to the link of the next row, or of the one before.
function moveRow(step) {
  const rows = [...main.querySelectorAll("tbody tr")].filter((row) => row.querySelector("a"));
  if (rows.length === 0) return;
  const at = rows.indexOf(document.activeElement?.closest("tr"));
  const next = rows[at < 0 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1)];
  next.querySelector("a").focus();
  next.scrollIntoView({ block: "nearest" });
}

let afterG = false;
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !shown) return;
  if (document.querySelector("dialog[open]")) return;
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && typing) return void typing.blur();
  if (typing) return;
  const view = { o: "overview", q: "queue", k: "keys", e: "errors" }[event.key];
  if (afterG && view) document.querySelector(`#nav [data-view=${view}]`)?.click();
  else if (event.key === "/") {
    if (shown.name !== "keys") document.querySelector("#nav [data-view=keys]")?.click();
    document.getElementById("search")?.focus();
  } else if (event.key === "j" || event.key === "k") moveRow(event.key === "j" ? 1 : -1);
  else if (event.key === "x")
    document.activeElement?.closest("tr")?.querySelector("input")?.click();
  else if (event.key === "?") help();
  else {
    afterG = event.key === "g";
    return;
  }
  afterG = false;
  event.preventDefault();
}
document.addEventListener("keydown", pressed);

begin();
