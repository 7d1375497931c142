#include "wq/internal/import.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/names.h"
#include "engine/offline/entry_records.h"
#include "engine/offline/import_check.h"
#include "engine/offline/imported_rows.h"
#include "storage/open.h"
#include "storage/queue_records.h"
#include "storage/records.h"
#include "storage/row_rules.h"
#include "storage/store_directory.h"
#include "wq/clock.h"
#include "wq/keys.h"
#include "wq/source.h"

namespace wq {
namespace {

using storage::QueueId;
using storage::RowPlace;

constexpr size_t kBatchBytes = size_t{1} << 20;

}  // namespace

struct Importer::Impl {
  // A queue that is being imported.
  struct Target {
    QueueInfo info;
    bool has_info = false;            // SetQueue was called.
    QueueId id = 0;                   // New: the rows are stored beside those of other queues.
    std::optional<QueueId> replaced;  // The id of the queue that has the name now.
    uint64_t next_sequence = 1;       // Above all imported sequences.
    bool renumbers = false;           // Its own sequences leave no room for others.
    std::map<std::string, storage::SourceId, std::less<>> sources = {};
  };

  Status Load(const std::string& dir);
  Status ReadQueues(const storage::Reader& from);
  Status RemoveLeftovers();
  Status TargetOf(std::string_view name, Target** target);
  Status NewId(QueueId* id);
  Status CheckFree(std::string_view name, QueueId id) const;
  Status KeepState(QueueId id, QueueInfo* info) const;
  Status FindRow(QueueId queue, RowPlace place, std::string_view key, bool* found);
  Status Add(Target* target, const Entry& entry);
  Status WriteIfLarge();
  Status Write(bool sync);
  Status EraseQueue(const std::string& name, QueueId id);

  ImportOptions options;
  std::unique_ptr<storage::Storage> storage;           // nullptr: a dry run.
  std::unique_ptr<storage::Reader> reader;             // Of a dry run, if it has a store.
  std::map<std::string, QueueId, std::less<>> queues;  // Of the store.
  QueueId last_id = 0;
  std::map<std::string, Target, std::less<>> targets;
  storage::MutationBatch batch;
  ImportedRows rows{[this](QueueId queue, RowPlace place, std::string_view key, bool* found) {
    return FindRow(queue, place, key, found);
  }};
  ImportCounts counts;
  bool finished = false;  // The imported queues have their names, or may have.
};

Status Importer::Impl::Load(const std::string& dir) {
  if (options.dry_run) {
    Status s = storage::OpenReader(dir, &reader);
    if (s.code() == StatusCode::kNotFound && options.create_if_missing) return {};
    return s.ok() ? ReadQueues(*reader) : s;
  }
  Status s = storage::OpenStorage(
      dir, {.create_if_missing = options.create_if_missing, .now_us = Clock::System()->WallUs()},
      &storage);
  if (s.ok()) s = ReadQueues(*storage);
  return s.ok() ? RemoveLeftovers() : s;
}

// Corruption if two queues have the same id: removing one of them would remove the rows of both.
Status Importer::Impl::ReadQueues(const storage::Reader& from) {
  Status s = storage::ScanQueues(from, [this](const storage::QueueRecord& record) {
    queues.emplace(record.name, record.id);
    last_id = std::max(last_id, record.id);
    return true;
  });
  if (!s.ok()) return s;
  std::map<QueueId, std::string_view> names;
  for (const auto& [name, id] : queues) {
    const auto [other, is_new] = names.emplace(id, name);
    if (is_new) continue;
    return Status::Corruption("queue '" + EscapeKey(name) + "' " +
                              std::string(TextOf(storage::RowRule::kQueueIdTwice)) + " " +
                              EscapeKey(other->second));
  }
  return {};
}

// Removes queues of an unfinished import, and queues that were replaced and not yet erased.
Status Importer::Impl::RemoveLeftovers() {
  for (auto it = queues.begin(); it != queues.end();) {
    if (!storage::IsOfImport(it->first)) {
      ++it;
      continue;
    }
    if (Status s = EraseQueue(it->first, it->second); !s.ok()) return s;
    it = queues.erase(it);
  }
  return {};
}

Status Importer::Impl::EraseQueue(const std::string& name, QueueId id) {
  if (Status s = storage::EraseQueueRecords(id, storage.get()); !s.ok()) return s;
  storage::EraseQueue(name, id, &batch);
  return Write(false);
}

Status Importer::Impl::TargetOf(std::string_view name, Target** target) {
  if (const auto it = targets.find(name); it != targets.end()) {
    *target = &it->second;
    return {};
  }
  Target made;
  made.info.name = name;
  made.info.created_at_us = Clock::System()->WallUs();
  if (Status s = CheckImported(made.info); !s.ok()) return s;
  if (const auto there = queues.find(name); there != queues.end()) {
    if (Status s = CheckFree(name, there->second); !s.ok()) return s;
    made.replaced = there->second;
    if (!options.replace) {  // It stays what it is, with these keys.
      if (Status s = KeepState(there->second, &made.info); !s.ok()) return s;
    }
  }
  if (Status s = NewId(&made.id); !s.ok()) return s;
  if (storage != nullptr) {
    // Before any row, in a batch of its own: it reserves the id, and the rows can be found and
    // removed.
    storage::PutQueue({.name = made.info.name + std::string(storage::kLoadingSuffix),
                       .id = made.id,
                       .created_at_us = made.info.created_at_us},
                      &batch);
    if (Status s = Write(false); !s.ok()) return s;
  }
  ++counts.queues;
  *target = &targets.emplace(name, std::move(made)).first->second;
  return {};
}

// An id that no queue and no row has: rows that have lost their queue's record keep their id.
Status Importer::Impl::NewId(QueueId* id) {
  bool is_free = true;
  do {
    *id = ++last_id;
    if (storage == nullptr) return {};
    if (Status s = storage::HasNoRecords(*storage, *id, &is_free); !s.ok()) return s;
  } while (!is_free);
  return {};
}

Status Importer::Impl::CheckFree(std::string_view name, QueueId id) const {
  if (options.replace) return {};
  const storage::Reader& from = storage != nullptr ? *storage : *reader;
  bool empty = true;
  if (Status s = storage::HasNoRecords(from, id, &empty); !s.ok()) return s;
  if (empty) return {};
  return Status::AlreadyExists("queue \"" + EscapeKey(name) + "\" is there, and is not empty");
}

// Sets what a queue has beside rows.
Status Importer::Impl::KeepState(QueueId id, QueueInfo* info) const {
  const storage::Reader& from = storage != nullptr ? *storage : *reader;
  std::string value;
  storage::QueueStateRecord state;
  Status s = storage::GetQueueState(from, id, &value, &state);
  Fill(state, info);
  return s.code() == StatusCode::kNotFound ? Status::Ok() : s;
}

// Whether the imported queue has this row. A dry run has no rows, and takes keys with equal hashes
// for the same key.
Status Importer::Impl::FindRow(QueueId queue, RowPlace place, std::string_view key, bool* found) {
  *found = true;
  if (storage == nullptr) return {};
  if (Status s = Write(false); !s.ok()) return s;
  std::string value;
  Status s;
  switch (place) {
    case RowPlace::kPending: {
      storage::PendingRecord record;
      s = storage::FindPending(*storage, queue, key, &value, &record);
      break;
    }
    case RowPlace::kDelayed:
      *found = false;
      return storage::ScanDelayed(*storage, queue, [&](const storage::DelayedRecord& record) {
        *found = record.key == key;
        return !*found;
      });
    case RowPlace::kFailures: {
      storage::FailureRecord record;
      s = storage::GetFailures(*storage, queue, key, &value, &record);
      break;
    }
    case RowPlace::kQuarantine: {
      storage::QuarantineRecord record;
      s = storage::GetQuarantine(*storage, queue, key, &value, &record);
      break;
    }
  }
  *found = s.ok();
  return s.code() == StatusCode::kNotFound ? Status::Ok() : s;
}

Status Importer::Impl::Add(Target* target, const Entry& entry) {
  uint64_t sequence = entry.sequence;
  if (entry.state == EntryState::kPending) {
    if (sequence == 0 || target->renumbers) sequence = target->next_sequence;
    if (sequence > storage::kMaxImportedSequence) {
      return Status::InvalidArgument(
          DescribeRow("key", entry.key, storage::RowRule::kSequenceRange));
    }
    target->next_sequence = std::max(target->next_sequence, sequence + 1);
  }
  if (Status s = rows.Add(target->id, entry, sequence); !s.ok()) return s;
  if (storage != nullptr) PutEntry(target->id, entry, sequence, &batch);
  ++counts.entries;
  return WriteIfLarge();
}

Status Importer::Impl::WriteIfLarge() {
  return batch.bytes() < kBatchBytes ? Status::Ok() : Write(false);
}

Status Importer::Impl::Write(bool sync) {
  if (storage == nullptr || (batch.empty() && !sync)) return {};
  Status s = storage->Write(batch, sync);
  batch.Clear();
  return s;
}

// --- Importer ---

Importer::Importer(std::unique_ptr<Impl> rep) : impl_(std::move(rep)) {}

Importer::~Importer() {
  if (impl_->storage == nullptr || impl_->finished) return;
  // Best effort: the next Importer removes what cannot be removed now.
  impl_->batch.Clear();
  for (const auto& [name, target] : impl_->targets) {
    if (!impl_->EraseQueue(name + std::string(storage::kLoadingSuffix), target.id).ok()) return;
  }
  const Status ignored = impl_->storage->Close();
  static_cast<void>(ignored);
}

Status Importer::Open(const ImportOptions& options, const std::string& dir,
                      std::unique_ptr<Importer>* importer) {
  auto rep = std::make_unique<Impl>();
  rep->options = options;
  if (Status s = rep->Load(dir); !s.ok()) return storage::Refused(dir, s);
  importer->reset(new Importer(std::move(rep)));
  return {};
}

Status Importer::SetQueue(const QueueInfo& info) {
  if (Status s = CheckImported(info); !s.ok()) return s;
  Impl::Target* target = nullptr;
  if (Status s = impl_->TargetOf(info.name, &target); !s.ok()) return s;
  if (std::exchange(target->has_info, true)) {
    return Status::InvalidArgument("queue \"" + info.name + "\" is there twice");
  }
  target->info = info;
  // A dump begins with its queues, and has the keys in the order of their sequences.
  target->renumbers = info.sequence_high_water > storage::kMaxImportedSequence;
  if (target->renumbers) target->info.sequence_high_water = 0;
  // Behind every sequence of the dump.
  target->next_sequence = std::max(target->next_sequence, target->info.sequence_high_water);
  return {};
}

Status Importer::SetCursor(std::string_view queue, std::string_view name, std::string_view value) {
  if (Status s = CheckImportedCursor(name, value); !s.ok()) return s;
  Impl::Target* target = nullptr;
  if (Status s = impl_->TargetOf(queue, &target); !s.ok()) return s;
  if (!impl_->rows.AddName(target->id, name)) {
    return Status::InvalidArgument("cursor \"" + std::string(name) + "\" is there twice");
  }
  ++impl_->counts.cursors;
  if (impl_->storage != nullptr) {
    storage::PutCursor(target->id, {.name = name, .value = value}, &impl_->batch);
  }
  return impl_->WriteIfLarge();
}

Status Importer::SetSource(std::string_view queue, const SourceRow& source) {
  storage::SourceRecord record{
      .name = source.name, .fingerprint = source.fingerprint, .scope = source.scope};
  if (Status s = CheckName("source", source.name); !s.ok()) return s;
  Impl::Target* target = nullptr;
  if (Status s = impl_->TargetOf(queue, &target); !s.ok()) return s;
  if (target->sources.size() == kMaxSources) {
    return Status::InvalidArgument("source '" + source.name + "' is one more than the " +
                                   std::to_string(kMaxSources) + " that a queue may have");
  }
  record.id = static_cast<storage::SourceId>(target->sources.size() + 1);
  if (!target->sources.emplace(source.name, record.id).second) {
    return RefuseImported("source", source.name, storage::RowRule::kSourceTwice);
  }
  if (impl_->storage != nullptr) storage::PutSource(target->id, record, &impl_->batch);
  return impl_->WriteIfLarge();
}

Status Importer::AddObject(std::string_view queue, const ObjectRow& object) {
  storage::ObjectRecord record{.object = object.object,
                               .version = object.version,
                               .fingerprint = object.fingerprint,
                               .scope = object.scope,
                               .keys = object.keys,
                               .tombstone = object.tombstone};
  Impl::Target* target = nullptr;
  if (Status s = impl_->TargetOf(queue, &target); !s.ok()) return s;
  const auto source = target->sources.find(object.source);
  storage::RowRule broken = CheckRow(record);
  if (source == target->sources.end()) broken = storage::RowRule::kObjectOfNoSource;
  if (Status s = RefuseImported("object", object.object, broken); !s.ok()) return s;
  if (!impl_->rows.AddName(target->id, object.source + '\0' + object.object)) {
    return Status::InvalidArgument("object '" + EscapeKey(object.object) + "' is there twice");
  }
  record.source = source->second;
  ++impl_->counts.objects;
  if (impl_->storage != nullptr) storage::PutObject(target->id, record, &impl_->batch);
  return impl_->WriteIfLarge();
}

Status Importer::Add(std::string_view queue, const Entry& entry) {
  Entry complete = entry;
  CompleteTimes(Clock::System()->WallUs(), &complete);
  if (Status s = CheckImported(complete); !s.ok()) return s;
  Impl::Target* target = nullptr;
  if (Status s = impl_->TargetOf(queue, &target); !s.ok()) return s;
  return impl_->Add(target, complete);
}

Status Importer::Finish() {
  if (impl_->storage == nullptr) return {};
  if (Status s = impl_->Write(false); !s.ok()) return s;
  // One batch: all queues get their names at once.
  for (auto& [name, target] : impl_->targets) {
    const QueueInfo& info = target.info;
    if (target.replaced) {
      storage::ReplaceQueue({.name = name, .id = *target.replaced, .created_at_us = 0},
                            &impl_->batch);
    }
    storage::EraseQueueName(name + std::string(storage::kLoadingSuffix), &impl_->batch);
    storage::PutQueue({.name = name, .id = target.id, .created_at_us = info.created_at_us},
                      &impl_->batch);
    storage::PutQueueState(
        target.id,
        {.sequence_high_water = std::max(info.sequence_high_water,
                                         target.next_sequence == 1 ? 0 : target.next_sequence),
         .limiter_state = info.limiter_state,
         .paused = info.paused,
         .paused_until_us = info.paused_until_us,
         .shards = info.shards,
         .pause_us = info.pause_us,
         .paused_at_us = info.paused_at_us},
        &impl_->batch);
  }
  impl_->finished = true;
  if (Status s = impl_->Write(true); !s.ok()) return s;
  for (const auto& [name, target] : impl_->targets) {
    if (!target.replaced) continue;
    Status s = impl_->EraseQueue(name + std::string(storage::kReplacedSuffix), *target.replaced);
    if (!s.ok()) return s;
  }
  return impl_->storage->Close();
}

const ImportCounts& Importer::counts() const { return impl_->counts; }

}  // namespace wq
