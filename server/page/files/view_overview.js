// The overview: all queues, and what stands out.
import { browse } from "./api.js";
import { measured, spark } from "./chart.js";
import { h, heading, link, row, setText, table } from "./dom.js";
import { age, escapeText, grouped, number, rate, stateNames, until } from "./text.js";

const columns = [{ name: "queue" }, { name: "state" },
  ...stateNames.map((name) => ({ name, class: "n" })), { name: "oldest", class: "n" },
  { name: "adds/s", class: "n" }, { name: "dones/s", class: "n" },
    { name: "failures/s", class: "n" },
  { name: "queued, last hour", class: "graph" }, { name: "dones, last hour", class: "graph" }];

export function stateOf(queue, now) {
  if (!queue.open) return "not open";
  if (queue.counts?.shutting_down) return "shutting down";
  if (!queue.counts?.paused) return "running";
  const end = number(queue.paused_until_us);
  return end > 0 ? `paused, resumes ${until(end, now)}` : "paused";
}

function cellsOf(queue, now) {
  if (!queue.open) return [stateOf(queue, now), ...stateNames.map(() => ""), "", "", "", ""];
  const oldest = number(queue.oldest_added_at_us);
  return [stateOf(queue, now), ...stateNames.map((name) => grouped(queue.counts[name])),
    oldest > 0 ? age(now - oldest) : "–", rate(queue.adds_per_second),
    rate(queue.dones_per_second), rate(queue.failures_per_second)];
}

function makeRow(queue) {
  const cells = [link({ view: "queue", queue: queue.name }, escapeText(queue.name)),
    ...columns.slice(1).map(() => "")];
  return row(columns, cells);
}

function fillRow(element, queue, now) {
  cellsOf(queue, now).forEach((text, i) => {
    const cell = element.cells[i + 1];
    const state = stateNames[i - 1];
    if (state && text !== "" && text !== "0") {
      if (!cell.firstElementChild) {
        cell.replaceChildren(link({ view: "keys", queue: queue.name, state }, "",
          { class: "state " + state }));
      }
      setText(cell.firstElementChild, text);
    } else setText(cell, text);
    cell.classList.toggle("zero", text === "0" || text === "–");
    if (i === 0) cell.className = queue.counts?.paused ? "odd" : "";
  });
}

const findingsOf = (findings) => h("ul", {}, findings.map((finding) => {
  const bad = finding.weight === "BAD";
  return h("li", { class: bad ? "bad" : "odd" }, h("b", {}, bad ? "Bad" : "Odd"), " ",
    finding.queue ? [link({ view: "queue", queue: finding.queue }, escapeText(finding.queue)), ": "]
      : "", escapeText(finding.text));
}));

// { element, show(findings) }; `none` is shown if there are none.
export function findingsBox(none) {
  const element = h("div", { class: "standsout" });
  let last = null;
  return { element, show(findings) {
    const text = JSON.stringify(findings);
    if (text !== last) element.replaceChildren(findings.length > 0 ? findingsOf(findings) : none);
    last = text;
  } };
}

export function open(root, params, page) {
  const rows = new Map();
  const list = table("All queues", columns, { class: "queues" });
  const findings = findingsBox(h("p", { class: "fine" }, "✓ No signs of trouble."));
  const empty = h("p", { class: "note", hidden: true },
    "The store has no queue yet. The first Add with `create` makes one.");
  root.append(heading("Overview"),
    h("section", {}, h("h2", {}, "What stands out"), findings.element),
    h("section", {}, h("h2", {}, "Queues"), list.element, empty));

  const live = (response) => {
    const queues = response.queues ?? [];
    const names = new Set(queues.map(({ name }) => name));
    for (const [name, element] of rows) {
      if (names.has(name)) continue;
      element.remove();
      rows.delete(name);
    }
    queues.forEach((queue, i) => {
      if (!rows.has(queue.name)) {
        rows.set(queue.name, makeRow(queue));
        list.body.insertBefore(rows.get(queue.name), list.body.rows[i] ?? null);
      }
      fillRow(rows.get(queue.name), queue, number(response.read_at_us) || page.now());
    });
    empty.hidden = queues.length > 0;
    list.element.hidden = queues.length === 0;
    findings.show(response.findings ?? []);
    if (!timer) charts();
  };

  let timer = 0;
  let closed = false;
  async function charts() {
    timer = setTimeout(charts, rows.size <= 10 ? 10000 : 60000);
    for (const [name, element] of [...rows].slice(0, 50)) {
      if (closed || !element.isConnected) return;
      if (element.cells[1].textContent === "not open") continue;
      try {
        const data = measured(await browse("GetSeries", { queue: name }));
        const cells = [...element.cells].slice(-2);
        cells[0].replaceChildren(spark("Queued keys", data.queued ?? [], (n) =>
          grouped(Math.round(n)), "queued"));
        cells[1].replaceChildren(spark("Dones a second", data.dones ?? [], rate, "done"));
      } catch {
        return;  // The next round tries again. A store that is only read has no series.
      }
    }
  }

  if (page.overview) live(page.overview);
  return {
    title: "Overview",
    live,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
