// Opens a queue to change it: as the store's owner, or through the process that owns the store.
//
//   ReachedQueue queue;
//   if (wq::Status s = ReachQueue(dir, name, {.create = true}, &queue); !s.ok()) return Fail(s);
//   wq::Status s = queue.access->Add(keys, request, &result);
//   if (s.ok()) s = queue.Close();
//
// The outcome is the same in both cases. Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "wq/options.h"
#include "wq/queue_access.h"
#include "wq/store.h"
#include "wq/store_view.h"

namespace wqctl {

struct ReachOptions {
  bool create = false;  // Create a missing queue.
  // The default for calls that name no durability. Used only if this process becomes the owner.
  wq::Durability durability = wq::Durability::kProcess;
};

struct ReachedQueue {
  std::unique_ptr<wq::QueueAccess> access;
  std::unique_ptr<wq::Store> store;  // Null: another process owns it.

  wq::Status Close() const;  // Closes `store`, if this process owns it.
};

// NotFound, Corruption: see wq::Store::Open and OpenQueue. Locked: another process, which the
// message names, owns the store and serves no socket.
wq::Status ReachQueue(const std::string& store_dir, const std::string& queue,
                      const ReachOptions& options, ReachedQueue* reached);

// Ok if the store can be changed through its owner. Otherwise Locked.
wq::Status CheckOwnerServes(const wq::StoreView& view);

}  // namespace wqctl
