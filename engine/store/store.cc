// The public calls of Store: opening, the checks of arguments and state, and the order of locks.

#include "wq/store.h"

#include <limits>
#include <utility>

#include "base/names.h"
#include "engine/queue/queue_impl.h"
#include "engine/state/order.h"
#include "engine/store/store_impl.h"
#include "storage/open.h"
#include "storage/process_log.h"
#include "storage/queue_records.h"
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

}  // namespace

Store::Store(std::unique_ptr<Impl> rep) : impl_(std::move(rep)) {}

Store::~Store() {
  if (impl_->process.Forked()) {
    // The threads and the files are the parent's, so nothing can be destroyed here.
    static_cast<void>(impl_.release());
    return;
  }
  const Status ignored = Close();  // A caller that needs the status calls Close itself.
  static_cast<void>(ignored);
}

Status Store::Open(const StoreOptions& options, const std::string& dir,
                   std::unique_ptr<Store>* store) {
  store->reset();
  if (options.process_log_bytes > storage::kMaxProcessLogBytes) {
    return Status::InvalidArgument("process_log_bytes is " +
                                   std::to_string(options.process_log_bytes) + ", more than 1 GiB");
  }
  const Clock* clock = options.clock == nullptr ? Clock::System() : options.clock;
  std::unique_ptr<storage::Storage> storage;
  if (Status s = storage::OpenStorage(dir,
                                      {.create_if_missing = options.create_if_missing,
                                       .error_if_exists = options.error_if_exists,
                                       .vector_memtable = options.vector_memtable,
                                       .max_wal_bytes = options.max_wal_bytes,
                                       .write_buffer_bytes = options.write_buffer_bytes,
                                       .process_log_bytes = options.process_log_bytes,
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
  std::unique_ptr<Queue> made;
  Status status = impl_->MakeQueue(name, options, &made);
  if (status.ok()) {
    *queue = made.get();
    impl_->queues.emplace(name, std::move(made));
    const MutexLock find_lock(impl_->find_mu);
    impl_->found.emplace(name, *queue);
  }
  return status;
}

Status Store::CloseQueue(Queue* queue) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  queue->impl_->Close();  // Outside mu: on_ready may call the store.
  // Before the next opening reads the records, and synced: if the store fails later, its recovery
  // writes only the open queues from memory.
  if (impl_->journal != nullptr) {
    if (Status s = impl_->journal->Flush(Durability::kPower); !s.ok()) {
      return s;
    }
  }
  {
    const MutexLock lock(impl_->mu);
    const auto it = impl_->queues.find(queue->name());
    if (impl_->closed || it == impl_->queues.end() || it->second.get() != queue) {
      return {};  // Closed already.
    }
    // A recovery that has begun since the Flush writes this queue from memory.
    if (Status s = impl_->CheckReadable(); !s.ok()) {
      return s;
    }
    impl_->closed_queues.push_back(std::move(it->second));
    {
      const MutexLock find_lock(impl_->find_mu);
      impl_->found.erase(queue->name());
    }
    impl_->queues.erase(it);
    queue->impl_->FreeKeys();
  }
  queue->impl_
      ->HideGauges();  // By this call only, and outside mu: the provider is the user's code.
  return {};
}

Status Store::DeleteQueue(std::string_view name) {
  if (Status s = CheckName("queue", name); !s.ok()) {
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
    return Status::Locked("queue '" + std::string(name) + "' is open in process " +
                          std::to_string(impl_->process.pid()) +
                          ": it can be deleted when that process has closed it");
  }
  if (Status s = impl_->CheckReadable(); !s.ok()) {
    return s;
  }
  return impl_->DeleteQueue(name);
}

Queue* Store::FindQueue(std::string_view name) const {
  const MutexLock lock(impl_->find_mu);
  const auto it = impl_->found.find(name);
  return it == impl_->found.end() ? nullptr : it->second;
}

std::vector<std::string> Store::QueueNames() const {
  const MutexLock lock(impl_->mu);
  std::vector<std::string> names;
  for (const auto& [name, _] : impl_->records) {
    if (!storage::IsOfImport(name)) {
      names.push_back(name);
    }
  }
  return names;
}

Status Store::Flush(Durability durability) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  return impl_->journal == nullptr ? Status::Ok() : impl_->journal->Flush(durability);
}

Status Store::ReserveTokens(uint64_t count, uint64_t* first) {
  if (count == 0) {
    return Status::InvalidArgument("no tokens to reserve: count is 0");
  }
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  const MutexLock lock(impl_->mu);
  if (impl_->closed) {
    return Status::ShuttingDown("the store is closed");
  }
  if (Status s = impl_->CheckReadable(); !s.ok()) {
    return s;
  }
  if (count > std::numeric_limits<uint64_t>::max() - impl_->tokens.next) {
    return Status::InvalidArgument("the store has fewer than " + std::to_string(count) +
                                   " tokens left");
  }
  return impl_->ReserveTokens(count, first);
}

Status Store::ProcessLogStatus() const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  return impl_->storage == nullptr ? Status::NotFound("the store is in memory")
                                   : impl_->storage->ProcessLogStatus();
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
  std::vector<Queue*> queues;  // Once closed is set, no queue is added or removed.
  {
    const MutexLock lock(impl_->mu);
    if (std::exchange(impl_->closed, true)) {
      return impl_->close_status;
    }
    for (const auto& [_, queue] : impl_->queues) {
      queues.push_back(queue.get());
    }
  }
  for (Queue* queue : queues) {  // Outside mu: on_ready may call the store.
    queue->impl_->Close();
    queue->impl_->HideGauges();
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
