// What is known of a key, as sentences.
import { age, ago, count, duration, escapeText, grouped, laneName, number, ordinal, until }
  from "./text.js";

const has = (row, state) => (row.states ?? []).includes("KEY_STATE_" + state);

const lasting = (since, now) => (number(since) > 0 ? `, for ${age(now - number(since))}` : "");

function queued(reply, row, now) {
  const place = reply.position === undefined ? ""
    : number(reply.position) === 0 ? " It is the next one."
    : ` ${count(reply.position, "key is", "keys are")} handed out before it.`;
  const paused = reply.queue_paused ? " The queue is paused, so it is not handed out." : "";
  const since = lasting(row.added_at_us, now);
  return `It is queued in lane ${laneName(row.lane)}${since}.${place}${paused}`;
}

function processing(reply, row, now) {
  const by = reply.worker
    ? `The worker ${escapeText(reply.worker)} (${escapeText(reply.peer)}) holds it`
    : "It is processing. Its worker is within the owner's process, or not known";
  const attempt = number(reply.attempt) > 0 ? ` This is attempt ${grouped(reply.attempt)}.` : "";
  const again = row.added_again
    ? " It was added again since, so it is queued again after that." : "";
  return `${by}${lasting(reply.held_since_us, now)}.${attempt}${again}`;
}

function delayed(row, now) {
  const when = until(row.ready_at_us, now);
  const delay = number(row.delay_us);
  if (row.resync) return when === "due" ? "Its resync is due." : `It is resynced ${when}.`;
  if (delay === 0) return `It is delayed: ${when}.`;
  const why = number(row.failures) > 0
    ? `its ${ordinal(number(row.failures))} failure asked for a delay of ${duration(delay)}`
    : `it was added with a delay of ${duration(delay)}`;
  return when === "due" ? `Its delay has ended: ${why}.` : `It is due ${when}, because ${why}.`;
}

function failing(row, now) {
  const times = number(row.failures);
  const last = number(row.last_failed_at_us) > 0 ? `, the last time ${
    ago(row.last_failed_at_us, now)}` : "";
  const first = times > 1 && number(row.first_failed_at_us) > 0
    ? `, the first time ${ago(row.first_failed_at_us, now)}` : "";
  return `It has failed ${count(times, "time")}${first}${last}.`;
}

export function sentencesOf(reply, now) {
  const row = reply.key ?? {};
  const all = [];
  if (has(row, "PROCESSING")) all.push(processing(reply, row, now));
  if (has(row, "QUEUED")) all.push(queued(reply, row, now));
  if (has(row, "DELAYED")) all.push(delayed(row, now));
  if (number(row.failures) > 0) all.push(failing(row, now));
  if (has(row, "QUARANTINED")) {
    all.push(`It is in quarantine${lasting(row.quarantined_at_us, now)}: it is not handed out ` +
      "until it is released.");
  }
  if ((row.states ?? []).length === 0) {
    all.push("The queue has nothing of this key: it was done, or it was never added.");
  }
  return all;
}

const took = (event) => (number(event.duration_us) > 0 ? ` after ${
  duration(number(event.duration_us))}` : "");
const by = (event) => (event.worker ? ` by ${escapeText(event.worker)}` : "");
const events = {
  ADDED: () => "added",
  DEDUPLICATED: (event) => `added again while it was queued, ${count(event.count, "time")}`,
  DELAYED: (event) => `delayed by ${duration(number(event.delay_us))}`,
  HANDED_OUT: (event) => `handed out${event.worker ? ` to ${escapeText(event.worker)}` : ""}`,
  DONE: (event) => `done${by(event)}${took(event)}`,
  FAILED: (event) => `failed${by(event)}${took(event)}${number(event.delay_us) > 0
    ? `, tried again after ${duration(number(event.delay_us))}` : ""}`,
  GIVEN_BACK: (event) => `given back${by(event)}${took(event)}`,
  QUARANTINED: () => "put into quarantine",
  RELEASED: () => "released from quarantine",
  REMOVED: () => "removed",
  FORGOTTEN: () => "its failures were forgotten",
  REQUEUED: () => "its delay was ended",
};
export const eventText = (event) => (events[event.kind] ?? (() => event.kind))(event)
  + (event.reason ? `: ${escapeText(event.reason)}` : "");
