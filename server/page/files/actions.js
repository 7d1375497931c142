// Changes of keys: each asks before, says how many keys it is for, and what it has done.
import { admin, queue as queueCall } from "./api.js";
import { confirm } from "./dialogs.js";
import { explain, h, isDisabled, newId, say, setText } from "./dom.js";
import { count, escapeText, grouped, laneName, number, parseLane, parseRate, rateText } from
  "./text.js";

// What an action needs to know beyond the keys: a field beside its button. read() returns the fields
// of the request; null: the text is no such value.
const lane = { label: "Lane to move to", placeholder: "fast", bad: "A lane is fast, slow or a whole "
  + "number.", read: (text) => {
  const number = parseLane(text || "fast");
  return number === null ? null : { lane: number };
}, verb: (wanted) => `Move to lane ${laneName(wanted.lane)}` };
const pace = { label: "Keys per second", placeholder: "10/s", bad: "A rate is such as 10/s, 0.5 or "
  + "100/m.", read: (text) => {
  const perSecond = parseRate(text || "10/s");
  return perSecond ? { per_second: perSecond } : null;
}, verb: (wanted) => `Release ${rateText(wanted.per_second)}` };

// kinds: of ChangeRequest and ChangeMatchingRequest, one after the other.
export const actions = [
  { name: "retry", text: "Retry now", kinds: ["REQUEUE", "RELEASE"], done: "queued again",
    what: "Delays end, and keys leave quarantine: all are queued at once." },
  { name: "add", text: "Add", kinds: ["ADD"], done: "added",
    what: "Each key is added again, in its lane." },
  { name: "lane", text: "Move to a lane", kinds: ["ADD"], done: "moved", input: lane,
    what: "Each key is added again, in this lane." },
  { name: "remove", text: "Remove", kinds: ["REMOVE", "CANCEL_DELAY"], done: "removed",
    danger: true,
    what: "Queued keys leave the queue, and delays are cancelled. Failure counts stay." },
  { name: "release", text: "Release", kinds: ["RELEASE"], done: "released",
    what: "Keys leave quarantine and are queued. Their failures are forgotten." },
  { name: "pace", text: "Release at a rate", kinds: ["RELEASE"], done: "released", input: pace,
    what: "Keys leave quarantine and are queued one after the other. Until then they are delayed." },
  { name: "drop", text: "Drop", kinds: ["DROP"], done: "dropped", danger: true,
    what: "Keys leave quarantine and are not queued." },
  { name: "forget", text: "Forget", kinds: ["FORGET"], done: "forgotten",
    what: "Failure counts are cleared." },
  { name: "delete", text: "Delete", kinds: ["DELETE"], done: "deleted", danger: true,
    what: "All that the queue has of these keys is removed, also failures and quarantine." },
];

// What an action is for: { queue, keys: [base64] } or { queue, filter }.
async function countOf(action, target, wanted) {
  if (target.keys) return { matched: target.keys.length, done: null };
  let done = 0;
  let matched = 0;
  for (const kind of action.kinds) {
    const reply = await admin("ChangeMatching", { queue: target.queue, filter: target.filter, kind,
      dry_run: true, ...wanted });
    matched = number(reply.matched);
    done += number(reply.done);
  }
  return { matched, done: Math.min(done, matched) };
}

// At most 1000 keys and about 1 MB each, so that a request stays below the server's limits.
function partsOf(keys) {
  const parts = [];
  let size = Infinity;
  for (const key of keys) {
    if (size + key.length > 1e6 || parts.at(-1).length === 1000) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1).push(key);
    size += key.length;
  }
  return parts;
}

async function changeKeys(action, { queue, keys }, wanted) {
  let done = 0;
  for (const part of partsOf(keys)) {
    for (const kind of action.kinds) {
      if (kind === "ADD") {
        const reply = await queueCall("Add", { queue, keys: part, ...wanted });
        done += number(reply.added) + number(reply.deduplicated);
      } else {
        const later = wanted.per_second
          ? { ...wanted, delay_us: Math.floor(done * 1e6 / wanted.per_second) } : {};
        done += number((await admin("Change", { queue, keys: part, kind, ...later })).done);
      }
    }
  }
  return Math.min(done, keys.length);
}

async function changeMatching(action, { queue, filter }, wanted) {
  let done = 0;
  for (const kind of action.kinds) {
    const reply = await admin("ChangeMatching", { queue, filter, kind, ...wanted });
    done += number(reply.done);
  }
  return done;
}

// Asks, does it, and says what happened. True: something may have changed.
async function run(action, target, wanted) {
  const name = escapeText(target.queue);
  let numbers;
  try {
    numbers = await countOf(action, target, wanted);
  } catch (error) {
    say(`Nothing was changed: ${error.message}`, true);
    return false;
  }
  const { matched, done } = numbers;
  const verb = action.input ? action.input.verb(wanted) : action.text;
  const text = [action.what];
  if (done !== null) {
    text.unshift(`${count(matched, "key matches", "keys match")}. The change applies to ${
      grouped(done)} of them now.`);
  }
  const agreed = await confirm({
    title: `${verb}: ${count(done ?? matched, "key")} of queue ${name}?`,
    text, action: `${verb}: ${count(done ?? matched, "key")}`, danger: action.danger });
  if (!agreed) return false;
  try {
    say(`${verb}: ${count(done ?? matched, "key")}…`);
    const changed = await (target.keys ? changeKeys : changeMatching)(action, target, wanted);
    say(`${count(changed, "key")} of ${name} ${Number(changed) === 1 ? "was" : "were"} ${
      action.done}.${target.keys && changed < matched
      ? ` The change does not apply to the other ${grouped(matched - changed)}.` : ""}`);
  } catch (error) {
    say(`The change ended with an error, and a part may be done: ${error.message}`, true);
  }
  return true;
}

// A row of buttons. target(): what they are for, or null: nothing is selected. changed(): called
// after a change.
export function actionBar(page, target, changed) {
  const inputs = new Map(actions.filter(({ input }) => input).map(({ name, input }) => [name,
    h("input", { id: newId(name), size: 5, placeholder: input.placeholder, "aria-label":
      input.label })]));
  const reason = h("p", { class: "reason", id: newId("reason") });
  const buttons = actions.map((action) => h("button", { type: "button", class: action.danger
    ? "danger" : false, "data-action": action.name, title: action.what, onclick: async (event) => {
    if (isDisabled(event.currentTarget)) return say(reason.textContent, true);
    const wanted = action.input ? action.input.read(inputs.get(action.name).value) : {};
    if (wanted === null) return say(action.input.bad, true);
    if (await run(action, target(), wanted)) changed();
  } }, action.text));
  const element = h("div", { class: "actions", role: "group", "aria-label": "Actions" },
    buttons.map((button, i) => (actions[i].input
      ? h("span", { class: "pair" }, button, inputs.get(actions[i].name)) : button)), reason);
  const refresh = () => {
    const why = page.whyNot ?? (target() ? null : "Select keys first.");
    explain(buttons, reason, why);
    for (const input of inputs.values()) input.disabled = why !== null;
    setText(reason, why ?? "");
  };
  refresh();
  return { element, refresh };
}
