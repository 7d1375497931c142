// The last errors of the keys, grouped by what they have in common.
import { browse } from "./api.js";
import { h, heading, link, row, say, table } from "./dom.js";
import { ago, count, escapeText, grouped, shortKey, toUrlBase64 } from "./text.js";

const columns = [{ name: "error", class: "error" }, { name: "queue" }, { name: "keys", class: "n" },
  { name: "in quarantine", class: "n" }, { name: "failures", class: "n" }, { name: "first" },
  { name: "last" }, { name: "examples", class: "examples" }];

function groupRow(group, now) {
  const form = group.form === "" ? "(no error text)" : escapeText(group.form);
  return row(columns, [
    link({ view: "keys", queue: group.queue, form: group.form }, form),
    link({ view: "queue", queue: group.queue }, escapeText(group.queue)),
    grouped(group.keys), grouped(group.quarantined), grouped(group.failures),
    ago(group.first_at_us, now), ago(group.last_at_us, now),
    (group.examples ?? []).length === 0 ? "" : h("ul", {}, group.examples.map(
      (example) => h("li", {},
      link({ view: "key", queue: group.queue, key: toUrlBase64(example.key) },
        shortKey(example.key, 60),
        { class: "key" }), example.error === group.form ? null
        : h("small", {}, escapeText(example.error.slice(0, 160)))))),
  ]);
}

export function open(root, params, page) {
  const name = params.queue ?? "";
  const list = table("Errors in groups", columns, { class: "groups" });
  const note = h("p", { class: "note", "aria-live": "polite" });
  const again = h("button", { onclick: () => refresh() }, "Read again");
  root.append(heading(name ? `Errors of ${escapeText(name)}` : "Errors"),
    h("div", { class: "line" }, note, again), list.element);
  let closed = false;

  async function refresh() {
    try {
      const { groups = [], ungrouped, age_us } = await browse("GroupErrors", { queue: name });
      if (closed) return;
      list.body.replaceChildren(...groups.map((group) => groupRow(group, page.now())));
      list.element.hidden = groups.length === 0;
      const more = Number(ungrouped ?? 0) > 0
        ? ` ${count(ungrouped, "key")} are in further groups.` : "";
      note.textContent = groups.length === 0 ? "No key has failed."
        : `${count(groups.length, "group")} of errors.${more} A group leads to its keys.`
          + (Number(age_us ?? 0) > 2e6 ? ` Read ${Math.round(Number(age_us) / 1e6)} s ago.` : "");
    } catch (error) {
      note.textContent = "";
      if (!closed) say(`The errors were not read: ${error.message}`, true);
    }
  }
  list.element.hidden = true;
  note.textContent = "Reading…";
  refresh();
  return { title: name ? `Errors of ${escapeText(name)}` : "Errors", refresh,
    close: () => { closed = true; } };
}
