#include "engine/store/opened_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/queue/queue_impl.h"
#include "storage/difference.h"
#include "storage/queue_records.h"
#include "storage/row_rules.h"
#include "storage/store_directory.h"
#include "wq/keys.h"
#include "wq/queue.h"

namespace wq {
namespace {

std::unique_ptr<Journal> MakeJournal(Store::Impl::Opened* opened) {
  if (opened->storage == nullptr) {
    return nullptr;
  }
  return std::make_unique<Journal>(
      opened->storage.get(),
      Journal::Options{.flush_interval = opened->options.flush_interval,
                       .max_batch_bytes = opened->options.max_batch_bytes,
                       .metrics = opened->metrics.get(),
                       .recover = [opened] { return opened->failure_recovery->Run(); }});
}

std::unique_ptr<FailureRecovery> MakeFailureRecovery(Store::Impl::Opened* opened) {
  if (opened->storage == nullptr) {
    return nullptr;
  }
  return std::make_unique<FailureRecovery>(
      opened, opened->journal.get(),
      FailureRecovery::Options{.backoff_min = opened->options.recovery_backoff_min,
                               .backoff_max = opened->options.recovery_backoff_max,
                               .on_health = opened->options.on_health,
                               .clock = opened->clock});
}

std::unique_ptr<HistoryRecorder> MakeRecorder(const Store::Impl::Opened& opened) {
  if (opened.storage == nullptr || opened.options.history_bytes == 0) {
    return nullptr;
  }
  return std::make_unique<HistoryRecorder>(
      opened.dir,
      storage::HistoryBounds{.bytes = opened.options.history_bytes,
                             .age_us = opened.options.history_age.count()},
      opened.clock);
}

}  // namespace

// --- Opening ---

Store::Impl::Opened::Opened(const StoreOptions& store_options, std::string store_dir,
                            std::unique_ptr<storage::Storage> store_storage,
                            std::shared_ptr<const Fence> store_fence)
    : options(store_options),
      dir(std::move(store_dir)),
      clock(store_options.clock == nullptr ? Clock::System() : store_options.clock),
      fence(std::move(store_fence)),
      storage(std::move(store_storage)),
      metrics(StoreMetrics::Make(options.metrics, dir)),
      journal(MakeJournal(this)),
      failure_recovery(MakeFailureRecovery(this)),
      recorder(MakeRecorder(*this)),
      timer(clock) {}

Status Store::Impl::Opened::Open(const StoreOptions& options, const std::string& dir,
                                 std::unique_ptr<storage::Storage> storage,
                                 std::shared_ptr<const Fence> fence,
                                 std::shared_ptr<Opened>* opened) {
  opened->reset();
  auto made = std::make_shared<Opened>(options, dir, std::move(storage), std::move(fence));
  if (Status s = made->Load(); !s.ok()) {
    return storage::Refused(dir, s);
  }
  if (made->metrics != nullptr) {
    made->metrics->Show(
        [journal = made->journal.get()] { return journal == nullptr || journal->Health().ok(); });
  }
  *opened = std::move(made);
  return {};
}

Status Store::Impl::Opened::Load() {
  if (storage == nullptr) {
    return {};
  }
  storage::StoreRecord record;
  if (Status s = storage::GetStore(*storage, &record);
      !s.ok() && s.code() != StatusCode::kNotFound) {
    return s;
  }
  uuid = record.uuid;
  if (Status s = LoadQueues(); !s.ok()) {
    return s;
  }
  storage::TokensRecord reserved;
  if (Status s = storage::GetTokens(*storage, &reserved); !s.ok()) {
    return s;
  }
  if (const storage::RowRule broken = CheckRow(reserved); broken != storage::RowRule::kNone) {
    return Status::Corruption("the store's record of tokens " + std::string(TextOf(broken)));
  }
  const MutexLock lock(mu);
  tokens = reserved;
  return {};
}

Status Store::Impl::Opened::LoadQueues() {
  Records queues_found;
  Records leftovers_found;
  std::map<storage::QueueId, std::string> names;
  Status contradiction;
  const auto take = [&](const storage::QueueRecord& queue) {
    const auto [other, is_new] = names.emplace(queue.id, queue.name);
    storage::RowRule broken = CheckRow(queue);
    if (broken == storage::RowRule::kNone && !is_new) {
      broken = storage::RowRule::kQueueIdTwice;
    }
    if (broken != storage::RowRule::kNone) {
      contradiction = Status::Corruption("queue '" + EscapeKey(queue.name) + "' " +
                                         std::string(TextOf(broken)) +
                                         (is_new ? "" : " " + EscapeKey(other->second)));
      return false;
    }
    Records& found = storage::IsOfImport(queue.name) ? leftovers_found : queues_found;
    found.emplace(queue.name, queue);
    return true;
  };
  if (Status s = storage::ScanQueues(*storage, take); !s.ok() || !contradiction.ok()) {
    return s.ok() ? contradiction : s;
  }
  const MutexLock lock(mu);
  records = std::move(queues_found);
  leftovers = std::move(leftovers_found);
  last_id = names.empty() ? 0 : names.rbegin()->first;
  return {};
}

Status Store::Impl::Opened::CheckOpen() const {
  if (fence != nullptr && !fence->Holds()) {
    return fence->Refusal();
  }
  return closed ? Status::ShuttingDown("the store is closed") : Status::Ok();
}

// --- Queues ---

// A damaged store may have rows or a state of no queue: they must not become the new queue's.
Status Store::Impl::Opened::SkipIdsInUse(storage::QueueId* id) const {
  for (;; ++*id) {
    if (*id == 0) {  // After the highest id there is.
      return Status::NotSupported("the store has no id left for another queue");
    }
    bool is_free = false;
    if (Status s = storage::HasNoRecords(*storage, *id, &is_free); !s.ok()) {
      return s;
    }
    std::string buffer;
    storage::QueueStateRecord state;
    Status found = storage::GetQueueState(*storage, *id, &buffer, &state);
    if (is_free && found.code() == StatusCode::kNotFound) {
      return {};
    }
    if (!found.ok() && found.code() != StatusCode::kNotFound &&
        found.code() != StatusCode::kCorruption) {
      return found;
    }
  }
}

Status Store::Impl::Opened::WriteNewRecord(std::string_view name) {
  storage::QueueRecord record{
      .name = std::string(name), .id = last_id + 1, .created_at_us = clock->WallUs()};
  if (storage != nullptr) {
    if (Status s = SkipIdsInUse(&record.id); !s.ok()) {
      return s;
    }
  }
  last_id = record.id;  // Not given again, whatever becomes of the write.
  if (journal != nullptr) {
    storage::MutationBatch batch;
    storage::PutQueue(record, &batch);
    if (Status s = WriteNow(batch, Durability::kProcess); !s.ok()) {
      return s;
    }
  }
  records.emplace(record.name, record);
  return {};
}

Status Store::Impl::Opened::MakeQueue(std::string_view name, const QueueOptions& queue_options,
                                      std::unique_ptr<Queue>* queue) {
  if (!records.contains(name)) {
    if (Status s = WriteNewRecord(name); !s.ok()) {
      return s;
    }
  }
  auto queue_impl =
      std::make_unique<Queue::Impl>(std::string(name), records.find(name)->second.id, queue_options,
                                    clock, journal.get(), &timer, options.metrics, fence.get());
  if (storage != nullptr) {
    if (Status s = queue_impl->Restore(*storage); !s.ok()) {
      return storage::Refused(dir, s);
    }
  }
  if (recorder != nullptr) {
    const storage::QueueRecord& record = records.find(name)->second;
    queue_impl->StartHistory(recorder->MakeBuffer());
    recorder->Add(queue_impl.get(), record.name, record.created_at_us);
  }
  queue_impl->ShowGauges();
  queue->reset(new Queue(std::move(queue_impl)));
  return {};
}

// --- Tokens ---

// In memory the numbers are used before the write: if it fails, its outcome on disk is unknown, and
// the recovery of the store writes the record from memory.
Status Store::Impl::Opened::ReserveTokens(uint64_t count, uint64_t* first) {
  const uint64_t begin = tokens.next;
  tokens.next += count;
  if (journal != nullptr) {
    storage::MutationBatch batch;
    storage::PutTokens(tokens, &batch);
    if (Status s = WriteNow(
            batch, WQ_MUTANT(tokens_without_wait) ? Durability::kAsync : Durability::kPower);
        !s.ok()) {
      return s;
    }
  }
  *first = begin;
  return {};
}

// --- Deleting a queue ---

Status Store::Impl::Opened::WriteNow(const storage::MutationBatch& batch,
                                     Durability durability) const {
  return journal->Wait(journal->Append(batch, durability), durability);
}

// `records` and `leftovers` change after each write that succeeded: if a write fails, the recovery
// of the store writes the names that they have, and so undoes it.
Status Store::Impl::Opened::DeleteQueue(std::string_view name) {
  if (storage != nullptr) {
    if (Status s = EraseLeftovers(); !s.ok()) {
      return s;
    }
  }
  const auto found = records.find(name);
  if (found == records.end()) {
    return Status::NotFound("there is no queue '" + std::string(name) + "'");
  }
  storage::QueueRecord record = found->second;
  if (storage != nullptr) {
    storage::MutationBatch batch;
    storage::ReplaceQueue(record, &batch);
    if (Status s = WriteNow(batch, Durability::kPower); !s.ok()) {
      return s;
    }
    record.name += storage::kReplacedSuffix;
    leftovers.emplace(record.name, record);
  }
  records.erase(found);
  return storage == nullptr ? Status::Ok() : EraseLeftovers();
}

Status Store::Impl::Opened::EraseLeftovers() {
  for (auto it = leftovers.begin(); it != leftovers.end();) {
    // Waits for each batch, so that the process log is not filled with them: other calls need it.
    const auto write = [this](storage::MutationBatch& batch) {
      Status s = WriteNow(batch, Durability::kProcess);
      return s.ok() ? journal->WriteOut() : s;
    };
    if (Status s = storage::EraseQueueRecords(it->second.id, *storage, write); !s.ok()) {
      return storage::Refused(dir, s);
    }
    storage::MutationBatch batch;
    storage::EraseQueue(it->first, it->second.id, &batch);
    if (Status s = WriteNow(batch, Durability::kPower); !s.ok()) {
      return s;
    }
    it = leftovers.erase(it);
  }
  return {};
}

// --- Recovery of a failed store; closing ---

Status Store::Impl::Opened::CheckReadable() const {
  return journal == nullptr || journal->Health().ok() ? Status::Ok() : failure_recovery->Health();
}

Status Store::Impl::Opened::Reopen() {
  // Waits for an OpenQueue that reads the storage. Later ones are refused as long as it is failed.
  { const MutexLock lock(mu); }
  return journal->Reopen();
}

Status Store::Impl::Opened::AppendDifference(storage::MutationBatch* batch) {
  storage::MutationBatch rows;
  std::vector<Queue::Impl*> open;  // While the store is failed, no other queue is opened.
  {
    const MutexLock lock(mu);
    for (const Records* const named : {&records, &leftovers}) {
      for (const auto& [_, record] : *named) {
        storage::PutQueue(record, &rows);
      }
    }
    if (tokens.next > storage::TokensRecord().next) {
      storage::PutTokens(tokens, &rows);
    }
    for (const auto& [_, queue] : queues) {
      open.push_back(queue->impl_.get());
    }
  }
  Status status = storage::AppendDifference(*storage, storage::PartOfStoreRecords(), rows, batch);
  for (auto queue = open.begin(); queue != open.end() && status.ok(); ++queue) {
    rows.Clear();
    (*queue)->AppendImage(&rows);
    status = storage::AppendDifference(*storage, storage::PartOfQueue((*queue)->id), rows, batch);
    if (status.ok()) {
      status = (*queue)->AppendErasures(*storage, batch);
    }
  }
  return status;
}

Status Store::Impl::Opened::Close(const Status& ended) {
  const MutexLock closing(close_mu);
  std::vector<Queue*> open;  // Once closed is set, no queue is added or removed.
  {
    const MutexLock lock(mu);
    if (std::exchange(closed, true)) {
      return close_status;
    }
    for (const auto& [_, queue] : queues) {
      open.push_back(queue.get());
    }
  }
  for (Queue* queue : open) {  // Outside mu: listeners may call the store.
    queue->impl_->Close();
    queue->impl_->HideGauges();
  }
  if (metrics != nullptr) {
    metrics->Hide();
  }
  timer.Stop();
  if (recorder != nullptr) {
    recorder->Stop();
  }
  if (journal != nullptr) {
    close_status = CloseStorage(ended);
  }
  return close_status;
}

Status Store::Impl::Opened::CloseStorage(const Status& ended) {
  if (ended.ok() && !journal->Flush(Durability::kPower).ok()) {
    // If this fails, journal->Stop returns the error.
    static_cast<void>(failure_recovery->Recover());
  }
  failure_recovery->Stop();
  Status status = journal->Stop();
  Status storage_status = storage->Close();
  return status.ok() ? storage_status : status;
}

void Store::Impl::Opened::FreeKeys() {
  const MutexLock lock(mu);
  for (const auto& [_, queue] : queues) {
    queue->impl_->FreeKeys();
  }
  records.clear();
  leftovers.clear();
  if (journal != nullptr) {
    journal->FreeMemory();
  }
}

}  // namespace wq
