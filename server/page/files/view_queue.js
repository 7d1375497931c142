// One queue: its counts now, its rates over time and its workers.
import { admin, browse } from "./api.js";
import { chart, measured } from "./chart.js";
import { confirm } from "./dialogs.js";
import { explain, h, heading, isDisabled, newId, say, setText } from "./dom.js";
import { age, count, escapeText, grouped, number, parseDuration, rate, seconds, stateNames }
  from "./text.js";
import { findingsBox, stateOf } from "./view_overview.js";
import { workersOf } from "./workers.js";

function tiles(name) {
  const all = stateNames.map((state) => {
    const value = h("b", {}, "–");
    const small = h("small", {}, "");
    const element = h("a", { class: `tile ${state}`, href: `?${new URLSearchParams({ view: "keys",
      queue: name, state })}` }, h("span", {}, state), value, small);
    return { state, element, value, small };
  });
  const fill = (queue, now) => {
    const oldest = number(queue.oldest_added_at_us);
    const due = queue.counts.next_due_us;
    const notes = { queued: [oldest > 0 ? `the oldest for ${age(now - oldest)}` : "",
      number(queue.counts.held_back) > 0 ? `${grouped(queue.counts.held_back)} held back` : ""]
      .filter(Boolean).join(", "),
      processing: [number(queue.workers) > 0 ? count(queue.workers, "worker") : "",
        number(queue.counts.stuck) > 0 ? `${grouped(queue.counts.stuck)} stuck` : ""]
        .filter(Boolean).join(", "),
      delayed: [due === undefined ? "" : `the next in ${age(number(due))}`,
        number(queue.counts.resyncs) > 0 ? count(queue.counts.resyncs, "resync") : ""]
        .filter(Boolean).join(", "),
      failing: "", quarantined: "" };
    for (const tile of all) {
      setText(tile.value, grouped(queue.counts[tile.state]));
      setText(tile.small, notes[tile.state]);
      tile.element.classList.toggle("none", number(queue.counts[tile.state]) === 0);
    }
  };
  return { element: h("div", { class: "tiles" }, all.map(({ element }) => element)), fill };
}

function pauseForm(page, name) {
  const reason = h("p", { class: "reason", id: newId("reason") });
  const time = h("input", { size: 6, placeholder: "10m", id: "pause-for", "aria-label":
    "Pause for this time" });
  const act = (change) => async (event) => {
    if (isDisabled(event.currentTarget)) return say(reason.textContent, true);
    try {
      await change();
    } catch (error) {
      say(error.message, true);
    }
  };
  const ask = (length) => confirm({ title: `Pause queue ${escapeText(name)}${length}?`,
    text: ["Nothing more is handed out. Keys that are processing are not affected."],
    action: "Pause" });
  const pause = h("button", { "data-action": "pause", onclick: act(async () => {
    if (!await ask("")) return;
    await admin("Pause", { queue: name });
    say(`${escapeText(name)} is paused.`);
  }) }, "Pause");
  const pauseFor = h("button", { "data-action": "pause-for", onclick: act(async () => {
    const us = parseDuration(time.value || "10m");
    if (us === null) return say("A time is written as 90s, 10m or 1h30m.", true);
    if (!await ask(` for ${time.value || "10m"}`)) return;
    await admin("Pause", { queue: name, for_us: String(us) });
    say(`${escapeText(name)} is paused for ${time.value || "10m"}.`);
  }) }, "Pause for");
  const resume = h("button", { "data-action": "resume", onclick: act(async () => {
    const { was_paused: was } = await admin("Resume", { queue: name });
    say(was ? `${escapeText(name)} is resumed.` : `${escapeText(name)} was not paused.`);
  }) }, "Resume");
  const fill = (paused) => {
    explain([pause, pauseFor], reason, page.whyNot);
    explain([resume], reason, page.whyNot ?? (paused ? null : "It is not paused."));
    setText(reason, page.whyNot ?? "");
  };
  fill(false);
  return { element: h("div", { class: "actions", role: "group", "aria-label": "Pause and resume" },
    pause, h("span", { class: "pair" }, pauseFor, time), resume, reason), fill };
}

function chartsOf(data) {
  const values = (name) => data[name] ?? [];
  const one = (name, kind) => ({ name, values: values(name), class: kind ?? name });
  return [
    chart("Keys", data, [one("queued"), one("delayed"), one("processing")]),
    chart("A second", data, [one("adds", "queued"), one("dones", "done"),
      one("failures", "failing")], rate),
    chart("Failing and in quarantine", data, [one("failing"), one("quarantined")]),
    chart("Oldest queued key", data, [{ name: "age", values: values("oldest_age_seconds"),
      class: "queued" }], seconds),
    chart("Mean time of a key", data, [
      { name: "queued", values: values("queue_seconds"), class: "queued" },
      { name: "work", values: values("work_seconds"), class: "done" }], seconds),
  ];
}

export function open(root, params, page) {
  const name = params.queue ?? page.queues[0] ?? "";
  const state = h("p", { class: "note", id: "state" });
  const findings = findingsBox("");
  const numbers = tiles(name);
  const pause = pauseForm(page, name);
  const workers = workersOf(name, page);
  const figures = h("div", { class: "charts" });
  root.append(heading("Queue " + escapeText(name)), state, pause.element, numbers.element,
    findings.element, h("section", {}, h("h2", {}, "The last hour"), figures),
    workers.element);
  let closed = false;
  let timer = 0;
  let asked = 0;

  async function charts() {
    clearTimeout(timer);
    timer = setTimeout(charts, 10000);
    try {
      const data = measured(await browse("GetSeries", { queue: name }));
      if (!closed) figures.replaceChildren(...chartsOf(data));
    } catch (error) {
      if (!closed) {
        figures.replaceChildren(h("p", { class: "note" }, error.code === "NotSupported"
          ? "Only an owner knows its rates." : `They were not read: ${error.message}`));
      }
    }
  }

  function live(response) {
    const queue = (response.queues ?? []).find((one) => one.name === name);
    if (!queue) return setText(state, "The store has no such queue.");
    const now = number(response.read_at_us) || page.now();
    setText(state, `${stateOf(queue, now)}${number(queue.shards) > 0
      ? `, ${count(queue.shards, "shard")}` : ""}`);
    state.classList.toggle("odd", Boolean(queue.counts?.paused));
    if (!queue.open) return undefined;
    numbers.fill(queue, now);
    pause.fill(Boolean(queue.counts.paused));
    findings.show((response.findings ?? []).filter((finding) => finding.queue === name));
    if (Date.now() - asked > 1500) {
      asked = Date.now();
      workers.refresh();
    }
    return undefined;
  }

  charts();
  workers.refresh();
  if (page.overview) live(page.overview);
  return { title: "Queue " + escapeText(name), live,
    refresh: charts,
    close() {
      closed = true;
      clearTimeout(timer);
    } };
}
