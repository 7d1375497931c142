// HistoryBuffer: the events of a queue that are not in the store's files yet.
//
// Append copies an event into memory that is allocated at once: no allocation, no I/O and no lock,
// and the time is the clock's rough reading. Once an event does not fit, it and all later ones are
// only counted, until Swap: that costs next to nothing.
//
// One source of time for all events keeps them in order, and costs less than a parameter in every
// transition.
//
// Threading: thread-compatible; the queue's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "wq/clock.h"
#include "wq/history.h"

namespace wq {

// The kind on disk of an annotation: the worker of the hand-out before it.
inline constexpr uint8_t kHistoryWorker = 255;

// The events that a HistoryBuffer has collected.
struct HistoryBytes {
  std::unique_ptr<char[]> memory;  // Null: there is none.
  size_t capacity = 0;
  size_t used = 0;
  int64_t first_at_us = 0;  // Of the first event, kept or lost.
  uint64_t lost = 0;

  explicit HistoryBytes(size_t bytes = 0);
  std::string_view events() const { return {memory.get(), used}; }
  bool empty() const { return used == 0 && lost == 0; }
};

class HistoryBuffer {
 public:
  // `wake` is called when the first event is appended, and when the buffer is half full, under the
  // queue's lock. `clock` is borrowed.
  HistoryBuffer(size_t bytes, Clock* clock, std::function<void(bool half_full)> wake);

  // `text` is a reason, an error or a worker's name. REQUIRES: key.size() <= kMaxKeyBytes.
  void Append(HistoryKind kind, std::string_view key, int64_t delay_us = 0,
              std::string_view text = {}) {
    if (full_) {
      ++bytes_.lost;
    } else {
      AppendRaw(static_cast<uint8_t>(kind), key, delay_us, text);
    }
  }
  void AppendWorker(std::string_view key, std::string_view name) {
    if (!full_) {
      AppendRaw(kHistoryWorker, key, 0, name);
    }
  }
  // Exchanges what was collected for `bytes`, which is empty.
  void Swap(HistoryBytes* bytes);

 private:
  void AppendRaw(uint8_t kind, std::string_view key, int64_t delay_us, std::string_view text);

  Clock* const clock_;
  const std::function<void(bool half_full)> wake_;
  HistoryBytes bytes_;
  bool half_full_ = false;
  bool full_ = false;  // An event did not fit.
};

// An event as it was appended.
struct RecordedEvent {
  uint8_t kind = 0;
  int64_t at_us = 0;
  int64_t delay_us = 0;
  std::string_view key;
  std::string_view text;
};

// Calls `visit` with each event, in order. Stops at bytes that are no event.
void ForEachRecorded(std::string_view events,
                     const std::function<void(const RecordedEvent& event)>& visit);

}  // namespace wq
