// How a verb reaches a queue to change it: as the store's owner, or by way of the process that owns it.
//
//   ReachedQueue queue;
//   if (wq::Status s = ReachQueue(dir, name, {.create = true}, &queue); !s.ok()) return Fail(s);
//   wq::Status s = queue.access->Add(keys, request, &result);
//   if (s.ok()) s = queue.Close();
//
// Either way the outcome is the same. Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "wq/options.h"
#include "wq/queue_access.h"
#include "wq/store.h"

namespace wqctl {

struct ReachOptions {
  bool create = false;  // The queue, if it is missing.
  // Of the calls that wait for the disk one by one, while we are the owner.
  wq::Durability durability = wq::Durability::kProcess;
};

struct ReachedQueue {
  std::unique_ptr<wq::QueueAccess> access;
  std::unique_ptr<wq::Store> store;  // Null: another process owns it.

  wq::Status Close() const;  // Closes our store.
};

// NotFound, Corruption: see wq::Store::Open and OpenQueue. Locked: another process owns the store, and
// serves no socket; the message names it.
wq::Status ReachQueue(const std::string& store_dir, const std::string& queue,
                      const ReachOptions& options, ReachedQueue* reached);

// Ok if a change can be made by way of the store's owner. Otherwise Locked.
wq::Status CheckOwnerServes(const std::string& store_dir, int64_t owner_pid);

}  // namespace wqctl
