// A form that adds keys by hand.
import { queue as queueCall } from "./api.js";
import { explain, field, h, newId, say } from "./dom.js";
import { bytesOf, count, escapeText, number, parseDuration, parseLane, toBase64 } from "./text.js";

function requestOf(queue, keys, lane, group, after) {
  const list = keys.split("\n").map((line) => line.replace(/\r$/, ""))
    .filter((line) => line !== "");
  if (list.length === 0) throw new Error("There is no key to add.");
  const request = { queue, keys: list.map((line) => toBase64(bytesOf(line))) };
  if (lane.trim() !== "") {
    request.lane = parseLane(lane);
    if (request.lane === null) throw new Error("A lane is fast, slow or a whole number.");
  }
  if (group !== "") request.group = toBase64(bytesOf(group));
  if (after.trim() !== "") {
    const delay = parseDuration(after);
    if (delay === null) throw new Error("A delay is such as 90s, 5m or 1h30m, at most 100 years.");
    request.delay_us = String(delay);
  }
  return request;
}

function said(queue, reply) {
  const parts = [`${count(reply.added, "key was", "keys were")} added to ${escapeText(queue)}.`];
  if (number(reply.deduplicated) > 0) {
    parts.push(`${count(reply.deduplicated, "key was", "keys were")} there already.`);
  }
  if (number(reply.held) > 0)
    parts.push(`${count(reply.held, "key is", "keys are")} in quarantine.`);
  for (const refused of (reply.refused ?? []).slice(0, 3)) {
    parts.push(`Line ${number(refused.index) + 1} was refused: ${refused.error.message}`);
  }
  return parts.join(" ");
}

export function addForm(page, queue, changed) {
  const keys = h("textarea", { rows: 4, spellcheck: "false", class: "key" });
  const lane = h("input", { placeholder: "as the key has" });
  const group = h("input", { placeholder: "as the queue decides" });
  const after = h("input", { placeholder: "none" });
  const reason = h("p", { class: "reason", id: newId("reason") }, page.whyNot ?? "");
  const button = h("button", { class: "main", "data-action": "new" }, "Add these keys");
  explain([button], reason, page.whyNot);
  const submit = async (event) => {
    event.preventDefault();
    if (page.whyNot) return say(page.whyNot, true);
    try {
      const reply = await queueCall("Add", requestOf(queue, keys.value, lane.value, group.value,
        after.value));
      say(said(queue, reply), (reply.refused ?? []).length > 0);
      keys.value = "";
      changed();
    } catch (error) {
      say(error.message, true);
    }
  };
  return h("section", { class: "adding" }, h("h2", {}, "Add keys"),
    h("form", { class: "card", onsubmit: submit },
      field("Keys", keys, "One on each line. \\n, \\t, \\\\, \\xHH and \\u{HHHH} are understood."),
      h("div", { class: "fields" }, field("Lane", lane), field("Group", group),
        field("Delay", after, "such as 5m or 1h30m")), button, reason));
}
