// The readings of a Queue that show all it knows of a key, or of every key.

#include "engine/queue/key_copies.h"
#include "engine/queue/queue_impl.h"
#include "wq/queue.h"

namespace wq {

Status Queue::Scan(const KeyVisitor& visit) const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  KeyCopies copies(impl_->sharded);
  for (uint64_t from = 0; from < ItemTable::kWalkEnd;) {
    copies.Clear();
    {
      const MutexLock lock(impl_->mu);
      from = impl_->state->ForEachFrom(from, [&copies](const Item& item) {
        if (!item.idle()) {
          copies.Add(item);
        }
      });
    }
    if (!copies.Visit(visit)) {
      break;
    }
  }
  return {};
}

Status Queue::Inspect(std::string_view key,
                      const std::function<void(const KeyInfo&)>& visit) const {
  if (Status s = impl_->CheckProcess(); !s.ok()) {
    return s;
  }
  KeyCopies copies(impl_->sharded);
  {
    const MutexLock lock(impl_->mu);
    const Item* const item = impl_->state->Find(key);
    if (item == nullptr) {
      return NoSuch("not in the queue", key);
    }
    copies.Add(*item);
  }
  copies.Visit([&visit](const KeyInfo& info) {
    visit(info);
    return true;
  });
  return {};
}

}  // namespace wq
