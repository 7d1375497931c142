// The overview, read anew every two seconds while the page is seen. It goes on by itself after a
// restart of the server.
import { browse } from "./api.js";

const times = ["now_us", "next_due_us"];
let reading = null;  // { queueName, timer, last: the last contents }; null: nothing is read.
let failed = false;

// on.overview(response, changed): whether more than the time differs from the one before it.
// on.lost(), on.back(): the server answers again.
export function listen(queueName, on) {
  if (reading?.queueName === queueName) return;
  stop();
  reading = { queueName, timer: 0, last: "" };
  read(reading, on);
}

export function stop() {
  clearTimeout(reading?.timer);
  reading = null;
}

async function read(mine, on) {
  const response = await browse("GetOverview", { queue: mine.queueName }).catch(() => null);
  if (mine !== reading) return;
  mine.timer = setTimeout(() => read(mine, on), response ? 2000 : 1000);
  const back = failed && response;
  failed = !response;
  if (failed) return void on.lost();
  if (back) on.back();
  const contents = JSON.stringify(response, (name, value) => times.includes(name) ? undefined : value);
  const changed = contents !== mine.last;
  mine.last = contents;
  on.overview(response, changed);
}
