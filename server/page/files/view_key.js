// One key: all that is known of it, what can be done with it, and its last events.
import { actionBar } from "./actions.js";
import { browse } from "./api.js";
import { h, heading, link, row, setText, table } from "./dom.js";
import { eventText, sentencesOf } from "./sentences.js";
import { ago, age, count, duration, escapeBytes, escapeText, fromBase64, fromUrlBase64, grouped,
  keyText, laneName, number, shortKey, time, until } from "./text.js";
import { statesOf } from "./view_keys.js";

const columns = [{ name: "time" }, { name: "event" }, { name: "error", class: "error" }];
const longest = 4096;  // Bytes of a key or an error that are shown at once.

// Each cause on a line: its reason, and the id of its trace.
function causesOf({ causes = [], causes_left_out: leftOut }) {
  const texts = causes.map(({ reason, trace_parent: trace }) => [reason ? escapeText(reason) : "",
    trace ? `trace ${trace.split("-")[1]}` : ""].filter((text) => text !== "").join(", "));
  if (number(leftOut) > 0) texts.push(`and at least ${grouped(leftOut)} more`);
  return texts.length > 0 ? texts.map((text) => h("div", {}, text)) : null;
}

function factsOf(reply, now) {
  const key = reply.key ?? {};
  const at = (us) => (number(us) > 0 ? [ago(us, now), h("small", {}, time(us))] : null);
  return [
    ["State", (key.states ?? []).length > 0 ? statesOf(key.states) : "none"],
    ["Lane", laneName(key.lane ?? 0)],
    ["Group", key.group ? keyText(key.group) : "none"],
    ["Shard", key.shard],
    ["Added", at(key.added_at_us)],
    ["Due", number(key.ready_at_us) > 0
      ? [until(key.ready_at_us, now), h("small", {}, time(key.ready_at_us))] : null],
    ["Causes", causesOf(reply)],
    ["Delay", number(key.delay_us) > 0 ? duration(number(key.delay_us)) : null],
    ["Failures", grouped(key.failures)],
    ["First failure", at(key.first_failed_at_us)],
    ["Last failure", at(key.last_failed_at_us)],
    ["In quarantine since", at(key.quarantined_at_us)],
    ["Worker", reply.worker ? `${escapeText(reply.worker)}, ${escapeText(reply.peer)}` : null],
    ["Held for", number(reply.held_since_us) > 0 ? age(now - number(reply.held_since_us)) : null],
    ["Attempt", number(reply.attempt) > 0 ? grouped(reply.attempt) : null],
    ["Token", number(reply.token) > 0 ? grouped(reply.token) : null],
  ].filter(([, value]) => value !== null && value !== undefined);
}

// Long text: its begin, and the rest on demand.
function longText(bytes, name) {
  const text = h("p", { class: "key whole", tabindex: 0, role: "region",
    "aria-label": `The whole ${name}` }, escapeBytes(bytes.subarray(0, longest)));
  if (bytes.length <= longest) return text;
  const more = h("button", { onclick: () => {
    text.textContent = escapeBytes(bytes);
    more.remove();
  } }, `Show all ${grouped(bytes.length)} bytes of the ${name}`);
  return [text, more];
}

export function open(root, params, page) {
  const queue = params.queue ?? "";
  const base64 = fromUrlBase64(params.key ?? "");
  const bytes = fromBase64(base64);
  const short = shortKey(base64, 80) || "(empty)";
  const sentences = h("ul", { class: "sentences" });
  const facts = h("dl", { class: "facts" });
  const error = h("div", {});
  const problem = h("p", { class: "problem", role: "alert" });
  const bar = actionBar(page, () => ({ queue, keys: [base64] }), () => refresh());
  const list = table("Events of the key", columns, { class: "events" });
  const historyNote = h("p", { class: "note" });
  root.append(h("p", { class: "crumbs" }, link({ view: "queue", queue }, escapeText(queue)), " / ",
    link({ view: "keys", queue }, "keys")), heading("Key ", h("span", { class: "key" }, short)),
  ...[bytes.length > 80 ? longText(bytes, "key") : []].flat(), problem, sentences,
    bar.element, facts, error,
  h("section", {}, h("div", { class: "line" }, h("h2", {}, "History"),
    h("button", { onclick: () => refresh() }, "Read again")), historyNote, list.element));
  let reply = null;
  let closed = false;
  let asked = 0;
  let lastError = null;

  function render() {
    if (!reply) return;
    const texts = sentencesOf(reply, page.now());
    if (sentences.children.length !== texts.length) {
      sentences.replaceChildren(...texts.map(() => h("li")));
    }
    texts.forEach((text, i) => setText(sentences.children[i], text));
    facts.replaceChildren(...factsOf(reply, page.now()).map(([name, value]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    const text = reply.key?.last_error ?? "";
    if (text !== lastError) {
      error.replaceChildren(...(text === "" ? [] : [h("h2", {}, "Last error"),
        h("div", { class: "error whole", tabindex: 0, role: "region", "aria-label": "Last error" },
          text.slice(0, 65536).split("\n").map((line) =>
          h("p", {}, escapeText(line))))]));
    }
    lastError = text;
  }

  async function readKey() {
    asked = Date.now();
    try {
      reply = await browse("GetKey", { queue, key: base64 });
      problem.textContent = "";
    } catch (failure) {
      if (failure.code === "NotFound") reply = { key: {} };
      else problem.textContent = failure.message;
    }
    if (!closed) render();
  }

  async function readHistory() {
    try {
      const { events = [], since_us: since, lost } = await browse("GetHistory", {
        queue, key: base64,
        limit: 200 });
      if (closed) return;
      list.body.replaceChildren(...events.reverse().map((event) => row(columns, [
        [time(event.at_us), h("small", {}, " " + ago(event.at_us, page.now()))], eventText(event),
        escapeText(event.error ?? "")])));
      list.element.hidden = events.length === 0;
      historyNote.textContent = [events.length === 0 ? "No events are kept of this key."
        : "The last event is first.",
      number(since) > 0 ? `Events before ${time(since)} are not kept.` : "",
      number(lost) > 0 ? `${count(lost, "event")} of the queue could not be kept since.` : "",
      ].join(" ").trim();
    } catch (failure) {
      if (closed) return;
      list.element.hidden = true;
      historyNote.textContent = ["NotSupported", "HTTP 404"].includes(failure.code)
        ? "This store keeps no history of its keys." : `It was not read: ${failure.message}`;
    }
  }

  async function refresh() {
    bar.refresh();
    await Promise.all([readKey(), readHistory()]);
  }

  list.element.hidden = true;
  refresh();
  const timer = setInterval(render, 1000);
  return {
    title: `Key ${short} of ${escapeText(queue)}`,
    refresh,
    live() {
      if (Date.now() - asked > 1500) readKey();
    },
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}
