// The text forms of keys, numbers, times and durations, as wqctl writes them.

const encoder = new TextEncoder();

// Code points that are not shown, or that could make a line look like another: those of EscapeKey
// in base/escape.cc.
const unprintable = [[0x80, 0x9f], [0xad, 0xad], [0x61c, 0x61c], [0x200b, 0x200b],
  [0x200e, 0x200f], [0x2028, 0x202e], [0x2060, 0x206f], [0xfeff, 0xfeff], [0xfff9, 0xfffb],
  [0xe0000, 0xe007f]];

// The length of the well-formed UTF-8 sequence at `at`, and its code point; 0: it is none.
function sequenceAt(bytes, at) {
  const lead = bytes[at];
  if (lead < 0x80) return [1, lead];
  const [length, mask, smallest] = lead >= 0xc2 && lead <= 0xdf ? [2, 0x1f, 0x80]
    : lead >= 0xe0 && lead <= 0xef ? [3, 0x0f, 0x800]
    : lead >= 0xf0 && lead <= 0xf4 ? [4, 0x07, 0x10000] : [0, 0, 0];
  if (length === 0 || at + length > bytes.length) return [0, lead];
  let point = lead & mask;
  for (let i = 1; i < length; ++i) {
    if ((bytes[at + i] & 0xc0) !== 0x80) return [0, lead];
    point = (point << 6) | (bytes[at + i] & 0x3f);
  }
  const surrogate = point >= 0xd800 && point <= 0xdfff;
  return point < smallest || point > 0x10ffff || surrogate ? [0, lead] : [length, point];
}

const hexByte = (byte) => "\\x" + byte.toString(16).padStart(2, "0");

function escapedPoint(point) {
  if (point >= 0x80) {
    const hidden = unprintable.some(([first, last]) => point >= first && point <= last);
    return hidden ? `\\u{${point.toString(16)}}` : String.fromCodePoint(point);
  }
  if (point === 10) return "\\n";
  if (point === 9) return "\\t";
  if (point === 92) return "\\\\";
  return point < 0x20 || point === 0x7f ? hexByte(point) : String.fromCharCode(point);
}

// Bytes as one line that shows everything: what is not printable UTF-8 becomes \n, \xHH, \u{H}.
export function escapeBytes(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length;) {
    const [length, point] = sequenceAt(bytes, at);
    parts.push(length === 0 ? hexByte(point) : escapedPoint(point));
    at += Math.max(length, 1);
  }
  return parts.join("");
}
export const escapeText = (text) => escapeBytes(encoder.encode(text));

// The same for tables: of long bytes the middle is left out.
function shortBytes(bytes, most = 160) {
  if (bytes.length <= most) return escapeBytes(bytes);
  const boundary = (at) => {
    for (let i = 0; i < 3 && (bytes[at] & 0xc0) === 0x80; ++i) at -= 1;
    return at;
  };
  const head = boundary(Math.floor(most * 0.6));
  const tail = boundary(bytes.length - Math.floor(most * 0.25));
  return `${escapeBytes(bytes.subarray(0, head))} … ${escapeBytes(bytes.subarray(tail))}`;
}

// What a person typed: the escapes of escapeBytes are understood.
export function bytesOf(text) {
  const parts = [];
  const escape = /\\(?:x([0-9a-f]{2})|u\{([0-9a-f]{1,6})\}|([nt\\]))/gi;
  let at = 0;
  for (const found of text.matchAll(escape)) {
    if (found[2] !== undefined && parseInt(found[2], 16) > 0x10ffff) continue;
    parts.push(encoder.encode(text.slice(at, found.index)));
    if (found[1] !== undefined) parts.push(Uint8Array.of(parseInt(found[1], 16)));
    else if (found[2] !== undefined) {
      parts.push(encoder.encode(String.fromCodePoint(parseInt(found[2], 16))));
    } else parts.push(Uint8Array.of({ n: 10, t: 9, "\\": 92 }[found[3]] ?? 0));
    at = found.index + found[0].length;
  }
  parts.push(encoder.encode(text.slice(at)));
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.length;
  }
  return bytes;
}

export function fromBase64(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (c) => c.charCodeAt(0));
}
export function toBase64(bytes) {
  let plain = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    plain += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(plain);
}
export const toUrlBase64 = (base64) =>
  base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
export const fromUrlBase64 = (text) => toBase64(fromBase64(text));

export const keyText = (base64) => escapeBytes(fromBase64(base64));
export const shortKey = (base64, most) => shortBytes(fromBase64(base64), most);

// int64 comes as text. A missing one is 0.
export const number = (value) => Number(value ?? 0);
export const grouped = (value) => String(value ?? 0).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
export const count = (n, one, many = one + "s") => `${grouped(n)} ${Number(n) === 1 ? one : many}`;
export function rate(value) {
  if (!(value >= 0)) return "–";
  if (value === 0) return "0";
  return value < 0.05 ? "<0.1" : value < 100 ? value.toFixed(1) : grouped(Math.round(value));
}
export function ordinal(n) {
  const teen = n % 100 >= 11 && n % 100 <= 13;
  return grouped(n) + (teen ? "th" : { 1: "st", 2: "nd", 3: "rd" }[n % 10] ?? "th");
}

const units = [["d", 86400e6], ["h", 3600e6], ["m", 60e6], ["s", 1e6], ["ms", 1e3], ["us", 1]];

// The largest two units: 3m12s, 1s500ms.
export function duration(us) {
  if (us < 0) return "-" + duration(-us);
  if (us === 0) return "0s";
  const i = units.findIndex(([, unit]) => us >= unit);
  if (i < 0) return "0s";
  const next = units[i + 1];
  const rest = next ? Math.floor((us % units[i][1]) / next[1]) : 0;
  return Math.floor(us / units[i][1]) + units[i][0] + (rest ? rest + next[0] : "");
}
// In whole seconds.
export const age = (us) => (us < 1e6 ? "0s" : duration(us - (us % 1e6)));
export const ago = (then, now) => age(now - number(then)) + " ago";
export const until = (then, now) =>
  number(then) <= now ? "due" : "in " + age(number(then) - now);
// For charts: with three digits.
export function seconds(value) {
  if (!(value >= 0)) return "–";
  if (value === 0) return "0s";
  if (value >= 60) return duration(Math.round(value) * 1e6);
  if (value >= 1) return `${Number(value.toPrecision(3))}s`;
  return value >= 1e-3 ? `${Number((value * 1e3).toPrecision(3))}ms`
    : `${Math.round(value * 1e6)}us`;
}

// Microseconds; null: it is not a duration such as 1h30m, or is longer than 100 years.
export function parseDuration(text) {
  const wanted = text.replaceAll(" ", "");
  if (wanted === "0") return 0;
  if (!/^(\d+(\.\d+)?(d|h|ms|us|m|s))+$/.test(wanted)) return null;
  let total = 0;
  for (const [, n, , unit] of wanted.matchAll(/(\d+(\.\d+)?)(d|h|ms|us|m|s)/g)) {
    total += Number(n) * units.find(([name]) => name === unit)[1];
  }
  return total <= 36525 * 86400e6 ? Math.round(total) : null;
}

const unitSeconds = { s: 1, m: 60, h: 3600 };

// Keys per second; null: it is no rate such as 10/s, 0.5 or 100/m.
export function parseRate(text) {
  const found = /^(\d+(?:\.\d+)?)(?:\/([smh]))?$/.exec(text.replaceAll(" ", ""));
  return found ? Number(found[1]) / unitSeconds[found[2] ?? "s"] : null;
}

// In the first unit in which it is a whole number, or at least 1.
export function rateText(perSecond) {
  const all = Object.entries(unitSeconds).map(([unit, length]) => [unit, perSecond * length]);
  const [unit, n] = all.find(([, value]) => value >= 1 &&
    Math.abs(value - Math.round(value)) < 1e-9 * value) ?? all.find(([, value]) => value >= 1) ??
    all.at(-1);
  return `${Number(n.toPrecision(7))}/${unit}`;
}

export const time = (us) => new Date(number(us) / 1000).toISOString().replace(/\.\d+Z$/, "Z");
export const clock = (us) => new Date(us / 1000).toTimeString().slice(0, 5);

export const laneName = (lane) => ({ 0: "fast", "-100": "slow" }[lane] ?? String(lane));
// null: it is not a lane.
export function parseLane(text) {
  const wanted = text.trim();
  if (wanted === "fast") return 0;
  if (wanted === "slow") return -100;
  const lane = /^-?\d{1,10}$/.test(wanted) ? Number(wanted) : NaN;
  return lane >= -(2 ** 31) && lane < 2 ** 31 ? lane : null;
}

export const stateNames = ["queued", "processing", "delayed", "failing", "quarantined"];
export const stateName = (state) => state.replace("KEY_STATE_", "").toLowerCase();
export const stateCode = (name) => "KEY_STATE_" + name.toUpperCase();
