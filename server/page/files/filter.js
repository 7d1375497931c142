// The form of the keys view: what is in the URL, what is shown in the fields, and the KeyFilter.
import { field, h } from "./dom.js";
import { bytesOf, escapeText, laneName, parseLane, stateCode, stateNames, toBase64 }
  from "./text.js";

export const sorts = { key: "KEY", added: "ADDED", due: "READY", failures: "FAILURES",
  failed: "FAILED" };
const sortTexts = { key: "key", added: "oldest first", due: "due first", failures: "most failures",
  failed: "failed last" };

// The names of the URL's parameters which the form owns.
export const names = ["part", "prefix", "pattern", "state", "lane", "group", "nogroup", "shard",
  "failures", "error", "form", "sort", "reverse"];

// Throws an Error with a text for people.
export function filterOf(params) {
  const filter = {};
  if (params.prefix) filter.prefix = toBase64(bytesOf(params.prefix));
  if (params.part) filter.substring = toBase64(bytesOf(params.part));
  if (params.pattern) filter.pattern = params.pattern;
  if (params.state) {
    filter.states = params.state.split(",").filter((name) => stateNames.includes(name))
      .map(stateCode);
  }
  if (params.lane) {
    const lane = parseLane(params.lane);
    if (lane === null) throw new Error("A lane is fast, slow or a whole number.");
    filter.lane = lane;
  }
  if (params.nogroup) filter.group = "";
  else if (params.group) filter.group = toBase64(bytesOf(params.group));
  if (params.shard) {
    if (!/^\d{1,9}$/.test(params.shard)) throw new Error("A shard is a whole number.");
    filter.shard = Number(params.shard);
  }
  if (params.failures) {
    if (!/^\d{1,19}$/.test(params.failures)) throw new Error("Failures are a whole number.");
    filter.min_failures = params.failures;
  }
  if (params.error) filter.error = params.error;
  if (params.form !== undefined) filter.error_form = params.form;
  return filter;
}

// { element, fill(params), params() }
export function filterForm(submit) {
  const text = (attributes = {}) => h("input", { type: "text", autocomplete: "off",
    spellcheck: "false", ...attributes });
  const inputs = { part: text({ type: "search", id: "search" }), prefix: text(), pattern: text(),
    lane: text({ placeholder: "any" }), group: text({ placeholder: "any" }),
    shard: text({ inputmode: "numeric", placeholder: "any" }),
    failures: text({ inputmode: "numeric", placeholder: "0" }), error: text() };
  const states = stateNames.map((name) => h("input", { type: "checkbox", value: name }));
  const nogroup = h("input", { type: "checkbox" });
  const reverse = h("input", { type: "checkbox" });
  const sort = h("select", {}, Object.keys(sorts).map((name) =>
    h("option", { value: name }, sortTexts[name])));
  const details = h("details", { class: "more" }, h("summary", {}, "More conditions"),
    h("div", { class: "fields" }, field("Prefix of the key", inputs.prefix),
      field("Pattern", inputs.pattern, "A regular expression of RE2, which matches anywhere"),
      field("Part of the last error", inputs.error), field("Failures at least", inputs.failures),
      field("Lane", inputs.lane, "fast, slow or a number"), field("Group", inputs.group),
      h("label", { class: "check" }, nogroup, "keys without a group"),
      field("Shard", inputs.shard)));
  let form;
  const params = () => {
    const wanted = { state: states.filter((box) => box.checked).map((box) => box.value).join(",") };
    for (const [name, input] of Object.entries(inputs)) wanted[name] = input.value;
    if (nogroup.checked) wanted.nogroup = "1";
    if (sort.value !== "key") wanted.sort = sort.value;
    if (reverse.checked) wanted.reverse = "1";
    if (form !== undefined) wanted.form = form;
    return wanted;
  };
  const formNote = h("p", { class: "chip", hidden: true });
  const element = h("form", { role: "search", "aria-label": "Search of keys", class: "card filter",
    onsubmit: (event) => {
      event.preventDefault();
      submit(params());
    } },
  h("div", { class: "first" }, field("Part of the key", inputs.part),
    h("button", { class: "main" }, "Search"),
    h("button", { type: "button", onclick: () => submit({}) }, "Clear")),
  h("fieldset", {}, h("legend", {}, "State, any of"), stateNames.map((name, i) =>
    h("label", { class: "check state " + name }, states[i], name))),
  details, formNote,
  h("div", { class: "first sort" }, field("Sort", sort),
    h("label", { class: "check" }, reverse, "reverse")));
  const changed = () => submit(params());
  for (const box of [...states, sort, reverse]) box.addEventListener("change", changed);

  return {
    element,
    fill(given) {
      for (const [name, input] of Object.entries(inputs)) input.value = given[name] ?? "";
      const wanted = (given.state ?? "").split(",");
      for (const box of states) box.checked = wanted.includes(box.value);
      nogroup.checked = Boolean(given.nogroup);
      reverse.checked = Boolean(given.reverse);
      sort.value = given.sort in sorts ? given.sort : "key";
      form = given.form;
      if (inputs.lane.value) {
        const lane = parseLane(inputs.lane.value);
        if (lane !== null) inputs.lane.value = laneName(lane);
      }
      const more = ["prefix", "pattern", "lane", "group", "nogroup", "shard", "failures", "error"];
      if (more.some((name) => given[name])) details.open = true;
      formNote.hidden = form === undefined;
      formNote.replaceChildren("Errors of the form ", h("span", { class: "key" },
        form ? escapeText(form) : "(no error text)"), " ",
          h("button", { type: "button", onclick: () => {
        form = undefined;
        changed();
      } }, "Any error"));
    },
    params,
  };
}
