#include "wq/store_view.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "base/resources.h"
#include "engine/offline/entry_records.h"
#include "engine/offline/entry_walk.h"
#include "engine/offline/store_view_impl.h"
#include "engine/state/group_table.h"
#include "storage/open.h"
#include "storage/owner.h"
#include "storage/records.h"
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

// Appends the entries of one key. `delayed` is its delayed entry, if it has one.
Status FindOne(const storage::Reader& reader, QueueId id, const std::string& key,
               const std::optional<Entry>& delayed, std::vector<Entry>* entries) {
  std::optional<FailureInfo> failures;
  std::string value;
  FailureRecord failure;
  Status s = storage::GetFailures(reader, id, key, &value, &failure);
  if (IsError(s)) return s;
  if (s.ok()) failures = ToInfo(failure);

  const size_t before = entries->size();
  const auto append = [&](Entry entry) -> Entry* {
    entry.key = key;
    entry.failures = failures;
    return &entries->emplace_back(std::move(entry));
  };
  PendingRecord pending;
  s = storage::FindPending(reader, id, key, &value, &pending);
  if (IsError(s)) return s;
  if (s.ok()) Fill(pending, append({}));
  if (delayed) append(*delayed);
  if (entries->size() == before && failures) append({})->state = EntryState::kFailing;
  QuarantineRecord quarantine;
  s = storage::GetQuarantine(reader, id, key, &value, &quarantine);
  if (IsError(s)) return s;
  if (s.ok()) Fill(quarantine, append({}));
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

Status StoreView::ForEachQuarantined(std::string_view queue, const Visitor& visit) const {
  return ForEachEntry(queue, EntryStates(EntryState::kQuarantined), visit);
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
  if (Status s = FindAll(queue, {std::string(key)}, entries); !s.ok()) return s;
  if (!entries->empty()) return Status::Ok();
  return Status::NotFound("queue \"" + std::string(queue) + "\" holds nothing of key \"" +
                          EscapeKey(key) + "\"");
}

Status StoreView::FindAll(std::string_view queue, const std::vector<std::string>& keys,
                          std::vector<Entry>* entries) const {
  entries->clear();
  QueueId id = 0;
  if (Status s = impl_->IdOf(queue, &id); !s.ok() || keys.empty()) return s;
  const storage::Reader& reader = *impl_->reader;
  uint32_t shards = 0;
  if (Status s = ShardsOf(reader, id, &shards); !s.ok()) return impl_->Result(s);

  // Delayed records are in the order of their times: finding a key takes a scan.
  std::unordered_map<std::string_view, std::optional<Entry>> delayed;
  for (const std::string& key : keys) delayed.emplace(key, std::nullopt);
  size_t left = delayed.size();
  Status s = storage::ScanDelayed(reader, id, [&](const DelayedRecord& record) {
    const auto it = delayed.find(record.key);
    if (it == delayed.end()) return true;
    Fill(record, &it->second.emplace());
    return --left > 0;
  });
  for (size_t i = 0; s.ok() && i < keys.size(); ++i) {
    s = FindOne(reader, id, keys[i], delayed[keys[i]], entries);
  }
  for (Entry& entry : *entries) SetShard(shards, &entry);
  return impl_->Result(s);
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
  info->limiter_state = record.limiter_state;
  info->paused = record.paused;
  info->paused_until_us = record.paused_until_us;
  info->pause_us = record.pause_us;
  info->paused_at_us = record.paused_at_us;
  info->shards = record.shards;
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
