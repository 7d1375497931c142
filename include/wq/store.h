// Store: a directory that holds named queues, and the one process that owns it.
//
//   std::unique_ptr<wq::Store> store;
//   wq::Status s = wq::Store::Open({.create_if_missing = true}, "/var/lib/pod-controller", &store);
//   wq::Queue* queue = nullptr;
//   if (s.ok()) s = store->OpenQueue("pods", {}, &queue);
//
// All queues of a store share its writes: one write, and one fdatasync, serves whoever waits.
// A process that was forked from the owner must not use the store: changing calls return Locked there, and
// its readings may block. Start other programs by fork and exec, or posix_spawn, as usual.
// Threading: thread-safe. Lifetime: a Queue* is valid until the Store is destroyed.
// A crash loses nothing that was acknowledged: see Durability. Reading a store that somebody else
// owns is StoreView's business (store_view.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wq/options.h"
#include "wq/status.h"

namespace wq {

class Queue;

class Store {
 public:
  // Opens the store in `dir` and becomes its owner.
  //   NotFound        there is no store, and create_if_missing is off. Nothing was made.
  //   AlreadyExists   error_if_exists is on.
  //   Locked          another process owns it, or this one was forked, without an exec, from one that
  //                   had opened a store; the message names the pid.
  //   Corruption      damaged; the message names the file. Nothing was modified.
  //   NotSupported    written by another format version.
  // A created directory has mode 0700. Blocks: for recovery of the write-ahead log, seconds at
  // most.
  static Status Open(const StoreOptions& options, const std::string& dir,
                     std::unique_ptr<Store>* store);

  // A store with nothing behind it: the same queues, gone with the process. Every durability level
  // is acknowledged at once.
  static Status OpenInMemory(const StoreOptions& options, std::unique_ptr<Store>* store);

  // Closes if Close was not called.
  // REQUIRES: no call on the store or its queues is under way. Blocked ones: see Close.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Opens the queue of this name, with all that it held: pending keys in their order (those that
  // were processing first in their lane), delays, failure counts. A name is 1 to 64 of
  // [A-Za-z0-9._-].
  //   InvalidArgument bad name or options; AlreadyExists open already in this store;
  //   NotDurable      the store is failed (see Health): a queue is not opened meanwhile.
  // Blocks: for reading the queue's records.
  Status OpenQueue(std::string_view name, const QueueOptions& options, Queue** queue);

  // The open queue of this name; nullptr if there is none. Ok after Close, too.
  Queue* FindQueue(std::string_view name) const;

  // The names of all queues in the store, open or not, sorted.
  std::vector<std::string> QueueNames() const;

  // All that was done on any queue before this call is as durable as asked for when it returns.
  // Blocks. NotDurable if a write has failed.
  Status Flush(Durability durability = Durability::kPower);

  // Ok, or NotDurable from a failed write until the store is mended: the first failure, since when, what was
  // tried, and when it is tried again. After a failed write the open queues go on in memory, each
  // changing call returns NotDurable, and the disk keeps a prefix. When the disk is back, what it lacks
  // is written from memory, and all is durable again, what was done meanwhile included. The store is
  // opened anew for that, with backoff: see StoreOptions::recovery_backoff_min, and on_health.
  Status Health() const;

  // Tries to mend a failed store at once; see Health. Ok: it is healthy. Blocks: for one attempt.
  // REQUIRES: not called from on_health.
  Status Recover();

  // Stops every queue (Queue::Stop: blocked calls return), makes everything durable and closes the
  // files, so that the next opening replays nothing. Later calls return ShuttingDown. Idempotent.
  // NotDurable if a write has failed and a last attempt to mend the store has, too.
  // Blocks: for one flush.
  Status Close();

  const std::string& uuid() const;
  const std::string& dir() const;  // Empty for a store in memory.

  struct Impl;

 private:
  explicit Store(std::unique_ptr<Impl> rep);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wq
