// The limits on the hand-outs of a queue and of its groups: a table, and a form for operators.
import { admin } from "./api.js";
import { confirm } from "./dialogs.js";
import { field, h, link, newId, row, say, table } from "./dom.js";
import { bytesOf, duration, escapeBytes, escapeText, grouped, keyText, number, parseRate, rateText,
  shortKey, toBase64 } from "./text.js";

const columns = [{ name: "group" }, { name: "max processing", class: "n" },
  { name: "rate", class: "n" }, { name: "burst", class: "n" }, { name: "weight", class: "n" },
  { name: "processing", class: "n" }, { name: "now" }];
const shownGroups = 100;

function wholeNumber(text, name, least, most) {
  const value = text.trim() === "" ? null : Number(text);
  if (value !== null && !(Number.isInteger(value) && value >= least && value <= most)) {
    throw new Error(`${name} is a whole number from ${grouped(least)} to ${grouped(most)}.`);
  }
  return value;
}

function limitsOf({ most, rate, burst, weight }, group) {
  const limits = {};
  const processing = wholeNumber(most.value, "Max processing", 1, 4294967295);
  const perSecond = rate.value.trim() === "" ? null : parseRate(rate.value);
  const burstOf = wholeNumber(burst.value, "A burst", 1, 1000000);
  const share = wholeNumber(weight.value, "A weight", 1, 1000);
  if (rate.value.trim() !== "" && !(perSecond > 0)) {
    throw new Error("A rate is written as 10/s, 0.5, 100/m or 1000/h.");
  }
  if (burstOf !== null && perSecond === null) throw new Error("A burst needs a rate.");
  if (share !== null && group === "") throw new Error("A weight needs a group.");
  if (processing === null && perSecond === null && share === null) {
    throw new Error("There is no limit to set.");
  }
  if (processing !== null) limits.max_processing = processing;
  if (perSecond !== null) limits.rate = { per_second: perSecond, burst: burstOf ?? 1 };
  if (share !== null) limits.weight = share;
  return limits;
}

function sentenceOf(limits) {
  const parts = [];
  if (limits.max_processing) parts.push(`at most ${grouped(limits.max_processing)} processing`);
  if (limits.rate) {
    parts.push(`${rateText(limits.rate.per_second)}, ${grouped(limits.rate.burst)} at once`);
  }
  if (limits.weight) parts.push(`weight ${limits.weight}`);
  return `${parts.join("; ")}. These replace all limits that were set there.`;
}

function formOf(queue, page, changed) {
  const inputs = { group: h("input", { spellcheck: "false", id: "limits-group" }),
    most: h("input", { inputmode: "numeric", id: "limits-most" }),
    rate: h("input", { placeholder: "10/s", id: "limits-rate" }),
    burst: h("input", { inputmode: "numeric", placeholder: "1", id: "limits-burst" }),
    weight: h("input", { inputmode: "numeric", placeholder: "1", id: "limits-weight" }) };
  const reason = h("p", { class: "reason", id: newId("reason") }, page.whyNot ?? "");
  const act = (change) => async (event) => {
    event.preventDefault();
    if (page.whyNot) return say(page.whyNot, true);
    const bytes = bytesOf(inputs.group.value);
    const what = bytes.length === 0 ? `queue ${escapeText(queue)}`
      : `group ${escapeBytes(bytes)} of queue ${escapeText(queue)}`;
    try {
      await change({ queue, group: toBase64(bytes) }, what);
    } catch (error) {
      say(error.message, true);
    }
    return undefined;
  };
  const set = act(async (request, what) => {
    const limits = limitsOf(inputs, request.group);
    if (!await confirm({ title: `Limit ${what}?`, text: [sentenceOf(limits)], action: "Limit" })) {
      return;
    }
    await admin("SetLimits", { ...request, limits });
    say(`The limits of ${what} are set.`);
    changed();
  });
  const reset = act(async (request, what) => {
    if (!await confirm({ title: `Reset the limits of ${what}?`,
      text: ["Then those count again with which the queue's owner opens it."],
      action: "Reset" })) return;
    await admin("SetLimits", request);
    say(`The limits of ${what} are reset.`);
    changed();
  });
  const button = (name, text, attributes) => h("button", { "data-action": name,
    "aria-describedby": reason.id, "aria-disabled": page.whyNot ? "true" : false, ...attributes },
  text);
  return h("form", { class: "card", onsubmit: set }, h("div", { class: "fields" },
    field("Group", inputs.group, "Empty: the whole queue."),
    field("Max processing", inputs.most, "How many keys workers hold. Empty: no bound."),
    field("Rate", inputs.rate, "How many keys are handed out. Empty: no bound."),
    field("Burst", inputs.burst, "How many at once."),
    field("Weight", inputs.weight, "The group's share in fair order.")),
  h("div", { class: "actions" }, button("limit", "Set limits", { class: "main" }),
    button("reset-limits", "Reset", { type: "button", onclick: reset }), reason));
}

function rowOf(queue, status) {
  const group = status.group ?? "";
  const { limits = {} } = status;
  const perSecond = limits.rate?.per_second ?? 0;
  const next = status.next_in_us === undefined ? ""
    : `, the next in ${duration(Math.max(0, number(status.next_in_us)))}`;
  return row(columns, [group === "" ? "(the whole queue)"
    : link({ view: "keys", queue, group: keyText(group) }, shortKey(group, 100)),
  limits.max_processing ? grouped(limits.max_processing) : "–",
  perSecond > 0 ? rateText(perSecond) : "–", perSecond > 0 ? grouped(limits.rate.burst) : "–",
  group === "" ? "–" : grouped(limits.weight), grouped(status.processing),
  status.held_back ? `held back${next}` : status.own_limits ? "" : "of the queue's options"]);
}

// { element, refresh() }
export function limitsOn(queue, page) {
  const box = h("div");
  let last = "";
  async function refresh() {
    let text;
    let content;
    try {
      const { groups = [], more } = await admin("GetLimits", { queue, limit: shownGroups });
      text = JSON.stringify([groups, more]);
      const list = table("Limits on hand-outs", columns, { class: "limits" });
      list.body.append(...groups.map((status) => rowOf(queue, status)));
      content = groups.length === 0 ? [h("p", { class: "note" }, "No limits are set.")]
        : [list.element, more ? h("p", { class: "note" }, "There are further groups.") : ""];
    } catch (error) {
      text = error.message;
      content = [h("p", { class: "note" }, `The limits were not read: ${error.message}`)];
    }
    // Not under the feet of a reader who is within.
    if (text === last || box.contains(document.activeElement)) return;
    last = text;
    box.replaceChildren(...content);
  }
  const element = h("section", { class: "limiting" }, h("h2", {}, "Limits on hand-outs"), box,
    h("details", {}, h("summary", {}, "Change them"), formOf(queue, page, refresh)));
  return { element, refresh };
}
