// The JSON that wqctl prints. docs/wqctl.md lists the fields; they are part of its contract.
//
// Valid for every key: a key that is not UTF-8 is "key_base64" instead of "key"; error texts
// likewise. A single entry is a line of a dump: see dump_line.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/errors/error_groups.h"
#include "tools/wqctl/text/format.h"
#include "wq/history.h"
#include "wq/live_store.h"
#include "wq/snapshot.h"
#include "wq/store_view.h"

namespace wqctl {

// Everything known about one key in one queue.
struct QueueEntries {
  std::string queue;
  std::vector<wq::Entry> entries;
  std::optional<wq::KeyPosition> position;  // If it is pending.
  // After the next failure. Unset: the key is in quarantine, where a failure does not delay it.
  std::optional<std::chrono::microseconds> next_delay;
};

// What a verb reports at its end: as a text "to be removed 3, not found 1", and in JSON
// {"removed": 3, "not_found": 1, "dry_run": true}.
struct Outcome {
  struct Count {
    std::string name;
    uint64_t count = 0;
    bool always = true;  // Otherwise a text leaves 0 out.
  };
  std::vector<Count> counts;
  std::string prefix = {};  // Of the text: "to be ".
  std::optional<bool> dry_run = {};
};
// In one of kOutcomeFormats, with a line end.
std::string OutcomeText(const Outcome& outcome, Format format);

// {"store": {…}, "queues": [{…}]}, indented. Ages are counted until `now_us`.
std::string SummariesJson(const wq::StoreInfo& store, const std::vector<wq::QueueSummary>& queues,
                          int64_t now_us);

// One queue of that on each line.
std::string SummaryLines(const std::vector<wq::QueueSummary>& queues, int64_t now_us);

// {"store": {…}, "key": …, "entries": [{…}]}, indented.
std::string KeyJson(const wq::StoreInfo& store, std::string_view key,
                    const std::vector<QueueEntries>& found);

// One entry of that on each line, with the key.
std::string KeyLines(std::string_view key, const std::vector<QueueEntries>& found);

// {"queue": …, "worker": …, "peer": …, "held": [{"key": …, "token": …}], …} on one line. Without a
// peer it is the owner of the store.
std::string HistoryKindName(wq::HistoryKind kind);  // "handed_out".
void AppendHistoryJson(const wq::HistoryEvent& event, std::string* out);
void AppendWorkerJson(const wq::LiveWorkerInfo& worker, std::string* out);

// {"queue": …, "error": …, "keys": …, "quarantined": …, "failures": …, "first_at": …, "last_at": …,
// "examples": [{"key": …, "error": …}]} on one line, without a line end, appended to `out`.
void AppendErrorGroupJson(const wq::ErrorGroup& group, std::string* out);

// {"where": …, "<name>": …} on one line, without a line end, appended to `out`.
void AppendWhereJson(const std::string& where, const char* name, const std::string& what,
                     std::string* out);

// {"name": …, "path": …, "uuid": …, "taken_at": …, "bytes": …, "linked_bytes": …} likewise.
void AppendSnapshotJson(const wq::SnapshotInfo& snapshot, std::string* out);

}  // namespace wqctl
