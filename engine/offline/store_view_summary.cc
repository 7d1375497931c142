// StoreView::Summarize: counts in constant memory, over every record of a queue.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/offline/entry_records.h"
#include "engine/offline/store_view_impl.h"
#include "engine/order/lane_counts.h"
#include "engine/state/queue_state.h"
#include "storage/records.h"
#include "wq/clock.h"
#include "wq/store_view.h"

namespace wq {
namespace {

using storage::CursorRecord;
using storage::DelayedRecord;
using storage::FailureRecord;
using storage::PendingRecord;
using storage::QuarantineRecord;
using storage::QueueId;

// Most failures first; among equals the smaller key.
bool MoreFailing(const FailingKey& a, const FailingKey& b) {
  if (a.failures.count != b.failures.count) return a.failures.count > b.failures.count;
  return a.key < b.key;
}

// The `limit` keys with the most failures, in the memory of as many.
class MostFailing {
 public:
  explicit MostFailing(size_t limit) : limit_(limit) {}

  // In the order of keys: of those with one count, a later one never replaces an earlier one.
  void Offer(const FailureRecord& record) {
    if (limit_ == 0) return;
    if (heap_.size() == limit_) {
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
  // As its "less", MoreFailing keeps the last key on top: the next one to be replaced.
  std::vector<FailingKey> heap_;
};

// Counts groups: exactly up to kMaxSummaryGroups of them, and from there on by the algorithm of
// Misra and Gries ("Finding repeated elements", 1982): a key of a group that is not counted, when
// there is no room for one more group, lowers every count by one. So no count is too high, and none
// is too low by more than error_, which is at most one kMaxSummaryGroups-th of all keys.
class GroupCounts {
 public:
  void Add(std::string_view group) {
    if (group.empty()) return;
    // Neighbours are often of one group.
    if (last_ != nullptr && last_->first == group) {
      ++last_->second;
      return;
    }
    if (const auto it = counts_.find(group); it != counts_.end()) {
      ++it->second;
      last_ = &*it;
    } else if (counts_.size() < kMaxSummaryGroups) {
      last_ = &*counts_.emplace(group, 1).first;
    } else {
      LowerAll();
    }
  }

  GroupDepths Depths(size_t limit) const {
    return {error_ == 0 ? counts_.size() : kMaxSummaryGroups + 1, error_, Top(limit)};
  }

 private:
  using Count = std::pair<const std::string, uint64_t>;

  std::vector<GroupDepth> Top(size_t limit) const {
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

  // Costs as much as the Adds that it undoes, so an Add is O(1) on average.
  void LowerAll() {
    ++error_;
    last_ = nullptr;
    for (auto it = counts_.begin(); it != counts_.end();) {
      it = --it->second == 0 ? counts_.erase(it) : std::next(it);
    }
  }

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>> counts_;
  Count* last_ = nullptr;  // Into counts_, whose elements do not move.
  uint64_t error_ = 0;
};

std::string_view NamespaceOf(std::string_view key) {
  const size_t slash = key.find('/');
  return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
}

// From then_us to now_us, which may be negative; 0 if the difference overflows.
int64_t Between(int64_t then_us, int64_t now_us) {
  int64_t us = 0;
  return __builtin_sub_overflow(now_us, then_us, &us) ? 0 : us;
}

constexpr size_t kMaxLanes = 10'000;  // That are counted each.

Status AddPending(const storage::Reader& reader, QueueId queue, const SummaryOptions& options,
                  int64_t now_us, QueueSummary* summary) {
  GroupCounts groups;
  GroupCounts namespaces;
  std::map<Lane, size_t> lanes;
  Status s = storage::ScanPendingUnordered(reader, queue, [&](const PendingRecord& record) {
    ++summary->pending;
    if (const auto lane = lanes.find(record.lane); lane != lanes.end()) {
      ++lane->second;
    } else if (lanes.size() < kMaxLanes) {
      lanes.emplace(record.lane, 1);
    } else {
      ++summary->other_lanes;
    }
    groups.Add(record.group);
    namespaces.Add(NamespaceOf(record.key));
    summary->ages.Add(kAgeBoundsUs, Between(record.added_at_us, now_us));
    // Not that of the first key: a key that was moved to another lane keeps its added_at.
    summary->oldest_added_at_us =
        std::min(record.added_at_us, summary->oldest_added_at_us.value_or(record.added_at_us));
    return true;
  });
  for (const auto& lane : MostKeys({lanes.begin(), lanes.end()}, &summary->other_lanes)) {
    summary->lanes.insert(lane);
  }
  summary->groups = groups.Depths(options.top_groups);
  summary->namespaces = namespaces.Depths(options.top_groups);
  return s;
}

Status AddDelayed(const storage::Reader& reader, QueueId queue, int64_t now_us,
                  QueueSummary* summary) {
  return storage::ScanDelayed(reader, queue, [summary, now_us](const DelayedRecord& record) {
    ++summary->delayed;
    summary->due.Add(kDueBoundsUs, Between(now_us, record.ready_at_us));
    summary->delays.Add(kDelayBoundsUs, record.delay_us);
    if (!summary->next_ready_at_us) summary->next_ready_at_us = record.ready_at_us;
    return true;
  });
}

Status AddFailures(const storage::Reader& reader, QueueId queue, size_t top_failing,
                   QueueSummary* summary) {
  MostFailing top(top_failing);
  Status s = storage::ScanFailures(reader, queue, [&](const FailureRecord& record) {
    ++summary->failing;
    summary->failure_counts.Add(kFailureBounds, record.count);
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

Status AddSources(const storage::Reader& reader, QueueId queue, QueueSummary* summary) {
  uint64_t* objects = nullptr;
  return ScanLivingSources(
      reader, queue,
      [&](const storage::SourceRecord& record) {
        objects = &summary->sources[std::string(record.name)];
        return true;
      },
      [&objects](const storage::ObjectRecord&) { return ++*objects > 0; });
}

Status AddState(const storage::Reader& reader, QueueId queue, int64_t now_us, bool owned,
                QueueSummary* summary) {
  storage::QueueStateRecord record;
  std::string value;
  Status s = storage::GetQueueState(reader, queue, &value, &record);
  // A queue has no state before its first Add.
  if (s.code() == StatusCode::kNotFound) return Status::Ok();
  if (!s.ok()) return s;
  summary->paused = record.paused;
  summary->shards = record.shards;
  if (record.paused && record.paused_until_us != 0) {
    const int64_t end_us = std::min(record.paused_until_us, QueueState::PauseEndUs(record, now_us));
    summary->paused_until_us = end_us;
    // An owner, whose clock may have been set since, removes a pause from the record when it ends.
    summary->paused = owned || end_us > now_us;
  }
  return s;
}

}  // namespace

Status StoreView::Summarize(std::string_view queue, const SummaryOptions& options,
                            QueueSummary* summary) const {
  QueueId id = 0;
  if (Status s = impl_->IdOf(queue, &id); !s.ok()) return s;
  *summary = {};
  summary->name = queue;
  const storage::Reader& reader = *impl_->reader;
  const int64_t now_us = options.now_us.value_or(Clock::System()->WallUs());
  Status status = AddState(reader, id, now_us, impl_->info.owner_alive, summary);
  if (status.ok()) status = AddPending(reader, id, options, now_us, summary);
  if (status.ok()) status = AddDelayed(reader, id, now_us, summary);
  if (status.ok()) status = AddFailures(reader, id, options.top_failing, summary);
  if (status.ok()) status = AddCursors(reader, id, summary);
  if (status.ok()) status = AddSources(reader, id, summary);
  return impl_->Result(status);
}

}  // namespace wq
