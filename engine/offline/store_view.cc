#include "wq/store_view.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/resources.h"
#include "engine/offline/entry_records.h"
#include "engine/offline/store_view_impl.h"
#include "engine/state/group_table.h"
#include "storage/open.h"
#include "storage/owner.h"
#include "storage/records.h"
#include "storage/row_rules.h"
#include "storage/store_directory.h"
#include "wq/keys.h"

namespace wq {

using storage::DelayedRecord;
using storage::FailureRecord;
using storage::PendingRecord;
using storage::QuarantineRecord;
using storage::QueueId;

namespace {

// NotFound is no error: the record does not exist.
bool IsError(const Status& status) {
  return !status.ok() && status.code() != StatusCode::kNotFound;
}

// 0: the queue never had shards.
Status ShardsOf(const storage::Reader& reader, QueueId queue, uint32_t* shards) {
  storage::QueueStateRecord record;
  std::string value;
  Status s = storage::GetQueueState(reader, queue, &value, &record);
  *shards = s.ok() ? record.shards : 0;
  return s.code() == StatusCode::kNotFound ? Status::Ok() : s;
}

std::vector<std::pair<std::string, uint64_t>> FamilyBytes(const storage::Reader& reader) {
  std::vector<std::pair<std::string, uint64_t>> bytes;
  bytes.reserve(storage::kFamilyCount);
  for (int i = 0; i < storage::kFamilyCount; ++i) {
    bytes.emplace_back(storage::kFamilyNames[i],
                       reader.FamilyBytes(static_cast<storage::Family>(i)));
  }
  return bytes;
}

void SetShard(uint32_t shards, Entry* entry) {
  if (shards > 0 && shards <= kMaxShards && entry->state != EntryState::kFailing) {
    entry->shard = ShardOf(entry->group.empty() ? entry->key : entry->group, shards);
  }
}

// Finds the entries of one key, at most one per state.
Status FindOne(const storage::Reader& reader, QueueId id, const std::string& key,
               std::vector<Entry>* entries) {
  std::optional<FailureInfo> failures;
  std::string value;
  FailureRecord failure;
  Status s = storage::GetFailures(reader, id, key, &value, &failure);
  if (IsError(s)) return s;
  if (s.ok()) failures = ToInfo(failure);

  const auto append = [&](Entry entry) -> Entry* {
    entry.key = key;
    entry.failures = failures;
    return &entries->emplace_back(std::move(entry));
  };
  PendingRecord pending;
  s = storage::FindPending(reader, id, key, &value, &pending);
  if (IsError(s)) return s;
  if (s.ok()) Fill(pending, append({}));
  // Delayed records are in the order of their times: finding a key takes a scan.
  s = storage::ScanDelayed(reader, id, [&](const DelayedRecord& record) {
    if (record.key != key) return true;
    Fill(record, append({}));
    return false;
  });
  if (!s.ok()) return s;
  if (entries->empty() && failures) append({})->state = EntryState::kFailing;
  QuarantineRecord quarantine;
  s = storage::GetQuarantine(reader, id, key, &value, &quarantine);
  if (IsError(s)) return s;
  if (s.ok()) Fill(quarantine, append({}));
  return Status::Ok();
}

// Keys with only a failure count are found by erasing the pending and delayed keys from the failing
// ones. How many bytes of failing keys are in memory at a time; more of them cost more scans.
constexpr size_t kFailingChunkBytes = size_t{8} << 20;

// One walk over the entries of a queue, in the order of StoreView::ForEachEntry. Bounded memory,
// whatever the number of keys. For one Run.
class EntryWalk {
 public:
  // All are borrowed.
  EntryWalk(const storage::Reader& reader, storage::QueueId queue, const StoreView::Visitor& visit)
      : reader_(reader), queue_(queue), visit_(visit) {}

  Status Run(EntryStates states);

 private:
  // Visits what `scan` scans: pending or delayed records.
  template <typename Scan>
  Status VisitJoined(const Scan& scan);
  Status VisitFailingOnly();
  Status VisitQuarantined();
  Status VisitChunk(std::unordered_set<std::string> chunk);
  bool JoinAndVisit(std::string_view key);

  const storage::Reader& reader_;
  const storage::QueueId queue_;
  const StoreView::Visitor& visit_;
  bool join_failures_ = false;
  bool stopped_ = false;  // The visitor returned false.
  Status join_status_;    // Of the look-ups during a scan.
  Entry entry_;           // Reused: a row costs no allocation.
  std::string value_;
};

template <typename Scan>
Status EntryWalk::VisitJoined(const Scan& scan) {
  entry_ = {};
  Status s = scan(reader_, queue_, [this](const auto& record) {
    Fill(record, &entry_);
    return JoinAndVisit(record.key);
  });
  return s.ok() ? join_status_ : s;
}

Status EntryWalk::Run(EntryStates states) {
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
  const auto wanted = [&](EntryState state) { return !stopped_ && states.Has(state); };
  Status s;
  if (wanted(EntryState::kPending)) s = VisitJoined(storage::ScanPending);
  if (s.ok() && wanted(EntryState::kDelayed)) s = VisitJoined(storage::ScanDelayed);
  if (s.ok() && any_failures && wanted(EntryState::kFailing)) s = VisitFailingOnly();
  if (s.ok() && wanted(EntryState::kQuarantined)) s = VisitQuarantined();
  return s;
}

Status EntryWalk::VisitQuarantined() {
  entry_ = {};
  return storage::ScanQuarantine(reader_, queue_, [this](const QuarantineRecord& record) {
    entry_.key.assign(record.failures.key);
    Fill(record, &entry_);
    stopped_ = !visit_(entry_);
    return !stopped_;
  });
}

// Fills in `key` and its failures, and visits entry_. False ends the scan.
bool EntryWalk::JoinAndVisit(std::string_view key) {
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

Status EntryWalk::VisitFailingOnly() {
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

// Visits the failing keys in `chunk` that are neither pending nor delayed.
Status EntryWalk::VisitChunk(std::unordered_set<std::string> chunk) {
  std::string key;
  const auto erase_known = [&](const auto& record) {
    key.assign(record.key);
    chunk.erase(key);
    return !chunk.empty();
  };
  if (chunk.empty()) return Status::Ok();
  if (Status s = storage::ScanPendingUnordered(reader_, queue_, erase_known); !s.ok()) return s;
  if (chunk.empty()) return Status::Ok();
  if (Status s = storage::ScanDelayed(reader_, queue_, erase_known); !s.ok()) return s;

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

}  // namespace

Status StoreView::Impl::IdOf(std::string_view queue, QueueId* id) const {
  const auto it = queues.find(queue);
  if (it == queues.end()) return Status::NotFound("no queue \"" + EscapeKey(queue) + "\"");
  *id = it->second.id;
  return Status::Ok();
}

StoreView::StoreView(std::unique_ptr<Impl> rep) : impl_(std::move(rep)) {}
StoreView::~StoreView() = default;

Status StoreView::Open(const std::string& dir, std::unique_ptr<StoreView>* view) {
  return WithResources(dir, [&]() -> Status { return OpenStore(dir, view); });
}

Status StoreView::OpenStore(const std::string& dir, std::unique_ptr<StoreView>* view) {
  auto rep = std::make_unique<Impl>();
  if (Status s = storage::OpenReader(dir, &rep->reader); !s.ok()) return s;

  storage::StoreRecord store;  // OpenReader has compared it with FORMAT.
  if (Status s = storage::GetStore(*rep->reader, &store); !s.ok()) return storage::Refused(dir, s);
  Status s = storage::ScanQueues(*rep->reader, [&](const storage::QueueRecord& record) {
    rep->queues.emplace(record.name, record);
    return true;
  });
  if (!s.ok()) return storage::Refused(dir, s);

  std::optional<ReplicaPosition> replica;
  storage::ReplicationRecord position;
  s = storage::GetReplication(*rep->reader, &position);
  if (IsError(s)) return storage::Refused(dir, s);
  if (s.ok()) {
    replica = {.epoch = position.epoch, .sequence = position.sequence, .seeded = position.seeded};
  }
  const storage::OwnerInfo owner = storage::ReadOwner(dir);
  int64_t snapshot_at_us = 0;
  s = storage::ReadSnapshotTime(dir, &snapshot_at_us);
  if (IsError(s)) return storage::Refused(dir, s);
  const storage::StoreFilesInfo files = storage::InspectStoreFiles(dir);
  rep->info = {.dir = dir,
               .uuid = store.uuid,
               .format_version = store.format_version,
               .created_at_us = store.created_at_us,
               .snapshot_at_us = snapshot_at_us,
               .owner_pid = owner.pid,
               .owner_alive = owner.alive,
               .owner_closed = owner.closed,
               .opened_at_us = owner.pid == 0 ? 0 : files.opened_at_us,
               .written_at_us = files.written_at_us,
               .wal_bytes = files.wal_bytes,
               .process_log_bytes = files.process_log_bytes,
               .replica = replica,
               .family_bytes = FamilyBytes(*rep->reader)};
  view->reset(new StoreView(std::move(rep)));
  return Status::Ok();
}

const StoreInfo& StoreView::info() const { return impl_->info; }
std::string StoreView::DescribeOwner() const { return storage::DescribeOwner(impl_->info.dir); }

std::vector<std::string> StoreView::QueueNames() const {
  std::vector<std::string> names;
  names.reserve(impl_->queues.size());
  for (const auto& [name, record] : impl_->queues) names.push_back(name);
  return names;
}

Status StoreView::ForEachEntry(std::string_view queue, const Visitor& visit) const {
  return ForEachEntry(queue, EntryStates::All(), visit);
}

Status StoreView::ForEachEntry(std::string_view queue, EntryStates states,
                               const Visitor& visit) const {
  QueueId id = 0;
  if (Status s = impl_->IdOf(queue, &id); !s.ok()) return s;
  uint32_t shards = 0;
  if (Status s = ShardsOf(*impl_->reader, id, &shards); !s.ok()) return impl_->Result(s);
  if (shards == 0) return impl_->Result(EntryWalk(*impl_->reader, id, visit).Run(states));
  const Visitor with_shard = [&visit, shards](const Entry& entry) {
    Entry placed = entry;
    SetShard(shards, &placed);
    return visit(placed);
  };
  return impl_->Result(EntryWalk(*impl_->reader, id, with_shard).Run(states));
}

Status ScanLivingSources(const storage::Reader& reader, QueueId queue,
                         const std::function<bool(const storage::SourceRecord&)>& source,
                         const std::function<bool(const storage::ObjectRecord&)>& object) {
  storage::SourceId last = 0;
  bool removed = false;
  Status broken;
  Status s = storage::ScanSources(
      reader, queue,
      [&](const storage::SourceRecord& record) {
        last = record.id;
        removed = record.name.empty();
        return removed || source(record);
      },
      [&](const storage::ObjectRecord& record) {
        if (record.source != last) {
          broken = Status::Corruption(
              storage::DescribeRow("object", record.object, storage::RowRule::kObjectOfNoSource));
        }
        return broken.ok() && (removed || object(record));
      });
  return s.ok() ? broken : s;
}

Status StoreView::ForEachSource(std::string_view queue,
                                const std::function<bool(const SourceRow&)>& source,
                                const std::function<bool(const ObjectRow&)>& object) const {
  QueueId id = 0;
  if (Status s = impl_->IdOf(queue, &id); !s.ok()) return s;
  std::string name;
  return impl_->Result(ScanLivingSources(
      *impl_->reader, id,
      [&](const storage::SourceRecord& record) {
        name = record.name;
        return source({name, record.fingerprint, record.scope});
      },
      [&](const storage::ObjectRecord& record) {
        return object({name, std::string(record.object), std::string(record.version),
                       std::string(record.keys), std::string(record.tombstone), record.fingerprint,
                       record.scope});
      }));
}

Status StoreView::ForEachFailing(std::string_view queue,
                                 const std::function<bool(const FailingKey&)>& visit) const {
  QueueId id = 0;
  if (Status s = impl_->IdOf(queue, &id); !s.ok()) return s;
  return impl_->Result(
      storage::ScanFailures(*impl_->reader, id, [&visit](const FailureRecord& record) {
        return visit({std::string(record.key), ToInfo(record)});
      }));
}

Status StoreView::Find(std::string_view queue, std::string_view key,
                       std::vector<Entry>* entries) const {
  entries->clear();
  QueueId id = 0;
  if (Status s = impl_->IdOf(queue, &id); !s.ok()) return s;
  const storage::Reader& reader = *impl_->reader;
  uint32_t shards = 0;
  Status s = ShardsOf(reader, id, &shards);
  if (s.ok()) s = FindOne(reader, id, std::string(key), entries);
  for (Entry& entry : *entries) SetShard(shards, &entry);
  if (!s.ok() || !entries->empty()) return impl_->Result(s);
  return Status::NotFound("queue \"" + std::string(queue) + "\" holds nothing of key \"" +
                          EscapeKey(key) + "\"");
}

Status StoreView::PositionOf(std::string_view queue, const Entry& entry, uint64_t max_counted,
                             KeyPosition* position) const {
  QueueId id = 0;
  if (Status s = impl_->IdOf(queue, &id); !s.ok()) return s;
  return impl_->Result(storage::CountPendingBefore(*impl_->reader, id, entry.lane, entry.sequence,
                                                   max_counted, &position->at_least,
                                                   &position->at_most));
}

Status StoreView::Info(std::string_view queue, QueueInfo* info) const {
  QueueId id = 0;
  if (Status s = impl_->IdOf(queue, &id); !s.ok()) return s;
  *info = {};
  info->name = queue;
  info->created_at_us = impl_->queues.find(queue)->second.created_at_us;
  storage::QueueStateRecord record;
  std::string value;
  Status s = storage::GetQueueState(*impl_->reader, id, &value, &record);
  if (s.code() == StatusCode::kNotFound) return Status::Ok();  // Nothing was ever added to it.
  if (!s.ok()) return impl_->Result(s);
  info->sequence_high_water = record.sequence_high_water;
  Fill(record, info);
  return s;
}

Status StoreView::Cursors(std::string_view queue,
                          std::map<std::string, std::string>* cursors) const {
  QueueId id = 0;
  if (Status s = impl_->IdOf(queue, &id); !s.ok()) return s;
  cursors->clear();
  return impl_->Result(
      storage::ScanCursors(*impl_->reader, id, [cursors](const storage::CursorRecord& record) {
        cursors->emplace(record.name, record.value);
        return true;
      }));
}

}  // namespace wq
