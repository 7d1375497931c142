// The history of a key: its last events, as an owner with StoreOptions::history_bytes recorded
// them.
//
//   wq::KeyHistory history;
//   wq::Status s = wq::ReadHistory("/var/lib/pods.wq", "pods", "default/pod-1", 100, &history);
//
// A history is a help to find out what happened, not a part of the store's promises: events are
// written behind, about once a second. A killed process loses the last ones, and more than the
// writer can keep up with are counted as lost; both never delay a queue.
// Threading: thread-safe. A crash: of the reader, leaves nothing behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wq/status.h"

namespace wq {

// The numbers are on disk.
enum class HistoryKind : uint8_t {
  kAdded = 1,         // Also: its delay has passed.
  kDeduplicated = 2,  // `count` Adds in a row, for one reason: the key was queued or delayed.
  kDelayed = 3,       // For `delay_us`.
  kHandedOut = 4,     // To `worker`, if the engine was told (Queue::NoteWorker).
  kDone = 5,          // Left out after a kFailed of the same hand-out.
  kFailed = 6,        // With `error`; `delay_us` until the next attempt.
  kGivenBack = 7,
  kQuarantined = 8,
  kReleased = 9,
  kRemoved = 10,  // Removed, dropped, deleted, or its delay was cancelled.
  kForgotten = 11,
  kRequeued = 12,  // Its delay was ended by a call.
};

struct HistoryEvent {
  HistoryKind kind = HistoryKind::kAdded;
  int64_t at_us = 0;  // Wall time; it may be some milliseconds early.
  // Of kDone and kFailed: since the key was handed out; 0 if that event is not kept.
  int64_t duration_us = 0;
  int64_t delay_us = 0;
  uint64_t count = 1;
  std::string error;  // Its first kMaxHistoryErrorBytes.
  std::string worker;
  // Of kAdded, kDeduplicated and kDelayed: the Add's reason (Cause), its first
  // kMaxHistoryErrorBytes. Empty: none, or a delay has passed.
  std::string reason;
};

inline constexpr size_t kMaxHistoryErrorBytes = 200;
inline constexpr size_t kMaxHistoryEvents = 10'000;

struct KeyHistory {
  std::vector<HistoryEvent> events;  // The oldest first.
  int64_t since_us = 0;  // Events before this are gone, or were never kept. 0: nothing is kept.
  uint64_t lost = 0;  // Events of the queue since then that were not kept, as there were too many.
  // Ok, or why the owner has stopped recording. (Of ReadHistory: always Ok.)
  Status recording;
};

// Reads the last `limit` events of a key from the files of the store in `dir`, beside its owner or
// without one; 0 is 100, and at most kMaxHistoryEvents. Changes nothing. Beside an owner, the last
// moments are not in the files yet: see Store::History. A queue that was deleted and created again
// has only the events since. NotFound: `dir` keeps no history. Blocks: for reading at most
// StoreOptions::history_bytes.
Status ReadHistory(const std::string& dir, std::string_view queue, std::string_view key,
                   size_t limit, KeyHistory* history);

}  // namespace wq
