// Reading a history: the blocks of a queue, the newest first, until there are events enough.

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/history/history_buffer.h"
#include "storage/history_log.h"
#include "wq/history.h"

namespace wq {
namespace {

constexpr size_t kDefaultEvents = 100;

using Events = std::vector<HistoryEvent>;

// Whether the work of the last hand-out failed.
bool HasFailed(const Events& events) {
  const auto last = std::find_if(events.rbegin(), events.rend(), [](const HistoryEvent& event) {
    return event.kind == HistoryKind::kHandedOut || event.kind == HistoryKind::kFailed;
  });
  return last != events.rend() && last->kind == HistoryKind::kFailed;
}

// Whether the text of such an event is the reason of an Add. Otherwise it is an error.
bool HasReason(HistoryKind kind) {
  return kind == HistoryKind::kAdded || kind == HistoryKind::kDeduplicated ||
         kind == HistoryKind::kDelayed;
}

// Appends the event. An Add after an Add of the same kind and reason is only counted, and the Done
// of work that has failed (AddRateLimited, then Done) is left out.
void AppendFolded(HistoryEvent event, Events* events) {
  if (event.kind == HistoryKind::kDone && HasFailed(*events)) {
    return;
  }
  if (event.kind == HistoryKind::kDeduplicated && !events->empty() &&
      events->back().kind == HistoryKind::kDeduplicated && events->back().reason == event.reason) {
    events->back().count += event.count;
    events->back().at_us = event.at_us;
    return;
  }
  events->push_back(std::move(event));
}

// Sets the worker of the last hand-out that was not ended since.
void NameWorker(std::string_view name, Events* events) {
  const auto last = std::find_if(events->rbegin(), events->rend(), [](const HistoryEvent& event) {
    return event.kind == HistoryKind::kHandedOut;
  });
  if (last != events->rend()) {
    last->worker = name;
  }
}

bool IsKind(uint8_t kind) {
  return kind >= static_cast<uint8_t>(HistoryKind::kAdded) &&
         kind <= static_cast<uint8_t>(HistoryKind::kRequeued);
}

// *unnamed: the name of a worker whose hand-out is in an earlier block.
Events EventsOf(std::string_view bytes, std::string_view key, std::string* unnamed) {
  Events events;
  ForEachRecorded(bytes, [&](const RecordedEvent& event) {
    if (event.key != key) {
      return;
    }
    if (event.kind == kHistoryWorker) {
      if (events.empty()) {
        *unnamed = event.text;
      }
      NameWorker(event.text, &events);
    } else if (IsKind(event.kind)) {
      const auto kind = static_cast<HistoryKind>(event.kind);
      HistoryEvent read{.kind = kind,
                        .at_us = event.at_us,
                        .duration_us = 0,
                        .delay_us = event.delay_us,
                        .count = 1,
                        .error = {},
                        .worker = {},
                        .reason = {}};
      (HasReason(kind) ? read.reason : read.error) = event.text;
      AppendFolded(std::move(read), &events);
    }
  });
  return events;
}

// Sets the durations, and the workers that ended their work.
void SetDurations(Events* events) {
  const HistoryEvent* handed_out = nullptr;
  for (HistoryEvent& event : *events) {
    const bool done = event.kind == HistoryKind::kDone;
    if (event.kind == HistoryKind::kHandedOut) {
      handed_out = &event;
    } else if ((done || event.kind == HistoryKind::kFailed) && handed_out != nullptr) {
      event.duration_us = std::max<int64_t>(0, event.at_us - handed_out->at_us);
      event.worker = handed_out->worker;
    }
    if (done || event.kind == HistoryKind::kGivenBack) {
      handed_out = nullptr;
    }
  }
}

// Whether nothing before `events` can change what the last `limit` of them say.
bool Enough(const Events& events, size_t limit) {
  if (events.size() <= limit) {
    return false;
  }
  const auto kept = events.end() - static_cast<std::ptrdiff_t>(limit);
  return std::any_of(events.begin(), kept,
                     [](const auto& e) { return e.kind == HistoryKind::kHandedOut; }) ||
         events.size() > limit + kMaxHistoryEvents;
}

class Collector {
 public:
  Collector(std::string_view key, size_t limit) : key_(key), limit_(limit) {}

  // A block, the newest first.
  bool Take(const storage::HistoryBlock& block, const storage::HistoryLoader& load) {
    if (created_at_us_.value_or(block.created_at_us) != block.created_at_us) {
      return false;  // Of an earlier queue of this name.
    }
    created_at_us_ = block.created_at_us;
    lost_ += block.lost;
    std::string bytes;
    if (enough_ || !load(&bytes)) {
      return true;
    }
    std::string unnamed;
    Events earlier = EventsOf(bytes, key_, &unnamed);
    if (!unnamed_.empty() && !earlier.empty()) {
      NameWorker(std::exchange(unnamed_, {}), &earlier);
    }
    if (!unnamed.empty()) {
      unnamed_ = std::move(unnamed);
    }
    for (HistoryEvent& event : events_) {
      AppendFolded(std::move(event), &earlier);
    }
    events_ = std::move(earlier);
    enough_ = Enough(events_, limit_);
    return true;
  }

  void Finish(KeyHistory* history) {
    SetDurations(&events_);
    const size_t begin = events_.size() - std::min(events_.size(), limit_);
    events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(begin));
    history->events = std::move(events_);
    history->lost = lost_;
    history->since_us = std::max(history->since_us, created_at_us_.value_or(0));
  }

 private:
  const std::string_view key_;
  const size_t limit_;
  Events events_;
  std::string unnamed_;
  std::optional<int64_t> created_at_us_;
  uint64_t lost_ = 0;
  bool enough_ = false;
};

}  // namespace

Status ReadHistory(const std::string& dir, std::string_view queue, std::string_view key,
                   size_t limit, KeyHistory* history) {
  *history = {};
  Collector collector(key, limit == 0 ? kDefaultEvents : std::min(limit, kMaxHistoryEvents));
  Status status = storage::ReadHistoryLog(
      dir, queue,
      [&](const storage::HistoryBlock& block, const storage::HistoryLoader& load) {
        return collector.Take(block, load);
      },
      &history->since_us);
  collector.Finish(history);
  return status;
}

}  // namespace wq
