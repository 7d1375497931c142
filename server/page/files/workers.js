// The workers of a queue, and the keys that they hold.
import { admin } from "./api.js";
import { h, link, setText } from "./dom.js";
import { age, ago, count, escapeText, grouped, number, shortKey, toUrlBase64 } from "./text.js";

function held(queue, keys, now) {
  return h("ul", { class: "held" }, keys.slice(0, 100).map((key) => h("li", {},
    link({ view: "key", queue, key: toUrlBase64(key.key) }, shortKey(key.key, 100) || "(empty)",
      { class: "key" }), h("small", {}, ` for ${age(now - number(key.since_us))}`,
      number(key.attempt) > 1 ? `, attempt ${grouped(key.attempt)}` : ""))));
}

function card(worker, now, isOpen) {
  const name = escapeText(worker.name) || "(no name)";
  const facts = [`connected ${ago(worker.connected_at_us, now)}`,
    `heard ${ago(worker.last_heard_at_us, now)}`, `${grouped(worker.done)} done`,
    `${grouped(worker.failed)} failed`];
  if ((worker.shards ?? []).length > 0) facts.push(`shards ${worker.shards.join(", ")}`);
  const keys = worker.held ?? [];
  const details = h("details", { "data-worker": `${worker.name}\n${worker.peer}`, open: isOpen },
    h("summary", {}, `holds ${count(worker.held_count, "key")} of at most ${
      grouped(worker.capacity)}`), held(worker.queue, keys, now),
    number(worker.held_count) > Math.min(keys.length, 100)
      ? h("p", { class: "note" }, "These are the oldest ones.") : null);
  return h("li", { class: "card" }, h("h3", {}, name, " ", h("small", {}, escapeText(worker.peer))),
    h("p", { class: "note" }, facts.join(" · ")), details);
}

// { element, refresh() }
export function workersOf(queue, page) {
  const note = h("p", { class: "note" }, "Reading…");
  const list = h("ul", { class: "workers" });
  const element = h("section", {}, h("h2", {}, "Workers"), note, list);
  async function refresh() {
    let workers;
    try {
      ({ workers = [] } = await admin("ListWorkers", { queue }));
    } catch (error) {
      note.textContent = error.code === "NotSupported" ? "Only an owner knows its workers."
        : `The workers were not read: ${error.message}`;
      return;
    }
    const text = workers.length === 0 ?
      "No worker is connected to the server. Workers within the " +
      "owner's process are not listed." : `${count(workers.length, "worker")} connected.`;
    setText(note, text);
    // Not under the feet of a reader who is within.
    if (list.contains(document.activeElement)) return;
    const wasOpen = new Set([...list.querySelectorAll("details[open]")].map((details) =>
      details.dataset.worker));
    list.replaceChildren(...workers.map((worker) =>
      card(worker, page.now(), wasOpen.has(`${worker.name}\n${worker.peer}`))));
  }
  return { element, refresh };
}
