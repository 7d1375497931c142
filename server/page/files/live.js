// The overview, read anew every two seconds while the page is seen. It goes on by itself after a
// restart of the server.
import { browse } from "./api.js";

let reading = null;  // { queueName, timer }; null: nothing is read.
let failed = false;

// on.overview(response), on.lost(), on.back(): the server answers again.
export function listen(queueName, on) {
  if (reading?.queueName === queueName) return;
  stop();
  reading = { queueName, timer: 0 };
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
  on.overview(response);
}
