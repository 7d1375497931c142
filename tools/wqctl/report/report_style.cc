// The constant parts of every report: the style, and the script that searches the table.
//
// The page's policy allows both by their hashes, so that no other script can run, whatever a key
// contains. After a change the test in report.bats prints the new hashes.
#include "tools/wqctl/report/report_page.h"

namespace wqctl {
namespace {

constexpr std::string_view kStyleHash = "sha256-DaDEEoSuAjk+z6DkS5t1NnZe/cDH/EifRkOW/uViceU=";
constexpr std::string_view kScriptHash = "sha256-mnkl0S3/seFR0Fl1R14en0OrmhuzKOrr6p7hE3UOV3g=";

constexpr std::string_view kStyle = R"(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --line: #dfe2e8; --text: #1b1e24; --soft: #5a606c;
  --track: #eceef2; --hover: #f0f3f8; --link: #1d5bb8; --focus: #1d5bb8;
  --pending: #2f6fd0; --delayed: #7d55c7; --failing: #cf4b1d; --quarantined: #a8266b;
  --bad: #b3261e; --bad-page: #fdecea; --odd: #8a5a00; --odd-page: #fff5dc; --fine: #1f7a45;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12151a; --card: #1a1e25; --line: #2e343f; --text: #e4e7ec; --soft: #9aa3b2;
    --track: #262c36; --hover: #222833; --link: #82b4ff; --focus: #82b4ff;
    --pending: #5b98f0; --delayed: #a685ec; --failing: #f0815a; --quarantined: #e572ad;
    --bad: #ff8a80; --bad-page: #3a1d1e; --odd: #f2c46b; --odd-page: #332a16; --fine: #6fd09a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 1280px; padding: 24px 20px 60px;
  background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
h1 { font-size: 26px; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 36px 0 12px; overflow-wrap: anywhere; }
h2 em { font-style: normal; font-size: 13px; font-weight: 500;
  color: var(--odd); background: var(--odd-page);
  border-radius: 10px; padding: 2px 10px; margin-left: 6px; vertical-align: 2px; }
header p, .note { color: var(--soft); margin: 4px 0 12px; }
header b { font-weight: 600; color: var(--text); }
a { color: var(--link); }
code { font: 13px/1.4 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  background: var(--track); border-radius: 4px; padding: 1px 5px; overflow-wrap: anywhere; }
.key { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; unicode-bidi: isolate; white-space: pre-wrap; }
.error, .worst p { unicode-bidi: isolate; overflow-wrap: anywhere; white-space: pre-wrap; }
[title] { cursor: help; }

.standsout ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 8px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 480px), 1fr)); }
.standsout li { border-left: 4px solid; border-radius: 6px; padding: 8px 14px;
  overflow-wrap: anywhere; }
.standsout li b { margin-right: 4px; }
.standsout li.bad { background: var(--bad-page); border-color: var(--bad); }
.standsout li.odd { background: var(--odd-page); border-color: var(--odd); }
.standsout li.bad b { color: var(--bad); }
.standsout li.odd b { color: var(--odd); }
.standsout code { background: none; color: var(--soft); padding: 0; display: block; }
.fine { color: var(--fine); font-weight: 500; }

.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 10px 24px;
  margin: 28px 0 0; padding: 14px 18px; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; }
.facts .long { grid-column: span 2; }
.facts dt { color: var(--soft); font-size: 12px; }
.facts dd { margin: 0; font-size: 14px; overflow-wrap: anywhere; }

.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 12px; margin-bottom: 12px; }
.tile { background: var(--card); border: 1px solid var(--line); border-top: 3px solid;
  border-radius: 10px; padding: 10px 16px 12px; min-width: 0; }
.tile span, .tile small { color: var(--soft); font-size: 13px; }
.tile b { display: block; font-size: 26px; line-height: 1.25; font-weight: 600;
  font-variant-numeric: tabular-nums; }
.tile small { display: block; min-height: 1.5em; }
.tile small span { font-size: inherit; }
.tile.pending { border-top-color: var(--pending); }
.tile.delayed { border-top-color: var(--delayed); }
.tile.failing { border-top-color: var(--failing); }
.tile.quarantined { border-top-color: var(--quarantined); }
.tile.none { border-top-color: var(--line); }
.tile.none b { color: var(--soft); font-weight: 400; }

.charts { display: grid; gap: 12px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 350px), 1fr)); }
figure { margin: 0; padding: 12px 16px 14px; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; min-width: 0; }
figure.wide { grid-column: 1 / -1; }
figcaption { font-size: 14px; font-weight: 600; margin-bottom: 8px; }
svg { display: block; width: 100%; max-width: 480px; height: auto; overflow: hidden; }
svg text { font-family: inherit; font-size: 11px; fill: var(--soft); }
svg .number, svg .tick { text-anchor: middle; }
svg .number, svg .end { fill: var(--text); font-variant-numeric: tabular-nums; }
svg .label { font-size: 12px; fill: var(--text); }
svg .end { font-size: 12px; text-anchor: end; }
svg .axis { stroke: var(--line); fill: none; }
svg .slot { fill: transparent; }
svg g:hover .slot { fill: var(--hover); }
svg .track { fill: var(--track); }
svg .pending { fill: var(--pending); }
svg .delayed { fill: var(--delayed); }
svg .failing { fill: var(--failing); }

.worst { list-style: none; margin: 0; padding: 0; columns: 2 420px; column-gap: 32px; }
.worst li { break-inside: avoid; padding: 5px 0; }
.worst b { display: inline-block; min-width: 66px; color: var(--failing);
  font-variant-numeric: tabular-nums; }
.worst small { color: var(--soft); }
.worst p { margin: 0 0 0 70px; font-size: 13px; color: var(--soft); }
.cursors { list-style: none; margin: 0; padding: 0; font-size: 14px; color: var(--soft); }
.cursors .key { color: var(--text); margin-right: 6px; }

.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; vertical-align: top; padding: 6px 12px;
  border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--soft); font-weight: 500; font-size: 13px;
  white-space: nowrap; }
td { white-space: nowrap; }
td.key { min-width: 260px; white-space: pre-wrap; }
td.error { min-width: 200px; white-space: pre-wrap; }
td.why { color: var(--soft); }
td.n { font-variant-numeric: tabular-nums; }
.queues .n { text-align: right; }
td.zero { color: var(--soft); }
tbody tr:hover { background: var(--hover); }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0;
  cursor: pointer; }
th button:hover { color: var(--text); }
th[aria-sort] button { color: var(--text); font-weight: 600; }
th[aria-sort=ascending] button::after { content: " ↑"; }
th[aria-sort=descending] button::after { content: " ↓"; }
.state { font-weight: 500; }
.state.pending { color: var(--pending); }
.state.delayed { color: var(--delayed); }
.state.failing { color: var(--failing); }
.state.quarantined { color: var(--quarantined); }

#find { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; margin: 0 0 12px; }
#find[hidden] { display: none; }
#find label { flex: 1 1 260px; display: flex; align-items: center; gap: 10px; color: var(--soft); }
#search { flex: 1; min-width: 0; font: inherit; padding: 7px 12px; color: var(--text);
  background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.words { display: flex; flex-wrap: wrap; gap: 6px; }
.words button { font: inherit; font-size: 13px; padding: 4px 12px; border-radius: 14px;
  cursor: pointer; color: var(--soft); background: var(--card); border: 1px solid var(--line); }
.words button:hover { color: var(--text); }
.words button[aria-pressed=true] { color: var(--card); background: var(--link);
  border-color: var(--link); }
#shown { color: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }

@media (max-width: 700px) {
  body { padding: 16px 12px 40px; }
  .tiles { grid-template-columns: 1fr 1fr; gap: 8px; }
  .tile b { font-size: 21px; }
  th, td { padding: 6px 8px; }
  td.key { min-width: 200px; }
  .facts .long { grid-column: 1 / -1; }
}
.paper { display: none; }
@media (max-width: 600px) {
  /* A row is a block, so that no column is out of sight; a cell that needs it has its name. */
  .scroll table, .scroll tbody, .scroll tbody tr, .scroll tbody td { display: block; }
  .scroll tbody tr[hidden], .scroll td:empty { display: none; }
  .scroll tbody tr { padding: 7px 10px; border-top: 1px solid var(--line); }
  .scroll tbody td { display: inline; padding: 0 10px 0 0; border: 0; white-space: normal; }
  .scroll td.key, .scroll td.error, .scroll td.why { display: block; min-width: 0;
    overflow-wrap: anywhere; }
  .scroll td::before { color: var(--soft); font-weight: 400; }
  .rows thead tr { display: flex; flex-wrap: wrap; }
  .rows thead { display: block; }
  .rows th { padding: 4px 10px; }
  .rows td.queue::before { content: "queue "; }
  .rows td.lane::before { content: "lane "; }
  .rows td.group::before { content: "group "; }
  .rows td.age::before { content: "for "; }
  .rows td.due::before { content: "due "; }
  .rows td.failures::before { content: "failures "; }
  .queues thead { display: none; }
  .queues td:nth-child(2)::before { content: "pending "; }
  .queues td:nth-child(3)::before { content: "delayed "; }
  .queues td:nth-child(4)::before { content: "failing "; }
  .queues td:nth-child(5)::before { content: "quarantined "; }
  .queues td:nth-child(6)::before { content: "oldest "; }
  .queues td:nth-child(7)::before { content: "next ready "; }
  .queues td:nth-child(8)::before { content: "paused "; }
}
@media print {
  :root { color-scheme: light;
    --page: #fff; --card: #fff; --line: #c9ccd2; --text: #000; --soft: #444;
    --track: #eee; --link: #000; --pending: #2f6fd0; --delayed: #7d55c7; --failing: #cf4b1d;
    --quarantined: #a8266b; --bad: #b3261e; --bad-page: #fff; --odd: #8a5a00; --odd-page: #fff; }
  @page { margin: 14mm 12mm; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  h2 { break-after: avoid; margin-top: 18px; }
  #find { display: none; }
  .rows tbody tr:nth-child(n + 101) { display: none; }
  .paper { display: block; }
  .scroll { overflow: visible; border: 0; }
  .charts { grid-template-columns: repeat(2, 1fr); }
  figure, .tile, .facts, .standsout li, tr { break-inside: avoid; }
  table { font-size: 8pt; }
  th, td { padding: 3px 5px; white-space: normal; }
  thead { display: table-header-group; }
  td.key, td.error, td.why { min-width: 0; font-size: 8pt; }
  svg *, .tile { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)";

constexpr std::string_view kScript = R"(
"use strict";
(() => {
  const table = document.querySelector("#keys table");
  if (!table) return;
  const body = table.tBodies[0];
  const form = document.getElementById("find");
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const words = Array.from(form.querySelectorAll("button"));
  const rows = Array.from(body.rows, (row) => ({
    row, text: Array.from(row.cells, (cell) => cell.textContent).join("\n").toLowerCase() }));

  const filter = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { row, text } of rows) {
      const hit = wanted.every((word) => text.includes(word));
      row.hidden = !hit;
      if (hit) count += 1;
    }
    shown.textContent = wanted.length ? count + " of " + rows.length : rows.length + " rows";
    for (const button of words) {
      button.setAttribute("aria-pressed", search.value.trim() === button.dataset.word);
    }
  };

  // The URL contains the search, so that it can be shared.
  const read = () => {
    const found = /^#find=(.*)$/.exec(location.hash);
    if (!found) return;
    try { search.value = decodeURIComponent(found[1]); } catch { return; }
    filter();
    document.getElementById("keys").scrollIntoView();
  };
  const find = () => {
    filter();
    const hash = search.value ? "#find=" + encodeURIComponent(search.value) : "#keys";
    history.replaceState(null, "", hash);
  };

  const sort = (header, index) => {
    const down = header.ariaSort ? header.ariaSort === "ascending" : "down" in header.dataset;
    for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = ({ row }) => {
      const cell = row.cells[index];
      return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent;
    };
    // Rows without a value in this column are last in both directions.
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === y) return 0;
      if (x === "" || y === "") return x === "" ? 1 : -1;
      return (x < y ? -1 : 1) * (down ? -1 : 1);
    };
    rows.sort(compare);
    body.append(...rows.map(({ row }) => row));
  };

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", find);
  for (const button of words) {
    button.addEventListener("click", () => {
      search.value = search.value.trim() === button.dataset.word ? "" : button.dataset.word;
      find();
    });
  }
  Array.from(table.tHead.rows[0].cells).forEach((header, index) => {
    header.firstChild.addEventListener("click", () => sort(header, index));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target === search || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    search.focus();
  });
  addEventListener("hashchange", read);
  filter();
  read();
})();
)";

}  // namespace

std::string_view ReportStyle() { return kStyle; }
std::string_view ReportScript() { return kScript; }

std::string ReportPolicy() {
  std::string policy = "default-src 'none'; img-src data:; style-src '";
  policy.append(kStyleHash).append("'; script-src '").append(kScriptHash);
  return policy + "'; base-uri 'none'; form-action 'none'";
}

}  // namespace wqctl
