#include "server/api/store_access.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "wq/keys.h"
#include "wq/queue.h"
#include "wq/store.h"

namespace wq {
namespace {

std::string Named(std::string_view name) { return "queue '" + EscapeKey(name) + "'"; }

}  // namespace

Status CheckQueueExists(const std::vector<std::string>& names, std::string_view queue) {
  return std::binary_search(names.begin(), names.end(), queue)
             ? Status::Ok()
             : Status::NotFound("there is no " + Named(queue));
}

StoreAccess::StoreAccess(Store* store, QueueOpener open_queue, bool delete_any)
    : store_(store),
      open_queue_(std::move(open_queue)),
      delete_any_(delete_any),
      has_process_log_(store->ProcessLogStatus().ok()) {
  // A store that is not replicated refuses the Flush, too.
  if (Status s = store->Flush(Durability::kReplicated); s.code() == StatusCode::kInvalidArgument) {
    replicated_ = std::move(s);
  }
}

bool StoreAccess::MayWait(Durability durability) const {
  return durability >= Durability::kPower ||
         (durability == Durability::kProcess && !has_process_log_);
}

Queue* StoreAccess::FindOpen(std::string_view name) const { return store_->FindQueue(name); }

Status StoreAccess::Find(std::string_view name, bool create, Queue** queue) {
  *queue = store_->FindQueue(name);
  if (*queue != nullptr) {
    return {};
  }
  if (open_queue_ == nullptr && !store_->IsOwner()) {
    return Status::NotOwner("process " + std::to_string(getpid()) +
                            " is a replica, and does not own the store");
  }
  if (open_queue_ == nullptr) {
    const std::vector<std::string> names = store_->QueueNames();
    return std::binary_search(names.begin(), names.end(), name)
               ? Status::Locked(Named(name) + " is not open in process " +
                                std::to_string(getpid()) + ", which owns the store")
               : Status::NotFound("there is no " + Named(name));
  }
  const MutexLock lock(mu_);
  *queue = store_->FindQueue(name);
  if (*queue != nullptr) {  // Another request has opened it.
    return {};
  }
  Status s = open_queue_(name, create, queue);
  if (*queue != nullptr) {
    opened_.emplace(name);
    return {};
  }
  if (s.code() == StatusCode::kAlreadyExists) {  // The process has opened it by itself.
    *queue = store_->FindQueue(name);
    return *queue == nullptr ? s : Status::Ok();
  }
  return s.ok() ? Status::NotFound("there is no " + Named(name)) : s;
}

Status StoreAccess::Delete(std::string_view name, const std::function<void(Queue*)>& before_close) {
  const MutexLock lock(mu_);
  if (Queue* const queue = store_->FindQueue(name); queue != nullptr) {
    const auto opened = opened_.find(name);
    if (opened == opened_.end() && !delete_any_) {
      return Status::Locked(Named(name) + " is in use by process " + std::to_string(getpid()) +
                            ", which owns the store");
    }
    // A queue whose closing fails stays stopped.
    if (Status s = store_->Flush(Durability::kPower); !s.ok()) {
      return s;
    }
    before_close(queue);
    if (Status s = store_->CloseQueue(queue); !s.ok()) {
      return s;
    }
    if (opened != opened_.end()) {
      opened_.erase(opened);
    }
  }
  return store_->DeleteQueue(name);
}

}  // namespace wq
