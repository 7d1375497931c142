// StoreView::Summarize: counts in constant memory, over every record of a queue.
#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/entry_walk.h"
#include "engine/store_view_rep.h"
#include "storage/records.h"
#include "wq/store_view.h"

namespace wq {
namespace {

using storage::CursorRecord;
using storage::DelayedRecord;
using storage::FailureRecord;
using storage::PendingRecord;
using storage::QuarantineRecord;
using storage::QueueId;

// Most failures first; among equals the smaller key. As a heap's "less" it keeps the least
// important key on top, ready to be replaced.
bool MoreFailing(const FailingKey& a, const FailingKey& b) {
  if (a.failures.count != b.failures.count) return a.failures.count > b.failures.count;
  return a.key < b.key;
}

// The most failing keys of a stream of them, in the memory of `limit`.
class TopFailing {
 public:
  explicit TopFailing(size_t limit) : limit_(limit) {}

  void Offer(const FailureRecord& record) {
    if (limit_ == 0) return;
    if (heap_.size() == limit_) {
      // Scans come in the order of the keys, so a later key of the same count never belongs in.
      if (record.count <= heap_.front().failures.count) return;
      std::pop_heap(heap_.begin(), heap_.end(), MoreFailing);
      heap_.pop_back();
    }
    heap_.push_back({std::string(record.key), ToInfo(record)});
    std::push_heap(heap_.begin(), heap_.end(), MoreFailing);
  }

  std::vector<FailingKey> Take() && {
    std::sort_heap(heap_.begin(), heap_.end(), MoreFailing);
    return std::move(heap_);
  }

 private:
  const size_t limit_;
  std::vector<FailingKey> heap_;
};

// Counts groups: exactly up to kMaxSummaryGroups of them, and from there on by the algorithm of
// Misra and Gries ("Finding repeated elements", 1982): a group that finds no place takes one off
// every group that has one. So no count is too high, none is too low by more than error(), and that
// is at most one kMaxSummaryGroups-th of all keys.
class GroupCounts {
 public:
  void Add(std::string_view group) {
    if (group.empty()) return;
    if (const auto it = counts_.find(group); it != counts_.end()) {
      ++it->second;
    } else if (counts_.size() < kMaxSummaryGroups) {
      counts_.emplace(group, 1);
    } else {
      TakeOneOffAll();
    }
  }

  uint64_t groups() const { return error_ == 0 ? counts_.size() : kMaxSummaryGroups + 1; }
  uint64_t error() const { return error_; }

  std::vector<GroupDepth> Top(size_t limit) const {
    using Count = std::pair<const std::string, uint64_t>;
    std::vector<const Count*> counts;
    counts.reserve(counts_.size());
    for (const Count& count : counts_) counts.push_back(&count);
    const auto middle = counts.begin() + static_cast<ptrdiff_t>(std::min(limit, counts.size()));
    std::partial_sort(counts.begin(), middle, counts.end(), [](const Count* a, const Count* b) {
      return a->second != b->second ? a->second > b->second : a->first < b->first;
    });
    std::vector<GroupDepth> top;
    for (auto it = counts.begin(); it != middle; ++it) top.push_back({(*it)->first, (*it)->second});
    return top;
  }

 private:
  // Costs as much as the Adds that it takes back, so an Add stays O(1) on average.
  void TakeOneOffAll() {
    ++error_;
    for (auto it = counts_.begin(); it != counts_.end();) {
      it = --it->second == 0 ? counts_.erase(it) : std::next(it);
    }
  }

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>> counts_;
  uint64_t error_ = 0;
};

Status AddPending(const storage::Reader& reader, QueueId queue, size_t top_groups,
                  QueueSummary* summary) {
  GroupCounts groups;
  Status s = storage::ScanPendingUnordered(reader, queue, [&](const PendingRecord& record) {
    ++summary->pending;
    if (const auto lane = summary->lanes.find(record.lane); lane != summary->lanes.end()) {
      ++lane->second;
    } else if (summary->lanes.size() < kMaxSummaryLanes) {
      summary->lanes.emplace(record.lane, 1);
    } else {
      ++summary->other_lanes;
    }
    groups.Add(record.group);
    // Not the first in hand-out order: a key that was moved to another lane keeps its added_at.
    summary->oldest_added_at_us =
        std::min(record.added_at_us, summary->oldest_added_at_us.value_or(record.added_at_us));
    return true;
  });
  summary->groups = groups.groups();
  summary->group_error = groups.error();
  summary->top_groups = groups.Top(top_groups);
  return s;
}

Status AddDelayed(const storage::Reader& reader, QueueId queue, QueueSummary* summary) {
  return storage::ScanDelayed(reader, queue, [summary](const DelayedRecord& record) {
    ++summary->delayed;
    if (!summary->next_ready_at_us) summary->next_ready_at_us = record.ready_at_us;
    return true;
  });
}

Status AddFailures(const storage::Reader& reader, QueueId queue, size_t top_failing,
                   QueueSummary* summary) {
  TopFailing top(top_failing);
  Status s = storage::ScanFailures(reader, queue, [&](const FailureRecord& record) {
    ++summary->failing;
    top.Offer(record);
    return true;
  });
  summary->top_failing = std::move(top).Take();
  if (!s.ok()) return s;
  return storage::ScanQuarantine(reader, queue, [summary](const QuarantineRecord&) {
    ++summary->quarantined;
    return true;
  });
}

Status AddCursors(const storage::Reader& reader, QueueId queue, QueueSummary* summary) {
  return storage::ScanCursors(reader, queue, [summary](const CursorRecord& record) {
    if (summary->cursors.size() < kMaxSummaryCursors) {
      summary->cursors.emplace(record.name, record.value.size());
    } else {
      ++summary->other_cursors;
    }
    return true;
  });
}

Status AddState(const storage::Reader& reader, QueueId queue, QueueSummary* summary) {
  storage::QueueStateRecord record;
  std::string value;
  Status s = storage::GetQueueState(reader, queue, &value, &record);
  // A queue that nothing was ever added to has none.
  if (s.code() == StatusCode::kNotFound) return Status::Ok();
  if (!s.ok()) return s;
  summary->paused = record.paused;
  summary->shards = record.shards;
  if (record.paused && record.paused_until_us != 0) {
    summary->paused_until_us = record.paused_until_us;
  }
  return s;
}

}  // namespace

Status StoreView::Summarize(std::string_view queue, const SummaryOptions& options,
                            QueueSummary* summary) const {
  QueueId id = 0;
  if (Status s = rep_->IdOf(queue, &id); !s.ok()) return s;
  *summary = {};
  summary->name = queue;
  const storage::Reader& reader = *rep_->reader;
  if (Status s = AddState(reader, id, summary); !s.ok()) return s;
  if (Status s = AddPending(reader, id, options.top_groups, summary); !s.ok()) return s;
  if (Status s = AddDelayed(reader, id, summary); !s.ok()) return s;
  if (Status s = AddFailures(reader, id, options.top_failing, summary); !s.ok()) return s;
  return AddCursors(reader, id, summary);
}

}  // namespace wq
