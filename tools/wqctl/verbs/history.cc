#include "tools/wqctl/verbs/history.h"

#include <memory>
#include <string>
#include <vector>

#include "tools/wqctl/text/duration.h"
#include "tools/wqctl/text/exit_code.h"
#include "tools/wqctl/text/json.h"
#include "tools/wqctl/text/listing.h"
#include "tools/wqctl/text/log.h"
#include "tools/wqctl/text/output.h"
#include "wq/history.h"
#include "wq/keys.h"
#include "wq/live_store.h"

namespace wqctl {
namespace {

// From the process that serves the store, or from the files.
wq::Status Read(const KeyHistoryArgs& args, wq::KeyHistory* history) {
  std::unique_ptr<wq::LiveStore> live;
  if (wq::LiveStore::Connect(args.store_dir, &live).ok()) {
    wq::Status s = live->History(args.queue, args.key, args.limit, history);
    if (s.code() != wq::StatusCode::kNotSupported) return s;
  }
  return wq::ReadHistory(args.store_dir, args.queue, args.key, args.limit, history);
}

void Warn(const KeyHistoryArgs& args, const wq::KeyHistory& history) {
  if (history.lost > 0) {
    LogWarning(std::to_string(history.lost) + " events of queue \"" + wq::EscapeKey(args.queue) +
               "\" were not recorded since " + FormatTime(history.since_us) +
               ", as there were too many");
  }
  if (!history.recording.ok()) {
    LogWarning("nothing is recorded any more: " + wq::EscapeKey(history.recording.message(), 4096));
  }
}

std::vector<std::string> CellsOf(const KeyHistoryArgs& args, const wq::HistoryEvent& event) {
  const auto duration = [](int64_t us) {
    return us == 0 ? "-" : FormatDuration(std::chrono::microseconds(us));
  };
  const bool counted = event.kind == wq::HistoryKind::kDeduplicated;
  return {args.show.Ago(event.at_us),
          HistoryKindName(event.kind) + (counted ? " " + std::to_string(event.count) : ""),
          duration(event.duration_us),
          duration(event.delay_us),
          event.worker.empty() ? "-" : wq::EscapeKey(event.worker),
          event.reason.empty() ? "-" : wq::EscapeKey(event.reason),
          event.error.empty() ? "-" : wq::EscapeKey(event.error)};
}

}  // namespace

int ShowHistory(const KeyHistoryArgs& args) {
  wq::KeyHistory history;
  if (wq::Status s = Read(args, &history); !s.ok()) return Fail(s);
  Warn(args, history);
  if (history.events.empty()) {
    return Fail(wq::Status::NotFound(
        "no event of key '" + wq::EscapeKey(args.key, 4096) + "' of queue \"" +
        wq::EscapeKey(args.queue) + "\" is kept" +
        (history.since_us == 0 ? "" : " since " + FormatTime(history.since_us))));
  }
  Output out;
  Listing listing(args.format, {"AT", "EVENT", "TOOK", "DELAY", "WORKER", "REASON", "ERROR"}, &out);
  for (const wq::HistoryEvent& event : history.events) {
    if (!listing.Row([&](std::string* json) { AppendHistoryJson(event, json); },
                     [&] { return CellsOf(args, event); },
                     [&] { return HistoryKindName(event.kind) + "\n"; })) {
      break;
    }
  }
  listing.End(true);
  return out.Finish(kExitOk);
}

}  // namespace wqctl
