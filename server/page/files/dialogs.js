// Dialogs: a question before a change, and the help. Escape closes them.
import { h } from "./dom.js";

function show(dialog) {
  const before = document.activeElement;
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
  });
  dialog.showModal();
}

// Asks; the promise is true if the answer is `action`.
export function confirm({ title, text, action, danger = false }) {
  return new Promise((answer) => {
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" },
      h("h2", { id: "dialog-title" }, title), text.map((line) => h("p", {}, line)),
      h("div", { class: "buttons" },
        h("button", { class: "cancel", onclick: () => dialog.close() }, "Cancel"),
        h("button", { class: danger ? "main danger" : "main", onclick: () => dialog.close("yes") },
          action)));
    dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"));
    show(dialog);
  });
}

const keyboard = [["/", "search the keys"], ["j, k", "next row, row before"],
  ["Enter", "open the row"], ["x", "select the row"], ["g o", "overview"], ["g q", "queue"],
  ["g k", "keys"], ["g e", "errors"], ["Escape", "leave a field, close a dialog"],
    ["?", "this help"]];

export function help() {
  const dialog = h("dialog", { "aria-labelledby": "dialog-title", class: "help" },
    h("h2", { id: "dialog-title" }, "Keyboard"),
    h("dl", {}, keyboard.map(([keys, text]) => h("div", {},
      h("dt", {}, keys.split(" ").map((one) => h("kbd", {}, one))), h("dd", {}, text)))),
    h("div", { class: "buttons" },
      h("button", { class: "main", onclick: () => dialog.close() }, "Close")));
  show(dialog);
}
