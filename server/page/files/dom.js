// Elements. Text only ever becomes text nodes: keys and errors are hostile.

function setAll(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}
const shown = (children) => children.flat(3)
  .filter((child) => child !== undefined && child !== null && child !== false);

const make = (namespace) => (tag, attributes = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/" + namespace, tag);
  setAll(element, attributes);
  element.append(...shown(children));
  return element;
};
export const h = make("1999/xhtml");
export const svg = make("2000/svg");

// Changes the text if it differs, so that a selection and screen readers are not disturbed.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Buttons that may not be pressed stay reachable, so that a screen reader says why: the text of
// `reason`.
export function explain(buttons, reason, why) {
  for (const button of buttons) {
    button.setAttribute("aria-describedby", reason.id);
    if (why) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  }
}
export const isDisabled = (button) => button.getAttribute("aria-disabled") === "true";

// The state of the page as a URL. What is too long for a request, such as a key of 64 KiB, is in
// the fragment, which is not sent.
export function urlOf(params) {
  const query = new URLSearchParams();
  const fragment = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null || (value === "" && name !== "form")) continue;
    (String(value).length > 1500 ? fragment : query).set(name, value);
  }
  return `?${query}${fragment.size > 0 ? "#" + fragment : ""}`;
}
export const paramsOf = (url) => Object.fromEntries([...new URLSearchParams(url.search),
  ...(url.hash.includes("=") ? new URLSearchParams(url.hash.slice(1)) : [])]);

// A link within the page: app.js opens it without loading the page again.
export const link = (params, text, attributes = {}) =>
  h("a", { href: urlOf(params), ...attributes }, text);

// A table whose rows become blocks on a narrow screen, each cell with its column's name.
// columns: [{ name, head, class }]. Returns { element, body }.
export function table(label, columns, attributes = {}) {
  const body = h("tbody");
  const heads = columns.map((column) => h("th", { scope: "col", class: column.class ?? false },
    column.head ?? column.name));
  const element = h("div", { class: "scroll" },
    h("table", attributes, h("caption", { class: "unseen" }, label),
      h("thead", {}, h("tr", {}, heads)), body));
  return { element, body, heads };
}
export const row = (columns, cells, attributes = {}) => h("tr", attributes,
  cells.map((cell, i) => h("td", { class: columns[i].class ?? false, "data-name": columns[i].name },
    cell)));

let ids = 0;
export const newId = (name) => `${name}-${++ids}`;

// A label above its input. `note` is read with it.
export function field(text, input, note) {
  input.id ||= newId("field");
  const noteId = note ? input.id + "-note" : false;
  if (noteId) input.setAttribute("aria-describedby", noteId);
  return h("div", { class: "field" }, h("label", { for: input.id }, text), input,
    note ? h("small", { id: noteId }, note) : null);
}

export const heading = (text, ...more) => h("h1", { tabindex: "-1" }, text, ...more);

// Says something once, to everybody: it is shown, and read by a screen reader.
export function say(text, bad = false) {
  const status = document.getElementById("status");
  status.className = bad ? "bad" : "";
  status.textContent = text;
}
