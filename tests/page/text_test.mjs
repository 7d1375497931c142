// What the page takes as a value: what wqctl takes. Without a browser.
import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const file = new URL("../../server/page/files/text.js", import.meta.url);
const text = await import("data:text/javascript," + encodeURIComponent(readFileSync(file, "utf8")));

test("every lane of 32 bits is a lane, and no other number", () => {
  for (const [lane, value] of [["fast", 0], ["slow", -100], [" 7 ", 7], ["-2147483648", -(2 ** 31)],
    ["2147483647", 2 ** 31 - 1], ["-2147483649", null], ["2147483648", null], ["1.5", null],
    ["0x7", null], ["", null], ["-", null]]) {
    assert.equal(text.parseLane(lane), value, lane);
  }
});

test("durations up to 100 years", () => {
  for (const [duration, us] of [["0", 0], ["1us", 1], ["1.5s", 1.5e6], ["1h30m", 5400e6],
    ["36525d", 36525 * 86400e6], ["36525d1us", null], ["99999999h", null], ["5", null],
    ["-5s", null], ["1.s", null], ["", null]]) {
    assert.equal(text.parseDuration(duration), us, duration);
  }
});
