// The public calls of Store: opening, the checks of arguments and state, and the order of locks.

#include "wq/store.h"

#include <limits>
#include <utility>

#include "base/names.h"
#include "base/resources.h"
#include "engine/queue/check_arguments.h"
#include "engine/queue/queue_impl.h"
#include "engine/store/opened_store.h"
#include "engine/store/store_impl.h"
#include "storage/process_log.h"
#include "storage/queue_records.h"
#include "wq/history.h"
#include "wq/queue.h"

namespace wq {

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
  if (options.history_bytes > 0 && options.history_bytes < kMinHistoryBytes) {
    return Status::InvalidArgument("history_bytes is " + std::to_string(options.history_bytes) +
                                   ", less than 1 MiB");
  }
  if (options.history_age.count() != 0 && options.history_age < kMinHistoryAge) {
    return Status::InvalidArgument("history_age is " + std::to_string(options.history_age.count()) +
                                   " us, less than a minute");
  }
  return WithResources(dir, [&]() -> Status {
    auto impl = std::make_unique<Impl>(options, dir);
    if (!options.replication.has_value()) {
      Status status = impl->OpenStorage(options.create_if_missing, "");
      return status.ok() ? Impl::Open(options, dir, std::move(impl->base), store) : status;
    }
    Status status = impl->OpenReplica();
    if (status.ok()) {
      store->reset(new Store(std::move(impl)));
    }
    return status;
  });
}

Status Store::OpenInMemory(const StoreOptions& options, std::unique_ptr<Store>* store) {
  store->reset();
  if (options.replication.has_value()) {
    return Status::InvalidArgument("a store in memory is not replicated");
  }
  return WithResources("the store in memory",
                       [&] { return Impl::Open(options, "", nullptr, store); });
}

Status Store::OpenQueue(std::string_view name, const QueueOptions& options, Queue** queue) {
  *queue = nullptr;
  if (Status s = CheckName("queue", name); !s.ok()) {
    return s;
  }
  if (Status s = CheckQueueOptions(options); !s.ok()) {
    return s;
  }
  std::shared_ptr<Impl::Opened> opened;
  if (Status s = impl_->Current(&opened); !s.ok()) {
    return s;
  }
  if (options.durability == Durability::kReplicated && opened->journal != nullptr &&
      opened->fence == nullptr) {
    return Status::InvalidArgument("durability kReplicated of queue '" + std::string(name) +
                                   "': the store is not replicated");
  }
  const MutexLock lock(opened->mu);
  if (Status s = opened->CheckOpen(); !s.ok()) {
    return s;
  }
  if (opened->queues.contains(name)) {
    return Status::AlreadyExists("queue '" + std::string(name) + "' is open already");
  }
  if (Status s = opened->CheckReadable(); !s.ok()) {
    return s;
  }
  if (!opened->records.contains(name) && !options.create_if_missing) {
    return Status::NotFound("there is no queue '" + std::string(name) + "'");
  }
  std::unique_ptr<Queue> made;
  Status status = opened->MakeQueue(name, options, &made);
  if (status.ok()) {
    *queue = made.get();
    opened->queues.emplace(name, std::move(made));
    const MutexLock find_lock(opened->find_mu);
    opened->found.emplace(name, *queue);
  }
  return status;
}

Status Store::CloseQueue(Queue* queue) {
  std::shared_ptr<Impl::Opened> opened;
  if (Status s = impl_->Current(&opened); !s.ok()) {
    return s;
  }
  queue->impl_->Close();  // Outside mu: listeners may call the store.
  if (opened->recorder != nullptr) {
    opened->recorder->Remove(queue->impl_.get());
  }
  // Before the next opening reads the records, and synced: if the store fails later, its recovery
  // writes only the open queues from memory.
  if (opened->journal != nullptr) {
    if (Status s = opened->journal->Flush(Durability::kPower); !s.ok()) {
      return s;
    }
  }
  {
    const MutexLock lock(opened->mu);
    const auto it = opened->queues.find(queue->name());
    if (opened->closed || it == opened->queues.end() || it->second.get() != queue) {
      return {};  // Closed already.
    }
    // A recovery that has begun since the Flush writes this queue from memory.
    if (Status s = opened->CheckReadable(); !s.ok()) {
      return s;
    }
    opened->closed_queues.push_back(std::move(it->second));
    {
      const MutexLock find_lock(opened->find_mu);
      opened->found.erase(queue->name());
    }
    opened->queues.erase(it);
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
  std::shared_ptr<Impl::Opened> opened;
  if (Status s = impl_->Current(&opened); !s.ok()) {
    return s;
  }
  const MutexLock lock(opened->mu);
  if (Status s = opened->CheckOpen(); !s.ok()) {
    return s;
  }
  if (opened->queues.contains(name)) {
    return Status::Locked("queue '" + std::string(name) + "' is open in process " +
                          std::to_string(impl_->process.pid()) +
                          ": it can be deleted when that process has closed it");
  }
  if (Status s = opened->CheckReadable(); !s.ok()) {
    return s;
  }
  return opened->DeleteQueue(name);
}

Queue* Store::FindQueue(std::string_view name) const {
  std::shared_ptr<Impl::Opened> opened;
  if (!impl_->Current(&opened).ok()) {
    return nullptr;
  }
  const MutexLock lock(opened->find_mu);
  const auto it = opened->found.find(name);
  return it == opened->found.end() ? nullptr : it->second;
}

std::vector<std::string> Store::QueueNames() const {
  std::vector<std::string> names;
  std::shared_ptr<Impl::Opened> opened;
  if (!impl_->Current(&opened).ok()) {
    return names;
  }
  const MutexLock lock(opened->mu);
  names.reserve(opened->records.size());
  for (const auto& [name, _] : opened->records) {
    names.push_back(name);
  }
  return names;
}

Status Store::Flush(Durability durability) {
  std::shared_ptr<Impl::Opened> opened;
  if (Status s = impl_->Current(&opened); !s.ok()) {
    return s;
  }
  if (opened->journal == nullptr) {
    return {};
  }
  if (durability == Durability::kReplicated && opened->fence == nullptr) {
    return Status::InvalidArgument("durability kReplicated: the store is not replicated");
  }
  return opened->journal->Flush(durability);
}

Status Store::ReserveTokens(uint64_t count, uint64_t* first) {
  if (count == 0) {
    return Status::InvalidArgument("no tokens to reserve: count is 0");
  }
  std::shared_ptr<Impl::Opened> opened;
  if (Status s = impl_->Current(&opened); !s.ok()) {
    return s;
  }
  const MutexLock lock(opened->mu);
  if (Status s = opened->CheckOpen(); !s.ok()) {
    return s;
  }
  if (Status s = opened->CheckReadable(); !s.ok()) {
    return s;
  }
  if (count > std::numeric_limits<uint64_t>::max() - opened->tokens.next) {
    return Status::InvalidArgument("the store has fewer than " + std::to_string(count) +
                                   " tokens left");
  }
  return opened->ReserveTokens(count, first);
}

Status Store::ProcessLogStatus() const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  if (impl_->base != nullptr) {
    return impl_->base->ProcessLogStatus();
  }
  std::shared_ptr<Impl::Opened> opened;
  if (Status s = impl_->Current(&opened); !s.ok()) {
    return s;
  }
  return opened->storage == nullptr ? Status::NotFound("the store is in memory")
                                    : opened->storage->ProcessLogStatus();
}

Status Store::Health() const {
  std::shared_ptr<Impl::Opened> opened;
  if (Status s = impl_->Current(&opened); !s.ok()) {
    const bool replica = s.code() == StatusCode::kNotOwner;
    return replica ? impl_->replica->State().log : s;
  }
  return opened->failure_recovery == nullptr ? Status::Ok() : opened->failure_recovery->Health();
}

Status Store::Recover() {
  std::shared_ptr<Impl::Opened> opened;
  if (Status s = impl_->Current(&opened); !s.ok()) {
    return s;
  }
  return opened->failure_recovery == nullptr ? Status::Ok() : opened->failure_recovery->Recover();
}

Status Store::History(std::string_view queue, std::string_view key, size_t limit,
                      KeyHistory* history) const {
  *history = {};
  std::shared_ptr<Impl::Opened> opened;
  if (Status s = impl_->Current(&opened); !s.ok()) {
    return s;
  }
  if (opened->recorder == nullptr) {
    return Status::NotSupported("the store keeps no history");
  }
  Status recording = opened->recorder->Flush();
  Status status = ReadHistory(opened->dir, queue, key, limit, history);
  history->recording = std::move(recording);
  // Nothing was recorded yet.
  return status.code() == StatusCode::kNotFound ? Status::Ok() : status;
}

Status Store::Close() {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  if (impl_->replica != nullptr) {
    return impl_->CloseReplica();
  }
  std::shared_ptr<Impl::Opened> opened;
  if (Status s = impl_->Current(&opened); !s.ok()) {
    return s;
  }
  return opened->Close(Status::Ok());
}

// --- Replication ---

bool Store::IsOwner() const { return Epoch() != 0; }

uint64_t Store::Epoch() const { return impl_->Epoch(); }

Status Store::WaitForLeadership(std::chrono::microseconds timeout) {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  return impl_->replica == nullptr ? Status::Ok() : impl_->replica->AwaitOwnership(timeout);
}

Status Store::Resign() {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  return impl_->replica == nullptr ? Status::InvalidArgument("the store is not replicated")
                                   : impl_->replica->Resign();
}

ReplicaState Store::Replica() const { return impl_->Replica(); }

std::string Store::uuid() const { return impl_->uuid; }
const std::string& Store::dir() const { return impl_->dir; }

}  // namespace wq
