#include "wq/store.h"

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "engine/queue/queue_impl.h"
#include "engine/recovery/recovery.h"
#include "engine/store/store_impl.h"
#include "storage/difference.h"
#include "storage/open.h"
#include "storage/row_rules.h"
#include "wq/keys.h"
#include "wq/queue.h"

namespace wq {
namespace {

Status CheckQueueOptions(const QueueOptions& options) {
  if (options.max_key_bytes == 0 || options.max_key_bytes > kMaxKeyBytes) {
    return Status::InvalidArgument("max_key_bytes is " + std::to_string(options.max_key_bytes) +
                                   ", not 1 to " + std::to_string(kMaxKeyBytes));
  }
  if (options.shards > kMaxShards) {
    return Status::InvalidArgument("shards is " + std::to_string(options.shards) +
                                   ", above the limit of " + std::to_string(kMaxShards));
  }
  const char* wrong = CheckOrder(options);
  return wrong == nullptr ? Status::Ok() : Status::InvalidArgument(wrong);
}

std::unique_ptr<Journal> MakeJournal(Store::Impl* rep) {
  if (rep->storage == nullptr) {
    return nullptr;
  }
  return std::make_unique<Journal>(
      rep->storage.get(),
      Journal::Options{.flush_interval = rep->options.flush_interval,
                       .max_batch_bytes = rep->options.max_batch_bytes,
                       .metrics = rep->metrics.get(),
                       .recover = [rep] { return rep->failure_recovery->Run(); },
                       .collect = [rep] { rep->Collect(); }});
}

std::unique_ptr<FailureRecovery> MakeFailureRecovery(Store::Impl* rep) {
  if (rep->storage == nullptr) {
    return nullptr;
  }
  return std::make_unique<FailureRecovery>(
      rep, rep->journal.get(),
      FailureRecovery::Options{.backoff_min = rep->options.recovery_backoff_min,
                               .backoff_max = rep->options.recovery_backoff_max,
                               .on_health = rep->options.on_health,
                               .clock = rep->clock});
}

}  // namespace

// --- Impl ---

Store::Impl::Impl(const StoreOptions& store_options, std::string store_dir,
                  std::unique_ptr<storage::Storage> store_storage)
    : options(store_options),
      dir(std::move(store_dir)),
      clock(store_options.clock == nullptr ? Clock::System() : store_options.clock),
      storage(std::move(store_storage)),
      metrics(StoreMetrics::Make(options.metrics, dir)),
      journal(MakeJournal(this)),
      failure_recovery(MakeFailureRecovery(this)),
      timer(clock) {}

Status Store::Impl::Open(const StoreOptions& options, const std::string& dir,
                         std::unique_ptr<storage::Storage> storage, std::unique_ptr<Store>* store) {
  store->reset();
  auto rep = std::make_unique<Impl>(options, dir, std::move(storage));
  if (Status s = rep->Load(); !s.ok()) {
    return s;
  }
  if (rep->metrics != nullptr) {
    rep->metrics->Show(
        [journal = rep->journal.get()] { return journal == nullptr || journal->Health().ok(); });
  }
  store->reset(new Store(std::move(rep)));
  return {};
}

Status Store::Impl::Load() {
  if (storage == nullptr) {
    return {};
  }
  storage::StoreRecord record;
  if (Status s = storage::GetStore(*storage, &record);
      !s.ok() && s.code() != StatusCode::kNotFound) {
    return s;
  }
  uuid = record.uuid;
  std::map<std::string, storage::QueueRecord, std::less<>> found;
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
    found.emplace(queue.name, queue);
    return true;
  };
  if (Status s = storage::ScanQueues(*storage, take); !s.ok() || !contradiction.ok()) {
    return s.ok() ? contradiction : s;
  }
  const MutexLock lock(mu);
  records = std::move(found);
  return {};
}

Status Store::Impl::CreateQueue(std::string_view name) {
  storage::QueueRecord record{.name = std::string(name), .id = 1, .created_at_us = clock->WallUs()};
  for (const auto& [_, other] : records) {
    record.id = std::max(record.id, other.id + 1);
  }
  if (journal != nullptr) {
    storage::MutationBatch batch;
    storage::PutQueue(record, &batch);
    const Position position = journal->Append(batch, Journal::Urgency::kWaited);
    if (Status s = journal->Wait(position, Durability::kProcess); !s.ok()) {
      return s;
    }
  }
  records.emplace(record.name, record);
  return {};
}

void Store::Impl::Collect() const {
  if (Queue* const queue = with_inbox; queue != nullptr) {
    queue->impl_->Collect();
  }
}

void Store::Impl::ShutInbox() {
  if (Queue* const queue = with_inbox; queue != nullptr) {
    queue->impl_->AllowInbox(false);
    with_inbox = nullptr;  // Behind: nobody announces anything for it any more.
  }
}

void Store::Impl::OpenInbox() {
  if (storage != nullptr && queues.size() == 1) {
    with_inbox = queues.begin()->second.get();
    queues.begin()->second->impl_->AllowInbox(true);
  }
}

Status Store::Impl::CheckProcess() const {
  return process.Forked()
             ? Status::Locked("the store belongs to process " + std::to_string(process.pid()) +
                              ", from which this one was forked")
             : Status::Ok();
}

Status Store::Impl::MakeQueue(std::string_view name, const QueueOptions& queue_options,
                              std::unique_ptr<Queue>* queue) {
  if (!records.contains(name)) {
    if (Status s = CreateQueue(name); !s.ok()) {
      return s;
    }
  }
  auto queue_rep =
      std::make_unique<Queue::Impl>(std::string(name), records.find(name)->second.id, queue_options,
                                    clock, journal.get(), &timer, options.metrics);
  if (storage == nullptr) {
    queue_rep->AllowInbox(true);
  } else if (Status s = queue_rep->Restore(*storage); !s.ok()) {
    return s;
  }
  queue_rep->ShowGauges();
  queue->reset(new Queue(std::move(queue_rep)));
  return {};
}

// --- Mending ---

Status Store::Impl::CheckReadable() const {
  return journal == nullptr || journal->Health().ok() ? Status::Ok() : failure_recovery->Health();
}

Status Store::Impl::Reopen() {
  // Whoever was opening a queue when the store failed is done with reading; who comes now is refused.
  { const MutexLock lock(mu); }
  return storage->Reopen();
}

Status Store::Impl::AppendDifference(storage::MutationBatch* batch) {
  storage::MutationBatch rows;
  std::vector<Queue::Impl*> open;  // No other one will be while the store is failed.
  {
    const MutexLock lock(mu);
    for (const auto& [_, record] : records) {
      storage::PutQueue(record, &rows);
    }
    for (const auto& [_, queue] : queues) {
      open.push_back(queue->impl_.get());
    }
  }
  Status status = storage::AppendDifference(*storage, storage::PartOfQueueRecords(), rows, batch);
  for (auto queue = open.begin(); queue != open.end() && status.ok(); ++queue) {
    rows.Clear();
    (*queue)->AppendImage(&rows);
    status = storage::AppendDifference(*storage, storage::PartOfQueue((*queue)->id), rows, batch);
  }
  return status;
}

Status Store::Impl::CloseStorage() {
  if (!journal->Flush(Durability::kPower).ok()) {
    static_cast<void>(
        failure_recovery->Recover());  // The journal's last word says what came of it.
  }
  failure_recovery->Stop();
  Status status = journal->Stop();
  Status closed = storage->Close();
  return status.ok() ? closed : status;
}

// --- Store ---

Store::Store(std::unique_ptr<Impl> rep) : impl_(std::move(rep)) {}

Store::~Store() {
  if (impl_->process.Forked()) {
    // Its threads are the parent's, and its files: nothing here can be let go of.
    static_cast<void>(impl_.release());
    return;
  }
  const Status ignored = Close();  // Whoever cares has called it.
  static_cast<void>(ignored);
}

Status Store::Open(const StoreOptions& options, const std::string& dir,
                   std::unique_ptr<Store>* store) {
  store->reset();
  const Clock* clock = options.clock == nullptr ? Clock::System() : options.clock;
  std::unique_ptr<storage::Storage> storage;
  if (Status s = storage::OpenStorage(dir,
                                      {.create_if_missing = options.create_if_missing,
                                       .error_if_exists = options.error_if_exists,
                                       .vector_memtable = options.vector_memtable,
                                       .max_wal_bytes = options.max_wal_bytes,
                                       .write_buffer_bytes = options.write_buffer_bytes,
                                       .now_us = clock->WallUs()},
                                      &storage);
      !s.ok()) {
    return s;
  }
  return Impl::Open(options, dir, std::move(storage), store);
}

Status Store::OpenInMemory(const StoreOptions& options, std::unique_ptr<Store>* store) {
  return Impl::Open(options, "", nullptr, store);
}

Status Store::OpenQueue(std::string_view name, const QueueOptions& options, Queue** queue) {
  *queue = nullptr;
  if (Status s = CheckName("queue", name); !s.ok()) {
    return s;
  }
  if (Status s = CheckQueueOptions(options); !s.ok()) {
    return s;
  }
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const MutexLock lock(impl_->mu);
  if (impl_->closed) {
    return Status::ShuttingDown("the store is closed");
  }
  if (impl_->queues.contains(name)) {
    return Status::AlreadyExists("queue '" + std::string(name) + "' is open already");
  }
  if (Status s = impl_->CheckReadable(); !s.ok()) {
    return s;
  }
  if (!impl_->records.contains(name) && !options.create_if_missing) {
    return Status::NotFound("there is no queue '" + std::string(name) + "'");
  }
  impl_->ShutInbox();
  std::unique_ptr<Queue> made;
  Status status = impl_->MakeQueue(name, options, &made);
  if (status.ok()) {
    *queue = made.get();
    impl_->queues.emplace(name, std::move(made));
  }
  impl_->OpenInbox();
  return status;
}

Queue* Store::FindQueue(std::string_view name) const {
  const MutexLock lock(impl_->mu);
  const auto it = impl_->queues.find(name);
  return it == impl_->queues.end() ? nullptr : it->second.get();
}

std::vector<std::string> Store::QueueNames() const {
  const MutexLock lock(impl_->mu);
  std::vector<std::string> names;
  for (const auto& [name, _] : impl_->records) {
    names.push_back(name);
  }
  return names;
}

Status Store::Flush(Durability durability) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  impl_->Collect();
  return impl_->journal == nullptr ? Status::Ok() : impl_->journal->Flush(durability);
}

Status Store::Health() const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  return impl_->failure_recovery == nullptr ? Status::Ok() : impl_->failure_recovery->Health();
}

Status Store::Recover() {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  return impl_->failure_recovery == nullptr ? Status::Ok() : impl_->failure_recovery->Recover();
}

Status Store::Close() {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const MutexLock closing(impl_->close_mu);
  {
    const MutexLock lock(impl_->mu);
    if (std::exchange(impl_->closed, true)) {
      return impl_->close_status;
    }
    for (const auto& [_, queue] : impl_->queues) {
      queue->impl_->Close();
      queue->impl_->HideGauges();
    }
  }
  if (impl_->metrics != nullptr) {
    impl_->metrics->Hide();
  }
  impl_->timer.Stop();
  if (impl_->journal != nullptr) {
    impl_->close_status = impl_->CloseStorage();
  }
  return impl_->close_status;
}

const std::string& Store::uuid() const { return impl_->uuid; }
const std::string& Store::dir() const { return impl_->dir; }

}  // namespace wq
