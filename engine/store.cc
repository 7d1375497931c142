#include "wq/store.h"

#include <algorithm>
#include <utility>

#include "engine/names.h"
#include "engine/queue_rep.h"
#include "engine/recovery.h"
#include "engine/store_rep.h"
#include "storage/difference.h"
#include "storage/rocksdb_storage.h"
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

std::unique_ptr<Journal> MakeJournal(Store::Rep* rep) {
  if (rep->storage == nullptr) {
    return nullptr;
  }
  return std::make_unique<Journal>(rep->storage.get(),
                                   Journal::Options{.flush_interval = rep->options.flush_interval,
                                                    .max_batch_bytes = rep->options.max_batch_bytes,
                                                    .metrics = rep->metrics.get(),
                                                    .mend = [rep] { return rep->mender->Run(); },
                                                    .collect = [rep] { rep->Collect(); }});
}

std::unique_ptr<Mender> MakeMender(Store::Rep* rep) {
  if (rep->storage == nullptr) {
    return nullptr;
  }
  return std::make_unique<Mender>(rep, rep->journal.get(),
                                  Mender::Options{.backoff_min = rep->options.mend_backoff_min,
                                                  .backoff_max = rep->options.mend_backoff_max,
                                                  .on_health = rep->options.on_health,
                                                  .clock = rep->clock});
}

}  // namespace

// --- Rep ---

Store::Rep::Rep(const StoreOptions& store_options, std::string store_dir,
                std::unique_ptr<storage::Storage> store_storage)
    : options(store_options),
      dir(std::move(store_dir)),
      clock(store_options.clock == nullptr ? Clock::System() : store_options.clock),
      storage(std::move(store_storage)),
      metrics(StoreMetrics::Make(options.metrics, dir)),
      journal(MakeJournal(this)),
      mender(MakeMender(this)),
      timer(clock) {}

Status Store::Rep::Open(const StoreOptions& options, const std::string& dir,
                        std::unique_ptr<storage::Storage> storage, std::unique_ptr<Store>* store) {
  store->reset();
  auto rep = std::make_unique<Rep>(options, dir, std::move(storage));
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

Status Store::Rep::Load() {
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
  if (Status s = storage::ScanQueues(*storage,
                                     [&found](const storage::QueueRecord& queue) {
                                       found.emplace(queue.name, queue);
                                       return true;
                                     });
      !s.ok()) {
    return s;
  }
  const MutexLock lock(mu);
  records = std::move(found);
  return {};
}

Status Store::Rep::CreateQueue(std::string_view name) {
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

void Store::Rep::Collect() const {
  if (Queue* const queue = with_inbox; queue != nullptr) {
    queue->rep_->Collect();
  }
}

void Store::Rep::ShutInbox() {
  if (Queue* const queue = with_inbox; queue != nullptr) {
    queue->rep_->AllowInbox(false);
    with_inbox = nullptr;  // Behind: nobody announces anything for it any more.
  }
}

void Store::Rep::OpenInbox() {
  if (storage != nullptr && queues.size() == 1) {
    with_inbox = queues.begin()->second.get();
    queues.begin()->second->rep_->AllowInbox(true);
  }
}

Status Store::Rep::CheckProcess() const {
  return process.Forked()
             ? Status::Locked("the store belongs to process " + std::to_string(process.pid()) +
                              ", from which this one was forked")
             : Status::Ok();
}

Status Store::Rep::MakeQueue(std::string_view name, const QueueOptions& queue_options,
                             std::unique_ptr<Queue>* queue) {
  if (!records.contains(name)) {
    if (Status s = CreateQueue(name); !s.ok()) {
      return s;
    }
  }
  auto queue_rep =
      std::make_unique<Queue::Rep>(std::string(name), records.find(name)->second.id, queue_options,
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

Status Store::Rep::CheckReadable() const {
  return journal == nullptr || journal->Health().ok() ? Status::Ok() : mender->Health();
}

Status Store::Rep::Reopen() {
  // Whoever was opening a queue when the store failed is done with reading; who comes now is refused.
  { const MutexLock lock(mu); }
  return storage->Reopen();
}

Status Store::Rep::AppendDifference(storage::MutationBatch* batch) {
  storage::MutationBatch rows;
  std::vector<Queue::Rep*> open;  // No other one will be while the store is failed.
  {
    const MutexLock lock(mu);
    for (const auto& [_, record] : records) {
      storage::PutQueue(record, &rows);
    }
    for (const auto& [_, queue] : queues) {
      open.push_back(queue->rep_.get());
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

Status Store::Rep::CloseStorage() {
  if (!journal->Flush(Durability::kPower).ok()) {
    static_cast<void>(mender->Mend());  // The journal's last word says what came of it.
  }
  mender->Stop();
  Status status = journal->Stop();
  Status closed = storage->Close();
  return status.ok() ? closed : status;
}

// --- Store ---

Store::Store(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

Store::~Store() {
  if (rep_->process.Forked()) {
    // Its threads are the parent's, and its files: nothing here can be let go of.
    static_cast<void>(rep_.release());
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
  if (Status s = storage::OpenRocksdb(dir,
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
  return Rep::Open(options, dir, std::move(storage), store);
}

Status Store::OpenInMemory(const StoreOptions& options, std::unique_ptr<Store>* store) {
  return Rep::Open(options, "", nullptr, store);
}

Status Store::OpenQueue(std::string_view name, const QueueOptions& options, Queue** queue) {
  *queue = nullptr;
  if (Status s = CheckName("queue", name); !s.ok()) {
    return s;
  }
  if (Status s = CheckQueueOptions(options); !s.ok()) {
    return s;
  }
  if (Status s = rep_->CheckProcess(); !s.ok()) {
    return s;
  }
  const MutexLock lock(rep_->mu);
  if (rep_->closed) {
    return Status::ShuttingDown("the store is closed");
  }
  if (rep_->queues.contains(name)) {
    return Status::AlreadyExists("queue '" + std::string(name) + "' is open already");
  }
  if (Status s = rep_->CheckReadable(); !s.ok()) {
    return s;
  }
  if (!rep_->records.contains(name) && !options.create_if_missing) {
    return Status::NotFound("there is no queue '" + std::string(name) + "'");
  }
  rep_->ShutInbox();
  std::unique_ptr<Queue> made;
  Status status = rep_->MakeQueue(name, options, &made);
  if (status.ok()) {
    *queue = made.get();
    rep_->queues.emplace(name, std::move(made));
  }
  rep_->OpenInbox();
  return status;
}

Queue* Store::FindQueue(std::string_view name) const {
  const MutexLock lock(rep_->mu);
  const auto it = rep_->queues.find(name);
  return it == rep_->queues.end() ? nullptr : it->second.get();
}

std::vector<std::string> Store::QueueNames() const {
  const MutexLock lock(rep_->mu);
  std::vector<std::string> names;
  for (const auto& [name, _] : rep_->records) {
    names.push_back(name);
  }
  return names;
}

Status Store::Flush(Durability durability) {
  if (Status s = rep_->CheckProcess(); !s.ok()) {
    return s;
  }
  rep_->Collect();
  return rep_->journal == nullptr ? Status::Ok() : rep_->journal->Flush(durability);
}

Status Store::Health() const {
  if (Status s = rep_->CheckProcess(); !s.ok()) {
    return s;
  }
  return rep_->mender == nullptr ? Status::Ok() : rep_->mender->Health();
}

Status Store::Mend() {
  if (Status s = rep_->CheckProcess(); !s.ok()) {
    return s;
  }
  return rep_->mender == nullptr ? Status::Ok() : rep_->mender->Mend();
}

Status Store::Close() {
  if (Status s = rep_->CheckProcess(); !s.ok()) {
    return s;
  }
  const MutexLock closing(rep_->close_mu);
  {
    const MutexLock lock(rep_->mu);
    if (std::exchange(rep_->closed, true)) {
      return rep_->close_status;
    }
    for (const auto& [_, queue] : rep_->queues) {
      queue->rep_->Close();
      queue->rep_->HideGauges();
    }
  }
  if (rep_->metrics != nullptr) {
    rep_->metrics->Hide();
  }
  rep_->timer.Stop();
  if (rep_->journal != nullptr) {
    rep_->close_status = rep_->CloseStorage();
  }
  return rep_->close_status;
}

const std::string& Store::uuid() const { return rep_->uuid; }
const std::string& Store::dir() const { return rep_->dir; }

}  // namespace wq
