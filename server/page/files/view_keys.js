// The keys of a queue: search, selection, and changes of those that are selected or match.
import { actionBar } from "./actions.js";
import { addForm } from "./add.js";
import { browse } from "./api.js";
import { h, heading, link, row, setText, table } from "./dom.js";
import { filterForm, filterOf, names, sorts } from "./filter.js";
import { ago, count, duration, escapeText, fromUrlBase64, grouped, laneName, number,
  keyText, shortKey, stateName, toUrlBase64, until } from "./text.js";

const columns = [{ name: "select", class: "pick" }, { name: "key", class: "key", sort: "key" },
  { name: "state" }, { name: "lane" }, { name: "group" }, { name: "added", sort: "added" },
  { name: "due", sort: "due" }, { name: "failures", class: "n", sort: "failures" },
  { name: "last failure", sort: "failed" }, { name: "last error", class: "error" }];

export const statesOf = (states = []) => states.flatMap((state, i) => [i > 0 ? ", " : "",
  h("span", { class: "state " + stateName(state) }, stateName(state))]);

function keyRow(queue, key, now, box) {
  const short = shortKey(key.key);
  box.setAttribute("aria-label", "Select " + short);
  const name = link({ view: "key", queue, key: toUrlBase64(key.key) }, short || "(empty)");
  return row(columns, [box, name, [statesOf(key.states), key.added_again ? ", added again" : ""],
    laneName(key.lane), key.group ? keyText(key.group) : "",
    number(key.added_at_us) > 0 ? ago(key.added_at_us, now) : "",
    number(key.ready_at_us) > 0 ? until(key.ready_at_us, now) : "",
    number(key.failures) > 0 ? grouped(key.failures) : "",
    number(key.last_failed_at_us) > 0 ? ago(key.last_failed_at_us, now) : "",
    escapeText(key.last_error ?? "")]);
}

export function open(root, firstParams, page) {
  const name = firstParams.queue ?? page.queues[0] ?? "";
  const shownName = escapeText(name);
  const selected = new Set();
  let params = firstParams;
  let rows = [];
  let matched = 0;
  let all = false;    // All that match are selected.
  let tookUs = Infinity;
  let searches = 0;
  let readAt = 0;
  let closed = false;

  const go = (wanted) => page.go({ view: "keys", queue: name, ...wanted });
  const own = () => Object.fromEntries(names.filter((n) => params[n] !== undefined)
    .map((n) => [n, params[n]]));
  const form = filterForm(go);
  const note = h("p", { class: "note", role: "status", id: "matched" });
  const problem = h("p", { class: "problem", role: "alert" });
  const wholePage = h("input", { type: "checkbox", "aria-label": "Select all keys of this page" });
  const heads = columns.map((column) => (column.name === "select" ? { ...column, head: wholePage }
    : column.sort ? { ...column, head: h("button", { type: "button", onclick: () => sortBy(
      column.sort) }, column.name) } : column));
  const list = table("Keys of " + shownName, heads, { class: "keys" });
  const allButton = h("button", { type: "button", id: "all", onclick: () => select(!all) });
  const chosen = h("span", { id: "chosen", "aria-live": "polite" });
  const bar = actionBar(page, () => (all ? { queue: name, filter: filterOf(params) }
    : selected.size > 0 ? { queue: name, keys: [...selected] } : null), () => {
    selected.clear();
    all = false;
    refresh();
  });
  const pages = h("nav", { class: "pages", "aria-label": "Pages of keys" });
  root.append(heading("Keys of " + shownName), form.element,
    h("div", { class: "line" }, note, h("button", { type: "button", id: "again",
      onclick: () => refresh() }, "Read again")), problem,
    h("div", { class: "selection" }, h("div", { class: "line" }, allButton, chosen), bar.element),
    list.element, pages, addForm(page, name, () => refresh()));

  wholePage.addEventListener("change", () => {
    for (const { key } of rows) selected[wholePage.checked ? "add" : "delete"](key);
    select(false);
  });

  function sortBy(sort) {
    const now = params.sort ?? "key";
    go({ ...own(), sort: sort === "key" ? undefined : sort,
      reverse: now === sort && !params.reverse ? "1" : undefined });
  }

  function select(wanted) {
    all = wanted;
    if (all) selected.clear();
    for (const element of list.body.rows) {
      const box = element.querySelector("input");
      box.checked = all || selected.has(box.value);
      box.disabled = all;
      element.classList.toggle("selected", box.checked);
    }
    wholePage.checked = all || (rows.length > 0 && rows.every(({ key }) => selected.has(key)));
    wholePage.disabled = all;
    allButton.hidden = matched === 0;
    allButton.textContent = all ? "Select none" : `Select all ${grouped(matched)} that match`;
    chosen.textContent = all ? `All ${count(matched, "key")} that match are selected.`
      : selected.size > 0 ? `${count(selected.size, "key")} selected.` : "";
    bar.refresh();
  }

  function show(response) {
    rows = response.keys ?? [];
    matched = number(response.matched);
    tookUs = number(response.took_us);
    readAt = Date.now();
    const had = document.activeElement?.closest("tr");
    const at = had ? [...list.body.rows].indexOf(had) : -1;
    list.body.replaceChildren(...rows.map((key) => {
      const box = h("input", { type: "checkbox", value: key.key, onchange: () => {
        selected[box.checked ? "add" : "delete"](key.key);
        select(false);
      } });
      return keyRow(name, key, page.now(), box);
    }));
    if (at >= 0)
      (list.body.rows[Math.min(at, rows.length - 1)]?.querySelector("a") ?? note).focus();
    list.element.hidden = rows.length === 0;
    const text = `${count(matched, "key matches", "keys match")} of ${grouped(response.searched)
    }, found in ${duration(tookUs - (tookUs >= 1000 ? tookUs % 1000 : 0))}.`;
    setText(note, text);
    showPages(response.next);
    list.heads.forEach((head, i) => {
      const { sort } = columns[i];
      if (sort && sort === (params.sort ?? "key")) {
        const down = (sort === "failures" || sort === "failed") !== Boolean(params.reverse);
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
      } else head.removeAttribute("aria-sort");
    });
    select(all);
  }

  function showPages(next) {
    const from = number(params.from);
    const items = [];
    if (params.page) items.push(link({ view: "keys", queue: name, ...own() }, "First page"));
    if (rows.length > 0) {
      items.push(h("span", {}, `${grouped(from + 1)} to ${grouped(from + rows.length)}`));
    }
    if (next) {
      items.push(link({ view: "keys", queue: name, ...own(), page: toUrlBase64(next),
        from: from + rows.length }, "Next page", { id: "next" }));
    }
    pages.hidden = !params.page && !next;
    pages.replaceChildren(...items);
  }

  // What refreshes by itself is not read out.
  async function refresh(byItself = false) {
    note.setAttribute("aria-live", byItself ? "off" : "polite");
    const search = ++searches;
    let request;
    try {
      request = { queue: name, filter: filterOf(params), sort: sorts[params.sort] ?? "KEY",
        reverse: Boolean(params.reverse), limit: 100,
        ...(params.page ? { page: fromUrlBase64(params.page) } : {}) };
      const response = await browse("Search", request);
      if (closed || search !== searches) return;
      problem.textContent = "";
      show(response);
    } catch (error) {
      if (closed || search !== searches) return;
      problem.textContent = error.message;
      if (note.textContent === "Reading…") note.textContent = "";
    }
  }

  function update(given) {
    const same = JSON.stringify(names.map((n) => given[n] ?? "")) ===
      JSON.stringify(names.map((n) => params[n] ?? ""));
    params = given;
    if (!same) {
      selected.clear();
      all = false;
    }
    form.fill(params);
    refresh();
    if (params.page) list.element.scrollIntoView({ block: "start" });
  }

  list.element.hidden = true;
  note.textContent = "Reading…";
  update(firstParams);
  return {
    title: "Keys of " + shownName,
    update,
    refresh() {
      bar.refresh();
      refresh();
    },
    // Rows change under a reader only if reading them is cheap and nobody is at work on them.
    live() {
      const busy = all || selected.size > 0 || root.querySelector("tbody :focus, dialog") !== null;
      if (!busy && tookUs < 50000 && Date.now() - readAt > 1000) refresh(true);
    },
    close: () => { closed = true; },
  };
}
