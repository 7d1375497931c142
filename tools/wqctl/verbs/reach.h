// Opens a queue to change it: as the store's owner, or through the process that owns the store.
//
//   ReachedQueue queue;
//   if (wq::Status s = ReachQueue(dir, name, {.create = true}, &queue); !s.ok()) return Fail(s);
//   wq::Status s = queue.access->Add(keys, options, delay, &result);
//   if (s.ok()) s = queue.Close();
//
// The outcome is the same in both cases. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "wq/live_store.h"
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

// Reaches a store: calls `open` to open it as its owner, and while that returns Locked, gives
// `connected` a connection to the owner. Repeats both for half a second if the owner serves no
// socket, or `connected` returns IOError, as of an owner that has just ended: so neither may change
// anything. Locked: as of ReachQueue.
wq::Status ReachStore(
    const std::string& store_dir, const std::function<wq::Status()>& open,
    const std::function<wq::Status(std::unique_ptr<wq::LiveStore> live)>& connected);

// NotFound, Corruption: see wq::Store::Open and OpenQueue. Locked: another process, which the
// message names, owns the store and serves no socket.
wq::Status ReachQueue(const std::string& store_dir, const std::string& queue,
                      const ReachOptions& options, ReachedQueue* reached);

// Ok if the store can be changed through its owner. Otherwise Locked.
wq::Status CheckOwnerServes(const wq::StoreView& view);

}  // namespace wqctl
