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
#include "wq/internal/import.h"
#include "wq/live_store.h"
#include "wq/repair.h"
#include "wq/snapshot.h"
#include "wq/store_view.h"
#include "wq/verify.h"

namespace wqctl {

// Everything known about one key in one queue.
struct QueueEntries {
  std::string queue;
  std::vector<wq::Entry> entries;
  std::optional<wq::KeyPosition> position;  // If it is pending.
  // After the next failure. Unset: the key is in quarantine, where a failure does not delay it.
  std::optional<std::chrono::microseconds> next_delay;
};

// {"added": …, "deduplicated": …, "held": …, "refused": …}
std::string AddResultJson(uint64_t added, uint64_t deduplicated, uint64_t held, uint64_t refused);

// {"changed": …, "unchanged": …, "deleted": …, "refused": …}
std::string SyncResultJson(uint64_t changed, uint64_t unchanged, uint64_t deleted,
                           uint64_t refused);

// {"<done>": …, "not_found": …, "dry_run": …}; `done` is a word such as "removed".
std::string ChangeResultJson(std::string_view done, uint64_t count, uint64_t not_found,
                             bool dry_run);

// {"queues": …, "entries": …, "cursors": …, "objects": …, "dry_run": …}
std::string LoadResultJson(const wq::ImportCounts& counts, bool dry_run);

// {"store": {…}, "queues": [{…}]}, indented. Ages are counted until `now_us`.
std::string SummariesJson(const wq::StoreInfo& store, const std::vector<wq::QueueSummary>& queues,
                          int64_t now_us);

// One queue of that on each line.
std::string SummaryLines(const std::vector<wq::QueueSummary>& queues, int64_t now_us);

// {"store": {…}, "key": …, "entries": [{…}]}, indented.
std::string KeyJson(const wq::StoreInfo& store, std::string_view key,
                    const std::vector<QueueEntries>& found);

// `json` on one line for kJsonl, otherwise as it is. REQUIRES: it is valid JSON with a line end.
std::string InFormat(Format format, std::string_view json);

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

// {"where": …, "what": …} on one line, without a line end, appended to `out`.
void AppendFindingJson(const wq::Finding& finding, std::string* out);

// {"where": …, "lost": …} likewise.
void AppendLossJson(const wq::Loss& loss, std::string* out);

// {"name": …, "path": …, "uuid": …, "taken_at": …, "bytes": …, "linked_bytes": …} likewise.
void AppendSnapshotJson(const wq::SnapshotInfo& snapshot, std::string* out);

}  // namespace wqctl
