#include "wq/store_view.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "storage/owner.h"
#include "storage/records.h"
#include "storage/rocksdb_storage.h"
#include "wq/keys.h"

namespace wq {
namespace {

using storage::DelayedRecord;
using storage::FailureRecord;
using storage::PendingRecord;
using storage::QueueId;

// Keys with only a failure count are found by crossing off, from so many bytes of failing keys at a
// time, those that are pending or delayed. It bounds the memory; more failing keys cost more
// passes.
constexpr size_t kFailingChunkBytes = size_t{8} << 20;

FailureInfo ToInfo(const FailureRecord& record) {
  return {record.count, record.first_at_us, record.last_at_us, std::string(record.last_error)};
}

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

// One walk over the entries of a queue: what ForEachEntry needs to keep between its parts.
class EntryWalk {
 public:
  EntryWalk(const storage::Reader& reader, QueueId queue, const StoreView::Visitor& visit)
      : reader_(reader), queue_(queue), visit_(visit) {}

  Status Run() {
    bool any_failures = false;
    if (Status s = storage::ScanFailures(reader_, queue_,
                                         [&](const FailureRecord&) {
                                           any_failures = true;
                                           return false;
                                         });
        !s.ok()) {
      return s;
    }
    join_failures_ = any_failures;
    if (Status s = VisitPending(); !s.ok() || stopped_) return s;
    if (Status s = VisitDelayed(); !s.ok() || stopped_) return s;
    return any_failures ? VisitFailingOnly() : Status::Ok();
  }

 private:
  Status VisitPending() {
    entry_ = {};
    entry_.state = EntryState::kPending;
    Status s = storage::ScanPending(reader_, queue_, [this](const PendingRecord& record) {
      entry_.lane = record.lane;
      entry_.sequence = record.sequence;
      entry_.added_at_us = record.added_at_us;
      return JoinAndVisit(record.key);
    });
    return s.ok() ? join_status_ : s;
  }

  Status VisitDelayed() {
    entry_ = {};
    entry_.state = EntryState::kDelayed;
    Status s = storage::ScanDelayed(reader_, queue_, [this](const DelayedRecord& record) {
      entry_.lane = record.lane;
      entry_.added_at_us = record.added_at_us;
      entry_.ready_at_us = record.ready_at_us;
      entry_.delay_us = record.delay_us;
      return JoinAndVisit(record.key);
    });
    return s.ok() ? join_status_ : s;
  }

  // Visits entry_, with `key` and its failures filled in. False ends the scan.
  bool JoinAndVisit(std::string_view key) {
    entry_.key.assign(key);
    entry_.failures.reset();
    if (join_failures_) {
      FailureRecord record;
      const Status s = storage::GetFailures(reader_, queue_, key, &value_, &record);
      if (s.ok()) {
        entry_.failures = ToInfo(record);
      } else if (s.code() != StatusCode::kNotFound) {
        join_status_ = s;
        return false;
      }
    }
    stopped_ = !visit_(entry_);
    return !stopped_;
  }

  Status VisitFailingOnly() {
    std::unordered_set<std::string> chunk;
    size_t chunk_bytes = 0;
    Status chunk_status;
    Status s = storage::ScanFailures(reader_, queue_, [&](const FailureRecord& record) {
      chunk_bytes += record.key.size() + sizeof(std::string) + 2 * sizeof(void*);
      chunk.emplace(record.key);
      if (chunk_bytes < kFailingChunkBytes) return true;
      chunk_status = VisitChunk(std::move(chunk));
      chunk = {};
      chunk_bytes = 0;
      return chunk_status.ok() && !stopped_;
    });
    if (!s.ok() || !chunk_status.ok() || stopped_) return s.ok() ? chunk_status : s;
    return VisitChunk(std::move(chunk));
  }

  // Visits those of the failing keys in `chunk` that are neither pending nor delayed.
  Status VisitChunk(std::unordered_set<std::string> chunk) {
    std::string key;
    const auto cross_off = [&](const auto& record) {
      key.assign(record.key);
      chunk.erase(key);
      return !chunk.empty();
    };
    if (chunk.empty()) return Status::Ok();
    if (Status s = storage::ScanPendingUnordered(reader_, queue_, cross_off); !s.ok()) return s;
    if (chunk.empty()) return Status::Ok();
    if (Status s = storage::ScanDelayed(reader_, queue_, cross_off); !s.ok()) return s;

    std::vector<std::string> keys(std::make_move_iterator(chunk.begin()),
                                  std::make_move_iterator(chunk.end()));
    std::sort(keys.begin(), keys.end());
    entry_ = {};
    entry_.state = EntryState::kFailing;
    for (const std::string& failing : keys) {
      if (!JoinAndVisit(failing)) return join_status_;
    }
    return Status::Ok();
  }

  const storage::Reader& reader_;
  const QueueId queue_;
  const StoreView::Visitor& visit_;
  bool join_failures_ = false;
  bool stopped_ = false;  // The visitor said so.
  Status join_status_;    // Of the look-ups within a scan.
  Entry entry_;           // Reused, so that a row costs no allocation.
  std::string value_;
};

}  // namespace

struct StoreView::Rep {
  // NotFound names the queue.
  Status IdOf(std::string_view queue, QueueId* id) const {
    const auto it = queues.find(queue);
    if (it == queues.end()) return Status::NotFound("no queue \"" + EscapeKey(queue) + "\"");
    *id = it->second;
    return Status::Ok();
  }

  StoreInfo info;
  std::unique_ptr<storage::Reader> reader;
  std::map<std::string, QueueId, std::less<>> queues;
};

StoreView::StoreView(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
StoreView::~StoreView() = default;

Status StoreView::Open(const std::string& dir, std::unique_ptr<StoreView>* view) {
  auto rep = std::make_unique<Rep>();
  if (Status s = storage::OpenRocksdbReader(dir, &rep->reader); !s.ok()) return s;

  storage::StoreRecord store;
  if (Status s = storage::GetStore(*rep->reader, &store); !s.ok()) {
    // There is a store here, so its own record must be there too.
    if (s.code() == StatusCode::kNotFound)
      return Status::Corruption("the store's record is missing");
    return s;
  }
  Status s = storage::ScanQueues(*rep->reader, [&](const storage::QueueRecord& record) {
    rep->queues.emplace(record.name, record.id);
    return true;
  });
  if (!s.ok()) return s;

  const storage::OwnerInfo owner = storage::ReadOwner(dir);
  rep->info = {.dir = dir,
               .uuid = store.uuid,
               .format_version = store.format_version,
               .created_at_us = store.created_at_us,
               .owner_pid = owner.pid,
               .owner_alive = owner.alive};
  view->reset(new StoreView(std::move(rep)));
  return Status::Ok();
}

const StoreInfo& StoreView::info() const { return rep_->info; }

std::vector<std::string> StoreView::QueueNames() const {
  std::vector<std::string> names;
  names.reserve(rep_->queues.size());
  for (const auto& [name, id] : rep_->queues) names.push_back(name);
  return names;
}

Status StoreView::Summarize(std::string_view queue, const SummaryOptions& options,
                            QueueSummary* summary) const {
  QueueId id = 0;
  if (Status s = rep_->IdOf(queue, &id); !s.ok()) return s;
  *summary = {};
  summary->name = queue;

  Status s = storage::ScanPendingUnordered(*rep_->reader, id, [&](const PendingRecord& record) {
    ++summary->pending;
    ++summary->lanes[record.lane];
    // Not the first in hand-out order: a key that was moved to another lane keeps its added_at.
    summary->oldest_added_at_us =
        std::min(record.added_at_us, summary->oldest_added_at_us.value_or(record.added_at_us));
    return true;
  });
  if (!s.ok()) return s;

  s = storage::ScanDelayed(*rep_->reader, id, [&](const DelayedRecord& record) {
    ++summary->delayed;
    if (!summary->next_ready_at_us) summary->next_ready_at_us = record.ready_at_us;
    return true;
  });
  if (!s.ok()) return s;

  TopFailing top(options.top_failing);
  s = storage::ScanFailures(*rep_->reader, id, [&](const FailureRecord& record) {
    ++summary->failing;
    top.Offer(record);
    return true;
  });
  summary->top_failing = std::move(top).Take();
  return s;
}

Status StoreView::ForEachEntry(std::string_view queue, const Visitor& visit) const {
  QueueId id = 0;
  if (Status s = rep_->IdOf(queue, &id); !s.ok()) return s;
  return EntryWalk(*rep_->reader, id, visit).Run();
}

Status StoreView::Find(std::string_view queue, std::string_view key,
                       std::vector<Entry>* entries) const {
  QueueId id = 0;
  if (Status s = rep_->IdOf(queue, &id); !s.ok()) return s;
  entries->clear();

  std::optional<FailureInfo> failures;
  std::string value;
  FailureRecord failure;
  Status s = storage::GetFailures(*rep_->reader, id, key, &value, &failure);
  if (s.ok()) failures = ToInfo(failure);
  if (!s.ok() && s.code() != StatusCode::kNotFound) return s;

  const auto append = [&](EntryState state) -> Entry& {
    Entry& entry = entries->emplace_back();
    entry.key = key;
    entry.state = state;
    entry.failures = failures;
    return entry;
  };
  PendingRecord pending;
  s = storage::FindPending(*rep_->reader, id, key, &pending);
  if (s.ok()) {
    Entry& entry = append(EntryState::kPending);
    entry.lane = pending.lane;
    entry.sequence = pending.sequence;
    entry.added_at_us = pending.added_at_us;
  } else if (s.code() != StatusCode::kNotFound) {
    return s;
  }
  // Delayed records are ordered by time, so one key among them takes a scan.
  s = storage::ScanDelayed(*rep_->reader, id, [&](const DelayedRecord& record) {
    if (record.key != key) return true;
    Entry& entry = append(EntryState::kDelayed);
    entry.lane = record.lane;
    entry.added_at_us = record.added_at_us;
    entry.ready_at_us = record.ready_at_us;
    entry.delay_us = record.delay_us;
    return false;
  });
  if (!s.ok()) return s;
  if (entries->empty() && failures) append(EntryState::kFailing);
  if (entries->empty()) {
    return Status::NotFound("queue \"" + std::string(queue) + "\" holds nothing of key \"" +
                            EscapeKey(key) + "\"");
  }
  return Status::Ok();
}

}  // namespace wq
