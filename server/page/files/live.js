// The server's events: one stream for the page. It goes on by itself after a restart of the server.

let source = null;
let timer = 0;
let wanted = null;  // The queue; "" is all, null is none.
let failed = false;

// on.overview(response), on.lost(), on.back(): the connection is there again.
export function listen(queueName, on) {
  if (source && wanted === queueName) return;
  stop();
  wanted = queueName;
  open(on);
}

export function stop() {
  source?.close();
  clearTimeout(timer);
  source = null;
  wanted = null;
}

function open(on) {
  source = new EventSource("/ui/events?queue=" + encodeURIComponent(wanted));
  source.addEventListener("overview", (event) => {
    if (failed) on.back();
    failed = false;
    on.overview(JSON.parse(event.data));
  });
  source.addEventListener("error", () => {
    failed = true;
    on.lost();
    // After a refusal the browser does not try again by itself.
    if (source.readyState !== EventSource.CLOSED) return;
    clearTimeout(timer);
    timer = setTimeout(() => open(on), 1000);
    on.refused();
  });
}
